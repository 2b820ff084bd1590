//! Spreads jobs over threads.

use std::sync::{Mutex, PoisonError};

/// Rows per job, so that a job takes much longer than its scheduling.
pub(crate) const ROWS: usize = 64;

/// Runs `work` on every job, on `threads` threads.
pub(crate) fn share<J: Send>(threads: usize, jobs: impl Iterator<Item = J> + Send, work: impl Fn(J) + Sync) {
    let threads = jobs.size_hint().1.map_or(threads, |jobs| jobs.min(threads));
    if threads <= 1 {
        jobs.for_each(work);
        return;
    }
    let jobs = Mutex::new(jobs);
    let run = || {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(job) = job else { return };
            work(job);
        }
    };
    rayon::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| run());
        }
        run();
    });
}
