//! Batch normalisation, forward (chapter 05 sections 5.1 to 5.3). All arithmetic is fp32, every operation rounds.

use super::lanes::{TILE, expect_tiles, for_each_tile};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::{CTRL_IM, S4D2_BN};
use crate::isa::{Decoded, Dtype};
use crate::machine::Core;
use crate::machine::hidden::BatchNormState;
use crate::num::{self, Fp8};

/// LOAD_PARAMETER_RAM (section 5.1): eight words at a byte offset of the parameter RAM (decision 05-30).
pub fn load_parameter_ram(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let load = resolve_parameter_ram(x, w)?;
    load.run(x);
    Ok(Flow::Next)
}

/// The load of [`load_parameter_ram`] after its check.
pub fn resolve_parameter_ram(x: &Exec<'_>, w: &Decoded) -> Result<RamLoad, FaultKind> {
    let o = *x.operands::<CTRL_IM>(w)?;
    let (offset, values) = (usize::from(o.param_ram_offset), o.immediate);
    if !offset.is_multiple_of(4) || offset / 4 + values.len() > BatchNormState::RAM_WORDS {
        let reason = format!("offset {offset:#x} is not a multiple of 4 up to 0x3e0");
        return Err(FaultKind::unsupported("param_ram_offset", reason));
    }
    Ok(RamLoad { first: offset / 4, values })
}

/// Eight words of the parameter RAM.
#[derive(Clone, Copy, Debug)]
pub struct RamLoad {
    first: usize,
    values: [u32; 8],
}

impl RamLoad {
    /// Writes them.
    pub fn run(&self, x: &mut Exec<'_>) {
        x.core().dve.batch_norm.ram[self.first..][..self.values.len()].copy_from_slice(&self.values);
    }
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

    fn split_result(&self, [even_count, odd_count]: [f32; 2]) -> [f32; 6] {
        let [even, odd] = self.sets;
        [even_count, even.mean, even.squares, odd_count, odd.mean, odd.squares]
    }
}

/// BATCH_NORM_STATS (section 5.2): count as the word gives it, mean, and variance times count of all elements.
pub fn stats(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = resolve_stats(x, w)?;
    let fp8 = x.core().spec.fp8;
    word.each_lane(x.core(), fp8, |core, lane, row| {
        let mut stats = Stats::default();
        stats.add_all(row);
        let [Moments { mean, squares }, _] = stats.sets;
        store(core, &word.dst, lane, &[word.counts[0], mean, squares], word.to, fp8);
    });
    Ok(Flow::Next)
}

/// BATCH_NORM_STATS2 (section 5.2): the same for the elements at even and at odd positions.
pub fn stats2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = resolve_stats2(x, w)?;
    let fp8 = x.core().spec.fp8;
    word.each_lane(x.core(), fp8, |core, lane, row| {
        let mut stats = Stats::default();
        stats.add_split(row);
        store(core, &word.dst, lane, &stats.split_result(word.counts), word.to, fp8);
    });
    Ok(Flow::Next)
}

/// TRANSPOSE_BATCH_NORM_STATS2 (section 5.2): [`stats2`] behind the transposing reader.
pub fn transpose_stats2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let Statistics { src, dst, from, to, counts, lanes } = resolve_transpose_stats2(x, w)?;
    let fp8 = x.core().spec.fp8;
    let mut stats = vec![Stats::default(); lanes];
    let mut row = [0.0; TILE];
    for_each_tile(x.core(), &src, lanes, |core, lane, packed| {
        num::unpack(packed, from, fp8, &mut row);
        stats[lane].add_split(&row);
        if stats[lane].seen == src.count {
            store(core, &dst, lane, &stats[lane].split_result(counts), to, fp8);
        }
    });
    Ok(Flow::Next)
}

/// BATCH_NORM_AGGREGATE (section 5.3): merges triples of count, mean and variance times count into mean and
/// variance. Triples without elements are skipped while there are none (decision 05-32).
pub fn aggregate(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = resolve_aggregate(x, w)?;
    let fp8 = x.core().spec.fp8;
    word.each_lane(x.core(), fp8, |core, lane, row| {
        store(core, &word.dst, lane, &merge(row), word.to, fp8);
    });
    Ok(Flow::Next)
}

/// The operands of [`stats`] after all checks.
pub fn resolve_stats(x: &Exec<'_>, w: &Decoded) -> Result<Statistics, FaultKind> {
    statistics(x, w, 3)
}

/// The operands of [`stats2`] after all checks.
pub fn resolve_stats2(x: &Exec<'_>, w: &Decoded) -> Result<Statistics, FaultKind> {
    statistics(x, w, 6)
}

/// The operands of [`transpose_stats2`] after all checks.
pub fn resolve_transpose_stats2(x: &Exec<'_>, w: &Decoded) -> Result<Statistics, FaultKind> {
    let word = statistics(x, w, 6)?;
    expect_tiles(&word.src, word.lanes)?;
    Ok(word)
}

/// The operands of [`aggregate`] after all checks.
pub fn resolve_aggregate(x: &Exec<'_>, w: &Decoded) -> Result<Statistics, FaultKind> {
    let word = statistics(x, w, 2)?;
    if !word.src.count.is_multiple_of(3) {
        return Err(FaultKind::illegal("src", format!("{} elements", word.src.count), "triples"));
    }
    Ok(word)
}

/// A word that makes a few numbers of each lane, whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// The elements.
    pub src: Walk,
    /// The results.
    pub dst: Walk,
    /// Datatype of the elements.
    pub from: Dtype,
    /// Datatype of the results.
    pub to: Dtype,
    /// The counts that the word gives, of even and of odd positions.
    pub counts: [f32; 2],
    /// Lanes.
    pub lanes: usize,
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

/// A word that writes `results` elements a lane, after all checks of its addresses.
fn statistics(x: &Exec<'_>, w: &Decoded, results: usize) -> Result<Statistics, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = resolve(x, w, results)?;
    Ok(Statistics {
        src,
        dst,
        from: o.in_dtype,
        to: o.out_dtype,
        counts: [o.even_count.value(), o.odd_count.value()],
        lanes: o.num_active_channels.into(),
    })
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

impl Statistics {
    /// Calls `body` with all elements of each lane.
    fn each_lane(&self, core: &mut Core, fp8: Fp8, mut body: impl FnMut(&mut Core, usize, &[f32])) {
        let mut row = vec![0.0; self.src.count];
        for lane in 0..self.lanes {
            load(core, &self.src, lane, self.from, fp8, &mut row);
            body(core, lane, &row);
        }
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
