//! A buffer: rows of residues in an engine's memory.

use std::fmt;
use std::sync::{Arc, Weak};

use zeroize::Zeroize;

use crate::aligned::{AlignedWords, Pool};

/// `rows` x `degree` residues, row-major. The owner knows which modulus each row has.
///
/// Today the memory is the host's; an engine with memory of its own adds a variant behind the same methods.
pub struct Buffer {
    words: AlignedWords,
    degree: usize,
    pool: Weak<Pool>,
}

impl Buffer {
    /// A buffer of zeroes.
    #[must_use]
    pub fn zeroed(pool: &Arc<Pool>, rows: usize, degree: usize) -> Self {
        let mut buffer = Self::scratch(pool, rows, degree);
        buffer.words.fill(0);
        buffer
    }

    /// A buffer with unspecified contents, for callers that overwrite all of it.
    #[must_use]
    pub fn scratch(pool: &Arc<Pool>, rows: usize, degree: usize) -> Self {
        Self { words: pool.take(rows * degree), degree, pool: Arc::downgrade(pool) }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.words.len().checked_div(self.degree).unwrap_or(0)
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// All words, row after row.
    #[must_use]
    pub fn host(&self) -> &[u64] {
        &self.words
    }

    /// All words, writable.
    #[must_use]
    pub fn host_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Row `index`.
    #[must_use]
    pub fn row(&self, index: usize) -> &[u64] {
        &self.words[index * self.degree..(index + 1) * self.degree]
    }

    /// Row `index`, writable.
    #[must_use]
    pub fn row_mut(&mut self, index: usize) -> &mut [u64] {
        &mut self.words[index * self.degree..(index + 1) * self.degree]
    }

    /// A new buffer holding the given rows of this one, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut words = match self.pool.upgrade() {
            Some(pool) => pool.take(rows.len() * self.degree),
            None => AlignedWords::zeroed(rows.len() * self.degree),
        };
        for (target, &source) in words.chunks_exact_mut(self.degree.max(1)).zip(rows) {
            target.copy_from_slice(self.row(source));
        }
        Self { words, degree: self.degree, pool: self.pool.clone() }
    }

    /// Overwrites the contents with zeroes in a way the compiler keeps.
    pub fn zeroize(&mut self) {
        self.words.zeroize();
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        self.select(&(0..self.rows()).collect::<Vec<_>>())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.put(std::mem::replace(&mut self.words, AlignedWords::zeroed(0)));
        }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.degree == other.degree && *self.words == *other.words
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} x {})", crate::text::counted(self.rows(), "row"), self.degree)
    }
}
