//! Bad input: each case is refused with its own error, whose message names the numbers and the remedy.

use crate::common::*;
use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, HonestEvaluator, Operation, Values};
use clathrate_ckks::parameters::{Rescale, Segment};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Order, Params, ParamsSpec, Progress, Runtime,
    SecretKey,
};
use clathrate_lattice::{LatticeError, Level};
use rustfft::num_complex::Complex64;

const COEFFICIENTS: EncryptOptions = EncryptOptions {
    encoding: Some(Encoding::Coefficients),
    level: None,
    scale: None,
    bodies: None,
    axis: None,
    capacity: None,
    lanes: None,
    copies: None,
    order: Order::Natural,
    bound: None,
};

fn real(values: &[f64]) -> Values {
    Values::Real(values.to_vec())
}

fn try_encrypt(
    sk: &SecretKey,
    values: &Values,
    shape: &[usize],
    options: EncryptOptions,
) -> Result<Ciphertext, CkksError> {
    sk.encrypt_array(values, shape, options)
}

#[test]
fn fractions_at_weight_scale_1_are_refused() {
    let refused = clathrate_ckks::circuits::matrix::Weights::new(1, 2, &[2.0, 0.3], 1.0)
        .expect_err("a fraction")
        .to_string();
    assert!(refused.contains("0.3") && refused.contains("whole numbers"), "{refused}");
    assert!(clathrate_ckks::circuits::matrix::Weights::new(1, 2, &[2.0, -3.0], 1.0).is_ok());
}

#[test]
fn shapes_that_do_not_match_are_refused() {
    let (_, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    let vector = encrypt(&sk, &ramp(6));
    let matrix = try_encrypt(&sk, &real(&ramp(6)), &[2, 3], COEFFICIENTS).expect("matrix");
    assert_refused!(
        try_encrypt(&sk, &real(&ramp(5)), &[2, 3], COEFFICIENTS),
        CkksError::Shape { .. },
        "[2, 3]",
        "[5]",
        "needs 6 values"
    );
    assert_refused!(
        try_encrypt(&sk, &real(&ramp(8)), &[2, 2, 2, 1, 1, 1, 1], COEFFICIENTS),
        CkksError::OutOfRange { .. },
        "[2, 2, 2, 1, 1, 1, 1]",
        "at most 6 axes"
    );
    let shorter = encrypt(&sk, &ramp(4));
    assert_refused!(
        ev.add(&vector, &shorter),
        CkksError::Shape { .. },
        "addition",
        "[6]",
        "[4]",
        "equal shapes"
    );
    assert_refused!(ev.sub(&vector, &shorter), CkksError::Shape { .. }, "subtraction", "[6]", "[4]");
    assert_refused!(
        ev.add_plain(&vector, &real(&ramp(5))),
        CkksError::Shape { .. },
        "[6]",
        "[5]",
        "6 values"
    );
    assert_refused!(ev.multiply_plain(&vector, &real(&ramp(7))), CkksError::Shape { .. }, "[6]", "[7]");
    let weights = Weights::encode(&ev, 2, 3, &ramp(6), &matrix).expect("weights");
    assert_refused!(weights.multiply(&ev, &matrix), CkksError::Shape { .. }, "[2, 3]", "needs 2 columns");
    assert_refused!(weights.multiply(&ev, &vector), CkksError::Shape { .. }, "[6]", "inner products");
    assert_refused!(
        Weights::encode(&ev, 2, 3, &ramp(5), &matrix),
        CkksError::Shape { .. },
        "[2, 3]",
        "[5]",
        "rows * columns"
    );
    assert_refused!(Weights::encode(&ev, usize::MAX, 3, &ramp(5), &matrix), CkksError::Shape { .. }, "[5]");
}

#[test]
fn numbers_that_are_not_finite_are_refused_with_their_index() {
    let (_, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    let matrix = try_encrypt(&sk, &real(&ramp(200)), &[2, 100], COEFFICIENTS).expect("matrix");
    let vector = encrypt(&sk, &ramp(100));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // Index 77 lies in the second bundle: the flat index counts, not the bundle's.
        let mut data = ramp(100);
        data[77] = bad;
        let name = if bad.is_nan() { "nan".to_owned() } else { bad.to_string() };
        let text = format!("{name} at index 77");
        for encoding in [Encoding::Slots, Encoding::Coefficients] {
            let options = EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() };
            assert_refused!(
                try_encrypt(&sk, &real(&data), &[100], options),
                CkksError::NotFinite { index: 77, .. },
                &text,
                "finite"
            );
        }
        let complex = Values::Complex(data.iter().map(|&v| Complex64::new(0.0, v)).collect());
        assert_refused!(
            try_encrypt(&sk, &complex, &[100], EncryptOptions::default()),
            CkksError::NotFinite { index: 77, .. },
            &text
        );
        assert_refused!(ev.add_plain(&vector, &real(&data)), CkksError::NotFinite { index: 77, .. }, &text);
        assert_refused!(
            ev.multiply_plain(&vector, &real(&data)),
            CkksError::NotFinite { index: 77, .. },
            &text
        );
        assert_refused!(ev.multiply_scalar(&vector, bad), CkksError::NotFinite { index: 0, .. }, "finite");
        assert_refused!(
            Weights::encode(&ev, 50, 2, &data, &matrix),
            CkksError::NotFinite { index: 77, .. },
            &text
        );
    }
}

#[test]
fn values_too_large_for_scale_and_level_are_refused_and_the_largest_that_fit_work() {
    let (params, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    for level in [0, 2, params.max_level().0] {
        let options = EncryptOptions { level: Some(Level(level)), ..COEFFICIENTS };
        let scale = params.scale(Level(level));
        // Coefficients are centred, and one bit is the guard against overflow: below Q / 4, and at most 2^119
        // at once.
        let headroom = (params.log2_q(Level(level)) - 1.0).min(120.0);
        let largest = (headroom - 1.0).exp2() / scale;
        let fits = largest * 0.999;
        let ct = try_encrypt(&sk, &real(&[fits, -fits]), &[2], options).expect("just fits");
        let back = decrypt(&sk, &ct);
        assert!(
            (back[0] / fits - 1.0).abs() < 1e-12 && (back[1] / fits + 1.0).abs() < 1e-12,
            "level {level}: {back:?} for {fits}"
        );
        let above = real(&[1.0, largest * 1.001]);
        assert_refused!(
            try_encrypt(&sk, &above, &[2], options),
            CkksError::TooLarge { .. },
            &format!("level {level} has room for {headroom:.1}"),
            "scale 2^40",
            "scale the data down"
        );
        for huge in [1e200, f64::MAX] {
            assert_refused!(
                try_encrypt(&sk, &real(&[huge]), &[1], options),
                CkksError::TooLarge { .. },
                "has room for",
                "scale the data down"
            );
            let slots = EncryptOptions { encoding: Some(Encoding::Slots), ..options };
            // A sum in the embedding may overflow to infinity: an error all the same.
            assert!(try_encrypt(&sk, &real(&[huge, huge, -huge, huge]), &[4], slots).is_err());
        }
        let ct = try_encrypt(&sk, &real(&[1.0]), &[1], options).expect("fits");
        assert_refused!(
            ev.add_plain(&ct, &real(&[1e200])),
            CkksError::TooLarge { .. },
            "has room for",
            "1.0000e200"
        );
        // 120 bits of the factor and 40 of the scale.
        if params.log2_q(Level(level)) < 161.0 {
            assert_refused!(
                ev.multiply_integer(&ct, 1 << 120),
                CkksError::TooLarge { .. },
                "has room for",
                "1.3292e36"
            );
        }
        // An integer factor that leaves room works, the next power of two does not.
        let factor = (params.log2_q(Level(level)).min(100.0) - 42.5).floor().exp2();
        assert!(
            (decrypt(&sk, &ev.multiply_integer(&ct, factor as i128).expect("fits"))[0] / factor - 1.0).abs()
                < 1e-7
        );
    }
}

#[test]
fn dropping_to_a_level_too_small_for_its_scale_is_refused() {
    // The base step has 30 bits, the canonical scale of every level 40: level 0 holds no number.
    let params = custom(
        "name = \"short base\"\ndegree = 64\nsteps = [[30], [40], [40]]\nlog2_scale = 40\ninsecure = true\n",
    );
    let (sk, ev) = (SecretKey::generate(&params).expect("key"), Evaluator::new(&params));
    let ct = encrypt(&sk, &[0.5]);
    assert_close(&decrypt(&sk, &ev.drop_to_level(&ct, Level(1)).expect("has room")), &[0.5], 1e-6);
    assert_refused!(
        ev.drop_to_level(&ct, Level(0)),
        CkksError::ScaleOutOfRange { level: 0, .. },
        "level 0",
        "30.0 bits"
    );
}

#[test]
fn messages_that_outgrow_their_modulus_are_refused_at_decryption() {
    let (params, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    // Level 0 holds 2^60 / 2^40 in all: +-2^18 below the guard.
    let high = try_encrypt(&sk, &real(&[0.9 * 18f64.exp2(), -0.9 * 18f64.exp2()]), &[1, 2], COEFFICIENTS)
        .expect("fits the top level");
    let low = ev.drop_to_level(&high, Level(0)).expect("the scale fits");
    assert!((decrypt(&sk, &low)[0] / (0.9 * 18f64.exp2()) - 1.0).abs() < 1e-9);
    // One step past the guard and past the modulus's half; the top level still holds both.
    for factor in [1.5, 2.3, 2.7] {
        let large = 18f64.exp2() * factor;
        let high = try_encrypt(&sk, &real(&[1.0, large]), &[1, 2], COEFFICIENTS).expect("fits the top level");
        assert!((decrypt(&sk, &high)[1] / large - 1.0).abs() < 1e-9);
        let low = ev.drop_to_level(&high, Level(0)).expect("the scale fits");
        assert_refused!(
            sk.decrypt(&low),
            CkksError::TooLarge { .. },
            "does not fit its modulus",
            "2^18.0",
            "level 0",
            "wrapped around"
        );
    }
    // A product with weights: 64 * 2000 * 3 is past 2^18, each factor is modest.
    let data = try_encrypt(
        &sk,
        &real(&vec![3.0; 64 * 64]),
        &[64, 64],
        EncryptOptions { level: Some(Level(1)), ..COEFFICIENTS },
    )
    .expect("fits");
    let weights = Weights::encode(&ev, 2, 64, &[2000.0; 128], &data).expect("weights");
    let product = ev.rescale(&weights.multiply(&ev, &data).expect("product")).expect("rescale");
    assert_refused!(
        sk.decrypt(&product),
        CkksError::TooLarge { .. },
        "does not fit its modulus",
        "scale the data or the weights down"
    );
    // Repeated growth at the top, past all primes: uniform residues.
    let mut grown = encrypt(&sk, &ramp(20));
    for _ in 0..5 {
        grown = ev.multiply_integer(&grown, 1 << 40).expect("each factor alone fits");
    }
    assert!(params.log2_q(params.max_level()) < 5.0 * 40.0 + 40.0);
    assert_refused!(sk.decrypt(&grown), CkksError::TooLarge { .. }, "does not fit its modulus", "level 4");
    assert_refused!(
        sk.decrypt_to_share(&grown, 20, HonestEvaluator),
        CkksError::TooLarge { .. },
        "does not fit its modulus",
        "level 4"
    );
}

#[test]
fn small_numbers_vanish_without_an_error() {
    let (_, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    for tiny in [f64::MIN_POSITIVE, 5e-324, -0.0] {
        assert_close(&decrypt(&sk, &encrypt(&sk, &[tiny, 1.0])), &[0.0, 1.0], 1e-9);
    }
}

#[test]
fn empty_arrays_are_refused() {
    let (_, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    for shape in [&[0][..], &[0, 3], &[3, 0], &[0, usize::MAX]] {
        assert_refused!(
            try_encrypt(&sk, &real(&[]), shape, EncryptOptions::default()),
            CkksError::Empty { .. },
            "no entries",
            "no entries",
            &format!("{shape:?}")
        );
    }
    let matrix = try_encrypt(&sk, &real(&ramp(6)), &[2, 3], COEFFICIENTS).expect("matrix");
    assert_refused!(
        Weights::encode(&ev, 0, 2, &[], &matrix),
        CkksError::Empty { .. },
        "no entries",
        "[0, 2]"
    );
    assert_refused!(
        Weights::encode(&ev, 2, 0, &[], &matrix),
        CkksError::Empty { .. },
        "no entries",
        "[2, 0]"
    );
    // Sizes that overflow are refused before anything is allocated.
    for shape in [&[usize::MAX][..], &[usize::MAX, 2], &[1 << 40, 1 << 40]] {
        assert_refused!(
            try_encrypt(&sk, &real(&[1.0]), shape, EncryptOptions::default()),
            CkksError::OutOfRange { .. },
            "shape"
        );
    }
}

#[test]
fn levels_too_low_or_out_of_range_are_refused() {
    let (params, sk, ev) = setup(
        "insecure_tiny",
        &KeyNeeds::new().relinearise(KeyLevel::Level(2)).rotations([1], KeyLevel::Level(2)),
    );
    let top = params.max_level().0;
    let bottom = encrypt_as(
        &sk,
        &real(&ramp(4)),
        &[4],
        EncryptOptions { level: Some(Level(0)), ..EncryptOptions::default() },
        1,
    );
    let fresh = encrypt(&sk, &ramp(4));
    assert_refused!(
        ev.rescale(&bottom),
        CkksError::LevelTooLow { needed: 1, level: 0, .. },
        "rescaling",
        "level 1",
        "level 0",
        "start from a higher level"
    );
    assert_refused!(
        ev.multiply_plain(&bottom, &real(&ramp(4))),
        CkksError::LevelTooLow { .. },
        "element-wise product",
        "level 1"
    );
    assert_refused!(
        ev.multiply_scalar(&bottom, 0.5),
        CkksError::LevelTooLow { .. },
        "a real number",
        "level 1"
    );
    assert!(ev.multiply_integer(&bottom, -2).is_ok(), "an integer needs no level");
    assert!(matches!(
        ev.multiply_rescale(&bottom, &bottom),
        Err(CkksError::LevelTooLow { .. } | CkksError::ScaleOutOfRange { .. })
    ));
    assert_refused!(
        ev.multiply(&bottom, &bottom),
        CkksError::LevelTooLow { level: 0, .. },
        "product of ciphertexts",
        "level 1"
    );
    assert_refused!(
        ev.drop_to_level(&bottom, Level(1)),
        CkksError::Level { .. },
        "level 0",
        "level 1",
        "only go down"
    );
    let matrix = encrypt_as(
        &sk,
        &real(&ramp(4)),
        &[2, 2],
        EncryptOptions { level: Some(Level(0)), ..COEFFICIENTS },
        2,
    );
    assert_refused!(
        Weights::encode(&ev, 2, 2, &ramp(4), &matrix),
        CkksError::LevelTooLow { .. },
        "product with a real matrix",
        "level 1"
    );
    let high = EncryptOptions { level: Some(Level(top + 1)), ..EncryptOptions::default() };
    assert_refused!(
        try_encrypt(&sk, &real(&[1.0]), &[1], high),
        CkksError::Lattice(LatticeError::LevelOutOfRange { .. }),
        &format!("level {}", top + 1),
        &format!("0 to {top}")
    );
    // Keys that reach level 2 serve level 2, not the top.
    assert_refused!(
        ev.multiply(&fresh, &fresh),
        CkksError::Lattice(LatticeError::KeyLevelTooLow { .. }),
        "reaches level 2",
        &format!("at level {top}"),
        "drop"
    );
    assert_refused!(
        ev.rotate(&fresh, 1),
        CkksError::Lattice(LatticeError::KeyLevelTooLow { .. }),
        "reaches level 2",
        "drop"
    );
    let lower = ev.drop_to_level(&fresh, Level(2)).expect("down");
    assert!(ev.multiply(&lower, &lower).is_ok() && ev.rotate(&lower, 1).is_ok());
}

#[test]
fn objects_of_other_parameters_are_refused() {
    let (here, sk, ev) = setup(
        "insecure_tiny",
        &KeyNeeds::new().relinearise(KeyLevel::Top).conjugate(KeyLevel::Top).rotations([1], KeyLevel::Top),
    );
    let there = params("insecure_rank2");
    let foreign = encrypt(&secret(&there, 1), &ramp(4));
    let matrix = try_encrypt(&secret(&there, 1), &real(&ramp(4)), &[2, 2], COEFFICIENTS).expect("matrix");
    let own = encrypt(&sk, &ramp(4));
    let weights = Weights::new(2, 2, &ramp(4), 1e6).expect("weights");
    let results: Vec<Result<Ciphertext, CkksError>> = vec![
        ev.add(&own, &foreign),
        ev.add(&foreign, &own),
        ev.sub(&own, &foreign),
        ev.negate(&foreign),
        ev.rescale(&foreign),
        ev.multiply(&own, &foreign),
        ev.multiply(&foreign, &own),
        ev.multiply_rescale(&own, &foreign),
        ev.square(&foreign),
        ev.rotate(&foreign, 1),
        ev.conjugate(&foreign),
        ev.add_plain(&foreign, &real(&ramp(4))),
        ev.multiply_plain(&foreign, &real(&ramp(4))),
        ev.multiply_scalar(&foreign, 2.0),
        ev.drop_to_level(&foreign, Level(0)),
        weights.multiply(&ev, &matrix),
    ];
    let [found, expected] = [&there, &here]
        .map(|params| params.digest()[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    for result in results {
        assert_refused!(
            result,
            CkksError::WrongParams { .. },
            &found,
            &expected,
            "use objects of one parameter set"
        );
    }
    assert_refused!(sk.decrypt(&foreign), CkksError::WrongParams { .. }, "the ciphertext");
    assert_refused!(
        sk.decrypt_to_share(&foreign, 8, HonestEvaluator),
        CkksError::WrongParams { .. },
        "the ciphertext"
    );
}

#[test]
fn objects_of_another_secret_are_refused() {
    let (params, sk, ev) = setup(
        "insecure_tiny",
        &KeyNeeds::new().relinearise(KeyLevel::Top).conjugate(KeyLevel::Top).rotations([1], KeyLevel::Top),
    );
    let stranger = secret(&params, 9);
    let (own, other) = (encrypt(&sk, &ramp(4)), encrypt(&stranger, &ramp(4)));
    let (mine, theirs) = (sk.id().to_string(), stranger.id().to_string());
    let results = vec![
        ev.add(&own, &other),
        ev.sub(&other, &own),
        ev.multiply(&own, &other),
        ev.multiply(&other, &other),
        ev.multiply_rescale(&other, &other),
        ev.square(&other),
        ev.rotate(&other, 1),
        ev.conjugate(&other),
    ];
    for result in results {
        assert_refused!(
            result,
            CkksError::WrongSecret { .. },
            "belongs to secret",
            &mine,
            &theirs,
            "cannot be combined or decrypted"
        );
    }
    assert_refused!(sk.decrypt(&other), CkksError::WrongSecret { .. }, "belongs to secret", &mine, &theirs);
    assert_refused!(
        sk.decrypt_to_share(&other, 8, HonestEvaluator),
        CkksError::WrongSecret { .. },
        "belongs to secret",
        &mine,
        &theirs
    );
    // What needs no key works for any secret.
    assert!(ev.add(&other, &other).is_ok() && ev.negate(&other).is_ok());
}

#[test]
fn missing_keys_are_named() {
    let (params, sk, keyless) = setup("insecure_tiny", &KeyNeeds::new());
    let ct = encrypt(&sk, &ramp(params.slot_count()));
    for (result, operation) in [
        (keyless.multiply(&ct, &ct), "a product"),
        (keyless.rotate(&ct, 1), "a rotation"),
        (keyless.conjugate(&ct), "conjugation"),
    ] {
        assert_refused!(result, CkksError::NoKeys { .. }, operation, "evaluation keys", "secret key");
    }
    let turning = evaluator(&sk, &KeyNeeds::new().rotations([1, -3, 7], KeyLevel::Top));
    assert_refused!(
        turning.rotate(&ct, 2),
        CkksError::MissingKey { operation: Operation::Rotate { steps: 2, .. }, .. },
        "rotation by 2",
        "1, 7, -3",
        "making evaluation keys"
    );
    assert_refused!(
        turning.rotate_many(&ct, &[1, 7, 4]),
        CkksError::MissingKey { operation: Operation::Rotate { steps: 4, .. }, .. },
        "rotation by 4"
    );
    assert_refused!(
        turning.multiply(&ct, &ct),
        CkksError::MissingKey { operation: Operation::Multiply, .. },
        "`relinearise`"
    );
    assert_refused!(
        turning.conjugate(&ct),
        CkksError::MissingKey { operation: Operation::Conjugate(_), .. },
        "`conjugate`"
    );
    let multiplying = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    assert_refused!(
        multiplying.rotate(&ct, -1),
        CkksError::MissingKey { operation: Operation::Rotate { steps: -1, .. }, .. },
        "rotation by -1",
        "none"
    );
    for steps in [i64::MIN, i64::MAX] {
        assert_refused!(
            multiplying.rotate(&ct, steps.wrapping_add(3)),
            CkksError::MissingKey { operation: Operation::Rotate { .. }, .. },
            "rotation by"
        );
    }
    assert!(turning.rotate(&ct, 0).is_ok() && keyless.rotate(&ct, 32).is_ok(), "a full turn needs no key");
    // The same rotation by another name.
    assert!(turning.rotate(&ct, 29).is_ok() && turning.rotate(&ct, 33).is_ok());
}

#[test]
fn parameters_without_special_primes_make_no_switching_keys() {
    let params =
        custom("name = \"sums\"\ndegree = 64\nsteps = [[30, 30]]\nlog2_scale = 40\ninsecure = true\n");
    let refused = secret(&params, 1).evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top));
    assert_refused!(refused, CkksError::Lattice(LatticeError::NoSpecialPrimes), "add special primes");
    assert!(secret(&params, 1).evaluation_keys(&KeyNeeds::new()).is_ok());
}

#[test]
fn encodings_that_do_not_fit_the_operation_are_refused() {
    let (_, sk, ev) = setup(
        "insecure_tiny",
        &KeyNeeds::new().relinearise(KeyLevel::Top).conjugate(KeyLevel::Top).rotations([1], KeyLevel::Top),
    );
    let coefficients = try_encrypt(&sk, &real(&ramp(4)), &[4], COEFFICIENTS).expect("encrypt");
    for result in [
        ev.multiply(&coefficients, &coefficients),
        ev.multiply_rescale(&coefficients, &coefficients),
        ev.rotate(&coefficients, 1),
        ev.conjugate(&coefficients),
        ev.multiply_plain(&coefficients, &real(&ramp(4))),
    ] {
        assert_refused!(
            result,
            CkksError::Encoding { .. },
            "needs the encoding slots",
            "coefficients was given",
            "encrypt the array in slots"
        );
    }
    assert_refused!(ev.add(&coefficients, &encrypt(&sk, &ramp(4))), CkksError::Encoding { .. }, "addition");
    let complex = Values::Complex(vec![Complex64::i(); 4]);
    assert_refused!(
        ev.add_plain(&coefficients, &complex),
        CkksError::Encoding { .. },
        "complex data needs the encoding slots",
        "coefficients was given"
    );
    // Pairs of coefficients are in other places than single ones.
    let pairs = try_encrypt(&sk, &complex, &[4], COEFFICIENTS).expect("encrypt");
    assert_refused!(
        ev.add(&coefficients, &pairs),
        CkksError::Unsuitable { .. },
        "laid out differently",
        "64 real numbers",
        "32 complex numbers"
    );
    // Rows of several bundles do not rotate.
    assert_refused!(
        ev.rotate(&encrypt(&sk, &ramp(33)), 1),
        CkksError::Shape { .. },
        "[33]",
        "at most 32 entries"
    );
}

#[test]
fn specifications_out_of_range_are_refused() {
    let base = "name = \"x\"\nlog2_scale = 30\nsteps = [[30, 30], [30]]\nspecial = [40]\ninsecure = true\ndegree = 64\n";
    let with = |edit: fn(&mut ParamsSpec)| {
        let mut spec = spec(base);
        edit(&mut spec);
        Params::new(spec, &crate::common::base_runtime())
    };
    assert!(with(|_| ()).is_ok());
    assert_refused!(with(|s| s.degree = 0), CkksError::InvalidParams { .. }, "degree 0", "2^3 to 2^17");
    assert_refused!(with(|s| s.degree = 4), CkksError::InvalidParams { .. }, "degree 4");
    assert_refused!(
        with(|s| s.degree = 1000),
        CkksError::InvalidParams { .. },
        "degree 1000",
        "power of two"
    );
    assert_refused!(with(|s| s.degree = 1 << 18), CkksError::InvalidParams { .. }, "degree 262144");
    assert_refused!(with(|s| s.rank = 0), CkksError::InvalidParams { .. }, "rank 0", "1 to 64");
    assert_refused!(with(|s| s.rank = 65), CkksError::InvalidParams { .. }, "rank 65", "1 to 64");
    assert_refused!(with(|s| s.steps.clear()), CkksError::InvalidParams { .. }, "at least one step");
    assert_refused!(with(|s| s.steps[1].clear()), CkksError::InvalidParams { .. }, "at least one prime");
    assert_refused!(with(|s| s.steps[0][0] = 61.0), CkksError::InvalidParams { .. }, "61 bits", "60 bits");
    assert_refused!(with(|s| s.special[0] = 3.0), CkksError::InvalidParams { .. }, "3 bits", "8 to 60");
    assert_refused!(
        with(|s| s.special = vec![40.0; 254]),
        CkksError::InvalidParams { .. },
        "257 primes",
        "256"
    );
    for (scale, shown) in
        [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-40.0, "-40"), (0.0, "0"), (121.0, "121")]
    {
        let mut spec = spec(base);
        spec.log2_scale = scale;
        assert_refused!(
            Params::new(spec, &crate::common::base_runtime()),
            CkksError::InvalidParams { .. },
            shown,
            "4 to 120"
        );
    }
    assert_refused!(with(|s| s.log2_scale = 90.0), CkksError::InvalidParams { .. }, "90", "no room");
    assert_refused!(
        with(|s| s.secret_weight = Some(0)),
        CkksError::InvalidParams { .. },
        "secret_weight 0",
        "64"
    );
    assert_refused!(
        with(|s| s.secret_weight = Some(65)),
        CkksError::InvalidParams { .. },
        "secret_weight 65",
        "1 to degree * rank = 64"
    );
    for bits in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut spec = spec(base);
        spec.digit_bits = Some(bits);
        assert_refused!(
            Params::new(spec, &crate::common::base_runtime()),
            CkksError::InvalidParams { .. },
            "digit_bits"
        );
    }
    assert_refused!(
        with(|s| s.digit_bits = Some(500.0)),
        CkksError::Lattice(LatticeError::DigitTooLarge { .. }),
        "40"
    );
    assert_refused!(
        with(|s| s.special = vec![20.0]),
        CkksError::Lattice(LatticeError::DigitTooLarge { .. }),
        "30"
    );
    assert_refused!(
        Params::preset("no such", &crate::common::base_runtime()),
        CkksError::InvalidParams { .. },
        "there is no preset",
        "no such",
        "n14",
        "matmul"
    );
    let isa = Runtime { isa: Some("abacus".to_owned()), ..crate::common::base_runtime() };
    assert_refused!(Params::preset("insecure_tiny", &isa), CkksError::Lattice(_), "abacus");
}

#[test]
fn primes_of_the_largest_size_make_parameters() {
    let text = "name = \"wide\"\ndegree = 64\nsteps = [[60], [60], [60], [60]]\nspecial = [60]\nlog2_scale = 50\ninsecure = true\n";
    let params = custom(text);
    assert!(params.chain().ring().moduli().iter().all(|q| q.value() >> 60 == 0));
    let followed = custom(&text.replace("50", "60").replace("[[60], ", "[[60, 60], "));
    let sk = secret(&followed, 1);
    assert_close(&decrypt(&sk, &encrypt(&sk, &ramp(8))), &ramp(8), 1e-12);
}

/// A small generator for random specifications.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

#[test]
fn random_specifications_never_panic_and_what_they_make_works() {
    let mut dice = Dice(7);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..8000 {
        let bits = [
            0.0,
            1.0,
            5.0,
            8.0,
            10.0,
            12.7,
            13.0,
            20.0,
            28.6,
            30.0,
            31.0,
            40.0,
            45.8,
            50.0,
            59.9,
            60.0,
            61.0,
            -3.0,
            f64::from(u32::MAX),
            1e300,
        ];
        let step = |dice: &mut Dice| {
            (0..dice.pick(&[0usize, 1, 1, 1, 2, 3])).map(|_| dice.pick(&bits[2..16])).collect::<Vec<_>>()
        };
        let mut spec = ParamsSpec {
            name: dice.pick(&["", "a", "b c", "d", "e", "f", "\u{1F980}\n", "x"]).to_owned(),
            degree: dice.pick(&[8usize, 16, 64, 64, 256, 256]),
            rank: dice.pick(&[1usize, 1, 1, 2, 5]),
            steps: (0..1 + dice.below(4)).map(|_| step(&mut dice)).collect(),
            special: step(&mut dice),
            temporary: Vec::new(),
            temporary_rank: None,
            relative: None,
            segments: Vec::new(),
            log2_scale: dice.pick(&[4.0, 10.5, 20.0, 30.0, 39.9, 40.0, 60.0, 80.0, 119.0]),
            secret_weight: dice.pick(&[None, None, Some(1usize), Some(8), Some(64), Some(usize::MAX)]),
            ephemeral_weight: if dice.below(8) == 0 {
                dice.pick(&[Some(0usize), Some(4), Some(4), Some(usize::MAX)])
            } else {
                None
            },
            ephemeral_special: if dice.below(16) == 0 {
                dice.pick(&[Some(0usize), Some(1), Some(usize::MAX)])
            } else {
                None
            },
            bootstrap_key_bytes: dice.pick(&[None, None, Some(0), Some(u64::MAX)]),
            bootstrap_log2_failure: dice.pick(&[None, None, Some(-64.0), Some(0.0), Some(-1e300)]),
            digit_bits: dice.pick(&[None, None, Some(1e-9), Some(1.0), Some(30.0), Some(80.0), Some(1e300)]),
            insecure: dice.below(8) != 0,
            below_128: dice.below(2) == 0,
        };
        match dice.below(8) {
            0 => {
                (spec.temporary, spec.temporary_rank) =
                    (vec![30.0; dice.below(4) as usize], Some(spec.rank + 1 + dice.below(2) as usize))
            }
            1 => {
                (spec.temporary, spec.temporary_rank) =
                    (step(&mut dice), dice.pick(&[None, Some(0), Some(3), Some(129), Some(usize::MAX)]))
            }
            2 => {
                let shapes = [
                    (spec.degree, spec.rank),
                    (8, 1),
                    (spec.degree / 2, 1),
                    (64, 0),
                    (usize::MAX, usize::MAX),
                ];
                spec.relative = Some(dice.pick(&shapes))
                    .map(|(degree, rank)| clathrate_ckks::ModuleShape { degree, rank });
            }
            _ => (),
        }
        match dice.below(12) {
            0 => spec.degree = dice.pick(&[0, 1, 2, 3, 4, 7, usize::MAX, 1 << 63, 1 << 20]),
            1 => spec.rank = dice.pick(&[0, 64, 65, usize::MAX]),
            2 => spec.log2_scale = dice.pick(&[f64::NAN, f64::INFINITY, -1.0, 3.9, 1e300, f64::MIN_POSITIVE]),
            3 => spec.steps.push(vec![dice.pick(&bits)]),
            4 => spec.special = vec![dice.pick(&bits); dice.below(300) as usize],
            _ => (),
        }
        if dice.below(4) == 0 {
            let last = spec.steps.len() - 1;
            let cut = dice.below(spec.steps.len() as u64) as usize;
            let mut segment = |name: &str, levels| Segment {
                name: name.to_owned(),
                log2_scale: dice.pick(&[4.0, 10.5, 28.6, 40.0, 60.0]),
                levels,
            };
            spec.segments = vec![segment("low", (0, cut)), segment("high", (cut + 1, last))];
            spec.segments.truncate(if cut < last { 2 } else { 1 });
            spec.log2_scale = dice.pick(&[0.0, 0.0, 0.0, spec.log2_scale]);
        }
        // Through the text form as well, where numbers have one.
        if let Ok(text) = toml::to_string(&spec)
            && spec.log2_scale.is_finite()
        {
            assert_eq!(toml::from_str::<ParamsSpec>(&text).expect("what was written reads"), spec, "{text}");
        }
        let Ok(params) = Params::new(spec.clone(), &crate::common::base_runtime()) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        assert!(params.explain().to_string().contains("security"), "round {round}");
        // A message of one scaled unit survives wherever the scale leaves it room above the noise.
        let sk = secret(&params, 1);
        let ct = sk.encrypt_array(&real(&[0.0]), &[1], COEFFICIENTS);
        match ct {
            Ok(ct) => {
                let back = decrypt(&sk, &ct)[0];
                assert!(back.abs() <= 30.0 / ct.scale(), "round {round}: {back} in {spec:?}");
            }
            Err(error) => {
                assert!(matches!(error, CkksError::ScaleOutOfRange { .. }), "round {round}: {error}")
            }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}

#[test]
fn random_specification_texts_never_panic() {
    let base = "name = \"x\"\nlog2_scale = 30\nsteps = [[30, 30], [30]]\nspecial = [40]\ninsecure = true\ndegree = 64\nrank = 1\n";
    let pieces = [
        "",
        "-1",
        "1e999",
        "nan",
        "[[",
        "]]",
        "\"",
        "\n",
        "0x10",
        "18446744073709551616",
        "true",
        "[]",
        "[[]]",
        "secret_weight = -5\n",
        "=",
        "\0",
        "1.5",
    ];
    let mut dice = Dice(11);
    let mut parsed = 0;
    for _ in 0..3000 {
        let mut text: Vec<char> = base.chars().collect();
        for _ in 0..1 + dice.below(3) {
            let at = dice.below(text.len() as u64) as usize;
            let end = (at + dice.below(6) as usize).min(text.len());
            let piece = dice.pick(&pieces);
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(spec) = toml::from_str::<ParamsSpec>(&text) {
            parsed += 1;
            if spec.degree <= 1024 {
                let _ = Params::new(spec, &crate::common::base_runtime());
            }
        }
    }
    assert!(parsed > 20, "{parsed}");
    // A misspelt field is an error, not a default.
    assert!(toml::from_str::<ParamsSpec>(&format!("{base}insecrue = true\n")).is_err());
}

#[test]
fn weights_that_cannot_be_scaled_are_refused() {
    let (_, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    let matrix = try_encrypt(&sk, &real(&ramp(6)), &[2, 3], COEFFICIENTS).expect("matrix");
    assert_refused!(
        Weights::encode(&ev, 1, 2, &[1.0, 1e6], &matrix),
        CkksError::OutOfRange { .. },
        "largest weight is 1e6",
        "scale the matrix down"
    );
    assert!(Weights::encode(&ev, 1, 2, &[1.0, 2000.0], &matrix).is_ok());
    for scale in [0.0, -1.0, 0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Weights::new(1, 1, &[1.0], scale).is_err(), "scale {scale}");
    }
}

#[test]
fn scales_that_are_none_are_refused() {
    let (params, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    for scale in [
        0.0,
        -1.0,
        -1e12,
        0.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        params.log2_q(params.max_level()).exp2(),
        1e300,
    ] {
        let options = EncryptOptions { scale: Some(scale), ..EncryptOptions::default() };
        assert_refused!(
            try_encrypt(&sk, &real(&[0.0]), &[1], options),
            CkksError::ScaleOutOfRange { .. },
            "level 4",
            "220.0 bits",
            "use a scale"
        );
    }
}

#[test]
fn scales_chosen_by_the_caller_meet_a_level_below_or_are_refused() {
    let explicit = Runtime { rescale: Rescale::Explicit, ..base_runtime() };
    let (params, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    let by_hand = sk.under(&explicit).expect("the same key");
    let at_level = |sk: &SecretKey, level: Level, factor: f64| {
        let options = EncryptOptions {
            scale: Some(params.scale(level) * factor),
            level: Some(level),
            ..EncryptOptions::default()
        };
        encrypt_as(sk, &real(&[0.5]), &[1], options, 3)
    };
    let at = |factor: f64| at_level(&sk, params.max_level(), factor);
    let canonical = at(1.0);
    for factor in [1.5, 0.7, 1.001, 2.5, 1.0 + 1e-6] {
        for (x, y) in [(&canonical, &at(factor)), (&at(factor), &canonical)] {
            let (sum, difference) =
                (ev.add(x, y).expect("a level below"), ev.sub(x, y).expect("a level below"));
            assert_eq!((sum.level().0 + 1, sum.has_canonical_scale()), (params.max_level().0, true));
            assert_close(&decrypt(&sk, &sum), &[1.0], 1e-8);
            assert_close(&decrypt(&sk, &difference), &[0.0], 1e-8);
            assert_close(&decrypt(&sk, &ev.concatenate(&[x, y]).expect("a level below")), &[0.5, 0.5], 1e-8);
        }
        let (x, y) = (at_level(&sk, Level(0), 1.0), at_level(&sk, Level(0), factor));
        assert_refused!(ev.add(&x, &y), CkksError::LevelTooLow { .. }, "addition", "level 1", "level 0");
        // Where levels are the caller's affair, none is taken.
        let (x, y) =
            (at_level(&by_hand, params.max_level(), 1.0), at_level(&by_hand, params.max_level(), factor));
        let ev = Evaluator::new(x.params());
        assert_refused!(
            ev.add(&x, &y),
            CkksError::ScaleMismatch { .. },
            "2^40.0000",
            "do not match",
            "rescale one operand"
        );
    }
    // An integer factor apart is no mismatch.
    for factor in [2.0, 3.0, 0.25] {
        assert_close(&decrypt(&sk, &ev.add(&canonical, &at(factor)).expect("integer factor")), &[1.0], 1e-9);
    }
}

#[test]
fn factors_that_the_scale_leaves_no_bits_are_refused() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let ct = encrypt(&sk, &ramp(8));
    // Scale 2^80 at the top: a factor's scale, so that the product rescales to 2^40, would be 1.
    let product = ev.multiply(&ct, &ct).expect("product");
    assert_refused!(
        ev.multiply_scalar(&product, 0.3),
        CkksError::OutOfRange { .. },
        "scale 2^80.0",
        "rescale it first"
    );
    assert_refused!(
        ev.multiply_plain(&product, &real(&ramp(8))),
        CkksError::OutOfRange { .. },
        "scale 2^80.0",
        "rescale it first"
    );
    assert_refused!(Weights::encode(&ev, 1, 1, &[0.3], &product), CkksError::OutOfRange { .. }, "rescale");
    assert!(ev.multiply_integer(&product, 3).is_ok());
    // Factors that rounding would lose, where they are not zero.
    assert_refused!(
        ev.multiply_scalar(&ct, 1e-10),
        CkksError::OutOfRange { .. },
        "would be lost",
        "1e-10",
        "6.8 bits",
        "2^40.0"
    );
    assert_refused!(
        ev.multiply_plain(&ct, &real(&[1e-9; 8])),
        CkksError::OutOfRange { .. },
        "would be lost",
        "1e-9"
    );
    assert_refused!(
        Weights::encode(&ev, 1, 1, &[-1e-10], &ct),
        CkksError::OutOfRange { .. },
        "would be lost",
        "weight_scale"
    );
    assert!(ev.multiply_scalar(&ct, 0.0).is_ok() && ev.multiply_plain(&ct, &real(&[0.0; 8])).is_ok());
    assert!(Weights::encode(&ev, 1, 1, &[0.0], &ct).is_ok() && ev.multiply_scalar(&ct, 1e-8).is_ok());
    let rescaled = ev.rescale(&product).expect("rescale");
    assert!(
        ev.multiply_scalar(&rescaled, 0.3).is_ok() && ev.multiply_plain(&rescaled, &real(&ramp(8))).is_ok()
    );
    // Rescaling what was not multiplied leaves the noise and no message.
    assert_refused!(
        ev.rescale(&ct),
        CkksError::Level { .. },
        "nothing to rescale",
        "2^40.00",
        &format!("level {}", params.max_level())
    );
    let settled = ev.settled(&product).expect("a rescale");
    assert!(product.awaits_rescale() && settled.has_canonical_scale() && settled.level() == rescaled.level());
    assert_eq!(ev.settled(&ct).expect("nothing to do").level(), ct.level());
}

#[test]
fn low_precision_chains_add_across_levels() {
    // 30-bit scales: what an integer factor rounds is below the unit of the message.
    let params = custom(
        "name = \"thirty\"\ndegree = 1024\nsteps = [[30, 30], [30], [30], [30]]\nspecial = [40, 40]\nlog2_scale = 30\ninsecure = true\n",
    );
    let sk = secret(&params, 5);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let x = ramp(512);
    let ct = encrypt(&sk, &x);
    let square: Vec<f64> = x.iter().map(|v| v * v).collect();
    let sum: Vec<f64> = x.iter().zip(&square).map(|(a, b)| a + b).collect();
    let product = ev.multiply(&ct, &ct).expect("product");
    assert_close(&decrypt(&sk, &ev.add(&product, &ct).expect("unrescaled and fresh")), &sum, 1e-4);
    let mut rescaled = ev.rescale(&product).expect("rescale");
    assert_close(&decrypt(&sk, &ev.add(&rescaled, &ct).expect("levels meet")), &sum, 1e-4);
    rescaled = ev.multiply_rescale(&rescaled, &ct).expect("cube");
    assert_eq!(rescaled.scale(), params.scale(rescaled.level()));
    assert!(ev.add(&rescaled, &ct).is_ok());
}

#[test]
fn flood_bits_out_of_range_are_refused() {
    let (params, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    let ct = encrypt(&sk, &ramp(4));
    for bits in [0, 119, 128, u32::MAX] {
        assert_refused!(
            sk.decrypt_to_share(&ct, bits, HonestEvaluator),
            CkksError::OutOfRange { what: "flood_bits", .. },
            &format!("is {bits}"),
            "1 to 118",
            "level 4"
        );
    }
    assert!(
        sk.decrypt_to_share(&ct, 1, HonestEvaluator).is_ok()
            && sk.decrypt_to_share(&ct, 118, HonestEvaluator).is_ok()
    );
    let low = encrypt_as(
        &sk,
        &real(&ramp(4)),
        &[4],
        EncryptOptions { level: Some(Level(0)), ..EncryptOptions::default() },
        1,
    );
    assert!(params.log2_q(Level(0)) < 60.0);
    assert_refused!(
        sk.decrypt_to_share(&low, 60, HonestEvaluator),
        CkksError::OutOfRange { .. },
        "is 60",
        "1 to 57",
        "level 0"
    );
}

#[test]
fn stopping_at_any_step_is_cancelled_and_nothing_else() {
    let (params, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    let pk = sk.public_key().expect("public key");
    let data = real(&ramp(4 * 70));
    let ct = try_encrypt(&sk, &data, &[4, 70], COEFFICIENTS).expect("encrypt");
    let weights = Weights::encode(&ev, 2, 4, &ramp(8), &ct).expect("weights");
    let needs =
        KeyNeeds::new().relinearise(KeyLevel::Top).conjugate(KeyLevel::Top).rotations([1, 2], KeyLevel::Top);
    let bundles = ct.bundles().len();
    let products = 2 * 2 * params.chain().basis(ct.level()).len();
    type Work<'a> = (&'a str, usize, Box<dyn Fn(Progress) -> Result<(), CkksError> + 'a>);
    let of_owner = |progress| sk.clone().with_progress(progress);
    let works: Vec<Work<'_>> = vec![
        (
            "encrypt",
            bundles,
            Box::new(|p| of_owner(p).encrypt_array(&data, &[4, 70], COEFFICIENTS).map(drop)),
        ),
        (
            "public encrypt",
            bundles,
            Box::new(|p| pk.clone().with_progress(p).encrypt_array(&data, &[4, 70], COEFFICIENTS).map(drop)),
        ),
        ("decrypt", bundles, Box::new(|p| of_owner(p).decrypt(&ct).map(drop))),
        ("share", bundles, Box::new(|p| of_owner(p).decrypt_to_share(&ct, 8, HonestEvaluator).map(drop))),
        ("keys", 4, Box::new(|p| of_owner(p).evaluation_keys(&needs).map(drop))),
        ("matrix", products, Box::new(|p| weights.multiply(&ev.clone().with_progress(p), &ct).map(drop))),
    ];
    for (name, steps, work) in works {
        for stop in 0..steps {
            assert_refused!(work(cancelling_after(stop)), CkksError::Cancelled, "progress callback");
        }
        let (progress, seen) = recorded();
        work(progress).expect("not stopped");
        let expected: Vec<_> = (0..=steps).map(|done| (done, steps)).collect();
        assert_eq!(*seen.lock().expect("no panic"), expected, "{name} ends complete");
    }
}

#[test]
fn evaluator_of_no_keys_says_so_before_anything_else_goes_wrong() {
    let (_, sk, _) = setup("insecure_tiny", &KeyNeeds::new());
    let ev = Evaluator::new(sk.params());
    let ct = encrypt(&sk, &ramp(4));
    let bottom = ev.drop_to_level(&ct, Level(0)).expect("down");
    assert_refused!(ev.multiply_rescale(&bottom, &bottom), CkksError::NoKeys { .. }, "evaluation keys");
}

#[test]
fn plaintexts_that_do_not_fit_the_ciphertext_are_refused() {
    let (params, sk, ev) = setup("insecure_tiny", &KeyNeeds::new());
    let (top, scale) = (params.max_level(), params.scale(params.max_level()));
    let ct = encrypt(&sk, &ramp(4));
    let encode = |count: usize, encoding, level, scale| {
        ev.encode(&real(&ramp(count)), &[count], encoding, level, scale)
    };
    let fits = encode(4, Encoding::Slots, top, scale).expect("encoded");
    let low = ev.drop_to_level(&ct, Level(1)).expect("down");
    let refused = [
        ev.add_encoded(&ct, &encode(3, Encoding::Slots, top, scale).expect("encoded")),
        ev.multiply_encoded(&ct, &encode(5, Encoding::Slots, top, scale).expect("encoded")),
    ];
    for result in refused {
        assert_refused!(result, CkksError::Shape { .. }, "[4]", "equal shapes");
    }
    assert_refused!(
        ev.add_encoded(&ct, &encode(4, Encoding::Coefficients, top, scale).expect("encoded")),
        CkksError::Encoding { .. },
        "slots",
        "coefficients"
    );
    let below = encode(4, Encoding::Slots, Level(2), scale).expect("encoded");
    assert_refused!(
        ev.add_encoded(&ct, &below),
        CkksError::OutOfRange { .. },
        "plaintext's level is 2",
        "level 4 or higher"
    );
    assert_refused!(ev.multiply_encoded(&ct, &below), CkksError::OutOfRange { .. }, "plaintext's level is 2");
    let doubled = encode(4, Encoding::Slots, top, 2.0 * scale).expect("encoded");
    assert_refused!(ev.add_encoded(&ct, &doubled), CkksError::ScaleMismatch { .. }, "2^40.0000", "2^41.0000");
    let wide = encode(4, Encoding::Slots, top, 100f64.exp2()).expect("encoded");
    assert_refused!(
        ev.multiply_encoded(&low, &wide),
        CkksError::ScaleOutOfRange { level: 1, .. },
        "scale 2^140",
        "100.0 bits"
    );
    let there = crate::common::params("insecure_rank2");
    let foreign = Evaluator::new(&there)
        .encode(&real(&ramp(4)), &[4], Encoding::Slots, Level(0), scale)
        .expect("encoded");
    assert_refused!(
        ev.add_encoded(&ct, &foreign),
        CkksError::WrongParams { .. },
        "the plaintext",
        "one parameter set"
    );
    assert_refused!(
        sk.encrypt_encoded(&foreign),
        CkksError::WrongParams { .. },
        "the plaintext",
        "one parameter set"
    );
    // And what fits is right.
    let double: Vec<f64> = ramp(4).iter().map(|v| 2.0 * v).collect();
    assert_close(&decrypt(&sk, &ev.add_encoded(&ct, &fits).expect("sum")), &double, 1e-8);
    assert_close(&decrypt(&sk, &sk.encrypt_encoded(&fits).expect("encrypted")), &ramp(4), 1e-8);
    let square: Vec<f64> = ramp(4).iter().map(|v| v * v).collect();
    assert_close(&decrypt(&sk, &ev.multiply_encoded(&ct, &fits).expect("product")), &square, 1e-8);
    // NaN, infinity and nothing are refused when they are encoded.
    assert_refused!(
        ev.encode(&real(&[f64::NAN]), &[1], Encoding::Slots, top, scale),
        CkksError::NotFinite { index: 0, .. },
        "nan"
    );
    assert_refused!(
        ev.encode(&real(&[]), &[0], Encoding::Slots, top, scale),
        CkksError::Empty { .. },
        "no entries",
        "no entries"
    );
    assert_refused!(
        encode(4, Encoding::Slots, top, f64::NAN),
        CkksError::ScaleOutOfRange { .. },
        "use a scale"
    );
}
