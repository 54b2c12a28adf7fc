//! Shared-mask bundles, keys and switchers of every method for the tests of linear transforms.

use std::sync::Arc;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Automorphism, CpuEngine, GaloisElement, Isa};
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::switch::{SwitchMethod, SwitchTables};
use clathrate_lattice::{
    Basis, Bundle, Chain, Eval, Gadget, Level, Poly, Ring, SecretKey, SecretRng, SwitchKey, Switcher,
};

use super::{fixed, integers, ring_over, rng, secret};
use num_traits::ToPrimitive;

/// What distinguishes one run of a test from the next.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub method: SwitchMethod,
    pub rank: usize,
    pub bodies: usize,
    pub threads: usize,
}

/// A level of a chain that switches by one method, a secret, and the source of all randomness.
pub struct Setting {
    pub kind: Kind,
    pub chain: Arc<Chain>,
    pub switcher: Switcher,
    pub tables: Arc<SwitchTables>,
    pub secret: SecretKey,
    pub level: Level,
    pub rng: SecretRng,
}

/// A base of two 30-bit primes, five steps of 36 bits, two special primes of 36 bits, auxiliary primes of 45
/// bits.
pub fn chain_on(degree: usize, threads: usize) -> Arc<Chain> {
    let mut moduli = Vec::new();
    for (bits, count) in [(30, 2), (36, 5), (36, 2), (45, 12)] {
        moduli.extend(largest_primes(bits, 2 * degree as u64, count, &moduli).expect("primes"));
    }
    let engine = CpuEngine::new(degree, &moduli, Isa::detect().expect("isa")).expect("engine");
    let engine = engine.with_threads(CpuEngine::thread_pool(threads).expect("pool")).sharing_small_work();
    Arc::new(Chain::with_auxiliary(ring_over(engine), &[2, 1, 1, 1, 1, 1], 12).expect("chain"))
}

/// The keys as generated, the hybrid method with three special primes, and KLSS with the same digits as that.
pub fn methods(chain: &Chain) -> [SwitchMethod; 3] {
    [SwitchMethod::as_made(chain), SwitchMethod::hybrid(3), SwitchMethod::klss(3, 2)]
}

/// The methods, ranks 1 and 2, bodies 1 and 3, one thread and two; thread counts of otherwise equal kinds
/// follow one another.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for method in methods(&chain_on(8, 1)) {
        for (rank, bodies) in [(1, 1), (2, 1), (1, 3), (2, 3)] {
            kinds.extend([1, 2].map(|threads| Kind { method, rank, bodies, threads }));
        }
    }
    kinds
}

impl Setting {
    /// Level 3 of five, so that the primes of two steps can be special ones.
    pub fn new(kind: Kind, degree: usize, seed: u8) -> Self {
        let chain = chain_on(degree, kind.threads);
        let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.5).expect("gadget"));
        let switcher = fixed(&chain, &gadget, kind.method, kind.rank);
        let (mut rng, level) = (rng(seed), Level(3));
        let tables = switcher.tables(level).expect("tables");
        assert_eq!(tables.method(), kind.method);
        let secret = secret(&chain, kind.rank, kind.bodies, &mut rng);
        Self { kind, chain, switcher, tables, secret, level, rng }
    }

    pub fn ring(&self) -> &Ring {
        self.chain.ring()
    }

    /// The ciphertext primes of the level.
    pub fn basis(&self) -> Basis {
        self.chain.basis(self.level)
    }

    pub fn model(&self) -> NoiseModel {
        NoiseModel {
            degree: self.secret.degree(),
            rank: self.secret.rank(),
            secret_variance: self.secret.coefficient_variance(),
        }
    }

    /// What the products of a switch add after the mod-down.
    pub fn products(&self, inputs: usize) -> f64 {
        self.model().products_over(inputs, &self.tables.noise_digits())
    }

    /// Small signed values below `2^bits`, and their mean square.
    pub fn values(&mut self, degree: usize, bits: u32) -> (Vec<i64>, f64) {
        let mut values = vec![0i64; degree];
        self.rng.flooding_uniform(&mut values, bits).expect("bits in range");
        let squares = values.iter().map(|&value| (value * value) as f64).sum::<f64>();
        (values, squares / degree as f64)
    }

    /// A plaintext over `P Q_l`, and the mean square of its coefficients.
    pub fn plaintext(&mut self, bits: u32) -> (Poly<Eval>, f64) {
        let (values, square) = self.values(self.ring().degree(), bits);
        (Poly::from_signed(self.ring(), self.tables.extended(), &values).into_eval(), square)
    }

    /// A bundle with a message of its own in each body.
    pub fn encrypt(&mut self, bits: u32) -> (Bundle<Eval>, Vec<Poly<Eval>>) {
        let (ring, basis) = (self.ring().clone(), self.basis());
        let mut bundle = Bundle::encrypt_zero(&self.secret, &ring, &basis, &mut self.rng).expect("encrypt");
        let mut messages = Vec::new();
        for body in 0..self.kind.bodies {
            let (values, _) = self.values(ring.degree(), bits);
            let message = Poly::from_signed(&ring, &basis, &values).into_eval();
            bundle.add_message(body, &message).expect("message");
            messages.push(message);
        }
        (bundle, messages)
    }

    /// A uniform bundle over the level's modulus.
    pub fn uniform(&mut self) -> Bundle<Eval> {
        let (ring, basis) = (self.ring().clone(), self.basis());
        let columns = self.kind.rank + self.kind.bodies;
        let wide = secret(&self.chain, columns, 1, &mut self.rng);
        let mut polys =
            Bundle::encrypt_zero(&wide, &ring, &basis, &mut self.rng).expect("encrypt").mask().to_vec();
        let bodies = polys.split_off(self.kind.rank);
        Bundle::new(polys, bodies).expect("bundle")
    }

    pub fn phi(&self, steps: i64) -> Automorphism {
        let degree = self.ring().degree();
        Automorphism::new(GaloisElement::rotation(steps, degree), degree)
    }

    pub fn rotation_key(&mut self, phi: &Automorphism) -> SwitchKey {
        let (chain, gadget) = (self.chain.clone(), self.switcher.gadget().clone());
        SwitchKey::automorphism(&chain, &gadget, chain.max_level(), &self.secret, phi, &mut self.rng)
            .expect("key")
    }

    /// The integers of the phases of `bundle` minus `expected`, all bodies in turn.
    pub fn errors(&self, bundle: &Bundle<Eval>, expected: Option<&[Poly<Eval>]>) -> Vec<f64> {
        let mut phases = bundle.phase(&self.secret).expect("phase");
        if let Some(expected) = expected {
            phases
                .iter_mut()
                .zip(expected)
                .for_each(|(phase, expected)| phase.sub_assign(expected).expect("same basis"));
        }
        phases.iter().flat_map(integers).map(|error| error.to_f64().expect("small")).collect()
    }

    /// The phase of `x - y`: what two ways to the same messages differ by.
    pub fn difference(&self, x: &Bundle<Eval>, y: &Bundle<Eval>) -> Vec<f64> {
        let mut difference = x.clone();
        difference.sub_assign(y).expect("same shape");
        self.errors(&difference, None)
    }
}
