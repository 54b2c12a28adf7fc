//! About how much work ways to compute take, counted from layouts alone, so that a dry run and the run choose
//! the same way.

use std::collections::{BTreeMap, BTreeSet};

use crate::arrays::Layout;

/// Maximum of the diagonals of all maps of one step; each takes a product, and there are keys for about twice
/// the root of their number.
pub(super) const MAX_DIAGONALS: usize = 2048;

/// A polynomial and a slot.
pub(super) type Place = (usize, usize);

/// What a way to compute takes: about so many switches, and so many keys.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) switches: f64,
    pub(crate) keys: f64,
    pub(crate) levels: usize,
}

/// Switches that a key counts as much as: it is made, sent and kept.
const KEY: f64 = 1.0;

/// The factor of the price for each level: what comes before has a longer modulus.
const LEVEL: f64 = 2.0;

impl Work {
    /// By which ways to compute are compared.
    pub(crate) fn price(&self) -> f64 {
        (self.switches + KEY * self.keys) * LEVEL.powi(self.levels as i32)
    }

    /// Both, one after the other.
    pub(crate) fn then(self, other: Self) -> Self {
        Self { levels: self.levels + other.levels, ..self.beside(other) }
    }

    /// Both, of which none waits for the other.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self {
            switches: self.switches + other.switches,
            keys: self.keys + other.keys,
            levels: self.levels.max(other.levels),
        }
    }
}

/// The rotations of the maps of several polynomials to one.
pub(super) struct Rotations {
    /// How many, about.
    pub(super) count: f64,
    /// Whether images are added before they are rotated, once for each distance, and not each map is computed
    /// alone.
    pub(super) together: bool,
}

/// Share of a rotation that one of a map takes, because some of them share a decomposition.
const HOISTED: f64 = 0.7;

/// What `count` rotations of each of `polynomials` polynomials take, which share decompositions.
pub(crate) fn work_of_rotations(polynomials: usize, count: usize) -> Work {
    Work { switches: HOISTED * (polynomials * count) as f64, keys: count as f64, levels: 1 }
}

impl Rotations {
    /// The rotations of maps with these distances.
    pub(super) fn of<I: Iterator<Item = usize>>(maps: impl Iterator<Item = I>) -> Self {
        let (mut all, mut alone) = (BTreeSet::new(), 0.0);
        for map in maps {
            let mut distances: Vec<usize> = map.collect();
            distances.sort_unstable();
            distances.dedup();
            let moving = distances.iter().filter(|&&distance| distance != 0).count() as f64;
            alone += if moving < 3.0 { moving } else { (2.0 * moving.sqrt()).ceil() - 1.0 };
            all.extend(distances.into_iter().filter(|&distance| distance != 0));
        }
        let (alone, all) = (HOISTED * alone, all.len() as f64);
        Self { count: alone.min(all), together: all < alone }
    }
}

/// A number that moves from a polynomial to another: its position there, its distance, and its factor.
pub(super) type Move = (usize, usize, f64);

/// The different distances of moves within polynomials of `period` slots.
pub(super) fn distances_of(moves: &[Move], period: usize) -> Vec<usize> {
    let mut known = vec![false; period];
    let mut distances: Vec<usize> = moves.iter().map(|own| own.1).collect();
    distances.retain(|&distance| !std::mem::replace(&mut known[distance], true));
    distances
}

/// The maps between polynomials, by their digests: those that differ by a rotation of their source are one.
#[derive(Default)]
pub(super) struct SharedMaps {
    /// The distance that the first number of each map moves.
    known: BTreeMap<[u8; 32], usize>,
}

impl SharedMaps {
    /// The digest of a map; distances are counted from the first one.
    pub(super) fn digest(moves: impl Iterator<Item = Move>, period: usize) -> [u8; 32] {
        let (mut hasher, mut first, mut words) = (blake3::Hasher::new(), None, Vec::new());
        for (position, distance, factor) in moves {
            let first = *first.get_or_insert(distance);
            let distance = (distance + period - first) % period;
            words.extend([position as u64, distance as u64, factor.to_bits()].map(u64::to_le_bytes).concat());
            if words.len() > 1 << 16 {
                hasher.update(&words);
                words.clear();
            }
        }
        hasher.update(&words);
        *hasher.finalize().as_bytes()
    }

    /// The rotation of the source, to the left, after which the map with this digest, whose first number
    /// moves by `first`, is one that is known; `None` for a new one.
    pub(super) fn rotation(&mut self, digest: [u8; 32], first: usize, period: usize) -> Option<usize> {
        match self.known.get(&digest) {
            Some(known) => Some((first + period - known) % period),
            None => {
                self.known.insert(digest, first);
                None
            }
        }
    }
}

/// What a gather to `to` takes of numbers in slots `(polynomial, slot)` of polynomials with `period` slots.
pub(super) fn work_of_moves(from: impl Iterator<Item = Option<Place>>, to: &Layout, period: usize) -> Work {
    let sources: Vec<Option<Place>> = from.collect();
    let (mut switches, mut diagonals, mut all) = (0.0, 0, BTreeSet::new());
    let (mut shared, mut before) = (SharedMaps::default(), BTreeSet::new());
    for target in 0..to.polynomials() {
        let mut maps: BTreeMap<usize, Vec<Move>> = BTreeMap::new();
        for (position, entry) in to.held(target) {
            let Some((polynomial, slot)) = sources[entry] else { continue };
            let distance = (slot + period - position % period) % period;
            maps.entry(polynomial).or_default().push((position, distance, 1.0));
        }
        let distances: Vec<Vec<usize>> = maps.values().map(|moves| distances_of(moves, period)).collect();
        let rotations = Rotations::of(distances.iter().map(|map| map.iter().copied()));
        switches += rotations.count;
        for ((&polynomial, moves), distances) in maps.iter().zip(distances) {
            let first = distances.first().copied().unwrap_or(0);
            let digest = SharedMaps::digest(moves.iter().copied(), period);
            // What is added before it is rotated is not shared.
            let rotation = if rotations.together { None } else { shared.rotation(digest, first, period) };
            match rotation {
                None => {
                    diagonals += distances.len();
                    all.extend(distances);
                }
                Some(0) => {}
                Some(steps) => {
                    all.insert(steps);
                    before.insert((polynomial, steps));
                }
            }
        }
    }
    let keys = if all.len() < 8 { all.len() as f64 } else { 2.0 * (all.len() as f64).sqrt() };
    switches += before.len() as f64;
    // A gather refuses more.
    let switches = if diagonals > MAX_DIAGONALS { f64::INFINITY } else { switches };
    Work { switches, keys, levels: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_counted_by_map_or_together() {
        let of = |maps: &[&[usize]]| Rotations::of(maps.iter().map(|map| map.iter().copied()));
        assert_eq!(of(&[&[0], &[0]]).count, 0.0);
        // Three polynomials that move by the same distances.
        let alike = of(&[&[1, 2, 3, 4], &[1, 2, 3, 4], &[1, 2, 3, 4]]);
        assert!(alike.together && alike.count == 4.0, "{}", alike.count);
        // One polynomial with many distances.
        let all: Vec<usize> = (0..64).collect();
        assert!(!of(&[&all]).together && of(&[&all]).count < 16.0);
    }
}
