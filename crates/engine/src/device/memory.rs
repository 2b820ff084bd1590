//! The memory of GPUs that may be planned with.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::cuda;

/// What was free on each GPU when it was first chosen, before anything of this process was on it.
static FREE: Mutex<BTreeMap<usize, Option<u64>>> = Mutex::new(BTreeMap::new());

static LIMIT: OnceLock<u64> = OnceLock::new();

/// Limits what is planned with on any GPU, in bytes. The first limit stays.
pub fn limit_memory(bytes: u64) {
    LIMIT.get_or_init(|| bytes);
}

/// Bytes that this process may take of the GPU that CUDA counts as `index`: what was free when it was chosen, other processes
/// having the rest, but no more than the limit. `None` if neither is known.
pub fn memory(index: usize) -> Option<u64> {
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).get(&index).copied();
    least(free.flatten(), LIMIT.get().copied())
}

/// To be called when a GPU is chosen.
pub(super) fn note(index: usize) {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    free.entry(index).or_insert_with(|| cuda::free_memory(index));
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::{least, memory};

    #[test]
    fn the_less_of_what_is_free_and_the_limit_counts() {
        assert_eq!(least(Some(80), Some(35)), Some(35));
        assert_eq!(least(Some(20), Some(35)), Some(20));
        assert_eq!(least(None, Some(35)), Some(35));
        assert_eq!(least(Some(80), None), Some(80));
    }

    #[test]
    fn nothing_is_known_of_a_gpu_that_was_not_chosen() {
        assert_eq!(memory(77), None);
    }
}
