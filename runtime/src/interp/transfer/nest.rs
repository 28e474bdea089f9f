//! Copying between two patterns: a nest of loops around as long a run as both have.

use super::runs::Dim;
use crate::kernels::transpose::{SQUARE, square};

/// A loop over both sides: count, and the steps of source and destination in host bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Loop {
    count: usize,
    from: isize,
    to: isize,
}

/// Two patterns of as many elements, walked together, first loop innermost. The first loop is the run: one of
/// elements without gaps on both sides, wherever there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Nest {
    run: usize,
    loops: Vec<Loop>,
}

impl Nest {
    /// Walks `from` and `to`, both in stream order, whose elements have `sizes` bytes; `None` where the counts of
    /// one do not divide those of the other.
    pub(super) fn new(from: &[Dim], to: &[Dim], sizes: (u64, u64)) -> Option<Nest> {
        let mut loops: Vec<Loop> = Vec::new();
        let (mut from, mut to) = (from.iter().copied(), to.iter().copied());
        let (mut a, mut b) = (from.next(), to.next());
        while let (Some((na, sa)), Some((nb, sb))) = (a, b) {
            let count = na.min(nb);
            if count == 0 || na % count != 0 || nb % count != 0 {
                return None;
            }
            let rest = |n: u64, step: i64| (n > count).then(|| (n / count, step * count as i64));
            (a, b) = (rest(na, sa).or_else(|| from.next()), rest(nb, sb).or_else(|| to.next()));
            push(&mut loops, Loop { count: count as usize, from: sa as isize, to: sb as isize });
        }
        let dense = |first: &Loop| first.from == sizes.0 as isize && first.to == sizes.1 as isize;
        let run = match loops.first() {
            Some(first) if dense(first) => loops.remove(0).count,
            _ => 1,
        };
        Some(Nest { run, loops })
    }

    /// Elements that lie together on both sides.
    pub(super) fn run(&self) -> usize {
        self.run
    }

    /// Offsets in host bytes of every run, source and destination, from the starts.
    pub(super) fn each(&self, (from, to): (usize, usize), mut run: impl FnMut(usize, usize)) {
        walk(&self.loops, from, to, &mut run);
    }

    /// Copies elements of one byte.
    pub(super) fn copy(&self, from: &[u8], to: &mut [u8], starts: (usize, usize)) {
        match self.run {
            1 => self.small::<1>(from, to, starts),
            2 => self.small::<2>(from, to, starts),
            4 => self.small::<4>(from, to, starts),
            8 => self.small::<8>(from, to, starts),
            16 => self.small::<16>(from, to, starts),
            len => self.each(starts, |f, t| to[t..t + len].copy_from_slice(&from[f..f + len])),
        }
    }

    /// Copies runs of `W` bytes: a call of `memcpy` for each would cost more than the copy.
    fn small<const W: usize>(&self, from: &[u8], to: &mut [u8], starts: (usize, usize)) {
        let width = W as isize;
        match self.loops.as_slice() {
            [a, b, outer @ ..] if turns(b, a, width) => {
                walk(outer, starts.0, starts.1, &mut |f, t| turn::<W>((from, f), (to, t), *b, *a));
            }
            [a, b, outer @ ..] if turns(a, b, width) => {
                walk(outer, starts.0, starts.1, &mut |f, t| turn::<W>((from, f), (to, t), *a, *b));
            }
            loops => walk(loops, starts.0, starts.1, &mut |f, t| {
                let (Some(f), Some(t)) = (from[f..].first_chunk::<W>(), to[t..].first_chunk_mut::<W>())
                else {
                    unreachable!("runs lie in their memories")
                };
                *t = *f;
            }),
        }
    }
}

/// Adds a loop outside, or makes the last one longer.
fn push(loops: &mut Vec<Loop>, next: Loop) {
    match loops.last_mut() {
        _ if next.count == 1 => {}
        Some(Loop { count, from, to })
            if from.checked_mul(*count as isize) == Some(next.from)
                && to.checked_mul(*count as isize) == Some(next.to) =>
        {
            *count *= next.count;
        }
        _ => loops.push(next),
    }
}

/// Calls `run` for every turn of the loops, the last one outermost.
fn walk(loops: &[Loop], from: usize, to: usize, run: &mut impl FnMut(usize, usize)) {
    let Some((outer, inner)) = loops.split_last() else { return run(from, to) };
    let at = |start: usize, step: isize, k: usize| start.wrapping_add_signed(step.wrapping_mul(k as isize));
    for k in 0..outer.count {
        walk(inner, at(from, outer.from, k), at(to, outer.to, k), run);
    }
}

/// Whether two loops turn a matrix. No element may be written twice: the last one in stream order has to stay.
fn turns(along: &Loop, across: &Loop, width: isize) -> bool {
    let line = across.count.checked_mul(width as usize);
    (along.from, across.to) == (width, width) && line.is_some_and(|line| along.to.unsigned_abs() >= line)
}

/// Turns a matrix of `W`-byte elements: `along` is dense in the source, `across` in the destination.
fn turn<const W: usize>((from, f): (&[u8], usize), (to, t): (&mut [u8], usize), along: Loop, across: Loop) {
    let at = |start: usize, step: isize, k: usize| start.wrapping_add_signed(step.wrapping_mul(k as isize));
    let rows = |first: usize| first..(first + SQUARE).min(across.count);
    let columns = |first: usize| first..(first + SQUARE).min(along.count);
    for row in (0..across.count).step_by(SQUARE) {
        for column in (0..along.count).step_by(SQUARE) {
            let (rows, columns) = (rows(row), columns(column));
            if rows.len() == SQUARE && columns.len() == SQUARE && W == 4 {
                let f = at(f, across.from, row) + W * column;
                let t = at(t, along.to, column) + W * row;
                turn_square((from, f, across.from), (to, t, along.to));
                continue;
            }
            for k in columns {
                for n in rows.clone() {
                    let (f, t) = (at(f, across.from, n) + W * k, at(t, along.to, k) + W * n);
                    to[t..t + W].copy_from_slice(&from[f..f + W]);
                }
            }
        }
    }
}

/// Turns a full square of 32-bit elements in registers.
fn turn_square((from, f, row): (&[u8], usize, isize), (to, t, column): (&mut [u8], usize, isize)) {
    let rows: [[u32; SQUARE]; SQUARE] = std::array::from_fn(|n| {
        let line = &from[f.wrapping_add_signed(row.wrapping_mul(n as isize))..][..4 * SQUARE];
        let words = line.as_chunks().0;
        std::array::from_fn(|k| u32::from_ne_bytes(words[k]))
    });
    for (k, line) in square(&rows.each_ref()).into_iter().enumerate() {
        let out = &mut to[t.wrapping_add_signed(column.wrapping_mul(k as isize))..][..4 * SQUARE];
        for (bytes, element) in out.as_chunks_mut().0.iter_mut().zip(line) {
            *bytes = element.to_ne_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each element goes, the plain way.
    fn offsets(dims: &[Dim]) -> Vec<i64> {
        dims.iter().fold(vec![0], |inner, (count, step)| {
            (0..*count as i64).flat_map(|k| inner.iter().map(move |at| at + k * step)).collect()
        })
    }

    fn check(from: &[Dim], to: &[Dim], low: (usize, usize)) -> Nest {
        let source: Vec<u8> = (0..8192usize).map(|n| (n * 7 + n / 256) as u8).collect();
        let nest = Nest::new(from, to, (1, 1)).expect("counts that divide");
        let (mut found, mut expected) = (vec![0xEE; 8192], vec![0xEE; 8192]);
        nest.copy(&source, &mut found, low);
        for (f, t) in offsets(from).into_iter().zip(offsets(to)) {
            expected[low.1.wrapping_add_signed(t as isize)] = source[low.0.wrapping_add_signed(f as isize)];
        }
        assert!(found == expected, "{from:?} to {to:?}");
        nest
    }

    #[test]
    fn runs_of_different_lengths_meet_in_the_shorter_one() {
        let nest = check(&[(64, 1), (4, 100)], &[(16, 1), (16, 50)], (0, 0));
        assert_eq!((nest.run(), nest.loops.len()), (16, 2));
        let nest = check(&[(8, 1), (4, 100)], &[(32, 1)], (0, 5));
        assert_eq!((nest.run(), nest.loops.len()), (8, 1));
        assert_eq!(Nest::new(&[(6, 1), (2, 9)], &[(4, 1), (3, 9)], (1, 1)), None);
    }

    #[test]
    fn rows_that_follow_each_other_on_both_sides_are_one_run() {
        assert_eq!(check(&[(64, 1), (4, 64)], &[(256, 1)], (3, 4)), Nest { run: 256, loops: vec![] });
    }

    #[test]
    fn steps_may_go_down_or_stay() {
        check(&[(2, 1), (10, -30), (3, 4)], &[(60, 1)], (400, 0));
        check(&[(3, 1), (10, 0)], &[(3, 1), (10, 20)], (7, 0));
        check(&[(1, 3), (24, -3)], &[(24, 2)], (90, 1));
    }

    #[test]
    fn matrices_turn_at_every_width_and_size() {
        for width in [1, 2, 4, 8] {
            for (rows, columns) in [(16, 16), (5, 33), (33, 17), (16, 32)] {
                let element = (width, 1);
                let (line, across) = (width as i64 * columns as i64 + 3, rows * width);
                // Read down the columns, and written in order.
                let from = [element, (rows, line), (columns, width as i64)];
                check(&from, &[(across, 1), (columns, across as i64 + 1)], (1, 2));
                // Read in order, and written down the columns.
                check(&[(across, 1), (columns, across as i64 + 1)], &from, (1, 2));
            }
        }
    }
}
