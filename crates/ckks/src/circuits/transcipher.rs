//! Transciphering with an offline phase: the part that depends only on the masks of a light client's messages
//! is computed before the messages arrive.
//!
//! ```text
//! offline    SamplesPlan::prepare       masks of a range of counters, expanded from the client's seed and packed
//! online     SamplesPlan::run_prepared    bodies added, half a bootstrap
//! ```
//!
//! Packing is linear in masks and bodies, and moves bodies without changing them, so the bodies can be added
//! afterwards. The result is the same, to the last bit, as packing the complete samples.
//!
//! Source: [hermes, sec. 5.4, Fig. 5].

use std::ops::Range;

use clathrate_lattice::shape::Rank;
use clathrate_lattice::{Bundle, Level};

use super::samples::SamplesPlan;
use crate::arrays::{Ciphertext, Layout};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::light::Receiver;
use crate::parameters::Params;

/// The operation's name in errors.
const OPERATION: &str = "the masks of a client's messages";

/// The packed masks of a range of a client's counters. They can be used once.
#[derive(Debug)]
pub struct PreparedSamples {
    params: Params,
    layout: Layout,
    /// `None` after use.
    packed: Option<Ciphertext>,
    client: [u8; 32],
    counters: Range<u64>,
    pairs: bool,
}

impl PreparedSamples {
    pub(crate) fn from_parts(
        packed: Ciphertext,
        client: [u8; 32],
        counters: Range<u64>,
        pairs: bool,
    ) -> Self {
        Self {
            params: packed.params().clone(),
            layout: *packed.layout(),
            packed: Some(packed),
            client,
            counters,
            pairs,
        }
    }

    /// The parameters of the packed masks.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn packed(&self) -> Option<&Ciphertext> {
        self.packed.as_ref()
    }

    /// Whether two consecutive numbers form a complex slot, as in the plan of the masks.
    #[must_use]
    pub fn pairs(&self) -> bool {
        self.pairs
    }

    /// The counters of the messages.
    #[must_use]
    pub fn counters(&self) -> Range<u64> {
        self.counters.clone()
    }

    /// The client's name ([`Receiver::client_id`]).
    #[must_use]
    pub fn client_id(&self) -> [u8; 32] {
        self.client
    }

    /// Whether the masks have been used.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.packed.is_none()
    }
}

impl SamplesPlan {
    /// The offline phase for the samples of these counters.
    pub fn prepare(
        &self,
        evaluator: &Evaluator,
        receiver: &Receiver,
        counters: Range<u64>,
    ) -> Result<PreparedSamples, CkksError> {
        let packed = self.pack(evaluator, &receiver.masks(counters.clone())?)?;
        Ok(PreparedSamples::from_parts(packed, receiver.client_id(), counters, self.pairs()))
    }

    /// The online phase: the numbers of the messages, which must have the counters of `prepared` in any
    /// order, as by [`SamplesPlan::run`]. After an error the masks can still be used.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for masks of another client or used masks, for bytes that are not a message,
    /// and for counters that are missing, outside of the range, or duplicate; [`CkksError::Unsuitable`] for
    /// another plan than that of the masks; missing keys.
    pub fn run_prepared(
        &self,
        evaluator: &Evaluator,
        prepared: &mut PreparedSamples,
        receiver: &Receiver,
        messages: &[&[u8]],
    ) -> Result<Ciphertext, CkksError> {
        let refuse = |value: &str, remedy: &str| {
            Err(CkksError::OutOfRange { what: OPERATION, value: value.to_owned(), remedy: remedy.to_owned() })
        };
        let Some(packed) = &prepared.packed else {
            return refuse("those of messages that are there already", "prepare masks for the next counters");
        };
        evaluator.check(packed)?;
        if prepared.client != receiver.client_id() {
            return refuse("those of another client", "give the masks that were prepared for this client");
        }
        let bodies = receiver.bodies(messages, &prepared.counters)?;
        let (target, degree) = (self.half_bootstrap().params(), self.samples().degree());
        let (layout, members) = self.ends.placed(bodies.len())?;
        packed.params().check_same(target, OPERATION)?;
        let same = packed.layout() == &layout && prepared.pairs == self.pairs();
        if !same || receiver.params().shape() != self.samples().shape() {
            let reason = "they were prepared with another plan: give that one".to_owned();
            return Err(CkksError::Unsuitable { operation: OPERATION, reason });
        }
        let mut packed = packed.clone();
        let (ring, basis, gap) =
            (target.chain().ring(), target.chain().basis(Level(0)), target.degree() / degree);
        for (bundle, members) in packed.bundles.iter_mut().zip(members) {
            let fill = |poly: usize, prime: usize, words: &mut [u64]| {
                words.fill(0);
                if poly == 0 {
                    return;
                }
                let modulus = &ring.moduli()[basis.indices()[prime]];
                for (place, sample) in members.iter().enumerate() {
                    let Some(sample) = sample else { continue };
                    for i in 0..degree {
                        words[place + i * gap] = modulus.reduce_u128(bodies[sample * degree + i]);
                    }
                }
            };
            bundle.add_assign(&Bundle::from_words(ring, &basis, Rank(1), &fill)?.into_eval())?;
        }
        let fresh = self.raise(evaluator, &packed, bodies.len())?;
        prepared.packed = None;
        Ok(fresh)
    }
}
