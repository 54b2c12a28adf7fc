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

use super::evaluator::{Evaluator, check_slots};
use crate::arrays::{Ciphertext, Encoding};
use crate::error::CkksError;
use crate::keys::Operation;
use crate::keys::route::trace_steps;
use crate::shape::ModuleShape;

/// How errors call them.
const REDUCTION: &str = "a reduction of the rank";
const TO_RLWE: &str = "a conversion to a higher degree";
const TO_MLWE: &str = "a conversion to a lower degree";

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
        let keys = self.keys_for(&x.params, x, REDUCTION, Operation::ReduceRank(rank), x.level)?;
        let bundles = keys.iter().flat_map(|keys| x.bundles.iter().map(|bundle| keys.apply(bundle))).collect::<Result<_, _>>()?;
        self.switched(&x.params, x.moved(&target, bundles), Operation::ReduceRank(rank), x.level, 1.0)
    }

    /// The same array at rank 1 and the degree that has the same dimension; where the rank is not a power of two, its odd part remains.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] for rows of more than `n / 2` entries; [`CkksError::NoRelativeKeys`], [`CkksError::NoRotationKey`] without the keys of
    /// [`Params::rlwe_needs`](crate::Params::rlwe_needs); [`CkksError::Encoding`] unless slots.
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
        // A bundle at the higher degree fills all slots: no rotation there is another one's period.
        let slots = target.slot_count();
        let rotation = |steps| self.keys_at(&target, x, TO_RLWE, Operation::Rotate(steps), (x.level, slots));
        let rotations = trace_steps(from.degree, target.degree()).map(rotation).collect::<Result<Vec<_>, _>>()?;
        let rotations: Option<Vec<_>> = rotations.into_iter().collect();
        let convert = |bundle: &Bundle<Eval>| {
            let ring = target.chain().ring();
            let mut embedded = bundle.embed(ring)?;
            // The trace multiplies by the gap; its inverse comes first, exactly.
            let gap = (target.degree() / from.degree) as u64;
            let inverse: Vec<u64> = embedded.basis().indices().iter().map(|&i| ring.moduli()[i].inverse(gap).unwrap_or(0)).collect();
            embedded.mul_constants_assign(&inverse);
            for keys in rotations.iter().flatten() {
                let rotated = keys.apply(&embedded)?;
                embedded.add_assign(&rotated)?;
            }
            Ok(embedded)
        };
        // On a dry run there are no bundles, and no keys.
        let bundles = x.bundles.iter().map(convert).collect::<Result<_, CkksError>>()?;
        let steps = trace_steps(from.degree, target.degree());
        steps.into_iter().try_fold(x.moved(&target, bundles), |y, step| self.switched(&target, y, Operation::Rotate(step), x.level, 1.0))
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
