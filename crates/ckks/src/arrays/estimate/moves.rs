//! Estimates of arrays whose numbers or polynomials move.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ops::Range;

use super::masks::Masks;
use super::names::mixed_name;
use super::source::{Source, Tails, share};
use super::{Along, EVERYWHERE, Estimate, LEFT_FACTOR, TRANSPOSED};
use crate::arrays::layout::Layout;

/// What estimates need to know of numbers that are taken from other places. It depends on the places alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gathered {
    /// Names the places.
    salt: u64,
    /// How often a number is taken at most: in all, in a column of the result, and in a row.
    times: usize,
    in_column: usize,
    in_row: usize,
    /// Whether rows are taken whole, or parts of them in the same places of all.
    by_places: bool,
    /// Rows that share a polynomial and take equal numbers from different slots, whose errors are
    /// independent, and the most rows in the same slots.
    lanes: usize,
    most: f64,
}

/// How often a key occurs at most; 1 without keys.
fn most_alike(mut keys: Vec<(usize, usize)>) -> usize {
    keys.sort_unstable();
    keys.chunk_by(|one, other| one == other).map(<[_]>::len).max().unwrap_or(1)
}

impl Gathered {
    /// The numbers at `sources` of an array that lies as `from`, for one that lies as `to`.
    pub(crate) fn new(sources: &[Option<usize>], (from, to): (&Layout, &Layout)) -> Self {
        let place = |source: &Option<usize>| source.map_or(u64::MAX, |source| source as u64);
        let salt = sources.iter().fold(23, |salt, source| mixed_name(salt, place(source)));
        let columns = to.columns();
        let mut counts = vec![0usize; sources.iter().flatten().max().map_or(0, |most| most + 1)];
        sources.iter().flatten().for_each(|&source| counts[source] += 1);
        let times = counts.into_iter().max().unwrap_or(1);
        let largest = |key: &dyn Fn(usize, usize) -> (usize, usize)| {
            let taken = sources.iter().enumerate().filter_map(|(entry, &source)| Some(key(entry, source?)));
            most_alike(taken.collect())
        };
        let (in_column, in_row) = match times {
            1 => (1, 1),
            _ => (
                largest(&|entry, source| (source, entry % columns)),
                largest(&|entry, source| (source, entry / columns)),
            ),
        };
        let row_of = |source: usize| (source / from.columns(), source % from.columns());
        let first = |entry: usize| sources[entry].map(row_of);
        let by_places = sources.len().is_multiple_of(columns)
            && sources.iter().enumerate().all(|(entry, source)| {
                let (row, column) = (first(entry / columns * columns), first(entry % columns));
                source.map(row_of) == row.zip(column).map(|(row, column)| (row.0, column.1))
            });
        let lanes = (to.period() / from.period()).clamp(1, to.lanes());
        let most = to.rows().div_ceil(lanes) as f64;
        Self { salt, times, in_column, in_row, by_places, lanes, most }
    }

    /// How many numbers are together along both axes: rows are taken whole, or else whole rows, or columns,
    /// several times, or else numbers anywhere.
    fn together(&self, of: [f64; 2]) -> [f64; 2] {
        match (self.by_places, self.in_column * self.in_row >= self.times) {
            (true, _) => [of[0] * self.in_column as f64, of[1] * self.in_row as f64],
            (false, true) => [self.in_column, self.in_row].map(|own| of[0] * of[1] * own as f64),
            (false, false) => [of[0] * of[1] * self.times as f64; 2],
        }
    }
}

impl Estimate {
    /// The errors in `slots` slots, with each number in `copies` neighbouring slots. Sums by rotations of
    /// numbers whose slots repeat are equal in all slots, but their errors are not: only the means of the
    /// errors over the repetitions are equal.
    pub(crate) fn in_slots(self, slots: usize, copies: usize) -> Self {
        self.map_sources(|source| match source.period < slots as f64 {
            false if copies == 1 => Source { period: EVERYWHERE, ..source },
            false => Source { equal: [source.equal[0], false], ..source },
            true => source,
        })
    }

    /// The numbers as the only sum of `count` numbers in each row, in slots with period `period`.
    pub(crate) fn summed_over(self, count: usize, period: usize) -> Self {
        self.forgotten().map_sources(|source| {
            let most = |own: [f64; 2]| [own[0], own[1].max(count as f64)];
            Source {
                alike: most(source.alike),
                together: most(source.together),
                cleared: false,
                ..source.repeating(period as f64)
            }
        })
    }

    /// The same numbers with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        let swap = |source: Source| Source {
            alike: [source.alike[1], source.alike[0]],
            together: [source.together[1], source.together[0]],
            mixed: [source.mixed[1], source.mixed[0]],
            equal: [source.equal[1], source.equal[0]],
            // The numbers of a column are in one polynomial.
            tails: source.tails.summed(),
            ..source
        };
        let masks = self.masks.transposed().named(TRANSPOSED);
        let swapped = self.map_sources(swap).elsewhere(None, TRANSPOSED);
        Self { together: [swapped.together[1], swapped.together[0]], masks, ..swapped }
    }

    /// The same numbers at other places along an axis (both, if `None`), where they are combined with other
    /// numbers. Sources that are equal in all places keep their names, because moving them changes nothing.
    pub(super) fn elsewhere(mut self, along: Option<Along>, salt: u64) -> Self {
        (self.spread, self.sums) = (self.spread.map(|spread| spread.elsewhere(salt)), Vec::new());
        let same = |source: &Source| {
            source.period >= EVERYWHERE
                && along.map_or(source.equal == [true; 2], |along| source.equal[along as usize])
        };
        // Columns of one polynomial have one mask.
        let masks = match along {
            Some(Along::Columns) => self.masks.named(salt),
            Some(Along::Rows) | None => self.masks.elsewhere(salt),
        };
        let moved = self
            .without_cancelling(along)
            .map_sources(|source| if same(&source) { source } else { source.derived(salt) });
        Self { masks, ..moved.named(salt) }
    }

    /// The numbers at other places, in another shape and layout, and zeros. Numbers along both axes may come
    /// from either axis.
    pub(crate) fn gathered(self, by: &Gathered) -> Self {
        let numbers = by.together(self.together);
        let anywhere = |before: &Source, source: Source| {
            let together = by.together(before.together);
            let in_slots = by.lanes > 1 && source.period <= 1.0;
            let rows = if in_slots { together[0].min(by.most) } else { together[0] };
            Source { together: [rows, together[1]], ..source }
        };
        let gathered = self.gathered_as(by.times, by.salt, anywhere);
        Self { together: numbers, ..gathered }
    }

    /// [`Estimate::gathered`] of numbers that are taken `times` times at most; `salt` names the places.
    pub(crate) fn gathered_times(self, times: usize, salt: u64) -> Self {
        self.gathered_as(times, salt, |_, source| source)
    }

    /// [`Estimate::gathered`] of the factors of sums of products, with a row for each term: a number is taken
    /// `times` times in a row, and once in a column. The array has each number `copies` times in a row, which
    /// are never factors of one sum.
    pub(crate) fn into_factors(self, times: usize, copies: usize, salt: u64) -> Self {
        let numbers = |of: [f64; 2]| {
            let alone = (of[0] * of[1] / copies as f64).max(1.0);
            [alone, alone * times as f64]
        };
        let together = numbers(self.together);
        let known = |before: &Source, source: Source| Source { together: numbers(before.together), ..source };
        let gathered = self.gathered_as(times, salt, known);
        Self { together, ..gathered }
    }

    fn gathered_as(self, times: usize, salt: u64, known: impl Fn(&Source, Source) -> Source) -> Self {
        let product = |of: [f64; 2]| [of[0] * of[1] * times as f64; 2];
        let anywhere = |source: Source| {
            let own = Source {
                alike: product(source.alike),
                together: product(source.together),
                mixed: [source.mixed[0] || source.mixed[1]; 2],
                equal: [source.equal[0] && source.equal[1]; 2],
                centred: [false; 2],
                cleared: false,
                // The numbers of a column are in one polynomial.
                tails: source.tails.summed(),
                ..source
            };
            known(&source, own)
        };
        let (together, masks) = (product(self.together), self.masks.gathered());
        let gathered = Self { masks, ..self }.map_sources(anywhere).elsewhere(None, salt);
        Self { together, ..gathered }
    }

    /// The numbers of the left factor of a matrix product: they are multiplied with the right factor's
    /// numbers at other places, and the products along columns are added.
    pub(crate) fn into_left_factor(self) -> Self {
        self.elsewhere(None, LEFT_FACTOR)
    }

    /// Marks errors of different numbers as possibly dependent.
    pub(crate) fn mixed(self) -> Self {
        self.map_sources(|source| Source { mixed: [true; 2], ..source })
    }

    /// Marks the errors in places without a number as multiplied by zero.
    pub(crate) fn cleared(self) -> Self {
        self.map_sources(|source| Source { cleared: true, ..source })
    }

    /// Slots that repeated with a longer period now repeat with `period`, filled with copies.
    pub(crate) fn copied(self, period: usize) -> Self {
        self.map_sources(|source| source.repeating(period as f64))
    }

    /// The complex conjugates of the numbers.
    pub(crate) fn conjugated(self) -> Self {
        self.forgotten().map_sources(Source::unsigned).named(5)
    }

    /// The numbers of each row, rotated by the public number `steps`; places repeat with the period `period`,
    /// a power of two. The names of rotations add, as the rotations do.
    pub(crate) fn rotated(self, steps: i64, period: usize) -> Self {
        let turn = steps.cast_unsigned().wrapping_mul((u64::MAX / period as u64).wrapping_add(1));
        let mut rotated = self.forgotten().without_root().map_sources(|source| {
            // Errors that are equal in all places stay the same.
            let source = Source { cleared: false, ..source };
            let columns = Along::Columns as usize;
            if source.equal[columns] && source.period >= EVERYWHERE {
                return source;
            }
            // If the errors of different numbers depend on each other, the rotated errors depend on the
            // original ones.
            let entangled = source.entangled || source.mixed[columns];
            let mixed = Source { mixed: [source.mixed[0], true], entangled, centred: [false; 2], ..source };
            // Errors that may be equal in several places become another source with the same origin.
            if source.alike[columns] > 1.0 { mixed.derived(turn) } else { mixed.rotated(turn) }
        });
        rotated.centred = [false; 2];
        rotated.name = rotated.name.wrapping_add(turn);
        rotated.masks = rotated.masks.rotated(turn);
        rotated
    }

    /// The selected rows, each of which occurs at most `times` times.
    pub(crate) fn selected(self, rows: &[usize], times: usize) -> Self {
        let salt = rows.iter().fold(17, |salt, &row| mixed_name(salt, row as u64));
        self.elsewhere(Some(Along::Rows), salt).repeated(Along::Rows, times)
    }

    /// The selected columns, moved to the first places of a row.
    pub(crate) fn selected_columns(self, columns: &Range<usize>) -> Self {
        self.elsewhere(
            Some(Along::Columns),
            mixed_name(mixed_name(19, columns.start as u64), columns.end as u64),
        )
    }

    /// Each row, or each number of a row, repeated `count` times.
    pub(crate) fn repeated(self, along: Along, count: usize) -> Self {
        let mut numbers = self.together;
        numbers[along as usize] *= count as f64;
        let (sums, masks) = (self.sums.clone(), self.masks.repeated(along, count as f64));
        Self { together: numbers, sums, masks, ..self.forgotten() }.map_sources(|source| {
            let (mut alike, mut together) = (source.alike, source.together);
            alike[along as usize] *= count as f64;
            together[along as usize] *= count as f64;
            Source { alike, together, cleared: false, ..source }
        })
    }

    /// The only number of each row, which fills its polynomial, repeated as all numbers of `chunks`
    /// polynomials. An error with a period is equal in as many numbers as the period has slots.
    pub(crate) fn with_number_repeated(self, chunks: usize) -> Self {
        let everywhere = self.map_sources(|source| {
            let most = |own: [f64; 2]| [own[0], own[1].max(source.period)];
            Source { alike: most(source.alike), together: most(source.together), ..source }
        });
        let together = [everywhere.together[0], EVERYWHERE];
        Self { together, ..everywhere.repeated(Along::Columns, chunks) }
    }

    /// The only row repeated `rows` times. Polynomials are copied with their errors; slots of different lanes
    /// have different errors, except errors that are equal in all slots.
    pub(crate) fn with_rows_repeated(self, rows: usize, lanes: usize) -> Self {
        let masks = self.masks.repeated(Along::Rows, rows.div_ceil(lanes) as f64);
        let repeated = Self { masks, ..self.repeated(Along::Rows, rows) };
        if rows == 1 {
            return repeated;
        }
        let equal = |equal: [bool; 2]| [equal[0] || equal[1] || lanes == 1, equal[1]];
        repeated.map_sources(|source| Source { equal: equal(source.equal), ..source })
    }

    /// Arrays of the same kind and these sizes, joined along an axis to an array with this layout.
    pub(crate) fn side_by_side((parts, sizes): (&[Self], &[usize]), along: Along, layout: &Layout) -> Self {
        let Some((first, others)) = parts.split_first() else { return Self::exact(0.0) };
        let axis = along as usize;
        // Columns may lie side by side in one polynomial; rows do not.
        let whole = along == Along::Rows || layout.chunks() > 1;
        let masks: Vec<Masks> = parts.iter().map(|part| part.masks.or_named(part.name)).collect();
        let name = masks.iter().filter_map(|masks| masks.name).fold(axis as u64, mixed_name);
        let masks = Masks::side_by_side(&masks, name, along, whole);
        if others.iter().all(|other| other == first) {
            return Self { masks, ..first.clone().repeated(along, parts.len()) };
        }
        let parts: Vec<Self> = parts.iter().cloned().map(Self::forgotten).collect();
        let largest = |part: fn(&Self) -> f64| parts.iter().map(part).fold(0.0, f64::max);
        // Parts with different means deviate from the mean of all.
        let whole = sizes.iter().sum::<usize>().max(1) as f64;
        let average = |part: fn(&Self) -> f64| {
            let of_part = |(own, &size): (&Self, &usize)| part(own) * size as f64 / whole;
            parts.iter().zip(sizes).map(of_part).sum::<f64>()
        };
        let mut own = Self {
            magnitude: largest(|x| x.magnitude),
            typical: average(|x| x.typical * x.typical).sqrt(),
            mean: average(|x| x.mean),
            ..Self::exact(0.0)
        };
        own.name = parts.iter().fold(axis as u64, |name, part| mixed_name(name, part.name));
        own.masks = masks;
        // One error, as large as the largest of all parts, replaces the errors of the parts. It depends on
        // all their sources.
        let all = || parts.iter().flat_map(|part| part.sources.iter().chain([&part.rest]));
        let mut one = all().copied().reduce(Source::joined).unwrap_or(Source::NONE).unsigned();
        let mut times: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
        for source in parts.iter().flat_map(|part| &part.sources) {
            let own = times.entry(source.name).or_default();
            *own = [own[0] + source.alike[axis], own[1] + source.together[axis]];
        }
        (one.alike[axis], one.together[axis]) = times
            .into_values()
            .fold((1.0, 0.0), |most, own| (f64::max(most.0, own[0]), f64::max(most.1, own[1])));
        // Parts of one array may have the same numbers.
        let names: BTreeSet<(u64, u64)> = parts
            .iter()
            .flat_map(|part| &part.sources)
            .map(|source| (source.origin(), source.name))
            .collect();
        let related = names.iter().zip(names.iter().skip(1)).any(|(one, next)| one.0 == next.0);
        one.mixed[axis] |= related
            || all().any(|source| source.entangled)
            || parts.iter().any(|part| part.rest.worst != 0.0);
        let errors = || parts.iter().map(|part| part.repeated_slot_errors(layout));
        (one.typical, one.worst) =
            errors().fold((0.0, 0.0), |most: (f64, f64), own| (most.0.max(own.0), most.1.max(own.1)));
        one.period = layout.period() as f64;
        (one.entangled, one.equal, one.centred, one.hidden, one.origin) =
            (true, [false; 2], [false; 2], false, None);
        if !one.worst.is_finite() {
            return Self { rest: Source { name: 0, ..one }, ..own };
        }
        own.push(Source { name: all().fold(own.name, |name, source| mixed_name(name, source.name)), ..one });
        own
    }

    /// The same numbers and errors in an array with another layout, after a move that made different numbers
    /// depend on each other and added an error of numbers of these root mean squares, typical and worst.
    pub(crate) fn moved(self, from: &Layout, to: &Layout, (typical, worst): (f64, f64)) -> Self {
        let unit = share(1.0, to);
        // If numbers stay in their slots, errors that repeat with the numbers still do.
        let stays = from.encoding == to.encoding && from.period() == to.period();
        let moved = if stays { self } else { self.forgotten() }.map_sources(|source| {
            let (kept, period) =
                if stays { (1.0, source.period) } else { (share(source.period, from) / unit, 1.0) };
            let hidden = source.hidden && stays;
            // Independent errors stay independent.
            let mixed = source.mixed.map(|mixed| mixed || source.tails == Tails::Known);
            let (tails, cleared, own) = (source.tails.summed(), false, source.times(kept, kept));
            Source { mixed, period, hidden, tails, cleared, equal: [false; 2], centred: [false; 2], ..own }
        });
        moved.named(11).with_own(Tails::Product, typical / unit, worst / unit)
    }
}
