//! Options of commands that let servers generate.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use lyceum_worker::ModelsFolder;
use lyceum_worker::sampler::{Served, ServedSettings};

/// Options for vLLM servers.
#[derive(Debug, Args)]
pub(crate) struct ServedArgs {
    /// A vLLM server, such as http://127.0.0.1:8000, for items whose config says `compute.sampler` = "served"; several are
    /// separated by commas. See docs/SCALING.md for how to start one.
    #[arg(long, env = "LYCEUM_VLLM", value_name = "URL", value_delimiter = ',', requires = "vllm_adapters")]
    vllm: Vec<String>,
    /// What the servers were given as --api-key.
    #[arg(long, env = "LYCEUM_VLLM_KEY", value_name = "KEY", hide_env_values = true)]
    vllm_key: Option<String>,
    /// Folder for adapters, which the servers see at the same path.
    #[arg(long, env = "LYCEUM_VLLM_ADAPTERS", value_name = "DIR")]
    vllm_adapters: Option<PathBuf>,
    /// The servers find adapters in that folder by themselves (vLLM's lora_filesystem_resolver). Needed if an address stands
    /// for several servers.
    #[arg(long, env = "LYCEUM_VLLM_RESOLVER")]
    vllm_resolver: bool,
    /// Ask the base model in the name of an adapter of zeros. Needed for vLLM on a CPU, which otherwise applies one of the loaded
    /// adapters to requests without any.
    #[arg(long, env = "LYCEUM_VLLM_BASE_AS_ADAPTER")]
    vllm_base_as_adapter: bool,
    /// Adapters to keep in the folder and loaded, in addition to those in use.
    #[arg(long, env = "LYCEUM_VLLM_ADAPTERS_KEPT", value_name = "N", default_value_t = 64)]
    vllm_adapters_kept: usize,
    /// Requests on their way to the servers at once.
    #[arg(long, env = "LYCEUM_VLLM_REQUESTS", value_name = "N", default_value_t = 256,
          value_parser = clap::value_parser!(u16).range(1..=32_768))]
    vllm_requests: u16,
    /// Items to run at once on the servers.
    #[arg(long, env = "LYCEUM_VLLM_ITEMS", value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    vllm_items: u16,
    /// Seconds to try again while no server answers, before an item fails and is queued again.
    #[arg(long, env = "LYCEUM_VLLM_PATIENCE_SECONDS", value_name = "SECONDS", default_value_t = 600)]
    vllm_patience_seconds: u64,
}

impl ServedArgs {
    /// Whether there is a server.
    pub(crate) fn is_given(&self) -> bool {
        !self.vllm.is_empty()
    }

    /// Items to run at once.
    pub(crate) fn items(&self) -> usize {
        usize::from(self.vllm_items)
    }

    /// The servers, if there are any.
    pub(crate) fn start(&self, models: ModelsFolder) -> anyhow::Result<Option<Served>> {
        if !self.is_given() {
            return Ok(None);
        }
        let adapters = self.vllm_adapters.clone();
        let settings = ServedSettings {
            servers: self.vllm.clone(),
            key: self.vllm_key.clone(),
            adapters: adapters.context("--vllm needs --vllm-adapters DIR")?,
            resolver: self.vllm_resolver,
            base_as_adapter: self.vllm_base_as_adapter,
            kept: self.vllm_adapters_kept,
            in_flight: usize::from(self.vllm_requests),
            patience: Duration::from_secs(self.vllm_patience_seconds),
            ..ServedSettings::default()
        };
        Ok(Some(Served::start(settings, models)?))
    }
}
