//! Switches of what does not fit: plans, digits, keys and sums of other rings, chains, gadgets, levels. Each
//! is an error with numbers, or a right result; a panic anywhere fails the test.

use std::sync::Arc;

use crate::common::*;
use clathrate_arith::primes::largest_primes;
use clathrate_lattice::switch::{Extended, SwitchMethod, SwitchTables};
use clathrate_lattice::{
    Basis, Bundle, Chain, Eval, Gadget, LatticeError, Level, Poly, SecretKey, SwitchKey, Switcher,
};

const DEGREE: usize = 32;
const PRIMES: usize = 9;
const AUXILIARY: usize = 6;

fn error<T>(result: Result<T, LatticeError>) -> LatticeError {
    let error = result.err().expect("bad input is refused");
    let text = error.to_string();
    assert!(text.len() > 20 && text.chars().any(|c| c.is_ascii_digit()) && !text.contains("{}"), "{text}");
    error
}

/// A chain over `ring` and everything made for it.
struct World {
    name: &'static str,
    chain: Arc<Chain>,
    switcher: Switcher,
    secret: SecretKey,
    key: SwitchKey,
    low: SwitchKey,
}

fn moduli(degree: usize, bits: u32) -> Vec<u64> {
    let step = 2 * degree as u64;
    let mut moduli = largest_primes(bits, step, PRIMES, &[]).expect("primes");
    moduli.extend(largest_primes(45, step, AUXILIARY, &moduli).expect("primes"));
    moduli
}

impl World {
    /// A chain of the given steps, `special` special primes, and the rest auxiliary ones; base digits of at
    /// most `digit_bits`.
    fn new(
        name: &'static str,
        degree: usize,
        bits: u32,
        steps: &[usize],
        special: usize,
        digit_bits: f64,
    ) -> Self {
        let moduli = moduli(degree, bits);
        let auxiliary = moduli.len() - steps.iter().sum::<usize>() - special;
        let chain = Arc::new(
            Chain::with_auxiliary(crate::common::new_ring(degree, &moduli), steps, auxiliary).expect("chain"),
        );
        let gadget = Arc::new(Gadget::by_bits(&chain, digit_bits));
        // One secret for all chains of a degree: it belongs to no moduli.
        let secret = secret(&chain, 1, 1, &mut rng(7));
        let key = |level: Level| {
            SwitchKey::change_of_secret(&chain, &gadget, level, &secret, &secret, &mut rng(8)).expect("key")
        };
        let (key, low) = (key(chain.max_level()), key(Level(1)));
        Self { name, switcher: any_choice(&chain, &gadget, 1), chain, secret, key, low }
    }

    fn plans(&self) -> Vec<Arc<SwitchTables>> {
        let top = self.chain.max_level();
        let mut plans = Vec::new();
        for level in [Level(1), Level(2), top] {
            for choice in
                [SwitchMethod::as_made(&self.chain), SwitchMethod::hybrid(2), SwitchMethod::klss(2, 2)]
            {
                plans.extend(self.switcher.tables_of_method(choice, level, top));
            }
        }
        plans
    }

    fn input(&self, level: Level) -> Poly<Eval> {
        Bundle::encrypt_zero(&self.secret, self.chain.ring(), &self.chain.basis(level), &mut rng(9))
            .expect("uniform")
            .mask()
            .at(0)
            .to_owned()
    }

    /// Whether `switched` is `u` times the secret, up to noise.
    fn is_right(&self, switched: &Bundle<Eval>, u: &Poly<Eval>) -> bool {
        let s = self.secret.eval(u.ring(), u.basis(), 0);
        let expected = Poly::inner_product(&[u], &[s[0].get()]).expect("same basis");
        errors(switched, &self.secret, 0, &expected).iter().all(|e| e.abs() < 1e6)
    }
}

fn worlds() -> Vec<World> {
    vec![
        World::new("one", DEGREE, 36, &[2, 1, 1, 1, 1], 2, 36.5),
        World::new("its like", DEGREE, 36, &[2, 1, 1, 1, 1], 2, 36.5),
        World::new("of another degree", DEGREE / 2, 36, &[2, 1, 1, 1, 1], 2, 36.5),
        World::new("of other primes", DEGREE, 35, &[2, 1, 1, 1, 1], 2, 36.5),
        World::new("of one special prime more", DEGREE, 36, &[2, 1, 1, 1, 1], 3, 36.5),
        World::new("of longer steps", DEGREE, 36, &[2, 2, 2], 2, 36.5),
        World::new("of longer base digits", DEGREE, 36, &[2, 1, 1, 1, 1], 2, 72.5),
        World::new("of fewer steps", DEGREE, 36, &[2, 1, 1], 4, 36.5),
    ]
}

#[test]
fn every_mixture_of_switcher_plan_input_and_key_is_an_error_or_right() {
    let worlds = worlds();
    let (mut right, mut refused) = (0, 0);
    for host in &worlds {
        for planner in &worlds {
            for plan in planner.plans() {
                for giver in &worlds {
                    for level in [Level(1), Level(2)] {
                        let u = giver.input(level);
                        let coeff = u.clone().into_coeff();
                        let digits = host.switcher.decompose_by(&plan, &u);
                        for (keeper, key) in
                            worlds.iter().flat_map(|world| [(world, &world.key), (world, &world.low)])
                        {
                            let say = format!(
                                "switcher {}, plan {} ({}, {:?}), input {} ({level}), key {} ({})",
                                host.name,
                                planner.name,
                                plan.level(),
                                plan.method(),
                                giver.name,
                                keeper.name,
                                key.level()
                            );
                            let fused = host.switcher.product_by(&plan, &[&u], key);
                            let whole = host.switcher.switch_coeff_by(&plan, &[&coeff], key);
                            let hoisted = digits
                                .as_ref()
                                .map_err(Clone::clone)
                                .and_then(|digits| host.switcher.inner_product(&[digits], key));
                            assert_eq!(
                                (fused.is_ok(), whole.is_ok()),
                                (hoisted.is_ok(), hoisted.is_ok()),
                                "{say}"
                            );
                            match fused {
                                Ok(product) => {
                                    let switched = host.switcher.mod_down(&product).expect("its own");
                                    assert!(host.is_right(&switched, &u), "{say}: wrong");
                                    assert_eq!(switched, whole.expect("the same").into_eval(), "{say}");
                                    right += 1;
                                }
                                Err(refusal) => {
                                    error::<()>(Err(refusal));
                                    refused += 1;
                                }
                            }
                            // What fits together by itself is never refused.
                            let own = std::ptr::eq(host, planner)
                                && std::ptr::eq(host, giver)
                                && std::ptr::eq(host, keeper);
                            if own && plan.level() == level && (key.level() == host.chain.max_level()) {
                                assert!(host.switcher.product_by(&plan, &[&u], key).is_ok(), "{say}");
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(right > 100 && refused > 1000, "{right} right, {refused} refused");
}

#[test]
fn plans_digits_and_keys_of_others_are_refused_with_what_differs() {
    let worlds = worlds();
    let [one, _, degree, primes, special, steps, digits, fewer] = worlds.as_slice() else {
        panic!("eight worlds")
    };
    let level = Level(2);
    let plan = |world: &World, choice| {
        world.switcher.tables_of_method(choice, level, world.chain.max_level()).expect("plan")
    };
    let (made, hybrid) = (SwitchMethod::as_made(&one.chain), SwitchMethod::hybrid(2));
    let u = one.input(level);
    // Rings.
    let rings = |right| LatticeError::RingMismatch { left: DEGREE, right };
    for (world, right) in [(degree, DEGREE / 2), (primes, DEGREE)] {
        let foreign = plan(world, hybrid);
        assert_eq!(error(one.switcher.product_by(&foreign, &[&u], &world.key)), rings(right));
        assert_eq!(
            error(one.switcher.product_by(&foreign, &[&world.input(level)], &world.key)),
            rings(right)
        );
        assert_eq!(error(one.switcher.decompose_by(&foreign, &u)), rings(right));
        let alien = world.switcher.decompose_by(&foreign, &world.input(level)).expect("its own");
        assert_eq!(error(one.switcher.inner_product(&[&alien], &world.key)), rings(right));
        let own = one.switcher.decompose_by(&plan(one, hybrid), &u).expect("its own");
        assert_eq!(error(one.switcher.inner_product(&[&own, &alien], &one.key)), rings(right));
        // A key of another ring: its digits and the plan's.
        let few = LatticeError::KeyGadget { key_digits: world.key.digit_count(), digits: 2 };
        assert_eq!(error(one.switcher.product_by(&plan(one, hybrid), &[&u], &world.key)), few);
    }
    // Chains of the same ring: the whole modulus, the steps, the base digits differ.
    let gadget = |key_digits, digits| LatticeError::KeyGadget { key_digits, digits };
    assert_eq!(error(one.switcher.product_by(&plan(special, hybrid), &[&u], &one.key)), gadget(2, 4));
    assert_eq!(error(one.switcher.product_by(&plan(one, hybrid), &[&u], &special.key)), gadget(6, 2));
    assert_eq!(error(one.switcher.product_by(&plan(steps, hybrid), &[&u], &one.key)), gadget(3, 4));
    assert_eq!(error(one.switcher.product_by(&plan(one, hybrid), &[&u], &digits.key)), gadget(3, 2));
    assert_eq!(error(one.switcher.product_by(&plan(one, made), &[&u], &fewer.key)), gadget(4, 4));
    // Levels: the plan's against the input's (primes), the key's against the plan's.
    let bases = LatticeError::BasisMismatch { left: 4, right: 3 };
    assert_eq!(error(one.switcher.product_by(&plan(one, hybrid), &[&one.input(Level(1))], &one.key)), bases);
    assert_eq!(error(one.switcher.decompose_by(&plan(one, hybrid), &one.input(Level(1)))), bases);
    let low = LatticeError::KeyLevelTooLow { key_level: 1, level: 2 };
    assert_eq!(error(one.switcher.product_by(&plan(one, hybrid), &[&u], &one.low)), low);
    assert_eq!(error(one.switcher.tables_for_keys(level, &[&one.key, &one.low])), low);
    assert_eq!(error(one.switcher.derive(level, &one.low)), low);
    // A plan that borrows primes the key does not have.
    let borrowing = one
        .switcher
        .tables_of_method(SwitchMethod::hybrid(4), Level(1), one.chain.max_level())
        .expect("plan");
    assert_eq!(error(one.switcher.product_by(&borrowing, &[&one.input(Level(1))], &one.low)), gadget(3, 1));
    // Counts.
    let inputs = |inputs| LatticeError::KeyInputs { key_inputs: 1, inputs };
    assert_eq!(
        error(one.switcher.product_by(&plan(one, hybrid), &[] as &[&Poly<Eval>], &one.key)),
        inputs(0)
    );
    assert_eq!(error(one.switcher.product_by(&plan(one, hybrid), &[&u, &u], &one.key)), inputs(2));
    assert_eq!(error(one.switcher.inner_product(&[], &one.key)), inputs(0));
    // Digits of two plans.
    let of = |choice| one.switcher.decompose_by(&plan(one, choice), &u).expect("digits");
    assert_eq!(error(one.switcher.inner_product(&[&of(hybrid), &of(made)], &one.key)), gadget(4, 2));
    assert_eq!(
        error(one.switcher.inner_product(&[&of(hybrid), &of(SwitchMethod::klss(2, 2))], &one.key)),
        gadget(2, 2)
    );
}

#[test]
fn choices_that_a_level_cannot_make_are_refused_with_their_numbers() {
    let chain =
        chain_with_auxiliary(&Shape { degree: DEGREE, bits: 36, steps: 5, special_bits: 37, special: 2 }, 4);
    let pairs = Arc::new(Gadget::by_bits(&chain, 72.5));
    let switcher = any_choice(&chain, &pairs, 1);
    let (key_level, top) = (Level(3), chain.max_level());
    let plan = |choice, level, key_level| switcher.tables_of_method(choice, level, key_level);
    // Special primes: two of the chain, and what base digits of two primes leave of the steps below the key's
    // level.
    let few = |special, free, level: usize, key_level: usize| LatticeError::FewFreePrimes {
        special,
        free,
        level,
        key_level,
    };
    for special in [0, 5, usize::MAX] {
        assert_eq!(error(plan(SwitchMethod::hybrid(special), Level(1), key_level)), few(special, 3, 1, 3));
    }
    assert_eq!(error(plan(SwitchMethod::hybrid(3), top, top)), few(3, 2, 5, 5));
    assert_eq!(error(plan(SwitchMethod::klss(0, 2), Level(0), Level(0))), few(0, 2, 0, 0));
    // A base digit of 72 bits over 37 bits of special modulus.
    match error(plan(SwitchMethod::hybrid(1), top, top)) {
        LatticeError::DigitTooLarge { digit, digit_bits, special_bits } => {
            assert_eq!(digit, 0);
            assert!(
                (digit_bits - 60.0).abs() < 0.1 && (special_bits - 37.5).abs() < 0.1,
                "{digit_bits} over {special_bits}"
            );
        }
        other => panic!("{other}"),
    }
    // Key digits.
    assert_eq!(
        error(plan(SwitchMethod::klss(2, 0), Level(1), top)),
        LatticeError::EmptyShape { what: "the length of key digits", got: 0 }
    );
    for length in [4, 100, usize::MAX] {
        match error(plan(SwitchMethod::klss(2, length), Level(1), top)) {
            LatticeError::FewAuxiliaryPrimes { bits, needed, available } => {
                assert!(
                    (available - 180.0).abs() < 0.1 && needed > available && bits > 90.0,
                    "{bits} {needed} {available}"
                );
            }
            other => panic!("{other}"),
        }
    }
    let bare = chain_of_no_auxiliary_primes();
    let none = any_choice(&bare, &Arc::new(Gadget::by_bits(&bare, 36.5)), 1);
    match error(none.tables_of_method(SwitchMethod::klss(1, 1), Level(0), Level(0))) {
        LatticeError::FewAuxiliaryPrimes { available, .. } => assert_eq!(available, 0.0),
        other => panic!("{other}"),
    }
    // Levels.
    let out = |level| LatticeError::LevelOutOfRange { level, max: 5 };
    for level in [6, usize::MAX] {
        assert_eq!(error(plan(SwitchMethod::hybrid(2), Level(level), top)), out(level));
        assert_eq!(error(plan(SwitchMethod::hybrid(2), Level(0), Level(level))), out(level));
    }
    assert_eq!(
        error(plan(SwitchMethod::hybrid(2), Level(4), key_level)),
        LatticeError::KeyLevelTooLow { key_level: 3, level: 4 }
    );
    // By policy the same choices are the same errors, wherever a switch begins.
    let wrong = fixed(&chain, &pairs, SwitchMethod::klss(2, 0), 1);
    let s = secret(&chain, 1, 1, &mut rng(1));
    let key = SwitchKey::change_of_secret(&chain, &pairs, top, &s, &s, &mut rng(2)).expect("key");
    let u = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(1)), &mut rng(3))
        .expect("zero")
        .mask()
        .at(0)
        .to_owned();
    let empty = LatticeError::EmptyShape { what: "the length of key digits", got: 0 };
    assert_eq!(error(wrong.switch(&[&u], &key)), empty);
    assert_eq!(error(wrong.switch_coeff(&[&u.clone().into_coeff()], &key)), empty);
    assert_eq!(error(wrong.decompose(&u)), empty);
    assert_eq!(error(wrong.derive(Level(1), &key)), empty);
}

fn chain_of_no_auxiliary_primes() -> Arc<Chain> {
    chain(&Shape { degree: DEGREE, bits: 36, steps: 3, special_bits: 37, special: 2 })
}

#[test]
fn a_level_whose_digits_fit_switches_where_higher_levels_do_not() {
    // Base digits of 60 and 36 bits up to level 2, then a pair of 80: two special primes of 37 bits divide
    // away all but that one, and the half of it that level 3 has.
    let step = 2 * DEGREE as u64;
    let mut moduli = Vec::new();
    for (bits, count) in [(30, 2), (36, 2), (40, 2), (37, 2), (45, 8)] {
        moduli.extend(largest_primes(bits, step, count, &moduli).expect("primes"));
    }
    let chain = Arc::new(
        Chain::with_auxiliary(crate::common::new_ring(DEGREE, &moduli), &[2, 1, 1, 1, 1], 8).expect("chain"),
    );
    let gadget = Arc::new(Gadget::by_bits(&chain, 80.5));
    let (s, top) = (secret(&chain, 1, 1, &mut rng(1)), chain.max_level());
    let key = SwitchKey::change_of_secret(&chain, &gadget, top, &s, &s, &mut rng(2)).expect("key");
    for choice in [SwitchMethod::hybrid(2), SwitchMethod::klss(2, 2)] {
        let switcher = fixed(&chain, &gadget, choice, 1);
        for level in (0..=top.0).map(Level) {
            let plan = switcher.tables(level);
            if level > Level(3) {
                assert!(matches!(error(plan), LatticeError::DigitTooLarge { .. }), "level {level}");
                continue;
            }
            assert_eq!(plan.expect("its digits fit").method(), choice, "level {level}");
            let u = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(level), &mut rng(3))
                .expect("zero")
                .mask()
                .at(0)
                .to_owned();
            switcher.switch(&[&u], &key).expect("switch");
        }
    }
}

#[test]
fn sums_of_products_that_do_not_fit_are_refused_and_left_as_they_are() {
    let worlds = worlds();
    let (one, level) = (&worlds[0], Level(2));
    let rng = &mut rng(4);
    let gadget = Arc::new(one.switcher.gadget().clone());
    let switcher = any_choice(&one.chain, &gadget, 2);
    let product = |rank: usize, bodies: usize, choice: SwitchMethod, level: Level| -> Extended {
        let (from, to) = (
            secret(&one.chain, 1, bodies, &mut crate::common::rng(5)),
            secret(&one.chain, rank, bodies, &mut crate::common::rng(6)),
        );
        let key = SwitchKey::change_of_secret(
            &one.chain,
            &gadget,
            one.chain.max_level(),
            &from,
            &to,
            &mut crate::common::rng(7),
        )
        .expect("key");
        let plan = switcher.tables_of_method(choice, level, one.chain.max_level()).expect("plan");
        switcher.product_by(&plan, &[&one.input(level)], &key).expect("product")
    };
    let (hybrid, decomposed) = (SwitchMethod::hybrid(2), SwitchMethod::klss(2, 2));
    for (left, right) in
        [(hybrid, hybrid), (hybrid, decomposed), (decomposed, hybrid), (decomposed, decomposed)]
    {
        let mut sum = product(2, 1, left, level);
        let before = sum.to_eval().expect("one part");
        let ranks = LatticeError::RankMismatch { left: 2, right: 1 };
        assert_eq!(error(sum.add_assign(&product(1, 1, right, level))), ranks, "{left:?} and {right:?}");
        assert_eq!(error(sum.add_assign(&product(1, 2, right, level))), ranks);
        assert_eq!(
            error(sum.add_assign(&product(2, 2, right, level))),
            LatticeError::BodiesMismatch { left: 1, right: 2 }
        );
        assert_eq!(
            error(sum.add_assign(&product(2, 1, right, Level(1)))),
            LatticeError::BasisMismatch { left: 6, right: 5 }
        );
        let wider = SwitchMethod { special: 3, ..right };
        assert_eq!(
            error(sum.add_assign(&product(2, 1, wider, level))),
            LatticeError::BasisMismatch { left: 6, right: 7 }
        );
        for other in [&worlds[2], &worlds[3]] {
            let plan = other.switcher.tables_of_method(right, level, other.chain.max_level()).expect("plan");
            let alien =
                other.switcher.product_by(&plan, &[&other.input(level)], &other.key).expect("product");
            let rings = LatticeError::RingMismatch { left: DEGREE, right: other.chain.ring().degree() };
            assert_eq!(error(sum.add_assign(&alien)), rings);
        }
        // Terms.
        let terms = |world: &World, level: Level, count: usize| vec![world.input(level); count];
        for count in [0, 2, 4] {
            let counts = LatticeError::BodiesMismatch { left: 3, right: count };
            assert_eq!(error(sum.add_lifted(&terms(one, level, count))), counts);
        }
        assert_eq!(
            error(sum.add_lifted(&terms(one, Level(1), 3))),
            LatticeError::BasisMismatch { left: 3, right: 4 }
        );
        for other in [&worlds[2], &worlds[3]] {
            let rings = LatticeError::RingMismatch { left: other.chain.ring().degree(), right: DEGREE };
            assert_eq!(error(sum.add_lifted(&terms(other, level, 3))), rings);
        }
        let mut one_bad = terms(one, level, 3);
        one_bad[2] = Poly::zero(one.chain.ring(), &Basis::new([0]));
        assert_eq!(error(sum.add_lifted(&one_bad)), LatticeError::BasisMismatch { left: 1, right: 4 });
        assert_eq!(sum.to_eval().expect("one part"), before, "a refused operation changes nothing");
        // And what fits still does.
        sum.add_assign(&product(2, 1, right, level)).expect("fits");
        sum.add_lifted(&terms(one, level, 3)).expect("fits");
    }
    let s = secret(&one.chain, 1, 1, rng);
    let key = SwitchKey::change_of_secret(&one.chain, &gadget, Level(0), &s, &s, rng).expect("key");
    for choice in [hybrid, decomposed] {
        let plan = switcher.tables_of_method(choice, Level(0), Level(0)).expect("plan");
        let product = switcher.product_by(&plan, &[&one.input(Level(0))], &key).expect("product");
        assert_eq!(switcher.mod_down_rescale(&product).err(), Some(LatticeError::NoLevelLeft));
    }
}
