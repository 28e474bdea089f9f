//! TENSOR_SCALAR_AFFINE_SELECT (chapter 04 section 8.5).

use super::rows::{Stream, chunk};
use crate::interp::Exec;
use crate::interp::select::{AffineSelect, Passes};
use crate::isa::Data4d;
use crate::num::{self, dispatch::multiversion};

/// Keeps an element where its mask passes, else writes the fill register; `false`, with nothing done, if there is no
/// such register.
pub fn affine_select(o: &AffineSelect, x: &mut Exec<'_>) -> bool {
    let Ok(register) = o.fill(x) else { return false };
    let core = x.core();
    let fp8 = core.spec.fp8;
    let masks = masks(&o.mask, o.dst.count);
    let length = chunk(&[&o.src], &o.dst);
    let (mut src, mut dst) = (Stream::new(&o.src), Stream::new(&o.dst));
    let (mut values, mut row) = (Vec::new(), Vec::new());
    for lane in 0..o.lanes {
        src.restart();
        dst.restart();
        let of_lane = o.channel_multiplier.wrapping_mul(lane as i32);
        for masks in masks.chunks(length) {
            let packed = src.next(core, lane, masks.len());
            row.resize(masks.len() * o.dst.size, 0);
            if o.from == o.to {
                row.copy_from_slice(packed);
            } else {
                values.resize(masks.len(), 0.0);
                num::unpack(packed, o.from, fp8, &mut values);
                num::pack(&values, o.to, fp8, &mut row);
            }
            fill(&mut row, o.dst.size, register, masks, of_lane, o.passes);
            dst.write(core, lane, masks.len(), |out| out.copy_from_slice(&row));
        }
    }
    true
}

/// The generated numbers of lane 0, wrapping at 32 bits (chapter 04 section 9).
pub(super) fn masks(generator: &Data4d, count: usize) -> Vec<i32> {
    let mut index = [0; 4];
    let mut value = generator.base;
    let mut masks = Vec::with_capacity(count);
    for _ in 0..count {
        masks.push(value);
        for (index, (num, step)) in index.iter_mut().zip(generator.num.iter().zip(generator.step)) {
            let num = i32::from(*num).max(1);
            value = value.wrapping_add(step.into());
            *index += 1;
            if *index < num {
                break;
            }
            *index = 0;
            value = value.wrapping_sub(num.wrapping_mul(step.into()));
        }
    }
    masks
}

multiversion! {
    fn fill(row: &mut [u8], size: usize, fill: u32, masks: &[i32], of_lane: i32, passes: Passes) {
        match passes {
            Passes::Positive => fill_sized(row, size, fill, masks, |m| m.wrapping_add(of_lane) > 0),
            Passes::NotNegative => fill_sized(row, size, fill, masks, |m| m.wrapping_add(of_lane) >= 0),
            Passes::Zero => fill_sized(row, size, fill, masks, |m| m.wrapping_add(of_lane) == 0),
            Passes::NotZero => fill_sized(row, size, fill, masks, |m| m.wrapping_add(of_lane) != 0),
        }
    }
}

#[inline(always)]
fn fill_sized(row: &mut [u8], size: usize, fill: u32, masks: &[i32], passes: impl Fn(i32) -> bool) {
    let [a, b, c, d] = fill.to_le_bytes();
    match size {
        1 => fill_cells(row, [a], masks, passes),
        2 => fill_cells(row, [a, b], masks, passes),
        4 => fill_cells(row, [a, b, c, d], masks, passes),
        _ => fill_cells(row, u64::from(fill).to_le_bytes(), masks, passes),
    }
}

#[inline(always)]
fn fill_cells<const N: usize>(row: &mut [u8], fill: [u8; N], masks: &[i32], passes: impl Fn(i32) -> bool) {
    for (cell, mask) in row.as_chunks_mut::<N>().0.iter_mut().zip(masks) {
        *cell = if passes(*mask) { *cell } else { fill };
    }
}
