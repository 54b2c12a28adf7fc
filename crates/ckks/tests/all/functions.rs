//! Functions of numbers that are no polynomials: the degrees that they take, and their errors on plain and on
//! encrypted numbers.

use std::sync::Arc;

use crate::common::*;
use clathrate_ckks::encrypted_array::{EncryptedArray, PlainArray};
use clathrate_ckks::functions::{Approximation, SmoothFunction, Softmax, plain};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{CkksError, Complex64, Encoding, Evaluator, Params, SecretKey};

use SmoothFunction::{Exp, Gelu, Inverse, InverseSqrt, Log, Sigmoid, Silu, Sqrt, Tanh};

/// `count` numbers from `low` to `high`, both included.
fn even(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| (low + (high - low) * i as f64 / (count - 1) as f64).min(high)).collect()
}

/// `count` numbers from `low` to `high` with constant quotients.
fn geometric(low: f64, high: f64, count: usize) -> Vec<f64> {
    even(low.ln(), high.ln(), count).into_iter().map(|x| x.exp().clamp(low, high)).collect()
}

fn worst(found: &[f64], exact: impl Iterator<Item = f64>) -> f64 {
    let exact: Vec<f64> = exact.collect();
    assert_eq!(found.len(), exact.len());
    found.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn degrees(approximation: &Approximation) -> Vec<usize> {
    approximation.polynomials().iter().map(|polynomial| polynomial.degree()).collect()
}

/// The degrees for errors of 0.1, 1e-3 and 1e-6.
const DEGREES: [(SmoothFunction, (f64, f64), [usize; 3]); 13] = [
    (Sigmoid, (-8.0, 8.0), [5, 17, 35]),
    (Tanh, (-4.0, 4.0), [7, 19, 37]),
    (Silu, (-8.0, 8.0), [8, 20, 38]),
    (Gelu, (-8.0, 8.0), [10, 24, 40]),
    (Exp, (-4.0, 4.0), [7, 9, 13]),
    (Log, (0.1, 2.0), [4, 13, 26]),
    (Inverse, (0.25, 3.0), [6, 14, 26]),
    (Sqrt, (0.01, 1.0), [2, 13, 40]),
    (InverseSqrt, (0.1, 1.0), [4, 10, 20]),
    (Sigmoid, (-16.0, 16.0), [9, 33, 69]),
    (Exp, (-1.0, 1.0), [2, 4, 7]),
    (Gelu, (-2.0, 2.0), [2, 8, 12]),
    (Sqrt, (0.25, 64.0), [7, 30, 75]),
];

#[test]
fn smooth_functions_take_the_least_degrees_and_reach_the_error() {
    for (function, domain, degrees) in DEGREES {
        let x = even(domain.0, domain.1, 4001);
        for (error, degree) in [0.1, 1e-3, 1e-6].into_iter().zip(degrees) {
            let fitted = Approximation::smooth(function, error, domain).expect("a fit");
            let [polynomial] = fitted.polynomials() else { panic!("one polynomial") };
            assert_eq!(polynomial.degree(), degree, "{} on {domain:?}, {error}", function.name());
            assert_eq!((fitted.domain(), fitted.is_product()), (domain, false));
            let found = fitted.evaluate(&x).expect("inside");
            let worst = worst(&found, x.iter().map(|&x| function.at(x)));
            assert!(worst <= 1.01 * error, "{} on {domain:?}: {worst:e} over {error:e}", function.name());
        }
    }
}

#[test]
fn functions_have_their_values() {
    let at = |function: SmoothFunction, x: f64| function.at(x);
    assert_close(
        &[at(Sigmoid, 1.0), at(Tanh, 0.5), at(Silu, 2.0), at(Gelu, 1.0), at(Gelu, -1.0), at(Exp, 1.0)],
        &[
            0.731_058_578_630_004_9,
            0.462_117_157_260_009_76,
            1.761_594_155_955_764_9,
            0.841_344_746_068_542_9,
            -0.158_655_253_931_457_05,
            std::f64::consts::E,
        ],
        1e-15,
    );
    assert_close(
        &[at(Log, 2.0), at(Inverse, 4.0), at(Sqrt, 2.0), at(InverseSqrt, 4.0)],
        &[std::f64::consts::LN_2, 0.25, std::f64::consts::SQRT_2, 0.5],
        1e-15,
    );
    for function in SmoothFunction::ALL {
        assert_eq!(SmoothFunction::named(function.name()).expect("a name"), function);
        assert_eq!(function.is_above_zero(), function.usual_domain(1.0).is_none());
    }
    assert_refused!(SmoothFunction::named("sine"), CkksError::OutOfRange { .. }, "\"sine\"", "inverse_sqrt");
}

/// Margin, error and bound, and the degrees.
const SIGNS: [(f64, f64, f64, &[usize]); 14] = [
    (0.5, 1e-2, 1.0, &[7]),
    (0.1, 1e-3, 1.0, &[15, 7]),
    (1e-3, 1e-6, 1.0, &[31, 31, 31]),
    (0.01, 1e-2, 8.0, &[31, 31, 7]),
    (0.1, 1e-2, 1.0, &[15, 5]),
    (1e-3, 1e-3, 1.0, &[31, 31, 15]),
    (1e-4, 1e-4, 1.0, &[15, 15, 15, 15, 7]),
    (0.25, 1e-3, 1.25, &[31]),
    (0.3, 0.1, 1.0, &[7]),
    (0.05, 0.05, 1.0, &[15, 5]),
    (2.0, 0.05, 8.0, &[11]),
    (1e-6, 1e-3, 1.0, &[31, 31, 31, 31, 23]),
    (0.1, 1e-3, 1.5, &[15, 11]),
    (1e-8, 1e-6, 1.0, &[31, 31, 31, 31, 31, 31, 11]),
];

#[test]
fn signs_take_the_least_levels_and_reach_the_error() {
    for (margin, error, bound, expected) in SIGNS {
        let sign = Approximation::sign(margin, error, bound).expect("a sign");
        assert_eq!(degrees(&sign), expected, "{margin} {error} {bound}");
        assert_eq!((sign.domain(), sign.is_product()), ((-bound, bound), false));
        assert!(sign.polynomials()[1..].iter().all(|next| next.domain() == (-1.0, 1.0)));
        for polynomial in sign.polynomials() {
            assert!(polynomial.coefficients().iter().step_by(2).all(|even| even.re == 0.0), "odd");
        }
        let x = [geometric(margin, bound, 4999), even(margin, bound, 4999)].concat();
        let below: Vec<f64> = x.iter().map(|x| -x).collect();
        let (positive, negative) =
            (sign.evaluate(&x).expect("inside"), sign.evaluate(&below).expect("inside"));
        assert!(worst(&positive, x.iter().map(|_| 1.0)) <= 1.01 * error);
        assert!(worst(&negative, x.iter().map(|_| -1.0)) <= 1.01 * error);
        let near = sign.evaluate(&even(0.0, margin, 99)).expect("inside");
        assert!(near.iter().all(|sign| (-1e-9..=1.0 + 1.01 * error).contains(sign)));
        assert_eq!(near[0], 0.0, "the sign of zero");
    }
}

#[test]
fn signs_bear_noise_at_the_ends() {
    for (margin, error) in [(0.1, 1e-2), (1e-3, 1e-3), (1e-4, 1e-4)] {
        let sign = Approximation::sign(margin, error, 1.0).expect("a sign");
        let noisy = [geometric(margin, 1.0, 999), even(margin, 1.0, 999)].concat();
        for x in noisy {
            let x = x * (1.0 + 1e-5);
            let sign = sign.polynomials().iter().fold(x, |x, next| next.evaluate_real(x));
            assert!((sign - 1.0).abs() <= 2.0 * error, "{x}: {sign}");
        }
    }
}

#[test]
fn approximations_are_kept() {
    let [first, second] = [(); 2].map(|()| Approximation::sign(0.125, 1e-3, 1.0).expect("a sign"));
    assert!(std::ptr::eq(first.polynomials(), second.polynomials()));
    assert_ne!(first, Approximation::sign(0.125, 1e-2, 1.0).expect("a sign"));
}

/// Error and bound; the degrees of `relu` and of `absolute`, and whether these are products.
type Kinked = (f64, f64, (&'static [usize], bool), (&'static [usize], bool));
const KINKED: [Kinked; 18] = [
    (0.6, 1.0, (&[1], false), (&[2], false)),
    (0.6, 2.0, (&[2], false), (&[2], false)),
    (0.6, 5.0, (&[2], false), (&[6], false)),
    (0.2, 1.0, (&[2], false), (&[4], false)),
    (0.2, 2.0, (&[4], false), (&[6], false)),
    (0.2, 5.0, (&[8], false), (&[16], false)),
    (0.1, 1.0, (&[4], false), (&[6], false)),
    (0.1, 2.0, (&[6], false), (&[12], false)),
    (0.1, 5.0, (&[16], false), (&[32], false)),
    (0.05, 1.0, (&[6], false), (&[12], false)),
    (0.05, 2.0, (&[12], false), (&[26], false)),
    (0.05, 5.0, (&[32], false), (&[64], false)),
    (0.01, 1.0, (&[32], false), (&[64], false)),
    (0.01, 2.0, (&[64], false), (&[130], false)),
    (0.01, 5.0, (&[166], false), (&[442], false)),
    (1e-4, 1.0, (&[31, 31, 31, 5], true), (&[15, 15, 15, 15, 7], true)),
    (1e-4, 2.0, (&[15, 15, 15, 15, 7], true), (&[31, 31, 31, 15], true)),
    (1e-4, 5.0, (&[15, 15, 15, 15, 15], true), (&[15, 15, 15, 15, 15, 7], true)),
];

#[test]
fn functions_with_a_kink_are_polynomials_or_products_and_reach_the_error() {
    for (error, bound, of_relu, of_absolute) in KINKED {
        let x = even(-bound, bound, 4001);
        let relu = Approximation::relu(error, bound).expect("relu");
        let absolute = Approximation::absolute(error, bound).expect("absolute");
        for (found, (expected, product)) in [(&relu, of_relu), (&absolute, of_absolute)] {
            assert_eq!(degrees(found), expected, "{error} {bound}");
            assert_eq!((found.is_product(), found.domain()), (product, (-bound, bound)));
        }
        let (found, magnitudes) =
            (relu.evaluate(&x).expect("inside"), absolute.evaluate(&x).expect("inside"));
        assert!(worst(&found, x.iter().map(|x| x.max(0.0))) <= 1.01 * error);
        assert!(worst(&magnitudes, x.iter().map(|x| x.abs())) <= 1.01 * error);
        let y: Vec<f64> = x.iter().rev().map(|x| x.powi(3) / bound.powi(2)).collect();
        let larger = plain::maximum(&x, &y, error, Some(bound)).expect("inside");
        let smaller = plain::minimum(&x, &y, error, Some(bound)).expect("inside");
        assert!(worst(&larger, x.iter().zip(&y).map(|(x, y)| x.max(*y))) <= 1.01 * error);
        assert!(worst(&smaller, x.iter().zip(&y).map(|(x, y)| x.min(*y))) <= 1.01 * error);
    }
}

/// The softmax of rows of `count` numbers.
fn exact_softmax(x: &[f64], count: usize) -> Vec<f64> {
    let row = |row: &[f64]| {
        let terms: Vec<f64> = row.iter().map(|x| x.exp()).collect();
        let sum: f64 = terms.iter().sum();
        terms.into_iter().map(move |term| term / sum)
    };
    x.chunks_exact(count).flat_map(row).collect()
}

#[test]
fn softmax_reaches_the_error_and_its_rows_add_up_to_one() {
    for (bound, error, count, degrees) in [
        (2.0, 1e-3, 5, [8, 42]),
        (0.5, 0.1, 16, [2, 2]),
        (3.0, 1e-3, 300, [10, 93]),
        (1.0, 0.01, 5, [4, 9]),
        (2.0, 0.5, 1, [5, 30]),
        (2.0, 1e-3, 3, [8, 44]),
    ] {
        let softmax = Softmax::new(bound, error, count).expect("within reach");
        assert_eq!([softmax.exponential().degree(), softmax.inverse().degree()], degrees);
        let mut x: Vec<f64> = ramp(40 * count).into_iter().map(|x| bound * x.clamp(-1.0, 1.0)).collect();
        x[..count].fill(-bound);
        x[count..2 * count].fill(bound);
        x[2 * count..3 * count].fill(-bound);
        x[2 * count] = bound;
        let found = softmax.evaluate(&x).expect("inside");
        assert!(worst(&found, exact_softmax(&x, count).into_iter()) <= error);
        for row in found.chunks_exact(count) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() <= error * count as f64);
        }
    }
    assert_refused!(
        Softmax::new(2.0, 1e-3, 3).expect("within reach").evaluate(&[0.0; 4]),
        CkksError::Shape { .. },
        "rows of 3 numbers"
    );
}

#[test]
fn a_softmax_out_of_reach_tells_a_bound_and_an_error_within() {
    let refused = |bound, error| {
        let message = Softmax::new(bound, error, 3).expect_err("out of reach").to_string();
        assert!(message.contains("softmax of 3 numbers"), "{message}");
        message
    };
    let message = refused(4.0, 1e-6);
    assert!(
        message.ends_with(
            "is up to 3.0e3 times its least, and no polynomials up to degree 511 reach this error: lower `bound` to \
             3.79; raise `error` to 0.00013"
        ),
        "{message}"
    );
    Softmax::new(3.79, 1e-6, 3).expect("within reach");
    Softmax::new(4.0, 0.00013, 3).expect("within reach");
    let message = refused(8.0, 1e-3);
    assert!(
        message.ends_with("lower `bound` to 4.1; no `error` below 1 is within reach of this bound"),
        "{message}"
    );
    assert!(refused(400.0, 0.1).contains("`bound` 400 and `error` 0.1: "));
}

#[test]
fn arguments_out_of_range_are_refused_with_a_remedy() {
    let smooth = Approximation::smooth;
    for (result, text) in [
        (smooth(Inverse, 1e-3, (-1.0, 1.0)), "above 0"),
        (smooth(Log, 1e-3, (0.0, 1.0)), "above 0"),
        (smooth(Sqrt, 1e-3, (2.0, 1.0)), "(2, 1)"),
        (smooth(Sigmoid, 0.0, (-1.0, 1.0)), "`error` is 0: use a finite number above 0"),
        (smooth(Sigmoid, f64::NAN, (-1.0, 1.0)), "above 0"),
        (smooth(Exp, 1e-3, (-700.0, 700.0)), "degree 511"),
        (smooth(Exp, 1e-3, (1.0, -1.0)), "(1, -1)"),
        (Approximation::sign(2.0, 1e-3, 1.0), "`margin` is 2: it is not below the bound 1"),
        (Approximation::sign(0.0, 1e-3, 1.0), "above 0"),
        (Approximation::sign(1e-15, 1e-9, 1.0), "to 1 with an error of 1e-9: widen the margin"),
        (Approximation::sign(0.1, 1e-3, f64::INFINITY), "`bound` is inf"),
        (Approximation::relu(-1.0, 1.0), "`error` is -1"),
        (Approximation::absolute(1e-16, 1.0), "no polynomials come so near to `absolute` of numbers up to 1"),
    ] {
        assert_refused!(result, CkksError::OutOfRange { .. }, text);
    }
    assert_refused!(Softmax::new(1.0, 2.0, 3), CkksError::OutOfRange { .. }, "not below 1");
    assert_refused!(Softmax::new(1.0, 0.1, 0), CkksError::Empty { .. }, "no entries", "no entries");
    assert_refused!(
        plain::softmax(&[0.5], None, 1e-3, None),
        CkksError::Unsuitable { .. },
        "at least one axis"
    );
    assert_refused!(
        plain::smooth(Log, &[1.0], 1e-3, None),
        CkksError::OutOfRange { .. },
        "`log` needs an interval above 0"
    );
    assert_refused!(
        plain::sign(&[Complex64::i()], 0.1, 1e-3, None),
        CkksError::OutOfRange { .. },
        "`sign` of complex numbers: take it of `x.real_part()` and `x.imaginary_part()`"
    );
}

#[test]
fn plain_numbers_outside_of_the_interval_are_refused() {
    let sigmoid = Approximation::smooth(Sigmoid, 1e-3, (-8.0, 8.0)).expect("a fit");
    for outside in [8.001, -9.0, f64::NAN, f64::INFINITY] {
        let message = "`sigmoid` is approximated for numbers from -8 to 8";
        assert_refused!(sigmoid.evaluate(&[0.0, outside]), CkksError::OutOfRange { .. }, message);
    }
    sigmoid.evaluate(&[8.0 * (1.0 + 1e-10)]).expect("a rounded end");
    assert_refused!(
        plain::maximum(&[0.5], &[2.0], 0.1, Some(1.0)),
        CkksError::OutOfRange { .. },
        "a number is 2: `maximum`",
        "from -1 to 1"
    );
    assert_refused!(
        plain::softmax(&[3.0, 0.0], Some(2), 0.1, Some(1.0)),
        CkksError::OutOfRange { .. },
        "from -1 to 1"
    );
}

#[test]
fn intervals_that_are_not_given_hold_all_plain_numbers() {
    let x = even(-20.0, 20.0, 101);
    let found = plain::smooth(Sigmoid, &x, 1e-3, None).expect("inside");
    assert!(worst(&found, x.iter().map(|&x| Sigmoid.at(x))) <= 1.01e-3);
    assert_close(&plain::sign(&[-3.0, 3.0], 0.5, 1e-2, None).expect("inside"), &[-1.0, 1.0], 1.01e-2);
    assert_close(&plain::relu(&[-3.0, 3.0], 0.1, None).expect("inside"), &[0.0, 3.0], 0.101);
    assert_close(&plain::absolute(&[-3.0, 3.0], 0.1, None).expect("inside"), &[3.0, 3.0], 0.101);
    let row = plain::softmax(&[-2.5, 2.5], Some(2), 1e-2, None).expect("inside");
    assert_close(&row, &exact_softmax(&[-2.5, 2.5], 2), 1e-2);
    let roots = plain::root_of_squares(&[25.0, 4.0], 1e-3, (1.0, 6.0)).expect("inside");
    assert_close(&roots, &[5.0, 2.0], 1e-3);
    assert!(plain::smooth(Sigmoid, &[0.0; 0], 1e-3, None).expect("no numbers").is_empty());
}

/// A function of one array.
type OfOne<'f> = &'f dyn Fn(&EncryptedArray) -> Result<EncryptedArray, CkksError>;

/// Encrypts with a bound on the numbers.
fn encrypted(
    sk: &SecretKey,
    x: &[f64],
    shape: &[usize],
    bound: Option<f64>,
    ev: &Evaluator,
) -> EncryptedArray {
    let options = EncryptOptions { bound, encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    EncryptedArray::new(encrypt_as(sk, &Values::Real(x.to_vec()), shape, options, 5), ev)
}

/// The numbers that `work` makes of `x`, with the keys that a dry run finds.
fn computed(params: &Params, sk: &SecretKey, x: &[f64], shape: &[usize], work: OfOne<'_>) -> Vec<f64> {
    let recorder = Evaluator::recording(params);
    let bound = x.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let symbol = recorder.symbol(shape, Encoding::Slots, params.fresh_level(), bound).expect("a symbol");
    let dry = work(&EncryptedArray::new(symbol, &recorder)).expect("a dry run");
    let ev = Evaluator::with_keys(Arc::new(sk.evaluation_keys(&recorder.needs()).expect("keys")));
    let result = work(&encrypted(sk, x, shape, Some(bound), &ev)).expect("a run");
    assert_eq!(result.data().level(), dry.data().level(), "the level of the dry run");
    let result = result.settled().expect("rescaled");
    decrypt(sk, &result)
}

#[test]
fn functions_of_encrypted_numbers_are_those_of_plain_ones() {
    let params = params("insecure_deep");
    let sk = secret(&params, 11);
    let x = [-0.9, -0.35, 0.02, 0.4, 0.8];
    let shifted: Vec<f64> = x.iter().map(|x| x + 2.0).collect();
    let of = |numbers: &[f64], work: OfOne<'_>| computed(&params, &sk, numbers, &[numbers.len()], work);
    let near = |found: Vec<f64>, plain: Result<Vec<f64>, CkksError>| {
        assert_close(&found, &plain.expect("plain numbers"), 1e-4);
    };
    near(of(&x, &|x| x.sigmoid(1e-3, None)), plain::smooth(Sigmoid, &x, 1e-3, None));
    near(of(&x, &|x| x.tanh(1e-2, Some((-1.0, 1.0)))), plain::smooth(Tanh, &x, 1e-2, Some((-1.0, 1.0))));
    near(of(&x, &|x| x.silu(1e-2, None)), plain::smooth(Silu, &x, 1e-2, None));
    near(of(&x, &|x| x.gelu(1e-3, Some((-2.0, 2.0)))), plain::smooth(Gelu, &x, 1e-3, Some((-2.0, 2.0))));
    near(of(&x, &|x| x.exp(1e-3, None)), plain::smooth(Exp, &x, 1e-3, None));
    let domain = (1.0, 3.0);
    for (function, found) in [
        (Log, of(&shifted, &|x| x.log(1e-3, domain))),
        (Inverse, of(&shifted, &|x| x.inverse(1e-3, domain))),
        (Sqrt, of(&shifted, &|x| x.sqrt(1e-3, domain))),
        (InverseSqrt, of(&shifted, &|x| x.inverse_sqrt(1e-3, domain))),
    ] {
        near(found, plain::smooth(function, &shifted, 1e-3, Some(domain)));
    }
    near(of(&x, &|x| x.relu(0.05, None)), plain::relu(&x, 0.05, None));
    near(of(&x, &|x| x.absolute(0.05, None)), plain::absolute(&x, 0.05, None));
    let apart = [-0.9, -0.35, 0.3, 0.4, 0.8];
    near(of(&apart, &|x| x.sign(0.3, 0.1, None)), plain::sign(&apart, 0.3, 0.1, None));
}

#[test]
fn products_with_a_sign_are_those_of_plain_numbers() {
    let steps = vec!["[40]"; 20].join(", ");
    let params = custom(&format!(
        "name = \"deeper\"\ndegree = 512\nsteps = [[30, 30], {steps}]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true\n"
    ));
    let sk = secret(&params, 12);
    let x = [-0.9, -0.35, 0.0, 0.02, 0.8];
    let (error, bound) = (3e-4, 1.0);
    for (approximation, exact) in [
        (Approximation::absolute(error, bound), x.map(f64::abs)),
        (Approximation::relu(error, bound), x.map(|x| x.max(0.0))),
    ] {
        let approximation = approximation.expect("within reach");
        assert!(approximation.is_product(), "{:?}", degrees(&approximation));
        let found = computed(&params, &sk, &x, &[5], &|x| approximation.apply(x));
        assert_close(&found, &approximation.evaluate(&x).expect("inside"), 1e-4);
        assert_close(&found, &exact, error + 1e-4);
    }
}

#[test]
fn the_larger_and_the_smaller_one_of_two_arrays() {
    let params = params("insecure_deep");
    let sk = secret(&params, 13);
    let (x, y) = ([-0.9, -0.35, 0.02, 0.4, 0.8], [0.5, -0.6, 0.02, 0.7, -0.8]);
    let work = |x: &EncryptedArray| {
        let other = PlainArray::new(Values::Real(y.to_vec()), vec![5]);
        x.maximum(other, 0.05, None)
    };
    let found = computed(&params, &sk, &x, &[5], &work);
    assert_close(&found, &plain::maximum(&x, &y, 0.05, None).expect("plain numbers"), 1e-4);
    let found = computed(&params, &sk, &x, &[5], &|x| x.minimum(0.25, 0.05, None));
    assert_close(&found, &plain::minimum(&x, &[0.25; 5], 0.05, None).expect("plain numbers"), 1e-4);
    // Twice one array, and an encrypted multiple of it.
    let found = computed(&params, &sk, &x, &[5], &|x| x.maximum(x, 0.05, None));
    assert_close(&found, &x, 0.0501);
    let found = computed(&params, &sk, &x, &[5], &|x| x.minimum(&x.mul(-1)?, 0.05, None));
    assert_close(&found, &x.map(|x| -x.abs()), 0.0501);
}

#[test]
fn rows_of_an_encrypted_softmax_add_up_to_one() {
    let params = params("insecure_deep");
    let sk = secret(&params, 14);
    let x = [-0.9, -0.35, 0.02, 0.4, 0.8, 0.1, 0.2, -0.7, 0.6, -1.0];
    for shape in [&[5][..], &[2, 5]] {
        let x = &x[..shape.iter().product()];
        let found = computed(&params, &sk, x, shape, &|x| x.softmax(0.01, Some(1.0)));
        assert_close(&found, &plain::softmax(x, Some(5), 0.01, Some(1.0)).expect("plain numbers"), 1e-3);
        for row in found.chunks_exact(5) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 0.01);
        }
    }
}

#[test]
fn norms_and_deviations_of_encrypted_numbers() {
    let params = params("insecure_deep");
    let sk = secret(&params, 15);
    let x = [0.9, -0.35, 0.02, 0.4, 0.8, -0.6];
    let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let deviation = |x: &[f64], ddof: f64| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (x.len() as f64 - ddof)).sqrt()
    };
    let found = computed(&params, &sk, &x, &[6], &|x| x.norm(None, false, 1e-2, (1.0, 2.0)));
    assert_close(&found, &[squares(&x).sqrt()], 1.1e-2);
    let found = computed(&params, &sk, &x, &[6], &|x| x.std(None, 1, true, 1e-2, (0.4, 0.8)));
    assert_close(&found, &[deviation(&x, 1.0)], 1.1e-2);
    let found = computed(&params, &sk, &x, &[2, 3], &|x| x.norm(Some(&[1]), true, 1e-2, (0.5, 1.5)));
    assert_close(&found, &[squares(&x[..3]).sqrt(), squares(&x[3..]).sqrt()], 1.1e-2);
}

#[test]
fn intervals_of_encrypted_numbers_come_from_their_bounds() {
    let params = params("insecure_deep");
    let (sk, ev) = (secret(&params, 16), Evaluator::recording(&params));
    let symbol = |bound| {
        let symbol = ev.symbol(&[4], Encoding::Slots, params.fresh_level(), bound).expect("a symbol");
        EncryptedArray::new(symbol, &ev)
    };
    // The interval is as wide as the bound.
    symbol(20.0).sigmoid(0.1, None).expect("inside");
    assert_refused!(
        symbol(20.0).sigmoid(0.1, Some((-8.0, 8.0))),
        CkksError::TooLarge { .. },
        "as large as 2.000e1, and the polynomial is made for",
        "with_bound"
    );
    symbol(3.0).sign(1.0, 0.1, None).expect("inside");
    assert_refused!(
        symbol(3.0).relu(0.1, Some(1.0)),
        CkksError::TooLarge { .. },
        "the polynomial is made for",
        "with_bound"
    );
    assert_refused!(symbol(2.0).sign(2.0, 0.1, None), CkksError::OutOfRange { .. }, "not below the bound 2");
    // The margin is below the usual bound of smaller numbers.
    symbol(0.25).sign(0.5, 0.1, None).expect("inside");
    let plain = |value| PlainArray::new(Values::Real(vec![value; 4]), vec![4]);
    assert_refused!(
        symbol(0.5).maximum(plain(2.0), 0.1, Some(1.0)),
        CkksError::OutOfRange { .. },
        "`maximum` is approximated for numbers from -1 to 1"
    );
    assert_refused!(
        symbol(0.5).maximum(f64::NAN, 0.1, None),
        CkksError::OutOfRange { .. },
        "a number is NaN"
    );
    assert_refused!(
        symbol(0.5).minimum(PlainArray::new(Values::Complex(vec![Complex64::i(); 4]), vec![4]), 0.1, None),
        CkksError::OutOfRange { .. },
        "`minimum` of complex numbers"
    );
    for domain in [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)] {
        assert_refused!(symbol(1.0).log(0.1, domain), CkksError::OutOfRange { .. }, "above 0");
        assert_refused!(symbol(1.0).norm(None, false, 0.1, domain), CkksError::OutOfRange { .. }, "above 0");
        assert_refused!(
            symbol(1.0).std(None, 0, false, 0.1, domain),
            CkksError::OutOfRange { .. },
            "above 0"
        );
    }
    let single = ev.symbol(&[], Encoding::Slots, params.fresh_level(), 1.0).expect("a symbol");
    assert_refused!(
        EncryptedArray::new(single, &ev).softmax(0.1, None),
        CkksError::Unsuitable { .. },
        "softmax of a single number: give an array with at least one axis"
    );
    let complex = sk.encrypt(&[Complex64::i()]).expect("encrypt");
    let complex = EncryptedArray::new(complex, &Evaluator::new(&params));
    for result in [
        complex.sigmoid(0.1, None),
        complex.sign(0.1, 0.1, None),
        complex.relu(0.1, None),
        complex.absolute(0.1, None),
        complex.softmax(0.1, None),
        complex.maximum(0.0, 0.1, None),
        complex.norm(None, false, 0.1, (0.5, 1.0)),
        complex.std(None, 0, false, 0.1, (0.5, 1.0)),
    ] {
        assert_refused!(
            result,
            CkksError::OutOfRange { .. },
            "of complex numbers: take it of `x.real_part()`"
        );
    }
}

#[test]
fn dry_runs_bound_the_errors_of_compositions() {
    let params = params("insecure_deep");
    let ev = Evaluator::recording(&params);
    let symbol = ev.symbol(&[5], Encoding::Slots, params.fresh_level(), 0.5).expect("a symbol");
    let x = EncryptedArray::new(symbol, &ev);
    for result in [x.sign(0.1, 1e-2, None), x.relu(0.05, None), x.softmax(0.1, Some(0.5))] {
        let bound = result.expect("a dry run").data().error_bound().expect("a bound");
        assert!(bound < 1.0, "{bound}");
    }
}
