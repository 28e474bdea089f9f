//! Memories as the pieces in which they differ from a fresh one.

use super::{Damaged, Reader, Saved};

/// Bytes of a piece.
const PIECE: usize = 4096;

/// What a fresh memory holds.
#[derive(Clone, Copy)]
pub(crate) struct Fresh<'a> {
    /// Its first bytes.
    pub(crate) start: &'a [u8],
    /// Every byte behind them.
    pub(crate) fill: u8,
}

/// Appends those pieces of a memory that differ from a fresh one: their number, then the position of each and its
/// bytes.
pub(crate) fn put_pieces(memory: &[u8], fresh: Fresh<'_>, out: &mut Vec<u8>) {
    let filled = [fresh.fill; PIECE];
    let count_at = out.len();
    0usize.put(out);
    let mut count = 0usize;
    for (position, piece) in memory.chunks(PIECE).enumerate() {
        let start = fresh.start.get(position * PIECE..).unwrap_or_default();
        let start = &start[..start.len().min(piece.len())];
        let (front, back) = piece.split_at(start.len());
        if front != start || back != &filled[..back.len()] {
            count += 1;
            position.put(out);
            out.extend(piece);
        }
    }
    out[count_at..][..8].copy_from_slice(&(count as u64).to_le_bytes());
}

/// Overwrites the pieces that [`put_pieces`] has stored.
pub(crate) fn take_pieces(memory: &mut [u8], from: &mut Reader<'_>) -> Result<(), Damaged> {
    for _ in 0..usize::load(from)? {
        let start = usize::load(from)?.checked_mul(PIECE);
        let rest = start.and_then(|start| memory.get_mut(start..)).filter(|rest| !rest.is_empty());
        let rest = rest.ok_or(Damaged("a piece lies behind the end of its memory"))?;
        let len = rest.len().min(PIECE);
        rest[..len].copy_from_slice(from.bytes(len)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pieces_that_differ_are_stored() {
        let initial = [5; PIECE + 10];
        let fresh = Fresh { start: &initial, fill: 9 };
        let mut memory = vec![9; 3 * PIECE + 7];
        memory[..initial.len()].copy_from_slice(&initial);
        let stored = |memory: &[u8]| {
            let mut out = Vec::new();
            put_pieces(memory, fresh, &mut out);
            out
        };
        assert_eq!(stored(&memory), [0; 8]);
        let plain = memory.clone();
        for (at, len) in [(0, PIECE), (PIECE + 3, PIECE), (PIECE + 20, PIECE), (3 * PIECE + 6, 7)] {
            let mut changed = plain.clone();
            changed[at] ^= 1;
            let out = stored(&changed);
            assert_eq!(out.len(), 16 + len, "{at}");
            let mut back = plain.clone();
            let mut from = Reader::new(&out);
            take_pieces(&mut back, &mut from).unwrap();
            assert_eq!(from.end(), Ok(()));
            assert!(back == changed, "{at}");
        }
    }

    #[test]
    fn pieces_behind_the_end_are_refused() {
        let mut out = Vec::new();
        1usize.put(&mut out);
        1usize.put(&mut out);
        out.extend([0; PIECE]);
        let error = take_pieces(&mut [0; PIECE], &mut Reader::new(&out));
        assert_eq!(error, Err(Damaged("a piece lies behind the end of its memory")));
    }
}
