//! The speed at which one thread reads memory, which bounds a switch by its key once the arithmetic is fast.

use clathrate_arith::aligned::AlignedWords;
use clathrate_arith::kernels::stream::wrapping_sum;
use serde_json::json;

use crate::failure::Failure;
use crate::timing::{Extra, Timer};
use clathrate_arith::machine;

/// The operation's name.
pub const WORK: &str = "stream_read";

/// Bytes that are read: more than any cache holds.
const BYTES: usize = 1 << 30;

/// Bytes that a quick run reads.
const QUICK_BYTES: usize = 1 << 28;

/// Times the sum over one long buffer of words in huge pages, like those of keys.
pub fn run(timer: &Timer<'_>) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let bytes = if timer.is_quick() { QUICK_BYTES } else { BYTES };
    let params = format!("{} MiB", bytes >> 20);
    if let Some(memory) = machine::memory()
        && (memory.free_bytes as usize) < 2 * bytes
    {
        return timer.absent(WORK, &params, &format!("{} MiB of free memory", memory.free_bytes >> 20));
    }
    let mut words = AlignedWords::zeroed(bytes / 8);
    let mut expected = 0u64;
    for (i, word) in words.iter_mut().enumerate() {
        *word = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        expected = expected.wrapping_add(*word);
    }
    let mut extra = Extra::new();
    extra.insert("bytes".to_owned(), json!(bytes));
    extra.insert("max_error".to_owned(), json!(u8::from(wrapping_sum(&words) != expected)));
    timer.time((WORK, &params), 1, &extra, || Ok(wrapping_sum(&words)))
}
