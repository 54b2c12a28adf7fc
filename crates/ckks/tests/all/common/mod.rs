//! What the CKKS tests share.
#![allow(dead_code)]

pub mod bootstraps;
pub mod measure;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use clathrate_arith::Meter;
use clathrate_ckks::keys::{EncryptOptions, Operation, Switch};
use clathrate_ckks::light::{LightClient, LightOptions, Receiver};
use clathrate_ckks::parameters::{EngineFactory, presets};
use clathrate_ckks::{
    Ciphertext, Evaluator, Event, KeyNeeds, ModuleShape, Params, ParamsSpec, Progress, Runtime, SecretKey,
    SecretName, ValuesRef,
};
use clathrate_lattice::{Level, SecretRng};
use clathrate_testkit::test_engine;

/// How the tests run: on the CPU, or on an engine with memory of its own where the environment says so.
pub fn base_runtime() -> Runtime {
    static FACTORY: LazyLock<EngineFactory> =
        LazyLock::new(|| EngineFactory::new(|request| Ok(test_engine(request.cpu()?))));
    Runtime { engine: Some(FACTORY.clone()), ..Runtime::default() }
}

/// The first `few` of the cases, and all of them where a run also wants the tests that are ignored otherwise.
pub fn at_least<T>(few: usize, cases: &[T]) -> &[T] {
    let all = std::env::args().any(|argument| argument == "--include-ignored" || argument == "--ignored");
    if all { cases } else { &cases[..few] }
}

pub fn params(name: &str) -> Params {
    Params::preset(name, &base_runtime()).expect("preset")
}

/// The specifications of the sets that only benchmarks use, in the order of their names.
pub fn benchmark_sets() -> Vec<ParamsSpec> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/sets");
    let files = std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path());
    let read = |path| toml::from_str(&std::fs::read_to_string(path).expect("text")).expect("a specification");
    let mut sets: Vec<ParamsSpec> = files.map(read).collect();
    sets.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(!sets.is_empty());
    sets
}

/// The specifications of all presets, and of the sets of the benchmarks after them.
pub fn all_sets() -> Vec<ParamsSpec> {
    presets().expect("presets").into_iter().map(|preset| preset.spec).chain(benchmark_sets()).collect()
}

/// Steps that were reported, as those done and all.
pub type Seen = Arc<Mutex<Vec<(usize, usize)>>>;

/// Records the steps that are reported.
pub fn recorded() -> (Progress, Seen) {
    let seen = Seen::default();
    let record = seen.clone();
    let progress = Progress::new(move |event| {
        if let Event::Steps { done, total } = event {
            record.lock().expect("no panic").push((done, total));
        }
        true
    });
    (progress, seen)
}

/// Cancels at the report of steps that comes after so many others.
pub fn cancelling_after(reports: usize) -> Progress {
    let heard = AtomicUsize::new(0);
    Progress::new(move |event| match event {
        Event::Steps { done, total } => done <= total && heard.fetch_add(1, Ordering::Relaxed) < reports,
        _ => true,
    })
}

/// Parameters whose engines report to one meter.
pub fn metered(name: &str) -> (Params, Arc<Meter>) {
    let meter = Arc::new(Meter::default());
    let observer = meter.clone();
    let factory =
        EngineFactory::new(move |request| Ok(Arc::new(request.cpu()?.with_meter(observer.clone()))));
    (Params::preset(name, &Runtime { engine: Some(factory), ..Runtime::default() }).expect("preset"), meter)
}

pub fn setup(name: &str, needs: &KeyNeeds) -> (Params, SecretKey, Evaluator) {
    let params = params(name);
    let mut rng = SecretRng::from_seed([42; 32]);
    let sk = SecretKey::generate_with(&params, &mut rng).expect("secret key");
    let evaluator = if needs.is_empty() {
        Evaluator::new(&params)
    } else {
        Evaluator::with_keys(Arc::new(sk.clone().with_rng(rng).evaluation_keys(needs).expect("keys")))
    };
    (params, sk, evaluator)
}

/// A step of packing of samples of degree `from` and of this dimension to degree `to`, under the main secret.
pub fn pack_step(dimension: usize, from: usize, to: usize) -> Operation {
    let shape = ModuleShape { degree: from, rank: dimension.checked_div(from).unwrap_or(0) };
    Operation::Switch(Switch::Pack { from: shape, to, under: SecretName::Main, onto: SecretName::Main })
}

/// Options of a light client under the main secret.
pub fn light(degree: usize, level: Level, precision_bits: Option<f64>) -> LightOptions {
    LightOptions { degree, level, precision_bits, ..LightOptions::default() }
}

/// Options of a light client under the secret of a device.
pub fn device_options(device: u64, degree: usize, level: Level) -> LightOptions {
    LightOptions { secret: SecretName::Device(device), ..light(degree, level, None) }
}

/// What a server of the owner knows of a client.
pub fn receiver_of(sk: &SecretKey, client: &LightClient) -> Receiver {
    Receiver::new(sk.params(), &client.introduction(), &sk.authentication_key()).expect("a receiver")
}

/// `count` values in [-1, 1], no two near ones equal.
pub fn ramp(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 % 1009) as f64 / 504.0) - 1.0).collect()
}

pub fn encrypt(sk: &SecretKey, values: &[f64]) -> Ciphertext {
    sk.encrypt(values).expect("encrypt")
}

pub fn decrypt(sk: &SecretKey, ct: &Ciphertext) -> Vec<f64> {
    sk.decrypt(ct).expect("decrypt").into_real().expect("real data")
}

pub fn assert_close(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    let worst = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "worst error {worst:e} over {tolerance:e}");
}

/// Parameters of a specification given as TOML.
pub fn custom(toml: &str) -> Params {
    Params::new(spec(toml), &base_runtime()).expect("parameters")
}

/// The specification of `params`, to be changed: the name of a preset is for its own contents.
pub fn to_change(params: &Params) -> clathrate_ckks::ParamsSpec {
    clathrate_ckks::ParamsSpec { name: format!("changed {}", params.spec().name), ..params.spec().clone() }
}

/// A specification given as TOML.
pub fn spec(toml: &str) -> clathrate_ckks::ParamsSpec {
    toml::from_str(toml).expect("specification")
}

/// A key of `params` drawn from a fixed seed.
pub fn secret(params: &Params, seed: u8) -> SecretKey {
    SecretKey::generate_with(params, &mut SecretRng::from_seed([seed; 32])).expect("secret key")
}

/// An evaluator with keys drawn from a fixed seed.
pub fn evaluator(sk: &SecretKey, needs: &KeyNeeds) -> Evaluator {
    let rng = SecretRng::from_seed([77; 32]);
    Evaluator::with_keys(Arc::new(sk.clone().with_rng(rng).evaluation_keys(needs).expect("keys")))
}

/// Encrypts with choices and randomness from a fixed seed.
pub fn encrypt_as<'v>(
    sk: &SecretKey,
    values: impl Into<ValuesRef<'v>>,
    shape: &[usize],
    options: EncryptOptions,
    seed: u8,
) -> Ciphertext {
    sk.clone()
        .with_rng(SecretRng::from_seed([seed; 32]))
        .encrypt_array(values, shape, options)
        .expect("encrypt")
}

/// Asserts the kind of an error and that its message contains every one of the texts.
#[allow(unused_macros)]
macro_rules! assert_refused {
    ($result:expr, $pattern:pat $(if $guard:expr)?, $($text:expr),* $(,)?) => {{
        let error = $result.err().expect("must be refused");
        assert!(matches!(error, $pattern $(if $guard)?), "unexpected error: {error:?}");
        let message = error.to_string();
        $(assert!(message.contains($text), "`{}` is not in: {message}", $text);)*
    }};
}
#[allow(unused_imports)]
pub(crate) use assert_refused;
