//! Products of a plain and an encrypted matrix, compared with the plain product: exact, and prepared with one
//! and two floating-point products, each from ordinary ciphertexts to ordinary ciphertexts and the product
//! alone.

use std::time::{Duration, Instant};

use clathrate_arith::machine;
use clathrate_arith::product::multiply_f64;
use clathrate_arith::sequence::numbers;
use clathrate_ckks::Weights;
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan};
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedOptions, PreparedPlan};
use clathrate_ckks::keys::{EncryptOptions, EvaluationKeys, KeyLevel, KeyNeeds, Lanes};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, Matrix, Params, Runtime, SecretKey, SecretRng,
};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::timing::{Extra, Limits, Timer};

/// The plain product.
pub const PLAIN: &str = "matrix_plain";

/// The exact product of separate rows, alone.
pub const APART: &str = "matrix_apart";

/// The exact product from ordinary ciphertexts to ordinary ciphertexts.
pub const EXACT: &str = "matrix_exact";

/// The prepared product of an array with separate masks.
pub const OWN: &str = "matrix_own";

/// The prepared product of an array under shared masks.
pub const PREPARED: &str = "matrix_prepared";

/// The operations' names.
const WORKS: [&str; 5] = [PLAIN, APART, EXACT, OWN, PREPARED];

/// The parameter sets.
pub const PRESETS: [&str; 2] = ["paper_pcmm", "matmul"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_matmul"];

/// Binary logarithms of the sizes of square matrices.
const SIZES: [u32; 5] = [8, 9, 10, 11, 12];

/// The sizes of a quick run; the largest is the degree.
const QUICK_SIZES: [u32; 3] = [4, 6, 8];

/// The additional size of a long run, with the paper's parameters.
const LONG: u32 = 13;

/// Free memory that prepared products of a long run need: such a run failed with 24 GB.
const LONG_BYTES: u64 = 40 << 30;

/// The paper's largest size, and why it is not run.
const ABSENT: (u32, &str) = (
    14,
    "not run: 20 GB of keys of the matrix, 9 GB for the encrypted matrix, more than half an hour of preparation",
);

/// The largest relative error with which a row is printed.
const TOLERANCE: f64 = 1e-2;

/// Seed of the secrets, keys and encryptions.
const SEED: [u8; 32] = [12; 32];

/// Times every set and size; with `long` also the size whose products take minutes.
pub fn run(
    timer: &Timer<'_>,
    presets: &[&'static str],
    runtime: &Runtime,
    long: bool,
) -> Result<(), Failure> {
    if !WORKS.iter().any(|work| timer.wants(work)) {
        return Ok(());
    }
    let timer = timer.with_limits(Limits {
        budget: Duration::from_millis(if timer.is_quick() { 50 } else { 4000 }),
        least: 3,
        most: 21,
    });
    let (all, sizes): (&[&str], &[u32]) =
        if timer.is_quick() { (&QUICK, &QUICK_SIZES) } else { (&PRESETS, &SIZES) };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        let params = Params::preset(preset, runtime)?;
        let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed(SEED))?;
        let papers = *preset == PRESETS[0];
        for &log in sizes.iter().chain((papers && long).then_some(&LONG)) {
            Square::new(&timer, &params, &owner, 1 << log)?.run()?;
        }
        if papers {
            timer.absent("*", &format!("{preset}, {}", 1 << ABSENT.0), ABSENT.1)?;
        }
    }
    Ok(())
}

/// The fields of a row, with the accuracies of [pcmm-mambo, Table 3]: errors relative to the largest number
/// of the product.
pub fn fields(
    params: &Params,
    size: usize,
    got: &[f64],
    exact: &[f64],
    own: &Value,
) -> Result<Extra, Failure> {
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

/// Products of square matrices of one size. The factors are computed again for each product, because large
/// ones take much memory.
struct Square<'a> {
    timer: &'a Timer<'a>,
    params: &'a Params,
    owner: &'a SecretKey,
    size: usize,
    label: String,
    /// The exact product of the plain factors.
    exact: Vec<f64>,
}

impl<'a> Square<'a> {
    /// Computes the plain product, and times it if it is wanted.
    fn new(
        timer: &'a Timer<'a>,
        params: &'a Params,
        owner: &'a SecretKey,
        size: usize,
    ) -> Result<Self, Failure> {
        let label = format!("{}, {size}", params.spec().name);
        let mut all = Self { timer, params, owner, size, label, exact: Vec::new() };
        let (weights, data) = (all.weights(), all.data());
        let plain = || {
            multiply_f64(size, size, size, &weights, &data)
                .map_err(|error| Failure::from(CkksError::from(error)))
        };
        if timer.wants(PLAIN) {
            let (exact, times) = timer.measure_checked(plain, Ok)?;
            let own = json!({ "worst_bits": null, "mean_bits": null });
            timer.print((PLAIN, &all.label), &times, &fields(params, size, &exact, &exact, &own)?)?;
            all.exact = exact;
        } else {
            all.exact = plain()?;
        }
        Ok(all)
    }

    /// Times all products with an encrypted matrix.
    fn run(&self) -> Result<(), Failure> {
        if self.timer.wants(APART) {
            self.apart()?;
        }
        if self.timer.wants(EXACT) {
            self.whole()?;
        }
        if !self.timer.wants(OWN) && !self.timer.wants(PREPARED) {
            return Ok(());
        }
        let free = machine::memory().map_or(u64::MAX, |own| own.free_bytes);
        if self.size == 1 << LONG && free < LONG_BYTES {
            let reason = format!(
                "not run: preparation and product take up to {} GiB, of which {} are free",
                LONG_BYTES >> 30,
                free >> 30
            );
            for work in [OWN, PREPARED] {
                self.timer.absent(work, &self.label, &reason)?;
            }
            return Ok(());
        }
        let plan = self.plan(true)?;
        if !self.timer.wants(PREPARED) {
            return self.prepared(&plan, &[OWN]);
        }
        // One preparation serves both kinds of arrays if their layouts are equal.
        let shared = self.plan(false)?;
        if plan.clone().with_own_masks(false)?.encryption() == shared.encryption() {
            drop(shared);
            return self.prepared(&plan, &[OWN, PREPARED]);
        }
        self.prepared(&plan, &[OWN])?;
        self.prepared(&shared, &[PREPARED])
    }

    fn weights(&self) -> Vec<f64> {
        numbers(60).take(self.size * self.size).collect()
    }

    fn data(&self) -> Vec<f64> {
        numbers(61).take(self.size * self.size).collect()
    }

    fn encrypted(&self, options: EncryptOptions) -> Result<Ciphertext, Failure> {
        Ok(self.seeded_owner().encrypt_array(&self.data(), &[self.size, self.size], options)?)
    }

    /// Checks a product, times it and prints a row.
    fn time(
        &self,
        work: &str,
        own: &Value,
        product: impl FnMut() -> Result<Ciphertext, CkksError>,
    ) -> Result<(), Failure> {
        let mut product = product;
        let check = |product: Ciphertext| {
            let got = self.owner.decrypt(&product)?.into_real()?;
            fields(self.params, self.size, &got, &self.exact, own)
        };
        let (extra, times) = self.timer.measure_checked(|| Ok(product()?), check)?;
        self.timer.print((work, &self.label), &times, &extra)
    }

    /// The exact product of separate rows, alone.
    fn apart(&self) -> Result<(), Failure> {
        let lanes = (self.size < self.params.degree()).then_some(Lanes::Most);
        let x = self.encrypted(EncryptOptions {
            encoding: Some(Encoding::Coefficients),
            lanes,
            ..EncryptOptions::default()
        })?;
        let evaluator = Evaluator::new(self.params);
        let low = evaluator.to_mlwe(&x, x.layout().lanes())?;
        drop(x);
        let matrix = Weights::encode(&evaluator, self.size, self.size, &self.weights(), &low)?;
        let own = json!({ "rank": low.params().rank() });
        self.time(APART, &own, || evaluator.rescale(&matrix.multiply(&evaluator, &low)?))
    }

    /// The exact product that separates rows before and packs them after.
    fn whole(&self) -> Result<(), Failure> {
        let options = MatrixOptions { method: Some(MatrixMethod::Exact), ..MatrixOptions::default() };
        let plan = MatrixPlan::new(
            self.params,
            Matrix::new(self.size, self.size, &self.weights()),
            self.size,
            &options,
        )?;
        let needs = plan.needs();
        // Rows that fill a polynomial need no key.
        let evaluator = if needs.is_empty() {
            Evaluator::new(self.params)
        } else {
            Evaluator::with_keys(self.keys(&needs)?)
        };
        let matrix = plan.prepare(&evaluator)?;
        let cost = *plan.chosen();
        drop(plan);
        let own = json!({
            "owner_key_bytes": cost.owner_key_bytes,
            "predicted_ms": cost.nanoseconds / 1e6,
            "predicted_bits": -cost.error.log2(),
        });
        let x = self.encrypted(matrix.plan().encryption())?;
        self.time(EXACT, &own, || matrix.multiply(&evaluator, &x))
    }

    fn keys(&self, needs: &KeyNeeds) -> Result<EvaluationKeys, Failure> {
        Ok(self.seeded_owner().evaluation_keys(needs)?)
    }

    /// The owner's key, which draws the same in every run.
    fn seeded_owner(&self) -> SecretKey {
        self.owner.clone().with_rng(SecretRng::from_seed(SEED))
    }

    fn plan(&self, own_masks: bool) -> Result<PreparedPlan, Failure> {
        let options = PreparedOptions { own_masks, ..PreparedOptions::default() };
        let values = self.weights();
        let weights = Matrix::new(self.size, self.size, &values);
        Ok(PreparedPlan::for_columns(self.params, weights, self.size, Arrangement::default(), options)?)
    }

    /// Prepares the matrix and times its products with arrays that have separate or shared masks.
    fn prepared(&self, plan: &PreparedPlan, works: &[&str]) -> Result<(), Failure> {
        let (shared, own) = (plan.clone().with_own_masks(false)?, plan.clone().with_own_masks(true)?);
        let keys = self.keys(&shared.needs())?;
        let key_bytes = keys.bytes();
        let evaluator = Evaluator::with_keys(keys);
        let start = Instant::now();
        let mut matrix = plan.prepare(&evaluator)?;
        let prepare_seconds = start.elapsed().as_secs_f64();
        drop(evaluator);
        for &work in works.iter().filter(|work| self.timer.wants(work)) {
            let own_masks = work == OWN;
            let arrays = if own_masks { &own } else { &shared };
            let (evaluator, round_bytes) = if own_masks {
                let bodies = shared.encryption().bodies.unwrap_or(1);
                let keys = self
                    .keys(&KeyNeeds::new().shared_mask_in_rounds(bodies, KeyLevel::Level(own.level().0)))?;
                let bytes = keys.bytes();
                (Evaluator::with_keys(keys), bytes)
            } else {
                (Evaluator::new(self.params), 0)
            };
            let x = self.encrypted(arrays.encryption())?;
            for products in [1, 2] {
                matrix = matrix.with_products(products)?;
                let plan = matrix.plan().clone().with_own_masks(own_masks)?;
                let fields = json!({
                    "products": products,
                    "key_bytes": matrix.key_bytes(),
                    "owner_key_bytes": key_bytes + round_bytes,
                    "prepare_seconds": prepare_seconds,
                    "predicted_ms": plan.cost().nanoseconds / 1e6,
                    "predicted_bits": -plan.error().log2(),
                });
                self.time(work, &fields, || matrix.multiply(&evaluator, &x))?;
            }
        }
        Ok(())
    }
}
