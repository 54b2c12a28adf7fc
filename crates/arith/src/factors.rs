//! The right-hand factors of many inner products, laid out for one pass through memory.
//!
//! A switching key is `groups x terms x columns` rows of residues under each modulus. A key switch reads the
//! key once, which takes most of the time of a switch on a fast core. So residues are packed to the width of
//! their modulus, and the factors of one block of coefficients are contiguous. The indices, outermost first:
//!
//! ```text
//! row (modulus) > block of coefficients > group > vector of 8 coefficients > term > column
//! ```
//!
//! A product sums over terms; a product over the first few terms reads a prefix of each vector's slots.
//! Columns are the polynomials of the result that share those terms; groups are sets of columns, of which a
//! call may omit some.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::aligned::{AlignedWords, Pool};
use crate::bit_packing::{OVERREAD, Run, RunMut, VECTOR, unpack};
use crate::buffer::Memory;
use crate::text::counted;

/// Coefficients per block: as many as the last pass of a transform keeps in the first-level cache.
pub const BLOCK: usize = 4096;

/// The shape of a set of factors: groups, terms and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactorShape {
    /// Sets of columns.
    pub groups: usize,
    /// Terms of each sum.
    pub terms: usize,
    /// Results per group.
    pub columns: usize,
    /// Whether residues are packed to the width of their modulus; otherwise they are 64-bit words.
    pub packed: bool,
}

impl FactorShape {
    /// Slots per vector: terms times columns, column by column within a term.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.terms * self.columns
    }
}

#[derive(Debug, Clone, Copy)]
struct Row {
    modulus: usize,
    bits: u32,
    offset: usize,
}

/// The arrangement of packed factors within their memory: everything about the factors except their words.
#[derive(Debug, Clone)]
pub struct FactorLayout {
    shape: FactorShape,
    degree: usize,
    rows: Vec<Row>,
    bytes: usize,
}

/// Packed, tiled factors in an engine's memory.
pub struct Factors {
    layout: FactorLayout,
    memory: Memory,
    /// The pool to which host memory returns when the factors are dropped.
    pool: Weak<Pool>,
}

impl Drop for Factors {
    fn drop(&mut self) {
        if let (Some(pool), Memory::Host(words)) = (self.pool.upgrade(), &mut self.memory) {
            pool.put(std::mem::replace(words, AlignedWords::zeroed(0)));
        }
    }
}

impl FactorLayout {
    /// One row per entry of `moduli`, each `(index of the modulus, bits of its residues)`.
    #[must_use]
    pub fn new(shape: FactorShape, degree: usize, moduli: impl IntoIterator<Item = (usize, u32)>) -> Self {
        let mut offset = 0;
        let mut rows = Vec::new();
        let vectors = Factors::vectors(degree);
        for (modulus, bits) in moduli {
            let bits = if shape.packed { crate::bit_packing::packed_bits(bits) } else { 64 };
            rows.push(Row { modulus, bits, offset });
            offset += shape.groups * vectors * shape.slots() * bits as usize;
            offset = offset.next_multiple_of(crate::aligned::ALIGNMENT);
        }
        Self { shape, degree, rows, bytes: offset }
    }

    /// Finds the first residue in `words`, the memory of factors of this layout, that is not below the bound
    /// of its row. Returns the row, the place within the row in the order of the memory, and the value.
    ///
    /// # Panics
    /// Where the words are too few.
    #[must_use]
    pub fn first_not_below(&self, words: &[u64], bounds: &[u64]) -> Option<(usize, usize, u64)> {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let vectors = Factors::vectors(self.degree) * self.shape.groups * self.shape.slots();
        self.rows.iter().zip(bounds).enumerate().find_map(|(index, (row, &bound))| {
            let bits = row.bits as usize;
            let mut packed = bytes[row.offset..row.offset + vectors * bits].chunks_exact(bits).enumerate();
            packed.find_map(|(vector, bytes)| {
                let lanes = unpack(bytes, row.bits);
                let lane = lanes.iter().position(|&residue| residue >= bound)?;
                Some((index, vector * VECTOR + lane, lanes[lane]))
            })
        })
    }

    /// Words of the memory that the factors need.
    #[must_use]
    pub fn words(&self) -> usize {
        (self.bytes + OVERREAD).div_ceil(8)
    }

    /// The shape: groups, terms and columns.
    #[must_use]
    pub fn shape(&self) -> FactorShape {
        self.shape
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Bits per residue of row `row`.
    #[must_use]
    pub fn bits(&self, row: usize) -> u32 {
        self.rows[row].bits
    }

    /// Coefficients per block.
    #[must_use]
    pub fn block(&self) -> usize {
        BLOCK.min(self.degree)
    }

    /// The first byte of the slots of `group` for the vector of coefficients from `start` on, in row `row`.
    #[must_use]
    pub fn vector_offset(&self, row: usize, start: usize, group: usize) -> usize {
        let Row { bits, offset, .. } = self.rows[row];
        // Full blocks before `start` hold all groups; within a block the groups follow one another.
        let vector = self.shape.slots() * bits as usize;
        let before = start / self.block() * Factors::vectors(self.block()) * self.shape.groups;
        let inside = group * Factors::vectors(self.block()) + start % self.block() / VECTOR;
        offset + (before + inside) * vector
    }
}

impl Factors {
    /// Zero factors in the host's memory: one row per entry of `moduli`, each `(index of the modulus, bits of
    /// its residues)`.
    #[must_use]
    pub fn zeroed(shape: FactorShape, degree: usize, moduli: impl IntoIterator<Item = (usize, u32)>) -> Self {
        let layout = FactorLayout::new(shape, degree, moduli);
        let memory = Memory::Host(AlignedWords::zeroed(layout.words()));
        Self { layout, memory, pool: Weak::new() }
    }

    /// As [`Factors::zeroed`] with unspecified contents, in memory of `pool`, which takes it back: for
    /// callers that pack all of them and store none.
    #[must_use]
    pub fn scratch(
        pool: &Arc<Pool>,
        shape: FactorShape,
        degree: usize,
        moduli: impl IntoIterator<Item = (usize, u32)>,
    ) -> Self {
        let layout = FactorLayout::new(shape, degree, moduli);
        let memory = Memory::Host(pool.take(layout.words()));
        Self { layout, memory, pool: Arc::downgrade(pool) }
    }

    /// Factors whose words are in `memory`, [`FactorLayout::words`] of them.
    #[must_use]
    pub fn in_memory(layout: FactorLayout, memory: Memory) -> Self {
        Self { layout, memory, pool: Weak::new() }
    }

    /// The arrangement of the factors within their memory.
    #[must_use]
    pub fn layout(&self) -> &FactorLayout {
        &self.layout
    }

    /// The memory that holds the words.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    fn vectors(degree: usize) -> usize {
        degree.div_ceil(VECTOR)
    }

    /// Coefficients per block.
    #[must_use]
    pub fn block(&self) -> usize {
        self.layout.block()
    }

    /// The shape: groups, terms and columns.
    #[must_use]
    pub fn shape(&self) -> FactorShape {
        self.layout.shape
    }

    /// Words per row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.layout.degree
    }

    /// Engine indices of the rows' moduli.
    pub fn moduli(&self) -> impl Iterator<Item = usize> + '_ {
        self.layout.rows.iter().map(|row| row.modulus)
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.layout.rows.len()
    }

    /// Bits per residue of row `row`.
    #[must_use]
    pub fn bits(&self, row: usize) -> u32 {
        self.layout.rows[row].bits
    }

    /// Bytes of all factors.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.layout.bytes
    }

    /// Bytes that a product over `terms` terms with `groups` groups reads of row `row`.
    #[must_use]
    pub fn bytes_read(&self, row: usize, groups: usize, terms: usize) -> usize {
        Self::vectors(self.layout.degree)
            * groups
            * terms
            * self.layout.shape.columns
            * self.layout.rows[row].bits as usize
    }

    /// Bytes from one vector's slots to the next one's.
    #[must_use]
    pub fn stride(&self, row: usize) -> usize {
        self.layout.shape.slots() * self.layout.rows[row].bits as usize
    }

    /// The slots of `group` in row `row` from coefficient `start` on, at most to the end of its block; the
    /// first slot is that of term `term`, column 0.
    #[must_use]
    pub fn run(&self, row: usize, start: usize, group: usize, term: usize) -> Run<'_> {
        let bits = self.layout.rows[row].bits;
        let at =
            self.layout.vector_offset(row, start, group) + term * self.layout.shape.columns * bits as usize;
        Run {
            bytes: &bytemuck::cast_slice(self.memory.host())[at..],
            bits,
            stride: self.stride(row),
            next: &[],
        }
    }

    /// All rows, writable. Rows share no byte.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = RowMut<'_>> {
        let (shape, degree, block) = (self.layout.shape, self.layout.degree, self.block());
        let mut rest: &mut [u8] = bytemuck::cast_slice_mut(self.memory.host_mut());
        let (rows, mut taken) = (&self.layout.rows, 0);
        rows.iter().enumerate().map(move |(index, row)| {
            let end = rows.get(index + 1).map_or(taken + rest.len(), |next| next.offset);
            let (own, others) = std::mem::take(&mut rest).split_at_mut(end - taken);
            (rest, taken) = (others, end);
            RowMut { index, modulus: row.modulus, bytes: own, bits: row.bits, shape, degree, block }
        })
    }
}

/// One row of [`Factors`], writable.
#[derive(Debug)]
pub struct RowMut<'a> {
    /// Index of the row.
    pub index: usize,
    /// Engine index of its modulus.
    pub modulus: usize,
    bytes: &'a mut [u8],
    bits: u32,
    shape: FactorShape,
    degree: usize,
    block: usize,
}

impl RowMut<'_> {
    /// The first coefficients of the blocks.
    pub fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.degree).step_by(self.block)
    }

    /// The slots of `group` in the block from `start` on.
    pub fn run(&mut self, start: usize, group: usize) -> RunMut<'_> {
        let stride = self.shape.slots() * self.bits as usize;
        let vectors = self.block.div_ceil(VECTOR);
        let at = (start / self.block * self.shape.groups + group) * vectors * stride;
        RunMut { bytes: &mut self.bytes[at..], bits: self.bits, stride }
    }
}

impl fmt::Debug for Factors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FactorShape { groups, terms, columns, .. } = self.layout.shape;
        let (groups, terms, columns) =
            (counted(groups, "group"), counted(terms, "term"), counted(columns, "column"));
        write!(
            f,
            "Factors({groups} x {terms} x {columns}, {}, {})",
            counted(self.layout.rows.len(), "row"),
            counted(self.layout.bytes, "byte")
        )
    }
}
