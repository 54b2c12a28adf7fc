//! Samples of a small dimension become slots at a high level: every count, order and degree of samples, with
//! the error that the plan says.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::circuits::transcipher::PreparedSamples;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{KeyLevel, KeyName, Operation, Switch, Values};
use clathrate_ckks::outside::{OutsideModulus, OutsideSamples, Phase};
use clathrate_ckks::parameters::KeyModulus;
use clathrate_ckks::{
    Ciphertext, CkksError, EvaluationKeys, Evaluator, KeyNeeds, ModuleShape, Params, SecretKey, SecretName,
    SecretRng,
};
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::{Level, SecretDistribution};

/// The plan, and samples of `data` that a light client sent.
fn sent(
    params: &Params,
    sk: &SecretKey,
    options: &SamplesOptions,
    data: &[f64],
) -> (SamplesPlan, Ciphertext) {
    let plan = SamplesPlan::new(params, options).expect("a plan");
    let mut client = sk.light_client(&plan.client_options(None)).expect("a client");
    let receiver = receiver_of(sk, &client);
    let message = client.encrypt(data).expect("a message");
    let samples = receiver.receive(&[&message], None).expect("samples");
    (plan, samples)
}

fn parts(values: Values) -> Vec<f64> {
    match values {
        Values::Real(numbers) => numbers,
        Values::Complex(numbers) => numbers.into_iter().flat_map(|z| [z.re, z.im]).collect(),
    }
}

#[test]
fn numbers_of_samples_arrive_in_slots_in_their_order() {
    let params = params("insecure_boot");
    let main = SecretName::Main;
    let cases = [
        (1, 1, false, main, None),
        (37, 1, false, SecretName::Device(3), None),
        (512, 1, false, main, Some(vec![16])),
        (513, 1, false, main, None),
        (1024, 1, false, SecretName::Device(3), Some(vec![64, 4])),
        (1500, 1, false, main, Some(Vec::new())),
        (2, 1, true, main, None),
        (1023, 1, true, main, None),
        (1024, 16, true, SecretName::Device(9), None),
        (96, 32, true, main, None),
        (2048 + 64, 64, true, main, None),
    ];
    arrive(&params, &cases);
}

/// On such a chain a bootstrap of real numbers reduces both halves of the coefficients; from samples one half
/// is enough.
#[test]
fn a_chain_that_puts_slots_to_coefficients_last_serves_as_well() {
    let params = params("insecure_boot_last");
    let device = SecretName::Device(1);
    arrive(
        &params,
        &[(4, 1, false, device, None), (1500, 1, false, device, None), (64, 16, true, device, None)],
    );
}

type Case = (usize, usize, bool, SecretName, Option<Vec<usize>>);

fn arrive(params: &Params, cases: &[Case]) {
    let sk = secret(params, 5);
    // At the degree of the bootstrap, in a smaller ring first, and what the plan prefers.
    let rings = [Some(params.degree()), Some(256), None];
    let all = cases.iter().flat_map(|case| rings.map(|ring| (case.clone(), ring)));
    for ((count, degree, pairs, secret, midpoints), ring) in all {
        let options = SamplesOptions {
            count: Some(count),
            degree,
            pairs,
            secret,
            midpoints,
            ring,
            ..SamplesOptions::default()
        };
        let data = noise(count, 7);
        let (plan, samples) = sent(params, &sk, &options, &data);
        if let Some(degree) = ring {
            assert_eq!(plan.packing().ring.unwrap_or(params.degree()), degree);
        }
        assert!(samples.params().shape().dimension() < params.degree());
        let ev = evaluator(&sk, plan.needs());
        let fresh = plan.run(&ev, &samples).expect("in slots");
        assert_eq!(fresh.shape(), [if pairs { count.div_ceil(2) } else { count }]);
        assert_eq!((fresh.level(), fresh.secret()), (plan.half_bootstrap().output_level(), SecretName::Main));
        let mut read = parts(sk.decrypt(&fresh).expect("numbers"));
        read.truncate(count);
        let measured = deviation(&read, &data);
        let predicted = plan.predicted_error();
        // What many numbers have is predicted; few scatter.
        let (least, most) = if count > 500 { (0.9, 1.1) } else { (0.0, 1.0 + 3.0 / (count as f64).sqrt()) };
        let ratio = measured / predicted;
        assert!(
            (least..most).contains(&ratio),
            "{count}, {degree}, {pairs}: {ratio} of 2^{}",
            predicted.log2()
        );
    }
}

#[test]
fn what_a_plan_is_not_for_is_refused() {
    let params = params("insecure_boot");
    let sk = secret(&params, 5);
    let (plan, samples) =
        sent(&params, &sk, &SamplesOptions { count: Some(4), ..SamplesOptions::default() }, &noise(4, 1));
    let ev = evaluator(&sk, plan.needs());
    let other = SamplesPlan::new(
        &params,
        &SamplesOptions { count: Some(4), secret: SecretName::Device(1), ..SamplesOptions::default() },
    );
    assert_refused!(
        other.expect("a plan").run(&ev, &samples),
        CkksError::Unsuitable { .. },
        "device:1",
        "main"
    );
    for (options, part) in [
        (SamplesOptions { count: Some(0), ..SamplesOptions::default() }, "count of numbers"),
        (SamplesOptions { degree: 1024, pairs: true, ..SamplesOptions::default() }, "below 1024"),
        (
            SamplesOptions { secret: SecretName::Outside(1), ..SamplesOptions::default() },
            "length of the secret",
        ),
        (SamplesOptions { degree: 3, ..SamplesOptions::default() }, "power of two"),
        (SamplesOptions { degree: 16, ..SamplesOptions::default() }, "pairs"),
        (SamplesOptions { dimension: Some(2048), ..SamplesOptions::default() }, "up to 1024"),
        (SamplesOptions { dimension: Some(8), ..SamplesOptions::default() }, "larger dimension"),
        (SamplesOptions { midpoints: Some(vec![3]), ..SamplesOptions::default() }, "falling powers of two"),
        (
            SamplesOptions { midpoints: Some(vec![3]), ring: Some(256), ..SamplesOptions::default() },
            "from 128 to 2",
        ),
        (SamplesOptions { ring: Some(32), ..SamplesOptions::default() }, "one of 128, 256, 512, 1024"),
        (SamplesOptions { ring: Some(2048), ..SamplesOptions::default() }, "one of 128, 256, 512, 1024"),
        (SamplesOptions { secret: SecretName::Ephemeral, ..SamplesOptions::default() }, "a device's"),
        (SamplesOptions { most_key_bytes: Some(1000), ..SamplesOptions::default() }, "bytes"),
    ] {
        let error = SamplesPlan::new(&params, &options).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// What another library would send: samples of a binary secret of any dimension, modulo any number.
fn foreign(secret: &[i8], modulus: OutsideModulus, (scale, deviation): (f64, f64), data: &[f64]) -> Vec<u64> {
    let q = match modulus {
        OutsideModulus::PowerOfTwo(bits) => 1u128 << bits,
        OutsideModulus::Number(number) => u128::from(number),
    };
    let mut rng = SecretRng::from_seed([9; 32]);
    let mut words = Vec::new();
    for &number in data {
        let mut bytes = vec![0u8; 16 * secret.len()];
        rng.fill_bytes(&mut bytes);
        let mask: Vec<u64> = bytes
            .chunks_exact(16)
            .map(|chunk| (u128::from_le_bytes(chunk.try_into().expect("16 bytes")) % q) as u64)
            .collect();
        let mut error = [0i64];
        rng.gaussian(&mut error);
        let message = (number * scale).round() as i128 + (error[0] as f64 / 3.2 * deviation).round() as i128;
        let product = mask
            .iter()
            .zip(secret)
            .filter(|(_, bit)| **bit == 1)
            .fold(0u128, |sum, (&word, _)| (sum + u128::from(word)) % q);
        words.extend(&mask);
        words.push(((product as i128 + message).rem_euclid(q as i128)) as u64);
    }
    words
}

#[test]
fn samples_of_another_library_are_taken_in_whatever_their_dimension_and_modulus() {
    let params = params("insecure_boot");
    let mut bytes = [0u8; 700];
    SecretRng::from_seed([4; 32]).fill_bytes(&mut bytes);
    let cases = [
        (630, OutsideModulus::PowerOfTwo(64)),
        (128, OutsideModulus::Number(0x7fff_ffff_ffff_ffe7)),
        (700, OutsideModulus::PowerOfTwo(48)),
        (1, OutsideModulus::Number(u64::MAX)),
    ];
    for (dimension, modulus) in cases {
        let bits: Vec<i8> = bytes[..dimension].iter().map(|byte| (byte & 1) as i8).collect();
        let sk = secret(&params, 5).with_outside_secret(7, &bits).expect("a secret");
        let options = SamplesOptions {
            count: Some(40),
            dimension: Some(dimension.next_power_of_two()),
            secret: SecretName::Outside(7),
            // In a smaller ring where the dimension leaves one.
            ring: (dimension <= 256).then_some(256),
            ..SamplesOptions::default()
        };
        let plan = SamplesPlan::new(&params, &options).expect("a plan");
        let scale = params.outside_scale(plan.scale(), modulus).expect("a scale");
        let data = noise(40, 2);
        let words = foreign(&bits, modulus, (scale, scale * 1e-9), &data);
        let samples =
            OutsideSamples { words: &words, dimension, modulus, phase: Phase::Difference, scale, secret: 7 };
        let samples = params.outside_samples(sk.id(), &samples).expect("samples");
        let rounding = ((dimension as f64 / 2.0 + 1.0) / 12.0).sqrt() / plan.scale();
        let read = sk.decrypt(&samples).expect("numbers").into_real().expect("real");
        let measured = deviation(&read, &data);
        assert!(
            (0.5 * rounding..1.6 * (rounding + 1e-9)).contains(&measured),
            "{dimension}: {measured:e}, {rounding:e}"
        );
        let ev = evaluator(&sk, plan.needs());
        let fresh = plan.run(&ev, &samples).expect("in slots");
        assert!(
            deviation(&parts(sk.decrypt(&fresh).expect("numbers")), &data) < 1.5 * plan.predicted_error()
        );
        // Without the other secret the owner cannot make the keys.
        assert_refused!(
            secret(&params, 5).evaluation_keys(plan.needs()),
            CkksError::WrongSecret { .. },
            "secret of another library",
            "number 7"
        );
    }
}

#[test]
fn what_is_prepared_before_the_messages_gives_the_same_result() {
    let params = params("insecure_boot");
    let sk = secret(&params, 5);
    for (degree, count, ring) in [(1, 600, Some(1024)), (1, 600, Some(128)), (16, 512, Some(256))] {
        let (pairs, secret) = (degree > 1, SecretName::Device(2));
        let options =
            SamplesOptions { count: Some(count), degree, pairs, secret, ring, ..SamplesOptions::default() };
        let plan = SamplesPlan::new(&params, &options).expect("a plan");
        let mut client = sk.light_client(&plan.client_options(Some(25.0))).expect("a client");
        let receiver = receiver_of(&sk, &client);
        let ev = evaluator(&sk, plan.needs());
        let samples = (count / degree) as u64;
        let prepare = || plan.prepare(&ev, &receiver, 0..samples).expect("masks");
        client.precompute(5).expect("memory");
        let data = noise(count, 3);
        let mut messages: Vec<Vec<u8>> =
            data.chunks(2 * degree).map(|numbers| client.encrypt(numbers).expect("a message")).collect();
        assert_eq!((client.precomputed(), client.next_counter()), (0, samples));
        let slices = |messages: &[Vec<u8>]| -> Vec<Vec<u8>> { messages.to_vec() };
        let whole = slices(&messages);
        let whole: Vec<&[u8]> = whole.iter().map(Vec::as_slice).collect();
        let expected = plan.run(&ev, &receiver.receive(&whole, None).expect("samples")).expect("in slots");
        // Messages in another order.
        messages.reverse();
        let turned: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        // Masks in a file serve once.
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("masks.clt");
        prepare().save(&path).expect("a file");
        let mut masks = PreparedSamples::take(&path, &params).expect("masks");
        assert_refused!(
            PreparedSamples::take(&path, &params),
            CkksError::OutOfRange { .. },
            "has been taken",
            "masks.clt.used"
        );
        prepare().save(&path).expect("a file");
        assert_refused!(
            PreparedSamples::take(&path, &params),
            CkksError::OutOfRange { .. },
            "has been taken"
        );
        assert!(path.exists(), "what is refused stays");
        assert_refused!(
            plan.run_prepared(&ev, &mut masks, &receiver, &turned[1..]),
            CkksError::OutOfRange { .. },
            "no message has it"
        );
        let fresh = plan.run_prepared(&ev, &mut masks, &receiver, &turned).expect("in slots");
        assert!(masks.is_used());
        assert!(masks.save(folder.path().join("served.clt")).is_err());
        assert_refused!(
            plan.run_prepared(&ev, &mut masks, &receiver, &turned),
            CkksError::OutOfRange { .. },
            "next counters"
        );
        assert_eq!(fresh.bundles(), expected.bundles(), "the same to the last bit");
        assert!(deviation(&parts(sk.decrypt(&fresh).expect("numbers"))[..count], &data) < 1e-5);

        let double: Vec<&[u8]> = turned.iter().chain(&turned[..1]).copied().collect();
        assert_refused!(
            plan.run_prepared(&ev, &mut prepare(), &receiver, &double),
            CkksError::OutOfRange { .. },
            "two messages"
        );
        let beyond = client.encrypt(&data[..degree]).expect("a message");
        let beyond: Vec<&[u8]> = turned.iter().copied().chain([beyond.as_slice()]).collect();
        assert_refused!(
            plan.run_prepared(&ev, &mut prepare(), &receiver, &beyond),
            CkksError::OutOfRange { .. },
            "are for the counters 0 to"
        );
        let other = receiver_of(&sk, &sk.light_client(&plan.client_options(None)).expect("a client"));
        assert_refused!(
            plan.run_prepared(&ev, &mut prepare(), &other, &turned),
            CkksError::OutOfRange { .. },
            "another client"
        );
    }
}

/// Packing alone, and the whole without it, against their closed forms.
#[test]
fn each_stage_has_the_error_that_the_plan_says() {
    let params = params("insecure_boot");
    let sk = secret(&params, 6);
    for (degree, midpoints, ring, secret) in [
        (1, Some(Vec::new()), Some(1024), SecretName::Main),
        (1, Some(Vec::new()), Some(512), SecretName::Main),
        (1, Some(vec![16]), Some(1024), SecretName::Device(2)),
        (1, Some(vec![16]), Some(128), SecretName::Device(2)),
        (1, Some(vec![64, 4]), Some(1024), SecretName::Main),
        (16, None, Some(256), SecretName::Device(2)),
        (16, None, None, SecretName::Device(2)),
    ] {
        let options = SamplesOptions {
            count: Some(1024),
            degree,
            pairs: true,
            secret,
            midpoints,
            ring,
            ..SamplesOptions::default()
        };
        let plan = SamplesPlan::new(&params, &options).expect("a plan");
        // As precise as a client can be: nothing is cut off.
        let mut client =
            sk.light_client(&plan.client_options(Some(plan.scale().log2() + 1.0))).expect("a client");
        let receiver = receiver_of(&sk, &client);
        let ev = evaluator(&sk, plan.needs());
        let (mut packing, mut whole) = (0.0, 0.0);
        const ROUNDS: u64 = 6;
        for round in 0..ROUNDS {
            let data = noise(1024, round);
            let samples =
                receiver.receive(&[&client.encrypt(&data).expect("a message")], None).expect("samples");
            let packed = plan.pack(&ev, &samples).expect("packed");
            assert_eq!(packed.secret(), SecretName::Ephemeral);
            packing += deviation(&parts(sk.decrypt(&packed).expect("numbers")), &data).powi(2);
            let fresh = plan.raise(&ev, &packed, 1024).expect("in slots");
            whole += deviation(&parts(sk.decrypt(&fresh).expect("numbers")), &data).powi(2);
        }
        let (packing, whole) = ((packing / ROUNDS as f64).sqrt(), (whole / ROUNDS as f64).sqrt());
        let (own, all) = (plan.packing().error, plan.predicted_error());
        println!(
            "degree {degree}: packing {:.3} of 2^{:.1}, whole {:.3} of 2^{:.1}",
            packing / own,
            own.log2(),
            whole / all,
            all.log2()
        );
        assert!(
            (0.9..1.1).contains(&(packing / own)),
            "degree {degree}: {} of 2^{}",
            packing / own,
            own.log2()
        );
        assert!((0.9..1.1).contains(&(whole / all)), "degree {degree}: {} of 2^{}", whole / all, all.log2());
    }
}

/// With a range of the modular reduction that is too small for most secrets' samples, as many ciphertexts
/// fail as the plan says.
#[test]
fn as_many_bootstraps_fail_as_the_plan_says() {
    const RUNS: u32 = 60;
    /// Where none fails.
    const FEW: u32 = 6;
    // Two levels less leave one double angle, so that the polynomial is just accurate enough in the range and
    // useless beyond.
    let mut spec = to_change(&params("insecure_boot"));
    spec.steps.drain(8..10);
    spec.segments[2].levels = (7, 12);
    spec.segments[3].levels = (13, 15);
    let degraded = Params::new(spec, &base_runtime()).expect("parameters");
    let failures = |params: &Params, log2_failure: Option<f64>, runs: u32| {
        let sk = secret(params, 8);
        let options =
            SamplesOptions { count: Some(1024), pairs: true, log2_failure, ..SamplesOptions::default() };
        let plan = SamplesPlan::new(params, &options).expect("a plan");
        let mut client = sk.light_client(&plan.client_options(None)).expect("a client");
        let receiver = receiver_of(&sk, &client);
        let ev = evaluator(&sk, plan.needs());
        let data = noise(1024, 3);
        let failed = (0..runs).filter(|_| {
            let samples =
                receiver.receive(&[&client.encrypt(&data).expect("a message")], None).expect("samples");
            let fresh = plan.run(&ev, &samples).expect("in slots");
            let found = parts(sk.decrypt(&fresh).expect("numbers"));
            found.iter().zip(&data).any(|(found, number)| (found - number).abs() > 0.25 || found.is_nan())
        });
        (failed.count() as f64, plan.half_bootstrap().log2_failure())
    };
    let (failed, log2_failure) = failures(&degraded, Some(-0.3), RUNS);
    // The stated one is the expected number of coefficients that fail.
    let probability = 1.0 - (-log2_failure.exp2()).exp();
    let (expected, spread) =
        (f64::from(RUNS) * probability, (f64::from(RUNS) * probability * (1.0 - probability)).sqrt());
    println!("{failed} of {RUNS} failed, expected {expected:.1} +- {spread:.1}, stated 2^{log2_failure:.2}");
    assert!((0.1..0.9).contains(&probability), "not degraded: 2^{log2_failure}");
    assert!((failed - expected).abs() <= 4.0 * spread, "{failed} failed, expected {expected} +- {spread}");
    let (failed, log2_failure) = failures(&params("insecure_boot"), None, FEW);
    assert!(failed == 0.0 && log2_failure <= -128.0, "{failed} failed at 2^{log2_failure}");
}

/// A bootstrap takes numbers up to 1: what is declared to be larger is refused, and what is not is as large
/// as declared.
#[test]
fn declared_bounds_of_samples_hold_or_are_refused() {
    let params = params("insecure_boot");
    let sk = secret(&params, 5);
    let options = SamplesOptions { count: Some(100), ..SamplesOptions::default() };
    let data: Vec<f64> = noise(100, 7).iter().map(|x| 0.5 * x).collect();
    let (plan, samples) = sent(&params, &sk, &options, &data);
    let ev = evaluator(&sk, plan.needs());
    for bound in [0.5, 1.0, 1.0001] {
        let declared = samples.with_bound(Some(bound)).expect("a bound");
        for fresh in [plan.run(&ev, &declared), plan.run_on(&ev, &[&declared])] {
            let fresh = fresh.expect("in slots");
            let found = fresh.bound().expect("a bound");
            assert!((bound..=1.001 * bound).contains(&found), "{found}");
            assert!(deviation(&parts(sk.decrypt(&fresh).expect("numbers"))[..100], &data) < 1e-2);
        }
    }
    for bound in [1.5, 8.0, 1000.0] {
        let declared = samples.with_bound(Some(bound)).expect("a bound");
        for refused in [
            plan.run(&ev, &declared),
            plan.run_on(&ev, &[&declared]),
            plan.run_on(&ev, &[&samples, &declared]),
        ] {
            assert_refused!(refused, CkksError::TooLarge { .. }, "let clients divide", "with_bound");
        }
    }
    assert_eq!(plan.run(&ev, &samples).expect("in slots").bound(), None);
}

#[test]
fn samples_under_several_secrets_become_one_vector() {
    let params = params("insecure_boot");
    let sk = secret(&params, 9);
    let cases = [(1, false, [300, 1, 700]), (1, true, [5, 3, 2]), (16, true, [32, 1008, 64])];
    for ((degree, pairs, counts), ring) in
        cases.into_iter().flat_map(|case| [(case, Some(1024)), (case, Some(256))])
    {
        let secrets = [SecretName::Device(1), SecretName::Main, SecretName::Device(4)];
        let count = Some(counts.iter().sum());
        let options =
            SamplesOptions { count, degree, pairs, secret: secrets[0], ring, ..SamplesOptions::default() };
        let plan = SamplesPlan::new(&params, &options).expect("a plan");
        let ev = evaluator(&sk, &plan.needs_of(&secrets).expect("needs"));
        let (mut arrays, mut data) = (Vec::new(), Vec::new());
        for (&count, secret) in counts.iter().zip(secrets) {
            let options = clathrate_ckks::light::LightOptions { secret, ..plan.client_options(None) };
            let mut client = sk.light_client(&options).expect("a client");
            let receiver = receiver_of(&sk, &client);
            let own = noise(count, 11 + count as u64);
            arrays
                .push(receiver.receive(&[&client.encrypt(&own).expect("a message")], None).expect("samples"));
            data.extend(own);
        }
        let fresh = plan.run_on(&ev, &arrays.iter().collect::<Vec<_>>()).expect("in slots");
        let mut read = parts(sk.decrypt(&fresh).expect("numbers"));
        read.truncate(data.len());
        let own = plan.packing().error;
        let most = (plan.predicted_error().powi(2) + 2.0 * own * own).sqrt();
        // The deviation of a few numbers is uncertain: four standard deviations of it, of many a fifth.
        let excess = (4.0 / (2.0 * data.len() as f64).sqrt()).max(0.2);
        assert!(
            deviation(&read, &data) < (1.0 + excess) * most,
            "{degree}: {:e}, {most:e}",
            deviation(&read, &data)
        );
        // Each number is in one of the arrays.
        let declared: Vec<_> = arrays.iter().map(|x| x.with_bound(Some(1.0)).expect("a bound")).collect();
        let fresh = plan.run_on(&ev, &declared.iter().collect::<Vec<_>>()).expect("in slots");
        assert!(fresh.bound().is_some_and(|bound| (1.0..1.001).contains(&bound)), "{:?}", fresh.bound());
        // The one array alone, of the plan's own secret, as by the shorter call.
        let alone = plan.run(&ev, &arrays[0]).expect("in slots");
        let same = plan.run_on(&ev, &[&arrays[0]]).expect("in slots");
        assert!(alone.bundles() == same.bundles());
        assert_refused!(plan.run(&ev, &arrays[1]), CkksError::Unsuitable { .. }, "make one for those");
        assert_refused!(plan.run_on(&ev, &[]), CkksError::Empty { .. }, "has no terms", "samples");
        assert_refused!(
            plan.needs_of(&[SecretName::Outside(1)]),
            CkksError::OutOfRange { .. },
            "devices alone"
        );
        // Without the keys of the others.
        let few = evaluator(&sk, plan.needs());
        assert!(plan.run_on(&few, &arrays.iter().collect::<Vec<_>>()).is_err());
    }
}

/// A plan in a smaller ring has keys at two shapes: both are stored, asked for, and missed.
#[test]
fn keys_of_a_smaller_ring_are_stored_and_missed_like_others() {
    let params = params("insecure_boot");
    let sk = secret(&params, 4);
    let options = SamplesOptions {
        count: Some(600),
        ring: Some(128),
        secret: SecretName::Device(1),
        ..SamplesOptions::default()
    };
    let data = noise(600, 8);
    let (plan, samples) = sent(&params, &sk, &options, &data);
    let ring = ModuleShape { degree: 128, rank: 1 };
    assert!(plan.needs().relatives().any(|(shape, needs)| shape == ring && !needs.is_empty()));
    let keys = sk.evaluation_keys(plan.needs()).expect("keys");
    assert!(keys.shapes().contains(&ring));
    let bytes = keys.to_file_bytes().expect("a file");
    let reader = FileReader::from_bytes(&bytes).expect("readable");
    let again = EvaluationKeys::from_reader(&reader, &params).expect("the keys");
    let own = plan.run(&Evaluator::with_keys(keys), &samples).expect("in slots");
    plan.check_keys(&again, &[SecretName::Device(1)]).expect("all there");
    let stored = plan.run(&Evaluator::with_keys(again), &samples).expect("in slots");
    assert_eq!(own.bundles(), stored.bundles());
    // Without the ring's own keys nothing begins, and the error names them.
    let without = plan
        .needs()
        .operations()
        .fold(KeyNeeds::new(), |needs, (operation, key_level)| needs.operation(operation, key_level));
    let few = sk.evaluation_keys(&without).expect("keys");
    assert_refused!(
        plan.check_keys(&few, &[SecretName::Device(1)]),
        CkksError::MissingKeys { .. },
        "packing"
    );
    assert_refused!(
        plan.run(&Evaluator::with_keys(few), &samples),
        CkksError::NoRelativeKeys { .. },
        "128x1"
    );
    // A plan that finds its keys goes the way that they are for; where none fits, the error is that of the
    // fastest.
    let free = SamplesOptions { ring: None, ..options.clone() };
    let own = sk.evaluation_keys(plan.needs()).expect("keys");
    let found = SamplesPlan::for_keys(&params, &free, &own, &[SecretName::Device(1)]).expect("a plan");
    assert_eq!(
        (found.packing().ring, &found.packing().method),
        (plan.packing().ring, &plan.packing().method)
    );
    let none = sk.evaluation_keys(&KeyNeeds::new()).expect("keys");
    assert_refused!(
        SamplesPlan::for_keys(&params, &free, &none, &[SecretName::Device(1)]),
        CkksError::MissingKeys { .. },
        "samples"
    );
    // The secret is of that ring alone, uniform, and no part of the main one.
    let at = |shape: ModuleShape| sk.relative(&params.for_samples(shape).expect("a shape")).expect("a part");
    let drawn = at(ring).named(SecretName::Packing).expect("there").into_owned();
    assert_eq!(drawn.distribution(), SecretDistribution::UniformTernary);
    assert_ne!(drawn.all_coefficients(), at(ring).named(SecretName::Main).expect("there").all_coefficients());
    assert_refused!(
        sk.named(SecretName::Packing),
        CkksError::Unsuitable { .. },
        "no ring of packing at 1024x1"
    );
    let wide = KeyNeeds::new().operation(Operation::Multiply, KeyLevel::Level(0));
    assert!(
        sk.evaluation_keys(&KeyNeeds::new().relative(ring, &wide)).is_err(),
        "a ring of packing has no other keys"
    );
}

/// Of the rings at a secure set, the smallest is the first that protects the modulus of its keys.
#[test]
fn rings_of_packing_are_secure() {
    for (name, least) in [("boot_n15", 4096), ("boot_fast", 4096)] {
        let params = params(name);
        let shape = |degree: usize| ModuleShape { degree, rank: 1 };
        let ring_of = |degree: usize| params.for_samples(shape(degree)).expect("a shape");
        for degree in (3..params.degree().ilog2()).map(|log| 1 << log) {
            let relative = ring_of(degree);
            let Ok(ring) = relative.key_switching(KeyModulus::Packing) else {
                assert!(degree < least, "{name}: none at {degree}");
                continue;
            };
            assert!(degree >= least, "{name}: one at {degree}");
            let bits = estimated_bits(
                degree,
                ring.switcher.chain().key_basis(Level(0)).log2(relative.chain().ring()),
                SecretDistribution::UniformTernary,
            );
            assert!(bits >= 128.0 && bits == ring.security_bits, "{name}, {degree}: {bits}");
            // The base step and one prime of about its length.
            let basis = ring.switcher.chain().key_basis(Level(0));
            assert!(
                basis.len() == 2 && (91.0..92.0).contains(&ring.log2_qp),
                "{name}: {} primes, {} bits",
                basis.len(),
                ring.log2_qp
            );
        }
        // What such a ring does not protect is refused where keys are made.
        let from = ModuleShape { degree: 1, rank: 2048 };
        let pack = Operation::Switch(Switch::Pack {
            from,
            to: 2048,
            under: SecretName::Device(1),
            onto: SecretName::Packing,
        });
        let needs =
            KeyNeeds::new().relative(shape(2048), &KeyNeeds::new().operation(pack, KeyLevel::Level(0)));
        assert!(params.required_keys(&needs).is_err(), "{name}: keys at degree 2048");
        assert!(!params.has_keys_over(KeyModulus::Packing), "the whole ring has the ordinary keys");
        // No other way leads under that secret, where there are ordinary keys, too.
        let half = params.relative(shape(params.degree() / 2)).expect("a shape");
        let change =
            KeyName::Switch(Switch::ChangeSecret { from: SecretName::Device(1), to: SecretName::Packing });
        assert_refused!(half.key_definition(change), CkksError::Unsuitable { .. }, "by packing alone");
    }
}
