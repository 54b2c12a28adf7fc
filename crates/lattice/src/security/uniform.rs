//! Uniform ternary secrets: rows for dimensions from 1024 on, at 128, 192 and 256 bits.
//!
//! - **Dimension** between two rows `d0 < d < d1`: the largest log2(QP) is `floor(d min(L0/d0, L1/d1))`. The
//!   ratio `L/d` grows with `d`, so this is a lower bound; the chord between the rows could be above the
//!   estimator's figure. Dimensions above the last row count as the last.
//! - **Bits** inside the table: `bits log2(QP)` falls as log2(QP) grows, so from the row above, `bits(L) >=
//!   bits_0 L_0 / L` for `L <= L_0`.
//! - **Below 128 bits**: [`bits_above`]. A log2(QP) below the last column's counts as the last column's.

use super::bits_above;
use super::table::{TABLES, UniformRow};

/// The smallest dimension of the table.
pub(super) fn least_dimension() -> usize {
    TABLES.uniform.first().map_or(0, |row| row.dimension)
}

/// (bits, largest log2(QP)) of a dimension, bits ascending; empty below the table.
fn budgets(dimension: usize) -> Vec<(f64, f64)> {
    let rows = &TABLES.uniform;
    let above = rows.partition_point(|row| row.dimension <= dimension);
    let Some(lower) = above.checked_sub(1).map(|below| &rows[below]) else {
        return Vec::new();
    };
    let upper = match rows.get(above) {
        Some(upper) if lower.dimension < dimension => upper,
        _ => return lower.budgets.clone(),
    };
    let ratio = |budget: f64, row: &UniformRow| budget / row.dimension as f64;
    lower
        .budgets
        .iter()
        .zip(&upper.budgets)
        .map(|(&(bits, low), &(_, high))| {
            (bits, (dimension as f64 * ratio(low, lower).min(ratio(high, upper))).floor())
        })
        .collect()
}

/// Estimated bits, rounded down; 0 below the table.
pub(super) fn bits(dimension: usize, log2_qp: f64) -> f64 {
    let budgets = budgets(dimension);
    let (Some(&(base, budget)), Some(&(last, _))) = (budgets.first(), budgets.last()) else {
        return 0.0;
    };
    if log2_qp > budget {
        return bits_above((budget, base), log2_qp);
    }
    budgets
        .iter()
        .filter(|&&(_, budget)| log2_qp <= budget)
        .fold(0.0, |best, &(bits, budget)| last.min(bits * budget / log2_qp).max(best))
}

#[cfg(test)]
mod tests {
    use super::super::{BASE_BITS, LOSS_ABOVE_BUDGET};
    use super::*;

    #[test]
    fn assumptions_of_the_interpolation_hold_in_the_table() {
        for row in &TABLES.uniform {
            for pair in row.budgets.windows(2) {
                let ((bits_a, budget_a), (bits_b, budget_b)) = (pair[0], pair[1]);
                assert!(
                    bits_a * budget_a <= bits_b * budget_b,
                    "bits * log2(QP) falls with log2(QP) at {}",
                    row.dimension
                );
                if bits_a == BASE_BITS {
                    // Slope of the chord in 1/L, as a relative loss.
                    let loss = (bits_b / bits_a - 1.0) / (budget_a / budget_b - 1.0);
                    assert!(loss < LOSS_ABOVE_BUDGET, "loss {loss} at {}", row.dimension);
                }
            }
        }
        for pair in TABLES.uniform.windows(2) {
            for (&(_, low), &(_, high)) in pair[0].budgets.iter().zip(&pair[1].budgets) {
                // Budgets are rounded down to integers: the ratio may seem to fall by less than 1/dimension.
                assert!((high + 1.0) / pair[1].dimension as f64 > low / pair[0].dimension as f64);
            }
        }
    }
}
