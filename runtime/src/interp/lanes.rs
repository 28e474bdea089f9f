//! The common shape of lane-local words: per lane, read elements, compute, write (chapter 04 section 2.8).

use super::fault::FaultKind;
use super::walk::Walk;
use crate::machine::Core;

/// Elements moved at a time; bounds the scratch space of a word.
pub const CHUNK: usize = 2048;

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
    let ahead = sources.iter().all(|s| s.may_read_ahead_of(destination));
    let chunk = if ahead { CHUNK.min(destination.count) } else { 1 };
    let mut packed: Vec<Vec<u8>> = sources.iter().map(|s| vec![0; chunk * s.size]).collect();
    let mut out = vec![0; chunk * destination.size];
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
            body(lane, &packed, out);
            destination.scatter(&mut to, core.memory_mut(destination.space), lane, out);
            left -= n;
        }
        for (walk, bytes) in sources.iter().zip(&mut packed) {
            bytes.resize(chunk * walk.size, 0);
        }
    }
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
