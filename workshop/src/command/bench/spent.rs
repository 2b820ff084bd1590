//! Timing of computations.

use std::ops::Add;
use std::time::{Duration, Instant};

use lyceum_engine::error::Result;
use tch::Device;

/// Waits until a device has finished its work.
pub(crate) fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        tch::Cuda::synchronize(index as i64);
    }
}

/// Time taken by a computation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Wall-clock time.
    pub(crate) wall: Duration,
    /// Processor time of this process, summed over all threads. On a shared machine it is more meaningful than
    /// wall-clock time.
    pub(crate) cpu: Duration,
}

impl Spent {
    /// More than any computation takes: the initial value when searching for a minimum.
    pub(crate) const MAX: Self = Self {
        wall: Duration::MAX,
        cpu: Duration::MAX,
    };

    /// The minimum of each.
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

/// Times a computation, synchronising the device before and after.
pub(crate) fn timed(device: Device, compute: impl FnOnce() -> Result<()>) -> Result<Spent> {
    synchronize(device);
    measured(|| {
        compute()?;
        synchronize(device);
        Ok(())
    })
}

/// Times what runs on no device, or waits for it itself.
pub(crate) fn measured<E>(compute: impl FnOnce() -> std::result::Result<(), E>) -> std::result::Result<Spent, E> {
    let (start, start_cpu) = (Instant::now(), processor_time());
    compute()?;
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
