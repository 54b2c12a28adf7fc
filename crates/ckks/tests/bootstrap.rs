//! Bootstrapping: every stage against what it should leave, the whole, failures, refusals. Small degrees: not secure.

mod common;

use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::encoding::dft;
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::parameters::Switching;
use clathrate_ckks::{CkksError, Complex64, Encoding, Evaluator, KeyNeeds, Order, Params, Runtime, SecretKey};
use clathrate_lattice::Level;
use clathrate_lattice::switch::SwitchMethod;
use common::measure::*;
use common::*;

/// A chain of the shape of the full-size ones.
fn small() -> Params {
    params("insecure_boot")
}

#[test]
fn factors_are_the_embedding_of_bit_reversed_coefficients_and_its_inverse() {
    for log in 1..8 {
        let slots = 1usize << log;
        let w = complex(slots, 1);
        // Slot j is the value at zeta^(5^j) of the polynomial with these complex coefficients.
        let natural: Vec<Complex64> = (0..slots).map(|t| w[t.reverse_bits() >> (usize::BITS - log)]).collect();
        let coefficients: Vec<f64> = natural.iter().map(|w| w.re).chain(natural.iter().map(|w| w.im)).collect();
        let expected = clathrate_ckks::embedding::Encoder::new(2 * slots).evaluate(&coefficients, slots);
        for factors in 1..=5 {
            let (down, up) = (
                dft::slots_to_coefficients(slots, factors).expect("factors"),
                dft::coefficients_to_slots(slots, factors).expect("factors"),
            );
            assert_eq!((down.len(), up.len()), (factors.min(log as usize), factors.min(log as usize)));
            let image = down.iter().fold(w.clone(), |x, factor| factor.evaluate(&x).expect("image"));
            assert!(image.iter().zip(&expected).all(|(a, b)| (a - b).norm() < 1e-12 * slots as f64), "{slots} slots, {factors} factors");
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
    let y = ev.slots_to_coefficients(&ct, &plan).expect("coefficients");
    assert_eq!((y.level(), y.encoding(), y.layout().order, y.is_complex()), (Level(0), Encoding::Coefficients, Order::BitReversed, true));
    let error = complex_deviation(&decrypt_complex(&sk, &y), &x);
    println!("slots to coefficients: {:.2} bits", -error.log2());
    assert!(error < 2f64.powi(-24), "{error:e}");
}

fn bootstrapped(
    params: &Params,
    sk: &SecretKey,
    options: BootstrapOptions,
    x: &Values,
    shape: &[usize],
) -> (Vec<Complex64>, BootstrapPlan) {
    let plan = BootstrapPlan::with_options(params, options).expect("plan");
    let ev = evaluator(sk, &plan.needs().expect("needs"));
    let own = EncryptOptions { level: Some(plan.input_level()), capacity: Some(plan.slots()), ..EncryptOptions::default() };
    let ct = encrypt_as(sk, x, shape, own, 5);
    let fresh = ev.bootstrap(&ct, &plan).expect("bootstrap");
    assert_eq!((fresh.level(), fresh.shape(), fresh.scale()), (plan.output_level(), shape, params.scale(plan.output_level())));
    (decrypt_complex(sk, &fresh), plan)
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
        let x = if real { noise(slots, 4).into_iter().map(Complex64::from).collect() } else { complex(slots, 4) };
        let values = if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let transform_slots = own.then_some(slots);
        let options = BootstrapOptions { slots: Some(slots), transform_slots, real, ..BootstrapOptions::default() };
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

/// The root mean square of the real and imaginary parts of the errors of `rounds` bootstraps, over the predicted one.
fn measured_over_predicted(params: &Params, options: BootstrapOptions, rounds: u8) -> f64 {
    let sk = secret(params, 21);
    let plan = BootstrapPlan::with_options(params, options).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let own = EncryptOptions { level: Some(plan.input_level()), capacity: Some(plan.slots()), ..EncryptOptions::default() };
    let (mut sum, mut count) = (0.0, 0.0);
    for round in 0..rounds {
        let x = complex(plan.slots(), 30 + u64::from(round));
        let x: Vec<Complex64> = if plan.is_real() { x.iter().map(|x| x.re.into()).collect() } else { x };
        let values = if plan.is_real() { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let ct = encrypt_as(&sk, &values, &[plan.slots()], own, round);
        let before = decrypt_complex(&sk, &ct);
        let after = decrypt_complex(&sk, &ev.bootstrap(&ct, &plan).expect("bootstrap"));
        for (before, after) in before.iter().zip(&after) {
            sum += (before - after).norm_sqr();
            count += if plan.is_real() { 1.0 } else { 2.0 };
        }
    }
    let (measured, predicted) = ((sum / count).sqrt(), plan.predicted_error().expect("prediction"));
    println!("{} slots: {:.2} bits, predicted {:.2}: {predicted:?}", plan.slots(), -measured.log2(), -predicted.deviation().log2());
    measured / predicted.deviation()
}

/// The small chain with an application segment at 2^58, which holds more bits than one round leaves.
fn wide() -> Params {
    let mut spec = small().spec().clone();
    spec.name = "wide".to_owned();
    (1..4).for_each(|level| spec.steps[level] = vec![38.0]);
    (4..7).for_each(|level| spec.steps[level] = vec![29.0, 29.0]);
    spec.steps[7] = vec![46.2];
    spec.segments[1].log2_scale = 58.0;
    Params::new(spec, &base_runtime()).expect("parameters")
}

#[test]
fn rounds_add_their_precision() {
    let params = wide();
    for (rounds, slots, transforms, bits) in
        [(1, 512, 512, 24.0), (2, 512, 512, 42.0), (2, 64, 64, 42.0), (2, 64, 512, 42.0), (2, 256, 512, 42.0), (3, 512, 512, 48.0)]
    {
        let options =
            BootstrapOptions { rounds: Some(rounds), slots: Some(slots), transform_slots: Some(transforms), ..BootstrapOptions::default() };
        let ratio = measured_over_predicted(&params, options, 4);
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        assert!((0.9..1.1).contains(&ratio), "{rounds} rounds, {slots} slots: {ratio}");
        let predicted = -plan.predicted_error().expect("prediction").deviation().log2();
        assert!(predicted > bits, "{rounds} rounds: {predicted} bits");
        assert_eq!(plan.output_level(), Level(7 - rounds));
    }
    // An array from the highest level, above the application's segment, takes part in the rounds at the level of the input.
    let (sk, plan) = (secret(&params, 21), BootstrapPlan::new(&params).expect("plan"));
    let x = complex(512, 40);
    let ct = encrypt_as(&sk, &Values::Complex(x), &[512], EncryptOptions::default(), 1);
    assert!(ct.level() > plan.output_level());
    let fresh = evaluator(&sk, &plan.needs().expect("needs")).bootstrap(&ct, &plan).expect("bootstrap");
    let error = complex_deviation(&decrypt_complex(&sk, &fresh), &decrypt_complex(&sk, &ct));
    assert!(error < 2f64.powi(-40), "{error:e}");
    assert_eq!(plan.rounds(), 2, "the scale asks for them");
    assert_eq!(BootstrapPlan::new(&small()).expect("plan").rounds(), 1);
    for rounds in [0, 4, 1000] {
        let error = BootstrapPlan::with_options(&params, BootstrapOptions { rounds: Some(rounds), ..BootstrapOptions::default() });
        assert!(matches!(&error, Err(CkksError::OutOfRange { .. })), "{rounds}: {error:?}");
    }
}

/// The small chain with a ratio of 2^6, at which the sine bends, and `more` levels for the modular reduction.
fn bent(more: usize) -> Params {
    let mut spec = small().spec().clone();
    spec.name = format!("bent{more}");
    spec.segments[0].log2_scale = 39.9;
    (1..4).for_each(|level| spec.steps[level] = vec![40.4]);
    spec.steps[7] = vec![32.4, 32.4];
    spec.steps.splice(8..8, std::iter::repeat_n(vec![28.5, 28.5], more));
    spec.segments[2].levels = (7, 14 + more);
    spec.segments[3].levels = (15 + more, 17 + more);
    Params::new(spec, &base_runtime()).expect("parameters")
}

#[test]
fn an_arcsine_takes_the_error_of_the_sine_away() {
    let mut before = 0.0;
    for (arcsine, more, gain) in [(None, 0, 0.0), (Some(3), 2, 4.0), (Some(5), 3, 2.0)] {
        let params = bent(more);
        let options = BootstrapOptions { arcsine, rounds: Some(1), ..BootstrapOptions::default() };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        assert!((5.9..6.1).contains(&plan.reduction().ratio().log2()), "{}", plan.reduction().ratio().log2());
        assert_eq!(plan.reduction().doublings(), 3);
        let ratio = measured_over_predicted(&params, options, 4);
        assert!((0.9..1.1).contains(&ratio), "arcsine {arcsine:?}: {ratio}");
        let bits = -plan.predicted_error().expect("prediction").deviation().log2();
        assert!(bits > before + gain, "arcsine {arcsine:?}: {bits} bits, {before} before");
        assert_eq!(plan.explain().expect("explanation").contains("arcsine"), arcsine.is_some());
        before = bits;
    }
    for degree in [0, 1, 2, 4, 17, usize::MAX] {
        let error = BootstrapPlan::with_options(&bent(3), BootstrapOptions { arcsine: Some(degree), ..BootstrapOptions::default() });
        assert!(matches!(&error, Err(CkksError::OutOfRange { .. })), "{degree}: {error:?}");
    }
    let error = BootstrapPlan::with_options(&small(), BootstrapOptions { arcsine: Some(15), ..BootstrapOptions::default() });
    assert!(matches!(&error, Err(CkksError::NotBootstrappable { reason, .. }) if reason.contains("arcsine")), "{error:?}");
}

#[test]
fn dry_runs_bound_the_error_behind_a_bootstrap() {
    let params = small();
    let plan = BootstrapPlan::new(&params).expect("plan");
    for (magnitude, finite) in [(0.5, true), (1.0, true), (1.5, false)] {
        let ev = Evaluator::recording(&params);
        let x = ev.symbol(&[512], Encoding::Slots, plan.input_level(), magnitude).expect("symbol");
        let y = ev.bootstrap(&x, &plan).expect("dry run");
        let estimate = y.estimate().expect("bounds");
        assert_eq!(estimate.error.is_finite(), finite, "{magnitude}: {estimate:?}");
        if finite {
            let own = x.estimate().expect("bounds").error;
            let predicted = 2f64.sqrt() * plan.predicted_error().expect("prediction").deviation();
            assert!(estimate.error > own + predicted && estimate.error < own + 8.0 * predicted, "{estimate:?}");
        }
    }
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
        matches!(operation, clathrate_ckks::keys::Operation::Multiply | clathrate_ckks::keys::Operation::Conjugate)
    });
    let most = early.iter().fold(KeyNeeds::new(), |needs, &(operation, reach)| needs.operation(operation, reach));
    let mut stages = 0;
    let error = evaluator(&sk, &most).bootstrap_with_progress(&ct, &plan, &mut |_, _| {
        stages += 1;
        true
    });
    let Err(CkksError::MissingKeys { count, bytes, names, .. }) = error else { panic!("{error:?}") };
    let missing = late.iter().fold(KeyNeeds::new(), |needs, &(operation, reach)| needs.operation(operation, reach));
    let expected = params.required_keys(&missing).expect("keys").bytes(&params).expect("bytes");
    assert_eq!((stages, count, bytes), (0, 2, expected), "{names}");
    // Without the rotations, the first few are named and the others counted.
    let rotations = late.iter().fold(KeyNeeds::new(), |needs, &(operation, reach)| needs.operation(operation, reach));
    let error = evaluator(&sk, &rotations).bootstrap(&ct, &plan);
    assert!(matches!(&error, Err(CkksError::MissingKeys { names, .. }) if names.contains("more")), "{error:?}");
}

#[test]
fn errors_have_the_predicted_deviation() {
    for (slots, transforms, real, bootstraps) in [
        (512, 512, false, 6),
        (512, 512, true, 6),
        (64, 64, false, 6),
        (256, 512, false, 6),
        (64, 512, false, 12),
        (64, 512, true, 12),
        (64, 128, false, 12),
        (8, 512, false, 60),
    ] {
        let options =
            BootstrapOptions { slots: Some(slots), transform_slots: Some(transforms), real, rounds: Some(1), ..Default::default() };
        let ratio = measured_over_predicted(&small(), options, bootstraps);
        assert!((0.9..1.1).contains(&ratio), "{slots} slots, real {real}: {ratio}");
    }
}

/// With a range that is too short, bootstraps fail as often as the formula says: a half of a polynomial is lost if one of its integer parts is too large.
#[test]
fn bootstraps_fail_at_the_predicted_rate() {
    // Two levels less leave one double angle, so that the polynomial is just accurate enough in the range and useless beyond.
    let mut spec = small().spec().clone();
    spec.steps.drain(8..10);
    spec.segments[2].levels = (7, 12);
    spec.segments[3].levels = (13, 15);
    let params = Params::new(spec, &base_runtime()).expect("parameters");
    let sk = secret(&params, 11);
    let (range, slots, rounds) = (6, params.slot_count(), 60);
    let plan =
        BootstrapPlan::with_options(&params, BootstrapOptions { range: Some(range), rounds: Some(1), ..BootstrapOptions::default() })
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
    let got = decrypt_complex(&sk, &ev.bootstrap(&ct, &plan).expect("bootstrap"));
    let lost = |part: fn(Complex64) -> f64| {
        got.chunks_exact(slots).filter(|row| row.iter().zip(&x).any(|(a, b)| part(a - b).abs() > 0.25 || part(*a).is_nan())).count()
    };
    let failures = lost(|z| z.re) + lost(|z| z.im);
    let one = clathrate_ckks::circuits::bootstrap::failure::log2_tail(32, range).exp2();
    let (halves, expected) = (2 * rounds, 1.0 - (1.0 - one).powi(slots as i32));
    let (mean, deviation) = (halves as f64 * expected, (halves as f64 * expected * (1.0 - expected)).sqrt());
    println!("{failures} of {halves} halves lost, {mean:.1} +- {deviation:.1} predicted");
    assert!((failures as f64 - mean).abs() < 4.0 * deviation, "{failures} of {halves} halves lost, {mean:.1} predicted");
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
    assert_refused!(ev.bootstrap(&encrypt_as(&sk, &noise(slots, 1), &[slots], at(2), 1), &plan), CkksError::LevelTooLow { .. }, "level 3");
    assert_refused!(ev.bootstrap(&encrypt_as(&sk, &noise(8, 1), &[8], at(3), 1), &plan), CkksError::Shape { .. }, "capacity of 512");
    let coefficients = EncryptOptions { encoding: Some(Encoding::Coefficients), ..at(3) };
    assert_refused!(ev.bootstrap(&encrypt_as(&sk, &noise(8, 1), &[8], coefficients, 1), &plan), CkksError::Encoding { .. }, "slots");
    assert_refused!(ev.half_bootstrap(&x, &plan), CkksError::Encoding { .. }, "complex numbers in coefficients");
    let real = BootstrapPlan::with_options(&params, BootstrapOptions { real: true, ..BootstrapOptions::default() }).expect("plan");
    let z = encrypt_as(&sk, &Values::Complex(complex(slots, 1)), &[slots], at(3), 1);
    assert_refused!(ev.bootstrap(&z, &real), CkksError::Conversion { .. }, "complex");
    assert_refused!(Evaluator::new(&params).bootstrap(&x, &plan), CkksError::NoKeys { .. }, "linear transform");
    let others = params_of("insecure_small");
    assert_refused!(BootstrapPlan::new(&others), CkksError::NotBootstrappable { .. }, "segment");
    assert_refused!(BootstrapPlan::new(&params_of("insecure_rank2")), CkksError::NotBootstrappable { .. }, "to_rlwe");
    for slots in [0, 48, 1024] {
        let options = BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() };
        assert_refused!(BootstrapPlan::with_options(&params, options), CkksError::OutOfRange { .. }, "1 to 512");
    }
    for log2_failure in [0.0, 3.0, f64::NAN, f64::NEG_INFINITY] {
        let options = BootstrapOptions { log2_failure: Some(log2_failure), ..BootstrapOptions::default() };
        assert_refused!(BootstrapPlan::with_options(&params, options), CkksError::OutOfRange { .. }, "negative");
    }
    let half = BootstrapPlan::with_options(&params, BootstrapOptions { half: true, ..BootstrapOptions::default() }).expect("plan");
    assert_refused!(ev.bootstrap(&x, &half), CkksError::NotBootstrappable { .. }, "half_bootstrap");
    assert_refused!(
        ev.bootstrap_pair(&x, &encrypt_as(&sk, &noise(slots - 1, 1), &[slots - 1], at(3), 1), &plan),
        CkksError::Shape { .. },
        "equal"
    );
    for (left, right) in [(&z, &z), (&z, &x), (&x, &z)] {
        assert_refused!(ev.bootstrap_pair(left, right, &plan), CkksError::Conversion { .. }, "real numbers");
    }
    assert_refused!(ev.bootstrap_pair(&x, &x, &real), CkksError::Conversion { .. }, "complex ones");
    let deep = BootstrapOptions { degree: Some(300), ..BootstrapOptions::default() };
    assert_refused!(BootstrapPlan::with_options(&params, deep), CkksError::NotBootstrappable { .. }, "300");
    // A range that the polynomial does not cover: heavier secrets, fewer double angles.
    for (weight, levels) in [(Some(64), 8), (Some(128), 8), (Some(1000), 8), (None, 8), (Some(32), 6), (Some(32), 5)] {
        let mut spec = params.spec().clone();
        spec.ephemeral_weight = weight;
        spec.steps.drain(8..8 + 8 - levels);
        spec.segments[2].levels = (7, 6 + levels);
        spec.segments[3].levels = (7 + levels, 9 + levels);
        let other = Params::new(spec, &base_runtime()).expect("parameters");
        assert_refused!(BootstrapPlan::new(&other), CkksError::NotBootstrappable { .. }, "cannot be bootstrapped");
    }
    // Arrays above the application's segment come down through its top.
    for level in [8, 14, 17] {
        let high = encrypt_as(&sk, &noise(slots, 1), &[slots], at(level), 1);
        assert_close(&decrypt(&sk, &ev.bootstrap(&high, &plan).expect("bootstrap")), &noise(slots, 1), 1e-4);
    }
    // A cancelled bootstrap stops at the next stage.
    let stopped = ev.clone().watched(|stage| stage != "modular reduction");
    assert_refused!(stopped.bootstrap(&x, &plan), CkksError::Cancelled, "stopped");
    // The ephemeral key serves level 0 alone.
    assert_refused!(ev.change_secret(&x, clathrate_ckks::SecretName::Ephemeral), CkksError::Lattice(_), "level 0");
}

fn params_of(name: &str) -> Params {
    params(name)
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
        results.push(ev.bootstrap(&x, &plan).expect("bootstrap").to_file_bytes().expect("bytes"));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The hybrid method, on keys as made or not, and key decomposition with digits of each length leave the same bits of a whole bootstrap. The special primes are the
/// same for all, because their number decides what is rounded.
#[test]
fn results_do_not_depend_on_the_switching_method() {
    let under = |switching: Switching| Params::preset("insecure_boot", &Runtime { switching, ..base_runtime() }).expect("preset");
    let special = small().chain().special_basis().len();
    // One plan for all: baby and giant steps follow the price, and roundings follow the steps.
    let plan = BootstrapPlan::new(&under(SwitchMethod::hybrid(special).into())).expect("plan");
    let bytes = |switching: Switching| {
        let sk = secret(&under(switching), 15);
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
        let x = encrypt_as(&sk, &Values::Complex(complex(512, 16)), &[512], options, 17);
        ev.bootstrap(&x, &plan).expect("bootstrap").to_file_bytes().expect("bytes")
    };
    let hybrid = bytes(SwitchMethod::hybrid(special).into());
    assert!(hybrid == bytes(Switching::AsMade), "keys as made");
    for digit in 1..=4 {
        assert!(hybrid == bytes(SwitchMethod::klss(special, digit).into()), "key digits of {digit}");
    }
}

/// Plans for few slots take the transforms of all slots where these are faster, by the same keys whatever the numbers and rounds.
#[test]
fn few_slots_share_the_transforms_and_keys_of_all() {
    let params = small();
    let sk = secret(&params, 31);
    let every = BootstrapPlan::new(&params).expect("plan").needs().expect("needs");
    let ev = evaluator(&sk, &every);
    for (slots, real, rounds) in [(64, false, 1), (64, true, 1), (256, false, 2), (8, true, 2), (1, false, 1)] {
        let options = BootstrapOptions { slots: Some(slots), real, rounds: Some(rounds), ..BootstrapOptions::default() };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        assert_eq!((plan.slots(), plan.transform_slots()), (slots, 512));
        assert!(plan.explain().expect("explanation").contains("transforms of 512 slots"));
        // Three rows that do not fill their slots: the padding stays zero.
        let (rows, columns) = (3, slots - slots / 4);
        let x = if real { noise(rows * columns, 4).into_iter().map(Complex64::from).collect() } else { complex(rows * columns, 4) };
        let values = if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let own = EncryptOptions {
            level: Some(plan.input_level()),
            capacity: Some(slots),
            encoding: Some(Encoding::Slots),
            ..EncryptOptions::default()
        };
        let ct = encrypt_as(&sk, &values, &[rows, columns], own, 5);
        let fresh = ev.bootstrap(&ct, &plan).expect("bootstrap");
        assert_eq!((fresh.level(), fresh.shape(), fresh.layout().capacity), (plan.output_level(), &[rows, columns][..], slots));
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
        assert!(error < 2f64.powi(-24), "{slots} slots, real {real}, {rounds} rounds: {error:e}");
    }
    // Own transforms on request, and those of half bootstraps; other numbers of slots are refused.
    let own = BootstrapOptions { slots: Some(64), transform_slots: Some(64), ..BootstrapOptions::default() };
    assert_eq!(BootstrapPlan::with_options(&params, own).expect("plan").transform_slots(), 64);
    let half = BootstrapOptions { slots: Some(64), half: true, ..BootstrapOptions::default() };
    assert_eq!(BootstrapPlan::with_options(&params, half).expect("plan").transform_slots(), 64);
    for (transform_slots, half, remedy) in
        [(32, false, "64 to 512"), (96, false, "64 to 512"), (1024, false, "64 to 512"), (512, true, "use 64")]
    {
        let options = BootstrapOptions { slots: Some(64), transform_slots: Some(transform_slots), half, ..BootstrapOptions::default() };
        assert_refused!(BootstrapPlan::with_options(&params, options), CkksError::OutOfRange { .. }, remedy);
    }
}

/// Two arrays of real numbers in the time of one, several polynomials of real numbers two by two.
#[test]
fn real_numbers_are_bootstrapped_in_pairs() {
    let params = small();
    let sk = secret(&params, 22);
    for rounds in [1, 2] {
        let params = if rounds == 1 { params.clone() } else { wide() };
        let sk = if rounds == 1 { sk.clone() } else { secret(&params, 22) };
        let tolerance = if rounds == 1 { 2f64.powi(-16) } else { 2f64.powi(-34) };
        let plan =
            BootstrapPlan::with_options(&params, BootstrapOptions { rounds: Some(rounds), ..BootstrapOptions::default() }).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let at = |level: usize| EncryptOptions {
            level: Some(Level(level)),
            encoding: Some(Encoding::Slots),
            capacity: Some(512),
            ..EncryptOptions::default()
        };
        let (x, y) = (noise(512, 23), noise(512, 24));
        let (left, right) = (encrypt_as(&sk, &x, &[512], at(4), 1), encrypt_as(&sk, &y, &[512], at(3), 2));
        let (fresh, other) = ev.bootstrap_pair(&left, &right, &plan).expect("pair");
        for (fresh, expected) in [(&fresh, &x), (&other, &y)] {
            assert_eq!((fresh.level(), fresh.shape(), fresh.is_complex()), (plan.output_level(), &[512][..], false));
            assert_close(&decrypt(&sk, fresh), expected, tolerance);
        }
        // Rows and chunks in any number: a single one, pairs, and one left over.
        for (rows, columns) in [(1, 512), (2, 512), (5, 512), (2, 1300), (1, 1000)] {
            let x = noise(rows * columns, 25);
            let ct = encrypt_as(&sk, &x, &[rows, columns], at(3), 3);
            let mut stages = 0;
            let fresh = ev.bootstrap_with_progress(&ct, &plan, &mut |_, _| {
                stages += 1;
                true
            });
            let fresh = fresh.expect("bootstrap");
            assert_eq!((fresh.shape(), fresh.layout().columns, fresh.is_complex()), (&[rows, columns][..], columns, false));
            assert_close(&decrypt(&sk, &fresh), &x, tolerance);
            assert!(stages >= 6 * rounds);
        }
    }
    // A dry run of six polynomials costs three bootstraps, and the operations that count are those that run.
    let plan = BootstrapPlan::new(&params).expect("plan");
    let seconds = |rows: usize, complex: bool| {
        let ev = Evaluator::recording_for(&params, plan.needs().expect("needs"));
        let layout = clathrate_ckks::arrays::Layout::new(&[rows, 512], Encoding::Slots, 1024).expect("layout");
        let layout = clathrate_ckks::arrays::Layout { complex, ..layout };
        let level = plan.input_level();
        let symbol = clathrate_ckks::Ciphertext::symbol_with(
            &params,
            &[rows, 512],
            layout,
            clathrate_ckks::SecretName::Main,
            level,
            params.scale(level),
        );
        let symbol = ev.take_symbol(symbol.expect("symbol"), None).expect("symbol");
        ev.bootstrap(&symbol, &plan).expect("dry run");
        ev.recorded().cost().transforms
    };
    assert!((seconds(6, false) / seconds(3, true) - 1.0).abs() < 0.01, "{} {}", seconds(6, false), seconds(3, true));
}

/// Arrays of rank 2 and 4 are converted where the modulus is short.
#[test]
fn higher_ranks_bootstrap_by_conversion() {
    let params = small();
    let sk = secret(&params, 33);
    for rank in [2, 4] {
        let slots = params.slot_count() / rank;
        let plan =
            BootstrapPlan::with_options(&params, BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() }).expect("plan");
        let low = params.relative(clathrate_ckks::ModuleShape { degree: params.degree() / rank, rank }).expect("shape");
        let needs = KeyNeeds::new().relative(low.shape(), &low.rlwe_needs(clathrate_ckks::Reach::Level(plan.input_level().0)));
        let ev = evaluator(&sk, &plan.needs().expect("needs").merge(&needs));
        let x = complex(slots, 34);
        let own = EncryptOptions { level: Some(Level(5)), capacity: Some(slots), ..EncryptOptions::default() };
        let ct = ev.to_mlwe(&encrypt_as(&sk, &Values::Complex(x.clone()), &[slots], own, 35), rank).expect("rank");
        assert_eq!((ct.params().rank(), ct.params().degree()), (rank, params.degree() / rank));
        let fresh = ev.bootstrap(&ct, &plan).expect("bootstrap");
        assert_eq!((fresh.params(), fresh.level(), fresh.shape()), (ct.params(), plan.output_level(), ct.shape()));
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
        assert!(error < 2f64.powi(-16), "rank {rank}: {error:e}");
        // A dry run finds all keys.
        let recorder = Evaluator::recording(&params);
        let layout = clathrate_ckks::arrays::Layout::new(&[slots], Encoding::Slots, params.degree()).expect("layout");
        let layout = clathrate_ckks::arrays::Layout { complex: true, ..layout };
        let symbol = clathrate_ckks::Ciphertext::symbol_with(
            &params,
            &[slots],
            layout,
            clathrate_ckks::SecretName::Main,
            Level(5),
            params.scale(Level(5)),
        );
        let symbol = recorder.take_symbol(symbol.expect("symbol"), None).expect("symbol");
        let planned = recorder.bootstrap(&recorder.to_mlwe(&symbol, rank).expect("rank"), &plan).expect("dry run");
        assert_eq!((planned.params(), planned.level()), (fresh.params(), fresh.level()));
        let own = evaluator(&sk, &recorder.needs());
        assert!(own.bootstrap(&ct, &plan).is_ok());
    }
}

/// Slots-to-coefficients after the modular reduction.
#[test]
fn the_other_order_bootstraps_as_well() {
    let params = params_of("insecure_boot_last");
    let sk = secret(&params, 26);
    for (slots, real, bits) in [(512, false, 17), (512, true, 17), (64, false, 17), (1, false, 17)] {
        let x = if real { noise(slots, 4).into_iter().map(Complex64::from).collect() } else { complex(slots, 4) };
        let values = if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let options = BootstrapOptions { slots: Some(slots), real, rounds: Some(1), ..BootstrapOptions::default() };
        let (got, plan) = bootstrapped(&params, &sk, options, &values, &[slots]);
        assert_eq!((plan.slots_last(), plan.input_level(), plan.output_level()), (true, Level(1), Level(4)));
        let error = complex_deviation(&got, &x);
        println!("{slots} slots, real {real}: {:.2} bits", -error.log2());
        assert!(error < 2f64.powi(-bits), "{slots} slots, real {real}: {error:e}");
    }
    for (slots, transforms, real) in [(512, 512, false), (512, 512, true), (64, 64, false), (64, 512, false)] {
        let options =
            BootstrapOptions { slots: Some(slots), transform_slots: Some(transforms), real, rounds: Some(1), ..Default::default() };
        let ratio = measured_over_predicted(&params, options, if slots == 64 { 12 } else { 6 });
        assert!((0.9..1.1).contains(&ratio), "{slots} slots by {transforms}, real {real}: {ratio}");
    }
    let plan = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let at = EncryptOptions { level: Some(Level(1)), ..EncryptOptions::default() };
    let x = encrypt_as(&sk, &noise(512, 1), &[512], at, 1);
    assert_refused!(ev.slots_to_coefficients(&x, &plan), CkksError::NotBootstrappable { .. }, "last");
    assert_refused!(ev.bootstrap_pair(&x, &x, &plan), CkksError::NotBootstrappable { .. }, "one after the other");
    let mut spec = params.spec().clone();
    spec.segments[0].levels = (0, 1);
    spec.segments[1].levels = (2, 4);
    let other = Params::new(spec, &base_runtime()).expect("parameters");
    assert_refused!(BootstrapPlan::new(&other), CkksError::NotBootstrappable { .. }, "level 0 alone");
}

/// Heavier ephemeral secrets have wider ranges, which four double angles cover.
#[test]
fn heavier_ephemeral_secrets_bootstrap() {
    for weight in [48, 64] {
        let mut spec = small().spec().clone();
        spec.ephemeral_weight = Some(weight);
        spec.steps.insert(8, vec![28.5, 28.5]);
        spec.segments[2].levels = (7, 15);
        spec.segments[3].levels = (16, 18);
        let params = Params::new(spec, &base_runtime()).expect("parameters");
        let sk = secret(&params, 27);
        let x = complex(512, 28);
        let (got, plan) = bootstrapped(&params, &sk, BootstrapOptions::default(), &Values::Complex(x.clone()), &[512]);
        println!("weight {weight}: range {}, failure 2^{:.1}", plan.reduction().range(), plan.log2_failure());
        assert!(plan.reduction().range() > 16 && plan.log2_failure() <= -128.0);
        let error = complex_deviation(&got, &x);
        assert!(error < 2f64.powi(-16), "weight {weight}: {error:e}");
        let ratio = measured_over_predicted(&params, BootstrapOptions::default(), 6);
        assert!((0.9..1.1).contains(&ratio), "weight {weight}: {ratio}");
    }
}

/// Fewer bytes of keys: rotations follow one another, at last by two or three keys for each map, and the precision is as predicted.
#[test]
fn keys_fit_into_the_bytes_that_are_given() {
    let params = small();
    let free = BootstrapPlan::new(&params).expect("plan");
    let all = free.key_bytes().expect("bytes");
    let mut last = (all, 0.0);
    for share in [0.9, 0.6, 0.4, 0.36] {
        let most = (all as f64 * share) as usize;
        let options = BootstrapOptions { most_key_bytes: Some(most), ..BootstrapOptions::default() };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        let (bytes, nanoseconds) = (plan.key_bytes().expect("bytes"), plan.dry_run().expect("dry run").cost().nanoseconds);
        println!("{share}: {bytes} of {all} bytes, {:.1} ms", nanoseconds / 1e6);
        assert!(bytes <= most && bytes <= last.0 && nanoseconds >= last.1);
        last = (bytes, nanoseconds);
        let ratio = measured_over_predicted(&params, options, 4);
        assert!((0.9..1.1).contains(&ratio), "{share}: {ratio}");
    }
    let options = BootstrapOptions { most_key_bytes: Some(1000), ..BootstrapOptions::default() };
    let error = BootstrapPlan::with_options(&params, options).expect_err("too few bytes");
    let CkksError::OutOfRange { value, remedy, .. } = &error else { panic!("{error}") };
    assert_eq!(value, "1000");
    // The least number of bytes that the remedy names is enough.
    let least: usize = remedy.split_whitespace().find_map(|word| word.parse().ok()).expect("a number of bytes");
    let options = BootstrapOptions { most_key_bytes: Some(least), ..BootstrapOptions::default() };
    assert_eq!(BootstrapPlan::with_options(&params, options).expect("plan").key_bytes().expect("bytes"), least);
    let options = BootstrapOptions { most_key_bytes: Some(least - 1), ..BootstrapOptions::default() };
    assert!(BootstrapPlan::with_options(&params, options).is_err());
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
        let got = decrypt_complex(&sk, &ev.bootstrap(&ct, &plan).expect("bootstrap"));
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
    let circuit = |ev: &Evaluator, x: &clathrate_ckks::Ciphertext| -> Result<clathrate_ckks::Ciphertext, CkksError> {
        let mut y = x.clone();
        for _ in 0..4 {
            y = ev.multiply_rescale(&y, &y)?;
        }
        let y = ev.rescale(&ev.multiply_plain(&y, &[0.5; 512])?)?;
        let y = ev.rescale(&ev.multiply_scalar(&y, 0.5)?)?;
        let y = ev.evaluate_polynomial(&y, &clathrate_ckks::Polynomial::fit(|t: f64| 1.0 - t, 1, (-1.0, 1.0))?)?;
        let y = ev.multiply(&y, &y)?;
        ev.rescale(&y)
    };
    let recorder = Evaluator::recording(&params).bootstrapping(None).expect("evaluator");
    let symbol = recorder.symbol(&[slots], Encoding::Slots, end, 1.0).expect("symbol");
    let planned = circuit(&recorder, &symbol).expect("dry run");
    let recording = recorder.recorded();
    let automatic = recording.stages().iter().filter(|stage| stage.name.starts_with("automatic bootstrap/")).count();
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
    let few = evaluator(&sk, &KeyNeeds::new().relinearise(clathrate_ckks::Reach::Top)).bootstrapping(None).expect("evaluator");
    assert!(circuit(&few, &ct).is_err());
    // A factor does not rise where the other one stays below the application's levels.
    let lower = encrypt_as(&sk, &x, &[slots], EncryptOptions { level: Some(Level(2)), ..EncryptOptions::default() }, 33);
    let low = encrypt_as(&sk, &x, &[slots], EncryptOptions { level: Some(Level(3)), ..EncryptOptions::default() }, 34);
    for (left, right) in [(&low, &lower), (&lower, &low)] {
        let (automatic, plain) = (ev.multiply(left, right), ev.without_bootstrapping().multiply(left, right));
        assert_eq!(automatic.expect("product").level(), plain.expect("product").level());
    }
    // An operation of several levels counts as one, up to what a bootstrap leaves: from the highest level nothing has to be bootstrapped.
    for lowest in [3, 4, 5] {
        let recorder = Evaluator::recording(&params).bootstrapping(Some(Level(lowest))).expect("evaluator");
        let mut y = recorder.symbol(&[slots], Encoding::Slots, end, 1.0).expect("symbol");
        let square =
            clathrate_ckks::Polynomial::new([0.0, 0.4, 0.5], clathrate_ckks::PolynomialBasis::Power, (-1.0, 1.0)).expect("polynomial");
        for round in 0..4 {
            y = recorder.evaluate_polynomial(&y, &square).expect("dry run");
            assert!(y.level() >= start, "below {lowest}, round {round}: level {}", y.level());
        }
    }
    // Nothing is bootstrapped as long as levels suffice.
    let recorder = Evaluator::recording(&params).bootstrapping(None).expect("evaluator");
    let symbol = recorder.symbol(&[slots], Encoding::Slots, end, 1.0).expect("symbol");
    let product = recorder.multiply_rescale(&symbol, &symbol).expect("dry run");
    assert_eq!((product.level(), recorder.recorded().stages().len()), (Level(5), 1));
    assert_refused!(Evaluator::new(&params).bootstrapping(Some(Level(6))), CkksError::OutOfRange { .. }, "3 to 5");
    assert_refused!(Evaluator::new(&params).bootstrapping(Some(Level(2))), CkksError::OutOfRange { .. }, "3 to 5");
    assert_refused!(Evaluator::new(&params_of("insecure_small")).bootstrapping(None), CkksError::NotBootstrappable { .. }, "segment");
}

/// Coefficients that were never in slots come out in bit-reversed order, and two stages make the whole.
#[test]
fn half_bootstraps_bring_coefficients_to_slots() {
    let params = small();
    let sk = secret(&params, 18);
    let plan = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let slots = params.slot_count();
    let x = complex(slots, 19);
    let natural = EncryptOptions {
        level: Some(Level(0)),
        scale: Some(plan.message_scale()),
        encoding: Some(Encoding::Coefficients),
        ..EncryptOptions::default()
    };
    for order in [Order::Natural, Order::BitReversed] {
        let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[slots], EncryptOptions { order, ..natural }, 20);
        let y = ev.half_bootstrap(&ct, &plan).expect("half bootstrap");
        let other = if order == Order::Natural { Order::BitReversed } else { Order::Natural };
        assert_eq!((y.encoding(), y.layout().order, y.level()), (Encoding::Slots, other, plan.output_level()));
        let error = complex_deviation(&decrypt_complex(&sk, &y), &x);
        assert!(error < 2f64.powi(-16), "{order:?}: {error:e}");
    }
}
