//! The method of switching at one level: hybrid or KLSS, the number of special primes, whether gadget
//! components are merged.

use crate::chain::Chain;

/// One method of switching at a level. All methods compute the same result up to noise; methods with equal
/// digits and special primes compute the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SwitchMethod {
    /// Number of special primes: the last primes of the key, including primes of steps that the level no
    /// longer uses. On a chain of equal primes this is the digit length `r` of the papers.
    pub special: usize,
    /// Whether neighbouring base digits are merged into the longest digits that the special modulus allows.
    /// [level-aware, sec. 3.2]
    pub coalesced: bool,
    /// Length `r~` of KLSS key digits, in primes of the chain's largest size; `None` for the hybrid method.
    /// [klss, sec. 3]
    pub key_digit: Option<usize>,
}

impl SwitchMethod {
    /// The hybrid method with the generated key unchanged: the chain's special primes and unmerged base
    /// digits.
    #[must_use]
    pub fn as_made(chain: &Chain) -> Self {
        Self { special: chain.special_basis().len(), coalesced: false, key_digit: None }
    }

    /// The hybrid method with `special` special primes and the longest digits that they allow.
    #[must_use]
    pub fn hybrid(special: usize) -> Self {
        Self { special, coalesced: true, key_digit: None }
    }

    /// The KLSS method with the digits of [`SwitchMethod::hybrid`] and key digits of `key_digit` primes.
    #[must_use]
    pub fn klss(special: usize, key_digit: usize) -> Self {
        Self { special, coalesced: true, key_digit: Some(key_digit) }
    }
}
