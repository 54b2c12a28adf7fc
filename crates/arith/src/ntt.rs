//! The negacyclic transform of one modulus: a kernel and its tables.

use std::sync::OnceLock;

use crate::error::ArithError;
use crate::kernels::scalar::Roots;
use crate::kernels::{self, Isa, RowKernel};
use crate::modulus::Modulus;
use crate::primes::primitive_root;

/// The kernel for rows of `degree` residues modulo one prime, with its tables. They are made when the kernel
/// is first used, so parameters that only serve dry runs take no memory for tables.
#[derive(Debug)]
pub struct NttTable {
    roots: Roots,
    isa: Isa,
    kernel: OnceLock<Box<dyn RowKernel>>,
}

impl NttTable {
    /// The table for `modulus` at `degree` with the kernel of `isa`, or the next slower one that takes this
    /// modulus.
    ///
    /// # Errors
    /// [`ArithError::InvalidDegree`], [`ArithError::NoRootOfUnity`].
    pub fn new(modulus: Modulus, degree: usize, isa: Isa) -> Result<Self, ArithError> {
        let roots = Roots::new(modulus, degree)?;
        Ok(Self { roots, isa: kernels::chosen(isa, &modulus), kernel: OnceLock::new() })
    }

    /// The modulus.
    #[must_use]
    pub fn modulus(&self) -> &Modulus {
        self.roots.modulus()
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.roots.degree()
    }

    /// The instruction set of the kernel.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The kernel in use.
    #[inline]
    #[must_use]
    pub fn kernel(&self) -> &dyn RowKernel {
        &**self.kernel.get_or_init(|| kernels::build(self.isa, &self.roots))
    }

    /// Forward transform in place; see [`RowKernel::forward`].
    pub fn forward(&self, x: &mut [u64]) {
        self.kernel().forward(x);
    }

    /// Inverse transform in place; see [`RowKernel::inverse`].
    pub fn inverse(&self, x: &mut [u64]) {
        self.kernel().inverse(x);
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
