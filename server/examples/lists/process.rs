//! What this process, with the server in it, takes of the machine.

use std::fs;

use anyhow::Context as _;

/// The most memory that it had since [`forget_peak`], in MB.
pub(super) fn peak_mb() -> anyhow::Result<f64> {
    memory("VmHWM:")
}

/// The memory that it has, in MB.
pub(super) fn resident_mb() -> anyhow::Result<f64> {
    memory("VmRSS:")
}

/// Begins to take the peak anew.
pub(super) fn forget_peak() -> anyhow::Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be taken anew")
}

fn memory(name: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib = kib.with_context(|| format!("no {name} in /proc/self/status"))?;
    Ok(kib.trim().parse::<f64>()? * 1024.0 / 1e6)
}
