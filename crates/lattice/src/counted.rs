//! Samples whose mask is expanded from a seed and a counter, for a device that holds a secret and a counter
//! but no ring: the device's computation of the body, and the receiver's expansion of the mask.
//!
//! A sample of degree `n` and rank `k` under the counter `c` has the mask whose residues modulo the ring's
//! modulus number `index` are the stream of (seed, c, index), polynomial after polynomial, in Coeff form. The
//! device computes the body `b = m + e - <a, s>` from the stream, word by word; the receiver expands the same
//! stream into a bundle. With `n = 1` a sample is an LWE sample.
//!
//! A counter must not be used twice with one seed: the difference of two bodies with one mask reveals the
//! difference of the messages and errors.
//!
//! Source: [hermes, sec. 5.4], the client's part.

use clathrate_arith::Modulus;
use zeroize::Zeroizing;

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff};
use crate::ring::Ring;
use crate::sampling::{MaskSeed, MaskXof};
use crate::shape::Rank;

const DOMAIN: &str = "counted mask";

/// Words of a mask that are expanded at a time.
const BLOCK: usize = 1024;

/// `<a, s>` modulo `modulus`, which is number `index` of the ring, for the mask of counter `counter`: `n`
/// residues.
///
/// `secret` holds the `k n` coefficients of the secret, polynomial after polynomial; `n` is a power of two.
/// Neither branches nor addresses depend on them. The result is secret: with the public mask it reveals the
/// secret.
#[must_use]
pub fn mask_times_secret(
    seed: &MaskSeed,
    counter: u64,
    (modulus, index): (&Modulus, usize),
    secret: &[i8],
    degree: usize,
) -> Zeroizing<Vec<u64>> {
    let mut stream = MaskXof::new(seed, DOMAIN, &[counter, index as u64]);
    // A residue has at most 61 bits, and there are fewer than 2^40 coefficients.
    let mut sums = Zeroizing::new(vec![0i128; degree]);
    let mut words = vec![0u64; BLOCK.max(degree)];
    for secret in secret.chunks(words.len()) {
        let words = &mut words[..secret.len()];
        stream.fill_uniform(modulus, words);
        for (mask, secret) in words.chunks_exact(degree).zip(secret.chunks_exact(degree)) {
            for (i, &word) in mask.iter().enumerate() {
                for (j, &factor) in secret.iter().enumerate() {
                    let product = i128::from(word) * i128::from(factor);
                    if i + j < degree { sums[i + j] += product } else { sums[i + j - degree] -= product }
                }
            }
        }
    }
    Zeroizing::new(sums.iter().map(|&sum| reduced(modulus, sum)).collect())
}

/// A sum of at most 2^40 products of residues with ternary numbers, modulo `modulus`, without a branch on its
/// sign.
#[must_use]
pub fn reduced(modulus: &Modulus, sum: i128) -> u64 {
    modulus.reduce_u128((sum + (i128::from(modulus.value()) << 64)) as u128)
}

impl Bundle<Coeff> {
    /// The sample with the mask of counter `counter` and the body that `body` writes. The arguments of `body`
    /// are the index of a modulus of the ring and the `n` residues to write.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0; [`LatticeError::BasisMismatch`] where the ring lacks a prime
    /// of `basis`.
    pub fn counted(
        ring: &Ring,
        basis: &Basis,
        Rank(rank): Rank,
        seed: &MaskSeed,
        counter: u64,
        body: impl Fn(usize, &mut [u64]) + Sync,
    ) -> Result<Self, LatticeError> {
        basis.check(ring)?;
        let degree = ring.degree();
        // Polynomials of one prime are expanded together, because their residues follow one another in the
        // stream.
        let streams: Vec<Vec<u64>> = basis
            .indices()
            .iter()
            .map(|&index| {
                let mut words = vec![0; rank * degree];
                MaskXof::new(seed, DOMAIN, &[counter, index as u64])
                    .fill_uniform(&ring.moduli()[index], &mut words);
                words
            })
            .collect();
        Self::from_words(ring, basis, Rank(rank), &|poly, prime, words| match poly == rank {
            true => body(basis.indices()[prime], words),
            false => words.copy_from_slice(&streams[prime][poly * degree..(poly + 1) * degree]),
        })
    }
}
