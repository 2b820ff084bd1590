//! `lyceum-worker prompts`, with the model that ships.

use std::path::Path;
use std::process::{Command, Output};

fn prompts(options: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"));
    let model = root.join("models/seedling");
    command.arg("prompts").arg("--model").arg(model).args(options).output().unwrap()
}

#[test]
fn a_set_is_tried_on_every_kind_of_question_and_proposal() {
    let tried = prompts(&[
        "--set",
        "seedling",
        "--reading",
        "strict",
        "--n",
        "3",
        "--show",
        "1",
        "--temperature",
        "0",
        "--max-answer",
        "96",
        "--max-proposal",
        "96",
        "--seeds",
        "seedling",
        "--references",
        "1",
        "--num-inputs",
        "3",
    ]);
    let said = String::from_utf8(tried.stdout).unwrap();
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stderr));
    let row = |template: &str| {
        let line =
            said.lines().find(|line| line.starts_with(&format!("{template} "))).unwrap_or_else(|| panic!("{said}"));
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    for kind in ["code_i", "code_o", "code_f"] {
        for act in ["propose", "solve"] {
            assert_eq!(row(&format!("{act}_{kind}"))[0], "3", "{said}");
            assert_eq!(said.matches(&format!("--- {act}_{kind}, ")).count(), 1, "{said}");
        }
    }
    // n, readable in per cent, …: it was pretrained on answers in this form.
    assert_eq!(row("solve_code_o")[1], "100", "{said}");
}

#[test]
fn a_template_or_a_model_that_does_not_fit_is_refused_with_its_cure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("solve_code_o.jinja"), "{{ y }}").unwrap();
    std::fs::write(folder.path().join("solve_code_f-example-answer.jinja"), "no program").unwrap();
    let path = folder.path().display().to_string();
    let said = |options: &[&str]| {
        let refused = prompts(options);
        assert!(!refused.status.success());
        String::from_utf8(refused.stderr).unwrap()
    };
    let faults = said(&["--templates", &path]);
    assert!(faults.contains("/prompts/templates/solve_code_o: the variable `y` is undefined"), "{faults}");
    assert!(
        faults.contains("/prompts/templates/solve_code_f-example-answer: the example's answer cannot be read"),
        "{faults}"
    );
    let chat = said(&["--n", "1"]);
    assert!(chat.contains("no chat template") && chat.contains("the set `azr`"), "{chat}");
}
