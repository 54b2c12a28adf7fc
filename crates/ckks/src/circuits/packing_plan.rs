//! Plans of packing: which keys bring LWE or MLWE samples into ciphertexts, chosen by predicted time under a
//! limit on the bytes of keys.
//!
//! The row method has the fewest keys and one switch for each pair of samples. The column method has one
//! switch with an input for each word of the mask, and a key as large as that. One or two midpoints have
//! nearly the time of the column method and a small fraction of its keys. Source: [hermes, sec. 4.4].

use std::fmt;

use clathrate_lattice::Level;
use clathrate_lattice::packing::PackingStep;

use crate::arrays::{Ciphertext, Encoding, Layout, SecretName};
use crate::error::CkksError;
use crate::evaluation::{Evaluator, Members, Packed};
use crate::keys::{Cost, KeyNeeds};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// A method with fewer bytes of keys may take this much more time than the fastest.
const SLOWER: f64 = 1.1;

/// A way to pack samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackingMethod {
    /// One automorphism for each pair of samples: [`Evaluator::to_rlwe`].
    Rows,
    /// Switches of whole masks, with samples of these ranks in between: [`Evaluator::pack`]; without
    /// midpoints the column method.
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

/// What a plan of packing may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackingOptions {
    /// Degree of the samples, a power of two: 1 for LWE samples.
    pub degree: usize,
    /// How many numbers are packed at once; absent for as many as a ciphertext holds. The plan packs other
    /// numbers as well.
    pub count: Option<usize>,
    /// The highest level of the samples; absent for all levels. Keys of lower levels are smaller.
    pub level: Option<Level>,
    /// The method; absent for the fastest whose keys fit, or one with smaller keys that takes at most 10 %
    /// more time.
    pub method: Option<PackingMethod>,
    /// The most bytes that the keys may take in memory; absent for no limit.
    pub most_key_bytes: Option<usize>,
    /// The secret of the samples: the main one, or that of a device, which the row method does not pack.
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

/// A method with what it is predicted to take.
#[derive(Debug, Clone, PartialEq)]
pub struct PackingCost {
    /// The method.
    pub method: PackingMethod,
    /// The degree of a smaller ring that the samples are packed in first; absent where they are packed at the
    /// degree of the result at once. [hermes, sec. 4.5]
    pub ring: Option<usize>,
    /// Nanoseconds for all numbers, one thread.
    pub nanoseconds: f64,
    /// The same by the prices that plans compare ([`Cost::price`](crate::keys::Cost::price)).
    pub price: f64,
    /// Bytes of keys in memory.
    pub key_bytes: usize,
    /// The predicted root mean square error of a number, that of its encryption included. The errors of the
    /// steps are added up as if they were one, so it is a little more than the true one.
    pub error: f64,
}

impl PackingCost {
    /// The method, and the smaller ring where there is one.
    #[must_use]
    pub fn name(&self) -> String {
        self.ring
            .map_or_else(|| self.method.to_string(), |degree| format!("{} in degree {degree}", self.method))
    }

    /// A table of this choice, marked by a star, and of those of `others` that take less time or fewer keys
    /// than every other.
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
                .any(|other| other.nanoseconds < cost.nanoseconds && other.key_bytes <= cost.key_bytes)
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

/// A way to pack samples of one shape.
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
    /// The plan within the limits that `options` state, fast and with small keys, for samples of the family
    /// of `params`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without numbers, for a limit below the keys of every method, with the least
    /// bytes, and for midpoints that do not fit; [`CkksError::Conversion`] where these parameters have no
    /// rank of 1 to pack to; [`CkksError::InvalidParams`] for a degree that the family does not have; level
    /// errors.
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
        // Many numbers fill many ciphertexts, each in the same time.
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
            return Err(CkksError::Conversion { operation: "packing", reason });
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

    /// The numbers that the prediction is for.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The highest level of the samples.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The keys, stated for the shape of the parameters that the plan was made with.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// The method with its predicted time, keys and error.
    #[must_use]
    pub fn chosen(&self) -> &PackingCost {
        &self.chosen
    }

    /// What was not chosen, fastest first.
    #[must_use]
    pub fn others(&self) -> &[PackingCost] {
        &self.others
    }

    /// The choice and the best of what was not chosen, with predicted milliseconds, keys and errors.
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

/// The row method, the column method, and those of one or two midpoints.
fn methods(samples: &Params, secret: SecretName) -> Vec<PackingMethod> {
    if samples.rlwe_shape().rank > 1 {
        // An odd part of the rank remains, which the row method alone can leave.
        return vec![PackingMethod::Rows];
    }
    let masks = midpoints(samples, samples.rlwe_shape().degree).into_iter().map(PackingMethod::Midpoints);
    let rows = (secret == SecretName::Main).then_some(PackingMethod::Rows);
    rows.into_iter().chain(masks).collect()
}

/// No, one or two ranks between the samples and the ring of degree `large`: powers of two that divide the
/// rank of the samples.
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

impl Evaluator {
    /// The same array at rank 1 and the degree of equal dimension, packed by `plan`.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] for samples of another shape than the plan's; [`CkksError::WrongParams`]; as
    /// [`Evaluator::to_rlwe`] and [`Evaluator::pack`].
    pub fn pack_by(&self, x: &Ciphertext, plan: &PackingPlan) -> Result<Ciphertext, CkksError> {
        plan.check(x)?;
        packed(self, x, &plan.chosen.method)
    }

    /// As [`Evaluator::pack_by`], for rows that each are a polynomial: [`Evaluator::pack_rows`].
    ///
    /// # Errors
    /// As [`Evaluator::pack_by`] and [`Evaluator::pack_rows`]; [`CkksError::Conversion`] for a plan of the
    /// row method, which brings numbers together and not rows.
    pub fn pack_rows_by(&self, x: &Ciphertext, plan: &PackingPlan) -> Result<Ciphertext, CkksError> {
        plan.check(x)?;
        match &plan.chosen.method {
            PackingMethod::Midpoints(ranks) => self.pack_rows(x, ranks),
            PackingMethod::Rows => {
                let reason = "the method \"rows\" spreads the numbers of a row: make a plan with the method \"column\"".to_owned();
                Err(CkksError::Conversion { operation: "packing of rows", reason })
            }
        }
    }
}

impl PackingPlan {
    /// Refuses samples of another shape, secret or other parameters than the plan's.
    fn check(&self, x: &Ciphertext) -> Result<(), CkksError> {
        let (own, planned) = (x.params().shape(), self.samples.shape());
        if own != planned {
            let reason = format!(
                "the plan is for samples of shape {planned}, not {own}: make one with `degree` {}",
                own.degree
            );
            return Err(CkksError::Conversion { operation: "packing", reason });
        }
        if x.secret() != self.secret {
            let reason = format!(
                "the plan is for samples under the secret \"{}\", not \"{}\": make one for that secret",
                self.secret,
                x.secret()
            );
            return Err(CkksError::Conversion { operation: "packing", reason });
        }
        x.params().check_same(&self.samples, "the plan of packing")
    }
}

/// Packing within one ring.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// The parameters of the ring.
    pub params: Params,
    /// The secret of its results.
    pub onto: SecretName,
    pub steps: Vec<PackingStep>,
}

impl Stage {
    /// What this stage leaves of `polys` polynomials on the way to `result`: in a smaller ring each is a row.
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

/// The members of the `count` polynomials that each polynomial is joined from: `m(X) = sum_p X^p
/// m_p(X^count)`.
pub(super) fn members_in(members: &Members, count: usize) -> Members {
    let part =
        |members: &Vec<Option<usize>>, p: usize| members.iter().skip(p).step_by(count).copied().collect();
    members.iter().flat_map(|members| (0..count).map(move |p| part(members, p))).collect()
}

impl Evaluator {
    /// The stages behind the first one, of which `x` is the result: `placed` names the samples of each of its
    /// polynomials.
    pub(super) fn pack_onwards(
        &self,
        x: Ciphertext,
        stages: &[Stage],
        result: &Packed,
        placed: &Members,
    ) -> Result<Ciphertext, CkksError> {
        stages.iter().try_fold(x, |x, stage| {
            let count = stage.params.degree() / x.params().degree();
            // What no sample is in is zero, and is left out.
            let filled = |poly: usize| placed[poly].iter().any(Option::is_some).then_some(poly);
            let members: Members = (0..placed.len() / count)
                .map(|index| (index * count..(index + 1) * count).map(filled).collect())
                .collect();
            self.pack_as(&x, &stage.steps, &stage.leaves(result, members.len())?, members)
        })
    }
}
