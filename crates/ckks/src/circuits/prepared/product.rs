//! Prepared matrices, and products with them.

use clathrate_arith::text::counted;
use clathrate_lattice::row_products::PreparedMatrix as Combined;
use clathrate_lattice::{Bundle, Eval, Level, SwitchKey};

use super::{PREPARE, PreparedPlan, check_rows};
use crate::arrays::memory::check_free;
use crate::arrays::{BodyAxis, Ciphertext, Encoding, SecretName};
use crate::error::CkksError;
use crate::evaluation::evaluator::Evaluator;
use crate::key_id::KeyId;
use crate::keys::{Operation, Switch};

/// A matrix with the keys for its products, under one owner's secrets.
#[derive(Debug)]
pub struct PreparedMatrix {
    plan: PreparedPlan,
    key_id: KeyId,
    combined: Combined,
}

impl PreparedPlan {
    /// Combines the keys of `evaluator`'s key set with the matrix, which takes as long as many products.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`] without the keys of [`PreparedPlan::needs`]; [`CkksError::WrongParams`];
    /// [`CkksError::Cancelled`].
    pub fn prepare(&self, evaluator: &Evaluator) -> Result<PreparedMatrix, CkksError> {
        evaluator.params().check_related(self.params(), "the matrix")?;
        let held = evaluator.held().ok_or(CkksError::NoKeys { operation: PREPARE })?;
        check_free(PREPARE, self.key_bytes()?, "prepare fewer rows of the matrix at a time")?;
        let operation = self.operation();
        let found = held.find(self.params(), operation, self.level(), self.params().slot_count())?;
        let key = found.only(PREPARE)?;
        let steps = evaluator.progress().steps(0);
        let combined = Combined::new(
            self.weights().matrix(),
            self.shift(),
            self.row_shape(),
            key.switcher()?,
            key.key(),
            &mut |done, all| steps.at(done, all).is_ok(),
        )?
        .ok_or(CkksError::Cancelled)?;
        let key_id = held.id();
        Ok(PreparedMatrix { plan: self.clone(), key_id, combined })
    }
}

impl PreparedMatrix {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &PreparedPlan {
        &self.plan
    }

    /// The public name of the secret of the keys.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// A prepared matrix from a file.
    pub(crate) fn from_parts(
        plan: PreparedPlan,
        key_id: KeyId,
        keys: Vec<SwitchKey>,
    ) -> Result<Self, CkksError> {
        let combined = Combined::from_parts(
            plan.weights().matrix().shifted_down(plan.shift()),
            plan.shift(),
            plan.row_shape(),
            keys,
        )?;
        Ok(Self { plan, key_id, combined })
    }

    /// The keys, one per polynomial of the result.
    pub(crate) fn keys(&self) -> &[SwitchKey] {
        self.combined.keys()
    }

    /// The weights as multiples of `2^shift`, row-major.
    pub(crate) fn multiples(&self) -> Vec<i64> {
        self.combined.left().integers()
    }

    /// Bytes of the keys in memory.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.combined.key_bytes()
    }

    /// The same matrix and keys with one or two floating-point products. The rounding of the weights is that
    /// of the plan.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for another number.
    pub fn with_products(self, products: usize) -> Result<Self, CkksError> {
        if !(1..=2).contains(&products) {
            let remedy = "take one or two".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the number of floating-point products",
                value: products.to_string(),
                remedy,
            });
        }
        let plan = self.plan.with_products(products)?;
        Ok(Self { plan, ..self })
    }
}

/// Minimum of the bytes that a product with `x` takes without the factors: the rows under shared masks, their
/// numbers in floating point, and the result.
fn product_bytes(plan: &PreparedPlan, x: &Ciphertext, comes_under_masks: bool) -> usize {
    let (params, polys) = (x.params(), plan.rows().div_ceil(plan.layout().lanes()) * x.layout().groups());
    let words = |polys: usize, level: Level| polys * params.chain().basis(level).len() * params.degree();
    let shared = if comes_under_masks { words(x.layout().bundles(), x.level()) } else { 0 };
    let numbers = (1 + plan.products()) * x.layout().bundles() * x.layout().bodies() * params.degree();
    let result = words(2 * polys, Level(x.level().0.saturating_sub(1)));
    size_of::<u64>() * (shared + numbers + result)
}

impl PreparedMatrix {
    /// `W @ x`, rescaled, with a prepared matrix. The result has one body in each bundle and as many rows in
    /// a polynomial as `x`. Rows under shared masks need no further key; an array with separate masks is
    /// first brought under shared ones, with the keys of [`PreparedPlan::needs`] for such arrays.
    ///
    /// # Errors
    /// [`CkksError::Shape`], [`CkksError::Unsuitable`], [`CkksError::OutOfRange`] if `x` does not have the
    /// shape, layout, level and scale of the plan; [`CkksError::WrongSecret`] under another owner's secret;
    /// [`CkksError::WrongParams`].
    pub fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let steps = evaluator.progress().steps(0);
        let plan = &self.plan;
        evaluator.check(x)?;
        x.params().check_same(plan.params(), "the matrix")?;
        if !x.is_symbol() {
            x.key_id.check_same(self.key_id, "the matrix")?;
        }
        let left = vec![plan.rows(), plan.inner()];
        if x.shape().len() != 2 || x.layout().rows() != plan.inner() {
            let remedy = format!("the matrix was prepared for {}", counted(plan.inner(), "row"));
            return Err(CkksError::Shape { operation: PREPARE, left, right: x.shape().to_vec(), remedy });
        }
        let layout = *x.layout();
        if layout.encoding() == Encoding::Slots {
            x.check_one_lane(PREPARE)?;
        }
        let comes_under_masks = x.secret() == SecretName::Main && plan.brings_under_masks(evaluator, x);
        if !comes_under_masks {
            check_rows(x)?;
        }
        let bodies = if comes_under_masks { plan.layout().bodies() } else { layout.bodies() };
        if (layout.lanes(), bodies) != (plan.layout().lanes(), plan.layout().bodies()) {
            let text = |lanes: usize, bodies: usize| {
                format!(
                    "{} in a polynomial and {} under a mask",
                    counted(lanes, "row"),
                    counted(bodies, "polynomial")
                )
            };
            let (planned, own) = (plan.layout(), text(layout.lanes(), layout.bodies()));
            let reason = format!(
                "the matrix was prepared for {}, the array has {own}",
                text(planned.lanes(), planned.bodies())
            );
            return Err(CkksError::Unsuitable { operation: PREPARE, reason });
        }
        if x.level() != plan.level() || x.scale() != plan.scale() {
            let value = format!("level {} and scale 2^{:.3}", x.level(), x.scale().log2());
            let remedy = format!(
                "the matrix was prepared for level {} and scale 2^{:.3}",
                plan.level(),
                plan.scale().log2()
            );
            return Err(CkksError::OutOfRange {
                what: "the level of the factor of a prepared matrix",
                value,
                remedy,
            });
        }
        if !x.is_symbol() {
            check_free(
                "a product with a prepared matrix",
                product_bytes(plan, x, comes_under_masks),
                "multiply fewer rows of the matrix at a time",
            )?;
        }
        let shared;
        let x = if comes_under_masks {
            let axis = Some(BodyAxis::Rows);
            // The needs of a plan are the keys of rounds.
            let direct = !x.is_symbol()
                && evaluator.holds(x, Operation::Switch(Switch::FormatSwitch { from: 1, to: bodies }));
            shared = if direct {
                evaluator.share_mask_along(x, bodies, axis)?
            } else {
                evaluator.share_mask_in_rounds(x, bodies, axis)?
            };
            check_rows(&shared)?;
            &shared
        } else {
            x
        };
        let layout = *x.layout();
        let (level, scale) = evaluator.rescaled(x, x.level(), x.scale() * plan.weights().scale())?;
        let out = layout.of_rows(plan.rows()).with_bodies(1, None)?;
        let out = out.with_padding(layout.padding());
        let shape = vec![plan.rows(), layout.columns()];
        let finish = |bundles: Vec<Bundle<Eval>>| Ciphertext {
            secret: SecretName::Main,
            ..x.with_all((x.params(), shape), out, bundles, (level, scale))
        };
        let symbol = finish(Vec::new());
        let (error, rounding) = (symbol.slot_error(plan.noise().total()), plan.weight_rounding());
        let (typical, worst) = (symbol.estimate.typical, symbol.estimate.magnitude);
        let symbol = symbol.estimated(|own| {
            plan.weights().estimate(own).with_error(error).with_errors_of_factors(
                [false, true],
                rounding.0 * typical,
                rounding.1 * worst,
            )
        });
        // Numbers that would not fit are refused before anything is computed.
        symbol.check_bound()?;
        if x.is_symbol() {
            evaluator.record_once(x, || Ok(plan.product_cost()))?;
            return Ok(symbol);
        }
        let switcher = x.params().switcher()?;
        let (groups, polys) = (layout.groups(), out.row_groups());
        let mut columns = Vec::with_capacity(groups);
        for group in 0..groups {
            let bundles: Vec<&Bundle<Eval>> =
                (0..layout.lines()).map(|line| &x.bundles()[layout.bundle(line, group, 0)]).collect();
            let mut tick = |done: usize, _: usize| steps.at(group * polys + done, groups * polys).is_ok();
            let rows = self
                .combined
                .multiply(&bundles, plan.products(), switcher, &mut tick)?
                .ok_or(CkksError::Cancelled)?;
            columns.push(rows.into_iter());
        }
        let bundles = (0..polys)
            .flat_map(|_| columns.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>())
            .collect();
        Ok(Ciphertext { bundles, ..symbol })
    }
}

impl PreparedPlan {
    /// Whether an array with separate masks can be brought under the plan's: on a dry run if the plan says
    /// so, on data if the evaluator has the keys.
    fn brings_under_masks(&self, evaluator: &Evaluator, x: &Ciphertext) -> bool {
        if x.is_symbol() {
            return self.own_masks();
        }
        let bodies = self.layout().bodies();
        self.own_masks()
            || evaluator.holds(x, Operation::Switch(Switch::FormatSwitch { from: 1, to: bodies }))
            || evaluator.holds_rounds(x, bodies)
    }
}
