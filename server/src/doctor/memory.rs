//! Free memory.

use super::Finding;

/// Memory of the seedling's worker, the verifier and Postgres together.
const LEAST_MIB: u64 = 2048;

pub(super) fn examine() -> Finding {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match available_mib(&text) {
        Some(free) if free < LEAST_MIB => Finding::lacking(
            format!("{free} MiB of memory are free"),
            format!(
                "have {LEAST_MIB} MiB free for a local worker; stop something, or run workers elsewhere (--no-worker)"
            ),
        ),
        Some(free) => Finding::good(format!("{free} MiB of memory are free")),
        None => Finding::lacking("free memory cannot be read from /proc/meminfo", "mount /proc"),
    }
}

fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24690528 kB\nMemAvailable:   18874368 kB\n";
        assert_eq!(super::available_mib(text), Some(18432));
        assert_eq!(super::available_mib(""), None);
    }
}
