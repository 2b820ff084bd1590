//! Estimates of a run's resources: peak memory of generation and of an update, and the time of a step, taken from the
//! fastest of the newest similar runs.

mod base;

use lyceum_core::config::{PopulationConfig, RunConfig};
use lyceum_core::footprint::{BaseShape, GenerationFootprint, GenerationShape, UpdateFootprint, UpdateShape};
use lyceum_core::id::ExecutionId;
use lyceum_core::work::LoraShape;
use lyceum_store::executions;
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{self, Run, RunFilter, RunSort};
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use sqlx::PgPool;
use std::path::PathBuf;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;

/// Maximum sequences in flight in the engine.
const SLOTS: u64 = 256;
/// Approximate bytes per token of a prompt, whose limits are in bytes.
const BYTES_A_TOKEN: u64 = 4;
/// The vocabulary up to which a token is rarely more than a byte.
const VOCABULARY_OF_BYTES: u64 = 1024;
/// Newest runs searched for similar ones.
const LOOKED_AT: u32 = 50;
/// Similar runs whose pace is looked at.
const ALIKE: usize = 5;

/// Where recipes' parameters describe how members learn.
const LEARNING: [&str; 3] = ["/learning", "/proposer/learning", "/solver/learning"];
/// Answers to a problem.
const SAMPLES: [&str; 4] = ["/samples_per_problem", "/difficulty_samples", "/vote/samples", "/solver/n"];
/// Those of them that are learned from.
const LEARNED_SAMPLES: [&str; 3] = ["/samples_per_problem", "/proposals_per_prompt", "/solver/n"];
/// Limits of completions, in tokens.
const COMPLETIONS: [&str; 8] = [
    "/sampling/propose/max_tokens",
    "/sampling/solve/max_tokens",
    "/sampling/challenge/max_tokens",
    "/sampling/plan/max_tokens",
    "/proposer/sampling/max_tokens",
    "/curriculum/sampling/max_tokens",
    "/vote/sampling/max_tokens",
    "/solver/sampling/max_tokens",
];

/// The estimated resources of a run.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Estimate {
    /// Memory, by population.
    pub(crate) memory: Vec<MemoryEstimate>,
    /// Median seconds of the last 20 steps of the fastest of the newest similar runs, since others may have shared their
    /// workers; none if there is no such run.
    pub(crate) step_seconds: Option<f64>,
    /// Seconds of all steps at that speed.
    pub(crate) seconds: Option<f64>,
    /// The similar run.
    pub(crate) like: Option<Uuid>,
    /// Its name.
    pub(crate) like_name: Option<String>,
}

/// Peak memory of a population's updates and generation, in bytes, by use (`lyceum_core::footprint`).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct MemoryEstimate {
    /// The population.
    pub(crate) population: String,
    /// Its base model.
    pub(crate) base_model: String,
    /// Total memory of an update; none if unknown.
    pub(crate) bytes: Option<u64>,
    /// The base's weights.
    pub(crate) base: Option<u64>,
    /// The members' weights before and after.
    pub(crate) adapters: Option<u64>,
    /// AdamW's moments before and after.
    pub(crate) moments: Option<u64>,
    /// The gradient, and the weights in the layout for matrix products.
    pub(crate) gradient: Option<u64>,
    /// Activations and temporary buffers.
    pub(crate) activations: Option<u64>,
    /// Total memory of generation if all answers reach their limits; none if unknown.
    pub(crate) generation: Option<u64>,
    /// The part of it for keys and values of sequences in flight.
    pub(crate) cache: Option<u64>,
    /// Why it is unknown.
    pub(crate) unknown: Option<String>,
}

/// The longest sequence that the base model called `name` reads, in tokens; `None` if its folder is not on this machine.
pub(crate) fn context_of(name: &str) -> Option<u64> {
    base::ModelsFolder::find().context(name)
}

/// The tokens of the vocabulary of the base model called `name`, if its folder is on this machine or its name is known.
pub(crate) fn vocabulary_of(name: &str) -> Option<u64> {
    let shape = base::ModelsFolder::find().sizes(name).ok()?;
    Some(shape.vocab_size)
}

/// The folder of a base model, if it is on this machine.
pub(crate) fn folder_of(name: &str) -> Option<PathBuf> {
    base::ModelsFolder::find().folder(name)
}

/// The names of the base models on this machine.
pub(crate) fn bases_here() -> Vec<String> {
    base::ModelsFolder::find().names()
}

impl Estimate {
    /// The estimate of a run of `config`. Step times are those of `from`, or else of the newest run of its recipe and
    /// `preset`.
    ///
    /// # Errors
    /// `from` does not exist, or the database fails.
    pub(crate) async fn of(
        db: &PgPool,
        config: &RunConfig,
        preset: Option<&str>,
        from: Option<ExecutionId>,
    ) -> Result<Self, ApiError> {
        let (like, pace) = fastest(db, &config.recipe, preset, from).await?.unzip();
        let (asked, models) = (config.clone(), base::ModelsFolder::find());
        let memory = tokio::task::spawn_blocking(move || {
            let populations = asked.populations.iter();
            populations.map(|(name, population)| MemoryEstimate::of(name, population, &asked, &models)).collect()
        });
        Ok(Self {
            memory: memory.await.map_err(|error| ApiError::internal(&error))?,
            step_seconds: pace,
            seconds: pace.map(|seconds| seconds * f64::from(config.steps)),
            like: like.as_ref().map(|run| run.id),
            like_name: like.map(|run| run.name),
        })
    }
}

impl MemoryEstimate {
    fn of(name: &str, population: &PopulationConfig, config: &RunConfig, models: &base::ModelsFolder) -> Self {
        let base = models.sizes(&population.base_model.name);
        let peak = |base: &BaseShape| {
            let generation = generation(population, config, base).map(|shape| shape.peak(base, &population.lora));
            let peaks = updates(population, config, base).into_iter().map(|(shape, lora)| shape.peak(base, &lora));
            let largest = peaks.max_by_key(UpdateFootprint::total);
            let undescribed = || format!("the parameters of `{}` do not describe learning", config.recipe);
            Ok((largest.ok_or_else(undescribed)?, generation))
        };
        let ((peak, generation), unknown) = match base.and_then(|base| peak(&base)) {
            Ok((peak, generation)) => ((Some(peak), generation), None),
            Err(unknown) => ((None, None), Some(unknown)),
        };
        let part = |of: fn(&UpdateFootprint) -> u64| peak.as_ref().map(of);
        Self {
            population: name.to_owned(),
            base_model: population.base_model.name.clone(),
            bytes: part(UpdateFootprint::total),
            base: part(|peak| peak.base),
            adapters: part(|peak| peak.adapters),
            moments: part(|peak| peak.moments),
            gradient: part(|peak| peak.gradient),
            activations: part(|peak| peak.activations + peak.transient),
            generation: generation.as_ref().map(GenerationFootprint::total),
            cache: generation.map(|peak| peak.cache),
            unknown,
        }
    }
}

/// The updates of a run that any of `population` may take part in: of its members, with micro-batches of maximum size of the
/// shortest answers to shared prompts, or of answers of different lengths; and of an observer that measures epiplexity.
fn updates(population: &PopulationConfig, config: &RunConfig, base: &BaseShape) -> Vec<(UpdateShape, LoraShape)> {
    let samples = LEARNED_SAMPLES.iter().filter_map(|pointer| size(config, pointer)).max();
    let prompt = prompt_tokens(config, base).or_else(|| completion_tokens(config)).unwrap_or(0);
    let members = members(population);
    let together = config.parameters["items"]["update"].as_u64().unwrap_or(members);
    let largest = |members: u64, rows: &Value, recompute: bool, lora: &LoraShape| {
        let rows = rows.as_u64().and_then(|rows| u32::try_from(rows).ok())?;
        let shape = UpdateShape::largest(members, rows, config.compute.dtype, recompute);
        Some((shape, lora.clone()))
    };
    let of_members = LEARNING.iter().filter_map(|pointer| {
        let learning = config.parameters.pointer(pointer)?;
        let recompute = learning["recompute"].as_bool()?;
        let (shape, lora) =
            largest(members.min(together), &learning["micro_batch_tokens"], recompute, &population.lora)?;
        // Answers differ in length, and attention pads them.
        let shape = shape.with_shared_prompts(samples.unwrap_or(1), prompt).with_any_lengths(false);
        Some((shape, lora))
    });
    let observer = config.parameters.pointer("/diversity/epiplexity").and_then(|observer| {
        let lora = LoraShape::deserialize(&observer["lora"]).ok()?;
        largest(1, &observer["micro_batch_tokens"], true, &lora)
    });
    of_members.chain(observer).collect()
}

/// The largest generation of `population`: an item of proposals or of solutions with all its members. `None` if the
/// recipe's parameters do not tell their sizes.
fn generation(population: &PopulationConfig, config: &RunConfig, base: &BaseShape) -> Option<GenerationShape> {
    let samples = SAMPLES.iter().filter_map(|pointer| size(config, pointer)).max();
    let proposals = size(config, "/items/propose")? * size(config, "/proposer/n").unwrap_or(1);
    let solutions = size(config, "/items/solve")? * samples.unwrap_or(1);
    let completion = completion_tokens(config)?;
    // A solver's prompt is a question, and so at most a completion.
    let prompt = prompt_tokens(config, base).unwrap_or(completion);
    Some(GenerationShape {
        members: members(population),
        slots: proposals.max(solutions).min(SLOTS),
        length: completion + prompt,
        bytes: config.compute.dtype.bytes(),
    })
}

fn size(config: &RunConfig, pointer: &str) -> Option<u64> {
    config.parameters.pointer(pointer)?.as_u64()
}

/// The longest completion, in tokens.
fn completion_tokens(config: &RunConfig) -> Option<u64> {
    COMPLETIONS.iter().filter_map(|pointer| size(config, pointer)).max()
}

/// The longest prompt that is made of a problem, in tokens.
fn prompt_tokens(config: &RunConfig, base: &BaseShape) -> Option<u64> {
    let bytes = size(config, "/problems/max_prompt_bytes")?;
    Some(if base.vocab_size <= VOCABULARY_OF_BYTES { bytes } else { bytes / BYTES_A_TOKEN })
}

fn members(population: &PopulationConfig) -> u64 {
    population.members.iter().map(|group| u64::from(group.count)).sum()
}

/// The fastest of the newest runs of `recipe` and `preset`, and the median seconds of its last 20 steps.
///
/// # Errors
/// The database fails.
pub(crate) async fn like_pace(
    db: &PgPool,
    recipe: &str,
    preset: Option<&str>,
) -> Result<Option<(Uuid, f64)>, ApiError> {
    let like = fastest(db, recipe, preset, None).await?;
    Ok(like.map(|(run, seconds)| (run.id, seconds)))
}

/// The fastest of the runs that are alike, with the median seconds of its last steps.
async fn fastest(
    db: &PgPool,
    recipe: &str,
    preset: Option<&str>,
    from: Option<ExecutionId>,
) -> Result<Option<(Run, f64)>, ApiError> {
    let mut fastest: Option<(Run, f64)> = None;
    for run in like(db, recipe, preset, from).await? {
        let pace = executions::pace(db, ExecutionId(run.id)).await?;
        if let Some(seconds) = pace.median_seconds
            && fastest.as_ref().is_none_or(|(_, least)| seconds < *least)
        {
            fastest = Some((run, seconds));
        }
    }
    Ok(fastest)
}

/// The given run, else the newest of the same recipe and preset that have finished steps.
async fn like(
    db: &PgPool,
    recipe: &str,
    preset: Option<&str>,
    from: Option<ExecutionId>,
) -> Result<Vec<Run>, ApiError> {
    if let Some(id) = from {
        return Ok(vec![runs::find(db, id).await?.run]);
    }
    let filter = RunFilter { recipe: Some(recipe.to_owned()), ..RunFilter::default() };
    let newest = Window { limit: LOOKED_AT, after: None, order: Order::Newest };
    let runs = runs::page(db, &filter, &RunSort::Age, &newest).await?.items;
    let is_like = |run: &Run| run.preset.as_deref() == preset && run.step > 0;
    Ok(runs.into_iter().filter(is_like).take(ALIKE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::config::resolve;
    use lyceum_core::recipe::Registry;
    use lyceum_core::work::Observer;
    use serde_json::json;

    fn preset(name: &str) -> RunConfig {
        let path = format!("{}/../configs/runs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let document: Value = toml::from_str(&text).unwrap();
        resolve(&document, &Registry::shipped()).unwrap()
    }

    fn estimate(config: &RunConfig) -> MemoryEstimate {
        let (name, population) = config.populations.iter().next().unwrap();
        MemoryEstimate::of(name, population, config, &base::ModelsFolder::find())
    }

    #[test]
    fn memory_is_that_of_the_formula_for_a_model_whose_sizes_are_known() {
        let mut config = preset("demo");
        let demo = estimate(&config);
        let population = &config.populations["main"];
        let base = base::ModelsFolder::find().sizes("seedling").unwrap();
        let [(shape, lora)] = <[_; 1]>::try_from(updates(population, &config, &base)).unwrap();
        let expected = shape.peak(&base, &lora);
        assert_eq!((demo.bytes, demo.unknown), (Some(expected.total()), None));
        let generation = generation(population, &config, &base).unwrap();
        let cache = generation.peak(&base, &population.lora).cache;
        assert_eq!((demo.cache, demo.generation > Some(cache)), (Some(cache), true));
        // A token of the seedling is a letter.
        assert_eq!(generation.length, 368 + 144);
        config.parameters["learning"]["micro_batch_tokens"] = 16384.into();
        assert!(estimate(&config).bytes > demo.bytes);
    }

    #[test]
    fn attention_pads_answers_of_different_lengths() {
        let base = base::ModelsFolder::find().sizes("seedling").unwrap();
        let places = |name: &str| {
            let config = preset(name);
            let shapes = updates(&config.populations["main"], &config, &base);
            shapes.iter().map(|(shape, _)| shape.places).max()
        };
        assert_eq!(places("azr-seedling"), Some(2 * 8192));
        // Eight answers to a prompt that is longer than they are.
        assert!(places("demo") > Some(4 * 8192));
    }

    #[test]
    fn recipes_have_estimates_wherever_their_parameters_describe_learning() {
        for name in ["rlvr-qwen2.5-coder-7b", "rzero-qwen3-4b", "sage-qwen2.5-7b", "populora-qwen2.5-coder-7b"] {
            let found = estimate(&preset(name));
            assert_eq!(found.unknown, None, "{name}");
            assert!(found.bytes > found.base, "{name}");
            // How long the rows of RLVR's dataset are, its parameters do not say.
            assert_eq!(found.generation.is_some(), !name.starts_with("rlvr"), "{name}");
        }
    }

    #[test]
    fn an_observer_counts_where_it_is_larger_than_an_update() {
        let mut config = preset("rzero-qwen3-4b");
        let without = estimate(&config).bytes.unwrap();
        config.parameters["diversity"]["epiplexity"] = json!(Observer::default());
        config.parameters["diversity"]["epiplexity"]["micro_batch_tokens"] = 64.into();
        assert_eq!(estimate(&config).bytes.unwrap(), without);
        config.parameters["diversity"]["epiplexity"]["micro_batch_tokens"] = 65_536.into();
        assert!(estimate(&config).bytes.unwrap() > without);
    }

    #[test]
    fn what_is_not_known_is_said_with_why() {
        let mut config = preset("demo");
        let population = config.populations.get_mut("main").unwrap();
        population.base_model.name = "someone/another-model".to_owned();
        let unknown = estimate(&config);
        assert_eq!(unknown.bytes, None);
        assert!(unknown.unknown.unwrap().contains("someone/another-model"));
        config.parameters = Value::Null;
        config.populations.get_mut("main").unwrap().base_model.name = "Qwen/Qwen2.5-7B".to_owned();
        assert!(estimate(&config).unknown.unwrap().contains("do not describe learning"));
    }
}
