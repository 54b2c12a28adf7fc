//! The negacyclic transform of one modulus: tables and a kernel, which is chosen when the tables are built.

use crate::error::ArithError;
use crate::kernels::{self, Isa, RowKernel};
use crate::modulus::Modulus;
use crate::primes::primitive_root;

/// Tables and kernel for rows of `degree` residues modulo one prime.
#[derive(Debug)]
pub struct NttTable {
    modulus: Modulus,
    degree: usize,
    kernel: Box<dyn RowKernel>,
}

impl NttTable {
    /// Builds the table for `modulus` at `degree` with the kernel of `isa`, or the next slower one that takes
    /// this modulus.
    ///
    /// # Errors
    /// [`ArithError::InvalidDegree`], [`ArithError::NoRootOfUnity`].
    pub fn new(modulus: Modulus, degree: usize, isa: Isa) -> Result<Self, ArithError> {
        Ok(Self { modulus, degree, kernel: kernels::build(isa, modulus, degree)? })
    }

    /// The modulus.
    #[must_use]
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The kernel in use.
    #[must_use]
    pub fn kernel(&self) -> &dyn RowKernel {
        &*self.kernel
    }

    /// Forward transform in place; see [`RowKernel::forward`].
    pub fn forward(&self, x: &mut [u64]) {
        self.kernel.forward(x);
    }

    /// Inverse transform in place; see [`RowKernel::inverse`].
    pub fn inverse(&self, x: &mut [u64]) {
        self.kernel.inverse(x);
    }
}

/// The forward transform by its definition, in n^2 multiplications: the reference for tests.
///
/// # Errors
/// [`ArithError::NoRootOfUnity`].
pub fn reference_forward(modulus: &Modulus, x: &[u64]) -> Result<Vec<u64>, ArithError> {
    let degree = x.len();
    let log = degree.trailing_zeros();
    let psi = primitive_root(modulus, 2 * degree)?;
    Ok((0..degree)
        .map(|slot| {
            let root = modulus.pow(psi, 2 * kernels::scalar::bit_reverse(slot, log) as u64 + 1);
            // Horner, highest coefficient first.
            x.iter().rev().fold(0, |sum, &c| modulus.add(modulus.mul(sum, root), c))
        })
        .collect())
}
