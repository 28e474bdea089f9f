//! Machines live in parallel, and the floating-point environment of the host does not matter.

mod common;
#[path = "common/reference.rs"]
mod reference;

use seqjit::runtime::isa::Dtype;
use seqjit::{Engine, Options, Program, Session, Tensor};

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
