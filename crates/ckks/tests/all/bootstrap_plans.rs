//! What plans of bootstraps choose among: rounds, an arcsine, few slots, pairs of real numbers, the order of
//! the stages, few keys. Small degrees: not secure.

use crate::common::bootstraps::*;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::keys::{EncryptOptions, Operation, SecretName, Values};
use clathrate_ckks::{CkksError, Complex64, Encoding, Evaluator, KeyNeeds, Order, Padding, Params};
use clathrate_lattice::Level;

#[test]
fn rounds_add_their_precision() {
    let params = wide();
    for (rounds, slots, transforms, bits) in [
        (1, 512, 512, 24.0),
        (2, 512, 512, 42.0),
        (2, 64, 64, 42.0),
        (2, 64, 512, 42.0),
        (2, 256, 512, 42.0),
        (3, 512, 512, 48.0),
    ] {
        let options = BootstrapOptions {
            rounds: Some(rounds),
            slots: Some(slots),
            transform_slots: Some(transforms),
            ..BootstrapOptions::default()
        };
        let ratio = measured_over_predicted(&params, options, 4);
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        assert!((0.9..1.1).contains(&ratio), "{rounds} rounds, {slots} slots: {ratio}");
        let predicted = -plan.predicted_error().expect("prediction").deviation().log2();
        assert!(predicted > bits, "{rounds} rounds: {predicted} bits");
        assert_eq!(plan.output_level(), Level(7 - rounds));
    }
    // An array from the highest level, above the application's segment, takes part in the rounds at the level
    // of the input.
    let (sk, plan) = (secret(&params, 21), BootstrapPlan::new(&params).expect("plan"));
    let x = complex(512, 40);
    let ct = encrypt_as(&sk, &Values::Complex(x), &[512], EncryptOptions::default(), 1);
    assert!(ct.level() > plan.output_level());
    let fresh = plan.run(&evaluator(&sk, &plan.needs().expect("needs")), &ct).expect("bootstrap");
    let error = complex_deviation(&decrypt_complex(&sk, &fresh), &decrypt_complex(&sk, &ct));
    assert!(error < 2f64.powi(-40), "{error:e}");
    assert_eq!(plan.rounds(), 2, "the scale asks for them");
    assert_eq!(BootstrapPlan::new(&small()).expect("plan").rounds(), 1);
    for rounds in [0, 4, 1000] {
        let error = BootstrapPlan::with_options(
            &params,
            BootstrapOptions { rounds: Some(rounds), ..BootstrapOptions::default() },
        );
        assert!(matches!(&error, Err(CkksError::OutOfRange { .. })), "{rounds}: {error:?}");
    }
}

/// The small chain with a ratio of 2^6, at which the sine bends, and `more` levels for the modular reduction.
fn bent(more: usize) -> Params {
    let mut spec = to_change(&small());
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
        let error = BootstrapPlan::with_options(
            &bent(3),
            BootstrapOptions { arcsine: Some(degree), ..BootstrapOptions::default() },
        );
        assert!(matches!(&error, Err(CkksError::OutOfRange { .. })), "{degree}: {error:?}");
    }
    let error = BootstrapPlan::with_options(
        &small(),
        BootstrapOptions { arcsine: Some(15), ..BootstrapOptions::default() },
    );
    assert!(
        matches!(&error, Err(CkksError::Unsupported { reason }) if reason.contains("cannot be bootstrapped") && reason.contains("arcsine")),
        "{error:?}"
    );
}

/// Plans for few slots take the transforms of all slots where these are faster, by the same keys whatever the
/// numbers and rounds.
#[test]
fn few_slots_share_the_transforms_and_keys_of_all() {
    let params = small();
    let sk = secret(&params, 31);
    let every = BootstrapPlan::new(&params).expect("plan").needs().expect("needs");
    let ev = evaluator(&sk, &every);
    for (slots, real, rounds) in [(64, false, 1), (64, true, 1), (256, false, 2), (8, true, 2), (1, false, 1)]
    {
        let options = BootstrapOptions {
            slots: Some(slots),
            real,
            rounds: Some(rounds),
            ..BootstrapOptions::default()
        };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        assert_eq!((plan.slots(), plan.transform_slots()), (slots, 512));
        assert!(plan.explain().expect("explanation").contains("transforms of 512 slots"));
        // Three rows that do not fill their slots: the padding stays zero.
        let (rows, columns) = (3, slots - slots / 4);
        let x = if real {
            noise(rows * columns, 4).into_iter().map(Complex64::from).collect()
        } else {
            complex(rows * columns, 4)
        };
        let values =
            if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let own = EncryptOptions {
            level: Some(plan.input_level()),
            capacity: Some(slots),
            encoding: Some(Encoding::Slots),
            ..EncryptOptions::default()
        };
        let ct = encrypt_as(&sk, &values, &[rows, columns], own, 5);
        let fresh = plan.run(&ev, &ct).expect("bootstrap");
        assert_eq!(
            (fresh.level(), fresh.shape(), fresh.layout().capacity()),
            (plan.output_level(), &[rows, columns][..], slots)
        );
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
        assert!(error < 2f64.powi(-24), "{slots} slots, real {real}, {rounds} rounds: {error:e}");
    }
    // A rotation whose key is missing is not taken for one that is equal in the array's slots alone: it is
    // told before the work.
    for transform_slots in [None, Some(64)] {
        let options = BootstrapOptions { slots: Some(64), transform_slots, ..BootstrapOptions::default() };
        let plan = BootstrapPlan::with_options(&params, options).expect("plan");
        let own = EncryptOptions {
            level: Some(plan.input_level()),
            capacity: Some(64),
            ..EncryptOptions::default()
        };
        let ct = encrypt_as(
            &sk,
            &noise(64, 1),
            &[64],
            EncryptOptions { encoding: Some(Encoding::Slots), ..own },
            6,
        );
        let needs = plan.needs().expect("needs");
        for (missing, _) in needs.rotation_steps().step_by(7) {
            let rest = needs.operations().filter(|(operation, _)| {
                *operation != Operation::Rotate { secret: SecretName::Main, steps: missing }
            });
            let rest = rest
                .fold(KeyNeeds::new(), |needs, (operation, key_level)| needs.operation(operation, key_level));
            let (progress, seen) = recorded();
            let result = plan.run(&evaluator(&sk, &rest).with_progress(progress), &ct);
            // A rotation may be made of others.
            let stages = seen.lock().expect("no panic").len();
            let told = matches!(&result, Err(CkksError::MissingKeys { .. })) && stages == 0;
            assert!(told || result.is_ok(), "rotation {missing}, {stages} stages: {:?}", result.err());
        }
    }
    // Own transforms on request, and those of half bootstraps; other numbers of slots are refused.
    let own = BootstrapOptions { slots: Some(64), transform_slots: Some(64), ..BootstrapOptions::default() };
    assert_eq!(BootstrapPlan::with_options(&params, own).expect("plan").transform_slots(), 64);
    let half = BootstrapOptions { slots: Some(64), half: true, ..BootstrapOptions::default() };
    assert_eq!(BootstrapPlan::with_options(&params, half).expect("plan").transform_slots(), 64);
    for (transform_slots, half, remedy) in [
        (32, false, "64 to 512"),
        (96, false, "64 to 512"),
        (1024, false, "64 to 512"),
        (512, true, "use 64"),
    ] {
        let options = BootstrapOptions {
            slots: Some(64),
            transform_slots: Some(transform_slots),
            half,
            ..BootstrapOptions::default()
        };
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
        let plan = BootstrapPlan::with_options(
            &params,
            BootstrapOptions { rounds: Some(rounds), ..BootstrapOptions::default() },
        )
        .expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let at = |level: usize| EncryptOptions {
            level: Some(Level(level)),
            encoding: Some(Encoding::Slots),
            capacity: Some(512),
            ..EncryptOptions::default()
        };
        let (x, y) = (noise(512, 23), noise(512, 24));
        let (left, right) = (encrypt_as(&sk, &x, &[512], at(4), 1), encrypt_as(&sk, &y, &[512], at(3), 2));
        let fresh = plan.run_batch(&ev, &[&left, &right]).expect("pair");
        for (fresh, expected) in fresh.iter().zip([&x, &y]) {
            assert_eq!(
                (fresh.level(), fresh.shape(), fresh.is_complex()),
                (plan.output_level(), &[512][..], false)
            );
            assert_close(&decrypt(&sk, fresh), expected, tolerance);
        }
        // Rows and chunks in any number: a single one, pairs, and one left over.
        for (rows, columns) in [(1, 512), (2, 512), (5, 512), (2, 1300), (1, 1000)] {
            let x = noise(rows * columns, 25);
            let ct = encrypt_as(&sk, &x, &[rows, columns], at(3), 3);
            let (progress, seen) = recorded();
            let fresh = plan.run(&ev.clone().with_progress(progress), &ct).expect("bootstrap");
            let stages = seen.lock().expect("no panic").len();
            assert_eq!(
                (fresh.shape(), fresh.layout().columns(), fresh.is_complex()),
                (&[rows, columns][..], columns, false)
            );
            assert_close(&decrypt(&sk, &fresh), &x, tolerance);
            assert!(stages >= 6 * rounds);
        }
    }
    // A dry run of six polynomials costs three bootstraps, and the operations that count are those that run.
    let plan = BootstrapPlan::new(&params).expect("plan");
    let seconds = |rows: usize, complex: bool| {
        let ev = Evaluator::recording_for(&params, plan.needs().expect("needs"));
        let layout =
            clathrate_ckks::arrays::Layout::new(&[rows, 512], Encoding::Slots, 1024).expect("layout");
        let layout = layout.of_numbers(complex);
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
        plan.run(&ev, &symbol).expect("dry run");
        ev.recorded().cost().transforms
    };
    assert!(
        (seconds(6, false) / seconds(3, true) - 1.0).abs() < 0.01,
        "{} {}",
        seconds(6, false),
        seconds(3, true)
    );
}

/// Arrays of rank 2 and 4 are converted where the modulus is short.
#[test]
fn higher_ranks_bootstrap_by_conversion() {
    let params = small();
    let sk = secret(&params, 33);
    for rank in [2, 4] {
        let slots = params.slot_count() / rank;
        let plan = BootstrapPlan::with_options(
            &params,
            BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() },
        )
        .expect("plan");
        let low = params
            .relative(clathrate_ckks::ModuleShape { degree: params.degree() / rank, rank })
            .expect("shape");
        let needs = KeyNeeds::new()
            .relative(low.shape(), &low.rlwe_needs(clathrate_ckks::KeyLevel::Level(plan.input_level().0)));
        let ev = evaluator(&sk, &plan.needs().expect("needs").merge(&needs));
        let x = complex(slots, 34);
        let own =
            EncryptOptions { level: Some(Level(5)), capacity: Some(slots), ..EncryptOptions::default() };
        let ct =
            ev.to_mlwe(&encrypt_as(&sk, &Values::Complex(x.clone()), &[slots], own, 35), rank).expect("rank");
        assert_eq!((ct.params().rank(), ct.params().degree()), (rank, params.degree() / rank));
        let fresh = plan.run(&ev, &ct).expect("bootstrap");
        assert_eq!(
            (fresh.params(), fresh.level(), fresh.shape()),
            (ct.params(), plan.output_level(), ct.shape())
        );
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &x);
        assert!(error < 2f64.powi(-16), "rank {rank}: {error:e}");
        // A dry run finds all keys.
        let recorder = Evaluator::recording(&params);
        let layout =
            clathrate_ckks::arrays::Layout::new(&[slots], Encoding::Slots, params.degree()).expect("layout");
        let layout = layout.of_numbers(true);
        let symbol = clathrate_ckks::Ciphertext::symbol_with(
            &params,
            &[slots],
            layout,
            clathrate_ckks::SecretName::Main,
            Level(5),
            params.scale(Level(5)),
        );
        let symbol = recorder.take_symbol(symbol.expect("symbol"), None).expect("symbol");
        let planned = plan.run(&recorder, &recorder.to_mlwe(&symbol, rank).expect("rank")).expect("dry run");
        assert_eq!((planned.params(), planned.level()), (fresh.params(), fresh.level()));
        let own = evaluator(&sk, &recorder.needs());
        assert!(plan.run(&own, &ct).is_ok());
    }
}

/// Slots-to-coefficients after the modular reduction.
#[test]
fn the_other_order_bootstraps_as_well() {
    let params = params("insecure_boot_last");
    let sk = secret(&params, 26);
    for (slots, real, bits) in [(512, false, 17), (512, true, 17), (64, false, 17), (1, false, 17)] {
        let x =
            if real { noise(slots, 4).into_iter().map(Complex64::from).collect() } else { complex(slots, 4) };
        let values =
            if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let options =
            BootstrapOptions { slots: Some(slots), real, rounds: Some(1), ..BootstrapOptions::default() };
        let (got, plan) = bootstrapped(&params, &sk, options, &values, &[slots]);
        assert_eq!((plan.slots_last(), plan.input_level(), plan.output_level()), (true, Level(1), Level(4)));
        let error = complex_deviation(&got, &x);
        println!("{slots} slots, real {real}: {:.2} bits", -error.log2());
        assert!(error < 2f64.powi(-bits), "{slots} slots, real {real}: {error:e}");
    }
    for (slots, transforms, real) in [(512, 512, false), (512, 512, true), (64, 64, false), (64, 512, false)]
    {
        let options = BootstrapOptions {
            slots: Some(slots),
            transform_slots: Some(transforms),
            real,
            rounds: Some(1),
            ..Default::default()
        };
        let ratio = measured_over_predicted(&params, options, if slots == 64 { 12 } else { 6 });
        assert!((0.9..1.1).contains(&ratio), "{slots} slots by {transforms}, real {real}: {ratio}");
    }
    let plan = BootstrapPlan::new(&params).expect("plan");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let at = EncryptOptions { level: Some(Level(1)), ..EncryptOptions::default() };
    let x = encrypt_as(&sk, &noise(512, 1), &[512], at, 1);
    assert_refused!(
        plan.slots_to_coefficients(&ev, &x),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "last"
    );
    let mut spec = to_change(&params);
    spec.segments[0].levels = (0, 1);
    spec.segments[1].levels = (2, 4);
    let other = Params::new(spec, &base_runtime()).expect("parameters");
    assert_refused!(
        BootstrapPlan::new(&other),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "level 0 alone"
    );
}

/// Between the application and the maps of slots-to-coefficients there may be levels that the maps do not
/// need; scales do not depend on the level there.
#[test]
fn chains_may_have_more_base_levels_than_maps() {
    let mut spec = to_change(&small());
    spec.name = "long_base".to_owned();
    let (scale, more) = (spec.segments[1].log2_scale, 7);
    spec.segments[0].log2_scale = scale;
    spec.steps[0] = vec![58.3];
    (1..=3).for_each(|level| spec.steps[level] = vec![45.8]);
    spec.steps.splice(1..1, std::iter::repeat_n(vec![45.8], more));
    spec.segments[0].levels.1 += more;
    for segment in &mut spec.segments[1..] {
        segment.levels = (segment.levels.0 + more, segment.levels.1 + more);
    }
    let params = Params::new(spec, &base_runtime()).expect("parameters");
    let sk = secret(&params, 30);
    let x = complex(512, 31);
    let (got, plan) =
        bootstrapped(&params, &sk, BootstrapOptions::default(), &Values::Complex(x.clone()), &[512]);
    assert_eq!(plan.input_level().0, 3 + more);
    let error = complex_deviation(&got, &x);
    assert!(error < 2f64.powi(-16), "{error:e}");
}

/// Heavier ephemeral secrets have wider ranges, which four double angles cover.
#[test]
fn heavier_ephemeral_secrets_bootstrap() {
    for weight in [48, 64] {
        let mut spec = to_change(&small());
        spec.ephemeral_weight = Some(weight);
        spec.steps.insert(8, vec![28.5, 28.5]);
        spec.segments[2].levels = (7, 15);
        spec.segments[3].levels = (16, 18);
        let params = Params::new(spec, &base_runtime()).expect("parameters");
        let sk = secret(&params, 27);
        let x = complex(512, 28);
        let (got, plan) =
            bootstrapped(&params, &sk, BootstrapOptions::default(), &Values::Complex(x.clone()), &[512]);
        println!("weight {weight}: range {}, failure 2^{:.1}", plan.reduction().range(), plan.log2_failure());
        assert!(plan.reduction().range() > 16 && plan.log2_failure() <= -128.0);
        let error = complex_deviation(&got, &x);
        assert!(error < 2f64.powi(-16), "weight {weight}: {error:e}");
        let ratio = measured_over_predicted(&params, BootstrapOptions::default(), 6);
        assert!((0.9..1.1).contains(&ratio), "weight {weight}: {ratio}");
    }
}

/// Fewer bytes of keys: rotations follow one another, at last by two or three keys for each map, and the
/// precision is as predicted.
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
        let (bytes, price) =
            (plan.key_bytes().expect("bytes"), plan.dry_run().expect("dry run").cost().price);
        println!("{share}: {bytes} of {all} bytes, {:.1} ms", price / 1e6);
        assert!(bytes <= most && bytes <= last.0 && price >= last.1);
        last = (bytes, price);
        let ratio = measured_over_predicted(&params, options, 4);
        assert!((0.9..1.1).contains(&ratio), "{share}: {ratio}");
    }
    let options = BootstrapOptions { most_key_bytes: Some(1000), ..BootstrapOptions::default() };
    let error = BootstrapPlan::with_options(&params, options).expect_err("too few bytes");
    let CkksError::OutOfRange { value, remedy, .. } = &error else { panic!("{error}") };
    assert_eq!(value, "1000");
    // The least number of bytes that the remedy names is enough.
    let least: usize =
        remedy.split_whitespace().find_map(|word| word.parse().ok()).expect("a number of bytes");
    let options = BootstrapOptions { most_key_bytes: Some(least), ..BootstrapOptions::default() };
    assert_eq!(
        BootstrapPlan::with_options(&params, options).expect("plan").key_bytes().expect("bytes"),
        least
    );
    let options = BootstrapOptions { most_key_bytes: Some(least - 1), ..BootstrapOptions::default() };
    assert!(BootstrapPlan::with_options(&params, options).is_err());
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
        let ct =
            encrypt_as(&sk, &Values::Complex(x.clone()), &[slots], EncryptOptions { order, ..natural }, 20);
        let y = plan.run_half(&ev, &ct).expect("half bootstrap");
        let other = if order == Order::Natural { Order::BitReversed } else { Order::Natural };
        assert_eq!(
            (y.encoding(), y.layout().order(), y.level()),
            (Encoding::Slots, other, plan.output_level())
        );
        let error = complex_deviation(&decrypt_complex(&sk, &y), &x);
        assert!(error < 2f64.powi(-16), "{order:?}: {error:e}");
    }
    // A part of the numbers: the others stay in the padding, which sums and rotations refuse.
    let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[slots], natural, 20);
    let y = plan.run_half(&ev, &ev.select_columns(&ct, 5..9).expect("columns")).expect("half bootstrap");
    assert_eq!((y.shape(), y.padding()), (&[4][..], Padding::Dirty));
    let error = complex_deviation(&decrypt_complex(&sk, &y), &x[5..9]);
    assert!(error < 2f64.powi(-16), "{error:e}");
    assert!(
        matches!(ev.total(&y), Err(CkksError::Unsuitable { reason, .. }) if reason.contains("padding that is not zero"))
    );
    assert!(ev.rotate(&y, 1).is_err());
}

/// Rounded diagonals of a period that the array's slots have repeat with the numbers, and so do their errors:
/// the mean does not take them away.
#[test]
fn errors_of_diagonals_that_repeat_are_predicted() {
    let mut spec = to_change(&small());
    spec.name = "low base".to_owned();
    spec.degree = 4096;
    spec.segments[0].log2_scale = 30.0;
    (1..4).for_each(|level| spec.steps[level] = vec![30.6]);
    let params = Params::new(spec, &base_runtime()).expect("parameters");
    for &(slots, bootstraps) in at_least(1, &[(128, 4), (16, 20)]) {
        let options = BootstrapOptions {
            slots: Some(slots),
            transform_slots: Some(2048),
            rounds: Some(1),
            ..BootstrapOptions::default()
        };
        let ratio = measured_over_predicted(&params, options, bootstraps);
        assert!((0.85..1.15).contains(&ratio), "{slots} slots: {ratio}");
    }
}

#[test]
fn limits_on_keys_hold_for_few_slots_and_name_the_least() {
    let params = small();
    for slots in [1, 8, 64] {
        let plan = |most: usize| {
            let options = BootstrapOptions {
                slots: Some(slots),
                most_key_bytes: Some(most),
                ..BootstrapOptions::default()
            };
            BootstrapPlan::with_options(&params, options)
        };
        let Err(CkksError::OutOfRange { remedy, .. }) = plan(1000) else { panic!("1000 bytes are too few") };
        let least: usize = remedy.split(' ').find_map(|word| word.parse().ok()).expect("a number of bytes");
        assert!(plan(least).expect("the least").key_bytes().expect("bytes") <= least, "{slots} slots");
        assert!(plan(least - 1).is_err(), "{slots} slots");
    }
}

/// Where slots-to-coefficients comes last, two rounds need the transforms of all slots: else the slots that
/// repeat a number keep the errors of the first round.
#[test]
fn rounds_with_slots_to_coefficients_last_take_the_transforms_of_all_slots() {
    let params = params("insecure_boot_last");
    let all = params.slot_count();
    for slots in [1, 2, 64] {
        let own = BootstrapOptions { slots: Some(slots), rounds: Some(2), ..BootstrapOptions::default() };
        assert_eq!(BootstrapPlan::with_options(&params, own).expect("plan").transform_slots(), all);
        let few = BootstrapOptions { transform_slots: Some(slots), ..own };
        let error = BootstrapPlan::with_options(&params, few);
        assert_refused!(
            error,
            CkksError::Unsupported { .. },
            "cannot be bootstrapped",
            "leave `transform_slots` out",
            "use one round"
        );
        // What the message says works.
        let one = BootstrapOptions { rounds: Some(1), ..few };
        assert_eq!(BootstrapPlan::with_options(&params, one).expect("plan").transform_slots(), slots);
    }
}
