//! Predicted costs, and the figures of switches that parameters keep.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::Level;
use clathrate_lattice::modulus::Division;

use crate::error::CkksError;
use crate::names::{KeyName, Operation};

/// Unit operations and predicted time, one thread.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Predicted nanoseconds on this machine.
    pub nanoseconds: f64,
    /// Predicted nanoseconds by the built-in model
    /// ([`MachineProfile::reference`](clathrate_lattice::switch::MachineProfile::reference)), which are the
    /// same on every machine. Plans compare this price, so that owners and evaluators choose the same plan.
    pub price: f64,
    /// Transforms of one polynomial modulo one prime, forward and inverse.
    pub transforms: f64,
    /// Products of two polynomials modulo one prime, entry by entry.
    pub hadamard_products: f64,
    /// Floating-point multiply-adds of products with plaintext matrices.
    pub multiply_adds: f64,
    /// Bytes of switching keys that are read.
    pub key_bytes: f64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.nanoseconds += other.nanoseconds;
        self.price += other.price;
        self.transforms += other.transforms;
        self.hadamard_products += other.hadamard_products;
        self.multiply_adds += other.multiply_adds;
        self.key_bytes += other.key_bytes;
    }
}

impl Cost {
    /// The cost of `count` repetitions.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            nanoseconds: self.nanoseconds * count,
            price: self.price * count,
            transforms: self.transforms * count,
            hadamard_products: self.hadamard_products * count,
            multiply_adds: self.multiply_adds * count,
            key_bytes: self.key_bytes * count,
        }
    }
}

/// The costs of the steps of a linear transform, each for one bundle and one key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransformCosts {
    /// The decomposition of a mask.
    pub decomposition: Cost,
    /// The product of digits with a key.
    pub inner_product: Cost,
    /// The mod-down of a mask.
    pub mask_division: Cost,
    /// The mod-down of a whole bundle.
    pub division: Cost,
    /// A whole switch.
    pub switch: Cost,
    /// The rescale of a bundle of one body.
    pub rescale: Cost,
    /// Primes of the extended modulus, which plaintexts are multiplied over.
    pub extended_primes: usize,
}

/// Values that were computed so far, by their keys.
#[derive(Debug)]
pub(crate) struct Known<K, V>(Mutex<BTreeMap<K, V>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> Known<K, V> {
    /// The value that is known, or that `compute` gives.
    pub(crate) fn get_or_insert(
        &self,
        key: K,
        compute: impl FnOnce() -> Result<V, CkksError>,
    ) -> Result<V, CkksError> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&key).cloned();
        if let Some(value) = found {
            return Ok(value);
        }
        let value = compute()?;
        known().insert(key, value.clone());
        Ok(value)
    }
}

/// What was computed of rescales and switches so far: runs and dry runs ask for the same very often.
#[derive(Debug, Default)]
pub(crate) struct KnownFigures {
    /// Divisions of rescales by the level above.
    pub(crate) rescales: Known<Level, Arc<Division>>,
    /// Costs by operation, its level, and the highest level of its keys.
    pub(crate) costs: Known<(Operation, Level, Level), Cost>,
    /// Variances, likewise.
    pub(crate) variances: Known<(Operation, Level, Level), f64>,
    /// Costs of linear transforms by the key of their rotations, its highest level, and the level.
    pub(crate) transforms: Known<(KeyName, Level, Level), TransformCosts>,
}
