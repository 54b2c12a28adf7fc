//! The CPU engine: kernels per modulus, rows spread over an explicit thread pool.
//!
//! [`factors`] holds what it does with packed factors, [`digits`] a switch's digits as they wait for it, [`gadget`] its one fused pass,
//! [`divide`] the end of a division, [`components`] moves of the degree, [`plaintext`] sums of products with packed plaintexts.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::aligned::{AlignedWords, Pool};
use crate::automorphism::Automorphism;
use crate::buffer::Buffer;
use crate::conversion::{BaseConversion, Rounding};
use crate::engine::{DivisionInput, Engine, GadgetInput, PlaintextSum};
use crate::error::ArithError;
use crate::extension::DigitExtension;
use crate::factors::{FactorShape, Factors};
use crate::kernels::components::Twist;
use crate::kernels::{Isa, RowKernel};
use crate::modulus::Modulus;
use crate::ntt::NttTable;

mod components;
mod digits;
mod divide;
mod factors;
mod gadget;
mod plaintext;

/// Idle scratch that an engine keeps for reuse.
const POOL_BYTES: usize = 512 << 20;

/// Coefficients per block of a base conversion: a dozen rows of a block stay in the first-level cache.
const CONVERSION_BLOCK: usize = 512;

/// Coefficients per block of an inner product.
const PRODUCT_BLOCK: usize = 8192;

/// The rows of several buffers of equal shape: `[row][buffer]`.
fn rows_of_all(buffers: &mut [Buffer], degree: usize) -> Vec<Vec<&mut [u64]>> {
    let rows = buffers.first().map_or(0, Buffer::rows);
    let mut by_row: Vec<Vec<&mut [u64]>> = (0..rows).map(|_| Vec::with_capacity(buffers.len())).collect();
    for buffer in buffers {
        for (row, words) in buffer.host_mut().chunks_exact_mut(degree).enumerate() {
            by_row[row].push(words);
        }
    }
    by_row
}

/// Computes on this machine's cores.
#[derive(Debug)]
pub struct CpuEngine {
    degree: usize,
    moduli: Vec<Modulus>,
    tables: Vec<NttTable>,
    memory: Arc<Pool>,
    /// `None` runs on the calling thread alone.
    threads: Option<Arc<rayon::ThreadPool>>,
}

impl CpuEngine {
    /// An engine for rows of `degree` words under `moduli`, on the calling thread.
    ///
    /// # Errors
    /// [`ArithError`] where the degree or a modulus is unusable.
    pub fn new(degree: usize, moduli: &[u64], isa: Isa) -> Result<Self, ArithError> {
        let moduli = moduli.iter().map(|&q| Modulus::new(q)).collect::<Result<Vec<_>, _>>()?;
        let tables = moduli.iter().map(|&q| NttTable::new(q, degree, isa)).collect::<Result<_, _>>()?;
        Ok(Self { degree, moduli, tables, memory: Arc::new(Pool::new(POOL_BYTES)), threads: None })
    }

    /// The same engine on `pool`; `None` for the calling thread alone.
    #[must_use]
    pub fn with_threads(mut self, pool: Option<Arc<rayon::ThreadPool>>) -> Self {
        self.threads = pool;
        self
    }

    /// A pool of `threads` threads for [`CpuEngine::with_threads`]; `None` for one.
    ///
    /// # Errors
    /// [`ArithError::ThreadPool`] where the system refuses them.
    pub fn thread_pool(threads: usize) -> Result<Option<Arc<rayon::ThreadPool>>, ArithError> {
        if threads <= 1 {
            return Ok(None);
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("clathrate-{i}"))
            .build()
            .map(|pool| Some(Arc::new(pool)))
            .map_err(|error| ArithError::ThreadPool { threads, reason: error.to_string() })
    }

    /// The table of modulus `index`.
    #[must_use]
    pub fn table(&self, index: usize) -> &NttTable {
        &self.tables[index]
    }

    fn kernel(&self, moduli: &[usize], row: usize) -> &dyn RowKernel {
        self.tables[moduli[row % moduli.len()]].kernel()
    }

    /// Runs `work(row index, row)` on every row of `x`.
    fn each_row(&self, x: &mut [u64], work: impl Fn(usize, &mut [u64]) + Send + Sync) {
        match &self.threads {
            None => x.chunks_exact_mut(self.degree).enumerate().for_each(|(i, row)| work(i, row)),
            Some(pool) => pool.install(|| x.par_chunks_exact_mut(self.degree).enumerate().for_each(|(i, row)| work(i, row))),
        }
    }

    fn each_row_pair(&self, x: &mut Buffer, y: &Buffer, work: impl Fn(usize, &mut [u64], &[u64]) + Send + Sync) {
        assert_eq!(x.rows(), y.rows(), "operands have the same rows");
        self.each_row(x.host_mut(), |i, row| work(i, row, y.row(i)));
    }
}

impl CpuEngine {
    /// One block of the left side of a base conversion: the scaled sources, then `z` when centred, `block` words each.
    fn prepare_block(
        &self,
        conversion: &BaseConversion,
        x: &Buffer,
        first: usize,
        start: usize,
        columns: &mut [&mut [u64]],
        fraction: &mut [f64],
    ) {
        let sources = conversion.sources.len();
        let centred = conversion.rounding == Rounding::Centred;
        let (scaled, z) = columns.split_at_mut(sources);
        fraction.fill(0.0);
        for (i, row) in scaled.iter_mut().enumerate() {
            let kernel = self.tables[conversion.sources[i]].kernel();
            row.copy_from_slice(&x.row(first + i)[start..start + row.len()]);
            kernel.mul_constant_assign(row, conversion.prepare[i]);
            if centred {
                kernel.add_fraction(fraction, row, conversion.inverse_moduli[i]);
            }
        }
        if let Some(z) = z.first_mut() {
            self.tables[conversion.sources[0]].kernel().round_fraction(z, fraction);
        }
    }

    /// Base conversion to some of the targets, in blocks that stay in the first-level cache from the scaling of the sources to
    /// the last target.
    fn convert_group(&self, conversion: &BaseConversion, x: &Buffer, first: usize, targets: &mut [(usize, &mut [u64])]) {
        let block = CONVERSION_BLOCK.min(self.degree);
        let mut scaled = AlignedWords::zeroed(conversion.columns() * block);
        let mut fraction = vec![0f64; block];
        for start in (0..self.degree).step_by(block) {
            let mut columns: Vec<&mut [u64]> = scaled.chunks_exact_mut(block).collect();
            self.prepare_block(conversion, x, first, start, &mut columns, &mut fraction);
            let columns: Vec<&[u64]> = scaled.chunks_exact(block).collect();
            for (target, row) in targets.iter_mut() {
                let kernel = self.tables[conversion.targets[*target]].kernel();
                kernel.combine(&mut row[start..start + block], &columns, &conversion.weights[*target], conversion.y_bits);
            }
        }
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
            let isa = table.kernel().isa();
            match kernels.iter_mut().find(|(known, _)| *known == isa) {
                Some((_, count)) => *count += 1,
                None => kernels.push((isa, 1)),
            }
        }
        let kernels: Vec<String> = kernels.iter().map(|(isa, count)| format!("{} x {count}", isa.name())).collect();
        let threads = self.threads.as_ref().map_or(1, |pool| pool.current_num_threads());
        format!("cpu, kernels {}, {threads} thread{}", kernels.join(" + "), if threads == 1 { "" } else { "s" })
    }

    fn zeroed(&self, rows: usize) -> Buffer {
        Buffer::zeroed(&self.memory, rows, self.degree)
    }

    fn scratch(&self, rows: usize) -> Buffer {
        Buffer::scratch(&self.memory, rows, self.degree)
    }

    fn forward_ntt(&self, x: &mut Buffer, rows: Range<usize>, moduli: &[usize]) {
        let (first, span) = (rows.start, rows.start * self.degree..rows.end * self.degree);
        self.each_row(&mut x.host_mut()[span], |i, row| self.kernel(moduli, first + i).forward(row));
    }

    fn inverse_ntt(&self, x: &mut Buffer, rows: Range<usize>, moduli: &[usize]) {
        let (first, span) = (rows.start, rows.start * self.degree..rows.end * self.degree);
        self.each_row(&mut x.host_mut()[span], |i, row| self.kernel(moduli, first + i).inverse(row));
    }

    fn add_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]) {
        self.each_row_pair(x, y, |i, x, y| self.kernel(moduli, i).add_assign(x, y));
    }

    fn sub_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]) {
        self.each_row_pair(x, y, |i, x, y| self.kernel(moduli, i).sub_assign(x, y));
    }

    fn negate_assign(&self, x: &mut Buffer, moduli: &[usize]) {
        self.each_row(x.host_mut(), |i, row| self.kernel(moduli, i).negate_assign(row));
    }

    fn mul_assign(&self, x: &mut Buffer, y: &Buffer, moduli: &[usize]) {
        self.each_row_pair(x, y, |i, x, y| self.kernel(moduli, i).mul_assign(x, y));
    }

    fn mul_constants_assign(&self, x: &mut Buffer, constants: &[u64], moduli: &[usize]) {
        assert_eq!(constants.len(), moduli.len(), "one constant per modulus");
        self.each_row(x.host_mut(), |i, row| {
            let which = i % moduli.len();
            let w = self.moduli[moduli[which]].multiplier(constants[which]);
            self.kernel(moduli, i).mul_constant_assign(row, w);
        });
    }

    fn sub_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, y_rows: &[usize], constants: &[u64], moduli: &[usize]) {
        assert!(constants.len() == moduli.len() && y_rows.len() == x.rows(), "one constant per modulus, one row of y per row of x");
        self.each_row(x.host_mut(), |i, row| {
            let which = i % moduli.len();
            let w = self.moduli[moduli[which]].multiplier(constants[which]);
            self.kernel(moduli, i).sub_mul_constant_assign(row, y.row(y_rows[i]), w);
        });
    }

    fn add_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, constants: &[u64], moduli: &[usize]) {
        assert!(constants.len() == moduli.len() && y.rows() == moduli.len() && x.rows() >= y.rows(), "one constant per row of y");
        let words = y.host().len();
        self.each_row(&mut x.host_mut()[..words], |i, row| {
            let w = self.moduli[moduli[i]].multiplier(constants[i]);
            self.kernel(moduli, i).add_mul_constant_assign(row, y.row(i), w);
        });
    }

    fn inner_products(&self, out: &mut [Buffer], xs: &[&Buffer], ys: &[Vec<&Buffer>], y_rows: &[usize], moduli: &[usize]) {
        assert_eq!(out.len(), ys.len(), "one list of factors per output");
        assert_eq!(y_rows.len(), moduli.len(), "one row index per modulus");
        assert!(ys.iter().all(|ys| ys.len() == xs.len()), "as many factors on both sides");
        assert!(xs.iter().all(|x| x.rows() == moduli.len()) && out.iter().all(|x| x.rows() == moduli.len()), "one row per modulus");
        // All outputs of one row together, in blocks that keep the shared left factors in the cache.
        let mut by_row = rows_of_all(out, self.degree);
        let work = |(i, outputs): (usize, &mut Vec<&mut [u64]>)| {
            let kernel = self.kernel(moduli, i);
            for start in (0..self.degree).step_by(PRODUCT_BLOCK) {
                let span = start..(start + PRODUCT_BLOCK).min(self.degree);
                let left: Vec<&[u64]> = xs.iter().map(|x| &x.row(i)[span.clone()]).collect();
                for (output, ys) in outputs.iter_mut().zip(ys) {
                    let right: Vec<&[u64]> = ys.iter().map(|y| &y.row(y_rows[i])[span.clone()]).collect();
                    kernel.dot(&mut output[span.clone()], &left, &right, false);
                }
            }
        };
        match &self.threads {
            None => by_row.iter_mut().enumerate().for_each(work),
            Some(pool) => pool.install(|| by_row.par_iter_mut().enumerate().for_each(work)),
        }
    }

    fn zeroed_factors(&self, shape: FactorShape, moduli: &[usize]) -> Factors {
        Factors::zeroed(shape, self.degree, moduli.iter().map(|&i| (i, self.moduli[i].bits())))
    }

    fn pack_factors(&self, factors: &mut Factors, group: usize, sources: &[Vec<&Buffer>], source_rows: &[usize]) {
        factors::pack(self, factors, group, sources, source_rows);
    }

    fn sum_factors(&self, base: &Factors, terms: &[Vec<usize>], rows: &[usize]) -> Factors {
        factors::sum(self, base, terms, rows)
    }

    fn unpack_factor(&self, factors: &Factors, group: usize, terms: &[usize], column: usize, rows: &[usize]) -> Buffer {
        factors::unpack(self, factors, group, terms, column, rows)
    }

    fn factor_products(&self, out: &mut [Buffer], xs: &[&Buffer], factors: &Factors, groups: &[usize], rows: &[usize], moduli: &[usize]) {
        factors::products(self, out, xs, factors, groups, rows, moduli);
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
        gadget::products(self, out, inputs, digits, factors, groups, rows, moduli);
    }

    fn convert(&self, conversion: &BaseConversion, x: &Buffer, first: usize, out: &mut Buffer, out_rows: &[usize]) {
        let sources = conversion.sources.len();
        assert!(x.rows() >= first + sources, "one row per source modulus");
        assert_eq!(out_rows.len(), conversion.targets.len(), "one row per target modulus");
        let mut rows: Vec<Option<&mut [u64]>> = out.host_mut().chunks_exact_mut(self.degree).map(Some).collect();
        // A repeated row would be a bug of the caller: two outputs for one place.
        let mut targets: Vec<(usize, &mut [u64])> =
            out_rows.iter().enumerate().filter_map(|(t, &row)| rows[row].take().map(|words| (t, words))).collect();
        assert_eq!(targets.len(), out_rows.len(), "output rows are distinct");
        let work = |group: &mut [(usize, &mut [u64])]| self.convert_group(conversion, x, first, group);
        match &self.threads {
            None => work(&mut targets),
            Some(pool) => {
                let size = targets.len().div_ceil(pool.current_num_threads()).max(1);
                pool.install(|| targets.par_chunks_mut(size).for_each(work));
            }
        }
    }

    fn divide_all(&self, conversion: &BaseConversion, inputs: &[DivisionInput<'_>], constants: &[u64], transform: bool) -> Vec<Buffer> {
        divide::divide(self, conversion, inputs, constants, transform)
    }

    fn inverse_ntt_of(&self, x: &Buffer, moduli: &[usize]) -> Buffer {
        let mut out = self.scratch(x.rows());
        self.each_row(out.host_mut(), |i, row| {
            row.copy_from_slice(x.row(i));
            self.kernel(moduli, i).inverse(row);
        });
        out
    }

    fn automorphism_eval(&self, automorphism: &Automorphism, x: &Buffer) -> Buffer {
        assert_eq!(automorphism.degree(), self.degree, "an automorphism belongs to one degree");
        let mut out = self.scratch(x.rows());
        self.each_row(out.host_mut(), |i, row| automorphism.apply_eval(row, x.row(i)));
        out
    }

    fn automorphism_coeff(&self, automorphism: &Automorphism, x: &Buffer, moduli: &[usize]) -> Buffer {
        assert_eq!(automorphism.degree(), self.degree, "an automorphism belongs to one degree");
        let mut out = self.scratch(x.rows());
        self.each_row(out.host_mut(), |i, row| automorphism.apply_coeff(row, x.row(i), &self.moduli[moduli[i % moduli.len()]]));
        out
    }

    fn join_components(&self, parts: &[&Buffer], twist: Twist, moduli: &[usize]) -> Buffer {
        components::join(self, parts, twist, moduli)
    }

    fn split_components(&self, out: &mut [Buffer], x: &Buffer, twist: Twist, moduli: &[usize]) {
        components::split(self, out, x, twist, moduli);
    }

    fn repeat_values(&self, x: &Buffer) -> Buffer {
        components::repeat(self, x)
    }

    fn mean_of_neighbours(&self, out: &mut Buffer, x: &Buffer, moduli: &[usize]) {
        components::mean(self, out, x, moduli);
    }

    fn reduce_signed(&self, values: &[i64], moduli: &[usize]) -> Buffer {
        assert_eq!(values.len(), self.degree, "one value per coefficient");
        let mut out = self.scratch(moduli.len());
        self.each_row(out.host_mut(), |i, row| self.kernel(moduli, i).reduce_signed(row, values));
        out
    }

    fn plaintext_products(&self, out: &mut [Vec<Buffer>], xs: &[Vec<&Buffer>], sums: &[PlaintextSum<'_>], moduli: &[usize]) {
        plaintext::products(self, out, xs, sums, moduli);
    }
}
