//! The table `data/security.csv` in memory. `uniform.rs` and `fixed_weight.rs` choose the rows that bound a
//! key.

use std::sync::LazyLock;

const TABLE: &str = include_str!("../../data/security.csv");

/// Levels of security at which rows state a largest log2(QP).
pub(super) const LEVELS: [f64; 3] = [128.0, 192.0, 256.0];

/// One dimension for uniform ternary secrets: (bits, largest log2(QP)), bits ascending from 128.
pub(super) struct UniformRow {
    pub dimension: usize,
    pub budgets: Vec<(f64, f64)>,
}

/// One ring dimension for secrets of fixed weight: for each of [`LEVELS`], (weight, largest log2(QP)),
/// weights ascending.
pub(super) struct WeightRow {
    pub dimension: usize,
    pub budgets: [Vec<(usize, f64)>; LEVELS.len()],
}

/// A single estimate for a secret of fixed weight: the bits at exactly this log2(QP).
pub(super) struct Run {
    pub dimension: usize,
    pub weight: usize,
    pub log2_qp: f64,
    pub bits: f64,
}

#[derive(Default)]
pub(super) struct Tables {
    /// Dimensions ascending.
    pub uniform: Vec<UniformRow>,
    /// Dimensions ascending.
    pub fixed_weight: Vec<WeightRow>,
    pub runs: Vec<Run>,
}

pub(super) static TABLES: LazyLock<Tables> =
    LazyLock::new(|| parse(TABLE).expect("the table is part of the program, and a test reads all of it"));

/// Reads the table; `None` where a row is malformed.
fn parse(text: &str) -> Option<Tables> {
    let mut tables = Tables::default();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [secret, weight, dimension, log2_qp, bits, source] = fields[..] else {
            return None;
        };
        let dimension: usize = dimension.parse().ok()?;
        let (log2_qp, bits): (f64, f64) = (log2_qp.parse().ok()?, bits.parse().ok()?);
        match (secret, source) {
            ("uniform_ternary", "estimator") if weight.is_empty() => {
                match tables.uniform.last_mut().filter(|row| row.dimension == dimension) {
                    Some(row) => row.budgets.push((bits, log2_qp)),
                    None => tables.uniform.push(UniformRow { dimension, budgets: vec![(bits, log2_qp)] }),
                }
            }
            ("fixed_weight", "rotations" | "secret_size") => {
                let level = LEVELS.iter().position(|&level| level == bits)?;
                if tables.fixed_weight.last().is_none_or(|row| row.dimension != dimension) {
                    tables.fixed_weight.push(WeightRow { dimension, budgets: Default::default() });
                }
                tables.fixed_weight.last_mut()?.budgets[level].push((weight.parse().ok()?, log2_qp));
            }
            ("fixed_weight", "rotations_run") => {
                tables.runs.push(Run { dimension, weight: weight.parse().ok()?, log2_qp, bits })
            }
            _ => return None,
        }
    }
    Some(tables)
}

#[cfg(test)]
mod tests {
    use super::super::{ESTIMATOR_COMMIT, SPARSE_ESTIMATOR_COMMIT};
    use super::*;

    #[test]
    fn table_reads_whole_and_in_order() {
        let tables = parse(TABLE).expect("readable");
        assert!(TABLE.contains(ESTIMATOR_COMMIT) && TABLE.contains(SPARSE_ESTIMATOR_COMMIT));
        assert_eq!(tables.uniform.iter().map(|row| row.budgets.len()).sum::<usize>(), 34);
        assert!(tables.uniform.is_sorted_by(|a, b| a.dimension < b.dimension));
        for row in &tables.uniform {
            assert_eq!(row.budgets[0].0, LEVELS[0]);
            assert!(row.budgets.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1));
        }
        let cells =
            |level: usize| tables.fixed_weight.iter().map(|row| row.budgets[level].len()).sum::<usize>();
        assert_eq!([cells(0), cells(1), cells(2)], [35, 31, 28]);
        assert!(tables.fixed_weight.is_sorted_by(|a, b| a.dimension < b.dimension));
        for row in &tables.fixed_weight {
            for column in &row.budgets {
                assert!(column.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{}", row.dimension);
                // Interpolation in the weight needs an unbroken run of weights up to the last.
                assert!(
                    row.budgets[0].ends_with(&column.iter().map(|&(h, _)| cell(row, h)).collect::<Vec<_>>())
                );
            }
        }
        assert_eq!(tables.runs.len(), 2);
    }

    /// The cell of 128 bits.
    fn cell(row: &WeightRow, weight: usize) -> (usize, f64) {
        *row.budgets[0].iter().find(|&&(h, _)| h == weight).expect("weight of the 128-bit column")
    }

    #[test]
    fn malformed_table_is_refused() {
        for row in [
            "uniform_ternary,,1024,26,128",
            "uniform_ternary,,1024,26,estimator",
            "uniform_ternary,,x,26,128,estimator",
            "uniform_ternary,32,1024,26,128,estimator",
            "uniform_ternary,,1024,26,128,rotations",
            "fixed_weight,,4096,26,128,rotations",
            "fixed_weight,32,4096,26,129,rotations",
            "fixed_weight,32,4096,26,128,estimator",
            "fixed_weight,,4096,26,128,rotations_run",
            "gaussian,,1024,26,128,estimator",
        ] {
            assert!(parse(&format!("header\n{row}\n")).is_none(), "{row}");
        }
    }
}
