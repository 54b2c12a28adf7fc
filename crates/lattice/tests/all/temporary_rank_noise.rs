//! Noise of temporary ranks: measured variances against closed forms, largest values against hard bounds,
//! canonical norms against the lemmas, and either side against the other where the paper predicts which is
//! smaller.
//!
//! Each variance is over at least 16384 errors under fresh secrets and keys: as in `noise.rs`, 10 % is above
//! four deviations.

use crate::common::canonical::{canonical_norm, canonical_norm_by_definition};
use crate::common::temporary_rank::*;
use crate::common::{rng, variance};
use clathrate_arith::Automorphism;
use clathrate_lattice::noise::{NoiseDigit, NoiseDigits, NoiseModel, bound, canonical_gain};
use clathrate_lattice::{Degree, Level, Poly, Rank, SwitchKey};

const DEGREE: usize = 512;
const ROUNDS: usize = 32;
const TOLERANCE: f64 = 0.10;

/// Errors of one operation, and the largest canonical norm of one polynomial of them.
#[derive(Default)]
struct Sample {
    errors: Vec<f64>,
    canonical: f64,
}

impl Sample {
    fn add(&mut self, errors: Vec<f64>) {
        self.canonical = self.canonical.max(canonical_norm(&errors));
        self.errors.extend(errors);
    }

    fn variance(&self) -> f64 {
        variance(&self.errors)
    }

    fn largest(&self) -> f64 {
        self.errors.iter().fold(0.0, |largest, error| largest.max(error.abs()))
    }

    /// Holds the sample to its closed form, to a bound that fails with probability `2^-40`, and to one that
    /// never fails.
    fn check(&self, what: &str, predicted: f64, limit: f64) {
        assert!(self.errors.len() >= 16384, "{what}: {} errors", self.errors.len());
        let ratio = self.variance() / predicted;
        assert!((ratio - 1.0).abs() < TOLERANCE, "{what}: measured over predicted variance is {ratio:.3}");
        let likely = bound(predicted, self.errors.len(), 40.0);
        assert!(
            self.largest() <= likely && self.largest() <= limit,
            "{what}: {} over {likely} or {limit}",
            self.largest()
        );
    }
}

/// Rank, temporary rank, steps, temporary primes: one special prime, and digits of one prime below, of
/// `temporary + 1` above.
const SHAPES: [(usize, usize, usize, usize); 6] =
    [(1, 2, 3, 2), (2, 3, 6, 2), (2, 4, 6, 5), (2, 4, 3, 1), (3, 4, 6, 1), (4, 5, 8, 3)];

/// Steps of 36 bits; special and temporary primes of as many, so that the products' noise is what one sees,
/// or of 45, so that the roundings alone are left.
fn primes(steps: usize, temporary: usize, bits: u32) -> Primes {
    Primes {
        special: (bits, 1),
        temporary: (bits, temporary),
        ..Primes::equal(DEGREE, steps, 1, temporary, 0)
    }
}

#[test]
fn canonical_norm_by_transform_is_the_definition() {
    for n in [1usize, 2, 8, 64] {
        let values: Vec<f64> = (0..n).map(|i| ((i * i + 3 * i) % 17) as f64 - 8.0).collect();
        let (fast, slow) = (canonical_norm(&values), canonical_norm_by_definition(&values));
        assert!((fast - slow).abs() < 1e-9 * (1.0 + slow), "{n}: {fast} and {slow}");
    }
    // A constant has one value; a monomial has modulus one.
    assert!((canonical_norm(&[3.0, 0.0, 0.0, 0.0]) - 3.0).abs() < 1e-12);
    assert!((canonical_norm(&[0.0, 0.0, 2.0, 0.0]) - 2.0).abs() < 1e-12);
}

/// With the lemmas' own parameters the functions are the printed formulas, our sigma being 3.2.
#[test]
fn canonical_bounds_are_the_lemmas_of_the_paper() {
    for (n, r, high, d, mu) in
        [(512usize, 2usize, 3usize, 6usize, 2usize), (1 << 13, 8, 10, 42, 4), (1 << 15, 2, 3, 42, 3)]
    {
        let model = NoiseModel { degree: n, rank: r, secret_variance: 2.0 / 3.0 };
        let (sigma, n, rf, hf) = (3.2, n as f64, r as f64, high as f64);
        let (digits, wide) =
            (NoiseDigits::unmerged(&vec![58.0; d], 60.0), NoiseDigits::unmerged(&vec![270.0; mu], 280.0));
        let (small, large) = (2f64.powi(58 - 60), 2f64.powi(270 - 280));
        let (root3, root2) = (3f64.sqrt(), 2f64.sqrt());
        let close = |found: f64, printed: f64| {
            assert!((found / printed - 1.0).abs() < 1e-12, "{found} and {printed}")
        };
        let switch =
            8.0 * d as f64 * sigma * 5.0 * n / root3 * small + (3.0 * n).sqrt() + 8.0 * root2 * rf * n / 3.0;
        close(model.canonical_switch(5, &digits), switch);
        let crossing = 4.0 * mu as f64 * sigma * rf * (rf + 1.0) * n / root3 * large
            + 8.0 * d as f64 * sigma * (hf - rf) * n / root3 * small
            + 2.0 * (3.0 * n).sqrt()
            + 8.0 * root2 * (hf + rf) * n / 3.0;
        close(model.canonical_cross_relinearisation(r * (r + 1) / 2, &wide, high - r, &digits), crossing);
        // The gain is their difference where digits are as large as the special moduli.
        let (digits, wide) =
            (NoiseDigits::unmerged(&vec![60.0; d], 60.0), NoiseDigits::unmerged(&vec![280.0; mu], 280.0));
        let pairs = r * (r + 1) / 2;
        let plain = model.canonical_switch(pairs, &digits);
        let gain = plain - model.canonical_cross_relinearisation(pairs, &wide, high - r, &digits);
        assert!(
            (canonical_gain(Degree(n as usize), (Rank(r), Rank(high)), d, mu) - gain).abs() < 1e-9 * plain
        );
    }
}

/// Special moduli of the paper's sets have up to 775 bits: their squares are beyond doubles, what is left
/// after the division is not.
#[test]
fn noise_over_special_moduli_of_any_size_is_a_number_and_depends_on_the_quotient_alone() {
    let model = NoiseModel { degree: 1 << 15, rank: 2, secret_variance: 2.0 / 3.0 };
    let figures = |bits: f64| {
        let digits = [(bits, 1), (bits - 3.0, 2)]
            .map(|(log2_size, components)| NoiseDigit { log2_size, components })
            .to_vec();
        let side = &NoiseDigits { digits, log2_special: bits + 1.0 };
        [
            model.coalesced_switch(3, side),
            model.switch(3, &[bits, bits - 3.0], side.log2_special),
            model.switch_limit(3, side),
            model.cross_relinearisation(3, side, 1, side),
            model.cross_relinearisation_limit(3, side, 1, side),
            model.rank_hoisted_rotation(2, side, 1, side),
            model.rank_hoisted_rotation_limit(2, side, 1, side),
            model.canonical_switch(3, side),
            model.canonical_cross_relinearisation(3, side, 1, side),
        ]
    };
    let small = figures(30.0);
    for bits in [300.0, 511.0, 600.0, 835.0, 5000.0] {
        for (found, expected) in figures(bits).into_iter().zip(small) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{bits} bits: {found} and {expected}");
        }
    }
    let side = &NoiseDigits::unmerged(&[30.0], 31.0);
    assert_eq!(model.rank_hoisted_rotation(0, side, 1, side), 0.0);
}

/// The difference as the paper prints it, in units of `n`: without the rank-down's products.
fn printed_gain((rank, high): (usize, usize), d: usize, mu: usize) -> f64 {
    4.0 / 3.0
        * (3f64.sqrt() * (d as f64 - mu as f64) * (rank * (rank + 1)) as f64
            - 2.0 * 2f64.sqrt() * high as f64)
}

#[test]
fn relinearisations_have_the_predicted_noise_under_the_lemmas_and_the_crossing_less_where_they_say_so() {
    let mut gains = Vec::new();
    for ((rank, high, steps, temporary), bits) in
        SHAPES.into_iter().flat_map(|shape| [(shape, 36), (shape, 45)])
    {
        let rng = &mut rng(21);
        let sides = Sides::new(&primes(steps, temporary, bits).chain(), None, 1);
        for level in [Level(steps - 1), Level(1)] {
            let (wide, base) = sides.plans(level, level);
            let (up, down) = (&wide.noise_digits(), &base.noise_digits());
            let (mut crossing, mut plain) = (Sample::default(), Sample::default());
            let mut model = None;
            for _ in 0..ROUNDS {
                let secrets = Secrets::new(&sides.chain, rank, high, rng);
                let (up, down, one) = (
                    secrets.up(&sides, level, rng),
                    secrets.down(&sides, level, rng),
                    secrets.plain(&sides, level, rng),
                );
                let pair = secrets.pair(&sides, level, rng);
                let (tensor, expected) = (pair[0].tensor(&pair[1]).expect("tensor"), secrets.product(&pair));
                let relinearised =
                    tensor.cross_relinearise(sides.crossing(&down), &up).expect("relinearised");
                crossing.add(secrets.errors(&relinearised, &expected));
                plain.add(
                    secrets.errors(&tensor.relinearise(&sides.base, &one).expect("relinearised"), &expected),
                );
                model = Some(secrets.model());
            }
            let model = model.expect("rounds");
            let (pairs, beyond) = (rank * (rank + 1) / 2, high - rank);
            let what = format!("rank {rank}, {high}, level {level}, special primes of {bits} bits");
            let (limit, plain_limit) =
                (model.cross_relinearisation_limit(pairs, up, beyond, down), model.switch_limit(pairs, down));
            crossing.check(
                &format!("crossing, {what}"),
                model.cross_relinearisation(pairs, up, beyond, down),
                limit,
            );
            plain.check(
                &format!("plain, {what}"),
                model.switch(pairs, &base.log2_digits(), down.log2_special),
                plain_limit,
            );
            // Lemmas 3.1 and 3.2.
            let lemmas = (
                model.canonical_switch(pairs, down),
                model.canonical_cross_relinearisation(pairs, up, beyond, down),
            );
            assert!(plain.canonical <= lemmas.0, "{what}: {} over {}", plain.canonical, lemmas.0);
            assert!(crossing.canonical <= lemmas.1, "{what}: {} over {}", crossing.canonical, lemmas.1);
            // Sums of bounds are above the bound of a sum by the root of the number of terms; no more is
            // given away.
            let terms = |products: usize, rounded: usize| 16.0 * ((products + rounded + 1) as f64).sqrt();
            let (d, mu) = (base.digit_count(), wide.digit_count());
            let slack = (
                plain.canonical * terms(pairs * d, rank),
                crossing.canonical * terms(pairs * mu + beyond * d, rank + high + 1),
            );
            assert!(
                lemmas.0 < slack.0 && lemmas.1 < slack.1,
                "{what}: {lemmas:?} far above {} and {}",
                plain.canonical,
                crossing.canonical
            );
            let ratios = (plain.canonical / lemmas.0, crossing.canonical / lemmas.1);
            println!(
                "{what}: of the lemmas {ratios:.3?}, crossing over plain {:.3}",
                (crossing.variance() / plain.variance()).sqrt()
            );
            if bits > 36 {
                // Two roundings of masks of other ranks are left.
                let predicted = (
                    model.cross_relinearisation(pairs, up, beyond, down),
                    model.switch(pairs, &base.log2_digits(), down.log2_special),
                );
                assert!(
                    predicted.0 > predicted.1 && crossing.variance() > plain.variance(),
                    "{what}: {predicted:?}"
                );
                continue;
            }
            // The lemmas' difference, and what is measured. It has its closed form where digits fill the
            // special moduli.
            let gain = lemmas.0 - lemmas.1;
            if gain > 0.0 {
                assert!(
                    crossing.variance() <= plain.variance(),
                    "{what}: {} over {}",
                    crossing.variance(),
                    plain.variance()
                );
                assert!(
                    crossing.canonical <= plain.canonical,
                    "{what}: {} over {}",
                    crossing.canonical,
                    plain.canonical
                );
            }
            if (level.0 + 1) % (temporary + 1) == 0 {
                let (closed, printed) = (
                    canonical_gain(Degree(DEGREE), (Rank(rank), Rank(high)), d, mu),
                    printed_gain((rank, high), d, mu),
                );
                assert!((gain - closed).abs() < 1e-3 * lemmas.0, "{what}: {gain} and {closed}");
                gains.push((closed > 0.0, printed > 0.0));
                // What is printed and is none, is none.
                assert!(closed > 0.0 || crossing.variance() > plain.variance(), "{what}: {gain}, {printed}");
            }
        }
    }
    // Both happen, and so does a gain that is printed and is none: at rank 1.
    assert!(
        gains.contains(&(true, true)) && gains.contains(&(false, false)) && gains.contains(&(false, true)),
        "{gains:?}"
    );
    assert!(!gains.contains(&(true, false)), "{gains:?}");
}

/// Rank, temporary rank, steps, temporary primes, steps of the rotation in turn; whether the crossing has
/// less noise.
#[derive(Clone, Copy)]
struct Turns(usize, usize, usize, usize, &'static [i64], bool);

const ROTATIONS: [Turns; 5] = [
    Turns(1, 2, 6, 5, &[4, -1], true),
    Turns(2, 3, 6, 2, &[16, -4, 1], true),
    Turns(3, 5, 6, 5, &[8], true),
    Turns(3, 4, 4, 3, &[1, 1], true),
    Turns(2, 4, 2, 1, &[-2], false),
];

#[test]
fn rotations_have_the_predicted_noise_and_the_crossing_less_than_plain_ones_in_turn_where_predicted() {
    for (Turns(rank, high, count, temporary, steps, less), bits) in
        ROTATIONS.into_iter().flat_map(|turns| [(turns, 36), (turns, 45)])
    {
        let rng = &mut rng(22);
        let sides = Sides::new(&primes(count, temporary, bits).chain(), None, 1);
        let level = sides.chain.max_level();
        let (wide, base) = sides.plans(level, level);
        let (up, down) = (&wide.noise_digits(), &base.noise_digits());
        let automorphisms = rotations(DEGREE, steps);
        let (mut crossing, mut plain) = (Sample::default(), Sample::default());
        let mut model = None;
        for _ in 0..ROUNDS {
            let secrets = Secrets::new(&sides.chain, rank, high, rng);
            let ct = secrets.pair(&sides, level, rng)[0].clone();
            let phase = ct.phase(&secrets.low).expect("phase").swap_remove(0);
            let expected: Poly<_> = automorphisms.iter().fold(phase, |x, phi| x.automorphism(phi));
            let down = secrets.down(&sides, level, rng);
            let keys: Vec<SwitchKey> = automorphisms
                .iter()
                .map(|phi| {
                    SwitchKey::automorphism(
                        sides.wide.chain(),
                        sides.wide.gadget(),
                        level,
                        &secrets.high,
                        phi,
                        rng,
                    )
                    .expect("key")
                })
                .collect();
            let turns: Vec<(&Automorphism, &SwitchKey)> = automorphisms.iter().zip(&keys).collect();
            crossing.add(
                secrets.errors(
                    &ct.rotate_rank_hoisted(&turns, sides.crossing(&down)).expect("rotated"),
                    &expected,
                ),
            );
            let rotated = automorphisms.iter().fold(ct, |ct, phi| {
                let key =
                    SwitchKey::automorphism(&sides.chain, sides.base.gadget(), level, &secrets.low, phi, rng)
                        .expect("key");
                ct.rotate(phi, &sides.base, &key).expect("rotated")
            });
            plain.add(secrets.errors(&rotated, &expected));
            model = Some(secrets.model());
        }
        let model = model.expect("rounds");
        let (turns, beyond) = (steps.len(), high - rank);
        let (what, less) = (
            format!("rank {rank}, {high}, steps {steps:?}, special primes of {bits} bits"),
            less && bits == 36,
        );
        let predicted = model.rank_hoisted_rotation(turns, up, beyond, down);
        crossing.check(
            &format!("crossing, {what}"),
            predicted,
            model.rank_hoisted_rotation_limit(turns, up, beyond, down),
        );
        let in_turn = turns as f64 * model.switch(rank, &base.log2_digits(), down.log2_special);
        plain.check(&format!("plain, {what}"), in_turn, turns as f64 * model.switch_limit(rank, down));
        println!("{what}: crossing over plain {:.3}", (crossing.variance() / plain.variance()).sqrt());
        assert_eq!(predicted < in_turn, less, "{what}: {predicted} and {in_turn}");
        assert_eq!(
            crossing.variance() < plain.variance(),
            less,
            "{what}: {} and {}",
            crossing.variance(),
            plain.variance()
        );
        // Lemma 3.1 for every switch in turn.
        let at_high = NoiseModel { rank: high, ..model };
        let lemma = turns as f64 * at_high.canonical_switch(high, up) + model.canonical_switch(beyond, down);
        assert!(crossing.canonical <= lemma, "{what}: {} over {lemma}", crossing.canonical);
    }
}

#[test]
fn rank_reductions_have_the_predicted_noise_under_the_lemma() {
    for (rank, to, steps) in [(4, 2, 4), (2, 1, 3), (3, 2, 4), (5, 1, 2)] {
        let rng = &mut rng(23);
        let sides = Sides::new(&Primes::equal(DEGREE, steps, 1, 0, 0).chain(), None, 1);
        let level = Level(steps - 1);
        let (_, base) = sides.plans(level, level);
        let digits = base.noise_digits();
        let mut sample = Sample::default();
        let mut model = None;
        for _ in 0..ROUNDS {
            let secrets = Secrets::new(&sides.chain, to, rank, rng);
            let key = secrets.down(&sides, level, rng);
            let high = Secrets { low: secrets.high.clone(), high: secrets.high.clone() };
            let ct = high.pair(&sides, level, rng)[0].clone();
            let expected = ct.phase(&secrets.high).expect("phase").swap_remove(0);
            sample.add(secrets.errors(&ct.reduce_rank(to, &sides.base, &key).expect("reduced"), &expected));
            model = Some(secrets.model());
        }
        let (model, special) = (model.expect("rounds"), base.log2_special());
        let what = format!("rank {rank} to {to}");
        sample.check(
            &what,
            model.switch(rank - to, &base.log2_digits(), special),
            model.switch_limit(rank - to, &digits),
        );
        assert!(
            sample.canonical <= model.canonical_switch(rank - to, &digits),
            "{what}: {}",
            sample.canonical
        );
    }
}
