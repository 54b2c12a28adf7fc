//! Carries out the stages of a bootstrap, on data or on symbols.

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::plan::{BOOTSTRAP, BootstrapPlan, Raising};
use super::stages;
use crate::arrays::{Ciphertext, Encoding, Layout, Order, Padding, SecretName};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::progress::Progress;

/// The operation's name in errors.
const TO_SLOTS: &str = "a move from coefficients to slots";

/// Stages of a bootstrap.
const STAGES: usize = 6;

/// Says that `done` stages are done, and whether to go on.
fn tell(progress: Progress<'_>, done: usize) -> Result<(), CkksError> {
    if progress(done, STAGES) { Ok(()) } else { Err(CkksError::Cancelled) }
}

/// `x` as an array without padding in natural order, in slots: the stages work on slots whatever they hold.
fn bare(x: Ciphertext, capacity: usize, complex: bool) -> Ciphertext {
    let (params, level, scale) = (x.params.clone(), x.level, x.scale);
    let columns = capacity * x.layout.chunks;
    let shape = [&x.shape[..x.shape.len().saturating_sub(1)], &[columns]].concat();
    let layout =
        Layout { encoding: Encoding::Slots, capacity, columns, complex, order: Order::Natural, padding: Padding::Zero, ..x.layout };
    let bundles = x.bundles.clone();
    x.with_all((&params, shape), layout, bundles, (level, scale))
}

impl Evaluator {
    /// The same numbers at a high level: all stages of `plan`.
    ///
    /// Several rounds [META-BTS: Bae et al., CCS 2022] bootstrap the error that the rounds before left.
    ///
    /// Range: numbers of magnitude at most 1, in slots, at a level from [`BootstrapPlan::input_level`] up and at the canonical scale. The result is at
    /// [`BootstrapPlan::output_level`], at the canonical scale. It is wrong in all slots of a polynomial with the probability [`BootstrapPlan::log2_failure`],
    /// and where the numbers are much larger.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] below the plan's lowest level; [`CkksError::Shape`] for another number of slots than the plan's; [`CkksError::Encoding`]
    /// unless slots; [`CkksError::Conversion`] for complex numbers where the plan is for real ones; [`CkksError::ScaleMismatch`]; errors of missing keys;
    /// [`CkksError::Cancelled`].
    pub fn bootstrap(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Ciphertext, CkksError> {
        self.bootstrap_with_progress(x, plan, &mut |_, _| true)
    }

    /// As [`Evaluator::bootstrap`]; `progress` is called before each stage and at the end.
    ///
    /// # Errors
    /// As [`Evaluator::bootstrap`]; [`CkksError::Cancelled`] where `progress` says so.
    pub fn bootstrap_with_progress(&self, x: &Ciphertext, plan: &BootstrapPlan, progress: Progress<'_>) -> Result<Ciphertext, CkksError> {
        if plan.real && x.is_complex() {
            let reason = "the plan is for real numbers and the array is complex: make a plan for complex numbers".to_owned();
            return Err(CkksError::Conversion { operation: BOOTSTRAP, reason });
        }
        self.check_input(x, plan)?;
        if let Some(keys) = self.held().filter(|_| !x.is_symbol()) {
            keys.check_needs(&plan.params, BOOTSTRAP, plan.known_needs()?, plan.slots)?;
        }
        let mut round = |x: &Ciphertext, number: usize| {
            let mut own = |done: usize, _| progress(done + number * STAGES, plan.rounds * STAGES);
            tell(&mut own, 0)?;
            let coefficients = self.slots_to_coefficients(x, plan)?;
            let fresh = self.bootstrap_coefficients(&coefficients, plan, &mut own)?;
            let (params, level, scale) = (fresh.params.clone(), fresh.level, fresh.scale);
            let bundles = fresh.bundles.clone();
            Ok::<_, CkksError>(fresh.with_all((&params, x.shape.clone()), x.layout, bundles, (level, scale)))
        };
        let mut fresh = round(x, 0)?;
        for (number, &bits) in plan.log2_factors.iter().enumerate() {
            // What is missing, multiplied by an integer, goes through the same circuit.
            let factor = Complex64::from(f64::from(bits).exp2());
            let missing = self.stage(stages::ROUNDS, || {
                let missing = self.sub(&self.entry(x, plan)?, &*self.at_level(&fresh, plan.input_level())?)?;
                self.linear_combination(&[(&missing, factor)], missing.scale)
            })?;
            let correction = round(&missing, number + 1)?;
            fresh = self.stage(stages::ROUNDS, || {
                let level = fresh.level;
                let scale = x.params.step_product(level) * x.params.scale(Level(level.0 - 1));
                let sum = self.linear_combination_at(level, &[(&fresh, Complex64::from(1.0)), (&correction, factor.inv())], scale)?;
                self.rescale(&sum)
            })?;
        }
        // Bounds that follow the stages one by one would grow without limit in the modular reduction, whose input is bounded only with a probability.
        let bounds = x.estimate().map(|own| plan.bounds(own)).transpose()?;
        Ok(fresh.bounded_by(bounds))
    }

    /// Refuses arrays that the plan is not for.
    fn check_input(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<(), CkksError> {
        self.check(x)?;
        x.params.check_same(&plan.params, "the plan of a bootstrap")?;
        x.check_main(BOOTSTRAP)?;
        if x.encoding() != Encoding::Slots {
            let (expected, got) = (Encoding::Slots.name().to_owned(), x.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation: BOOTSTRAP, expected, got });
        }
        let needed = plan.input_level();
        if x.level < needed {
            return Err(CkksError::LevelTooLow { operation: BOOTSTRAP, needed: needed.0, level: x.level.0 });
        }
        Ok(())
    }

    /// `x` at the plan's lowest level. Scales follow inside a segment, so an array from above the application's segment is first brought to its top.
    fn entry(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Ciphertext, CkksError> {
        let top = self.at_level(x, x.level.min(plan.reduction.output_level()))?;
        Ok(self.at_level(&top, plan.input_level())?.into_owned())
    }

    /// The same numbers as coefficients at level 0: complex pairs in bit-reversed order.
    ///
    /// # Errors
    /// As [`Evaluator::bootstrap`].
    pub fn slots_to_coefficients(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Ciphertext, CkksError> {
        self.check_input(x, plan)?;
        let needed = plan.input_level();
        self.stage(stages::TO_COEFFICIENTS, || {
            let mut y = self.entry(x, plan)?;
            if let Some(first) = plan.to_coefficients.first().filter(|first| first.input_level() < needed) {
                y = self.restrict(&y, first.input_level())?.into_owned();
            }
            for factor in &plan.to_coefficients {
                y = self.map_slots(&y, factor)?;
            }
            let layout =
                Layout { encoding: Encoding::Coefficients, complex: true, order: Order::BitReversed, ..y.layout }.with_padding(y.padding());
            Ok(y.laid_out(layout))
        })
    }

    /// The numbers of coefficients in slots, at a high level: complex pairs of coefficients at level 0, such as [`Evaluator::slots_to_coefficients`] leaves, or
    /// as they come from elsewhere. The order stays as it is.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless coefficients; [`CkksError::LevelTooHigh`] above level 0; [`CkksError::ScaleMismatch`] at another scale than
    /// [`BootstrapPlan::message_scale`]; as [`Evaluator::bootstrap`].
    pub fn half_bootstrap(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Ciphertext, CkksError> {
        self.bootstrap_coefficients(x, plan, &mut |_, _| true)
    }

    fn bootstrap_coefficients(&self, x: &Ciphertext, plan: &BootstrapPlan, progress: Progress<'_>) -> Result<Ciphertext, CkksError> {
        tell(progress, 1)?;
        let raised = self.raise_modulus(x, plan)?;
        tell(progress, 2)?;
        let slots = self.coefficients_to_slots(&raised, plan)?;
        tell(progress, 3)?;
        let halves = self.halves(&slots, plan)?;
        tell(progress, 4)?;
        let reduced = self
            .stage(stages::REDUCTION, || halves.iter().map(|half| plan.reduction.run(self, half)).collect::<Result<Vec<_>, CkksError>>())?;
        tell(progress, 5)?;
        let joined = self.joined_halves(reduced)?;
        tell(progress, STAGES)?;
        // Number t was the coefficient of X^p(t) and is in slot t if p reverses bits, in the slot with the reversed number otherwise.
        let order = if x.layout.order == Order::BitReversed { Order::Natural } else { Order::BitReversed };
        let layout = Layout { encoding: Encoding::Slots, complex: !plan.real, order, ..x.layout }.with_padding(x.padding());
        let (params, level, scale) = (joined.params.clone(), joined.level, joined.scale);
        let bundles = joined.bundles.clone();
        Ok(joined.with_all((&params, x.shape.clone()), layout, bundles, (level, scale)))
    }

    /// The phase of an array at level 0, read as integers `v = m + q0 I`, modulo the primes of the raised level: the numbers are the embedding of `v / (q0 R)`,
    /// or its image under the first map from coefficients to slots.
    fn raise_modulus(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        x.params.check_same(&plan.params, "the plan of a bootstrap")?;
        if x.encoding() != Encoding::Coefficients || !x.is_complex() {
            let got = if x.encoding() == Encoding::Slots { "slots" } else { "real numbers in coefficients" };
            let expected = "complex numbers in coefficients".to_owned();
            return Err(CkksError::Encoding { operation: TO_SLOTS, expected, got: got.to_owned() });
        }
        if x.level != Level(0) {
            return Err(CkksError::LevelTooHigh { operation: TO_SLOTS, shape: x.params.shape(), level: x.level.0, most: 0 });
        }
        if x.layout.capacity != plan.slots {
            let remedy = format!("the plan is for {} slots: make one for {}", plan.slots, x.layout.capacity);
            return Err(CkksError::Shape { operation: TO_SLOTS, left: vec![x.layout.capacity], right: vec![plan.slots], remedy });
        }
        if !crate::evaluation::levels::same_scale(x.scale, plan.message_scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: plan.message_scale().log2() });
        }
        self.stage(stages::RAISE, || {
            let sparse = if x.params.encapsulation().is_some() { self.change_secret(x, SecretName::Ephemeral)? } else { x.clone() };
            let scale = plan.raised_scale;
            let (lift, guard) = match &plan.raise {
                Raising::Mapped(transform) => return Ok(bare(transform.run(self, &sparse, scale)?, plan.slots, true)),
                Raising::Plain { lift, guard } => (lift, *guard),
            };
            let terms = x.params.slot_count() / plan.slots;
            self.spend(&sparse, || Ok(plan.raise_cost(sparse.polys_per_bundle())))?;
            let raised = sparse.try_map(plan.raised_level, scale / terms as f64, |bundle| {
                let mut raised = bundle.raise(lift)?;
                raised.mul_integer_assign(guard);
                Ok(raised)
            })?;
            let raised = if sparse.secret == SecretName::Main { raised } else { self.change_secret(&raised, SecretName::Main)? };
            // The sum over the rotations by multiples of the number of slots removes the coefficients between those of the subring.
            let mut sum = bare(raised, plan.params.slot_count(), true);
            let mut step = plan.slots;
            while step < plan.params.slot_count() {
                let turned = self.rotate_slots(&sum, &[step as i64])?.pop().ok_or(CkksError::NoTerms { operation: TO_SLOTS })?;
                sum = self.add(&sum, &turned)?;
                step *= 2;
            }
            Ok(bare(sum.at_scale(scale), plan.slots, true))
        })
    }

    /// The coefficients of a raised array, in slots: half of `(m + q0 I) / (q0 R)` at the canonical scale.
    fn coefficients_to_slots(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Ciphertext, CkksError> {
        self.stage(stages::TO_SLOTS, || plan.to_slots.iter().try_fold(x.clone(), |x, factor| self.map_slots(&x, factor)))
    }

    /// The real and the imaginary parts of the slots, as arrays of real numbers; the real parts alone for a plan of real numbers.
    fn halves(&self, x: &Ciphertext, plan: &BootstrapPlan) -> Result<Vec<Ciphertext>, CkksError> {
        self.stage(stages::SPLIT, || {
            let (one, i) = (Complex64::new(1.0, 0.0), Complex64::i());
            let conjugate = self.conjugate(x)?;
            let mut halves = vec![self.linear_combination(&[(x, one), (&conjugate, one)], x.scale)?];
            if !plan.real {
                halves.push(self.linear_combination(&[(x, -i), (&conjugate, i)], x.scale)?);
            }
            // The sums are twice the parts.
            let scale = 2.0 * x.scale;
            Ok(halves.into_iter().map(|half| bare(half.at_scale(scale), plan.slots, false)).collect())
        })
    }

    /// `re + i im`.
    fn joined_halves(&self, halves: Vec<Ciphertext>) -> Result<Ciphertext, CkksError> {
        self.stage(stages::JOIN, || {
            let (one, i) = (Complex64::new(1.0, 0.0), Complex64::i());
            match &halves[..] {
                [re, im] => self.linear_combination(&[(re, one), (im, i)], re.scale),
                [re] => Ok(re.clone()),
                _ => Err(CkksError::NoTerms { operation: TO_SLOTS }),
            }
        })
    }
}

impl BootstrapPlan {
    /// The cost of raising `polys` polynomials.
    fn raise_cost(&self, polys: usize) -> crate::keys::Cost {
        let (degree, polys) = (self.params.degree(), polys as f64);
        let mut cost = self.params.transforms_cost(Level(0), degree).times(polys);
        cost += self.params.transforms_cost(self.raised_level, degree).times(polys);
        cost
    }
}
