//! Maps of the numbers of an array, wherever they lie in slots: numbers at other places, in any order and any
//! number of times, and products of a matrix with rows that share polynomials. There is a diagonal for each
//! distance that a number moves within its polynomial.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use blake3::Hasher;
use rustfft::num_complex::Complex64;

use super::LinearTransform;
use super::routing::Route;
use super::work::{MAX_DIAGONALS, Move, Place, Rotations, SharedMaps, distances_of, work_of_moves};
use crate::arrays::estimate::{Along, Gathered, MatrixNorms};
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Padding, count_of};
use crate::embedding::encoding_errors;
use crate::encoding::diagonal::PlacedNumber;
use crate::encoding::values::hash_words;
use crate::error::CkksError;
use crate::evaluation::evaluator::{LevelsNeeded, check_slots};
use crate::evaluation::kept::{Keepable, shared_plan};
use crate::evaluation::{Evaluator, doublings, with_columns};

/// The operation's name in errors.
const GATHER: &str = "a selection of numbers";

/// Whether [`gather`] takes this array.
pub(crate) fn is_movable(x: &Ciphertext) -> bool {
    let layout = x.layout();
    (layout.encoding(), layout.bodies()) == (Encoding::Slots, 1)
}

/// The array with a polynomial, or several, for each row, as it is encrypted by default.
pub(crate) fn in_rows_alone(evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
    laid_out(evaluator, x, Layout::new(x.shape(), Encoding::Slots, x.params().degree())?)
}

/// The array at the places of a layout of its shape.
pub(super) fn laid_out(evaluator: &Evaluator, x: &Ciphertext, to: Layout) -> Result<Ciphertext, CkksError> {
    let sources: Vec<Option<usize>> = (0..count_of(x.shape())).map(Some).collect();
    gather(evaluator, x, x.shape(), Some(to), &sources)
}

/// The array of shape `shape` whose entry `i` is entry `sources[i]` of `x`, both counted along the rows, at
/// the places of the layout `to`; zero without a source. By default short rows share polynomials. It takes no
/// level where one rotation moves all numbers; one level for at most 2048 distances in all polynomials; and
/// three for more, where numbers move in three steps ([`routing`](super::routing)).
///
/// # Errors
/// [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] unless there is a source for each entry;
/// [`CkksError::OutOfRange`] for entries that `x` does not have, and where steps have more than 2048
/// distances, too; [`CkksError::Unsuitable`] for shared masks; missing keys; level errors.
pub(crate) fn gather(
    evaluator: &Evaluator,
    x: &Ciphertext,
    shape: &[usize],
    to: Option<Layout>,
    sources: &[Option<usize>],
) -> Result<Ciphertext, CkksError> {
    check_movable(evaluator, x)?;
    let to = match to {
        Some(to) => to,
        None => in_lanes(shape, x.params().degree())?,
    };
    let to = to.of_numbers(x.is_complex()).with_padding(Padding::Zero);
    let count = x.shape().iter().product::<usize>();
    if sources.len() != count_of(shape) || sources.iter().flatten().any(|&source| source >= count) {
        let remedy = format!("give the places of {shape:?} numbers, each below {count}");
        return Err(CkksError::Shape {
            operation: GATHER,
            left: x.shape().to_vec(),
            right: vec![sources.len()],
            remedy,
        });
    }
    let mut purpose = Hasher::new_derive_key("clathrate plan of a gather");
    purpose.update(format!("{:?} {to:?}", x.layout()).as_bytes());
    hash_words(&mut purpose, sources.iter().map(|source| source.map_or(u64::MAX, |source| source as u64)));
    let plan = shared_plan(&purpose, || GatherPlan::new(x.layout(), to, sources))?;
    plan.run(evaluator, x, shape)
}

/// How numbers get to other places.
#[derive(Debug)]
struct GatherPlan {
    to: Layout,
    steps: GatherSteps,
}

#[derive(Debug)]
enum GatherSteps {
    /// They are there.
    None,
    /// By one rotation of all slots.
    Rotated(i64, Gathered),
    /// By maps, in one step or three.
    Mapped(Vec<GatherStep>),
}

#[derive(Debug)]
struct GatherStep {
    to: Layout,
    maps: NumberMaps,
    gathered: Gathered,
}

impl Keepable for GatherPlan {
    fn kept_bytes(&self) -> usize {
        let maps = match &self.steps {
            GatherSteps::Mapped(steps) => steps.iter().map(|step| step.maps.bytes()).sum(),
            _ => 0,
        };
        size_of::<Self>() + maps
    }
}

impl GatherPlan {
    /// The plan for an array that lies as `from`; sources are numbers of it.
    fn new(from: &Layout, to: Layout, sources: &[Option<usize>]) -> Result<Self, CkksError> {
        let count = from.rows() * from.columns();
        if to.same_places(from) && sources.iter().copied().eq((0..count).map(Some)) {
            return Ok(Self { to: to.with_padding(from.padding()), steps: GatherSteps::None });
        }
        if let Some(steps) = rotation(from, &to, sources) {
            let gathered = Gathered::new(sources, (from, &to));
            return Ok(Self { to, steps: GatherSteps::Rotated(steps, gathered) });
        }
        let columns = from.columns();
        let place = |source: usize| from.place(source / columns, source % columns);
        let places = sources.iter().map(|source| source.map(place).transpose());
        let places = places.map(|place| Ok(place?.map(|place| (place.bundle, place.index))));
        let places = places.collect::<Result<Vec<Option<Place>>, CkksError>>()?;
        let period = from.period();
        let route = match work_of_moves(places.iter().copied(), &to, period).switches.is_infinite() {
            true => Route::new(&places, period, &to),
            false => None,
        };
        let Some(route) = route else {
            return Ok(Self { to, steps: GatherSteps::Mapped(vec![GatherStep::new(from, to, sources)?]) });
        };
        let entries: BTreeMap<Place, usize> =
            places.iter().zip(sources).filter_map(|(place, source)| Some(((*place)?, (*source)?))).collect();
        let first: Vec<Option<usize>> =
            route.first.iter().map(|place| place.and_then(|place| entries.get(&place).copied())).collect();
        let between = route.between.of_numbers(from.is_complex()).with_padding(Padding::Zero);
        let steps = vec![
            GatherStep::new(from, between, &first)?,
            GatherStep::new(&between, between, &route.second)?,
            GatherStep::new(&between, to, &route.third)?,
        ];
        Ok(Self { to, steps: GatherSteps::Mapped(steps) })
    }

    /// The numbers of `x`, which lies as the plan says, as an array of shape `shape`.
    fn run(&self, evaluator: &Evaluator, x: &Ciphertext, shape: &[usize]) -> Result<Ciphertext, CkksError> {
        match &self.steps {
            GatherSteps::None => Ok(x.clone().rearranged(shape.to_vec(), self.to)),
            GatherSteps::Rotated(steps, gathered) => {
                let (to, whole) = (self.to, x.polynomials_as_rows().estimated(Estimate::without_numbers));
                let rotated = evaluator.rotate_slots(&whole, &[*steps])?.swap_remove(0);
                let kept = x.estimate.clone().gathered(gathered);
                let rotated = rotated.rearranged(shape.to_vec(), to);
                Ok(rotated.estimated(|own| kept.with_noise_of_rows(own, to.period(), (1, to.polynomials()))))
            }
            GatherSteps::Mapped(steps) => {
                let mut moved = evaluator.with_levels_needed(x, LevelsNeeded::Depth(steps.len()))?;
                for step in steps {
                    moved = Cow::Owned(step.run(evaluator, &moved)?);
                }
                Ok(moved.into_owned().rearranged(shape.to_vec(), self.to))
            }
        }
    }
}

impl GatherStep {
    fn new(from: &Layout, to: Layout, sources: &[Option<usize>]) -> Result<Self, CkksError> {
        let maps = NumberMaps::new(from, &to, |entry, term| {
            if let Some(source) = sources[entry] {
                term(source, 1.0);
            }
        })?;
        Ok(Self { to, maps, gathered: Gathered::new(sources, (from, &to)) })
    }

    fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let to = self.to;
        let moved = map_entries(evaluator, x, &to, &self.maps)?;
        let (slots, alike) = (moved.slots, moved.alike);
        let period = x.layout().period().max(to.period());
        let rounding = moved.rounding.1;
        let kept = x.estimate.clone().gathered(&self.gathered);
        // Sums over all lanes are equal in all of them, and so are their errors.
        let kept = kept.with_cleared(&x.estimate, moved.terms, rounding).copied(period);
        let rows = moved.rows.rearranged(vec![to.rows(), to.columns()], to);
        // Copies of a number have the same noise.
        Ok(rows.estimated(|own| kept.with_noise_of_rows(own, slots, (alike, to.polynomials()))))
    }
}

/// The steps of a rotation of all slots to the left that moves all numbers of an array that lies as `from` to
/// the places of `to`, each from its source; `None` where there is no such rotation. It takes no level, and
/// no mask.
fn rotation(from: &Layout, to: &Layout, sources: &[Option<usize>]) -> Option<i64> {
    let period = to.period();
    let alike = (from.period(), from.polynomials(), from.copies()) == (period, to.polynomials(), 1);
    if !alike || to.copies() != 1 {
        return None;
    }
    let mut steps = None;
    for polynomial in 0..to.polynomials() {
        let mut count = 0;
        for (position, entry) in to.held(polynomial) {
            let source = sources[entry]?;
            let place = from.place(source / from.columns(), source % from.columns()).ok()?;
            let own = (place.index + period - position % period) % period;
            if place.bundle != polynomial || *steps.get_or_insert(own) != own {
                return None;
            }
            count += 1;
        }
        // The slots between the numbers are zero before, and no number is left over.
        let zero = from.padding() == Padding::Zero && from.held(polynomial).count() == count;
        if count != period && !zero {
            return None;
        }
    }
    Some(signed(steps?, period))
}

/// The array of shape `shape` whose entry `i` is the sum of the entries `sources[t n + i]` of `x`, each times
/// `factors[t n + i]`, for an array of `n` entries; rows share polynomials.
///
/// # Errors
/// [`CkksError::Shape`] unless there is a factor for each source, and the same number for each entry;
/// [`CkksError::OutOfRange`] for entries that `x` does not have, and for more than 2048 distances in all
/// polynomials; [`CkksError::NotFinite`] for factors; [`CkksError::TooLarge`]; missing keys; level errors.
pub(crate) fn map_numbers(
    evaluator: &Evaluator,
    x: &Ciphertext,
    shape: &[usize],
    sources: &[usize],
    factors: &[f64],
) -> Result<Ciphertext, CkksError> {
    check_movable(evaluator, x)?;
    let (count, entries) = (x.shape().iter().product::<usize>(), count_of(shape));
    let whole =
        sources.len() == factors.len() && !sources.is_empty() && sources.len().is_multiple_of(entries);
    if !whole || sources.iter().any(|&source| source >= count) {
        let remedy = format!("give places below {count}, and a factor for each, for {entries} numbers");
        let (left, right) = (vec![sources.len()], vec![factors.len()]);
        return Err(CkksError::Shape { operation: GATHER, left, right, remedy });
    }
    if let Some((index, &value)) = factors.iter().enumerate().find(|(_, factor)| !factor.is_finite()) {
        return Err(CkksError::NotFinite { index, value, shape: None });
    }
    let to = in_lanes(shape, x.params().degree())?.of_numbers(x.is_complex());
    let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
    let mut purpose = Hasher::new_derive_key("clathrate plan of sums of weighted numbers");
    purpose.update(format!("{:?} {to:?}", x.layout()).as_bytes());
    hash_words(&mut purpose, sources.iter().map(|&source| source as u64));
    hash_words(&mut purpose, factors.iter().map(|factor| factor.to_bits()));
    let plan = shared_plan(&purpose, || WeightedPlan::new(x.layout(), &to, sources, factors))?;
    let moved = map_entries(evaluator, x, &to, &plan.maps)?;
    let places = moved.terms as f64;
    let rounding = (moved.rounding.0 * places.sqrt(), moved.rounding.1 * places);
    let period = x.layout().period().max(to.period());
    let kept = x.estimate.clone().gathered(&plan.gathered).copied(period);
    let kept = kept.mapped(Along::Columns, &plan.norms, rounding).copied(period);
    let (slots, alike) = (moved.slots, moved.alike);
    let mapped = moved.rows.rearranged(shape.to_vec(), to);
    let mapped = mapped.estimated(|own| kept.with_noise_of_rows(own, slots, (alike, to.polynomials())));
    mapped.check_bound()?;
    Ok(mapped)
}

/// How sums of weighted numbers are computed.
#[derive(Debug)]
struct WeightedPlan {
    maps: NumberMaps,
    gathered: Gathered,
    norms: MatrixNorms,
}

impl Keepable for WeightedPlan {
    fn kept_bytes(&self) -> usize {
        self.maps.bytes()
    }
}

impl WeightedPlan {
    fn new(from: &Layout, to: &Layout, sources: &[usize], factors: &[f64]) -> Result<Self, CkksError> {
        let entries = to.rows() * to.columns();
        let terms = sources.len() / entries;
        let maps = NumberMaps::new(from, to, |entry, term| {
            for at in (0..terms).map(|own| own * entries + entry).filter(|&at| factors[at] != 0.0) {
                term(sources[at], factors[at]);
            }
        })?;
        // The factors of each entry, one entry after the other, as the rows of a matrix.
        let by_entry: Vec<usize> =
            (0..entries).flat_map(|entry| (0..terms).map(move |term| term * entries + entry)).collect();
        let chosen: Vec<Option<usize>> = by_entry.iter().map(|&at| Some(sources[at])).collect();
        let rows: Vec<f64> = by_entry.iter().map(|&at| factors[at]).collect();
        let gathered = Gathered::new(&chosen, (from, from));
        Ok(Self { maps, gathered, norms: MatrixNorms::of_matrix(&rows, terms) })
    }
}

/// Refuses arrays whose numbers do not move from polynomial to polynomial.
pub(super) fn check_movable(evaluator: &Evaluator, x: &Ciphertext) -> Result<(), CkksError> {
    evaluator.check(x)?;
    check_slots(x, GATHER)?;
    if x.layout().bodies() > 1 {
        return Err(CkksError::shared_mask(
            GATHER,
            x.layout().bodies(),
            "numbers move from polynomial to polynomial",
            "take the bodies apart with split_mask",
        ));
    }
    Ok(())
}

/// The layout of real numbers in slots in which as many rows as there is room for share a polynomial.
pub(crate) fn in_lanes(shape: &[usize], degree: usize) -> Result<Layout, CkksError> {
    let alone = Layout::new(shape, Encoding::Slots, degree)?;
    if alone.rows() > 1 && alone.chunks() == 1 { alone.with_lanes(None) } else { Ok(alone) }
}

/// The polynomials of a result whose numbers are sums of an array's numbers.
pub(super) struct Moved {
    /// A row for each polynomial, whose estimate is that of the noise of the maps.
    pub(super) rows: Ciphertext,
    /// The slots of the maps.
    pub(super) slots: usize,
    /// How many polynomials of the result may have the same noise.
    pub(super) alike: usize,
    /// The numbers that are multiplied with rounded factors and added to one number of the result, those that
    /// are multiplied with zeros too.
    pub(super) terms: usize,
    /// The typical and the largest rounding error of a factor.
    pub(super) rounding: (f64, f64),
}

/// The array at the places `to` whose entries are those that `maps` makes of the entries of `x`.
pub(super) fn map_entries(
    evaluator: &Evaluator,
    x: &Ciphertext,
    to: &Layout,
    maps: &NumberMaps,
) -> Result<Moved, CkksError> {
    let mut rounding = (0.0f64, 0.0f64);
    let slots = maps.slots;
    // The maps move noise alone; what is known of the numbers does not depend on how they move.
    let whole = x.polynomials_as_rows().estimated(Estimate::without_numbers);
    let wide = whole.layout().with_capacity(slots)?.of_columns(slots);
    let whole = whole.rearranged(vec![wide.rows(), slots], wide);
    let add = |sum: &mut Option<Ciphertext>, mapped: Ciphertext| {
        *sum = Some(match sum.take() {
            None => mapped,
            Some(sum) => evaluator.add(&sum, &mapped)?,
        });
        Ok::<_, CkksError>(())
    };
    let whole_rotated = |source: usize, steps: usize| {
        let row = evaluator.select_rows(&whole, &[source])?;
        match steps {
            0 => Ok(row),
            _ => Ok::<_, CkksError>(evaluator.rotate_slots(&row, &[signed(steps, slots)])?.swap_remove(0)),
        }
    };
    let mut turned: BTreeMap<(usize, usize), Option<Ciphertext>> = BTreeMap::new();
    let mut uses: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (&(_, _, source), &(before, _)) in &maps.maps {
        *uses.entry((source, before)).or_default() += 1;
    }
    let mut sources: BTreeMap<(usize, usize), Ciphertext> = BTreeMap::new();
    for (&(target, turn, source), (before, map)) in &maps.maps {
        let plan = map.kept_plan_of(evaluator, x)?;
        let own = encoding_errors(x.params().degree(), plan.diagonal_scale());
        rounding = (rounding.0.max(own.0), rounding.1.max(own.1));
        let rotated = match sources.entry((source, *before)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(whole_rotated(source, *before)?),
        };
        let mapped = plan.map_slots(evaluator, rotated)?;
        if let Some(left) = uses.get_mut(&(source, *before)) {
            *left -= 1;
            if *left == 0 {
                sources.remove(&(source, *before));
            }
        }
        add(turned.entry((target, turn)).or_default(), mapped)?;
    }
    let mut sums: Vec<Option<Ciphertext>> = vec![None; to.polynomials()];
    for ((target, turn), sum) in turned {
        let Some(sum) = sum else { continue };
        evaluator
            .rotate_slots(&sum, &[signed(turn, slots)])?
            .into_iter()
            .try_for_each(|sum| add(&mut sums[target], sum))?;
    }
    let or_zeros = |sum: Option<Ciphertext>| match sum {
        Some(sum) => Ok(sum),
        None => zeros(evaluator, &evaluator.select_rows(&whole, &[0])?, slots),
    };
    let parts = sums.into_iter().map(or_zeros).collect::<Result<Vec<_>, _>>()?;
    let rows = evaluator.concatenate(&parts.iter().collect::<Vec<_>>())?;
    let steps: Vec<i64> = doublings(to.period(), slots).rev().map(|step| step as i64).collect();
    let rows = if steps.is_empty() { rows } else { evaluator.plus_rotated(rows, &steps)? };
    // Each diagonal leaves its rounding error of every number, also where it is zero.
    let terms = maps.diagonals * slots / to.period();
    Ok(Moved { rows, slots, alike: maps.alike, terms, rounding })
}

/// The shorter way of a rotation by `steps` of `slots` slots.
pub(super) fn signed(steps: usize, slots: usize) -> i64 {
    if steps > slots / 2 { steps as i64 - slots as i64 } else { steps as i64 }
}

/// Rows of `columns` zeros at the level and scale of a product of `x` with a matrix.
pub(super) fn zeros(evaluator: &Evaluator, x: &Ciphertext, columns: usize) -> Result<Ciphertext, CkksError> {
    let zeros = evaluator.rescale(&evaluator.multiply_mask(x, |_| false, 1.0)?)?;
    let layout = zeros.layout().of_columns(columns).with_padding(Padding::Zero);
    Ok(zeros.rearranged(with_columns(x, columns), layout))
}

/// The linear maps by which the polynomials of one array become those of another.
#[derive(Debug)]
pub(super) struct NumberMaps {
    /// By polynomial of the result, rotation of the sum of all images, and polynomial of the source: the
    /// rotation of the source before, and the map.
    maps: BTreeMap<(usize, usize, usize), (usize, Arc<LinearTransform>)>,
    slots: usize,
    /// The largest number of polynomials of the result to which one polynomial is mapped in the same way:
    /// their noise is the same.
    alike: usize,
    /// The largest number of diagonals whose products are added to one polynomial of the result.
    diagonals: usize,
}

/// The numbers on the diagonals of a map, by the distance that they move numbers by, `before` less than those
/// of `moves`.
fn diagonals_of(moves: &[Move], before: usize, period: usize) -> BTreeMap<usize, Vec<PlacedNumber>> {
    let mut diagonals: BTreeMap<usize, Vec<PlacedNumber>> = BTreeMap::new();
    for &(position, distance, factor) in moves {
        let shift = (distance + period - before) % period;
        diagonals.entry(shift).or_default().push((position as u32, Complex64::from(factor)));
    }
    diagonals
}

impl NumberMaps {
    /// Bytes of all maps, about.
    pub(super) fn bytes(&self) -> usize {
        // What a list takes beside its numbers.
        const LIST: usize = 64;
        let of = |map: &Arc<LinearTransform>| (Arc::as_ptr(map), map.bytes() + LIST * map.shifts().count());
        let maps: BTreeMap<*const LinearTransform, usize> =
            self.maps.values().map(|(_, map)| of(map)).collect();
        maps.into_values().sum::<usize>() + LIST * self.maps.len()
    }

    /// The maps from an array that lies as `from` to one that lies as `to`. For each entry of the result
    /// `terms` is called with a function that it calls with each entry that is added, and its factor. Maps
    /// that differ by a rotation of their source are one.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for entries that the array does not have, and for more than 2048 distances
    /// of different maps; those of [`LinearTransform::from_entries`].
    pub(super) fn new(
        from: &Layout,
        to: &Layout,
        terms: impl Fn(usize, &mut dyn FnMut(usize, f64)),
    ) -> Result<Self, CkksError> {
        let slots = from.period().max(to.period());
        let (columns, period) = (from.columns(), from.period());
        let mut maps: BTreeMap<(usize, usize), Vec<Move>> = BTreeMap::new();
        let mut refused = None;
        for target in 0..to.polynomials() {
            for (first, entry) in to.held(target) {
                terms(entry, &mut |source, factor| match from.place(source / columns, source % columns) {
                    Ok(place) => {
                        let moves = maps.entry((target, place.bundle)).or_default();
                        moves.extend((first..first + to.copies()).map(|position| {
                            (position, (place.index + period - position % period) % period, factor)
                        }));
                    }
                    Err(error) => {
                        refused.get_or_insert(error);
                    }
                });
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        let mut by_target: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
        for (&(target, _), moves) in &maps {
            by_target.entry(target).or_default().push(distances_of(moves, period));
        }
        let turning: BTreeSet<usize> = by_target
            .iter()
            .filter(|(_, maps)| Rotations::of(maps.iter().map(|map| map.iter().copied())).together)
            .map(|(&target, _)| target)
            .collect();
        let mut diagonals: BTreeMap<usize, usize> = BTreeMap::new();
        // Each map, with its digest and the rotation before it if it is one of those before.
        let (mut shared, mut count) = (SharedMaps::default(), 0);
        let maps: Vec<_> = maps
            .into_iter()
            .map(|((target, source), moves)| {
                let digest = SharedMaps::digest(moves.iter().copied(), period);
                let first = moves.first().map_or(0, |own| own.1);
                let rotation =
                    if turning.contains(&target) { None } else { shared.rotation(digest, first, period) };
                let own = distances_of(&moves, period).len();
                *diagonals.entry(target).or_default() += own;
                count += if rotation.is_none() { own } else { 0 };
                (target, source, moves, digest, rotation)
            })
            .collect();
        if count > MAX_DIAGONALS {
            let remedy = format!(
                "at most {MAX_DIAGONALS} in all polynomials: move numbers that lie side by side together, in several steps, or decrypt first"
            );
            let value = count.to_string();
            return Err(CkksError::OutOfRange { what: "the distances that numbers move", value, remedy });
        }
        let mut times: BTreeMap<_, usize> = BTreeMap::new();
        let mut of_slots: BTreeMap<(usize, usize, usize), (usize, Arc<LinearTransform>)> = BTreeMap::new();
        let mut known: BTreeMap<[u8; 32], Arc<LinearTransform>> = BTreeMap::new();
        for (target, source, moves, digest, rotation) in maps {
            let parts: Vec<(usize, usize, Arc<LinearTransform>)> = if turning.contains(&target) {
                let of_distance = |(distance, mut entries): (usize, Vec<PlacedNumber>)| {
                    // What is rotated afterwards is multiplied where it is before.
                    for entry in &mut entries {
                        entry.0 = ((entry.0 as usize + distance) % slots) as u32;
                    }
                    let map = LinearTransform::from_entries(slots, [(0, entries)])?;
                    Ok((distance, 0, Arc::new(map)))
                };
                let all = diagonals_of(&moves, 0, period).into_iter().map(of_distance);
                all.collect::<Result<_, CkksError>>()?
            } else {
                let before = rotation.unwrap_or(0);
                let map = match known.get(&digest) {
                    Some(map) => map.clone(),
                    None => {
                        let all = diagonals_of(&moves, before, period);
                        Arc::new(LinearTransform::from_entries(slots, all)?)
                    }
                };
                known.insert(digest, map.clone());
                vec![(0, before, map)]
            };
            for (turn, before, map) in parts {
                *times.entry((turn, before, source, Some(map.digest()))).or_default() += 1;
                // Different maps of a rotated source have the noise of the rotation in common.
                if before != 0 {
                    *times.entry((0, before, source, None)).or_default() += 1;
                }
                // A map may be zero, and has no plan then.
                if !map.is_zero() {
                    of_slots.insert((target, turn, source), (before, map));
                }
            }
        }
        let alike = times.into_values().max().unwrap_or(1);
        let diagonals = diagonals.into_values().max().unwrap_or(1);
        Ok(Self { maps: of_slots, slots, alike, diagonals })
    }
}
