//! Random words that the interpreter's functions run in every tier: searching, sorting, gathering, random numbers,
//! extended instructions.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{Addr4, Bits, DtypePair, F32, Imm, ImmSrc};
use seqjit::runtime::isa::layouts::{
    CTRL_IM, D3_RAND, D4_MR, D4_RAND, EXTENDED, EXTENDED_RDMA_DESC_GEN, EXTENDED_RDMA_DESC_START,
    EXTENDED_TTA, PSEUDO_SET_RNG_SEED, S1_RAND, S1D2_SORT, S2_BN, S3D3_DROPOUT, S3D3_NONZERO_WITH_COUNT,
    S3D3_SEQ_BOUNDS, S4_PB, S4D2_BN, S4D4_GT, S4D4_IC, S4D4_MR,
};
use seqjit::runtime::isa::{AluOp, Dtype, Indirect20, Layout, PARTITIONS, Tensor, Word, op};
use seqjit::runtime::machine::random::{BANKS, Bank};

use super::{Maker, WINDOW, number};

/// Keys of a search.
const KEYS: u16 = 8;

impl<R: RngCore> Maker<'_, R> {
    /// `false`: there is no generator for the opcode.
    pub fn data(&mut self, opcode: u8) -> bool {
        match opcode {
            op::MATCH_VALUE_LOAD => {
                let dtype = self.dtype();
                let lanes = self.lanes;
                self.keys(dtype, lanes).write(&mut self.case.word);
            }
            op::MAX8 | op::FIND_INDEX8 => self.search(opcode),
            op::MATCH_REPLACE8 => self.replace(),
            op::DVE_READ_INDICES => self.read_indices(),
            op::SORT => self.sort(),
            op::NONZERO_WITH_COUNT => self.nonzero(),
            op::GET_SEQUENCE_BOUNDS => self.sequence_bounds(),
            op::POOL_BUFFER_LOAD => {
                let dtype = self.dtype();
                self.buffer_load(dtype).write(&mut self.case.word);
            }
            op::GATHER => self.gather(),
            op::LOAD_POOL_ARGUMENT => self.pool_argument(),
            op::INDIRECT_COPY => self.indirect_copy(),
            op::RNG => self.draw(),
            op::RAND_SET_STATE | op::RAND_GET_STATE => return self.generator_state(opcode),
            op::DROPOUT => self.dropout(),
            op::PSEUDO_SET_RNG_SEED => {
                let (seed_src, seed) = self.scalar();
                PSEUDO_SET_RNG_SEED { seed_src, seed }.write(&mut self.case.word);
            }
            op::RAND2 => self.uniform(),
            op::EXTENDED_INST => self.extended(),
            _ => return false,
        }
        true
    }

    /// A contiguous tensor in SBUF.
    fn packed<const N: usize>(&mut self, dtype: Dtype, num: [u16; N]) -> Tensor<N> {
        let size = dtype.bytes().max(1) as u32;
        let bytes = size * num.iter().map(|n| u32::from(*n)).product::<u32>();
        let offset = self.rng.random_range(0..=WINDOW.saturating_sub(bytes)) / size * size;
        let first = *[0u32, 0, 0, 32, 64, 96].choose(self.rng).unwrap();
        let mut step = [1i16; N];
        for d in 1..N {
            step[d] = step[d - 1].wrapping_mul(num[d - 1] as i16);
        }
        Tensor { start: Addr4(first * self.case.generation.geometry().sbuf_pitch + offset), step, num }
    }

    fn one_of(&mut self, dtypes: &[Dtype]) -> Dtype {
        *dtypes.choose(self.rng).unwrap()
    }

    fn keys(&mut self, dtype: Dtype, lanes: u8) -> S2_BN {
        let total = std::mem::replace(&mut self.total, KEYS);
        let src = self.fresh(dtype);
        self.total = total;
        S2_BN {
            src,
            imm1: Imm(0),
            dtype,
            num_active_channels: lanes,
            imm0_ptr: Imm(0),
            imm0_src: ImmSrc::INSTRUCTION,
        }
    }

    /// Keys for all lanes before the word, often out of what it searches.
    fn load_keys(&mut self, dtype: Dtype, searched: Addr4) {
        let mut operands = self.keys(dtype, PARTITIONS as u8);
        let pitch = self.case.generation.geometry().sbuf_pitch;
        operands.src =
            Tensor { start: Addr4(searched.0 % pitch % (WINDOW / 2)), step: [1, 8], num: [KEYS, 1] };
        let mut word = Word::new(op::MATCH_VALUE_LOAD);
        operands.write(&mut word);
        self.case.before.push(word);
    }

    fn search(&mut self, opcode: u8) {
        self.total = self.total.max(KEYS);
        let dtype = self.dtype();
        let src = self.fresh(dtype);
        let out_dtype = match opcode {
            op::MAX8 => self.dtype(),
            _ => self.one_of(&[Dtype::UINT16, Dtype::UINT32]),
        };
        self.total = KEYS;
        let operands = S4D2_BN {
            src,
            in_dtype: dtype,
            out_dtype,
            num_active_channels: self.lanes,
            even_count: F32(0),
            odd_count: F32(0),
            dst: self.fresh(out_dtype),
        };
        operands.write(&mut self.case.word);
        self.load_keys(dtype, src.start);
    }

    fn replace(&mut self) {
        let (from, to) = (self.dtype(), self.dtype());
        let src = self.tensor(from);
        let operands = S4D4_MR {
            src,
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            immediate: F32(number(self.rng)),
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
        self.load_keys(from, src.start);
    }

    fn read_indices(&mut self) {
        // Behind a search, whose findings it reads.
        self.search(op::FIND_INDEX8);
        let mut search = Word::new(op::FIND_INDEX8);
        search.0[12..].copy_from_slice(&self.case.word.0[12..]);
        self.case.before.push(search);
        self.case.word = Word::new(op::DVE_READ_INDICES);
        let dtype = self.one_of(&[Dtype::UINT16, Dtype::UINT32]);
        let operands = D4_MR {
            dst_element_count: KEYS.into(),
            dtype,
            num_active_channels: self.lanes,
            dst: self.fresh(dtype),
            ..D4_MR::read(&self.case.word)
        };
        operands.write(&mut self.case.word);
    }

    fn sort(&mut self) {
        let dtypes = [
            Dtype::INT16,
            Dtype::UINT16,
            Dtype::FP16,
            Dtype::BFLOAT16,
            Dtype::INT32,
            Dtype::UINT32,
            Dtype::FP32,
        ];
        let dtype = self.one_of(&dtypes);
        // So many elements over all lanes.
        let most = if dtype.bytes() == 2 { 4096 } else { 2048 } / u16::from(self.lanes);
        let n = self.total.min(most);
        let ranks = self.rng.random_range(1..=n);
        let (index_offset_src, offset) = self.scalar();
        let operands = S1D2_SORT {
            num_active_channels: self.lanes,
            index_offset_src,
            in_out_dtype: DtypePair::new(dtype, dtype),
            comparison: *[AluOp::IS_LT, AluOp::IS_GT].choose(self.rng).unwrap(),
            src: self.packed(dtype, [n]),
            dst: self.packed(dtype, [2, ranks]),
            index_offset: offset.0,
            stable: self.rng.random_range(0..2),
        };
        operands.write(&mut self.case.word);
    }

    fn nonzero(&mut self) {
        let in_dtype = self.one_of(&[Dtype::INT32, Dtype::FP32]);
        let ((index_offset_src, index_offset), (padding_val_src, padding_val)) =
            (self.scalar(), self.scalar());
        let src = self.tensor(in_dtype);
        self.total += 1;
        let operands = S3D3_NONZERO_WITH_COUNT {
            num_active_channels: self.lanes,
            in_dtype,
            out_dtype: Dtype::INT32,
            index_offset_src,
            src,
            index_offset,
            padding_val_src,
            padding_val,
            dst: self.fresh(Dtype::INT32),
        };
        operands.write(&mut self.case.word);
    }

    fn sequence_bounds(&mut self) {
        self.lanes = 1;
        let dtypes = [Dtype::INT32, Dtype::FP32];
        let (in_dtype, out_dtype) = (self.one_of(&dtypes), self.one_of(&dtypes));
        let total = self.total;
        let operands = S3D3_SEQ_BOUNDS {
            num_active_channels: 1,
            in_dtype,
            out_dtype,
            src: self.tensor(in_dtype),
            dst: self.packed(out_dtype, [total.min(500), 1, 2]),
        };
        operands.write(&mut self.case.word);
    }

    fn buffer_load(&mut self, dtype: Dtype) -> S4_PB {
        let mask = *[0, 7, 0xFF, 0x1FF, 0x1FF, u32::MAX].choose(self.rng).unwrap();
        self.total = self.total.min(512);
        S4_PB {
            src: self.fresh(dtype),
            in_dtype: dtype,
            num_active_channels: self.lanes,
            start_index: if self.rng.random_bool(0.7) { 0 } else { self.rng.next_u32() },
            mask,
        }
    }

    fn gather(&mut self) {
        let dtype = self.dtype();
        let load = self.buffer_load(dtype);
        let mut word = Word::new(op::POOL_BUFFER_LOAD);
        load.write(&mut word);
        self.case.before.push(word);
        let in_dtype = self.one_of(&[Dtype::UINT8, Dtype::UINT8, Dtype::UINT16, Dtype::UINT32]);
        let operands = S4D4_GT {
            src: self.fresh(in_dtype),
            in_dtype,
            out_dtype: dtype,
            num_active_channels: self.lanes,
            index_miss_behavior: self.rng.random_range(0..2),
            free_pool_buffer: self.rng.random_range(0..2),
            immediate: Imm(number(self.rng)),
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn pool_argument(&mut self) {
        let imm_ptr_select: u8 = self.rng.random();
        let immediate = std::array::from_fn(|i| match imm_ptr_select >> i & 1 {
            1 => 4 * self.rng.random_range(0..WINDOW / 4),
            _ => number(self.rng),
        });
        CTRL_IM { param_ram_offset: 0, imm_ptr_select, immediate }.write(&mut self.case.word);
    }

    fn indirect_copy(&mut self) {
        self.lanes = 16 * self.rng.random_range(1..=8);
        let dtype = self.dtype();
        let run = *[1u8, 2, 4, 8, 16].choose(self.rng).unwrap();
        self.total = u16::from(run) * self.rng.random_range(1..=200 / u16::from(run));
        let dst = self.fresh(dtype);
        let (index, data) = (self.packed(Dtype::UINT16, [64]), self.packed(dtype, [64]));
        let operands = S4D4_IC {
            src: Indirect20 {
                index: Addr4(index.start.0 | 0x2000_0000),
                data: data.start,
                num_elem: self.total,
                reserved: [0; 10],
            },
            in_dtype: dtype,
            out_dtype: dtype,
            num_active_channels: self.lanes,
            src_num_elem_per_idx: run,
            dst_num_elem_per_idx: 0,
            // Sometimes beyond what is filled, where indices of random bits lead.
            src_buffer_size: *[2, 64, 300, 20_000].choose(self.rng).unwrap(),
            dst_buffer_size: 0,
            dst,
        };
        operands.write(&mut self.case.word);
    }

    fn draw(&mut self) {
        let dtype = self.dtype();
        let operands = D4_MR {
            dst_element_count: self.total.into(),
            dtype,
            num_active_channels: self.lanes,
            dst: self.tensor(dtype),
            ..D4_MR::read(&self.case.word)
        };
        operands.write(&mut self.case.word);
    }

    /// A generator of the engine; `false` if no engine of the generation has one.
    fn generator_state(&mut self, opcode: u8) -> bool {
        let (engine, generation) = (self.case.engine, self.case.generation);
        let known = |b: &&Bank| b.is_on(engine, generation);
        let all: Vec<&Bank> = BANKS.iter().filter(known).collect();
        let Some(bank) = all.choose(self.rng) else {
            return BANKS.iter().any(|b| b.generations.0 <= generation);
        };
        self.total = bank.words as u16;
        if opcode == op::RAND_SET_STATE {
            let src = self.packed(Dtype::UINT32, [self.total]);
            let operands = S1_RAND {
                rand_algorithm: bank.algorithm,
                num_active_channels: self.lanes,
                update_state: 0,
                in_dtype: Dtype::UINT32,
                src,
                rand_generator: bank.source,
                imm_state: [0; 8],
            };
            operands.write(&mut self.case.word);
            return true;
        }
        let operands = D4_RAND {
            rand_algorithm: bank.algorithm,
            rand_generator: bank.source,
            dtype: Dtype::UINT32,
            num_active_channels: self.lanes,
            dst: self.fresh(Dtype::UINT32),
            ..D4_RAND::read(&self.case.word)
        };
        operands.write(&mut self.case.word);
        true
    }

    fn dropout(&mut self) {
        let dtype = self.dtype();
        let (threshold_src, threshold) = self.scalar();
        let operands = S3D3_DROPOUT {
            src: self.tensor(dtype),
            in_dtype: dtype,
            out_dtype: dtype,
            num_active_channels: self.lanes,
            threshold_src,
            threshold_dtype: Dtype::FP32,
            threshold_type: self.rng.random_range(0..2),
            threshold: match threshold_src {
                ImmSrc::INSTRUCTION => Imm(self.rng.random_range(0.0f32..1.0).to_bits()),
                _ => threshold,
            },
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn uniform(&mut self) {
        let dtype = self.dtype();
        let ((min_src, min), (max_src, max)) = (self.scalar(), self.scalar());
        let operands = D3_RAND {
            rand_algorithm: 3,
            post_process: 1,
            dtype,
            num_active_channels: self.lanes,
            min_src,
            max_src,
            min,
            max,
            dst: self.fresh(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn extended(&mut self) {
        match self.rng.random_range(0..8) {
            0 => EXTENDED {
                extended_opcode: 0,
                completion_info: Bits(self.rng.random()),
                inst_specific0: [0; 18],
                inst_specific1: [0; 32],
            }
            .write(&mut self.case.word),
            1 => self.remote_transfer().write(&mut self.case.word),
            2 | 3 => {
                for _ in 0..self.rng.random_range(1..3) {
                    let mut word = Word::new(op::EXTENDED_INST);
                    self.remote_transfer().write(&mut word);
                    self.case.before.push(word);
                }
                let start = EXTENDED_RDMA_DESC_START { extended_opcode: 9, completion_info: Bits(0) };
                start.write(&mut self.case.word);
            }
            _ => self.extended_tensor_tensor(),
        }
    }

    fn extended_tensor_tensor(&mut self) {
        let (a, b, to) = (self.dtype(), self.dtype(), self.dtype());
        let operands = EXTENDED_TTA {
            extended_opcode: 2,
            completion_info: Bits(5 | self.rng.random_range(0..8) << 3),
            in0_in1_dtype: DtypePair::new(a, b),
            out_dtype: to,
            op: *[AluOp::ADD, AluOp::MULT].choose(self.rng).unwrap(),
            src0: self.tensor(a),
            src1: self.tensor(b),
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    /// From one core to the other, which runs the same words: each sends to the other.
    fn remote_transfer(&mut self) -> EXTENDED_RDMA_DESC_GEN {
        let mut place = || Addr4(self.rng.random_range(0..WINDOW / 2));
        let (src_addr, dst_addr) = (place(), place());
        EXTENDED_RDMA_DESC_GEN {
            extended_opcode: 8,
            completion_info: Bits(0),
            local_sem: self.rng.random_range(0..6),
            remote_sem: self.rng.random_range(0..6),
            remote_core_id: Imm(u32::from(self.rng.random_bool(0.8))),
            remote_routing_id: Imm(0),
            dma_engine_mask: Imm(*[1, 3, 0xF0, 0xFFFF].choose(self.rng).unwrap()),
            src_addr,
            dst_addr,
            free_dim_bytes: self.rng.random_range(0..=WINDOW / 2),
            is_bidirectional: 0,
            remote_sem_prev: 0,
        }
    }
}
