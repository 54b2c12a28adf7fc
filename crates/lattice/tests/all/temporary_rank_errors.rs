//! Crossings of what does not fit: keys, chains, ranks, bodies, levels mixed up. Each is an error with
//! numbers, or a right result; a panic fails the test.

use std::sync::Arc;

use crate::common::temporary_rank::{Primes, Secrets, Sides, rotations};
use crate::common::*;
use clathrate_arith::Automorphism;
use clathrate_lattice::temporary_rank::TemporaryRank;
use clathrate_lattice::{
    Bodies, Bundle, Chain, Degree, Eval, Gadget, LatticeError, Level, Poly, Rank, SecretDistribution,
    SecretKey, SecretRng, SwitchKey, Switcher,
};

const DEGREE: usize = 16;
const STEPS: usize = 4;

fn error<T>(result: Result<T, LatticeError>) -> LatticeError {
    let error = result.err().expect("bad input is refused");
    let text = error.to_string();
    assert!(text.len() > 20 && text.chars().any(|c| c.is_ascii_digit()) && !text.contains("{}"), "{text}");
    error
}

/// One secret of rank 6 for all worlds of one degree: the same prefix at every rank, so that what is accepted
/// has to be right.
fn secret_of(degree: usize, rank: usize) -> SecretKey {
    let all = SecretKey::generate(
        Degree(degree),
        Rank(6),
        Bodies(1),
        SecretDistribution::UniformTernary,
        &mut rng(1),
    )
    .expect("secret");
    all.truncate_rank(rank).expect("part")
}

/// Both sides, and keys for their ranks.
struct World {
    name: &'static str,
    sides: Sides,
    rank: usize,
    high: usize,
    up: SwitchKey,
    down: SwitchKey,
    turns: Vec<(Automorphism, SwitchKey)>,
}

impl World {
    fn new(
        name: &'static str,
        chain: &Arc<Chain>,
        temporary: usize,
        ranks: (usize, usize),
        digit_bits: f64,
        key_level: Level,
    ) -> Self {
        let rng = &mut rng(2);
        let wide = Arc::new(chain.widened(temporary).expect("widened"));
        let gadget = Arc::new(Gadget::by_bits(chain, 36.5));
        let wide_gadget = Arc::new(Gadget::by_bits(&wide, digit_bits));
        let degree = chain.ring().degree();
        let (low, temporary) = (secret_of(degree, ranks.0), secret_of(degree, ranks.1));
        let up = SwitchKey::cross_relinearisation(&wide, &wide_gadget, key_level, &low, &temporary, rng)
            .expect("key");
        let down = SwitchKey::rank_down(chain, &gadget, key_level, &temporary, ranks.0, rng).expect("key");
        let key = |phi: Automorphism, rng: &mut SecretRng| {
            let key =
                SwitchKey::automorphism(&wide, &wide_gadget, key_level, &temporary, &phi, rng).expect("key");
            (phi, key)
        };
        let turns = rotations(degree, &[1, -2]).into_iter().map(|phi| key(phi, rng)).collect();
        let sides = Sides {
            chain: chain.clone(),
            wide: any_choice(&wide, &wide_gadget, 6),
            base: any_choice(chain, &gadget, 6),
        };
        Self { name, sides, rank: ranks.0, high: ranks.1, up, down, turns }
    }

    fn secret(&self) -> SecretKey {
        secret_of(self.sides.chain.ring().degree(), self.rank)
    }

    fn ct(&self, level: Level) -> Bundle<Eval> {
        Bundle::encrypt_zero(
            &self.secret(),
            self.sides.chain.ring(),
            &self.sides.chain.basis(level),
            &mut rng(3),
        )
        .expect("zero")
    }

    fn is_right(&self, bundle: &Bundle<Eval>, expected: &Poly<Eval>) -> bool {
        bundle.rank() == self.rank
            && errors(bundle, &self.secret(), 0, expected).iter().all(|e| e.abs() < 1e5)
    }
}

fn worlds() -> Vec<World> {
    let primes = Primes::equal(DEGREE, STEPS, 1, 3, 0);
    let (chain, top) = (primes.chain(), Level(STEPS - 1));
    let smaller = Primes { degree: DEGREE / 2, ..primes }.chain();
    let others = Primes { steps: (35, STEPS), ..primes }.chain();
    vec![
        World::new("one", &chain, 3, (2, 3), 144.5, top),
        World::new("of a higher temporary rank", &chain, 3, (2, 4), 144.5, top),
        World::new("of fewer temporary primes", &chain, 1, (2, 3), 72.5, top),
        World::new("of a higher rank", &chain, 3, (3, 4), 144.5, top),
        World::new("of shorter digits", &chain, 3, (2, 3), 36.5, top),
        World::new("of keys of a lower level", &chain, 3, (2, 3), 144.5, Level(1)),
        World::new("of another degree", &smaller, 3, (2, 3), 144.5, top),
        World::new("of other primes", &others, 3, (2, 3), 144.5, top),
    ]
}

#[test]
fn every_mixture_of_sides_and_keys_is_an_error_or_right() {
    let worlds = worlds();
    let (mut right, mut refused) = (0, 0);
    for giver in &worlds {
        for level in [Level(1), Level(3)] {
            let ct = giver.ct(level);
            let tensor = ct.tensor(&ct).expect("tensor");
            let phase = ct.phase(&giver.secret()).expect("phase").swap_remove(0);
            let mut square = phase.clone();
            square.mul_assign(&phase).expect("same basis");
            for keeper in &worlds {
                // Both switchers of either side: the wide one where the ordinary one belongs, too.
                let switchers = || {
                    worlds
                        .iter()
                        .flat_map(|world| [(world.name, &world.sides.wide), (world.name, &world.sides.base)])
                };
                for (up_name, wide) in switchers() {
                    for (down_name, base) in switchers() {
                        for lander in &worlds {
                            let say = format!(
                                "{} ({level}), key {}, wide {up_name}, base {down_name}, down {}",
                                giver.name, keeper.name, lander.name
                            );
                            let crossing = TemporaryRank { wide, base, down: &lander.down };
                            let turns: Vec<(&Automorphism, &SwitchKey)> =
                                keeper.turns.iter().map(|(phi, key)| (phi, key)).collect();
                            let relinearised = tensor
                                .cross_relinearise(crossing, &keeper.up)
                                .map(|found| (found, square.clone()));
                            let rotated = ct.rotate_rank_hoisted(&turns, crossing).map(|found| {
                                (found, turns.iter().fold(phase.clone(), |x, (phi, _)| x.automorphism(phi)))
                            });
                            for result in [relinearised, rotated] {
                                match result {
                                    Ok((found, expected)) => {
                                        assert!(giver.is_right(&found, &expected), "{say}: wrong");
                                        right += 1;
                                    }
                                    Err(refusal) => {
                                        error::<()>(Err(refusal));
                                        refused += 1;
                                    }
                                }
                            }
                        }
                    }
                }
            }
            // What belongs together is never refused but above its keys' level.
            let own = tensor.cross_relinearise(giver.sides.crossing(&giver.down), &giver.up);
            assert!(own.is_ok() || level > giver.up.level(), "{} ({level})", giver.name);
        }
    }
    assert!(right > 100 && refused > 1000, "{right} right, {refused} refused");
}

#[test]
fn what_differs_is_told_with_its_numbers() {
    let worlds = worlds();
    let [one, high, fewer, higher, _, low, degree, _] = worlds.as_slice() else { panic!("eight worlds") };
    let ct = one.ct(Level(3));
    let tensor = ct.tensor(&ct).expect("tensor");
    let crossing = |wide, base, down| TemporaryRank { wide, base, down };
    let own = one.sides.crossing(&one.down);
    let rank_down = |high, low, inputs, rank| LatticeError::RankDownKey { high, low, inputs, rank };
    // Keys of other ranks.
    assert_eq!(error(tensor.cross_relinearise(own, &high.up)), rank_down(4, 2, 1, 2));
    assert_eq!(
        error(tensor.cross_relinearise(high.sides.crossing(&high.down), &one.up)),
        rank_down(3, 2, 2, 2)
    );
    assert_eq!(
        error(tensor.cross_relinearise(crossing(&one.sides.wide, &one.sides.base, &higher.down), &one.up)),
        rank_down(3, 2, 1, 3)
    );
    // Inputs: a rotation key has three, a relinearisation of rank 2 as many; one of rank 4 has four.
    assert_eq!(
        error(tensor.cross_relinearise(high.sides.crossing(&high.down), &high.turns[0].1)),
        LatticeError::KeyInputs { key_inputs: 4, inputs: 3 }
    );
    let turn = |phi, key| [(phi, key)];
    let steps = turn(&one.turns[0].0, &high.up);
    assert_eq!(
        error(ct.rotate_rank_hoisted(&steps, high.sides.crossing(&high.down))),
        LatticeError::KeyInputs { key_inputs: 3, inputs: 4 }
    );
    // The key between used as the key up, and the other way round.
    assert_eq!(error(tensor.cross_relinearise(own, &one.down)), rank_down(2, 2, 1, 2));
    assert_eq!(error(tensor.cross_relinearise(one.sides.crossing(&one.up), &one.up)), rank_down(3, 2, 3, 3));
    // Sides in each other's place, and of other special moduli: digits of the key, and of the switcher.
    let gadget = |key_digits, digits| LatticeError::KeyGadget { key_digits, digits };
    assert_eq!(
        error(tensor.cross_relinearise(crossing(&one.sides.base, &one.sides.wide, &one.down), &one.up)),
        gadget(1, 4)
    );
    assert_eq!(
        error(tensor.cross_relinearise(crossing(&one.sides.wide, &one.sides.wide, &one.down), &one.up)),
        gadget(4, 1)
    );
    assert_eq!(
        error(tensor.cross_relinearise(crossing(&fewer.sides.wide, &one.sides.base, &one.down), &one.up)),
        gadget(1, 2)
    );
    // Levels.
    let above = LatticeError::KeyLevelTooLow { key_level: 1, level: 3 };
    assert_eq!(error(tensor.cross_relinearise(own, &low.up)), above);
    assert_eq!(
        error(tensor.cross_relinearise(crossing(&one.sides.wide, &one.sides.base, &low.down), &one.up)),
        above
    );
    assert_eq!(error(ct.reduce_rank(2, &one.sides.base, &one.down)), rank_down(2, 2, 1, 2));
    let up = one.ct(Level(3)).rank_up(3).expect("up");
    assert_eq!(error(up.reduce_rank(2, &low.sides.base, &low.down)), above);
    let ground = one.ct(Level(0));
    let ground = ground.tensor(&ground).expect("tensor");
    assert_eq!(ground.cross_relinearise_rescale(own, &one.up).err(), Some(LatticeError::NoLevelLeft));
    // Rings.
    let rings = |left, right| LatticeError::RingMismatch { left, right };
    let alien = degree.ct(Level(3));
    assert_eq!(
        error(alien.tensor(&alien).expect("tensor").cross_relinearise(own, &one.up)),
        rings(DEGREE, DEGREE / 2)
    );
    assert_eq!(
        error(alien.rank_up(3).expect("up").reduce_rank(2, &one.sides.base, &one.down)),
        rings(DEGREE, DEGREE / 2)
    );
    let steps = turn(&degree.turns[0].0, &one.turns[0].1);
    assert_eq!(error(ct.rotate_rank_hoisted(&steps, own)), rings(DEGREE / 2, DEGREE));
    // Reductions to ranks that the key or the bundle does not have.
    for rank in [0, 1, 3, 4, usize::MAX] {
        assert_eq!(
            error(up.reduce_rank(rank, &one.sides.base, &one.down)),
            rank_down(3.max(rank), rank, 1, 2)
        );
    }
    assert_eq!(error(up.reduce_rank(2, &one.sides.wide, &one.down)), gadget(4, 1));
    // No turns: nothing to do, whatever the rest.
    assert_eq!(ct.rotate_rank_hoisted(&[], high.sides.crossing(&low.down)).expect("nothing"), ct);
}

#[test]
fn several_bodies_rotate_and_reduce_together_and_do_not_multiply() {
    let chain = Primes::equal(DEGREE, STEPS, 1, 3, 0).chain();
    let sides = Sides::new(&chain, None, 1);
    let (rng, top) = (&mut rng(5), chain.max_level());
    for bodies in [2, 3] {
        let low = secret(&chain, 2, bodies, rng);
        let high = low.join_rank(&secret(&chain, 2, bodies, rng)).expect("fits");
        let (wide, gadget) = (sides.wide.chain(), sides.base.gadget());
        let down = SwitchKey::rank_down(&chain, gadget, top, &high, 2, rng).expect("key");
        let ct = Bundle::encrypt_zero(&low, chain.ring(), &chain.basis(top), rng).expect("zero");
        let phis = rotations(DEGREE, &[1, 2]);
        let keys: Vec<SwitchKey> = phis
            .iter()
            .map(|phi| SwitchKey::automorphism(wide, sides.wide.gadget(), top, &high, phi, rng).expect("key"))
            .collect();
        let turns: Vec<(&Automorphism, &SwitchKey)> = phis.iter().zip(&keys).collect();
        let rotated = ct.rotate_rank_hoisted(&turns, sides.crossing(&down)).expect("rotated");
        let up = Bundle::encrypt_zero(&high, chain.ring(), &chain.basis(top), rng).expect("zero");
        let reduced = up.reduce_rank(2, &sides.base, &down).expect("reduced");
        for body in 0..bodies {
            let expected = phis
                .iter()
                .fold(ct.phase(&low).expect("phase").swap_remove(body), |x, phi| x.automorphism(phi));
            assert!(
                errors(&rotated, &low, body, &expected).iter().all(|e| e.abs() < 1e5),
                "body {body} of {bodies}"
            );
            let expected = up.phase(&high).expect("phase").swap_remove(body);
            assert!(
                errors(&reduced, &low, body, &expected).iter().all(|e| e.abs() < 1e5),
                "body {body} of {bodies}"
            );
        }
        // Keys, bundles, secrets of other bodies.
        let many = |left, right| LatticeError::BodiesMismatch { left, right };
        let one = Secrets::new(&chain, 2, 4, rng);
        let single = one.down(&sides, top, rng);
        assert_eq!(error(up.reduce_rank(2, &sides.base, &single)), many(bodies, 1));
        assert!(matches!(
            error(ct.rotate_rank_hoisted(&turns, sides.crossing(&single))),
            LatticeError::BodiesMismatch { .. }
        ));
        let lone = one.pair(&sides, top, rng)[0].clone();
        assert!(matches!(
            error(lone.rotate_rank_hoisted(&turns, sides.crossing(&down))),
            LatticeError::BodiesMismatch { .. }
        ));
        assert_eq!(
            error(ct.tensor(&ct)),
            LatticeError::ManyBodies { operation: "a product of ciphertexts", bodies }
        );
        let tensor = lone.tensor(&lone).expect("tensor");
        let up = one.up(&sides, top, rng);
        assert_eq!(error(tensor.cross_relinearise(sides.crossing(&down), &up)), many(1, bodies));
        let cross = SwitchKey::cross_relinearisation(wide, sides.wide.gadget(), top, &low, &high, rng);
        assert_eq!(
            error(cross),
            LatticeError::ManyBodies { operation: "a switch from a product of secrets", bodies }
        );
    }
}

fn generate(
    sides: &Sides,
    level: Level,
    low: &SecretKey,
    high: &SecretKey,
) -> Result<SwitchKey, LatticeError> {
    SwitchKey::cross_relinearisation(sides.wide.chain(), sides.wide.gadget(), level, low, high, &mut rng(6))
}

#[test]
fn keys_of_secrets_that_do_not_belong_together_are_not_made() {
    let chain = Primes::equal(DEGREE, STEPS, 1, 3, 0).chain();
    let (sides, top, rng) = (Sides::new(&chain, None, 1), chain.max_level(), &mut rng(7));
    let all = secret_of(DEGREE, 6);
    let part = |rank| all.truncate_rank(rank).expect("part");
    generate(&sides, top, &part(2), &part(3)).expect("nested");
    // Not of a higher rank; not one that begins with the secret: its results would be noise.
    assert_eq!(
        error(generate(&sides, top, &part(2), &part(2))),
        LatticeError::NothingBeyondRank { rank: 2, at: 2 }
    );
    assert_eq!(
        error(generate(&sides, top, &part(3), &part(2))),
        LatticeError::NothingBeyondRank { rank: 2, at: 3 }
    );
    let stranger = secret(&chain, 3, 1, rng);
    assert_eq!(
        error(generate(&sides, top, &part(2), &stranger)),
        LatticeError::NotNested { rank: 2, temporary: 3 }
    );
    let late = part(1).join_rank(&part(2)).expect("fits");
    assert_eq!(
        error(generate(&sides, top, &part(2), &late)),
        LatticeError::NotNested { rank: 2, temporary: 3 }
    );
    // Degrees, bodies, levels, chains without special primes, gadgets of others.
    let small = |rank| secret_of(DEGREE / 2, rank);
    let rings = LatticeError::RingMismatch { left: DEGREE / 2, right: DEGREE };
    assert_eq!(error(generate(&sides, top, &small(2), &small(3))), rings);
    assert_eq!(error(generate(&sides, top, &part(2), &small(3))), rings);
    assert_eq!(error(generate(&sides, top, &small(2), &part(3))), rings);
    let two = secret(&chain, 3, 2, rng);
    assert_eq!(
        error(generate(&sides, top, &part(2), &two)),
        LatticeError::BodiesMismatch { left: 1, right: 2 }
    );
    for level in [STEPS, usize::MAX] {
        let out = LatticeError::LevelOutOfRange { level, max: STEPS - 1 };
        assert_eq!(error(generate(&sides, Level(level), &part(2), &part(3))), out);
        assert_eq!(
            error(SwitchKey::rank_down(&chain, sides.base.gadget(), Level(level), &part(3), 2, rng)),
            out
        );
    }
    let down = |chain: &Chain, secret: &SecretKey, rank| {
        SwitchKey::rank_down(chain, sides.base.gadget(), top, secret, rank, &mut crate::common::rng(8))
    };
    assert_eq!(error(down(&chain, &part(3), 0)), LatticeError::EmptyShape { what: "the rank", got: 0 });
    for rank in [3, 4, usize::MAX] {
        assert_eq!(
            error(down(&chain, &part(3), rank)),
            LatticeError::NothingBeyondRank { rank: 3, at: rank }
        );
    }
    assert_eq!(error(down(&chain, &small(3), 2)), rings);
    let moduli: Vec<u64> = chain.ring().moduli().iter().map(|q| q.value()).collect();
    let bare = Chain::with_temporary(new_ring(DEGREE, &moduli), &[1; STEPS + 1], 3, 0).expect("chain");
    for gadget in [&Gadget::by_bits(&bare, 36.5), sides.base.gadget()] {
        let key = SwitchKey::rank_down(&bare, gadget, Level(0), &part(3), 2, rng);
        assert_eq!(key.err(), Some(LatticeError::NoSpecialPrimes));
    }
    // A gadget of fewer steps.
    let fewer = Gadget::by_bits(&Primes::equal(DEGREE, STEPS - 1, 1, 3, 0).chain(), 36.5);
    let key = SwitchKey::rank_down(&chain, &fewer, top, &part(3), 2, rng);
    assert_eq!(error(key), LatticeError::BasisMismatch { left: STEPS, right: STEPS - 1 });
}

#[test]
fn temporary_primes_are_bounded_by_the_rings_and_special_in_widened_chains_alone() {
    let chain = Primes::equal(DEGREE, STEPS, 1, 3, 2).chain();
    assert_eq!(
        (chain.special_basis().len(), chain.temporary_basis().len(), chain.auxiliary_basis().len()),
        (1, 3, 2)
    );
    let few = |wanted, available| LatticeError::FewTemporaryPrimes { wanted, available };
    for wanted in [4, usize::MAX] {
        assert_eq!(error(chain.widened(wanted)), few(wanted, 3));
    }
    let mut left = 3;
    let mut wide = chain.widened(0).expect("itself");
    assert_eq!(wide.special_basis(), chain.special_basis());
    // By one at a time, or all at once.
    while left > 0 {
        wide = wide.widened(1).expect("one more");
        left -= 1;
        assert_eq!((wide.special_basis().len(), wide.temporary_basis().len()), (4 - left, left));
        assert_eq!(wide.special_basis(), chain.widened(3 - left).expect("widened").special_basis());
        assert_eq!((wide.auxiliary_basis(), wide.max_level()), (chain.auxiliary_basis(), chain.max_level()));
        assert_eq!(wide.special_basis().indices()[0], chain.special_basis().indices()[0]);
        assert_eq!(wide.key_basis(Level(1)), wide.basis(Level(1)).join(&wide.special_basis()));
    }
    assert_eq!(error(wide.widened(1)), few(1, 0));
    // Counts that the ring does not have.
    let ring = chain.ring();
    let primes = ring.moduli().len();
    let empty =
        LatticeError::EmptyShape { what: "the number of modulus steps that fit the ring's primes", got: 0 };
    for (temporary, auxiliary) in
        [(primes, 0), (usize::MAX, 0), (0, usize::MAX), (usize::MAX, usize::MAX), (primes - STEPS, 1)]
    {
        assert_eq!(
            error(Chain::with_temporary(ring.clone(), &[1; STEPS], temporary, auxiliary)),
            empty,
            "{temporary}, {auxiliary}"
        );
    }
    // No special primes but temporary ones: only the widened chain switches.
    let bare = Arc::new(Chain::with_temporary(ring.clone(), &[1; STEPS], primes - STEPS, 0).expect("chain"));
    let gadget = |chain: &Chain| Arc::new(Gadget::by_bits(chain, 36.5));
    assert_eq!(Switcher::new(bare.clone(), gadget(&bare)).err(), Some(LatticeError::NoSpecialPrimes));
    let wide = Arc::new(bare.widened(2).expect("widened"));
    Switcher::new(wide.clone(), gadget(&wide)).expect("two special primes");
}

#[test]
fn secrets_join_and_part_by_rank_without_a_coefficient_lost() {
    let rng = &mut rng(9);
    let sparse = SecretDistribution::FixedWeight;
    for distribution in [SecretDistribution::UniformTernary, sparse(7), sparse(11), sparse(30)] {
        for (rank, bodies) in [(2, 1), (3, 1), (5, 2), (4, 3)] {
            let whole = SecretKey::generate(Degree(DEGREE), Rank(rank), Bodies(bodies), distribution, rng)
                .expect("secret");
            for at in 1..rank {
                let (low, high) =
                    (whole.truncate_rank(at).expect("low"), whole.beyond_rank(at).expect("high"));
                assert_eq!((low.rank(), high.rank(), high.bodies()), (at, rank - at, bodies));
                let joined = low.join_rank(&high).expect("fits");
                assert_eq!(
                    joined.all_coefficients(),
                    whole.all_coefficients(),
                    "{distribution:?}, rank {rank} at {at}"
                );
                // The expected weights of the parts are the whole's.
                assert_eq!(joined.distribution(), distribution, "rank {rank} at {at}");
            }
            assert_eq!(error(whole.beyond_rank(0)), LatticeError::EmptyShape { what: "the rank", got: 0 });
            for at in [rank, rank + 1, usize::MAX] {
                assert_eq!(error(whole.beyond_rank(at)), LatticeError::NothingBeyondRank { rank, at });
            }
            let other =
                SecretKey::generate(Degree(DEGREE), Rank(rank), Bodies(bodies + 1), distribution, rng)
                    .expect("secret");
            assert_eq!(
                error(whole.join_rank(&other)),
                LatticeError::BodiesMismatch { left: bodies, right: bodies + 1 }
            );
        }
    }
    let (one, small) = (secret_of(DEGREE, 2), secret_of(DEGREE / 2, 2));
    assert_eq!(error(one.join_rank(&small)), LatticeError::RingMismatch { left: DEGREE, right: DEGREE / 2 });
    assert_eq!(error(small.join_rank(&one)), LatticeError::RingMismatch { left: DEGREE / 2, right: DEGREE });
    // Of two distributions: the expected square is the two parts' mean.
    let mixed = one
        .join_rank(&SecretKey::generate(Degree(DEGREE), Rank(2), Bodies(1), sparse(6), rng).expect("secret"))
        .expect("fits");
    let mean = (one.coefficient_variance() + 6.0 / (2 * DEGREE) as f64) / 2.0;
    assert!(
        (mixed.coefficient_variance() - mean).abs() < 0.5 / (4 * DEGREE) as f64 + 1e-12,
        "{} and {mean}",
        mixed.coefficient_variance()
    );
}

#[test]
fn sums_that_cannot_be_joined_or_cut_are_refused() {
    let worlds = worlds();
    let product = |world: &World, level: Level| {
        let ct = world.ct(level);
        let tensor = ct.tensor(&ct).expect("tensor");
        world.sides.wide.product(&tensor.quadratic().iter().collect::<Vec<_>>(), &world.up).expect("product")
    };
    let down = |world: &World, level: Level| {
        let mask: Vec<Poly<Eval>> = vec![world.ct(level).mask().at(0).to_owned(); world.high - world.rank];
        world.sides.base.product(&mask.iter().collect::<Vec<_>>(), &world.down).expect("product")
    };
    // Every pair of products of every world, in both orders: an error, or what big integers say (checked
    // elsewhere); never a panic.
    let (mut joined, mut refused) = (0, 0);
    let products: Vec<_> = worlds
        .iter()
        .flat_map(|world| [Level(0), Level(1)].map(|level| [product(world, level), down(world, level)]))
        .flatten()
        .collect();
    for left in &products {
        for right in &products {
            match left.clone().join(right.clone()) {
                Ok(sum) => {
                    assert!(sum.frame().holds(left.frame()) && sum.frame().holds(right.frame()));
                    joined += 1;
                }
                Err(refusal) => {
                    error::<()>(Err(refusal));
                    refused += 1;
                }
            }
        }
    }
    assert!(joined > 100 && refused > 100, "{joined} joined, {refused} refused");
    let (one, degree, others) = (&worlds[0], &worlds[6], &worlds[7]);
    let rings = |right| LatticeError::RingMismatch { left: DEGREE, right };
    for (world, right) in [(degree, DEGREE / 2), (others, DEGREE)] {
        assert_eq!(error(product(one, Level(1)).join(product(world, Level(1)))), rings(right));
        // Special primes of the one among the other's, by their numbers alone.
        assert_eq!(error(product(one, Level(1)).join(down(world, Level(1)))), rings(right));
        assert_eq!(error(down(one, Level(1)).join(product(world, Level(1)))), rings(right));
    }
    assert_eq!(
        error(product(one, Level(1)).join(product(one, Level(0)))),
        LatticeError::BasisMismatch { left: 2, right: 1 }
    );
    assert_eq!(
        error(product(one, Level(1)).join(down(one, Level(1)))),
        LatticeError::RankMismatch { left: 3, right: 2 }
    );
    for at in [0, 3, 4, usize::MAX] {
        let mut sum = product(one, Level(1));
        let before = sum.to_eval().expect("product");
        assert_eq!(error(sum.take_mask(at)), LatticeError::NothingBeyondRank { rank: 3, at });
        assert_eq!(sum.to_eval().expect("product"), before, "a refused operation changes nothing");
    }
}
