//! Options of commands that learn in groups of processes.

use std::path::PathBuf;

use clap::Args;
use lyceum_worker::ModelsFolder;
use lyceum_worker::trainer::{Torchrun, TorchrunSettings};

/// Options for torchrun.
#[derive(Debug, Args)]
pub(crate) struct TorchrunArgs {
    /// A Python with torch, transformers, peft and safetensors, for updates whose config says `compute.trainer` = "torchrun":
    /// each is computed by a group of processes that share the base. See docs/SCALING.md.
    #[arg(long, env = "LYCEUM_TORCHRUN_PYTHON", value_name = "PYTHON", requires = "torchrun_processes")]
    torchrun_python: Option<PathBuf>,
    /// Processes of a group; with GPUs, one for each.
    #[arg(long, env = "LYCEUM_TORCHRUN_PROCESSES", value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    torchrun_processes: Option<u16>,
}

impl TorchrunArgs {
    /// Whether there is an interpreter.
    pub(crate) fn is_given(&self) -> bool {
        self.torchrun_python.is_some()
    }

    /// Groups on `device`, `cpu` or `auto`, if there is an interpreter.
    pub(crate) fn start(&self, models: ModelsFolder, device: &str) -> anyhow::Result<Option<Torchrun>> {
        let Some((python, processes)) = self.torchrun_python.clone().zip(self.torchrun_processes) else {
            return Ok(None);
        };
        let settings = TorchrunSettings { python, processes, device: device.to_owned() };
        Ok(Some(Torchrun::new(settings, models)?))
    }
}
