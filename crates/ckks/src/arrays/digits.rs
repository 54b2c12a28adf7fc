//! Layouts as digits: the index of an entry along an axis is a sum of *digits*, and each digit says where its
//! value is read.
//!
//! ```text
//! index along an axis = offset + sign * (weight_1 value_1 + weight_2 value_2 + ..),    0 <= value_i < extent_i
//! ```
//!
//! A digit at [`Home::Place`] counts in slots or coefficients: with stride `s`, value `v` adds `s v` to the
//! position in a polynomial of degree `W`, which may be split into components (component `i` has the
//! positions `i, i + components, ..`). A digit at [`Home::Body`] counts the bodies under a mask, and one at
//! [`Home::Bundle`] the bundles. Bundles are numbered in the order of their digits, the first of which is the
//! most significant one, and of their components; a bundle without entries does not exist. Where an index is
//! not within the length of its axis, there is no entry, but padding.
//!
//! | in a [`Layout`] | as digits |
//! |---|---|
//! | a row cut into chunks | the high digit of its index counts bundles |
//! | rows that share a polynomial | the low digit of their index counts places, the high one bundles |
//! | copies, and the repetition of slots | a digit of no axis, whose values all hold the same |
//! | order with reversed bits | digits of extent 2, with strides in reverse order |
//! | bodies along rows or chunks | that digit counts bodies |
//! | complex pairs of coefficients | a digit of the part, with stride `W/2` |
//!
//! Two layouts have the same places exactly if their canonical forms are equal ([`Digits::canonical`]).

use super::layout::{BodyAxis, Encoding, Layout, Order, Padding};
use super::places::{Part, Place};

/// What the value of a digit is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Of {
    /// The index along an axis.
    Axis(usize),
    /// The part of a complex number: 0 for the real, 1 for the imaginary one.
    Part,
    /// Nothing: places with the values from 1 on hold the same entry as those with value 0.
    Repetition,
    /// Nothing: places with the values from 1 on are padding.
    Padding,
}

/// Where the value of a digit is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// In the number of the bundle.
    Bundle,
    /// In the number of the body of a bundle.
    Body,
    /// In the position in a polynomial, in steps of this stride, a power of two.
    Place(usize),
}

/// A digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digit {
    /// What its value is a part of.
    pub of: Of,
    /// What a value of 1 adds to the index.
    pub weight: usize,
    /// The number of its values; a power of two in places.
    pub extent: usize,
    /// Where it is read.
    pub home: Home,
}

/// An axis of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The number of its indices.
    pub length: usize,
    /// The index where all digits are zero; negative if the first places hold no entry.
    pub offset: i64,
    /// Whether indices fall as the digits rise.
    pub falls: bool,
}

/// The places of an array's entries. Strides of digits at places, and the weights of an axis's digits, are
/// mixed radix: each is a multiple of what the smaller ones reach.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Digits {
    encoding: Encoding,
    /// The degree of the bundles.
    degree: usize,
    /// The number of bundles that the polynomial of degree `W` was split into.
    components: usize,
    /// Whether bundles have all their components, also those without an entry.
    full: bool,
    axes: Vec<Axis>,
    /// The digits of bundles in the order of the numbers of bundles, among them and behind them the others.
    digits: Vec<Digit>,
}

impl Digits {
    /// The axes.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The digits.
    #[must_use]
    pub fn digits(&self) -> &[Digit] {
        &self.digits
    }

    /// The number of positions in a polynomial of degree `W`: its slots, or its coefficients.
    fn positions(&self) -> usize {
        let whole = self.degree * self.components;
        if self.encoding == Encoding::Slots { whole / 2 } else { whole }
    }

    /// The digits of one axis, the one with the largest weight first.
    fn of_axis(&self, axis: usize) -> Vec<(usize, Digit)> {
        let own = self.digits.iter().copied().enumerate().filter(|(_, digit)| digit.of == Of::Axis(axis));
        let mut own: Vec<_> = own.collect();
        own.sort_by_key(|(_, digit)| std::cmp::Reverse((digit.weight, digit.extent)));
        own
    }

    /// The value of each digit for an entry; `None` if there is no such entry.
    fn values(&self, index: &[usize], part: Part) -> Option<Vec<usize>> {
        let mut values = vec![0; self.digits.len()];
        for (axis, (&index, form)) in index.iter().zip(&self.axes).enumerate() {
            if index >= form.length {
                return None;
            }
            let above = index as i64 - form.offset;
            let mut rest = usize::try_from(if form.falls { -above } else { above }).ok()?;
            for (at, digit) in self.of_axis(axis) {
                values[at] = (rest / digit.weight).min(digit.extent - 1);
                rest -= values[at] * digit.weight;
            }
            if rest > 0 {
                return None;
            }
        }
        if part == Part::Imaginary {
            values[self.digits.iter().position(|digit| digit.of == Of::Part)?] = 1;
        }
        Some(values)
    }

    /// The index of the entry with these values of the digits; `None` for padding.
    fn entry_of(&self, values: &[usize]) -> Option<(Vec<usize>, Part)> {
        let mut raw = vec![0i64; self.axes.len()];
        let mut part = Part::Real;
        for (digit, &value) in self.digits.iter().zip(values) {
            match digit.of {
                Of::Axis(axis) => raw[axis] += (digit.weight * value) as i64,
                Of::Part if value > 0 => part = Part::Imaginary,
                Of::Padding if value > 0 => return None,
                Of::Part | Of::Padding | Of::Repetition => {}
            }
        }
        let index = |(raw, axis): (i64, &Axis)| {
            let index = axis.offset + if axis.falls { -raw } else { raw };
            usize::try_from(index).ok().filter(|&index| index < axis.length)
        };
        Some((raw.into_iter().zip(&self.axes).map(index).collect::<Option<_>>()?, part))
    }

    /// The first place of an entry; `None` if there is no such entry.
    ///
    /// # Panics
    /// Never for as many indices as there are axes.
    #[must_use]
    pub fn place(&self, index: &[usize], part: Part) -> Option<Place> {
        let values = self.values(index, part)?;
        let (mut position, mut body) = (0, 0);
        for (digit, &value) in self.digits.iter().zip(&values) {
            match digit.home {
                Home::Place(stride) => position += stride * value,
                Home::Body => body += value,
                Home::Bundle => {}
            }
        }
        let bundle = self.bundle(&values, position % self.components);
        Some(Place { bundle, body, index: position / self.components })
    }

    /// The entry at a place; `None` for padding.
    #[must_use]
    pub fn entry(&self, place: Place) -> Option<(Vec<usize>, Part)> {
        let (mut values, component) = self.values_of_bundle(place.bundle)?;
        let position = place.index * self.components + component;
        if position >= self.positions() {
            return None;
        }
        for (digit, value) in self.digits.iter().zip(&mut values) {
            match digit.home {
                Home::Place(stride) => *value = position / stride % digit.extent,
                Home::Body if place.body >= digit.extent => return None,
                Home::Body => *value = place.body,
                Home::Bundle => {}
            }
        }
        if place.body > 0 && !self.digits.iter().any(|digit| digit.home == Home::Body) {
            return None;
        }
        self.entry_of(&values)
    }

    /// The digits that count bundles, with their places in the list.
    fn of_bundles(&self) -> impl DoubleEndedIterator<Item = (usize, &Digit)> + '_ {
        self.digits.iter().enumerate().filter(|(_, digit)| digit.home == Home::Bundle)
    }

    /// Whether a bundle whose digits have these values holds an entry. Values of other digits are ignored.
    fn exists(&self, values: &[usize]) -> bool {
        self.axes.iter().enumerate().all(|(axis, form)| {
            let (mut least, mut reach) = (0, 0);
            for (at, digit) in self.of_axis(axis) {
                if digit.home == Home::Bundle {
                    least += digit.weight * values[at];
                } else {
                    reach += digit.weight * (digit.extent - 1);
                }
            }
            let (least, most) = (least as i64, (least + reach) as i64);
            let (first, last) = if form.falls {
                (form.offset - most, form.offset - least)
            } else {
                (form.offset + least, form.offset + most)
            };
            first < form.length as i64 && last >= 0
        })
    }

    /// The number of components that exist of a bundle whose digits have these values: all, or those up to
    /// the last one with an entry if indices rise along them.
    fn stored(&self, values: &[usize]) -> usize {
        let low = |digit: &&Digit| {
            digit.of != Of::Padding && matches!(digit.home, Home::Place(stride) if stride < self.components)
        };
        let mut lowest = self.digits.iter().filter(|digit| digit.extent > 1).filter(low);
        let (first, more) = (lowest.next().copied(), lowest.next().is_some());
        let Some(Digit { of: Of::Axis(axis), weight: 1, extent, home: Home::Place(1) }) = first else {
            return if first.is_none() && !self.full { 1 } else { self.components };
        };
        let form = self.axes[axis];
        if self.full || more || form.offset != 0 || form.falls {
            return self.components;
        }
        let of_bundle = |(digit, value): (&Digit, &usize)| {
            (digit.of == Of::Axis(axis) && digit.home == Home::Bundle).then_some(digit.weight * value)
        };
        let before: usize = self.digits.iter().zip(values).filter_map(of_bundle).sum();
        self.components.min(extent).min(form.length.saturating_sub(before))
    }

    /// The number of a bundle whose digits have these values.
    fn bundle(&self, values: &[usize], component: usize) -> usize {
        let mut number = component;
        let mut before = vec![0; self.digits.len()];
        let digits: Vec<usize> = self.of_bundles().map(|(at, _)| at).collect();
        for (&at, behind) in digits.iter().zip(1..) {
            for value in 0..values[at] {
                before[at] = value;
                number += self.count(&mut before, &digits[behind..]);
            }
            before[at] = values[at];
        }
        number
    }

    /// The number of bundles whose digits before `free` have these values. Values of `free` end as zero.
    fn count(&self, values: &mut [usize], free: &[usize]) -> usize {
        let Some((&at, rest)) = free.split_first() else {
            return if self.exists(values) { self.stored(values) } else { 0 };
        };
        let mut total = 0;
        for value in 0..self.digits[at].extent {
            values[at] = value;
            total += self.count(values, rest);
        }
        values[at] = 0;
        total
    }

    /// The number of bundles.
    #[must_use]
    pub fn bundles(&self) -> usize {
        let free: Vec<usize> = self.of_bundles().map(|(at, _)| at).collect();
        self.count(&mut vec![0; self.digits.len()], &free)
    }

    /// The values of the digits of bundle `bundle`, and its component; `None` if it does not exist.
    fn values_of_bundle(&self, bundle: usize) -> Option<(Vec<usize>, usize)> {
        let mut values = vec![0; self.digits.len()];
        let digits: Vec<usize> = self.of_bundles().map(|(at, _)| at).collect();
        let mut rest = bundle;
        for (&at, behind) in digits.iter().zip(1..) {
            let mut found = false;
            for value in 0..self.digits[at].extent {
                values[at] = value;
                let own = self.count(&mut values, &digits[behind..]);
                if rest < own {
                    found = true;
                    break;
                }
                rest -= own;
            }
            if !found {
                return None;
            }
        }
        (self.exists(&values) && rest < self.stored(&values)).then_some((values, rest))
    }
}

impl Digits {
    /// The same places for the transpose of a matrix.
    #[must_use]
    pub fn transposed(mut self) -> Self {
        self.axes.reverse();
        let last = self.axes.len() - 1;
        for digit in &mut self.digits {
            if let Of::Axis(axis) = &mut digit.of {
                *axis = last - *axis;
            }
        }
        self
    }

    /// The same places in the form that is the same for all digits with these places: each digit as large as
    /// possible, none larger than its axis needs, and places in the order of their strides.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let by_home = |wanted: fn(&Home) -> bool| {
            self.digits.iter().copied().filter(move |digit| wanted(&digit.home) && digit.extent > 1)
        };
        let mut bundles: Vec<Digit> = Vec::new();
        for digit in by_home(|home| *home == Home::Bundle) {
            match bundles.last_mut() {
                Some(outer) if outer.of == digit.of && outer.weight == digit.weight * digit.extent => {
                    *outer = Digit { extent: outer.extent * digit.extent, ..digit };
                }
                _ => bundles.push(digit),
            }
        }
        let bundles = bundles.into_iter().map(|digit| Digit { extent: self.needed(digit), ..digit });
        let mut places: Vec<Digit> = by_home(|home| matches!(home, Home::Place(_)))
            .flat_map(|digit| {
                let extent = self.needed(digit);
                let Home::Place(stride) = digit.home else { return [digit, Digit { extent: 1, ..digit }] };
                let (of, weight) = if digit.extent > extent { (Of::Padding, 0) } else { (digit.of, 0) };
                let rest = digit.extent / extent;
                [
                    Digit { extent, ..digit },
                    Digit { of, weight, extent: rest, home: Home::Place(stride * extent) },
                ]
            })
            .filter(|digit| digit.extent > 1)
            .collect();
        places.sort_by_key(|digit| digit.home);
        let mut merged: Vec<Digit> = Vec::new();
        for digit in places {
            match merged.last_mut() {
                Some(low) if is_next(*low, digit) => low.extent *= digit.extent,
                _ => merged.push(digit),
            }
        }
        let digits = bundles
            .filter(|digit| digit.extent > 1)
            .chain(by_home(|home| *home == Home::Body).map(|digit| {
                // The others hold no entry.
                let is_single = matches!(digit.of, Of::Axis(_)) && self.needed(digit) == 1;
                if is_single { Digit { of: Of::Padding, weight: 0, ..digit } } else { digit }
            }))
            .chain(merged)
            .collect();
        Self { full: self.full && self.components > 1, axes: self.axes.clone(), digits, ..*self }
    }

    /// How many values of a digit its axis needs: in places a power of two.
    fn needed(&self, digit: Digit) -> usize {
        let Of::Axis(axis) = digit.of else { return digit.extent };
        let form = self.axes[axis];
        if form.offset != 0 || form.falls {
            return digit.extent;
        }
        let needed = form.length.div_ceil(digit.weight);
        let needed = if digit.home == Home::Bundle { needed } else { needed.next_power_of_two() };
        needed.min(digit.extent)
    }

    /// A layout of a matrix with these places, and numbers and padding of this kind; `None` if layouts cannot
    /// say them.
    #[must_use]
    pub fn to_layout(&self, complex: bool, padding: Padding) -> Option<Layout> {
        let own = self.canonical();
        let [rows, columns] = own.axes[..] else { return None };
        let place = |digit: &Digit| if let Home::Place(stride) = digit.home { Some(stride) } else { None };
        let places = || own.digits.iter().filter(|digit| place(digit).is_some());
        let lowest_of = |axis: usize| places().find(|digit| digit.of == Of::Axis(axis)).and_then(place);
        let above = |axis: usize| own.of_axis(axis).into_iter().map(|(_, digit)| digit);
        // The digits of an axis that count bundles or bodies say how many of its indices share a polynomial.
        let of_polynomial =
            |axis: usize| above(axis).filter(|digit| place(digit).is_none()).map(|digit| digit.weight).min();
        let body = own.digits.iter().find(|digit| digit.home == Home::Body);
        let axes: &[BodyAxis] = match body.map(|digit| digit.of) {
            Some(Of::Axis(0)) => &[BodyAxis::Rows],
            Some(Of::Padding) => &[BodyAxis::Chunks, BodyAxis::Rows],
            _ => &[BodyAxis::Chunks],
        };
        let part = places().find(|digit| digit.of == Of::Part).is_some();
        let repeated = |stride: usize| {
            places().find(|digit| digit.home == Home::Place(stride) && digit.of == Of::Repetition)
        };
        // A single number that is in all slots repeats with the period 1.
        let copies = repeated(1).map_or(1, |digit| digit.extent % own.positions()).max(1);
        let period = places().filter(|digit| digit.of == Of::Repetition).filter_map(place).max();
        let period = period.filter(|&stride| stride >= copies).unwrap_or(own.positions());
        let candidates = [false, true].into_iter().flat_map(|paired| {
            let orders = [Order::Natural, Order::BitReversed].into_iter();
            orders.flat_map(move |order| axes.iter().map(move |&axis| (paired, order, axis)))
        });
        for (paired, order, axis) in candidates {
            if paired && (part || own.encoding == Encoding::Slots) {
                continue;
            }
            let most = own.positions() >> u32::from(part || paired);
            let (capacity, lanes) = if own.encoding == Encoding::Slots {
                // In reversed order the numbers with even and with odd indices are in the halves of a chunk.
                let odd = places().find(|digit| digit.of == Of::Axis(1) && digit.weight == 1).and_then(place);
                let reversed = odd.filter(|_| order == Order::BitReversed).map(|stride| 2 * stride);
                let lane = reversed.or(lowest_of(0)).unwrap_or(period).max(copies);
                (lane / copies, (period / lane).max(1))
            } else {
                let lanes =
                    places().filter(|digit| digit.of == Of::Axis(0)).map(|digit| digit.extent).product();
                let natural = lowest_of(1).map_or(1, |stride| most / stride);
                let alone = match order {
                    // Polynomials that were split are full.
                    _ if own.components > 1 => most,
                    Order::Natural => natural,
                    Order::BitReversed => columns.length.next_power_of_two(),
                };
                (of_polynomial(1).unwrap_or(alone), lanes)
            };
            let layout = Layout {
                rows: rows.length,
                columns: columns.length,
                encoding: own.encoding,
                complex: complex || part,
                paired,
                degree: own.degree,
                capacity,
                chunks: columns.length.div_ceil(capacity.max(1)),
                components: own.components,
                lanes,
                copies,
                bodies: body.map_or(1, |digit| digit.extent),
                axis,
                order,
                padding,
            };
            let fits = layout.check(&[rows.length, columns.length], own.degree).is_ok();
            if fits && layout.digits().canonical() == own {
                return Some(layout);
            }
        }
        None
    }
}

/// Whether the digit `high` continues `low`: in places it begins where `low` ends, and so do its weights.
fn is_next(low: Digit, high: Digit) -> bool {
    let (Home::Place(below), Home::Place(stride)) = (low.home, high.home) else { return false };
    let continues = match low.of {
        Of::Axis(_) => high.weight == low.weight * low.extent,
        Of::Part => false,
        Of::Repetition | Of::Padding => true,
    };
    low.of == high.of && continues && stride == below * low.extent
}

impl Layout {
    /// The same places as digits, with rows and columns as axes.
    #[must_use]
    pub fn digits(&self) -> Digits {
        let (rows, columns) = (Of::Axis(0), Of::Axis(1));
        let digit = |of, weight, extent, home| Digit { of, weight, extent, home };
        let (row_bodies, chunk_bodies) = match self.axis {
            BodyAxis::Rows => (self.bodies, 1),
            BodyAxis::Chunks => (1, self.bodies),
        };
        let (body_of, body_weight) = match self.axis {
            BodyAxis::Rows => (rows, self.lanes),
            BodyAxis::Chunks => (columns, self.capacity),
        };
        let mut digits = vec![
            digit(rows, self.lanes * row_bodies, self.lines(), Home::Bundle),
            digit(columns, self.capacity * chunk_bodies, self.groups(), Home::Bundle),
            digit(body_of, body_weight, self.bodies, Home::Body),
        ];
        let mut place =
            |of, weight, extent, stride| digits.push(digit(of, weight, extent, Home::Place(stride)));
        let (stride, capacity) = (self.stride(), self.capacity);
        match self.order {
            Order::Natural => place(columns, 1, capacity, stride),
            Order::BitReversed => {
                for bit in 0..capacity.trailing_zeros() {
                    place(columns, 1 << bit, 2, stride * (capacity >> (bit + 1)));
                }
            }
        }
        place(rows, 1, self.lanes, self.lane_offset(1));
        if self.encoding == Encoding::Slots {
            place(Of::Repetition, 0, self.copies, 1);
            place(Of::Repetition, 0, self.whole_degree() / 2 / self.period(), self.period());
        } else {
            place(Of::Padding, 0, stride / self.lanes, self.lanes);
            let half = self.whole_degree() / 2;
            if self.complex {
                place(Of::Part, 0, 2, half);
            } else if self.paired {
                place(Of::Padding, 0, 2, half);
            }
        }
        let axis = |length| Axis { length, offset: 0, falls: false };
        Digits {
            encoding: self.encoding,
            degree: self.degree,
            components: self.components,
            full: self.order != Order::Natural || self.complex || self.paired,
            axes: vec![axis(self.rows), axis(self.columns)],
            digits,
        }
    }
}
