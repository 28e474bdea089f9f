//! Conversions to and from FP32 in CLIF (chapter 03 section 6.3), bit for bit those of `runtime::num`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32X4, I32, I32X4};
use cranelift_codegen::ir::{InstBuilder, Value};
use seqjit_runtime::isa::Dtype;
use seqjit_runtime::num::{CANONICAL_NAN, Format, Fp8};

use super::Refusal;
use super::emit::Emit;

/// Bits of a float without its sign.
const MAGNITUDE: u32 = 0x7FFF_FFFF;
const INFINITY: u32 = f32::INFINITY.to_bits();

/// Whether elements of a datatype can be converted here.
pub fn check(dtype: Dtype) -> Result<(), Refusal> {
    let integer = dtype.is_integer() && !dtype.is_64bit();
    // Whichever flavour FP8 has, it has a sign, and scale formats have none.
    let float = dtype == Dtype::FP32 || Format::of(dtype, Fp8::default()).is_some_and(|f| f.sign != 0);
    let whole_bytes = matches!(dtype.bytes(), 1 | 2 | 4);
    if whole_bytes && (integer || float) { Ok(()) } else { Err(Refusal::Datatype(dtype)) }
}

impl Emit<'_> {
    /// Loads elements and converts them to FP32. A NaN keeps its payload: no operation looks at it before
    /// [`Emit::store_float`] makes it canonical.
    pub fn load_float(&mut self, dtype: Dtype, fp8: Fp8, at: Value, offset: i32, four: bool) -> Value {
        let bits = self.load(at, offset, dtype.bytes(), dtype.is_signed(), four);
        self.widened(dtype, fp8, bits)
    }

    /// The FP32 value of a scalar operand, whose bits are zero-extended.
    pub fn scalar_float(&mut self, dtype: Dtype, fp8: Fp8, scalar: Value) -> Value {
        let bits = self.as_int(scalar);
        let unused = 32 - 8 * dtype.bytes() as u32;
        if unused == 0 || !dtype.is_signed() {
            return self.widened(dtype, fp8, bits);
        }
        let high = self.shl(bits, unused);
        let unused = self.b.ins().iconst(I32, i64::from(unused));
        let bits = self.b.ins().sshr(high, unused);
        self.widened(dtype, fp8, bits)
    }

    /// The FP32 values of elements that are extended to 32 bits as their datatype says.
    fn widened(&mut self, dtype: Dtype, fp8: Fp8, bits: Value) -> Value {
        match Format::of(dtype, fp8) {
            Some(format) if dtype != Dtype::FP32R => self.decode(&format, bits),
            _ if dtype == Dtype::UINT32 => self.b.ins().fcvt_from_uint(F32X4, bits),
            _ if dtype.is_integer() => self.b.ins().fcvt_from_sint(F32X4, bits),
            _ => self.as_float(bits),
        }
    }

    /// Converts FP32 and stores it.
    pub fn store_float(&mut self, value: Value, dtype: Dtype, fp8: Fp8, at: Value, offset: i32, four: bool) {
        let code = self.encode_float(value, dtype, fp8);
        self.store(code, at, offset, dtype.bytes(), four);
    }

    /// FP32 as the code of a datatype, in the low bits; those above are any.
    pub fn encode_float(&mut self, value: Value, dtype: Dtype, fp8: Fp8) -> Value {
        match Format::of(dtype, fp8) {
            Some(_) if dtype == Dtype::FP32R => self.encode_fp32r(value),
            Some(format) => self.encode(&format, value),
            None if dtype == Dtype::FP32 => self.canonical(value),
            None => self.round_to_integer(dtype, value),
        }
    }

    /// The bits of a float, every NaN as 7FC00000.
    pub fn canonical(&mut self, value: Value) -> Value {
        let nan = self.is_nan(value);
        let (canonical, bits) = (self.int(CANONICAL_NAN.to_bits()), self.as_int(value));
        self.select(nan, canonical, bits)
    }

    /// Narrow float to FP32: the branch-free form of `runtime::num`.
    fn decode(&mut self, format: &Format, code: Value) -> Value {
        if is_upper_half(format) {
            let bits = self.shl(code, 16);
            return self.as_float(bits);
        }
        let magnitude = self.and(code, (1 << (format.bits - 1)) - 1);
        let sign = self.and(code, format.sign);
        let sign = self.shl(sign, 32 - format.bits);
        let wide = self.shl(magnitude, 23 - format.man);
        let normal = self.plus(wide, (127 - format.bias) << 23);
        let finite = if format.bias == 127 {
            normal
        } else {
            let hidden = (128 - format.bias) << 23;
            let forced = self.plus(wide, hidden);
            let (forced, hidden) = (self.as_float(forced), self.float(f32::from_bits(hidden)));
            let subnormal = self.b.ins().fsub(forced, hidden);
            let subnormal = self.as_int(subnormal);
            let least_normal = self.int(1 << format.man);
            let is_normal = self.icmp(IntCC::SignedGreaterThanOrEqual, magnitude, least_normal);
            self.select(is_normal, normal, subnormal)
        };
        let mut special = self.int(CANONICAL_NAN.to_bits());
        if let Some(inf) = format.inf {
            let (inf, infinity) = (self.int(inf), self.int(INFINITY));
            let is_inf = self.icmp(IntCC::Equal, magnitude, inf);
            special = self.select(is_inf, infinity, special);
        }
        let max = self.int(format.max);
        let is_special = self.icmp(IntCC::SignedGreaterThan, magnitude, max);
        let bits = self.select(is_special, special, finite);
        let bits = self.b.ins().bor(bits, sign);
        self.as_float(bits)
    }

    /// FP32 to narrow float, to nearest even: the branch-free form of `runtime::num`.
    fn encode(&mut self, format: &Format, value: Value) -> Value {
        let bits = self.as_int(value);
        if is_upper_half(format) {
            // Rounding carries into the exponent, up to infinity, and never into the sign.
            let last = self.shr(bits, 16);
            let odd = self.and(last, 1);
            let to_even = self.plus(odd, 0x7FFF);
            let rounded = self.b.ins().iadd(bits, to_even);
            let code = self.shr(rounded, 16);
            let (nan, is_nan) = (self.int(format.nan), self.is_nan(value));
            return self.select(is_nan, nan, code);
        }
        let magnitude = self.and(bits, MAGNITUDE);
        let shift = 23 - format.man;
        let last = self.shr(magnitude, shift);
        let odd = self.and(last, 1);
        let to_even = self.plus(odd, (1 << (shift - 1)) - 1);
        let rounded = self.b.ins().iadd(magnitude, to_even);
        let rounded = self.shr(rounded, shift);
        let rebias = (127 - format.bias) << format.man;
        let normal = self.plus(rounded, rebias.wrapping_neg());
        let rounded = if format.bias == 127 {
            normal
        } else {
            // The last place of this power of two is the format's smallest subnormal: the addition rounds.
            let grid = (128 - format.bias + 23 - format.man) << 23;
            let (small, grid_value) = (self.as_float(magnitude), self.float(f32::from_bits(grid)));
            let sum = self.b.ins().fadd(small, grid_value);
            let sum = self.as_int(sum);
            let subnormal = self.plus(sum, grid.wrapping_neg());
            let least_normal = self.int((128 - format.bias) << 23);
            let is_normal = self.icmp(IntCC::SignedGreaterThanOrEqual, magnitude, least_normal);
            self.select(is_normal, normal, subnormal)
        };
        let (max, overflow) = (self.int(format.max), self.int(format.overflow));
        let beyond = self.icmp(IntCC::SignedGreaterThan, rounded, max);
        let code = self.select(beyond, overflow, rounded);
        let sign = self.shr(bits, 32 - format.bits);
        let sign = self.and(sign, format.sign);
        let code = self.b.ins().bor(code, sign);
        let (nan, is_nan) = (self.int(format.nan), self.is_nan(value));
        self.select(is_nan, nan, code)
    }

    /// Rounds to 13 explicit mantissa bits (decision E11).
    fn encode_fp32r(&mut self, value: Value) -> Value {
        let bits = self.as_int(value);
        let last = self.shr(bits, 10);
        let odd = self.and(last, 1);
        let to_even = self.plus(odd, 0x1FF);
        let rounded = self.b.ins().iadd(bits, to_even);
        let rounded = self.and(rounded, !0x3FF);
        let (nan, is_nan) = (self.int(CANONICAL_NAN.to_bits()), self.is_nan(value));
        self.select(is_nan, nan, rounded)
    }

    /// Rounds to nearest even and saturates; NaN gives 0 (decision E12).
    fn round_to_integer(&mut self, dtype: Dtype, value: Value) -> Value {
        let whole = self.round_even(value);
        if dtype == Dtype::UINT32 {
            return self.b.ins().fcvt_to_uint_sat(I32X4, whole);
        }
        let whole = self.b.ins().fcvt_to_sint_sat(I32X4, whole);
        let Some((low, high)) = narrow_limits(dtype) else { return whole };
        self.between(whole, low, high)
    }

    fn between(&mut self, value: Value, low: i32, high: i32) -> Value {
        let (low, high) = (self.int(low as u32), self.int(high as u32));
        let above = self.b.ins().smax(value, low);
        self.b.ins().smin(above, high)
    }

    /// The result of an integer operator as its datatype stores it: wrapped at 32 bits, then clamped to 8 or
    /// 16 (decision E22).
    pub fn clamp(&mut self, dtype: Dtype, value: Value) -> Value {
        match narrow_limits(dtype) {
            None => value,
            Some((0, high)) => {
                let high = self.int(high as u32);
                self.b.ins().umin(value, high)
            }
            Some((low, high)) => self.between(value, low, high),
        }
    }

    /// Rounds to an integer, to nearest even. By adding 2^23, where the last place is 1: the instruction for
    /// it is not on every CPU.
    fn round_even(&mut self, value: Value) -> Value {
        let bits = self.as_int(value);
        let sign = self.and(bits, !MAGNITUDE);
        let grid = self.int(8_388_608.0f32.to_bits());
        let signed_grid = self.b.ins().bor(sign, grid);
        let (grid, signed_grid) = (self.as_float(grid), self.as_float(signed_grid));
        let sum = self.b.ins().fadd(value, signed_grid);
        let rounded = self.b.ins().fsub(sum, signed_grid);
        let size = self.abs(value);
        let has_fraction = self.fcmp(FloatCC::LessThan, size, grid);
        self.select_float(has_fraction, rounded, value)
    }
}

/// BFLOAT16: the upper half of an FP32 code.
fn is_upper_half(format: &Format) -> bool {
    format.bits == 16 && format.bias == 127
}

/// The range of the integer datatypes narrower than 32 bits.
pub fn narrow_limits(dtype: Dtype) -> Option<(i32, i32)> {
    match dtype {
        Dtype::INT8 => Some((i8::MIN.into(), i8::MAX.into())),
        Dtype::UINT8 => Some((0, u8::MAX.into())),
        Dtype::INT16 => Some((i16::MIN.into(), i16::MAX.into())),
        Dtype::UINT16 => Some((0, u16::MAX.into())),
        _ => None,
    }
}
