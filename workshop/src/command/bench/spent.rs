//! Time that computations take.

use std::ops::Add;
use std::time::{Duration, Instant};

use lyceum_engine::error::Result;
use tch::Device;

/// Waits until a device has done what it was given.
pub(crate) fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        tch::Cuda::synchronize(index as i64);
    }
}

/// Time that a computation took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// On the wall.
    pub(crate) wall: Duration,
    /// On this process's processors, all threads added up. On a machine that is shared it says more than the wall.
    pub(crate) cpu: Duration,
}

impl Spent {
    /// More than any computation takes: where a search for the least starts.
    pub(crate) const MAX: Self = Self {
        wall: Duration::MAX,
        cpu: Duration::MAX,
    };

    /// The lesser of each.
    pub(crate) fn min(self, other: Self) -> Self {
        Self {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
        }
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wall: self.wall + other.wall,
            cpu: self.cpu + other.cpu,
        }
    }
}

/// Times a computation; the device is waited for before and after.
pub(crate) fn timed(device: Device, compute: impl FnOnce() -> Result<()>) -> Result<Spent> {
    synchronize(device);
    let (start, start_cpu) = (Instant::now(), processor_time());
    compute()?;
    synchronize(device);
    Ok(Spent {
        wall: start.elapsed(),
        cpu: processor_time().saturating_sub(start_cpu),
    })
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
