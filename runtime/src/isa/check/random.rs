//! Rules of the random words (chapter 06 section 8, chapter 05 section 8).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::ImmSrc;
use crate::isa::layouts::{D3_RAND, D4_MR, D4_RAND, PSEUDO_SET_RNG_SEED, S1_RAND, S3D3_DROPOUT};
use crate::isa::{Dtype, EngineId, Space};
use crate::machine::random::{BANKS, Bank};

/// Floats that the kernel of POOL stores as a pattern (D06-22).
const PATTERNS: DtypeSet = gates::F32.and(gates::BF16);

pub(super) fn rng(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D4_MR>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    let pool = c.cx.engine == EngineId::Pool;
    if gates::D13.contains(o.dtype) && !o.dtype.is_integer() && !(pool && PATTERNS.contains(o.dtype)) {
        c.report(rules::FLOAT_DRAW, "dtype", o.dtype.text(), "an integer dtype");
    } else {
        c.dtype("dtype", o.dtype, gates::I6.and(PATTERNS));
    }
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.value("serialization_mode", o.serialization_mode, o.serialization_mode == 0, "0 (serial)");
}

pub(super) fn dropout(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_DROPOUT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    let or_fp32 = |dtype| if dtype == Dtype::INVALID { Dtype::FP32 } else { dtype };
    let (in_dtype, out_dtype) = (or_fp32(o.in_dtype), or_fp32(o.out_dtype));
    c.dtype("in_dtype", in_dtype, gates::D12);
    c.same_dtype("out_dtype", out_dtype, in_dtype);
    c.tensor("src", &o.src, OperandUse::read(in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(out_dtype, lanes));
    c.count("dst", &o.dst, o.src.count());
    c.value("threshold_type", o.threshold_type, o.threshold_type <= 1, "0 or 1");
    let threshold = or_fp32(o.threshold_dtype);
    let pointer = o.threshold_src != ImmSrc::INSTRUCTION;
    let floats = if pointer && !in_dtype.is_integer() { gates::FLOATS } else { gates::F32 };
    c.dtype("threshold_dtype", threshold, floats);
    c.scalar("threshold", o.threshold, o.threshold_src, threshold, lanes);
}

pub(super) fn set_seed(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<PSEUDO_SET_RNG_SEED>() else { return };
    c.scalar("seed", o.seed, o.seed_src, Dtype::UINT32, 1);
}

pub(super) fn rand2(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D3_RAND>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::D13);
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.value("rand_algorithm", o.rand_algorithm, matches!(o.rand_algorithm, 1..=3), "3 (XORWOW)");
    c.value("post_process", o.post_process, matches!(o.post_process, 1 | 2), "1 (UNIFORM_IN_RANGE)");
    c.scalar("min", o.min, o.min_src, Dtype::FP32, lanes);
    c.scalar("max", o.max, o.max_src, Dtype::FP32, lanes);
}

pub(super) fn set_state(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S1_RAND>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::U32);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
    c.value("update_state", o.update_state, o.update_state <= 2, "0 (SRC_TENSOR)");
    if o.update_state == 0 {
        let set = o.imm_state.iter().position(|word| *word != 0);
        c.value("imm_state", set.map_or(0, |at| o.imm_state[at]), set.is_none(), "0");
    }
    if let Some(bank) = c.bank(o.rand_generator, o.rand_algorithm) {
        c.count("src", &o.src, bank.words as u64);
    }
}

pub(super) fn get_state(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D4_RAND>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::U32);
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.value("rand_num_steps", o.rand_num_steps, o.rand_num_steps == 0, "0");
    c.value("post_process", o.post_process, o.post_process == 0, "0 (RAW_U32)");
    let set = o.params.iter().position(|word| *word != 0);
    c.value("params", set.map_or(0, |at| o.params[at]), set.is_none(), "0");
    if let Some(bank) = c.bank(o.rand_generator, o.rand_algorithm) {
        c.count("dst", &o.dst, bank.words as u64);
    }
}

impl Checker<'_> {
    /// The generator that a word names. PHILOX and PCG32 are refused by the generic rules, and so is the
    /// opcode where the engine has no generator at all.
    fn bank(&mut self, source: u8, algorithm: u8) -> Option<&'static Bank> {
        let has_some = BANKS.iter().any(|b| b.is_on(self.cx.engine, self.cx.generation));
        if !has_some || matches!(algorithm, 1 | 2) {
            return None;
        }
        let found = Bank::find(self.cx.engine, self.cx.generation, source, algorithm);
        let expected = format_args!("a generator of {} with algorithm {algorithm}", self.cx.engine);
        self.value("rand_generator", source, found.is_some(), expected);
        found
    }
}
