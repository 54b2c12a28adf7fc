//! Polynomials with complex coefficients: the values, levels, scales and errors that their plans promise, at
//! no level more than real ones take.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::polynomial::UNIT_DOMAIN;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Polynomial, PolynomialBasis, SecretKey,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use PolynomialBasis::{Chebyshev, Power};

const BASES: [PolynomialBasis; 2] = [Power, Chebyshev];

const I: Complex64 = Complex64::new(0.0, 1.0);

fn polynomial(coefficients: &[Complex64], basis: PolynomialBasis) -> Polynomial {
    Polynomial::new_complex(coefficients, basis, UNIT_DOMAIN).expect("polynomial")
}

/// Complex coefficients whose magnitudes add up to 1.
fn random(degree: usize, seed: u64) -> Vec<Complex64> {
    let raw: Vec<_> = noise(degree + 1, seed)
        .iter()
        .zip(noise(degree + 1, seed + 99))
        .map(|(&re, im)| Complex64::new(re, im))
        .collect();
    let sum: f64 = raw.iter().map(|c| c.norm()).sum();
    raw.iter().map(|c| c / sum).collect()
}

/// Carries out `p` and checks what its plan says; the root mean square of the error (real and imaginary part
/// together), and the bound on it.
fn check(sk: &SecretKey, ev: &Evaluator, p: &Polynomial, x: &Ciphertext, data: &[Complex64]) -> (f64, f64) {
    let plan = p.plan_at(ev.params(), x.level(), x.scale()).expect("plan");
    let y = plan.run(ev, x).expect("run");
    assert_eq!(
        (y.level(), y.scale(), y.is_complex()),
        (plan.output_level(), plan.output_scale(), x.is_complex() || plan.is_complex())
    );
    let expected: Vec<Complex64> = data.iter().map(|&x| p.evaluate(x)).collect();
    let error = complex_deviation(&decrypt_complex(sk, &y), &expected) * 2f64.sqrt();
    let fresh = (ev.params().noise_model().fresh_secret() * ev.params().degree() as f64).sqrt() / x.scale();
    let bound = plan.error(fresh).expect("a bound");
    assert!(error <= bound + 1e-14, "degree {}: error {error:e} over {bound:e}", p.degree());
    (error, bound)
}

fn real(values: &[f64]) -> Vec<Complex64> {
    values.iter().map(|&x| x.into()).collect()
}

#[test]
fn every_degree_in_both_bases_takes_no_more_levels_or_products_than_real_coefficients() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(params.slot_count());
    let x = encrypt(&sk, &data);
    for basis in BASES {
        for degree in 0..=40 {
            let coefficients = random(degree, 20 + degree as u64);
            let p = polynomial(&coefficients, basis);
            let (_, bound) = check(&sk, &ev, &p, &x, &real(&data));
            assert!(bound < 1e-6, "{basis:?} degree {degree}: a bound of {bound:e} says nothing");
            let real = Polynomial::new(
                coefficients.iter().map(|c| c.norm()).collect::<Vec<_>>(),
                basis,
                UNIT_DOMAIN,
            )
            .expect("polynomial");
            let top = params.max_level();
            let (plan, real) = (p.plan(&params, top).expect("plan"), real.plan(&params, top).expect("plan"));
            let counts = |plan: &clathrate_ckks::PolynomialPlan| {
                (plan.depth(), plan.products(), plan.relinearisations(), plan.rescales())
            };
            assert_eq!(counts(&plan), counts(&real), "{basis:?} degree {degree}");
            assert_eq!(
                (plan.needs().expect("needs"), plan.output_scale()),
                (real.needs().expect("needs"), real.output_scale())
            );
        }
    }
}

#[test]
fn the_imaginary_unit_is_i_in_every_slot_at_every_rank_and_length() {
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3"] {
        let (params, sk, ev) = setup(name, &KeyNeeds::new().relinearise(KeyLevel::Top));
        for count in [1, 5, params.slot_count()] {
            let data = noise(count, 3);
            let x = sk.encrypt_array(&data, &[count], slots()).expect("encrypt");
            // i x, x + i, and (2 - 3 i) x: Gaussian integers take no level.
            for (coefficients, free) in [
                (vec![0.0.into(), I], true),
                (vec![I, 1.0.into()], true),
                (vec![0.0.into(), Complex64::new(2.0, -3.0)], true),
                (vec![0.5 * I, 0.25 * I], false),
            ] {
                let y = polynomial(&coefficients, Power).apply(&ev, &x).expect("polynomial");
                assert_eq!(params.max_level().0 - y.level().0, usize::from(!free));
                let expected: Vec<Complex64> =
                    data.iter().map(|&x| coefficients[0] + coefficients[1] * x).collect();
                let error = complex_deviation(&decrypt_complex(&sk, &y), &expected);
                assert!(error < 1e-8, "{name}, {count} slots, {coefficients:?}: {error:e}");
            }
            for basis in BASES {
                check(&sk, &ev, &polynomial(&random(7, 2), basis), &x, &real(&data));
            }
        }
    }
}

fn slots() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() }
}

#[test]
fn edges_of_coefficients_cost_what_they_must() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(64);
    let x = encrypt(&sk, &data);
    let counts = |coefficients: &[Complex64], basis| {
        let p = polynomial(coefficients, basis);
        check(&sk, &ev, &p, &x, &real(&data));
        let plan = p.plan(&params, params.max_level()).expect("plan");
        (plan.depth(), plan.products(), plan.is_complex())
    };
    let c = Complex64::new;
    for basis in BASES {
        assert_eq!(counts(&[c(0.1, -0.7)], basis), (0, 0, true), "a constant");
        assert_eq!(counts(&[c(0.5, 0.0), c(0.0, 0.5)], basis), (1, 0, true));
        assert_eq!(counts(&[c(0.0, 0.1), c(0.0, 0.0), c(0.0, 1.0)], basis), (1, 1, true), "i times a power");
        assert_eq!(counts(&[c(0.0, 0.1), c(0.0, 0.0), c(0.0, 0.3)], basis), (2, 1, true));
        assert_eq!(
            counts(&[c(0.2, 0.0), c(0.3, 1e-17), c(0.0, 1e-18)], basis),
            (1, 0, false),
            "rounding errors are no terms"
        );
        // Even with complex coefficients: half the degree.
        let mut even = random(30, 5);
        even.iter_mut().skip(1).step_by(2).for_each(|c| *c = Complex64::default());
        let dense =
            polynomial(&random(30, 5), basis).plan(&params, params.max_level()).expect("plan").products();
        assert!(counts(&even, basis).1 < dense, "{basis:?}");
    }
    let p = polynomial(&[c(0.5, 0.5), c(0.25, -1.0)], Power);
    assert_eq!(p.evaluate(2.0), c(1.0, -1.5));
    assert_eq!(p.evaluate(I), c(1.5, 0.75));
    assert_eq!(p.evaluate_real(2.0), 1.0);
    assert!(p.is_complex() && !polynomial(&[c(1.0, 0.0), c(2.0, 0.0)], Power).is_complex());
}

#[test]
fn domains_complex_inputs_padding_and_dry_runs_work_with_complex_coefficients() {
    let needs = KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top);
    let (params, sk, ev) = setup("insecure_deep", &needs);
    // A map with a fraction takes its level.
    let p = Polynomial::new_complex(random(9, 8), Chebyshev, (0.0, 3.0)).expect("polynomial");
    let data: Vec<f64> = noise(100, 4).iter().map(|y| 1.5 + 1.5 * y).collect();
    check(&sk, &ev, &p, &encrypt(&sk, &data), &real(&data));
    assert_eq!(p.plan(&params, params.max_level()).expect("plan").depth(), 5);
    // Complex inputs.
    let data: Vec<Complex64> =
        noise(32, 2).iter().zip(noise(32, 3)).map(|(&re, im)| Complex64::new(re, im) * 0.6).collect();
    let x = sk.encrypt_array(&data, &[32], slots()).expect("encrypt");
    for basis in BASES {
        check(&sk, &ev, &polynomial(&random(6, 7), basis), &x, &data);
    }
    // Padding stays zero: a rotation brings it in.
    let p = polynomial(&[Complex64::new(0.5, -0.25), 0.25 * I, 0.3.into()], Power);
    let y = ev
        .rotate(&p.apply(&ev, &encrypt(&sk, &[0.25, -0.5, 0.75])).expect("polynomial"), 1)
        .expect("rotation");
    let expected = [p.evaluate(-0.5), p.evaluate(0.75), Complex64::default()];
    assert!(complex_deviation(&decrypt_complex(&sk, &y), &expected) < 1e-7);
    // A symbol becomes complex as the ciphertext does.
    let recorder = Evaluator::recording(&params);
    let top = params.max_level();
    let symbol =
        Ciphertext::symbol(&params, &[5], Encoding::Slots, false, top, params.scale(top)).expect("symbol");
    let result = p.apply(&recorder, &symbol).expect("dry run");
    assert!(result.is_symbol() && result.is_complex());
    assert_eq!(recorder.needs(), p.plan(&params, top).expect("plan").needs().expect("needs"));
}

#[test]
fn complex_functions_are_fitted_and_evaluated() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    // exp(i pi x): the roots of unity that modular reduction starts from.
    let turn = |x: f64| Complex64::from_polar(1.0, std::f64::consts::PI * x);
    let p = Polynomial::fit(turn, 30, (-1.0, 1.0)).expect("fit");
    let data = ramp(params.slot_count());
    let off = data.iter().map(|&x| (p.evaluate(x) - turn(x)).norm()).fold(0.0, f64::max);
    assert!(off < 1e-12, "{off:e}");
    let (error, bound) = check(&sk, &ev, &p, &encrypt(&sk, &data), &real(&data));
    println!("error {error:.2e}, bound {bound:.2e}");
    assert!(bound < 1e-5, "{bound:e}");
    let broken = |x: f64| if x < 0.0 { Complex64::new(0.0, f64::NAN) } else { turn(x) };
    assert_refused!(
        Polynomial::fit(broken, 4, (-2.0, 2.0)),
        CkksError::OutOfRange { .. },
        "the function is",
        "NaN at x = -1.17",
        "finite"
    );
    let nan = Complex64::new(1.0, f64::NAN);
    assert_refused!(
        Polynomial::new_complex(vec![I, nan], Power, UNIT_DOMAIN),
        CkksError::NotFinite { index: 1, .. },
        "nan"
    );
}

#[test]
fn complex_coefficients_without_room_are_refused() {
    let params = params("insecure_tiny");
    let large = |bits: i32| {
        polynomial(&[0.5.into(), Complex64::new(0.0, 2f64.powi(bits)), 0.5 * I], Power)
            .plan(&params, Level(2))
    };
    assert!(large(10).is_ok());
    assert_refused!(large(40), CkksError::TooLarge { .. }, "has room for", "scale the data down");
    assert_refused!(large(900), CkksError::TooLarge { .. }, "has room for", "scale the data down");
}
