//! Mutated and random containers: no panic, no large allocation, nothing accepted that was damaged.

use std::fs;

use clathrate_ckks::file::{FileReader, OpenOptions, Stored};

use crate::allocation::peak_of;
use crate::support::*;

/// Field values near limits of the format or of machine words.
const INTERESTING: [u64; 16] =
    [0, 1, 7, 8, 63, 64, 65, 127, 128, 1 << 16, 1 << 20, (1 << 20) + 1, 1 << 32, 1 << 60, 1 << 63, u64::MAX];

/// A small generator, so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// `CLATHRATE_FUZZ_ROUNDS`, for longer runs, else `usual`.
fn fuzz_rounds(usual: usize) -> usize {
    std::env::var("CLATHRATE_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Puts a checksum that fits into the header, where the claimed lengths leave one to compute.
fn repair_checksum(bytes: &mut [u8]) {
    if bytes.len() < 128 {
        return;
    }
    let field = |start: usize| u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap());
    let metadata_end = 128u64.saturating_add(field(56)).checked_next_multiple_of(64);
    let table_start = field(64).checked_mul(64).and_then(|table| (bytes.len() as u64).checked_sub(table));
    if let (Some(end), Some(start)) = (metadata_end, table_start)
        && end <= start
    {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes[..96]).update(&bytes[128..end as usize]).update(&bytes[start as usize..]);
        let checksum = hasher.finalize();
        bytes[96..128].copy_from_slice(checksum.as_bytes());
    }
}

/// Everything a caller can do with bytes from outside; panics are what the tests look for.
fn use_everything(bytes: &[u8]) -> bool {
    FileReader::from_bytes(bytes).is_ok_and(|reader| use_reader(&reader))
}

fn use_reader(reader: &FileReader<'_>) -> bool {
    drop(reader.metadata::<Shape>());
    for section in reader.sections() {
        if let Ok(section) = reader.section(section.name()) {
            drop(section.words());
        }
    }
    drop(Sample::read(reader));
    reader.verify_all().is_ok()
}

/// A copy of `original` with up to four changes; in two rounds of three with a checksum that fits, which the
/// second value tells.
fn mutated(original: &[u8], round: usize, random: &mut Random) -> (Vec<u8>, bool) {
    let mut bytes = original.to_vec();
    let changes = 1 + random.below(4);
    for _ in 0..changes {
        match random.below(6) {
            0 => {
                let place = random.below(bytes.len());
                bytes[place] ^= 1 << random.below(8);
            }
            1 => {
                let place = random.below(bytes.len());
                bytes[place] = random.next() as u8;
            }
            2 | 3 => {
                // A whole field, in the header or the table.
                let slots = bytes.len() / 8;
                let slot = if slots > 32 && random.below(2) == 0 {
                    random.below(16)
                } else {
                    random.below(slots.max(1))
                };
                let value = INTERESTING[random.below(INTERESTING.len())];
                if let Some(field) = bytes.get_mut(8 * slot..8 * slot + 8) {
                    field.copy_from_slice(&value.to_le_bytes());
                }
            }
            4 => bytes.truncate(1 + random.below(bytes.len())),
            _ => bytes.extend(std::iter::repeat_n(random.next() as u8, random.below(200))),
        }
    }
    let repaired = !round.is_multiple_of(3);
    if repaired {
        if bytes.len() >= 80 && random.below(2) == 0 {
            let total = bytes.len() as u64;
            bytes[72..80].copy_from_slice(&total.to_le_bytes());
        }
        repair_checksum(&mut bytes);
    }
    (bytes, repaired)
}

#[test]
fn mutated_containers_never_panic_nor_allocate_much() {
    let originals = [Sample::small().to_file_bytes().unwrap(), ByHand::new().build()];
    let mut random = Random(1);
    let (mut accepted, mut accepted_unrepaired) = (0, 0);
    for round in 0..fuzz_rounds(300_000) {
        let original = &originals[round % originals.len()];
        let (bytes, repaired) = mutated(original, round, &mut random);
        let unchanged = bytes == *original;
        let (peak, ok) = peak_of(|| use_everything(&bytes));
        assert!(peak <= 2 * bytes.len() + 64 * 1024, "{peak} bytes allocated for {}", bytes.len());
        if ok && !unchanged {
            accepted += 1;
            accepted_unrepaired += usize::from(!repaired);
        }
    }
    // With its checksum repaired, a change of the digest or the metadata makes another valid file; without,
    // nothing may pass.
    assert_eq!(accepted_unrepaired, 0);
    assert!(
        accepted > fuzz_rounds(300_000) / 300,
        "the repaired mutations hardly reach past the checksum: {accepted}"
    );
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(2);
    for _ in 0..fuzz_rounds(100_000) {
        let mut bytes: Vec<u8> = (0..random.below(400)).map(|_| random.next() as u8).collect();
        if random.below(2) == 0 && bytes.len() >= 12 {
            bytes[..12].copy_from_slice(b"CLATHRAT\x01\0\0\0");
        }
        assert!(!use_everything(&bytes));
    }
}

#[test]
fn mutated_files_are_judged_as_the_same_bytes_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let originals = [Sample::small().to_file_bytes().unwrap(), ByHand::new().build()];
    let mut random = Random(3);
    let mut opened = 0;
    for round in 0..fuzz_rounds(300_000) / 30 {
        let (bytes, _) = mutated(&originals[round % originals.len()], round, &mut random);
        fs::write(&path, &bytes).unwrap();
        let in_memory = FileReader::from_bytes(&bytes)
            .map(|reader| use_reader(&reader))
            .map_err(|error| error.to_string());
        for options in [OpenOptions::default(), TRUSTED] {
            let (peak, of_file) =
                peak_of(|| FileReader::open_with(&path, options).map(|reader| use_reader(&reader)));
            assert_eq!(of_file.map_err(|error| error.to_string()), in_memory);
            assert!(peak <= 2 * bytes.len() + 512 * 1024, "{peak} bytes allocated for {}", bytes.len());
        }
        opened += usize::from(in_memory.is_ok());
    }
    assert!(opened > fuzz_rounds(300_000) / 3000, "hardly a file could be opened: {opened}");
}
