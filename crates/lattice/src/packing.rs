//! Packing: many samples of a small degree become one sample of a larger degree, whose dimension is that of
//! the ring.
//!
//! A step of packing (ModPack) takes `g` samples of degree `n` and rank `K` under one secret and gives one
//! sample of degree `n' = g n` and rank `k' = N / n'`:
//!
//! ```text
//! 1. combine       b(X) = sum_p X^brv(p) b_p(X^g), and so each of the K mask polynomials: a sample of degree n' and rank K under the secrets s_t(X^g)
//! 2. embed         k' neighbouring mask polynomials become one of degree N, and so do the secrets: K / k' inputs of one switch
//! 3. switch        all inputs together, one mod-down, to a secret of degree N
//! 4. extract       degree n', rank k'
//! ```
//!
//! The column method is the step from degree 1 to degree `N`. Several steps with intermediate degrees need
//! smaller keys: a step has `K / k'` inputs ([`Packing`]).
//!
//! One call of the engine joins and embeds all polynomials of all samples, so that an LWE sample needs one
//! handle and not one for each word.
//!
//! Source: [hermes, sec. 4.3 (ModPack), 4.4 (BaseHERMES)]; differs: the order of components, in which steps
//! nest ([`crate::degree`]); missing samples count as zero.

use std::ops::Range;

use clathrate_arith::Form;
use clathrate_arith::kernels::scalar::bit_reverse;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Coeff, PolyRef, Polys, PolysRef};
use crate::ring::Ring;
use crate::sampling::SecretRng;
use crate::secret::SecretKey;
use crate::shape::{Bodies, Degree, Rank};
use crate::switch::{SecretMatrix, SwitchKey, Switcher};

/// One step of packing: `target / degree` samples of degree `degree` and rank `rank` become one sample of
/// degree `target`, by a switch at degree `large`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PackingStep {
    degree: usize,
    rank: usize,
    target: usize,
    large: usize,
}

impl PackingStep {
    /// The step from samples of degree `n` and rank `K` to one sample of degree `target`, in the ring of
    /// degree `large`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] unless the three degrees divide one another in powers of two, the first
    /// two differ, and the rank of the result divides that of the samples.
    pub fn new(
        Degree(degree): Degree,
        Rank(rank): Rank,
        Degree(target): Degree,
        Degree(large): Degree,
    ) -> Result<Self, LatticeError> {
        let refused = |what: &'static str| Err(LatticeError::DegreeChange { degree, rank, target, what });
        let steps = |small: usize, large: usize| {
            large.checked_div(small).is_some_and(|gap| gap * small == large && gap.is_power_of_two())
        };
        if !steps(degree, target) || !steps(target, large) || degree == target {
            return refused("degree");
        }
        if rank == 0 || !rank.is_multiple_of(large / target) {
            return refused("rank");
        }
        Ok(Self { degree, rank, target, large })
    }

    /// The steps from samples of degree `n` and rank `K` to the ring of degree `large`, through samples of
    /// the ranks `midpoints` in descending order. Without midpoints it is one step, the column method.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] for midpoints that do not descend or do not divide one another; as
    /// [`PackingStep::new`].
    pub fn all(
        degree: Degree,
        rank: Rank,
        midpoints: &[usize],
        large: Degree,
    ) -> Result<Vec<Self>, LatticeError> {
        let mut steps: Vec<Self> = Vec::with_capacity(midpoints.len() + 1);
        let mut below = (degree, rank);
        for &rank in midpoints.iter().chain(&[1]) {
            let target =
                large.0.checked_div(rank).filter(|degree| degree * rank == large.0 && *degree > below.0.0);
            let refused = LatticeError::DegreeChange {
                degree: below.0.0,
                rank: below.1.0,
                target: large.0 / rank.max(1),
                what: "midpoint",
            };
            let step = Self::new(below.0, below.1, Degree(target.ok_or(refused)?), large)?;
            below = (Degree(step.target), Rank(step.result_rank()));
            steps.push(step);
        }
        Ok(steps)
    }

    /// Number of samples that a step packs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.target / self.degree
    }

    /// Degree of the samples.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Rank of the samples.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Degree of the result.
    #[must_use]
    pub fn target(&self) -> usize {
        self.target
    }

    /// Rank of the result.
    #[must_use]
    pub fn result_rank(&self) -> usize {
        self.large / self.target
    }

    /// Number of polynomials that the switch takes.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.rank / self.result_rank()
    }

    /// The secret from which the key switches, for samples under `from`: the polynomials `s_t(X^g)`, of which
    /// each group of [`PackingStep::result_rank`] is embedded as one polynomial of degree `large`.
    ///
    /// # Errors
    /// [`LatticeError::ManyBodies`]; [`LatticeError::DegreeChange`], [`LatticeError::RankMismatch`] for a
    /// secret of another shape than the samples.
    pub fn inputs_secret(&self, from: &SecretKey) -> Result<SecretKey, LatticeError> {
        if from.bodies() != 1 {
            return Err(LatticeError::ManyBodies { operation: "packing", bodies: from.bodies() });
        }
        if from.degree() != self.degree {
            let (degree, rank) = (from.degree(), from.rank());
            return Err(LatticeError::DegreeChange { degree, rank, target: self.degree, what: "degree" });
        }
        if from.rank() != self.rank {
            return Err(LatticeError::RankMismatch { left: self.rank, right: from.rank() });
        }
        let mut coefficients = zeroize::Zeroizing::new(vec![0; self.target * self.rank]);
        let targets = coefficients.iter_mut().step_by(self.count());
        targets.zip(from.all_coefficients()).for_each(|(target, &value)| *target = value);
        let raised = SecretKey::from_coefficients(
            Degree(self.target),
            Rank(self.rank),
            Bodies(1),
            from.distribution(),
            coefficients,
        )?;
        raised.combine_degree(self.large)
    }

    /// A key of the step for samples under `from`, at levels up to `level`. The result is under the
    /// components of `to`, a secret of the chain's degree and of rank 1.
    ///
    /// # Errors
    /// [`LatticeError::RankMismatch`] where the rank of `to` is not 1; as [`PackingStep::inputs_secret`] and
    /// [`SwitchKey::generate`].
    pub fn key(
        &self,
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        from: &SecretKey,
        to: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<SwitchKey, LatticeError> {
        if to.rank() != 1 {
            return Err(LatticeError::RankMismatch { left: 1, right: to.rank() });
        }
        chain.check_level(level)?;
        let matrix = SecretMatrix::linear(&self.inputs_secret(from)?, chain.ring(), &chain.key_basis(level));
        SwitchKey::generate(chain, gadget, level, &matrix, to, rng)
    }

    /// One sample of degree `n'` with the messages of all samples: `m(X) = sum_p X^brv(p) m_p(X^gap)`.
    /// Entries `None` and entries beyond the end of `samples` count as zero. A sample consists of `K` mask
    /// polynomials and one body. Its secret is `to.split_degree(n')` ([`PackingStep::key`]).
    ///
    /// The added noise is that of one switch of [`PackingStep::inputs`] polynomials.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without samples; [`LatticeError::DegreeChange`] for too many samples or
    /// samples of another degree; [`LatticeError::RankMismatch`], [`LatticeError::BasisMismatch`],
    /// [`LatticeError::RingMismatch`] where samples differ from one another or from the step's shape; as
    /// [`Switcher::switch_coeff`].
    pub fn pack(
        &self,
        samples: &[Option<PolysRef<'_, Coeff>>],
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Bundle<Coeff>, LatticeError> {
        self.pack_in(&switcher.chain().ring().subring(self.target)?, samples, switcher, key)
    }

    /// [`PackingStep::pack`] in `middle`, the ring of the result's degree.
    fn pack_in(
        &self,
        middle: &Ring,
        samples: &[Option<PolysRef<'_, Coeff>>],
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Bundle<Coeff>, LatticeError> {
        let first = samples
            .iter()
            .flatten()
            .next()
            .ok_or(LatticeError::EmptyShape { what: "the number of samples", got: 0 })?;
        if samples.len() > self.count()
            || first.ring().degree() != self.degree
            || switcher.chain().ring().degree() != self.large
        {
            let (degree, target) = (first.ring().degree(), self.target);
            return Err(LatticeError::DegreeChange {
                degree,
                rank: self.rank,
                target,
                what: "number of samples",
            });
        }
        for sample in samples.iter().flatten() {
            if sample.len() != self.rank + 1 {
                return Err(LatticeError::RankMismatch {
                    left: self.rank,
                    right: sample.len().saturating_sub(1),
                });
            }
            sample.at(0).check_same_basis(first.at(0))?;
        }
        let (large, basis) = (switcher.chain().ring(), first.basis());
        let zero = Polys::zero(first.ring(), basis, self.rank + 1);
        let samples = samples.iter().map(|sample| sample.unwrap_or(zero.view()));
        let samples: Vec<_> = samples.chain(std::iter::repeat(zero.view())).take(self.count()).collect();
        let parts = |polys: Range<usize>| {
            samples.iter().map(|sample| sample.range(polys.clone()).rows()).collect::<Vec<_>>()
        };
        let mut mask: Polys<Coeff> = Polys::scratch(large, basis, self.inputs());
        if self.result_rank() == 1 {
            large.engine().join_samples(
                Form::Coeff,
                mask.view_mut().into_rows(),
                &parts(0..self.rank),
                basis.indices(),
            );
        } else {
            large.engine().join_masks(mask.view_mut().into_rows(), &parts(0..self.rank), basis.indices());
        }
        let mut body: Polys<Coeff> = Polys::scratch(middle, basis, 1);
        middle.engine().join_samples(
            Form::Coeff,
            body.view_mut().into_rows(),
            &parts(self.rank..self.rank + 1),
            basis.indices(),
        );
        let inputs: Vec<PolyRef<'_, Coeff>> = mask.view().iter().collect();
        let mut switched = switcher.switch_coeff(&inputs, key)?;
        switched.bodies_mut().at(0).add_assign(&body.at(0).iota(large)?)?;
        switched.extract(middle)
    }
}

/// Packs samples by all `steps`, each with its key. Sample `p` goes to `X^brv(p)`. Missing samples count as
/// zero.
///
/// # Errors
/// [`LatticeError::EmptyShape`] where all samples are missing; [`LatticeError::DegreeChange`] for too many
/// samples; as [`PackingStep::pack`].
pub fn pack_places(
    steps: &[(PackingStep, &SwitchKey)],
    samples: &[Option<PolysRef<'_, Coeff>>],
    switcher: &Switcher,
) -> Result<Bundle<Coeff>, LatticeError> {
    let count: usize = steps.iter().map(|(step, _)| step.count()).product();
    let none = || LatticeError::EmptyShape { what: "the number of samples", got: 0 };
    if samples.len() > count {
        let (degree, rank) = steps.first().map_or((0, 0), |(step, _)| (step.degree, step.rank));
        return Err(LatticeError::DegreeChange {
            degree,
            rank,
            target: switcher.chain().ring().degree(),
            what: "number of samples",
        });
    }
    let mut round: Vec<Option<Bundle<Coeff>>> = Vec::new();
    for (number, (step, key)) in steps.iter().enumerate() {
        let own: Vec<Option<PolysRef<'_, Coeff>>> = if number == 0 {
            samples.to_vec()
        } else {
            round.iter().map(|sample| sample.as_ref().map(Bundle::view)).collect()
        };
        let middle = switcher.chain().ring().subring(step.target)?;
        let pack = |samples: &[Option<PolysRef<'_, Coeff>>]| {
            samples
                .iter()
                .any(Option::is_some)
                .then(|| step.pack_in(&middle, samples, switcher, key))
                .transpose()
        };
        let packed = own.chunks(step.count()).map(pack).collect::<Result<Vec<_>, _>>()?;
        drop(own);
        round = packed;
    }
    round.into_iter().next().flatten().ok_or_else(none)
}

/// Steps of packing with their keys, from samples of a small degree to one sample of the chain's degree.
#[derive(Debug)]
pub struct Packing {
    steps: Vec<(PackingStep, SwitchKey)>,
}

impl Packing {
    /// Keys for samples under `from` to the ring of the chain under `to`, through samples of the ranks
    /// `midpoints` in descending order; without midpoints, the column method. The secrets of the midpoints
    /// consist of the components of `to`.
    pub fn generate(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        from: &SecretKey,
        midpoints: &[usize],
        to: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        let steps = PackingStep::all(
            Degree(from.degree()),
            Rank(from.rank()),
            midpoints,
            Degree(chain.ring().degree()),
        )?;
        let key = |(number, step): (usize, PackingStep)| {
            let secret = if number == 0 { None } else { Some(to.split_degree(step.degree)?) };
            Ok((step, step.key(chain, gadget, level, secret.as_ref().unwrap_or(from), to, rng)?))
        };
        Ok(Self { steps: steps.into_iter().enumerate().map(key).collect::<Result<_, LatticeError>>()? })
    }

    /// The steps and their keys.
    #[must_use]
    pub fn steps(&self) -> &[(PackingStep, SwitchKey)] {
        &self.steps
    }

    /// Number of samples that fit the ring.
    #[must_use]
    pub fn count(&self) -> usize {
        self.steps.iter().map(|(step, _)| step.count()).product()
    }

    /// One sample of the chain's degree with the message `sum_c X^c m_c(X^count)` for the messages `m_c` of
    /// the samples: for samples of degree 1, `m_c` is coefficient `c`. Missing samples count as zero. A
    /// sample consists of `K` mask polynomials and one body: the view of a bundle, or a sample of a
    /// [`SampleBatch`](crate::SampleBatch).
    pub fn pack(
        &self,
        samples: &[PolysRef<'_, Coeff>],
        switcher: &Switcher,
    ) -> Result<Bundle<Coeff>, LatticeError> {
        let count = self.count();
        let steps: Vec<(PackingStep, &SwitchKey)> =
            self.steps.iter().map(|(step, key)| (*step, key)).collect();
        if samples.len() > count {
            return pack_places(&steps, &samples.iter().copied().map(Some).collect::<Vec<_>>(), switcher);
        }
        // All steps together put sample p at X^brv(p).
        let place = |index: usize| samples.get(bit_reverse(index, count.trailing_zeros())).copied();
        pack_places(&steps, &(0..count).map(place).collect::<Vec<_>>(), switcher)
    }
}
