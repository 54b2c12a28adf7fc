//! Products of a plain matrix with an encrypted one: without preparation, and prepared with one and two floating-point products, beside the plain product.

use std::time::{Duration, Instant};

use clathrate_arith::product::multiply_f64;
use clathrate_arith::sequence::numbers;
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedOptions, PreparedPlan};
use clathrate_ckks::keys::{EncryptOptions, Lanes};
use clathrate_ckks::{Encoding, Evaluator, Params, Runtime, SecretKey, SecretRng};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::timing::{Extra, Limits, Timer};

/// The operations' names: the plain product, the product of rows apart, the prepared one.
pub const WORKS: [&str; 3] = ["matrix_plain", "matrix_apart", "matrix_prepared"];

/// The parameter sets.
pub const PRESETS: [&str; 2] = ["paper_pcmm", "matmul"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_matmul"];

/// Binary logarithms of the sizes of square matrices.
const SIZES: std::ops::RangeInclusive<u32> = 8..=12;

/// The sizes of a quick run.
const QUICK_SIZES: std::ops::RangeInclusive<u32> = 4..=6;

/// The largest relative error that a row may be printed with.
const TOLERANCE: f64 = 1e-2;

/// Seed of the secrets, keys and encryptions.
const SEED: [u8; 32] = [12; 32];

/// Times every set and size.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    if !WORKS.iter().any(|work| timer.wants(work)) {
        return Ok(());
    }
    let timer = timer.with_limits(Limits { budget: Duration::from_millis(if timer.is_quick() { 50 } else { 4000 }), least: 3, most: 21 });
    let all: &[&str] = if timer.is_quick() { &QUICK } else { &PRESETS };
    let sizes = if timer.is_quick() { QUICK_SIZES } else { SIZES };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        let params = Params::preset(preset, runtime)?;
        let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed(SEED))?;
        for log in sizes.clone() {
            size(&timer, &params, &owner, 1 << log)?;
        }
    }
    Ok(())
}

/// The fields of a row, with the accuracies of [pcmm-mambo, Table 3]: errors over the largest number of the product.
pub fn fields(params: &Params, size: usize, got: &[f64], exact: &[f64], own: &Value) -> Result<Extra, Failure> {
    let largest = exact.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let errors = || got.iter().zip(exact).map(|(a, b)| (a - b).abs() / largest);
    let (worst, mean) = (errors().fold(0.0, f64::max), errors().sum::<f64>() / exact.len() as f64);
    if worst.is_nan() || worst > TOLERANCE {
        return Err(Failure::slot_error(worst, TOLERANCE));
    }
    let fields = json!({
        "preset": params.spec().name,
        "degree": params.degree(),
        "size": size,
        "log_q": params.log2_q(params.max_level()),
        "log_qp": params.log2_qp(),
        "security_bits": params.security_bits(),
        "mean_bits": -mean.log2(),
        "worst_bits": -worst.log2(),
        "max_error": worst,
    });
    let mut fields: Extra = fields.as_object().cloned().unwrap_or_default();
    fields.extend(own.as_object().cloned().unwrap_or_default());
    Ok(fields)
}

/// All products of square matrices of one size.
fn size(timer: &Timer<'_>, params: &Params, owner: &SecretKey, size: usize) -> Result<(), Failure> {
    let name = &params.spec().name;
    let (weights, data): (Vec<f64>, Vec<f64>) = (numbers(60).take(size * size).collect(), numbers(61).take(size * size).collect());
    let plain = || multiply_f64(size, size, size, &weights, &data).map_err(|error| Failure::from(clathrate_ckks::CkksError::from(error)));
    let exact = plain()?;
    let label = format!("{name}, {size}");
    if timer.wants(WORKS[0]) {
        let times = timer.measure(plain)?;
        timer.print(
            (WORKS[0], &label),
            &times,
            &fields(params, size, &exact, &exact, &json!({ "worst_bits": null, "mean_bits": null }))?,
        )?;
    }
    if timer.wants(WORKS[1]) {
        let lanes = (size < params.degree()).then_some(Lanes::Most);
        let options = EncryptOptions { encoding: Some(Encoding::Coefficients), lanes, ..EncryptOptions::default() };
        let x = owner.encrypt_array_rng(&data, &[size, size], options, &mut SecretRng::from_seed(SEED))?;
        let evaluator = Evaluator::new(params);
        let low = evaluator.to_mlwe(&x, x.layout().lanes)?;
        drop(x);
        let matrix = evaluator.prepare_weights(size, size, &weights, &low)?;
        let product = || Ok(evaluator.rescale(&evaluator.multiply_matrix(&matrix, &low)?)?);
        let got = owner.decrypt(&product()?)?.into_real()?;
        let extra = fields(params, size, &got, &exact, &json!({ "rank": low.params().rank() }))?;
        let times = timer.measure(product)?;
        timer.print((WORKS[1], &label), &times, &extra)?;
    }
    if timer.wants(WORKS[2]) {
        let plan = PreparedPlan::for_columns(params, (size, size, &weights), size, Arrangement::default(), PreparedOptions::default())?;
        let x = owner.encrypt_array_rng(&data, &[size, size], plan.encryption(), &mut SecretRng::from_seed(SEED))?;
        let keys = owner.evaluation_keys_rng(&plan.needs(), &mut SecretRng::from_seed(SEED))?;
        let owner_bytes = keys.bytes();
        let evaluator = Evaluator::with_keys(keys);
        let start = Instant::now();
        let mut matrix = plan.prepare(&evaluator, &mut |_, _| true)?;
        let prepare_seconds = start.elapsed().as_secs_f64();
        let evaluator = Evaluator::new(params);
        for products in [1, 2] {
            matrix = matrix.with_products(products)?;
            let plan = matrix.plan();
            let own = json!({
                "products": products,
                "key_bytes": matrix.key_bytes(),
                "owner_key_bytes": owner_bytes,
                "prepare_seconds": prepare_seconds,
                "predicted_ms": plan.cost().nanoseconds / 1e6,
                "predicted_bits": -plan.error().log2(),
            });
            let got = owner.decrypt(&evaluator.multiply_prepared(&matrix, &x)?)?.into_real()?;
            let extra = fields(params, size, &got, &exact, &own)?;
            let times = timer.measure(|| Ok(evaluator.multiply_prepared(&matrix, &x)?))?;
            timer.print((WORKS[2], &label), &times, &extra)?;
        }
    }
    Ok(())
}
