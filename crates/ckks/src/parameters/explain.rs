//! The figures of a parameter set for users: security, sizes, precision.

use clathrate_arith::text::counted;
use std::fmt;

use clathrate_arith::bit_packing::{VECTOR, packed_bits};
use clathrate_lattice::security::{Estimate, bits_against_ideal_guessing, estimate, nearest_covered};
use clathrate_lattice::{Chain, Gadget, Level, SecretDistribution};
use serde::Serialize;

use super::{KeyModulus, KeySwitching, Params, SECURITY_BITS, Segment};
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
    /// Highest level: the number of rescales.
    pub max_level: usize,
    /// Bits of each ciphertext prime, by step.
    pub step_bits: Vec<Vec<f64>>,
    /// Bits of each special prime.
    pub special_bits: Vec<f64>,
    /// Bits of the ciphertext modulus.
    pub log2_q: f64,
    /// Bits of the key modulus, special primes included.
    pub log2_qp: f64,
    /// Binary logarithm of the scale at the top level.
    pub log2_scale: f64,
    /// The segments of the chain, the lowest first.
    pub segments: Vec<SegmentExplanation>,
    /// Warnings: segments on which repeated products of ciphertexts collapse, with the reasons.
    pub warnings: Vec<String>,
    /// Digits of a switching key at the highest level; 0 without keys.
    pub digits: usize,
    /// Estimated bits of security, a lower bound; 0 if the security table does not cover the set.
    pub security_bits: f64,
    /// The nearest combination in the security table, if the table does not cover the set.
    pub nearest_covered: Option<String>,
    /// The distribution of the secret.
    pub secret: String,
    /// MiB of one ciphertext in memory.
    pub ciphertext_mib: f64,
    /// MiB of a fresh ciphertext in a file, where a seed replaces the mask.
    pub ciphertext_file_mib: f64,
    /// MiB in memory of the relinearisation key, or of all keys for products if products use the temporary
    /// rank.
    pub relinearisation_key_mib: f64,
    /// MiB of a rotation key in memory.
    pub rotation_key_mib: f64,
    /// Correct bits after the binary point of a fresh encryption of numbers in coefficients: `-log2` of the
    /// standard deviation of the error.
    pub fresh_coefficient_bits: f64,
    /// The same for the real part of a slot.
    pub fresh_slot_bits: f64,
    /// The same for a slot of a rescaled product of two ciphertexts with slots of magnitude 1; `None` if no
    /// product fits.
    pub product_slot_bits: Option<f64>,
    /// Complex messages that a ciphertext holds: `n / 2` at every rank.
    pub messages: usize,
    /// The size of a ciphertext relative to one of rank 1 and equal dimension: `(1 + 1 / k) / 2`. [dpad-he,
    /// sec. 4]
    pub size_of_rlwe: f64,
    /// The secrets of these parameters, each with its security over the largest modulus of its own keys.
    pub secrets: Vec<SecretExplanation>,
    /// The temporary rank, if there is one.
    pub temporary: Option<TemporaryExplanation>,
    /// The shapes that rank reductions and conversions lead to.
    pub moves: Vec<MoveExplanation>,
    /// Name of the engine that computes.
    pub engine: String,
}

/// One secret in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecretExplanation {
    /// Its name.
    pub name: &'static str,
    /// Module dimension.
    pub dimension: usize,
    /// Its distribution.
    pub distribution: String,
    /// Bits of the largest modulus of a key under this secret.
    pub log2_qp: f64,
    /// Estimated bits of security over that modulus.
    pub security_bits: f64,
    /// The same against an ideal meet-in-the-middle attack, which loses nothing when it guesses: less for
    /// secrets of small weight.
    pub ideal_guessing_bits: f64,
}

/// One segment in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentExplanation {
    /// Its name.
    pub name: String,
    /// Its lowest level.
    pub lowest: usize,
    /// Its highest level.
    pub highest: usize,
    /// Binary logarithm of its nominal scale.
    pub log2_scale: f64,
    /// Binary logarithm of the scale of a product of two ciphertexts after the rescale that leaves the
    /// segment. `None` for the lowest segment, and if such a product is impossible.
    pub log2_leaving: Option<f64>,
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
    /// Bits of the special modulus at that rank, `P^ = P T`.
    pub log2_p: f64,
    /// Bits of the key modulus at that rank.
    pub log2_qp: f64,
    /// Digits of a key at that rank, `mu`.
    pub digits: usize,
    /// Estimated bits of security of keys at that rank, `lambda^`.
    pub security_bits: f64,
    /// Estimated bits of security of keys at the ordinary rank, `lambda`.
    pub base_security_bits: f64,
    /// MiB of the cross-relinearisation key; `None` if products do not use the temporary rank.
    pub cross_relinearisation_key_mib: Option<f64>,
    /// MiB of the key that relinearises directly over the modulus of the temporary rank, for the levels at
    /// which it is secure; `None` if there are none.
    pub direct_key_mib: Option<f64>,
    /// The highest of those levels.
    pub direct_level: Option<usize>,
    /// MiB of the rank-down key.
    pub rank_down_key_mib: f64,
    /// MiB of one key of a rotation by a power of two.
    pub power_rotation_key_mib: f64,
}

/// A shape that a move leads to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MoveExplanation {
    /// Ring degree of the result.
    pub degree: usize,
    /// Rank of the result.
    pub rank: usize,
    /// The move: "reduction" of the rank or "conversion" of the degree.
    pub by: &'static str,
    /// The highest level at which keys are secure at that shape; `None` if there is none.
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
            self.gadget().map_or(0.0, |gadget| {
                switch_key_bytes(chain, gadget, (inputs, self.rank() + 1), top) as f64 / MIB
            })
        };
        let temporary = self.explain_temporary();
        // Products at the temporary rank need several keys: the cross-relinearisation key, the rank-down key
        // and, if there is one, the direct key.
        let relinearisation = match temporary.as_ref().and_then(|t| {
            Some(t.cross_relinearisation_key_mib? + t.rank_down_key_mib + t.direct_key_mib.unwrap_or(0.0))
        }) {
            Some(pair) => pair,
            None => key(self.rank() * (self.rank() + 1) / 2),
        };
        let model = self.noise_model();
        let half_degree = self.degree() as f64 / 2.0;
        let precision = |variance: f64, scale: f64| -(variance.sqrt() / scale).log2();
        let product_slot_bits = self.product_scale(top).map(|product_scale| {
            // Slots of magnitude 1 at random phases give coefficients with a mean square of scale^2 / n.
            let scale = self.scale(top);
            let mean_square = scale * scale / self.degree() as f64;
            let variance =
                model.multiply((model.fresh_secret(), mean_square), (model.fresh_secret(), mean_square));
            let rescaled = model.rescale(variance, self.step_product(top).log2());
            precision(rescaled * half_degree, product_scale)
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
            segments: self.explain_segments(),
            warnings: self.scale_warnings().iter().map(ToString::to_string).collect(),
            digits: self.gadget().map_or(0, |gadget| gadget.digit_count(chain, top)),
            security_bits: self.security_bits(),
            nearest_covered: self.nearest_covered(),
            secret: self
                .spec()
                .secret_weight
                .map_or("uniform ternary".to_owned(), |weight| format!("ternary of weight {weight}")),
            ciphertext_mib: (rank + 1.0) * primes * words,
            ciphertext_file_mib: primes * words,
            relinearisation_key_mib: relinearisation,
            rotation_key_mib: key(self.rank()),
            fresh_coefficient_bits: precision(model.fresh_secret(), self.scale(top)),
            fresh_slot_bits: precision(model.fresh_secret() * half_degree, self.scale(top)),
            product_slot_bits,
            messages: self.slot_count(),
            size_of_rlwe: (1.0 + 1.0 / rank) / 2.0,
            secrets: self.explain_secrets(),
            temporary,
            moves: self.explain_moves(),
            engine: chain.ring().engine().describe(),
        }
    }

    /// The security table's estimate for keys of the ordinary rank.
    fn base_estimate(&self) -> Estimate {
        estimate(self.degree() * self.rank(), self.log2_qp(), self.0.family.least_weight(self.shape()))
    }

    /// The nearest combination in the security table, if the table does not cover these parameters.
    fn nearest_covered(&self) -> Option<String> {
        if self.security_bits() > 0.0 {
            return None;
        }
        if let Estimate::NotCovered { nearest } = self.base_estimate() {
            return Some(nearest.to_string());
        }
        let uncovered = self.key_switching(KeyModulus::Widened).is_ok_and(|own| own.security_bits <= 0.0);
        let temporary = self.temporary().filter(|_| uncovered).map(|temporary| {
            let rank = temporary.rank;
            nearest_covered(self.degree() * rank, self.distribution_of(rank))
        });
        let ephemeral = self.ephemeral_weight().map(|weight| {
            nearest_covered(self.degree() * self.rank(), SecretDistribution::FixedWeight(weight))
        });
        temporary.or(ephemeral).map(|nearest| nearest.to_string())
    }

    fn explain_secrets(&self) -> Vec<SecretExplanation> {
        let words = |distribution: SecretDistribution| match distribution {
            SecretDistribution::UniformTernary => "uniform ternary".to_owned(),
            SecretDistribution::FixedWeight(weight) => format!("ternary of weight {weight}"),
        };
        let dimension = self.degree() * self.rank();
        let log2_qp = self.log2_qp();
        let mut secrets = vec![SecretExplanation {
            name: "main",
            dimension,
            distribution: words(self.distribution_of(self.rank())),
            log2_qp,
            security_bits: self.base_estimate().bits(),
            ideal_guessing_bits: bits_against_ideal_guessing(
                dimension,
                log2_qp,
                self.0.family.least_weight(self.shape()),
            ),
        }];
        let mut further = |name, dimension, distribution, own: &KeySwitching| {
            secrets.push(SecretExplanation {
                name,
                dimension,
                distribution: words(distribution),
                log2_qp: own.log2_qp,
                security_bits: own.security_bits,
                ideal_guessing_bits: bits_against_ideal_guessing(dimension, own.log2_qp, distribution),
            });
        };
        if let (Some(temporary), Ok(own)) = (self.temporary(), self.key_switching(KeyModulus::Widened)) {
            let rank = temporary.rank;
            further("temporary", self.degree() * rank, self.distribution_of(rank), own);
        }
        if let (Some(weight), Ok(own)) =
            (self.ephemeral_weight(), self.key_switching(KeyModulus::Encapsulation))
        {
            further("ephemeral", dimension, SecretDistribution::FixedWeight(weight), own);
        }
        secrets
    }

    fn explain_segments(&self) -> Vec<SegmentExplanation> {
        let top = self.max_level().0;
        let describe = |segment: &Segment| SegmentExplanation {
            name: segment.name.clone(),
            lowest: segment.lowest(),
            highest: segment.highest().min(top),
            log2_scale: segment.log2_scale,
            log2_leaving: self.product_scale(Level(segment.lowest())).map(f64::log2),
        };
        self.segments().iter().filter(|segment| segment.lowest() <= top).map(describe).collect()
    }

    fn explain_temporary(&self) -> Option<TemporaryExplanation> {
        let (temporary, top) = (self.temporary()?, self.max_level());
        let widened = self.key_switching(KeyModulus::Widened).ok()?;
        let (wide, gadget) = (widened.switcher.chain(), widened.switcher.gadget());
        let (base, rank) = (self.chain(), self.rank());
        let mib = |bytes: usize| bytes as f64 / MIB;
        let up = |inputs: usize| mib(switch_key_bytes(wide, gadget, (inputs, temporary.rank + 1), top));
        let log2 = |chain: &Chain| chain.key_basis(top).log2(chain.ring());
        let bits = |i: usize| (wide.ring().moduli()[i].value() as f64).log2();
        Some(TemporaryExplanation {
            rank: temporary.rank,
            dimension: self.degree() * temporary.rank,
            bits: wide.special_basis().indices()[base.special_basis().len()..]
                .iter()
                .map(|&i| bits(i))
                .collect(),
            log2_p: wide.special_basis().log2(wide.ring()),
            log2_qp: log2(wide),
            digits: gadget.digit_count(wide, top),
            security_bits: widened.security_bits,
            base_security_bits: self.base_estimate().bits(),
            cross_relinearisation_key_mib: self.temporary_for_products().map(|_| up(rank * (rank + 1) / 2)),
            direct_key_mib: self
                .direct(Level(0))
                .and(temporary.direct_level)
                .map(|most| mib(switch_key_bytes(wide, gadget, (rank * (rank + 1) / 2, rank + 1), most))),
            direct_level: temporary.direct_level.map(|level| level.0),
            rank_down_key_mib: mib(switch_key_bytes(
                base,
                self.gadget().ok()?,
                (temporary.rank - rank, rank + 1),
                top,
            )),
            power_rotation_key_mib: up(temporary.rank),
        })
    }

    /// Reductions of the rank by repeated halving, and conversions of the degree. The highest levels follow
    /// from the security table.
    fn explain_moves(&self) -> Vec<MoveExplanation> {
        let describe = |shape: ModuleShape, by: &'static str| {
            let max_level = self
                .0
                .family
                .highest_level(self.chain(), shape)
                .ok()
                .and_then(|(level, reason)| reason.is_none().then_some(level.0));
            MoveExplanation { degree: shape.degree, rank: shape.rank, by, max_level }
        };
        let (shape, mut moves) = (self.shape(), Vec::new());
        let mut rank = shape.rank;
        while rank > 1 {
            rank = rank.div_ceil(2);
            moves.push(describe(ModuleShape { degree: shape.degree, rank }, "reduction"));
        }
        let dimension = self.root_shape().dimension();
        // Degrees run from the largest that this rank can be converted to down to the smaller of the root's
        // degree and this one.
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

/// Bits of security rounded down, so that 127.97 does not read as 128. The value 0 stands for a key that the
/// security table does not cover.
fn bits_in_words(bits: f64) -> String {
    if bits > 0.0 { format!("{:.1} bits", (bits * 10.0).floor() / 10.0) } else { "no estimate".to_owned() }
}

impl fmt::Display for TemporaryExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits.iter().map(|&bits| size(bits)).collect::<Vec<_>>().join("+");
        writeln!(
            f,
            "  temporary  rank {} (dimension {}), primes {bits}: log2 P^ = {:.1}, log2 QP^ = {:.1}, mu = {}",
            self.rank,
            self.dimension,
            self.log2_p,
            self.log2_qp,
            counted(self.digits, "digit")
        )?;
        let (there, base) = (bits_in_words(self.security_bits), bits_in_words(self.base_security_bits));
        writeln!(f, "             security {there} there, {base} at the rank itself")?;
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

impl fmt::Display for SegmentExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "levels {:>2} to {:>2}: scale 2^{:.2}, \"{}\"",
            self.lowest, self.highest, self.log2_scale, self.name
        )?;
        match self.log2_leaving {
            Some(bits) => write!(f, "; a product leaves it with scale 2^{bits:.2}"),
            None => Ok(()),
        }
    }
}

/// Bits of a prime, with tenths only if the size is not a whole number of bits.
fn size(bits: f64) -> String {
    if (bits - bits.round()).abs() < 0.05 { format!("{bits:.0}") } else { format!("{bits:.1}") }
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
        let list = |bits: &[f64]| bits.iter().map(|&bits| size(bits)).collect::<Vec<_>>().join("+");
        let steps = self.step_bits.iter().map(|step| list(step)).collect::<Vec<_>>().join(", ");
        writeln!(
            f,
            "{}: degree {}, rank {} (dimension {}), {} complex slots",
            self.name, self.degree, self.rank, self.dimension, self.slot_count
        )?;
        writeln!(
            f,
            "  chain      levels 0 to {}, bits per step {steps}; special {}",
            self.max_level,
            list(&self.special_bits)
        )?;
        writeln!(
            f,
            "  modulus    log2 Q = {:.1}, log2 QP = {:.1}, scale 2^{:.2}",
            self.log2_q, self.log2_qp, self.log2_scale
        )?;
        if self.segments.len() > 1 {
            for (index, segment) in self.segments.iter().rev().enumerate() {
                writeln!(f, "  {:<10} {segment}", if index == 0 { "segments" } else { "" })?;
            }
        }
        for warning in &self.warnings {
            writeln!(f, "  warning    {warning}")?;
        }
        let warning = if self.security_bits < SECURITY_BITS {
            "  ** below 128: every file made from these parameters says so **"
        } else {
            ""
        };
        match &self.nearest_covered {
            None => writeln!(
                f,
                "  security   {} ({} secret){warning}",
                bits_in_words(self.security_bits),
                self.secret
            )?,
            Some(nearest) => {
                writeln!(f, "  security   no estimate ({} secret){warning}", self.secret)?;
                writeln!(f, "             the nearest combination in the security table is {nearest}")?;
            }
        }
        // The line of the main secret is above.
        for secret in self.secrets.iter().skip(1) {
            writeln!(
                f,
                "             secret \"{}\": {} ({}, dimension {}) at log2 QP = {:.1}, the largest modulus of its keys",
                secret.name,
                bits_in_words(secret.security_bits),
                secret.distribution,
                secret.dimension,
                secret.log2_qp
            )?;
        }
        for secret in self.secrets.iter().filter(|secret| secret.ideal_guessing_bits < secret.security_bits) {
            writeln!(
                f,
                "             secret \"{}\": {} against a meet in the middle that loses nothing, which nobody has",
                secret.name,
                bits_in_words(secret.ideal_guessing_bits)
            )?;
        }
        writeln!(
            f,
            "  ciphertext {:.2} MiB in memory, {:.2} MiB in a file when fresh",
            self.ciphertext_mib, self.ciphertext_file_mib
        )?;
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
                "  keys       {}; for products {:.1} MiB, one rotation {:.1} MiB in memory",
                counted(self.digits, "digit"),
                self.relinearisation_key_mib,
                self.rotation_key_mib
            )?;
        } else if self.digits > 0 {
            writeln!(
                f,
                "  keys       {}; {}one rotation {:.1} MiB in memory (files: 1/{} of it)",
                counted(self.digits, "digit"),
                // If no product of ciphertexts fits the chain, there is nothing to relinearise.
                self.product_slot_bits.map_or_else(String::new, |_| format!(
                    "relinearisation {:.1} MiB, ",
                    self.relinearisation_key_mib
                )),
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
            let by = |name: &str| {
                self.moves
                    .iter()
                    .filter(|m| m.by == name)
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let (reductions, conversions) = (by("reduction"), by("conversion"));
            let parts: Vec<String> = [("reduces to", reductions), ("converts to", conversions)]
                .into_iter()
                .filter(|(_, list)| !list.is_empty())
                .map(|(verb, list)| format!("{verb} {list}"))
                .collect();
            writeln!(f, "  moves      {} (degree x rank)", parts.join("; "))?;
        }
        write!(
            f,
            "  precision  fresh: {:.1} bits (coefficients), {:.1} bits (slots)",
            self.fresh_coefficient_bits, self.fresh_slot_bits
        )?;
        if let Some(bits) = self.product_slot_bits {
            write!(f, "; after one product: {bits:.1} bits (slots)")?;
        }
        write!(f, "\n  engine     {}", self.engine)
    }
}

/// Bytes in memory of a switching key of `inputs` times `columns` polynomials for levels up to `level`.
/// Residues are bit-packed.
pub(crate) fn switch_key_bytes(
    chain: &Chain,
    gadget: &Gadget,
    (inputs, columns): (usize, usize),
    level: Level,
) -> usize {
    let moduli = chain.ring().moduli();
    let bits: usize =
        chain.key_basis(level).indices().iter().map(|&i| packed_bits(moduli[i].bits()) as usize).sum();
    inputs * gadget.digit_count(chain, level) * columns * bits * chain.ring().degree().div_ceil(VECTOR)
}
