//! Quick self-tests: compare every kernel with the transform's definition and the scalar kernel, and each
//! operation of a small encrypted computation with the plain computation.

use std::sync::Arc;

use clathrate_arith::ntt::reference_forward;
use clathrate_arith::primes::largest_primes;
use clathrate_arith::sequence::{numbers, words};
use clathrate_arith::{Isa, Modulus, NttTable};
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Params, Runtime, SecretKey, Weights,
};

/// One test's outcome.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The test.
    pub name: String,
    /// Why it failed, if it did.
    pub problem: Option<String>,
}

/// Degree of the comparison of kernels: several passes of every kernel's blocks.
const DEGREE: usize = 1 << 12;

/// Degree of the comparison with the definition, which takes degree^2 multiplications.
const SMALL_DEGREE: usize = 1 << 8;

/// Bits of primes near the bounds of the kernels' ranges.
const PRIME_BITS: [u32; 7] = [30, 36, 40, 45, 46, 49, 60];

/// Largest error of a slot of the small computation: 2^-20 at a scale of 2^40.
const TOLERANCE: f64 = 1.0 / 1_048_576.0;

/// Runs all tests.
pub(crate) fn run(kernels: &[Isa], runtime: &Runtime) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = kernels.iter().map(|&isa| kernel(isa)).collect();
    let outcome = |name: &str, result: Result<Option<String>, CkksError>| Outcome {
        name: name.to_owned(),
        problem: result.unwrap_or_else(|error| Some(error.to_string())),
    };
    outcomes.push(outcome("encrypt, multiply, rotate, decrypt", arithmetic("insecure_tiny", runtime)));
    outcomes.push(outcome("the same at rank 2", arithmetic("insecure_rank2", runtime)));
    outcomes.push(outcome("matrix product, through files", matrix(runtime)));
    outcomes
}

/// Compares one kernel's transforms with their definition, and its transforms, products and sums bit for bit
/// with the scalar kernel's.
fn kernel(isa: Isa) -> Outcome {
    let mut problem = None;
    for bits in PRIME_BITS {
        match compare(isa, bits) {
            Ok(None) => {}
            Ok(Some(what)) => problem = Some(format!("{what} for a prime of {bits} bits")),
            Err(error) => problem = Some(error.to_string()),
        }
    }
    Outcome { name: format!("kernel {}", isa.name()), problem }
}

fn compare(isa: Isa, bits: u32) -> Result<Option<&'static str>, clathrate_arith::ArithError> {
    let modulus = Modulus::new(largest_primes(bits, 2 * DEGREE as u64, 1, &[])?[0])?;
    let small: Vec<u64> = words(bits.into()).map(|word| word % modulus.value()).take(SMALL_DEGREE).collect();
    let mut transformed = small.clone();
    NttTable::new(modulus, SMALL_DEGREE, isa)?.forward(&mut transformed);
    if transformed != reference_forward(&modulus, &small)? {
        return Ok(Some("the forward transform is not what its definition says"));
    }
    let (tested, scalar) =
        (NttTable::new(modulus, DEGREE, isa)?, NttTable::new(modulus, DEGREE, Isa::Scalar)?);
    let original: Vec<u64> = words(bits.into()).map(|word| word % modulus.value()).take(DEGREE).collect();
    let (mut x, mut y) = (original.clone(), original.clone());
    tested.forward(&mut x);
    scalar.forward(&mut y);
    if x != y {
        return Ok(Some("the forward transform differs from the scalar kernel's"));
    }
    tested.kernel().mul_assign(&mut x, &original);
    scalar.kernel().mul_assign(&mut y, &original);
    if x != y {
        return Ok(Some("the product differs from the scalar kernel's"));
    }
    tested.kernel().add_assign(&mut x, &original);
    scalar.kernel().add_assign(&mut y, &original);
    if x != y {
        return Ok(Some("the sum differs from the scalar kernel's"));
    }
    tested.inverse(&mut x);
    scalar.inverse(&mut y);
    if x != y {
        return Ok(Some("the inverse transform differs from the scalar kernel's"));
    }
    let mut back = original.clone();
    tested.forward(&mut back);
    tested.inverse(&mut back);
    Ok((back != original).then_some("the inverse transform does not undo the forward one"))
}

fn compare_values(values: &[f64], expected: impl Fn(usize) -> f64) -> Option<String> {
    let error = values.iter().enumerate().map(|(i, value)| (value - expected(i)).abs()).fold(0.0, f64::max);
    // With this order of the comparison, NaN is a failure.
    if error <= TOLERANCE && !values.is_empty() {
        None
    } else {
        Some(format!("the largest error is {error:.1e}, above {TOLERANCE:.1e}"))
    }
}

fn arithmetic(preset: &str, runtime: &Runtime) -> Result<Option<String>, CkksError> {
    let params = Params::preset(preset, runtime)?;
    let secret = SecretKey::generate(&params)?;
    let keys =
        secret.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top))?;
    let evaluator = Evaluator::with_keys(Arc::new(keys));
    let count = params.slot_count();
    let (x, y): (Vec<f64>, Vec<f64>) = (numbers(1).take(count).collect(), numbers(2).take(count).collect());
    let product = evaluator.multiply_rescale(&secret.encrypt(&x)?, &secret.encrypt(&y)?)?;
    let rotated = evaluator.rotate(&product, 1)?;
    Ok(compare_values(&secret.decrypt(&rotated)?.into_real()?, |i| x[(i + 1) % count] * y[(i + 1) % count]))
}

fn matrix(runtime: &Runtime) -> Result<Option<String>, CkksError> {
    const ROWS: usize = 3;
    const INNER: usize = 5;
    const COLUMNS: usize = 4;
    let params = Params::preset("insecure_matmul", runtime)?;
    let secret = SecretKey::generate(&params)?;
    let (w, x): (Vec<f64>, Vec<f64>) =
        (numbers(3).take(ROWS * INNER).collect(), numbers(4).take(INNER * COLUMNS).collect());
    let options = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    let written = secret.encrypt_array(&x, &[INNER, COLUMNS], options)?.to_file_bytes()?;
    let encrypted = Ciphertext::from_reader(&FileReader::from_bytes(&written)?, &params)?;
    let evaluator = Evaluator::new(&params);
    let product =
        Weights::encode(&evaluator, ROWS, INNER, &w, &encrypted)?.multiply(&evaluator, &encrypted)?;
    let values = secret.decrypt(&evaluator.rescale(&product)?)?.into_real()?;
    let expected =
        |i: usize| (0..INNER).map(|j| w[i / COLUMNS * INNER + j] * x[j * COLUMNS + i % COLUMNS]).sum();
    Ok(compare_values(&values, expected))
}
