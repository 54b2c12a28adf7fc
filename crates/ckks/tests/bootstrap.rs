//! Bootstrapping: every stage against what it should leave, the whole, failures, refusals. Small degrees: not secure.

mod common;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::encoding::dft;
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{CkksError, Complex64, Encoding, Evaluator, KeyNeeds, Order, Params, SecretKey};
use clathrate_lattice::Level;
use common::measure::*;
use common::*;

/// A chain of the shape of the full-size ones.
fn small() -> Params {
    params("insecure_boot")
}

fn complex(count: usize, seed: u64) -> Vec<Complex64> {
    noise(2 * count, seed).chunks(2).map(|pair| Complex64::new(pair[0], pair[1])).collect()
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
    for (slots, real) in [(512, false), (512, true), (64, false), (2, false)] {
        let x = if real { noise(slots, 4).into_iter().map(Complex64::from).collect() } else { complex(slots, 4) };
        let values = if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let options = BootstrapOptions { slots: Some(slots), real, ..BootstrapOptions::default() };
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
    for (rounds, slots, bits) in [(1, 512, 24.0), (2, 512, 42.0), (2, 64, 42.0), (3, 512, 48.0)] {
        let options = BootstrapOptions { rounds: Some(rounds), slots: Some(slots), ..BootstrapOptions::default() };
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
    for (slots, real) in [(512, false), (512, true), (64, false)] {
        let options = BootstrapOptions { slots: Some(slots), real, ..BootstrapOptions::default() };
        let ratio = measured_over_predicted(&small(), options, 6);
        assert!((0.9..1.1).contains(&ratio), "{slots} slots, real {real}: {ratio}");
    }
}

#[test]
fn every_preset_for_bootstrapping_is_tried_at_full_size() {
    let mut names = clathrate_ckks::parameters::preset_names();
    names.retain(|name| name.starts_with("boot_"));
    names.sort();
    assert_eq!(names, ["boot_default", "boot_fast", "boot_n15", "boot_precise"]);
}

/// Full-size parameters: run with `--ignored`. Prints the stages, their times and the precision.
#[test]
#[ignore = "full size: make test-full"]
fn n15_bootstrap_is_precise() {
    full_size("boot_n15", 21.5);
}

#[test]
#[ignore = "full size: make test-full"]
fn default_bootstrap_is_precise() {
    full_size("boot_default", 27.0);
}

#[test]
#[ignore = "full size: make test-full"]
fn fast_bootstrap_is_precise() {
    full_size("boot_fast", 23.0);
}

#[test]
#[ignore = "full size: make test-full"]
fn precise_bootstrap_is_precise() {
    full_size("boot_precise", 41.0);
}

/// Bootstraps full rows of complex numbers; the mean error of a real or imaginary part must be below `2^-bits`.
fn full_size(name: &str, bits: f64) {
    // Keys take gigabytes: one set at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let params = params(name);
    assert!(params.security_bits() >= 128.0, "{name}: {}", params.security_bits());
    let sk = secret(&params, 9);
    let plan = BootstrapPlan::new(&params).expect("plan");
    assert!(plan.log2_failure() <= -128.0, "{name}: 2^{}", plan.log2_failure());
    println!("{}", plan.explain().expect("explanation"));
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let count = params.slot_count();
    let uniform = |seed: u64| complex(count, 7 + seed);
    let mut messages: Vec<(String, Vec<Complex64>)> = (0..10).map(|seed| ("uniform".to_owned(), uniform(seed))).collect();
    messages.push(("real".to_owned(), uniform(10).iter().map(|x| x.re.into()).collect()));
    messages.push(("in [0, 1]".to_owned(), uniform(11).iter().map(|x| Complex64::new(x.re.abs(), x.im.abs())).collect()));
    messages.push(("constant 1".to_owned(), vec![Complex64::from(1.0); count]));
    messages.push(("constant 0.5 - 0.25i".to_owned(), vec![Complex64::new(0.5, -0.25); count]));
    messages.push(("zero".to_owned(), vec![Complex64::default(); count]));
    messages.push(("one slot".to_owned(), (0..count).map(|slot| Complex64::from(f64::from(u8::from(slot == 5)))).collect()));
    let (mut squares, mut rows) = (0.0, 0);
    for (kind, x) in &messages {
        let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[x.len()], options, 8);
        let start = Instant::now();
        let fresh = ev.bootstrap(&ct, &plan).expect("bootstrap");
        let seconds = start.elapsed().as_secs_f64();
        let got = decrypt_complex(&sk, &fresh);
        let errors = || got.iter().zip(x).flat_map(|(a, b)| [(a - b).re.abs(), (a - b).im.abs()]);
        let (mean, worst) = (-(errors().sum::<f64>() / (2 * x.len()) as f64).log2(), -errors().fold(0.0, f64::max).log2());
        println!("{name}, {kind}: {seconds:.2} s, mean {mean:.2} bits, worst {worst:.2} bits");
        // The sine bends most at magnitude 1, which a constant has in all slots.
        assert!(mean > bits - if kind == "uniform" { 0.0 } else { 1.5 }, "{name}, {kind}: {mean} bits");
        // Half of a polynomial would be lost if it failed.
        assert!(worst > bits - 6.0, "{name}, {kind}: {worst} bits");
        if kind == "uniform" {
            squares += errors().map(|error| error * error).sum::<f64>() / (2 * x.len()) as f64;
            rows += 1;
        }
    }
    let (measured, predicted) = ((squares / f64::from(rows)).sqrt(), plan.predicted_error().expect("prediction"));
    println!("{name}: deviation {:.2} bits, predicted {:.2}: {predicted:?}", -measured.log2(), -predicted.deviation().log2());
    let ratio = measured / predicted.deviation();
    assert!((0.9..1.1).contains(&ratio), "{name}: the deviation is {ratio} times the predicted one");
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
    for slots in [0, 1, 48, 1024] {
        let options = BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() };
        assert_refused!(BootstrapPlan::with_options(&params, options), CkksError::OutOfRange { .. }, "2 to 512");
    }
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
        let runtime = clathrate_ckks::Runtime { threads: Some(threads), isa, ..base_runtime() };
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
