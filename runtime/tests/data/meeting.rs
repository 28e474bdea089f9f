//! Barriers, functions, and words between cores (chapter 07 section 9, chapter 06 section 10).

use seqjit_runtime::interp::{Fault, FaultKind};
use seqjit_runtime::isa::EngineId::{Act, Dve, Pe, Pool, Sp};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, Word, op};
use seqjit_runtime::machine::{Machine, MachineOptions};

use crate::support::*;

const DATA: u64 = 0x10_0000_0000;

/// The word with an update that adds one to a semaphore.
fn counting(mut word: Word, semaphore: u8) -> Word {
    word.0[6..8].copy_from_slice(&[0x13, semaphore]);
    word
}

/// The word with a wait for a semaphore to reach a value.
fn waiting(mut word: Word, semaphore: u8, value: u32) -> Word {
    word.0[4..6].copy_from_slice(&[0x05, semaphore]);
    word.0[8..12].copy_from_slice(&value.to_le_bytes());
    word
}

fn nop() -> Word {
    Word::new(op::NOP)
}

fn name(text: &str) -> Name<36> {
    let mut padded = [0; 36];
    padded[..text.len()].copy_from_slice(text.as_bytes());
    Name(padded)
}

fn begin(text: &str, reset: u8) -> Word {
    let operands = PSEUDO_FUNCTION_BEGIN {
        function_name: name(text),
        return_reset_semaphores: reset,
        return_addr_reg_lo: 10,
        return_addr_reg_hi: 11,
    };
    word(op::PSEUDO_FUNCTION_BEGIN, operands)
}

fn call(text: &str) -> Word {
    word(op::PSEUDO_FUNCTION_CALL, PSEUDO_FUNCTION_CALL { function_name: name(text), args_table_var_id: 0 })
}

fn exit() -> Word {
    word(op::PSEUDO_INST, PSEUDO_INST { pseudo_opcode: 1 })
}

fn on_all(words: impl Fn(EngineId) -> Vec<Word>) -> Setup {
    Setup { streams: EngineId::ALL.map(|e| (e, words(e))).to_vec(), ..Setup::default() }
}

fn ran(setups: &[Setup], buffers: Vec<seqjit_runtime::machine::BufferSpec>) -> Result<Machine, Fault> {
    let mut machine = cluster(Generation::Cayman, MachineOptions::default(), setups, buffers);
    run_all(&mut machine)?;
    Ok(machine)
}

fn semaphore(machine: &Machine, core: usize, index: usize) -> u32 {
    machine.cores[core].sync.semaphores[index]
}

/// PE comes to the barrier last, when POOL has let it; nobody counts before.
#[test]
fn a_barrier_holds_every_engine_until_the_last_comes() {
    let barrier = || Word::new(op::PSEUDO_SYNC_BARRIER);
    let setup = |late: bool| {
        on_all(move |engine| match engine {
            Pe if late => vec![waiting(nop(), 50, 1), barrier(), counting(nop(), 41)],
            Pool => vec![nop(), barrier(), barrier(), counting(nop(), 41)],
            Pe => vec![barrier(), barrier(), counting(nop(), 41)],
            _ => vec![counting(barrier(), 40), barrier(), counting(nop(), 41)],
        })
    };
    let machine = ran(&[setup(true)], Vec::new()).unwrap();
    assert_eq!(unfinished(&machine), [Pe, Act, Pool, Dve, Sp].map(|e| (0, e)));
    assert_eq!((semaphore(&machine, 0, 40), semaphore(&machine, 0, 41)), (0, 0));
    let machine = ran(&[setup(false)], Vec::new()).unwrap();
    assert_eq!(unfinished(&machine), []);
    assert_eq!((semaphore(&machine, 0, 40), semaphore(&machine, 0, 41)), (3, 5));
}

/// A call, a nested call, both returns, and the end of the program before the functions.
#[test]
fn functions_return_to_the_word_behind_their_call() {
    let function_return = || Word::new(op::PSEUDO_FUNCTION_RETURN);
    let setup = Setup {
        variables: vec![Some(DATA + 0x40)],
        ..on_all(move |_| {
            vec![
                call("outer"),
                counting(nop(), 40),
                exit(),
                begin("inner", 1),
                counting(nop(), 41),
                function_return(),
                begin("outer", 0),
                // registers of the return address are the same for both: saved by hand
                saved(),
                call("inner"),
                restored(),
                function_return(),
                counting(nop(), 42),
            ]
        })
    };
    let machine = ran(&[setup], vec![buffer("data", DATA, &[0; 64])]).unwrap();
    assert_eq!(unfinished(&machine), []);
    // the inner function clears all semaphores when it returns
    assert_eq!([40, 41, 42].map(|s| semaphore(&machine, 0, s)), [5, 0, 0]);
    let engine = &machine.cores[0].engines[0];
    assert_eq!((engine.table_base, engine.registers[10], engine.calls.len()), (0, 64, 0));
}

/// MOVE of registers 10 and 11 to 20 and 21, and back.
fn saved() -> Word {
    moves([10, 11], [20, 21])
}

fn restored() -> Word {
    moves([20, 21], [10, 11])
}

fn moves(from: [u8; 2], to: [u8; 2]) -> Word {
    let regs = |r: [u8; 2]| Regs([r[0], r[1], 0, 0, 0, 0, 0, 0]);
    let operands = CTRL_MV {
        num_mov: 2,
        dtype: Dtype::UINT32,
        move_source: DataSrc::REGISTER,
        src_registers: regs(from),
        dst_registers: regs(to),
        immediate: [0; 8],
    };
    word(op::MOVE, operands)
}

#[test]
fn a_return_that_was_not_called_faults() {
    let setup = on_all(|_| vec![begin("f", 0), Word::new(op::PSEUDO_FUNCTION_RETURN)]);
    let fault = ran(&[setup], Vec::new()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "return_addr_reg_lo", .. }), "{fault}");
    let setup = on_all(|_| vec![call("g"), begin("f", 0)]);
    let fault = ran(&[setup], Vec::new()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "function_name", .. }), "{fault}");
}

#[test]
fn a_core_barrier_waits_for_the_partner() {
    let barrier = |id| word(op::PSEUDO_CORE_BARRIER, PSEUDO_CORE_BARRIER { id, semaphore: 0 });
    let on_sp = |words: Vec<Word>| Setup { streams: vec![(Sp, words)], ..Setup::default() };
    let program = |id| on_sp(vec![barrier(id), counting(nop(), 40)]);
    let machine = ran(&[program(3), program(3)], Vec::new()).unwrap();
    assert_eq!((semaphore(&machine, 0, 40), semaphore(&machine, 1, 40)), (1, 1));
    let machine = ran(&[program(3), program(4)], Vec::new()).unwrap();
    assert_eq!(unfinished(&machine), [(0, Sp), (1, Sp)]);
    // a core alone has nobody to wait for
    let machine = ran(&[program(3)], Vec::new()).unwrap();
    assert_eq!(semaphore(&machine, 0, 40), 1);
}

fn exchange(lnc_size_fmt: LncSize) -> Word {
    let operands = S3D3_COLLECTIVE {
        in_dtype: Dtype::UINT32,
        out_dtype: Dtype::UINT32,
        src: line(0, 2),
        lnc_size_fmt,
        num_active_channels: 2,
        dst: line(0x10, 2),
    };
    word(op::SB2SB_COLLECTIVE, operands)
}

#[test]
fn a_pair_of_cores_exchanges_elements() {
    let setup = Setup {
        streams: vec![(Pool, vec![exchange(LncSize::LNC2), counting(nop(), 40)])],
        ..Setup::default()
    };
    let mut machine =
        cluster(Generation::Cayman, MachineOptions::default(), &[setup.clone(), setup.clone()], Vec::new());
    for core in 0..2 {
        for partition in 0..3 {
            let row = [100 * core as u32 + partition as u32, 7];
            let bytes: Vec<u8> = row.iter().flat_map(|w: &u32| w.to_le_bytes()).collect();
            machine.cores[core].sbuf.partition_mut(partition)[..8].copy_from_slice(&bytes);
        }
    }
    run_all(&mut machine).unwrap();
    for core in 0..2 {
        for partition in 0..3u32 {
            let row = &machine.cores[core].sbuf.partition(partition as usize)[0x10..0x14];
            let expected = if partition < 2 { 100 * (1 - core as u32) + partition } else { 0 };
            assert_eq!(row, expected.to_le_bytes(), "core {core} partition {partition}");
        }
    }
    // a core without a partner has nobody to exchange with, but may test itself
    let fault = ran(&[setup], Vec::new()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "lnc_size_fmt", .. }), "{fault}");
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 1, 0, &[5, 6]);
    run(&mut machine, Pool, &[exchange(LncSize::LNC1)]).unwrap();
    assert_eq!(words(&machine, 1, 0x10, 2), [5, 6]);
}

fn describe(peer: u32, bytes: u32) -> Word {
    let operands = EXTENDED_RDMA_DESC_GEN {
        extended_opcode: 8,
        completion_info: Bits(0),
        local_sem: 30,
        remote_sem: 31,
        remote_core_id: Imm(peer),
        remote_routing_id: Imm(0),
        dma_engine_mask: Imm(0x0F),
        src_addr: Addr4(0x20),
        dst_addr: Addr4(0x40),
        free_dim_bytes: bytes,
        is_bidirectional: 0,
        remote_sem_prev: 0,
    };
    word(op::EXTENDED_INST, operands)
}

fn start() -> Word {
    word(op::EXTENDED_INST, EXTENDED_RDMA_DESC_START { extended_opcode: 9, completion_info: Bits(0) })
}

/// D06-35, D06-36: core 0 sends eight bytes a partition, core 1 takes part with none.
#[test]
fn a_remote_transfer_moves_bytes_of_every_partition() {
    let on_pool = |words| Setup { streams: vec![(Pool, words)], ..Setup::default() };
    let sender = on_pool(vec![describe(1, 8), start()]);
    let receiver = on_pool(vec![describe(0, 0), start()]);
    let mut machine =
        cluster(Generation::Cayman, MachineOptions::default(), &[sender.clone(), receiver], Vec::new());
    for partition in 0..128 {
        machine.cores[0].sbuf.partition_mut(partition)[0x20..0x28].fill(partition as u8 + 1);
    }
    run_all(&mut machine).unwrap();
    for partition in 0..128 {
        assert_eq!(
            machine.cores[1].sbuf.partition(partition)[0x40..0x49],
            [[partition as u8 + 1; 8].as_slice(), &[0]].concat()
        );
    }
    // each side posts its own sixteen and the four engines of its mask at the other
    for core in 0..2 {
        assert_eq!((semaphore(&machine, core, 30), semaphore(&machine, core, 31)), (16, 4));
    }
    // without the receiver's start the sender waits; without a descriptor a start is illegal
    let idle = on_pool(Vec::new());
    let machine = ran(&[sender, idle], Vec::new()).unwrap();
    assert_eq!(unfinished(&machine), [(0, Pool)]);
    let fault = ran(&[on_pool(vec![start()])], Vec::new()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "extended_opcode", .. }), "{fault}");
    let fault = ran(&[on_pool(vec![describe(1, 8)])], Vec::new()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "remote_core_id", .. }), "{fault}");
}

fn collective(ctype: u8, operator: AluOp, dtype: Dtype, n: u64) -> Word {
    let operands = PSEUDO_TRIGGER_COLLECTIVE {
        op: operator,
        dtype,
        group_id: 0,
        input_tensor_id: 0,
        output_tensor_id: 1,
        num_elements: n,
        ctype,
        src_offset_elems: 1,
        dst_offset_elems: 0,
    };
    counting(word(op::PSEUDO_TRIGGER_COLLECTIVE, operands), 60)
}

/// Runs a collective on two cores whose inputs are `a` and `b`, and gives both outputs of four words.
fn collect(words: [Word; 2], a: &[u32], b: &[u32]) -> Result<[Vec<u32>; 2], Fault> {
    let address = |k: u64| DATA + 0x1000 * k;
    let setup = |core: u64| Setup {
        streams: vec![(Sp, vec![words[core as usize], waiting(nop(), 60, 1)])],
        variables: vec![Some(address(2 * core)), Some(address(2 * core + 1))],
        replica_groups: vec![vec![0, 1]],
    };
    let input = |values: &[u32]| [&[99], values].concat();
    let buffers = vec![
        buffer("a", address(0), &input(a)),
        buffer("out a", address(1), &[0; 4]),
        buffer("b", address(2), &input(b)),
        buffer("out b", address(3), &[0; 4]),
    ];
    let machine = ran(&[setup(0), setup(1)], buffers)?;
    assert_eq!(unfinished(&machine), []);
    assert_eq!((semaphore(&machine, 0, 60), semaphore(&machine, 1, 60)), (1, 1));
    Ok([buffer_words(&machine, 1), buffer_words(&machine, 3)])
}

#[test]
fn collectives_of_two_ranks() {
    let same = |word: Word| [word, word];
    let (a, b) = ([1, 2, 3, 4], [10, 20, 30, u32::MAX]);
    let sum = vec![11, 22, 33, 3];
    let all = collect(same(collective(1, AluOp::ADD, Dtype::INT32, 4)), &a, &b).unwrap();
    assert_eq!(all, [sum.clone(), sum.clone()]);
    let part = collect(same(collective(4, AluOp::ADD, Dtype::INT32, 2)), &a, &b).unwrap();
    assert_eq!(part, [vec![11, 22, 0, 0], vec![33, 3, 0, 0]]);
    let gathered = collect(same(collective(0, AluOp::BYPASS, Dtype::INT32, 2)), &a, &b).unwrap();
    assert_eq!(gathered, [vec![1, 2, 10, 20], vec![1, 2, 10, 20]]);
    let exchanged = collect(same(collective(7, AluOp::BYPASS, Dtype::INT32, 2)), &a, &b).unwrap();
    assert_eq!(exchanged, [vec![1, 2, 10, 20], vec![3, 4, 30, u32::MAX]]);
    let float = |v: f32| v.to_bits();
    let (a, b) = ([float(1.5), float(-2.0)], [float(2.0), float(4.0)]);
    let most = collect(same(collective(1, AluOp::MAX, Dtype::FP32, 2)), &a, &b).unwrap();
    assert_eq!(most[1], [float(2.0), float(4.0), 0, 0]);
    let product = collect(same(collective(1, AluOp::MULT, Dtype::FP32, 2)), &a, &b).unwrap();
    assert_eq!(product[0], [float(3.0), float(-8.0), 0, 0]);
}

#[test]
fn ranks_must_ask_for_the_same_collective() {
    let words = [collective(1, AluOp::ADD, Dtype::INT32, 2), collective(1, AluOp::MAX, Dtype::INT32, 2)];
    let fault = collect(words, &[1, 2], &[3, 4]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "ctype", .. }), "{fault}");
}

/// One rank copies, whatever the kind (decision 07-16).
#[test]
fn a_collective_of_one_rank_is_a_copy() {
    for (ctype, operator) in [(0, AluOp::BYPASS), (1, AluOp::MAX), (4, AluOp::ADD), (7, AluOp::BYPASS)] {
        let setup = Setup {
            streams: vec![(Dve, vec![collective(ctype, operator, Dtype::BFLOAT16, 3)])],
            variables: vec![Some(DATA), Some(DATA + 0x1000)],
            ..Setup::default()
        };
        let buffers =
            vec![buffer("in", DATA, &[0x2222_1111, 0x4444_3333]), buffer("out", DATA + 0x1000, &[0; 2])];
        let machine = ran(&[setup], buffers).unwrap();
        assert_eq!(buffer_words(&machine, 1), [0x3333_2222, 0x4444]);
        assert_eq!(semaphore(&machine, 0, 60), 1);
    }
}
