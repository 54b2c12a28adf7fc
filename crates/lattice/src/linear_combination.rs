//! Sums of products of bundles with plaintext polynomials, each in one pass over the residues.
//!
//! ```text
//! sum_t p_t x_t        for bundles x_t of one rank and number of bodies and plaintexts p_t in Eval form
//! ```
//!
//! The products of all terms are summed lazily, prime by prime, so that no single product is stored.
//! Plaintexts are either polynomials of the bundles' ring ([`Bundle::linear_combination`]) or packed
//! polynomials of the bundles' ring or of a subring ([`Bundle::packed_combinations`]). All give the same
//! residues bit for bit.

use clathrate_arith::{ArithError, Factor2, PlaintextSum, Rows, RowsMut};

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::packed_plaintext::PackedPlaintexts;
use crate::poly::{Basis, Eval, Poly, Polys, PolysMut};
use crate::ring::Ring;

/// One linear combination with packed plaintexts: `sum_t x_(inputs[t]) * plaintexts[t]`.
#[derive(Debug, Clone, Copy)]
pub struct PackedCombination<'a> {
    /// The plaintexts.
    pub plaintexts: &'a PackedPlaintexts,
    /// For each plaintext, the index of the input that it multiplies. Several plaintexts may multiply the
    /// same input.
    pub inputs: &'a [usize],
}

impl Bundle<Eval> {
    /// `sum_t p_t x_t` in one pass. The plaintexts may be over further primes.
    ///
    /// Cost: one product for each term, polynomial and prime; no transforms.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without terms; [`LatticeError::BasisMismatch`] where a plaintext lacks a
    /// prime; [`LatticeError::RingMismatch`] where a plaintext is of another ring (subring plaintexts are
    /// packed first); as [`Bundle::check_same_shape`] where the bundles differ.
    pub fn linear_combination(terms: &[(&Self, &Poly<Eval>)]) -> Result<Self, LatticeError> {
        let (first, _) =
            terms.first().ok_or(LatticeError::EmptyShape { what: "the number of terms", got: 0 })?;
        let (ring, basis) = (first.ring(), first.basis());
        for (bundle, plaintext) in terms {
            first.check_same_shape(bundle)?;
            if !plaintext.ring().same_as(ring) {
                return Err(LatticeError::RingMismatch {
                    left: ring.degree(),
                    right: plaintext.ring().degree(),
                });
            }
        }
        let own: Vec<Poly<Eval>>;
        let mut plaintexts: Vec<&Poly<Eval>> = terms.iter().map(|&(_, plaintext)| plaintext).collect();
        // If all plaintexts are over the same primes, they are read in place; otherwise their rows modulo the
        // bundles' primes are copied.
        if plaintexts.iter().any(|plaintext| plaintext.basis() != plaintexts[0].basis()) {
            own = plaintexts.iter().map(|plaintext| plaintext.restrict(basis)).collect::<Result<_, _>>()?;
            plaintexts = own.iter().collect();
        }
        let known = plaintexts[0].basis();
        let rows = known
            .rows_of(basis.indices())
            .ok_or(LatticeError::BasisMismatch { left: known.len(), right: basis.len() })?;
        let factors = |poly| {
            terms.iter().zip(&plaintexts).map(|((x, _), p)| (x.view().at(poly).rows(), p.rows())).collect()
        };
        let factors: Vec<Vec<Factor2<'_>>> = (0..first.view().len()).map(factors).collect();
        let mut out = Polys::scratch(ring, basis, factors.len());
        ring.engine().dot_products(out.view_mut().into_rows(), &factors, &rows, basis.indices());
        Self::from_polys(out, first.rank())
    }

    /// Several linear combinations of the same bundles with packed plaintexts: `sum_t x_(inputs[t]) *
    /// plaintexts[t]` for each, in one pass over the bundles.
    ///
    /// Cost: as [`Bundle::linear_combination`] for each combination; plaintexts of a subring are read at
    /// their own degree.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without bundles; as [`Bundle::check_same_shape`] where they differ;
    /// [`LatticeError::InputOutOfRange`] where an index of a combination is out of range,
    /// [`ArithError::Shape`] where it does not have one index for each plaintext;
    /// [`LatticeError::BasisMismatch`] where plaintexts lack a prime; [`LatticeError::RingMismatch`],
    /// [`LatticeError::DegreeChange`] where the plaintexts belong to no subring of the bundles' ring.
    pub fn packed_combinations(
        bundles: &[&Self],
        combinations: &[PackedCombination<'_>],
    ) -> Result<Vec<Self>, LatticeError> {
        let first =
            bundles.first().ok_or(LatticeError::EmptyShape { what: "the number of inputs", got: 0 })?;
        bundles.iter().try_for_each(|bundle| first.check_same_shape(bundle))?;
        combine_packed(first.basis(), bundles, combinations)
    }

    /// `self * p` for the one packed plaintext `p` in `plaintext`.
    pub fn mul_packed(&self, plaintext: &PackedPlaintexts) -> Result<Self, LatticeError> {
        Ok(Self::packed_combinations(&[self], &[PackedCombination { plaintexts: plaintext, inputs: &[0] }])?
            .swap_remove(0))
    }
}

/// Linear combinations over `basis` of one or more bundles of the same rank and number of bodies. A bundle
/// over only the first primes of `basis` counts as zero modulo the other primes.
pub(crate) fn combine_packed(
    basis: &Basis,
    bundles: &[&Bundle<Eval>],
    combinations: &[PackedCombination<'_>],
) -> Result<Vec<Bundle<Eval>>, LatticeError> {
    let first = bundles.first().ok_or(LatticeError::EmptyShape { what: "the number of inputs", got: 0 })?;
    let ring = first.ring();
    let rows = check_combinations(ring, basis, bundles.len(), combinations)?;
    let sums: Vec<PlaintextSum<'_>> = combinations
        .iter()
        .zip(&rows)
        .map(|(combination, rows)| PlaintextSum {
            plaintexts: combination.plaintexts.factors(),
            rows,
            inputs: combination.inputs,
        })
        .collect();
    let mut out: Vec<Polys<Eval>> =
        combinations.iter().map(|_| Polys::scratch(ring, basis, first.view().len())).collect();
    let xs: Vec<Rows<'_>> = bundles.iter().map(|bundle| bundle.view().rows()).collect();
    let mut targets: Vec<RowsMut<'_>> =
        out.iter_mut().map(Polys::view_mut).map(PolysMut::into_rows).collect();
    ring.engine().plaintext_products(&mut targets, &xs, &sums, basis.indices());
    out.into_iter().map(|polys| Bundle::from_polys(polys, first.rank())).collect()
}

/// Refuses combinations that do not fit bundles of `ring` over `basis`. Returns, for each combination, the
/// rows of its plaintexts for the primes of `basis`.
pub(crate) fn check_combinations(
    ring: &Ring,
    basis: &Basis,
    inputs: usize,
    combinations: &[PackedCombination<'_>],
) -> Result<Vec<Vec<usize>>, LatticeError> {
    let mut rows = Vec::with_capacity(combinations.len());
    for PackedCombination { plaintexts, inputs: named } in combinations {
        ring.check_subring(plaintexts.ring())?;
        if named.len() != plaintexts.len() {
            let what = "inputs that a linear combination names for its plaintexts";
            return Err(ArithError::Shape { what, expected: plaintexts.len(), got: named.len() }.into());
        }
        if let Some(&input) = named.iter().find(|&&input| input >= inputs) {
            return Err(LatticeError::InputOutOfRange { input, inputs });
        }
        let mismatch = LatticeError::BasisMismatch { left: basis.len(), right: plaintexts.basis().len() };
        rows.push(plaintexts.basis().rows_of(basis.indices()).ok_or(mismatch)?);
    }
    Ok(rows)
}
