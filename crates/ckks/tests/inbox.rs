//! Inboxes: what was accepted is there after any end of the program, nothing twice, and bad messages are refused alone.

mod common;

use std::fs;

use clathrate_ckks::light::{Inbox, LightClient};
use clathrate_ckks::{CkksError, Params, SecretKey};
use common::*;

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
    let mut inbox = Inbox::open(&path, &params).expect("an inbox");
    for sender in &senders {
        let id = inbox.introduce(&sender.introduction()).expect("a client");
        assert_eq!(inbox.introduce(&sender.introduction()).expect("known"), id);
    }
    let (first, second) = (message(&mut senders[0], &[0.5, 0.25]), message(&mut senders[1], &[-0.5]));
    assert_eq!(accepted(&mut inbox, &[&second, &first]), 3);
    assert!(matches!(Inbox::open(&path, &params), Err(CkksError::OutOfRange { .. })), "open already");
    drop(inbox);
    let mut inbox = Inbox::open(&path, &params).expect("again");
    assert_eq!((inbox.waiting(), inbox.clients().len()), (3, 2));
    assert_close(&numbers_of(&sk, &mut inbox, 10), &[-0.5, 0.5, 0.25], 1e-4);
    let batch = inbox.take(2).expect("memory").expect("samples");
    assert_eq!((batch.sources().len(), inbox.waiting()), (2, 1));
    // Taken and not done: the next program gets it again.
    drop((inbox, batch));
    let mut inbox = Inbox::open(&path, &params).expect("again");
    assert_eq!(inbox.waiting(), 3);
    let batch = inbox.take(2).expect("memory").expect("samples");
    inbox.done(batch).expect("done");
    drop(inbox);
    let mut inbox = Inbox::open(&path, &params).expect("again");
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
    let mut inbox = Inbox::open(&path, &params).expect("an inbox");
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
            match (Inbox::open(&path, &params), stored) {
                (Ok(inbox), Some(stored)) => assert_eq!(inbox.waiting(), stored, "{cut}, {zeroes}"),
                // Before the introduction nothing was acknowledged; a header that is followed by something else is none.
                (Ok(inbox), None) => assert_eq!(inbox.waiting(), 0),
                (Err(error), stored) => assert!(cut < 40 && zeroes > 0, "{cut}, {zeroes}, {stored:?}: {error}"),
            }
        }
    }
}

#[test]
fn damage_before_the_end_and_bad_messages_are_refused() {
    let (params, sk, folder) = setting();
    let path = folder.path().join("inbox");
    let mut senders = clients(&sk, 2);
    let mut inbox = Inbox::open(&path, &params).expect("an inbox");
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
    // Messages with the first bytes of a seed are told apart by nothing else.
    let mut alike = senders[0].introduction();
    *alike.last_mut().expect("bytes") ^= 1;
    assert_refused!(inbox.introduce(&alike), CkksError::OutOfRange { .. }, "begin as those of another one");
    assert_eq!((inbox.clients().len(), inbox.client_of(&good[0])), (1, inbox.clients().next()));
    assert!(inbox.knows(&good[1]) && !inbox.knows(&stranger) && !inbox.knows(short));
    drop(inbox);
    let whole = fs::read(&path).expect("bytes");
    // A damaged last record looks like one that was not written whole.
    for place in (0..whole.len() - good[2].len() - 57).step_by(3) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x40;
        fs::write(&path, &bytes).expect("a file");
        assert!(Inbox::open(&path, &params).is_err(), "byte {place}");
    }
    fs::write(&path, &whole).expect("a file");
    assert!(matches!(Inbox::open(&path, &common::params("insecure_tiny")), Err(CkksError::OutOfRange { .. })));
}
