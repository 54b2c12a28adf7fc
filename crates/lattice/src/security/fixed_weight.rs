//! Secrets of fixed weight `h`: rows for the rings of degree 2^12 to 2^16 and weights 32 to 1024, at 128, 192
//! and 256 bits.
//!
//! Let `L_b(d, h)` be the largest log2(QP) with `b` bits at dimension `d` and weight `h`. Each rule gives a
//! lower bound of the estimator's figure:
//!
//! - **Weight** between two tabulated weights: the chord, rounded down. `L_b` is concave in `h` in every row,
//!   so the chord is a lower bound. Weights above the last count as the last; weights below the first are not
//!   covered.
//! - **Dimension** between two rows: `floor(d min(L_0/d_0, L_1/d_1))` and at least `L_0`. This takes the
//!   ratio `L/d` to be nowhere below both its neighbours; it rises or falls slowly from row to row.
//!   Dimensions above the last row count as the last.
//! - **Bits** between two points `(L_1, b_1)` and `(L_2, b_2)` with `L_1 > L > L_2`: the smaller of two
//!   curves that are lines in `x = 1/L`, the chord and the ray `b_1 L_1 x`; minus half a bit, rounded down to
//!   0.1, and at least `b_1`. Where guessing attacks decide (`b_2 L_2 < b_1 L_1`), bits are concave in `x`,
//!   so the chord is a lower bound. Elsewhere `b L` falls as `L` grows, as for uniform secrets, so the ray is
//!   a lower bound. The half bit covers rows that are straight in `x` up to the rounding of `L`.
//! - **Below 128 bits**: [`bits_above`]. A log2(QP) below the smallest of the table counts as the smallest.
//!
//! The unit tests check these assumptions on all rows.

use super::table::{LEVELS, TABLES, WeightRow};
use super::{bits_above, largest_weight};

/// The smallest dimension of the table.
pub(super) const MIN_DIMENSION: usize = 4096;
/// The smallest weight of the table.
pub(super) const MIN_WEIGHT: usize = 32;
/// The bits that interpolation between two points subtracts as a margin.
const MARGIN_BITS: f64 = 0.5;

/// Estimated bits, rounded down; 0 where no row is a lower bound.
pub(super) fn bits(dimension: usize, log2_qp: f64, weight: usize) -> f64 {
    let points = points(dimension, weight);
    let above = points.partition_point(|&(budget, _)| budget >= log2_qp);
    match (above.checked_sub(1).map(|last| points[last]), points.get(above)) {
        (None, None) => 0.0,
        (None, Some(&first)) => bits_above(first, log2_qp),
        (Some((_, bits)), None) => bits,
        (Some(upper), Some(&lower)) => between(upper, lower, log2_qp),
    }
}

/// Bits between two neighbouring points, of which `upper` has the larger log2(QP).
fn between(upper: (f64, f64), lower: (f64, f64), log2_qp: f64) -> f64 {
    let ((l1, b1), (l2, b2)) = (upper, lower);
    if log2_qp >= l1 {
        return b1;
    }
    let part = (l1 / log2_qp - 1.0) / (l1 / l2 - 1.0);
    let (chord, ray) = (b1 + (b2 - b1) * part, b1 * l1 / log2_qp);
    (((chord.min(ray) - MARGIN_BITS) * 10.0).floor() / 10.0).max(b1)
}

/// The points (log2(QP), bits) that are lower bounds for a secret: log2(QP) descending, bits ascending.
fn points(dimension: usize, weight: usize) -> Vec<(f64, f64)> {
    if weight > largest_weight(dimension) {
        return Vec::new();
    }
    let levels = LEVELS
        .iter()
        .enumerate()
        .filter_map(|(level, &bits)| Some((budget(level, dimension, weight)?, bits)));
    let runs = TABLES
        .runs
        .iter()
        .filter(|run| run.dimension <= dimension && run.weight <= weight)
        .map(|run| (run.log2_qp, run.bits));
    let mut points: Vec<(f64, f64)> = levels.chain(runs).collect();
    points.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut most = 0.0;
    points.retain(|&(_, bits)| {
        let more = bits > most;
        most = bits.max(most);
        more
    });
    points
}

/// Largest log2(QP) with the bits of `level` at any dimension and weight.
fn budget(level: usize, dimension: usize, weight: usize) -> Option<f64> {
    let rows = &TABLES.fixed_weight;
    let above = rows.partition_point(|row| row.dimension <= dimension);
    let lower = &rows[above.checked_sub(1)?];
    let low = row_budget(lower, level, weight)?;
    let Some((upper, high)) = rows.get(above).and_then(|row| Some((row, row_budget(row, level, weight)?)))
    else {
        return Some(low);
    };
    let ratio = (low / lower.dimension as f64).min(high / upper.dimension as f64);
    Some((dimension as f64 * ratio).floor().max(low))
}

/// Largest log2(QP) with the bits of `level` at the dimension of a row.
fn row_budget(row: &WeightRow, level: usize, weight: usize) -> Option<f64> {
    let column = &row.budgets[level];
    let above = column.partition_point(|&(h, _)| h <= weight);
    let (h0, low) = column[above.checked_sub(1)?];
    let Some(&(h1, high)) = column.get(above) else {
        return Some(low);
    };
    Some((low + (high - low) * (weight - h0) as f64 / (h1 - h0) as f64).floor())
}

#[cfg(test)]
mod tests {
    use super::super::{LOSS_ABOVE_BUDGET, uniform};
    use super::*;

    type Points = Vec<(f64, f64)>;

    const WEIGHTS: [usize; 7] = [32, 64, 128, 192, 256, 512, 1024];

    /// The points of each row of the table.
    fn curves() -> Vec<(usize, usize, Points)> {
        TABLES
            .fixed_weight
            .iter()
            .flat_map(|row| WEIGHTS.map(|h| (row.dimension, h, points(row.dimension, h))))
            .collect()
    }

    #[test]
    fn least_dimension_and_weight_are_the_tables() {
        assert_eq!(TABLES.fixed_weight[0].dimension, MIN_DIMENSION);
        for row in &TABLES.fixed_weight {
            assert_eq!(row.budgets[0].iter().map(|&(h, _)| h).collect::<Vec<_>>(), WEIGHTS);
            assert_eq!(row.budgets[0][0].0, MIN_WEIGHT);
        }
    }

    #[test]
    fn largest_moduli_are_concave_in_the_weight() {
        for row in &TABLES.fixed_weight {
            for column in &row.budgets {
                for triple in column.windows(3) {
                    let slope =
                        |i: usize| (triple[i + 1].1 - triple[i].1) / (triple[i + 1].0 - triple[i].0) as f64;
                    assert!(slope(1) <= slope(0), "{}: {triple:?}", row.dimension);
                }
            }
        }
    }

    #[test]
    fn ratios_of_modulus_and_dimension_change_by_less_than_a_sixth_between_rows() {
        for pair in TABLES.fixed_weight.windows(2) {
            for level in 0..LEVELS.len() {
                for &(h, low) in &pair[0].budgets[level] {
                    let high = row_budget(&pair[1], level, h)
                        .expect("larger rings have every entry of smaller ones");
                    // Twice the dimension; a small modulus is rounded by up to one bit.
                    let growth = high / low / 2.0;
                    assert!(
                        growth > 0.92 - 1.0 / low && growth < 1.17,
                        "{} to {}, h = {h}: {growth}",
                        pair[0].dimension,
                        pair[1].dimension
                    );
                }
            }
        }
    }

    #[test]
    fn bits_are_concave_in_the_inverse_modulus_where_guessing_decides() {
        let mut triples = 0;
        for (dimension, weight, points) in curves() {
            for triple in points.windows(3) {
                let product = |i: usize| triple[i].0 * triple[i].1;
                let slope =
                    |i: usize| (triple[i + 1].1 - triple[i].1) / (1.0 / triple[i + 1].0 - 1.0 / triple[i].0);
                // The product of bits and log2(QP) falls towards smaller moduli in both intervals, so the
                // chord is used there.
                if product(2) < product(1) && product(1) < product(0) {
                    triples += 1;
                    // A convex curve with these slopes sags below its chords by (difference of slopes) *
                    // (width in x) / 8 at most.
                    let sag = (slope(1) - slope(0)) * (1.0 / triple[2].0 - 1.0 / triple[0].0) / 8.0;
                    assert!(sag < MARGIN_BITS / 4.0, "{dimension}, h = {weight}: {triple:?} sags by {sag}");
                }
            }
        }
        assert!(triples >= 18, "{triples}");
    }

    #[test]
    fn chord_without_the_run_is_below_the_run() {
        // The run of h = 32 at 2^16, log2(QP) = 118, gave 162.7 bits; the published rows alone must not give
        // more.
        let all = points(65536, 32);
        let (first, last) = (all[0], all[all.len() - 1]);
        assert_eq!((first, last), ((349.0, 128.0), (43.0, 192.0)));
        assert!((140.0..162.7).contains(&between(first, last, 118.0)));
    }

    #[test]
    fn loss_above_the_table_is_steeper_than_every_row() {
        for (dimension, weight, points) in curves() {
            if let [(l1, b1), (l2, b2), ..] = points[..] {
                let loss = (b2 / b1 - 1.0) / (l1 / l2 - 1.0);
                assert!(loss < LOSS_ABOVE_BUDGET, "{dimension}, h = {weight}: {loss}");
            }
        }
    }

    #[test]
    fn no_row_is_above_what_attacks_without_guessing_leave() {
        // Primal and dual attacks depend on the size s of a secret: with a size s times smaller, log2(QP)
        // must be smaller by log2(s) for the same bits.
        for row in &TABLES.fixed_weight {
            for (column, &bits) in row.budgets.iter().zip(&LEVELS) {
                for &(h, budget) in column {
                    let smaller = ((2 * row.dimension) as f64 / (3 * h) as f64).log2() / 2.0;
                    assert!(
                        uniform::bits(row.dimension, budget + smaller.ceil()) >= bits,
                        "{}, h = {h}, {bits} bits",
                        row.dimension
                    );
                }
            }
        }
    }
}
