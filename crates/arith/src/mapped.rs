//! Files as memory: aligned copies, read-only mappings of trusted files, and bytes seen as words.
//!
//! Sits beside [`aligned`](crate::aligned), because a mapping and a cast both need `unsafe`. Does not
//! interpret the bytes: formats, checksums and limits belong to the layers above.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use thiserror::Error;

use crate::aligned::AlignedWords;
use crate::text::counted;

/// Bytes in a word.
const WORD_BYTES: usize = size_of::<u64>();

/// Words requested at a time by [`AlignedBytes::read_from`] (256 KiB): enough for full speed, few compared
/// with a ciphertext.
const CHUNK_WORDS: usize = 32 * 1024;

/// The reasons why bytes cannot be viewed as words in place.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub enum ViewError {
    /// The bytes do not begin at a word boundary.
    #[error(
        "bytes at an address {offset} past a multiple of 8 cannot be seen as words: copy them to aligned memory"
    )]
    Misaligned {
        /// Address modulo 8.
        offset: usize,
    },
    /// The bytes are not a whole number of words.
    #[error("a length of {} is not a whole number of 8-byte words", counted(*bytes, "byte"))]
    PartialWord {
        /// Number of bytes.
        bytes: usize,
    },
    /// The machine stores words in the other byte order.
    #[error("this machine is big-endian: little-endian words must be copied, not viewed")]
    BigEndian,
}

/// The caller's promise that nothing changes a file while it is mapped. Every mapping requires it.
///
/// A mapping shows the file itself, and the compiler assumes that the words behind a `&[u64]` do not change.
/// Only the caller can know that nothing writes to the file, and states it in `unsafe` code:
///
/// ```
/// use clathrate_arith::mapped::{MappedFile, TrustedMap};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("words");
/// std::fs::write(&path, 5u64.to_le_bytes()).unwrap();
/// // SAFETY: the folder is this program's own, and the program does not write to the file again.
/// let promise = unsafe { TrustedMap::promised() };
/// assert_eq!(MappedFile::open(&path, promise).unwrap()[..], 5u64.to_le_bytes());
/// ```
///
/// Safe code cannot make the promise, nor map without it:
///
/// ```compile_fail,E0133
/// let promise = clathrate_arith::mapped::TrustedMap::promised();
/// ```
/// ```compile_fail,E0423
/// let promise = clathrate_arith::mapped::TrustedMap(());
/// ```
/// ```compile_fail,E0277
/// let promise: clathrate_arith::mapped::TrustedMap = Default::default();
/// ```
/// ```compile_fail,E0061
/// let map = clathrate_arith::mapped::MappedFile::open(std::path::Path::new("words"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedMap(());

impl TrustedMap {
    /// The promise.
    ///
    /// # Safety
    /// As long as a mapping made with this promise exists, no program, this one included, writes to the file
    /// or shortens it. (Otherwise bytes change after they were checked, and an access beyond the end of a
    /// shortened file kills the process: SIGBUS on Unix.) Renaming another file over it is allowed: the
    /// mapping keeps the old contents.
    #[must_use]
    pub const unsafe fn promised() -> Self {
        Self(())
    }
}

/// A regular file mapped read-only; dereferences to its bytes, which begin at a page boundary.
///
/// For files that do not change, as [`TrustedMap`] promises. Where another program may write to the file,
/// copy the bytes with [`AlignedBytes::filled`] or [`words_filled`] instead.
pub struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps all of `file`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a regular file (a directory, a pipe, a device); otherwise the operating
    /// system's error.
    pub fn map(file: &File, _: TrustedMap) -> io::Result<Self> {
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        // SAFETY: the mapping is read-only and private to this value, and the caller has promised that the
        // file does not change meanwhile.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self { map })
    }

    /// Opens `path` and maps all of it.
    pub fn open(path: &Path, promise: TrustedMap) -> io::Result<Self> {
        // Checked before opening, because opening a pipe would wait for its writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        Self::map(&File::open(path)?, promise)
    }
}

impl Deref for MappedFile {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedFile({})", counted(self.map.len(), "byte"))
    }
}

/// Words of a mapped file, in place. The file stays mapped as long as this value exists.
#[derive(Debug, Clone)]
pub struct MappedWords {
    file: Arc<MappedFile>,
    bytes: Range<usize>,
}

impl MappedWords {
    /// The bytes `bytes` of `file` as words.
    ///
    /// # Panics
    /// Where the range reaches beyond the file.
    pub fn new(file: &Arc<MappedFile>, bytes: Range<usize>) -> Result<Self, ViewError> {
        little_endian_words(&file[bytes.clone()])?;
        Ok(Self { file: file.clone(), bytes })
    }
}

impl Deref for MappedWords {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        // Checked in `new`, and a mapping does not move.
        little_endian_words(&self.file[self.bytes.clone()]).unwrap_or_default()
    }
}

/// Words of a file: copied to memory, or mapped.
#[derive(Debug)]
pub enum FileWords {
    /// Words in the host's memory.
    Copied(AlignedWords),
    /// Words in a mapped file.
    Mapped(MappedWords),
}

impl FileWords {
    /// A copy of `words`; `None` where the system refuses the memory.
    #[must_use]
    pub fn copied_from(words: &[u64]) -> Option<Self> {
        let mut copy = AlignedWords::try_zeroed(words.len())?;
        copy.copy_from_slice(words);
        Some(Self::Copied(copy))
    }
}

impl Deref for FileWords {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        match self {
            Self::Copied(words) => words,
            Self::Mapped(words) => words,
        }
    }
}

/// Bytes in memory aligned to [`ALIGNMENT`](crate::aligned::ALIGNMENT).
pub struct AlignedBytes {
    words: AlignedWords,
    len: usize,
}

impl AlignedBytes {
    /// Reads `source` to its end.
    ///
    /// Memory use depends on the bytes that arrive, not on a length that the source states: at most twice
    /// their number, plus 256 KiB.
    ///
    /// # Errors
    /// `FileTooLarge` if the source holds more than `limit_bytes`; otherwise the error of the source.
    pub fn read_from<R: Read + ?Sized>(source: &mut R, limit_bytes: u64) -> io::Result<Self> {
        let mut chunks: Vec<AlignedWords> = Vec::new();
        let mut len = 0usize;
        loop {
            let mut chunk = AlignedWords::zeroed(CHUNK_WORDS);
            let filled = fill(source, bytes_of_words_mut(&mut chunk))?;
            len += filled;
            if len as u64 > limit_bytes {
                return Err(io::Error::new(
                    ErrorKind::FileTooLarge,
                    format!("more than the {} allowed", counted(limit_bytes, "byte")),
                ));
            }
            let at_end = filled < CHUNK_WORDS * WORD_BYTES;
            chunks.push(chunk);
            if at_end {
                break;
            }
        }
        let mut words = AlignedWords::zeroed(len.div_ceil(WORD_BYTES));
        for (target, mut chunk) in words.chunks_mut(CHUNK_WORDS).zip(chunks) {
            target.copy_from_slice(&chunk[..target.len()]);
            chunk.zeroize();
        }
        Ok(Self { words, len })
    }

    /// `len` bytes, zero until `fill` has written them.
    ///
    /// # Errors
    /// `OutOfMemory` if the system refuses the memory; else the error of `fill`.
    pub fn filled(len: usize, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        let words = AlignedWords::try_zeroed(len.div_ceil(WORD_BYTES)).ok_or_else(|| out_of_memory(len))?;
        let mut bytes = Self { words, len };
        fill(&mut bytes_of_words_mut(&mut bytes.words)[..len])?;
        Ok(bytes)
    }

    /// A copy of `bytes`.
    #[must_use]
    pub fn copied_from(bytes: &[u8]) -> Self {
        let mut words = AlignedWords::zeroed(bytes.len().div_ceil(WORD_BYTES));
        bytes_of_words_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, len: bytes.len() }
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &bytes_of_words(&self.words)[..self.len]
    }
}

/// Overwrites the bytes, because they may be a secret key.
impl Drop for AlignedBytes {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBytes({})", counted(self.len, "byte"))
    }
}

/// Reads until `target` is full or the source ends; returns the number of bytes read.
fn fill<R: Read + ?Sized>(source: &mut R, target: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < target.len() {
        match source.read(&mut target[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// `count` words from the little-endian bytes that `fill` writes, in pieces of at most 256 KiB, so that
/// memory is touched only shortly before it is filled.
///
/// # Errors
/// `OutOfMemory` if the system refuses the memory; else the error of `fill`.
pub fn words_filled(count: usize, mut fill: impl FnMut(&mut [u8]) -> io::Result<()>) -> io::Result<Vec<u64>> {
    let mut words: Vec<u64> = Vec::new();
    words.try_reserve_exact(count).map_err(|_| out_of_memory(count.saturating_mul(WORD_BYTES)))?;
    while words.len() < count {
        let start = words.len();
        words.resize(count.min(start + CHUNK_WORDS), 0);
        fill(bytes_of_words_mut(&mut words[start..]))?;
        // Changes nothing on a little-endian machine.
        words[start..].iter_mut().for_each(|word| *word = u64::from_le(*word));
    }
    Ok(words)
}

fn out_of_memory(bytes: usize) -> io::Error {
    io::Error::new(ErrorKind::OutOfMemory, format!("no memory for {bytes} bytes"))
}

/// Little-endian `bytes` as words, in place.
///
/// # Errors
/// [`ViewError`] if the bytes do not begin at a word boundary or end inside a word, or on a big-endian
/// machine; copy them then.
pub fn little_endian_words(bytes: &[u8]) -> Result<&[u64], ViewError> {
    if cfg!(target_endian = "big") {
        return Err(ViewError::BigEndian);
    }
    if !bytes.len().is_multiple_of(WORD_BYTES) {
        return Err(ViewError::PartialWord { bytes: bytes.len() });
    }
    let offset = bytes.as_ptr().addr() % align_of::<u64>();
    if offset != 0 {
        return Err(ViewError::Misaligned { offset });
    }
    // SAFETY: the pointer is aligned for u64 and the length is a whole number of words, both checked above;
    // every bit pattern is a u64; the result borrows `bytes`.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u64>(), bytes.len() / WORD_BYTES) })
}

/// `words` as the little-endian bytes that files hold, in place; `None` on a big-endian machine, which must
/// convert word by word.
#[must_use]
pub fn little_endian_bytes(words: &[u64]) -> Option<&[u8]> {
    cfg!(target_endian = "little").then(|| bytes_of_words(words))
}

/// The memory of `words`, in the machine's own byte order.
fn bytes_of_words(words: &[u64]) -> &[u8] {
    // SAFETY: the same memory, and u8 has no alignment or validity condition.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) }
}

/// The memory of `words`, in the machine's own byte order, to write to.
fn bytes_of_words_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: as in `bytes_of_words`; the borrow is exclusive, and every byte pattern is a valid u64.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::ALIGNMENT;
    use std::io::Write;

    // SAFETY: these tests map files of their own, which they do not write to again.
    const PROMISE: TrustedMap = unsafe { TrustedMap::promised() };

    fn temporary_file(contents: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(contents).unwrap();
        file
    }

    #[test]
    fn mapping_an_empty_file_gives_no_bytes() {
        let file = temporary_file(b"");
        assert!(MappedFile::open(file.path(), PROMISE).unwrap().is_empty());
    }

    #[test]
    fn mapping_shows_the_file_from_a_page_boundary() {
        let contents: Vec<u8> = (0..10_000u32).map(|i| (i * 7) as u8).collect();
        let file = temporary_file(&contents);
        let map = MappedFile::open(file.path(), PROMISE).unwrap();
        assert_eq!(&map[..], &contents[..]);
        assert_eq!(map.as_ptr().addr() % 4096, 0);
    }

    #[test]
    fn mapping_survives_replacement_by_rename() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"old contents").unwrap();
        let map = MappedFile::open(&path, PROMISE).unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, b"new").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(&map[..], b"old contents");
    }

    #[test]
    fn mapping_a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(MappedFile::open(folder.path(), PROMISE).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(
            MappedFile::map(&File::open(folder.path()).unwrap(), PROMISE).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        assert_eq!(
            MappedFile::open(&folder.path().join("absent"), PROMISE).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    /// Returns its bytes one to seven at a time, with interruptions, as a pipe may.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(5) {
                return Err(ErrorKind::Interrupted.into());
            }
            let most = target.len().min(self.1 % 7 + 1);
            self.0.read(&mut target[..most])
        }
    }

    #[test]
    fn reading_gives_every_byte_at_chunk_edges() {
        let chunk = CHUNK_WORDS * WORD_BYTES;
        for len in [0, 1, 7, 8, 9, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 13] {
            let contents: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let whole = AlignedBytes::read_from(&mut &contents[..], len as u64).unwrap();
            assert!(whole[..] == contents[..], "{len}");
            assert!(len == 0 || whole.as_ptr().addr().is_multiple_of(ALIGNMENT));
        }
        let contents: Vec<u8> = (0..10_000).map(|i| (i % 251) as u8).collect();
        assert!(AlignedBytes::read_from(&mut Trickle(&contents, 0), 10_000).unwrap()[..] == contents[..]);
        assert!(AlignedBytes::copied_from(&contents[1..])[..] == contents[1..]);
    }

    #[test]
    fn reading_an_endless_source_stops_at_the_limit() {
        let error = AlignedBytes::read_from(&mut io::repeat(1), 1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(
            AlignedBytes::read_from(&mut &[0u8; 9][..], 8).unwrap_err().kind(),
            ErrorKind::FileTooLarge
        );
    }

    #[test]
    fn filling_gives_the_bytes_and_passes_errors_on() {
        let bytes = AlignedBytes::filled(13, |target| {
            assert!(target.len() == 13 && target.iter().all(|&byte| byte == 0));
            target.copy_from_slice(b"thirteen byte");
            Ok(())
        });
        assert_eq!(&bytes.unwrap()[..], b"thirteen byte");
        let words = words_filled(2, |target| {
            target.copy_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
            Ok(())
        });
        assert_eq!(words.unwrap(), [1, 2 << 56]);
        assert!(
            AlignedBytes::filled(0, |_| Ok(())).unwrap().is_empty()
                && words_filled(0, |_| Ok(())).unwrap().is_empty()
        );
        let fails = |_: &mut [u8]| Err(ErrorKind::UnexpectedEof.into());
        assert_eq!(AlignedBytes::filled(5, fails).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(words_filled(5, fails).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn lengths_beyond_the_address_space_are_errors_and_not_aborts() {
        for len in [usize::MAX, usize::MAX / 2, isize::MAX as usize - 64] {
            let unused = |_: &mut [u8]| -> io::Result<()> { panic!("nothing to fill") };
            assert_eq!(
                AlignedBytes::filled(len, unused).unwrap_err().kind(),
                ErrorKind::OutOfMemory,
                "{len}"
            );
            assert_eq!(
                words_filled(len / 8 + 1, unused).unwrap_err().kind(),
                ErrorKind::OutOfMemory,
                "{len}"
            );
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn words_are_viewed_where_aligned_and_refused_elsewhere() {
        let words = AlignedWords::zeroed(4);
        let mut bytes = little_endian_bytes(&words).unwrap().to_vec();
        assert_eq!(bytes.len(), 32);
        bytes[8] = 5;
        let aligned = AlignedBytes::copied_from(&bytes);
        assert_eq!(little_endian_words(&aligned), Ok(&[0, 5, 0, 0][..]));
        assert_eq!(little_endian_words(&aligned[8..16]), Ok(&[5][..]));
        assert_eq!(little_endian_words(&aligned[..0]), Ok(&[][..]));
        assert_eq!(little_endian_words(&aligned[1..9]), Err(ViewError::Misaligned { offset: 1 }));
        assert_eq!(little_endian_words(&aligned[..31]), Err(ViewError::PartialWord { bytes: 31 }));
    }
}
