//! What the local worker needs: its GPUs, libtorch, and the Python of the sandbox.

use lyceum_core::footprint::{BaseShape, UpdateShape};
use lyceum_core::work::{Dtype, LoraShape, Projection};
use serde::Deserialize;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::doctor::{Finding, ask};
use crate::settings::Worker;
use crate::supervise::worker::find;

pub(super) fn worker(settings: &Worker) -> Vec<Finding> {
    if !settings.wanted {
        return vec![Finding::lacking(
            "the local worker is disabled",
            "run lyceum-worker elsewhere, or remove --no-worker",
        )];
    }
    match find(settings.program.as_deref()) {
        Ok(program) => {
            let runs = Finding::good(format!("{} runs and belongs to this release", program.display()));
            vec![runs, libtorch(&program), sandbox(&program)]
        }
        Err(error) => vec![Finding::error(&error)],
    }
}

fn sandbox(program: &std::path::Path) -> Finding {
    let cure = "see docs/SECURITY.md; a machine that cannot confine programs must not run them";
    // Judging begins with the self-test; there is nothing to judge.
    let judging = Command::new(program).args(["verify", "--in", "-", "--out", "-"]).stdin(Stdio::null()).output();
    match judging {
        Ok(output) if output.status.success() => Finding::good("the verifier's sandbox contains its attacks"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            Finding::bad(format!("the verifier's self-test failed: {last}"), cure)
        }
        Err(error) => Finding::bad(format!("the verifier's self-test does not run: {error}"), cure),
    }
}

/// The driver required by CUDA 13 (NVIDIA's table of minor version compatibility).
const OLDEST_DRIVER: u32 = 580;

/// Bases whose sizes are known, largest first.
const BASES: [&str; 5] = ["Qwen2.5-14B", "Qwen2.5-7B", "Qwen2.5-3B", "Qwen2.5-1.5B", "Qwen2.5-0.5B"];

pub(super) fn gpu() -> Vec<Finding> {
    let query = ["--query-gpu=name,driver_version,memory.total,memory.free", "--format=csv,noheader,nounits"];
    match ask("nvidia-smi", &query) {
        Some(lines) => lines.lines().map(judge_gpu).collect(),
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
fn judge_gpu(line: &str) -> Finding {
    let mut parts = line.rsplitn(4, ", ");
    let (free, total, driver, name) = (parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(free), Some(total), Some(driver), Some(name)) = (mebibytes(free), mebibytes(total), driver, name) else {
        return Finding::lacking(
            format!("nvidia-smi does not tell the memory of a GPU: `{line}`"),
            "give the worker its memory with --device-memory-gib",
        );
    };
    let gpu = format!("GPU {name}, driver {driver}, {} of {} GiB free", free >> 30, total >> 30);
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

/// The largest base on which a teacher and a student can learn in `free` bytes, with the settings of the 7B presets.
fn largest(free: u64) -> Option<&'static str> {
    let adapter = LoraShape {
        r: 32,
        lora_alpha: 64.0,
        target_modules: vec![Projection::Q, Projection::K, Projection::V, Projection::O],
        use_rslora: false,
    };
    let update = UpdateShape::largest(2, 16_384, Dtype::Bf16, true).with_any_lengths(true);
    let needs = |base: &&str| BaseShape::of_name(base).map(|shape| update.peak(&shape, &adapter).total());
    BASES.into_iter().find(|base| needs(base).is_some_and(|bytes| bytes <= free))
}

/// What `lyceum-worker devices` prints.
#[derive(Deserialize)]
struct Devices {
    /// The version of CUDA that libtorch was built for.
    cuda: Option<String>,
    /// GPUs that it finds.
    gpus: u32,
}

pub(super) fn libtorch(worker: &Path) -> Finding {
    let said = ask(worker, &["devices"]);
    judge(said.and_then(|line| serde_json::from_str(&line).ok()), has_driver())
}

fn judge(devices: Option<Devices>, has_driver: bool) -> Finding {
    let Some(Devices { cuda, gpus }) = devices else {
        return Finding::lacking(
            "the worker was built without libtorch: it verifies, and generates on a served sampler only",
            "build it with default features to compute on this machine",
        );
    };
    match (cuda, gpus) {
        (None, _) if has_driver => Finding::lacking(
            "libtorch is a build for CPUs, so the GPU idles",
            "run `script/bootstrap --cuda` and build again",
        ),
        (None, _) => Finding::good("libtorch is a build for CPUs"),
        (Some(cuda), 0) if has_driver => Finding::lacking(
            format!("libtorch for CUDA {cuda} finds no GPU"),
            "compare `nvidia-smi` with the driver that this CUDA needs, and see whether CUDA_VISIBLE_DEVICES hides the GPUs",
        ),
        (Some(cuda), 0) => Finding::good(format!("libtorch for CUDA {cuda}; without a GPU it computes on the CPU")),
        (Some(cuda), 1) => Finding::good(format!("libtorch for CUDA {cuda} finds 1 GPU")),
        (Some(cuda), gpus) => {
            Finding::good(format!("libtorch for CUDA {cuda} finds {gpus} GPUs, of which a worker uses one"))
        }
    }
}

/// Not the one on the path, which may be in a home folder that the sandbox's user cannot read.
const PROGRAM: &str = "/usr/bin/python3";
const OLDEST: (u32, u32) = (3, 11);

pub(super) fn python() -> Finding {
    let cure = "install it: `apt-get install python3 python3-venv`";
    match ask(PROGRAM, &["--version"]) {
        Some(said) if version(&said).is_some_and(|version| version >= OLDEST) => {
            Finding::good(format!("{said} in {PROGRAM}"))
        }
        Some(said) => Finding::bad(format!("{said} in {PROGRAM} is older than {}.{}", OLDEST.0, OLDEST.1), cure),
        None => Finding::bad(format!("there is no {PROGRAM}"), cure),
    }
}

/// Parses `Python 3.11.2` as (3, 11).
fn version(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.strip_prefix("Python ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{version, *};
    use crate::doctor::Verdict;

    #[test]
    fn the_driver_and_free_memory_decide() {
        let fits = judge_gpu("NVIDIA H200, 580.95.05, 143771, 143157");
        assert_eq!(fits.verdict, Verdict::Good);
        assert_eq!(
            fits.what,
            "GPU NVIDIA H200, driver 580.95.05, 139 of 140 GiB free: fits a teacher and a student of Qwen2.5-14B in bf16 \
             (rank 32, recomputing activations)"
        );
        for (line, part) in [
            ("NVIDIA A100-SXM4-40GB, 535.104.12, 40960, 40000", "the driver is too old"),
            ("NVIDIA H100, 580.95.05, 81559, 600", "too little"),
            ("NVIDIA GB10, 580.95.05, [N/A], [N/A]", "does not tell the memory"),
        ] {
            let found = judge_gpu(line);
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
        assert_eq!(fits[1], Some("Qwen2.5-14B"), "29 GiB of weights, and what learning needs");
        assert_eq!(largest(1 << 30), None);
    }

    #[test]
    fn a_gpu_needs_a_build_that_finds_it() {
        let found = |line: &str, has_driver| judge(serde_json::from_str(line).ok(), has_driver);
        for (line, has_driver) in [
            (r#"{"cuda":null,"gpus":0}"#, false),
            (r#"{"cuda":"13.0","gpus":0}"#, false),
            (r#"{"cuda":"13.0","gpus":1}"#, true),
        ] {
            assert_eq!(found(line, has_driver).verdict, Verdict::Good, "{line}");
        }
        for (line, part) in [
            (r#"{"cuda":null,"gpus":0}"#, "a build for CPUs, so the GPU idles"),
            (r#"{"cuda":"13.0","gpus":0}"#, "finds no GPU"),
            ("error: unrecognized subcommand", "without libtorch"),
        ] {
            let finding = found(line, true);
            assert!(matches!(finding.verdict, Verdict::Lacking { .. }), "{line}");
            assert!(finding.what.contains(part), "{}", finding.what);
        }
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version("Python 3.11.2"), Some((3, 11)));
        assert!(version("Python 3.9.18").unwrap() < super::OLDEST);
    }
}
