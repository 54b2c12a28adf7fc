//! Derived keys: what they take, when they are dropped, and that dropping them changes no bit.

use std::sync::Arc;

use crate::common::*;
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy, SwitchTables};
use clathrate_lattice::{
    Bundle, Chain, Eval, Gadget, LatticeError, Level, Poly, PolyRef, SwitchKey, Switcher,
};

const INPUTS: usize = 2;

/// Ways that derive something: sums of components, and key digits of them.
const CHOICES: [SwitchMethod; 4] = [
    SwitchMethod { special: 2, coalesced: true, key_digit: None },
    SwitchMethod { special: 3, coalesced: true, key_digit: None },
    SwitchMethod { special: 2, coalesced: true, key_digit: Some(3) },
    SwitchMethod { special: 3, coalesced: true, key_digit: Some(2) },
];

struct Case {
    chain: Arc<Chain>,
    gadget: Arc<Gadget>,
    keys: Vec<SwitchKey>,
    inputs: Vec<Poly<Eval>>,
}

impl Case {
    fn new(degree: usize, keys: usize) -> Self {
        let chain =
            chain_with_auxiliary(&Shape { degree, bits: 36, steps: 6, special_bits: 36, special: 1 }, 10);
        let gadget = Arc::new(Gadget::by_bits(&chain, 36.5));
        let rng = &mut rng(1);
        let s = secret(&chain, INPUTS, 1, rng);
        let key =
            |_| SwitchKey::change_of_secret(&chain, &gadget, chain.max_level(), &s, &s, rng).expect("key");
        let keys = (0..keys).map(key).collect();
        let zero = Bundle::encrypt_zero(&s, chain.ring(), &chain.basis(Level(3)), &mut crate::common::rng(2))
            .expect("uniform");
        Self { inputs: zero.mask().to_vec(), chain, gadget, keys }
    }

    fn switcher(&self, budget: usize) -> Switcher {
        let policy = SwitchPolicy::Fixed(SwitchMethod::as_made(&self.chain));
        Switcher::with_policy(self.chain.clone(), self.gadget.clone(), policy, INPUTS, budget)
            .expect("switcher")
    }

    fn plan(&self, switcher: &Switcher, choice: SwitchMethod) -> Arc<SwitchTables> {
        switcher.tables_of_method(choice, Level(3), self.chain.max_level()).expect("plan")
    }

    fn switch(&self, switcher: &Switcher, choice: SwitchMethod, key: usize) -> Bundle<Eval> {
        let inputs: Vec<&Poly<Eval>> = self.inputs.iter().collect();
        let product =
            switcher.product_by(&self.plan(switcher, choice), &inputs, &self.keys[key]).expect("product");
        switcher.mod_down(&product).expect("mod-down")
    }
}

#[test]
fn results_are_the_same_bits_under_every_budget_and_after_every_drop() {
    let case = Case::new(32, 3);
    let plenty = case.switcher(1 << 30);
    let expected: Vec<Bundle<Eval>> = CHOICES
        .iter()
        .flat_map(|&choice| (0..3).map(move |key| (choice, key)))
        .map(|(choice, key)| case.switch(&plenty, choice, key))
        .collect();
    let all = plenty.derived_keys().bytes();
    // Each key has its own forms, so others' switchers see what one has derived: fresh keys, the same bits.
    for budget in [0, 1, all / 12, all / 3, all - 1, all, usize::MAX / 2] {
        let case = Case::new(32, 3);
        let switcher = case.switcher(budget);
        for round in 0..3 {
            for (i, &choice) in CHOICES.iter().enumerate() {
                for key in 0..3 {
                    assert_eq!(
                        case.switch(&switcher, choice, key),
                        expected[i * 3 + key],
                        "budget {budget}, round {round}, {choice:?}"
                    );
                    assert!(
                        switcher.derived_keys().bytes() <= budget,
                        "{} bytes of {budget}",
                        switcher.derived_keys().bytes()
                    );
                }
            }
            if round == 1 {
                switcher.derived_keys().clear();
                assert_eq!(switcher.derived_keys().bytes(), 0);
                assert!(case.keys.iter().all(|key| key.derived().bytes() == 0));
            }
        }
        assert_eq!(switcher.derived_keys().bytes() == all, budget >= all, "budget {budget} of {all}");
    }
}

#[test]
fn bytes_told_are_the_bytes_that_derived_keys_take() {
    // Rows of whole cache lines: no padding between them.
    let case = Case::new(512, 1);
    for &choice in &CHOICES {
        let policy = SwitchPolicy::Fixed(choice);
        let switcher =
            Switcher::with_policy(case.chain.clone(), case.gadget.clone(), policy, INPUTS, 1 << 30)
                .expect("switcher");
        let key = &Case::new(512, 1).keys[0];
        let told = switcher.derive(Level(3), key).expect("prepared");
        assert!(told > 0);
        assert_eq!((switcher.derived_keys().bytes(), key.derived().bytes()), (told, told), "{choice:?}");
        // Prepared is prepared: the switch derives nothing more.
        let inputs: Vec<&Poly<Eval>> = case.inputs.iter().collect();
        switcher.switch(&inputs, key).expect("switch");
        assert_eq!(switcher.derived_keys().bytes(), told, "{choice:?}");
    }
    let as_made = case.switcher(1 << 30);
    assert_eq!(as_made.derive(Level(3), &case.keys[0]), Ok(0), "a key as it was made takes nothing more");
    assert_eq!(as_made.derived_keys().bytes(), 0);
}

#[test]
fn switches_by_policy_fall_back_to_the_key_as_made_where_the_budget_is_spent() {
    let case = Case::new(512, 2);
    let policy = || SwitchPolicy::Fixed(CHOICES[1]);
    let switcher = |budget| {
        Switcher::with_policy(case.chain.clone(), case.gadget.clone(), policy(), INPUTS, budget)
            .expect("switcher")
    };
    let one = switcher(1 << 30).derive(Level(3), &Case::new(512, 1).keys[0]).expect("prepared");
    let tight = switcher(one);
    let plan = |key: usize| tight.tables_for_keys(Level(3), &[&case.keys[key]]).expect("plan").method();
    assert_eq!(plan(0), CHOICES[1]);
    assert_eq!(plan(1), SwitchMethod::as_made(&case.chain), "the first key's form is in use");
    assert_eq!(plan(0), CHOICES[1]);
    // Out of use for long enough, it gives way.
    let later: Vec<SwitchMethod> = (0..32).map(|_| plan(1)).collect();
    assert_eq!(later.last(), Some(&CHOICES[1]));
    assert_eq!((tight.derived_keys().bytes(), case.keys[0].derived().bytes()), (one, 0));
    // A set of keys shares one plan: all derived, or none.
    let both = [&case.keys[0], &case.keys[1]];
    assert_eq!(
        tight.tables_for_keys(Level(3), &both).expect("plan").method(),
        SwitchMethod::as_made(&case.chain)
    );
}

#[test]
fn forms_live_and_die_with_their_key() {
    let mut case = Case::new(32, 2);
    let switcher = case.switcher(1 << 30);
    case.switch(&switcher, CHOICES[0], 0);
    let one = switcher.derived_keys().bytes();
    case.switch(&switcher, CHOICES[0], 1);
    assert_eq!(switcher.derived_keys().bytes(), 2 * one);
    let shared = case.keys[1].clone();
    assert_eq!(shared.derived().bytes(), one, "a copy of a key has its forms");
    case.keys.pop();
    assert_eq!(switcher.derived_keys().bytes(), 2 * one);
    drop(shared);
    assert_eq!(switcher.derived_keys().bytes(), one);
}

#[test]
fn two_threads_deriving_at_once_get_the_same_bits() {
    for budget in [0, 20_000, 1 << 30] {
        let case = Case::new(32, 2);
        let reference = Case::new(32, 2);
        let plenty = reference.switcher(1 << 30);
        let expected: Vec<Vec<Bundle<Eval>>> = CHOICES
            .iter()
            .map(|&choice| (0..2).map(|key| reference.switch(&plenty, choice, key)).collect())
            .collect();
        let switcher = case.switcher(budget);
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (case, switcher, expected, barrier) = (&case, &switcher, &expected, &barrier);
                scope.spawn(move || {
                    for round in 0..8 {
                        barrier.wait();
                        for i in 0..CHOICES.len() {
                            let which = if thread == 0 { i } else { (i + round) % CHOICES.len() };
                            for key in 0..2 {
                                assert_eq!(case.switch(switcher, CHOICES[which], key), expected[which][key]);
                            }
                        }
                        if thread == 1 && round % 3 == 2 {
                            switcher.derived_keys().clear();
                        }
                    }
                });
            }
        });
        assert!(
            switcher.derived_keys().bytes() <= budget,
            "{} bytes of {budget}",
            switcher.derived_keys().bytes()
        );
    }
}

#[test]
fn more_inputs_than_the_switcher_was_made_for_switch_all_the_same() {
    let chain =
        chain_with_auxiliary(&Shape { degree: 128, bits: 36, steps: 6, special_bits: 36, special: 1 }, 6);
    let gadget = Arc::new(Gadget::by_bits(&chain, 36.5));
    let rng = &mut rng(5);
    let (from, to) = (secret(&chain, 6, 1, rng), secret(&chain, 1, 1, rng));
    let key = SwitchKey::change_of_secret(&chain, &gadget, chain.max_level(), &from, &to, rng).expect("key");
    let mut refused = 0;
    for length in 1..=4 {
        let choice = SwitchMethod::klss(3, length);
        // Made for one input: the auxiliary modulus has the primes that one input's sums need.
        let switcher = fixed(&chain, &gadget, choice, 1);
        for level in [0, 2, 4].map(Level) {
            let xs = Bundle::encrypt_zero(&from, chain.ring(), &chain.basis(level), rng).expect("uniform");
            let xs: Vec<PolyRef<'_, Eval>> = xs.mask().iter().collect();
            let Ok(plan) = switcher.tables(level) else { continue };
            let hybrid =
                switcher.tables_of_method(SwitchMethod::hybrid(3), level, chain.max_level()).expect("plan");
            let as_made = switcher
                .tables_of_method(SwitchMethod::as_made(&chain), level, chain.max_level())
                .expect("plan");
            let by = |plan| switcher.mod_down(&switcher.product_by(plan, &xs, &key)?);
            let digits: Vec<_> =
                xs.iter().map(|x| switcher.decompose_by(&plan, *x).expect("digits")).collect();
            let hoisted = switcher.inner_product(&digits.iter().collect::<Vec<_>>(), &key);
            let switched = switcher.switch(&xs, &key).expect("switch");
            match by(&plan) {
                // Where there is room by luck, the bits are the same.
                Ok(own) => {
                    assert_eq!(Ok(own), by(&hybrid), "r~ = {length}, level {level}");
                    assert_eq!(switched, by(&hybrid).expect("switch"));
                    assert_eq!(switcher.mod_down(&hoisted.expect("room")).expect("mod-down"), switched);
                }
                // Where there is none, a plan of one's own choice says so with numbers, and the policy's
                // gives way to the key as it was made.
                Err(error) => {
                    refused += 1;
                    let LatticeError::FewAuxiliaryPrimes { needed, available, bits } = error else {
                        panic!("{error}")
                    };
                    assert!(needed > available && available > 0.0 && bits > 0.0, "{error}");
                    assert_eq!(hoisted.err(), Some(error));
                    assert_eq!(switched, by(&as_made).expect("switch"), "r~ = {length}, level {level}");
                }
            }
        }
    }
    assert!(refused > 0, "no length of key digits is tight");
}

#[test]
fn threads_that_derive_from_several_keys_at_once_stay_within_the_budget_together() {
    let one = {
        let case = Case::new(512, 1);
        let switcher = case.switcher(1 << 30);
        case.switch(&switcher, CHOICES[2], 0);
        switcher.derived_keys().bytes()
    };
    for _ in 0..4 {
        let case = Case::new(512, 2);
        let switcher = case.switcher(one + one / 2);
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for key in 0..2 {
                let (case, switcher, barrier) = (&case, &switcher, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    case.switch(switcher, CHOICES[2], key);
                });
            }
        });
        assert!(
            switcher.derived_keys().bytes() <= one + one / 2,
            "{} bytes, {one} each",
            switcher.derived_keys().bytes()
        );
    }
}
