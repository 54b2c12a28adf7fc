//! One digit of a gadget decomposition: its own rows, and the base conversion that extends it to all other
//! rows.

use std::ops::Range;

use crate::conversion::BaseConversion;

/// A digit `[x c] mod D` extended from its own consecutive rows to a basis of `rows` rows.
#[derive(Debug, Clone)]
pub struct DigitExtension {
    /// The first of the digit's rows in the polynomial that is decomposed.
    source: usize,
    /// The digit's own rows in the extended basis; empty if the basis has none of the digit's moduli.
    own: Range<usize>,
    constants: Vec<u64>,
    conversion: BaseConversion,
    /// For each row of the extended basis, which target of the conversion it is; `None` for the digit's own
    /// rows.
    target_of_row: Vec<Option<usize>>,
}

impl DigitExtension {
    /// A digit of rows `first..first + constants.len()`, which are scaled by `constants`, and extended by
    /// `conversion` to all other rows, in order, of a basis of `rows` rows.
    #[must_use]
    pub fn new(first: usize, constants: Vec<u64>, conversion: BaseConversion, rows: usize) -> Self {
        let own = first..first + constants.len();
        assert_eq!(conversion.targets().len() + own.len(), rows, "a conversion to all other rows");
        let mut targets = 0..;
        let target_of_row =
            (0..rows).map(|row| if own.contains(&row) { None } else { targets.next() }).collect();
        Self { source: first, own, constants, conversion, target_of_row }
    }

    /// A digit whose rows begin at `source`, extended to a basis that contains none of its moduli: the
    /// targets of `conversion`, in order.
    #[must_use]
    pub fn foreign(source: usize, conversion: BaseConversion) -> Self {
        let target_of_row = (0..conversion.targets().len()).map(Some).collect();
        Self { source, own: 0..0, constants: Vec::new(), conversion, target_of_row }
    }

    /// The first of the digit's rows in the polynomial that is decomposed.
    #[must_use]
    pub fn source(&self) -> usize {
        self.source
    }

    /// The digit's own rows in the extended basis.
    #[must_use]
    pub fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    /// The factors by which the digit's own rows are scaled.
    #[must_use]
    pub fn constants(&self) -> &[u64] {
        &self.constants
    }

    /// The conversion to all other rows, which includes the constants.
    #[must_use]
    pub fn conversion(&self) -> &BaseConversion {
        &self.conversion
    }

    /// Which target of the conversion row `row` is; `None` for an own row.
    #[must_use]
    pub fn target(&self, row: usize) -> Option<usize> {
        self.target_of_row[row]
    }

    /// Rows of the extended basis.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.target_of_row.len()
    }

    /// The rows that the conversion fills, in its order.
    #[must_use]
    pub fn target_rows(&self) -> Vec<usize> {
        (0..self.rows()).filter(|&row| self.target_of_row[row].is_some()).collect()
    }
}
