//! Orders inside polynomials, and complex numbers as pairs of coefficients: what is where, looked up in the
//! polynomials themselves.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::encoding::decode_coefficients;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Order, SecretKey};
use rustfft::num_complex::Complex64;

/// The coefficients of the first bundle's message.
fn coefficients(sk: &SecretKey, x: &Ciphertext) -> Vec<f64> {
    let phase = x.bundles()[0].phase(sk.secret()).expect("phase").swap_remove(0).into_coeff();
    decode_coefficients(&phase, x.scale(), true).expect("all primes")
}

fn options(encoding: Encoding, order: Order, capacity: Option<usize>) -> EncryptOptions {
    EncryptOptions { encoding: Some(encoding), order, capacity, ..EncryptOptions::default() }
}

/// The reversal of `bits` bits.
fn reversed(t: usize, bits: u32) -> usize {
    (0..bits).fold(0, |sum, bit| sum << 1 | (t >> bit & 1))
}

#[test]
fn pairs_are_the_halves_of_the_coefficients_in_both_orders() {
    let params = params("insecure_tiny");
    let (sk, degree) = (secret(&params, 1), params.degree());
    for (order, capacity) in [
        (Order::Natural, None),
        (Order::BitReversed, None),
        (Order::Natural, Some(8)),
        (Order::BitReversed, Some(8)),
    ] {
        let data = phases(5, 1);
        let x = encrypt_as(
            &sk,
            &Values::Complex(data.clone()),
            &[5],
            options(Encoding::Coefficients, order, capacity),
            2,
        );
        let capacity = capacity.unwrap_or(degree / 2);
        let mut expected = vec![0.0; degree];
        for (t, z) in data.iter().enumerate() {
            let place = if order == Order::Natural { t } else { reversed(t, capacity.ilog2()) };
            let index = place * (degree / 2 / capacity);
            (expected[index], expected[index + degree / 2]) = (z.re, z.im);
        }
        assert_close(&coefficients(&sk, &x), &expected, 1e-8);
        let back = decrypt_complex(&sk, &x);
        assert!(back.iter().zip(&data).all(|(a, b)| (a - b).norm() < 1e-8));
        // A product by X^(n/2) = i turns the numbers by a quarter.
        let ring = params.chain().ring();
        let mut monomial = vec![0i64; degree];
        monomial[degree / 2] = 1;
        let i = clathrate_lattice::Poly::from_signed(ring, &params.chain().basis(x.level()), &monomial)
            .into_eval();
        let mut turned = x.bundles()[0].clone();
        turned.mul_poly_assign(&i).expect("one ring");
        let phase = turned.phase(sk.secret()).expect("phase").swap_remove(0).into_coeff();
        let turned = decode_coefficients(&phase, x.scale(), true).expect("all primes");
        for t in 0..degree / 2 {
            assert!(
                (turned[t] + expected[t + degree / 2]).abs() < 1e-8
                    && (turned[t + degree / 2] - expected[t]).abs() < 1e-8
            );
        }
    }
}

#[test]
fn bit_reversed_slots_compute_entry_by_entry_and_do_not_rotate() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 2);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1, 2, 4], KeyLevel::Top));
    let (a, b) = (phases(5, 3), phases(5, 4));
    let of = |data: &[Complex64], order| {
        encrypt_as(&sk, &Values::Complex(data.to_vec()), &[5], options(Encoding::Slots, order, None), 5)
    };
    let (x, y) = (of(&a, Order::BitReversed), of(&b, Order::BitReversed));
    let slots = params.encoder().evaluate(&coefficients(&sk, &x), 8);
    assert!((0..5).all(|t| (slots[reversed(t, 3)] - a[t]).norm() < 1e-7));
    let product = decrypt_complex(&sk, &ev.multiply_rescale(&x, &y).expect("product"));
    assert!(product.iter().enumerate().all(|(t, z)| (z - a[t] * b[t]).norm() < 1e-6));
    let sum = decrypt_complex(&sk, &ev.add_plain(&x, &b).expect("sum"));
    assert!(sum.iter().enumerate().all(|(t, z)| (z - a[t] - b[t]).norm() < 1e-6));
    let total = decrypt_complex(&sk, &ev.total(&x).expect("sums are of all orders"));
    assert!((total[0] - a.iter().sum::<Complex64>()).norm() < 1e-6);
    assert_refused!(
        ev.rotate(&x, 1),
        CkksError::Unsuitable { .. },
        "bit-reversed order",
        "a rotation",
        "bit-reversed",
        "natural"
    );
    let natural = of(&b, Order::Natural);
    assert_refused!(
        ev.add(&x, &natural),
        CkksError::Unsuitable { .. },
        "laid out differently",
        "bit-reversed"
    );
    let plain = ev.encode(&Values::Complex(b), &[5], Encoding::Slots, x.level(), x.scale()).expect("encode");
    assert_refused!(
        ev.add_encoded(&x, &plain),
        CkksError::Unsuitable { .. },
        "laid out differently",
        "encode_for"
    );
}

#[test]
fn complex_coefficients_add_scale_and_combine() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 3);
    let ev = Evaluator::new(&params);
    let columns = params.degree() / 2 + 3;
    let (a, b) = (phases(3 * columns, 5), phases(3 * columns, 6));
    let of = |data: &[Complex64]| {
        encrypt_as(
            &sk,
            &Values::Complex(data.to_vec()),
            &[3, columns],
            options(Encoding::Coefficients, Order::Natural, None),
            7,
        )
    };
    let (x, y) = (of(&a), of(&b));
    assert_eq!((x.layout().chunks(), x.bundles().len(), x.is_complex()), (2, 6, true));
    let check = |result: Result<Ciphertext, CkksError>, f: &dyn Fn(usize) -> Complex64| {
        let got = decrypt_complex(&sk, &result.expect("a linear operation"));
        assert!(got.iter().enumerate().all(|(i, z)| (z - f(i)).norm() < 1e-6));
    };
    check(ev.add(&x, &y), &|i| a[i] + b[i]);
    check(ev.sub(&x, &y), &|i| a[i] - b[i]);
    check(ev.add_plain(&x, &b), &|i| a[i] + b[i]);
    check(ev.multiply_scalar(&x, 0.3).and_then(|z| ev.rescale(&z)), &|i| 0.3 * a[i]);
    let weights = noise(6, 8);
    let product = Weights::encode(&ev, 2, 3, &weights, &x).expect("weights").multiply(&ev, &x);
    let got = decrypt_complex(&sk, &product.expect("product"));
    for (i, z) in got.iter().enumerate() {
        let expected: Complex64 =
            (0..3).map(|k| weights[i / columns * 3 + k] * a[k * columns + i % columns]).sum();
        assert!((z - expected).norm() < 1e-6);
    }
    assert_refused!(ev.multiply_plain(&x, &b), CkksError::Encoding { .. }, "needs the encoding slots");
}
