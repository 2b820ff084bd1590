//! `rlvr` on rows of GSM8K and HumanEval as they are published: server, database, queue, sandbox.

use anyhow::{Context as _, Result};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::benchmark::reader::{self, Window};
use lyceum_core::benchmark::{BenchmarkRow, PromptStyle, suite};
use lyceum_core::id::ExecutionId;
use lyceum_core::seed::stream;
use lyceum_core::work::{Completion, FinishReason, Generated, RolloutPayload, RolloutResult, RolloutUsage, WorkKind};
use lyceum_store::artifact::ArtifactStore;
use lyceum_system_tests::handlers;
use lyceum_system_tests::house::{House, WorkerArguments, registry};
use lyceum_system_tests::lab::Lab;
use lyceum_verifier::{Verifier, VerifierConfig};
use lyceum_worker::handler::{Context, Handler, HandlerError};
use lyceum_worker::handlers::VerifyHandler;
use lyceum_worker::runtime::{Runtime, RuntimeSettings};
use rand::Rng as _;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");
/// Rows of each set.
const ROWS: usize = 12;
/// Longer than the prompts of these rows by a model that reads letter by letter.
const CONTEXT: usize = 4096;

/// Rows of both sets; none where the files are not there.
fn rows() -> Result<Option<Vec<BenchmarkRow>>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let mut rows = Vec::new();
    for (name, file) in [("gsm8k", "math/gsm8k.jsonl"), ("humaneval", "humaneval/HumanEval.jsonl.gz")] {
        let file = data.join(file);
        if !file.is_file() {
            eprintln!("skipped: {} is not there", file.display());
            return Ok(None);
        }
        let read = reader::read(suite(name)?, &reader::unpacked(&std::fs::read(&file)?)?, &Window::default())?;
        rows.extend(read.rows.into_iter().take(ROWS));
    }
    Ok(Some(rows))
}

fn values(rows: &[BenchmarkRow]) -> Result<Vec<Value>> {
    Ok(rows.iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
}

/// Two steps over all rows but four, which are held out.
fn document(base: &str, prompts: &str, max_tokens: u32) -> Value {
    json!({
        "recipe": "rlvr",
        "seed": 3,
        "steps": 2,
        "compute": {"threads": 1},
        "populations": {"main": {
            "base_model": {"name": base},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj", "v_proj"]},
            "members": [{"roles": ["solver"], "count": 1}],
        }},
        "parameters": {
            "prompts": prompts,
            "batch": 2 * ROWS - 4,
            "n": 2,
            "sampling": {"max_tokens": max_tokens},
            "reward": {"solution": "tests_passed", "format_penalty": 0.5},
            "held_out": {"rows": 4, "every": 1, "n": 2},
            "learning": {"micro_batch_tokens": 8192, "recompute": false},
            "items": {"solve": 7},
        },
        "scheduling": {"max_attempts": 2},
    })
}

async fn begin(house: &House, rows: &[BenchmarkRow], mut document: Value) -> Result<ExecutionId> {
    let id = house.training_set(&values(rows)?).await?;
    document["parameters"]["dataset"] = json!({"id": id, "rows": rows.len()});
    house.begin_document(1, &document).await
}

/// The name, the number of values and the tensor's shape of a Qwen2 of one layer.
fn tensors(config: &Value) -> Vec<(&'static str, Vec<usize>)> {
    let size = |name: &str| config[name].as_u64().unwrap_or_default() as usize;
    let (hidden, inner, vocabulary) = (size("hidden_size"), size("intermediate_size"), size("vocab_size"));
    vec![
        ("model.embed_tokens.weight", vec![vocabulary, hidden]),
        ("model.layers.0.input_layernorm.weight", vec![hidden]),
        ("model.layers.0.self_attn.q_proj.weight", vec![hidden, hidden]),
        ("model.layers.0.self_attn.q_proj.bias", vec![hidden]),
        ("model.layers.0.self_attn.k_proj.weight", vec![hidden, hidden]),
        ("model.layers.0.self_attn.k_proj.bias", vec![hidden]),
        ("model.layers.0.self_attn.v_proj.weight", vec![hidden, hidden]),
        ("model.layers.0.self_attn.v_proj.bias", vec![hidden]),
        ("model.layers.0.self_attn.o_proj.weight", vec![hidden, hidden]),
        ("model.layers.0.post_attention_layernorm.weight", vec![hidden]),
        ("model.layers.0.mlp.gate_proj.weight", vec![inner, hidden]),
        ("model.layers.0.mlp.up_proj.weight", vec![inner, hidden]),
        ("model.layers.0.mlp.down_proj.weight", vec![hidden, inner]),
        ("model.norm.weight", vec![hidden]),
    ]
}

/// A model of random weights called `random` with the seedling's tokenizer, in a folder of models.
fn random_model(context: usize) -> Result<tempfile::TempDir> {
    let models = tempfile::tempdir()?;
    let folder = models.path().join("random");
    std::fs::create_dir(&folder)?;
    let seedling = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/seedling");
    for file in ["tokenizer.json", "tokenizer_config.json", "generation_config.json"] {
        std::fs::copy(seedling.join(file), folder.join(file))?;
    }
    let mut config: Value = serde_json::from_slice(&std::fs::read(seedling.join("config.json"))?)?;
    for (name, value) in [
        ("hidden_size", 16),
        ("intermediate_size", 32),
        ("num_hidden_layers", 1),
        ("num_attention_heads", 2),
        ("num_key_value_heads", 2),
        ("max_position_embeddings", context),
    ] {
        config[name] = json!(value);
    }
    config["torch_dtype"] = json!("float32");
    std::fs::write(folder.join("config.json"), serde_json::to_vec(&config)?)?;
    let (mut header, mut data) = (Map::new(), Vec::<u8>::new());
    for (place, (name, shape)) in (0..).zip(tensors(&config)) {
        let mut random = stream(1, "weights", place);
        let start = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            let value: f32 = if name.contains("norm") { 1.0 } else { random.random_range(-0.5..0.5) };
            data.extend(value.to_le_bytes());
        }
        header.insert(name.to_owned(), json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
    }
    // https://github.com/huggingface/safetensors#format
    let header = serde_json::to_vec(&header)?;
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    std::fs::write(folder.join("model.safetensors"), file)?;
    Ok(models)
}

/// A worker with the real engine and sandbox.
fn worker(models: PathBuf) -> WorkerArguments {
    WorkerArguments { models_folder: Some(models), ..WorkerArguments::default() }
}

/// Attempts, correct ones, the least and the greatest reward, and the share of correct answers on held-out rows.
async fn outcome(house: &House, run: ExecutionId) -> Result<(i64, i64, f32, f32, f64)> {
    Ok(sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE correct), min(reward), max(reward),
             (SELECT avg(c::float8 / n) FROM held_out_results h, unnest(h.correct) c WHERE h.run_id = $1)
         FROM attempts WHERE run_id = $1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?)
}

#[tokio::test]
async fn a_model_of_random_weights_earns_nothing() -> Result<()> {
    let Some(rows) = rows()? else { return Ok(()) };
    let models = random_model(CONTEXT)?;
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &worker(models.path().to_owned()))?;
    let run = begin(&house, &rows, document("random", "completion", 24)).await?;
    house.until_completed(run).await?;
    let (attempts, correct, least, greatest, held_out) = outcome(&house, run).await?;
    assert_eq!((attempts, correct, held_out), (2 * 20 * 2, 0, 0.0));
    assert!(least >= -0.5 && greatest <= 0.0, "{least} to {greatest}");
    Ok(())
}

#[tokio::test]
async fn a_row_beyond_the_context_ends_the_run_before_anything_is_learned() -> Result<()> {
    let Some(rows) = rows()? else { return Ok(()) };
    let models = random_model(400)?;
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _worker = house.worker(WORKER, &worker(models.path().to_owned()))?;
    let mut document = document("random", "completion", 24);
    // One row a step, and the long ones come late: only the check of all rows finds them at once.
    document["parameters"]["batch"] = json!(1);
    let run = begin(&house, &rows, document).await?;
    house.until_failed(run).await?;
    let (error, versions): (String, i64) = sqlx::query_as(
        "SELECT error, (SELECT count(*) FROM adapter_versions WHERE run_id = $1 AND ordinal > 0) FROM executions
         WHERE id = $1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    assert!(error.contains("`row ") && error.contains("longest sequence is 400"), "{error}");
    assert_eq!(versions, 0, "nothing was learned");
    Ok(())
}

/// Answers every prompt of the rows with their canonical solutions.
struct Canonical(HashMap<String, String>);

impl Canonical {
    fn of(rows: &[BenchmarkRow]) -> Result<Self> {
        let style = PromptStyle::shipped("chat")?;
        let answer = |row: &BenchmarkRow| {
            let solution = row.canonical.clone().context("a row without a solution")?;
            let text = match row.oracle.is_code() {
                true => format!("```python\n{solution}\n```"),
                false => format!("It is \\boxed{{{solution}}}."),
            };
            Ok((style.render(row)?.text(), text))
        };
        Ok(Self(rows.iter().map(answer).collect::<Result<_>>()?))
    }
}

impl Handler for Canonical {
    const KIND: WorkKind = WorkKind::Rollout;
    type Payload = RolloutPayload;
    type Outcome = RolloutResult;

    async fn run(self: Arc<Self>, payload: RolloutPayload, context: Context) -> Result<RolloutResult, HandlerError> {
        let generated = payload.requests.iter().map(|request| {
            let text = self.0.get(&request.prompt.text());
            let text = text.ok_or_else(|| HandlerError::permanent("nobody knows this row"))?;
            let completion = || Completion {
                text: text.clone(),
                finish_reason: FinishReason::Stop,
                tokens: 1,
                entropy: None,
                mask_mismatch: None,
            };
            Ok(Generated { id: request.id.clone(), completions: (0..request.n).map(|_| completion()).collect() })
        });
        let generated = generated.collect::<Result<_, HandlerError>>()?;
        let tokens = format!("tokens of {}", context.key).into_bytes();
        Ok(RolloutResult {
            generated,
            embedded: None,
            compared: None,
            tokens: Some(context.put(ArtifactKind::Tokens, tokens).await?),
            usage: RolloutUsage::default(),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn canonical_solutions_earn_everything() -> Result<()> {
    let Some(rows) = rows()? else { return Ok(()) };
    let house = House::new().await?;
    let coordinator = house.coordinate(registry())?;
    let verifier = tokio::task::spawn_blocking(|| Verifier::start(&VerifierConfig::default())).await??;
    let jobs = verifier.jobs();
    let of_worker = house.store.apart();
    let handlers = handlers::all(Duration::ZERO, of_worker.pool())
        .with(Canonical::of(&rows)?)
        .with(VerifyHandler::new(verifier, jobs));
    let artifacts = ArtifactStore::folder(&house.artifacts(), of_worker.pool().clone())?;
    let runtime = Runtime::start(&of_worker, artifacts, handlers, RuntimeSettings::default()).await?;
    let run = begin(&house, &rows, document("canonical", "chat", 24)).await?;
    house.until_completed(run).await?;
    runtime.drain().await;
    coordinator.stop().await;

    assert_eq!(outcome(&house, run).await?, (2 * 20 * 2, 2 * 20 * 2, 1.0, 1.0, 1.0));
    let parts: Vec<Value> = sqlx::query_scalar("SELECT DISTINCT reward_parts FROM attempts WHERE run_id = $1")
        .bind(run.0)
        .fetch_all(house.pool())
        .await?;
    assert_eq!(parts, [json!({"tests_passed": 1.0, "format": 0.0})]);
    let lab = Lab::open(&house).await?;
    let rows = lab.get(&format!("/api/v1/runs/{run}/rows?first_solved_to=0&limit=100")).await?;
    assert_eq!(rows["items"].as_array().map(Vec::len), Some(20), "held-out rows are not among them");
    let page = lab.get(&format!("/runs/{run}/difficulty.json")).await?;
    let last = page["windows"].as_array().and_then(|windows| windows.last()).context("a window of steps")?;
    assert_eq!([&last["never"], &last["sometimes"], &last["always"], &page["rows"]], [0, 0, 20, 20], "{page}");
    lab.close().await;
    Ok(())
}
