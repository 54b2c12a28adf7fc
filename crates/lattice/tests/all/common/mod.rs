//! What the lattice tests share: small chains and exact phase errors.
#![allow(dead_code)]

pub mod canonical;
pub mod linear;
pub mod temporary_rank;

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{CpuEngine, Isa, Meter, Modulus};
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy};
use clathrate_lattice::{
    Bodies, Bundle, Chain, Degree, Eval, Gadget, Level, Poly, PolyRef, Rank, Ring, SecretDistribution,
    SecretKey, SecretRng, Switcher,
};
use clathrate_testkit::{oracle, test_engine};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// `steps` single-prime steps after a two-prime base, then `special` primes.
pub struct Shape {
    pub degree: usize,
    pub bits: u32,
    pub steps: usize,
    pub special_bits: u32,
    pub special: usize,
}

pub fn primes(shape: &Shape) -> (Vec<u64>, Vec<usize>) {
    let step = 2 * shape.degree as u64;
    let mut moduli = largest_primes(30, step, 2, &[]).expect("base primes");
    moduli.extend(largest_primes(shape.bits, step, shape.steps, &moduli).expect("step primes"));
    let special = largest_primes(shape.special_bits, step, shape.special, &moduli).expect("special primes");
    moduli.extend(special);
    let mut lengths = vec![2];
    lengths.extend(vec![1; shape.steps]);
    (moduli, lengths)
}

pub fn chain(shape: &Shape) -> Arc<Chain> {
    let (moduli, lengths) = primes(shape);
    Arc::new(Chain::new(new_ring(shape.degree, &moduli), &lengths).expect("chain"))
}

/// A ring that computes on `engine`, or on an engine with memory of its own over it where the environment
/// says so.
pub fn ring_over(engine: CpuEngine) -> Ring {
    Ring::with_engine(test_engine(engine))
}

/// As [`Ring::new`], on the engine that the environment chooses.
pub fn new_ring(degree: usize, moduli: &[u64]) -> Ring {
    ring_over(CpuEngine::new(degree, moduli, Isa::detect().expect("isa")).expect("engine"))
}

/// A ring on the portable kernels, and what counts its passes.
pub fn counting_ring(degree: usize, moduli: &[u64]) -> (Ring, Arc<Meter>) {
    let meter = Arc::new(Meter::default());
    (ring_over(CpuEngine::new(degree, moduli, Isa::Scalar).expect("engine").with_meter(meter.clone())), meter)
}

pub fn counting_chain(shape: &Shape) -> (Arc<Chain>, Arc<Meter>) {
    let (moduli, lengths) = primes(shape);
    let (ring, meter) = counting_ring(shape.degree, &moduli);
    (Arc::new(Chain::new(ring, &lengths).expect("chain")), meter)
}

pub fn rng(seed: u8) -> SecretRng {
    SecretRng::from_seed([seed; 32])
}

pub fn secret(chain: &Chain, rank: usize, bodies: usize, rng: &mut SecretRng) -> SecretKey {
    SecretKey::generate(
        Degree(chain.ring().degree()),
        Rank(rank),
        Bodies(bodies),
        SecretDistribution::UniformTernary,
        rng,
    )
    .expect("secret")
}

/// A message polynomial of values below `2^bits`, and its integers.
pub fn message(chain: &Chain, level: Level, bits: u32, rng: &mut SecretRng) -> (Poly<Eval>, Vec<i64>) {
    let mut values = vec![0i64; chain.ring().degree()];
    rng.flooding_uniform(&mut values, bits).expect("bits in range");
    (Poly::from_signed(chain.ring(), &chain.basis(level), &values).into_eval(), values)
}

pub fn encrypt(chain: &Chain, secret: &SecretKey, message: &Poly<Eval>, rng: &mut SecretRng) -> Bundle<Eval> {
    let mut bundle = Bundle::encrypt_zero(secret, chain.ring(), message.basis(), rng).expect("encrypt");
    for body in 0..secret.bodies() {
        bundle.add_message(body, message).expect("message");
    }
    bundle
}

pub fn moduli<'a>(poly: impl Into<PolyRef<'a, Eval>>) -> Vec<Modulus> {
    let poly = poly.into();
    poly.basis().indices().iter().map(|&i| poly.ring().moduli()[i]).collect()
}

/// The integers of a polynomial, centred.
pub fn integers<'a>(poly: impl Into<PolyRef<'a, Eval>>) -> Vec<BigInt> {
    let poly = poly.into();
    let coeff = poly.to_coeff();
    let words = coeff.download();
    let rows: Vec<&[u64]> = words.chunks_exact(coeff.ring().degree()).collect();
    oracle::compose_centred(&rows, &moduli(poly))
}

/// Phase of body `body` minus `expected`, as floats.
pub fn errors(bundle: &Bundle<Eval>, secret: &SecretKey, body: usize, expected: &Poly<Eval>) -> Vec<f64> {
    let mut phase = bundle.phase(secret).expect("phase").swap_remove(body);
    phase.sub_assign(expected).expect("same basis");
    integers(&phase).iter().map(|e| e.to_f64().expect("small")).collect()
}

pub fn variance(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64
}

/// As [`chain`], with `auxiliary` 45-bit primes for key digits.
pub fn chain_with_auxiliary(shape: &Shape, auxiliary: usize) -> Arc<Chain> {
    let (mut moduli, lengths) = primes(shape);
    moduli.extend(largest_primes(45, 2 * shape.degree as u64, auxiliary, &moduli).expect("auxiliary primes"));
    Arc::new(Chain::with_auxiliary(new_ring(shape.degree, &moduli), &lengths, auxiliary).expect("chain"))
}

/// Steps of a pair of 30-bit primes, 36 bits, 40 bits, 36 bits, a pair of 30 bits, 40 bits, 36 bits; special
/// primes of 45 bits, two of them; then auxiliary primes.
pub fn mixed_chain(degree: usize, auxiliary: usize) -> Arc<Chain> {
    let step = 2 * degree as u64;
    let mut moduli = Vec::new();
    for (bits, count) in
        [(30, 2), (36, 1), (40, 1), (36, 1), (30, 2), (40, 1), (36, 1), (45, 2), (45, auxiliary)]
    {
        moduli.extend(largest_primes(bits, step, count, &moduli).expect("primes"));
    }
    let ring = new_ring(degree, &moduli);
    Arc::new(Chain::with_auxiliary(ring, &[2, 1, 1, 1, 2, 1, 1], auxiliary).expect("chain"))
}

/// A switcher that switches by `choice` at all levels.
pub fn fixed(chain: &Arc<Chain>, gadget: &Arc<Gadget>, choice: SwitchMethod, inputs: usize) -> Switcher {
    let policy = SwitchPolicy::Fixed(choice);
    Switcher::with_policy(chain.clone(), gadget.clone(), policy, inputs, 1 << 30).expect("switcher")
}

/// A switcher for plans that the caller chooses.
pub fn any_choice(chain: &Arc<Chain>, gadget: &Arc<Gadget>, inputs: usize) -> Switcher {
    fixed(chain, gadget, SwitchMethod::as_made(chain), inputs)
}
