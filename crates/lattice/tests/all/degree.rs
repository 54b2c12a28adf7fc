//! Moves of the degree: both forms bit for bit at every instruction set, the maps' algebra, the paper's
//! theorems from their definitions, phases.
//!
//! All comparisons are exact.

use std::borrow::Cow;

use crate::common::rng;
use clathrate_arith::primes::{largest_primes, primitive_root};
use clathrate_arith::{CpuEngine, Isa, Modulus};
use clathrate_lattice::bundle::expand_mask;
use clathrate_lattice::{
    Basis, Bodies, Bundle, Coeff, Degree, Eval, LatticeError, Poly, PolyRef, Rank, Ring, SecretDistribution,
    SecretKey, SecretRng,
};

/// Primes on both sides of every kernel's largest width, for every degree up to 2^13.
fn primes() -> Vec<u64> {
    [(30, 1), (45, 1), (50, 1), (51, 1), (60, 1)]
        .into_iter()
        .flat_map(|(bits, count)| largest_primes(bits, 1 << 14, count, &[]).expect("primes"))
        .collect()
}

fn ring_on(isa: Isa, degree: usize) -> Ring {
    crate::common::ring_over(CpuEngine::new(degree, &primes(), isa).expect("engine"))
}

fn ring(degree: usize) -> Ring {
    crate::common::new_ring(degree, &primes())
}

/// Some primes, out of order.
fn basis() -> Basis {
    Basis::new([3, 0, 2, 4])
}

fn uniform(ring: &Ring, rng: &mut SecretRng) -> Poly<Eval> {
    expand_mask(&rng.mask_seed(), ring, &basis(), 1).at(0).to_owned()
}

fn uniform_bundle(ring: &Ring, rank: usize, bodies: usize, rng: &mut SecretRng) -> Bundle<Eval> {
    let bodies: Vec<Poly<Eval>> = (0..bodies).map(|_| uniform(ring, rng)).collect();
    Bundle::from_seed(rng.mask_seed(), rank, bodies).expect("bundle")
}

fn secret(degree: usize, rank: usize, bodies: usize, rng: &mut SecretRng) -> SecretKey {
    SecretKey::generate(Degree(degree), Rank(rank), Bodies(bodies), SecretDistribution::UniformTernary, rng)
        .expect("secret")
}

fn times<'a, 'b>(x: impl Into<PolyRef<'a, Eval>>, y: impl Into<PolyRef<'b, Eval>>) -> Poly<Eval> {
    let mut product = x.into().to_owned();
    product.mul_assign(y).expect("one basis");
    product
}

fn plus(x: &Poly<Eval>, y: &Poly<Eval>) -> Poly<Eval> {
    let mut sum = x.clone();
    sum.add_assign(y).expect("one basis");
    sum
}

fn power_of_x(ring: &Ring, power: usize) -> Poly<Eval> {
    let mut values = vec![0; ring.degree()];
    values[power % ring.degree()] = if power % (2 * ring.degree()) < ring.degree() { 1 } else { -1 };
    Poly::from_signed(ring, &basis(), &values).into_eval()
}

fn reverse(i: usize, count: usize) -> usize {
    (0..count.trailing_zeros()).fold(0, |out, bit| out << 1 | (i >> bit & 1))
}

/// Large degrees and gaps that the tests visit.
fn degrees_and_gaps() -> impl Iterator<Item = (usize, usize)> {
    (0..=13u32)
        .flat_map(|log| [1usize, 2, 4, 8, 16].into_iter().map(move |gap| (1usize << log, gap)))
        .filter(|(degree, gap)| gap <= degree)
}

#[test]
fn values_and_coefficients_move_to_the_same_polynomials_at_every_degree_gap_and_instruction_set()
-> Result<(), LatticeError> {
    for isa in Isa::available() {
        for (degree, gap) in degrees_and_gaps() {
            let (large, small) = (ring_on(isa, degree), ring_on(isa, degree / gap));
            let mut rng = rng(1);
            let name = format!("{isa:?}, degree {degree}, gap {gap}");
            let x = uniform(&large, &mut rng);
            let coeff = x.to_coeff();
            assert!(x.epsilon(&small)? == coeff.epsilon(&small)?.into_eval(), "epsilon, {name}");
            assert!(x.split_components(&small)? == coeff.split_components(&small)?.into_eval(), "pi, {name}");
            assert!(x.split_mask(&small)? == coeff.split_mask(&small)?.into_eval(), "mask, {name}");
            let parts: Vec<Poly<Eval>> = (0..gap).map(|_| uniform(&small, &mut rng)).collect();
            let coefficients: Vec<Poly<Coeff>> = parts.iter().map(Poly::to_coeff).collect();
            assert!(parts[0].iota(&large)? == coefficients[0].iota(&large)?.into_eval(), "iota, {name}");
            let both = (
                Poly::combine_components(&large, &parts)?,
                Poly::combine_components(&large, &coefficients)?.into_eval(),
            );
            assert!(both.0 == both.1, "inverse of pi, {name}");
            let both =
                (Poly::combine_mask(&large, &parts)?, Poly::combine_mask(&large, &coefficients)?.into_eval());
            assert!(both.0 == both.1, "mask combined, {name}");
            for component in [0, gap / 2, gap - 1] {
                let (eval, coeff) =
                    (x.split_component(&small, component)?, coeff.split_component(&small, component)?);
                assert!(eval == coeff.into_eval(), "component {component}, {name}");
                assert!(eval == x.split_components(&small)?.at(component), "component {component}, {name}");
            }
        }
    }
    Ok(())
}

#[test]
fn bundles_of_every_rank_and_number_of_bodies_move_alike_in_both_forms_and_back() -> Result<(), LatticeError>
{
    for isa in Isa::available() {
        for (degree, gap) in
            degrees_and_gaps().filter(|(degree, _)| [1, 2, 16, 128, 512, 1 << 13].contains(degree))
        {
            let (large, small) = (ring_on(isa, degree), ring_on(isa, degree / gap));
            for (rank, bodies) in [(1, 1), (2, 1), (3, 2), (1, 3)] {
                let mut rng = rng(2);
                let name = format!("{isa:?}, degree {degree}, gap {gap}, rank {rank}, {bodies} bodies");
                let x = uniform_bundle(&large, rank, bodies, &mut rng);
                let coeff = x.clone().into_coeff();
                let extracted = x.extract(&small)?;
                assert_eq!((extracted.rank(), extracted.body_count()), (rank * gap, bodies));
                assert!(extracted == coeff.extract(&small)?.into_eval(), "extracted, {name}");
                for component in [0, gap / 2, gap - 1] {
                    let part = x.extract_component(&small, component)?;
                    assert!(
                        part == coeff.extract_component(&small, component)?.into_eval(),
                        "component {component}, {name}"
                    );
                }
                // Rank 6 to gap 2 is among these.
                let y = uniform_bundle(&small, rank * gap, bodies, &mut rng);
                let embedded = y.embed(&large)?;
                assert_eq!(
                    (embedded.rank(), embedded.body_count(), embedded.ring().degree()),
                    (rank, bodies, degree)
                );
                assert!(embedded == y.clone().into_coeff().embed(&large)?.into_eval(), "embedded, {name}");
                assert!(embedded.extract(&small)? == y, "extract undoes embed, {name}");
                assert!(extracted.embed(&large)?.mask() == x.mask(), "embed undoes extract on masks, {name}");
            }
        }
    }
    Ok(())
}

#[test]
fn equal_degrees_move_by_the_identity() -> Result<(), LatticeError> {
    let ring = ring(64);
    let mut rng = rng(3);
    let x = uniform_bundle(&ring, 3, 2, &mut rng);
    assert!(x.embed(&ring)? == x && x.extract(&ring)? == x && x.extract_component(&ring, 0)? == x);
    assert_eq!(x.embed(&ring)?.seed(), x.seed(), "the mask is still its seed's");
    let p = x.bodies().at(0);
    assert!(
        p.iota(&ring)? == p
            && p.epsilon(&ring)? == p
            && p.split_components(&ring)?.to_vec() == [p.to_owned()]
            && p.split_mask(&ring)?.to_vec() == [p.to_owned()]
    );
    let s = secret(64, 3, 2, &mut rng);
    assert_eq!(s.split_degree(64)?.all_coefficients(), s.all_coefficients());
    assert_eq!(s.combine_degree(64)?.all_coefficients(), s.all_coefficients());
    Ok(())
}

#[test]
fn maps_are_the_ring_maps_that_they_are_called() -> Result<(), LatticeError> {
    for (degree, gap) in degrees_and_gaps().filter(|(degree, _)| *degree <= 256 || *degree == 1 << 12) {
        let (large, small) = (ring(degree), ring(degree / gap));
        let mut rng = rng(4);
        let (x, y) = (uniform(&large, &mut rng), uniform(&large, &mut rng));
        let (b, c) = (uniform(&small, &mut rng), uniform(&small, &mut rng));
        // iota: a ring map, with 1 to 1 and Y to X^gap.
        assert!(times(&b, &c).iota(&large)? == times(&b.iota(&large)?, &c.iota(&large)?));
        assert!(plus(&b, &c).iota(&large)? == plus(&b.iota(&large)?, &c.iota(&large)?));
        assert!(power_of_x(&small, 1).iota(&large)? == power_of_x(&large, gap));
        assert!(power_of_x(&small, 0).iota(&large)? == power_of_x(&large, 0));
        // epsilon: its inverse on the subring, linear over it; the other powers vanish.
        assert!(b.iota(&large)?.epsilon(&small)? == b);
        assert!(times(&b.iota(&large)?, &x).epsilon(&small)? == times(&b, &x.epsilon(&small)?));
        assert!(plus(&x, &y).epsilon(&small)? == plus(&x.epsilon(&small)?, &y.epsilon(&small)?));
        for power in 1..gap {
            let vanishes = times(&b.iota(&large)?, &power_of_x(&large, power)).epsilon(&small)?;
            assert!(vanishes == Poly::zero(&small, &basis()));
        }
        // pi: coordinates over the subring for powers of X, positive or negative.
        let (px, mx) = (x.split_components(&small)?, x.split_mask(&small)?);
        assert!(Poly::combine_components(&large, &px)? == x && Poly::combine_mask(&large, &mx)? == x);
        for (parts, sign) in [(&px, 1), (&mx, 2 * degree - 1)] {
            let terms = parts.iter().enumerate().map(|(p, part)| {
                let power = sign * reverse(p, gap) % (2 * degree);
                Ok(times(&part.iota(&large)?, &power_of_x(&large, power)))
            });
            let sum = terms
                .reduce(|sum: Result<Poly<Eval>, LatticeError>, term| Ok(plus(&sum?, &term?)))
                .expect("a component")?;
            assert!(sum == x, "degree {degree}, gap {gap}");
        }
        // The product, component by component: powers i and k meet in i + k, or in i + k - gap with Y.
        let py = y.split_components(&small)?;
        let mut product = vec![Poly::zero(&small, &basis()); gap];
        let place = |power: usize| reverse(power, gap);
        for i in 0..gap {
            for k in 0..gap {
                let mut term = times(px.at(place(i)), py.at(place(k)));
                if i + k >= gap {
                    term = times(&term, &power_of_x(&small, 1));
                }
                product[place((i + k) % gap)].add_assign(&term)?;
            }
        }
        assert!(times(&x, &y).split_components(&small)?.to_vec() == product, "degree {degree}, gap {gap}");
        // And what masks are split for: the component 0 of a product.
        let mut sum = Poly::zero(&small, &basis());
        for (a, s) in mx.iter().zip(&py) {
            sum.add_assign(&times(a, s))?;
        }
        assert!(sum == times(&x, &y).epsilon(&small)?, "degree {degree}, gap {gap}");
    }
    Ok(())
}

/// `x(psi_2n^(2 k + 1))` for all `k` in their natural order, by the definition.
fn natural_transform(modulus: &Modulus, x: &[u64]) -> Vec<u64> {
    let psi = primitive_root(modulus, 2 * x.len()).expect("fits");
    let value = |point: u64| x.iter().rev().fold(0, |sum, &c| modulus.add(modulus.mul(sum, point), c));
    (0..x.len() as u64).map(|k| value(modulus.pow(psi, 2 * k + 1))).collect()
}

/// An Eval row in the paper's order: its `K`-th value is in our slot `brv(K)`.
fn natural(row: &[u64]) -> Vec<u64> {
    (0..row.len()).map(|k| row[reverse(k, row.len())]).collect()
}

/// `psi^e` for any integer `e`, `psi` of order `order`.
fn power(modulus: &Modulus, psi: u64, e: i64, order: usize) -> u64 {
    modulus.pow(psi, e.rem_euclid(order as i64) as u64)
}

#[test]
fn pi_and_its_inverse_have_the_values_of_the_papers_theorems() -> Result<(), LatticeError> {
    for (degree, r) in [
        (2usize, 2usize),
        (4, 2),
        (8, 4),
        (16, 2),
        (16, 16),
        (32, 8),
        (64, 4),
        (256, 2),
        (256, 4),
        (256, 8),
        (512, 16),
    ] {
        let n = degree / r;
        let (large, small) = (ring(degree), ring(n));
        let mut rng = rng(5);
        // The paper's components in their natural order: a_v is at our place brv_r(v).
        let places: Vec<Poly<Coeff>> = (0..r).map(|_| uniform(&small, &mut rng).into_coeff()).collect();
        let combined = Poly::combine_components(
            &large,
            &places.iter().map(|p| p.clone().into_eval()).collect::<Vec<_>>(),
        )?;
        let split = combined.split_components(&small)?;
        for (row, &index) in basis().indices().iter().enumerate() {
            let q = &large.moduli()[index];
            let psi = primitive_root(q, 2 * degree).expect("fits");
            let psi_2r = q.pow(psi, n as u64);
            let a: Vec<Cow<'_, [u64]>> = (0..r).map(|v| places[reverse(v, r)].download_row(row)).collect();
            // a'(X) = pi^-1(a): coefficient ri + j is coefficient i of a_j.
            let whole: Vec<u64> = (0..degree).map(|i| a[i % r][i / r]).collect();
            let whole_values = natural_transform(q, &whole);
            let values: Vec<Vec<u64>> = a.iter().map(|a| natural_transform(q, a)).collect();
            assert_eq!(
                natural(&combined.download_row(row)),
                whole_values,
                "by the definition, degree {degree}, r {r}"
            );
            // Theorem 4.1.
            let e = |v: usize, k: usize| v as i64 * (2 * k as i64 - n as i64 + 1);
            for alpha in 0..r {
                for beta in 0..n {
                    let sum = (0..r).fold(0, |sum, v| {
                        let twisted = q.mul(values[v][beta], power(q, psi, e(v, beta), 2 * degree));
                        q.add(sum, q.mul(twisted, power(q, psi_2r, (v * (2 * alpha + 1)) as i64, 2 * r)))
                    });
                    assert_eq!(whole_values[alpha * n + beta], sum, "Theorem 4.1, degree {degree}, r {r}");
                }
            }
            // Theorem 4.2.
            let scale = q.inverse(r as u64).expect("odd modulus");
            for j in 0..r {
                let ours = natural(&split.at(reverse(j, r)).download_row(row));
                for k in 0..n {
                    let sum = (0..r).fold(0, |sum, v| {
                        let factor = power(q, psi_2r, -((j * (2 * v + 1)) as i64), 2 * r);
                        q.add(sum, q.mul(whole_values[v * n + k], factor))
                    });
                    let value = q.mul(q.mul(sum, scale), power(q, psi, -e(j, k), 2 * degree));
                    assert_eq!(ours[k], value, "Theorem 4.2, degree {degree}, r {r}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn moves_nest_and_commute_with_halving_the_rank() -> Result<(), LatticeError> {
    let mut rng = rng(6);
    let rings: Vec<Ring> = [256, 128, 64, 32].into_iter().map(ring).collect();
    let s = secret(256, 3, 2, &mut rng);
    let x = uniform_bundle(&rings[0], 3, 2, &mut rng);
    let p = x.bodies().at(0);
    for (middle, last) in [(1, 2), (1, 3), (2, 3)] {
        let (middle, last) = (&rings[middle], &rings[last]);
        assert_eq!(
            s.split_degree(middle.degree())?.split_degree(last.degree())?.all_coefficients(),
            s.split_degree(last.degree())?.all_coefficients()
        );
        let split = s.split_degree(last.degree())?;
        assert_eq!(
            split.combine_degree(middle.degree())?.combine_degree(256)?.all_coefficients(),
            s.all_coefficients()
        );
        assert!(x.extract(middle)?.extract(last)? == x.extract(last)?);
        assert!(x.extract(last)?.embed(middle)?.embed(&rings[0])? == x.extract(last)?.embed(&rings[0])?);
        assert!(p.epsilon(middle)?.epsilon(last)? == p.epsilon(last)?);
        assert!(p.epsilon(last)?.iota(middle)?.iota(&rings[0])? == p.epsilon(last)?.iota(&rings[0])?);
        let gaps = (256 / middle.degree(), middle.degree() / last.degree());
        for component in 0..gaps.0 * gaps.1 {
            let (first, second) = (component / gaps.1, component % gaps.1);
            assert!(
                x.extract_component(middle, first)?.extract_component(last, second)?
                    == x.extract_component(last, component)?
            );
            assert!(
                p.split_component(middle, first)?.split_component(last, second)?
                    == p.split_component(last, component)?
            );
        }
    }
    // Half of the rank, at any degree: the first half of what a larger degree is split into, and what it is
    // combined from.
    for (rank, kept) in [(2, 1), (4, 2), (4, 1), (8, 2)] {
        let s = secret(64, rank, 2, &mut rng);
        let truncated = s.truncate_rank(kept)?;
        for degree in [64, 32, 16, 1] {
            let gap = 64 / degree;
            let (split, part) = (s.split_degree(degree)?, truncated.split_degree(degree)?);
            assert_eq!(
                split.truncate_rank(kept * gap)?.all_coefficients(),
                part.all_coefficients(),
                "{rank} to {kept} at degree {degree}"
            );
        }
        for gap in [2usize, 4].into_iter().filter(|gap| kept % gap == 0) {
            let (combined, part) = (s.combine_degree(64 * gap)?, truncated.combine_degree(64 * gap)?);
            assert_eq!(
                combined.truncate_rank(kept / gap)?.all_coefficients(),
                part.all_coefficients(),
                "{rank} to {kept}, gap {gap}"
            );
        }
    }
    // The root's secret of rank 1: halved after a split by 4, it is the split by 2 of the even powers.
    let s = secret(64, 1, 1, &mut rng);
    let by_four = s.split_degree(16)?.truncate_rank(2)?;
    assert_eq!(
        by_four.all_coefficients(),
        s.split_degree(32)?.truncate_rank(1)?.split_degree(16)?.all_coefficients()
    );
    Ok(())
}

#[test]
fn phases_move_with_their_bundles_at_every_instruction_set() -> Result<(), LatticeError> {
    for isa in Isa::available() {
        for (degree, gap) in
            degrees_and_gaps().filter(|(degree, _)| [1, 4, 64, 256, 1 << 13].contains(degree))
        {
            let (large, small) = (ring_on(isa, degree), ring_on(isa, degree / gap));
            for (rank, bodies) in [(1, 1), (3, 2)] {
                let mut rng = rng(7);
                let name = format!("{isa:?}, degree {degree}, gap {gap}, rank {rank}, {bodies} bodies");
                let s = secret(degree, rank, bodies, &mut rng);
                let split = s.split_degree(degree / gap)?;
                let x = uniform_bundle(&large, rank, bodies, &mut rng);
                let phases = x.phase(&s)?;
                for component in [0, gap / 2, gap - 1] {
                    let moved = x.extract_component(&small, component)?.phase(&split)?;
                    for (phase, moved) in phases.iter().zip(&moved) {
                        assert!(
                            phase.split_component(&small, component)? == *moved,
                            "component {component}, {name}"
                        );
                    }
                }
                let y = uniform_bundle(&small, rank * gap, bodies, &mut rng);
                let embedded = y.embed(&large)?.phase(&s)?;
                for (phase, embedded) in y.phase(&split)?.iter().zip(&embedded) {
                    assert!(embedded.epsilon(&small)? == *phase, "embedded, {name}");
                }
            }
        }
    }
    Ok(())
}
