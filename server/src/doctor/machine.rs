//! The machine: its kernel, memory and disk, the data folder and the port.

use nix::sys::statvfs::statvfs;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::doctor::Finding;
use crate::serve;
use crate::settings::Server;
use crate::supervise::{self, data_folder};

pub(super) fn kernel() -> Vec<Finding> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    vec![
        seccomp(&read("/proc/sys/kernel/seccomp/actions_avail")),
        landlock(landlock_version()),
        namespaces(
            &read("/proc/sys/user/max_user_namespaces"),
            &read("/proc/sys/kernel/unprivileged_userns_clone"),
            &read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        ),
    ]
}

fn seccomp(actions: &str) -> Finding {
    if actions.contains("errno") {
        return Finding::good("the kernel filters system calls (seccomp)");
    }
    Finding::bad("the kernel does not filter system calls (seccomp)", "run a kernel built with CONFIG_SECCOMP_FILTER")
}

/// The version of landlock's interface; 0 if there is none. The query creates nothing.
fn landlock_version() -> i64 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory of ours: the attribute must be null and its size 0.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, VERSION) };
    version.max(0)
}

fn landlock(version: i64) -> Finding {
    if version > 0 {
        return Finding::good(format!("the kernel confines file access (landlock, version {version})"));
    }
    Finding::lacking(
        "the kernel does not confine file access (landlock)",
        "run kernel 5.13 or newer with `landlock` in its parameter lsm=; the sandbox's other layers hold without it",
    )
}

fn namespaces(most: &str, cloning: &str, apparmor: &str) -> Finding {
    let barred = most.trim() == "0" || cloning.trim() == "0" || apparmor.trim() == "1";
    if !barred || nix::unistd::geteuid().is_root() {
        return Finding::good("namespaces are available to users");
    }
    Finding::lacking(
        "users may not create namespaces",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) or user.max_user_namespaces=10000; \
         the sandbox's other layers hold without it",
    )
}

/// Memory of the seedling's worker, the verifier and Postgres together.
const LEAST_MIB: u64 = 2048;

pub(super) fn memory() -> Finding {
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

/// Needed for Postgres and the artifacts of a small run.
const LEAST_BYTES: u64 = 1 << 30;
/// With less than this, a longer run may fill the disk.
const COMFORTABLE_BYTES: u64 = 10 << 30;

pub(super) fn disk(data: &Path) -> Finding {
    let place = data.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    let free = match statvfs(place) {
        Ok(stat) => stat.blocks_available() * stat.fragment_size(),
        Err(error) => {
            return Finding::lacking(
                format!("free space at {}: {error}", place.display()),
                "look with `df`".to_owned(),
            );
        }
    };
    judge_space(free, place)
}

fn judge_space(free: u64, place: &Path) -> Finding {
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let what = format!("{:.1} GiB free at {}", free as f64 / f64::from(1 << 30), place.display());
    let cure = "free some space, or put the data folder elsewhere with --data";
    match free {
        ..LEAST_BYTES => Finding::bad(what, cure),
        LEAST_BYTES..COMFORTABLE_BYTES => Finding::lacking(what, cure),
        COMFORTABLE_BYTES.. => Finding::good(what),
    }
}

pub(super) fn folder(data: &Path) -> Finding {
    if let Err(error) = data_folder::check(data) {
        return Finding::error(&error);
    }
    let shown = data.display();
    let Ok(meta) = data.metadata() else {
        return Finding::good(format!("data folder {shown}, created by the first start"));
    };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o066 != 0 {
        let cure = format!("chmod go-rw {shown} (the next `lyceum up` does it too)");
        return Finding::lacking(format!("data folder {shown} can be read or written by others (mode {mode:o})"), cure);
    }
    Finding::good(format!("data folder {shown}"))
}

pub(super) fn port(server: &Server, data: &Path) -> Finding {
    if let Some(address) = supervise::data_folder::announced_address(data) {
        return Finding::good(format!("Lyceum is running at {address}"));
    }
    match serve::listen(server.host, server.port) {
        Ok(_) if server.host.is_loopback() => Finding::good(format!("port {} of {} is free", server.port, server.host)),
        Ok(_) => Finding::lacking(
            format!(
                "port {} of {} is free, and other machines can reach it without encryption",
                server.port, server.host
            ),
            "use a proxy with TLS and listen on 127.0.0.1 (docs/OPERATING.md)",
        ),
        Err(error) => Finding::error(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn what_the_kernel_tells_is_read() {
        assert_eq!(landlock(7).verdict, Verdict::Good);
        assert!(matches!(landlock(0).verdict, Verdict::Lacking { .. }));
        assert!(matches!(seccomp("").verdict, Verdict::Bad { .. }));
    }

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24690528 kB\nMemAvailable:   18874368 kB\n";
        assert_eq!(super::available_mib(text), Some(18432));
        assert_eq!(super::available_mib(""), None);
    }

    #[test]
    fn a_full_disk_is_bad_and_a_nearly_full_one_lacking() {
        let verdict = |free| judge_space(free, Path::new("/")).verdict;
        assert!(matches!(verdict(100 << 20), Verdict::Bad { .. }));
        assert!(matches!(verdict(5 << 30), Verdict::Lacking { .. }));
        assert_eq!(verdict(50 << 30), Verdict::Good);
    }
}
