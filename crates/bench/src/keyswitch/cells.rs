//! What is measured: the cells of the papers' tables, and at each level what may be the best. Read by the
//! other files here.

use clathrate_lattice::switch::SwitchMethod;

/// Derived keys may take this many times the bytes of a key: more than any plan uses.
pub const UNLIMITED: f64 = 1000.0;

/// The set of [level-aware].
pub const EXPANSION_PRESET: &str = "level_aware";
/// The set of [klss, Table 5].
pub const OPERATIONS_PRESET: &str = "klss_n16";

/// Lengths of key digits: the paper's 1 to 7 and those that suit shorter primes of the auxiliary modulus.
pub const KEY_DIGITS: [usize; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12];

/// Lengths of digits at any level. [level-aware, Table 3]
const DIGITS: [usize; 5] = [1, 2, 4, 8, 16];

/// Lengths of digits of keys that are derived. [level-aware, Table 5]
pub const EXPANDED_DIGITS: [usize; 4] = [2, 4, 8, 16];

/// Decomposed choices that are tried at every level, whatever the plan thinks.
const ALWAYS: [(usize, usize); 2] = [(2, 5), (4, 7)];

/// Digits and key digits: lengths next to one that the plan chose.
const STEPS: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24];

/// How many primes a cell of the papers' tables has in all, `l~`, and its digits' longest length. [klss,
/// Tables 3, 4]
pub fn paper_sizes(preset: &str) -> (&'static [usize], usize) {
    match preset {
        "klss_n15" => (&[24, 20, 16], 3),
        "klss_n16" => (&[48, 40, 32], 4),
        _ => (&[], 0),
    }
}

/// Numbers of ciphertext primes at which the plan is compared with fixed choices. [level-aware, Table 3] and
/// the papers' cells.
pub fn level_primes(preset: &str) -> &'static [usize] {
    match preset {
        "klss_n15" => &[23, 22, 21, 19, 18, 17, 15, 14, 13, 10, 7, 4],
        "klss_n16" => &[47, 46, 45, 44, 39, 38, 37, 36, 31, 30, 29, 28, 24, 20, 16, 12, 8, 4],
        _ => &[39, 38, 37, 36, 35, 34, 33, 32, 28, 24, 20, 16, 12, 8, 4],
    }
}

/// Choices that may be the best with `free` primes to be special: all hybrid ones, a few KLSS ones, and the
/// neighbours of what plans chose.
pub fn candidates(free: usize, planned: &[SwitchMethod]) -> Vec<SwitchMethod> {
    let mut choices: Vec<SwitchMethod> = DIGITS.into_iter().map(SwitchMethod::hybrid).collect();
    choices.extend(ALWAYS.map(|(digit, key_digit)| SwitchMethod::klss(digit, key_digit)));
    for &choice in planned {
        let digits = neighbours(choice.special);
        match choice.key_digit {
            None => choices.extend(digits.into_iter().map(SwitchMethod::hybrid)),
            Some(key_digit) => {
                choices.extend(digits.into_iter().map(|digit| SwitchMethod::klss(digit, key_digit)));
                choices.extend(
                    neighbours(key_digit)
                        .into_iter()
                        .map(|length| SwitchMethod::klss(choice.special, length)),
                );
            }
        }
    }
    choices.retain(|choice| choice.special <= free);
    choices.sort_unstable();
    choices.dedup();
    choices
}

/// `length` with the next shorter and longer one.
fn neighbours(length: usize) -> Vec<usize> {
    let below = STEPS.into_iter().rev().find(|&step| step < length);
    let above = STEPS.into_iter().find(|&step| step > length);
    below.into_iter().chain([length]).chain(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_hold_the_planned_choice_and_its_neighbours_and_fit() {
        let planned = SwitchMethod::klss(5, 9);
        let choices = candidates(5, &[planned]);
        for wanted in [planned, SwitchMethod::klss(4, 9), SwitchMethod::klss(5, 8), SwitchMethod::klss(5, 10)]
        {
            assert!(choices.contains(&wanted), "{wanted:?}");
        }
        assert!(
            choices.contains(&SwitchMethod::hybrid(4)) && choices.iter().all(|choice| choice.special <= 5)
        );
        assert!(choices.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn candidates_with_one_free_prime_have_digits_of_one() {
        assert_eq!(candidates(1, &[]), [SwitchMethod::hybrid(1)]);
    }

    #[test]
    fn levels_of_a_set_are_distinct_and_hold_the_papers_cells() {
        for preset in super::super::PRESETS {
            let (sizes, longest) = paper_sizes(preset);
            let levels = level_primes(preset);
            assert!(levels.windows(2).all(|pair| pair[0] > pair[1]), "{preset}");
            let mut cells = sizes.iter().flat_map(|all| (1..=longest).map(move |digit| all - digit));
            assert!(cells.all(|primes| levels.contains(&primes)), "{preset}");
        }
    }
}
