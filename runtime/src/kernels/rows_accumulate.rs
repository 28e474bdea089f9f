//! Words whose results, before they are converted, are folded into the reduce accumulators (chapter 04 section 2.6).
//!
//! A fold is serial by definition, and waits for each addition before the next. Lanes do not depend on each other: where a
//! row of a lane is one stretch, the rows of several lanes are computed first, and folded side by side.

use super::rows::{CHUNK, Stream, chunk, floats, stretches};
use crate::interp::accumulator::Accumulators;
use crate::interp::scalar_tensor_tensor::{self as stt, Class, reversed};
use crate::interp::select::{self, Range};
use crate::interp::tensor_scalar_cache as cache;
use crate::interp::{Exec, FaultKind, LaneScalar, Walk};
use crate::isa::field::{AccumCmd, ImmSrc, ReverseOps};
use crate::isa::layouts::{S2D2_RS, S2S2D2_STT, S3D3_TS};
use crate::isa::{AluOp, Decoded, Dtype, PARTITIONS};
use crate::machine::Core;
use crate::num::dispatch::multiversion;
use crate::num::{self, Fp8, Rhs};

/// Lanes that are folded side by side.
const GROUP: usize = 8;

/// Why a row function cannot refuse an operator.
const TRIED: &str = "operators were tried when the operands were resolved";

/// Which lanes, elements and stretches a word has.
#[derive(Clone, Copy)]
struct Extent {
    lanes: usize,
    count: usize,
    /// Elements of a stretch.
    chunk: usize,
}

impl Extent {
    fn new(sources: &[&Walk], dst: &Walk, lanes: usize) -> Extent {
        Extent { lanes, count: dst.count, chunk: chunk(sources, dst) }
    }
}

/// Lets `produce(core, lane, first, values)` compute, and write, each stretch of every lane, lanes ascending, and folds what
/// it leaves in `values` by `acc = op(value, acc)`. `first`: the stretch is the first of its lane.
fn folded(
    core: &mut Core,
    extent: Extent,
    op: AluOp,
    accumulators: &mut Accumulators,
    mut produce: impl FnMut(&mut Core, usize, bool, &mut [f32]),
) {
    let Extent { lanes, count, chunk } = extent;
    let mut rest = 0;
    if let Some(all) = accumulators.lanes().filter(|_| chunk == count && GROUP * count <= 4 * CHUNK) {
        let mut rows = vec![0.0; GROUP * count];
        for (group, accumulators) in all.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
            for (lane, row) in rows.chunks_exact_mut(count).enumerate() {
                produce(core, group * GROUP + lane, true, row);
            }
            fold_group(op, accumulators, &rows);
            rest += GROUP;
        }
    }
    let mut values = Vec::new();
    stretches(lanes - rest, count, chunk, |lane, n, first| {
        values.resize(n, 0.0);
        produce(core, rest + lane, first, &mut values);
        accumulators.fold(rest + lane, |acc| {
            let folded = num::accumulate_row(op, acc, &values);
            debug_assert!(folded.is_ok(), "{TRIED}");
            folded.unwrap_or(acc)
        });
    });
}

multiversion! {
    /// Folds a row into each accumulator.
    fn fold_group(op: AluOp, accumulators: &mut [f32; GROUP], rows: &[f32]) {
        match op {
            AluOp::ADD => side_by_side(accumulators, rows, |x, acc| acc + x),
            AluOp::SUBTRACT => side_by_side(accumulators, rows, |x, acc| x - acc),
            AluOp::MULT => side_by_side(accumulators, rows, |x, acc| acc * x),
            // Extrema do not depend on the order.
            _ => {
                for (acc, row) in accumulators.iter_mut().zip(rows.chunks_exact(rows.len() / GROUP)) {
                    let folded = num::accumulate_row(op, *acc, row);
                    debug_assert!(folded.is_ok(), "{TRIED}");
                    *acc = folded.unwrap_or(*acc);
                }
            }
        }
    }
}

#[inline(always)]
fn side_by_side(accumulators: &mut [f32; GROUP], rows: &[f32], op: impl Fn(f32, f32) -> f32) {
    let count = rows.len() / GROUP;
    let rows: [&[f32]; GROUP] = std::array::from_fn(|lane| &rows[lane * count..][..count]);
    let mut all = *accumulators;
    for k in 0..count {
        for (acc, row) in all.iter_mut().zip(&rows) {
            *acc = op(row[k], *acc);
        }
    }
    *accumulators = all;
}

/// The FP32 value of a scalar in every lane, fetched before the word writes anything (chapter 04 section 2.5).
fn lane_values(scalar: &LaneScalar, dtype: Dtype, core: &Core, lanes: usize) -> [f32; PARTITIONS] {
    let mut values = [0.0; PARTITIONS];
    for (lane, value) in values.iter_mut().enumerate().take(lanes) {
        *value = num::to_f32(scalar.bits(core, lane), dtype, core.spec.fp8);
    }
    values
}

fn try_operator(op: AluOp) -> Result<(), FaultKind> {
    num::eval_f32(op, 0.0, 0.0).map(drop).map_err(|e| FaultKind::unsupported("op", e.to_string()))
}

/// The operands have the same number of elements.
fn same_counts(sources: &[&Walk], dst: &Walk) -> Result<(), FaultKind> {
    match sources.iter().find(|source| source.count != dst.count) {
        Some(other) => Err(FaultKind::illegal("dst", dst.count, other.count.to_string())),
        None => Ok(()),
    }
}

fn commands(command: AccumCmd, legal: &[AccumCmd]) -> Result<(), FaultKind> {
    if legal.contains(&command) {
        return Ok(());
    }
    Err(FaultKind::illegal("accumulator_cmd", command.0, "a command of the word"))
}

const UNSEEDED: &[AccumCmd] = &[AccumCmd::IDLE, AccumCmd::ACCUMULATE, AccumCmd::ZERO_ACCUMULATE];
const SEEDED: &[AccumCmd] = &[AccumCmd::ACCUMULATE, AccumCmd::ZERO_ACCUMULATE, AccumCmd::LOAD_ACCUMULATE];

/// SCALAR_TENSOR_TENSOR_ARITH (chapter 04 section 5.1), whose results add up, and SELECT_REDUCE (section 5.3), of whose
/// results the largest counts.
#[derive(Clone, Copy, Debug)]
pub struct ScalarTensors {
    operands: stt::Operands,
    /// Of the sources, the result and the scalar.
    dtypes: [Dtype; 4],
    operators: [AluOp; 2],
    reverse: [bool; 2],
    command: AccumCmd,
    lanes: usize,
}

impl ScalarTensors {
    /// The operands of a word after all checks.
    pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<ScalarTensors, FaultKind> {
        let o = *x.operands::<S2S2D2_STT>(w)?;
        let operands = stt::resolve(x, w, Class::Float)?;
        same_counts(&[&operands.sources[0], &operands.sources[1]], &operands.dst)?;
        let inline = o.imm0_src == ImmSrc::INSTRUCTION;
        let scalar = if inline { Dtype::FP32 } else { o.imm0_dtype };
        [o.op0, o.op1].into_iter().try_for_each(try_operator)?;
        Ok(ScalarTensors {
            operands,
            dtypes: [o.src_dtype.low(), o.src_dtype.high(), o.out_dtype, scalar],
            operators: [o.op0, o.op1],
            reverse: reversed(&o),
            command: o.accumulator_cmd,
            lanes: o.num_active_channels.into(),
        })
    }

    /// The same for SELECT_REDUCE, whose flag of the first operator reverses the predicate (decision 04-X2).
    pub fn resolve_select(x: &Exec<'_>, w: &Decoded) -> Result<ScalarTensors, FaultKind> {
        let word = Self::resolve(x, w)?;
        commands(word.command, UNSEEDED)?;
        let wanted = x.operands::<S2S2D2_STT>(w)?.reverse_operands != ReverseOps::FIRST;
        Ok(ScalarTensors { reverse: [!wanted; 2], ..word })
    }

    /// SCALAR_TENSOR_TENSOR_ARITH; `false`, with nothing done, for a command that it does not have.
    pub fn run(&self, x: &mut Exec<'_>) -> bool {
        let [from0, from1, to, scalar_dtype] = self.dtypes;
        let stt::Operands { sources: [src0, src1], dst, scalar } = &self.operands;
        let scalars = lane_values(scalar, scalar_dtype, x.core(), self.lanes);
        let seed = |lane| scalars[lane];
        let Ok(mut accumulators) = Accumulators::start(x, self.command, dst.partition, self.lanes, 0.0, seed)
        else {
            return false;
        };
        let extent = Extent::new(&[src0, src1], dst, self.lanes);
        let (mut left, mut right, mut out) = (Stream::new(src0), Stream::new(src1), Stream::new(dst));
        let (mut a, mut b, mut t) = (Vec::new(), Vec::new(), Vec::new());
        let core = x.core();
        let fp8 = core.spec.fp8;
        let ([op0, op1], [reverse0, reverse1]) = (self.operators, self.reverse);
        folded(core, extent, AluOp::ADD, &mut accumulators, |core, lane, first, values| {
            if first {
                [&mut left, &mut right, &mut out].into_iter().for_each(|stream| stream.restart());
            }
            let n = values.len();
            t.resize(n, 0.0);
            let row = floats(left.next(core, lane, n), from0, fp8, &mut a);
            let done = num::map2(op0, row, Rhs::Scalar(scalars[lane]), reverse0, &mut t);
            let row = floats(right.next(core, lane, n), from1, fp8, &mut b);
            let done = done.and(num::map2(op1, &t, Rhs::Row(row), reverse1, values));
            debug_assert!(done.is_ok(), "{TRIED}");
            out.write(core, lane, n, |bytes| num::pack(values, to, fp8, bytes));
        });
        accumulators.store(x);
        true
    }

    /// SELECT_REDUCE: `src1` where the predicate `src0` holds, else the scalar; `false` as [`run`](Self::run).
    pub fn run_select(&self, x: &mut Exec<'_>) -> bool {
        let [_, from, to, scalar_dtype] = self.dtypes;
        let stt::Operands { sources: [predicate, src], dst, scalar } = &self.operands;
        let scalars = lane_values(scalar, scalar_dtype, x.core(), self.lanes);
        let identity = f32::NEG_INFINITY;
        let Ok(mut accumulators) =
            Accumulators::start(x, self.command, dst.partition, self.lanes, identity, |_| 0.0)
        else {
            return false;
        };
        let extent = Extent::new(&[predicate, src], dst, self.lanes);
        let (mut flags, mut source, mut out) = (Stream::new(predicate), Stream::new(src), Stream::new(dst));
        let core = x.core();
        let (fp8, wanted) = (core.spec.fp8, !self.reverse[0]);
        folded(core, extent, AluOp::MAX, &mut accumulators, |core, lane, first, values| {
            if first {
                [&mut flags, &mut source, &mut out].into_iter().for_each(|stream| stream.restart());
            }
            let n = values.len();
            num::unpack(source.next(core, lane, n), from, fp8, values);
            replace(values, flags.next(core, lane, n), predicate.size, wanted, scalars[lane]);
            out.write(core, lane, n, |bytes| num::pack(values, to, fp8, bytes));
        });
        accumulators.store(x);
        true
    }
}

multiversion! {
    /// Replaces values whose predicate, of `size` bytes, is not as wanted.
    fn replace(values: &mut [f32], predicates: &[u8], size: usize, wanted: bool, by: f32) {
        match size {
            1 => replace_cells::<1>(values, predicates, wanted, by),
            2 => replace_cells::<2>(values, predicates, wanted, by),
            4 => replace_cells::<4>(values, predicates, wanted, by),
            _ => replace_cells::<8>(values, predicates, wanted, by),
        }
    }
}

#[inline(always)]
fn replace_cells<const N: usize>(values: &mut [f32], predicates: &[u8], wanted: bool, by: f32) {
    for (value, predicate) in values.iter_mut().zip(predicates.as_chunks::<N>().0) {
        *value = if (*predicate != [0; N]) == wanted { *value } else { by };
    }
}

/// TENSOR_SCALAR_CACHE_REDUCE and TENSOR_SCALAR_CACHE_CUMULATIVE (chapter 04 sections 4.5 and 4.6).
#[derive(Clone, Copy, Debug)]
pub struct Cached {
    operands: cache::Operands,
    /// Of the source and the result.
    dtypes: [Dtype; 2],
    operators: [AluOp; 2],
    command: AccumCmd,
    lanes: usize,
}

impl Cached {
    /// The operands of a word after all checks.
    pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Cached, FaultKind> {
        let o = *x.operands::<S3D3_TS>(w)?;
        let operands = cache::resolve(x, w)?;
        same_counts(&[&operands.src], &operands.dst)?;
        try_operator(o.op0)?;
        num::accumulate_row(o.op1, 0.0, &[]).map_err(|e| FaultKind::unsupported("op1", e.to_string()))?;
        commands(o.accumulator_cmd, SEEDED)?;
        Ok(Cached {
            operands,
            dtypes: [o.in_dtype, o.out_dtype],
            operators: [o.op0, o.op1],
            command: o.accumulator_cmd,
            lanes: o.num_active_channels.into(),
        })
    }

    fn start(&self, x: &mut Exec<'_>) -> Option<(Accumulators, [f32; PARTITIONS])> {
        let core = x.core();
        let fetch = |scalar: &LaneScalar| lane_values(scalar, Dtype::FP32, core, self.lanes);
        let scalars = fetch(&self.operands.scalar);
        let seeds = self.operands.seed.as_ref().map(fetch);
        let identity = num::fold_identity(self.operators[1]).unwrap_or(0.0);
        let seed = |lane: usize| seeds.map_or(0.0, |seeds| seeds[lane]);
        let partition = self.operands.dst.partition;
        let started = Accumulators::start(x, self.command, partition, self.lanes, identity, seed);
        Some((started.ok()?, scalars))
    }

    /// Stores `op0(x, s0)` and folds it; `false`, with nothing done, for a command that the word does not have.
    pub fn reduce(&self, x: &mut Exec<'_>) -> bool {
        let Some((mut accumulators, scalars)) = self.start(x) else { return false };
        let cache::Operands { src, dst, .. } = &self.operands;
        let ([from, to], [op0, op1]) = (self.dtypes, self.operators);
        let (mut source, mut out) = (Stream::new(src), Stream::new(dst));
        let mut a = Vec::new();
        let core = x.core();
        let fp8 = core.spec.fp8;
        let extent = Extent::new(&[src], dst, self.lanes);
        folded(core, extent, op1, &mut accumulators, |core, lane, first, values| {
            if first {
                source.restart();
                out.restart();
            }
            let n = values.len();
            let row = floats(source.next(core, lane, n), from, fp8, &mut a);
            let done = num::map2(op0, row, Rhs::Scalar(scalars[lane]), false, values);
            debug_assert!(done.is_ok(), "{TRIED}");
            out.write(core, lane, n, |bytes| num::pack(values, to, fp8, bytes));
        });
        accumulators.store(x);
        true
    }

    /// The same fold; stores the accumulator after every element.
    pub fn cumulative(&self, x: &mut Exec<'_>) -> bool {
        let Some((mut accumulators, scalars)) = self.start(x) else { return false };
        let cache::Operands { src, dst, .. } = &self.operands;
        let ([from, to], [op0, op1]) = (self.dtypes, self.operators);
        let (mut source, mut out) = (Stream::new(src), Stream::new(dst));
        let (mut a, mut values, mut scanned) = (Vec::new(), Vec::new(), Vec::new());
        let core = x.core();
        let fp8 = core.spec.fp8;
        let Extent { lanes, count, chunk } = Extent::new(&[src], dst, self.lanes);
        stretches(lanes, count, chunk, |lane, n, first| {
            if first {
                source.restart();
                out.restart();
            }
            [&mut values, &mut scanned].into_iter().for_each(|row| row.resize(n, 0.0));
            let row = floats(source.next(core, lane, n), from, fp8, &mut a);
            let done = num::map2(op0, row, Rhs::Scalar(scalars[lane]), false, &mut values);
            debug_assert!(done.is_ok(), "{TRIED}");
            accumulators
                .fold(lane, |acc| num::accumulate_scan(op1, acc, &values, &mut scanned).unwrap_or(acc));
            out.write(core, lane, n, |bytes| num::pack(&scanned, to, fp8, bytes));
        });
        accumulators.store(x);
        true
    }
}

/// RANGE_SELECT (chapter 04 section 8.3).
#[derive(Clone, Copy, Debug)]
pub struct RangeSelect {
    operands: Range,
    /// Of the source and the result.
    dtypes: [Dtype; 2],
    compares: [AluOp; 2],
    base: f32,
    fill: f32,
    command: AccumCmd,
    lanes: usize,
}

impl RangeSelect {
    /// The operands of a word after all checks.
    pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<RangeSelect, FaultKind> {
        let o = *x.operands::<S2D2_RS>(w)?;
        let operands = select::resolve_range(x, w)?;
        same_counts(&[&operands.src], &operands.dst)?;
        [o.comp_op0, o.comp_op1].into_iter().try_for_each(try_operator)?;
        Ok(RangeSelect {
            operands,
            dtypes: [o.in_out_dtype.low(), o.in_out_dtype.high()],
            compares: [o.comp_op0, o.comp_op1],
            base: o.base.value(),
            fill: o.fill_val.value(),
            command: o.reduce_cmd,
            lanes: o.num_active_channels.into(),
        })
    }

    /// Keeps elements whose index satisfies both compares, the rest becomes the fill value; the largest result goes to
    /// the accumulator. `false`, with nothing done, for a command that the word does not have.
    pub fn run(&self, x: &mut Exec<'_>) -> bool {
        let Range { src, dst, bounds } = &self.operands;
        let bounds = bounds.each_ref().map(|bound| lane_values(bound, Dtype::FP32, x.core(), self.lanes));
        let identity = f32::NEG_INFINITY;
        let Ok(mut accumulators) =
            Accumulators::start(x, self.command, dst.partition, self.lanes, identity, |_| 0.0)
        else {
            return false;
        };
        let extent = Extent::new(&[src], dst, self.lanes);
        let (mut source, mut out) = (Stream::new(src), Stream::new(dst));
        let (mut index, mut truths) = (Vec::new(), [Vec::new(), Vec::new()]);
        let mut k = 0;
        let core = x.core();
        let fp8: Fp8 = core.spec.fp8;
        folded(core, extent, AluOp::MAX, &mut accumulators, |core, lane, first, values| {
            if first {
                source.restart();
                out.restart();
                k = 0;
            }
            let n = values.len();
            index.resize(n, 0.0);
            count_from(&mut index, self.base, k);
            k += n as u32;
            for ((truths, op), bounds) in truths.iter_mut().zip(self.compares).zip(&bounds) {
                truths.resize(n, 0.0);
                let done = num::map2(op, &index, Rhs::Scalar(bounds[lane]), false, truths);
                debug_assert!(done.is_ok(), "{TRIED}");
            }
            num::unpack(source.next(core, lane, n), self.dtypes[0], fp8, values);
            keep_where(values, &truths[0], &truths[1], self.fill);
            out.write(core, lane, n, |bytes| num::pack(values, self.dtypes[1], fp8, bytes));
        });
        accumulators.store(x);
        true
    }
}

multiversion! {
    /// Indices from `k` on, which are exact, behind a base (decision 04-G1).
    fn count_from(index: &mut [f32], base: f32, k: u32) {
        for (i, index) in index.iter_mut().enumerate() {
            *index = base + (k + i as u32) as f32;
        }
    }
}

multiversion! {
    fn keep_where(values: &mut [f32], first: &[f32], second: &[f32], fill: f32) {
        for ((value, first), second) in values.iter_mut().zip(first).zip(second) {
            *value = if *first != 0.0 && *second != 0.0 { *value } else { fill };
        }
    }
}
