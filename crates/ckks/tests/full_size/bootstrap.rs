//! Bootstrapping at full-size parameters: minutes and gigabytes each, so only `make test-full` runs them.
//! They print the stages, their times and the precision.

use std::sync::Arc;
use std::time::Instant;

use crate::alone;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::circuits::mambo::{MamboOptions, MamboPlan};
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions};
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Complex64, Encoding, Evaluator, Matrix};
use clathrate_lattice::Level;

#[test]
fn every_preset_for_bootstrapping_is_tried_at_full_size() {
    let mut names = clathrate_ckks::parameters::preset_names();
    names.retain(|name| !name.starts_with("insecure_") && params(name).has_bootstrap_levels());
    names.sort();
    let batches = BATCHES.iter().map(|&(name, _)| name);
    let alone = [
        "boot_default",
        "boot_fast",
        "boot_fast_64",
        "boot_n15",
        "boot_precise",
        "boot_small",
        "paper_fgb",
        "paper_hermes_n15",
    ];
    let mut tried: Vec<&str> = alone.into_iter().chain(batches).collect();
    tried.sort_unstable();
    assert_eq!(names, tried);
}

/// Sets for batches, and the bodies under a mask that they are tried with.
const BATCHES: [(&str, usize); 3] = [("boot_n15_batch", 4), ("boot_n15_mambo", 2), ("boot_fast_batch", 2)];

#[test]
#[ignore = "full size: make test-full"]
fn batches_under_shared_masks_are_precise() {
    for (name, bodies) in BATCHES {
        let _alone = alone();
        let params = params(name);
        let sk = secret(&params, 12);
        let plan =
            BootstrapPlan::with_options(&params, BootstrapOptions { bodies, ..BootstrapOptions::default() })
                .expect("plan");
        assert!(plan.log2_failure() <= -128.0 && params.security_bits() - (bodies as f64).log2() >= 128.0);
        println!("{}", plan.explain().expect("explanation"));
        let ev = Evaluator::with_keys(sk.evaluation_keys(&plan.needs().expect("needs")).expect("keys"));
        // Polynomials of complex numbers, for which the prediction is, under more than one mask.
        let shape = [bodies + 1, params.slot_count()];
        let x = complex(shape.iter().product(), 13);
        let level = Some(plan.input_level());
        let options = EncryptOptions {
            level,
            encoding: Some(Encoding::Slots),
            capacity: Some(plan.slots()),
            ..EncryptOptions::default()
        };
        let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &shape, options, 14);
        let start = Instant::now();
        let fresh = plan.run(&ev, &ct).expect("bootstrap");
        let seconds = start.elapsed().as_secs_f64();
        let measured = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
        let predicted = plan.predicted_error().expect("prediction").deviation();
        println!(
            "{name}, {bodies} bodies: {seconds:.2} s, {:.2} bits, predicted {:.2}",
            -measured.log2(),
            -predicted.log2()
        );
        assert!((0.9..1.1).contains(&(measured / predicted)), "{name}: {}", measured / predicted);
    }
}

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

#[test]
#[ignore = "full size: make test-full"]
fn bootstraps_that_may_fail_more_often_are_precise() {
    full_size("boot_fast_64", 23.5);
}

#[test]
#[ignore = "full size: make test-full"]
fn bootstraps_with_few_keys_are_precise() {
    full_size("boot_small", 23.0);
}

#[test]
#[ignore = "full size: make test-full"]
fn bootstraps_at_the_moduli_of_the_papers_are_precise() {
    full_size("paper_fgb", 22.0);
}

/// The moduli of a set for half bootstraps: coefficients at level 0 come to slots at the highest level.
#[test]
#[ignore = "full size: make test-full"]
fn half_bootstraps_at_the_moduli_of_a_paper_are_precise() {
    let _alone = alone();
    let params = params("paper_hermes_n15");
    assert!(params.security_bits() >= 128.0);
    let sk = secret(&params, 36);
    let plan =
        BootstrapPlan::with_options(&params, BootstrapOptions { half: true, ..BootstrapOptions::default() })
            .expect("plan");
    assert!(plan.log2_failure() <= -128.0 && plan.to_coefficients().is_empty() && plan.rounds() == 1);
    assert_eq!((plan.input_level(), plan.output_level()), (Level(0), Level(6)));
    println!("{}", plan.explain().expect("explanation"));
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let options = EncryptOptions {
        level: Some(Level(0)),
        scale: Some(plan.message_scale()),
        encoding: Some(Encoding::Coefficients),
        ..EncryptOptions::default()
    };
    let x = complex(params.slot_count(), 37);
    let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[x.len()], options, 38);
    let start = Instant::now();
    let fresh = plan.run_half(&ev, &ct).expect("half bootstrap");
    let seconds = start.elapsed().as_secs_f64();
    let got = decrypt_complex(&sk, &fresh);
    let before = decrypt_complex(&sk, &ct);
    let errors = || got.iter().zip(&before).flat_map(|(a, b)| [(a - b).re, (a - b).im]);
    let measured = (errors().map(|error| error * error).sum::<f64>() / (2 * x.len()) as f64).sqrt();
    let predicted = plan.predicted_error().expect("prediction").deviation();
    println!(
        "paper_hermes_n15: {seconds:.2} s, {:.2} bits, predicted {:.2}",
        -measured.log2(),
        -predicted.log2()
    );
    assert!((0.9..1.1).contains(&(measured / predicted)) && measured < 2f64.powi(-16), "{measured:e}");
}

/// Few slots by the transforms of all, with one row of each number of slots under one set of keys.
#[test]
#[ignore = "full size: make test-full"]
fn few_slots_are_as_fast_and_more_precise() {
    let _alone = alone();
    let params = params("boot_n15");
    let sk = secret(&params, 40);
    let every = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &every.needs().expect("needs"));
    for slots in [4096, 256, 1] {
        let options = BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        assert_eq!(plan.transform_slots(), params.slot_count());
        let options = EncryptOptions {
            level: Some(plan.input_level()),
            capacity: Some(slots),
            ..EncryptOptions::default()
        };
        let (mut sum, mut count) = (0.0, 0);
        // The error of few numbers is measured over several bootstraps.
        for round in 0..if slots < 256 { 40 } else { 4 } {
            let x = complex(slots, 41 + round);
            let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[slots], options, 42);
            let before = decrypt_complex(&sk, &ct);
            let start = Instant::now();
            let fresh = plan.run(&ev, &ct).expect("bootstrap");
            let seconds = start.elapsed().as_secs_f64();
            if round == 0 {
                println!("boot_n15, {slots} slots: {seconds:.2} s");
            }
            sum += decrypt_complex(&sk, &fresh)
                .iter()
                .zip(&before)
                .map(|(a, b)| (a - b).norm_sqr())
                .sum::<f64>();
            count += 2 * slots;
        }
        let (measured, predicted) =
            ((sum / count as f64).sqrt(), plan.predicted_error().expect("prediction").deviation());
        println!("boot_n15, {slots} slots: {:.2} bits, predicted {:.2}", -measured.log2(), -predicted.log2());
        // 80 samples leave 8 % of their own, one standard deviation.
        let headroom = if slots == 1 { 0.25 } else { 0.1 };
        assert!(
            (measured / predicted - 1.0).abs() < headroom,
            "{slots} slots: {measured:e}, predicted {predicted:e}"
        );
        assert!(predicted < every.predicted_error().expect("prediction").deviation());
    }
}

/// Bootstraps full rows of complex numbers; the mean error of a real or imaginary part must be below
/// `2^-bits`.
fn full_size(name: &str, bits: f64) {
    let _alone = alone();
    let params = params(name);
    assert!(params.security_bits() >= 128.0, "{name}: {}", params.security_bits());
    let sk = secret(&params, 9);
    let plan = BootstrapPlan::new(&params).expect("plan");
    let most = params.spec().bootstrap_log2_failure.unwrap_or(-128.0);
    assert!((most - 20.0..=most).contains(&plan.log2_failure()), "{name}: 2^{}", plan.log2_failure());
    println!("{}", plan.explain().expect("explanation"));
    let keys = sk.evaluation_keys(&plan.needs().expect("needs")).expect("keys");
    assert_eq!(keys.bytes(), plan.key_bytes().expect("bytes"));
    if let Some(most) = params.spec().bootstrap_key_bytes {
        assert!(keys.bytes() as u64 <= most, "{name}: {} bytes of keys", keys.bytes());
    }
    if name == "boot_small" {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("keys");
        keys.save(&path).expect("file");
        let stored = path.metadata().expect("file").len();
        println!("{name}: {stored} bytes of keys in a file");
        assert!(stored <= 1_000_000_000, "{name}: {stored} bytes of keys in a file");
    }
    let ev = Evaluator::with_keys(keys);
    let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let count = params.slot_count();
    let uniform = |seed: u64| complex(count, 7 + seed);
    let mut messages: Vec<(String, Vec<Complex64>)> =
        (0..10).map(|seed| ("uniform".to_owned(), uniform(seed))).collect();
    messages.push(("real".to_owned(), uniform(10).iter().map(|x| x.re.into()).collect()));
    messages.push((
        "in [0, 1]".to_owned(),
        uniform(11).iter().map(|x| Complex64::new(x.re.abs(), x.im.abs())).collect(),
    ));
    messages.push(("constant 1".to_owned(), vec![Complex64::from(1.0); count]));
    messages.push(("constant 0.5 - 0.25i".to_owned(), vec![Complex64::new(0.5, -0.25); count]));
    messages.push(("zero".to_owned(), vec![Complex64::default(); count]));
    messages.push((
        "one slot".to_owned(),
        (0..count).map(|slot| Complex64::from(f64::from(u8::from(slot == 5)))).collect(),
    ));
    let (mut squares, mut rows) = (0.0, 0);
    for (kind, x) in &messages {
        let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[x.len()], options, 8);
        let start = Instant::now();
        let fresh = plan.run(&ev, &ct).expect("bootstrap");
        let seconds = start.elapsed().as_secs_f64();
        let got = decrypt_complex(&sk, &fresh);
        let errors = || got.iter().zip(x).flat_map(|(a, b)| [(a - b).re.abs(), (a - b).im.abs()]);
        let (mean, worst) =
            (-(errors().sum::<f64>() / (2 * x.len()) as f64).log2(), -errors().fold(0.0, f64::max).log2());
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
    let (measured, predicted) =
        ((squares / f64::from(rows)).sqrt(), plan.predicted_error().expect("prediction"));
    println!(
        "{name}: deviation {:.2} bits, predicted {:.2}: {predicted:?}",
        -measured.log2(),
        -predicted.deviation().log2()
    );
    let ratio = measured / predicted.deviation();
    assert!((0.9..1.1).contains(&ratio), "{name}: the deviation is {ratio} times the predicted one");
}

/// A product inside the bootstrap of one polynomial with 64 rows.
#[test]
#[ignore = "full size: make test-full"]
fn products_inside_bootstraps_are_precise() {
    let _alone = alone();
    let params = params("boot_n15_mambo");
    let sk = secret(&params, 15);
    let (rows, columns) = (64, params.slot_count() / 64);
    let weights: Vec<f64> = noise(rows * rows, 16).into_iter().map(|w| w / 16.0).collect();
    for method in [MatrixMethod::Exact, MatrixMethod::Prepared] {
        let matrix = MatrixOptions { method: Some(method), ..MatrixOptions::default() };
        let options = MamboOptions { matrix, ..MamboOptions::default() };
        let plan = Arc::new(
            MamboPlan::new(&params, Matrix::new(rows, rows, &weights), columns, &options).expect("plan"),
        );
        println!("{}", plan.explain().expect("explanation"));
        let ev = Evaluator::with_keys(sk.evaluation_keys(&plan.needs().expect("needs")).expect("keys"));
        let x = complex(rows * columns, 17);
        let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &plan.array_shapes().0, plan.encryption(), 18);
        let matrix = plan.prepare(&ev).expect("keys");
        let start = Instant::now();
        let fresh = matrix.multiply(&ev, &ct).expect("product");
        let seconds = start.elapsed().as_secs_f64();
        let entry = |row: usize, column: usize| {
            (0..rows).map(|k| x[k * columns + column] * weights[row * rows + k]).sum::<Complex64>()
        };
        let expected: Vec<Complex64> =
            (0..rows * columns).map(|place| entry(place / columns, place % columns)).collect();
        let measured = complex_deviation(&decrypt_complex(&sk, &fresh), &expected);
        let predicted = plan.predicted_error().expect("prediction");
        println!(
            "{method}: {seconds:.2} s, {:.2} bits, predicted {:.2}",
            -measured.log2(),
            -predicted.log2()
        );
        // Smaller numbers than the predicted ones bend the sine less.
        assert!((0.6..1.1).contains(&(measured / predicted)), "{method}: {}", measured / predicted);
    }
}
