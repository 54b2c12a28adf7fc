//! Layouts: every entry has one place, every place at most one entry, through all arrangements and moves.

use std::collections::BTreeSet;

use clathrate_ckks::arrays::digits::Digits;
use clathrate_ckks::arrays::{Entry, Part, Place};
use clathrate_ckks::{BodyAxis, CkksError, Encoding, Layout, Order, Padding};
use serde_json::json;

/// `layout` with other fields, as a file may have them.
fn altered(layout: &Layout, fields: &serde_json::Value) -> Layout {
    let mut all = serde_json::to_value(layout).expect("a layout");
    for (name, value) in fields.as_object().expect("fields") {
        all[name] = value.clone();
    }
    serde_json::from_value(all).expect("a layout's fields")
}

/// Every entry of `layout`, with the place that it says.
fn places(layout: &Layout) -> Vec<(Entry, Place)> {
    let mut all = Vec::new();
    for row in 0..layout.rows() {
        for column in 0..layout.columns() {
            all.push((Entry { row, column, part: Part::Real }, layout.place(row, column).expect("an entry")));
            if let Some(place) = layout.imaginary_place(row, column).expect("an entry") {
                all.push((Entry { row, column, part: Part::Imaginary }, place));
            }
        }
    }
    all
}

/// Asserts that places and entries are a bijection, that polynomials and seats are one, and that files keep
/// the layout.
fn assert_bijection(layout: &Layout, shape: &[usize]) {
    layout.check(shape, layout.degree()).unwrap_or_else(|error| panic!("{layout:?}: {error}"));
    let indices = if layout.encoding() == Encoding::Slots { layout.period() } else { layout.degree() };
    let entries = places(layout);
    let mut taken = BTreeSet::new();
    for (entry, place) in &entries {
        assert!(
            place.bundle < layout.bundles() && place.body < layout.bodies() && place.index < indices,
            "{layout:?}: {place:?}"
        );
        assert!(taken.insert(*place), "{layout:?}: {place:?} twice");
        assert_eq!(layout.entry(*place), Some(*entry), "{layout:?}: {place:?}");
    }
    let mut found = 0;
    let mut polynomials = BTreeSet::new();
    for bundle in 0..layout.bundles() {
        for body in 0..layout.bodies() {
            if let Some(polynomial) = layout.polynomial_at(bundle, body) {
                assert_eq!(layout.seat(polynomial), (bundle, body), "{layout:?}");
                assert!(polynomials.insert(polynomial), "{layout:?}");
            }
            found +=
                (0..indices).filter(|&index| layout.entry(Place { bundle, body, index }).is_some()).count();
        }
    }
    assert_eq!(found, entries.len() * layout.copies(), "{layout:?}");
    assert_eq!(polynomials, (0..layout.polynomials()).collect(), "{layout:?}");
    assert_eq!(layout.entry(Place { bundle: layout.bundles(), body: 0, index: 0 }), None);
    assert_eq!(layout.entry(Place { bundle: 0, body: layout.bodies(), index: 0 }), None);
    // Padding is there exactly where a polynomial has a place without an entry.
    if layout.order() == Order::Natural && layout.components() == 1 {
        let headroom = layout.polynomials() * indices;
        assert_eq!(layout.has_padding(), headroom > entries.len() * layout.copies(), "{layout:?}");
    }
    let text = serde_json::to_string(layout).expect("json");
    assert_eq!(&serde_json::from_str::<Layout>(&text).expect("json"), layout, "{text}");
}

const SHAPES: [&[usize]; 9] = [&[], &[1], &[3], &[8], &[21], &[1, 5], &[3, 4], &[5, 17], &[7, 32]];

/// All arrangements of an array at one degree.
fn arrangements(shape: &[usize], degree: usize) -> Vec<Layout> {
    let mut all = Vec::new();
    for encoding in [Encoding::Slots, Encoding::Coefficients] {
        for complex in [false, true] {
            let Ok(layout) = Layout::new(shape, encoding, degree) else { continue };
            let Ok(layout) = (if complex { layout.with_complex() } else { Ok(layout) }) else { continue };
            let capacities = (0..=degree.ilog2())
                .map(|log| 1 << log)
                .filter_map(|capacity| layout.with_capacity(capacity).ok());
            let lanes = (1..=degree.ilog2()).filter_map(|log| layout.with_lanes(Some(1 << log)).ok());
            let copies = (1..=degree.ilog2()).filter_map(|log| layout.with_copies(1 << log).ok());
            let both = layout.with_lanes(Some(2)).and_then(|layout| layout.with_copies(2)).ok();
            let paired =
                altered(&layout, &json!({ "paired": true })).with_capacity(layout.capacity() / 2).ok();
            let paired = paired.filter(|_| encoding == Encoding::Coefficients && !complex);
            for layout in
                std::iter::once(layout).chain(capacities).chain(lanes).chain(copies).chain(both).chain(paired)
            {
                for bodies in [1usize, 2, 3, 8] {
                    for axis in [None, Some(BodyAxis::Rows), Some(BodyAxis::Chunks)] {
                        for order in [Order::Natural, Order::BitReversed] {
                            all.push(layout.with_bodies(bodies, axis).expect("bodies").with_order(order));
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_entry_has_one_place_and_every_place_at_most_one_entry() {
    let mut count = 0;
    for shape in SHAPES {
        for degree in [1usize, 2, 4, 16] {
            for layout in arrangements(shape, degree) {
                assert_bijection(&layout, shape);
                count += 1;
            }
        }
    }
    assert!(count > 3000, "{count} layouts");
}

#[test]
fn rows_in_lanes_alternate_and_come_apart_as_components() {
    let layout =
        Layout::new(&[7, 3], Encoding::Coefficients, 16).expect("layout").with_lanes(None).expect("lanes");
    // Four numbers of room for a row, so four rows in a polynomial.
    assert_eq!((layout.capacity(), layout.lanes(), layout.stride(), layout.bundles()), (4, 4, 4, 2));
    assert_eq!(layout.place(5, 2).expect("entry"), Place { bundle: 1, body: 0, index: 9 });
    let two = layout.with_lanes(Some(2)).expect("lanes");
    assert_eq!((two.place(5, 2).expect("entry"), two.bundles()), (Place { bundle: 2, body: 0, index: 9 }, 4));
    // Two polynomials under one mask.
    let bodies = layout.with_bodies(2, None).expect("bodies");
    assert_eq!(bodies.place(5, 2).expect("entry"), Place { bundle: 0, body: 1, index: 9 });
    // At degree 4 every row is a bundle.
    let apart = layout.split_degree(4).expect("a lower degree");
    assert_eq!((apart.lanes(), apart.components(), apart.bundles()), (1, 1, 7));
    assert_eq!(apart.place(5, 2).expect("entry"), Place { bundle: 5, body: 0, index: 2 });
    for refused in [layout.split_degree(2), two.split_degree(4), bodies.split_degree(4)] {
        assert!(matches!(refused, Err(CkksError::Unsuitable { .. })), "{refused:?}");
    }
    // A part of the columns has the same places; such rows are brought together again.
    for columns in 1..=3 {
        let part = layout.of_columns(columns).with_padding(Padding::Dirty);
        assert_bijection(&part, &[7, columns]);
        let apart = part.split_degree(4).expect("a lower degree");
        assert_eq!(apart.gathered(4).expect("lanes"), part);
    }
    for fields in [
        json!({ "lanes": 8 }),
        json!({ "lanes": 3 }),
        json!({ "lanes": 0 }),
        json!({ "columns": 5, "chunks": 2 }),
        json!({ "complex": true }),
        json!({ "encoding": "slots" }),
    ] {
        let lie = altered(&layout, &fields);
        assert!(lie.check(&[7, lie.columns()], 16).is_err(), "{lie:?}");
    }
    let long = Layout::new(&[2, 9], Encoding::Coefficients, 16).expect("layout");
    assert_eq!(long.with_lanes(None).expect("one lane"), long);
    for (layout, lanes) in
        [(layout, 3), (layout, 8), (layout, 0), (long, 2), (layout.with_complex().unwrap_or(long), 2)]
    {
        assert!(
            matches!(layout.with_lanes(Some(lanes)), Err(CkksError::OutOfRange { .. })),
            "{lanes} lanes of {layout:?}"
        );
    }
}

#[test]
fn places_are_those_of_the_definition() {
    let layout = Layout::new(&[2, 11], Encoding::Coefficients, 8).expect("layout");
    // Two rows of two chunks of eight coefficients.
    assert_eq!((layout.capacity(), layout.chunks(), layout.bundles()), (8, 2, 4));
    assert_eq!(layout.place(1, 9).expect("entry"), Place { bundle: 3, body: 0, index: 1 });
    let reversed = layout.with_order(Order::BitReversed);
    assert_eq!(reversed.place(1, 9).expect("entry"), Place { bundle: 3, body: 0, index: 4 });
    // Both chunks of a row under one mask, or both rows.
    let chunks = layout.with_bodies(2, None).expect("bodies");
    assert_eq!((chunks.body_axis(), chunks.bundles()), (BodyAxis::Chunks, 2));
    assert_eq!(chunks.place(1, 9).expect("entry"), Place { bundle: 1, body: 1, index: 1 });
    let rows = layout.with_bodies(2, Some(BodyAxis::Rows)).expect("bodies");
    assert_eq!(rows.bundles(), 2);
    assert_eq!(rows.place(1, 9).expect("entry"), Place { bundle: 1, body: 1, index: 1 });
    assert_eq!(rows.place(1, 3).expect("entry"), Place { bundle: 0, body: 1, index: 3 });
    // Three bodies: the last two of the second bundle are empty.
    let three =
        Layout::new(&[4, 3], Encoding::Slots, 8).expect("layout").with_bodies(3, None).expect("bodies");
    assert_eq!((three.body_axis(), three.bundles(), three.polynomials()), (BodyAxis::Rows, 2, 4));
    assert_eq!(three.polynomial_at(1, 0), Some(3));
    assert_eq!(three.polynomial_at(1, 1), None);
    // Pairs: the imaginary part half the degree behind the real one.
    let pairs = Layout::new(&[3], Encoding::Coefficients, 8).expect("layout").with_complex().expect("pairs");
    assert_eq!((pairs.capacity(), pairs.chunks()), (4, 1));
    assert_eq!(pairs.imaginary_place(0, 2).expect("entry"), Some(Place { bundle: 0, body: 0, index: 6 }));
    // Two numbers in eight coefficients are four apart.
    let sparse =
        Layout::new(&[2], Encoding::Coefficients, 8).expect("layout").with_capacity(2).expect("capacity");
    assert_eq!((sparse.stride(), sparse.place(0, 1).expect("entry").index), (4, 4));
    assert!(sparse.has_padding());
    // Components: the bundle counts the powers of X that it begins with.
    let split = layout.split_degree(4).expect("degree 2");
    assert_eq!((split.degree(), split.components(), split.bundles()), (2, 4, 2 * (4 + 3)));
    assert_eq!(split.place(0, 6).expect("entry"), Place { bundle: 2, body: 0, index: 1 });
    assert_eq!(split.place(1, 9).expect("entry"), Place { bundle: 7 + 4 + 1, body: 0, index: 0 });
    // LWE samples are entry after entry.
    let samples = layout.split_degree(8).expect("degree 1");
    assert_eq!(
        (samples.bundles(), samples.place(1, 9).expect("entry")),
        (22, Place { bundle: 20, body: 0, index: 0 })
    );
}

#[test]
fn moves_of_the_degree_keep_the_bijection_nest_and_come_back() {
    for shape in SHAPES {
        for layout in arrangements(shape, 16) {
            for log in 1..=4 {
                let gap = 1usize << log;
                let Ok(lowered) = layout.split_degree(gap) else {
                    let slots = layout.encoding() == Encoding::Slots && layout.period() > 16 / gap / 2;
                    assert!(slots || layout.lanes() > 1, "{layout:?}");
                    continue;
                };
                assert_bijection(&lowered, shape);
                // Rows in lanes of coefficients come apart in one move, and raising them again leaves one in
                // each polynomial.
                if layout.lanes() > 1 && layout.encoding() == Encoding::Coefficients {
                    assert_eq!((lowered.lanes(), lowered.components()), (1, 1), "{layout:?}");
                    continue;
                }
                for first in 1..log {
                    let twice = layout
                        .split_degree(1 << first)
                        .and_then(|half| half.split_degree(gap >> first))
                        .expect("in two moves");
                    assert_eq!(twice, lowered, "{layout:?} by {gap}");
                }
                assert_bijection(&lowered.merge_degree(gap), shape);
                assert_eq!(lowered.merge_degree(gap).degree(), 16);
                // Samples that each have a mask of their own fill polynomials densely, however far apart the
                // numbers were before.
                let real = layout.encoding() == Encoding::Coefficients
                    && !layout.is_complex()
                    && !layout.is_paired()
                    && layout.order() == Order::Natural;
                let samples = lowered.degree() == 1
                    && real
                    && (layout.bodies() == 1 || layout.body_axis() == BodyAxis::Rows);
                let expected =
                    if samples { layout.with_capacity(16).expect("all coefficients") } else { layout };
                assert_eq!(lowered.merge_degree(gap), expected, "{layout:?} by {gap}");
            }
            for gap in [2usize, 8].into_iter().filter(|_| layout.lanes() == 1) {
                let raised = layout.merge_degree(gap);
                assert_bijection(&raised, shape);
                assert_eq!(raised.split_degree(gap).expect("back"), layout);
            }
        }
    }
}

#[test]
fn coefficients_are_where_the_moves_of_bundles_bring_them() {
    // By the definition of components: the coefficient of X^P is in component P mod g, at the power P / g.
    for complex in [false, true] {
        for order in [Order::Natural, Order::BitReversed] {
            let layout = Layout::new(&[13], Encoding::Coefficients, 16).expect("layout");
            let layout =
                if complex { layout.with_complex().expect("pairs") } else { layout }.with_order(order);
            for gap in [2usize, 4, 8, 16] {
                let lowered = layout.split_degree(gap).expect("lower");
                for ((entry, before), (_, after)) in places(&layout).iter().zip(places(&lowered)) {
                    let (chunk, component) = (before.bundle, before.index % gap);
                    let bundles: usize = (0..chunk).map(|chunk| lowered_bundles(&layout, gap, chunk)).sum();
                    assert_eq!(
                        (after.bundle, after.index),
                        (bundles + component, before.index / gap),
                        "{entry:?} by {gap}"
                    );
                }
            }
        }
    }
}

/// Bundles that chunk `chunk` becomes.
fn lowered_bundles(layout: &Layout, gap: usize, chunk: usize) -> usize {
    let all = layout.is_complex() || layout.order() == Order::BitReversed;
    if all { gap } else { gap.min(layout.entries_in(chunk)) }
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    let message = |error: CkksError| error.to_string();
    let slots = Layout::new(&[3], Encoding::Slots, 1).expect_err("no slots");
    assert!(
        matches!(slots, CkksError::Unsuitable { .. }) && message(slots).contains("polynomials of degree 1")
    );
    let coefficients = Layout::new(&[3], Encoding::Coefficients, 1).expect("LWE");
    assert!(
        matches!(coefficients.with_complex(), Err(CkksError::Unsuitable { reason, .. }) if reason.contains("polynomials of degree"))
    );
    let layout = Layout::new(&[3, 5], Encoding::Slots, 16).expect("layout");
    for capacity in [0, 3, 16, usize::MAX] {
        assert!(matches!(layout.with_capacity(capacity), Err(CkksError::OutOfRange { .. })), "{capacity}");
    }
    for bodies in [0, 4097, usize::MAX] {
        assert!(matches!(layout.with_bodies(bodies, None), Err(CkksError::OutOfRange { .. })), "{bodies}");
    }
    assert!(matches!(layout.place(3, 0), Err(CkksError::OutOfRange { .. })));
    assert!(matches!(layout.place(0, 5), Err(CkksError::OutOfRange { .. })));
    assert!(layout.check(&[3, 5], 16).is_ok());
    assert!(layout.check(&[5, 3], 16).is_err() && layout.check(&[3, 5], 32).is_err());
    let lies = [
        json!({ "chunks": 2 }),
        json!({ "capacity": 16, "chunks": 1 }),
        json!({ "components": 2 }),
        json!({ "components": 3, "encoding": "coefficients" }),
        json!({ "components": 1_u64 << 40, "encoding": "coefficients", "capacity": 16 }),
        // Numbers that are apart are not split over components.
        json!({ "components": 2, "encoding": "coefficients", "capacity": 16 }),
        json!({ "axis": "rows" }),
        json!({ "bodies": 0 }),
        json!({ "columns": 8, "padding": "dirty" }),
    ];
    for fields in lies {
        let lie = altered(&layout, &fields);
        assert!(lie.check(&[3, lie.columns()], 16).is_err(), "{lie:?}");
    }
    assert!(
        Layout::new(&[1 << 47, 1], Encoding::Coefficients, 16)
            .expect("large")
            .check(&[1 << 47, 1], 16)
            .is_ok()
    );
    let many = Layout::new(&[1 << 47, 1], Encoding::Coefficients, 16)
        .and_then(|layout| layout.with_bodies(4096, Some(BodyAxis::Chunks)));
    assert!(many.expect("layout").check(&[1 << 47, 1], 16).is_err(), "more bodies than can be counted");
}

#[test]
fn padding_is_only_where_there_is_room_for_it() {
    let full = Layout::new(&[2, 8], Encoding::Slots, 16).expect("layout");
    assert!(!full.has_padding());
    assert_eq!(full.with_padding(Padding::Dirty).padding(), Padding::Zero);
    let partial = Layout::new(&[2, 7], Encoding::Slots, 16).expect("layout");
    assert!(partial.has_padding());
    assert_eq!(partial.with_padding(Padding::Dirty).padding(), Padding::Dirty);
    // Two chunks of eight slots, the second with one entry.
    let chunks = Layout::new(&[9], Encoding::Slots, 16).expect("layout");
    assert_eq!((chunks.chunks(), chunks.has_padding()), (2, true));
    assert!(Padding::Zero < Padding::Dirty);
}

#[test]
fn numbers_that_a_move_brings_side_by_side_have_no_padding_left() {
    // Sixteen numbers, four coefficients apart: at a quarter of the degree nothing is between them.
    let apart = Layout::new(&[16], Encoding::Coefficients, 64)
        .and_then(|layout| layout.with_capacity(16))
        .expect("a layout");
    let dirty = apart.with_padding(Padding::Dirty);
    assert_eq!(dirty.padding(), Padding::Dirty);
    for (gap, padding) in [(2, Padding::Dirty), (4, Padding::Zero), (8, Padding::Zero), (64, Padding::Zero)] {
        let low = dirty.split_degree(gap).expect("a layout");
        assert_eq!(low.padding(), padding, "{gap}");
        low.check(&[16], 64 / gap).expect("a layout that fits");
    }
}

/// Asserts that `digits` has the places of `layout`: of every entry, and of every place of every bundle.
fn assert_same_places(layout: &Layout, digits: &Digits) {
    assert_eq!(digits.bundles(), layout.bundles(), "{layout:?}: {digits:?}");
    for (Entry { row, column, part }, place) in places(layout) {
        assert_eq!(digits.place(&[row, column], part), Some(place), "{layout:?}: {digits:?}");
    }
    for outside in [[layout.rows(), 0], [0, layout.columns()]] {
        assert_eq!(digits.place(&outside, Part::Real), None, "{layout:?}: {digits:?}");
    }
    let indices = if layout.encoding() == Encoding::Slots { layout.period() } else { layout.degree() };
    for bundle in 0..=layout.bundles() {
        for body in 0..=layout.bodies() {
            for index in 0..indices {
                let place = Place { bundle, body, index };
                let entry = layout.entry(place).map(|own| (vec![own.row, own.column], own.part));
                assert_eq!(digits.entry(place), entry, "{layout:?}: {place:?} of {digits:?}");
            }
        }
    }
}

/// Asserts that digits, their canonical form and the layout that is made of it have the places of `layout`.
fn assert_digits(layout: &Layout) {
    let digits = layout.digits();
    assert_same_places(layout, &digits);
    let canonical = digits.canonical();
    assert_same_places(layout, &canonical);
    assert_eq!(canonical.canonical(), canonical, "{layout:?}");
    let back = canonical
        .to_layout(layout.is_complex(), layout.padding())
        .unwrap_or_else(|| panic!("{layout:?}: no layout of {canonical:?}"));
    assert!(back.same_places(layout), "{layout:?} became {back:?}");
    assert_same_places(layout, &back.digits());
    // Each row and column stays where it is in a transpose.
    let transposed = digits.transposed();
    for (Entry { row, column, part }, place) in places(layout) {
        assert_eq!(transposed.place(&[column, row], part), Some(place), "{layout:?}");
    }
}

#[test]
fn digits_have_the_places_of_their_layout() {
    for shape in SHAPES {
        for degree in [1usize, 2, 4, 16] {
            arrangements(shape, degree).iter().for_each(assert_digits);
        }
    }
}

/// A layout with fields drawn at random, if they fit together.
fn random_layout(words: &mut impl FnMut() -> u64) -> Option<(Layout, [usize; 2])> {
    let mut below = |bound: u64| (words() % bound) as usize;
    let shape = [1 + below(7), 1 + below(40)];
    let degree = 1 << below(6);
    let encoding = if below(2) == 0 { Encoding::Slots } else { Encoding::Coefficients };
    let layout = Layout::new(&shape, encoding, degree).ok()?;
    let capacity = 1usize << below(6);
    let bodies = 1 + below(5);
    let fields = json!({
        "complex": below(3) == 0,
        "paired": below(4) == 0,
        "capacity": capacity,
        "chunks": shape[1].div_ceil(capacity),
        "components": if below(2) == 0 { 1 } else { 1 << below(5) },
        "lanes": if below(2) == 0 { 1 } else { 1 << below(4) },
        "copies": if below(2) == 0 { 1 } else { 1 << below(4) },
        "bodies": bodies,
        "axis": if bodies > 1 && below(2) == 0 { "rows" } else { "chunks" },
        "order": if below(3) == 0 { "bit-reversed" } else { "natural" },
    });
    let layout = altered(&layout, &fields);
    let layout = layout.with_padding(if below(2) == 0 { Padding::Zero } else { Padding::Dirty });
    layout.check(&shape, degree).ok().map(|()| (layout, shape))
}

/// Checks `count` random layouts.
fn check_random_layouts(count: usize, seed: u64) {
    // A xorshift generator.
    let mut state = seed;
    let mut words = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 8
    };
    let (mut found, mut seen) = (0, [0; 4]);
    // About one of thirty fits.
    for _ in 0..200 * count {
        let Some((layout, shape)) = random_layout(&mut words) else { continue };
        assert_bijection(&layout, &shape);
        assert_digits(&layout);
        let own = [layout.components() > 1, layout.lanes() > 1, layout.copies() > 1, layout.is_paired()];
        seen = std::array::from_fn(|field| seen[field] + usize::from(own[field]));
        found += 1;
        if found == count {
            break;
        }
    }
    assert_eq!(found, count);
    assert!(seen.iter().all(|&seen| seen > found / 100), "{seen:?}");
}

#[test]
fn digits_of_random_layouts_have_their_places() {
    check_random_layouts(400, 20);
}

#[test]
#[ignore = "many layouts: make test-full"]
fn digits_of_many_random_layouts_have_their_places() {
    check_random_layouts(20_000, 21);
}
