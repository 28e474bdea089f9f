//! SPARSITY_COMPRESS and SPARSITY_COMPRESS_TAG (chapter 05 section 9): the four extreme elements of each group
//! and where they were.

use std::cmp::Ordering;

use super::lanes::expect_row;
use super::shuffle::{QUADRANT, transposed_rows};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Subdim;
use crate::isa::layouts::{S2D2D2_SC, S3D3_SC};
use crate::isa::{Decoded, Dtype};
use crate::num;

/// Winners of a group.
pub const WINNERS: usize = 4;

/// What a word looks for. The codes are not those of the ALU: the numbers of maximum and minimum are exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extreme {
    /// The largest, not the smallest.
    pub largest: bool,
    /// Of the magnitudes.
    pub magnitude: bool,
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
    resolve_compress(x, w)?.run(x);
    Ok(Flow::Next)
}

/// SPARSITY_COMPRESS_TAG: data and tags in tensors of their own.
pub fn compress_tag(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_compress_tag(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The operands of [`compress`] after all checks.
pub fn resolve_compress(x: &Exec<'_>, w: &Decoded) -> Result<Compress, FaultKind> {
    let o = *x.operands::<S3D3_SC>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_struct_dtype, lanes, Access::Write)?;
    let word = Compress::new(
        &src,
        (o.op, o.op_dim, &o.src.num),
        (o.in_dtype, o.out_data_dtype),
        (o.transpose_src, lanes),
        Destination::Pairs(dst),
    )?;
    let half = o.out_data_dtype.bytes();
    if dst.size != 2 * half || dst.count != word.results() {
        let found = format!("{} elements of {} bytes", dst.count, dst.size);
        let expected = format!("{} of {} bytes", word.results(), 2 * half);
        return Err(FaultKind::illegal("dst", found, expected));
    }
    Ok(word)
}

/// The operands of [`compress_tag`] after all checks.
pub fn resolve_compress_tag(x: &Exec<'_>, w: &Decoded) -> Result<Compress, FaultKind> {
    let o = *x.operands::<S2D2D2_SC>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let data = x.tensor("data_dst", &o.data_dst, o.out_data_dtype, lanes, Access::Write)?;
    let tag = x.tensor("tag_dst", &o.tag_dst, o.out_tag_dtype, lanes, Access::Write)?;
    let packed = o.packed_tags == 1;
    let word = Compress::new(
        &src,
        (o.op, o.op_dim, &o.src.num),
        (o.in_dtype, o.out_data_dtype),
        (o.transpose_src, lanes),
        Destination::Separate { data, tag, packed },
    )?;
    let tags = if packed { word.results() / WINNERS } else { word.results() };
    if data.count != word.results() || tag.count != tags || (packed && word.length > 16) {
        let found = format!("{} elements and {} tags", data.count, tag.count);
        return Err(FaultKind::illegal("data_dst", found, format!("{} and {tags}", word.results())));
    }
    Ok(word)
}

/// Where winners go.
#[derive(Clone, Copy, Debug)]
pub enum Destination {
    /// Elements {data, tag}.
    Pairs(Walk),
    /// Tensors of their own.
    Separate {
        /// The elements.
        data: Walk,
        /// Their places.
        tag: Walk,
        /// Four tags an element.
        packed: bool,
    },
}

impl Destination {
    /// What each tensor takes of packed data and the tags of some groups.
    pub fn encode(&self, data: &[u8], tags: &[u16]) -> [(Walk, Vec<u8>); 2] {
        match *self {
            Destination::Pairs(dst) => {
                let half = dst.size / 2;
                let pairs = data.chunks_exact(half).zip(tags);
                let mut bytes = Vec::with_capacity(2 * data.len());
                pairs.for_each(|(data, tag)| {
                    bytes.extend_from_slice(data);
                    bytes.extend_from_slice(&tag.to_le_bytes()[..half]);
                });
                [(dst, bytes), (dst, Vec::new())]
            }
            Destination::Separate { data: to, tag, packed } => {
                let tags = if packed {
                    let nibbles = |tags: &[u16]| tags.iter().rev().fold(0u16, |all, tag| all << 4 | tag);
                    tags.chunks_exact(WINNERS).flat_map(|group| nibbles(group).to_le_bytes()).collect()
                } else {
                    tags.iter().flat_map(|t| u32::from(*t).to_le_bytes().into_iter().take(tag.size)).collect()
                };
                [(to, data.to_vec()), (tag, tags)]
            }
        }
    }
}

/// What both words have in common, checked.
#[derive(Clone, Copy, Debug)]
pub struct Compress {
    /// The tensor.
    pub src: Walk,
    /// What is looked for.
    pub extreme: Extreme,
    /// Elements of a group.
    pub length: usize,
    /// Datatype of the source.
    pub from: Dtype,
    /// Datatype of the data.
    pub to: Dtype,
    /// The source passes the transposing reader, a quadrant at a time.
    pub transpose: bool,
    /// Lanes.
    pub lanes: usize,
    /// Where winners go.
    pub destination: Destination,
}

impl Compress {
    fn new(
        src: &Walk,
        (op, op_dim, num): (u8, Subdim, &[u16]),
        (from, to): (Dtype, Dtype),
        (transpose, lanes): (u8, u8),
        destination: Destination,
    ) -> Result<Compress, FaultKind> {
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
        let (transpose, lanes) = (transpose == 1, lanes.into());
        Ok(Compress { src: *src, extreme, length, from, to, transpose, lanes, destination })
    }

    /// Winners of one lane.
    fn results(&self) -> usize {
        self.src.count / self.length * WINNERS
    }

    /// Runs over all lanes. Groups are written one after the other; a transposing word reads its quadrant first.
    fn run(&self, x: &mut Exec<'_>) {
        let fp8 = x.core().spec.fp8;
        let mut rows = Vec::new();
        for lane in 0..self.lanes {
            if self.transpose && lane % QUADRANT == 0 {
                rows = transposed_rows(x.core(), &self.src, lane);
            }
            let mut from = self.src.start();
            let mut to = self.destination.encode(&[], &[]).map(|(walk, _)| walk.start());
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
                let parts = self.destination.encode(&data, &winners.map(|i| i as u16));
                for ((walk, bytes), cursor) in parts.iter().zip(&mut to) {
                    walk.scatter(cursor, x.core().memory_mut(walk.space), lane, bytes);
                }
            }
        }
    }
}
