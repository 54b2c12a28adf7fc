//! An engine that counts unit operations, to hold algorithms to the papers' cost tables.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use clathrate_arith::{
    Automorphism, BaseConversion, Buffer, CpuEngine, DigitExtension, DivisionInput, Engine, FactorShape, Factors, GadgetInput, Modulus,
    PlaintextSum, Twist,
};

/// Unit operations: one row of one polynomial each. [klss, sec. 4]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Forward transforms.
    pub forward: usize,
    /// Inverse transforms.
    pub inverse: usize,
    /// Hadamard products of inner products and ring products.
    pub hadamard: usize,
    /// Hadamard products of base conversions with more than one source (a single prime needs none, as the papers count).
    pub conversion: usize,
    /// Hadamard products by the inverse of what a division divides by: one per row of the quotient.
    pub division: usize,
}

impl Counts {
    /// All transforms.
    #[must_use]
    pub fn ntt(&self) -> usize {
        self.forward + self.inverse
    }
}

/// Computes on the CPU and counts what it is asked.
#[derive(Debug)]
pub struct CountingEngine {
    inner: CpuEngine,
    forward: AtomicUsize,
    inverse: AtomicUsize,
    hadamard: AtomicUsize,
    conversion: AtomicUsize,
    division: AtomicUsize,
}

impl CountingEngine {
    /// Counts for `inner`.
    #[must_use]
    pub fn new(inner: CpuEngine) -> Self {
        let zero = || AtomicUsize::new(0);
        Self { inner, forward: zero(), inverse: zero(), hadamard: zero(), conversion: zero(), division: zero() }
    }

    /// The counts since the last call, which starts them anew.
    pub fn take(&self) -> Counts {
        let take = |counter: &AtomicUsize| counter.swap(0, Ordering::Relaxed);
        Counts {
            forward: take(&self.forward),
            inverse: take(&self.inverse),
            hadamard: take(&self.hadamard),
            conversion: take(&self.conversion),
            division: take(&self.division),
        }
    }
}

impl Engine for CountingEngine {
    fn degree(&self) -> usize {
        self.inner.degree()
    }

    fn moduli(&self) -> &[Modulus] {
        self.inner.moduli()
    }

    fn describe(&self) -> String {
        format!("counting {}", self.inner.describe())
    }

    fn zeroed(&self, rows: usize) -> Buffer {
        self.inner.zeroed(rows)
    }

    fn scratch(&self, rows: usize) -> Buffer {
        self.inner.scratch(rows)
    }

    fn forward_ntt(&self, x: &mut Buffer, rows: Range<usize>, moduli: &[usize]) {
        self.forward.fetch_add(rows.len(), Ordering::Relaxed);
        self.inner.forward_ntt(x, rows, moduli);
    }

    fn inverse_ntt(&self, x: &mut Buffer, rows: Range<usize>, moduli: &[usize]) {
        self.inverse.fetch_add(rows.len(), Ordering::Relaxed);
        self.inner.inverse_ntt(x, rows, moduli);
    }

    fn add_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]) {
        self.inner.add_assign(x, y, moduli);
    }

    fn sub_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]) {
        self.inner.sub_assign(x, y, moduli);
    }

    fn negate_assign(&self, x: &mut Buffer, moduli: &[usize]) {
        self.inner.negate_assign(x, moduli);
    }

    fn mul_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]) {
        self.hadamard.fetch_add(x.rows(), Ordering::Relaxed);
        self.inner.mul_assign(x, y, moduli);
    }

    fn mul_constants_assign(&self, x: &mut Buffer, constants: &[u64], moduli: &[usize]) {
        self.inner.mul_constants_assign(x, constants, moduli);
    }

    fn sub_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, y_rows: &[usize], constants: &[u64], moduli: &[usize]) {
        self.inner.sub_mul_constants_assign(x, y, y_rows, constants, moduli);
    }

    fn add_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, constants: &[u64], moduli: &[usize]) {
        self.inner.add_mul_constants_assign(x, y, constants, moduli);
    }

    fn inner_products(&self, out: &mut [Buffer], xs: &[&Buffer], ys: &[Vec<&Buffer>], y_rows: &[usize], moduli: &[usize]) {
        self.hadamard.fetch_add(out.len() * xs.len() * moduli.len(), Ordering::Relaxed);
        self.inner.inner_products(out, xs, ys, y_rows, moduli);
    }

    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        self.inner.zeroed_factors(shape, moduli)
    }

    fn pack_factors(&self, factors: &mut Factors, group: usize, sources: &[Vec<&Buffer>], source_rows: &[usize]) {
        self.inner.pack_factors(factors, group, sources, source_rows);
    }

    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        self.inner.sum_factors(base, terms, rows)
    }

    fn unpack_factor(&self, factors: &Factors, group: usize, terms: &[usize], column: usize, rows: &[usize]) -> Buffer {
        self.inner.unpack_factor(factors, group, terms, column, rows)
    }

    fn factor_products(&self, out: &mut [Buffer], xs: &[&Buffer], factors: &Factors, groups: &[usize], rows: &[usize], moduli: &[usize]) {
        self.hadamard.fetch_add(out.len() * xs.len() * moduli.len(), Ordering::Relaxed);
        self.inner.factor_products(out, xs, factors, groups, rows, moduli);
    }

    fn gadget_products(
        &self,
        out: &mut [Buffer],
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        factors: &Factors,
        groups: &[usize],
        rows: &[usize],
        moduli: &[usize],
    ) {
        for input in inputs {
            for digit in digits {
                let (sources, others) = (digit.conversion().sources().len(), digit.rows() - digit.own().len());
                self.forward.fetch_add(if input.values.is_some() { others } else { digit.rows() }, Ordering::Relaxed);
                self.conversion.fetch_add(if sources > 1 { sources * others } else { 0 }, Ordering::Relaxed);
            }
        }
        self.hadamard.fetch_add(out.len() * inputs.len() * digits.len() * moduli.len(), Ordering::Relaxed);
        self.inner.gadget_products(out, inputs, digits, factors, groups, rows, moduli);
    }

    fn convert(&self, conversion: &BaseConversion, x: &Buffer, first: usize, out: &mut Buffer, out_rows: &[usize]) {
        let sources = conversion.sources().len();
        if sources > 1 {
            self.conversion.fetch_add(sources * conversion.targets().len(), Ordering::Relaxed);
        }
        self.inner.convert(conversion, x, first, out, out_rows);
    }

    fn divide_all(&self, conversion: &BaseConversion, inputs: &[DivisionInput<'_>], constants: &[u64], transform: bool) -> Vec<Buffer> {
        let (sources, quotients) = (conversion.sources().len(), conversion.targets().len() * inputs.len());
        self.conversion.fetch_add(if sources > 1 { sources * quotients } else { 0 }, Ordering::Relaxed);
        self.division.fetch_add(quotients, Ordering::Relaxed);
        self.forward.fetch_add(if transform { quotients } else { 0 }, Ordering::Relaxed);
        self.inner.divide_all(conversion, inputs, constants, transform)
    }

    fn inverse_ntt_of(&self, x: &Buffer, moduli: &[usize]) -> Buffer {
        self.inverse.fetch_add(x.rows(), Ordering::Relaxed);
        self.inner.inverse_ntt_of(x, moduli)
    }

    fn automorphism_eval(&self, automorphism: &Automorphism, x: &Buffer) -> Buffer {
        self.inner.automorphism_eval(automorphism, x)
    }

    fn automorphism_coeff(&self, automorphism: &Automorphism, x: &Buffer, moduli: &[usize]) -> Buffer {
        self.inner.automorphism_coeff(automorphism, x, moduli)
    }

    fn join_components(&self, parts: &[&Buffer], twist: Twist, moduli: &[usize]) -> Buffer {
        self.inner.join_components(parts, twist, moduli)
    }

    fn split_components(&self, out: &mut [Buffer], x: &Buffer, twist: Twist, moduli: &[usize]) {
        self.inner.split_components(out, x, twist, moduli);
    }

    fn repeat_values(&self, x: &Buffer) -> Buffer {
        self.inner.repeat_values(x)
    }

    fn mean_of_neighbours(&self, out: &mut Buffer, x: &Buffer, moduli: &[usize]) {
        self.inner.mean_of_neighbours(out, x, moduli);
    }

    fn reduce_signed(&self, values: &[i64], moduli: &[usize]) -> Buffer {
        self.inner.reduce_signed(values, moduli)
    }

    fn plaintext_products(&self, out: &mut [Vec<Buffer>], xs: &[Vec<&Buffer>], sums: &[PlaintextSum<'_>], moduli: &[usize]) {
        let rows = |input: &usize| xs[*input].iter().map(|poly| poly.rows()).sum::<usize>();
        self.hadamard.fetch_add(sums.iter().flat_map(|sum| sum.inputs).map(rows).sum(), Ordering::Relaxed);
        self.inner.plaintext_products(out, xs, sums, moduli);
    }
}
