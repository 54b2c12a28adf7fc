//! The plan of a polynomial's circuit: every node with its level and exact scale, computed without
//! ciphertexts.
//!
//! [`build`](super::build) builds the nodes, [`levels_scales`](super::levels_scales) gives each node its
//! level and scale, [`explain`](super::explain) prints the nodes, [`run`](super::run) evaluates them.

use clathrate_lattice::Level;

use super::Polynomial;
use super::build::{Builder, significant};
use super::node::{Node, Value};
use crate::circuits::rank_schedule::{LevelWork, RankSchedule, RankSteps};
use crate::error::CkksError;
use crate::evaluation::levels::same_scale;
use crate::parameters::Params;

/// The circuit of one polynomial for inputs of one level and scale.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let plan = Polynomial::fit(f64::sin, 7, (-1.0, 1.0))?.plan(&params, params.max_level())?;
/// assert_eq!((plan.depth(), plan.output_level()), (3, Level(params.max_level().0 - 3)));
///
/// // It tells the keys that it needs, and runs on any number of inputs.
/// let owner = SecretKey::generate(&params)?;
/// let evaluator = Evaluator::with_keys(owner.evaluation_keys(&plan.needs()?)?);
/// let y = plan.run(&evaluator, &owner.encrypt(&[0.5])?)?;
/// assert!((owner.decrypt(&y)?.into_real()?[0] - 0.5f64.sin()).abs() < 1e-4);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PolynomialPlan {
    pub(super) params: Params,
    pub(super) polynomial: Polynomial,
    /// Degree without dropped coefficients.
    pub(super) degree: usize,
    pub(super) dropped: usize,
    pub(super) input: (Level, f64),
    pub(super) nodes: Vec<Node>,
    /// The rank of each level's nodes; without a schedule all nodes have the rank of the parameters.
    pub(super) schedule: Option<RankSchedule>,
}

impl Polynomial {
    /// The plan for fresh inputs at `level`.
    pub fn plan(&self, params: &Params, level: Level) -> Result<PolynomialPlan, CkksError> {
        params.check_level(level)?;
        self.plan_at(params, level, params.scale(level))
    }

    /// The plan for inputs at `level` with `scale`; inputs at higher levels are lowered.
    ///
    /// # Errors
    /// [`CkksError::Level`] with the number of levels; [`CkksError::TooLarge`] if the
    /// coefficients do not fit the modulus; [`CkksError::ScaleOutOfRange`], [`CkksError::OutOfRange`] if
    /// scales do not fit the steps; level errors.
    pub fn plan_at(&self, params: &Params, level: Level, scale: f64) -> Result<PolynomialPlan, CkksError> {
        params.check_level(level)?;
        params.check_scale(scale, level)?;
        let (coefficients, dropped) = significant(self.coefficients());
        let degree = coefficients.len() - 1;
        let (nodes, depth) = Builder::new(params, self.basis(), level, scale).build(self, coefficients);
        let lowest = params.application_levels().map_or(0, |(lowest, _)| lowest.0);
        let too_deep = CkksError::polynomial_depth(degree, depth, level.0, lowest, params.fresh_level().0);
        if depth > level.0 {
            return Err(too_deep);
        }
        let mut plan = PolynomialPlan {
            params: params.clone(),
            polynomial: self.clone(),
            degree,
            dropped,
            input: (level, scale),
            nodes,
            schedule: None,
        };
        plan.assign_levels(Level(level.0 - depth));
        plan.assign_scales();
        match plan.check() {
            // Levels below the application have the steps of a bootstrap.
            Err(_) if level.0 - depth < lowest && level <= params.fresh_level() => Err(too_deep),
            checked => checked.map(|()| plan),
        }
    }
}

impl PolynomialPlan {
    /// The polynomial.
    #[must_use]
    pub fn polynomial(&self) -> &Polynomial {
        &self.polynomial
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Level of the input.
    #[must_use]
    pub fn input_level(&self) -> Level {
        self.input.0
    }

    /// Scale of the input.
    #[must_use]
    pub fn input_scale(&self) -> f64 {
        self.input.1
    }

    /// Level of the result.
    #[must_use]
    pub fn output_level(&self) -> Level {
        self.nodes.last().map_or(self.input.0, Node::level)
    }

    /// Scale of the result: the canonical scale of its level, unless the circuit is a single power that
    /// leaves a segment of the chain ([`PolynomialPlan::ends_canonical`]).
    #[must_use]
    pub fn output_scale(&self) -> f64 {
        self.nodes.last().map_or(self.input.1, Node::scale)
    }

    /// Whether the result has the canonical scale of its level.
    #[must_use]
    pub fn ends_canonical(&self) -> bool {
        same_scale(self.output_scale(), self.params.scale(self.output_level()))
    }

    /// Number of omitted coefficients: those below 2^-50 of the largest, which are rounding errors of their
    /// computation.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The degree of the circuit: index of the last coefficient that is not dropped.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Whether the result of real numbers is complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.nodes.iter().any(Node::is_complex)
    }

    /// Number of levels that the circuit takes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.input.0.0 - self.output_level().0
    }

    /// The nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Scale of value `value`; value 0 is the input.
    pub(super) fn scale_of(&self, value: usize) -> f64 {
        value.checked_sub(1).map_or(self.input.1, |index| self.nodes[index].scale)
    }

    /// Products of ciphertexts, before relinearisation.
    #[must_use]
    pub fn products(&self) -> usize {
        self.nodes.iter().map(Node::products).sum()
    }

    /// Relinearisations, each fused with a rescale.
    #[must_use]
    pub fn relinearisations(&self) -> usize {
        self.nodes.iter().filter(|node| !node.products.is_empty()).count()
    }

    /// Rescales that are not part of a relinearisation.
    #[must_use]
    pub fn rescales(&self) -> usize {
        self.nodes.iter().filter(|node| node.products.is_empty() && node.rescales()).count()
    }

    /// The computed powers (or Chebyshev polynomials), ascending.
    #[must_use]
    pub fn powers(&self) -> Vec<usize> {
        let mut powers: Vec<usize> = self
            .nodes
            .iter()
            .filter_map(|node| match node.value {
                Value::Power(index) => Some(index),
                _ => None,
            })
            .collect();
        powers.sort_unstable();
        powers
    }

    /// The same circuit at lower ranks, where the modulus is small enough and later products save more time
    /// than the reduction takes. [dpad-he, RQ4]
    pub fn with_rank_schedule(mut self, steps: RankSteps) -> Result<Self, CkksError> {
        let mut work = vec![LevelWork::default(); self.input.0.0 + 1];
        let mut last_use = vec![None; self.nodes.len() + 1];
        for node in &self.nodes {
            let level = node.working_level().0;
            work[level].products += node.products.len();
            work[level].relinearisations += usize::from(!node.products.is_empty());
            for operand in node.operands() {
                last_use[operand] = Some(last_use[operand].map_or(level, |last: usize| last.min(level)));
            }
        }
        let made = |value: usize| if value == 0 { self.input.0.0 } else { self.nodes[value - 1].level.0 };
        for (value, last) in last_use.iter().enumerate().filter_map(|(value, last)| Some((value, (*last)?))) {
            work[last..=made(value)].iter_mut().for_each(|level| level.carried += 1);
        }
        self.schedule = Some(RankSchedule::plan(&self.params, &work, steps)?);
        Ok(self)
    }

    /// The rank schedule, if the plan has one.
    #[must_use]
    pub fn rank_schedule(&self) -> Option<&RankSchedule> {
        self.schedule.as_ref()
    }

    /// The rank of a node at `level`.
    pub(super) fn rank_at(&self, level: Level) -> usize {
        self.schedule.as_ref().map_or(self.params.rank(), |schedule| schedule.rank_at(level))
    }

    /// Rank of the result.
    #[must_use]
    pub fn output_rank(&self) -> usize {
        self.nodes.last().map_or(self.params.rank(), |node| self.rank_at(node.working_level()))
    }
}
