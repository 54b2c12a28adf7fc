//! Encryption and encoding take slices, arrays and vectors of real or complex numbers; decryption gives
//! vectors back.

use crate::common::{assert_refused, params, ramp, secret};
use clathrate_ckks::prelude::*;
use clathrate_ckks::{SecretRng, ValuesRef};

const REAL: [f64; 6] = [0.5, -1.0, 2.0, 0.25, -0.125, 3.0];

fn complex() -> [Complex64; 6] {
    REAL.map(|x| Complex64::new(x, 1.0 - x))
}

/// The residues of an encryption by fixed randomness.
fn bytes<'v>(owner: &SecretKey, values: impl Into<ValuesRef<'v>>, shape: &[usize]) -> Vec<u8> {
    let owner = owner.clone().with_rng(SecretRng::from_seed([3; 32]));
    owner
        .encrypt_array(values, shape, EncryptOptions::default())
        .expect("ciphertext")
        .to_file_bytes()
        .expect("file")
}

#[test]
fn every_collection_of_the_same_numbers_encrypts_alike() {
    let owner = secret(&params("insecure_small"), 1);
    for shape in [&[6][..], &[2, 3]] {
        let array = bytes(&owner, &REAL, shape);
        assert!(array == bytes(&owner, &REAL[..], shape) && array == bytes(&owner, &REAL.to_vec(), shape));
        assert!(array == bytes(&owner, &Values::Real(REAL.to_vec()), shape));
        let numbers = complex();
        let array = bytes(&owner, &numbers, shape);
        assert!(
            array == bytes(&owner, &numbers[..], shape) && array == bytes(&owner, &numbers.to_vec(), shape)
        );
        assert!(array == bytes(&owner, &Values::Complex(numbers.to_vec()), shape));
        assert!(array != bytes(&owner, &REAL, shape), "the numbers matter");
    }
}

#[test]
fn vector_is_encrypted_in_slots_at_the_highest_level_and_comes_back() {
    let params = params("insecure_small");
    let owner = secret(&params, 1);
    let public = owner.public_key().expect("public key");
    let data = ramp(2 * params.slot_count() + 3);
    for x in [owner.encrypt(&data).expect("ciphertext"), public.encrypt(&data).expect("ciphertext")] {
        assert_eq!(
            (x.shape(), x.encoding(), x.level()),
            (&[data.len()][..], Encoding::Slots, params.max_level())
        );
        assert!(!x.is_complex());
        crate::common::assert_close(
            &owner.decrypt(&x).expect("decrypt").into_real().expect("real numbers"),
            &data,
            1e-6,
        );
    }
    let numbers = complex();
    for z in [owner.encrypt(&numbers).expect("ciphertext"), public.encrypt(&numbers).expect("ciphertext")] {
        let back = owner.decrypt(&z).expect("decrypt").into_complex();
        assert!(
            back.iter().zip(&numbers).all(|(got, expected)| (got - expected).norm() < 1e-6)
                && back.len() == 6
        );
    }
}

#[test]
fn operands_of_the_evaluator_are_slices() {
    let params = params("insecure_small");
    let (owner, ev) = (secret(&params, 1), Evaluator::new(&params));
    let x = owner.encrypt(&REAL).expect("ciphertext");
    let decrypt = |x: &Ciphertext| owner.decrypt(x).expect("decrypt").into_real().expect("real numbers");
    let both =
        |f: fn(f64, f64) -> f64| REAL.iter().rev().zip(&REAL).map(|(&y, &x)| f(x, y)).collect::<Vec<_>>();
    let reversed: Vec<f64> = REAL.into_iter().rev().collect();
    crate::common::assert_close(
        &decrypt(&ev.add_plain(&x, &reversed).expect("sum")),
        &both(|x, y| x + y),
        1e-6,
    );
    let product =
        ev.multiply_plain(&x, &reversed[..]).and_then(|product| ev.rescale(&product)).expect("product");
    crate::common::assert_close(&decrypt(&product), &both(|x, y| x * y), 1e-5);
    let plaintext = ev.encode(&REAL, &[6], Encoding::Slots, x.level(), x.scale()).expect("plaintext");
    crate::common::assert_close(
        &decrypt(&owner.encrypt_encoded(&plaintext).expect("ciphertext")),
        &REAL,
        1e-6,
    );
    let new = |coefficients: &[f64]| {
        Polynomial::new(coefficients, PolynomialBasis::Power, (-1.0, 1.0)).expect("polynomial")
    };
    assert_eq!(Polynomial::new(REAL, PolynomialBasis::Power, (-1.0, 1.0)).expect("polynomial"), new(&REAL));
    assert_eq!(
        Polynomial::new(reversed.clone(), PolynomialBasis::Power, (-1.0, 1.0)).expect("polynomial"),
        new(&reversed)
    );
}

#[test]
fn slices_that_do_not_fit_are_refused_as_arrays_are() {
    let params = params("insecure_small");
    let (owner, ev) = (secret(&params, 1), Evaluator::new(&params));
    let public = owner.public_key().expect("public key");
    assert_refused!(owner.encrypt(&[0.0; 0]), CkksError::Empty { .. }, "no entries", "[0]");
    assert_refused!(public.encrypt(&[] as &[Complex64]), CkksError::Empty { .. }, "no entries", "[0]");
    for (bad, name) in [(f64::NAN, "nan"), (f64::INFINITY, "inf")] {
        assert_refused!(owner.encrypt(&[0.0, bad]), CkksError::NotFinite { index: 1, .. }, name);
        assert_refused!(
            public.encrypt(&[Complex64::new(0.0, bad)]),
            CkksError::NotFinite { index: 0, .. },
            name
        );
    }
    assert_refused!(
        owner.encrypt(&[1e30]),
        CkksError::TooLarge { .. },
        "has room for",
        "scale the data down"
    );
    let default = EncryptOptions::default();
    assert_refused!(
        owner.encrypt_array(&REAL, &[7], default),
        CkksError::Shape { .. },
        "[7]",
        "[6]",
        "needs 7 values"
    );
    assert_refused!(
        public.encrypt_array(&REAL, &[2, 2], default),
        CkksError::Shape { .. },
        "[2, 2]",
        "[6]",
        "needs 4 values"
    );
    let x = owner.encrypt(&REAL).expect("ciphertext");
    assert_refused!(ev.add_plain(&x, &REAL[..5]), CkksError::Shape { .. }, "[6]", "[5]");
    assert_refused!(ev.multiply_plain(&x, &[f64::NAN; 6]), CkksError::NotFinite { index: 0, .. }, "nan");
}

#[test]
fn complex_arrays_are_no_real_vectors() {
    let owner = secret(&params("insecure_small"), 1);
    let z = owner.encrypt(&complex()).expect("ciphertext");
    let refused = owner.decrypt(&z).expect("decrypt").into_real();
    assert_refused!(refused, CkksError::OutOfRange { .. }, "the array is complex", "into_complex");
}
