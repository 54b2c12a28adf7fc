//! Unit operations of a product at rank `r`, counted, against [dpad-he, Table 1, sec. 3.3.1, Algorithm 2]:
//! transforms and Hadamard products, at every level, for several ranks, digit lengths and engines. The
//! paper's formulas stand as printed; where ours is fewer, the difference is a formula of its own.
//!
//! Letters: `l` primes of the level, `k` special primes of the base side and `K` of the wide one, `d` and
//! `mu` digits, `r` and `r^` ranks.

use std::sync::Arc;

use crate::common::rng;
use crate::common::temporary_rank::*;
use clathrate_arith::{Automorphism, Counts, Meter};
use clathrate_lattice::switch::{SwitchMethod, SwitchTables};
use clathrate_lattice::{Bundle, Eval, Level, SwitchKey};

const DEGREE: usize = 32;
const STEPS: usize = 8;
const AUXILIARY: usize = 12;

/// Ranks `r` and `r^`, special primes `k`, temporary ones `K - k`.
const SHAPES: [(usize, usize, usize, usize); 7] =
    [(1, 2, 1, 3), (2, 3, 1, 1), (2, 4, 1, 7), (3, 4, 1, 3), (4, 5, 1, 2), (2, 3, 2, 2), (3, 5, 3, 1)];

/// One shape with all its keys, everything counted.
struct Counted {
    meter: Arc<Meter>,
    sides: Sides,
    secrets: Secrets,
    up: SwitchKey,
    down: SwitchKey,
    plain: SwitchKey,
}

impl Counted {
    fn new(
        (rank, high, special, temporary): (usize, usize, usize, usize),
        steps: usize,
        choices: Option<(SwitchMethod, SwitchMethod)>,
    ) -> Self {
        let rng = &mut rng(31);
        let (chain, meter) = Primes::equal(DEGREE, steps, special, temporary, AUXILIARY).counting_chain();
        let sides = Sides::new(&chain, choices, high.max(rank * (rank + 1) / 2));
        let secrets = Secrets::new(&chain, rank, high, rng);
        let top = chain.max_level();
        let (up, down, plain) =
            (secrets.up(&sides, top, rng), secrets.down(&sides, top, rng), secrets.plain(&sides, top, rng));
        Self { meter, sides, secrets, up, down, plain }
    }

    /// What `operation` takes once everything that it derives is there.
    fn count<T>(&self, operation: impl Fn() -> T) -> Counts {
        operation();
        self.meter.take();
        operation();
        self.meter.take()
    }

    fn pair(&self, level: Level) -> [Bundle<Eval>; 2] {
        self.secrets.pair(&self.sides, level, &mut rng(32))
    }

    fn plans(&self, level: Level) -> (Arc<SwitchTables>, Arc<SwitchTables>) {
        self.sides.plans(level, self.sides.chain.max_level())
    }
}

/// `sum_j own_j targets(own_j)`, the sources times targets of the digits' conversions; those of one prime
/// need none.
fn extensions(plan: &SwitchTables, targets: impl Fn(usize) -> usize) -> usize {
    let owns = own_primes(plan);
    assert_eq!(owns.iter().sum::<usize>(), plan.basis().len());
    owns.into_iter().filter(|&own| own > 1).map(|own| own * targets(own)).sum()
}

/// Primes of each digit at the plan's level: all have 36 bits.
fn own_primes(plan: &SwitchTables) -> Vec<usize> {
    plan.log2_digits().into_iter().map(|bits| (bits / 35.9).floor() as usize).collect()
}

/// `sources * targets`, or none for a single source, as the papers count.
fn conversion(sources: usize, targets: usize) -> usize {
    if sources > 1 { sources * targets } else { 0 }
}

/// [dpad-he, Table 1]: decomposition, inner product, modulus down of a switch from `inputs` polynomials to `columns`; transforms and Hadamard products.
struct Printed {
    decomposition: (usize, usize),
    inner: usize,
    modulus_down: (usize, usize),
}

fn printed(inputs: usize, columns: usize, l: usize, k: usize, d: usize) -> Printed {
    Printed {
        decomposition: (inputs * (l + d * (l + k)), if k > 1 { inputs * l * l } else { 0 }),
        inner: inputs * columns * d * (l + k),
        modulus_down: (columns * (l + l + k), columns * l * if k > 1 { k + 1 } else { 1 }),
    }
}

#[test]
fn relinearisation_counts_are_the_tables_less_the_rows_that_stay_as_they_are() {
    for shape @ (r, _, k, _) in SHAPES {
        let counted = Counted::new(shape, STEPS, None);
        for level in (0..STEPS).map(Level) {
            let (l, d) = (level.0 + 1, (level.0 + 1).div_ceil(k));
            let say = format!("{shape:?}, level {level}");
            let [x, y] = counted.pair(level);
            let tensor = counted.count(|| x.tensor(&y).expect("tensor"));
            assert_eq!((tensor.hadamard, tensor.ntt()), ((r + 1) * (r + 1) * l, 0), "{say}: Tensor");
            let tensor = x.tensor(&y).expect("tensor");
            let (_, plan) = counted.plans(level);
            assert_eq!(plan.digit_count(), d, "{say}");
            let pairs = r * (r + 1) / 2;
            let table = printed(pairs, r + 1, l, k, d);
            let product = counted.count(|| {
                counted.sides.base.product(&tensor.quadratic().iter().collect::<Vec<_>>(), &counted.plain)
            });
            // A digit's own rows are a constant away from the input in Eval form: l transforms less for every
            // input.
            assert_eq!((product.inverse, product.forward), (pairs * l, pairs * (d * (l + k) - l)), "{say}");
            assert_eq!(product.ntt(), table.decomposition.0 - pairs * l, "{say}: Decomposition");
            assert_eq!(product.hadamard, table.inner, "{say}: Inner Product");
            assert_eq!(
                product.conversion,
                pairs * extensions(&plan, |own| l + k - own),
                "{say}: Decomposition"
            );
            let whole = counted
                .count(|| tensor.relinearise(&counted.sides.base, &counted.plain).expect("relinearised"));
            let (down, down_hadamard) =
                (whole.ntt() - product.ntt(), whole.conversion - product.conversion + whole.division);
            // Only the special rows leave Eval form: l inverse transforms less for every column.
            assert_eq!(
                (whole.inverse - product.inverse, whole.forward - product.forward),
                ((r + 1) * k, (r + 1) * l),
                "{say}"
            );
            assert_eq!(down, table.modulus_down.0 - (r + 1) * l, "{say}: Modulus Down");
            assert_eq!(down_hadamard, table.modulus_down.1, "{say}: Modulus Down");
            assert_eq!(whole.hadamard, table.inner, "{say}");
            // The table takes k to divide l.
            if l % k == 0 {
                assert_eq!(product.conversion, table.decomposition.1, "{say}: Decomposition");
            }
            // A rescale in the same division: one more prime away.
            if level.0 > 0 {
                let rescaled = counted.count(|| {
                    tensor.relinearise_rescale(&counted.sides.base, &counted.plain).expect("rescaled")
                });
                let down = (rescaled.inverse - product.inverse, rescaled.forward - product.forward);
                assert_eq!(down, ((r + 1) * (k + 1), (r + 1) * (l - 1)), "{say}: rescale");
            }
        }
    }
}

#[test]
fn crossing_counts_are_the_papers_less_one_mod_down_and_the_rows_that_stay_as_they_are() {
    for shape @ (r, high, k, temporary) in SHAPES {
        let counted = Counted::new(shape, STEPS, None);
        let all = k + temporary;
        for level in (0..STEPS).map(Level) {
            let (l, d, mu) = (level.0 + 1, (level.0 + 1).div_ceil(k), (level.0 + 1).div_ceil(all));
            let say = format!("{shape:?}, level {level}");
            let [x, y] = counted.pair(level);
            let tensor = x.tensor(&y).expect("tensor");
            let (wide, base) = counted.plans(level);
            assert_eq!((base.digit_count(), wide.digit_count()), (d, mu), "{say}");
            let (pairs, beyond) = (r * (r + 1) / 2, high - r);
            let (first, second) = (printed(pairs, high + 1, l, all, mu), printed(beyond, r + 1, l, k, d));
            // First stage: r (r + 1) / 2 (l + mu (l + K)) transforms, r (r + 1) (r^ + 1) / 2 mu (l + K)
            // products.
            let up = counted.count(|| {
                counted.sides.wide.product(&tensor.quadratic().iter().collect::<Vec<_>>(), &counted.up)
            });
            assert_eq!(up.ntt(), first.decomposition.0 - pairs * l, "{say}");
            assert_eq!(up.hadamard, r * (r + 1) * (high + 1) * mu * (l + all) / 2, "{say}");
            assert_eq!(up.conversion, pairs * extensions(&wide, |own| l + all - own), "{say}");
            if l % all == 0 && all > 1 {
                assert_eq!(up.conversion, pairs * l * l, "{say}");
            }
            // Second stage, from Coeff form: (r^ - r) d (l + k) transforms, exactly, and (r + 1) (r^ - r) d
            // (l + k) products.
            let mut product = counted
                .sides
                .wide
                .product(&tensor.quadratic().iter().collect::<Vec<_>>(), &counted.up)
                .expect("product");
            counted.meter.take();
            let columns = product.take_mask(r).expect("columns");
            let taken = counted.meter.take();
            assert_eq!(
                (taken.inverse, taken.forward),
                (beyond * (l + all), 0),
                "{say}: what comes down stays in Coeff form"
            );
            assert_eq!(
                (taken.conversion, taken.division),
                (beyond * conversion(all, l), beyond * l),
                "{say}"
            );
            let down = counted.count(|| {
                counted.sides.base.product_coeff(&columns.iter().collect::<Vec<_>>(), &counted.down)
            });
            assert_eq!((down.inverse, down.forward), (0, beyond * d * (l + k)), "{say}");
            assert_eq!(
                down.ntt(),
                second.decomposition.0 - beyond * l,
                "{say}: Fig. 2, no first inverse transform"
            );
            assert_eq!(down.hadamard, (r + 1) * beyond * d * (l + k), "{say}");
            assert_eq!(down.conversion, beyond * extensions(&base, |own| l + k - own), "{say}");
            // The paper prints (r^ - r) (l + k)^2 here, where its Table 1 has l^2; ours is the table's.
            if k > 1 && l % k == 0 {
                assert_eq!(down.conversion, second.decomposition.1, "{say}");
                assert_eq!(
                    down.conversion + beyond * (2 * l * k + k * k),
                    beyond * (l + k) * (l + k),
                    "{say}"
                );
            }
            // Together.
            let whole = counted.count(|| {
                tensor
                    .cross_relinearise(counted.sides.crossing(&counted.down), &counted.up)
                    .expect("relinearised")
            });
            let paper = first.decomposition.0 + first.modulus_down.0 - beyond * l + second.decomposition.0
                - beyond * l
                + second.modulus_down.0;
            // Own rows of the digits; of two mod-downs of r + 1 columns, one: (l + k) transforms of a column,
            // and what either leaves in Eval form.
            let (own_rows, mod_down, stays) = (pairs * l, (r + 1) * (l + k), (r + 1) * 2 * l);
            assert_eq!(whole.ntt(), paper - own_rows - mod_down - stays, "{say}");
            assert_eq!(whole.inverse, pairs * l + beyond * (l + all) + (r + 1) * all, "{say}");
            assert_eq!(
                whole.forward,
                pairs * (mu * (l + all) - l) + beyond * d * (l + k) + (r + 1) * l,
                "{say}"
            );
            assert_eq!(whole.hadamard, first.inner + second.inner, "{say}");
            let down_products = |columns: usize| (columns * conversion(all, l), columns * l);
            let (conversions, divisions) = down_products(high + 1);
            assert_eq!(
                (whole.conversion, whole.division),
                (up.conversion + down.conversion + conversions, divisions),
                "{say}"
            );
            assert_eq!(
                conversions + divisions,
                first.modulus_down.1,
                "{say}: Table 1 at rank r^, and nothing for the second stage"
            );
            if level.0 > 0 {
                let crossing = counted.sides.crossing(&counted.down);
                let rescaled = counted
                    .count(|| tensor.cross_relinearise_rescale(crossing, &counted.up).expect("rescaled"));
                assert_eq!(rescaled.inverse, whole.inverse + r + 1, "{say}: rescale");
                assert_eq!(rescaled.forward, whole.forward - (r + 1), "{say}: rescale");
            }
        }
    }
}

/// Unit operations of a product by one plan, before its mod-down: inverse and forward transforms, Hadamard
/// products, conversions.
fn product_counts(plan: &SwitchTables, inputs: usize, columns: usize, from_eval: bool) -> [usize; 4] {
    let (l, tilde, d) = (plan.basis().len(), plan.extended().len(), plan.digit_count());
    let to_coeff = if from_eval { inputs * l } else { 0 };
    match plan.key_digits() {
        None => {
            let own = if from_eval { inputs * l } else { 0 };
            let extensions = inputs * extensions(plan, |own| tilde - own);
            [to_coeff, inputs * d * tilde - own, inputs * columns * d * tilde, extensions]
        }
        Some((groups, primes)) => {
            let extensions = inputs * extensions(plan, |_| primes) + columns * primes * tilde;
            [
                to_coeff + columns * groups * primes,
                inputs * d * primes,
                inputs * columns * d * groups * primes,
                extensions,
            ]
        }
    }
}

/// Keys take `r (r + 1) / 2 mu` by `r^ + 1` polynomials over `P^ Q` and `(r^ - r) d` by `r + 1` over `P Q`,
/// where one stage takes `r (r + 1) / 2 d` by `r + 1` over `P Q`. [dpad-he, sec. 3.3.2]; the ratio printed
/// leaves out that `P^ Q` has more primes than `P Q`.
#[test]
fn keys_have_the_papers_polynomials_and_their_ratio() {
    for shape @ (r, high, k, temporary) in SHAPES {
        let counted = Counted::new(shape, STEPS, None);
        let (l, all) = (STEPS, k + temporary);
        let (d, mu) = (l.div_ceil(k), l.div_ceil(all));
        let size = |key: &SwitchKey| {
            (key.inputs() * key.digit_count() * (key.rank() + key.body_count()), key.basis().len())
        };
        assert_eq!(size(&counted.up), (r * (r + 1) / 2 * mu * (high + 1), l + all), "{shape:?}");
        assert_eq!(size(&counted.down), ((high - r) * d * (r + 1), l + k), "{shape:?}");
        assert_eq!(size(&counted.plain), (r * (r + 1) / 2 * d * (r + 1), l + k), "{shape:?}");
        let rows = |key: &SwitchKey| size(key).0 as f64 * size(key).1 as f64;
        let ratio = (rows(&counted.up) + rows(&counted.down)) / rows(&counted.plain);
        let [rf, hf, df, muf] = [r, high, d, mu].map(|x| x as f64);
        let more = (l + all) as f64 / (l + k) as f64;
        let formula = 2.0 * (hf - rf) / (rf * (rf + 1.0)) + (hf + 1.0) * muf / ((rf + 1.0) * df) * more;
        assert!((ratio - formula).abs() < 1e-12, "{shape:?}: {ratio} and {formula}");
    }
}

/// Both engines on either side, primes borrowed from steps that a level no longer uses: the special primes of
/// the sum are those of both.
#[test]
fn crossing_counts_by_every_pair_of_engines_follow_from_their_plans_at_every_level() {
    let shape @ (r, high, ..) = (2, 3, 1, 3);
    let (hybrid, decomposed) = (SwitchMethod::hybrid, SwitchMethod::klss);
    let pairs = [
        (hybrid(4), hybrid(1), 8),
        (hybrid(4), hybrid(2), 7),
        (hybrid(6), hybrid(3), 4),
        (hybrid(8), hybrid(1), 4),
        (decomposed(4, 3), decomposed(1, 2), 8),
        (decomposed(4, 2), decomposed(2, 3), 7),
        (decomposed(4, 3), hybrid(1), 8),
        (hybrid(4), decomposed(2, 2), 7),
    ];
    for (up, down, levels) in pairs {
        let counted = Counted::new(shape, STEPS, Some((up, down)));
        for level in (0..levels).map(Level) {
            let l = level.0 + 1;
            let say = format!("{up:?}, {down:?}, level {level}");
            let [x, y] = counted.pair(level);
            let tensor = x.tensor(&y).expect("tensor");
            let (wide, base) = counted.plans(level);
            let (inputs, beyond) = (r * (r + 1) / 2, high - r);
            let (first, second) =
                (product_counts(&wide, inputs, high + 1, true), product_counts(&base, beyond, r + 1, false));
            let both = wide
                .special()
                .indices()
                .iter()
                .chain(base.special().indices())
                .collect::<std::collections::BTreeSet<_>>()
                .len();
            // The columns that come down leave Eval form, where they are in it; the sum's special rows too,
            // those that any part in it has.
            let columns = if wide.key_digits().is_none() { beyond * wide.extended().len() } else { 0 };
            let in_eval = [&wide, &base].into_iter().filter(|plan| plan.key_digits().is_none());
            let sum = (r + 1)
                * in_eval
                    .flat_map(|plan| plan.special().indices().to_vec())
                    .collect::<std::collections::BTreeSet<_>>()
                    .len();
            let whole = counted.count(|| {
                tensor
                    .cross_relinearise(counted.sides.crossing(&counted.down), &counted.up)
                    .expect("relinearised")
            });
            assert_eq!(whole.inverse, first[0] + second[0] + columns + sum, "{say}");
            assert_eq!(whole.forward, first[1] + second[1] + (r + 1) * l, "{say}");
            assert_eq!(whole.hadamard, first[2] + second[2], "{say}");
            let divisions = beyond * conversion(wide.special().len(), l) + (r + 1) * conversion(both, l);
            assert_eq!(
                (whole.conversion, whole.division),
                (first[3] + second[3] + divisions, (high + 1) * l),
                "{say}"
            );
        }
    }
}

/// One stage by either engine, with digits of any length: from its plan in the same way.
#[test]
fn relinearisation_counts_by_either_engine_follow_from_its_plan_at_every_level() {
    let (r, r_hat) = (3, 4);
    for choice in
        [SwitchMethod::hybrid(1), SwitchMethod::hybrid(3), SwitchMethod::klss(1, 3), SwitchMethod::klss(2, 2)]
    {
        let counted = Counted::new((r, r_hat, 1, 1), STEPS, Some((SwitchMethod::hybrid(2), choice)));
        for level in (0..=STEPS - choice.special).map(Level) {
            let (l, say) = (level.0 + 1, format!("{choice:?}, level {level}"));
            let [x, y] = counted.pair(level);
            let tensor = x.tensor(&y).expect("tensor");
            let plan = counted.sides.base.tables(level).expect("plan");
            let product = product_counts(&plan, r * (r + 1) / 2, r + 1, true);
            let whole = counted
                .count(|| tensor.relinearise(&counted.sides.base, &counted.plain).expect("relinearised"));
            let back = if plan.key_digits().is_none() { (r + 1) * choice.special } else { 0 };
            assert_eq!(
                (whole.inverse, whole.forward),
                (product[0] + back, product[1] + (r + 1) * l),
                "{say}"
            );
            assert_eq!(whole.hadamard, product[2], "{say}");
            let division = ((r + 1) * conversion(choice.special, l), (r + 1) * l);
            assert_eq!((whole.conversion, whole.division), (product[3] + division.0, division.1), "{say}");
        }
    }
}

#[test]
fn rank_reduction_counts_are_the_tables_for_its_inputs_and_columns() {
    for (rank, to, k) in [(2, 1, 1), (4, 2, 1), (4, 2, 2), (5, 4, 1), (3, 1, 3)] {
        for choice in [
            None,
            Some((SwitchMethod::hybrid(2), SwitchMethod::hybrid(2))),
            Some((SwitchMethod::klss(2, 2), SwitchMethod::klss(2, 2))),
        ] {
            let counted = Counted::new((to, rank, k, 0), STEPS, choice);
            let levels = if choice.is_some() && k == 1 { STEPS - 1 } else { STEPS };
            for level in (0..levels).map(Level) {
                let l = level.0 + 1;
                let say = format!("rank {rank} to {to}, k = {k}, {choice:?}, level {level}");
                // Keys of base digits of k primes may not divide by 2: not a way to switch there.
                let Ok(plan) = counted.sides.base.tables(level) else {
                    assert!(k == 3, "{say}");
                    continue;
                };
                let high = Secrets { low: counted.secrets.high.clone(), high: counted.secrets.high.clone() };
                let ct = high.pair(&counted.sides, level, &mut rng(33))[0].clone();
                let reduced = counted
                    .count(|| ct.reduce_rank(to, &counted.sides.base, &counted.down).expect("reduced"));
                let inputs = rank - to;
                let product = product_counts(&plan, inputs, to + 1, true);
                let special = plan.special().len();
                let back = if plan.key_digits().is_none() { (to + 1) * special } else { 0 };
                assert_eq!(
                    (reduced.inverse, reduced.forward),
                    (product[0] + back, product[1] + (to + 1) * l),
                    "{say}"
                );
                assert_eq!(reduced.hadamard, product[2], "{say}");
                assert_eq!(
                    (reduced.conversion, reduced.division),
                    (product[3] + (to + 1) * conversion(special, l), (to + 1) * l),
                    "{say}"
                );
                if choice.is_none() {
                    let table = printed(inputs, to + 1, l, k, l.div_ceil(k));
                    assert_eq!(
                        reduced.ntt(),
                        table.decomposition.0 + table.modulus_down.0 - (inputs + to + 1) * l,
                        "{say}"
                    );
                    assert_eq!(reduced.hadamard, table.inner, "{say}");
                }
            }
        }
    }
}

#[test]
fn rank_hoisted_rotation_counts_are_a_switch_of_few_digits_each_and_one_rank_down() {
    let ways = [
        None,
        Some((SwitchMethod::hybrid(4), SwitchMethod::hybrid(1))),
        Some((SwitchMethod::klss(4, 3), SwitchMethod::klss(1, 2))),
    ];
    for shape @ (r, high, k, temporary) in [(1, 2, 1, 3), (2, 3, 1, 3), (3, 5, 1, 3)] {
        for choice in ways {
            let counted = Counted::new(shape, STEPS, choice);
            let top = counted.sides.chain.max_level();
            let automorphisms = rotations(DEGREE, &[1, -2, 4]);
            let wide = &counted.sides.wide;
            let keys: Vec<SwitchKey> = automorphisms
                .iter()
                .map(|phi| {
                    SwitchKey::automorphism(
                        wide.chain(),
                        wide.gadget(),
                        top,
                        &counted.secrets.high,
                        phi,
                        &mut rng(34),
                    )
                    .expect("key")
                })
                .collect();
            let all = k + temporary;
            for level in (0..STEPS).map(Level) {
                let (l, (up, down)) = (level.0 + 1, counted.plans(level));
                let [ct, _] = counted.pair(level);
                let (each, last) = (
                    product_counts(&up, high, high + 1, true),
                    product_counts(&down, high - r, r + 1, false),
                );
                for turns in 1..=keys.len() {
                    let say = format!("{shape:?}, {choice:?}, level {level}, {turns} turns");
                    let steps: Vec<(&Automorphism, &SwitchKey)> =
                        automorphisms.iter().zip(&keys).take(turns).collect();
                    let rotated = counted.count(|| {
                        ct.rotate_rank_hoisted(&steps, counted.sides.crossing(&counted.down))
                            .expect("rotated")
                    });
                    let eval = |plan: &SwitchTables, transforms: usize| {
                        if plan.key_digits().is_none() { transforms } else { 0 }
                    };
                    // All but the last mod-down have r^ + 1 columns; the last has r + 1, and r^ - r of which
                    // no row stays in Eval form.
                    let back = (turns - 1) * eval(&up, (high + 1) * all)
                        + eval(&up, (high - r) * (l + all) + (r + 1) * all)
                        + eval(&down, (r + 1) * k);
                    let forth = (turns - 1) * (high + 1) * l + 2 * (r + 1) * l;
                    assert_eq!(
                        (rotated.inverse, rotated.forward),
                        (turns * each[0] + last[0] + back, turns * each[1] + last[1] + forth),
                        "{say}"
                    );
                    assert_eq!(rotated.hadamard, turns * each[2] + last[2], "{say}");
                    if choice.is_none() {
                        // [dpad-he, Algorithm 2] by Table 1: no transform of what lies between the last
                        // switch and the rank-down, and own rows.
                        let (mu, d) = (l.div_ceil(all), l.div_ceil(k));
                        let (switch, rank_down) =
                            (printed(high, high + 1, l, all, mu), printed(high - r, r + 1, l, k, d));
                        let paper = turns * (switch.decomposition.0 + switch.modulus_down.0)
                            + rank_down.decomposition.0
                            + rank_down.modulus_down.0;
                        let own_rows = turns * high * l;
                        let stays = turns * (high + 1) * l - (high - r) * l + (r + 1) * l;
                        let between = 2 * (high - r) * l;
                        assert_eq!(rotated.ntt(), paper - own_rows - stays - between, "{say}");
                        assert_eq!(rotated.hadamard, turns * switch.inner + rank_down.inner, "{say}");
                    }
                }
            }
        }
    }
}
