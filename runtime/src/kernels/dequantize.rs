//! TENSOR_DEQUANTIZE by tables and rows (chapter 06 section 9.1).

use super::rows::{CHUNK, Stream};
use crate::interp::Exec;
use crate::interp::dequantize::{CodeFormat, Dequantize, GROUP};
use crate::isa::Dtype;
use crate::num::{self, Fp8};

/// Codes of the widest format.
const CODES: usize = 64;

/// Values of all codes, and what they become.
struct Tables {
    format: &'static CodeFormat,
    fp8: Fp8,
    values: [f32; CODES],
    bytes: [u8; CODES],
}

impl Tables {
    fn new(format: &'static CodeFormat, fp8: Fp8) -> Tables {
        let mask = (1 << format.bits) - 1;
        let values: [f32; CODES] = std::array::from_fn(|code| (format.value)(code as u32 & mask));
        let mut bytes = [0; CODES];
        num::pack(&values, format.target, fp8, &mut bytes);
        Tables { format, fp8, values, bytes }
    }

    /// The bytes that codes without scales become.
    fn plain(&self, codes: &[u8], out: &mut [u8]) {
        if self.format.bits == 4 {
            for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(codes) {
                *pair = [byte & 15, byte >> 4].map(|code| self.bytes[usize::from(code)]);
            }
        } else {
            for (four, bytes) in out.as_chunks_mut::<4>().0.iter_mut().zip(codes.as_chunks::<3>().0) {
                let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
                *four = [0, 6, 12, 18].map(|at| self.bytes[(bits >> at & 63) as usize]);
            }
        }
    }

    /// The same with scales: units of 32 codes of four bits and four scales, one for every eight codes (D06-29),
    /// saturating at the largest finite value (D06-30).
    fn scaled(&self, units: &[u8], products: &mut Vec<f32>, out: &mut [u8]) {
        const UNIT: usize = 20;
        let target = self.format.target;
        let largest = num::max_finite(target, self.fp8).unwrap_or(f32::MAX);
        let mut scales = [0.0; 4];
        products.clear();
        for unit in units.as_chunks::<UNIT>().0 {
            let (codes, of_groups) = unit.split_at(UNIT - scales.len());
            num::unpack(of_groups, Dtype::SFP8_E8, self.fp8, &mut scales);
            for (codes, scale) in codes.chunks_exact(GROUP / 2).zip(scales) {
                let values = codes.iter().flat_map(|byte| [byte & 15, byte >> 4]);
                products.extend(values.map(|code| {
                    // NaN stays.
                    (self.values[usize::from(code)] * scale).clamp(-largest, largest)
                }));
            }
        }
        num::pack(products, target, self.fp8, out);
    }
}

/// Runs the word. A destination that the rest of the source still reads is written after every unit.
pub fn dequantize(d: &Dequantize, x: &mut Exec<'_>) {
    let core = x.core();
    let tables = Tables::new(d.format, core.spec.fp8);
    let (from, to) = d.format.ratio(d.grouped);
    let ahead = d.src.may_read_ahead_of(&d.dst) && d.src != d.dst;
    let together = if ahead { CHUNK / from } else { 1 };
    let (mut src, mut dst) = (Stream::new(&d.src), Stream::new(&d.dst));
    let (mut packed, mut products) = (Vec::new(), Vec::new());
    for lane in 0..d.lanes {
        src.restart();
        dst.restart();
        let mut left = d.src.count / from;
        while left > 0 {
            let units = together.min(left);
            packed.clear();
            packed.extend_from_slice(src.next(core, lane, units * from));
            dst.write(core, lane, units * to, |out| {
                if d.grouped {
                    tables.scaled(&packed, &mut products, out);
                } else {
                    tables.plain(&packed, out);
                }
            });
            left -= units;
        }
    }
}
