//! The opcode table: every opcode is declared here and nowhere else (chapter 03 section 8).
//!
//! Columns: byte, name (`as` the name that operand text shows), presence on S C M V, engines that may
//! run it, family, operand struct (one for all generations, or one each), and what executing it does:
//!
//! * `run path`: the interpreter function `interp::path`; its validity rules are `check::path`;
//! * `refuse "why"`: an unsupported word in every mode, because the manual leaves it undefined;
//! * `later`: defined by the manual, not implemented here yet.
//!
//! A row that runs may end in `=> how`: how native code is made for it, see [`Lowering`]; a row without
//! has none yet and is interpreted in every tier.
//!
//! Presence: `Y` yes, `d` present but dormant, `u` present without the maintained flag, `-` absent.

use super::layouts::LayoutId;
use super::{EngineId, Generation, Word};

/// Groups of opcodes that share operand structs and code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Family {
    Pe,
    Activation,
    TensorTensor,
    TensorReduce,
    TensorScalar,
    Copy,
    Fill,
    Pool,
    Scan,
    ScalarTensorTensor,
    Select,
    BatchNorm,
    Search,
    Shuffle,
    State,
    Random,
    Gather,
    Sort,
    Quantize,
    Custom,
    Control,
    Dma,
    Collective,
    Pseudo,
    Invalid,
}

/// Presence of an opcode on a generation (chapter 03 section 8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// In the enum and maintained.
    Present,
    /// In the enum; the vendor no longer maintains it.
    Dormant,
    /// In the enum without any flag.
    Unflagged,
    /// Not in the enum: a decode error.
    Absent,
}

/// What executing a word does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Execution {
    /// An interpreter function exists.
    Run,
    /// The manual leaves the word undefined; the text says what is missing.
    Refuse(&'static str),
    /// Defined by the manual and not implemented yet.
    Later,
}

/// How native code is made for an opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lowering {
    /// Compiled in place, from the function of the same path in the translator.
    Inline,
    /// Native code calls a SIMD kernel, because arithmetic dominates.
    Kernel,
    /// The interpreter's function runs it in every tier: transfers, searching, sorting, gathering, random numbers,
    /// collectives and extended instructions.
    Call,
    /// The sequencer does what it wants, in every tier: it stops the engine, or makes it read its words again.
    Sequencer,
    /// The interpreter runs it.
    NotYet,
}

impl Lowering {
    /// The name in the opcode table.
    pub fn text(self) -> &'static str {
        match self {
            Lowering::Inline => "inline",
            Lowering::Kernel => "kernel",
            Lowering::Call => "call",
            Lowering::Sequencer => "sequencer",
            Lowering::NotYet => "not yet",
        }
    }
}

/// One row of the opcode table.
#[derive(Debug)]
pub struct OpcodeInfo {
    /// Header byte 0.
    pub byte: u8,
    /// The manual's name.
    pub name: &'static str,
    /// The name in operand text.
    pub display: &'static str,
    /// Presence on SUNDA, CAYMAN, MARIANA, MAVERICK.
    pub presence: [Presence; 4],
    /// Engines whose streams may hold it.
    pub engines: &'static [EngineId],
    /// Its family.
    pub family: Family,
    /// Operand struct per generation.
    pub layouts: [LayoutId; 4],
    /// What executing it does.
    pub execution: Execution,
    /// How native code is made for it.
    pub lowering: Lowering,
}

/// Hands the opcode table to the macro `$callback`, row by row, so that other modules can derive
/// their own tables from it: the interpreter its dispatch table, for instance.
#[macro_export]
macro_rules! for_each_opcode {
    ($callback:ident) => { $callback! {
    0x01 LDWEIGHTS                                 [Y Y Y Y] [PE          ] Pe                  [S3_LW_V2 S3_LW_V3 S3_LW_V4 S3_LW_V5] run pe::ldweights => kernel;
    0x02 MATMUL                                    [Y Y Y Y] [PE          ] Pe                  [S3D3_MM_V2 S3D3_MM_V3 S3D3_MM_V4 S3D3_MM_V5] run pe::matmul => kernel;
    0x03 PE_REG_WRITE                              [Y Y Y Y] [PE          ] Pe                  [UNKNOWN] refuse "payload layout not recovered";
    0x04 WEIGHT_MASK                               [d d d d] [PE          ] Pe                  [UNKNOWN] refuse "instruction of an older chip";
    0x05 WEIGHT_SHIFT                              [d d d d] [PE          ] Pe                  [UNKNOWN] refuse "instruction of an older chip";
    0x06 LDTAGS                                    [- Y Y Y] [PE          ] Pe                  [S3_LT] run pe::ldtags => kernel;
    0x07 MATMUL_SPARSE                             [- Y Y Y] [PE          ] Pe                  [S4D3_MM] run pe::matmul_sparse => kernel;
    0x08 PE_MANAGE_SEED                            [- - Y Y] [PE          ] Pe                  [S2S1D2_PE_SEED] run pe::manage_seed => kernel;
    0x09 LDWEIGHTS_MX                              [- - Y Y] [PE          ] Pe                  [SMX1_LW] run pe::ldweights => kernel;
    0x0A MATMUL_MX                                 [- - Y Y] [PE          ] Pe                  [SMX1D3_MM] run pe::matmul => kernel;
    0x21 ACTIVATE                                  [Y Y Y Y] [ACT         ] Activation          [S3D3_AC] run activation::activate => kernel;
    0x22 ACTIVATE_QUANTIZE                         [Y Y Y Y] [ACT         ] Activation          [S3D3_AQ] run activation::quantize => kernel;
    0x23 ACTIVATION_TABLE_LOAD as ACT_TABLE_LOAD   [Y Y Y Y] [ACT         ] Activation          [CTRL_NO_23] run activation::table_load => kernel;
    0x24 ACTIVATION_READ_ACCUMULATOR               [Y Y Y Y] [ACT         ] Activation          [D1_RD] run activation::read_accumulator => kernel;
    0x25 ACTIVATE2                                 [- - Y Y] [ACT         ] Activation          [S2D2_AC] run activate2::activate2 => kernel;
    0x26 ACTIVATE_MULTIPASS                        [- - - Y] [ACT         ] Activation          [S1S2D2_AM] refuse "no device body known";
    0x30 EXPONENTIAL                               [u u u u] [DVE         ] Activation          [S3D3_TS] run exponential::exponential => kernel;
    0x41 TENSOR_TENSOR_ARITH_OP as TENSOR_TENSOR   [Y Y Y Y] [POOL DVE    ] TensorTensor        [S3S3D3_TT] run tensor_tensor::arith => inline;
    0x42 TENSOR_REDUCE_ARITH_OP as TENSOR_REDUCE   [Y Y Y Y] [POOL DVE    ] TensorReduce        [S4D4_TR] run tensor_reduce::arith => kernel;
    0x43 TENSOR_SCALAR_ARITH_OP as TENSOR_SCALAR   [Y Y Y Y] [POOL DVE ACT] TensorScalar        [S3D3_TS] run tensor_scalar::arith => inline;
    0x44 TENSOR_SCALAR_PTR_ARITH_OP                [d d d d] [POOL DVE    ] TensorScalar        [S3D3_TS] run tensor_scalar::ptr_arith => kernel;
    0x45 POOL                                      [Y Y Y Y] [POOL DVE    ] Pool                [S4D4_PL] run pool::pool => kernel;
    0x46 COPY                                      [Y Y Y Y] [POOL DVE ACT] Copy                [S4D4_TR] run copy::copy => inline;
    0x47 CAST                                      [Y Y Y Y] [POOL DVE ACT] Copy                [S4D4_TR] run copy::cast => inline;
    0x48 RECIPROCAL                                [Y Y Y Y] [POOL DVE    ] Copy                [S4D4_TR] run copy::reciprocal => inline;
    0x49 MEMSET                                    [Y Y Y Y] [POOL DVE    ] Fill                [D4_MR] run fill::memset => inline;
    0x4A REG_LOAD                                  [d d d d] [POOL        ] State               [UNKNOWN] refuse "dormant, semantics not recovered";
    0x4B REG_STORE                                 [d d d d] [POOL        ] State               [D4_MR] refuse "dormant, semantics not recovered";
    0x4C REG_SHUFFLE                               [d d d d] [POOL        ] State               [CTRL_RS] refuse "dormant, semantics not recovered";
    0x4D RNG                                       [Y Y Y Y] [POOL DVE    ] Fill                [D4_MR] run random::rng => call;
    0x4E TENSOR_CUMULATIVE_ARITH_OP                [Y Y Y Y] [DVE         ] Scan                [S4D4_TR] run scan::cumulative_arith => kernel;
    0x4F TENSOR_SCALAR_PTR_MULTI_ARITH             [d d d d] [DVE         ] TensorScalar        [S4D4_TSM] run tensor_scalar_multi::arith => kernel;
    0x51 TENSOR_TENSOR_BITVEC_OP                   [Y Y Y Y] [POOL DVE    ] TensorTensor        [S3S3D3_TT] run tensor_tensor::bitvec => inline;
    0x52 TENSOR_REDUCE_BITVEC_OP                   [Y Y Y Y] [POOL DVE    ] TensorReduce        [S4D4_TR] run tensor_reduce::bitvec => kernel;
    0x53 TENSOR_SCALAR_BITVEC_OP                   [Y Y Y Y] [DVE         ] TensorScalar        [S3D3_TS] run tensor_scalar::bitvec => inline;
    0x54 TENSOR_SCALAR_PTR_BITVEC_OP               [d d d d] [DVE         ] TensorScalar        [S3D3_TS] run tensor_scalar::ptr_bitvec => kernel;
    0x58 MAX_POOL_SELECT                           [Y Y Y Y] [POOL DVE    ] Pool                [S4D4_PL] run pool::max_pool_select => kernel;
    0x5E TENSOR_CUMULATIVE_BITVEC_OP               [Y Y Y Y] [DVE         ] Scan                [S4D4_TR] run scan::cumulative_bitvec => kernel;
    0x5F TENSOR_SCALAR_PTR_MULTI_BITVEC            [d d d d] [DVE         ] TensorScalar        [S4D4_TSM] run tensor_scalar_multi::bitvec => kernel;
    0x60 BATCH_NORM_STATS                          [d d d d] [DVE         ] BatchNorm           [S4D2_BN] run batch_norm::stats => kernel;
    0x61 BATCH_NORM_STATS2                         [Y Y Y Y] [DVE         ] BatchNorm           [S4D2_BN] run batch_norm::stats2 => kernel;
    0x62 BATCH_NORM_AGGREGATE                      [Y Y Y Y] [DVE         ] BatchNorm           [S4D2_BN] run batch_norm::aggregate => kernel;
    0x63 BATCH_NORM_GRAD_ACCUMULATE                [d d d d] [DVE         ] BatchNorm           [S3S3D1_BN] run batch_norm_grad::accumulate => kernel;
    0x64 BATCH_NORM_PARAM_LOAD                     [d d d d] [DVE         ] BatchNorm           [S2_BN] run batch_norm_grad::param_load => kernel;
    0x65 BATCH_NORM_BACK_PROP                      [Y Y Y Y] [DVE         ] BatchNorm           [S3S3D3_TT] run batch_norm_grad::back_prop => kernel;
    0x66 LOAD_PARAMETER_RAM                        [Y Y Y Y] [DVE         ] BatchNorm           [CTRL_IM] run batch_norm::load_parameter_ram => kernel;
    0x67 POOL_BUFFER_LOAD                          [Y Y Y Y] [POOL        ] Gather              [S4_PB] run gather::pool_buffer_load => call;
    0x68 GATHER                                    [Y Y Y Y] [POOL        ] Gather              [S4D4_GT] run gather::gather => call;
    0x69 LOAD_MASK_SELECT                          [Y Y Y Y] [DVE         ] Shuffle             [CTRL_IM] run shuffle::load_mask => kernel;
    0x6A STREAM_SHUFFLE                            [Y Y Y Y] [DVE         ] Shuffle             [S4D4_TR] run shuffle::stream_shuffle => kernel;
    0x6B STREAM_TRANSPOSE                          [Y Y Y Y] [DVE         ] Shuffle             [S4D4_TR] run shuffle::stream_transpose => kernel;
    0x6C MAX8                                      [Y Y Y Y] [DVE         ] Search              [S4D2_BN] run search::max8 => call;
    0x6D MATCH_VALUE_LOAD                          [Y Y Y Y] [DVE         ] Search              [S2_BN] run search::match_value_load => call;
    0x6E FIND_INDEX8                               [Y Y Y Y] [DVE         ] Search              [S4D2_BN] run search::find_index8 => call;
    0x6F MATCH_REPLACE8                            [Y Y Y Y] [DVE         ] Search              [S4D4_MR] run search::match_replace8 => call;
    0x70 TENSOR_SCALAR_IMM_LD_ARITH                [d d d d] [DVE         ] TensorScalar        [S2_BN] run tensor_scalar_multi::load_arith => kernel;
    0x71 TENSOR_SCALAR_IMM_LD_BITVEC               [d d d d] [DVE         ] TensorScalar        [S2_BN] run tensor_scalar_multi::load_bitvec => kernel;
    0x72 COPY_PREDICATED                           [Y Y Y Y] [DVE         ] Select              [S3S3D3_TT] run predicated::copy => inline;
    0x73 ROI_ALIGN                                 [d d d d] [POOL        ] Pool                [S2S2D3_ROI] refuse "dormant, payload layout not recovered";
    0x74 TENSOR_SCALAR_ADDR                        [Y Y Y Y] [POOL        ] TensorScalar        [S2D2_ADDR] run tensor_scalar_addr::addr => kernel;
    0x76 RAND                                      [d d d d] [DVE         ] Random              [D4_RAND] refuse "dormant, semantics not recovered";
    0x77 RAND_GET_STATE                            [Y Y Y Y] [POOL DVE ACT] Random              [D4_RAND] run random::get_state => call;
    0x78 RAND_SET_STATE                            [Y Y Y Y] [POOL DVE ACT] Random              [S1_RAND] run random::set_state => call;
    0x79 EMBEDDING_UPDATE                          [Y Y Y Y] [POOL        ] Gather              [UNKNOWN] refuse "payload layout not recovered";
    0x7A LOAD_POOL_ARGUMENT                        [Y Y Y Y] [POOL        ] Gather              [CTRL_IM] run gather::pool_argument => call;
    0x7B TENSOR_DEQUANTIZE                         [Y Y Y Y] [POOL        ] Quantize            [S3D3_TENS_DEQUANT] run dequantize::dequantize => kernel;
    0x7C CROSS_LANE_REDUCE_ARITH                   [Y Y Y Y] [POOL        ] TensorReduce        [S4D4_CR] run cross_lane::arith => kernel;
    0x7D CROSS_LANE_REDUCE_BITVEC                  [Y Y Y Y] [POOL        ] TensorReduce        [S4D4_CR] run cross_lane::bitvec => kernel;
    0x7E IOTA                                      [Y Y Y Y] [POOL        ] Fill                [D4_IOTA] run generator::iota => kernel;
    0x7F DROPOUT                                   [Y Y Y Y] [DVE         ] Random              [S3D3_DROPOUT] run random::dropout => call;
    0x81 JPEG_DECODE                               [- d d d] [POOL        ] Custom              [S2D2_JPEG] refuse "payload layout not recovered";
    0x82 TRANSPOSE_BATCH_NORM_STATS2               [Y Y Y Y] [DVE         ] BatchNorm           [S4D2_BN] run batch_norm::transpose_stats2 => kernel;
    0x83 TRANSPOSE_TENSOR_REDUCE_ARITH_OP          [Y Y Y Y] [DVE         ] TensorReduce        [S4D4_TR] run tensor_reduce::transpose_arith => kernel;
    0x84 TRANSPOSE_TENSOR_REDUCE_BITVEC_OP         [Y Y Y Y] [DVE         ] TensorReduce        [S4D4_TR] run tensor_reduce::transpose_bitvec => kernel;
    0x85 CUSTOM_OP_HEADER                          [Y Y Y Y] [POOL        ] Custom              [CUSTOM_OP_HEADER] refuse "custom operators need a host callback";
    0x86 CUSTOM_OP_PAYLOAD                         [Y Y Y Y] [POOL        ] Custom              [CUSTOM_OP_PAYLOAD] refuse "custom operators need a host callback";
    0x87 TENSOR_SCALAR_PTR_MULTI_DUAL_ARITH        [d - - -] [DVE         ] TensorScalar        [S4D4_TSM] refuse "no microprogram on any generation";
    0x88 TENSOR_SCALAR_PTR_MULTI_DUAL_BITVEC       [d - - -] [DVE         ] TensorScalar        [S4D4_TSM] refuse "no microprogram on any generation";
    0x8A TENSOR_TENSOR_ADD_BF16                    [Y - - -] [POOL DVE    ] TensorTensor        [S3S3D3_TT] run tensor_tensor::add_bf16 => kernel;
    0x8B TENSOR_TENSOR_MULT_BF16                   [Y - - -] [POOL DVE    ] TensorTensor        [S3S3D3_TT] run tensor_tensor::mult_bf16 => kernel;
    0x8C TENSOR_REDUCE_ADD_BF16                    [Y - - -] [POOL DVE    ] TensorReduce        [S4D4_TR] run tensor_reduce::add_bf16 => kernel;
    0x8D TENSOR_REDUCE_MAX_BF16                    [Y - - -] [POOL DVE    ] TensorReduce        [S4D4_TR] run tensor_reduce::max_bf16 => kernel;
    0x8E BATCH_NORM_PARAM_LOAD2                    [Y Y Y Y] [DVE         ] BatchNorm           [S2_BNPL2] run batch_norm_grad::param_load2 => kernel;
    0x8F TENSOR_TENSOR_SUB_BF16                    [Y - - -] [POOL DVE    ] TensorTensor        [S3S3D3_TT] run tensor_tensor::sub_bf16 => kernel;
    0x92 TENSOR_SCALAR_AFFINE_SELECT               [Y Y Y Y] [POOL        ] Select              [S2D2_TS_AS] run select::affine_select => kernel;
    0x93 TRANSPOSE_TENSOR_SCALAR_ARITH_OP          [Y Y Y Y] [DVE         ] TensorScalar        [S3D3_TS] run tensor_scalar::transpose_arith => kernel;
    0x94 BATCH_NORM_GRAD_ACCUMULATE2               [Y Y Y Y] [DVE         ] BatchNorm           [S3S3D1_BN2] run batch_norm_grad::accumulate2 => kernel;
    0x95 MODIFY_POOL_CONFIG                        [Y Y Y Y] [POOL        ] Custom              [MODIFY_POOL_CONFIG] run control::nop => inline;
    0x96 SORT                                      [Y Y Y Y] [POOL        ] Sort                [S1D2_SORT] run sort::sort => call;
    0x98 TENSOR_SCALAR_SELECT                      [Y Y Y Y] [DVE         ] Select              [S3D3_TS_SELECT] run select::tensor_scalar_select => inline;
    0x99 CAST_PREDICATED                           [Y Y Y Y] [DVE         ] Select              [S3S3D3_TT] run predicated::cast => inline;
    0x9A TENSOR_SCALAR_CACHE_REDUCE                [Y Y Y Y] [DVE         ] TensorScalar        [S3D3_TS] run tensor_scalar_cache::reduce => kernel;
    0x9B DVE_READ_ACCUMULATOR                      [Y Y Y Y] [DVE         ] State               [D1_RD] run accumulator::read => kernel;
    0x9C TENSOR_REDUCE_RANGE_CHECK                 [d d d d] [POOL DVE    ] TensorReduce        [UNKNOWN] refuse "payload layout not recovered";
    0x9D SCALAR_TENSOR_TENSOR_ARITH                [Y Y Y Y] [DVE         ] ScalarTensorTensor  [S2S2D2_STT] run scalar_tensor_tensor::arith => inline;
    0x9E SCALAR_TENSOR_TENSOR_BITVEC               [Y Y Y Y] [DVE         ] ScalarTensorTensor  [S2S2D2_STT] run scalar_tensor_tensor::bitvec => inline;
    0x9F ENGINE_NOP                                [Y Y Y Y] [ANY         ] Control             [CTRL_IM] run control::engine_nop => inline;
    0xA0 EVENT_SEMAPHORE                           [Y Y Y Y] [ANY         ] Control             [CTRL_ES] run control::nop => inline;
    0xA1 HALT                                      [Y Y Y Y] [ANY         ] Control             [CTRL_NO_A1] run control::halt => sequencer;
    0xA2 DRAIN                                     [Y Y Y Y] [ANY         ] Control             [CTRL_NO_A2] run control::drain => inline;
    0xA3 INSTRUCTION_FLUSH                         [Y Y Y Y] [ANY         ] Control             [CTRL_NO_A3] run control::flush => sequencer;
    0xA4 NOP                                       [Y Y Y Y] [ANY         ] Control             [CTRL_NO_A4] run control::nop => inline;
    0xA5 WRITE                                     [Y Y Y Y] [ANY         ] Control             [CTRL_WR] run control::write => kernel;
    0xA6 NOTIFY                                    [Y Y Y Y] [ANY         ] Control             [CTRL_NO_A6] run control::notify => kernel;
    0xA7 MOVE                                      [Y Y Y Y] [ANY         ] Control             [CTRL_MV] run control::mov => inline;
    0xA8 ALU_OP                                    [Y Y Y Y] [ANY         ] Control             [CTRL_AL] run register_alu::alu_op => inline;
    0xA9 COMPARE_BRANCH                            [Y Y Y Y] [ANY         ] Control             [CTRL_BR] run control::compare_branch => inline;
    0xAA TENSOR_LOAD                               [Y Y Y Y] [ANY         ] Control             [MEM_2D] run control::tensor_load => kernel;
    0xAB TENSOR_STORE                              [Y Y Y Y] [ANY         ] Control             [MEM_2D] run control::tensor_store => kernel;
    0xB0 EVENT_SEMAPHORE_RANGE_CLEAR               [Y Y Y Y] [ANY         ] Control             [CTRL_ER] run control::range_clear => kernel;
    0xB1 SET_ORDERING_MODE                         [Y Y Y Y] [ANY         ] Control             [CTRL_OM] run control::set_ordering_mode => kernel;
    0xB2 MOVE_SHAPE                                [Y Y Y Y] [ANY         ] Control             [CTRL_MS] run control::move_shape => kernel;
    0xB3 POLL_SEM                                  [Y Y Y Y] [ANY         ] Control             [CTRL_POLL_SEM] run control::poll_sem => kernel;
    0xB4 TEST_EVENT_SEM                            [- - Y Y] [ANY         ] Control             [CTRL_TEST_ES] run test_event::test_event_sem => kernel;
    0xB5 BRANCH_PREFETCH_HINT                      [Y Y Y Y] [ANY         ] Control             [CTRL_BR_HINT] run control::branch_hint => inline;
    0xB6 COMPACT_CONTROL_INST                      [- - - Y] [ANY         ] Control             [CTRL_CCI] refuse "condition codes not recovered";
    0xB8 DMAMEMCPY as DMA_DIRECT2D                 [Y Y Y Y] [ANY         ] Dma                 [DMA_DIRECT2D] run dma::direct2d => call;
    0xB9 DMA_MEMCPY2                               [- - - Y] [ANY         ] Dma                 [DMA_COPY2D] run generated::copy2d => call;
    0xBA DMA_IMMEDIATE                             [- - - Y] [ANY         ] Dma                 [DMA_IMMEDIATE] refuse "descriptor bits not recovered";
    0xBB DMA_INDIRECT                              [Y Y Y Y] [ANY         ] Dma                 [DMA_INDIRECT1D] run generated::indirect => call;
    0xBC RANGE_SELECT                              [- Y Y Y] [DVE         ] Select              [S2D2_RS] run select::range_select => kernel;
    0xBD DMA_TRANSPOSE                             [- Y Y Y] [ANY         ] Dma                 [DMA_DIRECT2D_XPOSE] run generated::transpose => call;
    0xBE GET_SEQUENCE_BOUNDS                       [- Y Y Y] [POOL        ] Sort                [S3D3_SEQ_BOUNDS] run sort::sequence_bounds => call;
    0xBF SB2SB_COLLECTIVE                          [- Y Y Y] [POOL        ] Collective          [S3D3_COLLECTIVE] run collective::sb2sb => call;
    0xC1 PSEUDO_DMATRIGGER as PSEUDO_DMA_TRIGGER   [Y Y Y Y] [ANY         ] Dma                 [PSEUDO_DMA_TRIGGER] run dma::trigger => call;
    0xC2 PSEUDO_DMAREARM                           [Y Y Y Y] [ANY         ] Dma                 [UNKNOWN] refuse "payload layout not recovered";
    0xC3 PSEUDO_DMABARRIER                         [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_DMA_BARRIER] run pseudo::events_only => inline;
    0xC4 PSEUDO_DMAMEMCPY_FULL_IND                 [Y Y Y Y] [ANY         ] Dma                 [PSEUDO_DMA_MEMCPY_FULL_IND] refuse "field widths and semantics not proved";
    0xC5 PSEUDO_SEMAPHORE_SET                      [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] refuse "payload layout not recovered";
    0xC6 PSEUDO_LOAD_ACT_FUNC_SET                  [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] refuse "payload layout not recovered";
    0xC7 PSEUDO_TRIGGER_ALL_REDUCE                 [Y Y Y Y] [ANY         ] Collective          [UNKNOWN] refuse "payload layout not recovered";
    0xC8 PSEUDO_TRIGGER_COLLECTIVE                 [Y Y Y Y] [ANY         ] Collective          [PSEUDO_TRIGGER_COLLECTIVE] run collective::trigger => call;
    0xC9 PSEUDO_READ_VAR_ADDR                      [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] refuse "payload layout not recovered";
    0xCA PSEUDO_EMBEDDING_UPDATE                   [Y Y Y Y] [ANY         ] Gather              [PSEUDO_EMBEDDING_UPDATE] refuse "operand packing not proved";
    0xCB PSEUDO_SEND_RECV                          [Y Y Y Y] [ANY         ] Collective          [UNKNOWN] refuse "payload layout not recovered";
    0xCC PSEUDO_BRANCH_LABEL                       [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_BRANCH_LABEL] run control::branch_label => inline;
    0xCD PSEUDO_TENSOR_STORE                       [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_MEM_2D] run control::pseudo_tensor_store => kernel;
    0xCE PSEUDO_TENSOR_LOAD                        [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_MEM_2D] run control::pseudo_tensor_load => kernel;
    0xCF PSEUDO_DMASWAP_QUEUE_SET                  [Y Y Y Y] [ANY         ] Dma                 [UNKNOWN] refuse "payload layout not recovered";
    0xD0 PSEUDO_SET_RNG_SEED                       [Y Y Y Y] [ANY         ] Random              [PSEUDO_SET_RNG_SEED] run random::set_seed => call;
    0xD1 PSEUDO_FUNCTION_BEGIN                     [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_FUNCTION_BEGIN] run pseudo::events_only => inline;
    0xD2 PSEUDO_FUNCTION_RETURN                    [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] run pseudo::function_return => sequencer;
    0xD3 PSEUDO_FUNCTION_CALL                      [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_FUNCTION_CALL] run pseudo::function_call => sequencer;
    0xD4 PSEUDO_DMA_DIRECT2D                       [Y Y Y Y] [ANY         ] Dma                 [PSEUDO_DMA_DIRECT2D] run dma::pseudo_direct2d => call;
    0xD5 PSEUDO_SYNC_BARRIER                       [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_SYNC_BARRIER] run pseudo::sync_barrier => sequencer;
    0xD6 PSEUDO_RANGE_CHECK                        [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] refuse "payload layout not recovered";
    0xD7 PSEUDO_JPEG_DECODE                        [- Y Y Y] [ANY         ] Custom              [UNKNOWN] refuse "payload layout not recovered";
    0xD8 PSEUDO_CORE_BARRIER                       [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_CORE_BARRIER] run pseudo::core_barrier => sequencer;
    0xD9 PSEUDO_TRIGGER_COLLECTIVE2                [Y Y Y Y] [ANY         ] Collective          [UNKNOWN] refuse "payload layout not recovered";
    0xDA PSEUDO_EXTENSION                          [Y Y Y Y] [ANY         ] Dma                 [PSEUDO_EXTENSION] run pseudo::events_only => inline;
    0xDB PSEUDO_CUR_PROCESSING_RANK_ID             [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] refuse "payload layout not recovered";
    0xDC PSEUDO_GID_LOAD                           [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] refuse "payload layout not recovered";
    0xDD PSEUDO_BRANCH_PREFETCH_HINT               [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] run pseudo::events_only => inline;
    0xDE PSEUDO_TENSOR_COMPLETION                  [Y Y Y Y] [ANY         ] Pseudo              [UNKNOWN] run pseudo::events_only => inline;
    0xDF PSEUDO_INST                               [Y Y Y Y] [ANY         ] Pseudo              [PSEUDO_INST] run pseudo::exit => sequencer;
    0xE0 SPARSITY_COMPRESS                         [- - Y Y] [DVE         ] Quantize            [S3D3_SC] run compress::compress => kernel;
    0xE1 SPARSITY_COMPRESS_TAG                     [- - Y Y] [DVE         ] Quantize            [S2D2D2_SC] run compress::compress_tag => kernel;
    0xE2 RAND2                                     [- - Y Y] [DVE         ] Random              [D3_RAND] run random::rand2 => call;
    0xE3 QUANTIZE_MX                               [- - Y Y] [DVE         ] Quantize            [S3DMX1_QUANT] refuse "field offsets not recovered";
    0xE4 CONV_LUT_LOAD                             [- Y Y Y] [PE POOL     ] Pe                  [S2_CONVLUT] run pe::load_lut => kernel;
    0xE5 TENSOR_TENSOR_SCAN_ARITH                  [Y Y Y Y] [DVE         ] Scan                [S2S2D2_STT] run scan::tensor_tensor => kernel;
    0xE6 TENSOR_SCALAR_CACHE_CUMULATIVE            [Y Y Y Y] [DVE         ] TensorScalar        [S3D3_TS] run tensor_scalar_cache::cumulative => kernel;
    0xE7 INDIRECT_COPY                             [Y Y Y Y] [POOL        ] Gather              [S4D4_IC] run gather::indirect_copy => call;
    0xE8 COPY_PREDICATED_SCALAR                    [Y Y Y Y] [DVE         ] Select              [S3D3_CP_PRED_SCALAR] run predicated::copy_scalar => inline;
    0xE9 DVE_READ_INDICES                          [- Y Y Y] [DVE         ] Search              [D4_MR] run search::read_indices => call;
    0xEA SELECT_REDUCE                             [Y Y Y Y] [DVE         ] Select              [S2S2D2_STT] run select::select_reduce => kernel;
    0xF0 EXTENDED_INST                             [Y Y Y Y] [POOL        ] Custom              [EXTENDED] run extended::run => call;
    0xF1 DMA_GATHER_TRANSPOSE                      [- Y Y Y] [ANY         ] Dma                 [DMA_GATHER_XPOSE] run generated::gather_transpose => call;
    0xF2 NONZERO_WITH_COUNT                        [- Y Y Y] [POOL        ] Sort                [S3D3_NONZERO_WITH_COUNT] run sort::nonzero => call;
    0xF3 TENSOR_TENSOR_INT_WIDE                    [- - - Y] [POOL        ] TensorTensor        [S2S2D2D2_TT] run wide::tensor_tensor => kernel;
    0xF4 TENSOR_SCALAR_INT_WIDE                    [- - - Y] [DVE         ] TensorScalar        [S2D2D2_TS_WIDE] run wide::tensor_scalar => kernel;
    0xFF INVALID                                   [Y Y Y Y] [            ] Invalid             [UNKNOWN] refuse "sentinel, never executed";
    } };
}

macro_rules! opcode_table {
    (@presence Y) => { Presence::Present };
    (@presence d) => { Presence::Dormant };
    (@presence u) => { Presence::Unflagged };
    (@presence -) => { Presence::Absent };
    (@display $name:ident) => { stringify!($name) };
    (@display $name:ident $display:ident) => { stringify!($display) };
    (@engines [ANY]) => { &EngineId::ALL };
    (@engines [$($engine:ident)*]) => { &[$(opcode_table!(@engine $engine)),*] };
    (@engine PE) => { EngineId::Pe };
    (@engine ACT) => { EngineId::Act };
    (@engine POOL) => { EngineId::Pool };
    (@engine DVE) => { EngineId::Dve };
    (@layouts [$all:ident]) => { [LayoutId::$all; 4] };
    (@layouts [$s:ident $c:ident $m:ident $v:ident]) => {
        [LayoutId::$s, LayoutId::$c, LayoutId::$m, LayoutId::$v]
    };
    (@execution run $($path:tt)+) => { Execution::Run };
    (@execution refuse $why:literal) => { Execution::Refuse($why) };
    (@execution later) => { Execution::Later };
    (@lowering) => { Lowering::NotYet };
    (@lowering inline) => { Lowering::Inline };
    (@lowering kernel) => { Lowering::Kernel };
    (@lowering call) => { Lowering::Call };
    (@lowering sequencer) => { Lowering::Sequencer };
    ($($byte:literal $name:ident $(as $display:ident)? [$s:tt $c:tt $m:tt $v:tt] $engines:tt $family:ident
       $layouts:tt $kind:ident $($detail:literal)? $($module:ident :: $function:ident)? $(=> $lowering:ident)?;)*) => {
        /// Opcode bytes by the manual's name.
        #[allow(missing_docs)]
        pub mod op { $(pub const $name: u8 = $byte;)* }

        /// Every opcode, ascending by byte.
        pub const OPCODES: &[OpcodeInfo] = &[$(OpcodeInfo {
            byte: $byte,
            name: stringify!($name),
            display: opcode_table!(@display $name $($display)?),
            presence: [
                opcode_table!(@presence $s), opcode_table!(@presence $c),
                opcode_table!(@presence $m), opcode_table!(@presence $v),
            ],
            engines: opcode_table!(@engines $engines),
            family: Family::$family,
            layouts: opcode_table!(@layouts $layouts),
            execution: opcode_table!(@execution $kind $($detail)? $($module::$function)?),
            lowering: opcode_table!(@lowering $($lowering)?),
        }),*];
    };
}

for_each_opcode!(opcode_table);

/// Bytes to table positions, 0xFF where no opcode has the byte.
const INDEX: [u8; 256] = {
    let mut index = [0xFF; 256];
    let mut i = 0;
    while i < OPCODES.len() {
        index[OPCODES[i].byte as usize] = i as u8;
        i += 1;
    }
    index
};

/// The table row of an opcode byte; `None` if it is unassigned on every generation.
pub fn opcode_info(byte: u8) -> Option<&'static OpcodeInfo> {
    OPCODES.get(usize::from(INDEX[usize::from(byte)]))
}

/// Finds an opcode by the manual's name, by the name in operand text, or by hexadecimal byte.
pub fn parse_opcode(text: &str) -> Option<&'static OpcodeInfo> {
    let named =
        OPCODES.iter().find(|o| text.eq_ignore_ascii_case(o.display) || text.eq_ignore_ascii_case(o.name));
    named.or_else(|| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.len() == 2 { opcode_info(u8::from_str_radix(digits, 16).ok()?) } else { None }
    })
}

impl OpcodeInfo {
    /// Presence on a generation.
    pub fn presence_on(&self, generation: Generation) -> Presence {
        self.presence[generation.index()]
    }

    /// In the enum of this generation, dormant or not.
    pub fn exists_on(&self, generation: Generation) -> bool {
        self.presence_on(generation) != Presence::Absent
    }

    /// Whether this engine may run it (chapter 03 section 8.3).
    pub fn legal_on(&self, engine: EngineId) -> bool {
        self.engines.contains(&engine)
    }

    /// A pseudo-word: resolved by the loader, unknown to the device (chapter 07 section 9).
    pub fn is_pseudo(&self) -> bool {
        (0xC1..=0xDF).contains(&self.byte)
    }

    /// The operand struct of this word; EXTENDED_INST chooses by byte 12 (chapter 03 section 8.2).
    pub fn layout(&self, word: &Word, generation: Generation) -> LayoutId {
        match (self.byte, word.0[12]) {
            (op::EXTENDED_INST, 2) => LayoutId::EXTENDED_TTA,
            (op::EXTENDED_INST, 8) => LayoutId::EXTENDED_RDMA_DESC_GEN,
            (op::EXTENDED_INST, 9) => LayoutId::EXTENDED_RDMA_DESC_START,
            _ => self.layouts[generation.index()],
        }
    }
}
