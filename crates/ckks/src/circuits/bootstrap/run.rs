//! Bootstraps of whole arrays, on data or on symbols: pairs, groups, rounds, and parts of the circuit.

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::groups::in_groups;
use super::plan::{BOOTSTRAP, BootstrapPlan};
use super::stages;
use super::steps::{TO_SLOTS, join_re_im};
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Encoding, Estimate, Order, Padding};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::progress::Event;

/// The degree times the number of polynomials from which on free memory is checked before a bootstrap.
const MIN_CHECKED: usize = 1 << 15;

impl BootstrapPlan {
    /// The same numbers at a high level: all stages of the plan.
    ///
    /// Several rounds [META-BTS: Bae et al., CCS 2022] bootstrap the error that the rounds before left.
    ///
    /// Range: numbers of magnitude at most 1, in slots, at a level from [`BootstrapPlan::input_level`] up and
    /// at the canonical scale. Numbers with a larger known bound are divided by a power of two before and
    /// multiplied by it afterwards. The result is at [`BootstrapPlan::output_level`], at the canonical scale.
    /// A plan for complex numbers bootstraps two polynomials of real numbers at once. An array of rank `k`
    /// and degree `N / k` is converted to rank 1 and back, with the keys of
    /// [`Params::rlwe_needs`](crate::Params::rlwe_needs). The result is wrong in all slots of a polynomial
    /// with the probability [`BootstrapPlan::log2_failure`], and if numbers without a known bound are much
    /// larger than 1.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] below the plan's lowest level; [`CkksError::Shape`] for another number of
    /// slots than the plan's; [`CkksError::Encoding`] unless in slots; [`CkksError::Unsuitable`] for complex
    /// numbers if the plan is for real ones; [`CkksError::TooLarge`] for a bound above 1 if no level is
    /// left for the division; [`CkksError::ScaleMismatch`]; errors of missing keys;
    /// [`CkksError::NotEnoughMemory`]; [`CkksError::Cancelled`].
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let whole = evaluator.progress().steps(0);
        self.run_by(evaluator, x, &evaluator.for_part(&whole, |done, all| (done, all)))
    }

    /// As [`BootstrapPlan::run`]; `staged` is the evaluator that reports the stages.
    fn run_by(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        staged: &Evaluator,
    ) -> Result<Ciphertext, CkksError> {
        let rank = x.params.rank();
        if rank > 1 && x.params.rlwe_shape() == self.params.shape() {
            // The conversion is cheapest at a short modulus, and the way back takes no key.
            let low = evaluator.at_level(x, x.level.min(self.input_level()))?;
            return evaluator.to_mlwe(&self.run_by(evaluator, &evaluator.to_rlwe(&low)?, staged)?, rank);
        }
        if let Some((divided, bits)) = self.divided(evaluator, x)? {
            return evaluator.multiply_integer(&self.run_by(evaluator, &divided, staged)?, 1 << bits);
        }
        if !x.layout.is_plain() {
            return Ok(self
                .run_by(evaluator, &x.polynomials_as_rows(), staged)?
                .rearranged(x.shape.clone(), x.layout));
        }
        let bundles = x.layout.bundles();
        if !self.goes_in_pairs(x) {
            return Ok(self.run_parts(staged, vec![x.clone()])?.swap_remove(0));
        }
        // A plan for complex numbers bootstraps two polynomials of real numbers at once. If their number is
        // odd, the middle one is in both halves.
        self.check_input(evaluator, x)?;
        let count = bundles.div_ceil(2);
        let capacity = x.layout.capacity();
        let half = |first: usize| {
            let layout = x.layout.of_polynomials(count, capacity).with_padding(Padding::Zero);
            let own = x.bundles.iter().skip(first).take(count).cloned().collect();
            x.with_all((&x.params, vec![count, capacity]), layout, own, (x.level, x.scale))
        };
        let fresh = self.run_parts(staged, vec![half(0), half(bundles - count)])?;
        let [upper, lower] = &fresh[..] else { return Err(CkksError::Internal { operation: BOOTSTRAP }) };
        let own =
            upper.bundles.iter().chain(lower.bundles.iter().skip(2 * count - bundles)).cloned().collect();
        Ok(upper.with_all((&x.params, x.shape.clone()), x.layout, own, (upper.level, upper.scale)))
    }

    /// Whether the polynomials of an array are bootstrapped in pairs, as real and imaginary parts.
    pub(super) fn goes_in_pairs(&self, x: &Ciphertext) -> bool {
        !(x.is_complex() || self.real || self.slots_last() || x.layout.bundles() < 2 || x.layout.bodies() > 1)
    }

    /// Bootstraps one array, or two arrays of real numbers as the real and imaginary parts of one, in all
    /// rounds.
    fn run_parts(&self, evaluator: &Evaluator, parts: Vec<Ciphertext>) -> Result<Vec<Ciphertext>, CkksError> {
        for x in &parts {
            self.check_numbers(x, BOOTSTRAP)?;
            self.check_input(evaluator, x)?;
        }
        let polys = parts[0].layout.bundles() * parts[0].layout.bodies();
        evaluator.record_bootstraps(polys);
        if let Some(keys) = evaluator.held().filter(|_| parts.iter().all(|x| !x.is_symbol())) {
            self.check_keys(keys)?;
            // A small bootstrap is faster than the dry run that would predict its memory.
            if self.params.degree() * polys >= MIN_CHECKED {
                let remedy = "bootstrap fewer rows at once, or free memory";
                check_free(BOOTSTRAP, self.memory_bytes(polys)?, remedy)?;
            }
        }
        in_groups(evaluator, &parts, self.group(), |evaluator, own| self.run_rounds(evaluator, own))
    }

    /// All rounds, for arrays that have been checked.
    fn run_rounds(&self, evaluator: &Evaluator, parts: &[Ciphertext]) -> Result<Vec<Ciphertext>, CkksError> {
        let own = |x: &Ciphertext| x.estimate.clone();
        let before: Vec<Estimate> = match parts {
            [x, y] => vec![
                own(x).with_imaginary_part_of(&y.estimate, &y.layout),
                own(y).with_imaginary_part_of(&x.estimate, &x.layout),
            ],
            _ => parts.iter().map(own).collect(),
        };
        let parts: Vec<Ciphertext> =
            parts.iter().map(|x| x.clone().estimated(|_| Estimate::unknown())).collect();
        let parts = &parts[..];
        let all = self.stage_count();
        let whole = evaluator.progress().steps(0);
        let round = |parts: &[Ciphertext], number: usize| {
            let before = number * all / self.rounds;
            self.run_round(&evaluator.for_part(&whole, move |done, _| (before + done, all)), parts)
        };
        // In several rounds two arrays stay one until the end. If they were split after a round, the
        // imaginary errors of each would be taken for errors of the other.
        let pair = match parts {
            [_, _] if self.rounds > 1 => Some([join_re_im(evaluator, parts)?]),
            _ => None,
        };
        let wholes: &[Ciphertext] = pair.as_ref().map_or(parts, |pair| pair);
        let mut fresh = round(wholes, 0)?;
        for (number, &bits) in self.log2_factors.iter().enumerate() {
            // The difference from the input, multiplied by an integer, goes through the same circuit.
            let factor = Complex64::from(f64::from(bits).exp2());
            let missing = |(x, fresh): (&Ciphertext, &Ciphertext)| {
                let missing = evaluator
                    .sub(&self.entry(evaluator, x)?, &*evaluator.at_level(fresh, self.input_level())?)?;
                evaluator.linear_combination(&[(&missing, factor)], missing.scale)
            };
            let missing = evaluator.stage(stages::ROUNDS, || {
                wholes.iter().zip(&fresh).map(missing).collect::<Result<Vec<_>, CkksError>>()
            })?;
            let corrections = round(&missing, number + 1)?;
            // The parts of a pair are half the sums with the conjugate, so the scale is halved before.
            let apart = pair.is_some() && number + 1 == self.log2_factors.len();
            let corrected = |(fresh, correction): (&Ciphertext, &Ciphertext)| {
                let level = fresh.level;
                let scale = self.params.step_product(level) * self.params.scale(Level(level.0 - 1))
                    / if apart { 2.0 } else { 1.0 };
                evaluator.linear_combination_at(
                    level,
                    &[(fresh, Complex64::from(1.0)), (correction, factor.inv())],
                    scale,
                )
            };
            let sums = evaluator.stage(stages::ROUNDS, || {
                fresh.iter().zip(&corrections).map(corrected).collect::<Result<Vec<_>, CkksError>>()
            })?;
            let sums = if apart {
                evaluator.stage(stages::SPLIT, || self.split_re_im(evaluator, &sums[0]))?
            } else {
                sums
            };
            fresh = evaluator.stage(stages::ROUNDS, || {
                sums.iter().map(|sum| evaluator.rescale(sum)).collect::<Result<_, CkksError>>()
            })?;
        }
        let fresh =
            fresh.into_iter().zip(parts).map(|(fresh, x)| fresh.rearranged(x.shape.clone(), x.layout));
        // Bounds from the single stages would grow without limit in the modular reduction, because its input
        // is bounded only with some probability. The estimate of the plan replaces them.
        let known = |(own, fresh): (&Estimate, Ciphertext)| {
            let estimate = self.bootstrapped(own, &fresh.layout, &fresh.layout)?;
            Ok(fresh.estimated(|_| estimate))
        };
        before.iter().zip(fresh).map(known).collect()
    }

    /// Runs all stages of one round.
    fn run_round(&self, evaluator: &Evaluator, parts: &[Ciphertext]) -> Result<Vec<Ciphertext>, CkksError> {
        // Two arrays of real numbers become the real and the imaginary part of one.
        let x = join_re_im(evaluator, parts)?;
        let fresh = self.run_stages(evaluator, self.stages_of(parts.len()), vec![x])?;
        if parts.len() == 2 {
            // Two arrays are done one stage earlier, because nothing joins them.
            let all = self.stage_count() / self.rounds;
            evaluator.progress().report(Event::Steps { done: all, total: all })?;
        }
        Ok(fresh
            .into_iter()
            .zip(parts)
            .map(|(fresh, x)| fresh.rearranged(x.shape.clone(), x.layout))
            .collect())
    }

    /// Refuses arrays that do not match the plan.
    pub(super) fn check_input(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<(), CkksError> {
        evaluator.check(x)?;
        if self.is_half() {
            let reason =
                "the plan is for half a bootstrap, from coefficients at level 0: make a plan of the whole"
                    .to_owned();
            return Err(CkksError::not_bootstrappable(&self.params.spec().name, reason));
        }
        x.params.check_same(&self.params, "the plan of a bootstrap")?;
        x.check_main(BOOTSTRAP)?;
        if x.encoding() != Encoding::Slots {
            let (expected, got) = (Encoding::Slots.name().to_owned(), x.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation: BOOTSTRAP, expected, got });
        }
        if x.layout.period() != self.slots {
            let (got, expected) = (x.layout.period(), self.slots);
            let remedy = format!(
                "the plan is for {expected} slots: encrypt rows with a capacity of {expected}, or make a plan for {got}"
            );
            return Err(CkksError::Shape {
                operation: BOOTSTRAP,
                left: vec![got],
                right: vec![expected],
                remedy,
            });
        }
        let needed = self.input_level();
        if x.level < needed {
            return Err(CkksError::LevelTooLow { operation: BOOTSTRAP, needed: needed.0, level: x.level.0 });
        }
        Ok(())
    }

    /// Divides numbers by a power of two if their bound exceeds 1, the range of the modular reduction. The
    /// division is a change of scale on the way to a lower level, so it costs nothing. Returns the array and
    /// the binary logarithm of the power; `None` if numbers are at most 1.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`] if no level is left for the division.
    pub(super) fn divided(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Option<(Ciphertext, u32)>, CkksError> {
        let bits = BootstrapPlan::log2_divisor(x);
        if bits == 0 {
            return Ok(None);
        }
        self.check_input(evaluator, x)?;
        let top = evaluator.at_level(x, x.level.min(self.levels.end))?;
        if top.level <= self.input_level() || !top.has_canonical_scale() {
            self.check_range(x)?;
        }
        let small = top.clone().into_owned().at_scale(top.scale * f64::from(bits).exp2());
        // The larger the power, the more levels it takes until an integer factor leads to the scale of a
        // level.
        for below in (self.input_level().0..top.level.0).rev().map(Level) {
            let lowered = evaluator.lower(&small, below, top.params.scale(below))?;
            if lowered.has_canonical_scale() {
                return Ok(Some((lowered, bits)));
            }
        }
        self.check_range(x)?;
        Ok(None)
    }

    /// `x` at the plan's lowest level.
    pub(super) fn entry(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.entry_at(evaluator, x, self.input_level())
    }

    /// `x` at `level` of the application. Canonical scales follow from each other within a segment, so an
    /// array from a higher segment is first brought to the application's highest level.
    pub(in crate::circuits) fn entry_at(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        level: Level,
    ) -> Result<Ciphertext, CkksError> {
        let top = evaluator.at_level(x, x.level.min(self.levels.end))?;
        Ok(evaluator.at_level(&top, level)?.into_owned())
    }

    /// The same numbers as coefficients at level 0, or at level 1 if the plan has a level for a product:
    /// complex pairs in bit-reversed order. If the plan has several bodies under a mask, the result has a row
    /// for each polynomial, and its rows share masks, except before a product.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] for a chain on which this stage comes last;
    /// [`CkksError::TooLarge`] for a bound above 1; the errors of [`BootstrapPlan::run`] for arrays that
    /// do not match the plan, and of missing keys.
    pub fn slots_to_coefficients(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.check_input(evaluator, x)?;
        self.check_range(x)?;
        x.check_plain(BOOTSTRAP)?;
        if self.slots_last() {
            return Err(self.order_error("use the whole bootstrap, or a chain without the segment"));
        }
        self.run_stages_on(evaluator, self.before_product(), x.clone())
    }

    /// The numbers of coefficients in slots, at a high level. `x` holds complex pairs of coefficients at
    /// level 0, for example the result of [`BootstrapPlan::slots_to_coefficients`]. The order of the numbers
    /// does not change.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless in complex coefficients; [`CkksError::Level`] above level 0;
    /// [`CkksError::ScaleMismatch`] at another scale than [`BootstrapPlan::message_scale`];
    /// [`CkksError::Shape`] for another number of slots than that of the transforms; errors of missing keys.
    pub fn run_half(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let joined = join_re_im(evaluator, &self.run_half_apart(evaluator, x)?)?;
        // Number t was the coefficient of X^p(t). It is now in slot t if p reverses bits, and otherwise in
        // the slot with the reversed index.
        let order = if x.layout.order() == Order::BitReversed { Order::Natural } else { Order::BitReversed };
        let layout = x.layout.as_slots(!self.real, order).with_padding(x.padding());
        // The split into parts also separated shared masks.
        let layout = layout.with_bodies(1, None)?;
        Ok(joined.rearranged(x.shape.clone(), layout))
    }

    /// [`BootstrapPlan::run_half`] with real and imaginary parts as separate arrays of all slots. A plan
    /// that reduces one half of the coefficients gives the real parts only.
    pub(in crate::circuits) fn run_half_apart(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        self.check_coefficients(evaluator, x)?;
        self.run_stages(evaluator, self.raise_to_parts(), vec![self.shared(evaluator, x.clone())?])
    }

    /// Runs all stages from the raise on, for coefficients at level 0: the result of slots-to-coefficients,
    /// or, if that comes last, slots that are read as coefficients.
    pub(in crate::circuits) fn bootstrapped_coefficients(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.check_coefficients(evaluator, x)?;
        self.run_stages_on(evaluator, self.raise_onwards(), x.clone())
    }

    /// Refuses arrays that are not coefficients in the form that the raise takes.
    fn check_coefficients(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<(), CkksError> {
        evaluator.check(x)?;
        x.params.check_same(&self.params, "the plan of a bootstrap")?;
        if x.encoding() != Encoding::Coefficients || !x.is_complex() {
            let got = if x.encoding() == Encoding::Slots { "slots" } else { "real numbers in coefficients" };
            let expected = "complex numbers in coefficients".to_owned();
            return Err(CkksError::Encoding { operation: TO_SLOTS, expected, got: got.to_owned() });
        }
        if x.level != Level(0) {
            return Err(CkksError::level_too_high(TO_SLOTS, x.params.shape(), x.level.0, 0));
        }
        if x.layout.capacity() != self.transform_slots {
            let remedy = format!(
                "the stage works on {} slots: take the result of slots_to_coefficients by this plan",
                self.transform_slots
            );
            return Err(CkksError::Shape {
                operation: TO_SLOTS,
                left: vec![x.layout.capacity()],
                right: vec![self.transform_slots],
                remedy,
            });
        }
        if !crate::evaluation::levels::same_scale(x.scale, self.message_scale()) {
            return Err(CkksError::ScaleMismatch {
                left: x.scale.log2(),
                right: self.message_scale().log2(),
            });
        }
        Ok(())
    }
}
