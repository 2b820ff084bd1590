//! Nearly correct programs, deterministic.

use lyceum_core::benchmark::{BenchmarkRow, Question};

/// Replacements.
const EDITS: [(&str, &str); 30] = [
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " + "),
    (" // ", " / "),
    (" / ", " // "),
    (" % ", " // "),
    (" and ", " or "),
    (" or ", " and "),
    (" in ", " not in "),
    ("not ", ""),
    ("True", "False"),
    ("False", "True"),
    ("[::-1]", ""),
    ("[0]", "[-1]"),
    ("[1:]", ""),
    ("range(1, ", "range("),
    ("range(", "range(1, "),
    ("max(", "min("),
    ("min(", "max("),
    ("sorted(", "list("),
    (".append(", ".insert(0, "),
    ("return ", "return not "),
    ("0", "1"),
    ("1", "2"),
];

/// A mutant of a row's canonical solution: the first applicable edit below the prompt, starting from one that depends
/// on the row number. No edit introduces calls that escape a sandbox or wait.
pub(crate) fn mutant(row: &BenchmarkRow, number: usize) -> Option<(String, &'static str)> {
    let canonical = row.canonical.as_deref()?;
    let prompt = match &row.oracle {
        Question::Script { .. } => row.question.as_str(),
        // MBPP's prompt is prose; imports are left unchanged.
        _ => "",
    };
    let body = canonical.strip_prefix(prompt)?;
    let start = match &row.oracle {
        Question::Script { .. } => 0,
        _ => body.find("\ndef ").map(|at| at + body[at + 1..].find('\n').unwrap_or(0) + 1)?,
    };
    (0..EDITS.len()).find_map(|turn| {
        let (old, new) = EDITS[(number * 7 + turn) % EDITS.len()];
        let at = start + body[start..].find(old)?;
        let mutant = format!("{prompt}{}{new}{}", &body[..at], &body[at + old.len()..]);
        Some((mutant, old))
    })
}

#[test]
fn they_are_the_same_each_time() {
    let row = BenchmarkRow {
        task_id: "HumanEval/0".to_owned(),
        question: "def f(a, b):\n".to_owned(),
        canonical: Some("def f(a, b):\n    return a < b\n".to_owned()),
        oracle: Question::Script { entry_point: "f".to_owned(), test: String::new() },
        tags: Default::default(),
    };
    assert_eq!(mutant(&row, 0), Some(("def f(a, b):\n    return a <= b\n".to_owned(), " < ")));
    assert_eq!(mutant(&row, 3), Some(("def f(a, b):\n    return not a < b\n".to_owned(), "return ")));
}
