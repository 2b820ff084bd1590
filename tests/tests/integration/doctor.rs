//! `lyceum doctor` on this machine, with the real worker.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

#[test]
fn this_machine_can_work() -> Result<()> {
    let programs = Path::new(env!("CARGO_BIN_EXE_scripted-worker")).parent().context("a folder")?;
    let (lyceum, worker) = (programs.join("lyceum"), programs.join("lyceum-worker"));
    if !lyceum.exists() || !worker.exists() {
        eprintln!("SKIPPED: `cargo build --workspace --bins` has not been run");
        return Ok(());
    }
    let data = tempfile::tempdir()?;
    let output = Command::new(lyceum)
        .args([
            "--data".as_ref(),
            data.path(),
            "doctor".as_ref(),
            "--port".as_ref(),
            "0".as_ref(),
            "--worker".as_ref(),
            &worker,
        ])
        .output()?;
    let said = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        format!("good     {} runs and belongs to this release", worker.display()),
        "good     the verifier's sandbox contains its attacks".to_owned(),
    ] {
        assert!(said.lines().any(|one| one == line), "{line} is not in\n{said}");
    }
    assert!(said.contains("libtorch"), "{said}");
    Ok(())
}
