//! Rank schedules: a lower rank at levels where the modulus is small enough and the rest of the circuit saves
//! more time than the reduction takes.
//!
//! A dynamic program over levels in descending order. The cost of a rank at a level is that of the level's
//! products; the cost of a reduction is a switch of every value that is used at lower levels. Source:
//! [dpad-he, sec. 5, RQ4]; differs: the paper reduces as soon as it is secure; here a reduction must save
//! time.

use std::fmt;

use clathrate_lattice::Level;
use serde::Serialize;

use crate::arrays::{Ciphertext, Encoding};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{KeyNeeds, Operation};
use crate::parameters::Params;

/// The operations of a circuit at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LevelWork {
    /// Relinearisations of sums of products.
    pub relinearisations: usize,
    /// Products of two ciphertexts.
    pub products: usize,
    /// Values computed above this level and used at or below it, which a reduction at this level must switch.
    pub carried: usize,
}

/// How far one reduction may lower the rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RankSteps {
    /// To half the rank (rounded up) or less.
    #[default]
    Halves,
    /// By any amount, including one: many keys `k -> k - 1` are a possible weakness. [dpad-he, footnote 4]
    Single,
}

/// One level of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScheduleRow {
    /// The level.
    pub level: usize,
    /// The rank at this level.
    pub rank: usize,
    /// Price of the level's work in milliseconds on one thread ([`Cost::price`](crate::keys::Cost::price)),
    /// including reductions to this rank.
    pub milliseconds: f64,
}

/// The ranks of all levels, highest level first.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_dpad", &Runtime::default())?;
/// let schedule = RankSchedule::repeated_squaring(&params, Level(3), RankSteps::Halves)?;
/// assert!(schedule.rank_at(Level(0)) <= schedule.rank_at(Level(3)));
///
/// let owner = SecretKey::generate(&params)?;
/// let evaluator = Evaluator::with_keys(owner.evaluation_keys(&schedule.needs()?)?);
/// let mut x = evaluator.drop_to_level(&owner.encrypt(&[0.9])?, Level(3))?;
/// while x.level() > Level(0) {
///     x = schedule.run(&evaluator, &x)?;
///     x = evaluator.multiply_rescale(&x, &x)?;
/// }
/// assert!((owner.decrypt(&x)?.into_real()?[0] - 0.9f64.powi(8)).abs() < 1e-4);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RankSchedule {
    params: Params,
    /// The parameters at the schedule's ranks.
    relatives: Vec<Params>,
    steps: RankSteps,
    rows: Vec<ScheduleRow>,
    /// Price of the same work in milliseconds without a reduction of the rank
    /// ([`Cost::price`](crate::keys::Cost::price)).
    unreduced_milliseconds: f64,
}

/// The costs of one rank.
struct Rank {
    params: Params,
    /// The price of the work at each level; infinite if the rank is not secure there.
    work: Vec<f64>,
}

impl RankSchedule {
    /// The fastest ranks for work at levels `0..work.len()`; the rank of the parameters is the start at the
    /// highest level.
    ///
    /// # Errors
    /// Level errors; `NoSpecialPrimes` if these parameters have no key switching.
    pub fn plan(params: &Params, work: &[LevelWork], steps: RankSteps) -> Result<Self, CkksError> {
        let top = Level(work.len().saturating_sub(1));
        params.check_level(top)?;
        let mut ranks = Vec::new();
        for rank in (1..=params.rank()).rev() {
            // Ranks without a secure level are omitted.
            if let Ok(params) = params.at_rank(rank) {
                let cost = |(level, work): (usize, &LevelWork)| level_cost(&params, Level(level), *work);
                let work = work.iter().enumerate().map(cost).collect::<Result<Vec<f64>, _>>()?;
                ranks.push(Rank { params, work });
            }
        }
        let unreduced_milliseconds = ranks.first().map_or(0.0, |own| own.work.iter().sum::<f64>()) / 1e6;
        // best[i]: the minimal cost of all levels from the top down to the current one, which is at ranks[i];
        // from[i]: the index of the rank at the level above.
        let start = |i: usize| if i == 0 { 0.0 } else { f64::INFINITY };
        let mut best: Vec<f64> = (0..ranks.len()).map(start).collect();
        let mut choices: Vec<Vec<usize>> = Vec::with_capacity(work.len());
        for level in (0..work.len()).rev() {
            let mut next = vec![f64::INFINITY; ranks.len()];
            let mut from = vec![0; ranks.len()];
            for (to, target) in ranks.iter().enumerate() {
                for (i, source) in ranks[..=to].iter().enumerate() {
                    let moved = reduction_cost(
                        &source.params,
                        &target.params,
                        Level(level),
                        work[level].carried,
                        steps,
                    )?;
                    let cost = best[i] + moved + target.work[level];
                    if cost < next[to] {
                        (next[to], from[to]) = (cost, i);
                    }
                }
            }
            best = next;
            choices.push(from);
        }
        let mut at = (0..ranks.len()).min_by(|&x, &y| best[x].total_cmp(&best[y])).unwrap_or(0);
        let mut rows = Vec::with_capacity(work.len());
        for (level, from) in choices.iter().rev().enumerate() {
            let source = from[at];
            let moved = reduction_cost(
                &ranks[source].params,
                &ranks[at].params,
                Level(level),
                work[level].carried,
                steps,
            )?;
            let milliseconds = (moved + ranks[at].work[level]) / 1e6;
            rows.push(ScheduleRow { level, rank: ranks[at].params.rank(), milliseconds });
            at = source;
        }
        rows.reverse();
        let used = |rank: &Rank| rows.iter().any(|row| row.rank == rank.params.rank());
        let relatives = ranks.into_iter().filter(used).map(|rank| rank.params).collect();
        Ok(Self { params: params.clone(), relatives, steps, rows, unreduced_milliseconds })
    }

    /// The schedule of `x <- x^2` at every level from `level` down to 1. [dpad-he, RQ4]
    pub fn repeated_squaring(params: &Params, level: Level, steps: RankSteps) -> Result<Self, CkksError> {
        let square = LevelWork { relinearisations: 1, products: 1, carried: 1 };
        let work: Vec<LevelWork> =
            (0..=level.0).map(|level| if level == 0 { LevelWork::default() } else { square }).collect();
        Self::plan(params, &work, steps)
    }

    /// The parameters that the schedule was made for.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The parameters at the schedule's ranks, highest first.
    #[must_use]
    pub fn relatives(&self) -> &[Params] {
        &self.relatives
    }

    /// The rows, highest level first.
    #[must_use]
    pub fn rows(&self) -> &[ScheduleRow] {
        &self.rows
    }

    /// The rank at `level`; above the schedule's levels, the rank of the parameters.
    #[must_use]
    pub fn rank_at(&self, level: Level) -> usize {
        self.rows.iter().find(|row| row.level == level.0).map_or(self.params.rank(), |row| row.rank)
    }

    /// Price of all work in the schedule in milliseconds ([`Cost::price`](crate::keys::Cost::price)).
    #[must_use]
    pub fn milliseconds(&self) -> f64 {
        self.rows.iter().map(|row| row.milliseconds).sum()
    }

    /// Price of the same work in milliseconds without a reduction
    /// ([`Cost::price`](crate::keys::Cost::price)).
    #[must_use]
    pub fn unreduced_milliseconds(&self) -> f64 {
        self.unreduced_milliseconds
    }

    /// The keys of the schedule's reductions, and relinearisation keys at each of its ranks, up to the
    /// highest level at which each is used in a dry run with a product at each level.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        let evaluator = Evaluator::recording(&self.params);
        let top = Level(self.rows.first().map_or(0, |row| row.level));
        let mut x =
            Ciphertext::symbol(&self.params, &[1], Encoding::Slots, false, top, self.params.scale(top))?;
        for row in &self.rows {
            x = evaluator.drop_to_level(&x, Level(row.level))?;
            x = self.run(&evaluator, &x)?;
            // At the lowest levels the modulus may have no room for a product.
            if self.params.product_scale(x.level).is_some() {
                evaluator.multiply(&x, &x)?;
            }
        }
        Ok(self.allowing_steps(evaluator.needs()))
    }

    /// `needs`, allowing at all shapes the rank steps of this schedule.
    pub(crate) fn allowing_steps(&self, needs: KeyNeeds) -> KeyNeeds {
        if self.steps == RankSteps::Single { needs.single_steps_at_all_shapes() } else { needs }
    }
}

impl RankSchedule {
    /// `x`, reduced to the rank of `schedule` at the level of `x` if that rank is lower.
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        evaluator.to_rank(x, self.rank_at(x.level).min(x.params.rank()))
    }
}

/// The price of `work` at `level`; infinite if the parameters do not have the level.
fn level_cost(params: &Params, level: Level, work: LevelWork) -> Result<f64, CkksError> {
    if level > params.max_level() {
        return Ok(f64::INFINITY);
    }
    if work.products == 0 && work.relinearisations == 0 {
        return Ok(0.0);
    }
    let relinearisation = params.operation_cost(Operation::Multiply, level)?.price;
    Ok(work.relinearisations as f64 * relinearisation
        + work.products as f64 * params.tensor_cost(level).price)
}

/// The price of reducing `count` values; infinite if the reduction is not allowed.
fn reduction_cost(
    from: &Params,
    to: &Params,
    level: Level,
    count: usize,
    steps: RankSteps,
) -> Result<f64, CkksError> {
    let (high, low) = (from.rank(), to.rank());
    if high == low {
        return Ok(0.0);
    }
    if level > to.max_level()
        || level > from.max_level()
        || (steps == RankSteps::Halves && low > high.div_ceil(2))
    {
        return Ok(f64::INFINITY);
    }
    Ok(count as f64 * from.operation_cost(Operation::ReduceRank(low), level)?.price)
}

impl fmt::Display for RankSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "ranks by level: {:.1} ms predicted, {:.1} ms at rank {} throughout",
            self.milliseconds(),
            self.unreduced_milliseconds,
            self.params.rank()
        )?;
        let mut rest = &self.rows[..];
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|row| row.rank == first.rank).count();
            let time: f64 = rest[..run].iter().map(|row| row.milliseconds).sum();
            writeln!(
                f,
                "  levels {} to {}: rank {}, {time:.1} ms",
                first.level,
                rest[run - 1].level,
                first.rank
            )?;
            rest = &rest[run..];
        }
        Ok(())
    }
}
