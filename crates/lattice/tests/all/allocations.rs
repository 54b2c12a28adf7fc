//! Bundles and samples are one allocation each, and operations on them are as many calls of the engine as
//! they say: buffers are counted by the pool that hands them out.

use std::sync::Arc;

use crate::common::{new_ring, rng};
use clathrate_arith::aligned::Pool;
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Automorphism, CpuEngine, GaloisElement, Isa};
use clathrate_lattice::bundle::expand_mask;
use clathrate_lattice::{
    Basis, Bodies, Bundle, Coeff, Degree, Eval, LatticeError, MaskSeed, Poly, Rank, Ring, SampleBatch,
};

const DEGREE: usize = 64;

/// A ring on the CPU, and the pool of its buffers.
fn counted_ring() -> (Ring, Arc<Pool>) {
    let moduli = largest_primes(40, 2 * DEGREE as u64, 3, &[]).expect("primes");
    let engine = CpuEngine::new(DEGREE, &moduli, Isa::Scalar).expect("engine");
    let pool = engine.memory().clone();
    (Ring::with_engine(Arc::new(engine)), pool)
}

/// How many buffers `work` takes, and their bytes.
fn taken<T>(pool: &Pool, work: impl FnOnce() -> T) -> (T, (usize, usize)) {
    let before = pool.taken();
    let result = work();
    let after = pool.taken();
    (result, (after.0 - before.0, after.1 - before.1))
}

fn uniform(ring: &Ring, basis: &Basis, rank: usize, bodies: usize, seed: u8) -> Bundle<Eval> {
    Bundle::from_polys(expand_mask(&MaskSeed([seed; 32]), ring, basis, rank + bodies), rank).expect("bundle")
}

#[test]
fn bundles_are_one_buffer_and_their_operations_take_one_or_none() {
    let (ring, pool) = counted_ring();
    let basis = Basis::new([0, 1, 2]);
    for (rank, bodies) in [(1, 1), (3, 1), (2, 4)] {
        let bytes = (rank + bodies) * basis.len() * DEGREE * 8;
        let (zero, buffers) =
            taken(&pool, || Bundle::<Eval>::zero(&ring, &basis, Rank(rank), Bodies(bodies)).expect("bundle"));
        assert_eq!((buffers, zero.bytes()), ((1, bytes), bytes));
        let (mut x, y) = (uniform(&ring, &basis, rank, bodies, 1), uniform(&ring, &basis, rank, bodies, 2));
        assert_eq!(taken(&pool, || x.clone()).1, (1, bytes));
        let p = y.bodies().at(0);
        let phi = Automorphism::new(GaloisElement::conjugation(DEGREE), DEGREE);
        // In place: no buffer.
        for work in [
            &mut (|x: &mut Bundle<Eval>| x.add_assign(&y))
                as &mut dyn FnMut(&mut Bundle<Eval>) -> Result<(), LatticeError>,
            &mut |x| x.sub_assign(&y),
            &mut |x| {
                x.negate_assign();
                x.mul_integer_assign(-7);
                Ok(())
            },
            &mut |x| x.add_multiple(&y, 5),
            &mut |x| x.mul_poly_assign(p),
        ] {
            let (result, buffers) = taken(&pool, || work(&mut x));
            result.expect("one shape");
            assert_eq!(buffers, (0, 0));
        }
        let mut sum = Bundle::zero(&ring, &basis, Rank(rank), Bodies(bodies)).expect("bundle");
        let (result, buffers) = taken(&pool, || sum.assign_sum(&x, &y));
        result.expect("one shape");
        assert_eq!(buffers, (0, 0));
        // Into a new bundle: one buffer for all polynomials.
        assert_eq!(taken(&pool, || x.automorphism(&phi)).1, (1, bytes));
        assert_eq!(taken(&pool, || x.sum(&y).expect("one shape")).1, (1, bytes));
        assert_eq!(taken(&pool, || x.restrict(&Basis::new([2, 0])).expect("subset")).1, (1, bytes / 3 * 2));
        assert_eq!(
            taken(&pool, || x.rank_up(rank + 2).expect("higher")).1,
            (1, bytes / (rank + bodies) * (rank + bodies + 2))
        );
        let (coeff, buffers) = taken(&pool, || x.clone().into_coeff());
        assert_eq!(buffers, (1, bytes), "the clone, transformed where it is");
        assert_eq!(taken(&pool, || coeff.into_eval()).1, (0, 0));
    }
}

#[test]
fn sums_into_given_and_new_bundles_are_those_in_place() {
    let ring = new_ring(DEGREE, &largest_primes(40, 2 * DEGREE as u64, 3, &[]).expect("primes"));
    let basis = Basis::new([2, 0]);
    let (x, y) = (uniform(&ring, &basis, 2, 2, 1), uniform(&ring, &basis, 2, 2, 2));
    let (mut sum, mut difference) = (x.clone(), x.clone());
    sum.add_assign(&y).expect("one shape");
    difference.sub_assign(&y).expect("one shape");
    assert!(x.sum(&y).expect("one shape") == sum && x.difference(&y).expect("one shape") == difference);
    let mut out = uniform(&ring, &basis, 2, 2, 3);
    out.assign_sum(&x, &y).expect("one shape");
    assert!(out == sum && out.seed().is_none());
    out.assign_difference(&x, &y).expect("one shape");
    assert!(out == difference);
    let lower = uniform(&ring, &basis, 1, 2, 1);
    for (x, y) in [(&lower, &y), (&x, &lower)] {
        assert!(matches!(x.sum(y), Err(LatticeError::RankMismatch { .. })));
        assert!(matches!(out.assign_sum(x, y), Err(LatticeError::RankMismatch { .. })));
    }
}

fn lwe_ring(primes: usize) -> Ring {
    new_ring(1, &largest_primes(40, 1 << 17, primes, &[]).expect("primes"))
}

/// A bundle of degree 1 and rank `dimension` of words that differ.
fn lwe(ring: &Ring, basis: &Basis, dimension: usize, seed: u8) -> Bundle<Coeff> {
    Bundle::<Eval>::from_polys(expand_mask(&MaskSeed([seed; 32]), ring, basis, dimension + 1), dimension)
        .expect("bundle")
        .into_coeff()
}

#[test]
fn samples_take_eight_bytes_per_prime_and_entry_in_one_buffer() {
    let moduli = largest_primes(40, 1 << 17, 2, &[]).expect("primes");
    let engine = CpuEngine::new(1, &moduli, Isa::detect().expect("isa")).expect("engine");
    let pool = engine.memory().clone();
    let ring = Ring::with_engine(Arc::new(engine));
    for primes in [1, 2] {
        let basis = Basis::new(0..primes);
        let one = SampleBatch::zero(&ring, &basis, 1, Rank(2048)).expect("samples");
        assert_eq!(one.bytes(), 8 * 2049 * primes);
        assert!(
            size_of::<SampleBatch>() <= 128,
            "a handle beside the words: {} bytes",
            size_of::<SampleBatch>()
        );
    }
    // As many as there are coefficients in a large ring, of a smaller dimension to keep the test small.
    let (many, buffers) =
        taken(&pool, || SampleBatch::zero(&ring, &Basis::new([0]), 1 << 16, Rank(63)).expect("samples"));
    let bytes = (8 * 64) << 16;
    assert_eq!((buffers, many.bytes(), many.len()), ((1, bytes), bytes, 1 << 16));
}

#[test]
fn samples_hold_bundles_of_degree_one_and_add_like_them() {
    for primes in [1, 3] {
        let ring = lwe_ring(primes);
        let basis = Basis::new((0..primes).rev());
        let bundles: Vec<Bundle<Coeff>> = (0..5).map(|i| lwe(&ring, &basis, 7, i)).collect();
        let others: Vec<Bundle<Coeff>> = (5..10).map(|i| lwe(&ring, &basis, 7, i)).collect();
        let mut samples = SampleBatch::from_bundles(&bundles).expect("samples");
        assert_eq!((samples.len(), samples.dimension(), samples.basis()), (5, 7, &basis));
        for (i, bundle) in bundles.iter().enumerate() {
            assert!(
                samples.bundle(i).expect("there") == *bundle
                    && samples.sample(i).expect("there") == bundle.view()
            );
        }
        let added = SampleBatch::from_bundles(&others).expect("samples");
        samples.add_assign(&added).expect("one shape");
        samples.negate_assign();
        samples.sub_assign(&added).expect("one shape");
        for ((i, bundle), other) in bundles.iter().enumerate().zip(&others) {
            let mut expected = bundle.clone();
            expected.add_assign(other).expect("one shape");
            expected.negate_assign();
            expected.sub_assign(other).expect("one shape");
            assert!(samples.bundle(i).expect("there") == expected, "sample {i}");
        }
        samples.set(3, &others[0]).expect("one shape");
        assert!(
            samples.bundle(3).expect("there") == others[0] && samples.bundle(2).expect("there") != others[0]
        );
        let alone = SampleBatch::from_bundle(bundles[0].clone()).expect("one body");
        assert!(alone.bundle(0).expect("there") == bundles[0]);
    }
}

#[test]
fn samples_of_other_shapes_are_refused() {
    let ring = lwe_ring(2);
    let basis = Basis::new([0, 1]);
    let mut samples = SampleBatch::zero(&ring, &basis, 3, Rank(4)).expect("samples");
    let large = new_ring(DEGREE, &largest_primes(40, 2 * DEGREE as u64, 3, &[]).expect("primes"));
    let degree = LatticeError::RingMismatch { left: DEGREE, right: 1 };
    assert_eq!(SampleBatch::zero(&large, &basis, 3, Rank(4)).expect_err("degree"), degree);
    let wide = uniform(&large, &basis, 2, 1, 1).into_coeff();
    assert_eq!(SampleBatch::from_bundle(wide.clone()).expect_err("degree"), degree);
    assert_eq!(SampleBatch::from_bundles([&wide]).expect_err("degree"), degree);
    for (count, dimension, what) in [(0, 4, "the number of samples"), (3, 0, "the dimension")] {
        let empty = SampleBatch::zero(&ring, &basis, count, Rank(dimension)).expect_err("empty");
        assert_eq!(empty, LatticeError::EmptyShape { what, got: 0 });
    }
    assert!(matches!(
        SampleBatch::zero(&ring, &basis, usize::MAX / 2, Rank(4)),
        Err(LatticeError::SecretTooLarge { .. })
    ));
    assert!(matches!(
        SampleBatch::zero(&ring, &Basis::new([0, 2]), 3, Rank(4)),
        Err(LatticeError::BasisMismatch { .. })
    ));
    assert_eq!(samples.bundle(3).expect_err("three"), LatticeError::BodyOutOfRange { body: 3, bodies: 3 });
    assert_eq!(samples.sample(3).expect_err("three"), LatticeError::BodyOutOfRange { body: 3, bodies: 3 });
    let rank = LatticeError::RankMismatch { left: 4, right: 5 };
    assert_eq!(samples.set(0, &lwe(&ring, &basis, 5, 1)).expect_err("dimension"), rank);
    assert_eq!(
        samples
            .add_assign(&SampleBatch::zero(&ring, &basis, 3, Rank(5)).expect("samples"))
            .expect_err("dimension"),
        rank
    );
    let two = Bundle::<Coeff>::zero(&ring, &basis, Rank(4), Bodies(2)).expect("bundle");
    assert_eq!(samples.set(0, &two).expect_err("bodies"), LatticeError::BodiesMismatch { left: 1, right: 2 });
    assert_eq!(
        SampleBatch::from_bundle(two).expect_err("bodies"),
        LatticeError::BodiesMismatch { left: 1, right: 2 }
    );
    assert!(matches!(
        samples.set(0, &lwe(&ring, &Basis::new([0]), 4, 1)),
        Err(LatticeError::BasisMismatch { .. })
    ));
    let fewer = SampleBatch::zero(&ring, &basis, 2, Rank(4)).expect("samples");
    assert_eq!(
        samples.sub_assign(&fewer).expect_err("count"),
        LatticeError::BodiesMismatch { left: 3 * 5, right: 2 * 5 }
    );
}

#[test]
fn phases_over_some_primes_are_those_of_the_restricted_bundle() {
    let ring = new_ring(DEGREE, &largest_primes(40, 2 * DEGREE as u64, 4, &[]).expect("primes"));
    let rng = &mut rng(5);
    for (rank, bodies) in [(1, 1), (3, 2)] {
        let s = clathrate_lattice::SecretKey::generate(
            Degree(DEGREE),
            Rank(rank),
            Bodies(bodies),
            clathrate_lattice::SecretDistribution::UniformTernary,
            rng,
        )
        .expect("secret");
        let x = Bundle::encrypt_zero(&s, &ring, &Basis::new([0, 1, 2, 3]), rng).expect("zero");
        for basis in [Basis::new([0]), Basis::new([3, 1]), Basis::new([0, 1, 2, 3])] {
            let restricted: Vec<Poly<Eval>> = x.restrict(&basis).expect("subset").phase(&s).expect("fits");
            assert!(x.phase_over(&s.to_eval(x.ring(), &basis).expect("fits")).expect("fits") == restricted);
        }
        // A prime of the ring that the bundle does not have.
        let few = x.restrict(&Basis::new([0, 1, 2])).expect("subset");
        let alien = s.to_eval(&ring, &Basis::new([0, 3])).expect("fits");
        assert_eq!(
            few.phase_over(&alien).expect_err("no such prime"),
            LatticeError::BasisMismatch { left: 2, right: 3 }
        );
    }
}
