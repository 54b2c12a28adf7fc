//! Products inside bootstraps: every shape, method and number of bodies against the product in the clear.
//! Small degrees are not secure.

use std::sync::Arc;

use crate::common::bootstraps::*;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::circuits::mambo::{MamboOptions, MamboPlan, Placement};
use clathrate_ckks::circuits::matrix::multiply_inside_bootstrap;
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions};
use clathrate_ckks::encrypted_array::EncryptedArray;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Complex64, Encoding, Evaluator, Event, KeyNeeds, Level, Matrix, Progress,
    SecretKey,
};

/// Weights whose products with numbers of magnitude 1 stay so, as rows.
fn weights(rows: usize, inner: usize, seed: u64) -> Vec<f64> {
    noise(rows * inner, seed).into_iter().map(|w| w / inner as f64 * 1.4).collect()
}

fn encrypted(sk: &SecretKey, plan: &MamboPlan, x: &[Complex64], real: bool) -> Ciphertext {
    let shape = plan.array_shapes().0;
    let mut all = x.to_vec();
    all.resize(shape.iter().product(), Complex64::default());
    let values = if real { Values::Real(all.iter().map(|x| x.re).collect()) } else { Values::Complex(all) };
    encrypt_as(sk, &values, &shape, plan.encryption(), 3)
}

/// `W X` for rows of `columns` numbers.
fn product(w: &[f64], x: &[Complex64], columns: usize) -> Vec<Complex64> {
    let inner = x.len() / columns;
    let entry =
        |row: &[f64], column: usize| row.iter().enumerate().map(|(k, w)| x[k * columns + column] * w).sum();
    w.chunks_exact(inner).flat_map(|row| (0..columns).map(move |column| entry(row, column))).collect()
}

#[test]
fn products_inside_bootstraps_are_the_products() {
    let params = small();
    let sk = secret(&params, 3);
    let slots = params.slot_count();
    let exact = Some(MatrixMethod::Exact);
    for (rows, inner, columns, bodies, real, method) in [
        (1, 1, slots, 1, false, None),
        (3, 5, slots, 1, false, Some(MatrixMethod::ByRows)),
        (16, 16, 32, 1, false, exact),
        (5, 40, 32, 2, false, exact),
        (40, 7, 64, 2, true, exact),
        (64, 64, 8, 1, false, exact),
        (1, 100, 16, 1, true, exact),
        (128, 128, 16, 4, false, None),
        // Rows of several polynomials.
        (3, 2, 2 * slots, 2, false, None),
    ] {
        let w = weights(rows, inner, 4);
        let x = complex(inner * columns, 5);
        let x: Vec<Complex64> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
        let options = MamboOptions {
            bootstrap: BootstrapOptions { bodies, real, ..BootstrapOptions::default() },
            matrix: MatrixOptions { method, ..MatrixOptions::default() },
            ..MamboOptions::default()
        };
        let plan =
            Arc::new(MamboPlan::new(&params, Matrix::new(rows, inner, &w), columns, &options).expect("plan"));
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let ct = encrypted(&sk, &plan, &x, real);
        let (shapes, predicted, bootstrap) = (
            plan.array_shapes(),
            plan.predicted_error().expect("prediction"),
            plan.bootstrap().output_level(),
        );
        let matrix = plan.prepare(&ev).expect("keys");
        let fresh = matrix.multiply(&ev, &ct).expect("product");
        assert_eq!(
            (fresh.shape(), fresh.level(), fresh.encoding()),
            (&shapes.1[..], bootstrap, Encoding::Slots)
        );
        let got = decrypt_complex(&sk, &fresh);
        let expected = product(&w, &x, columns);
        let measured =
            complex_deviation(&got[..expected.len()], &expected) * if real { 2f64.sqrt() } else { 1.0 };
        println!(
            "{rows} x {inner}, {columns} slots a row, {bodies} bodies: {:.2} bits, predicted {:.2}",
            -measured.log2(),
            -predicted.log2()
        );
        assert!(
            measured < 1.2 * predicted && measured > 0.3 * predicted,
            "{rows} x {inner}: {measured:e}, predicted {predicted:e}"
        );
        // Rows behind those of the product are zero.
        assert!(got[expected.len()..].iter().all(|z| z.norm() < 1e-3));
    }
}

/// Real numbers by a plan for complex ones: two polynomials of the product are bootstrapped as one, of an odd
/// number too.
#[test]
fn products_of_real_numbers_are_bootstrapped_in_pairs() {
    let params = small();
    let sk = secret(&params, 12);
    let slots = params.slot_count();
    for (rows, inner, columns, bodies) in
        [(4, 3, slots, 1), (5, 2, slots, 2), (24, 40, 64, 2), (1, 3, 2 * slots, 1)]
    {
        let w = weights(rows, inner, 4);
        let x: Vec<Complex64> = complex(inner * columns, 5).iter().map(|x| x.re.into()).collect();
        let options = MamboOptions { bootstrap: batch(bodies), ..MamboOptions::default() };
        let plan =
            Arc::new(MamboPlan::new(&params, Matrix::new(rows, inner, &w), columns, &options).expect("plan"));
        assert!(plan.nanoseconds_of(true).expect("cost") < plan.nanoseconds_of(false).expect("cost"));
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let matrix = plan.prepare(&ev).expect("keys");
        let ct = encrypted(&sk, &plan, &x, true);
        // What runs is what was priced: half as many bootstraps as of complex numbers.
        let recorder = Evaluator::recording_for(&params, plan.needs().expect("needs"));
        let symbol =
            Ciphertext::symbol_with(&params, ct.shape(), *ct.layout(), ct.secret(), ct.level(), ct.scale())
                .expect("symbol");
        matrix.multiply(&recorder, &recorder.take_symbol(symbol, None).expect("symbol")).expect("dry run");
        let ratio = recorder.recorded().cost().nanoseconds / plan.nanoseconds_of(true).expect("cost");
        assert!((0.97..1.03).contains(&ratio), "{rows} x {inner}: {ratio}");
        let fresh = matrix.multiply(&ev, &ct).expect("product");
        assert_eq!(
            (fresh.shape(), fresh.level(), fresh.is_complex()),
            (&plan.array_shapes().1[..], Level(6), false)
        );
        let numbers = sk.decrypt(&fresh).expect("numbers").into_real().expect("real");
        let (expected, predicted) = (product(&w, &x, columns), plan.predicted_error().expect("prediction"));
        let errors: f64 = numbers.iter().zip(&expected).map(|(found, x)| (found - x.re).powi(2)).sum();
        let measured = (errors / expected.len() as f64).sqrt();
        println!("{rows} x {inner}: {:.2} bits, predicted {:.2}", -measured.log2(), -predicted.log2());
        assert!(measured < 1.3 * predicted, "{measured:e}, predicted {predicted:e}");
        assert!(numbers[expected.len()..].iter().all(|z| z.abs() < 1e-3));
    }
}

/// Square matrices of every power of two from 1 x 1 to 2^11 x 2^11.
#[test]
fn products_of_every_size_are_the_products() {
    let params = small();
    let sk = secret(&params, 9);
    let columns = 4;
    let mut rings = 0;
    for log in 0..=11 {
        let rows = 1 << log;
        let w: Vec<f64> = weights(rows, rows, log).iter().map(|w| w / 1.4).collect();
        let x = complex(rows * columns, 5);
        let own = MatrixOptions { uses: Some(1), ..MatrixOptions::default() };
        let plan = Arc::new(
            MamboPlan::new(
                &params,
                Matrix::new(rows, rows, &w),
                columns,
                &MamboOptions { matrix: own, ..MamboOptions::default() },
            )
            .expect("plan"),
        );
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let matrix = plan.prepare(&ev).expect("keys");
        let fresh = matrix.multiply(&ev, &encrypted(&sk, &plan, &x, false)).expect("product");
        let (got, expected) = (decrypt_complex(&sk, &fresh), product(&w, &x, columns));
        let (measured, predicted) = (
            complex_deviation(&got[..expected.len()], &expected),
            plan.predicted_error().expect("prediction"),
        );
        println!(
            "{rows} rows, ring {:?}: {:.2} bits, predicted {:.2}",
            plan.matrix().chosen().ring,
            -measured.log2(),
            -predicted.log2()
        );
        assert!(measured < 1.25 * predicted, "{rows}: {measured:e}, predicted {predicted:e}");
        rings += usize::from(plan.matrix().chosen().ring.is_some());
    }
    assert!(rings > 4, "{rings}");
}

/// Before a bootstrap, in both orders of its stages: the same products, of the polynomials of the product
/// alone.
#[test]
fn products_before_bootstraps_are_the_products() {
    for (name, levels) in [("insecure_boot", (4, 4)), ("insecure_boot_last", (1, 1))] {
        let params = crate::common::params(name);
        let sk = secret(&params, 3);
        let slots = params.slot_count();
        for (rows, inner, columns, bodies, real) in [
            (1, 1, slots, 1, false),
            (2, 9, slots, 1, true),
            (5, 3, slots, 2, false),
            (2, 3, 2 * slots, 4, false),
            (4, 4, slots, 1, true),
        ] {
            let w = weights(rows, inner, 4);
            let x = complex(inner * columns, 5);
            let x: Vec<Complex64> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
            let bootstrap = BootstrapOptions { bodies, real, rounds: Some(1), ..BootstrapOptions::default() };
            let options = MamboOptions { bootstrap, placement: Placement::Before, ..MamboOptions::default() };
            let plan = Arc::new(
                MamboPlan::new(&params, Matrix::new(rows, inner, &w), columns, &options).expect("plan"),
            );
            assert_eq!(
                (plan.input_level(), plan.matrix().level()),
                (Level(levels.0), Level(levels.1)),
                "{name}"
            );
            let ev = evaluator(&sk, &plan.needs().expect("needs"));
            let (shapes, predicted) = (plan.array_shapes(), plan.predicted_error().expect("prediction"));
            let matrix = plan.prepare(&ev).expect("keys");
            let ct = encrypted(&sk, &plan, &x, real);
            let fresh = matrix.multiply(&ev, &ct).expect("product");
            assert_eq!((fresh.shape(), fresh.level()), (&shapes.1[..], plan.bootstrap().output_level()));
            let (got, expected) = (decrypt_complex(&sk, &fresh), product(&w, &x, columns));
            let measured = complex_deviation(&got, &expected) * if real { 2f64.sqrt() } else { 1.0 };
            println!(
                "{name}, {rows} x {inner}, {bodies} bodies: {:.2} bits, predicted {:.2}",
                -measured.log2(),
                -predicted.log2()
            );
            assert!(
                measured < 1.25 * predicted && measured > 0.3 * predicted,
                "{name}: {measured:e}, predicted {predicted:e}"
            );
        }
    }
}

/// Of the numbers of bodies whose keys are small enough, the plan has the one that makes product and
/// bootstraps fastest.
#[test]
fn the_fastest_number_of_bodies_is_taken() {
    let params = small();
    let (rows, inner, columns) = (16, 32, params.slot_count());
    let w = weights(rows, inner, 2);
    for placement in Placement::ALL {
        let new = |bootstrap: BootstrapOptions, fastest_bodies: bool| {
            let options = MamboOptions { bootstrap, placement, fastest_bodies, ..MamboOptions::default() };
            MamboPlan::new(&params, Matrix::new(rows, inner, &w), columns, &options)
        };
        let plan = new(BootstrapOptions::default(), true).expect("plan");
        let polys = if placement == Placement::Inside { inner } else { rows };
        let product = plan.matrix().chosen().nanoseconds;
        let costs = plan.bootstrap().batch_costs();
        assert!(costs.len() > 2 && plan.bootstrap().bodies() > 1, "{costs:?}");
        assert!(
            plan.bootstrap()
                .explain()
                .expect("text")
                .contains(&format!("for {polys} polynomials, a star marks the choice"))
        );
        for cost in costs {
            let given =
                new(BootstrapOptions { most_key_bytes: Some(cost.key_bytes), ..batch(cost.bodies) }, false)
                    .expect("plan");
            let nanoseconds = given.predicted_nanoseconds().expect("cost").0;
            assert!(
                (nanoseconds - product - cost.nanoseconds * polys as f64).abs() < 1e-3 * nanoseconds,
                "{placement}, {cost:?}"
            );
            assert!(
                plan.predicted_nanoseconds().expect("cost").0 <= 1.001 * nanoseconds,
                "{placement}, {cost:?}"
            );
        }
        let alone = new(batch(1), false).expect("plan").bootstrap().key_bytes().expect("bytes");
        let within = |most: usize| {
            new(BootstrapOptions { most_key_bytes: Some(most), ..BootstrapOptions::default() }, true)
        };
        assert_eq!(within(alone).expect("plan").bootstrap().bodies(), 1);
        assert_refused!(within(1 << 10), CkksError::OutOfRange { .. }, "allow at least");
    }
}

/// A scale that no level has is refused before masks are shared, whatever keys there are.
#[test]
fn another_scale_is_refused_before_masks_are_shared() {
    let params = small();
    let sk = secret(&params, 3);
    for bodies in [1, 4] {
        let plan = BootstrapPlan::with_options(&params, BootstrapOptions { product: true, ..batch(bodies) })
            .expect("plan");
        let (slots, level) = (params.slot_count(), plan.input_level());
        let scale = Some(params.scale(level) * 1.5);
        let options = EncryptOptions {
            level: Some(level),
            encoding: Some(Encoding::Slots),
            scale,
            ..EncryptOptions::default()
        };
        let x = encrypt_as(&sk, &noise(4 * slots, 1), &[4, slots], options, 3);
        let ev = evaluator(&sk, &KeyNeeds::new().conjugate(KeyLevel::Top));
        assert_refused!(plan.slots_to_coefficients(&ev, &x), CkksError::ScaleMismatch { .. }, "scale");
    }
}

/// Few rows of a product from many of a factor: before the bootstrap, which has few polynomials then. The
/// faster placement is taken where there are two.
#[test]
fn the_faster_placement_is_taken() {
    let params = small();
    let slots = params.slot_count();
    let fastest = |rows: usize, inner: usize, columns: usize| {
        let w = weights(rows, inner, 2);
        MamboPlan::fastest(&params, Matrix::new(rows, inner, &w), columns, &MamboOptions::default())
            .expect("plan")
    };
    assert_eq!(fastest(2, 60, slots).placement(), Placement::Before);
    assert_eq!(fastest(16, 16, slots / 4).placement(), Placement::Inside);
    let own = fastest(8, 8, slots);
    for placement in Placement::ALL {
        let options = MamboOptions { placement, ..MamboOptions::default() };
        let plan =
            MamboPlan::new(&params, Matrix::new(8, 8, &weights(8, 8, 2)), slots, &options).expect("plan");
        assert!(
            plan.predicted_nanoseconds().expect("cost").0 >= own.predicted_nanoseconds().expect("cost").0
        );
    }
    let last = crate::common::params("insecure_boot_last");
    let plan =
        MamboPlan::fastest(&last, Matrix::new(1, 1, &[1.0]), slots, &MamboOptions::default()).expect("plan");
    assert_eq!(plan.placement(), Placement::Before);
    let before = MamboOptions { placement: Placement::Before, ..MamboOptions::default() };
    assert_refused!(
        MamboPlan::new(&params, Matrix::new(1, 1, &[1.0]), slots / 2, &before),
        CkksError::OutOfRange { .. },
        "multiple of 512"
    );
    // What it saves is said, against bootstraps one by one.
    let plan = MamboPlan::new(
        &params,
        Matrix::new(8, 8, &weights(8, 8, 2)),
        slots,
        &MamboOptions { bootstrap: batch(4), ..MamboOptions::default() },
    );
    let plan = plan.expect("plan");
    let (all, apart) =
        (plan.predicted_nanoseconds().expect("cost").0, plan.nanoseconds_apart(false).expect("cost"));
    assert!(apart > all, "{apart} and {all}");
    assert!(plan.explain().expect("text").contains(&format!("{:.1} ms saved", (apart - all) / 1e6)));
}

fn batch(bodies: usize) -> BootstrapOptions {
    BootstrapOptions { bodies, ..BootstrapOptions::default() }
}

/// An evaluator that bootstraps by itself puts products of plain matrices inside where levels have run out,
/// and says so.
#[test]
fn products_that_meet_a_bootstrap_are_fused_with_it() {
    let params = small();
    let sk = secret(&params, 8);
    let slots = params.slot_count();
    let (rows, inner) = (3, 5);
    let w = weights(rows, inner, 3);
    for (columns, real) in [(slots, false), (slots - 7, true), (2 * slots - 1, false)] {
        let circuit = |ev: &Evaluator, x: &Ciphertext| {
            let product = array(ev, x).left_multiply(&Matrix::new(rows, inner, &w), None)?;
            ev.rescale(product.data())
        };
        let x = complex(inner * columns, 6);
        let x: Vec<Complex64> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
        let values =
            if real { Values::Real(x.iter().map(|x| x.re).collect()) } else { Values::Complex(x.clone()) };
        let at = |level| EncryptOptions {
            level: Some(Level(level)),
            encoding: Some(Encoding::Slots),
            ..EncryptOptions::default()
        };
        let ct = encrypt_as(&sk, &values, &[inner, columns], at(3), 4);
        let recorder = Evaluator::recording(&params).bootstrapping(None).expect("evaluator");
        let symbol =
            Ciphertext::symbol_with(&params, ct.shape(), *ct.layout(), ct.secret(), ct.level(), ct.scale())
                .expect("symbol");
        let dry = circuit(&recorder, &recorder.take_symbol(symbol, None).expect("symbol")).expect("dry run");
        let ev = evaluator(&sk, &recorder.needs()).bootstrapping(None).expect("evaluator");
        let fresh = circuit(&ev, &ct).expect("product");
        assert_eq!(
            (fresh.shape(), fresh.level(), fresh.scale()),
            (&[rows, columns][..], dry.level(), dry.scale())
        );
        assert_eq!((fresh.level(), fresh.is_complex()), (Level(5), !real));
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &product(&w, &x, columns));
        assert!(error < 2f64.powi(-21), "{columns}: {error:e}");
        let text = array(&ev, &ct).explain_left_multiply(&Matrix::new(rows, inner, &w)).expect("text");
        assert!(
            text.starts_with("3 x 5 matrix inside a bootstrap") && text.contains(" ms saved: "),
            "{text}"
        );
        // A bound that only a dry run knows changes nothing, so that data do what the keys were made for.
        let large: Vec<f64> = w.iter().map(|w| 2.0 * w).collect();
        let bounded = recorder.take_symbol(
            Ciphertext::symbol_with(&params, ct.shape(), *ct.layout(), ct.secret(), ct.level(), ct.scale())
                .expect("symbol"),
            Some(0.1),
        );
        let fused = |w: &[f64], x: &Ciphertext, ev: &Evaluator| {
            multiply_inside_bootstrap(ev, Matrix::new(rows, inner, w), x).expect("a plan").is_some()
        };
        let all = w.chunks(inner).map(|row| row.iter().map(|w| w.abs()).sum()).fold(0.0, f64::max);
        let bounded = bounded.expect("symbol");
        assert_eq!(
            (fused(&w, &bounded, &recorder), fused(&large, &bounded, &recorder)),
            (all <= 1.0, 2.0 * all <= 1.0)
        );
        // With a level to spare the product is one of its own, at that level, and without the keys of the
        // product it is one of a bootstrapped array.
        let above = encrypt_as(&sk, &values, &[inner, columns], at(4), 4);
        assert_eq!(circuit(&ev, &above).expect("product").level(), Level(3));
        let plain = BootstrapPlan::with_options(
            &params,
            BootstrapOptions { slots: Some(slots), ..BootstrapOptions::default() },
        )
        .expect("plan");
        let few = evaluator(&sk, &plain.needs().expect("needs")).bootstrapping(None).expect("evaluator");
        let fresh = circuit(&few, &ct).expect("product");
        assert_eq!(fresh.level(), Level(5));
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &product(&w, &x, columns));
        assert!(error < 2f64.powi(-21), "{columns}: {error:e}");
        let text = array(&few, &ct).explain_left_multiply(&Matrix::new(rows, inner, &w)).expect("text");
        assert!(
            text.starts_with("the array is bootstrapped first, from level 3 to 6")
                && text.contains("\n3 x 5 matrix times"),
            "{text}"
        );
        // Sums along rows that may exceed the range of a bootstrap, and products of many rows from few, are
        // those of the bootstrapped array.
        let large: Vec<f64> = w.iter().map(|w| 8.0 * w).collect();
        assert!(
            multiply_inside_bootstrap(&ev, Matrix::new(rows, inner, &large), &ct)
                .expect("no product")
                .is_none()
        );
        let many = vec![0.1; 40 * inner];
        let both = evaluator(&sk, &recorder.needs().merge(&plain.needs().expect("needs")))
            .bootstrapping(None)
            .expect("evaluator");
        assert!(
            multiply_inside_bootstrap(&both, Matrix::new(40, inner, &many), &ct)
                .expect("no product")
                .is_none()
        );
        assert!(
            multiply_inside_bootstrap(&both, Matrix::new(1, inner, &many[..inner]), &ct)
                .expect("a product")
                .is_some()
        );
        // What cannot be multiplied is refused before a bootstrap.
        let mut wrong = large.clone();
        wrong[4] = f64::NAN;
        for ev in [&ev, &few] {
            let unstarted = array(&ev.watched_by_panic(), &ct);
            assert_refused!(
                unstarted.left_multiply(&Matrix::new(rows, inner, &wrong), None),
                CkksError::NotFinite { index: 4, .. },
                "nan at index (0, 4)"
            );
            assert_refused!(
                unstarted.left_multiply(&Matrix::new(5, 3, &w), None),
                CkksError::Shape { .. },
                "column"
            );
        }
    }
}

fn array(ev: &Evaluator, x: &Ciphertext) -> EncryptedArray {
    EncryptedArray::new(x.clone(), ev)
}

/// An evaluator whose stages must not begin.
trait WatchedByPanic {
    fn watched_by_panic(&self) -> Evaluator;
}

impl WatchedByPanic for Evaluator {
    fn watched_by_panic(&self) -> Evaluator {
        self.clone().with_progress(Progress::new(|event| match event {
            Event::Stage(stage) => panic!("the stage \"{stage}\" began"),
            _ => true,
        }))
    }
}

/// The result of one product is the factor of the next; both are what bootstrap-then-product and
/// product-then-bootstrap give.
#[test]
fn products_follow_one_another() {
    let params = small();
    let sk = secret(&params, 5);
    let slots = params.slot_count();
    let (columns, rows) = (64, 16);
    let (first, second) = (weights(rows, rows, 6), weights(rows, rows, 7));
    let plan = |w: &[f64]| {
        Arc::new(
            MamboPlan::new(&params, Matrix::new(rows, rows, w), columns, &MamboOptions::default())
                .expect("plan"),
        )
    };
    let plans = [plan(&first), plan(&second)];
    let whole = BootstrapPlan::new(&params).expect("plan");
    let needs = plans[0]
        .needs()
        .expect("needs")
        .merge(&plans[1].needs().expect("needs"))
        .merge(&whole.needs().expect("needs"));
    let ev = evaluator(&sk, &needs);
    let x = complex(rows * columns, 8);
    let mut ct = encrypted(&sk, &plans[0], &x, false);
    for plan in &plans {
        let matrix = plan.prepare(&ev).expect("keys");
        ct = matrix.multiply(&ev, &ct).expect("product");
        assert_eq!(ct.shape(), [rows * columns / slots, slots]);
    }
    let expected = product(&second, &product(&first, &x, columns), columns);
    let error = complex_deviation(&decrypt_complex(&sk, &ct), &expected);
    assert!(error < 2f64.powi(-22), "{error:e}");

    // Rows that fill polynomials can be multiplied in slots, before a bootstrap and after it.
    let rows = 4;
    let w = weights(rows, rows, 9);
    let plan = Arc::new(
        MamboPlan::new(&params, Matrix::new(rows, rows, &w), slots, &MamboOptions::default()).expect("plan"),
    );
    let ev = evaluator(&sk, &plan.needs().expect("needs").merge(&whole.needs().expect("needs")));
    let x = complex(rows * slots, 10);
    let above = EncryptOptions { level: Some(Level(whole.input_level().0 + 1)), ..plan.encryption() };
    let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[rows, slots], above, 3);
    let in_slots = |x: &Ciphertext| {
        let weights = Weights::encode(&ev, rows, rows, &w, x).expect("weights");
        ev.rescale(&weights.multiply(&ev, x).expect("product")).expect("a level")
    };
    let before = whole.run(&ev, &in_slots(&ct)).expect("bootstrap");
    let after = in_slots(&whole.run(&ev, &ct).expect("bootstrap"));
    let matrix = plan.prepare(&ev).expect("keys");
    let inside = matrix.multiply(&ev, &ct).expect("product");
    let expected = product(&w, &x, slots);
    for (place, fresh) in [("before", before), ("after", after), ("inside", inside)] {
        let error = complex_deviation(&decrypt_complex(&sk, &fresh), &expected);
        println!("{place}: {:.2} bits", -error.log2());
        assert!(error < 2f64.powi(-22), "{place}: {error:e}");
    }
}

/// A plan with a level for a product is a bootstrap without one, too.
#[test]
fn a_level_for_a_product_may_stay_unused() {
    let params = small();
    let sk = secret(&params, 6);
    for bodies in [1, 2] {
        let options = BootstrapOptions { product: true, bodies, ..BootstrapOptions::default() };
        let x = complex(2 * params.slot_count(), 11);
        let (got, plan) =
            bootstrapped(&params, &sk, options, &Values::Complex(x.clone()), &[2, params.slot_count()]);
        let (measured, predicted) =
            (complex_deviation(&got, &x), plan.predicted_error().expect("prediction").deviation());
        assert!((0.85..1.15).contains(&(measured / predicted)), "{bodies}: {}", measured / predicted);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let params = small();
    let sk = secret(&params, 7);
    let slots = params.slot_count();
    let new = |shape: (usize, usize), values: &[f64], columns: usize, options: &MamboOptions| {
        MamboPlan::new(&params, Matrix::new(shape.0, shape.1, values), columns, options)
    };
    let options = MamboOptions::default();
    assert_refused!(new((1, 1), &[1.0], 3, &options), CkksError::OutOfRange { .. }, "power of two up to 512");
    assert_refused!(
        new((1, 1), &[1.0], 2 * slots - 2, &options),
        CkksError::OutOfRange { .. },
        "or a multiple"
    );
    assert_refused!(new((1, 1), &[1.0], 0, &options), CkksError::OutOfRange { .. }, "power of two");
    assert_refused!(new((2, 2), &[1.0; 3], slots, &options), CkksError::Shape { .. }, "rows * columns");
    assert_refused!(
        new((0, 2), &[], slots, &options),
        CkksError::Empty { .. },
        "no entries",
        "no entries",
        "no entries",
        "0"
    );
    assert_refused!(new((1, 1), &[f64::NAN], slots, &options), CkksError::NotFinite { .. }, "nan");
    let rounds = MamboOptions {
        bootstrap: BootstrapOptions { rounds: Some(2), ..BootstrapOptions::default() },
        ..options
    };
    assert_refused!(new((1, 1), &[1.0], slots, &rounds), CkksError::OutOfRange { .. }, "rounds");
    let last = crate::common::params("insecure_boot_last");
    assert_refused!(
        MamboPlan::new(&last, Matrix::new(1, 1, &[1.0]), 8, &options),
        CkksError::Unsupported { .. },
        "cannot be bootstrapped",
        "slots-to-coefficients first"
    );
    for placement in Placement::ALL {
        let half = MamboOptions {
            bootstrap: BootstrapOptions { half: true, ..BootstrapOptions::default() },
            placement,
            ..options
        };
        assert_refused!(
            new((1, 1), &[1.0], slots, &half),
            CkksError::Unsupported { .. },
            "cannot be bootstrapped",
            "leave `half` out"
        );
    }
    let before = MamboOptions { placement: Placement::Before, ..options };
    let plan = Arc::new(new((2, 2), &[0.5; 4], slots, &before).expect("plan"));
    let own = evaluator(&sk, &plan.needs().expect("needs"));
    let matrix = plan.prepare(&own).expect("keys");
    let few = EncryptOptions { capacity: Some(slots / 2), ..plan.encryption() };
    let few = encrypt_as(&sk, &Values::Real(vec![0.5; 2 * slots]), &[2, slots], few, 1);
    assert_refused!(matrix.multiply(&own, &few), CkksError::Shape { .. }, "capacity of 512");
    let plan = Arc::new(new((2, 2), &[0.5; 4], slots, &options).expect("plan"));
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    let matrix = plan.prepare(&ev).expect("keys");
    let three = encrypt_as(&sk, &Values::Real(vec![0.5; 3 * slots]), &[3, slots], plan.encryption(), 1);
    assert_refused!(matrix.multiply(&ev, &three), CkksError::Shape { .. }, "X.reshape(-1, 512)");
    let two = encrypt_as(&sk, &Values::Real(vec![0.5; 2 * slots]), &[2, slots], plan.encryption(), 1);
    let real =
        MamboOptions { bootstrap: BootstrapOptions { real: true, ..BootstrapOptions::default() }, ..options };
    let real = Arc::new(new((2, 2), &[0.5; 4], slots, &real).expect("plan"));
    let own = real.prepare(&evaluator(&sk, &real.needs().expect("needs"))).expect("keys");
    let pairs = encrypt_as(&sk, &Values::Complex(complex(2 * slots, 1)), &[2, slots], plan.encryption(), 1);
    assert_refused!(own.multiply(&ev, &pairs), CkksError::Unsuitable { .. }, "plan is for real numbers");
    let few = evaluator(&sk, &plan.matrix().needs());
    assert_refused!(matrix.multiply(&few, &two), CkksError::MissingKeys { .. }, "bootstrap");
    // Every stage can be the last one.
    for stop in [1, 3, 6] {
        let stopped = matrix.multiply(&ev.clone().with_progress(cancelling_after(stop - 1)), &two);
        assert_refused!(stopped, CkksError::Cancelled, "stopped by the progress");
    }
    assert_refused!(
        matrix.multiply(&ev.clone().with_progress(cancelling_after(0)), &two),
        CkksError::Cancelled,
        "stopped by the progress"
    );
    let low = ev.drop_to_level(&two, Level(plan.bootstrap().input_level().0 - 1)).expect("a level");
    assert_refused!(matrix.multiply(&ev, &low), CkksError::LevelTooLow { .. }, "level");
}
