//! The definition of each switching key. To add a kind of key, add its definition here and its name in
//! [`crate::names`].
//!
//! Everything else follows from the definition: how the owner makes the key, how many polynomials the key
//! switches and to what rank, its bytes, its entry in a file, the levels that it may serve, the switcher that
//! uses it, its predicted cost and its noise.

use std::ops::Range;

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::packing::PackingStep;
use clathrate_lattice::secret::SecretPoly;
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::shape::{Degree, Rank};
use clathrate_lattice::switch::SecretMatrix;
use clathrate_lattice::{
    Basis, Chain, Eval, Gadget, Level, Poly, PolyRef, Ring, SecretDistribution, SecretKey, Switcher,
};

pub use crate::arrays::layout::MAX_BODIES;
use crate::encoding::dft;
use crate::encoding::encode::diagonal_to_poly;
use crate::encoding::linear::LinearTransform;
use crate::error::CkksError;
use crate::names::{KeyName, RaisedMap, SecretName, Switch};
pub use crate::parameters::KeyModulus;
use crate::parameters::{Params, SMALLER_RING_LEVEL};
use crate::shape::ModuleShape;

/// A range of polynomials of a named secret, optionally under an automorphism.
#[derive(Debug, Clone, PartialEq)]
pub struct SecretView {
    /// The secret.
    pub secret: SecretName,
    /// Which of the secret's polynomials.
    pub polys: Range<usize>,
    /// The automorphism applied to these polynomials.
    pub galois: Option<GaloisElement>,
}

/// The matrix `T`: what each input contributes to each body.
#[derive(Debug, Clone, PartialEq)]
pub enum Contribution {
    /// `s_i`.
    Linear(SecretView),
    /// `s_i s_j` for `i <= j`.
    Quadratic(SecretView),
    /// The same secret, of one or several bodies, repeated this many times on the block diagonal.
    Diagonal(SecretView, usize),
    /// `phi_j(nu_j s_i)` for each diagonal of a map, `nu_j` the polynomial of the diagonal before its
    /// rotation `phi_j`, `j` outer.
    Raised(SecretView, RaisedMap),
    /// The parts of the secret at the degree of the samples (only the first parts if the samples are
    /// smaller), as the inputs of a packing step.
    Packed(SecretView, PackingStep),
    /// The parts at this degree of the secrets of all bodies, body after body.
    Parts(SecretView, usize),
}

/// The definition of one switching key.
#[derive(Debug, Clone)]
pub struct KeyDefinition {
    /// The key's name.
    pub name: KeyName,
    /// The matrix `T`.
    pub contribution: Contribution,
    /// The secret of the result, before the automorphism.
    pub target: SecretView,
    /// The automorphism that follows the switch.
    pub automorphism: Option<GaloisElement>,
    /// The parameters whose chain and switcher the key uses.
    pub params: Params,
    /// Which of the parameters' moduli the key uses.
    pub modulus: KeyModulus,
    /// The highest level that the key may serve.
    pub most: Level,
}

impl SecretView {
    fn whole(secret: SecretName, rank: usize) -> Self {
        Self { secret, polys: 0..rank, galois: None }
    }

    fn part(secret: SecretName, polys: Range<usize>) -> Self {
        Self { secret, polys, galois: None }
    }

    /// The polynomials of this view, taken from `secret`, which must be the secret that the view names.
    fn of(&self, secret: &SecretKey) -> Result<SecretKey, CkksError> {
        let first = secret.truncate_rank(self.polys.end)?;
        let part = if self.polys.start == 0 { first } else { first.beyond_rank(self.polys.start)? };
        Ok(match self.galois {
            Some(element) => part.automorphism(&Automorphism::new(element, secret.degree())),
            None => part,
        })
    }
}

impl Params {
    /// The definition of the key called `name` for ciphertexts of this shape.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch; [`CkksError::Unsupported`] where a secret that
    /// the key needs does not exist, and for a reduction to a rank that is not lower;
    /// [`CkksError::OutOfRange`] for a number of bodies that is not allowed.
    pub fn key_definition(&self, name: KeyName) -> Result<KeyDefinition, CkksError> {
        use KeyName as Name;
        use SecretName::{Main, Temporary};
        self.check_switching(matches!(name, Name::Switch(Switch::Pack { onto: SecretName::Packing, .. })))?;
        let rank = self.rank();
        let main = || SecretView::whole(Main, rank);
        let temporary =
            |operation: &'static str| self.temporary().ok_or(CkksError::no_temporary_rank(operation));
        let base = |contribution, target| KeyDefinition {
            name,
            contribution,
            target,
            automorphism: None,
            params: self.clone(),
            modulus: KeyModulus::Base,
            most: self.max_level(),
        };
        let widened = |definition| KeyDefinition { modulus: KeyModulus::Widened, ..definition };
        Ok(match name {
            Name::Relinearise => base(Contribution::Quadratic(main()), main()),
            Name::CrossRelinearise => {
                let high = temporary("a product through the temporary rank")?.rank;
                widened(base(Contribution::Quadratic(main()), SecretView::whole(Temporary, high)))
            }
            Name::DirectRelinearise => {
                let most = temporary("a product over the widened chain")?.direct_level.filter(|_| rank > 1);
                let most = most.ok_or(CkksError::no_direct_key(self.shape()))?;
                KeyDefinition { most, ..widened(base(Contribution::Quadratic(main()), main())) }
            }
            Name::RankDown => {
                let high = temporary("a way back from the temporary rank")?.rank;
                base(Contribution::Linear(SecretView::part(Temporary, rank..high)), main())
            }
            Name::Automorphism { secret, element } => {
                let source = match secret {
                    Temporary => SecretView::whole(Temporary, temporary("rotations by powers of two")?.rank),
                    Main | SecretName::Bodies(_) => self.secret_view(secret)?,
                    _ => {
                        let reason = format!("no keys of automorphisms are made for the secret \"{secret}\"");
                        return Err(CkksError::Unsuitable { operation: "an automorphism", reason });
                    }
                };
                let target = SecretView { galois: Some(inverse(element, self.degree())?), ..source.clone() };
                let own = base(Contribution::Linear(source), target);
                let own = KeyDefinition { automorphism: Some(element), ..own };
                if secret == Temporary { widened(own) } else { own }
            }
            Name::ReduceRank(low) => {
                if low == 0 || low >= rank {
                    let remedy = format!("reduce to 1 to {}", rank.saturating_sub(1));
                    return Err(CkksError::rank_step(rank, low, remedy));
                }
                let lower = self.at_rank(low)?;
                lower.switcher()?;
                let definition = base(
                    Contribution::Linear(SecretView::part(Main, low..rank)),
                    SecretView::whole(Main, low),
                );
                KeyDefinition { most: lower.max_level(), params: lower, ..definition }
            }
            Name::Switch(Switch::ChangeSecret { from, to }) => {
                if [from, to].contains(&SecretName::Packing) {
                    // The only keys with this secret are packing keys, over a short modulus.
                    let reason =
                        "arrays come under the secret of a ring of packing, and leave it, by packing alone"
                            .to_owned();
                    return Err(CkksError::Unsuitable { operation: "a change of the secret", reason });
                }
                if matches!(from, SecretName::Embedded(_))
                    || (matches!(to, SecretName::Embedded(_)) && from != Main)
                {
                    let reason = "arrays come under the secret of a smaller ring from the main one, and leave it by packing".to_owned();
                    return Err(CkksError::Unsuitable { operation: "a change of the secret", reason });
                }
                let (source, target) = (self.secret_view(from)?, self.secret_view(to)?);
                let definition = base(Contribution::Linear(source), target);
                match to {
                    SecretName::Embedded(_) => KeyDefinition {
                        modulus: KeyModulus::SmallerRing,
                        most: SMALLER_RING_LEVEL,
                        ..definition
                    },
                    to if to.is_ephemeral() => {
                        KeyDefinition { modulus: KeyModulus::Encapsulation, most: Level(0), ..definition }
                    }
                    Temporary => widened(definition),
                    _ => definition,
                }
            }
            Name::Switch(Switch::RaiseToSlots(map)) => {
                let most = self.key_switching(KeyModulus::Raise)?.most;
                self.check_raised_map(map)?;
                let (source, target) = match map.bodies {
                    1 => (SecretName::Ephemeral, SecretName::Main),
                    bodies => (SecretName::EphemeralBodies(bodies), SecretName::Bodies(bodies)),
                };
                let contribution = Contribution::Raised(self.secret_view(source)?, map);
                KeyDefinition {
                    modulus: KeyModulus::Raise,
                    most,
                    ..base(contribution, self.secret_view(target)?)
                }
            }
            Name::Switch(Switch::Pack { from, to, under, onto }) => {
                let refused = |reason: String| Err(CkksError::Unsuitable { operation: "packing", reason });
                if !matches!(onto, Main | SecretName::Ephemeral | SecretName::Packing) {
                    return refused(format!(
                        "samples are packed to the main secret, the ephemeral one or that of a ring of packing, not {onto}"
                    ));
                }
                if under != onto
                    && !matches!(
                        under,
                        Main | SecretName::Device(_) | SecretName::Outside(_) | SecretName::Packing
                    )
                {
                    return refused(format!(
                        "samples are packed under the main secret, a device's or another library's, not {under}"
                    ));
                }
                let step = self.packing_step(from, to)?;
                if under == SecretName::Packing && onto != under {
                    // The samples come from a smaller ring, which must be able to switch at its own shape.
                    self.for_samples(from)?.check_switching(true)?;
                }
                let source = if under == SecretName::Packing {
                    SecretView::whole(under, self.rank())
                } else {
                    self.secret_view(under)?
                };
                let definition = base(Contribution::Packed(source, step), self.secret_view(onto)?);
                match onto {
                    SecretName::Ephemeral => {
                        KeyDefinition { modulus: KeyModulus::Encapsulation, most: Level(0), ..definition }
                    }
                    SecretName::Packing => {
                        KeyDefinition { modulus: KeyModulus::Packing, most: Level(0), ..definition }
                    }
                    _ => definition,
                }
            }
            Name::Switch(Switch::BodyParts { bodies, degree }) => {
                self.check_body_parts(degree)?;
                base(Contribution::Parts(self.secret_view(SecretName::Bodies(bodies))?, degree), main())
            }
            Name::Switch(Switch::FormatSwitch { from, to }) => {
                let source = if from == 1 { main() } else { self.secret_view(SecretName::Bodies(from))? };
                let target = self.secret_view(SecretName::Bodies(to))?;
                if from == 0 || !to.is_multiple_of(from) || (to == from && from > 1) {
                    let remedy = "use a larger multiple of the bodies that each bundle has".to_owned();
                    return Err(CkksError::OutOfRange {
                        what: "the number of bodies",
                        value: format!("from {from} to {to}"),
                        remedy,
                    });
                }
                base(Contribution::Diagonal(source, to / from), target)
            }
        })
    }

    /// The packing step from samples of shape `from` to samples of degree `to` with the dimension of this
    /// shape's ciphertexts.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] at ranks above 1; [`CkksError::OutOfRange`] for degrees that are not powers
    /// of two, rising up to this degree, and for samples larger than this shape's ciphertexts, or of a rank
    /// that is no multiple of the result's.
    pub(crate) fn packing_step(&self, from: ModuleShape, to: usize) -> Result<PackingStep, CkksError> {
        if self.rank() != 1 {
            let reason = format!(
                "samples are packed at rank 1, not {}: an odd part of the rank cannot become degree",
                self.rank()
            );
            return Err(CkksError::Unsuitable { operation: "packing", reason });
        }
        let refused = || CkksError::OutOfRange {
            what: "a step of packing",
            value: format!("from degree and rank {from} to degree {to}"),
            remedy: format!(
                "use degrees that are powers of two, rising from 1 to {most}, of samples of a dimension up to {most}, whose rank is a multiple of {}",
                self.degree().checked_div(to).unwrap_or(1).max(1),
                most = self.degree()
            ),
        };
        if from.dimension() > self.degree() {
            return Err(refused());
        }
        PackingStep::new(Degree(from.degree), Rank(from.rank), Degree(to), Degree(self.degree()))
            .map_err(|_| refused())
    }

    /// Checks that matrices with rows of degree `degree` can be prepared at this shape.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] at ranks above 1; [`CkksError::OutOfRange`] for a degree that is no power of
    /// two up to this one.
    pub(crate) fn check_body_parts(&self, degree: usize) -> Result<(), CkksError> {
        if self.rank() != 1 {
            let reason = format!(
                "matrices are prepared at rank 1, not {}: encrypt at the relative of rank 1",
                self.rank()
            );
            return Err(CkksError::Unsuitable { operation: "a prepared matrix", reason });
        }
        if degree == 0 || !degree.is_power_of_two() || degree > self.degree() {
            let remedy = format!("use a power of two up to {}", self.degree());
            return Err(CkksError::OutOfRange {
                what: "the degree of a row",
                value: degree.to_string(),
                remedy,
            });
        }
        Ok(())
    }

    /// Checks that these parameters have the secret.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] where the parameters have no such secret; [`CkksError::OutOfRange`] for
    /// bodies that do not exist.
    pub(crate) fn check_secret(&self, secret: SecretName) -> Result<(), CkksError> {
        self.secret_view(secret).map(|_| ())
    }

    /// Refuses encryptions at `level` with more bodies under one mask than these parameters protect, and
    /// samples of a dimension that is too small for the level. Keys are checked separately, with their
    /// special primes; this check covers parameters whose ciphertexts have as long a modulus as their keys,
    /// and shapes without keys.
    ///
    /// # Errors
    /// [`CkksError::Insecure`].
    pub(crate) fn check_fresh(&self, secret: SecretName, level: Level) -> Result<(), CkksError> {
        let (dimension, log2_q) =
            (self.shape().dimension(), self.chain().basis(level).log2(self.chain().ring()));
        let bodies = secret.bodies();
        let distribution = match secret {
            SecretName::Device(_) if self.is_for_samples() => SecretDistribution::UniformTernary,
            _ => self.least_distribution(self.rank()),
        };
        let bits = charged_bits(estimated_bits(dimension, log2_q, distribution), bodies);
        let samples =
            self.is_for_samples() && self.samples_level(distribution)?.is_none_or(|most| level > most);
        if !samples && (bodies == 1 || bits >= self.wanted_bits()) {
            return Ok(());
        }
        let remedy = match (samples, secret) {
            (true, SecretName::Device(_)) => "use a larger dimension, or a lower level",
            (true, _) => {
                "use a larger dimension, a lower level, or the secret of a device, which is not sparse"
            }
            (false, _) => "put fewer bodies under one mask, or encrypt at a lower level",
        };
        let (distribution, remedy) = (format!("the secret \"{secret}\""), remedy.to_owned());
        Err(CkksError::Insecure { bits, dimension, log2_qp: log2_q, distribution, remedy })
    }

    /// All polynomials of a secret.
    fn secret_view(&self, secret: SecretName) -> Result<SecretView, CkksError> {
        let bodies = |count: usize| {
            let remedy = format!("use 1 to {MAX_BODIES} bodies under one mask");
            let refused =
                CkksError::OutOfRange { what: "the number of bodies", value: count.to_string(), remedy };
            if (1..=MAX_BODIES).contains(&count) { Ok(self.rank()) } else { Err(refused) }
        };
        let rank = match secret {
            SecretName::Main | SecretName::Device(_) | SecretName::Outside(_) => self.rank(),
            SecretName::Temporary => {
                self.temporary().ok_or(CkksError::no_temporary_rank("a change of secret"))?.rank
            }
            SecretName::Ephemeral => {
                self.key_switching(KeyModulus::Encapsulation)?;
                self.rank()
            }
            SecretName::Packing => {
                self.check_switching(true)?;
                self.rank()
            }
            SecretName::Embedded(degree) => {
                if !self.has_keys_over(KeyModulus::SmallerRing) {
                    let reason = format!(
                        "arrays come under the secrets of smaller rings at rank 1 and the whole degree, not at {}",
                        self.shape()
                    );
                    return Err(CkksError::Unsuitable { operation: "a switch to a smaller ring", reason });
                }
                self.product_ring(degree)?;
                self.rank()
            }
            SecretName::Bodies(count) => bodies(count)?,
            SecretName::EphemeralBodies(count) => {
                self.key_switching(KeyModulus::Encapsulation)?;
                bodies(count)?
            }
            SecretName::Body { count, index } if index >= count => {
                let remedy = format!("bodies are counted from 0 to {}", count.saturating_sub(1));
                return Err(CkksError::OutOfRange { what: "a body", value: index.to_string(), remedy });
            }
            SecretName::Body { count, .. } => bodies(count)?,
        };
        Ok(SecretView::whole(secret, rank))
    }
}

impl Params {
    /// The linear map that a raise key applies.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a map that these parameters do not have.
    pub(crate) fn raised_map(&self, map: RaisedMap) -> Result<LinearTransform, CkksError> {
        self.check_raised_map(map)?;
        dft::first_to_slots(map.slots, map.layers)
    }

    /// Checks that these parameters have this map of a raise key.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    pub(crate) fn check_raised_map(
        &self,
        RaisedMap { slots, layers, log2_scale, .. }: RaisedMap,
    ) -> Result<(), CkksError> {
        let most = self.slot_count();
        if !slots.is_power_of_two() || !(2..=most).contains(&slots) {
            let remedy = format!("use a power of two from 2 to {most}");
            return Err(CkksError::OutOfRange {
                what: "the number of slots of a raise key",
                value: slots.to_string(),
                remedy,
            });
        }
        if !(1..=slots.trailing_zeros().min(MAX_RAISED_LAYERS)).contains(&layers)
            || log2_scale > MAX_RAISED_BITS
        {
            let remedy = format!("use 1 to {MAX_RAISED_LAYERS} layers and at most {MAX_RAISED_BITS} bits");
            return Err(CkksError::OutOfRange {
                what: "the map of a raise key",
                value: format!("{layers} layers, {log2_scale} bits"),
                remedy,
            });
        }
        Ok(())
    }

    /// For each diagonal `d_j` of a raised map the rotation `phi_j` and the polynomial `round(2^log2_scale
    /// nu_j)`, with `phi_j(nu_j x) = d_j phi_j(x)`.
    pub(crate) fn raised_diagonals(
        &self,
        map: RaisedMap,
        ring: &Ring,
        basis: &Basis,
    ) -> Result<Vec<(Automorphism, Poly<Eval>)>, CkksError> {
        let transform = self.raised_map(map)?;
        let scale = f64::from(map.log2_scale).exp2();
        let diagonal = |shift: usize| {
            let shift = shift as i64;
            let diagonal = transform.rotated_diagonal(shift, shift, map.slots);
            let phi = Automorphism::new(GaloisElement::rotation(shift, self.degree()), self.degree());
            Ok((phi, diagonal_to_poly(self.encoder(), ring, basis, &diagonal, scale)?))
        };
        transform.shifts().map(diagonal).collect()
    }
}

/// Most layers of a raised map, which then has `2^7` diagonals.
const MAX_RAISED_LAYERS: u32 = 7;

/// Largest `log2_scale` of a raised map.
const MAX_RAISED_BITS: u32 = 110;

/// `g^-1` modulo `2 n`.
fn inverse(element: GaloisElement, degree: usize) -> Result<GaloisElement, CkksError> {
    Ok(clathrate_lattice::multiply::inverse_element(element, degree)?)
}

impl KeyDefinition {
    /// Number of polynomials that one switch takes as inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match &self.contribution {
            Contribution::Linear(view) => view.polys.len(),
            Contribution::Quadratic(view) => view.polys.len() * (view.polys.len() + 1) / 2,
            Contribution::Diagonal(view, times) => view.polys.len() * times,
            Contribution::Raised(view, map) => view.polys.len() * map.diagonals(),
            Contribution::Packed(_, step) => step.inputs(),
            Contribution::Parts(view, degree) => {
                view.polys.len() * view.secret.bodies() * self.params.degree() / degree
            }
        }
    }

    /// Rank of the result.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.target.polys.len()
    }

    /// Bodies of the result.
    #[must_use]
    pub fn bodies(&self) -> usize {
        self.target.secret.bodies()
    }

    /// Polynomials of each entry of the key: its masks and bodies.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.rank() + self.bodies()
    }

    /// The switcher that uses the key.
    pub fn switcher(&self) -> Result<&Switcher, CkksError> {
        Ok(&self.params.key_switching(self.modulus)?.switcher)
    }

    /// The chain that the key is made over.
    pub fn chain(&self) -> Result<&Chain, CkksError> {
        Ok(self.switcher()?.chain())
    }

    /// The key's gadget.
    pub fn gadget(&self) -> Result<&Gadget, CkksError> {
        Ok(self.switcher()?.gadget())
    }

    /// The matrix `T` over `basis`, computed from the secret that the contribution names; a packing key takes
    /// the samples' secret.
    pub(super) fn matrix(
        &self,
        secret: &SecretKey,
        ring: &Ring,
        basis: &Basis,
    ) -> Result<SecretMatrix, CkksError> {
        Ok(match &self.contribution {
            Contribution::Linear(view) => SecretMatrix::linear(&view.of(secret)?, ring, basis),
            Contribution::Quadratic(view) => SecretMatrix::quadratic(&view.of(secret)?, ring, basis)?,
            Contribution::Diagonal(view, times) => {
                let secret = view.of(secret)?;
                SecretMatrix::block_diagonal(&vec![&secret; *times], ring, basis)?
            }
            Contribution::Packed(_, step) => SecretMatrix::linear(&step.inputs_secret(secret)?, ring, basis),
            Contribution::Parts(view, degree) => {
                SecretMatrix::parts(&view.of(secret)?, *degree, ring, basis)?
            }
            Contribution::Raised(view, map) => {
                let secret = view.of(secret)?;
                let bodies: Vec<_> =
                    (0..secret.bodies()).map(|body| secret.eval(ring, basis, body)).collect();
                let mut rows = Vec::with_capacity(self.inputs());
                for (phi, nu) in self.params.raised_diagonals(*map, ring, basis)? {
                    let raised = |poly: &SecretPoly| -> Result<_, CkksError> {
                        let product =
                            SecretPoly::new(Poly::inner_product(&[PolyRef::from(poly.get())], &[&nu])?);
                        Ok(Some(SecretPoly::new(product.get().automorphism(&phi))))
                    };
                    for poly in 0..secret.rank() {
                        rows.push(bodies.iter().map(|polys| raised(&polys[poly])).collect::<Result<_, _>>()?);
                    }
                }
                SecretMatrix::from_rows(rows)?
            }
        })
    }

    /// The secret whose polynomials are the entries of `T`.
    #[must_use]
    pub fn source(&self) -> &SecretView {
        match &self.contribution {
            Contribution::Linear(view)
            | Contribution::Quadratic(view)
            | Contribution::Diagonal(view, _)
            | Contribution::Raised(view, _)
            | Contribution::Packed(view, _)
            | Contribution::Parts(view, _) => view,
        }
    }

    /// The secret of the result, computed from `secret`, which must be the secret that `target` names.
    pub(super) fn target_secret(&self, secret: &SecretKey) -> Result<SecretKey, CkksError> {
        self.target.of(secret)
    }

    /// Estimated bits of security of the target secret, over exactly the moduli of a key for levels up to
    /// `level`.
    pub fn security_bits(&self, level: Level) -> Result<f64, CkksError> {
        let chain = self.chain()?;
        let log2_qp = chain.key_basis(level).log2(chain.ring());
        let dimension = chain.ring().degree() * self.rank();
        Ok(match self.target.secret {
            SecretName::Temporary => {
                self.params.key_switching(KeyModulus::Widened).map_or(0.0, |own| own.security_bits)
            }
            SecretName::Ephemeral | SecretName::EphemeralBodies(_) => {
                let weight = self.params.ephemeral_weight().unwrap_or(0);
                estimated_bits(dimension, log2_qp, SecretDistribution::FixedWeight(weight))
            }
            SecretName::Packing => estimated_bits(dimension, log2_qp, SecretDistribution::UniformTernary),
            // Its coefficients are those of the smaller ring's secret.
            SecretName::Embedded(degree) => {
                estimated_bits(degree, log2_qp, SecretDistribution::UniformTernary)
            }
            SecretName::Main
            | SecretName::Device(_)
            | SecretName::Outside(_)
            | SecretName::Bodies(_)
            | SecretName::Body { .. } => {
                estimated_bits(dimension, log2_qp, self.params.least_distribution(self.rank()))
            }
        })
    }

    /// Refuses a key for levels up to `level` whose target secret has fewer bits of security than the
    /// parameters promise.
    ///
    /// # Errors
    /// [`CkksError::Level`] above the highest level that the key may serve; [`CkksError::Insecure`].
    pub fn check_security(&self, level: Level) -> Result<(), CkksError> {
        if level > self.most {
            let (operation, shape) = ("a key", self.params.shape());
            return Err(CkksError::level_too_high(operation, shape, level.0, self.most.0));
        }
        let charged = charged_bits(self.security_bits(level)?, self.bodies());
        if charged >= self.params.wanted_bits() {
            return Ok(());
        }
        let chain = self.chain()?;
        Err(CkksError::Insecure {
            bits: charged,
            dimension: chain.ring().degree() * self.rank(),
            log2_qp: chain.key_basis(level).log2(chain.ring()),
            distribution: format!("the secret \"{}\" of the key \"{}\"", self.target.secret, self.name),
            remedy: match self.bodies() {
                1 => format!("ask for the key up to a lower level than {level}"),
                bodies => format!(
                    "put fewer than {bodies} bodies under one mask, use parameters with bits to spare, or ask for the key up to a lower level than {level}"
                ),
            },
        })
    }

    /// Bytes in memory of the key for levels up to `level`.
    pub fn bytes(&self, level: Level) -> Result<usize, CkksError> {
        let (chain, gadget) = (self.chain()?, self.gadget()?);
        Ok(crate::parameters::switch_key_bytes(chain, gadget, (self.inputs(), self.columns()), level))
    }
}

/// The bits of security with several bodies under one mask: the security argument loses one bit for each
/// doubling of their number. 0 bits, which the security table gives outside its range, stay 0.
fn charged_bits(bits: f64, bodies: usize) -> f64 {
    (bits - (bodies as f64).log2()).max(0.0)
}
