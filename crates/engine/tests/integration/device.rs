//! The device that the tests compute on: `LYCEUM_TEST_DEVICE`, or the CPU.

use lyceum_core::work::Dtype;
use lyceum_engine::Placement;
use tch::Device;

/// fp32 on the device.
pub(crate) fn placement() -> Placement {
    let asked = std::env::var("LYCEUM_TEST_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    Placement::new(&asked, Dtype::Fp32).unwrap()
}

pub(crate) fn device() -> Device {
    placement().device
}

/// Positions by which a slot of the cache grows.
pub(crate) fn capacity_step() -> u32 {
    if device().is_cuda() { 128 } else { 64 }
}

/// Whether a test that measures or limits the memory of the host is skipped, since the tensors are elsewhere.
pub(crate) fn skips_host_memory() -> bool {
    let skips = device().is_cuda();
    if skips {
        println!("skipped: measures the memory of the host, and the tensors are on a device");
    }
    skips
}
