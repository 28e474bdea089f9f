//! Names of datatypes in the JSON tiers: one table for `neff.json`, one for `def.json` and descriptors.

use seqjit_runtime::isa::Dtype;

/// Names in `neff.json` (chapter 07 section 4.1). Any other name means code 0.
const HOST: &[(&str, Dtype)] = &[
    ("float32", Dtype::FP32),
    ("float16", Dtype::FP16),
    ("bfloat16", Dtype::BFLOAT16),
    ("int8", Dtype::INT8),
    ("uint8", Dtype::UINT8),
    ("int16", Dtype::INT16),
    ("uint16", Dtype::UINT16),
    ("int32", Dtype::INT32),
    ("uint32", Dtype::UINT32),
    ("int64", Dtype::INT64),
    ("uint64", Dtype::UINT64),
];

/// Names in `def.json` and in descriptors (chapter 07 section 5.7). Packed containers come after the
/// names that writing uses. The FP4 one holds four elements of four bits; its width is unproven [L].
const DEVICE: &[(&str, Dtype)] = &[
    ("float8e3", Dtype::FP8_EXP3),
    ("float8e4", Dtype::FP8_EXP4),
    ("float8e5", Dtype::FP8_EXP5),
    ("float16", Dtype::FP16),
    ("float32", Dtype::FP32),
    ("float32r", Dtype::FP32R),
    ("bfloat16", Dtype::BFLOAT16),
    ("uint8", Dtype::UINT8),
    ("uint16", Dtype::UINT16),
    ("uint32", Dtype::UINT32),
    ("uint64", Dtype::UINT64),
    ("int8", Dtype::INT8),
    ("int16", Dtype::INT16),
    ("int32", Dtype::INT32),
    ("int64", Dtype::INT64),
    ("float8_e4m3fn", Dtype::FP8_EXP4),
    ("float8_e4m3fn_x4", Dtype::UINT32),
    ("float8_e5m2_x4", Dtype::UINT32),
    ("float4_e2m1fn_x4", Dtype::UINT16),
];

fn find(table: &[(&str, Dtype)], name: &str) -> Option<Dtype> {
    table.iter().find(|(n, _)| *n == name).map(|(_, dtype)| *dtype)
}

fn name(table: &[(&'static str, Dtype)], dtype: Dtype) -> Option<&'static str> {
    table.iter().find(|(_, d)| *d == dtype).map(|(name, _)| *name)
}

/// The dtype of a host tensor's name; `None` if unknown.
pub(super) fn host_dtype(text: &str) -> Option<Dtype> {
    find(HOST, text)
}

/// The name of a host tensor's dtype; `unknown` for a code that `neff.json` cannot name.
pub(super) fn host_name(dtype: Dtype) -> &'static str {
    name(HOST, dtype).unwrap_or("unknown")
}

/// The dtype of a name in `def.json`; `None` if unknown.
pub(super) fn device_dtype(text: &str) -> Option<Dtype> {
    find(DEVICE, text)
}

/// The name of a dtype in `def.json`; `None` if it has none.
pub(super) fn device_name(dtype: Dtype) -> Option<&'static str> {
    name(DEVICE, dtype)
}
