//! Pieces of work that run at the same time, each on a thread of its own.
//!
//! While several do, each computes on its thread alone: an engine that gave rows of one piece to the threads
//! of another would make both wait. A piece that is the last one at work has the engine's threads again.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Pieces of work that may run at the same time. Clones are the same group.
#[derive(Debug, Clone, Default)]
pub struct WorkGroup(Arc<AtomicUsize>);

thread_local! {
    /// The group whose work the thread does.
    static GROUP: RefCell<Option<WorkGroup>> = const { RefCell::new(None) };
}

/// Restores what a thread did before, also where work panics.
struct AtWork<'g> {
    group: &'g WorkGroup,
    before: Option<WorkGroup>,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.group.0.fetch_sub(1, Ordering::Relaxed);
        GROUP.set(self.before.take());
    }
}

impl WorkGroup {
    /// Runs one piece of the group's work on the calling thread.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.fetch_add(1, Ordering::Relaxed);
        let _at_work = AtWork { group: self, before: GROUP.replace(Some(self.clone())) };
        work()
    }
}

/// Whether the calling thread does no piece of work beside which others of its group run.
#[must_use]
pub fn is_alone() -> bool {
    GROUP.with_borrow(|group| group.as_ref().is_none_or(|group| group.0.load(Ordering::Relaxed) <= 1))
}

/// The threads for so many pieces of work: one where there are fewer pieces than threads, since the threads
/// then do more with the rows of one piece after the other.
#[must_use]
pub const fn threads_for(pieces: usize, threads: usize) -> usize {
    if pieces < threads { 1 } else { threads }
}

/// Runs `work` on every job, in order, on at most `threads` threads with one workspace each, the calling one
/// among them.
///
/// # Errors
/// Those of `work`: of several, one of them. Jobs that have not begun by then are left out.
pub fn share_out<J: Send, W, E: Send>(
    jobs: impl IntoIterator<Item = J, IntoIter: ExactSizeIterator + Send>,
    threads: usize,
    workspace: impl Fn() -> W + Sync,
    work: impl Fn(J, &mut W) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let jobs = jobs.into_iter();
    let workers = threads.min(jobs.len());
    if workers <= 1 {
        let mut workspace = workspace();
        return jobs.into_iter().try_for_each(|job| work(job, &mut workspace));
    }
    let (queue, group) = (Mutex::new(Some(jobs)), WorkGroup::default());
    // A poisoned queue means that another worker panicked; the scope below passes that on.
    let next = || queue.lock().ok()?.as_mut()?.next();
    let work = || {
        let mut workspace = workspace();
        while let Some(job) = next() {
            group.run(|| work(job, &mut workspace)).inspect_err(|_| {
                if let Ok(mut queue) = queue.lock() {
                    *queue = None;
                }
            })?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // If the system refuses a thread, the remaining workers empty the queue.
        let others: Vec<_> =
            (1..workers).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        others.into_iter().fold(own, |result, other| match other.join() {
            Ok(theirs) => result.and(theirs),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_piece_is_alone_where_no_other_of_its_group_runs() {
        assert!(is_alone());
        let (group, both) = (WorkGroup::default(), Barrier::new(2));
        group.run(|| assert!(is_alone()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    group.run(|| {
                        both.wait();
                        assert!(!is_alone());
                        // Work of another group within.
                        WorkGroup::default().run(|| assert!(is_alone()));
                        assert!(!is_alone());
                        both.wait();
                    });
                    assert!(is_alone());
                });
            }
        });
        let panicked = std::panic::catch_unwind(|| group.run(|| panic!("on purpose")));
        assert!(panicked.is_err() && is_alone());
        assert_eq!(group.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn every_job_is_done_once_and_an_error_ends_the_rest() {
        for threads in [0, 1, 2, 3, 16] {
            let mut done = vec![0; 7];
            let all = share_out(
                &mut done,
                threads,
                || (),
                |job, ()| -> Result<(), ()> {
                    *job += 1;
                    Ok(())
                },
            );
            assert_eq!((all, done), (Ok(()), vec![1; 7]), "{threads} threads");
            let begun = AtomicUsize::new(0);
            let failed = share_out(
                0..1000,
                threads,
                || (),
                |job, ()| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if job == 3 { Err(job) } else { Ok(()) }
                },
            );
            assert_eq!(failed, Err(3));
            assert!(begun.into_inner() < 1000, "{threads} threads");
        }
        assert_eq!([1, 2, 3].map(|pieces| threads_for(pieces, 2)), [1, 2, 2]);
        assert_eq!(share_out(0..0, 4, || (), |_, ()| Err(1)), Ok(()));
    }
}
