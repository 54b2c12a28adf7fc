//! Plans of packing LWE or MLWE samples into ciphertexts. The method is chosen by its price under a limit on
//! the bytes of keys.
//!
//! The row method has the fewest keys and one switch for each pair of samples. The column method has one
//! switch with an input for each word of the mask, and the largest key. Methods with one or two midpoints
//! take little more time than the column method, with a small fraction of its keys. Source: [hermes, sec.
//! 4.4].

use std::fmt;

use clathrate_lattice::Level;
use clathrate_lattice::packing::PackingStep;

use crate::arrays::{Ciphertext, Encoding, Layout, SecretName};
use crate::error::CkksError;
use crate::evaluation::{Evaluator, Members, Packed};
use crate::keys::{Cost, KeyNeeds};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// Maximum time of a method with smaller keys, relative to the fastest.
const SLOWER: f64 = 1.1;

/// A method of packing samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackingMethod {
    /// One automorphism for each pair of samples: [`Evaluator::to_rlwe`].
    Rows,
    /// Switches of complete masks, through samples of these ranks: [`Evaluator::pack`]. Without midpoints
    /// this is the column method.
    Midpoints(Vec<usize>),
}

impl fmt::Display for PackingMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows => f.write_str("rows"),
            Self::Midpoints(ranks) if ranks.is_empty() => f.write_str("column"),
            Self::Midpoints(ranks) => write!(
                f,
                "midpoints {}",
                ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

/// Options of a plan of packing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackingOptions {
    /// The degree of the samples, a power of two: 1 for LWE samples.
    pub degree: usize,
    /// How many numbers are packed together, for the prediction; `None` for as many as a ciphertext holds.
    /// The plan also packs other counts.
    pub count: Option<usize>,
    /// The highest level of the samples; `None` for all levels. Keys for lower levels are smaller.
    pub level: Option<Level>,
    /// The method; `None` for the fastest whose keys fit, or one with smaller keys that takes at most 10 %
    /// more time.
    pub method: Option<PackingMethod>,
    /// The maximum bytes of the keys in memory; `None` for no limit.
    pub most_key_bytes: Option<usize>,
    /// The secret of the samples: the main one or a device's, which the row method cannot pack.
    pub secret: SecretName,
}

impl Default for PackingOptions {
    fn default() -> Self {
        Self {
            degree: 1,
            count: None,
            level: None,
            method: None,
            most_key_bytes: None,
            secret: SecretName::Main,
        }
    }
}

/// A method with its predicted cost.
#[derive(Debug, Clone, PartialEq)]
pub struct PackingCost {
    /// The method.
    pub method: PackingMethod,
    /// The degree of a smaller ring in which the samples are packed first; `None` if they are packed directly
    /// at the degree of the result. [hermes, sec. 4.5]
    pub ring: Option<usize>,
    /// Nanoseconds for all numbers on one thread.
    pub nanoseconds: f64,
    /// The price of all numbers, by which plans are compared ([`Cost::price`](crate::keys::Cost::price)).
    pub price: f64,
    /// Bytes of keys in memory.
    pub key_bytes: usize,
    /// The predicted root mean square error of a number, including that of its encryption. The prediction may
    /// add equal errors of several steps linearly, so the true error can be a little smaller.
    pub error: f64,
}

impl PackingCost {
    /// The method, and the degree of the smaller ring, if any.
    #[must_use]
    pub fn name(&self) -> String {
        self.ring
            .map_or_else(|| self.method.to_string(), |degree| format!("{} in degree {degree}", self.method))
    }

    /// A table of this choice, marked by a star, and of the useful ones of `others`: those for which no other
    /// choice takes less time with at most as many bytes of keys.
    pub(super) fn table(&self, others: &[Self]) -> String {
        let line = |cost: &Self, mark: &str| {
            let (milliseconds, mebibytes) =
                (cost.nanoseconds / 1e6, cost.key_bytes as f64 / f64::from(1 << 20));
            format!(
                "{mark} {:<32} {milliseconds:>12.2} {mebibytes:>12.2} {:>18.1}\n",
                cost.name(),
                -cost.error.log2()
            )
        };
        let useful = |cost: &&Self| {
            !others
                .iter()
                .chain([self])
                .any(|other| other.price < cost.price && other.key_bytes <= cost.key_bytes)
        };
        let rest: String = others.iter().filter(useful).map(|cost| line(cost, " ")).collect();
        format!(
            "  {:<32} {:>12} {:>12} {:>18}\n{}{rest}",
            "method",
            "milliseconds",
            "MiB of keys",
            "bits of precision",
            line(self, "*")
        )
    }
}

/// The plan of packing samples of one shape.
#[derive(Debug)]
pub struct PackingPlan {
    samples: Params,
    count: usize,
    level: Level,
    secret: SecretName,
    needs: KeyNeeds,
    chosen: PackingCost,
    others: Vec<PackingCost>,
}

impl PackingPlan {
    /// The plan for samples of the family of `params`: the method with the smallest keys among those that are
    /// within the limits of `options` and at most 10 % slower than the fastest.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without numbers, for a limit below the keys of every method, with the
    /// minimum, and for impossible midpoints; [`CkksError::Unsuitable`] if these parameters cannot pack to
    /// rank 1, and for the row method with the secret of a device; [`CkksError::InvalidParams`] for a degree
    /// that the family does not have; level errors.
    pub fn new(params: &Params, options: &PackingOptions) -> Result<Self, CkksError> {
        let dimension = params.shape().dimension();
        let rank = dimension.checked_div(options.degree).unwrap_or(0);
        let samples = params.relative(ModuleShape { degree: options.degree, rank })?;
        let level = options.level.unwrap_or_else(|| samples.max_level());
        samples.check_level(level)?;
        let most = samples.rlwe_shape().degree;
        let count = options.count.unwrap_or(most);
        if count == 0 {
            let remedy = "pack one number or more".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the numbers of a plan of packing",
                value: count.to_string(),
                remedy,
            });
        }
        // Many numbers fill several ciphertexts, each of which takes the same time.
        let (own, times) = (count.min(most), count.div_ceil(most) as f64);
        let methods = match &options.method {
            Some(method) => vec![method.clone()],
            None => methods(&samples, options.secret),
        };
        if options.secret != SecretName::Main && methods.contains(&PackingMethod::Rows) {
            let reason = format!(
                "the row method, which is the only one for odd ranks, does not pack samples under the secret \"{}\": take columns or midpoints",
                options.secret
            );
            return Err(CkksError::Unsuitable { operation: "packing", reason });
        }
        let mut priced = Vec::with_capacity(methods.len());
        for method in methods {
            let recorder = Evaluator::recording(&samples);
            let layout = Layout::new(&[own], Encoding::Coefficients, samples.degree())?;
            let x = Ciphertext::symbol_with(
                &samples,
                &[own],
                layout,
                options.secret,
                level,
                samples.scale(level),
            )?;
            let x = recorder.take_symbol(x, Some(1.0))?;
            let y = packed(&recorder, &x, &method)?;
            let needs = recorder.needs();
            let key_bytes = samples.required_keys(&needs)?.bytes(&samples)?;
            let error = y.error_rms().unwrap_or(f64::INFINITY);
            let Cost { nanoseconds, price, .. } = recorder.recorded().cost().times(times);
            priced.push((PackingCost { method, ring: None, nanoseconds, price, key_bytes, error }, needs));
        }
        let least = priced.iter().map(|(cost, _)| cost.key_bytes).min().unwrap_or(0);
        priced.sort_by(|(a, _), (b, _)| a.price.total_cmp(&b.price));
        let fits = |(cost, _): &(PackingCost, KeyNeeds)| {
            options.most_key_bytes.is_none_or(|most| cost.key_bytes <= most)
        };
        let fastest =
            priced.iter().find(|entry| fits(entry)).map(|(cost, _)| cost.price).ok_or_else(|| {
                CkksError::OutOfRange {
                    what: "the bytes of packing keys",
                    value: options.most_key_bytes.unwrap_or(0).to_string(),
                    remedy: format!("allow at least {least} bytes"),
                }
            })?;
        let near = |entry: &(PackingCost, KeyNeeds)| fits(entry) && entry.0.price <= SLOWER * fastest;
        let near = priced.iter().enumerate().filter(|(_, entry)| near(entry));
        let place = near.min_by_key(|(_, (cost, _))| cost.key_bytes).map_or(0, |(place, _)| place);
        let (chosen, needs) = priced.remove(place);
        let needs = if samples.shape() == params.shape() {
            needs
        } else {
            KeyNeeds::new().relative(samples.shape(), &needs)
        };
        Ok(Self {
            samples,
            count,
            level,
            secret: options.secret,
            needs,
            chosen,
            others: priced.into_iter().map(|(cost, _)| cost).collect(),
        })
    }

    /// The parameters of the samples.
    #[must_use]
    pub fn samples(&self) -> &Params {
        &self.samples
    }

    /// The secret of the samples.
    #[must_use]
    pub fn secret(&self) -> SecretName {
        self.secret
    }

    /// The count of numbers of the prediction.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The highest level of the samples.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The keys, stated for the shape of the parameters of the plan.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// The method with its predicted time, keys and error.
    #[must_use]
    pub fn chosen(&self) -> &PackingCost {
        &self.chosen
    }

    /// The other methods, fastest first.
    #[must_use]
    pub fn others(&self) -> &[PackingCost] {
        &self.others
    }

    /// The chosen method and the best others, with predicted milliseconds, keys and errors.
    #[must_use]
    pub fn explain(&self) -> String {
        let (from, to) = (self.samples.shape(), self.samples.rlwe_shape());
        let under =
            if self.secret == SecretName::Main { String::new() } else { format!(" under {}", self.secret) };
        format!(
            "packing of {} numbers from samples of shape {from}{under} to {to}, levels up to {}\n{}",
            self.count,
            self.level,
            self.chosen.table(&self.others),
        )
    }
}

/// The row method, the column method, and the methods with one or two midpoints.
fn methods(samples: &Params, secret: SecretName) -> Vec<PackingMethod> {
    if samples.rlwe_shape().rank > 1 {
        // Only the row method can keep the odd part of the rank.
        return vec![PackingMethod::Rows];
    }
    let masks = midpoints(samples, samples.rlwe_shape().degree).into_iter().map(PackingMethod::Midpoints);
    let rows = (secret == SecretName::Main).then_some(PackingMethod::Rows);
    rows.into_iter().chain(masks).collect()
}

/// The choices of zero, one or two ranks between the samples and the ring of degree `large`: powers of two
/// that divide the rank of the samples.
pub(super) fn midpoints(samples: &Params, large: usize) -> Vec<Vec<usize>> {
    let (rank, ratio) = (samples.rank(), large / samples.degree());
    let ranks: Vec<usize> = (1..ratio.max(1).ilog2())
        .map(|log| 1 << log)
        .filter(|&between| rank.is_multiple_of(between))
        .collect();
    let one = ranks.iter().map(|&rank| vec![rank]);
    let two = ranks
        .iter()
        .flat_map(|&high| ranks.iter().filter(move |&&low| low < high).map(move |&low| vec![high, low]));
    std::iter::once(Vec::new()).chain(one).chain(two).collect()
}

fn packed(evaluator: &Evaluator, x: &Ciphertext, method: &PackingMethod) -> Result<Ciphertext, CkksError> {
    match method {
        PackingMethod::Rows => evaluator.to_rlwe(x),
        PackingMethod::Midpoints(ranks) => evaluator.pack(x, ranks),
    }
}

impl PackingPlan {
    /// The same array at rank 1 and the degree of equal dimension, packed by `plan`.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for samples of another shape or secret than the plan's;
    /// [`CkksError::WrongParams`]; the errors of [`Evaluator::to_rlwe`] and [`Evaluator::pack`].
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        packed(evaluator, x, &self.chosen.method)
    }

    /// [`PackingPlan::run`] for rows of one polynomial each: [`Evaluator::pack_rows`].
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for a plan of the row method, which packs numbers instead of rows; the
    /// errors of [`PackingPlan::run`] and [`Evaluator::pack_rows`].
    pub fn run_on_rows(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        match &self.chosen.method {
            PackingMethod::Midpoints(ranks) => evaluator.pack_rows(x, ranks),
            PackingMethod::Rows => {
                let reason = "the method \"rows\" spreads the numbers of a row: make a plan with the method \"column\"".to_owned();
                Err(CkksError::Unsuitable { operation: "packing of rows", reason })
            }
        }
    }
}

impl PackingPlan {
    /// Refuses samples whose shape, secret or parameters differ from the plan's.
    fn check(&self, x: &Ciphertext) -> Result<(), CkksError> {
        let (own, planned) = (x.params().shape(), self.samples.shape());
        if own != planned {
            let reason = format!(
                "the plan is for samples of shape {planned}, not {own}: make one with `degree` {}",
                own.degree
            );
            return Err(CkksError::Unsuitable { operation: "packing", reason });
        }
        if x.secret() != self.secret {
            let reason = format!(
                "the plan is for samples under the secret \"{}\", not \"{}\": make one for that secret",
                self.secret,
                x.secret()
            );
            return Err(CkksError::Unsuitable { operation: "packing", reason });
        }
        x.params().check_same(&self.samples, "the plan of packing")
    }
}

/// The steps of packing within one ring.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// The parameters of the ring.
    pub params: Params,
    /// The secret of the stage's results.
    pub onto: SecretName,
    pub steps: Vec<PackingStep>,
}

impl Stage {
    /// The result of this stage for `polys` polynomials on the way to `result`. In a smaller ring, each
    /// polynomial is a row.
    pub(super) fn leaves(&self, result: &Packed, polys: usize) -> Result<Packed, CkksError> {
        let (target, onto) = (self.params.clone(), self.onto);
        if target.shape() == result.target.shape() {
            return Ok(Packed { target, onto, shape: result.shape.clone(), layout: result.layout });
        }
        let shape = vec![polys, target.degree()];
        let layout = Layout::new(&shape, Encoding::Coefficients, target.degree())?;
        Ok(Packed { target, onto, shape, layout })
    }
}

/// The members of each of the `count` polynomials that are joined to one polynomial: `m(X) = sum_p X^p
/// m_p(X^count)`.
pub(super) fn members_in(members: &Members, count: usize) -> Members {
    let part =
        |members: &Vec<Option<usize>>, p: usize| members.iter().skip(p).step_by(count).copied().collect();
    members.iter().flat_map(|members| (0..count).map(move |p| part(members, p))).collect()
}

/// Runs the stages after the first. The result of the first is `x`, and `placed` holds the samples of
/// each of its polynomials.
pub(super) fn pack_onwards(
    evaluator: &Evaluator,
    x: Ciphertext,
    stages: &[Stage],
    result: &Packed,
    placed: &Members,
) -> Result<Ciphertext, CkksError> {
    stages.iter().try_fold(x, |x, stage| {
        let count = stage.params.degree() / x.params().degree();
        // Polynomials without samples are zero and are omitted.
        let filled = |poly: usize| placed[poly].iter().any(Option::is_some).then_some(poly);
        let members: Members = (0..placed.len() / count)
            .map(|index| (index * count..(index + 1) * count).map(filled).collect())
            .collect();
        evaluator.pack_as(&x, &stage.steps, &stage.leaves(result, members.len())?, members)
    })
}
