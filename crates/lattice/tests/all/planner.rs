//! The planner: a row for each level, never slower by its own model than a fixed choice, within its memory
//! limit.

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_lattice::gadget::DIGIT_SLACK_BITS;
use clathrate_lattice::switch::{MachineProfile, MethodMap, Planner, SwitchMethod, SwitchPolicy};
use clathrate_lattice::{Chain, Gadget, Level, Switcher};

const DEGREE: usize = 64;

/// A chain of equal primes, one per level, with auxiliary primes.
fn chain(levels: usize, special: usize) -> Arc<Chain> {
    let auxiliary = 12;
    let primes = largest_primes(40, 2 * DEGREE as u64, levels + special + auxiliary, &[]).expect("primes");
    let ring = crate::common::new_ring(DEGREE, &primes);
    Arc::new(Chain::with_auxiliary(ring, &vec![1; levels], auxiliary).expect("chain"))
}

fn planned(levels: usize, special: usize, rank: usize, expansion: f64) -> Switcher {
    let chain = chain(levels, special);
    let gadget =
        Arc::new(Gadget::by_bits(&chain, chain.special_basis().log2(chain.ring()) + DIGIT_SLACK_BITS));
    let planner = Planner::new(profile(), rank + 1, expansion);
    Switcher::with_policy(chain, gadget, SwitchPolicy::Planned(planner), inputs(rank), 1 << 30)
        .expect("switcher")
}

/// A machine whose transforms are slow, so that both engines have their levels.
fn profile() -> MachineProfile {
    let mut profile = MachineProfile::built_in();
    profile.kernels.iter_mut().for_each(|times| times.transform = times.transform.map(|time| 40.0 * time));
    profile
}

fn inputs(rank: usize) -> usize {
    rank * (rank + 1) / 2
}

fn map(switcher: &Switcher) -> Arc<MethodMap> {
    switcher.map(switcher.chain().max_level()).expect("planned")
}

fn total(map: &MethodMap) -> f64 {
    map.rows.iter().map(|row| row.nanoseconds).sum()
}

/// Numbers of special primes that are among those a planner tries on chains of any length.
const TRIED: [usize; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24];

const CASES: [(usize, usize, usize); 9] =
    [(40, 4, 1), (1, 1, 1), (2, 1, 1), (2, 2, 3), (5, 1, 1), (9, 2, 2), (16, 3, 1), (12, 2, 3), (10, 1, 4)];

#[test]
fn map_has_a_row_for_every_level_of_every_key() {
    for (levels, special, rank) in CASES {
        let switcher = planned(levels, special, rank, 2.0);
        for key_level in 0..levels {
            let map = switcher.map(Level(key_level)).expect("planned");
            let found: Vec<usize> = map.rows.iter().map(|row| row.level.0).collect();
            assert_eq!(found, (0..=key_level).collect::<Vec<_>>());
            for row in &map.rows {
                assert!(row.nanoseconds > 0.0 && row.digits > 0);
                let plan =
                    switcher.tables_for(row.level, Level(key_level)).expect("a chosen way fits its level");
                assert_eq!(
                    (plan.method(), plan.digit_count()),
                    (row.method, row.digits),
                    "{levels} levels, rank {rank}, {row:?}"
                );
            }
        }
    }
}

#[test]
fn map_without_a_limit_is_never_slower_than_any_fixed_choice() {
    for (levels, special, rank) in CASES {
        let switcher = planned(levels, special, rank, f64::INFINITY);
        let (map, profile, top) = (map(&switcher), profile(), switcher.chain().max_level());
        let ways = (1..=levels + special).flat_map(|r| {
            let decomposed = (2..=8).map(move |length| SwitchMethod::klss(r, length));
            [SwitchMethod::hybrid(r)].into_iter().chain(decomposed)
        });
        let ways: Vec<SwitchMethod> = ways.chain([SwitchMethod::as_made(switcher.chain())]).collect();
        let mut compared = 0;
        for row in &map.rows {
            for &way in &ways {
                let Ok(plan) = switcher.tables_of_method(way, row.level, top) else { continue };
                if TRIED.contains(&way.special) || way.special == special {
                    let other = profile.nanoseconds(DEGREE, &switcher.counts(&plan, inputs(rank), rank + 1));
                    assert!(row.nanoseconds <= other * (1.0 + 1e-12), "{row:?} against {way:?}: {other}");
                    compared += 1;
                }
            }
        }
        assert!(compared >= levels, "{compared} comparisons");
    }
}

#[test]
fn map_stays_within_its_limit_and_no_faster_than_without_one() {
    for (levels, special, rank) in CASES {
        let fastest = total(&map(&planned(levels, special, rank, f64::INFINITY)));
        let slowest = total(&map(&planned(levels, special, rank, 0.0)));
        for expansion in [0.0, 0.1, 0.3, 1.0, 2.0, 4.0, f64::INFINITY] {
            let map = map(&planned(levels, special, rank, expansion));
            assert!(
                map.derived_bytes as f64 <= expansion * map.key_bytes as f64,
                "{expansion} of {levels} levels, rank {rank}"
            );
            assert!((fastest..=slowest).contains(&total(&map)), "{expansion}: {fastest} to {slowest}");
            assert_eq!(map.rows.len(), levels);
        }
    }
}

#[test]
fn map_with_limits_that_are_no_numbers_derives_nothing() {
    for expansion in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(map(&planned(8, 2, 1, expansion)).derived_bytes, 0);
    }
}

#[test]
fn map_bytes_are_what_the_chosen_plans_derive() {
    for (levels, special, rank) in CASES {
        let switcher = planned(levels, special, rank, 3.0);
        let map = map(&switcher);
        let mut forms: Vec<(SwitchMethod, usize)> = Vec::new();
        for row in &map.rows {
            let plan = switcher.tables_for(row.level, switcher.chain().max_level()).expect("plan");
            forms.push((row.method, plan.derived_bytes(inputs(rank), rank + 1)));
        }
        forms.sort_unstable();
        forms.dedup();
        assert_eq!(forms.iter().map(|form| form.1).sum::<usize>(), map.derived_bytes);
    }
}

#[test]
fn map_of_a_machine_with_slow_transforms_uses_both_engines() {
    let map = map(&planned(40, 4, 1, f64::INFINITY));
    assert!(
        map.rows.iter().any(|row| row.method.key_digit.is_some())
            && map.rows.iter().any(|row| row.method.key_digit.is_none()),
        "{map:?}"
    );
}
