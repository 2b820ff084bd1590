use super::*;
use crate::prompt::Style;
use crate::work::Prompt;
use sha2::{Digest as _, Sha256};

const TYPES: [ProblemKind; 3] = [ProblemKind::CodeI, ProblemKind::CodeO, ProblemKind::CodeF];

fn reference() -> Reference {
    Reference {
        program: "def f(a):\n return a".to_owned(),
        input: "[1, 2], 'a b'".to_owned(),
        output: "{'k': 1}".to_owned(),
    }
}

#[test]
fn the_compact_set_writes_what_its_readme_says() {
    let set = PromptSet::shipped("seedling").unwrap();
    let text = |rendered: Result<Rendered, PromptError>| rendered.unwrap().text;
    assert_eq!(text(set.propose_io(ProblemKind::CodeO, &[])), "<po><prog>");
    assert_eq!(
        text(set.propose_io(ProblemKind::CodeI, &[reference()])),
        "<pi><ref>def f(a):\n return a<in>[1,2],'a b'<out>{'k':1}<prog>"
    );
    assert_eq!(text(set.propose_function("def f(a):\n return a", 6)), "<pf>def f(a):\n return a<in>");
    let solve = |statement| text(set.solve(&statement));
    let output = Statement::Output { program: "P", input: "1, 2" };
    assert_eq!(solve(output), "<so>P<in>1,2<out>");
    let input = Statement::Input { program: "P", output: "(1, 2)" };
    assert_eq!(solve(input), "<si>P<out>(1,2)<in>");
    let function = Statement::Function { message: "adds", pairs: vec![("1", "'a b'"); 2] };
    assert_eq!(solve(function), "<sf><msg>adds<in>1<out>'a b'<in>1<out>'a b'<prog>");
    let mathematics = set.solve(&Statement::Math { question: "1 + 1?" });
    assert_eq!(mathematics, Err(PromptError::Missing("solve_math".to_owned())));
}

#[test]
fn the_fenced_set_frames_each_prompt_and_opens_the_thought() {
    let set = PromptSet::shipped("azr").unwrap();
    assert!(set.opening().ends_with("<think>"), "{}", set.opening());
    let prompt = set.propose_io(ProblemKind::CodeO, &[reference(), reference()]).unwrap();
    assert!(prompt.text.ends_with("<think>") && matches!(prompt.prompt, Prompt::Text(_)));
    for part in ["```python\ndef f(a):", "```input\n[1, 2], 'a b'", "```output\n{'k': 1}", "<snippet_2>"] {
        assert!(prompt.text.contains(part), "{part} is missing in\n{}", prompt.text);
    }
    let function = set.propose_function("def f(a):\n    return a", 10).unwrap();
    assert!(function.text.contains("10") && function.text.contains("```message"));
}

#[test]
fn a_chat_model_gets_a_message_that_asks_for_the_tags() {
    let config = PromptConfig { style: Some(Style::Chat), ..PromptConfig::default() };
    let set = PromptSet::compile(&config.resolve("", &[]).unwrap()).unwrap();
    let statement = Statement::Output { program: "P", input: "1" };
    let prompt = set.solve(&statement).unwrap();
    assert_eq!(set.opening(), "");
    assert!(matches!(&prompt.prompt, Prompt::Messages(messages) if messages[0].role == "user"));
    assert!(prompt.text.contains("<think>") && prompt.text.trim_end().ends_with("</answer>."));
}

#[test]
fn a_wrong_template_is_a_fault_at_its_place() {
    let broken = |name: &str, text: &str| {
        let config = PromptConfig {
            set: "seedling".to_owned(),
            templates: [(name.to_owned(), text.to_owned())].into(),
            ..PromptConfig::default()
        };
        config.resolve("/parameters/prompts", &[ProblemKind::CodeO]).unwrap_err()
    };
    assert_eq!(broken("solve_code_o", "{{ x")[0].pointer, "/parameters/prompts/templates/solve_code_o");
    assert_eq!(broken("solve_code_o", "{{ message }}")[0].pointer, "/parameters/prompts/templates/solve_code_o");
    assert!(broken("sovle", "x")[0].detail.contains("solve_code_o"));
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}.{% endfor %}{% endfor %}";
    assert!(broken("solve_code_o", endless)[0].detail.contains("fuel"));
    let unknown = PromptConfig { set: "none".to_owned(), ..PromptConfig::default() };
    let sets = &unknown.resolve("", &[]).unwrap_err()[0].detail;
    assert_eq!(
        sets,
        "there is no prompt set `none`: valid are azr, gasp, instruct, judge, rzero, sage, seedling, seedling-gasp, seedling-math"
    );
}

#[test]
fn each_task_has_its_template() {
    let tasks = ["propose", "solve"].iter().flat_map(|act| TYPES.map(|problem| task_name(act, problem)));
    let named = CODE_TEMPLATES.map(|template| template.name.to_owned());
    assert_eq!(tasks.collect::<Vec<_>>(), named);
}

/// Runs are repeated from their resolved configs, so these must not change. The hashes were computed from the files
/// alone.
#[test]
fn resolved_configs_of_the_shipped_sets_keep_their_bytes() {
    for (set, style, expected) in [
        ("azr", None, "ca1559d99c1ed0793c5dc196ec670826c113f9d225c8df24c2f3d90deb604b46"),
        ("azr", Some(Style::Chat), "f847ae857a07b0ade37b40dfab4718efb02d128a981e3c152ece65a1d21b844d"),
        ("seedling", None, "51633c97b0ec59ea9d6445131365c38d8dbdd62df2d6bc8752ed6972b916a324"),
    ] {
        let config = PromptConfig { set: set.to_owned(), style, ..PromptConfig::default() };
        let resolved = config.resolve("", &TYPES).unwrap();
        let bytes = serde_json::to_vec(&resolved).unwrap();
        assert_eq!(format!("{:x}", Sha256::digest(&bytes)), expected, "{set}");
        assert_eq!(resolved.clone().resolve("", &TYPES).unwrap(), resolved);
    }
}

#[test]
fn the_example_of_a_set_is_read_by_its_grammar() {
    let with = |answer: &str| {
        let templates = [
            ("solve_code_o-example", "What does `f` return?"),
            ("solve_code_o-example-answer", answer),
            ("propose_code_i-example", "Write a program."),
            ("propose_code_i-example-answer", "```python\ndef f(a):\n    return a\n```\n```input\n1\n```"),
        ];
        let config = PromptConfig {
            set: "instruct".to_owned(),
            templates: templates.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            ..PromptConfig::default()
        };
        config.resolve("", &TYPES)
    };
    let set = PromptSet::compile(&with("It is 2.\n```output\n2\n```").unwrap()).unwrap();
    assert!(set.example_programs().contains(&"def f(a):\n    return a".to_owned()));
    let proposers = PromptSet::shipped("instruct").unwrap().example_programs();
    assert!(proposers.len() == 2 && proposers.iter().all(|program| program.lines().count() > 2), "{proposers:?}");
    let faults = with(" ").unwrap_err();
    assert_eq!(faults[0].pointer, "/templates/solve_code_o-example-answer");
}

/// A placeholder in a prompt is copied by small models as if it were the answer.
#[test]
fn the_instruct_set_has_nothing_to_copy_and_a_worked_example_of_everything() {
    let set = PromptSet::shipped("instruct").unwrap();
    for template in CODE_TEMPLATES {
        assert!(set.has(&template.example()[0]), "{}", template.name);
        let answer = set.example_answer(&template).unwrap();
        assert_eq!(reads_code(&set, template.name, &answer), Ok(()), "{}", template.name);
    }
    let statement = Statement::Output { program: "P", input: "1" };
    let shown = [set.solve(&statement), set.propose_io(ProblemKind::CodeI, &[]), set.propose_function("P", 3)];
    for prompt in shown {
        let text = prompt.unwrap().text;
        for placeholder in ["the value\n", "arg1", "...", "your "] {
            assert!(!text.contains(placeholder), "{placeholder} in {text}");
        }
    }
}
