//! Coalesced keys: entry for entry the coarser gadget's encryptions, digits that recompose, and the noise of
//! summed errors.

use std::sync::Arc;

use crate::common::*;
use clathrate_lattice::noise::{NoiseDigit, NoiseDigits, NoiseModel, bound};
use clathrate_lattice::sampling::{ERROR_BOUND, ERROR_STANDARD_DEVIATION};
use clathrate_lattice::switch::{SwitchMethod, SwitchTables};
use clathrate_lattice::{
    Basis, Bundle, Chain, Eval, Gadget, LatticeError, Level, Poly, SecretKey, SecretRng, SwitchKey, Switcher,
};
use clathrate_testkit::oracle;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

/// A bound fails with probability 2^-40 per check.
const LOG2_FAILURE: f64 = 40.0;

/// The product of some primes of a ring.
fn product(chain: &Chain, indices: &[usize]) -> BigInt {
    oracle::product(&indices.iter().map(|&i| chain.ring().moduli()[i]).collect::<Vec<_>>())
}

/// `Q / D_k`.
fn cofactor(chain: &Chain, gadget: &Gadget, digit: usize) -> BigInt {
    product(chain, chain.whole_basis().indices()) / product(chain, gadget.digits()[digit].indices())
}

/// The runs of base digits that `plan` joins, of those it uses.
fn runs(plan: &SwitchTables) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for NoiseDigit { components, .. } in plan.noise_digits().digits {
        let start = runs.last().map_or(0, |run| run.end);
        runs.push(start..start + components);
    }
    runs
}

/// Primes of a run that the level has.
fn own(gadget: &Gadget, plan: &SwitchTables, run: std::ops::Range<usize>) -> Vec<usize> {
    run.flat_map(|k| gadget.digits()[k].indices().to_vec())
        .filter(|&i| plan.basis().row_of(i).is_some())
        .collect()
}

/// The plans of a level: as made, coalesced, and KLSS, with as many special primes as there may be.
fn plans(switcher: &Switcher, level: Level, key_level: Level) -> Vec<Arc<SwitchTables>> {
    let specials = 1..=chain_length(switcher.chain());
    let ways = specials.flat_map(|special| {
        let as_made = SwitchMethod { coalesced: false, ..SwitchMethod::hybrid(special) };
        [as_made, SwitchMethod::hybrid(special), SwitchMethod::klss(special, 3)]
    });
    ways.filter_map(|choice| match switcher.tables_of_method(choice, level, key_level) {
        Ok(plan) => Some(plan),
        // More special primes than are free, than the auxiliary modulus has room for, or too few for the
        // digits.
        Err(
            LatticeError::FewFreePrimes { .. }
            | LatticeError::DigitTooLarge { .. }
            | LatticeError::FewAuxiliaryPrimes { .. },
        ) => None,
        Err(other) => panic!("{other}"),
    })
    .collect()
}

fn chain_length(chain: &Chain) -> usize {
    chain.whole_basis().len()
}

/// Chains and gadgets: equal primes, mixed ones, base digits of two primes.
fn gadgets(degree: usize) -> Vec<(Arc<Chain>, Arc<Gadget>)> {
    let equal = chain_with_auxiliary(&Shape { degree, bits: 36, steps: 8, special_bits: 36, special: 1 }, 16);
    let double =
        chain_with_auxiliary(&Shape { degree, bits: 36, steps: 7, special_bits: 37, special: 2 }, 16);
    let mixed = mixed_chain(degree, 16);
    [(equal, 36.5), (double, 73.0), (mixed.clone(), 45.5), (mixed, 81.0)]
        .map(|(chain, bits)| (chain.clone(), Arc::new(Gadget::by_bits(&chain, bits))))
        .into()
}

/// The integers of the first secret polynomial.
fn secret_integers(secret: &SecretKey, chain: &Chain) -> Vec<BigInt> {
    integers(secret.eval(chain.ring(), &Basis::new([0]), 0)[0].get())
}

/// `sum_k Q / D_k * T` over a run, modulo the product of `basis`; coefficient by coefficient.
fn encrypted(
    chain: &Chain,
    gadget: &Gadget,
    run: std::ops::Range<usize>,
    t: &[BigInt],
    basis: &Basis,
) -> Vec<BigInt> {
    let (factor, modulus) = (
        run.fold(BigInt::zero(), |sum, k| sum + cofactor(chain, gadget, k)),
        product(chain, basis.indices()),
    );
    t.iter().map(|t| oracle::centre(&(t * &factor), &modulus)).collect()
}

/// Phase minus what is encrypted, centred modulo the basis.
fn error(entry: &Bundle<Eval>, secret: &SecretKey, encrypted: &[BigInt], chain: &Chain) -> Vec<BigInt> {
    let modulus = product(chain, entry.basis().indices());
    let phase = integers(&entry.phase(secret).expect("fits")[0]);
    phase
        .iter()
        .zip(encrypted)
        .map(|(phase, encrypted)| oracle::centre(&(phase - encrypted), &modulus))
        .collect()
}

#[test]
fn sums_of_entries_encrypt_the_coarser_gadget_with_summed_errors() {
    for (seed, (chain, gadget)) in gadgets(32).into_iter().enumerate() {
        let rng = &mut rng(seed as u8);
        let (from, to) = (secret(&chain, 1, 1, rng), secret(&chain, 2, 1, rng));
        let key =
            SwitchKey::change_of_secret(&chain, &gadget, chain.max_level(), &from, &to, rng).expect("key");
        let t = secret_integers(&from, &chain);
        let digits = key.digit_count();
        // The errors of the key as it was made: what a Gaussian of the stated tail can be.
        let errors: Vec<Vec<BigInt>> = (0..digits)
            .map(|k| {
                error(&key.entry(0, k), &to, &encrypted(&chain, &gadget, k..k + 1, &t, key.basis()), &chain)
            })
            .collect();
        assert!(errors.iter().flatten().all(|e| e.abs() <= BigInt::from(ERROR_BOUND)));
        assert!(errors.iter().flatten().any(|e| !e.is_zero()));
        for length in 1..=digits {
            for start in (0..digits).step_by(length) {
                let run = start..(start + length).min(digits);
                let mut sum = key.entry(0, start);
                run.clone().skip(1).for_each(|k| sum.add_assign(&key.entry(0, k)).expect("same shape"));
                // Over the key's whole modulus: phase = T sum_k Q / D_k + sum_k e_k.
                let got = error(&sum, &to, &encrypted(&chain, &gadget, run.clone(), &t, key.basis()), &chain);
                let expected: Vec<BigInt> =
                    (0..t.len()).map(|i| run.clone().map(|k| &errors[k][i]).sum()).collect();
                assert_eq!(got, expected, "components {run:?}");
            }
        }
    }
}

#[test]
fn every_derived_key_is_entry_for_entry_the_sum_of_its_run() {
    let mut longest = 0;
    for (seed, (chain, gadget)) in gadgets(32).into_iter().enumerate() {
        let rng = &mut rng(10 + seed as u8);
        for key_level in [Level(3), chain.max_level()] {
            let (from, to) = (secret(&chain, 1, 1, rng), secret(&chain, 1, 1, rng));
            let key = SwitchKey::change_of_secret(&chain, &gadget, key_level, &from, &to, rng).expect("key");
            let switcher = any_choice(&chain, &gadget, 1);
            for level in (0..=key_level.0).map(Level) {
                for plan in plans(&switcher, level, key_level) {
                    for (digit, run) in runs(&plan).into_iter().enumerate() {
                        longest = longest.max(run.len());
                        // The polynomial whose digit `digit` is 1 and whose others are 0: sum_k Q / (P D_k)
                        // on the digit's primes. Its product with the key is the entry itself.
                        let special = product(&chain, plan.special().indices());
                        let value = run
                            .clone()
                            .fold(BigInt::zero(), |sum, k| sum + cofactor(&chain, &gadget, k) / &special);
                        let primes = own(&gadget, &plan, run.clone());
                        let residue = |i: &usize| {
                            if primes.contains(i) {
                                oracle::residue(&value, &chain.ring().moduli()[*i])
                            } else {
                                0
                            }
                        };
                        let residues: Vec<u64> = plan.basis().indices().iter().map(residue).collect();
                        let one = Poly::constant(chain.ring(), plan.basis(), &residues);
                        let got = switcher
                            .product_by(&plan, &[&one], &key)
                            .expect("product")
                            .to_eval()
                            .expect("one part");
                        let mut expected = key.entry(0, run.start).restrict(plan.extended()).expect("subset");
                        for k in run.clone().skip(1) {
                            expected
                                .add_assign(&key.entry(0, k).restrict(plan.extended()).expect("subset"))
                                .expect("same shape");
                        }
                        assert_eq!(
                            got,
                            expected,
                            "digit {digit} of {run:?} at level {level}, keys of level {key_level}, {:?}",
                            plan.method()
                        );
                    }
                }
            }
        }
    }
    assert!(longest >= 4, "runs of {longest} base digits at most");
}

#[test]
fn digits_of_every_plan_recompose_to_the_input_times_its_special_modulus() {
    for (seed, (chain, gadget)) in gadgets(32).into_iter().enumerate() {
        let rng = &mut rng(20 + seed as u8);
        let (switcher, s) = (any_choice(&chain, &gadget, 1), secret(&chain, 1, 1, rng));
        for key_level in [Level(3), chain.max_level()] {
            for level in (0..=key_level.0).map(Level) {
                let u = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), rng)
                    .expect("uniform")
                    .mask()
                    .at(0)
                    .to_owned();
                for plan in plans(&switcher, level, key_level) {
                    let digits = switcher.decompose_by(&plan, &u).expect("digits");
                    let (modulus, special) = (
                        product(&chain, plan.extended().indices()),
                        product(&chain, plan.special().indices()),
                    );
                    let mut sum = vec![BigInt::zero(); 32];
                    for (digit, run) in digits.polys().iter().zip(runs(&plan)) {
                        let half = product(&chain, &own(&gadget, &plan, run.clone())) / 2;
                        let g = run.fold(BigInt::zero(), |sum, k| sum + cofactor(&chain, &gadget, k));
                        for (sum, d) in sum.iter_mut().zip(integers(digit)) {
                            assert!(d.abs() <= half, "digits are centred");
                            *sum += d * &g;
                        }
                    }
                    for (sum, u) in sum.iter().zip(integers(&u)) {
                        assert_eq!(
                            oracle::centre(sum, &modulus),
                            oracle::centre(&(u * &special), &modulus),
                            "{:?}",
                            plan.method()
                        );
                    }
                }
            }
        }
    }
}

/// Errors of a switch of uniform polynomials: its result's phase minus `sum_i u_i T_i`.
fn switch_errors(
    switcher: &Switcher,
    plan: &Arc<SwitchTables>,
    key: &SwitchKey,
    from: &SecretKey,
    to: &SecretKey,
    rng: &mut SecretRng,
) -> Vec<f64> {
    let (ring, basis) = (switcher.chain().ring(), plan.basis());
    let us = Bundle::encrypt_zero(from, ring, basis, rng).expect("uniform").mask().to_vec();
    let us: Vec<&Poly<Eval>> = us.iter().collect();
    let secrets = from.eval(ring, basis, 0);
    let expected =
        Poly::inner_product(&us, &secrets.iter().map(|s| s.get()).collect::<Vec<_>>()).expect("same basis");
    let switched =
        switcher.mod_down(&switcher.product_by(plan, &us, key).expect("product")).expect("mod-down");
    errors(&switched, to, 0, &expected)
}

/// False alarms: 2048 errors of a plan have a sample variance within 4.5 % of the truth, correlations
/// included, at one deviation; the key's own errors, at least 2048 of them too, vary as little. 25 % is above
/// four deviations of both together.
#[test]
fn noise_of_every_engine_digit_length_and_level_is_the_closed_form_and_under_the_papers_bound() {
    const DEGREE: usize = 256;
    const ROUNDS: usize = 8;
    let equal =
        chain_with_auxiliary(&Shape { degree: DEGREE, bits: 36, steps: 8, special_bits: 36, special: 1 }, 16);
    let mixed = mixed_chain(DEGREE, 16);
    let (mut farthest, mut lowest, mut highest) = (0f64, 1f64, 0f64);
    for (seed, chain, bits, ranks) in [
        (31, &equal, 36.5, (1, 1)),
        (32, &equal, 36.5, (3, 2)),
        (33, &mixed, 45.5, (1, 1)),
        (34, &mixed, 73.0, (2, 1)),
    ] {
        let gadget = Arc::new(Gadget::by_bits(chain, bits));
        let rng = &mut rng(seed);
        let (switcher, top) = (any_choice(chain, &gadget, ranks.0), chain.max_level());
        let keys: Vec<_> = (0..ROUNDS)
            .map(|_| {
                let (from, to) = (secret(chain, ranks.0, 1, rng), secret(chain, ranks.1, 1, rng));
                let key = SwitchKey::change_of_secret(chain, &gadget, top, &from, &to, rng).expect("key");
                (key, from, to)
            })
            .collect();
        let model =
            NoiseModel { degree: DEGREE, rank: ranks.1, secret_variance: keys[0].2.coefficient_variance() };
        for level in (0..=top.0).step_by(2).map(Level) {
            for plan in plans(&switcher, level, top) {
                let digits = plan.noise_digits();
                let errors: Vec<f64> = keys
                    .iter()
                    .flat_map(|(key, from, to)| switch_errors(&switcher, &plan, key, from, to, rng))
                    .collect();
                let predicted = model.coalesced_switch(ranks.0, &digits);
                let say =
                    format!("{bits} bits, ranks {ranks:?}, level {level}, {:?}, {digits:.1?}", plan.method());
                let ratio = variance(&errors) / predicted;
                assert!(
                    (0.75..1.25).contains(&ratio),
                    "measured over predicted variance is {ratio:.3}: {say}"
                );
                farthest = farthest.max((ratio - 1.0).abs());
                let largest = errors.iter().fold(0f64, |largest, e| largest.max(e.abs()));
                let likely = bound(predicted, errors.len(), LOG2_FAILURE);
                assert!(largest <= likely, "{largest} is over {likely}: {say}");
                // Whatever the randomness: the closed bound, itself under the paper's, whose rank and number
                // of inputs are one.
                let limit = model.switch_limit(ranks.0, &digits);
                let (n, inputs, rank) = (DEGREE as f64, ranks.0 as f64, ranks.1 as f64);
                let components = chain_length(chain) as f64;
                let over = |digit: &NoiseDigit| (digit.log2_size - digits.log2_special).exp2();
                let largest_digit = digits.digits.iter().map(over).fold(0.0, f64::max);
                let paper = 1.5 + n / 2.0 * (rank + inputs * components * ERROR_BOUND as f64 * largest_digit);
                assert!(likely <= limit && limit <= paper, "{likely} <= {limit} <= {paper}: {say}");
                (lowest, highest) = (lowest.min(largest / limit), highest.max(largest / limit));
            }
        }
    }
    println!(
        "measured over predicted variance: within {:.1} % of 1; largest error {lowest:.4} to {highest:.4} of the bound",
        farthest * 100.0
    );
}

#[test]
fn coalesced_noise_formulas_are_the_plain_ones_for_runs_of_one_and_grow_with_the_run() {
    let model = NoiseModel { degree: 64, rank: 2, secret_variance: 2.0 / 3.0 };
    let merged = |digits: &[(f64, usize)]| NoiseDigits {
        digits: digits.iter().map(|&(log2_size, components)| NoiseDigit { log2_size, components }).collect(),
        log2_special: 37.0,
    };
    let (bits, ones) = ([36.0, 30.5], merged(&[(36.0, 1), (30.5, 1)]));
    assert_eq!(model.switch_products(3, &bits), model.coalesced_products(3, &ones));
    assert_eq!(model.switch(3, &bits, 37.0), model.coalesced_switch(3, &ones));
    // sigma^2 R n len D^2 / 12 by hand.
    let by_hand =
        ERROR_STANDARD_DEVIATION.powi(2) * (3 * 64) as f64 * (4.0 * 72f64.exp2() + 61f64.exp2()) / 12.0;
    assert!((model.coalesced_products(3, &merged(&[(36.0, 4), (30.5, 1)])) / by_hand - 1.0).abs() < 1e-12);
    // (1 + k n) / 2 + R n 32 len D / (2 P).
    let by_hand = (1.0 + 128.0) / 2.0 + 3.0 * 64.0 * 32.0 * (4.0 * 0.5) / 2.0;
    assert!((model.switch_limit(3, &merged(&[(36.0, 4)])) / by_hand - 1.0).abs() < 1e-12);
    let seen = model.switch_limit(3, &merged(&[(36.0, 4)])).to_f64().expect("finite");
    assert!(seen > model.switch_limit(3, &merged(&[(36.0, 3)])));
}
