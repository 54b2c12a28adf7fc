//! Unit operations of a switch, counted, against the papers' tables: transforms and Hadamard products, for
//! both engines, every digit length, even and uneven digits, and every level.

use std::sync::Arc;

use crate::common::*;
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Counts, Meter};
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::switch::{MachineProfile, Planner, SwitchMethod, SwitchPolicy};
use clathrate_lattice::{Basis, Bundle, Chain, Coeff, Gadget, Level, Poly, SwitchKey, Switcher};
use clathrate_testkit::oracle;
use num_bigint::BigInt;

const DEGREE: usize = 32;
const STEPS: usize = 12;
const AUXILIARY: usize = 12;

/// Twelve steps of one prime and one special prime, all of 36 bits, then 45-bit auxiliary ones: the papers'
/// chains.
struct Counted {
    meter: Arc<Meter>,
    chain: Arc<Chain>,
    switcher: Switcher,
    key: SwitchKey,
}

impl Counted {
    fn new(inputs: usize, rank: usize) -> Self {
        Self::with_bodies(inputs, rank, 1)
    }

    /// A key from and to secrets of `bodies` bodies each.
    fn with_bodies(inputs: usize, rank: usize, bodies: usize) -> Self {
        let step = 2 * DEGREE as u64;
        let mut moduli = largest_primes(36, step, STEPS + 1, &[]).expect("primes");
        moduli.extend(largest_primes(45, step, AUXILIARY, &moduli).expect("primes"));
        let (ring, meter) = counting_ring(DEGREE, &moduli);
        let chain = Arc::new(Chain::with_auxiliary(ring, &[1; STEPS], AUXILIARY).expect("chain"));
        let gadget = Arc::new(Gadget::by_bits(&chain, 36.0));
        let rng = &mut rng(1);
        let (from, to) = (secret(&chain, inputs, bodies, rng), secret(&chain, rank, bodies, rng));
        let key =
            SwitchKey::change_of_secret(&chain, &gadget, chain.max_level(), &from, &to, rng).expect("key");
        Self { meter, switcher: any_choice(&chain, &gadget, inputs), chain, key }
    }

    /// Uniform polynomials in Coeff form.
    fn inputs(&self, level: Level) -> Vec<Poly<Coeff>> {
        let s = secret(&self.chain, self.key.inputs(), 1, &mut rng(2));
        let zero = Bundle::encrypt_zero(&s, self.chain.ring(), &self.chain.basis(level), &mut rng(3))
            .expect("uniform");
        zero.mask().iter().map(|poly| poly.to_coeff()).collect()
    }

    /// What a switch from and to Coeff form takes, without the base conversions of its mod-down, which the
    /// table leaves out.
    fn count(&self, choice: SwitchMethod, level: Level) -> (Counts, usize, Option<(usize, usize)>) {
        let plan = self.switcher.tables_of_method(choice, level, self.chain.max_level()).expect("plan");
        let inputs = self.inputs(level);
        let inputs: Vec<&Poly<Coeff>> = inputs.iter().collect();
        // What is derived from the key is derived before.
        self.switcher.switch_coeff_by(&plan, &inputs, &self.key).expect("switch");
        self.meter.take();
        self.switcher.switch_coeff_by(&plan, &inputs, &self.key).expect("switch");
        let mut counts = self.meter.take();
        let (primes, special, columns) =
            (plan.basis().len(), plan.special().len(), self.key.rank() + self.key.body_count());
        counts.conversion -= if special > 1 { columns * special * primes } else { 0 };
        (counts, plan.digit_count(), plan.key_digits())
    }
}

/// `sum_j r_j f(r_j)` over digits of `r` primes of `l`, the last one what is left, those of one prime not
/// counted.
fn conversions(primes: usize, r: usize, targets: impl Fn(usize) -> usize) -> usize {
    (0..primes)
        .step_by(r)
        .map(|first| r.min(primes - first))
        .filter(|&own| own > 1)
        .map(|own| own * targets(own))
        .sum()
}

/// [klss, Table 1, 'Previous']: `d l~ + 2 l~` transforms; `2 d l~` Hadamard products, and `sum_j r_j (l~ - r_j)`, at most `l l~`, of base
/// conversions where `r > 1`. The same counts at every digit length that level-aware switching chooses from:
/// `l~ = l + r` [level-aware, Table 1: `O(d l + r)` and `O(l^2 + d l)`].
#[test]
fn hybrid_counts_are_the_tables_at_every_level_and_digit_length() {
    let counted = Counted::new(1, 1);
    for level in (0..STEPS).map(Level) {
        for r in 1..=STEPS - level.0 {
            let (l, tilde) = (level.0 + 1, level.0 + 1 + r);
            let (counts, digits, key_digits) = counted.count(SwitchMethod::hybrid(r), level);
            let d = l.div_ceil(r);
            assert_eq!((digits, key_digits), (d, None));
            assert_eq!(counts.ntt(), d * tilde + 2 * tilde, "level {level}, r = {r}");
            assert_eq!((counts.forward, counts.inverse), (d * tilde, 2 * tilde), "level {level}, r = {r}");
            assert_eq!(counts.hadamard, 2 * d * tilde, "level {level}, r = {r}");
            assert_eq!(counts.conversion, conversions(l, r, |own| tilde - own), "level {level}, r = {r}");
            // The table's l^2 is d r l~ in one piece.
            assert!(counts.conversion <= l * tilde);
            if r > 1 && l % r == 0 {
                assert_eq!(counts.conversion, d * r * (tilde - r), "level {level}, r = {r}: even digits");
            }
        }
    }
}

/// [klss, Table 1, 'Ours']: `d r' + 2 d~ r'` transforms; `2 (d d~ + l~) r'` Hadamard products, and `l r'` more where `r > 1`; `r'` the smallest by
/// Eq. (5).
#[test]
fn key_decomposed_counts_are_the_tables_at_every_level_and_digit_length() {
    let counted = Counted::new(1, 1);
    let moduli = counted.chain.ring().moduli();
    let auxiliary = counted.chain.auxiliary_basis();
    for r in 1..=5 {
        // The highest level with r free primes: keys are decomposed for it, and lower levels use a part.
        let top = STEPS - r;
        for level in (0..=top).map(Level) {
            for length in 1..=7 {
                let say = format!("level {level}, r = {r}, r~ = {length}");
                let (l, tilde) = (level.0 + 1, level.0 + 1 + r);
                let (counts, digits, key_digits) = counted.count(SwitchMethod::klss(r, length), level);
                let (key_digits, primes) = key_digits.expect("key digits");
                let d = l.div_ceil(r);
                assert_eq!(digits, d, "{say}");
                // Key digits over the top level's primes and the special ones; those of which this level uses
                // a prime.
                let rows: Vec<usize> = (0..=top).chain(STEPS + 1 - r..=STEPS).collect();
                let used = |rows: &&[usize]| rows.iter().any(|&i| i <= level.0 || i > STEPS - r);
                let tilde_d = rows.chunks(length).filter(used).count();
                assert_eq!(key_digits, tilde_d, "{say}");
                if level.0 == top {
                    assert_eq!(tilde_d, tilde.div_ceil(length), "{say}");
                }
                // Eq. (5): the smallest r' with B' > 2 d N B B~, B and B~ half the largest digits, for the
                // top level's d.
                let product =
                    |basis: &[usize]| oracle::product(&basis.iter().map(|&i| moduli[i]).collect::<Vec<_>>());
                let largest =
                    |length: usize, rows: &[usize]| rows.chunks(length).map(product).max().expect("digits");
                let all: Vec<usize> = (0..=top).collect();
                let needed =
                    BigInt::from((top + 1).div_ceil(r) * DEGREE) * largest(r, &all) * largest(length, &rows)
                        / 2;
                let holds = |count: usize| product(&auxiliary.indices()[..count]) > needed;
                assert!(holds(primes) && !holds(primes - 1), "{say}: r' = {primes}");
                assert_eq!((counts.forward, counts.inverse), (d * primes, 2 * tilde_d * primes), "{say}");
                assert_eq!(counts.ntt(), (d + 2 * tilde_d) * primes, "{say}");
                assert_eq!(counts.hadamard, 2 * d * tilde_d * primes, "{say}");
                assert_eq!(counts.conversion, conversions(l, r, |_| primes) + 2 * tilde * primes, "{say}");
                if r > 1 && l % r == 0 {
                    let all = counts.hadamard + counts.conversion;
                    assert_eq!(all, l * primes + 2 * (d * tilde_d + tilde) * primes, "{say}: even digits");
                }
            }
        }
    }
}

/// The same at any rank and number of inputs: `R d l~ + (k' + m') l~`, or `R d r' + (k' + m') d~ r'`;
/// [dpad-he, Table 1] has the former.
#[test]
fn counts_scale_with_inputs_and_columns() {
    for (inputs, rank) in [(1, 2), (3, 2), (6, 3)] {
        let counted = Counted::new(inputs, rank);
        let columns = rank + 1;
        for (level, r) in [(Level(5), 2), (Level(8), 3), (Level(8), 4)] {
            let (l, tilde) = (level.0 + 1, level.0 + 1 + r);
            let d = l.div_ceil(r);
            let (hybrid, ..) = counted.count(SwitchMethod::hybrid(r), level);
            assert_eq!((hybrid.forward, hybrid.inverse), (inputs * d * tilde, columns * tilde));
            assert_eq!(hybrid.hadamard, inputs * columns * d * tilde);
            assert_eq!(hybrid.conversion, inputs * conversions(l, r, |own| tilde - own));
            let (decomposed, _, key_digits) = counted.count(SwitchMethod::klss(r, 4), level);
            let (tilde_d, primes) = key_digits.expect("key digits");
            assert_eq!(
                (decomposed.forward, decomposed.inverse),
                (inputs * d * primes, columns * tilde_d * primes)
            );
            assert_eq!(decomposed.hadamard, inputs * columns * d * tilde_d * primes);
            assert_eq!(
                decomposed.conversion,
                inputs * conversions(l, r, |_| primes) + columns * tilde * primes
            );
        }
    }
}

/// [pcmm-mambo, Table 2]: a switch of `n` bodies under one mask takes 1 ModUp, `n + 1` MultSwk and `n + 1` ModDown, where `n` switches take `n`, `2 n` and `2 n`. In
/// transforms and products, with `d` digits and `l~` primes: a ModUp is `d l~` transforms, a MultSwk `d l~`
/// products, a ModDown `l~` transforms.
#[test]
fn switches_of_bodies_under_one_mask_are_counted_as_in_the_paper() {
    let one = Counted::new(1, 1);
    for bodies in [1, 2, 3, 8] {
        let shared = Counted::with_bodies(1, 1, bodies);
        for (level, r) in [(Level(5), 1), (Level(5), 2), (Level(8), 3), (Level(11), 1)] {
            let (l, tilde) = (level.0 + 1, level.0 + 1 + r);
            let d = l.div_ceil(r);
            let (whole, ..) = shared.count(SwitchMethod::hybrid(r), level);
            let (alone, ..) = one.count(SwitchMethod::hybrid(r), level);
            assert_eq!(
                (whole.forward, whole.hadamard, whole.inverse),
                (d * tilde, (bodies + 1) * d * tilde, (bodies + 1) * tilde)
            );
            assert_eq!((alone.forward, alone.hadamard, alone.inverse), (d * tilde, 2 * d * tilde, 2 * tilde));
            assert_eq!(
                whole.conversion, alone.conversion,
                "the conversions of the digits are those of one mask"
            );
            let (decomposed, _, key_digits) = shared.count(SwitchMethod::klss(r, 4), level);
            let (tilde_d, primes) = key_digits.expect("key digits");
            assert_eq!(
                (decomposed.forward, decomposed.inverse),
                (d * primes, (bodies + 1) * tilde_d * primes)
            );
            assert_eq!(decomposed.hadamard, (bodies + 1) * d * tilde_d * primes);
        }
    }
}

/// A decomposition shared by several keys is paid once, a mod-down shared by several products too. [klss,
/// sec. 4]
#[test]
fn hoisted_digits_and_shared_mod_downs_are_counted_once() {
    let counted = Counted::new(1, 1);
    let (switcher, level) = (&counted.switcher, Level(7));
    let u = counted.inputs(level).swap_remove(0).into_eval();
    for choice in [SwitchMethod::hybrid(2), SwitchMethod::klss(2, 3)] {
        let plan = switcher.tables_of_method(choice, level, counted.chain.max_level()).expect("plan");
        let (l, tilde, d) = (8, 10, 4);
        let digits = switcher.decompose_by(&plan, &u).expect("digits");
        switcher.inner_product(&[&digits], &counted.key).expect("derived");
        counted.meter.take();
        let digits = switcher.decompose_by(&plan, &u).expect("digits");
        let decomposition = counted.meter.take();
        // Eval form in: the hybrid method leaves each digit's own rows as they are.
        let forward = plan.key_digits().map_or(d * tilde - l, |(_, primes)| d * primes);
        assert_eq!((decomposition.inverse, decomposition.forward, decomposition.hadamard), (l, forward, 0));
        let mut sum = switcher.inner_product(&[&digits], &counted.key).expect("product");
        let product = counted.meter.take();
        let (products, inverse) = plan
            .key_digits()
            .map_or((2 * d * tilde, 0), |(groups, primes)| (2 * d * groups * primes, 2 * groups * primes));
        assert_eq!((product.hadamard, product.forward, product.inverse), (products, 0, inverse));
        for _ in 0..3 {
            sum.add_assign(&switcher.inner_product(&[&digits], &counted.key).expect("product"))
                .expect("same plan");
        }
        let products = counted.meter.take();
        assert_eq!((products.hadamard, products.ntt()), (3 * product.hadamard, 3 * product.ntt()));
        switcher.mod_down(&sum).expect("mod-down");
        let mod_down = counted.meter.take();
        // From Eval form the special rows go back and the remainder comes forth; from Coeff form only the
        // quotient does.
        let back = if plan.key_digits().is_some() { 0 } else { 2 * plan.special().len() };
        assert_eq!((mod_down.inverse, mod_down.forward), (back, 2 * l));
    }
}

#[test]
fn bases_of_the_counted_chain_are_the_papers() {
    let counted = Counted::new(1, 1);
    assert_eq!(counted.chain.special_basis(), Basis::new([STEPS]));
    assert_eq!(counted.switcher.gadget().digits().len(), STEPS);
}

/// The cost model speaks of what happens: a planned map's transforms and products are those that its switches
/// take, from and to Eval form.
#[test]
fn planned_maps_count_the_transforms_and_products_that_their_switches_take() {
    let counted = Counted::new(1, 1);
    let mut seen = std::collections::BTreeSet::new();
    // Plentiful and scarce memory for derived keys, and machines whose transforms are cheap or dear.
    for (expansion, transform) in [(10.0, 1.0), (10.0, 10.0), (10.0, 0.02), (1.0, 1.0), (0.0, 1.0)] {
        let mut profile = MachineProfile::built_in();
        profile
            .kernels
            .iter_mut()
            .for_each(|times| times.transform = times.transform.map(|time| time * transform));
        let policy = SwitchPolicy::Planned(Planner::new(profile, 2, expansion));
        let gadget = Arc::new(counted.switcher.gadget().clone());
        let switcher =
            Switcher::with_policy(counted.chain.clone(), gadget, policy, 1, 1 << 30).expect("switcher");
        let top = counted.chain.max_level();
        let map = switcher.map(top).expect("planned");
        assert_eq!(map.rows.len(), STEPS);
        assert!(
            map.derived_bytes as f64 <= expansion * map.key_bytes as f64,
            "{} of {}",
            map.derived_bytes,
            map.key_bytes
        );
        // Keys of this switcher alone.
        let s = secret(&counted.chain, 1, 1, &mut rng(11));
        let key = SwitchKey::change_of_secret(&counted.chain, switcher.gadget(), top, &s, &s, &mut rng(12))
            .expect("key");
        for row in &map.rows {
            seen.insert(row.method);
            let plan = switcher.tables(row.level).expect("as the map says");
            assert_eq!((plan.method(), plan.digit_count()), (row.method, row.digits));
            let u = counted.inputs(row.level).swap_remove(0).into_eval();
            let switched = switcher.switch(&[&u], &key).expect("switch");
            counted.meter.take();
            assert_eq!(switcher.switch(&[&u], &key).expect("switch"), switched);
            let counts = counted.meter.take();
            // Levels below the highest of a KLSS representation may use more auxiliary primes than they would
            // need alone.
            let shared = row.method.key_digit.is_some()
                && map.rows.iter().any(|other| other.method == row.method && other.level > row.level);
            let told = (row.counts.transforms.iter().sum::<f64>(), row.counts.products);
            let taken = (counts.ntt() as f64, counts.hadamard as f64);
            let say = format!("{row:?}");
            assert!(
                if shared { told.0 <= taken.0 && told.1 <= taken.1 } else { told == taken },
                "{taken:?} taken: {say}"
            );
            let secrets = s.eval(u.ring(), u.basis(), 0);
            let expected = Poly::inner_product(&[&u], &[secrets[0].get()]).expect("same basis");
            let model = NoiseModel { degree: DEGREE, rank: 1, secret_variance: s.coefficient_variance() };
            let limit = model.switch_limit(1, &plan.noise_digits());
            assert!(errors(&switched, &s, 0, &expected).iter().all(|e| e.abs() <= limit), "{say}");
        }
        assert!(
            switcher.derived_keys().bytes() <= map.derived_bytes + key.bytes() / 8,
            "{} of {}",
            switcher.derived_keys().bytes(),
            map.derived_bytes
        );
    }
    let engines = [
        seen.iter().any(|choice| choice.key_digit.is_some()),
        seen.iter().any(|choice| choice.coalesced && choice.key_digit.is_none()),
    ];
    assert_eq!(engines, [true, true], "{seen:?}");
}
