//! The worker's libtorch: whether it is a build for the GPU that there is.

use std::path::Path;

use serde::Deserialize;

use super::{Finding, ask, gpu};

/// What `lyceum-worker devices` prints.
#[derive(Deserialize)]
struct Devices {
    /// The version of CUDA that libtorch was built for.
    cuda: Option<String>,
    /// GPUs that it finds.
    gpus: u32,
}

pub(super) fn examine(worker: &Path) -> Finding {
    let said = ask(worker, &["devices"]);
    judge(
        said.and_then(|line| serde_json::from_str(&line).ok()),
        gpu::has_driver(),
    )
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
        (Some(cuda), 0) => Finding::good(format!(
            "libtorch for CUDA {cuda}; without a GPU it computes on the CPU"
        )),
        (Some(cuda), 1) => Finding::good(format!("libtorch for CUDA {cuda} finds 1 GPU")),
        (Some(cuda), gpus) => Finding::good(format!(
            "libtorch for CUDA {cuda} finds {gpus} GPUs, of which a worker uses one"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

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
}
