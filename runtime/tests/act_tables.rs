//! Table mode on small hand-made tables: the algorithm of chapter 05 section 3.8 and the choice between tables
//! and definitions.

use seqjit_runtime::act::table::{Bucket, Control, Profile, Region, TableError};
use seqjit_runtime::act::{ActError, ActMode, Evaluator, Fallback, FunctionMap, Refusal, TableSet, resolve};
use seqjit_runtime::num::{Level, with_level};

fn constant(y: f32) -> Bucket {
    Bucket { d: [y, 0.0, 0.0, 0.0], x0: 0.0 }
}

/// Octaves 0 (two buckets) and 1 (four buckets, the last cut off at 3.75) of positive inputs; negative inputs have
/// one octave.
fn set_with(change: impl FnOnce(&mut Profile)) -> Result<TableSet, TableError> {
    let mut profile = Profile {
        name: "test_1p".to_owned(),
        id: 5,
        exp_offset: 0,
        positive: Region {
            control_base: 1,
            small_exp: 127,
            small_bucket: 7,
            large_exp: 128,
            large_mantissa: 0x70_0000,
            large_bucket: 8,
        },
        negative: Region {
            control_base: 0,
            small_exp: 127,
            small_bucket: 9,
            large_exp: 128,
            large_mantissa: 0,
            large_bucket: 10,
        },
        at_zero: 0x1111_1111,
        at_nan: 0x7FC0_BEEF,
        at_positive_inf: 0x2222_2222,
        at_negative_inf: 0x3333_3333,
        ..Profile::default()
    };
    change(&mut profile);
    let mut buckets: Vec<Bucket> = (0..11).map(|i| constant(i as f32)).collect();
    // 2 + 3u + 5u^2 + 7u^3 around 1.75
    buckets[2] = Bucket { d: [2.0, 3.0, 5.0, 7.0], x0: 1.75 };
    let control = |base, lsb, size| Control { base, lsb, size };
    TableSet::new(
        "test",
        buckets,
        vec![control(0, 23, 0), control(1, 22, 1), control(3, 21, 2)],
        vec![profile],
    )
}

fn eval(set: &TableSet, x: f32) -> f32 {
    set.function(5).unwrap().unwrap().eval(x)
}

#[test]
fn buckets_by_sign_exponent_and_mantissa() {
    let set = set_with(|_| ()).unwrap();
    let function = set.function(5).unwrap().unwrap();
    let below = |x: f32| x.next_down();
    for (x, bucket) in [
        (below(1.0), 7),
        (1e-40, 7),
        (1.0, 1),
        (below(1.5), 1),
        (1.5, 2),
        (below(2.0), 2),
        (2.0, 3),
        (2.5, 4),
        (3.0, 5),
        (3.5, 6),
        (below(3.75), 6),
        (3.75, 8),
        (1e30, 8),
        (-0.5, 9),
        (-1.0, 0),
        (-1.999, 0),
        (-2.0, 10),
        (f32::MIN, 10),
    ] {
        assert_eq!(function.bucket(x), Some(bucket), "{x:e}");
        if bucket != 2 {
            assert_eq!(function.eval(x), bucket as f32, "{x:e}");
        }
    }
    assert_eq!(function.bucket(0.0), None);
    assert_eq!(function.bucket(f32::NEG_INFINITY), None);
}

#[test]
fn cubic_in_the_distance_to_the_centre() {
    // u = -0.25: 2 - 0.75 + 0.3125 - 0.109375
    assert_eq!(eval(&set_with(|_| ()).unwrap(), 1.5), 1.453_125);
}

#[test]
fn special_inputs_give_raw_bits() {
    let set = set_with(|_| ()).unwrap();
    let bits = |x: f32| eval(&set, x).to_bits();
    assert_eq!([bits(0.0), bits(-0.0)], [0x1111_1111; 2]);
    assert_eq!([bits(f32::INFINITY), bits(f32::NEG_INFINITY)], [0x2222_2222, 0x3333_3333]);
    assert_eq!([bits(f32::NAN), bits(f32::from_bits(0xFF80_0001))], [0x7FC0_BEEF; 2]);
}

#[test]
fn nan_out_of_a_cubic_is_canonical() {
    let nan = f32::from_bits(0xFFC1_2345);
    let set =
        TableSet::new("nan", vec![constant(nan)], vec![], vec![Profile { id: 5, ..Profile::default() }]);
    assert_eq!(eval(&set.unwrap(), -4.0).to_bits(), 0x7FC0_0000);
}

#[test]
fn symmetric_functions_look_up_the_magnitude() {
    let even = set_with(|p| p.symmetric = true).unwrap();
    assert_eq!((eval(&even, 2.5), eval(&even, -2.5)), (4.0, 4.0));
    assert_eq!(eval(&even, -1.5), 1.453_125);
    let odd = set_with(|p| (p.symmetric, p.odd) = (true, true)).unwrap();
    assert_eq!((eval(&odd, 2.5), eval(&odd, -2.5)), (4.0, -4.0));
    let shifted =
        set_with(|p| (p.symmetric, p.odd, p.symmetry_point) = (true, true, 1.0_f32.to_bits())).unwrap();
    assert_eq!((eval(&shifted, 2.5), eval(&shifted, -2.5)), (4.0, -3.0));
    let negative = set_with(|p| (p.symmetric, p.use_negative) = (true, true)).unwrap();
    assert_eq!((eval(&negative, 0.5), eval(&negative, -0.5), eval(&negative, 100.0)), (9.0, 9.0, 10.0));
}

#[test]
fn the_rule_for_small_inputs_comes_first() {
    let set = set_with(|p| (p.positive.small_exp, p.positive.large_exp) = (130, 120)).unwrap();
    assert_eq!((eval(&set, 4.0), eval(&set, 8.0)), (7.0, 8.0));
}

#[test]
fn rows_equal_scalars_on_every_level() {
    let set = set_with(|p| (p.symmetric, p.odd) = (true, true)).unwrap();
    let function = set.function(5).unwrap().unwrap();
    let mut xs: Vec<f32> = (-5000..5000).map(|i| i as f32 / 1000.0).collect();
    xs.extend([f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-45, f32::MAX]);
    let mut row = vec![0.0; xs.len()];
    for level in Level::ALL {
        with_level(level, || function.eval_row(&xs, &mut row));
        for (x, y) in xs.iter().zip(&row) {
            assert_eq!(y.to_bits(), function.eval(*x).to_bits(), "{x:e} on {}", format_args!("{level:?}"));
        }
    }
}

#[test]
fn indices_are_checked_when_the_set_is_made() {
    let message = |change: fn(&mut Profile)| set_with(change).unwrap_err().to_string();
    assert_eq!(
        message(|p| p.positive.small_bucket = 11),
        "function test_1p, pos inputs of exponent 0: bucket 11, below 11 expected"
    );
    assert_eq!(
        message(|p| p.negative.large_bucket = 2047),
        "function test_1p, neg inputs of exponent 128: bucket 2047, below 11 expected"
    );
    assert_eq!(
        message(|p| p.positive.small_exp = 124),
        "function test_1p, pos inputs of exponent 124: control entry -2, below 3 expected"
    );
    assert_eq!(
        message(|p| p.positive.large_exp = 130),
        "function test_1p, pos inputs of exponent 129: control entry 3, below 3 expected"
    );
    // The selector of a partial octave counts up to its end only.
    let ends_at = |large_mantissa| {
        let controls = vec![Control { base: 0, lsb: 21, size: 2 }];
        let positive = Region { small_exp: 127, large_exp: 127, large_mantissa, ..Region::default() };
        let profile = Profile { positive, ..Profile::default() };
        TableSet::new("partial", vec![Bucket::default(); 3], controls, vec![profile])
    };
    assert!(ends_at(0x60_0000).is_ok());
    assert!(matches!(ends_at(0x60_0001), Err(TableError::Index { found: 3, limit: 3, .. })));
    // The region that symmetry leaves unused is not looked at.
    assert!(set_with(|p| (p.symmetric, p.negative.small_bucket) = (true, 2000)).is_ok());
}

#[test]
fn sets_are_limited() {
    let many = TableSet::new("many", vec![Bucket::default(); 2049], vec![], vec![]);
    assert_eq!(many.unwrap_err(), TableError::TooManyBuckets { found: 2049 });
    let twice = TableSet::new("twice", vec![Bucket::default()], vec![], vec![Profile::default(); 2]);
    assert_eq!(twice.unwrap_err(), TableError::DuplicateId { id: 0 });
}

#[test]
fn control_words() {
    let control = Control { base: 0x2A6, lsb: 15, size: 8 };
    assert_eq!(control.to_word(), 0x0008_7AA6);
    assert_eq!(Control::from_word(0x0008_7AA6), Some(control));
    assert_eq!(Control::from_word(0x0010_0000), None);
}

#[test]
fn choice_between_table_and_definition() {
    let set = set_with(|_| ()).unwrap();
    let map = FunctionMap::default();
    let pick = |id, resident: Option<_>, mode| resolve(id, resident, mode, &map);
    let value = |id, resident, mode, x| pick(id, resident, mode).unwrap().evaluator.eval(x, 0.5);
    let fallback = |id, resident, mode| pick(id, resident, mode).unwrap().fallback;
    // The table is not sigmoid's: its results tell which one was used.
    assert_eq!(value(5, Some(&set), ActMode::Auto, 2.5), 4.0);
    assert_eq!(value(5, Some(&set), ActMode::Table, 2.5), 4.0);
    assert_eq!(value(5, Some(&set), ActMode::Definition, 0.0), 0.5);
    assert_eq!(value(5, None, ActMode::Auto, 0.0), 0.5);
    assert_eq!(fallback(5, None, ActMode::Auto), None);
    assert_eq!(fallback(7, Some(&set), ActMode::Auto), Some(Fallback::Missing));
    assert_eq!(fallback(7, Some(&set), ActMode::Definition), None);
    assert_eq!(pick(77, Some(&set), ActMode::Auto).unwrap_err(), ActError::Unknown { id: 77 });
    assert_eq!(pick(77, Some(&set), ActMode::Definition).unwrap_err(), ActError::NoDefinition { id: 77 });
    let none = pick(7, None, ActMode::Table).unwrap_err();
    assert_eq!(none.to_string(), "activation function 7 is not in a table set: none is resident");
    let missing = pick(7, Some(&set), ActMode::Table).unwrap_err();
    assert_eq!(missing.to_string(), "activation function 7 is not in test");
}

#[test]
fn parametric_relu_is_always_defined() {
    let set = set_with(|p| (p.id, p.fma_indirection) = (4, 2)).unwrap();
    for mode in [ActMode::Auto, ActMode::Table, ActMode::Definition] {
        let resolved = resolve(4, Some(&set), mode, &FunctionMap::default()).unwrap();
        assert!(matches!(resolved.evaluator, Evaluator::Definition(_)));
        assert_eq!((resolved.evaluator.eval(-2.0, 0.5), resolved.fallback), (-1.0, None));
    }
}

#[test]
fn tables_of_unknown_meaning_are_not_evaluated() {
    let map = FunctionMap::default();
    for (change, reason) in [
        ((|p| p.multipass = true) as fn(&mut Profile), Refusal::Multipass),
        (|p| p.fma_indirection = 1, Refusal::Indirection),
        (|p| (p.symmetric, p.use_negative, p.odd) = (true, true, true), Refusal::OddNegative),
    ] {
        let set = set_with(change).unwrap();
        assert_eq!(set.function(5).unwrap().unwrap_err(), reason);
        let resolved = resolve(5, Some(&set), ActMode::Auto, &map).unwrap();
        assert_eq!(resolved.fallback, Some(Fallback::Refused(reason)));
        let refused = Err(ActError::Refused { id: 5, set: "test".to_owned(), reason });
        assert_eq!(resolve(5, Some(&set), ActMode::Table, &map).map(|_| ()), refused);
        let unknown = set_with(|p| (change(p), p.id = 77).1).unwrap();
        assert!(matches!(
            resolve(77, Some(&unknown), ActMode::Auto, &map),
            Err(ActError::Refused { id: 77, .. })
        ));
    }
}
