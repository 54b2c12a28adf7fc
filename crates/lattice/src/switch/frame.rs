//! The extended modulus `P Q_l`, modulo which a switch computes its products, and the divisions by `P` that
//! end the switch.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::modulus::Division;
use crate::poly::{Basis, Domain, Eval, Polys, PolysMut, PolysRef};
use crate::ring::Ring;

/// The extended modulus `P Q_l`: a level's primes and some special primes.
#[derive(Debug)]
pub struct Frame {
    ring: Ring,
    level: Level,
    basis: Basis,
    special: Basis,
    extended: Basis,
    /// `P` modulo the level's primes.
    special_product: Vec<u64>,
    /// The primes of the level's last step, and the primes of the level below.
    step: Option<(Basis, Basis)>,
    mod_down: Division,
    mod_down_rescale: OnceLock<Result<Division, LatticeError>>,
}

impl Frame {
    /// The frame of `level` with the special primes `special`.
    pub(super) fn new(chain: &Chain, level: Level, special: Basis) -> Result<Self, LatticeError> {
        let step =
            level.0.checked_sub(1).map(|below| (Basis::new(chain.step(level)), chain.basis(Level(below))));
        Self::with_step(chain.ring(), level, chain.basis(level), special, step)
    }

    fn with_step(
        ring: &Ring,
        level: Level,
        basis: Basis,
        special: Basis,
        step: Option<(Basis, Basis)>,
    ) -> Result<Self, LatticeError> {
        let special_product = product_of(ring, &special, &basis);
        let (extended, mod_down) = (basis.join(&special), Division::new(ring, &special, &basis)?);
        let ring = ring.clone();
        Ok(Self {
            ring,
            level,
            basis,
            special,
            extended,
            special_product,
            step,
            mod_down,
            mod_down_rescale: OnceLock::new(),
        })
    }

    /// The frame of the same level with the special primes of both frames.
    pub(super) fn join(&self, other: &Self) -> Result<Self, LatticeError> {
        if !self.ring.same_as(&other.ring) {
            return Err(LatticeError::RingMismatch { left: self.ring.degree(), right: other.ring.degree() });
        }
        if self.basis != other.basis {
            return Err(LatticeError::BasisMismatch { left: self.basis.len(), right: other.basis.len() });
        }
        let mut special: Vec<usize> =
            self.special.indices().iter().chain(other.special.indices()).copied().collect();
        special.sort_unstable();
        special.dedup();
        Self::with_step(&self.ring, self.level, self.basis.clone(), Basis::new(special), self.step.clone())
    }

    /// Whether this frame has all special primes of `other`, at the same level of the same ring.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        self.ring.same_as(&other.ring)
            && self.basis == other.basis
            && self.special.rows_of(other.special.indices()).is_some()
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// `P` modulo each of the level's primes.
    pub(super) fn special_product(&self) -> &[u64] {
        &self.special_product
    }

    /// The level's ciphertext primes.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The special primes.
    #[must_use]
    pub fn special(&self) -> &Basis {
        &self.special
    }

    /// Ciphertext primes, then special primes.
    #[must_use]
    pub fn extended(&self) -> &Basis {
        &self.extended
    }

    /// Division by the special modulus.
    #[must_use]
    pub fn mod_down(&self) -> &Division {
        &self.mod_down
    }

    /// Division by the special modulus and the last step together.
    ///
    /// # Errors
    /// [`LatticeError::NoLevelLeft`] at level 0.
    pub fn mod_down_rescale(&self) -> Result<&Division, LatticeError> {
        let made = self.mod_down_rescale.get_or_init(|| {
            let (step, kept) = self.step.as_ref().ok_or(LatticeError::NoLevelLeft)?;
            Division::new(&self.ring, &step.join(&self.special), kept)
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// `sum <- sum + P x`. Only the level's rows change, because `P x` is zero modulo the special primes.
    pub(crate) fn add_lifted(&self, sum: PolysMut<'_, Eval>, x: PolysRef<'_, Eval>) {
        self.ring.engine().add_mul_constants_assign(
            sum.into_rows(),
            x.rows(),
            &self.special_product,
            self.basis.indices(),
        );
    }

    /// Extends a bundle over the level's primes, and possibly some of the special primes, to the extended
    /// basis; the new rows are zero.
    pub(super) fn widen<'a, D: Domain>(&self, x: &'a Bundle<D>) -> Result<Cow<'a, Bundle<D>>, LatticeError> {
        if *x.basis() == self.extended {
            return Ok(Cow::Borrowed(x));
        }
        Bundle::from_polys(self.widen_polys(x.view())?, x.rank()).map(Cow::Owned)
    }

    /// Extends polynomials over a part of the extended basis to the extended basis; the new rows are zero.
    pub(super) fn widen_polys<D: Domain>(&self, x: PolysRef<'_, D>) -> Result<Polys<D>, LatticeError> {
        if *x.basis() == self.extended {
            return Ok(x.to_owned());
        }
        let mut wide = Polys::zero(&self.ring, &self.extended, x.len());
        let mismatch = LatticeError::BasisMismatch { left: x.basis().len(), right: self.extended.len() };
        let places = self.extended.rows_of(x.basis().indices()).ok_or(mismatch)?;
        let targets = wide.view().repeated(&places);
        let rows: Vec<usize> = (0..targets.len()).collect();
        self.ring.engine().copy_rows(wide.view_mut().into_rows(), &targets, x.rows(), &rows);
        Ok(wide)
    }

    /// Multiplies a bundle of `narrow`, a frame with fewer special primes, by the product of the special
    /// primes that `narrow` lacks. The result keeps the bundle's basis, because it is zero modulo the missing
    /// primes.
    pub(super) fn lift<D: Domain>(&self, narrow: &Self, mut x: Bundle<D>) -> Bundle<D> {
        let lacking = Basis::new(
            self.special.indices().iter().copied().filter(|&i| narrow.special.row_of(i).is_none()),
        );
        let factors = product_of(&self.ring, &lacking, x.basis());
        x.mul_constants_assign(&factors);
        x
    }
}

/// The product of `primes` modulo each prime of `basis`.
fn product_of(ring: &Ring, primes: &Basis, basis: &Basis) -> Vec<u64> {
    let moduli = ring.moduli();
    basis
        .indices()
        .iter()
        .map(|&i| primes.indices().iter().fold(1, |product, &p| moduli[i].mul(product, moduli[p].value())))
        .collect()
}
