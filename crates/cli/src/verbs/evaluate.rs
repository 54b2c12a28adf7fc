//! `clathrate add`, `multiply`, `rotate`, `sum`, `polynomial` and `convert`: computations on files of
//! encrypted arrays. Products are rescaled. Inputs that are products not yet rescaled are rescaled first,
//! except for sums and products with integers.

use std::path::Path;

use clathrate_ckks::circuits::polynomial::{Polynomial, PolynomialBasis};
use clathrate_ckks::evaluation::broadcasting::common_shape;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, EvaluationKeys, Evaluator, Level, Padding, Params, Runtime,
};

use super::{describe, document, size, warn_insecure};
use crate::arguments::{Add, Convert, Multiply, Number, On, Operand, PolynomialOf, Rotate, Sum};
use crate::console::Console;
use crate::failure::Failure;
use crate::{files, npy};

/// The inputs of a computation.
struct Loaded {
    params: Params,
    evaluator: Evaluator,
    input: Ciphertext,
}

/// The other operand.
enum Other {
    Encrypted(Box<Ciphertext>),
    Plain { values: Values, shape: Vec<usize> },
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
        Ok(Self { params, evaluator, input })
    }

    fn other(&self, operand: &Operand) -> Result<Other, Failure> {
        if let Some(path) = &operand.with {
            return Ok(Other::Encrypted(Box::new(files::load(path, |reader| {
                Ciphertext::from_reader(reader, &self.params)
            })?)));
        }
        if let Some(path) = &operand.plain {
            let array = npy::read(path).map_err(|error| Failure::array(path, error))?;
            return Ok(Other::Plain { values: array.values, shape: array.shape });
        }
        // The parser ensures that one of the three options is given.
        Ok(Other::Number(operand.number.unwrap_or(Number::Whole(0))))
    }

    /// The input and the plain numbers, both repeated to their common shape.
    fn with_values(
        &self,
        (values, shape): (&Values, &[usize]),
        operation: &'static str,
    ) -> Result<(Ciphertext, Values), CkksError> {
        let common = common_shape(self.input.shape(), shape, operation)?;
        Ok((self.evaluator.broadcast_to(&self.input, &common)?, spread(values, shape, &common)))
    }
}

/// Numbers of shape `own`, repeated to `shape`, to which it broadcasts.
fn spread(values: &Values, own: &[usize], shape: &[usize]) -> Values {
    let axis = |of: &[usize], back: usize| of.len().checked_sub(back).map_or(1, |index| of[index]);
    let columns = axis(shape, 1);
    let (row_step, column_step) =
        (if axis(own, 2) == 1 { 0 } else { axis(own, 1) }, usize::from(axis(own, 1) != 1));
    let index = (0..axis(shape, 2))
        .flat_map(|row| (0..columns).map(move |column| row * row_step + column * column_step));
    match values {
        Values::Real(values) => Values::Real(index.map(|index| values[index]).collect()),
        Values::Complex(values) => Values::Complex(index.map(|index| values[index]).collect()),
    }
}

fn negated(values: Values) -> Values {
    match values {
        Values::Real(values) => Values::Real(values.into_iter().map(|value| -value).collect()),
        Values::Complex(values) => Values::Complex(values.into_iter().map(|value| -value).collect()),
    }
}

fn finish(console: &Console, output: &Path, result: &Ciphertext, before: &str) -> Result<(), Failure> {
    let bytes = files::save(output, result)?;
    let text = format!("{before}wrote {} ({}): {}", output.display(), size(bytes), describe(result));
    console.result(text, &document(result, output, bytes))
}

/// `clathrate add`.
pub fn add(arguments: &Add, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    const ADDITION: &str = "addition";
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let evaluator = &loaded.evaluator;
    let sum = match loaded.other(&arguments.operand)? {
        Other::Encrypted(other) => {
            let (x, y) = evaluator.broadcast_pair(&loaded.input, &other, ADDITION)?;
            if arguments.subtract { evaluator.sub(&x, &y)? } else { evaluator.add(&x, &y)? }
        }
        Other::Plain { values, shape } => {
            let (x, values) = loaded.with_values((&values, &shape), ADDITION)?;
            evaluator.add_plain(&x, &if arguments.subtract { negated(values) } else { values })?
        }
        Other::Number(number) => {
            let value = if arguments.subtract { -number.value() } else { number.value() };
            let (x, values) = loaded.with_values((&Values::Real(vec![value]), &[]), ADDITION)?;
            evaluator.add_plain(&x, &values)?
        }
    };
    finish(console, &arguments.on.output, &sum, "")
}

/// `clathrate multiply`.
pub fn multiply(arguments: &Multiply, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    const PRODUCT: &str = "an element-wise product";
    let mut loaded = Loaded::new(&arguments.on, console, runtime)?;
    let other = loaded.other(&arguments.operand)?;
    if !matches!(other, Other::Number(Number::Whole(_))) {
        loaded.input = loaded.evaluator.settled(&loaded.input)?.into_owned();
    }
    let evaluator = &loaded.evaluator;
    let rescaled =
        |product: Ciphertext| if arguments.no_rescale { Ok(product) } else { evaluator.rescale(&product) };
    let product = match other {
        Other::Encrypted(other) => {
            let other = evaluator.settled(&other)?;
            let (x, y) = evaluator.broadcast_pair(&loaded.input, &other, PRODUCT)?;
            if arguments.no_rescale {
                evaluator.multiply(&x, &y)?
            } else {
                evaluator.multiply_rescale(&x, &y)?
            }
        }
        Other::Plain { values, shape } => {
            let (x, values) = loaded.with_values((&values, &shape), PRODUCT)?;
            rescaled(evaluator.multiply_plain(&x, &values)?)?
        }
        Other::Number(Number::Whole(factor)) => evaluator.multiply_integer(&loaded.input, factor.into())?,
        Other::Number(Number::Real(factor)) => rescaled(evaluator.multiply_scalar(&loaded.input, factor)?)?,
    };
    finish(console, &arguments.on.output, &product, "")
}

/// `clathrate rotate`.
pub fn rotate(arguments: &Rotate, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let rotated = loaded.evaluator.rotate(&*loaded.evaluator.settled(&loaded.input)?, arguments.steps)?;
    finish(console, &arguments.on.output, &rotated, "")
}

/// `clathrate sum`.
pub fn sum(arguments: &Sum, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let (evaluator, x) = (&loaded.evaluator, loaded.evaluator.settled(&loaded.input)?);
    let sums = match (arguments.axis, x.padding()) {
        (0, _) => evaluator.sum_of_rows(&x)?,
        (_, Padding::Dirty) if x.encoding() == Encoding::Slots => {
            evaluator.total(&evaluator.rescale(&evaluator.clear_padding(&x)?)?)?
        }
        _ => evaluator.total(&x)?,
    };
    finish(console, &arguments.on.output, &sums, "")
}

/// `clathrate polynomial`.
pub fn polynomial(arguments: &PolynomialOf, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let &[low, high] = &arguments.domain[..] else {
        return Err(Failure::Usage(format!(
            "--domain takes two numbers, such as -1,1; got {}",
            arguments.domain.len()
        )));
    };
    let basis = PolynomialBasis::named(&arguments.basis)?;
    let polynomial = Polynomial::new(&arguments.coefficients, basis, (low, high))?;
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let settled = loaded.evaluator.settled(&loaded.input)?;
    let x = loaded.evaluator.with_levels(&settled, 1)?;
    let plan = polynomial.plan_at(x.params(), x.level(), x.scale())?;
    let result = loaded.evaluator.run_polynomial(&x, &plan)?;
    let text = if arguments.explain { format!("{}\n", plan.explain()) } else { String::new() };
    finish(console, &arguments.on.output, &result, &text)
}

/// `clathrate convert`.
pub fn convert(arguments: &Convert, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let loaded = Loaded::new(&arguments.on, console, runtime)?;
    let (evaluator, x) = (&loaded.evaluator, loaded.evaluator.settled(&loaded.input)?);
    let converted = match (arguments.to_level, arguments.to_rank) {
        (Some(level), _) => evaluator.drop_to_level(&x, Level(level))?,
        (None, Some(rank)) => evaluator.to_rank(&x, rank)?,
        (None, None) => evaluator.to_rlwe(&x)?,
    };
    finish(console, &arguments.on.output, &converted, "")
}
