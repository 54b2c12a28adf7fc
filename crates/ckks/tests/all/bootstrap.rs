//! Bootstrapping: every stage against what it should leave, the whole, failures, refusals. Small degrees: not
//! secure.

use crate::common::bootstraps::*;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::encoding::dft;
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::{EncryptOptions, SecretName, Values};
use clathrate_ckks::parameters::Switching;
use clathrate_ckks::{
    CkksError, Complex64, Encoding, Evaluator, Event, KeyNeeds, Order, Params, Progress, Runtime,
};
use clathrate_lattice::Level;
use clathrate_lattice::switch::SwitchMethod;

#[test]
fn factors_are_the_embedding_of_bit_reversed_coefficients_and_its_inverse() {
    for log in 1..8 {
        let slots = 1usize << log;
        let w = complex(slots, 1);
        // Slot j is the value at zeta^(5^j) of the polynomial with these complex coefficients.
        let natural: Vec<Complex64> =
            (0..slots).map(|t| w[t.reverse_bits() >> (usize::BITS - log)]).collect();
        let coefficients: Vec<f64> =
            natural.iter().map(|w| w.re).chain(natural.iter().map(|w| w.im)).collect();
        let expected = clathrate_ckks::embedding::Encoder::new(2 * slots).evaluate(&coefficients, slots);
        for factors in 1..=5 {
            let (down, up) = (
                dft::slots_to_coefficients(slots, factors).expect("factors"),
                dft::coefficients_to_slots(slots, factors).expect("factors"),
            );
            assert_eq!((down.len(), up.len()), (factors.min(log as usize), factors.min(log as usize)));
            let image = down.iter().fold(w.clone(), |x, factor| factor.evaluate(&x).expect("image"));
            assert!(
                image.iter().zip(&expected).all(|(a, b)| (a - b).norm() < 1e-12 * slots as f64),
                "{slots} slots, {factors} factors"
            );
            let back = up.iter().fold(image, |x, factor| factor.evaluate(&x).expect("image"));
            assert!(back.iter().zip(&w).all(|(a, b)| (a - b).norm() < 1e-12));
            for factor in down.iter().chain(&up) {
                assert!(factor.shifts().count() < 2 << log.div_ceil(factors as u32));
            }
        }
    }
}

#[test]
fn slots_to_coefficients_leaves_the_numbers_in_coefficients() {
    let params = small();
    let sk = secret(&params, 1);
    let plan = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let x = complex(params.slot_count(), 2);
    let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[x.len()], options, 1);
    let y = plan.slots_to_coefficients(&ev, &ct).expect("coefficients");
    assert_eq!(
        (y.level(), y.encoding(), y.layout().order(), y.is_complex()),
        (Level(0), Encoding::Coefficients, Order::BitReversed, true)
    );
    let error = complex_deviation(&decrypt_complex(&sk, &y), &x);
    println!("slots to coefficients: {:.2} bits", -error.log2());
    assert!(error < 2f64.powi(-24), "{error:e}");
}

#[test]
fn bootstrapped_numbers_are_the_numbers() {
    let params = small();
    let sk = secret(&params, 3);
    for (slots, own, real) in [
        (512, true, false),
        (512, true, true),
        (64, true, false),
        (2, true, false),
        (1, true, false),
        (1, true, true),
        (64, false, false),
        (1, false, true),
    ] {
        let x =
            if real { noise(slots, 4).into_iter().map(Complex64::from).collect() } else { complex(slots, 4) };
        let values =
            if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let transform_slots = own.then_some(slots);
        let options =
            BootstrapOptions { slots: Some(slots), transform_slots, real, ..BootstrapOptions::default() };
        let (got, plan) = bootstrapped(&params, &sk, options, &values, &[slots]);
        let error = complex_deviation(&got, &x);
        let (approximation, worst) = plan.reduction().approximation_error(1.0, |_| 1.0);
        println!(
            "{slots} slots, real {real}: {:.2} bits, approximation {:.2}, worst {:.2}, failure 2^{:.1}",
            -error.log2(),
            -approximation.log2(),
            -worst.log2(),
            plan.log2_failure()
        );
        assert!(error < 2f64.powi(-16), "{error:e}");
    }
}

#[test]
fn dry_runs_bound_the_error_behind_a_bootstrap() {
    let params = small();
    let plan = BootstrapPlan::new(&params).expect("plan");
    for magnitude in [0.5, 1.0] {
        let ev = Evaluator::recording(&params);
        let x = ev.symbol(&[512], Encoding::Slots, plan.input_level(), magnitude).expect("symbol");
        let y = plan.run(&ev, &x).expect("dry run");
        let (own, rms) = (x.error_rms().expect("known"), y.error_rms().expect("known"));
        let predicted = plan.predicted_error().expect("prediction").deviation();
        // The prediction is for numbers up to 1: the error of the approximation follows from the number.
        let ratio = rms / own.hypot(predicted);
        assert!(
            (0.9..1.01).contains(&ratio) && (magnitude < 1.0 || ratio > 0.99),
            "{rms:e} from {own:e} and {predicted:e}"
        );
        let bound = y.error_bound().expect("known");
        assert!(bound > 6.0 * rms && bound < 30.0 * rms, "{bound:e}, {rms:e}");
        assert_eq!(y.bound(), Some(magnitude));
    }
    // Larger numbers are divided on the way to the lowest level, and multiplied again; at the lowest level
    // they are refused.
    let ev = Evaluator::recording(&params);
    let x = ev.symbol(&[512], Encoding::Slots, plan.input_level(), 1.5).expect("symbol");
    assert!(
        matches!(plan.run(&ev, &x), Err(CkksError::TooLarge { reason, .. }) if reason.contains("of magnitude at most 1"))
    );
    let x = ev.symbol(&[512], Encoding::Slots, Level(plan.input_level().0 + 1), 6.0).expect("symbol");
    let y = plan.run(&ev, &x).expect("dry run");
    assert!((y.bound().expect("known") / 6.0 - 1.0).abs() < 1e-9);
}

#[test]
fn missing_keys_are_listed_before_the_work() {
    let params = small();
    let sk = secret(&params, 2);
    let plan = BootstrapPlan::new(&params).expect("plan");
    let needs = plan.needs().expect("needs");
    let own = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let ct = encrypt_as(&sk, &Values::Real(noise(512, 1)), &[512], own, 3);
    // All but the relinearisation, which is needed last, and the conjugation.
    let (late, early): (Vec<_>, Vec<_>) = needs.operations().partition(|(operation, _)| {
        matches!(
            operation,
            clathrate_ckks::keys::Operation::Multiply
                | clathrate_ckks::keys::Operation::Conjugate(SecretName::Main)
        )
    });
    let most = early
        .iter()
        .fold(KeyNeeds::new(), |needs, &(operation, key_level)| needs.operation(operation, key_level));
    let (progress, seen) = recorded();
    let error = plan.run(&evaluator(&sk, &most).with_progress(progress), &ct);
    let stages = seen.lock().expect("no panic").len();
    let Err(CkksError::MissingKeys { count, bytes, names, .. }) = error else { panic!("{error:?}") };
    let missing = late
        .iter()
        .fold(KeyNeeds::new(), |needs, &(operation, key_level)| needs.operation(operation, key_level));
    let expected = params.required_keys(&missing).expect("keys").bytes(&params).expect("bytes");
    assert_eq!((stages, count, bytes), (0, 2, expected), "{names}");
    // Without the rotations, the first few are named and the others counted.
    let rotations = late
        .iter()
        .fold(KeyNeeds::new(), |needs, &(operation, key_level)| needs.operation(operation, key_level));
    let error = plan.run(&evaluator(&sk, &rotations), &ct);
    assert!(
        matches!(&error, Err(CkksError::MissingKeys { names, .. }) if names.contains("more")),
        "{error:?}"
    );
}

#[test]
fn errors_have_the_predicted_deviation() {
    let cases = [
        (512, 512, true, 6),
        (64, 64, false, 6),
        (64, 512, true, 12),
        (64, 128, false, 12),
        (512, 512, false, 6),
        (256, 512, false, 6),
        (64, 512, false, 12),
        (8, 512, false, 60),
    ];
    for &(slots, transforms, real, bootstraps) in at_least(4, &cases) {
        let options = BootstrapOptions {
            slots: Some(slots),
            transform_slots: Some(transforms),
            real,
            rounds: Some(1),
            ..Default::default()
        };
        let ratio = measured_over_predicted(&small(), options, bootstraps);
        assert!((0.9..1.1).contains(&ratio), "{slots} slots, real {real}: {ratio}");
    }
}

/// With a range that is too short, bootstraps fail as often as the formula says: a half of a polynomial is
/// lost if one of its integer parts is too large.
#[test]
fn bootstraps_fail_at_the_predicted_rate() {
    // Two levels less leave one double angle, so that the polynomial is just accurate enough in the range and
    // useless beyond.
    let mut spec = to_change(&small());
    spec.steps.drain(8..10);
    spec.segments[2].levels = (7, 12);
    spec.segments[3].levels = (13, 15);
    let params = Params::new(spec, &base_runtime()).expect("parameters");
    let sk = secret(&params, 11);
    let (range, slots, rounds) = (6, params.slot_count(), 60);
    let plan = BootstrapPlan::with_options(
        &params,
        BootstrapOptions { range: Some(range), rounds: Some(1), ..BootstrapOptions::default() },
    )
    .expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let x = complex(slots, 12);
    let ct = encrypt_as(
        &sk,
        &Values::Complex([&x[..]; 60].concat()),
        &[rounds, slots],
        EncryptOptions { encoding: Some(Encoding::Slots), ..options },
        13,
    );
    let got = decrypt_complex(&sk, &plan.run(&ev, &ct).expect("bootstrap"));
    let lost = |part: fn(Complex64) -> f64| {
        got.chunks_exact(slots)
            .filter(|row| row.iter().zip(&x).any(|(a, b)| part(a - b).abs() > 0.25 || part(*a).is_nan()))
            .count()
    };
    let failures = lost(|z| z.re) + lost(|z| z.im);
    let one = clathrate_ckks::circuits::bootstrap::failure::log2_tail(32, range).exp2();
    let (halves, expected) = (2 * rounds, 1.0 - (1.0 - one).powi(slots as i32));
    let (mean, deviation) = (halves as f64 * expected, (halves as f64 * expected * (1.0 - expected)).sqrt());
    println!("{failures} of {halves} halves lost, {mean:.1} +- {deviation:.1} predicted");
    assert!(
        (failures as f64 - mean).abs() < 4.0 * deviation,
        "{failures} of {halves} halves lost, {mean:.1} predicted"
    );
    assert!((plan.log2_failure() - (one.log2() + 10.0)).abs() < 1e-9);
}

#[test]
fn stages_refuse_what_they_cannot_take() {
    let params = small();
    let sk = secret(&params, 14);
    let plan = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let slots = params.slot_count();
    let at = |level: usize| EncryptOptions { level: Some(Level(level)), ..EncryptOptions::default() };
    let x = encrypt_as(&sk, &noise(slots, 1), &[slots], at(3), 1);
    assert_refused!(
        plan.run(&ev, &encrypt_as(&sk, &noise(slots, 1), &[slots], at(2), 1)),
        CkksError::LevelTooLow { .. },
        "level 3"
    );
    assert_refused!(
        plan.run(&ev, &encrypt_as(&sk, &noise(8, 1), &[8], at(3), 1)),
        CkksError::Shape { .. },
        "capacity of 512"
    );
    let coefficients = EncryptOptions { encoding: Some(Encoding::Coefficients), ..at(3) };
    assert_refused!(
        plan.run(&ev, &encrypt_as(&sk, &noise(8, 1), &[8], coefficients, 1)),
        CkksError::Encoding { .. },
        "slots"
    );
    assert_refused!(plan.run_half(&ev, &x), CkksError::Encoding { .. }, "complex numbers in coefficients");
    let real =
        BootstrapPlan::with_options(&params, BootstrapOptions { real: true, ..BootstrapOptions::default() })
            .expect("plan");
    let z = encrypt_as(&sk, &Values::Complex(complex(slots, 1)), &[slots], at(3), 1);
    assert_refused!(real.run(&ev, &z), CkksError::Unsuitable { .. }, "complex");
    assert_refused!(plan.run(&Evaluator::new(&params), &x), CkksError::NoKeys { .. }, "linear transform");
    let others = crate::common::params("insecure_small");
    assert_refused!(
        BootstrapPlan::new(&others),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "segment"
    );
    assert_refused!(
        BootstrapPlan::new(&crate::common::params("insecure_rank2")),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "to_rlwe"
    );
    for slots in [0, 48, 1024] {
        let options = BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() };
        assert_refused!(
            BootstrapPlan::with_options(&params, options),
            CkksError::OutOfRange { .. },
            "1 to 512"
        );
    }
    for log2_failure in [0.0, 3.0, f64::NAN, f64::NEG_INFINITY] {
        let options = BootstrapOptions { log2_failure: Some(log2_failure), ..BootstrapOptions::default() };
        assert_refused!(
            BootstrapPlan::with_options(&params, options),
            CkksError::OutOfRange { .. },
            "negative"
        );
    }
    let half =
        BootstrapPlan::with_options(&params, BootstrapOptions { half: true, ..BootstrapOptions::default() })
            .expect("plan");
    assert_refused!(
        half.run(&ev, &x),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "half a bootstrap"
    );
    let deep = BootstrapOptions { degree: Some(300), ..BootstrapOptions::default() };
    assert_refused!(
        BootstrapPlan::with_options(&params, deep),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "300"
    );
    // A range that the polynomial does not cover: heavier secrets, fewer double angles.
    for (weight, levels) in
        [(Some(64), 8), (Some(128), 8), (Some(1000), 8), (None, 8), (Some(32), 6), (Some(32), 5)]
    {
        let mut spec = to_change(&params);
        spec.ephemeral_weight = weight;
        spec.steps.drain(8..8 + 8 - levels);
        spec.segments[2].levels = (7, 6 + levels);
        spec.segments[3].levels = (7 + levels, 9 + levels);
        let other = Params::new(spec, &base_runtime()).expect("parameters");
        assert_refused!(
            BootstrapPlan::new(&other),
            CkksError::Unsupported { .. },
            "cannot be bootstrapped",
            "cannot be bootstrapped"
        );
    }
    // Arrays above the application's segment come down through its top.
    for level in [8, 14, 17] {
        let high = encrypt_as(&sk, &noise(slots, 1), &[slots], at(level), 1);
        assert_close(&decrypt(&sk, &plan.run(&ev, &high).expect("bootstrap")), &noise(slots, 1), 1e-4);
    }
    // A cancelled bootstrap stops at the next stage.
    let stopped = ev.clone().with_progress(Progress::new(|event| event != Event::Stage("modular reduction")));
    assert_refused!(plan.run(&stopped, &x), CkksError::Cancelled, "stopped");
    // The ephemeral key serves level 0 alone.
    assert_refused!(
        ev.change_secret(&x, clathrate_ckks::SecretName::Ephemeral),
        CkksError::Lattice(_),
        "level 0"
    );
}

/// Threads and instruction sets do not change a bit of a bootstrapped array.
#[test]
fn results_do_not_depend_on_the_threads_or_the_instruction_set() {
    let mut results = Vec::new();
    for (threads, isa) in [(1, None), (2, None), (1, Some("scalar".to_owned()))] {
        let runtime = Runtime { threads: Some(threads), isa, ..base_runtime() };
        let params = Params::preset("insecure_boot", &runtime).expect("preset");
        let sk = secret(&params, 15);
        let options = BootstrapOptions { real: true, ..BootstrapOptions::default() };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
        let x = encrypt_as(&sk, &noise(params.slot_count(), 16), &[params.slot_count()], options, 17);
        results.push(plan.run(&ev, &x).expect("bootstrap").to_file_bytes().expect("bytes"));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The hybrid method, on keys as made or not, and key decomposition with digits of each length leave the same
/// bits of a whole bootstrap. The special primes are the same for all, because their number decides what is
/// rounded.
#[test]
fn results_do_not_depend_on_the_switching_method() {
    let under = |switching: Switching| {
        Params::preset("insecure_boot", &Runtime { switching, ..base_runtime() }).expect("preset")
    };
    let special = small().chain().special_basis().len();
    // One plan for all: baby and giant steps follow the price, and roundings follow the steps.
    let plan = BootstrapPlan::new(&under(SwitchMethod::hybrid(special).into())).expect("plan");
    let bytes = |switching: Switching| {
        let sk = secret(&under(switching), 15);
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
        let x = encrypt_as(&sk, &Values::Complex(complex(512, 16)), &[512], options, 17);
        plan.run(&ev, &x).expect("bootstrap").to_file_bytes().expect("bytes")
    };
    let hybrid = bytes(SwitchMethod::hybrid(special).into());
    assert!(hybrid == bytes(Switching::AsMade), "keys as made");
    for digit in 1..=4 {
        assert!(hybrid == bytes(SwitchMethod::klss(special, digit).into()), "key digits of {digit}");
    }
}

/// A thousand bootstraps, none of which fails.
#[test]
#[ignore = "slow: make test-full"]
fn a_thousand_bootstraps_succeed() {
    let params = small();
    let sk = secret(&params, 29);
    let plan = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let mut worst = 0.0f64;
    for round in 0..25 {
        let x = complex(40 * 512, 1000 + round);
        let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[40, 512], options, round as u8);
        let got = decrypt_complex(&sk, &plan.run(&ev, &ct).expect("bootstrap"));
        worst = got.iter().zip(&x).map(|(a, b)| (a - b).norm()).fold(worst, f64::max);
    }
    println!("1000 bootstraps, worst error 2^{:.1}", worst.log2());
    assert!(worst < 2f64.powi(-16), "{worst:e}");
}

/// Products, polynomials and maps bootstrap their operands where levels run out, and only there.
#[test]
fn evaluators_bootstrap_where_levels_run_out() {
    let params = small();
    let sk = secret(&params, 30);
    let (start, end) = params.application_levels().expect("levels");
    assert_eq!((start, end), (Level(3), Level(6)));
    let slots = 512;
    let circuit =
        |ev: &Evaluator, x: &clathrate_ckks::Ciphertext| -> Result<clathrate_ckks::Ciphertext, CkksError> {
            let mut y = x.clone();
            for _ in 0..4 {
                y = ev.multiply_rescale(&y, &y)?;
            }
            let y = ev.rescale(&ev.multiply_plain(&y, &[0.5; 512])?)?;
            let y = ev.rescale(&ev.multiply_scalar(&y, 0.5)?)?;
            let y = clathrate_ckks::Polynomial::fit(|t: f64| 1.0 - t, 1, (-1.0, 1.0))?.apply(ev, &y)?;
            let y = ev.multiply(&y, &y)?;
            ev.rescale(&y)
        };
    let recorder = Evaluator::recording(&params).bootstrapping(None).expect("evaluator");
    // Without a bound, of which sums of 1 and a number would be beyond 1.
    let symbol =
        clathrate_ckks::Ciphertext::symbol(&params, &[slots], Encoding::Slots, false, end, params.scale(end))
            .expect("symbol");
    let symbol = recorder.take_symbol(symbol, None).expect("symbol");
    let planned = circuit(&recorder, &symbol).expect("dry run");
    let recording = recorder.recorded();
    let automatic =
        recording.stages().iter().filter(|stage| stage.name.starts_with("automatic bootstrap/")).count();
    assert_eq!(automatic, 5, "all but the join of two halves: {:?}", recording.stages());
    let keys = sk.evaluation_keys(recording.needs()).expect("keys");
    let x: Vec<f64> = noise(slots, 31).iter().map(|x| 0.9 + 0.1 * x).collect();
    let own = EncryptOptions { level: Some(end), ..EncryptOptions::default() };
    let ct = encrypt_as(&sk, &x, &[slots], own, 32);
    let ev = Evaluator::with_keys(keys).bootstrapping(None).expect("evaluator");
    let y = circuit(&ev, &ct).expect("circuit");
    assert_eq!((y.level(), y.scale()), (planned.level(), planned.scale()));
    let expected: Vec<f64> = x.iter().map(|x| (1.0 - x.powi(16) / 4.0).powi(2)).collect();
    assert_close(&decrypt(&sk, &y), &expected, 1e-3);
    // Without automatic bootstraps, and without their keys, levels run out as before.
    let refused = circuit(&ev.without_bootstrapping(), &ct);
    assert!(refused.is_err(), "{refused:?}");
    let few = evaluator(&sk, &KeyNeeds::new().relinearise(clathrate_ckks::KeyLevel::Top))
        .bootstrapping(None)
        .expect("evaluator");
    assert!(circuit(&few, &ct).is_err());
    // A factor does not rise where the other one stays below the application's levels.
    let lower = encrypt_as(
        &sk,
        &x,
        &[slots],
        EncryptOptions { level: Some(Level(2)), ..EncryptOptions::default() },
        33,
    );
    let low = encrypt_as(
        &sk,
        &x,
        &[slots],
        EncryptOptions { level: Some(Level(3)), ..EncryptOptions::default() },
        34,
    );
    for (left, right) in [(&low, &lower), (&lower, &low)] {
        let (automatic, plain) = (ev.multiply(left, right), ev.without_bootstrapping().multiply(left, right));
        assert_eq!(automatic.expect("product").level(), plain.expect("product").level());
    }
    // An operation of several levels counts as one, up to what a bootstrap leaves: from the highest level
    // nothing has to be bootstrapped.
    for lowest in [3, 4, 5] {
        let recorder = Evaluator::recording(&params).bootstrapping(Some(Level(lowest))).expect("evaluator");
        let mut y = recorder.symbol(&[slots], Encoding::Slots, end, 1.0).expect("symbol");
        let square = clathrate_ckks::Polynomial::new(
            [0.0, 0.4, 0.5],
            clathrate_ckks::PolynomialBasis::Power,
            (-1.0, 1.0),
        )
        .expect("polynomial");
        for round in 0..4 {
            y = square.apply(&recorder, &y).expect("dry run");
            assert!(y.level() >= start, "below {lowest}, round {round}: level {}", y.level());
        }
    }
    // Nothing is bootstrapped as long as levels suffice.
    let recorder = Evaluator::recording(&params).bootstrapping(None).expect("evaluator");
    let symbol = recorder.symbol(&[slots], Encoding::Slots, end, 1.0).expect("symbol");
    let product = recorder.multiply_rescale(&symbol, &symbol).expect("dry run");
    assert_eq!((product.level(), recorder.recorded().stages().len()), (Level(5), 1));
    assert_refused!(
        Evaluator::new(&params).bootstrapping(Some(Level(6))),
        CkksError::OutOfRange { .. },
        "3 to 5"
    );
    assert_refused!(
        Evaluator::new(&params).bootstrapping(Some(Level(2))),
        CkksError::OutOfRange { .. },
        "3 to 5"
    );
    assert_refused!(
        Evaluator::new(&crate::common::params("insecure_small")).bootstrapping(None),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "segment"
    );
}
