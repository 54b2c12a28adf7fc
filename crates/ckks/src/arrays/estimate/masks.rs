//! What is known of the masks of an array's polynomials: equal masks have equal noise.

use super::names::mixed_name;
use super::{Along, EVERYWHERE, NEGATIVE};

/// The masks of an array's polynomials, from which the noise of switches and rescales follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Masks {
    /// Equal for equal masks. Sums with plain numbers keep it. `None` for plain numbers.
    pub(super) name: Option<u64>,
    /// The name before rows moved to other places, if they did: where two arrays have the same, the sum of
    /// both may have equal rows.
    pub(super) origin: Option<u64>,
    /// For rows and columns: how many at most may be in polynomials with equal masks, and how many typically
    /// are.
    pub(super) alike: [f64; 2],
    pub(super) together: [f64; 2],
}

fn both(x: [f64; 2], y: [f64; 2], of: fn(f64, f64) -> f64) -> [f64; 2] {
    [of(x[0], y[0]), of(x[1], y[1])]
}

impl Masks {
    /// Polynomials with a mask each, under the name `name`.
    pub(super) fn alone(name: u64) -> Self {
        Self { name: Some(name), origin: None, alike: [1.0; 2], together: [1.0; 2] }
    }

    /// Plain numbers, which have no masks. If their polynomials are `equal` to the last bit, masks that are
    /// equal stay so in products with them.
    pub(super) fn of_plain(equal: bool) -> Self {
        let alike = if equal { [EVERYWHERE; 2] } else { [1.0; 2] };
        Self { name: None, origin: None, alike, together: alike }
    }

    fn origin(self) -> Option<u64> {
        self.origin.or(self.name)
    }

    fn renamed(self, other: impl Fn(u64) -> u64) -> Self {
        Self { name: self.name.map(&other), origin: self.origin.map(&other), ..self }
    }

    /// Other masks, computed from each of these masks.
    pub(super) fn named(self, salt: u64) -> Self {
        self.renamed(|name| mixed_name(name, salt))
    }

    /// The masks of the negated numbers.
    pub(super) fn negated(self) -> Self {
        self.renamed(|name| name ^ NEGATIVE)
    }

    /// The masks of rotated polynomials. The names of rotations add, as the rotations do.
    pub(super) fn rotated(self, turn: u64) -> Self {
        self.renamed(|name| name.wrapping_add(turn))
    }

    /// The same masks in other rows.
    pub(super) fn elsewhere(self, salt: u64) -> Self {
        Self { origin: self.origin(), ..self.named(salt) }
    }

    /// Each polynomial `count` times along an axis.
    pub(super) fn repeated(mut self, along: Along, count: f64) -> Self {
        self.alike[along as usize] *= count;
        self.together[along as usize] *= count;
        self
    }

    /// Masks of so many polynomials. The noise of rows that share a polynomial is independent.
    pub(super) fn in_polynomials(self, count: f64) -> Self {
        let most = |of: [f64; 2]| [of[0].min(count), of[1]];
        Self { alike: most(self.alike), together: most(self.together), ..self }
    }

    /// One row, or one number of each row, computed from all of them.
    pub(super) fn summed(mut self, along: Along) -> Self {
        (self.alike[along as usize], self.together[along as usize]) = (1.0, 1.0);
        self
    }

    /// Rows from anywhere in the array, numbers of which are in one polynomial.
    pub(super) fn gathered(self) -> Self {
        let rows = |of: [f64; 2]| [of[0] * of[1], 1.0];
        Self { alike: rows(self.alike), together: rows(self.together), ..self }
    }

    /// The masks of sums of two arrays that have masks both, or of products, under names mixed by `mix`.
    pub(super) fn joined(self, other: Self, mix: impl Fn(u64, u64) -> u64) -> Self {
        let mixed = |x: Option<u64>, y: Option<u64>| x.zip(y).map(|(x, y)| mix(x, y));
        let moved = self.name != other.name && self.origin() == other.origin();
        let (mut alike, together) =
            (both(self.alike, other.alike, f64::min), both(self.together, other.together, f64::min));
        if moved {
            // Two rows may be added to each other twice, in either order.
            alike[0] = self.alike[0] + other.alike[0];
        }
        let origin = match (self.origin, other.origin) {
            (None, None) => None,
            _ if moved => self.origin(),
            _ => mixed(self.origin(), other.origin()),
        };
        Self { name: mixed(self.name, other.name), origin, alike, together }
    }

    /// The masks, which have the name `name` if they are none.
    pub(super) fn or_named(self, name: u64) -> Self {
        Self { name: self.name.or(Some(name)), ..self }
    }

    /// The masks of arrays joined along an axis: equal ones are in arrays with one origin. `whole` tells that
    /// each array keeps its polynomials.
    pub(super) fn side_by_side(parts: &[Self], name: u64, along: Along, whole: bool) -> Self {
        let axis = along as usize;
        let mut joined = Self::alone(name);
        let least = |of: fn(&Self) -> [f64; 2], axis: usize| {
            parts.iter().map(|part| of(part)[axis]).fold(EVERYWHERE, f64::min)
        };
        joined.alike[1 - axis] = least(|part| part.alike, 1 - axis);
        joined.together[1 - axis] = least(|part| part.together, 1 - axis);
        if !whole {
            return joined;
        }
        for part in parts {
            let sum = |of: fn(&Self) -> [f64; 2], same: &dyn Fn(&Self) -> bool| {
                parts.iter().filter(|own| same(own)).map(|own| of(own)[axis]).sum::<f64>()
            };
            let related = |own: &Self| own.origin() == part.origin();
            joined.alike[axis] = joined.alike[axis].max(sum(|own| own.alike, &related));
            joined.together[axis] =
                joined.together[axis].max(sum(|own| own.together, &|own| own.name == part.name));
        }
        joined
    }

    /// Rows that are sums of all rows, with other factors each, `equal` of which at most are the same.
    pub(super) fn mapped(self, along: Along, equal: f64) -> Self {
        match along {
            // Sums of equal rows are multiples of one row.
            Along::Rows if self.alike[0] > 1.0 => Self { alike: [EVERYWHERE, self.alike[1]], ..self },
            Along::Rows => {
                Self { alike: [equal, self.alike[1]], together: [equal, self.together[1]], ..self }
            }
            Along::Columns => self.summed(Along::Columns),
        }
    }

    pub(super) fn transposed(self) -> Self {
        let rows = |of: [f64; 2]| [of[1], 1.0];
        Self { alike: rows(self.alike), together: rows(self.together), ..self }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.alike.iter().chain(&self.together).all(|count| count.is_finite() && *count >= 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(x: Masks, y: Masks) -> Masks {
        x.joined(y, mixed_name)
    }

    #[test]
    fn sums_of_moved_rows_may_be_equal() {
        let x = Masks::alone(1);
        let moved = x.elsewhere(7);
        // All four rows of x + (x two rows further), and that one row further, are one.
        let pairs = sum(x, moved);
        assert_eq!((pairs.alike, pairs.together), ([2.0, 1.0], [1.0; 2]));
        let all = sum(pairs, pairs.elsewhere(8));
        assert_eq!((all.alike, all.together), ([4.0, 1.0], [1.0; 2]));
        // Multiples by one number keep their relation; by different ones no two sums are equal.
        assert_eq!(sum(x.named(3), moved.named(3)).alike, [2.0, 1.0]);
        assert_eq!(sum(x.named(3), moved).alike, [1.0; 2]);
        assert_eq!(sum(x, x).alike, [1.0; 2]);
        assert_eq!(sum(x, Masks::alone(2)).alike, [1.0; 2]);
    }

    #[test]
    fn rows_are_as_equal_as_those_of_both_operands() {
        let (x, y) = (Masks::alone(1).repeated(Along::Rows, 8.0), Masks::alone(2));
        assert_eq!(sum(x, y).alike, [1.0; 2]);
        assert_eq!(sum(x, y.repeated(Along::Rows, 8.0)).together, [8.0, 1.0]);
        assert_eq!(x.summed(Along::Rows).alike, [1.0; 2]);
        assert_eq!(x.gathered().in_polynomials(2.0).alike, [2.0, 1.0]);
        assert_eq!(x.mapped(Along::Rows, 3.0).alike, [EVERYWHERE, 1.0]);
        assert_eq!(y.mapped(Along::Rows, 3.0).together, [3.0, 1.0]);
    }

    #[test]
    fn joined_arrays_of_one_origin_may_have_equal_rows() {
        let x = Masks::alone(1);
        let join = |parts: &[Masks]| Masks::side_by_side(parts, 9, Along::Rows, true);
        assert_eq!((join(&[x; 3]).alike, join(&[x; 3]).together), ([3.0, 1.0], [3.0, 1.0]));
        let turned = join(&[x, x.elsewhere(4)]);
        assert_eq!((turned.alike, turned.together), ([2.0, 1.0], [1.0; 2]));
        assert_eq!(join(&[x, Masks::alone(2)]).alike, [1.0; 2]);
        assert!(
            !Masks { alike: [0.5, 1.0], ..x }.is_sound()
                && !Masks { together: [f64::NAN; 2], ..x }.is_sound()
        );
    }
}
