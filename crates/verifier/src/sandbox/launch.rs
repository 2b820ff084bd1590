//! Starts a confined interpreter.
//!
//! The host forks. The first child enters the namespaces and makes the second, which is also a child of the host and
//! the first process in its process namespace. The second confines itself and becomes the interpreter. Between fork and
//! exec nothing allocates or takes a lock: everything is prepared beforehand, and only system calls are made.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use seccompiler::sock_filter;

use super::SandboxError;
use super::cgroup::Cgroup;
use super::layers::{Mounts, done};

/// The user and group that programs run as: `nobody`, which owns nothing.
pub(super) const NOBODY: u32 = 65534;

/// The host's name as programs see it.
const HOST_NAME: &CStr = c"sandbox";

/// Largest stack of a program, in bytes. The kernel leaves room for it when it starts the interpreter; memory is used only
/// as the stack grows, within the limit of all memory.
const STACK: libc::rlim_t = 1 << 30;

/// The descriptor of the control socket inside the zygote.
const CONTROL: RawFd = 3;
/// The descriptor for reporting a failed start; it closes when the interpreter starts.
const STATUS: RawFd = 4;

/// Everything a start needs, prepared before the fork.
pub(super) struct Launch<'a> {
    pub(super) executable: CString,
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<CString>,
    /// The new root, if namespaces are used.
    pub(super) mounts: Option<Mounts>,
    /// Whether this process may change its user.
    pub(super) is_root: bool,
    pub(super) landlock: Option<OwnedFd>,
    pub(super) filter: Vec<sock_filter>,
    pub(super) cgroup: Option<&'a Cgroup>,
    pub(super) control: OwnedFd,
}

/// A zygote's process.
pub(super) struct Process {
    pub(super) pid: i32,
}

impl Process {
    /// Its address space, in bytes; 0 if the kernel does not tell.
    pub(super) fn address_space(&self) -> u64 {
        // SAFETY: sysconf takes no pointer.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        let sizes = std::fs::read_to_string(format!("/proc/{}/statm", self.pid)).unwrap_or_default();
        let pages = sizes.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap_or(0) * page
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: the process is a child of this one that has not been waited for, so its id is still its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

/// The null-terminated array that exec takes.
fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

impl Launch<'_> {
    /// Starts the interpreter and returns once it has replaced the fork, or names the step that failed.
    pub(super) fn start(self) -> Result<Process, SandboxError> {
        let fault = |step: &str, error| SandboxError::Confinement { step: step.to_owned(), error };
        let null = File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(|error| fault("opening /dev/null", error))?;
        let mut pair = [0; 2];
        // SAFETY: the array has room for the two descriptors, which nothing else owns afterwards.
        let (mut status, writer) = unsafe {
            if libc::pipe2(pair.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
                return Err(fault("making a pipe", io::Error::last_os_error()));
            }
            (File::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1]))
        };
        let user_map = format!("{NOBODY} {} 1", effective_uid());
        // SAFETY: getegid cannot fail.
        let group_map = format!("{NOBODY} {} 1", unsafe { libc::getegid() });
        let descriptors = |error| fault("arranging descriptors", error);
        let prepared = Prepared {
            arguments: pointers(&self.arguments),
            environment: pointers(&self.environment),
            user_map: user_map.as_bytes(),
            group_map: group_map.as_bytes(),
            null: moved_up(null).map_err(descriptors)?,
            control: moved_up(&self.control).map_err(descriptors)?,
            writer: moved_up(writer).map_err(descriptors)?,
            landlock: self.landlock.as_ref().map(moved_up).transpose().map_err(descriptors)?,
        };
        // SAFETY: the child calls only what may be called between fork and exec, and never returns.
        let first = unsafe { libc::fork() };
        match first {
            -1 => return Err(fault("fork", io::Error::last_os_error())),
            0 => {
                leave(&prepared, self.in_first(&prepared).err());
            }
            _ => {}
        }
        drop(prepared);
        // SAFETY: `first` is a child of this process that nobody else waits for.
        unsafe { libc::waitpid(first, std::ptr::null_mut(), 0) };
        let mut told = Vec::new();
        status.read_to_end(&mut told).map_err(|error| fault("reading the status of the start", error))?;
        Self::read_status(&told)
    }

    /// Parses `p` and a process id from the first child, or `!`, errno and the name of a failed step.
    fn read_status(told: &[u8]) -> Result<Process, SandboxError> {
        let number = |bytes: &[u8]| bytes.first_chunk().copied().map(i32::from_ne_bytes);
        let (process, rest) = match told {
            [b'p', rest @ ..] => (number(rest).map(|pid| Process { pid }), rest.get(4..).unwrap_or_default()),
            rest => (None, rest),
        };
        if let [b'!', rest @ ..] = rest {
            let step = String::from_utf8_lossy(rest.get(4..).unwrap_or_default()).into_owned();
            let error = io::Error::from_raw_os_error(number(rest).unwrap_or(0));
            return Err(SandboxError::Confinement { step, error });
        }
        process.ok_or_else(|| SandboxError::Start("its process ended before it was confined".to_owned()))
    }

    /// Enters the namespaces and makes the second child.
    fn in_first(&self, prepared: &Prepared<'_>) -> Result<(), &'static str> {
        if let Some(cgroup) = self.cgroup {
            for entry in cgroup.entries() {
                write_all(entry.as_raw_fd(), b"0", "entering the cgroup")?;
            }
        }
        if self.mounts.is_some() {
            // SAFETY: unshare takes no pointer.
            unsafe {
                if !self.is_root {
                    done(libc::unshare(libc::CLONE_NEWUSER), "making a user namespace")?;
                    write_file(c"/proc/self/setgroups", b"deny", "mapping the user")?;
                    write_file(c"/proc/self/uid_map", prepared.user_map, "mapping the user")?;
                    write_file(c"/proc/self/gid_map", prepared.group_map, "mapping the group")?;
                }
                let spaces = libc::CLONE_NEWNS
                    | libc::CLONE_NEWPID
                    | libc::CLONE_NEWNET
                    | libc::CLONE_NEWIPC
                    | libc::CLONE_NEWUTS
                    | libc::CLONE_NEWCGROUP;
                done(libc::unshare(spaces), "making namespaces")?;
                done(libc::sethostname(HOST_NAME.as_ptr(), HOST_NAME.count_bytes()), "hiding the host's name")?;
            }
        }
        let flags = libc::c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
        // SAFETY: without CLONE_VM and with no stack given this is a fork; the child never returns.
        let second = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        match second {
            0 => {
                let step = self.in_second(prepared).err();
                leave(prepared, step.or(Some("starting the interpreter")));
            }
            pid if pid > 0 => {
                let mut told = [b'p'; 5];
                told[1..].copy_from_slice(&(pid as i32).to_ne_bytes());
                write_all(prepared.writer.as_raw_fd(), &told, "telling the process id")
            }
            _ => Err("making the first process of the namespace"),
        }
    }

    /// Confines this process and becomes the interpreter. Returns only on failure.
    fn in_second(&self, prepared: &Prepared<'_>) -> Result<(), &'static str> {
        // SAFETY: every pointer is to prepared memory that outlives the call; the calls allocate nothing.
        unsafe {
            libc::setsid();
            if let Some(mounts) = &self.mounts {
                mounts.enter()?;
            }
            Self::arrange_descriptors(prepared)?;
            for (resource, limit) in [
                (libc::RLIMIT_CORE, 0),
                (libc::RLIMIT_FSIZE, 0),
                (libc::RLIMIT_NOFILE, 64),
                (libc::RLIMIT_MEMLOCK, 0),
                (libc::RLIMIT_MSGQUEUE, 0),
            ] {
                let limits = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                done(libc::setrlimit(resource, &raw const limits), "setting resource limits")?;
            }
            let mut stack = std::mem::zeroed::<libc::rlimit>();
            done(libc::getrlimit(libc::RLIMIT_STACK, &raw mut stack), "setting resource limits")?;
            stack.rlim_max = stack.rlim_max.min(STACK);
            stack.rlim_cur = stack.rlim_max;
            done(libc::setrlimit(libc::RLIMIT_STACK, &raw const stack), "setting resource limits")?;
            if self.is_root {
                for capability in 0..64 {
                    libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
                }
                let nobody = libc::c_long::from(NOBODY);
                // libc's wrappers would signal the host's other threads, which this process does not have.
                done(libc::syscall(libc::SYS_setgroups, 0, 0) as i32, "dropping groups")?;
                done(libc::syscall(libc::SYS_setresgid, nobody, nobody, nobody) as i32, "changing the group")?;
                done(libc::syscall(libc::SYS_setresuid, nobody, nobody, nobody) as i32, "changing the user")?;
            }
            let header: [u32; 2] = [0x2008_0522, 0];
            let none = [0_u32; 6];
            let dropped = libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr());
            done(dropped as i32, "dropping capabilities")?;
            done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), "tying the zygote to the host")?;
            done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges")?;
            if let Some(ruleset) = &prepared.landlock {
                let restricted = libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0);
                done(restricted as i32, "Landlock")?;
            }
            let filter = libc::sock_fprog {
                len: self.filter.len() as u16,
                filter: self.filter.as_ptr().cast::<libc::sock_filter>().cast_mut(),
            };
            let filtered = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter, 0, 0);
            done(filtered, "the system-call filter")?;
            let first = (STATUS + 1) as libc::c_uint;
            libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0);
            libc::execve(self.executable.as_ptr(), prepared.arguments.as_ptr(), prepared.environment.as_ptr());
            Err("running the interpreter")
        }
    }

    /// Moves standard streams to `/dev/null`, the control socket to 3 and the status pipe to 4; the sources are all
    /// above these.
    fn arrange_descriptors(prepared: &Prepared<'_>) -> Result<(), &'static str> {
        const STEP: &str = "arranging descriptors";
        // SAFETY: the calls take no pointer.
        unsafe {
            for target in 0..CONTROL {
                done(libc::dup2(prepared.null.as_raw_fd(), target), STEP)?;
            }
            done(libc::dup2(prepared.control.as_raw_fd(), CONTROL), STEP)?;
            done(libc::dup3(prepared.writer.as_raw_fd(), STATUS, libc::O_CLOEXEC), STEP)
        }
    }
}

/// Data for the children: pointers and slices into memory of [`Launch::start`].
struct Prepared<'a> {
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    user_map: &'a [u8],
    group_map: &'a [u8],
    null: OwnedFd,
    control: OwnedFd,
    writer: OwnedFd,
    landlock: Option<OwnedFd>,
}

/// Duplicates the file to a descriptor above the fixed ones.
fn moved_up(fd: impl AsFd) -> io::Result<OwnedFd> {
    const ABOVE_FIXED: RawFd = 10;
    // SAFETY: the new descriptor is owned by nobody else.
    unsafe {
        match libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_DUPFD_CLOEXEC, ABOVE_FIXED) {
            -1 => Err(io::Error::last_os_error()),
            new => Ok(OwnedFd::from_raw_fd(new)),
        }
    }
}

/// Ends a child, reporting the failed step, if any, to the host.
fn leave(prepared: &Prepared<'_>, failed: Option<&'static str>) -> ! {
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0).to_ne_bytes();
    if let Some(step) = failed {
        let mut told = [0_u8; 128];
        let length = (5 + step.len()).min(told.len());
        told[0] = b'!';
        told[1..5].copy_from_slice(&errno);
        told[5..length].copy_from_slice(&step.as_bytes()[..length - 5]);
        // Just before exec only the fixed descriptors are left.
        if write_all(prepared.writer.as_raw_fd(), &told[..length], step).is_err() {
            let _ = write_all(STATUS, &told[..length], step);
        }
    }
    // SAFETY: _exit runs nothing of this process.
    unsafe { libc::_exit(0) }
}

fn write_all(fd: RawFd, bytes: &[u8], step: &'static str) -> Result<(), &'static str> {
    // SAFETY: the pointer and length are of one slice.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    if written == bytes.len() as isize { Ok(()) } else { Err(step) }
}

fn write_file(path: &CStr, bytes: &[u8], step: &'static str) -> Result<(), &'static str> {
    // SAFETY: the path is NUL-terminated; the descriptor is closed by the end of this short-lived process.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    done(fd, step)?;
    write_all(fd, bytes, step)
}

/// The effective user of this process.
pub(super) fn effective_uid() -> u32 {
    // SAFETY: geteuid cannot fail.
    unsafe { libc::geteuid() }
}
