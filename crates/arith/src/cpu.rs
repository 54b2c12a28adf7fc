//! The CPU engine: kernels per modulus, rows spread over an explicit thread pool.

use std::sync::Arc;

use rayon::prelude::*;

use crate::aligned::Pool;
use crate::automorphism::Automorphism;
use crate::buffer::Buffer;
use crate::conversion::{BaseConversion, Rounding};
use crate::engine::Engine;
use crate::error::ArithError;
use crate::kernels::{Isa, RowKernel};
use crate::modulus::Modulus;
use crate::ntt::NttTable;

/// Idle scratch that an engine keeps for reuse.
const POOL_BYTES: usize = 512 << 20;

/// Coefficients per block of a base conversion: a dozen rows of a block stay in the first-level cache.
const CONVERSION_BLOCK: usize = 512;

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

    fn forward_ntt(&self, x: &mut Buffer, moduli: &[usize]) {
        self.each_row(x.host_mut(), |i, row| self.kernel(moduli, i).forward(row));
    }

    fn inverse_ntt(&self, x: &mut Buffer, moduli: &[usize]) {
        self.each_row(x.host_mut(), |i, row| self.kernel(moduli, i).inverse(row));
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

    fn sub_mul_constants_assign(&self, x: &mut Buffer, y: &Buffer, constants: &[u64], moduli: &[usize]) {
        assert_eq!(constants.len(), moduli.len(), "one constant per modulus");
        self.each_row_pair(x, y, |i, x, y| {
            let which = i % moduli.len();
            let w = self.moduli[moduli[which]].multiplier(constants[which]);
            self.kernel(moduli, i).sub_mul_constant_assign(x, y, w);
        });
    }

    fn inner_products(&self, out: &mut [Buffer], xs: &[&Buffer], ys: &[Vec<&Buffer>], y_rows: &[usize], moduli: &[usize]) {
        assert_eq!(out.len(), ys.len(), "one list of factors per output");
        assert_eq!(y_rows.len(), moduli.len(), "one row index per modulus");
        for (target, ys) in out.iter_mut().zip(ys) {
            assert_eq!(xs.len(), ys.len(), "as many factors on both sides");
            assert!(xs.iter().all(|x| x.rows() == moduli.len()) && target.rows() == moduli.len(), "one row per modulus");
            self.each_row(target.host_mut(), |i, row| {
                let left: Vec<&[u64]> = xs.iter().map(|x| x.row(i)).collect();
                let right: Vec<&[u64]> = ys.iter().map(|y| y.row(y_rows[i])).collect();
                self.kernel(moduli, i).dot(row, &left, &right, false);
            });
        }
    }

    fn convert(&self, conversion: &BaseConversion, x: &Buffer) -> Buffer {
        let sources = conversion.sources.len();
        assert_eq!(x.rows(), sources, "one row per source modulus");
        let centred = conversion.rounding == Rounding::Centred;
        // Row r of `y` holds z when centred.
        let mut y = self.scratch(sources + usize::from(centred));
        y.host_mut()[..sources * self.degree].copy_from_slice(x.host());
        let (scaled, z) = y.host_mut().split_at_mut(sources * self.degree);
        self.each_row(scaled, |i, row| self.tables[conversion.sources[i]].kernel().mul_constant_assign(row, conversion.prepare[i]));
        if centred && sources > 0 {
            let mut fraction = vec![0f64; self.degree];
            for (i, row) in scaled.chunks_exact(self.degree).enumerate() {
                self.tables[conversion.sources[i]].kernel().add_fraction(&mut fraction, row, conversion.inverse_moduli[i]);
            }
            self.tables[conversion.sources[0]].kernel().round_fraction(z, &fraction);
        }
        let targets = conversion.targets.len();
        let mut out = self.scratch(targets);
        let y = &y;
        // Each thread takes a group of target rows and walks the coefficients in cache-sized blocks.
        let group_work = |first: usize, group: &mut [u64]| {
            for start in (0..self.degree).step_by(CONVERSION_BLOCK) {
                let end = (start + CONVERSION_BLOCK).min(self.degree);
                let block: Vec<&[u64]> = (0..y.rows()).map(|i| &y.row(i)[start..end]).collect();
                for (offset, row) in group.chunks_exact_mut(self.degree).enumerate() {
                    let target = first + offset;
                    let kernel = self.tables[conversion.targets[target]].kernel();
                    kernel.combine(&mut row[start..end], &block, &conversion.weights[target], conversion.y_bits);
                }
            }
        };
        match &self.threads {
            None => group_work(0, out.host_mut()),
            Some(pool) => {
                let group = targets.div_ceil(pool.current_num_threads()).max(1);
                let work = out.host_mut().par_chunks_mut(group * self.degree).enumerate();
                pool.install(|| work.for_each(|(i, rows)| group_work(i * group, rows)));
            }
        }
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

    fn from_signed(&self, values: &[i64], moduli: &[usize]) -> Buffer {
        assert_eq!(values.len(), self.degree, "one value per coefficient");
        let mut out = self.scratch(moduli.len());
        self.each_row(out.host_mut(), |i, row| self.kernel(moduli, i).reduce_signed(row, values));
        out
    }
}
