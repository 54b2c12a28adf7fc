//! The measured methods and levels: the cells of the papers' tables, and at each level the methods that may
//! be fastest.

use clathrate_lattice::switch::SwitchMethod;

/// Factor of a key's bytes that derived keys may take: more than any plan uses.
pub const UNLIMITED: f64 = 1000.0;

/// The set of [level-aware].
pub const EXPANSION_PRESET: &str = "level_aware";
/// The set of [klss, Table 5].
pub const OPERATIONS_PRESET: &str = "klss_n16";

/// Numbers of primes per key digit: the paper's 1 to 7, and those that suit shorter auxiliary primes.
pub const KEY_DIGITS: [usize; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12];

/// Numbers of primes per digit at any level. [level-aware, Table 3]
const DIGITS: [usize; 5] = [1, 2, 4, 8, 16];

/// Numbers of primes per digit of derived keys. [level-aware, Table 5]
pub const EXPANDED_DIGITS: [usize; 4] = [2, 4, 8, 16];

/// KLSS methods that are tried at every level, regardless of the plan.
const ALWAYS: [(usize, usize); 2] = [(2, 5), (4, 7)];

/// Numbers of primes per digit and key digit from which the neighbours of a plan's choice are taken.
const STEPS: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24];

/// For the cells of the papers' tables: the numbers of all primes, `l~`, and the largest number of primes per
/// digit. [klss, Tables 3, 4]
pub fn paper_sizes(preset: &str) -> (&'static [usize], usize) {
    match preset {
        "klss_n15" => (&[24, 20, 16], 3),
        "klss_n16" => (&[48, 40, 32], 4),
        _ => (&[], 0),
    }
}

/// Numbers of ciphertext primes at which the plan is compared with fixed methods: those of [level-aware,
/// Table 3] and of the papers' cells.
pub fn level_primes(preset: &str) -> &'static [usize] {
    match preset {
        "klss_n15" => &[23, 22, 21, 19, 18, 17, 15, 14, 13, 10, 7, 4],
        "klss_n16" => &[47, 46, 45, 44, 39, 38, 37, 36, 31, 30, 29, 28, 24, 20, 16, 12, 8, 4],
        _ => &[39, 38, 37, 36, 35, 34, 33, 32, 28, 24, 20, 16, 12, 8, 4],
    }
}

/// Methods that may be fastest with `free` primes available as special primes: all hybrid ones, a few KLSS
/// ones, and the neighbours of planned ones.
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

/// `length` with the next smaller and the next larger one.
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
