//! Raising the modulus, against big integers.

use crate::common::linear::{Kind, Setting, chain_on};
use crate::common::*;
use clathrate_arith::Modulus;
use clathrate_lattice::switch::SwitchMethod;
use clathrate_lattice::{Basis, Bundle, Eval, LatticeError, Level, Poly, Raise, Ring};
use clathrate_testkit::oracle;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

const DEGREE: usize = 64;

fn values(ring: &Ring, basis: &Basis) -> Vec<Modulus> {
    basis.indices().iter().map(|&i| ring.moduli()[i]).collect()
}

/// A bundle of rank 2 with three bodies whose polynomials are uniform over `basis`.
fn uniform(ring: &Ring, basis: &Basis, seed: u8) -> Bundle<Eval> {
    let chain = chain_on(ring.degree(), 1);
    let mut rng = rng(seed);
    let wide = secret(&chain, 5, 1, &mut rng);
    let mut mask = Bundle::encrypt_zero(&wide, ring, basis, &mut rng).expect("uniform mask").mask().to_vec();
    let bodies = mask.split_off(2);
    Bundle::new(mask, bodies).expect("bundle")
}

#[test]
fn every_coefficient_is_lifted_to_its_centred_integer_from_one_two_and_three_primes() {
    let mut by_threads = Vec::new();
    for threads in [1, 2] {
        let chain = chain_on(DEGREE, threads);
        let (ring, extended) = (chain.ring(), chain.whole_basis());
        let mut results = Vec::new();
        for from in [
            Basis::new([0]),
            Basis::new([3]),
            chain.basis(Level(0)),
            Basis::new([2, 3]),
            chain.basis(Level(1)),
        ] {
            // To levels, to the extended modulus, and to primes of which none is the small modulus'.
            let disjoint =
                Basis::new(extended.indices().iter().copied().filter(|&i| from.row_of(i).is_none()));
            for to in [chain.basis(Level(3)), chain.basis(chain.max_level()), extended.clone(), disjoint] {
                let bundle = uniform(ring, &from, 7);
                let raise = Raise::new(ring, &from, &to).expect("raise");
                assert_eq!((raise.from(), raise.to()), (&from, &to));
                let raised = bundle.raise(&raise).expect("raise");
                assert_eq!((raised.basis(), raised.rank(), raised.body_count()), (&to, 2, 3));
                for (small, large) in bundle.polys().zip(raised.polys()) {
                    assert_eq!(integers(small), integers(large), "from {from:?} to {to:?}");
                    assert_eq!(raise.raise_coeff(&small.to_coeff()).expect("raise").into_eval(), large);
                    assert_eq!(raise.raise(small).expect("raise"), large);
                }
                results.push(raised);
            }
        }
        by_threads.push(results);
    }
    assert!(by_threads[0] == by_threads[1], "one thread and two differ");
}

#[test]
fn coefficients_at_the_boundary_keep_their_residue_and_are_centred_up_to_the_stated_part() {
    let chain = chain_on(DEGREE, 1);
    let ring = chain.ring();
    for from in [Basis::new([0]), chain.basis(Level(0)), chain.basis(Level(1)), chain.basis(Level(2))] {
        let q = oracle::product(&values(ring, &from));
        let half: BigInt = &q / 2;
        // q0/2 is no integer: the largest centred integer is `half`, and `half + 1` is `-half`.
        let mut wanted: Vec<BigInt> = [-3i64, -2, -1, 0, 1, 2, 3].map(|d| &half + d).to_vec();
        wanted.extend([0i64, 1, -1, 2].map(BigInt::from));
        wanted.extend((0..40).map(|k| &half - (BigInt::from(1) << k)));
        wanted.resize(DEGREE, BigInt::from(5));
        // Horner in base 2^20 from signed polynomials: `from_signed` takes words.
        let mut x = Poly::from_signed(ring, &from, &[0; DEGREE]);
        for limb in (0..8).rev() {
            x.mul_integer_assign(1 << 20);
            let digit = |w: &BigInt| -> i64 {
                let magnitude: BigInt = (w.abs() >> (20 * limb)) & BigInt::from((1 << 20) - 1);
                magnitude.to_i64().expect("20 bits") * if w.is_negative() { -1 } else { 1 }
            };
            x.add_assign(&Poly::from_signed(ring, &from, &wanted.iter().map(digit).collect::<Vec<_>>()))
                .expect("same basis");
        }
        let large = chain.basis(chain.max_level());
        let raised = Raise::new(ring, &from, &large).expect("raise").raise_coeff(&x).expect("raise");
        let lifted = integers(&raised.into_eval());
        // A part of 2^-44 of q0 beyond its half.
        let slack: BigInt = &q >> 44;
        for (wanted, lifted) in wanted.iter().zip(lifted) {
            assert_eq!(oracle::centre(&lifted, &q), oracle::centre(wanted, &q), "the residue");
            assert!(lifted.abs() <= &half + 1 + &slack, "centred: {lifted} against {half}");
            let distance: BigInt = &half - oracle::centre(wanted, &q).abs();
            if distance > &slack + 1 {
                assert_eq!(lifted, oracle::centre(wanted, &q), "away from the boundary");
            }
        }
    }
}

#[test]
fn raised_phase_is_the_message_plus_a_small_multiple_of_the_base_modulus() {
    for (rank, bodies) in [(1, 1), (2, 1), (2, 3)] {
        let kind = Kind { method: SwitchMethod::hybrid(3), rank, bodies, threads: 1 };
        let mut setting = Setting::new(kind, DEGREE, 8);
        let chain = setting.chain.clone();
        let (ring, base, top) = (chain.ring(), chain.basis(Level(0)), setting.basis());
        let q = oracle::product(&values(ring, &base));
        let (ct, messages) = setting.encrypt(20);
        let raise = Raise::new(ring, &base, &top).expect("raise");
        let raised = ct.restrict(&base).expect("base primes").raise(&raise).expect("raise");
        // The integer I is round((b + a s) / q0), of at most (1 + k N) / 2 for a ternary secret.
        let limit = BigInt::from(rank * DEGREE / 2 + 1);
        let mut largest = BigInt::from(0);
        for (phase, message) in raised.phase(&setting.secret).expect("phase").iter().zip(&messages) {
            for (phase, message) in integers(phase).iter().zip(integers(message)) {
                let i = oracle::round_div(&(phase - &message), &q);
                assert!(i.abs() <= limit, "I = {i}");
                let error = phase - message - &q * &i;
                assert!(error.abs() <= BigInt::from(30), "a fresh error of {error}");
                largest = largest.max(i.abs());
            }
        }
        assert!(largest > BigInt::from(0), "the lift of a phase wraps");
    }
}

#[test]
fn raise_to_the_extended_modulus_joins_sums_before_their_mod_down() {
    for method in [SwitchMethod::hybrid(3), SwitchMethod::klss(3, 2)] {
        let setting = &mut Setting::new(Kind { method, rank: 2, bodies: 3, threads: 1 }, DEGREE, 9);
        let (ring, frame) = (setting.ring().clone(), setting.tables.frame().clone());
        let base = setting.chain.basis(Level(0));
        let x = setting.uniform().restrict(&base).expect("base primes");
        let raise = Raise::new(&ring, &base, frame.extended()).expect("raise");
        let extended = x.raise_extended(&raise, &frame).expect("raise");
        for (small, large) in x.polys().zip(extended.to_eval().expect("not empty").polys()) {
            assert_eq!(integers(small), integers(large));
        }
        // Its mod-down is the rounded quotient of the integers.
        let special = oracle::product(&values(&ring, frame.special()));
        for (small, down) in x.polys().zip(setting.switcher.mod_down(&extended).expect("mod-down").polys()) {
            let quotients: Vec<BigInt> =
                integers(small).iter().map(|x| oracle::round_div(x, &special)).collect();
            assert_eq!(integers(down), quotients);
        }
        let elsewhere = Raise::new(&ring, &base, frame.basis()).expect("raise");
        assert!(matches!(x.raise_extended(&elsewhere, &frame), Err(LatticeError::BasisMismatch { .. })));
    }
}

#[test]
fn raise_refuses_other_bases_and_rings() {
    let (chain, other) = (chain_on(DEGREE, 1), chain_on(2 * DEGREE, 1));
    let (ring, base, top) = (chain.ring(), chain.basis(Level(0)), chain.basis(Level(3)));
    let raise = Raise::new(ring, &base, &top).expect("raise");
    let high = uniform(ring, &top, 1);
    assert_eq!(
        high.raise(&raise).expect_err("too many primes"),
        LatticeError::BasisMismatch { left: top.len(), right: base.len() }
    );
    let foreign = uniform(other.ring(), &base, 1);
    assert_eq!(
        foreign.raise(&raise).expect_err("another ring"),
        LatticeError::RingMismatch { left: 2 * DEGREE, right: DEGREE }
    );
    assert!(matches!(Raise::new(ring, &Basis::new([]), &top), Err(LatticeError::EmptyShape { .. })));
    assert!(matches!(Raise::new(ring, &base, &Basis::new([1, 1])), Err(LatticeError::BasisMismatch { .. })));
    assert!(matches!(Raise::new(ring, &base, &Basis::new([1000])), Err(LatticeError::BasisMismatch { .. })));
}
