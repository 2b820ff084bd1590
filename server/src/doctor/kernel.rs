//! Kernel features used by the verifier's sandbox.

use std::fs;

use super::Finding;

pub(super) fn examine() -> Vec<Finding> {
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
    Finding::bad(
        "the kernel does not filter system calls (seccomp)",
        "run a kernel built with CONFIG_SECCOMP_FILTER",
    )
}

/// The version of landlock's interface; 0 if there is none. The query creates nothing.
fn landlock_version() -> i64 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory of ours: the attribute must be null and its size 0.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
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
}
