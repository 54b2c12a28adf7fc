//! Polynomials of encrypted arrays against the same polynomials in clear, with the levels, scales, counts and
//! errors their plans promise.

use std::collections::BTreeMap;

use crate::common::measure::noise;
use crate::common::*;
use clathrate_ckks::circuits::polynomial::{MAX_DEGREE, UNIT_DOMAIN};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Params, Polynomial, PolynomialBasis, SecretKey,
};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use PolynomialBasis::{Chebyshev, Power};

const BASES: [PolynomialBasis; 2] = [Power, Chebyshev];

/// How far the worst of some thousand slots lies above the root mean square, at most.
const WORST: f64 = 6.0;

/// What encoding, decoding and the clear value lose in double precision.
const DOUBLE: f64 = 1e-14;

fn polynomial(coefficients: &[f64], basis: PolynomialBasis) -> Polynomial {
    Polynomial::new(coefficients, basis, UNIT_DOMAIN).expect("polynomial")
}

/// Coefficients whose magnitudes add up to 1.
fn random(degree: usize, seed: u64) -> Vec<f64> {
    let raw = noise(degree + 1, seed);
    let sum: f64 = raw.iter().map(|c| c.abs()).sum();
    raw.iter().map(|c| c / sum).collect()
}

fn clear(p: &Polynomial, data: &[f64]) -> Vec<f64> {
    data.iter().map(|&x| p.evaluate_real(x)).collect()
}

fn levels_of(degree: usize) -> usize {
    (0..).find(|&levels| 1usize << levels > degree).expect("found")
}

/// Carries out a plan for `x` and checks everything the plan says; the worst error, and the bound on it.
fn check(sk: &SecretKey, ev: &Evaluator, p: &Polynomial, x: &Ciphertext, data: &[f64]) -> (f64, f64) {
    let params = ev.params();
    let plan = p.plan_at(params, x.level(), x.scale()).expect("plan");
    let y = plan.run(ev, x).expect("run");
    assert_eq!((y.level(), y.scale()), (plan.output_level(), plan.output_scale()));
    assert_eq!(y.scale(), params.scale(y.level()), "the canonical scale");
    assert_eq!(x.level().0 - y.level().0, plan.depth());
    assert_eq!((y.shape(), y.encoding(), y.key_id()), (x.shape(), x.encoding(), x.key_id()));
    let expected = clear(p, data);
    let worst = decrypt(sk, &y).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let fresh = (params.noise_model().fresh_secret() * params.degree() as f64).sqrt() / x.scale();
    let bound = WORST * plan.error(fresh).expect("a bound") + DOUBLE;
    assert!(worst <= bound, "degree {}: error {worst:e} over {bound:e}", p.degree());
    (worst, bound)
}

#[test]
fn every_degree_in_both_bases_takes_the_least_levels_and_keeps_its_bound() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(params.slot_count());
    for basis in BASES {
        let mut worst: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for degree in 0..=63 {
            let p = polynomial(&random(degree, 11 + degree as u64), basis);
            // Half of them from where the levels just suffice.
            let level = if degree % 2 == 0 { params.max_level() } else { Level(levels_of(degree)) };
            let options = EncryptOptions { level: Some(level), ..EncryptOptions::default() };
            let x = encrypt_as(&sk, &Values::Real(data.clone()), &[data.len()], options, degree as u8);
            let (error, bound) = check(&sk, &ev, &p, &x, &data);
            let plan = p.plan(&params, level).expect("plan");
            assert_eq!(plan.depth(), levels_of(degree), "{basis:?} degree {degree}");
            assert!(bound < 1e-4, "{basis:?} degree {degree}: a bound of {bound:e} says nothing");
            let entry = worst.entry(levels_of(degree)).or_insert((0.0, 0.0));
            *entry = (entry.0.max(error), entry.1.max(bound));
        }
        println!("{basis:?}: worst error and bound by levels: {worst:?}");
    }
}

#[test]
fn higher_ranks_give_the_same_values() {
    for name in ["insecure_rank2", "insecure_rank3"] {
        let (params, sk, ev) = setup(name, &KeyNeeds::new().relinearise(KeyLevel::Top));
        let data = ramp(params.slot_count());
        for basis in BASES {
            for degree in [0, 1, 2, 3, 5, 7] {
                check(&sk, &ev, &polynomial(&random(degree, 5), basis), &encrypt(&sk, &data), &data);
            }
        }
    }
}

#[test]
fn edges_of_degree_and_coefficients_cost_what_they_must() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(64);
    let x = encrypt(&sk, &data);
    let counts = |coefficients: &[f64], basis| {
        let p = polynomial(coefficients, basis);
        check(&sk, &ev, &p, &x, &data);
        let plan = p.plan(&params, params.max_level()).expect("plan");
        (plan.depth(), plan.products())
    };
    for basis in BASES {
        assert_eq!(counts(&[0.0], basis), (0, 0));
        assert_eq!(counts(&[-0.75], basis), (0, 0));
        assert_eq!(counts(&[0.5, 0.0, 0.0], basis), (0, 0));
        assert_eq!(counts(&[0.0, 1.0], basis), (0, 0), "the array itself");
        assert_eq!(counts(&[0.5, -3.0], basis), (0, 0), "whole numbers need no level");
        assert_eq!(counts(&[0.5, 0.25], basis), (1, 0));
        assert_eq!(counts(&[0.1, 0.0, 1.0], basis), (1, 1), "a single power");
        assert_eq!(counts(&[0.1, 0.0, 0.3], basis), (2, 1));
        assert_eq!(counts(&[0.0, 0.0, 0.0, 1.0], basis), (2, 2));
        assert_eq!(counts(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0], basis), (3, 4));
        assert_eq!(
            counts(&[0.2, 0.3, 0.25, 1e-17, 1e-18, 0.0], basis),
            (2, 1),
            "rounding errors are no terms"
        );
        assert_eq!(counts(&[0.2, 1e-9], basis), (1, 0), "a small coefficient is one");
        let mut single = vec![0.0; 33];
        single[32] = 1.0;
        assert_eq!(counts(&single, basis), (5, 5));
        for degree in [9, 11, 13, 21, 27] {
            let mut single = vec![0.0; degree + 1];
            (single[0], single[degree]) = (0.25, 1.0);
            assert_eq!(counts(&single, basis).0, levels_of(degree - 1), "degree {degree}");
        }
        single[32] = 0.5;
        assert_eq!(counts(&single, basis), (6, 5));
    }
}

#[test]
fn even_and_odd_polynomials_skip_the_powers_they_do_not_need() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(64);
    let x = encrypt(&sk, &data);
    for basis in BASES {
        for degree in [16usize, 21, 30, 37, 41, 47, 54, 55] {
            let dense = random(degree, 3);
            let parity: Vec<f64> =
                dense.iter().enumerate().map(|(i, &c)| if (degree - i) % 2 == 0 { c } else { 0.0 }).collect();
            let (dense, sparse) = (polynomial(&dense, basis), polynomial(&parity, basis));
            check(&sk, &ev, &sparse, &x, &data);
            let plan = |p: &Polynomial| p.plan(&params, params.max_level()).expect("plan");
            let (dense, sparse) = (plan(&dense), plan(&sparse));
            assert!(sparse.products() < dense.products(), "{basis:?} {degree}");
            assert!(sparse.relinearisations() <= dense.relinearisations(), "{basis:?} {degree}");
            assert_eq!(sparse.depth(), dense.depth(), "{basis:?} {degree}");
            if degree % 2 == 0 {
                assert!(
                    sparse.powers().iter().all(|power| power % 2 == 0),
                    "{basis:?} {degree}: {:?}",
                    sparse.powers()
                );
            }
        }
    }
}

#[test]
fn domains_take_one_level_where_their_map_is_no_integer() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let unit = noise(64, 9);
    for basis in BASES {
        for (domain, extra) in [
            ((-1.0, 1.0), 0),
            ((-0.5, 0.5), 0),
            ((0.0, 1.0), 0),
            ((-8.0, 8.0), 1),
            ((0.0, 3.0), 1),
            ((-0.3, 0.4), 1),
        ] {
            let (a, b) = domain;
            let data: Vec<f64> = unit.iter().map(|y| (a + b) / 2.0 + (b - a) / 2.0 * y).collect();
            for degree in [1usize, 2, 6, 7, 20] {
                let p = Polynomial::new(random(degree, 4), basis, domain).expect("polynomial");
                let x = encrypt(&sk, &data);
                check(&sk, &ev, &p, &x, &data);
                let plan = p.plan(&params, params.max_level()).expect("plan");
                // Degree 1 takes the map into its own coefficients.
                let extra = if degree == 1 { 0 } else { extra };
                assert_eq!(plan.depth(), levels_of(degree) + extra, "{basis:?} {domain:?} {degree}");
            }
        }
    }
}

/// Name, function, degree, domain, and how far its interpolant is off at worst.
type Case = (&'static str, fn(f64) -> f64, usize, (f64, f64), f64);

#[test]
fn known_functions_come_out_as_their_fits_promise() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let cases: [Case; 3] = [
        ("sigmoid", sigmoid, 23, (-8.0, 8.0), 1e-4),
        ("exp", f64::exp, 12, (-1.0, 1.0), 1e-13),
        ("sin", f64::sin, 31, (-12.0, 12.0), 1e-9),
    ];
    for (name, function, degree, domain, fit_error) in cases {
        let p = Polynomial::fit(function, degree, domain).expect("fit");
        let data: Vec<f64> = ramp(params.slot_count()).iter().map(|y| y * domain.1).collect();
        let off = data.iter().map(|&x| (p.evaluate_real(x) - function(x)).abs()).fold(0.0, f64::max);
        assert!(off <= fit_error, "{name}: the fit is off by {off:e}");
        let x = encrypt(&sk, &data);
        let (error, bound) = check(&sk, &ev, &p, &x, &data);
        let expected: Vec<f64> = data.iter().map(|&x| function(x)).collect();
        assert_close(&decrypt(&sk, &p.apply(&ev, &x).expect("polynomial")), &expected, fit_error + bound);
        println!("{name}: fit {off:.2e}, error {error:.2e}, bound {bound:.2e}");
    }
    // Known values, not our own arithmetic: sigmoid(1), sigmoid(-3), e.
    let x = encrypt(&sk, &[1.0, -3.0]);
    let p = Polynomial::fit(sigmoid, 31, (-8.0, 8.0)).expect("fit");
    assert_close(
        &decrypt(&sk, &p.apply(&ev, &x).expect("sigmoid")),
        &[0.731_058_578_630_004_9, 0.047_425_873_177_566_78],
        1e-5,
    );
    let p = Polynomial::fit(f64::exp, 14, UNIT_DOMAIN).expect("fit");
    assert_close(&decrypt(&sk, &p.apply(&ev, &x_of(&sk, 1.0)).expect("exp")), &[std::f64::consts::E], 1e-6);
}

fn x_of(sk: &SecretKey, value: f64) -> Ciphertext {
    encrypt(sk, &[value])
}

#[test]
fn matrices_complex_entries_and_padding_come_out_entry_by_entry() {
    let needs = KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top);
    let (params, sk, ev) = setup("insecure_deep", &needs);
    let p = polynomial(&[0.5, 0.25, -0.125, 0.0625, 0.3], Chebyshev);
    let slots = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    for shape in [vec![], vec![1], vec![3], vec![3, 5], vec![2, params.slot_count() + 3]] {
        let data = noise(shape.iter().product(), 8);
        let x = sk.encrypt_array(&data, &shape, slots).expect("encrypt");
        let y = p.apply(&ev, &x).expect("polynomial");
        assert_eq!(y.shape(), shape);
        assert_close(&decrypt(&sk, &y), &clear(&p, &data), 1e-6);
    }
    // Padding stays zero: a rotation brings it in.
    let data = [0.25, -0.5, 0.75];
    let y = ev.rotate(&p.apply(&ev, &encrypt(&sk, &data)).expect("polynomial"), 1).expect("rotation");
    assert_close(&decrypt(&sk, &y), &[p.evaluate_real(-0.5), p.evaluate_real(0.75), 0.0], 1e-6);
    let data: Vec<Complex64> =
        noise(32, 2).iter().zip(noise(32, 3)).map(|(&re, im)| Complex64::new(re, im) * 0.7).collect();
    let x = sk.encrypt_array(&data, &[32], slots).expect("encrypt");
    let Values::Complex(got) = sk.decrypt(&p.apply(&ev, &x).expect("polynomial")).expect("decrypt") else {
        panic!("complex data came back real")
    };
    let worst = got.iter().zip(&data).map(|(y, &x)| (y - p.evaluate(x)).norm()).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{worst:e}");
}

#[test]
fn unscaled_products_and_odd_scales_are_brought_to_order_first() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(64);
    let x = encrypt(&sk, &data);
    let square = ev.multiply(&x, &x).expect("product");
    let squares: Vec<f64> = data.iter().map(|x| x * x).collect();
    for basis in BASES {
        for degree in [0, 1, 2, 5, 9] {
            let p = polynomial(&random(degree, 6), basis);
            let y = p.apply(&ev, &square).expect("polynomial");
            assert_eq!(y.scale(), params.scale(y.level()));
            assert_eq!(
                params.max_level().0 - y.level().0,
                levels_of(degree) + usize::from(degree > 0),
                "{basis:?} {degree}"
            );
            assert_close(&decrypt(&sk, &y), &clear(&p, &squares), 1e-6);
            for scale in [2f64.powi(30), 2f64.powi(43), 2f64.powi(40) * 1.0001] {
                let options = EncryptOptions { scale: Some(scale), ..EncryptOptions::default() };
                let odd = encrypt_as(&sk, &Values::Real(data.clone()), &[data.len()], options, 1);
                check(&sk, &ev, &p, &odd, &data);
            }
        }
    }
}

#[test]
fn plans_serve_inputs_above_their_level_and_refuse_the_others() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    let (data, p) = (ramp(64), polynomial(&random(6, 1), Chebyshev));
    let x = encrypt(&sk, &data);
    let plan = p.plan(&params, Level(5)).expect("plan");
    let y = plan.run(&ev, &x).expect("run");
    assert_eq!(y.level(), Level(2));
    assert_close(&decrypt(&sk, &y), &clear(&p, &data), 1e-6);
    let low = ev.drop_to_level(&x, Level(4)).expect("drop");
    assert_refused!(plan.run(&ev, &low), CkksError::LevelTooLow { .. }, "needs level 5", "at level 4");
    let options =
        EncryptOptions { level: Some(Level(5)), scale: Some(2f64.powi(35)), ..EncryptOptions::default() };
    let odd = encrypt_as(&sk, &Values::Real(data.clone()), &[data.len()], options, 1);
    assert_refused!(plan.run(&ev, &odd), CkksError::ScaleMismatch { .. }, "2^35", "2^40");
    let dense = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let dense = encrypt_as(&sk, &Values::Real(data), &[64], dense, 1);
    assert_refused!(p.apply(&ev, &dense), CkksError::Encoding { .. }, "needs the encoding slots");
    assert_refused!(p.apply(&Evaluator::new(&params), &x), CkksError::NoKeys { .. }, "evaluation keys");
    let (other, ..) = setup("insecure_small", &KeyNeeds::new());
    assert_refused!(plan.run(&Evaluator::new(&other), &x), CkksError::WrongParams { .. }, "other parameters");
}

#[test]
fn too_few_levels_are_refused_with_the_depth_and_the_remedy() {
    let params = params("insecure_tiny");
    let p = Polynomial::fit(f64::exp, 20, (-3.0, 3.0)).expect("fit");
    assert_refused!(
        p.plan(&params, params.max_level()),
        CkksError::Level { .. },
        "degree 19",
        "takes 6 levels",
        "at level 4",
        "more levels"
    );
    assert_refused!(p.plan(&params, Level(9)), CkksError::Lattice(_), "level");
    let line = Polynomial::new(vec![1.0, 0.3], Chebyshev, UNIT_DOMAIN).expect("polynomial");
    assert_refused!(line.plan(&params, Level(0)), CkksError::Level { .. }, "takes 1 level here");
}

#[test]
fn polynomials_that_are_none_are_refused() {
    let new = |coefficients: &[f64], domain| Polynomial::new(coefficients, Chebyshev, domain);
    assert_refused!(new(&[], UNIT_DOMAIN), CkksError::Empty { .. }, "no entries", "no entries");
    assert_refused!(new(&[1.0, f64::NAN], UNIT_DOMAIN), CkksError::NotFinite { index: 1, .. }, "nan");
    assert_refused!(new(&vec![1.0; MAX_DEGREE + 2], UNIT_DOMAIN), CkksError::OutOfRange { .. }, "512");
    for domain in [(1.0, 1.0), (2.0, 1.0), (0.0, f64::INFINITY), (f64::NAN, 1.0), (0.0, 1e-320)] {
        assert_refused!(new(&[1.0], domain), CkksError::OutOfRange { .. }, "domain");
    }
    assert_refused!(
        Polynomial::fit(|x| 1.0 / (x * 0.0), 3, UNIT_DOMAIN),
        CkksError::OutOfRange { .. },
        "the function is",
        "inf at x = 0.92",
        "finite"
    );
    assert_refused!(PolynomialBasis::named("fourier"), CkksError::OutOfRange { .. }, "fourier", "chebyshev");
}

#[test]
fn coefficients_without_room_are_refused_before_any_product() {
    let params = params("insecure_tiny");
    for (coefficients, fits) in [
        (vec![1e5], true),
        (vec![1e9], false),
        (vec![0.5, 1e5], true),
        (vec![0.5, 1e9], false),
        (vec![0.5, 0.5, 1e5], true),
        (vec![0.5, 0.5, 1e12], false),
        (vec![0.0, 1e300, 1.0], false),
        (vec![1e300, 0.5], false),
    ] {
        // Down to level 0, where 60 bits hold a scale of 40.
        let plan = polynomial(&coefficients, Power).plan(&params, Level(levels_of(coefficients.len() - 1)));
        assert_eq!(plan.is_ok(), fits, "{coefficients:?}");
        if !fits {
            assert_refused!(plan, CkksError::TooLarge { .. }, "has room for", "scale the data down");
        }
    }
}

#[test]
fn large_coefficients_that_cancel_are_served_down_to_level_0() {
    let (params, sk, ev) = setup("insecure_deep", &KeyNeeds::new().relinearise(KeyLevel::Top));
    // T_24 in the power basis: coefficients add up to 7.7e8, beyond the 18 bits above the scale at level 0;
    // values stay in [-1, 1].
    let mut rows = (vec![1.0], vec![0.0, 1.0]);
    for _ in 1..24 {
        let mut next: Vec<f64> = std::iter::once(0.0).chain(rows.1.iter().map(|c| 2.0 * c)).collect();
        next.iter_mut().zip(&rows.0).for_each(|(next, c)| *next -= c);
        rows = (rows.1, next);
    }
    let sum: f64 = rows.1.iter().map(|c| c.abs()).sum();
    assert!(sum > 7e8, "{sum:e}");
    // Not an integer polynomial of even powers alone: half of it, and a little of y.
    let mut coefficients: Vec<f64> = rows.1.iter().map(|c| c * 0.5).collect();
    coefficients[1] += 0.125;
    let p = polynomial(&coefficients, Power);
    let data = ramp(params.slot_count());
    let options = EncryptOptions { level: Some(Level(5)), ..EncryptOptions::default() };
    let x = encrypt_as(&sk, &Values::Real(data.clone()), &[data.len()], options, 1);
    assert_eq!(p.plan(&params, Level(5)).expect("plan").output_level(), Level(0));
    let (error, bound) = check(&sk, &ev, &p, &x, &data);
    // The price of the basis: 30 bits of the precision.
    assert!(error < 0.1, "{error:e}");
    println!("error {error:.2e}, bound {bound:.2e}");
}

#[test]
fn dry_runs_give_the_plans_needs_levels_and_scales() {
    let params = params("insecure_deep");
    for basis in BASES {
        for (coefficients, domain) in [
            (random(0, 1), UNIT_DOMAIN),
            (random(1, 1), UNIT_DOMAIN),
            (random(13, 1), UNIT_DOMAIN),
            (random(8, 1), (-2.0, 3.0)),
        ] {
            let p = Polynomial::new(coefficients, basis, domain).expect("polynomial");
            let recorder = Evaluator::recording(&params);
            let top = params.max_level();
            let symbol = Ciphertext::symbol(&params, &[5], Encoding::Slots, false, top, params.scale(top))
                .expect("symbol");
            let y = p.apply(&recorder, &symbol).expect("dry run");
            let plan = p.plan(&params, top).expect("plan");
            assert_eq!(recorder.needs(), plan.needs().expect("needs"));
            assert!(y.is_symbol());
            assert_eq!((y.level(), y.scale()), (plan.output_level(), plan.output_scale()));
            // The keys it asks for suffice.
            let (sk, data) = (secret(&params, 3), noise(5, 1));
            let needs = plan.needs().expect("needs");
            let ev = if needs.is_empty() { Evaluator::new(&params) } else { evaluator(&sk, &needs) };
            check(&sk, &ev, &p, &encrypt(&sk, &data), &data);
        }
    }
}

#[test]
fn plans_print_what_they_will_do() {
    let params = params("insecure_deep");
    let plan = Polynomial::fit(|x| 1.0 / (1.0 + (-x).exp()), 15, (-8.0, 8.0))
        .expect("fit")
        .plan(&params, params.max_level())
        .expect("plan");
    let text = plan.explain().to_string();
    for part in [
        "degree 15",
        "chebyshev",
        "[-8, 8]",
        "levels     9 to 4: 5 in all",
        "relinearisation, up to level",
        "products of ciphertexts",
        "T2",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn interpolants_meet_their_function_at_the_points_and_match_known_coefficients() {
    // exp on [-1, 1]: modified Bessel functions, c_0 = I_0(1), c_i = 2 I_i(1).
    let p = Polynomial::fit(f64::exp, 20, UNIT_DOMAIN).expect("fit");
    let bessel =
        [1.266_065_877_752_008_4, 1.130_318_207_984_97, 0.271_495_339_534_076_56, 0.044_336_849_848_663_8];
    for (got, expected) in p.coefficients().iter().zip(bessel) {
        assert!((got - expected).norm() < 1e-14, "{got} {expected}");
    }
    for domain in [UNIT_DOMAIN, (0.0, 10.0), (-3.0, -1.0)] {
        let p = Polynomial::fit(f64::cos, 9, domain).expect("fit");
        for x in Polynomial::fit_points(9, domain).expect("points") {
            assert!((p.evaluate_real(x) - x.cos()).abs() < 1e-13);
        }
    }
    // T_3(y) = 4 y^3 - 3 y at y = 2 x - 1, also outside the interval.
    let t3 = Polynomial::new(vec![0.0, 0.0, 0.0, 1.0], Chebyshev, (0.0, 1.0)).expect("polynomial");
    assert_eq!((t3.evaluate_real(1.0), t3.evaluate_real(0.5), t3.evaluate_real(1.5)), (1.0, 0.0, 26.0));
    let cube = Polynomial::new(vec![1.0, 0.0, 0.0, 2.0], Power, (-2.0, 2.0)).expect("polynomial");
    assert_eq!(
        (cube.evaluate_real(2.0), cube.evaluate_real(0.0), cube.evaluate_real(-4.0)),
        (3.0, 1.0, -15.0)
    );
}

#[test]
fn chains_of_several_primes_per_step_keep_their_precision() {
    let params = custom(
        "name = 'wide'\ndegree = 128\nsteps = [[30, 30, 30], [30, 30], [30, 30], [30, 30], [30, 30]]\nspecial = [42, 42]\nlog2_scale = 60\ninsecure = true",
    );
    let sk = secret(&params, 5);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(params.slot_count());
    for basis in BASES {
        for degree in [1, 2, 5, 7, 8, 15] {
            let (error, _) =
                check(&sk, &ev, &polynomial(&random(degree, 2), basis), &encrypt(&sk, &data), &data);
            assert!(error < 1e-12, "{basis:?} {degree}: {error:e}");
        }
    }
}

#[test]
fn chains_with_a_short_step_are_served_or_refused_but_never_wrong() {
    let params = custom(
        "name = 'uneven'\ndegree = 128\nsteps = [[30, 30], [40], [40], [24], [40], [40]]\nspecial = [42, 42]\nlog2_scale = 40\ninsecure = true",
    );
    let sk = secret(&params, 5);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let data = ramp(params.slot_count());
    let (mut served, mut refused) = (0, 0);
    for basis in BASES {
        for level in 1..=params.max_level().0 {
            for degree in [1usize, 2, 3, 5, 7, 12].into_iter().filter(|&degree| levels_of(degree) <= level) {
                let p = polynomial(&random(degree, 2), basis);
                let options = EncryptOptions { level: Some(Level(level)), ..EncryptOptions::default() };
                let x = encrypt_as(&sk, &Values::Real(data.clone()), &[data.len()], options, 1);
                match p.plan(&params, Level(level)) {
                    Ok(_) => {
                        let (_, bound) = check(&sk, &ev, &p, &x, &data);
                        assert!(bound < 1e-2, "{basis:?} level {level} degree {degree}: {bound:e}");
                        served += 1;
                    }
                    Err(
                        CkksError::OutOfRange { .. }
                        | CkksError::ScaleOutOfRange { .. }
                        | CkksError::TooLarge { .. },
                    ) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
    println!("{served} served, {refused} refused");
    assert!(served > 20 && refused > 0);
}

/// Plans and counts at every preset with enough levels.
#[test]
fn published_parameters_have_plans() {
    for name in ["n14", "n15", "rank2_n14", "rank4_n13"] {
        let params: Params = params(name);
        for basis in BASES {
            let p = polynomial(&random(31, 1), basis);
            let plan = p.plan(&params, params.max_level()).expect("plan");
            assert_eq!(plan.depth(), 5, "{name}");
            let error = plan.error(plan.fresh_error()).expect("a bound");
            assert!(error < 1e-3, "{name}: {error:e}");
        }
    }
}

#[test]
#[ignore = "full size: seconds with --release"]
fn secure_parameters_keep_the_bounds_at_every_rank() {
    for name in ["n14", "n15", "rank2_n14", "rank3_n13"] {
        let params = params(name);
        let sk = secret(&params, 5);
        let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
        let data = ramp(params.slot_count());
        for basis in BASES {
            for degree in [8, 16, 32, 63, 127] {
                let start = std::time::Instant::now();
                let (error, bound) =
                    check(&sk, &ev, &polynomial(&random(degree, 2), basis), &encrypt(&sk, &data), &data);
                println!(
                    "{name} {basis:?} {degree}: error {error:.2e}, bound {bound:.2e}, {:.2?} with encryption",
                    start.elapsed()
                );
            }
        }
    }
}

#[test]
fn plans_say_how_many_coefficients_they_drop_and_why() {
    let params = params("insecure_deep");
    // The coefficients of a sigmoid reach the rounding errors of its values long before degree 511.
    let p = Polynomial::fit(|x| 1.0 / (1.0 + (-x).exp()), 511, (-8.0, 8.0)).expect("fit");
    let plan = p.plan(&params, params.max_level()).expect("plan");
    let largest = p.coefficients().iter().map(|c| c.norm()).fold(0.0, f64::max);
    let dropped =
        p.coefficients().iter().filter(|c| c.norm() != 0.0 && c.norm() < largest * 2f64.powi(-50)).count();
    assert!(
        plan.degree() < 256 && plan.dropped() == dropped && dropped > 300,
        "{} of degree {}",
        plan.dropped(),
        plan.degree()
    );
    let text = plan.explain().to_string();
    let stated = format!(
        "dropped    {dropped} coefficients below 2^-50 of the largest, as rounding errors; degree 511 was given"
    );
    assert!(text.contains(&stated), "`{stated}` is not in:\n{text}");
    assert_eq!((plan.explain().given_degree, plan.explain().dropped), (511, dropped));
    // Nothing is dropped, nothing is said.
    let whole = polynomial(&random(20, 3), Chebyshev).plan(&params, params.max_level()).expect("plan");
    assert!(whole.dropped() == 0 && !whole.explain().to_string().contains("dropped"));
}
