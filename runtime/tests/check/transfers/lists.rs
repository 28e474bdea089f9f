//! Lists of semaphores, and compression.

use super::*;

pub(super) fn test_events() -> CTRL_TEST_ES {
    let mut evt_sem_ids = [0; 16];
    evt_sem_ids[..2].copy_from_slice(&[40, 41]);
    CTRL_TEST_ES {
        mode: 2,
        update_type: UpdateMode::SEM_ADD_REG_COMPLETE,
        repeat_count: 0,
        num_evt_sem: 2,
        evt_sem_ids,
        value_registers: Regs([5; 16]),
        threshold: 0,
        setter_signature: 7,
    }
}

pub(super) fn compress() -> S3D3_SC {
    S3D3_SC {
        in_dtype: Dtype::FP32,
        transpose_src: 1,
        src: Tensor { num: [16, 4, 1], step: [1, 16, 0], ..line(0, 1) },
        out_data_dtype: Dtype::FP16,
        out_struct_dtype: Dtype::UINT32,
        num_active_channels: 128,
        op: 0x21,
        op_dim: Subdim::X,
        dst: line(0x1000, 16),
    }
}

pub(super) fn compress_tag() -> S2D2D2_SC {
    S2D2D2_SC {
        in_dtype: Dtype::BFLOAT16,
        transpose_src: 0,
        packed_tags: 1,
        src: line(0, 16),
        out_data_dtype: Dtype::FP32R,
        out_tag_dtype: Dtype::UINT16,
        num_active_channels: 128,
        op: 0x08,
        op_dim: Subdim::X,
        data_dst: line(0x1000, 4),
        tag_dst: line(0x2000, 1),
    }
}

pub(super) fn list_cases() -> Vec<Case> {
    let list = |o| word(op::TEST_EVENT_SEM, o);
    let ids = |first: [u8; 3]| {
        let mut ids = [0; 16];
        ids[..3].copy_from_slice(&first);
        ids
    };
    let update = "an update of the mode's cells without an immediate";
    vec![
        error(
            SP_M,
            list(CTRL_TEST_ES { mode: 5, ..test_events() }),
            "field-value",
            (12, "mode"),
            "5",
            "0 to 4",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { num_evt_sem: 0, evt_sem_ids: [0; 16], ..test_events() }),
            "field-value",
            (15, "num_evt_sem"),
            "0",
            "1 to 16",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { evt_sem_ids: ids([40, 40, 0]), ..test_events() }),
            "field-value",
            (17, "evt_sem_ids"),
            "40",
            "an id that is not in the list yet",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { evt_sem_ids: ids([40, 41, 42]), ..test_events() }),
            "field-value",
            (18, "evt_sem_ids"),
            "42",
            "0 behind the last id",
        ),
        error(
            SP_M,
            patch(list(test_events()), 33, &[70]),
            "register-number",
            (33, "value_registers"),
            "70",
            "0..63 or 128..131",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { update_type: UpdateMode::SEM_WR_IMM_COMPLETE, ..test_events() }),
            "field-value",
            (13, "update_type"),
            "0x19",
            update,
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { mode: 3, ..test_events() }),
            "field-value",
            (13, "update_type"),
            "0x95",
            update,
        ),
    ]
}

pub(super) fn compress_cases() -> Vec<Case> {
    let pair = |o| word(op::SPARSITY_COMPRESS, o);
    let tag = |o| word(op::SPARSITY_COMPRESS_TAG, o);
    vec![
        error(
            DVE_M,
            pair(S3D3_SC { op: 4, ..compress() }),
            "field-value",
            (36, "op"),
            "4",
            "8 (MIN), 9 (MAX), 32 (ABS_MIN) or 33 (ABS_MAX)",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { out_struct_dtype: Dtype::UINT16, ..compress() }),
            "dtype",
            (33, "out_struct_dtype"),
            "uint16",
            "uint32",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { num_active_channels: 100, ..compress() }),
            "field-value",
            (13, "transpose_src"),
            "1",
            "0 unless on 32, 64, 96 or 128 lanes",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { transpose_src: 2, ..compress() }),
            "field-value",
            (13, "transpose_src"),
            "2",
            "0 or 1",
        ),
        error(
            DVE_M,
            pair(S3D3_SC {
                src: Tensor { num: [3, 32, 1], step: [1, 3, 0], ..line(0, 1) },
                dst: line(0x1000, 128),
                ..compress()
            }),
            "element-count",
            (26, "src"),
            "96",
            "groups of at least 4 elements",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { dst: line(0x1000, 15), ..compress() }),
            "element-count",
            (58, "dst"),
            "15",
            "16",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { op_dim: Subdim::XYZ, ..compress_tag() }),
            "field-value",
            (37, "op_dim"),
            "4",
            "X or XY",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { out_tag_dtype: Dtype::UINT8, ..compress_tag() }),
            "dtype",
            (33, "out_tag_dtype"),
            "uint8",
            "uint16",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { src: line(0, 20), ..compress_tag() }),
            "field-value",
            (14, "packed_tags"),
            "1",
            "0 in groups of more than 16 elements",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { packed_tags: 2, tag_dst: line(0x2000, 4), ..compress_tag() }),
            "field-value",
            (14, "packed_tags"),
            "2",
            "0 or 1",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC {
                packed_tags: 0,
                out_tag_dtype: Dtype::UINT32,
                tag_dst: line(PSUM, 4),
                ..compress_tag()
            }),
            "memory-space",
            (52, "tag_dst"),
            "psum",
            "sbuf",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { num_active_channels: 32, tag_dst: line(32 << 18, 1), ..compress_tag() }),
            "two-sources",
            (52, "tag_dst"),
            "quadrants 0 and 1",
            "one quadrant of sbuf",
        ),
    ]
}
