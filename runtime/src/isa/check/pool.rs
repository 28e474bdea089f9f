//! Rules of pooling (chapter 05 section 6.1).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::Dtype;
use crate::isa::field::{PoolType, Subdim};
use crate::isa::layouts::S4D4_PL;

pub(super) fn pool(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_PL>() else { return };
    c.windows(o, gates::D13);
    c.pooled("out_dtype", o.out_dtype, gates::D13, gates::POOL_STORED);
    let known = PoolType::TABLE.name_of(o.pool_func.0).is_none(); // reported already
    c.value("pool_func", o.pool_func.0, known || o.pool_func != PoolType::NONE, "MAX_POOL or AVG_POOL");
    if o.pool_func == PoolType::MAX_POOL {
        c.unscaled(o);
    }
}

pub(super) fn max_pool_select(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_PL>() else { return };
    c.windows(o, gates::POOL_INDEX);
    let known = PoolType::TABLE.name_of(o.pool_func.0).is_none(); // reported already
    c.value("pool_func", o.pool_func.0, known || o.pool_func == PoolType::NONE, "NONE");
    c.unscaled(o);
}

impl Checker<'_> {
    fn windows(&mut self, o: &S4D4_PL, outputs: DtypeSet) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, gates::POOL);
        self.pooled("in_dtype", o.in_dtype, gates::POOL, gates::POOL_LOADED);
        self.dtype("out_dtype", o.out_dtype, outputs);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.value("pool_dim", o.pool_dim.0, o.pool_dim != Subdim::UNUSED, "X, XY, XYZ or XYZW");
        if Subdim::TABLE.name_of(o.pool_dim.0).is_some() && o.pool_dim != Subdim::UNUSED {
            let folded = usize::from(o.pool_dim.0) - 1; // X is 2
            self.count("dst", &o.dst, o.src.num[folded..].iter().map(|n| u64::from(*n)).product());
        }
    }

    /// A dtype that the gate of the struct accepts and the program does not take.
    fn pooled(&mut self, field: &'static str, dtype: Dtype, gate: DtypeSet, program: DtypeSet) {
        if gate.contains(dtype) && !program.contains(dtype) {
            self.report(rules::POOL_DTYPE, field, dtype.text(), program);
        }
    }

    fn unscaled(&mut self, o: &S4D4_PL) {
        self.value("pool_scale", o.pool_scale.value(), o.pool_scale.value() == 1.0, "1");
    }
}
