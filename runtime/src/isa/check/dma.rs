//! Rules of DMA words and of the pseudo-words that start DMA (chapter 06 section 6.1, chapter 07
//! sections 9.1 and 11.2).

use super::{Checker, gates, rules};
use crate::isa::Dtype;
use crate::isa::field::{Addr8, BoundReg, DgeComputeOp};
use crate::isa::layouts::{DMA_DIRECT2D, PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER};
use crate::isa::operand::Addr8Form;

/// One end of a transfer, all sizes in bytes.
struct End {
    names: [&'static str; 5],
    start: Addr8,
    step: [i32; 2],
    num: [u16; 2],
    elem_size: u16,
    bound: BoundReg,
    dtype: Dtype,
}

const SRC: [&str; 5] = ["src_start_addr", "src_step_elem", "src_num_elem", "src_elem_size", "src_bound_reg"];
const DST: [&str; 5] = ["dst_start_addr", "dst_step_elem", "dst_num_elem", "dst_elem_size", "dst_bound_reg"];

/// Both ends of a B8 or D4 word, which differ in byte 15 only.
macro_rules! ends {
    ($o:ident) => {
        (
            End {
                names: SRC,
                start: $o.src_start_addr,
                step: $o.src_step_elem,
                num: $o.src_num_elem,
                elem_size: $o.src_elem_size,
                bound: $o.src_bound_reg,
                dtype: $o.in_dtype,
            },
            End {
                names: DST,
                start: $o.dst_start_addr,
                step: $o.dst_step_elem,
                num: $o.dst_num_elem,
                elem_size: $o.dst_elem_size,
                bound: $o.dst_bound_reg,
                dtype: $o.out_dtype,
            },
        )
    };
}

impl End {
    /// Bytes of one run; the code 0 stands for 65536.
    fn run(&self) -> u64 {
        if self.elem_size == 0 { 65536 } else { u64::from(self.elem_size) }
    }

    /// Bytes of the whole stream.
    fn bytes(&self) -> u64 {
        self.num.iter().map(|n| u64::from(*n)).product::<u64>() * self.run()
    }
}

pub(super) fn direct2d(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<DMA_DIRECT2D>() else { return };
    let (src, dst) = ends!(o);
    c.direct(o.dma_configs, &src, &dst);
    if o.compute_op != DgeComputeOp::NONE {
        c.compute_alignment(&src);
        c.compute_alignment(&dst);
    }
}

pub(super) fn pseudo_direct2d(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<PSEUDO_DMA_DIRECT2D>() else { return };
    let (src, dst) = ends!(o);
    c.direct(o.dma_configs, &src, &dst);
}

pub(super) fn trigger(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<PSEUDO_DMA_TRIGGER>() else { return };
    if o.dma_queue_name.as_str().is_none_or(str::is_empty) {
        let bytes = String::from_utf8_lossy(&o.dma_queue_name.0);
        let found = format_args!("{:?}", bytes.trim_end_matches('\0'));
        c.report(rules::QUEUE_NAME, "dma_queue_name", found, "an ASCII name padded with zeros");
    }
}

impl Checker<'_> {
    fn direct(&mut self, configs: u8, src: &End, dst: &End) {
        self.value("dma_configs", configs, configs <= 4, "a priority class 0..4");
        self.dtype("in_dtype", src.dtype, gates::DMA);
        self.dtype("out_dtype", dst.dtype, gates::DMA);
        for end in [src, dst] {
            let bits = end.bound.0;
            if bits != 0 && bits & 0x80 == 0 {
                let found = format_args!("{bits:#x}");
                self.report(rules::BOUND_REGISTER, end.names[4], found, "0, or bit 7 and a register");
            }
        }
        self.stream_lengths(src, dst);
    }

    /// Both streams hold the same number of elements; equal dtypes are not converted, whatever they are.
    fn stream_lengths(&mut self, src: &End, dst: &End) {
        let (from, to) = match src.dtype == dst.dtype {
            true => (1, 1),
            false => (src.dtype.bytes() as u64, dst.dtype.bytes() as u64),
        };
        if from == 0 || to == 0 {
            let (field, dtype) = if from == 0 { ("in_dtype", src.dtype) } else { ("out_dtype", dst.dtype) };
            self.report(rules::DTYPE, field, dtype.text(), "a dtype that can be converted");
        } else if src.bytes() * to != dst.bytes() * from {
            let found = format_args!("{} bytes of {}", dst.bytes(), dst.dtype.text());
            let expected = format_args!("as many elements as {} bytes of {}", src.bytes(), src.dtype.text());
            self.report(rules::ELEMENT_COUNT, "dst_num_elem", found, expected);
        }
    }

    /// A transfer that combines reads its destination by element: everything is aligned to the dtype.
    /// Steps of dimensions with one run are never taken.
    fn compute_alignment(&mut self, end: &End) {
        let size = end.dtype.bytes() as u64;
        if size < 2 {
            return;
        }
        let expected = format_args!("a multiple of {size}");
        if let Addr8Form::Immediate(start) = end.start.form()
            && !start.is_multiple_of(size)
        {
            self.report(rules::ALIGNMENT, end.names[0], format_args!("{start:#x}"), expected);
        }
        for d in 0..2 {
            if end.num[d] > 1 && i64::from(end.step[d]) % size as i64 != 0 {
                self.report_in(rules::ALIGNMENT, end.names[1], 4 * d, end.step[d], expected);
            }
        }
        if !end.run().is_multiple_of(size) {
            self.report(rules::ALIGNMENT, end.names[3], end.run(), expected);
        }
    }
}
