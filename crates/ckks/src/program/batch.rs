//! A function of one item as a function of many: every encrypted array has one more axis, in front.

use std::sync::Arc;

use super::RecordedFunction;
use super::moves::sources_of;
use super::recording::value_shapes;
use crate::encoding::values::Values;
use crate::encrypted_array::{
    ArrayGraph, ArrayOperation as Op, GraphNode, GraphOperand as Of, PlacesId, PlainArray,
};
use crate::error::CkksError;

/// The operation's name in errors.
const BATCH: &str = "a batch of a program";

fn refused(reason: String) -> CkksError {
    CkksError::Unsuitable { operation: BATCH, reason }
}

/// The operation that exchanges the last two of some axes.
fn swapped(axes: usize) -> Op {
    let mut order: Vec<usize> = (0..axes).collect();
    order.swap(axes - 1, axes - 2);
    Op::Permuted { axes: order }
}

/// The graph of a batch in the making.
struct Batch<'f> {
    old: &'f ArrayGraph,
    /// Of the values of the old graph, for one item.
    shapes: Vec<Vec<usize>>,
    count: usize,
    graph: ArrayGraph,
    /// The shape of each new value, the axis of the batch included.
    written: Vec<Vec<usize>>,
    images: Vec<usize>,
    /// That of the old node that is being written.
    origin: Option<usize>,
}

impl Batch<'_> {
    fn push(&mut self, operation: Op, operands: Vec<Of>, shape: Vec<usize>, stage: &str) -> usize {
        let origin = self.origin;
        self.graph.nodes.push(GraphNode { operation, operands, stage: stage.to_owned(), origin });
        self.written.push(shape);
        self.written.len() - 1
    }

    /// The shape of one item with the axis of the batch.
    fn many(&self, shape: &[usize]) -> Vec<usize> {
        std::iter::once(self.count).chain(shape.iter().copied()).collect()
    }

    fn reshaped(&mut self, value: usize, shape: Vec<usize>, stage: &str) -> usize {
        if self.written[value] == shape {
            return value;
        }
        self.push(Op::Reshaped { shape: shape.clone() }, vec![Of::Value(value)], shape, stage)
    }

    /// The new value of an operand, with axes of length 1 behind that of the batch until items have `axes`.
    fn aligned(&mut self, operand: Of, axes: usize, stage: &str) -> Of {
        let Of::Value(old) = operand else { return operand };
        let value = self.images[old];
        let own = &self.shapes[old];
        let mut shape = vec![self.count];
        shape.resize(1 + axes.saturating_sub(own.len()), 1);
        shape.extend(own);
        Of::Value(self.reshaped(value, shape, stage))
    }

    /// A list of places in one item, a number of times one behind the other, for all items.
    fn list(&mut self, list: PlacesId, item: usize, size: usize) -> PlacesId {
        let old = &self.old.places[list.0];
        let of_terms = old.chunks(item.max(1)).flat_map(|term| {
            (0..self.count).flat_map(move |own| term.iter().map(move |place| place.map(|at| own * size + at)))
        });
        self.graph.places.push(Arc::new(of_terms.collect()));
        PlacesId(self.graph.places.len() - 1)
    }

    /// Plain numbers that a list of places goes with, for all items.
    fn factors(&mut self, operand: Of, item: usize) -> Result<Of, CkksError> {
        let Of::Constant(constant) = operand else {
            return Err(refused("the factors of a linear map are given when it runs".to_owned()));
        };
        let array = &self.graph.constants[constant];
        let Values::Real(values) = &array.values else {
            return Err(refused("the factors of a linear map are complex".to_owned()));
        };
        let all: Vec<f64> = values
            .chunks(item.max(1))
            .flat_map(|term| std::iter::repeat_n(term, self.count).flatten().copied())
            .collect();
        let length = all.len();
        self.graph.constants.push(Arc::new(PlainArray::new(Values::Real(all), vec![length])));
        Ok(Of::Constant(self.graph.constants.len() - 1))
    }

    /// Axes of one item in the batch, which has one more in front.
    fn axes(axes: Option<&[i64]>, count: usize) -> Vec<i64> {
        let all = || (1..=count as i64).collect();
        axes.map_or_else(all, |axes| {
            axes.iter().map(|&axis| if axis < 0 { axis } else { axis + 1 }).collect()
        })
    }

    /// Node `index` of the old graph for all items.
    fn node(&mut self, index: usize) -> Result<usize, CkksError> {
        let node = &self.old.nodes[index];
        self.origin = node.origin;
        let (stage, own) = (node.stage.as_str(), self.shapes[self.old.inputs + index].clone());
        let shape = self.many(&own);
        let size = own.iter().product::<usize>();
        let (first, from) = match node.operands.first() {
            Some(&Of::Value(value)) => (self.images[value], self.shapes[value].clone()),
            _ => return Err(refused("an operation has no encrypted operand".to_owned())),
        };
        let from_size = from.iter().product::<usize>();
        let rest = || node.operands[1..].iter().copied();
        let with_rest = |first: usize| std::iter::once(Of::Value(first)).chain(rest()).collect::<Vec<_>>();
        let same = |batch: &mut Self, operation: Op| {
            let operands = node.operands.iter().map(|&own| batch.aligned(own, 0, stage)).collect();
            batch.push(operation, operands, shape.clone(), stage)
        };
        Ok(match &node.operation {
            operation if operation.is_entrywise_of_two() || matches!(operation, Op::ChosenFrom { .. }) => {
                let operands = node.operands.iter().map(|&operand| self.aligned(operand, own.len(), stage));
                let operands = operands.collect();
                self.push(node.operation.clone(), operands, shape, stage)
            }
            Op::Negate
            | Op::Power { .. }
            | Op::Rescale
            | Op::Cleared
            | Op::ClearPadding
            | Op::Conjugate
            | Op::RealPart
            | Op::ImaginaryPart
            | Op::WithBound { .. }
            | Op::Converted { .. }
            | Op::InSlots
            | Op::Bootstrap
            | Op::Polynomial { .. }
            | Op::Smooth { .. }
            | Op::Sign { .. }
            | Op::Absolute { .. }
            | Op::Relu { .. }
            | Op::MapRows { .. } => same(self, node.operation.clone()),
            Op::Rotate { .. } | Op::PadColumns { .. } | Op::RepeatColumn { .. } | Op::Softmax { .. }
                if !from.is_empty() =>
            {
                same(self, node.operation.clone())
            }
            // One number is its own sum.
            Op::Sum { .. } | Op::Mean { .. } | Op::Product { .. } if from.is_empty() => first,
            Op::Sum { .. }
            | Op::Mean { .. }
            | Op::Variance { .. }
            | Op::Product { .. }
            | Op::Std { .. }
            | Op::Norm { .. } => {
                let mut operation = node.operation.clone();
                if let Some(axes) = operation.axes_mut() {
                    *axes = Some(Self::axes(axes.as_deref(), from.len()));
                }
                same(self, operation)
            }
            Op::SumRows => same(self, Op::Sum { axes: Some(vec![1]), keepdims: false }),
            Op::Dot | Op::TimesVector => match node.operands[1] {
                Of::Value(_) => {
                    let other = self.aligned(node.operands[1], from.len(), stage);
                    let operands = vec![Of::Value(first), other];
                    let product = self.push(Op::Mul, operands, self.many(&from), stage);
                    let sum = Op::Sum { axes: Some(vec![-1]), keepdims: false };
                    self.push(sum, vec![Of::Value(product)], shape, stage)
                }
                _ => self.push(Op::TimesVector, with_rest(first), shape, stage),
            },
            Op::LeftMultiply { .. } if from.len() == 1 => {
                self.push(Op::MapRows { row_first: false }, with_rest(first), shape, stage)
            }
            Op::LeftMultiply { .. } => {
                let (mut turned, mut product) = (self.many(&from), shape.clone());
                let axes = turned.len();
                turned.swap(axes - 1, axes - 2);
                product.swap(axes - 1, axes - 2);
                let columns = self.push(swapped(axes), vec![Of::Value(first)], turned, stage);
                let product = self.push(Op::MapRows { row_first: false }, with_rest(columns), product, stage);
                self.push(swapped(axes), vec![Of::Value(product)], shape, stage)
            }
            Op::Einsum { subscripts } => {
                let Of::Value(_) = node.operands[1] else {
                    return Err(refused("a sum of products has a plain factor".to_owned()));
                };
                let subscripts = subscripts.of_many();
                let too_many = || refused("a sum of products has a label for each letter".to_owned());
                same(self, Op::Einsum { subscripts: subscripts.ok_or_else(too_many)? })
            }
            Op::Transposed if from.len() < 2 => first,
            Op::Transposed => same(self, swapped(1 + from.len())),
            Op::Permuted { axes } => {
                let axes = std::iter::once(0).chain(axes.iter().map(|axis| axis + 1)).collect();
                same(self, Op::Permuted { axes })
            }
            Op::Convolved { convolution, from: None, to: None } => {
                let operation = Op::Convolved { convolution: *convolution, from: None, to: None };
                self.push(operation, with_rest(first), shape, stage)
            }
            Op::Convolved { .. } => {
                return Err(refused("a convolution is compiled already".to_owned()));
            }
            Op::Mapped { sources, .. } => {
                let sources = self.list(*sources, size, from_size);
                let factors = self.factors(node.operands[1], size)?;
                let operation = Op::Mapped { shape: shape.clone(), sources };
                self.push(operation, vec![Of::Value(first), factors], shape, stage)
            }
            Op::Gathered { sources, .. } => {
                let sources = self.list(*sources, size, from_size);
                same(self, Op::Gathered { shape: shape.clone(), sources })
            }
            Op::Reshaped { .. } => self.reshaped(first, shape, stage),
            &Op::Pick { rows: None, single: false, columns } if from.len() > 1 => {
                same(self, Op::Pick { rows: None, single: false, columns })
            }
            &Op::PickEntries { places } => {
                same(self, Op::Pick { rows: None, single: false, columns: Some(places) })
            }
            &Op::PickEntry { place } => {
                same(self, Op::PickColumn { rows: None, single: false, column: place })
            }
            operation @ (Op::Pick { .. } | Op::PickColumn { .. }) => {
                let sources = sources_of(&self.old.places, operation, (&from, &own))
                    .filter(|sources| sources.len() == size)
                    .ok_or_else(|| refused("an operation takes parts of a number".to_owned()))?;
                let all = (0..self.count)
                    .flat_map(|own| sources.iter().map(move |at| at.map(|at| own * from_size + at)));
                let all = Arc::new(all.collect());
                self.graph.places.push(all);
                let sources = PlacesId(self.graph.places.len() - 1);
                same(self, Op::Gathered { shape: shape.clone(), sources })
            }
            Op::Concatenate | Op::JoinColumns => {
                let along_last = matches!(node.operation, Op::JoinColumns);
                let mut parts = Vec::with_capacity(node.operands.len());
                for &operand in &node.operands {
                    let Of::Value(old) = operand else {
                        return Err(refused("plain numbers are joined with encrypted ones".to_owned()));
                    };
                    let flat = vec![self.count, self.shapes[old].iter().product()];
                    let value = self.images[old];
                    let part = if along_last { value } else { self.reshaped(value, flat, stage) };
                    parts.push(Of::Value(part));
                }
                let joined = if along_last { shape.clone() } else { vec![self.count, size] };
                let joined = self.push(Op::JoinColumns, parts, joined, stage);
                self.reshaped(joined, shape, stage)
            }
            operation => {
                let name = super::text::operation_name(operation);
                return Err(refused(format!(
                    "{name} of an array of shape {from:?} has no form for many items: write the function for an array with one more axis"
                )));
            }
        })
    }
}

impl RecordedFunction {
    /// The function of `count` items at once: encrypted arrays have one more axis in front, plain inputs are
    /// the same for all items. With `lanes`, items share polynomials.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for no item; [`CkksError::Unsuitable`] for an operation without a form for
    /// many items; those of a dry run of the function.
    pub fn batched(&self, count: usize, lanes: bool) -> Result<Self, CkksError> {
        if count == 0 {
            let remedy = "use 1 or more".to_owned();
            return Err(CkksError::OutOfRange { what: "`batch`", value: "0".to_owned(), remedy });
        }
        let shapes = value_shapes(self)?;
        let graph = ArrayGraph { nodes: Vec::new(), ..self.graph.clone() };
        let many = |shape: &Vec<usize>| std::iter::once(count).chain(shape.iter().copied()).collect();
        let written = shapes[..self.graph.inputs].iter().map(many).collect();
        let images = (0..self.graph.inputs).collect();
        let mut batch = Batch { old: &self.graph, shapes, count, graph, written, images, origin: None };
        for index in 0..self.graph.nodes.len() {
            let value = batch.node(index)?;
            batch.images.push(value);
        }
        let mut results: Vec<usize> = self.results.iter().map(|&result| batch.images[result]).collect();
        batch.origin = None;
        // Of items the axes are exchanged, and not that of the batch.
        for (result, transposed) in results.iter_mut().zip(self.arrangement.transposed()) {
            let mut shape = batch.written[*result].clone();
            let axes = shape.len();
            if transposed && axes > 2 {
                shape.swap(axes - 1, axes - 2);
                *result = batch.push(swapped(axes), vec![Of::Value(*result)], shape, "");
            }
        }
        let (graph, results) = batch.graph.pruned(&results);
        let inputs = self.inputs.iter().map(|input| match input.is_plain {
            true => input.clone(),
            false => super::ProgramInput { shape: many(&input.shape), lanes, ..input.clone() },
        });
        let arrangement = self.arrangement.untransposed();
        Ok(Self { graph, inputs: inputs.collect(), results, arrangement })
    }
}
