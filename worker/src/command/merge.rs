//! `merge`: merges an adapter into its base.

use std::path::PathBuf;

use clap::Args;

/// Write a model folder equivalent to base plus adapter, like peft's `merge_and_unload`.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// The base: a folder as Hugging Face stores it, or an id on its hub such as Qwen/Qwen2.5-0.5B.
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// PEFT folder of the adapter.
    #[arg(long, value_name = "DIR")]
    adapter: PathBuf,
    /// Folder to write; must not exist or be empty.
    #[arg(long = "out", value_name = "DIR")]
    output: PathBuf,
}

impl Merge {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let model = lyceum_engine::hub::model_folder(&self.model)?;
        Ok(lyceum_engine::merge::merge(&model, &self.adapter, &self.output)?)
    }
}
