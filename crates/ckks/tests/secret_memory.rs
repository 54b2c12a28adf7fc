//! What is left of a secret key in memory when it is dropped: another process with the key's file looks for
//! its seed, from which all further secrets are drawn.
#![cfg(target_os = "linux")]

#[path = "all/common/mod.rs"]
mod common;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::{KeyNeeds, SecretKey};
use clathrate_lattice::Level;
use common::*;

/// The seed is given to the other process in this disguise, so that it is nowhere in its memory before the
/// key is read.
const DISGUISE: u8 = 0xa5;
const FILE: &str = "CLATHRATE_TEST_KEY_FILE";
const SEED: &str = "CLATHRATE_TEST_DISGUISED_SEED";

/// Where a run of bytes is in this process's memory, the run being given in disguise.
fn places(disguised: &[u8]) -> Vec<u64> {
    const PIECE: usize = 1 << 16;
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let memory = File::open("/proc/self/mem").expect("memory");
    let mut found = Vec::new();
    let mut piece = vec![0u8; PIECE + disguised.len() - 1];
    let own = piece.as_ptr() as u64..piece.as_ptr() as u64 + piece.len() as u64;
    for line in maps.lines().filter(|line| {
        line.split(' ').nth(1).is_some_and(|mode| mode.starts_with('r')) && !line.ends_with(']')
            || line.ends_with("[heap]")
            || line.ends_with("[stack]")
    }) {
        let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let (start, end) =
            (u64::from_str_radix(start, 16).expect("hex"), u64::from_str_radix(end, 16).expect("hex"));
        for at in (start..end).step_by(PIECE) {
            let wanted = ((end - at) as usize).min(piece.len());
            let Ok(read) = memory.read_at(&mut piece[..wanted], at) else { continue };
            let is_here =
                |window: &[u8]| window.iter().zip(disguised).all(|(byte, hidden)| byte ^ DISGUISE == *hidden);
            found.extend(
                piece[..read]
                    .windows(disguised.len())
                    .enumerate()
                    .filter(|(_, window)| is_here(window))
                    .map(|(offset, _)| at + offset as u64),
            );
        }
    }
    found.retain(|place| !own.contains(place));
    found
}

fn load(path: &str) -> SecretKey {
    SecretKey::from_reader(&FileReader::open(path).expect("readable"), &params("insecure_boot"))
        .expect("a key")
}

/// The other process.
fn look(path: &str, disguised: &[u8]) {
    assert_eq!(places(disguised), [0u64; 0], "before the key is read");
    let key = load(path);
    assert!(!places(disguised).is_empty(), "the search finds the seed while the key lives");
    // Everything that draws secrets from the seed: keys of an ephemeral secret and of bodies, a device's
    // client; and storage.
    let needs = KeyNeeds::new().relinearise(KeyLevel::Level(1)).shared_mask(2, KeyLevel::Level(1));
    drop(key.evaluation_keys(&needs).expect("keys"));
    drop(key.light_client(&device_options(7, 1, Level(0))).expect("a client"));
    key.save(PathBuf::from(path).with_extension("copy")).expect("saved");
    drop(key);
    assert_eq!(places(disguised), [0u64; 0], "after the key is dropped");
}

#[test]
fn no_seed_is_left_in_memory_when_a_key_is_dropped() {
    if let (Ok(path), Ok(disguised)) = (std::env::var(FILE), std::env::var(SEED)) {
        let digits: Vec<u8> = disguised
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("hex"))
            .collect();
        return look(&path, &digits);
    }
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("secret.clt");
    let key = SecretKey::generate(&params("insecure_boot")).expect("key");
    key.save(&path).expect("saved");
    let reader = FileReader::open(&path).expect("readable");
    let disguised: String = reader
        .section("seed")
        .expect("seed")
        .bytes()
        .iter()
        .map(|byte| format!("{:02x}", byte ^ DISGUISE))
        .collect();
    let mut other = Command::new(std::env::current_exe().expect("this program"));
    other
        .args(["no_seed_is_left_in_memory_when_a_key_is_dropped", "--exact", "--nocapture"])
        .env(FILE, &path)
        .env(SEED, &disguised);
    let output = other.output().expect("runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
