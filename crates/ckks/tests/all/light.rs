//! Light clients: what they send is decrypted, packed and multiplied as other encryptions are, with the
//! errors that they say; what is damaged or reused is refused.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::circuits::packing_plan::{PackingMethod, PackingOptions, PackingPlan};
use clathrate_ckks::file::{FileError, FileReader, Replaced, Stored};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::light::{
    AuthenticationKey, LightClient, Receiver, SampleError, load_client, save_client,
};
use clathrate_ckks::{CkksError, Evaluator, KeyNeeds, Params, SecretKey, SecretName};
use clathrate_lattice::Level;
use clathrate_samples::ClientKey;
use zeroize::Zeroizing;

fn client(sk: &SecretKey, degree: usize, precision: Option<f64>) -> (LightClient, Receiver) {
    let client = sk.light_client(&light(degree, Level(0), precision)).expect("a client");
    let receiver = receiver_of(sk, &client);
    (client, receiver)
}

#[test]
fn numbers_arrive_with_the_error_of_the_encryption_and_of_truncation() {
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3", "insecure_matmul"] {
        let params = params(name);
        let sk = secret(&params, 3);
        for degree in [1, 16, params.degree()] {
            let count = 256.max(degree);
            for precision in [None, Some(12.0), Some(20.5)] {
                let (mut client, receiver) = client(&sk, degree, precision);
                let data = noise(count, 5);
                let (first, second) = data.split_at(count / 2 / degree * degree);
                let mut messages = Vec::new();
                for part in [first, second].into_iter().filter(|part| !part.is_empty()) {
                    messages.push(client.encrypt(part).expect("a message"));
                }
                let length: usize = messages.iter().map(Vec::len).sum();
                assert!(length <= 29 * messages.len() + count * client.bits_per_number() as usize / 8);
                let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
                let x = receiver.receive(&slices, None).expect("samples");
                assert_eq!(client.next_counter(), (count / degree) as u64);
                let own = 3.2 / params.scale(Level(0));
                let truncation = precision.map_or(own, |bits| (-bits).exp2());
                // Cutting off whole bits leaves between half of the error that is allowed and all of it.
                let (least, most) = (
                    (own.powi(2) + truncation.powi(2) / 4.0).sqrt(),
                    (own.powi(2) + truncation.powi(2)).sqrt(),
                );
                let measured = deviation(&decrypt(&sk, &x), &data);
                assert!(
                    (0.85 * least..1.15 * most).contains(&measured),
                    "{name}, {degree}: {measured:e} of {least:e} to {most:e}"
                );
                // The client reads what the owner reads.
                let read = client.decrypt(&receiver.reply(&x).expect("a reply")).expect("numbers");
                assert_close(&read, &decrypt(&sk, &x), 1e-12);
            }
        }
    }
}

#[test]
fn readings_are_packed_multiplied_and_answered() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let mut client = sk.light_client(&light(1, Level(1), Some(24.0))).expect("a client");
    let receiver = receiver_of(&sk, &client);
    let (rows, columns) = (5, 12);
    let data = noise(rows * columns, 9);
    // One number at a time, in an order of the sender's choice.
    let messages: Vec<Vec<u8>> =
        data.iter().map(|&number| client.encrypt(&[number]).expect("a message")).collect();
    let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let samples = receiver.receive(&slices, Some(&[rows, columns])).expect("samples");
    let plan =
        PackingPlan::new(&params, &PackingOptions { level: Some(Level(1)), ..PackingOptions::default() })
            .expect("a plan");
    let ev = evaluator(&sk, plan.needs());
    let packed = plan.run(&ev, &samples).expect("packed");
    assert_close(&decrypt(&sk, &packed), &data, 1e-6);
    let weights = ramp(2 * rows);
    let matrix = Weights::encode(&ev, 2, rows, &weights, &packed).expect("weights");
    let product = ev.rescale(&matrix.multiply(&ev, &packed).expect("a product")).expect("rescaled");
    let entry =
        |i: usize, j: usize| (0..rows).map(|r| weights[i * rows + r] * data[r * columns + j]).sum::<f64>();
    let expected: Vec<f64> =
        (0..2).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
    let read = client.decrypt(&receiver.reply(&product).expect("a reply")).expect("numbers");
    assert_close(&read, &expected, 1e-6);
}

#[test]
fn samples_of_several_numbers_become_rows_of_one_polynomial() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let (mut client, receiver) = client(&sk, 16, Some(20.0));
    let data = noise(64 * 16, 9);
    let message = client.encrypt(&data).expect("a message");
    let samples = receiver.receive(&[&message], None).expect("samples");
    assert_eq!(samples.shape(), [64, 16]);
    let options = PackingOptions {
        degree: 16,
        method: Some(clathrate_ckks::circuits::packing_plan::PackingMethod::Midpoints(vec![8])),
        ..PackingOptions::default()
    };
    let plan = PackingPlan::new(&params, &options).expect("a plan");
    let packed = plan.run_on_rows(&evaluator(&sk, plan.needs()), &samples).expect("packed");
    assert_eq!((packed.shape(), packed.bundles().len()), (&[64, 16][..], 1));
    assert_close(&decrypt(&sk, &packed), &data, 1e-4);
}

#[test]
fn no_mask_is_used_twice() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let (mut client, receiver) = client(&sk, 1, None);
    let first = client.encrypt(&[1.0, 2.0]).expect("a message");
    assert_eq!(client.next_counter(), 2);
    for counter in [0, 1] {
        let error = client.encrypt_at(counter, &[3.0]).expect_err("a used counter").to_string();
        assert!(error.contains("use 2 or more"), "{error}");
    }
    let later = client.encrypt_at(7, &[3.0]).expect("a later counter");
    assert!(client.encrypt_at(6, &[3.0]).is_err(), "a skipped counter");
    assert_eq!(client.next_counter(), 8);
    assert!(client.encrypt_at(u64::MAX, &[3.0]).is_err(), "the last counter");
    // Numbers that are refused take no counter.
    assert!(matches!(client.encrypt(&[f64::NAN]), Err(SampleError::NotFinite { .. })));
    assert!(matches!(client.encrypt(&[1e9]), Err(SampleError::OutOfRange { .. })));
    assert!(matches!(client.encrypt(&[]), Err(SampleError::Empty)));
    assert_eq!(client.next_counter(), 8);
    let x = receiver.receive(&[&later, &first], None).expect("samples in another order");
    assert_close(&decrypt(&sk, &x), &[3.0, 1.0, 2.0], 1e-6);
    // A state that is restored, even twice, has masks of its own each time.
    let state = client.to_bytes();
    let (mut again, mut twice) = (
        LightClient::from_bytes(&state).expect("a client"),
        LightClient::from_bytes(&state).expect("a client"),
    );
    assert_ne!(again.introduction(), twice.introduction());
    assert_ne!(again.introduction(), client.introduction());
    let (one, two) = (again.encrypt(&[0.5]).expect("a message"), twice.encrypt(&[0.5]).expect("a message"));
    assert_ne!(one[..4], two[..4]);
    let error = receiver.receive(&[&one], None).expect_err("another introduction").to_string();
    assert!(error.contains("another introduction"), "{error}");
    let receiver = receiver_of(&sk, &again);
    assert_close(&decrypt(&sk, &receiver.receive(&[&one], None).expect("samples")), &[0.5], 1e-6);
}

/// The key in the state of a client of this degree, before the words of the degree and the length of its
/// secret.
fn key_in(state: &[u8], degree: usize) -> ClientKey {
    let words = [(degree as u64).to_le_bytes(), (degree as u64).to_le_bytes()].concat();
    let end = (32..state.len() - 16).find(|&place| state[place..place + 16] == words).expect("a state");
    ClientKey::new(Zeroizing::new(state[end - 32..end].try_into().expect("32 bytes")))
}

#[test]
fn damaged_bytes_are_refused_and_never_panic() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let (mut client, receiver) = client(&sk, 16, Some(16.0));
    let (introduction, state) = (client.introduction(), client.to_bytes());
    let message = client.encrypt(&noise(32, 1)).expect("a message");
    let answer = receiver.reply(&receiver.receive(&[&message], None).expect("samples")).expect("a reply");
    let key = sk.authentication_key();
    for length in 0..introduction.len() {
        assert!(Receiver::new(&params, &introduction[..length], &key).is_err());
    }
    for length in (0..state.len()).step_by(7) {
        assert!(LightClient::from_bytes(&state[..length]).is_err());
    }
    for length in 0..message.len() {
        let read = receiver.receive(&[&message[..length]], None);
        assert!(read.is_err(), "{length}");
    }
    for length in (0..answer.len()).step_by(11) {
        assert!(client.decrypt(&answer[..length]).is_err());
    }
    for place in 0..introduction.len() {
        for bit in [0, 3, 7] {
            let mut changed = introduction.clone();
            changed[place] ^= 1 << bit;
            assert!(Receiver::new(&params, &changed, &key).is_err(), "byte {place}, bit {bit}");
            let mut changed = state.to_vec();
            changed[place] ^= 1 << bit;
            assert!(LightClient::from_bytes(&changed).is_err(), "byte {place} of a state, bit {bit}");
        }
    }
    for place in 0..200 {
        let mut changed = answer.clone();
        changed[place] ^= 0x81;
        assert!(client.decrypt(&changed).is_err(), "byte {place}");
    }
    for (bytes, long) in [(&introduction, "introduction"), (&answer, "reply")] {
        let mut long_bytes = bytes.clone();
        long_bytes.push(0);
        let refused = if long == "reply" {
            client.decrypt(&long_bytes).is_err()
        } else {
            Receiver::new(&params, &long_bytes, &key).is_err()
        };
        assert!(refused, "{long}");
    }
    assert!(receiver.receive(&[], None).is_err());
    assert!(matches!(receiver.receive(&[&message], Some(&[4, 8])), Err(CkksError::Shape { .. })));
    assert!(client.encrypt(&[1.0]).expect_err("a part of a sample").to_string().contains("16 numbers"));
}

/// Where the terms in an introduction and in a state have the count of bits that are cut off.
const DROPPED: usize = 4 + 1 + 32 + 16 + 16 + 9 + 3 * 8;

#[test]
fn what_no_client_of_the_owner_made_is_refused() {
    let params = params("insecure_small");
    let (sk, other) = (secret(&params, 3), secret(&params, 4));
    let key = sk.authentication_key();
    let (mut first, mut second) = (client(&sk, 16, Some(16.0)), client(&sk, 16, Some(16.0)));
    let data = noise(32, 1);
    let message = first.0.encrypt(&data).expect("a message");
    let introduction = first.0.introduction();
    // A stranger who heard an introduction and a message changes any bit, or puts parts of several together.
    for place in 0..message.len() {
        for bit in 0..8 {
            let mut changed = message.clone();
            changed[place] ^= 1 << bit;
            assert!(first.1.receive(&[&changed], None).is_err(), "byte {place}, bit {bit}");
        }
    }
    for bits in 0..64u8 {
        let mut changed = introduction.clone();
        if changed[DROPPED] == bits {
            continue;
        }
        changed[DROPPED] = bits;
        *changed.last_mut().expect("bytes") ^= bits;
        assert!(Receiver::new(&params, &changed, &key).is_err(), "{bits} bits cut off");
    }
    let theirs = second.0.introduction();
    for cut in 1..introduction.len() {
        let mixed = [&introduction[..cut], &theirs[cut..]].concat();
        assert!(
            mixed == introduction || mixed == theirs || Receiver::new(&params, &mixed, &key).is_err(),
            "{cut}"
        );
    }
    // The first 4 bytes tell introductions apart; the tag covers the whole seed.
    let theirs = second.0.encrypt(&data).expect("a message");
    let moved = [&message[..4], &theirs[4..]].concat();
    assert_refused!(first.1.receive(&[&moved], None), CkksError::OutOfRange { .. }, "not authenticated");
    // Clients of another owner, and keys of another owner.
    let stranger = other.light_client(&light(16, Level(0), Some(16.0))).expect("a client");
    assert_refused!(
        Receiver::new(&params, &stranger.introduction(), &key),
        CkksError::WrongSecret { .. },
        "belongs to secret",
        "a light client"
    );
    assert_refused!(
        Receiver::new(&params, &introduction, &other.authentication_key()),
        CkksError::WrongSecret { .. },
        "belongs to secret",
        "a light client"
    );
    let mut renamed = stranger.introduction();
    renamed[37..53].copy_from_slice(&introduction[37..53]);
    assert_refused!(
        Receiver::new(&params, &renamed, &key),
        CkksError::OutOfRange { .. },
        "not authenticated"
    );
    // Nor does the owner's client itself say that it cuts off more than the owner let it.
    let mut state = first.0.to_bytes().to_vec();
    state[DROPPED] += 1;
    assert!(LightClient::from_bytes(&state).is_err(), "the tag of the state");
    let length = state.len() - 16;
    state.truncate(length);
    key_in(&state, params.degree()).seal(b"clathrate state of a light client", &mut state);
    let liar = LightClient::from_bytes(&state).expect("a client");
    assert_refused!(
        Receiver::new(&params, &liar.introduction(), &key),
        CkksError::OutOfRange { .. },
        "not authenticated"
    );
    // A client that was made again is known, under its new seed.
    let mut again = LightClient::from_bytes(&first.0.to_bytes()).expect("a client");
    let receiver = receiver_of(&sk, &again);
    assert_close(
        &decrypt(
            &sk,
            &receiver.receive(&[&again.encrypt(&data).expect("a message")], None).expect("samples"),
        ),
        &data,
        1e-4,
    );
    // A reply is for one client, and nobody else makes one.
    let samples = first.1.receive(&[&message], None).expect("samples");
    let reply = first.1.reply(&samples).expect("a reply");
    assert_close(&first.0.decrypt(&reply).expect("numbers"), &data, 1e-4);
    assert_close(&again.decrypt(&reply).expect("numbers"), &data, 1e-4);
    assert_refused!(second.0.decrypt(&reply), SampleError::OutOfRange { .. }, "not authenticated");
    for place in (53..reply.len()).step_by(7) {
        let mut changed = reply.clone();
        changed[place] ^= 4;
        assert!(first.0.decrypt(&changed).is_err(), "byte {place}");
    }
}

#[test]
fn authentication_keys_and_states_are_private_files() {
    use std::os::unix::fs::PermissionsExt;
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let folder = tempfile::tempdir().expect("a folder");
    let [key, state, secret_key] = ["key", "state", "secret"].map(|name| folder.path().join(name));
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    // What was there before, for everybody, is replaced by a private file.
    std::fs::write(&state, b"for all").expect("a file");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    sk.authentication_key().save(&key).expect("stored");
    let client = sk.light_client(&light(16, Level(0), None)).expect("a client");
    let length = save_client(&client, &state, Replaced::ButSecretKeys).expect("stored");
    assert_eq!((mode(&key), mode(&state), length), (0o600, 0o600, client.to_bytes().len() as u64));
    assert_eq!(std::fs::read(&state).expect("bytes"), *client.to_bytes());
    let mut again = load_client(&state).expect("a client");
    assert_ne!(again.introduction(), client.introduction());
    let reader = FileReader::open(&key).expect("a file");
    let read = AuthenticationKey::from_reader(&reader, &params).expect("a key");
    let receiver = Receiver::new(&params, &again.introduction(), &read).expect("a receiver");
    assert!(receiver.receive(&[&again.encrypt(&[0.5; 16]).expect("a message")], None).is_ok());
    assert!(AuthenticationKey::from_reader(&reader, &crate::common::params("insecure_tiny")).is_err());
    // A secret key is not replaced; other files are no states.
    sk.save(&secret_key).expect("stored");
    assert!(matches!(
        save_client(&client, &secret_key, Replaced::ButSecretKeys),
        Err(CkksError::File(FileError::SecretKeyInTheWay { .. }))
    ));
    for path in [&secret_key, &key] {
        assert!(matches!(load_client(path), Err(CkksError::OutOfRange { .. })));
    }
    assert!(matches!(load_client(folder.path().join("none")), Err(CkksError::File(_))));
    assert!(format!("{read:?}").contains("redacted"));
}

#[test]
fn what_does_not_fit_is_refused_when_the_client_is_made() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    assert!(sk.light_client(&light(3, Level(0), None)).is_err());
    assert!(sk.light_client(&light(2048, Level(0), None)).is_err());
    assert!(
        sk.light_client(&light(1, Level(2), None)).expect_err("140 bits").to_string().contains("120 bits")
    );
    assert!(sk.light_client(&light(1, Level(9), None)).is_err());
    for precision in [60.0, -30.0, f64::NAN, f64::INFINITY] {
        assert!(sk.light_client(&light(1, Level(0), Some(precision))).is_err(), "{precision}");
    }
    let other = crate::common::params("insecure_matmul");
    let client = sk.light_client(&light(1, Level(0), None)).expect("a client");
    let refused = Receiver::new(&other, &client.introduction(), &sk.authentication_key())
        .expect_err("other parameters")
        .to_string();
    assert!(refused.contains("other parameters"), "{refused}");
    let stranger = secret(&params, 4).light_client(&light(1, Level(0), None)).expect("a client");
    let (mut client, receiver) = self::client(&sk, 1, None);
    let x = receiver.receive(&[&client.encrypt(&[1.0]).expect("a message")], None).expect("samples");
    assert!(matches!(
        stranger.decrypt(&receiver.reply(&x).expect("a reply")),
        Err(SampleError::OtherOwner { .. })
    ));
    let slots = sk.encrypt(&[1.0]).expect("slots");
    assert!(matches!(receiver.reply(&slots), Err(CkksError::Encoding { .. })));
    let _: (&Params, Evaluator) = (receiver.params(), evaluator(&sk, &KeyNeeds::new()));
}

#[test]
fn devices_with_secrets_of_their_own_are_packed_under_the_main_secret_and_answered_under_theirs() {
    for (name, degree, midpoints) in
        [("insecure_small", 1, vec![]), ("insecure_small", 1, vec![64, 8]), ("insecure_small", 16, vec![])]
    {
        let params = params(name);
        let sk = secret(&params, 3);
        let top = Level(1);
        let mut packed = Vec::new();
        let data = noise(2 * 64, 9);
        for (device, part) in [3u64, u64::MAX].into_iter().zip(data.chunks(64)) {
            let mut client = sk.light_client(&device_options(device, degree, top)).expect("a client");
            assert_eq!(client.device(), Some(device));
            let receiver = receiver_of(&sk, &client);
            let message = client.encrypt(part).expect("a message");
            let samples = receiver.receive(&[&message], None).expect("samples");
            assert_eq!(samples.secret(), SecretName::Device(device));
            // The owner knows every secret; an operation without keys goes on under the device's.
            let doubled = Evaluator::new(&params).add(&samples, &samples).expect("one secret");
            assert_close(&decrypt(&sk, &doubled), &part.iter().map(|v| 2.0 * v).collect::<Vec<_>>(), 1e-5);
            let method = Some(PackingMethod::Midpoints(midpoints.clone()));
            let options = PackingOptions {
                degree,
                level: Some(top),
                method,
                secret: SecretName::Device(device),
                ..PackingOptions::default()
            };
            let plan = PackingPlan::new(&params, &options).expect("a plan");
            assert!(plan.explain().contains(&format!("under device:{device}")), "{}", plan.explain());
            let ev = evaluator(&sk, plan.needs());
            let array = if degree == 1 { plan.run(&ev, &samples) } else { plan.run_on_rows(&ev, &samples) }
                .expect("packed");
            assert_eq!((array.secret(), array.params()), (SecretName::Main, &params));
            let error = deviation(&decrypt(&sk, &array), part);
            assert!(error < plan.chosen().error && error > 0.0, "{error:e}, {:e}", plan.chosen().error);
            // Another device's key does not serve, nor does a plan for the main secret.
            let other = PackingPlan::new(
                &params,
                &PackingOptions { secret: SecretName::Device(4), ..options.clone() },
            )
            .expect("a plan");
            assert_refused!(
                evaluator(&sk, other.needs()).pack(&samples, &midpoints),
                CkksError::MissingKey { .. },
                &format!("device:{device}")
            );
            assert_refused!(
                other.run(&ev, &samples),
                CkksError::Unsuitable { .. },
                "device:4",
                &format!("device:{device}")
            );
            assert_refused!(
                ev.to_rlwe(&samples),
                CkksError::WrongSecret { .. },
                "has no keys under the secret",
                "device",
                "pack"
            );
            // An answer under the device's secret, which it alone reads.
            let to = SecretName::Device(device);
            let change = evaluator(&sk, &KeyNeeds::new().change_secret(SecretName::Main, to, KeyLevel::Top));
            let answer =
                receiver.reply(&change.change_secret(&array, to).expect("changed")).expect("a reply");
            let read = client.decrypt(&answer).expect("numbers");
            assert_close(&read, part, 1e-4);
            let main = receiver.reply(&array).expect("a reply");
            assert_refused!(
                client.decrypt(&main),
                SampleError::OutOfRange { .. },
                "\"main\"",
                &format!("device:{device}")
            );
            let stranger = sk.light_client(&device_options(device ^ 1, degree, top)).expect("a client");
            assert_refused!(
                stranger.decrypt(&answer),
                SampleError::OutOfRange { .. },
                &format!("device:{device}")
            );
            assert_refused!(
                sk.light_client(&light(degree, top, None)).expect("a client").decrypt(&answer),
                SampleError::OutOfRange { .. },
                "\"main\""
            );
            // A state keeps the name.
            let again = LightClient::from_bytes(&client.to_bytes()).expect("a client");
            assert_eq!(SecretName::of_device(again.device()), to);
            assert_close(&again.decrypt(&answer).expect("numbers"), part, 1e-4);
            packed.push(array);
        }
        let all =
            Evaluator::new(&params).add(&packed[0], &packed[1]).expect("both are under the main secret");
        let sums: Vec<f64> = data[..64].iter().zip(&data[64..]).map(|(a, b)| a + b).collect();
        assert_close(&decrypt(&sk, &all), &sums, 1e-4);
    }
}

#[test]
fn secrets_of_devices_are_independent_of_the_main_one_and_of_each_other() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let degree = params.degree();
    let names = [
        SecretName::Main,
        SecretName::Device(0),
        SecretName::Device(1),
        SecretName::Device(1 << 40),
        SecretName::Body { count: 2, index: 1 },
    ];
    let of = |name| sk.named(name).expect("a secret").all_coefficients().to_vec();
    for (index, &left) in names.iter().enumerate() {
        assert_eq!(of(left), of(left), "the same whenever it is asked for");
        for &right in &names[index + 1..] {
            let (left, right) = (of(left), of(right));
            // Ternary and uniform: the correlation of independent secrets is a sum of n signs with
            // probability 4/9.
            let product: i64 = left.iter().zip(&right).map(|(&a, &b)| a * b).sum();
            let deviation = (degree as f64 * 4.0 / 9.0).sqrt();
            assert!((product as f64).abs() < 5.0 * deviation, "{product} of {deviation}");
            assert_ne!(left, right);
        }
    }
    // Another owner's device of the same number has another secret.
    assert_ne!(
        of(SecretName::Device(1)),
        secret(&params, 4).named(SecretName::Device(1)).expect("a secret").all_coefficients()
    );
    // A client holds the device's secret alone.
    let state = sk.light_client(&device_options(1, 1, Level(0))).expect("a client").to_bytes();
    let bytes = |name| of(name).iter().map(|&c| c as i8 as u8).collect::<Vec<u8>>();
    let holds = |secret: &[u8]| state.windows(secret.len()).any(|window| window == secret);
    assert!(holds(&bytes(SecretName::Device(1))) && !holds(&bytes(SecretName::Main)));
}
