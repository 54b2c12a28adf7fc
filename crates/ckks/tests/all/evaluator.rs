//! Encrypted computation against the same computation in clear, at every rank, with exact scales.

use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, SecretKey};
use clathrate_lattice::Level;

const RANKS: [&str; 3] = ["insecure_small", "insecure_rank2", "insecure_rank3"];

#[test]
fn tests_run_on_the_engine_that_the_environment_chooses() {
    let kind = match std::env::var(clathrate_testkit::engines::ENGINE_VARIABLE).as_deref() {
        Ok("host-device") => "host device",
        Ok("cuda" | "cuda-graphs") => "cuda:0",
        _ => "host",
    };
    let params = params("insecure_tiny");
    assert_eq!(params.chain().ring().engine().memory_kind(), kind);
    assert!(params.runtime().engine.is_some(), "by the runtime's own way");
}

#[test]
fn fresh_values_survive_in_both_encodings_at_every_level_and_rank() {
    for name in RANKS {
        let (params, sk, _) = setup(name, &KeyNeeds::new());
        for level in 0..=params.max_level().0 {
            for encoding in [Encoding::Slots, Encoding::Coefficients] {
                for count in [1usize, 3, 64, params.degree() / 2, params.degree() + 5] {
                    let data = ramp(count);
                    let options = EncryptOptions {
                        encoding: Some(encoding),
                        level: Some(Level(level)),
                        ..EncryptOptions::default()
                    };
                    let ct = sk.encrypt_array(&data, &[count], options).expect("encrypt");
                    assert_eq!(ct.scale(), params.scale(Level(level)));
                    assert_close(&decrypt(&sk, &ct), &data, 1e-7);
                }
            }
        }
    }
}

#[test]
fn sums_differences_and_products_match_the_clear_ones() {
    for name in RANKS {
        let (params, sk, ev) = setup(name, &KeyNeeds::new().relinearise(KeyLevel::Top));
        let n = params.slot_count();
        let (x, y) = (ramp(n), ramp(n).into_iter().rev().collect::<Vec<_>>());
        let (cx, cy) = (encrypt(&sk, &x), encrypt(&sk, &y));
        let both = |f: fn(f64, f64) -> f64| x.iter().zip(&y).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
        assert_close(&decrypt(&sk, &ev.add(&cx, &cy).expect("add")), &both(|a, b| a + b), 1e-7);
        assert_close(&decrypt(&sk, &ev.sub(&cx, &cy).expect("sub")), &both(|a, b| a - b), 1e-7);
        assert_close(&decrypt(&sk, &ev.negate(&cx).expect("negate")), &both(|a, _| -a), 1e-7);
        let product = ev.multiply(&cx, &cy).expect("multiply");
        assert_close(&decrypt(&sk, &product), &both(|a, b| a * b), 1e-6);
        let rescaled = ev.rescale(&product).expect("rescale");
        assert_close(&decrypt(&sk, &rescaled), &both(|a, b| a * b), 1e-6);
        let fused = ev.multiply_rescale(&cx, &cy).expect("fused");
        assert_eq!((fused.level(), fused.scale()), (rescaled.level(), rescaled.scale()));
        assert_close(&decrypt(&sk, &fused), &both(|a, b| a * b), 1e-6);
        let plain = ev.multiply_plain(&cx, &y).expect("plain");
        assert_close(&decrypt(&sk, &ev.rescale(&plain).expect("rescale")), &both(|a, b| a * b), 1e-6);
        assert_close(&decrypt(&sk, &ev.add_plain(&cx, &y).expect("plain")), &both(|a, b| a + b), 1e-7);
        assert_close(
            &decrypt(&sk, &ev.multiply_integer(&cx, -3).expect("integer")),
            &both(|a, _| -3.0 * a),
            1e-6,
        );
        let fraction = ev.multiply_scalar(&cx, 0.3).expect("fraction");
        assert_close(&decrypt(&sk, &ev.rescale(&fraction).expect("rescale")), &both(|a, _| 0.3 * a), 1e-6);
    }
}

#[test]
fn scales_are_canonical_to_the_bit_through_the_whole_depth() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let x: Vec<f64> = ramp(params.slot_count()).iter().map(|v| v / 2.0).collect();
    let (mut power, mut expected) = (encrypt(&sk, &x), x.clone());
    let fresh = encrypt(&sk, &x);
    for level in (0..params.max_level().0).rev() {
        power = ev.multiply_rescale(&power, &power).expect("square");
        expected.iter_mut().for_each(|v| *v *= *v);
        assert_eq!((power.level(), power.scale()), (Level(level), params.scale(Level(level))));
        // A fresh ciphertext of the top level meets it without a scale error.
        let sum = ev.add(&power, &fresh).expect("levels meet");
        assert_close(
            &decrypt(&sk, &sum),
            &expected.iter().zip(&x).map(|(a, b)| a + b).collect::<Vec<_>>(),
            1e-5,
        );
        let plain = ev
            .multiply_plain(&ev.drop_to_level(&fresh, Level(level)).expect("drop"), &Values::Real(x.clone()));
        if level > 0 {
            let plain = ev.rescale(&plain.expect("plain")).expect("rescale");
            assert_eq!(plain.scale(), params.scale(Level(level - 1)));
        } else {
            assert!(matches!(plain, Err(CkksError::LevelTooLow { .. })));
        }
    }
    assert!(matches!(ev.rescale(&power), Err(CkksError::LevelTooLow { needed: 1, level: 0, .. })));
}

#[test]
fn an_unrescaled_product_adds_to_fresh_ciphertexts() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let x = ramp(params.slot_count());
    let ct = encrypt(&sk, &x);
    let sum = ev.add(&ev.multiply(&ct, &ct).expect("product"), &ct).expect("scales meet");
    assert_close(&decrypt(&sk, &sum), &x.iter().map(|v| v * v + v).collect::<Vec<_>>(), 1e-6);
}

#[test]
fn an_unrescaled_product_meets_a_lower_level_by_its_own_rescale() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new());
    let x = ramp(params.slot_count());
    let product = ev.multiply_plain(&encrypt(&sk, &x), &Values::Real(x.clone())).expect("multiply");
    for level in [Level(0), Level(1), Level(params.max_level().0 - 1)] {
        let options = EncryptOptions { level: Some(level), ..EncryptOptions::default() };
        let low = sk.encrypt_array(&x, &[x.len()], options).expect("encrypt");
        for sum in [ev.add(&product, &low), ev.add(&low, &product)] {
            let sum = sum.expect("add");
            assert_eq!((sum.level(), sum.scale()), (level, params.scale(level)));
            assert_close(&decrypt(&sk, &sum), &x.iter().map(|v| v * v + v).collect::<Vec<_>>(), 1e-6);
        }
    }
}

#[test]
fn dropping_to_a_modulus_that_cannot_hold_the_scale_is_refused() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new());
    let x = ramp(params.slot_count());
    let product = ev.multiply_plain(&encrypt(&sk, &x), &Values::Real(x.clone())).expect("multiply");
    let error = ev.drop_to_level(&product, Level(0)).expect_err("2^80 in 60 bits");
    assert!(matches!(error, CkksError::ScaleOutOfRange { level: 0, .. }), "{error}");
    let low = ev.drop_to_level(&product, Level(1)).expect("2^80 in 100 bits");
    assert_close(&decrypt(&sk, &low), &x.iter().map(|v| v * v).collect::<Vec<_>>(), 1e-6);
}

#[test]
fn rotations_follow_numpy_roll_at_full_and_sparse_slots() {
    for name in RANKS {
        let steps = [1i64, 2, -1, 5];
        let (params, sk, ev) = setup(name, &KeyNeeds::new().rotations(steps, KeyLevel::Top));
        for count in [8usize, params.slot_count()] {
            let x = ramp(count);
            let ct = encrypt(&sk, &x);
            let hoisted = ev.rotate_many(&ct, &steps).expect("rotations");
            for (step, many) in steps.iter().zip(&hoisted) {
                let mut rolled = x.clone();
                rolled.rotate_left(step.rem_euclid(count as i64) as usize);
                assert_close(&decrypt(&sk, many), &rolled, 1e-6);
                assert_close(&decrypt(&sk, &ev.rotate(&ct, *step).expect("rotate")), &rolled, 1e-6);
            }
            assert_close(&decrypt(&sk, &ev.rotate(&ct, count as i64).expect("full turn")), &x, 1e-6);
        }
    }
}

#[test]
fn complex_values_multiply_and_conjugate() {
    use rustfft::num_complex::Complex64;
    let (params, sk, ev) =
        setup("insecure_rank2", &KeyNeeds::new().relinearise(KeyLevel::Top).conjugate(KeyLevel::Top));
    let z: Vec<Complex64> = (0..params.slot_count()).map(|i| Complex64::from_polar(1.0, i as f64)).collect();
    let ct = sk.encrypt_array(&z, &[z.len()], EncryptOptions::default()).expect("encrypt");
    let norm = ev.multiply_rescale(&ct, &ev.conjugate(&ct).expect("conjugate")).expect("product");
    let Values::Complex(values) = sk.decrypt(&norm).expect("decrypt") else {
        panic!("complex stays complex")
    };
    assert!(values.iter().all(|v| (v - 1.0).norm() < 1e-6));
}

#[test]
fn public_key_encrypts_for_the_secret_key_at_every_rank() {
    for name in RANKS {
        let (params, sk, _) = setup(name, &KeyNeeds::new());
        let pk = sk.public_key().expect("public key");
        let x = ramp(params.slot_count());
        let ct = pk.encrypt_array(&x, &[x.len()], EncryptOptions::default()).expect("encrypt");
        assert_close(&decrypt(&sk, &ct), &x, 1e-6);
    }
}

#[test]
fn matrix_product_matches_for_every_shape_and_both_encodings() {
    for name in ["insecure_matmul", "insecure_rank3"] {
        let (params, sk, ev) = setup(name, &KeyNeeds::new());
        for (rows, inner, columns) in
            [(1, 1, 1), (3, 5, 7), (10, 64, 40), (2, 3, params.degree() + 3), (17, 1, 2)]
        {
            for encoding in [Encoding::Coefficients, Encoding::Slots] {
                let w: Vec<f64> = (0..rows * inner).map(|i| ((i * 37 % 101) as f64 - 50.0) / 50.0).collect();
                let m = ramp(inner * columns);
                let options = EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() };
                let ct = sk.encrypt_array(&m, &[inner, columns], options).expect("encrypt");
                let weights = Weights::encode(&ev, rows, inner, &w, &ct).expect("weights");
                let product = ev.rescale(&weights.multiply(&ev, &ct).expect("product")).expect("rescale");
                assert_eq!(product.shape(), [rows, columns]);
                assert_eq!(product.scale(), params.scale(Level(product.level().0)));
                let mut expected = vec![0.0; rows * columns];
                for i in 0..rows {
                    for j in 0..inner {
                        for l in 0..columns {
                            expected[i * columns + l] += w[i * inner + j] * m[j * columns + l];
                        }
                    }
                }
                assert_close(&decrypt(&sk, &product), &expected, 1e-5);
            }
        }
    }
}

#[test]
fn scalars_and_matrices_of_slots_keep_their_shape() {
    let (_, sk, ev) = setup("insecure_small", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let scalar = sk.encrypt_array(&vec![2.5], &[], EncryptOptions::default()).expect("scalar");
    let squared = ev.multiply_rescale(&scalar, &scalar).expect("square");
    assert!(squared.shape().is_empty());
    assert_close(&decrypt(&sk, &squared), &[6.25], 1e-6);
}

#[test]
fn encoded_plaintexts_give_the_same_bits_as_plain_arrays() {
    for name in RANKS {
        let (params, sk, ev) = setup(name, &KeyNeeds::new());
        let (x, y) =
            (ramp(params.slot_count()), Values::Real(ramp(params.slot_count()).into_iter().rev().collect()));
        let ct = encrypt(&sk, &x);
        let factor = ev
            .encode(&y, ct.shape(), Encoding::Slots, ct.level(), ev.factor_scale(&ct).expect("level"))
            .expect("encode");
        let (encoded, plain) = (
            ev.multiply_encoded(&ct, &factor).expect("product"),
            ev.multiply_plain(&ct, &y).expect("product"),
        );
        assert_eq!((encoded.bundles(), encoded.scale()), (plain.bundles(), plain.scale()));
        let term = ev.encode(&y, ct.shape(), Encoding::Slots, ct.level(), ct.scale()).expect("encode");
        let (encoded, plain) =
            (ev.add_encoded(&ct, &term).expect("sum"), ev.add_plain(&ct, &y).expect("sum"));
        assert_eq!((encoded.bundles(), encoded.scale()), (plain.bundles(), plain.scale()));
        // A plaintext of a higher level serves every level below; at the same scale the residues are those of
        // a fresh one.
        let low = ev.drop_to_level(&ct, Level(1)).expect("drop");
        let (high, fresh) = (
            ev.encode(&y, ct.shape(), Encoding::Slots, ct.level(), low.scale()).expect("encode"),
            ev.encode(&y, ct.shape(), Encoding::Slots, Level(1), low.scale()).expect("encode"),
        );
        let (above, beside) =
            (ev.add_encoded(&low, &high).expect("sum"), ev.add_encoded(&low, &fresh).expect("sum"));
        assert_eq!(above.bundles(), beside.bundles());
        assert_close(&decrypt(&sk, &sk.encrypt_encoded(&factor).expect("encrypt")), &real_values(&y), 1e-7);
    }
}

fn real_values(values: &Values) -> Vec<f64> {
    match values {
        Values::Real(values) => values.clone(),
        Values::Complex(_) => panic!("real data"),
    }
}

#[test]
fn encoded_plaintext_of_wrong_shape_encoding_level_scale_or_parameters_is_refused() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new());
    let ct = encrypt(&sk, &ramp(8));
    let values = Values::Real(ramp(8));
    let encode = |shape: &[usize], encoding, level, scale| {
        ev.encode(&values, shape, encoding, level, scale).expect("encode")
    };
    let (top, scale) = (ct.level(), ct.scale());
    let other_shape = encode(&[2, 4], Encoding::Slots, top, scale);
    assert!(matches!(ev.add_encoded(&ct, &other_shape), Err(CkksError::Shape { .. })));
    let coefficients = encode(&[8], Encoding::Coefficients, top, scale);
    assert!(matches!(ev.add_encoded(&ct, &coefficients), Err(CkksError::Encoding { .. })));
    let lower = encode(&[8], Encoding::Slots, Level(top.0 - 1), scale);
    assert!(matches!(ev.multiply_encoded(&ct, &lower), Err(CkksError::OutOfRange { .. })));
    let other_scale = encode(&[8], Encoding::Slots, top, scale * 3.0);
    assert!(matches!(ev.add_encoded(&ct, &other_scale), Err(CkksError::ScaleMismatch { .. })));
    let (strange, ..) = setup("insecure_tiny", &KeyNeeds::new());
    let foreign =
        Evaluator::new(&strange).encode(&values, &[8], Encoding::Slots, Level(0), 1e6).expect("encode");
    assert!(matches!(ev.add_encoded(&ct, &foreign), Err(CkksError::WrongParams { .. })));
    assert!(matches!(sk.encrypt_encoded(&foreign), Err(CkksError::WrongParams { .. })));
    assert!(matches!(ev.encode(&values, &[7], Encoding::Slots, top, scale), Err(CkksError::Shape { .. })));
    assert!(ev.encode(&values, &[8], Encoding::Slots, Level(params.max_level().0 + 1), scale).is_err());
}

#[test]
fn dry_runs_on_symbols_give_the_levels_scales_and_needs_of_the_real_run() {
    use clathrate_ckks::Ciphertext;
    let params = params("insecure_small");
    let recorder = Evaluator::recording(&params);
    let top = params.max_level();
    let symbol =
        Ciphertext::symbol(&params, &[16], Encoding::Slots, false, top, params.scale(top)).expect("symbol");
    let circuit = |ev: &Evaluator, x: &Ciphertext| -> Result<Ciphertext, CkksError> {
        let square = ev.multiply_rescale(x, x)?;
        let sum = ev.add(&square, &ev.rotate(&square, 3)?)?;
        ev.rescale(&ev.multiply(&sum, x)?)
    };
    let dry = circuit(&recorder, &symbol).expect("dry run");
    let needs = recorder.needs();
    let expected =
        KeyNeeds::new().relinearise(KeyLevel::Level(top.0)).rotations([3], KeyLevel::Level(top.0 - 1));
    assert_eq!(needs, expected);
    let sk = SecretKey::generate(&params).expect("secret key");
    let ev = Evaluator::with_keys(std::sync::Arc::new(sk.evaluation_keys(&needs).expect("keys")));
    let ct = encrypt(&sk, &ramp(16));
    let real = circuit(&ev, &ct).expect("real run");
    assert_eq!((real.shape(), real.level(), real.scale()), (dry.shape(), dry.level(), dry.scale()));
    // A symbol is no ciphertext.
    assert!(matches!(sk.decrypt(&dry), Err(CkksError::Symbol { .. })));
    assert!(matches!(ev.add(&ct, &symbol), Err(CkksError::Symbol { .. })));
    assert!(
        matches!(ev.multiply(&symbol, &symbol), Err(CkksError::WrongSecret { reason, .. }) if reason.contains("belongs to secret")),
        "keys belong to data"
    );
    assert!(
        matches!(recorder.multiply(&ct, &ct), Err(CkksError::NoKeys { .. })),
        "a recorder has no keys for data"
    );
    assert!(clathrate_ckks::file::Stored::to_file_bytes(&dry).is_err());
}

/// The decrypted numbers, bit for bit.
fn numbers(sk: &SecretKey, x: &Ciphertext) -> Vec<u64> {
    crate::common::decrypt(sk, x).iter().map(|value| value.to_bits()).collect()
}

#[test]
fn sums_in_place_and_into_another_array_are_the_sums() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new());
    let top = params.max_level();
    let (x, y) = (encrypt(&sk, &ramp(40)), encrypt(&sk, &ramp(80)[40..]));
    let low = ev.drop_to_level(&y, Level(top.0 - 2)).expect("lower");
    let tripled = ev
        .multiply_integer(&ev.multiply_plain(&y, &Values::Real(ramp(40))).expect("a product"), 3)
        .expect("a multiple");
    for other in [&y, &low, &tripled] {
        let (sum, difference) = (ev.add(&x, other), ev.sub(&x, other));
        let (Ok(sum), Ok(difference)) = (sum, difference) else {
            let mut same = x.clone();
            assert!(ev.add_assign(&mut same, other).is_err() && ev.sub_assign(&mut same, other).is_err());
            assert_eq!(numbers(&sk, &same), numbers(&sk, &x), "unchanged");
            continue;
        };
        let (mut plus, mut minus) = (x.clone(), x.clone());
        ev.add_assign(&mut plus, other).expect("a sum");
        ev.sub_assign(&mut minus, other).expect("a difference");
        assert_eq!(
            (plus.level(), plus.scale(), numbers(&sk, &plus)),
            (sum.level(), sum.scale(), numbers(&sk, &sum))
        );
        assert_eq!(
            (minus.level(), minus.scale(), numbers(&sk, &minus)),
            (difference.level(), difference.scale(), numbers(&sk, &difference))
        );
        // Outputs of the right size, of another level, of another shape.
        for mut out in
            [x.clone(), low.clone(), encrypt(&sk, &ramp(3)), encrypt(&sk, &ramp(params.slot_count() + 1))]
        {
            ev.add_into(&mut out, &x, other).expect("a sum");
            assert_eq!((out.level(), out.shape(), out.layout()), (sum.level(), sum.shape(), sum.layout()));
            assert_eq!(numbers(&sk, &out), numbers(&sk, &sum));
        }
    }
    let mut out = y.clone();
    let other = encrypt(&sk, &ramp(7));
    assert!(ev.add_into(&mut out, &x, &other).is_err(), "shapes");
    assert_eq!(numbers(&sk, &out), numbers(&sk, &y), "unchanged");
    // Dry runs take no memory for a sum in place.
    let recorder = Evaluator::recording(&params);
    let mut symbol = recorder.symbol(&[8], Encoding::Slots, top, 1.0).expect("a symbol");
    let (before, other) = (recorder.recorded().peak_array_bytes(), symbol.clone());
    recorder.add_assign(&mut symbol, &other).expect("a sum");
    assert_eq!(recorder.recorded().peak_array_bytes(), 2 * before);
    assert_eq!(symbol.bound(), Some(2.0));
}
