//! The local worker, with libtorch and the sandbox.

use std::process::{Command, Stdio};

use super::{Finding, libtorch};
use crate::settings::Worker;
use crate::supervise::worker::find;

pub(super) fn examine(settings: &Worker) -> Vec<Finding> {
    if !settings.wanted {
        return vec![Finding::lacking(
            "the local worker is disabled",
            "run lyceum-worker elsewhere, or remove --no-worker",
        )];
    }
    match find(settings.program.as_deref()) {
        Ok(program) => {
            let runs = Finding::good(format!("{} runs and belongs to this release", program.display()));
            vec![runs, libtorch::examine(&program), sandbox(&program)]
        }
        Err(error) => vec![Finding::error(&error)],
    }
}

fn sandbox(program: &std::path::Path) -> Finding {
    let cure = "see docs/SECURITY.md; a machine that cannot confine programs must not run them";
    // Judging begins with the self-test; there is nothing to judge.
    let judging = Command::new(program)
        .args(["verify", "--in", "-", "--out", "-"])
        .stdin(Stdio::null())
        .output();
    match judging {
        Ok(output) if output.status.success() => Finding::good("the verifier's sandbox contains its attacks"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("it said nothing");
            Finding::bad(format!("the verifier's self-test failed: {last}"), cure)
        }
        Err(error) => Finding::bad(format!("the verifier's self-test does not run: {error}"), cure),
    }
}
