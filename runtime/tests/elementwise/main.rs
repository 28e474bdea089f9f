//! Elementwise, scanning, selecting and normalising words against the worked examples of chapters 04 and 05, and
//! against calculations by hand where the manual prints none.

mod activation;
mod batch_norm;
mod folds;
mod lanes;
mod preloaded;
mod scalars;
mod selects;
#[path = "../data/support.rs"]
#[allow(dead_code)] // shared with the data kernels
mod support;
mod tensors;
mod wide;

use seqjit_runtime::isa::field::{AccumCmd, Imm, ImmSrc, ReverseOps};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, Word, op};
use seqjit_runtime::machine::Machine;

use support::*;

/// Where sources lie in these tests.
pub const A: u32 = 0x100;
/// Where second sources lie.
pub const B: u32 = 0x200;
/// Where results lie.
pub const OUT: u32 = 0x400;
/// A column of scalars.
pub const COLUMN: u32 = 0x600;

/// Runs words on the DVE of CAYMAN.
pub fn dve(machine: &mut Machine, words: &[Word]) {
    run(machine, EngineId::Dve, words).unwrap();
}

/// A strict machine of CAYMAN with FP32 numbers at [`A`] of partition 0.
pub fn with(values: &[f32]) -> Machine {
    let mut machine = strict(Generation::Cayman);
    put_floats(&mut machine, 0, A as usize, values);
    machine
}

/// The FP32 results of partition 0.
pub fn out(machine: &Machine, n: usize) -> Vec<f32> {
    floats(machine, 0, OUT as usize, n)
}

/// One lane of FP32 tensor-scalar work with inline scalars.
pub fn tensor_scalar(n: u16, ops: [AluOp; 2], scalars: [f32; 2]) -> S3D3_TS {
    S3D3_TS {
        accumulator_cmd: AccumCmd::IDLE,
        src: line(A, n),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        imm0_src: ImmSrc::INSTRUCTION,
        op0: ops[0],
        op1: ops[1],
        reverse_operands: ReverseOps::NONE,
        imm1_src: ImmSrc::INSTRUCTION,
        imm0: Imm(scalars[0].to_bits()),
        imm1: Imm(scalars[1].to_bits()),
        dst: line(OUT, n),
    }
}

/// Stores the DVE accumulator of partition 0 at [`OUT`].
pub fn read_accumulator(negated: u8) -> Word {
    let operands = D1_RD {
        dst_element_count: 1,
        dtype: Dtype::FP32,
        negated,
        num_active_channels: 1,
        dst: line(OUT, 1),
    };
    word(op::DVE_READ_ACCUMULATOR, operands)
}

/// The DVE accumulator of partition 0, as the word of the same name stores it.
pub fn accumulator(machine: &mut Machine) -> f32 {
    dve(machine, &[read_accumulator(0)]);
    out(machine, 1)[0]
}
