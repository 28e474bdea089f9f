//! Definition mode: vectors and special values of chapter 05 section 3.7, and the levels against each other.

use seqjit_runtime::act::define::{by_id, by_name};
use seqjit_runtime::act::{FUNCTIONS, Function, FunctionMap, define};
use seqjit_runtime::num::{Level, with_level};

const NAN: u32 = 0x7FC0_0000;
const INF: u32 = 0x7F80_0000;
const NEG_INF: u32 = 0xFF80_0000;
const ZERO: u32 = 0;
const NEG_ZERO: u32 = 0x8000_0000;
const ONE: u32 = 0x3F80_0000;
const MINUS_ONE: u32 = 0xBF80_0000;
const HALF: u32 = 0x3F00_0000;

fn eval(id: u8, x: f32) -> f32 {
    define(id).unwrap_or_else(|| panic!("function {id} is not defined"))(x, 0.25)
}

/// Distance in units of the last place; signs must agree.
fn ulps(a: f32, b: u32) -> u32 {
    assert_eq!(a.is_sign_negative(), f32::from_bits(b).is_sign_negative(), "{a:e} {b:08x}");
    a.to_bits().abs_diff(b)
}

/// Correctly rounded bits of f(-1), f(0.5), f(2): the manual's table.
const VECTORS: &[(u8, [u32; 3], u32)] = &[
    (5, [0x3E89_B2B1, 0x3F1F_597F, 0x3F61_7BEB], 4),
    (6, [0xBF42_F7D6, 0x3EEC_9A9F, 0x3F76_CA83], 4),
    (7, [0x3EBC_5AB2, 0x3FD3_094C, 0x40EC_7326], 1),
    (9, [0x3EA0_63D6, 0x3F79_5D1C, 0x4008_1F97], 4),
    (23, [0xBE22_7686, 0x3EB1_03AF, 0x3FFA_2D0C], 4),
    (25, [0xBE22_9E91, 0x3EB1_016D, 0x3FFA_3042], 4),
    (26, [0xBE1D_E7B7, 0x3EB3_661D, 0x3FF7_C3A9], 4),
    (36, [0xBE89_B2B1, 0x3E9F_597F, 0x3FE1_7BEB], 4),
    (24, [0xBE9B_5770, 0x3EC0_2024, 0x3FF8_D3A6], 4),
    (21, [0xBF57_BB3D, 0x3F05_3F7B, 0x3F7E_CD71], 4),
];

#[test]
fn reference_vectors() {
    for (id, expected, allowed) in VECTORS {
        for (x, bits) in [-1.0, 0.5, 2.0].into_iter().zip(expected) {
            let y = eval(*id, x);
            assert!(ulps(y, *bits) <= *allowed, "function {id} of {x}: {:08x}, not {bits:08x}", y.to_bits());
        }
    }
    for (id, x, bits, allowed) in [
        (29, 2.0, 0x3F35_04F3, 4),
        (129, 3.0, 0x3EAA_AAAB, 1),
        (10, 2.0, 0x3F31_7218, 4),
        (19, 1.0, 0x3F57_6AA4, 4),
        (28, 1.0, 0x3F49_0FDB, 4),
    ] {
        let y = eval(id, x);
        assert!(ulps(y, bits) <= allowed, "function {id} of {x}: {:08x}, not {bits:08x}", y.to_bits());
    }
}

/// Results at +0, -0, +Inf, -Inf; NaN gives 7FC00000 but for ids 35 and 130.
const SPECIAL: &[(u8, [u32; 4])] = &[
    (1, [ZERO, NEG_ZERO, INF, NEG_INF]),
    (2, [ZERO, ZERO, INF, ZERO]),
    (3, [ZERO, NEG_ZERO, INF, NEG_INF]),
    (4, [ZERO, NEG_ZERO, INF, NEG_INF]),
    (5, [HALF, HALF, ONE, ZERO]),
    (6, [ZERO, NEG_ZERO, ONE, MINUS_ONE]),
    (7, [ONE, ONE, INF, ZERO]),
    (8, [ZERO, NEG_ZERO, INF, NAN]),
    (9, [0x3F31_7218, 0x3F31_7218, INF, ZERO]),
    (10, [NEG_INF, NEG_INF, INF, NAN]),
    (11, [ONE, ONE, ONE, ONE]),
    (12, [ONE, ONE, ONE, ZERO]),
    (13, [ONE, ONE, ONE, 0x3C23_D70A]),
    (19, [ZERO, NEG_ZERO, NAN, NAN]),
    (21, [ZERO, NEG_ZERO, ONE, MINUS_ONE]),
    (22, [0x3F90_6EBB, 0x3F90_6EBB, ZERO, ZERO]),
    (23, [ZERO, NEG_ZERO, INF, NEG_ZERO]),
    (24, [ZERO, NEG_ZERO, INF, NEG_ZERO]),
    (25, [ZERO, NEG_ZERO, INF, NEG_ZERO]),
    (26, [ZERO, NEG_ZERO, INF, NEG_ZERO]),
    (28, [ZERO, NEG_ZERO, 0x3FC9_0FDB, 0xBFC9_0FDB]),
    (29, [INF, INF, ZERO, NAN]),
    (30, [ZERO, ZERO, INF, INF]),
    (31, [ZERO, ZERO, ONE, MINUS_ONE]),
    (32, [HALF, HALF, ONE, ZERO]),
    (33, [ZERO, ZERO, INF, INF]),
    (34, [INF, INF, ZERO, ZERO]),
    (35, [ONE, ONE, ZERO, ZERO]),
    (36, [ZERO, NEG_ZERO, INF, ZERO]),
    (37, [HALF, HALF, ONE, ZERO]),
    (38, [HALF, HALF, ONE, ZERO]),
    (128, [ZERO, NEG_ZERO, INF, NEG_INF]),
    (129, [INF, NEG_INF, ZERO, NEG_ZERO]),
    (130, [ZERO, ZERO, ZERO, ZERO]),
];

#[test]
fn special_values() {
    for (id, expected) in SPECIAL {
        for (x, bits) in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY].into_iter().zip(expected) {
            let y = eval(*id, x).to_bits();
            assert_eq!(y, *bits, "function {id} of {x}: {y:08x}, not {bits:08x}");
        }
        let at_nan = if matches!(id, 35 | 130) { ZERO } else { NAN };
        for x in [0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x7FED_CBA9] {
            let y = eval(*id, f32::from_bits(x)).to_bits();
            assert_eq!(y, at_nan, "function {id} of NaN {x:08x}: {y:08x}");
        }
    }
    let ids: Vec<u8> = FUNCTIONS.iter().filter_map(|f| f.id).collect();
    assert_eq!(ids, SPECIAL.iter().map(|(id, _)| *id).collect::<Vec<_>>(), "an id without special values");
}

#[test]
fn subnormals_and_the_ends_of_the_range() {
    let tiny = f32::from_bits(1);
    for id in [1, 6, 19, 28, 33, 128] {
        assert_eq!(eval(id, tiny).to_bits(), 1, "function {id}");
    }
    for (id, x, bits) in [
        (3, -tiny, NEG_ZERO),
        (7, tiny, ONE),
        (7, 88.722_84, INF),
        (7, -104.0, ZERO),
        (7, f32::MIN, ZERO),
        (7, f32::MAX, INF),
        // ln(2^-149) = -103.2789...
        (10, tiny, 0xC2CE_8ED0),
        (10, -tiny, NAN),
        // sqrt(2^-149) = 2^-74.5
        (8, tiny, 0x1A35_04F3),
        (29, tiny, 0x64B5_04F3),
        // 1 / 2^-149 overflows
        (129, tiny, INF),
        (129, f32::MAX, 0x0020_0000),
        (12, -tiny, ZERO),
        (31, -tiny, MINUS_ONE),
        (35, f32::MAX, ONE),
        (30, 1e-30, ZERO),
        (23, f32::MIN, NEG_ZERO),
        (24, f32::MIN, NEG_ZERO),
        (26, f32::MIN, NEG_ZERO),
        (25, f32::MIN, NEG_ZERO),
        (36, f32::MIN, NEG_ZERO),
        (37, f32::MIN, NEG_ZERO),
        (38, f32::MIN, ZERO),
        (37, f32::MAX, ONE),
        (9, f32::MAX, 0x7F7F_FFFF),
        (24, f32::MAX, 0x7F7F_FFFF),
    ] {
        let y = eval(id, x).to_bits();
        assert_eq!(y & 0x7FFF_FFFF, bits & 0x7FFF_FFFF, "function {id} of {x:e}: {y:08x}, not {bits:08x}");
    }
}

#[test]
fn slopes() {
    let parametric = define(4).unwrap();
    assert_eq!(parametric(-2.0, 0.25), -0.5);
    assert_eq!(parametric(3.0, 0.25), 3.0);
    assert_eq!(parametric(-2.0, f32::NAN).to_bits(), NAN);
    assert_eq!(eval(3, -2.5).to_bits(), 0xBCCC_CCCC, "0.01f * -2.5, one rounding");
}

#[test]
fn unnumbered_functions() {
    assert!(define(14).is_none() && define(0).is_none() && define(255).is_none());
    let mut map = FunctionMap::default();
    assert!(map.get(14).is_none());
    map.add(14, "derivative_tanh").unwrap();
    map.add(15, "derivative_sigmoid").unwrap();
    // tanh'(0.5) = 0.786447732965927, sigmoid'(2) = 0.104993585403507
    assert!(ulps(map.get(14).unwrap().eval(0.5, 0.0), 0x3F49_54A3) <= 4);
    assert!(ulps(map.get(15).unwrap().eval(2.0, 0.0), 0x3DD7_06E0) <= 4);
    assert_eq!(map.get(7).unwrap().name, "exp");
    assert_eq!(
        map.add(16, "nonesuch").unwrap_err().to_string(),
        "no activation function is called \"nonesuch\""
    );
}

/// Inputs of every kind: exponents and signs all, mantissas pseudo-random, and the special values.
fn inputs(count: usize) -> Vec<f32> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let special = [ZERO, NEG_ZERO, INF, NEG_INF, NAN, 0xFFC0_0001, 0x7F80_0001, 1, 0x8000_0001, 0x7F7F_FFFF];
    let mut xs: Vec<f32> = special.into_iter().map(f32::from_bits).collect();
    // Half of them over all exponents, half where the functions bend.
    xs.extend((0..count / 2).map(|_| f32::from_bits(next())));
    xs.extend((0..count / 2).map(|_| (next() as f32 / u32::MAX as f32 - 0.5) * 240.0));
    xs
}

#[test]
fn rows_equal_scalars_on_every_level() {
    let xs = inputs(40_000);
    let mut row = vec![0.0; xs.len()];
    for function in FUNCTIONS {
        for level in Level::ALL {
            with_level(level, || function.eval_row(&xs, &mut row, -1.75));
            for (x, y) in xs.iter().zip(&row) {
                let expected = function.eval(*x, -1.75);
                assert_eq!(
                    y.to_bits(),
                    expected.to_bits(),
                    "{} of {x:e} ({:08x}) on {}",
                    function.name,
                    x.to_bits(),
                    format_args!("{level:?}")
                );
            }
        }
    }
}

#[test]
fn rows_of_every_length() {
    let xs = inputs(64);
    for function in [by_id(7), by_name("mish")].into_iter().flatten() {
        for length in 0..xs.len() {
            let mut row = vec![f32::NAN; length];
            function.eval_row(&xs[..length], &mut row, 0.0);
            for (x, y) in xs.iter().zip(&row) {
                assert_eq!(y.to_bits(), function.eval(*x, 0.0).to_bits());
            }
        }
    }
}

/// FNV-1a of the result bits for `inputs(40_000)`: the definitions, once made, are frozen (00-decisions 05-28). A change
/// here is a change of what programs compute.
const FROZEN: &[(&str, u64)] = &[
    ("identity", 0x3E83_DB8C_4A04_111B),
    ("relu", 0x12D6_3942_93B1_2EE4),
    ("leaky_relu", 0x2579_9A1A_139D_0FCD),
    ("parametric_relu", 0xBB9B_17CB_E3ED_88BA),
    ("sigmoid", 0x7B4A_577B_029E_E0AF),
    ("tanh", 0x65EF_BD2B_4C97_D1A8),
    ("exp", 0xFF66_2801_BDE5_83C7),
    ("sqrt", 0xD7FD_8CC0_8D49_AE35),
    ("softplus", 0x5D3D_2018_EF0C_DB42),
    ("ln", 0xFBE5_C74B_2977_7501),
    ("derivative_identity", 0x84DC_503C_DC13_6035),
    ("derivative_relu", 0xDDDC_7B59_D2EB_F0F8),
    ("derivative_leaky_relu", 0x5662_C079_D7AB_93A4),
    ("sin", 0x369B_3628_44C9_E2A2),
    ("erf", 0xA39D_F16A_F87C_1D54),
    ("derivative_erf", 0xAFFB_BD61_440D_CF6A),
    ("gelu", 0x4FF0_F0F6_ED4A_B4EE),
    ("mish", 0x6BB9_83B9_CF84_ED99),
    ("gelu_apprx_tanh", 0xD95B_490B_F831_B0B3),
    ("gelu_apprx_sigmoid", 0xA93F_B870_77E7_A9EA),
    ("arctan", 0xF238_5C23_FFDF_B10B),
    ("reciprocal_sqrt", 0x5A75_83B7_29F0_AEF1),
    ("square", 0x20C1_A705_7971_864A),
    ("sign", 0x0F9E_54D1_AB77_7985),
    ("derivative_gelu", 0x07CF_92BA_4E11_75E2),
    ("abs", 0xF26B_D33C_0A3C_A51B),
    ("abs_reciprocal_sqrt", 0xC866_B0D3_E76C_652D),
    ("is_finite", 0xB730_39B5_1AFB_45B8),
    ("silu", 0x0DCF_2729_C92E_B5AA),
    ("derivative_silu", 0xB5AE_340F_A5B6_7AC0),
    ("derivative_gelu_apprx_sigmoid", 0x97C1_C432_C36E_70B8),
    ("copy", 0x3E83_DB8C_4A04_111B),
    ("reciprocal", 0x0909_4643_DBBD_D5B2),
    ("memset_zero", 0x205C_938A_0115_3045),
    ("derivative_sigmoid", 0xB7DE_00B2_3578_5982),
    ("derivative_tanh", 0xAE23_9F0F_3E09_5068),
];

#[test]
fn results_are_frozen() {
    let xs = inputs(40_000);
    let digest = |f: &Function| {
        let bytes = xs.iter().flat_map(|x| f.eval(*x, -1.75).to_bits().to_le_bytes());
        bytes.fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3))
    };
    let found: Vec<(&str, u64)> = FUNCTIONS.iter().map(|f| (f.name, digest(f))).collect();
    assert_eq!(found, FROZEN, "{found:#x?}");
}
