//! The GPUs, if there are any.

use std::path::Path;

use lyceum_core::{
    footprint::{BaseShape, UpdateShape},
    work::{Dtype, LoraShape, Projection},
};

use super::{Finding, ask};

/// The driver required by CUDA 13 (NVIDIA's table of minor version compatibility).
const OLDEST_DRIVER: u32 = 580;

/// Bases whose sizes are known, largest first.
const BASES: [&str; 5] = [
    "Qwen2.5-14B",
    "Qwen2.5-7B",
    "Qwen2.5-3B",
    "Qwen2.5-1.5B",
    "Qwen2.5-0.5B",
];

pub(super) fn examine() -> Vec<Finding> {
    let query = [
        "--query-gpu=name,driver_version,memory.total,memory.free",
        "--format=csv,noheader,nounits",
    ];
    match ask("nvidia-smi", &query) {
        Some(lines) => lines.lines().map(judge).collect(),
        None if has_driver() => vec![Finding::lacking(
            "there is an NVIDIA driver, but nvidia-smi does not run",
            "install nvidia-smi of the driver's version",
        )],
        None => vec![Finding::good("no GPU: the worker computes on the CPU")],
    }
}

/// Whether NVIDIA's driver is loaded.
pub(super) fn has_driver() -> bool {
    Path::new("/proc/driver/nvidia/version").exists()
}

/// A GPU from a line such as `NVIDIA H200, 580.95.05, 143771, 143157`: its name, its driver, and its memory and what is free
/// of it in MiB.
fn judge(line: &str) -> Finding {
    let mut parts = line.rsplitn(4, ", ");
    let (free, total, driver, name) = (parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(free), Some(total), Some(driver), Some(name)) = (mebibytes(free), mebibytes(total), driver, name) else {
        return Finding::lacking(
            format!("nvidia-smi does not tell the memory of a GPU: `{line}`"),
            "give the worker its memory with --device-memory-gib",
        );
    };
    let gpu = format!(
        "GPU {name}, driver {driver}, {} of {} GiB free",
        free >> 30,
        total >> 30
    );
    let major = driver.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < OLDEST_DRIVER) {
        return Finding::lacking(
            format!("{gpu}: the driver is too old for CUDA 13"),
            format!("install driver {OLDEST_DRIVER} or newer; until then the worker computes on the CPU"),
        );
    }
    match largest(free) {
        Some(base) => Finding::good(format!(
            "{gpu}: fits a teacher and a student of {base} in bf16 (rank 32, recomputing activations)"
        )),
        None => Finding::lacking(
            format!("{gpu}: too little for any base of the 7B presets' family"),
            "end what holds the GPU's memory (`nvidia-smi` lists it), or use a small base such as seedling",
        ),
    }
}

fn mebibytes(text: Option<&str>) -> Option<u64> {
    text?.trim().parse::<u64>().ok()?.checked_mul(1 << 20)
}

/// The largest base of which a teacher and a student can learn in so many bytes, with the settings of the 7B presets.
fn largest(free: u64) -> Option<&'static str> {
    let adapter = LoraShape {
        r: 32,
        lora_alpha: 64.0,
        target_modules: vec![Projection::Q, Projection::K, Projection::V, Projection::O],
        use_rslora: false,
    };
    let update = UpdateShape::largest(2, 16_384, Dtype::Bf16, true).with_any_lengths(true);
    let needs = |base: &&str| BaseShape::of_name(base).map(|shape| update.peak(&shape, &adapter).total());
    BASES
        .into_iter()
        .find(|base| needs(base).is_some_and(|bytes| bytes <= free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn the_driver_and_free_memory_decide() {
        let fits = judge("NVIDIA H200, 580.95.05, 143771, 143157");
        assert_eq!(fits.verdict, Verdict::Good);
        assert_eq!(
            fits.what,
            "GPU NVIDIA H200, driver 580.95.05, 139 of 140 GiB free: fits a teacher and a student of Qwen2.5-14B in bf16 \
             (rank 32, recomputing activations)"
        );
        for (line, part) in [
            (
                "NVIDIA A100-SXM4-40GB, 535.104.12, 40960, 40000",
                "the driver is too old",
            ),
            ("NVIDIA H100, 580.95.05, 81559, 600", "too little"),
            ("NVIDIA GB10, 580.95.05, [N/A], [N/A]", "does not tell the memory"),
        ] {
            let found = judge(line);
            assert!(matches!(found.verdict, Verdict::Lacking { .. }), "{line}");
            assert!(found.what.contains(part), "{}", found.what);
        }
    }

    #[test]
    fn less_memory_fits_a_smaller_base() {
        let fits = [139, 80, 40, 24, 12, 4].map(|gib| largest(gib << 30));
        assert!(
            fits.is_sorted_by_key(|base| BASES.iter().position(|one| Some(*one) == *base).unwrap_or(BASES.len())),
            "{fits:?}"
        );
        assert_eq!(
            fits[1],
            Some("Qwen2.5-14B"),
            "29 GiB of weights, and what learning needs"
        );
        assert_eq!(largest(1 << 30), None);
    }
}
