//! The numbers on a diagonal of a linear map.

use std::borrow::Cow;

use rustfft::num_complex::Complex64;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// A diagonal whose numbers are stored with their places has at least so many times as many places.
const FEW: usize = 4;

/// A number of a diagonal and its place.
pub(crate) type PlacedNumber = (u32, Complex64);

/// One period of a diagonal: all numbers, or those that are not zero where they are few. Equal diagonals are
/// stored alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Diagonal {
    Whole(Vec<Complex64>),
    /// The places ascend.
    Few(usize, Vec<PlacedNumber>),
}

/// A diagonal whose numbers come one by one, in as much memory as they take.
pub(super) enum DiagonalPart {
    Whole(Vec<Complex64>),
    Few(Vec<PlacedNumber>),
}

impl DiagonalPart {
    /// A diagonal of `period` places that gets `count` numbers.
    pub(super) fn new(period: usize, count: usize) -> Self {
        match count * FEW > period {
            true => Self::Whole(vec![ZERO; period]),
            false => Self::Few(Vec::with_capacity(count)),
        }
    }

    pub(super) fn put(&mut self, place: usize, value: Complex64) {
        match self {
            Self::Whole(numbers) => numbers[place] = value,
            Self::Few(entries) => entries.push((place as u32, value)),
        }
    }

    /// The diagonal, once all numbers have come.
    pub(super) fn whole(self, period: usize) -> Diagonal {
        match self {
            Self::Whole(numbers) => Diagonal::whole(numbers),
            Self::Few(entries) => Diagonal::of_entries(period, entries),
        }
    }
}

impl Diagonal {
    /// The diagonal of these numbers.
    pub(super) fn whole(numbers: Vec<Complex64>) -> Self {
        let is_entry = |value: &&Complex64| **value != ZERO;
        let count = numbers.iter().filter(is_entry).count();
        if count * FEW > numbers.len() {
            return Self::Whole(numbers);
        }
        let entries = numbers.iter().enumerate().filter(|(_, value)| is_entry(value));
        Self::Few(numbers.len(), entries.map(|(place, &value)| (place as u32, value)).collect())
    }

    /// The diagonal of `period` numbers with these ones, and zeros. Numbers in one place are added.
    pub(super) fn of_entries(period: usize, mut entries: Vec<PlacedNumber>) -> Self {
        if !entries.is_sorted_by_key(|entry| entry.0) {
            // Stable, so that sums have the order of the terms.
            entries.sort_by_key(|entry| entry.0);
        }
        entries.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        entries.retain(|entry| entry.1 != ZERO);
        if entries.len() * FEW <= period {
            return Self::Few(period, entries);
        }
        let mut numbers = vec![ZERO; period];
        entries.into_iter().for_each(|(place, value)| numbers[place as usize] = value);
        Self::Whole(numbers)
    }

    /// The numbers that are not zero, with their places.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, Complex64)> {
        let (whole, few) = match self {
            Self::Whole(numbers) => (&numbers[..], &[][..]),
            Self::Few(_, entries) => (&[][..], &entries[..]),
        };
        let of_whole = whole.iter().copied().enumerate().filter(|(_, value)| *value != ZERO);
        of_whole.chain(few.iter().map(|&(place, value)| (place as usize, value)))
    }

    /// All numbers.
    pub(super) fn numbers(&self) -> Cow<'_, [Complex64]> {
        match self {
            Self::Whole(numbers) => Cow::Borrowed(numbers),
            Self::Few(period, entries) => {
                let mut numbers = vec![ZERO; *period];
                entries.iter().for_each(|&(place, value)| numbers[place as usize] = value);
                Cow::Owned(numbers)
            }
        }
    }

    /// The number in a place.
    pub(super) fn at(&self, place: usize) -> Complex64 {
        match self {
            Self::Whole(numbers) => numbers[place],
            Self::Few(_, entries) => entries
                .binary_search_by_key(&place, |entry| entry.0 as usize)
                .map_or(ZERO, |found| entries[found].1),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.entries().next().is_none()
    }

    /// Whether both halves of the period are equal.
    pub(super) fn repeats(&self) -> bool {
        match self {
            Self::Whole(numbers) => {
                let (first, second) = numbers.split_at(numbers.len() / 2);
                first == second
            }
            Self::Few(period, entries) => {
                let half = (period / 2) as u32;
                let (first, second) = entries.split_at(entries.len() / 2);
                let same = |(one, other): (&PlacedNumber, &PlacedNumber)| {
                    one.0 + half == other.0 && one.1 == other.1
                };
                first.len() == second.len() && first.iter().zip(second).all(same)
            }
        }
    }

    /// Leaves the first half of the period.
    pub(super) fn halve(&mut self) {
        match self {
            Self::Whole(numbers) => numbers.truncate(numbers.len() / 2),
            Self::Few(period, entries) => {
                *period /= 2;
                entries.truncate(entries.len() / 2);
            }
        }
    }

    pub(super) fn scaled(self, factor: Complex64) -> Self {
        match self {
            Self::Whole(mut numbers) => {
                numbers.iter_mut().for_each(|value| *value *= factor);
                Self::whole(numbers)
            }
            Self::Few(period, mut entries) => {
                entries.iter_mut().for_each(|entry| entry.1 *= factor);
                Self::of_entries(period, entries)
            }
        }
    }

    /// What names the diagonal.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        let of = |value: Complex64| [value.re.to_bits(), value.im.to_bits()];
        self.entries().flat_map(move |(place, value)| [[place as u64, 0], of(value)].concat())
    }

    /// Bytes of the numbers.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Whole(numbers) => numbers.len() * size_of::<Complex64>(),
            Self::Few(_, entries) => entries.len() * size_of::<PlacedNumber>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagonals_of_numbers_and_of_entries_are_alike() {
        let number = |value: f64| Complex64::new(value, -value);
        for (period, places) in
            [(1, vec![]), (1, vec![0]), (8, vec![2]), (8, vec![1, 5]), (8, vec![7, 0, 3]), (16, vec![4, 12])]
        {
            let mut numbers = vec![ZERO; period];
            places.iter().for_each(|&place| numbers[place] = number(2.0));
            let entries: Vec<PlacedNumber> =
                places.iter().map(|&place| (place as u32, number(2.0))).collect();
            let (whole, few) = (Diagonal::whole(numbers.clone()), Diagonal::of_entries(period, entries));
            assert_eq!(whole, few);
            assert_eq!(*whole.numbers(), numbers[..]);
            assert!((0..period).all(|place| whole.at(place) == numbers[place]));
            assert_eq!(whole.is_zero(), places.is_empty());
            assert_eq!(matches!(whole, Diagonal::Few(..)), places.len() * FEW <= period);
            assert!(whole.words().eq(few.words()));
            let repeats = period > 1 && numbers[..period / 2] == numbers[period / 2..];
            if period > 1 {
                assert_eq!(whole.repeats(), repeats, "{places:?}");
            }
            if repeats {
                let mut half = whole.clone();
                half.halve();
                assert_eq!(half, Diagonal::whole(numbers[..period / 2].to_vec()));
            }
            let doubled: Vec<Complex64> = numbers.iter().map(|value| value * 2.0).collect();
            assert_eq!(whole.clone().scaled(Complex64::new(2.0, 0.0)), Diagonal::whole(doubled));
            assert!(whole.scaled(ZERO).is_zero());
        }
        // Numbers in one place are added, and may cancel.
        let entries = vec![(3, number(1.0)), (1, number(2.0)), (3, number(-1.0)), (1, number(0.5))];
        assert_eq!(Diagonal::of_entries(16, entries), Diagonal::Few(16, vec![(1, number(2.5))]));
    }
}
