//! Chains with temporary primes, and everything that a crossing needs, from fresh secrets.

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Automorphism, GaloisElement, Meter};
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::switch::{SwitchMethod, SwitchTables};
use clathrate_lattice::temporary_rank::TemporaryRank;
use clathrate_lattice::{
    Bundle, Chain, Eval, Gadget, Level, Poly, Ring, SecretKey, SecretRng, SwitchKey, Switcher,
};

use super::{errors, fixed, secret};

/// Primes of one step each, special primes, temporary ones: bits and how many. Auxiliary primes have 45 bits.
#[derive(Debug, Clone, Copy)]
pub struct Primes {
    pub degree: usize,
    pub steps: (u32, usize),
    pub special: (u32, usize),
    pub temporary: (u32, usize),
    pub auxiliary: usize,
}

impl Primes {
    /// All of 36 bits: digits are as large as what divides them away, so that the products' noise is what one
    /// sees.
    pub fn equal(degree: usize, steps: usize, special: usize, temporary: usize, auxiliary: usize) -> Self {
        Self { degree, steps: (36, steps), special: (36, special), temporary: (36, temporary), auxiliary }
    }

    fn moduli(&self) -> Vec<u64> {
        let mut moduli = Vec::new();
        for (bits, count) in [self.steps, self.special, self.temporary, (45, self.auxiliary)] {
            moduli.extend(largest_primes(bits, 2 * self.degree as u64, count, &moduli).expect("primes"));
        }
        moduli
    }

    fn over(&self, ring: Ring) -> Arc<Chain> {
        Arc::new(
            Chain::with_temporary(ring, &vec![1; self.steps.1], self.temporary.1, self.auxiliary)
                .expect("chain"),
        )
    }

    pub fn chain(&self) -> Arc<Chain> {
        self.over(super::new_ring(self.degree, &self.moduli()))
    }

    pub fn counting_chain(&self) -> (Arc<Chain>, Arc<Meter>) {
        let (ring, meter) = super::counting_ring(self.degree, &self.moduli());
        (self.over(ring), meter)
    }
}

/// A chain, its widened form, and switchers of both sides.
pub struct Sides {
    pub chain: Arc<Chain>,
    pub wide: Switcher,
    pub base: Switcher,
}

impl Sides {
    /// Switching as made, or by the choices given for the wide and the base side; keys of at most `inputs`
    /// inputs.
    pub fn new(chain: &Arc<Chain>, choices: Option<(SwitchMethod, SwitchMethod)>, inputs: usize) -> Self {
        Self::with_slack(chain, 0.5, choices, inputs)
    }

    /// As [`Sides::new`], digits being at most `slack` bits longer than the special moduli.
    pub fn with_slack(
        chain: &Arc<Chain>,
        slack: f64,
        choices: Option<(SwitchMethod, SwitchMethod)>,
        inputs: usize,
    ) -> Self {
        let wide = Arc::new(chain.widened(chain.temporary_basis().len()).expect("widened"));
        let gadget = Arc::new(Gadget::for_special_modulus(chain, slack).expect("gadget"));
        let wide_gadget = Arc::new(Gadget::for_special_modulus(&wide, slack).expect("gadget"));
        let (up, down) = choices.unwrap_or((SwitchMethod::as_made(&wide), SwitchMethod::as_made(chain)));
        let (wide, base) = (fixed(&wide, &wide_gadget, up, inputs), fixed(chain, &gadget, down, inputs));
        Self { chain: chain.clone(), wide, base }
    }

    /// Plans of both sides at `level` for keys of level `key_level`.
    pub fn plans(&self, level: Level, key_level: Level) -> (Arc<SwitchTables>, Arc<SwitchTables>) {
        let plan = |switcher: &Switcher| switcher.tables_for(level, key_level).expect("plan");
        (plan(&self.wide), plan(&self.base))
    }
}

/// A secret `s` and `s || s'`.
pub struct Secrets {
    pub low: SecretKey,
    pub high: SecretKey,
}

impl Secrets {
    pub fn new(chain: &Chain, rank: usize, high: usize, rng: &mut SecretRng) -> Self {
        let low = secret(chain, rank, 1, rng);
        let high = low.join_rank(&secret(chain, high - rank, 1, rng)).expect("fits");
        Self { low, high }
    }

    pub fn model(&self) -> NoiseModel {
        NoiseModel {
            degree: self.low.degree(),
            rank: self.low.rank(),
            secret_variance: self.low.coefficient_variance(),
        }
    }

    /// Mask polynomials beyond the lower rank.
    pub fn beyond(&self) -> usize {
        self.high.rank() - self.low.rank()
    }

    /// Inputs of a relinearisation.
    pub fn pairs(&self) -> usize {
        self.low.rank() * (self.low.rank() + 1) / 2
    }

    pub fn up(&self, sides: &Sides, level: Level, rng: &mut SecretRng) -> SwitchKey {
        let wide = &sides.wide;
        SwitchKey::cross_relinearisation(wide.chain(), wide.gadget(), level, &self.low, &self.high, rng)
            .expect("key")
    }

    pub fn down(&self, sides: &Sides, level: Level, rng: &mut SecretRng) -> SwitchKey {
        SwitchKey::rank_down(&sides.chain, sides.base.gadget(), level, &self.high, self.low.rank(), rng)
            .expect("key")
    }

    /// The relinearisation key of one stage.
    pub fn plain(&self, sides: &Sides, level: Level, rng: &mut SecretRng) -> SwitchKey {
        SwitchKey::relinearisation(&sides.chain, sides.base.gadget(), level, &self.low, rng).expect("key")
    }

    /// Two uniform bundles at `level`; encryptions of zero under the lower secret.
    pub fn pair(&self, sides: &Sides, level: Level, rng: &mut SecretRng) -> [Bundle<Eval>; 2] {
        let (ring, basis) = (sides.chain.ring(), sides.chain.basis(level));
        [(); 2].map(|()| Bundle::encrypt_zero(&self.low, ring, &basis, rng).expect("zero"))
    }

    /// What the product of two bundles is under the secret, exactly.
    pub fn product(&self, [x, y]: &[Bundle<Eval>; 2]) -> Poly<Eval> {
        let mut product = x.phase(&self.low).expect("phase").swap_remove(0);
        product.mul_assign(&y.phase(&self.low).expect("phase")[0]).expect("same basis");
        product
    }

    /// What a bundle has beyond `expected`.
    pub fn errors(&self, bundle: &Bundle<Eval>, expected: &Poly<Eval>) -> Vec<f64> {
        errors(bundle, &self.low, 0, expected)
    }
}

impl<'a> Sides {
    pub fn crossing(&'a self, down: &'a SwitchKey) -> TemporaryRank<'a> {
        TemporaryRank { wide: &self.wide, base: &self.base, down }
    }
}

/// Rotations by the given numbers of steps.
pub fn rotations(degree: usize, steps: &[i64]) -> Vec<Automorphism> {
    steps.iter().map(|&steps| Automorphism::new(GaloisElement::rotation(steps, degree), degree)).collect()
}
