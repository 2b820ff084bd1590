//! `evolve`: creates a child of one or two adapters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::evolution::{CATALOGUE, INIT, Parameter};
use lyceum_core::work::{LoraShape, Projection};
use lyceum_engine::ModelConfig;
use lyceum_engine::evolve::{Birth, Parent, init};

/// Create a child of one or two adapters with an operator of PopuLoRA, or a fresh adapter
///
/// A mutation of one parent, with a non-default parameter:
///
///   lyceum-worker evolve --operator M1 --parent adapters/a --out adapters/child --seed 7 --set epsilon=0.2
///
/// A crossover of two parents:
///
///   lyceum-worker evolve --operator X1 --parent adapters/a --parent adapters/b --out adapters/child --seed 7
///
/// A fresh adapter (A random, B zero), which needs the dimensions of the base:
///
///   lyceum-worker evolve --operator init --model models/seedling --rank 8 --alpha 16 --out adapters/a --seed 7
///
/// The same parents, operator, parameters and seed give the same bytes. A summary is printed as
/// one JSON object.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Evolve {
    /// List all operators with their parameters and exit.
    #[arg(long, exclusive = true)]
    list: bool,
    /// The operator, as --list names it, or `init`.
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    operator: Option<String>,
    /// PEFT folder of a parent; crossovers take two, in order.
    #[arg(long = "parent", value_name = "DIR")]
    parents: Vec<PathBuf>,
    /// Folder to write; must not exist or be empty.
    #[arg(long = "out", value_name = "DIR", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// Seed of the operator's random numbers.
    #[arg(long, value_name = "N", required_unless_present = "list")]
    seed: Option<u64>,
    /// Override a parameter's default; repeatable.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, f64)>,
    /// With `init`: Hugging Face folder of the base.
    #[arg(long, value_name = "DIR", required_if_eq("operator", INIT))]
    model: Option<String>,
    /// With `init`: rank.
    #[arg(long, default_value_t = 32)]
    rank: u32,
    /// With `init`: numerator of the scaling alpha / rank.
    #[arg(long, default_value_t = 64.0)]
    alpha: f64,
    /// With `init`: the projections to adapt, comma-separated.
    #[arg(long, value_delimiter = ',', default_value = "q_proj,k_proj,v_proj,o_proj")]
    targets: Vec<Projection>,
}

impl Evolve {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.list {
            list();
            return Ok(());
        }
        let (Some(operator), Some(output), Some(seed)) = (&self.operator, &self.output, self.seed) else {
            anyhow::bail!("--operator, --out and --seed are needed");
        };
        let started = Instant::now();
        let (parameters, notes) = if operator == INIT {
            self.init(output, seed)?;
            (BTreeMap::new(), Vec::new())
        } else {
            let parents = self.parents.iter().map(|folder| Parent::open(folder)).collect::<Result<_, _>>()?;
            let birth = Birth::new(operator, &self.settings.iter().cloned().collect(), parents, seed)?;
            (birth.parameters().clone(), birth.write(output)?)
        };
        let done = serde_json::json!({
            "operator": operator,
            "parameters": parameters,
            "parents": self.parents,
            "seed": seed,
            "out": output,
            "notes": notes,
            "seconds": started.elapsed().as_secs_f64(),
        });
        println!("{done}");
        Ok(())
    }

    fn init(&self, output: &Path, seed: u64) -> anyhow::Result<()> {
        anyhow::ensure!(self.parents.is_empty(), "operator {INIT} takes no --parent");
        anyhow::ensure!(self.settings.is_empty(), "operator {INIT} has no parameters for --set");
        let model = self.model.as_deref().context("operator init needs --model")?;
        let base = ModelConfig::from_folder(&lyceum_engine::hub::model_folder(model)?)?;
        let shape = LoraShape::new(self.rank, self.alpha, false, self.targets.clone())?;
        Ok(init(&base, model, shape, seed)?.write_new(output)?)
    }
}

fn setting(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as p=0.7")?;
    let number = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((name.to_owned(), number))
}

fn list() {
    for operator in &CATALOGUE {
        let parents = if operator.arity == 1 { "one parent" } else { "two parents" };
        println!(
            "{}  {} ({}, {parents}{})",
            operator.name,
            operator.title,
            operator.family.name(),
            if operator.stochastic { "" } else { ", no draws" }
        );
        println!("    {}", operator.description);
        for parameter in operator.parameters {
            let Parameter { name, default, description, .. } = parameter;
            println!("    --set {name}={default}    {description} {}.", capitalised(&parameter.range()));
        }
    }
    println!("{INIT}  fresh adapter (no parents)\n    Draws A and leaves B zero, as peft does; needs --model.");
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
