//! The odd polynomial nearest to 1 on an interval above 0, by Remez's exchange.

use std::f64::consts::PI;

/// Exchanges at most; a handful is the rule.
const MAX_EXCHANGES: usize = 60;

/// Places where the derivative is sampled, for each of its zeros and at least.
const SAMPLES_PER_ZERO: usize = 32;

/// Halvings of an interval with a zero, until it has no number inside.
const HALVINGS: usize = 64;

/// Relative excess of the distance over its least at which the exchange ends.
const NEAR: f64 = 1e-9;

/// Distances that double precision does not tell from 0.
const ROUNDING: f64 = 1e-15;

/// The Chebyshev coefficients on `(-high, high)` of the odd polynomial nearest to 1 on `[low, high]`, and its
/// distance from 1; an infinite one where double precision does not suffice. Requires an odd degree of 3 or
/// more.
///
/// With `n` coefficients, the difference from 1 alternates at `n + 1` points. Its derivative has `n - 1`
/// zeros between them, which with both ends are the next points.
pub(super) fn odd_minimax(low: f64, high: f64, degree: usize) -> (Vec<f64>, f64) {
    let count = degree.div_ceil(2);
    let mut points: Vec<f64> = (0..=count).map(|i| spread(low, high, i, count)).collect();
    let mut coefficients = vec![0.0; 2 * count];
    let mut distance = f64::INFINITY;
    for _ in 0..MAX_EXCHANGES {
        let row = |(i, point): (usize, &f64)| {
            let angle = libm::acos((point / high).clamp(-1.0, 1.0));
            let odd = (0..count).map(|order| libm::cos(angle * (2 * order + 1) as f64));
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            odd.chain([sign, 1.0]).collect()
        };
        let Some(solution) = solved(points.iter().enumerate().map(row).collect()) else {
            return (coefficients, f64::INFINITY);
        };
        for (order, value) in solution[..count].iter().enumerate() {
            coefficients[2 * order + 1] = *value;
        }
        let zeros = zeros_inside(&derivative(&coefficients), low, high);
        if zeros.len() != count - 1 {
            return (coefficients, f64::INFINITY);
        }
        points = [low].into_iter().chain(zeros).chain([high]).collect();
        let from_one = |point: &f64| (series_at(&coefficients, point / high) - 1.0).abs();
        distance = points.iter().map(from_one).fold(0.0, f64::max);
        if distance <= solution[count].abs() * (1.0 + NEAR) + ROUNDING {
            break;
        }
    }
    (coefficients, distance)
}

/// The number `i` of `count + 1` numbers from `low` to `high`, which are denser towards both ends.
fn spread(low: f64, high: f64, i: usize, count: usize) -> f64 {
    low + (high - low) * (1.0 - libm::cos(PI * i as f64 / count as f64)) / 2.0
}

/// The solution of linear equations, each a row with its right side behind it; none where they have no single
/// one. By elimination with the largest pivots.
fn solved(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let count = rows.len();
    for column in 0..count {
        let pivot =
            (column..count).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let own = &above[column];
        if own[column] == 0.0 {
            return None;
        }
        for row in below {
            let factor = row[column] / own[column];
            for (value, own) in row.iter_mut().zip(own).skip(column) {
                *value -= factor * own;
            }
        }
    }
    let mut solution = vec![0.0; count];
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|j| rows[i][j] * solution[j]).sum();
        solution[i] = (rows[i][count] - known) / rows[i][i];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

/// The Chebyshev coefficients of the derivative of a series on (-1, 1).
fn derivative(coefficients: &[f64]) -> Vec<f64> {
    let degree = coefficients.len() - 1;
    let mut derived = vec![0.0; degree + 2];
    for order in (1..=degree).rev() {
        derived[order - 1] = derived[order + 1] + 2.0 * order as f64 * coefficients[order];
    }
    derived[0] /= 2.0;
    derived.truncate(degree);
    derived
}

/// The value of a Chebyshev series, by Clenshaw's rule.
fn series_at(coefficients: &[f64], y: f64) -> f64 {
    let (last, before) = coefficients[1..]
        .iter()
        .rev()
        .fold((0.0, 0.0), |(last, before), c| (2.0 * y * last - before + c, last));
    y * last - before + coefficients[0]
}

/// The zeros between `low` and `high` of a Chebyshev series on `(-high, high)`, ascending: where it changes
/// its sign between samples, which are as dense as the zeros of a difference that alternates.
fn zeros_inside(coefficients: &[f64], low: f64, high: f64) -> Vec<f64> {
    let is_positive = |x: f64| series_at(coefficients, x / high) > 0.0;
    let count = SAMPLES_PER_ZERO * coefficients.len();
    let samples: Vec<(f64, bool)> = (0..=count)
        .map(|i| {
            let x = spread(low, high, i, count);
            (x, is_positive(x))
        })
        .collect();
    let zero = |pair: &[(f64, bool)]| {
        let [(mut low, before), (mut high, after)] = [pair[0], pair[1]];
        if before == after {
            return None;
        }
        for _ in 0..HALVINGS {
            let middle = low + (high - low) / 2.0;
            if is_positive(middle) == before { low = middle } else { high = middle }
        }
        Some(low + (high - low) / 2.0)
    };
    samples.windows(2).filter_map(zero).collect()
}
