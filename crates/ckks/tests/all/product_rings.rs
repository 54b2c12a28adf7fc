//! Exact products in smaller rings, to which a switch leads at level 1: numbers, predictions, keys, refusals.
//! Small degrees are not secure.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan};
use clathrate_ckks::circuits::prepared::Arrangement;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::{KeyName, Switch, Values};
use clathrate_ckks::parameters::KeyModulus;
use clathrate_ckks::{CkksError, EvaluationKeys, Evaluator, Level, Matrix, Params, SecretName};

fn options(ring: Option<usize>, lanes: Option<usize>) -> MatrixOptions {
    let arrangement = Arrangement { lanes, ..Arrangement::default() };
    MatrixOptions { method: Some(MatrixMethod::Exact), ring, arrangement, ..MatrixOptions::default() }
}

/// `W X` for rows of `columns` numbers.
fn product(w: &[f64], x: &[f64], columns: usize) -> Vec<f64> {
    let inner = x.len() / columns;
    let entry =
        |row: &[f64], column: usize| row.iter().enumerate().map(|(k, w)| w * x[k * columns + column]).sum();
    w.chunks_exact(inner).flat_map(|row| (0..columns).map(move |column| entry(row, column))).collect()
}

/// The product as planned, with the error over the predicted one.
fn run(
    params: &Params,
    (rows, inner, columns): (usize, usize, usize),
    options: &MatrixOptions,
) -> (f64, MatrixPlan) {
    let sk = secret(params, 3);
    let w: Vec<f64> = noise(rows * inner, 5).iter().map(|w| w / (inner as f64).sqrt()).collect();
    let x = noise(inner * columns, 6);
    let plan = MatrixPlan::new(params, Matrix::new(rows, inner, &w), columns, options).expect("plan");
    let ev = evaluator(&sk, &plan.needs());
    let matrix = plan.prepare(&ev).expect("matrix");
    let ct = encrypt_as(&sk, &Values::Real(x.clone()), &[inner, columns], plan.encryption(), 7);
    let y = matrix.multiply(&ev, &ct).expect("product");
    assert_eq!((y.shape(), y.secret(), y.level()), (&[rows, columns][..], SecretName::Main, Level(0)));
    assert_eq!((y.layout().lanes(), y.params().shape()), (ct.layout().lanes(), params.shape()));
    let error =
        deviation(&sk.decrypt(&y).expect("numbers").into_real().expect("real"), &product(&w, &x, columns));
    println!(
        "{rows} x {inner} x {columns}, {:?}: {:.2} bits, predicted {:.2}",
        plan.chosen().ring,
        -error.log2(),
        -plan.chosen().error.log2()
    );
    (error / plan.chosen().error, plan)
}

#[test]
fn products_in_every_ring_are_the_products() {
    let params = params("insecure_boot");
    let mut rings = 0;
    for (rows, inner, columns, lanes) in [
        (16, 16, 64, None),
        (3, 5, 128, Some(8)),
        (40, 7, 32, None),
        (9, 33, 256, None),
        (1, 1, 16, Some(64)),
        (64, 64, 16, None),
    ] {
        for log in 4..=10 {
            let degree = 1 << log;
            let row = params.degree()
                / lanes.unwrap_or(
                    params.degree()
                        / usize::max(columns, params.degree() / usize::max(rows, inner).next_power_of_two()),
                );
            let own = options(Some(degree), lanes);
            let w = vec![0.5; rows * inner];
            if let Err(error) = MatrixPlan::new(&params, Matrix::new(rows, inner, &w), columns, &own) {
                // Rows that are longer than the ring's polynomials, and rings that are too small for the
                // modulus.
                println!("{rows} x {inner} x {columns}, degree {degree}: {error}");
                assert!(degree < row || degree < 256, "{degree}, rows of {row}: {error}");
                continue;
            }
            let (ratio, plan) = run(&params, (rows, inner, columns), &own);
            assert_eq!(plan.chosen().ring, Some(degree).filter(|&degree| degree < params.degree()));
            assert!((0.3..1.2).contains(&ratio), "{ratio}");
            rings += usize::from(plan.chosen().ring.is_some());
        }
    }
    assert!(rings >= 8, "{rings}");
}

/// Where no method is named, the ring that makes the product fastest, and keys that are stored, missed and
/// checked like others.
#[test]
fn the_fastest_ring_is_chosen_and_its_keys_are_few() {
    let params = params("insecure_boot");
    let w = vec![0.1; 64 * 64];
    let plan = MatrixPlan::new(&params, Matrix::new(64, 64, &w), 16, &options(None, None)).expect("plan");
    assert!(plan.chosen().ring.is_some_and(|degree| degree < params.degree()), "{}", plan.explain());
    assert!(
        plan.others()
            .iter()
            .filter(|cost| cost.ring.is_some())
            .all(|cost| cost.prices.0 >= plan.chosen().prices.0)
    );
    let text = plan.explain();
    assert!(text.contains("* exact, degree ") && text.contains("a switch to the ring of degree"), "{text}");
    let whole = MatrixPlan::new(&params, Matrix::new(64, 64, &w), 16, &options(Some(params.degree()), None))
        .expect("plan");
    assert!(whole.chosen().ring.is_none() && whole.chosen().prices.0 > plan.chosen().prices.0);

    let sk = secret(&params, 4);
    let keys = sk.evaluation_keys(&plan.needs()).expect("keys");
    let (mut down, mut up) = (0, 0);
    for (address, _) in keys.iter() {
        match address.name {
            KeyName::Switch(Switch::ChangeSecret { from: SecretName::Main, to: SecretName::Embedded(_) }) => {
                down += 1
            }
            KeyName::Switch(Switch::Pack { under: SecretName::Packing, onto: SecretName::Main, .. }) => {
                up += 1
            }
            KeyName::Switch(Switch::Pack {
                under: SecretName::Packing, onto: SecretName::Packing, ..
            }) => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!((down, up), (1, 1));
    let bytes = keys.to_file_bytes().expect("a file");
    let again = EvaluationKeys::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params)
        .expect("keys");
    let ct = encrypt_as(&sk, &Values::Real(noise(64 * 16, 2)), &[64, 16], plan.encryption(), 3);
    let product = |ev: Evaluator| {
        let matrix = plan.prepare(&ev)?;
        matrix.multiply(&ev, &ct)
    };
    let own = product(Evaluator::with_keys(keys)).expect("product");
    assert_eq!(own.bundles(), product(Evaluator::with_keys(again)).expect("product").bundles());
    assert_refused!(product(evaluator(&sk, &whole.needs())), CkksError::MissingKey { .. }, "embedded");
    // Every call can be the last one.
    let ev = evaluator(&sk, &plan.needs());
    let matrix = plan.prepare(&ev).expect("matrix");
    assert_refused!(
        matrix.multiply(&ev.with_progress(cancelling_after(0)), &ct),
        CkksError::Cancelled,
        "stopped"
    );
}

/// Keys under a smaller ring's secret are as secure there as the parameters promise, at every preset that has
/// such rings, and no ring is offered below that.
#[test]
fn rings_of_products_are_secure() {
    let mut found = 0;
    for name in [
        "n15",
        "n16",
        "boot_n15",
        "boot_n15_mambo",
        "boot_fast",
        "boot_fast_batch",
        "boot_precise",
        "paper_fgb",
    ] {
        let params = params(name);
        let smaller_ring = params.key_switching(KeyModulus::SmallerRing).expect("level 1");
        for log in 9..params.degree().ilog2() {
            let degree = 1 << log;
            let name_of = KeyName::Switch(Switch::ChangeSecret {
                from: SecretName::Main,
                to: SecretName::Embedded(degree),
            });
            let headroom = clathrate_lattice::security::max_log2_qp(
                degree,
                128,
                clathrate_lattice::SecretDistribution::UniformTernary,
            );
            let secure = headroom.is_some_and(|headroom| smaller_ring.log2_qp <= headroom);
            match params.key_definition(name_of) {
                Ok(definition) => {
                    let bits = definition.security_bits(Level(1)).expect("bits");
                    assert!(
                        bits >= 128.0 && secure && definition.check_security(Level(1)).is_ok(),
                        "{name}, degree {degree}: {bits}"
                    );
                    assert!(definition.check_security(Level(2)).is_err());
                    found += 1;
                }
                Err(CkksError::Unsuitable { .. }) => {
                    assert!(!secure, "{name}, degree {degree}: log2 QP is {}", smaller_ring.log2_qp)
                }
                Err(other) => panic!("{name}: {other}"),
            }
        }
    }
    assert!(found >= 16, "{found}");
}

/// Relatives of a smaller dimension have no switch down, and keep their exact products.
#[test]
fn relatives_keep_exact_products() {
    let params =
        params("n16").relative(clathrate_ckks::ModuleShape { degree: 1 << 15, rank: 1 }).expect("a relative");
    assert!(!params.has_keys_over(KeyModulus::SmallerRing));
    let w = vec![0.01; 64 * 64];
    let plan = MatrixPlan::new(&params, Matrix::new(64, 64, &w), 64, &options(None, None)).expect("plan");
    assert!(plan.chosen().ring.is_none() && plan.chosen().method == MatrixMethod::Exact);
}

#[test]
fn what_has_no_ring_is_refused() {
    let params = params("insecure_boot");
    let w = vec![0.5; 16];
    let plan = |options: &MatrixOptions| MatrixPlan::new(&params, Matrix::new(4, 4, &w), 64, options);
    assert_refused!(plan(&options(Some(8), None)), CkksError::Unsuitable { .. }, "degree 8");
    assert_refused!(plan(&options(Some(4096), None)), CkksError::Unsuitable { .. }, "4096");
    assert_refused!(plan(&options(Some(512), Some(1))), CkksError::OutOfRange { .. }, "use 1024");
    // The parameters' own ring is that of every method.
    let rows = MatrixOptions { method: None, ..options(Some(1024), Some(1)) };
    assert!(plan(&rows).is_ok_and(|plan| plan.chosen().ring.is_none()));
    let by_rows = MatrixOptions { method: Some(MatrixMethod::ByRows), ..options(Some(512), None) };
    assert_refused!(plan(&by_rows), CkksError::OutOfRange { .. }, "rows in lanes");
    let prepared = MatrixOptions { method: Some(MatrixMethod::Prepared), ..options(Some(512), None) };
    assert_refused!(plan(&prepared), CkksError::OutOfRange { .. }, "exact products");
    let high = Arrangement { level: Some(Level(2)), ..Arrangement::default() };
    assert_refused!(
        plan(&MatrixOptions { arrangement: high, ..options(Some(512), None) }),
        CkksError::OutOfRange { .. },
        "level 1"
    );
    // The secret of a smaller ring is come under from the main one alone, and left by packing.
    let (from, to) = (SecretName::Embedded(512), SecretName::Main);
    assert_refused!(
        params.key_definition(KeyName::Switch(Switch::ChangeSecret { from, to })),
        CkksError::Unsuitable { .. },
        "by packing"
    );
    let (from, to) = (SecretName::Ephemeral, SecretName::Embedded(512));
    assert_refused!(
        params.key_definition(KeyName::Switch(Switch::ChangeSecret { from, to })),
        CkksError::Unsuitable { .. },
        "from the main one"
    );
    let sk = secret(&params, 5);
    let x = encrypt(&sk, &[1.0]);
    let own = plan(&options(None, None)).expect("plan");
    let (ev, degree) = (evaluator(&sk, &own.needs()), own.chosen().ring.expect("a ring"));
    assert_refused!(
        ev.change_secret(&x, SecretName::Embedded(degree)),
        CkksError::Unsuitable { .. },
        "take a MatrixPlan"
    );
}
