//! Keeps memory freed by libtorch for its next allocations. By default glibc returns large blocks to the system
//! immediately and gets them back page by page, zeroed, for every tensor of every layer: a twentieth of an update's
//! time.

/// Makes glibc keep freed memory until [`release`]. No effect with other C libraries.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The maximum that glibc accepts; larger blocks are always mapped.
        const LARGEST_KEPT: libc::c_int = 32 << 20;
        const NEVER: libc::c_int = libc::c_int::MAX;
        // SAFETY: sets parameters of the allocator. A rejected one keeps its default, which is only slower.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST_KEPT);
            libc::mallopt(libc::M_TRIM_THRESHOLD, NEVER);
            // This also prevents a thread's empty heap from being unmapped.
            libc::mallopt(libc::M_TOP_PAD, 1 << 30);
        }
    }
}

/// Returns kept memory to the system.
pub fn release() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: returns unused pages.
    unsafe {
        libc::malloc_trim(0);
    }
}
