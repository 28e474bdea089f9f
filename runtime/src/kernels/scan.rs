//! Scans along the rows of many lanes at once (chapter 04 sections 5.2 and 6.4).

use super::columns::{Block, COLUMNS, groups};
use super::rows::{Stream, chunk};
use crate::interp::Exec;
use crate::interp::scalar_tensor_tensor::{self as stt, float_scalars};
use crate::interp::scan::{Class, Cumulative, Recurrence, Restart};
use crate::interp::tensor_tensor::warn_division;
use crate::isa::PARTITIONS;
use crate::machine::Core;
use crate::num::{self, LANES};

/// TENSOR_CUMULATIVE_ARITH_OP and TENSOR_CUMULATIVE_BITVEC_OP.
pub fn cumulative(s: &Cumulative, x: &mut Exec<'_>) {
    if s.class == Class::Float {
        cumulative_floats(s, x.core());
    } else if lane_by_lane(s, x.core()) {
        warn_division(x);
    }
}

fn cumulative_floats(s: &Cumulative, core: &mut Core) {
    let fp8 = core.spec.fp8;
    let length = chunk(&[&s.src], &s.dst).min(COLUMNS);
    let mut src = Block::new(&s.src, s.from, fp8);
    let mut dst = Block::new(&s.dst, s.to, fp8);
    let mut columns = vec![[0.0; LANES]; length];
    let mut results = columns.clone();
    for lanes in groups(&[&s.src], &s.dst, s.lanes) {
        src.restart();
        dst.restart();
        let mut restart = Restart::new(s.length);
        let mut left = s.dst.count;
        while left > 0 {
            let n = length.min(left);
            let (columns, results) = (&mut columns[..n], &mut results[..n]);
            src.load(core, lanes.clone(), columns);
            restart.scan(columns, results, |acc, row, out| num::scan_columns(s.op, acc, row, out));
            dst.store(core, lanes.clone(), results);
            left -= n;
        }
    }
}

/// Integers and raw bits, whose steps take a cycle: one lane keeps the CPU busy. Whether any divided by zero.
fn lane_by_lane(s: &Cumulative, core: &mut Core) -> bool {
    let length = chunk(&[&s.src], &s.dst);
    let (mut src, mut dst) = (Stream::new(&s.src), Stream::new(&s.dst));
    let mut rows = s.rows(core.spec.fp8);
    for lane in 0..s.lanes {
        src.restart();
        dst.restart();
        let mut left = s.dst.count;
        while left > 0 {
            let n = length.min(left);
            rows.scan(src.next(core, lane, n));
            dst.write(core, lane, n, |out| rows.store(out));
            left -= n;
        }
    }
    rows.divided_by_zero
}

/// TENSOR_TENSOR_SCAN_ARITH.
pub fn tensor_tensor(r: &Recurrence, x: &mut Exec<'_>) {
    let stt::Operands { sources: [src0, src1], dst, scalar } = &r.operands;
    let mut acc = [0.0; PARTITIONS + LANES];
    for (acc, scalar) in acc.iter_mut().zip(float_scalars(x, &r.word, scalar)) {
        *acc = scalar;
    }
    let core = x.core();
    let fp8 = core.spec.fp8;
    let length = chunk(&[src0, src1], dst).min(COLUMNS);
    let mut left_block = Block::new(src0, r.word.src_dtype.low(), fp8);
    let mut right_block = Block::new(src1, r.word.src_dtype.high(), fp8);
    let mut results = Block::new(dst, r.word.out_dtype, fp8);
    let mut a = vec![[0.0; LANES]; length];
    let mut b = a.clone();
    for lanes in groups(&[src0, src1], dst, r.word.num_active_channels.into()) {
        [&mut left_block, &mut right_block, &mut results].into_iter().for_each(Block::restart);
        let mut now = std::array::from_fn(|i| acc[lanes.start + i]);
        let mut left = dst.count;
        while left > 0 {
            let n = length.min(left);
            let (a, b) = (&mut a[..n], &mut b[..n]);
            left_block.load(core, lanes.clone(), a);
            right_block.load(core, lanes.clone(), b);
            let done = num::recurrence_columns(r.ops, r.reverse, &mut now, a, b);
            debug_assert!(done.is_some(), "operators were tried when the operands were resolved");
            results.store(core, lanes.clone(), a);
            left -= n;
        }
    }
}
