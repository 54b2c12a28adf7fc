//! Samples to slots: packing and half a bootstrap, for every count; transciphering with its offline and
//! online phases.

use std::time::{Duration, Instant};

use clathrate_arith::sequence::numbers;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::keys::Values;
use clathrate_ckks::light::{LightClient, Receiver};
use clathrate_ckks::{Ciphertext, Evaluator, Params, Runtime, SecretKey, SecretName};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::timing::{Extra, Limits, Timer, Times};

/// Samples to slots.
pub const SAMPLES: &str = "samples";

/// Samples to slots from a client's numbers, in phases.
pub const TRANSCIPHER: &str = "transcipher";

/// The parameter sets.
pub const PRESETS: [&str; 5] = ["boot_n15", "paper_hermes_n15", "boot_fast", "paper_fgb", "boot_small"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_boot"];

/// Binary logarithms of the counts of samples. [hermes, Table 8]
const LOG_COUNTS: [u32; 4] = [8, 10, 12, 15];

/// Degrees of the samples that are transciphered. [hermes, Table 11]
const DEGREES: [usize; 4] = [64, 32, 16, 1];

/// The sets at which a full ring is also packed by other methods: by a column, by one midpoint, and at the
/// ring's degree. [hermes, Table 9]
const METHODS: [&str; 2] = ["boot_n15", "insecure_boot"];

/// Sets that are only measured with a full ring, and with at most the paper's bytes of keys. [hermes, Table
/// 6]
const FEW_KEYS: [(&str, usize); 1] = [("boot_small", 673_000_000)];

/// An option that overrides the plan's choice.
enum Choice {
    Own,
    Midpoints(Vec<usize>),
    Ring(usize),
    KeyBytes(usize),
}

/// Bits of precision of a client's number. [hermes, sec. 5.4]
const CLIENT_BITS: f64 = 22.0;

/// Largest error of a number with which a row is printed.
const TOLERANCE: f64 = 1e-3;

/// Times every set.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    let timer = timer.with_limits(Limits {
        budget: Duration::from_millis(if timer.is_quick() { 100 } else { 4000 }),
        least: 3,
        most: 7,
    });
    let all: &[&str] = if timer.is_quick() { &QUICK } else { &PRESETS };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        let params = Params::preset(preset, runtime)?;
        let owner = SecretKey::generate(&params)?;
        let full = params.degree();
        if let Some(&(_, most)) = FEW_KEYS.iter().find(|(few, _)| few == preset) {
            if timer.wants(SAMPLES) {
                samples(&timer, &owner, full, Choice::KeyBytes(most))?;
            }
            continue;
        }
        if timer.wants(SAMPLES) {
            for count in
                LOG_COUNTS.into_iter().map(|log| 1 << log).filter(|&count| count < full).chain([full])
            {
                samples(&timer, &owner, count, Choice::Own)?;
            }
            if METHODS.contains(preset) {
                samples(&timer, &owner, full, Choice::Midpoints(Vec::new()))?;
                samples(&timer, &owner, full, Choice::Midpoints(vec![64]))?;
                samples(&timer, &owner, full, Choice::Ring(full))?;
            }
        }
        // The paper's rows are at degree 2^16.
        if timer.wants(TRANSCIPHER) {
            for degree in DEGREES {
                transcipher(&timer, &owner, degree)?;
            }
        }
    }
    Ok(())
}

fn plan_of(
    owner: &SecretKey,
    count: usize,
    degree: usize,
    pairs: bool,
    choice: Choice,
) -> Result<SamplesPlan, Failure> {
    let mut options = SamplesOptions {
        count: Some(count),
        degree,
        secret: SecretName::Device(1),
        pairs,
        ..SamplesOptions::default()
    };
    match choice {
        Choice::Own => {}
        Choice::Midpoints(ranks) => options.midpoints = Some(ranks),
        Choice::Ring(degree) => options.ring = Some(degree),
        Choice::KeyBytes(most) => options.most_key_bytes = Some(most),
    }
    Ok(SamplesPlan::new(owner.params(), &options)?)
}

fn devices(
    owner: &SecretKey,
    plan: &SamplesPlan,
    bits: Option<f64>,
) -> Result<(LightClient, Receiver), Failure> {
    let client = owner.light_client(&plan.client_options(bits))?;
    let receiver = Receiver::new(owner.params(), &client.introduction(), &owner.authentication_key())?;
    Ok((client, receiver))
}

/// The fields of every row.
fn fields(
    owner: &SecretKey,
    plan: &SamplesPlan,
    found: &Ciphertext,
    x: &[f64],
    own: &Value,
) -> Result<Extra, Failure> {
    let found = match owner.decrypt(found)? {
        Values::Real(numbers) => numbers,
        Values::Complex(numbers) => numbers.into_iter().flat_map(|z| [z.re, z.im]).collect(),
    };
    let errors: Vec<f64> = found.iter().zip(x).map(|(a, b)| (a - b).abs()).collect();
    let (mean, worst) = (
        errors.iter().sum::<f64>() / errors.len() as f64,
        errors.iter().fold(0.0f64, |worst, &error| worst.max(error)),
    );
    if errors.len() != x.len() || worst.is_nan() || worst > TOLERANCE {
        return Err(Failure::slot_error(worst, TOLERANCE));
    }
    let (params, half) = (owner.params(), plan.half_bootstrap());
    let fields = json!({
        "preset": params.spec().name,
        "degree": params.degree(),
        "sample_degree": plan.samples().degree(),
        "dimension": plan.samples().shape().dimension(),
        "count": plan.count(),
        "slots": half.slots(),
        "method": plan.packing().name(),
        "log_qp": params.log2_qp(),
        "log_q_left": params.log2_q(half.output_level()),
        "security_bits": plan.security_bits(),
        "sample_security_bits": plan.samples().security_bits(),
        "log2_failure": half.log2_failure(),
        "mean_bits": -mean.log2(),
        "worst_bits": -worst.log2(),
        "max_error": worst,
        "predicted_bits": -plan.predicted_error().log2(),
        "key_bytes": plan.key_bytes(),
        "packing_key_bytes": plan.packing().key_bytes,
        "predicted_ms": plan.predicted_nanoseconds() / 1e6,
        "predicted_packing_ms": plan.packing().nanoseconds / 1e6,
    });
    let mut fields: Extra = fields.as_object().cloned().unwrap_or_default();
    fields.extend(own.as_object().cloned().unwrap_or_default());
    Ok(fields)
}

/// Times packing and half bootstrap of `count` samples, separately and together.
fn samples(timer: &Timer<'_>, owner: &SecretKey, count: usize, choice: Choice) -> Result<(), Failure> {
    let params = owner.params();
    // As in the paper, a full ring has two numbers in each slot.
    let own = matches!(choice, Choice::Own);
    let plan = plan_of(owner, count, 1, count == params.degree(), choice)?;
    let (mut client, receiver) = devices(owner, &plan, None)?;
    let x: Vec<f64> = numbers(60).take(count).collect();
    let message = client.encrypt(&x)?;
    let samples = receiver.receive(&[&message], None)?;
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(plan.needs())?);
    let packed = plan.pack(&evaluator, &samples)?;
    let fresh = plan.raise(&evaluator, &packed, count)?;
    let packing = timer.measure(|| Ok(plan.pack(&evaluator, &samples)?))?;
    let half = timer.measure(|| Ok(plan.raise(&evaluator, &packed, count)?))?;
    let whole = timer.measure(|| Ok(plan.run(&evaluator, &samples)?))?;
    let parts = json!({ "packing_ms": packing.median(), "half_ms": half.median() });
    let extra = fields(owner, &plan, &fresh, &x, &parts)?;
    let method = if own {
        String::new()
    } else {
        format!(", {}, {} MB of keys", plan.packing().name(), plan.key_bytes() / 1_000_000)
    };
    timer.print((SAMPLES, &format!("{}, {count}{method}", params.spec().name)), &whole, &extra)
}

fn milliseconds<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64() * 1e3))
}

/// Times all numbers of a ring from a client to slots: both phases on both sides.
fn transcipher(timer: &Timer<'_>, owner: &SecretKey, degree: usize) -> Result<(), Failure> {
    let (params, count) = (owner.params(), owner.params().degree());
    let plan = plan_of(owner, count, degree, true, Choice::Own)?;
    let (mut client, receiver) = devices(owner, &plan, Some(CLIENT_BITS))?;
    let x: Vec<f64> = numbers(61).take(count).collect();
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(plan.needs())?);
    let samples = (count / degree) as u64;
    let rounds = if timer.is_quick() { 1 } else { 3 };
    let mut phases: [Vec<f64>; 4] = Default::default();
    let (mut last, mut bytes) = (None, 0);
    for round in 0..rounds {
        let first = round * samples;
        let ((), client_offline) = milliseconds(|| {
            client.precompute(count / degree)?;
            Ok(())
        })?;
        let (mut prepared, server_offline) =
            milliseconds(|| Ok(plan.prepare(&evaluator, &receiver, first..first + samples)?))?;
        let (message, client_online) = milliseconds(|| Ok(client.encrypt(&x)?))?;
        let (fresh, server_online) =
            milliseconds(|| Ok(plan.run_prepared(&evaluator, &mut prepared, &receiver, &[&message])?))?;
        for (times, time) in
            phases.iter_mut().zip([client_offline, server_offline, client_online, server_online])
        {
            times.push(time);
        }
        bytes = message.len();
        last = Some(fresh);
    }
    let Some(fresh) = last else { return Ok(()) };
    let whole: Vec<f64> =
        (0..rounds as usize).map(|round| phases.iter().map(|times| times[round]).sum()).collect();
    let [client_offline, server_offline, client_online, server_online] =
        phases.map(|times| Times::new(times).median());
    let bits = f64::from(client.bits_per_number());
    let own = json!({
        "client_offline_ms": client_offline,
        "server_offline_ms": server_offline,
        "client_online_ms": client_online,
        "server_online_ms": server_online,
        "bits_per_number": bits,
        "message_bytes": bytes,
        "client_bits": CLIENT_BITS,
        // The sent bits divided by those of the numbers: the client's precision and a sign. [hermes, sec.
        // 5.4]
        "expansion": bits / (CLIENT_BITS + 1.0),
    });
    let extra = fields(owner, &plan, &fresh, &x, &own)?;
    timer.print(
        (TRANSCIPHER, &format!("{}, degree {degree}", params.spec().name)),
        &Times::new(whole),
        &extra,
    )
}
