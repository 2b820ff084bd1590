//! Lanes: on a CPU, parts of a batch that are computed in parallel, each on its share of the threads.
//!
//! libtorch spreads every operation over all threads and synchronises them after each; for a decoding step this takes
//! longer than the operation. Lanes synchronise once, at their end. On a GPU there is one lane.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use tch::Device;

/// The number of lanes worth using for `rows` rows, if a lane needs `rows_per_lane` to use its threads well.
pub fn worthwhile(device: Device, rows: usize, rows_per_lane: usize) -> usize {
    if device != Device::Cpu {
        return 1;
    }
    let threads = usize::try_from(tch::get_num_threads()).unwrap_or(1);
    threads.min(rows / rows_per_lane).max(1)
}

/// Cuts consecutive items of these weights into at most `lanes` consecutive ranges of about equal weight, none empty.
pub(crate) fn cut(weights: &[usize], lanes: usize) -> Vec<std::ops::Range<usize>> {
    let total: usize = weights.iter().sum();
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::with_capacity(lanes);
    let (mut before, mut last) = (0, None);
    for (index, weight) in weights.iter().enumerate() {
        // The lane that the middle of this item falls into.
        let lane = (2 * before + weight) * lanes / (2 * total).max(1);
        match ranges.last_mut() {
            Some(range) if last == Some(lane) => range.end = index + 1,
            _ => ranges.push(index..index + 1),
        }
        last = Some(lane);
        before += weight;
    }
    ranges
}

/// Runs `work` for each job in a thread of its own, without gradients, and passes everything it sends to `observe`,
/// which runs in the calling thread. Returns the results in the order of the jobs.
pub fn side_by_side<J: Send, T: Send, E: Send>(
    jobs: Vec<J>,
    work: impl Fn(J, &Sender<E>) -> T + Sync,
    observe: &mut dyn FnMut(E),
) -> Vec<T> {
    let threads = tch::get_num_threads();
    let share = (threads / jobs.len().max(1) as i32).max(1);
    let waiting: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let ended: Vec<_> = waiting.iter().map(|_| Mutex::new(None)).collect();
    let (sender, events) = channel();
    let lane = |job: J, sender: &Sender<E>| {
        // The first call makes libtorch initialise this thread, which would override an earlier setting.
        tch::get_num_threads();
        tch::set_num_threads(share);
        let _no_grad = tch::no_grad_guard();
        work(job, sender)
    };
    let (waiting, ended, lane) = (&waiting, &ended, &lane);
    kept_threads(usize::try_from(threads).unwrap_or(1)).in_place_scope(|scope| {
        // Broadcast, so that a lane that waits for its own products never starts on another lane's job.
        scope.spawn_broadcast(move |_, thread| {
            for place in (thread.index()..waiting.len()).step_by(thread.num_threads()) {
                if let Some(job) = locked(&waiting[place]).take() {
                    let answer = panic::catch_unwind(AssertUnwindSafe(|| lane(job, &sender)));
                    *locked(&ended[place]) = Some(answer);
                }
            }
        });
        events.iter().for_each(observe);
    });
    // The number is per thread, but new threads start with the last one set.
    tch::set_num_threads(threads);
    let answers = ended.iter().filter_map(|lane| locked(lane).take());
    answers.map(|answer| answer.unwrap_or_else(|panicked| panic::resume_unwind(panicked))).collect()
}

/// Runs `work` in each of the threads that are kept for lanes, such as what returns a thread's freed memory.
pub fn in_kept_threads(work: impl Fn() + Sync) {
    let kept = locked(&KEPT).clone();
    if let Some(pool) = kept {
        pool.broadcast(|_| work());
    }
}

static KEPT: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

/// The threads of lanes, and of the products within them. They are kept between calls: an allocator searches for memory
/// in another place for each thread, so that ever new threads touch all memory that was ever in use, and keep it.
fn kept_threads(count: usize) -> Arc<ThreadPool> {
    let mut kept = locked(&KEPT);
    match &*kept {
        Some(pool) if pool.current_num_threads() == count => Arc::clone(pool),
        _ => {
            let named = ThreadPoolBuilder::new().thread_name(|index| format!("lane {index}"));
            let pool = named.num_threads(count).build();
            let pool = Arc::new(pool.unwrap_or_else(|error| panic!("lanes need {count} threads: {error}")));
            *kept = Some(Arc::clone(&pool));
            pool
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::Sender;

    use proptest::prelude::*;

    use super::{cut, side_by_side};

    proptest! {
        #[test]
        fn lanes_cover_everything_once_in_order(weights in prop::collection::vec(1usize..50, 0..40), lanes in 1usize..9) {
            let ranges = cut(&weights, lanes);
            let covered: Vec<usize> = ranges.iter().cloned().flatten().collect();
            prop_assert_eq!(covered, (0..weights.len()).collect::<Vec<_>>());
            prop_assert!(ranges.len() <= lanes && ranges.iter().all(|range| !range.is_empty()));
        }
    }

    #[test]
    fn equal_weights_are_cut_evenly() {
        assert_eq!(cut(&[3; 8], 2), [0..4, 4..8]);
        assert_eq!(cut(&[1; 9], 3), [0..3, 3..6, 6..9]);
    }

    #[test]
    fn lanes_answer_in_order_and_leave_the_number_of_threads_as_it_was() {
        let threads = tch::get_num_threads();
        let mut seen = Vec::new();
        let answers = side_by_side(
            vec![1, 2, 3],
            |job, sender| {
                let _ = sender.send(job);
                job * 10
            },
            &mut |event| seen.push(event),
        );
        seen.sort_unstable();
        assert_eq!((answers, seen), (vec![10, 20, 30], vec![1, 2, 3]));
        assert_eq!(tch::get_num_threads(), threads);
    }

    #[test]
    fn a_lane_that_panics_panics_here_once_all_have_ended() {
        let threads = tch::get_num_threads();
        let ended = AtomicUsize::new(0);
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            side_by_side(
                vec![1, 2, 3],
                |job, _: &Sender<()>| {
                    ended.fetch_add(1, Ordering::Relaxed);
                    assert_ne!(job, 1, "the first");
                },
                &mut |()| (),
            )
        }));
        assert!(panicked.is_err() && ended.into_inner() == 3);
        assert_eq!(tch::get_num_threads(), threads);
    }
}
