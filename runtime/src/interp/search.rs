//! Searching words of DVE (chapter 05 section 7).

use super::lanes::{expect_row, for_each_stretch, read_lane, write_lane};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::{D4_MR, S2_BN, S4D2_BN, S4D4_MR};
use crate::isa::{Decoded, Dtype};
use crate::machine::hidden::{KEYS, UNMATCHED};
use crate::num;

/// MATCH_VALUE_LOAD (section 7.1): element k becomes key 7 - k.
pub fn match_value_load(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2_BN>(w)?;
    let src = x.tensor("src", &o.src, o.dtype, o.num_active_channels, Access::Read)?;
    expect_keys("src", &src)?;
    for lane in 0..usize::from(o.num_active_channels) {
        let mut keys: [f32; KEYS] = lane_values(x, &src, o.dtype, lane).try_into().unwrap_or_default();
        keys.reverse();
        x.core().dve.search.keys[src.partition + lane] = keys;
    }
    Ok(Flow::Next)
}

/// MAX8 (section 7.2): the eight largest elements, the smallest first.
pub fn max8(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = row_and_keys(x, &o)?;
    let fp8 = x.core().spec.fp8;
    let mut out = vec![0; KEYS * dst.size];
    for lane in 0..usize::from(o.num_active_channels) {
        let mut largest = Largest::default();
        lane_values(x, &src, o.in_dtype, lane).into_iter().for_each(|value| largest.insert(value));
        let mut ascending = largest.slots;
        ascending.reverse();
        num::pack(&ascending, o.out_dtype, fp8, &mut out);
        write_lane(x.core(), &dst, lane, &out);
    }
    Ok(Flow::Next)
}

/// FIND_INDEX8 (section 7.3): where each key occurs first.
pub fn find_index8(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D2_BN>(w)?;
    let (src, dst) = row_and_keys(x, &o)?;
    for lane in 0..usize::from(o.num_active_channels) {
        let state = dst.partition + lane;
        let mut search = Search::new(x.core().dve.search.keys[state]);
        for value in lane_values(x, &src, o.in_dtype, lane) {
            search.matches(value);
        }
        x.core().dve.search.indices[state] = search.found;
        write_indices(x, &dst, lane, &search.found);
    }
    Ok(Flow::Next)
}

/// MATCH_REPLACE8 (section 7.4): elements that take a key become the immediate.
pub fn match_replace8(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_MR>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let fp8 = x.core().spec.fp8;
    let keys = x.core().dve.search.keys;
    let mut searches: Vec<Search> =
        keys[dst.partition..][..lanes.into()].iter().map(|k| Search::new(*k)).collect();
    let mut values = Vec::new();
    for_each_stretch(x.core(), &[src], &dst, lanes.into(), |lane, sources, out| {
        values.resize(out.len() / o.out_dtype.bytes(), 0.0);
        num::unpack(&sources[0], o.in_dtype, fp8, &mut values);
        for value in values.iter_mut().filter(|v| searches[lane].matches(**v)) {
            *value = o.immediate.value();
        }
        num::pack(&values, o.out_dtype, fp8, out);
    });
    for (indices, search) in x.core().dve.search.indices[dst.partition..].iter_mut().zip(searches) {
        *indices = search.found;
    }
    Ok(Flow::Next)
}

/// DVE_READ_INDICES (section 7.5): where the last search found the keys.
pub fn read_indices(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D4_MR>(w)?;
    let dst = x.tensor("dst", &o.dst, o.dtype, o.num_active_channels, Access::Write)?;
    expect_keys("dst", &dst)?;
    for lane in 0..usize::from(o.num_active_channels) {
        let found = x.core().dve.search.indices[dst.partition + lane];
        write_indices(x, &dst, lane, &found);
    }
    Ok(Flow::Next)
}

/// Operands of a word that reads rows and writes eight elements a lane.
fn row_and_keys(x: &Exec<'_>, o: &S4D2_BN) -> Result<(Walk, Walk), FaultKind> {
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    expect_keys("dst", &dst)?;
    expect_row("src", &src)?;
    Ok((src, dst))
}

fn expect_keys(field: &'static str, walk: &Walk) -> Result<(), FaultKind> {
    if walk.count == KEYS {
        return Ok(());
    }
    Err(FaultKind::illegal(field, format!("{} elements", walk.count), KEYS.to_string()))
}

/// All elements of a lane as FP32.
fn lane_values(x: &mut Exec<'_>, walk: &Walk, dtype: Dtype, lane: usize) -> Vec<f32> {
    let fp8 = x.core().spec.fp8;
    let mut values = vec![0.0; walk.count];
    num::unpack(&read_lane(x.core(), walk, lane), dtype, fp8, &mut values);
    values
}

/// Writes indices; 16-bit elements take the low half, so that no match stays all ones.
fn write_indices(x: &mut Exec<'_>, dst: &Walk, lane: usize, indices: &[u32; KEYS]) {
    let bytes: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes().into_iter().take(dst.size)).collect();
    write_lane(x.core(), dst, lane, &bytes);
}

/// The largest values seen, descending; of equal ones the first stays in front. A NaN keeps its slot and
/// displaces none (D05-38).
#[derive(Default)]
struct Largest {
    slots: [f32; KEYS],
    held: usize,
}

impl Largest {
    fn insert(&mut self, value: f32) {
        let mut carry = value;
        for slot in &mut self.slots[..self.held] {
            if carry > *slot {
                std::mem::swap(&mut carry, slot);
            }
        }
        if let Some(free) = self.slots.get_mut(self.held) {
            *free = carry;
            self.held += 1;
        }
    }
}

/// One search over a row: every key takes the first equal element that no key before it takes (D05-39).
struct Search {
    keys: [f32; KEYS],
    found: [u32; KEYS],
    position: u32,
}

impl Search {
    fn new(keys: [f32; KEYS]) -> Self {
        Search { keys, found: [UNMATCHED; KEYS], position: 0 }
    }

    /// Whether the next element takes a key.
    fn matches(&mut self, value: f32) -> bool {
        let open = |n: &usize| self.found[*n] == UNMATCHED && self.keys[*n] == value;
        let key = (0..KEYS).find(open);
        if let Some(n) = key {
            self.found[n] = self.position;
        }
        self.position += 1;
        key.is_some()
    }
}
