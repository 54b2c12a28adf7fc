//! Bootstraps at small degrees: parameters, one bootstrap, the deviation of several.
#![allow(dead_code)]

use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Complex64, Encoding, Params, SecretKey};

use super::measure::*;
use super::*;

/// A chain of the shape of the full-size ones.
pub fn small() -> Params {
    params("insecure_boot")
}

pub fn bootstrapped(
    params: &Params,
    sk: &SecretKey,
    options: BootstrapOptions,
    x: &Values,
    shape: &[usize],
) -> (Vec<Complex64>, BootstrapPlan) {
    let plan = BootstrapPlan::with_options(params, options).expect("plan");
    let ev = evaluator(sk, &plan.needs().expect("needs"));
    let (level, capacity, encoding) = (Some(plan.input_level()), Some(plan.slots()), Some(Encoding::Slots));
    let own = EncryptOptions { level, capacity, encoding, ..EncryptOptions::default() };
    let ct = encrypt_as(sk, x, shape, own, 5);
    let fresh = plan.run(&ev, &ct).expect("bootstrap");
    assert_eq!(
        (fresh.level(), fresh.shape(), fresh.scale()),
        (plan.output_level(), shape, params.scale(plan.output_level()))
    );
    (decrypt_complex(sk, &fresh), plan)
}

/// The root mean square of the real and imaginary parts of the errors of `rounds` bootstraps, over the
/// predicted one.
pub fn measured_over_predicted(params: &Params, options: BootstrapOptions, rounds: u8) -> f64 {
    let sk = secret(params, 21);
    let plan = BootstrapPlan::with_options(params, options).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let own = EncryptOptions {
        level: Some(plan.input_level()),
        capacity: Some(plan.slots()),
        ..EncryptOptions::default()
    };
    let (mut sum, mut count) = (0.0, 0.0);
    for round in 0..rounds {
        let x = complex(plan.slots(), 30 + u64::from(round));
        let x: Vec<Complex64> = if plan.is_real() { x.iter().map(|x| x.re.into()).collect() } else { x };
        let values = if plan.is_real() {
            Values::Real(x.iter().map(|x| x.re).collect())
        } else {
            Values::Complex(x.clone())
        };
        let ct = encrypt_as(&sk, &values, &[plan.slots()], own, round);
        let before = decrypt_complex(&sk, &ct);
        let after = decrypt_complex(&sk, &plan.run(&ev, &ct).expect("bootstrap"));
        for (before, after) in before.iter().zip(&after) {
            sum += (before - after).norm_sqr();
            count += if plan.is_real() { 1.0 } else { 2.0 };
        }
    }
    let (measured, predicted) = ((sum / count).sqrt(), plan.predicted_error().expect("prediction"));
    println!(
        "{} slots: {:.2} bits, predicted {:.2}: {predicted:?}",
        plan.slots(),
        -measured.log2(),
        -predicted.deviation().log2()
    );
    measured / predicted.deviation()
}

/// The small chain with an application segment at 2^58, which holds more bits than one round leaves.
pub fn wide() -> Params {
    let mut spec = super::to_change(&small());
    spec.name = "wide".to_owned();
    (1..4).for_each(|level| spec.steps[level] = vec![38.0]);
    (4..7).for_each(|level| spec.steps[level] = vec![29.0, 29.0]);
    spec.steps[7] = vec![46.2];
    spec.segments[1].log2_scale = 58.0;
    Params::new(spec, &base_runtime()).expect("parameters")
}
