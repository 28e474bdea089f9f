//! From plans to a table set.

use seqjit_runtime::act::define::{Function, by_id};
use seqjit_runtime::act::table::{Bucket, Control, Profile, Region, TableError, TableSet};

use super::exact::exact;
use super::fit::{Target, first_octave, octave, power_of_two};
use super::plan::{COARSE, Plan, Side, Symmetry, plan};

/// Control entries that the eight bits of `pwl_control_base` and the files in use allow.
const MAX_CONTROLS: usize = 256;
/// Mantissa bits of fp32.
const MANTISSA_BITS: u8 = 23;

/// Why a table set cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GenerateError {
    /// No plan for this function.
    #[error("no table can be made for activation function {id}")]
    NoPlan {
        /// Function id.
        id: u8,
    },
    /// No cut of an octave keeps the error.
    #[error("{function}: no cut of octave {octave} keeps the error")]
    Octave {
        /// Name of the function.
        function: &'static str,
        /// Exponent of the octave.
        octave: i32,
    },
    /// Too many octaves in one set.
    #[error("{found} control entries, at most {MAX_CONTROLS} fit a set")]
    TooManyControls {
        /// Entries asked for.
        found: usize,
    },
    /// The parts do not make a set.
    #[error(transparent)]
    Tables(#[from] TableError),
}

/// Fits tables for functions `ids` and makes a set of them. The same bytes come out on every machine.
///
/// # Errors
/// [`GenerateError`]: a function without a plan (`parametric_relu` and ids that are unknown), or more buckets
/// or octaves than one set holds.
pub fn generate(name: &str, ids: &[u8]) -> Result<TableSet, GenerateError> {
    let mut builder = Builder::default();
    for id in ids {
        let missing = GenerateError::NoPlan { id: *id };
        let function = by_id(*id).ok_or(missing.clone())?;
        let row = plan(function.name).ok_or(missing.clone())?;
        let formula = exact(function.name).ok_or(missing)?;
        builder.function(*id, function, row, formula)?;
    }
    if builder.controls.len() > MAX_CONTROLS {
        return Err(GenerateError::TooManyControls { found: builder.controls.len() });
    }
    Ok(TableSet::new(name, builder.buckets, builder.controls, builder.profiles)?)
}

#[derive(Default)]
struct Builder {
    buckets: Vec<Bucket>,
    controls: Vec<Control>,
    profiles: Vec<Profile>,
}

impl Builder {
    fn function(
        &mut self,
        id: u8,
        function: &Function,
        plan: &'static Plan,
        f: fn(f64) -> f64,
    ) -> Result<(), GenerateError> {
        let target = |sign| Target { f, sign, relative: plan.relative, absolute: plan.absolute };
        let mut sides = vec![(target(1.0), plan.positive)];
        if plan.symmetry == Symmetry::None {
            sides.insert(0, (target(-1.0), plan.negative));
        }
        let offset = sides.iter().filter_map(|(t, side)| lowest_octave(t, side)).min().unwrap_or(-127);
        let first_bucket = self.buckets.len();
        let mut regions = Vec::with_capacity(2);
        for (target, side) in sides {
            regions.push(self.region(plan.name, target, side, offset)?);
        }
        let pieces = self.buckets.len() - first_bucket;
        let at = |x: f32| function.eval(x, 0.0).to_bits();
        let bound = |x: f32| x.clamp(f32::MIN, f32::MAX).to_bits();
        self.profiles.push(Profile {
            name: format!("{}_{pieces}p", plan.name),
            id,
            exp_offset: offset,
            positive: regions[regions.len() - 1],
            negative: regions[0],
            symmetric: plan.symmetry != Symmetry::None,
            odd: plan.symmetry == Symmetry::Odd,
            at_zero: at(0.0),
            at_nan: at(f32::NAN),
            at_positive_inf: at(f32::INFINITY),
            at_negative_inf: at(f32::NEG_INFINITY),
            imm_bias: matches!(plan.name, "copy" | "memset_zero" | "is_finite"),
            bounds: [bound(function.valid.0), bound(function.valid.1)],
            ..Profile::default()
        });
        Ok(())
    }

    fn region(
        &mut self,
        function: &'static str,
        target: Target,
        side: Side,
        offset: i32,
    ) -> Result<Region, GenerateError> {
        let control_base = self.controls.len() as u16;
        let (low, end, inner, small, large) = match side {
            Side::Whole(c) => {
                // Magnitude 0 is large already: no octave is left.
                let bucket = self.push(cubic(c));
                return Ok(Region {
                    control_base,
                    small_bucket: bucket,
                    large_bucket: bucket,
                    ..Region::default()
                });
            }
            Side::FromZero { taylor, end, beyond } => {
                (offset, end, (i32::MIN, i32::MAX), cubic(taylor), cubic(beyond))
            }
            Side::Octaves { low, high, inner } => {
                let value = |n| cubic([(target.f)(power_of_two(n)), 0.0, 0.0, 0.0]);
                (low, power_of_two(high) as f32, inner, value(low), value(high))
            }
        };
        let last = exponent(end.next_down());
        for octave in low..=last {
            let relative = if (inner.0..inner.1).contains(&octave) { target.relative } else { COARSE };
            self.octave(function, &Target { relative, ..target }, octave, f64::from(end))?;
        }
        Ok(Region {
            control_base,
            small_exp: (low + 127) as u8,
            small_bucket: self.push(small),
            large_exp: (end.to_bits() >> MANTISSA_BITS) as u8,
            large_mantissa: end.to_bits() & 0x7F_FFFF,
            large_bucket: self.push(large),
        })
    }

    fn octave(
        &mut self,
        function: &'static str,
        target: &Target,
        exponent: i32,
        end: f64,
    ) -> Result<(), GenerateError> {
        let (size, pieces) =
            octave(target, exponent, end).ok_or(GenerateError::Octave { function, octave: exponent })?;
        self.controls.push(Control { base: self.buckets.len() as u16, lsb: MANTISSA_BITS - size, size });
        self.buckets.extend(pieces);
        Ok(())
    }

    fn push(&mut self, bucket: Bucket) -> u16 {
        self.buckets.push(bucket);
        (self.buckets.len() - 1) as u16
    }
}

/// A cubic in x itself, on either side.
fn cubic(c: [f64; 4]) -> Bucket {
    Bucket { d: c.map(|c| c as f32), x0: 0.0 }
}

fn lowest_octave(target: &Target, side: &Side) -> Option<i32> {
    match side {
        Side::Whole(_) => None,
        Side::FromZero { taylor, .. } => Some(first_octave(target, &cubic(*taylor))),
        Side::Octaves { low, .. } => Some(*low),
    }
}

fn exponent(x: f32) -> i32 {
    (x.to_bits() >> MANTISSA_BITS) as i32 - 127
}
