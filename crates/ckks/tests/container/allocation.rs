//! An allocator that counts, to find the peak of a piece of work.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what each thread has allocated, and its peak.
struct CountingAllocator;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn count(more: usize, less: usize) {
    CURRENT.with(|current| {
        let now = (current.get() + more).saturating_sub(less);
        current.set(now);
        PEAK.with(|peak| peak.set(peak.get().max(now)));
    });
}

// SAFETY: every call is passed to the system's allocator unchanged; counting touches only thread-local cells
// without destructors.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new may be alive together while the contents move.
        count(new_size, 0);
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        count(0, layout.size());
        moved
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Bytes that `work` had allocated at once on this thread, beyond those before it.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = CURRENT.get();
    PEAK.set(before);
    let result = work();
    (PEAK.get().saturating_sub(before), result)
}
