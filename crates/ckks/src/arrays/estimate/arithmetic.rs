//! Sums, products and linear maps of estimates.

use rustfft::num_complex::Complex64;

use super::bounds::product_deviations;
use super::masks::Masks;
use super::names::{mixed_name, name_of};
use super::source::{Source, Tails, times_numbers};
use super::spread::{Factors, Function, Spread};
use super::{Along, DIFFERENCES, Estimate, KNOWN_SUM, MatrixNorms, NEGATIVE, Root, Sums, product};

/// A name computed from two names in any order.
fn name_of_both(x: u64, y: u64) -> u64 {
    mixed_name(x.min(y), x.max(y))
}

impl Estimate {
    /// The number of terms along each axis if `mean` is the mean of these numbers; otherwise `None`.
    pub(super) fn counts_of_mean(&self, mean: &Self) -> Option<[f64; 2]> {
        let own = self.known_spread()?;
        let of_these = |sums: &&Sums| own.is_near(sums.numbers.times(sums.counts[0] * sums.counts[1]));
        mean.sums.iter().find(of_these).map(|sums| sums.counts)
    }

    /// The estimate of `x - mean`, where `mean` is the mean of `counts` numbers of `x` along each axis, from
    /// the estimate of this difference as one of unrelated numbers. The differences have a root mean square
    /// of at most the bound of `x`. They sum to zero, so an error that is equal in all of them is multiplied
    /// by zero in a sum of products.
    pub(super) fn less_mean(self, x: &Self, counts: [f64; 2]) -> Self {
        let along = counts.map(|count| count > 1.0);
        let share = if x.magnitude < self.magnitude { x.magnitude / self.magnitude } else { 1.0 };
        let root = Some(Root { axes: along, mean: share, square: share }).filter(|_| along != [false; 2]);
        let mut kept = Self { root, centred: along, ..self }.forgotten();
        let is_of_x = |source: &Source| x.sources.iter().any(|own| own.origin() == source.origin());
        let is_of_mean =
            |source: &Source| !is_of_x(source) && (0..2).all(|axis| !along[axis] || source.equal[axis]);
        // The differences sum to zero along the axis, and so do their errors, except the errors of the mean,
        // which are the same in all differences.
        if let [true, false] | [false, true] = along {
            let none = |together: [f64; 2]| [0, 1].map(|axis| if along[axis] { 0.0 } else { together[axis] });
            kept.together = none(kept.together);
            kept.sources
                .iter_mut()
                .filter(|source| !is_of_mean(source))
                .for_each(|source| source.together = none(source.together));
        }
        let Some(spread) = x.spread.filter(|_| kept.magnitude.is_finite()) else { return kept };
        for source in &mut kept.sources {
            source.factors = x
                .sources
                .iter()
                .find(|own| own.name == source.name)
                .and_then(|own| own.factors)
                .map(Factors::without_bound);
        }
        kept.with_spread(
            spread.less_mean(mixed_name(DIFFERENCES, mixed_name(counts[0].to_bits(), counts[1].to_bits()))),
        )
    }

    /// The estimate of a selection: a fraction `share` of the numbers are those of `x`, the others those of
    /// `y` at the same place, with their errors (see
    /// [`Ciphertext::as_chosen_from`](super::Ciphertext::as_chosen_from)).
    pub(crate) fn chosen(self, x: &Self, y: &Self, share: f64) -> Self {
        let of_both = |x: f64, y: f64| share * x + (1.0 - share) * y;
        let typical_of = |x: f64, y: f64| of_both(x * x, y * y).sqrt();
        let mut own = self.forgotten().without_cancelling(None);
        for source in &mut own.sources {
            let [of_x, of_y] = [x, y].map(|from| from.sources.iter().find(|own| own.name == source.name));
            if of_x.is_some() || of_y.is_some() {
                let errors = |of: Option<&Source>| {
                    of.map_or((0.0, 0.0), |own| (own.typical_of_numbers(), own.worst.abs()))
                };
                let (of_x, of_y) = (errors(of_x), errors(of_y));
                *source = source.unsigned();
                (source.typical, source.worst) =
                    (source.typical.min(typical_of(of_x.0, of_y.0)), source.worst.min(of_x.1.max(of_y.1)));
            }
        }
        let (magnitude, typical) = (x.magnitude.max(y.magnitude), typical_of(x.typical, y.typical));
        Self { magnitude, typical, mean: of_both(x.mean, y.mean), ..own }
    }

    /// Forgets that numbers or errors sum to zero along this axis (along both, if `None`), for operations
    /// that drop numbers or multiply them by different factors.
    pub(super) fn without_cancelling(self, along: Option<Along>) -> Self {
        let least = |together: [f64; 2]| {
            [Along::Rows, Along::Columns].map(|axis| {
                if along.is_none_or(|along| along == axis) {
                    together[axis as usize].max(1.0)
                } else {
                    together[axis as usize]
                }
            })
        };
        let numbers = least(self.together);
        let kept =
            |axes: [bool; 2]| if along.is_none_or(|along| axes[along as usize]) { [false; 2] } else { axes };
        Self { together: numbers, centred: kept(self.centred), ..self.without_root() }.map_sources(|source| {
            Source { together: least(source.together), centred: kept(source.centred), ..source }
        })
    }

    /// Forgets the bounds on means along axes.
    pub(super) fn without_root(self) -> Self {
        if self.root.is_none() {
            self
        } else {
            Self { root: None, ..self }.map_sources(|source| Source { root: 1.0, ..source })
        }
    }

    pub(super) fn joined(mut self, mut other: Self, sign: f64) -> Self {
        (self, other) = (self.without_root(), other.without_root());
        let spread = self.spread_with(&other, |x, y| x.plus(y.times(Function::constant(sign))));
        if spread.is_none() {
            (self, other) = (self.forgotten(), other.forgotten());
        }
        if sign < 0.0 {
            other = other.map_sources(|source| match (source.signed, spread) {
                (true, _) => source.times(-1.0, -1.0),
                (false, None) => source,
                (false, Some(_)) => {
                    Source { factors: Some(source.factors().times(Function::constant(-1.0))), ..source }
                }
            });
        }
        other.sources.iter().for_each(|&source| self.push(source));
        self.with_rest(other.rest, other.dropped.as_deref());
        let same = self.name == other.name;
        let variance = |x: &Self| (x.typical * x.typical - x.mean * x.mean).max(0.0);
        let mean = self.mean + sign * other.mean;
        let sum_of_variances = if same {
            (variance(&self).sqrt() + variance(&other).sqrt()).powi(2)
        } else {
            variance(&self) + variance(&other)
        };
        let magnitude = self.magnitude + other.magnitude;
        let typical = if magnitude.is_finite() {
            (mean * mean + sum_of_variances).sqrt().min(magnitude)
        } else {
            f64::INFINITY
        };
        let salt = mixed_name(other.name, sign.to_bits());
        let (own, foreign) =
            if variance(&self) > variance(&other) { (&self, &other) } else { (&other, &self) };
        let together = if variance(foreign) == 0.0 {
            own.together
        } else {
            [0, 1].map(|axis| own.together[axis].max(foreign.together[axis]))
        };
        let centred =
            if self.centred == other.centred || other.magnitude == 0.0 { self.centred } else { [false; 2] };
        let mut sum = Self { magnitude, typical, mean, together, centred, sums: Vec::new(), ..self };
        if let Some(spread) = spread {
            sum = sum.with_spread(spread);
        }
        // Adding zeros without an error changes nothing.
        if other.magnitude == 0.0 && other.has_no_errors() {
            return sum;
        }
        let masks = match (sum.masks.name, other.masks.name) {
            (_, None) => sum.masks,
            (None, Some(_)) if sign < 0.0 => other.masks.negated(),
            (None, Some(_)) => other.masks,
            (Some(_), Some(_)) => {
                sum.masks.joined(other.masks, |own, other| mixed_name(own, mixed_name(other, sign.to_bits())))
            }
        };
        Self { name: mixed_name(sum.name, salt), masks, ..sum }
    }

    /// `x + y`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.joined(other, 1.0)
    }

    /// `x - y`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        match self.counts_of_mean(&other) {
            Some(counts) => self.clone().joined(other, -1.0).less_mean(&self, counts),
            None => self.joined(other, -1.0),
        }
    }

    /// `x y`, number by number.
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        self.product_with(other, false)
    }

    /// [`Estimate::multiply`]; with `one_number`, all entries of `other` may be one number.
    pub(crate) fn product_with(self, other: Self, one_number: bool) -> Self {
        let magnitude = product(self.magnitude, other.magnitude);
        let typical = product(self.typical, other.typical);
        let mean = if self.name == other.name {
            typical
        } else {
            product(self.mean, other.mean).clamp(-typical, typical)
        };
        let spread = self.spread_with(&other, Function::times);
        let (own, foreign) = (self.errors_everywhere(), other.errors_everywhere());
        let root = match (self.root, other.root) {
            (Some(x), Some(y)) if x.axes == y.axes => {
                Some(Root { mean: x.square * y.square, square: x.square.min(y.square), ..x })
            }
            (Some(_), Some(_)) => None,
            (own, other) => own.or(other),
        };
        let together = times_numbers(self.together, (other.mean, other.typical), other.together);
        let foreign_together = times_numbers(other.together, (self.mean, self.typical), self.together);
        let together = [0, 1].map(|axis| together[axis].max(foreign_together[axis]));
        let mut result = Self { magnitude, typical, mean, root, together, ..Self::exact(0.0) };
        if let Some(spread) = spread {
            result = result.with_spread(spread);
        }
        let constant = |x: &Self| x.spread.and_then(|spread| spread.one_number());
        let times =
            |x: &Self, factor: f64| (x.centred, x.sums.iter().map(|sums| sums.times(factor)).collect());
        (result.centred, result.sums) = match (constant(&self), constant(&other)) {
            (_, Some(factor)) => times(&self, factor),
            (Some(factor), None) => times(&other, factor),
            (None, None) => ([false; 2], Vec::new()),
        };
        for (x, y) in [(&self, &other), (&other, &self)] {
            let numbers = y.known_spread().filter(|_| spread.is_some());
            let times = |source: &Source| {
                let own = source.unsigned().without_factors(x.together).times(y.typical, y.magnitude);
                // Along the axes of the bounds, a product has the smaller of the factors' bounds.
                let own = Source {
                    root: root.map_or(1.0, |_| y.root.map_or(1.0, |root| root.square).min(source.root)),
                    ..own
                };
                let times = |numbers: Spread| {
                    let factors = source.factors().times(numbers.numbers);
                    if numbers.typically { factors.without_bound() } else { factors }
                };
                // An error that is the same for all numbers, times numbers that sum to zero, sums to zero.
                if y.centred != [false; 2] && (0..2).all(|axis| !y.centred[axis] || source.equal[axis]) {
                    return Source { equal: [false; 2], together: [1.0; 2], centred: y.centred, ..own };
                }
                let own = Source { factors: numbers.map(times), ..own };
                let equal = source.equal.map(|equal| equal && one_number);
                let centred = if constant(y).is_some() { source.centred } else { [false; 2] };
                // If an error is a function of the numbers, the function determines its sums.
                let together = if numbers.is_some() {
                    source.together
                } else {
                    times_numbers(own.together, (y.mean, y.typical), y.together)
                };
                Source { equal, together, centred, ..own }
            };
            let rest_times = |rest: &Source| {
                let together = times_numbers(rest.together, (y.mean, y.typical), y.together);
                Source { together, ..rest.unsigned().times(y.typical, y.magnitude) }
            };
            x.sources.iter().for_each(|source| result.push(times(source)));
            result.with_rest(rest_times(&x.rest), x.dropped.as_deref());
        }
        result.name = name_of_both(self.name, other.name);
        result.masks = match self.masks.name.or(other.masks.name) {
            Some(_) => self.masks.or_named(self.name).joined(other.masks.or_named(other.name), name_of_both),
            None => Masks::of_plain(false),
        };
        // Adds the product of both errors; at worst one of them is at its bound.
        result.with_errors(product(own.0, foreign.0), product(product_deviations(1.0) * own.1, foreign.1))
    }

    /// `c x` for a public number `c`.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        if factor == 1.0 {
            return self;
        }
        let (magnitude, typical, mean) = (
            product(self.magnitude, factor.abs()),
            product(self.typical, factor.abs()),
            product(self.mean, factor),
        );
        let spread = self.known_spread();
        let scaled = self.map_sources(|source| {
            let scaled = source.times(factor, factor);
            match (source.signed, spread) {
                (true, _) => scaled,
                // A positive factor does not need a function for an error that is the same for all numbers.
                (false, Some(_)) if factor < 0.0 || source.factors.is_some() => Source {
                    factors: Some(source.factors().times(Function::constant(factor))),
                    ..scaled.unsigned()
                },
                (false, _) => scaled.unsigned(),
            }
        });
        let spread = spread.map(|spread| spread.times(factor));
        let sums = scaled.sums.iter().map(|sums| sums.times(factor)).collect();
        let scaled = Self { magnitude, typical, mean, spread, sums, ..scaled };
        // Negating twice gives the array itself.
        if factor == -1.0 {
            return Self { name: scaled.name ^ NEGATIVE, masks: scaled.masks.negated(), ..scaled };
        }
        scaled.named(factor.to_bits())
    }

    /// `c x` for a public complex number `c`.
    pub(crate) fn times_complex(self, factor: Complex64) -> Self {
        if factor.im == 0.0 {
            return self.scale(factor.re);
        }
        // A real and an imaginary multiple of one error do not cancel.
        let scaled = self.map_sources(Source::unsigned).scale(factor.norm()).forgotten();
        Self { mean: 0.0, ..scaled }.named(name_of([factor.re, factor.im]))
    }

    /// The sum of `count` numbers along an axis of an array whose slots repeat with the period `period`. The
    /// numbers occupy `places` places; all of them have errors, including those without a number.
    pub(crate) fn sum(self, along: Along, (count, places): (usize, usize), period: usize) -> Self {
        if (count, places) == (1, 1) {
            return self;
        }
        let (axis, numbers, terms) = (along as usize, count as f64, places.max(count) as f64);
        let mean = product(self.mean, numbers);
        let spread = (self.typical * self.typical - self.mean * self.mean).max(0.0)
            * numbers
            * self.together[axis].min(numbers);
        let without = |axes: [bool; 2]| [0, 1].map(|other| axes[other] && other != axis);
        // A sum along the last axis of the bounds turns them into a bound on the sum.
        let ends = self.root.is_some_and(|root| root.axes[axis] && without(root.axes) == [false; 2]);
        let magnitude =
            product(self.magnitude, numbers * self.root.filter(|_| ends).map_or(1.0, |root| root.mean));
        let root = self.root.filter(|_| !ends).map(|root| {
            let square = if root.axes[axis] { 1.0 } else { root.square };
            Root { axes: without(root.axes), square, ..root }
        });
        let typical =
            if magnitude.is_finite() { (mean * mean + spread).sqrt().min(magnitude) } else { f64::INFINITY };
        let all = product(self.rest.worst, terms);
        let own = self.known_spread().map(|numbers| Sums { numbers, counts: [1.0; 2] });
        let mut sums: Vec<Sums> = own.into_iter().chain(self.sums.iter().copied()).take(2).collect();
        sums.iter_mut().for_each(|sums| sums.counts[axis] *= numbers);
        let deviations = self.together;
        let summed = self.map_sources(|source| {
            // The lanes of sums of rows are neighbouring slots in the sum of such a row.
            let lanes = if along == Along::Columns && source.period == 1.0 { source.alike[0] } else { 1.0 };
            let source = source.repeating(period as f64);
            let own = if source.cleared { numbers } else { terms };
            // The root mean square over places with a number and places without one.
            let of_places = |number: f64, place: f64| {
                ((numbers * number * number + (own - numbers) * place * place) / own).sqrt()
            };
            let alike = source.alike[axis] >= own;
            let coherent = source.factors.filter(|_| alike).map(|factors| numbers * factors.by.mean());
            let source = match source.factors {
                None => source,
                Some(_) => Source {
                    typical: of_places(source.typical_of_numbers(), source.typical),
                    worst: of_places(source.worst_of_numbers(), source.worst),
                    ..source.without_factors(deviations)
                },
            };
            let source = if ends {
                Source { worst: of_places(source.root, 1.0) * source.worst, root: 1.0, ..source }
            } else {
                source
            };
            let independent = (own * source.alike[axis].min(own)).sqrt();
            let typical = match coherent {
                // The mean of the factors of one error adds linearly, the deviations from it as those of the
                // numbers do.
                Some(sum) => {
                    let varied = (own - sum * sum / (numbers * source.typical * source.typical)).max(0.0);
                    (sum / source.typical).hypot((varied * deviations[axis].clamp(1.0, numbers)).sqrt())
                }
                None => (own * source.together[axis].min(own)).sqrt(),
            };
            let worst = match (source.mixed[axis], source.tails) {
                // See `KNOWN_SUM`.
                (true, Tails::Known) if along == Along::Columns && source.alike[axis] == 1.0 => {
                    independent.max(own / KNOWN_SUM)
                }
                (true, _) => own,
                (false, _) => independent,
            };
            let (mut alike, mut together, mut equal) = (source.alike, source.together, source.equal);
            (alike[axis], equal[axis]) = (alike[axis].max(terms * lanes), true);
            together[axis] = alike[axis];
            let tails = if along == Along::Columns { source.tails.summed() } else { source.tails };
            // Errors that sum to zero over the numbers, but not over all places, vanish only in means over
            // repetitions.
            let centred =
                if own == numbers || !source.centred[axis] { without(source.centred) } else { [false; 2] };
            let hidden = source.hidden || (own == numbers && source.centred[axis] && centred == [false; 2]);
            // A sum over other places is another error.
            let cleared = source.cleared && along == Along::Rows;
            Source { alike, together, equal, tails, cleared, hidden, centred, ..source.times(typical, worst) }
                // Sources that grow differently at worst do not cancel in sums.
                .derived(mixed_name(mixed_name(axis as u64, count as u64), worst.to_bits()))
        });
        // The rest may depend on all other sources, so it adds linearly.
        let rest = Source { worst: all, equal: [false; 2], ..summed.rest };
        let mut together = summed.together;
        together[axis] = 1.0;
        let centred = without(summed.centred);
        let masks = summed.masks.summed(along);
        Self { rest, magnitude, mean, typical, root, together, centred, sums, masks, spread: None, ..summed }
            .named(mixed_name(axis as u64, count as u64))
    }

    /// Adds the errors that remain in `places` places that a mask cleared and that are then added to others:
    /// the numbers in these places times the mask's rounding error, of root mean square `rounding` in a slot.
    /// The mask's rounding error is deterministic, so at worst the numbers have its signs.
    pub(crate) fn with_cleared(self, numbers: &Self, places: usize, rounding: f64) -> Self {
        let count = places as f64;
        self.with_rounding_of_mask(
            1,
            (rounding * count.sqrt(), rounding * count.sqrt().max(count / KNOWN_SUM)),
            numbers,
        )
    }

    /// The product with a matrix along an axis; `rounding` is the root of the sum of squares, and the sum of
    /// magnitudes, of the rounding errors in a row of the matrix.
    pub(crate) fn mapped(self, along: Along, norms: &MatrixNorms, rounding: (f64, f64)) -> Self {
        let (axis, row_sum) = (along as usize, norms.row_sum);
        let salt = mixed_name(norms.name, axis as u64);
        let (typical, mean, worst, all) =
            (self.typical, self.mean, self.magnitude, product(self.rest.worst, row_sum));
        let mapped = self.forgotten().without_root().map_sources(|source| {
            let (mut mixed, mut equal, mut together) = (source.mixed, source.equal, source.together);
            let centred = if source.centred[axis] { [false; 2] } else { source.centred };
            (mixed[axis], equal[axis]) = (true, false);
            let tails = if along == Along::Columns { source.tails.summed() } else { source.tails };
            let (typical, own) = norms.typical(together[axis]);
            together[axis] = own;
            let worst = if source.alike[axis] > 1.0 || source.mixed[axis] { row_sum } else { norms.row_norm };
            Source {
                mixed,
                equal,
                together,
                centred,
                tails,
                cleared: false,
                ..source.unsigned().times(typical, worst)
            }
            .derived(salt)
        });
        let rest = Source { worst: all, ..mapped.rest };
        let magnitude = product(worst, row_sum);
        let centred = if mapped.centred[axis] { [false; 2] } else { mapped.centred };
        let masks = mapped.masks.mapped(along, norms.equal_rows);
        let mut own = Self { rest, magnitude, centred, masks, ..mapped }.named(salt);
        let (deviation, together) = norms.typical(own.together[axis]);
        let variance = product(deviation, (typical * typical - mean * mean).max(0.0).sqrt()).powi(2);
        own.together[axis] = together;
        own.typical = if typical.is_finite() {
            (variance + norms.square_of(mean)).sqrt().min(magnitude)
        } else {
            magnitude
        };
        own.mean = norms.mean_of(mean).clamp(-own.typical, own.typical);
        // In a map of rows, each weight multiplies all numbers of a row.
        let (typical, worst) = (product(typical, rounding.0), product(worst, rounding.1));
        if along == Along::Rows {
            own.with_errors_of_factors([false, true], typical, worst)
        } else {
            own.with_rounding_of_map(typical, worst)
        }
    }

    /// `f(x)` for a function `f` of one number with name `name`: its values have this largest magnitude, root
    /// mean square and mean, its derivative this root mean square and largest magnitude.
    pub(crate) fn applied(
        self,
        name: u64,
        (magnitude, typical, mean): (f64, f64, f64),
        derivative: (f64, f64),
    ) -> Self {
        let applied = self.forgotten().without_cancelling(None).map_sources(|source| Source {
            equal: [false; 2],
            ..source.unsigned().times(derivative.0, derivative.1)
        });
        Self { magnitude, typical, mean, ..applied }.named(name)
    }
}
