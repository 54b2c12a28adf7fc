//! Exact products: masks and bodies are multiplied modulo each prime, in the ring of the parameters or in a
//! smaller ring.

use std::borrow::Cow;

use clathrate_lattice::Level;

use super::{MatrixCost, MatrixMethod, PLAN};
use crate::arrays::{Ciphertext, Layout, SecretName};
use crate::circuits::matrix::{Weights, splits_masks_for};
use crate::circuits::packing_plan::{Stage, members_in, pack_onwards};
use crate::circuits::prepared::Arrangement;
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::evaluation::{Evaluator, Members, Packed};
use crate::keys::{KeyNeeds, Operation, Switch};
use crate::parameters::{KeyModulus, Params, SMALLER_RING_LEVEL, packing_rounding};
use crate::shape::ModuleShape;

/// An exact product: weights at the scale of the level, and how the rows of the result are packed.
#[derive(Debug, Clone)]
pub(super) struct ExactPlan {
    pub(super) weights: Weights,
    pub(super) layout: Layout,
    pub(super) level: Level,
    pub(super) scale: f64,
    /// Ranks of the intermediate samples, see
    /// [`PackingMethod::Midpoints`](super::packing_plan::PackingMethod).
    pub(super) midpoints: Vec<usize>,
    /// The smaller ring in which rows are multiplied and packed. [pcmm-mambo, sec. 6.3]
    pub(super) ring: Option<Params>,
    pub(super) needs: KeyNeeds,
}

impl ExactPlan {
    pub(super) fn new(
        params: &Params,
        Matrix { rows, columns: inner, values }: Matrix<'_>,
        columns: usize,
        arrangement: Arrangement,
    ) -> Result<Self, CkksError> {
        let (shape, (level, layout)) =
            ([inner, columns], arrangement.layout(params, (rows, inner, columns))?);
        let x =
            Ciphertext::symbol_with(params, &shape, layout, SecretName::Main, level, params.scale(level))?;
        if layout.lanes() > 1 && params.rank() > 1 {
            let reason = format!(
                "rows in lanes are packed again at rank 1 alone, not {}: take one row in a polynomial (lanes 1)",
                params.rank()
            );
            return Err(CkksError::Unsuitable { operation: PLAN, reason });
        }
        let weights = Weights::encode(&Evaluator::new(params), rows, inner, values, &x)?;
        params.check_scale(x.scale() * weights.scale(), level)?;
        Ok(Self {
            weights,
            layout,
            level,
            scale: x.scale(),
            midpoints: Vec::new(),
            ring: None,
            needs: KeyNeeds::new(),
        })
    }

    /// All variants of the plan with their costs: without a midpoint of packing, with one, which has smaller
    /// keys but takes a further switch, and in smaller rings, of one degree or of all.
    pub(super) fn candidates(
        self,
        params: &Params,
        method: MatrixMethod,
        own_masks: bool,
        ring: Option<usize>,
    ) -> Result<Vec<(MatrixCost, Self)>, CkksError> {
        let row = params.degree() / self.layout.lanes();
        let smaller = if self.layout.lanes() > 1
            && self.level == SMALLER_RING_LEVEL
            && params.has_keys_over(KeyModulus::SmallerRing)
        {
            params.product_rings(row)
        } else {
            Vec::new()
        };
        let rings = std::iter::once(None).chain(smaller.into_iter().map(Some));
        let wanted = |own: &Option<Params>| {
            ring.is_none_or(|degree| degree == own.as_ref().map_or(params.degree(), Params::degree))
        };
        let rings: Vec<_> = rings.filter(wanted).collect();
        if let (true, Some(degree)) = (rings.is_empty(), ring) {
            params.product_ring(degree)?;
            let remedy = format!(
                "use {}, or a smaller one that holds rows in lanes at level {SMALLER_RING_LEVEL}",
                params.degree()
            );
            return Err(CkksError::OutOfRange {
                what: "the degree of the ring of a product",
                value: degree.to_string(),
                remedy,
            });
        }
        let mut candidates = Vec::new();
        for ring in rings {
            // Intermediate ranks from 2 to below the number of lanes.
            let lanes = ring.as_ref().map_or(params.degree(), Params::degree) / row;
            for midpoints in std::iter::once(Vec::new()).chain((1..lanes.ilog2()).map(|log| vec![1 << log])) {
                let plan = Self { midpoints, ring: ring.clone(), ..self.clone() };
                let recorder = Evaluator::recording(params);
                plan.multiply(&recorder, &recorder.take_symbol(plan.symbol(params)?, None)?)?;
                let plan = Self { needs: recorder.needs(), ..plan };
                candidates.push((plan.cost(params, method, own_masks)?, plan));
            }
        }
        Ok(candidates)
    }

    /// The stages that pack rows in the smaller ring, and the result of packing at the degree and rank of
    /// `params`.
    fn stages(&self, params: &Params, ring: &Params) -> Result<Vec<Stage>, CkksError> {
        let row = params.for_samples(ModuleShape {
            degree: params.degree() / self.layout.lanes(),
            rank: ring.degree() * self.layout.lanes() / params.degree(),
        })?;
        let out = Stage {
            params: params.clone(),
            onto: SecretName::Main,
            steps: ring.packing_steps_to(params, &[])?,
        };
        if row.shape() == ring.shape() {
            return Ok(vec![out]);
        }
        let within = row.packing_steps_to(ring, &self.midpoints)?;
        Ok(vec![Stage { params: ring.clone(), onto: SecretName::Packing, steps: within }, out])
    }

    /// The keys of a product in a smaller ring, in words.
    pub(super) fn ring_in_words(&self) -> String {
        let degree = self.ring.as_ref().map_or(0, Params::degree);
        let between = if self.midpoints.is_empty() {
            String::new()
        } else {
            format!(" by samples of rank {:?} in between", self.midpoints)
        };
        format!(
            "a switch to the ring of degree {degree}, where rows are multiplied and packed{between}, and one back"
        )
    }

    fn symbol(&self, params: &Params) -> Result<Ciphertext, CkksError> {
        let shape = [self.layout.rows(), self.layout.columns()];
        Ciphertext::symbol_with(params, &shape, self.layout, SecretName::Main, self.level, self.scale)
    }

    fn below(&self) -> Level {
        Level(self.level.0.saturating_sub(1))
    }

    /// See [`MatrixPlan::check_numbers`](super::MatrixPlan::check_numbers).
    pub(super) fn check_numbers(&self, params: &Params, bound: Option<f64>) -> Result<(), CkksError> {
        let scale = self.scale * self.weights.scale();
        let product = bound.map_or(f64::INFINITY, |own| own * self.weights.row_sum());
        params.check_bound(product, scale, self.level)?;
        params.check_bound(product, scale / params.step_product(self.level), self.below())?;
        if bound.is_none() { self.weights.check_row_sum(params, scale, self.level) } else { Ok(()) }
    }

    /// See [`MatrixPlan::product_bytes`](super::MatrixPlan::product_bytes): a row has a mask of the complete
    /// ring.
    pub(super) fn product_bytes(&self, params: &Params) -> usize {
        let (ring, primes) = (self.ring.as_ref().unwrap_or(params), params.chain().basis(self.level).len());
        let words = ring.rank() * ring.degree() + params.degree() / self.layout.lanes();
        self.weights.rows().saturating_mul(self.layout.chunks() * words * primes * 8)
    }

    /// `W @ x`, rescaled and packed.
    pub(super) fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let whole = evaluator.progress().steps(0);
        let counting = evaluator.for_part(&whole, |done, all| (done, all));
        if !splits_masks_for(evaluator, x) {
            x.check_main(PLAN)?;
        }
        let Some(ring) = &self.ring else {
            let product = self.weights.multiply(&counting, x)?;
            let rescaled = evaluator.rescale(&product)?;
            return if x.layout().lanes() > 1 {
                evaluator.pack_rows(&rescaled, &self.midpoints)
            } else {
                Ok(rescaled)
            };
        };
        let x = if splits_masks_for(evaluator, x) {
            Cow::Owned(evaluator.split_mask(x)?)
        } else {
            Cow::Borrowed(x)
        };
        let (params, lanes) = (x.params(), x.layout().lanes());
        let rows = evaluator.rows_in_ring(&x, ring.degree())?;
        let product = self.weights.multiply(&counting, &rows)?;
        let rescaled = evaluator.rescale(&product)?;
        let layout = rescaled.layout().gathered(lanes)?;
        let result = Packed {
            target: params.clone(),
            onto: SecretName::Main,
            shape: rescaled.shape().to_vec(),
            layout,
        };
        let row = |row: usize| (row < layout.rows()).then_some(row);
        let members: Members = (0..layout.row_groups())
            .map(|group| (group * lanes..(group + 1) * lanes).map(row).collect())
            .collect();
        let stages = self.stages(params, ring)?;
        let [first, rest @ ..] = &stages[..] else { return Err(CkksError::Internal { operation: PLAN }) };
        let placed = members_in(&members, params.degree() / first.params.degree());
        let packed = evaluator.pack_as(
            &rescaled,
            &first.steps,
            &first.leaves(&result, placed.len())?,
            placed.clone(),
        )?;
        pack_onwards(evaluator, packed, rest, &result, &placed)
    }

    /// The variances of this plan's switches: those before the product, which it multiplies, and those after
    /// it.
    fn variances(&self, params: &Params) -> Result<(f64, f64), CkksError> {
        let main = params.noise_model().rounding();
        let Some(ring) = &self.ring else {
            let switch = |(operation, _)| {
                params.operation_variance_by(operation, self.below(), self.below()).map(|own| own + main)
            };
            return Ok((0.0, self.needs.operations().map(switch).sum::<Result<f64, CkksError>>()?));
        };
        let rounding = packing_rounding(ring.degree());
        let ring_switch = Operation::Switch(Switch::ChangeSecret {
            from: SecretName::Main,
            to: SecretName::Embedded(ring.degree()),
        });
        let before = params.operation_variance_by(ring_switch, self.level, self.level)? + rounding;
        let mut behind = 0.0;
        for Stage { params: own, onto, steps } in self.stages(params, ring)? {
            for step in steps {
                let from = ModuleShape { degree: step.degree(), rank: step.rank() };
                let operation = Operation::Switch(Switch::Pack {
                    from,
                    to: step.target(),
                    under: SecretName::Packing,
                    onto,
                });
                let last = if onto == SecretName::Main { main } else { rounding };
                behind += own.operation_variance_by(operation, self.below(), self.below())? + last;
            }
        }
        Ok((before, behind))
    }

    fn cost(&self, params: &Params, method: MatrixMethod, own_masks: bool) -> Result<MatrixCost, CkksError> {
        let recorder = Evaluator::recording_for(params, self.needs.clone());
        self.multiply(&recorder, &recorder.take_symbol(self.symbol(params)?, None)?)?;
        let (model, weights) = (params.noise_model(), &self.weights);
        let fresh = if own_masks { model.fresh_public() } else { model.fresh_secret() };
        let largest = (0..weights.rows()).map(|row| weights.matrix().sum_of_squares(row)).fold(0.0, f64::max);
        let step = params.step_product(self.level);
        let scale = self.scale * weights.scale() / step;
        let (ring_switch, packing) = self.variances(params)?;
        let rounding =
            self.ring.as_ref().map_or_else(|| model.rounding(), |ring| packing_rounding(ring.degree()));
        let variance = (fresh + ring_switch) * largest / (step * step) + rounding + packing;
        // Weights are rounded to integers.
        let of_weights = weights.inner() as f64 / 12.0 / (weights.scale() * weights.scale());
        let cost = recorder.recorded().cost();
        Ok(MatrixCost {
            method,
            ring: self.ring.as_ref().map(Params::degree),
            products: 0,
            nanoseconds: cost.nanoseconds,
            preparation: 0.0,
            prices: (cost.price, 0.0),
            owner_key_bytes: params.required_keys(&self.needs)?.bytes(params)?,
            matrix_key_bytes: 0,
            error: (variance / (scale * scale) + of_weights).sqrt(),
        })
    }
}
