//! Activation table sets: `act_info.json` and, for each set in use, profile JSON, bucket file and control
//! file (chapter 10 section 9.1).

use std::ops::RangeInclusive;

use seqjit_runtime::act::TableSet;
use seqjit_runtime::act::table::{Bucket, Control, Profile, Region, TableError};
use serde_json::{Map, Value};

/// Bytes of one bucket or control entry (chapter 10 section 9.1).
pub(crate) const ENTRY_BYTES: usize = 32;

/// Why activation tables could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ActTableError {
    /// A member that a table set needs is not in the container.
    #[error("{member}: no such member, needed by activation table set {set:?}")]
    Missing {
        /// Name of the member.
        member: String,
        /// Name of the set.
        set: String,
    },
    /// A member is not JSON.
    #[error("{member}: {source}")]
    Json {
        /// Name of the member.
        member: String,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A field or size is wrong.
    #[error("{member}: {field} is {found}, expected {expected}")]
    Field {
        /// Name of the member.
        member: String,
        /// Path of the field, or `size`.
        field: String,
        /// What stands there.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// The parts of a set do not fit together.
    #[error("{member}: {source}")]
    Tables {
        /// Name of the profile member.
        member: String,
        /// What does not fit.
        source: TableError,
    },
}

type Result<T> = std::result::Result<T, ActTableError>;

/// Reads the table sets `sets` (`activation_function_sets` of the ACT engine's JSON), in that order.
///
/// `member` finds a member by its name in the graph's directory; `act_info` is the name that the engine's JSON
/// gives to the list of sets. Without sets no member is read.
///
/// # Errors
/// [`ActTableError`], at the first thing found wrong.
pub fn load_table_sets<'a>(
    member: &dyn Fn(&str) -> Option<&'a [u8]>,
    act_info: &str,
    sets: &[impl AsRef<str>],
) -> Result<Vec<TableSet>> {
    sets.iter().map(|set| load_set(member, act_info, set.as_ref())).collect()
}

fn load_set<'a>(member: &dyn Fn(&str) -> Option<&'a [u8]>, act_info: &str, set: &str) -> Result<TableSet> {
    let bytes = |name: &str| {
        member(name).ok_or_else(|| ActTableError::Missing { member: name.to_owned(), set: set.to_owned() })
    };
    let info = parse(act_info, bytes(act_info)?)?;
    let entry = find_set(Object::root(act_info, &info)?, set)?;
    let (profile_name, buckets_name, controls_name) =
        (entry.text("profile_json")?, entry.text("bkt_bin")?, entry.text("ctrl_bin")?);
    let json = parse(profile_name, bytes(profile_name)?)?;
    let root = Object::root(profile_name, &json)?;
    root.expect_text("bkt_bin", buckets_name)?;
    root.expect_text("ctl_bin", controls_name)?;
    let buckets = entries(buckets_name, bytes(buckets_name)?, root.int("bkt_entry_cnt", COUNT)?, bucket)?;
    let controls = entries(controls_name, bytes(controls_name)?, root.int("ctl_entry_cnt", COUNT)?, control)?;
    let profiles = root.objects("profile_meta_data")?.iter().map(profile).collect::<Result<Vec<_>>>()?;
    TableSet::new(set, buckets, controls, profiles)
        .map_err(|source| ActTableError::Tables { member: profile_name.to_owned(), source })
}

fn parse(member: &str, bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|source| ActTableError::Json { member: member.to_owned(), source })
}

fn find_set<'a>(info: Object<'a>, set: &str) -> Result<Object<'a>> {
    let all = info.objects("act_func_sets")?;
    let mut names = Vec::with_capacity(all.len());
    for entry in all {
        let name = entry.text("name")?;
        if name == set {
            return Ok(entry);
        }
        names.push(name);
    }
    Err(info.wrong("act_func_sets", names.join(", "), format!("a set called {set:?}")))
}

/// Entry counts: the files are small, and a count must not overflow a size.
const COUNT: RangeInclusive<i64> = 0..=1 << 16;

/// Splits a table file into entries after holding its size to the count of the profile.
fn entries<T>(
    member: &str,
    bytes: &[u8],
    count: i64,
    read: fn(&[u8; ENTRY_BYTES]) -> std::result::Result<T, Wrong>,
) -> Result<Vec<T>> {
    let wrong = |field: String, found: String, expected: String| ActTableError::Field {
        member: member.to_owned(),
        field,
        found,
        expected,
    };
    let (chunks, tail) = bytes.as_chunks::<ENTRY_BYTES>();
    if chunks.len() as i64 != count || !tail.is_empty() {
        let expected = format!("{} ({count} entries of {ENTRY_BYTES} bytes)", count * ENTRY_BYTES as i64);
        return Err(wrong("size".to_owned(), bytes.len().to_string(), expected));
    }
    let read = |(i, chunk)| {
        read(chunk).map_err(|w| {
            wrong(format!("{} of entry {i}", w.field), format!("{:02x?}", w.found), w.expected.to_owned())
        })
    };
    chunks.iter().enumerate().map(read).collect()
}

/// Bytes of an entry that cannot stand there.
struct Wrong {
    field: &'static str,
    found: Vec<u8>,
    expected: &'static str,
}

fn bucket(entry: &[u8; ENTRY_BYTES]) -> std::result::Result<Bucket, Wrong> {
    let (words, _) = entry.as_chunks::<4>();
    let value = |i: usize| f32::from_le_bytes(words[i]);
    zero("bytes 20..32", &entry[20..])?;
    Ok(Bucket { d: [value(0), value(1), value(2), value(3)], x0: value(4) })
}

fn control(entry: &[u8; ENTRY_BYTES]) -> std::result::Result<Control, Wrong> {
    let (words, _) = entry.as_chunks::<4>();
    zero("bytes 4..32", &entry[4..])?;
    Control::from_word(u32::from_le_bytes(words[0])).ok_or_else(|| Wrong {
        field: "word",
        found: words[0].to_vec(),
        expected: "bits 31..20 zero",
    })
}

fn zero(field: &'static str, bytes: &[u8]) -> std::result::Result<(), Wrong> {
    if bytes.iter().all(|b| *b == 0) {
        return Ok(());
    }
    Err(Wrong { field, found: bytes.to_vec(), expected: "zeros" })
}

/// Biased exponents.
const EXPONENT: RangeInclusive<i64> = 0..=0xFF;
/// Mantissas.
const MANTISSA: RangeInclusive<i64> = 0..=0x7F_FFFF;
/// Table indices: eleven bits address buckets, and control entries are fewer.
const INDEX: RangeInclusive<i64> = 0..=0x7FF;
/// Raw bits of a value.
const BITS: RangeInclusive<i64> = 0..=0xFFFF_FFFF;

fn profile(json: &Object<'_>) -> Result<Profile> {
    let bits = |key: &str| Ok(json.int(key, BITS)? as u32);
    Ok(Profile {
        name: json.text("func_name")?.to_owned(),
        id: json.int("func_id", 0..=0xFF)? as u8,
        exp_offset: json.int("exp_offset", -127..=128)? as i32,
        positive: region(json, "pos")?,
        negative: region(json, "neg")?,
        symmetric: json.flag("symmetry_opt_en")?,
        use_negative: json.flag("symmetry_opt_use_neg_region")?,
        odd: json.flag("sym_invert_sign_point")?,
        symmetry_point: bits("symmetry_point")?,
        at_zero: bits("fzero_result")?,
        at_nan: bits("fnan_result")?,
        at_positive_inf: bits("fpinf_result")?,
        at_negative_inf: bits("fninf_result")?,
        imm_bias: json.flag("imm_bias")?,
        fma_const: [bits("fma_const_0")?, bits("fma_const_1")?],
        fma_indirection: bits("fma_indirection_src_sel")?,
        multipass: json.flag("use_multipass")?,
        bounds: [bits("lower_bound")?, bits("upper_bound")?],
    })
}

fn region(json: &Object<'_>, sign: &str) -> Result<Region> {
    Ok(Region {
        control_base: json.int(&format!("pwl_control_base_{sign}"), INDEX)? as u16,
        small_exp: json.int(&format!("small_{sign}_signal_exp_threshold"), EXPONENT)? as u8,
        small_bucket: json.int(&format!("{sign}_small_signal_pwl_control"), INDEX)? as u16,
        large_exp: json.int(&format!("large_{sign}_signal_exp_threshold"), EXPONENT)? as u8,
        large_mantissa: json.int(&format!("large_{sign}_signal_mantissa_threshold"), MANTISSA)? as u32,
        large_bucket: json.int(&format!("{sign}_large_signal_pwl_control"), INDEX)? as u16,
    })
}

/// A JSON object that knows where it stands, for messages.
#[derive(Clone)]
struct Object<'a> {
    member: &'a str,
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    fn root(member: &'a str, value: &'a Value) -> Result<Object<'a>> {
        Self::new(member, String::new(), value)
    }

    fn new(member: &'a str, path: String, value: &'a Value) -> Result<Object<'a>> {
        match value {
            Value::Object(map) => Ok(Object { member, path, map }),
            other => Err(ActTableError::Field {
                member: member.to_owned(),
                field: if path.is_empty() { "the top level".to_owned() } else { path },
                found: brief(other),
                expected: "an object".to_owned(),
            }),
        }
    }

    fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn wrong(&self, key: &str, found: impl Into<String>, expected: impl Into<String>) -> ActTableError {
        let (member, field) = (self.member.to_owned(), self.field(key));
        ActTableError::Field { member, field, found: found.into(), expected: expected.into() }
    }

    fn get<T>(
        &self,
        key: &str,
        expected: impl Fn() -> String,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T> {
        let value = self.map.get(key).ok_or_else(|| self.wrong(key, "missing", expected()))?;
        convert(value).ok_or_else(|| self.wrong(key, brief(value), expected()))
    }

    fn int(&self, key: &str, range: RangeInclusive<i64>) -> Result<i64> {
        let expected = || format!("an integer from {} to {}", range.start(), range.end());
        self.get(key, expected, |value| value.as_i64().filter(|i| range.contains(i)))
    }

    /// Flags are 0 and 1; `use_multipass` is a boolean.
    fn flag(&self, key: &str) -> Result<bool> {
        let expected = || "0, 1 or a boolean".to_owned();
        self.get(key, expected, |value| match value.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => value.as_bool(),
        })
    }

    fn text(&self, key: &str) -> Result<&'a str> {
        self.get(key, || "a string".to_owned(), Value::as_str)
    }

    fn expect_text(&self, key: &str, expected: &str) -> Result<()> {
        let found = self.text(key)?;
        if found == expected {
            Ok(())
        } else {
            Err(self.wrong(key, format!("{found:?}"), format!("{expected:?}")))
        }
    }

    fn objects(&self, key: &str) -> Result<Vec<Object<'a>>> {
        let list = self.get(key, || "an array".to_owned(), Value::as_array)?;
        let path = self.field(key);
        list.iter().enumerate().map(|(i, v)| Self::new(self.member, format!("{path}[{i}]"), v)).collect()
    }
}

/// A value for a message: long ones by their kind only.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("an array of {}", list.len()),
        Value::Object(_) => "an object".to_owned(),
        scalar => scalar.to_string(),
    }
}
