//! A cgroup around a zygote and its child: limits their combined memory and number of processes.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Mount point of the cgroup file systems.
const MOUNT: &str = "/sys/fs/cgroup";

/// One cgroup, in one hierarchy (version 2) or in two (version 1); removed when dropped.
pub(super) struct Cgroup {
    folders: Vec<PathBuf>,
    entries: Vec<File>,
}

impl Cgroup {
    /// Creates a cgroup below that of this process.
    ///
    /// # Errors
    /// The reason it could not be created.
    pub(super) fn create(memory: u64, processes: u32) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lyceum-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("/proc/self/cgroup: {error}"))?;
        let parents = parents(&own);
        let mut cgroup = Self { folders: Vec::new(), entries: Vec::new() };
        for (parent, version) in &parents {
            remove_stale(parent);
            let folder = parent.join(&name);
            let fault = |error: io::Error| format!("{}: {error}", folder.display());
            fs::create_dir(&folder).map_err(fault)?;
            cgroup.folders.push(folder.clone());
            let limits: &[(&str, String)] = match version {
                Version::Two => &[("memory.max", memory.to_string()), ("pids.max", processes.to_string())],
                Version::OneMemory => &[("memory.limit_in_bytes", memory.to_string())],
                Version::OnePids => &[("pids.max", processes.to_string())],
            };
            for (file, value) in limits {
                fs::write(folder.join(file), value).map_err(|error| format!("{}/{file}: {error}", folder.display()))?;
            }
            cgroup.entries.push(OpenOptions::new().write(true).open(folder.join("cgroup.procs")).map_err(fault)?);
        }
        if cgroup.folders.is_empty() {
            return Err("no memory or pids controller is mounted".to_owned());
        }
        Ok(cgroup)
    }

    /// The files to which a process writes `0` to enter.
    pub(super) fn entries(&self) -> &[File] {
        &self.entries
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            // A folder whose last process is still exiting is removed at the next start.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[derive(Clone, Copy)]
enum Version {
    OneMemory,
    OnePids,
    Two,
}

/// The cgroups of this process that have the controllers, from the lines of `/proc/self/cgroup`.
fn parents(own: &str) -> Vec<(PathBuf, Version)> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let path = path.trim_start_matches('/');
        match controllers {
            "" => {
                let folder = Path::new(MOUNT).join(path);
                let enabled = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
                if ["memory", "pids"].iter().all(|name| enabled.split_whitespace().any(|other| other == *name)) {
                    found.push((folder, Version::Two));
                }
            }
            "memory" => found.push((Path::new(MOUNT).join("memory").join(path), Version::OneMemory)),
            "pids" => found.push((Path::new(MOUNT).join("pids").join(path), Version::OnePids)),
            _ => {}
        }
    }
    found
}

/// Removes cgroups left behind by killed hosts.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("lyceum-")).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
