//! Permutations of a row that move whole aligned blocks of eight words and reorder the words of each block in one of at most eight orders. Every
//! automorphism in Eval form is such a permutation. A block takes one load, one shuffle and one store instead of eight gathered words.

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

    /// Writes the permuted `x` to `out`. Both have the permutation's length.
    pub fn apply(&self, out: &mut [u64], x: &[u64]) {
        assert_eq!(out.len(), self.blocks.len() * BLOCK, "a row has as many words as the permutation");
        assert_eq!(x.len(), out.len(), "a row has as many words as the permutation");
        #[cfg(target_arch = "x86_64")]
        if self.vectors {
            // SAFETY: AVX-512 F was detected in `recognise`; lengths are checked above.
            unsafe { self.apply_vectors(out, x) };
            return;
        }
        self.apply_words(out, x);
    }

    /// [`BlockPermutation::apply`] in plain Rust.
    pub fn apply_words(&self, out: &mut [u64], x: &[u64]) {
        let (rows, _) = x.as_chunks::<BLOCK>();
        let (targets, _) = out.as_chunks_mut::<BLOCK>();
        for (target, &block) in targets.iter_mut().zip(&self.blocks) {
            let (row, order) = (&rows[block as usize / ORDERS], &self.orders[block as usize % ORDERS]);
            for (word, &place) in target.iter_mut().zip(order) {
                *word = row[place as usize % BLOCK];
            }
        }
    }

    /// [`BlockPermutation::apply`] with one vector per block.
    ///
    /// # Safety
    /// The machine has AVX-512 F; `out` and `x` have the permutation's length.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn apply_vectors(&self, out: &mut [u64], x: &[u64]) {
        use std::arch::x86_64::{_mm512_loadu_si512, _mm512_permutexvar_epi64, _mm512_storeu_si512};
        // SAFETY: the orders are eight words each; sources are blocks of `x`, as `recognise` checked.
        unsafe {
            let mut target = out.as_mut_ptr();
            for &block in &self.blocks {
                let row = _mm512_loadu_si512(x.as_ptr().add(block as usize / ORDERS * BLOCK).cast());
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
        let many: Vec<u32> = (0..9 * 8).map(|i| if i / 8 == 8 { 64 + (7 - i % 8) } else { i / 8 * 8 + (i + i / 8) % 8 }).collect();
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
        permutation.apply(&mut by_vectors, &x);
        permutation.apply_words(&mut by_words, &x);
        assert_eq!(by_vectors, expected);
        assert_eq!(by_words, expected);
    }
}
