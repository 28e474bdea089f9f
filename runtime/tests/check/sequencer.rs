//! Words that break a rule of a sequencer, DMA or pseudo opcode.

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, Word, op};

use crate::legal::*;
use crate::{Case, error, patch, unsupported, word};

pub fn cases() -> Vec<Case> {
    let families = [write_cases, move_cases, branch_cases, transfer_cases, other_cases, dma_cases];
    families.into_iter().flat_map(|cases| cases()).collect()
}

fn write_cases() -> Vec<Case> {
    let wr = |o: CTRL_WR| word(op::WRITE, o);
    let payload = "payload-unknown";
    vec![
        unsupported(
            PE_C,
            wr(CTRL_WR { wr_size0: 8, ..write() }),
            "field-refused",
            (12, "wr_size0"),
            "0x8",
            "4",
        ),
        unsupported(
            PE_C,
            wr(CTRL_WR { wr_size1: 1, ..write() }),
            "field-refused",
            (13, "wr_size1"),
            "0x1",
            "0 or 4",
        ),
        unsupported(
            PE_C,
            wr(CTRL_WR { wr_size1: 0, data1: 0, ..write() }),
            payload,
            (24, "addr1"),
            "0x80100250f038",
            "0, as there is no second write",
        ),
        unsupported(
            PE_C,
            wr(CTRL_WR { data0: 1 << 32, ..write() }),
            payload,
            (32, "data0"),
            "0x100000000",
            "32 bits",
        ),
        unsupported(
            PE_C,
            wr(CTRL_WR { addr0: 0x1000_0001_0000_0000, ..write() }),
            "address-refused",
            (16, "addr0"),
            "0x1000000100000000",
            "a plain address",
        ),
        error(
            PE_C,
            wr(CTRL_WR { addr1: 0x1002, ..write() }),
            "alignment",
            (24, "addr1"),
            "0x1002",
            "a multiple of 4",
        ),
    ]
}

fn move_cases() -> Vec<Case> {
    let mv = |o: CTRL_MV| word(op::MOVE, o);
    let sources =
        |s: [u8; 2], o: CTRL_MV| mv(CTRL_MV { src_registers: Regs([s[0], s[1], 0, 0, 0, 0, 0, 0]), ..o });
    let destinations =
        |d: [u8; 2]| mv(CTRL_MV { dst_registers: Regs([d[0], d[1], 0, 0, 0, 0, 0, 0]), ..mov() });
    let number = "0..63 or 128..131";
    let distinct = "a register that is no source and no earlier destination";
    vec![
        error(
            POOL_S,
            mv(CTRL_MV { num_mov: 0, src_registers: Regs([0; 8]), ..mov() }),
            "field-value",
            (12, "num_mov"),
            "0",
            "1..8",
        ),
        error(
            POOL_S,
            mv(CTRL_MV { dtype: Dtype::FP16, ..mov() }),
            "dtype",
            (13, "dtype"),
            "fp16",
            "int32, uint32, fp32",
        ),
        error(POOL_S, sources([128, 132], mov()), "register-number", (17, "src_registers"), "132", number),
        error(POOL_S, destinations([4, 64]), "register-number", (25, "dst_registers"), "64", number),
        error(POOL_S, destinations([4, 4]), "move-destination", (25, "dst_registers"), "4", distinct),
        error(POOL_S, sources([128, 4], mov()), "move-destination", (24, "dst_registers"), "4", distinct),
        error(
            POOL_S,
            sources([128, 9], CTRL_MV { num_mov: 1, ..mov() }),
            "field-value",
            (17, "src_registers"),
            "9",
            "0 in an unused slot",
        ),
    ]
}

fn branch_cases() -> Vec<Case> {
    let br = |o: CTRL_BR| word(op::COMPARE_BRANCH, o);
    let number = "0..63 or 128..131";
    vec![
        error(
            PE_C,
            br(CTRL_BR { dtype: Dtype::INT16, ..branch() }),
            "branch-dtype",
            (13, "dtype"),
            "int16",
            "int32, uint32, fp32",
        ),
        error(
            PE_C,
            br(CTRL_BR { cmp_reg0: 64, ..branch() }),
            "register-number",
            (32, "cmp_reg0"),
            "64",
            number,
        ),
        error(
            PE_C,
            br(CTRL_BR { target_mode: BranchMode::REGISTER, target_reg_hi: 200, ..branch() }),
            "register-number",
            (35, "target_reg_hi"),
            "200",
            number,
        ),
        error(
            PE_C,
            br(CTRL_BR { target_mode: BranchMode::REGISTER, target_reg_lo: 64, ..branch() }),
            "register-number",
            (34, "target_reg_lo"),
            "64",
            number,
        ),
        unsupported(
            PE_C,
            br(CTRL_BR { target_mode: BranchMode(2), ..branch() }),
            "field-refused",
            (14, "target_mode"),
            "0x2",
            "0, 1, 3 or 4",
        ),
        unsupported(
            PE_C,
            br(CTRL_BR { target_mode: BranchMode::RELATIVE_REGISTER, ..branch() }),
            "field-unproven",
            (14, "target_mode"),
            "0x4",
            "0, 1 or 3",
        ),
        unsupported(
            PE_C,
            br(CTRL_BR { cmp_op: BranchCmp::LT, ..branch() }),
            "field-unproven",
            (12, "cmp_op"),
            "0x1",
            "ALWAYS, EQ or GT",
        ),
        unsupported(
            PE_C,
            br(CTRL_BR { cmp_op: BranchCmp::EQ_REG, ..branch() }),
            "field-unproven",
            (12, "cmp_op"),
            "0x83",
            "ALWAYS, EQ or GT",
        ),
        error(
            PE_C,
            br(CTRL_BR { cmp_op: BranchCmp(7), ..branch() }),
            "enum-member",
            (12, "cmp_op"),
            "0x07",
            "a member of BranchCmp",
        ),
    ]
}

fn transfer_cases() -> Vec<Case> {
    let aa = |o: MEM_2D| word(op::TENSOR_LOAD, o);
    let ab = |o: MEM_2D| word(op::TENSOR_STORE, o);
    let with = |slot: usize, number: u8, o: MEM_2D| {
        let mut data = o.data;
        data[slot] = number;
        MEM_2D { data, ..o }
    };
    let caps = [(Dtype::UINT16, "17 x 1", 16), (Dtype::FP32, "9 x 1", 8), (Dtype::UINT64, "5 x 1", 4)];
    let mut cases: Vec<_> = caps
        .into_iter()
        .map(|(dtype, found, cap)| {
            let o = MEM_2D { dtype, num_elem: [cap + 1, 1], step_elem: [1, 0], ..store() };
            let expected = format!("1..32 each, {cap} elements at most");
            error(DVE_C, ab(o), "transfer-count", (14, "num_elem"), found, &expected)
        })
        .collect();
    cases.extend([
        error(
            SP_C,
            aa(MEM_2D { src_datasrc: DataSrc::IMMEDIATE, ..load() }),
            "field-value",
            (13, "src_datasrc"),
            "1",
            "0 (register)",
        ),
        error(
            SP_C,
            aa(MEM_2D { dtype: Dtype::INT64, ..load() }),
            "dtype",
            (12, "dtype"),
            "int64",
            "uint64, int8, uint8, int16, uint16, int32, uint32, fp32",
        ),
        error(
            SP_C,
            aa(MEM_2D { num_elem: [2, 0], ..load() }),
            "transfer-count",
            (14, "num_elem"),
            "2 x 0",
            "1..32 each, 32 elements at most",
        ),
        error(
            SP_C,
            aa(MEM_2D { num_elem: [3, 11], ..load() }),
            "transfer-count",
            (14, "num_elem"),
            "3 x 11",
            "1..32 each, 32 elements at most",
        ),
        error(SP_C, aa(with(1, 132, load())), "register-number", (33, "data"), "132", "0..63 or 128..131"),
        error(
            SP_C,
            ab(with(0, 64, MEM_2D { src_datasrc: DataSrc::REGISTER, ..store() })),
            "register-number",
            (32, "data"),
            "64",
            "0..63 or 128..131",
        ),
        error(
            SP_C,
            ab(MEM_2D { src_datasrc: DataSrc::REGISTER, num_elem: [11, 3], step_elem: [1, 0], ..store() }),
            "transfer-count",
            (14, "num_elem"),
            "11 x 3",
            "1..32 each, 32 elements at most",
        ),
        // UINT64 names even registers in all slots, unused ones too
        error(
            SP_C,
            aa(with(31, 5, MEM_2D { dtype: Dtype::UINT64, data: [0; 32], ..load() })),
            "register-pair",
            (63, "data"),
            "5",
            "an even register",
        ),
        error(
            SP_C,
            aa(MEM_2D { start_addr: Addr8(0x8005_C036_5002), ..load() }),
            "alignment",
            (16, "start_addr"),
            "0x8005c0365002",
            "a multiple of 4",
        ),
        error(
            DVE_C,
            ab(MEM_2D { start_addr: Addr8(0x8005_C0FF_FFFC), step_elem: [1, 0], ..store() }),
            "span-16mib",
            (16, "start_addr"),
            "bytes 0x8005c0fffffc..0x8005c1000003",
            "one aligned region of 16 MiB",
        ),
        unsupported(
            SP_C,
            aa(MEM_2D { start_addr: Addr8::table(1, 64), ..load() }),
            "address-refused",
            (16, "start_addr"),
            "0x2000000100000040",
            "a form other than an address table",
        ),
    ]);
    cases.extend(pseudo_transfer_cases());
    cases
}

fn pseudo_transfer_cases() -> [Case; 4] {
    let ce = |o: PSEUDO_MEM_2D| word(op::PSEUDO_TENSOR_LOAD, o);
    let cd = |o: PSEUDO_MEM_2D| word(op::PSEUDO_TENSOR_STORE, o);
    let dtypes = "int8, uint8, int16, uint16, int32, uint32, fp32";
    let wide = PSEUDO_MEM_2D { dtype: Dtype::UINT64, data: [0; 32], ..pseudo_load() };
    [
        error(SP_C, ce(wide), "dtype", (12, "dtype"), "uint64", dtypes),
        error(
            SP_C,
            ce(PSEUDO_MEM_2D { src_datasrc: DataSrc::IMMEDIATE, ..pseudo_load() }),
            "field-value",
            (13, "src_datasrc"),
            "1",
            "0 (register)",
        ),
        error(
            SP_C,
            cd(PSEUDO_MEM_2D {
                data: [64; 32],
                num_elem: [1, 1],
                src_datasrc: DataSrc::REGISTER,
                ..pseudo_store()
            }),
            "register-number",
            (32, "data"),
            "64",
            "0..63 or 128..131",
        ),
        error(
            SP_C,
            cd(PSEUDO_MEM_2D { num_elem: [3, 3], ..pseudo_store() }),
            "transfer-count",
            (14, "num_elem"),
            "3 x 3",
            "1..32 each, 8 elements at most",
        ),
    ]
}

fn other_cases() -> Vec<Case> {
    let clear = |bytes: [u8; 3]| patch(Word::new(op::EVENT_SEMAPHORE_RANGE_CLEAR), 12, &bytes);
    let pool = |o: MODIFY_POOL_CONFIG| word(op::MODIFY_POOL_CONFIG, o);
    let notify = |kind: u8| patch(Word::new(op::NOTIFY), 39, &[kind]);
    vec![
        unsupported(SP_C, notify(2), "field-refused", (39, "kind"), "0x2", "1 (EXPLICIT)"),
        unsupported(SP_C, clear([0, 3, 4]), "field-refused", (12, "mode"), "0x0", "1 (SEMAPHORE_ZERO)"),
        error(SP_C, clear([1, 5, 4]), "clear-range", (13, "first"), "5", "at most 4, the last"),
        error(
            SP_C,
            patch(Word::new(op::SET_ORDERING_MODE), 12, &[2]),
            "field-value",
            (12, "mode"),
            "2",
            "0 (relaxed) or 1 (strict)",
        ),
        error(
            POOL_C,
            pool(MODIFY_POOL_CONFIG { modify_op: 0, ..pool_config() }),
            "field-value",
            (12, "modify_op"),
            "0",
            "1 (load) or 2 (unload)",
        ),
        error(
            POOL_C,
            pool(MODIFY_POOL_CONFIG { library_size: 65537, ..pool_config() }),
            "field-value",
            (28, "library_size"),
            "65537",
            "at most 65536",
        ),
    ]
}

fn dma_cases() -> Vec<Case> {
    let b8 = |o: DMA_DIRECT2D| word(op::DMAMEMCPY, o);
    let d4 = |o: PSEUDO_DMA_DIRECT2D| word(op::PSEUDO_DMA_DIRECT2D, o);
    let c1 = |name: &str| word(op::PSEUDO_DMATRIGGER, trigger(name));
    let add = DMA_DIRECT2D { compute_op: DgeComputeOp::ADD, ..direct2d() };
    let name = "an ASCII name padded with zeros";
    let base_codes = "invalid, uint64, int8, uint8, int16, uint16, bfloat16, fp16, int32, uint32, fp32, fp32r, int64, \
                      fp8_e3m4, fp8_e4m3, fp8_e5m2";
    vec![
        error(
            POOL_C,
            b8(DMA_DIRECT2D { dma_configs: 5, ..direct2d() }),
            "field-value",
            (12, "dma_configs"),
            "5",
            "a priority class 0..4",
        ),
        error(
            POOL_C,
            b8(DMA_DIRECT2D { dst_bound_reg: BoundReg(0x45), ..direct2d() }),
            "bound-register",
            (39, "dst_bound_reg"),
            "0x45",
            "0, or bit 7 and a register",
        ),
        error(
            POOL_C,
            b8(DMA_DIRECT2D { dst_num_elem: [127, 1], ..direct2d() }),
            "element-count",
            (56, "dst_num_elem"),
            "260096 bytes of fp32",
            "as many elements as 262144 bytes of fp32",
        ),
        // a run of size 0 has 65536 bytes
        error(
            POOL_C,
            b8(DMA_DIRECT2D { dst_elem_size: 0, dst_num_elem: [3, 1], ..direct2d() }),
            "element-count",
            (56, "dst_num_elem"),
            "196608 bytes of fp32",
            "as many elements as 262144 bytes of fp32",
        ),
        error(
            SP_C,
            d4(PSEUDO_DMA_DIRECT2D { dst_elem_size: 2048, ..pseudo_direct2d() }),
            "element-count",
            (56, "dst_num_elem"),
            "262144 bytes of bfloat16",
            "as many elements as 262144 bytes of fp32",
        ),
        error(
            SP_C,
            d4(PSEUDO_DMA_DIRECT2D { out_dtype: Dtype::INVALID, ..pseudo_direct2d() }),
            "dtype",
            (63, "out_dtype"),
            "invalid",
            "a dtype that can be converted",
        ),
        unsupported(
            SP_C,
            d4(PSEUDO_DMA_DIRECT2D { dge_op: DgeOpcode::TRANSPOSE, ..pseudo_direct2d() }),
            "field-refused",
            (15, "dge_op"),
            "0x2",
            "DIRECT2D",
        ),
        error(
            POOL_C,
            b8(DMA_DIRECT2D { dst_start_addr: Addr8(0x8020_0003_67F9), ..add }),
            "alignment",
            (40, "dst_start_addr"),
            "0x8020000367f9",
            "a multiple of 4",
        ),
        error(
            POOL_C,
            b8(DMA_DIRECT2D { dst_step_elem: [0x4_0000, 2], dst_num_elem: [64, 2], ..add }),
            "alignment",
            (52, "dst_step_elem"),
            "2",
            "a multiple of 4",
        ),
        error(
            POOL_C,
            b8(DMA_DIRECT2D { src_elem_size: 2, src_num_elem: [512, 256], src_step_elem: [2048, 4], ..add }),
            "alignment",
            (36, "src_elem_size"),
            "2",
            "a multiple of 4",
        ),
        error(
            POOL_V,
            b8(DMA_DIRECT2D { out_dtype: Dtype::FP8_EXP2, dst_elem_size: 512, ..direct2d() }),
            "dtype",
            (63, "out_dtype"),
            "fp8_exp2",
            base_codes,
        ),
        error(
            POOL_V,
            b8(DMA_DIRECT2D { in_dtype: Dtype::FP8_EXP2, src_elem_size: 512, ..direct2d() }),
            "dtype",
            (62, "in_dtype"),
            "fp8_exp2",
            base_codes,
        ),
        error(POOL_S, c1(""), "queue-name", (12, "dma_queue_name"), "\"\"", name),
        error(POOL_S, c1("q\u{1}"), "queue-name", (12, "dma_queue_name"), "\"q\\u{1}\"", name),
    ]
}
