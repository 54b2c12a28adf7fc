//! Cache-line-aligned memory for residues, and the pool that recycles it.
//!
//! A large allocation that comes fresh from the operating system costs a page fault every 4 KiB. A key switch
//! that allocates its scratch memory anew each time spends more time on page faults than on computation, so
//! buffers return to a [`Pool`] when dropped.

use std::alloc::Layout;
use std::collections::VecDeque;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use zeroize::Zeroize;

use crate::error::OutOfMemory;

/// Alignment of all buffers: a cache line, and a 512-bit vector.
pub const ALIGNMENT: usize = 64;

/// Allocations from this size on are aligned to it and requested in huge pages, because a switch reads dozens
/// of rows at once, more than the TLB holds 4 KiB pages for.
const HUGE_PAGE: usize = 2 << 20;

/// Large allocations, directly from the operating system: they are zero already, so they need no second pass,
/// and each page is mapped when it is first touched, on the thread that touches it.
#[cfg(target_os = "linux")]
mod large {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    /// A multiple of the system's page size, and a divisor of the alignment of large allocations.
    const PAGE: usize = 1 << 16;

    /// Zero memory of this layout.
    pub(super) fn zeroed(layout: Layout) -> Option<NonNull<u64>> {
        let kept = layout.size().checked_next_multiple_of(PAGE)?;
        let reserved = kept.checked_add(layout.align())?;
        // SAFETY: a new private mapping touches no other memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                reserved,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let before = start.align_offset(layout.align());
        // SAFETY: all ranges lie within the mapping, as `before` is less than the alignment. The parts before
        // the aligned start and after the last page are unmapped; the rest is advised.
        unsafe {
            let pointer = start.add(before);
            if before > 0 {
                libc::munmap(start, before);
            }
            libc::munmap(pointer.add(kept), reserved - before - kept);
            // If the system refuses huge pages, only speed is lost.
            libc::madvise(pointer, kept, libc::MADV_HUGEPAGE);
            NonNull::new(pointer.cast())
        }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// `pointer` is from [`zeroed`] with the same layout.
    pub(super) unsafe fn free(pointer: NonNull<u64>, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { libc::munmap(pointer.as_ptr().cast(), layout.size().next_multiple_of(PAGE)) };
    }
}

#[cfg(not(target_os = "linux"))]
mod large {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    /// Zero memory of this layout, whose size is not zero.
    pub fn zeroed(layout: Layout) -> Option<NonNull<u64>> {
        // SAFETY: the layout has non-zero size.
        NonNull::new(unsafe { alloc_zeroed(layout) }.cast())
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// `pointer` is from [`zeroed`] with the same layout.
    pub unsafe fn free(pointer: NonNull<u64>, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { dealloc(pointer.as_ptr().cast(), layout) }
    }
}

/// Smaller allocations, from the global allocator.
mod small {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    use super::ALIGNMENT;

    /// Words by which an allocation is longer than what is used of it.
    const MORE: usize = ALIGNMENT / size_of::<u64>();

    /// The layout of an allocation for `len` words. It asks for no alignment of its own, because glibc up to
    /// 2.37 often finds no freed memory for requests that do (its bug 14581).
    fn layout(len: usize) -> Layout {
        Layout::array::<u64>(len + MORE).expect("a small buffer fits the address space")
    }

    /// `len` zero words at a multiple of [`ALIGNMENT`].
    pub(super) fn zeroed(len: usize) -> Option<NonNull<u64>> {
        // SAFETY: the layout has non-zero size.
        let start = NonNull::new(unsafe { alloc_zeroed(layout(len)) }.cast::<u64>())?;
        // The allocator aligns to a word, so there is at least one word before the next multiple that is none
        // itself.
        let before = MORE - start.as_ptr() as usize % ALIGNMENT / size_of::<u64>();
        // SAFETY: `before` is 1 to `MORE`, and the allocation has so many words more than `len`.
        unsafe {
            let words = start.add(before);
            words.sub(1).write(before as u64);
            Some(words)
        }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// `words` is from [`zeroed`] with the same length.
    pub(super) unsafe fn free(words: NonNull<u64>, len: usize) {
        // SAFETY: the word before tells where the allocation begins, as `zeroed` wrote it.
        unsafe {
            let before = words.sub(1).read() as usize;
            dealloc(words.sub(before).as_ptr().cast(), layout(len));
        }
    }
}

/// A fixed-length run of words aligned to [`ALIGNMENT`] bytes.
pub struct AlignedWords {
    pointer: NonNull<u64>,
    len: usize,
    /// Words that were allocated, at least `len`.
    capacity: usize,
}

// SAFETY: AlignedWords owns its allocation exclusively, as Vec<u64> does.
unsafe impl Send for AlignedWords {}
// SAFETY: shared access is read-only through Deref.
unsafe impl Sync for AlignedWords {}

impl AlignedWords {
    /// `len` zero words. Unwinds with [`OutOfMemory`] where the system has no memory for them.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Self::try_zeroed(len).unwrap_or_else(|| OutOfMemory { bytes: (len as u64).saturating_mul(8) }.raise())
    }

    /// Overwrites all words with zeroes by volatile stores, which the compiler cannot remove. On x86-64 they
    /// are 128-bit stores, because stores of single words take twice as long.
    pub fn zeroize(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: zero bits are a value of either type, and the parts do not overlap.
            let (head, vectors, tail) = unsafe { self.align_to_mut::<std::arch::x86_64::__m128i>() };
            head.zeroize();
            vectors.iter_mut().for_each(Zeroize::zeroize);
            tail.zeroize();
        }
        #[cfg(not(target_arch = "x86_64"))]
        self[..].zeroize();
    }

    /// `len` zero words, or `None` where the system refuses the memory; used for lengths that a file states.
    #[must_use]
    pub fn try_zeroed(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Self { pointer: NonNull::dangling(), len, capacity: 0 });
        }
        // The bytes exceed the address space.
        if len > isize::MAX as usize / size_of::<u64>() - HUGE_PAGE {
            return None;
        }
        let pointer = Self::large(len).map_or_else(|| small::zeroed(len), large::zeroed);
        pointer.map(|pointer| Self { pointer, len, capacity: len })
    }

    /// The same allocation with length `len`, at most its capacity.
    fn resized(mut self, len: usize) -> Self {
        assert!(len <= self.capacity, "a buffer of {} words has no {len}", self.capacity);
        self.len = len;
        self
    }

    /// The layout of a large allocation; `None` where `len` words are none.
    fn large(len: usize) -> Option<Layout> {
        (len * size_of::<u64>() >= HUGE_PAGE).then(|| {
            Layout::from_size_align(len * size_of::<u64>(), HUGE_PAGE).expect("the length has been checked")
        })
    }
}

impl Drop for AlignedWords {
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: allocated in `try_zeroed`, the same way, with the same length.
            unsafe {
                match Self::large(self.capacity) {
                    Some(layout) => large::free(self.pointer, layout),
                    None => small::free(self.pointer, self.capacity),
                }
            }
        }
    }
}

impl Deref for AlignedWords {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        // SAFETY: pointer is valid for capacity initialised words, of which len are some (or dangling with
        // len 0).
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `deref`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl fmt::Debug for AlignedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedWords({})", crate::text::counted(self.len, "word"))
    }
}

/// Recycles buffers by length, up to a byte budget. When the budget is exceeded, the buffers that have been
/// idle longest are freed. The pool hands out the buffer of a length that was returned last, so that buffers
/// which a computation no longer needs grow old.
///
/// The lengths of large buffers are rounded up ([`rounded_up`]), and a large buffer serves requests for at
/// least half of its length. So arrays of neighbouring levels, whose lengths differ by a few rows, use the
/// same buffers; otherwise a circuit that descends through the levels would find no buffer to reuse.
#[derive(Debug)]
pub struct Pool {
    shelves: Mutex<Shelves>,
    budget_bytes: usize,
    taken: AtomicUsize,
    taken_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shelves {
    /// For each length, the idle buffers and the times of their return, oldest first; a few dozen lengths at
    /// most.
    by_len: Vec<(usize, VecDeque<(u64, AlignedWords)>)>,
    bytes: usize,
    /// How many buffers were returned so far; serves as the clock.
    returned: u64,
}

/// Number of lengths of large buffers from one power of two to the next.
const LENGTHS_PER_OCTAVE: usize = 4;

/// The length that a buffer of `len` words is allocated with: for large buffers, the next multiple of a
/// quarter of the power of two below.
fn rounded_up(len: usize) -> usize {
    if len * size_of::<u64>() < HUGE_PAGE {
        return len;
    }
    len.checked_next_multiple_of((1 << len.ilog2()) / LENGTHS_PER_OCTAVE).unwrap_or(len)
}

impl Shelves {
    /// The shelf of `len`.
    fn shelf(&mut self, len: usize) -> &mut VecDeque<(u64, AlignedWords)> {
        let place = self.by_len.iter().position(|(other, _)| *other == len).unwrap_or_else(|| {
            self.by_len.push((len, VecDeque::new()));
            self.by_len.len() - 1
        });
        &mut self.by_len[place].1
    }

    fn put(&mut self, words: AlignedWords) {
        self.bytes += words.capacity * size_of::<u64>();
        self.returned += 1;
        let time = self.returned;
        self.shelf(words.capacity).push_back((time, words));
    }

    /// The shortest idle buffer of at least `capacity` words, and for large buffers of at most twice as many.
    fn fitting(&mut self, capacity: usize) -> Option<AlignedWords> {
        let most = if capacity * size_of::<u64>() < HUGE_PAGE { capacity } else { 2 * capacity };
        let fits =
            self.by_len.iter().filter(|(len, shelf)| (capacity..=most).contains(len) && !shelf.is_empty());
        let len = fits.map(|&(len, _)| len).min()?;
        let (_, words) = self.shelf(len).pop_back()?;
        self.bytes -= words.capacity * size_of::<u64>();
        Some(words)
    }

    /// Takes out the buffer that was returned first; `None` where there is none.
    fn evict(&mut self) -> Option<AlignedWords> {
        let oldest = |(_, shelf): &&mut (usize, VecDeque<(u64, AlignedWords)>)| {
            shelf.front().map_or(u64::MAX, |&(time, _)| time)
        };
        let (_, words) = self.by_len.iter_mut().min_by_key(oldest)?.1.pop_front()?;
        self.bytes -= words.capacity * size_of::<u64>();
        Some(words)
    }
}

impl Pool {
    /// A pool that keeps at most `budget_bytes` of idle buffers.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            shelves: Mutex::new(Shelves::default()),
            budget_bytes,
            taken: AtomicUsize::new(0),
            taken_bytes: AtomicUsize::new(0),
        }
    }

    /// A buffer of `len` words with unspecified (stale) contents.
    #[must_use]
    pub fn take(&self, len: usize) -> AlignedWords {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.taken_bytes.fetch_add(len * 8, Ordering::Relaxed);
        let capacity = rounded_up(len);
        let recycled = self.shelves.lock().ok().and_then(|mut shelves| shelves.fitting(capacity));
        recycled.unwrap_or_else(|| AlignedWords::zeroed(capacity)).resized(len)
    }

    /// The number of buffers handed out so far, and their bytes.
    #[must_use]
    pub fn taken(&self) -> (usize, usize) {
        (self.taken.load(Ordering::Relaxed), self.taken_bytes.load(Ordering::Relaxed))
    }

    /// Returns `words` to the pool, and frees buffers where the budget is exceeded.
    pub fn put(&self, words: AlignedWords) {
        let bytes = words.capacity * size_of::<u64>();
        if bytes == 0 || bytes > self.budget_bytes {
            return;
        }
        let mut evicted = Vec::new();
        if let Ok(mut shelves) = self.shelves.lock() {
            shelves.put(words);
            while shelves.bytes > self.budget_bytes {
                evicted.push(shelves.evict());
            }
        }
        // Freed here, outside the lock.
        drop(evicted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_aligned_zeroed_and_writable() {
        for len in [0usize, 1, 7, 8, 1000] {
            let mut words = AlignedWords::zeroed(len);
            assert_eq!(words.as_ptr() as usize % if len == 0 { 8 } else { ALIGNMENT }, 0);
            assert!(words.iter().all(|&w| w == 0));
            words.fill(3);
            assert_eq!(words.iter().sum::<u64>(), 3 * len as u64);
        }
    }

    #[test]
    fn large_words_are_zeroed_again_after_others_were_freed() {
        for len in [HUGE_PAGE / 8, HUGE_PAGE / 8 + 1, 3 * HUGE_PAGE / 8 - 1] {
            for round in 0..3 {
                let mut words = AlignedWords::zeroed(len);
                assert_eq!(words.as_ptr() as usize % HUGE_PAGE, 0);
                assert!(words.iter().all(|&w| w == 0), "{len} words, round {round}");
                words.fill(u64::MAX);
                assert_eq!(words[len - 1], u64::MAX);
            }
        }
    }

    #[test]
    fn pool_recycles_up_to_its_budget() {
        let pool = Pool::new(8 * 100);
        let a = pool.take(100);
        let address = a.as_ptr();
        pool.put(a);
        pool.put(AlignedWords::zeroed(101)); // larger than the budget, so it is freed
        assert_eq!(pool.take(100).as_ptr(), address);
    }

    #[test]
    fn pool_gives_up_the_buffers_that_lie_idle_longest() {
        let marked = |len: usize, mark: u64| {
            let mut words = AlignedWords::zeroed(len);
            words[0] = mark;
            words
        };
        let pool = Pool::new(8 * 100);
        (1..=5).for_each(|mark| pool.put(marked(20, mark)));
        // Constant use of one buffer does not keep the other buffers of its length from being freed.
        for _ in 0..3 {
            let recent = pool.take(20);
            assert_eq!(recent[0], 5);
            pool.put(recent);
        }
        pool.put(marked(30, 7)); // two of the five are freed
        assert_eq!(pool.take(30)[0], 7, "recycled, not fresh");
        let shelves = pool.shelves.lock().expect("no other thread");
        assert_eq!(shelves.bytes, 8 * 60);
        assert_eq!(shelves.by_len[0].1.iter().map(|(_, words)| words[0]).collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn large_buffers_serve_neighbouring_lengths() {
        let least = HUGE_PAGE / size_of::<u64>();
        for (len, expected) in [
            (1, 1),
            (least - 1, least - 1),
            (least, least),
            (least + 1, least / 4 * 5),
            (2 * least - 1, 2 * least),
        ] {
            assert_eq!(rounded_up(len), expected);
        }
        let pool = Pool::new(64 * HUGE_PAGE);
        let mut words = pool.take(5 * least + 3);
        assert_eq!(words.len(), 5 * least + 3);
        words[0] = 9;
        let address = words.as_ptr();
        pool.put(words);
        let again = pool.take(6 * least - 1);
        assert_eq!((again.as_ptr(), again.len(), again[0]), (address, 6 * least - 1, 9), "the same buffer");
        pool.put(again);
        assert_ne!(pool.take(6 * least + 1).as_ptr(), address, "it is too short");
        assert_ne!(pool.take(2 * least + 1).as_ptr(), address, "less than half of it");
        assert_eq!(pool.take(3 * least).as_ptr(), address, "half of it");
        // A length that was allocated elsewhere is kept under its own.
        pool.put(AlignedWords::zeroed(7 * least + 5));
        assert_eq!(pool.take(7 * least + 5).len(), 7 * least + 5);
    }

    #[test]
    fn zeroing_reaches_every_word_of_any_length() {
        for len in [0, 1, 2, 3, 7, 64, 1001] {
            let mut words = AlignedWords::zeroed(len);
            words.fill(u64::MAX);
            words.zeroize();
            assert!(words.iter().all(|&word| word == 0), "{len} words");
        }
    }
}
