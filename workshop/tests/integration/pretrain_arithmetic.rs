//! `lyceum-workshop pretrain` with arithmetic, from an empty folder to a model and its figures.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const CONFIG: &str = r#"
curriculum = "arithmetic"
seed = 3
checkpoint_every = 4

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
hold_out_one_in = 4

[samples]
trace_tokens = 60
score_noise = 0.1

[samples.weights]
prompt = 0.1
question = 0.5
steps = 1.0
answer = 1.0
plan = 0.5
score = 1.0

[rows]
count = 3
tokens = 160

[optimizer]
warmup_steps = 2
beta1 = 0.9
beta2 = 0.98
eps = 1e-8
weight_decay = 0.01
max_grad_norm = 1.0

[[phases]]
name = "steps"
steps = 6
learning_rate = 1e-2
decay_steps = 0

[phases.tasks]
solve = { share = 1.0, levels = [1, 1, 1, 1, 1], trace = 0.5, trace_levels = [0, 1, 1, 1, 1] }
solve_with_plan = { share = 0.5, levels = [1, 1, 1, 1, 1], trace = 0.5 }

[[phases]]
name = "all"
steps = 8
learning_rate = 1e-2
decay_steps = 4

[phases.tasks]
propose = { share = 1.0, levels = [1, 1, 1, 1, 1] }
challenge = { share = 1.0, levels = [1, 1, 1, 1, 1] }
solve = { share = 1.0, levels = [1, 1, 1, 1, 1], trace = 0.2 }
plan = { share = 1.0, levels = [1, 1, 1, 1, 1] }
critique_question = { share = 1.0, levels = [1, 1, 1, 1, 1] }
critique_plan = { share = 1.0, levels = [1, 1, 1, 1, 1] }

[evaluation]
proposals = 3
samples = 2
held_out = 2
critiques = 2
max_tokens = 16
"#;

fn run(folder: &Path, config: &str, arguments: &[&str]) -> Output {
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-workshop"));
    let command = command.current_dir(folder).args(["pretrain", "--config", "config.toml"]);
    command.args(arguments).output().unwrap()
}

fn succeed(folder: &Path, arguments: &[&str]) {
    let output = run(folder, CONFIG, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_stopped_run_goes_on_to_the_same_model_and_has_its_figures() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    succeed(folder, &["--out", "whole", "--work", "work-whole"]);
    succeed(folder, &["--out", "parts", "--work", "work-parts", "--stop-after", "5"]);
    assert!(!folder.join("parts").exists());
    succeed(folder, &["--out", "parts", "--work", "work-parts", "--resume"]);
    for file in ["model.safetensors", "tokenizer.json", "config.json", "evaluation.json"] {
        let of = |name: &str| std::fs::read(folder.join(name).join(file)).unwrap();
        let are_equal = match file {
            // The time that training took differs.
            "evaluation.json" => {
                json(&folder.join("whole").join(file))["held_out"] == json(&folder.join("parts").join(file))["held_out"]
            }
            _ => of("whole") == of("parts"),
        };
        assert!(are_equal, "{file} differs");
    }
    let log = std::fs::read_to_string(folder.join("work-whole/log.jsonl")).unwrap();
    let losses = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64().unwrap());
    let losses: Vec<f64> = losses.collect();
    assert_eq!(losses.len(), 14);
    assert!(losses[5] + 0.3 < losses[0], "{losses:?}");

    let evaluation = json(&folder.join("whole/evaluation.json"));
    let bands = evaluation["held_out"].as_array().unwrap();
    assert_eq!(bands.iter().map(|band| band["level"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!((&evaluation["proposals"]["asked"], &evaluation["plans"]["asked"]), (&3.into(), &10.into()));
    assert_eq!(evaluation["question_critic"]["asked"], 10);
    let card = std::fs::read_to_string(folder.join("whole/README.md")).unwrap();
    assert!(
        card.contains("from random weights: 14 steps")
            && card.contains("One expression in 4 is held out")
            && card.contains("solve 50.0 %, solve_with_plan 50.0 % in the 6 steps of phase `steps`")
            && card.contains("What falls short"),
        "{card}"
    );

    succeed(folder, &["--work", "work-whole", "--evaluate", "work-whole/model", "--held-out", "3", "--answers", "1"]);
    let held_out = json(&folder.join("work-whole/model/held_out.json"));
    assert_eq!(held_out[4]["questions"], 3);
}

#[test]
fn a_config_that_cannot_work_is_refused_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |from: &str, to: &str| {
        assert!(CONFIG.contains(from));
        let output = run(folder.path(), &CONFIG.replace(from, to), &["--out", "out", "--work", "work"]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refusal("\"arithmetic\"", "\"algebra\"").contains("`programs` or `arithmetic`"));
    assert!(refusal("score_noise = 0.1", "score_noise = 1.1").contains("`samples.score_noise` is 1.1"));
    assert!(refusal("hold_out_one_in = 4", "hold_out_one_in = 1").contains("`corpus.hold_out_one_in` is 1"));
    assert!(refusal("trace = 0.2", "trace = 2.0").contains("`solve.trace` of phase `all` is 2"));
    let traced = refusal(
        "plan = { share = 1.0, levels = [1, 1, 1, 1, 1] }",
        "plan = { share = 1.0, levels = [1, 1, 1, 1, 1], trace = 0.1 }",
    );
    assert!(traced.contains("only `solve` and `solve_with_plan` can show steps"), "{traced}");
    assert!(refusal("critique_plan =", "criticize =").contains("criticize"));
    let ways = run(folder.path(), CONFIG, &["--work", "work", "--evaluate", "out", "--ways", "3"]);
    assert!(String::from_utf8_lossy(&ways.stderr).contains("--ways is for programs"));
}
