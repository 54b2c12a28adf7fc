//! A graph computed: each node is the method of its operation, on symbols or on data.

use std::sync::Arc;

use super::Choices;
use crate::arrays::count_of;
use crate::circuits::automatic::AutomaticPlans;
use crate::circuits::linear::Placement;
use crate::circuits::polynomial::Polynomial;
use crate::encoding::values::Values;
use crate::encrypted_array::{
    ArrayGraph, ArrayOperation, EncryptedArray, GraphNode, GraphOperand, Operand, PlacesId, PlainArray,
    StoredPlacement,
};
use crate::error::CkksError;
use crate::functions::SmoothFunction;

/// The operation's name in errors.
const NODE: &str = "a node of a program";

/// The most numbers of a value: lists of their places take half a gibibyte.
pub(super) const MOST_NUMBERS: usize = 1 << 26;

/// The most polynomials of a value: dry runs know something of each.
const MOST_POLYNOMIALS: usize = 1 << 14;

pub(super) fn malformed(reason: &str) -> CkksError {
    CkksError::Unsuitable { operation: NODE, reason: reason.to_owned() }
}

/// A matrix or a kernel that is given when the program runs, with the least numbers in place of zeros, which
/// are rounded to zeros: its map then takes the keys that the forecast found for one without zeros.
fn without_zeros(matrix: &PlainArray) -> PlainArray {
    let values = match &matrix.values {
        Values::Real(values) => {
            let number = |&value: &f64| if value == 0.0 { f64::MIN_POSITIVE } else { value };
            Values::Real(values.iter().map(number).collect())
        }
        complex @ Values::Complex(_) => complex.clone(),
    };
    PlainArray::new(values, matrix.shape.clone()).of_input(matrix.input)
}

/// What the operation of one node takes.
struct Call<'c> {
    graph: &'c ArrayGraph,
    node: &'c GraphNode,
    /// The encrypted arrays among the operands, each in its place.
    operands: &'c [Option<EncryptedArray>],
    plain: &'c [Arc<PlainArray>],
}

impl<'c> Call<'c> {
    /// Operand `index`, if there is one.
    fn get(&self, index: usize) -> Result<Option<Operand<'c>>, CkksError> {
        let Some(operand) = self.node.operands.get(index) else { return Ok(None) };
        Ok(Some(match *operand {
            GraphOperand::Value(_) => {
                let array = self.operands.get(index).and_then(Option::as_ref);
                Operand::Encrypted(array.ok_or_else(|| malformed("an operand is not computed yet"))?)
            }
            GraphOperand::Number(number) => Operand::Number(number),
            GraphOperand::Integer(number) => Operand::Integer(number),
            other => Operand::Plain(self.plain_numbers(other)?.clone()),
        }))
    }

    /// Plain numbers, of the graph or given.
    fn plain_numbers(&self, operand: GraphOperand) -> Result<&'c PlainArray, CkksError> {
        let found = match operand {
            GraphOperand::Constant(constant) => self.graph.constants.get(constant),
            GraphOperand::Plain(input) => self.plain.get(input),
            _ => return Err(malformed("an operand is no plain array")),
        };
        found.map(Arc::as_ref).ok_or_else(|| malformed("there are no such plain numbers"))
    }

    fn other(&self, index: usize) -> Result<Operand<'c>, CkksError> {
        self.get(index)?.ok_or_else(|| malformed("an operand is missing"))
    }

    fn array(&self, index: usize) -> Result<&'c EncryptedArray, CkksError> {
        match self.get(index)? {
            Some(Operand::Encrypted(array)) => Ok(array),
            _ => Err(malformed("an operand is no encrypted array")),
        }
    }

    fn constant(&self, index: usize) -> Result<&'c PlainArray, CkksError> {
        let operand = self.node.operands.get(index).ok_or_else(|| malformed("an operand is missing"))?;
        self.plain_numbers(*operand)
    }

    fn reals(&self, index: usize) -> Result<&'c [f64], CkksError> {
        match &self.constant(index)?.values {
            Values::Real(values) => Ok(values),
            Values::Complex(_) => Err(malformed("plain numbers are complex")),
        }
    }

    fn list(&self, list: PlacesId) -> Result<&'c [Option<usize>], CkksError> {
        let list = self.graph.places.get(list.0).map(|list| &list[..]);
        list.ok_or_else(|| malformed("there is no such list of places"))
    }

    /// A list whose entries are all places.
    fn whole_list(&self, list: PlacesId) -> Result<Vec<usize>, CkksError> {
        let places = self.list(list)?.iter().copied().collect::<Option<Vec<usize>>>();
        places.ok_or_else(|| malformed("a list of places has gaps"))
    }

    fn arrays(&self) -> Result<Vec<&'c EncryptedArray>, CkksError> {
        (0..self.node.operands.len()).map(|index| self.array(index)).collect()
    }

    /// Refuses another number of operands than the operation takes.
    fn check_operands(&self) -> Result<(), CkksError> {
        use ArrayOperation as Op;
        let expected = match self.node.operation {
            Op::Concatenate | Op::JoinColumns => 1..=usize::MAX,
            Op::ChosenFrom { .. } => 3..=3,
            Op::Add | Op::Sub | Op::SubFrom | Op::Mul | Op::Div | Op::Multiply { .. } | Op::Dot => 2..=2,
            Op::TimesVector | Op::LeftMultiply { .. } | Op::MapRows { .. } => 2..=2,
            Op::Einsum { .. } | Op::Mapped { .. } | Op::Polynomial { .. } => 2..=2,
            Op::Convolved { .. } => 2..=2,
            Op::Maximum { .. } | Op::Minimum { .. } => 2..=2,
            _ => 1..=1,
        };
        if expected.contains(&self.node.operands.len()) {
            Ok(())
        } else {
            Err(malformed("it has another number of operands than its operation"))
        }
    }

    /// Refuses an operation whose result would have more than [`MOST_NUMBERS`] numbers, before it makes lists
    /// of their places: a program from a stranger may state any sizes.
    fn check_size(&self) -> Result<(), CkksError> {
        use ArrayOperation as Op;
        let x = self.array(0)?.data().shape();
        let other = match self.node.operands.get(1) {
            Some(GraphOperand::Value(_)) => self.array(1)?.data().shape().to_vec(),
            Some(own @ (GraphOperand::Constant(_) | GraphOperand::Plain(_))) => {
                self.plain_numbers(*own)?.shape.clone()
            }
            _ => Vec::new(),
        };
        let width = |shape: &[usize]| shape.last().copied().unwrap_or(1).max(1);
        let found = match &self.node.operation {
            Op::RepeatColumn { columns } => count_of(x).saturating_mul(*columns),
            Op::Reshaped { shape } | Op::Gathered { shape, .. } => count_of(shape),
            Op::Mapped { shape, .. } => count_of(shape),
            Op::Einsum { subscripts } => count_of(&subscripts.shape(x, &other)?),
            Op::Convolved { convolution, from, to } => {
                let images = from.as_ref().map_or(x, |from| &from.shape);
                let result = convolution.shape(images, &other)?;
                count_of(images).max(to.as_ref().map_or(0, |to| count_of(&to.shape))).max(count_of(&result))
            }
            Op::PadColumns { before, after } => {
                let row = width(x).saturating_add(*before).saturating_add(*after);
                (count_of(x) / width(x)).saturating_mul(row)
            }
            Op::Concatenate | Op::JoinColumns => self
                .arrays()?
                .iter()
                .fold(0usize, |sum, part| sum.saturating_add(count_of(part.data().shape()))),
            // Broadcasts, and products of matrices: at most each number with each.
            _ if !other.is_empty() => {
                let axes = x.len().max(other.len());
                let at = |shape: &[usize], axis: usize| {
                    (axis + shape.len()).checked_sub(axes).map_or(1, |place| shape[place])
                };
                let broadcast: Vec<usize> = (0..axes).map(|axis| at(x, axis).max(at(&other, axis))).collect();
                count_of(&broadcast)
            }
            _ => count_of(x),
        };
        let slots = self.array(0)?.data().params().slot_count();
        let most = MOST_NUMBERS.min(MOST_POLYNOMIALS.saturating_mul(slots));
        if found <= most {
            return Ok(());
        }
        Err(CkksError::OutOfRange {
            what: "the numbers of a value of a program",
            value: found.to_string(),
            remedy: format!("use at most {most} with {slots} slots: compute parts by programs of their own"),
        })
    }

    fn run(&self) -> Result<EncryptedArray, CkksError> {
        use ArrayOperation as Op;
        self.check_operands()?;
        self.check_size()?;
        let x = self.array(0)?;
        match &self.node.operation {
            Op::Add => x.add(self.other(1)?),
            Op::Sub => x.sub(self.other(1)?),
            Op::SubFrom => x.sub_from(self.other(1)?),
            Op::Negate => x.negate(),
            Op::Mul => x.mul(self.other(1)?),
            Op::Div => x.div(self.other(1)?),
            Op::Power { exponent } => x.power(*exponent),
            Op::Multiply { rescale } => x.multiply(self.array(1)?, *rescale),
            Op::Rescale => x.rescale(),
            Op::Cleared => x.cleared(),
            Op::ClearPadding => x.clear_padding(),
            Op::Conjugate => x.conjugate(),
            Op::RealPart => x.real_part(),
            Op::ImaginaryPart => x.imaginary_part(),
            Op::Rotate { steps } => x.rotate(*steps),
            Op::RepeatColumn { columns } => x.repeat_column(*columns),
            Op::WithBound { bound } => x.with_bound(*bound),
            Op::ChosenFrom { share } => x.chosen_from(self.array(1)?, self.array(2)?, *share),
            Op::Converted { to, levels } => x.converted(*to, *levels),
            Op::InSlots => x.in_slots(),
            Op::Bootstrap => x.bootstrap(None),
            Op::Polynomial { basis, domain } => {
                let coefficients = self.constant(1)?.values.clone().into_complex();
                x.polynomial(&Polynomial::new_complex(coefficients, *basis, *domain)?)
            }
            Op::Sum { axes, keepdims } => x.sum(axes.as_deref(), *keepdims),
            Op::Mean { axes, keepdims } => x.mean(axes.as_deref(), *keepdims),
            Op::Variance { axes, ddof, keepdims } => x.variance(axes.as_deref(), *ddof, *keepdims),
            Op::Product { axes, keepdims } => x.product(axes.as_deref(), *keepdims),
            Op::SumRows => x.sum_rows(),
            Op::Dot => x.dot(self.other(1)?),
            Op::TimesVector => x.times_vector(self.other(1)?),
            Op::LeftMultiply { weight_scale } => {
                let weights = self.constant(1)?;
                if weights.shape.len() != 2 {
                    return Err(malformed("the weights are no matrix"));
                }
                x.left_multiply(weights, *weight_scale)
            }
            Op::MapRows { row_first } => match self.node.operands[1] {
                GraphOperand::Plain(_) => x.map_rows(&without_zeros(self.constant(1)?), *row_first),
                _ => x.map_rows(self.constant(1)?, *row_first),
            },
            Op::Einsum { subscripts } => x.einsum(self.array(1)?, subscripts),
            Op::Transposed => x.transposed(),
            Op::Permuted { axes } => x.permuted(axes),
            Op::Convolved { convolution, from, to } => {
                let placement =
                    |own: &'c Option<StoredPlacement>| -> Result<Option<Placement<'c>>, CkksError> {
                        let Some(own) = own else { return Ok(None) };
                        Ok(Some(Placement { shape: &own.shape, places: self.list(own.places)? }))
                    };
                let placements = [placement(from)?, placement(to)?];
                let given;
                let kernel = match self.node.operands[1] {
                    GraphOperand::Plain(_) => {
                        given = without_zeros(self.constant(1)?);
                        &given
                    }
                    _ => self.constant(1)?,
                };
                match placements {
                    [None, None] => x.convolved(kernel, *convolution),
                    placements => x.convolved_at(kernel, *convolution, placements),
                }
            }
            Op::Mapped { shape, sources } => x.mapped(shape, &self.whole_list(*sources)?, self.reals(1)?),
            Op::Pick { rows, single, columns } => {
                x.pick(rows.as_deref(), *single, columns.map(|(start, end)| start..end))
            }
            Op::PickColumn { rows, single, column } => x.pick_column(rows.as_deref(), *single, *column),
            Op::PickEntry { place } => x.pick_entry(*place),
            Op::PickEntries { places: (start, end) } => x.pick_entries(*start..*end),
            Op::Reshaped { shape } => x.reshaped(shape),
            Op::Gathered { shape, sources } => x.gathered(shape, self.list(*sources)?),
            Op::Concatenate => EncryptedArray::concatenate(&self.arrays()?),
            Op::JoinColumns => EncryptedArray::join_columns(&self.arrays()?),
            Op::PadColumns { before, after } => x.pad_columns(*before, *after),
            Op::Smooth { function, error, domain, unit: None } => {
                x.smooth(SmoothFunction::named(function)?, *error, *domain)
            }
            Op::Smooth { function, error, domain, unit: Some(unit) } => {
                let domain = domain.ok_or_else(|| malformed("a function has a unit and no interval"))?;
                x.smooth_in_units(SmoothFunction::named(function)?, *error, domain, *unit)
            }
            Op::Std { axes, ddof, keepdims, error, domain } => {
                x.std(axes.as_deref(), *ddof, *keepdims, *error, *domain)
            }
            Op::Norm { axes, keepdims, error, domain } => x.norm(axes.as_deref(), *keepdims, *error, *domain),
            Op::Softmax { error, bound } => x.softmax(*error, *bound),
            Op::Sign { margin, error, bound } => x.sign(*margin, *error, *bound),
            Op::Absolute { error, bound } => x.absolute(*error, *bound),
            Op::Relu { error, bound } => x.relu(*error, *bound),
            Op::Maximum { error, bound } => x.maximum(self.other(1)?, *error, *bound),
            Op::Minimum { error, bound } => x.minimum(self.other(1)?, *error, *bound),
        }
    }
}

/// What the nodes of a graph are computed with, beside their operands.
#[derive(Clone, Copy)]
pub(super) struct Replay<'r> {
    pub(super) graph: &'r ArrayGraph,
    /// Which values are gathered and bootstrapped.
    pub(super) choices: &'r Choices,
    pub(super) bootstraps: &'r AutomaticPlans,
    /// The plain inputs.
    pub(super) plain: &'r [Arc<PlainArray>],
}

impl Replay<'_> {
    /// A value as the others take it: gathered and bootstrapped, if it is one of those.
    pub(super) fn finished(&self, value: usize, array: EncryptedArray) -> Result<EncryptedArray, CkksError> {
        let is_one = |list: &[usize]| list.binary_search(&value).is_ok();
        let array = match is_one(&self.choices.gathered) {
            true => {
                let places = (0..count_of(array.data().shape())).map(Some);
                array.gathered(array.data().shape(), &places.collect::<Vec<_>>())?
            }
            false => array,
        };
        if !is_one(&self.choices.bootstrapped) {
            return Ok(array);
        }
        let data = array.settled()?;
        array.beside(self.bootstraps.bootstrapped(&array.evaluator().without_bootstrapping(), &data)?)
    }

    /// The value of node `index`, from the encrypted arrays among its operands, each in its place.
    pub(super) fn value(
        &self,
        index: usize,
        operands: &[Option<EncryptedArray>],
    ) -> Result<EncryptedArray, CkksError> {
        let node = self.graph.nodes.get(index).ok_or_else(|| malformed("there is no such operation"))?;
        let call = Call { graph: self.graph, node, operands, plain: self.plain };
        let holder = call.array(0)?.evaluator().clone();
        let compute = || self.finished(self.graph.inputs + index, call.run()?);
        if node.stage.is_empty() { compute() } else { holder.stage(&node.stage, compute) }
    }
}
