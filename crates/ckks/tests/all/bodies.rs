//! Arrays of several bodies under one mask: encryption, arithmetic, files, changes of secret, at ranks 1 and
//! 2, in both encodings.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{
    EncryptOptions, HonestEvaluator, KeyLevel, KeyName, Switch, Values, format_switch_rounds,
};
use clathrate_ckks::{
    BodyAxis, Ciphertext, CkksError, Encoding, EvaluationKeys, Evaluator, KeyNeeds, Order, Params,
    Polynomial, PolynomialBasis, SecretKey, SecretName,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

const BODIES: [usize; 4] = [1, 2, 3, 8];

/// Rank 1 at degree 64 and rank 2 at degree 32.
fn sets() -> [Params; 2] {
    let rank2 = "name = \"two\"\ndegree = 32\nrank = 2\nsteps = [[30, 30], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n";
    [params("insecure_tiny"), custom(rank2)]
}

fn options(encoding: Encoding, bodies: usize, axis: BodyAxis) -> EncryptOptions {
    EncryptOptions {
        encoding: Some(encoding),
        bodies: Some(bodies),
        axis: Some(axis),
        ..EncryptOptions::default()
    }
}

/// `count` numbers without a pattern, real or complex.
fn values(count: usize, complex: bool, seed: u64) -> Values {
    if complex { Values::Complex(phases(count, seed)) } else { Values::Real(noise(count, seed)) }
}

fn complex(values: &Values) -> Vec<Complex64> {
    match values {
        Values::Real(values) => values.iter().map(|&v| v.into()).collect(),
        Values::Complex(values) => values.clone(),
    }
}

fn numbers(sk: &SecretKey, x: &Ciphertext) -> Vec<Complex64> {
    complex(&sk.decrypt(x).expect("decrypt"))
}

fn worst(got: &[Complex64], expected: &[Complex64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    got.iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// What no error of a few thousand numbers exceeds where every coefficient's error has this variance, in
/// units of the numbers.
fn bound(params: &Params, encoding: Encoding, variance: f64, scale: f64) -> f64 {
    let spread = if encoding == Encoding::Slots { params.degree() as f64 } else { 2.0 };
    clathrate_lattice::noise::bound(variance * spread, 1 << 14, 20.0) / scale
}

fn assert_same(a: &Ciphertext, b: &Ciphertext) {
    assert_eq!(
        (a.shape(), a.layout(), a.level(), a.secret(), a.key_id()),
        (b.shape(), b.layout(), b.level(), b.secret(), b.key_id())
    );
    assert_eq!(a.scale().to_bits(), b.scale().to_bits());
    assert!(a.bundles() == b.bundles());
    assert!(a.bundles().iter().zip(b.bundles()).all(|(a, b)| a.seed() == b.seed()));
}

fn read(bytes: &[u8], params: &Params) -> Result<Ciphertext, CkksError> {
    Ciphertext::from_reader(&FileReader::from_bytes(bytes)?, params)
}

#[test]
fn arrays_of_any_number_of_bodies_decrypt_to_what_was_encrypted() {
    for params in sets() {
        let sk = secret(&params, 1);
        let degree = params.degree();
        for bodies in BODIES {
            for encoding in [Encoding::Slots, Encoding::Coefficients] {
                for axis in [BodyAxis::Rows, BodyAxis::Chunks] {
                    for (shape, is_complex) in [
                        (vec![7], false),
                        (vec![3 * degree + 1], false),
                        (vec![5, 9], true),
                        (vec![10, degree], false),
                        (vec![2, 2 * degree + 3], true),
                    ] {
                        let count = shape.iter().product();
                        let data = values(count, is_complex, bodies as u64);
                        let x = encrypt_as(&sk, &data, &shape, options(encoding, bodies, axis), 4);
                        assert_eq!(x.secret(), SecretName::Bodies(bodies));
                        assert_eq!(x.bundles().len(), x.layout().bundles());
                        assert!(x.bundles().iter().all(|bundle| bundle.body_count() == bodies && bundle.rank() == params.rank()));
                        let fresh = bound(&params, encoding, params.noise_model().fresh_secret(), x.scale());
                        let error = worst(&numbers(&sk, &x), &complex(&data));
                        assert!(
                            error < fresh && error > 0.0,
                            "{bodies} bodies {shape:?}: {error:e}, bound {fresh:e}"
                        );
                        // Flooded decryption loses the bits of the flood and no more.
                        let shared = complex(&sk.decrypt_to_share(&x, 20, HonestEvaluator).expect("share"));
                        let flood = 2f64.powi(19) / x.scale()
                            * if encoding == Encoding::Slots { degree as f64 } else { 2.0 };
                        let error = worst(&shared, &complex(&data));
                        assert!(error < flood && error > fresh, "{error:e} of {flood:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn errors_of_fresh_arrays_have_the_deviation_of_a_fresh_encryption() {
    for params in sets() {
        let sk = secret(&params, 2);
        for bodies in BODIES {
            let data = noise(40 * params.degree(), 5);
            let x = encrypt_as(
                &sk,
                &Values::Real(data.clone()),
                &[40, params.degree()],
                options(Encoding::Coefficients, bodies, BodyAxis::Rows),
                6,
            );
            let measured = deviation(&decrypt(&sk, &x), &data) * x.scale();
            let predicted = params.noise_model().fresh_secret().sqrt();
            assert!(
                (measured / predicted - 1.0).abs() < 0.1,
                "{bodies} bodies: {measured}, predicted {predicted}"
            );
        }
    }
}

#[test]
fn a_body_decrypts_under_its_own_secret_and_no_other() {
    let [params, _] = sets();
    let sk = secret(&params, 3);
    let x = encrypt_as(
        &sk,
        &Values::Real(ramp(3)),
        &[3, 1],
        options(Encoding::Coefficients, 3, BodyAxis::Rows),
        1,
    );
    let all = sk.named(SecretName::Bodies(3)).expect("secret");
    for index in 0..3 {
        let one = sk.named(SecretName::Body { count: 3, index }).expect("secret");
        assert_eq!(one.all_coefficients(), all.body(index).all_coefficients());
        let alone = x.bundles()[0].split_body(index).expect("body");
        assert_eq!(alone.phase(&one).expect("phase")[0], x.bundles()[0].phase(&all).expect("phases")[index]);
        for other in (0..3).filter(|&other| other != index) {
            assert_ne!(one.all_coefficients(), all.body(other).all_coefficients());
        }
    }
    assert_ne!(all.body(0).all_coefficients(), sk.secret().all_coefficients());
    assert_ne!(
        all.body(0).all_coefficients(),
        sk.named(SecretName::Bodies(2)).expect("secret").body(0).all_coefficients()
    );
}

#[test]
fn linear_operations_match_the_clear_ones() {
    for params in sets() {
        let sk = secret(&params, 4);
        let ev = Evaluator::new(&params);
        let (slots, degree) = (params.slot_count(), params.degree());
        for bodies in BODIES {
            for encoding in [Encoding::Slots, Encoding::Coefficients] {
                for (axis, shape) in
                    [(BodyAxis::Rows, [5, slots - 3]), (BodyAxis::Chunks, [2, 3 * degree + 5])]
                {
                    let count = shape[0] * shape[1];
                    let (a, b) = (noise(count, 1), noise(count, 2));
                    let (x, y) = (
                        encrypt_as(&sk, &Values::Real(a.clone()), &shape, options(encoding, bodies, axis), 7),
                        encrypt_as(&sk, &Values::Real(b.clone()), &shape, options(encoding, bodies, axis), 8),
                    );
                    let check =
                        |what: &str, result: Result<Ciphertext, CkksError>, f: &dyn Fn(f64, f64) -> f64| {
                            let result = result.unwrap_or_else(|error| panic!("{what}: {error}"));
                            assert_eq!(
                                (result.secret(), result.layout().bodies()),
                                (SecretName::Bodies(bodies), bodies)
                            );
                            let expected: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
                            assert_close(&decrypt(&sk, &result), &expected, 1e-6);
                        };
                    check("sum", ev.add(&x, &y), &|a, b| a + b);
                    check("difference", ev.sub(&x, &y), &|a, b| a - b);
                    check("negative", ev.negate(&x), &|a, _| -a);
                    check("integer multiple", ev.multiply_integer(&x, 3), &|a, _| 3.0 * a);
                    check("multiple", ev.multiply_scalar(&x, -0.3).and_then(|z| ev.rescale(&z)), &|a, _| {
                        -0.3 * a
                    });
                    check("plaintext sum", ev.add_plain(&x, &b), &|a, b| a + b);
                    let encoded = ev.encode(&Values::Real(b.clone()), &shape, encoding, x.level(), x.scale());
                    check("encoded sum", encoded.and_then(|y| ev.add_encoded(&x, &y)), &|a, b| a + b);
                    check("lower level", ev.drop_to_level(&x, Level(1)), &|a, _| a);
                    check(
                        "levels meet",
                        ev.drop_to_level(&x, Level(1)).and_then(|x| ev.add(&x, &y)),
                        &|a, b| a + b,
                    );
                }
            }
        }
    }
}

#[test]
fn plaintext_products_are_the_same_for_all_bodies_of_a_mask_or_refused() {
    for params in sets() {
        let sk = secret(&params, 5);
        let ev = Evaluator::new(&params);
        let columns = params.slot_count() - 1;
        for bodies in BODIES {
            let data = noise(5 * columns, 3);
            let x = encrypt_as(
                &sk,
                &Values::Real(data.clone()),
                &[5, columns],
                options(Encoding::Slots, bodies, BodyAxis::Rows),
                9,
            );
            // One factor for each column: equal rows.
            let row = noise(columns, 4);
            let factors: Vec<f64> = (0..5).flat_map(|_| row.clone()).collect();
            let product = ev.multiply_plain(&x, &factors).and_then(|z| ev.rescale(&z)).expect("product");
            let expected: Vec<f64> = data.iter().zip(&factors).map(|(a, b)| a * b).collect();
            assert_close(&decrypt(&sk, &product), &expected, 1e-6);
            // Factors that differ between groups of rows and not inside them.
            let grouped: Vec<f64> =
                (0..5 * columns).map(|i| row[i % columns] * (1 + i / columns / bodies) as f64).collect();
            let product = ev.multiply_plain(&x, &grouped).and_then(|z| ev.rescale(&z)).expect("product");
            let expected: Vec<f64> = data.iter().zip(&grouped).map(|(a, b)| a * b).collect();
            assert_close(&decrypt(&sk, &product), &expected, 1e-6);
            let different = ev.multiply_plain(&x, &Values::Real(noise(5 * columns, 4)));
            if bodies == 1 {
                assert!(different.is_ok());
            } else {
                assert_refused!(
                    different,
                    CkksError::Unsuitable { .. },
                    "share a mask",
                    &format!("{bodies} bodies share a mask"),
                    "split_mask"
                );
            }
        }
    }
}

#[test]
fn matrix_products_combine_rows_whose_masks_serve_them_whole() {
    for params in sets() {
        let sk = secret(&params, 6);
        let ev = Evaluator::new(&params);
        for encoding in [Encoding::Slots, Encoding::Coefficients] {
            for bodies in BODIES {
                let columns = 2 * params.degree() + 5;
                let (inner, rows) = (4, 3);
                let data = noise(inner * columns, 5);
                let x = encrypt_as(
                    &sk,
                    &Values::Real(data.clone()),
                    &[inner, columns],
                    options(encoding, bodies, BodyAxis::Chunks),
                    10,
                );
                let weights = noise(rows * inner, 6);
                let prepared = Weights::encode(&ev, rows, inner, &weights, &x).expect("weights");
                let product = prepared.multiply(&ev, &x).and_then(|z| ev.rescale(&z)).expect("product");
                assert_eq!(
                    (product.shape(), product.layout().rows(), product.secret()),
                    (&[rows, columns][..], rows, SecretName::Bodies(bodies))
                );
                let expected: Vec<f64> = (0..rows * columns)
                    .map(|i| {
                        (0..inner)
                            .map(|k| weights[i / columns * inner + k] * data[k * columns + i % columns])
                            .sum()
                    })
                    .collect();
                assert_close(&decrypt(&sk, &product), &expected, 1e-6);
                // Rows as bodies are under different secrets.
                let across = encrypt_as(
                    &sk,
                    &Values::Real(data.clone()),
                    &[inner, columns],
                    options(encoding, bodies, BodyAxis::Rows),
                    10,
                );
                let result = prepared.multiply(&ev, &across);
                if bodies == 1 {
                    assert_eq!(
                        result.expect("one body").bundles().len(),
                        prepared.multiply(&ev, &x).expect("product").bundles().len()
                    );
                } else {
                    assert_refused!(
                        result,
                        CkksError::Unsuitable { .. },
                        "share a mask",
                        "different secrets",
                        "split_mask",
                        "chunks of each row"
                    );
                }
            }
        }
    }
    // The mask is multiplied once for all chunks: W (a, b_0, b_1) has one mask.
    let [params, _] = sets();
    let sk = secret(&params, 6);
    let x = encrypt_as(
        &sk,
        &Values::Real(ramp(256)),
        &[2, 128],
        options(Encoding::Coefficients, 2, BodyAxis::Chunks),
        1,
    );
    let sum = Weights::new(1, 2, &[1.0, 1.0], 1.0)
        .expect("weights")
        .multiply(&Evaluator::new(&params), &x)
        .expect("sum");
    assert_eq!((sum.bundles().len(), sum.bundles()[0].body_count()), (1, 2));
    assert_close(
        &decrypt(&sk, &sum),
        &(0..128).map(|i| ramp(256)[i] + ramp(256)[128 + i]).collect::<Vec<_>>(),
        1e-7,
    );
}

#[test]
fn rotations_and_conjugation_serve_all_bodies_with_one_decomposition() {
    for params in sets() {
        let sk = secret(&params, 7);
        let columns = params.slot_count();
        for bodies in BODIES {
            let needs = KeyNeeds::new()
                .rotations_of_bodies(bodies, [1, -2, 4], KeyLevel::Top)
                .conjugation_of_bodies(bodies, KeyLevel::Top);
            let ev = evaluator(&sk, &needs);
            let data = phases(5 * columns, 7);
            let x = encrypt_as(
                &sk,
                &Values::Complex(data.clone()),
                &[5, columns],
                options(Encoding::Slots, bodies, BodyAxis::Rows),
                11,
            );
            let rotated = |step: i64| -> Vec<Complex64> {
                let turn = |row: &[Complex64]| {
                    let mut row = row.to_vec();
                    row.rotate_left(step.rem_euclid(columns as i64) as usize);
                    row
                };
                data.chunks(columns).flat_map(turn).collect()
            };
            let model = params.noise_model().fresh_secret();
            let top = params.max_level();
            let once = bound(
                &params,
                Encoding::Slots,
                model + switch_variance(&params, params.rank(), top),
                x.scale(),
            );
            let steps = [1, -2, 0, 4];
            for (step, turned) in steps.into_iter().zip(ev.rotate_many(&x, &steps).expect("rotations")) {
                assert_eq!(turned.secret(), SecretName::Bodies(bodies));
                let error = worst(&numbers(&sk, &turned), &rotated(step));
                assert!(error < once, "{bodies} bodies by {step}: {error:e}, bound {once:e}");
                assert!(worst(&numbers(&sk, &ev.rotate(&x, step).expect("rotation")), &rotated(step)) < once);
            }
            // Composed of the keys there are.
            let composed = ev.rotate(&x, 5).expect("4 + 1");
            assert!(worst(&numbers(&sk, &composed), &rotated(5)) < 2.0 * once);
            let conjugate = ev.conjugate(&x).expect("conjugation");
            let expected: Vec<Complex64> = data.iter().map(Complex64::conj).collect();
            assert!(worst(&numbers(&sk, &conjugate), &expected) < once);
            assert_refused!(
                ev.rotate(&x, 8),
                CkksError::MissingKey { .. },
                "rotate",
                "by 8",
                &format!("bodies-automorphism {bodies} ")
            );
        }
        // Keys of the main secret do not serve bodies, nor those of another number of bodies.
        let ev = evaluator(
            &sk,
            &KeyNeeds::new().rotations([1], KeyLevel::Top).conjugate(KeyLevel::Top).rotations_of_bodies(
                3,
                [1],
                KeyLevel::Top,
            ),
        );
        let x = encrypt_as(
            &sk,
            &Values::Real(ramp(2 * columns)),
            &[2, columns],
            options(Encoding::Slots, 2, BodyAxis::Rows),
            1,
        );
        assert_refused!(
            ev.rotate(&x, 1),
            CkksError::MissingKey { .. },
            "2 bodies under one mask",
            "bodies-automorphism 3"
        );
        assert_refused!(ev.conjugate(&x), CkksError::MissingKey { .. }, "conjugate 2 bodies");
    }
}

#[test]
fn masks_are_shared_and_split_within_the_predicted_noise() {
    for params in sets() {
        let sk = secret(&params, 8);
        let (degree, top) = (params.degree(), params.max_level());
        let model = params.noise_model().fresh_secret();
        for bodies in BODIES {
            let ev = evaluator(&sk, &KeyNeeds::new().shared_mask(bodies, KeyLevel::Top));
            for (encoding, axis, shape) in [
                (Encoding::Coefficients, None, vec![24, degree]),
                (Encoding::Coefficients, None, vec![3, 7 * degree]),
                (Encoding::Coefficients, Some(BodyAxis::Rows), vec![5, 3 * degree]),
                (Encoding::Slots, None, vec![11, 3]),
                (Encoding::Slots, Some(BodyAxis::Chunks), vec![2, degree]),
            ] {
                let data = noise(shape.iter().product(), 8);
                let x = encrypt_as(
                    &sk,
                    &Values::Real(data.clone()),
                    &shape,
                    EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() },
                    12,
                );
                let shared = ev.share_mask_along(&x, bodies, axis).expect("share");
                assert_eq!(
                    (shared.secret(), shared.bundles().len()),
                    (SecretName::Bodies(bodies), shared.layout().bundles())
                );
                assert!(shared.bundles().iter().all(|bundle| bundle.body_count() == bodies));
                let joined = model + switch_variance(&params, bodies * params.rank(), top);
                let measured = deviation(&decrypt(&sk, &shared), &data);
                if encoding == Encoding::Coefficients && data.len() >= 600 {
                    let predicted = joined.sqrt() / x.scale();
                    assert!(
                        (measured / predicted - 1.0).abs() < 0.25,
                        "{bodies} bodies, {shape:?}: {measured:e}, predicted {predicted:e}"
                    );
                }
                let limit = bound(&params, encoding, joined, x.scale());
                assert!(worst(&numbers(&sk, &shared), &complex(&Values::Real(data.clone()))) < limit);
                // A direct encryption of the same layout combines with it.
                let direct = EncryptOptions {
                    encoding: Some(encoding),
                    bodies: Some(bodies),
                    axis,
                    ..EncryptOptions::default()
                };
                let direct = encrypt_as(&sk, &Values::Real(data.clone()), &shape, direct, 13);
                let sum = ev.add(&shared, &direct).expect("one layout");
                assert_close(&decrypt(&sk, &sum), &data.iter().map(|v| 2.0 * v).collect::<Vec<_>>(), 1e-6);
                let split = ev.split_mask(&shared).expect("split");
                assert_eq!((split.secret(), split.layout()), (SecretName::Main, x.layout()));
                let limit = bound(
                    &params,
                    encoding,
                    joined + switch_variance(&params, params.rank(), top),
                    x.scale(),
                );
                let error = worst(&numbers(&sk, &split), &complex(&Values::Real(data.clone())));
                assert!(error < limit, "{bodies} bodies, {shape:?}: {error:e}, bound {limit:e}");
                let sum = ev.add(&split, &x).expect("one secret");
                assert_close(&decrypt(&sk, &sum), &data.iter().map(|v| 2.0 * v).collect::<Vec<_>>(), 1e-6);
            }
        }
    }
}

#[test]
fn products_after_splitting_the_mask_match_the_clear_ones() {
    for params in sets() {
        let sk = secret(&params, 9);
        let ev = evaluator(&sk, &KeyNeeds::new().shared_mask(3, KeyLevel::Top).relinearise(KeyLevel::Top));
        let data = noise(4 * 7, 9);
        let x = encrypt_as(
            &sk,
            &Values::Real(data.clone()),
            &[4, 7],
            options(Encoding::Slots, 3, BodyAxis::Rows),
            14,
        );
        for refused in [ev.multiply(&x, &x), ev.multiply_rescale(&x, &x), ev.square(&x)] {
            assert_refused!(
                refused,
                CkksError::WrongSecret { .. },
                "has no keys under the secret",
                "a product of ciphertexts",
                "bodies:3",
                "split_mask"
            );
        }
        let polynomial =
            Polynomial::new(vec![1.0, 0.0, 1.0], PolynomialBasis::Power, (-1.0, 1.0)).expect("polynomial");
        assert_refused!(
            polynomial.apply(&ev, &x),
            CkksError::WrongSecret { .. },
            "has no keys under the secret",
            "bodies:3",
            "split_mask"
        );
        let apart = ev.split_mask(&x).expect("split");
        let product = ev.multiply_rescale(&apart, &apart).expect("product");
        assert_close(&decrypt(&sk, &product), &data.iter().map(|v| v * v).collect::<Vec<_>>(), 1e-6);
    }
}

#[test]
fn secrets_change_and_come_back() {
    let [params, _] = sets();
    let sk = secret(&params, 10);
    let body = SecretName::Body { count: 3, index: 1 };
    let (main, two) = (SecretName::Main, SecretName::Bodies(1));
    let needs = [(main, body), (body, main), (main, two), (two, body)];
    let needs = needs
        .into_iter()
        .fold(KeyNeeds::new(), |needs, (from, to)| needs.change_secret(from, to, KeyLevel::Top));
    let ev = evaluator(&sk, &needs.rotations([1], KeyLevel::Top));
    let data = ramp(params.slot_count());
    let x = encrypt(&sk, &data);
    let there = ev.change_secret(&x, body).expect("there");
    assert_eq!(there.secret(), body);
    assert_close(&decrypt(&sk, &there), &data, 1e-7);
    assert_refused!(
        ev.add(&x, &there),
        CkksError::WrongSecret { .. },
        "the operands are under the secrets",
        "addition",
        "\"main\"",
        "\"body:1/3\""
    );
    assert_refused!(
        ev.rotate(&there, 1),
        CkksError::WrongSecret { .. },
        "has no keys under the secret",
        "a rotation",
        "body:1/3",
        "change_secret"
    );
    assert_refused!(
        ev.conjugate(&there),
        CkksError::WrongSecret { .. },
        "has no keys under the secret",
        "conjugation",
        "body:1/3"
    );
    let back = ev.change_secret(&there, main).expect("back");
    assert_close(
        &decrypt(&sk, &ev.add(&x, &back).expect("one secret")),
        &data.iter().map(|v| 2.0 * v).collect::<Vec<_>>(),
        1e-6,
    );
    let round = ev.change_secret(&ev.change_secret(&x, two).expect("one body"), body).expect("another");
    assert_close(&decrypt(&sk, &round), &data, 1e-7);
    // No key is needed to stay.
    assert!(ev.change_secret(&x, main).expect("nothing to do").bundles() == x.bundles());
    assert_refused!(
        ev.change_secret(&there, two),
        CkksError::MissingKey { .. },
        "from body:1/3 to bodies:1",
        "change-secret"
    );
    assert_refused!(
        ev.change_secret(&x, SecretName::Bodies(2)),
        CkksError::OutOfRange { .. },
        "number of bodies"
    );
    assert_refused!(ev.change_secret(&x, SecretName::Temporary), CkksError::Unsuitable { .. }, "temporary");
    let read_back = read(&there.to_file_bytes().expect("file"), &params).expect("file");
    assert_same(&there, &read_back);
}

#[test]
fn files_hold_one_mask_for_all_bodies_and_come_back_equal() {
    for params in sets() {
        let sk = secret(&params, 11);
        let ev = Evaluator::new(&params);
        for bodies in BODIES {
            for encoding in [Encoding::Slots, Encoding::Coefficients] {
                for axis in [BodyAxis::Rows, BodyAxis::Chunks] {
                    for (shape, is_complex) in [(vec![5, 7], true), (vec![4, 3 * params.degree()], false)] {
                        let data = values(shape.iter().product(), is_complex, 3);
                        let order = if bodies == 2 { Order::BitReversed } else { Order::Natural };
                        let fresh = encrypt_as(
                            &sk,
                            &data,
                            &shape,
                            EncryptOptions { order, ..options(encoding, bodies, axis) },
                            15,
                        );
                        let bytes = fresh.to_file_bytes().expect("file");
                        assert_same(&fresh, &read(&bytes, &params).expect("fresh"));
                        // Seeds in place of masks: one for each bundle.
                        let (rank, words) = (params.rank(), fresh.bytes() / (params.rank() + bodies));
                        assert!(
                            bytes.len() >= bodies * words
                                && bytes.len() <= bodies * words + 32 * fresh.bundles().len() + 1024
                        );
                        let computed =
                            ev.drop_to_level(&ev.negate(&fresh).expect("negate"), Level(1)).expect("lower");
                        let bytes = computed.to_file_bytes().expect("file");
                        assert!(
                            bytes.len() >= computed.bytes()
                                && computed.bytes() == (rank + bodies) * (computed.bytes() / (rank + bodies))
                        );
                        let again = read(&bytes, &params).expect("computed");
                        assert_same(&computed, &again);
                        assert_eq!(numbers(&sk, &again), numbers(&sk, &computed));
                    }
                }
            }
        }
    }
}

#[test]
fn keys_of_bodies_come_back_from_files_and_serve() {
    for params in sets() {
        let sk = secret(&params, 12);
        let needs = KeyNeeds::new()
            .shared_mask(3, KeyLevel::Level(1))
            .rotations_of_bodies(3, [1], KeyLevel::Level(1))
            .conjugation_of_bodies(3, KeyLevel::Level(0));
        let keys = sk.evaluation_keys(&needs).expect("keys");
        let names: Vec<KeyName> = keys.own().names().collect();
        assert_eq!(
            names
                .iter()
                .filter(|name| matches!(name, KeyName::Automorphism { secret: SecretName::Bodies(3), .. }))
                .count(),
            2
        );
        for name in names {
            assert_eq!(KeyName::parse(&name.to_string(), params.degree()).expect("a name"), name);
        }
        let bytes = keys.to_file_bytes().expect("file");
        let again = EvaluationKeys::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params)
            .expect("keys");
        assert_eq!(again.to_file_bytes().expect("file"), bytes);
        let (before, after) = (Evaluator::with_keys(keys), Evaluator::with_keys(again));
        let data = Values::Real(ramp(3 * params.slot_count()));
        let low = EncryptOptions {
            level: Some(Level(1)),
            encoding: Some(Encoding::Slots),
            ..EncryptOptions::default()
        };
        let x = encrypt_as(&sk, &data, &[3, params.slot_count()], low, 16);
        let circuit = |ev: &Evaluator| {
            let shared = ev.share_mask(&x, 3).expect("share");
            ev.split_mask(&ev.rotate(&shared, 1).expect("rotate")).expect("split")
        };
        assert!(circuit(&before).bundles() == circuit(&after).bundles());
        let high =
            encrypt_as(&sk, &data, &[3, params.slot_count()], EncryptOptions { level: None, ..low }, 16);
        assert!(after.share_mask(&high, 3).err().is_some_and(|error| error.kind() == ErrorKind::Level));
    }
}

#[test]
fn dry_runs_name_the_keys_of_shared_masks() {
    for params in sets() {
        let sk = secret(&params, 13);
        let (top, columns) = (params.max_level(), params.slot_count());
        let circuit = |ev: &Evaluator, x: &Ciphertext| -> Result<Ciphertext, CkksError> {
            let shared = ev.share_mask(x, 3)?;
            let turned = ev.add(&ev.rotate(&shared, 1)?, &ev.conjugate(&shared)?)?;
            ev.split_mask(&ev.rescale(&ev.multiply_scalar(&turned, 0.5)?)?)
        };
        let recorder = Evaluator::recording(&params);
        let symbol =
            Ciphertext::symbol(&params, &[4, columns], Encoding::Slots, false, top, params.scale(top))
                .expect("symbol");
        let dry = circuit(&recorder, &symbol).expect("dry run");
        let data = ramp(4 * columns);
        let x = encrypt_as(
            &sk,
            &Values::Real(data),
            &[4, columns],
            EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() },
            17,
        );
        let real = circuit(&evaluator(&sk, &recorder.needs()), &x).expect("the needs suffice");
        assert_eq!(
            (real.shape(), real.layout(), real.level(), real.secret()),
            (dry.shape(), dry.layout(), dry.level(), dry.secret())
        );
        assert_eq!(
            recorder.needs().key_level_of(clathrate_ckks::keys::Operation::Switch(Switch::FormatSwitch {
                from: 1,
                to: 3
            })),
            Some(KeyLevel::Level(top.0))
        );
        let layout = *x.layout();
        let bodies = layout.with_bodies(3, None).expect("bodies");
        let shared = Ciphertext::symbol_with(
            &params,
            x.shape(),
            bodies,
            SecretName::Bodies(3),
            top,
            params.scale(top),
        )
        .expect("symbol");
        assert_eq!(recorder.rotate(&shared, 1).expect("dry run").secret(), SecretName::Bodies(3));
        let wrong = Ciphertext::symbol_with(
            &params,
            x.shape(),
            layout,
            SecretName::Bodies(3),
            top,
            params.scale(top),
        );
        assert_refused!(wrong, CkksError::OutOfRange { .. }, "number of bodies");
    }
}

#[test]
fn moves_of_degree_and_rank_keep_the_bodies() {
    // Long enough a chain for levels at rank 1.
    let two = custom(
        "name = \"two\"\ndegree = 32\nrank = 2\nsteps = [[30, 30], [40], [40], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n",
    );
    let sk = secret(&two, 14);
    let rlwe = two.relative(two.rlwe_shape()).expect("rank 1");
    for bodies in [2, 3] {
        let needs = two.rlwe_needs_under(SecretName::Bodies(bodies), KeyLevel::Top);
        let ev = evaluator(&sk, &needs);
        let data = noise(5 * 9, 4);
        for encoding in [Encoding::Slots, Encoding::Coefficients] {
            let x = encrypt_as(
                &sk,
                &Values::Real(data.clone()),
                &[5, 9],
                options(encoding, bodies, BodyAxis::Rows),
                18,
            );
            let high = ev.to_rlwe(&x).expect("rank 1");
            assert_eq!(
                (high.params(), high.secret(), high.layout().bodies()),
                (&rlwe, SecretName::Bodies(bodies), bodies)
            );
            assert_close(&decrypt(&sk, &high), &data, 1e-7);
            let back = ev.to_mlwe(&high, 2).expect("rank 2");
            assert_eq!((back.params(), back.layout()), (&two, x.layout()));
            assert_close(
                &decrypt(&sk, &ev.add(&back, &x).expect("one shape")),
                &data.iter().map(|v| 2.0 * v).collect::<Vec<_>>(),
                1e-6,
            );
        }
        // A higher rank extends the secrets of bodies as it does the main one; a lower one needs a key that
        // there is not.
        let one = two.at_rank(1).expect("rank 1");
        let small = encrypt_as(
            &sk.relative(&one).expect("key"),
            &Values::Real(ramp(6)),
            &[3, 2],
            options(Encoding::Slots, bodies, BodyAxis::Rows),
            2,
        );
        let raised = ev.to_rank(&small, 2).expect("zeros");
        assert_eq!(raised.params(), &two);
        assert_close(&decrypt(&sk, &raised), &ramp(6), 1e-7);
        assert_refused!(
            ev.to_rank(&raised, 1),
            CkksError::WrongSecret { .. },
            "has no keys under the secret",
            "a reduction of the rank",
            "split_mask"
        );
    }
}

#[test]
fn operands_of_different_secrets_layouts_and_owners_are_refused() {
    let [params, _] = sets();
    let sk = secret(&params, 15);
    let ev = evaluator(&sk, &KeyNeeds::new().shared_mask(2, KeyLevel::Top));
    let data = Values::Real(ramp(4 * 8));
    let slots = |bodies: Option<usize>, axis| EncryptOptions {
        encoding: Some(Encoding::Slots),
        bodies,
        axis,
        ..EncryptOptions::default()
    };
    let of = |bodies, axis| encrypt_as(&sk, &data, &[4, 8], slots(bodies, axis), 3);
    let (main, two, three) = (of(None, None), of(Some(2), None), of(Some(3), None));
    for (x, y) in [(&main, &two), (&two, &three)] {
        let (left, right) = (x.secret().to_string(), y.secret().to_string());
        for result in [ev.add(x, y), ev.sub(x, y)] {
            assert_refused!(
                result,
                CkksError::WrongSecret { .. },
                "the operands are under the secrets",
                &left,
                &right,
                "share_mask"
            );
        }
    }
    assert_eq!(ev.add(&main, &two).expect_err("refused").kind(), ErrorKind::WrongSecret);
    let chunks = of(Some(2), Some(BodyAxis::Chunks));
    assert_refused!(
        ev.add(&two, &chunks),
        CkksError::Unsuitable { .. },
        "laid out differently",
        "2 rows under one mask",
        "2 chunks of a row under one mask"
    );
    assert_refused!(
        ev.share_mask(&two, 2),
        CkksError::WrongSecret { .. },
        "has no keys under the secret",
        "bodies:2",
        "split_mask"
    );
    assert_refused!(
        ev.share_mask(&main, 5),
        CkksError::MissingKey { .. },
        "bring 5 bundles under one mask",
        "format-switch 2"
    );
    assert_refused!(ev.share_mask(&main, 0), CkksError::OutOfRange { .. }, "1 to 4096");
    assert_refused!(ev.split_mask(&main), CkksError::Unsuitable { .. }, "\"main\"");
    assert_refused!(ev.split_mask(&three), CkksError::MissingKey { .. }, "from body:0/3 to main");
    assert_refused!(Evaluator::new(&params).share_mask(&main, 2), CkksError::NoKeys { .. }, "under one mask");
    // Rows of several chunks under one mask have no common sum.
    let long = encrypt_as(&sk, &Values::Real(ramp(80)), &[80], slots(Some(3), None), 3);
    assert_refused!(ev.total(&long), CkksError::Unsuitable { .. }, "share a mask", "3 bodies", "split_mask");
    let public = sk.public_key().expect("public key").encrypt_array(&data, &[4, 8], slots(Some(2), None));
    assert_refused!(
        public,
        CkksError::WrongSecret { .. },
        "has no keys under the secret",
        "public key",
        "bodies:2",
        "share_mask"
    );
    let stranger = secret(&params, 16);
    assert_refused!(
        stranger.decrypt(&two),
        CkksError::WrongSecret { .. },
        "belongs to secret",
        "the ciphertext"
    );
}

#[test]
fn an_encoded_plaintext_is_encrypted_under_as_many_bodies_as_its_layout_has() {
    use clathrate_ckks::{Layout, Plaintext};
    for params in sets() {
        let sk = secret(&params, 17);
        let data = noise(5 * 6, 2);
        let top = params.max_level();
        for bodies in [1, 2, 3] {
            let layout = Layout::new(&[5, 6], Encoding::Slots, params.degree())
                .and_then(|layout| layout.with_bodies(bodies, None))
                .expect("layout");
            let plaintext = Plaintext::encode_as(
                &params,
                &Values::Real(data.clone()),
                &[5, 6],
                layout,
                top,
                params.scale(top),
            )
            .expect("encode");
            let x = sk.encrypt_encoded(&plaintext).expect("encrypt");
            assert_eq!(x.secret(), if bodies == 1 { SecretName::Main } else { SecretName::Bodies(bodies) });
            assert_close(&decrypt(&sk, &x), &data, 1e-7);
        }
    }
}

#[test]
fn needs_of_impossibly_many_bodies_are_stated_at_once_and_refused() {
    let params = params("insecure_small");
    for bodies in [0, 4097, usize::MAX] {
        let needs = KeyNeeds::new().shared_mask(bodies, KeyLevel::Top);
        assert!(params.required_keys(&needs).is_err(), "{bodies} bodies");
        let rounds = KeyNeeds::new().shared_mask_in_rounds(bodies, KeyLevel::Top);
        assert!(params.required_keys(&rounds).is_err(), "{bodies} bodies in rounds");
    }
}

#[test]
fn rounds_of_format_switches_keep_numbers_order_and_predicted_noise() {
    assert_eq!(
        (format_switch_rounds(0), format_switch_rounds(1), format_switch_rounds(5000)),
        (vec![(1, 0)], vec![(1, 1)], vec![(1, 5000)])
    );
    assert_eq!(format_switch_rounds(7), [(1, 7)]);
    assert_eq!(format_switch_rounds(24), [(1, 4), (4, 12), (12, 24)]);
    for bodies in 1..600 {
        let rounds = format_switch_rounds(bodies);
        assert_eq!(rounds.last().map_or(1, |&(_, to)| to), bodies);
        assert!(
            rounds.windows(2).all(|pair| pair[0].1 == pair[1].0)
                && rounds.first().is_none_or(|&(from, _)| from == 1)
        );
    }
    for params in sets() {
        let sk = secret(&params, 31);
        let degree = params.degree();
        for bodies in [2, 6, 8, 12] {
            let needs = KeyNeeds::new().shared_mask_in_rounds(bodies, KeyLevel::Top);
            let ev = evaluator(&sk, &needs);
            let (rows, columns) = (5 * bodies - 3, 2 * degree + 1);
            let data = noise(rows * columns, 3);
            let plain =
                EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
            let x = encrypt_as(&sk, &Values::Real(data.clone()), &[rows, columns], plain, 5);
            for axis in [None, Some(BodyAxis::Rows), Some(BodyAxis::Chunks)] {
                let shared = ev.share_mask_along(&x, bodies, axis).expect("the keys of rounds suffice");
                let layout = x.layout().with_bodies(bodies, axis).expect("bodies");
                assert_eq!((shared.layout(), shared.secret()), (&layout, SecretName::Bodies(bodies)));
                // The dry run predicts the noise of each round.
                let recorder = Evaluator::recording(&params);
                let symbol = Ciphertext::symbol(
                    &params,
                    x.shape(),
                    Encoding::Coefficients,
                    false,
                    x.level(),
                    x.scale(),
                )
                .expect("symbol");
                let symbol = recorder.take_symbol(symbol, Some(1.0)).expect("symbol");
                let dry = recorder.share_mask_in_rounds(&symbol, bodies, axis).expect("dry run");
                assert_eq!((dry.layout(), dry.secret()), (shared.layout(), shared.secret()));
                let recorded = recorder.needs();
                assert!(needs.operations().all(|(operation, _)| recorded.key_level_of(operation).is_some()));
                let variance = |(operation, _)| {
                    params.operation_variance(operation, x.level()).expect("a switch")
                        + params.noise_model().rounding()
                };
                let added = needs.operations().map(variance).sum::<f64>().sqrt() / x.scale();
                assert!(dry.error_bound().expect("bounded") >= added);
                let (before, after) = (decrypt(&sk, &x), decrypt(&sk, &shared));
                let measured = deviation(&after, &before);
                assert!(
                    (measured / added - 1.0).abs() < 0.25,
                    "{bodies} bodies: {measured:e}, predicted {added:e}"
                );
            }
        }
    }
}

#[test]
fn the_noise_of_rounds_is_the_sum_of_their_switches() {
    let params = params("insecure_matmul");
    let (bodies, columns) = (24, 256);
    let needs = KeyNeeds::new().shared_mask_in_rounds(bodies, KeyLevel::Top);
    let level = params.max_level();
    let variance = |(operation, _)| {
        params.operation_variance(operation, level).expect("a switch") + params.noise_model().rounding()
    };
    let predicted = needs.operations().map(variance).sum::<f64>().sqrt() / params.scale(level);
    let data = noise(bodies * columns, 6);
    let squares = (0..6u8).map(|seed| {
        let sk = secret(&params, 40 + seed);
        let x =
            encrypt_as(&sk, &Values::Real(data.clone()), &[bodies, columns], EncryptOptions::default(), seed);
        let shared = evaluator(&sk, &needs).share_mask(&x, bodies).expect("rounds");
        deviation(&decrypt(&sk, &shared), &decrypt(&sk, &x)).powi(2)
    });
    let measured = (squares.sum::<f64>() / 6.0).sqrt();
    assert!((measured / predicted - 1.0).abs() < 0.1, "{measured:e}, predicted {predicted:e}");
}

#[test]
fn keys_of_rounds_grow_with_the_number_of_bodies_and_serve_under_their_names() {
    let [params, _] = sets();
    let bytes = |needs: &KeyNeeds| params.required_keys(needs).expect("keys").bytes(&params).expect("bytes");
    for bodies in [16, 64, 128] {
        let (rounds, direct) = (
            bytes(&KeyNeeds::new().shared_mask_in_rounds(bodies, KeyLevel::Top)),
            bytes(&KeyNeeds::new().operation(
                clathrate_ckks::keys::Operation::Switch(Switch::FormatSwitch { from: 1, to: bodies }),
                KeyLevel::Top,
            )),
        );
        // An entry has a polynomial for each body and for the mask; groups of at most four, whose counts fall
        // by four: 4 m (1 + 1/4 + ..) < 6 m.
        let entry = direct / (bodies * (bodies + 1));
        assert!(rounds < 6 * (bodies + 4) * entry, "{bodies} bodies: {rounds} bytes, an entry {entry}");
    }
    let sk = secret(&params, 32);
    let keys = sk.evaluation_keys(&KeyNeeds::new().shared_mask_in_rounds(8, KeyLevel::Top)).expect("keys");
    let names: Vec<String> = keys.own().names().map(|name| name.to_string()).collect();
    assert_eq!(names, ["format-switch 4", "format-switch 4 8"]);
    let again = EvaluationKeys::from_reader(
        &FileReader::from_bytes(&keys.to_file_bytes().expect("file")).expect("readable"),
        &params,
    );
    let ev = Evaluator::with_keys(again.expect("keys"));
    let x = encrypt_as(&sk, &Values::Real(ramp(40)), &[10, 4], EncryptOptions::default(), 3);
    assert_close(&decrypt(&sk, &ev.share_mask(&x, 8).expect("rounds")), &ramp(40), 1e-6);
    assert_refused!(
        ev.share_mask(&x, 16),
        CkksError::MissingKey { .. },
        "bring 16 bundles under one mask",
        "format-switch 4 8"
    );
    let shared = ev.share_mask(&x, 4).expect("one switch");
    assert_refused!(
        ev.share_mask_in_rounds(&shared, 8, None),
        CkksError::WrongSecret { .. },
        "has no keys under the secret",
        "bodies:4"
    );
    for (from, to) in [(0, 4), (3, 8), (4, 4), (2, 0)] {
        let name = KeyName::Switch(Switch::FormatSwitch { from, to });
        assert_refused!(params.key_definition(name), CkksError::OutOfRange { .. }, "bodies");
    }
}
