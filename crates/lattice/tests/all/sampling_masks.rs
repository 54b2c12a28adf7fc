//! Masks from seeds: the documented construction word by word, independence of cutting, and uniformity (false
//! alarms: see `statistics`).

use crate::statistics::{assert_pairs_uniform, assert_uniform};
use clathrate_arith::Modulus;
use clathrate_lattice::sampling::{MaskSeed, MaskXof};

/// Small, at the width boundaries, and one (1.5 * 2^60 + 1) that refuses a sixteenth of all words.
const MODULI: [u64; 9] =
    [3, 17, 257, (1 << 31) - 1, (1 << 40) - 87, (1 << 50) - 27, (1 << 60) - 93, REFUSING, (1 << 61) - 1];
const REFUSING: u64 = (3 << 59) + 1;

fn seed() -> MaskSeed {
    MaskSeed(std::array::from_fn(|i| i as u8))
}

fn modulus(q: u64) -> Modulus {
    Modulus::new(q).expect("odd and below 2^61")
}

fn row(xof: &mut MaskXof, q: u64, length: usize) -> Vec<u64> {
    let mut row = vec![u64::MAX; length];
    xof.fill_uniform(&modulus(q), &mut row);
    row
}

/// The construction of the module's first lines from the bare `blake3` crate: all output at once.
fn documented_output(key: &[u8; 32], label: &str, domain: &str, indices: &[u64], bytes: usize) -> Vec<u8> {
    let mut message = Vec::new();
    for text in [label, domain] {
        message.extend((text.len() as u64).to_le_bytes());
        message.extend(text.bytes());
    }
    message.extend((indices.len() as u64).to_le_bytes());
    indices.iter().for_each(|index| message.extend(index.to_le_bytes()));
    let mut output = vec![0u8; bytes];
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&message);
    hasher.finalize_xof().fill(&mut output);
    output
}

fn documented_words(domain: &str, indices: &[u64], count: usize) -> Vec<u64> {
    let output = documented_output(&seed().0, "clathrate mask 1", domain, indices, 8 * count);
    output.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes"))).collect()
}

fn accepted(word: u64, q: u64) -> bool {
    u128::from(word) < (1u128 << 64) / u128::from(q) * u128::from(q)
}

#[test]
fn mask_equals_the_documented_construction() {
    for (domain, indices) in [
        ("", &[][..]),
        ("bundle", &[3, 1]),
        ("a much longer domain name than one block of the hash holds, to see", &[u64::MAX; 40]),
    ] {
        let words = documented_words(domain, indices, 6000);
        for q in MODULI {
            let expected: Vec<u64> =
                words.iter().filter(|&&word| accepted(word, q)).map(|word| word % q).take(5000).collect();
            assert_eq!(row(&mut MaskXof::new(&seed(), domain, indices), q, 5000), expected, "{domain} {q}");
        }
    }
}

#[test]
fn mask_of_the_frozen_vector_never_changes() {
    // Files store seeds: another value here means that their masks are lost.
    let mut xof = MaskXof::new(&seed(), "golden", &[1, 2]);
    assert_eq!(row(&mut xof, (1 << 40) - 87, 4), GOLDEN_40);
    assert_eq!(row(&mut xof, REFUSING, 4), GOLDEN_60);
    assert_eq!(seed().derive("golden", 5).0[..8], GOLDEN_SEED);
}

const GOLDEN_40: [u64; 4] = [874170535243, 475563185917, 955420988909, 369537191448];
const GOLDEN_60: [u64; 4] =
    [390092180621224698, 490275952538658025, 1672680416288177136, 1375850271050976170];
const GOLDEN_SEED: [u8; 8] = [116, 38, 52, 247, 68, 121, 76, 219];

#[test]
fn derived_seed_equals_the_documented_construction() {
    let expected = documented_output(&seed().0, "clathrate seed 1", "key", &[7], 32);
    assert_eq!(seed().derive("key", 7).0[..], expected);
}

#[test]
fn mask_does_not_depend_on_how_rows_are_cut() {
    for q in MODULI {
        let whole = row(&mut MaskXof::new(&seed(), "cut", &[]), q, 20_000);
        for piece in [1, 2, 7, 16, 127, 128, 129, 2047, 2048, 2049, 8191, 20_000] {
            let mut xof = MaskXof::new(&seed(), "cut", &[]);
            let mut cut = vec![0u64; whole.len()];
            cut.chunks_mut(piece).for_each(|part| xof.fill_uniform(&modulus(q), part));
            assert_eq!(cut, whole, "{q} in pieces of {piece}");
        }
    }
}

#[test]
fn mask_of_several_moduli_takes_words_in_the_order_of_requests() {
    let words = documented_words("chain", &[], 1000);
    let mut next = words.iter();
    let mut xof = MaskXof::new(&seed(), "chain", &[]);
    for (q, length) in
        [(REFUSING, 100), (17, 0), (17, 33), ((1 << 50) - 27, 200), (REFUSING, 1), (REFUSING, 255)]
    {
        let expected: Vec<u64> =
            next.by_ref().filter(|&&word| accepted(word, q)).map(|word| word % q).take(length).collect();
        assert_eq!(row(&mut xof, q, length), expected, "{q}");
    }
}

#[test]
fn residues_are_uniform() {
    for q in MODULI {
        let cells = q.min(256) as usize;
        let mut counts = vec![0u64; cells];
        for residue in row(&mut MaskXof::new(&seed(), "uniform", &[q]), q, 1 << 18) {
            assert!(residue < q);
            counts[(u128::from(residue) * cells as u128 / u128::from(q)) as usize] += 1;
        }
        // Cells of equal width: exact where q <= 256, to 2^-22 of a cell's share above 2^31; 257 has one cell
        // of two residues.
        if q != 257 {
            assert_uniform(&format!("residues mod {q}"), &counts);
        }
        if q <= 257 {
            let mut counts = vec![0u64; q as usize];
            row(&mut MaskXof::new(&seed(), "exact", &[]), q, 1 << 18)
                .iter()
                .for_each(|&residue| counts[residue as usize] += 1);
            assert_uniform(&format!("values mod {q}"), &counts);
        }
    }
}

#[test]
fn low_bits_of_residues_are_uniform() {
    for q in [(1u64 << 40) - 87, REFUSING] {
        let mut counts = vec![0u64; 256];
        row(&mut MaskXof::new(&seed(), "low", &[q]), q, 1 << 18)
            .iter()
            .for_each(|&residue| counts[residue as usize % 256] += 1);
        assert_uniform(&format!("low bytes mod {q}"), &counts);
    }
}

#[test]
fn neighbouring_residues_are_independent() {
    for q in [17, (1 << 40) - 87, REFUSING] {
        let cell = |residue: u64| (u128::from(residue) * 16 / u128::from(q)) as usize;
        let residues = row(&mut MaskXof::new(&seed(), "serial", &[]), q, 1 << 18);
        if q == 17 {
            assert_pairs_uniform(
                "pairs mod 17",
                17,
                residues.chunks_exact(2).map(|pair| (pair[0] as usize, pair[1] as usize)),
            );
            continue;
        }
        for lag in [1, 8, 16] {
            // Disjoint pairs, so that the cells are independent draws.
            let pairs = (0..residues.len() / (2 * lag))
                .flat_map(|block| (0..lag).map(move |i| (2 * lag * block + i, 2 * lag * block + lag + i)));
            assert_pairs_uniform(
                &format!("lag {lag} mod {q}"),
                16,
                pairs.map(|(i, j)| (cell(residues[i]), cell(residues[j]))),
            );
        }
    }
}

#[test]
fn streams_of_different_seed_domain_or_indices_are_independent() {
    let q = (1u64 << 50) - 27;
    let cell = |residue: u64| (u128::from(residue) * 16 / u128::from(q)) as usize;
    let mut flipped = seed();
    flipped.0[31] ^= 0x80;
    let streams: Vec<(&str, Vec<u64>)> = [
        ("base", seed(), "mask", &[0u64, 1][..]),
        ("indices swapped", seed(), "mask", &[1, 0]),
        ("one index less", seed(), "mask", &[0]),
        ("one index more", seed(), "mask", &[0, 1, 0]),
        ("no indices", seed(), "mask", &[]),
        ("shorter domain", seed(), "mas", &[0, 1]),
        ("empty domain", seed(), "", &[0, 1]),
        ("one bit of the seed", flipped, "mask", &[0, 1]),
        ("derived seed", seed().derive("mask", 0), "mask", &[0, 1]),
        ("derived seed of the next index", seed().derive("mask", 1), "mask", &[0, 1]),
        ("derived seed of another domain", seed().derive("mas", 1), "mask", &[0, 1]),
    ]
    .map(|(name, seed, domain, indices)| (name, row(&mut MaskXof::new(&seed, domain, indices), q, 1 << 14)))
    .into();
    for (i, (left_name, left)) in streams.iter().enumerate() {
        for (right_name, right) in &streams[..i] {
            let pairs = left.iter().zip(right).map(|(&l, &r)| (cell(l), cell(r)));
            assert_pairs_uniform(&format!("{left_name} against {right_name}"), 16, pairs);
        }
    }
}

#[test]
fn seeds_from_the_operating_system_differ() {
    let seeds: Vec<MaskSeed> = (0..16).map(|_| MaskSeed::random().expect("entropy")).collect();
    for (i, seed) in seeds.iter().enumerate() {
        assert!(!seeds[..i].contains(seed));
    }
}
