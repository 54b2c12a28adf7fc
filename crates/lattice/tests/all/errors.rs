//! Bad input: every error of the lattice layer with its numbers, and a matrix of wrong operands. A panic
//! anywhere fails the test.

use std::sync::Arc;

use crate::common::{Shape, chain, new_ring, primes, rng, secret};
use clathrate_arith::{ArithError, Automorphism, GaloisElement};
use clathrate_lattice::modulus::Division;
use clathrate_lattice::sampling::SamplingError;
use clathrate_lattice::switch::SecretMatrix;
use clathrate_lattice::{
    Basis, Bodies, Bundle, Chain, Coeff, Degree, Eval, Gadget, LatticeError, Level, Poly, PolyRef, Polys,
    PublicKey, Rank, Ring, SecretDistribution, SecretKey, SwitchKey, Switcher,
};
use zeroize::Zeroizing;

const SHAPE: Shape = Shape { degree: 16, bits: 36, steps: 3, special_bits: 37, special: 2 };

fn small_chain() -> Arc<Chain> {
    chain(&SHAPE)
}

fn switcher(chain: &Arc<Chain>) -> Switcher {
    Switcher::new(chain.clone(), Arc::new(Gadget::for_special_modulus(chain, 0.0).expect("gadget")))
        .expect("switcher")
}

fn zero(chain: &Chain, rank: usize, bodies: usize, level: usize) -> Bundle<Eval> {
    let s = secret(chain, rank, bodies, &mut rng(1));
    Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(level)), &mut rng(2)).expect("zero")
}

fn error<T>(result: Result<T, LatticeError>) -> LatticeError {
    let error = result.err().expect("bad input is refused");
    // Each says something to a person, with no placeholder left.
    let text = error.to_string();
    assert!(text.len() > 20 && !text.contains("{}"), "{text}");
    error
}

fn empty(what: &'static str) -> LatticeError {
    LatticeError::EmptyShape { what, got: 0 }
}

#[test]
fn messages_count_one_thing_in_the_singular() {
    let inputs = |key_inputs| LatticeError::KeyInputs { key_inputs, inputs: 3 }.to_string();
    assert!(inputs(1).contains("switches 1 polynomial, not the 3 given"), "{}", inputs(1));
    assert!(inputs(2).contains("switches 2 polynomials, not the 3 given"), "{}", inputs(2));
    let primes =
        |special, free| LatticeError::FewFreePrimes { special, free, level: 4, key_level: 5 }.to_string();
    assert!(primes(2, 1).contains("with 2 special primes: 1 prime is free there"), "{}", primes(2, 1));
    assert!(primes(1, 2).contains("with 1 special prime: 2 primes are free there"), "{}", primes(1, 2));
    let shape = LatticeError::SecretShape {
        secret_rank: 2,
        secret_bodies: 1,
        secret_degree: 64,
        rank: 2,
        bodies: 2,
        degree: 64,
    }
    .to_string();
    assert!(shape.contains("rank 2 and 1 body at degree 64; the bundle has rank 2 and 2 bodies"), "{shape}");
}

#[test]
fn rings_of_unusable_degrees_or_moduli_are_refused() {
    assert_eq!(error(Ring::new(12, &[97])), ArithError::InvalidDegree { degree: 12 }.into());
    assert_eq!(error(Ring::new(0, &[97])), ArithError::InvalidDegree { degree: 0 }.into());
    assert_eq!(error(Ring::new(16, &[96])), ArithError::InvalidModulus { value: 96 }.into());
    assert_eq!(error(Ring::new(64, &[97])), ArithError::NoRootOfUnity { modulus: 97, order: 128 }.into());
}

#[test]
fn chains_with_empty_missing_or_repeated_primes_are_refused() {
    let (moduli, _) = primes(&SHAPE);
    let ring = new_ring(16, &moduli);
    assert_eq!(error(Chain::new(ring.clone(), &[2, 0, 1])), empty("the number of primes of a modulus step"));
    let too_few = empty("the number of modulus steps that fit the ring's primes");
    for lengths in [&[][..], &[8], &[2, usize::MAX], &[usize::MAX, usize::MAX]] {
        assert_eq!(error(Chain::new(ring.clone(), lengths)), too_few, "{lengths:?}");
    }
    let twice = new_ring(16, &[moduli[0], moduli[1], moduli[0]]);
    assert_eq!(error(Chain::new(twice, &[1, 1])), LatticeError::RepeatedPrime { prime: moduli[0] });
    let bare = Arc::new(Chain::new(ring, &[7]).expect("all primes in one step"));
    assert_eq!(error(Gadget::for_special_modulus(&bare, 0.0)), LatticeError::NoSpecialPrimes);
    assert_eq!(
        error(Switcher::new(bare.clone(), Arc::new(Gadget::by_bits(&bare, 60.0)))),
        LatticeError::NoSpecialPrimes
    );
    let s = secret(&bare, 1, 1, &mut rng(1));
    let key =
        SwitchKey::change_of_secret(&bare, &Gadget::by_bits(&bare, 60.0), Level(0), &s, &s, &mut rng(2));
    assert_eq!(error(key), LatticeError::NoSpecialPrimes);
}

#[test]
fn digits_over_the_special_modulus_are_refused_with_both_sizes() {
    let chain = chain(&Shape { bits: 40, special_bits: 33, special: 1, ..SHAPE });
    match error(Gadget::for_special_modulus(&chain, 1.0)) {
        LatticeError::DigitTooLarge { digit, digit_bits, special_bits } => {
            // Digits: two base primes of 30 bits, each alone, then 40 bits.
            assert_eq!(digit, 2);
            assert!(
                (digit_bits - 40.0).abs() < 0.01 && (special_bits - 34.0).abs() < 0.01,
                "{digit_bits} {special_bits}"
            );
        }
        other => panic!("{other}"),
    }
    assert!(Gadget::for_special_modulus(&chain, 7.5).is_ok());
}

#[test]
fn levels_beyond_the_chain_are_refused_by_everything_that_takes_one() {
    let chain = small_chain();
    let switcher = switcher(&chain);
    let (s, mut rng) = (secret(&chain, 1, 1, &mut rng(1)), rng(2));
    let phi = Automorphism::new(GaloisElement::conjugation(16), 16);
    for level in [4, 100, usize::MAX] {
        let out = LatticeError::LevelOutOfRange { level, max: 3 };
        let (level, gadget) = (Level(level), switcher.gadget());
        assert_eq!(error(chain.check_level(level)), out);
        assert_eq!(error(chain.rescale_division(level)), out);
        assert_eq!(error(switcher.tables(level)), out);
        assert_eq!(error(switcher.mod_down_division(level)), out);
        assert_eq!(error(switcher.tables_for(Level(0), level)), out);
        assert_eq!(error(switcher.tables_for_keys(level, &[])), out);
        assert_eq!(error(SwitchKey::change_of_secret(&chain, gadget, level, &s, &s, &mut rng)), out);
        assert_eq!(error(SwitchKey::relinearisation(&chain, gadget, level, &s, &mut rng)), out);
        assert_eq!(error(SwitchKey::automorphism(&chain, gadget, level, &s, &phi, &mut rng)), out);
        assert_eq!(
            error(SwitchKey::from_bodies(&chain, gadget, level, 1, Rank(1), rng.mask_seed(), vec![])),
            out
        );
    }
    assert_eq!(error(chain.rescale_division(Level(0))), LatticeError::NoLevelLeft);
    let key =
        SwitchKey::change_of_secret(&chain, switcher.gadget(), Level(0), &s, &s, &mut rng).expect("key");
    let product = switcher.product(&[zero(&chain, 1, 1, 0).mask().at(0)], &key).expect("product");
    assert_eq!(error(switcher.mod_down_rescale(&product)), LatticeError::NoLevelLeft);
}

#[test]
fn secrets_of_impossible_shape_are_refused() {
    let uniform = SecretDistribution::UniformTernary;
    let generate = |n, k, m, d| error(SecretKey::generate(Degree(n), Rank(k), Bodies(m), d, &mut rng(1)));
    assert_eq!(generate(0, 1, 1, uniform), empty("the degree"));
    assert_eq!(generate(8, 0, 1, uniform), empty("the rank"));
    assert_eq!(generate(8, 1, 0, uniform), empty("the number of bodies"));
    let heavy = SamplingError::WeightTooLarge { weight: 17, length: 16 };
    assert_eq!(generate(8, 2, 1, SecretDistribution::FixedWeight(17)), LatticeError::Sampling(heavy));
    for (degree, rank, bodies) in
        [(usize::MAX, 2, 1), (1 << 40, 1 << 40, 1), (1, usize::MAX, 1), (2, 1 << 31, 1 << 31)]
    {
        let large = LatticeError::SecretTooLarge { degree, rank, bodies };
        assert_eq!(generate(degree, rank, bodies, uniform), large);
        let stored = SecretKey::from_coefficients(
            Degree(degree),
            Rank(rank),
            Bodies(bodies),
            uniform,
            Zeroizing::new(vec![0; 4]),
        );
        assert_eq!(error(stored), large);
    }
    let stored = |count| {
        SecretKey::from_coefficients(Degree(8), Rank(2), Bodies(1), uniform, Zeroizing::new(vec![0; count]))
    };
    for got in [0, 15, 17] {
        assert_eq!(
            error(stored(got)),
            LatticeError::EmptyShape { what: "the number of secret coefficients that fit the shape", got }
        );
    }
    let s = stored(16).expect("fits");
    assert_eq!(error(s.truncate_rank(0)), empty("the rank"));
    let beyond = error(s.truncate_rank(3));
    assert_eq!(beyond, LatticeError::SecretRank { rank: 2, requested: 3 });
    assert!(beyond.to_string().contains("cut to 3: use 1 to 2"), "{beyond}");
}

#[test]
fn truncated_secrets_of_fixed_weight_expect_their_share_of_it() {
    let s = SecretKey::generate(
        Degree(64),
        Rank(4),
        Bodies(2),
        SecretDistribution::FixedWeight(100),
        &mut rng(1),
    )
    .expect("secret");
    for rank in 1..=4 {
        let part = s.truncate_rank(rank).expect("shorter");
        assert_eq!(part.distribution(), SecretDistribution::FixedWeight(25 * rank));
        assert!((part.coefficient_variance() - 100.0 / 256.0).abs() < 1e-12);
    }
}

#[test]
fn empty_and_mixed_bundles_are_refused() {
    let chain = small_chain();
    let poly = |level: usize| zero(&chain, 1, 1, level).bodies().at(0).to_owned();
    assert_eq!(error(Bundle::<Eval>::new(Vec::<Poly<Eval>>::new(), vec![poly(1)])), empty("the rank"));
    assert_eq!(
        error(Bundle::<Eval>::new(vec![poly(1)], Vec::<Poly<Eval>>::new())),
        empty("the number of bodies")
    );
    assert_eq!(error(Bundle::from_seed(rng(1).mask_seed(), 0, vec![poly(1)])), empty("the rank"));
    let two = Polys::<Eval>::zero(chain.ring(), &chain.basis(Level(1)), 2);
    assert_eq!(error(Bundle::from_polys(two.clone(), 2)), empty("the number of bodies"));
    assert_eq!(
        error(Bundle::from_polys(two, 3)),
        empty("the number of bodies"),
        "a rank above the number of polynomials"
    );
    assert_eq!(
        error(Bundle::from_seed(rng(1).mask_seed(), 1, Vec::<Poly<Eval>>::new())),
        empty("the number of bodies")
    );
    let bases = LatticeError::BasisMismatch { left: 3, right: 4 };
    assert_eq!(error(Bundle::new(vec![poly(1), poly(2)], vec![poly(1)])), bases);
    assert_eq!(error(Bundle::new(vec![poly(1)], vec![poly(1), poly(2)])), bases);
    assert_eq!(error(Bundle::new(vec![poly(1)], vec![poly(2)])), bases);
    assert_eq!(error(Bundle::from_seed(rng(1).mask_seed(), 1, vec![poly(1), poly(2)])), bases);
    let ct = zero(&chain, 2, 3, 1);
    for body in [3, usize::MAX] {
        let missing = LatticeError::BodyOutOfRange { body, bodies: 3 };
        assert_eq!(error(ct.split_body(body)), missing);
        assert_eq!(error(ct.clone().add_message(body, &poly(1))), missing);
    }
    for to in [0, 1] {
        assert_eq!(error(ct.rank_up(to)), LatticeError::RankUp { from: 2, to });
    }
    for to in [0, 3] {
        assert_eq!(error(ct.leading_masks(to)), LatticeError::MaskRank { rank: 2, requested: to });
    }
    let refused = |_: PolyRef<'_, Eval>| Err::<Poly<Eval>, _>(LatticeError::NoLevelLeft);
    assert_eq!(error(ct.try_map(refused)), LatticeError::NoLevelLeft);
    assert_eq!(error(ct.restrict(&chain.basis(Level(2)))), LatticeError::BasisMismatch { left: 3, right: 4 });
    assert_eq!(
        error(ct.tensor(&ct)),
        LatticeError::ManyBodies { operation: "a product of ciphertexts", bodies: 3 }
    );
}

#[test]
fn bases_that_the_ring_does_not_have_are_refused() {
    let chain = small_chain();
    let ring = chain.ring();
    let s = secret(&chain, 1, 1, &mut rng(1));
    let public = PublicKey::generate(&s, ring, &chain.basis(Level(1)), &mut rng(2)).expect("key");
    for indices in [vec![0, 7], vec![usize::MAX], vec![1, 1]] {
        let basis = Basis::new(indices.clone());
        let unknown = LatticeError::BasisMismatch { left: 7, right: indices.len() };
        assert_eq!(error(Bundle::encrypt_zero(&s, ring, &basis, &mut rng(3))), unknown);
        assert_eq!(error(PublicKey::generate(&s, ring, &basis, &mut rng(3))), unknown);
        assert_eq!(error(public.encrypt_zero(&basis, &mut rng(3))), unknown);
        assert_eq!(error(Division::new(ring, &basis, &Basis::new([2]))), unknown);
        assert_eq!(error(Division::new(ring, &Basis::new([2]), &basis)), unknown);
    }
    let none = Basis::new([]);
    assert_eq!(error(Bundle::encrypt_zero(&s, ring, &none, &mut rng(3))), empty("the number of primes"));
    assert_eq!(error(public.encrypt_zero(&none, &mut rng(3))), empty("the number of primes"));
    assert_eq!(error(Division::new(ring, &none, &Basis::new([2]))), empty("the number of primes"));
    assert_eq!(error(Division::new(ring, &Basis::new([2]), &none)), empty("the number of primes"));
    assert_eq!(
        error(Division::new(ring, &Basis::new([2, 3]), &Basis::new([0, 3]))),
        LatticeError::BasisMismatch { left: 2, right: 2 }
    );
    assert_eq!(
        error(public.encrypt_zero(&chain.basis(Level(2)), &mut rng(3))),
        LatticeError::BasisMismatch { left: 3, right: 4 }
    );
}

#[test]
fn public_keys_of_parts_that_do_not_fit_are_refused() {
    let chain = small_chain();
    let zeroes = |rank, bodies, level| zero(&chain, rank, bodies, level);
    assert_eq!(error(PublicKey::from_zeroes(vec![])), empty("the rank"));
    assert_eq!(
        error(PublicKey::from_zeroes(vec![zeroes(2, 1, 1)])),
        LatticeError::RankMismatch { left: 2, right: 1 }
    );
    assert_eq!(
        error(PublicKey::from_zeroes(vec![zeroes(2, 1, 1), zeroes(1, 1, 1)])),
        LatticeError::RankMismatch { left: 2, right: 1 }
    );
    assert_eq!(
        error(PublicKey::from_zeroes(vec![zeroes(2, 1, 1), zeroes(2, 2, 1)])),
        LatticeError::BodiesMismatch { left: 1, right: 2 }
    );
    assert_eq!(
        error(PublicKey::from_zeroes(vec![zeroes(2, 1, 1), zeroes(2, 1, 2)])),
        LatticeError::BasisMismatch { left: 3, right: 4 }
    );
}

#[test]
fn inner_products_of_lists_that_do_not_fit_are_refused() {
    let (chain, other) = (small_chain(), chain(&Shape { degree: 8, ..SHAPE }));
    let (x, y) =
        (zero(&chain, 1, 1, 1).bodies().at(0).to_owned(), zero(&chain, 1, 1, 2).bodies().at(0).to_owned());
    let alien = zero(&other, 1, 1, 1).bodies().at(0).to_owned();
    assert_eq!(
        error(Poly::inner_product::<&Poly<Eval>, &Poly<Eval>>(&[], &[])),
        empty("the number of factors")
    );
    assert_eq!(error(Poly::inner_product::<_, &Poly<Eval>>(&[&x], &[])), empty("the number of factors"));
    let what = "factors on the right of an inner product";
    assert_eq!(
        error(Poly::inner_product(&[&x, &x], &[&x])),
        ArithError::Shape { what, expected: 2, got: 1 }.into()
    );
    assert_eq!(
        error(Poly::inner_product(&[&x], &[&x, &x])),
        ArithError::Shape { what, expected: 1, got: 2 }.into()
    );
    // The right side may have more primes, the left may not.
    assert!(Poly::inner_product(&[&x], &[&y]).is_ok());
    assert_eq!(error(Poly::inner_product(&[&y], &[&x])), LatticeError::BasisMismatch { left: 4, right: 3 });
    assert_eq!(
        error(Poly::inner_product(&[&x, &y], &[&x, &x])),
        LatticeError::BasisMismatch { left: 3, right: 4 }
    );
    assert_eq!(
        error(Poly::inner_product(&[&x, &x], &[&y, &x])),
        LatticeError::BasisMismatch { left: 3, right: 3 }
    );
    let rings = LatticeError::RingMismatch { left: 16, right: 8 };
    assert_eq!(error(Poly::inner_product(&[&x], &[&alien])), rings);
    assert_eq!(error(Poly::inner_product(&[&x, &alien], &[&x, &x])), rings);
}

#[test]
fn degree_moves_between_rings_that_do_not_fit_are_refused_with_their_numbers() {
    let (moduli, _) = primes(&Shape { degree: 64, ..SHAPE });
    let ring = |degree| new_ring(degree, &moduli);
    let foreign = new_ring(8, &moduli[1..]);
    let s = |n, k| {
        SecretKey::generate(Degree(n), Rank(k), Bodies(1), SecretDistribution::UniformTernary, &mut rng(1))
            .expect("secret")
    };
    let bundle = |n, k| {
        Bundle::encrypt_zero(&s(n, k), &ring(n), &Basis::new([0, 2]), &mut rng(2)).expect("zero").into_coeff()
    };
    let change = |degree, rank, target, what| LatticeError::DegreeChange { degree, rank, target, what };
    let ct = bundle(16, 3);
    assert_eq!(error(ct.extract_component(&ring(32), 0)), change(16, 3, 32, "degree"));
    for c in [4, 5, usize::MAX] {
        let missing = LatticeError::ComponentOutOfRange { component: c, gap: 4 };
        assert_eq!(error(ct.extract_component(&ring(4), c)), missing);
        assert_eq!(error(ct.clone().into_eval().extract_component(&ring(4), c)), missing);
        assert_eq!(error(ct.bodies().at(0).split_component(&ring(4), c)), missing);
    }
    assert_eq!(error(ct.extract(&ring(32))), change(16, 3, 32, "degree"));
    // Rank 3 does not double its degree: 2 does not divide it.
    assert_eq!(error(ct.embed(&ring(32))), change(16, 3, 32, "rank"));
    assert_eq!(error(ct.clone().into_eval().embed(&ring(32))), change(16, 3, 32, "rank"));
    assert_eq!(error(ct.embed(&ring(8))), change(16, 3, 8, "rank"));
    // 2 divides rank 6, 4 does not.
    assert_eq!(error(bundle(16, 6).embed(&ring(64))), change(16, 6, 64, "rank"));
    assert_eq!(error(s(16, 6).combine_degree(64)), change(16, 6, 64, "rank"));
    assert_eq!(bundle(16, 6).embed(&ring(32)).expect("divides").rank(), 3);
    assert_eq!(error(s(16, 3).combine_degree(32)), change(16, 3, 32, "rank"));
    assert_eq!(error(s(16, 3).combine_degree(8)), change(16, 3, 8, "rank"));
    for target in [0, 3, 12, 32] {
        assert_eq!(error(s(16, 3).split_degree(target)), change(16, 3, target, "degree"));
    }
    for target in [0, 17, 24, 48] {
        assert_eq!(error(s(16, 3).combine_degree(target)), change(16, 3, target, "rank"));
    }
    let parts = [ct.bodies().at(0).to_owned(), ct.bodies().at(0).to_owned(), ct.bodies().at(0).to_owned()];
    assert_eq!(error(Poly::combine_components(&ring(32), &parts)), change(16, 3, 32, "rank"));
    assert_eq!(error(Poly::combine_mask(&ring(32), &parts)), change(16, 3, 32, "rank"));
    assert_eq!(error(Poly::combine_components(&ring(64), &parts[..2])), change(16, 2, 64, "rank"));
    assert_eq!(error(Poly::<Coeff>::combine_components(&ring(32), &[])), empty("the number of components"));
    assert_eq!(error(Poly::<Eval>::combine_mask(&ring(32), &[])), empty("the number of components"));
    let fewer = ct.bodies().at(0).restrict(&Basis::new([2])).expect("subset");
    let uneven = [ct.bodies().at(0).to_owned(), fewer];
    assert_eq!(
        error(Poly::combine_components(&ring(32), &uneven)),
        LatticeError::BasisMismatch { left: 2, right: 1 }
    );
    let body = ct.bodies().at(0);
    assert_eq!(error(body.iota(&ring(8))), change(16, 1, 8, "degree"));
    for refused in [
        body.epsilon(&ring(32)).map(drop),
        body.split_components(&ring(32)).map(drop),
        body.split_mask(&ring(32)).map(drop),
    ] {
        assert_eq!(refused.expect_err("degrees do not fit"), change(16, 1, 32, "degree"));
    }
    // The same indices would name other primes.
    assert_eq!(error(ct.extract_component(&foreign, 0)), LatticeError::RingMismatch { left: 16, right: 8 });
    assert_eq!(
        error(ct.bodies().at(0).split_component(&foreign, 0)),
        LatticeError::RingMismatch { left: 16, right: 8 }
    );
    assert_eq!(
        error(bundle(4, 2).bodies().at(0).iota(&foreign)),
        LatticeError::RingMismatch { left: 4, right: 8 }
    );
    let alike = new_ring(16, &moduli[1..]);
    assert_eq!(error(ct.extract(&alike)), LatticeError::RingMismatch { left: 16, right: 16 });
    assert_eq!(error(ct.embed(&alike)), LatticeError::RingMismatch { left: 16, right: 16 });
    assert_eq!(error(bundle(4, 2).embed(&foreign)), LatticeError::RingMismatch { left: 4, right: 8 });
}

/// One of each way to be different, and what a binary operation must say of a pair.
struct Operand {
    bundle: Bundle<Eval>,
    /// Rank, bodies, ring, primes.
    shape: (usize, usize, usize, usize),
    degree: usize,
}

fn operands() -> Vec<Operand> {
    let rings = [small_chain(), chain(&Shape { degree: 8, ..SHAPE }), chain(&Shape { bits: 35, ..SHAPE })];
    let mut operands = Vec::new();
    for (r, chain) in rings.iter().enumerate() {
        for rank in 1..=2 {
            for bodies in 1..=2 {
                for level in 0..=1 {
                    let bundle = zero(chain, rank, bodies, level);
                    operands.push(Operand {
                        bundle,
                        shape: (rank, bodies, r, level + 2),
                        degree: chain.ring().degree(),
                    });
                }
            }
        }
    }
    operands
}

/// The first thing in which the two differ.
fn difference(x: &Operand, y: &Operand) -> Option<LatticeError> {
    let ((left_rank, left_bodies, ..), (right_rank, right_bodies, ..)) = (x.shape, y.shape);
    if left_rank != right_rank {
        return Some(LatticeError::RankMismatch { left: left_rank, right: right_rank });
    }
    if left_bodies != right_bodies {
        return Some(LatticeError::BodiesMismatch { left: left_bodies, right: right_bodies });
    }
    poly_difference(x, y)
}

fn poly_difference(x: &Operand, y: &Operand) -> Option<LatticeError> {
    if x.shape.2 != y.shape.2 {
        return Some(LatticeError::RingMismatch { left: x.degree, right: y.degree });
    }
    (x.shape.3 != y.shape.3).then_some(LatticeError::BasisMismatch { left: x.shape.3, right: y.shape.3 })
}

#[test]
fn every_pair_of_operands_combines_exactly_when_nothing_differs() {
    let operands = operands();
    for x in &operands {
        for y in &operands {
            let (whole, poly) = (difference(x, y), poly_difference(x, y));
            let say = format!("{:?} with {:?}", x.shape, y.shape);
            assert_eq!(x.bundle.check_same_shape(&y.bundle).err(), whole, "{say}");
            let mut sum = x.bundle.clone();
            assert_eq!(sum.add_assign(&y.bundle).err(), whole, "{say}");
            assert_eq!(sum.sub_assign(&y.bundle).err(), whole, "{say}");
            assert_eq!(sum, x.bundle, "a refused operation changes nothing, {say}");
            let p = y.bundle.bodies().at(0);
            assert_eq!(x.bundle.clone().mul_poly_assign(p).err(), poly, "{say}");
            assert_eq!(x.bundle.clone().add_message(0, p).err(), poly, "{say}");
            let mut q = x.bundle.bodies().at(0).to_owned();
            assert_eq!(q.add_assign(p).err(), poly, "{say}");
            assert_eq!(q.sub_assign(p).err(), poly, "{say}");
            assert_eq!(q.mul_assign(p).err(), poly, "{say}");
            let many = LatticeError::ManyBodies { operation: "a product of ciphertexts", bodies: x.shape.1 };
            assert_eq!(
                x.bundle.tensor(&y.bundle).err(),
                if x.shape.1 == 1 { whole.clone() } else { Some(many) },
                "{say}"
            );
            if let (1, 1) = (x.shape.1, y.shape.1) {
                let tensor = |ct: &Bundle<Eval>| ct.tensor(ct).expect("square");
                assert_eq!(tensor(&x.bundle).add_assign(&tensor(&y.bundle)).err(), whole, "{say}");
            }
            // A secret fits by its shape alone: it belongs to no moduli.
            let s = SecretKey::generate(
                Degree(y.degree),
                Rank(y.shape.0),
                Bodies(y.shape.1),
                SecretDistribution::UniformTernary,
                &mut rng(3),
            )
            .expect("secret");
            let fits = (x.degree, x.shape.0, x.shape.1) == (y.degree, y.shape.0, y.shape.1);
            let expected = LatticeError::SecretShape {
                secret_rank: y.shape.0,
                secret_bodies: y.shape.1,
                secret_degree: y.degree,
                rank: x.shape.0,
                bodies: x.shape.1,
                degree: x.degree,
            };
            assert_eq!(x.bundle.phase(&s).err(), (!fits).then_some(expected), "{say}");
        }
    }
}

#[test]
fn switches_of_operands_that_do_not_fit_their_key_are_refused() {
    let (chain, operands) = (small_chain(), operands());
    let switcher = switcher(&chain);
    let mut rng = rng(4);
    let phi = Automorphism::new(GaloisElement::rotation(1, 16), 16);
    for rank in 1..=2 {
        for bodies in 1..=2 {
            let s = secret(&chain, rank, bodies, &mut rng);
            let gadget = switcher.gadget();
            let key = SwitchKey::change_of_secret(&chain, gadget, Level(0), &s, &s, &mut rng).expect("key");
            let moved = SwitchKey::automorphism(&chain, gadget, Level(0), &s, &phi, &mut rng).expect("key");
            for x in &operands {
                let say = format!("{:?} under a key of rank {rank}, {bodies} bodies", x.shape);
                let expected = if x.shape.2 != 0 {
                    Some(LatticeError::RingMismatch { left: 16, right: x.degree })
                } else if x.shape.0 != rank {
                    Some(LatticeError::KeyInputs { key_inputs: rank, inputs: x.shape.0 })
                } else if x.shape.3 > 2 {
                    Some(LatticeError::KeyLevelTooLow { key_level: 0, level: 1 })
                } else if x.shape.1 != bodies {
                    Some(LatticeError::BodiesMismatch { left: x.shape.1, right: bodies })
                } else {
                    None
                };
                assert_eq!(x.bundle.switch_secret(&switcher, &key).err(), expected, "{say}");
                assert_eq!(
                    x.bundle.decompose_mask(&switcher, &switcher.tables(Level(0)).expect("plan")).is_err(),
                    x.shape.2 != 0 || x.shape.3 != 2,
                    "{say}"
                );
                // Whichever check comes first, it is an error where the switch is one.
                assert_eq!(x.bundle.rotate(&phi, &switcher, &moved).is_err(), expected.is_some(), "{say}");
                let coeff: Vec<_> = x.bundle.mask().iter().map(|poly| poly.to_coeff()).collect();
                let inputs: Vec<_> = coeff.iter().collect();
                let bodies_differ = matches!(expected, Some(LatticeError::BodiesMismatch { .. }));
                assert_eq!(
                    switcher.switch_coeff(&inputs, &key).is_err(),
                    expected.is_some() && !bodies_differ,
                    "{say}"
                );
                let own = zero(&chain, rank, bodies, 0);
                let mut sum =
                    switcher.product(&own.mask().iter().collect::<Vec<_>>(), &key).expect("product");
                let fits = (x.shape.0 + x.shape.1, x.shape.2, x.shape.3) == (rank + bodies, 0, 2);
                assert_eq!(sum.add_lifted(x.bundle.polys()).is_ok(), fits, "{say}");
                assert!(sum.add_lifted(Vec::<&Poly<Eval>>::new()).is_err(), "{say}: no terms");
                let division = chain.rescale_division(Level(1)).expect("division");
                assert_eq!(x.bundle.divide(&division).is_err(), x.shape.2 != 0 || x.shape.3 < 3, "{say}");
            }
        }
    }
}

#[test]
fn polynomials_between_levels_are_not_switched() {
    let chain = small_chain();
    let switcher = switcher(&chain);
    for indices in [vec![0], vec![1, 0], vec![0, 1, 3], vec![0, 1, 2, 3, 4, 5, 6]] {
        let count = indices.len();
        let poly = Poly::<Eval>::zero(chain.ring(), &Basis::new(indices));
        let between = LatticeError::BasisMismatch { left: count, right: 5 };
        assert_eq!(error(switcher.decompose(&poly)), between);
        assert_eq!(error(switcher.decompose_coeff(&poly.to_coeff())), between);
    }
}

#[test]
fn keys_from_secrets_gadgets_and_automorphisms_of_other_rings_are_refused() {
    let (chain, other) = (small_chain(), chain(&Shape { degree: 8, steps: 4, ..SHAPE }));
    let (switcher, foreign) = (switcher(&chain), self::switcher(&other));
    let mut rng = rng(5);
    let (s, alien) = (secret(&chain, 1, 1, &mut rng), secret(&other, 1, 1, &mut rng));
    let (gadget, top) = (switcher.gadget(), Level(3));
    let rings = LatticeError::RingMismatch { left: 8, right: 16 };
    assert_eq!(error(SwitchKey::change_of_secret(&chain, gadget, top, &alien, &s, &mut rng)), rings);
    assert_eq!(error(SwitchKey::change_of_secret(&chain, gadget, top, &s, &alien, &mut rng)), rings);
    assert_eq!(error(SwitchKey::relinearisation(&chain, gadget, top, &alien, &mut rng)), rings);
    assert_eq!(error(Bundle::encrypt_zero(&alien, chain.ring(), &chain.basis(top), &mut rng)), rings);
    let phi = Automorphism::new(GaloisElement::conjugation(8), 8);
    assert_eq!(error(SwitchKey::automorphism(&chain, gadget, top, &s, &phi, &mut rng)), rings);
    let right = Automorphism::new(GaloisElement::conjugation(16), 16);
    let key = SwitchKey::automorphism(&chain, gadget, top, &s, &right, &mut rng).expect("key");
    assert_eq!(error(zero(&chain, 1, 1, 3).rotate(&phi, &switcher, &key)), rings);
    let gadgets = LatticeError::BasisMismatch { left: 5, right: 6 };
    assert_eq!(error(SwitchKey::change_of_secret(&chain, foreign.gadget(), top, &s, &s, &mut rng)), gadgets);
    assert_eq!(error(Switcher::new(chain.clone(), Arc::new(foreign.gadget().clone()))), gadgets);
    let two = secret(&chain, 1, 2, &mut rng);
    let many = LatticeError::ManyBodies { operation: "a switch from a product of secrets", bodies: 2 };
    assert_eq!(error(SwitchKey::relinearisation(&chain, gadget, top, &two, &mut rng)), many);
    let bodies = LatticeError::BodiesMismatch { left: 2, right: 1 };
    assert_eq!(error(SwitchKey::change_of_secret(&chain, gadget, top, &two, &s, &mut rng)), bodies);
}

#[test]
fn keys_of_parts_that_do_not_fit_are_refused() {
    let chain = small_chain();
    let switcher = switcher(&chain);
    let mut rng = rng(6);
    let s = secret(&chain, 2, 2, &mut rng);
    let key =
        SwitchKey::change_of_secret(&chain, switcher.gadget(), Level(2), &s, &s, &mut rng).expect("key");
    let parts = |k: &SwitchKey| -> Vec<Vec<Poly<Eval>>> {
        k.entries().iter().map(|entry| entry.bodies().to_vec()).collect()
    };
    let from = |inputs, rank, bodies| {
        SwitchKey::from_bodies(
            &chain,
            switcher.gadget(),
            Level(2),
            inputs,
            Rank(rank),
            key.seed().expect("a seed"),
            bodies,
        )
    };
    let again = from(2, 2, parts(&key)).expect("its own parts");
    assert_eq!(again.entries(), key.entries());
    assert_eq!(
        (again.inputs(), again.digit_count(), again.rank(), again.body_count()),
        (2, key.digit_count(), 2, 2)
    );
    let count = parts(&key).len();
    assert_eq!(error(from(0, 2, parts(&key))), LatticeError::KeyInputs { key_inputs: 0, inputs: count });
    assert_eq!(error(from(2, 2, vec![])), LatticeError::KeyInputs { key_inputs: 2, inputs: 0 });
    assert_eq!(
        error(from(count + 1, 2, parts(&key))),
        LatticeError::KeyInputs { key_inputs: count + 1, inputs: count }
    );
    assert_eq!(error(from(2, 0, parts(&key))), empty("the rank"));
    let mut uneven = parts(&key);
    uneven[1].pop();
    assert_eq!(error(from(2, 2, uneven)), LatticeError::BodiesMismatch { left: 2, right: 1 });
    let mut lower = parts(&key);
    lower[1][0] = lower[1][0].restrict(&chain.key_basis(Level(1))).expect("subset");
    assert!(matches!(error(from(2, 2, lower)), LatticeError::BasisMismatch { .. }));
    let mut short = parts(&key);
    short.truncate(count - 2);
    let digits = key.digit_count();
    assert_eq!(error(from(2, 2, short)), LatticeError::KeyGadget { key_digits: digits - 1, digits });
    let none = vec![vec![]; count];
    assert_eq!(error(from(2, 2, none)), empty("the number of bodies"));
}

#[test]
fn relinearisation_under_a_key_of_another_shape_is_refused() {
    let chain = small_chain();
    let switcher = switcher(&chain);
    let mut rng = rng(7);
    let s = secret(&chain, 2, 1, &mut rng);
    let ct = zero(&chain, 2, 1, 3);
    let matrix = SecretMatrix::quadratic(&s, chain.ring(), &chain.key_basis(Level(3))).expect("one body");
    for rank in [1, 3] {
        // A key from s_i s_j to a secret of another rank: its result cannot take the linear terms as they
        // are.
        let target = secret(&chain, rank, 1, &mut rng);
        let key = SwitchKey::generate(&chain, switcher.gadget(), Level(3), &matrix, &target, &mut rng)
            .expect("key");
        let ranks = LatticeError::RankMismatch { left: 2, right: rank };
        assert_eq!(error(ct.multiply(&ct, &switcher, &key)), ranks);
        assert_eq!(error(ct.tensor(&ct).expect("tensor").relinearise_rescale(&switcher, &key)), ranks);
    }
    let wrong =
        SwitchKey::change_of_secret(&chain, switcher.gadget(), Level(3), &s, &s, &mut rng).expect("key");
    assert_eq!(
        error(ct.multiply(&ct, &switcher, &wrong)),
        LatticeError::KeyInputs { key_inputs: 2, inputs: 3 }
    );
    let low = SwitchKey::relinearisation(&chain, switcher.gadget(), Level(1), &s, &mut rng).expect("key");
    assert_eq!(
        error(ct.multiply(&ct, &switcher, &low)),
        LatticeError::KeyLevelTooLow { key_level: 1, level: 3 }
    );
}

#[test]
fn digits_of_several_levels_or_other_gadgets_are_not_summed() {
    let chain = small_chain();
    let switcher = switcher(&chain);
    let mut rng = rng(8);
    let s = secret(&chain, 2, 1, &mut rng);
    let key =
        SwitchKey::change_of_secret(&chain, switcher.gadget(), Level(3), &s, &s, &mut rng).expect("key");
    let at = |level: usize| switcher.decompose(zero(&chain, 1, 1, level).mask().at(0)).expect("digits");
    // Bases: 2 + 2 and 5 + 2 primes.
    assert_eq!(
        error(switcher.inner_product(&[&at(0), &at(3)], &key)),
        LatticeError::BasisMismatch { left: 4, right: 7 }
    );
    // Finer digits than the key's: 5 against 3.
    let finer = Switcher::new(chain.clone(), Arc::new(Gadget::by_bits(&chain, 36.0))).expect("switcher");
    let digits = finer.decompose(zero(&chain, 1, 1, 3).mask().at(0)).expect("digits");
    let (key_digits, digits_here) = (key.digit_count(), digits.polys().len());
    assert!(digits_here > key_digits);
    assert_eq!(
        error(finer.inner_product(&[&digits, &digits], &key)),
        LatticeError::KeyGadget { key_digits, digits: digits_here }
    );
    // And coarser ones than the key's.
    let fine_key =
        SwitchKey::change_of_secret(&chain, finer.gadget(), Level(3), &s, &s, &mut rng).expect("key");
    let coarse = at(3);
    let coarse_under_fine =
        LatticeError::KeyGadget { key_digits: fine_key.digit_count(), digits: coarse.polys().len() };
    assert_eq!(error(switcher.inner_product(&[&coarse, &coarse], &fine_key)), coarse_under_fine);
    let masks: Vec<_> = zero(&chain, 2, 1, 3).mask().to_vec();
    assert_eq!(error(switcher.switch(&masks.iter().collect::<Vec<_>>(), &fine_key)), coarse_under_fine);
    // Digits of one switcher in the hands of another.
    let foreign = LatticeError::KeyGadget { key_digits: digits_here, digits: key_digits };
    assert_eq!(error(switcher.inner_product(&[&digits, &digits], &key)), foreign);
}
