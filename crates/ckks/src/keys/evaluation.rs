//! What an evaluator holds: switching keys by purpose, at every shape there are keys for, and how each is used.

use std::collections::BTreeMap;

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::multiply::Tensor;
use clathrate_lattice::{Bundle, Eval, Level, SwitchKey, Switcher, TemporaryRank};

use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// One automorphism's key.
#[derive(Debug, Clone)]
pub struct GaloisKey {
    pub(crate) phi: Automorphism,
    pub(crate) key: SwitchKey,
}

/// What an evaluator needs to compute: no secret among it.
#[derive(Debug, Clone)]
pub struct EvaluationKeys {
    pub(crate) params: Params,
    pub(crate) id: KeyId,
    /// To the temporary rank, where products go through it.
    pub(crate) relinearisation: Option<SwitchKey>,
    /// To the rank itself over the widened chain, for the levels where that is secure.
    pub(crate) direct: Option<SwitchKey>,
    /// Back from the temporary rank.
    pub(crate) rank_down: Option<SwitchKey>,
    pub(crate) galois: BTreeMap<GaloisElement, GaloisKey>,
    /// Of powers of two, at the temporary rank.
    pub(crate) powers: BTreeMap<GaloisElement, GaloisKey>,
    /// By the rank they lead to, with the parameters there.
    pub(crate) reductions: BTreeMap<usize, (Params, SwitchKey)>,
    /// Keys of the same secret at other shapes.
    pub(crate) relatives: BTreeMap<ModuleShape, EvaluationKeys>,
}

/// How products of ciphertexts are relinearised.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Relineariser<'a> {
    /// By one switch.
    Direct(&'a Switcher, &'a SwitchKey),
    /// Through the temporary rank.
    TemporaryRank(TemporaryRank<'a>, &'a SwitchKey),
}

impl Relineariser<'_> {
    /// Relinearised, not rescaled.
    pub(crate) fn relinearise(self, tensor: &Tensor) -> Result<Bundle<Eval>, CkksError> {
        Ok(match self {
            Self::Direct(switcher, key) => tensor.relinearise(switcher, key)?,
            Self::TemporaryRank(crossing, key) => tensor.cross_relinearise(crossing, key)?,
        })
    }

    /// Relinearised and rescaled by one division.
    pub(crate) fn relinearise_rescale(self, tensor: &Tensor) -> Result<Bundle<Eval>, CkksError> {
        Ok(match self {
            Self::Direct(switcher, key) => tensor.relinearise_rescale(switcher, key)?,
            Self::TemporaryRank(crossing, key) => tensor.cross_relinearise_rescale(crossing, key)?,
        })
    }
}

impl EvaluationKeys {
    /// No keys yet.
    pub(crate) fn none(params: &Params, id: KeyId) -> Self {
        Self {
            params: params.clone(),
            id,
            relinearisation: None,
            direct: None,
            rank_down: None,
            galois: BTreeMap::new(),
            powers: BTreeMap::new(),
            reductions: BTreeMap::new(),
            relatives: BTreeMap::new(),
        }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Which secret they belong to.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The keys at `shape`, wherever in the family they are.
    ///
    /// # Errors
    /// [`CkksError::NoRelativeKeys`].
    pub fn relative(&self, shape: ModuleShape) -> Result<&Self, CkksError> {
        self.find(shape).ok_or_else(|| {
            let shapes: Vec<String> = self.shapes().iter().map(ToString::to_string).collect();
            CkksError::NoRelativeKeys { shape, available: shapes.join(", ") }
        })
    }

    fn find(&self, shape: ModuleShape) -> Option<&Self> {
        if self.params.shape() == shape {
            return Some(self);
        }
        self.relatives.values().find_map(|keys| keys.find(shape))
    }

    /// The shapes there are keys for, their own first.
    #[must_use]
    pub fn shapes(&self) -> Vec<ModuleShape> {
        let mut shapes = vec![self.params.shape()];
        shapes.extend(self.relatives.values().flat_map(Self::shapes));
        shapes
    }

    /// The ranks there are reduction keys for, from the rank of these parameters.
    pub fn reduced_ranks(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.reductions.keys().copied()
    }

    /// The relinearisation key: to the temporary rank, where products go through it.
    ///
    /// # Errors
    /// [`CkksError::NoRelinearisationKey`].
    pub fn relinearisation(&self) -> Result<&SwitchKey, CkksError> {
        self.relinearisation.as_ref().ok_or(CkksError::NoRelinearisationKey)
    }

    /// How products at `level` are relinearised.
    pub(crate) fn relineariser(&self, level: Level) -> Result<Relineariser<'_>, CkksError> {
        let key = self.relinearisation()?;
        let direct = self.direct.as_ref().filter(|direct| level <= direct.level());
        match (self.params.crossing(), direct) {
            (None, _) => Ok(Relineariser::Direct(self.params.switcher()?, key)),
            (Some(temporary), Some(direct)) => Ok(Relineariser::Direct(&temporary.switcher, direct)),
            (Some(_), None) => Ok(Relineariser::TemporaryRank(self.crossing()?, key)),
        }
    }

    /// The way to the temporary rank and back.
    pub(crate) fn crossing(&self) -> Result<TemporaryRank<'_>, CkksError> {
        let temporary = self.params.temporary().ok_or(CkksError::NoTemporaryRank { operation: "a crossing" })?;
        let down = self.rank_down.as_ref().ok_or(CkksError::NoRelinearisationKey)?;
        Ok(TemporaryRank { wide: &temporary.switcher, base: self.params.switcher()?, down })
    }

    /// The key of a reduction to `rank`, and the parameters there.
    ///
    /// # Errors
    /// [`CkksError::NoReductionKey`], naming those there are.
    pub fn reduction(&self, rank: usize) -> Result<(&Params, &SwitchKey), CkksError> {
        let found = self.reductions.get(&rank).map(|(params, key)| (params, key));
        found.ok_or_else(|| {
            let ranks: Vec<String> = self.reductions.keys().map(ToString::to_string).collect();
            let available = if ranks.is_empty() { "none".to_owned() } else { ranks.join(", ") };
            CkksError::NoReductionKey { from: self.params.rank(), to: rank, available }
        })
    }

    /// The key of a rotation by `steps`.
    ///
    /// # Errors
    /// [`CkksError::NoRotationKey`], naming those there are.
    pub fn rotation(&self, steps: i64) -> Result<&GaloisKey, CkksError> {
        let element = GaloisElement::rotation(steps, self.params.degree());
        self.galois.get(&element).ok_or_else(|| CkksError::NoRotationKey { steps, available: self.available() })
    }

    /// The key at the temporary rank of a rotation by `steps`, plus or minus a power of two.
    pub(crate) fn power(&self, steps: i64) -> Option<&GaloisKey> {
        self.powers.get(&GaloisElement::rotation(steps, self.params.degree()))
    }

    /// Whether every rotation can be made of rotations by powers of two.
    #[must_use]
    pub fn has_powers(&self) -> bool {
        !self.powers.is_empty()
    }

    /// The conjugation key.
    ///
    /// # Errors
    /// [`CkksError::NoConjugationKey`].
    pub fn conjugation(&self) -> Result<&GaloisKey, CkksError> {
        self.galois.get(&GaloisElement::conjugation(self.params.degree())).ok_or(CkksError::NoConjugationKey)
    }

    /// The rotation steps there are keys for, in `[0, slots)`; those made of powers of two not among them.
    #[must_use]
    pub fn rotation_steps(&self) -> Vec<i64> {
        let degree = self.params.degree();
        let mut element = 1usize;
        let mut steps = Vec::new();
        for step in 0..(degree / 2) as i64 {
            if let Ok(galois) = GaloisElement::new(element, degree)
                && self.galois.contains_key(&galois)
            {
                steps.push(step);
            }
            element = element * 5 % (2 * degree);
        }
        steps
    }

    fn available(&self) -> String {
        let slots = self.params.slot_count() as i64;
        let signed = |step: i64| if step > slots / 2 { step - slots } else { step };
        let steps: Vec<String> = self.rotation_steps().into_iter().map(|step| signed(step).to_string()).collect();
        if steps.is_empty() { "none".to_owned() } else { steps.join(", ") }
    }

    /// The switching keys of this shape, each with the switcher that reads it.
    pub(crate) fn own_keys(&self) -> impl Iterator<Item = (&Switcher, &SwitchKey)> {
        let (base, temporary) = (self.params.switcher().ok(), self.params.temporary().map(|temporary| &temporary.switcher));
        let up = if self.params.crossing().is_some() { temporary } else { base };
        let relinearisation = self.relinearisation.iter().map(move |key| (up, key));
        let direct = self.direct.iter().map(move |key| (temporary, key));
        let down = self.rank_down.iter().map(move |key| (base, key));
        let galois = self.galois.values().map(move |galois| (base, &galois.key));
        let powers = self.powers.values().map(move |galois| (temporary, &galois.key));
        let reductions = self.reductions.values().map(|(lower, key)| (lower.switcher().ok(), key));
        let all = relinearisation.chain(direct).chain(down).chain(galois).chain(powers).chain(reductions);
        all.filter_map(|(switcher, key)| Some((switcher?, key)))
    }

    /// All switching keys, those of other shapes last.
    pub(crate) fn switch_keys(&self) -> Vec<&SwitchKey> {
        let mut keys: Vec<&SwitchKey> = self.own_keys().map(|(_, key)| key).collect();
        self.relatives.values().for_each(|relative| keys.extend(relative.switch_keys()));
        keys
    }

    /// Bytes in memory, masks expanded.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.switch_keys().into_iter().map(SwitchKey::bytes).sum()
    }
}
