//! Every kind of problem, from a dataset's row to its stored form and back.

use std::collections::BTreeMap;

use super::{Values, parts};
use crate::benchmark::{BenchmarkRow, PromptStyle, Question};
use crate::verify::ProblemKind;

/// A row of each kind whose texts are all different, and a prompt style that can render it.
fn row(kind: ProblemKind) -> (BenchmarkRow, &'static str) {
    let text = |text: &str| text.to_owned();
    let program = text("def f(a): return a+1");
    let (oracle, question, canonical, style) = match kind {
        ProblemKind::CodeO => {
            let input = text("'the input'");
            (Question::CodeO { program, input }, "", "'the output'", "seedling")
        }
        ProblemKind::CodeI => {
            let output = text("'the output'");
            (Question::CodeI { program, output }, "", "'the input'", "seedling")
        }
        ProblemKind::CodeF => {
            let pairs = ["1", "2", "3"].map(|n| (format!("'in {n}'"), format!("'out {n}'")));
            let (message, pairs) = (text("the message"), pairs.to_vec());
            (Question::CodeF { message, pairs }, "", "the program", "seedling")
        }
        ProblemKind::Math => {
            let gold = text("the answer");
            (Question::Math { gold }, "the question", "the answer", "chat")
        }
        ProblemKind::Code => {
            let oracle = Question::LiveCodeBench {
                entry_point: Some(text("entry")),
                starter_code: text("class Solution: def entry"),
                public_test_cases: Some(text("the tests")),
                private_test_cases: None,
            };
            (oracle, "the question", "the solution", "chat")
        }
    };
    let row = BenchmarkRow {
        task_id: text("toy/0"),
        question: text(question),
        canonical: Some(text(canonical)),
        oracle,
        tags: BTreeMap::new(),
    };
    (row, style)
}

/// The names of the parts of a stored row of `kind`: those shown, and the hidden ones.
fn names(kind: ProblemKind) -> [Vec<String>; 2] {
    let (row, _) = row(kind);
    let stored: Values = serde_json::from_value(serde_json::to_value(row.values()).unwrap()).unwrap();
    assert_eq!(stored, row.values());
    let parts = parts(kind, row.oracle.program(), &stored);
    [true, false].map(|shown| {
        let of_side = parts.iter().filter(|part| part.shown == shown);
        of_side.map(|part| part.name.to_string()).collect()
    })
}

#[test]
fn a_solver_sees_everything_but_what_it_must_find() {
    assert_eq!(names(ProblemKind::CodeO), [vec!["program", "input"], vec!["output"]]);
    assert_eq!(names(ProblemKind::CodeI), [vec!["program", "output"], vec!["input"]]);
    let shown = vec!["message", "input 1", "output 1", "input 2", "output 2"];
    assert_eq!(names(ProblemKind::CodeF), [shown, vec!["input 3", "output 3"]]);
    assert_eq!(names(ProblemKind::Math), [vec!["question"], vec!["answer"]]);
    let shown = vec!["entry point", "question", "starter code"];
    assert_eq!(names(ProblemKind::Code), [shown, vec!["solution", "tests"]]);
}

#[test]
fn the_prompt_has_the_shown_parts_in_their_order_and_no_hidden_one() {
    for kind in ProblemKind::ALL {
        let (row, style) = row(kind);
        let prompt = PromptStyle::shipped(style).unwrap().render(&row).unwrap().text();
        let values = row.values();
        let mut last = 0;
        for part in parts(kind, row.oracle.program(), &values) {
            let Some(text) = part.text else { continue };
            let place = prompt.find(text);
            assert_eq!(place.is_some(), part.shown, "{kind:?}: {} in {prompt}", part.name);
            // Starter code names its entry point, so the prompt does not do it again.
            if let Some(place) = place.filter(|_| part.name != "entry point") {
                assert!(place >= last, "{kind:?}: {} in {prompt}", part.name);
                last = place;
            }
        }
    }
}

#[test]
fn a_rejected_proposal_has_the_parts_it_was_written_with() {
    let of = |kind, values| {
        let values: Values = serde_json::from_value(values).unwrap();
        let parts = parts(kind, Some("def f(a): return a"), &values);
        parts.iter().map(|part| part.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of(ProblemKind::CodeI, serde_json::json!({})), ["program"]);
    assert_eq!(of(ProblemKind::CodeI, serde_json::json!({"input": "1"})), ["program", "input"]);
    let function = serde_json::json!({"inputs": ["1", "2"], "message": "m"});
    assert_eq!(of(ProblemKind::CodeF, function), ["message", "program", "input 1", "input 2"]);
}

#[test]
fn rows_that_were_stored_without_an_entry_point_are_read() {
    let stored = serde_json::json!({"question": "q", "canonical": null});
    let values: Values = serde_json::from_value(stored.clone()).unwrap();
    assert!(matches!(values, Values::Code { entry_point: None, .. }), "{values:?}");
    assert_eq!(serde_json::to_value(values).unwrap(), stored);
}
