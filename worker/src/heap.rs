//! The allocator, for Rust and for libtorch: mimalloc, which keeps freed memory for the next allocations. glibc gives the
//! large blocks of threads back to the system, which returns them page by page, zeroed, for every tensor of every layer:
//! a third of an update's time.

use mimalloc::MiMalloc;

// The feature `override` also puts malloc and its relatives into the executable, where libtorch finds them.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Keeps freed memory until [`release`], and not for the second that is mimalloc's default.
pub fn keep_freed() {
    /// `mi_option_purge_delay` of mimalloc 2 and 3, which the bindings do not name.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    const HOUR: std::ffi::c_long = 3_600_000;
    // SAFETY: sets an option that is read whenever memory is freed. -1, never, would also ignore `mi_collect`.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, HOUR) }
}

/// Returns kept memory to the system: what this thread and the engine's lanes have freed, and what ended threads have.
pub fn release() {
    // SAFETY: may be called at any time and from any thread.
    let collect = || unsafe { libmimalloc_sys::mi_collect(true) };
    lyceum_engine::lanes::in_kept_threads(collect);
    collect();
}
