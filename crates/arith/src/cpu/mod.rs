//! The CPU engine: one kernel per modulus, and rows distributed over an explicit thread pool.
//!
//! [`convert`] holds base conversions, [`factors`] operations on packed factors, [`digits`] the prepared
//! digits of a switch, [`gadget`] the fused pass of a switch, [`divide`] the last step of a division,
//! [`components`] changes of the degree, [`plaintext`] sums of products with packed plaintexts.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::aligned::Pool;
use crate::automorphism::{Automorphism, mul_monomial};
use crate::buffer::{Buffer, Rows, RowsMut};
use crate::conversion::BaseConversion;
use crate::engine::{
    DivisionInput, Engine, Factor2, FactorGroups, FillRow, Form, GadgetInput, Hoisted, PermutedProduct,
    PlaintextSum,
};
use crate::error::ArithError;
use crate::extension::DigitExtension;
use crate::factors::{FactorShape, Factors};
use crate::kernels::components::Twist;
use crate::kernels::{Isa, RowKernel};
use crate::limbs::serve_division;
use crate::meter::{Meter, Pass};
use crate::modulus::Modulus;
use crate::ntt::NttTable;
use crate::product::{FractionProduct, LeftMatrix, multiply_columns, multiply_fractions, multiply_metered};
use crate::text::counted;
use crate::workers;

mod components;
mod convert;
mod digits;
mod divide;
mod factors;
mod gadget;
mod hoisted;
mod plaintext;
mod threads;

pub use threads::Threads;

/// Smallest budget in bytes for idle buffers: at degree 2^13, products of high rank need about this much.
const POOL_BYTES: usize = 1 << 30;

/// Budget in bytes for idle buffers, per coefficient of the ring: 2 GiB at degree 2^16, about fifty
/// ciphertexts of a deep circuit. Memory that was returned to the system costs a page fault, and on virtual
/// machines much more, when it is allocated again.
const POOL_BYTES_PER_COEFFICIENT: usize = 32 << 10;

/// Coefficients per block of an inner product.
const PRODUCT_BLOCK: usize = 8192;

/// Words that one call of a kernel processes in an element-wise operation on shorter rows of one modulus,
/// because samples of degree 1 have one word per row.
const SHORT_ROWS: usize = 4096;

/// Primes below the first bound have the fastest transform, primes below the second bound the next fastest.
const CLASS_BITS: [f64; 2] = [45.9, 50.0];

/// The class of a prime by the speed of its transforms on processors ([`Engine::transform_class`]). It
/// depends only on the size of the prime.
#[must_use]
pub fn transform_class(modulus: &Modulus) -> usize {
    let bits = (modulus.value() as f64).log2();
    CLASS_BITS.iter().position(|&bound| bits < bound).unwrap_or(CLASS_BITS.len())
}

/// The rows of polynomials that are stored one after another, `rows` rows each, as `[row][polynomial]`.
fn rows_of_all(words: &mut [u64], rows: usize, degree: usize) -> Vec<Vec<&mut [u64]>> {
    let polys = words.len().checked_div(rows * degree).unwrap_or(0);
    let mut by_row: Vec<Vec<&mut [u64]>> = (0..rows).map(|_| Vec::with_capacity(polys)).collect();
    for (index, row) in words.chunks_exact_mut(degree).enumerate() {
        by_row[index % rows].push(row);
    }
    by_row
}

/// The rows `rows` of `words`, each with its index in `rows`.
fn distinct_rows<'a>(words: &'a mut [u64], degree: usize, rows: &[usize]) -> Vec<(usize, &'a mut [u64])> {
    let mut all: Vec<Option<&mut [u64]>> = words.chunks_exact_mut(degree.max(1)).map(Some).collect();
    // A repeated row is a bug of the caller, because two outputs would share it.
    let taken: Vec<(usize, &mut [u64])> = rows
        .iter()
        .enumerate()
        .filter_map(|(place, &row)| all[row].take().map(|words| (place, words)))
        .collect();
    assert_eq!(taken.len(), rows.len(), "output rows are distinct");
    taken
}

/// Computes on this machine's cores.
#[derive(Debug)]
pub struct CpuEngine {
    degree: usize,
    moduli: Vec<Modulus>,
    tables: Vec<NttTable>,
    /// The requested instruction set; the kernel of a modulus may use a smaller one.
    isa: Isa,
    memory: Arc<Pool>,
    /// `None` to run on the calling thread only.
    threads: Option<Arc<Threads>>,
    /// Whether threads share work that is done sooner by one.
    shares_small_work: bool,
    /// The meter that counts passes over rows, if any.
    meter: Option<Arc<Meter>>,
}

/// What is done with each word. To hand work to other threads and to wait for them takes 20 to 50
/// microseconds, and a few times as long on virtual machines: smaller work is done sooner on the calling
/// thread.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// A transform, a base conversion or a sum of products: a few nanoseconds a word.
    Transform,
    /// A sum or a product: half a nanosecond a word.
    Words,
}

impl Work {
    /// The number of words from which on several threads gain.
    fn least_words(self) -> usize {
        match self {
            Self::Transform => 1 << 16,
            Self::Words => 1 << 19,
        }
    }
}

impl CpuEngine {
    /// An engine for rows of `degree` words under `moduli`, on the calling thread.
    ///
    /// # Errors
    /// [`ArithError`] where the degree or a modulus is unusable.
    pub fn new(degree: usize, moduli: &[u64], isa: Isa) -> Result<Self, ArithError> {
        let moduli = moduli.iter().map(|&q| Modulus::new(q)).collect::<Result<Vec<_>, _>>()?;
        let tables = moduli.iter().map(|&q| NttTable::new(q, degree, isa)).collect::<Result<_, _>>()?;
        Ok(Self {
            degree,
            moduli,
            tables,
            isa,
            memory: Arc::new(Pool::new(POOL_BYTES.max(degree * POOL_BYTES_PER_COEFFICIENT))),
            threads: None,
            shares_small_work: false,
            meter: None,
        })
    }

    /// The same engine on `pool`; `None` for the calling thread only.
    #[must_use]
    pub fn with_threads(mut self, pool: Option<Arc<Threads>>) -> Self {
        self.threads = pool;
        self
    }

    /// The same engine, whose threads share also the work that one does sooner: for tests of threads at small
    /// degrees.
    #[must_use]
    pub fn sharing_small_work(self) -> Self {
        Self { shares_small_work: true, ..self }
    }

    /// The same engine, reporting the passes that it executes to `meter`.
    #[must_use]
    pub fn with_meter(mut self, meter: Arc<Meter>) -> Self {
        self.meter = Some(meter);
        self
    }

    /// An engine for the same moduli at another degree, with the same kernels, threads, pool of buffers
    /// and meter.
    pub fn of_degree(&self, degree: usize) -> Result<Self, ArithError> {
        let moduli: Vec<u64> = self.moduli.iter().map(Modulus::value).collect();
        let engine = Self::new(degree, &moduli, self.isa)?;
        let (memory, threads, meter) = (self.memory.clone(), self.threads.clone(), self.meter.clone());
        Ok(Self { memory, threads, meter, shares_small_work: self.shares_small_work, ..engine })
    }

    /// The meter that counts passes over rows, if any.
    #[must_use]
    pub fn meter(&self) -> Option<&Arc<Meter>> {
        self.meter.as_ref()
    }

    /// The pool that buffers come from.
    #[must_use]
    pub fn memory(&self) -> &Arc<Pool> {
        &self.memory
    }

    /// Reports `rows` executed passes to the meter, if any.
    fn count(&self, pass: Pass, rows: usize) {
        if let Some(meter) = &self.meter {
            meter.add(pass, rows);
        }
    }

    /// Reports the products of a base conversion to `rows` rows. A conversion from a single source counts
    /// none.
    fn count_conversion(&self, conversion: &BaseConversion, rows: usize) {
        let sources = conversion.sources.len();
        self.count(Pass::Conversion, if sources > 1 { sources * rows } else { 0 });
    }

    /// A pool of `threads` threads for [`CpuEngine::with_threads`]; `None` for one.
    ///
    /// # Errors
    /// [`ArithError::ThreadPool`] where the system refuses the threads.
    pub fn thread_pool(threads: usize) -> Result<Option<Arc<Threads>>, ArithError> {
        Threads::new(threads)
    }

    /// The threads for work on so many words; `None` for the calling thread.
    fn workers(&self, work: Work, words: usize) -> Option<&rayon::ThreadPool> {
        let least = if self.shares_small_work { 0 } else { work.least_words() };
        self.threads.as_ref().filter(|_| words >= least && workers::is_alone())?.pool()
    }

    /// The table of modulus `index`.
    #[must_use]
    pub fn table(&self, index: usize) -> &NttTable {
        &self.tables[index]
    }

    fn kernel(&self, moduli: &[usize], row: usize) -> &dyn RowKernel {
        self.tables[moduli[row % moduli.len()]].kernel()
    }

    fn thread_count(&self) -> usize {
        self.threads.as_ref().map_or(1, |threads| threads.count())
    }

    /// The threads that products of matrices may use: one beside other work.
    fn free_threads(&self) -> usize {
        if workers::is_alone() { self.thread_count() } else { 1 }
    }

    /// Runs `work(row index, row)` on every row of `x`.
    fn each_row(&self, x: RowsMut<'_>, work: impl Fn(usize, &mut [u64]) + Sync) {
        let degree = x.degree().max(1);
        match self.workers(Work::Transform, x.rows() * degree) {
            None => x.host().chunks_exact_mut(degree).enumerate().for_each(|(i, row)| work(i, row)),
            Some(pool) => pool.install(|| {
                x.host().par_chunks_exact_mut(degree).enumerate().for_each(|(i, row)| work(i, row))
            }),
        }
    }

    /// Runs `work(modulus, words, span)` on all words of `x`, in pieces of one modulus each: `modulus` is an
    /// index into `moduli`, `span` the range of the words in `x`.
    fn each_span(
        &self,
        x: RowsMut<'_>,
        moduli: &[usize],
        work: impl Fn(usize, &mut [u64], Range<usize>) + Send + Sync,
    ) {
        let degree = x.degree().max(1);
        let chunk = if moduli.len() == 1 { degree.max(SHORT_ROWS) } else { degree };
        let work = |(i, words): (usize, &mut [u64])| {
            let (start, length) = (i * chunk, words.len());
            work(i % moduli.len(), words, start..start + length);
        };
        match self.workers(Work::Words, x.rows() * degree) {
            None => x.host().chunks_mut(chunk).enumerate().for_each(work),
            Some(pool) => pool.install(|| x.host().par_chunks_mut(chunk).enumerate().for_each(work)),
        }
    }

    fn each_pair(
        &self,
        x: RowsMut<'_>,
        y: Rows<'_>,
        moduli: &[usize],
        work: impl Fn(&dyn RowKernel, &mut [u64], &[u64]) + Send + Sync,
    ) {
        assert!(x.rows() == y.rows() && x.degree() == y.degree(), "operands have the same rows");
        let y = y.host();
        self.each_span(x, moduli, |modulus, x, span| work(self.kernel(moduli, modulus), x, &y[span]));
    }

    fn each_triple(
        &self,
        out: RowsMut<'_>,
        x: Rows<'_>,
        y: Rows<'_>,
        moduli: &[usize],
        work: impl Fn(&dyn RowKernel, &mut [u64], &[u64], &[u64]) + Send + Sync,
    ) {
        assert!(out.rows() == x.rows() && out.degree() == x.degree(), "operands have the same rows");
        let (x, y) = (x.host(), y.host());
        assert!(x.len() == y.len(), "operands have the same rows");
        self.each_span(out, moduli, |modulus, out, span| {
            work(self.kernel(moduli, modulus), out, &x[span.clone()], &y[span])
        });
    }
}

impl Engine for CpuEngine {
    fn degree(&self) -> usize {
        self.degree
    }

    fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    fn describe(&self) -> String {
        let mut kernels: Vec<(Isa, usize)> = Vec::new();
        for table in &self.tables {
            let isa = table.isa();
            match kernels.iter_mut().find(|(known, _)| *known == isa) {
                Some((_, count)) => *count += 1,
                None => kernels.push((isa, 1)),
            }
        }
        let kernels: Vec<String> =
            kernels.iter().map(|(isa, count)| format!("{} x {count}", isa.name())).collect();
        let threads = self.thread_count();
        format!("cpu, kernels {}, {}", kernels.join(" + "), counted(threads, "thread"))
    }

    fn workers(&self) -> usize {
        self.free_threads()
    }

    fn memory_kind(&self) -> &'static str {
        "host"
    }

    fn at_degree(&self, degree: usize) -> Result<Arc<dyn Engine>, ArithError> {
        Ok(Arc::new(self.of_degree(degree)?))
    }

    fn transform_class(&self, index: usize) -> usize {
        transform_class(&self.moduli[index])
    }

    fn extends_by_limbs(&self) -> bool {
        self.tables.iter().any(|table| table.isa() == Isa::Ifma)
    }

    fn divides_by_limbs(&self, sources: usize, targets: usize, polys: usize) -> bool {
        serve_division(sources, targets, polys, self.degree)
    }

    fn zeroed(&self, rows: usize) -> Buffer {
        Buffer::zeroed(&self.memory, rows, self.degree)
    }

    fn scratch(&self, rows: usize) -> Buffer {
        Buffer::scratch(&self.memory, rows, self.degree)
    }

    fn upload_rows(&self, out: RowsMut<'_>, fill: FillRow<'_>) {
        self.each_row(out, fill);
    }

    fn download<'a>(&self, x: Rows<'a>) -> Cow<'a, [u64]> {
        Cow::Borrowed(x.host())
    }

    fn copy(&self, out: RowsMut<'_>, x: Rows<'_>) {
        assert!(out.rows() == x.rows() && out.degree() == x.degree(), "as many rows");
        let x = x.host();
        // Copying needs no modulus, so one index stands for all of them.
        self.each_span(out, &[0], |_, out, span| out.copy_from_slice(&x[span]));
    }

    fn copy_rows(&self, out: RowsMut<'_>, out_rows: &[usize], x: Rows<'_>, rows: &[usize]) {
        assert!(out_rows.len() == rows.len() && out.degree() == x.degree(), "one row for each row");
        let degree = out.degree();
        let mut targets = distinct_rows(out.host(), degree, out_rows);
        self.each(&mut targets, |i, target| target.1.copy_from_slice(x.row(rows[i])));
    }

    fn fill(&self, out: RowsMut<'_>, constants: &[u64]) {
        assert!(!constants.is_empty(), "one constant per modulus");
        self.each_row(out, |i, row| row.fill(constants[i % constants.len()]));
    }

    fn forward_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        self.each_row(x, |i, row| {
            self.kernel(moduli, i).forward(row);
            self.count(Pass::Forward, 1);
        });
    }

    fn inverse_ntt(&self, x: RowsMut<'_>, moduli: &[usize]) {
        self.each_row(x, |i, row| {
            self.kernel(moduli, i).inverse(row);
            self.count(Pass::Inverse, 1);
        });
    }

    fn inverse_ntt_of(&self, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        let mut out = self.scratch(x.rows());
        self.each_row(out.view_mut(), |i, row| {
            row.copy_from_slice(x.row(i));
            self.kernel(moduli, i).inverse(row);
            self.count(Pass::Inverse, 1);
        });
        out
    }

    fn add(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.each_triple(out, x, y, moduli, |kernel, out, x, y| kernel.add(out, x, y));
    }

    fn sub(&self, out: RowsMut<'_>, x: Rows<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.each_triple(out, x, y, moduli, |kernel, out, x, y| kernel.sub(out, x, y));
    }

    fn add_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.each_pair(x, y, moduli, |kernel, x, y| kernel.add_assign(x, y));
    }

    fn sub_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        self.each_pair(x, y, moduli, |kernel, x, y| kernel.sub_assign(x, y));
    }

    fn negate_assign(&self, x: RowsMut<'_>, moduli: &[usize]) {
        self.each_span(x, moduli, |modulus, x, _| self.kernel(moduli, modulus).negate_assign(x));
    }

    fn mul_assign(&self, x: RowsMut<'_>, y: Rows<'_>, moduli: &[usize]) {
        let rows = y.rows();
        assert!(
            rows > 0 && x.rows().is_multiple_of(rows) && rows.is_multiple_of(moduli.len()),
            "whole polynomials on both sides"
        );
        assert!(x.degree() == y.degree(), "rows of one degree");
        self.each_row(x, |i, x| {
            self.kernel(moduli, i).mul_assign(x, y.row(i % rows));
            self.count(Pass::Hadamard, 1);
        });
    }

    fn mul_constants_assign(&self, x: RowsMut<'_>, constants: &[u64], moduli: &[usize]) {
        assert_eq!(constants.len(), moduli.len(), "one constant per modulus");
        self.each_span(x, moduli, |modulus, x, _| {
            let w = self.moduli[moduli[modulus]].multiplier(constants[modulus]);
            self.kernel(moduli, modulus).mul_constant_assign(x, w);
        });
    }

    fn add_mul_constants_assign(&self, x: RowsMut<'_>, y: Rows<'_>, constants: &[u64], moduli: &[usize]) {
        let (rows, degree) = (moduli.len(), x.degree());
        let polys = y.rows() / rows;
        assert!(
            constants.len() == rows && y.rows() == polys * rows && y.degree() == degree,
            "one constant per modulus, whole polynomials"
        );
        assert!(
            polys > 0 && x.rows().is_multiple_of(polys) && x.rows() >= y.rows(),
            "as many polynomials, of at least as many rows"
        );
        let each = x.rows() / polys;
        let mut targets: Vec<(usize, &mut [u64])> =
            x.host().chunks_exact_mut(degree).enumerate().filter(|(row, _)| row % each < rows).collect();
        self.each(&mut targets, |i, (_, x)| {
            let w = self.moduli[moduli[i % rows]].multiplier(constants[i % rows]);
            self.kernel(moduli, i).add_mul_constant_assign(x, y.row(i), w);
        });
    }

    fn dot_products(
        &self,
        out: RowsMut<'_>,
        terms: &[Vec<Factor2<'_>>],
        right_rows: &[usize],
        moduli: &[usize],
    ) {
        let (rows, degree) = (moduli.len(), self.degree);
        assert_eq!(out.rows(), terms.len() * rows, "one list of factors per output");
        assert_eq!(right_rows.len(), rows, "one row index per modulus");
        assert!(terms.iter().flatten().all(|(x, _)| x.rows() == rows), "one row per modulus");
        // All outputs of one row are computed together, in blocks, so that shared factors stay in the cache.
        let several = terms.len() > 1;
        let mut by_row = rows_of_all(out.host(), rows, degree);
        self.each(&mut by_row, |i, outputs| {
            let kernel = self.kernel(moduli, i);
            for start in (0..degree).step_by(PRODUCT_BLOCK) {
                let span = start..(start + PRODUCT_BLOCK).min(degree);
                for (output, terms) in outputs.iter_mut().zip(terms) {
                    if let ([(x, y)], true) = (&terms[..], several) {
                        // A product in place costs less than a sum of one term; the factors that outputs
                        // share are in the cache.
                        let output = &mut output[span.clone()];
                        output.copy_from_slice(&x.row(i)[span.clone()]);
                        kernel.mul_assign(output, &y.row(right_rows[i])[span.clone()]);
                        continue;
                    }
                    let left: Vec<&[u64]> = terms.iter().map(|(x, _)| &x.row(i)[span.clone()]).collect();
                    let right: Vec<&[u64]> =
                        terms.iter().map(|(_, y)| &y.row(right_rows[i])[span.clone()]).collect();
                    kernel.dot(&mut output[span.clone()], &left, &right, false);
                }
            }
            self.count(Pass::Hadamard, terms.iter().map(Vec::len).sum());
        });
    }

    fn combine(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        let rows = right.first().map_or(0, Rows::rows);
        assert!(
            right.iter().all(|x| x.rows() == rows) && out.iter().all(|x| x.rows() == rows),
            "as many rows everywhere"
        );
        let mut targets: Vec<std::slice::ChunksExactMut<'_, u64>> =
            out.iter_mut().map(|out| out.reborrow().host().chunks_exact_mut(self.degree)).collect();
        for row in 0..rows {
            let mut out: Vec<&mut [u64]> = targets.iter_mut().filter_map(Iterator::next).collect();
            let right: Vec<&[u64]> = right.iter().map(|x| x.row(row)).collect();
            let modulus = &self.moduli[moduli[row % moduli.len()]];
            multiply_metered(&mut out, left, &right, modulus, self.free_threads(), self.meter.as_deref())?;
        }
        Ok(())
    }

    fn combine_coefficients(
        &self,
        out: &mut [RowsMut<'_>],
        left: &[Rows<'_>],
        positions: &[usize],
        right: &[Rows<'_>],
        moduli: &[usize],
    ) -> Result<(), ArithError> {
        let rows = right.first().map_or(0, Rows::rows);
        assert!(
            right.iter().all(|x| x.rows() == rows) && out.iter().all(|x| x.rows() == rows),
            "as many rows everywhere"
        );
        assert!(left.iter().all(|x| x.rows() == moduli.len()), "the left factors are single polynomials");
        let mut targets: Vec<Vec<Option<&mut [u64]>>> = out
            .iter_mut()
            .map(|out| out.reborrow().host().chunks_exact_mut(self.degree).map(Some).collect())
            .collect();
        for (index, &modulus) in moduli.iter().enumerate() {
            let same: Vec<usize> = (index..rows).step_by(moduli.len()).collect();
            let mut out: Vec<Vec<&mut [u64]>> = same
                .iter()
                .map(|&row| targets.iter_mut().filter_map(|target| target[row].take()).collect())
                .collect();
            let right: Vec<Vec<&[u64]>> =
                same.iter().map(|&row| right.iter().map(|x| x.row(row)).collect()).collect();
            let left: Vec<&[u64]> = left.iter().map(|x| x.row(index)).collect();
            let workers = (self.free_threads(), self.meter.as_deref());
            multiply_columns(&mut out, &left, positions, &right, &self.moduli[modulus], workers)?;
        }
        Ok(())
    }

    fn combine_fractions(
        &self,
        out: &mut [RowsMut<'_>],
        left: &LeftMatrix,
        right: &[Rows<'_>],
        product: FractionProduct,
        from: &[usize],
        to: &[usize],
    ) -> Result<(), ArithError> {
        let mut out: Vec<Vec<&mut [u64]>> =
            out.iter_mut().map(|out| out.reborrow().host().chunks_exact_mut(self.degree).collect()).collect();
        let right: Vec<Vec<&[u64]>> =
            right.iter().map(|x| (0..x.rows()).map(|row| x.row(row)).collect()).collect();
        let moduli = |indices: &[usize]| indices.iter().map(|&index| &self.moduli[index]).collect::<Vec<_>>();
        let (from, to) = (moduli(from), moduli(to));
        multiply_fractions(
            &mut out,
            left,
            &right,
            product,
            (&from, &to),
            self.free_threads(),
            self.meter.as_deref(),
        )
    }

    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        Factors::zeroed(shape, self.degree, moduli.iter().map(|&i| (i, self.moduli[i].bits())))
    }

    fn scratch_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        let moduli = moduli.iter().map(|&i| (i, self.moduli[i].bits()));
        Factors::scratch(&self.memory, shape, self.degree, moduli)
    }

    fn pack_factors(
        &self,
        factors: &mut Factors,
        group: usize,
        sources: &[Vec<Rows<'_>>],
        source_rows: &[usize],
    ) {
        factors::pack(self, factors, group, sources, source_rows);
    }

    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        factors::sum(self, base, terms, rows)
    }

    fn unpack_factors(
        &self,
        factors: &Factors,
        group: usize,
        terms: &[usize],
        columns: Range<usize>,
        rows: &[usize],
    ) -> Buffer {
        factors::unpack(self, factors, group, terms, columns, rows)
    }

    fn hoisted_products(
        &self,
        out: &mut [RowsMut<'_>],
        input: &Hoisted<'_>,
        products: &[Option<PermutedProduct<'_>>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    ) {
        hoisted::products(self, out, input, products, sums, moduli);
    }

    fn permuted_factor_products(
        &self,
        out: RowsMut<'_>,
        inputs: &[Rows<'_>],
        phis: &[Automorphism],
        by: FactorGroups<'_>,
    ) {
        factors::permuted_products(self, out, inputs, phis, by);
    }

    fn factor_products(&self, out: RowsMut<'_>, xs: &[Rows<'_>], by: FactorGroups<'_>) {
        factors::products(self, out, xs, by);
    }

    fn gadget_products(
        &self,
        out: RowsMut<'_>,
        inputs: &[GadgetInput<'_>],
        digits: &[DigitExtension],
        by: FactorGroups<'_>,
    ) {
        gadget::products(self, out, inputs, digits, by);
    }

    fn plaintext_products(
        &self,
        out: &mut [RowsMut<'_>],
        xs: &[Rows<'_>],
        sums: &[PlaintextSum<'_>],
        moduli: &[usize],
    ) {
        plaintext::products(self, out, xs, sums, moduli);
    }

    fn convert(&self, conversion: &BaseConversion, x: Rows<'_>, out: RowsMut<'_>, out_rows: &[usize]) {
        self.convert_rows(conversion, x, out, out_rows);
    }

    fn divide_all(
        &self,
        conversion: &BaseConversion,
        inputs: &[DivisionInput<'_>],
        constants: &[u64],
        transform: bool,
    ) -> Buffer {
        divide::divide(self, conversion, inputs, constants, transform)
    }

    fn automorphism(&self, form: Form, automorphism: &Automorphism, x: Rows<'_>, moduli: &[usize]) -> Buffer {
        assert_eq!(automorphism.degree(), self.degree, "an automorphism belongs to one degree");
        let mut out = self.scratch(x.rows());
        self.each_row(out.view_mut(), |i, row| match form {
            Form::Eval => automorphism.apply_eval(row, x.row(i)),
            Form::Coeff => automorphism.apply_coeff(row, x.row(i), &self.moduli[moduli[i % moduli.len()]]),
        });
        out
    }

    fn mul_monomial(&self, x: Rows<'_>, power: usize, moduli: &[usize]) -> Buffer {
        let mut out = self.scratch(x.rows());
        self.each_row(out.view_mut(), |i, row| {
            mul_monomial(row, x.row(i), power, &self.moduli[moduli[i % moduli.len()]])
        });
        out
    }

    fn join_components(
        &self,
        form: Form,
        out: RowsMut<'_>,
        parts: &[Rows<'_>],
        twist: Twist,
        moduli: &[usize],
    ) {
        components::join(self, form, out, parts, twist, moduli);
    }

    fn join_samples(&self, form: Form, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        components::join_samples(self, form, out, parts, moduli);
    }

    fn join_masks(&self, out: RowsMut<'_>, parts: &[Rows<'_>], moduli: &[usize]) {
        components::join_masks(self, out, parts, moduli);
    }

    fn transpose(&self, x: &mut [RowsMut<'_>]) {
        components::transpose_all(self, x);
    }

    fn split_components(
        &self,
        form: Form,
        parts: &mut [RowsMut<'_>],
        x: Rows<'_>,
        twist: Twist,
        moduli: &[usize],
    ) {
        components::split(self, form, parts, x, twist, moduli);
    }

    fn repeat(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>) {
        components::repeat(self, form, out, x);
    }

    fn first_component(&self, form: Form, out: RowsMut<'_>, x: Rows<'_>, moduli: &[usize]) {
        components::first(self, form, out, x, moduli);
    }

    fn reduce_signed(&self, out: RowsMut<'_>, values: &[i64], moduli: &[usize]) {
        assert!(
            out.degree() == values.len() && out.rows() == moduli.len(),
            "one value per coefficient, one row per modulus"
        );
        self.each_row(out, |i, row| self.kernel(moduli, i).reduce_signed(row, values));
    }
}
