//! Random legal words of the translated families, and data for them.

mod data;
mod elementwise;
mod lanes;
mod pe_act;
mod serial;
mod transfers;

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::isa::check::{CheckContext, RuleClass, Severity, check, refused_on};
use seqjit::runtime::isa::field::{
    Addr4, DtypePair, Field, Imm, ImmSrc, ImmSrcN, Kind, ReverseOps, UpdateMode, WaitMode,
};
use seqjit::runtime::isa::layouts::{D4_MR, S3D3_AC, S3D3_TS, S3S3D3_TT, S4D4_TR};
use seqjit::runtime::isa::{
    AluOp, AluSet, Dtype, EngineId, Events, Execution, Family, Generation, Layout, Lowering, OPCODES,
    PSUM_PITCH, Tensor, Word, decode, op, opcode_info,
};

/// Bytes of each partition that words use.
pub const WINDOW: u32 = 4096;
/// Registers that hold operand addresses: so many from R0 on.
pub const REGISTERS: usize = 8;

/// Opcodes under test: all that the interpreter has, unless nothing on the generation is known to run them. Of those
/// without native code the CPU levels of the interpreter are compared.
pub fn opcodes(generation: Generation) -> Vec<u8> {
    let rows = OPCODES.iter().filter(|i| i.exists_on(generation));
    let rows = rows.filter(|i| i.execution == Execution::Run);
    let refused =
        |byte| refused_on(byte, generation).is_some_and(|rule| rule.class == RuleClass::Unsupported);
    // CAYMAN has the compressed form of this one only, which is refused.
    let nowhere = |byte| byte == op::CONV_LUT_LOAD && generation == Generation::Cayman;
    let rows = rows.filter(|i| !refused(i.byte) && !nowhere(i.byte));
    let rows = rows.map(|info| info.byte).filter(|byte| is_native(*byte) || has_generator(generation, *byte));
    rows.filter(|byte| is_wanted(*byte)).collect()
}

/// Whether `SEQJIT_DIFF_OPCODES`, if it is set, lists an opcode: bytes in hexadecimal with commas between.
fn is_wanted(opcode: u8) -> bool {
    let Ok(list) = std::env::var("SEQJIT_DIFF_OPCODES") else { return true };
    list.split(',').any(|byte| u8::from_str_radix(byte, 16).expect("a byte in hexadecimal") == opcode)
}

/// Whether the opcode table says that it runs without the interpreter.
pub fn is_native(opcode: u8) -> bool {
    let info = opcode_info(opcode).expect("a row of the table");
    matches!(info.lowering, Lowering::Inline | Lowering::Kernel)
}

/// Whether the opcode table says that the interpreter's function runs it in every tier, inside a stretch.
pub fn is_called(opcode: u8) -> bool {
    let info = opcode_info(opcode).expect("a row of the table");
    info.lowering == Lowering::Call && !matches!(info.family, Family::Dma | Family::Collective)
}

/// Whether native code of it can be made wrong on purpose: most words of the sequencer have none that could be.
pub fn can_be_spoilt(opcode: u8) -> bool {
    let info = opcode_info(opcode).expect("a row of the table");
    let sequencer = matches!(info.family, Family::Control | Family::Pseudo | Family::Custom)
        || (info.family == Family::Dma && is_native(opcode));
    let spoilt = is_native(opcode) || is_called(opcode);
    spoilt && (!sequencer || matches!(opcode, op::MOVE | op::ALU_OP | op::EXTENDED_INST))
}

fn has_generator(generation: Generation, opcode: u8) -> bool {
    let rng = &mut ChaCha8Rng::seed_from_u64(0);
    let mut case = Case::new(generation, EngineId::Sp, opcode);
    Maker { rng, case: &mut case, lanes: 0, total: 0, last: None }.fill(opcode)
}

/// A legal word, what runs around it, and the values of R0 to R7.
#[derive(Clone)]
pub struct Case {
    pub generation: Generation,
    pub engine: EngineId,
    /// Words of the same engine that make the hidden state which the word needs, or nothing of interest.
    pub before: Vec<Word>,
    pub word: Word,
    /// Words behind it, where branches may go.
    pub after: Vec<Word>,
    pub registers: [u32; REGISTERS],
    /// Words after which a turn ends.
    pub limit: u64,
}

impl Case {
    fn new(generation: Generation, engine: EngineId, opcode: u8) -> Case {
        Case {
            generation,
            engine,
            before: Vec::new(),
            word: Word::new(opcode),
            after: Vec::new(),
            registers: [0; REGISTERS],
            limit: 256,
        }
    }

    /// The whole stream.
    pub fn words(&self) -> impl Iterator<Item = Word> + '_ {
        self.before.iter().chain([&self.word]).chain(&self.after).copied()
    }

    /// Who runs the words: cores and engines. Words that meet other engines or cores do so where those run the same.
    pub fn crew(&self) -> Vec<(usize, EngineId)> {
        match self.word.opcode() {
            op::PSEUDO_SYNC_BARRIER | op::PSEUDO_FUNCTION_CALL | op::PSEUDO_FUNCTION_RETURN => {
                EngineId::ALL.map(|engine| (0, engine)).into()
            }
            opcode => (0..cores(opcode)).map(|core| (core, self.engine)).collect(),
        }
    }

    /// No word breaks a rule that would keep it from running.
    pub fn is_legal(&self) -> bool {
        let context = CheckContext::new(self.generation, self.engine).lenient();
        let fine = |word: Word| {
            let Ok(decoded) = decode(&word, self.generation) else { return false };
            check(&decoded, &context).iter().all(|f| f.severity == Severity::Warning)
        };
        self.words().all(fine)
    }
}

/// How many cores run the words of an opcode.
pub fn cores(opcode: u8) -> usize {
    let info = opcode_info(opcode).expect("a row of the table");
    let pair =
        info.family == Family::Collective || matches!(opcode, op::PSEUDO_CORE_BARRIER | op::EXTENDED_INST);
    if pair { 2 } else { 1 }
}

/// Draws words of one opcode until one is legal.
pub fn legal(rng: &mut impl RngCore, generation: Generation, opcode: u8) -> Case {
    let info = opcode_info(opcode).unwrap();
    for _ in 0..10_000 {
        let mut case = Case::new(generation, *info.engines.choose(rng).unwrap(), opcode);
        let made = Maker { rng, case: &mut case, lanes: 0, total: 0, last: None }.fill(opcode);
        assert!(made, "no generator for {}, which the opcode table says is translated", info.name);
        events(rng, &mut case);
        if case.is_legal() {
            return case;
        }
    }
    panic!("the generator of {} makes no legal word for {generation}", info.name);
}

/// The same word with other addresses and immediates, some of the addresses in registers.
pub fn variant(rng: &mut impl RngCore, of: &Case) -> Case {
    let mut case = of.clone();
    for _ in 0..8 {
        let mut moved = of.clone();
        shift(rng, &mut moved);
        if moved.is_legal() {
            case = moved;
            break;
        }
    }
    if rng.random_bool(0.5) {
        case.before.insert(0, Word::new(op::NOP));
    }
    if rng.random_bool(0.1) {
        case.limit = rng.random_range(1..4);
    }
    to_registers(rng, &mut case);
    case
}

/// Moves operands by some elements, and draws other immediates.
fn shift(rng: &mut impl RngCore, case: &mut Case) {
    let decoded = decode(&case.word, case.generation).unwrap();
    for field in decoded.operands.layout().def().fields {
        let bytes = &mut case.word.0[field.offset..field.offset + field.size];
        let value = u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default());
        let value = match field.kind {
            Kind::Tensor(_) | Kind::Ptr => value.wrapping_add_signed(8 * rng.random_range(-16..=16)),
            Kind::Imm if rng.random_bool(0.5) => value.wrapping_add_signed(8 * rng.random_range(-16..=16)),
            Kind::Imm | Kind::Float => number(rng),
            _ => continue,
        };
        bytes[..4].copy_from_slice(&value.to_le_bytes());
    }
}

/// Gives some words a wait and an update; most waits hold.
fn events(rng: &mut impl RngCore, case: &mut Case) {
    let decoded = decode(&case.word, case.generation).unwrap();
    if !decoded.operands.layout().def().events || rng.random_bool(0.7) {
        return;
    }
    let mut pick = |members: &[(u8, &str)]| members.choose(rng).unwrap().0;
    let (wait, update) = (pick(WaitMode::TABLE.members), pick(UpdateMode::TABLE.members));
    let events = Events {
        wait_mode: WaitMode(if rng.random_bool(0.5) { 0 } else { wait }),
        wait_idx: rng.random_range(0..4),
        update_mode: UpdateMode(update),
        update_idx: rng.random_range(0..4),
        value: rng.random_range(0..4),
    };
    events.write(&mut case.word.0[4..12]);
}

/// Moves some addresses of a legal word to registers.
fn to_registers(rng: &mut impl RngCore, case: &mut Case) {
    let mut used = 0;
    let mut place = |rng: &mut dyn RngCore, address: u32| {
        let moves = used < REGISTERS && rng.random_bool(0.15);
        moves.then(|| {
            case.registers[used] = address;
            used += 1;
            (used - 1) as u8
        })
    };
    let decoded = decode(&case.word, case.generation).unwrap();
    let tensors = decoded.operands.layout().def().fields.iter().filter(|f| matches!(f.kind, Kind::Tensor(_)));
    for at in tensors.map(|f| f.offset) {
        let start = u32::from_le_bytes(case.word.0[at..at + 4].try_into().unwrap());
        if let Some(register) = place(rng, start) {
            case.word.0[at..at + 4].copy_from_slice(&Addr4::register(register).0.to_le_bytes());
        }
    }
    if let Some(scalars) = S3D3_TS::of(&decoded.operands) {
        let mut moved = S3D3_TS::read(&case.word);
        if scalars.imm0_src == ImmSrc::PTR
            && let Some(register) = place(rng, scalars.imm0.0)
        {
            (moved.imm0_src, moved.imm0) = (ImmSrc::REG_PTR, Imm(register.into()));
        }
        if scalars.imm1_src == ImmSrc::PTR
            && let Some(register) = place(rng, scalars.imm1.0)
        {
            (moved.imm1_src, moved.imm1) = (ImmSrc::REG_PTR, Imm(register.into()));
        }
        moved.write(&mut case.word);
    }
    if let Some(scalars) = S3D3_AC::of(&decoded.operands) {
        let mut moved = S3D3_AC::read(&case.word);
        if scalars.scale_src == ImmSrc::PTR
            && let Some(register) = place(rng, scalars.scale_value.0)
        {
            (moved.scale_src, moved.scale_value) = (ImmSrc::REG_PTR, Imm(register.into()));
        }
        if scalars.bias_src_n == ImmSrcN::PTR
            && let Some(register) = place(rng, scalars.bias.0)
        {
            (moved.bias_src_n, moved.bias) = (ImmSrcN::REG_PTR, Imm(register.into()));
        }
        moved.write(&mut case.word);
    }
}

pub struct Maker<'a, R> {
    pub rng: &'a mut R,
    pub case: &'a mut Case,
    pub lanes: u8,
    pub total: u16,
    /// The operand made before this one: address, steps, counts.
    last: Option<(u32, [i16; 4], [u16; 4], usize)>,
}

impl<R: RngCore> Maker<'_, R> {
    /// Makes a word, which need not be legal; `false`: there is no generator for the opcode.
    fn fill(&mut self, opcode: u8) -> bool {
        self.lanes = *[1, 2, 31, 32, 33, 64, 128].choose(self.rng).unwrap();
        self.total =
            *[1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 24, 31, 36, 48, 60, 64, 72, 100, 130, 192, 600]
                .choose(self.rng)
                .unwrap();
        match opcode {
            op::TENSOR_TENSOR_ARITH_OP => self.tensor_tensor(),
            op::TENSOR_SCALAR_ARITH_OP => self.tensor_scalar(),
            op::COPY | op::CAST | op::RECIPROCAL => self.copy(opcode),
            op::MEMSET => self.memset(),
            op::ACTIVATE => self.activate(),
            op::ACTIVATE_QUANTIZE => self.activate_quantize(),
            op::ACTIVATE2 => self.activate2(),
            op::ACTIVATION_TABLE_LOAD => self.table_load(),
            op::ACTIVATION_READ_ACCUMULATOR => self.read_accumulator(),
            op::TENSOR_SCALAR_PTR_ARITH_OP => self.tensor_scalar_pointers(),
            op::TENSOR_TENSOR_ADD_BF16 => self.tensor_tensor_bf16(AluOp::ADD),
            op::TENSOR_TENSOR_MULT_BF16 => self.tensor_tensor_bf16(AluOp::MULT),
            op::TENSOR_TENSOR_SUB_BF16 => self.tensor_tensor_bf16(AluOp::SUBTRACT),
            op::TENSOR_REDUCE_ARITH_OP
            | op::TENSOR_REDUCE_BITVEC_OP
            | op::TENSOR_REDUCE_ADD_BF16
            | op::TENSOR_REDUCE_MAX_BF16 => self.tensor_reduce(opcode),
            op::TENSOR_SCALAR_AFFINE_SELECT => self.affine_select(),
            op::LDWEIGHTS | op::MATMUL => self.pe(opcode),
            _ => {
                return self.control(opcode)
                    || self.array(opcode)
                    || self.data(opcode)
                    || self.transfers(opcode)
                    || self.elementwise(opcode)
                    || self.serial(opcode);
            }
        }
        true
    }

    pub fn dtype(&mut self) -> Dtype {
        let known: Vec<Dtype> = (1..=0x12).map(Dtype).filter(|d| d.exists_on(self.case.generation)).collect();
        // The usual ones often enough.
        match self.rng.random_range(0..4) {
            0 => Dtype::FP32,
            1 => Dtype::BFLOAT16,
            _ => *known.choose(self.rng).unwrap(),
        }
    }

    fn operator(&mut self, integer: bool) -> AluOp {
        let generation = self.case.generation;
        let ops = AluOp::TABLE.iter().map(|row| row.code);
        let ops: Vec<AluOp> = ops
            .filter(|op| op.exists_on(generation) && op.in_set(AluSet::IS, generation) == integer)
            .filter(|op| op.in_set(AluSet::GA, generation) || op.in_set(AluSet::AR, generation) || integer)
            .collect();
        *ops.choose(self.rng).unwrap()
    }

    /// Counts whose product is `total`, innermost first.
    pub fn counts<const N: usize>(&mut self) -> [u16; N] {
        let mut counts = [1; N];
        let mut left = self.total;
        for count in counts.iter_mut().take(N - 1) {
            let divisors: Vec<u16> = (1..=left).filter(|d| left.is_multiple_of(*d)).collect();
            *count = *divisors.choose(self.rng).unwrap();
            left /= *count;
        }
        counts[N - 1] = left;
        if self.rng.random_bool(0.3) {
            counts.reverse();
        }
        counts
    }

    fn tensor<const N: usize>(&mut self, dtype: Dtype) -> Tensor<N> {
        let size = dtype.bytes().max(1) as i64;
        if let Some((address, step, num, of)) = self.last
            && of == dtype.bytes()
            && self.rng.random_bool(0.3)
        {
            let near = self.rng.random_bool(0.3);
            let address = if near { address + 2 * of as u32 } else { address };
            return Tensor {
                start: Addr4(address),
                step: std::array::from_fn(|i| step[i]),
                num: std::array::from_fn(|i| num[i]),
            };
        }
        let num: [u16; N] = self.counts();
        let mut step = [1i16; N];
        let mut contiguous = 1;
        for (step, num) in step.iter_mut().zip(num) {
            *step = match self.rng.random_range(0..10) {
                0 => 0,
                1 => -(contiguous as i16),
                2 => self.rng.random_range(-9..10),
                _ => contiguous as i16,
            };
            contiguous *= num;
        }
        let reach = |positive: bool| -> i64 {
            let ends = step.iter().zip(num).map(|(s, n)| i64::from(*s) * (i64::from(n) - 1) * size);
            ends.filter(|end| (*end > 0) == positive).sum()
        };
        let (low, high) = (-reach(false), (i64::from(WINDOW) - size - reach(true)).max(0));
        let offset = if low < high { self.rng.random_range(low..=high) } else { low } / size * size;
        let geometry = self.case.generation.geometry();
        let psum = self.rng.random_bool(0.2);
        let first = *[0u32, 0, 0, 32, 64, 96].choose(self.rng).unwrap();
        let (base, pitch) = if psum { (geometry.psum_base, PSUM_PITCH) } else { (0, geometry.sbuf_pitch) };
        let address = base + first * pitch + offset as u32;
        let mut wide = ([0; 4], [1; 4]);
        wide.0[..N].copy_from_slice(&step);
        wide.1[..N].copy_from_slice(&num);
        self.last = Some((address, wide.0, wide.1, dtype.bytes()));
        Tensor { start: Addr4(address), step, num }
    }

    pub fn scalar(&mut self) -> (ImmSrc, Imm) {
        let first = *[0u32, 32, 64].choose(self.rng).unwrap();
        let address =
            first * self.case.generation.geometry().sbuf_pitch + 4 * self.rng.random_range(0..WINDOW / 4);
        match self.rng.random_range(0..2) {
            0 => (ImmSrc::PTR, Imm(address)),
            _ => (ImmSrc::INSTRUCTION, Imm(number(self.rng))),
        }
    }

    fn tensor_tensor(&mut self) {
        let integer = self.rng.random_bool(0.4);
        let pick = |m: &mut Self| if integer { *INTEGERS.choose(m.rng).unwrap() } else { m.dtype() };
        let (a, b, to) = (pick(self), pick(self), pick(self));
        let int_op = integer && self.rng.random_bool(0.7);
        let operands = S3S3D3_TT {
            in0_in1_dtype: DtypePair::new(a, b),
            out_dtype: to,
            op: self.operator(int_op),
            num_active_channels: self.lanes,
            src0: self.tensor(a),
            src1: self.tensor(b),
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    pub fn tensor_scalar(&mut self) {
        let (from, to) = (self.dtype(), self.dtype());
        let ((imm0_src, imm0), (imm1_src, imm1)) = (self.scalar(), self.scalar());
        let mut operands = S3D3_TS::read(&self.case.word);
        operands = S3D3_TS {
            src: self.tensor(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            imm0_src,
            op0: self.operator(false),
            op1: if self.rng.random_bool(0.3) { AluOp::BYPASS } else { self.operator(false) },
            reverse_operands: ReverseOps(self.rng.random_range(0..4)),
            imm1_src,
            imm0,
            imm1,
            dst: self.tensor(to),
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    fn copy(&mut self, opcode: u8) {
        let from = self.dtype();
        let to = if opcode == op::COPY || self.rng.random_bool(0.2) { from } else { self.dtype() };
        let mut operands = S4D4_TR::read(&self.case.word);
        operands = S4D4_TR {
            src: self.tensor(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            dst: self.tensor(to),
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    fn memset(&mut self) {
        let dtype = self.dtype();
        let mut operands = D4_MR::read(&self.case.word);
        operands = D4_MR {
            dst_element_count: self.total.into(),
            dtype,
            num_active_channels: self.lanes,
            set_value: Imm(number(self.rng)),
            dst: self.tensor(dtype),
            ..operands
        };
        operands.write(&mut self.case.word);
    }
}

const INTEGERS: [Dtype; 8] = [
    Dtype::INT8,
    Dtype::UINT8,
    Dtype::INT16,
    Dtype::UINT16,
    Dtype::INT32,
    Dtype::UINT32,
    Dtype::INT64,
    Dtype::UINT64,
];

/// Bits of an FP32 number: one third ordinary, one third special, one third random bits.
pub fn number(rng: &mut impl RngCore) -> u32 {
    const SPECIAL: [u32; 24] = [
        0x0000_0000,
        0x8000_0000,
        0x0000_0001,
        0x8000_0001,
        0x007F_FFFF,
        0x0080_0000,
        0x0080_0001,
        0x807F_FFFF,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0xFFC0_1234,
        0x7F80_0001,
        0xFFFF_FFFF,
        0x7F7F_FFFF,
        0x3F80_8000,
        0x3F81_8000,
        0x4B00_0001,
        0x4EFF_FFFF,
        0x4F00_0000,
        0xCF00_0000,
        0x4F80_0000,
        0x3F00_0000,
        0x477F_F000,
    ];
    match rng.random_range(0..3) {
        0 => rng.random_range(-300.0f32..300.0).to_bits(),
        1 => *SPECIAL.choose(rng).unwrap(),
        _ => rng.next_u32(),
    }
}
