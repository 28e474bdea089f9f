//! Random numbers (chapter 06 section 8, chapter 05 section 8).

use super::lanes::{for_each_stretch, read_lane, write_lane};
use super::{Access, Exec, FaultKind, Flow};
use crate::isa::layouts::{D3_RAND, D4_MR, D4_RAND, PSEUDO_SET_RNG_SEED, S1_RAND, S3D3_DROPOUT};
use crate::isa::{Decoded, Dtype, EngineId};
use crate::machine::Core;
use crate::machine::random::{Bank, BankState, GENERATORS, Lfsr, seeded, unit};
use crate::num;

/// RNG (section 8.3): one draw an element, of which the element takes the low bits.
pub fn rng(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D4_MR>(w)?;
    let lanes = usize::from(o.num_active_channels);
    let dst = x.tensor("dst", &o.dst, o.dtype, o.num_active_channels, Access::Write)?;
    if x.engine != EngineId::Pool {
        let mut lfsr = x.core().dve.random.lfsr;
        let mut draws = LaneDraws::new(&mut lfsr[dst.partition..]);
        for_each_stretch(x.core(), &[], &dst, lanes, |lane, _, out| {
            out.chunks_exact_mut(dst.size).for_each(|e| store(e, draws.next(lane)));
        });
        x.core().dve.random.lfsr = lfsr;
        return Ok(Flow::Next);
    }
    let pattern = float_pattern(o.dtype)?;
    if pattern != (u32::MAX, 0) {
        x.machine.warn(format!("core {}: RNG on POOL stores {} in [1, 2)", x.core, o.dtype.text()));
    }
    let mut xorwow = x.core().pool.random.xorwow;
    for_each_stretch(x.core(), &[], &dst, lanes, |lane, _, out| {
        let generator = &mut xorwow[dst.partition + lane];
        out.chunks_exact_mut(dst.size).for_each(|e| store(e, generator.draw() & pattern.0 | pattern.1));
    });
    x.core().pool.random.xorwow = xorwow;
    Ok(Flow::Next)
}

/// Bits that a draw keeps and bits that it gains on POOL (D06-22).
fn float_pattern(dtype: Dtype) -> Result<(u32, u32), FaultKind> {
    match dtype {
        Dtype::FP32 => Ok((0x007F_FFFF, 0x3F80_0000)),
        Dtype::BFLOAT16 => Ok((0x7F, 0x3F80)),
        _ if dtype.is_integer() => Ok((u32::MAX, 0)),
        _ => Err(FaultKind::unsupported("dtype", format!("random numbers in {}", dtype.text()))),
    }
}

fn store(element: &mut [u8], bits: u32) {
    let bytes = bits.to_le_bytes();
    element.copy_from_slice(&bytes[..element.len()]);
}

/// DROPOUT (chapter 05 section 8): keeps an element or writes zero bits; a tie keeps (D05-41).
pub fn dropout(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_DROPOUT>(w)?;
    let lanes = o.num_active_channels;
    let dtype = or_fp32(o.in_dtype);
    let src = x.tensor("src", &o.src, dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, or_fp32(o.out_dtype), lanes, Access::Write)?;
    let threshold_dtype = or_fp32(o.threshold_dtype);
    let scalar = x.scalar("threshold", o.threshold_src, o.threshold, threshold_dtype, lanes)?;
    let fp8 = x.core().spec.fp8;
    let thresholds: Vec<f32> = (0..lanes.into())
        .map(|lane| num::to_f32(scalar.bits(x.core(), lane), threshold_dtype, fp8))
        .collect();
    let keeps = |number: f32, threshold: f32| match o.threshold_type {
        0 => number >= threshold,
        _ => number < threshold,
    };
    let mut lfsr = x.core().dve.random.lfsr;
    let mut draws = LaneDraws::new(&mut lfsr[dst.partition..]);
    for_each_stretch(x.core(), &[src], &dst, lanes.into(), |lane, sources, out| {
        out.copy_from_slice(&sources[0]);
        for element in out.chunks_exact_mut(dst.size) {
            if !keeps(unit(draws.next(lane)), thresholds[lane]) {
                element.fill(0);
            }
        }
    });
    x.core().dve.random.lfsr = lfsr;
    Ok(Flow::Next)
}

/// Dtype 0 of a DROPOUT stands for FP32.
pub fn or_fp32(dtype: Dtype) -> Dtype {
    if dtype == Dtype::INVALID { Dtype::FP32 } else { dtype }
}

/// Draws of the vector engine's generators for the elements of one word (D06-23).
struct LaneDraws<'s> {
    generators: &'s mut [[Lfsr; GENERATORS]],
    lane: usize,
    element: usize,
}

impl<'s> LaneDraws<'s> {
    fn new(generators: &'s mut [[Lfsr; GENERATORS]]) -> Self {
        LaneDraws { generators, lane: 0, element: 0 }
    }

    /// The draw of the next element of a lane; a lane is finished before the next begins.
    fn next(&mut self, lane: usize) -> u32 {
        if lane != self.lane {
            (self.lane, self.element) = (lane, 0);
        }
        let generator = self.element % GENERATORS;
        self.element += 1;
        self.generators[lane][generator].draw()
    }
}

/// PSEUDO_SET_RNG_SEED (section 8.5): seeds the generators of DVE, whatever engine's stream it stands in.
pub fn set_seed(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<PSEUDO_SET_RNG_SEED>(w)?;
    let seed = x.scalar("seed", o.seed_src, o.seed, Dtype::UINT32, 1)?.bits(x.core(), 0);
    x.core().dve.random.lfsr = seeded(seed);
    Ok(Flow::Next)
}

/// RAND2 (section 8.8): numbers in [min, max), each step rounded to fp32 (D06-27).
pub fn rand2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D3_RAND>(w)?;
    let lanes = o.num_active_channels;
    let dst = x.tensor("dst", &o.dst, o.dtype, lanes, Access::Write)?;
    let min = x.scalar("min", o.min_src, o.min, Dtype::FP32, lanes)?;
    let max = x.scalar("max", o.max_src, o.max, Dtype::FP32, lanes)?;
    let fp8 = x.core().spec.fp8;
    let ranges: Vec<(f32, f32)> = (0..lanes.into())
        .map(|lane| (min.bits(x.core(), lane), max.bits(x.core(), lane)))
        .map(|(min, max)| (f32::from_bits(min), f32::from_bits(max)))
        .collect();
    let mut xorwow = x.core().dve.random.xorwow;
    let (mut lane_now, mut element, mut values) = (0, 0, Vec::new());
    for_each_stretch(x.core(), &[], &dst, lanes.into(), |lane, _, out| {
        if lane != lane_now {
            (lane_now, element) = (lane, 0);
        }
        let (min, max) = ranges[lane];
        values.resize(out.len() / dst.size, 0.0);
        for value in &mut values {
            let draw = xorwow[dst.partition + lane][element % GENERATORS].draw();
            *value = unit(draw) * (max - min) + min;
            element += 1;
        }
        num::pack(&values, o.dtype, fp8, out);
    });
    x.core().dve.random.xorwow = xorwow;
    Ok(Flow::Next)
}

/// RAND_SET_STATE (section 8.6): loads a generator of each lane.
pub fn set_state(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S1_RAND>(w)?;
    let bank = bank(x, o.rand_generator, o.rand_algorithm)?;
    let src = x.tensor("src", &o.src, o.in_dtype, o.num_active_channels, Access::Read)?;
    expect_words("src", src.count, bank)?;
    for lane in 0..usize::from(o.num_active_channels) {
        let bytes = read_lane(x.core(), &src, lane);
        let words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        set_words(x.core(), bank.state, src.partition + lane, words);
    }
    Ok(Flow::Next)
}

/// RAND_GET_STATE (section 8.7): stores a generator of each lane.
pub fn get_state(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D4_RAND>(w)?;
    let bank = bank(x, o.rand_generator, o.rand_algorithm)?;
    let dst = x.tensor("dst", &o.dst, o.dtype, o.num_active_channels, Access::Write)?;
    expect_words("dst", dst.count, bank)?;
    for lane in 0..usize::from(o.num_active_channels) {
        let words = words(x.core(), bank.state, dst.partition + lane);
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        write_lane(x.core(), &dst, lane, &bytes);
    }
    Ok(Flow::Next)
}

fn bank(x: &Exec<'_>, source: u8, algorithm: u8) -> Result<&'static Bank, FaultKind> {
    Bank::find(x.engine, x.machine.generation, source, algorithm).ok_or_else(|| {
        let found = format!("{source} with algorithm {algorithm} on {}", x.engine);
        FaultKind::illegal("rand_generator", found, "a generator of the engine")
    })
}

fn expect_words(field: &'static str, found: usize, bank: &Bank) -> Result<(), FaultKind> {
    if found == bank.words {
        return Ok(());
    }
    Err(FaultKind::illegal(field, format!("{found} words"), bank.words.to_string()))
}

/// The state of a generator in one partition; sub-streams follow one another (D06-25).
fn words(core: &Core, state: BankState, partition: usize) -> Vec<u32> {
    let (dve, pool) = (&core.dve.random, &core.pool.random);
    match state {
        BankState::PoolXorwow => pool.xorwow[partition].0.to_vec(),
        BankState::PoolConvert => vec![pool.convert[partition]],
        BankState::DveXorwow => dve.xorwow[partition].iter().flat_map(|g| g.0).collect(),
        BankState::DveLfsr => dve.lfsr[partition].iter().map(|g| g.state()).collect(),
        BankState::DveConvert => dve.convert[partition].to_vec(),
        BankState::ActConvert => core.act.convert[partition].to_vec(),
    }
}

fn set_words(core: &mut Core, state: BankState, partition: usize, new: impl Iterator<Item = u32>) {
    let (dve, pool) = (&mut core.dve.random, &mut core.pool.random);
    let slots: Vec<&mut u32> = match state {
        BankState::PoolXorwow => pool.xorwow[partition].0.iter_mut().collect(),
        BankState::PoolConvert => vec![&mut pool.convert[partition]],
        BankState::DveXorwow => dve.xorwow[partition].iter_mut().flat_map(|g| &mut g.0).collect(),
        BankState::DveLfsr => {
            dve.lfsr[partition].iter_mut().zip(new).for_each(|(slot, word)| *slot = Lfsr::new(word));
            return;
        }
        BankState::DveConvert => dve.convert[partition].iter_mut().collect(),
        BankState::ActConvert => core.act.convert[partition].iter_mut().collect(),
    };
    slots.into_iter().zip(new).for_each(|(slot, word)| *slot = word);
}
