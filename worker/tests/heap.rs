//! Memory freed by the engine stays with the process until it is released. A single test, since threads share memory.
#![cfg(all(feature = "engine", target_os = "linux", target_env = "gnu"))]

use lyceum_worker::heap;

const MIB: u64 = 1 << 20;

/// Resident memory of the process in bytes.
fn resident() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux reports a process's memory");
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Rss:"))
        .expect("a line Rss");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

#[test]
fn freed_memory_is_kept_until_it_is_released() {
    heap::keep_freed();
    let before = resident();
    let blocks: Vec<Vec<u8>> = (0..64).map(|_| vec![1; MIB as usize]).collect();
    drop(blocks);
    let kept = resident().saturating_sub(before);
    heap::release();
    let left = resident().saturating_sub(before);
    assert!(
        kept > 60 * MIB && left < 8 * MIB,
        "{kept} bytes were kept and {left} after the release"
    );
}
