//! Numbers that move by more distances than one map has diagonals for: they move in three steps.
//!
//! Slot `C r + c` is the place `(r, c)` of a matrix with `R` rows and `C` columns. Numbers move within their
//! columns to other rows, then within their rows to other columns, then within their columns again. The first
//! step chooses the rows so that no two numbers of a row have the same column, before the second step or
//! after it. This is an edge colouring of the graph with a node for each column before and after, and an edge
//! for each number; the colours are the rows, and as many as the largest degree suffice (König 1916). So any
//! permutation of the slots of a polynomial takes `2 R + 2 C` distances instead of `R C`; where numbers occur
//! several times, some have several rows, and a polynomial of the result may take several polynomials in
//! between. Rows and columns may change their roles.
//!
//! It takes three levels, so it serves only where one map would have too many diagonals. The network is that
//! of Clos (1953).

use super::work::{Place, Work, work_of_moves};
use crate::arrays::{Encoding, Layout};

/// The most numbers that move in three steps.
const MAX_NUMBERS: usize = 1 << 20;

/// The most polynomials in between for one polynomial of the result.
const MAX_BETWEEN: usize = 8;

/// How numbers move in three steps.
pub(super) struct Route {
    /// The layout between the steps: each row is a polynomial.
    pub(super) between: Layout,
    /// The place from which each slot comes in the first step.
    pub(super) first: Vec<Option<Place>>,
    /// The slot from which each slot comes in the second step, of all polynomials in between.
    pub(super) second: Vec<Option<usize>>,
    /// The slot from which each entry of the result comes in the third step.
    pub(super) third: Vec<Option<usize>>,
}

/// A matrix of the slots, and whether the first step moves numbers within its columns, and not its rows.
#[derive(Debug, Clone, Copy)]
struct Split {
    slots: usize,
    columns: usize,
    by_columns: bool,
}

impl Split {
    fn rows(&self) -> usize {
        self.slots / self.columns
    }

    /// The column of a slot, or its row: what the first step leaves as it is.
    fn line(&self, slot: usize) -> usize {
        if self.by_columns { slot % self.columns } else { slot / self.columns }
    }

    /// The number of places in a line.
    fn length(&self) -> usize {
        if self.by_columns { self.rows() } else { self.columns }
    }

    /// The slot of a place in a line.
    fn slot(&self, line: usize, place: usize) -> usize {
        if self.by_columns { place * self.columns + line } else { line * self.columns + place }
    }

    /// About how many rotations the three steps of a polynomial take.
    fn rotations(&self) -> f64 {
        let within_columns = (self.rows() as f64).sqrt();
        let within_rows = (2.0 * self.columns as f64).sqrt();
        if self.by_columns { 2.0 * within_columns + within_rows } else { within_columns + 2.0 * within_rows }
    }
}

/// The numbers that one polynomial of a result takes, each once for each line that it has places in, in
/// ascending order: the place from which it comes, and the line to which it goes.
type Moves = Vec<(Place, usize)>;

fn moves_of(places: &[(usize, Place, usize)], split: Split) -> Moves {
    let mut moves: Moves = places.iter().map(|&(slot, from, _)| (from, split.line(slot))).collect();
    moves.sort_unstable();
    moves.dedup();
    moves
}

/// The largest number of moves from a line or to a line.
fn degree_of(moves: &Moves, split: Split) -> usize {
    let lines = split.slots / split.length();
    let (mut from, mut to) = (vec![0usize; lines], vec![0usize; lines]);
    for &((_, slot), line) in moves {
        from[split.line(slot)] += 1;
        to[line] += 1;
    }
    from.into_iter().chain(to).max().unwrap_or(0)
}

/// A colour for each edge of a bipartite graph, such that edges with a node in common have different ones;
/// `colours` must be the largest degree at least.
fn coloured(edges: &[(usize, usize)], colours: usize) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let nodes = |of: fn(&(usize, usize)) -> usize| edges.iter().map(of).max().map_or(0, |most| most + 1);
    let mut known = [vec![NONE; nodes(|edge| edge.0) * colours], vec![NONE; nodes(|edge| edge.1) * colours]];
    let end = |edge: usize, side: usize| if side == 0 { edges[edge].0 } else { edges[edge].1 };
    let mut colour_of = vec![NONE; edges.len()];
    let mut path = Vec::new();
    for (edge, &(left, right)) in edges.iter().enumerate() {
        let free = |known: &[usize], node: usize| {
            let own = &known[node * colours..][..colours];
            own.iter().position(|&edge| edge == NONE).unwrap_or(0)
        };
        let (own, other) = (free(&known[0], left), free(&known[1], right));
        // The edges that have both colours in turn, from the right node on, change colours. They do not come
        // to the left node, which has no edge of the first one.
        path.clear();
        let (mut side, mut node, mut colour) = (1, right, own);
        while known[side][node * colours + colour] != NONE && path.len() < edges.len() {
            let next = known[side][node * colours + colour];
            path.push(next);
            (side, colour) = (1 - side, if colour == own { other } else { own });
            node = end(next, side);
        }
        for &changed in &path {
            for side in [0, 1] {
                known[side][end(changed, side) * colours + colour_of[changed]] = NONE;
            }
        }
        for &changed in &path {
            colour_of[changed] = if colour_of[changed] == own { other } else { own };
            for side in [0, 1] {
                known[side][end(changed, side) * colours + colour_of[changed]] = changed;
            }
        }
        colour_of[edge] = own;
        known[0][left * colours + own] = edge;
        known[1][right * colours + own] = edge;
    }
    colour_of
}

impl Route {
    /// The steps from polynomials of `period` slots to the layout `to`, each entry from its source; `None`
    /// where they have too many distances, too.
    pub(super) fn new(sources: &[Option<Place>], period: usize, to: &Layout) -> Option<Self> {
        let slots = period.max(to.period());
        if to.copies() > 1 || sources.len() > MAX_NUMBERS {
            return None;
        }
        // By polynomial of the result: slot, source, entry.
        let places: Vec<Vec<(usize, Place, usize)>> = (0..to.polynomials())
            .map(|target| {
                let held = to.held(target).map(|(position, entry)| (position % slots, entry));
                held.filter_map(|(slot, entry)| Some((slot, sources[entry]?, entry))).collect()
            })
            .collect();
        let between = |split: Split| {
            let count = |places: &Vec<_>| {
                let count = degree_of(&moves_of(places, split), split).div_ceil(split.length());
                (count <= MAX_BETWEEN).then_some(count)
            };
            places.iter().map(count).collect::<Option<Vec<usize>>>()
        };
        let half = slots.ilog2() / 2;
        let splits = (half.saturating_sub(1)..=half + 1)
            .filter(|&log| 1 << log <= slots)
            .flat_map(|log| [true, false].map(|by_columns| Split { slots, columns: 1 << log, by_columns }));
        let price =
            |(split, counts): &(Split, Vec<usize>)| split.rotations() * counts.iter().sum::<usize>() as f64;
        let found = splits.filter_map(|split| Some((split, between(split)?)));
        let (split, counts) = found.min_by(|one, other| price(one).total_cmp(&price(other)))?;
        let all: usize = counts.iter().sum();
        let (mut first, mut second) = (vec![None; all * slots], vec![None; all * slots]);
        let mut third = vec![None; sources.len()];
        let mut before = 0;
        for (places, count) in places.iter().zip(&counts) {
            let moves = moves_of(places, split);
            let edges: Vec<(usize, usize)> =
                moves.iter().map(|&((_, slot), line)| (split.line(slot), line)).collect();
            let colours = coloured(&edges, count * split.length());
            let at = |line: usize, colour: usize| {
                let polynomial = before + colour / split.length();
                polynomial * slots + split.slot(line, colour % split.length())
            };
            for ((&(place, line), &(from, _)), &colour) in moves.iter().zip(&edges).zip(&colours) {
                first[at(from, colour)] = Some(place);
                second[at(line, colour)] = Some(at(from, colour));
            }
            for &(slot, place, entry) in places {
                let line = split.line(slot);
                let number = moves.binary_search(&(place, line)).ok();
                third[entry] = number.map(|number| at(line, colours[number]));
            }
            before += count;
        }
        let between = Layout::new(&[all, slots], Encoding::Slots, to.degree()).ok()?;
        let own = Self { between, first, second, third };
        own.work(period, to).switches.is_finite().then_some(own)
    }

    /// What the steps take.
    fn work(&self, period: usize, to: &Layout) -> Work {
        let slots = self.between.period();
        let place = |slot: &Option<usize>| slot.map(|slot| (slot / slots, slot % slots));
        work_of_moves(self.first.iter().copied(), &self.between, period)
            .then(work_of_moves(self.second.iter().map(place), &self.between, slots))
            .then(work_of_moves(self.third.iter().map(place), to, slots))
    }
}

/// What a gather to `to` takes of numbers in slots `(polynomial, slot)` of polynomials with `period` slots,
/// in one step, or in three where `is_worth` says so of the least that these take.
pub(crate) fn work_of_gather(
    from: impl Iterator<Item = Option<Place>>,
    to: &Layout,
    period: usize,
    is_worth: impl FnOnce(Work) -> bool,
) -> Work {
    let sources: Vec<Option<Place>> = from.collect();
    let direct = work_of_moves(sources.iter().copied(), to, period);
    // Three steps take more rotations than this for each polynomial.
    let rotations = 2.0 * (period.max(to.period()) as f64).powf(0.25);
    let least = Work { switches: to.polynomials() as f64 * rotations, keys: rotations, levels: 3 };
    if direct.switches.is_finite() || !is_worth(least) {
        return direct;
    }
    Route::new(&sources, period, to).map_or(direct, |route| route.work(period, to))
}

/// What a gather takes of an array that lies as `from`; see [`work_of_gather`].
pub(crate) fn work_of_array(
    from: &Layout,
    to: &Layout,
    sources: impl Iterator<Item = Option<usize>>,
    is_worth: impl FnOnce(Work) -> bool,
) -> Work {
    let columns = from.columns();
    let place = |source: usize| from.place(source / columns, source % columns).ok();
    let places = sources.map(|source| source.and_then(place).map(|place| (place.bundle, place.index)));
    work_of_gather(places, to, from.period(), is_worth)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below `most`, always the same ones.
    fn numbers(count: usize, most: usize, seed: u64) -> Vec<usize> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn edges_with_a_common_node_have_different_colours() {
        for (count, nodes, seed) in [(1, 1, 1), (7, 1, 2), (40, 6, 3), (500, 20, 4), (3000, 64, 5)] {
            let (left, right) = (numbers(count, nodes, seed), numbers(count, nodes, seed + 100));
            let edges: Vec<(usize, usize)> = left.into_iter().zip(right).collect();
            let most = |of: fn(&(usize, usize)) -> usize| {
                let mut degrees = vec![0; nodes];
                edges.iter().for_each(|edge| degrees[of(edge)] += 1);
                degrees.into_iter().max().unwrap_or(0)
            };
            let degree = most(|edge| edge.0).max(most(|edge| edge.1));
            let colours = coloured(&edges, degree);
            for of in [|edge: &(usize, usize)| edge.0, |edge: &(usize, usize)| edge.1] {
                let mut seen: Vec<(usize, usize)> =
                    edges.iter().zip(&colours).map(|(edge, &colour)| (of(edge), colour)).collect();
                seen.sort_unstable();
                assert!(seen.windows(2).all(|two| two[0] != two[1]), "{count} edges");
            }
            assert!(colours.iter().all(|&colour| colour < degree));
        }
    }

    /// The entries that the three steps make of numbered slots.
    fn routed(route: &Route) -> Vec<Option<Place>> {
        let second: Vec<Option<Place>> =
            route.second.iter().map(|slot| slot.and_then(|slot| route.first[slot])).collect();
        route.third.iter().map(|slot| slot.and_then(|slot| second[slot])).collect()
    }

    #[test]
    fn three_steps_move_every_number_to_its_place() {
        let slots = 4096;
        let degree = 2 * slots;
        let shuffled = |seed| {
            let keys = numbers(slots, 1 << 30, seed);
            let mut order: Vec<usize> = (0..slots).collect();
            order.sort_by_key(|&index| keys[index]);
            order
        };
        let to = Layout::new(&[slots], Encoding::Slots, degree).expect("a layout");
        let mut cases: Vec<Vec<Option<Place>>> = Vec::new();
        cases.push(shuffled(1).into_iter().map(|slot| Some((0, slot))).collect());
        // Any numbers, some of them several times and some never, of two polynomials.
        let any = numbers(slots, slots, 2).into_iter().zip(numbers(slots, 3, 3));
        cases.push(any.map(|(slot, of)| (of < 2).then_some((of, slot))).collect());
        // Axes of a cube in another order.
        let cube = |index: usize| (0, index % 16 * 256 + index / 16);
        cases.push((0..slots).map(|index| Some(cube(index))).collect());
        for sources in &cases {
            let route = Route::new(sources, slots, &to).expect("a route");
            assert!(routed(&route) == *sources);
            assert_eq!(route.work(slots, &to).levels, 3);
        }
        // A permutation has one polynomial in between.
        let route = Route::new(&cases[0], slots, &to).expect("a route");
        assert_eq!(route.between.polynomials(), 1);
        // One of 5 000 distances takes fewer rotations than it has.
        let direct = work_of_moves(cases[0].iter().copied(), &to, slots);
        assert!(direct.switches.is_infinite());
        assert!(route.work(slots, &to).switches < 100.0);
    }
}
