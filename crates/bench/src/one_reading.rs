//! The time saved by reading a switching key once for several ciphertexts: inner products with the key,
//! ciphertext by ciphertext or prime by prime.
//!
//! Ciphertext by ciphertext, all rows of the key are read from memory for each ciphertext. Prime by prime,
//! the key's rows modulo one prime are used for all ciphertexts before those of the next prime are read. Both
//! orders compute the same products.

use std::time::Duration;

use clathrate_ckks::circuits::bootstrap::{APPLICATION, REDUCTION};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::{Encoding, Evaluator, KeyLevel, KeyNeeds, Params, Runtime, SecretKey};
use clathrate_lattice::{Basis, Eval, Level, Poly, PolyRef};
use serde_json::json;

use crate::failure::Failure;
use crate::timing::{Extra, Limits, Timer};

/// The operation's name.
pub const WORK: &str = "one_reading";

/// Ciphertexts that share a reading.
const CIPHERTEXTS: usize = 8;

/// Times the inner products of the modular reduction's relinearisations at `preset`, with one thread and with
/// `threads`.
pub fn run(timer: &Timer<'_>, preset: &str, threads: usize, runtime: &Runtime) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let params = Params::preset(preset, runtime)?;
    let highest = |name: &str| {
        params.segments().iter().find(|segment| segment.name == name).map(|segment| Level(segment.highest()))
    };
    let level = highest(REDUCTION).or(highest(APPLICATION)).unwrap_or(params.max_level());
    let owner = SecretKey::generate(&params)?;
    let evaluator =
        Evaluator::with_keys(owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Level(level.0)))?);
    let options =
        EncryptOptions { level: Some(level), encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let x = owner.encrypt_array(&vec![0.5; params.slot_count()], &[params.slot_count()], options)?;
    let (chain, digits) = (params.chain(), params.gadget()?.digit_count(params.chain(), level));
    // Digits and keys look uniform, like masks; each has the primes of a key.
    let basis = chain.basis(level);
    let primes = chain.key_basis(level).len();
    let kept: Vec<usize> = (0..primes).map(|prime| basis.indices()[prime % basis.len()]).collect();
    let row = |prime: usize| Ok(x.bundles()[0].mask().at(0).restrict(&Basis::new([prime]))?);
    let rows = |count: usize| -> Result<Vec<Vec<Poly<Eval>>>, Failure> {
        kept.iter().map(|&prime| (0..count).map(|_| row(prime)).collect()).collect()
    };
    let inputs = (0..CIPHERTEXTS).map(|_| rows(digits)).collect::<Result<Vec<_>, Failure>>()?;
    let key = rows(2 * digits)?;
    let product = |input: &[Vec<Poly<Eval>>], prime: usize| -> Result<(), Failure> {
        let left: Vec<PolyRef<'_, Eval>> = input[prime].iter().map(PolyRef::from).collect();
        for column in key[prime].chunks_exact(digits) {
            let right: Vec<PolyRef<'_, Eval>> = column.iter().map(PolyRef::from).collect();
            std::hint::black_box(Poly::inner_product(&left, &right)?);
        }
        Ok(())
    };
    let work = |inputs: &[Vec<Vec<Poly<Eval>>>], together: bool| -> Result<(), Failure> {
        if together {
            (0..primes).try_for_each(|prime| inputs.iter().try_for_each(|input| product(input, prime)))
        } else {
            inputs.iter().try_for_each(|input| (0..primes).try_for_each(|prime| product(input, prime)))
        }
    };
    // Each thread takes a part of the ciphertexts, in either order.
    let on = |threads: usize, together: bool| -> Result<(), Failure> {
        if threads == 1 {
            return work(&inputs, together);
        }
        std::thread::scope(|scope| {
            let parts: Vec<_> = inputs
                .chunks(CIPHERTEXTS.div_ceil(threads))
                .map(|part| scope.spawn(move || work(part, together)))
                .collect();
            parts
                .into_iter()
                .try_for_each(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    };
    let timer = timer.with_limits(Limits { budget: Duration::from_secs(2), least: 5, most: 50 });
    let switch = timer.measure(|| Ok(evaluator.multiply(&x, &x)?))?;
    for threads in [1, threads].into_iter().take(if threads > 1 { 2 } else { 1 }) {
        let (apart, together) = timer.measure_both(|| on(threads, false), || on(threads, true))?;
        let fields = json!({
            "preset": preset,
            "degree": params.degree(),
            "threads": threads,
            "level": level.0,
            "digits": digits,
            "primes": primes,
            "ciphertexts": CIPHERTEXTS,
            "key_bytes": 2 * digits * primes * params.degree() * size_of::<u64>(),
            "rows": CIPHERTEXTS * 2 * digits * primes,
            "together_ms": together.median(),
            "product_ms": switch.median(),
            "quick": timer.is_quick(),
        });
        let extra: Extra = fields.as_object().cloned().unwrap_or_default();
        let name = format!(
            "{preset}, {CIPHERTEXTS} ciphertexts{}",
            if threads > 1 { format!(", {threads} threads") } else { String::new() }
        );
        timer.print((WORK, &name), &apart, &extra)?;
    }
    Ok(())
}
