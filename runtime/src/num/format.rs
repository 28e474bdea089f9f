//! The floating-point formats narrower than FP32 (chapter 03 sections 6.1 and 6.3).

use crate::isa::{Dtype, DtypeKind};

/// The flavour of FP8_EXP4, the E4M3 format (chapter 03 section 6.1, decision E10). The default is the
/// IEEE flavour; MX element types always use the OCP flavour.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fp8 {
    /// OCP E4M3FN: no infinity, one NaN code per sign, largest value 448. Otherwise IEEE, 240.
    pub ocp: bool,
    /// With `ocp`, a value beyond the range becomes ±448, not NaN. Without `ocp` it has no effect.
    pub saturate: bool,
}

/// How the codes of a format map to values. A code is the sign bit if there is one, the exponent and
/// the mantissa, from the top bit down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Bits of a code.
    pub bits: u32,
    /// The sign bit; zero for the scale formats, which have none.
    pub sign: u32,
    /// Explicit mantissa bits.
    pub man: u32,
    /// Exponent bias.
    pub bias: u32,
    /// Largest finite magnitude. Larger magnitudes are the infinity, if any, and NaN codes.
    pub max: u32,
    /// Magnitude of the infinity.
    pub inf: Option<u32>,
    /// Canonical NaN. Formats without NaN codes store +0, as integers do (decision E12).
    pub nan: u32,
    /// Magnitude stored for what exceeds `max` after rounding.
    pub overflow: u32,
}

impl Format {
    /// All codes finite; what exceeds the range saturates.
    const fn finite(dtype: Dtype) -> Format {
        let mut row = 0;
        while Dtype::TABLE[row].code.0 != dtype.0 {
            row += 1;
        }
        let info = &Dtype::TABLE[row];
        let (exp, man, bias) = info.float;
        let signed = !matches!(info.kind, DtypeKind::Scale) as u32;
        let magnitude = exp as u32 + man as u32;
        let max = (1 << magnitude) - 1;
        Format {
            bits: magnitude + signed,
            sign: signed << magnitude,
            man: man as u32,
            bias: bias as u32,
            max,
            inf: None,
            nan: 0,
            overflow: max,
        }
    }

    /// The highest exponent holds the infinity and the NaN codes; what exceeds the range is infinite.
    const fn ieee(dtype: Dtype) -> Format {
        let all = Format::finite(dtype);
        let inf = all.max - ((1 << all.man) - 1);
        Format { max: inf - 1, inf: Some(inf), nan: inf | 1 << (all.man - 1), overflow: inf, ..all }
    }

    /// Only the highest code of each sign is not finite: a NaN.
    const fn top_code_is_nan(dtype: Dtype, saturate: bool) -> Format {
        let all = Format::finite(dtype);
        let max = all.max - 1;
        Format { max, nan: all.max, overflow: if saturate { max } else { all.max }, ..all }
    }

    /// The format of `dtype`; `None` for integers, FP32, the sentinel, compressed streams and E8M0,
    /// whose codes are all powers of two without subnormals.
    pub fn of(dtype: Dtype, fp8: Fp8) -> Option<Format> {
        with_format!(dtype, fp8, F => F::FORMAT)
    }
}

/// A format as a type, for loops that are compiled once per format.
pub(super) trait Minifloat {
    /// The format's numbers.
    const FORMAT: Format;
}

macro_rules! formats {
    ($($name:ident = $format:expr;)*) => {$(
        pub(super) struct $name;
        impl Minifloat for $name {
            const FORMAT: Format = $format;
        }
    )*};
}

formats! {
    Bf16 = Format::ieee(Dtype::BFLOAT16);
    Fp16 = Format::ieee(Dtype::FP16);
    // The 22 upper bits of an FP32 cell (decision E11).
    Fp32r = Format::ieee(Dtype::FP32R);
    E3m4 = Format::ieee(Dtype::FP8_EXP3);
    E4m3 = Format::ieee(Dtype::FP8_EXP4);
    E4m3Ocp = Format::top_code_is_nan(Dtype::FP8_EXP4, false);
    E4m3OcpSat = Format::top_code_is_nan(Dtype::FP8_EXP4, true);
    E5m2 = Format::ieee(Dtype::FP8_EXP5);
    // All codes finite: decision E9.
    E2m5 = Format::finite(Dtype::FP8_EXP2);
    E2m1 = Format::finite(Dtype::FP4_EXP2);
    E7m1 = Format::finite(Dtype::SFP8_E7);
    E6m2 = Format::finite(Dtype::SFP8_E6);
    E5m3 = Format::finite(Dtype::SFP8_E5);
}

/// Evaluates an expression with `F` standing for the [`Minifloat`] of a datatype; `None` where
/// [`Format::of`] is.
macro_rules! with_format {
    ($dtype:expr, $fp8:expr, $F:ident => $body:expr) => {{
        use $crate::{isa::Dtype, num::format::*};
        macro_rules! with {
            ($format:ident) => {{
                type $F = $format;
                Some($body)
            }};
        }
        match $dtype {
            Dtype::BFLOAT16 => with!(Bf16),
            Dtype::FP16 => with!(Fp16),
            Dtype::FP32R => with!(Fp32r),
            Dtype::FP8_EXP3 => with!(E3m4),
            Dtype::FP8_EXP4 => match $fp8 {
                Fp8 { ocp: false, .. } => with!(E4m3),
                Fp8 { ocp: true, saturate: false } => with!(E4m3Ocp),
                Fp8 { ocp: true, saturate: true } => with!(E4m3OcpSat),
            },
            Dtype::FP8_EXP5 => with!(E5m2),
            Dtype::FP8_EXP2 => with!(E2m5),
            Dtype::FP4_EXP2 => with!(E2m1),
            Dtype::SFP8_E7 => with!(E7m1),
            Dtype::SFP8_E6 => with!(E6m2),
            Dtype::SFP8_E5 => with!(E5m3),
            _ => None,
        }
    }};
}
pub(super) use with_format;
