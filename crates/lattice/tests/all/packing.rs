//! Packing: every message arrives at its place with the predicted noise, for all ways from samples to the
//! ring; what does not fit is refused.

use std::sync::Arc;

use crate::common::linear::chain_on;
use crate::common::*;
use clathrate_arith::Meter;
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::packing::{Packing, PackingStep};
use clathrate_lattice::poly::PolysRef;
use clathrate_lattice::shape::{Bodies, Degree, Rank};
use clathrate_lattice::switch::SwitchMethod;
use clathrate_lattice::{
    Bundle, Chain, Coeff, Gadget, LatticeError, Level, Poly, SampleBatch, SecretDistribution, SecretKey,
    SecretRng, SwitchKey, Switcher,
};

const DEGREE: usize = 64;
const LEVEL: Level = Level(1);

struct World {
    meter: Arc<Meter>,
    chain: Arc<Chain>,
    switcher: Switcher,
    rng: SecretRng,
}

impl World {
    fn new(seed: u8) -> Self {
        let chain = chain_on(DEGREE, 1);
        Self::on(chain, Arc::new(Meter::default()), seed)
    }

    fn on(chain: Arc<Chain>, meter: Arc<Meter>, seed: u8) -> Self {
        let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.5).expect("gadget"));
        let switcher = fixed(&chain, &gadget, SwitchMethod::as_made(&chain), 1024);
        Self { meter, chain, switcher, rng: rng(seed) }
    }

    /// The same chain on an engine with a meter.
    fn counted(seed: u8) -> Self {
        let moduli: Vec<u64> =
            chain_on(DEGREE, 1).ring().moduli().iter().map(|modulus| modulus.value()).collect();
        let (ring, meter) = counting_ring(DEGREE, &moduli);
        Self::on(Arc::new(Chain::with_auxiliary(ring, &[2, 1, 1, 1, 1, 1], 12).expect("chain")), meter, seed)
    }

    fn secret(&mut self, degree: usize, rank: usize) -> SecretKey {
        SecretKey::generate(
            Degree(degree),
            Rank(rank),
            Bodies(1),
            SecretDistribution::UniformTernary,
            &mut self.rng,
        )
        .expect("secret")
    }

    fn packing(
        &mut self,
        from: &SecretKey,
        midpoints: &[usize],
        to: &SecretKey,
    ) -> Result<Packing, LatticeError> {
        let gadget = self.switcher.gadget().clone();
        Packing::generate(&self.chain, &gadget, LEVEL, from, midpoints, to, &mut self.rng)
    }

    /// A sample under `secret` with a message of its own.
    fn encrypt(&mut self, secret: &SecretKey) -> (Bundle<Coeff>, Vec<i64>) {
        let ring = self.chain.ring().subring(secret.degree()).expect("ring");
        let basis = self.chain.basis(LEVEL);
        let mut values = vec![0i64; secret.degree()];
        self.rng.flooding_uniform(&mut values, 20).expect("bits in range");
        let mut bundle = Bundle::encrypt_zero(secret, &ring, &basis, &mut self.rng).expect("encrypt");
        bundle.add_message(0, &Poly::from_signed(&ring, &basis, &values).into_eval()).expect("message");
        (bundle.try_map(|poly| Ok(poly.to_coeff())).expect("bundle"), values)
    }

    /// What the switches of all steps add to the variance of a coefficient.
    fn predicted(&self, packing: &Packing, to: &SecretKey) -> f64 {
        let tables = self.switcher.tables(LEVEL).expect("tables");
        let model = NoiseModel { degree: DEGREE, rank: 1, secret_variance: to.coefficient_variance() };
        let step = |(_, key): &(PackingStep, SwitchKey)| {
            model.coalesced_switch(key.inputs(), &tables.noise_digits())
        };
        packing.steps().iter().map(step).sum()
    }
}

fn views(samples: &[Bundle<Coeff>]) -> Vec<PolysRef<'_, Coeff>> {
    samples.iter().map(Bundle::view).collect()
}

/// Ways to the ring: degree and rank of the samples, midpoints.
const WAYS: [(usize, usize, &[usize]); 10] = [
    (1, 64, &[]),
    (1, 64, &[8]),
    (1, 64, &[16, 4]),
    (1, 64, &[32, 16, 8, 4, 2]),
    (1, 192, &[]),
    (1, 192, &[8]),
    (1, 24, &[8]),
    (4, 16, &[]),
    (4, 16, &[4]),
    (8, 3, &[]),
];

#[test]
fn messages_arrive_at_their_places_with_the_predicted_noise() {
    for (degree, rank, midpoints) in WAYS {
        let mut world = World::new(1);
        let (from, to) = (world.secret(degree, rank), world.secret(DEGREE, 1));
        let packing = world.packing(&from, midpoints, &to).expect("keys");
        let count = DEGREE / degree;
        assert_eq!((packing.count(), packing.steps().len()), (count, midpoints.len() + 1));
        let ranks: Vec<usize> = [rank].into_iter().chain(midpoints.iter().copied()).chain([1]).collect();
        let inputs: Vec<usize> = packing.steps().iter().map(|(_, key)| key.inputs()).collect();
        assert_eq!(inputs, ranks.windows(2).map(|pair| pair[0] / pair[1]).collect::<Vec<_>>());
        let (mut squares, mut rounds) = (0.0, 0.0);
        for used in [count, 1, count / 2 + 1, count, count] {
            let (samples, messages): (Vec<_>, Vec<_>) = (0..used).map(|_| world.encrypt(&from)).unzip();
            let packed = packing.pack(&views(&samples), &world.switcher).expect("packed");
            assert_eq!((packed.ring().degree(), packed.rank(), packed.body_count()), (DEGREE, 1, 1));
            let mut expected = vec![0i64; DEGREE];
            for (place, message) in messages.iter().enumerate() {
                message.iter().enumerate().for_each(|(i, &value)| expected[i * count + place] = value);
            }
            let expected =
                Poly::from_signed(world.chain.ring(), &world.chain.basis(LEVEL), &expected).into_eval();
            let packed = packed.try_map(|poly| Ok(poly.to_owned().into_eval())).expect("bundle");
            squares += variance(&errors(&packed, &to, 0, &expected));
            rounds += 1.0;
        }
        let fresh = NoiseModel { degree, rank, secret_variance: 0.0 }.fresh_secret();
        let (measured, predicted) = (squares / rounds, fresh + world.predicted(&packing, &to));
        println!(
            "degree {degree}, rank {rank}, midpoints {midpoints:?}: variance {measured:.2}, at most {predicted:.2}"
        );
        assert!(measured < 1.35 * predicted, "{degree}, {rank}, {midpoints:?}: {measured} over {predicted}");
        assert!(measured > 0.3 * predicted, "{degree}, {rank}, {midpoints:?}: {measured} under {predicted}");
    }
}

#[test]
fn a_corrupted_sample_changes_its_own_coefficients_alone() {
    let mut world = World::new(2);
    let (from, to) = (world.secret(1, 64), world.secret(DEGREE, 1));
    let packing = world.packing(&from, &[8], &to).expect("keys");
    let (mut samples, messages): (Vec<_>, Vec<_>) = (0..DEGREE).map(|_| world.encrypt(&from)).unzip();
    // Another message, from noise to the highest bits.
    let basis = world.chain.basis(LEVEL);
    let shift = Poly::from_signed(samples[0].ring(), &basis, &[1 << 40]);
    samples[17].bodies_mut().at(0).add_assign(&shift).expect("sum");
    let packed = packing.pack(&views(&samples), &world.switcher).expect("packed");
    let packed = packed.try_map(|poly| Ok(poly.to_owned().into_eval())).expect("bundle");
    let expected: Vec<i64> = messages.iter().map(|message| message[0]).collect();
    let expected = Poly::from_signed(world.chain.ring(), &basis, &expected).into_eval();
    for (place, error) in errors(&packed, &to, 0, &expected).into_iter().enumerate() {
        let own = if place == 17 { (1u64 << 40) as f64 } else { 0.0 };
        assert!((error - own).abs() < 4096.0, "{place}: {error}");
    }
}

#[test]
fn samples_of_one_batch_pack_like_samples_of_their_own() {
    let mut world = World::new(5);
    let (from, to) = (world.secret(1, 64), world.secret(DEGREE, 1));
    let packing = world.packing(&from, &[8], &to).expect("keys");
    let samples: Vec<_> = (0..40).map(|_| world.encrypt(&from).0).collect();
    let batch = SampleBatch::from_bundles(&samples).expect("batch");
    let rows: Vec<_> = (0..batch.len()).map(|index| batch.sample(index).expect("sample")).collect();
    let (own, together) =
        (packing.pack(&views(&samples), &world.switcher), packing.pack(&rows, &world.switcher));
    assert!(own.expect("packed").view() == together.expect("packed").view());
}

/// [hermes, Tables 3, 4, 5]: `K + sum k_i` ModUp, `1 + sum k_i` ModDown, `2 (K + sum k_i)` Hadamard products, `K / k_1 + .. + k_t` elementary keys. With `d` digits, `l`
/// primes and `l~` extended ones a ModUp from Coeff form is `d l~` transforms, a ModDown of the two
/// polynomials of a result `2 l~`, a Hadamard product `d l~`.
#[test]
fn steps_cost_what_the_paper_counts() {
    for (rank, midpoints) in [(64, &[][..]), (64, &[8]), (64, &[16, 4]), (32, &[4]), (64, &[32, 16, 8, 4, 2])]
    {
        let mut world = World::counted(3);
        let (from, to) = (world.secret(1, rank), world.secret(DEGREE, 1));
        let packing = world.packing(&from, midpoints, &to).expect("keys");
        let ranks: Vec<usize> = [rank].into_iter().chain(midpoints.iter().copied()).collect();
        let inputs: usize = packing
            .steps()
            .iter()
            .zip(midpoints.iter().copied().chain([1]))
            .map(|((_, key), results)| key.inputs() * results)
            .sum();
        assert_eq!(inputs, ranks.iter().sum::<usize>());
        let keys: usize = packing.steps().iter().map(|(_, key)| key.inputs()).sum();
        let expected: usize =
            ranks.iter().zip(midpoints.iter().chain(&[1])).map(|(above, below)| above / below).sum();
        assert_eq!(keys, expected);
        // As many samples as the ring holds.
        let samples: Vec<_> = (0..DEGREE).map(|_| world.encrypt(&from).0).collect();
        packing.pack(&views(&samples), &world.switcher).expect("derived");
        world.meter.take();
        packing.pack(&views(&samples), &world.switcher).expect("packed");
        let counts = world.meter.take();
        let tables = world.switcher.tables(LEVEL).expect("tables");
        let (d, extended) = (tables.digit_count(), tables.basis().len() + tables.special().len());
        let results = 1 + midpoints.iter().sum::<usize>();
        assert_eq!(counts.forward, inputs * d * extended, "ModUp, {midpoints:?}");
        assert_eq!(counts.inverse, 2 * results * extended, "ModDown, {midpoints:?}");
        assert_eq!(counts.hadamard, 2 * inputs * d * extended, "Hadamard products, {midpoints:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut world = World::new(4);
    let (from, to) = (world.secret(1, 64), world.secret(DEGREE, 1));
    for midpoints in [&[0][..], &[3], &[64], &[128], &[8, 8], &[4, 8], &[1]] {
        let result = world.packing(&from, midpoints, &to);
        assert!(matches!(&result, Err(LatticeError::DegreeChange { .. })), "{midpoints:?}: {result:?}");
    }
    let odd = world.secret(1, 60);
    assert!(matches!(world.packing(&odd, &[8], &to), Err(LatticeError::DegreeChange { .. })));
    let wide = world.secret(DEGREE, 2);
    assert!(matches!(world.packing(&from, &[], &wide), Err(LatticeError::RankMismatch { .. })));
    let packing = world.packing(&from, &[8], &to).expect("keys");
    let samples: Vec<_> = (0..65).map(|_| world.encrypt(&from).0).collect();
    assert!(matches!(
        packing.pack(&views(&samples), &world.switcher),
        Err(LatticeError::DegreeChange { .. })
    ));
    assert!(matches!(packing.pack(&[], &world.switcher), Err(LatticeError::EmptyShape { .. })));
    let other = world.secret(1, 32);
    let short = world.encrypt(&other).0;
    assert!(matches!(packing.pack(&[short.view()], &world.switcher), Err(LatticeError::RankMismatch { .. })));
    assert!(packing.pack(&[samples[0].view(), short.view()], &world.switcher).is_err());
    let other = world.secret(2, 64);
    let large = world.encrypt(&other).0;
    assert!(matches!(packing.pack(&[large.view()], &world.switcher), Err(LatticeError::DegreeChange { .. })));
}

/// Keys of level 0 alone may have primes of higher levels as their special ones: as precise as with special
/// primes, here for a base of two primes.
#[test]
fn special_primes_of_a_narrow_chain_may_be_those_of_higher_levels() {
    let whole = chain_on(DEGREE, 1);
    let deviation = |special: std::ops::Range<usize>| {
        let chain = Arc::new(whole.narrowed(Level(0), special).expect("a chain"));
        let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.5).expect("gadget"));
        let switcher = fixed(&chain, &gadget, SwitchMethod::as_made(&chain), 1024);
        let mut rng = rng(9);
        let mut secret = |degree: usize, rank: usize| {
            SecretKey::generate(
                Degree(degree),
                Rank(rank),
                Bodies(1),
                SecretDistribution::UniformTernary,
                &mut rng,
            )
            .expect("a secret")
        };
        let (from, to) = (secret(1, 64), secret(DEGREE, 1));
        let packing = Packing::generate(&chain, &gadget, Level(0), &from, &[8], &to, &mut rng).expect("keys");
        let (ring, basis) = (chain.ring().subring(1).expect("ring"), chain.basis(Level(0)));
        let messages: Vec<i64> = (0..DEGREE as i64).map(|place| (place - 20) << 15).collect();
        let sample = |&message: &i64| {
            let mut sample = Bundle::encrypt_zero(&from, &ring, &basis, &mut rng).expect("encrypt");
            sample
                .add_message(0, &Poly::from_signed(&ring, &basis, &[message]).into_eval())
                .expect("message");
            sample.into_coeff()
        };
        let samples: Vec<Bundle<Coeff>> = messages.iter().map(sample).collect();
        let packed = packing.pack(&views(&samples), &switcher).expect("packed").into_eval();
        let expected = Poly::from_signed(chain.ring(), &basis, &messages).into_eval();
        variance(&errors(&packed, &to, 0, &expected)).sqrt()
    };
    let special = whole.special_basis().indices().to_vec();
    let (first, count) = (whole.step(Level(0)).end, special.len());
    let (own, higher) = (deviation(special[0]..special[0] + count), deviation(first + 1..first + 1 + count));
    println!("{own:.2} with special primes, {higher:.2} with those of higher levels");
    assert!(higher < 2.0 * own && own < 2.0 * higher && own < 1000.0, "{own}, {higher}");
    // Primes of the levels that are kept, and those behind the special ones, are refused.
    let end = special[0] + count;
    for (level, special) in [(0, first - 1..first + 1), (2, first..first + 2), (0, end - 1..end + 1)] {
        assert!(matches!(whole.narrowed(Level(level), special), Err(LatticeError::BasisMismatch { .. })));
    }
    assert!(matches!(whole.narrowed(Level(0), first..first), Err(LatticeError::NoSpecialPrimes)));
}
