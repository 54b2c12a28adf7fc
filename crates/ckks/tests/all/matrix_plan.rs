//! Plans of products: every method gives the product with the predicted error, keys and time; the choice
//! follows the limits; what does not fit is refused.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan, PlannedMatrix};
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedOptions};
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Lanes};
use clathrate_ckks::{BodyAxis, Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Matrix, SecretKey};
use clathrate_lattice::Level;

/// `W M`, row-major.
fn product(weights: &[f64], data: &[f64], inner: usize, columns: usize) -> Vec<f64> {
    let entry =
        |row: &[f64], column: usize| (0..inner).map(|j| row[j] * data[j * columns + column]).sum::<f64>();
    weights
        .chunks(inner)
        .flat_map(|row| (0..columns).map(|column| entry(row, column)).collect::<Vec<_>>())
        .collect()
}

fn by(method: MatrixMethod, own_masks: bool) -> MatrixOptions {
    let precision = PreparedOptions { own_masks, ..PreparedOptions::default() };
    MatrixOptions { method: Some(method), precision, ..MatrixOptions::default() }
}

fn ready(sk: &SecretKey, plan: &MatrixPlan) -> (Evaluator, PlannedMatrix) {
    let ev = evaluator(sk, &plan.needs());
    let matrix = plan.prepare(&ev).expect("ready");
    (ev, matrix)
}

fn encrypted(
    sk: &SecretKey,
    plan: &MatrixPlan,
    data: &[f64],
    shape: [usize; 2],
    own_masks: bool,
) -> Ciphertext {
    let options = plan.encryption();
    if own_masks {
        return sk
            .public_key()
            .expect("public key")
            .encrypt_array(data, &shape, options)
            .expect("encryption");
    }
    sk.encrypt_array(data, &shape, options).expect("encryption")
}

#[test]
fn every_method_gives_the_product_at_the_predicted_error_keys_and_cost() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    for (rows, inner, columns) in
        [(1, 1, 1), (3, 40, 5), (40, 3, 300), (17, 33, 129), (1, 50, 256), (64, 64, 64), (5, 7, 600)]
    {
        let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
        let expected = product(&weights, &data, inner, columns);
        for method in MatrixMethod::ALL {
            for own_masks in [false, true] {
                let plan = MatrixPlan::new(
                    &params,
                    Matrix::new(rows, inner, &weights),
                    columns,
                    &by(method, own_masks),
                )
                .expect("plan");
                let x = encrypted(&sk, &plan, &data, [inner, columns], own_masks);
                let (ev, matrix) = ready(&sk, &plan);
                let y = matrix.multiply(&ev, &x).expect("product");
                assert_eq!(
                    (y.shape(), y.level(), y.secret().bodies(), y.params()),
                    (&[rows, columns][..], Level(0), 1, &params)
                );
                assert_eq!(y.layout().lanes(), x.layout().lanes());
                let (measured, cost) = (deviation(&decrypt(&sk, &y), &expected), *plan.chosen());
                let few = if rows * columns < 20 { 5.0 } else { 2.0 };
                assert!(
                    measured < few * cost.error,
                    "{method} {rows} x {inner} x {columns}: {measured:e}, {:e}",
                    cost.error
                );
                // The keys that were made are those that were predicted.
                let needs = plan.needs();
                let owner =
                    if needs.is_empty() { 0 } else { sk.evaluation_keys(&needs).expect("keys").bytes() };
                assert_eq!(owner, cost.owner_key_bytes, "{method}");
                assert_eq!(
                    matrix.prepared().map_or(0, |prepared| prepared.key_bytes()),
                    cost.matrix_key_bytes
                );
                // A dry run takes the same steps.
                let recorder = Evaluator::recording_for(&params, needs.clone());
                let symbol = Ciphertext::symbol_with(
                    &params,
                    x.shape(),
                    *x.layout(),
                    x.secret(),
                    x.level(),
                    x.scale(),
                )
                .expect("symbol");
                let dry = matrix.multiply(&recorder, &recorder.take_symbol(symbol, None).expect("symbol"));
                assert_eq!(dry.expect("dry run").layout(), y.layout());
                if method == MatrixMethod::Prepared {
                    // Of the other methods the cost is that of such a run.
                    assert!((recorder.recorded().cost().nanoseconds / cost.nanoseconds - 1.0).abs() < 1e-9);
                }
            }
        }
    }
}

#[test]
fn errors_of_exact_products_are_those_predicted() {
    let params = params("insecure_matmul");
    let (rows, inner, columns) = (32, 64, 64);
    for (method, own_masks) in
        [(MatrixMethod::Exact, false), (MatrixMethod::Exact, true), (MatrixMethod::ByRows, false)]
    {
        let (mut sum, mut count, mut predicted) = (0.0, 0.0, 0.0);
        for seed in 0..6u8 {
            let sk = secret(&params, 20 + seed);
            let weights = noise(rows * inner, seed.into());
            let plan =
                MatrixPlan::new(&params, Matrix::new(rows, inner, &weights), columns, &by(method, own_masks))
                    .expect("plan");
            // Of magnitude 1, as the prediction is for.
            let data: Vec<f64> = noise(inner * columns, 50).iter().map(|v| v.signum()).collect();
            let x = encrypted(&sk, &plan, &data, [inner, columns], own_masks);
            let (ev, matrix) = ready(&sk, &plan);
            let y = matrix.multiply(&ev, &x).expect("product");
            let expected = product(&weights, &data, inner, columns);
            sum += decrypt(&sk, &y).iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            count += (rows * columns) as f64;
            predicted += plan.chosen().error.powi(2) / 6.0;
        }
        let ratio = sum / count / predicted;
        println!("{method}: {ratio}");
        assert!((0.75..1.1).contains(&ratio), "{method}: {ratio}");
    }
}

#[test]
fn the_choice_follows_time_uses_keys_and_precision() {
    let params = params("insecure_matmul");
    let weights = noise(64 * 64, 3);
    let plan = |options: MatrixOptions| MatrixPlan::new(&params, Matrix::new(64, 64, &weights), 64, &options);
    let all = plan(MatrixOptions::default()).expect("plan");
    let costs: Vec<_> = std::iter::once(all.chosen()).chain(all.others()).copied().collect();
    assert_eq!(costs.len(), 4, "exact, by rows, prepared with one and two products");
    let of = |method, products: Option<usize>| {
        *costs
            .iter()
            .find(|cost| cost.method == method && products.is_none_or(|own| own == cost.products))
            .expect("a cost")
    };
    // For one product, preparation does not pay; for very many it does not count.
    let once = plan(MatrixOptions { uses: Some(1), ..MatrixOptions::default() }).expect("plan");
    assert_ne!(once.chosen().method, MatrixMethod::Prepared);
    let (exact, prepared) = (of(MatrixMethod::Exact, None), of(MatrixMethod::Prepared, Some(2)));
    let many = plan(MatrixOptions { uses: Some(1 << 40), ..MatrixOptions::default() }).expect("plan");
    assert_eq!(many.chosen(), all.chosen());
    assert!(all.chosen().prices.0 <= exact.prices.0.min(prepared.prices.0));
    // Fewer bytes of keys, down to none: the fastest of those that fit.
    let within =
        |most| plan(MatrixOptions { most_key_bytes: Some(most), ..MatrixOptions::default() }).expect("plan");
    assert_eq!((within(0).chosen().method, within(0).needs().is_empty()), (MatrixMethod::ByRows, true));
    assert!(within(0).explain().contains("too many bytes of keys"));
    // One floating-point product is less precise than two on the processor, and as precise on devices, where
    // it is exact.
    let finest = costs
        .iter()
        .filter(|cost| cost.method == MatrixMethod::Prepared)
        .map(|cost| cost.error)
        .fold(f64::INFINITY, f64::min);
    for most in [0, exact.owner_key_bytes, exact.owner_key_bytes - 1, usize::MAX] {
        let able = costs.iter().filter(|cost| cost.owner_key_bytes + cost.matrix_key_bytes <= most);
        let able = able.filter(|cost| cost.method != MatrixMethod::Prepared || cost.error == finest);
        let fastest = able.min_by(|a, b| a.prices.0.total_cmp(&b.prices.0)).expect("by rows");
        assert_eq!(within(most).chosen(), fastest, "{most} bytes");
    }
    let refused = MatrixOptions {
        most_key_bytes: Some(10),
        method: Some(MatrixMethod::Prepared),
        ..MatrixOptions::default()
    };
    assert_refused!(plan(refused), CkksError::OutOfRange { .. }, "bytes of keys", "prepared");
    // Precision: what no method reaches is refused with the bits that they do.
    let bits = |bits: f64| MatrixOptions {
        precision: PreparedOptions { precision_bits: Some(bits), ..PreparedOptions::default() },
        ..MatrixOptions::default()
    };
    let best = costs.iter().map(|cost| -cost.error.log2()).fold(0.0, f64::max);
    assert!(-plan(bits(best - 0.1)).expect("plan").chosen().error.log2() >= best - 0.1);
    assert_refused!(plan(bits(best + 1.0)), CkksError::OutOfRange { .. }, "bits", "exact");
    // A number of floating-point products is one of a prepared product.
    let two = MatrixOptions {
        precision: PreparedOptions { products: Some(2), ..PreparedOptions::default() },
        ..MatrixOptions::default()
    };
    assert_eq!(plan(two).expect("plan").chosen().products, 2);
    assert_refused!(
        plan(MatrixOptions { uses: Some(0), ..MatrixOptions::default() }),
        CkksError::OutOfRange { .. },
        "1 or more"
    );
    // Options of another method.
    let with = |method, precision, arrangement| MatrixOptions {
        method: Some(method),
        precision,
        arrangement,
        ..MatrixOptions::default()
    };
    let (none, plain) = (PreparedOptions::default(), Arrangement::default());
    let one = PreparedOptions { products: Some(1), ..none };
    assert_refused!(
        plan(with(MatrixMethod::Exact, one, plain)),
        CkksError::OutOfRange { .. },
        "exact",
        "prepared products"
    );
    let bodies = Arrangement { bodies: Some(2), ..plain };
    assert_refused!(
        plan(with(MatrixMethod::Exact, none, bodies)),
        CkksError::OutOfRange { .. },
        "bodies under a mask"
    );
    let lanes = Arrangement { lanes: Some(4), ..plain };
    assert_refused!(
        plan(with(MatrixMethod::ByRows, none, lanes)),
        CkksError::OutOfRange { .. },
        "one row in a polynomial"
    );
    assert_eq!(
        plan(MatrixOptions { arrangement: bodies, ..MatrixOptions::default() })
            .expect("plan")
            .chosen()
            .method,
        MatrixMethod::Prepared
    );
    let text = all.explain();
    for word in ["64 x 64", "exact", "by rows", "prepared, 1 product", "prepared, 2 products", "bits"] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn rows_are_packed_with_midpoints_where_keys_must_be_small() {
    let params = params("insecure_small");
    let sk = secret(&params, 4);
    let (rows, inner, columns) = (100, 70, 3);
    let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
    let expected = product(&weights, &data, inner, columns);
    let plan = |most_key_bytes| {
        let options = MatrixOptions { most_key_bytes, ..by(MatrixMethod::Exact, true) };
        MatrixPlan::new(&params, Matrix::new(rows, inner, &weights), columns, &options)
    };
    // In one step the key has an input for each lane; with a midpoint two keys have far fewer, in nearly the
    // same time.
    let step = pack_step(params.degree(), params.degree() / 128, params.degree());
    let needs = KeyNeeds::new().operation(step, KeyLevel::Level(0));
    let column = params.required_keys(&needs).expect("keys").bytes(&params).expect("bytes");
    let free = plan(None).expect("plan").chosen().owner_key_bytes;
    assert!(free < column / 2, "{free} bytes, in one step {column}");
    for most in [usize::MAX, free] {
        let plan = plan(Some(most)).expect("plan");
        assert!(plan.chosen().owner_key_bytes <= most);
        let x = encrypted(&sk, &plan, &data, [inner, columns], true);
        assert_eq!(x.layout().lanes(), 128);
        let (ev, matrix) = ready(&sk, &plan);
        assert_eq!(sk.evaluation_keys(&plan.needs()).expect("keys").bytes(), plan.chosen().owner_key_bytes);
        let y = matrix.multiply(&ev, &x).expect("product");
        assert_eq!(y.layout().lanes(), 128);
        let measured = deviation(&decrypt(&sk, &y), &expected);
        assert!(measured < 2.0 * plan.chosen().error, "{measured:e}, {:e}", plan.chosen().error);
    }
    assert_refused!(plan(Some(column / 100)), CkksError::OutOfRange { .. }, "bytes of keys", "exact");
}

#[test]
fn a_product_is_the_factor_of_the_next_one() {
    let params = params("insecure_small");
    let sk = secret(&params, 5);
    let (first, second, data) = (noise(12 * 20, 1), noise(7 * 12, 2), noise(20 * 9, 3));
    let expected = product(&second, &product(&first, &data, 20, 9), 12, 9);
    for methods in [
        [MatrixMethod::Exact, MatrixMethod::Prepared],
        [MatrixMethod::Exact, MatrixMethod::Exact],
        [MatrixMethod::ByRows, MatrixMethod::ByRows],
    ] {
        let at = |method, level, lanes| {
            let arrangement = Arrangement { level: Some(Level(level)), lanes, bodies: None };
            MatrixOptions { arrangement, ..by(method, true) }
        };
        let one =
            MatrixPlan::new(&params, Matrix::new(12, 20, &first), 9, &at(methods[0], 2, None)).expect("plan");
        let x = encrypted(&sk, &one, &data, [20, 9], true);
        let lanes = Some(x.layout().lanes());
        let two = MatrixPlan::new(&params, Matrix::new(7, 12, &second), 9, &at(methods[1], 1, lanes))
            .expect("plan");
        let ((ev1, w1), (ev2, w2)) = (ready(&sk, &one), ready(&sk, &two));
        let y = w1.multiply(&ev1, &x).expect("first");
        let z = w2.multiply(&ev2, &y).expect("second");
        assert_close(&decrypt(&sk, &z), &expected, 1e-4);
    }
}

#[test]
fn what_no_plan_fits_is_refused() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let weights = noise(12, 1);
    let plan = |options: &MatrixOptions| MatrixPlan::new(&params, Matrix::new(3, 4, &weights), 50, options);
    for method in MatrixMethod::ALL {
        assert_refused!(
            plan(&MatrixOptions {
                arrangement: Arrangement { level: Some(Level(0)), ..Arrangement::default() },
                ..by(method, false)
            }),
            CkksError::LevelTooLow { .. },
            "level 0"
        );
        let bad = MatrixPlan::new(&params, Matrix::new(3, 4, &[f64::NAN; 12]), 50, &by(method, false));
        assert_refused!(bad, CkksError::NotFinite { .. }, "nan");
    }
    let exact = plan(&by(MatrixMethod::Exact, false)).expect("plan");
    let (ev, matrix) = ready(&sk, &exact);
    let other = sk.encrypt_array(&noise(200, 1), &[4, 50], common_options(Some(Level(0)))).expect("array");
    assert_refused!(matrix.multiply(&ev, &other), CkksError::OutOfRange { .. }, "level 1");
    let wrong = sk.encrypt_array(&noise(150, 1), &[3, 50], exact.encryption()).expect("array");
    assert_refused!(matrix.multiply(&ev, &wrong), CkksError::Shape { .. }, "3 columns");
    let without =
        matrix.multiply(&Evaluator::new(&params), &encrypted(&sk, &exact, &noise(200, 1), [4, 50], false));
    assert_refused!(without, CkksError::NoKeys { .. }, "packing");
    let right = encrypted(&sk, &exact, &noise(200, 1), [4, 50], false);
    assert!(matches!(
        matrix.multiply(&ev.with_progress(cancelling_after(0)), &right),
        Err(CkksError::Cancelled)
    ));
}

fn common_options(level: Option<Level>) -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Coefficients), level, ..EncryptOptions::default() }
}

#[test]
fn rows_under_shared_masks_are_split_where_there_are_keys_and_explained() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 8);
    let (rows, inner, columns, bodies) = (5, 9, 30, 2);
    let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
    let expected = product(&weights, &data, inner, columns);
    for lanes in [1, 2, 8] {
        let options = EncryptOptions {
            bodies: Some(bodies),
            axis: Some(BodyAxis::Rows),
            lanes: Some(Lanes::Of(lanes)),
            ..common_options(None)
        };
        let x = sk.encrypt_array(&data, &[inner, columns], options).expect("array");
        let ev = evaluator(&sk, &KeyNeeds::new().shared_mask(bodies, KeyLevel::Top));
        let w = Weights::encode(&ev, rows, inner, &weights, &x).expect("weights");
        let y = ev.rescale(&w.multiply(&ev, &x).expect("split")).expect("rescaled");
        assert_close(&decrypt(&sk, &y), &expected, 1e-3);
        let text = w.explain(&ev, &x).expect("explained");
        for word in ["5 x 9", "split", "2 rows each", "predicted", "2^-"] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert_eq!(text.contains("come apart"), lanes > 1, "{text}");
        // The error of the explanation bounds that of the product.
        let bits: f64 = text
            .rsplit("2^-")
            .next()
            .and_then(|rest| rest.split(' ').next())
            .expect("bits")
            .parse()
            .expect("a number");
        assert!(deviation(&decrypt(&sk, &y), &expected) < (-bits).exp2());
        let without = Evaluator::new(&params);
        assert_refused!(
            w.multiply(&without, &x),
            CkksError::Unsuitable { .. },
            "share a mask",
            "split_mask",
            "prepare"
        );
        assert_refused!(w.explain(&without, &x), CkksError::Unsuitable { .. }, "share a mask", "split_mask");
    }
    let x = sk.encrypt_array(&data, &[inner, columns], common_options(None)).expect("array");
    let ev = Evaluator::new(&params);
    let w = Weights::encode(&ev, rows, inner, &weights, &x).expect("weights");
    assert!(w.explain(&ev, &x).expect("explained").contains("no key"));
}
