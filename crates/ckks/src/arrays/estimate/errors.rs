//! How errors enter an estimate: each with a source of its own, as far as an estimate tells sources apart.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use super::masks::Masks;
use super::names::{StoredName, mixed_name};
use super::source::{Source, Tails, share, times_numbers};
use super::spread::{Factors, Function};
use super::{
    Along, BIAS, EVERYWHERE, Estimate, FACTOR, LEAST_DEVIATIONS, MAX_DROPPED, MAX_SOURCES, ROUNDING, product,
};
use crate::arrays::layout::Layout;

impl Estimate {
    /// The same numbers without errors.
    pub(crate) fn without_errors(self) -> Self {
        Self { sources: Vec::new(), rest: Source::NONE, dropped: Some(Vec::new()), ..self }
    }

    /// The noise of operations on two arrays whose slots have independent errors.
    pub(crate) fn beside(self, other: Self) -> Self {
        let (own, foreign) = (self.slot_errors(), other.slot_errors());
        self.without_numbers().with_errors(own.0.hypot(foreign.0), own.1.hypot(foreign.1))
    }

    /// Adds the noise of `steps` to these numbers. The noise may be equal in `period` neighbouring slots and
    /// may repeat after them.
    pub(crate) fn with_noise_of(self, steps: Self, period: usize) -> Self {
        self.with_noise(steps, (period, period))
    }

    /// Adds the noise of `steps`, which is independent in `period` slots, after which it may repeat.
    pub(crate) fn with_repeated_noise_of(self, steps: Self, period: usize) -> Self {
        self.with_noise(steps, (1, period))
    }

    /// [`Estimate::with_noise_of`] where up to `times` polynomials of a result with `polynomials` are
    /// computed from one polynomial, in the same way.
    pub(crate) fn with_noise_of_rows(
        mut self,
        steps: Self,
        period: usize,
        (times, polynomials): (usize, usize),
    ) -> Self {
        self.masks = self.masks.repeated(Along::Rows, times as f64).in_polynomials(polynomials as f64);
        self.with_noise(steps, (period, period))
    }

    /// Adds the noise of `steps`, which may be equal in `neighbours` slots and repeat after `period`.
    fn with_noise(mut self, steps: Self, (neighbours, period): (usize, usize)) -> Self {
        let (typical, worst) = steps.slot_errors();
        let in_slots = |masks: [f64; 2]| [masks[0], masks[1] * neighbours as f64];
        let (name, alike) = (mixed_name(self.name_of_noise(), worst.to_bits()), in_slots(self.masks.alike));
        let tails = steps.tails().max(Tails::Convolution);
        self.push(Source {
            name,
            typical,
            worst,
            alike,
            together: in_slots(self.masks.together),
            period: period as f64,
            signed: false,
            tails,
            ..Source::NONE
        });
        self
    }

    /// [`Estimate::with_noise_of`] for sums of `places` numbers or lanes by rotations by `places / 2`,
    /// `places / 4`, .., 1, in slots with `all` places. The noise of the rotation by `step` is added to
    /// itself, by the later rotations, at `step` neighbouring places. The mean of this noise over all places
    /// is the same everywhere and has `step^2 / all` of its square; it is equal to the last bit if a place is
    /// one slot (`exact`). The rest of the noise is most correlated with numbers that form a wave of one
    /// period, among all numbers that sum to zero, and it vanishes in the mean of a number that repeats.
    pub(crate) fn with_noise_of_halves(
        mut self,
        steps: Self,
        along: Along,
        (places, all): (usize, usize),
        exact: bool,
    ) -> Self {
        let halves =
            || std::iter::successors(Some(places / 2), |step| Some(step / 2)).take_while(|&step| step >= 1);
        let (halves, axis, all) = (|| halves().map(|step| step as f64), along as usize, all as f64);
        let (sum, same): (f64, f64) = (halves().sum(), halves().map(|step| step * step / all).sum());
        if sum == 0.0 {
            return self;
        }
        let wave = |step: f64| ((PI * step / all).sin() / (PI / all).sin()).powi(2);
        let waves = (halves().map(wave).sum::<f64>() / (sum - same)).max(1.0);
        let masks = self.masks;
        let (noise, tails) = (steps.slot_errors(), steps.tails().max(Tails::Convolution));
        let mut add = |part: u64, share: f64, own: Source| {
            let (typical, worst) = (noise.0 * share.sqrt(), noise.1 * share.sqrt());
            let name = mixed_name(mixed_name(self.name_of_noise(), worst.to_bits()), part);
            self.push(Source { name, typical, worst, signed: false, tails, ..own });
        };
        let of_axis = |count: f64, masks: [f64; 2]| {
            [0, 1].map(|other| if other == axis { count } else { masks[other] })
        };
        let (alike, equal) = (of_axis(all, masks.alike), [0, 1].map(|other| other == axis && exact));
        let (together, period) = (of_axis(all, masks.together), if exact { EVERYWHERE } else { all });
        add(0, same / sum, Source { alike, together, equal, period, ..Source::NONE });
        let (alike, together) = (of_axis(waves, masks.alike), of_axis(1.0, masks.together));
        add(1, 1.0 - same / sum, Source { alike, together, ..Source::NONE });
        self
    }

    /// Whether the errors are known (finite).
    pub(crate) fn has_errors(&self) -> bool {
        self.rest.worst.is_finite()
    }

    pub(super) fn has_no_errors(&self) -> bool {
        self.rest.worst == 0.0 && self.sources.iter().all(|source| source.worst == 0.0)
    }

    pub(super) fn map_sources(mut self, f: impl Fn(Source) -> Source) -> Self {
        self.sources.iter_mut().for_each(|source| *source = f(*source));
        let rest = self.rest;
        for [name, origin] in self.dropped.iter_mut().flatten() {
            let own = f(Source { name: *name, origin: Some(StoredName(*origin)), ..rest });
            (*name, *origin) = (own.name, own.origin());
        }
        self.rest = Source { name: 0, origin: None, ..f(self.rest).without_factors(self.together) };
        self
    }

    /// Adds `other` to the rest. Their errors add linearly, unless the names in both are known and disjoint.
    pub(super) fn with_rest(&mut self, other: Source, dropped: Option<&[[u64; 2]]>) {
        let (own, other) = (self.rest.unsigned(), other.unsigned());
        let differ_in = |which: usize| {
            let of = |names: &[[u64; 2]]| names.iter().map(|names| names[which]).collect::<BTreeSet<u64>>();
            self.dropped.as_ref().zip(dropped).is_some_and(|(own, other)| of(own).is_disjoint(&of(other)))
        };
        let sum = own.joined(other);
        let typical = if differ_in(0) { own.typical.hypot(other.typical) } else { sum.typical };
        let worst = if differ_in(1) && !sum.entangled { own.worst.hypot(other.worst) } else { sum.worst };
        self.rest = Source { typical, worst, ..sum };
        self.dropped = match (self.dropped.take(), dropped) {
            (Some(own), Some(other)) if own.len() + other.len() <= MAX_DROPPED => {
                Some(own.iter().chain(other.iter().filter(|name| !own.contains(name))).copied().collect())
            }
            _ => None,
        };
    }

    pub(super) fn push(&mut self, source: Source) {
        if let Some(known) = self.sources.iter_mut().find(|known| known.name == source.name) {
            *known = known.joined(source);
            return;
        }
        if source.typical == 0.0 && source.worst == 0.0 {
            return;
        }
        if self.sources.len() < MAX_SOURCES {
            self.sources.push(source);
            return;
        }
        // The source that is smallest, by its typical and worst sizes, is added to the rest.
        let largest = |of: fn(&Source) -> f64| self.sources.iter().map(of).fold(of(&source), f64::max);
        let (typical, worst) = (largest(|own| own.typical.abs()), largest(|own| own.worst.abs()));
        let size = |own: &Source| (own.typical.abs() / typical).max(own.worst.abs() / worst);
        let smallest = (0..self.sources.len())
            .min_by(|&a, &b| size(&self.sources[a]).total_cmp(&size(&self.sources[b])))
            .unwrap_or(0);
        let dropped = if size(&self.sources[smallest]) < size(&source) {
            std::mem::replace(&mut self.sources[smallest], source)
        } else {
            source
        };
        let (rest, dropped) = (self.rest.unsigned(), dropped.unsigned().without_factors(self.together));
        let sum = rest.joined(dropped);
        let (typical, worst) = (rest.typical.hypot(dropped.typical), rest.worst.hypot(dropped.worst));
        let is_new = |which: usize, name: u64| {
            self.dropped
                .as_ref()
                .is_some_and(|names| names.len() < MAX_DROPPED && names.iter().all(|own| own[which] != name))
        };
        let (new, alone) = (is_new(0, dropped.name), is_new(1, dropped.origin()) && !dropped.entangled);
        let (typical, worst) =
            (if new { typical } else { sum.typical }, if new && alone { worst } else { sum.worst });
        self.rest = Source { name: 0, origin: None, typical, worst, ..sum };
        match &mut self.dropped {
            Some(names) if new => names.push([dropped.name, dropped.origin()]),
            Some(names) if names.len() >= MAX_DROPPED => self.dropped = None,
            _ => {}
        }
    }

    /// The numbers under the name that results from an operation with salt `salt`.
    pub(super) fn named(self, salt: u64) -> Self {
        Self { name: mixed_name(self.name, salt), masks: self.masks.named(salt), ..self }
    }

    /// The name from which the names of the noise of operations on the array follow.
    pub(super) fn name_of_noise(&self) -> u64 {
        self.masks.name.unwrap_or(self.name)
    }

    /// Adds an error of root mean square `error` in a slot or coefficient. The error's name follows from the
    /// name of the numbers and its size.
    #[must_use]
    pub fn with_error(self, error: f64) -> Self {
        self.with_errors(error, error)
    }

    /// [`Estimate::with_error`] for an error that depends on the numbers: typical and worst size.
    pub(crate) fn with_errors(self, typical: f64, worst: f64) -> Self {
        self.with_own(Tails::Convolution, typical, worst)
    }

    /// [`Estimate::with_errors`] for the rounding of public values, which contains no key. Equal arrays have
    /// equal rounding errors, and the numbers by which these are multiplied may have the same signs.
    pub(crate) fn with_rounding(self, typical: f64, worst: f64) -> Self {
        self.with_rounding_alike([1.0; 2], typical, worst)
    }

    /// [`Estimate::with_rounding`] for an error that `alike` neighbouring rows, or numbers of a row, share.
    pub(crate) fn with_rounding_alike(mut self, alike: [f64; 2], typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name, worst.to_bits());
        let source = Source { name, typical, worst, alike, together: alike, ..Source::NONE };
        self.push(Source { signed: false, mixed: [true; 2], tails: Tails::Known, ..source });
        self
    }

    /// [`Estimate::with_rounding`] for the factors of a linear map.
    pub(super) fn with_rounding_of_map(mut self, typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name, worst.to_bits());
        let source = Source { name, typical, worst, origin: Some(StoredName(FACTOR)), ..Source::NONE };
        self.push(Source { signed: false, mixed: [true; 2], tails: Tails::Known, ..source });
        self
    }

    /// [`Estimate::with_rounding`] for sums over `slots` neighbouring slots of the rounding of a mask (root
    /// mean squares, typical and worst) times numbers. The same mask has the same rounding.
    pub(crate) fn with_rounding_of_mask(
        mut self,
        slots: usize,
        rounding: (f64, f64),
        numbers: &Self,
    ) -> Self {
        let (typical, worst) = (product(rounding.0, numbers.typical), product(rounding.1, numbers.magnitude));
        let (name, alike) = (mixed_name(self.name, worst.to_bits()), [1.0, slots as f64]);
        let mask = mixed_name(ROUNDING, mixed_name(slots as u64, rounding.1.to_bits()));
        let source = Source {
            name,
            typical,
            worst,
            alike,
            together: alike,
            signed: false,
            mixed: [true; 2],
            ..Source::NONE
        };
        self.push(Source { origin: Some(StoredName(mask)), ..source });
        self
    }

    pub(super) fn with_own(mut self, tails: Tails, typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name_of_noise(), worst.to_bits());
        let Masks { alike, together, .. } = self.masks;
        self.push(Source { name, typical, worst, alike, together, signed: false, tails, ..Source::NONE });
        self
    }

    /// [`Estimate::with_error`] for an error that is a product of secrets and random numbers in any encoding.
    pub(crate) fn with_error_of_products(self, error: f64) -> Self {
        self.with_own(Tails::Product, error, error)
    }

    /// Adds the errors of the imaginary part of an array with this layout, where these numbers were its real
    /// part and `other` its imaginary part.
    pub(crate) fn with_imaginary_part_of(mut self, other: &Self, layout: &Layout) -> Self {
        let (typical, worst) = other.repeated_slot_errors(layout);
        let (name, tails) = (mixed_name(self.name, mixed_name(other.name, 13)), other.tails());
        self.push(Source { name, typical, worst, signed: false, mixed: [true; 2], tails, ..Source::NONE });
        self
    }

    /// The heaviest tails of all sources.
    pub(super) fn tails(&self) -> Tails {
        self.sources.iter().fold(self.rest.tails, |tails, source| tails.max(source.tails))
    }

    /// [`Estimate::with_error`] for numbers multiplied by a factor between `1 - error` and `1 + error`.
    pub(crate) fn inexact(self, error: f64) -> Self {
        let (typical, worst) = (product(error, self.typical), product(error, self.magnitude));
        self.with_errors_of_factors([true; 2], typical, worst)
    }

    /// [`Estimate::with_errors`] for the rounding of factors that are the same in all places along the axes
    /// `alike`: a number's error is a multiple of the number, so it repeats with the number. Different
    /// factors may have the same rounding error.
    pub(crate) fn with_errors_of_factors(mut self, alike: [bool; 2], typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name, worst.to_bits());
        let alike = alike.map(|alike| if alike { EVERYWHERE } else { 1.0 });
        let together = times_numbers(alike, (self.mean, self.typical), self.together);
        let source = Source {
            name,
            typical,
            worst,
            alike,
            together,
            mixed: [true; 2],
            period: EVERYWHERE,
            ..Source::NONE
        };
        self.push(Source { signed: false, origin: Some(StoredName(FACTOR)), ..source });
        self
    }

    /// Adds an error that is `bias`, or its negative, in all numbers of an array with this layout.
    pub(crate) fn with_bias(mut self, layout: &Layout, bias: f64) -> Self {
        let of_slot = bias / share(EVERYWHERE, layout);
        let source = Source {
            typical: of_slot,
            worst: of_slot,
            origin: Some(StoredName(BIAS)),
            period: EVERYWHERE,
            ..Source::NONE
        };
        let name = mixed_name(BIAS, of_slot.to_bits());
        self.push(Source {
            name,
            alike: [EVERYWHERE; 2],
            together: [EVERYWHERE; 2],
            equal: [true; 2],
            mixed: [true; 2],
            ..source
        });
        self
    }

    /// Adds an error, in an array with this layout, that is a function of the numbers. `at` are the
    /// function's values for [`Estimate::typical_numbers`], `largest` is its largest magnitude.
    pub(crate) fn with_error_of_numbers(mut self, layout: &Layout, at: [f64; 16], largest: f64) -> Self {
        let to_slot = share(EVERYWHERE, layout).recip();
        let by = Function::of_values(at.map(|error| error * to_slot));
        // A bound on errors is at least so many times their worst root mean square: it has the largest error.
        let (typical, worst) = (by.root_mean_square(), largest * to_slot / LEAST_DEVIATIONS);
        let name = mixed_name(self.name, worst.to_bits());
        let (alike, everywhere) = ([EVERYWHERE; 2], Factors { by, peak: None });
        let source = Source {
            name,
            typical,
            worst,
            alike,
            together: alike,
            mixed: [true; 2],
            period: EVERYWHERE,
            ..Source::NONE
        };
        let source = Source { factors: Some(everywhere), ..source };
        // The error is deterministic, so at worst it adds linearly to the bound of the other errors.
        self.spread = self.known_spread();
        let source = if self.spread.is_some() { source } else { source.without_factors(self.together) };
        self.push(Source { signed: false, entangled: true, tails: Tails::Known, ..source });
        self
    }

    /// All errors multiplied by `factor`, for moves that only change the error of a slot.
    pub(crate) fn errors_times(self, factor: f64) -> Self {
        self.map_sources(|source| source.times(factor, factor))
    }

    /// [`Estimate::with_rounding`] for the error of a number in an array with this layout.
    pub(crate) fn with_rounding_of_numbers(self, layout: &Layout, (typical, worst): (f64, f64)) -> Self {
        let unit = share(1.0, layout);
        self.with_rounding(typical / unit, worst / unit)
    }
}
