//! Ciphertexts between the shapes of one family: other ranks, other degrees at equal dimension.
//!
//! ```text
//! to_rank     (n, k) -> (n, k')          down: a switch by a reduction key; up: zeros
//! to_rlwe     (n, k) -> (n g, k / g)     embed, then the trace to X^g, log2 g rotations there
//! to_mlwe     (n, k) -> (n / g, k g)     extract: no key
//! ```
//!
//! Reducing between the two degree moves is a ring switch: `to_mlwe(4)`, `to_rank(2)`, `to_rlwe()`. Source: [dpad-he, sec. 3.1.1, 4].

use clathrate_lattice::{Bundle, Eval};

use crate::arrays::{Ciphertext, Encoding};
use crate::error::CkksError;
use crate::evaluation::evaluator::{Evaluator, check_slots, with_each};
use crate::keys::EvaluationKeys;
use crate::keys::needs::{KeyNeeds, Reach, Route};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// How errors call them.
const REDUCTION: &str = "a reduction of the rank";
const TO_RLWE: &str = "a conversion to a higher degree";
const TO_MLWE: &str = "a conversion to a lower degree";

impl Params {
    /// The shape of rank 1, or of the least rank there is, at equal dimension.
    #[must_use]
    pub fn rlwe_shape(&self) -> ModuleShape {
        let gap = 1 << self.rank().trailing_zeros();
        ModuleShape { degree: self.degree() * gap, rank: self.rank() / gap }
    }

    /// The keys that [`Evaluator::to_rlwe`] needs: rotations at the higher degree.
    #[must_use]
    pub fn rlwe_needs(&self, reach: Reach) -> KeyNeeds {
        let target = self.rlwe_shape();
        if target == self.shape() {
            return KeyNeeds::new();
        }
        let needs = KeyNeeds::new().rotations(trace_steps(self.degree(), target.degree), reach);
        KeyNeeds::new().relative(target, &needs)
    }

    /// `needs` with every [`Route`] made of shapes of these parameters.
    ///
    /// # Errors
    /// [`CkksError::RankStep`] unless ranks go down; [`CkksError::InvalidParams`] for shapes that cannot be reached, and where rotations by powers of
    /// two are wanted at a shape without a temporary rank.
    pub fn resolve(&self, needs: &KeyNeeds) -> Result<KeyNeeds, CkksError> {
        let mut resolved = needs.without_routes();
        for Route { ranks, to_rlwe, reach, needs } in needs.routes() {
            let mut at = self.clone();
            for step in 0..=ranks.len() {
                let mut here = self.own_needs(&at, needs)?;
                if *to_rlwe {
                    let higher = at.rlwe_shape();
                    here = here.merge(&at.rlwe_needs(*reach));
                    if higher != at.shape() {
                        here = here.relative(higher, &self.own_needs(&at.relative(higher)?, needs)?);
                    }
                }
                let next = ranks.get(step).copied();
                if let Some(rank) = next {
                    if rank == 0 || rank >= at.rank() {
                        let remedy = "name the ranks from the highest to the lowest, each below the one before it".to_owned();
                        return Err(CkksError::RankStep { from: at.rank(), to: rank, remedy });
                    }
                    here = here.reduce_to(rank, *reach);
                }
                // Reductions do not leave the degree: all shapes of the way hang on the first.
                resolved = if at == *self { resolved.merge(&here) } else { resolved.relative(at.shape(), &here) };
                if let Some(rank) = next {
                    at = at.at_rank(rank)?;
                }
            }
        }
        Ok(resolved)
    }

    /// `needs` where they can be met at `at`.
    fn own_needs(&self, at: &Self, needs: &KeyNeeds) -> Result<KeyNeeds, CkksError> {
        if needs.powers().is_some() && at.temporary().is_none() && self.temporary().is_some() {
            let reason = format!(
                "degree and rank {} have no temporary rank that is as secure as these parameters: ask for rotations by powers of two apart, \
                 and for `rotations` by steps there",
                at.shape()
            );
            return Err(CkksError::InvalidParams { reason });
        }
        Ok(needs.clone())
    }
}

/// Rotations that together fix `X^g` and nothing less: by `n/2, n, 2n, ..` of `N/2` slots. [dpad-he, Algorithm 5]
fn trace_steps(degree: usize, target: usize) -> impl Iterator<Item = i64> {
    std::iter::successors(Some(degree / 2), |&step| Some(2 * step)).take_while(move |&step| step < target / 2).map(|step| step as i64)
}

/// Ranks from `from`'s to `rank` for which `keys` have reductions, `rank` last; the first way found downwards.
fn path(keys: &EvaluationKeys, from: ModuleShape, rank: usize) -> Option<Vec<usize>> {
    let own = keys.relative(from).ok()?;
    if own.reduction(rank).is_ok() {
        return Some(vec![rank]);
    }
    own.reductions.iter().filter(|&(&between, _)| between > rank).find_map(|(&between, (lower, _))| {
        let mut rest = path(keys, lower.shape(), rank)?;
        rest.insert(0, between);
        Some(rest)
    })
}

/// A bundle at a lower rank, by the reductions there are in `keys`, at whatever shape.
pub(crate) fn reduce(keys: &EvaluationKeys, bundle: &Bundle<Eval>, rank: usize) -> Result<Bundle<Eval>, CkksError> {
    let shape = |bundle: &Bundle<Eval>| ModuleShape { degree: bundle.ring().degree(), rank: bundle.rank() };
    // Without a way there, the error names the keys there are.
    let steps = path(keys, shape(bundle), rank).unwrap_or_else(|| vec![rank]);
    let mut reduced = bundle.clone();
    for rank in steps {
        let (lower, key) = keys.relative(shape(&reduced))?.reduction(rank)?;
        reduced = reduced.reduce_rank(rank, lower.switcher()?, key)?;
    }
    Ok(reduced)
}

impl Evaluator {
    /// The same array at rank `rank`: lower, by reduction keys, or higher, by zeros, up to the rank of the parameters.
    ///
    /// # Errors
    /// [`CkksError::NoReductionKey`]; [`CkksError::LevelTooHigh`] where the lower rank is not secure at this level; parameter and secret errors.
    pub fn to_rank(&self, x: &Ciphertext, rank: usize) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if rank == x.params.rank() {
            return Ok(x.clone());
        }
        let target = x.params.at_rank(rank)?;
        if rank > x.params.rank() {
            return Ok(x.moved(&target, x.bundles.iter().map(|bundle| bundle.rank_up(rank)).collect::<Result<_, _>>()?));
        }
        if x.level > target.max_level() {
            return Err(CkksError::LevelTooHigh {
                operation: REDUCTION,
                shape: target.shape(),
                level: x.level.0,
                most: target.max_level().0,
            });
        }
        let keys = self.keys_for(x, REDUCTION, |needs| needs.reduce_to(rank, Reach::Level(x.level.0)))?;
        let Some(keys) = keys.and_then(|_| self.held()) else { return Ok(x.moved(&target, Vec::new())) };
        let bundles = x.bundles.iter().map(|bundle| reduce(keys, bundle, rank)).collect::<Result<_, _>>()?;
        Ok(x.moved(&target, bundles))
    }

    /// The same array at rank 1 and the degree that has the same dimension; where the rank is not a power of two, its odd part remains.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] for rows of more than `n / 2` entries; [`CkksError::NoRelativeKeys`], [`CkksError::NoRotationKey`] without the keys of
    /// [`Params::rlwe_needs`]; [`CkksError::Encoding`] unless slots.
    pub fn to_rlwe(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let (from, target) = (x.params.shape(), x.params.relative(x.params.rlwe_shape())?);
        if target == x.params {
            if from.rank == 1 {
                return Ok(x.clone());
            }
            let reason = format!("rank {} is odd: only a power of two of the rank can become degree", from.rank);
            return Err(CkksError::Conversion { operation: TO_RLWE, reason });
        }
        check_convertible(x, from.degree, TO_RLWE)?;
        let steps: Vec<i64> = trace_steps(from.degree, target.degree()).collect();
        let keys = self.keys_at(&target, x, TO_RLWE, |needs| needs.rotations(steps.iter().copied(), Reach::Level(x.level.0)))?;
        let convert = |(keys, bundle): (&EvaluationKeys, &Bundle<Eval>)| {
            let ring = target.chain().ring();
            let mut embedded = bundle.embed(ring)?;
            // The trace multiplies by the gap; its inverse comes first, exactly.
            let gap = (target.degree() / from.degree) as u64;
            let inverse: Vec<u64> = embedded.basis().indices().iter().map(|&i| ring.moduli()[i].inverse(gap).unwrap_or(0)).collect();
            embedded.mul_constants_assign(&inverse);
            for &step in &steps {
                let rotated = match (keys.rotation(step), keys.power(step)) {
                    (Err(_), Some(power)) => embedded.rotate_rank_hoisted(&[(&power.phi, &power.key)], keys.crossing()?)?,
                    (galois, _) => {
                        let galois = galois?;
                        embedded.rotate(&galois.phi, target.switcher()?, &galois.key)?
                    }
                };
                embedded.add_assign(&rotated)?;
            }
            Ok(embedded)
        };
        let bundles = with_each(keys, &x.bundles).map(convert).collect::<Result<_, CkksError>>()?;
        Ok(x.moved(&target, bundles))
    }

    /// The same array at rank `rank` and the degree that has the same dimension. No key: it is a rearrangement. Noise of the other coefficients is
    /// left behind.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] where `rank` is not this rank times a power of two, or rows do not fit the slots there; [`CkksError::Encoding`] unless
    /// slots.
    pub fn to_mlwe(&self, x: &Ciphertext, rank: usize) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let from = x.params.shape();
        if rank == from.rank {
            return Ok(x.clone());
        }
        let gap = if rank.is_multiple_of(from.rank) { rank / from.rank } else { 0 };
        if !gap.is_power_of_two() || from.degree / gap < 8 {
            let reason = format!("rank {rank} is not rank {} times a power of two, at a degree of 8 or more", from.rank);
            return Err(CkksError::Conversion { operation: TO_MLWE, reason });
        }
        let target = x.params.relative(ModuleShape { degree: from.degree / gap, rank })?;
        check_convertible(x, target.degree(), TO_MLWE)?;
        let ring = target.chain().ring();
        let bundles = x.bundles.iter().map(|bundle| bundle.extract(ring)).collect::<Result<_, _>>()?;
        Ok(x.moved(&target, bundles))
    }
}

/// Refuses arrays whose rows are not in the slots of the lower of two degrees.
fn check_convertible(x: &Ciphertext, degree: usize, operation: &'static str) -> Result<(), CkksError> {
    check_slots(x, operation)?;
    let layout = x.layout()?;
    if layout.chunks == 1 && layout.capacity <= degree / 2 {
        return Ok(());
    }
    debug_assert_eq!(x.encoding, Encoding::Slots);
    let columns = layout.columns;
    let reason =
        format!("rows of {columns} entries do not fit the {} slots of degree {degree}: split the rows, or use a smaller rank", degree / 2);
    Err(CkksError::Conversion { operation, reason })
}
