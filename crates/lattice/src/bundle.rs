//! The one ciphertext shape: a mask of `k` polynomials shared by `m` bodies.
//!
//! ```text
//! phase_i = b_i + <a, s_i>    over R_Q,    i in 0..m
//! ```
//!
//! | known as | degree | rank k | bodies m |
//! |---|---|---|---|
//! | LWE | 1 | any | 1 |
//! | RLWE | N | 1 | 1 |
//! | MLWE | n | k | 1 |
//! | shared-a | n | k | > 1 |

use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly};
use crate::ring::Ring;
use crate::sampling::{MaskSeed, MaskXof, SecretRng};
use crate::secret::{SecretKey, SecretPoly};
use clathrate_arith::Automorphism;

/// Domain-separation string of ciphertext masks.
const MASK_DOMAIN: &str = "clathrate mask v1";

/// `m` Module-LWE samples of rank `k` that share one mask.
#[derive(Debug, Clone)]
pub struct Bundle<D: Domain> {
    mask: Vec<Poly<D>>,
    bodies: Vec<Poly<D>>,
    /// Set while the mask is exactly what this seed expands to, so that files store the seed instead.
    seed: Option<MaskSeed>,
}

impl<D: Domain> PartialEq for Bundle<D> {
    fn eq(&self, other: &Self) -> bool {
        self.mask == other.mask && self.bodies == other.bodies
    }
}

impl<D: Domain> Bundle<D> {
    /// A bundle of the given polynomials.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without mask or body; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where they differ.
    pub fn new(mask: Vec<Poly<D>>, bodies: Vec<Poly<D>>) -> Result<Self, LatticeError> {
        for (what, list) in [("the rank", &mask), ("the number of bodies", &bodies)] {
            let first = list.first().ok_or(LatticeError::EmptyShape { what, got: 0 })?;
            list.iter().try_for_each(|poly| first.check_same_basis(poly))?;
        }
        mask[0].check_same_basis(&bodies[0])?;
        Ok(Self { mask, bodies, seed: None })
    }

    /// The rank `k`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.mask.len()
    }

    /// The number of bodies `m`.
    #[must_use]
    pub fn body_count(&self) -> usize {
        self.bodies.len()
    }

    /// The mask.
    #[must_use]
    pub fn mask(&self) -> &[Poly<D>] {
        &self.mask
    }

    /// The bodies.
    #[must_use]
    pub fn bodies(&self) -> &[Poly<D>] {
        &self.bodies
    }

    /// The bodies, writable; the mask stays what it is.
    #[must_use]
    pub fn bodies_mut(&mut self) -> &mut [Poly<D>] {
        &mut self.bodies
    }

    /// Gives up mask and bodies.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Poly<D>>, Vec<Poly<D>>) {
        (self.mask, self.bodies)
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        self.bodies[0].ring()
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        self.bodies[0].basis()
    }

    /// The seed whose expansion the mask is, while it is.
    #[must_use]
    pub fn seed(&self) -> Option<MaskSeed> {
        self.seed
    }

    /// Refuses operands of another shape, ring or basis.
    ///
    /// # Errors
    /// [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`], [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn check_same_shape(&self, other: &Self) -> Result<(), LatticeError> {
        if self.rank() != other.rank() {
            return Err(LatticeError::RankMismatch { left: self.rank(), right: other.rank() });
        }
        if self.body_count() != other.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: other.body_count() });
        }
        self.bodies[0].check_same_basis(&other.bodies[0])
    }

    /// Every polynomial, mask first.
    pub fn polys(&self) -> impl Iterator<Item = &Poly<D>> {
        self.mask.iter().chain(&self.bodies)
    }

    /// Every polynomial, writable; the mask is no longer what its seed says.
    pub fn polys_mut(&mut self) -> impl Iterator<Item = &mut Poly<D>> {
        self.seed = None;
        self.mask.iter_mut().chain(&mut self.bodies)
    }

    /// A bundle of `f` of every polynomial.
    ///
    /// # Errors
    /// Whatever `f` returns.
    pub fn try_map<T: Domain>(&self, f: impl Fn(&Poly<D>) -> Result<Poly<T>, LatticeError>) -> Result<Bundle<T>, LatticeError> {
        let mask = self.mask.iter().map(&f).collect::<Result<_, _>>()?;
        let bodies = self.bodies.iter().map(&f).collect::<Result<_, _>>()?;
        Ok(Bundle { mask, bodies, seed: None })
    }

    /// `self <- self + other`.
    ///
    /// # Errors
    /// As [`Bundle::check_same_shape`].
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(other)?;
        self.polys_mut().zip(other.polys()).try_for_each(|(x, y)| x.add_assign(y))
    }

    /// `self <- self - other`.
    ///
    /// # Errors
    /// As [`Bundle::check_same_shape`].
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(other)?;
        self.polys_mut().zip(other.polys()).try_for_each(|(x, y)| x.sub_assign(y))
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        self.polys_mut().for_each(Poly::negate_assign);
    }

    /// `self <- self * c` for an integer.
    pub fn mul_integer_assign(&mut self, c: i128) {
        self.polys_mut().for_each(|poly| poly.mul_integer_assign(c));
    }

    /// The same samples modulo fewer primes. A seeded mask stays seeded: each row has its own stream.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where a prime of `basis` is missing here.
    pub fn restrict(&self, basis: &Basis) -> Result<Self, LatticeError> {
        let mut bundle = self.try_map(|poly| poly.restrict(basis))?;
        bundle.seed = self.seed;
        Ok(bundle)
    }
}

impl Bundle<Coeff> {
    /// The same bundle in Eval form.
    #[must_use]
    pub fn into_eval(self) -> Bundle<Eval> {
        Bundle {
            mask: self.mask.into_iter().map(Poly::into_eval).collect(),
            bodies: self.bodies.into_iter().map(Poly::into_eval).collect(),
            seed: None,
        }
    }
}

impl Bundle<Eval> {
    /// A bundle whose mask is the expansion of `seed`.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0 or no bodies.
    pub fn from_seed(seed: MaskSeed, rank: usize, bodies: Vec<Poly<Eval>>) -> Result<Self, LatticeError> {
        let first = bodies.first().ok_or(LatticeError::EmptyShape { what: "the number of bodies", got: 0 })?;
        let mask = expand_mask(&seed, first.ring(), first.basis(), rank);
        let mut bundle = Self::new(mask, bodies)?;
        bundle.seed = Some(seed);
        Ok(bundle)
    }

    /// Fresh encryptions of zero under each body's secret, with a seeded mask and independent Gaussian errors.
    ///
    /// `b_i = -<a, s_i> + e_i`, sigma = 3.2.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] where the secret's degree is not the ring's; [`LatticeError::BasisMismatch`],
    /// [`LatticeError::EmptyShape`] where `basis` is not one of the ring.
    pub fn encrypt_zero(secret: &SecretKey, ring: &Ring, basis: &Basis, rng: &mut SecretRng) -> Result<Self, LatticeError> {
        secret.check_degree(ring)?;
        basis.check(ring)?;
        let seed = rng.mask_seed();
        let mask = expand_mask(&seed, ring, basis, secret.rank());
        let mut bodies = Vec::with_capacity(secret.bodies());
        for body in 0..secret.bodies() {
            let mut poly = gaussian_poly(ring, basis, rng).into_eval();
            poly.sub_assign(mask_times_secret(&mask, secret, ring, basis, body)?.get())?;
            bodies.push(poly);
        }
        Ok(Self { mask, bodies, seed: Some(seed) })
    }

    /// The phase of each body: `b_i + <a, s_i>`.
    ///
    /// # Errors
    /// [`LatticeError::SecretShape`] where the secret does not fit.
    pub fn phase(&self, secret: &SecretKey) -> Result<Vec<Poly<Eval>>, LatticeError> {
        if secret.rank() != self.rank() || secret.bodies() != self.body_count() || secret.degree() != self.ring().degree() {
            return Err(self.secret_shape_error(secret));
        }
        (0..self.body_count())
            .map(|body| {
                let mut phase = self.bodies[body].clone();
                phase.add_assign(mask_times_secret(&self.mask, secret, self.ring(), self.basis(), body)?.get())?;
                Ok(phase)
            })
            .collect()
    }

    fn secret_shape_error(&self, secret: &SecretKey) -> LatticeError {
        LatticeError::SecretShape {
            secret_rank: secret.rank(),
            secret_bodies: secret.bodies(),
            secret_degree: secret.degree(),
            rank: self.rank(),
            bodies: self.body_count(),
            degree: self.ring().degree(),
        }
    }

    /// Adds `message` to body `body`.
    ///
    /// # Errors
    /// [`LatticeError::BodyOutOfRange`]; [`LatticeError::BasisMismatch`] and its like.
    pub fn add_message(&mut self, body: usize, message: &Poly<Eval>) -> Result<(), LatticeError> {
        let bodies = self.body_count();
        self.bodies.get_mut(body).ok_or(LatticeError::BodyOutOfRange { body, bodies })?.add_assign(message)
    }

    /// `self <- self * p` for a plaintext polynomial.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] and its like.
    pub fn mul_poly_assign(&mut self, p: &Poly<Eval>) -> Result<(), LatticeError> {
        self.polys_mut().try_for_each(|poly| poly.mul_assign(p))
    }

    /// `phi(self)`: the samples under an automorphism, now under the secrets `phi(s_i)`.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        Self {
            mask: self.mask.iter().map(|poly| poly.automorphism(phi)).collect(),
            bodies: self.bodies.iter().map(|poly| poly.automorphism(phi)).collect(),
            seed: None,
        }
    }

    /// The same bundle in Coeff form.
    #[must_use]
    pub fn into_coeff(self) -> Bundle<Coeff> {
        Bundle {
            mask: self.mask.into_iter().map(Poly::into_coeff).collect(),
            bodies: self.bodies.into_iter().map(Poly::into_coeff).collect(),
            seed: None,
        }
    }
}

/// `<a, s_body>`: as good as the secret itself, the mask being public.
fn mask_times_secret(mask: &[Poly<Eval>], secret: &SecretKey, ring: &Ring, basis: &Basis, body: usize) -> Result<SecretPoly, LatticeError> {
    let polys = secret.eval(ring, basis, body);
    let xs: Vec<&Poly<Eval>> = mask.iter().collect();
    let ys: Vec<&Poly<Eval>> = polys.iter().map(|p| p.get()).collect();
    Poly::inner_product(&xs, &ys).map(SecretPoly::new)
}

/// The mask that `seed` stands for. Row `r` of polynomial `i` is the stream of (seed, i, modulus index), so any subset of rows
/// can be expanded alone. Uniform in either form: the transform is a bijection.
#[must_use]
pub fn expand_mask(seed: &MaskSeed, ring: &Ring, basis: &Basis, rank: usize) -> Vec<Poly<Eval>> {
    (0..rank)
        .map(|i| {
            let mut data = ring.engine().scratch(basis.len());
            for (row, &index) in basis.indices().iter().enumerate() {
                MaskXof::new(seed, MASK_DOMAIN, &[i as u64, index as u64]).fill_uniform(&ring.moduli()[index], data.row_mut(row));
            }
            Poly::from_buffer(ring, basis, data)
        })
        .collect()
}

/// A polynomial of independent Gaussian errors.
pub(crate) fn gaussian_poly(ring: &Ring, basis: &Basis, rng: &mut SecretRng) -> Poly<Coeff> {
    let mut errors = zeroize::Zeroizing::new(vec![0i64; ring.degree()]);
    rng.gaussian(&mut errors);
    Poly::from_signed(ring, basis, &errors)
}
