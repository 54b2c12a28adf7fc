//! Batch bootstrapping: polynomials that share masks in the linear maps. Small degrees are not secure.

use crate::common::bootstraps::*;
use crate::common::measure::*;
use crate::common::*;
use clathrate_arith::{Counts, GaloisElement};
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, KeyName, RaisedMap, Switch, Values};
use clathrate_ckks::{
    BodyAxis, Ciphertext, CkksError, Complex64, Encoding, EvaluationKeys, Evaluator, KeyNeeds, Level,
    SecretName,
};

fn options(bodies: usize, real: bool) -> BootstrapOptions {
    BootstrapOptions { bodies, real, ..BootstrapOptions::default() }
}

#[test]
fn shared_bootstraps_have_the_numbers_for_every_count_of_bodies() {
    let params = small();
    let sk = secret(&params, 3);
    let slots = params.slot_count();
    let cases = [
        (2, 1, true),
        (4, 4, false),
        (5, 3, false),
        (16, 16, true),
        (2, 2, false),
        (3, 4, true),
        (7, 9, true),
        (64, 64, true),
    ];
    for &(bodies, rows, real) in at_least(4, &cases) {
        let x = complex(rows * slots, bodies as u64);
        let values =
            if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let x: Vec<_> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
        let (got, plan) = bootstrapped(&params, &sk, options(bodies, real), &values, &[rows, slots]);
        let (measured, predicted) =
            (complex_deviation(&got, &x), plan.predicted_error().expect("prediction").deviation());
        // Of real numbers the imaginary parts are zero.
        let measured = if real { measured * 2f64.sqrt() } else { measured };
        println!(
            "{bodies} bodies, {rows} rows, real {real}: {:.2} bits, predicted {:.2}",
            -measured.log2(),
            -predicted.log2()
        );
        assert!(
            (0.85..1.15).contains(&(measured / predicted)),
            "{bodies}, {rows}, {real}: {}",
            measured / predicted
        );
        assert!(plan.log2_failure() <= -128.0);
    }
}

/// Where slots-to-coefficients comes last, masks are shared before and behind the modular reduction.
#[test]
fn masks_are_shared_in_both_orders() {
    let params = crate::common::params("insecure_boot_last");
    let sk = secret(&params, 13);
    let slots = params.slot_count();
    for (bodies, rows, real) in [(1, 2, false), (2, 2, false), (3, 5, true), (8, 7, false), (16, 16, true)] {
        let x = complex(rows * slots, bodies as u64);
        let x: Vec<Complex64> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
        let values =
            if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let (got, plan) = bootstrapped(&params, &sk, options(bodies, real), &values, &[rows, slots]);
        let (measured, predicted) =
            (complex_deviation(&got, &x), plan.predicted_error().expect("prediction").deviation());
        let measured = if real { measured * 2f64.sqrt() } else { measured };
        println!(
            "{bodies} bodies, {rows} rows, real {real}: {:.2} bits, predicted {:.2}",
            -measured.log2(),
            -predicted.log2()
        );
        assert!(
            (0.8..1.2).contains(&(measured / predicted)),
            "{bodies}, {rows}, {real}: {}",
            measured / predicted
        );
        assert!(plan.slots_last());
    }
}

fn encrypted(sk: &clathrate_ckks::SecretKey, plan: &BootstrapPlan, x: &[f64], shape: &[usize]) -> Ciphertext {
    let options = EncryptOptions {
        level: Some(plan.input_level()),
        encoding: Some(Encoding::Slots),
        capacity: Some(plan.slots()),
        ..EncryptOptions::default()
    };
    encrypt_as(sk, &Values::Real(x.to_vec()), shape, options, 6)
}

/// Rows of several polynomials, pairs of real polynomials, few slots, two rounds: whatever the shape, the
/// numbers stay where they were.
#[test]
fn arrays_of_every_shape_keep_their_numbers() {
    let params = small();
    let sk = secret(&params, 4);
    let slots = params.slot_count();
    let few = BootstrapOptions { slots: Some(8), transform_slots: Some(8), ..options(2, true) };
    let spread = BootstrapOptions { slots: Some(8), transform_slots: Some(slots), ..options(3, false) };
    for (own, shape) in [
        (options(2, false), vec![5, slots]),
        (options(4, false), vec![3, 2 * slots + 7]),
        (options(4, true), vec![3, slots + 1]),
        (options(3, true), vec![slots - 5]),
        (few, vec![3, 8]),
        (spread, vec![4, 8]),
        (BootstrapOptions { raise_keys: false, ..options(2, false) }, vec![2, slots]),
    ] {
        let plan = BootstrapPlan::with_options(&params, own).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let x = noise(shape.iter().product(), 7);
        let fresh = plan
            .run(&ev, &encrypted(&sk, &plan, &x, &shape))
            .unwrap_or_else(|error| panic!("{own:?}: {error}"));
        assert_eq!(
            (fresh.shape(), fresh.secret(), fresh.level()),
            (&shape[..], SecretName::Main, plan.output_level())
        );
        let error = deviation(&sk.decrypt(&fresh).expect("numbers").into_real().expect("real"), &x);
        assert!(error < 2f64.powi(-16), "{own:?}: {error:e}");
    }
    let wide = wide();
    let sk = secret(&wide, 4);
    // In two rounds, real arrays alone and two by two.
    for real in [true, false] {
        let plan =
            BootstrapPlan::with_options(&wide, BootstrapOptions { rounds: Some(2), ..options(2, real) })
                .expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let x = noise(3 * slots, 8);
        let fresh = plan.run(&ev, &encrypted(&sk, &plan, &x, &[3, slots])).expect("bootstrap");
        let error = deviation(&sk.decrypt(&fresh).expect("numbers").into_real().expect("real"), &x);
        assert!(error < 2f64.powi(-30), "real {real}: {error:e}");
    }
}

/// Several arrays of different shapes and levels are one batch; what does not fit into it is refused with its
/// number.
#[test]
fn arrays_are_bootstrapped_together() {
    let params = small();
    let sk = secret(&params, 16);
    let slots = params.slot_count();
    for (bodies, real) in [(1, false), (3, false), (2, true)] {
        let plan = BootstrapPlan::with_options(&params, options(bodies, real)).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let shapes = [vec![2, slots], vec![slots - 3], vec![2, slots + 9]];
        let values: Vec<Vec<f64>> = shapes
            .iter()
            .enumerate()
            .map(|(seed, shape)| noise(shape.iter().product(), seed as u64))
            .collect();
        let arrays: Vec<Ciphertext> =
            shapes.iter().zip(&values).map(|(shape, x)| encrypted(&sk, &plan, x, shape)).collect();
        let above = EncryptOptions {
            level: Some(Level(5)),
            encoding: Some(Encoding::Slots),
            ..EncryptOptions::default()
        };
        let mut arrays: Vec<&Ciphertext> = arrays.iter().collect();
        let high = encrypt_as(&sk, &Values::Real(values[1].clone()), &shapes[1], above, 9);
        arrays.push(&high);
        let (progress, seen) = recorded();
        let fresh = plan.run_batch(&ev.clone().with_progress(progress), &arrays).expect("bootstrap");
        let last = *seen.lock().expect("no panic").last().expect("steps");
        assert_eq!((fresh.len(), last.0), (4, last.1));
        // All eight polynomials are one batch: the price is that of one array with as many.
        let price = |run: &dyn Fn(&Evaluator)| {
            let recorder = Evaluator::recording_for(&params, plan.needs().expect("needs"));
            run(&recorder);
            recorder.recorded().cost().nanoseconds
        };
        let symbol = |ev: &Evaluator, shape: &[usize]| {
            let layout = *encrypted(&sk, &plan, &vec![0.0; shape.iter().product()], shape).layout();
            let level = plan.input_level();
            let own =
                Ciphertext::symbol_with(&params, shape, layout, SecretName::Main, level, params.scale(level))
                    .expect("symbol");
            ev.take_symbol(own, None).expect("symbol")
        };
        let together = price(&|ev| {
            let all: Vec<Ciphertext> = [&shapes[0], &shapes[1], &shapes[2], &shapes[1]]
                .iter()
                .map(|shape| symbol(ev, shape))
                .collect();
            plan.run_batch(ev, &all.iter().collect::<Vec<_>>()).expect("dry run");
        });
        let whole = price(&|ev| drop(plan.run(ev, &symbol(ev, &[8, slots])).expect("dry run")));
        assert!((together / whole - 1.0).abs() < 1e-6, "{together} and {whole}");
        for (index, (fresh, x)) in fresh.iter().zip(&arrays).enumerate() {
            assert_eq!((fresh.shape(), fresh.level()), (x.shape(), plan.output_level()));
            let error = deviation(
                &sk.decrypt(fresh).expect("numbers").into_real().expect("real"),
                &values[if index == 3 { 1 } else { index }],
            );
            assert!(error < 2f64.powi(-16), "{index}: {error:e}");
        }
    }
    let plan = BootstrapPlan::with_options(&params, options(2, false)).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let x = encrypted(&sk, &plan, &noise(slots, 1), &[slots]);
    let batch = |y: &Ciphertext| plan.run_batch(&ev, &[&x, y]);
    let low = ev.drop_to_level(&x, Level(2)).expect("a level");
    assert_refused!(batch(&low), CkksError::InBatch { index: 1, .. }, "array 1 of the batch");
    assert_refused!(
        batch(&ev.multiply_scalar(&x, 0.5).expect("product")),
        CkksError::InBatch { index: 1, .. },
        "scales"
    );
    let level = Some(plan.input_level());
    let options = EncryptOptions { level, encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let pairs = encrypt_as(&sk, &Values::Complex(complex(slots, 1)), &[slots], options, 2);
    assert_refused!(
        batch(&pairs),
        CkksError::InBatch { index: 1, .. },
        "complex and those of the first array real"
    );
    let few = EncryptOptions { capacity: Some(8), ..options };
    assert_refused!(
        batch(&encrypt_as(&sk, &Values::Real(noise(8, 1)), &[8], few, 2)),
        CkksError::InBatch { index: 1, .. },
        "512 slots"
    );
    let coefficients =
        EncryptOptions { level, encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    assert_refused!(
        batch(&encrypt_as(&sk, &Values::Real(noise(8, 1)), &[8], coefficients, 2)),
        CkksError::InBatch { index: 1, .. },
        "slots"
    );
    let other = encrypted(&secret(&params, 17), &plan, &noise(slots, 1), &[slots]);
    assert_refused!(batch(&other), CkksError::InBatch { index: 1, .. }, "belongs to secret");
    assert_refused!(plan.run_batch(&ev, &[]), CkksError::Empty { .. }, "has no terms", "bootstrap");
    assert_refused!(
        plan.run_batch(&ev.with_progress(cancelling_after(0)), &[&x]),
        CkksError::Cancelled,
        "stopped"
    );
}

/// Many polynomials are bootstrapped some at a time: the same bits, with progress in between.
#[test]
fn many_polynomials_are_bootstrapped_some_at_a_time() {
    let params = small();
    let sk = secret(&params, 18);
    let slots = params.slot_count();
    for (bodies, rows, real, calls) in [(1, 19, false, 2), (3, 13, true, 3), (2, 35, false, 3)] {
        let plan = BootstrapPlan::with_options(&params, options(bodies, real)).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let x = noise(rows * slots, 4);
        let ct = encrypted(&sk, &plan, &x, &[rows, slots]);
        let (progress, seen) = recorded();
        let fresh = plan.run(&ev.clone().with_progress(progress), &ct).expect("bootstrap");
        let seen = seen.lock().expect("no panic");
        assert!(seen.is_sorted() && seen.iter().all(|(done, all)| done <= all), "{seen:?}");
        assert_eq!(seen.last(), Some(&(calls * 6, calls * 6)), "{bodies} bodies, {rows} rows");
        assert_eq!(fresh.shape(), [rows, slots]);
        let error = deviation(&sk.decrypt(&fresh).expect("numbers").into_real().expect("real"), &x);
        assert!(error < 2f64.powi(-16), "{error:e}");
        // The first rows alone are the same: a group of its own, or a part of one.
        if real {
            let first = ev.select_rows(&ct, &[0, 1, 2, 3, 4, 5]).expect("rows");
            assert_eq!(plan.run(&ev, &first).expect("bootstrap").bundles(), &fresh.bundles()[..6]);
        }
        // The second group can be the one that stops.
        let stopped = plan.run(&ev.with_progress(cancelling_after(8)), &ct);
        assert_refused!(stopped, CkksError::Cancelled, "stopped");
    }
}

/// Coefficients at level 0 come under shared masks there.
#[test]
fn half_bootstraps_share_masks_at_level_0() {
    let params = small();
    let sk = secret(&params, 5);
    let slots = params.slot_count();
    let whole = BootstrapPlan::with_options(&params, options(1, false)).expect("plan");
    let plan = BootstrapPlan::with_options(&params, BootstrapOptions { half: true, ..options(4, false) })
        .expect("plan");
    let needs = plan.needs().expect("needs").merge(&whole.needs().expect("needs"));
    let ev = evaluator(&sk, &needs);
    let x = complex(3 * slots, 9);
    let options = EncryptOptions {
        level: Some(whole.input_level()),
        encoding: Some(Encoding::Slots),
        ..EncryptOptions::default()
    };
    let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[3, slots], options, 2);
    let low = whole.slots_to_coefficients(&ev, &ct).expect("coefficients");
    assert_eq!((low.level(), low.secret()), (Level(0), SecretName::Main));
    let fresh = plan.run_half(&ev, &low).expect("slots");
    assert_eq!((fresh.shape(), fresh.secret()), (&[3, slots][..], SecretName::Main));
    let error = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
    assert!(error < 2f64.powi(-18), "{error:e}");
    // What the stage before leaves under shared masks goes on, and comes apart.
    let shared = BootstrapPlan::with_options(&params, self::options(4, false)).expect("plan");
    let ev = evaluator(&sk, &shared.needs().expect("needs"));
    let low = shared.slots_to_coefficients(&ev, &ct).expect("coefficients");
    assert_eq!((low.level(), low.secret()), (Level(0), SecretName::Bodies(4)));
    let fresh = shared.run_half(&ev, &low).expect("slots");
    assert_eq!((fresh.layout().bodies(), fresh.secret()), (1, SecretName::Main));
    let error = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
    assert!(error < 2f64.powi(-18), "{error:e}");
}

#[test]
fn the_plan_of_a_batch_takes_the_bodies_that_are_fastest_within_the_keys() {
    let params = small();
    let alone = BootstrapPlan::with_options(&params, options(1, true)).expect("plan");
    let keys = alone.key_bytes().expect("keys");
    let batch = |polys: usize, most: Option<usize>| {
        BootstrapPlan::for_batch(
            &params,
            polys,
            BootstrapOptions { most_key_bytes: most, ..options(1, true) },
        )
    };
    let plan = batch(16, None).expect("plan");
    assert!(plan.bodies() > 1 && plan.key_bytes().expect("keys") <= 3 * keys, "{}", plan.bodies());
    let costs = plan.batch_costs();
    let chosen = costs.iter().find(|cost| cost.bodies == plan.bodies()).expect("priced");
    assert!(costs.iter().all(|cost| cost.price >= chosen.price) && costs[0].bodies == 1);
    assert!(plan.explain().expect("text").contains("for 16 polynomials, a star marks the choice"));
    // More keys allow more bodies; a limit at those for one polynomial allows one.
    assert!(batch(16, Some(100 * keys)).expect("plan").bodies() >= plan.bodies());
    assert!(batch(16, Some(keys)).expect("plan").key_bytes().expect("keys") <= keys);
    assert_eq!(batch(1, None).expect("plan").bodies(), 1);
    assert_refused!(
        batch(0, None),
        CkksError::OutOfRange { .. },
        "polynomials of a batch",
        "one polynomial or more"
    );
    assert_refused!(batch(16, Some(1000)), CkksError::OutOfRange { .. }, "1000", "allow at least");
    assert_refused!(
        BootstrapPlan::with_options(&params, options(65, true)),
        CkksError::OutOfRange { .. },
        "65",
        "1 to 64"
    );
    assert_refused!(
        BootstrapPlan::with_options(&params, options(0, true)),
        CkksError::OutOfRange { .. },
        "1 to 64"
    );
    let last = crate::common::params("insecure_boot_last");
    assert!(BootstrapPlan::for_batch(&last, 8, options(1, true)).expect("plan").bodies() > 1);
}

/// Keys of a shared mask lose a bit of security for each doubling: a set without bits to spare has none, one
/// with them has as many as it can.
#[test]
fn keys_of_a_batch_are_secure() {
    for (name, most) in [
        ("boot_n15", 1),
        ("boot_n15_batch", 64),
        ("boot_n15_mambo", 128),
        ("boot_fast", 1),
        ("boot_fast_batch", 8),
    ] {
        let params = crate::common::params(name);
        let (top, element) = (params.max_level(), GaloisElement::conjugation(params.degree()));
        for bodies in [2, 4, 8, 16, 32, 64, 128] {
            let definition = params
                .key_definition(KeyName::Automorphism { secret: SecretName::Bodies(bodies), element })
                .expect("a definition");
            let charged = definition.security_bits(top).expect("bits") - (bodies as f64).log2();
            assert_eq!(
                definition.check_security(top).is_ok(),
                bodies <= most,
                "{name}, {bodies} bodies: {charged} bits"
            );
            assert_eq!(charged >= 128.0, bodies <= most);
        }
    }
    // A plan with more bodies is refused before there are keys, and so are the keys.
    let params = crate::common::params("boot_n15");
    assert_refused!(
        BootstrapPlan::with_options(&params, options(2, true)),
        CkksError::Insecure { .. },
        "fewer than 2 bodies"
    );
    let needs = KeyNeeds::new().conjugation_of_bodies(2, KeyLevel::Level(params.max_level().0));
    assert_refused!(
        secret(&params, 1).evaluation_keys(&needs),
        CkksError::Insecure { .. },
        "fewer than 2 bodies"
    );
    assert_eq!(BootstrapPlan::for_batch(&params, 8, options(1, true)).expect("plan").bodies(), 1);
    // All keys of one plan, those of the sparse secrets among them.
    let params = crate::common::params("boot_n15_batch");
    let plan = BootstrapPlan::with_options(&params, options(4, true)).expect("plan");
    let required = params.required_keys(&plan.needs().expect("needs")).expect("keys");
    for (address, level) in required.iter() {
        let definition = params.definition_at(address).expect("a key");
        let charged = definition.security_bits(level).expect("bits") - (definition.bodies() as f64).log2();
        assert!(
            charged >= 128.0 && definition.check_security(level).is_ok(),
            "{} has {charged} bits",
            address.name
        );
    }
}

#[test]
fn keys_of_a_batch_are_stored_and_missed_like_others() {
    let params = small();
    let sk = secret(&params, 6);
    let plan = BootstrapPlan::with_options(&params, options(2, true)).expect("plan");
    let keys = sk.evaluation_keys(&plan.needs().expect("needs")).expect("keys");
    assert!(keys.iter().any(|(address, _)| matches!(
        address.name,
        KeyName::Switch(Switch::RaiseToSlots(RaisedMap { bodies: 2, .. }))
    )));
    let bytes = keys.to_file_bytes().expect("a file");
    let again = EvaluationKeys::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params)
        .expect("keys");
    let x = noise(2 * params.slot_count(), 3);
    let ct = encrypted(&sk, &plan, &x, &[2, params.slot_count()]);
    let own = plan.run(&Evaluator::with_keys(keys), &ct).expect("bootstrap");
    let stored = plan.run(&Evaluator::with_keys(again), &ct).expect("bootstrap");
    assert_eq!(own.bundles(), stored.bundles());
    // Those of one polynomial do not serve.
    let alone = BootstrapPlan::with_options(&params, options(1, true)).expect("plan");
    let few = evaluator(&sk, &alone.needs().expect("needs"));
    assert_refused!(plan.run(&few, &ct), CkksError::MissingKeys { .. }, "under one mask");
    let sum: Vec<Complex64> = decrypt_complex(&sk, &own);
    assert!(sum.iter().zip(&x).all(|(found, x)| (found.re - x).abs() < 1e-4));
}

/// What a shared mask saves, observed by the engine's meter: of the maps' key switches the decompositions
/// happen once for all bodies, products and divisions once more than there are bodies instead of twice for
/// each. [pcmm-mambo, Table 2]
#[test]
fn maps_of_shared_masks_take_the_operations_of_the_papers_table() {
    let (params, meter) = metered("insecure_boot");
    let sk = secret(&params, 14);
    let slots = params.slot_count();
    let plan = BootstrapPlan::with_options(&params, options(8, false)).expect("plan");
    let maps: Vec<_> = plan.to_coefficients().iter().chain(plan.to_slots()).collect();
    assert!(maps.len() >= 4);
    for map in maps {
        let count = |bodies: usize| {
            let own = EncryptOptions {
                level: Some(map.input_level()),
                encoding: Some(Encoding::Slots),
                scale: Some(map.input_scale()),
                ..EncryptOptions::default()
            };
            let x = encrypt_as(&sk, &Values::Complex(complex(bodies * slots, 3)), &[bodies, slots], own, 5);
            let circuit = |ev: &Evaluator, x: &Ciphertext| {
                let x = if bodies == 1 {
                    x.clone()
                } else {
                    ev.share_mask_along(x, bodies, Some(BodyAxis::Rows)).expect("a mask")
                };
                assert_eq!(x.bundles().len(), usize::from(!x.is_symbol()));
                // The first run encodes the diagonals.
                map.run(ev, &x).expect("a map");
                meter.take();
                map.run(ev, &x).expect("a map");
                meter.take()
            };
            let recorder = Evaluator::recording(&params);
            let symbol =
                Ciphertext::symbol_with(&params, x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
                    .expect("symbol");
            circuit(&recorder, &recorder.take_symbol(symbol, None).expect("symbol"));
            circuit(&evaluator(&sk, &recorder.needs()), &x)
        };
        let (one, two) = (count(1), count(2));
        let (before, after) = map.switches();
        println!("level {}, {before} + {after} switches: {one:?}", map.input_level());
        // Of one body, a part of the operations is the mask's alone: decompositions, and the divisions before
        // those of later rotations. The rest is the same for mask and body.
        let counted = |counts: &Counts| [counts.forward, counts.inverse, counts.conversion, counts.division];
        let (one_body, two_bodies) = (counted(&one), counted(&two));
        let each = [0, 1, 2, 3].map(|kind| two_bodies[kind] - one_body[kind]);
        let decompositions = [0, 1, 2, 3].map(|kind| one_body[kind] - 2 * each[kind]);
        assert!(decompositions.iter().sum::<usize>() > 0 && each.iter().sum::<usize>() > 0);
        for bodies in [2, 3, 5, 8] {
            let counts = count(bodies);
            let expected = [0, 1, 2, 3].map(|kind| decompositions[kind] + (bodies + 1) * each[kind]);
            assert_eq!(counted(&counts), expected, "{bodies} bodies");
            // Inner products with keys and products with diagonals.
            assert_eq!(2 * counts.hadamard, (bodies + 1) * one.hadamard, "{bodies} bodies");
        }
    }
}

/// Every number of bodies, in both orders of the stages, real and complex.
#[test]
#[ignore = "many bootstraps: make test-full"]
fn every_count_of_bodies_bootstraps_in_both_orders() {
    for name in ["insecure_boot", "insecure_boot_last"] {
        let params = crate::common::params(name);
        let sk = secret(&params, 15);
        let slots = params.slot_count();
        for bodies in 1..=64 {
            // The keys of complex numbers serve real ones.
            let plans = [false, true].map(|real| {
                BootstrapPlan::with_options(
                    &params,
                    BootstrapOptions { rounds: Some(1), ..options(bodies, real) },
                )
                .expect("plan")
            });
            let ev =
                evaluator(&sk, &plans[0].needs().expect("needs").merge(&plans[1].needs().expect("needs")));
            for plan in &plans {
                let real = plan.is_real();
                let x = complex(bodies * slots, bodies as u64);
                let x: Vec<Complex64> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
                let values = if real {
                    Values::Real(x.iter().map(|x| x.re).collect())
                } else {
                    Values::Complex(x.clone())
                };
                let own = EncryptOptions {
                    level: Some(plan.input_level()),
                    encoding: Some(Encoding::Slots),
                    ..EncryptOptions::default()
                };
                let fresh =
                    plan.run(&ev, &encrypt_as(&sk, &values, &[bodies, slots], own, 5)).expect("bootstrap");
                let got = decrypt_complex(&sk, &fresh);
                let predicted = plan.predicted_error().expect("prediction").deviation();
                let measured = complex_deviation(&got, &x) * if real { 2f64.sqrt() } else { 1.0 };
                assert!(
                    (0.8..1.2).contains(&(measured / predicted)),
                    "{name}, {bodies}, real {real}: {}",
                    measured / predicted
                );
            }
        }
    }
}
