//! SPARSITY_COMPRESS and SPARSITY_COMPRESS_TAG of many lanes at once (chapter 05 section 9): the winners of a group
//! are kept sorted while its elements pass.

use std::ops::Range;

use super::columns::{Block, Column, LANES, Tile, Tiles, side_by_side};
use super::rows::Stream;
use super::transpose::TILE;
use crate::interp::compress::{Compress, Destination, Extreme, WINNERS};
use crate::interp::shuffle::QUADRANT;
use crate::interp::{Exec, Walk};
use crate::machine::Core;
use crate::num::{self, Fp8, dispatch::multiversion};

/// Elements of a lane whose winners are written together, if they are that many groups.
const TOGETHER: usize = 512;

/// Runs one of the words.
pub fn compress(c: &Compress, x: &mut Exec<'_>) {
    let core = x.core();
    let mut word = Word::new(c, core);
    match c.transpose {
        true => word.by_quadrants(core),
        false => word.by_lanes(core),
    }
}

/// A word while it runs.
struct Word<'w> {
    word: &'w Compress,
    /// Groups whose winners are written together.
    together: usize,
    /// Tensors that are written.
    destinations: Vec<&'w Walk>,
    /// They share nothing.
    apart: bool,
    /// Of each lane.
    streams: Vec<Vec<Stream<'w>>>,
    fp8: Fp8,
}

impl<'w> Word<'w> {
    fn new(word: &'w Compress, core: &Core) -> Word<'w> {
        let (destinations, apart) = match &word.destination {
            Destination::Pairs(dst) => (vec![dst], true),
            Destination::Separate { data, tag, .. } => (vec![data, tag], data.is_apart_from(tag, word.lanes)),
        };
        // A quadrant that is transposed has been read as a whole.
        let ahead = |dst: &&Walk| word.transpose || (word.src.may_read_ahead_of(dst) && word.src != **dst);
        let ahead = apart && destinations.iter().all(ahead);
        let together = if ahead { (TOGETHER / word.length).max(1) } else { 1 };
        let streams = (0..LANES).map(|_| destinations.iter().map(|dst| Stream::new(dst)).collect()).collect();
        Word { word, together, destinations, apart, streams, fp8: core.spec.fp8 }
    }

    /// The source is not transposed.
    fn by_lanes(&mut self, core: &mut Core) {
        let Compress { src, length, from, lanes, .. } = self.word;
        let side_by_side = |dst: &&Walk| side_by_side(&[src], dst, *lanes);
        let most = if self.apart { LANES } else { 1 };
        let side_by_side = self.destinations.iter().map(side_by_side).fold(most, usize::min);
        let mut block = Block::new(src, *from, self.fp8);
        let mut columns = vec![[0.0; LANES]; self.together.min(src.count / length) * length];
        for first in (0..*lanes).step_by(side_by_side) {
            let lanes = first..(first + side_by_side).min(*lanes);
            block.restart();
            self.restart();
            let mut left = src.count;
            while left > 0 {
                let columns = &mut columns[..(self.together * length).min(left)];
                block.load(core, lanes.clone(), columns);
                self.groups(core, lanes.clone(), columns);
                left -= columns.len();
            }
        }
    }

    /// All of a quadrant is read before any of its lanes is written.
    fn by_quadrants(&mut self, core: &mut Core) {
        let Compress { src, from, lanes, length, .. } = self.word;
        let mut tiles = Tiles::new(src, *from, self.fp8);
        let mut halves = [(); 2].map(|()| vec![[0.0; LANES]; src.count]);
        let mut tile: Tile = [[[0.0; LANES]; TILE]; 2];
        let side_by_side = if self.apart { LANES } else { 1 };
        for first in (0..*lanes).step_by(QUADRANT) {
            tiles.restart();
            for at in (0..src.count).step_by(TILE) {
                tiles.load(core, first, &mut tile);
                for (half, tile) in halves.iter_mut().zip(&tile) {
                    half[at..at + TILE].copy_from_slice(tile);
                }
            }
            for (half, columns) in halves.iter_mut().enumerate() {
                let first = first + half * LANES;
                for lane in (first..first + LANES).step_by(side_by_side) {
                    self.restart();
                    for columns in columns.chunks(self.together * length) {
                        self.groups(core, lane..lane + side_by_side, columns);
                    }
                    // Those that come next, to the front.
                    columns.iter_mut().for_each(|column| column.rotate_left(side_by_side % LANES));
                }
            }
        }
    }

    fn restart(&mut self) {
        self.streams.iter_mut().flatten().for_each(Stream::restart);
    }

    /// Writes the winners of some groups.
    fn groups(&mut self, core: &mut Core, lanes: Range<usize>, columns: &[Column]) {
        let Compress { extreme, length, to, destination, .. } = self.word;
        let winners: Vec<Winners> =
            columns.chunks_exact(*length).map(|group| find(group, *extreme)).collect();
        let mut data = vec![0; winners.len() * WINNERS * to.bytes()];
        for (slot, lane) in lanes.enumerate() {
            // The most extreme one comes last.
            let of_lane = |rank: &dyn Fn(&Winners, usize) -> f32| -> Vec<f32> {
                winners.iter().flat_map(|w| (0..WINNERS).rev().map(|k| rank(w, k))).collect()
            };
            let values = of_lane(&|w, k| w.values[k][slot]);
            let places = winners.iter().flat_map(|w| w.places.iter().rev().map(|place| place[slot] as u16));
            num::pack(&values, *to, self.fp8, &mut data);
            let parts = destination.encode(&data, &places.collect::<Vec<u16>>());
            for ((walk, bytes), stream) in parts.iter().zip(&mut self.streams[slot]) {
                stream.write(core, lane, bytes.len() / walk.size, |out| out.copy_from_slice(bytes));
            }
        }
    }
}

/// The winners of a group in every lane, the most extreme first.
#[derive(Clone, Copy)]
struct Winners {
    keys: [[i32; LANES]; WINNERS],
    values: [Column; WINNERS],
    places: [[u32; LANES]; WINNERS],
}

fn find(group: &[Column], Extreme { largest, magnitude }: Extreme) -> Winners {
    match (largest, magnitude) {
        (true, false) => largest_of(group),
        (true, true) => largest_magnitudes_of(group),
        (false, false) => smallest_of(group),
        (false, true) => smallest_magnitudes_of(group),
    }
}

multiversion! {
    fn largest_of(group: &[Column]) -> Winners {
        select(group, |x| x)
    }
}

multiversion! {
    fn largest_magnitudes_of(group: &[Column]) -> Winners {
        select(group, f32::abs)
    }
}

multiversion! {
    fn smallest_of(group: &[Column]) -> Winners {
        select(group, |x| -x)
    }
}

multiversion! {
    fn smallest_magnitudes_of(group: &[Column]) -> Winners {
        select(group, |x| -x.abs())
    }
}

/// The elements with the largest `worth`; of equal ones those that come first.
#[inline(always)]
fn select(group: &[Column], worth: impl Fn(f32) -> f32) -> Winners {
    let mut w = Winners {
        keys: [[i32::MIN; LANES]; WINNERS],
        values: [[0.0; LANES]; WINNERS],
        places: [[0; LANES]; WINNERS],
    };
    for (place, column) in group.iter().enumerate() {
        for (lane, value) in column.iter().enumerate() {
            let (value, key) = (*value, key(worth(*value)));
            // Winners are sorted, so that the new one goes before all that it beats.
            let beats: [bool; WINNERS] = std::array::from_fn(|k| key > w.keys[k][lane]);
            for k in (0..WINNERS).rev() {
                let shifted = if k > 0 { k - 1 } else { 0 };
                let new = k == 0 || !beats[shifted];
                let next = (w.keys[shifted][lane], w.values[shifted][lane], w.places[shifted][lane]);
                let candidate = if new { (key, value, place as u32) } else { next };
                w.keys[k][lane] = if beats[k] { candidate.0 } else { w.keys[k][lane] };
                w.values[k][lane] = if beats[k] { candidate.1 } else { w.values[k][lane] };
                w.places[k][lane] = if beats[k] { candidate.2 } else { w.places[k][lane] };
            }
        }
    }
    w
}

/// An integer in the order of the values: both zeros are equal, a NaN is below all and above an empty place.
#[inline(always)]
fn key(value: f32) -> i32 {
    let bits = (value + 0.0).to_bits() as i32;
    let ordered = bits ^ ((bits >> 31) as u32 >> 1) as i32;
    if value.is_nan() { i32::MIN + 1 } else { ordered }
}
