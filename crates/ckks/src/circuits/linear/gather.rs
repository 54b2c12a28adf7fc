//! Gathers: numbers of slots at other places, in any order and any number of times, by linear maps whose
//! diagonals hold ones and zeros. There is a diagonal for each distance that a number moves within its
//! polynomial.

use std::collections::BTreeMap;

use rustfft::num_complex::Complex64;

use super::{LinearTransform, LinearTransformOptions};
use crate::arrays::estimate::mixed_name;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Order, Padding};
use crate::embedding::encoding_errors;
use crate::error::CkksError;
use crate::evaluation::evaluator::{LevelsNeeded, check_slots};
use crate::evaluation::{Evaluator, doublings};

/// The operation's name in errors.
const GATHER: &str = "a selection of numbers";

/// Maximum of the diagonals of all maps; each takes a product, and there are keys for about twice the root of
/// their number.
const MAX_DIAGONALS: usize = 2048;

/// Whether [`gather`] takes this array.
pub(crate) fn is_movable(x: &Ciphertext) -> bool {
    let layout = x.layout();
    (layout.encoding(), layout.order(), layout.bodies()) == (Encoding::Slots, Order::Natural, 1)
}

/// The array with a polynomial, or several, for each row, as it is encrypted by default.
pub(crate) fn in_rows_alone(evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
    let shape = x.shape().to_vec();
    let to = Layout::new(&shape, Encoding::Slots, x.params().degree())?;
    gather(evaluator, x, &shape, Some(to), &(0..shape.iter().product()).collect::<Vec<_>>())
}

/// The array of shape `shape` whose entry `i` is entry `sources[i]` of `x`, both counted along the rows, at
/// the places of the layout `to`. By default short rows share polynomials.
///
/// # Errors
/// [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] unless there is a source for each entry;
/// [`CkksError::OutOfRange`] for entries that `x` does not have, and for more than 2048 distances in all
/// polynomials; [`CkksError::Unsuitable`] for slots in bit-reversed order and for shared masks; missing keys;
/// level errors.
pub(crate) fn gather(
    evaluator: &Evaluator,
    x: &Ciphertext,
    shape: &[usize],
    to: Option<Layout>,
    sources: &[usize],
) -> Result<Ciphertext, CkksError> {
    evaluator.check(x)?;
    check_slots(x, GATHER)?;
    if x.layout().order() != Order::Natural {
        return Err(CkksError::bit_reversed(GATHER));
    }
    if x.layout().bodies() > 1 {
        return Err(CkksError::shared_mask(
            GATHER,
            x.layout().bodies(),
            "numbers move from polynomial to polynomial",
            "take the bodies apart with split_mask",
        ));
    }
    let to = match to {
        Some(to) => to,
        None => {
            let alone = Layout::new(shape, Encoding::Slots, x.params().degree())?;
            if alone.rows() > 1 && alone.chunks() == 1 { alone.with_lanes(None)? } else { alone }
        }
    };
    let to = to.of_numbers(x.is_complex()).with_padding(Padding::Zero);
    let count = x.shape().iter().product::<usize>();
    if sources.len() != shape.iter().product::<usize>() || sources.iter().any(|&source| source >= count) {
        let remedy = format!("give the places of {shape:?} numbers, each below {count}");
        return Err(CkksError::Shape {
            operation: GATHER,
            left: x.shape().to_vec(),
            right: vec![sources.len()],
            remedy,
        });
    }
    if to.same_places(x.layout()) && sources.iter().copied().eq(0..count) {
        return Ok(x.clone().rearranged(shape.to_vec(), to.with_padding(x.padding())));
    }
    let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
    let maps = maps(x.layout(), &to, sources)?;
    let (alike, diagonals) = (most_alike(&maps), most_diagonals(&maps));
    let mut rounding = 0.0f64;
    let slots = x.layout().period().max(to.period());
    // The maps move noise alone; what is known of the numbers does not depend on how they move.
    let whole = x.polynomials_as_rows().estimated(Estimate::without_numbers);
    let wide = whole.layout().with_capacity(slots)?.of_columns(slots);
    let whole = whole.rearranged(vec![wide.rows(), slots], wide);
    let options = LinearTransformOptions { input_scale: Some(x.scale()), ..Default::default() };
    let mut sums: Vec<Option<Ciphertext>> = vec![None; to.polynomials()];
    for ((target, source), map) in maps {
        let transform = LinearTransform::from_diagonals(slots, map)?;
        let plan = transform.plan_with(x.params(), x.level(), options)?;
        rounding = rounding.max(encoding_errors(x.params().degree(), plan.diagonal_scale()).1);
        let mapped = plan.map_slots(evaluator, &evaluator.select_rows(&whole, &[source])?)?;
        let sum = &mut sums[target];
        *sum = Some(match sum.take() {
            None => mapped,
            Some(sum) => evaluator.add(&sum, &mapped)?,
        });
    }
    let parts: Vec<Ciphertext> = sums.into_iter().flatten().collect();
    let rows = evaluator.concatenate(&parts.iter().collect::<Vec<_>>())?;
    let steps: Vec<i64> = doublings(to.period(), slots).rev().map(|step| step as i64).collect();
    let moved = if steps.is_empty() { rows } else { evaluator.plus_rotated(rows, &steps)? };
    // Each diagonal leaves its rounding error of every number, also where it is zero.
    let terms = diagonals * slots / to.period();
    let period = x.layout().period().max(to.period());
    let kept = x.estimate.clone().gathered(sources).copied(period).with_cleared(&x.estimate, terms, rounding);
    let moved = moved.rearranged(shape.to_vec(), to);
    // Copies of a number have the same noise.
    Ok(moved.estimated(|own| kept.with_noise_of_rows(own, slots, alike)))
}

/// The largest number of polynomials of the result to which one polynomial is mapped in the same way: their
/// noise is the same.
fn most_alike(maps: &Maps) -> usize {
    let mut times: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for ((_, source), diagonals) in maps {
        let ones = diagonals.iter().flat_map(|(shift, diagonal)| {
            let chosen = diagonal.iter().enumerate().filter(|(_, value)| value.re != 0.0);
            chosen.map(|(place, _)| (*shift as u64, place as u64))
        });
        let name = ones.fold(29, |name, (shift, place)| mixed_name(mixed_name(name, shift), place));
        *times.entry((*source, name)).or_default() += 1;
    }
    times.into_values().max().unwrap_or(1)
}

/// The largest number of diagonals whose products are added to one polynomial of the result.
fn most_diagonals(maps: &Maps) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    maps.iter().for_each(|((target, _), map)| *counts.entry(*target).or_default() += map.len());
    counts.into_values().max().unwrap_or(1)
}

/// For each polynomial of the result and each one of the source, the diagonals of the map between them, by
/// distance.
type Maps = BTreeMap<(usize, usize), Vec<(i64, Vec<Complex64>)>>;

fn maps(from: &Layout, to: &Layout, sources: &[usize]) -> Result<Maps, CkksError> {
    let slots = from.period().max(to.period());
    let mut maps: BTreeMap<(usize, usize), BTreeMap<usize, Vec<Complex64>>> = BTreeMap::new();
    for target in 0..to.polynomials() {
        for (position, entry) in to.held(target) {
            let (row, column) = (sources[entry] / from.columns(), sources[entry] % from.columns());
            let place = from.place(row, column)?;
            let diagonals = maps.entry((target, place.bundle)).or_default();
            for position in position..position + to.copies() {
                let shift = (place.index + from.period() - position % from.period()) % from.period();
                let diagonal = diagonals.entry(shift).or_insert_with(|| vec![Complex64::default(); slots]);
                diagonal[position] = Complex64::new(1.0, 0.0);
            }
        }
    }
    let count: usize = maps.values().map(BTreeMap::len).sum();
    if count > MAX_DIAGONALS {
        let remedy = format!(
            "at most {MAX_DIAGONALS} in all polynomials: move numbers that lie side by side together, in several steps, or decrypt first"
        );
        let value = count.to_string();
        return Err(CkksError::OutOfRange { what: "the distances that numbers move", value, remedy });
    }
    let of_map = |map: BTreeMap<usize, Vec<Complex64>>| {
        map.into_iter().map(|(shift, diagonal)| (shift as i64, diagonal)).collect()
    };
    Ok(maps.into_iter().map(|(key, map)| (key, of_map(map))).collect())
}
