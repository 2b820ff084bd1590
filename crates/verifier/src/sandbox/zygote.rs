//! The host's side of a zygote.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::interpreter::{libraries, outermost};
use super::launch::{Launch, NOBODY, Process, effective_uid};
use super::layers::Mounts;
use super::limits::SLOWEST;
use super::run::Watch;
use super::streams::Report;
use super::{
    Allowance, Budget, Interpreter, Layers, Limits, Namespaces, Package, SandboxError, interpreter, layers, seccomp,
};

/// Maximum startup time of an interpreter. A busy machine is slow; a broken interpreter never answers.
const START: Duration = Duration::from_secs(60);

/// The purpose of a zygote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Runs programs with this hash seed.
    Programs {
        /// `PYTHONHASHSEED`.
        hash_seed: u32,
    },
    /// Runs Math-Verify.
    Mathematics,
}

/// Settings for making zygotes.
#[derive(Clone, Debug)]
pub(crate) struct ZygotePlan {
    pub(crate) interpreter: Interpreter,
    pub(crate) namespaces: Namespaces,
    pub(crate) limits: Limits,
    pub(crate) watch: Watch,
    pub(crate) budget: Budget,
    /// Packages for programs, besides the standard library.
    pub(crate) packages: Vec<Package>,
}

/// A confined interpreter that forks a child for each program. It dies with the thread that created it.
pub(crate) struct Zygote {
    // First, so that the process is ended before its cgroup is removed.
    _process: Process,
    control: OwnedFd,
    layers: Layers,
    watch: Watch,
    budget: Budget,
    /// Address space of the interpreter itself, in bytes, which a program's limit comes on top of.
    own_memory: u64,
    _cgroup: Option<Cgroup>,
}

/// The source code for an interpreter with this role, but for the call of `main`.
fn source(role: Role, packages: &[Package]) -> String {
    const COMMON: &str = concat!(
        include_str!("../python/zygote.py"),
        include_str!("../python/encode.py"),
        include_str!("../python/child.py")
    );
    match role {
        Role::Programs { .. } => format!(
            "{COMMON}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}",
            include_str!("../python/clock.py"),
            include_str!("../python/preload.py"),
            include_str!("../python/alarms.py"),
            include_str!("../python/threads.py"),
            include_str!("../python/library.py"),
            interpreter::imports(packages),
            include_str!("../python/streams.py"),
            include_str!("../python/pytest.py"),
            include_str!("../python/script.py"),
            include_str!("../python/copies.py"),
            include_str!("../python/functions.py"),
            include_str!("../python/objects.py"),
            include_str!("../python/reward.py"),
            include_str!("../python/warm.py"),
        ),
        Role::Mathematics => format!("{COMMON}\n{}", include_str!("../python/mathematics.py")),
    }
}

impl Zygote {
    /// Starts a zygote. The calling thread must live as long as the zygote.
    pub(crate) fn start(plan: &ZygotePlan, role: Role) -> Result<Self, SandboxError> {
        if plan.namespaces == Namespaces::Never {
            return Self::start_in(plan, role, Err("not wanted".to_owned()));
        }
        match Self::start_in(plan, role, Ok(())) {
            Err(error @ SandboxError::Confinement { .. }) if plan.namespaces == Namespaces::Auto => {
                let reason = match &error {
                    SandboxError::Confinement { step, error } => format!("{step}: {error}"),
                    other => other.to_string(),
                };
                Self::start_in(plan, role, Err(reason))
            }
            result => result,
        }
    }

    fn start_in(plan: &ZygotePlan, role: Role, namespaces: Result<(), String>) -> Result<Self, SandboxError> {
        let seed = match role {
            Role::Programs { hash_seed } => hash_seed,
            Role::Mathematics => 0,
        };
        let source = source(role, &plan.packages);
        let has_packages = role == Role::Mathematics || !plan.packages.is_empty();
        let packages = if has_packages { plan.interpreter.packages.as_slice() } else { &[] };
        let mut readable = plan.interpreter.readable();
        readable.extend(libraries(&plan.interpreter, &source, packages)?);
        readable.extend(packages.iter().filter(|path| path.is_dir()).cloned());
        let readable = outermost(readable);
        let is_root = effective_uid() == 0;
        if is_root {
            check_readable(&readable, namespaces.is_ok())?;
        }
        let confinement = |step: &str| {
            let step = step.to_owned();
            move |error| SandboxError::Confinement { step, error }
        };
        let mounts = namespaces.is_ok().then(|| Mounts::showing(&readable)).transpose();
        let mounts = mounts.map_err(confinement("planning the new root"))?;
        let landlock = layers::ruleset(&readable)?;
        let cgroup = Cgroup::create(plan.limits.for_tests().memory + (128 << 20), 8);
        let (control, theirs) = socket_pair(libc::SOCK_SEQPACKET).map_err(confinement("making a socket"))?;
        let layers = Layers {
            namespaces,
            other_user: is_root,
            landlock: landlock.is_some(),
            cgroup: cgroup.as_ref().map(drop).map_err(Clone::clone),
        };
        let cgroup = cgroup.ok();
        let text = |text: &[u8]| {
            CString::new(text).map_err(|_| SandboxError::Start("a path or source holds a NUL byte".to_owned()))
        };
        let executable = text(plan.interpreter.executable.as_os_str().as_bytes())?;
        let mut arguments = vec![executable.clone()];
        for argument in interpreter::FLAGS {
            arguments.push(text(argument.as_bytes())?);
        }
        arguments.push(text(format!("{source}\nmain()\n").as_bytes())?);
        for path in packages {
            arguments.push(text(path.as_os_str().as_bytes())?);
        }
        let process = Launch {
            executable,
            arguments,
            // Symbols that are looked up at the start are not looked up by every child again.
            environment: vec![text(format!("PYTHONHASHSEED={seed}").as_bytes())?, text(b"LD_BIND_NOW=1")?],
            mounts,
            is_root,
            landlock,
            filter: seccomp::zygote_filter()?,
            cgroup: cgroup.as_ref(),
            control: theirs,
        }
        .start()?;
        let mut zygote = Self {
            _process: process,
            control,
            layers,
            watch: plan.watch.clone(),
            budget: plan.budget.clone(),
            own_memory: 0,
            _cgroup: cgroup,
        };
        zygote.greet()?;
        if !plan.packages.is_empty() {
            zygote.own_memory = zygote._process.address_space();
        }
        Ok(zygote)
    }

    /// Sends the filter for the children and waits until all modules are imported.
    fn greet(&self) -> Result<(), SandboxError> {
        self.send(&seccomp::to_bytes(&seccomp::child_filter()?))?;
        let mut answer = [0; 256];
        let deadline = Instant::now() + START;
        if !wait_readable(&[self.control.as_raw_fd()], deadline)?[0] {
            return Err(SandboxError::Start(format!("no answer within {} s", START.as_secs())));
        }
        match receive(self.control.as_raw_fd(), &mut answer)? {
            length if answer[..length].starts_with(b"ready ") => Ok(()),
            0 => Err(SandboxError::Start(
                "it ended while it imported its modules; does its installation lie outside of what it may read?"
                    .to_owned(),
            )),
            length => Err(SandboxError::Start(String::from_utf8_lossy(&answer[..length]).into_owned())),
        }
    }

    /// The layers around it.
    pub(crate) fn layers(&self) -> &Layers {
        &self.layers
    }

    /// An error if nobody waits for the current task any longer.
    pub(super) fn check_wanted(&self) -> Result<(), SandboxError> {
        if self.watch.is_abandoned() {
            return Err(SandboxError::Abandoned);
        }
        Ok(())
    }

    pub(super) fn control(&self) -> RawFd {
        self.control.as_raw_fd()
    }

    pub(super) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length are of one slice.
        let sent = unsafe { libc::send(self.control(), message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The budget of the current task.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Requests a child that serves the other end of the first of `descriptors`; the others, if any, become its standard
    /// input and output. The child sees the first message; the second is read by the
    /// zygote only, after the fork, because what is left of a budget tells what the task has run before.
    pub(super) fn order(
        &self,
        descriptors: &[BorrowedFd<'_>],
        limits: Limits,
        allowance: Allowance,
        calls: usize,
    ) -> io::Result<()> {
        let seen = [limits.memory + self.own_memory, limits.backup(calls).as_secs()];
        let watched = [
            limits.cpu.as_nanos() as u64,
            limits.wall.as_nanos() as u64,
            u64::from(SLOWEST),
            allowance.cpu.as_nanos() as u64,
            allowance.waiting.as_nanos() as u64,
        ];
        send_with_descriptors(self.control(), seen.map(u64::to_ne_bytes).as_flattened(), descriptors)?;
        self.send(watched.map(u64::to_ne_bytes).as_flattened())
    }

    pub(super) fn report(&self) -> io::Result<Report> {
        let mut bytes = [0; Report::SIZE];
        match receive(self.control(), &mut bytes)? {
            Report::SIZE => Ok(Report::read(&bytes)),
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the zygote is gone")),
        }
    }
}

/// Fails early, naming the path, if the sandbox's user cannot reach the interpreter.
fn check_readable(paths: &[PathBuf], shown_by_mount: bool) -> Result<(), SandboxError> {
    let mode = |path: &Path| path.metadata().map_or(0, |metadata| metadata.permissions().mode());
    for path in paths {
        let needed = if path.is_dir() { 0o005 } else { 0o004 };
        let above = path.ancestors().skip(1).filter(|_| !shown_by_mount).find(|folder| mode(folder) & 0o001 == 0);
        let unreadable = above.or_else(|| (mode(path) & needed != needed).then_some(path));
        if let Some(path) = unreadable {
            return Err(SandboxError::Unreadable { path: path.to_owned(), uid: NOBODY });
        }
    }
    Ok(())
}

/// Two connected sockets.
pub(super) fn socket_pair(kind: i32) -> io::Result<(OwnedFd, OwnedFd)> {
    use std::os::fd::FromRawFd as _;
    let mut pair = [0; 2];
    // SAFETY: the array has room for the two descriptors, which nothing else owns afterwards.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0, pair.as_mut_ptr()) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1])))
    }
}

fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length are of one slice.
        let length = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if let Ok(length) = usize::try_from(length) {
            return Ok(length);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::ConnectionReset => return Ok(0),
            _ => return Err(error),
        }
    }
}

/// Sends bytes and at most three descriptors (`SCM_RIGHTS`).
fn send_with_descriptors(control: RawFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // A control message must be aligned like its header.
    let mut space = [0_u64; 8];
    let length = size_of_val(descriptors) as u32;
    // SAFETY: the message points to memory that outlives the call, and the space holds one control message with three
    // descriptors (32 bytes), which the macros of the C library fill in. A borrowed descriptor is laid out as its number.
    let sent = unsafe {
        let mut message = std::mem::zeroed::<libc::msghdr>();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(length) as _;
        assert!(message.msg_controllen as usize <= size_of_val(&space), "too many descriptors");
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(length) as _;
        libc::CMSG_DATA(header).copy_from_nonoverlapping(descriptors.as_ptr().cast(), length as usize);
        libc::sendmsg(control, &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until a descriptor is readable or closed, or the deadline has passed; returns which are ready.
pub(super) fn wait_readable<const N: usize>(fds: &[RawFd; N], deadline: Instant) -> io::Result<[bool; N]> {
    wait(&fds.map(|fd| (fd, libc::POLLIN)), deadline)
}

/// Waits for events.
pub(super) fn wait<const N: usize>(fds: &[(RawFd, i16); N], deadline: Instant) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|(fd, events)| libc::pollfd { fd, events, revents: 0 });
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let millis = i32::try_from(left.as_millis()).unwrap_or(i32::MAX).saturating_add(i32::from(!left.is_zero()));
        // SAFETY: the pointer and length are of one array.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, millis) };
        if ready >= 0 {
            return Ok(polled.map(|entry| entry.revents != 0));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
