//! Who chooses how a level switches.

use super::choice::SwitchChoice;
use crate::chain::{Chain, Level};
use crate::gadget::Gadget;

/// Chooses the engine and the digits of each level.
#[derive(Debug, Clone)]
pub enum SwitchPolicy {
    /// One way at all levels; where a level cannot switch that way, an error says so.
    Fixed(SwitchChoice),
}

impl SwitchPolicy {
    /// How `level` switches with keys of level `reach`.
    pub(super) fn choose(&self, _chain: &Chain, _gadget: &Gadget, _level: Level, _reach: Level, _inputs: usize) -> SwitchChoice {
        match self {
            Self::Fixed(choice) => *choice,
        }
    }

    /// Whether `level` may share key forms made for `choice`.
    pub(super) fn shares(&self, _choice: SwitchChoice, _level: Level, _reach: Level) -> bool {
        true
    }
}
