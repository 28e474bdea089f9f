//! Folds across lanes, a row at a time (chapter 04 section 7).

use super::rows::{Stream, floats};
use crate::interp::Exec;
use crate::interp::cross_lane::{BitFold, CrossLane, FloatFold};
use crate::num::{self, dispatch::multiversion};

/// CROSS_LANE_REDUCE_ARITH.
pub fn arith(c: &CrossLane<FloatFold>, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let FloatFold { op, scale } = c.fold;
    let mut src = Stream::new(&c.src);
    let (mut values, mut scaled) = (Vec::new(), Vec::new());
    let mut acc: Vec<f32> = Vec::new();
    for lane in 0..c.lanes {
        src.restart();
        let mut row = floats(src.next(core, lane, c.src.count), c.from, fp8, &mut values);
        if let Some(scale) = scale {
            scaled.resize(row.len(), 0.0);
            multiply(row, scale, &mut scaled);
            row = &scaled;
        }
        match (&mut acc[..], row) {
            // The fold starts from the first element.
            ([], [first, rest @ ..]) if c.all => {
                acc = vec![num::fold_row(op, *first, rest).unwrap_or(*first)]
            }
            ([], row) => acc = row.to_vec(),
            ([acc], row) if c.all => *acc = num::fold_row(op, *acc, row).unwrap_or(*acc),
            (acc, row) => {
                let done = num::fold_rows(op, acc, row);
                debug_assert!(done.is_some(), "the operators of these words fold");
            }
        }
    }
    let mut dst = Stream::new(&c.dst);
    dst.write(core, 0, acc.len(), |out| num::pack(&acc, c.to, fp8, out));
}

multiversion! {
    fn multiply(row: &[f32], scale: f32, out: &mut [f32]) {
        out.iter_mut().zip(row).for_each(|(out, x)| *out = x * scale);
    }
}

/// CROSS_LANE_REDUCE_BITVEC. The operators work on bytes as well as on elements.
pub fn bitvec(c: &CrossLane<BitFold>, x: &mut Exec<'_>) {
    let core = x.core();
    let mut src = Stream::new(&c.src);
    let mut acc = src.next(core, 0, c.src.count).to_vec();
    for lane in 1..c.lanes {
        src.restart();
        fold_bytes(c.fold, &mut acc, src.next(core, lane, c.src.count));
    }
    if c.all {
        let (first, rest) = acc.split_at_mut(c.src.size);
        rest.chunks_exact(c.src.size).for_each(|element| fold_bytes(c.fold, first, element));
        acc.truncate(c.src.size);
    }
    let mut values = vec![0; acc.len() / c.src.size];
    num::unpack_bits(&acc, c.src.size, &mut values);
    let mut dst = Stream::new(&c.dst);
    dst.write(core, 0, values.len(), |out| num::pack_bits(&values, c.dst.size, out));
}

multiversion! {
    fn fold_bytes(fold: BitFold, acc: &mut [u8], row: &[u8]) {
        let pairs = acc.iter_mut().zip(row);
        match fold {
            BitFold::Or => pairs.for_each(|(acc, byte)| *acc |= byte),
            BitFold::And => pairs.for_each(|(acc, byte)| *acc &= byte),
            BitFold::Xor => pairs.for_each(|(acc, byte)| *acc ^= byte),
        }
    }
}
