//! `lyceum-workshop pretrain` from an empty folder to a model, with and without being killed on the way.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const CONFIG: &str = r#"
seed = 3
checkpoint_every = 2

[compute]
device = "cpu"
precision = "fp32"
threads = 1

[model]
hidden_size = 32
intermediate_size = 64
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 2
max_position_embeddings = 256
rope_theta = 10000.0

[corpus]
seed = 1
programs = [20, 20, 10, 5, 5]
inputs = 10
hold_out_one_in = 4
programs_per_form = 4
traces = true

[samples]
branches = 3
references = 1
num_inputs = 4

[samples.trace]
max_tokens = 90
branches = 2
candidates = 2

[samples.weights]
answer = 1.0
shown_program = 0.1
proposal = 1.0
listed_inputs = 0.2
reference = 0.1

[rows]
count = 3
tokens = 192

[optimizer]
warmup_steps = 2
beta1 = 0.9
beta2 = 0.98
eps = 1e-8
weight_decay = 0.01
max_grad_norm = 1.0

[[phases]]
name = "propose"
steps = 6
learning_rate = 1e-2
decay_steps = 0

[phases.tasks]
propose_code_o = { share = 1.0, levels = [1, 1, 1, 1, 1] }
propose_code_i = { share = 1.0, levels = [1, 1, 1, 1, 1] }
propose_code_f = { share = 1.0, levels = [1, 1, 1, 1, 1] }

[[phases]]
name = "solve"
steps = 10
learning_rate = 1e-2
decay_steps = 4

[phases.tasks]
solve_code_o = { share = 1.0, levels = [1, 1, 1, 1, 1], trace = 0.5, trace_levels = [0, 1, 1, 1, 1] }
solve_code_i = { share = 1.0, levels = [1, 1, 1, 1, 1], trace = 0.5 }
solve_code_f = { share = 1.0, levels = [1, 1, 1, 1, 1] }

[evaluation]
proposals = 3
samples = 2
held_out = 1
ways = 1
max_tokens = 24
"#;

fn pretrain(folder: &Path, out: &str, work: &str, more: &[&str]) -> Command {
    let config = folder.join("config.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-workshop"));
    command
        .args(["pretrain", "--jobs", "1", "--config"])
        .arg(config)
        .arg("--out")
        .arg(folder.join(out))
        .arg("--work")
        .arg(folder.join(work))
        .args(more)
        .stderr(Stdio::piped());
    command
}

fn losses(log: &Path) -> Vec<f64> {
    let lines = BufReader::new(File::open(log).unwrap()).lines();
    let loss = |line: std::io::Result<String>| {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["loss"].as_f64().unwrap()
    };
    lines.map(loss).collect()
}

/// Starts a run and kills it after eight steps; returns whether it was still running.
fn is_killed_at_step_8(folder: &Path, out: &str, work: &str) -> bool {
    // The log is a pipe: reading its lines shows when to kill the run.
    let log = folder.join(work).join("log.jsonl");
    std::fs::create_dir(folder.join(work)).unwrap();
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let mut run = pretrain(folder, out, work, &[]).spawn().unwrap();
    let mut lines = BufReader::new(File::open(&log).unwrap()).lines();
    let struck = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("{\"step\":8,")));
    run.kill().unwrap();
    run.wait().unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(struck.is_some(), "it ended before its eighth step");
    !folder.join(out).exists()
}

#[test]
fn a_killed_run_goes_on_to_the_same_model_and_both_learn() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let whole = pretrain(folder, "whole", "work-whole", &[]).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));

    // On a slow test process the run may end before it is killed; then try again.
    let (killed, work) = (0..10)
        .map(|number| (format!("killed-{number}"), format!("work-killed-{number}")))
        .find(|(killed, work)| is_killed_at_step_8(folder, killed, work))
        .expect("a run that is killed before its end");
    let again = pretrain(folder, &killed, &work, &[]).output().unwrap();
    let refusal = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && refusal.contains("--resume"), "{refusal}");
    let resumed = pretrain(folder, &killed, &work, &["--resume"]).output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));

    for file in ["model.safetensors", "tokenizer.json", "config.json", "generation_config.json"] {
        let of = |name: &str| std::fs::read(folder.join(name).join(file)).unwrap();
        assert_eq!(of("whole"), of(&killed), "{file} differs");
    }
    let losses = losses(&folder.join("work-whole/log.jsonl"));
    assert_eq!(losses.len(), 16);
    assert!(losses[15] + 1.0 < losses[0], "{losses:?}");

    let text = std::fs::read_to_string(folder.join("whole/evaluation.json")).unwrap();
    let evaluation: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(evaluation["held_out"]["code_f"].as_array().unwrap().len(), 5);
    let card = std::fs::read_to_string(folder.join("whole/README.md")).unwrap();
    assert!(
        card.contains("from random weights: 16 steps")
            && card.contains("solve_code_o 50.0 %, solve_code_i 50.0 % in the 10 steps of phase `solve`")
            && card.contains("Two ways to answer")
            && card.contains("What falls short"),
        "{card}"
    );
}

#[test]
fn training_goes_on_from_a_model_and_says_so() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let first = pretrain(folder, "first", "work", &[]).output().unwrap();
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let model = folder.join("first");
    let from = ["--from", model.to_str().unwrap()];
    let second = pretrain(folder, "second", "work-second", &from).output().unwrap();
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));

    let log = |work: &str| losses(&folder.join(work).join("log.jsonl"));
    assert!(log("work-second")[0] + 0.5 < log("work")[0], "it did not start from the weights");
    let text = std::fs::read_to_string(folder.join("second/training.json")).unwrap();
    let training: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(training["from"]["model"], from[1]);
    assert_eq!(training["from"]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(training["from"]["training"]["steps"], 16);
    assert_eq!(training["steps"], 16);
    let card = std::fs::read_to_string(folder.join("second/README.md")).unwrap();
    let [scratch, onwards] = ["from random weights: 16 steps", "--from "].map(|text| card.find(text).expect(text));
    assert!(scratch < onwards, "{card}");

    std::fs::write(model.join("config.json"), "{}").unwrap();
    let refused = pretrain(folder, "third", "work-third", &from).output().unwrap();
    let refusal = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && refusal.contains("config.json differs"), "{refusal}");
}

/// The config with stepping stones.
fn with_stones() -> String {
    let task = "solve_code_o = { share = 1.0, levels = [1, 1, 1, 1, 1], trace = 0.5, trace_levels";
    let stones = ["lemma_io", "lemma_f", "lift_io", "lift_f"]
        .map(|name| format!("{name} = {{ share = 1.0, levels = [1, 1, 1, 1, 1] }}\n"))
        .concat();
    assert!(CONFIG.contains(task));
    CONFIG
        .replace(task, &format!("{stones}{task}"))
        .replace("[samples.weights]", "[samples.stones]\npairs = 5\nshown = 2\n\n[samples.weights]")
        .replace("ways = 1", "ways = 1\nstones = 4")
        .replace("[20, 20, 10, 5, 5]", "[40, 40, 40, 20, 10]")
}

#[test]
fn a_base_learns_to_write_stepping_stones_from_the_weights_of_one_that_does_not() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let first = pretrain(folder, "first", "work", &["--stop-after", "2"]).output().unwrap();
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let model = folder.join("work/model");
    let mut second = pretrain(folder, "second", "work-second", &["--from", model.to_str().unwrap()]);
    std::fs::write(folder.join("config.toml"), with_stones()).unwrap();
    let second = second.output().unwrap();
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));

    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join("second").join(name)).unwrap()).unwrap()
    };
    let stones = &json("evaluation.json")["stones"];
    assert_eq!(stones.as_object().unwrap().len(), 4);
    assert_eq!(stones["lift_io"]["asked"], 4);
    let vocabulary = &json("tokenizer.json")["model"]["vocab"];
    assert_eq!(vocabulary.as_array().unwrap().last().unwrap()[0], "<lift_f>");
    let card = std::fs::read_to_string(folder.join("second/README.md")).unwrap();
    assert!(card.contains("### Stepping stones") && card.contains("configs/prompts/seedling-gasp"), "{card}");

    // The other way round, ids would be lost.
    let more = folder.join("second");
    let refused = pretrain(folder, "third", "work-third", &["--from", more.to_str().unwrap()]).output().unwrap();
    let refusal = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && refusal.contains("tokenizer.json differs"), "{refusal}");
}

#[test]
fn a_config_that_cannot_work_is_refused_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |from: &str, to: &str| {
        let mut command = pretrain(folder.path(), "out", "work", &[]);
        std::fs::write(folder.path().join("config.toml"), CONFIG.replace(from, to)).unwrap();
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refusal("tokens = 192", "tokens = 257").contains("max_position_embeddings"));
    assert!(refusal("threads = 1", "threads = 0").contains("`compute.threads` is 0"));
    let precision = refusal("\"fp32\"", "\"fp8\"");
    assert!(precision.contains("`compute.precision`: `fp8`"), "{precision}");
    assert!(precision.contains("fp32 and bf16"), "{precision}");
    assert!(refusal("steps = 10\n", "steps = 0\n").contains("phase `solve` has 0 steps"));
    assert!(refusal("seed = 3", "sed = 3").contains("sed"));
    assert!(refusal("trace = 0.5,", "trace = 1.5,").contains("`solve_code_o.trace` of phase `solve` is 1.5"));
    assert!(refusal("traces = true", "traces = false").contains("`corpus.traces = true`"));
    let task = refusal("solve_code_f =", "lemma_f =");
    assert!(task.contains("`lemma_f` of phase `solve` needs `samples.stones`"), "{task}");
    assert!(refusal("solve_code_f =", "lemma_g =").contains("`lemma_g` is not a task of the curriculum"));
}
