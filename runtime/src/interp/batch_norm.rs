//! Batch normalisation, forward (chapter 05 sections 5.1 to 5.3). All arithmetic is fp32, every operation rounds.

use super::lanes::{TILE, for_each_tile};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::{CTRL_IM, S4D2_BN};
use crate::isa::{Decoded, Dtype};
use crate::machine::Core;
use crate::num::{self, Fp8};

/// LOAD_PARAMETER_RAM (section 5.1): eight words at a byte offset of the parameter RAM (decision 05-30).
pub fn load_parameter_ram(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<CTRL_IM>(w)?;
    let offset = usize::from(o.param_ram_offset);
    let ram = &mut x.core().dve.batch_norm.ram;
    match ram.get_mut(offset / 4..offset / 4 + o.immediate.len()) {
        Some(words) if offset.is_multiple_of(4) => words.copy_from_slice(&o.immediate),
        _ => {
            let reason = format!("offset {offset:#x} is not a multiple of 4 up to 0x3e0");
            return Err(FaultKind::unsupported("param_ram_offset", reason));
        }
    }
    Ok(Flow::Next)
}

/// Mean and sum of squared deviations of a set of elements, by the running recurrence of section 5.2. The divisor
/// is the caller's: sets of one lane share a count.
#[derive(Clone, Copy, Default)]
struct Moments {
    mean: f32,
    squares: f32,
}

impl Moments {
    fn add(&mut self, x: f32, n: f32) {
        let r = 1.0 / n;
        let old = self.mean;
        self.mean = (1.0 - r) * old + r * x;
        self.squares += (x - self.mean) * (x - old);
    }
}

/// The statistics of one lane while its elements arrive.
#[derive(Clone, Copy, Default)]
struct Stats {
    n: f32,
    seen: usize,
    /// Of the elements at even and at odd positions.
    sets: [Moments; 2],
}

impl Stats {
    /// Two sets; the count that they share grows with every even element.
    fn add_split(&mut self, row: &[f32]) {
        for x in row {
            let set = self.seen % 2;
            if set == 0 {
                self.n += 1.0;
            }
            self.sets[set].add(*x, self.n);
            self.seen += 1;
        }
    }

    /// One set.
    fn add_all(&mut self, row: &[f32]) {
        for x in row {
            self.n += 1.0;
            self.sets[0].add(*x, self.n);
        }
    }

    fn split_result(&self, o: &S4D2_BN) -> [f32; 6] {
        let [even, odd] = self.sets;
        [o.even_count.value(), even.mean, even.squares, o.odd_count.value(), odd.mean, odd.squares]
    }
}

/// BATCH_NORM_STATS (section 5.2): count as the word gives it, mean, and variance times count of all elements.
pub fn stats(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = resolve(x, w, 3)?;
    let fp8 = x.core().spec.fp8;
    each_lane(x.core(), &o, &src, fp8, |core, lane, row| {
        let mut stats = Stats::default();
        stats.add_all(row);
        let [Moments { mean, squares }, _] = stats.sets;
        store(core, &dst, lane, &[o.even_count.value(), mean, squares], o.out_dtype, fp8);
    });
    Ok(Flow::Next)
}

/// BATCH_NORM_STATS2 (section 5.2): the same for the elements at even and at odd positions.
pub fn stats2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = resolve(x, w, 6)?;
    let fp8 = x.core().spec.fp8;
    each_lane(x.core(), &o, &src, fp8, |core, lane, row| {
        let mut stats = Stats::default();
        stats.add_split(row);
        store(core, &dst, lane, &stats.split_result(&o), o.out_dtype, fp8);
    });
    Ok(Flow::Next)
}

/// TRANSPOSE_BATCH_NORM_STATS2 (section 5.2): [`stats2`] behind the transposing reader.
pub fn transpose_stats2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = resolve(x, w, 6)?;
    let lanes = usize::from(o.num_active_channels);
    if !(lanes.is_multiple_of(TILE) && src.count.is_multiple_of(TILE)) {
        let found = format!("{lanes} lanes of {} elements", src.count);
        return Err(FaultKind::illegal("src", found, format!("multiples of {TILE}")));
    }
    let fp8 = x.core().spec.fp8;
    let mut stats = vec![Stats::default(); lanes];
    let mut row = [0.0; TILE];
    for_each_tile(x.core(), &src, lanes, |core, lane, packed| {
        num::unpack(packed, o.in_dtype, fp8, &mut row);
        stats[lane].add_split(&row);
        if stats[lane].seen == src.count {
            store(core, &dst, lane, &stats[lane].split_result(&o), o.out_dtype, fp8);
        }
    });
    Ok(Flow::Next)
}

/// BATCH_NORM_AGGREGATE (section 5.3): merges triples of count, mean and variance times count into mean and
/// variance. Triples without elements are skipped while there are none (decision 05-32).
pub fn aggregate(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = resolve(x, w, 2)?;
    if !src.count.is_multiple_of(3) {
        return Err(FaultKind::illegal("src", format!("{} elements", src.count), "triples"));
    }
    let fp8 = x.core().spec.fp8;
    each_lane(x.core(), &o, &src, fp8, |core, lane, row| {
        store(core, &dst, lane, &merge(row), o.out_dtype, fp8);
    });
    Ok(Flow::Next)
}

fn merge(triples: &[f32]) -> [f32; 2] {
    let [mut n, mut mean, mut variance] = [0.0f32; 3];
    for triple in triples.chunks_exact(3) {
        let [count, other_mean, squares] = [triple[0], triple[1], triple[2]];
        if n == 0.0 && count == 0.0 {
            continue;
        }
        let r = 1.0 / (count + n);
        let d = mean - other_mean;
        variance = (variance * n + squares) * r + count * n * d * d * r * r;
        mean = (mean * n + count * other_mean) * r;
        n += count;
    }
    [mean, variance]
}

/// Source and destination of a word that writes `results` elements a lane, after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded, results: usize) -> Result<(Walk, Walk), FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    if dst.count != results {
        return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), results.to_string()));
    }
    Ok((src, dst))
}

/// Calls `body` with all elements of each lane.
fn each_lane(
    core: &mut Core,
    o: &S4D2_BN,
    src: &Walk,
    fp8: Fp8,
    mut body: impl FnMut(&mut Core, usize, &[f32]),
) {
    let mut row = vec![0.0; src.count];
    for lane in 0..usize::from(o.num_active_channels) {
        load(core, src, lane, o.in_dtype, fp8, &mut row);
        body(core, lane, &row);
    }
}

/// All elements of a lane in fp32.
pub(super) fn load(core: &Core, src: &Walk, lane: usize, dtype: Dtype, fp8: Fp8, row: &mut [f32]) {
    let mut packed = vec![0; src.count * src.size];
    src.gather(&mut src.start(), core.memory(src.space), lane, &mut packed);
    num::unpack(&packed, dtype, fp8, row);
}

/// Writes all elements of a lane.
pub(super) fn store(core: &mut Core, dst: &Walk, lane: usize, row: &[f32], dtype: Dtype, fp8: Fp8) {
    let mut packed = vec![0; dst.count * dst.size];
    num::pack(row, dtype, fp8, &mut packed);
    dst.scatter(&mut dst.start(), core.memory_mut(dst.space), lane, &packed);
}
