//! A light client runs in a few hundred KiB: every allocation of this program is counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use clathrate_ckks::light::{LightClient, LightOptions, Receiver, reply};
use clathrate_ckks::{Params, Runtime, SecretKey};

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

#[test]
fn a_client_at_a_secure_set_stays_below_a_quarter_of_a_mebibyte() {
    let params = Params::preset("pack_n12", &Runtime::default()).expect("preset");
    assert!(params.security_bits() >= 128.0);
    let owner = SecretKey::generate(&params).expect("a key");
    let state = owner.light_client(&LightOptions { precision_bits: Some(20.0), ..LightOptions::default() }).expect("a client").to_bytes();
    let (mut client, made) = peak(|| LightClient::from_bytes(&state).expect("a client"));
    let (message, encrypting) = peak(|| client.encrypt(&[0.5; 8]).expect("a message"));
    let receiver = Receiver::new(&params, &client.introduction()).expect("a receiver");
    let bytes = reply(&receiver.receive(&[&message], None).expect("samples")).expect("a reply");
    let (numbers, decrypting) = peak(|| client.decrypt(&bytes).expect("numbers"));
    assert!(numbers.iter().all(|number| (number - 0.5).abs() < 1e-4));
    let limit = 256 << 10;
    assert!(made + encrypting < limit && made + decrypting < limit, "{made}, {encrypting} and {decrypting} bytes");
    assert_eq!((client.bits_per_number(), message.len()), (31, 12 + 31), "less than four bytes for each of eight numbers");
}
