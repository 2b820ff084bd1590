//! The GPU, if there is one.

use super::{Finding, ask};

/// The driver required by CUDA 13 (NVIDIA's table of minor version compatibility).
const OLDEST_DRIVER: u32 = 580;

pub(super) fn examine() -> Finding {
    match ask(
        "nvidia-smi",
        &["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
    ) {
        Some(line) => judge(&line),
        None if std::path::Path::new("/proc/driver/nvidia/version").exists() => Finding::lacking(
            "there is an NVIDIA driver, but nvidia-smi does not run",
            "install nvidia-smi of the driver's version",
        ),
        None => Finding::good("no GPU: the worker computes on the CPU"),
    }
}

/// `NVIDIA H200, 580.95.05, 143771 MiB`.
fn judge(line: &str) -> Finding {
    let driver = line
        .split(", ")
        .nth(1)
        .and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    match driver {
        Some(driver) if driver < OLDEST_DRIVER => Finding::lacking(
            format!("GPU {line}: its driver is too old for CUDA 13"),
            format!("install driver {OLDEST_DRIVER} or newer; until then the worker computes on the CPU"),
        ),
        _ => Finding::good(format!(
            "GPU {line} (the worker needs `script/bootstrap --cuda` to use it)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn the_driver_decides() {
        assert_eq!(judge("NVIDIA H200, 580.95.05, 143771 MiB").verdict, Verdict::Good);
        assert!(matches!(
            judge("NVIDIA A100-SXM4-40GB, 535.104.12, 40960 MiB").verdict,
            Verdict::Lacking { .. }
        ));
    }
}
