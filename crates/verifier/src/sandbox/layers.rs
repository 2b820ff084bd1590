//! The layers of confinement: Landlock, and an empty file system with the interpreter's files in it, read-only.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fmt::{Display, Formatter};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};

use super::SandboxError;

/// Whether to use namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Namespaces {
    /// If the machine allows them.
    #[default]
    Auto,
    /// Required; the start fails without them.
    Require,
    /// Never; for tests of the fallback.
    Never,
}

/// The active layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// An empty file system, and process, network, IPC, host name and cgroup namespaces; or the reason there are none.
    pub namespaces: Result<(), String>,
    /// Whether programs run as a different user from the host.
    pub other_user: bool,
    /// Whether Landlock restricts files and network.
    pub landlock: bool,
    /// Whether a cgroup limits the memory and processes of a zygote with its child; or the reason there is none.
    pub cgroup: Result<(), String>,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            namespaces: Err("not tried".to_owned()),
            other_user: false,
            landlock: false,
            cgroup: Err("not tried".to_owned()),
        }
    }
}

impl Display for Layers {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let reasoned = |name: &str, state: &Result<(), String>| match state {
            Ok(()) => name.to_owned(),
            Err(reason) => format!("no {name} ({reason})"),
        };
        let plain = |name: &str, active: bool| if active { name.to_owned() } else { format!("no {name}") };
        let layers = [
            "seccomp, resource limits".to_owned(),
            reasoned("namespaces", &self.namespaces),
            plain("landlock", self.landlock),
            plain("separate user", self.other_user),
            reasoned("cgroup", &self.cgroup),
        ];
        out.write_str(&layers.join(", "))
    }
}

/// Prepares a ruleset that a process can apply to itself later; `None` if the kernel has no Landlock.
pub(super) fn ruleset(readable: &[PathBuf]) -> Result<Option<OwnedFd>, SandboxError> {
    let fault = |error: landlock::RulesetError| SandboxError::Landlock(error.to_string());
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V6)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .map_err(fault)?;
    // A link to a folder would open the whole folder; a linked file is in the list itself.
    for path in readable.iter().filter(|path| !path.is_symlink()) {
        let folder = PathFd::new(path).map_err(|error| SandboxError::Landlock(error.to_string()))?;
        let mut access = AccessFs::ReadFile | AccessFs::Execute;
        if path.is_dir() {
            access |= AccessFs::ReadDir;
        }
        ruleset = ruleset.add_rule(PathBeneath::new(folder, access)).map_err(fault)?;
    }
    Ok(ruleset.into())
}

/// One step of building the new root. All strings are made before the fork, because nothing may allocate afterwards.
enum Step {
    Folder(CString),
    File(CString),
    Link { to: CString, at: CString },
    Bind { from: CString, at: CString },
}

/// The new root.
pub(super) struct Mounts {
    base: CString,
    old: CString,
    steps: Vec<Step>,
}

/// Mount point of the old root until it is unmounted.
const OLD: &str = "/old";

fn c_path(path: impl AsRef<Path>) -> io::Result<CString> {
    CString::new(path.as_ref().as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

impl Mounts {
    /// A root that contains only these paths.
    pub(super) fn showing(paths: &[PathBuf]) -> io::Result<Self> {
        let base = ["/tmp", "/var/tmp", "/mnt", "/run"].into_iter().find(|path| Path::new(path).is_dir());
        let base = base.ok_or_else(|| io::Error::other("no /tmp, /var/tmp, /mnt or /run to build on"))?;
        let mut steps = Vec::new();
        let mut made = BTreeSet::new();
        for path in paths {
            let metadata = path.symlink_metadata()?;
            for folder in path.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
                if folder != Path::new("/")
                    && !paths.iter().any(|other| folder.starts_with(other))
                    && made.insert(folder)
                {
                    steps.push(Step::Folder(c_path(folder)?));
                }
            }
            let at = c_path(path)?;
            if metadata.is_symlink() {
                steps.push(Step::Link { to: c_path(std::fs::read_link(path)?)?, at });
                continue;
            }
            steps.push(if metadata.is_dir() { Step::Folder(at.clone()) } else { Step::File(at.clone()) });
            let from = Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path));
            steps.push(Step::Bind { from: c_path(from)?, at });
        }
        Ok(Self { base: c_path(base)?, old: c_path(format!("{base}{OLD}"))?, steps })
    }

    /// Makes the new root the root of this process, which must be alone in its mount namespace.
    ///
    /// Makes only system calls, so it may run between fork and exec.
    pub(super) fn enter(&self) -> Result<(), &'static str> {
        let nothing = std::ptr::null();
        // SAFETY: every pointer is to a NUL-terminated string that outlives the call, or null where the call allows it.
        unsafe {
            let flags = libc::MS_REC | libc::MS_PRIVATE;
            done(libc::mount(nothing, c"/".as_ptr(), nothing, flags, nothing.cast()), "making mounts private")?;
            let options = c"size=64k,mode=0755";
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            let tmpfs = c"tmpfs".as_ptr();
            done(libc::mount(tmpfs, self.base.as_ptr(), tmpfs, flags, options.as_ptr().cast()), "mounting a tmpfs")?;
            done(libc::mkdir(self.old.as_ptr(), 0o755), "preparing the new root")?;
            let pivoted = libc::syscall(libc::SYS_pivot_root, self.base.as_ptr(), self.old.as_ptr());
            done(pivoted as i32, "pivot_root")?;
            done(libc::chdir(c"/".as_ptr()), "entering the new root")?;
            for step in &self.steps {
                step.run()?;
            }
            done(libc::umount2(c"/old".as_ptr(), libc::MNT_DETACH), "letting go of the old root")?;
            done(libc::rmdir(c"/old".as_ptr()), "letting go of the old root")?;
            read_only(c"/", 0)
        }
    }
}

impl Step {
    fn run(&self) -> Result<(), &'static str> {
        // SAFETY: every pointer is to a NUL-terminated string that outlives the call, or null where the call allows it.
        unsafe {
            match self {
                Self::Folder(at) => done(libc::mkdir(at.as_ptr(), 0o755), "making a folder in the new root"),
                Self::File(at) => {
                    let fd = libc::open(at.as_ptr(), libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o644);
                    done(fd, "making a file in the new root")?;
                    done(libc::close(fd), "making a file in the new root")
                }
                Self::Link { to, at } => done(libc::symlink(to.as_ptr(), at.as_ptr()), "making a link in the new root"),
                Self::Bind { from, at } => {
                    let nothing = std::ptr::null();
                    let flags = libc::MS_BIND | libc::MS_REC;
                    let bound = libc::mount(from.as_ptr(), at.as_ptr(), nothing, flags, nothing.cast());
                    done(bound, "showing the interpreter's files")?;
                    read_only(at, libc::AT_RECURSIVE)
                }
            }
        }
    }
}

fn read_only(at: &std::ffi::CStr, flags: i32) -> Result<(), &'static str> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path is NUL-terminated, the attributes have the size that is passed, and both outlive the call.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            at.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    done(set as i32, "making the new root read-only")
}

/// Turns a result of −1 into the name of the step; `errno` is left unchanged.
pub(super) fn done(result: i32, step: &'static str) -> Result<(), &'static str> {
    if result < 0 { Err(step) } else { Ok(()) }
}
