//! Where the results of convolutions lie.
//!
//! A convolution is cheap where its result lies in the grid of its image: number `(c, y, x)` of the result
//! then moves by a distance that depends on channels and on places of the kernel alone. With a stride `s` the
//! pixels of the result are those of the image at every `s`-th row and column, and the places between them
//! are free for other channels:
//!
//! ```text
//! with a gap g, number (c, y, x) is at (c / g^2, y g + (c mod g^2) / g, x g + c mod g)
//! ```
//!
//! So a program computes with arrays in which numbers lie like this. Operations on each number compute on
//! these arrays, moves and plain matrices are combined with the places, and where something else needs the
//! numbers in order, they are moved. Source: Lee et al. (ICML 2022) (multiplexed parallel convolutions);
//! as one linear map with a level, Ebel, Garimella, Reagen (ASPLOS 2025).

use std::sync::Arc;

use super::RecordedFunction;
use super::moves::sources_of;
use super::recording::value_shapes;
use crate::arrays::count_of;
use crate::circuits::linear::Convolution;
use crate::encoding::values::Values;
use crate::encrypted_array::{
    ArrayGraph, ArrayOperation as Op, GraphNode, GraphOperand as Of, PlacesId, PlainArray, StoredPlacement,
};
use crate::error::CkksError;
use crate::evaluation::broadcasting::broadcast_sources;

/// The most weights of a matrix whose columns are moved to the places of the numbers.
const MOST_WEIGHTS: usize = 1 << 24;

/// The most distances, about, at which a result is made in order by a convolution alone.
const FEW_DISTANCES: usize = 1024;

/// What the places of an array hold that are none of the numbers that lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    /// There are no such places, or zeros are there.
    Zeros,
    /// Zeros but for errors of approximations.
    Small,
    /// Numbers within the bound of the array.
    Numbers,
}

/// Rows and columns of the images that results are made of, and how many of them lie between two pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    sizes: [usize; 2],
    gap: [usize; 2],
}

/// A value whose numbers lie at other places of a value of the new graph.
#[derive(Debug, Clone)]
struct Elsewhere {
    value: usize,
    /// The shape of that value.
    shape: Vec<usize>,
    /// Where each number is.
    places: Arc<Vec<usize>>,
    /// The number at each place.
    numbers: Arc<Vec<Option<usize>>>,
    rest: Rest,
    grid: Option<Grid>,
}

impl Elsewhere {
    /// Whether both lie in the same way.
    fn lies_as(&self, other: &Self) -> bool {
        self.shape == other.shape && (Arc::ptr_eq(&self.places, &other.places) || self.places == other.places)
    }

    /// For each place, the place in an array of shape `own` that the number there, one of an array of shape
    /// `all`, is computed with.
    fn broadcast(&self, own: &[usize], all: &[usize]) -> Vec<Option<usize>> {
        let sources = broadcast_sources(own, all);
        self.numbers.iter().map(|number| number.map(|number| sources[number])).collect()
    }
}

/// A value of the old graph in the new one.
#[derive(Debug, Clone)]
enum Written {
    /// With its numbers in order.
    InOrder(usize),
    Elsewhere(Elsewhere),
}

/// The new graph in the making.
struct Writer<'f> {
    function: &'f RecordedFunction,
    shapes: &'f [Vec<usize>],
    graph: ArrayGraph,
    images: Vec<Written>,
    /// The values in order that were made of those that lie elsewhere.
    ordered: Vec<Option<usize>>,
    /// The node of the old graph that is written.
    index: usize,
}

/// The function whose convolutions are computed where their images lie.
///
/// # Errors
/// Those of recording the function again.
pub(super) fn in_grids(function: &RecordedFunction) -> Result<RecordedFunction, CkksError> {
    let old = &function.graph;
    if !old.nodes.iter().any(|node| matches!(node.operation, Op::Convolved { .. })) {
        return Ok(function.clone());
    }
    let shapes = value_shapes(function)?;
    let graph = ArrayGraph { nodes: Vec::new(), ..old.clone() };
    let images = (0..old.inputs).map(Written::InOrder).collect();
    let ordered = vec![None; shapes.len()];
    let mut writer = Writer { function, shapes: &shapes, graph, images, ordered, index: 0 };
    for index in 0..old.nodes.len() {
        writer.index = index;
        let image = match writer.rewritten(index) {
            Some(image) => image,
            None => Written::InOrder(writer.copied(index)),
        };
        writer.images.push(image);
    }
    let results: Vec<usize> = function.results.iter().map(|&value| writer.in_order(value)).collect();
    let (graph, results) = writer.graph.pruned(&results);
    Ok(RecordedFunction { graph, results, ..function.clone() })
}

/// The largest factor by which errors of approximations stay small.
const MOST_FACTOR: f64 = 16.0;

/// Whether a function of each number may also be computed of what lies between the numbers, so that nothing
/// outgrows the modulus, and what is there afterwards.
fn function_of_rest(operation: &Op, rest: Rest) -> Option<Rest> {
    let is_small = rest <= Rest::Small;
    // An interval that is found later has all numbers within the bound.
    let around_zero =
        |domain: Option<(f64, f64)>| domain.is_none_or(|(low, high)| is_small && low <= 0.0 && high >= 0.0);
    let reach = |bound: Option<f64>| bound.is_none() || is_small;
    // What a function that is zero at zero makes of it.
    let vanishing = if is_small { Rest::Small } else { Rest::Numbers };
    match operation {
        Op::Negate | Op::Rescale | Op::Cleared | Op::ClearPadding | Op::Bootstrap | Op::InSlots => Some(rest),
        Op::Conjugate | Op::RealPart | Op::ImaginaryPart | Op::Power { .. } => Some(rest),
        Op::WithBound { .. } => is_small.then_some(rest),
        Op::Polynomial { domain, .. } => around_zero(Some(*domain)).then_some(Rest::Numbers),
        Op::Smooth { function, domain, .. } => match function.as_str() {
            // These have no interval around zero.
            "log" | "inverse" | "sqrt" | "inverse_sqrt" => None,
            "tanh" | "gelu" | "silu" => around_zero(*domain).then_some(vanishing),
            _ => around_zero(*domain).then_some(Rest::Numbers),
        },
        Op::Sign { bound, .. } => reach(*bound).then_some(Rest::Numbers),
        Op::Absolute { bound, .. } | Op::Relu { bound, .. } => reach(*bound).then_some(vanishing),
        _ => None,
    }
}

/// Whether axes, as NumPy counts them, are the last two of `count`.
fn are_last_two(axes: Option<&[i64]>, count: usize) -> bool {
    let Some(axes) = axes else { return false };
    let count = count as i64;
    let mut all: Vec<i64> = axes.iter().map(|&axis| if axis < 0 { axis + count } else { axis }).collect();
    all.sort_unstable();
    all == [count - 2, count - 1]
}

impl Writer<'_> {
    fn old_shape(&self, value: usize) -> &[usize] {
        &self.shapes[value]
    }

    /// The shape of the node that is written.
    fn own_shape(&self) -> &[usize] {
        &self.shapes[self.function.graph.inputs + self.index]
    }

    /// A new node in place of the one that is written, or in front of it.
    fn push(&mut self, operation: Op, operands: Vec<Of>) -> usize {
        let node = &self.function.graph.nodes[self.index];
        let (stage, origin) = (node.stage.clone(), node.origin);
        self.graph.nodes.push(GraphNode { operation, operands, stage, origin });
        self.graph.inputs + self.graph.nodes.len() - 1
    }

    fn list(&mut self, places: Vec<Option<usize>>) -> PlacesId {
        let known = self.graph.places.iter().position(|own| **own == places);
        PlacesId(known.unwrap_or_else(|| {
            self.graph.places.push(Arc::new(places));
            self.graph.places.len() - 1
        }))
    }

    fn constant(&mut self, numbers: PlainArray) -> Of {
        self.graph.constants.push(Arc::new(numbers));
        Of::Constant(self.graph.constants.len() - 1)
    }

    /// A value of the old graph with its numbers in order.
    fn in_order(&mut self, old: usize) -> usize {
        let array = match &self.images[old] {
            Written::InOrder(value) => return *value,
            Written::Elsewhere(array) => array.clone(),
        };
        if let Some(value) = self.ordered[old] {
            return value;
        }
        let value = match self.in_order_at_once(old) {
            Some(value) => value,
            None => {
                let shape = self.old_shape(old).to_vec();
                let sources = self.list(array.places.iter().copied().map(Some).collect());
                self.push(Op::Gathered { shape, sources }, vec![Of::Value(array.value)])
            }
        };
        self.ordered[old] = Some(value);
        value
    }

    /// The result of a convolution with few weights, computed in order.
    fn in_order_at_once(&mut self, old: usize) -> Option<usize> {
        let node = &self.function.graph.nodes[old.checked_sub(self.function.graph.inputs)?];
        let Op::Convolved { convolution, .. } = &node.operation else { return None };
        let kernel = self.kernel_shape(node.operands[1])?;
        if convolution.stride != [1, 1] || count_of(&kernel) > FEW_DISTANCES {
            return None;
        }
        let &Of::Value(x) = &node.operands[0] else { return None };
        let Written::InOrder(x) = self.images[x] else { return None };
        Some(self.push(node.operation.clone(), vec![Of::Value(x), node.operands[1]]))
    }

    /// Node `index` as it was, of operands in order.
    fn copied(&mut self, index: usize) -> usize {
        let node = &self.function.graph.nodes[index];
        let operands = node.operands.iter().map(|&operand| match operand {
            Of::Value(value) => Of::Value(self.in_order(value)),
            other => other,
        });
        let operands = operands.collect();
        self.push(node.operation.clone(), operands)
    }

    fn kernel_shape(&self, kernel: Of) -> Option<Vec<usize>> {
        match kernel {
            Of::Constant(constant) => Some(self.graph.constants.get(constant)?.shape.clone()),
            Of::Plain(input) => Some(self.function.plain().nth(input)?.shape.clone()),
            _ => None,
        }
    }

    /// Node `index`, where it gives or takes numbers that lie elsewhere.
    fn rewritten(&mut self, index: usize) -> Option<Written> {
        let node = &self.function.graph.nodes[index];
        let &Of::Value(x) = node.operands.first()? else { return None };
        if let Op::Convolved { convolution, from: None, to: None } = node.operation {
            return self.convolved(x, convolution, node.operands[1]);
        }
        if let &[_, other] = &node.operands[..]
            && node.operation.is_entrywise_of_two()
        {
            return self.zipped(x, other);
        }
        let Written::Elsewhere(array) = &self.images[x] else { return None };
        let array = array.clone();
        let own = self.own_shape().to_vec();
        match &node.operation {
            Op::Mean { axes, .. } if are_last_two(axes.as_deref(), self.old_shape(x).len()) => {
                self.summed(x, &array, true)
            }
            Op::Sum { axes, .. } if are_last_two(axes.as_deref(), self.old_shape(x).len()) => {
                self.summed(x, &array, false)
            }
            &Op::MapRows { row_first } => self.mapped(x, &array, (row_first, node.operands[1])),
            operation if node.operands.len() == 1 || matches!(operation, Op::Polynomial { .. }) => {
                let moved = sources_of(&self.function.graph.places, operation, (self.old_shape(x), &own));
                if let Some(sources) = moved {
                    if sources.len() != count_of(&own) {
                        return None;
                    }
                    let from = self.old_shape(x).to_vec();
                    return Some(self.moved(&array, (&from, own), &sources));
                }
                let rest = function_of_rest(operation, array.rest)?;
                let operands =
                    std::iter::once(Of::Value(array.value)).chain(node.operands[1..].iter().copied());
                let value = self.push(operation.clone(), operands.collect());
                Some(Written::Elsewhere(Elsewhere { value, rest, ..array }))
            }
            _ => None,
        }
    }

    /// The convolution of value `x`.
    fn convolved(&mut self, x: usize, convolution: Convolution, kernel: Of) -> Option<Written> {
        let images = self.old_shape(x).to_vec();
        let result = convolution.shape(&images, &self.kernel_shape(kernel)?).ok()?;
        self.in_grid(x, (images, result), convolution, kernel)
    }

    /// The sum or mean of each channel: a convolution with kernels of the size of images.
    fn summed(&mut self, x: usize, array: &Elsewhere, is_mean: bool) -> Option<Written> {
        array.grid?;
        let images = self.old_shape(x).to_vec();
        let &[.., channels, rows, columns] = &images[..] else { return None };
        let factor = if is_mean { 1.0 / (rows * columns) as f64 } else { 1.0 };
        let shape = vec![channels, 1, rows, columns];
        let kernel = self.constant(PlainArray::new(Values::Real(vec![factor; count_of(&shape)]), shape));
        let convolution = Convolution { groups: channels, ..Convolution::default() };
        let result = [&images[..images.len() - 2], &[1, 1]].concat();
        self.in_grid(x, (images, result), convolution, kernel)
    }

    /// The convolution of value `x` in the grid of its images, for the shapes of images and result.
    fn in_grid(
        &mut self,
        x: usize,
        (images, result): (Vec<usize>, Vec<usize>),
        convolution: Convolution,
        kernel: Of,
    ) -> Option<Written> {
        let &[.., rows, columns] = &images[..] else { return None };
        let &[.., channels, down, across] = &result[..] else { return None };
        let (value, from, grid) = match self.images[x].clone() {
            Written::InOrder(value) => (value, None, None),
            Written::Elsewhere(Elsewhere { value, places, grid, .. }) => {
                let places = self.list(places.iter().copied().map(Some).collect());
                (value, Some(StoredPlacement { shape: images.clone(), places }), grid)
            }
        };
        let grid = grid.unwrap_or(Grid { sizes: [rows, columns], gap: [1, 1] });
        // A single row or column has no stride.
        let step = |axis: usize, length: usize| if length == 1 { 1 } else { convolution.stride[axis] };
        let gap = [grid.gap[0] * step(0, down), grid.gap[1] * step(1, across)];
        let sizes = [grid.sizes[0].max(down * gap[0]), grid.sizes[1].max(across * gap[1])];
        let operands = vec![Of::Value(value), kernel];
        if gap == [1, 1] && sizes == [down, across] {
            return Some(Written::InOrder(
                self.push(Op::Convolved { convolution, from, to: None }, operands),
            ));
        }
        // Rows that are as long as their places, so that they follow one another without gaps.
        let sizes = [sizes[0], sizes[1].next_power_of_two()];
        let cells = gap[0] * gap[1];
        let blocks = channels.div_ceil(cells);
        let leading = &result[..result.len() - 3];
        let shape = [leading, &[blocks, sizes[0], sizes[1]]].concat();
        let mut numbers = vec![None; count_of(&shape)];
        let mut places = Vec::with_capacity(count_of(&result));
        for image in 0..count_of(leading) {
            for channel in 0..channels {
                let (block, cell) = (image * blocks + channel / cells, channel % cells);
                for y in 0..down {
                    let row = block * sizes[0] + y * gap[0] + cell / gap[1];
                    for x in 0..across {
                        let place = row * sizes[1] + x * gap[1] + cell % gap[1];
                        numbers[place] = Some(places.len());
                        places.push(place);
                    }
                }
            }
        }
        let to = Some(StoredPlacement { shape: shape.clone(), places: self.list(numbers.clone()) });
        let value = self.push(Op::Convolved { convolution, from, to }, operands);
        let (places, numbers) = (Arc::new(places), Arc::new(numbers));
        let grid = Some(Grid { sizes, gap });
        Some(Written::Elsewhere(Elsewhere { value, shape, places, numbers, rest: Rest::Zeros, grid }))
    }

    /// An operation on each number of two operands.
    fn zipped(&mut self, x: usize, other: Of) -> Option<Written> {
        let own = self.own_shape().to_vec();
        let whole = |writer: &Self, value: usize| match &writer.images[value] {
            Written::Elsewhere(array) if writer.old_shape(value) == own => Some(array.clone()),
            _ => None,
        };
        let operation = self.function.graph.nodes[self.index].operation.clone();
        let (left, right) = match other {
            Of::Value(y) => (whole(self, x), whole(self, y)),
            _ => (whole(self, x), None),
        };
        // What two encrypted numbers give, of which some may be none of the array.
        let both = |left: Rest, right: Rest| match operation {
            Op::Add | Op::Sub | Op::SubFrom | Op::Multiply { .. } | Op::Mul => Some(left.max(right)),
            Op::Maximum { bound: None, .. } | Op::Minimum { bound: None, .. } => Some(Rest::Numbers),
            _ => None,
        };
        let (array, operands, rest) = match (left, right, other) {
            (Some(left), Some(right), _) if left.lies_as(&right) => {
                let rest = both(left.rest, right.rest)?;
                let operands = vec![Of::Value(left.value), Of::Value(right.value)];
                (left, operands, rest)
            }
            (Some(left), _, Of::Value(y)) => {
                let rest = both(left.rest, Rest::Zeros)?;
                let moved = self.moved_to(y, &left, &own);
                let operands = vec![Of::Value(left.value), Of::Value(moved)];
                (left, operands, rest)
            }
            (None, Some(right), _) => {
                let rest = both(right.rest, Rest::Zeros)?;
                let moved = self.moved_to(x, &right, &own);
                let operands = vec![Of::Value(moved), Of::Value(right.value)];
                (right, operands, rest)
            }
            (Some(left), None, Of::Number(number) | Of::Integer(number)) => {
                let is_moderate = |factor: f64| left.rest == Rest::Zeros || factor.abs() <= MOST_FACTOR;
                let rest = match operation {
                    Op::Mul if is_moderate(number) => left.rest,
                    Op::Div if is_moderate(number.recip()) => left.rest,
                    Op::Mul | Op::Div => Rest::Numbers,
                    Op::Add | Op::Sub | Op::SubFrom => Rest::Numbers,
                    Op::Maximum { bound: None, .. } | Op::Minimum { bound: None, .. } => Rest::Numbers,
                    _ => return None,
                };
                let operands = vec![Of::Value(left.value), other];
                (left, operands, rest)
            }
            (Some(left), None, Of::Constant(constant)) => {
                let (fill, rest) = match operation {
                    Op::Mul => (0.0, Rest::Zeros),
                    Op::Add | Op::Sub | Op::SubFrom => (0.0, left.rest),
                    Op::Div => (1.0, left.rest),
                    _ => return None,
                };
                let plain = self.graph.constants[constant].clone();
                let from = left.broadcast(&plain.shape, &own);
                let values = match &plain.values {
                    Values::Real(values) => {
                        Values::Real(from.iter().map(|at| at.map_or(fill, |at| values[at])).collect())
                    }
                    Values::Complex(values) => Values::Complex(
                        from.iter().map(|at| at.map_or(fill.into(), |at| values[at])).collect(),
                    ),
                };
                let moved = self.constant(PlainArray::new(values, left.shape.clone()));
                let operands = vec![Of::Value(left.value), moved];
                (left, operands, rest)
            }
            _ => return None,
        };
        let value = self.push(operation, operands);
        Some(Written::Elsewhere(Elsewhere { value, rest, ..array }))
    }

    /// The numbers of an old value, broadcast to shape `all`, where those of `array` are; zeros elsewhere.
    fn moved_to(&mut self, old: usize, array: &Elsewhere, all: &[usize]) -> usize {
        let mut sources = array.broadcast(self.old_shape(old), all);
        let value = match &self.images[old] {
            Written::InOrder(value) => *value,
            Written::Elsewhere(own) => {
                sources.iter_mut().for_each(|source| *source = source.map(|source| own.places[source]));
                own.value
            }
        };
        let sources = self.list(sources);
        self.push(Op::Gathered { shape: array.shape.clone(), sources }, vec![Of::Value(value)])
    }

    /// The numbers of `array`, whose shape is `from`, at `sources` as an array of shape `shape`.
    fn moved(
        &mut self,
        array: &Elsewhere,
        (from, shape): (&[usize], Vec<usize>),
        sources: &[Option<usize>],
    ) -> Written {
        let mut numbers = vec![None; array.numbers.len()];
        let mut places = Vec::with_capacity(sources.len());
        for (number, source) in sources.iter().enumerate() {
            let place = source.map(|source| array.places[source]);
            match place.map(|place| numbers[place].replace(number)) {
                // Zeros, and numbers that are there several times, are made by moving numbers.
                None | Some(Some(_)) => break,
                Some(None) => places.extend(place),
            }
        }
        if places.len() < sources.len() {
            let sources = self.list(sources.iter().map(|at| at.map(|at| array.places[at])).collect());
            let value = self.push(Op::Gathered { shape, sources }, vec![Of::Value(array.value)]);
            return Written::InOrder(value);
        }
        let is_whole = places.len() == array.places.len();
        // Only leading axes may change in a grid.
        let is_same = is_whole && places == *array.places;
        let keeps = is_same
            && shape.len() >= 3
            && from.len() >= 3
            && shape[shape.len() - 3..] == from[from.len() - 3..];
        Written::Elsewhere(Elsewhere {
            places: Arc::new(places),
            numbers: Arc::new(numbers),
            rest: if is_whole { array.rest } else { Rest::Numbers },
            grid: array.grid.filter(|_| keeps),
            ..array.clone()
        })
    }

    /// The product of each row with a plain matrix, whose columns are moved to the places of the numbers.
    fn mapped(&mut self, x: usize, array: &Elsewhere, (row_first, matrix): (bool, Of)) -> Option<Written> {
        let Of::Constant(constant) = matrix else { return None };
        let matrix = self.graph.constants[constant].clone();
        let (Values::Real(weights), &[first, second]) = (&matrix.values, &matrix.shape[..]) else {
            return None;
        };
        let shape = self.old_shape(x).to_vec();
        let (&columns, leading) = shape.split_last()?;
        let outputs = if row_first { second } else { first };
        let weight = |output: usize, column: usize| {
            weights[if row_first { column * second + output } else { output * second + column }]
        };
        if outputs.saturating_mul(columns) <= FEW_DISTANCES {
            // Each number is a channel of one pixel.
            let weights = (0..outputs).flat_map(|output| (0..columns).map(move |column| (output, column)));
            let weights = weights.map(|(output, column)| weight(output, column)).collect();
            let kernel = self.constant(PlainArray::new(Values::Real(weights), vec![outputs, columns, 1, 1]));
            let places = self.list(array.places.iter().copied().map(Some).collect());
            let from = Some(StoredPlacement { shape: [leading, &[columns, 1, 1]].concat(), places });
            let shape = [leading, &[outputs]].concat();
            let to =
                Some(StoredPlacement { places: self.list((0..count_of(&shape)).map(Some).collect()), shape });
            let operation = Op::Convolved { convolution: Convolution::default(), from, to };
            return Some(Written::InOrder(self.push(operation, vec![Of::Value(array.value), kernel])));
        }
        let (rows, all) = (count_of(leading), count_of(&array.shape));
        if !array.shape.last()?.is_power_of_two() || !all.is_multiple_of(rows) {
            return None;
        }
        let width = all / rows;
        let of_row = |row: usize| &array.places[row * columns..(row + 1) * columns];
        let is_alike = |row: usize| {
            of_row(row)
                .iter()
                .zip(of_row(0))
                .all(|(&place, &first)| first < width && place == row * width + first)
        };
        if !(0..rows).all(is_alike) || outputs.saturating_mul(width) > MOST_WEIGHTS {
            return None;
        }
        let mut moved = vec![0.0; outputs * width];
        for (column, &place) in of_row(0).iter().enumerate() {
            (0..outputs).for_each(|output| moved[output * width + place] = weight(output, column));
        }
        let flat = [leading, &[width]].concat();
        let moved = self.constant(PlainArray::new(Values::Real(moved), vec![outputs, width]));
        let x = self.push(Op::Reshaped { shape: flat }, vec![Of::Value(array.value)]);
        Some(Written::InOrder(self.push(Op::MapRows { row_first: false }, vec![Of::Value(x), moved])))
    }
}
