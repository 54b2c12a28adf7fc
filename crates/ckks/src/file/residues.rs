//! The check that residues from a file are below their moduli.

use super::error::FileError;

/// Checks that `words` are rows of `degree` reduced residues, one row per modulus.
///
/// `words[i * degree + j] < moduli[i]`
///
/// Shapes: `words`: moduli x degree.
///
/// # Errors
/// `ResidueCount` for another number of words; `ResidueTooLarge` with row and column of the first residue
/// that is not reduced.
pub fn check_residues(words: &[u64], degree: usize, moduli: &[u64]) -> Result<(), FileError> {
    let expected = moduli.len().checked_mul(degree);
    if expected != Some(words.len()) {
        let expected = (moduli.len() as u64).saturating_mul(degree as u64);
        return Err(FileError::ResidueCount {
            expected,
            rows: moduli.len(),
            degree,
            found: words.len() as u64,
        });
    }
    if degree == 0 {
        return Ok(());
    }
    for (row, (residues, &modulus)) in words.chunks_exact(degree).zip(moduli).enumerate() {
        // Branch-free per residue, to run at memory speed; searches only after a failure.
        let reduced = residues.iter().fold(true, |all, &value| all & (value < modulus));
        if !reduced && let Some(column) = residues.iter().position(|&value| value >= modulus) {
            return Err(FileError::ResidueTooLarge { row, column, value: residues[column], modulus });
        }
    }
    Ok(())
}
