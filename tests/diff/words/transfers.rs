//! Random words that start transfers, meet other engines or cores, or belong to a container.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{
    Addr4, Addr8, Bits, BoundReg, DataSrc, DgeComputeOp, DgeOpcode, DmaIndirectFlags, DtypePair, Field,
    LncSize, Name, Regs, UpdateMode, WaitMode,
};
use seqjit::runtime::isa::layouts::{
    CTRL_TEST_ES, DMA_COPY2D, DMA_DIRECT2D, DMA_DIRECT2D_XPOSE, DMA_GATHER_XPOSE, DMA_INDIRECT1D, MEM_2D,
    PSEUDO_CORE_BARRIER, PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER, PSEUDO_FUNCTION_BEGIN,
    PSEUDO_FUNCTION_CALL, PSEUDO_INST, PSEUDO_TRIGGER_COLLECTIVE, S3D3_COLLECTIVE,
};
use seqjit::runtime::isa::{AluOp, Dtype, Events, Layout, Word, op};
use seqjit::runtime::machine::HBM_BASE;
use seqjit::runtime::machine::soc::SBUF_BASE;

use super::{Maker, WINDOW};
use crate::pair::{BUFFER, QUEUE, QUEUE_BLOCKS};

/// Where lists of indices lie, in every partition.
const INDICES: u32 = 512;
/// Indices of a list.
const LISTED: u16 = 16;

impl<R: RngCore> Maker<'_, R> {
    /// `false`: there is no generator for the opcode.
    pub fn transfers(&mut self, opcode: u8) -> bool {
        match opcode {
            op::DMAMEMCPY => self.direct().write(&mut self.case.word),
            op::PSEUDO_DMA_DIRECT2D => self.pseudo_direct(),
            op::DMA_MEMCPY2 => self.copy2d(),
            op::DMA_INDIRECT => self.indirect(),
            op::DMA_TRANSPOSE => self.transpose(),
            op::DMA_GATHER_TRANSPOSE => self.gather_transpose(),
            op::PSEUDO_DMATRIGGER => self.trigger(),
            op::SB2SB_COLLECTIVE => self.sb2sb(),
            op::PSEUDO_TRIGGER_COLLECTIVE => self.collective(),
            op::TEST_EVENT_SEM => self.test_event(),
            op::PSEUDO_FUNCTION_BEGIN => self.case.word = begin(),
            op::PSEUDO_FUNCTION_CALL | op::PSEUDO_FUNCTION_RETURN => self.function(opcode),
            op::PSEUDO_CORE_BARRIER => {
                let id = self.rng.random_range(0..3);
                PSEUDO_CORE_BARRIER { id, semaphore: 0 }.write(&mut self.case.word);
            }
            op::PSEUDO_INST => self.case.word = exit(),
            op::PSEUDO_SYNC_BARRIER
            | op::PSEUDO_DMABARRIER
            | op::PSEUDO_EXTENSION
            | op::PSEUDO_BRANCH_PREFETCH_HINT
            | op::PSEUDO_TENSOR_COMPLETION => {}
            _ => return false,
        }
        if self.case.after.is_empty() {
            // Something that shows whether it comes to run.
            self.case.after = vec![Word::new(op::NOP)];
        }
        true
    }

    /// An address and the steps of two outer dimensions of at most eight runs of so many bytes.
    fn end(&mut self, run: u16) -> (Addr8, [i32; 2]) {
        let pitch = self.case.generation.geometry().sbuf_pitch;
        let run = u32::from(run);
        let offset = self.rng.random_range(0..WINDOW / 2) / 32 * 32;
        match self.rng.random_range(0..8) {
            0..4 => (Addr8(HBM_BASE + u64::from(offset % 1024)), [run as i32, 8 * run as i32]),
            4 => {
                let address = HBM_BASE + u64::from(offset % 1024);
                (self.case.registers[6], self.case.registers[7]) = (address as u32, (address >> 32) as u32);
                (Addr8::registers(6, 7), [run as i32, 8 * run as i32])
            }
            5 => (Addr8::variable(1, offset % 1024), [run as i32, 8 * run as i32]),
            _ => {
                let partition = self.rng.random_range(0..4);
                let address = SBUF_BASE + u64::from(partition * pitch + offset);
                (Addr8(address), [self.rng.random_range(-1..8) * 32, pitch as i32])
            }
        }
    }

    fn counts2(&mut self) -> [u16; 2] {
        [self.rng.random_range(1..=4), self.rng.random_range(1..=3)]
    }

    fn bound(&mut self) -> BoundReg {
        let register = self.rng.random_range(0..8);
        BoundReg(if self.rng.random_bool(0.2) {
            0x80 | register | self.rng.random_range(0..2) << 6
        } else {
            0
        })
    }

    fn done(&mut self) -> (u8, u8) {
        (self.rng.random_range(0..6), self.rng.random_range(0..3) * 8)
    }

    fn direct(&mut self) -> DMA_DIRECT2D {
        let in_dtype = self.dtype();
        let compute = self.rng.random_bool(0.3);
        let out_dtype = if self.rng.random() { in_dtype } else { self.dtype() };
        let elements = self.rng.random_range(1..=8u16);
        let num = self.counts2();
        let [from, to] = [in_dtype, out_dtype].map(|d| elements * d.bytes().max(1) as u16);
        let ((src_start_addr, src_step_elem), (dst_start_addr, dst_step_elem)) =
            (self.end(from), self.end(to));
        let (semaphore, sem_increment) = self.done();
        DMA_DIRECT2D {
            dma_configs: self.rng.random_range(0..5),
            semaphore,
            sem_increment,
            compute_op: DgeComputeOp(if compute { self.rng.random_range(1..5) } else { 0 }),
            src_start_addr,
            src_step_elem,
            src_num_elem: num,
            src_elem_size: from,
            src_bound_reg: self.bound(),
            dst_bound_reg: self.bound(),
            dst_start_addr,
            dst_step_elem,
            dst_num_elem: if self.rng.random() { num } else { [num[1], num[0]] },
            dst_elem_size: to,
            in_dtype,
            out_dtype,
        }
    }

    /// The container's form differs in one byte only.
    fn pseudo_direct(&mut self) {
        let direct = DMA_DIRECT2D { compute_op: DgeComputeOp::NONE, ..self.direct() };
        direct.write(&mut self.case.word);
        let pseudo = PSEUDO_DMA_DIRECT2D::read(&self.case.word);
        PSEUDO_DMA_DIRECT2D { dge_op: DgeOpcode::DIRECT2D, ..pseudo }.write(&mut self.case.word);
    }

    fn copy2d(&mut self) {
        let run = 4 * self.rng.random_range(1..16);
        let num = self.counts2();
        let ((src, src_step_elem), (dst, dst_step_elem)) = (self.end(run), self.end(run));
        // Registers by number, in the word's own way.
        let plain = |address: Addr8| if address.0 >> 56 == 0x80 { (Addr8(6), 1) } else { (address, 0) };
        let ((src_start_addr, src_mode), (dst_start_addr, dst_mode)) = (plain(src), plain(dst));
        let operands = DMA_COPY2D {
            wait_sema_mode: WaitMode(if self.rng.random() { 0 } else { WaitMode::SEM_GE_IMM.0 }),
            wait_sema_idx: self.rng.random_range(0..4),
            wait_sema_value: self.rng.random_range(0..4),
            addr_mode: Bits(src_mode | dst_mode << 4),
            sema_update_mode: Bits(self.rng.random_range(0..2) | self.rng.random_range(0..2) << 4),
            rd_done_sema_update_idx: self.rng.random_range(0..6),
            src_start_addr,
            src_step_elem,
            src_num_elem: num,
            src_elem_size: run,
            wr_done_sema_update_idx: self.rng.random_range(0..6),
            dst_start_addr,
            dst_step_elem,
            dst_num_elem: [num[1], num[0]],
            dst_elem_size: run,
            ..DMA_COPY2D::read(&self.case.word)
        };
        operands.write(&mut self.case.word);
    }

    /// A list of small indices in partition 0, stored by the words before.
    fn list(&mut self) -> Addr4 {
        let at = INDICES + 128 * self.rng.random_range(0..4);
        for half in 0..LISTED / 8 {
            let mut data = [0; 32];
            data.chunks_exact_mut(4).for_each(|index| index[0] = self.rng.random_range(0..20));
            let store = MEM_2D {
                dtype: Dtype::UINT32,
                src_datasrc: DataSrc::IMMEDIATE,
                num_elem: [8, 1],
                start_addr: Addr8(SBUF_BASE + u64::from(at + 32 * u32::from(half))),
                step_elem: [1, 0],
                data,
            };
            let mut word = Word::new(op::TENSOR_STORE);
            store.write(&mut word);
            self.case.before.push(word);
        }
        Addr4(at)
    }

    fn indirect(&mut self) {
        let mode = self.rng.random_range(0..3u8);
        let (gather, scatter) = (mode != 1, mode != 0);
        let flags = mode | self.rng.random_range(0..4) << 2;
        let n = self.rng.random_range(1..=LISTED);
        let run = 4 * self.rng.random_range(1..8);
        let ((src_start_addr, [src_step_elem, _]), (dst_start_addr, [dst_step_elem, _])) =
            (self.end(run), self.end(run));
        let (semaphore, sem_increment) = self.done();
        let src_idx_start_addr = if gather { self.list() } else { Addr4(0) };
        let dst_idx_start_addr = if scatter { self.list() } else { Addr4(0) };
        let operands = DMA_INDIRECT1D {
            semaphore,
            sem_increment,
            idx_num_active_channels: if self.rng.random_bool(0.8) { 1 } else { self.lanes },
            flags: DmaIndirectFlags(flags),
            src_start_addr,
            src_step_elem,
            src_num_elem: n,
            src_elem_size: run,
            dst_start_addr,
            dst_step_elem,
            dst_num_elem: n,
            dst_elem_size: run,
            src_idx_start_addr,
            dst_idx_start_addr,
            in_dtype: Dtype::UINT32,
            out_dtype: Dtype::UINT32,
            src_idx_bound_reg: self.bound(),
            dst_idx_bound_reg: self.bound(),
            compute_op: DgeComputeOp(0),
            dma_configs: 0,
        };
        operands.write(&mut self.case.word);
    }

    fn transpose(&mut self) {
        let dtype = *[Dtype::UINT16, Dtype::BFLOAT16, Dtype::FP32, Dtype::INT32].choose(self.rng).unwrap();
        let size = dtype.bytes() as u16;
        let columns = self.rng.random_range(1..=6u8);
        let num = [self.rng.random_range(1..=2), 1];
        let (src_start_addr, _) = self.end(size);
        let (dst_start_addr, _) = self.end(16 * size);
        let operands = DMA_DIRECT2D_XPOSE {
            src_bound_reg: self.bound(),
            dst_bound_reg: self.bound(),
            in_dtype: dtype,
            out_dtype: dtype,
            src_start_addr,
            src_step_elem: [16 * i32::from(columns) * i32::from(size), 0],
            src_num_elem: num,
            tile_src_row_step: i32::from(columns) * i32::from(size),
            dst_start_addr,
            dst_step_elem: [64, 0],
            dst_num_elem: [num[0] * u16::from(columns), 1],
            tile_src_rows: 16,
            tile_src_cols: columns,
            semaphore: self.done().0,
            dma_configs: 0,
        };
        operands.write(&mut self.case.word);
    }

    fn gather_transpose(&mut self) {
        let elements = self.rng.random_range(1..=8u16);
        let parts = self.rng.random_range(1..=2u16);
        let (src_start_addr, _) = self.end(2 * elements);
        let (dst_start_addr, _) = self.end(32);
        let src_idx_start_addr = self.list();
        let operands = DMA_GATHER_XPOSE {
            semaphore: self.done().0,
            dma_configs: 0,
            idx_num_active_channels: 1,
            src_idx_bound_reg: self.bound(),
            src_start_addr,
            src_step_elem: [2 * i32::from(elements), 4 * i32::from(elements)],
            src_num_elem: [parts, LISTED],
            src_idx_start_addr,
            dst_start_addr,
            dst_bound_reg: self.bound(),
            dst_step_elem_1: 32 * self.rng.random_range(1..3),
            dst_num_elem: [LISTED, parts * elements],
            elem_size: 2 * elements,
            dtype: DtypePair::new(Dtype::BFLOAT16, Dtype::BFLOAT16),
            flags: 1 | self.rng.random_range(0..2) << 2,
        };
        operands.write(&mut self.case.word);
    }

    fn trigger(&mut self) {
        let by_count = self.rng.random_bool(0.3);
        let operands = PSEUDO_DMA_TRIGGER {
            dma_queue_name: name(QUEUE),
            use_raw_count: u32::from(by_count),
            block_id_or_count: self.rng.random_range(0..=QUEUE_BLOCKS),
        };
        operands.write(&mut self.case.word);
    }

    fn sb2sb(&mut self) {
        self.total = self.total.min(256);
        let dtype = self.dtype();
        let operands = S3D3_COLLECTIVE {
            in_dtype: dtype,
            out_dtype: dtype,
            src: self.tensor(dtype),
            lnc_size_fmt: *[LncSize::LNC1, LncSize::LNC2].choose(self.rng).unwrap(),
            num_active_channels: self.lanes,
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn collective(&mut self) {
        let dtype = *[Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16, Dtype::INT32].choose(self.rng).unwrap();
        let offset = |m: &mut Self| m.rng.random_range(0..BUFFER as u64 / 16);
        let operands = PSEUDO_TRIGGER_COLLECTIVE {
            op: *[AluOp::ADD, AluOp::MULT, AluOp::MAX, AluOp::MIN].choose(self.rng).unwrap(),
            dtype,
            // The group of both cores, or none.
            group_id: self.rng.random_range(0..2),
            input_tensor_id: 1,
            output_tensor_id: 1,
            num_elements: self.rng.random_range(1..64),
            ctype: *[0, 1, 4, 7].choose(self.rng).unwrap(),
            src_offset_elems: offset(self),
            dst_offset_elems: offset(self),
        };
        operands.write(&mut self.case.word);
        let events = Events {
            update_mode: UpdateMode::SEM_INC_COMPLETE,
            update_idx: self.rng.random_range(0..6),
            ..Events::default()
        };
        events.write(&mut self.case.word.0[4..12]);
    }

    fn test_event(&mut self) {
        let mode = self.rng.random_range(0..5);
        let num_evt_sem = self.rng.random_range(1..=6);
        let first = self.rng.random_range(0..4);
        let mut evt_sem_ids = [0; 16];
        (0..num_evt_sem).for_each(|k| evt_sem_ids[usize::from(k)] = first + k);
        let operands = CTRL_TEST_ES {
            mode,
            update_type: UpdateMode(UpdateMode::TABLE.members.choose(self.rng).unwrap().0),
            repeat_count: self.rng.random_range(0..4),
            num_evt_sem,
            evt_sem_ids,
            value_registers: Regs(std::array::from_fn(|_| self.rng.random_range(0..8))),
            threshold: self.rng.random_range(0..8),
            setter_signature: 0,
        };
        operands.write(&mut self.case.word);
    }

    /// A call of a function that stands behind the end of the program; its return is the word under test, or the call.
    fn function(&mut self, opcode: u8) {
        let call = PSEUDO_FUNCTION_CALL { function_name: name(FUNCTION), args_table_var_id: 1 };
        let body = || vec![Word::new(op::NOP), exit(), begin(), Word::new(op::NOP)];
        if opcode == op::PSEUDO_FUNCTION_CALL {
            call.write(&mut self.case.word);
            self.case.after = body();
            self.case.after.push(Word::new(op::PSEUDO_FUNCTION_RETURN));
            return;
        }
        let mut word = Word::new(op::PSEUDO_FUNCTION_CALL);
        call.write(&mut word);
        self.case.before = vec![word];
        self.case.before.append(&mut body());
    }
}

const FUNCTION: &str = "f";

fn name<const N: usize>(text: &str) -> Name<N> {
    Name(std::array::from_fn(|i| text.as_bytes().get(i).copied().unwrap_or(0)))
}

fn begin() -> Word {
    let mut word = Word::new(op::PSEUDO_FUNCTION_BEGIN);
    let operands = PSEUDO_FUNCTION_BEGIN {
        function_name: name(FUNCTION),
        return_reset_semaphores: 1,
        return_addr_reg_lo: 10,
        return_addr_reg_hi: 11,
    };
    operands.write(&mut word);
    word
}

fn exit() -> Word {
    let mut word = Word::new(op::PSEUDO_INST);
    PSEUDO_INST { pseudo_opcode: 1 }.write(&mut word);
    word
}
