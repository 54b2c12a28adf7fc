//! Segments: consecutive levels of a chain that share one nominal scale.
//!
//! Inside a segment the canonical scales follow `s_{l-1} = s_l^2 / q_l`. The highest level of each segment
//! has the segment's nominal scale. A chain can therefore hold circuits of several precisions, one after the
//! other: linear maps, ordinary products, modular reduction.

use serde::{Deserialize, Serialize};

use crate::error::CkksError;

/// Consecutive levels with one nominal scale.
///
/// ```
/// let segment: clathrate_ckks::parameters::Segment = toml::from_str(r#"
///     name = "ordinary"
///     log2_scale = 45.8
///     levels = [1, 13]
/// "#).unwrap();
/// assert_eq!(segment.levels, (1, 13));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// A name for people, e.g. "modular reduction", unique in a chain.
    pub name: String,
    /// Binary logarithm of the nominal scale: the canonical scale of the segment's highest level.
    pub log2_scale: f64,
    /// The lowest and the highest level.
    pub levels: (usize, usize),
}

impl Segment {
    /// The lowest level.
    #[must_use]
    pub fn lowest(&self) -> usize {
        self.levels.0
    }

    /// The highest level.
    #[must_use]
    pub fn highest(&self) -> usize {
        self.levels.1
    }

    /// Whether the segment has this level.
    #[must_use]
    pub fn contains(&self, level: usize) -> bool {
        (self.levels.0..=self.levels.1).contains(&level)
    }
}

/// Name of the only segment if a specification names none.
const WHOLE: &str = "chain";

/// The segments of a chain from level 0 up. Every level is in exactly one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Segments(Vec<Segment>);

impl Segments {
    /// The segments of a checked specification: `given`, or a single one with all levels from 0 to `top`.
    pub(super) fn new(given: &[Segment], top: usize, log2_scale: f64) -> Self {
        let mut segments = given.to_vec();
        if segments.is_empty() {
            segments.push(Segment { name: WHOLE.to_owned(), log2_scale, levels: (0, top) });
        }
        segments.sort_by_key(|segment| segment.levels);
        Self(segments)
    }

    /// All segments, the lowest first.
    pub(super) fn all(&self) -> &[Segment] {
        &self.0
    }

    /// The segment of `level`. Levels above the chain belong to the highest segment.
    pub(super) fn at(&self, level: usize) -> &Segment {
        let above = self.0.partition_point(|segment| segment.levels.0 <= level);
        &self.0[above.max(1) - 1]
    }
}

/// Refuses scales outside the range of specifications.
pub(super) fn check_log2_scale(log2_scale: f64, of: &str) -> Result<(), CkksError> {
    if log2_scale.is_finite() && (4.0..=120.0).contains(&log2_scale) {
        return Ok(());
    }
    Err(CkksError::InvalidParams {
        reason: format!("log2_scale {log2_scale}{of} is out of range: use 4 to 120"),
    })
}

/// Refuses segments that do not cover every level of `steps` exactly once, scales that do not fit the lowest
/// level of their segment, and a `log2_scale` (0 for none) that differs from the scale of the highest
/// segment.
///
/// # Errors
/// [`CkksError::InvalidParams`].
pub(super) fn check(given: &[Segment], steps: &[Vec<f64>], log2_scale: f64) -> Result<(), CkksError> {
    let refuse = |reason: String| Err(CkksError::InvalidParams { reason });
    let top = steps.len().saturating_sub(1);
    let mut segments: Vec<&Segment> = given.iter().collect();
    segments.sort_by_key(|segment| segment.levels);
    for (index, segment) in segments.iter().enumerate() {
        let Segment { name, log2_scale: scale, levels: (lowest, highest) } = segment;
        if name.is_empty() || segments[..index].iter().any(|other| other.name == *name) {
            return refuse(format!(
                "segment name \"{name}\" is empty or used twice: give every segment a name of its own"
            ));
        }
        check_log2_scale(*scale, &format!(" of segment \"{name}\""))?;
        if lowest > highest {
            return refuse(format!(
                "segment \"{name}\" has levels [{lowest}, {highest}]: write the lowest level first"
            ));
        }
        if *highest > top {
            return refuse(format!(
                "segment \"{name}\" has levels [{lowest}, {highest}], the chain has levels 0 to {top}"
            ));
        }
        let next = index.checked_sub(1).map_or(0, |below| segments[below].levels.1 + 1);
        if *lowest < next {
            let below = &segments[index.saturating_sub(1)].name;
            return refuse(format!(
                "segments \"{below}\" and \"{name}\" both have level {lowest}: every level is in one segment"
            ));
        }
        if *lowest > next {
            return refuse(format!(
                "levels {next} to {} are in no segment: every level is in one segment",
                lowest - 1
            ));
        }
        let headroom: f64 = steps[..=*lowest].iter().flatten().sum();
        if scale + 1.0 > headroom {
            return refuse(format!(
                "segment \"{name}\" has scale 2^{scale} at level {lowest}, whose modulus has {headroom:.1} bits: \
                 use a scale of at most 2^{:.1}, longer steps below, or a higher lowest level",
                headroom - 1.0
            ));
        }
    }
    let Some(last) = segments.last() else { return Ok(()) };
    if last.levels.1 < top {
        return refuse(format!(
            "levels {} to {top} are in no segment: every level is in one segment",
            last.levels.1 + 1
        ));
    }
    if log2_scale != 0.0 && log2_scale != last.log2_scale {
        return refuse(format!(
            "log2_scale is {log2_scale}, the top segment \"{}\" has {}: leave log2_scale out where there are segments",
            last.name, last.log2_scale
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_found_in_its_segment() {
        let segment = |name: &str, levels| Segment { name: name.to_owned(), log2_scale: 40.0, levels };
        let segments = Segments(vec![segment("a", (0, 0)), segment("b", (1, 4)), segment("c", (5, 6))]);
        let names: Vec<&str> = (0..8).map(|level| segments.at(level).name.as_str()).collect();
        assert_eq!(names, ["a", "b", "b", "b", "b", "c", "c", "c"]);
    }
}
