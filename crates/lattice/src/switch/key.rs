//! Switching keys: gadget encryptions of secret polynomials, with seeded masks.
//!
//! ```text
//! entry (i, digit j):  A_ij uniform in R_M^{k'},   B_ijb = -<A_ij, s'_b> + e_ijb + (Q / D_j) * T[i][b]   mod M
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use clathrate_arith::mapped::FileWords;
use clathrate_arith::{FactorLayout, FactorShape, Factors, Rows};

use super::derived::DerivedKeys;
use super::representation::KeyRepresentation;
use super::secret_matrix::SecretMatrix;
use crate::bundle::{Bundle, set_gaussian};
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Basis, Eval, Poly, PolyRef, Polys};
use crate::ring::Ring;
use crate::sampling::{MaskSeed, SecretRng};
use crate::secret::{SecretKey, SecretPoly};
use crate::shape::{Bodies, Rank};

/// Domain-separation string of the seeds of a key's entries.
const ENTRY_DOMAIN: &str = "clathrate switch key entry v1";

/// A switching key: `R x d` bundles over the key's modulus with masks from one seed, stored as packed
/// factors.
#[derive(Debug, Clone)]
pub struct SwitchKey {
    ring: Ring,
    basis: Basis,
    level: Level,
    gadget: Gadget,
    inputs: usize,
    digits: usize,
    rank: usize,
    /// `None` for a combination of keys, whose masks do not come from one seed.
    seed: Option<MaskSeed>,
    /// Terms are entries, entry `(i, j)` at `j * inputs + i`; columns are the mask, then the bodies.
    factors: Arc<Factors>,
    derived: Arc<DerivedKeys>,
}

impl SwitchKey {
    /// Makes a key for levels up to `level` that switches contributions `u_i * T[i][b]` to the secret
    /// `target`.
    ///
    /// # Errors
    /// [`LatticeError::BodiesMismatch`] where `T`'s columns are not `target`'s bodies;
    /// [`LatticeError::LevelOutOfRange`]; [`LatticeError::NoSpecialPrimes`]; [`LatticeError::RingMismatch`]
    /// where a secret has another degree; [`LatticeError::BasisMismatch`] where the gadget was made for
    /// another chain.
    pub fn generate(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        matrix: &SecretMatrix,
        target: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        chain.check_level(level)?;
        if chain.special_basis().is_empty() {
            return Err(LatticeError::NoSpecialPrimes);
        }
        gadget.check_chain(chain)?;
        target.check_degree(chain.ring())?;
        let (ring, basis) = (chain.ring(), chain.key_basis(level));
        let seed = rng.mask_seed();
        let secrets: Vec<Vec<SecretPoly>> =
            (0..target.bodies()).map(|body| target.eval(ring, &basis, body)).collect();
        let mut entries = Vec::with_capacity(matrix.inputs() * gadget.digit_count(chain, level));
        for row in matrix.rows() {
            if row.len() != target.bodies() {
                return Err(LatticeError::BodiesMismatch { left: row.len(), right: target.bodies() });
            }
            for digit in 0..gadget.digit_count(chain, level) {
                let constants = gadget.entry_constants(chain, &basis, digit);
                let entry_seed = seed.derive(ENTRY_DOMAIN, entries.len() as u64);
                entries.push(Bundle::seeded(
                    &entry_seed,
                    ring,
                    &basis,
                    Rank(target.rank()),
                    Bodies(target.bodies()),
                    |mask, bodies| {
                        let xs: Vec<PolyRef<'_, Eval>> = mask.iter().collect();
                        for ((secret, entry), mut body) in secrets.iter().zip(row).zip(bodies) {
                            let ys: Vec<&Poly<Eval>> = secret.iter().map(SecretPoly::get).collect();
                            let product = SecretPoly::new(Poly::inner_product(&xs, &ys)?);
                            set_gaussian(&mut body, rng);
                            body.sub_assign(product.get())?;
                            if let Some(entry) = entry {
                                body.add_multiple(entry.get(), &constants)?;
                            }
                        }
                        Ok(())
                    },
                )?);
            }
        }
        Self::from_entries(chain, gadget, level, matrix.inputs(), Some(seed), &entries)
    }

    /// A key from its seed and its bodies (`bodies[i * digits + j][b]`), which files store.
    ///
    /// # Errors
    /// [`LatticeError::KeyGadget`], [`LatticeError::KeyInputs`], [`LatticeError::BodiesMismatch`] where
    /// numbers of digits, inputs or bodies do not fit; ring, basis and level errors.
    pub fn from_bodies(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        inputs: usize,
        Rank(rank): Rank,
        seed: MaskSeed,
        bodies: Vec<Vec<Poly<Eval>>>,
    ) -> Result<Self, LatticeError> {
        chain.check_level(level)?;
        if inputs == 0 || bodies.is_empty() || !bodies.len().is_multiple_of(inputs) {
            return Err(LatticeError::KeyInputs { key_inputs: inputs, inputs: bodies.len() });
        }
        let (ring, basis) = (chain.ring(), chain.key_basis(level));
        gadget.check_chain(chain)?;
        let digits = bodies.len() / inputs;
        if digits != gadget.digit_count(chain, level) {
            return Err(LatticeError::KeyGadget {
                key_digits: digits,
                digits: gadget.digit_count(chain, level),
            });
        }
        if let Some(other) = bodies.iter().find(|entry| entry.len() != bodies[0].len()) {
            return Err(LatticeError::BodiesMismatch { left: bodies[0].len(), right: other.len() });
        }
        let entries = bodies
            .into_iter()
            .enumerate()
            .map(|(index, bodies)| {
                if let Some(bad) = bodies.iter().find(|body| !body.ring().same_as(ring)) {
                    return Err(LatticeError::RingMismatch {
                        left: ring.degree(),
                        right: bad.ring().degree(),
                    });
                }
                if let Some(bad) = bodies.iter().find(|body| *body.basis() != basis) {
                    return Err(LatticeError::BasisMismatch { left: basis.len(), right: bad.basis().len() });
                }
                Bundle::from_seed(seed.derive(ENTRY_DOMAIN, index as u64), rank, &bodies)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Self::from_entries(chain, gadget, level, inputs, Some(seed), &entries)
    }

    /// A key from its entries, input-major: entry `(i, j)` at `i * digits + j`. A linear combination of
    /// entries of keys is an entry of a key for the same combination of their secrets, with that combination
    /// of their errors.
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`] without entries; [`LatticeError::BasisMismatch`] and shape errors where
    /// entries differ.
    pub(crate) fn from_entries(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        inputs: usize,
        seed: Option<MaskSeed>,
        entries: &[Bundle<Eval>],
    ) -> Result<Self, LatticeError> {
        let first = entries.first().ok_or(LatticeError::KeyInputs { key_inputs: inputs, inputs: 0 })?;
        let (ring, basis) = (chain.ring(), chain.key_basis(level));
        if let Some(bad) = entries.iter().find(|entry| *entry.basis() != basis) {
            return Err(LatticeError::BasisMismatch { left: basis.len(), right: bad.basis().len() });
        }
        entries.iter().try_for_each(|entry| first.check_same_shape(entry))?;
        let (digits, rank) = (entries.len() / inputs, first.rank());
        let (columns, packed) = (rank + first.body_count(), true);
        let slots: Vec<Vec<Rows<'_>>> = (0..digits)
            .flat_map(|digit| (0..inputs).map(move |input| &entries[input * digits + digit]))
            .flat_map(|entry| entry.polys().map(|poly| vec![poly.rows()]))
            .collect();
        let shape = FactorShape { groups: 1, terms: entries.len(), columns, packed };
        let mut factors = ring.engine().zeroed_factors(shape, basis.indices());
        ring.engine().pack_factors(&mut factors, 0, &slots, &(0..basis.len()).collect::<Vec<_>>());
        Ok(Self {
            ring: ring.clone(),
            basis,
            level,
            gadget: gadget.clone(),
            inputs,
            digits,
            rank,
            seed,
            factors: Arc::new(factors),
            derived: Arc::default(),
        })
    }

    /// The arrangement of the packed residues of a key for `inputs` polynomials of levels up to `level`, with
    /// `columns` polynomials in each entry.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`]; [`LatticeError::KeyInputs`] for more inputs than memory can hold.
    pub fn layout_of(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        inputs: usize,
        columns: usize,
    ) -> Result<FactorLayout, LatticeError> {
        chain.check_level(level)?;
        let (ring, basis) = (chain.ring(), chain.key_basis(level));
        let terms = inputs.saturating_mul(gadget.digit_count(chain, level));
        let words = [columns, basis.len(), ring.degree()].into_iter().fold(terms, usize::saturating_mul);
        if words > isize::MAX as usize / 8 {
            return Err(LatticeError::KeyInputs { key_inputs: usize::MAX, inputs });
        }
        let shape = FactorShape { groups: 1, terms, columns, packed: true };
        Ok(FactorLayout::new(
            shape,
            ring.degree(),
            basis.indices().iter().map(|&index| (index, ring.moduli()[index].bits())),
        ))
    }

    /// The packed residues in the layout of [`clathrate_arith::factors`]. Bytes between and after the rows
    /// have no meaning.
    #[must_use]
    pub fn words(&self) -> Cow<'_, [u64]> {
        self.ring.engine().factor_words(&self.factors)
    }

    /// A key from its packed residues ([`SwitchKey::words`]), which may stay in a mapped file, and the seed
    /// of its masks, if there is one. Residues are not checked; if some are not reduced, switches give wrong
    /// results.
    ///
    /// # Errors
    /// As [`SwitchKey::layout_of`]; [`LatticeError::WordCount`] where the number of words differs;
    /// [`LatticeError::KeyInputs`] where there are no inputs or no bodies.
    pub fn from_words(
        (chain, gadget): (&Chain, &Gadget),
        level: Level,
        inputs: usize,
        (Rank(rank), columns): (Rank, usize),
        (seed, words): (Option<MaskSeed>, FileWords),
    ) -> Result<Self, LatticeError> {
        if inputs == 0 || rank == 0 || columns <= rank {
            return Err(LatticeError::KeyInputs { key_inputs: inputs, inputs: columns });
        }
        gadget.check_chain(chain)?;
        let layout = Self::layout_of(chain, gadget, level, inputs, columns)?;
        let (expected, found) = (layout.words(), words.len());
        if found != expected {
            return Err(LatticeError::WordCount { expected, found });
        }
        let (ring, basis) = (chain.ring(), chain.key_basis(level));
        let factors = ring.engine().adopt_factors(Factors::in_memory(layout, words.into()));
        Ok(Self {
            ring: ring.clone(),
            basis,
            level,
            gadget: gadget.clone(),
            inputs,
            digits: gadget.digit_count(chain, level),
            rank,
            seed,
            factors: Arc::new(factors),
            derived: Arc::default(),
        })
    }

    /// The highest level that the key serves.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The gadget that the key was made for.
    #[must_use]
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// The number `R` of polynomials that the key switches together.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Base digits per input.
    #[must_use]
    pub fn digit_count(&self) -> usize {
        self.digits
    }

    /// Rank of the result.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Bodies of the result.
    #[must_use]
    pub fn body_count(&self) -> usize {
        self.factors.shape().columns - self.rank
    }

    /// Polynomials of each entry: mask and bodies.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.factors.shape().columns
    }

    /// The seed of all masks; `None` for a combination of keys, which cannot be stored as a seed and bodies.
    #[must_use]
    pub fn seed(&self) -> Option<MaskSeed> {
        self.seed
    }

    /// Entry of input `i`, digit `j`, unpacked.
    #[must_use]
    pub fn entry(&self, i: usize, j: usize) -> Bundle<Eval> {
        let rows: Vec<usize> = (0..self.basis.len()).collect();
        let columns = 0..self.factors.shape().columns;
        let data =
            self.ring.engine().unpack_factors(&self.factors, 0, &[j * self.inputs + i], columns, &rows);
        Bundle::from_polys(Polys::from_buffer(&self.ring, &self.basis, data), self.rank)
            .expect("a key's entries are bundles")
    }

    /// All entries, input-major, unpacked.
    #[must_use]
    pub fn entries(&self) -> Vec<Bundle<Eval>> {
        (0..self.inputs)
            .flat_map(|i| (0..self.digits).map(move |j| (i, j)))
            .map(|(i, j)| self.entry(i, j))
            .collect()
    }

    /// The entries as packed factors, the layout that the engine reads.
    pub(super) fn factors(&self) -> &Arc<Factors> {
        &self.factors
    }

    /// The representations that have been derived from this key.
    #[must_use]
    pub fn derived(&self) -> &Arc<DerivedKeys> {
        &self.derived
    }

    /// Bytes of the key that is derived for `representation`; 0 where the generated key is used unchanged.
    pub(super) fn bytes_in(&self, representation: &KeyRepresentation) -> usize {
        representation.bytes_for(&self.ring, self.inputs, self.columns())
    }

    /// The key's basis: ciphertext primes up to its level, then special primes.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Bytes in memory of the generated key, with masks expanded and residues packed; derived representations
    /// are not counted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.factors.bytes()
    }
}
