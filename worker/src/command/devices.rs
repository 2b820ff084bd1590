//! `lyceum-worker devices`.

use std::io::Write as _;

use clap::Args;
use lyceum_engine::libtorch::Libtorch;

/// Show what the loaded libtorch can compute on, as one line of JSON
///
/// `cuda` is the version of CUDA that it was built for (null in a build for CPUs), `gpus` the number of GPUs that it finds.
#[derive(Args, Debug)]
pub(crate) struct Devices {}

impl Devices {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let line = serde_json::to_string(&Libtorch::loaded())?;
        writeln!(std::io::stdout(), "{line}")?;
        Ok(())
    }
}
