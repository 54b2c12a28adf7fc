//! Permutations of a row that move whole aligned blocks of eight words and reorder the words of each block in
//! one of at most eight orders. Every automorphism in Eval form is such a permutation. A block takes one
//! load, one shuffle and one store instead of eight gathered words.

/// Words per block.
pub const BLOCK: usize = 8;

/// Maximum number of different orders of words within the blocks of one permutation.
const ORDERS: usize = 8;

/// `out[8 b + j] = x[8 source + order[j]]`, with a source and an order for each block `b`.
#[derive(Debug, Clone)]
pub struct BlockPermutation {
    /// For each block: the index of its source block times [`ORDERS`], plus the index of its order.
    blocks: Vec<u32>,
    orders: Box<[[u64; BLOCK]; ORDERS]>,
    #[cfg(target_arch = "x86_64")]
    vectors: bool,
}

impl BlockPermutation {
    /// Recognises `out[i] = x[source[i]]` as a permutation of blocks, or returns `None`.
    ///
    /// Range: the length of `source` is below 2^29, and its entries are below the length.
    #[must_use]
    pub fn recognise(source: &[u32]) -> Option<Self> {
        let (chunks, rest) = source.as_chunks::<BLOCK>();
        if !rest.is_empty() {
            return None;
        }
        let mut orders: Vec<[u64; BLOCK]> = Vec::with_capacity(ORDERS);
        let mut blocks = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let block = chunk[0] / BLOCK as u32;
            if block as usize >= chunks.len() || chunk.iter().any(|&word| word / BLOCK as u32 != block) {
                return None;
            }
            let order = chunk.map(|word| u64::from(word % BLOCK as u32));
            let number = orders.iter().position(|known| *known == order).unwrap_or_else(|| {
                orders.push(order);
                orders.len() - 1
            });
            if number == ORDERS {
                return None;
            }
            blocks.push(block * ORDERS as u32 + number as u32);
        }
        orders.resize(ORDERS, [0; BLOCK]);
        Some(Self {
            blocks,
            orders: orders.into_boxed_slice().try_into().ok()?,
            #[cfg(target_arch = "x86_64")]
            vectors: is_x86_feature_detected!("avx512f"),
        })
    }

    /// The first word of the block that is moved to the word `start`.
    #[must_use]
    pub fn source_of(&self, start: usize) -> usize {
        self.blocks[start / BLOCK] as usize / ORDERS * BLOCK
    }

    /// Writes words `start..start + out.len()` of the permuted row to `out`, in units of blocks. `x` holds
    /// the words of the row from `from` on, which include the blocks that are read.
    pub fn apply_within(&self, out: &mut [u64], start: usize, x: &[u64], from: usize) {
        assert!(
            start.is_multiple_of(BLOCK) && out.len().is_multiple_of(BLOCK) && from.is_multiple_of(BLOCK),
            "whole blocks"
        );
        let blocks = &self.blocks[start / BLOCK..(start + out.len()) / BLOCK];
        let first = from / BLOCK;
        let count = x.len() / BLOCK;
        let known =
            |&block: &u32| (block as usize / ORDERS).checked_sub(first).is_some_and(|block| block < count);
        assert!(blocks.iter().all(known), "the blocks that are read are given");
        #[cfg(target_arch = "x86_64")]
        if self.vectors {
            // SAFETY: AVX-512 F was detected in `recognise`; blocks and lengths are checked above.
            unsafe { self.apply_vectors(out, blocks, x, first) };
            return;
        }
        self.apply_words(out, blocks, x, first);
    }

    /// [`BlockPermutation::apply_within`] in plain Rust; `first` is the number of the first block of `x`.
    fn apply_words(&self, out: &mut [u64], blocks: &[u32], x: &[u64], first: usize) {
        let (rows, _) = x.as_chunks::<BLOCK>();
        let (targets, _) = out.as_chunks_mut::<BLOCK>();
        for (target, &block) in targets.iter_mut().zip(blocks) {
            let (row, order) =
                (&rows[block as usize / ORDERS - first], &self.orders[block as usize % ORDERS]);
            for (word, &place) in target.iter_mut().zip(order) {
                *word = row[place as usize % BLOCK];
            }
        }
    }

    /// [`BlockPermutation::apply_within`] with one vector per block.
    ///
    /// # Safety
    /// The machine has AVX-512 F; the sources of `blocks`, less `first`, are blocks of `x`, and `out` has as
    /// many blocks.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn apply_vectors(&self, out: &mut [u64], blocks: &[u32], x: &[u64], first: usize) {
        use std::arch::x86_64::{_mm512_loadu_si512, _mm512_permutexvar_epi64, _mm512_storeu_si512};
        // SAFETY: the orders are eight words each; sources are blocks of `x`, as the caller checked.
        unsafe {
            let mut target = out.as_mut_ptr();
            for &block in blocks {
                let row =
                    _mm512_loadu_si512(x.as_ptr().add((block as usize / ORDERS - first) * BLOCK).cast());
                let order = _mm512_loadu_si512(self.orders[block as usize % ORDERS].as_ptr().cast());
                _mm512_storeu_si512(target.cast(), _mm512_permutexvar_epi64(order, row));
                target = target.add(BLOCK);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognise_other_permutations_are_refused() {
        assert!(BlockPermutation::recognise(&[0, 1, 2]).is_none(), "no whole block");
        let mut crossing: Vec<u32> = (0..16).collect();
        crossing.swap(7, 8);
        assert!(BlockPermutation::recognise(&crossing).is_none(), "a word leaves its block");
        assert!(BlockPermutation::recognise(&[8, 9, 10, 11, 12, 13, 14, 15]).is_none(), "beyond the row");
        let many: Vec<u32> = (0..9 * 8)
            .map(|i| if i / 8 == 8 { 64 + (7 - i % 8) } else { i / 8 * 8 + (i + i / 8) % 8 })
            .collect();
        assert!(BlockPermutation::recognise(&many).is_none(), "nine orders");
        assert!(BlockPermutation::recognise(&many[..64]).is_some(), "eight orders");
    }

    #[test]
    fn apply_vectors_and_words_agree_with_the_definition() {
        let source: Vec<u32> = (0..64).map(|i| (7 - i / 8) * 8 + (i * 3 + i / 8) % 8).collect();
        let permutation = BlockPermutation::recognise(&source).expect("blocks");
        let x: Vec<u64> = (0..64).map(|i| i * 1000 + 7).collect();
        let expected: Vec<u64> = source.iter().map(|&word| x[word as usize]).collect();
        let (mut by_vectors, mut by_words) = (vec![0; 64], vec![0; 64]);
        permutation.apply_within(&mut by_vectors, 0, &x, 0);
        permutation.apply_words(&mut by_words, &permutation.blocks, &x, 0);
        assert_eq!(by_vectors, expected);
        assert_eq!(by_words, expected);
        for (start, length) in [(0, 8), (8, 24), (56, 8), (16, 0), (64, 0)] {
            let mut part = vec![0; length];
            permutation.apply_within(&mut part, start, &x, 0);
            assert_eq!(part, expected[start..start + length], "{length} words from {start}");
            if length == 8 {
                let from = permutation.source_of(start);
                assert_eq!(from, source[start] as usize / 8 * 8);
                part.fill(0);
                permutation.apply_within(&mut part, start, &x[from..from + 8], from);
                assert_eq!(part, expected[start..start + length]);
            }
        }
        for (start, x, from) in
            [(0, &x[..56], 0), (0, &x[8..], 0), (8, &x[8..16], 8), (4, &x[..], 0), (64, &x[..], 0)]
        {
            let refused = std::panic::catch_unwind(|| permutation.apply_within(&mut [0; 8], start, x, from));
            assert!(refused.is_err(), "{} words from {from}, to {start}", x.len());
        }
    }
}
