//! Rounding of doubles to integers, beside the standard library's.

use clathrate_lattice::rounding::{Rounding, nearest_51, nearest_126, rounded_62, rounded_126};

#[test]
fn nearest_integers_are_those_of_rounding_to_even() {
    let edges = [
        0.0,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        0.499_999_999_999_999_94,
        -0.0,
        1e15 + 0.5,
        (1u64 << 51) as f64 - 0.25,
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let many = (0..20_000).map(|i| {
        random = random.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        let mantissa = (random >> 11) as f64 * if random & 1 == 0 { 1.0 } else { -1.0 };
        // Magnitudes of 2^-10 to 2^126, halves included.
        mantissa * 2f64.powi(i % 137 - 63)
    });
    for x in edges.into_iter().chain(many) {
        let expected = x.round_ties_even();
        assert_eq!(nearest_126(x), expected as i128, "{x:e}");
        // Random rounding gives a neighbouring integer, or the number itself if it is one.
        for dither in Rounding::of(x.to_bits()).dithers().take(8) {
            let rounded = rounded_126(x, dither);
            assert!(x.floor() as i128 <= rounded && rounded <= x.ceil() as i128, "{x:e}: {rounded}");
            if x.abs() <= 2f64.powi(62) {
                let rounded = i128::from(rounded_62(x, dither));
                assert!(x.floor() as i128 <= rounded && rounded <= x.ceil() as i128, "{x:e}: {rounded}");
            }
        }
        if x.abs() <= 2f64.powi(51) {
            assert_eq!(nearest_51(x), expected as i64, "{x:e}");
        }
    }
}
