//! Products by prepared matrices: right for every shape, with the predicted errors, alike by one and two
//! floating-point products; what does not fit is refused.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedMatrix, PreparedOptions, PreparedPlan};
use clathrate_ckks::file::{FileError, FileReader, OpenOptions, Stored, TrustedMap};
use clathrate_ckks::keys::{EncryptOptions, Lanes, Values};
use clathrate_ckks::{
    BodyAxis, Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Matrix, Params, SecretKey,
};
use clathrate_lattice::Level;

/// Rows in as many lanes as there is room for, `bodies` polynomials under a mask.
fn under_masks(bodies: usize) -> EncryptOptions {
    EncryptOptions {
        encoding: Some(Encoding::Coefficients),
        bodies: Some(bodies),
        axis: Some(BodyAxis::Rows),
        lanes: Some(Lanes::Most),
        ..EncryptOptions::default()
    }
}

/// `W M`, row-major.
fn product(weights: &[f64], data: &[f64], inner: usize, columns: usize) -> Vec<f64> {
    let entry =
        |row: &[f64], column: usize| (0..inner).map(|j| row[j] * data[j * columns + column]).sum::<f64>();
    weights
        .chunks(inner)
        .flat_map(|row| (0..columns).map(|column| entry(row, column)).collect::<Vec<_>>())
        .collect()
}

fn prepared(sk: &SecretKey, plan: PreparedPlan) -> (Evaluator, PreparedMatrix) {
    let ev = evaluator(sk, &plan.needs());
    let matrix = plan.prepare(&ev).expect("prepared");
    (ev, matrix)
}

struct Case {
    rows: usize,
    inner: usize,
    columns: usize,
    bodies: usize,
}

impl Case {
    /// The root mean square of the errors, and that predicted.
    fn errors(&self, params: &Params, products: usize, seed: u64) -> (f64, f64) {
        let Self { rows, inner, columns, bodies } = *self;
        let sk = secret(params, 3);
        let (weights, data) = (noise(rows * inner, seed), noise(inner * columns, seed + 1));
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], under_masks(bodies), 5);
        let options = PreparedOptions { products: Some(products), ..PreparedOptions::default() };
        let plan = PreparedPlan::new(rows, inner, &weights, &x, options).expect("plan");
        let predicted = plan.error();
        let (ev, matrix) = prepared(&sk, plan);
        assert_eq!(matrix.key_bytes(), matrix.plan().key_bytes().expect("bytes"));
        let y = matrix.multiply(&ev, &x).expect("product");
        assert_eq!(
            (y.shape(), y.level(), y.secret().bodies()),
            (&[rows, columns][..], Level(x.level().0 - 1), 1)
        );
        assert_eq!(y.layout().lanes(), x.layout().lanes());
        (deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns)), predicted)
    }
}

#[test]
fn products_are_right_for_every_shape() {
    let params = params("insecure_matmul");
    assert_eq!(params.degree(), 256);
    for (rows, inner, columns, bodies) in [
        (1, 1, 1, 1),
        (1, 1, 1, 3),
        (3, 5, 256, 5),
        (4, 3, 256, 2),
        (5, 7, 600, 4),
        (9, 16, 32, 2),
        (16, 16, 16, 1),
        (7, 33, 20, 2),
        (40, 19, 64, 3),
        (2, 300, 128, 64),
        (300, 2, 3, 1),
        (64, 64, 1, 1),
    ] {
        let case = Case { rows, inner, columns, bodies };
        for products in [1, 2] {
            let (measured, predicted) = case.errors(&params, products, 11);
            println!(
                "{rows} x {inner} times {columns}, {bodies} bodies, {products}: 2^{:.1}, predicted 2^{:.1}",
                measured.log2(),
                predicted.log2()
            );
            assert!(
                measured < 2.0 * predicted,
                "{rows} x {inner} times {columns}, {bodies} bodies, {products}: {measured:e}, {predicted:e}"
            );
            assert!(predicted < 2f64.powi(-6), "{predicted:e}");
        }
    }
}

/// Whether the engine multiplies fractions as integers, so that one product is as precise as two.
fn whole_fractions(params: &Params) -> bool {
    params.chain().ring().engine().multiplies_whole_fractions()
}

#[test]
fn errors_are_those_predicted() {
    let params = params("insecure_matmul");
    // Numbers are uniform, of variance 1/3; the prediction is for magnitude 1, where the rounding of weights
    // counts three times as much.
    let case = Case { rows: 64, inner: 64, columns: 64, bodies: 16 };
    let sum = |products: usize| {
        let all: Vec<(f64, f64)> =
            (0..4).map(|seed| case.errors(&params, products, 100 + 10 * seed)).collect();
        ((all.iter().map(|e| e.0 * e.0).sum::<f64>() / 4.0).sqrt(), all[0].1)
    };
    for products in [1, 2] {
        let (measured, predicted) = sum(products);
        println!("{products}: 2^{:.2}, predicted 2^{:.2}", measured.log2(), predicted.log2());
        assert!((0.3..1.1).contains(&(measured / predicted)), "{products}: {measured:e} for {predicted:e}");
    }
}

#[test]
fn the_noise_of_keys_and_rounding_is_that_predicted() {
    // Encryptions of zero, so that the noise is all there is.
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let (rows, inner, columns) = (32, 32, 32);
    let (mut sum, mut count, mut predicted) = (0.0, 0.0, 0.0);
    for seed in 0..6 {
        let x = encrypt_as(
            &sk,
            &Values::Real(vec![0.0; inner * columns]),
            &[inner, columns],
            under_masks(4),
            seed as u8,
        );
        let weights = noise(rows * inner, seed);
        let plan = PreparedPlan::new(
            rows,
            inner,
            &weights,
            &x,
            PreparedOptions { products: Some(2), ..PreparedOptions::default() },
        )
        .expect("plan");
        let noise = plan.noise();
        let (ev, matrix) = prepared(&sk, plan);
        let y = matrix.multiply(&ev, &x).expect("product");
        sum += decrypt(&sk, &y).iter().map(|v| (v * y.scale()).powi(2)).sum::<f64>();
        count += (rows * columns) as f64;
        predicted += noise.total() / 6.0;
    }
    let ratio = sum / count / predicted;
    println!("variance {:.1}, predicted {predicted:.1}", sum / count);
    // In floating point its error is most of the variance; without it, what is left is that of the keys,
    // whose prediction is a quarter above what is measured.
    let least = if whole_fractions(&params) { 0.65 } else { 0.75 };
    assert!((least..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn slots_and_complex_numbers_are_combined_too() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let (rows, inner, columns) = (3, 5, 128);
    let (weights, data) = (noise(rows * inner, 1), complex(inner * columns, 2));
    let options = EncryptOptions {
        encoding: Some(Encoding::Slots),
        bodies: Some(2),
        axis: Some(BodyAxis::Rows),
        ..EncryptOptions::default()
    };
    let x = encrypt_as(&sk, &Values::Complex(data.clone()), &[inner, columns], options, 5);
    let plan = PreparedPlan::new(rows, inner, &weights, &x, PreparedOptions::default()).expect("plan");
    let (ev, matrix) = prepared(&sk, plan);
    let y = matrix.multiply(&ev, &x).expect("product");
    let part = |f: fn(&clathrate_ckks::Complex64) -> f64| {
        product(&weights, &data.iter().map(f).collect::<Vec<_>>(), inner, columns)
    };
    let (real, imaginary) = (part(|c| c.re), part(|c| c.im));
    let error = decrypt_complex(&sk, &y)
        .iter()
        .zip(real.iter().zip(&imaginary))
        .map(|(got, (re, im))| (got.re - re).hypot(got.im - im))
        .fold(0.0, f64::max);
    assert!(error < 1e-3, "{error:e}");
}

#[test]
fn plans_take_one_product_where_it_is_precise_enough() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let x = encrypt_as(&sk, &Values::Real(noise(64 * 64, 1)), &[64, 64], under_masks(4), 5);
    let plan = |options| PreparedPlan::new(8, 64, &noise(512, 2), &x, options);
    let at = |bits: f64| plan(PreparedOptions { precision_bits: Some(bits), ..PreparedOptions::default() });
    let with = |products| {
        plan(PreparedOptions { products: Some(products), ..PreparedOptions::default() })
            .expect("plan")
            .error()
    };
    let (one, two) = (-with(1).log2(), -with(2).log2());
    if whole_fractions(&params) {
        assert!(
            one == two && plan(PreparedOptions::default()).expect("plan").products() == 1,
            "integers need no second product"
        );
        return;
    }
    assert!(one + 3.0 < two, "{one} {two}");
    assert_eq!(at(one - 0.1).expect("plan").products(), 1);
    assert_eq!(at((one + two) / 2.0).expect("plan").products(), 2);
    assert_eq!(plan(PreparedOptions::default()).expect("plan").products(), 2);
    let refused = at(two + 0.1).expect_err("too precise");
    assert!(
        matches!(refused, CkksError::OutOfRange { .. })
            && refused.to_string().contains(&format!("{two:.1} bits")),
        "{refused}"
    );
    assert!(matches!(
        plan(PreparedOptions { products: Some(3), ..PreparedOptions::default() }),
        Err(CkksError::OutOfRange { .. })
    ));
    let text = plan(PreparedOptions::default()).expect("plan").explain();
    assert!(text.contains("8 x 64") && text.contains("bits of precision"), "{text}");
    // The rounding of the weights belongs to the keys, so the other number of products keeps it.
    let (_, matrix) = prepared(&sk, plan(PreparedOptions::default()).expect("plan"));
    let two = matrix.plan().error();
    let matrix = matrix.with_products(1).expect("one");
    assert!(matrix.plan().products() == 1 && matrix.plan().error() > two);
    assert!(matrix.with_products(0).is_err());
}

#[test]
fn a_dry_run_of_a_product_records_the_cost_of_its_plan() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let x = encrypt_as(&sk, &Values::Real(noise(64 * 64, 1)), &[64, 64], under_masks(4), 5);
    let plan = PreparedPlan::new(8, 64, &noise(512, 2), &x, PreparedOptions::default()).expect("plan");
    let cost = plan.cost();
    let (_, matrix) = prepared(&sk, plan);
    let dry = Evaluator::recording(&params);
    let symbol = Ciphertext::symbol_with(&params, x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
        .expect("symbol");
    let symbol = dry.take_symbol(symbol, Some(1.0)).expect("taken");
    let y = matrix.multiply(&dry, &symbol).expect("a dry run");
    let real = matrix.multiply(&Evaluator::new(&params), &x).expect("a product");
    assert_eq!(
        (y.shape(), y.level(), y.scale(), y.layout(), y.secret()),
        (real.shape(), real.level(), real.scale(), real.layout(), real.secret())
    );
    assert_eq!(dry.recorded().cost(), cost);
    assert!(
        cost.nanoseconds > 0.0 && cost.multiply_adds >= (8 * 64 * 64) as f64 && cost.transforms > 0.0,
        "{cost:?}"
    );
    assert!(
        y.error_bound().expect("bounds") >= matrix.plan().error()
            && y.bound().expect("a bound") <= 64.0 * 1.01,
        "{:?}",
        y.bound()
    );
}

#[test]
fn parameters_of_long_steps_and_many_levels_are_precise_or_refused() {
    // A step of 40 bits leaves a double no room for weights of 40 bits: they are rounded to fewer.
    for (name, level) in
        [("insecure_small", 1), ("insecure_tiny", 1), ("insecure_deep", 1), ("insecure_small", 5)]
    {
        let params = params(name);
        let sk = secret(&params, 3);
        let (rows, inner, columns) = (6, 40, 16);
        // Weights of one sign, whose errors would add up if they had a mean.
        let weights: Vec<f64> = noise(rows * inner, 1).iter().map(|w| 0.9 + 0.1 * w).collect();
        let data = noise(inner * columns, 2);
        let plan = PreparedPlan::for_columns(
            &params,
            Matrix::new(rows, inner, &weights),
            columns,
            Arrangement { level: Some(Level(level)), ..Arrangement::default() },
            PreparedOptions::default(),
        );
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                assert!(
                    level > 1 && error.to_string().contains("lower level"),
                    "{name}, level {level}: {error}"
                );
                continue;
            }
        };
        let predicted = plan.error();
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], plan.encryption(), 5);
        let (ev, matrix) = prepared(&sk, plan);
        let y = matrix.multiply(&ev, &x).expect("product");
        let measured = deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns));
        println!("{name}, level {level}: 2^{:.1}, predicted 2^{:.1}", measured.log2(), predicted.log2());
        assert!(
            measured < 2.0 * predicted && predicted < 2f64.powi(-6),
            "{name}, level {level}: {measured:e}, {predicted:e}"
        );
    }
}

#[test]
fn weights_that_round_up_or_away_are_seen() {
    let params = params("insecure_tiny");
    let plan = |weight: f64, options| {
        PreparedPlan::for_columns(
            &params,
            Matrix::new(4, 8, &[weight; 32]),
            8,
            Arrangement::default(),
            options,
        )
    };
    // Rounded, these weights have a bit more, and the prediction knows: it is that of the rounded ones.
    let near = plan(1.0 - 2f64.powi(-30), PreparedOptions::default()).expect("plan");
    let whole = plan(1.0, PreparedOptions::default()).expect("plan");
    assert!((near.error() / whole.error()).log2().abs() < 0.2, "{} {}", near.error(), whole.error());
    // Weights below the last bit of their scale, 24 bits here, leave no number right.
    let params = crate::common::params("insecure_matmul");
    let plan = |weight: f64, options| {
        PreparedPlan::for_columns(
            &params,
            Matrix::new(4, 8, &[weight; 32]),
            8,
            Arrangement::default(),
            options,
        )
    };
    for weight in [1e-9, 2f64.powi(-60), 1e-300] {
        let error = plan(weight, PreparedOptions::default()).expect_err("too small");
        assert!(
            matches!(error, CkksError::OutOfRange { .. }) && error.to_string().contains("larger weights"),
            "{error}"
        );
    }
    assert!(plan(0.0, PreparedOptions::default()).is_ok(), "zero is zero");
    let bits = PreparedOptions { precision_bits: Some(20.0), ..PreparedOptions::default() };
    assert!(plan(1e-9, bits).is_ok(), "whoever asks for bits after the binary point gets them");
}

#[test]
fn many_rows_and_long_sums_are_right() {
    // More rows than keys are combined for at a time, and more than one range of the floating-point product.
    let params = params("insecure_matmul");
    for (rows, inner, columns, bodies) in [(1100, 3, 200, 2), (2, 4200, 40, 300), (2100, 5, 20, 1)] {
        for products in [1, 2] {
            let (measured, predicted) = Case { rows, inner, columns, bodies }.errors(&params, products, 11);
            assert!(
                measured < 2.0 * predicted,
                "{rows} x {inner} times {columns}: {measured:e}, {predicted:e}"
            );
        }
    }
}

#[test]
fn small_matrices_take_few_lanes() {
    let params = params("insecure_matmul");
    let plan = |rows: usize, inner: usize, columns| {
        PreparedPlan::for_columns(
            &params,
            Matrix::new(rows, inner, &noise(rows * inner, 1)),
            columns,
            Arrangement::default(),
            PreparedOptions::default(),
        )
        .expect("plan")
    };
    let lanes = |rows, inner, columns| plan(rows, inner, columns).encryption().lanes;
    assert_eq!(lanes(1, 1, 1), Some(Lanes::Of(1)));
    assert_eq!(lanes(3, 9, 1), Some(Lanes::Of(16)));
    assert_eq!(lanes(3, 9, 100), Some(Lanes::Of(2)));
    assert!(plan(1, 1, 1).key_bytes().expect("bytes") < 1 << 16);
    // A capacity of one's own does not go with lanes.
    let options = EncryptOptions { capacity: Some(64), lanes: Some(Lanes::Of(2)), ..under_masks(1) };
    assert!(matches!(options.layout(&[4, 20], false, 256), Err(CkksError::OutOfRange { .. })));
}

#[test]
fn fewer_lanes_than_there_is_room_for_are_multiplied_as_well() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let (rows, inner, columns) = (5, 9, 30);
    let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
    for lanes in [1, 2, 4, 8] {
        let options = EncryptOptions { lanes: Some(Lanes::Of(lanes)), ..under_masks(2) };
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], options, 5);
        let plan = PreparedPlan::new(rows, inner, &weights, &x, PreparedOptions::default()).expect("plan");
        let predicted = plan.error();
        let (ev, matrix) = prepared(&sk, plan);
        let y = matrix.multiply(&ev, &x).expect("product");
        assert_eq!(y.layout().lanes(), lanes);
        let error = deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns));
        assert!(error < 2.0 * predicted, "{lanes} lanes: {error:e}, {predicted:e}");
    }
}

#[test]
fn rows_in_lanes_multiply_without_preparation_once_they_are_apart() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let (rows, inner, columns) = (5, 9, 30);
    let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
    let options = EncryptOptions {
        encoding: Some(Encoding::Coefficients),
        lanes: Some(Lanes::Most),
        ..EncryptOptions::default()
    };
    let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], options, 5);
    assert_eq!((x.layout().lanes(), x.bundles().len()), (8, 2));
    assert!(deviation(&decrypt(&sk, &x), &data) < 1e-6);
    let ev = Evaluator::new(&params);
    // A product takes the rows of a polynomial apart by itself.
    let w = Weights::encode(&ev, rows, inner, &weights, &x).expect("weights");
    let y = ev.rescale(&w.multiply(&ev, &x).expect("product")).expect("rescaled");
    assert_eq!((y.params().degree(), y.bundles().len()), (32, 5));
    assert!(deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns)) < 1e-3);
    let apart = ev.to_mlwe(&x, 8).expect("rows");
    assert_eq!((apart.params().degree(), apart.bundles().len()), (32, 9));
    assert!(deviation(&decrypt(&sk, &apart), &data) < 1e-6);
    let w = Weights::encode(&ev, rows, inner, &weights, &apart).expect("weights");
    let y = ev.rescale(&w.multiply(&ev, &apart).expect("product")).expect("rescaled");
    assert!(deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns)) < 1e-3);
    // Fewer lanes than there is room for come apart at a larger degree, numbers at a distance.
    for lanes in [2, 4] {
        let options = EncryptOptions { lanes: Some(Lanes::Of(lanes)), ..options };
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], options, 5);
        let apart = ev.to_mlwe(&x, lanes).expect("rows");
        assert_eq!(
            (apart.params().degree(), apart.layout().stride(), apart.bundles().len()),
            (256 / lanes, 8 / lanes, inner)
        );
        assert!(deviation(&decrypt(&sk, &apart), &data) < 1e-6);
        let needs =
            KeyNeeds::new().operation(pack_step(256, 256 / lanes, 256), clathrate_ckks::KeyLevel::Top);
        let again = evaluator(&sk, &needs).pack_rows(&apart, &[]).expect("packed");
        assert_eq!(again.layout(), x.layout());
        assert!(deviation(&decrypt(&sk, &again), &data) < 1e-5);
        let y = ev.rescale(&w.multiply(&ev, &x).expect("product")).expect("rescaled");
        assert!(deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns)) < 1e-3);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let data = noise(16 * 32, 1);
    let encrypted = |options| encrypt_as(&sk, &Values::Real(data.clone()), &[16, 32], options, 5);
    let x = encrypted(under_masks(2));
    let weights = noise(8 * 16, 2);
    let plan = |x: &Ciphertext| PreparedPlan::new(8, 16, &weights, x, PreparedOptions::default());
    // Rows that do not share masks.
    assert!(matches!(plan(&encrypted(EncryptOptions::default())), Err(CkksError::Unsuitable { .. })));
    assert!(matches!(
        PreparedPlan::new(8, 15, &weights[..120], &x, PreparedOptions::default()),
        Err(CkksError::Shape { .. })
    ));
    assert!(matches!(
        PreparedPlan::new(8, 16, &vec![f64::NAN; 128], &x, PreparedOptions::default()),
        Err(CkksError::NotFinite { .. })
    ));
    let low = encrypted(EncryptOptions { level: Some(Level(0)), ..under_masks(2) });
    assert!(matches!(plan(&low), Err(CkksError::LevelTooLow { .. })));
    // Keys that are not there, of another number of bodies, and an evaluator without keys.
    let own = plan(&x).expect("plan");
    let needs = own.needs();
    let error =
        own.prepare(&evaluator(&sk, &KeyNeeds::new().prepared_matrix(4, 32, clathrate_ckks::KeyLevel::Top)));
    assert!(matches!(error, Err(CkksError::MissingKey { .. })), "{error:?}");
    assert!(matches!(
        plan(&x).expect("plan").prepare(&Evaluator::new(&params)),
        Err(CkksError::NoKeys { .. })
    ));
    let ev = evaluator(&sk, &needs);
    let stopped = ev.clone().with_progress(cancelling_after(0));
    assert!(matches!(plan(&x).expect("plan").prepare(&stopped), Err(CkksError::Cancelled)));
    let matrix = plan(&x).expect("plan").prepare(&ev).expect("prepared");
    assert!(matches!(matrix.multiply(&stopped, &x), Err(CkksError::Cancelled)));
    // Other rows, other masks, another level, another owner.
    let other = |shape: &[usize], options, level: Option<usize>| {
        let values = Values::Real(noise(shape.iter().product(), 1));
        encrypt_as(&sk, &values, shape, EncryptOptions { level: level.map(Level), ..options }, 6)
    };
    assert!(matches!(
        matrix.multiply(&ev, &other(&[15, 32], under_masks(2), None)),
        Err(CkksError::Shape { .. })
    ));
    assert!(matches!(
        matrix.multiply(&ev, &other(&[16, 32], under_masks(4), None)),
        Err(CkksError::Unsuitable { .. })
    ));
    assert!(matches!(
        matrix.multiply(&ev, &other(&[16, 60], under_masks(2), None)),
        Err(CkksError::Unsuitable { .. })
    ));
    assert!(matches!(
        matrix.multiply(&ev, &other(&[16, 32], under_masks(2), Some(0))),
        Err(CkksError::OutOfRange { .. })
    ));
    let stranger =
        encrypt_as(&secret(&params, 77), &Values::Real(data.clone()), &[16, 32], under_masks(2), 5);
    assert!(
        matches!(matrix.multiply(&ev, &stranger), Err(CkksError::WrongSecret { reason, .. }) if reason.contains("belongs to secret"))
    );
    // Another number of columns in the same lanes is no other matrix.
    let narrow = other(&[16, 27], under_masks(2), None);
    let y = matrix.multiply(&ev, &narrow).expect("27 columns");
    assert!(deviation(&decrypt(&sk, &y), &product(&weights, &noise(16 * 27, 1), 16, 27)) < 1e-3);
}

#[test]
fn rows_apart_are_multiplied_and_brought_back_into_lanes() {
    // [pcmm-mambo, Algorithm 2]
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    for (rows, inner, columns, midpoints) in
        [(5, 9, 30, &[][..]), (16, 8, 16, &[4]), (1, 1, 128, &[]), (33, 20, 64, &[2])]
    {
        let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
        let options = EncryptOptions {
            encoding: Some(Encoding::Coefficients),
            lanes: Some(Lanes::Most),
            ..EncryptOptions::default()
        };
        let x = encrypt_as(&sk, &Values::Real(data.clone()), &[inner, columns], options, 5);
        let lanes = x.layout().lanes();
        let ev = Evaluator::new(&params);
        let apart = ev.to_mlwe(&x, lanes).expect("rows");
        let w = Weights::encode(&ev, rows, inner, &weights, &apart).expect("weights");
        let y = ev.rescale(&w.multiply(&ev, &apart).expect("product")).expect("rescaled");
        let steps = y.params().packing_steps(midpoints).expect("steps");
        let needs = steps.iter().fold(KeyNeeds::new(), |needs, step| {
            needs.operation(
                pack_step(step.degree() * step.rank(), step.degree(), step.target()),
                clathrate_ckks::KeyLevel::Top,
            )
        });
        let packed = evaluator(&sk, &needs).pack_rows(&y, midpoints).expect("packed");
        assert_eq!(
            (packed.params(), packed.layout().lanes(), packed.bundles().len()),
            (&params, lanes, rows.div_ceil(lanes))
        );
        assert!(
            deviation(&decrypt(&sk, &packed), &product(&weights, &data, inner, columns)) < 1e-3,
            "{rows} x {inner} times {columns}"
        );
        // It is what it was before it came apart.
        let again = Evaluator::new(&params).to_mlwe(&packed, lanes).expect("rows");
        assert_eq!(again.layout(), y.layout());
    }
    // Rows that leave gaps, and rows of several polynomials.
    let wide = encrypt_as(&sk, &Values::Real(noise(600, 1)), &[2, 300], EncryptOptions::default(), 5);
    let low = Evaluator::new(&params).to_mlwe(&wide, 2).expect("rows");
    assert!(matches!(Evaluator::new(&params).pack_rows(&low, &[]), Err(CkksError::Unsuitable { .. })));
}

#[test]
fn products_have_the_bounds_and_errors_of_their_dry_run() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let (rows, inner, columns) = (8, 64, 64);
    let run = |factor: f64, bodies: usize, products: usize, bound: Option<f64>| {
        let options = EncryptOptions { bound, ..under_masks(bodies) };
        let x = encrypt_as(&sk, &Values::Real(noise(inner * columns, 1)), &[inner, columns], options, 5);
        let weights: Vec<f64> = noise(rows * inner, 2).iter().map(|weight| factor * weight).collect();
        let options = PreparedOptions { products: Some(products), ..PreparedOptions::default() };
        let (ev, matrix) =
            prepared(&sk, PreparedPlan::new(rows, inner, &weights, &x, options).expect("plan"));
        let largest = weights.chunks(inner).map(|row| row.iter().map(|weight| weight.abs()).sum::<f64>());
        let dry = Evaluator::recording(&params);
        let symbol =
            Ciphertext::symbol_with(&params, x.shape(), *x.layout(), x.secret(), x.level(), x.scale());
        let symbol = dry.take_symbol_of(symbol.expect("symbol"), x.estimate().clone()).expect("taken");
        let bytes = matrix.to_file_bytes().expect("file");
        let read = PreparedMatrix::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params);
        let results = [
            matrix.multiply(&ev, &x),
            read.expect("matrix").multiply(&ev, &x),
            matrix.multiply(&dry, &symbol),
        ];
        (results, largest.fold(0.0, f64::max))
    };
    for (bodies, products) in [(1, 2), (4, 1), (4, 2)] {
        for factor in [1.0, 20.0] {
            let (results, largest) = run(factor, bodies, products, Some(1.0));
            let [y, read, dry] = results.map(|result| result.expect("a product"));
            let bound = y.bound().expect("a bound");
            assert!((largest * 0.999..=largest * 1.001).contains(&bound), "{bound} of {largest}");
            assert_eq!(
                (y.bound(), y.error_bound(), y.error_rms()),
                (dry.bound(), dry.error_bound(), dry.error_rms())
            );
            // A file has the rounded weights.
            for (own, other) in [
                (y.bound(), read.bound()),
                (y.error_bound(), read.error_bound()),
                (y.error_rms(), read.error_rms()),
            ] {
                assert!((own.expect("known") / other.expect("known") - 1.0).abs() < 1e-6);
            }
        }
        // Products that would wrap are refused, on data as on symbols.
        let (results, _) = run(1e7, bodies, products, Some(1.0));
        for result in results {
            assert!(matches!(result, Err(CkksError::TooLarge { .. })), "{:?}", result.map(|y| y.bound()));
        }
        let (results, _) = run(1.0, bodies, products, None);
        assert!(results.into_iter().all(|result| result.expect("a product").bound().is_none()));
    }
}

#[test]
fn prepared_matrices_come_back_from_files() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("matrix");
    let load = |params: &Params, trusted: bool| {
        // SAFETY: the file is in a folder of the test's, which does not write to it while it is mapped.
        let trusted_map = trusted.then(|| unsafe { TrustedMap::promised() });
        FileReader::open_with(&path, OpenOptions { trusted_map })
            .map_err(CkksError::from)
            .and_then(|reader| PreparedMatrix::from_reader(&reader, params))
    };
    for (rows, inner, columns, bodies) in [(1, 1, 1, 1), (9, 16, 30, 2), (5, 7, 600, 3), (20, 300, 20, 8)] {
        let weights = noise(rows * inner, 1);
        let x = encrypt_as(
            &sk,
            &Values::Real(noise(inner * columns, 2)),
            &[inner, columns],
            under_masks(bodies),
            5,
        );
        for products in [1, 2] {
            let options = PreparedOptions { products: Some(products), ..PreparedOptions::default() };
            let (ev, matrix) =
                prepared(&sk, PreparedPlan::new(rows, inner, &weights, &x, options).expect("plan"));
            let expected = matrix.multiply(&ev, &x).expect("product").to_file_bytes().expect("bytes");
            matrix.save(&path).expect("file");
            for trusted in [false, true] {
                let again = load(&params, trusted).expect("matrix");
                assert_eq!(again.plan().explain(), matrix.plan().explain());
                assert_eq!((again.key_id(), again.key_bytes()), (matrix.key_id(), matrix.key_bytes()));
                let got = again.multiply(&ev, &x).expect("product").to_file_bytes().expect("bytes");
                assert!(got == expected, "{rows} x {inner}, {products}, trusted {trusted}");
                // A file of a matrix from a file is that file.
                assert!(again.to_file_bytes().expect("bytes") == std::fs::read(&path).expect("file"));
            }
        }
    }
    assert!(matches!(
        load(&crate::common::params("insecure_small"), false),
        Err(CkksError::File(FileError::WrongParameters { .. }))
    ));
    // Whatever bit is flipped, and wherever the file ends, it is refused; nothing panics.
    let whole = std::fs::read(&path).expect("file");
    for place in (0..whole.len()).step_by(whole.len() / 300 + 1) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        std::fs::write(&path, &damaged).expect("file");
        assert!(load(&params, place % 2 == 0).is_err(), "byte {place}");
        std::fs::write(&path, &whole[..place]).expect("file");
        assert!(load(&params, place % 2 == 0).is_err(), "{place} bytes");
    }
}

/// The keys of a plan, and its matrix.
fn with_own_masks(
    params: &Params,
    (rows, inner, columns): (usize, usize, usize),
    bodies: Option<usize>,
    seed: u64,
) -> (PreparedPlan, Vec<f64>) {
    let weights = noise(rows * inner, seed);
    let options = PreparedOptions { own_masks: true, ..PreparedOptions::default() };
    (
        PreparedPlan::for_columns(
            params,
            Matrix::new(rows, inner, &weights),
            columns,
            Arrangement { bodies, ..Arrangement::default() },
            options,
        )
        .expect("plan"),
        weights,
    )
}

#[test]
fn arrays_with_masks_of_their_own_are_multiplied_too() {
    let params = params("insecure_matmul");
    let sk = secret(&params, 3);
    let anyone = sk.public_key().expect("public key");
    for (shape, bodies) in [
        ((1, 1, 1), None),
        ((5, 7, 600), None),
        ((40, 19, 64), Some(3)),
        ((7, 33, 20), None),
        ((2, 300, 128), None),
        ((30, 50, 256), Some(16)),
        ((64, 64, 64), Some(1)),
    ] {
        let (plan, weights) = with_own_masks(&params, shape, bodies, 5);
        let (_, inner, columns) = shape;
        let encryption = plan.encryption();
        assert_eq!((encryption.bodies, encryption.axis), (None, None));
        let data = noise(inner * columns, 6);
        let x = anyone.encrypt_array(&data, &[inner, columns], encryption).expect("encryption");
        assert_eq!(x.secret().bodies(), 1);
        let predicted = plan.error();
        let (ev, matrix) = prepared(&sk, plan);
        let y = matrix.multiply(&ev, &x).expect("product");
        let measured = deviation(&decrypt(&sk, &y), &product(&weights, &data, inner, columns));
        assert!(
            measured < 2.0 * predicted && predicted < 2f64.powi(-6),
            "{shape:?}: {measured:e}, {predicted:e}"
        );
        // The dry run takes the same steps, at the cost of the plan, and asks for no other keys.
        let recorder = Evaluator::recording_for(&params, matrix.plan().needs());
        let symbol =
            Ciphertext::symbol_with(&params, x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
                .expect("symbol");
        let symbol = recorder.take_symbol(symbol, Some(1.0)).expect("symbol");
        let dry = matrix.multiply(&recorder, &symbol).expect("dry run");
        assert_eq!(
            (dry.shape(), dry.layout(), dry.level(), dry.secret()),
            (y.shape(), y.layout(), y.level(), y.secret())
        );
        assert!(dry.error_bound().expect("bounded") >= measured);
        assert!(
            (recorder.recorded().cost().nanoseconds / matrix.plan().cost().nanoseconds - 1.0).abs() < 1e-9
        );
        assert!(
            recorder.needs().operations().all(|(operation, _)| matrix
                .plan()
                .needs()
                .key_level_of(operation)
                .is_some())
        );
        // Files keep what predictions depend on.
        let bytes = matrix.to_file_bytes().expect("file");
        let again = PreparedMatrix::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params)
            .expect("matrix");
        assert_eq!(again.plan().explain(), matrix.plan().explain());
        assert!(decrypt(&sk, &again.multiply(&ev, &x).expect("product")) == decrypt(&sk, &y));
        // The same matrix multiplies arrays that lie alike under shared masks, as the plan for them says,
        // without the keys of the rounds.
        let shared = matrix.plan().clone().with_own_masks(false).expect("plan");
        let x_shared = sk.encrypt_array(&data, &[inner, columns], shared.encryption()).expect("encryption");
        let z = matrix.multiply(&Evaluator::new(&params), &x_shared).expect("product");
        assert!(
            deviation(&decrypt(&sk, &z), &product(&weights, &data, inner, columns)) < 2.0 * shared.error()
        );
        assert!(
            shared.cost().nanoseconds < matrix.plan().cost().nanoseconds
                && shared.error() <= matrix.plan().error()
        );
        assert_eq!(shared.with_own_masks(true).expect("plan").explain(), matrix.plan().explain());
        // Without the keys of the rounds the array is refused.
        let without = matrix.multiply(&Evaluator::new(&params), &x);
        assert_refused!(without, CkksError::NoKeys { .. }, "under one mask");
        let other =
            matrix.multiply(&evaluator(&sk, &KeyNeeds::new().relinearise(clathrate_ckks::KeyLevel::Top)), &x);
        assert_refused!(other, CkksError::MissingKey { .. }, "under one mask");
        let low = ev.drop_to_level(&x, Level(0)).expect("level 0");
        assert_refused!(matrix.multiply(&ev, &low), CkksError::OutOfRange { .. }, "level 1");
    }
}

#[test]
fn the_noise_of_rows_brought_under_masks_is_that_predicted() {
    let params = params("insecure_matmul");
    let (rows, inner, columns) = (32, 64, 64);
    let (mut sum, mut count, mut predicted) = (0.0, 0.0, 0.0);
    for seed in 0..6u8 {
        let sk = secret(&params, 20 + seed);
        let (plan, _) = with_own_masks(&params, (rows, inner, columns), Some(8), seed.into());
        let x = sk.public_key().expect("public key").encrypt_array(
            &vec![0.0; inner * columns],
            &[inner, columns],
            plan.encryption(),
        );
        predicted += plan.noise().total() / 6.0;
        let (ev, matrix) = prepared(&sk, plan);
        let y = matrix.multiply(&ev, &x.expect("zeros")).expect("product");
        sum += decrypt(&sk, &y).iter().map(|v| (v * y.scale()).powi(2)).sum::<f64>();
        count += (rows * columns) as f64;
    }
    let ratio = sum / count / predicted;
    println!("variance {:.1}, predicted {predicted:.1}", sum / count);
    assert!((0.7..1.15).contains(&ratio), "{ratio}");
}
