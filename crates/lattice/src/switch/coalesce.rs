//! Level-aware switching: merges gadget components at levels that leave primes unused. [level-aware]
//!
//! Primes of steps that a level no longer uses serve as further special primes. A longer special modulus
//! allows longer digits, and the key component of a longer digit is the sum of the components of the base
//! digits it consists of, because component `j` encrypts `T Q / D_j` and
//!
//! ```text
//! sum_j d_j (Q / D_j),  d_j = [u / (Q / (P D_j))] mod D_j
//! ```
//!
//! holds for any partition of the primes into digits. So the merged key is derived from the generated key
//! without the secret.

use std::ops::Range;

use clathrate_arith::Factors;

use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::Basis;
use crate::ring::Ring;

/// Margin in bits, for one input, for a base digit of which `level` has only a part of the primes: that part
/// must be this much shorter than the bound on complete digits. The parameters' noise is that of complete
/// digits, and a switch with a part and fewer special primes must not exceed it. With this margin the key's
/// noise is below the rounding noise, except under the sparsest secrets.
const PART_MARGIN_BITS: f64 = 8.0;

/// Merges neighbouring base digits of a key for levels up to `level` into digits of at most `max_bits`,
/// returned as runs of base digits. [level-aware, sec. 3.2]
///
/// An unmerged base digit may exceed `max_bits` if its primes at `level` do not: `d_j` needs the correct
/// residues modulo these primes only, so it is below their product. So a low level, whose modulus is shorter
/// than one base digit, needs few special primes. The primes at `level` must be shorter than `max_bits` by
/// [`PART_MARGIN_BITS`], and by half a bit for each doubling of the number of inputs. Runs are measured by
/// complete digits, so that the runs of a lower level are the first runs of a higher level, and one key
/// serves both.
///
/// # Errors
/// [`LatticeError::DigitTooLarge`] where a base digit exceeds `max_bits`, and so do its primes at `level`
/// plus the margin.
pub fn merged_digits(
    chain: &Chain,
    gadget: &Gadget,
    level: Level,
    max_bits: f64,
    inputs: usize,
) -> Result<Vec<Range<usize>>, LatticeError> {
    let margin = PART_MARGIN_BITS + (inputs.max(1) as f64).log2() / 2.0;
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut headroom = 0.0;
    let known = chain.basis(level);
    for (digit, basis) in gadget.digits()[..gadget.digit_count(chain, level)].iter().enumerate() {
        let digit_bits = basis.log2(chain.ring());
        let used = Basis::new(basis.indices().iter().copied().filter(|&index| known.row_of(index).is_some()));
        let used_bits = digit_bits.min(used.log2(chain.ring()) + margin);
        match runs.last_mut() {
            Some(run) if digit_bits <= headroom => run.end = digit + 1,
            _ if used_bits > max_bits => {
                return Err(LatticeError::DigitTooLarge {
                    digit,
                    digit_bits: used_bits,
                    special_bits: max_bits,
                });
            }
            _ => {
                runs.push(digit..digit + 1);
                headroom = max_bits;
            }
        }
        headroom -= digit_bits;
    }
    Ok(runs)
}

/// The primes of a key for levels up to `key_level` that can be special primes at `level`: those in no base
/// digit that `level` uses.
#[must_use]
pub fn free_primes(chain: &Chain, gadget: &Gadget, level: Level, key_level: Level) -> Basis {
    let used = &gadget.digits()[..gadget.digit_count(chain, level)];
    Basis::new(
        chain
            .key_basis(key_level)
            .indices()
            .iter()
            .copied()
            .filter(|&i| used.iter().all(|digit| digit.row_of(i).is_none())),
    )
}

/// For each term of the merged key, the terms of the generated key of which it is the sum. Terms are in the
/// order in which keys are stored: digit by digit, then input by input.
pub(super) fn merged_terms(runs: &[Range<usize>], inputs: usize) -> Vec<Vec<usize>> {
    let term = |run: &Range<usize>, input: usize| run.clone().map(|digit| digit * inputs + input).collect();
    runs.iter().flat_map(|run| (0..inputs).map(move |input| term(run, input))).collect()
}

/// The merged key on the rows `rows` of the generated key's factors. [level-aware, sec. 4.3, Expand]
pub(super) fn merge(ring: &Ring, factors: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
    ring.engine().sum_factors(factors, terms, rows)
}
