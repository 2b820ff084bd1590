//! The device as reported by a worker, for people and for leaving items that need more memory to others.

#[cfg(feature = "engine")]
use std::process::Command;

use super::machine_memory;

/// A device by name, with its memory if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// `cpu`, or the GPU's name.
    pub(super) name: String,
    /// In bytes.
    pub(super) memory_bytes: Option<u64>,
}

impl Device {
    /// A CPU with what its machine has left.
    pub(super) fn cpu() -> Self {
        Self {
            name: "cpu".to_owned(),
            memory_bytes: machine_memory::offered(),
        }
    }

    /// The GPU that CUDA counts as `index`, as the driver's `nvidia-smi` describes it; `cuda:N` if that is not
    /// available.
    #[cfg(feature = "engine")]
    pub(super) fn cuda(index: usize) -> Self {
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
        let said = Command::new("nvidia-smi")
            .args(["--query-gpu=name,memory.total", "--format=csv,noheader,nounits"])
            .arg(format!("--id={}", physical(index, &visible)))
            .output();
        let described = said.ok().filter(|output| output.status.success());
        described
            .and_then(|output| Self::described(&String::from_utf8_lossy(&output.stdout)))
            .unwrap_or_else(|| Self {
                name: format!("cuda:{index}"),
                memory_bytes: None,
            })
    }

    /// A line such as `NVIDIA H200, 143771`: name and memory in MiB.
    #[cfg(feature = "engine")]
    fn described(line: &str) -> Option<Self> {
        let (name, mebibytes) = line.lines().next()?.rsplit_once(',')?;
        let mebibytes: u64 = mebibytes.trim().parse().ok()?;
        Some(Self {
            name: name.trim().to_owned(),
            memory_bytes: Some(mebibytes.checked_mul(1 << 20)?),
        })
    }
}

/// The driver's index of the GPU that CUDA counts as `index` among those in `CUDA_VISIBLE_DEVICES`.
#[cfg(feature = "engine")]
fn physical(index: usize, visible: &str) -> String {
    let shown = visible.split(',').map(str::trim).filter(|id| !id.is_empty()).nth(index);
    shown.map_or_else(|| index.to_string(), str::to_owned)
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::{Device, physical};

    #[test]
    fn a_gpu_is_read_off_the_drivers_line() {
        let device = Device::described("NVIDIA H200, 143771\n").unwrap();
        assert_eq!(device.name, "NVIDIA H200");
        assert_eq!(device.memory_bytes, Some(143_771 << 20));
        for other in [
            "",
            "No devices were found",
            "NVIDIA GH200, [N/A]",
            "x, 99999999999999999999",
        ] {
            assert_eq!(Device::described(other), None, "{other}");
        }
    }

    #[test]
    fn cuda_counts_the_gpus_that_it_is_shown() {
        assert_eq!(physical(1, ""), "1");
        assert_eq!(physical(0, "3"), "3");
        assert_eq!(physical(1, "2, GPU-8f1c"), "GPU-8f1c");
    }
}
