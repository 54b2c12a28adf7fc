//! Sums of products of the numbers of two encrypted arrays in slots: products of matrices and vectors, and
//! other contractions of two arrays.
//!
//! ```text
//! z[i] = sum_t x[left(t, i)] y[right(t, i)]
//! ```
//!
//! There are three ways, and the one with the least work is taken.
//!
//! By terms, both arrays are gathered into one with a row for each `t`, whose number `i` is the factor of
//! `z[i]`. Rows share polynomials. After one product of these arrays the rows are added, which leaves the
//! sums in the places of every row, so that the result lies as an array whose rows share polynomials. It
//! takes two levels. An 8 x 8 product has 512 terms; an array of 8 192 slots repeats them 16 times.
//!
//! In place ([`in_place`](crate::circuits::linear::in_place)), one array is rotated by each distance between
//! factors. It takes two levels where the arrays lie so that factors are at few distances, such as both
//! factors of `x.T @ x`, and of `x @ x.T`. Otherwise an array is gathered first, with a row for each entry,
//! or for each term, which takes a third level.
//!
//! Rolled ([`rolled`](super::rolled)), products of matrices and stacks of them are sums of products of
//! rotated arrays, one for each term. Both arrays are gathered first.

use std::collections::BTreeMap;
use std::sync::Arc;

use blake3::Hasher;

use super::rolled::Rolled;
use super::subscripts::{EINSUM, Subscripts, check_terms};
use super::{ArrayOperation, EncryptedArray, PlainArray};
use crate::arrays::{Ciphertext, Encoding, Layout, count_of};
use crate::circuits::encrypted_matrix;
use crate::circuits::linear::convolution::Call;
use crate::circuits::linear::gather::{gather, in_lanes, map_numbers};
use crate::circuits::linear::in_place::{InPlace, Squares, Terms};
use crate::circuits::linear::routing::work_of_array;
use crate::circuits::linear::work::Work;
use crate::circuits::linear::{Convolution, Placement};
use crate::encoding::values::Values;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::kept::{Keepable, shared_plan};

/// Products of two arrays that have more terms are computed of rolled arrays where they can be and their rows
/// are not short, without a look at other ways.
const ALWAYS_ROLLED: usize = 1 << 20;

impl EncryptedArray {
    /// The sums of products of the numbers of two arrays with these labels of their axes, as NumPy's
    /// `einsum`.
    ///
    /// In slots they take two levels, or three where an array is moved first; the rescale of the last one may
    /// be left to the next operation. Products of two matrices in coefficients stay in coefficients: there
    /// the left factor is needed by columns and the right one by rows, and a factor that lies otherwise is
    /// transposed by key switching. Other arrays in coefficients are converted to slots.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for axes that do not fit the labels; [`CkksError::OutOfRange`] for more than 2^23
    /// products, and for too many distances that numbers of an array move;
    /// [`CkksError::Encoding`] for arrays in coefficients without the keys to convert them;
    /// [`CkksError::Unsuitable`] for shared masks; those of
    /// [`transpose`](crate::circuits::encrypted_matrix::transpose) and
    /// [`multiply_transposed`](crate::circuits::encrypted_matrix::multiply_transposed); missing keys; level
    /// errors.
    pub fn einsum(&self, other: &Self, subscripts: &Subscripts) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder_with(&other.into()) {
            let operation = ArrayOperation::Einsum { subscripts: subscripts.clone() };
            return graph.record(operation, &[self.into(), other.into()], || self.einsum(other, subscripts));
        }
        let holder = self.holder(other);
        let evaluator = &holder.evaluator;
        let in_coefficients = |own: &Self| own.data.encoding() == Encoding::Coefficients;
        if in_coefficients(self)
            && in_coefficients(other)
            && let Some(matrices) = subscripts.matrices()
        {
            subscripts.shape(self.data.shape(), other.data.shape())?;
            return self.product_in_coefficients(other, matrices);
        }
        let slots =
            |own: &Self| Ok::<_, CkksError>(own.brought_to_slots(holder)?.unwrap_or_else(|| own.clone()));
        let (left, right) = (slots(self)?.settled_by(evaluator)?, slots(other)?.settled_by(evaluator)?);
        left.check_room_for_another(EINSUM)?;
        let most = if evaluator.bootstraps() { MOST_LEVELS } else { left.level().min(right.level()).0 };
        subscripts.shape(left.shape(), right.shape())?;
        let (operands, is_square) = ([&*left, &*right], Arc::ptr_eq(&left, &right));
        let plan = SumsPlan::known(subscripts, operands, is_square, most.min(MOST_LEVELS))?;
        holder.beside(plan.run(evaluator, operands)?)
    }

    /// The product of two matrices in coefficients, in the order and read by columns as `matrices` says.
    fn product_in_coefficients(
        &self,
        other: &Self,
        (exchanged, [left_by_columns, right_by_columns]): (bool, [bool; 2]),
    ) -> Result<Self, CkksError> {
        let holder = self.holder(other);
        let evaluator = &holder.evaluator;
        let (left, right) = (self.settled_by(evaluator)?, other.settled_by(evaluator)?);
        let (left, right) = if exchanged { (right, left) } else { (left, right) };
        let transposed = |x: &Arc<Ciphertext>, is_needed: bool| match is_needed {
            true => encrypted_matrix::transpose(evaluator, x).map(Arc::new),
            false => Ok(x.clone()),
        };
        // The left factor is read by columns.
        let (left, right) = (transposed(&left, !left_by_columns)?, transposed(&right, right_by_columns)?);
        holder.beside(encrypted_matrix::multiply_transposed(evaluator, &left, &right)?)
    }

    /// The array of shape `shape` whose entries are sums of this array's entries at `sources`, those with `t
    /// = 0` first, in slots. It takes a level for their places.
    ///
    /// # Errors
    /// As [`EncryptedArray::einsum`].
    pub(super) fn sums_of(&self, shape: &[usize], sources: &[usize]) -> Result<Self, CkksError> {
        self.in_slots()?.map_settled(|evaluator, x| {
            check_terms(sources.len())?;
            let sums = Sums::new(x.params().degree(), shape, sources.len())?;
            sums.added(evaluator, &sums.rows_of(evaluator, x, &sums.sources(sources))?)
        })
    }

    /// The array of shape `shape` whose entry `i` is the sum of the entries `sources[t n + i]` of this one,
    /// each times `factors[t n + i]`, for an array of `n` entries, in slots. It takes a level, a product with
    /// a plaintext for each distance that a number moves, and rotations that grow with the root of their
    /// number.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there is a factor for each source, and the same number for each entry;
    /// [`CkksError::OutOfRange`] for entries that the array does not have, and for more than 2048 distances;
    /// [`CkksError::NotFinite`] for factors; [`CkksError::Encoding`] for an array in coefficients without the
    /// keys to convert it; [`CkksError::Unsuitable`] for shared masks; missing keys; level errors.
    pub fn mapped(&self, shape: &[usize], sources: &[usize], factors: &[f64]) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let sources_of = graph.places(sources.iter().copied().map(Some));
            let operation = ArrayOperation::Mapped { shape: shape.to_vec(), sources: sources_of };
            let values = Values::Real(factors.to_vec());
            let factors_of = PlainArray::new(values, vec![factors.len()]);
            let operands = [self.into(), factors_of.into()];
            return graph.record(operation, &operands, || self.mapped(shape, sources, factors));
        }
        check_terms(sources.len())?;
        self.in_slots()?.map_settled(|evaluator, x| map_numbers(evaluator, x, shape, sources, factors))
    }
}

impl EncryptedArray {
    /// The convolution of images `(.., channels, rows, columns)` with a kernel `(channels of the result,
    /// channels / groups, rows, columns)`, in slots, as networks have it: the kernel is not reversed. It
    /// takes a level.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for shapes that do not fit; [`CkksError::OutOfRange`] for strides, dilations and
    /// groups of 0, and for more than 2048 distances that numbers move in all polynomials;
    /// [`CkksError::NotFinite`] for weights; [`CkksError::Encoding`] for an array in coefficients without the
    /// keys to convert it; [`CkksError::Unsuitable`] for a complex kernel and for shared masks;
    /// [`CkksError::TooLarge`]; missing keys; level errors.
    pub fn convolved(&self, kernel: &PlainArray, convolution: Convolution) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Convolved { convolution, from: None, to: None };
            // How a result lies best is found when all is recorded.
            return graph.record(operation, &[self.into(), kernel.clone().into()], || {
                let call = Call { convolution, kernel: kernel.kernel(), from: None, to: None };
                self.in_slots()?.map_settled(|evaluator, x| call.outlined(evaluator, x))
            });
        }
        self.convolved_at(kernel, convolution, [None, None])
    }

    /// [`EncryptedArray::convolved`] of images that are at other places of this array, the first of
    /// `placements`, and whose result is put to other places, the second one.
    ///
    /// # Errors
    /// Those of [`EncryptedArray::convolved`], and [`CkksError::Shape`] for places that are not there.
    pub(crate) fn convolved_at(
        &self,
        kernel: &PlainArray,
        convolution: Convolution,
        [from, to]: [Option<Placement<'_>>; 2],
    ) -> Result<Self, CkksError> {
        let call = Call { convolution, kernel: kernel.kernel(), from, to };
        self.in_slots()?.map_settled(|evaluator, x| call.run(evaluator, x))
    }
}

/// More levels than any way takes.
const MOST_LEVELS: usize = 16;

/// How sums of products of two arrays are computed.
struct SumsPlan {
    shape: Vec<usize>,
    way: SumsWay,
    /// Where both are one array.
    squares: Option<Squares>,
}

enum SumsWay {
    Rolled(Rolled),
    InPlace(Box<Way>),
    /// The places of the left and the right factors as rows of terms.
    ByTerms(Sums, [Vec<Option<usize>>; 2]),
}

impl Keepable for SumsPlan {
    fn kept_bytes(&self) -> usize {
        let of = |sources: &[Vec<Option<usize>>; 2]| {
            sources.iter().map(|own| own.len() * size_of::<Option<usize>>()).sum()
        };
        match &self.way {
            SumsWay::Rolled(rolled) => of(&rolled.sources),
            SumsWay::InPlace(way) => way.bytes(),
            SumsWay::ByTerms(_, sources) => of(sources),
        }
    }
}

impl SumsPlan {
    /// The plan for two arrays in slots, one and the same if `is_square`, which takes at most `most` levels;
    /// made unless it is known.
    fn known(
        subscripts: &Subscripts,
        operands: [&Ciphertext; 2],
        is_square: bool,
        most: usize,
    ) -> Result<Arc<Self>, CkksError> {
        let (shapes, layouts) = (operands.map(Ciphertext::shape), operands.map(Ciphertext::layout));
        let mut purpose = Hasher::new_derive_key("clathrate plan of sums of products");
        purpose.update(format!("{subscripts:?} {shapes:?} {layouts:?} {is_square} {most}").as_bytes());
        shared_plan(&purpose, || Self::new(subscripts, (shapes, layouts, is_square), most))
    }

    fn new(
        subscripts: &Subscripts,
        (shapes, layouts, is_square): ([&[usize]; 2], [&Layout; 2], bool),
        most: usize,
    ) -> Result<Self, CkksError> {
        let mut rolled = Rolled::new(subscripts, shapes, layouts).filter(|own| own.work.levels <= most);
        let is_long = !is_square && subscripts.count(shapes[0], shapes[1])? > ALWAYS_ROLLED;
        let is_best = |own: &mut Rolled| is_long && own.work.price().is_finite() && own.is_wide();
        if let Some(rolled) = rolled.take_if(is_best) {
            let shape = subscripts.shape(shapes[0], shapes[1])?;
            return Ok(Self { shape, way: SumsWay::Rolled(rolled), squares: None });
        }
        let (shape, [of_left, of_right]) = subscripts.terms(shapes[0], shapes[1])?;
        let terms = Terms { left: &of_left, right: &of_right };
        let squares = is_square.then(|| Squares::new(terms, count_of(&shape)));
        let planned = |way: SumsWay| Self { shape: shape.clone(), way, squares };
        let sums = Sums::new(layouts[0].degree(), &shape, terms.left.len())?;
        let by_terms = |limit: f64| {
            let is_worth = |least: Work| {
                let all = least.then(sums.work_of_sums());
                all.levels <= most && all.price() < limit
            };
            let [one, other] = [(layouts[0], terms.left), (layouts[1], terms.right)]
                .map(|(from, places)| sums.work(from, places, is_worth));
            let all = one.beside(other).then(sums.work_of_sums());
            if all.levels <= most { all.price() } else { f64::INFINITY }
        };
        // Without rotations for the places of the factors.
        let least = Work { levels: 1, ..Work::default() }.then(sums.work_of_sums()).price();
        let way = Way::new((layouts, is_square), &shape, terms, most);
        let price = way.as_ref().map_or(f64::INFINITY, |way| way.work.price());
        if let Some(rolled) = rolled
            && rolled.work.price() < price
            && (rolled.work.price() < least || rolled.work.price() < by_terms(rolled.work.price()))
        {
            return Ok(planned(SumsWay::Rolled(rolled)));
        }
        if let Some(way) = way
            && (price < least || price < by_terms(price))
        {
            return Ok(planned(SumsWay::InPlace(Box::new(way))));
        }
        let sources = [sums.sources(terms.left), sums.sources(terms.right)];
        Ok(planned(SumsWay::ByTerms(sums, sources)))
    }

    /// The sums of products of these arrays, which lie as the plan says.
    ///
    /// # Errors
    /// Those of [`gather`], of rotations and of products.
    fn run(&self, evaluator: &Evaluator, [left, right]: [&Ciphertext; 2]) -> Result<Ciphertext, CkksError> {
        let sums = match &self.way {
            SumsWay::Rolled(rolled) => rolled.run(evaluator, (left, right), &self.shape)?,
            SumsWay::InPlace(way) => return way.run(evaluator, [left, right], &self.shape),
            SumsWay::ByTerms(sums, [of_left, of_right]) => {
                let (one, other) =
                    (sums.rows_of(evaluator, left, of_left)?, sums.rows_of(evaluator, right, of_right)?);
                sums.added(evaluator, &evaluator.multiply(&one, &other)?)?
            }
        };
        Ok(match self.squares {
            Some(squares) => sums.estimated(|own| squares.among(own, left)),
            None => sums,
        })
    }
}

/// An array as a factor of products in place: as it is, or gathered first.
enum Factor {
    AsItIs,
    Moved { to: Layout, sources: Vec<Option<usize>> },
}

impl Factor {
    fn moved(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        match self {
            Self::AsItIs => Ok(x.clone()),
            Self::Moved { to, sources } => {
                gather(evaluator, x, &[to.rows(), to.columns()], Some(*to), sources)
            }
        }
    }

    /// Whether both are moved to the same places, or not at all.
    fn moves_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AsItIs, Self::AsItIs) => true,
            (Self::Moved { to, sources }, Self::Moved { to: other, sources: others }) => {
                to == other && sources == others
            }
            _ => false,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::AsItIs => 0,
            Self::Moved { sources, .. } => sources.len() * size_of::<Option<usize>>(),
        }
    }
}

/// An array as a factor, and the places of the factors of all terms, if they are others than before.
type Placed = (Factor, Option<Vec<usize>>);

/// The factors of sums of products as the rows of a matrix: entries that have the same factors have one row.
struct Vectors {
    /// The entry that stands for each row.
    entries: Vec<usize>,
    /// The row of each entry.
    rows: Vec<usize>,
    terms: usize,
}

impl Vectors {
    /// The vectors of `count` entries with these factors; `None` where entries share some factors alone.
    fn new(places: &[usize], count: usize) -> Option<Self> {
        let (mut known, mut own) =
            (BTreeMap::new(), Self { entries: vec![], rows: vec![], terms: places.len() / count });
        for entry in 0..count {
            let row = *known.entry(places[entry]).or_insert_with(|| {
                own.entries.push(entry);
                own.entries.len() - 1
            });
            let first = own.entries[row];
            if (0..own.terms).any(|term| places[term * count + entry] != places[term * count + first]) {
                return None;
            }
            own.rows.push(row);
        }
        Some(own)
    }

    /// The array that has a row for each vector, or else for each term, `capacity` numbers apart at least.
    fn moved(&self, places: &[usize], (by_terms, capacity): (bool, usize), degree: usize) -> Option<Placed> {
        let (count, vectors) = (self.rows.len(), self.entries.len());
        let shape = if by_terms { [self.terms, vectors] } else { [vectors, self.terms] };
        let place = |vector: usize, term: usize| {
            if by_terms { term * vectors + vector } else { vector * self.terms + term }
        };
        let wide = Layout::new(&[shape[0], shape[1].max(capacity)], Encoding::Slots, degree).ok()?;
        let to = if wide.chunks() == 1 { wide.with_lanes(None).ok()? } else { wide }.of_columns(shape[1]);
        let mut sources = vec![None; shape[0] * shape[1]];
        for (vector, &entry) in self.entries.iter().enumerate() {
            (0..self.terms)
                .for_each(|term| sources[place(vector, term)] = Some(places[term * count + entry]));
        }
        let places = (0..places.len()).map(|index| place(self.rows[index % count], index / count)).collect();
        Some((Factor::Moved { to, sources }, Some(places)))
    }
}

/// How products are computed in place.
struct Way {
    left: Factor,
    right: Factor,
    /// Whether both are one array, moved in one way.
    is_square: bool,
    sums: InPlace,
    work: Work,
}

impl Way {
    /// The way with the least work that takes at most `most` levels.
    fn new(
        ([left, right], is_one): ([&Layout; 2], bool),
        shape: &[usize],
        terms: Terms<'_>,
        most: usize,
    ) -> Option<Self> {
        let count: usize = shape.iter().product();
        let degree = left.degree();
        let vectors = [terms.left, terms.right].map(|places| Vectors::new(places, count));
        let mut best: Option<Self> = None;
        let mut consider = |(left_factor, of_left): Placed, (right_factor, of_right): Placed| {
            let layout = |factor: &Factor, own: &Layout| match factor {
                Factor::AsItIs => *own,
                Factor::Moved { to, .. } => *to,
            };
            let limit = best.as_ref().map_or(f64::INFINITY, |best| best.work.price());
            let own = Terms {
                left: of_left.as_deref().unwrap_or(terms.left),
                right: of_right.as_deref().unwrap_or(terms.right),
            };
            let (of_left, of_right) = (layout(&left_factor, left), layout(&right_factor, right));
            let is_square = is_one && left_factor.moves_as(&right_factor);
            let Some(sums) = InPlace::new((&of_left, &of_right, is_square), shape, own) else { return };
            let products = sums.work_of_products();
            let is_worth = |all: Work| all.levels <= most && all.price() < limit;
            let work = |factor: &Factor, own: &Layout| match factor {
                Factor::AsItIs => Work::default(),
                Factor::Moved { to, sources } => {
                    let least = |least: Work| is_worth(least.then(products));
                    work_of_array(own, to, sources.iter().copied(), least)
                }
            };
            let one = work(&left_factor, left);
            let other = if is_square { Work::default() } else { work(&right_factor, right) };
            let before = one.beside(other).then(products);
            let work = before.then(sums.work_of_gather(|least| is_worth(before.then(least))));
            if work.levels <= most && best.as_ref().is_none_or(|best| work.price() < best.work.price()) {
                best = Some(Self { left: left_factor, right: right_factor, is_square, sums, work });
            }
        };
        consider((Factor::AsItIs, None), (Factor::AsItIs, None));
        if let [Some(of_left), Some(of_right)] = &vectors {
            for by_terms in [false, true] {
                let one =
                    |vectors: &Vectors, places, capacity| vectors.moved(places, (by_terms, capacity), degree);
                let both = of_left.entries.len().max(of_right.entries.len());
                if let Some(right_factor) = one(of_right, terms.right, left.capacity()) {
                    consider((Factor::AsItIs, None), right_factor);
                }
                if let Some(left_factor) = one(of_left, terms.left, right.capacity()) {
                    consider(left_factor, (Factor::AsItIs, None));
                }
                if let (Some(left_factor), Some(right_factor)) = (
                    one(of_left, terms.left, if by_terms { both } else { 1 }),
                    one(of_right, terms.right, if by_terms { both } else { 1 }),
                ) {
                    consider(left_factor, right_factor);
                }
            }
        }
        best
    }

    fn run(
        &self,
        evaluator: &Evaluator,
        [left, right]: [&Ciphertext; 2],
        shape: &[usize],
    ) -> Result<Ciphertext, CkksError> {
        let one = self.left.moved(evaluator, left)?;
        let other = if self.is_square { one.clone() } else { self.right.moved(evaluator, right)? };
        self.sums.run(evaluator, (&one, &other), shape)
    }

    fn bytes(&self) -> usize {
        self.left.bytes() + self.right.bytes() + self.sums.bytes()
    }
}

/// How the terms of sums lie: a row for each `t`, in which the terms of the entries lie as the entries do in
/// the result.
struct Sums {
    result: Layout,
    shape: Vec<usize>,
    rows: Layout,
    /// Numbers of a row between the first entries of two rows of the result.
    stride: usize,
}

impl Sums {
    /// Sums of `terms` numbers in all as an array of shape `shape`.
    fn new(degree: usize, shape: &[usize], terms: usize) -> Result<Self, CkksError> {
        let result = Layout::new(shape, Encoding::Slots, degree)?;
        let entries = result.rows() * result.columns();
        if terms == 0 || !terms.is_multiple_of(entries) {
            return Err(CkksError::Shape {
                operation: EINSUM,
                left: vec![terms],
                right: shape.to_vec(),
                remedy: format!("give the same number of terms for each of {entries} entries"),
            });
        }
        // A row of the result starts where a row of lanes would, or a polynomial.
        let stride = result.capacity() * result.chunks();
        let numbers = if result.rows() == 1 { result.columns() } else { result.rows() * stride };
        let lanes = (degree / 2 / numbers.next_power_of_two()).max(1);
        let count = terms / entries;
        let count = count.next_multiple_of(lanes.min(count.next_power_of_two()));
        let rows = in_lanes(&[count, numbers], degree)?;
        Ok(Self { result, shape: shape.to_vec(), rows, stride })
    }

    /// What [`Sums::rows_of`] takes; see [`work_of_array`].
    fn work(&self, from: &Layout, places: &[usize], is_worth: impl FnOnce(Work) -> bool) -> Work {
        work_of_array(from, &self.rows, self.sources(places).into_iter(), is_worth)
    }

    /// What the product and the sum of all rows take.
    fn work_of_sums(&self) -> Work {
        let folds = self.rows.lanes().ilog2() as f64;
        Work { switches: self.rows.polynomials() as f64 + folds, keys: folds, levels: 1 }
    }

    /// The places of the numbers of all rows of terms.
    fn sources(&self, places: &[usize]) -> Vec<Option<usize>> {
        let (columns, numbers) = (self.result.columns(), self.rows.columns());
        let entries = self.result.rows() * columns;
        let mut sources = vec![None; self.rows.rows() * numbers];
        for (index, &place) in places.iter().enumerate() {
            let (term, entry) = (index / entries, index % entries);
            sources[term * numbers + entry / columns * self.stride + entry % columns] = Some(place);
        }
        sources
    }

    /// The entries of `x` at these places as rows of terms.
    fn rows_of(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        sources: &[Option<usize>],
    ) -> Result<Ciphertext, CkksError> {
        gather(evaluator, x, &[self.rows.rows(), self.rows.columns()], Some(self.rows), sources)
    }

    /// The sum of all rows as the result.
    fn added(&self, evaluator: &Evaluator, terms: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let sums = evaluator.sum_of_rows(terms)?;
        let result = self.result;
        let lanes = (sums.layout().period() / result.capacity()).max(1);
        let layout =
            if result.rows() > 1 && result.chunks() == 1 { result.with_lanes(Some(lanes))? } else { result };
        let layout = layout.of_numbers(sums.is_complex()).with_padding(sums.padding());
        Ok(sums.rearranged(self.shape.clone(), layout))
    }
}
