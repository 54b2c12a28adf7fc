//! Bundles of every degree, rank and number of bodies against integer arithmetic, and the four linear moves.
//!
//! Everything but the bounds of fresh errors is exact: the oracle multiplies integer polynomials by the
//! definition. The bounds are the samplers' hard ones (`|e| <= ERROR_BOUND`), so no test here has a
//! false-alarm rate.

use crate::common::{Shape, chain, integers, moduli, rng};
use clathrate_arith::primes::largest_primes;
use clathrate_arith::product::LeftMatrix;
use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::bundle::expand_mask;
use clathrate_lattice::modulus::Division;
use clathrate_lattice::sampling::ERROR_BOUND;
use clathrate_lattice::{
    Basis, Bodies, Bundle, Chain, Coeff, Degree, Eval, LatticeError, Level, Poly, PolyRef, Polys, PublicKey,
    Rank, Ring, SecretDistribution, SecretKey, SecretRng,
};
use clathrate_testkit::oracle;
use num_bigint::BigInt;
use num_traits::Zero;

/// Primes of three widths that serve every degree up to 64.
fn primes() -> Vec<u64> {
    [(30, 2), (45, 2), (60, 1)]
        .into_iter()
        .flat_map(|(bits, count)| largest_primes(bits, 128, count, &[]).expect("primes"))
        .collect()
}

fn ring(degree: usize) -> Ring {
    crate::common::new_ring(degree, &primes())
}

fn all(ring: &Ring) -> Basis {
    Basis::new(0..ring.moduli().len())
}

fn secret(degree: usize, rank: usize, bodies: usize, rng: &mut SecretRng) -> SecretKey {
    SecretKey::generate(Degree(degree), Rank(rank), Bodies(bodies), SecretDistribution::UniformTernary, rng)
        .expect("secret")
}

/// A uniform polynomial: nothing that a test does may depend on smallness.
fn uniform(ring: &Ring, basis: &Basis, rng: &mut SecretRng) -> Poly<Eval> {
    expand_mask(&rng.mask_seed(), ring, basis, 1).at(0).to_owned()
}

/// A bundle of uniform mask and bodies.
fn uniform_bundle(
    ring: &Ring,
    basis: &Basis,
    rank: usize,
    bodies: usize,
    rng: &mut SecretRng,
) -> Bundle<Eval> {
    let bodies: Vec<Poly<Eval>> = (0..bodies).map(|_| uniform(ring, basis, rng)).collect();
    Bundle::from_seed(rng.mask_seed(), rank, bodies).expect("bundle")
}

fn modulus<'a>(poly: impl Into<PolyRef<'a, Eval>>) -> BigInt {
    oracle::product(&moduli(poly))
}

fn centred(values: Vec<BigInt>, q: &BigInt) -> Vec<BigInt> {
    values.iter().map(|x| oracle::centre(x, q)).collect()
}

/// `b_i + <a, s_i>` in integers, centred: nothing of the library but the residues.
fn phase(bundle: &Bundle<Eval>, secret: &SecretKey, body: usize) -> Vec<BigInt> {
    let mut sum = integers(bundle.bodies().at(body));
    for (i, a) in bundle.mask().iter().enumerate() {
        let s: Vec<BigInt> = secret.coefficients(body, i).iter().map(|&c| BigInt::from(c)).collect();
        for (total, term) in sum.iter_mut().zip(oracle::negacyclic_product(&integers(a), &s)) {
            *total += term;
        }
    }
    centred(sum, &modulus(bundle.bodies().at(body)))
}

fn assert_phases(bundle: &Bundle<Eval>, secret: &SecretKey, expected: impl Fn(usize) -> Vec<BigInt>) {
    let library = bundle.phase(secret).expect("fits");
    assert_eq!(library.len(), bundle.body_count());
    for body in 0..bundle.body_count() {
        let by_definition = phase(bundle, secret, body);
        assert_eq!(integers(&library[body]), by_definition, "phase is b + <a, s>");
        assert_eq!(by_definition, centred(expected(body), &modulus(&library[body])), "body {body}");
    }
}

/// A seed that is there tells the truth.
fn assert_seed_is_true(bundle: &Bundle<Eval>) {
    if let Some(seed) = bundle.seed() {
        assert_eq!(expand_mask(&seed, bundle.ring(), bundle.basis(), bundle.rank()), bundle.mask());
    }
}

/// Every degree, rank and number of bodies that the tests visit.
fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    let grid =
        [1usize, 2, 8].into_iter().flat_map(|n| (1..=5).flat_map(move |k| (1..=4).map(move |m| (n, k, m))));
    grid.chain([(1, 16, 1), (64, 1, 1), (64, 3, 2)])
}

#[test]
fn secret_encryption_of_zero_has_the_mask_of_its_seed_and_small_errors() {
    for (n, k, m) in shapes() {
        let mut rng = rng(1);
        let (ring, s) = (ring(n), secret(n, k, m, &mut rng));
        let basis = all(&ring);
        let ct = Bundle::encrypt_zero(&s, &ring, &basis, &mut rng).expect("zero");
        assert_eq!((ct.rank(), ct.body_count(), ct.basis(), ct.ring().degree()), (k, m, &basis, n));
        let seed = ct.seed().expect("seeded");
        assert_seed_is_true(&ct);
        let again = Bundle::from_seed(seed, k, ct.bodies().to_vec()).expect("bundle");
        assert!(again == ct && again.seed() == Some(seed), "re-expansion is the bundle");
        let mut phases = Vec::new();
        assert_phases(&ct, &s, |body| phase(&ct, &s, body));
        for body in 0..m {
            let errors = phase(&ct, &s, body);
            assert!(
                errors.iter().all(|e| e.magnitude() <= BigInt::from(ERROR_BOUND).magnitude()),
                "{n} {k} {m}: {errors:?}"
            );
            phases.push(errors);
        }
        if n >= 8 {
            // 8 equal Gaussian coefficients by chance: below 2^-25.
            assert!((1..m).all(|body| phases[body] != phases[0]), "bodies have errors of their own");
        }
        // Every part of the rows is the expansion over that part, in any order.
        for part in [Basis::new([0]), Basis::new([1, 3]), Basis::new([4, 0, 2])] {
            let less = ct.restrict(&part).expect("subset");
            assert_eq!(less.seed(), Some(seed));
            assert_seed_is_true(&less);
            let q = modulus(less.bodies().at(0));
            assert_phases(&less, &s, |body| centred(phase(&ct, &s, body), &q));
        }
    }
}

#[test]
fn masks_of_other_seeds_polynomials_and_moduli_differ() {
    let ring = ring(64);
    let basis = all(&ring);
    let mut rng = rng(2);
    let (x, y) =
        (expand_mask(&rng.mask_seed(), &ring, &basis, 3), expand_mask(&rng.mask_seed(), &ring, &basis, 3));
    assert!(
        x.iter().chain(y.iter()).enumerate().all(|(i, p)| x
            .iter()
            .chain(y.iter())
            .skip(i + 1)
            .all(|other| p != other))
    );
    assert_ne!(x.at(0).download_row(0), x.at(0).download_row(1));
}

#[test]
fn every_change_of_the_mask_clears_the_seed() {
    let ring = ring(8);
    let basis = all(&ring);
    let mut rng = rng(3);
    let ct = uniform_bundle(&ring, &basis, 2, 2, &mut rng);
    let p = uniform(&ring, &basis, &mut rng);
    assert!(ct.seed().is_some());
    type Change<'a> = (&'a str, Box<dyn Fn(&mut Bundle<Eval>) + 'a>);
    let changes: Vec<Change> = vec![
        ("add", Box::new(|x| x.add_assign(&ct).expect("same shape"))),
        ("sub", Box::new(|x| x.sub_assign(&ct).expect("same shape"))),
        ("negate", Box::new(Bundle::negate_assign)),
        ("integer", Box::new(|x| x.mul_integer_assign(3))),
        ("plaintext", Box::new(|x| x.mul_poly_assign(&p).expect("same basis"))),
        ("polys_mut", Box::new(|x| x.polys_mut().for_each(|mut poly| poly.negate_assign()))),
        ("try_map", Box::new(|x| *x = x.try_map(|poly| Ok(poly.to_owned())).expect("clones"))),
        ("coeff", Box::new(|x| *x = x.clone().into_coeff().into_eval())),
        (
            "automorphism",
            Box::new(|x| *x = x.automorphism(&Automorphism::new(GaloisElement::rotation(1, 8), 8))),
        ),
        ("rank up", Box::new(|x| *x = x.rank_up(3).expect("up"))),
        ("new", Box::new(|x| *x = Bundle::new(x.mask().to_vec(), x.bodies().to_vec()).expect("bundle"))),
        (
            "divide",
            Box::new(|x| {
                *x = x
                    .divide(&Division::new(&ring, &Basis::new([4]), &Basis::new(0..4)).expect("division"))
                    .expect("divided")
            }),
        ),
    ];
    for (what, change) in changes {
        let mut changed = ct.clone();
        change(&mut changed);
        assert_eq!(changed.seed(), None, "{what}");
    }
    // The bodies are not the mask.
    let mut messages = ct.clone();
    messages.add_message(1, &p).expect("body");
    messages.bodies_mut().at(0).negate_assign();
    assert_eq!(messages.seed(), ct.seed());
    assert_seed_is_true(&messages);
    let (mask, bodies) = messages.clone().into_parts();
    assert!(mask == messages.mask().to_vec() && bodies == messages.bodies().to_vec());
}

#[test]
fn linear_operations_act_on_the_phases_as_on_integers() {
    for (n, k, m) in shapes() {
        let mut rng = rng(4);
        let (ring, s) = (ring(n), secret(n, k, m, &mut rng));
        let basis = all(&ring);
        let (x, y) =
            (uniform_bundle(&ring, &basis, k, m, &mut rng), uniform_bundle(&ring, &basis, k, m, &mut rng));
        let phases = |bundle: &Bundle<Eval>| -> Vec<Vec<BigInt>> {
            (0..m).map(|body| phase(bundle, &s, body)).collect()
        };
        let (px, py) = (phases(&x), phases(&y));
        let of = |work: &dyn Fn(&mut Bundle<Eval>)| {
            let mut out = x.clone();
            work(&mut out);
            out
        };
        let each = |body: usize, f: &dyn Fn(&BigInt, &BigInt) -> BigInt| -> Vec<BigInt> {
            px[body].iter().zip(&py[body]).map(|(x, y)| f(x, y)).collect()
        };
        assert_phases(&of(&|z| z.add_assign(&y).expect("shape")), &s, |b| each(b, &|x, y| x + y));
        assert_phases(&of(&|z| z.sub_assign(&y).expect("shape")), &s, |b| each(b, &|x, y| x - y));
        assert_phases(&of(&Bundle::negate_assign), &s, |b| each(b, &|x, _| -x));
        for c in [0, 1, -1, 7, -(1i128 << 90) + 5, i128::MIN, i128::MAX] {
            assert_phases(&of(&|z| z.mul_integer_assign(c)), &s, |b| each(b, &|x, _| x * c));
        }
        let p = uniform(&ring, &basis, &mut rng);
        let pi = integers(&p);
        assert_phases(&of(&|z| z.mul_poly_assign(&p).expect("basis")), &s, |b| {
            oracle::negacyclic_product(&px[b], &pi)
        });
        for body in 0..m {
            let message = of(&|z| z.add_message(body, &p).expect("body"));
            let expected = |b: usize| {
                if b == body { px[b].iter().zip(&pi).map(|(x, p)| x + p).collect() } else { px[b].clone() }
            };
            assert_phases(&message, &s, expected);
        }
        // Coeff form adds alike.
        let mut coeff = x.clone().into_coeff();
        coeff.add_assign(&y.clone().into_coeff()).expect("shape");
        assert_phases(&coeff.into_eval(), &s, |b| each(b, &|x, y| x + y));
    }
}

#[test]
fn integer_combinations_of_bundles_are_those_of_their_polynomials_and_stop_where_asked() {
    const WEIGHTS: [[i64; 3]; 2] = [[1, -2, 3], [0, 5, -(1 << 40)]];
    let left = LeftMatrix::new(2, 3, WEIGHTS.as_flattened()).expect("a matrix");
    for (n, k, m) in shapes() {
        let mut rng = rng(14);
        let ring = ring(n);
        let basis = all(&ring);
        let inputs: Vec<Bundle<Eval>> =
            (0..3).map(|_| uniform_bundle(&ring, &basis, k, m, &mut rng)).collect();
        let inputs: Vec<&Bundle<Eval>> = inputs.iter().collect();
        let sums = Bundle::combine(&left, &inputs).expect("one shape");
        assert_eq!(sums.len(), 2);
        for (sum, weights) in sums.iter().zip(WEIGHTS) {
            let mut expected = inputs[0].clone();
            expected.mul_integer_assign(weights[0].into());
            inputs[1..]
                .iter()
                .zip(&weights[1..])
                .for_each(|(input, &c)| expected.add_multiple(input, c.into()).expect("one shape"));
            assert!(*sum == expected, "degree {n}, rank {k}, {m} bodies");
        }
        let rows = (k + m) * basis.len();
        for stop in [0, rows - 1, rows] {
            let mut calls = 0;
            let mut progress = || {
                calls += 1;
                calls <= stop
            };
            let combined = Bundle::combine_with_progress(&left, &inputs, &mut progress).expect("one shape");
            assert_eq!(combined.is_some(), stop == rows, "stopped before row {stop} of {rows}");
            assert_eq!(calls, rows.min(stop + 1));
        }
    }
    assert!(Bundle::<Eval>::combine(&left, &[]).is_err());
}

#[test]
fn automorphisms_move_messages_and_secrets_together() {
    for (n, k, m) in [(1, 3, 1), (2, 2, 2), (8, 1, 1), (8, 3, 2), (64, 2, 1)] {
        let mut rng = rng(5);
        let (ring, s) = (ring(n), secret(n, k, m, &mut rng));
        let basis = all(&ring);
        let x = uniform_bundle(&ring, &basis, k, m, &mut rng);
        for g in (1..2 * n).step_by(if n > 8 { 10 } else { 2 }) {
            let phi = Automorphism::new(GaloisElement::new(g, n).expect("odd"), n);
            let moved = |values: Vec<BigInt>| {
                let mut out = vec![BigInt::zero(); n];
                for (i, value) in values.into_iter().enumerate() {
                    let exponent = i * g % (2 * n);
                    out[exponent % n] = if exponent < n { value } else { -value };
                }
                out
            };
            assert_phases(&x.automorphism(&phi), &s.automorphism(&phi), |body| moved(phase(&x, &s, body)));
        }
    }
}

#[test]
fn public_key_encryption_of_zero_is_small_under_the_secret_at_every_shape() {
    for (n, k, m) in shapes() {
        let mut rng = rng(6);
        let (ring, s) = (ring(n), secret(n, k, m, &mut rng));
        let key = PublicKey::generate(&s, &ring, &all(&ring), &mut rng).expect("key");
        assert_eq!(key.zeroes().len(), k);
        assert_eq!(PublicKey::from_zeroes(key.zeroes().to_vec()).expect("key"), key);
        for basis in [all(&ring), Basis::new([4]), Basis::new([2, 0])] {
            let ct = key.encrypt_zero(&basis, &mut rng).expect("zero");
            assert_eq!((ct.rank(), ct.body_count(), ct.basis(), ct.seed()), (k, m, &basis, None));
            assert_phases(&ct, &s, |body| phase(&ct, &s, body));
            // sum_i u_i e_i + sum_j e_j s_j + e with ternary u, s: at most 32 (2 k n + 1), whatever the draw.
            let limit = BigInt::from(ERROR_BOUND) * (2 * k * n + 1);
            for body in 0..m {
                assert!(phase(&ct, &s, body).iter().all(|e| e.magnitude() <= limit.magnitude()));
            }
            let other = key.encrypt_zero(&basis, &mut rng).expect("zero");
            assert!(
                (0..k).all(|i| other.mask().at(i) != ct.mask().at(i)) && other.bodies() != ct.bodies(),
                "fresh every time"
            );
            // No mask polynomial is one of the key's: it is combined and noisy.
            assert!(
                key.zeroes().iter().all(|zero| zero.restrict(&basis).expect("subset").mask() != ct.mask())
            );
        }
    }
}

#[test]
fn rank_up_keeps_phases_under_every_longer_secret() {
    for (n, m) in [(1, 1), (2, 3), (8, 1), (64, 2)] {
        let mut rng = rng(7);
        let ring = ring(n);
        let basis = all(&ring);
        for to in 1..=5 {
            let long = secret(n, to, m, &mut rng);
            for from in 1..=to {
                let short = long.truncate_rank(from).expect("shorter");
                assert_eq!((short.rank(), short.bodies()), (from, m));
                let x = uniform_bundle(&ring, &basis, from, m, &mut rng);
                let up = x.rank_up(to).expect("up");
                assert_eq!(up.rank(), to);
                assert_phases(&up, &long, |body| phase(&x, &short, body));
                assert_eq!(x.clone().into_coeff().rank_up(to).expect("up").into_eval(), up, "both forms");
            }
        }
    }
}

#[test]
fn split_bodies_keep_their_phases_under_their_own_secrets() {
    for (n, k, m) in shapes() {
        let mut rng = rng(8);
        let (ring, s) = (ring(n), secret(n, k, m, &mut rng));
        let x = uniform_bundle(&ring, &all(&ring), k, m, &mut rng);
        for body in 0..m {
            let one = x.split_body(body).expect("body");
            assert_eq!((one.rank(), one.body_count()), (k, 1));
            assert_seed_is_true(&one);
            assert_phases(&one, &s.body(body), |_| phase(&x, &s, body));
        }
    }
}

/// A polynomial of the given integers.
fn poly_of(ring: &Ring, basis: &Basis, values: &[BigInt]) -> Poly<Coeff> {
    Poly::upload(ring, basis, |row, words| {
        for (word, value) in words.iter_mut().zip(values) {
            *word = oracle::residue(value, &ring.moduli()[basis.indices()[row]]);
        }
    })
}

#[test]
fn division_rounds_every_polynomial_to_the_nearest_integer_in_both_forms() {
    let ring = ring(64);
    let full = all(&ring);
    let q = oracle::product(ring.moduli());
    let mut rng = rng(9);
    for divisors in
        [vec![4], vec![0], vec![1, 0], vec![0, 1, 2], vec![3, 4], vec![0, 1, 2, 3], vec![4, 2, 0, 1]]
    {
        let kept = Basis::new((0..5).filter(|i| !divisors.contains(i)));
        let divisors = Basis::new(divisors);
        let product = |basis: &Basis| {
            oracle::product(&basis.indices().iter().map(|&i| ring.moduli()[i]).collect::<Vec<_>>())
        };
        let (d, rest) = (product(&divisors), product(&kept));
        let division = Division::new(&ring, &divisors, &kept).expect("division");
        assert_eq!(division.kept(), &kept);
        // Edges: remainders 0, 1, D - 1 at small, middle and large quotients; the middle of D where it is
        // exact (see below).
        let mut values = integers(&uniform(&ring, &full, &mut rng));
        let half: BigInt = &d / 2;
        let mut edges = Vec::new();
        for quotient in [BigInt::zero(), BigInt::from(1), &rest / 2, &rest / 2 + 1, &rest - 1] {
            for remainder in
                [BigInt::zero(), BigInt::from(1), &d - 1, &half - (&d >> 40u32), &half + 1 + (&d >> 40u32)]
            {
                edges.push(&quotient * &d + remainder);
            }
            if divisors.len() == 1 && d.bits() <= 45 {
                // One prime: y / q in floating point is exact enough to tell (q - 1)/2 from (q + 1)/2.
                edges.extend([&quotient * &d + &half, &quotient * &d + &half + 1]);
            }
        }
        assert!(edges.len() <= values.len() && edges.iter().all(|x| x < &q));
        values.splice(..edges.len(), edges);
        let x = poly_of(&ring, &full, &values);
        let expected: Vec<BigInt> =
            values.iter().map(|x| oracle::centre(&oracle::round_div(x, &d), &rest)).collect();
        let coeff = division.divide_coeff(&x).expect("divides");
        let eval = division.divide_eval(&x.clone().into_eval()).expect("divides");
        assert_eq!(coeff.basis(), &kept);
        assert_eq!(integers(&eval), expected, "divisors {:?}", divisors.indices());
        assert_eq!(coeff.into_eval(), eval, "both forms");
        // A bundle: every polynomial, mask and bodies.
        let bundle =
            Bundle::new(vec![x.clone().into_eval(), uniform(&ring, &full, &mut rng)], vec![x.into_eval()])
                .expect("bundle");
        let divided = bundle.divide(&division).expect("divides");
        for (before, after) in bundle.polys().zip(divided.polys()) {
            assert_eq!(division.divide_eval(before).expect("divides"), after);
        }
        assert_eq!(bundle.clone().into_coeff().divide(&division).expect("divides").into_eval(), divided);
    }
}

#[test]
fn rescale_divides_by_the_last_step_and_walks_down_the_chain() {
    let chain = Chain::new(ring(8), &[2, 1, 1]).expect("chain");
    let ring = chain.ring();
    let mut rng = rng(10);
    for level in [Level(2), Level(1)] {
        let x = uniform_bundle(ring, &chain.basis(level), 2, 2, &mut rng);
        let below = Level(level.0 - 1);
        let rescaled = x.divide(&chain.rescale_division(level).expect("division")).expect("rescaled");
        assert_eq!((rescaled.basis(), chain.level_of(rescaled.basis())), (&chain.basis(below), Some(below)));
        let d = oracle::product(&ring.moduli()[chain.step(level)]);
        let rest = modulus(rescaled.bodies().at(0));
        for (before, after) in x.polys().zip(rescaled.polys()) {
            let expected: Vec<BigInt> =
                integers(before).iter().map(|x| oracle::centre(&oracle::round_div(x, &d), &rest)).collect();
            assert_eq!(integers(after), expected);
        }
    }
    assert_eq!(chain.rescale_division(Level(0)).expect_err("bottom"), LatticeError::NoLevelLeft);
    assert_eq!(
        chain.rescale_division(Level(3)).expect_err("no such level"),
        LatticeError::LevelOutOfRange { level: 3, max: 2 }
    );
}

/// Component `c` of integer coefficients: every `gap`-th from the reversal of `c` in `log gap` bits.
fn component(values: &[BigInt], gap: usize, c: usize) -> Vec<BigInt> {
    let power = (0..gap.trailing_zeros()).fold(0, |out, bit| out << 1 | (c >> bit & 1));
    values[power..].iter().step_by(gap).cloned().collect()
}

#[test]
fn every_extracted_component_decrypts_to_that_component_of_the_message() {
    let n = 16;
    let large = ring(n);
    for gap in [1, 2, 4, 8, 16] {
        let small = ring(n / gap);
        for (k, m) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2)] {
            let mut rng = rng(11);
            let s = secret(n, k, m, &mut rng);
            let split = s.split_degree(n / gap).expect("divides");
            assert_eq!((split.degree(), split.rank(), split.bodies()), (n / gap, k * gap, m));
            assert_eq!(split.combine_degree(n).expect("divides").all_coefficients(), s.all_coefficients());
            let x = uniform_bundle(&large, &all(&large), k, m, &mut rng);
            let coeff = x.clone().into_coeff();
            for c in 0..gap {
                let part = coeff.extract_component(&small, c).expect("fits");
                assert_eq!((part.rank(), part.body_count(), part.ring().degree()), (k * gap, m, n / gap));
                assert_phases(&part.clone().into_eval(), &split, |body| {
                    component(&phase(&x, &s, body), gap, c)
                });
                if c > 0 {
                    continue;
                }
                // Back: the mask is the old one, the phase's component 0 is the message.
                let back = part.embed(&large).expect("fits");
                assert_eq!(back.mask(), coeff.mask());
                let embedded = back.clone().into_eval();
                for body in 0..m {
                    assert_eq!(
                        component(&phase(&embedded, &s, body), gap, 0),
                        component(&phase(&x, &s, body), gap, 0)
                    );
                }
                assert_eq!(back.extract_component(&small, 0).expect("fits"), part, "exact inverse");
            }
        }
    }
}

#[test]
fn embedding_any_bundle_keeps_its_phase_in_component_0() {
    let (n, small) = (8, ring(8));
    for gap in [2, 4, 8] {
        let large = ring(n * gap);
        for (k, m) in [(1, 1), (2, 2), (3, 1)] {
            let mut rng = rng(12);
            let s = secret(n, k * gap, m, &mut rng);
            let combined = s.combine_degree(n * gap).expect("divides");
            assert_eq!((combined.degree(), combined.rank(), combined.bodies()), (n * gap, k, m));
            assert_eq!(combined.split_degree(n).expect("divides").all_coefficients(), s.all_coefficients());
            let x = uniform_bundle(&small, &all(&small), k * gap, m, &mut rng);
            let coeff = x.clone().into_coeff();
            let up = coeff.embed(&large).expect("fits");
            assert_eq!((up.rank(), up.body_count(), up.ring().degree()), (k, m, n * gap));
            let eval = up.clone().into_eval();
            for body in 0..m {
                assert_eq!(component(&phase(&eval, &combined, body), gap, 0), phase(&x, &s, body));
            }
            assert_eq!(up.extract_component(&small, 0).expect("fits"), coeff, "exact inverse");
        }
    }
}

#[test]
fn components_of_a_polynomial_combine_to_it() {
    let mut rng = rng(13);
    for gap in [1, 2, 8, 64] {
        let (large, small) = (ring(64), ring(64 / gap));
        let x = uniform(&large, &Basis::new([2, 0]), &mut rng);
        let coeff = x.clone().into_coeff();
        let parts: Vec<Poly<Coeff>> =
            (0..gap).map(|c| coeff.split_component(&small, c).expect("component")).collect();
        for (c, part) in parts.iter().enumerate() {
            assert_eq!(integers(&part.clone().into_eval()), component(&integers(&x), gap, c));
        }
        assert_eq!(Poly::combine_components(&large, &parts).expect("combines"), coeff);
    }
}

#[test]
fn monomials_shift_polynomials_negacyclically() {
    let ring = ring(8);
    let x = uniform(&ring, &Basis::new([3, 1]), &mut rng(14));
    for power in 0..16 {
        let mut monomial = vec![BigInt::zero(); 8];
        monomial[power % 8] = BigInt::from(if power < 8 { 1 } else { -1 });
        let expected = centred(oracle::negacyclic_product(&integers(&x), &monomial), &modulus(&x));
        assert_eq!(integers(&x.clone().into_coeff().mul_monomial(power).into_eval()), expected);
    }
}

#[test]
fn phases_by_a_transformed_secret_are_the_phases_modulo_any_primes_of_both() {
    let chain = chain(&Shape { degree: 32, bits: 40, steps: 4, special_bits: 41, special: 1 });
    let ring = chain.ring();
    for (rank, bodies) in [(1, 1), (2, 1), (1, 3), (3, 2)] {
        let s = secret(32, rank, bodies, &mut rng(5));
        let bundle = Bundle::encrypt_zero(&s, ring, &chain.basis(Level(2)), &mut rng(6)).expect("zero");
        let expected = bundle.phase(&s).expect("phases");
        for (of_secret, of_result) in [(2, 2), (3, 2), (1, 1), (3, 1), (2, 0)] {
            let prepared = s.to_eval(ring, &chain.basis(Level(of_secret))).expect("a transform");
            let basis = chain.basis(Level(of_result));
            let mut out = Polys::zero(ring, &basis, bodies);
            bundle.phases_into(&prepared, &mut out).expect("phases");
            for (got, whole) in out.iter().zip(&expected) {
                assert!(
                    got.to_owned() == whole.restrict(&basis).expect("lower"),
                    "rank {rank}, {bodies} bodies, {of_secret} to {of_result}"
                );
            }
        }
        let prepared = s.to_eval(ring, &chain.basis(Level(1))).expect("a transform");
        let mut out = Polys::zero(ring, &chain.basis(Level(2)), bodies);
        assert!(
            matches!(bundle.phases_into(&prepared, &mut out), Err(LatticeError::BasisMismatch { .. })),
            "the secret lacks a prime"
        );
        let mut out = Polys::zero(ring, &chain.basis(Level(1)), bodies + 1);
        assert!(matches!(bundle.phases_into(&prepared, &mut out), Err(LatticeError::BodiesMismatch { .. })));
        let other = secret(32, rank + 1, bodies, &mut rng(5))
            .to_eval(ring, &chain.basis(Level(2)))
            .expect("a transform");
        let mut out = Polys::zero(ring, &chain.basis(Level(1)), bodies);
        assert!(matches!(bundle.phases_into(&other, &mut out), Err(LatticeError::SecretShape { .. })));
    }
}
