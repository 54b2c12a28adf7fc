//! The ciphertext type: a mask of `k` polynomials shared by `m` bodies.
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

use clathrate_arith::Automorphism;
use clathrate_arith::product::LeftMatrix;

use crate::error::LatticeError;
use crate::poly::{AsPoly, Basis, Coeff, Domain, Eval, Poly, PolyMut, PolyRef, Polys, PolysMut, PolysRef};
use crate::ring::Ring;
use crate::sampling::{MaskSeed, MaskXof, SecretRng};
use crate::secret::{SecretKey, SecretPoly};
use crate::shape::{Bodies, Rank};

/// Domain-separation string of ciphertext masks.
const MASK_DOMAIN: &str = "clathrate mask v1";

/// `m` Module-LWE samples of rank `k` that share one mask: `k + m` polynomials in one allocation.
///
/// ```
/// use clathrate_lattice::arith::primes::largest_primes;
/// use clathrate_lattice::sampling::ERROR_BOUND;
/// use clathrate_lattice::{Basis, Bodies, Bundle, Degree, LatticeError, Poly, Rank, Ring, SecretDistribution, SecretKey, SecretRng};
///
/// let ring = Ring::new(8, &largest_primes(40, 16, 1, &[])?)?;
/// let (basis, rng) = (Basis::new(0..1), &mut SecretRng::from_os()?);
/// let message = Poly::from_signed(&ring, &basis, &[1 << 20; 8]);
///
/// // Rank 3, one body.
/// let secret = SecretKey::generate(Degree(8), Rank(3), Bodies(1), SecretDistribution::UniformTernary, rng)?;
/// let mut x = Bundle::encrypt_zero(&secret, &ring, &basis, rng)?;
/// x.add_message(0, &message.clone().into_eval())?;
/// assert_eq!((x.rank(), x.body_count()), (3, 1));
///
/// // The phase is the message and a small error.
/// let mut error = x.phase(&secret)?.remove(0).into_coeff();
/// error.sub_assign(&message)?;
/// let q = ring.moduli()[0].value();
/// assert!(error.download().iter().all(|&residue| residue.min(q - residue) <= ERROR_BOUND as u64));
/// # Ok::<(), LatticeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bundle<D: Domain> {
    /// The mask, then the bodies.
    polys: Polys<D>,
    rank: usize,
    /// The seed of the mask, as long as the mask is unchanged; files store the seed instead of the mask.
    seed: Option<MaskSeed>,
}

impl<D: Domain> PartialEq for Bundle<D> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank && self.polys == other.polys
    }
}

impl<D: Domain> Bundle<D> {
    /// A bundle of copies of the given polynomials, without a seed.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without mask or body; [`LatticeError::RingMismatch`],
    /// [`LatticeError::BasisMismatch`] where the polynomials differ.
    pub fn new<A, B>(mask: A, bodies: B) -> Result<Self, LatticeError>
    where
        A: IntoIterator<Item: AsPoly<D>>,
        B: IntoIterator<Item: AsPoly<D>>,
    {
        let (mask, bodies): (Vec<_>, Vec<_>) = (mask.into_iter().collect(), bodies.into_iter().collect());
        check_shape(Rank(mask.len()), mask.len() + bodies.len())?;
        let polys = Polys::copied(mask.iter().map(AsPoly::poly).chain(bodies.iter().map(AsPoly::poly)))?;
        Ok(Self { polys, rank: mask.len(), seed: None })
    }

    /// Wraps polynomials that already share one allocation: the first `rank` are the mask, the others the
    /// bodies.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without mask or body.
    pub fn from_polys(polys: Polys<D>, rank: usize) -> Result<Self, LatticeError> {
        check_shape(Rank(rank), polys.len())?;
        Ok(Self { polys, rank, seed: None })
    }

    /// A bundle of zero polynomials.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0, no bodies or an empty basis; [`LatticeError::BasisMismatch`]
    /// where the ring lacks a prime.
    pub fn zero(
        ring: &Ring,
        basis: &Basis,
        Rank(rank): Rank,
        Bodies(bodies): Bodies,
    ) -> Result<Self, LatticeError> {
        check_shape(Rank(rank), rank + bodies)?;
        basis.check(ring)?;
        Self::from_polys(Polys::zero(ring, basis, rank + bodies), rank)
    }

    /// The rank `k`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of bodies `m`.
    #[must_use]
    pub fn body_count(&self) -> usize {
        self.polys.len() - self.rank
    }

    /// The mask.
    #[must_use]
    pub fn mask(&self) -> PolysRef<'_, D> {
        self.polys.view().range(0..self.rank)
    }

    /// The bodies.
    #[must_use]
    pub fn bodies(&self) -> PolysRef<'_, D> {
        self.polys.view().range(self.rank..self.polys.len())
    }

    /// The bodies, writable. The seed is kept, because the mask does not change.
    #[must_use]
    pub fn bodies_mut(&mut self) -> PolysMut<'_, D> {
        self.polys.view_mut().split_at(self.rank).1
    }

    /// All polynomials, mask first.
    #[must_use]
    pub fn view(&self) -> PolysRef<'_, D> {
        self.polys.view()
    }

    /// All polynomials, mask first, writable. The seed is dropped, because the mask may change.
    #[must_use]
    pub fn view_mut(&mut self) -> PolysMut<'_, D> {
        self.seed = None;
        self.polys.view_mut()
    }

    /// Returns the polynomials, mask first, and drops the rest of the bundle.
    #[must_use]
    pub fn into_polys(self) -> Polys<D> {
        self.polys
    }

    /// Copies of the mask and of the bodies, each polynomial in its own allocation.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Poly<D>>, Vec<Poly<D>>) {
        (self.mask().to_vec(), self.bodies().to_vec())
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        self.polys.ring()
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        self.polys.basis()
    }

    /// Bytes of all residues.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.polys.bytes()
    }

    /// The seed of the mask; `None` if it was not made from a seed or may have changed since.
    #[must_use]
    pub fn seed(&self) -> Option<MaskSeed> {
        self.seed
    }

    /// Checks that both bundles have the same rank, number of bodies, ring and basis.
    ///
    /// # Errors
    /// [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`], [`LatticeError::RingMismatch`],
    /// [`LatticeError::BasisMismatch`].
    pub fn check_same_shape(&self, other: &Self) -> Result<(), LatticeError> {
        if self.rank() != other.rank() {
            return Err(LatticeError::RankMismatch { left: self.rank(), right: other.rank() });
        }
        if self.body_count() != other.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: other.body_count() });
        }
        self.polys.at(0).check_same_basis(other.polys.at(0))
    }

    /// The same bundle in the memory of another ring's engine.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] for a ring of another degree or other moduli.
    pub fn on_ring(&self, ring: &Ring) -> Result<Self, LatticeError> {
        Ok(Self { polys: self.polys.on_ring(ring)?, rank: self.rank, seed: self.seed })
    }

    /// Every polynomial, mask first.
    pub fn polys(&self) -> impl ExactSizeIterator<Item = PolyRef<'_, D>> + DoubleEndedIterator + Clone {
        self.polys.iter()
    }

    /// Every polynomial, mask first, writable. The seed is dropped, because the mask may change.
    pub fn polys_mut(&mut self) -> impl ExactSizeIterator<Item = PolyMut<'_, D>> {
        self.view_mut().into_iter()
    }

    /// Applies `f` to every polynomial. The results form a bundle of the same rank.
    ///
    /// # Errors
    /// The errors of `f`; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the results
    /// differ.
    pub fn try_map<T: Domain>(
        &self,
        f: impl Fn(PolyRef<'_, D>) -> Result<Poly<T>, LatticeError>,
    ) -> Result<Bundle<T>, LatticeError> {
        let polys = self.polys().map(f).collect::<Result<Vec<_>, _>>()?;
        Bundle::from_polys(Polys::copied(&polys)?, self.rank)
    }

    /// `self <- self + other`.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(other)?;
        self.view_mut().add_assign(other.view())
    }

    /// `self <- self - other`.
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(other)?;
        self.view_mut().sub_assign(other.view())
    }

    /// `self <- x + y`, without a new allocation.
    pub fn assign_sum(&mut self, x: &Self, y: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(x)?;
        self.check_same_shape(y)?;
        let out = self.view_mut();
        let (ring, indices) = (out.ring(), out.basis().indices());
        ring.engine().add(out.into_rows(), x.polys.rows(), y.polys.rows(), indices);
        Ok(())
    }

    /// `self <- x - y`, without a new allocation.
    pub fn assign_difference(&mut self, x: &Self, y: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(x)?;
        self.check_same_shape(y)?;
        let out = self.view_mut();
        let (ring, indices) = (out.ring(), out.basis().indices());
        ring.engine().sub(out.into_rows(), x.polys.rows(), y.polys.rows(), indices);
        Ok(())
    }

    /// `self + other`, in one pass over memory.
    pub fn sum(&self, other: &Self) -> Result<Self, LatticeError> {
        self.check_same_shape(other)?;
        let mut sum = Self {
            polys: Polys::scratch(self.ring(), self.basis(), self.polys.len()),
            rank: self.rank,
            seed: None,
        };
        sum.assign_sum(self, other)?;
        Ok(sum)
    }

    /// `self - other`, in one pass over memory.
    pub fn difference(&self, other: &Self) -> Result<Self, LatticeError> {
        self.check_same_shape(other)?;
        let mut difference = Self {
            polys: Polys::scratch(self.ring(), self.basis(), self.polys.len()),
            rank: self.rank,
            seed: None,
        };
        difference.assign_difference(self, other)?;
        Ok(difference)
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        self.view_mut().negate_assign();
    }

    /// `self <- self * c` for an integer given by its residues, one per modulus of the basis.
    pub fn mul_constants_assign(&mut self, residues: &[u64]) {
        self.view_mut().mul_constants_assign(residues);
    }

    /// `self <- self * c` for an integer.
    pub fn mul_integer_assign(&mut self, c: i128) {
        self.view_mut().mul_integer_assign(c);
    }

    /// `self <- self + c * other` for an integer, in one pass over memory. The basis of `other` may have
    /// further primes after those of `self`; their residues are not read.
    pub fn add_multiple(&mut self, other: &Self, c: i128) -> Result<(), LatticeError> {
        if !other.basis().indices().starts_with(self.basis().indices())
            || self.rank() != other.rank()
            || self.body_count() != other.body_count()
        {
            self.check_same_shape(other)?;
        }
        self.view_mut().add_multiple(other.view(), c)
    }

    /// The same samples modulo fewer primes. The seed is kept, because each row of residues is expanded from
    /// its own stream.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the bundle lacks a prime of `basis`.
    pub fn restrict(&self, basis: &Basis) -> Result<Self, LatticeError> {
        Ok(Self { polys: self.polys.view().restrict(basis)?, ..*self })
    }

    /// Integer combinations of bundles of one shape: `out_i = sum_j left[i][j] inputs[j]`, exact. Works in
    /// Coeff and in Eval form, because linear combinations commute with the transform.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without inputs; as [`Bundle::check_same_shape`]; [`LatticeError::Arith`]
    /// where the number of columns of the matrix is not the number of inputs.
    pub fn combine(left: &LeftMatrix, inputs: &[&Self]) -> Result<Vec<Self>, LatticeError> {
        Self::combine_with_progress(left, inputs, &mut || true).map(Option::unwrap_or_default)
    }

    /// [`Bundle::combine`] with `progress` called before each of the `(k + m) * primes` rows of residues. If
    /// it returns `false`, the work stops and the result is `None`.
    pub fn combine_with_progress(
        left: &LeftMatrix,
        inputs: &[&Self],
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Self>>, LatticeError> {
        let first =
            inputs.first().ok_or(LatticeError::EmptyShape { what: "the number of bundles", got: 0 })?;
        inputs.iter().try_for_each(|input| first.check_same_shape(input))?;
        let (ring, basis, count) = (first.ring(), first.basis(), first.polys.len());
        let mut out: Vec<Polys<D>> = (0..left.rows()).map(|_| Polys::scratch(ring, basis, count)).collect();
        for row in 0..count * basis.len() {
            if !progress() {
                return Ok(None);
            }
            let right: Vec<_> = inputs.iter().map(|input| input.polys.rows().slice(row..row + 1)).collect();
            let mut targets: Vec<_> =
                out.iter_mut().map(|out| out.view_mut().into_rows().slice(row..row + 1)).collect();
            ring.engine().combine(&mut targets, left, &right, &basis.indices()[row % basis.len()..][..1])?;
        }
        out.into_iter().map(|polys| Self::from_polys(polys, first.rank)).collect::<Result<_, _>>().map(Some)
    }

    /// Removes the mask polynomials `rank..` from the bundle, and returns what `f` computes from them.
    pub(crate) fn cut_mask<T>(&mut self, rank: usize, f: impl FnOnce(PolysRef<'_, D>) -> T) -> T {
        let taken = f(self.polys.view().range(rank..self.rank));
        let bodies = self.body_count();
        for body in 0..bodies {
            self.polys.move_down(self.rank + body, rank + body);
        }
        self.polys.truncate(rank + bodies);
        (self.rank, self.seed) = (rank, None);
        taken
    }
}

/// Checks that a bundle of `polys` polynomials has a mask and a body.
fn check_shape(Rank(rank): Rank, polys: usize) -> Result<(), LatticeError> {
    for (what, got) in [("the rank", rank), ("the number of bodies", polys.saturating_sub(rank))] {
        if got == 0 {
            return Err(LatticeError::EmptyShape { what, got });
        }
    }
    Ok(())
}

impl Bundle<Coeff> {
    /// A bundle of one body whose residues `words` writes. The arguments of `words` are the index of a
    /// polynomial (mask first), the index of a prime in the basis, and the `n` residues to write.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0; [`LatticeError::BasisMismatch`] where the ring lacks a prime
    /// of `basis`.
    pub fn from_words(
        ring: &Ring,
        basis: &Basis,
        Rank(rank): Rank,
        words: &(dyn Fn(usize, usize, &mut [u64]) + Sync),
    ) -> Result<Self, LatticeError> {
        basis.check(ring)?;
        let mut polys = Polys::scratch(ring, basis, rank + 1);
        let primes = basis.len();
        ring.engine().upload_rows(polys.view_mut().into_rows(), &|row, target| {
            words(row / primes, row % primes, target)
        });
        Self::from_polys(polys, rank)
    }

    /// The same bundle in Eval form.
    #[must_use]
    pub fn into_eval(self) -> Bundle<Eval> {
        Bundle { polys: self.polys.into_eval(), rank: self.rank, seed: None }
    }
}

impl Bundle<Eval> {
    /// A bundle whose mask is expanded from `seed`, with copies of the given bodies.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0 or no bodies; [`LatticeError::RingMismatch`],
    /// [`LatticeError::BasisMismatch`] where the bodies differ.
    pub fn from_seed<B>(seed: MaskSeed, rank: usize, bodies: B) -> Result<Self, LatticeError>
    where
        B: IntoIterator<Item: AsPoly<Eval>>,
    {
        let bodies: Vec<_> = bodies.into_iter().collect();
        let bodies: Vec<PolyRef<'_, Eval>> = bodies.iter().map(AsPoly::poly).collect();
        let first =
            bodies.first().ok_or(LatticeError::EmptyShape { what: "the number of bodies", got: 0 })?;
        let (ring, basis) = (first.ring(), first.basis());
        Self::seeded(&seed, ring, basis, Rank(rank), Bodies(bodies.len()), |_, targets| {
            targets.into_iter().zip(&bodies).try_for_each(|(mut target, body)| target.assign(*body))
        })
    }

    /// A bundle whose mask is expanded from `seed`; `fill` is given the mask and writes the bodies.
    pub(crate) fn seeded(
        seed: &MaskSeed,
        ring: &Ring,
        basis: &Basis,
        Rank(rank): Rank,
        Bodies(bodies): Bodies,
        fill: impl FnOnce(PolysRef<'_, Eval>, PolysMut<'_, Eval>) -> Result<(), LatticeError>,
    ) -> Result<Self, LatticeError> {
        check_shape(Rank(rank), rank + bodies)?;
        let mut polys = Polys::scratch(ring, basis, rank + bodies);
        let (mut mask, bodies) = polys.view_mut().split_at(rank);
        expand_into(seed, mask.reborrow());
        fill(mask.view(), bodies)?;
        Ok(Self { polys, rank, seed: Some(*seed) })
    }

    /// Fresh encryptions of zero under each body's secret, with a seeded mask and independent Gaussian
    /// errors.
    ///
    /// `b_i = -<a, s_i> + e_i`, sigma = 3.2.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] where the secret's degree is not the ring's;
    /// [`LatticeError::EmptyShape`] where `basis` is empty; [`LatticeError::BasisMismatch`] where the ring
    /// lacks a prime of `basis`.
    pub fn encrypt_zero(
        secret: &SecretKey,
        ring: &Ring,
        basis: &Basis,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        secret.check_degree(ring)?;
        basis.check(ring)?;
        let seed = rng.mask_seed();
        Self::seeded(&seed, ring, basis, Rank(secret.rank()), Bodies(secret.bodies()), |mask, bodies| {
            for (body, mut target) in bodies.into_iter().enumerate() {
                let product = mask_times_secret(mask, secret, basis, body)?;
                set_gaussian(&mut target, rng);
                target.sub_assign(product.get())?;
            }
            Ok(())
        })
    }

    /// Adds `message` to body `body`.
    ///
    /// # Errors
    /// [`LatticeError::BodyOutOfRange`]; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`]
    /// where `message` has another ring or basis.
    pub fn add_message<'b>(
        &mut self,
        body: usize,
        message: impl Into<PolyRef<'b, Eval>>,
    ) -> Result<(), LatticeError> {
        let bodies = self.body_count();
        if body >= bodies {
            return Err(LatticeError::BodyOutOfRange { body, bodies });
        }
        self.bodies_mut().at(body).add_assign(message)
    }

    /// `self * p` for a plaintext polynomial, in one pass over memory. `p` may have more primes than the
    /// bundle.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where `p` lacks a prime; [`LatticeError::RingMismatch`].
    pub fn times_poly<'b>(&self, p: impl Into<PolyRef<'b, Eval>>) -> Result<Self, LatticeError> {
        let (p, ring, basis) = (p.into(), self.ring(), self.basis());
        if !p.ring().same_as(ring) {
            return Err(LatticeError::RingMismatch { left: ring.degree(), right: p.ring().degree() });
        }
        let missing = || LatticeError::BasisMismatch { left: basis.len(), right: p.basis().len() };
        let rows = p.basis().rows_of(basis.indices()).ok_or_else(missing)?;
        let terms: Vec<Vec<_>> = self.polys.iter().map(|x| vec![(x.rows(), p.rows())]).collect();
        let mut product =
            Self { polys: Polys::scratch(ring, basis, self.polys.len()), rank: self.rank, seed: None };
        ring.engine().dot_products(product.view_mut().into_rows(), &terms, &rows, basis.indices());
        Ok(product)
    }

    /// `self <- self * p` for a plaintext polynomial.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where `p` has another ring or basis.
    pub fn mul_poly_assign<'b>(&mut self, p: impl Into<PolyRef<'b, Eval>>) -> Result<(), LatticeError> {
        self.view_mut().mul_poly_assign(p)
    }

    /// `phi(self)`: the automorphism applied to every polynomial. The result is under the secrets `phi(s_i)`.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        Self { polys: self.polys.view().automorphism(phi), rank: self.rank, seed: None }
    }

    /// The same bundle in Coeff form.
    #[must_use]
    pub fn into_coeff(self) -> Bundle<Coeff> {
        Bundle { polys: self.polys.into_coeff(), rank: self.rank, seed: None }
    }
}

/// `<a, s_body>` modulo the primes of `basis`. The result is secret, because with the public mask it reveals
/// the secret.
fn mask_times_secret(
    mask: PolysRef<'_, Eval>,
    secret: &SecretKey,
    basis: &Basis,
    body: usize,
) -> Result<SecretPoly, LatticeError> {
    let polys = secret.eval(mask.ring(), basis, body);
    let xs: Vec<&Poly<Eval>> = polys.iter().map(SecretPoly::get).collect();
    let ys: Vec<PolyRef<'_, Eval>> = mask.iter().collect();
    Poly::inner_product(&xs, &ys).map(SecretPoly::new)
}

/// The mask of `rank` polynomials that `seed` expands to. The residues of polynomial `i` modulo the ring's
/// modulus number `index` are the stream of (seed, i, index), so any subset of rows can be expanded
/// separately. They are the Eval form; the mask is uniform in Coeff form too, because the transform is a
/// bijection.
#[must_use]
pub fn expand_mask(seed: &MaskSeed, ring: &Ring, basis: &Basis, rank: usize) -> Polys<Eval> {
    let mut mask = Polys::scratch(ring, basis, rank);
    expand_into(seed, mask.view_mut());
    mask
}

/// [`expand_mask`] into existing polynomials.
fn expand_into(seed: &MaskSeed, mask: PolysMut<'_, Eval>) {
    let (ring, indices) = (mask.ring(), mask.basis().indices());
    ring.engine().upload_rows(mask.into_rows(), &|row, words| {
        let (poly, index) = (row / indices.len(), indices[row % indices.len()]);
        MaskXof::new(seed, MASK_DOMAIN, &[poly as u64, index as u64])
            .fill_uniform(&ring.moduli()[index], words);
    });
}

/// `target <-` a polynomial of independent Gaussian errors, sigma = 3.2. The caller adds other terms in
/// place, so that no polynomial of errors alone remains in memory.
pub(crate) fn set_gaussian(target: &mut PolyMut<'_, Eval>, rng: &mut SecretRng) {
    let mut errors = zeroize::Zeroizing::new(vec![0i64; target.ring().degree()]);
    rng.gaussian(&mut errors);
    target.set_signed(&errors);
}
