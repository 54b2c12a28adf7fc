//! A light client runs in a few hundred KiB: every allocation of this program is counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clathrate_ckks::light::{LightClient, LightOptions, Receiver};
use clathrate_ckks::{Params, Runtime, SecretKey};
use clathrate_service::Inbox;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that are live during `work`, beyond those that are live before.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// One test measures at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn what_waits_takes_the_bytes_of_its_messages_and_a_stranger_takes_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let params = Params::preset("insecure_small", &Runtime::default()).expect("preset");
    let owner = SecretKey::generate(&params).expect("a key");
    let folder = tempfile::tempdir().expect("a folder");
    let open =
        || Inbox::open(folder.path().join("inbox"), &params, &owner.authentication_key()).expect("an inbox");
    let mut inbox = open();
    // As few bits for a number as there can be.
    let options = LightOptions { precision_bits: Some(-10.0), ..LightOptions::default() };
    let mut client = owner.light_client(&options).expect("a client");
    inbox.introduce(&client.introduction()).expect("a client");
    let messages: Vec<Vec<u8>> = (0..16).map(|_| client.encrypt(&[0.5; 4000]).expect("a message")).collect();
    let wire: usize = messages.iter().map(Vec::len).sum();
    let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let before = LIVE.load(Ordering::Relaxed);
    let (answers, most) = peak(|| inbox.accept(&slices).expect("stored"));
    assert!(answers.iter().all(Result::is_ok));
    let kept = LIVE.load(Ordering::Relaxed) - before;
    assert!(kept < wire + wire / 4 + (16 << 10), "{kept} bytes are kept for {wire} on the wire");
    assert!(most < 5 * wire + (64 << 10), "{most} bytes at once for {wire} on the wire");
    // A stranger's line of 8 MB, with the first bytes of a client that he heard.
    let mut long = messages[0][..4].to_vec();
    long.resize(8 << 20, 0);
    let before = LIVE.load(Ordering::Relaxed);
    let (answers, most) = peak(|| inbox.accept(&[&long]).expect("nothing to store"));
    assert!(answers[0].is_err());
    drop(answers);
    assert!(most < 64 << 10 && LIVE.load(Ordering::Relaxed) < before + 1024, "{most} bytes");
    drop(inbox);
    let before = LIVE.load(Ordering::Relaxed);
    let inbox = open();
    let kept = LIVE.load(Ordering::Relaxed) - before;
    assert_eq!(inbox.waiting(), 64_000);
    assert!(kept < wire + wire / 4 + (64 << 10), "{kept} bytes are kept for {wire} on the wire");
}

#[test]
fn a_client_at_a_secure_set_stays_below_a_quarter_of_a_mebibyte() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let params = Params::preset("pack_n12", &Runtime::default()).expect("preset");
    assert!(params.security_bits() >= 128.0);
    let owner = SecretKey::generate(&params).expect("a key");
    let state = owner
        .light_client(&LightOptions { precision_bits: Some(20.0), ..LightOptions::default() })
        .expect("a client")
        .to_bytes();
    let (mut client, made) = peak(|| LightClient::from_bytes(&state).expect("a client"));
    let (message, encrypting) = peak(|| client.encrypt(&[0.5; 8]).expect("a message"));
    let receiver =
        Receiver::new(&params, &client.introduction(), &owner.authentication_key()).expect("a receiver");
    let bytes = receiver.reply(&receiver.receive(&[&message], None).expect("samples")).expect("a reply");
    let (numbers, decrypting) = peak(|| client.decrypt(&bytes).expect("numbers"));
    assert!(numbers.iter().all(|number| (number - 0.5).abs() < 1e-4));
    let limit = 256 << 10;
    assert!(
        made + encrypting < limit && made + decrypting < limit,
        "{made}, {encrypting} and {decrypting} bytes"
    );
    assert_eq!(
        (client.bits_per_number(), message.len()),
        (31, 28 + 31),
        "less than four bytes for each of eight numbers, beside the counter and the tag"
    );
}
