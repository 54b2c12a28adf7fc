//! Sums of products and linear combinations against numbers, against the single operations, and what they
//! refuse.

use crate::common::{assert_refused, encrypt, encrypt_as, ramp, setup};
use clathrate_ckks::encoding::decode_coefficients;
use clathrate_ckks::evaluation::combinations::ProductTerm;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Padding, SecretKey};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

fn complex(sk: &SecretKey, x: &Ciphertext) -> Vec<Complex64> {
    match sk.decrypt(x).expect("decrypt") {
        Values::Real(values) => values.into_iter().map(Complex64::from).collect(),
        Values::Complex(values) => values,
    }
}

fn assert_numbers(sk: &SecretKey, x: &Ciphertext, expected: &[Complex64]) {
    let worst = complex(sk, x).iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{worst:e}");
}

fn product<'c>(left: &'c Ciphertext, right: &'c Ciphertext) -> ProductTerm<'c> {
    ProductTerm { left, right, twice: false }
}

#[test]
fn linear_combinations_are_the_sums_of_their_multiples() {
    for name in ["insecure_small", "insecure_rank2"] {
        let (params, sk, ev) = setup(name, &KeyNeeds::new());
        let (a, b) = (ramp(40), ramp(80)[40..].to_vec());
        let (x, y) = (encrypt(&sk, &a), encrypt(&sk, &b));
        let factor_scale = ev.factor_scale(&x).expect("room");
        for (p, q) in [
            (0.5.into(), (-1.25).into()),
            (Complex64::new(0.5, -0.75), Complex64::i()),
            (Complex64::default(), 0.0.into()),
        ] {
            let sum = ev.linear_combination(&[(&x, p), (&y, q)], x.scale() * factor_scale).expect("a sum");
            assert_eq!((sum.level(), sum.is_complex()), (params.max_level(), p.im != 0.0 || q.im != 0.0));
            let expected: Vec<Complex64> = a.iter().zip(&b).map(|(&a, &b)| p * a + q * b).collect();
            let rescaled = ev.rescale(&sum).expect("a rescale");
            assert_numbers(&sk, &rescaled, &expected);
            assert_eq!(rescaled.scale(), params.scale(rescaled.level()), "canonical");
        }
        // A single integer multiple is the multiple, bit for bit.
        let bits = |x: &Ciphertext| complex(&sk, x).iter().map(|c| c.re.to_bits()).collect::<Vec<_>>();
        let tripled = ev.linear_combination(&[(&x, 3.0.into())], x.scale()).expect("a multiple");
        assert_eq!(bits(&tripled), bits(&ev.multiply_integer(&x, 3).expect("a multiple")));
    }
}

#[test]
fn sums_of_products_share_one_relinearisation_and_keep_the_numbers() {
    for name in ["insecure_small", "insecure_rank2", "insecure_dpad"] {
        let (params, sk, ev) = setup(name, &KeyNeeds::new().relinearise(KeyLevel::Top));
        let (a, b, c) = (ramp(30), ramp(60)[30..].to_vec(), ramp(90)[60..].to_vec());
        let (x, y, z) = (encrypt(&sk, &a), encrypt(&sk, &b), encrypt(&sk, &c));
        let plus = ev.linear_combination(&[(&z, 0.5.into())], x.scale() * y.scale()).expect("a multiple");
        let terms = [product(&x, &y), ProductTerm { left: &y, right: &z, twice: true }];
        let sum = ev.sum_of_products_rescale(&terms, Some(&plus)).expect("a sum");
        let expected: Vec<Complex64> =
            (0..30).map(|i| (a[i] * b[i] + 2.0 * b[i] * c[i] + 0.5 * c[i]).into()).collect();
        assert_numbers(&sk, &sum, &expected);
        assert_eq!((sum.level().0 + 1, sum.scale()), (params.max_level().0, params.scale(sum.level())));
        // One product is the product, bit for bit.
        let bits = |x: &Ciphertext| complex(&sk, x).iter().map(|c| c.re.to_bits()).collect::<Vec<_>>();
        let one = ev.sum_of_products_rescale(&[product(&x, &y)], None).expect("a product");
        assert_eq!(bits(&one), bits(&ev.multiply_rescale(&x, &y).expect("a product")));
    }
}

#[test]
fn constants_go_into_every_slot_and_make_padding_dirty() {
    let (_, sk, ev) = setup("insecure_small", &KeyNeeds::new());
    let a = ramp(5);
    let x = encrypt(&sk, &a);
    for number in [Complex64::from(0.75), Complex64::new(-0.5, 0.25)] {
        let sum = ev.add_constant(&x, number).expect("a sum");
        assert_numbers(&sk, &sum, &a.iter().map(|&a| a + number).collect::<Vec<_>>());
        assert_eq!((sum.padding(), sum.is_complex()), (Padding::Dirty, number.im != 0.0));
    }
    assert_eq!(ev.add_constant(&x, 0.0.into()).expect("nothing").padding(), Padding::Zero);
}

#[test]
fn constants_leave_bodies_without_entries_at_zero() {
    let (_, sk, ev) = setup("insecure_small", &KeyNeeds::new());
    // Three rows under masks of two bodies: the last mask has a body without a row.
    let options =
        EncryptOptions { encoding: Some(Encoding::Slots), bodies: Some(2), ..EncryptOptions::default() };
    let x = encrypt_as(&sk, &Values::Real(ramp(24)), &[3, 8], options, 1);
    let sum = ev.add_constant(&x, Complex64::new(0.75, -0.5)).expect("a sum");
    let secret = sk.named(sum.secret()).expect("the bodies' secret");
    let phases = sum.bundles()[1].phase(&secret).expect("phases").into_iter();
    let largest: Vec<f64> = phases
        .map(|phase| decode_coefficients(&phase.into_coeff(), sum.scale(), true).expect("all primes"))
        .map(|coefficients| coefficients.iter().fold(0.0f64, |largest, c| largest.max(c.abs())))
        .collect();
    assert!(largest[0] > 0.5 && largest[1] < 1e-6, "{largest:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let (params, sk, ev) = setup("insecure_small", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let x = encrypt(&sk, &ramp(8));
    let low = ev.drop_to_level(&x, Level(1)).expect("lower");
    let coefficients = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let dense = encrypt_as(&sk, &Values::Real(ramp(8)), &[8], coefficients, 1);
    let one = Complex64::from(1.0);
    assert_refused!(ev.linear_combination(&[], 1.0), CkksError::Empty { .. }, "has no terms", "at least one");
    assert_refused!(
        ev.sum_of_products_rescale(&[], None),
        CkksError::Empty { .. },
        "has no terms",
        "at least one"
    );
    assert_refused!(
        ev.linear_combination(&[(&x, one), (&low, one)], x.scale()),
        CkksError::LevelTooLow { .. },
        "level 1"
    );
    assert_refused!(
        ev.sum_of_products_rescale(&[product(&x, &low)], None),
        CkksError::LevelTooLow { .. },
        "level 1"
    );
    assert_refused!(ev.linear_combination(&[(&dense, one)], x.scale()), CkksError::Encoding { .. }, "slots");
    assert_refused!(
        ev.sum_of_products_rescale(&[product(&dense, &dense)], None),
        CkksError::Encoding { .. },
        "slots"
    );
    assert_refused!(ev.add_constant(&dense, one), CkksError::Encoding { .. }, "slots");
    for number in [Complex64::new(f64::NAN, 0.0), Complex64::new(0.0, f64::INFINITY)] {
        assert_refused!(
            ev.linear_combination(&[(&x, number)], x.scale()),
            CkksError::NotFinite { .. },
            "finite"
        );
        assert_refused!(ev.add_constant(&x, number), CkksError::NotFinite { .. }, "finite");
    }
    assert_refused!(
        ev.linear_combination(&[(&x, 1e60.into())], x.scale()),
        CkksError::TooLarge { .. },
        "has room for",
        "bits"
    );
    assert_refused!(ev.add_constant(&x, 1e90.into()), CkksError::TooLarge { .. }, "has room for", "bits");
    assert_refused!(
        ev.linear_combination(&[(&x, one)], 0.5),
        CkksError::ScaleOutOfRange { .. },
        "out of range"
    );
    let doubled = ev.linear_combination(&[(&x, one)], 2.0 * x.scale()).expect("another scale");
    assert_refused!(
        ev.sum_of_products_rescale(&[product(&x, &x), product(&x, &doubled)], None),
        CkksError::ScaleMismatch { .. },
        "scale"
    );
    assert_refused!(
        ev.sum_of_products_rescale(&[product(&x, &x)], Some(&x)),
        CkksError::ScaleMismatch { .. },
        "scale"
    );
    assert_refused!(
        Evaluator::new(&params).sum_of_products_rescale(&[product(&x, &x)], None),
        CkksError::NoKeys { .. },
        "a sum of products"
    );
    let other = encrypt(&sk, &ramp(9));
    assert_refused!(
        ev.linear_combination(&[(&x, one), (&other, one)], x.scale()),
        CkksError::Shape { .. },
        "equal shapes"
    );
}
