//! The format switch: bundles with masks of their own to one mask under many bodies, in one round or several,
//! and back.
//!
//! Phases keep their messages, with the noise that the closed forms predict: for 1, 2, 3 and 8 bundles, ranks
//! 1 and 2, the hybrid method and KLSS.

use std::sync::Arc;

use crate::common::linear::chain_on;
use crate::common::*;
use clathrate_lattice::noise::{NoiseModel, bound};
use clathrate_lattice::switch::{SecretMatrix, SwitchMethod, SwitchTables};
use clathrate_lattice::{
    Bundle, Chain, Eval, Gadget, LatticeError, Level, Poly, SecretKey, SecretRng, SwitchKey, Switcher,
};

const DEGREE: usize = 256;
const LEVEL: Level = Level(3);

/// False alarms: a bound that fails with probability `2^-40` per check.
const LOG2_FAILURE: f64 = 40.0;

/// A switcher for keys of up to `inputs` inputs, by one method at all levels.
struct Setting {
    chain: Arc<Chain>,
    switcher: Switcher,
    tables: Arc<SwitchTables>,
    rng: SecretRng,
}

impl Setting {
    fn new(method: impl Fn(&Chain) -> SwitchMethod, inputs: usize, seed: u8) -> Self {
        Self::on_threads(method, inputs, seed, 1)
    }

    fn on_threads(method: impl Fn(&Chain) -> SwitchMethod, inputs: usize, seed: u8, threads: usize) -> Self {
        let chain = chain_on(DEGREE, threads);
        let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.5).expect("gadget"));
        let switcher = fixed(&chain, &gadget, method(&chain), inputs);
        let tables = switcher.tables(LEVEL).expect("tables");
        Self { chain, switcher, tables, rng: rng(seed) }
    }

    fn secret(&mut self, rank: usize, bodies: usize) -> SecretKey {
        secret(&self.chain, rank, bodies, &mut self.rng)
    }

    /// A bundle under `secret` with a message of its own in each body.
    fn encrypt(&mut self, secret: &SecretKey) -> (Bundle<Eval>, Vec<Poly<Eval>>) {
        let mut bundle =
            Bundle::encrypt_zero(secret, self.chain.ring(), &self.chain.basis(LEVEL), &mut self.rng)
                .expect("encrypt");
        let messages: Vec<Poly<Eval>> =
            (0..secret.bodies()).map(|_| message(&self.chain, LEVEL, 20, &mut self.rng).0).collect();
        messages
            .iter()
            .enumerate()
            .for_each(|(body, message)| bundle.add_message(body, message).expect("message"));
        (bundle, messages)
    }

    fn key(&mut self, from: &[&SecretKey], to: &SecretKey) -> SwitchKey {
        let (chain, gadget) = (self.chain.clone(), self.switcher.gadget().clone());
        SwitchKey::format_switch(&chain, &gadget, chain.max_level(), from, to, &mut self.rng).expect("key")
    }

    fn change(&mut self, from: &SecretKey, to: &SecretKey) -> SwitchKey {
        let (chain, gadget) = (self.chain.clone(), self.switcher.gadget().clone());
        SwitchKey::change_of_secret(&chain, &gadget, chain.max_level(), from, to, &mut self.rng).expect("key")
    }

    /// What a switch of `inputs` polynomials to `secret` adds to the variance of each phase.
    fn switch(&self, inputs: usize, secret: &SecretKey) -> f64 {
        let model = NoiseModel {
            degree: DEGREE,
            rank: secret.rank(),
            secret_variance: secret.coefficient_variance(),
        };
        model.coalesced_switch(inputs, &self.tables.noise_digits())
    }

    fn fresh(&self) -> f64 {
        NoiseModel { degree: DEGREE, rank: 1, secret_variance: 0.0 }.fresh_secret()
    }
}

/// Phase errors of several runs of one operation.
#[derive(Default)]
struct Sample(Vec<f64>);

impl Sample {
    fn add(&mut self, bundle: &Bundle<Eval>, secret: &SecretKey, messages: &[Poly<Eval>]) {
        assert_eq!((bundle.body_count(), secret.bodies()), (messages.len(), messages.len()));
        for (body, message) in messages.iter().enumerate() {
            self.0.extend(errors(bundle, secret, body, message));
        }
    }

    fn check(&self, predicted: f64, what: &str) {
        // At least 4096 samples: the deviation of the sample variance is 2.2 %, and the norms of a few
        // secrets vary by as much.
        assert!(self.0.len() >= 4096, "{what}: {} samples", self.0.len());
        let ratio = variance(&self.0) / predicted;
        assert!((0.85..1.15).contains(&ratio), "{what}: measured over predicted variance is {ratio:.3}");
        let limit = bound(predicted, self.0.len(), LOG2_FAILURE);
        assert!(self.0.iter().all(|error| error.abs() <= limit), "{what}: over the bound {limit}");
    }
}

/// How often a case of `bodies` bodies runs for 4096 samples.
fn runs(bodies: usize) -> u8 {
    4096usize.div_ceil(DEGREE * bodies).max(2) as u8
}

type MethodOf = fn(&Chain) -> SwitchMethod;

fn methods() -> [(&'static str, MethodOf); 3] {
    [
        ("as made", |chain| SwitchMethod::as_made(chain)),
        ("hybrid", |_| SwitchMethod::hybrid(3)),
        ("KLSS", |_| SwitchMethod::klss(3, 2)),
    ]
}

#[test]
fn forward_and_backward_format_switches_keep_phases_within_predicted_noise() {
    for (name, method) in methods() {
        for rank in [1, 2] {
            for bodies in [1, 2, 3, 8] {
                let (mut forward, mut backward) = (Sample::default(), Sample::default());
                let (mut there, mut back) = (0.0, 0.0);
                for seed in 0..runs(bodies) {
                    let mut setting = Setting::new(method, rank * bodies, seed);
                    // From secrets that differ to one with a vector for each body, and from these to a common
                    // one.
                    let from: Vec<SecretKey> = (0..bodies).map(|_| setting.secret(rank, 1)).collect();
                    let (to, common) = (setting.secret(rank, bodies), setting.secret(rank, 1));
                    let (inputs, messages): (Vec<_>, Vec<_>) =
                        from.iter().map(|secret| setting.encrypt(secret)).unzip();
                    let messages: Vec<Poly<Eval>> = messages.into_iter().flatten().collect();
                    let key = setting.key(&from.iter().collect::<Vec<_>>(), &to);
                    assert_eq!((key.inputs(), key.rank(), key.body_count()), (rank * bodies, rank, bodies));
                    let shared =
                        Bundle::format_switch(&inputs.iter().collect::<Vec<_>>(), &setting.switcher, &key)
                            .expect("switch");
                    assert_eq!((shared.rank(), shared.body_count()), (rank, bodies));
                    forward.add(&shared, &to, &messages);
                    there = setting.fresh() + setting.switch(rank * bodies, &to);
                    let keys: Vec<SwitchKey> =
                        (0..bodies).map(|body| setting.change(&to.body(body), &common)).collect();
                    let apart = shared
                        .format_switch_back(&setting.switcher, &keys.iter().collect::<Vec<_>>())
                        .expect("switch");
                    for (body, bundle) in apart.iter().enumerate() {
                        backward.add(bundle, &common, &messages[body..=body]);
                        // One decomposition for all: the same as each body's own switch, bit for bit.
                        let alone = shared
                            .split_body(body)
                            .expect("body")
                            .switch_secret(&setting.switcher, &keys[body])
                            .expect("switch");
                        assert_eq!(*bundle, alone);
                    }
                    back = there + setting.switch(rank, &common);
                }
                forward.check(there, &format!("{name}, rank {rank}, {bodies} bodies, forward"));
                backward.check(back, &format!("{name}, rank {rank}, {bodies} bodies, backward"));
            }
        }
    }
}

#[test]
fn recursive_format_switch_keeps_phases_within_the_noise_of_its_rounds() {
    for (name, method) in methods() {
        for rank in [1, 2] {
            for rounds in [vec![2], vec![2, 2], vec![2, 2, 2], vec![4, 2], vec![3]] {
                let bodies: usize = rounds.iter().product();
                let (mut sample, mut predicted) = (Sample::default(), 0.0);
                for seed in 0..runs(bodies) {
                    let mut setting = Setting::new(method, rank * 4, 100 + seed);
                    let first = setting.secret(rank, 1);
                    let (inputs, messages): (Vec<_>, Vec<_>) =
                        (0..bodies).map(|_| setting.encrypt(&first)).unzip();
                    let messages: Vec<Poly<Eval>> = messages.into_iter().flatten().collect();
                    let (mut secret, mut keys) = (first, Vec::new());
                    predicted = setting.fresh();
                    for group in &rounds {
                        // Each group of neighbours is under the same secrets, as in the paper.
                        let next = setting.secret(rank, secret.bodies() * group);
                        keys.push(setting.key(&vec![&secret; *group], &next));
                        predicted += setting.switch(group * rank, &next);
                        secret = next;
                    }
                    let inputs: Vec<&Bundle<Eval>> = inputs.iter().collect();
                    let keys: Vec<&SwitchKey> = keys.iter().collect();
                    let shared =
                        Bundle::format_switch_recursive(&inputs, &setting.switcher, &keys).expect("switch");
                    sample.add(&shared, &secret, &messages);
                }
                sample.check(predicted, &format!("{name}, rank {rank}, rounds {rounds:?}"));
            }
        }
    }
}

#[test]
fn one_thread_and_two_and_both_methods_of_equal_digits_give_the_same_bits() {
    for rank in [1, 2] {
        let mut results = Vec::new();
        for (_, method) in &methods()[1..] {
            for threads in [1, 2] {
                let mut setting = Setting::on_threads(method, 3 * rank, 5, threads);
                let (from, to) = (setting.secret(rank, 1), setting.secret(rank, 3));
                let inputs: Vec<Bundle<Eval>> = (0..3).map(|_| setting.encrypt(&from).0).collect();
                let key = setting.key(&[&from, &from, &from], &to);
                let shared =
                    Bundle::format_switch(&inputs.iter().collect::<Vec<_>>(), &setting.switcher, &key)
                        .expect("switch");
                let keys: Vec<SwitchKey> = (0..3).map(|body| setting.change(&to.body(body), &from)).collect();
                let apart = shared
                    .format_switch_back(&setting.switcher, &keys.iter().collect::<Vec<_>>())
                    .expect("switch");
                results.push((shared, apart));
            }
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "rank {rank}");
    }
}

#[test]
fn bundles_of_several_bodies_and_ranks_join_one_mask() {
    // A bundle of rank 1 with two bodies, one of rank 2 with one body, one of rank 1 with three.
    let (mut sample, mut predicted) = (Sample::default(), 0.0);
    for seed in 0..4 {
        let mut setting = Setting::new(|_| SwitchMethod::hybrid(3), 4, seed);
        let from = [setting.secret(1, 2), setting.secret(2, 1), setting.secret(1, 3)];
        let to = setting.secret(1, 6);
        let (inputs, messages): (Vec<_>, Vec<_>) = from.iter().map(|secret| setting.encrypt(secret)).unzip();
        let messages: Vec<Poly<Eval>> = messages.into_iter().flatten().collect();
        let key = setting.key(&from.iter().collect::<Vec<_>>(), &to);
        assert_eq!((key.inputs(), key.body_count()), (4, 6));
        let shared = Bundle::format_switch(&inputs.iter().collect::<Vec<_>>(), &setting.switcher, &key)
            .expect("switch");
        sample.add(&shared, &to, &messages);
        predicted = setting.fresh() + setting.switch(4, &to);
    }
    sample.check(predicted, "several shapes");
}

#[test]
fn block_diagonal_has_each_secret_in_its_own_rows_and_columns() {
    let mut setting = Setting::new(|_| SwitchMethod::hybrid(3), 4, 1);
    let (ring, basis) = (setting.chain.ring().clone(), setting.chain.basis(LEVEL));
    let secrets = [setting.secret(1, 2), setting.secret(3, 1)];
    let matrix =
        SecretMatrix::block_diagonal(&secrets.iter().collect::<Vec<_>>(), &ring, &basis).expect("matrix");
    assert_eq!((matrix.inputs(), matrix.body_count()), (4, 3));
    let entries = |secret: &SecretKey, body: usize| secret.eval(&ring, &basis, body);
    for (row, entry) in matrix.rows().iter().enumerate() {
        for (column, got) in entry.iter().enumerate() {
            let expected = match (row, column) {
                (0, 0 | 1) => Some(entries(&secrets[0], column).swap_remove(0)),
                (1..=3, 2) => Some(entries(&secrets[1], 0).swap_remove(row - 1)),
                _ => None,
            };
            assert_eq!(
                got.as_ref().map(|poly| poly.get()),
                expected.as_ref().map(|poly| poly.get()),
                "row {row}, column {column}"
            );
        }
    }
}

#[test]
fn shared_decomposition_saves_transforms() {
    let shape = Shape { degree: 64, bits: 36, steps: 4, special_bits: 37, special: 2 };
    let (chain, engine) = counting_chain(&shape);
    let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.0).expect("gadget"));
    let switcher = Switcher::new(chain.clone(), gadget.clone()).expect("switcher");
    let (mut rng, bodies) = (rng(3), 3);
    let (from, to) = (secret(&chain, 1, bodies, &mut rng), secret(&chain, 1, 1, &mut rng));
    let top = chain.max_level();
    let keys: Vec<SwitchKey> = (0..bodies)
        .map(|body| {
            SwitchKey::change_of_secret(&chain, &gadget, top, &from.body(body), &to, &mut rng).expect("key")
        })
        .collect();
    let shared = Bundle::encrypt_zero(&from, chain.ring(), &chain.basis(top), &mut rng).expect("zero");
    engine.take();
    shared.format_switch_back(&switcher, &keys.iter().collect::<Vec<_>>()).expect("switch");
    let (primes, special, digits) = (chain.basis(top).len(), 2, gadget.digit_count(&chain, top));
    // The input's inverse transforms and the digits' foreign rows, once; the mod-downs of two polynomials for
    // each body.
    let decomposition = primes + digits * (primes + special) - primes;
    assert_eq!(engine.take().ntt(), decomposition + bodies * 2 * (special + primes));
}

#[test]
fn bundles_and_keys_that_do_not_fit_are_errors_with_numbers() {
    let mut setting = Setting::new(|_| SwitchMethod::hybrid(3), 4, 2);
    let (one, two, four) = (setting.secret(1, 1), setting.secret(1, 2), setting.secret(1, 4));
    let (x, _) = setting.encrypt(&one);
    let key = setting.key(&[&one, &one], &two);
    let error = |bundles: &[&Bundle<Eval>], key: &SwitchKey| {
        Bundle::format_switch(bundles, &setting.switcher, key).expect_err("refused")
    };
    assert_eq!(error(&[], &key), LatticeError::EmptyShape { what: "the number of bundles", got: 0 });
    assert_eq!(error(&[&x], &key), LatticeError::BodiesMismatch { left: 1, right: 2 });
    let wide = x.rank_up(2).expect("rank");
    assert_eq!(error(&[&wide, &x], &key), LatticeError::KeyInputs { key_inputs: 2, inputs: 3 });
    let low = x.restrict(&setting.chain.basis(Level(1))).expect("level");
    assert!(matches!(error(&[&x, &low], &key), LatticeError::BasisMismatch { .. }));
    let recursive = |bundles: &[&Bundle<Eval>], keys: &[&SwitchKey]| {
        Bundle::format_switch_recursive(bundles, &setting.switcher, keys).expect_err("refused")
    };
    assert_eq!(recursive(&[&x, &x, &x], &[&key]), LatticeError::KeyInputs { key_inputs: 2, inputs: 3 });
    assert_eq!(recursive(&[&x, &x, &x, &x], &[&key]), LatticeError::BodiesMismatch { left: 4, right: 2 });
    assert_eq!(recursive(&[], &[]), LatticeError::EmptyShape { what: "the number of bundles", got: 0 });
    assert_eq!(recursive(&[], &[&key]), LatticeError::KeyInputs { key_inputs: 2, inputs: 0 });
    // Backwards: one key of one body for each body.
    let (shared, _) = setting.encrypt(&two);
    let back = setting.change(&two.body(0), &one);
    let many = setting.change(&two, &two);
    let refused =
        |keys: &[&SwitchKey]| shared.format_switch_back(&setting.switcher, keys).expect_err("refused");
    assert_eq!(refused(&[&back]), LatticeError::BodiesMismatch { left: 2, right: 1 });
    assert_eq!(refused(&[&back, &many]), LatticeError::BodiesMismatch { left: 1, right: 2 });
    // A target of other bodies than the secrets together, secrets of another degree, no secrets.
    let (chain, gadget, rng) = (setting.chain.clone(), setting.switcher.gadget().clone(), &mut setting.rng);
    let mut refused = |from: &[&SecretKey], to| {
        SwitchKey::format_switch(&chain, &gadget, LEVEL, from, to, rng).expect_err("refused")
    };
    assert_eq!(refused(&[&one, &one], &four), LatticeError::BodiesMismatch { left: 2, right: 4 });
    assert!(matches!(refused(&[], &one), LatticeError::EmptyShape { .. }));
    let foreign = secret(&chain_on(64, 1), 1, 1, &mut crate::common::rng(1));
    assert_eq!(refused(&[&one, &foreign], &two), LatticeError::RingMismatch { left: 64, right: DEGREE });
}
