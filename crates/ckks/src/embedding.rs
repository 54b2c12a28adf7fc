//! Slots and coefficients: the canonical embedding in double precision.
//!
//! Slot `j` of a real polynomial `m` is `m(zeta^(5^j))`, `zeta = exp(i pi / n)`. The exponents `5^j` are those congruent to 1 mod 4, and
//!
//! ```text
//! m(zeta^(4k + 1)) = sum_{t < n/2} (m_t + i m_{t + n/2}) zeta^t exp(2 pi i k t / (n/2))
//! ```
//!
//! because `zeta^(n/2) = i`: one complex transform of length n/2 after a twist. Fewer slots live in the subring of `X^gap` and repeat.

use std::f64::consts::PI;
use std::fmt;
use std::sync::{Arc, Mutex};

use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

/// Embeddings of one degree.
#[derive(Clone)]
pub struct Encoder {
    degree: usize,
    /// One per power-of-two slot count, `2^i` at index `i`.
    transforms: Vec<Arc<Transform>>,
    scratch: Arc<Scratch>,
}

struct Transform {
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    /// `zeta^t` for the subring of twice as many coefficients as slots.
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
    /// Prepares all slot counts up to `degree / 2`.
    #[must_use]
    pub fn new(degree: usize) -> Self {
        let mut planner = FftPlanner::new();
        let transforms = (0..degree.trailing_zeros()).map(|log| Arc::new(Transform::new(1 << log, &mut planner))).collect();
        Self { degree, transforms, scratch: Arc::default() }
    }

    /// The real polynomial, `degree` coefficients, whose first `slots.len()` slots are `slots` (repeated through all `degree / 2`).
    ///
    /// `slots.len()` is a power of two, at most `degree / 2`.
    #[must_use]
    pub fn embed(&self, slots: &[Complex64]) -> Vec<f64> {
        self.embed_with(slots.len(), |place| place.copy_from_slice(slots))
    }

    /// As [`Encoder::embed`]; `fill` writes `count` slots, which are zero before.
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

    /// The first `count` slots of the part of the polynomial in the subring of `X^(degree / 2 count)`.
    #[must_use]
    pub fn evaluate(&self, coefficients: &[f64], count: usize) -> Vec<Complex64> {
        self.evaluate_with(coefficients, count, <[_]>::to_vec)
    }

    /// As [`Encoder::evaluate`]; `read` receives the slots.
    pub fn evaluate_with<T>(&self, coefficients: &[f64], count: usize, read: impl FnOnce(&[Complex64]) -> T) -> T {
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

/// Buffers of transforms, kept for the next one, one for each thread that used the encoder at the same time as others. The system's allocator may
/// return buffers of this size to the operating system each time, and fresh memory costs more than the transform.
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
            // rustfft's inverse has the positive exponent and no factor.
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
        let term = |(t, c): (usize, &f64)| Complex64::from_polar(*c, PI * (exponent * t % (2 * n)) as f64 / n as f64);
        coefficients.iter().enumerate().map(term).sum()
    }

    #[test]
    fn evaluate_equals_the_definition_at_every_slot_count() {
        for degree in [2usize, 4, 8, 64] {
            let encoder = Encoder::new(degree);
            for log in 0..degree.trailing_zeros() {
                let count = 1 << log;
                let values: Vec<Complex64> = (0..count).map(|j| Complex64::new(j as f64 + 0.5, 1.0 - 3.0 * j as f64)).collect();
                let coefficients = encoder.embed(&values);
                for j in 0..degree / 2 {
                    assert!((slot(&coefficients, j) - values[j % count]).norm() < 1e-9, "degree {degree}, {count} slots, slot {j}");
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
        let values: Vec<Complex64> = (0..1 << 15).map(|j| Complex64::from_polar(1.0, f64::from(j) * 1.7)).collect();
        let back = encoder.evaluate(&encoder.embed(&values), 1 << 15);
        let worst = back.iter().zip(&values).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-13, "{worst:e}");
    }
}
