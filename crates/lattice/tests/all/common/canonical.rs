//! The canonical embedding norm of an error polynomial: the largest value at a root of `X^n + 1`.

use std::f64::consts::PI;

/// A complex number.
type Complex = (f64, f64);

fn mul(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// `exp(i angle)`.
fn unit(angle: f64) -> Complex {
    (angle.cos(), angle.sin())
}

/// The values at all `n`-th roots of unity, by halves: even and odd coefficients.
fn transform(x: &[Complex]) -> Vec<Complex> {
    let n = x.len();
    if n == 1 {
        return x.to_vec();
    }
    let half = |first: usize| transform(&x.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let mut out = vec![(0.0, 0.0); n];
    for (i, (e, o)) in even.into_iter().zip(odd).enumerate() {
        let o = mul(o, unit(2.0 * PI * i as f64 / n as f64));
        out[i] = (e.0 + o.0, e.1 + o.1);
        out[i + n / 2] = (e.0 - o.0, e.1 - o.1);
    }
    out
}

/// `max_j |e(zeta^(2j + 1))|` for `zeta = exp(i pi / n)`. [dpad-he, sec. A.1]
pub fn canonical_norm(coefficients: &[f64]) -> f64 {
    let n = coefficients.len() as f64;
    let twisted: Vec<Complex> =
        coefficients.iter().enumerate().map(|(i, &c)| mul((c, 0.0), unit(PI * i as f64 / n))).collect();
    transform(&twisted).into_iter().map(|(re, im)| re.hypot(im)).fold(0.0, f64::max)
}

/// The same by the definition.
pub fn canonical_norm_by_definition(coefficients: &[f64]) -> f64 {
    let n = coefficients.len();
    let value = |j: usize| {
        let terms = coefficients
            .iter()
            .enumerate()
            .map(|(i, &c)| mul((c, 0.0), unit(PI * (i * (2 * j + 1) % (2 * n)) as f64 / n as f64)));
        terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1))
    };
    (0..n).map(value).map(|(re, im)| re.hypot(im)).fold(0.0, f64::max)
}
