//! MATMUL_SPARSE (chapter 05 section 2.6): every cell of the array chooses the row that it multiplies with, so that
//! columns are worked on one by one, many positions at once.

use super::matmul::{GROUP, Order, PANEL, Rounding, Sink, flushed};
#[cfg(target_arch = "x86_64")]
use super::matmul_simd::{Avx2, Avx512};
use super::matmul_simd::{Portable, Vector};
use super::pe::{Cells, note_written, parts};
use super::pe_moving::{Adjust, Moving, Source, lowest_exponent};
use crate::interp::pe::sum::{self, Arithmetic::FlushTiny};
use crate::interp::pe::{Sparse, flushes, warn_absent};
use crate::interp::{Exec, FaultKind};
use crate::isa::{Decoded, PARTITIONS};
use crate::machine::{Core, PeState};
use crate::num::Level;

/// A row of the moving operand at the positions of a panel.
type Row = [f32; PANEL];

/// What stands for a map that was not sent (D05-15).
static ABSENT: Row = [0.0; PANEL];

/// MATMUL_SPARSE with its operands.
#[derive(Clone, Copy, Debug)]
pub struct SparseMatMul(Sparse);

impl SparseMatMul {
    /// Resolves the operands of a word.
    ///
    /// # Errors
    /// The fault that the interpreter would raise whatever weights are loaded.
    pub fn bind(x: &Exec<'_>, w: &Decoded) -> Result<SparseMatMul, FaultKind> {
        Sparse::for_later(x, w).map(SparseMatMul)
    }

    /// Multiplies. `false`: the state of the array is not for this word; nothing has been done.
    pub fn run(&self, x: &mut Exec<'_>) -> bool {
        let o = &self.0;
        if !o.fits(&x.core().pe) {
            return false;
        }
        let core = x.core();
        let order = Order::new(o.maps, o.rows);
        let mut moving = Moving::take();
        let source = Source {
            walk: &o.moving,
            memory: core.memory(o.moving.space),
            dtype: o.dtype,
            fp8: core.spec.fp8,
            scales: None,
        };
        let lowest = moving.gather(&source, &order, Adjust::new(o.dtype, o.mode, 0));
        let rounding = self.rounding(&core.pe, lowest);
        let (choices, absent) = self.choices(&core.pe, &order);
        let Core { psum, pe, .. } = core;
        parts(psum, &o.cells, o.cols, o.rows, 1, |first, columns, mut rows| {
            let mut cursor = o.cells.start();
            for (_, width, panel) in moving.panels() {
                let kind = (o.result, o.begin);
                let mut cells = Cells::next(&mut rows, &o.cells, &mut cursor, width, columns, kind);
                for column in 0..columns {
                    let sums = self.column(pe, first + column, &choices, panel, width, rounding);
                    cells.take(column, &[sums]);
                }
            }
        });
        note_written(&o.cells, &mut core.psum, o.cols);
        moving.keep();
        if absent {
            warn_absent(x);
        }
        true
    }

    /// For every column and row the summand of the moving operand that is chosen, and whether some are not there.
    fn choices(&self, pe: &PeState, order: &Order) -> (Vec<Option<usize>>, bool) {
        let o = &self.0;
        let mut places = vec![0; o.rows * o.maps];
        for (summand, (map, row)) in order.summands.iter().enumerate() {
            places[row * o.maps + map] = summand;
        }
        let mut choices = Vec::with_capacity(o.cols * o.rows);
        for column in 0..o.cols {
            let choice = |row| o.choice(pe, row, column).map(|(row, map)| places[row * o.maps + map]);
            choices.extend((0..o.rows).map(choice));
        }
        let absent = choices.contains(&None);
        (choices, absent)
    }

    /// The sums of a column with a panel.
    fn column(
        &self,
        pe: &PeState,
        column: usize,
        choices: &[Option<usize>],
        panel: &[f32],
        width: usize,
        rounding: Rounding,
    ) -> Row {
        let Sparse { first_row, rows: count, .. } = self.0;
        let panel = panel.as_chunks::<PANEL>().0;
        let (mut weights, mut rows) = ([0.0; PARTITIONS], [&ABSENT; PARTITIONS]);
        for (row, choice) in choices[column * count..][..count].iter().enumerate() {
            weights[row] = pe.weights[PeState::cell(0, first_row + row, column)];
            rows[row] = choice.map_or(&ABSENT, |summand| &panel[summand]);
        }
        column_sums(&weights[..count], &rows[..count], width, rounding)
    }

    /// As for MATMUL: tiny results need no care where no sum can be tiny.
    fn rounding(&self, pe: &PeState, lowest_moving: u32) -> Rounding {
        let o = &self.0;
        if !flushes(o.dtype) {
            return Rounding::Ieee;
        }
        let row = |row| &pe.weights[PeState::cell(0, o.first_row + row, 0)..][..o.cols];
        Rounding::of_rows((0..o.rows).map(|r| lowest_exponent(row(r))).min(), lowest_moving)
    }
}

/// The sums of a column with a panel, of which the first `width` count: weight `r` multiplies row `r`.
fn column_sums(weights: &[f32], rows: &[&Row], width: usize, rounding: Rounding) -> Row {
    assert!(weights.len() == rows.len() && width <= PANEL);
    let mut sums = [0.0; PANEL];
    let flush = rounding == Rounding::FlushTiny;
    let decided = match Level::current() {
        // SAFETY: the current level never exceeds what the host was found to have; and lengths are as asserted.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Amx => unsafe { avx512(weights, rows, width, flush, &mut sums) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(weights, rows, width, flush, &mut sums) },
        // SAFETY: lengths are as asserted; the vector needs no CPU features.
        _ => unsafe { both::<Portable, 1>(weights, rows, width, flush, &mut sums) },
    };
    if !decided {
        by_definition(weights, rows, width, &mut sums);
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512(weights: &[f32], rows: &[&Row], width: usize, flush: bool, sums: &mut Row) -> bool {
    // SAFETY: the caller's promise.
    unsafe { both::<Avx512, 4>(weights, rows, width, flush, sums) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(weights: &[f32], rows: &[&Row], width: usize, flush: bool, sums: &mut Row) -> bool {
    // SAFETY: the caller's promise.
    unsafe { both::<Avx2, 4>(weights, rows, width, flush, sums) }
}

/// # Safety
/// The CPU has what `V` needs, the caller enables it, and `N` vectors divide a panel.
#[inline(always)]
unsafe fn both<V: Vector, const N: usize>(
    weights: &[f32],
    rows: &[&Row],
    width: usize,
    flush: bool,
    sums: &mut Row,
) -> bool {
    const { assert!(PANEL.is_multiple_of(N * V::LANES)) };
    let mut decided = true;
    for at in (0..width).step_by(N * V::LANES) {
        // SAFETY: the caller's promise; `N` vectors from `at` on lie in the panel.
        decided &= unsafe {
            if flush {
                block::<V, N, true>(weights, rows, at, sums)
            } else {
                block::<V, N, false>(weights, rows, at, sums)
            }
        };
    }
    decided
}

/// The sums at `N` vectors from position `at` on; `false` if a rounding could not be decided.
///
/// # Safety
/// As for [`both`]; the vectors lie in the panel.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "adaptors of iterators would not be inlined for sure")]
unsafe fn block<V: Vector, const N: usize, const FLUSH: bool>(
    weights: &[f32],
    rows: &[&Row],
    at: usize,
    sums: &mut Row,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mut doubtful = V::NONE;
        let mut acc = [V::splat(0.0); N];
        for (weights, rows) in weights.chunks(GROUP).zip(rows.chunks(GROUP)) {
            // Both chains at once: one alone would wait for its own results.
            let mut chains = [[V::splat(0.0); N]; 2];
            for (k, (weight, row)) in weights.iter().zip(rows).enumerate() {
                let (weight, row) = (V::splat(*weight), row.as_ptr().add(at));
                let chain = &mut chains[k % 2];
                for n in 0..N {
                    let product = weight.fma(V::load(row.add(n * V::LANES)), chain[n]);
                    chain[n] = flushed::<V, FLUSH>(product, &mut doubtful);
                }
            }
            let [even, odd] = chains;
            for n in 0..N {
                // A sum of two fp32 that is tiny is exact, so that 2^-126 leaves no doubt here.
                let mut exact = V::NONE;
                let pair = flushed::<V, FLUSH>(even[n].add(odd[n]), &mut exact);
                acc[n] = flushed::<V, FLUSH>(acc[n].add(pair), &mut exact);
            }
        }
        for n in 0..N {
            acc[n].store(sums.as_mut_ptr().add(at + n * V::LANES));
        }
        !V::any(doubtful)
    }
}

/// Sums in which a rounding is in doubt, one by one.
#[cold]
fn by_definition(weights: &[f32], rows: &[&Row], width: usize, sums: &mut Row) {
    for (n, total) in sums[..width].iter_mut().enumerate() {
        *total = 0.0;
        for (weights, rows) in weights.chunks(GROUP).zip(rows.chunks(GROUP)) {
            let mut chains = [0.0; 2];
            for (k, (weight, row)) in weights.iter().zip(rows).enumerate() {
                chains[k % 2] = sum::fma(*weight, row[n], chains[k % 2], FlushTiny);
            }
            *total = sum::add(*total, sum::add(chains[0], chains[1], FlushTiny), FlushTiny);
        }
    }
}
