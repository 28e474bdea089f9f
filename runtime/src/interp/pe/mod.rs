//! The PE: LDWEIGHTS and MATMUL (chapter 05 section 2).

mod multiply;
pub(crate) mod mx;
mod operands;
mod seed;
mod sparse;
pub(crate) mod sum;

use super::{Exec, FaultKind, Flow, Walk};
use crate::isa::field::Fp32Mode;
use crate::isa::{Decoded, Dtype};
use crate::machine::PeState;
use crate::num;

pub(crate) use multiply::{Multiply, ResultKind};
use operands::group;
pub(crate) use operands::{Common, Tile, WeightLoad, flushes, fp32_part, operand};
pub(crate) use seed::{ManageSeed, resolve_lut};
pub use seed::{load_lut, manage_seed};
pub(crate) use sparse::{LoadTags, Sparse, warn_absent};
pub use sparse::{ldtags, matmul_sparse};

/// Low mantissa bits that the HIGH part of an fp32 operand lacks (decision 05-12).
pub const FP32_LO_BITS: u32 = 12;

/// Most contraction lanes of one array row: those of MX; two in DoubleRow and DoublePixel.
pub const MAX_LANES: usize = mx::LANES;

/// Most columns of the array: those of MAVERICK.
pub const MAX_COLUMNS: usize = 256;

/// LDWEIGHTS and LDWEIGHTS_MX (chapter 05 sections 2.2 and 2.7).
pub fn ldweights(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let load = WeightLoad::new(x, w)?;
    let WeightLoad { c, tagged, walk, scales, .. } = load;
    let fp8 = x.core().spec.fp8;
    let core = x.core();
    let mut packed = vec![0; walk.count * walk.size];
    for r in 0..c.tile.rows {
        walk.gather(&mut walk.start(), core.memory(walk.space), r, &mut packed);
        for e in 0..c.tile.cols {
            for j in 0..c.packing.lanes() {
                let raw = code(&packed, c.packing.stationary(e, j, c.tile.cols), c.dtype, walk.size);
                let element = if tagged { raw & 0xFFFF } else { raw };
                let at = PeState::cell(j, c.tile.first_row + r, load.column(e));
                core.pe.raw[at] = element;
                core.pe.weights[at] = match scales {
                    Some(scales) => mx::scaled(element, c.dtype, scales.of_row(&core.sbuf, r)[e]),
                    None => operand(element, c.dtype, c.fp32_mode, c.zero_point, fp8),
                };
                if tagged {
                    core.pe.tags[at] = (raw >> 16 & 0xF) as u8;
                }
            }
        }
    }
    load.note_loaded(&mut core.pe);
    Ok(Flow::Next)
}

/// The bits of an element of `size` bytes, or of FP4.
fn code(packed: &[u8], at: usize, dtype: Dtype, size: usize) -> u32 {
    if dtype == Dtype::FP4_EXP2 {
        return u32::from(packed[at / 2] >> (4 * (at % 2)) & 0xF);
    }
    packed[at * size..][..size].iter().rev().fold(0, |v, b| v << 8 | u32::from(*b))
}

/// MATMUL and MATMUL_MX (chapter 05 sections 2.3 and 2.7): `out[c][n]` = sum over r of `W[r][c] x X[r][n]`, one write
/// or add per cell.
pub fn matmul(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    for pass in Multiply::new(x, w)?.passes() {
        let product = Product { c: pass.c, n: pass.cells.count, moving: gather_moving(x, &pass) };
        pass.warn_unwritten(x);
        let Multiply { begin, result, cells, .. } = pass;
        match result {
            ResultKind::Raw(dtype) => product.write_transposed(x, &cells, dtype),
            ResultKind::Uint32 => product.write_integers(x, &cells, begin),
            ResultKind::Fp32 | ResultKind::Bf16 => product.write_floats(x, &cells, begin, result),
        }
    }
    Ok(Flow::Next)
}

/// The moving operand as the array sees it: `lanes` planes of rows, each `n` values (padded).
fn gather_moving(x: &mut Exec<'_>, word: &Multiply) -> sum::Moving {
    let Multiply { c, moving: walk, scales, .. } = word;
    let (lanes, n) = (c.packing.lanes(), word.cells.count);
    let fp8 = c.flavour(x.core().spec.fp8);
    let core = x.core();
    let mut moving = sum::Moving::new(lanes, c.tile.rows, n);
    let mut packed = vec![0; walk.count * walk.size];
    let mut values = vec![0.0; lanes * n];
    for r in 0..c.tile.rows {
        let bytes = match walk.as_slice(core.memory(walk.space), r) {
            Some(bytes) => bytes,
            None => {
                walk.gather(&mut walk.start(), core.memory(walk.space), r, &mut packed);
                packed.as_slice()
            }
        };
        num::unpack(bytes, c.dtype, fp8, &mut values);
        for j in 0..lanes {
            let row = moving.row_mut(j, r);
            for (at, value) in row.iter_mut().enumerate() {
                *value = values[c.packing.moving(at, j, n)];
            }
            if let Some(scales) = scales {
                let scales = scales.of_row(&core.sbuf, r);
                row.iter_mut().zip(scales).for_each(|(value, scale)| *value *= mx::factor(*scale));
            }
        }
    }
    moving
}

/// A MATMUL whose checks have passed.
struct Product {
    c: Common,
    n: usize,
    moving: sum::Moving,
}

impl Product {
    /// The operand values after the fp32 split, the zero point and the flush of subnormals.
    fn prepared(&self) -> sum::Moving {
        let c = &self.c;
        let mut moving = self.moving.clone();
        moving.map(|v| match c.dtype {
            Dtype::UINT8 => v - f32::from(c.zero_point),
            Dtype::FP32 => fp32_part(v, c.fp32_mode),
            _ if flushes(c.dtype) && v.is_subnormal() => 0.0f32.copysign(v),
            _ => v,
        });
        moving
    }

    fn sums(&self, x: &mut Exec<'_>, weights: impl Fn(&PeState, usize, usize, usize) -> f32) -> Vec<f32> {
        let t = self.c.tile;
        let pe = &x.core().pe;
        let stationary = sum::Stationary::new(self.c.packing.lanes(), t.rows, t.cols, |j, r, col| {
            weights(pe, j, t.first_row + r, t.first_col + col)
        });
        sum::product(&stationary, &self.prepared(), flushes(self.c.dtype))
    }

    fn write_floats(&self, x: &mut Exec<'_>, cells: &Walk, begin: bool, result: ResultKind) {
        let sums = self.sums(x, |pe, j, r, c| pe.weights[PeState::cell(j, r, c)]);
        for_each_cell(x, cells, self.c.tile.cols, |column, n, old| {
            result.updated(old, sums[column * self.n + n], begin)
        });
    }

    /// UINT8 operands: wrapping 32-bit sums (decision 05-11).
    fn write_integers(&self, x: &mut Exec<'_>, cells: &Walk, begin: bool) {
        let t = self.c.tile;
        let moving = self.prepared();
        let pe = &x.core().pe;
        let weight = |k| PeState::cell(0, t.first_row + k % t.rows, t.first_col + k / t.rows);
        let weights: Vec<i32> = (0..t.cols * t.rows).map(|k| pe.weights[weight(k)] as i32).collect();
        for_each_cell(x, cells, self.c.tile.cols, |column, n, old| {
            let sum = (0..t.rows).fold(0i32, |sum, r| {
                let weight = weights[column * t.rows + r];
                sum.wrapping_add(weight.wrapping_mul(moving.row(0, r)[n] as i32))
            });
            if begin { sum as u32 } else { old.wrapping_add(sum as u32) }
        });
    }

    /// A copy-transpose: a column of the identity passes the raw element of its row, any other column is
    /// an ordinary product with the whole weights, cast to the input's dtype (decision 05-10).
    fn write_transposed(&self, x: &mut Exec<'_>, cells: &Walk, dtype: Dtype) {
        let t = self.c.tile;
        let fp8 = x.core().spec.fp8;
        let one_hot: Vec<Option<usize>> = (0..self.n).map(|n| self.moving.one_hot_row(n)).collect();
        let sums = if one_hot.iter().all(Option::is_some) {
            Vec::new()
        } else {
            let whole = |raw| operand(raw, dtype, Fp32Mode(0), 0, fp8);
            self.sums(x, |pe, j, r, c| whole(pe.raw[PeState::cell(j, r, c)]))
        };
        let pe = &x.core().pe;
        let cell = |k| PeState::cell(0, t.first_row + k % t.rows, t.first_col + k / t.rows);
        let raw: Vec<u32> = (0..t.cols * t.rows).map(|k| pe.raw[cell(k)]).collect();
        for_each_cell(x, cells, t.cols, |column, n, _| match one_hot[n] {
            Some(row) => raw[column * t.rows + row],
            None => num::from_f32(sums[column * self.n + n], dtype, fp8),
        });
    }
}

/// Visits the cells of every column in walk order: `body(column, n, old bits)` gives the new bits.
fn for_each_cell(x: &mut Exec<'_>, cells: &Walk, cols: usize, body: impl Fn(usize, usize, u32) -> u32) {
    let (n, size) = (cells.count, cells.size);
    // A walk that visits a cell twice must see its own first write.
    let chunk = if cells.is_injective() { n } else { 1 };
    let mut bytes = vec![0; chunk * size];
    for column in 0..cols {
        let (mut from, mut to) = (cells.start(), cells.start());
        for first in (0..n).step_by(chunk) {
            let memory = x.core().memory_mut(cells.space);
            cells.gather(&mut from, memory, column, &mut bytes);
            for (k, cell) in bytes.chunks_exact_mut(size).enumerate() {
                let mut old = [0; 4];
                old[..size].copy_from_slice(cell);
                let new = body(column, first + k, u32::from_le_bytes(old)).to_le_bytes();
                cell.copy_from_slice(&new[..size]);
            }
            cells.scatter(&mut to, memory, column, &bytes);
        }
    }
}
