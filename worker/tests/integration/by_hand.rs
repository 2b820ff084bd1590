//! The commands that run generation, scoring and merging from files, against the engine's golden fixtures.
#![cfg(feature = "engine")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures")
}

fn worker(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lyceum-worker")).args(arguments).output().unwrap()
}

fn model() -> String {
    fixtures().join("models/qwen2-tied").display().to_string()
}

fn adapter(name: &str) -> String {
    fixtures().join("adapters/qwen2-tied").join(name).display().to_string()
}

/// Runs a command on lines of JSON and returns its output lines.
fn over_lines(command: &str, model: &str, further: &[&str], requests: &[Value]) -> Result<Vec<Value>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (path("in.jsonl"), path("out.jsonl"));
    std::fs::write(&input, requests.iter().map(|request| format!("{request}\n")).collect::<String>()).unwrap();
    let mut arguments = vec![command, "--model", model, "--device", "cpu", "--in", &input, "--out", &output];
    arguments.extend(further);
    let said = worker(&arguments);
    if !said.status.success() {
        return Err(String::from_utf8(said.stderr).unwrap());
    }
    Ok(std::fs::read_to_string(&output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn rollout_completes_prompts_and_ids_and_score_agrees_with_it() {
    let (first, second) = (adapter("all-0"), adapter("all-1"));
    let adapters = ["--adapter", first.as_str(), "--adapter", second.as_str()];
    let requests = [
        json!({"id": "text", "prompt": "def f(", "max_tokens": 6, "temperature": 0}),
        json!({"id": "ids", "ids": [1, 2, 3], "adapter": 1, "n": 3, "max_tokens": 6, "seed": 9, "ignore_eos": true}),
    ];
    let results = over_lines("rollout", &model(), &adapters, &requests).unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["id"], &results[1]["id"]), (&json!("text"), &json!("ids")));
    assert!(results[0]["completions"][0]["text"].is_string());
    let completions = results[1]["completions"].as_array().unwrap();
    assert_eq!(completions.len(), 3);
    for completion in completions {
        assert_eq!(completion["finish_reason"], "length");
        let generated = completion["ids"].as_array().unwrap();
        let ids: Vec<Value> = [1, 2, 3].map(Value::from).into_iter().chain(generated.iter().cloned()).collect();
        let scored = over_lines("score", &model(), &adapters, &[json!({"id": "s", "ids": ids, "adapter": 1})]).unwrap();
        let logprobs = scored[0]["logprobs"].as_array().unwrap();
        assert_eq!(logprobs.len(), ids.len() - 1);
        for (scored, sampled) in logprobs[2..].iter().zip(completion["logprobs"].as_array().unwrap()) {
            assert!((scored.as_f64().unwrap() - sampled.as_f64().unwrap()).abs() < 1e-4);
        }
    }
}

/// The only completion of a `rollout` request.
fn completion(further: Value) -> Value {
    let mut request = json!({"id": "a", "ids": [1, 2, 3], "max_tokens": 8, "ignore_eos": true});
    request.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    over_lines("rollout", &model(), &[], &[request]).unwrap()[0]["completions"][0].take()
}

#[test]
fn rollout_ends_at_stop_ids_and_strings() {
    let whole = completion(json!({"temperature": 0}));
    assert_eq!(whole["finish_reason"], "length");
    let ids = whole["ids"].as_array().unwrap();
    assert_eq!(ids.len(), 8);

    let first = ids.iter().position(|id| *id == ids[4]).unwrap();
    let stopped = completion(json!({"temperature": 0, "stop_ids": [ids[4]]}));
    assert_eq!(stopped["finish_reason"], "stop");
    assert_eq!(stopped["ids"].as_array().unwrap(), &ids[..=first], "the stop id is the last");

    let text = whole["text"].as_str().unwrap();
    let middle: String = text.chars().skip(text.chars().count() / 2).take(1).collect();
    let stopped = completion(json!({"temperature": 0, "stop": [middle]}));
    assert_eq!(stopped["finish_reason"], "stop");
    assert_eq!(stopped["text"], text.split(&middle).next().unwrap(), "the text ends before the stop string");
    let kept = stopped["ids"].as_array().unwrap();
    assert!(kept.len() < 8 && ids.starts_with(kept), "{kept:?} of {ids:?}");
}

#[test]
fn rollout_tells_of_halvings_where_there_is_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, input, output) = (model(), path("in.jsonl"), path("out.jsonl"));
    let request = json!({"id": "a", "ids": [1, 2, 3], "n": 8, "max_tokens": 8, "ignore_eos": true});
    std::fs::write(&input, format!("{request}\n")).unwrap();
    let files = ["--in", &input, "--out", &output];
    let within = ["--device", "cpu", "--cache-bytes", "24000"];
    let said = worker(&[&["rollout", "--model", &model], files.as_slice(), &within].concat());
    let told = String::from_utf8(said.stderr).unwrap();
    assert!(said.status.success(), "{told}");
    for slots in [4, 2, 1] {
        assert!(told.contains(&format!("going on with {slots} slots")), "{told}");
    }
}

#[test]
fn rollout_among_the_one_most_probable_id_is_greedy() {
    let greedy = completion(json!({"temperature": 0}));
    let sampled = completion(json!({"temperature": 1, "top_k": 1, "seed": 7}));
    assert_eq!(sampled["ids"], greedy["ids"]);
    let free = completion(json!({"temperature": 1, "seed": 7}));
    assert_ne!(free["ids"], greedy["ids"]);
    for (completion, certain) in [(greedy, true), (sampled, true), (free, false)] {
        let of = |field: &str| -> Vec<f64> {
            let numbers = completion[field].as_array().unwrap();
            numbers.iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let (drawn, own) = (of("sampling_logprobs"), of("logprobs"));
        assert_eq!((drawn.len(), own.len()), (8, 8));
        for (drawn, own) in drawn.into_iter().zip(own) {
            let expected = if certain { 0.0 } else { own };
            assert!((drawn - expected).abs() < 1e-5, "{drawn}, {own} under the model");
        }
    }
}

/// Samples of two adapters for `update`: completions that start with an even id are rewarded.
fn samples(adapters: &[&str]) -> Vec<Value> {
    let requests: Vec<Value> = (0..4)
        .map(|index| {
            json!({"id": index.to_string(), "ids": [5 + index, 17, 40], "adapter": index % 2, "n": 8, "max_tokens": 3,
                   "seed": index, "ignore_eos": true})
        })
        .collect();
    let results = over_lines("rollout", &model(), adapters, &requests).unwrap();
    let mut samples = Vec::new();
    for (request, result) in requests.iter().zip(&results) {
        for (index, completion) in result["completions"].as_array().unwrap().iter().enumerate() {
            let rewarded = completion["ids"][0].as_i64().unwrap() % 2 == 0;
            samples.push(json!({
                "id": format!("{}-{index}", request["id"]), "adapter": request["adapter"], "prompt_ids": request["ids"],
                "ids": completion["ids"], "logprobs": completion["logprobs"],
                "advantage": if rewarded { 1.0 } else { -1.0 },
            }));
        }
    }
    samples
}

/// Runs `update` on samples; it writes to `output`.
fn update(samples: &[Value], output: &Path, further: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("samples.jsonl").display().to_string();
    let lines: String = samples.iter().map(|sample| format!("{sample}\n")).collect();
    std::fs::write(&input, lines).unwrap();
    let (model, output) = (model(), output.display().to_string());
    let mut arguments = vec!["update", "--model", &model, "--device", "cpu", "--in", &input, "--out", &output];
    arguments.extend(["--learning-rate", "0.01"]);
    arguments.extend(further);
    let said = worker(&arguments);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// Mean log-probability of the rewarded first ids of each adapter's samples.
fn rewarded(samples: &[Value], adapters: &[&str]) -> [f64; 2] {
    let good = samples.iter().filter(|sample| sample["advantage"] == 1.0);
    let requests: Vec<Value> = good
        .map(|sample| {
            let mut ids = sample["prompt_ids"].as_array().unwrap().clone();
            ids.push(sample["ids"][0].clone());
            json!({"id": sample["id"], "ids": ids, "adapter": sample["adapter"]})
        })
        .collect();
    let scores = over_lines("score", &model(), adapters, &requests).unwrap();
    [0, 1].map(|adapter| {
        let of_adapter: Vec<f64> = requests
            .iter()
            .zip(&scores)
            .filter(|(request, _)| request["adapter"] == adapter)
            .map(|(_, score)| score["logprobs"].as_array().unwrap().last().unwrap().as_f64().unwrap())
            .collect();
        of_adapter.iter().sum::<f64>() / of_adapter.len() as f64
    })
}

#[test]
fn update_makes_rewarded_completions_more_probable_and_resumes_where_it_stopped() {
    let (first, second) = (adapter("all-0"), adapter("all-1"));
    let adapters = ["--adapter", first.as_str(), "--adapter", second.as_str()];
    let samples = samples(&adapters);
    let folder = tempfile::tempdir().unwrap();
    let written = |run: &str, member: &str| folder.path().join(run).join(member).display().to_string();

    update(&samples, &folder.path().join("one"), &adapters);
    let one = [written("one", "0"), written("one", "1")];
    let resumed = ["--adapter", one[0].as_str(), "--adapter", one[1].as_str()];
    let before = rewarded(&samples, &adapters);
    let after = rewarded(&samples, &resumed);
    for (before, after) in before.iter().zip(after) {
        assert!(after > before + 0.01, "{before} before, {after} after");
    }
    let text = std::fs::read_to_string(folder.path().join("one/diagnostics.json")).unwrap();
    let diagnostics: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(diagnostics["adapters"].as_array().unwrap().len(), 2);
    assert_eq!(diagnostics["adapters"][0]["tokens"], 16 * 3);

    // Two updates of one step equal one run of two steps, as the ratio is relative to the samples' log-probabilities.
    let with_state = [resumed.as_slice(), &["--optimizer", one[0].as_str(), "--optimizer", one[1].as_str()]].concat();
    update(&samples, &folder.path().join("two"), &with_state);
    let both = [adapters.as_slice(), &["--epochs", "2"]].concat();
    update(&samples, &folder.path().join("both"), &both);
    update(&samples, &folder.path().join("anew"), &resumed);
    for member in ["0", "1"] {
        for file in ["adapter_model.safetensors", "optimizer.safetensors"] {
            let read = |run: &str| std::fs::read(folder.path().join(run).join(member).join(file)).unwrap();
            assert!(read("two") == read("both"), "{file} of member {member}");
            assert!(read("two") != read("anew"), "{file} of member {member}");
        }
    }
}

#[test]
fn update_by_cross_entropy_makes_its_samples_more_probable() {
    let (first, second) = (adapter("all-0"), adapter("all-1"));
    let adapters = ["--adapter", first.as_str(), "--adapter", second.as_str()];
    let samples: Vec<Value> = (0..4)
        .map(|index| {
            json!({"id": index.to_string(), "adapter": index % 2, "prompt_ids": [5 + index, 17], "ids": [40 + index, 60]})
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    update(&samples, folder.path(), &[adapters.as_slice(), &["--loss", "cross-entropy"]].concat());
    let written = ["0", "1"].map(|member| folder.path().join(member).display().to_string());
    let learned = ["--adapter", written[0].as_str(), "--adapter", written[1].as_str()];
    let requests: Vec<Value> = samples
        .iter()
        .map(|sample| {
            let ids = [sample["prompt_ids"].as_array().unwrap().clone(), sample["ids"].as_array().unwrap().clone()];
            json!({"id": sample["id"], "ids": ids.concat(), "adapter": sample["adapter"]})
        })
        .collect();
    // For the two trained ids.
    let losses = |adapters: &[&str]| {
        let mut losses = [0.0; 2];
        for (request, score) in requests.iter().zip(over_lines("score", &model(), adapters, &requests).unwrap()) {
            let logprobs = score["logprobs"].as_array().unwrap();
            let learned: f64 = logprobs[1..].iter().map(|logprob| logprob.as_f64().unwrap()).sum();
            losses[request["adapter"].as_u64().unwrap() as usize] -= learned / 4.0;
        }
        losses
    };
    let (before, after) = (losses(&adapters), losses(&learned));
    let text = std::fs::read_to_string(folder.path().join("diagnostics.json")).unwrap();
    let diagnostics: Value = serde_json::from_str(&text).unwrap();
    for member in 0..2 {
        assert!(after[member] < before[member] - 0.01, "{before:?} before, {after:?} after");
        let told = diagnostics["adapters"][member]["policy_loss"].as_f64().unwrap();
        assert!((told - before[member]).abs() < 1e-4, "{told} is not {}", before[member]);
    }
}

#[test]
fn a_merged_model_scores_as_its_adapter_does() {
    let folder = tempfile::tempdir().unwrap();
    let merged = folder.path().join("merged").display().to_string();
    let adapter = adapter("all-2");
    let said = worker(&["merge", "--model", &model(), "--adapter", &adapter, "--out", &merged]);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let ask = |with: Value| json!({"id": "s", "ids": [7, 8, 200], "adapter": with});
    let ours = over_lines("score", &merged, &["--last-logits"], &[ask(Value::Null)]).unwrap();
    let theirs = over_lines("score", &model(), &["--adapter", &adapter, "--last-logits"], &[ask(json!(0))]).unwrap();
    for (ours, theirs) in
        ours[0]["last_logits"].as_array().unwrap().iter().zip(theirs[0]["last_logits"].as_array().unwrap())
    {
        assert!((ours.as_f64().unwrap() - theirs.as_f64().unwrap()).abs() < 1e-4);
    }
}

#[test]
fn bad_requests_name_the_file_the_line_and_the_fault() {
    let refusal =
        |request: Value| over_lines("rollout", &model(), &[], &[json!({"id": "a", "ids": [1]}), request]).unwrap_err();
    let unknown = refusal(json!({"id": "b", "ids": [1], "temprature": 1}));
    assert!(unknown.contains("in.jsonl, line 2") && unknown.contains("temprature"), "{unknown}");
    let neither = refusal(json!({"id": "b"}));
    assert!(neither.contains("request `b` needs either `prompt` or `ids`"), "{neither}");
    let absent = refusal(json!({"id": "b", "ids": [1], "adapter": 0}));
    assert!(absent.contains("request `b`") && absent.contains("there are 0"), "{absent}");
    let unscored = over_lines("score", &model(), &[], &[json!({"id": "b", "ids": [320]})]).unwrap_err();
    assert!(unscored.contains("request `b`") && unscored.contains("vocabulary of 320"), "{unscored}");
    let nowhere = over_lines("rollout", "no/such/model", &[], &[]).unwrap_err();
    assert!(nowhere.contains("no/such/model"), "{nowhere}");
}

#[test]
fn evolve_lists_its_operators_and_says_what_it_did() {
    let listed = String::from_utf8(worker(&["evolve", "--list"]).stdout).unwrap();
    for told in ["M1  SVD-structured mutation", "--set p=0.7", "linear_0_5", "Numbers from 0 to below 1."] {
        assert!(listed.contains(told), "{told} is not in\n{listed}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let evolve = |further: &[&str], to: &str| {
        let said = worker(&[&["evolve", "--seed", "7", "--out", &path(to)], further].concat());
        match said.status.success() {
            true => Ok(serde_json::from_slice::<Value>(&said.stdout).unwrap()),
            false => Err(String::from_utf8(said.stderr).unwrap()),
        }
    };
    let (model, first, second) = (model(), adapter("all-0"), adapter("all-1"));
    let crossover = ["--operator", "X1", "--parent", &first, "--parent", &second, "--set", "p=0.5"];
    let done = evolve(&crossover, "child").unwrap();
    assert_eq!(done["parameters"], json!({"p": 0.5}));
    evolve(&crossover, "again").unwrap();
    let weights = |name: &str| std::fs::read(folder.path().join(name).join("adapter_model.safetensors")).unwrap();
    assert_eq!(weights("child"), weights("again"));
    let fresh = ["--operator", "init", "--model", &model, "--rank", "2", "--alpha", "4", "--targets", "q_proj,o_proj"];
    evolve(&fresh, "fresh").unwrap();
    let done = evolve(&["--operator", "M1", "--parent", &path("fresh")], "grown").unwrap();
    assert_eq!(done["notes"].as_array().unwrap().len(), 1);

    let refused = evolve(&["--operator", "X1", "--parent", &first, "--set", "p=2"], "never").unwrap_err();
    assert!(refused.contains("`p` is 2; valid are numbers from 0 to below 1"), "{refused}");
    assert!(!folder.path().join("never").exists(), "nothing is written");
    let refused = evolve(&["--operator", "M1", "--parent", &first], "child").unwrap_err();
    assert!(refused.contains("not empty"), "{refused}");
    let refused = evolve(&["--operator", "M1", "--parent", &first, "--set", "epsilon"], "never").unwrap_err();
    assert!(refused.contains("NAME=VALUE"), "{refused}");
}
