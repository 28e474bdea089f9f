//! Random words of the ACT beside ACTIVATE (chapter 05 section 3).

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::act::FUNCTIONS;
use seqjit::runtime::isa::field::{DtypePair, F32, Ptr, ReduceCmd};
use seqjit::runtime::isa::layouts::{S2D2_AC, S3D3_AQ};
use seqjit::runtime::isa::{AluOp, Dtype, Layout};

use super::{Maker, WINDOW, number};

/// Operators of ACTIVATE2 that go together.
const PAIRS: [(AluOp, AluOp); 6] = [
    (AluOp::MULT, AluOp::ADD),
    (AluOp::MULT, AluOp::SUBTRACT),
    (AluOp::MULT, AluOp::BYPASS),
    (AluOp::ADD, AluOp::BYPASS),
    (AluOp::SUBTRACT, AluOp::BYPASS),
    (AluOp::BYPASS, AluOp::BYPASS),
];

const REDUCTIONS: [AluOp; 5] = [AluOp::ADD, AluOp::MAX, AluOp::MIN, AluOp::ABS_MAX, AluOp::ABS_MIN];

impl<R: RngCore> Maker<'_, R> {
    pub fn activate_quantize(&mut self) {
        let from = *[Dtype::FP32, Dtype::INT32].choose(self.rng).unwrap();
        let bias_dtype = *[Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16].choose(self.rng).unwrap();
        // Often such that results fall between 0 and 255.
        let mut factor = |usual: f32| F32(if self.rng.random() { usual.to_bits() } else { number(self.rng) });
        let (quant_scale, dequant_scale, quant_zero) = (factor(40.0), factor(0.01), factor(128.0));
        let operands = S3D3_AQ {
            quant_scale,
            src: self.tensor(from),
            in_bias_dtype: DtypePair::new(from, bias_dtype),
            out_dtype: Dtype::UINT8,
            num_active_channels: self.lanes,
            activation_func: self.activation_function(),
            dequant_scale,
            bias_addr: Ptr(self.pointer(0)),
            quant_zero,
            dst: self.tensor(Dtype::UINT8),
        };
        operands.write(&mut self.case.word);
    }

    pub fn activate2(&mut self) {
        let (from, to) = (self.dtype(), self.dtype());
        let (op0, op1) = *PAIRS.choose(self.rng).unwrap();
        let reduce_cmd = ReduceCmd(self.rng.random_range(0..4));
        let idle = reduce_cmd == ReduceCmd::IDLE;
        let [(imm0_src, imm0), (imm1_src, imm1), (relu_param_src, relu_param)] =
            [(); 3].map(|()| self.scalar());
        let operands = S2D2_AC {
            src: self.tensor(from),
            relu_param_src,
            imm0_src,
            reduce_cmd,
            imm1_src,
            imm_dtype: *[Dtype::FP32, Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16].choose(self.rng).unwrap(),
            op0,
            op1,
            reduce_op: if idle { AluOp::BYPASS } else { *REDUCTIONS.choose(self.rng).unwrap() },
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            activation_func: self.activation_function(),
            imm0,
            imm1,
            relu_param,
            dst: self.tensor(to),
            reverse_operands: self.rng.random_range(0..4),
        };
        operands.write(&mut self.case.word);
    }

    /// The number of an activation function.
    fn activation_function(&mut self) -> u8 {
        let ids: Vec<u8> = FUNCTIONS.iter().filter_map(|function| function.id).collect();
        *ids.choose(self.rng).unwrap()
    }

    /// An address in SBUF, aligned to four bytes.
    pub(super) fn pointer(&mut self, partition: u32) -> u32 {
        partition * self.case.generation.geometry().sbuf_pitch + 4 * self.rng.random_range(0..WINDOW / 4)
    }
}
