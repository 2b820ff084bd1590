//! Memory that libtorch frees is kept for what it asks for next. glibc hands large blocks back to the system at once and gets
//! them anew, page by page and filled with zeros, for every tensor of every layer: a twentieth of an update's time.

/// Has glibc keep what is freed until [`release`]. Another C library does as it pleases.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The most that glibc takes: larger blocks are the system's own.
        const LARGEST_KEPT: libc::c_int = 32 << 20;
        const NEVER: libc::c_int = libc::c_int::MAX;
        // SAFETY: sets numbers of the allocator. What it refuses stays as it was, which is slower and no less right.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST_KEPT);
            libc::mallopt(libc::M_TRIM_THRESHOLD, NEVER);
            // Also what keeps a thread's heap from being unmapped once it is empty.
            libc::mallopt(libc::M_TOP_PAD, 1 << 30);
        }
    }
}

/// Hands back to the system what is kept.
pub fn release() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: gives back pages that nobody uses.
    unsafe {
        libc::malloc_trim(0);
    }
}
