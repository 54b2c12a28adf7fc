//! `clathrate matmul`: multiplies a plain matrix by an encrypted matrix, without a key.

use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{Ciphertext, CkksError, Evaluator, Runtime};

use super::{describe, document, size, warn_insecure};
use crate::arguments::Matmul;
use crate::console::Console;
use crate::failure::Failure;
use crate::npy::ArrayError;
use crate::{files, npy};

/// Runs the verb.
pub(crate) fn run(arguments: &Matmul, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let output = &arguments.output;
    files::check_output(output)?;
    let params = files::params(&arguments.params.params, arguments.params.accepted, runtime)?;
    warn_insecure(console, &params);
    let weights = npy::read(&arguments.weights).map_err(|error| Failure::array(&arguments.weights, error))?;
    let Values::Real(values) = &weights.values else {
        return Err(Failure::array(&arguments.weights, ArrayError::ComplexWeights));
    };
    let input = files::load(&arguments.input, |reader| Ciphertext::from_reader(reader, &params))?;
    let &[rows, inner] = &weights.shape[..] else {
        let remedy = "the left operand is a matrix, with two axes".to_owned();
        let (left, right) = (weights.shape.clone(), input.shape().to_vec());
        return Err(Failure::file(
            &arguments.weights,
            CkksError::Shape { operation: "a matrix product", left, right, remedy },
        ));
    };
    let evaluator = Evaluator::new(&params);
    let settled = evaluator.settled(&input)?;
    let input = evaluator.with_levels(&settled, 1)?;
    // Integers need no scale, so the product takes no level.
    let prepared = if weights.whole {
        Weights::new(rows, inner, values, 1.0)
    } else {
        // Errors that do not concern the weights' file come first.
        Weights::scale_for(&evaluator, &input)?;
        Weights::encode(&evaluator, rows, inner, values, &input)
    }
    .map_err(|error| Failure::file(&arguments.weights, error))?;
    let bar = console.progress("multiply");
    let product = prepared.multiply(&evaluator.with_progress(bar.progress()), &input)?;
    drop(bar);
    let product = if arguments.no_rescale || weights.whole {
        product
    } else {
        Evaluator::new(&params).rescale(&product)?
    };
    let bytes = files::save(output, &product)?;
    let text = format!("wrote {} ({}): {}", output.display(), size(bytes), describe(&product));
    console.result(text, &document(&product, output, bytes))
}
