//! Conversions between slots and coefficients: places, kinds of numbers, predicted errors, keys of dry runs,
//! refusals.

use std::sync::Arc;

use crate::common::measure::{assert_bits, complex, complex_deviation, decrypt_complex, deviation, noise};
use crate::common::{assert_close, assert_refused, decrypt, encrypt_as, params, secret};
use clathrate_ckks::circuits::conversion::{ConversionOptions, ConversionPlan};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{BodyAxis, Ciphertext, CkksError, Encoding, Evaluator, Order, Padding, SecretKey};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

fn options(encoding: Encoding) -> EncryptOptions {
    EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() }
}

/// `x` in the other encoding, with exactly the keys of the plan.
fn converted(sk: &SecretKey, x: &Ciphertext, levels: Option<usize>) -> (ConversionPlan, Ciphertext) {
    let plan = ConversionPlan::new(x, ConversionOptions { levels }).expect("a plan");
    let evaluator =
        Evaluator::with_keys(Arc::new(sk.evaluation_keys(&plan.needs().expect("needs")).expect("keys")));
    let y = plan.run(&evaluator, x).expect("a conversion");
    assert_eq!(
        (y.encoding(), y.level(), y.scale()),
        (plan.to(), plan.output_level(), sk.params().scale(plan.output_level()))
    );
    y.layout().check(y.shape(), sk.params().degree()).expect("a layout");
    (plan, y)
}

#[test]
fn real_numbers_go_there_and_back() {
    let params = params("insecure_small");
    let sk = secret(&params, 1);
    let slots = params.slot_count();
    for (encoding, shape) in [
        (Encoding::Slots, vec![5]),
        (Encoding::Slots, vec![slots]),
        (Encoding::Slots, vec![2, slots + 3]),
        (Encoding::Slots, vec![]),
        (Encoding::Coefficients, vec![5]),
        (Encoding::Coefficients, vec![3, slots]),
        (Encoding::Coefficients, vec![2 * slots]),
        (Encoding::Coefficients, vec![2, 2 * slots + 7]),
        (Encoding::Coefficients, vec![3 * slots + 1]),
    ] {
        let data = noise(shape.iter().product(), 7);
        let x = encrypt_as(&sk, &data, &shape, options(encoding), 3);
        let (plan, y) = converted(&sk, &x, None);
        assert_eq!(
            (y.shape(), y.layout().order(), y.is_complex()),
            (&shape[..], Order::BitReversed, false),
            "{shape:?}"
        );
        assert_ne!(plan.to(), encoding);
        assert_close(&decrypt(&sk, &y), &data, 1e-5);
        let (_, z) = converted(
            &sk,
            &y,
            Some(1 + plan.slots().trailing_zeros().min(1) as usize).filter(|_| plan.slots() > 2),
        );
        assert_eq!((z.encoding(), z.layout().order()), (encoding, Order::Natural));
        assert_close(&decrypt(&sk, &z), &data, 1e-4);
    }
}

#[test]
fn complex_numbers_go_there_and_back() {
    let params = params("insecure_small");
    let sk = secret(&params, 1);
    for encoding in [Encoding::Slots, Encoding::Coefficients] {
        for columns in [1, 6, 512, 600] {
            let data = complex(2 * columns, 5);
            let x = encrypt_as(&sk, &Values::Complex(data.clone()), &[2, columns], options(encoding), 3);
            let (_, y) = converted(&sk, &x, Some(1).filter(|_| columns < 32));
            let (_, z) = converted(&sk, &y, None);
            assert_eq!(*z.layout(), *x.layout(), "there and back");
            for array in [y, z] {
                let worst = decrypt_complex(&sk, &array)
                    .iter()
                    .zip(&data)
                    .map(|(a, b)| (a - b).norm())
                    .fold(0.0, f64::max);
                assert!(worst < 1e-4, "{encoding:?} {columns}: {worst:e}");
            }
        }
    }
}

#[test]
fn the_error_is_predicted() {
    let params = params("insecure_deep");
    let sk = secret(&params, 1);
    let slots = params.slot_count();
    for (encoding, is_complex) in
        [(Encoding::Slots, true), (Encoding::Coefficients, true), (Encoding::Coefficients, false)]
    {
        for levels in [2, 3, 5] {
            let (mut measured, mut predicted) = (0.0, 0.0);
            for seed in 0..4u8 {
                let data = complex(slots, 20 + u64::from(seed));
                let reals: Vec<f64> = data.iter().flat_map(|v| [v.re, v.im]).collect();
                let values =
                    if is_complex { Values::Complex(data.clone()) } else { Values::Real(reals.clone()) };
                let shape = [if is_complex { slots } else { 2 * slots }];
                let x = encrypt_as(&sk, &values, &shape, options(encoding), seed);
                let (plan, y) = converted(&sk, &x, Some(levels));
                predicted += plan.predicted_variance(1.0 / 3.0).expect("a prediction");
                // Less the error that the input had.
                let before: Vec<Complex64> = if is_complex { decrypt_complex(&sk, &x) } else { Vec::new() };
                let own = if is_complex {
                    complex_deviation(&decrypt_complex(&sk, &y), &before)
                } else {
                    deviation(&decrypt(&sk, &y), &decrypt(&sk, &x))
                };
                measured += own * own;
            }
            let what = format!("{encoding:?}, complex {is_complex}, {levels} levels");
            assert_bits(&what, (measured / 4.0f64).sqrt(), -(predicted / 4.0f64).log2() / 2.0, 0.35);
        }
    }
}

#[test]
fn padding_stays_what_it_was() {
    let params = params("insecure_small");
    let sk = secret(&params, 1);
    let x = encrypt_as(&sk, &noise(5, 1), &[5], options(Encoding::Coefficients), 3);
    let (_, clean) = converted(&sk, &x, None);
    assert_eq!(clean.padding(), Padding::Zero);
    // Imaginary parts that hold something else do not become imaginary parts of slots.
    let ev = Evaluator::new(&params);
    let slots = encrypt_as(&sk, &noise(512, 1), &[512], options(Encoding::Slots), 3);
    let (_, paired) = converted(&sk, &slots, None);
    let part = ev.select_columns(&paired, 0..512).expect("all columns");
    let total = ev.total(&part).expect("a sum");
    assert_eq!((total.padding(), total.layout().is_paired()), (Padding::Dirty, true));
    let refused = ConversionPlan::new(&ev.total(&x).expect("a sum"), ConversionOptions::default());
    // A sum of a chunk that fills its polynomial leaves the other sums in its padding.
    let (_, back) = converted(&sk, &total, None);
    assert!((decrypt(&sk, &back)[0] - noise(512, 1).iter().sum::<f64>()).abs() < 1e-3);
    assert!(refused.is_ok(), "{:?}", refused.err());
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let params = params("insecure_small");
    let sk = secret(&params, 1);
    let plan = |x: &Ciphertext, levels| ConversionPlan::new(x, ConversionOptions { levels }).map(|_| ());
    let with = |options: EncryptOptions| encrypt_as(&sk, &noise(20, 1), &[4, 5], options, 3);
    let coefficients = with(options(Encoding::Coefficients));
    assert_refused!(plan(&coefficients, Some(0)), CkksError::OutOfRange { .. }, "1 to 9");
    assert_refused!(plan(&coefficients, Some(10)), CkksError::OutOfRange { .. }, "1 to 9");
    let low = with(EncryptOptions { level: Some(Level(1)), ..options(Encoding::Coefficients) });
    assert_refused!(plan(&low, Some(2)), CkksError::LevelTooLow { .. }, "level");
    let bodies =
        with(EncryptOptions { bodies: Some(2), axis: Some(BodyAxis::Rows), ..options(Encoding::Slots) });
    assert_refused!(plan(&bodies, None), CkksError::Unsuitable { .. }, "share a mask", "split_mask");
    let reversed = with(EncryptOptions { order: Order::BitReversed, ..options(Encoding::Coefficients) });
    assert_refused!(plan(&reversed, None), CkksError::Unsuitable { .. }, "natural order");
    let lanes =
        with(EncryptOptions { lanes: Some(clathrate_ckks::keys::Lanes::Most), ..options(Encoding::Slots) });
    assert_refused!(plan(&lanes, None), CkksError::Unsuitable { .. }, "lanes=1");
    // A plan is for one layout, level and scale.
    let plan = ConversionPlan::new(&coefficients, ConversionOptions::default()).expect("a plan");
    let ev = Evaluator::with_keys(Arc::new(sk.evaluation_keys(&plan.needs().expect("needs")).expect("keys")));
    assert_refused!(
        plan.run(&ev, &with(options(Encoding::Slots))),
        CkksError::Unsuitable { .. },
        "laid out differently",
        "make a plan"
    );
    assert_refused!(plan.run(&ev, &low), CkksError::LevelTooLow { .. }, "level");
    let scaled = with(EncryptOptions { scale: Some(2f64.powi(30)), ..options(Encoding::Coefficients) });
    assert_refused!(plan.run(&ev, &scaled), CkksError::ScaleMismatch { .. }, "scale");
    assert_refused!(plan.run(&Evaluator::new(&params), &coefficients), CkksError::NoKeys { .. }, "keys");
}
