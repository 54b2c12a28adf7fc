//! A ring context: a degree, a list of prime moduli, and the engine that computes there.
//!
//! Rings of several degrees live side by side; nothing is global.

use std::sync::Arc;

use clathrate_arith::{CpuEngine, Engine, Isa, Modulus};

use crate::error::LatticeError;

/// `R = Z_q[X]/(X^n + 1)` for each modulus of an ordered list, and the engine for it.
#[derive(Debug, Clone)]
pub struct Ring {
    engine: Arc<dyn Engine>,
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
        Self { engine }
    }

    /// The degree `n`.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.engine.degree()
    }

    /// All moduli; bases name them by index.
    #[must_use]
    pub fn moduli(&self) -> &[Modulus] {
        self.engine.moduli()
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// Whether both are the same ring on the same engine, or equal in degree and moduli, on engines that read each other's memory.
    #[must_use]
    pub fn same_as(&self, other: &Ring) -> bool {
        Arc::ptr_eq(&self.engine, &other.engine) || (self.degree() == other.degree() && self.same_moduli_as(other))
    }

    /// Whether both have the same moduli, at whatever degrees, on engines that read each other's memory.
    #[must_use]
    pub fn same_moduli_as(&self, other: &Ring) -> bool {
        self.engine.memory_kind() == other.engine.memory_kind() && self.moduli() == other.moduli()
    }
}
