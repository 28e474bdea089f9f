//! Table sets as container members (chapter 10 section 9.1).

use std::collections::BTreeMap;

use seqjit_runtime::act::table::{Bucket, Control, Profile, Region, TableSet};
use serde_json::{Map, Value, json};

use crate::load::ENTRY_BYTES;

/// The members of `sets`, by name in the graph's directory: `act_info.json` and, for each set,
/// `<set>.json`, `<set>_bkt.bin` and `<set>_ctrl.bin`.
pub fn members(sets: &[TableSet]) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::from([("act_info.json".to_owned(), pretty(&act_info(sets)))]);
    for set in sets {
        let [buckets, controls, profile] = file_names(set);
        out.insert(buckets, set.buckets().iter().flat_map(bucket).collect());
        out.insert(controls, set.controls().iter().flat_map(control).collect());
        out.insert(profile, pretty(&profile_json(set)));
    }
    out
}

/// Bucket, control and profile member of a set.
fn file_names(set: &TableSet) -> [String; 3] {
    ["_bkt.bin", "_ctrl.bin", ".json"].map(|suffix| format!("{}{suffix}", set.name()))
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn bucket(bucket: &Bucket) -> [u8; ENTRY_BYTES] {
    let [d0, d1, d2, d3] = bucket.d;
    entry([d0, d1, d2, d3, bucket.x0].map(f32::to_bits))
}

fn control(control: &Control) -> [u8; ENTRY_BYTES] {
    entry([control.to_word()])
}

fn entry<const N: usize>(words: [u32; N]) -> [u8; ENTRY_BYTES] {
    let mut out = [0; ENTRY_BYTES];
    for (place, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    out
}

fn act_info(sets: &[TableSet]) -> Value {
    let entries: Vec<Value> = sets
        .iter()
        .map(|set| {
            let [buckets, controls, profile] = file_names(set);
            let functions: Map<String, Value> =
                set.profiles().iter().map(|p| split_name(&p.name)).map(|(n, k)| (n.to_owned(), k)).collect();
            json!({ "name": set.name(), "bkt_bin": buckets, "ctrl_bin": controls, "profile_json": profile,
                    "act": functions })
        })
        .collect();
    json!({ "pwp_file_keys": ["bkt_bin", "ctrl_bin", "profile_json"], "act_func_sets": entries })
}

/// `exp_400p` into `exp` and 400.
fn split_name(name: &str) -> (&str, Value) {
    let number = |text: &str| text.strip_suffix('p')?.parse::<u64>().ok();
    match name.rsplit_once('_').and_then(|(stem, suffix)| Some((stem, number(suffix)?))) {
        Some((stem, pieces)) => (stem, pieces.into()),
        None => (name, 1.into()),
    }
}

fn profile_json(set: &TableSet) -> Value {
    let [buckets, controls, _] = file_names(set);
    let profiles: Vec<Value> = set.profiles().iter().map(profile_entry).collect();
    let octaves: Vec<_> = set.profiles().iter().map(|p| (split_name(&p.name).0, octaves(set, p))).collect();
    let by_function = |convert: &dyn Fn(&Octaves) -> Value| -> Map<String, Value> {
        octaves.iter().map(|(name, octaves)| ((*name).to_owned(), convert(octaves))).collect()
    };
    json!({
        "bkt_bin": buckets,
        "ctl_bin": controls,
        "profile_meta_data": profiles,
        "bkt_entry_cnt": set.buckets().len(),
        "ctl_entry_cnt": set.controls().len(),
        "func_to_bkt_start_idx": by_function(&|o| o.first_bucket.into()),
        "func_to_ctl_start_idx": by_function(&|o| o.first_control.into()),
        "func_exp_to_bkt_start_idx": by_function(&|o| Value::Object(o.buckets.clone())),
        "func_exp_to_ctl_start_idx": by_function(&|o| Value::Object(o.controls.clone())),
    })
}

/// Where the octaves of a function start: octave to indices, negative region first.
struct Octaves {
    first_bucket: usize,
    first_control: usize,
    buckets: Map<String, Value>,
    controls: Map<String, Value>,
}

fn octaves(set: &TableSet, profile: &Profile) -> Octaves {
    let regions: &[Region] =
        if profile.symmetric { &[profile.positive] } else { &[profile.negative, profile.positive] };
    let mut out = Octaves {
        first_bucket: usize::MAX,
        first_control: usize::MAX,
        buckets: Map::new(),
        controls: Map::new(),
    };
    for region in regions {
        out.first_control = out.first_control.min(usize::from(region.control_base));
        for index in [region.small_bucket, region.large_bucket] {
            out.first_bucket = out.first_bucket.min(usize::from(index));
        }
        let end = i32::from(region.large_exp) + i32::from(region.large_mantissa != 0);
        for exponent in i32::from(region.small_exp)..end {
            let octave = exponent - 127;
            let index = i32::from(region.control_base) + octave - profile.exp_offset;
            let base = usize::try_from(index).ok().and_then(|i| set.controls().get(i)).map_or(0, |c| c.base);
            out.first_bucket = out.first_bucket.min(usize::from(base));
            append(&mut out.controls, octave, index.into());
            append(&mut out.buckets, octave, base.into());
        }
    }
    out
}

fn append(map: &mut Map<String, Value>, octave: i32, index: Value) {
    if let Value::Array(list) = map.entry(octave.to_string()).or_insert_with(|| json!([])) {
        list.push(index);
    }
}

fn profile_entry(p: &Profile) -> Value {
    json!({
        "func_name": p.name,
        "func_id": p.id,
        "symmetry_point": p.symmetry_point,
        "sym_invert_sign_point": u8::from(p.odd),
        "symmetry_opt_en": u8::from(p.symmetric),
        "symmetry_opt_use_neg_region": u8::from(p.use_negative),
        "imm_bias": u8::from(p.imm_bias),
        "exp_offset": p.exp_offset,
        "pwl_control_base_pos": p.positive.control_base,
        "pwl_control_base_neg": p.negative.control_base,
        "small_pos_signal_exp_threshold": p.positive.small_exp,
        "pos_small_signal_pwl_control": p.positive.small_bucket,
        "small_neg_signal_exp_threshold": p.negative.small_exp,
        "neg_small_signal_pwl_control": p.negative.small_bucket,
        "large_pos_signal_exp_threshold": p.positive.large_exp,
        "large_pos_signal_mantissa_threshold": p.positive.large_mantissa,
        "pos_large_signal_pwl_control": p.positive.large_bucket,
        "large_neg_signal_exp_threshold": p.negative.large_exp,
        "large_neg_signal_mantissa_threshold": p.negative.large_mantissa,
        "neg_large_signal_pwl_control": p.negative.large_bucket,
        "fnan_result": p.at_nan,
        "fpinf_result": p.at_positive_inf,
        "fninf_result": p.at_negative_inf,
        "fzero_result": p.at_zero,
        "fma_const_0": p.fma_const[0],
        "fma_const_1": p.fma_const[1],
        "fma_indirection_src_sel": p.fma_indirection,
        "use_multipass": p.multipass,
        "lower_bound": p.bounds[0],
        "upper_bound": p.bounds[1],
    })
}
