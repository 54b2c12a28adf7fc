//! Moves of the modulus: exact rounding division (rescale, mod-down) and dropping primes.
//!
//! A rescale divides by the primes of the last step, the mod-down of a switch divides by the special primes,
//! and a relinearisation with a rescale divides by both at once. All are the same operation: division by a
//! product `D` of primes of the basis.
//!
//! ```text
//! round(x / D) = (x - [x]_D) / D mod Q',     [x]_D centred in [-D/2, D/2]
//! ```

use clathrate_arith::{BaseConversion, Buffer, Dividend, DivisionInput, Rounding};

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly, PolyRef, Polys, PolysRef};
use crate::ring::Ring;

/// Precomputed division by a product of primes.
#[derive(Debug, Clone)]
pub struct Division {
    ring: Ring,
    divisors: Basis,
    kept: Basis,
    conversion: BaseConversion,
    /// `-1 / D` modulo each kept prime. The quotient is computed as `(remainder - x) * (-1/D)`, so that it
    /// can overwrite the remainder's buffer.
    negative_inverse: Vec<u64>,
}

/// Polynomials to be divided, each the sum of a part in Coeff form and a part in Eval form; one of the parts
/// may be missing.
#[derive(Debug, Clone, Copy)]
enum Parts<'a> {
    Coeff(PolysRef<'a, Coeff>),
    Eval(PolysRef<'a, Eval>),
    Both(PolysRef<'a, Coeff>, PolysRef<'a, Eval>),
}

impl<'a> Parts<'a> {
    fn coeff(self) -> Option<PolysRef<'a, Coeff>> {
        match self {
            Self::Coeff(x) | Self::Both(x, _) => Some(x),
            Self::Eval(_) => None,
        }
    }

    fn eval(self) -> Option<PolysRef<'a, Eval>> {
        match self {
            Self::Eval(x) | Self::Both(_, x) => Some(x),
            Self::Coeff(_) => None,
        }
    }
}

impl Division {
    /// Division by the product of `divisors`, with a quotient over `kept`.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the bases share a prime or the ring lacks a prime;
    /// [`LatticeError::EmptyShape`] where a basis is empty.
    pub fn new(ring: &Ring, divisors: &Basis, kept: &Basis) -> Result<Self, LatticeError> {
        divisors.check(ring)?;
        kept.check(ring)?;
        let clash = LatticeError::BasisMismatch { left: divisors.len(), right: kept.len() };
        let moduli = ring.moduli();
        let ones = vec![1; divisors.len()];
        let conversion = ring
            .engine()
            .base_conversion(divisors.indices(), kept.indices(), &ones, Rounding::Centred)
            .ok_or(clash.clone())?;
        let negative_inverse = kept
            .indices()
            .iter()
            .map(|&k| {
                let modulus = &moduli[k];
                let product =
                    divisors.indices().iter().fold(1, |product, &d| modulus.mul(product, moduli[d].value()));
                modulus.inverse(product).map(|inverse| modulus.neg(inverse))
            })
            .collect::<Option<Vec<_>>>()
            .ok_or(clash)?;
        Ok(Self {
            ring: ring.clone(),
            divisors: divisors.clone(),
            kept: kept.clone(),
            conversion,
            negative_inverse,
        })
    }

    /// The primes that remain.
    #[must_use]
    pub fn kept(&self) -> &Basis {
        &self.kept
    }

    fn mismatch(&self, basis: &Basis) -> LatticeError {
        LatticeError::BasisMismatch { left: basis.len(), right: self.divisors.len() + self.kept.len() }
    }

    /// The rows of the kept primes in each polynomial of `x`.
    fn kept_rows<D: Domain>(&self, x: PolysRef<'_, D>) -> Result<Vec<usize>, LatticeError> {
        if !self.ring.same_as(x.ring()) {
            return Err(LatticeError::RingMismatch { left: self.ring.degree(), right: x.ring().degree() });
        }
        x.basis().rows_of(self.kept.indices()).ok_or_else(|| self.mismatch(x.basis()))
    }

    /// A copy of the rows of the divisors in all polynomials.
    fn divisor_rows<D: Domain>(&self, x: PolysRef<'_, D>) -> Result<Buffer, LatticeError> {
        let rows = x.basis().rows_of(self.divisors.indices()).ok_or_else(|| self.mismatch(x.basis()))?;
        Ok(self.ring.engine().select(x.rows(), &x.repeated(&rows)))
    }

    /// `x <- x + y` modulo the divisors that `y` has; `x` holds the rows of the divisors.
    fn add_divisor_rows(&self, x: &mut Buffer, y: PolysRef<'_, Eval>) {
        let engine = self.ring.engine();
        let places = self
            .divisors
            .indices()
            .iter()
            .enumerate()
            .filter_map(|(row, &index)| Some((row, y.basis().row_of(index)?)));
        let (rows, others): (Vec<usize>, Vec<usize>) = places.unzip();
        if rows.is_empty() {
            return;
        }
        let moduli: Vec<usize> = rows.iter().map(|&row| self.divisors.indices()[row]).collect();
        let rows: Vec<usize> = (0..y.len())
            .flat_map(|poly| rows.iter().map(move |row| poly * self.divisors.len() + row))
            .collect();
        let mut own = engine.select(y.rows(), &y.repeated(&others));
        engine.inverse_ntt(own.view_mut(), &moduli);
        let mut sums = engine.select(x.view(), &rows);
        engine.add_assign(sums.view_mut(), own.view(), &moduli);
        engine.copy_rows(x.view_mut(), &rows, sums.view(), &(0..rows.len()).collect::<Vec<_>>());
    }

    /// The quotients of several polynomials, in Eval form if `transform`. The engine divides all of them at
    /// one prime before the next. Refuses parts that lack a prime.
    fn quotients(&self, parts: Parts<'_>, transform: bool) -> Result<Buffer, LatticeError> {
        let coeff_rows = parts.coeff().map(|x| self.kept_rows(x)).transpose()?.unwrap_or_default();
        let eval_rows = parts.eval().map(|x| self.kept_rows(x)).transpose()?.unwrap_or_default();
        let engine = self.ring.engine();
        let divisors = match parts {
            Parts::Coeff(x) => self.divisor_rows(x)?,
            Parts::Both(x, y) => {
                let mut divisors = self.divisor_rows(x)?;
                self.add_divisor_rows(&mut divisors, y);
                divisors
            }
            Parts::Eval(x) => {
                let mut divisors = self.divisor_rows(x)?;
                engine.inverse_ntt(divisors.view_mut(), self.divisors.indices());
                divisors
            }
        };
        let inputs: Vec<DivisionInput<'_>> = divisors
            .view()
            .chunks(self.divisors.len())
            .enumerate()
            .map(|(i, divisors)| DivisionInput {
                divisors,
                coeff: parts.coeff().map(|x| Dividend { residues: x.at(i).rows(), rows: &coeff_rows }),
                eval: parts.eval().map(|x| Dividend { residues: x.at(i).rows(), rows: &eval_rows }),
            })
            .collect();
        Ok(engine.divide_all(&self.conversion, &inputs, &self.negative_inverse, transform))
    }

    /// `round(x / D)` in Coeff form. Cost: no transforms.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide_coeff<'a>(&self, x: impl Into<PolyRef<'a, Coeff>>) -> Result<Poly<Coeff>, LatticeError> {
        Ok(Poly::from_buffer(&self.ring, &self.kept, self.quotients(Parts::Coeff(x.into().into()), false)?))
    }

    /// As [`Division::divide_coeff`], for several polynomials together.
    pub fn divide_coeffs(&self, x: PolysRef<'_, Coeff>) -> Result<Polys<Coeff>, LatticeError> {
        Ok(Polys::from_buffer(&self.ring, &self.kept, self.quotients(Parts::Coeff(x), false)?))
    }

    /// `round(x / D)` in Eval form. Cost: one inverse transform per divisor, one forward transform per kept
    /// prime.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide_eval<'a>(&self, x: impl Into<PolyRef<'a, Eval>>) -> Result<Poly<Eval>, LatticeError> {
        Ok(Poly::from_buffer(&self.ring, &self.kept, self.quotients(Parts::Eval(x.into().into()), true)?))
    }

    /// As [`Division::divide_eval`], for several polynomials together.
    pub fn divide_evals(&self, x: PolysRef<'_, Eval>) -> Result<Polys<Eval>, LatticeError> {
        Ok(Polys::from_buffer(&self.ring, &self.kept, self.quotients(Parts::Eval(x), true)?))
    }

    /// `round((x + y) / D)` in Eval form for every polynomial, from a part in Coeff form and a part in Eval
    /// form. `y` counts as zero modulo divisors that it lacks. Cost for each polynomial: one inverse
    /// transform per divisor that `y` has, one forward transform per kept prime.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes, or `y` lacks a kept prime;
    /// [`LatticeError::RingMismatch`]; [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where
    /// the shapes differ.
    pub fn divide_parts(
        &self,
        x: &Bundle<Coeff>,
        y: Option<&Bundle<Eval>>,
    ) -> Result<Bundle<Eval>, LatticeError> {
        if let Some(y) = y.filter(|y| y.rank() != x.rank()) {
            return Err(LatticeError::RankMismatch { left: x.rank(), right: y.rank() });
        }
        if let Some(y) = y.filter(|y| y.body_count() != x.body_count()) {
            return Err(LatticeError::BodiesMismatch { left: x.body_count(), right: y.body_count() });
        }
        self.bundle(x.rank(), y.map_or(Parts::Coeff(x.view()), |y| Parts::Both(x.view(), y.view())), true)
    }

    fn bundle<D: Domain>(
        &self,
        rank: usize,
        parts: Parts<'_>,
        transform: bool,
    ) -> Result<Bundle<D>, LatticeError> {
        let quotients = self.quotients(parts, transform)?;
        Bundle::from_polys(Polys::from_buffer(&self.ring, &self.kept, quotients), rank)
    }
}

impl Chain {
    /// The division of a rescale from `level`.
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
    /// [`LatticeError::BasisMismatch`] where the bundle lacks one of the primes;
    /// [`LatticeError::RingMismatch`].
    pub fn divide(&self, division: &Division) -> Result<Self, LatticeError> {
        division.bundle(self.rank(), Parts::Eval(self.view()), true)
    }
}

impl Bundle<Coeff> {
    /// `round(self / D)` for every polynomial, in Coeff form.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the bundle lacks one of the primes;
    /// [`LatticeError::RingMismatch`].
    pub fn divide(&self, division: &Division) -> Result<Self, LatticeError> {
        division.bundle(self.rank(), Parts::Coeff(self.view()), false)
    }
}
