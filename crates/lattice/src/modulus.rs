//! Moves of the modulus: exact rounding division (rescale, mod-down) and dropping primes.
//!
//! Dividing by a product `D` of primes of the basis is one idea with two names: by the last step it is a rescale, by the
//! special primes it ends a switch, by both at once it is a fused end of a multiplication.
//!
//! ```text
//! round(x / D) = (x - [x]_D) / D mod Q',     [x]_D centred in [-D/2, D/2]
//! ```

use clathrate_arith::{BaseConversion, Buffer, Dividend, Rounding};

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly};
use crate::ring::Ring;

/// Precomputed division by a product of primes.
#[derive(Debug, Clone)]
pub struct Division {
    ring: Ring,
    divisors: Basis,
    kept: Basis,
    conversion: BaseConversion,
    /// `-1 / D` modulo each kept prime: the remainder's buffer takes the result, so it is `(remainder - x) * (-1/D)`.
    negative_inverse: Vec<u64>,
}

impl Division {
    /// Division by the product of `divisors`, leaving `kept`.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the two share a prime or the ring lacks one; [`LatticeError::EmptyShape`] where one is
    /// empty.
    pub fn new(ring: &Ring, divisors: &Basis, kept: &Basis) -> Result<Self, LatticeError> {
        divisors.check(ring)?;
        kept.check(ring)?;
        let clash = LatticeError::BasisMismatch { left: divisors.len(), right: kept.len() };
        let moduli = ring.moduli();
        let ones = vec![1; divisors.len()];
        let conversion = BaseConversion::new(moduli, divisors.indices(), kept.indices(), &ones, Rounding::Centred).ok_or(clash.clone())?;
        let negative_inverse = kept
            .indices()
            .iter()
            .map(|&k| {
                let modulus = &moduli[k];
                let product = divisors.indices().iter().fold(1, |product, &d| modulus.mul(product, moduli[d].value()));
                modulus.inverse(product).map(|inverse| modulus.neg(inverse))
            })
            .collect::<Option<Vec<_>>>()
            .ok_or(clash)?;
        Ok(Self { ring: ring.clone(), divisors: divisors.clone(), kept: kept.clone(), conversion, negative_inverse })
    }

    /// The primes that remain.
    #[must_use]
    pub fn kept(&self) -> &Basis {
        &self.kept
    }

    fn check_ring<D: Domain>(&self, x: &Poly<D>) -> Result<(), LatticeError> {
        if self.ring.same_as(x.ring()) {
            return Ok(());
        }
        Err(LatticeError::RingMismatch { left: self.ring.degree(), right: x.ring().degree() })
    }

    fn mismatch(&self, basis: &Basis) -> LatticeError {
        LatticeError::BasisMismatch { left: basis.len(), right: self.divisors.len() + self.kept.len() }
    }

    /// Where the kept primes are in `x`, and a copy of the rows of the divisors.
    fn split<D: Domain>(&self, x: &Poly<D>) -> Result<(Vec<usize>, Buffer), LatticeError> {
        self.check_ring(x)?;
        let kept = x.basis().rows_of(self.kept.indices()).ok_or_else(|| self.mismatch(x.basis()))?;
        let divisors = x.basis().rows_of(self.divisors.indices()).ok_or_else(|| self.mismatch(x.basis()))?;
        Ok((kept, x.data().select(&divisors)))
    }

    /// `round(x / D)` in Coeff form. Cost: no transforms.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide_coeff(&self, x: &Poly<Coeff>) -> Result<Poly<Coeff>, LatticeError> {
        let (kept, divisors) = self.split(x)?;
        let x = Dividend { residues: x.data(), rows: &kept };
        let quotient = self.ring.engine().divide(&self.conversion, &divisors, Some(x), None, &self.negative_inverse, false);
        Ok(Poly::from_buffer(&self.ring, &self.kept, quotient))
    }

    /// `round(x / D)` in Eval form. Cost: one inverse transform per divisor, one forward transform per kept prime.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide_eval(&self, x: &Poly<Eval>) -> Result<Poly<Eval>, LatticeError> {
        let (kept, mut divisors) = self.split(x)?;
        let engine = self.ring.engine();
        engine.inverse_ntt(&mut divisors, 0..self.divisors.len(), self.divisors.indices());
        let x = Dividend { residues: x.data(), rows: &kept };
        let quotient = engine.divide(&self.conversion, &divisors, None, Some(x), &self.negative_inverse, true);
        Ok(Poly::from_buffer(&self.ring, &self.kept, quotient))
    }

    /// `round((x + y) / D)` in Eval form, from a part in Coeff and a part in Eval form; `y` is zero modulo the divisors it lacks. Cost:
    /// one inverse transform per divisor that `y` has, one forward transform per kept prime.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes, or `y` a kept one; [`LatticeError::RingMismatch`].
    pub fn divide_parts(&self, x: &Poly<Coeff>, y: Option<&Poly<Eval>>) -> Result<Poly<Eval>, LatticeError> {
        let (kept, mut divisors) = self.split(x)?;
        let engine = self.ring.engine();
        let places: Vec<(usize, usize)> = match y {
            None => Vec::new(),
            Some(y) => {
                self.check_ring(y)?;
                self.divisors.indices().iter().enumerate().filter_map(|(row, &i)| Some((row, y.basis().row_of(i)?))).collect()
            }
        };
        if let (Some(y), false) = (y, places.is_empty()) {
            let moduli: Vec<usize> = places.iter().map(|&(row, _)| self.divisors.indices()[row]).collect();
            let mut own = y.data().select(&places.iter().map(|&(_, row)| row).collect::<Vec<_>>());
            engine.inverse_ntt(&mut own, 0..moduli.len(), &moduli);
            let mut sums = divisors.select(&places.iter().map(|&(row, _)| row).collect::<Vec<_>>());
            engine.add_assign(&mut sums, &own, &moduli);
            for (i, &(row, _)) in places.iter().enumerate() {
                divisors.row_mut(row).copy_from_slice(sums.row(i));
            }
        }
        let rows = match y {
            None => Vec::new(),
            Some(y) => y.basis().rows_of(self.kept.indices()).ok_or_else(|| self.mismatch(y.basis()))?,
        };
        let x = Dividend { residues: x.data(), rows: &kept };
        let y = y.map(|y| Dividend { residues: y.data(), rows: &rows });
        let quotient = engine.divide(&self.conversion, &divisors, Some(x), y, &self.negative_inverse, true);
        Ok(Poly::from_buffer(&self.ring, &self.kept, quotient))
    }
}

impl Chain {
    /// The division that a rescale from `level` does.
    ///
    /// # Errors
    /// [`LatticeError::NoLevelLeft`] at level 0; [`LatticeError::LevelOutOfRange`].
    pub fn rescale_division(&self, level: Level) -> Result<Division, LatticeError> {
        self.check_level(level)?;
        let below = level.0.checked_sub(1).ok_or(LatticeError::NoLevelLeft)?;
        Division::new(self.ring(), &Basis::new(self.step(level)), &self.basis(Level(below)))
    }
}

impl Bundle<Eval> {
    /// `round(self / D)` for every polynomial: a rescale or a mod-down.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the bundle lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide(&self, division: &Division) -> Result<Self, LatticeError> {
        self.try_map(|poly| division.divide_eval(poly))
    }
}

impl Bundle<Coeff> {
    /// `round(self / D)` for every polynomial, in Coeff form.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the bundle lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide(&self, division: &Division) -> Result<Self, LatticeError> {
        self.try_map(|poly| division.divide_coeff(poly))
    }
}
