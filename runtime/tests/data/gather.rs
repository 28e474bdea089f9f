//! Gathering (chapter 06 sections 2 and 3, chapter 05 section 6.5).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::{Addr4, Imm};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Indirect20, Word, op};
use seqjit_runtime::machine::MachineOptions;

use crate::support::*;

const POOL: EngineId = EngineId::Pool;

fn load(src: u32, n: u16, dtype: Dtype, start_index: u32) -> Word {
    let operands =
        S4_PB { src: line(src, n), in_dtype: dtype, num_active_channels: 1, start_index, mask: 0x1FF };
    word(op::POOL_BUFFER_LOAD, operands)
}

fn gather(n: u16, dtype: Dtype, miss: u8, free: u8, dst: u32) -> Word {
    let operands = S4D4_GT {
        src: line(0, n),
        in_dtype: Dtype::UINT32,
        out_dtype: dtype,
        num_active_channels: 1,
        index_miss_behavior: miss,
        free_pool_buffer: free,
        immediate: Imm(0),
        dst: line(dst, n),
    };
    word(op::GATHER, operands)
}

/// The worked example of section 2.2, with integers for the elements: only their bytes matter.
#[test]
fn a_table_of_two_chunks_gives_the_example() {
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 0, 0, &[2, 0, 3, 600]);
    let halves: Vec<u8> = [10u16, 20, 30, 40].iter().flat_map(|v| v.to_le_bytes()).collect();
    put_bytes(&mut machine, 0, 0x100, &halves);
    let second: Vec<u8> = (0..512u16).flat_map(|j| (1000 + j).to_le_bytes()).collect();
    put_bytes(&mut machine, 0, 0x200, &second);
    let first = [load(0x100, 4, Dtype::FP16, 0), gather(4, Dtype::FP16, 0, 0, 0x40)];
    run(&mut machine, POOL, &first).unwrap();
    assert_eq!(words(&machine, 0, 0x40, 2), [10 << 16 | 30, 40]);
    let second = [load(0x200, 512, Dtype::FP16, 512), gather(4, Dtype::FP16, 1, 0, 0x40)];
    run(&mut machine, POOL, &second).unwrap();
    assert_eq!(words(&machine, 0, 0x40, 2), [10 << 16 | 30, 1088 << 16 | 40]);
}

/// D06-1 and D06-2.
#[test]
fn absent_elements_are_zero_and_a_freed_buffer_answers_nothing() {
    let mut machine = strict(Generation::Sunda);
    put(&mut machine, 0, 0, &[1, 5, 1]);
    put(&mut machine, 0, 0x40, &[7, 7, 7]);
    put(&mut machine, 0, 0x100, &[0xA, 0xB]);
    let program = [
        load(0x100, 2, Dtype::UINT32, 0),
        gather(2, Dtype::UINT32, 1, 1, 0x40),
        gather(3, Dtype::UINT32, 1, 0, 0x60),
    ];
    run(&mut machine, POOL, &program).unwrap();
    assert_eq!(words(&machine, 0, 0x40, 3), [0xB, 0, 7]);
    assert_eq!(words(&machine, 0, 0x60, 3), [0; 3]);
    assert_eq!(machine.warnings.len(), 1, "{:?}", machine.warnings);
}

#[test]
fn a_gather_of_another_width_is_illegal() {
    let mut machine = strict(Generation::Cayman);
    let fault =
        run(&mut machine, POOL, &[load(0x100, 2, Dtype::UINT8, 0), gather(2, Dtype::UINT16, 0, 0, 0x40)])
            .unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "out_dtype", .. }), "{fault}");
}

#[test]
fn skipped_elements_do_not_count_as_written() {
    let mut machine =
        machine(Generation::Cayman, MachineOptions { check: true, ..MachineOptions::default() });
    put(&mut machine, 0, 0, &[0, 600]);
    put(&mut machine, 0, 0x100, &[1]);
    let program = [load(0x100, 1, Dtype::UINT32, 0), gather(2, Dtype::UINT32, 1, 0, 0x40)];
    run(&mut machine, POOL, &program).unwrap();
    let fault = run(&mut machine, POOL, &[load(0x40, 2, Dtype::UINT32, 0)]).unwrap_err();
    let FaultKind::Uninitialised { address, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!(address.to_string(), "sbuf partition 0 byte 0x44");
}

/// Runs of `run` elements: `length` in all, of a buffer of `size` 16-bit elements at byte 0x100.
fn indirect(run: u8, length: u16, size: u16) -> Word {
    let operands = S4D4_IC {
        src: Indirect20 {
            index: Addr4(0x2000_0000),
            data: Addr4(0x100),
            num_elem: length,
            reserved: [0; 10],
        },
        in_dtype: Dtype::UINT16,
        out_dtype: Dtype::UINT16,
        num_active_channels: 32,
        src_num_elem_per_idx: run,
        dst_num_elem_per_idx: 0,
        src_buffer_size: size,
        dst_buffer_size: 0,
        dst: line(0x200, length),
    };
    word(op::INDIRECT_COPY, operands)
}

fn halves(values: impl IntoIterator<Item = u16>) -> Vec<u8> {
    values.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// The worked example of section 3; every partition of the group copies its own row.
#[test]
fn runs_are_copied_from_element_offsets() {
    let mut machine = strict(Generation::Cayman);
    for partition in 0..32u16 {
        let row = halves((0..10).map(|i| 100 + i + 1000 * partition));
        put_bytes(&mut machine, partition.into(), 0x100, &row);
    }
    // indices 4, 6, 0, 0, ... in the first group, 8, 0, 0, ... in the second
    put_bytes(&mut machine, 0, 0, &halves([4]));
    put_bytes(&mut machine, 1, 0, &halves([6]));
    put_bytes(&mut machine, 16, 0, &halves([8]));
    run(&mut machine, POOL, &[indirect(2, 8, 10)]).unwrap();
    assert_eq!(bytes(&machine, 0, 0x200, 16), halves([104, 105, 106, 107, 100, 101, 100, 101]));
    assert_eq!(bytes(&machine, 15, 0x200, 8), halves([15104, 15105, 15106, 15107]));
    assert_eq!(bytes(&machine, 16, 0x200, 8), halves([16108, 16109, 16100, 16101]));
}

/// D06-3: strict mode faults, lenient mode reads zero behind the buffer.
#[test]
fn elements_behind_the_buffer_are_zero_in_lenient_mode() {
    let options = MachineOptions { strict: false, ..MachineOptions::default() };
    for strict in [true, false] {
        let mut machine = machine(Generation::Cayman, MachineOptions { strict, ..options });
        put_bytes(&mut machine, 0, 0x100, &halves(1..=20));
        put_bytes(&mut machine, 0, 0, &halves([9]));
        let done = run(&mut machine, POOL, &[indirect(2, 4, 10)]);
        assert_eq!(done.is_err(), strict);
        let expected = if strict { halves([0; 4]) } else { halves([10, 0, 1, 2]) };
        assert_eq!(bytes(&machine, 0, 0x200, 8), expected);
    }
}

#[test]
fn check_mode_looks_at_the_elements_that_are_read() {
    let mut machine =
        machine(Generation::Cayman, MachineOptions { check: true, ..MachineOptions::default() });
    for partition in 0..32 {
        put_bytes(&mut machine, partition, 0, &halves([4]));
        put_bytes(&mut machine, partition, 0x108, &halves([1, 2]));
    }
    run(&mut machine, POOL, &[indirect(2, 32, 100)]).unwrap();
    put_bytes(&mut machine, 3, 0, &halves([5]));
    let fault = run(&mut machine, POOL, &[indirect(2, 32, 100)]).unwrap_err();
    let FaultKind::Uninitialised { address, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!(address.to_string(), "sbuf partition 0 byte 0x10c");
}

#[test]
fn pool_arguments_are_values_or_words_of_memory() {
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 0, 0x100, &[77, 88]);
    let operands = CTRL_IM {
        param_ram_offset: 0,
        imm_ptr_select: 0b101,
        immediate: [0x100, 0x104, 0x104, 3, 4, 5, 6, u32::MAX],
    };
    run(&mut machine, POOL, &[word(op::LOAD_POOL_ARGUMENT, operands)]).unwrap();
    assert_eq!(machine.cores[0].pool.arguments, [77, 0x104, 88, 3, 4, 5, 6, u32::MAX]);
}
