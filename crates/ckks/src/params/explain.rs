//! What a parameter set means, in numbers a user can act on.

use std::fmt;

use clathrate_arith::packing::{VECTOR, packed_bits};
use clathrate_lattice::{Chain, Gadget, Level};
use serde::Serialize;

use super::{Params, SECURITY_BITS};

/// Bytes per mebibyte.
const MIB: f64 = 1_048_576.0;

/// The figures of [`Params::explain`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Name of the set.
    pub name: String,
    /// Ring degree `n`.
    pub degree: usize,
    /// Rank `k`.
    pub rank: usize,
    /// Module dimension `n k`.
    pub dimension: usize,
    /// Complex slots.
    pub slot_count: usize,
    /// Highest level: rescales there are.
    pub max_level: usize,
    /// Bits of each ciphertext prime, by step.
    pub step_bits: Vec<Vec<f64>>,
    /// Bits of each special prime.
    pub special_bits: Vec<f64>,
    /// Bits of the ciphertext modulus.
    pub log2_q: f64,
    /// Bits of the key modulus.
    pub log2_qp: f64,
    /// Binary logarithm of the scale at the top level.
    pub log2_scale: f64,
    /// Digits of a switching key.
    pub digits: usize,
    /// Estimated bits of security.
    pub security_bits: f64,
    /// How the secret is drawn.
    pub secret: String,
    /// MiB of one ciphertext in memory, and of a fresh one in a file (seeded mask).
    pub ciphertext_mib: f64,
    /// MiB of a fresh ciphertext in a file.
    pub ciphertext_file_mib: f64,
    /// MiB of a relinearisation key in memory.
    pub relinearisation_key_mib: f64,
    /// MiB of a rotation key in memory.
    pub rotation_key_mib: f64,
    /// Bits right of the point that hold after encryption, for coefficient-encoded values: `-log2` of the error's standard deviation.
    pub fresh_coefficient_bits: f64,
    /// The same for the real part of a slot.
    pub fresh_slot_bits: f64,
    /// The same for a slot of a rescaled product of two ciphertexts with slots of magnitude 1.
    pub product_slot_bits: Option<f64>,
    /// What computes.
    pub engine: String,
}

impl Params {
    /// Degree, chain, security, sizes and expected precision.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let (chain, top) = (self.chain(), self.max_level());
        let bits = |i: usize| (chain.ring().moduli()[i].value() as f64).log2();
        let words = self.degree() as f64 * 8.0 / MIB;
        let primes = chain.basis(top).len() as f64;
        let rank = self.rank() as f64;
        let key = |inputs: usize| {
            self.gadget().map_or(0.0, |gadget| switch_key_bytes(chain, gadget, (inputs, self.rank() + 1), top) as f64 / MIB)
        };
        let model = self.noise_model();
        let half_degree = self.degree() as f64 / 2.0;
        let precision = |variance: f64, scale: f64| -(variance.sqrt() / scale).log2();
        let product_slot_bits = (top.0 > 0).then(|| {
            // Slots of magnitude 1 at random phases: mean square coefficient scale^2 / n.
            let scale = self.scale(top);
            let mean_square = scale * scale / self.degree() as f64;
            let variance = model.multiply((model.fresh_secret(), mean_square), (model.fresh_secret(), mean_square));
            let rescaled = model.rescale(variance, self.step_product(top).log2());
            precision(rescaled * half_degree, self.scale(Level(top.0 - 1)))
        });
        Explanation {
            name: self.spec().name.clone(),
            degree: self.degree(),
            rank: self.rank(),
            dimension: self.degree() * self.rank(),
            slot_count: self.slot_count(),
            max_level: top.0,
            step_bits: (0..=top.0).map(|level| chain.step(Level(level)).map(bits).collect()).collect(),
            special_bits: chain.special_basis().indices().iter().map(|&i| bits(i)).collect(),
            log2_q: self.log2_q(top),
            log2_qp: self.log2_qp(),
            log2_scale: self.scale(top).log2(),
            digits: self.gadget().map_or(0, |gadget| gadget.digit_count(chain, top)),
            security_bits: self.security_bits(),
            secret: self.spec().secret_weight.map_or("uniform ternary".to_owned(), |weight| format!("ternary of weight {weight}")),
            ciphertext_mib: (rank + 1.0) * primes * words,
            ciphertext_file_mib: primes * words,
            relinearisation_key_mib: key(self.rank() * (self.rank() + 1) / 2),
            rotation_key_mib: key(self.rank()),
            fresh_coefficient_bits: precision(model.fresh_secret(), self.scale(top)),
            fresh_slot_bits: precision(model.fresh_secret() * half_degree, self.scale(top)),
            product_slot_bits,
            engine: chain.ring().engine().describe(),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |bits: &[f64]| bits.iter().map(|b| format!("{b:.0}")).collect::<Vec<_>>().join("+");
        let steps = self.step_bits.iter().map(|step| list(step)).collect::<Vec<_>>().join(", ");
        writeln!(
            f,
            "{}: degree {}, rank {} (dimension {}), {} complex slots",
            self.name, self.degree, self.rank, self.dimension, self.slot_count
        )?;
        writeln!(f, "  chain      levels 0 to {}, bits per step {steps}; special {}", self.max_level, list(&self.special_bits))?;
        writeln!(f, "  modulus    log2 Q = {:.1}, log2 QP = {:.1}, scale 2^{:.2}", self.log2_q, self.log2_qp, self.log2_scale)?;
        let warning =
            if self.security_bits < SECURITY_BITS { "  ** below 128: every file made from these parameters says so **" } else { "" };
        writeln!(f, "  security   {:.1} bits ({} secret){warning}", self.security_bits, self.secret)?;
        writeln!(f, "  ciphertext {:.2} MiB in memory, {:.2} MiB in a file when fresh", self.ciphertext_mib, self.ciphertext_file_mib)?;
        if self.digits > 0 {
            writeln!(
                f,
                "  keys       {} digits; relinearisation {:.1} MiB, one rotation {:.1} MiB in memory (files: 1/{} of it)",
                self.digits,
                self.relinearisation_key_mib,
                self.rotation_key_mib,
                self.rank + 1
            )?;
        } else {
            writeln!(f, "  keys       no special primes: no products of ciphertexts, no rotations")?;
        }
        write!(f, "  precision  fresh: {:.1} bits (coefficients), {:.1} bits (slots)", self.fresh_coefficient_bits, self.fresh_slot_bits)?;
        if let Some(bits) = self.product_slot_bits {
            write!(f, "; after one product: {bits:.1} bits (slots)")?;
        }
        write!(f, "\n  engine     {}", self.engine)
    }
}

/// Bytes in memory of a switching key of `inputs` times `columns` polynomials that serves levels up to `level`: residues packed to their width.
pub(super) fn switch_key_bytes(chain: &Chain, gadget: &Gadget, (inputs, columns): (usize, usize), level: Level) -> usize {
    let moduli = chain.ring().moduli();
    let bits: usize = chain.key_basis(level).indices().iter().map(|&i| packed_bits(moduli[i].bits()) as usize).sum();
    inputs * gadget.digit_count(chain, level) * columns * bits * chain.ring().degree().div_ceil(VECTOR)
}
