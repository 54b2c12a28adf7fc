//! Residues in an engine's memory: owned buffers, borrowed views, and the memory behind both.
//!
//! Design, shared with [`crate::engine`]:
//!
//! 1. A [`Buffer`] owns rows of `degree` residues, row after row. It may hold several polynomials over one
//!    basis, one after another, so a ciphertext is one allocation and an operation on all of it is one call
//!    of the engine.
//! 2. [`Rows`] and [`RowsMut`] are borrowed runs of rows of a buffer. Engines take views, so one polynomial
//!    of a ciphertext needs no copy.
//! 3. The memory behind a buffer is [`Memory`]: the host's or a device's ([`DeviceMemory`]). Copying,
//!    comparing, overwriting and freeing go through the owner of the memory.
//! 4. Code above this crate passes views to the engine and never reads the words. Residues enter and leave
//!    only by [`crate::Engine::upload`] and [`crate::Engine::download`].
//! 5. The methods that access the words (`host`, `row` and similar ones) are for engines that compute on the
//!    host and for their tests. They panic on memory of another kind, which occurs only where a caller mixes
//!    two engines.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::aligned::{AlignedWords, Pool};
use crate::mapped::{FileWords, MappedWords};

/// The panic message where host memory is needed and another engine's memory was given.
const FOREIGN: &str = "these residues are in another engine's memory: download them";

/// The panic message where words are to be written that belong to a file.
const READ_ONLY: &str = "these words are those of a mapped file, which are only read";

/// Words in a device's memory, which the host cannot address. Dropping the value frees the words.
pub trait DeviceMemory: Send + Sync + fmt::Debug {
    /// The value as `Any`, so that its engine can recognise it.
    fn as_any(&self) -> &dyn Any;

    /// A copy of all words.
    fn duplicate(&self) -> Box<dyn DeviceMemory>;

    /// Whether `words` words from word `first` on equal those of `other` from word `other_first` on.
    fn equals(&self, first: usize, other: &dyn DeviceMemory, other_first: usize, words: usize) -> bool;

    /// Overwrites all words with zeroes.
    fn zeroize(&self);
}

/// The memory that holds the words of a buffer or of packed factors.
pub enum Memory {
    /// Words in the host's memory.
    Host(AlignedWords),
    /// Words of a mapped file, which can only be read; used for packed factors.
    Mapped(MappedWords),
    /// Words in a device's memory.
    Device(Box<dyn DeviceMemory>),
}

impl Memory {
    /// The words.
    ///
    /// # Panics
    /// Where they are not in the host's memory.
    #[must_use]
    pub fn host(&self) -> &[u64] {
        match self {
            Self::Host(words) => words,
            Self::Mapped(words) => words,
            Self::Device(_) => panic!("{FOREIGN}"),
        }
    }

    /// The words, writable.
    ///
    /// # Panics
    /// Where they are not in the host's memory, or belong to a file.
    #[must_use]
    pub fn host_mut(&mut self) -> &mut [u64] {
        match self {
            Self::Host(words) => words,
            Self::Mapped(_) => panic!("{READ_ONLY}"),
            Self::Device(_) => panic!("{FOREIGN}"),
        }
    }
}

impl From<FileWords> for Memory {
    fn from(words: FileWords) -> Self {
        match words {
            FileWords::Copied(words) => Self::Host(words),
            FileWords::Mapped(words) => Self::Mapped(words),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(words) => words.fmt(f),
            Self::Mapped(words) => words.fmt(f),
            Self::Device(memory) => memory.fmt(f),
        }
    }
}

/// `rows` x `degree` residues, row-major, in an engine's memory. The buffer does not store moduli; its owner
/// knows the modulus of each row.
pub struct Buffer {
    memory: Memory,
    rows: usize,
    degree: usize,
    /// The pool to which host memory returns when the buffer is dropped.
    pool: Weak<Pool>,
}

impl Buffer {
    /// A buffer of zeroes in the host's memory.
    #[must_use]
    pub fn zeroed(pool: &Arc<Pool>, rows: usize, degree: usize) -> Self {
        let mut buffer = Self::scratch(pool, rows, degree);
        buffer.host_mut().fill(0);
        buffer
    }

    /// A buffer in the host's memory with unspecified contents, for callers that overwrite all of it.
    #[must_use]
    pub fn scratch(pool: &Arc<Pool>, rows: usize, degree: usize) -> Self {
        Self { memory: Memory::Host(pool.take(rows * degree)), rows, degree, pool: Arc::downgrade(pool) }
    }

    /// A buffer of `rows * degree` words in a device's memory.
    #[must_use]
    pub fn on_device(memory: Box<dyn DeviceMemory>, rows: usize, degree: usize) -> Self {
        Self { memory: Memory::Device(memory), rows, degree, pool: Weak::new() }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Bytes of all residues.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows * self.degree * 8
    }

    /// All rows.
    #[must_use]
    pub fn view(&self) -> Rows<'_> {
        let place = match &self.memory {
            Memory::Device(memory) => Place::Device(&**memory, 0),
            host => Place::Host(&host.host()[..self.rows * self.degree]),
        };
        Rows { place, rows: self.rows, degree: self.degree }
    }

    /// All rows, writable.
    #[must_use]
    pub fn view_mut(&mut self) -> RowsMut<'_> {
        let place = match &mut self.memory {
            Memory::Device(memory) => PlaceMut::Device(&**memory, 0),
            host => PlaceMut::Host(&mut host.host_mut()[..self.rows * self.degree]),
        };
        RowsMut { place, rows: self.rows, degree: self.degree }
    }

    /// Drops the rows `rows..`; their memory stays allocated.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
    }

    /// All words in the host's memory, row after row.
    ///
    /// # Panics
    /// Where they are in another engine's memory.
    #[must_use]
    pub fn host(&self) -> &[u64] {
        &self.memory.host()[..self.rows * self.degree]
    }

    /// All words in the host's memory, writable.
    ///
    /// # Panics
    /// Where they are in another engine's memory.
    #[must_use]
    pub fn host_mut(&mut self) -> &mut [u64] {
        let words = self.rows * self.degree;
        &mut self.memory.host_mut()[..words]
    }

    /// Row `index` in the host's memory.
    ///
    /// # Panics
    /// Where it is in another engine's memory.
    #[must_use]
    pub fn row(&self, index: usize) -> &[u64] {
        &self.host()[index * self.degree..(index + 1) * self.degree]
    }

    /// Row `index` in the host's memory, writable.
    ///
    /// # Panics
    /// Where it is in another engine's memory.
    #[must_use]
    pub fn row_mut(&mut self, index: usize) -> &mut [u64] {
        let degree = self.degree;
        &mut self.host_mut()[index * degree..(index + 1) * degree]
    }

    /// Overwrites the contents with zeroes; the compiler cannot remove these writes.
    pub fn zeroize(&mut self) {
        match &mut self.memory {
            Memory::Host(words) => words.zeroize(),
            Memory::Mapped(_) => panic!("{READ_ONLY}"),
            Memory::Device(memory) => memory.zeroize(),
        }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let memory = match &self.memory {
            Memory::Host(_) | Memory::Mapped(_) => {
                let words = self.host();
                let mut copy = self
                    .pool
                    .upgrade()
                    .map_or_else(|| AlignedWords::zeroed(words.len()), |pool| pool.take(words.len()));
                copy.copy_from_slice(words);
                Memory::Host(copy)
            }
            Memory::Device(memory) => Memory::Device(memory.duplicate()),
        };
        Self { memory, rows: self.rows, degree: self.degree, pool: self.pool.clone() }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let (Some(pool), Memory::Host(words)) = (self.pool.upgrade(), &mut self.memory) {
            pool.put(std::mem::replace(words, AlignedWords::zeroed(0)));
        }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} x {})", crate::text::counted(self.rows, "row"), self.degree)
    }
}

/// The location of the words of a view.
#[derive(Clone, Copy)]
enum Place<'a> {
    Host(&'a [u64]),
    /// The memory, and the first word in it.
    Device(&'a dyn DeviceMemory, usize),
}

enum PlaceMut<'a> {
    Host(&'a mut [u64]),
    Device(&'a dyn DeviceMemory, usize),
}

/// Consecutive rows of a buffer.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    place: Place<'a>,
    rows: usize,
    degree: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `degree` words in the host's memory.
    #[must_use]
    pub fn of_words(words: &'a [u64], degree: usize) -> Self {
        Self { place: Place::Host(words), rows: words.len().checked_div(degree).unwrap_or(0), degree }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The rows in `range`.
    ///
    /// # Panics
    /// Where the rows are fewer.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.rows, "rows {range:?} of {}", self.rows);
        let first = range.start * self.degree;
        let place = match self.place {
            Place::Host(words) => Place::Host(&words[first..range.end * self.degree]),
            Place::Device(memory, start) => Place::Device(memory, start + first),
        };
        Self { place, rows: range.len(), degree: self.degree }
    }

    /// Chunks of `rows` rows each, in order; a shorter last chunk is omitted.
    pub fn chunks(self, rows: usize) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        (0..self.rows.checked_div(rows).unwrap_or(0)).map(move |i| self.slice(i * rows..(i + 1) * rows))
    }

    /// The device's memory and the first word of this view in it; `None` for host memory.
    #[must_use]
    pub fn device(&self) -> Option<(&'a dyn DeviceMemory, usize)> {
        match self.place {
            Place::Host(_) => None,
            Place::Device(memory, first) => Some((memory, first)),
        }
    }

    /// The words, row after row.
    ///
    /// # Panics
    /// Where they are in another engine's memory.
    #[must_use]
    pub fn host(&self) -> &'a [u64] {
        match self.place {
            Place::Host(words) => words,
            Place::Device(..) => panic!("{FOREIGN}"),
        }
    }

    /// Row `index`.
    ///
    /// # Panics
    /// Where it is in another engine's memory.
    #[must_use]
    pub fn row(&self, index: usize) -> &'a [u64] {
        &self.host()[index * self.degree..(index + 1) * self.degree]
    }
}

impl PartialEq for Rows<'_> {
    fn eq(&self, other: &Self) -> bool {
        if (self.rows, self.degree) != (other.rows, other.degree) {
            return false;
        }
        match (self.place, other.place) {
            (Place::Host(x), Place::Host(y)) => x == y,
            (Place::Device(x, first), Place::Device(y, other_first)) => {
                x.equals(first, y, other_first, self.rows * self.degree)
            }
            _ => false,
        }
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} x {})", self.rows, self.degree)
    }
}

/// Consecutive rows of a buffer, writable.
pub struct RowsMut<'a> {
    place: PlaceMut<'a>,
    rows: usize,
    degree: usize,
}

impl<'a> RowsMut<'a> {
    /// Rows of `degree` words in the host's memory.
    #[must_use]
    pub fn of_words(words: &'a mut [u64], degree: usize) -> Self {
        let rows = words.len().checked_div(degree).unwrap_or(0);
        Self { place: PlaceMut::Host(words), rows, degree }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The same rows, reborrowed for a shorter lifetime.
    #[must_use]
    pub fn reborrow(&mut self) -> RowsMut<'_> {
        let place = match &mut self.place {
            PlaceMut::Host(words) => PlaceMut::Host(words),
            PlaceMut::Device(memory, first) => PlaceMut::Device(*memory, *first),
        };
        RowsMut { place, rows: self.rows, degree: self.degree }
    }

    /// The same rows, borrowed for reading.
    #[must_use]
    pub fn view(&self) -> Rows<'_> {
        let place = match &self.place {
            PlaceMut::Host(words) => Place::Host(words),
            PlaceMut::Device(memory, first) => Place::Device(*memory, *first),
        };
        Rows { place, rows: self.rows, degree: self.degree }
    }

    /// The first `row` rows, and the others.
    ///
    /// # Panics
    /// Where the rows are fewer.
    #[must_use]
    pub fn split_at(self, row: usize) -> (Self, Self) {
        assert!(row <= self.rows, "row {row} of {}", self.rows);
        let (degree, words) = (self.degree, row * self.degree);
        let (left, right) = match self.place {
            PlaceMut::Host(all) => {
                let (left, right) = all.split_at_mut(words);
                (PlaceMut::Host(left), PlaceMut::Host(right))
            }
            PlaceMut::Device(memory, first) => {
                (PlaceMut::Device(memory, first), PlaceMut::Device(memory, first + words))
            }
        };
        (Self { place: left, rows: row, degree }, Self { place: right, rows: self.rows - row, degree })
    }

    /// The rows in `range`.
    ///
    /// # Panics
    /// Where the rows are fewer.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        self.split_at(range.end).0.split_at(range.start).1
    }

    /// Chunks of `rows` rows each, in order; a shorter last chunk is omitted.
    #[must_use]
    pub fn chunks(self, rows: usize) -> std::vec::IntoIter<Self> {
        let mut chunks = Vec::with_capacity(self.rows.checked_div(rows).unwrap_or(0));
        let mut rest = self;
        while rows > 0 && rest.rows >= rows {
            let (chunk, others) = rest.split_at(rows);
            chunks.push(chunk);
            rest = others;
        }
        chunks.into_iter()
    }

    /// The device's memory and the first word of this view in it; `None` for host memory.
    #[must_use]
    pub fn device(&self) -> Option<(&'a dyn DeviceMemory, usize)> {
        match &self.place {
            PlaceMut::Host(_) => None,
            PlaceMut::Device(memory, first) => Some((*memory, *first)),
        }
    }

    /// The words, row after row.
    ///
    /// # Panics
    /// Where they are in another engine's memory.
    #[must_use]
    pub fn host(self) -> &'a mut [u64] {
        match self.place {
            PlaceMut::Host(words) => words,
            PlaceMut::Device(..) => panic!("{FOREIGN}"),
        }
    }
}

impl fmt::Debug for RowsMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowsMut({} x {})", self.rows, self.degree)
    }
}
