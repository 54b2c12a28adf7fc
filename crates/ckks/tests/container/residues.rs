//! The check of residues against their moduli.

use clathrate_ckks::file::{FileError, check_residues};

use crate::support::*;

#[test]
fn residues_are_checked_row_by_row() {
    let moduli = [17, u64::MAX, 5];
    let words = [0, 1, 15, 16, u64::MAX - 1, 17, 18, 0, 4, 3, 2, 1];
    assert!(check_residues(&words, 4, &moduli).is_ok());
    assert!(check_residues(&[], 4, &[]).is_ok());
    assert!(check_residues(&[], 0, &moduli).is_ok());
    for (index, &modulus) in moduli.iter().enumerate() {
        for column in 0..4 {
            let mut bad = words;
            bad[4 * index + column] = modulus;
            // A later one as well: the first is named.
            bad[11] = 5;
            let (row, column) = if index == 2 { (2, column) } else { (index, column) };
            assert_error!(check_residues(&bad, 4, &moduli).unwrap_err(),
                FileError::ResidueTooLarge { row: r, column: c, value, modulus: m } if (r, c, value, m) == (row, column, modulus, modulus));
        }
    }
    for (count, degree) in [(11, 4), (13, 4), (0, 4), (12, usize::MAX), (12, 0)] {
        let words = vec![0; count];
        assert_error!(
            check_residues(&words, degree, &moduli).unwrap_err(),
            FileError::ResidueCount { rows: 3, .. }
        );
    }
}
