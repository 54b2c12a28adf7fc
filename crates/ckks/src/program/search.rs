//! Parameters and choices for a function: chains built for it at each degree, and presets that bootstrap,
//! each tried by dry runs; the one with the least predicted time wins.
//!
//! Prices are built into the library, so that one function gives one program on every machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::{Level, SecretDistribution};

use super::budget::{results_without_noise, with_errors, with_intervals};
use super::forecast::ValueForecast;
use super::grids::in_grids;
use super::limits::{
    CompileOptions, INEXACT, Limits, Miss, OTHER, OVER_BUDGET, REMEDY, SECURITY, TOO_DEEP, TOO_LONG,
    unknown_error,
};
use super::passes::{Pass, Saving, applied};
use super::recording::{USUAL, recording_params};
use super::schedule::values_of;
use super::{Choices, Forecast, Program, RecordedFunction};
use crate::circuits::automatic::AutomaticPlans;
use crate::encrypted_array::{ArrayOperation, GraphNode};
use crate::error::{CkksError, ErrorKind};
use crate::evaluation::Evaluator;
use crate::parameters::{Params, ParamsSpec, Runtime, presets};

/// One set of parameters that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The name of the parameters, or the sizes of a chain.
    pub name: String,
    /// Predicted time by the library's prices in seconds and bytes of keys, or why the parameters do not
    /// serve.
    pub outcome: Result<(f64, usize), String>,
}

/// The last row of the security table.
const MOST_SECURITY: f64 = 256.0;

/// The degrees of chains, as powers of two.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = 12..=16;

/// The bits of a scale where the error has no limit, and of the dry run that finds one for a limit.
const SCALE: usize = 40;

/// Below, too few primes are one more than a multiple of twice the largest degree; above, a special prime has
/// no room to be longer.
const SCALES: std::ops::RangeInclusive<usize> = 28..=56;

/// A special prime is longer than a step by this, so that a digit is never longer than the special modulus.
const LONGER: usize = 4;

/// The bits that step 0 has above the scale: room for numbers, and at most so much for larger ones.
const ROOM: usize = 20;
const MOST_ROOM: usize = 80;

/// The part of an error that noise is given at least when a scale is chosen.
const LEAST_LEFT: f64 = 1e-3;

/// Up to this length primes have the fastest kernels.
const FAST_PRIME: f64 = 50.0;

/// The numbers of special primes that are tried.
const SPECIALS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];

/// Dry runs that correct a scale, and levels that are added because a dry run needs more.
const CORRECTIONS: usize = 3;
const MORE_LEVELS: usize = 8;

/// The most values that the dry runs of a search for bootstraps compute.
const MOST_VALUES: usize = 4000;

/// More special primes make a chain at most this much faster.
const FAR: f64 = 4.0;

/// A bootstrap takes longer than this, in nanoseconds.
const LEAST_BOOTSTRAP: f64 = 0.2e9;

/// The number of presets whose bootstraps are placed with care.
const CLOSELY: usize = 2;

/// Presets that are no candidates: those that protect nothing, and those of papers.
const NO_CANDIDATES: [&str; 2] = ["insecure", "paper"];

/// A chain of levels of one length.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    degree: usize,
    levels: usize,
    scale: usize,
    room: usize,
    special: usize,
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { degree, levels, scale, special, .. } = self;
        let primes = if *special == 1 { "prime" } else { "primes" };
        write!(
            f,
            "degree {degree}, {levels} levels of {scale} bits, {special} special {primes} of {} bits",
            scale + LONGER
        )
    }
}

/// The bits of the longest modulus, special primes included, of `security` bits at a degree.
fn most_bits(degree: usize, security: f64) -> usize {
    let secure =
        |bits: usize| estimated_bits(degree, bits as f64, SecretDistribution::UniformTernary) >= security;
    let (mut low, mut high) = (0, 4096);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        // Very short moduli are secure without being in the table.
        if middle <= 30 || secure(middle) { low = middle } else { high = middle }
    }
    low
}

impl Sizes {
    fn bits(&self) -> usize {
        self.scale + self.room + self.levels * self.scale + self.special * (self.scale + LONGER)
    }

    fn params(&self, runtime: &Runtime) -> Result<Params, CkksError> {
        let base = (self.scale + self.room) as f64;
        // No prime is longer than a special prime, so that one special prime may do.
        let count = (base / FAST_PRIME.min((self.scale + LONGER) as f64)).ceil();
        let mut steps = vec![vec![base / count; count as usize]];
        steps.resize(self.levels + 1, vec![self.scale as f64]);
        let special = vec![(self.scale + LONGER) as f64; self.special];
        let spec = ParamsSpec::of_chain("compiled", self.degree, (steps, special), self.scale as f64, false);
        Params::new(spec, runtime)
    }
}

/// The predicted time by which programs are compared.
fn price(program: &Program) -> f64 {
    program.forecast().price()
}

/// Whether a program takes less time than a bootstrap.
fn is_short(program: &Program) -> bool {
    price(program) < LEAST_BOOTSTRAP
}

/// The program that takes less time.
fn cheaper<'p>(found: &'p Program, known: Option<&'p Program>) -> &'p Program {
    known.filter(|known| price(known) < price(found)).unwrap_or(found)
}

/// The values that lie in more polynomials than their numbers fill, and that functions of each number take,
/// which cost as much for each polynomial.
fn sparse_operands(program: &Program) -> Vec<usize> {
    let takes = |node: &GraphNode| {
        let is_power =
            matches!(node.operation, ArrayOperation::Polynomial { .. } | ArrayOperation::Power { .. });
        node.operation.error().is_some() || is_power
    };
    let nodes = program.graph().nodes.iter().filter(|node| takes(node));
    let is_sparse = program.forecast().is_sparse();
    let operands: BTreeSet<usize> = nodes.flat_map(values_of).filter(|&value| is_sparse[value]).collect();
    operands.into_iter().collect()
}

struct Search<'s> {
    function: Arc<RecordedFunction>,
    options: &'s CompileOptions,
    limits: Limits<'s>,
    /// The values that are gathered.
    gathered: &'s [usize],
    /// A program that is there already: parameters that cost far more are not looked at closely.
    known: Option<&'s Program>,
    tried: &'s mut Vec<Candidate>,
    /// Has the factors of transforms that plans of bootstraps share.
    shared: &'s AutomaticPlans,
}

impl Search<'_> {
    /// Inputs at this level, and the values that are gathered.
    fn choices(&self, level: Level) -> Choices {
        Choices { gathered: self.gathered.to_vec(), ..Choices::at(level) }
    }

    /// The price of the program that is there already.
    fn limit(&self) -> f64 {
        self.known.map_or(f64::INFINITY, |known| known.forecast().price())
    }

    /// Why a forecast does not satisfy the options, with all that it lacks.
    fn refusal(&self, forecast: &Forecast) -> Option<Miss> {
        let mut misses = Vec::new();
        if self.limits.are_set() {
            for (place, result) in forecast.results().iter().enumerate() {
                match self.limits.check(place, result) {
                    Ok(()) => {}
                    Err(miss) if miss.kind == OTHER => return Some(miss),
                    Err(miss) => misses.push(miss),
                }
            }
            // The worst result tells how much is missing.
            misses.sort_by(|one, other| other.factor.total_cmp(&one.factor));
            misses.truncate(1);
        }
        let mib = |bytes: usize| bytes as f64 / 1_048_576.0;
        let keys = ("evaluation keys", self.options.key_bytes, forecast.key_bytes());
        let all = ("arrays, keys and encoded plaintexts", self.options.memory, forecast.memory_bytes());
        for (what, most, found) in [keys, all] {
            if let Some(most) = most.filter(|&most| found > most) {
                let reason = format!("the {what} take {:.1} MiB, more than {:.1} MiB", mib(found), mib(most));
                misses.push(Miss::new(reason, OVER_BUDGET, found as f64 / most.max(1) as f64));
            }
        }
        let factor = misses.iter().map(|miss| miss.factor).product();
        let kind = misses.iter().map(|miss| miss.kind).max()?;
        let reasons: Vec<String> = misses.into_iter().map(|miss| miss.reason).collect();
        Some(Miss::new(reasons.join("; "), kind, factor))
    }

    /// The program with these choices, if it satisfies the options.
    fn program(&self, params: &Params, choices: Choices) -> Result<Program, Miss> {
        self.program_by(params, choices, &AutomaticPlans::new(params), f64::INFINITY)
    }

    /// As [`Self::program`], with shared plans of bootstraps, if its price is at most `limit`.
    fn program_by(
        &self,
        params: &Params,
        choices: Choices,
        plans: &AutomaticPlans,
        limit: f64,
    ) -> Result<Program, Miss> {
        match self.built(params, choices, plans, limit)? {
            (program, None) => Ok(program),
            (_, Some(miss)) => Err(miss),
        }
    }

    /// The program with these choices, and why it does not satisfy the options, if it does not. Its dry run
    /// ends once its price is above `limit`.
    fn built(
        &self,
        params: &Params,
        choices: Choices,
        plans: &AutomaticPlans,
        limit: f64,
    ) -> Result<(Program, Option<Miss>), Miss> {
        let program = Program::with_plans(params, &self.function, choices, plans, limit);
        let program = program.map_err(|error| {
            let kind = if error.kind() == ErrorKind::Level { TOO_DEEP } else { OTHER };
            Miss { kind, ..Miss::of(error) }
        })?;
        let slow = || {
            let reason = format!("a run takes more than {:.3} s, as long as by other choices", limit * 1e-9);
            Miss::new(reason, OTHER, 1.0)
        };
        let program = program.ok_or_else(slow)?;
        let miss = self.refusal(program.forecast());
        Ok((program, miss))
    }

    fn note(&mut self, name: &str, outcome: &Result<Program, Miss>) {
        let outcome = match outcome {
            Ok(program) => {
                let forecast = program.forecast();
                Ok((forecast.price() * 1e-9, forecast.key_bytes()))
            }
            Err(miss) => Err(miss.reason.clone()),
        };
        self.tried.push(Candidate { name: name.to_owned(), outcome });
    }
}

/// What a dry run at a scale of [`SCALE`] bits and with more than enough levels found.
struct Depth {
    levels: usize,
    /// How many times as large as allowed the noise is.
    excess: Result<f64, Miss>,
    room: usize,
}

impl Search<'_> {
    /// The levels, the error and the magnitudes of the function, where levels do not run out.
    fn depth(&self) -> Result<Depth, Miss> {
        let params = recording_params(USUAL).map_err(|error| Miss::new(error.to_string(), OTHER, 1.0))?;
        let choices = self.choices(params.max_level());
        let (evaluator, plans) = (Evaluator::recording(&params), AutomaticPlans::new(&params));
        let forecast = Forecast::by(evaluator, &self.function, &choices, &plans);
        let forecast = forecast.map_err(|error| {
            let kind = if error.kind() == ErrorKind::Level { TOO_DEEP } else { OTHER };
            Miss { kind, ..Miss::of(error) }
        })?;
        let magnitude = forecast.largest().filter(|largest| largest.is_finite()).unwrap_or(1.0);
        let room = (magnitude.max(1.0).log2().ceil() as usize + 4).clamp(ROOM, MOST_ROOM);
        Ok(Depth {
            levels: params.max_level().0 - forecast.lowest_level().0,
            excess: self.excess_of_noise(forecast.results()),
            room,
        })
    }

    /// The fastest chain of all degrees.
    fn chain(&mut self) -> Result<Program, Miss> {
        let depth = self.depth()?;
        let mut best: Option<Program> = None;
        let mut nearest: Option<Miss> = None;
        for log_degree in LOG_DEGREES {
            match self.chain_of(1 << log_degree, &depth) {
                Ok(found) => {
                    let own = price(&found);
                    if best.as_ref().is_some_and(|best| price(best) <= own) {
                        break;
                    }
                    best = Some(found);
                    // Larger degrees are slower still.
                    if own > self.limit() {
                        break;
                    }
                }
                Err(miss) => {
                    self.tried.push(Candidate {
                        name: format!("chain of degree {}", 1 << log_degree),
                        outcome: Err(miss.reason.clone()),
                    });
                    if nearest.as_ref().is_none_or(|nearest| !nearest.is_nearer(&miss)) {
                        nearest = Some(miss);
                    }
                }
            }
        }
        best.ok_or_else(|| nearest.unwrap_or_else(|| Miss::new("no degree was tried".to_owned(), OTHER, 1.0)))
    }

    fn chain_of(&mut self, degree: usize, depth: &Depth) -> Result<Program, Miss> {
        let most = most_bits(degree, self.options.security.max(SECURITY));
        let sizes = Sizes { degree, levels: depth.levels, scale: SCALE, room: depth.room, special: 1 };
        let scales = if self.limits.are_set() {
            let excess = depth.excess.as_ref().map_err(Miss::copy)?;
            vec![self.scale_for(SCALE, *excess, degree)?]
        } else {
            vec![SCALE, 36, 32, *SCALES.start()]
        };
        let mut miss = None;
        for scale in scales {
            match self.with_scale(Sizes { scale, ..sizes }, most) {
                Ok(found) => return Ok(found),
                Err(other) => miss = Some(other),
            }
        }
        Err(miss.unwrap_or_else(|| Miss::new("no scale was tried".to_owned(), OTHER, 1.0)))
    }

    /// The number of special primes with the least predicted time.
    fn with_scale(&mut self, sizes: Sizes, most: usize) -> Result<Program, Miss> {
        let mut sizes = sizes;
        let mut best: Option<Program> = None;
        let mut first: Option<Miss> = None;
        for special in SPECIALS {
            match self.sized(Sizes { special, ..sizes }, most) {
                Ok((found, wider)) => {
                    let price = found.forecast().price();
                    if best.as_ref().is_some_and(|best| best.forecast().price() <= price) {
                        break;
                    }
                    (best, sizes) = (Some(found), wider);
                    if price > FAR * self.limit() {
                        break;
                    }
                }
                Err(miss) => {
                    // More special primes make keys shorter.
                    let goes_on = best.is_none() && miss.kind == OVER_BUDGET;
                    if first.as_ref().is_none_or(|first| miss.is_nearer(first)) {
                        first = Some(miss);
                    }
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        best.ok_or_else(|| {
            first.unwrap_or_else(|| Miss::new("no special prime was tried".to_owned(), OTHER, 1.0))
        })
    }

    /// The program of a chain, with more levels and a longer scale than `sizes` has where these are too few,
    /// and fewer levels where some are left.
    fn sized(&mut self, sizes: Sizes, most: usize) -> Result<(Program, Sizes), Miss> {
        let (first, mut sizes) = (sizes, sizes);
        let (mut corrections, mut is_shortened) = (0, false);
        loop {
            if sizes.bits() > most {
                let reason = format!(
                    "{sizes} are {} bits of modulus, and {:.0} bits of security allow {most}",
                    sizes.bits(),
                    self.options.security.max(SECURITY)
                );
                return Err(Miss::new(reason, TOO_LONG, sizes.bits() as f64 / most.max(1) as f64));
            }
            let params = sizes.params(&self.options.runtime);
            let params = params.map_err(|error| Miss::new(format!("{sizes}: {error}"), OTHER, 1.0))?;
            if let Some(warning) = params.scale_warnings().first() {
                return Err(Miss::new(format!("{sizes}: {warning}"), OTHER, 1.0));
            }
            let choices = self.choices(params.max_level());
            // With fewer levels a program takes less memory.
            let built = match self.built(&params, choices, &AutomaticPlans::new(&params), f64::INFINITY) {
                Ok((_, Some(miss))) if miss.kind != OVER_BUDGET => Err(miss),
                built => built,
            };
            match built {
                Ok((program, refused)) => {
                    let left = program.forecast().lowest_level().0;
                    if left > 0 && sizes.levels >= left && sizes.levels <= first.levels && !is_shortened {
                        is_shortened = true;
                        sizes.levels -= left;
                        continue;
                    }
                    if let Some(miss) = refused {
                        return Err(Miss { reason: format!("{sizes}: {}", miss.reason), ..miss });
                    }
                    let name = sizes.to_string();
                    let outcome = Ok(program);
                    self.note(&name, &outcome);
                    let program = outcome?;
                    return Ok((program, sizes));
                }
                Err(Miss { kind: TOO_DEEP, .. }) if sizes.levels < first.levels + MORE_LEVELS => {
                    is_shortened = true;
                    sizes.levels += 1;
                }
                Err(miss) if miss.kind == INEXACT && miss.factor.is_finite() && corrections < CORRECTIONS => {
                    corrections += 1;
                    let longer = self.scale_for(sizes.scale, miss.factor, sizes.degree)?;
                    sizes.scale = longer.max(sizes.scale + 1);
                    if sizes.scale > *SCALES.end() {
                        return Err(miss);
                    }
                }
                Err(miss) => return Err(Miss { reason: format!("{sizes}: {}", miss.reason), ..miss }),
            }
        }
    }

    /// The program with given parameters: at the lowest level that serves, or with bootstraps.
    fn with_params(&mut self, params: &Params) -> Result<Program, Miss> {
        let name = params.spec().name.clone();
        let at = |level: Level| self.choices(level);
        // At a lower level a program takes less memory, so its own level is looked for first.
        let whole =
            match self.built(params, at(params.fresh_level()), &AutomaticPlans::new(params), f64::INFINITY) {
                Ok((program, refused)) => {
                    let (level, left) = (params.fresh_level().0, program.forecast().lowest_level().0);
                    let lower =
                        (left > 0 && left <= level).then(|| self.program(params, at(Level(level - left))));
                    match (lower.and_then(Result::ok), refused) {
                        (Some(lower), _) => Ok(lower),
                        (None, None) => Ok(program),
                        (None, Some(miss)) => Err(miss),
                    }
                }
                Err(miss) => Err(miss),
            };
        let outcome = match (whole, params.application_levels()) {
            (Ok(program), _) => Ok(program),
            (Err(miss), Err(_)) => Err(miss),
            (Err(miss), Ok(levels)) => {
                self.with_bootstraps(params, levels).map_err(|first| first.unwrap_or(miss))
            }
        };
        self.note(&name, &outcome);
        outcome
    }

    /// The program with bootstraps: of operands below a level, and of values once they are computed. The
    /// search starts with the best level alone, and changes one value at a time while that saves time, so
    /// that it is never slower than the best level.
    fn with_bootstraps(
        &self,
        params: &Params,
        (lowest, highest): (Level, Level),
    ) -> Result<Program, Option<Miss>> {
        let plans = self.shared.of_others(params);
        let program = |below: Level, bootstrapped: Vec<usize>, limit: f64| {
            let choices =
                Choices { bootstrap_below: Some(below), bootstrapped, ..self.choices(params.fresh_level()) };
            self.program_by(params, choices, &plans, limit)
        };
        let levels = || (lowest.0..highest.0.max(lowest.0 + 1)).map(Level);
        let (mut best, mut first): (Option<Program>, Option<Miss>) = (None, None);
        let limit = FAR * self.limit();
        for below in levels() {
            match program(below, Vec::new(), best.as_ref().map_or(limit, price)) {
                Ok(found) if best.as_ref().is_none_or(|best| price(&found) < price(best)) => {
                    best = Some(found)
                }
                Ok(_) => {}
                Err(miss) => {
                    first.get_or_insert(miss);
                }
            }
        }
        let mut best = best.ok_or(first)?;
        let graph = &self.function.graph;
        let values = graph.inputs + graph.nodes.len();
        let groups = graph.alike();
        // A dry run decides for all repetitions of a part at once, so a few times as many are worth it.
        let (few, repeated) = (MOST_VALUES / values.max(1), groups.len() < values);
        let mut dry_runs = if repeated { few.max(2 * groups.len()).min(10 * few) } else { few };
        loop {
            let (below, set) =
                (best.choices().bootstrap_below.unwrap_or(lowest), &best.choices().bootstrapped);
            // All of a group, or none of them.
            let toggled = |group: &Vec<usize>| {
                let is_in = group.iter().all(|value| set.binary_search(value).is_ok());
                let others = set.iter().filter(|value| !group.contains(value)).copied();
                let added = group.iter().copied().filter(|_| !is_in);
                let mut set: Vec<usize> = others.chain(added).collect();
                set.sort_unstable();
                (below, set)
            };
            let moves = groups.iter().map(toggled).chain(levels().map(|other| (other, set.clone())));
            let mut next: Option<Program> = None;
            for (below, set) in moves.take(dry_runs) {
                dry_runs -= 1;
                let least = price(next.as_ref().unwrap_or(&best));
                let Ok(found) = program(below, set, least) else { continue };
                if price(&found) < least {
                    next = Some(found);
                }
            }
            match next {
                Some(next) => best = next,
                None => return Ok(best),
            }
        }
    }

    /// The fastest preset of at most this degree that bootstraps: each is tried with bootstraps of operands
    /// that lack a level, and those with the least time are looked at closely.
    fn bootstrapping(&mut self, most_degree: usize) -> Result<Program, Miss> {
        let all = presets().map_err(|error| Miss::new(error.to_string(), OTHER, 1.0))?;
        // What is far behind with few bootstraps is not the fastest with more.
        let limit = FAR * self.limit();
        // Specifications, because the tables of all sets together take gigabytes.
        let mut tried: Vec<(f64, ParamsSpec)> = Vec::new();
        let mut nearest: Option<Miss> = None;
        for preset in all {
            let name = preset.spec.name.clone();
            let is_candidate = !NO_CANDIDATES.iter().any(|prefix| name.starts_with(prefix));
            if !is_candidate
                || preset.spec.segments.is_empty()
                || preset.spec.degree > most_degree
                || preset.security_bits() < self.options.security
            {
                continue;
            }
            let Ok(params) = Params::new(preset.spec.clone(), &self.options.runtime) else { continue };
            let Ok((lowest, _)) = params.application_levels() else { continue };
            let choices = |bootstrap_below| Choices { bootstrap_below, ..self.choices(params.fresh_level()) };
            let plans = self.shared.of_others(&params);
            let first = self
                .program_by(&params, choices(None), &plans, limit)
                .or_else(|_| self.program_by(&params, choices(Some(lowest)), &plans, limit));
            self.note(&name, &first);
            match first {
                Ok(program) => tried.push((program.forecast().price(), preset.spec)),
                Err(miss) => {
                    if nearest.as_ref().is_none_or(|nearest| !nearest.is_nearer(&miss)) {
                        nearest = Some(miss);
                    }
                }
            }
        }
        tried.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut best: Option<Program> = None;
        for (_, spec) in tried.into_iter().take(CLOSELY) {
            let Ok(params) = Params::new(spec, &self.options.runtime) else { continue };
            let Ok(program) = self.with_params(&params) else { continue };
            if best.as_ref().is_none_or(|best| price(&program) < price(best)) {
                best = Some(program);
            }
        }
        best.ok_or_else(|| {
            nearest.unwrap_or_else(|| Miss::new("no preset bootstraps".to_owned(), OTHER, 1.0))
        })
    }

    /// The program, or one that is faster because it bootstraps and so has fewer levels, on polynomials of at
    /// most the same degree.
    fn with_fewer_levels(&mut self, found: Program) -> Program {
        let known = cheaper(&found, self.known);
        let mut search = Search {
            function: self.function.clone(),
            options: self.options,
            limits: self.limits,
            gathered: self.gathered,
            known: Some(known),
            tried: self.tried,
            shared: self.shared,
        };
        match search.bootstrapping(found.params().degree()) {
            Ok(other) if price(&other) < price(&found) => other,
            _ => found,
        }
    }

    /// The fastest program of a function.
    fn fastest(&mut self) -> Result<Program, Miss> {
        if let Some(params) = self.options.params.clone() {
            return self.with_params(&params);
        }
        // Whoever bootstraps by himself wants parameters that can.
        let nodes = &self.function.graph.nodes;
        if nodes.iter().any(|node| node.operation == ArrayOperation::Bootstrap) {
            return self.bootstrapping(usize::MAX);
        }
        match self.chain() {
            Ok(found) if is_short(&found) => Ok(found),
            Ok(found) => Ok(self.with_fewer_levels(found)),
            // What stops on every set of parameters is no matter of parameters.
            Err(miss) if miss.kind == OTHER && miss.error.is_some() => Err(miss),
            Err(miss) if self.known.is_some_and(is_short) => Err(miss),
            Err(miss) => match self.bootstrapping(usize::MAX) {
                Ok(found) => Ok(found),
                Err(other) => Err(if other.is_nearer(&miss) { other } else { miss }),
            },
        }
    }
}

impl Search<'_> {
    /// How many times as large as it may be the noise of a result is at the scale of recordings. It may take
    /// what the approximations of functions leave of the error.
    fn excess_of_noise(&self, results: &[ValueForecast]) -> Result<f64, Miss> {
        if !self.limits.are_set() {
            return Ok(0.0);
        }
        let fine = results_without_noise(&self.function)
            .map_err(|error| Miss::new(error.to_string(), OTHER, 1.0))?;
        let mut most = 0.0f64;
        for (place, (result, fine)) in results.iter().zip(&fine).enumerate() {
            // Without noise the result must serve; this also finds all figures.
            self.limits.check(place, fine)?;
            let (Some(error), Some(least), Some(allowed)) =
                (result.error_bound, fine.error_bound, self.limits.allowed(place, fine))
            else {
                return Err(unknown_error());
            };
            // Where next to nothing is left for noise, no scale is long enough.
            let left = (allowed - least).max(LEAST_LEFT * allowed);
            most = most.max((error - least).max(0.0) / left);
        }
        Ok(most)
    }

    /// The scale at which noise is `excess` times smaller than at another scale: one is in inverse proportion
    /// to the other.
    fn scale_for(&self, scale: usize, excess: f64, degree: usize) -> Result<usize, Miss> {
        let more = excess.max(1e-300).log2() + 0.2;
        let wanted = scale as f64 + more.ceil();
        let (least, most) = (*SCALES.start() as f64, *SCALES.end() as f64);
        if wanted > most {
            let factor = (wanted - most).exp2();
            let reason = format!(
                "degree {degree}: the errors take a scale of {wanted} bits, and {most} are the most: {}",
                self.limits.larger(factor * REMEDY)
            );
            return Err(Miss::new(reason, INEXACT, factor));
        }
        Ok(wanted.max(least) as usize)
    }
}

/// The function with errors and intervals for its approximations, after `passes`, and what they saved.
///
/// # Errors
/// Those of intervals.
fn written(
    function: &RecordedFunction,
    limits: &Limits<'_>,
    passes: &[Pass],
) -> Result<(RecordedFunction, Vec<Saving>), CkksError> {
    // What is the same has to be so before it gets errors of its own.
    let (first, rest): (Vec<Pass>, Vec<Pass>) = passes.iter().partition(|pass| **pass == Pass::Common);
    let (function, mut savings) = applied(function, &first);
    let function = with_intervals(with_errors(&function, limits))?;
    let (function, others) = applied(&function, &rest);
    savings.extend(others);
    Ok((function, savings))
}

impl Program {
    /// The program with the least predicted time for one of `functions`, which compute the same from inputs
    /// that are encrypted in different ways; and what was tried.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] where no parameters serve, with the nearest; [`CkksError::OutOfRange`]
    /// for options out of range; what stops the function on all parameters alike.
    pub fn compile(functions: &[RecordedFunction], options: &CompileOptions) -> Result<Self, CkksError> {
        Self::compiled(functions, options).map(|(program, _)| program)
    }

    /// As [`Program::compile`], with everything that was tried.
    ///
    /// # Errors
    /// As [`Program::compile`].
    pub fn compiled(
        functions: &[RecordedFunction],
        options: &CompileOptions,
    ) -> Result<(Self, Vec<Candidate>), CkksError> {
        for (what, error) in [("`error`", options.error), ("`relative_error`", options.relative_error)] {
            if let Some(error) = error.filter(|error| !(error.is_finite() && *error > 0.0)) {
                let remedy = "use a number above 0".to_owned();
                return Err(CkksError::OutOfRange { what, value: error.to_string(), remedy });
            }
        }
        if !(0.0..=MOST_SECURITY).contains(&options.security) {
            let remedy =
                format!("use a number of bits from 0 to {MOST_SECURITY}, where the security table ends");
            return Err(CkksError::OutOfRange {
                what: "`security`",
                value: options.security.to_string(),
                remedy,
            });
        }
        let shared = AutomaticPlans::new(&recording_params(USUAL)?);
        let mut best: Option<(Program, Vec<Candidate>)> = None;
        let mut nearest: Option<(Miss, Vec<Candidate>)> = None;
        for function in functions {
            let function = &in_grids(function)?;
            let mut tried = Vec::new();
            let known = best.as_ref().map(|(best, _)| best);
            let limits = Limits::new(function, options);
            let mut attempt = |passes: &[Pass], known: Option<&Program>| {
                let (function, savings) =
                    written(function, &limits, passes).map_err(|error| (Miss::of(error), false))?;
                let (function, is_rewritten) = (Arc::new(function), !savings.is_empty());
                let mut fastest = |gathered: &[usize], known: Option<&Program>| {
                    let (function, tried) = (function.clone(), &mut tried);
                    Search { function, options, limits, gathered, known, tried, shared: &shared }.fastest()
                };
                let found = fastest(&[], known).map_err(|miss| (miss, is_rewritten))?;
                let sparse = if is_short(&found) { Vec::new() } else { sparse_operands(&found) };
                let program = if sparse.is_empty() {
                    found
                } else {
                    match fastest(&sparse, Some(cheaper(&found, known))) {
                        Ok(other) if price(&other) < price(&found) => other,
                        _ => found,
                    }
                };
                let bootstraps = program.bootstraps.alone();
                Ok(Program { savings: savings.into(), bootstraps, ..program })
            };
            // What a pass gains may cost errors or keys that the function as it is written does not have, and
            // levels are no longer what counts where some values are bootstrapped.
            let found = match attempt(&options.passes, known) {
                Ok(program) if !is_short(&program) && !program.savings.is_empty() => {
                    match attempt(&[], Some(cheaper(&program, known))) {
                        Ok(other) if price(&other) < price(&program) => Ok(other),
                        _ => Ok(program),
                    }
                }
                Err((miss, true)) => attempt(&[], known).map_err(|_| miss),
                found => found.map_err(|(miss, _)| miss),
            };
            match found {
                Ok(program) => {
                    if best.as_ref().is_none_or(|(best, _)| price(&program) < price(best)) {
                        best = Some((program, tried));
                    }
                }
                Err(miss) => {
                    if nearest.as_ref().is_none_or(|(nearest, _)| miss.is_nearer(nearest)) {
                        nearest = Some((miss, tried));
                    }
                }
            }
        }
        if let Some(best) = best {
            return Ok(best);
        }
        let Some((miss, tried)) = nearest else { return Err(CkksError::no_terms("a program")) };
        if let (OTHER, Some(error)) = (miss.kind, miss.error) {
            return Err(*error);
        }
        let all: Vec<String> = tried
            .iter()
            .filter_map(|own| own.outcome.as_ref().err().map(|reason| format!("\n  {}: {reason}", own.name)))
            .collect();
        let reason = format!("no parameters run this function; the closest: {}{}", miss.reason, all.concat());
        Err(CkksError::InvalidParams { reason })
    }
}
