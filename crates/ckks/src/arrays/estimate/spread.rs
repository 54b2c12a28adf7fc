//! Typical numbers as a function of other numbers that are spread evenly, so that sums and products of one array with itself have the errors that they typically have: that of `x^3 - x` is
//! `3 x^2 - 1` times that of `x`, and not `3 x^2 + 1` times.

use serde::{Deserialize, Serialize};

use super::source::StoredName;

/// The values of a function at the nodes.
pub(super) type AtNodes = [f64; 8];

/// Places at which functions are known.
pub(super) const NODES: usize = size_of::<AtNodes>() / size_of::<f64>();

/// The nodes of Gauss and Legendre, by which the means of polynomials up to degree 15 are exact, and their weights in a mean.
const PLACES: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.181_341_891_689_181_0),
    (0.525_532_409_916_329_0, 0.156_853_322_938_943_65),
    (0.796_666_477_413_626_7, 0.111_190_517_226_687_25),
    (0.960_289_856_497_536_3, 0.050_614_268_145_188_15),
];

/// The mean over numbers that are spread evenly.
pub(super) fn mean(values: &AtNodes) -> f64 {
    PLACES.iter().enumerate().map(|(place, (_, weight))| weight * (values[2 * place] + values[2 * place + 1])).sum()
}

/// The root of the mean square over numbers that are spread evenly.
pub(super) fn root_mean_square(values: &AtNodes) -> f64 {
    mean(&values.map(|value| value * value)).sqrt()
}

/// Numbers as a function of those of one array, which are spread evenly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spread {
    /// The name of that array.
    pub(super) of: StoredName,
    pub(super) numbers: AtNodes,
}

impl Spread {
    /// Numbers that are spread evenly up to a magnitude.
    pub(super) fn even(name: u64, magnitude: f64) -> Option<Self> {
        let node = |index: usize| (if index % 2 == 0 { magnitude } else { -magnitude }) * PLACES[index / 2].0;
        (magnitude.is_finite() && magnitude > 0.0).then(|| Self { of: StoredName(name), numbers: std::array::from_fn(node) })
    }
}
