//! Dry runs: the code that computes, run on symbols, tells keys, levels, cost by stage, memory and error
//! before any key exists.

use std::sync::{Arc, Mutex};

use crate::common::measure::phases;
use crate::common::{custom, encrypt_as, evaluator, params, ramp, secret};
use clathrate_ckks::Weights;
use clathrate_ckks::circuits::polynomial::UNIT_DOMAIN;
use clathrate_ckks::keys::{EncryptOptions, Operation, SecretName, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, Event, Params, Polynomial, PolynomialBasis, Progress,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

/// `(x^2 + 3 x) w`, then the sum with its rotation by 4 and by 1: written once.
fn circuit(ev: &Evaluator, x: &Ciphertext, weights: &Values) -> Result<Ciphertext, CkksError> {
    let y = ev.stage("polynomial", || {
        let square = ev.multiply_rescale(x, x)?;
        ev.add(&square, &ev.multiply_integer(x, 3)?)
    })?;
    ev.stage("weights", || {
        let product = ev.multiply_plain(&y, weights)?;
        let product = ev.stage("rescale", || ev.rescale(&product))?;
        let turned = ev.rotate_many(&product, &[4, 1])?;
        ev.add(&ev.add(&product, &turned[0])?, &turned[1])
    })
}

fn expected(x: &[f64], w: &[f64]) -> Vec<f64> {
    let y: Vec<f64> = x.iter().zip(w).map(|(x, w)| (x * x + 3.0 * x) * w).collect();
    (0..y.len()).map(|i| y[i] + y[(i + 4) % y.len()] + y[(i + 1) % y.len()]).collect()
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn errors_stay_below_their_predicted_bounds_and_near_them() {
    for name in ["insecure_small", "insecure_rank2", "insecure_dpad", "insecure_deep"] {
        let params = params(name);
        let recorder = Evaluator::recording(&params);
        let count = params.slot_count();
        let weights = Values::Real(ramp(count).iter().map(|v| 0.5 - v).collect());
        let symbol = recorder.symbol(&[count], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
        let planned = circuit(&recorder, &symbol, &weights).expect("a dry run");
        let owner = secret(&params, 3);
        let keys = owner.evaluation_keys(&recorder.needs()).expect("keys");
        let evaluator = Evaluator::with_keys(Arc::new(keys));
        let x: Vec<f64> = (0..count).map(|i| ((i * 37 % 101) as f64 / 50.0 - 1.0).clamp(-1.0, 1.0)).collect();
        let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
        let public = owner.public_key().expect("a key");
        let ct = public.encrypt_array(&x, &[count], options).expect("a ciphertext");
        let y = circuit(&evaluator, &ct, &weights).expect("the circuit");
        assert_eq!((y.level(), y.scale()), (planned.level(), planned.scale()), "{name}");
        let Values::Real(weights) = &weights else { unreachable!("real weights") };
        let wanted = expected(&x, weights);
        let errors: Vec<f64> =
            crate::common::decrypt(&owner, &y).iter().zip(&wanted).map(|(a, b)| a - b).collect();
        crate::common::measure::assert_errors(&errors, &planned, name);
        let (largest, bound) =
            (wanted.iter().fold(0.0f64, |most, v| most.max(v.abs())), planned.bound().expect("a bound"));
        assert!(largest <= bound && bound <= 64.0, "{name}: {largest} against {bound}");
        // Data that is encrypted with the same bound says the same as the dry run.
        let bounded = public
            .encrypt_array(&x, &[count], EncryptOptions { bound: Some(1.0), ..options })
            .expect("a ciphertext");
        let y = circuit(&evaluator, &bounded, &Values::Real(weights.clone())).expect("the circuit");
        assert_eq!(y.bound(), planned.bound(), "{name}");
        let recorder = Evaluator::recording_for(&params, recorder.needs());
        let symbol = recorder.symbol(&[count], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
        let planned = circuit(&recorder, &symbol, &Values::Real(weights.clone())).expect("a dry run");
        let near =
            |x: Option<f64>, y: Option<f64>| (x.expect("known") / y.expect("known") - 1.0).abs() < 1e-6;
        assert!(
            near(y.error_rms(), planned.error_rms()) && near(y.error_bound(), planned.error_bound()),
            "{name}"
        );
        assert!(
            circuit(&evaluator, &ct, &Values::Real(weights.clone()))
                .expect("the circuit")
                .error_bound()
                .is_none(),
            "nothing is declared"
        );
    }
}

#[test]
fn cost_is_booked_under_the_stages_of_the_circuit() {
    let params = params("insecure_small");
    let weights = Values::Real(vec![0.5; 8]);
    let run = |rows: usize| {
        let recorder = Evaluator::recording(&params);
        let x = recorder.symbol(&[rows, 8], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
        let weights = Values::Real([0.5; 8].repeat(rows));
        circuit(&recorder, &x, &weights).expect("a dry run");
        recorder.recorded()
    };
    let (one, three) = (run(1), run(3));
    let names: Vec<&str> = one.stages().iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["polynomial", "weights", "weights/rescale"]);
    for (x, y) in one.stages().iter().zip(three.stages()) {
        assert!(x.cost.nanoseconds > 0.0, "{}", x.name);
        assert!(
            (y.cost.nanoseconds / x.cost.nanoseconds - 3.0).abs() < 1e-9
                && y.cost.transforms == 3.0 * x.cost.transforms,
            "{}",
            x.name
        );
    }
    // A rescale at rank 1: each prime of the level is transformed once for each of two polynomials.
    let level = Level(params.max_level().0 - 1);
    assert_eq!(one.stages()[2].cost.transforms, 2.0 * params.chain().basis(level).len() as f64);
    let cost = one.cost();
    assert!(
        (cost.nanoseconds - one.stages().iter().map(|stage| stage.cost.nanoseconds).sum::<f64>()).abs() < 1.0
    );
    // Two rotations of one ciphertext cost less than twice one: they share the decomposition.
    let rotations = |steps: &[&[i64]]| {
        let recorder = Evaluator::recording(&params);
        let x = recorder
            .symbol(&[params.slot_count()], Encoding::Slots, params.max_level(), 1.0)
            .expect("a symbol");
        steps.iter().for_each(|steps| drop(recorder.rotate_many(&x, steps).expect("rotations")));
        recorder.recorded().cost().nanoseconds
    };
    let (apart, together) = (rotations(&[&[1], &[2]]), rotations(&[&[1, 2]]));
    let shared = params
        .operation_cost(Operation::Rotate { secret: SecretName::Main, steps: 1 }, params.max_level())
        .expect("a cost")
        .nanoseconds
        * 2.0;
    assert!(
        (apart - shared).abs() < 1.0 && together < 0.95 * apart && together > 0.4 * apart,
        "{together} against {apart}"
    );
    let _ = weights;
}

#[test]
fn peak_memory_is_what_is_alive_at_once() {
    let params = params("insecure_small");
    let recorder = Evaluator::recording(&params);
    let bytes =
        |level: usize, rows: usize| rows * 2 * params.chain().basis(Level(level)).len() * params.degree() * 8;
    let top = params.max_level().0;
    let x = recorder.symbol(&[3, 8], Encoding::Slots, Level(top), 1.0).expect("a symbol");
    assert_eq!((x.predicted_bytes(), recorder.recorded().peak_array_bytes()), (bytes(top, 3), bytes(top, 3)));
    let y = recorder.drop_to_level(&x, Level(0)).expect("level 0");
    assert!(recorder.recorded().peak_array_bytes() >= bytes(top, 3) + bytes(0, 3));
    drop(x);
    let before = recorder.recorded().peak_array_bytes();
    let z = recorder.negate(&y).expect("a negation");
    assert_eq!(recorder.recorded().peak_array_bytes(), before, "less is alive than at the peak");
    // What the dry run says is what data takes.
    let owner = secret(&params, 1);
    let options = EncryptOptions {
        encoding: Some(Encoding::Slots),
        level: Some(Level(0)),
        ..EncryptOptions::default()
    };
    let data = encrypt_as(&owner, &Values::Real(vec![0.0; 24]), &[3, 8], options, 1);
    assert_eq!((data.bytes(), z.predicted_bytes()), (bytes(0, 3), bytes(0, 3)));
    // A matrix of many rows makes a result larger than its input.
    let recorder = Evaluator::recording(&params);
    let x = recorder.symbol(&[3, 8], Encoding::Slots, Level(top), 1.0).expect("a symbol");
    let weights = Weights::encode(&recorder, 40, 3, &[0.5; 120], &x).expect("weights");
    let product = weights.multiply(&recorder, &x).expect("a product");
    assert_eq!(
        (product.predicted_bytes(), recorder.recorded().peak_array_bytes()),
        (bytes(top, 40), bytes(top, 43))
    );
}

#[test]
fn watchers_hear_the_stages_and_can_cancel() {
    let params = params("insecure_small");
    let owner = secret(&params, 1);
    let recorder = Evaluator::recording(&params);
    let count = params.slot_count();
    let weights = Values::Real(vec![0.5; count]);
    let symbol = recorder.symbol(&[count], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
    circuit(&recorder, &symbol, &weights).expect("a dry run");
    let keys = Arc::new(owner.evaluation_keys(&recorder.needs()).expect("keys"));
    let x = crate::common::encrypt(&owner, &vec![0.25; count]);
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = heard.clone();
    let watched = Evaluator::with_keys(keys.clone()).with_progress(Progress::new(move |event| {
        if let Event::Stage(name) = event {
            log.lock().expect("not poisoned").push(name.to_owned());
        }
        true
    }));
    circuit(&watched, &x, &weights).expect("the circuit");
    assert_eq!(*heard.lock().expect("not poisoned"), ["polynomial", "weights", "rescale"]);
    let stopped =
        Evaluator::with_keys(keys).with_progress(Progress::new(|event| event != Event::Stage("weights")));
    assert!(matches!(circuit(&stopped, &x, &weights), Err(CkksError::Cancelled)));
}

#[test]
fn symbols_with_bounds_belong_to_dry_runs() {
    let params: Params = params("insecure_small");
    let refused = Evaluator::new(&params).symbol(&[8], Encoding::Slots, Level(0), 1.0);
    assert!(matches!(refused, Err(CkksError::Symbol { .. })));
    for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Evaluator::recording(&params).symbol(&[8], Encoding::Slots, Level(0), bound);
        assert!(matches!(refused, Err(CkksError::OutOfRange { .. })), "{bound}");
    }
}

#[test]
fn polynomials_and_matrix_products_carry_bounds_and_footprints() {
    let params = params("insecure_deep");
    let (rows, out, columns) = (6, 3, params.slot_count());
    let values: Vec<f64> = (0..out * rows).map(|i| (i * 29 % 41) as f64 / 41.0 - 0.5).collect();
    let p = Polynomial::new(vec![0.1, 0.8, -0.3, 0.25, 0.0, 0.125], PolynomialBasis::Power, UNIT_DOMAIN)
        .expect("a polynomial");
    let recorder = Evaluator::recording(&params);
    let symbol =
        recorder.symbol(&[rows, columns], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
    let run = |ev: &Evaluator, x: &Ciphertext| {
        let y = p.apply(ev, x).expect("a polynomial");
        let weights = Weights::encode(ev, out, rows, &values, &y).expect("weights");
        ev.rescale(&weights.multiply(ev, &y).expect("a product")).expect("a rescale")
    };
    let planned = run(&recorder, &symbol);
    // Products of ciphertexts, multiples and rescales of the polynomial are booked, beside its switches.
    let recorded = recorder.recorded();
    let switches: f64 = {
        let plan = p.plan(&params, params.max_level()).expect("a plan");
        plan.nodes().iter().map(|node| node.products() as f64).sum()
    };
    assert!(
        switches > 0.0
            && recorded.cost().hadamard_products >= switches * params.tensor_cost(Level(1)).hadamard_products
    );

    let owner = secret(&params, 3);
    let evaluator = Evaluator::with_keys(Arc::new(owner.evaluation_keys(&recorder.needs()).expect("keys")));
    let x: Vec<f64> =
        (0..rows * columns).map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0).map(|v| v.clamp(-1.0, 1.0)).collect();
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let public = owner.public_key().expect("a key");
    let ct = public.encrypt_array(&x, &[rows, columns], options).expect("a ciphertext");
    let y = run(&evaluator, &ct);
    assert_eq!((y.level(), y.scale(), y.shape()), (planned.level(), planned.scale(), planned.shape()));
    let inner: Vec<f64> = x.iter().map(|&x| p.evaluate_real(x)).collect();
    let entry =
        |i: usize, j: usize| (0..rows).map(|k| values[i * rows + k] * inner[k * columns + j]).sum::<f64>();
    let wanted: Vec<f64> = (0..out * columns).map(|at| entry(at / columns, at % columns)).collect();
    let errors: Vec<f64> =
        crate::common::decrypt(&owner, &y).iter().zip(&wanted).map(|(a, b)| a - b).collect();
    crate::common::measure::assert_errors(&errors, &planned, "a polynomial and a matrix");
    let (largest, bound) =
        (wanted.iter().fold(0.0f64, |most, v| most.max(v.abs())), planned.bound().expect("a bound"));
    assert!(largest <= bound && bound <= 16.0, "{largest} against {bound}");

    // Powers of larger numbers are what they are; twice the domain of an approximation is refused.
    let wide = recorder.symbol(&[8], Encoding::Slots, params.max_level(), 2.0).expect("a symbol");
    let (value, most) = (p.apply(&recorder, &wide).expect("a polynomial"), 0.1 + 1.6 + 1.2 + 2.0 + 4.0);
    assert!(value.bound().expect("a bound") <= most + 1e-9 && value.bound() > Some(p.evaluate_real(2.0)));
    let fit = Polynomial::fit(f64::cos, 5, UNIT_DOMAIN).expect("a polynomial");
    let refused = fit.apply(&recorder, &wide);
    assert!(
        matches!(&refused, Err(CkksError::TooLarge { reason }) if reason.contains("as large as 2.000e0, and the polynomial is made for")),
        "{refused:?}"
    );
}

#[test]
fn symbols_taken_into_a_dry_run_count_and_carry_bounds_where_these_are_given() {
    let params = params("insecure_small");
    let (count, top) = (params.slot_count(), params.max_level());
    let scale = params.scale(top);
    let symbol = |complex: bool, scale: f64| {
        Ciphertext::symbol(&params, &[count], Encoding::Slots, complex, top, scale).expect("a symbol")
    };
    let recorder = Evaluator::recording(&params);
    // With the level's own scale, this is what the evaluator makes itself.
    let taken = recorder.take_symbol(symbol(false, scale), Some(2.0)).expect("taken");
    let made = recorder.symbol(&[count], Encoding::Slots, top, 2.0).expect("a symbol");
    assert_eq!(
        (taken.bound(), taken.error_rms(), taken.error_bound()),
        (made.bound(), made.error_rms(), made.error_bound())
    );
    drop(made);
    let open = recorder.take_symbol(symbol(true, scale), None).expect("taken");
    assert!(open.bound().is_none() && open.error_rms().is_some() && open.is_complex());
    assert_eq!(
        recorder.recorded().peak_array_bytes(),
        2 * open.predicted_bytes(),
        "the second of three was dropped before the third"
    );
    // A number without a bound leaves no sum, difference or product with one, whichever is on the left, and
    // no product with a known error.
    for (x, y) in [(&taken, &open), (&open, &taken)] {
        let results = [
            recorder.add(x, y),
            recorder.sub(x, y),
            recorder.multiply(x, y),
            recorder.multiply_rescale(x, y),
        ];
        assert!(results.iter().all(|z| z.as_ref().expect("computed").bound().is_none()));
        let known: Vec<bool> =
            results.iter().map(|z| z.as_ref().expect("computed").error_rms().is_some()).collect();
        assert_eq!(known, [true, true, false, false]);
    }
    // At a scale of its own the same encryption error is a larger or smaller error of the numbers.
    let finer = recorder
        .take_symbol(symbol(false, 4.0 * scale), Some(2.0))
        .expect("taken")
        .error_rms()
        .expect("known");
    assert!((taken.error_rms().expect("known") / finer - 4.0).abs() < 1e-9);

    // Numbers that encryption would refuse, by the same border.
    let headroom = (params.log2_q(top) - 2.0 - scale.log2()).exp2();
    assert!(recorder.take_symbol(symbol(false, scale), Some(0.999 * headroom)).is_ok());
    let large = recorder.take_symbol(symbol(false, scale), Some(1.001 * headroom));
    assert!(
        matches!(&large, Err(CkksError::TooLarge { reason, .. }) if reason.contains("by the bound on the inputs")),
        "{large:?}"
    );

    let data = crate::common::encrypt(&secret(&params, 1), &[1.0]);
    assert!(matches!(recorder.take_symbol(data, Some(1.0)), Err(CkksError::Unsuitable { .. })));
    assert!(matches!(
        Evaluator::new(&params).take_symbol(symbol(false, scale), None),
        Err(CkksError::Symbol { .. })
    ));
    let other = crate::common::params("insecure_tiny");
    assert!(matches!(
        Evaluator::recording(&other).take_symbol(symbol(false, scale), None),
        Err(CkksError::WrongParams { .. })
    ));
}

#[test]
fn stages_opened_by_hand_are_those_of_functions() {
    let params = params("insecure_small");
    let run = |by_hand: bool| {
        let recorder = Evaluator::recording(&params);
        let x = recorder.symbol(&[8], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
        if by_hand {
            recorder.enter_stage("outer");
            recorder.enter_stage("inner");
            recorder.negate(&x).expect("a negation");
            recorder.leave_stage();
            recorder.leave_stage();
            // Nothing is open any more.
            recorder.leave_stage();
        } else {
            recorder.stage("outer", || recorder.stage("inner", || recorder.negate(&x))).expect("a negation");
        }
        recorder.negate(&x).expect("a negation");
        recorder.recorded()
    };
    let (by_hand, by_function) = (run(true), run(false));
    assert_eq!(by_hand.stages(), by_function.stages());
    assert_eq!(by_hand.to_string(), by_function.to_string());
    let names: Vec<&str> = by_hand.stages().iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["outer/inner", "operations"]);
    Evaluator::new(&params).enter_stage("on data nothing happens");
    assert!(Evaluator::new(&params).recorded().stages().is_empty());
}

#[test]
fn errors_of_polynomials_of_products_that_are_not_rescaled_stay_near_their_bound() {
    let params = params("insecure_deep");
    let count = params.slot_count();
    let p = Polynomial::new(vec![0.1, 0.8, -0.3, 0.25], PolynomialBasis::Power, UNIT_DOMAIN)
        .expect("a polynomial");
    let run = |ev: &Evaluator, x: &Ciphertext| {
        p.apply(ev, &ev.multiply_scalar(x, 0.75).expect("a product")).expect("a polynomial")
    };
    let recorder = Evaluator::recording(&params);
    let symbol = recorder.symbol(&[count], Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
    let planned = run(&recorder, &symbol);
    let owner = secret(&params, 5);
    let evaluator = Evaluator::with_keys(Arc::new(owner.evaluation_keys(&recorder.needs()).expect("keys")));
    let x = ramp(count);
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let ct = owner
        .public_key()
        .expect("a key")
        .encrypt_array(&Values::Real(x.clone()), &[count], options)
        .expect("a ciphertext");
    let y = run(&evaluator, &ct);
    assert_eq!((y.level(), y.scale()), (planned.level(), planned.scale()));
    let errors: Vec<f64> = crate::common::decrypt(&owner, &y)
        .iter()
        .zip(&x)
        .map(|(y, &x)| y - p.evaluate_real(0.75 * x))
        .collect();
    crate::common::measure::assert_errors(&errors, &planned, "a polynomial of a product");
}

#[test]
fn bounds_hold_for_complex_numbers_that_are_pairs_of_coefficients() {
    let params = params("insecure_small");
    let owner = secret(&params, 6);
    let numbers: Vec<Complex64> = phases(2 * params.slot_count(), 3);
    let shape = [2, params.slot_count()];
    // Nothing but the rounding of the plaintext is left in `0 x + numbers`, apart from the real and the
    // imaginary part.
    let circuit = |ev: &Evaluator, x: &Ciphertext| {
        ev.add_plain(&ev.multiply_integer(x, 0)?, &Values::Complex(numbers.clone()))
    };
    let recorder = Evaluator::recording(&params);
    let (level, encoding) = (params.max_level(), Encoding::Coefficients);
    let symbol =
        Ciphertext::symbol(&params, &shape, encoding, true, level, params.scale(level)).expect("a symbol");
    let planned =
        circuit(&recorder, &recorder.take_symbol(symbol, Some(1.0)).expect("taken")).expect("a sum");
    let options = EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() };
    let x = encrypt_as(&owner, &Values::Complex(numbers.clone()), &shape, options, 2);
    let got = owner
        .decrypt(&circuit(&Evaluator::new(&params), &x).expect("a sum"))
        .expect("decrypt")
        .into_complex();
    let measured =
        rms(&got.iter().zip(&numbers).map(|(got, number)| (got - number).norm()).collect::<Vec<_>>());
    let bound = planned.error_rms().expect("known");
    assert!(measured < 1.1 * bound && measured > 0.5 * bound, "{measured:e}, bound {bound:e}");
}

#[test]
fn bounds_hold_for_samples_that_are_packed_into_polynomials() {
    let params = custom(
        "name = \"four\"\ndegree = 32\nrank = 4\nsteps = [[30, 30], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n",
    );
    let owner = secret(&params, 7);
    let numbers = ramp(100);
    for from_samples in [true, false] {
        let circuit = |ev: &Evaluator, x: &Ciphertext| {
            if from_samples { ev.to_rlwe(&ev.to_lwe(x)?) } else { ev.to_rlwe(x) }
        };
        let recorder = Evaluator::recording(&params);
        let symbol = recorder
            .symbol(&[numbers.len()], Encoding::Coefficients, params.max_level(), 1.0)
            .expect("a symbol");
        let planned = circuit(&recorder, &symbol).expect("packed");
        let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
        let x = encrypt_as(&owner, &Values::Real(numbers.clone()), &[numbers.len()], options, 2);
        let got = owner
            .decrypt(&circuit(&evaluator(&owner, &recorder.needs()), &x).expect("packed"))
            .expect("decrypt")
            .into_real()
            .expect("real");
        let measured = rms(&got.iter().zip(&numbers).map(|(got, number)| got - number).collect::<Vec<_>>());
        let bound = planned.error_bound().expect("known");
        assert!(measured < bound, "{measured:e}, bound {bound:e}");
    }
}

#[test]
fn polynomials_of_complex_numbers_are_bounded_by_more_than_their_values_on_an_interval() {
    let params = params("insecure_small");
    let p =
        Polynomial::new(vec![0.0, 0.0, 1.0], PolynomialBasis::Chebyshev, UNIT_DOMAIN).expect("a polynomial");
    // T_2(i) = -3, though T_2 is at most 1 on the interval.
    let recorder = Evaluator::recording(&params);
    let level = params.max_level();
    for (complex, largest) in [(false, 1.0), (true, 3.0)] {
        let symbol = Ciphertext::symbol(&params, &[8], Encoding::Slots, complex, level, params.scale(level))
            .expect("a symbol");
        let x = recorder.take_symbol(symbol, Some(1.0)).expect("taken");
        let result = p.apply(&recorder, &x).expect("a polynomial");
        let bound = result.bound().expect("a bound");
        assert!(bound >= largest && bound <= 1.2 * largest, "{bound}");
        assert_eq!(result.error_bound().is_some(), !complex);
    }
}

#[test]
fn refused_products_are_not_written_down() {
    let params = params("insecure_small");
    let recorder = Evaluator::recording(&params);
    let symbol = |count: usize, encoding| {
        recorder.symbol(&[count], encoding, params.max_level(), 1.0).expect("a symbol")
    };
    let (x, y, dense) =
        (symbol(8, Encoding::Slots), symbol(4, Encoding::Slots), symbol(8, Encoding::Coefficients));
    for (x, y) in [(&x, &y), (&dense, &dense)] {
        assert!(recorder.multiply(x, y).is_err() && recorder.multiply_rescale(x, y).is_err());
    }
    assert!(recorder.needs().is_empty());
    // Without keys, too, the operands are what the error is about.
    let owner = secret(&params, 8);
    let data = |count| encrypt_as(&owner, &Values::Real(ramp(count)), &[count], EncryptOptions::default(), 1);
    assert!(matches!(Evaluator::new(&params).multiply(&data(8), &data(4)), Err(CkksError::Shape { .. })));
}

#[test]
fn dry_runs_of_arrays_that_no_memory_holds_take_none() {
    let params = params("insecure_small");
    let recorder = Evaluator::recording(&params);
    let symbol =
        |shape: &[usize]| recorder.symbol(shape, Encoding::Slots, params.max_level(), 1.0).expect("a symbol");
    let shared = recorder.share_mask(&symbol(&[1 << 40, 4]), 16).expect("shared");
    assert_eq!(shared.layout().bundles(), 1 << 36);
    // Rows of many chunks, and many rows.
    for shape in [[1, 1 << 47], [1 << 40, 4]] {
        let total = recorder.total(&symbol(&shape)).expect("a sum");
        assert_eq!(total.shape(), [shape[0], 1]);
    }
}

/// Sums of rows, of numbers within rows, weighted or not, and columns as vectors: on data and on symbols.
#[test]
fn errors_of_sums_stay_near_their_bound() {
    type Reduction = dyn Fn(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>;
    let params = params("insecure_small");
    let (rows, columns) = (24, 37);
    let (data, weights) = (ramp(rows * columns), ramp(columns));
    let row_sums: Vec<f64> = data.chunks(columns).map(|row| row.iter().sum()).collect();
    let weighted: Vec<f64> =
        data.chunks(columns).map(|row| row.iter().zip(&weights).map(|(x, w)| x * w).sum()).collect();
    let column_sums: Vec<f64> =
        (0..columns).map(|column| (0..rows).map(|row| data[row * columns + column]).sum()).collect();
    let halves: Vec<f64> = row_sums.iter().map(|sum| 0.5 * sum).collect();
    let cases: [(&str, Box<Reduction>, &[f64], bool); 4] = [
        ("sums of rows", Box::new(|ev, x| ev.total(x)), &row_sums, true),
        (
            "weighted sums",
            Box::new(|ev, x| ev.total_weighted(x, &ramp(x.layout().columns()))),
            &weighted,
            true,
        ),
        ("sum of all rows", Box::new(|ev, x| ev.sum_of_rows(x)), &column_sums, true),
        ("a column as a vector", Box::new(|ev, x| ev.column_to_vector(&ev.total(x)?, 0.5)), &halves, false),
    ];
    let owner = secret(&params, 11);
    for (what, run, expected, both) in &cases {
        for encoding in [Encoding::Slots, Encoding::Coefficients].into_iter().take(1 + usize::from(*both)) {
            let recorder = Evaluator::recording(&params);
            let symbol =
                recorder.symbol(&[rows, columns], encoding, params.max_level(), 1.0).expect("a symbol");
            let planned = run(&recorder, &symbol).expect("planned");
            let evaluator =
                Evaluator::with_keys(Arc::new(owner.evaluation_keys(&recorder.needs()).expect("keys")));
            assert!(
                encoding == Encoding::Slots || recorder.needs().is_empty(),
                "{what}: coefficients need no key"
            );
            let options = EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() };
            let public = owner.public_key().expect("a key");
            let x = public
                .encrypt_array(&Values::Real(data.clone()), &[rows, columns], options)
                .expect("a ciphertext");
            let y = run(&evaluator, &x).expect("computed");
            assert_eq!(
                (y.level(), y.scale(), y.shape(), y.layout()),
                (planned.level(), planned.scale(), planned.shape(), planned.layout())
            );
            let errors: Vec<f64> =
                crate::common::decrypt(&owner, &y).iter().zip(*expected).map(|(y, x)| y - x).collect();
            assert_eq!(errors.len(), expected.len(), "{what}");
            crate::common::measure::assert_errors(&errors, &planned, &format!("{what}, {encoding:?}"));
            let bound = planned.bound().expect("a bound");
            assert!(expected.iter().all(|x| x.abs() <= bound), "{what}: magnitudes");
        }
    }
}
