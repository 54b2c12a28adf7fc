//! The engines of the switch against each other and against the papers' definition: equal integers, so equal
//! bits, whatever the digits, the rank, the bodies, the level and the machine.

use std::sync::Arc;

use crate::common::*;
use clathrate_arith::primes::{largest_primes, primes_near};
use clathrate_arith::{CpuEngine, Isa};
use clathrate_lattice::noise::NoiseDigit;
use clathrate_lattice::switch::{Extended, SwitchMethod, SwitchTables};
use clathrate_lattice::{
    Bundle, Chain, Coeff, Eval, Gadget, LatticeError, Level, Poly, Rank, SecretRng, SwitchKey, Switcher,
};
use clathrate_testkit::oracle;
use num_bigint::BigInt;
use num_traits::Zero;

/// Lengths of key digits, in primes of the largest size.
const KEY_DIGITS: std::ops::RangeInclusive<usize> = 1..=7;

/// Uniform polynomials at `level`.
fn uniform(chain: &Chain, level: Level, count: usize, rng: &mut SecretRng) -> Vec<Poly<Eval>> {
    let s = secret(chain, count, 1, rng);
    Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), rng).expect("uniform mask").mask().to_vec()
}

fn eval(x: &Extended) -> Bundle<Eval> {
    x.to_eval().expect("one part at least")
}

/// A switcher, a key and the number of inputs that the key takes.
struct Case {
    switcher: Switcher,
    key: SwitchKey,
}

impl Case {
    fn new(
        chain: &Arc<Chain>,
        gadget: &Arc<Gadget>,
        key_level: Level,
        ranks: (usize, usize),
        bodies: usize,
        rng: &mut SecretRng,
    ) -> Self {
        let (from, to) = (secret(chain, ranks.0, bodies, rng), secret(chain, ranks.1, bodies, rng));
        let key = SwitchKey::change_of_secret(chain, gadget, key_level, &from, &to, rng).expect("key");
        Self { switcher: any_choice(chain, gadget, ranks.0), key }
    }

    fn plan(&self, choice: SwitchMethod, level: Level) -> Option<Arc<SwitchTables>> {
        match self.switcher.tables_of_method(choice, level, self.key.level()) {
            Ok(plan) => Some(plan),
            Err(LatticeError::FewFreePrimes { .. } | LatticeError::DigitTooLarge { .. }) => None,
            Err(other) => panic!("{other}"),
        }
    }

    /// Switches by every way there is at `level` with `special` special primes, and holds all of them to the
    /// hybrid method's product. Tells whether there is any.
    fn check(&self, level: Level, special: usize, rng: &mut SecretRng) -> bool {
        let Some(hybrid) = self.plan(SwitchMethod::hybrid(special), level) else { return false };
        let (switcher, key) = (&self.switcher, &self.key);
        let xs = uniform(switcher.chain(), level, key.inputs(), rng);
        let coeffs: Vec<Poly<Coeff>> = xs.iter().map(|x| x.clone().into_coeff()).collect();
        let (xs, coeffs): (Vec<_>, Vec<_>) = (xs.iter().collect(), coeffs.iter().collect());
        let terms = uniform(switcher.chain(), level, key.rank() + key.body_count(), rng);
        let expected = eval(&switcher.product_by(&hybrid, &xs, key).expect("product"));
        let switched = switcher.switch_coeff_by(&hybrid, &coeffs, key).expect("switch");
        // With what needs no switch, before a division by P q_l.
        let lifted = |mut product: Extended| {
            product.add_lifted(&terms).expect("as many terms");
            match level.0 {
                0 => switcher.mod_down(&product).expect("mod-down"),
                _ => switcher.mod_down_rescale(&product).expect("mod-down"),
            }
        };
        let rescaled = lifted(switcher.product_by(&hybrid, &xs, key).expect("product"));
        let plans = KEY_DIGITS
            .map(|length| self.plan(SwitchMethod::klss(special, length), level).expect("as the hybrid one"));
        for plan in [hybrid.clone()].into_iter().chain(plans) {
            let ring = switcher.chain().ring();
            let say = format!(
                "degree {}, {} inputs, rank {}, {} bodies, level {level} under a key of level {}, {:?}",
                ring.degree(),
                key.inputs(),
                key.rank(),
                key.body_count(),
                key.level(),
                plan.method()
            );
            let product = switcher.product_by(&plan, &xs, key).expect("product");
            assert_eq!(eval(&product), expected, "fused, {say}");
            assert_eq!(product.to_coeff().expect("one part").into_eval(), expected, "fused, to Coeff, {say}");
            let digits: Vec<_> =
                xs.iter().map(|x| switcher.decompose_by(&plan, *x).expect("digits")).collect();
            let hoisted = switcher.inner_product(&digits.iter().collect::<Vec<_>>(), key).expect("product");
            assert_eq!(eval(&hoisted), expected, "hoisted, {say}");
            assert_eq!(
                switcher.switch_coeff_by(&plan, &coeffs, key).expect("switch"),
                switched,
                "Coeff, {say}"
            );
            assert_eq!(
                switcher.mod_down(&product).expect("mod-down"),
                switched.clone().into_eval(),
                "mod-down, {say}"
            );
            assert_eq!(lifted(hoisted), rescaled, "lifted terms, {say}");
            assert_eq!(lifted(product), rescaled, "lifted terms, {say}");
        }
        true
    }
}

#[test]
fn key_decomposed_products_equal_hybrid_ones_bit_for_bit_at_every_rank_level_and_digit_length() {
    let chain =
        chain_with_auxiliary(&Shape { degree: 32, bits: 36, steps: 9, special_bits: 36, special: 1 }, 12);
    let gadget = Arc::new(Gadget::by_bits(&chain, 36.5));
    for (seed, ranks, bodies) in
        [(1, (1, 1), 1), (2, (2, 2), 1), (3, (3, 3), 1), (4, (1, 2), 3), (5, (3, 1), 2), (6, (6, 3), 1)]
    {
        let rng = &mut rng(seed);
        let case = Case::new(&chain, &gadget, chain.max_level(), ranks, bodies, rng);
        for level in [0, 1, 4, 6, 9].map(Level) {
            for special in 1..=4 {
                // One special prime of the chain's own, and the nine steps that the level leaves.
                assert_eq!(
                    case.check(level, special, rng),
                    special <= 10 - level.0,
                    "level {level}, r = {special}"
                );
            }
        }
    }
}

#[test]
fn key_decomposed_products_equal_hybrid_ones_with_primes_of_several_sizes() {
    let chain = mixed_chain(32, 14);
    // One prime per base digit, and digits of up to two 36-bit primes, which steps straddle.
    for (seed, bits) in [(11, 45.5), (12, 72.5), (13, 81.0)] {
        let gadget = Arc::new(Gadget::by_bits(&chain, bits));
        let rng = &mut rng(seed);
        let case = Case::new(&chain, &gadget, chain.max_level(), (2, 2), 1, rng);
        let served = (0..=chain.max_level().0)
            .map(|level| (1..=4).filter(|&special| case.check(Level(level), special, rng)).count())
            .collect::<Vec<_>>();
        // Two special primes of the chain's own: below the top there is more than one way.
        assert!(
            served.iter().filter(|&&ways| ways > 1).count() >= 4,
            "{bits} bits: ways per level {served:?}"
        );
    }
}

#[test]
fn key_decomposed_products_equal_hybrid_ones_under_keys_of_lower_levels() {
    let chain =
        chain_with_auxiliary(&Shape { degree: 32, bits: 40, steps: 7, special_bits: 41, special: 2 }, 12);
    let mixed = mixed_chain(32, 14);
    for (seed, chain, bits) in [(21, &chain, 40.5), (22, &chain, 80.5), (23, &mixed, 45.5)] {
        let gadget = Arc::new(Gadget::by_bits(chain, bits));
        let rng = &mut rng(seed);
        for key_level in [0, 2, 5].map(Level) {
            let case = Case::new(chain, &gadget, key_level, (1, 2), 1, rng);
            for level in (0..=key_level.0).map(Level) {
                let ways = (1..=4).filter(|&special| case.check(level, special, rng)).count();
                assert!(ways > 0, "level {level} of {key_level}, digits of {bits} bits");
            }
        }
    }
}

#[test]
fn relinearised_products_are_the_same_bits_by_every_engine() {
    let chain =
        chain_with_auxiliary(&Shape { degree: 32, bits: 36, steps: 6, special_bits: 37, special: 1 }, 12);
    let gadget = Arc::new(Gadget::by_bits(&chain, 36.5));
    for rank in 1..=3 {
        let rng = &mut rng(30 + rank as u8);
        let s = secret(&chain, rank, 1, rng);
        let key = SwitchKey::relinearisation(&chain, &gadget, chain.max_level(), &s, rng).expect("key");
        for level in [2, 5].map(Level) {
            let (x, y) = (message(&chain, level, 20, rng).0, message(&chain, level, 20, rng).0);
            let (x, y) = (encrypt(&chain, &s, &x, rng), encrypt(&chain, &s, &y, rng));
            let tensor = x.tensor(&y).expect("tensor");
            let results =
                [SwitchMethod::hybrid(2), SwitchMethod::klss(2, 3), SwitchMethod::klss(2, 5)].map(|choice| {
                    let switcher = fixed(&chain, &gadget, choice, key.inputs());
                    assert_eq!(switcher.tables(level).expect("plan").method(), choice);
                    (
                        tensor.relinearise(&switcher, &key).expect("relinearised"),
                        tensor.relinearise_rescale(&switcher, &key).expect("relinearised"),
                    )
                });
            assert_eq!(results[0], results[1], "rank {rank}, level {level}");
            assert_eq!(results[0], results[2], "rank {rank}, level {level}");
        }
    }
}

#[test]
fn sums_of_products_of_both_engines_share_one_mod_down() {
    let chain = mixed_chain(32, 14);
    let gadget = Arc::new(Gadget::by_bits(&chain, 45.5));
    let rng = &mut rng(41);
    let cases = [0, 1, 2].map(|_| Case::new(&chain, &gadget, chain.max_level(), (2, 1), 2, rng));
    for (level, special) in [(Level(1), 2), (Level(3), 3), (Level(4), 2)] {
        let switcher = &cases[0].switcher;
        let inputs = cases.each_ref().map(|case| uniform(&chain, level, case.key.inputs(), rng));
        let terms = uniform(&chain, level, 3, rng);
        let choices =
            [SwitchMethod::hybrid(special), SwitchMethod::klss(special, 2), SwitchMethod::klss(special, 4)];
        // Products of three keys, each by one of the engines; the terms join before or after any of them.
        let sum = |ways: [usize; 3], lifted_after: usize| {
            let product = |i: usize| {
                let plan = cases[i].plan(choices[ways[i]], level).expect("plan");
                switcher
                    .product_by(&plan, &inputs[i].iter().collect::<Vec<_>>(), &cases[i].key)
                    .expect("product")
            };
            let mut sum = product(0);
            for next in 1..3 {
                if next == lifted_after {
                    sum.add_lifted(&terms).expect("terms");
                }
                sum.add_assign(&product(next)).expect("one extended basis");
            }
            if lifted_after == 3 {
                sum.add_lifted(&terms).expect("terms");
            }
            (
                switcher.mod_down(&sum).expect("mod-down"),
                switcher.mod_down_rescale(&sum).expect("mod-down"),
                eval(&sum),
            )
        };
        let expected = sum([0, 0, 0], 3);
        for code in 0..27 {
            let ways = [code % 3, code / 3 % 3, code / 9];
            for lifted_after in 1..=3 {
                assert_eq!(
                    sum(ways, lifted_after),
                    expected,
                    "{ways:?}, terms at {lifted_after}, level {level}, {special} special primes"
                );
            }
        }
    }
}

#[test]
fn every_instruction_set_and_thread_count_gives_the_same_bits() {
    // Steps of all kernel classes, and more coefficients than one vector.
    let step = 2 * 64;
    let mut moduli = largest_primes(30, step, 2, &[]).expect("primes");
    for (bits, count) in [(36, 2), (45, 1), (49, 1), (55, 1), (60, 1), (61, 1), (45, 8)] {
        moduli.extend(largest_primes(bits, step, count, &moduli).expect("primes"));
    }
    let mut results: Vec<(String, Vec<Bundle<Eval>>)> = Vec::new();
    for isa in Isa::available() {
        for threads in [1, 2] {
            let engine = CpuEngine::new(64, &moduli, isa)
                .expect("engine")
                .with_threads(CpuEngine::thread_pool(threads).expect("pool"))
                .sharing_small_work();
            let ring = crate::common::ring_over(engine);
            let chain = Arc::new(Chain::with_auxiliary(ring, &[2, 1, 1, 1, 1, 1, 1], 8).expect("chain"));
            let gadget = Arc::new(Gadget::by_bits(&chain, 60.5));
            let rng = &mut rng(51);
            let case = Case::new(&chain, &gadget, chain.max_level(), (2, 2), 1, rng);
            let mut bundles = Vec::new();
            for level in [0, 2, 4].map(Level) {
                let xs = uniform(&chain, level, 2, rng);
                for choice in [
                    SwitchMethod::hybrid(1),
                    SwitchMethod::hybrid(2),
                    SwitchMethod::klss(2, 1),
                    SwitchMethod::klss(2, 2),
                ] {
                    let plan = case.plan(choice, level).expect("plan");
                    let product = case
                        .switcher
                        .product_by(&plan, &xs.iter().collect::<Vec<_>>(), &case.key)
                        .expect("product");
                    bundles.extend([eval(&product), case.switcher.mod_down(&product).expect("mod-down")]);
                }
            }
            results.push((format!("{isa:?}, {threads} threads"), bundles));
        }
    }
    let (first, rest) = results.split_first().expect("the scalar kernels are everywhere");
    for (name, bundles) in rest {
        assert_eq!(*bundles, first.1, "{name} against {}", first.0);
    }
}

/// `round(1/P sum_j b_j u_j)` with centred digits `b_j = [u (sum_k Q / (P D_k))^-1] mod D_j`, all in big
/// integers, from the key that travelled. [level-aware, sec. 4.3, KS], [klss, sec. 4.2]
fn by_definition(
    chain: &Chain,
    gadget: &Gadget,
    plan: &SwitchTables,
    inputs: &[&Poly<Eval>],
    key: &SwitchKey,
) -> Vec<Vec<BigInt>> {
    let all = chain.ring().moduli();
    let product = |indices: &[usize]| oracle::product(&indices.iter().map(|&i| all[i]).collect::<Vec<_>>());
    let whole = product(chain.whole_basis().indices());
    let (special, modulus) = (product(plan.special().indices()), product(plan.extended().indices()));
    let columns = key.rank() + key.body_count();
    let mut sums = vec![vec![BigInt::zero(); chain.ring().degree()]; columns];
    for (input, u) in inputs.iter().enumerate() {
        let u = integers(*u);
        let mut next = 0;
        for NoiseDigit { components, .. } in plan.noise_digits().digits {
            let run = next..next + components;
            next = run.end;
            let own: Vec<usize> = run
                .clone()
                .flat_map(|k| gadget.digits()[k].indices().to_vec())
                .filter(|&i| plan.basis().row_of(i).is_some())
                .collect();
            let digit = product(&own);
            let cofactors = run.clone().fold(BigInt::zero(), |sum, k| {
                sum + &whole / (&special * product(gadget.digits()[k].indices()))
            });
            let inverse = cofactors.modinv(&digit).expect("distinct primes");
            let b: Vec<BigInt> = u.iter().map(|u| oracle::centre(&(u * &inverse), &digit)).collect();
            // The sum of the run's components.
            let mut entry = key.entry(input, run.start).restrict(plan.extended()).expect("the key has them");
            for k in run.clone().skip(1) {
                entry
                    .add_assign(&key.entry(input, k).restrict(plan.extended()).expect("the key has them"))
                    .expect("same shape");
            }
            for (sum, component) in sums.iter_mut().zip(entry.polys()) {
                for (sum, term) in sum.iter_mut().zip(oracle::negacyclic_product(&b, &integers(component))) {
                    *sum += term;
                }
            }
        }
    }
    let kept = product(plan.basis().indices());
    let divide =
        |x: &BigInt| oracle::centre(&oracle::round_div(&oracle::centre(x, &modulus), &special), &kept);
    sums.iter().map(|sum| sum.iter().map(divide).collect()).collect()
}

#[test]
fn switches_equal_the_papers_definition_in_big_integers() {
    let equal =
        chain_with_auxiliary(&Shape { degree: 16, bits: 36, steps: 6, special_bits: 36, special: 1 }, 12);
    let mixed = mixed_chain(16, 14);
    for (seed, chain, bits) in
        [(61, &equal, 36.5), (62, &equal, 73.0), (63, &mixed, 45.5), (64, &mixed, 72.5)]
    {
        let gadget = Arc::new(Gadget::by_bits(chain, bits));
        let rng = &mut rng(seed);
        let case = Case::new(chain, &gadget, chain.max_level(), (2, 1), 2, rng);
        let mut checked = 0;
        for level in (0..=chain.max_level().0).map(Level) {
            let xs = uniform(chain, level, 2, rng);
            let xs: Vec<&Poly<Eval>> = xs.iter().collect();
            for special in 1..=4 {
                let as_made = SwitchMethod { coalesced: false, ..SwitchMethod::hybrid(special) };
                for choice in [as_made, SwitchMethod::hybrid(special), SwitchMethod::klss(special, 3)] {
                    let Some(plan) = case.plan(choice, level) else { continue };
                    checked += 1;
                    let switched = case
                        .switcher
                        .mod_down(&case.switcher.product_by(&plan, &xs, &case.key).expect("product"));
                    let got: Vec<Vec<BigInt>> = switched.expect("mod-down").polys().map(integers).collect();
                    assert_eq!(
                        got,
                        by_definition(chain, &gadget, &plan, &xs, &case.key),
                        "{bits} bits, level {level}, {choice:?}"
                    );
                }
            }
        }
        assert!(checked > 20, "{bits} bits: {checked} ways");
    }
}

/// Eq. (5) of klss to the brim: every digit of the input and every key digit at its extreme, so that one
/// coefficient is the largest sum there can be, under an auxiliary modulus just large enough; one a hair
/// smaller is refused.
#[test]
fn extreme_inputs_and_keys_fill_the_smallest_auxiliary_modulus_without_overflow() {
    const DEGREE: usize = 32;
    const STEPS: usize = 5;
    const LENGTH: usize = 2;
    let step = 2 * DEGREE as u64;
    let mut moduli = largest_primes(36, step, STEPS + 1, &[]).expect("primes");
    let log2 = |q: &u64| (*q as f64).log2();
    // 2 d N B B~ with B and B~ half the largest digits; primes come largest first, but the first of each pair
    // is in the largest pair too.
    let largest = moduli.iter().map(log2).fold(0.0, f64::max);
    let largest_pair = moduli.chunks(LENGTH).map(|pair| pair.iter().map(log2).sum()).fold(0.0, f64::max);
    let needed = ((STEPS * DEGREE) as f64).log2() + largest + largest_pair - 1.0;
    moduli.extend(largest_primes(45, step, 2, &moduli).expect("primes"));
    let rest = needed - moduli[STEPS + 1..].iter().map(log2).sum::<f64>();
    for (slack, fits) in [(0.0105, true), (0.0, false), (-0.01, false)] {
        let last = primes_near((rest + slack).exp2(), step, &moduli).next().expect("a prime");
        let ring = crate::common::new_ring(DEGREE, &[&moduli[..], &[last]].concat());
        let chain = Arc::new(Chain::with_auxiliary(ring.clone(), &[1; STEPS], 3).expect("chain"));
        let gadget = Arc::new(Gadget::by_bits(&chain, 36.0));
        let switcher = any_choice(&chain, &gadget, 1);
        let choice = |key_digit| SwitchMethod { special: 1, coalesced: false, key_digit };
        let top = chain.max_level();
        let plan = switcher.tables_of_method(choice(Some(LENGTH)), top, top);
        if !fits {
            let Err(LatticeError::FewAuxiliaryPrimes { needed: asked, available, .. }) = plan else {
                panic!("{plan:?}")
            };
            assert!(
                (asked - needed).abs() < 0.02 && available < asked,
                "{asked} for {needed}, {available} there are"
            );
            continue;
        }
        let plan = plan.expect("large enough");
        let product =
            |primes: &[usize]| oracle::product(&primes.iter().map(|&i| ring.moduli()[i]).collect::<Vec<_>>());
        // Key digits that are all (D~ - 1) / 2: as they are centred, the extreme.
        let rows: Vec<usize> = (0..=STEPS).collect();
        let body = Poly::<Coeff>::upload(&ring, &chain.key_basis(top), |row, words| {
            let extreme = rows
                .chunks(LENGTH)
                .find(|digit| digit.contains(&row))
                .map_or(BigInt::from(0), |digit| (product(digit) - 1) / 2);
            words.fill(oracle::residue(&extreme, &ring.moduli()[row]));
        });
        let bodies = vec![vec![body.into_eval()]; STEPS];
        let key = SwitchKey::from_bodies(&chain, &gadget, top, 1, Rank(1), rng(71).mask_seed(), bodies)
            .expect("key");
        // And digits of the input that are all (D - 1) / 2, or all its negative: u = +-(D - 1) / 2 * Q / (P
        // D) modulo each.
        for sign in [1, -1] {
            let u = Poly::<Coeff>::upload(&ring, plan.basis(), |row, words| {
                let q = &ring.moduli()[row];
                let cofactor =
                    if row < STEPS { product(&rows[..STEPS]) / q.value() } else { BigInt::from(0) };
                words.fill(oracle::residue(&(sign * cofactor * (q.value() - 1) / 2), q));
            });
            let extreme = (BigInt::from(ring.moduli()[0].value()) - 1) / 2;
            let digits = switcher.decompose_by(&plan, &u.clone().into_eval()).expect("digits");
            assert!(integers(&digits.polys()[0]).iter().all(|d| *d == sign * &extreme), "digits are extreme");
            let hybrid = switcher.tables_of_method(choice(None), top, top).expect("plan");
            let u = u.into_eval();
            let by =
                |plan: &Arc<SwitchTables>| eval(&switcher.product_by(plan, &[&u], &key).expect("product"));
            assert_eq!(by(&plan), by(&hybrid), "sign {sign}");
        }
    }
}
