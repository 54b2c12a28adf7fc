//! Conversions between the encodings: numbers in slots become coefficients, and back, by the transforms of a
//! bootstrap.
//!
//! The transform of `c` slots is a product of sparse maps ([`encoding::dft`](crate::encoding::dft)), each of
//! which takes a level. It moves number `t` to the place `brv(t)`, so the order of a row changes between
//! natural and bit-reversed. This does not affect `W @ ct` and entry-wise sums and products, but rotations.
//!
//! ```text
//! slots to coefficients    number t becomes a complex pair of coefficients; a real one leaves the place of the imaginary part free ([`Layout::paired`])
//! coefficients to slots    a pair becomes a number; real numbers without free places are real and imaginary parts of half as many slots, which come apart into two
//!                          chunks by the sum and the difference with the conjugate
//! ```
//!
//! Source: Chen, Chillotti, Song (EUROCRYPT 2019), sec. 3 and 4.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use clathrate_arith::text::counted;
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::linear::LinearTransformPlan;
use super::linear::factors::{diagonals_error, gain_from, plan_factors};
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Order, Padding};
use crate::circuits::linear::factors::PREDICTION_MARGIN;
use crate::encoding::dft;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::kept::Keepable;
use crate::evaluation::levels::same_scale;
use crate::evaluation::recording::Recording;
use crate::keys::{KeyNeeds, Operation};
use crate::parameters::Params;

/// The operation's name in errors.
const CONVERSION: &str = "a conversion between slots and coefficients";

/// Default number of layers of a transform in one map, which then has up to `2^6 - 1` diagonals.
const LAYERS: u32 = 5;

/// Options of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConversionOptions {
    /// Number of levels, and of maps; `None` for one per five doublings of the slots.
    pub levels: Option<usize>,
}

impl Keepable for ConversionPlan {
    fn kept_bytes(&self) -> usize {
        self.maps.iter().map(Keepable::kept_bytes).sum()
    }

    fn pass(&mut self) {
        self.maps.iter_mut().for_each(Keepable::pass);
    }
}

/// The numbers in the slots of the transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// The numbers of the array: complex, or real with imaginary part zero.
    Whole,
    /// Real numbers, with unspecified imaginary parts.
    RealParts,
    /// The first half of a chunk as real parts, the second half as imaginary parts.
    Halves,
}

/// The plan of a conversion for arrays of one layout, level and scale.
#[derive(Debug)]
pub struct ConversionPlan {
    params: Params,
    to: Encoding,
    slots: usize,
    numbers: Numbers,
    level: Level,
    input_scale: f64,
    maps: Vec<LinearTransformPlan>,
    /// The layout of one row of the arrays.
    row: Layout,
    needs: OnceLock<KeyNeeds>,
}

impl ConversionPlan {
    /// [`ConversionPlan::new`], or the plan that `evaluator` keeps.
    ///
    /// # Errors
    /// Those of [`ConversionPlan::new`].
    pub(crate) fn kept(
        evaluator: &Evaluator,
        x: &Ciphertext,
        options: ConversionOptions,
    ) -> Result<Arc<Self>, CkksError> {
        let mut purpose = blake3::Hasher::new_derive_key("clathrate plan of a conversion");
        let inputs = (x.layout().of_rows(1), x.level().0, x.scale().to_bits(), options);
        purpose.update(x.params().digest());
        purpose.update(format!("{inputs:?} {}", x.params().rank()).as_bytes());
        evaluator.kept_plan(x, &purpose, || {
            let mut plan = Self::new(x, options)?;
            for (index, map) in plan.maps.iter_mut().enumerate() {
                let mut name = purpose.clone();
                map.keep_within_budget(*name.update(&index.to_le_bytes()).finalize().as_bytes());
            }
            Ok(plan)
        })
    }

    /// The plan for arrays like `x`, at its level and scale, to the other encoding.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for rows that share polynomials, were split, or are real coefficients in
    /// bit-reversed order, for padding between coefficients that is not zero, and for bodies under one mask;
    /// [`CkksError::LevelTooLow`] if `x` has too few levels; [`CkksError::ScaleMismatch`] for a product that
    /// awaits its rescale; [`CkksError::OutOfRange`] for an impossible number of levels; those of
    /// [`LinearTransform::plan_with`](super::linear::LinearTransform::plan_with).
    pub fn new(x: &Ciphertext, options: ConversionOptions) -> Result<Self, CkksError> {
        let (layout, params) = (*x.layout(), x.params());
        let refuse = |reason: String| Err(CkksError::Unsuitable { operation: CONVERSION, reason });
        x.check_plain(CONVERSION)?;
        if layout.bodies() > 1 {
            return Err(CkksError::shared_mask(
                CONVERSION,
                layout.bodies(),
                "the conversion is one of polynomials with masks of their own",
                "take the bodies apart with split_mask first",
            ));
        }
        if layout.components() > 1 {
            return refuse(format!(
                "a row is spread over {} polynomials of degree {}: bring it back to degree {} with to_rlwe first",
                layout.components(),
                layout.degree(),
                layout.whole_degree()
            ));
        }
        let (to, slots, numbers) = match layout.encoding() {
            Encoding::Slots => (Encoding::Coefficients, layout.capacity(), Numbers::Whole),
            Encoding::Coefficients if layout.stride() > 1 && layout.padding() == Padding::Dirty => {
                return refuse(
                    "other numbers lie between those of a row: convert the whole array first, and select columns of the result".to_owned(),
                );
            }
            Encoding::Coefficients if layout.is_complex() => {
                (Encoding::Slots, layout.capacity(), Numbers::Whole)
            }
            Encoding::Coefficients if layout.is_paired() => {
                let numbers =
                    if layout.padding() == Padding::Zero { Numbers::Whole } else { Numbers::RealParts };
                (Encoding::Slots, layout.capacity(), numbers)
            }
            Encoding::Coefficients if layout.order() == Order::BitReversed || layout.capacity() < 2 => {
                let what = if layout.capacity() < 2 {
                    "single real numbers"
                } else {
                    "real numbers in bit-reversed order"
                };
                return refuse(format!(
                    "{what} in coefficients are not those of a transform: encrypt them in natural order, with a capacity of 2 or more"
                ));
            }
            Encoding::Coefficients => (Encoding::Slots, layout.capacity() / 2, Numbers::Halves),
        };
        let layers = slots.trailing_zeros();
        let most = (layers as usize).max(1);
        let levels = options
            .levels
            .unwrap_or_else(|| (layers.div_ceil(LAYERS) as usize).clamp(1, most).min(x.level().0.max(1)));
        if !(1..=most).contains(&levels) {
            let remedy = format!("a transform of {} takes 1 to {most}", counted(slots, "slot"));
            return Err(CkksError::OutOfRange {
                what: "the number of levels of a conversion",
                value: levels.to_string(),
                remedy,
            });
        }
        if x.level().0 < levels {
            return Err(CkksError::LevelTooLow { operation: CONVERSION, needed: levels, level: x.level().0 });
        }
        if x.awaits_rescale() {
            return Err(CkksError::ScaleMismatch {
                left: x.scale().log2(),
                right: params.scale(x.level()).log2(),
            });
        }
        let factors = match to {
            Encoding::Coefficients => dft::slots_to_coefficients(slots, levels)?,
            Encoding::Slots => dft::coefficients_to_slots(slots, levels)?,
        };
        let factors: Vec<_> = factors.into_iter().map(Arc::new).collect();
        // The sum with the conjugate is twice the real part.
        let halved = if numbers == Numbers::Whole { 1.0 } else { 2.0 };
        let output_scale = params.scale(Level(x.level().0 - factors.len())) / halved;
        let maps = plan_factors(params, &factors, x.level(), (x.scale(), output_scale), 1)?;
        let row = layout.of_rows(1);
        Ok(Self {
            params: params.clone(),
            to,
            slots,
            numbers,
            level: x.level(),
            input_scale: x.scale(),
            maps,
            row,
            needs: OnceLock::new(),
        })
    }

    /// The encoding of the results.
    #[must_use]
    pub fn to(&self) -> Encoding {
        self.to
    }

    /// Slots of the transform.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The level of inputs.
    #[must_use]
    pub fn input_level(&self) -> Level {
        self.level
    }

    /// The level of results.
    #[must_use]
    pub fn output_level(&self) -> Level {
        Level(self.level.0 - self.maps.len())
    }

    /// The maps in the order of their execution.
    #[must_use]
    pub fn maps(&self) -> &[LinearTransformPlan] {
        &self.maps
    }

    /// Bytes of the encoded diagonals.
    #[must_use]
    pub fn plaintext_bytes(&self) -> usize {
        self.maps.iter().map(LinearTransformPlan::plaintext_bytes).sum()
    }

    /// The keys that the conversion needs.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        self.known_needs().cloned()
    }

    /// [`ConversionPlan::needs`], computed once.
    fn known_needs(&self) -> Result<&KeyNeeds, CkksError> {
        if let Some(needs) = self.needs.get() {
            return Ok(needs);
        }
        let needs = self.run_on_symbol(Evaluator::recording(&self.params))?.needs().clone();
        Ok(self.needs.get_or_init(|| needs))
    }

    /// Whether an evaluator has the keys of the conversion, or records and needs none.
    #[must_use]
    pub fn has_keys_in(&self, evaluator: &Evaluator) -> bool {
        let holds = |needs: &KeyNeeds| {
            // Needs are stated for the evaluator's shape; the rows of a matrix product may have a smaller
            // degree.
            let alike = self.params.shape() == evaluator.params().shape();
            let own = if alike {
                Cow::Borrowed(needs)
            } else {
                Cow::Owned(KeyNeeds::new().relative(self.params.shape(), needs))
            };
            evaluator.holds_all(&own)
        };
        self.known_needs().and_then(holds).unwrap_or(false)
    }

    /// Runs the circuit on a symbol of one row, with keys made for [`ConversionPlan::needs`], and records
    /// predicted time, transforms and products.
    pub fn dry_run(&self) -> Result<Recording, CkksError> {
        self.run_on_symbol(Evaluator::recording_for(&self.params, self.needs()?))
    }

    fn run_on_symbol(&self, evaluator: Evaluator) -> Result<Recording, CkksError> {
        let (shape, secret) = ([1, self.row.columns()], crate::arrays::SecretName::Main);
        let symbol =
            Ciphertext::symbol_with(&self.params, &shape, self.row, secret, self.level, self.input_scale)?;
        self.run(&evaluator, &evaluator.take_symbol(symbol, None)?)?;
        Ok(evaluator.recorded())
    }

    /// The variance of the error that the conversion adds to the real or imaginary part of a number, for
    /// numbers whose parts have mean square `square`.
    ///
    /// # Errors
    /// Those of predicting the noise of rotations.
    pub fn predicted_variance(&self, square: f64) -> Result<f64, CkksError> {
        let secret = crate::arrays::SecretName::Main;
        // A slot has the noise of all coefficients, a coefficient only its own.
        let spread = if self.to == Encoding::Slots { self.slots as f64 } else { 1.0 };
        let mut sum = 0.0;
        for (index, plan) in self.maps.iter().enumerate() {
            sum += spread * plan.variance(secret)? / plan.output_scale().powi(2)
                * gain_from(&self.maps, index + 1);
            let share = self.slots as f64 / self.slots.max(plan.transform().period()) as f64;
            sum += share * square * diagonals_error(plan.transform(), plan.diagonal_scale());
        }
        if self.numbers != Numbers::Whole {
            let conjugate =
                Operation::conjugation(secret).ok_or(CkksError::NoKeys { operation: CONVERSION })?;
            let (level, rounding) = (self.output_level(), self.params.noise_model().rounding());
            sum += spread * (self.params.operation_variance(conjugate, level)? + rounding)
                / self.params.scale(level).powi(2);
        }
        Ok(sum)
    }

    /// The layout after the conversion.
    fn converted(&self, layout: Layout) -> Layout {
        let order = match layout.order() {
            Order::Natural => Order::BitReversed,
            Order::BitReversed => Order::Natural,
        };
        let paired = self.to == Encoding::Coefficients && !layout.is_complex();
        layout.in_chunks(self.to, self.slots, order, paired).with_padding(layout.padding())
    }
}

impl ConversionPlan {
    /// The same numbers in the other encoding, by a plan for arrays like `x`. The order of the numbers
    /// changes between natural and bit-reversed.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`], [`CkksError::ScaleMismatch`] and [`CkksError::LevelTooLow`] for
    /// arrays that do not fit the plan; missing keys; parameter and secret errors.
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        evaluator.check(x)?;
        x.params.check_same(&self.params, "the plan of a conversion")?;
        x.check_main(CONVERSION)?;
        if x.layout.of_rows(1) != self.row {
            let remedy = "make a plan for arrays like this one";
            return Err(CkksError::different_layouts(CONVERSION, x.layout, self.row, remedy));
        }
        let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Level(self.level))?;
        if x.level < self.level {
            return Err(CkksError::LevelTooLow {
                operation: CONVERSION,
                needed: self.level.0,
                level: x.level.0,
            });
        }
        let x = evaluator.at_level(x, self.level)?;
        if !same_scale(x.scale, self.input_scale) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: self.input_scale.log2() });
        }
        let name = if self.to == Encoding::Slots { "coefficients to slots" } else { "slots to coefficients" };
        evaluator.stage(name, || {
            // The maps mix all numbers; the error is predicted for the complete conversion below.
            let bare = x.clone().into_owned().read_as_slots(self.slots).estimated(|_| Estimate::unknown());
            let mapped = self.maps.iter().try_fold(bare, |y, map| map.map_slots(evaluator, &y))?;
            let layout = self.converted(x.layout);
            let result = if self.numbers == Numbers::Whole {
                mapped
            } else {
                self.real_parts(evaluator, &mapped, layout.chunks())?
            };
            let result = result.rearranged(x.shape.clone(), layout);
            let error = |magnitude: f64| {
                Ok::<_, CkksError>(if magnitude.is_finite() {
                    self.predicted_variance(magnitude.powi(2))?.sqrt()
                } else {
                    f64::INFINITY
                })
            };
            let (typical, worst) =
                (error(x.estimate.typical)?, PREDICTION_MARGIN.sqrt() * error(x.estimate.magnitude)?);
            // The prediction is for a real part.
            let parts = if result.layout.is_complex() { 2f64.sqrt() } else { 1.0 };
            let estimate =
                x.estimate.clone().moved(&x.layout, &result.layout, (parts * typical, parts * worst));
            Ok(result.estimated(|_| estimate))
        })
    }

    /// The real parts, and for halves the imaginary parts after them, as separate polynomials: `chunks` of
    /// each row.
    fn real_parts(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        chunks: usize,
    ) -> Result<Ciphertext, CkksError> {
        let (one, i) = (Complex64::new(1.0, 0.0), Complex64::i());
        let conjugate = evaluator.conjugate(x)?;
        let both = self.numbers == Numbers::Halves && chunks > 1;
        let real = evaluator.linear_combination(&[(x, one), (&conjugate, one)], x.scale)?;
        let imaginary =
            both.then(|| evaluator.linear_combination(&[(x, -i), (&conjugate, i)], x.scale)).transpose()?;
        let scale = 2.0 * x.scale;
        let Some(imaginary) = imaginary else { return Ok(real.at_scale(scale)) };
        let layout = real.layout.with_capacity(self.slots)?.of_columns(chunks * self.slots);
        let lines = real
            .bundles
            .chunks_exact(x.layout.chunks())
            .zip(imaginary.bundles.chunks_exact(x.layout.chunks()));
        let bundles = lines
            .flat_map(|(real, imaginary)| {
                real.iter().zip(imaginary).flat_map(|(a, b)| [a.clone(), b.clone()]).take(chunks)
            })
            .collect();
        Ok(real.with_all(
            (&x.params, vec![layout.rows(), layout.columns()]),
            layout,
            bundles,
            (x.level, scale),
        ))
    }
}
