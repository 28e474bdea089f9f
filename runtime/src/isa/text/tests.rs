//! Forms worked by hand, and errors.

use super::super::{decode, op};
use super::cursor::AsmErrorKind;
use super::*;

use Generation::{Cayman, Mariana, Maverick, Sunda};

/// A word with a header and bytes at offsets.
fn word(opcode: u8, bytes: &[(usize, &[u8])]) -> Word {
    let mut word = Word::new(opcode);
    for (at, values) in bytes {
        word.0[*at..*at + values.len()].copy_from_slice(values);
    }
    word
}

fn line(word: &Word, generation: Generation) -> Line {
    Line::new(&decode(word, generation).unwrap(), generation, &Names::new())
}

/// An engine that may run the opcode; any for the sentinel.
pub(super) fn engine_of(opcode: &str) -> EngineId {
    let info = parse_opcode(opcode).unwrap();
    info.engines.first().copied().unwrap_or(EngineId::Sp)
}

fn build(opcode: &str, text: &str, generation: Generation) -> Result<Word, AsmError> {
    assemble(opcode, text, engine_of(opcode), generation, &Names::new())
}

/// Word to text, operands and extension apart, and text to word.
#[track_caller]
fn both_ways(word: &Word, generation: Generation, operands: &str, extension: &str) {
    let line = line(word, generation);
    assert_eq!((line.operands.as_str(), line.extension.as_str()), (operands, extension));
    assert_eq!(build(line.opcode, &line.text(), generation).unwrap(), *word);
}

fn hex(rows: [&str; 4]) -> Word {
    Word::from_hex(&rows.concat().replace(' ', "")).unwrap()
}

#[test]
fn worked_tensor_words() {
    // Chapter 03 section 11, words 1 to 4.
    let tensor_tensor = hex([
        "41 10 00 00 05 03 13 07 02 00 00 00 A7 0A 04 40",
        "00 01 00 01 01 00 10 00 00 00 08 00 02 00 01 00",
        "00 08 20 02 00 00 01 00 00 00 08 00 02 00 01 00",
        "40 00 00 00 FF FF 08 00 00 00 08 00 02 00 01 00",
    ]);
    let text = "$S[3]>=2 $S[7]++@complete op=ADD src0=fp16@0x1000100[1,16,0][8,2,1] \
                src1=fp32@0x2200800[0,1,0][8,2,1] dst=fp32@0x40[-1,8,0][8,2,1] channels=64";
    both_ways(&tensor_tensor, Cayman, text, "");

    let tensor_scalar = hex([
        "43 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
        "00 00 00 00 01 00 00 00 00 00 00 04 01 00 01 00",
        "0A 06 80 00 05 06 01 01 00 00 20 41 00 20 00 00",
        "00 10 00 00 01 00 00 00 00 00 00 04 01 00 01 00",
    ]);
    // 41200000 is 10.0 and, in decimal, 1092616192.
    let text = "ops=SUBTRACT,MULTIPLY imm=1092616192,0x2000 imm_src=INSTRUCTION,PTR \
                src=fp32@0x0[1,0,0][1024,1,1] dst=bfloat16@0x1000[1,0,0][1024,1,1] channels=128";
    both_ways(&tensor_scalar, Cayman, text, "+reverse_operands=FIRST");

    let reduce = hex([
        "42 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
        "01 00 00 02 00 00 00 00 00 02 04 00 01 00 01 00",
        "06 0A 80 00 08 02 00 00 00 00 00 00 00 30 00 00",
        "01 00 00 00 00 00 00 00 04 00 01 00 01 00 01 00",
    ]);
    let text = "op=MAX dim=X src=bfloat16@0x0[1,512,0,0][512,4,1,1] dst=fp32@0x3000[1,0,0,0][4,1,1,1] \
                channels=128";
    both_ways(&reduce, Cayman, text, "");

    let matmul = hex([
        "02 10 00 00 00 00 13 09 00 00 00 00 00 00 00 00",
        "00 40 00 00 01 00 00 00 00 00 00 02 01 00 01 00",
        "06 00 00 00 00 00 80 80 00 00 00 03 0F 0F 00 00",
        "00 08 00 02 01 00 00 00 00 00 00 02 01 00 01 00",
    ]);
    let text = "$S[9]++@complete acc_flags=3 src=bfloat16@0x4000[1,0,0][512,1,1] \
                dst=0x2000800[1,0,0][512,1,1] 128*128";
    both_ways(&matmul, Cayman, text, "");
}

#[test]
fn worked_dma_words() {
    // Chapter 03 section 11, word 6.
    let immediate = hex([
        "B8 10 00 00 05 03 00 00 01 00 00 00 00 0C 10 00",
        "00 00 00 00 10 00 00 00 02 00 00 00 00 10 00 00",
        "01 00 80 00 00 10 00 00 00 00 00 00 20 00 00 00",
        "02 00 00 00 00 00 04 00 01 00 80 00 00 10 06 06",
    ]);
    let text = "$S[3]>=1 semaphore=12 sem_increment=16  src_elem_size=4096 dst_elem_size=4096 \
                src_pattern=[2,4096][1,128] dst_pattern=[2,262144][1,128] src_addr_imm=0x1000000000 \
                src_shape_reg=0 dst_addr_imm=0x2000000000 dst_shape_reg=0 compute_op=NONE";
    both_ways(&immediate, Cayman, text, "+in_dtype=bfloat16 +out_dtype=bfloat16");

    // Register pairs and other unseen forms; configuration and bound registers as extensions.
    let registers = word(
        op::DMAMEMCPY,
        &[(12, &[2]), (16, &[7, 8, 0, 0, 0, 0, 0, 0x80]), (39, &[0x85]), (47, &[0x40]), (62, &[10, 10])],
    );
    let text = "semaphore=0 sem_increment=0  src_elem_size=0 dst_elem_size=0 src_pattern=[0,0][0,0] \
                dst_pattern=[0,0][0,0] src_addr=$R[8]:$R[7] src_shape_reg=0 dst_addr=0x4000000000000000 \
                dst_shape_reg=0 compute_op=NONE";
    both_ways(&registers, Cayman, text, "+dma_configs=2 +dst_bound_reg=0x85");

    // Chapter 10 section 16: table entry 0. Chapter 09 section 2.1: hexadecimal here, decimal in D4.
    let parts = "src_table_offset_imm=0x40 src_table_index=3 src_shape_reg=0 dst_addr_imm=0x0";
    let table = word(op::DMAMEMCPY, &[(16, &[0x40, 0, 0, 0, 3, 0, 0, 0x20]), (62, &[10, 10])]);
    assert!(line(&table, Cayman).operands.contains(parts));
    let pseudo = word(op::PSEUDO_DMA_DIRECT2D, &[(16, &[0x50, 0x88, 0, 0, 5, 0, 0, 0x10]), (62, &[10, 6])]);
    let text = "dge_op=DIRECT2D semaphore=0 sem_increment=0  src_elem_size=0 dst_elem_size=0 \
                src_pattern=[0,0][0,0] dst_pattern=[0,0][0,0] src_var_id=5 src_var_offset=34896 \
                src_shape_reg=0 dst_addr_imm=0x0 dst_shape_reg=0 in_dtype=fp32 out_dtype=bfloat16";
    both_ways(&pseudo, Cayman, text, "");
}

#[test]
fn worked_words_of_the_older_sample() {
    // Chapter 07 section 14 and its text in chapter 09 section 2.1.
    let collective = word(
        op::PSEUDO_TRIGGER_COLLECTIVE,
        &[(4, &[4, 10, 0x13, 22]), (12, &[4, 10]), (16, &[3, 0, 0, 0, 4, 0, 0, 0, 32]), (32, &[1])],
    );
    let text = "$S[10]>0 $S[22]++@complete ctype=ALL_REDUCE input_tensor_id=3 output_tensor_id=4 \
                num_elements=32 dtype=fp32 op=ADD group_id=0";
    both_ways(&collective, Sunda, text, "");
    let trigger = word(op::PSEUDO_DMATRIGGER, &[(4, &[4, 22]), (12, b"q_gradient_out")]);
    both_ways(&trigger, Sunda, "$S[22]>0 q_gradient_out block_id=0", "");
    assert!(!line(&trigger, Sunda).marked_ours);
    let wait = word(op::EVENT_SEMAPHORE, &[(4, &[4, 11])]);
    assert_eq!(build("EVENT_SEMAPHORE", "$S[11]>0;", Sunda).unwrap(), wait);
}

#[test]
fn worked_control_words() {
    // Chapter 10 section 16; texts by the rules of chapter 09 section 2.1.
    let cases: [(Word, &str); 12] = [
        (word(op::EVENT_SEMAPHORE, &[(32, &[1, 2, 0x19, 2, 8])]), "setter=0 $S[2]==8 $S[2]=0@complete"),
        (word(op::EVENT_SEMAPHORE, &[(32, &[0, 0, 0x15, 2, 0, 0, 0, 0, 1])]), "setter=0  $S[2]+=1@complete"),
        (word(op::EVENT_SEMAPHORE, &[(4, &[5, 24, 0, 0, 16])]), "$S[24]>=16 setter=0"),
        (word(op::NOP, &[(4, &[7, 4]), (12, &[1])]), "$E[4]==1- cycle=1"),
        (word(op::NOP, &[(6, &[0x11, 3]), (12, &[1])]), "$E[3]+@complete cycle=1"),
        (
            word(op::WRITE, &[(12, &[4, 0]), (16, &[4, 0x18, 0x70, 2, 0x38, 0x80]), (32, &[1])]),
            "data=0x1 size=4 dst=0x803802701804",
        ),
        (word(op::NOTIFY, &[(2, &[9]), (36, &[2, 0, 0, 1])]), "hint=2 notification=EXPLICIT  trace=START"),
        (
            word(op::COMPARE_BRANCH, &[(12, &[3, 8, 3]), (48, &[0x80, 3])]),
            "cmp_op=EQ dtype=int32 cmp0=$R[0] cmp1=0 label_id=896",
        ),
        (
            word(op::COMPARE_BRANCH, &[(3, &[2]), (14, &[3]), (48, &[0, 0xD4, 0xFF, 0xFF])]),
            "cmp_op=ALWAYS label_id=4294956032 debugHint=2",
        ),
        (word(op::COMPARE_BRANCH, &[(14, &[1]), (34, &[1, 2])]), "cmp_op=ALWAYS target=$R[2]:$R[1]"),
        (
            word(op::TENSOR_LOAD, &[(12, &[9, 0, 2, 1, 0, 0x50]), (24, &[1]), (32, &[0x82, 0x83])]),
            "addr=uint32@0x5000[1,0][2,1] data=$R[130],$R[131]",
        ),
        (
            word(op::EVENT_SEMAPHORE_RANGE_CLEAR, &[(12, &[1, 0x36, 0x68])]),
            "mode=SEMAPHORE_ZERO first=54 last=104",
        ),
    ];
    for (word, text) in cases {
        both_ways(&word, Cayman, text, "");
    }
}

#[test]
fn worked_words_of_unseen_forms() {
    // Chapter 09 section 2.1, the decision.
    let moved = word(op::MOVE, &[(12, &[1, 9, 1]), (24, &[0x3D]), (32, &[0, 0, 0x80, 0x3F])]);
    both_ways(&moved, Sunda, "data=0x3f800000 dst=$R[61] dtype=uint32", "");
    let moved = word(op::MOVE, &[(12, &[2, 9]), (16, &[1, 2, 3]), (24, &[4, 5])]);
    both_ways(
        &moved,
        Sunda,
        "data=$R[1],$R[2] dst=$R[4],$R[5] dtype=uint32",
        "+src_registers=$R[1],$R[2],$R[3]",
    );
    let store = word(op::TENSOR_STORE, &[(12, &[9, 1, 2, 1]), (24, &[1]), (32, &[0xF0, 0xFF, 0xFF, 0, 7])]);
    both_ways(&store, Cayman, "addr=uint32@0x0[1,0][2,1] data=0xfffff0,0x7", "");
    let memset = word(
        op::MEMSET,
        &[
            (28, &[64]),
            (32, &[8, 0, 128]),
            (40, &[5]),
            (44, &[0, 0x60, 0, 0, 1]),
            (56, &[64, 0, 1, 0, 1, 0, 1]),
        ],
    );
    both_ways(&memset, Sunda, "value=0x5 dst=int32@0x6000[1,0,0,0][64,1,1,1] channels=128", "");
    let mut short = memset;
    short.0[28] = 63;
    both_ways(&short, Sunda, &line(&memset, Sunda).operands, "+dst_element_count=63");
    let clear = word(op::MODIFY_POOL_CONFIG, &[(12, &[2, 0xFF])]);
    both_ways(&clear, Cayman, "modify_op=2 core_mask=255 soc_addr=0x0 library_index=0 library_size=0", "");
    for word in [moved, store, memset, clear, word(op::HALT, &[])] {
        assert!(line(&word, Cayman).marked_ours);
    }
}

#[test]
fn activate_shows_the_source_of_each_scalar() {
    let tensors: &[u8] = &[0xAA, 0x0A, 128, 7];
    let pointer = word(op::ACTIVATE, &[(32, tensors), (36, &[0, 0, 0x80, 0x3F, 0x10, 0x48])]);
    let text = "EXP bias_ptr=fp32@0x4810 src=fp32@0x0[0,0,0][0,0,0] dst=fp32@0x0[0,0,0][0,0,0] channels=128 \
                scale=1.000000 imm=0.000000 accumulator_cmd=IDLE";
    both_ways(&pointer, Cayman, text, "");
    assert!(!line(&pointer, Cayman).marked_ours);
    // Byte 15 is the inverted enum: 1 is an immediate (chapter 03 section 5).
    let other = word(
        op::ACTIVATE,
        &[(12, &[1, 2, 0, 1]), (32, &[0xAA, 0x0A, 128, 128]), (36, &[9, 0, 0, 0, 0, 0, 0x1C, 0x46, 0x20])],
    );
    let text = "COPY bias=9984.000000 src=fp32@0x0[0,0,0][0,0,0] dst=fp32@0x0[0,0,0][0,0,0] channels=128 \
                scale_ptr=$R[9] imm_ptr=0x20 accumulator_cmd=IDLE";
    both_ways(&other, Cayman, text, "");
    assert!(line(&other, Cayman).marked_ours);
    assert_eq!(build("ACTIVATE", "scale=1", Cayman).unwrap().0[36..40], [0, 0, 0x80, 0x3F]);
}

#[test]
fn floats_keep_every_bit() {
    // Bits of ACTIVATE's scale, their %f, and the extension where that is not exact.
    let cases = [
        (0x3F80_0001, "1.000000", "+scale_value=0x3f800001"),
        (0x8000_0000, "-0.000000", ""),
        (0x7F80_0000, "inf", ""),
        (0x7FC0_0000, "nan", ""),
        (0x7FA0_0000, "nan", "+scale_value=0x7fa00000"),
        (0x3EAA_AAAB, "0.333333", "+scale_value=0x3eaaaaab"),
        (0x3C00_0000, "0.007812", "+scale_value=0x3c000000"),
    ];
    for (bits, text, extension) in cases {
        let word = word(op::ACTIVATE, &[(32, &[0xA0]), (36, &u32::to_le_bytes(bits))]);
        let line = line(&word, Cayman);
        assert!(line.operands.contains(&format!(" scale={text} ")), "{line}");
        assert_eq!(line.extension, extension);
        assert_eq!(build("ACTIVATE", &line.text(), Cayman).unwrap(), word);
    }
    // Fields of kind FP32 print the exact form in place.
    let range_select = word(op::RANGE_SELECT, &[(16, &[1, 0, 0x80, 0x3F]), (20, &[0xFF, 0xFF, 0x7F, 0xFF])]);
    let text = line(&range_select, Cayman).operands;
    assert!(
        text.contains("base=0f3F800001 fill_val=-340282346638528859811704183484516925440.000000"),
        "{text}"
    );
}

#[test]
fn every_wait_and_update_has_its_text() {
    // Chapter 09 section 2.1 and the decision there; codes: chapter 03 sections 2.2 and 2.3.
    let waits = [
        (0x01, "$S[9]==513"),
        (0x02, "$S[9]<513"),
        (0x03, "$S[9]<=513"),
        (0x04, "$S[9]>513"),
        (0x05, "$S[9]>=513"),
        (0x06, "$E[9]==1"),
        (0x07, "$E[9]==1-"),
        (0x0E, "$E[9]==0"),
        (0x0F, "$E[9]==0+"),
        (0x81, "$S[9]==$R[513]"),
        (0x85, "$S[9]>=$R[513]"),
        (0x92, "$S[9]<$R[1]+2"),
    ];
    for (code, text) in waits {
        let word = word(op::NOP, &[(4, &[code, 9, 0, 0, 1, 2])]);
        let valued = code & 0xF < 6;
        both_ways(&word, Maverick, &format!("{text} cycle=0"), if valued { "" } else { "+value=513" });
    }
    let updates = [
        (0x11, "$E[9]+@complete"),
        (0x12, "$E[9]-@complete"),
        (0x01, "$E[9]+@read"),
        (0x13, "$S[9]++@complete"),
        (0x04, "$S[9]--@read"),
        (0x15, "$S[9]+=5@complete"),
        (0x17, "$S[9]-=5@complete"),
        (0x09, "$S[9]=5@read"),
        (0x95, "$S[9]+=$R[5]@complete"),
        (0x87, "$S[9]-=$R[5]@read"),
        (0x99, "$S[9]=$R[5]@complete"),
    ];
    for (code, text) in updates {
        let word = word(op::NOP, &[(6, &[code, 9]), (8, &[5])]);
        let valued = !matches!(code & 0xF, 1..=4);
        both_ways(&word, Cayman, &format!("{text} cycle=0"), if valued { "" } else { "+value=5" });
    }
    let negative = word(op::NOP, &[(4, &[0x95, 1, 0, 0, 3, 0xFF, 0xFF, 0xFF])]);
    both_ways(&negative, Maverick, "$S[1]>=$R[3]-1 cycle=0", "");
}

#[test]
fn extensions_carry_what_the_text_drops() {
    let nop = |bytes: &[(usize, &[u8])]| word(op::NOP, bytes);
    both_ways(&nop(&[(8, &[7])]), Cayman, "cycle=0", "+value=7");
    both_ways(&nop(&[(2, &[5, 6])]), Cayman, "cycle=0", "+debug_cmd=5 +debug_hint=6");
    both_ways(&nop(&[(4, &[8, 1])]), Cayman, "cycle=0", "+wait_mode=0x08 +wait_idx=1");
    both_ways(&nop(&[(4, &[0xFE])]), Mariana, "cycle=0", "+wait_mode=UNORDERED");
    both_ways(&nop(&[(6, &[0, 3])]), Cayman, "cycle=0", "+update_idx=3");
    both_ways(
        &nop(&[(20, &[1, 0, 2]), (47, &[0x1F])]),
        Cayman,
        "cycle=0",
        "+raw[20]=0x01 +raw[22]=0x02 +raw[47]=0x1f",
    );
    let second = word(op::EVENT_SEMAPHORE, &[(12, &[3]), (33, &[4, 0, 5, 6])]);
    both_ways(&second, Cayman, "setter=3", "+ext_wait_idx=4 +ext_update_idx=5 +ext_wait_value=6");
    // Increments of the second block hold a 1 (chapter 10 section 16).
    let text = "setter=0 $S[2]==3 $S[2]++@complete";
    let mut step = word(op::EVENT_SEMAPHORE, &[(32, &[1, 2, 0x13, 2, 3, 0, 0, 0, 1])]);
    both_ways(&step, Cayman, text, "");
    step.0[40] = 0;
    both_ways(&step, Cayman, text, "+ext_update_value=0");
    // What compilers emit in PE words needs no extension (chapter 09 section 3).
    for (generation, opcode, bytes, extension) in [
        (Cayman, op::LDWEIGHTS, [15, 15, 0, 0], ""),
        (Sunda, op::LDWEIGHTS, [15, 15, 15, 0], ""),
        (Sunda, op::LDWEIGHTS, [15, 15, 2, 0], "+xbus_sel=2"),
        (Sunda, op::MATMUL, [15, 15, 16, 0], ""),
        (Cayman, op::MATMUL, [3, 15, 0, 2], "+row_grp=3 +psum_zero_region=2"),
        (Cayman, op::MATMUL, [0, 0, 16, 0], "+row_grp=0 +col_grp=0 +raw[46]=0x10"),
    ] {
        let word = word(opcode, &[(44, &bytes)]);
        assert_eq!(line(&word, generation).extension, extension);
    }
    let quiet = word(op::NOTIFY, &[(36, &[2, 0, 0, 1])]);
    both_ways(&quiet, Cayman, "hint=2 notification=EXPLICIT  trace=START", "+debug_cmd=0");
    let odd = word(op::SET_ORDERING_MODE, &[(12, &[9])]);
    both_ways(&odd, Cayman, "ordering_mode=0x09", "");
}

#[test]
fn address_forms_have_text() {
    // Chapter 03 section 3.3: marker and text of the source of a COPY.
    for (start, text) in [
        (0x0000_4800_u32, "0x4800"),
        (0x1FFF_FFFF, "0x1fffffff"),
        (0x8000_0005, "$R[5]"),
        (0x8000_0105, "0x80000105"),
        (0x4000_4800, "shape:0x4800"),
        (0xC000_0007, "shape:$R[7]"),
        (0x2000_0010, "indirect:0x10"),
        (0xA000_0007, "indirect:$R[7]"),
        (0x6000_0001, "0x60000001"),
    ] {
        let word = word(op::COPY, &[(12, &start.to_le_bytes()), (32, &[10, 10])]);
        let line = line(&word, Cayman);
        assert!(line.operands.starts_with(&format!("src=fp32@{text}[0,0,0,0][0,0,0,0] ")), "{line}");
        assert_eq!(line.marked_ours, start >= 0x2000_0000);
        assert_eq!(build("COPY", &line.text(), Cayman).unwrap(), word);
    }
}

#[test]
fn generic_forms_follow_the_operand_struct() {
    let wide = word(op::EXTENDED_INST, &[(12, &[2, 0x21, 0xA6, 10, 4]), (20, &[0, 1, 0, 0, 1, 0, 2, 0, 3])]);
    let text = "extended_opcode=2 completion_info=0x21 in0_in1_dtype=bfloat16,fp32 out_dtype=fp32 op=ADD \
                src0=0x100[1,2][3,0] src1=0x0[0,0][0,0] dst=0x0[0,0][0,0]";
    both_ways(&wide, Cayman, text, "");
    let call = word(op::PSEUDO_FUNCTION_CALL, &[(12, b"a b")]);
    both_ways(&call, Cayman, "function_name=\"a\\x20b\" args_table_var_id=0", "");
    let gather = word(op::INDIRECT_COPY, &[(12, &[0x10, 0, 0, 0x20, 0, 1, 0, 0, 4, 0, 0xFF])]);
    assert!(line(&gather, Cayman).operands.starts_with("src=indirect:0x10,0x100[4] in_dtype=invalid "));
    assert_eq!(line(&gather, Cayman).extension, "+raw[22]=0xff");
    let iota = word(op::IOTA, &[(12, &[0xFE, 0xFF, 0xFF, 0xFF, 1]), (24, &[8])]);
    assert!(line(&iota, Cayman).operands.starts_with("generator=-2[1,0,0,0][8,0,0,0] out_dtype=invalid "));
    // No EVENTS, and byte 1 is not the length.
    let mut extension = word(op::PSEUDO_EXTENSION, &[(1, &[0x42, 7, 1])]);
    assert!(
        line(&extension, Cayman).text().starts_with("flags=0x42 idx_num_active_channels=7 compute_op=ADD ")
    );
    extension.0[1] = 0x10;
    assert_eq!(build("PSEUDO_EXTENSION", &line(&extension, Cayman).text(), Cayman).unwrap(), extension);
    let compact = word(op::COMPACT_CONTROL_INST, &[(4, &[1, 2])]);
    both_ways(&compact, Maverick, "insts=[513]", "+raw[1]=0x10");
}

#[test]
fn people_may_write_more_freely() {
    let same = [
        "$S[8]>=16 src=fp32@0x10[1,1,1,1][4,1,1,1] dst=fp32@0x20[1,1,1,1][4,1,1,1] channels=128 +row=",
        "S[8]  >=  16 dst = fp32 @ 0x20 [1, 1,1,1] [4,1,1,1]\tchannels=0x80 src=FP32@16[1,1,1,1][4,1,1,1] ;end",
        "src=0xa@0x10[1,1,1,1][4,1,1,1] channels=128 $S[8] (q)>=16 dst=fp32@0x20[1,1,1,1][4,1,1,1]",
        "S[8]>=16 in_dtype=fp32 +out_dtype=fp32 num_active_channels=128 +src=0x10[1,1,1,1][4,1,1,1] \
         +dst=0x20[1,1,1,1][4,1,1,1]",
    ];
    let words: Vec<Word> =
        same.iter().map(|t| build("COPY", t.trim_end_matches(" +row="), Cayman).unwrap()).collect();
    assert!(words.iter().all(|w| *w == words[0]));
    assert_eq!(
        build("TENSOR_SCALAR", "imm=10.0,-1 imm_src=INSTRUCTION,1", Cayman).unwrap().0[40..48],
        [0, 0, 0x20, 0x41, 0xFF, 0xFF, 0xFF, 0xFF]
    );
    let by_manual_name = build("TENSOR_SCALAR_ARITH_OP", "ops=mult,0x05", Cayman).unwrap();
    assert_eq!(by_manual_name.0[36..38], [6, 5]);
    assert_eq!(
        build("nop", "$S[1]++ cycle=3", Cayman).unwrap(),
        word(op::NOP, &[(6, &[0x13, 1]), (12, &[3])])
    );
    let branch = build("COMPARE_BRANCH", "cmp1=$R[3] cmp_op=LT dtype=int32 cmp0=$R[2] label_id=-64", Cayman);
    let expected =
        word(op::COMPARE_BRANCH, &[(12, &[0x81, 8, 3]), (32, &[2, 3]), (48, &[0xC0, 0xFF, 0xFF, 0xFF])]);
    assert_eq!(branch.unwrap(), expected);
}

#[test]
fn semaphore_names_come_from_context() {
    let names: Names = "8=qSyncDynamicHW|5=Tensor".parse().unwrap();
    assert_eq!(names.to_string(), "5=Tensor|8=qSyncDynamicHW");
    let word = word(op::NOP, &[(4, &[5, 8, 0x13, 5, 16])]);
    let text = operand_text(&decode(&word, Cayman).unwrap(), Cayman, &names);
    assert_eq!(text, "S[8] (qSyncDynamicHW)>=16 S[5] (Tensor)++@complete cycle=0");
    assert_eq!(assemble("NOP", &text, EngineId::Sp, Cayman, &names).unwrap(), word);
    let wrong = |text: &str| assemble("NOP", text, EngineId::Sp, Cayman, &names).unwrap_err();
    let error = wrong("S[8] (Tensor)>=16");
    assert_eq!((error.kind, error.at, error.seen.as_str()), (AsmErrorKind::SemaphoreName, 6, "Tensor)>=16"));
    assert_eq!(wrong("S[7] (Tensor)>=16").kind, AsmErrorKind::SemaphoreName);
    assert_eq!("x=Tensor".parse::<Names>(), Err(NamesError::Item("x=Tensor".to_owned())));
    assert_eq!("1=a|1=b".parse::<Names>(), Err(NamesError::Twice(1)));
    assert!(matches!(Names::new().insert(1, "a)b"), Err(NamesError::Name(_))));
    // Chapter 09 section 2.1.
    let mut names = Names::engines();
    names.insert_queue(40, "qActDynamicHW").unwrap();
    names.insert_queue(41, "qPoolDynamic").unwrap();
    names.insert_queue(42, "qSPDynamicHW").unwrap();
    let expected =
        "3=GpSimd|4=Scalar|5=Tensor|6=Vector|40=qScalarDynamicHW|41=qGpSimdDynamic|42=qSyncDynamicHW";
    assert_eq!(names.to_string(), expected);
}

#[test]
fn errors_say_where_and_what() {
    use AsmErrorKind::*;
    let cases = [
        ("COPY", "src=fp33@0x0[1,1,1,1][1,1,1,1]", Syntax, 4, "fp33@0x0[1,1,1,1][1,1,1,1]", "a datatype"),
        ("COPY", "channels=256", Range, 9, "256", "a number from 0 to 255"),
        ("COPY", "src=fp32@0x0[1,1,1][1,1,1,1]", Range, 12, "[1,1,1][1,1,1,1]", "4 numbers in brackets"),
        ("COPY", "src=fp32@0x0[1,1,1,1,1]", Syntax, 20, ",1]", "`]`"),
        ("COPY", "channels=1 channels=2", Duplicate, 11, "channels=2", "every operand only once"),
        ("NOP", "cycle=1x", Syntax, 7, "x", "a blank"),
        ("NOP", "$S[1]>=2 $S[1]>=2", Duplicate, 9, "$S[1]>=2", "one wait and one update"),
        (
            "NOP",
            "$S[1]>=2 $S[1]+=3@complete",
            SharedValue,
            9,
            "$S[1]+=3@complete",
            "the value 2: the wait and the update of a word share it",
        ),
        ("NOP", "$S[300]>=2", Range, 3, "300]>=2", "a number from 0 to 255"),
        ("NOP", "$S[1]!2", Syntax, 5, "!2", "a comparison or an update, such as `>=1` or `++@complete`"),
        ("NOP", "+raw[63]=0x0102", Range, 13, "02", "bytes 1 to 63"),
        ("MOVE", "data=1,2 dst=$R[1]", Range, 13, "$R[1]", "2 values, as many as in front"),
        (
            "TENSOR_LOAD",
            "addr=uint32@0x0[1,0][2,1] data=$R[1]",
            Range,
            31,
            "$R[1]",
            "2 values, as many as in front",
        ),
        (
            "TENSOR_TENSOR",
            "src0=cptc1@0x0",
            Range,
            5,
            "cptc1@0x0",
            "a datatype with a code up to 0xf: this byte holds two",
        ),
        ("SET_ORDERING_MODE", "ordering_mode=lax", Syntax, 14, "lax", "one of relaxed, strict"),
        (
            "NOP",
            "cyle=1",
            Key,
            0,
            "cyle=1",
            "one of: cycle, debug_cmd, debug_hint, wait_mode, wait_idx, update_mode, update_idx, value, cycle_count",
        ),
    ];
    for (opcode, text, kind, at, seen, expected) in cases {
        let error = build(opcode, text, Cayman).unwrap_err();
        let found = (error.kind, error.at, error.seen.as_str(), error.expected.as_str());
        assert_eq!(found, (kind, at, seen, expected), "{opcode} {text}");
    }
    let error = build("NOP", "cycle=1x", Cayman).unwrap_err();
    assert_eq!(error.to_string(), "byte 7 of the operand text: found `x`, expected a blank");
}

#[test]
fn opcodes_are_refused_where_they_do_not_exist() {
    let kind = |opcode, engine, generation| {
        assemble(opcode, "", engine, generation, &Names::new()).map_err(|error| error.kind)
    };
    assert_eq!(kind("NOOP", EngineId::Sp, Cayman), Err(AsmErrorKind::Opcode));
    assert_eq!(kind("LDTAGS", EngineId::Pe, Sunda), Err(AsmErrorKind::Generation(Sunda)));
    assert_eq!(kind("MATMUL", EngineId::Sp, Cayman), Err(AsmErrorKind::Engine(EngineId::Sp)));
    assert!(kind("0x02", EngineId::Sp, Cayman).is_ok());
    assert!(kind("INVALID", EngineId::Sp, Cayman).is_ok());
}

#[test]
fn every_defined_activation_function_has_its_name_in_upper_case() {
    let names: Vec<_> =
        crate::act::FUNCTIONS.iter().filter_map(|f| Some((f.id?, f.name.to_ascii_uppercase()))).collect();
    let texts: Vec<_> = forms::FUNCTIONS.members.iter().map(|(id, name)| (*id, (*name).to_owned())).collect();
    assert_eq!(texts, names);
}
