//! Sums of products of bundles with plaintext polynomials, each in one pass over the residues.
//!
//! ```text
//! sum_t p_t x_t        for bundles x_t of one rank and number of bodies and plaintexts p_t in Eval form
//! ```
//!
//! The products of all terms are accumulated without reductions in between, prime by prime, so that no product exists as a whole. Plaintexts are
//! polynomials ([`Bundle::linear_combination`]), or they are packed, and then of the bundles' ring or of a subring
//! ([`Bundle::packed_combinations`]). All ways give the same residues bit for bit.

use std::borrow::Cow;

use clathrate_arith::{ArithError, Buffer, PlaintextSum};

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::packed_plaintext::PackedPlaintexts;
use crate::poly::{Basis, Eval, Poly};

/// One linear combination with packed plaintexts: `sum_t x_(inputs[t]) * plaintexts[t]`.
#[derive(Debug, Clone, Copy)]
pub struct PackedCombination<'a> {
    /// The plaintexts.
    pub plaintexts: &'a PackedPlaintexts,
    /// For each plaintext, the index of the input that it multiplies. Several plaintexts may multiply the same input.
    pub inputs: &'a [usize],
}

impl Bundle<Eval> {
    /// `sum_t p_t x_t` in one pass. The plaintexts may be over further primes.
    ///
    /// Cost: one product for each term, polynomial and prime; no transforms.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without terms; [`LatticeError::BasisMismatch`] where a plaintext lacks a prime; [`LatticeError::RingMismatch`] where a
    /// plaintext is of another ring (subring plaintexts are packed first); as [`Bundle::check_same_shape`] where the bundles differ.
    pub fn linear_combination(terms: &[(&Self, &Poly<Eval>)]) -> Result<Self, LatticeError> {
        let (first, _) = terms.first().ok_or(LatticeError::EmptyShape { what: "the number of terms", got: 0 })?;
        let (ring, basis) = (first.ring(), first.basis());
        let mut plaintexts = Vec::with_capacity(terms.len());
        for (bundle, plaintext) in terms {
            first.check_same_shape(bundle)?;
            if !plaintext.ring().same_as(ring) {
                return Err(LatticeError::RingMismatch { left: ring.degree(), right: plaintext.ring().degree() });
            }
            plaintexts.push(if plaintext.basis() == basis { Cow::Borrowed(*plaintext) } else { Cow::Owned(plaintext.restrict(basis)?) });
        }
        let polys = first.rank() + first.body_count();
        let mut columns: Vec<Vec<&Buffer>> = (0..polys).map(|_| Vec::with_capacity(terms.len())).collect();
        for (bundle, _) in terms {
            columns.iter_mut().zip(bundle.polys()).for_each(|(column, poly)| column.push(poly.data()));
        }
        let mut out: Vec<Buffer> = (0..polys).map(|_| ring.engine().scratch(basis.len())).collect();
        let left: Vec<&Buffer> = plaintexts.iter().map(|plaintext| plaintext.data()).collect();
        let rows: Vec<usize> = (0..basis.len()).collect();
        ring.engine().inner_products(&mut out, &left, &columns, &rows, basis.indices());
        first.with_polys(basis, out)
    }

    /// Several linear combinations of the same bundles with packed plaintexts: `sum_t x_(inputs[t]) * plaintexts[t]` for each, in one pass over the bundles.
    ///
    /// Cost: as [`Bundle::linear_combination`] for each combination; plaintexts of a subring are read at their own degree.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without bundles; as [`Bundle::check_same_shape`] where they differ; [`LatticeError::InputOutOfRange`] where a
    /// combination names a bundle that is not there, [`ArithError::Shape`] where it does not name one for each plaintext; [`LatticeError::BasisMismatch`]
    /// where plaintexts lack a prime; [`LatticeError::RingMismatch`], [`LatticeError::DegreeChange`] where they belong to no subring of the bundles' ring.
    pub fn packed_combinations(bundles: &[&Self], combinations: &[PackedCombination<'_>]) -> Result<Vec<Self>, LatticeError> {
        let first = bundles.first().ok_or(LatticeError::EmptyShape { what: "the number of inputs", got: 0 })?;
        bundles.iter().try_for_each(|bundle| first.check_same_shape(bundle))?;
        combine_packed(first.basis(), bundles, combinations)
    }

    /// `self * p` for a packed plaintext: the only one of `plaintext`.
    ///
    /// # Errors
    /// As [`Bundle::packed_combinations`].
    pub fn mul_packed(&self, plaintext: &PackedPlaintexts) -> Result<Self, LatticeError> {
        Ok(Self::packed_combinations(&[self], &[PackedCombination { plaintexts: plaintext, inputs: &[0] }])?.swap_remove(0))
    }

    /// A bundle of this one's shape with the given polynomials, mask first.
    fn with_polys(&self, basis: &Basis, polys: Vec<Buffer>) -> Result<Self, LatticeError> {
        let mut polys = polys.into_iter().map(|data| Poly::from_buffer(self.ring(), basis, data));
        let mask = polys.by_ref().take(self.rank()).collect();
        Self::new(mask, polys.collect())
    }
}

/// Linear combinations over `basis` of bundles of one rank and number of bodies, at least one. A bundle is over `basis` or over its first primes; then it
/// is zero modulo the others.
pub(crate) fn combine_packed(
    basis: &Basis,
    bundles: &[&Bundle<Eval>],
    combinations: &[PackedCombination<'_>],
) -> Result<Vec<Bundle<Eval>>, LatticeError> {
    let first = bundles.first().ok_or(LatticeError::EmptyShape { what: "the number of inputs", got: 0 })?;
    let ring = first.ring();
    let mut rows = Vec::with_capacity(combinations.len());
    for PackedCombination { plaintexts, inputs } in combinations {
        ring.check_subring(plaintexts.ring())?;
        if inputs.len() != plaintexts.len() {
            let what = "inputs that a linear combination names for its plaintexts";
            return Err(ArithError::Shape { what, expected: plaintexts.len(), got: inputs.len() }.into());
        }
        if let Some(&input) = inputs.iter().find(|&&input| input >= bundles.len()) {
            return Err(LatticeError::InputOutOfRange { input, inputs: bundles.len() });
        }
        let mismatch = LatticeError::BasisMismatch { left: basis.len(), right: plaintexts.basis().len() };
        rows.push(plaintexts.basis().rows_of(basis.indices()).ok_or(mismatch)?);
    }
    let sums: Vec<PlaintextSum<'_>> = combinations
        .iter()
        .zip(&rows)
        .map(|(combination, rows)| PlaintextSum { plaintexts: combination.plaintexts.factors(), rows, inputs: combination.inputs })
        .collect();
    let polys = first.rank() + first.body_count();
    let scratch = || (0..polys).map(|_| ring.engine().scratch(basis.len())).collect();
    let mut out: Vec<Vec<Buffer>> = combinations.iter().map(|_| scratch()).collect();
    let xs: Vec<Vec<&Buffer>> = bundles.iter().map(|bundle| bundle.polys().map(Poly::data).collect()).collect();
    ring.engine().plaintext_products(&mut out, &xs, &sums, basis.indices());
    out.into_iter().map(|polys| first.with_polys(basis, polys)).collect()
}
