//! Sets of datatypes that opcodes accept (chapter 03 section 6.2).

use crate::isa::Dtype;

/// A set of datatypes with codes below 0x20.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DtypeSet(u32);

impl DtypeSet {
    pub(super) const fn of(dtypes: &[Dtype]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < dtypes.len() {
            bits |= 1 << dtypes[i].0;
            i += 1;
        }
        DtypeSet(bits)
    }

    pub(super) const fn and(self, other: DtypeSet) -> Self {
        DtypeSet(self.0 | other.0)
    }

    pub(super) fn contains(self, dtype: Dtype) -> bool {
        dtype.0 < 32 && self.0 >> dtype.0 & 1 == 1
    }
}

impl std::fmt::Display for DtypeSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = Dtype::TABLE.iter().filter(|i| self.contains(i.code)).map(|i| i.text).collect();
        f.write_str(&names.join(", "))
    }
}

/// The 32-bit integers.
pub(super) const I32: DtypeSet = DtypeSet::of(&[Dtype::INT32, Dtype::UINT32]);
/// The 64-bit integers.
pub(super) const I64: DtypeSet = DtypeSet::of(&[Dtype::INT64, Dtype::UINT64]);
/// Integers of at most 32 bits.
pub(super) const I6: DtypeSet =
    DtypeSet::of(&[Dtype::INT8, Dtype::UINT8, Dtype::INT16, Dtype::UINT16]).and(I32);
/// The FP8 formats that exist on every generation.
pub(super) const FP8: DtypeSet = DtypeSet::of(&[Dtype::FP8_EXP3, Dtype::FP8_EXP4, Dtype::FP8_EXP5]);
/// BF16 and FP16.
pub(super) const F16: DtypeSet = DtypeSet::of(&[Dtype::BFLOAT16, Dtype::FP16]);
/// FP32.
pub(super) const F32: DtypeSet = DtypeSet::of(&[Dtype::FP32]);
/// Floats of at most 32 bits but FP32R.
pub(super) const F6: DtypeSet = FP8.and(F16).and(F32);
/// F6 and FP32R.
pub(super) const F7: DtypeSet = F6.and(DtypeSet::of(&[Dtype::FP32R]));
/// Integers of folds of raw bits (chapter 04 section 6).
pub(super) const BITS: DtypeSet = I32.and(DtypeSet::of(&[Dtype::UINT8, Dtype::UINT16]));
/// Inputs of the caching words (chapter 04 section 4.5).
pub(super) const CACHE: DtypeSet =
    F6.and(DtypeSet::of(&[Dtype::INT8, Dtype::UINT8, Dtype::INT16, Dtype::UINT16]));
/// Inputs of pooling words: D12 and INT64, of which the program takes some (chapter 05 section 6.1).
pub(super) const POOL: DtypeSet = D12.and(DtypeSet::of(&[Dtype::INT64]));
/// What the program of pooling stores.
pub(super) const POOL_STORED: DtypeSet = F16.and(F32).and(DtypeSet::of(&[Dtype::UINT8, Dtype::INT32]));
/// What the program of pooling loads.
pub(super) const POOL_LOADED: DtypeSet = POOL_STORED.and(DtypeSet::of(&[Dtype::INT64]));
/// Indices that MAX_POOL_SELECT stores.
pub(super) const POOL_INDEX: DtypeSet = DtypeSet::of(&[Dtype::UINT8, Dtype::UINT16, Dtype::UINT32]);
/// Operands of the backward batch-norm words that may be integers (chapter 05 section 5.4).
pub(super) const GRADIENT: DtypeSet = F16.and(F32).and(DtypeSet::of(&[Dtype::INT32]));
/// Inputs of ACTIVATE_QUANTIZE (chapter 05 section 3.3).
pub(super) const QUANTIZE: DtypeSet = F32.and(DtypeSet::of(&[Dtype::INT32]));
/// UINT8.
pub(super) const U8: DtypeSet = DtypeSet::of(&[Dtype::UINT8]);
/// BF16.
pub(super) const BF16: DtypeSet = DtypeSet::of(&[Dtype::BFLOAT16]);
/// UINT32.
pub(super) const U32: DtypeSet = DtypeSet::of(&[Dtype::UINT32]);
/// Indices that a search stores (chapter 05 sections 7.3 and 7.5).
pub(super) const INDEX: DtypeSet = DtypeSet::of(&[Dtype::UINT16, Dtype::UINT32]);
/// Operands of MATCH_REPLACE8 (chapter 05 section 7.4).
pub(super) const REPLACED: DtypeSet = DtypeSet::of(&[Dtype::UINT8, Dtype::UINT16]).and(I32).and(F16).and(F32);
/// Elements of two bytes that a DMA transposes (chapter 06 section 6.5).
pub(super) const HALVES: DtypeSet = DtypeSet::of(&[Dtype::INT16, Dtype::UINT16]).and(F16);
/// Elements of two or four bytes that a DMA transposes (chapter 06 section 6.4).
pub(super) const TRANSPOSED: DtypeSet = HALVES.and(I32).and(DtypeSet::of(&[Dtype::FP32, Dtype::FP32R]));
/// Floats without FP32R.
pub(super) const FLOATS: DtypeSet = F16.and(F32).and(FP8);
/// Inputs: everything but FP32R and 64 bits.
pub(super) const D12: DtypeSet = I6.and(F16).and(F32).and(FP8);
/// Outputs: D12 and FP32R.
pub(super) const D13: DtypeSet = D12.and(DtypeSet::of(&[Dtype::FP32R]));
/// D12 and the 64-bit integers.
pub(super) const D14: DtypeSet = D12.and(I64);
/// D13 and the 64-bit integers.
pub(super) const D15: DtypeSet = D13.and(I64);
/// Operands of LDWEIGHTS and MATMUL on SUNDA and CAYMAN (chapter 05 section 2.1).
pub(super) const PE: DtypeSet = FP8.and(F16).and(F32).and(DtypeSet::of(&[Dtype::UINT8]));
/// Operands of the PE from MARIANA on.
pub(super) const PE_FLOATS: DtypeSet = FP8.and(F16).and(F32).and(DtypeSet::of(&[Dtype::FP8_EXP2]));
/// Bias of ACTIVATE (chapter 05 section 3.2).
pub(super) const BIAS: DtypeSet = F16.and(F32);
/// Read-back of the ACT accumulator (chapter 05 section 3.4).
pub(super) const ACCUMULATOR: DtypeSet = F16.and(F32).and(DtypeSet::of(&[Dtype::FP32R]));
/// Register moves (chapter 02 section 8.8) and compares (section 8.10e).
pub(super) const REGISTER: DtypeSet = I32.and(F32);
/// Register transfers (chapter 02 section 8.11).
pub(super) const TRANSFER: DtypeSet = PSEUDO_TRANSFER.and(DtypeSet::of(&[Dtype::UINT64]));
/// Register transfers of a container, to and from variables (chapter 02 section 8.12).
pub(super) const PSEUDO_TRANSFER: DtypeSet = I6.and(F32);
/// DMA words: the base codes (chapter 03 section 6.2); the sentinel means that nothing is converted.
pub(super) const DMA: DtypeSet = D15.and(DtypeSet::of(&[Dtype::INVALID]));

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(set: DtypeSet) -> Vec<u8> {
        (0..=255).filter(|c| set.contains(Dtype(*c))).collect()
    }

    #[test]
    fn gates_have_the_members_of_chapter_03() {
        assert_eq!(codes(D12), [2, 3, 4, 5, 6, 7, 8, 9, 0xA, 0xD, 0xE, 0xF]);
        assert_eq!(codes(D13), [2, 3, 4, 5, 6, 7, 8, 9, 0xA, 0xB, 0xD, 0xE, 0xF]);
        assert_eq!(codes(D15).len(), 15);
        assert_eq!(codes(I6), [2, 3, 4, 5, 8, 9]);
        assert_eq!(codes(DMA), (0..=0xF).collect::<Vec<_>>());
    }
}
