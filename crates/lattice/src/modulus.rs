//! Moves of the modulus: exact rounding division (rescale, mod-down) and dropping primes.
//!
//! Dividing by a product `D` of primes of the basis is one idea with two names: by the last step it is a rescale, by the
//! special primes it ends a switch, by both at once it is a fused end of a multiplication.
//!
//! ```text
//! round(x / D) = (x - [x]_D) / D mod Q',     [x]_D centred in [-D/2, D/2]
//! ```

use clathrate_arith::{BaseConversion, Buffer, Dividend, DivisionInput, Rounding};

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

/// A polynomial to be divided: the sum of the parts that are there.
#[derive(Debug, Clone, Copy)]
struct Parts<'a> {
    coeff: Option<&'a Poly<Coeff>>,
    eval: Option<&'a Poly<Eval>>,
}

/// The same, and where its rows are.
struct Split<'a> {
    parts: Parts<'a>,
    /// Its rows modulo the divisors, in Coeff form.
    divisors: Buffer,
    /// The rows of the kept primes.
    coeff_rows: Vec<usize>,
    eval_rows: Vec<usize>,
}

impl Split<'_> {
    fn input(&self) -> DivisionInput<'_> {
        DivisionInput {
            divisors: &self.divisors,
            coeff: self.parts.coeff.map(|x| Dividend { residues: x.data(), rows: &self.coeff_rows }),
            eval: self.parts.eval.map(|x| Dividend { residues: x.data(), rows: &self.eval_rows }),
        }
    }
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

    /// The rows of the kept primes in `x`.
    fn kept_rows<D: Domain>(&self, x: &Poly<D>) -> Result<Vec<usize>, LatticeError> {
        self.check_ring(x)?;
        x.basis().rows_of(self.kept.indices()).ok_or_else(|| self.mismatch(x.basis()))
    }

    /// A copy of the rows of the divisors.
    fn divisor_rows<D: Domain>(&self, x: &Poly<D>) -> Result<Buffer, LatticeError> {
        let rows = x.basis().rows_of(self.divisors.indices()).ok_or_else(|| self.mismatch(x.basis()))?;
        Ok(x.data().select(&rows))
    }

    /// `x <- x + y` modulo the divisors that `y` has.
    fn add_divisor_rows(&self, x: &mut Buffer, y: &Poly<Eval>) {
        let engine = self.ring.engine();
        let places = self.divisors.indices().iter().enumerate().filter_map(|(row, &index)| Some((row, y.basis().row_of(index)?)));
        let (rows, others): (Vec<usize>, Vec<usize>) = places.unzip();
        if rows.is_empty() {
            return;
        }
        let moduli: Vec<usize> = rows.iter().map(|&row| self.divisors.indices()[row]).collect();
        let mut own = y.data().select(&others);
        engine.inverse_ntt(&mut own, 0..moduli.len(), &moduli);
        let mut sums = x.select(&rows);
        engine.add_assign(&mut sums, &own, &moduli);
        for (i, &row) in rows.iter().enumerate() {
            x.row_mut(row).copy_from_slice(sums.row(i));
        }
    }

    /// Refuses parts that lack a prime; brings the divisors' rows to Coeff form.
    fn split<'a>(&self, parts: Parts<'a>) -> Result<Split<'a>, LatticeError> {
        let coeff_rows = parts.coeff.map(|x| self.kept_rows(x)).transpose()?.unwrap_or_default();
        let eval_rows = parts.eval.map(|x| self.kept_rows(x)).transpose()?.unwrap_or_default();
        let engine = self.ring.engine();
        let divisors = match (parts.coeff, parts.eval) {
            (Some(x), y) => {
                let mut divisors = self.divisor_rows(x)?;
                if let Some(y) = y {
                    self.add_divisor_rows(&mut divisors, y);
                }
                divisors
            }
            (None, Some(x)) => {
                let mut divisors = self.divisor_rows(x)?;
                engine.inverse_ntt(&mut divisors, 0..self.divisors.len(), self.divisors.indices());
                divisors
            }
            (None, None) => engine.zeroed(self.divisors.len()),
        };
        Ok(Split { parts, divisors, coeff_rows, eval_rows })
    }

    /// The quotients of several polynomials, which meet each prime together; in Eval form where `transform`.
    fn quotients<'a>(&self, polys: impl IntoIterator<Item = Parts<'a>>, transform: bool) -> Result<Vec<Buffer>, LatticeError> {
        let splits = polys.into_iter().map(|parts| self.split(parts)).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<DivisionInput<'_>> = splits.iter().map(Split::input).collect();
        Ok(self.ring.engine().divide_all(&self.conversion, &inputs, &self.negative_inverse, transform))
    }

    /// `round(x / D)` in Coeff form. Cost: no transforms.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide_coeff(&self, x: &Poly<Coeff>) -> Result<Poly<Coeff>, LatticeError> {
        let quotient = self.quotients([Parts { coeff: Some(x), eval: None }], false)?.swap_remove(0);
        Ok(Poly::from_buffer(&self.ring, &self.kept, quotient))
    }

    /// `round(x / D)` in Eval form. Cost: one inverse transform per divisor, one forward transform per kept prime.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide_eval(&self, x: &Poly<Eval>) -> Result<Poly<Eval>, LatticeError> {
        let quotient = self.quotients([Parts { coeff: None, eval: Some(x) }], true)?.swap_remove(0);
        Ok(Poly::from_buffer(&self.ring, &self.kept, quotient))
    }

    /// `round((x + y) / D)` in Eval form for every polynomial, from a part in Coeff and a part in Eval form; `y` is zero modulo the divisors it
    /// lacks. Cost, each: one inverse transform per divisor that `y` has, one forward transform per kept prime.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `x` lacks one of the primes, or `y` a kept one; [`LatticeError::RingMismatch`];
    /// [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where the two differ in shape.
    pub fn divide_parts(&self, x: &Bundle<Coeff>, y: Option<&Bundle<Eval>>) -> Result<Bundle<Eval>, LatticeError> {
        if let Some(y) = y.filter(|y| y.rank() != x.rank()) {
            return Err(LatticeError::RankMismatch { left: x.rank(), right: y.rank() });
        }
        if let Some(y) = y.filter(|y| y.body_count() != x.body_count()) {
            return Err(LatticeError::BodiesMismatch { left: x.body_count(), right: y.body_count() });
        }
        let mut others = y.into_iter().flat_map(Bundle::polys);
        let quotients = self.quotients(x.polys().map(|x| Parts { coeff: Some(x), eval: others.next() }), true)?;
        self.bundle_of(x.rank(), quotients)
    }

    fn bundle_of<D: Domain>(&self, rank: usize, quotients: Vec<Buffer>) -> Result<Bundle<D>, LatticeError> {
        let mut polys = quotients.into_iter().map(|quotient| Poly::from_buffer(&self.ring, &self.kept, quotient));
        let mask = polys.by_ref().take(rank).collect();
        Bundle::new(mask, polys.collect())
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
        division.bundle_of(self.rank(), division.quotients(self.polys().map(|x| Parts { coeff: None, eval: Some(x) }), true)?)
    }
}

impl Bundle<Coeff> {
    /// `round(self / D)` for every polynomial, in Coeff form.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the bundle lacks one of the primes; [`LatticeError::RingMismatch`].
    pub fn divide(&self, division: &Division) -> Result<Self, LatticeError> {
        division.bundle_of(self.rank(), division.quotients(self.polys().map(|x| Parts { coeff: Some(x), eval: None }), false)?)
    }
}
