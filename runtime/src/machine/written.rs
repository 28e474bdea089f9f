//! Which bytes of a memory have been written: one bit a byte.

use crate::save::{Damaged, Fresh, Reader, put_pieces, take_pieces};

/// A set of byte positions.
#[derive(Clone, Debug)]
pub struct Written {
    words: Vec<u64>,
}

impl Written {
    /// Nothing of `len` bytes is written.
    pub fn new(len: usize) -> Self {
        Written { words: vec![0; len.div_ceil(64)] }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds a run.
    pub fn mark(&mut self, start: usize, len: usize) {
        let (first, last) = (start.next_multiple_of(64), (start + len) / 64 * 64);
        if first >= last {
            return self.mark_edges(start, len);
        }
        self.mark_edges(start, first - start);
        self.words[first / 64..last / 64].fill(u64::MAX);
        self.mark_edges(last, start + len - last);
    }

    fn mark_edges(&mut self, start: usize, len: usize) {
        for (word, mask) in runs(start, len) {
            self.words[word] |= mask;
        }
    }

    /// The first position of a run that is not in the set.
    pub fn first_gap(&self, start: usize, len: usize) -> Option<usize> {
        runs(start, len).find_map(|(word, mask)| {
            let missing = mask & !self.words[word];
            (missing != 0).then(|| word * 64 + missing.trailing_zeros() as usize)
        })
    }
}

impl Written {
    /// Appends the set.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        put_pieces(&bytes, Fresh { start: &[], fill: 0 }, out);
    }

    /// Takes the place of a set of the same size.
    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let mut bytes = vec![0; 8 * self.words.len()];
        take_pieces(&mut bytes, from)?;
        for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// The 64-bit words that a run touches, each with the mask of its bits.
fn runs(start: usize, len: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = start + len;
    (start / 64..end.div_ceil(64)).filter_map(move |word| {
        let low = start.max(word * 64) - word * 64;
        let high = end.min(word * 64 + 64).saturating_sub(word * 64);
        let width = high.saturating_sub(low);
        (width > 0).then(|| (word, (u64::MAX >> (64 - width)) << low))
    })
}

#[cfg(test)]
mod tests {
    use super::Written;

    #[test]
    fn gaps_are_found_at_every_alignment() {
        for start in [0, 1, 63, 64, 65, 127] {
            for len in [1, 2, 63, 64, 65, 130] {
                let mut set = Written::new(400);
                assert_eq!(set.first_gap(start, len), Some(start));
                set.mark(start, len);
                assert_eq!(set.first_gap(start, len), None);
                assert_eq!(set.first_gap(start, len + 1), Some(start + len));
            }
        }
    }

    #[test]
    fn an_empty_run_has_no_gap() {
        assert_eq!(Written::new(64).first_gap(10, 0), None);
    }
}
