//! SPARSITY_COMPRESS and SPARSITY_COMPRESS_TAG (chapter 05 section 9): the four extreme elements of each group
//! and where they were.

use std::cmp::Ordering;

use super::lanes::expect_row;
use super::shuffle::{QUADRANT, transposed_rows};
use super::{Access, Cursor, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Subdim;
use crate::isa::layouts::{S2D2D2_SC, S3D3_SC};
use crate::isa::{Decoded, Dtype};
use crate::num;

/// Winners of a group.
pub const WINNERS: usize = 4;

/// What a word looks for. The codes are not those of the ALU: the numbers of maximum and minimum are exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extreme {
    largest: bool,
    magnitude: bool,
}

impl Extreme {
    /// The meaning of an `op` byte.
    pub fn of(op: u8) -> Option<Extreme> {
        match op {
            0x08 => Some(Extreme { largest: false, magnitude: false }),
            0x09 => Some(Extreme { largest: true, magnitude: false }),
            0x20 => Some(Extreme { largest: false, magnitude: true }),
            0x21 => Some(Extreme { largest: true, magnitude: true }),
            _ => None,
        }
    }

    /// The winners, the most extreme last: of equal ones the lower index wins and comes later; NaN is the last
    /// choice (D05-43).
    fn winners(self, group: &[f32]) -> [usize; WINNERS] {
        let key = |i: usize| if self.magnitude { group[i].abs() } else { group[i] };
        let better = |a: &usize, b: &usize| match (key(*a).is_nan(), key(*b).is_nan()) {
            (false, false) => {
                let ascending = key(*a).partial_cmp(&key(*b)).unwrap_or(Ordering::Equal);
                if self.largest { ascending.reverse() } else { ascending }
            }
            (a, b) => a.cmp(&b),
        };
        let mut order: Vec<usize> = (0..group.len()).collect();
        order.sort_by(better);
        std::array::from_fn(|k| order[WINNERS - 1 - k])
    }
}

/// SPARSITY_COMPRESS: elements {data, tag} as LDWEIGHTS reads them.
pub fn compress(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_SC>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_struct_dtype, lanes, Access::Write)?;
    let word = Word::new(
        &src,
        (o.op, o.op_dim, &o.src.num),
        (o.in_dtype, o.out_data_dtype),
        (o.transpose_src, lanes),
    )?;
    let half = o.out_data_dtype.bytes();
    if dst.size != 2 * half || dst.count != word.results() {
        let found = format!("{} elements of {} bytes", dst.count, dst.size);
        let expected = format!("{} of {} bytes", word.results(), 2 * half);
        return Err(FaultKind::illegal("dst", found, expected));
    }
    word.run(x, lanes.into(), &mut [dst], |data, tags| {
        let pairs = data.chunks_exact(half).zip(tags);
        vec![pairs.flat_map(|(d, tag)| [d, &tag.to_le_bytes()[..half]].concat()).collect()]
    });
    Ok(Flow::Next)
}

/// SPARSITY_COMPRESS_TAG: data and tags in tensors of their own.
pub fn compress_tag(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2D2D2_SC>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let data = x.tensor("data_dst", &o.data_dst, o.out_data_dtype, lanes, Access::Write)?;
    let tag = x.tensor("tag_dst", &o.tag_dst, o.out_tag_dtype, lanes, Access::Write)?;
    let word = Word::new(
        &src,
        (o.op, o.op_dim, &o.src.num),
        (o.in_dtype, o.out_data_dtype),
        (o.transpose_src, lanes),
    )?;
    let packed = o.packed_tags == 1;
    let tags = if packed { word.results() / WINNERS } else { word.results() };
    if data.count != word.results() || tag.count != tags || (packed && word.length > 16) {
        let found = format!("{} elements and {} tags", data.count, tag.count);
        return Err(FaultKind::illegal("data_dst", found, format!("{} and {tags}", word.results())));
    }
    word.run(x, lanes.into(), &mut [data, tag], |data, tags| {
        let tags = if packed {
            let nibbles = tags.iter().enumerate().fold(0u16, |all, (k, tag)| all | tag << (4 * k));
            nibbles.to_le_bytes().to_vec()
        } else {
            tags.iter().flat_map(|t| u32::from(*t).to_le_bytes().into_iter().take(tag.size)).collect()
        };
        vec![data.to_vec(), tags]
    });
    Ok(Flow::Next)
}

/// What both words have in common, checked.
struct Word {
    src: Walk,
    extreme: Extreme,
    /// Elements of a group.
    length: usize,
    from: Dtype,
    to: Dtype,
    transpose: bool,
}

impl Word {
    fn new(
        src: &Walk,
        (op, op_dim, num): (u8, Subdim, &[u16]),
        (from, to): (Dtype, Dtype),
        (transpose, lanes): (u8, u8),
    ) -> Result<Word, FaultKind> {
        expect_row("src", src)?;
        let extreme = Extreme::of(op)
            .ok_or_else(|| FaultKind::illegal("op", format!("0x{op:02x}"), "0x08, 0x09, 0x20 or 0x21"))?;
        let dims = usize::from(op_dim.0).saturating_sub(1); // X is 2
        if dims == 0 || dims > 4 {
            return Err(FaultKind::illegal("op_dim", op_dim.0, "2 to 5"));
        }
        let length: usize = num.iter().take(dims).map(|n| usize::from(*n)).product();
        if length < WINNERS || !src.count.is_multiple_of(length) {
            return Err(FaultKind::illegal(
                "src",
                format!("groups of {length} elements"),
                "groups of at least 4",
            ));
        }
        let whole_tiles = src.count.is_multiple_of(QUADRANT) && usize::from(lanes).is_multiple_of(QUADRANT);
        if transpose == 1 && !whole_tiles {
            let found = format!("{} elements on {lanes} lanes", src.count);
            return Err(FaultKind::illegal("transpose_src", found, "multiples of 32"));
        }
        Ok(Word { src: *src, extreme, length, from, to, transpose: transpose == 1 })
    }

    /// Winners of one lane.
    fn results(&self) -> usize {
        self.src.count / self.length * WINNERS
    }

    /// Runs over all lanes: `encode(packed data, tags)` of each group gives what each destination takes. Groups
    /// are written one after the other; a transposing word reads its quadrant first.
    fn run(
        &self,
        x: &mut Exec<'_>,
        lanes: usize,
        destinations: &mut [Walk],
        encode: impl Fn(&[u8], &[u16]) -> Vec<Vec<u8>>,
    ) {
        let fp8 = x.core().spec.fp8;
        let mut rows = Vec::new();
        for lane in 0..lanes {
            if self.transpose && lane % QUADRANT == 0 {
                rows = transposed_rows(x.core(), &self.src, lane);
            }
            let mut from = self.src.start();
            let mut to: Vec<Cursor> = destinations.iter().map(Walk::start).collect();
            let mut packed = vec![0; self.length * self.src.size];
            let mut values = vec![0.0; self.length];
            for group in 0..self.src.count / self.length {
                if self.transpose {
                    let bytes = packed.len();
                    packed.copy_from_slice(&rows[lane % QUADRANT][group * bytes..][..bytes]);
                } else {
                    self.src.gather(&mut from, x.core().memory(self.src.space), lane, &mut packed);
                }
                num::unpack(&packed, self.from, fp8, &mut values);
                let winners = self.extreme.winners(&values);
                let mut data = vec![0; WINNERS * self.to.bytes()];
                num::pack(&winners.map(|i| values[i]), self.to, fp8, &mut data);
                let parts = encode(&data, &winners.map(|i| i as u16));
                for ((walk, cursor), bytes) in destinations.iter().zip(&mut to).zip(parts) {
                    walk.scatter(cursor, x.core().memory_mut(walk.space), lane, &bytes);
                }
            }
        }
    }
}
