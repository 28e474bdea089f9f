//! Table mode: piecewise cubics from a container's bucket, control and profile data (chapter 05 section
//! 3.8, chapter 10 section 9.1).
//!
//! A profile names, for each sign, a run of control entries (one an octave of the input) and buckets for inputs
//! below and above them; a control entry cuts its octave into 2^size buckets. [`TableSet::new`] follows every
//! path that an input can take, once, so that evaluation needs no checks.

use std::fmt;

use super::formula::select;
use super::lane::{Lane, map_row};
use crate::kernels::act_table::{self, Octaves, Row, Rules, Table};
use crate::num::canonical;

/// Buckets that the hardware holds (chapter 05 section 3.8); control entries address no more.
pub const MAX_BUCKETS: usize = 2048;

/// The function whose buckets hold selectors instead of coefficients: always evaluated by definition
/// (00-decisions 05-28).
pub const PARAMETRIC_RELU: u8 = 4;

/// One cubic: `d[0] + u (d[1] + u (d[2] + u d[3]))` with `u = x - x0`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Bucket {
    /// Coefficients, constant term first.
    pub d: [f32; 4],
    /// Centre.
    pub x0: f32,
}

/// One octave: mantissa bits `lsb .. lsb + size` of the input select a bucket after `base`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// First bucket, 11 bits.
    pub base: u16,
    /// Lowest mantissa bit of the selector, 5 bits.
    pub lsb: u8,
    /// Bits of the selector, 4 bits.
    pub size: u8,
}

impl Control {
    /// The entry as its 32-bit word: base 10:0, lsb 15:11, size 19:16.
    pub fn to_word(self) -> u32 {
        u32::from(self.base) | u32::from(self.lsb) << 11 | u32::from(self.size) << 16
    }

    /// The entry of a word; `None` if a bit above 19 is set.
    pub fn from_word(word: u32) -> Option<Control> {
        let control = Control {
            base: (word & 0x7FF) as u16,
            lsb: (word >> 11 & 0x1F) as u8,
            size: (word >> 16 & 0xF) as u8,
        };
        (control.to_word() == word).then_some(control)
    }

    /// The last bucket that a mantissa of at most `mantissa` selects.
    fn last_bucket(self, mantissa: u32) -> usize {
        let mask = (1 << self.size) - 1;
        usize::from(self.base) + (mantissa >> self.lsb).min(mask) as usize
    }
}

/// How inputs of one sign find their bucket. Exponents are biased, as they stand in the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// Control entry of the octave [`Profile::exp_offset`].
    pub control_base: u16,
    /// Exponents below it take the bucket `small_bucket`.
    pub small_exp: u8,
    /// Bucket of small magnitudes.
    pub small_bucket: u16,
    /// With `large_mantissa`: magnitudes from here on take `large_bucket`.
    pub large_exp: u8,
    /// Mantissa, 23 bits.
    pub large_mantissa: u32,
    /// Bucket of large magnitudes.
    pub large_bucket: u16,
}

impl Region {
    /// Magnitude bits from which on the bucket for large inputs holds. The rule for small inputs comes first.
    fn large_from(&self) -> u32 {
        (u32::from(self.large_exp) << 23 | self.large_mantissa).max(u32::from(self.small_exp) << 23)
    }
}

/// What a table set says of one function (chapter 10 section 9.1, profile keys).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    /// Name with the suffix that `act_info.json` gives, `exp_400p`.
    pub name: String,
    /// Function id.
    pub id: u8,
    /// Octave (unbiased exponent) of the first control entry of each region.
    pub exp_offset: i32,
    /// Positive inputs.
    pub positive: Region,
    /// Negative inputs.
    pub negative: Region,
    /// One region serves both signs: the magnitude is looked up.
    pub symmetric: bool,
    /// The shared region is the negative one.
    pub use_negative: bool,
    /// Results of negative inputs change sign.
    pub odd: bool,
    /// Added to results of negative inputs after the change of sign, if not zero: raw bits.
    pub symmetry_point: u32,
    /// Result at either zero, raw bits.
    pub at_zero: u32,
    /// Result at NaN, raw bits.
    pub at_nan: u32,
    /// Result at +Inf, raw bits.
    pub at_positive_inf: u32,
    /// Result at -Inf, raw bits.
    pub at_negative_inf: u32,
    /// The bias operand is an immediate (true exactly for copy, memset_zero and is_finite).
    pub imm_bias: bool,
    /// Constants of the cubic's coefficient selection, raw bits; only parametric_relu uses one.
    pub fma_const: [u32; 2],
    /// 0: coefficients are values. Other codes select among operands; their meaning is open.
    pub fma_indirection: u32,
    /// The function takes several passes; how is open.
    pub multipass: bool,
    /// Valid inputs, raw bits of both bounds as the container gives them.
    pub bounds: [u32; 2],
}

impl Profile {
    /// The regions that inputs can reach, each with its name.
    fn regions(&self) -> impl Iterator<Item = (&'static str, usize, Region)> {
        let all = [("pos", 0, self.positive), ("neg", 1, self.negative)];
        all.into_iter().filter(|(_, side, _)| !self.symmetric || (*side == 1) == self.use_negative)
    }

    /// Why the algorithm of chapter 05 section 3.8 does not cover this function.
    fn refusal(&self) -> Option<Refusal> {
        if self.id == PARAMETRIC_RELU || self.fma_indirection != 0 {
            Some(Refusal::Indirection)
        } else if self.multipass {
            Some(Refusal::Multipass)
        } else if self.symmetric && self.use_negative && self.odd {
            Some(Refusal::OddNegative)
        } else {
            None
        }
    }
}

/// Why a table that is present cannot be evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Buckets hold coefficient selectors (`fma_indirection_src_sel`).
    Indirection,
    /// `use_multipass`.
    Multipass,
    /// `symmetry_opt_use_neg_region` with `sym_invert_sign_point`: which half changes sign is open.
    OddNegative,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Indirection => "its buckets hold coefficient selectors",
            Refusal::Multipass => "it takes several passes",
            Refusal::OddNegative => "it is odd and tabulated for negative inputs",
        })
    }
}

/// Why tables do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// More buckets than the hardware holds.
    #[error("{found} buckets, at most {MAX_BUCKETS} expected")]
    TooManyBuckets {
        /// Buckets of the set.
        found: usize,
    },
    /// Two profiles of one id.
    #[error("function id {id} has two profiles")]
    DuplicateId {
        /// The id.
        id: u8,
    },
    /// An index that some input reaches is outside its table.
    #[error(
        "function {function}, {region} inputs of exponent {exponent}: {table} {found}, below {limit} expected"
    )]
    Index {
        /// Name of the profile.
        function: String,
        /// `pos` or `neg`.
        region: &'static str,
        /// Biased exponent of the inputs.
        exponent: u32,
        /// `control entry` or `bucket`.
        table: &'static str,
        /// The index.
        found: i64,
        /// Entries of the table.
        limit: usize,
    },
}

/// One activation table set, checked.
#[derive(Clone)]
pub struct TableSet {
    name: String,
    buckets: Vec<Bucket>,
    controls: Vec<Control>,
    profiles: Vec<Profile>,
    rows: Box<[Row; MAX_BUCKETS]>,
    lookups: Vec<Result<Lookup, Refusal>>,
}

impl TableSet {
    /// Builds a set after following every path of every profile.
    ///
    /// # Errors
    /// [`TableError`]: too many buckets, an id twice, an index outside its table.
    pub fn new(
        name: impl Into<String>,
        buckets: Vec<Bucket>,
        controls: Vec<Control>,
        profiles: Vec<Profile>,
    ) -> Result<TableSet, TableError> {
        if buckets.len() > MAX_BUCKETS {
            return Err(TableError::TooManyBuckets { found: buckets.len() });
        }
        let mut lookups = Vec::with_capacity(profiles.len());
        for (k, profile) in profiles.iter().enumerate() {
            if profiles[..k].iter().any(|p| p.id == profile.id) {
                return Err(TableError::DuplicateId { id: profile.id });
            }
            let lookup = Lookup::new(profile, &controls, buckets.len())?;
            lookups.push(profile.refusal().map_or(Ok(lookup), Err));
        }
        let rows = rows(&buckets);
        Ok(TableSet { name: name.into(), buckets, controls, profiles, rows, lookups })
    }

    /// Name of the set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All buckets.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// All control entries.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// The functions of the set.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// The table of a function: `None` if the set lacks the id, the refusal if it cannot be evaluated.
    pub fn function(&self, id: u8) -> Option<Result<TableFunction<'_>, Refusal>> {
        let index = self.profiles.iter().position(|p| p.id == id)?;
        Some(match &self.lookups[index] {
            Ok(Lookup { words, octaves, rules }) => {
                let octaves = octaves.as_deref();
                Ok(TableFunction { table: Table { words, octaves, rules, rows: &self.rows } })
            }
            Err(refusal) => Err(*refusal),
        })
    }
}

impl fmt::Debug for TableSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableSet")
            .field("name", &self.name)
            .field("buckets", &self.buckets.len())
            .field("controls", &self.controls.len())
            .field("functions", &self.profiles.iter().map(|p| &p.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// Buckets padded to a power of two, so that an index that is masked needs no bounds check.
fn rows(buckets: &[Bucket]) -> Box<[Row; MAX_BUCKETS]> {
    let mut rows = Box::new([Row::default(); MAX_BUCKETS]);
    for (row, bucket) in rows.iter_mut().zip(buckets) {
        *row = Row::new(bucket.d, bucket.x0);
    }
    rows
}

/// Sign and exponent of an input, 9 bits.
pub(crate) const KEYS: usize = 512;

/// A profile with its control entries resolved to one word a sign and exponent.
#[derive(Clone)]
struct Lookup {
    /// Control word of every key. Exponents that take one bucket whole have an entry of size 0.
    words: Box<[u32; KEYS]>,
    octaves: Option<Box<Octaves>>,
    rules: Rules,
}

impl Lookup {
    fn new(profile: &Profile, controls: &[Control], buckets: usize) -> Result<Lookup, TableError> {
        let sign = |set: bool| if set { 0x8000_0000 } else { 0 };
        let mut rules = Rules {
            large_from: [u32::MAX; 2],
            large: [0; 2],
            keep: if profile.symmetric { 0x7FFF_FFFF } else { u32::MAX },
            set: sign(profile.symmetric && profile.use_negative),
            invert: sign(profile.symmetric && profile.odd),
            symmetry_point: f32::from_bits(profile.symmetry_point),
            at_zero: f32::from_bits(profile.at_zero),
            at_nan: f32::from_bits(profile.at_nan),
            at_inf: [f32::from_bits(profile.at_positive_inf), f32::from_bits(profile.at_negative_inf)],
        };
        let mut words = Box::new([0; KEYS]);
        for (name, side, region) in profile.regions() {
            let path = Path { function: &profile.name, name, region, exp_offset: profile.exp_offset };
            rules.large_from[side] = region.large_from();
            rules.large[side] = u32::from(region.large_bucket);
            path.resolve(controls, buckets, &mut words[side * 256..][..256])?;
        }
        let octaves = Octaves::new(&words).map(Box::new);
        Ok(Lookup { words, octaves, rules })
    }
}

/// The way of one region's inputs through control entries to buckets.
struct Path<'a> {
    function: &'a str,
    name: &'static str,
    region: Region,
    exp_offset: i32,
}

impl Path<'_> {
    /// Fills the control words of all exponents but that of infinities and NaN.
    fn resolve(&self, controls: &[Control], buckets: usize, words: &mut [u32]) -> Result<(), TableError> {
        let Region { small_exp, small_bucket, large_bucket, .. } = self.region;
        let large_from = self.region.large_from();
        for (exponent, word) in (0..255).zip(words) {
            let first = exponent << 23;
            let control = if exponent < u32::from(small_exp) {
                Control { base: small_bucket, ..Control::default() }
            } else if first >= large_from {
                Control { base: large_bucket, ..Control::default() }
            } else {
                self.control(exponent, controls)?
            };
            let last_mantissa = large_from.saturating_sub(first + 1).min(0x7F_FFFF);
            self.check(exponent, "bucket", control.last_bucket(last_mantissa) as i64, buckets)?;
            *word = control.to_word();
        }
        // An octave that is large only in part has not met this bucket above.
        self.check(large_from >> 23, "bucket", i64::from(large_bucket), buckets)
    }

    fn control(&self, exponent: u32, controls: &[Control]) -> Result<Control, TableError> {
        let octave = i64::from(exponent) - 127 - i64::from(self.exp_offset);
        let index = i64::from(self.region.control_base) + octave;
        self.check(exponent, "control entry", index, controls.len())?;
        Ok(controls[index as usize])
    }

    fn check(&self, exponent: u32, table: &'static str, found: i64, limit: usize) -> Result<(), TableError> {
        if (0..limit as i64).contains(&found) {
            return Ok(());
        }
        let function = self.function.to_owned();
        Err(TableError::Index { function, region: self.name, exponent, table, found, limit })
    }
}

/// One function of a set, ready to evaluate.
#[derive(Clone, Copy)]
pub struct TableFunction<'a> {
    table: Table<'a>,
}

impl TableFunction<'_> {
    /// f(x). Results at zeros, infinities and NaN are the profile's raw bits; a NaN out of a cubic is 7FC00000.
    pub fn eval(&self, x: f32) -> f32 {
        self.at(x)
    }

    /// `eval` of every value of `xs` into `out`, the same bits at every level.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn eval_row(&self, xs: &[f32], out: &mut [f32]) {
        if !act_table::eval_row(&self.table, xs, out) {
            map_row(*self, xs, out);
        }
    }

    /// Index of the bucket that x selects; `None` for zeros, infinities and NaN.
    pub fn bucket(&self, x: f32) -> Option<usize> {
        let finite = x.is_finite() && x != 0.0;
        let Rules { keep, set, .. } = *self.table.rules;
        finite.then(|| self.find(x.to_bits() & keep | set) as usize)
    }

    /// The bucket of an input that is neither zero, infinite nor NaN, after symmetry.
    #[inline(always)]
    fn find(&self, bits: u32) -> u32 {
        let Table { words, rules, .. } = self.table;
        let word = words[(bits >> 23) as usize % KEYS];
        let mask = (1 << (word >> 16 & 0xF)) - 1;
        let index = (word & 0x7FF) + ((bits & 0x7F_FFFF) >> (word >> 11 & 0x1F) & mask);
        // Bits, not a choice: the optimiser would make one load from a chosen address of it, which is slow.
        let negative = (bits as i32 >> 31) as u32;
        let by_sign = |[positive, other]: [u32; 2]| positive ^ ((positive ^ other) & negative);
        let large = by_sign(rules.large);
        if bits & 0x7FFF_FFFF >= by_sign(rules.large_from) { large } else { index }
    }
}

impl fmt::Debug for TableFunction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TableFunction")
    }
}

impl Lane for TableFunction<'_> {
    #[inline(always)]
    fn at(self, t: f32) -> f32 {
        let Rules { keep, set, invert, symmetry_point, at_zero, at_nan, at_inf, .. } = *self.table.rules;
        let bits = t.to_bits() & keep | set;
        let Row { d, x0, .. } = self.table.rows[self.find(bits) as usize % MAX_BUCKETS];
        let u = f32::from_bits(bits) - x0;
        let y = u.mul_add(u.mul_add(u.mul_add(d[3], d[2]), d[1]), d[0]);
        let y = f32::from_bits(y.to_bits() ^ t.to_bits() & invert);
        let y = canonical(select(t < 0.0 && symmetry_point != 0.0, y + symmetry_point, y));
        let y = select(t == 0.0, at_zero, y);
        let y = select(t == f32::INFINITY, at_inf[0], y);
        let y = select(t == f32::NEG_INFINITY, at_inf[1], y);
        select(t.is_nan(), at_nan, y)
    }
}
