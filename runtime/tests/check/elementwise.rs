//! Words that break a rule of a DVE, POOL or ACT opcode beyond the basic ones.

mod activation;
mod norms;
mod scalars;
mod selects;
mod tensors;

use crate::legal::*;
use crate::legal_elementwise::*;
use crate::{Case, Place, error, unsupported, word};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Data4d, Dtype, Layout, Tensor, op};

pub fn cases() -> Vec<Case> {
    let families = [
        scalars::tensor_scalar_cases,
        scalars::cache_cases,
        scalars::preloaded_cases,
        scalars::address_cases,
        tensors::pair_cases,
        tensors::scan_cases,
        tensors::pool_cases,
        norms::batch_norm_cases,
        norms::gradient_cases,
        selects::predicated_cases,
        selects::select_cases,
        selects::scalar_tensor_cases,
        tensors::cross_lane_cases,
        activation::activation_cases,
        tensors::wide_cases,
    ];
    families.into_iter().flat_map(|cases| cases()).collect()
}

/// A case of a field whose value the opcode does not allow.
fn value<L: Layout>(
    place: Place,
    opcode: u8,
    operands: L,
    field: &'static str,
    found: &str,
    expected: &str,
) -> Case {
    broken("field-value", place, opcode, operands, field, found, expected)
}

/// A case of a rule that is reported at the first byte of a field.
fn broken<L: Layout>(
    rule: &'static str,
    place: Place,
    opcode: u8,
    operands: L,
    field: &'static str,
    found: &str,
    expected: &str,
) -> Case {
    let at = L::DEF.field(field).expect("a field of the struct").offset;
    error(place, word(opcode, operands), rule, (at, field), found, expected)
}

/// A wrong count, which is reported at the counts of the tensor.
fn count<L: Layout>(
    place: Place,
    opcode: u8,
    operands: L,
    (at, field): (usize, &'static str),
    found: &str,
    expected: &str,
) -> Case {
    error(place, word(opcode, operands), "element-count", (at, field), found, expected)
}
