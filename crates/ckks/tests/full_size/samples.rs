//! Samples to slots at 128 bits of security, with as many numbers as a ring holds.

use crate::alone;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::keys::Values;
use clathrate_ckks::light::LightOptions;
use clathrate_ckks::{Ciphertext, Evaluator, SecretKey, SecretName};

const PRESET: &str = "boot_n15";

fn parts(values: Values) -> Vec<f64> {
    match values {
        Values::Real(numbers) => numbers,
        Values::Complex(numbers) => numbers.into_iter().flat_map(|z| [z.re, z.im]).collect(),
    }
}

fn samples_of(sk: &SecretKey, options: &LightOptions, data: &[f64]) -> Ciphertext {
    let mut client = sk.light_client(options).expect("a client");
    let receiver = receiver_of(sk, &client);
    receiver.receive(&[&client.encrypt(data).expect("a message")], None).expect("samples")
}

/// The measured over the predicted error of all numbers.
fn ratio(sk: &SecretKey, fresh: &Ciphertext, data: &[f64], predicted: f64) -> f64 {
    let read = parts(sk.decrypt(fresh).expect("numbers"));
    let measured = deviation(&read[..data.len()], data);
    println!("{} numbers: {:.2} bits, predicted {:.2}", data.len(), -measured.log2(), -predicted.log2());
    measured / predicted
}

#[test]
#[ignore = "full size: make test-full"]
fn full_rings_of_samples_come_to_slots_with_the_predicted_error() {
    let _alone = alone();
    let params = params(PRESET);
    let sk = secret(&params, 41);
    let count = params.degree();
    for degree in [1, 64] {
        let options = SamplesOptions {
            count: Some(count),
            degree,
            pairs: true,
            secret: SecretName::Device(1),
            ..SamplesOptions::default()
        };
        let plan = SamplesPlan::new(&params, &options).expect("a plan");
        assert!(
            params.security_bits() >= 128.0 && plan.samples().security_bits() >= 128.0,
            "{} bits",
            plan.samples().security_bits()
        );
        assert!(plan.half_bootstrap().log2_failure() <= -128.0 && plan.samples().shape().dimension() < count);
        let data = noise(count, 3 + degree as u64);
        // As precise as the encryption, so that the prediction is of everything.
        let samples = samples_of(&sk, &plan.client_options(Some(plan.scale().log2())), &data);
        let ev: Evaluator = evaluator(&sk, plan.needs());
        let packed = plan.pack(&ev, &samples).expect("packed");
        let own = ratio(&sk, &packed, &data, plan.packing().error);
        assert!((0.9..1.1).contains(&own), "packing, degree {degree}: {own}");
        let fresh = plan.raise(&ev, &packed, count).expect("in slots");
        let all = ratio(&sk, &fresh, &data, plan.predicted_error());
        assert!((0.85..1.15).contains(&all), "degree {degree}: {all}");
    }
}

#[test]
#[ignore = "full size: make test-full"]
fn samples_of_many_devices_come_together_at_a_secure_set() {
    let _alone = alone();
    let params = params(PRESET);
    let sk = secret(&params, 42);
    let secrets: Vec<SecretName> = (1..=8).map(SecretName::Device).collect();
    let plan = SamplesPlan::new(
        &params,
        &SamplesOptions { count: Some(800), secret: secrets[0], ..SamplesOptions::default() },
    )
    .expect("a plan");
    let ev = evaluator(&sk, &plan.needs_of(&secrets).expect("needs"));
    let (mut arrays, mut data) = (Vec::new(), Vec::new());
    for (number, &secret) in secrets.iter().enumerate() {
        let own = noise(100, 50 + number as u64);
        let options = LightOptions { secret, ..plan.client_options(Some(plan.scale().log2())) };
        arrays.push(samples_of(&sk, &options, &own));
        data.extend(own);
    }
    let fresh = plan.run_on(&ev, &arrays.iter().collect::<Vec<_>>()).expect("in slots");
    let packing = plan.packing().error;
    let predicted = (plan.predicted_error().powi(2) + 7.0 * packing * packing).sqrt();
    let all = ratio(&sk, &fresh, &data, predicted);
    assert!((0.7..1.2).contains(&all), "{all}");
}
