//! The memory that a worker without a GPU may take: what the machine and its control groups have left when it starts.

use std::path::Path;

/// The share that stays for everything else on the machine: page cache, the sandbox's programs, the worker itself.
const ROOM: u64 = 8;

/// Bytes that an item may take; `None` if the system does not say.
pub(super) fn offered() -> Option<u64> {
    free(Path::new("/")).map(|free| free - free / ROOM)
}

/// Bytes that are free on the machine and in each control group that this process is in, whichever is less.
fn free(root: &Path) -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let meminfo = read("proc/meminfo")?;
    let machine = kibibytes(&meminfo, "MemAvailable:")?;
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let (mount, limit, usage, reclaimable) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
            _ if controllers.split(',').any(|controller| controller == "memory") => (
                "sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file ",
            ),
            _ => return None,
        };
        // A container may see its own group as the root, under the name that the machine has for it.
        let above = Path::new(group.trim_start_matches('/')).ancestors();
        let left = above.filter_map(|group| {
            let number = |name: &str| -> Option<u64> {
                let text = std::fs::read_to_string(root.join(mount).join(group).join(name)).ok()?;
                text.trim().parse().ok()
            };
            let stat = std::fs::read_to_string(root.join(mount).join(group).join("memory.stat")).unwrap_or_default();
            let cached = stat
                .lines()
                .find_map(|line| line.strip_prefix(reclaimable)?.trim().parse().ok());
            Some(number(limit)?.saturating_sub(number(usage)?.saturating_sub(cached.unwrap_or(0))))
        });
        left.min()
    });
    of_groups.chain([machine]).min()
}

fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        free(root.path())
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:   1000 kB\n");

    #[test]
    fn without_a_limit_it_is_what_the_machine_has() {
        assert_eq!(machine(&[MEMINFO]), Some(1_024_000));
        assert_eq!(machine(&[]), None);
        let unlimited = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "500000\n"),
        ];
        assert_eq!(machine(&unlimited), Some(1_024_000));
    }

    #[test]
    fn the_tightest_group_counts_and_its_cache_is_free() {
        let groups = [
            MEMINFO,
            ("proc/self/cgroup", "0::/all/one\n"),
            ("sys/fs/cgroup/all/memory.max", "900000\n"),
            ("sys/fs/cgroup/all/memory.current", "700000\n"),
            ("sys/fs/cgroup/all/memory.stat", "anon 1\ninactive_file 100000\n"),
            ("sys/fs/cgroup/all/one/memory.max", "800000\n"),
            ("sys/fs/cgroup/all/one/memory.current", "100000\n"),
        ];
        assert_eq!(machine(&groups), Some(300_000));
    }

    #[test]
    fn the_first_kind_of_groups_is_read_too_in_a_container_that_sees_its_own_as_the_root() {
        let groups = [
            MEMINFO,
            ("proc/self/cgroup", "4:cpu,memory:/docker/1f\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 50000\n"),
        ];
        assert_eq!(machine(&groups), Some(450_000));
    }

    #[test]
    fn this_machine_has_some() {
        assert!(offered().is_some_and(|bytes| bytes > 1 << 20));
    }
}
