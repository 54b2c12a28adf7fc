//! Slots and coefficients: the canonical embedding, in double precision or in fixed point of 128 bits.
//!
//! Slot `j` of a real polynomial `m` is `m(zeta^(5^j))`, `zeta = exp(i pi / n)`. The exponents `5^j` are
//! those congruent to 1 mod 4, and
//!
//! ```text
//! m(zeta^(4k + 1)) = sum_{t < n/2} (m_t + i m_{t + n/2}) zeta^t exp(2 pi i k t / (n/2))
//! ```
//!
//! because `zeta^(n/2) = i`: one complex transform of length n/2 after a twist. Polynomials with fewer slots
//! are in the subring of `X^gap`; their slots repeat.
//!
//! The rounding errors of a double-precision transform grow with the largest number. If they would be more
//! than a small part of the error of rounding to integers (`doubles_suffice`), the transform is computed in
//! fixed point.

mod fixed;
mod rounding;

use std::f64::consts::PI;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use clathrate_lattice::rounding::Rounding;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

use fixed::Roots;
pub(crate) use fixed::{Integers, scaled_integers, short_integers};
pub(crate) use rounding::{encoding_errors, is_fine, mask_error};

/// Bound on the root mean square of a slot's error by a double-precision transform, relative to that of the
/// slots, for up to `2^16` slots. A test measures it.
const DOUBLE_ERROR: f64 = 4.0 * f64::EPSILON;

/// Maximum of the error of a double-precision transform, relative to the error of rounding to integers.
pub(crate) const DOUBLE_SHARE: f64 = 0.125;

/// The root mean square of a slot's error when the `2 count` coefficients of a polynomial are rounded to
/// integers.
pub(crate) fn rounding_error(count: usize) -> f64 {
    (count as f64 / 6.0).sqrt()
}

/// Whether a double-precision transform of slots of magnitude up to `scaled`, in integers, adds little to the
/// error of rounding to integers. Where the time must not depend on the numbers, pass only public arguments.
pub(crate) fn doubles_suffice(count: usize, scaled: f64) -> bool {
    scaled * DOUBLE_ERROR <= DOUBLE_SHARE * rounding_error(count)
}

/// Embeddings of one ring degree.
#[derive(Clone)]
pub struct Encoder {
    degree: usize,
    /// Maximum number of slots of the fixed-point tables, which encoders of smaller degrees share.
    most_slots: usize,
    /// The transforms of `2^i` slots at index `i`.
    transforms: Vec<Arc<Transform>>,
    scratch: Arc<Scratch>,
    /// Tables of transforms in fixed point, computed on first use.
    roots: Arc<OnceLock<Roots>>,
}

struct Transform {
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    /// `zeta^t` of the subring with twice as many coefficients as slots.
    twist: Vec<Complex64>,
    /// Transform index of slot `j`: `(5^j - 1) / 4`.
    order: Vec<u32>,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoder(degree {})", self.degree)
    }
}

impl Encoder {
    /// Computes the transforms of all slot counts up to `degree / 2`.
    #[must_use]
    pub fn new(degree: usize) -> Self {
        let mut planner = FftPlanner::new();
        let transforms = (0..degree.trailing_zeros())
            .map(|log| Arc::new(Transform::new(1 << log, &mut planner)))
            .collect();
        Self {
            degree,
            most_slots: (degree / 2).max(1),
            transforms,
            scratch: Arc::default(),
            roots: Arc::default(),
        }
    }

    /// The encoder of a smaller degree, which shares the tables of this one.
    #[must_use]
    pub(crate) fn of_subring(&self, degree: usize) -> Self {
        Self {
            degree,
            transforms: self.transforms[..degree.trailing_zeros() as usize].to_vec(),
            ..self.clone()
        }
    }

    fn roots(&self) -> &Roots {
        // An encoder of a smaller degree shares this cell, so the table is made for the largest degree.
        self.roots.get_or_init(|| Roots::new(self.most_slots))
    }

    /// The real polynomial (`degree` coefficients) whose first slots are `slots`; they repeat through all
    /// `degree / 2` slots.
    ///
    /// `slots.len()` is a power of two, at most `degree / 2`.
    #[must_use]
    pub fn embed(&self, slots: &[Complex64]) -> Vec<f64> {
        self.embed_with(slots.len(), |place| place.copy_from_slice(slots))
    }

    /// [`Encoder::embed`] of `count` slots that `fill` writes; slots that it does not write are zero.
    #[must_use]
    pub fn embed_with(&self, count: usize, fill: impl FnOnce(&mut [Complex64])) -> Vec<f64> {
        let transform = &self.transforms[count.trailing_zeros() as usize];
        self.scratch.with(2 * count + transform.inverse.get_inplace_scratch_len(), |scratch| {
            let (slots, rest) = scratch.split_at_mut(count);
            let (values, rest) = rest.split_at_mut(count);
            slots.fill(Complex64::default());
            fill(slots);
            for (slot, &index) in slots.iter().zip(&transform.order) {
                values[index as usize] = *slot;
            }
            transform.inverse.process_with_scratch(values, rest);
            let gap = self.degree / (2 * count);
            let scale = 1.0 / count as f64;
            let mut coefficients = vec![0.0; self.degree];
            for (t, (value, twist)) in values.iter().zip(&transform.twist).enumerate() {
                let c = value * twist.conj() * scale;
                coefficients[t * gap] = c.re;
                coefficients[(t + count) * gap] = c.im;
            }
            coefficients
        })
    }

    /// `round(scale * m)` for the polynomial `m` of [`Encoder::embed_with`], exact to the last bit for
    /// numbers of any magnitude.
    ///
    /// Range: `largest` is a bound on the slots' magnitudes, and `largest * scale <= 2^120`. The time depends
    /// on the number of slots only.
    pub(crate) fn embed_integers(
        &self,
        count: usize,
        largest: f64,
        (scale, rounding): (f64, Rounding),
        fill: impl FnOnce(&mut [Complex64]),
    ) -> Vec<i128> {
        let short = self.scratch.with(count, |slots| {
            slots.fill(Complex64::default());
            fill(slots);
            self.roots().embed(slots, largest, scale, rounding)
        });
        let gap = self.degree / (2 * count);
        if gap == 1 {
            return short;
        }
        let mut integers = vec![0; self.degree];
        short.into_iter().enumerate().for_each(|(t, integer)| integers[t * gap] = integer);
        integers
    }

    /// [`Encoder::evaluate_with`] for integers at a scale: each slot is precise to its last bits, for any
    /// magnitudes of the others.
    pub(crate) fn evaluate_integers<T>(
        &self,
        integers: &Integers,
        scale: f64,
        count: usize,
        read: impl FnOnce(&[Complex64]) -> T,
    ) -> T {
        read(&self.roots().evaluate(integers, self.degree / (2 * count), count, scale))
    }

    /// The first `count` slots of the polynomial's part in the subring of `X^(degree / 2 count)`.
    #[must_use]
    pub fn evaluate(&self, coefficients: &[f64], count: usize) -> Vec<Complex64> {
        self.evaluate_with(coefficients, count, <[_]>::to_vec)
    }

    /// [`Encoder::evaluate`] without a copy: `read` receives the slots.
    pub fn evaluate_with<T>(
        &self,
        coefficients: &[f64],
        count: usize,
        read: impl FnOnce(&[Complex64]) -> T,
    ) -> T {
        let transform = &self.transforms[count.trailing_zeros() as usize];
        self.scratch.with(2 * count + transform.forward.get_inplace_scratch_len(), |scratch| {
            let (slots, rest) = scratch.split_at_mut(count);
            let (values, rest) = rest.split_at_mut(count);
            let gap = self.degree / (2 * count);
            for (t, (value, twist)) in values.iter_mut().zip(&transform.twist).enumerate() {
                *value = Complex64::new(coefficients[t * gap], coefficients[(t + count) * gap]) * twist;
            }
            transform.forward.process_with_scratch(values, rest);
            for (slot, &index) in slots.iter_mut().zip(&transform.order) {
                *slot = values[index as usize];
            }
            read(slots)
        })
    }
}

/// Reusable buffers of transforms, one per concurrent thread. The system's allocator may return buffers of
/// this size to the operating system after each use, and fresh memory costs more than the transform.
#[derive(Default)]
struct Scratch(Mutex<Vec<Vec<Complex64>>>);

impl Scratch {
    /// Runs `work` on `len` numbers of unspecified value.
    fn with<T>(&self, len: usize, work: impl FnOnce(&mut [Complex64]) -> T) -> T {
        let kept = self.0.lock().ok().and_then(|mut idle| idle.pop());
        let mut buffer = kept.unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, Complex64::default());
        }
        let result = work(&mut buffer[..len]);
        if let Ok(mut idle) = self.0.lock() {
            idle.push(buffer);
        }
        result
    }
}

impl Transform {
    fn new(count: usize, planner: &mut FftPlanner<f64>) -> Self {
        let angle = |t: usize| PI * t as f64 / (2 * count) as f64;
        let mut exponent = 1usize;
        let order = (0..count)
            .map(|_| {
                let index = (exponent - 1) / 4;
                exponent = exponent * 5 % (4 * count);
                index as u32
            })
            .collect();
        Self {
            // rustfft's inverse has the positive exponent and no factor 1/n.
            forward: planner.plan_fft_inverse(count),
            inverse: planner.plan_fft_forward(count),
            twist: (0..count).map(|t| Complex64::from_polar(1.0, angle(t))).collect(),
            order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The embedding from its definition.
    fn slot(coefficients: &[f64], j: usize) -> Complex64 {
        let n = coefficients.len();
        let exponent = (0..j).fold(1usize, |e, _| e * 5 % (2 * n));
        let term = |(t, c): (usize, &f64)| {
            Complex64::from_polar(*c, PI * (exponent * t % (2 * n)) as f64 / n as f64)
        };
        coefficients.iter().enumerate().map(term).sum()
    }

    #[test]
    fn evaluate_equals_the_definition_at_every_slot_count() {
        for degree in [2usize, 4, 8, 64] {
            let encoder = Encoder::new(degree);
            for log in 0..degree.trailing_zeros() {
                let count = 1 << log;
                let values: Vec<Complex64> =
                    (0..count).map(|j| Complex64::new(j as f64 + 0.5, 1.0 - 3.0 * j as f64)).collect();
                let coefficients = encoder.embed(&values);
                for j in 0..degree / 2 {
                    assert!(
                        (slot(&coefficients, j) - values[j % count]).norm() < 1e-9,
                        "degree {degree}, {count} slots, slot {j}"
                    );
                }
                for (back, value) in encoder.evaluate(&coefficients, count).iter().zip(&values) {
                    assert!((back - value).norm() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn embedding_error_stays_near_double_precision_at_the_largest_degree() {
        let encoder = Encoder::new(1 << 16);
        let values: Vec<Complex64> =
            (0..1 << 15).map(|j| Complex64::from_polar(1.0, f64::from(j) * 1.7)).collect();
        let back = encoder.evaluate(&encoder.embed(&values), 1 << 15);
        let worst = back.iter().zip(&values).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-13, "{worst:e}");
    }

    /// Slots whose errors differ: random, equal, few large, real, of all magnitudes, and a single one.
    fn kinds(count: usize) -> Vec<Vec<Complex64>> {
        let random = |j: usize| Complex64::new((j as f64 * 1.7 + 0.3).sin(), (j as f64 * 2.9 + 1.0).sin());
        let all = |slot: &dyn Fn(usize) -> Complex64| (0..count).map(slot).collect::<Vec<_>>();
        vec![
            all(&random),
            all(&|_| Complex64::new(1.0 / 3.0, 0.0)),
            all(&|j| random(j) * if j % 97 == 0 { 1e6 } else { 1.0 }),
            all(&|j| random(j).re.into()),
            all(&|j| random(j) * f64::from(j as u32 % 60).exp2()),
            all(&|j| if j == count / 3 { Complex64::new(0.1, 0.7) } else { Complex64::default() }),
        ]
    }

    #[test]
    fn double_precision_errs_by_less_than_is_assumed_at_every_number_of_slots() {
        let mut worst = (0.0f64, 0.0f64);
        for log in 0..=16 {
            let count = 1 << log;
            let encoder = Encoder::new(2 * count);
            for (kind, slots) in kinds(count).into_iter().enumerate() {
                let largest = slots.iter().map(|z| z.norm()).fold(0.0, f64::max);
                let size = (slots.iter().map(Complex64::norm_sqr).sum::<f64>() / count as f64).sqrt();
                // Not a power of two, and so large that rounding to integers is negligible.
                let scale = 2f64.powi(100) * 1.3 / largest;
                let integers = encoder.embed_integers(count, largest, (scale, Rounding::of(1)), |place| {
                    place.copy_from_slice(&slots)
                });
                let coefficients = encoder.embed(&slots);
                let error =
                    |(c, exact): (&f64, &i128)| (((c * scale) as i128 - exact) as f64 / scale).powi(2);
                let embedding = coefficients.iter().zip(&integers).map(error).sum::<f64>().sqrt() / size;
                // And back: the doubles are rounded from the integers.
                let numbers: Vec<f64> = integers.iter().map(|&integer| integer as f64 / scale).collect();
                let exact = Integers { words: integers, shift: 0 };
                let exact = encoder.evaluate_integers(&exact, scale, count, <[_]>::to_vec);
                let back = encoder.evaluate(&numbers, count);
                let error =
                    back.iter().zip(&exact).map(|(found, exact)| (found - exact).norm_sqr()).sum::<f64>()
                        / count as f64;
                let evaluation = error.sqrt() / size;
                println!(
                    "2^{log} slots of kind {kind}: {:.2} and {:.2} of what is assumed",
                    embedding / DOUBLE_ERROR,
                    evaluation / DOUBLE_ERROR
                );
                worst = (worst.0.max(embedding), worst.1.max(evaluation));
                // The fixed-point transforms are inverse to each other up to the last bit of each number.
                for (found, slot) in exact.iter().zip(&slots) {
                    let error = (found.re - slot.re).abs().max((found.im - slot.im).abs());
                    assert!(
                        error <= slot.re.abs().max(slot.im.abs()) * f64::EPSILON + 1e-27 * largest,
                        "2^{log} slots of kind {kind}: {error:e}"
                    );
                }
            }
        }
        assert!(worst.0 < DOUBLE_ERROR && worst.1 < DOUBLE_ERROR, "{worst:?}");
        assert!(
            worst.0 > 0.1 * DOUBLE_ERROR && worst.1 > 0.1 * DOUBLE_ERROR,
            "{worst:?}: not far below either"
        );
    }

    #[test]
    fn an_encoder_of_a_subring_shares_tables_whichever_is_used_first() {
        let (whole, slots) = (Encoder::new(64), kinds(8).remove(0));
        let embed = |encoder: &Encoder| {
            encoder.embed_integers(8, 2.0, (2f64.powi(80), Rounding::of(1)), |place| {
                place.copy_from_slice(&slots)
            })
        };
        let small = embed(&whole.of_subring(16));
        assert_eq!(small, embed(&Encoder::new(16)));
        // The table also serves the larger ring.
        let large: Vec<i128> = embed(&whole);
        assert!(
            large.iter().enumerate().all(|(t, &value)| value == if t % 4 == 0 { small[t / 4] } else { 0 })
        );
        assert_eq!(whole.of_subring(16).embed(&slots), Encoder::new(16).embed(&slots));
    }

    /// The mean and the variance of the errors of the two implementations of rounding.
    fn moments(x: f64) -> [(f64, f64); 2] {
        let count = 1 << 16;
        let rounding = Rounding::of(x.to_bits());
        let short: Vec<f64> = short_integers(vec![x; count], 1.0, rounding)
            .into_iter()
            .map(|integer| integer as f64 - x)
            .collect();
        let wide = scaled_integers(&vec![x; count], 2.0 * x.abs(), 1.0, rounding);
        let wide: Vec<f64> = wide.into_iter().map(|integer| integer as f64 - x).collect();
        [short, wide].map(|errors| {
            let mean = errors.iter().sum::<f64>() / count as f64;
            (mean, errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / count as f64)
        })
    }

    #[test]
    fn the_mean_of_rounded_numbers_is_the_number() {
        for x in [0.0, 1.0, -7.0, 0.5, -0.5, 0.25, 1e-3, -2.1, 1e6 + 0.3, -3e9 - 0.9, 2f64.powi(45) + 0.125] {
            let fraction = x - x.floor();
            let variance = fraction * (1.0 - fraction);
            for (mean, found) in moments(x) {
                // Five deviations of a mean of 2^16 numbers, and half a unit of the probabilities.
                assert!(mean.abs() <= 5.0 * (variance / 65536.0).sqrt() + 0.5f64.powi(17), "{x}: {mean}");
                assert!((found - variance).abs() <= 0.01, "{x}: {found} instead of {variance}");
            }
        }
    }

    #[test]
    fn halves_round_to_the_nearest() {
        for x in [0.0, 1.0, -7.0, 0.499, 0.501, -0.499, -0.501, 1e6 + 0.3, -3e9 - 0.9, 2f64.powi(45) + 0.125]
        {
            let nearest = x.round();
            assert!(
                short_integers(vec![x; 9], 1.0, Rounding::Nearest)
                    .iter()
                    .all(|&integer| integer == nearest as i64),
                "{x}"
            );
            let wide = scaled_integers(&[x; 9], 2.0 * x.abs(), 1.0, Rounding::Nearest.of_case(3));
            assert!(wide.iter().all(|&integer| integer == nearest as i128), "{x}");
        }
    }

    #[test]
    fn seeds_decide_all_random_numbers() {
        let numbers: Vec<f64> = (0..1027).map(|i| f64::from(i) * 0.37).collect();
        let with = |rounding: Rounding| short_integers(numbers.clone(), 1.0, rounding);
        assert_eq!(with(Rounding::of(5)), with(Rounding::of(5)));
        let others = [Rounding::of(6), Rounding::of(5).of_case(0), Rounding::of(5).of_case(1)].map(with);
        for (index, other) in others.iter().enumerate() {
            // A number half-way between integers is rounded differently with a probability of 1/2; the
            // numbers here average about a third.
            let differ = |x: &[i64], y: &[i64]| x.iter().zip(y).filter(|(x, y)| x != y).count();
            assert!((200..500).contains(&differ(other, &with(Rounding::of(5)))), "{index}");
            others[..index]
                .iter()
                .for_each(|earlier| assert!((200..500).contains(&differ(other, earlier)), "{index}"));
        }
    }

    #[test]
    fn masks_that_are_fine_have_errors_like_random_ones_in_all_slots() {
        for log in [10, 12, 14] {
            let count = 1 << log;
            let (degree, encoder) = (2 * count, Encoder::new(2 * count));
            let beyond = |scaled: f64, slots: usize| {
                let fill = |values: &mut [Complex64]| values[..slots].fill(Complex64::new(scaled, 0.0));
                let rounded: Vec<f64> =
                    short_integers(encoder.embed_with(count, fill), 1.0, Rounding::Nearest)
                        .into_iter()
                        .map(|integer| integer as f64)
                        .collect();
                let expected = |slot: usize| if slot < slots { scaled } else { 0.0 };
                let errors = encoder
                    .evaluate(&rounded, count)
                    .into_iter()
                    .enumerate()
                    .map(|(slot, value)| (value - expected(slot)).norm());
                errors.fold(0.0, f64::max) / mask_error(degree, 1.0)
            };
            let least = (degree as f64 / 4.0).powi(2);
            assert!(is_fine(degree, least) && !is_fine(degree, 0.99 * least));
            for scaled in [1.0, 1.1, 1.37, 2.0, 3.3, 17.0, 1000.3].map(|times| times * least) {
                for slots in [1, 2, 3, 7, 100, count / 2 + 1, count - 1] {
                    assert!(
                        beyond(scaled, slots) < 6.5,
                        "degree {degree}, {scaled}, {slots} slots: {}",
                        beyond(scaled, slots)
                    );
                }
            }
            // Coarser masks have larger errors.
            assert!(
                log < 14 || beyond(least / 64.0, 1) > 7.7,
                "degree {degree}: {}",
                beyond(least / 64.0, 1)
            );
        }
    }

    #[test]
    fn errors_of_coefficients_do_not_meet_in_a_slot() {
        // One number just below the precision, among zeros: rounding to the nearest integers makes all
        // coefficients 0, and all errors have the same sign in its slot.
        let count = 1 << 12;
        let encoder = Encoder::new(2 * count);
        let error_in_slot = |scaled: f64, rounding: Rounding| {
            let coefficients = encoder.embed_with(count, |slots| slots[0] = Complex64::new(scaled, 0.0));
            let rounded: Vec<f64> = short_integers(coefficients, 1.0, rounding)
                .into_iter()
                .map(|integer| integer as f64)
                .collect();
            (encoder.evaluate(&rounded, count)[0].re - scaled).abs()
        };
        let (_, worst) = encoding_errors(2 * count, 1.0);
        for share in [0.98, 0.5, 0.02] {
            let scaled = share * count as f64 / 2.0;
            assert!(scaled / count as f64 <= 0.5, "each coefficient is nearest to 0");
            let squares: f64 = (0..100).map(|seed| error_in_slot(scaled, Rounding::of(seed)).powi(2)).sum();
            // The real part has half of the variance.
            assert!(squares / 100.0 <= worst * worst / 2.0 * 1.5, "{share}: {squares}");
            assert!(scaled > 10.0 * worst || share < 0.5, "rounding to the nearest would err by far more");
        }
    }
}
