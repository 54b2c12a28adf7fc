//! The steps of a bootstrap, on data or on symbols.

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::SLOTS_TO_COEFFS;
use super::plan::{BOOTSTRAP, BootstrapPlan};
use super::raise::RaiseMethod;
use super::stage::{Stage, Step};
use crate::arrays::{BodyAxis, Ciphertext, SecretName};
use crate::circuits::linear::LinearTransformPlan;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// The operation's name in errors.
pub(super) const TO_SLOTS: &str = "a move from coefficients to slots";

/// `x` as an array in slots, without padding and in natural order, because the stages work on slots whatever
/// they hold.
pub(super) fn bare(x: Ciphertext, capacity: usize, complex: bool) -> Ciphertext {
    let x = x.read_as_slots(capacity);
    let layout = x.layout.of_numbers(complex);
    x.laid_out(layout)
}

impl BootstrapPlan {
    /// Runs `stages` one after the other, as the steps of one operation.
    pub(super) fn run_stages(
        &self,
        evaluator: &Evaluator,
        stages: &[Stage],
        parts: Vec<Ciphertext>,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let mut steps = evaluator.progress().steps(stages.len());
        let fresh = stages.iter().try_fold(parts, |parts, stage| {
            steps.begin()?;
            evaluator.stage(stage.name, || {
                stage.steps.iter().try_fold(parts, |parts, step| step.run(evaluator, self, parts))
            })
        })?;
        steps.finish()?;
        Ok(fresh)
    }

    /// [`BootstrapPlan::run_stages`] for stages that make one array from one array.
    pub(super) fn run_stages_on(
        &self,
        evaluator: &Evaluator,
        stages: &[Stage],
        x: Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        self.run_stages(evaluator, stages, vec![x])?.pop().ok_or(CkksError::Internal { operation: BOOTSTRAP })
    }

    /// The polynomials of `x` as rows under shared masks, with the plan's number of bodies; `x` itself if its
    /// masks are shared already.
    pub(super) fn shared(&self, evaluator: &Evaluator, x: Ciphertext) -> Result<Ciphertext, CkksError> {
        if self.bodies == 1 || x.secret != SecretName::Main {
            return Ok(x);
        }
        let (rows, columns) = (x.layout.bundles(), x.layout.capacity());
        let layout = x.layout.of_polynomials(rows, columns).with_padding(x.padding());
        let x = x.rearranged(vec![rows, columns], layout);
        evaluator.share_mask_along(&x, self.bodies, Some(BodyAxis::Rows))
    }

    /// Raises the modulus. The phase of coefficients at level 0, read as integers `v = m + q0 I`, is taken
    /// modulo the primes of the raised level. The numbers of the result are the embedding of `v / (q0 R)`, or
    /// its image under the first map from coefficients to slots.
    fn mod_raise(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let scale = self.raise.scale;
        let (lift, guard) = match &self.raise.method {
            RaiseMethod::Mapped(transform) => {
                return Ok(bare(transform.run(evaluator, x, scale)?, self.transform_slots, true));
            }
            RaiseMethod::Plain { lift, guard } => (lift, *guard),
        };
        let terms = x.params.slot_count() / self.transform_slots;
        evaluator.record(x, || Ok(self.raise_cost(x.polys_per_bundle())))?;
        let raised = x.try_map(self.raise.level, scale / terms as f64, |bundle| {
            let mut raised = bundle.raise(lift)?;
            raised.mul_integer_assign(guard);
            Ok(raised)
        })?;
        let raised = if x.secret.is_ephemeral() {
            evaluator.change_secret(&raised, self.mapped_secret())?
        } else {
            raised
        };
        // The sum over the rotations by multiples of the number of slots removes the coefficients outside the
        // subring.
        let mut sum = bare(raised, self.params.slot_count(), true);
        let mut step = self.transform_slots;
        while step < self.params.slot_count() {
            let rotated = evaluator
                .rotate_slots(&sum, &[step as i64])?
                .pop()
                .ok_or(CkksError::Internal { operation: TO_SLOTS })?;
            sum = evaluator.add(&sum, &rotated)?;
            step *= 2;
        }
        Ok(bare(sum.at_scale(scale), self.transform_slots, true))
    }

    /// The real and the imaginary parts of the slots as arrays of real numbers; the real parts alone if the
    /// modular reduction runs on one half only.
    pub(super) fn split_re_im(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let (one, i) = (Complex64::new(1.0, 0.0), Complex64::i());
        let conjugate = evaluator.conjugate(x)?;
        let mut parts = vec![evaluator.linear_combination(&[(x, one), (&conjugate, one)], x.scale)?];
        if self.both_halves() {
            parts.push(evaluator.linear_combination(&[(x, -i), (&conjugate, i)], x.scale)?);
        }
        // The sums are twice the parts.
        let scale = 2.0 * x.scale;
        Ok(parts.into_iter().map(|part| bare(part.at_scale(scale), self.transform_slots, false)).collect())
    }
}

/// Runs the linear maps `maps` on `x`, after a restriction to the level of the first.
fn map_by(
    evaluator: &Evaluator,
    x: Ciphertext,
    maps: &[LinearTransformPlan],
) -> Result<Ciphertext, CkksError> {
    let x = match maps.first().filter(|first| first.input_level() < x.level) {
        Some(first) => evaluator.restrict(&x, first.input_level())?.into_owned(),
        None => x,
    };
    maps.iter().try_fold(x, |x, map| map.map_slots(evaluator, &x))
}

/// `re + i im` for two arrays, and the array itself for one.
pub(super) fn join_re_im(evaluator: &Evaluator, parts: &[Ciphertext]) -> Result<Ciphertext, CkksError> {
    match parts {
        [re, im] => {
            evaluator.linear_combination(&[(re, Complex64::from(1.0)), (im, Complex64::i())], re.scale)
        }
        [re] => Ok(re.clone()),
        _ => Err(CkksError::Internal { operation: BOOTSTRAP }),
    }
}

impl Step {
    /// Runs the step on an array, or on the arrays of real and imaginary parts.
    fn run(
        self,
        evaluator: &Evaluator,
        plan: &BootstrapPlan,
        parts: Vec<Ciphertext>,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        match self {
            Self::SplitReIm => match &parts[..] {
                [x] => return plan.split_re_im(evaluator, x),
                _ => return Err(CkksError::Internal { operation: BOOTSTRAP }),
            },
            Self::JoinReIm => return Ok(vec![join_re_im(evaluator, &parts)?]),
            _ => (),
        }
        parts.into_iter().map(|x| self.run_on(evaluator, plan, x)).collect()
    }

    /// [`Step::run`] for a step that makes one array of each.
    fn run_on(
        self,
        evaluator: &Evaluator,
        plan: &BootstrapPlan,
        x: Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        match self {
            Self::Enter => {
                let x = plan.spread(plan.entry(evaluator, &x)?);
                // A wrong scale is refused before masks are shared.
                let first = plan.to_coefficients.first().filter(|_| !plan.slots_last());
                first.map_or(Ok(()), |first| first.check_scale(x.scale))?;
                Ok(x)
            }
            Self::ShareMasks(_) => plan.shared(evaluator, x),
            Self::SplitMasks(_) => {
                if x.layout.bodies() > 1 {
                    evaluator.split_mask(&x)
                } else {
                    Ok(x)
                }
            }
            Self::SlotsToCoeffs => map_by(evaluator, x, &plan.to_coefficients),
            Self::CoeffsToSlots => map_by(evaluator, x, &plan.to_slots),
            Self::ReadAsCoeffs(order) => {
                let layout = x.layout.as_complex_coefficients(order);
                let padding = x.padding();
                Ok(x.laid_out(layout.with_padding(padding)))
            }
            Self::Rescale => {
                let (shape, layout) = (x.shape.clone(), x.layout);
                let scale = plan.params.step_product(x.level) * plan.message_scale();
                let all = bare(x, plan.transform_slots, true);
                let scaled = evaluator.linear_combination(&[(&all, Complex64::from(1.0))], scale)?;
                Ok(evaluator.rescale(&scaled)?.rearranged(shape, layout))
            }
            Self::Encapsulate => evaluator.change_secret(&x, plan.sparse_secret()),
            Self::ModRaise => plan.mod_raise(evaluator, &x),
            Self::EvalMod => plan.reduction.run(evaluator, &x),
            Self::SplitReIm | Self::JoinReIm => Err(CkksError::Internal { operation: TO_SLOTS }),
        }
    }
}

impl BootstrapPlan {
    /// The error for an operation that a chain does not allow because slots-to-coefficients comes last.
    pub(super) fn order_error(&self, remedy: &str) -> CkksError {
        let reason = format!("its segment \"{SLOTS_TO_COEFFS}\" puts slots to coefficients last: {remedy}");
        CkksError::not_bootstrappable(&self.params.spec().name, reason)
    }

    /// `x` in the slots of the transforms, in which the numbers of its own slots repeat.
    fn spread(&self, x: Ciphertext) -> Ciphertext {
        if self.transform_slots == self.slots {
            return x;
        }
        let complex = x.is_complex();
        bare(x, self.transform_slots, complex)
    }

    /// The cost of raising `polys` polynomials.
    fn raise_cost(&self, polys: usize) -> crate::keys::Cost {
        let (degree, polys) = (self.params.degree(), polys as f64);
        let mut cost = self.params.transforms_cost(Level(0), degree).times(polys);
        cost += self.params.transforms_cost(self.raise.level, degree).times(polys);
        cost
    }
}
