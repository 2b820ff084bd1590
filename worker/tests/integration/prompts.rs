//! `lyceum-worker prompts`, with the model that ships.

use std::path::Path;
use std::process::{Command, Output};

fn prompts(options: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"));
    let model: &[&str] = if options.contains(&"--model") { &[] } else { &["--model", "models/seedling"] };
    command.arg("prompts").args(model).args(options).current_dir(root).output().unwrap()
}

/// The columns of a template's row in the table, without its name.
fn row(said: &str, template: &str) -> Vec<String> {
    let line = said.lines().find(|line| line.starts_with(&format!("{template} "))).unwrap_or_else(|| panic!("{said}"));
    line.replace(" %", "%").split_whitespace().skip(1).map(str::to_owned).collect()
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
    for kind in ["code_i", "code_o", "code_f"] {
        for act in ["propose", "solve"] {
            assert_eq!(row(&said, &format!("{act}_{kind}"))[0], "3", "{said}");
            assert_eq!(said.matches(&format!("--- {act}_{kind}, ")).count(), 1, "{said}");
        }
    }
    // n, readable in per cent, …: it was pretrained on answers in this form.
    assert_eq!(row(&said, "solve_code_o")[1], "100%", "{said}");
}

#[test]
fn questions_and_proposals_of_other_recipes_are_read_as_the_recipes_read_them() {
    let of = |recipe: &str, set: &str, model: &str, n: &str| {
        let model = format!("models/{model}");
        let tried = prompts(&[
            "--recipe",
            recipe,
            "--set",
            set,
            "--model",
            &model,
            "--n",
            n,
            "--show",
            "0",
            "--temperature",
            "0",
            "--max-answer",
            "96",
            "--max-proposal",
            "96",
        ]);
        assert!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stderr));
        String::from_utf8(tried.stdout).unwrap()
    };
    // n, readable, by the form, valid, own, right, cut, tokens.
    let mathematics = of("sage", "seedling-math", "seedling-math", "4");
    let solved = row(&mathematics, "solve");
    assert_eq!((&solved[1][..], &solved[3][..]), ("100%", "–"), "{mathematics}");
    assert_ne!(solved[5], "0%", "it was pretrained on such questions, and their answers are known: {mathematics}");
    assert_eq!(row(&mathematics, "critique_question")[5], "–", "nobody knows the right score: {mathematics}");
    assert_eq!(row(&of("rzero", "seedling-math", "seedling-math", "1"), "propose")[1], "100%");
    assert_eq!(row(&of("gasp", "seedling-gasp", "seedling-gasp", "1"), "lemma_f")[0], "1");
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
