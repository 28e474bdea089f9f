//! Words that break a rule of tensor operands: lanes, counts and addresses, with TENSOR_TENSOR as the
//! example.

use seqjit_runtime::isa::field::Addr4;
use seqjit_runtime::isa::layouts::S3S3D3_TT;
use seqjit_runtime::isa::{Tensor, Word, op};

use crate::legal::*;
use crate::{Case, error, word};

fn tt(o: S3S3D3_TT) -> Word {
    word(op::TENSOR_TENSOR_ARITH_OP, o)
}

pub fn cases() -> Vec<Case> {
    let src1 = |start: u32| S3S3D3_TT { src1: line(start, 64), ..tensor_tensor() };
    let dst = |tensor| S3S3D3_TT { dst: tensor, ..tensor_tensor() };
    let lanes = |n: u8, start: u32| S3S3D3_TT {
        num_active_channels: n,
        src0: line(0, 64),
        src1: line(0, 64),
        dst: line(start, 64),
        ..tensor_tensor()
    };
    vec![
        error(DVE_C, tt(lanes(0, 0)), "channel-count", (15, "num_active_channels"), "0", "1..128"),
        error(DVE_C, tt(lanes(129, 0)), "channel-count", (15, "num_active_channels"), "129", "1..128"),
        error(
            DVE_C,
            tt(dst(Tensor { num: [64, 0, 1], ..line(0, 64) })),
            "count-zero",
            (60, "dst"),
            "0",
            "at least 1",
        ),
        error(DVE_C, tt(dst(line(0, 63))), "element-count", (58, "dst"), "63", "64"),
        error(
            DVE_C,
            tt(S3S3D3_TT { src1: line(0x1000, 32), ..tensor_tensor() }),
            "element-count",
            (42, "src1"),
            "32",
            "64",
        ),
        error(
            DVE_C,
            tt(src1(0x240_0000)),
            "address-unmapped",
            (32, "src1"),
            "0x2400000",
            "an address in SBUF or PSUM",
        ),
        error(DVE_C, tt(src1(0x1001)), "alignment", (32, "src1"), "0x1001", "a multiple of 2"),
        error(DVE_C, tt(src1(0x3_7F82)), "bounds", (32, "src1"), "bytes 229250..229378", "bytes 0..229376"),
        // SUNDA has fewer bytes
        error(DVE_S, tt(src1(0x3_0000)), "bounds", (32, "src1"), "bytes 196608..196736", "bytes 0..196608"),
        error(
            DVE_C,
            tt(dst(Tensor { start: Addr4(4), step: [-1, 0, 0], num: [64, 1, 1] })),
            "bounds",
            (48, "dst"),
            "bytes -122..6",
            "bytes 0..229376",
        ),
        error(
            DVE_C,
            tt(lanes(33, 0x180_0000)),
            "partition-extent",
            (48, "dst"),
            "33 lanes from partition 96",
            "partition 127 at most",
        ),
        error(
            DVE_C,
            tt(lanes(33, 0x80_0000)),
            "start-partition",
            (48, "dst"),
            "partition 32",
            "0 or 64 for 33 lanes",
        ),
        error(
            DVE_C,
            tt(lanes(1, 0x4_0000)),
            "start-partition",
            (48, "dst"),
            "partition 1",
            "0, 32, 64 or 96 for 1 lanes",
        ),
        error(
            DVE_C,
            tt(dst(line(PSUM + 0x800, 64))),
            "psum-cell",
            (48, "dst"),
            "cells of 2 bytes",
            "cells of 4 bytes",
        ),
        error(POOL_C, tt(tensor_tensor()), "memory-space", (16, "src0"), "psum", "sbuf"),
        error(
            DVE_C,
            tt(src1(PSUM + 0x800)),
            "two-sources",
            (32, "src1"),
            "both in psum",
            "at most one source in psum",
        ),
        error(
            DVE_C,
            tt(S3S3D3_TT {
                num_active_channels: 32,
                src0: line(0x80_0000, 64),
                src1: line(0x100_0000, 64),
                ..tensor_tensor()
            }),
            "two-sources",
            (32, "src1"),
            "quadrants 1 and 2",
            "one quadrant of sbuf",
        ),
    ]
}
