//! What the arithmetic tests share: reproducible words, primes of every width, every engine of this machine.
#![allow(dead_code, reason = "each test program uses its own part")]

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Buffer, CpuEngine, Engine, Isa, Rows};

/// Xorshift: reproducible test words, no claim to be random.
pub struct Words(u64);

impl Words {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A residue: an edge now and then, else any.
    pub fn residue(&mut self, q: u64) -> u64 {
        match self.next() % 8 {
            0 => 0,
            1 => q - 1,
            2 => q / 2 + self.next() % 2,
            _ => self.next() % q,
        }
    }
}

/// Widths at which kernels change: 45 and 46 bits, 49 and 50 and 51, the largest.
pub const WIDTHS: [u32; 12] = [29, 60, 36, 50, 45, 31, 49, 59, 46, 40, 51, 61];

/// The polynomials of `rows` rows each that `buffer` holds, as buffers of their own.
pub fn polys(engine: &dyn Engine, buffer: &Buffer, rows: usize) -> Vec<Buffer> {
    buffer.view().chunks(rows).map(|poly| engine.select(poly, &(0..rows).collect::<Vec<_>>())).collect()
}

/// Views of all buffers.
pub fn views<'a>(buffers: impl IntoIterator<Item = &'a Buffer>) -> Vec<Rows<'a>> {
    buffers.into_iter().map(Buffer::view).collect()
}

/// Four primes of each width, neighbours of different widths, all congruent to 1 modulo `2 * degree`.
pub fn mixed_primes(degree: usize) -> Vec<u64> {
    let by_width: Vec<Vec<u64>> = WIDTHS
        .iter()
        .map(|&bits| largest_primes(bits, 2 * degree as u64, 4, &[]).expect("enough primes"))
        .collect();
    (0..4).flat_map(|i| by_width.iter().map(move |primes| primes[i])).collect()
}

/// Every instruction set of this machine, on the calling thread and on two threads.
pub fn engines(degree: usize, primes: &[u64]) -> Vec<CpuEngine> {
    let pool = CpuEngine::thread_pool(2).expect("threads");
    assert!(pool.is_some());
    Isa::available()
        .into_iter()
        .flat_map(|isa| {
            [None, pool.clone()].map(|threads| {
                CpuEngine::new(degree, primes, isa)
                    .expect("engine")
                    .with_threads(threads)
                    .sharing_small_work()
            })
        })
        .collect()
}
