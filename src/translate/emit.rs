//! Building CLIF: four lanes of 32 bits at a time.
//!
//! Every value that is computed with is a vector of four elements. The end of a row and strided walks use the
//! same operations on one element in lane 0, so that each operation is written, and tested, once.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32X4, F64X2, I8X16, I16X8, I32, I32X4, I64X2};
use cranelift_codegen::ir::{ConstantData, Endianness, InstBuilder, MemFlagsData, Type, Value};
use cranelift_frontend::FunctionBuilder;

/// Elements of a vector.
pub const LANES: usize = 4;

/// A function under construction.
pub struct Emit<'f> {
    /// The builder, for control flow and addresses.
    pub b: FunctionBuilder<'f>,
    /// Flip the lowest bit of the results of vectors, so that tests can show that they would find it.
    pub defect: bool,
}

/// Device data may lie at any address: no `aligned`, no `notrap`.
pub fn memory() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}

impl Emit<'_> {
    /// The same 32 bits in four integers.
    pub fn int(&mut self, bits: u32) -> Value {
        let bytes: Vec<u8> = bits.to_le_bytes().repeat(LANES);
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(bytes));
        self.b.ins().vconst(I32X4, constant)
    }

    /// The same number four times.
    pub fn float(&mut self, value: f32) -> Value {
        let bits = self.int(value.to_bits());
        self.as_float(bits)
    }

    /// The bits of a vector as another vector.
    pub fn cast(&mut self, to: Type, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) == to {
            return value;
        }
        self.b.ins().bitcast(to, memory(), value)
    }

    /// As floats.
    pub fn as_float(&mut self, value: Value) -> Value {
        self.cast(F32X4, value)
    }

    /// As integers.
    pub fn as_int(&mut self, value: Value) -> Value {
        self.cast(I32X4, value)
    }

    /// Float comparison: all bits set where it holds.
    pub fn fcmp(&mut self, condition: FloatCC, a: Value, b: Value) -> Value {
        let mask = self.b.ins().fcmp(condition, a, b);
        self.as_int(mask)
    }

    /// Integer comparison: all bits set where it holds.
    pub fn icmp(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        self.b.ins().icmp(condition, a, b)
    }

    /// Where a float is NaN.
    pub fn is_nan(&mut self, value: Value) -> Value {
        self.fcmp(FloatCC::Unordered, value, value)
    }

    /// Integer vectors: `a` where the mask is set, else `b`.
    pub fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.b.ins().bitselect(mask, a, b)
    }

    /// Float vectors: `a` where the mask is set, else `b`.
    pub fn select_float(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let (a, b) = (self.as_int(a), self.as_int(b));
        let bits = self.select(mask, a, b);
        self.as_float(bits)
    }

    /// 1.0 where the mask is set, else +0.
    pub fn truth(&mut self, mask: Value) -> Value {
        let one = self.int(1.0f32.to_bits());
        let bits = self.b.ins().band(mask, one);
        self.as_float(bits)
    }

    /// Bits and a constant.
    pub fn and(&mut self, value: Value, bits: u32) -> Value {
        let bits = self.int(bits);
        self.b.ins().band(value, bits)
    }

    /// Sum with a constant, wrapping.
    pub fn plus(&mut self, value: Value, bits: u32) -> Value {
        let bits = self.int(bits);
        self.b.ins().iadd(value, bits)
    }

    /// Shift left by a constant below 32.
    pub fn shl(&mut self, value: Value, by: u32) -> Value {
        let by = self.b.ins().iconst(I32, i64::from(by));
        self.b.ins().ishl(value, by)
    }

    /// Shift right by a constant below 32, zeros coming in.
    pub fn shr(&mut self, value: Value, by: u32) -> Value {
        let by = self.b.ins().iconst(I32, i64::from(by));
        self.b.ins().ushr(value, by)
    }

    /// The float with its sign bit cleared.
    pub fn abs(&mut self, value: Value) -> Value {
        self.b.ins().fabs(value)
    }

    /// Reads one element, or four, of 1, 2 or 4 bytes, extended to 32 bits.
    pub fn load(&mut self, at: Value, offset: i32, size: usize, signed: bool, four: bool) -> Value {
        let flags = memory();
        let b = &mut self.b;
        match (four, size, signed) {
            (true, 4, _) => b.ins().load(I32X4, flags, at, offset),
            (true, 2, true) => b.ins().sload16x4(flags, at, offset),
            (true, 2, false) => b.ins().uload16x4(flags, at, offset),
            (true, _, signed) => {
                let bytes = b.ins().load(I32, flags, at, offset);
                let bytes = b.ins().scalar_to_vector(I32X4, bytes);
                let bytes = self.cast(I8X16, bytes);
                if signed {
                    let halves = self.b.ins().swiden_low(bytes);
                    self.b.ins().swiden_low(halves)
                } else {
                    let halves = self.b.ins().uwiden_low(bytes);
                    self.b.ins().uwiden_low(halves)
                }
            }
            (false, size, signed) => {
                let element = match (size, signed) {
                    (4, _) => b.ins().load(I32, flags, at, offset),
                    (2, true) => b.ins().sload16(I32, flags, at, offset),
                    (2, false) => b.ins().uload16(I32, flags, at, offset),
                    (_, true) => b.ins().sload8(I32, flags, at, offset),
                    (_, false) => b.ins().uload8(I32, flags, at, offset),
                };
                b.ins().scalar_to_vector(I32X4, element)
            }
        }
    }

    /// Writes the low `size` bytes (1, 2 or 4) of one element, or of four.
    pub fn store(&mut self, value: Value, at: Value, offset: i32, size: usize, four: bool) {
        let flags = memory();
        if !four {
            let element = self.b.ins().extractlane(value, 0);
            match size {
                4 => self.b.ins().store(flags, element, at, offset),
                2 => self.b.ins().istore16(flags, element, at, offset),
                _ => self.b.ins().istore8(flags, element, at, offset),
            };
            return;
        }
        let value = self.spoil(value);
        if size == 4 {
            self.b.ins().store(flags, value, at, offset);
            return;
        }
        // Narrowing saturates, so that the bits above are cleared first.
        let low = self.and(value, u32::MAX >> (32 - 8 * size));
        let halves = self.b.ins().unarrow(low, low);
        if size == 2 {
            let packed = self.cast(I64X2, halves);
            let packed = self.b.ins().extractlane(packed, 0);
            self.b.ins().store(flags, packed, at, offset);
        } else {
            let bytes = self.b.ins().unarrow(halves, halves);
            let packed = self.cast(I32X4, bytes);
            let packed = self.b.ins().extractlane(packed, 0);
            self.b.ins().store(flags, packed, at, offset);
        }
    }

    /// The value, or a wrong one where that is wanted; any vector type.
    pub fn spoil(&mut self, value: Value) -> Value {
        if !self.defect {
            return value;
        }
        let kind = self.b.func.dfg.value_type(value);
        let bits = self.as_int(value);
        let one = self.int(1);
        let bits = self.b.ins().bxor(bits, one);
        self.cast(kind, bits)
    }

    /// The type of 16 bytes of elements of `size` bytes.
    pub fn bytes_type(size: usize) -> Type {
        match size {
            1 => I8X16,
            2 => I16X8,
            4 => I32X4,
            _ => I64X2,
        }
    }

    /// Applies a function of two doubles a vector to four floats.
    pub fn in_double(&mut self, value: Value, f: impl Fn(&mut Self, Value) -> Value) -> Value {
        let ints = self.as_int(value);
        let mut halves = [value; 2];
        for (half, lanes) in halves.iter_mut().zip([[0, 1], [2, 3]]) {
            let moved = lanes.map(|lane| self.b.ins().extractlane(ints, lane));
            let low = self.b.ins().scalar_to_vector(I32X4, moved[0]);
            let pair = self.b.ins().insertlane(low, moved[1], 1);
            let pair = self.as_float(pair);
            let wide = self.b.ins().fvpromote_low(pair);
            debug_assert_eq!(self.b.func.dfg.value_type(wide), F64X2);
            let result = f(self, wide);
            let narrow = self.b.ins().fvdemote(result);
            *half = self.cast(I64X2, narrow);
        }
        let high = self.b.ins().extractlane(halves[1], 0);
        let all = self.b.ins().insertlane(halves[0], high, 1);
        self.as_float(all)
    }
}
