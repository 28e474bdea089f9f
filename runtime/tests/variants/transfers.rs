//! Generated DMA and collectives (chapter 06 sections 4, 6 and 10, chapter 07 sections 9 and 11).

use std::cell::RefCell;
use std::collections::BTreeMap;

use seqjit_runtime::isa::check::{CheckContext, check};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Layout, Word, decode, op};
use seqjit_runtime::machine::{Machine, MachineOptions};

use crate::support::*;
use crate::*;

const POOL: EngineId = EngineId::Pool;
const FROM: u64 = 0x10_0000_0000;
const TO: u64 = 0x10_0001_0000;
const TABLE: u64 = 0x10_0002_0000;
/// Registers with the two addresses.
const REGISTERS: [u8; 4] = [10, 11, 12, 13];

/// Bytes of some numbers in device memory.
fn packed(dtype: Dtype, values: &[f64]) -> Option<Vec<u8>> {
    Some(values.iter().map(|v| encode(*v, dtype)).collect::<Option<Vec<_>>>()?.concat())
}

/// The ways to name an address: itself, a variable, an entry of the table, registers.
fn forms(which: u16) -> [Addr8; 4] {
    let low = REGISTERS[2 * usize::from(which)];
    [
        Addr8([FROM, TO][usize::from(which)]),
        Addr8::variable(which, 0),
        Addr8::table(which, 0),
        Addr8::registers(low, low + 1),
    ]
}

/// Runs a word on POOL with bytes at both addresses, and gives what then lies at the second; `None` if it breaks a rule.
fn transferred<L: Layout>(
    generation: Generation,
    opcode: u8,
    operands: L,
    from: &[u8],
    to: &[u8],
) -> Option<Vec<u8>> {
    let one = word(opcode, operands);
    let context = CheckContext::new(generation, POOL);
    if !check(&decode(&one, generation).ok()?, &context).is_empty() {
        return None;
    }
    CLUSTERS.with_borrow_mut(|machines| {
        let machine = machines.entry(generation.index()).or_insert_with(|| with_buffers(generation));
        Some(moved(machine, one, from, to))
    })
}

thread_local! {
    /// A machine of each generation, used again and again.
    static CLUSTERS: RefCell<BTreeMap<usize, Machine>> = const { RefCell::new(BTreeMap::new()) };
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// Two buffers, their addresses as variables and in a table, and indices from 15 down in SBUF.
fn with_buffers(generation: Generation) -> Machine {
    let table = [halves(FROM), halves(TO)].concat();
    let buffers =
        vec![buffer("from", FROM, &[0; 256]), buffer("to", TO, &[0; 256]), buffer("table", TABLE, &table)];
    let setup = Setup { variables: vec![Some(FROM), Some(TO)], ..Setup::default() };
    let mut machine = cluster(generation, MachineOptions::default(), &[setup], buffers);
    for slot in 0..16 {
        put(&mut machine, 0, 0x40 + 4 * slot, &[15 - slot as u32]);
    }
    machine
}

fn moved(machine: &mut Machine, one: Word, from: &[u8], to: &[u8]) -> Vec<u8> {
    for (index, bytes) in [from, to].into_iter().enumerate() {
        let buffer = machine.dram.buffer_mut(index).overwrite();
        buffer.fill(0);
        buffer[..bytes.len()].copy_from_slice(bytes);
    }
    let values = [halves(FROM), halves(TO)].concat();
    let mut program: Vec<Word> =
        REGISTERS.iter().zip(values).map(|(r, value)| set_register(*r, value)).collect();
    program.push(set_register(130, TABLE as u32));
    program.push(set_register(131, (TABLE >> 32) as u32));
    program.push(one);
    run(machine, POOL, &program).unwrap_or_else(|fault| panic!("{fault}"));
    machine.dram.buffer(1).bytes().to_vec()
}

fn expect<L: Layout>(
    generation: Generation,
    opcode: u8,
    operands: L,
    [from, to, expected]: [&[u8]; 3],
) -> bool {
    let Some(found) = transferred(generation, opcode, operands, from, to) else { return false };
    let told = decode(&word(opcode, operands), generation).map(|w| format!("{:?}", w.operands));
    assert_eq!(found[..expected.len()], *expected, "{generation} {told:?}");
    true
}

fn direct(from: Dtype, to: Dtype, compute_op: DgeComputeOp, n: u16) -> DMA_DIRECT2D {
    DMA_DIRECT2D {
        dma_configs: 0,
        semaphore: 24,
        sem_increment: 16,
        compute_op,
        src_start_addr: Addr8(FROM),
        src_step_elem: [0, 0],
        src_num_elem: [1, 1],
        src_elem_size: n * from.bytes() as u16,
        src_bound_reg: BoundReg(0),
        dst_bound_reg: BoundReg(0),
        dst_start_addr: Addr8(TO),
        dst_step_elem: [0, 0],
        dst_num_elem: [1, 1],
        dst_elem_size: n * to.bytes() as u16,
        in_dtype: from,
        out_dtype: to,
    }
}

const VALUES: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

/// What an operator makes of 1 to 4 and what is there, 2.
const COMPUTED: [(DgeComputeOp, [f64; 4]); 5] = [
    (DgeComputeOp::NONE, VALUES),
    (DgeComputeOp::ADD, [3.0, 4.0, 5.0, 6.0]),
    (DgeComputeOp::MULTIPLY, [2.0, 4.0, 6.0, 8.0]),
    (DgeComputeOp::MAX, [2.0, 2.0, 3.0, 4.0]),
    (DgeComputeOp::MIN, [1.0, 2.0, 2.0, 2.0]),
];

/// Runs a word with all datatypes and operators; how many it may have.
fn converted<L: Layout>(
    opcode: u8,
    generation: Generation,
    make: impl Fn(Dtype, Dtype, DgeComputeOp) -> L,
) -> usize {
    let mut run = 0;
    for from in dtypes() {
        for to in dtypes() {
            for (compute, results) in COMPUTED {
                let rows = [packed(from, &VALUES), packed(to, &[2.0; 4]), packed(to, &results)];
                if let [Some(a), Some(b), Some(c)] = &rows
                    && (from == to || from == F || to == F)
                {
                    run += usize::from(expect(generation, opcode, make(from, to, compute), [a, b, c]));
                }
            }
        }
    }
    run
}

#[test]
fn direct_copies() {
    assert!(
        converted(op::DMAMEMCPY, Generation::Cayman, |from, to, compute| direct(from, to, compute, 4)) > 50
    );
    let pseudo = |direct: DMA_DIRECT2D| {
        let mut one = word(op::DMAMEMCPY, DMA_DIRECT2D { compute_op: DgeComputeOp::NONE, ..direct });
        one.0[0] = op::PSEUDO_DMA_DIRECT2D;
        PSEUDO_DMA_DIRECT2D::read(&one)
    };
    let row = packed(F, &VALUES).unwrap();
    for from in dtypes() {
        for to in dtypes() {
            if let [Some(a), Some(b)] = [packed(from, &VALUES), packed(to, &VALUES)]
                && (from == to || from == F || to == F)
            {
                let o = pseudo(direct(from, to, DgeComputeOp::NONE, 4));
                expect(Generation::Cayman, op::PSEUDO_DMA_DIRECT2D, o, [&a, &[], &b]);
            }
        }
    }
    for src_start_addr in forms(0) {
        for dst_start_addr in forms(1) {
            let o = DMA_DIRECT2D { src_start_addr, dst_start_addr, ..direct(F, F, DgeComputeOp::NONE, 4) };
            assert!(expect(Generation::Cayman, op::DMAMEMCPY, o, [&row, &[], &row]));
            assert!(expect(Generation::Cayman, op::PSEUDO_DMA_DIRECT2D, pseudo(o), [&row, &[], &row]));
        }
    }
}

/// Four elements by a list of indices that goes from 15 down, in runs of one.
fn indirect(from: Dtype, to: Dtype, compute_op: DgeComputeOp, flags: u8) -> DMA_INDIRECT1D {
    let (gather, scatter) = (flags & 3 != 1, flags & 3 != 0);
    DMA_INDIRECT1D {
        semaphore: 24,
        sem_increment: 16,
        idx_num_active_channels: 1,
        flags: DmaIndirectFlags(flags),
        src_start_addr: Addr8(FROM),
        src_step_elem: from.bytes() as i32,
        src_num_elem: 4,
        src_elem_size: from.bytes() as u16,
        dst_start_addr: Addr8(TO),
        dst_step_elem: to.bytes() as i32,
        dst_num_elem: 4,
        dst_elem_size: to.bytes() as u16,
        src_idx_start_addr: Addr4(if gather { 0x40 + 4 * 12 } else { 0 }),
        dst_idx_start_addr: Addr4(if scatter { 0x40 + 4 * 12 } else { 0 }),
        in_dtype: from,
        out_dtype: to,
        src_idx_bound_reg: BoundReg(0),
        dst_idx_bound_reg: BoundReg(0),
        compute_op,
        dma_configs: 0,
    }
}

#[test]
fn copies_by_index() {
    // the last four of the list are 3, 2, 1, 0: gathered or scattered the row is reversed, by both it is as it was
    let run =
        converted(op::DMA_INDIRECT, Generation::Cayman, |from, to, compute| indirect(from, to, compute, 2));
    assert!(run > 50, "{run}");
    let row = packed(F, &VALUES).unwrap();
    let turned = packed(F, &[4.0, 3.0, 2.0, 1.0]).unwrap();
    for flags in 0..16 {
        let expected = if flags & 3 == 2 { &row } else { &turned };
        let legal = expect(
            Generation::Cayman,
            op::DMA_INDIRECT,
            indirect(F, F, DgeComputeOp::NONE, flags),
            [&row, &[], expected],
        );
        assert_eq!(legal, flags & 3 != 3, "{flags}");
    }
    for src_start_addr in forms(0) {
        for dst_start_addr in forms(1) {
            let o =
                DMA_INDIRECT1D { src_start_addr, dst_start_addr, ..indirect(F, F, DgeComputeOp::NONE, 0) };
            assert!(expect(Generation::Cayman, op::DMA_INDIRECT, o, [&row, &[], &turned]));
        }
    }
}

/// One tile of 16 rows by 2 columns.
#[test]
fn transposes() {
    for dtype in dtypes() {
        let size = dtype.bytes() as i32;
        let tile: Vec<f64> = (0..32).map(|k| f64::from(k % 8)).collect();
        let turned: Vec<f64> =
            (0..2).flat_map(|c| (0..16).map(move |r| f64::from((2 * r + c) % 8))).collect();
        let [Some(a), Some(b)] = [packed(dtype, &tile), packed(dtype, &turned)] else { continue };
        for src_start_addr in forms(0) {
            for dst_start_addr in forms(1) {
                let o = DMA_DIRECT2D_XPOSE {
                    src_bound_reg: BoundReg(0),
                    dst_bound_reg: BoundReg(0),
                    in_dtype: dtype,
                    out_dtype: dtype,
                    src_start_addr,
                    src_step_elem: [0, 0],
                    src_num_elem: [1, 1],
                    tile_src_row_step: 2 * size,
                    dst_start_addr,
                    dst_step_elem: [16 * size, 0],
                    dst_num_elem: [2, 1],
                    tile_src_rows: 16,
                    tile_src_cols: 2,
                    semaphore: 30,
                    dma_configs: 0,
                };
                expect(Generation::Cayman, op::DMA_TRANSPOSE, o, [&a, &[], &b]);
                // rows 15 to 0 of two elements become two rows
                let gathered: Vec<f64> =
                    (0..2).flat_map(|c| (0..16).rev().map(move |r| f64::from((2 * r + c) % 8))).collect();
                for flags in [1, 5] {
                    let o = DMA_GATHER_XPOSE {
                        semaphore: 30,
                        dma_configs: 0,
                        idx_num_active_channels: 1,
                        src_idx_bound_reg: BoundReg(0),
                        src_start_addr,
                        src_step_elem: [0, 2 * size],
                        src_num_elem: [1, 16],
                        src_idx_start_addr: Addr4(0x40),
                        dst_start_addr,
                        dst_bound_reg: BoundReg(0),
                        dst_step_elem_1: 32,
                        dst_num_elem: [16, 2],
                        elem_size: 4,
                        dtype: DtypePair::new(dtype, dtype),
                        flags,
                    };
                    expect(
                        Generation::Cayman,
                        op::DMA_GATHER_TRANSPOSE,
                        o,
                        [&a, &[], &packed(dtype, &gathered).unwrap()],
                    );
                }
            }
        }
    }
}

#[test]
fn second_copies() {
    let row = packed(F, &VALUES).unwrap();
    for addr_mode in [0x00, 0x01, 0x10, 0x11] {
        for updates in [0x00, 0x01, 0x10, 0x11] {
            {
                let address = |which: usize, by_register: bool| match by_register {
                    true => Addr8(REGISTERS[2 * which].into()),
                    false => Addr8([FROM, TO][which]),
                };
                let o = DMA_COPY2D {
                    wait_sema_value: 0,
                    wait_sema_idx: 0,
                    wait_sema_mode: WaitMode::NONE,
                    dma_engines: Bits(0),
                    dma_flags: Bits(0),
                    addr_mode: Bits(addr_mode),
                    sema_update_mode: Bits(updates),
                    rd_done_sema_update_idx: 20,
                    src_start_addr: address(0, addr_mode & 1 == 1),
                    src_step_elem: [0, 0],
                    src_num_elem: [1, 1],
                    src_elem_size: 16,
                    wr_done_sema_update_idx: 21,
                    dst_start_addr: address(1, addr_mode & 0x10 == 0x10),
                    dst_step_elem: [0, 0],
                    dst_num_elem: [1, 1],
                    dst_elem_size: 16,
                    remote_core_id: 0,
                };
                assert!(expect(Generation::Maverick, op::DMA_MEMCPY2, o, [&row, &[], &row]));
            }
        }
    }
}

/// A core that tests itself gets what it sends.
#[test]
fn exchanges() {
    sweep_one(|d| {
        let o = S3D3_COLLECTIVE {
            in_dtype: d,
            out_dtype: d,
            src: line(A, 4),
            lnc_size_fmt: LncSize::LNC1,
            num_active_channels: 1,
            dst: line(OUT, 4),
        };
        Trial::pool(op::SB2SB_COLLECTIVE, o).put(A, d, &VALUES).gives(OUT, d, &VALUES)
    });
}

/// The return of a function that says so clears the semaphores.
#[test]
fn functions_clear_semaphores() {
    let name = |text: &str| {
        let mut padded = [0; 36];
        padded[..text.len()].copy_from_slice(text.as_bytes());
        Name(padded)
    };
    for (return_reset_semaphores, left) in [(0, 9), (1, 0)] {
        let begin = PSEUDO_FUNCTION_BEGIN {
            function_name: name("f"),
            return_reset_semaphores,
            return_addr_reg_lo: 20,
            return_addr_reg_hi: 21,
        };
        let call = PSEUDO_FUNCTION_CALL { function_name: name("f"), args_table_var_id: 0 };
        let program = [
            word(op::PSEUDO_FUNCTION_CALL, call),
            word(op::PSEUDO_INST, PSEUDO_INST { pseudo_opcode: 1 }),
            word(op::PSEUDO_FUNCTION_BEGIN, begin),
            Word::new(op::PSEUDO_FUNCTION_RETURN),
        ];
        let streams = EngineId::ALL.map(|engine| (engine, program.to_vec())).to_vec();
        let setup = Setup { streams, variables: vec![Some(FROM)], ..Setup::default() };
        let buffers = vec![buffer("table", FROM, &[0; 4])];
        let mut machine = cluster(Generation::Cayman, MachineOptions::default(), &[setup], buffers);
        machine.cores[0].sync.semaphores[60] = 9;
        run_all(&mut machine).unwrap();
        assert_eq!(unfinished(&machine), []);
        assert_eq!(machine.cores[0].sync.semaphores[60], left);
    }
}

/// Registers take the bits of FP32 numbers of a variable.
#[test]
fn loads_of_fp32() {
    let mut data = [0; 32];
    data[0] = 30;
    let o = PSEUDO_MEM_2D {
        dtype: F,
        src_datasrc: DataSrc::REGISTER,
        num_elem: [1, 1],
        var_id: 0,
        var_offset: 0,
        step_elem: [1, 0],
        data,
    };
    let setup = Setup { variables: vec![Some(FROM)], ..Setup::default() };
    let buffers = vec![buffer("data", FROM, &[1.5f32.to_bits(), 0])];
    let mut machine = cluster(Generation::Cayman, MachineOptions::default(), &[setup], buffers);
    run(&mut machine, POOL, &[word(op::PSEUDO_TENSOR_LOAD, o)]).unwrap();
    assert_eq!(machine.cores[0].engines[POOL.index()].registers[30], 1.5f32.to_bits());
}
