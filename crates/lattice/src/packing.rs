//! Packing: many samples of a small degree become one of a larger degree, at equal dimension of the result.
//!
//! A step of packing (ModPack) takes `g` samples of degree `n` and rank `K` under one secret and gives one of degree `n' = g n` and rank `k' = N / n'`:
//!
//! ```text
//! 1. combine       b(X) = sum_p X^brv(p) b_p(X^g), and so each of the K mask polynomials: a sample of degree n' and rank K under the secrets s_t(X^g)
//! 2. embed         k' neighbouring mask polynomials become one of degree N, and so do the secrets: K / k' inputs of one switch
//! 3. switch        all inputs together, one mod-down, to a secret of degree N
//! 4. extract       degree n', rank k'
//! ```
//!
//! The column method is the step from degree 1 to degree `N`. Several steps one after another, with samples of middle degrees in between, take fewer keys: a step
//! has `K / k'` inputs ([`Packing`]).
//!
//! Source: [hermes, sec. 4.3 (ModPack), 4.4 (BaseHERMES)]; differs: the order of components, in which steps nest ([`crate::degree`]); fewer samples than a step
//! takes are filled up with zeroes.

use clathrate_arith::kernels::scalar::bit_reverse;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Basis, Coeff, Poly, PolyRef};
use crate::ring::Ring;
use crate::sampling::SecretRng;
use crate::secret::SecretKey;
use crate::shape::{Bodies, Degree, Rank};
use crate::switch::{SecretMatrix, SwitchKey, Switcher};

/// The key of one step of packing.
#[derive(Debug)]
pub struct PackingKey {
    key: SwitchKey,
    /// Degree and rank of the samples.
    from: (usize, usize),
    /// Degree of the result.
    degree: usize,
}

/// The secret of samples, raised to the subring of degree `degree` of their results: `s(X^gap)` for each of its polynomials.
fn raised(secret: &SecretKey, degree: usize) -> Result<SecretKey, LatticeError> {
    let gap = degree / secret.degree();
    let mut coefficients = zeroize::Zeroizing::new(vec![0; degree * secret.rank()]);
    let targets = coefficients.iter_mut().step_by(gap);
    targets.zip(secret.all_coefficients()).for_each(|(target, &value)| *target = value);
    SecretKey::from_coefficients(Degree(degree), Rank(secret.rank()), Bodies(1), secret.distribution(), coefficients)
}

impl PackingKey {
    /// A key for samples under `from`, of a degree `n` and any rank, to samples of degree `degree` under the parts of `to`, a secret of the chain's degree and of
    /// rank 1. The samples may be of levels up to `level`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] unless the degrees of sample, result and chain divide one another in powers of two and the rank of the result divides that
    /// of the samples; [`LatticeError::ManyBodies`]; [`LatticeError::RankMismatch`] where `to` has another rank than 1; as [`SwitchKey::generate`].
    pub fn generate(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        from: &SecretKey,
        degree: usize,
        to: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        if from.bodies() != 1 {
            return Err(LatticeError::ManyBodies { operation: "packing", bodies: from.bodies() });
        }
        if to.rank() != 1 {
            return Err(LatticeError::RankMismatch { left: 1, right: to.rank() });
        }
        check_degrees(from.degree(), from.rank(), degree, chain.ring().degree())?;
        chain.check_level(level)?;
        let inputs = raised(from, degree)?.combine_degree(chain.ring().degree())?;
        let matrix = SecretMatrix::linear(&inputs, chain.ring(), &chain.key_basis(level));
        let key = SwitchKey::generate(chain, gadget, level, &matrix, to, rng)?;
        Ok(Self { key, from: (from.degree(), from.rank()), degree })
    }

    /// The switching key: one input for each `N` coefficients of the raised secret.
    #[must_use]
    pub fn key(&self) -> &SwitchKey {
        &self.key
    }

    /// How many samples the key packs into one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.degree / self.from.0
    }

    /// One sample of degree `n'` whose messages are those of the samples: `m(X) = sum_p X^brv(p) m_p(X^gap)`, for `p` from 0 on; what is missing counts as zero.
    /// Its secret is `to.split_degree(n')` ([`PackingKey::generate`]).
    ///
    /// The added noise is that of one switch of [`SwitchKey::inputs`] polynomials.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without samples; [`LatticeError::DegreeChange`] for too many, or samples of another degree;
    /// [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`], [`LatticeError::BasisMismatch`], [`LatticeError::RingMismatch`] where samples differ from
    /// each other or from the key's; as [`Switcher::switch_coeff`].
    pub fn pack(&self, samples: &[&Bundle<Coeff>], switcher: &Switcher) -> Result<Bundle<Coeff>, LatticeError> {
        let (degree, rank) = self.from;
        let first = samples.first().ok_or(LatticeError::EmptyShape { what: "the number of samples", got: 0 })?;
        if samples.len() > self.count() || first.ring().degree() != degree {
            let (degree, target) = (first.ring().degree(), self.degree);
            return Err(LatticeError::DegreeChange { degree, rank: first.rank(), target, what: "number of samples" });
        }
        if first.rank() != rank {
            return Err(LatticeError::RankMismatch { left: rank, right: first.rank() });
        }
        if first.body_count() != 1 {
            return Err(LatticeError::BodiesMismatch { left: 1, right: first.body_count() });
        }
        samples.iter().try_for_each(|sample| first.check_same_shape(sample))?;
        let (large, basis) = (switcher.chain().ring(), first.basis());
        let middle = large.subring(self.degree)?;
        let group = large.degree() / self.degree;
        let mask: Vec<Poly<Coeff>> = (0..rank).map(|place| self.combined(samples, &middle, basis, place)).collect::<Result<_, _>>()?;
        let inputs: Vec<Poly<Coeff>> = mask.chunks_exact(group).map(|parts| Poly::combine_mask(large, parts)).collect::<Result<_, _>>()?;
        drop(mask);
        let mut switched = switcher.switch_coeff(&inputs.iter().collect::<Vec<_>>(), &self.key)?;
        let body = self.combined(samples, &middle, basis, rank)?.iota(large)?;
        switched.bodies_mut().at(0).add_assign(&body)?;
        switched.extract(&middle)
    }

    /// Polynomial `place` of all samples, of which the body is the last, as one of degree `n'`.
    fn combined(&self, samples: &[&Bundle<Coeff>], middle: &Ring, basis: &Basis, place: usize) -> Result<Poly<Coeff>, LatticeError> {
        let zero = Poly::zero(samples[0].ring(), basis);
        let own = samples.iter().filter_map(|sample| sample.view().get(place));
        let parts: Vec<PolyRef<'_, Coeff>> = own.chain(std::iter::repeat((&zero).into())).take(self.count()).collect();
        Poly::combine_components(middle, parts)
    }
}

/// Refuses degrees that no step of packing has.
fn check_degrees(from: usize, rank: usize, to: usize, large: usize) -> Result<(), LatticeError> {
    let refused = |what: &'static str| Err(LatticeError::DegreeChange { degree: from, rank, target: to, what });
    let steps = |small: usize, large: usize| large.checked_div(small).is_some_and(|gap| gap * small == large && gap.is_power_of_two());
    if !steps(from, to) || !steps(to, large) {
        return refused("degree");
    }
    if !rank.is_multiple_of(large / to) {
        return refused("rank");
    }
    Ok(())
}

/// Steps of packing, one after another, from samples of a small degree to one of the chain's degree.
#[derive(Debug)]
pub struct Packing {
    keys: Vec<PackingKey>,
}

impl Packing {
    /// Keys for samples under `from` to the ring of the chain under `to`, with samples of the ranks `midpoints`, falling, in between; without them, the column
    /// method. The secrets of the midpoints are the parts of `to`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] for midpoints that do not fall or do not fit; as [`PackingKey::generate`].
    pub fn generate(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        from: &SecretKey,
        midpoints: &[usize],
        to: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        let large = chain.ring().degree();
        let mut keys: Vec<PackingKey> = Vec::with_capacity(midpoints.len() + 1);
        let mut below = (from.degree(), from.rank());
        for &rank in midpoints.iter().chain(&[1]) {
            let degree = large.checked_div(rank).filter(|degree| degree * rank == large && *degree > below.0);
            let refused = LatticeError::DegreeChange { degree: below.0, rank: below.1, target: large / rank.max(1), what: "midpoint" };
            let degree = degree.ok_or(refused)?;
            let secret = if keys.is_empty() { None } else { Some(to.split_degree(below.0)?) };
            keys.push(PackingKey::generate(chain, gadget, level, secret.as_ref().unwrap_or(from), degree, to, rng)?);
            below = (degree, rank);
        }
        Ok(Self { keys })
    }

    /// The keys, in the order of the steps.
    #[must_use]
    pub fn keys(&self) -> &[PackingKey] {
        &self.keys
    }

    /// How many samples fit into the ring.
    #[must_use]
    pub fn count(&self) -> usize {
        self.keys.iter().map(PackingKey::count).product()
    }

    /// One sample of the chain's degree: message `c` of the samples, counted from 0, is at `X^c` of each block of `X^count`: for samples of degree 1 it is
    /// coefficient `c`. What is missing is zero.
    ///
    /// # Errors
    /// As [`PackingKey::pack`].
    pub fn pack(&self, samples: &[&Bundle<Coeff>], switcher: &Switcher) -> Result<Bundle<Coeff>, LatticeError> {
        let first = samples.first().ok_or(LatticeError::EmptyShape { what: "the number of samples", got: 0 })?;
        let count = self.count();
        if samples.len() > count {
            let (degree, rank) = (first.ring().degree(), first.rank());
            return Err(LatticeError::DegreeChange { degree, rank, target: switcher.chain().ring().degree(), what: "number of samples" });
        }
        // Component p of all steps together is at X^brv(p).
        let zero = Bundle::zero(first.ring(), first.basis(), Rank(first.rank()), Bodies(first.body_count()))?;
        let place = |index: usize| *samples.get(bit_reverse(index, count.trailing_zeros())).unwrap_or(&&zero);
        let mut round: Vec<Bundle<Coeff>> = Vec::new();
        for (step, key) in self.keys.iter().enumerate() {
            let own: Vec<&Bundle<Coeff>> = if step == 0 { (0..count).map(place).collect() } else { round.iter().collect() };
            round = own.chunks(key.count()).map(|samples| key.pack(samples, switcher)).collect::<Result<_, _>>()?;
        }
        round.into_iter().next().ok_or(LatticeError::EmptyShape { what: "the number of samples", got: 0 })
    }
}
