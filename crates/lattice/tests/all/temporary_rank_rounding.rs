//! Products over different special primes, joined: one mod-down is the exact rounding of their exact sum, in
//! big integers.

use std::sync::Arc;

use crate::common::temporary_rank::{Primes, Secrets, Sides, rotations};
use crate::common::*;
use clathrate_arith::primes::largest_primes;
use clathrate_lattice::switch::{Extended, SwitchMethod};
use clathrate_lattice::{
    Basis, Bundle, Chain, Coeff, Domain, Eval, Gadget, Level, Poly, PolyRef, SwitchKey, Switcher,
};
use clathrate_testkit::oracle;
use num_bigint::BigInt;

const DEGREE: usize = 16;

/// Steps of a pair of primes, one, one, a pair; two special primes; three temporary ones; auxiliary ones. No
/// two sizes in a row are equal.
fn mixed_temporary_chain() -> Arc<Chain> {
    let mut moduli = Vec::new();
    for (bits, count) in [(30, 2), (36, 1), (40, 1), (31, 2), (44, 1), (36, 1), (45, 2), (34, 1), (46, 10)] {
        moduli.extend(largest_primes(bits, 2 * DEGREE as u64, count, &moduli).expect("primes"));
    }
    Arc::new(
        Chain::with_temporary(crate::common::new_ring(DEGREE, &moduli), &[2, 1, 1, 2], 3, 10).expect("chain"),
    )
}

/// The integers of a polynomial, from 0 on.
fn integers_of<'a>(poly: impl Into<PolyRef<'a, Coeff>>) -> Vec<BigInt> {
    let poly = poly.into();
    let words = poly.download();
    let rows: Vec<&[u64]> = words.chunks_exact(poly.ring().degree()).collect();
    let moduli: Vec<_> = poly.basis().indices().iter().map(|&i| poly.ring().moduli()[i]).collect();
    oracle::compose(&rows, &moduli)
}

fn product_of<D: Domain>(basis: &Basis, of: &Poly<D>) -> BigInt {
    oracle::product(&basis.indices().iter().map(|&i| of.ring().moduli()[i]).collect::<Vec<_>>())
}

/// Whether `found` is `round(sum / divisor)` modulo its primes.
fn assert_is_rounding<'a>(found: impl Into<PolyRef<'a, Coeff>>, sum: &[BigInt], divisor: &BigInt, say: &str) {
    let found = found.into();
    for (row, &index) in found.basis().indices().iter().enumerate() {
        let modulus = &found.ring().moduli()[index];
        let expected: Vec<u64> =
            sum.iter().map(|x| oracle::residue(&oracle::round_div(x, divisor), modulus)).collect();
        assert_eq!(found.download_row(row), &expected[..], "{say}, prime {}", modulus.value());
    }
}

/// A side's switcher, key, and the ways in which it switches.
struct Side {
    switcher: Switcher,
    key: SwitchKey,
    choices: Vec<SwitchMethod>,
}

fn side(chain: &Arc<Chain>, seed: u8, choices: &[SwitchMethod]) -> Side {
    let rng = &mut rng(seed);
    let gadget = Arc::new(Gadget::by_bits(chain, 62.0));
    let (from, to) = (secret(chain, 1, 1, rng), secret(chain, 3, 1, rng));
    let key = SwitchKey::change_of_secret(chain, &gadget, chain.max_level(), &from, &to, rng).expect("key");
    let choices = choices.iter().copied().chain([SwitchMethod::as_made(chain)]).collect();
    Side { switcher: any_choice(chain, &gadget, 1), key, choices }
}

fn uniform(chain: &Chain, level: Level, count: usize, seed: u8) -> Vec<Poly<Eval>> {
    let s = secret(chain, count, 1, &mut rng(1));
    Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), &mut rng(seed))
        .expect("uniform")
        .mask()
        .to_vec()
}

#[test]
fn joined_products_of_any_special_primes_round_their_exact_sum_once() {
    let chain = mixed_temporary_chain();
    let (hybrid, decomposed) = (SwitchMethod::hybrid, SwitchMethod::klss);
    let own = [hybrid(2), hybrid(3), hybrid(4), decomposed(2, 2), decomposed(3, 3)];
    let wide = [hybrid(3), hybrid(5), hybrid(6), decomposed(4, 2), decomposed(5, 3)];
    let sides = [
        side(&chain, 1, &own),
        side(&Arc::new(chain.widened(1).expect("widened")), 2, &wide[..2]),
        side(&Arc::new(chain.widened(3).expect("widened")), 3, &wide),
    ];
    let (mut joined, mut shapes) = (0, std::collections::BTreeSet::new());
    for level in [Level(0), Level(1), Level(3)] {
        let inputs = uniform(&chain, level, 2, 4);
        let terms = uniform(&chain, level, 4, 5);
        // Every product that there is at this level, with its name.
        let mut products: Vec<(String, Extended)> = Vec::new();
        for (number, side) in sides.iter().enumerate() {
            for &choice in &side.choices {
                let Ok(plan) = side.switcher.tables_of_method(choice, level, chain.max_level()) else {
                    continue;
                };
                let product =
                    side.switcher.product_by(&plan, &[&inputs[number % 2]], &side.key).expect("product");
                products.push((format!("side {number}, {choice:?}"), product));
            }
        }
        assert!(products.len() >= 10, "level {level}: {}", products.len());
        for (left_name, left) in &products {
            for (right_name, right) in &products {
                let say = format!("{left_name} and {right_name}, level {level}");
                let mut sum = left.clone().join(right.clone()).expect("one level");
                // Everything in big integers, over the special primes of both.
                let specials = sum.frame().special().clone();
                for part in [left, right] {
                    assert!(sum.frame().holds(part.frame()), "{say}");
                }
                let (a, b) = (left.to_coeff().expect("product"), right.to_coeff().expect("product"));
                let all = product_of(&specials, &terms[0]);
                let lift = |part: &Extended| &all / product_of(part.frame().special(), &terms[0]);
                let (lift_a, lift_b) = (lift(left), lift(right));
                let exact: Vec<Vec<BigInt>> = a
                    .polys()
                    .zip(b.polys())
                    .map(|(a, b)| {
                        integers_of(a)
                            .iter()
                            .zip(&integers_of(b))
                            .map(|(a, b)| a * &lift_a + b * &lift_b)
                            .collect()
                    })
                    .collect();
                let found = sides[0].switcher.mod_down(&sum).expect("mod-down").into_coeff();
                found
                    .polys()
                    .zip(&exact)
                    .for_each(|(found, exact)| assert_is_rounding(found, exact, &all, &say));
                // With terms that need no switch, and a rescale in the same division.
                sum.add_lifted(&terms).expect("terms");
                let terms: Vec<Vec<BigInt>> =
                    terms.iter().map(|term| integers_of(&term.to_coeff())).collect();
                let with_terms: Vec<Vec<BigInt>> = exact
                    .iter()
                    .zip(&terms)
                    .map(|(sum, term)| sum.iter().zip(term).map(|(x, t)| x + t * &all).collect())
                    .collect();
                let found = sides[0].switcher.mod_down(&sum).expect("mod-down").into_coeff();
                found
                    .polys()
                    .zip(&with_terms)
                    .for_each(|(found, exact)| assert_is_rounding(found, exact, &all, &say));
                if level.0 > 0 {
                    let found = sides[0].switcher.mod_down_rescale(&sum).expect("mod-down").into_coeff();
                    let step = &all * product_of(&Basis::new(chain.step(level)), &inputs[0]);
                    assert_eq!(found.basis(), &chain.basis(Level(level.0 - 1)), "{say}");
                    found
                        .polys()
                        .zip(&with_terms)
                        .for_each(|(found, exact)| assert_is_rounding(found, exact, &step, &say));
                } else {
                    assert!(sides[0].switcher.mod_down_rescale(&sum).is_err(), "{say}");
                }
                // Columns that come down alone are the same roundings, and the rest is as it was.
                let columns = sum.take_mask(1).expect("two of three");
                assert_eq!(columns.len(), 2, "{say}");
                columns
                    .iter()
                    .zip(&with_terms[1..])
                    .for_each(|(found, exact)| assert_is_rounding(found, exact, &all, &say));
                let rest = sides[0].switcher.mod_down(&sum).expect("mod-down").into_coeff();
                assert_eq!((rest.rank(), rest.body_count()), (1, 1), "{say}");
                rest.polys()
                    .zip([&with_terms[0], &with_terms[3]])
                    .for_each(|(found, exact)| assert_is_rounding(found, exact, &all, &say));
                shapes.insert((left.frame().holds(right.frame()), right.frame().holds(left.frame())));
                joined += 1;
            }
        }
    }
    // Equal special primes, either's among the other's, and neither's: primes borrowed on one side, temporary
    // ones on the other.
    assert!(shapes.len() == 4 && joined > 300, "{joined}, {shapes:?}");
}

/// Terms that need no switch before products join, and three products in turn: parts that are zero modulo
/// some of the special primes meet others that are not.
#[test]
fn sums_of_three_products_and_terms_round_once_in_any_order() {
    let chain = mixed_temporary_chain();
    let (hybrid, decomposed) = (SwitchMethod::hybrid, SwitchMethod::klss);
    let wide = Arc::new(chain.widened(3).expect("widened"));
    let sides =
        [side(&chain, 1, &[hybrid(3), decomposed(2, 2)]), side(&wide, 3, &[hybrid(6), decomposed(5, 3)])];
    let level = Level(1);
    let (inputs, terms) = (uniform(&chain, level, 2, 6), uniform(&chain, level, 4, 7));
    let products: Vec<Extended> = sides
        .iter()
        .flat_map(|side| side.choices.iter().map(move |&choice| (side, choice)))
        .enumerate()
        .map(|(number, (side, choice))| {
            let plan = side.switcher.tables_of_method(choice, level, chain.max_level()).expect("plan");
            side.switcher.product_by(&plan, &[&inputs[number % 2]], &side.key).expect("product")
        })
        .collect();
    let plain: Vec<Vec<BigInt>> = terms.iter().map(|term| integers_of(&term.to_coeff())).collect();
    for (i, first) in products.iter().enumerate() {
        for (j, second) in products.iter().enumerate() {
            for (k, third) in products.iter().enumerate() {
                let say = format!("{i}, {j}, {k}");
                let mut early = first.clone();
                early.add_lifted(&terms).expect("terms");
                let early =
                    early.join(second.clone()).and_then(|sum| sum.join(third.clone())).expect("one level");
                let mut late = second
                    .clone()
                    .join(third.clone())
                    .and_then(|sum| first.clone().join(sum))
                    .expect("one level");
                late.add_lifted(&terms).expect("terms");
                assert_eq!(early.to_coeff().expect("sum"), late.to_coeff().expect("sum"), "{say}");
                assert_eq!(early.to_eval().expect("sum"), late.to_eval().expect("sum"), "{say}");
                let all = product_of(early.frame().special(), &terms[0]);
                let mut exact: Vec<Vec<BigInt>> =
                    plain.iter().map(|term| term.iter().map(|t| t * &all).collect()).collect();
                for part in [first, second, third] {
                    let lift = &all / product_of(part.frame().special(), &terms[0]);
                    for (sum, poly) in exact.iter_mut().zip(part.to_coeff().expect("product").polys()) {
                        sum.iter_mut().zip(integers_of(poly)).for_each(|(sum, x)| *sum += x * &lift);
                    }
                }
                for mut sum in [early, late] {
                    let found = sides[0].switcher.mod_down(&sum).expect("mod-down").into_coeff();
                    found
                        .polys()
                        .zip(&exact)
                        .for_each(|(found, exact)| assert_is_rounding(found, exact, &all, &say));
                    let columns = sum.take_mask(2).expect("one of three");
                    assert_is_rounding(columns.at(0), &exact[2], &all, &say);
                }
            }
        }
    }
}

/// Digits and special primes decide the bits, not the engine on either side.
#[test]
fn crossings_by_every_pair_of_engines_are_the_same_bits() {
    let chain = Primes::equal(DEGREE, 6, 1, 3, 12).chain();
    let (hybrid, decomposed) = (SwitchMethod::hybrid, SwitchMethod::klss);
    let top = chain.max_level();
    let keys = |sides: &Sides, secrets: &Secrets| {
        let rng = &mut rng(11);
        let phi = rotations(DEGREE, &[1]).swap_remove(0);
        let turn =
            SwitchKey::automorphism(sides.wide.chain(), sides.wide.gadget(), top, &secrets.high, &phi, rng)
                .expect("key");
        (secrets.up(sides, top, rng), secrets.down(sides, top, rng), phi, turn)
    };
    // Special primes of either side, and the levels that leave so many free.
    for (special, base_special, levels) in [(4, 1, 6), (4, 2, 5), (5, 1, 4)] {
        let reference = Sides::new(&chain, Some((hybrid(special), hybrid(base_special))), 6);
        let secrets = Secrets::new(&chain, 2, 3, &mut rng(10));
        let (up, down, phi, turn) = keys(&reference, &secrets);
        for engines in [(true, false), (false, true), (true, true)] {
            let side = |other: bool, special: usize, length: usize| {
                if other { decomposed(special, length) } else { hybrid(special) }
            };
            let sides =
                Sides::new(&chain, Some((side(engines.0, special, 3), side(engines.1, base_special, 2))), 6);
            for level in (0..levels).map(Level) {
                let [x, y] = secrets.pair(&reference, level, &mut rng(12));
                let tensor = x.tensor(&y).expect("tensor");
                let say = format!(
                    "{special} and {base_special} special primes, engines {engines:?}, level {level}"
                );
                let both = [&reference, &sides]
                    .map(|sides| tensor.cross_relinearise(sides.crossing(&down), &up).expect("relinearised"));
                assert_eq!(both[0], both[1], "{say}");
                let turns = [(&phi, &turn)];
                let both = [&reference, &sides]
                    .map(|sides| x.rotate_rank_hoisted(&turns, sides.crossing(&down)).expect("rotated"));
                assert_eq!(both[0], both[1], "{say}");
            }
        }
    }
}
