//! An engine that counts unit operations, to hold algorithms to the papers' cost tables.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use clathrate_arith::product::LeftMatrix;
use clathrate_arith::{
    ArithError, Automorphism, BaseConversion, Buffer, CpuEngine, DigitExtension, DivisionInput, Engine, Factor2, FactorShape, Factors,
    FillRow, Form, GadgetInput, Modulus, Rows, RowsMut, Twist,
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

    fn memory_kind(&self) -> &'static str {
        self.inner.memory_kind()
    }

    fn transform_class(&self, index: usize) -> usize {
        self.inner.transform_class(index)
    }

    fn extends_by_limbs(&self) -> bool {
        self.inner.extends_by_limbs()
    }

    fn divides_by_limbs(&self, sources: usize, targets: usize, polys: usize) -> bool {
        self.inner.divides_by_limbs(sources, targets, polys)
    }

    fn zeroed(&self, rows: usize) -> Buffer {
        self.inner.zeroed(rows)
    }

    fn scratch(&self, rows: usize) -> Buffer {
        self.inner.scratch(rows)
    }

    fn upload_rows(&self, out: RowsMut<'_>, fill: FillRow<'_>) {
        self.inner.upload_rows(out, fill);
    }

    fn download<'a>(&self, x: Rows<'a>) -> Cow<'a, [u64]> {
        self.inner.download(x)
    }

    fn copy(&self, out: RowsMut<'_>, x: Rows<'_>) {
        self.inner.copy(out, x);
    }

    fn copy_rows(&self, out: RowsMut<'_>, out_rows: &[usize], x: Rows<'_>, rows: &[usize]) {
        self.inner.copy_rows(out, out_rows, x, rows);
    }

    fn fill(&self, out: RowsMut<'_>, constants: &[u64]) {
        self.inner.fill(out, constants);
    }

    fn forward_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        self.forward.fetch_add(x.rows(), Ordering::Relaxed);
        self.inner.forward_ntt(x, moduli);
    }

    fn inverse_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        self.inverse.fetch_add(x.rows(), Ordering::Relaxed);
        self.inner.inverse_ntt(x, moduli);
    }

    fn inverse_ntt_of(&self, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        self.inverse.fetch_add(x.rows(), Ordering::Relaxed);
        self.inner.inverse_ntt_of(x, moduli)
    }

    fn add(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.inner.add(out, x, y, moduli);
    }

    fn sub(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.inner.sub(out, x, y, moduli);
    }

    fn add_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.inner.add_assign(x, y, moduli);
    }

    fn sub_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.inner.sub_assign(x, y, moduli);
    }

    fn negate_assign(&self, x: RowsMut<'_>, moduli: &[usize]) {
        self.inner.negate_assign(x, moduli);
    }

    fn mul_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.hadamard.fetch_add(x.rows(), Ordering::Relaxed);
        self.inner.mul_assign(x, y, moduli);
    }

    fn mul_constants_assign(&self, x: RowsMut<'_>, constants: &[u64], moduli: &[usize]) {
        self.inner.mul_constants_assign(x, constants, moduli);
    }

    fn add_mul_constants_assign(&self, x: RowsMut<'_>, y: Rows<'_>, constants: &[u64], moduli: &[usize]) {
        self.inner.add_mul_constants_assign(x, y, constants, moduli);
    }

    fn dot_products(&self, out: RowsMut<'_>, terms: &[Vec<Factor2<'_>>], right_rows: &[usize], moduli: &[usize]) {
        self.hadamard.fetch_add(terms.iter().map(Vec::len).sum::<usize>() * moduli.len(), Ordering::Relaxed);
        self.inner.dot_products(out, terms, right_rows, moduli);
    }

    fn combine(&self, out: &mut [RowsMut<'_>], left: &LeftMatrix, right: &[Rows<'_>], moduli: &[usize]) -> Result<(), ArithError> {
        self.inner.combine(out, left, right, moduli)
    }

    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        self.inner.zeroed_factors(shape, moduli)
    }

    fn pack_factors(&self, factors: &mut Factors, group: usize, sources: &[Vec<Rows<'_>>], source_rows: &[usize]) {
        self.inner.pack_factors(factors, group, sources, source_rows);
    }

    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        self.inner.sum_factors(base, terms, rows)
    }

    fn unpack_factors(&self, factors: &Factors, group: usize, terms: &[usize], columns: Range<usize>, rows: &[usize]) -> Buffer {
        self.inner.unpack_factors(factors, group, terms, columns, rows)
    }

    fn factor_products(&self, out: RowsMut<'_>, xs: &[Rows<'_>], factors: &Factors, groups: &[usize], rows: &[usize], moduli: &[usize]) {
        self.hadamard.fetch_add(out.rows() * xs.len(), Ordering::Relaxed);
        self.inner.factor_products(out, xs, factors, groups, rows, moduli);
    }

    fn gadget_products(
        &self,
        out: RowsMut<'_>,
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
        self.hadamard.fetch_add(out.rows() * inputs.len() * digits.len(), Ordering::Relaxed);
        self.inner.gadget_products(out, inputs, digits, factors, groups, rows, moduli);
    }

    fn convert(&self, conversion: &BaseConversion, x: Rows<'_>, out: RowsMut<'_>, out_rows: &[usize]) {
        let sources = conversion.sources().len();
        if sources > 1 {
            self.conversion.fetch_add(sources * conversion.targets().len(), Ordering::Relaxed);
        }
        self.inner.convert(conversion, x, out, out_rows);
    }

    fn divide_all(&self, conversion: &BaseConversion, inputs: &[DivisionInput<'_>], constants: &[u64], transform: bool) -> Buffer {
        let (sources, quotients) = (conversion.sources().len(), conversion.targets().len() * inputs.len());
        self.conversion.fetch_add(if sources > 1 { sources * quotients } else { 0 }, Ordering::Relaxed);
        self.division.fetch_add(quotients, Ordering::Relaxed);
        self.forward.fetch_add(if transform { quotients } else { 0 }, Ordering::Relaxed);
        self.inner.divide_all(conversion, inputs, constants, transform)
    }

    fn automorphism(&self, form: Form, automorphism: &Automorphism, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        self.inner.automorphism(form, automorphism, x, moduli)
    }

    fn mul_monomial(&self, x: Rows<'_>, power: usize, moduli: &[usize]) -> Buffer {
        self.inner.mul_monomial(x, power, moduli)
    }

    fn join_components(&self, form: Form, out: RowsMut<'_>, parts: &[Rows<'_>], twist: Twist, moduli: &[usize]) {
        self.inner.join_components(form, out, parts, twist, moduli);
    }

    fn split_components(&self, form: Form, parts: &mut [RowsMut<'_>], x: Rows<'_>, twist: Twist, moduli: &[usize]) {
        self.inner.split_components(form, parts, x, twist, moduli);
    }

    fn repeat(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>) {
        self.inner.repeat(form, out, x);
    }

    fn first_component(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>, moduli: &[usize]) {
        self.inner.first_component(form, out, x, moduli);
    }

    fn reduce_signed(&self, values: &[i64], moduli: &[usize]) -> Buffer {
        self.inner.reduce_signed(values, moduli)
    }
}
