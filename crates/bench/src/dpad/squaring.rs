//! Repeated squaring through all levels at constant and at falling rank, in turns. [dpad-he, RQ4, Figure 3]
//!
//! The rank is reduced as soon as the lower one is secure: by halves, and, if that differs, by single steps
//! as in the paper.

use clathrate_ckks::parameters::KeyModulus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{
    Ciphertext, EvaluationKeys, Evaluator, KeyNeeds, Params, ParamsSpec, Progress, Runtime, SecretKey,
};
use clathrate_lattice::Level;
use serde_json::{Value, json};

use super::SQUARING;
use super::circuit::{deviation, encrypt, numbers};
use super::sets::{Set, direct};
use super::setting::{
    KeyBytes, Keys, announce, chain_extra, expansion, insert, key_bytes, lacking, peak_bytes,
};
use crate::failure::Failure;
use crate::timing::{Timer, Times};

/// Runs of each series, for short and for long series; the median run is printed.
const RUNS: (usize, usize) = (3, 1);

/// log2 of the dimension from which on series are long.
const LONG: u32 = 16;

/// How the rank is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// Never.
    Kept,
    /// To its half.
    Halves,
    /// By one.
    Single,
}

impl Steps {
    const ALL: [Self; 3] = [Self::Kept, Self::Halves, Self::Single];

    fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Halves => "halves",
            Self::Single => "single_steps",
        }
    }

    /// The next rank after `rank`, if any.
    fn next(self, rank: usize) -> Option<usize> {
        match self {
            _ if rank == 1 => None,
            Self::Kept => None,
            Self::Halves => Some(rank / 2),
            Self::Single => Some(rank - 1),
        }
    }
}

/// One run of a series.
struct Series {
    points: Vec<Value>,
    seconds: f64,
    error: f64,
}

/// Measures `set` if the paper does.
pub fn run(timer: &Timer<'_>, set: &Set, runtime: &Runtime) -> Result<(), Failure> {
    if set.log_dimension.is_none() {
        return Ok(());
    }
    let spec = set.spec(timer.is_quick())?;
    let schemes = if spec.rank == 1 {
        vec![("rns_ckks", spec)]
    } else {
        vec![("modhe", direct(spec.clone())), ("dpad", spec)]
    };
    for (scheme, spec) in schemes {
        for keys in Keys::ALL {
            under(timer, set, scheme, keys, &spec, runtime)?;
        }
    }
    Ok(())
}

fn under(
    timer: &Timer<'_>,
    set: &Set,
    scheme: &str,
    keys: Keys,
    spec: &ParamsSpec,
    runtime: &Runtime,
) -> Result<(), Failure> {
    let label = format!("{} {scheme} {}", set.name, keys.name());
    let (needs, bytes) = needs(&Keys::AsMade.params(spec, runtime)?)?;
    let expansion = expansion(&bytes);
    let params = &keys.params_within(spec, expansion, runtime)?;
    let peak = peak_bytes(&bytes, keys == Keys::Planned);
    if let Some(reason) = lacking(peak) {
        return timer.absent(SQUARING, &label, &reason);
    }
    announce(timer, &label, peak);
    let owner = SecretKey::generate(params)?;
    let evaluation = Arc::new(owner.evaluation_keys(&needs)?);
    evaluation.derive(None, &Progress::none())?;
    let evaluator = Evaluator::with_keys(evaluation.clone());
    let values = numbers(params.slot_count());
    let x = encrypt(&owner, &values)?;
    // Touches memory before the first series.
    deviation(
        &owner,
        &evaluator.multiply_rescale(&x, &x)?,
        &values.iter().map(|value| value * value).collect::<Vec<_>>(),
    )?;
    // At rank 2 halves are single steps; at rank 1 there is no reduction.
    let steps = &Steps::ALL[..params.rank().min(Steps::ALL.len())];
    let mut runs: Vec<Vec<Series>> = steps.iter().map(|_| Vec::new()).collect();
    let count = if set.log_dimension < Some(LONG) { RUNS.0 } else { RUNS.1 };
    for _ in 0..count {
        for (runs, &steps) in runs.iter_mut().zip(steps) {
            runs.push(series(&owner, &evaluator, &x, &values, steps)?);
        }
    }
    for (mut runs, steps) in runs.into_iter().zip(steps) {
        runs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let Some(middle) = runs.get(runs.len() / 2) else { continue };
        let mut extra = chain_extra(set.name, params);
        insert(
            &mut extra,
            &json!({ "scheme": scheme, "keys": keys.name(), "reducing": *steps != Steps::Kept, "steps": steps.name() }),
        );
        insert(&mut extra, &sizes(&evaluation, expansion, peak));
        insert(
            &mut extra,
            &json!({ "series": middle.points, "max_error": middle.error, "quick": timer.is_quick() }),
        );
        let times = Times::new(runs.iter().map(|run| run.seconds * 1e3).collect());
        timer.print((SQUARING, &format!("{label} {}", steps.name())), &times, &extra)?;
    }
    Ok(())
}

fn sizes(keys: &EvaluationKeys, expansion: f64, peak: usize) -> Value {
    json!({ "all_key_bytes": keys.bytes(), "key_expansion": expansion, "derived_bytes": keys.derived_bytes(), "predicted_peak_bytes": peak })
}

/// The parameters at ranks below that of `params` that have a secure level.
fn lower(params: &Params) -> Vec<Params> {
    (1..params.rank()).rev().filter_map(|rank| params.at_rank(rank).ok()).collect()
}

/// The keys of all series and their bytes, each for the level where it is first needed.
fn needs(params: &Params) -> Result<(KeyNeeds, Vec<KeyBytes>), Failure> {
    let (mut needs, mut bytes) = (KeyNeeds::new(), Vec::new());
    let all: Vec<Params> = std::iter::once(params.clone()).chain(lower(params)).collect();
    for own in &all {
        let (rank, top, gadget) = (own.rank(), own.max_level(), own.gadget()?);
        let mut here = KeyNeeds::new().relinearise(KeyLevel::Level(top.0));
        match own.temporary_for_products() {
            Some(temporary) => {
                let wide = &own.key_switching(KeyModulus::Widened)?.switcher;
                let (inputs, columns) = (rank * (rank + 1) / 2, temporary.rank + 1);
                bytes.push(key_bytes(wide.chain(), wide.gadget(), top, inputs, columns));
                bytes.push(key_bytes(own.chain(), gadget, top, temporary.rank - rank, rank + 1));
            }
            None => bytes.push(key_bytes(own.chain(), gadget, top, rank * (rank + 1) / 2, rank + 1)),
        }
        for target in all.iter().filter(|target| {
            [Steps::Halves, Steps::Single].iter().any(|s| s.next(rank) == Some(target.rank()))
        }) {
            let level = target.max_level();
            here = here.reduce_to(target.rank(), KeyLevel::Level(level.0)).single_steps();
            bytes.push(key_bytes(
                target.chain(),
                target.gadget()?,
                level,
                rank - target.rank(),
                target.rank() + 1,
            ));
        }
        needs = if own == params { needs.merge(&here) } else { needs.relative(own.shape(), &here) };
    }
    Ok((needs, bytes))
}

fn series(
    owner: &SecretKey,
    evaluator: &Evaluator,
    x: &Ciphertext,
    values: &[f64],
    steps: Steps,
) -> Result<Series, Failure> {
    let (mut x, mut values) = (x.clone(), values.to_vec());
    let (mut points, mut spent, mut error) = (Vec::new(), Duration::ZERO, 0.0f64);
    let mut timed = |x: &Ciphertext, reduction: bool, f: &mut dyn FnMut() -> Result<Ciphertext, Failure>| {
        let start = Instant::now();
        let result = f()?;
        spent += start.elapsed();
        let mut point =
            json!({ "level": x.level().0, "rank": result.params().rank(), "seconds": spent.as_secs_f64() });
        if reduction && let Some(point) = point.as_object_mut() {
            point.insert("reduction".to_owned(), json!(true));
        }
        points.push(point);
        Ok::<Ciphertext, Failure>(result)
    };
    while x.level() > Level(0) {
        while let Some(rank) = steps.next(x.params().rank()) {
            match x.params().at_rank(rank) {
                Ok(target) if x.level() <= target.max_level() => {
                    x = timed(&x, true, &mut || Ok(evaluator.to_rank(&x, rank)?))?
                }
                _ => break,
            }
        }
        x = timed(&x, false, &mut || Ok(evaluator.multiply_rescale(&x, &x)?))?;
        values.iter_mut().for_each(|value| *value *= *value);
        error = error.max(deviation(owner, &x, &values)?);
    }
    Ok(Series { points, seconds: spent.as_secs_f64(), error })
}
