//! How an execution ended, as reported by the kernel via the zygote, never by the program.

use std::time::Duration;

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
        Self {
            ending,
            cpu: Duration::from_nanos(u64::from_le_bytes(time)),
            memory: u64::from_le_bytes(memory),
        }
    }
}
