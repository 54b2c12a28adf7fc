//! Keys of several shapes, converted ciphertexts and relatives in files.

use std::sync::Arc;

use crate::common::*;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{
    Ciphertext, CkksError, Encoding, EvaluationKeys, Evaluator, KeyNeeds, ModuleShape, Params, SecretKey,
};

fn all_needs(params: &Params) -> KeyNeeds {
    let two = ModuleShape { degree: params.degree(), rank: 2 };
    let lower = KeyNeeds::new()
        .relinearise(KeyLevel::Top)
        .reduce_to(1, KeyLevel::Top)
        .power_rotations(KeyLevel::Level(1));
    KeyNeeds::new()
        .relinearise(KeyLevel::Top)
        .power_rotations(KeyLevel::Level(3))
        .rotations([1], KeyLevel::Level(2))
        .reduce_to(2, KeyLevel::Top)
        .relative(two, &lower)
        .merge(&params.rlwe_needs(KeyLevel::Level(2)))
}

fn keys_of(bytes: &[u8], params: &Params) -> Result<EvaluationKeys, CkksError> {
    EvaluationKeys::from_reader(&FileReader::from_bytes(bytes)?, params)
}

#[test]
fn keys_of_all_shapes_come_back_and_compute_the_same_bits() {
    let params = params("insecure_dpad");
    let owner = secret(&params, 1);
    let keys = owner.evaluation_keys(&all_needs(&params)).expect("keys");
    let bytes = keys.to_file_bytes().expect("file");
    let again = keys_of(&bytes, &params).expect("keys");
    assert_eq!(again.to_file_bytes().expect("file"), bytes);
    assert_eq!((again.bytes(), again.id()), (keys.bytes(), keys.id()));
    let (one, two) = (Evaluator::with_keys(Arc::new(keys)), Evaluator::with_keys(Arc::new(again)));
    let options = EncryptOptions {
        encoding: Some(Encoding::Slots),
        level: Some(clathrate_lattice::Level(2)),
        ..EncryptOptions::default()
    };
    let x = encrypt_as(&owner, &Values::Real(ramp(128)), &[128], options, 5);
    let each = |ev: &Evaluator| -> Vec<Ciphertext> {
        let low = ev.to_rank(&x, 2).expect("rank 2");
        vec![
            ev.multiply_rescale(&x, &x).expect("product"),
            ev.rotate(&x, 1).expect("own key"),
            ev.rotate(&x, 45).expect("powers"),
            ev.to_rlwe(&x).expect("degree 1024"),
            ev.multiply_rescale(&low, &low).expect("product at rank 2"),
        ]
    };
    for (a, b) in each(&one).iter().zip(each(&two)) {
        assert_eq!(a.bundles(), b.bundles());
        // Ciphertexts of relatives are read with the root's parameters, and with their own.
        let bytes = a.to_file_bytes().expect("file");
        for reading in [&params, a.params()] {
            let read = Ciphertext::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), reading)
                .expect("ciphertext");
            assert_eq!((read.params(), read.bundles()), (a.params(), a.bundles()));
        }
    }
}

#[test]
fn relatives_and_their_keys_come_back_equal() {
    let root = params("insecure_dpad");
    let rlwe = root.relative(root.rlwe_shape()).expect("degree 1024");
    let bytes = rlwe.to_file_bytes().expect("file");
    let read = Params::from_reader(
        &FileReader::from_bytes(&bytes).expect("readable"),
        true,
        &crate::common::base_runtime(),
    )
    .expect("parameters");
    assert_eq!(read, rlwe);
    let owner = secret(&root, 1).relative(&rlwe).expect("key");
    let bytes = owner.to_file_bytes().expect("file");
    let again =
        SecretKey::from_reader(&FileReader::from_bytes(&bytes).expect("readable"), &read).expect("key");
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let x = encrypt_as(&owner, &Values::Real(ramp(300)), &[300], options, 2);
    let Values::Real(back) = again.decrypt(&x).expect("decrypt") else { panic!("real numbers went in") };
    assert!(back.iter().zip(ramp(300)).all(|(x, y)| (x - y).abs() < 1e-6));
    // One relative's key opens no other's ciphertext of a larger dimension.
    let small = secret(&root, 1).relative(&root.at_rank(1).expect("rank 1")).expect("key");
    assert!(matches!(small.decrypt(&x), Err(CkksError::WrongParams { .. })));
}

#[test]
fn every_truncation_and_many_flips_of_a_key_file_are_refused() {
    let params = params("insecure_dpad_rank1");
    let owner = secret(&params, 1);
    let needs = KeyNeeds::new().relinearise(KeyLevel::Level(1)).power_rotations(KeyLevel::Level(0));
    let bytes = owner.evaluation_keys(&needs).expect("keys").to_file_bytes().expect("file");
    assert!(keys_of(&bytes, &params).is_ok());
    for length in (0..bytes.len()).step_by(bytes.len() / 97) {
        assert!(keys_of(&bytes[..length], &params).is_err(), "{length}");
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 211) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(keys_of(&flipped, &params).is_err(), "bit of byte {at}");
    }
    let other = crate::common::params("insecure_dpad");
    assert!(keys_of(&bytes, &other).is_err());
}

#[test]
fn needs_of_one_shape_stated_in_two_places_are_all_found() {
    let params = params("insecure_dpad");
    let owner = secret(&params, 1);
    let (two, one) =
        (ModuleShape { degree: params.degree(), rank: 2 }, ModuleShape { degree: params.degree(), rank: 1 });
    let nested = KeyNeeds::new()
        .reduce_to(1, KeyLevel::Top)
        .relative(one, &KeyNeeds::new().relinearise(KeyLevel::Top));
    let needs = KeyNeeds::new()
        .reduce_to(2, KeyLevel::Top)
        .relative(two, &nested)
        .relative(one, &KeyNeeds::new().rotations([1], KeyLevel::Top))
        .relative(params.shape(), &KeyNeeds::new().rotations([2], KeyLevel::Top));
    let keys = owner.evaluation_keys(&needs).expect("keys");
    let lowest = keys.relative(one).expect("keys at rank 1");
    assert!(lowest.rotation(1).is_some());
    assert!(lowest.relinearisation().is_some());
    assert!(keys.own().rotation(2).is_some());
}

#[test]
fn reductions_stated_side_by_side_make_one_way_down() {
    let params = params("insecure_dpad");
    let owner = secret(&params, 1);
    let at = |rank| ModuleShape { degree: params.degree(), rank };
    let step = |to| KeyNeeds::new().reduce_to(to, KeyLevel::Top).single_steps();
    let needs = step(3).relative(at(3), &step(2)).relative(at(2), &step(1));
    let ev = Evaluator::with_keys(Arc::new(owner.evaluation_keys(&needs).expect("keys")));
    let options = EncryptOptions {
        encoding: Some(Encoding::Slots),
        level: Some(clathrate_lattice::Level(0)),
        ..EncryptOptions::default()
    };
    let x = encrypt_as(&owner, &Values::Real(ramp(16)), &[16], options, 5);
    ev.to_rank(&x, 1).expect("4 -> 3 -> 2 -> 1");
}
