//! A ring context: a degree, a list of prime moduli, and the engine that computes modulo them.
//!
//! Rings of several degrees can be used at the same time, because there is no global state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_arith::{ArithError, CpuEngine, Engine, Isa, Modulus, together};

use crate::error::LatticeError;

/// `R = Z_q[X]/(X^n + 1)` for each modulus of an ordered list, and the engine for it.
#[derive(Debug, Clone)]
pub struct Ring {
    engine: Arc<dyn Engine>,
    /// The binary logarithms of the moduli, which plans of key switching read millions of times.
    log2_moduli: Arc<[f64]>,
    /// The smaller rings that were asked for, by their degrees: making one takes tables for all moduli.
    subrings: Arc<Mutex<BTreeMap<usize, Ring>>>,
}

impl Ring {
    /// A ring that computes on this machine's processor with its fastest kernels.
    ///
    /// # Errors
    /// [`LatticeError::Arith`] where the degree or a modulus is unusable.
    pub fn new(degree: usize, moduli: &[u64]) -> Result<Self, LatticeError> {
        Ok(Self::with_engine(Arc::new(CpuEngine::new(degree, moduli, Isa::detect()?)?)))
    }

    /// A ring that computes on `engine`.
    #[must_use]
    pub fn with_engine(engine: Arc<dyn Engine>) -> Self {
        let log2_moduli = engine.moduli().iter().map(|q| (q.value() as f64).log2()).collect();
        Self { engine, log2_moduli, subrings: Arc::default() }
    }

    /// The ring of a smaller degree, made once.
    pub(crate) fn of_smaller_degree(&self, degree: usize) -> Result<Self, ArithError> {
        let mut known = self.subrings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ring) = known.get(&degree) {
            return Ok(ring.clone());
        }
        let ring = Self::with_engine(self.engine.at_degree(degree)?);
        known.insert(degree, ring.clone());
        Ok(ring)
    }

    /// The degree `n`.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.engine.degree()
    }

    /// All moduli. A basis refers to them by index.
    #[must_use]
    pub fn moduli(&self) -> &[Modulus] {
        self.engine.moduli()
    }

    /// The binary logarithm of the modulus with this index.
    #[must_use]
    pub fn log2_modulus(&self, index: usize) -> f64 {
        self.log2_moduli[index]
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// Runs `work`, whose operations a device may take as one submission; see [`clathrate_arith::together`].
    pub(crate) fn together<T>(&self, work: impl FnOnce() -> T) -> T {
        together(self.engine(), work)
    }

    /// Whether elements of both rings can be combined: the rings share an engine, or have equal degrees and
    /// moduli and engines of the same memory kind.
    #[must_use]
    pub fn same_as(&self, other: &Ring) -> bool {
        Arc::ptr_eq(&self.engine, &other.engine)
            || (self.degree() == other.degree() && self.same_moduli_as(other))
    }

    /// Whether both rings have the same moduli and engines of the same memory kind; the degrees may differ.
    #[must_use]
    pub fn same_moduli_as(&self, other: &Ring) -> bool {
        self.engine.memory_kind() == other.engine.memory_kind() && self.moduli() == other.moduli()
    }
}
