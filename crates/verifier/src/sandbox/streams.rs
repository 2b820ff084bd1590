//! What comes out of a program: how its execution ended, as reported by the kernel via the zygote, and its standard streams.

use std::fs::File;
use std::io;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

/// A file in memory that holds the text.
pub(super) fn standard_input(text: &str) -> io::Result<OwnedFd> {
    // SAFETY: the name is NUL-terminated, and nothing else owns the new descriptor.
    let mut file = unsafe {
        match libc::memfd_create(c"stdin".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) {
            -1 => return Err(io::Error::last_os_error()),
            fd => File::from_raw_fd(fd),
        }
    };
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: sealing takes no pointer.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}

/// What a program prints, as far as it has been read.
pub(super) struct Printed {
    pipe: File,
    pub(super) bytes: Vec<u8>,
    max: usize,
    pub(super) is_at_end: bool,
}

impl Printed {
    /// The pipe, of which at most `max` bytes are read, and its other end for the program.
    pub(super) fn new(max: usize) -> io::Result<(Self, OwnedFd)> {
        let mut pair = [0; 2];
        // SAFETY: the array has room for the two descriptors, which nothing else owns afterwards.
        let (pipe, theirs) = unsafe {
            if libc::pipe2(pair.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
                return Err(io::Error::last_os_error());
            }
            (File::from_raw_fd(pair[0]), OwnedFd::from_raw_fd(pair[1]))
        };
        // SAFETY: setting flags takes no pointer; the other end waits as usual.
        if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let printed = Self { pipe, bytes: Vec::new(), max, is_at_end: false };
        Ok((printed, theirs))
    }

    /// The descriptor to wait for; −1, for which nobody waits, once everything has been read.
    pub(super) fn waited_for(&self) -> RawFd {
        if self.is_at_end { -1 } else { self.pipe.as_raw_fd() }
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.bytes.len() > self.max
    }

    /// Reads what is there. Once the program `has_ended`, there will be no more.
    pub(super) fn read(&mut self, has_ended: bool) -> io::Result<()> {
        let mut buffer = [0; 1 << 16];
        while !self.is_at_end && !self.is_too_long() {
            match self.pipe.read(&mut buffer) {
                Ok(0) => self.is_at_end = true,
                Ok(length) => self.bytes.extend_from_slice(&buffer[..length]),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => {
                        self.is_at_end = has_ended;
                        break;
                    }
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited by itself with this code.
    Exited(i32),
    /// It died of this signal.
    Signalled(i32),
    /// It used up its CPU time.
    CpuTime,
    /// It reached the wall-clock backstop.
    WallTime,
    /// Its task used up its budget.
    Budget,
    /// The host stopped it because it broke the protocol.
    Stopped,
}

/// The ending and resource use of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub ending: Ending,
    /// User and system time.
    pub cpu: Duration,
    /// Peak resident memory in bytes.
    pub memory: u64,
}

impl Report {
    /// Size of a report on the control socket, in bytes.
    pub(super) const SIZE: usize = 24;

    /// Reads the zygote's report: wait status, who killed it, nanoseconds of CPU time, bytes.
    pub(super) fn read(bytes: &[u8; Self::SIZE]) -> Self {
        let [a, b, c, d, e, f, g, h, time @ .., _, _, _, _, _, _, _, _] = *bytes;
        let mut memory = [0; 8];
        memory.copy_from_slice(&bytes[16..]);
        let status = i32::from_le_bytes([a, b, c, d]);
        let ending = match u32::from_le_bytes([e, f, g, h]) {
            1 => Ending::CpuTime,
            2 => Ending::WallTime,
            3 => Ending::Stopped,
            4 => Ending::Budget,
            _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGXCPU => Ending::CpuTime,
            _ if libc::WIFSIGNALED(status) => Ending::Signalled(libc::WTERMSIG(status)),
            _ => Ending::Exited(libc::WEXITSTATUS(status)),
        };
        Self { ending, cpu: Duration::from_nanos(u64::from_le_bytes(time)), memory: u64::from_le_bytes(memory) }
    }
}
