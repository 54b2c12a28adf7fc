//! How a function returns several arrays: alone, in lists, by names.

use serde::{Deserialize, Serialize};

use crate::error::CkksError;

/// The most levels of lists in lists.
const MOST_DEPTH: usize = 16;

/// The arrangement of results; arrays by their places among the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// An array.
    Array(usize),
    /// An array whose two axes are exchanged.
    Transposed(usize),
    /// A list.
    List(Vec<Self>),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A dictionary, in its order.
    Named(Vec<(String, Self)>),
}

impl Arrangement {
    /// The names of the results, in their order: those of dictionaries and places in lists, with dots between
    /// them; empty for a single array.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.collect("", &mut names);
        names
    }

    fn collect(&self, prefix: &str, names: &mut Vec<String>) {
        let inside = |own: &str| if prefix.is_empty() { own.to_owned() } else { format!("{prefix}.{own}") };
        match self {
            Self::Array(_) | Self::Transposed(_) => names.push(prefix.to_owned()),
            Self::List(parts) | Self::Tuple(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    part.collect(&inside(&index.to_string()), names);
                }
            }
            Self::Named(parts) => parts.iter().for_each(|(name, part)| part.collect(&inside(name), names)),
        }
    }

    /// Whether each result, in their order, is returned with its two axes exchanged.
    #[must_use]
    pub fn transposed(&self) -> Vec<bool> {
        match self {
            Self::Array(_) => vec![false],
            Self::Transposed(_) => vec![true],
            Self::List(parts) | Self::Tuple(parts) => parts.iter().flat_map(Self::transposed).collect(),
            Self::Named(parts) => parts.iter().flat_map(|(_, part)| part.transposed()).collect(),
        }
    }

    /// The same arrangement, in which no axes are exchanged.
    pub(super) fn untransposed(&self) -> Self {
        let all = |parts: &[Self]| parts.iter().map(Self::untransposed).collect();
        match self {
            &Self::Array(index) | &Self::Transposed(index) => Self::Array(index),
            Self::List(parts) => Self::List(all(parts)),
            Self::Tuple(parts) => Self::Tuple(all(parts)),
            Self::Named(parts) => {
                Self::Named(parts.iter().map(|(name, part)| (name.clone(), part.untransposed())).collect())
            }
        }
    }

    fn arrays(&self, depth: usize, found: &mut Vec<usize>) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        match self {
            Self::Array(index) | Self::Transposed(index) => found.push(*index),
            Self::List(parts) | Self::Tuple(parts) => {
                parts.iter().try_for_each(|part| part.arrays(depth + 1, found))?;
            }
            Self::Named(parts) => parts.iter().try_for_each(|(_, part)| part.arrays(depth + 1, found))?,
        }
        Some(())
    }

    /// Refuses an arrangement that does not have each of `count` results once, in their order.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    pub(super) fn check(&self, count: usize) -> Result<(), CkksError> {
        let mut found = Vec::new();
        if count > 0 && self.arrays(0, &mut found).is_some() && found.iter().copied().eq(0..count) {
            return Ok(());
        }
        Err(CkksError::OutOfRange {
            what: "the results of a program",
            value: format!("{count} arrays"),
            remedy: format!(
                "return at least one array, in at most {MOST_DEPTH} lists or dictionaries in one another"
            ),
        })
    }
}
