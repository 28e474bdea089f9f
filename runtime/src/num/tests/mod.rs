//! Tests of conversions and operators. Expected values are the manual's, worked out by hand or computed
//! with numpy or mpmath; the row forms are held to the scalar definitions on every CPU level of the host.

mod alu_bits;
mod alu_fp;
mod alu_int;
mod codes;
mod division;
mod pow;
mod rows;
mod vectors;

use super::*;
use crate::isa::{AluOp, Dtype};

const IEEE: Fp8 = Fp8 { ocp: false, saturate: false };
const OCP: Fp8 = Fp8 { ocp: true, saturate: false };
const OCP_SAT: Fp8 = Fp8 { ocp: true, saturate: true };
const FLAVOURS: [Fp8; 3] = [IEEE, OCP, OCP_SAT];

const INTEGERS: [Dtype; 8] = [
    Dtype::INT8,
    Dtype::UINT8,
    Dtype::INT16,
    Dtype::UINT16,
    Dtype::INT32,
    Dtype::UINT32,
    Dtype::INT64,
    Dtype::UINT64,
];

/// Runs a check on every CPU level of this host.
fn at_every_level(check: impl Fn(Level)) {
    for level in Level::ALL.into_iter().filter(|level| *level <= Level::host()) {
        with_level(level, || check(level));
    }
}

/// Every operator of the table and a few codes that are none.
fn all_operators() -> Vec<AluOp> {
    let unassigned = [0x1E, 0x1F, 0x25, 0xC3, 0xE2, 0xFF].map(AluOp);
    AluOp::TABLE.iter().map(|info| info.code).chain(unassigned).collect()
}

/// FP32 values of either sign and every exponent, with mantissas at, just below and just above the
/// places and the halves of places of every narrower format.
fn fp32_grid() -> Vec<f32> {
    let mut mantissas = vec![0, 0x7F_FFFF, 0x55_5555, 0x2A_AAAA];
    for bit in 0..23 {
        for upper in [0, 0x7F_FFFF << bit & 0x7F_FFFF, 2 << bit & 0x7F_FFFF] {
            for near in [-1, 0, 1] {
                mantissas.push(((upper | 1 << bit) + near) as u32 & 0x7F_FFFF);
            }
        }
    }
    mantissas.sort_unstable();
    mantissas.dedup();
    let mut values = Vec::new();
    for top in 0..512 {
        values.extend(mantissas.iter().map(|mantissa| f32::from_bits(top << 23 | mantissa)));
    }
    values
}

/// Few FP32 values of every kind.
const SPECIALS: [u32; 30] = [
    0x0000_0000, // 0
    0x8000_0000,
    0x0000_0001, // least subnormal
    0x8000_0001,
    0x007F_FFFF, // largest subnormal
    0x0080_0000, // least normal
    0x3F80_0000, // 1
    0xBF80_0000,
    0x3F80_0001,
    0x3F00_0000, // 0.5
    0x3FC0_0000, // 1.5
    0xBFC0_0000,
    0x4020_0000, // 2.5
    0x4040_0000, // 3
    0xC040_0000,
    0x3DCC_CCCD, // 0.1
    0x42FF_0000, // 127.5
    0xC300_8000, // -128.5
    0x4B80_0001, // 2^24 + 2
    0x4F32_D05E, // 3e9
    0xCF00_0000, // -2^31
    0x5F00_0000, // 2^63
    0x7F7F_FFFF, // largest finite
    0xFF7F_FFFF,
    0x7F80_0000, // Inf
    0xFF80_0000,
    0x7FC0_0000, // NaN: canonical, negative, signalling, with payload
    0xFFC0_0000,
    0x7F80_0001,
    0xFFFF_FFFF,
];

fn specials() -> Vec<f32> {
    SPECIALS.map(f32::from_bits).to_vec()
}

/// The bits of a result, NaN made canonical.
fn bits(value: f32) -> u32 {
    canonical(value).to_bits()
}
