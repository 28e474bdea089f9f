//! How far the definitions are from the true values, held to the figures of `docs/activation-functions.md`.

use seqjit::tables::exact;
use seqjit_runtime::act::{FUNCTIONS, Function, define};

/// Every how many fp32 values one is measured for the figures of the page.
const FULL_STRIDE: u32 = 5;
/// A multiple, so that the quick test sees a part of the same values.
const QUICK_STRIDE: u32 = FULL_STRIDE * 199;

/// Functions with a zero where two terms cancel: measured in units of the last place where |f| is at least
/// [`CANCELLED`], absolutely below.
const CANCELLING: &[&str] = &["derivative_gelu", "derivative_silu", "derivative_gelu_apprx_sigmoid"];
const CANCELLED: f64 = 0.125;

#[derive(Clone, Copy, Default)]
struct Worst {
    /// Units in the last place of fp32 at the true value.
    ulp: f64,
    ulp_at: f32,
    /// Absolute error where terms cancel.
    absolute: f64,
}

/// The distance between fp32 values around y.
fn ulp_of(y: f64) -> f64 {
    let exponent = ((y.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(-126);
    f64::from_bits(((exponent - 23 + 1023) as u64) << 52)
}

fn measure(function: &Function, (low, high): (f32, f32), stride: u32) -> Worst {
    const ROW: usize = 1 << 14;
    let formula = exact(function.name).expect("a formula");
    let cancelling = CANCELLING.contains(&function.name);
    let magnitude_only = matches!(function.name, "reciprocal" | "abs_reciprocal_sqrt");
    let inside = |x: &f32| {
        let m = if magnitude_only { x.abs() } else { *x };
        x.is_finite() && (low..=high).contains(&m)
    };
    let mut inputs = (0..=u32::MAX).step_by(stride as usize).map(f32::from_bits).filter(inside);
    let (mut xs, mut ys) = (Vec::with_capacity(ROW), vec![0.0; ROW]);
    let mut worst = Worst::default();
    loop {
        xs.clear();
        xs.extend(inputs.by_ref().take(ROW));
        if xs.is_empty() {
            return worst;
        }
        let ys = &mut ys[..xs.len()];
        function.eval_row(&xs, ys, 0.0);
        for (x, y) in xs.iter().zip(ys) {
            let (x, y) = (*x, f64::from(*y));
            let true_value = formula(f64::from(x));
            // Overflow counts as the first value that fp32 lacks.
            let limit = 2.0_f64.powi(128);
            let error = (y.clamp(-limit, limit) - true_value.clamp(-limit, limit)).abs();
            assert!(!error.is_nan(), "{} of {x:e}: {y:e}, not {true_value:e}", function.name);
            if cancelling && true_value.abs() < CANCELLED {
                worst.absolute = worst.absolute.max(error);
            } else if error > worst.ulp * ulp_of(true_value) {
                (worst.ulp, worst.ulp_at) = (error / ulp_of(true_value), x);
            }
        }
    }
}

/// Figures of the page by function name: (ulp, absolute).
fn documented() -> Vec<(String, f64, f64)> {
    let page = include_str!("../docs/activation-functions.md");
    let figure = |cell: &str| cell.parse().unwrap_or(0.0);
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", _id, name, _range, ulp, absolute, ""] => {
                Some((name.trim_matches('`').to_owned(), figure(ulp), figure(absolute)))
            }
            _ => None,
        }
    });
    rows.skip_while(|(name, ..)| name != "identity").collect()
}

fn measured() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().filter(|f| exact(f.name).is_some())
}

#[test]
fn no_worse_than_documented() {
    let documented = documented();
    for function in measured() {
        let (_, ulp, absolute) =
            documented.iter().find(|(name, ..)| name == function.name).expect("documented");
        let allowed = if matches!(function.name, "exp" | "reciprocal") { 1.0 } else { 4.0 };
        assert!(
            *ulp <= allowed && *absolute <= 2.0_f64.powi(-24),
            "{}: the page claims too little",
            function.name
        );
        let worst = measure(function, function.valid, QUICK_STRIDE);
        assert!(
            worst.ulp <= *ulp && worst.absolute <= *absolute,
            "{}: {} ulp at {:e}, {:e} absolute",
            function.name,
            worst.ulp,
            worst.ulp_at,
            worst.absolute
        );
    }
    assert_eq!(documented.len(), FUNCTIONS.len(), "one row a function");
}

/// Functions that lose nothing outside their valid range.
#[test]
fn outside_the_valid_range() {
    let all = (f32::MIN, f32::MAX);
    let positive = (f32::from_bits(1), f32::MAX);
    for (name, range, ulp) in [
        ("ln", positive, 1.0),
        ("sqrt", positive, 0.5),
        ("reciprocal_sqrt", positive, 1.5),
        ("abs_reciprocal_sqrt", positive, 1.5),
        ("reciprocal", positive, 0.5),
        ("arctan", all, 1.5),
    ] {
        let function = FUNCTIONS.iter().find(|f| f.name == name).expect("in the table");
        let worst = measure(function, range, QUICK_STRIDE);
        assert!(worst.ulp <= ulp, "{name}: {} ulp at {:e}", worst.ulp, worst.ulp_at);
    }
}

/// Beyond its valid range sin is still reduced, up to 2^16; then it says NaN.
#[test]
fn sin_outside_its_valid_range() {
    let sin = FUNCTIONS.iter().find(|f| f.name == "sin").expect("in the table");
    let worst = measure(sin, (-65_536.0, 65_536.0), QUICK_STRIDE);
    assert!(worst.ulp <= 4.0, "{} ulp at {:e}", worst.ulp, worst.ulp_at);
    assert!(define(19).expect("defined")(65_536.01, 0.0).is_nan());
}

/// Prints the rows of the page: `cargo test --test act_accuracy -- --ignored --nocapture`.
#[test]
#[ignore = "measures a fifth of all fp32 values: minutes"]
fn print_figures() {
    let up = |x: f64, unit: f64| (x / unit).ceil() * unit;
    for function in measured() {
        let worst = measure(function, function.valid, FULL_STRIDE);
        let absolute =
            if worst.absolute > 0.0 { format!("{:.1e}", up(worst.absolute, 1e-9)) } else { String::new() };
        println!("{} | {:.2} | {absolute} | at {:e}", function.name, up(worst.ulp, 0.01), worst.ulp_at);
    }
}
