//! The common shapes of compute words: per lane, read elements, compute, write (chapter 04 section 2.8), and
//! the transposing reader in front of some of them (section 4.4).

use super::fault::FaultKind;
use super::walk::Walk;
use crate::machine::Core;

/// Elements moved at a time; bounds the scratch space of a word.
pub const CHUNK: usize = 2048;

/// Edge of the tiles that transposing words read: so many lanes, so many elements.
pub const TILE: usize = 32;

/// Runs a lane-local word: for each lane, ascending, and each stretch of elements, packs the source elements
/// and calls `body(lane, sources, destination)`, whose result is written. All walks have the same count.
///
/// Overlap follows the definition, element by element in walk order: where a source may not be read ahead
/// of the destination, stretches are one element long.
pub fn for_each_stretch(
    core: &mut Core,
    sources: &[Walk],
    destination: &Walk,
    lanes: usize,
    mut body: impl FnMut(usize, &[Vec<u8>], &mut [u8]),
) {
    let body = |lane, sources: &[Vec<u8>], out: &mut [u8], _: &mut [bool]| body(lane, sources, out);
    stretches(core, sources, destination, lanes, false, body);
}

/// As [`for_each_stretch`] for words that leave elements of the destination as they are: `body` has one flag
/// more an element, whether it is written.
pub fn for_each_stretch_where(
    core: &mut Core,
    sources: &[Walk],
    destination: &Walk,
    lanes: usize,
    body: impl FnMut(usize, &[Vec<u8>], &mut [u8], &mut [bool]),
) {
    stretches(core, sources, destination, lanes, true, body);
}

fn stretches(
    core: &mut Core,
    sources: &[Walk],
    destination: &Walk,
    lanes: usize,
    merges: bool,
    mut body: impl FnMut(usize, &[Vec<u8>], &mut [u8], &mut [bool]),
) {
    let ahead = sources.iter().all(|s| s.may_read_ahead_of(destination));
    let chunk = if ahead { CHUNK.min(destination.count) } else { 1 };
    let mut packed: Vec<Vec<u8>> = sources.iter().map(|s| vec![0; chunk * s.size]).collect();
    let mut out = vec![0; chunk * destination.size];
    let mut wanted = vec![false; if merges { chunk } else { 0 }];
    for lane in 0..lanes {
        let mut cursors: Vec<_> = sources.iter().map(Walk::start).collect();
        let mut to = destination.start();
        let mut left = destination.count;
        while left > 0 {
            let n = chunk.min(left);
            for ((walk, cursor), bytes) in sources.iter().zip(&mut cursors).zip(&mut packed) {
                bytes.truncate(n * walk.size);
                walk.gather(cursor, core.memory(walk.space), lane, bytes);
            }
            let out = &mut out[..n * destination.size];
            wanted.truncate(n);
            body(lane, &packed, out, &mut wanted);
            let memory = core.memory_mut(destination.space);
            if merges {
                destination.scatter_where(&mut to, memory, lane, out, &wanted);
            } else {
                destination.scatter(&mut to, memory, lane, out);
            }
            left -= n;
        }
        for (walk, bytes) in sources.iter().zip(&mut packed) {
            bytes.resize(chunk * walk.size, 0);
        }
        if merges {
            wanted.resize(chunk, false);
        }
    }
}

/// Runs a word that folds: every `length` source elements of a lane, in walk order, become one element of the
/// destination. `body(packed source of some folds, results)` computes a stretch of them.
#[derive(Clone, Copy, Debug)]
pub struct Folds {
    /// What is folded.
    pub src: Walk,
    /// One element a fold.
    pub dst: Walk,
    /// Source elements a fold.
    pub length: usize,
    /// Lanes.
    pub lanes: usize,
}

impl Folds {
    /// Calls `body` for all folds of all lanes. A destination that the rest of the source still reads is
    /// written after every fold.
    pub fn for_each(&self, core: &mut Core, mut body: impl FnMut(&[u8], &mut [u8])) {
        let disjoint = self.src.may_read_ahead_of(&self.dst) && self.src != self.dst;
        let group = if disjoint { (CHUNK / self.length).clamp(1, self.dst.count) } else { 1 };
        let mut packed = vec![0; group * self.length * self.src.size];
        let mut out = vec![0; group * self.dst.size];
        for lane in 0..self.lanes {
            let (mut from, mut to) = (self.src.start(), self.dst.start());
            let mut left = self.dst.count;
            while left > 0 {
                let folds = group.min(left);
                let packed = &mut packed[..folds * self.length * self.src.size];
                let out = &mut out[..folds * self.dst.size];
                self.src.gather(&mut from, core.memory(self.src.space), lane, packed);
                body(packed, out);
                self.dst.scatter(&mut to, core.memory_mut(self.dst.space), lane, out);
                left -= folds;
            }
        }
    }

    /// The same behind the transposing reader: `body` gets one fold at a time.
    pub fn for_each_transposed(&self, core: &mut Core, mut body: impl FnMut(&[u8], &mut [u8])) {
        let fold_bytes = self.length * self.src.size;
        let mut begun: Vec<Vec<u8>> = vec![Vec::new(); self.lanes];
        let mut to = vec![self.dst.start(); self.lanes];
        let mut out = vec![0; self.dst.size];
        for_each_tile(core, &self.src, self.lanes, |core, lane, row| {
            let begun = &mut begun[lane];
            begun.extend_from_slice(row);
            let whole = begun.len() / fold_bytes * fold_bytes;
            for fold in begun[..whole].chunks_exact(fold_bytes) {
                body(fold, &mut out);
                self.dst.scatter(&mut to[lane], core.memory_mut(self.dst.space), lane, &out);
            }
            begun.drain(..whole);
        });
    }
}

/// The transposing reader: exchanges lane and element in tiles of 32 lanes and 32 elements. Each tile is read
/// before `body(core, lane, its 32 elements of that lane)` is called for its lanes, ascending; tiles of a
/// group of lanes come in walk order, then those of the next group. Lanes and count are multiples of 32.
pub fn for_each_tile(
    core: &mut Core,
    src: &Walk,
    lanes: usize,
    mut body: impl FnMut(&mut Core, usize, &[u8]),
) {
    let size = src.size;
    let mut tile = vec![0; TILE * TILE * size];
    let mut row = vec![0; TILE * size];
    for first in (0..lanes).step_by(TILE) {
        let mut cursors = [src.start(); TILE];
        for _ in 0..src.count / TILE {
            for ((lane, cursor), bytes) in
                cursors.iter_mut().enumerate().zip(tile.chunks_exact_mut(TILE * size))
            {
                src.gather(cursor, core.memory(src.space), first + lane, bytes);
            }
            for lane in 0..TILE {
                for (element, slot) in row.chunks_exact_mut(size).enumerate() {
                    slot.copy_from_slice(&tile[(element * TILE + lane) * size..][..size]);
                }
                body(core, first + lane, &row);
            }
        }
    }
}

/// What the transposing reader reads.
///
/// # Errors
/// The lanes, or the elements of a lane, are no whole tiles.
pub fn expect_tiles(src: &Walk, lanes: usize) -> Result<(), FaultKind> {
    if lanes.is_multiple_of(TILE) && src.count.is_multiple_of(TILE) {
        return Ok(());
    }
    let found = format!("{lanes} lanes of {} elements", src.count);
    Err(FaultKind::illegal("src", found, format!("multiples of {TILE}")))
}

/// Elements of a lane that a word keeps at once. No memory holds as many; only broadcast steps count further.
pub const MAX_ROW: usize = 1 << 18;

/// A walk of which a word keeps whole lanes.
///
/// # Errors
/// It has more than [`MAX_ROW`] elements.
pub fn expect_row(field: &'static str, walk: &Walk) -> Result<(), FaultKind> {
    if walk.count <= MAX_ROW {
        return Ok(());
    }
    Err(FaultKind::illegal(field, format!("{} elements", walk.count), format!("at most {MAX_ROW}")))
}

/// All elements of one lane, packed.
pub fn read_lane(core: &Core, walk: &Walk, lane: usize) -> Vec<u8> {
    let mut bytes = vec![0; walk.count * walk.size];
    walk.gather(&mut walk.start(), core.memory(walk.space), lane, &mut bytes);
    bytes
}

/// Writes the first elements of one lane from packed bytes.
pub fn write_lane(core: &mut Core, walk: &Walk, lane: usize, bytes: &[u8]) {
    walk.scatter(&mut walk.start(), core.memory_mut(walk.space), lane, bytes);
}
