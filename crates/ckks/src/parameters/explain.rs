//! What a parameter set means, in numbers a user can act on.

use std::fmt;

use clathrate_arith::packing::{VECTOR, packed_bits};
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::{Chain, Gadget, Level};
use serde::Serialize;

use super::{Params, SECURITY_BITS};
use crate::shape::ModuleShape;

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
    /// Complex messages that a ciphertext holds: `n / 2` at every rank.
    pub messages: usize,
    /// A ciphertext's size in those of rank 1 and equal dimension: `(1 + 1 / k) / 2`. [dpad-he, sec. 4]
    pub size_of_rlwe: f64,
    /// The temporary rank, if there is one.
    pub temporary: Option<TemporaryExplanation>,
    /// Shapes that reductions of the rank and conversions lead to.
    pub moves: Vec<MoveExplanation>,
    /// What computes.
    pub engine: String,
}

/// The temporary rank in figures. [dpad-he, sec. 3.2]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TemporaryExplanation {
    /// `k^`.
    pub rank: usize,
    /// Module dimension `n k^`.
    pub dimension: usize,
    /// Bits of each temporary prime.
    pub bits: Vec<f64>,
    /// Bits of the special modulus there, `P^ = P T`.
    pub log2_p: f64,
    /// Bits of the key modulus there.
    pub log2_qp: f64,
    /// Digits of a key there, `mu`.
    pub digits: usize,
    /// Estimated bits of security of keys there, `lambda^`.
    pub security_bits: f64,
    /// The same at the rank itself, `lambda`.
    pub base_security_bits: f64,
    /// MiB of the key of products, up to the temporary rank; none where products do not go there.
    pub cross_relinearisation_key_mib: Option<f64>,
    /// MiB of the key that switches products directly, over the modulus of the temporary rank, at levels that leave it room; none where none do.
    pub direct_key_mib: Option<f64>,
    /// The highest of those levels.
    pub direct_level: Option<usize>,
    /// MiB of the key down from the temporary rank.
    pub rank_down_key_mib: f64,
    /// MiB of one key of a rotation by a power of two.
    pub power_rotation_key_mib: f64,
}

/// Where a move leads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MoveExplanation {
    /// Ring degree there.
    pub degree: usize,
    /// Rank there.
    pub rank: usize,
    /// Which move: "reduction" of the rank or "conversion" of the degree.
    pub by: &'static str,
    /// The highest level that is secure there; none where no level is.
    pub max_level: Option<usize>,
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
        let temporary = self.explain_temporary();
        // Where products go through the temporary rank, their keys are of that rank.
        let relinearisation = match temporary
            .as_ref()
            .and_then(|t| Some(t.cross_relinearisation_key_mib? + t.rank_down_key_mib + t.direct_key_mib.unwrap_or(0.0)))
        {
            Some(pair) => pair,
            None => key(self.rank() * (self.rank() + 1) / 2),
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
            relinearisation_key_mib: relinearisation,
            rotation_key_mib: key(self.rank()),
            fresh_coefficient_bits: precision(model.fresh_secret(), self.scale(top)),
            fresh_slot_bits: precision(model.fresh_secret() * half_degree, self.scale(top)),
            product_slot_bits,
            messages: self.slot_count(),
            size_of_rlwe: (1.0 + 1.0 / rank) / 2.0,
            temporary,
            moves: self.explain_moves(),
            engine: chain.ring().engine().describe(),
        }
    }

    fn explain_temporary(&self) -> Option<TemporaryExplanation> {
        let (temporary, top) = (self.temporary()?, self.max_level());
        let (wide, base, rank) = (temporary.chain(), self.chain(), self.rank());
        let mib = |bytes: usize| bytes as f64 / MIB;
        let up = |inputs: usize| mib(switch_key_bytes(wide, &temporary.gadget, (inputs, temporary.rank + 1), top));
        let log2 = |chain: &Chain| chain.key_basis(top).log2(chain.ring());
        let bits = |i: usize| (wide.ring().moduli()[i].value() as f64).log2();
        Some(TemporaryExplanation {
            rank: temporary.rank,
            dimension: self.degree() * temporary.rank,
            bits: wide.special_basis().indices()[base.special_basis().len()..].iter().map(|&i| bits(i)).collect(),
            log2_p: wide.special_basis().log2(wide.ring()),
            log2_qp: log2(wide),
            digits: temporary.gadget.digit_count(wide, top),
            security_bits: temporary.security_bits,
            base_security_bits: estimated_bits(self.degree() * rank, log2(base), self.distribution_of(rank)),
            cross_relinearisation_key_mib: self.crossing().map(|_| up(rank * (rank + 1) / 2)),
            direct_key_mib: self
                .direct(Level(0))
                .and(temporary.direct_level)
                .map(|most| mib(switch_key_bytes(wide, &temporary.gadget, (rank * (rank + 1) / 2, rank + 1), most))),
            direct_level: temporary.direct_level.map(|level| level.0),
            rank_down_key_mib: mib(switch_key_bytes(base, self.gadget().ok()?, (temporary.rank - rank, rank + 1), top)),
            power_rotation_key_mib: up(temporary.rank),
        })
    }

    /// Reductions by halves and conversions of the degree; levels by the security table alone.
    fn explain_moves(&self) -> Vec<MoveExplanation> {
        let describe = |shape: ModuleShape, by: &'static str| {
            let max_level = self.0.family.highest_level(self.chain(), shape).ok().map(|level| level.0);
            MoveExplanation { degree: shape.degree, rank: shape.rank, by, max_level }
        };
        let (shape, mut moves) = (self.shape(), Vec::new());
        let mut rank = shape.rank;
        while rank > 1 {
            rank = rank.div_ceil(2);
            moves.push(describe(ModuleShape { degree: shape.degree, rank }, "reduction"));
        }
        let dimension = self.root_shape().dimension();
        // Up to the degree that this rank can become, and down to what the smallest degree allows that a user would want: the root's.
        let mut degree = self.rlwe_shape().degree;
        while degree >= self.root_shape().degree.min(shape.degree) {
            let rank = shape.dimension() / degree;
            if degree != shape.degree && shape.dimension() <= dimension {
                moves.push(describe(ModuleShape { degree, rank }, "conversion"));
            }
            degree /= 2;
        }
        moves
    }
}

impl fmt::Display for TemporaryExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits.iter().map(|b| format!("{b:.0}")).collect::<Vec<_>>().join("+");
        writeln!(
            f,
            "  temporary  rank {} (dimension {}), primes {bits}: log2 P^ = {:.1}, log2 QP^ = {:.1}, mu = {} digits",
            self.rank, self.dimension, self.log2_p, self.log2_qp, self.digits
        )?;
        writeln!(f, "             security {:.1} bits there, {:.1} at the rank itself", self.security_bits, self.base_security_bits)?;
        write!(f, "             keys ")?;
        if let Some(mib) = self.cross_relinearisation_key_mib {
            write!(f, "up for products {mib:.1} MiB, ")?;
        }
        if let (Some(mib), Some(level)) = (self.direct_key_mib, self.direct_level) {
            write!(f, "direct up to level {level} {mib:.1} MiB, ")?;
        }
        writeln!(
            f,
            "down {:.1} MiB, one rotation by a power of two {:.1} MiB in memory",
            self.rank_down_key_mib, self.power_rotation_key_mib
        )
    }
}

impl fmt::Display for MoveExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max_level {
            Some(level) => write!(f, "{}x{} to level {level}", self.degree, self.rank),
            None => write!(f, "{}x{} not secure", self.degree, self.rank),
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
        if self.rank > 1 {
            writeln!(
                f,
                "  packing    {} messages each, at every rank; {:.3} of the size at rank 1 and degree {}",
                self.messages, self.size_of_rlwe, self.dimension
            )?;
        }
        if self.digits > 0 && self.temporary.is_some() {
            writeln!(
                f,
                "  keys       {} digits; for products {:.1} MiB, one rotation {:.1} MiB in memory",
                self.digits, self.relinearisation_key_mib, self.rotation_key_mib
            )?;
        } else if self.digits > 0 {
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
        if let Some(temporary) = &self.temporary {
            write!(f, "{temporary}")?;
        }
        if !self.moves.is_empty() {
            let by = |name: &str| self.moves.iter().filter(|m| m.by == name).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let (reductions, conversions) = (by("reduction"), by("conversion"));
            let parts: Vec<String> = [("reduces to", reductions), ("converts to", conversions)]
                .into_iter()
                .filter(|(_, list)| !list.is_empty())
                .map(|(verb, list)| format!("{verb} {list}"))
                .collect();
            writeln!(f, "  moves      {} (degree x rank)", parts.join("; "))?;
        }
        write!(f, "  precision  fresh: {:.1} bits (coefficients), {:.1} bits (slots)", self.fresh_coefficient_bits, self.fresh_slot_bits)?;
        if let Some(bits) = self.product_slot_bits {
            write!(f, "; after one product: {bits:.1} bits (slots)")?;
        }
        write!(f, "\n  engine     {}", self.engine)
    }
}

/// Bytes in memory of a switching key of `inputs` times `columns` polynomials that serves levels up to `level`: residues packed to their width.
pub(crate) fn switch_key_bytes(chain: &Chain, gadget: &Gadget, (inputs, columns): (usize, usize), level: Level) -> usize {
    let moduli = chain.ring().moduli();
    let bits: usize = chain.key_basis(level).indices().iter().map(|&i| packed_bits(moduli[i].bits()) as usize).sum();
    inputs * gadget.digit_count(chain, level) * columns * bits * chain.ring().degree().div_ceil(VECTOR)
}
