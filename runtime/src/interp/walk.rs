//! Tensor operands resolved to bytes: bounds, and moving elements in walk order (chapter 03 section 4.2).

use super::fault::{Address, FaultKind};
use crate::isa::{Dtype, Geometry, Location, Space, Tensor};
use crate::machine::Partitions;

/// Elements that one lane of one word may walk. Nothing real comes near; a word beyond it is refused, so
/// that broadcast steps cannot make a word run for days.
pub const MAX_ELEMENTS: u64 = 1 << 28;

/// A tensor operand in one partition per lane: where it starts and how it walks. Dimensions that
/// continue each other are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Which memory.
    pub space: Space,
    /// Partition of lane 0.
    pub partition: usize,
    /// Byte of element 0 in its partition.
    pub offset: usize,
    /// Bytes of an element.
    pub size: usize,
    /// Elements per lane.
    pub count: usize,
    /// Lowest byte touched.
    pub low: usize,
    /// Byte behind the highest byte touched.
    pub high: usize,
    dims: [Dim; 4],
    rank: usize,
}

/// One dimension of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Dim {
    count: usize,
    step: isize,
}

impl Walk {
    /// Resolves a pattern at an on-chip address and checks everything that reaches memory: region,
    /// alignment, partitions, counts and bounds (chapter 03 section 3.5).
    pub fn new<const N: usize>(
        geometry: &Geometry,
        field: &'static str,
        address: u32,
        tensor: &Tensor<N>,
        dtype: Dtype,
        lanes: usize,
    ) -> Result<Walk, FaultKind> {
        let fault = |reason: String| FaultKind::Memory { field, address: Address::OnChip(address), reason };
        let Location { space, partition, offset } =
            geometry.locate(address).ok_or_else(|| fault("neither SBUF nor PSUM".into()))?;
        let size = dtype.bytes();
        if size == 0 {
            return Err(FaultKind::illegal(field, dtype.text(), "a datatype of whole bytes"));
        }
        if !(offset as usize).is_multiple_of(size) {
            return Err(FaultKind::Misaligned { field, address: Address::OnChip(address), size });
        }
        if usize::from(partition) + lanes > crate::isa::PARTITIONS {
            return Err(fault(format!("{lanes} lanes from partition {partition} pass partition 127")));
        }
        let count = tensor.count();
        if count == 0 || count > MAX_ELEMENTS {
            return Err(FaultKind::illegal(
                field,
                format!("{count} elements"),
                format!("1 to {MAX_ELEMENTS}"),
            ));
        }
        let (mut low, mut high) = (i64::from(offset), i64::from(offset));
        let mut walk = Walk {
            space,
            partition: partition.into(),
            offset: offset as usize,
            size,
            count: count as usize,
            low: 0,
            high: 0,
            dims: [Dim::default(); 4],
            rank: 0,
        };
        for (num, step) in tensor.num.iter().zip(tensor.step) {
            let step = i64::from(step) * size as i64;
            let reach = step * (i64::from(*num) - 1);
            low += reach.min(0);
            high += reach.max(0);
            walk.push(Dim { count: usize::from(*num), step: step as isize });
        }
        high += size as i64;
        let active = i64::from(geometry.active(space));
        if low < 0 || high > active {
            return Err(fault(format!("touches bytes {low} to {} of a partition of {active}", high - 1)));
        }
        (walk.low, walk.high) = (low as usize, high as usize);
        Ok(walk)
    }

    /// Adds an outer dimension, merging it with the one inside where they form one longer walk.
    fn push(&mut self, dim: Dim) {
        if dim.count == 1 {
            return;
        }
        if let Some(inner) = self.dims[..self.rank].last_mut()
            && dim.step == inner.step * inner.count as isize
        {
            inner.count *= dim.count;
            return;
        }
        self.dims[self.rank] = dim;
        self.rank += 1;
    }

    /// No element is visited twice: each step, by size, passes everything that smaller steps reach.
    pub fn is_injective(&self) -> bool {
        let mut dims = self.dims;
        let dims = &mut dims[..self.rank];
        dims.sort_unstable_by_key(|d| d.step.unsigned_abs());
        let mut reach = self.size;
        dims.iter().all(|d| {
            let step = d.step.unsigned_abs();
            let apart = step >= reach;
            reach += step * (d.count - 1);
            apart
        })
    }

    /// Whether a lane that reads `self` and writes `destination` element by element gives the same bytes
    /// when it reads many elements before it writes them.
    pub fn may_read_ahead_of(&self, destination: &Walk) -> bool {
        let disjoint = self.space != destination.space
            || self.partition != destination.partition
            || self.high <= destination.low
            || destination.high <= self.low;
        disjoint || (self == destination && self.is_injective())
    }

    /// The dimensions that are left after merging, innermost first: elements and step in bytes.
    pub fn dims(&self) -> impl Iterator<Item = (usize, isize)> + '_ {
        self.dims[..self.rank].iter().map(|d| (d.count, d.step))
    }

    /// Records that all elements of `lanes` lanes hold data, for writers that do not use
    /// [`scatter`](Self::scatter).
    pub fn note_written(&self, memory: &mut Partitions, lanes: usize) {
        if !memory.tracks_writes() {
            return;
        }
        for lane in 0..lanes {
            let mut cursor = self.start();
            for _ in 0..self.count {
                let (at, _, _) = self.next_run(&mut cursor, 1);
                memory.note_written(self.partition + lane, at as usize, self.size);
            }
        }
    }

    /// A position at element 0.
    pub fn start(&self) -> Cursor {
        Cursor { index: [0; 4], at: self.offset as isize }
    }

    /// Copies the next `out.len() / size` elements of a lane, packed.
    pub fn gather(&self, cursor: &mut Cursor, memory: &Partitions, lane: usize, out: &mut [u8]) {
        let row = memory.partition(self.partition + lane);
        let mut done = 0;
        while done < out.len() {
            let (at, step, run) = self.next_run(cursor, (out.len() - done) / self.size);
            let bytes = run * self.size;
            let slot = &mut out[done..done + bytes];
            if step == self.size as isize {
                slot.copy_from_slice(&row[at as usize..at as usize + bytes]);
            } else {
                strided(self.size, run, |k, size| {
                    let from = (at + k as isize * step) as usize;
                    slot[k * size..(k + 1) * size].copy_from_slice(&row[from..from + size]);
                });
            }
            done += bytes;
        }
    }

    /// Writes the next `data.len() / size` elements of a lane from packed bytes.
    pub fn scatter(&self, cursor: &mut Cursor, memory: &mut Partitions, lane: usize, data: &[u8]) {
        let partition = self.partition + lane;
        let mut done = 0;
        while done < data.len() {
            let (at, step, run) = self.next_run(cursor, (data.len() - done) / self.size);
            let bytes = run * self.size;
            let slot = &data[done..done + bytes];
            if step == self.size as isize {
                memory.partition_mut(partition)[at as usize..at as usize + bytes].copy_from_slice(slot);
                memory.note_written(partition, at as usize, bytes);
            } else {
                let row = memory.partition_mut(partition);
                strided(self.size, run, |k, size| {
                    let to = (at + k as isize * step) as usize;
                    row[to..to + size].copy_from_slice(&slot[k * size..(k + 1) * size]);
                });
                if memory.tracks_writes() {
                    for k in 0..run {
                        memory.note_written(partition, (at + k as isize * step) as usize, self.size);
                    }
                }
            }
            done += bytes;
        }
    }

    /// As [`scatter`](Self::scatter), but only elements whose flag is set are written.
    pub fn scatter_where(
        &self,
        cursor: &mut Cursor,
        memory: &mut Partitions,
        lane: usize,
        data: &[u8],
        wanted: &[bool],
    ) {
        let partition = self.partition + lane;
        for (element, wanted) in data.chunks_exact(self.size).zip(wanted) {
            let (at, ..) = self.next_run(cursor, 1);
            if *wanted {
                let at = at as usize;
                memory.partition_mut(partition)[at..at + self.size].copy_from_slice(element);
                memory.note_written(partition, at, self.size);
            }
        }
    }

    /// Moves past one element without touching it.
    pub fn skip(&self, cursor: &mut Cursor) {
        self.next_run(cursor, 1);
    }

    /// Whether the elements of a lane lie one behind the other, ascending.
    pub fn is_contiguous(&self) -> bool {
        match self.dims[..self.rank] {
            [] => true,
            [only] => only.step == self.size as isize,
            _ => false,
        }
    }

    /// The elements of one lane as one slice, if the walk is contiguous and ascending.
    pub fn as_slice<'m>(&self, memory: &'m Partitions, lane: usize) -> Option<&'m [u8]> {
        self.is_contiguous().then(|| {
            &memory.partition(self.partition + lane)[self.offset..self.offset + self.count * self.size]
        })
    }

    /// All elements from the lowest to the highest that the walk touches, ascending.
    pub(crate) fn hull(&self) -> Walk {
        let count = (self.high - self.low) / self.size;
        let mut hull = Walk { offset: self.low, count, dims: [Dim::default(); 4], rank: 0, ..*self };
        hull.push(Dim { count, step: self.size as isize });
        hull
    }

    /// The position of each element in the [`hull`](Self::hull).
    pub(crate) fn positions(&self) -> Vec<u32> {
        let mut cursor = self.start();
        let position = |at: isize| ((at as usize - self.low) / self.size) as u32;
        (0..self.count).map(|_| position(self.next_run(&mut cursor, 1).0)).collect()
    }

    /// Whether the operands of a word with so many lanes share no byte, in the same lane or in another.
    pub fn is_apart_from(&self, other: &Walk, lanes: usize) -> bool {
        self.space != other.space
            || self.high <= other.low
            || other.high <= self.low
            || self.partition.abs_diff(other.partition) >= lanes
    }

    /// Records that all elements of `lanes` lanes are read; the first byte of them that nothing has written.
    pub fn note_read(&self, memory: &Partitions, lanes: usize) -> Option<Location> {
        if !memory.tracks_writes() {
            return None;
        }
        (0..lanes).find_map(|lane| {
            let partition = self.partition + lane;
            let mut cursor = self.start();
            let mut left = self.count;
            while left > 0 {
                let (at, step, run) = self.next_run(&mut cursor, left);
                let read = |at: usize, len| {
                    memory.note_read(partition, at, len);
                    memory.first_unwritten(partition, at, len)
                };
                let gap = if step == self.size as isize {
                    read(at as usize, run * self.size)
                } else {
                    (0..run).find_map(|k| read((at + k as isize * step) as usize, self.size))
                };
                if let Some(offset) = gap {
                    return Some(Location {
                        space: self.space,
                        partition: partition as u8,
                        offset: offset as u32,
                    });
                }
                left -= run;
            }
            None
        })
    }

    /// The next stretch of the innermost dimension: first byte, step, elements; moves the cursor past it.
    pub(crate) fn next_run(&self, cursor: &mut Cursor, limit: usize) -> (isize, isize, usize) {
        let Some(inner) = self.dims[..self.rank].first() else {
            return (cursor.at, self.size as isize, 1);
        };
        let run = limit.min(inner.count - cursor.index[0]);
        let at = cursor.at;
        cursor.index[0] += run;
        cursor.at += run as isize * inner.step;
        for d in 0..self.rank {
            if cursor.index[d] < self.dims[d].count {
                break;
            }
            cursor.at -= self.dims[d].count as isize * self.dims[d].step;
            cursor.index[d] = 0;
            if d + 1 < self.rank {
                cursor.index[d + 1] += 1;
                cursor.at += self.dims[d + 1].step;
            }
        }
        (at, inner.step, run)
    }
}

/// A position in a walk.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    index: [usize; 4],
    at: isize,
}

/// Calls `body(k, size)` for each element with a constant size, so that element copies become moves.
fn strided(size: usize, run: usize, mut body: impl FnMut(usize, usize)) {
    match size {
        1 => (0..run).for_each(|k| body(k, 1)),
        2 => (0..run).for_each(|k| body(k, 2)),
        4 => (0..run).for_each(|k| body(k, 4)),
        _ => (0..run).for_each(|k| body(k, size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Generation;
    use crate::isa::field::Addr4;

    fn walk<const N: usize>(
        offset: u32,
        step: [i16; N],
        num: [u16; N],
        dtype: Dtype,
    ) -> Result<Walk, FaultKind> {
        let tensor = Tensor { start: Addr4(offset), step, num };
        Walk::new(&Generation::Cayman.geometry(), "src", offset, &tensor, dtype, 1)
    }

    fn positions(walk: &Walk) -> Vec<usize> {
        let mut memory = Partitions::new(walk.space, Generation::Cayman, false);
        for (i, pair) in memory.partition_mut(0).chunks_exact_mut(2).enumerate() {
            pair.copy_from_slice(&(i as u16).to_le_bytes());
        }
        let mut out = vec![0; walk.count * walk.size];
        walk.gather(&mut walk.start(), &memory, 0, &mut out);
        out.chunks_exact(walk.size).map(|e| 2 * usize::from(u16::from_le_bytes([e[0], e[1]]))).collect()
    }

    /// The worked example of chapter 03 section 4.2.
    #[test]
    fn negative_and_zero_steps_walk_as_printed() {
        let walk = walk(0x40, [-1, 8, 0], [8, 2, 1], Dtype::FP32).unwrap();
        let expected = [64, 60, 56, 52, 48, 44, 40, 36, 96, 92, 88, 84, 80, 76, 72, 68];
        assert_eq!(positions(&walk), expected);
    }

    #[test]
    fn descending_weights_cut_in_four_are_one_run() {
        let cut = walk(0x100, [-1, 0, -32, 0], [32, 1, 4, 1], Dtype::FP16).unwrap();
        let plain = walk(0x100, [-1, 0, 0, 0], [128, 1, 1, 1], Dtype::FP16).unwrap();
        assert_eq!(positions(&cut), positions(&plain));
        assert_eq!(cut.rank, 1);
    }

    #[test]
    fn reading_in_pieces_gives_the_same_elements() {
        let walk = walk(0x40, [2, 16, -64], [3, 2, 2], Dtype::FP32).unwrap_err();
        assert!(matches!(walk, FaultKind::Memory { .. }));
        let walk = self::walk(0x400, [2, 16, -64], [3, 2, 2], Dtype::FP32).unwrap();
        let memory = Partitions::new(walk.space, Generation::Cayman, false);
        let all = positions(&walk);
        assert_eq!(all[..4], [1024, 1032, 1040, 1088]);
        let mut cursor = walk.start();
        let mut piece = [0; 8];
        for _ in 0..walk.count / 2 {
            walk.gather(&mut cursor, &memory, 0, &mut piece);
        }
        assert_eq!(cursor.at, walk.offset as isize);
    }

    #[test]
    fn injectivity_sees_broadcasts_and_overlaps() {
        assert!(walk(0, [1, 16], [16, 4], Dtype::FP32).unwrap().is_injective());
        assert!(walk(0, [16, 1], [4, 16], Dtype::FP32).unwrap().is_injective());
        assert!(!walk(0, [0, 1], [4, 16], Dtype::FP32).unwrap().is_injective());
        assert!(!walk(0, [1, 8], [16, 4], Dtype::FP32).unwrap().is_injective());
    }

    #[test]
    fn bounds_are_those_of_the_generation() {
        let last = walk(0x37FFC, [1], [1], Dtype::FP32).unwrap();
        assert_eq!((last.low, last.high), (0x37FFC, 0x38000));
        assert!(walk(0x37FFC, [1], [2], Dtype::FP32).is_err());
        assert!(walk(2, [1], [1], Dtype::FP32).is_err());
        assert!(walk(0, [1], [0], Dtype::FP32).is_err());
    }
}
