//! Products of two encrypted matrices by products of residue matrices and transpositions, and slot by slot
//! (JKLS18), compared with the plain product.

use std::time::Duration;

use clathrate_arith::product::multiply_f64;
use clathrate_arith::sequence::numbers;
use clathrate_ckks::circuits::encrypted_matrix::multiply_transposed;
use clathrate_ckks::keys::{EncryptOptions, Lanes};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, Params, Runtime, SecretKey, SecretRng};
use serde_json::json;

use crate::failure::Failure;
use crate::matrix::fields;
use crate::slot_matrix::SlotProduct;
use crate::timing::{Limits, Timer};

/// The operations' names: the plain product, the product by residue matrices, the product slot by slot.
pub const WORKS: [&str; 3] = ["pair_plain", "pair_residues", "pair_slots"];

/// The parameter sets of products of residue matrices, and of those slot by slot.
pub const PRESETS: [&str; 2] = ["ccmm_n12", "n14"];

/// The sets of a quick run.
const QUICK: [&str; 2] = ["insecure_small", "insecure_deep"];

/// The largest matrices that are multiplied slot by slot, in normal and in long runs. The time grows with the
/// third power; the largest product takes a quarter of an hour.
const LARGEST_IN_SLOTS: [usize; 2] = [1 << 9, 1 << 11];

/// Binary logarithms of the sizes of square matrices.
const SIZES: std::ops::RangeInclusive<u32> = 8..=12;

/// The sizes of a quick run.
const QUICK_SIZES: std::ops::RangeInclusive<u32> = 4..=5;

/// Seed of the secrets, keys and encryptions.
const SEED: [u8; 32] = [12; 32];

/// Times every size; with `long` also those whose products take minutes.
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
        budget: Duration::from_millis(if timer.is_quick() { 50 } else { 8000 }),
        least: 1,
        most: 9,
    });
    let sizes = if timer.is_quick() { QUICK_SIZES } else { SIZES };
    let sets = if timer.is_quick() { QUICK } else { PRESETS };
    for (index, preset) in sets.into_iter().enumerate() {
        // The sets of a quick run are not those that can be named.
        if !timer.is_quick() && !presets.is_empty() && !presets.contains(&preset) {
            continue;
        }
        let params = Params::preset(preset, runtime)?;
        let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed(SEED))?;
        for size in sizes.clone().map(|log| 1 << log) {
            if index == 0 {
                residues(&timer, &params, &owner, size)?;
            } else if size <= LARGEST_IN_SLOTS[usize::from(long)] {
                slots(&timer, &params, &owner, size)?;
            }
        }
    }
    Ok(())
}

/// The factors of a product of this size, and the product.
fn matrices(size: usize) -> Result<[Vec<f64>; 3], Failure> {
    let (left, right): (Vec<f64>, Vec<f64>) =
        (numbers(60).take(size * size).collect(), numbers(61).take(size * size).collect());
    let product = multiply_f64(size, size, size, &left, &right).map_err(CkksError::from)?;
    Ok([left, right, product])
}

/// The owner's key, which draws the same in every run.
fn seeded(owner: &SecretKey) -> SecretKey {
    owner.clone().with_rng(SecretRng::from_seed(SEED))
}

/// The product of square matrices of one size slot by slot, in blocks that fill the slots.
fn slots(timer: &Timer<'_>, params: &Params, owner: &SecretKey, size: usize) -> Result<(), Failure> {
    let product = SlotProduct::new(params)?;
    if !timer.wants(WORKS[2]) || size < product.side * product.together {
        return Ok(());
    }
    let [left, right, exact] = matrices(size)?;
    let owner = &seeded(owner);
    let (x, y) = (product.encrypt(owner, &left, size, false)?, product.encrypt(owner, &right, size, true)?);
    let recorder = Evaluator::recording(params);
    let symbol = |z: &Ciphertext| {
        Ciphertext::symbol_with(params, z.shape(), *z.layout(), z.secret(), z.level(), z.scale())
    };
    // One block needs the same keys as all blocks.
    let one = |z: &Ciphertext| Ok::<_, CkksError>(vec![vec![recorder.take_symbol(symbol(z)?, None)?]]);
    product.multiply(&recorder, &one(&x[0][0])?, &one(&y[0][0])?)?;
    let keys = seeded(owner).evaluation_keys(&recorder.needs())?;
    let key_bytes = keys.bytes();
    let evaluator = Evaluator::with_keys(keys);
    let own = json!({ "key_bytes": key_bytes, "side": product.side });
    let (extra, times) = timer.measure_checked(
        || Ok(product.multiply(&evaluator, &x, &y)?),
        |blocks| fields(params, size, &product.decrypt(owner, &blocks, size)?, &exact, &own),
    )?;
    timer.print((WORKS[2], &format!("{}, {size}", params.spec().name)), &times, &extra)
}

/// `X^T Y` of square matrices of one size.
fn residues(timer: &Timer<'_>, params: &Params, owner: &SecretKey, size: usize) -> Result<(), Failure> {
    let [left, y, exact] = matrices(size)?;
    let x: Vec<f64> = (0..size * size).map(|index| left[index % size * size + index / size]).collect();
    let plain =
        || multiply_f64(size, size, size, &left, &y).map_err(|error| Failure::from(CkksError::from(error)));
    let label = format!("{}, {size}", params.spec().name);
    if timer.wants(WORKS[0]) {
        let nothing = json!({ "worst_bits": null, "mean_bits": null });
        timer.print(
            (WORKS[0], &label),
            &timer.measure(plain)?,
            &fields(params, size, &exact, &exact, &nothing)?,
        )?;
    }
    if timer.wants(WORKS[1]) {
        let lanes = (size < params.degree()).then_some(Lanes::Most);
        let options =
            EncryptOptions { encoding: Some(Encoding::Coefficients), lanes, ..EncryptOptions::default() };
        let owner = &seeded(owner);
        let x = owner.encrypt_array(&x, &[size, size], options)?;
        let y = owner.encrypt_array(&y, &[size, size], options)?;
        let recorder = Evaluator::recording(params);
        let symbol = |z: &Ciphertext| {
            let symbol =
                Ciphertext::symbol_with(params, z.shape(), *z.layout(), z.secret(), z.level(), z.scale())?;
            recorder.take_symbol(symbol, Some(1.0))
        };
        let planned = recorder.rescale(&multiply_transposed(&recorder, &symbol(&x)?, &symbol(&y)?)?)?;
        let cost = recorder.recorded().cost();
        let keys = seeded(owner).evaluation_keys(&recorder.needs())?;
        let key_bytes = keys.bytes();
        let evaluator = Evaluator::with_keys(keys);
        let own = json!({
            "rank": params.degree() / planned.params().degree() * params.rank(),
            "key_bytes": key_bytes,
            "predicted_ms": cost.nanoseconds / 1e6,
        });
        let (extra, times) = timer.measure_checked(
            || Ok(evaluator.rescale(&multiply_transposed(&evaluator, &x, &y)?)?),
            |product| fields(params, size, &owner.decrypt(&product)?.into_real()?, &exact, &own),
        )?;
        timer.print((WORKS[1], &label), &times, &extra)?;
    }
    Ok(())
}
