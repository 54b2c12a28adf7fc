//! How to run, as opposed to what to compute: never part of a parameter set.

use clathrate_lattice::switch::{MachineProfile, SwitchMethod};

use crate::error::CkksError;

/// Bytes that may be derived from one key, in multiples of its own: room for each halving of the number of digits, and for KLSS
/// forms of the top levels.
pub const DEFAULT_KEY_EXPANSION: f64 = 4.0;

/// Which switching method each level uses. Results agree up to noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// The fastest method at each level, by a cost model and within the memory limits.
    #[default]
    Fastest,
    /// The hybrid method with the generated keys unchanged, at every level.
    AsMade,
    /// One method at every level. A level at which the method is impossible gives an error.
    Fixed(SwitchMethod),
}

impl Switching {
    /// In a few words, for people and programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::AsMade => "as made",
            Self::Fixed(_) => "fixed",
        }
    }
}

impl From<SwitchMethod> for Switching {
    fn from(choice: SwitchMethod) -> Self {
        Self::Fixed(choice)
    }
}

/// How to run; the default is one thread, the fastest kernels, the fastest switching.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Runtime {
    /// Worker threads; absent for one.
    pub threads: Option<usize>,
    /// A forced instruction set; absent for the fastest.
    pub isa: Option<String>,
    /// How levels switch.
    pub switching: Switching,
    /// What the planner knows of the machine; absent for the profile that `clathrate tune` stored, or else the built-in one.
    pub profile: Option<MachineProfile>,
    /// Bytes that may be derived from one key, in multiples of its own, infinity for any; absent for [`DEFAULT_KEY_EXPANSION`].
    pub key_expansion: Option<f64>,
    /// Bytes of derived keys kept in all; absent for [`clathrate_lattice::switch::DEFAULT_DERIVED_KEY_BYTES`].
    pub key_cache_bytes: Option<usize>,
}

impl Runtime {
    /// Bytes that may be derived from one key, in multiples of its own.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for negative numbers and NaN.
    pub(super) fn expansion(&self) -> Result<f64, CkksError> {
        match self.key_expansion {
            None => Ok(DEFAULT_KEY_EXPANSION),
            Some(factor) if factor >= 0.0 => Ok(factor),
            Some(factor) => Err(CkksError::OutOfRange {
                what: "key_expansion",
                value: factor.to_string(),
                remedy: format!("use 0 (nothing derived) or more; {DEFAULT_KEY_EXPANSION} is the default"),
            }),
        }
    }
}
