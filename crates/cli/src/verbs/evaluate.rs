//! `clathrate add`, `multiply`, `rotate`, `sum`, `polynomial` and `convert`: computations on files of
//! encrypted arrays. Products are rescaled. Inputs that are products not yet rescaled are rescaled first,
//! except for sums and products with integers.

use std::path::Path;

use clathrate_ckks::circuits::polynomial::{Polynomial, PolynomialBasis};
use clathrate_ckks::encrypted_array::{EncryptedArray, Operand, PlainArray};
use clathrate_ckks::{Ciphertext, EvaluationKeys, Evaluator, Level, Params, Runtime};

use super::{describe, document, size, warn_insecure};
use crate::arguments::{self, Add, Convert, Multiply, Number, On, PolynomialOf, Rotate, Sum};
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, npy};

/// The inputs of a computation.
struct Loaded {
    params: Params,
    input: EncryptedArray,
}

/// The other operand.
enum Other {
    Encrypted(Box<EncryptedArray>),
    Plain(PlainArray),
    Number(Number),
}

impl Loaded {
    fn new(on: &On, console: &Console, runtime: &Runtime) -> Result<Self, Failure> {
        files::check_output(&on.output)?;
        let params = files::params(&on.params.params, on.params.accepted, runtime)?;
        warn_insecure(console, &params);
        let input = files::load(&on.input, |reader| Ciphertext::from_reader(reader, &params))?;
        let evaluator = match &on.evaluation {
            None => Evaluator::new(&params),
            Some(path) => Evaluator::with_keys(files::load(path, |reader| {
                EvaluationKeys::from_reader(reader, &params)
            })?),
        };
        Ok(Self { params, input: EncryptedArray::new(input, &evaluator) })
    }

    fn other(&self, operand: &arguments::Operand) -> Result<Other, Failure> {
        if let Some(path) = &operand.with {
            let other = files::load(path, |reader| Ciphertext::from_reader(reader, &self.params))?;
            return Ok(Other::Encrypted(Box::new(EncryptedArray::new(other, self.input.evaluator()))));
        }
        if let Some(path) = &operand.plain {
            let array = npy::read(path).map_err(|error| Failure::array(path, error))?;
            return Ok(Other::Plain(PlainArray::new(array.values, array.shape)));
        }
        // The parser ensures that one of the three options is given.
        Ok(Other::Number(operand.number.unwrap_or(Number::Whole(0))))
    }
}

impl Other {
    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Encrypted(array) => Operand::Encrypted(array),
            Self::Plain(array) => Operand::Plain(array.clone()),
            Self::Number(number @ Number::Whole(_)) => Operand::Integer(number.value()),
            Self::Number(number @ Number::Real(_)) => Operand::Number(number.value()),
        }
    }
}

fn finish(console: &Console, output: &Path, result: &EncryptedArray, before: &str) -> Result<(), Failure> {
    let result = result.data();
    let bytes = files::save(output, &**result)?;
    let text = format!("{before}wrote {} ({}): {}", output.display(), size(bytes), describe(result));
    console.result(text, &document(result, output, bytes))
}

/// `clathrate add`.
pub(crate) fn add(arguments: &Add, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let other = loaded.other(&arguments.operand)?;
    let (x, operand) = (&loaded.input, other.operand());
    let sum = if arguments.subtract { x.sub(operand)? } else { x.add(operand)? };
    finish(console, &arguments.on.output, &sum, "")
}

/// `clathrate multiply`.
pub(crate) fn multiply(arguments: &Multiply, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let (x, other) = (&loaded.input, loaded.other(&arguments.operand)?);
    let product = match &other {
        // A product that is rescaled at once has less noise.
        Other::Encrypted(other) => x.multiply(other, !arguments.no_rescale)?,
        &Other::Number(Number::Whole(factor)) => {
            x.map(|evaluator, x| evaluator.multiply_integer(x, factor.into()))?
        }
        _ if arguments.no_rescale => x.mul(other.operand())?,
        _ => x.mul(other.operand())?.map(Evaluator::rescale)?,
    };
    finish(console, &arguments.on.output, &product, "")
}

/// `clathrate rotate`.
pub(crate) fn rotate(arguments: &Rotate, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let rotated = loaded.input.map_settled(|evaluator, x| evaluator.rotate(x, arguments.steps))?;
    finish(console, &arguments.on.output, &rotated, "")
}

/// `clathrate sum`.
pub(crate) fn sum(arguments: &Sum, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let sums = match arguments.axis {
        0 => loaded.input.map_settled(Evaluator::sum_of_rows)?,
        _ => loaded.input.sum(Some(&[-1]), true)?,
    };
    finish(console, &arguments.on.output, &sums, "")
}

/// `clathrate polynomial`.
pub(crate) fn polynomial(
    arguments: &PolynomialOf,
    console: &Console,
    runtime: &Runtime,
) -> Result<(), Failure> {
    let &[low, high] = &arguments.domain[..] else {
        return Err(Failure::Usage(format!(
            "--domain takes two numbers, such as -1,1; got {}",
            arguments.domain.len()
        )));
    };
    let basis = PolynomialBasis::named(&arguments.basis)?;
    let polynomial = Polynomial::new(&arguments.coefficients, basis, (low, high))?;
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let x = loaded.input.map_factor(|_, x| Ok(x.clone()))?;
    let plan = polynomial.plan_at(x.data().params(), x.data().level(), x.data().scale())?;
    let result = x.map(|evaluator, x| plan.run(evaluator, x))?;
    let text = if arguments.explain { format!("{}\n", plan.explain()) } else { String::new() };
    finish(console, &arguments.on.output, &result, &text)
}

/// `clathrate convert`.
pub(crate) fn convert(arguments: &Convert, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let converted =
        loaded.input.map_settled(|evaluator, x| match (arguments.to_level, arguments.to_rank) {
            (Some(level), _) => evaluator.drop_to_level(x, Level(level)),
            (None, Some(rank)) => evaluator.to_rank(x, rank),
            (None, None) => evaluator.to_rlwe(x),
        })?;
    finish(console, &arguments.on.output, &converted, "")
}
