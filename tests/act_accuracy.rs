use seqjit::tables::exact;
use seqjit_runtime::act::{CpuLevel, FUNCTIONS, Function};

#[derive(Default)]
struct Worst {
    ulp: f64,
    at: f32,
    abs: f64,
    over: f64,
    over_at: f32,
}

fn spacing(y: f64) -> f64 {
    let e = (((y.to_bits() >> 52) & 0x7FF) as i32 - 1023).max(-126);
    2f64.powi(e - 23)
}

fn measure(f: &Function, stride: u32) -> Worst {
    let g = exact(f.name).unwrap();
    let mut w = Worst::default();
    let mut xs = vec![];
    let mut out = vec![0.0; 1 << 16];
    let level = CpuLevel::detect();
    let mut bits = 0u64;
    while bits < 1 << 32 {
        xs.clear();
        while bits < 1 << 32 && xs.len() < 1 << 16 {
            let x = f32::from_bits(bits as u32);
            let m = if f.name == "reciprocal" || f.name == "abs_reciprocal_sqrt" { x.abs() } else { x };
            if x.is_finite() && m >= f.valid.0 && m <= f.valid.1 {
                xs.push(x);
            }
            bits += u64::from(stride);
        }
        let out = &mut out[..xs.len()];
        f.eval_row(level, &xs, out, 0.0);
        for (x, y) in xs.iter().zip(&*out) {
            let r = g(f64::from(*x));
            let y64 = f64::from(*y);
            let max = f64::from(f32::MAX);
            if r.abs() > max {
                if y64.abs() < max {
                    w.ulp = 1e9;
                    w.at = *x;
                }
                continue;
            }
            if r.is_nan() != y.is_nan() {
                w.ulp = 2e9;
                w.at = *x;
                continue;
            }
            if r == y64 {
                continue;
            }
            if y.is_infinite() && r.is_infinite() {
                continue;
            }
            let abs = (y64 - r).abs();
            let ulp = abs / spacing(r);
            if !(ulp <= w.ulp) {
                w.ulp = ulp;
                w.at = *x;
                w.abs = abs;
            }
            if ulp > 4.0 && abs > w.over {
                w.over = abs;
                w.over_at = *x;
            }
        }
    }
    w
}

#[test]
#[ignore]
fn measure_all() {
    let stride: u32 = std::env::var("STRIDE").ok().and_then(|s| s.parse().ok()).unwrap_or(1009);
    for f in FUNCTIONS {
        if exact(f.name).is_none() {
            continue;
        }
        let t = std::time::Instant::now();
        let w = measure(f, stride);
        println!(
            "{:30} {:8.3} ulp at {:e} ({:08x}), over: {:e} = 2^{:.1} at {:e}  {:?}",
            f.name,
            w.ulp,
            w.at,
            w.at.to_bits(),
            w.over,
            w.over.log2(),
            w.over_at,
            t.elapsed()
        );
    }
}
