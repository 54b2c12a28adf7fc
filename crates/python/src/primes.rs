//! The primes of a parameter set and their roots of unity, as other implementations need them.

use clathrate_arith::primes::primitive_root;
use clathrate_ckks::{CkksError, Params};
use clathrate_lattice::{Basis, Level};

/// The primes by what they are for, in the order of the ring: their index there is the index that masks are
/// expanded by.
pub struct Primes {
    pub steps: Vec<Vec<u64>>,
    pub special: Vec<u64>,
    pub temporary: Vec<u64>,
    pub auxiliary: Vec<u64>,
}

impl Primes {
    pub fn of(params: &Params) -> Self {
        let chain = params.chain();
        let primes = |basis: Basis| {
            basis.indices().iter().map(|&index| chain.ring().moduli()[index].value()).collect()
        };
        Self {
            steps: (0..=chain.max_level().0)
                .map(|level| primes(Basis::new(chain.step(Level(level)))))
                .collect(),
            special: primes(chain.special_basis()),
            temporary: primes(chain.temporary_basis()),
            auxiliary: primes(chain.auxiliary_basis()),
        }
    }
}

/// For each prime of the ring the primitive 2n-th root of unity `psi` whose odd powers the transforms
/// evaluate at.
///
/// # Errors
/// None for primes of checked parameters: each has the root.
pub fn roots_of_unity(params: &Params) -> Result<Vec<(u64, u64)>, CkksError> {
    let order = 2 * params.degree();
    params
        .chain()
        .ring()
        .moduli()
        .iter()
        .map(|modulus| Ok((modulus.value(), primitive_root(modulus, order)?)))
        .collect()
}
