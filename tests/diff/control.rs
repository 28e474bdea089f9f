//! Random words of the sequencer (chapter 02 section 8).

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{Addr8, BranchCmp, BranchMode, DataSrc, Regs, UpdateMode, WaitMode};
use seqjit::runtime::isa::layouts::{
    CTRL_AL, CTRL_BR, CTRL_ER, CTRL_ES, CTRL_MS, CTRL_MV, CTRL_NO_A6, CTRL_OM, CTRL_POLL_SEM, CTRL_WR,
    MEM_2D, MODIFY_POOL_CONFIG, PSEUDO_MEM_2D,
};
use seqjit::runtime::isa::{AluOp, Dtype, EventsExt, Layout, WORD_BYTES, Word, op};
use seqjit::runtime::machine::HBM_BASE;
use seqjit::runtime::machine::soc::{PSUM_BASE, SBUF_BASE, SYNC_BASE};

use crate::pair::BUFFER;
use crate::words::{Maker, WINDOW, number};

/// Datatypes of registers.
const REGISTER_DTYPES: [Dtype; 3] = [Dtype::INT32, Dtype::UINT32, Dtype::FP32];
/// Datatypes of transfers.
const TRANSFER_DTYPES: [Dtype; 8] = [
    Dtype::INT8,
    Dtype::UINT8,
    Dtype::INT16,
    Dtype::UINT16,
    Dtype::INT32,
    Dtype::UINT32,
    Dtype::FP32,
    Dtype::UINT64,
];
/// Semaphore windows of the event and semaphore unit, four bytes a cell (chapter 02 section 4): events, then
/// semaphores to read, set, increment and decrement.
const SYNC_WINDOWS: [u64; 5] = [0, 0x1000, 0x1400, 0x1800, 0x1C00];

impl<R: RngCore> Maker<'_, R> {
    /// A word of the sequencer; `false` if the opcode is none, or has no generator.
    pub fn control(&mut self, opcode: u8) -> bool {
        self.registers();
        match opcode {
            op::NOP | op::ENGINE_NOP | op::DRAIN | op::BRANCH_PREFETCH_HINT | op::PSEUDO_BRANCH_LABEL => {}
            op::HALT | op::INSTRUCTION_FLUSH => {}
            op::EVENT_SEMAPHORE => self.event_semaphore(),
            op::WRITE => self.write(),
            op::NOTIFY => self.notify(),
            op::MOVE => self.move_registers(),
            op::ALU_OP => self.alu(),
            op::COMPARE_BRANCH => self.branch(),
            op::TENSOR_LOAD | op::TENSOR_STORE => self.transfer(opcode == op::TENSOR_STORE),
            op::PSEUDO_TENSOR_LOAD | op::PSEUDO_TENSOR_STORE => {
                self.pseudo_transfer(opcode == op::PSEUDO_TENSOR_STORE)
            }
            op::EVENT_SEMAPHORE_RANGE_CLEAR => self.range_clear(),
            op::SET_ORDERING_MODE => {
                CTRL_OM { mode: self.rng.random_range(0..2) }.write(&mut self.case.word);
                self.case.after = self.tail();
            }
            op::MOVE_SHAPE => self.move_shape(),
            op::POLL_SEM => self.poll(),
            op::MODIFY_POOL_CONFIG => {
                let operands = MODIFY_POOL_CONFIG {
                    modify_op: self.rng.random_range(1..3),
                    library_size: self.rng.random_range(0..=65536),
                    ..MODIFY_POOL_CONFIG::read(&self.case.word)
                };
                operands.write(&mut self.case.word);
            }
            _ => return false,
        }
        true
    }

    /// Numbers in the first registers.
    fn registers(&mut self) {
        for k in 0..self.case.registers.len() {
            self.case.registers[k] = match self.rng.random_range(0..3) {
                0 => self.rng.random_range(0..8),
                1 => self.rng.random_range(0..8u32).wrapping_neg(),
                _ => number(self.rng),
            };
        }
    }

    /// One of the first registers, which hold something; now and then another, or a special one.
    fn register(&mut self) -> u8 {
        match self.rng.random_range(0..20) {
            0 => self.rng.random_range(8..64),
            1 => self.rng.random_range(128..132),
            _ => self.rng.random_range(0..8),
        }
    }

    /// Some words that a branch may come to: each leaves a trace in a register.
    fn tail(&mut self) -> Vec<Word> {
        (0..3)
            .map(|k| {
                let mut word = Word::new(op::ALU_OP);
                let operands = CTRL_AL {
                    op: AluOp::ADD,
                    dtype: Dtype::UINT32,
                    src1_datasrc: DataSrc::IMMEDIATE,
                    src0_lo: 40 + k,
                    dst_lo: 40 + k,
                    immediate: 1 + u64::from(k),
                    ..CTRL_AL::read(&word)
                };
                operands.write(&mut word);
                word
            })
            .collect()
    }

    fn event_semaphore(&mut self) {
        let wait = WaitMode::TABLE.members.choose(self.rng).unwrap().0;
        let events_extended = EventsExt {
            wait_mode: WaitMode(if self.rng.random() { wait } else { 0 }),
            wait_idx: self.rng.random_range(0..4),
            update_mode: UpdateMode(UpdateMode::TABLE.members.choose(self.rng).unwrap().0),
            update_idx: self.rng.random_range(0..4),
            wait_value: self.rng.random_range(0..4),
            update_value: self.rng.random_range(0..4),
        };
        let operands = CTRL_ES { events_extended, ..CTRL_ES::read(&self.case.word) };
        operands.write(&mut self.case.word);
    }

    /// An address of memory or of a semaphore, aligned to so many bytes; seldom where nothing is.
    fn address(&mut self, bytes: u64, sync: bool) -> u64 {
        let pitch = u64::from(self.case.generation.geometry().sbuf_pitch);
        let offset = self.rng.random_range(0..u64::from(WINDOW)) / bytes * bytes;
        match self.rng.random_range(0..20) {
            0 => HBM_BASE + BUFFER as u64,
            1..8 => HBM_BASE + offset % (BUFFER as u64 - 256),
            8..12 => SBUF_BASE + pitch * self.rng.random_range(0..4) + offset,
            12..15 => PSUM_BASE + 0x8000 * self.rng.random_range(0..4) + offset,
            _ if sync => {
                SYNC_BASE + *SYNC_WINDOWS.choose(self.rng).unwrap() + 4 * self.rng.random_range(0..6)
            }
            _ => HBM_BASE + offset % 1024,
        }
    }

    fn write(&mut self) {
        let second = self.rng.random::<bool>();
        let operands = CTRL_WR {
            wr_size0: 4,
            wr_size1: if second { 4 } else { 0 },
            addr0: self.address(4, true),
            addr1: if second { self.address(4, true) } else { 0 },
            data0: self.rng.random_range(0..8),
            data1: if second { self.rng.next_u32().into() } else { 0 },
        };
        operands.write(&mut self.case.word);
    }

    fn notify(&mut self) {
        let operands = CTRL_NO_A6 { hint: self.rng.random(), kind: 1 };
        operands.write(&mut self.case.word);
    }

    fn move_registers(&mut self) {
        let moves = self.rng.random_range(1..=8);
        let immediate = self.rng.random::<bool>();
        let (mut from, mut to) = ([0; 8], [0; 8]);
        for k in 0..moves {
            from[k] = if immediate { 0 } else { self.register() };
            to[k] = self.register();
        }
        let operands = CTRL_MV {
            num_mov: moves as u8,
            dtype: *REGISTER_DTYPES.choose(self.rng).unwrap(),
            move_source: if immediate { DataSrc::IMMEDIATE } else { DataSrc::REGISTER },
            src_registers: Regs(from),
            dst_registers: Regs(to),
            immediate: std::array::from_fn(|_| if immediate { number(self.rng) } else { 0 }),
        };
        operands.write(&mut self.case.word);
    }

    fn alu(&mut self) {
        let dtypes = [
            Dtype::INT8,
            Dtype::UINT8,
            Dtype::INT16,
            Dtype::UINT16,
            Dtype::INT32,
            Dtype::UINT32,
            Dtype::FP32,
            Dtype::FP32,
            Dtype::INT64,
            Dtype::UINT64,
        ];
        let dtype = *dtypes.choose(self.rng).unwrap();
        let wide = dtype.is_64bit();
        let immediate = self.rng.random::<bool>();
        let value = match self.rng.random_range(0..3) {
            0 => self.rng.random_range(0..70),
            1 => number(self.rng).into(),
            _ => self.rng.next_u64(),
        };
        let mut high = |used: bool| if used { self.register() } else { 0 };
        let (src0_hi, src1_hi, dst_hi) = (high(wide), high(wide && !immediate), high(wide));
        let operands = CTRL_AL {
            op: AluOp::TABLE.choose(self.rng).unwrap().code,
            dtype,
            src1_datasrc: if immediate { DataSrc::IMMEDIATE } else { DataSrc::REGISTER },
            dst_dtype: if self.rng.random() { Dtype::INVALID } else { dtype },
            src0_lo: self.register(),
            src0_hi,
            src1_lo: if immediate { 0 } else { self.register() },
            src1_hi,
            dst_lo: self.register(),
            dst_hi,
            immediate: if !immediate {
                0
            } else if wide {
                value
            } else {
                value & 0xFFFF_FFFF
            },
        };
        operands.write(&mut self.case.word);
    }

    /// A branch to one of the words around it, also backwards: the turn's limit ends the loop.
    fn branch(&mut self) {
        self.case.before = if self.rng.random() { self.tail() } else { Vec::new() };
        self.case.after = self.tail();
        self.case.limit = self.rng.random_range(1..20);
        let here = self.case.before.len() as i64;
        let words = here + 1 + self.case.after.len() as i64;
        let target = self.rng.random_range(0..=words) * WORD_BYTES as i64;
        let distance = target - here * WORD_BYTES as i64;
        let mode = *[
            BranchMode::ABSOLUTE,
            BranchMode::RELATIVE,
            BranchMode::REGISTER,
            BranchMode::RELATIVE_REGISTER,
        ]
        .choose(self.rng)
        .unwrap();
        let relative = matches!(mode, BranchMode::RELATIVE | BranchMode::RELATIVE_REGISTER);
        let goal = if relative { distance } else { target };
        if matches!(mode, BranchMode::REGISTER | BranchMode::RELATIVE_REGISTER) {
            // R0 and R1 may be compared too.
            (self.case.registers[0], self.case.registers[1]) = (goal as u32, (goal >> 32) as u32);
        }
        let cmp_op = BranchCmp(BranchCmp::TABLE.members.choose(self.rng).unwrap().0);
        let operands = CTRL_BR {
            cmp_op,
            dtype: *REGISTER_DTYPES.choose(self.rng).unwrap(),
            target_mode: mode,
            cmp_immediate: if self.rng.random() { self.rng.random_range(0..4) } else { number(self.rng) },
            cmp_reg0: self.rng.random_range(0..8),
            cmp_reg1: self.rng.random_range(0..8),
            target_reg_lo: 0,
            target_reg_hi: 1,
            br_immediate: match mode {
                BranchMode::ABSOLUTE => goal as u64,
                BranchMode::RELATIVE => u64::from(goal as i32 as u32),
                _ => 0,
            },
        };
        operands.write(&mut self.case.word);
    }

    /// Counts, steps and data of a transfer between memory and registers.
    fn transfer_operands(&mut self, store: bool, dtypes: &[Dtype]) -> MEM_2D {
        let dtype = *dtypes.choose(self.rng).unwrap();
        let immediate = store && self.rng.random::<bool>();
        let most = if immediate { 32 / dtype.bytes() } else { 32 };
        let inner = self.rng.random_range(1..=4.min(most));
        let outer = self.rng.random_range(1..=4.min(most / inner));
        let mut data = [0; 32];
        for byte in &mut data {
            *byte = match (immediate, dtype) {
                (true, _) => self.rng.random(),
                (false, Dtype::UINT64) => 2 * self.rng.random_range(0..32),
                _ => self.register(),
            };
        }
        MEM_2D {
            dtype,
            src_datasrc: if immediate { DataSrc::IMMEDIATE } else { DataSrc::REGISTER },
            num_elem: [inner as u8, outer as u8],
            start_addr: Addr8(0),
            step_elem: [self.rng.random_range(-2..4), self.rng.random_range(0..9)],
            data,
        }
    }

    fn transfer(&mut self, store: bool) {
        let mut operands = self.transfer_operands(store, &TRANSFER_DTYPES);
        let size = operands.dtype.bytes() as u64;
        let address = self.address(size, size == 4);
        operands.start_addr = if self.rng.random_bool(0.2) {
            (self.case.registers[0], self.case.registers[1]) = (address as u32, (address >> 32) as u32);
            Addr8::registers(0, 1)
        } else if self.rng.random_bool(0.2) {
            Addr8::variable(1, (address % BUFFER as u64 / 2 / size * size) as u32)
        } else {
            Addr8(address)
        };
        operands.write(&mut self.case.word);
    }

    fn pseudo_transfer(&mut self, store: bool) {
        let o = self.transfer_operands(store, &TRANSFER_DTYPES[..7]);
        let operands = PSEUDO_MEM_2D {
            dtype: o.dtype,
            src_datasrc: o.src_datasrc,
            num_elem: o.num_elem,
            var_id: self.rng.random_range(0..2),
            var_offset: self.rng.random_range(32..256) * 8,
            step_elem: o.step_elem,
            data: o.data,
        };
        operands.write(&mut self.case.word);
    }

    fn range_clear(&mut self) {
        let first = self.rng.random_range(0..8);
        let operands = CTRL_ER { mode: 1, first, last: first + self.rng.random_range(0..4) };
        operands.write(&mut self.case.word);
    }

    fn move_shape(&mut self) {
        let move_type = self.rng.random_range(0..3);
        let data = std::array::from_fn(|_| if move_type == 0 { self.rng.random() } else { self.register() });
        let operands = CTRL_MS {
            move_type,
            num_move: self.rng.random_range(1..=4),
            shape_reg_type: 0,
            shape_registers: std::array::from_fn(|_| self.rng.random_range(0..4)),
            data,
        };
        operands.write(&mut self.case.word);
        // What went into a shape register comes out again.
        let mut out = Word::new(op::MOVE_SHAPE);
        let back = CTRL_MS { move_type: 2, data: std::array::from_fn(|k| k as u8 % 16), ..operands };
        back.write(&mut out);
        self.case.after = vec![out];
    }

    fn poll(&mut self) {
        const FOLDS: [AluOp; 6] =
            [AluOp::ADD, AluOp::MAX, AluOp::MIN, AluOp::BITWISE_AND, AluOp::BITWISE_OR, AluOp::BITWISE_XOR];
        let operands = CTRL_POLL_SEM {
            n_read: self.rng.random_range(1..=16),
            result: self.register(),
            op: *FOLDS.choose(self.rng).unwrap(),
            addr: self.address(4, true),
            res_writeback_addr: self.address(4, true),
        };
        operands.write(&mut self.case.word);
    }
}
