//! Precision: measured errors of encodings and operations against what the noise model and `explain` predict.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::encoding::{decode_coefficients, encode_coefficients};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Encoding, Evaluator, KeyNeeds, Params};
use clathrate_lattice::Level;

/// Bits that a measured deviation may be off: ten times the statistical error of the smallest sample here.
const SLACK: f64 = 0.1;

fn of_degree(degree: usize) -> Params {
    custom(&format!(
        "name = \"d\"\ndegree = {degree}\nsteps = [[30, 30], [40], [40]]\nlog2_scale = 40\ninsecure = true\n"
    ))
}

#[test]
fn encoding_errors_are_those_of_rounding_at_every_degree_and_scale() {
    for degree in [8, 64, 1024, 1 << 14] {
        let params = of_degree(degree);
        let top = params.max_level();
        for log2_scale in [12, 20, 40, 46] {
            let scale = f64::from(log2_scale).exp2();
            // At least 2^14 samples whatever the degree.
            let rounds = (1 << 14) / degree;
            let (mut slots, mut coefficients) = (Vec::new(), Vec::new());
            for round in 0..rounds {
                let z = phases(degree / 2, (7 * round + log2_scale as usize) as u64);
                let embedded = params.encoder().embed(&z);
                let poly =
                    encode_coefficients(&params, embedded.clone(), scale, top).expect("fits").into_coeff();
                let back = decode_coefficients(&poly, scale, true).expect("decides");
                coefficients.push(deviation(&back, &embedded).powi(2));
                slots.push(complex_deviation(&params.encoder().evaluate(&back, degree / 2), &z).powi(2));
            }
            let root = |squares: &[f64]| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
            // Rounding to integers at random: 1/6 per coefficient.
            assert_bits(
                &format!("coefficients, degree {degree}, 2^{log2_scale}"),
                root(&coefficients),
                -(1f64 / 6.0).sqrt().log2() + scale.log2(),
                SLACK,
            );
            assert_bits(
                &format!("slots, degree {degree}, 2^{log2_scale}"),
                root(&slots),
                slot_bits(&params, 1.0 / 6.0, scale),
                SLACK,
            );
        }
    }
}

#[test]
fn wide_messages_decode_exactly_by_every_path() {
    // 64-bit, 128-bit and big-integer paths: integers come back to the last bit of a double.
    let params = of_degree(64);
    for level in 0..=2 {
        for log2_value in [0, 10, 40, 51, 57, 61, 63, 90, 100, 118] {
            let value = f64::from(log2_value).exp2() * 1.25;
            if f64::from(log2_value) + 2.5 > params.log2_q(Level(level)) {
                continue;
            }
            let values: Vec<f64> =
                (0..64).map(|i| if i % 2 == 0 { value.floor() } else { -value.floor() }).collect();
            let poly =
                encode_coefficients(&params, values.clone(), 1.0, Level(level)).expect("fits").into_coeff();
            assert_eq!(
                decode_coefficients(&poly, 1.0, true).expect("decides"),
                values,
                "2^{log2_value} at level {level}"
            );
        }
    }
}

#[test]
fn fresh_errors_are_as_explained_at_every_rank() {
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3"] {
        let params = params(name);
        let sk = secret(&params, 1);
        let explained = params.explain();
        let rows = (1 << 14) / params.degree();
        let data = noise(rows * params.degree(), 2);
        let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
        let ct = encrypt_as(&sk, &Values::Real(data.clone()), &[rows, params.degree()], options, 3);
        assert_bits(
            &format!("{name}, fresh coefficients"),
            deviation(&decrypt(&sk, &ct), &data),
            explained.fresh_coefficient_bits,
            SLACK,
        );
        let z = phases(2 * rows * params.slot_count(), 4);
        let shape = [2 * rows, params.slot_count()];
        let ct = encrypt_as(&sk, &Values::Complex(z.clone()), &shape, EncryptOptions::default(), 5);
        assert_bits(
            &format!("{name}, fresh slots"),
            complex_deviation(&decrypt_complex(&sk, &ct), &z),
            explained.fresh_slot_bits,
            SLACK,
        );
        let public = sk.public_key().expect("key").encrypt_array(&z, &shape, EncryptOptions::default());
        let measured = complex_deviation(&decrypt_complex(&sk, &public.expect("encrypt")), &z);
        let predicted =
            slot_bits(&params, params.noise_model().fresh_public(), params.scale(params.max_level()));
        assert_bits(&format!("{name}, public"), measured, predicted, SLACK);
        // The same key encrypts at the bottom, with the same error.
        let options = EncryptOptions { level: Some(Level(0)), ..EncryptOptions::default() };
        let low = sk.public_key().expect("key").encrypt_array(&z, &shape, options).expect("encrypt");
        let predicted = slot_bits(&params, params.noise_model().fresh_public(), params.scale(Level(0)));
        assert_bits(
            &format!("{name}, public at level 0"),
            complex_deviation(&decrypt_complex(&sk, &low), &z),
            predicted,
            SLACK,
        );
    }
}

#[test]
fn products_rescales_and_rotations_have_the_modelled_errors_at_every_rank() {
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3"] {
        let params = params(name);
        let sk = secret(&params, 6);
        let ev = evaluator(
            &sk,
            &KeyNeeds::new()
                .relinearise(KeyLevel::Top)
                .conjugate(KeyLevel::Top)
                .rotations([3], KeyLevel::Top),
        );
        let (slots, top) = (params.slot_count(), params.max_level());
        let rows = (1 << 14) / slots;
        let (x, y) = (phases(rows * slots, 7), phases(rows * slots, 8));
        let encrypt = |z: &[_], seed| {
            encrypt_as(&sk, &Values::Complex(z.to_vec()), &[rows, slots], EncryptOptions::default(), seed)
        };
        let (cx, cy) = (encrypt(&x, 9), encrypt(&y, 10));
        let model = params.noise_model();
        let product: Vec<_> = x.iter().zip(&y).map(|(a, b)| a * b).collect();
        let explained = params.explain().product_slot_bits.expect("levels");
        let fused = ev.multiply_rescale(&cx, &cy).expect("product");
        assert_bits(
            &format!("{name}, fused product"),
            complex_deviation(&decrypt_complex(&sk, &fused), &product),
            explained,
            SLACK,
        );
        let unrescaled = ev.multiply(&cx, &cy).expect("product");
        // The rounding of the encoded messages is an error as well, as large as its products make it.
        let fresh = model.fresh_secret() + 1.0 / 12.0;
        let mean_square = cx.scale().powi(2) / params.degree() as f64;
        let variance = model.multiply((fresh, mean_square), (fresh, mean_square))
            + switch_variance(&params, params.rank() * (params.rank() + 1) / 2, top);
        let measured = complex_deviation(&decrypt_complex(&sk, &unrescaled), &product);
        assert_bits(
            &format!("{name}, product"),
            measured,
            slot_bits(&params, variance, unrescaled.scale()),
            SLACK,
        );
        let twice = ev.rescale(&unrescaled).expect("rescale");
        assert_bits(
            &format!("{name}, rescaled product"),
            complex_deviation(&decrypt_complex(&sk, &twice), &product),
            explained,
            SLACK,
        );
        let mut rolled = x.clone();
        rolled.chunks_exact_mut(slots).for_each(|row| row.rotate_left(3));
        let predicted = slot_bits(&params, fresh + switch_variance(&params, params.rank(), top), cx.scale());
        let measured =
            complex_deviation(&decrypt_complex(&sk, &ev.rotate(&cx, 3).expect("rotation")), &rolled);
        assert_bits(&format!("{name}, rotation"), measured, predicted, SLACK);
        let conjugates: Vec<_> = x.iter().map(|z| z.conj()).collect();
        let measured =
            complex_deviation(&decrypt_complex(&sk, &ev.conjugate(&cx).expect("conjugation")), &conjugates);
        assert_bits(&format!("{name}, conjugation"), measured, predicted, SLACK);
    }
}

#[test]
fn matrix_products_have_the_modelled_error() {
    for name in ["insecure_matmul", "insecure_rank2"] {
        let params = params(name);
        let sk = secret(&params, 11);
        let (rows, inner, columns) = (64, 128, params.degree());
        let (w, m) = (noise(rows * inner, 12), noise(inner * columns, 13));
        let ct = encrypt_as(&sk, &Values::Real(m.clone()), &[inner, columns], EncryptOptions::default(), 14);
        let ev = Evaluator::new(&params);
        let weights = Weights::encode(&ev, rows, inner, &w, &ct).expect("weights");
        let product = ev.rescale(&weights.multiply(&ev, &ct).expect("product")).expect("rescale");
        let mut expected = vec![0.0; rows * columns];
        for i in 0..rows {
            for j in 0..inner {
                expected[i * columns..(i + 1) * columns]
                    .iter_mut()
                    .zip(&m[j * columns..])
                    .for_each(|(e, m)| *e += w[i * inner + j] * m);
            }
        }
        // Uniform in [-1, 1): mean square 1/3. Errors of the encryption and of both roundings to integers,
        // then of the rescale.
        let (terms, third) = (inner as f64, 1.0 / 3.0);
        let encryption =
            terms * third * (params.noise_model().fresh_secret() + 1.0 / 12.0) / ct.scale().powi(2);
        let weight_rounding = terms * third / 12.0 / weights.scale().powi(2);
        let rescale = params.noise_model().rounding() / product.scale().powi(2);
        let predicted = -(encryption + weight_rounding + rescale).sqrt().log2();
        assert_bits(
            &format!("{name}, matrix product"),
            deviation(&decrypt(&sk, &product), &expected),
            predicted,
            SLACK,
        );
    }
}

#[test]
fn chains_have_distinct_fast_primes_and_scales_within_2_to_minus_15() {
    for name in [
        "insecure_tiny",
        "insecure_small",
        "insecure_rank2",
        "insecure_rank3",
        "insecure_matmul",
        "matmul",
        "n13",
        "n14",
        "rank3_n13",
        "paper_pcmm",
    ] {
        let worst = check_chain(&params(name), 45.9);
        println!("{name}: scales deviate by at most 2^{:.1}", worst.log2());
        assert!(worst < (-15f64).exp2(), "{name}: {worst:e}");
    }
}
