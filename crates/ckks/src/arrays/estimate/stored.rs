//! Estimates in files and as text.

use serde::{Deserialize, Serialize};

use super::masks::Masks;
use super::names::{StoredName, stored_name};
use super::source::{Source, are_alone, are_false, each_alone};
use super::spread::Spread;
use super::{EVEN, Estimate, MAX_SOURCES, Root, Sums};

/// Maximum number of stored names of sources in the rest.
const MAX_STORED: usize = 64;

/// An estimate as stored in files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredEstimate {
    typical: Option<f64>,
    mean: f64,
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    together: [f64; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<Root>,
    #[serde(default, skip_serializing_if = "are_false")]
    centred: [bool; 2],
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sums: Vec<Sums>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    #[serde(with = "stored_name")]
    name: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masks: Option<StoredName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masks_origin: Option<StoredName>,
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    masks_alike: [f64; 2],
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    masks_together: [f64; 2],
    sources: Vec<Source>,
    #[serde(default = "no_rest", skip_serializing_if = "is_no_rest")]
    rest: Source,
    #[serde(default = "no_names", skip_serializing_if = "are_no_names")]
    dropped: Option<Vec<[StoredName; 2]>>,
}

/// The default of files without a rest.
fn no_rest() -> Source {
    Source::NONE
}

fn is_no_rest(rest: &Source) -> bool {
    *rest == Source::NONE
}

/// The default of files without names of sources in the rest.
#[expect(clippy::unnecessary_wraps, reason = "the default of a field")]
fn no_names() -> Option<Vec<[StoredName; 2]>> {
    Some(Vec::new())
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn are_no_names(names: &Option<Vec<[StoredName; 2]>>) -> bool {
    names.as_ref().is_some_and(Vec::is_empty)
}

impl Estimate {
    /// The estimate for a file, which stores the largest magnitude separately; `None` if the errors are
    /// unknown.
    pub(crate) fn stored(&self) -> Option<StoredEstimate> {
        let finite = |source: &Source| source.typical.is_finite() && source.worst.is_finite();
        let known = self.sources.iter().chain([&self.rest]).all(finite) && self.mean.is_finite();
        known.then(|| StoredEstimate {
            typical: Some(self.typical).filter(|typical| typical.is_finite()),
            mean: self.mean,
            together: self.together,
            root: self.root,
            centred: self.centred,
            sums: self.sums.clone(),
            spread: self.spread,
            name: self.name,
            masks: self.masks.name.map(StoredName),
            masks_origin: self.masks.origin.map(StoredName),
            masks_alike: self.masks.alike,
            masks_together: self.masks.together,
            sources: self.sources.to_vec(),
            rest: self.rest,
            // `None` means that the names are unknown.
            dropped: self
                .dropped
                .as_ref()
                .filter(|names| names.len() <= MAX_STORED)
                .map(|names| names.iter().map(|names| names.map(StoredName)).collect()),
        })
    }

    /// The estimate as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let magnitude = Some(self.magnitude).filter(|magnitude| magnitude.is_finite());
        serde_json::to_string(&(magnitude, self.stored())).unwrap_or_default()
    }

    /// Parses the text of [`Estimate::to_text`]; `None` for other text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let (magnitude, stored) = serde_json::from_str::<(Option<f64>, Option<StoredEstimate>)>(text).ok()?;
        Self::from_stored(magnitude, stored)
    }

    /// The estimate of a file; `None` if it is inconsistent.
    pub(crate) fn from_stored(magnitude: Option<f64>, stored: Option<StoredEstimate>) -> Option<Self> {
        let magnitude = magnitude.unwrap_or(f64::INFINITY);
        let Some(stored) = stored else {
            return (magnitude >= 0.0).then(|| Self {
                magnitude,
                typical: EVEN * magnitude,
                ..Self::unknown()
            });
        };
        let add_up = |together: [f64; 2]| together.iter().all(|&count| count.is_finite() && count >= 0.0);
        let sound = |source: &Source| {
            let sizes = [source.typical, source.worst, source.alike[0], source.alike[1], source.period];
            let factors = source.factors.is_none_or(|factors| factors.is_finite());
            let alike = source.alike.iter().all(|&alike| alike >= 1.0) && add_up(source.together);
            let share = (0.0..=1.0).contains(&source.root);
            factors && share && sizes.into_iter().all(f64::is_finite) && source.period >= 1.0 && alike
        };
        let spread = stored.spread.is_none_or(|spread| spread.numbers.is_finite());
        let sums = stored.sums.len() <= 2
            && stored.sums.iter().all(|sums| sums.numbers.numbers.is_finite() && add_up(sums.counts));
        let root = stored
            .root
            .is_none_or(|root| [root.mean, root.square].iter().all(|share| (0.0..=1.0).contains(share)));
        let numbers = spread
            && sums
            && root
            && magnitude >= 0.0
            && stored.mean.is_finite()
            && add_up(stored.together)
            && stored.typical.is_none_or(|typical| typical >= 0.0 && typical.is_finite());
        let of = |name: Option<StoredName>| name.map(|StoredName(name)| name);
        let masks = Masks {
            name: of(stored.masks),
            origin: of(stored.masks_origin),
            alike: stored.masks_alike,
            together: stored.masks_together,
        };
        let few = stored.dropped.as_ref().is_none_or(|names| names.len() <= MAX_STORED);
        if !numbers
            || !masks.is_sound()
            || !few
            || stored.sources.len() > MAX_SOURCES
            || !stored.sources.iter().chain([&stored.rest]).all(sound)
        {
            return None;
        }
        let typical = stored.typical.unwrap_or(f64::INFINITY);
        let mut own = Self {
            typical,
            mean: stored.mean,
            spread: stored.spread,
            name: stored.name,
            rest: stored.rest,
            ..Self::exact(magnitude)
        };
        (own.together, own.root, own.centred, own.sums) =
            (stored.together, stored.root, stored.centred, stored.sums);
        own.masks = masks;
        own.dropped = stored
            .dropped
            .map(|names| names.into_iter().map(|names| names.map(|StoredName(name)| name)).collect());
        stored.sources.into_iter().for_each(|source| own.push(source));
        Some(own)
    }
}
