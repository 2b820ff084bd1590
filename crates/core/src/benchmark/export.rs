//! Results in the formats of other tools: EvalPlus' sample files, and the result and sample files of EleutherAI's
//! lm-evaluation-harness, as written by its `--output_path` and `--log_samples`.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{BenchmarkRow, Protocol, Score, Suite};

/// One line of a file for `evalplus.evaluate --samples`: a whole program for a task.
pub fn evalplus_line(task_id: &str, solution: &str) -> Value {
    json!({ "task_id": task_id, "solution": solution })
}

/// The measurement, for the heads of lm-evaluation-harness files.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    pub suite: &'a Suite,
    /// The base model, and the adapter if there is one.
    pub model: String,
    /// How the model was prompted and sampled.
    pub protocol: &'a Protocol,
    /// Samples per row.
    pub n: u32,
    /// Seed of the samples.
    pub seed: u64,
    /// Unix time of the measurement, in seconds.
    pub date: f64,
}

/// One row's samples, as written to the file.
#[derive(Clone, Debug)]
pub struct Answered<'a> {
    /// The row's index.
    pub index: u32,
    pub row: &'a BenchmarkRow,
    /// The model's outputs, sample by sample.
    pub responses: Vec<&'a str>,
    /// The solutions extracted from them.
    pub solutions: Vec<&'a str>,
    pub correct: u32,
}

/// `results_*.json`: pass@1 as `pass@1,none`, and each further k as `pass@k,none`.
pub fn lm_eval_results(measured: &Measured<'_>, score: &Score) -> Value {
    let name = &measured.suite.name;
    let mut metrics = serde_json::Map::from_iter([("alias".to_owned(), json!(name))]);
    let mut better = serde_json::Map::new();
    for point in score.curve() {
        let metric = format!("pass@{}", point.k);
        metrics.insert(format!("{metric},none"), json!(point.pass_at_k));
        metrics.insert(format!("{metric}_stderr,none"), json!(point.standard_error));
        better.insert(metric, json!(true));
    }
    let rows = score.samples.len();
    let protocol = measured.protocol;
    json!({
        "results": { name: metrics },
        "group_subtasks": { name: [] },
        "configs": { name: {
            "task": name,
            "dataset_path": "json",
            "output_type": "generate_until",
            "repeats": measured.n,
            "generation_kwargs": generation(protocol),
            "metadata": { "prompts": protocol.prompts },
        }},
        "versions": { name: 1.0 },
        "n-shot": { name: 0 },
        "higher_is_better": { name: better },
        "n-samples": { name: { "original": rows, "effective": rows } },
        "config": {
            "model": "lyceum",
            "model_args": format!("pretrained={}", measured.model),
            "gen_kwargs": generation(protocol),
            "random_seed": measured.seed,
        },
        "date": measured.date,
        "model_name": measured.model,
        "model_name_sanitized": measured.model.replace(['/', ' '], "__"),
    })
}

fn generation(protocol: &Protocol) -> Value {
    json!({
        "do_sample": protocol.temperature > 0.0,
        "temperature": protocol.temperature,
        "top_p": protocol.top_p,
        "max_gen_toks": protocol.max_tokens,
    })
}

/// One line of `samples_<task>_*.jsonl`.
pub fn lm_eval_sample(answered: &Answered<'_>) -> Value {
    let row = answered.row;
    let doc = json!({ "task_id": row.task_id, "question": row.question, "tags": row.tags });
    let target = row.canonical.as_deref().unwrap_or_default();
    let hash = |text: &str| format!("{:x}", Sha256::digest(text));
    let n = answered.responses.len();
    json!({
        "doc_id": answered.index,
        "doc": doc,
        "target": target,
        "arguments": { "gen_args_0": { "arg_0": row.question, "arg_1": {} } },
        "resps": [answered.responses],
        "filtered_resps": answered.solutions,
        "filter": "none",
        "metrics": ["pass@1"],
        "doc_hash": hash(&doc.to_string()),
        "prompt_hash": hash(&row.question),
        "target_hash": hash(target),
        "pass@1": if n == 0 { 0.0 } else { f64::from(answered.correct) / n as f64 },
    })
}
