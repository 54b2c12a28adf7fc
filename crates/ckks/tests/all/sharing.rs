//! Results that others see: attacks by an evaluator that deviates, the comparison that finds it out, the
//! budget of a key, and fingerprints of public keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::*;
use clathrate_ckks::file::{FileReader, FileWriter, Stored};
use clathrate_ckks::keys::{EncryptOptions, HonestEvaluator, Shares, Values};
use clathrate_ckks::store::fingerprint;
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, Params, Progress, PublicKey, SecretKey};
use clathrate_lattice::Level;
use serde_json::Value;

/// The file of `value` with its metadata and sections changed, checksums and all: what whoever passes it on
/// can make of it.
fn forged(
    value: &impl Stored,
    metadata: impl FnOnce(&mut Value),
    mut section: impl FnMut(&str, &mut Vec<u8>),
) -> Vec<u8> {
    let bytes = value.to_file_bytes().expect("file");
    let reader = FileReader::from_bytes(&bytes).expect("readable");
    let mut changed: Value = reader.metadata().expect("metadata");
    metadata(&mut changed);
    let mut writer = FileWriter::in_memory(reader.label().clone(), &changed).expect("writer");
    for info in reader.sections() {
        let mut contents = reader.section(info.name()).expect("section").bytes().to_vec();
        section(info.name(), &mut contents);
        writer.add_section(info.name(), &contents).expect("section");
    }
    writer.finish().expect("file")
}

fn ciphertext(bytes: &[u8], params: &Params) -> Ciphertext {
    Ciphertext::from_reader(&FileReader::from_bytes(bytes).expect("readable"), params).expect("a ciphertext")
}

/// The ciphertext with `delta` added to the first polynomial of each mask, whose phase has `delta` times the
/// secret more: no key is needed for that.
fn tampered(ct: &Ciphertext, delta: i128) -> Ciphertext {
    let params = ct.params();
    let (degree, moduli) = (params.degree(), params.chain().ring().moduli());
    let primes: Vec<u64> =
        params.chain().basis(ct.level()).indices().iter().map(|&i| moduli[i].value()).collect();
    let mut found = false;
    let bytes = forged(
        ct,
        |_| (),
        |name, contents| {
            if name != "masks" {
                return;
            }
            found = true;
            for (row, values) in contents.chunks_exact_mut(8 * degree).enumerate().take(primes.len()) {
                let q = i128::from(primes[row]);
                for value in values.as_chunks_mut::<8>().0 {
                    let changed = (i128::from(u64::from_le_bytes(*value)) + delta).rem_euclid(q);
                    *value = (changed as u64).to_le_bytes();
                }
            }
        },
    );
    assert!(found, "the mask is stored as such");
    ciphertext(&bytes, params)
}

fn real(values: Values) -> Vec<f64> {
    values.into_real().expect("real data")
}

#[test]
fn flooding_does_not_hide_the_secret_from_an_evaluator_that_deviates_and_a_comparison_finds_it() {
    let params = params("insecure_small");
    let (owner, evaluator) = (secret(&params, 1), Evaluator::new(&params));
    let data = ramp(params.degree());
    let options = EncryptOptions {
        encoding: Some(Encoding::Coefficients),
        scale: Some(90f64.exp2()),
        ..EncryptOptions::default()
    };
    let x = encrypt_as(&owner, &Values::Real(data.clone()), &[data.len()], options, 2);
    let result = evaluator.add(&x, &x).expect("the computation that was asked for");
    let bits = result.flood_bits(Some((-80f64).exp2()), 1000, 40, 8).expect("room");
    let evil = tampered(&result, 1 << (bits + 1));
    let share = |ct: &Ciphertext| real(owner.decrypt_to_share(ct, bits, HonestEvaluator).expect("shared"));
    let (honest, shared) = (share(&result), share(&evil));
    let delta = f64::from(bits + 1).exp2();
    let guesses: Vec<i64> =
        shared.iter().zip(&honest).map(|(s, h)| ((s - h) * result.scale() / delta).round() as i64).collect();
    let right = guesses.iter().zip(owner.secret().all_coefficients()).filter(|(guess, s)| guess == s).count();
    println!(
        "{bits} bits of noise; {right} of {} coefficients of the secret from two shared results",
        data.len()
    );
    assert!(right * 100 > 99 * data.len(), "{right} of {}", data.len());
    // The numbers look all right: nobody finds the attack by them.
    let worst = shared.iter().zip(&data).map(|(got, x)| (got - 2.0 * x).abs()).fold(0.0, f64::max);
    assert!(worst < 2f64.powi(-8), "{worst}");
    // Whoever computes again does, whatever the size of the change.
    let again = evaluator.add(&x, &x).expect("again");
    assert!(result.same_as(&again).expect("compared").is_same());
    for delta in [1, -1, 1 << 40, 1 << (bits + 1)] {
        let comparison = tampered(&result, delta).same_as(&again).expect("compared");
        assert!(!comparison.is_same());
        let words = comparison.to_string();
        let expected = format!(
            "residues of the mask of bundle 0, polynomial 0, {} of",
            params.degree() * 6 + params.degree()
        );
        assert!(words.starts_with(&format!("different: {expected}")) && !words.contains("bodies"), "{words}");
    }
}

/// Nothing is published but whether decryption failed, and each coefficient of the secret follows from two
/// ciphertexts.
#[test]
fn whether_decryption_fails_gives_the_secret_away() {
    let params = params("insecure_tiny");
    let (owner, evaluator) = (secret(&params, 3), Evaluator::new(&params));
    let options = EncryptOptions {
        encoding: Some(Encoding::Coefficients),
        level: Some(Level(0)),
        ..EncryptOptions::default()
    };
    let zeros = encrypt_as(&owner, &Values::Real(vec![0.0; params.degree()]), &[params.degree()], options, 4);
    // A sum, so that the mask is stored as such.
    let zeros = evaluator.add(&zeros, &zeros).expect("zeros");
    let quarter = (params.log2_q(Level(0)) - 2.0).exp2();
    let delta = (0.1 * quarter) as i128;
    let fails = |place: usize, sign: f64| {
        let mut plain = vec![0.0; params.degree()];
        plain[place] = sign * 0.999 * quarter / zeros.scale();
        let sent = tampered(&evaluator.add_plain(&zeros, &plain).expect("near the edge"), delta);
        match owner.decrypt(&sent) {
            Ok(_) => false,
            Err(CkksError::TooLarge { reason }) if reason.contains("does not fit its modulus") => true,
            Err(error) => panic!("{error}"),
        }
    };
    let guessed: Vec<i64> = (0..params.degree())
        .map(|place| i64::from(fails(place, 1.0)) - i64::from(fails(place, -1.0)))
        .collect();
    assert_eq!(guessed, owner.secret().all_coefficients());
}

#[test]
fn arrays_are_the_same_to_the_last_bit_or_the_difference_is_named() {
    let params = params("insecure_small");
    let (owner, evaluator) = (secret(&params, 5), Evaluator::new(&params));
    let matrix = |seed, bodies| {
        let options = EncryptOptions { encoding: Some(Encoding::Slots), bodies, ..EncryptOptions::default() };
        encrypt_as(&owner, &ramp(24), &[3, 8], options, seed)
    };
    let x = matrix(6, None);
    let stored = ciphertext(&x.to_file_bytes().expect("file"), &params);
    // A mask that is stored as its seed, and the same one word by word.
    let words = forged(&evaluator.add_constant(&x, 0.0.into()).expect("the same numbers"), |_| (), |_, _| ());
    for same in [&x.clone(), &stored, &ciphertext(&words, &params)] {
        let comparison = x.same_as(same).expect("compared");
        assert!(comparison.is_same() && comparison.to_string() == "the same to the last bit", "{comparison}");
    }
    let other_params = Params::preset("insecure_tiny", &base_runtime()).expect("preset");
    let changed = |field: &'static str, value: Value| {
        ciphertext(&forged(&x, |metadata| metadata[field] = value, |_, _| ()), &params)
    };
    let next = f64::from_bits(x.scale().to_bits() + 1);
    let twice = evaluator.add(&x, &x).expect("sum");
    // A server that states a larger error gets more noise at best, and one that states a smaller error too
    // little.
    let state = |metadata: &mut Value| {
        let worst = &mut metadata["estimate"]["sources"][0]["worst"];
        *worst = (2.0 * worst.as_f64().expect("a stated error")).into();
    };
    let larger_error = ciphertext(&forged(&x, state, |_, _| ()), &params);
    assert!(larger_error.error_bound() > x.error_bound());
    for (other, named) in [
        (
            encrypt(&secret(&other_params, 5), &ramp(8)),
            vec!["parameters", "key", "level", "shape", "layout", "number of bundles 3 and 1"],
        ),
        (encrypt(&secret(&params, 9), &ramp(24)), vec!["key"]),
        (
            matrix(7, None),
            vec![
                "residues of the mask of bundle 0",
                "residues of the bodies of bundle 0",
                "residues of 2 further polynomials",
            ],
        ),
        (
            matrix(6, Some(3)),
            vec![
                "secret main and bodies:3",
                "layout",
                "number of bundles 3 and 1",
                "polynomials in the bodies of bundle 0, 1 and 3",
            ],
        ),
        (evaluator.drop_to_level(&x, Level(2)).expect("lower"), vec!["level 5 and 2"]),
        (changed("scale", next.into()), vec!["scale"]),
        (changed("bound", 1.0.into()), vec!["bound none and 1"]),
        (larger_error, vec!["stated bound on the error"]),
        (changed("key_id", "00112233445566778899aabbccddeeff".into()), vec!["key", "00112233"]),
        (twice, vec!["residues of the mask of bundle 0", "residues of the bodies of bundle 1"]),
    ] {
        for comparison in [x.same_as(&other).expect("compared"), other.same_as(&x).expect("compared")] {
            assert!(!comparison.is_same());
        }
        let comparison = x.same_as(&other).expect("compared");
        for words in named {
            assert!(
                comparison.differences.iter().any(|difference| difference.contains(words)),
                "{words}: {comparison}"
            );
        }
    }
    // One residue of one body.
    let one = forged(
        &x,
        |_| (),
        |name, contents| {
            if name == "bodies" {
                let last = contents.len() - 8;
                contents[last] ^= 1;
            }
        },
    );
    let comparison = x.same_as(&ciphertext(&one, &params)).expect("compared");
    assert_eq!(comparison.differences.len(), 1);
    assert!(
        comparison.differences[0].starts_with("residues of the bodies of bundle 2, polynomial 0, 1 of "),
        "{comparison}"
    );
    let symbol =
        Evaluator::recording(&params).symbol(&[8], Encoding::Slots, params.max_level(), 1.0).expect("symbol");
    assert_refused!(x.same_as(&symbol), CkksError::Symbol { .. }, "a comparison");
    assert_refused!(symbol.same_as(&x), CkksError::Symbol { .. }, "a comparison");
}

fn load(path: &Path, params: &Params) -> Result<SecretKey, CkksError> {
    SecretKey::from_reader(&FileReader::open(path).expect("readable"), params)
}

fn left(key: &SecretKey) -> u64 {
    key.shares().expect("a budget").left
}

/// Shares one result.
fn share(key: &SecretKey, ct: &Ciphertext) -> Result<(), CkksError> {
    key.decrypt_to_share(ct, 8, HonestEvaluator).map(drop)
}

const SPENT: [&str; 3] = ["may still share is 0", "budget of 4 is spent", "make a new secret key"];

#[test]
fn a_key_with_a_budget_shares_so_many_results_and_its_copies_count_with_it() {
    let params = params("insecure_tiny");
    let key = secret(&params, 7);
    let ct = encrypt(&key, &ramp(8));
    assert_eq!(key.shares(), None, "nobody counts unless asked to");
    let limited = key.with_share_budget(4).expect("a budget");
    assert_eq!(limited.shares(), Some(Shares { budget: 4, left: 4 }));
    share(&limited, &ct).expect("the first");
    share(&limited.clone(), &ct).expect("the second");
    share(&limited.with_outside_secret(1, &[0, 1]).expect("a key"), &ct).expect("the third");
    // Refusals before anything is decrypted are no query, and the owner's own eyes are none.
    assert!(limited.decrypt_to_share(&ct, 119, HonestEvaluator).is_err());
    assert!(share(&limited, &encrypt(&secret(&params, 8), &ramp(8))).is_err());
    limited.decrypt(&ct).expect("for the owner");
    assert_eq!(left(&limited), 1);
    // One that is stopped or fails later is: it may have shown something.
    assert!(matches!(
        share(&limited.clone().with_progress(Progress::new(|_| false)), &ct),
        Err(CkksError::Cancelled)
    ));
    for key in [&limited, &limited.clone()] {
        assert_refused!(share(key, &ct), CkksError::OutOfRange { .. }, SPENT[0], SPENT[1], SPENT[2]);
    }
    limited.decrypt(&ct).expect("the owner still reads");
    assert_refused!(
        limited.with_share_budget(5),
        CkksError::OutOfRange { .. },
        "is 5",
        "one of 4 already",
        "0 are left"
    );
    let never = key.with_share_budget(0).expect("a budget of none");
    assert_refused!(share(&never, &ct), CkksError::OutOfRange { .. }, "budget of 0 is spent");
}

#[test]
fn a_key_at_another_shape_counts_with_the_root() {
    let params = params("insecure_dpad");
    let key = secret(&params, 7).with_share_budget(2).expect("a budget");
    let small =
        key.relative(&params.relative(params.rlwe_shape()).expect("a relative")).expect("the same secret");
    share(&small, &encrypt(&small, &ramp(8))).expect("the first");
    share(&key, &encrypt(&small, &ramp(8))).expect("the second, of another shape");
    assert!(
        share(&key, &encrypt(&key, &ramp(8))).is_err() && share(&small, &encrypt(&key, &ramp(8))).is_err()
    );
}

/// A key with a budget of 4 in a file of its own folder, and an array under it.
fn saved_with_a_budget(params: &Params) -> (tempfile::TempDir, PathBuf, SecretKey, Ciphertext) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("secret.clt");
    let made = secret(params, 7).with_share_budget(4).expect("a budget");
    let ct = encrypt(&made, &ramp(8));
    made.save(&path).expect("saved");
    (folder, path, made, ct)
}

#[test]
fn the_budget_is_counted_in_the_file_before_anything_is_decrypted() {
    let params = params("insecure_tiny");
    let (folder, path, made, ct) = saved_with_a_budget(&params);
    let before = fs::read(&path).expect("read");
    // The key that was saved, and two that are read from the file, one of them through a link.
    let (first, second) = (load(&path, &params).expect("a key"), load(&path, &params).expect("a key"));
    share(&made, &ct).expect("one");
    share(&first, &ct).expect("two");
    // What a program that ends at the first report leaves.
    let (seen, at, of) = (Arc::new(AtomicU64::new(0)), path.clone(), params.clone());
    let counted = seen.clone();
    let stops = Progress::new(move |_| {
        counted.store(left(&load(&at, &of).expect("a key")), Ordering::Relaxed);
        false
    });
    let stopped = share(&second.clone().with_progress(stops), &ct);
    assert!(matches!(stopped, Err(CkksError::Cancelled)));
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    assert_eq!((left(&made), left(&first), left(&second)), (1, 1, 1));
    share(&made, &ct).expect("four");
    for key in [&made, &first, &second, &load(&path, &params).expect("a key")] {
        assert_refused!(share(key, &ct), CkksError::OutOfRange { .. }, SPENT[0], SPENT[1], SPENT[2]);
    }
    // The secret is as it was, and the file says the count to whoever inspects it.
    let after = fs::read(&path).expect("read");
    let (before, after) = (
        FileReader::from_bytes(&before).expect("readable"),
        FileReader::from_bytes(&after).expect("readable"),
    );
    for name in ["secret", "seed"] {
        assert_eq!(before.section(name).expect("there").bytes(), after.section(name).expect("there").bytes());
    }
    assert!(after.metadata_text().contains(r#""shares":{"budget":4,"left":0}"#), "{}", after.metadata_text());
    assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 1, "nothing is left beside the key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn saving_a_key_gives_no_shared_result_back() {
    let params = params("insecure_tiny");
    let folder = tempfile::tempdir().expect("folder");
    let (path, copy) = (folder.path().join("secret.clt"), folder.path().join("copy.clt"));
    let made = secret(&params, 7).with_share_budget(4).expect("a budget");
    let ct = encrypt(&made, &ramp(8));
    made.save(&path).expect("saved");
    let other = load(&path, &params).expect("a key");
    share(&other, &ct).expect("one");
    share(&other, &ct).expect("two");
    // What `made` knew when it was saved is no longer so.
    made.replace(&path).expect("saved again");
    assert_eq!((left(&made), left(&load(&path, &params).expect("a key"))), (2, 2));
    share(&other, &ct).expect("three");
    made.save(&copy).expect("a copy");
    share(&made, &ct).expect("four, in the first file");
    assert_eq!(
        (left(&load(&path, &params).expect("a key")), left(&load(&copy, &params).expect("a copy"))),
        (0, 1)
    );
    // A key whose file has another name now does not count there, and is refused; whoever reads the file
    // does.
    let moved = folder.path().join("moved.clt");
    fs::rename(&copy, &moved).expect("moved");
    let reader = load(&moved, &params).expect("a key");
    fs::rename(&moved, &copy).expect("moved back");
    assert_refused!(share(&reader, &ct), CkksError::File(_), "cannot count shared results in", "moved.clt");
    share(&load(&copy, &params).expect("a key"), &ct).expect("the last one of the copy");
    assert_eq!((left(&made), left(&load(&copy, &params).expect("a key"))), (0, 0));
    // A key whose file is gone gets a new one.
    fs::remove_file(&path).expect("removed");
    assert_refused!(share(&made, &ct), CkksError::File(_), "cannot count shared results in", "secret.clt");
    made.replace(&path).expect("saved once more");
    assert_refused!(share(&made, &ct), CkksError::OutOfRange { .. }, SPENT[0], SPENT[1]);
}

#[test]
fn a_count_that_cannot_be_written_is_a_refusal() {
    let params = params("insecure_tiny");
    let (_folder, path, made, ct) = saved_with_a_budget(&params);
    let bytes = fs::read(&path).expect("read");
    // Bytes and streams cannot be written to.
    let readers = [
        FileReader::from_bytes(&bytes).expect("readable"),
        FileReader::from_stream(&mut &bytes[..], 1 << 20).expect("readable"),
    ];
    for reader in readers {
        let key = SecretKey::from_reader(&reader, &params).expect("a key");
        assert_refused!(
            share(&key, &ct),
            CkksError::OutOfRange { .. },
            "a stream or memory",
            "load the key from its file"
        );
        key.decrypt(&ct).expect("the owner reads");
    }
    // Another key in the place of the file, one without a budget, and none.
    let key = load(&path, &params).expect("a key");
    secret(&params, 8).with_share_budget(9).expect("a budget").replace(&path).expect("replaced");
    assert_refused!(
        share(&key, &ct),
        CkksError::WrongSecret { .. },
        "belongs to secret",
        "the file that counts shared results"
    );
    secret(&params, 7).replace(&path).expect("replaced");
    assert_refused!(share(&key, &ct), CkksError::File(_), "has no budget of shared results any more");
    fs::remove_file(&path).expect("removed");
    assert_refused!(share(&key, &ct), CkksError::File(_), "cannot count shared results in");
    fs::create_dir(&path).expect("a folder");
    assert_refused!(share(&key, &ct), CkksError::File(_), "cannot count shared results in");
    // A file that its owner may only read; whoever may write everything writes it.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::remove_dir(&path).expect("removed");
        fs::write(&path, &bytes).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("read-only");
        let may_write = fs::File::options().write(true).open(&path).is_ok();
        assert_eq!(share(&load(&path, &params).expect("a key"), &ct).is_ok(), may_write);
        assert_eq!(left(&load(&path, &params).expect("a key")), if may_write { 3 } else { 4 });
    }
    // A count that no key writes.
    let more = forged(&made, |metadata| metadata["shares"]["left"] = 5.into(), |_, _| ());
    let refused = SecretKey::from_reader(&FileReader::from_bytes(&more).expect("readable"), &params);
    assert_refused!(refused, CkksError::File(_), "5 shared results are left of 4");
}

#[test]
fn threads_and_programs_with_one_file_share_as_many_results_as_it_has() {
    let params = params("insecure_tiny");
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("secret.clt");
    let made = secret(&params, 7).with_share_budget(20).expect("a budget");
    let ct = encrypt(&made, &ramp(8));
    made.save(&path).expect("saved");
    let keys: Vec<SecretKey> = (0..4).map(|_| load(&path, &params).expect("a key")).collect();
    let shared: usize = std::thread::scope(|scope| {
        let work: Vec<_> = (0..8)
            .map(|thread| {
                let (key, ct) = (&keys[thread % 4], &ct);
                scope.spawn(move || (0..5).filter(|_| share(key, ct).is_ok()).count())
            })
            .collect();
        work.into_iter().map(|thread| thread.join().expect("ends")).sum()
    });
    assert_eq!((shared, left(&made)), (20, 0));
}

#[test]
fn a_public_key_under_another_owners_name_has_another_fingerprint() {
    let params = params("insecure_tiny");
    let (owner, eve) = (secret(&params, 1), secret(&params, 2));
    let (own, evil) = (owner.public_key().expect("key"), eve.public_key().expect("key"));
    let id = |key: &PublicKey| key.id().0.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let bytes = forged(&evil, |metadata| metadata["key_id"] = id(&own).into(), |_, _| ());
    let swapped =
        PublicKey::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &params).expect("a key");
    // The name says that it is the owner's, and who encrypts with it encrypts for Eve.
    assert_eq!(swapped.id(), own.id());
    let sent = swapped.encrypt(&[1.0, 2.0]).expect("encrypted");
    let relabelled = forged(&sent, |metadata| metadata["key_id"] = id(&evil).into(), |_, _| ());
    assert_close(&decrypt(&eve, &ciphertext(&relabelled, &params))[..2], &[1.0, 2.0], 1e-3);
    let prints: Vec<String> =
        [&own, &evil, &swapped].iter().map(|key| key.fingerprint().expect("a fingerprint")).collect();
    assert!(prints[0] != prints[1] && prints[1] != prints[2] && prints[0] != prints[2], "{prints:?}");
    for print in &prints {
        assert!(print.split(' ').count() == 8 && print.split(' ').all(|group| group.len() == 4), "{print}");
        assert!(print.chars().all(|c| c == ' ' || c.is_ascii_hexdigit()), "{print}");
    }
    // The file has it, too, without parameters; a further key of the owner is another key.
    let bytes = own.to_file_bytes().expect("file");
    let reader = FileReader::from_bytes(&bytes).expect("readable");
    assert_eq!(fingerprint(&reader).expect("a fingerprint"), prints[0]);
    assert_eq!(
        PublicKey::from_reader(&reader, &params).expect("a key").fingerprint().expect("a fingerprint"),
        prints[0]
    );
    assert_ne!(owner.public_key().expect("key").fingerprint().expect("a fingerprint"), prints[0]);
    // Each byte of the key counts, and only public keys have one.
    for name in ["seeds", "bodies"] {
        let changed = forged(&own, |_| (), |section, contents| contents[9] ^= u8::from(section == name));
        assert_ne!(
            fingerprint(&FileReader::from_bytes(&changed).expect("readable")).expect("a fingerprint"),
            prints[0],
            "{name}"
        );
    }
    let secret_bytes = owner.to_file_bytes().expect("file");
    assert_refused!(
        fingerprint(&FileReader::from_bytes(&secret_bytes).expect("readable")),
        CkksError::File(_),
        "public key"
    );
}
