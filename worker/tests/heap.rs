//! One allocator serves Rust and libtorch and keeps what is freed until it is released. A single test, since threads share
//! memory.
#![cfg(all(feature = "engine", target_os = "linux", target_env = "gnu"))]

use std::ffi::{c_int, c_void};

use lyceum_worker::heap;

const MIB: u64 = 1 << 20;

/// Resident memory of the process in bytes.
fn resident() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux reports a process's memory");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:")).expect("a line Rss");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

#[test]
fn freed_memory_is_kept_until_it_is_released() {
    // What a shared library such as libtorch calls.
    // SAFETY: the symbol is posix_memalign's, whose type is as below, and the pointer is what it returned.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"posix_memalign".as_ptr());
        assert!(!found.is_null());
        let allocate: extern "C" fn(*mut *mut c_void, usize, usize) -> c_int = std::mem::transmute(found);
        let mut block = std::ptr::null_mut();
        assert_eq!(allocate(&raw mut block, 64, 65 * MIB as usize), 0);
        assert!(libmimalloc_sys::mi_is_in_heap_region(block), "libtorch has another allocator");
        libc::free(block);
    }

    heap::keep_freed();
    heap::release();
    let before = resident();
    let blocks: Vec<Vec<u8>> = (0..64).map(|_| vec![1; MIB as usize]).collect();
    drop(blocks);
    let kept = resident().saturating_sub(before);
    heap::release();
    let left = resident().saturating_sub(before);
    assert!(kept > 60 * MIB && left < 8 * MIB, "{kept} bytes were kept and {left} after the release");
}
