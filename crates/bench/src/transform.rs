//! Times of one row's transform at degrees 2^12 to 2^16.

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Isa, Modulus, NttTable};
use clathrate_ckks::CkksError;
use serde_json::json;

use crate::failure::Failure;
use crate::timing::{Extra, Timer};
use clathrate_arith::sequence::words;

/// Bits of the prime, like those of the presets' scaling primes.
const PRIME_BITS: u32 = 40;

/// Transforms in one timed run, so that the clock's resolution is negligible.
const REPEATS: usize = 64;

/// Times forward and inverse transforms.
pub fn run(timer: &Timer<'_>, isa: Isa) -> Result<(), Failure> {
    if !timer.wants("ntt_forward") && !timer.wants("ntt_inverse") {
        return Ok(());
    }
    for log_degree in 12..=16 {
        let degree = 1usize << log_degree;
        let build = || -> Result<NttTable, clathrate_arith::ArithError> {
            let prime = largest_primes(PRIME_BITS, 2 * degree as u64, 1, &[])?[0];
            NttTable::new(Modulus::new(prime)?, degree, isa)
        };
        let table = build().map_err(CkksError::from)?;
        let mut row: Vec<u64> = words(1).map(|word| word % table.modulus().value()).take(degree).collect();
        let params = format!("2^{log_degree}, {PRIME_BITS}-bit prime");
        let mut extra = Extra::new();
        extra.insert("degree".to_owned(), json!(degree));
        extra.insert("modulus".to_owned(), json!(table.modulus().value()));
        extra.insert("kernel".to_owned(), json!(table.kernel().isa().name()));
        extra.insert("max_error".to_owned(), json!(round_trip_error(&table, &row)));
        if timer.wants("ntt_forward") {
            timer.time(("ntt_forward", &params), REPEATS, &extra, || {
                (0..REPEATS).for_each(|_| table.forward(&mut row));
                Ok(())
            })?;
        }
        if timer.wants("ntt_inverse") {
            timer.time(("ntt_inverse", &params), REPEATS, &extra, || {
                (0..REPEATS).for_each(|_| table.inverse(&mut row));
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// 0 if the inverse undoes the forward transform and this is not the identity, else 1.
fn round_trip_error(table: &NttTable, row: &[u64]) -> u32 {
    let mut x = row.to_vec();
    table.forward(&mut x);
    let moved = x != row;
    table.inverse(&mut x);
    u32::from(!(moved && x == row))
}
