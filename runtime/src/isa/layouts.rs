//! The operand structs of every opcode: the one table of field offsets (chapter 03 section 9).
//!
//! `events` says that bytes 4 to 11 hold the ordinary EVENTS block. Bytes that no field names are
//! reserved and must be zero, except those under `unproven`, where the manual does not know.

#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ops::Range;

use super::field::*;
use super::operand::*;
use super::{AluOp, Dtype, Word};

/// One field of an operand struct.
#[derive(Debug)]
pub struct FieldDef {
    /// The manual's name.
    pub name: &'static str,
    /// First byte in the word.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// What the bytes mean.
    pub kind: Kind,
}

/// An operand struct: its name, whether it has an EVENTS block, and its fields.
#[derive(Debug)]
pub struct LayoutDef {
    /// The manual's name, `@` spelled `_` and `@v` spelled `_V`.
    pub name: &'static str,
    /// Bytes 4 to 11 are EVENTS.
    pub events: bool,
    /// Fields in ascending order of offset.
    pub fields: &'static [FieldDef],
    /// Bytes outside all fields that must not be checked.
    pub unproven: &'static [Range<usize>],
}

impl LayoutDef {
    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&'static FieldDef> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// Bytes of the word that belong to no field, header or EVENTS and that must be zero.
    pub fn reserved(&self) -> impl Iterator<Item = usize> + '_ {
        let first = if self.events { 12 } else { 4 };
        (first..64).filter(|at| {
            !self.fields.iter().any(|f| (f.offset..f.offset + f.size).contains(at))
                && !self.unproven.iter().any(|r| r.contains(at))
        })
    }
}

/// A typed operand struct.
pub trait Layout: Copy {
    /// Its fields.
    const DEF: LayoutDef;
    /// Reads all fields.
    fn read(word: &Word) -> Self;
    /// Writes all fields; header, EVENTS and reserved bytes stay.
    fn write(&self, word: &mut Word);
    /// The struct inside [`Operands`], if that is the one.
    fn of(operands: &Operands) -> Option<&Self>;
}

macro_rules! layouts {
    (@events events) => { true };
    (@events noevents) => { false };
    ($($name:ident $events:ident $(unproven[$($range:expr),*])? { $($at:literal $field:ident: $type:ty),* })*) => {
        $(
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            pub struct $name { $(pub $field: $type),* }

            impl Layout for $name {
                const DEF: LayoutDef = LayoutDef {
                    name: stringify!($name),
                    events: layouts!(@events $events),
                    fields: &[$(FieldDef {
                        name: stringify!($field),
                        offset: $at,
                        size: <$type as Field>::SIZE,
                        kind: <$type as Field>::KIND,
                    }),*],
                    unproven: &[$($($range),*)?],
                };
                #[allow(unused_variables)]
                fn read(word: &Word) -> Self {
                    $name { $($field: <$type>::read(&word.0[$at..$at + <$type as Field>::SIZE])),* }
                }
                #[allow(unused_variables)]
                fn write(&self, word: &mut Word) {
                    $(self.$field.write(&mut word.0[$at..$at + <$type as Field>::SIZE]);)*
                }
                fn of(operands: &Operands) -> Option<&Self> {
                    if let Operands::$name(value) = operands { Some(value) } else { None }
                }
            }
        )*

        /// The name of an operand struct.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum LayoutId { $($name),* }

        impl LayoutId {
            /// Every operand struct.
            pub const ALL: &[LayoutId] = &[$(LayoutId::$name),*];

            /// Its fields.
            pub const fn def(self) -> &'static LayoutDef {
                match self { $(LayoutId::$name => &$name::DEF),* }
            }

            /// Reads the operands of a word.
            pub fn read(self, word: &Word) -> Operands {
                match self { $(LayoutId::$name => Operands::$name($name::read(word))),* }
            }
        }

        /// The operands of a word, typed.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Operands { $($name($name)),* }

        impl Operands {
            /// Which struct this is.
            pub fn layout(&self) -> LayoutId {
                match self { $(Operands::$name(_) => LayoutId::$name),* }
            }

            /// Writes all fields into a word.
            pub fn write(&self, word: &mut Word) {
                match self { $(Operands::$name(value) => value.write(word)),* }
            }
        }
    };
}

layouts! {
    CTRL_ES events {
        12 setter_signature: u8, 32 events_extended: EventsExt
    }
    CTRL_NO_23 events {
        35 act_tbl_sel: u8
    }
    CTRL_NO_A1 events {
    }
    CTRL_NO_A2 events {
        40 drain_flag: u8
    }
    CTRL_NO_A3 events unproven[12..64] {
    }
    CTRL_NO_A4 events {
        12 cycle_count: u32
    }
    CTRL_NO_A6 events unproven[38..39] {
        36 hint: u16, 39 kind: u8
    }
    CTRL_WR events {
        12 wr_size0: u8, 13 wr_size1: u8, 16 addr0: u64, 24 addr1: u64, 32 data0: u64, 40 data1: u64
    }
    CTRL_MV events {
        12 num_mov: u8, 13 dtype: Dtype, 14 move_source: DataSrc, 16 src_registers: Regs<8>,
        24 dst_registers: Regs<8>, 32 immediate: [u32; 8]
    }
    CTRL_AL events {
        12 op: AluOp, 13 dtype: Dtype, 14 src1_datasrc: DataSrc, 15 dst_dtype: Dtype, 16 src0_lo: u8,
        17 src0_hi: u8, 18 src1_lo: u8, 19 src1_hi: u8, 20 dst_lo: u8, 21 dst_hi: u8, 24 immediate: u64
    }
    CTRL_BR events unproven[15..16, 20..32, 36..48, 56..64] {
        12 cmp_op: BranchCmp, 13 dtype: Dtype, 14 target_mode: BranchMode, 16 cmp_immediate: u32,
        32 cmp_reg0: u8, 33 cmp_reg1: u8, 34 target_reg_lo: u8, 35 target_reg_hi: u8, 48 br_immediate: u64
    }
    MEM_2D events {
        12 dtype: Dtype, 13 src_datasrc: DataSrc, 14 num_elem: [u8; 2], 16 start_addr: Addr8,
        24 step_elem: [i32; 2], 32 data: [u8; 32]
    }
    CTRL_ER events {
        12 mode: u8, 13 first: u8, 14 last: u8
    }
    CTRL_OM events {
        12 mode: u8
    }
    CTRL_MS events {
        12 move_type: u8, 13 num_move: u8, 14 shape_reg_type: u8, 16 shape_registers: [u8; 4],
        32 data: [u8; 32]
    }
    CTRL_POLL_SEM events unproven[15..16, 32..64] {
        12 n_read: u8, 13 result: u8, 14 op: AluOp, 16 addr: u64, 24 res_writeback_addr: u64
    }
    CTRL_TEST_ES events {
        12 mode: u8, 13 update_type: UpdateMode, 14 repeat_count: u8, 15 num_evt_sem: u8,
        16 evt_sem_ids: [u8; 16], 32 value_registers: Regs<16>, 48 threshold: u32, 52 setter_signature: u8
    }
    CTRL_CCI noevents {
        4 insts: [u32; 15]
    }
    CTRL_IM events {
        12 param_ram_offset: u16, 14 imm_ptr_select: u8, 32 immediate: [u32; 8]
    }
    S3S3D3_TT events {
        12 in0_in1_dtype: DtypePair, 13 out_dtype: Dtype, 14 op: AluOp, 15 num_active_channels: u8,
        16 src0: Tensor<3>, 32 src1: Tensor<3>, 48 dst: Tensor<3>
    }
    S2S2D2D2_TT events {
        12 src_dtype: DtypePair, 13 dst_dtype: DtypePair, 14 op: AluOp, 15 num_active_channels: u8,
        16 src0: Tensor<2>, 28 src1: Tensor<2>, 40 dst0: Tensor<2>, 52 dst1: Tensor<2>
    }
    S2S2D2_STT events {
        12 src0: Tensor<2>, 24 src1: Tensor<2>, 36 op0: AluOp, 37 op1: AluOp,
        38 reverse_operands: ReverseOps, 39 imm0_src: ImmSrc, 40 src_dtype: DtypePair, 41 out_dtype: Dtype,
        42 num_active_channels: u8, 43 imm0_dtype: Dtype, 44 accumulator_cmd: AccumCmd, 48 dst: Tensor<2>,
        60 imm0: Imm
    }
    S3D3_TS events {
        12 accumulator_cmd: AccumCmd, 16 src: Tensor<3>, 32 in_dtype: Dtype, 33 out_dtype: Dtype,
        34 num_active_channels: u8, 35 imm0_src: ImmSrc, 36 op0: AluOp, 37 op1: AluOp,
        38 reverse_operands: ReverseOps, 39 imm1_src: ImmSrc, 40 imm0: Imm, 44 imm1: Imm, 48 dst: Tensor<3>
    }
    S2D2D2_TS_WIDE events {
        12 src_dtype: DtypePair, 13 dst_dtype: DtypePair, 14 op: AluOp, 15 num_active_channels: u8,
        16 src: Tensor<2>, 28 dst0: Tensor<2>, 40 dst1: Tensor<2>, 52 imm_src: ImmSrc, 56 imm: Imm
    }
    S4D4_TSM events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        36 op: AluOp, 37 op_dim: Subdim, 38 reverse_operands: ReverseOps, 44 dst: Tensor<4>
    }
    S3D3_TS_SELECT events {
        16 src0: Tensor<3>, 32 reversed_pred: u8, 33 num_active_channels: u8, 34 dtype: Dtype,
        35 pred_imm_dtype: Dtype, 38 src1_imm_src: ImmSrc, 39 pred_imm_src: ImmSrc, 40 src1_imm: Imm,
        44 pred_imm: Imm, 48 dst: Tensor<3>
    }
    S2D2_TS_AS events {
        12 num_active_channels: u8, 13 in_out_dtype: DtypePair, 14 fill_mode: u8, 15 fill_reg: u8,
        16 mask: Data4d, 36 src: Tensor<2>, 48 dst: Tensor<2>, 60 channel_multiplier: i32
    }
    S3D3_CP_PRED_SCALAR events {
        16 predicate: Tensor<3>, 32 pred_dtype: Dtype, 33 reversed_pred: u8, 34 num_active_channels: u8,
        41 in_dtype: Dtype, 42 out_dtype: Dtype, 43 src0_imm_src: ImmSrc, 44 src0_imm: Imm,
        48 dst: Tensor<3>
    }
    S2D2_RS events unproven[60..64] {
        12 num_active_channels: u8, 13 in_out_dtype: DtypePair, 14 reduce_cmd: AccumCmd,
        15 reduce_op: AluOp, 16 base: F32, 20 fill_val: F32, 24 src: Tensor<2>, 36 comp_op0: AluOp,
        37 comp_op1: AluOp, 38 bound0_src: ImmSrc, 39 bound1_src: ImmSrc, 40 bound0: Imm, 44 bound1: Imm,
        48 dst: Tensor<2>
    }
    S4D4_TR events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        35 negated: u8, 36 op: AluOp, 37 op_dim: Subdim, 38 mask_enable: u8, 44 dst: Tensor<4>
    }
    S4D4_CR events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        35 reduce_op: ReduceOp, 36 reduce_axis: u8, 40 scale: F32, 44 dst: Tensor<4>
    }
    S4D4_PL events unproven[35..36, 38..40] {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        36 pool_func: PoolType, 37 pool_dim: Subdim, 40 pool_scale: F32, 44 dst: Tensor<4>
    }
    S4D4_MR events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        40 immediate: F32, 44 dst: Tensor<4>
    }
    D4_MR events unproven[33..34, 35..36, 37..40] {
        28 dst_element_count: u32, 32 dtype: Dtype, 34 num_active_channels: u8, 36 serialization_mode: u8,
        40 set_value: Imm, 44 dst: Tensor<4>
    }
    D1_RD events {
        28 dst_element_count: u32, 32 dtype: Dtype, 33 negated: u8, 34 num_active_channels: u8,
        44 dst: Tensor<1>
    }
    D4_IOTA events {
        12 generator: Data4d, 33 out_dtype: Dtype, 34 num_active_channels: u8, 36 channel_multiplier: i32,
        44 dst: Tensor<4>
    }
    S4D2_BN events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        40 even_count: F32, 44 odd_count: F32, 48 dst: Tensor<2>
    }
    S2_BN events {
        16 src: Tensor<2>, 28 imm1: Imm, 32 dtype: Dtype, 34 num_active_channels: u8, 44 imm0_ptr: Imm,
        48 imm0_src: ImmSrc
    }
    S2_BNPL2 events unproven[35..40, 50..64] {
        12 src: Tensor<2>, 28 element_count: u32, 32 src_dtype: Dtype, 33 imm_dtype: Dtype,
        34 num_active_channels: u8, 40 imm0_ptr: Imm, 44 imm1_ptr: Imm, 48 imm0_src: ImmSrc,
        49 imm1_src: ImmSrc
    }
    S3D3_AC events {
        12 imm_src: ImmSrc, 13 scale_src: ImmSrc, 14 accumulator_cmd: AccumCmd, 15 bias_src_n: ImmSrcN,
        16 src: Tensor<3>, 32 in_bias_dtype: DtypePair, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        35 activation_func: u8, 36 scale_value: Imm, 40 bias: Imm, 44 imm: Imm, 48 dst: Tensor<3>
    }
    S3D3_AQ events {
        12 quant_scale: F32, 16 src: Tensor<3>, 32 in_bias_dtype: DtypePair, 33 out_dtype: Dtype,
        34 num_active_channels: u8, 35 activation_func: u8, 36 dequant_scale: F32, 40 bias_addr: Ptr,
        44 quant_zero: F32, 48 dst: Tensor<3>
    }
    S2D2_AC events unproven[61..64] {
        12 src: Tensor<2>, 24 relu_param_src: ImmSrc, 25 imm0_src: ImmSrc, 26 reduce_cmd: ReduceCmd,
        27 imm1_src: ImmSrc, 28 imm_dtype: Dtype, 29 op0: AluOp, 30 op1: AluOp, 31 reduce_op: AluOp,
        32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8, 35 activation_func: u8,
        36 imm0: Imm, 40 imm1: Imm, 44 relu_param: Imm, 48 dst: Tensor<2>, 60 reverse_operands: u8
    }
    S1S2D2_AM events {
        12 src: Tensor<2>, 24 imm0_src: ImmSrc, 25 reduce_cmd: ReduceCmd, 26 imm1_src: ImmSrc,
        27 imm_dtype: Dtype, 28 op0: AluOp, 29 op1: AluOp, 30 reduce_op: AluOp, 31 in_dtype: Dtype,
        32 out_dtype: Dtype, 33 num_active_channels: u8, 34 activation_func: u8, 35 reverse_operands: u8,
        36 imm0: Imm, 40 prev_pass: Tensor<1>, 48 dst: Tensor<2>, 60 imm1: Imm
    }
    S3_LW_V2 events unproven[40..44, 47..48, 48..64] {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 35 perf_opt: u8,
        36 quant_offset: [u8; 2], 38 num_active_rows: u8, 39 num_active_cols: u8, 44 row_grp: u8,
        45 col_grp: u8, 46 xbus_sel: u8
    }
    S3_LW_V3 events unproven[40..44, 48..64] {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 34 transpose_mode: u8,
        35 perf_opt: u8, 36 quant_offset: [u8; 2], 38 num_active_rows: u8, 39 num_active_cols: u8,
        44 row_grp: u8, 45 col_grp: u8, 46 active_row_mode: u8, 47 tag_weight_mode: u8
    }
    S3_LW_V4 events unproven[36..38, 40..44, 48..64] {
        12 bg_xpose_mode: u8, 16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode,
        34 transpose_mode: u8, 35 perf_opt: u8, 38 num_active_rows: u8, 39 num_active_cols: u8,
        44 row_grp: u8, 45 col_grp: u8, 46 active_row_mode: u8, 47 flags: LdWeightFlags
    }
    S3_LW_V5 events {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 34 num_active_rows: u8,
        35 num_active_cols: u8, 36 tile_size: TileSize, 37 tile_sel: TileSel, 38 flags: LdWeightFlags,
        39 perf_mode: MxPerfMode
    }
    S3D3_MM_V2 events unproven[40..43] {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 35 perf_opt: u8,
        36 quant_offset: [u8; 2], 38 num_active_rows: u8, 39 num_active_cols: u8,
        43 psum_accumulate_flags: PsumAcc, 44 row_grp: u8, 45 col_grp: u8, 46 xbus_sel: u8,
        47 psum_zero_region: u8, 48 dst: Tensor<3>
    }
    S3D3_MM_V3 events unproven[41..43] {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 34 transpose_mode: u8,
        35 perf_opt: u8, 38 num_active_rows: u8, 39 num_active_cols: u8, 40 out_dtype: Dtype,
        43 psum_accumulate_flags: PsumAcc, 44 row_grp: u8, 45 col_grp: u8, 47 psum_zero_region: u8,
        48 dst: Tensor<3>
    }
    S3D3_MM_V4 events unproven[41..42] {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 34 transpose_mode: u8,
        35 perf_opt: u8, 38 num_active_rows: u8, 39 num_active_cols: u8, 40 out_dtype: Dtype,
        42 flags: MatmulFlags, 43 psum_accumulate_flags: PsumAcc, 44 row_grp: u8, 45 col_grp: u8,
        47 psum_zero_region: u8, 48 dst: Tensor<3>
    }
    S3D3_MM_V5 events {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 34 out_dtype: Dtype,
        35 num_active_rows: u8, 36 num_active_cols: u8, 37 tile_size: TileSize, 38 tile_sel: TileSel,
        39 flags: MatmulFlags, 40 perf_mode: MxPerfMode, 48 dst: Tensor<3>
    }
    S3_LT events unproven[34..38, 40..44, 47..64] {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 force_tag_bits: u8, 38 num_active_rows: u8,
        39 num_active_cols: u8, 44 row_grp: u8, 45 col_grp: u8, 46 active_row_mode: u8
    }
    S4D3_MM events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 fp32_mode: Fp32Mode, 34 out_dtype: Dtype,
        35 perf_opt: u8, 38 num_active_rows: u8, 39 num_active_cols: u8, 43 psum_accumulate_flags: PsumAcc,
        44 row_grp: u8, 45 col_grp: u8, 46 active_row_mode: u8, 47 psum_zero_region: u8, 48 dst: Tensor<3>
    }
    SMX1_LW events unproven[12..16, 33..38, 40..44, 46..64] {
        16 src: MxPattern1, 32 in_dtype: Dtype, 38 num_active_rows: u8, 39 num_active_cols: u8,
        44 row_grp: u8, 45 col_grp: u8
    }
    SMX1D3_MM events unproven[12..16, 33..38, 41..43, 46..47] {
        16 src: MxPattern1, 32 in_dtype: Dtype, 38 num_active_rows: u8, 39 num_active_cols: u8,
        40 out_dtype: Dtype, 43 psum_accumulate_flags: PsumAcc, 44 row_grp: u8, 45 col_grp: u8,
        47 psum_zero_region: u8, 48 dst: Tensor<3>
    }
    S2S1D2_PE_SEED events {
        12 src_seed: Tensor<2>, 24 identity: Tensor<1>, 32 identity_dtype: Dtype, 33 mode: u8,
        34 num_active_rows: u8, 35 num_active_cols: u8, 36 dst_seed: Tensor<2>
    }
    S4_PB events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 34 num_active_channels: u8, 40 start_index: u32, 44 mask: u32
    }
    S4D4_GT events {
        12 src: Tensor<4>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        36 index_miss_behavior: u8, 37 free_pool_buffer: u8, 40 immediate: Imm, 44 dst: Tensor<4>
    }
    S4D4_IC events unproven[37..38, 42..44] {
        12 src: Indirect20, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        35 src_num_elem_per_idx: u8, 36 dst_num_elem_per_idx: u8, 38 src_buffer_size: u16,
        40 dst_buffer_size: u16, 44 dst: Tensor<4>
    }
    S1D2_SORT events {
        12 num_active_channels: u8, 13 index_offset_src: ImmSrc, 14 in_out_dtype: DtypePair,
        15 comparison: AluOp, 16 src: Tensor<1>, 24 dst: Tensor<2>, 36 index_offset: u32, 40 stable: u8
    }
    S3D3_NONZERO_WITH_COUNT events {
        12 num_active_channels: u8, 13 in_dtype: Dtype, 14 out_dtype: Dtype, 15 index_offset_src: ImmSrc,
        16 src: Tensor<3>, 32 index_offset: Imm, 36 padding_val_src: ImmSrc, 40 padding_val: Imm,
        44 dst: Tensor<3>
    }
    S3D3_SEQ_BOUNDS events {
        12 num_active_channels: u8, 14 in_dtype: Dtype, 15 out_dtype: Dtype, 16 src: Tensor<3>,
        32 dst: Tensor<3>
    }
    S3D3_COLLECTIVE events {
        12 in_dtype: Dtype, 13 out_dtype: Dtype, 16 src: Tensor<3>, 32 lnc_size_fmt: LncSize,
        33 num_active_channels: u8, 48 dst: Tensor<3>
    }
    D3_RAND events {
        12 rand_algorithm: u8, 14 post_process: u8, 32 dtype: Dtype, 34 num_active_channels: u8,
        38 min_src: ImmSrc, 39 max_src: ImmSrc, 40 min: Imm, 44 max: Imm, 48 dst: Tensor<3>
    }
    D4_RAND events {
        12 rand_algorithm: u8, 13 rand_num_steps: u8, 14 post_process: u8, 15 rand_generator: u8,
        16 params: [u32; 4], 32 dtype: Dtype, 34 num_active_channels: u8, 44 dst: Tensor<4>
    }
    S1_RAND events {
        12 rand_algorithm: u8, 13 num_active_channels: u8, 14 update_state: u8, 15 in_dtype: Dtype,
        16 src: Tensor<1>, 24 rand_generator: u8, 32 imm_state: [u32; 8]
    }
    DMA_DIRECT2D events {
        12 dma_configs: u8, 13 semaphore: u8, 14 sem_increment: u8, 15 compute_op: DgeComputeOp,
        16 src_start_addr: Addr8, 24 src_step_elem: [i32; 2], 32 src_num_elem: [u16; 2],
        36 src_elem_size: u16, 38 src_bound_reg: BoundReg, 39 dst_bound_reg: BoundReg,
        40 dst_start_addr: Addr8, 48 dst_step_elem: [i32; 2], 56 dst_num_elem: [u16; 2],
        60 dst_elem_size: u16, 62 in_dtype: Dtype, 63 out_dtype: Dtype
    }
    DMA_INDIRECT1D events {
        12 semaphore: u8, 13 sem_increment: u8, 14 idx_num_active_channels: u8, 15 flags: DmaIndirectFlags,
        16 src_start_addr: Addr8, 24 src_step_elem: i32, 28 src_num_elem: u16, 30 src_elem_size: u16,
        32 dst_start_addr: Addr8, 40 dst_step_elem: i32, 44 dst_num_elem: u16, 46 dst_elem_size: u16,
        48 src_idx_start_addr: Addr4, 52 dst_idx_start_addr: Addr4, 56 in_dtype: Dtype,
        57 out_dtype: Dtype, 58 src_idx_bound_reg: BoundReg, 59 dst_idx_bound_reg: BoundReg,
        60 compute_op: DgeComputeOp, 61 dma_configs: u8
    }
    DMA_DIRECT2D_XPOSE events {
        12 src_bound_reg: BoundReg, 13 dst_bound_reg: BoundReg, 14 in_dtype: Dtype, 15 out_dtype: Dtype,
        16 src_start_addr: Addr8, 24 src_step_elem: [i32; 2], 32 src_num_elem: [u16; 2],
        36 tile_src_row_step: i32, 40 dst_start_addr: Addr8, 48 dst_step_elem: [i32; 2],
        56 dst_num_elem: [u16; 2], 60 tile_src_rows: u8, 61 tile_src_cols: u8, 62 semaphore: u8,
        63 dma_configs: u8
    }
    DMA_GATHER_XPOSE events {
        12 semaphore: u8, 13 dma_configs: u8, 14 idx_num_active_channels: u8,
        15 src_idx_bound_reg: BoundReg, 16 src_start_addr: Addr8, 24 src_step_elem: [i32; 2],
        32 src_num_elem: [u16; 2], 36 src_idx_start_addr: Addr4, 40 dst_start_addr: Addr8,
        51 dst_bound_reg: BoundReg, 52 dst_step_elem_1: i32, 56 dst_num_elem: [u16; 2], 60 elem_size: u16,
        62 dtype: DtypePair, 63 flags: u8
    }
    DMA_COPY2D noevents {
        4 wait_sema_value: u32, 8 wait_sema_idx: u8, 9 wait_sema_mode: WaitMode, 10 dma_engines: Bits,
        11 dma_flags: Bits, 12 addr_mode: Bits, 13 sema_update_mode: Bits, 14 rd_done_sema_update_idx: u16,
        16 src_start_addr: Addr8, 24 src_step_elem: [i32; 2], 32 src_num_elem: [u16; 2],
        36 src_elem_size: u16, 38 wr_done_sema_update_idx: u16, 40 dst_start_addr: Addr8,
        48 dst_step_elem: [i32; 2], 56 dst_num_elem: [u16; 2], 60 dst_elem_size: u16, 62 remote_core_id: u8
    }
    DMA_IMMEDIATE noevents {
        4 wait_sema_value: u32, 8 wait_sema_idx: u8, 9 wait_sema_mode: WaitMode, 10 dma_engines: Bits,
        11 dma_flags: Bits, 12 descriptor_flags: Bits, 13 descriptor_reg: Regs<3>,
        16 descriptor_imm: [u8; 48]
    }
    EXTENDED events {
        12 extended_opcode: u8, 13 completion_info: Bits, 14 inst_specific0: [u8; 18],
        32 inst_specific1: [u8; 32]
    }
    EXTENDED_TTA events {
        12 extended_opcode: u8, 13 completion_info: Bits, 14 in0_in1_dtype: DtypePair, 15 out_dtype: Dtype,
        16 op: AluOp, 20 src0: Tensor<2>, 32 src1: Tensor<2>, 44 dst: Tensor<2>
    }
    EXTENDED_RDMA_DESC_GEN events unproven[42..64] {
        12 extended_opcode: u8, 13 completion_info: Bits, 14 local_sem: u8, 15 remote_sem: u8,
        16 remote_core_id: Imm, 20 remote_routing_id: Imm, 24 dma_engine_mask: Imm, 28 src_addr: Addr4,
        32 dst_addr: Addr4, 36 free_dim_bytes: u32, 40 is_bidirectional: u8, 41 remote_sem_prev: u8
    }
    EXTENDED_RDMA_DESC_START events unproven[14..64] {
        12 extended_opcode: u8, 13 completion_info: Bits
    }
    PSEUDO_DMA_TRIGGER events {
        12 dma_queue_name: Name<32>, 44 use_raw_count: u32, 48 block_id_or_count: u32
    }
    PSEUDO_DMA_BARRIER events {
        12 barrier_metadata: u32
    }
    PSEUDO_BRANCH_LABEL events unproven[12..64] {
    }
    PSEUDO_TRIGGER_COLLECTIVE events {
        12 op: AluOp, 13 dtype: Dtype, 14 group_id: u16, 16 input_tensor_id: u32, 20 output_tensor_id: u32,
        24 num_elements: u64, 32 ctype: u8, 48 src_offset_elems: u64, 56 dst_offset_elems: u64
    }
    PSEUDO_FUNCTION_BEGIN events {
        12 function_name: Name<36>, 48 return_reset_semaphores: u8, 49 return_addr_reg_lo: u8,
        50 return_addr_reg_hi: u8
    }
    PSEUDO_FUNCTION_CALL events {
        12 function_name: Name<36>, 48 args_table_var_id: u32
    }
    PSEUDO_SYNC_BARRIER events {
    }
    PSEUDO_CORE_BARRIER events {
        12 id: u32, 16 semaphore: u32
    }
    PSEUDO_INST events unproven[13..64] {
        12 pseudo_opcode: u8
    }
    PSEUDO_EMBEDDING_UPDATE events unproven[14..16, 54..56, 62..64] {
        12 embed_data_dtype: Dtype, 13 cce_op: CceOp, 16 embed_index_in: Tensor<1>,
        24 embed_data_in: Tensor<2>, 36 desc_mem_pattern: Tensor<1>, 44 embedding_table_base_addr: u32,
        48 embed_entry_num_elements: u16, 50 embed_entry_stride_bytes_lo: u16, 52 sequence_length: u16,
        56 embedding_table_num_entries: Addr4, 60 embed_entry_stride_bytes_hi: u16
    }
    PSEUDO_DMA_DIRECT2D events {
        12 dma_configs: u8, 13 semaphore: u8, 14 sem_increment: u8, 15 dge_op: DgeOpcode,
        16 src_start_addr: Addr8, 24 src_step_elem: [i32; 2], 32 src_num_elem: [u16; 2],
        36 src_elem_size: u16, 38 src_bound_reg: BoundReg, 39 dst_bound_reg: BoundReg,
        40 dst_start_addr: Addr8, 48 dst_step_elem: [i32; 2], 56 dst_num_elem: [u16; 2],
        60 dst_elem_size: u16, 62 in_dtype: Dtype, 63 out_dtype: Dtype
    }
    PSEUDO_SET_RNG_SEED events unproven[13..16, 20..64] {
        12 seed_src: ImmSrc, 16 seed: Imm
    }
    S3S3D1_BN events {
        12 imm0: Ptr, 16 src0: Tensor<3>, 32 src1: Tensor<3>, 48 dst: Tensor<1>, 56 imm1: Ptr,
        60 in0_in1_dtype: DtypePair, 61 immediate_dtype: Dtype, 62 out_dtype: Dtype,
        63 num_active_channels: u8
    }
    S3S3D1_BN2 events {
        12 imm0: Imm, 16 src0: Tensor<3>, 32 src1: Tensor<3>, 48 dst: Tensor<1>, 56 imm1: Imm,
        60 in0_in1_dtype: DtypePair, 61 imm_out_dtype: DtypePair, 62 imm_src: ImmSrcPair,
        63 num_active_channels: u8
    }
    S2D2_ADDR events {
        12 src: Tensor<2>, 24 imm0: u64, 32 imm1: u64, 40 imm_dtype: DtypePair, 41 in_out_dtype: DtypePair,
        42 imm0_src: ImmSrc, 43 imm1_src: ImmSrc, 44 op0: AluOp, 45 op1: AluOp, 46 num_active_channels: u8,
        47 reverse_operands: ReverseOps, 52 dst: Tensor<2>
    }
    S3D3_DROPOUT events {
        16 src: Tensor<3>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        35 threshold_src: ImmSrc, 36 threshold_dtype: Dtype, 43 threshold_type: u8, 44 threshold: Imm,
        48 dst: Tensor<3>
    }
    S3D3_SC events unproven[35..36] {
        12 in_dtype: Dtype, 13 transpose_src: u8, 16 src: Tensor<3>, 32 out_data_dtype: Dtype,
        33 out_struct_dtype: Dtype, 34 num_active_channels: u8, 36 op: u8, 37 op_dim: Subdim,
        48 dst: Tensor<3>
    }
    S2D2D2_SC events unproven[35..36] {
        12 in_dtype: Dtype, 13 transpose_src: u8, 14 packed_tags: u8, 20 src: Tensor<2>,
        32 out_data_dtype: Dtype, 33 out_tag_dtype: Dtype, 34 num_active_channels: u8, 36 op: u8,
        37 op_dim: Subdim, 40 data_dst: Tensor<2>, 52 tag_dst: Tensor<2>
    }
    S3D3_TENS_DEQUANT events {
        12 src: Tensor<3>, 32 in_dtype: Dtype, 33 out_dtype: Dtype, 34 num_active_channels: u8,
        35 dequant_fmt: u8, 36 group_size: u8, 44 dst: Tensor<3>
    }
    S2_CONVLUT events {
        16 src: Tensor<2>, 32 in_dtype: Dtype, 38 num_active_rows: u8, 39 num_active_cols: u8,
        40 multiplicative_const: [u16; 2], 44 row_grp: u8, 45 col_grp: u8, 46 block_size: u8,
        47 lut_dtype: Dtype
    }
    S3DMX1_QUANT events unproven[12..64] {
    }
    MODIFY_POOL_CONFIG events unproven[14..16] {
        12 modify_op: u8, 13 core_mask: u8, 16 soc_addr: u64, 24 library_index: u32, 28 library_size: u32
    }
    CUSTOM_OP_HEADER events unproven[17..20, 29..64] {
        12 num_payloads: u16, 14 function_id: u8, 15 num_arguments: u8, 16 has_scratch: u8,
        20 scratch_addr: Addr4, 24 scratch_size: u32, 28 scratch_partitions: u8
    }
    CUSTOM_OP_PAYLOAD events unproven[12..15] {
        15 arg_type: u8, 16 arg: [u8; 48]
    }
    PSEUDO_DMA_MEMCPY_FULL_IND events unproven[61..64] {
        12 indirect_start_offset: u32, 16 indirect_step_elem: [i32; 2], 24 indirect_num_elem: [u32; 2],
        32 direct_start_offset: u32, 36 direct_step_elem: [i32; 2], 44 direct_num_elem: [u32; 2],
        52 direct_elem_size: u32, 56 direct_var_id: u16, 58 semaphore_wait_value: u16,
        60 indirection_mode: u8
    }
    PSEUDO_EXTENSION noevents {
        1 flags: DmaIndirectFlags, 2 idx_num_active_channels: u8, 3 compute_op: DgeComputeOp,
        4 src_idx_start_addr: Addr4, 8 dst_idx_start_addr: Addr4, 12 src_bound_size_bytes: u32,
        16 dst_bound_size_bytes: u32, 20 tile_src_row_step: i32, 24 tile_src_rows: u8,
        25 tile_src_cols: u8, 56 src_bound_size_hi: u32, 60 dst_bound_size_hi: u32
    }
    PSEUDO_MEM_2D events {
        12 dtype: Dtype, 13 src_datasrc: DataSrc, 14 num_elem: [u8; 2], 16 var_id: u32, 20 var_offset: u32,
        24 step_elem: [i32; 2], 32 data: [u8; 32]
    }
    CTRL_BR_HINT events unproven[12..64] {
    }
    CTRL_RS events unproven[12..64] {
    }
    S2S2D3_ROI events unproven[12..64] {
    }
    S2D2_JPEG events unproven[12..64] {
    }
    UNKNOWN events unproven[12..64] {
    }

}
