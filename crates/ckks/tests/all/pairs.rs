//! The pair matrix of operands: every combination of parameters, secret, encoding, shape, level and kind of
//! number gives a typed error or the right answer, in every two-operand operation.

use crate::common::*;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Params, Runtime, SecretKey};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

struct Operand {
    name: String,
    ciphertext: Ciphertext,
    values: Vec<Complex64>,
    /// What two operands must share: parameters, secret.
    group: (usize, usize),
}

fn complex(values: &Values) -> Vec<Complex64> {
    match values {
        Values::Real(values) => values.iter().map(|&v| v.into()).collect(),
        Values::Complex(values) => values.clone(),
    }
}

fn operands(groups: &[(usize, usize, &SecretKey)]) -> Vec<Operand> {
    let mut all = Vec::new();
    for &(params, secret, sk) in groups {
        for encoding in [Encoding::Slots, Encoding::Coefficients] {
            for shape in [vec![], vec![8], vec![5], vec![8, 1], vec![2, 4]] {
                for level in [0, 2, sk.params().max_level().0] {
                    for is_complex in [false, true] {
                        if is_complex && encoding == Encoding::Coefficients {
                            continue;
                        }
                        let count = shape.iter().product::<usize>();
                        let seed = all.len() as f64;
                        let real: Vec<f64> =
                            (0..count).map(|i| ((i as f64 + 1.0) * (seed + 1.7)).sin()).collect();
                        let values = if is_complex {
                            Values::Complex(real.iter().map(|&r| Complex64::new(r, 0.5 - r)).collect())
                        } else {
                            Values::Real(real)
                        };
                        let options = EncryptOptions {
                            encoding: Some(encoding),
                            level: Some(Level(level)),
                            ..EncryptOptions::default()
                        };
                        all.push(Operand {
                            name: format!(
                                "params {params} secret {secret} {} {shape:?} level {level} complex {is_complex}",
                                encoding.name()
                            ),
                            ciphertext: encrypt_as(sk, &values, &shape, options, (all.len() % 251) as u8),
                            values: complex(&values),
                            group: (params, secret),
                        });
                    }
                }
            }
        }
    }
    all
}

/// What must come of two operands: an answer, or one of these kinds of error.
fn expected(
    x: &Operand,
    y: &Operand,
    product: bool,
    evaluator_group: (usize, usize),
) -> Result<(), Vec<ErrorKind>> {
    let mut kinds = Vec::new();
    if x.group.0 != y.group.0 || x.group.0 != evaluator_group.0 {
        kinds.push(ErrorKind::WrongParams);
    }
    if x.group.1 != y.group.1 || (product && x.group.1 != evaluator_group.1) {
        kinds.push(ErrorKind::WrongSecret);
    }
    let (a, b) = (&x.ciphertext, &y.ciphertext);
    if a.encoding() != b.encoding() || a.shape() != b.shape() || (product && a.encoding() != Encoding::Slots)
    {
        kinds.push(ErrorKind::Shape);
    }
    if kinds.is_empty() { Ok(()) } else { Err(kinds) }
}

type Operation = (
    &'static str,
    bool,
    fn(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext, CkksError>,
    fn(Complex64, Complex64) -> Complex64,
);

const OPERATIONS: [Operation; 4] = [
    ("add", false, Evaluator::add, |a, b| a + b),
    ("sub", false, Evaluator::sub, |a, b| a - b),
    ("multiply", true, Evaluator::multiply, |a, b| a * b),
    ("multiply_rescale", true, Evaluator::multiply_rescale, |a, b| a * b),
];

#[test]
fn every_pair_of_operands_gives_the_answer_or_its_typed_error() {
    let other = "name = \"other\"\ndegree = 64\nsteps = [[30, 30], [41], [41], [41]]\nspecial = [42, 42]\nlog2_scale = 41\ninsecure = true\n";
    let (here, there) = (params("insecure_tiny"), custom(other));
    let (mine, yours, foreign) = (secret(&here, 1), secret(&here, 2), secret(&there, 1));
    let ev = evaluator(&mine, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let all = operands(&[(0, 0, &mine), (0, 1, &yours), (1, 2, &foreign)]);
    assert!(all.len() >= 100);
    let (mut answers, mut refusals) = (0, 0);
    for x in &all {
        for y in &all {
            for (name, product, operation, clear) in OPERATIONS {
                // Products at level 0 have nowhere to put their scale, which is an error of its own.
                let level = x.ciphertext.level().min(y.ciphertext.level());
                let result = operation(&ev, &x.ciphertext, &y.ciphertext);
                match expected(x, y, product, (0, 0)) {
                    Ok(()) if product && level == Level(0) => {
                        let kind = result.err().map(|error| error.kind());
                        assert!(
                            matches!(kind, Some(ErrorKind::Level | ErrorKind::Scale)),
                            "{name}: {} | {}: {kind:?}",
                            x.name,
                            y.name
                        );
                        refusals += 1;
                    }
                    Ok(()) => {
                        let answer =
                            result.unwrap_or_else(|error| panic!("{name}: {} | {}: {error}", x.name, y.name));
                        let owner = if x.group.1 == 0 { &mine } else { &yours };
                        let got = complex(&owner.decrypt(&answer).expect("decrypt"));
                        assert_eq!(got.len(), x.values.len());
                        assert_eq!(
                            answer.is_complex(),
                            x.ciphertext.is_complex() || y.ciphertext.is_complex()
                        );
                        for ((a, b), c) in x.values.iter().zip(&y.values).zip(got) {
                            assert!(
                                (clear(*a, *b) - c).norm() < 1e-6,
                                "{name}: {} | {}: {c} for {a}, {b}",
                                x.name,
                                y.name
                            );
                        }
                        answers += 1;
                    }
                    Err(kinds) => {
                        let error =
                            result.err().unwrap_or_else(|| panic!("{name} accepted {} | {}", x.name, y.name));
                        assert!(
                            kinds.contains(&error.kind()),
                            "{name}: {} | {}: {error} is none of {kinds:?}",
                            x.name,
                            y.name
                        );
                        refusals += 1;
                    }
                }
            }
        }
    }
    assert!(answers > 300 && refusals > 10_000, "{answers} answers, {refusals} refusals");
}

#[test]
fn parameters_built_twice_from_one_specification_are_one_parameter_set() {
    let (here, there) = (params("insecure_tiny"), params("insecure_tiny"));
    assert_eq!(here, there);
    let sk = secret(&here, 3);
    let ev = evaluator(
        &secret(&there, 3),
        &KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top),
    );
    let x = ramp(32);
    let ct = encrypt(&sk, &x);
    let square: Vec<f64> = x.iter().map(|v| v * v).collect();
    assert_close(
        &decrypt(&secret(&there, 3), &ev.multiply_rescale(&ct, &ct).expect("product")),
        &square,
        1e-6,
    );
    let mut rolled = x.clone();
    rolled.rotate_left(1);
    assert_close(&decrypt(&sk, &ev.rotate(&ct, 1).expect("rotation")), &rolled, 1e-6);
}

#[test]
fn threads_change_no_bit() {
    let runtime = |threads| Runtime { threads: Some(threads), ..crate::common::base_runtime() };
    let results: Vec<_> = [1, 2, 3]
        .map(|threads| {
            let params = Params::preset("insecure_tiny", &runtime(threads)).expect("preset");
            let sk = secret(&params, 4);
            let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
            let ct = encrypt_as(&sk, &Values::Real(ramp(32)), &[32], EncryptOptions::default(), 5);
            ev.multiply_rescale(&ct, &ct).expect("product").bundles()[0].clone()
        })
        .into_iter()
        .collect();
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn rank_mismatch_is_an_error_of_parameters() {
    let (low, high) = (params("insecure_rank2"), params("insecure_rank3"));
    let (a, b) = (secret(&low, 1), secret(&high, 1));
    let ev = Evaluator::new(&low);
    assert_refused!(
        ev.add(&encrypt(&a, &ramp(4)), &encrypt(&b, &ramp(4))),
        CkksError::WrongParams { .. },
        "other parameters",
        "one parameter set"
    );
}

#[test]
fn every_pair_of_scales_and_levels_gives_the_answer_or_an_error() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 6);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let mut all: Vec<(String, Ciphertext, Vec<f64>)> = Vec::new();
    for level in 0..=params.max_level().0 {
        for factor in [(-12f64).exp2(), 0.7, 1.0, 1.5, 3.0, 15f64.exp2(), 40f64.exp2()] {
            let values: Vec<f64> = (0..32).map(|i| (f64::from(i) * factor + level as f64).sin()).collect();
            let scale = Some(params.scale(Level(level)) * factor);
            let options = EncryptOptions {
                encoding: Some(Encoding::Slots),
                level: Some(Level(level)),
                scale,
                ..EncryptOptions::default()
            };
            // Level 0 has no room for the largest scales.
            if let Ok(ct) = sk.encrypt_array(&values, &[32], options) {
                let product = ev.multiply_scalar(&ct, 0.3).map(|product| {
                    (format!("0.3 * {factor} at {level}"), product, values.iter().map(|v| 0.3 * v).collect())
                });
                all.push((format!("{factor} at {level}"), ct, values));
                all.extend(product);
            }
        }
    }
    assert!(all.len() > 50);
    let (mut answers, mut refusals) = (0, 0);
    let rounding = params.noise_model().rounding() * params.degree() as f64 / 2.0;
    for (left, x, xs) in &all {
        for (right, y, ys) in &all {
            for (name, _, operation, clear) in OPERATIONS {
                match operation(&ev, x, y) {
                    Ok(answer) => {
                        // Ten deviations of the rounding of a rescale, and what the smallest scale here
                        // loses.
                        let tolerance = 10.0 * rounding.sqrt() / answer.scale() + 1e-4;
                        for ((a, b), got) in xs.iter().zip(ys).zip(decrypt(&sk, &answer)) {
                            let expected = clear((*a).into(), (*b).into()).re;
                            assert!(
                                (got - expected).abs() <= tolerance,
                                "{name}: {left} | {right}: {got} for {expected}"
                            );
                        }
                        answers += 1;
                    }
                    Err(error) => {
                        assert!(
                            matches!(error.kind(), ErrorKind::Scale | ErrorKind::Level),
                            "{name}: {left} | {right}: {error}"
                        );
                        refusals += 1;
                    }
                }
            }
        }
    }
    assert!(answers > 1000 && refusals > 1000, "{answers} answers, {refusals} refusals");
}

#[test]
fn dropping_below_the_room_of_the_scale_is_refused() {
    let params = params("insecure_tiny");
    let sk = secret(&params, 7);
    let ev = evaluator(&sk, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let ct = encrypt(&sk, &ramp(8));
    let product = ev.multiply(&ct, &ct).expect("product");
    // Scale 2^80 fits the 100 bits of level 1 and not the 60 of level 0.
    assert!(ev.drop_to_level(&product, Level(1)).is_ok());
    assert_refused!(
        ev.drop_to_level(&product, Level(0)),
        CkksError::ScaleOutOfRange { level: 0, .. },
        "scale 2^80",
        "60.0 bits"
    );
    let bottom = ev.drop_to_level(&ct, Level(0)).expect("down");
    // A sum lowers the product by its own step first, so it has room.
    let sum = ev.add(&product, &bottom).expect("the product is divided by its step");
    for (got, x) in decrypt(&sk, &sum).iter().zip(ramp(8)) {
        assert!((got - (x * x + x)).abs() < 1e-5);
    }
}
