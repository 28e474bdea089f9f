//! TENSOR_DEQUANTIZE (chapter 06 section 9.1): packed 4- and 6-bit codes to FP8, in words of 32 bits.

use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::S3D3_TENS_DEQUANT;
use crate::isa::{Decoded, Dtype};
use crate::num::{self, Fp8};

/// A format of codes: what a code means and what it becomes.
#[derive(Debug)]
pub struct CodeFormat {
    /// `dequant_fmt`.
    pub id: u8,
    /// Bits of a code.
    pub bits: usize,
    /// Dtype of the result.
    pub target: Dtype,
    /// The value of a code.
    pub value: fn(u32) -> f32,
}

/// Every format (chapter 06 section 9.1).
pub const FORMATS: &[CodeFormat] = &[
    CodeFormat { id: 1, bits: 4, target: Dtype::FP8_EXP5, value: e2m1 },
    CodeFormat { id: 2, bits: 4, target: Dtype::FP8_EXP5, value: int4 },
    CodeFormat { id: 3, bits: 4, target: Dtype::FP8_EXP4, value: nf4 },
    CodeFormat { id: 4, bits: 6, target: Dtype::FP8_EXP4, value: e2m3 },
];

/// Codes that share a scale.
pub const GROUP: usize = 8;

impl CodeFormat {
    /// The format with this number.
    pub fn find(id: u8) -> Option<&'static CodeFormat> {
        FORMATS.iter().find(|f| f.id == id)
    }

    /// Source words of the smallest unit, and the destination words that they become.
    pub fn ratio(&self, grouped: bool) -> (usize, usize) {
        match (self.bits, grouped) {
            (6, _) => (3, 4),
            (_, true) => (5, 8),
            (_, false) => (1, 2),
        }
    }
}

fn e2m1(code: u32) -> f32 {
    const MAGNITUDES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    signed(code & 8 != 0, MAGNITUDES[(code & 7) as usize])
}

fn int4(code: u32) -> f32 {
    ((code << 28) as i32 >> 28) as f32
}

fn nf4(code: u32) -> f32 {
    const CODEBOOK: [f32; 16] = [
        -1.0,
        -0.696_192_8,
        -0.525_073_05,
        -0.394_917_5,
        -0.284_441_38,
        -0.184_773_43,
        -0.091_050_04,
        0.0,
        0.079_580_3,
        0.160_930_2,
        0.246_112_3,
        0.337_915_24,
        0.440_709_83,
        0.562_617,
        0.722_956_84,
        1.0,
    ];
    CODEBOOK[(code & 15) as usize]
}

/// FP6: subnormals are eighths (D06-28).
fn e2m3(code: u32) -> f32 {
    let eighths = (code & 7) as f32;
    let magnitude = match code >> 3 & 3 {
        0 => eighths / 8.0,
        exponent => (1.0 + eighths / 8.0) * (1 << (exponent - 1)) as f32,
    };
    signed(code & 0x20 != 0, magnitude)
}

fn signed(negative: bool, magnitude: f32) -> f32 {
    if negative { -magnitude } else { magnitude }
}

/// TENSOR_DEQUANTIZE.
pub fn dequantize(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let Dequantize { src, dst, format, grouped, lanes } = resolve(x, w)?;
    let (from, _) = format.ratio(grouped);
    let table = Table { format, fp8: x.core().spec.fp8 };
    let mut unit = vec![0; 4 * from];
    for lane in 0..lanes {
        let (mut read, mut write) = (src.start(), dst.start());
        for _ in 0..src.count / from {
            src.gather(&mut read, x.core().memory(src.space), lane, &mut unit);
            let out = table.unit(&unit, grouped);
            dst.scatter(&mut write, x.core().memory_mut(dst.space), lane, &out);
        }
    }
    Ok(Flow::Next)
}

/// The operands after all checks.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Dequantize, FaultKind> {
    let o = *x.operands::<S3D3_TENS_DEQUANT>(w)?;
    let lanes = o.num_active_channels;
    let format = CodeFormat::find(o.dequant_fmt)
        .ok_or_else(|| FaultKind::illegal("dequant_fmt", o.dequant_fmt, "1 to 4"))?;
    let grouped = usize::from(o.group_size) == GROUP;
    if grouped && format.bits != 4 {
        return Err(FaultKind::illegal("group_size", o.group_size, "0"));
    }
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let (from, to) = format.ratio(grouped);
    if src.size != 4 || dst.size != 4 || src.count % from != 0 || src.count / from * to != dst.count {
        let found = format!("{} words for {}", src.count, dst.count);
        return Err(FaultKind::illegal("src", found, format!("{from} words for every {to} of dst")));
    }
    Ok(Dequantize { src, dst, format, grouped, lanes: lanes.into() })
}

/// A word whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Dequantize {
    /// Words of codes.
    pub src: Walk,
    /// Words of FP8.
    pub dst: Walk,
    /// What the codes mean.
    pub format: &'static CodeFormat,
    /// Codes have scales.
    pub grouped: bool,
    /// Lanes.
    pub lanes: usize,
}

/// A format with the FP8 flavour of the program.
struct Table {
    format: &'static CodeFormat,
    fp8: Fp8,
}

impl Table {
    /// The bytes of one unit. With scales, four words of codes come before the word of their four scales
    /// (D06-29).
    fn unit(&self, unit: &[u8], grouped: bool) -> Vec<u8> {
        if !grouped {
            return codes(unit, self.format.bits).map(|code| self.byte((self.format.value)(code))).collect();
        }
        let (words, scales) = unit.split_at(unit.len() - 4);
        let scaled = codes(words, self.format.bits).enumerate();
        scaled.map(|(i, code)| self.scaled(code, scales[i / GROUP])).collect()
    }

    fn byte(&self, value: f32) -> u8 {
        num::from_f32(value, self.format.target, self.fp8) as u8
    }

    /// A code times an E8M0 scale, saturating at the largest finite value (D06-30).
    fn scaled(&self, code: u32, scale: u8) -> u8 {
        let product = (self.format.value)(code) * num::to_f32(scale.into(), Dtype::SFP8_E8, self.fp8);
        let largest = num::max_finite(self.format.target, self.fp8).unwrap_or(f32::MAX);
        self.byte(if product.is_nan() { product } else { product.clamp(-largest, largest) })
    }
}

/// The codes of a little-endian bit stream, the lowest bits first.
fn codes(bytes: &[u8], bits: usize) -> impl Iterator<Item = u32> + '_ {
    let bit = move |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
    (0..8 * bytes.len() / bits).map(move |i| (0..bits).map(|b| bit(i * bits + b) << b).sum())
}
