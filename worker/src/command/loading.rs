//! Arguments for a base and its adapters, and loading them.

use std::path::PathBuf;

use clap::Args;
use lyceum_core::work::Dtype;
use lyceum_engine::peft::read_population;
use lyceum_engine::{Model, Placement, Population};

/// A base, its adapters, and where to compute.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The base: a folder as Hugging Face stores it, or an id on its hub such as Qwen/Qwen2.5-0.5B.
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// PEFT folder of an adapter; repeatable. All must have the same rank, scaling and projections.
    #[arg(long = "adapter", value_name = "DIR")]
    adapters: Vec<PathBuf>,
    /// Precision: fp32 (the reference) or bf16.
    #[arg(long, default_value = "fp32")]
    dtype: Dtype,
    /// Device: auto (a GPU if there is one), cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto")]
    device: String,
}

/// A model and, if there are adapters, their population.
pub(crate) struct Loaded {
    pub(crate) model: Model,
    pub(crate) population: Option<Population>,
}

impl ModelArgs {
    /// The folder of the base.
    pub(crate) fn folder(&self) -> anyhow::Result<PathBuf> {
        Ok(lyceum_engine::hub::model_folder(&self.model)?)
    }

    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        let placement = Placement::new(&self.device, self.dtype)?;
        let model = Model::load(&self.folder()?, placement)?;
        let population = if self.adapters.is_empty() {
            None
        } else {
            Some(read_population(&self.adapters, &model.config, placement.device)?)
        };
        Ok(Loaded { model, population })
    }
}
