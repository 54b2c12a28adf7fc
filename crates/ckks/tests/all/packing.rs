//! Packing samples into ciphertexts by every method: numbers arrive within the predicted noise and in the
//! layout of the row method, plans choose within limits, keys have names and files, what does not fit is
//! refused.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::packing_plan::{PackingCost, PackingMethod, PackingOptions, PackingPlan};
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::{CkksError, Encoding, EvaluationKeys, Evaluator, KeyNeeds, ModuleShape, Order, Params};
use clathrate_lattice::Level;

fn coefficients() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() }
}

/// Keys of the steps, stated for the shape of rank 1.
fn needs(params: &Params, midpoints: &[usize], from: usize) -> KeyNeeds {
    let rlwe = params.rlwe_shape();
    let samples = params.relative(ModuleShape { degree: from, rank: rlwe.degree / from }).expect("samples");
    let steps = samples.packing_steps(midpoints).expect("steps");
    steps.iter().fold(KeyNeeds::new(), |needs, step| {
        needs.operation(pack_step(step.degree() * step.rank(), step.degree(), step.target()), KeyLevel::Top)
    })
}

/// The root mean square error of `count` numbers packed from samples of degree `from`, in units of the scaled
/// coefficients, over what is predicted.
fn measured_over_predicted(params: &Params, from: usize, midpoints: &[usize], count: usize) -> f64 {
    let sk = secret(params, 7);
    let needs = needs(params, midpoints, from);
    let ev = evaluator(&sk, &needs);
    let (mut sum, mut numbers) = (0.0, 0);
    let rows = 512usize.div_ceil(count).max(2);
    for row in 0..rows as u64 {
        let data = noise(count, row);
        let x = encrypt_as(&sk, &Values::Real(data), &[count], coefficients(), row as u8);
        let low = ev.to_mlwe(&x, params.degree() / from).expect("samples");
        let packed = ev.pack(&low, midpoints).expect("packed");
        assert_eq!(
            (packed.params(), packed.level(), packed.scale(), packed.shape()),
            (params, x.level(), x.scale(), &[count][..])
        );
        let (before, after) = (decrypt(&sk, &x), decrypt(&sk, &packed));
        sum += before.iter().zip(&after).map(|(a, b)| ((a - b) * x.scale()).powi(2)).sum::<f64>();
        numbers += count;
    }
    let top = params.max_level();
    let step = |(operation, _)| {
        params.operation_variance(operation, top).expect("variance") + params.noise_model().rounding()
    };
    let predicted: f64 = needs.operations().map(step).sum();
    println!(
        "from degree {from}, midpoints {midpoints:?}, {count} numbers: variance {:.2}, predicted {predicted:.2}",
        sum / numbers as f64
    );
    (sum / numbers as f64 / predicted).sqrt()
}

#[test]
fn numbers_arrive_within_the_predicted_noise_by_every_method() {
    let params = params("insecure_tiny");
    assert_eq!((params.degree(), params.rank()), (64, 1));
    for (from, midpoints) in [
        (1, &[][..]),
        (1, &[8]),
        (1, &[32]),
        (1, &[16, 4]),
        (1, &[32, 16, 8, 4, 2]),
        (2, &[]),
        (4, &[4]),
        (16, &[2]),
        (32, &[]),
    ] {
        for count in [64, 1, 37] {
            let ratio = measured_over_predicted(&params, from, midpoints, count);
            // Few numbers leave inputs zero, which add no noise; predictions count them all.
            let least = if count == 64 { 0.7 } else { 0.2 };
            assert!(
                (least..1.1).contains(&ratio),
                "from {from}, midpoints {midpoints:?}, {count} numbers: {ratio}"
            );
        }
    }
}

/// Secure parameters, as many samples as the ring has coefficients.
#[test]
#[ignore = "full size: make test-full"]
fn full_rings_are_packed_within_the_predicted_noise() {
    for name in ["pack_n12", "paper_hermes_n12"] {
        let params = params(name);
        assert!(params.security_bits() >= 128.0, "{name}: {}", params.security_bits());
        for midpoints in [&[][..], &[64], &[256, 16]] {
            let ratio = measured_over_predicted(&params, 1, midpoints, params.degree());
            assert!((0.8..1.1).contains(&ratio), "{name}, midpoints {midpoints:?}: {ratio}");
        }
    }
}

#[test]
fn the_layout_is_that_of_the_row_method() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 8);
    let lwe = params.relative(ModuleShape { degree: 1, rank: 64 }).expect("degree 1");
    let ev = evaluator(
        &sk,
        &lwe.rlwe_needs(KeyLevel::Top).merge(&needs(&params, &[8], 1)).merge(
            &lwe.rlwe_needs(KeyLevel::Top)
                .relatives()
                .fold(KeyNeeds::new(), |all, (_, needs)| all.merge(needs)),
        ),
    );
    for order in [Order::Natural, Order::BitReversed] {
        for (shape, data) in [
            (vec![5], Values::Real(noise(5, 1))),
            (vec![64], Values::Real(noise(64, 2))),
            (vec![150], Values::Real(noise(150, 3))),
            (vec![3, 70], Values::Real(noise(210, 4))),
            (vec![2, 9], Values::Complex(phases(18, 5))),
            (vec![40], Values::Complex(phases(40, 6))),
        ] {
            let x = encrypt_as(&sk, &data, &shape, EncryptOptions { order, ..coefficients() }, 9);
            let low = ev.to_lwe(&x).expect("samples");
            let (rows, packed) = (ev.to_rlwe(&low).expect("rows"), ev.pack(&low, &[8]).expect("packed"));
            assert_eq!(
                (packed.layout(), packed.shape(), packed.params()),
                (rows.layout(), rows.shape(), rows.params()),
                "{shape:?}"
            );
            let error = complex_deviation(&decrypt_complex(&sk, &packed), &decrypt_complex(&sk, &x));
            assert!(error < 1e-7, "{shape:?}: {error:e}");
        }
    }
    // Slots stay slots.
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let x = encrypt_as(&sk, &Values::Complex(complex(4, 1)), &[4], options, 10);
    let ev = evaluator(&sk, &needs(&params, &[2], 16));
    let packed = ev.pack(&ev.to_mlwe(&x, 4).expect("degree 16"), &[2]).expect("packed");
    assert!(complex_deviation(&decrypt_complex(&sk, &packed), &decrypt_complex(&sk, &x)) < 1e-7);
}

#[test]
fn plans_choose_by_time_within_a_limit_on_keys_and_their_keys_suffice() {
    let params = params("insecure_small");
    let sk = secret(&params, 11);
    let free = PackingPlan::new(&params, &PackingOptions::default()).expect("plan");
    assert_eq!((free.count(), free.level()), (params.degree(), params.max_level()));
    let fastest =
        free.others().iter().chain([free.chosen()]).map(|cost| cost.price).fold(f64::INFINITY, f64::min);
    assert!(free.chosen().price <= 1.1 * fastest);
    let text = free.explain();
    assert!(
        text.contains("rows")
            && text.contains("milliseconds")
            && text.lines().any(|line| line.starts_with('*')),
        "{text}"
    );
    let least =
        free.others().iter().chain([free.chosen()]).min_by_key(|cost| cost.key_bytes).expect("methods");
    assert_eq!(least.method, PackingMethod::Rows, "the row method has the fewest bytes of keys");
    let column = free
        .others()
        .iter()
        .chain([free.chosen()])
        .find(|cost| cost.method == PackingMethod::Midpoints(Vec::new()));
    let middle = column.expect("the column method").key_bytes / 4;
    for (most, level) in
        [(None, None), (Some(middle), None), (Some(least.key_bytes), None), (None, Some(Level(1)))]
    {
        let options =
            PackingOptions { count: Some(40), level, most_key_bytes: most, ..PackingOptions::default() };
        let plan = PackingPlan::new(&params, &options).expect("plan");
        assert!(most.is_none_or(|most| plan.chosen().key_bytes <= most));
        let keys = sk.evaluation_keys(plan.needs()).expect("keys");
        assert_eq!(keys.bytes(), plan.chosen().key_bytes, "{}", plan.chosen().method);
        // Keys come back from their file.
        let bytes = keys.to_file_bytes().expect("file");
        let keys = EvaluationKeys::from_reader(&FileReader::from_bytes(&bytes).expect("file"), &params)
            .expect("keys");
        let ev = Evaluator::with_keys(keys);
        let data = noise(40, 12);
        let x = encrypt_as(
            &sk,
            &Values::Real(data.clone()),
            &[40],
            EncryptOptions { level: Some(plan.level()), ..coefficients() },
            13,
        );
        let packed = plan.run(&ev, &ev.to_lwe(&x).expect("samples")).expect("packed");
        let got = decrypt(&sk, &packed);
        let error = deviation(&got, &data);
        assert!(
            error < plan.chosen().error,
            "{}: {error:e}, at most {:e}",
            plan.chosen().method,
            plan.chosen().error
        );
        assert!(
            error > 0.1 * plan.chosen().error,
            "{}: {error:e}, not far below {:e}",
            plan.chosen().method,
            plan.chosen().error
        );
    }
    // Many numbers are priced by full ciphertexts; none are refused.
    let many = PackingOptions { count: Some(usize::MAX), ..PackingOptions::default() };
    let times =
        PackingPlan::new(&params, &many).expect("plan").chosen().nanoseconds / free.chosen().nanoseconds;
    assert!((times / (usize::MAX / params.degree()) as f64 - 1.0).abs() < 1e-3, "{times}");
    let none = PackingPlan::new(&params, &PackingOptions { count: Some(0), ..PackingOptions::default() });
    assert_refused!(none, CkksError::OutOfRange { .. }, "one number or more");
    // Of methods that take nearly the same time, the one with the smallest keys.
    let near = |cost: &&PackingCost| cost.price <= 1.1 * fastest && cost.key_bytes < free.chosen().key_bytes;
    assert!(!free.others().iter().any(|cost| near(&cost)));
    let refused = PackingPlan::new(
        &params,
        &PackingOptions { most_key_bytes: Some(1000), ..PackingOptions::default() },
    );
    assert_refused!(refused, CkksError::OutOfRange { .. }, &format!("at least {}", least.key_bytes));
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 14);
    let ev = evaluator(&sk, &needs(&params, &[8], 1));
    let x = encrypt_as(&sk, &Values::Real(noise(5, 1)), &[5], coefficients(), 15);
    let low = ev.to_lwe(&x).expect("samples");
    assert_refused!(ev.pack(&x, &[]), CkksError::Unsuitable { .. }, "result of packing");
    for midpoints in [&[0][..], &[1], &[3], &[64], &[128], &[8, 8], &[4, 8], &[usize::MAX]] {
        assert_refused!(
            ev.pack(&low, midpoints),
            CkksError::OutOfRange { .. },
            "falling powers of two from 32 to 2"
        );
    }
    // The error names the step whose key is missing.
    assert_refused!(
        ev.pack(&low, &[]),
        CkksError::MissingKey { .. },
        "pack samples of degree and rank 1x64 to degree 64",
        "pack 1x64 8"
    );
    assert_refused!(ev.pack(&low, &[8, 2]), CkksError::MissingKey { .. }, "8x8 to degree 32");
    let two = encrypt_as(
        &sk,
        &Values::Real(noise(6, 1)),
        &[2, 3],
        EncryptOptions { bodies: Some(2), ..coefficients() },
        16,
    );
    assert_refused!(
        ev.pack(&ev.to_lwe(&two).expect("samples"), &[8]),
        CkksError::WrongSecret { .. },
        "has no keys under the secret",
        "split_mask"
    );
    let other =
        PackingPlan::new(&params, &PackingOptions { degree: 4, ..PackingOptions::default() }).expect("plan");
    assert_refused!(other.run(&ev, &low), CkksError::Unsuitable { .. }, "samples of shape 4x16, not 1x64");
    // An odd part of the rank remains, by the row method.
    let odd =
        PackingPlan::new(&crate::common::params("insecure_rank3"), &PackingOptions::default()).expect("plan");
    assert_eq!((odd.chosen().method.clone(), odd.others().len()), (PackingMethod::Rows, 0));
    for degree in [0, 3, 128] {
        assert!(
            PackingPlan::new(&params, &PackingOptions { degree, ..PackingOptions::default() }).is_err(),
            "{degree}"
        );
    }
    for (from, to) in [(0, 8), (8, 8), (8, 4), (3, 8), (1, 128), (64, 64)] {
        let needs = KeyNeeds::new().operation(pack_step(64, from, to), KeyLevel::Top);
        assert!(sk.evaluation_keys(&needs).is_err(), "{from} to {to}");
    }
    let ranked = crate::common::params("insecure_rank2");
    let needs = KeyNeeds::new().operation(pack_step(64, 1, 8), KeyLevel::Top);
    assert_refused!(secret(&ranked, 1).evaluation_keys(&needs), CkksError::Unsuitable { .. }, "rank 1");
}
