//! Inboxes: what was accepted is there after any end of the program, nothing twice, and bad messages are
//! refused alone.

#[path = "../../ckks/tests/all/common/mod.rs"]
mod common;

use std::fs;

use clathrate_ckks::light::{ClientId, LightClient};
use clathrate_ckks::{CkksError, Params, SecretKey};
use clathrate_service::{Inbox, MAX_WAITING, TOO_MANY_WAITING};

use crate::common::*;

fn clients(sk: &SecretKey, count: usize) -> Vec<LightClient> {
    let level = clathrate_lattice::Level(0);
    (0..count).map(|_| sk.light_client(&light(1, level, Some(20.0))).expect("a client")).collect()
}

fn message(client: &mut LightClient, numbers: &[f64]) -> Vec<u8> {
    client.encrypt(numbers).expect("a message")
}

fn accepted(inbox: &mut Inbox, messages: &[&[u8]]) -> usize {
    inbox.accept(messages).expect("stored").into_iter().map(|answer| answer.expect("accepted")).sum()
}

fn numbers_of(sk: &SecretKey, inbox: &mut Inbox, most: usize) -> Vec<f64> {
    let batch = inbox.take(most).expect("memory").expect("samples");
    let numbers = decrypt(sk, &batch.arrays()[0]);
    inbox.give_back(batch);
    numbers
}

fn setting() -> (Params, SecretKey, tempfile::TempDir) {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    (params, sk, tempfile::tempdir().expect("a folder"))
}

#[test]
fn what_was_accepted_is_there_again_until_it_is_done() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut senders = clients(&sk, 2);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    for sender in &senders {
        let id = inbox.introduce(&sender.introduction()).expect("a client");
        assert_eq!(inbox.introduce(&sender.introduction()).expect("known"), id);
    }
    let (first, second) = (message(&mut senders[0], &[0.5, 0.25]), message(&mut senders[1], &[-0.5]));
    assert_eq!(accepted(&mut inbox, &[&second, &first]), 3);
    assert!(
        matches!(Inbox::open(&path, &params, &sk.authentication_key()), Err(CkksError::OutOfRange { .. })),
        "open already"
    );
    drop(inbox);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("again");
    assert_eq!((inbox.waiting(), inbox.clients().len()), (3, 2));
    assert_close(&numbers_of(&sk, &mut inbox, 10), &[-0.5, 0.5, 0.25], 1e-4);
    let batch = inbox.take(2).expect("memory").expect("samples");
    assert_eq!((batch.sources().len(), inbox.waiting()), (2, 1));
    // Taken and not done: the next program gets it again.
    drop((inbox, batch));
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("again");
    assert_eq!(inbox.waiting(), 3);
    let batch = inbox.take(2).expect("memory").expect("samples");
    inbox.done(batch).expect("done");
    drop(inbox);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("again");
    assert_close(&numbers_of(&sk, &mut inbox, 10), &[0.25], 1e-4);
    // Counters stay used, also when they are done.
    let answers = inbox.accept(&[&first, &second]).expect("nothing to store");
    assert!(answers.iter().all(|answer| matches!(answer, Err(CkksError::OutOfRange { .. }))), "{answers:?}");
    assert!(inbox.oldest().is_some());
}

#[test]
fn an_end_at_any_byte_loses_nothing_that_was_acknowledged() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut sender = clients(&sk, 1).remove(0);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    inbox.introduce(&sender.introduction()).expect("a client");
    let mut lengths = vec![(fs::metadata(&path).expect("a file").len(), 0)];
    for number in 1..=3 {
        let message = message(&mut sender, &[f64::from(number) / 8.0]);
        assert_eq!(accepted(&mut inbox, &[&message]), 1);
        lengths.push((fs::metadata(&path).expect("a file").len(), number as usize));
    }
    drop(inbox);
    let whole = fs::read(&path).expect("bytes");
    for cut in 0..=whole.len() {
        // Cut off, or made room for and not written.
        for zeroes in [0, 5, 300] {
            let bytes = [&whole[..cut], &vec![0; zeroes]].concat();
            fs::write(&path, &bytes).expect("a file");
            // Zeroes may happen to be the bytes that were cut off: what the file begins with counts.
            let stored = lengths.iter().filter(|(length, _)| bytes.starts_with(&whole[..*length as usize]));
            let stored = stored.map(|(_, count)| *count).max();
            match (Inbox::open(&path, &params, &sk.authentication_key()), stored) {
                (Ok(inbox), Some(stored)) => assert_eq!(inbox.waiting(), stored, "{cut}, {zeroes}"),
                // Before the introduction nothing was acknowledged; a header that is followed by something
                // else is none.
                (Ok(inbox), None) => assert_eq!(inbox.waiting(), 0),
                (Err(error), stored) => {
                    assert!(cut < 40 && zeroes > 0, "{cut}, {zeroes}, {stored:?}: {error}")
                }
            }
        }
    }
}

#[test]
fn damage_before_the_end_and_bad_messages_are_refused() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut senders = clients(&sk, 2);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    inbox.introduce(&senders[0].introduction()).expect("a client");
    let good: Vec<Vec<u8>> = (0..3).map(|_| message(&mut senders[0], &[0.5])).collect();
    let stranger = message(&mut senders[1], &[0.5]);
    let short = &good[0][..good[0].len() - 1];
    let answers = inbox.accept(&[&good[0], &stranger, short, &good[0], b"", &good[1]]).expect("stored");
    let counts: Vec<usize> = answers.iter().map(|answer| answer.as_ref().copied().unwrap_or(0)).collect();
    assert_eq!(counts, [1, 0, 0, 0, 0, 1]);
    assert!(answers[1].as_ref().expect_err("unknown").to_string().contains("introduce the client first"));
    assert!(answers[3].as_ref().expect_err("twice").to_string().contains("accepted before"));
    assert_eq!((accepted(&mut inbox, &[&good[2]]), inbox.waiting()), (1, 3));
    // Somebody who heard an introduction cannot introduce another client.
    let mut alike = senders[0].introduction();
    *alike.last_mut().expect("bytes") ^= 1;
    assert_refused!(inbox.introduce(&alike), CkksError::OutOfRange { .. }, "not authenticated");
    assert_eq!((inbox.clients().len(), inbox.client_of(&good[0])), (1, inbox.clients().next()));
    assert!(inbox.knows(&good[1]) && !inbox.knows(&stranger) && !inbox.knows(short));
    drop(inbox);
    let whole = fs::read(&path).expect("bytes");
    // A damaged last record looks like one that was not written whole.
    for place in (0..whole.len() - good[2].len() - 57).step_by(3) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x40;
        fs::write(&path, &bytes).expect("a file");
        assert!(Inbox::open(&path, &params, &sk.authentication_key()).is_err(), "byte {place}");
    }
    fs::write(&path, &whole).expect("a file");
    assert!(matches!(
        Inbox::open(&path, &crate::common::params("insecure_tiny"), &sk.authentication_key()),
        Err(CkksError::WrongParams { .. })
    ));
}

#[test]
fn strangers_leave_nothing_behind() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut sender = clients(&sk, 1).remove(0);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    inbox.introduce(&sender.introduction()).expect("a client");
    let good = message(&mut sender, &[0.5]);
    let before = fs::read(&path).expect("bytes");
    // Introductions that were heard and changed, of another owner, with another name for that owner.
    let other = secret(&params, 4);
    let mut foreign = clients(&other, 1).remove(0);
    let mut renamed = foreign.introduction();
    renamed[37..53].copy_from_slice(&sender.introduction()[37..53]);
    let mut introductions = vec![foreign.introduction(), renamed, b"CLLI".to_vec(), vec![0; 1 << 20]];
    for place in 0..good.len() {
        let mut changed = sender.introduction();
        let last = changed.len() - 1;
        changed[last - place] ^= 0x10;
        introductions.push(changed);
    }
    for introduction in &introductions {
        assert!(inbox.introduce(introduction).is_err());
    }
    // Messages that begin as the client's, short and long.
    let long = [&good[..4], &vec![0; 1 << 20][..]].concat();
    let mut changed = good.clone();
    changed[12] ^= 1;
    let theirs = message(&mut foreign, &[0.5]);
    let moved = [&good[..4], &theirs[4..]].concat();
    let answers =
        inbox.accept(&[&long, &changed, &theirs, &moved, &good[..20], b""]).expect("nothing to store");
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(
        (inbox.waiting(), inbox.clients().len(), fs::read(&path).expect("bytes") == before),
        (0, 1, true)
    );
    // Nor do they spend the client's counters.
    assert_eq!(accepted(&mut inbox, &[&good]), 1);
    drop(inbox);
    assert_refused!(
        Inbox::open(&path, &params, &other.authentication_key()),
        CkksError::WrongSecret { .. },
        "belongs to secret",
        "a light client"
    );
}

#[test]
fn clients_take_turns_whatever_the_others_have_sent() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut senders = clients(&sk, 4);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    let ids: Vec<_> =
        senders.iter().map(|sender| inbox.introduce(&sender.introduction()).expect("a client")).collect();
    // One that was made from the state of the first is the same client.
    let mut twin = LightClient::from_bytes(&senders[0].to_bytes()).expect("a client");
    let twin_id = inbox.introduce(&twin.introduction()).expect("a client");
    let many = [message(&mut senders[0], &[0.125; 300]), message(&mut twin, &[0.125; 300])];
    assert_eq!(accepted(&mut inbox, &[&many[0], &many[1]]), 600);
    let few: Vec<Vec<u8>> =
        (1..4).map(|number| message(&mut senders[number], &[number as f64 / 8.0; 5])).collect();
    accepted(&mut inbox, &few.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let counts = |sources: &[(ClientId, u64)]| -> Vec<usize> {
        let of = |id: &ClientId| sources.iter().filter(|(own, _)| own == id).count();
        ids.iter().chain([&twin_id]).map(of).collect()
    };
    let mut seen = std::collections::BTreeSet::new();
    for (round, expected) in
        [[2, 2, 2, 2, 0], [2, 2, 2, 2, 0], [5, 1, 1, 1, 0], [8, 0, 0, 0, 0]].into_iter().enumerate()
    {
        if round == 2 {
            // Also over a restart, and after a failure.
            drop(inbox);
            inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("again");
            let batch = inbox.take(7).expect("memory").expect("samples");
            inbox.give_back(batch);
            assert_eq!(inbox.waiting(), 615 - 16);
        }
        let batch = inbox.take(8).expect("memory").expect("samples");
        let sources: Vec<_> = batch.sources().collect();
        assert_eq!(counts(&sources), expected, "round {round}");
        // Each value is its client's, and each sample comes once.
        for (&(id, counter), value) in sources.iter().zip(decrypt(&sk, &batch.arrays()[0])) {
            let number = ids.iter().position(|own| *own == id).unwrap_or(0);
            assert!((value - number.max(1) as f64 / 8.0).abs() < 1e-4, "{number}, {counter}: {value}");
            assert!(seen.insert((id, counter)));
        }
        inbox.done(batch).expect("done");
    }
    // What is left comes in the order in which it was sent, of one client as of two.
    let batch = inbox.take(1000).expect("memory").expect("samples");
    let sources: Vec<_> = batch.sources().collect();
    assert_eq!((sources.len(), counts(&sources)), (600 - 17, vec![300 - 17, 0, 0, 0, 300]));
    assert!(sources.is_sorted_by_key(|&(id, counter)| (id != ids[0], counter)));
    assert!(sources.iter().all(|source| seen.insert(*source)));
}

#[test]
fn batches_that_are_done_in_any_order_leave_the_others() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut sender = clients(&sk, 1).remove(0);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    inbox.introduce(&sender.introduction()).expect("a client");
    assert_eq!(
        accepted(&mut inbox, &[&message(&mut sender, &[0.5; 10]), &message(&mut sender, &[0.25; 2])]),
        12
    );
    let batches: Vec<_> = (0..4).map(|_| inbox.take(3).expect("memory").expect("samples")).collect();
    assert_eq!(inbox.waiting(), 0);
    let mut left: Vec<u64> = Vec::new();
    for (number, batch) in batches.into_iter().enumerate() {
        match number {
            1 => inbox.done(batch).expect("done"),
            3 => drop(batch),
            _ => {
                left.extend(batch.sources().map(|(_, counter)| counter));
                inbox.give_back(batch);
            }
        }
    }
    let counters = |inbox: &mut Inbox| -> Vec<u64> {
        let batch = inbox.take(100).expect("memory").expect("samples");
        batch.sources().map(|(_, counter)| counter).collect()
    };
    assert_eq!((left.as_slice(), counters(&mut inbox)), (&[0, 1, 2, 6, 7, 8][..], vec![0, 1, 2, 6, 7, 8]));
    drop(inbox);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("again");
    assert_eq!((inbox.waiting(), counters(&mut inbox)), (9, vec![0, 1, 2, 6, 7, 8, 9, 10, 11]));
}

#[test]
fn what_one_client_may_have_waiting_is_limited() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut senders = clients(&sk, 2);
    let mut inbox = Inbox::open(&path, &params, &sk.authentication_key()).expect("an inbox");
    for sender in &senders {
        inbox.introduce(&sender.introduction()).expect("a client");
    }
    let full = message(&mut senders[0], &vec![0.5; MAX_WAITING + 1]);
    let answers = inbox.accept(&[&full]).expect("nothing to store");
    assert!(answers[0].as_ref().expect_err("too many").to_string().contains("send fewer numbers"));
    inbox.limit_waiting(10);
    let messages: Vec<Vec<u8>> = (0..4).map(|_| message(&mut senders[0], &[0.5; 4])).collect();
    let other = message(&mut senders[1], &[0.25; 10]);
    let answers = inbox.accept(&[&messages[0], &messages[1], &messages[2], &other]).expect("stored");
    let counts: Vec<usize> = answers.iter().map(|answer| answer.as_ref().copied().unwrap_or(0)).collect();
    assert_eq!(counts, [4, 4, 0, 10], "in one call");
    assert!(
        matches!(&answers[2], Err(CkksError::OutOfRange { what: TOO_MANY_WAITING, .. })),
        "{:?}",
        answers[2]
    );
    let again = |inbox: &mut Inbox| inbox.accept(&[&messages[2]]).expect("stored").remove(0).is_ok();
    assert!(!again(&mut inbox) && !inbox.knows(&messages[2]), "in the next one");
    // It is taken when there is room; its counters are not spent.
    let batch = inbox.take(4).expect("memory").expect("samples");
    assert!(again(&mut inbox) && inbox.knows(&messages[2]));
    // What is given back is there, even beyond the limit, and then nothing more comes.
    inbox.give_back(batch);
    assert_eq!(inbox.waiting(), 22);
    assert!(matches!(
        inbox.accept(&[&messages[3]]).expect("nothing to store")[0],
        Err(CkksError::OutOfRange { what: TOO_MANY_WAITING, .. })
    ));
}
