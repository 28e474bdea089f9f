//! Machines live in parallel, and the floating-point environment of the host does not matter.

mod common;
#[path = "common/reference.rs"]
mod reference;

use seqjit::asm::assemble_program;
use seqjit::neff::ReadOptions;
use seqjit::runtime::interp::{FaultKind, transfer};
use seqjit::runtime::isa::Dtype;
use seqjit::runtime::isa::field::DgeComputeOp;
use seqjit::runtime::machine::dma::{Move, MoveOp, Pattern};
use seqjit::runtime::machine::soc::Target;
use seqjit::{Engine, Options, Program, Session, Tensor, Tier};

/// A program from its text.
fn text_program(text: &str) -> Program {
    let neff = assemble_program(text, "test.s").unwrap_or_else(|e| panic!("{e}\n{text}"));
    Program::from_bytes(&neff, &ReadOptions::default()).unwrap()
}

fn example(name: &str) -> Program {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    Program::open(path.join(format!("{name}.neff"))).unwrap()
}

/// A tensor of little-endian elements.
fn tensor<const N: usize>(
    dtype: Dtype,
    shape: &[usize],
    elements: impl IntoIterator<Item = [u8; N]>,
) -> Tensor {
    Tensor::new(dtype, shape.to_vec(), elements.into_iter().flatten().collect()).unwrap()
}

/// Runs a program on random inputs; all outputs in order.
fn outputs(program: &Program, engine: &Engine, seed: u64) -> Vec<Tensor> {
    let mut session = Session::new(engine, program, Options::default()).unwrap();
    session.set_random_inputs(seed);
    session.run().unwrap();
    program.outputs().iter().map(|o| session.output(&o.name).unwrap()).collect()
}

#[test]
fn eight_sessions_on_eight_threads_do_not_disturb_each_other() {
    let names = [
        "trn1_stream_add_256k_fd1k",
        "trn2_stream_add_256k_fd1k",
        "trn2_transpose_1024",
        "nkipy_matmul_small",
        "baseline_fp32_s512",
        "fused_fp32_s512",
        "fused_bf16_s512",
        "trn2_conv2d_4_float32_smaller",
    ];
    let paths: Option<Vec<_>> = names.iter().map(|n| common::data(&format!("neffs/{n}.neff"))).collect();
    let Some(paths) = paths else { return };
    let programs: Vec<Program> = paths.iter().map(|p| Program::open(p).unwrap()).collect();
    let engine = Engine::new();
    let alone: Vec<_> = programs.iter().map(|p| outputs(p, &Engine::new(), 5)).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = programs.iter().map(|p| scope.spawn(|| outputs(p, &engine, 5))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for ((name, a), b) in names.iter().zip(alone).zip(together) {
        assert!(a == b, "{name}");
    }
}

/// A session runs more than once, and a reset one behaves like a new one.
#[test]
fn sessions_can_be_used_again() {
    let Some(path) = common::data("neffs/fused_bf16_s512.neff") else { return };
    let program = Program::open(path).unwrap();
    let mut session = Session::new(&Engine::new(), &program, Options::default()).unwrap();
    session.set_random_inputs(1);
    session.run().unwrap();
    let first = session.output("kernel_out").unwrap();
    session.run().unwrap();
    assert!(session.output("kernel_out").unwrap() == first);
    session.reset();
    assert!(session.run().is_err(), "inputs are forgotten");
    session.set_random_inputs(1);
    session.run().unwrap();
    assert!(session.output("kernel_out").unwrap() == first);
}

/// Shows what SBUF and PSUM hold at the start of a run, then fills both from `x`.
const KEEPING: &str = "
    program keeping for cayman
    prologue
    input  x fp32[128, 64]
    output old_sbuf fp32[128, 64]
    output old_psum fp32[128, 64]
    sbuf s fp32[64]
    psum p fp32[64]
    sbuf u fp32[64]
    queue qSPDynamicHW dynamic SP

    DVE shown:  COPY src=p dst=u channels=128
    SP  store:  DMA s -> old_sbuf
    SP  storep: DMA u -> old_psum  after shown
    SP  load:   DMA x -> s         after store
    DVE fill:   COPY src=s dst=p channels=128 after load, storep
    SP          NOP                after fill
";

/// On-chip memory outlives a run and is gone after a reset.
#[test]
fn on_chip_memory_stays_between_runs_until_a_reset() {
    let program = text_program(KEEPING);
    let mut session = Session::new(&Engine::new(), &program, Options::default()).unwrap();
    let filled = |value: f32| tensor(Dtype::FP32, &[128, 64], [value.to_le_bytes(); 128 * 64]);
    let run = |session: &mut Session, x: f32, expected: f32| {
        session.set_input("x", &filled(x)).unwrap();
        session.run().unwrap();
        for name in ["old_sbuf", "old_psum"] {
            assert!(session.output(name).unwrap() == filled(expected), "{name} with x = {x}");
        }
    };
    run(&mut session, 3.0, 0.0);
    run(&mut session, 5.0, 3.0);
    run(&mut session, 7.0, 5.0);
    session.reset();
    run(&mut session, 9.0, 0.0);
}

/// `y` of a DMA from `x` to `y`, generated and by a descriptor; both must be the same.
fn cast(x: &Tensor, to: Dtype) -> Tensor {
    let elements = x.shape[0];
    let outputs = ["dynamic", "in"].map(|queue| {
        let (from, to) = (x.dtype.text(), to.text());
        let program = text_program(&format!(
            "program cast for cayman
             prologue
             input  x {from}[{elements}]
             output y {to}[{elements}]
             queue q {queue} SP semaphores 24..40
             SP move: DMA x -> y queue=q
             SP NOP after move"
        ));
        let mut session = Session::new(&Engine::new(), &program, Options::default()).unwrap();
        session.set_input("x", x).unwrap();
        session.run().unwrap_or_else(|e| panic!("{queue} {from} -> {to}: {e}"));
        session.output("y").unwrap()
    });
    assert!(outputs[0] == outputs[1], "{} -> {}", x.dtype.text(), to.text());
    outputs.into_iter().next().unwrap()
}

/// Chapter 00 A11: through fp32, one rounding each way; chapter 03 section 6.3, E12: to integers clamped, NaN 0.
#[test]
fn dma_casts_of_64_bit_integers() {
    // Ties of fp32, and values that a detour over fp64 would round twice.
    let signed: Vec<(i64, u32)> = vec![
        (0, 0),
        (-1, 0xBF80_0000),
        (16_777_217, 0x4B80_0000),
        (16_777_219, 0x4B80_0002),
        ((1 << 40) + (1 << 16), 0x5380_0000),
        ((1 << 40) + (1 << 16) + 1, 0x5380_0001),
        ((1 << 60) + (1 << 36) + 1, 0x5D80_0001),
        (i64::MAX, 0x5F00_0000),
        (i64::MIN, 0xDF00_0000),
    ];
    let bits = |t: &Tensor| -> Vec<u32> {
        t.data.chunks_exact(4).map(|e| u32::from_le_bytes(e.try_into().unwrap())).collect()
    };
    let x = tensor(Dtype::INT64, &[signed.len()], signed.iter().map(|(v, _)| v.to_le_bytes()));
    let expected: Vec<u32> = signed.iter().map(|(_, bits)| *bits).collect();
    assert_eq!(bits(&cast(&x, Dtype::FP32)), expected);
    let unsigned: [(u64, u32); 4] = [
        (u64::MAX, 0x5F80_0000),
        ((1 << 63) + (1 << 39), 0x5F00_0000),
        ((1 << 63) + (1 << 39) + 1, 0x5F00_0001),
        (300, 0x4396_0000),
    ];
    let x = tensor(Dtype::UINT64, &[4], unsigned.map(|(v, _)| v.to_le_bytes()));
    assert_eq!(bits(&cast(&x, Dtype::FP32)), unsigned.map(|(_, bits)| bits));

    let floats = [0.5, 1.5, 2.5, -2.5, 1e10, -1e30, 1e30, f32::NAN, f32::INFINITY];
    let x = tensor(Dtype::FP32, &[9], floats.map(f32::to_le_bytes));
    let expected = [0i64, 2, 2, -2, 10_000_000_000, i64::MIN, i64::MAX, 0, i64::MAX];
    assert_eq!(cast(&x, Dtype::INT64), tensor(Dtype::INT64, &[9], expected.map(i64::to_le_bytes)));
    let expected = [0u64, 2, 2, 0, 10_000_000_000, 0, u64::MAX, 0, u64::MAX];
    assert_eq!(cast(&x, Dtype::UINT64), tensor(Dtype::UINT64, &[9], expected.map(u64::to_le_bytes)));

    let x = [200i64, -129, (1 << 53) + 1, 16_777_217, 259];
    let x = tensor(Dtype::INT64, &[5], x.map(i64::to_le_bytes));
    let expected = [127i8, -128, 127, 127, 127];
    assert_eq!(cast(&x, Dtype::INT8), tensor(Dtype::INT8, &[5], expected.map(i8::to_le_bytes)));
    let expected = [200i32, -129, i32::MAX, 16_777_216, 259];
    assert_eq!(cast(&x, Dtype::INT32), tensor(Dtype::INT32, &[5], expected.map(i32::to_le_bytes)));
    let expected = [200u64, 0, 1 << 53, 16_777_216, 259];
    assert_eq!(cast(&x, Dtype::UINT64), tensor(Dtype::UINT64, &[5], expected.map(u64::to_le_bytes)));
    // 259 lies between 258 (0x4381) and 260 (0x4382).
    let expected = [0x4348u16, 0xC301, 0x5A00, 0x4B80, 0x4382];
    assert_eq!(cast(&x, Dtype::BFLOAT16), tensor(Dtype::BFLOAT16, &[5], expected.map(u16::to_le_bytes)));
}

/// MX scales are no operands of DMA conversions (chapter 03 section 6.2). No container can hold such a transfer.
#[test]
fn refused_dma_casts_name_the_field() {
    let session = Session::new(&Engine::new(), &text_program(KEEPING), Options::default()).unwrap();
    let (scale, fp32) = (Dtype::SFP8_E8, Dtype::FP32);
    for (from, to, expected) in [(scale, fp32, "in_dtype"), (fp32, scale, "out_dtype")] {
        let side = |dtype: Dtype| Pattern {
            start: Target::Dram { buffer: 0, offset: 0 },
            dims: vec![(dtype.bytes() as u64, 1)],
            limit: None,
        };
        for op in [MoveOp::Cast { from, to }, MoveOp::Combine { op: DgeComputeOp::ADD, from, to }] {
            let one = Move { source: side(from), destination: side(to), op };
            match transfer::check(session.machine(), &one).unwrap_err() {
                FaultKind::Unsupported { field, reason } => {
                    assert_eq!((field, reason.as_str()), (expected, "a DMA conversion of sfp8_e8"));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Sets flush-to-zero and denormals-are-zero for this thread, runs `f`, restores.
#[cfg(target_arch = "x86_64")]
fn with_flushing_host<R>(f: impl FnOnce() -> R) -> (R, u32) {
    let (mut saved, mut after) = (0u32, 0u32);
    let flushing = 0x1F80u32 | 1 << 15 | 1 << 6;
    // SAFETY: stores and loads MXCSR from live integers; only documented bits are set.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &mut saved, options(nostack));
        std::arch::asm!("ldmxcsr [{}]", in(reg) &flushing, options(nostack));
    }
    let result = f();
    // SAFETY: as above; restores what was there.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &mut after, options(nostack));
        std::arch::asm!("ldmxcsr [{}]", in(reg) &saved, options(nostack));
    }
    (result, after)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_host_that_flushes_subnormals_gets_the_same_bits() {
    let Some(path) = common::data("neffs/trn2_stream_add_256k_fd1k.neff") else { return };
    let program = Program::open(path).unwrap();
    // Subnormal sums and operands: 2^-127 + 2^-128 and neighbours.
    let values: Vec<u8> = (0..256_000u32).flat_map(|i| (0x0040_0000 + i * 7).to_le_bytes()).collect();
    let tensor = Tensor { dtype: Dtype::FP32, shape: vec![256_000], data: values };
    let run = || {
        let mut session = Session::new(&Engine::new(), &program, Options::default()).unwrap();
        for name in ["a_vec", "b_vec"] {
            session.set_input(name, &tensor).unwrap();
        }
        session.run().unwrap();
        session.output("out").unwrap()
    };
    let plain = run();
    let (flushed, environment) = with_flushing_host(run);
    assert!(plain == flushed);
    assert_eq!(environment & 0x8040, 0x8040, "the host's environment comes back");
    let first = u32::from_le_bytes(plain.data[..4].try_into().unwrap());
    assert_eq!(first, 0x0080_0000, "2^-127 + 2^-127");
}

/// Runs a program on the host as it is and on one that flushes; outputs must have the same bits, and some of them
/// must be subnormal, since others would not tell.
#[cfg(target_arch = "x86_64")]
fn assert_flushing_changes_nothing(name: &str, program: &Program, inputs: &[(&str, Tensor)], output: &str) {
    let run = || {
        let mut session = Session::new(&Engine::new(), program, Options::default()).unwrap();
        for (name, tensor) in inputs {
            session.set_input(name, tensor).unwrap();
        }
        session.run().unwrap();
        session.output(output).unwrap()
    };
    let plain = run();
    let (flushed, environment) = with_flushing_host(run);
    assert!(plain == flushed, "{name}");
    assert_eq!(environment & 0x8040, 0x8040, "{name}: the host's environment comes back");
    let subnormal = |x: &&f64| **x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    let subnormals = reference::to_f64(&plain).iter().filter(subnormal).count();
    assert!(subnormals > 100, "{name}: {subnormals} subnormal outputs");
}

/// As [`a_host_that_flushes_subnormals_gets_the_same_bits`]: sums of the PE array, activation tables, and
/// conversions by every engine and by DMA.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_host_that_flushes_subnormals_gets_the_same_bits_from_every_engine() {
    use reference::normal;
    // The sum of bf16 products knows no subnormals, but adding to PSUM does (chapter 05 section 2.1): a few results
    // are much smaller than what they are summed of.
    let inputs = [
        ("at", normal(3, Dtype::BFLOAT16, &[512, 256], 1e-19)),
        ("b", normal(4, Dtype::BFLOAT16, &[512, 512], 1e-19)),
    ];
    assert_flushing_changes_nothing("matmul_bf16", &example("matmul_bf16"), &inputs, "c");
    // FP32 has them everywhere: operands, products, sums.
    for (at, b) in [(1e-20, 1e-20), (3e-39, 0.1)] {
        let program = example("matmul_fp32");
        let shape = |name: &str| program.inputs().iter().find(|i| i.name == name).unwrap().shape.clone();
        let inputs =
            [("at", normal(5, Dtype::FP32, &shape("at"), at)), ("b", normal(6, Dtype::FP32, &shape("b"), b))];
        assert_flushing_changes_nothing("matmul_fp32", &program, &inputs, "c");
    }
    // Differences down to about -100, whose exponentials are subnormal.
    let inputs = [("x", normal(7, Dtype::FP32, &[256, 128], 20.0))];
    assert_flushing_changes_nothing("softmax", &example("softmax"), &inputs, "y");
    let inputs = [
        ("x", normal(10, Dtype::BFLOAT16, &[128, 16, 16], 1e-19)),
        ("wt", normal(11, Dtype::BFLOAT16, &[128, 128, 3, 3], 1e-19)),
        ("bias", normal(12, Dtype::FP32, &[128], 3e-38)),
    ];
    assert_flushing_changes_nothing("conv3x3", &example("conv3x3"), &inputs, "y");
    for (from, to) in [(Dtype::FP32, Dtype::BFLOAT16), (Dtype::BFLOAT16, Dtype::FP32)] {
        let program = text_program(&format!(
            "program cast for cayman
             prologue
             input  x {}[128, 64]
             output y {}[128, 64]
             queue q dynamic SP
             SP move: DMA x -> y
             SP NOP after move",
            from.text(),
            to.text()
        ));
        let inputs = [("x", normal(13, from, &[128, 64], 3e-39))];
        assert_flushing_changes_nothing("DMA cast", &program, &inputs, "y");
    }
}

/// A session with everything that it has translated goes on in another thread.
#[test]
fn sessions_move_between_threads() {
    let program = example("softmax");
    let mut options = Options::default();
    options.tier = Tier::Jit;
    let mut session = Session::new(&Engine::new(), &program, options).unwrap();
    session.set_random_inputs(1);
    let here = session.run().unwrap();
    let output = session.output("y").unwrap();
    let (there, moved) = std::thread::spawn(move || {
        let report = session.run().unwrap();
        (report, session.output("y").unwrap())
    })
    .join()
    .unwrap();
    assert_eq!(here.counters, there.counters);
    assert!(output == moved);
}
