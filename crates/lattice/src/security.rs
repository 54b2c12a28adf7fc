//! Estimated bits of security of one key: from its module dimension, its log2(QP) and the distribution of its secret.
//!
//! The numbers are the checked-in runs of the lattice estimator in `data/security.csv`; between them this module only ever rounds down:
//!
//! - **dimension**: between two tabulated ones `d0 < d < d1` the budget is `floor(d * min(L0/d0, L1/d1))`. The ratio `L/d` grows with
//!   `d` in theory, so this is below the true budget; a chord between the neighbours could be above it. Dimensions above the last count as the
//!   last, dimensions below the first have 0 bits.
//! - **bits, log2(QP) inside the table**: `bits * log2(QP)` falls as log2(QP) grows, so from the tabulated point above,
//!   `bits(L) >= bits_0 * L_0 / L` for `L <= L_0`.
//! - **below 128 bits**: `128 * (1 - 1.125 * (1 - L_128/L))`. Bits are a convex function of `1/L`, so the chord through the 128- and
//!   192-bit points lies below them outside; 1.125 is steeper than that chord at every tabulated dimension. Past the last column: its bits, no more.
//! - **fixed weight**: an estimate holds for every secret of at least its dimension and weight and at most its log2(QP). Two estimates of the
//!   same secret whose log2(QP) differ by at most a tenth are joined by a chord, rounded down to 0.1 bits. Nothing is said above the largest
//!   log2(QP): a sparse secret is bound to its level. Weights in `[2d/3, 3d/4]` also count as uniform ternary (whose mean weight is
//!   `2d/3`); above `3d/4` a secret nears a binary one and is not estimated.
//!
//! Not estimated means 0 bits. Each key is gated by its own triple; a scheme is worth the minimum over its keys.

use std::sync::LazyLock;

use crate::sampling::SecretDistribution;

/// Commit of malb/lattice-estimator that made the table.
pub const ESTIMATOR_COMMIT: &str = "27a581bb";

const TABLE: &str = include_str!("../data/security.csv");

/// The lowest level of the table, and the default floor of secure parameter sets.
const BASE_BITS: f64 = 128.0;
/// Relative loss of bits per relative excess `1 - L_128/L` over the 128-bit budget.
const LOSS_ABOVE_BUDGET: f64 = 1.125;
/// Two sparse estimates are joined where the smaller log2(QP) is at least this part of the larger.
const JOINED_ABOVE: f64 = 0.9;

/// Tabulated levels of one dimension for uniform ternary secrets: (bits, largest log2(QP)), bits ascending from 128.
struct DenseRow {
    dimension: usize,
    budgets: Vec<(f64, f64)>,
}

/// Estimates of one sparse secret: (log2(QP), bits), log2(QP) ascending.
struct SparseCurve {
    dimension: usize,
    weight: usize,
    points: Vec<(f64, f64)>,
}

struct Tables {
    dense: Vec<DenseRow>,
    sparse: Vec<SparseCurve>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| parse(TABLE).expect("the table is part of the program, and a test reads all of it"));

/// Estimated bits of a secret of `dimension` (degree times rank) at `log2_qp`, rounded down; 0 where nothing is known.
///
/// Exact at the tabulated points; `log2_qp` counts the special primes. See the module's first lines for what is between.
#[must_use]
pub fn estimated_bits(dimension: usize, log2_qp: f64, distribution: SecretDistribution) -> f64 {
    // Not a size of a modulus: 0 and less, infinite, not a number.
    if !(log2_qp.is_finite() && log2_qp > 0.0) {
        return 0.0;
    }
    match distribution {
        SecretDistribution::UniformTernary => dense_bits(dimension, log2_qp),
        SecretDistribution::FixedWeight(weight) => {
            let sparse = sparse_curves(dimension, weight).map(|curve| curve.bits(log2_qp)).fold(0.0, f64::max);
            if counts_as_dense(dimension, weight) { sparse.max(dense_bits(dimension, log2_qp)) } else { sparse }
        }
    }
}

/// Largest log2(QP), an integer, at which a secret of `dimension` has at least `bits` bits by [`estimated_bits`]; `None` if there is none.
#[must_use]
pub fn max_log2_qp(dimension: usize, bits: u32, distribution: SecretDistribution) -> Option<f64> {
    let bits = f64::from(bits);
    let candidate = match distribution {
        SecretDistribution::UniformTernary => dense_budget(dimension, bits),
        SecretDistribution::FixedWeight(weight) => {
            let sparse = sparse_curves(dimension, weight).filter_map(|curve| curve.budget(bits));
            let dense = counts_as_dense(dimension, weight).then(|| dense_budget(dimension, bits)).flatten();
            sparse.chain(dense).reduce(f64::max)
        }
    }?;
    // The closed forms may land one above in floating point; they never land far.
    let largest = [candidate.floor() + 1.0, candidate.floor(), candidate.floor() - 1.0]
        .into_iter()
        .find(|&log2_qp| estimated_bits(dimension, log2_qp, distribution) >= bits)?;
    Some(largest)
}

/// (bits, budget) of a dimension for uniform ternary secrets, bits ascending; empty below the table.
fn dense_budgets(dimension: usize) -> Vec<(f64, f64)> {
    let rows = &TABLES.dense;
    let above = rows.partition_point(|row| row.dimension < dimension);
    if let Some(row) = rows.get(above)
        && row.dimension == dimension
    {
        return row.budgets.clone();
    }
    let Some(lower) = above.checked_sub(1).map(|below| &rows[below]) else {
        return Vec::new();
    };
    let Some(upper) = rows.get(above) else {
        return lower.budgets.clone();
    };
    let ratio = |budget: f64, row: &DenseRow| budget / row.dimension as f64;
    lower
        .budgets
        .iter()
        .zip(&upper.budgets)
        .map(|(&(bits, low), &(_, high))| (bits, (dimension as f64 * ratio(low, lower).min(ratio(high, upper))).floor()))
        .collect()
}

fn dense_bits(dimension: usize, log2_qp: f64) -> f64 {
    let budgets = dense_budgets(dimension);
    let Some(&(_, base)) = budgets.first() else {
        return 0.0;
    };
    if log2_qp > base {
        return (BASE_BITS * (1.0 - LOSS_ABOVE_BUDGET * (1.0 - base / log2_qp))).max(0.0);
    }
    let last = budgets[budgets.len() - 1].0;
    budgets.iter().filter(|&&(_, budget)| log2_qp <= budget).fold(0.0, |best, &(bits, budget)| last.min(bits * budget / log2_qp).max(best))
}

fn dense_budget(dimension: usize, bits: f64) -> Option<f64> {
    let budgets = dense_budgets(dimension);
    let &(_, base) = budgets.first()?;
    if bits <= BASE_BITS {
        // The inverse of the loss; bits >= 0 keep the denominator above 1/9.
        return Some(base / (1.0 - (1.0 - bits / BASE_BITS) / LOSS_ABOVE_BUDGET));
    }
    let &(last, _) = budgets.last()?;
    (bits <= last).then(|| budgets.iter().map(|&(level, budget)| budget.min(budget * level / bits)).fold(0.0, f64::max))
}

fn counts_as_dense(dimension: usize, weight: usize) -> bool {
    dimension - dimension / 3 <= weight && weight <= dimension / 4 * 3
}

/// The estimates that bound a sparse secret from below.
fn sparse_curves(dimension: usize, weight: usize) -> impl Iterator<Item = &'static SparseCurve> {
    TABLES.sparse.iter().filter(move |curve| curve.dimension <= dimension && curve.weight <= weight && weight <= dimension / 4 * 3)
}

impl SparseCurve {
    fn bits(&self, log2_qp: f64) -> f64 {
        let above = self.points.partition_point(|&(point, _)| point < log2_qp);
        let Some(&(upper, upper_bits)) = self.points.get(above) else {
            return 0.0;
        };
        match above.checked_sub(1).map(|below| self.points[below]) {
            Some((lower, lower_bits)) if log2_qp < upper && lower >= JOINED_ABOVE * upper => {
                let chord = lower_bits + (upper_bits - lower_bits) * (log2_qp - lower) / (upper - lower);
                // The slack of 1e-9 keeps a chord that is a whole tenth from losing one to rounding.
                ((chord * 10.0 + 1e-9).floor() / 10.0).max(upper_bits)
            }
            _ => upper_bits,
        }
    }

    /// Largest whole log2(QP) with `bits`: the last point that has them, or further along the chord to the next.
    fn budget(&self, bits: f64) -> Option<f64> {
        let last = self.points.iter().rposition(|&(_, point_bits)| point_bits >= bits)?;
        let (mut budget, _) = self.points[last];
        if let Some(&(next, _)) = self.points.get(last + 1) {
            while budget + 1.0 < next && self.bits(budget + 1.0) >= bits {
                budget += 1.0;
            }
        }
        Some(budget)
    }
}

fn parse(text: &str) -> Option<Tables> {
    let mut tables = Tables { dense: Vec::new(), sparse: Vec::new() };
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [secret, weight, dimension, log2_qp, bits] = fields[..] else {
            return None;
        };
        let dimension: usize = dimension.parse().ok()?;
        let (log2_qp, bits): (f64, f64) = (log2_qp.parse().ok()?, bits.parse().ok()?);
        match secret {
            "uniform_ternary" => match tables.dense.last_mut().filter(|row| row.dimension == dimension) {
                Some(row) => row.budgets.push((bits, log2_qp)),
                None => tables.dense.push(DenseRow { dimension, budgets: vec![(bits, log2_qp)] }),
            },
            "fixed_weight" => {
                let weight: usize = weight.parse().ok()?;
                match tables.sparse.last_mut().filter(|curve| (curve.dimension, curve.weight) == (dimension, weight)) {
                    Some(curve) => curve.points.push((log2_qp, bits)),
                    None => tables.sparse.push(SparseCurve { dimension, weight, points: vec![(log2_qp, bits)] }),
                }
            }
            _ => return None,
        }
    }
    Some(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_reads_whole_and_in_order() {
        let tables = parse(TABLE).expect("readable");
        assert!(TABLE.contains(ESTIMATOR_COMMIT));
        assert_eq!(tables.dense.iter().map(|row| row.budgets.len()).sum::<usize>(), 34);
        assert_eq!(tables.sparse.iter().map(|curve| curve.points.len()).sum::<usize>(), 18);
        assert!(tables.dense.is_sorted_by(|a, b| a.dimension < b.dimension));
        for row in &tables.dense {
            assert_eq!(row.budgets[0].0, BASE_BITS);
            assert!(row.budgets.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1));
        }
        for curve in &tables.sparse {
            assert!(curve.points.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1));
        }
    }

    #[test]
    fn malformed_table_is_refused() {
        for row in ["uniform_ternary,,1024,26", "uniform_ternary,,x,26,128", "fixed_weight,,1024,26,128", "gaussian,,1024,26,128"] {
            assert!(parse(&format!("header\n{row}\n")).is_none(), "{row}");
        }
    }

    #[test]
    fn assumptions_of_the_interpolation_hold_in_the_table() {
        let tables = parse(TABLE).expect("readable");
        for row in &tables.dense {
            for pair in row.budgets.windows(2) {
                let ((bits_a, budget_a), (bits_b, budget_b)) = (pair[0], pair[1]);
                assert!(bits_a * budget_a <= bits_b * budget_b, "bits * log2(QP) falls with log2(QP) at {}", row.dimension);
                if bits_a == BASE_BITS {
                    // Slope of the chord in 1/L, as a relative loss.
                    let loss = (bits_b / bits_a - 1.0) / (budget_a / budget_b - 1.0);
                    assert!(loss < LOSS_ABOVE_BUDGET, "loss {loss} at {}", row.dimension);
                }
            }
        }
        for pair in tables.dense.windows(2) {
            for (&(_, low), &(_, high)) in pair[0].budgets.iter().zip(&pair[1].budgets) {
                // Budgets are rounded down to integers: the ratio may seem to fall by less than 1/dimension.
                assert!((high + 1.0) / pair[1].dimension as f64 > low / pair[0].dimension as f64);
            }
        }
    }
}
