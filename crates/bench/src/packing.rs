//! Packing of LWE samples into one ciphertext: row method, column method, midpoints.

use std::time::Duration;

use clathrate_arith::sequence::numbers;
use clathrate_ckks::circuits::packing_plan::{PackingMethod, PackingOptions, PackingPlan};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::lattice::packing::Packing;
use clathrate_ckks::lattice::shape::{Bodies, Degree, Rank};
use clathrate_ckks::lattice::{Bundle, Coeff, Poly, SampleBatch, SecretKey as LatticeSecret};
use clathrate_ckks::{CkksError, Encoding, Evaluator, Level, Params, Runtime, SecretKey, SecretRng};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::timing::{Extra, Limits, Timer};

/// The operation's name.
pub const WORK: &str = "pack";

/// The parameter sets.
pub const PRESETS: [&str; 2] = ["pack_n12", "paper_hermes_n12"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_small"];

/// Largest error of a number with which a row is printed.
const TOLERANCE: f64 = 1e-3;

/// Seed of the secrets and samples.
const SEED: [u8; 32] = [11; 32];

/// Times every set.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let timer = timer.with_limits(Limits {
        budget: Duration::from_millis(if timer.is_quick() { 100 } else { 3000 }),
        least: 3,
        most: 40,
    });
    let all: &[&str] = if timer.is_quick() { &QUICK } else { &PRESETS };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        let params = Params::preset(preset, runtime)?;
        let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed(SEED))?;
        let degree = params.degree();
        rows(&timer, &params, &owner)?;
        for dimension in [degree / 2, degree] {
            let middle = 1usize << (degree.ilog2() / 2);
            for midpoints in [&[][..], &[middle], &[middle * 4, middle / 4]] {
                one(&timer, &params, &owner, (dimension, midpoints))?;
            }
        }
    }
    Ok(())
}

/// The fields of a row; `errors` are those of the numbers.
fn fields(
    params: &Params,
    (method, dimension): (&PackingMethod, usize),
    errors: &[f64],
    own: &Value,
) -> Result<Extra, Failure> {
    let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().fold(0.0f64, |worst, error| worst.max(error.abs()));
    if worst.is_nan() || worst > TOLERANCE {
        return Err(Failure::slot_error(worst, TOLERANCE));
    }
    let fields = json!({
        "preset": params.spec().name,
        "degree": params.degree(),
        "dimension": dimension,
        "count": errors.len(),
        "method": method.to_string(),
        "log_q": params.log2_q(params.max_level()),
        "log_qp": params.log2_qp(),
        "log2_scale": params.scale(params.max_level()).log2(),
        "security_bits": params.security_bits(),
        "mean_bits": -mean.log2(),
        "worst_bits": -worst.log2(),
        "max_error": worst,
    });
    let mut fields: Extra = fields.as_object().cloned().unwrap_or_default();
    fields.extend(own.as_object().cloned().unwrap_or_default());
    Ok(fields)
}

/// The row method, for samples whose dimension is the degree.
fn rows(timer: &Timer<'_>, params: &Params, owner: &SecretKey) -> Result<(), Failure> {
    let method = PackingMethod::Rows;
    let plan = PackingPlan::new(
        params,
        &PackingOptions { method: Some(method.clone()), ..PackingOptions::default() },
    )?;
    let keys = owner.evaluation_keys(plan.needs())?;
    let inputs = keys.iter().map(|(_, held)| held.key().inputs()).sum();
    let evaluator = Evaluator::with_keys(keys);
    let x: Vec<f64> = numbers(50).take(params.degree()).collect();
    let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let samples = evaluator.to_lwe(&owner.encrypt_array(&x, &[x.len()], options)?)?;
    let packed = plan.run(&evaluator, &samples)?;
    let errors: Vec<f64> = owner.decrypt(&packed)?.into_real()?.iter().zip(&x).map(|(a, b)| a - b).collect();
    let own = json!({
        "predicted_ms": plan.chosen().nanoseconds / 1e6,
        "key_bytes": plan.chosen().key_bytes,
        "stored_key_bytes": stored(params, inputs),
    });
    let extra = fields(params, (&method, params.degree()), &errors, &own)?;
    let times = timer.measure(|| Ok(plan.run(&evaluator, &samples)?))?;
    timer.print((WORK, &params.spec().name), &times, &extra)
}

/// Bytes in a file of keys with `inputs` inputs in total: a word for each residue of the bodies, seeds for
/// the masks.
fn stored(params: &Params, inputs: usize) -> usize {
    let (chain, top) = (params.chain(), params.max_level());
    let digits = params.switcher().map_or(1, |switcher| switcher.gadget().digit_count(chain, top));
    inputs * digits * chain.key_basis(top).len() * params.degree() * size_of::<u64>()
}

/// A method with midpoints, for samples under a separate secret.
fn one(
    timer: &Timer<'_>,
    params: &Params,
    owner: &SecretKey,
    (dimension, midpoints): (usize, &[usize]),
) -> Result<(), Failure> {
    let (chain, switcher, top) = (params.chain(), params.switcher()?, params.max_level());
    let rng = &mut SecretRng::from_seed(SEED);
    let failed = |error| Failure::from(CkksError::from(error));
    let distribution = owner.secret().distribution();
    let from =
        LatticeSecret::generate(Degree(1), Rank(dimension), Bodies(1), distribution, rng).map_err(failed)?;
    let packing = Packing::generate(chain, switcher.gadget(), top, &from, midpoints, owner.secret(), rng)
        .map_err(failed)?;
    let x: Vec<f64> = numbers(51).take(packing.count()).collect();
    let (batch, scaled) = samples(params, &from, &x, top, rng).map_err(failed)?;
    let views =
        (0..batch.len()).map(|index| batch.sample(index)).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let packed = packing.pack(&views, switcher).map_err(failed)?;
    let errors = coefficient_errors(params, &packed, owner, &scaled).map_err(failed)?;
    let own = json!({
        "key_bytes": packing.steps().iter().map(|(_, key)| key.bytes()).sum::<usize>(),
        "stored_key_bytes": stored(params, packing.steps().iter().map(|(_, key)| key.inputs()).sum()),
    });
    let method = PackingMethod::Midpoints(midpoints.to_vec());
    let extra = fields(params, (&method, dimension), &errors, &own)?;
    let times = timer.measure(|| packing.pack(&views, switcher).map_err(failed))?;
    timer.print((WORK, &params.spec().name), &times, &extra)
}

/// Encrypts each number as a sample; also returns the scaled numbers.
fn samples(
    params: &Params,
    secret: &LatticeSecret,
    x: &[f64],
    level: Level,
    rng: &mut SecretRng,
) -> Result<(SampleBatch, Vec<i64>), clathrate_ckks::lattice::LatticeError> {
    let (ring, basis) = (params.chain().ring().subring(1)?, params.chain().basis(level));
    let scale = params.scale(level);
    let scaled: Vec<i64> = x.iter().map(|x| (x * scale).round() as i64).collect();
    let mut batch = SampleBatch::zero(&ring, &basis, x.len(), Rank(secret.rank()))?;
    for (index, &value) in scaled.iter().enumerate() {
        let mut sample = Bundle::encrypt_zero(secret, &ring, &basis, rng)?;
        sample.add_message(0, &Poly::from_signed(&ring, &basis, &[value]).into_eval())?;
        batch.set(index, &sample.into_coeff())?;
    }
    Ok((batch, scaled))
}

/// The errors of the coefficients, in units of the numbers, assuming that they are small.
fn coefficient_errors(
    params: &Params,
    packed: &Bundle<Coeff>,
    owner: &SecretKey,
    scaled: &[i64],
) -> Result<Vec<f64>, clathrate_ckks::lattice::LatticeError> {
    let (ring, basis) = (packed.ring(), packed.basis());
    let mut phase = packed.clone().into_eval().phase(owner.secret())?.remove(0);
    phase.sub_assign(&Poly::from_signed(ring, basis, scaled).into_eval())?;
    let (words, q) = (phase.into_coeff().download().to_vec(), ring.moduli()[basis.indices()[0]].value());
    let centred = |word: &u64| if *word > q / 2 { -((q - word) as f64) } else { *word as f64 };
    Ok(words[..ring.degree()].iter().map(|word| centred(word) / params.scale(params.max_level())).collect())
}
