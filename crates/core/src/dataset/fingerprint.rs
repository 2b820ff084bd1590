//! When two rows ask the same.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::row::self_play;

/// Fields that hold what a row asks, in the order in which they are looked for.
const QUESTIONS: [&str; 6] = ["question", "problem", "prompt", "task", "text", "input"];

/// Hashes by which rows of two datasets are compared. Rows overlap if they share either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprints {
    /// SHA-256 of what is asked, in lower case and with single spaces. That of a seed is its program's; a row that has no field
    /// for a question is hashed whole.
    pub question: [u8; 32],
    /// SHA-256 of the Python program that a row of self-play is about, with single spaces (space, tab, line feed, vertical tab,
    /// form feed, carriage return): its `snippet` or `program`, that of its oracle, or the right answer of a `code_f` problem.
    pub program: Option<[u8; 32]>,
}

pub fn fingerprints(row: &Value) -> Fingerprints {
    let program = program(row).map(|text| Sha256::digest(single_spaced(text)).into());
    let question = match (self_play(0, row).and_then(Result::ok), row.get("snippet").and(program)) {
        (Some(problem), _) => of_text(&problem.question),
        (None, Some(seed)) => seed,
        (None, None) => {
            let named = QUESTIONS.iter().find_map(|field| row.get(field));
            match named.unwrap_or(row) {
                Value::String(text) => of_text(text),
                other => of_text(&other.to_string()),
            }
        }
    };
    Fingerprints { question, program }
}

/// The program that a row of self-play is about.
fn program(row: &Value) -> Option<&str> {
    let oracle = row.get("oracle");
    let program = match oracle.and_then(|oracle| oracle.get("type")?.as_str()) {
        Some("code_f") => row.get("canonical"),
        Some(_) => oracle.and_then(|oracle| oracle.get("program")),
        None if row.get("type").is_some() => row.get("program"),
        None => row.get("snippet"),
    };
    program?.as_str()
}

fn of_text(text: &str) -> [u8; 32] {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    Sha256::digest(words.join(" ")).into()
}

/// The migration that first hashed programs does the same in SQL.
fn single_spaced(program: &str) -> String {
    let is_space = |letter: char| matches!(letter, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r');
    let words: Vec<&str> = program.split(is_space).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_is_the_same_in_other_spaces_and_letters_and_with_another_answer() {
        let one = fingerprints(&json!({"question": "What is  2+2?\n", "answer": "4"}));
        assert_eq!(one, fingerprints(&json!({"question": "what is 2+2?", "answer": "four"})));
        assert_ne!(one, fingerprints(&json!({"question": "what is 2+3?"})));
        assert_ne!(fingerprints(&json!({"a": 1})), fingerprints(&json!({"a": 2})));
        assert_eq!(one.program, None);
    }

    #[test]
    fn rows_about_one_program_share_it_whatever_they_ask() {
        let seed = fingerprints(&json!({"snippet": "def f(a):\n    return a + 1", "input": "4"}));
        let other = fingerprints(&json!({"snippet": "def f(a):\n\treturn a + 1\n", "input": "5"}));
        let triple = fingerprints(&json!({
            "type": "code_o", "program": "def f(a):\n return a + 1", "input": "4", "output": "5"
        }));
        let stored = fingerprints(&json!({
            "task_id": "seedling/1", "question": "plus one", "canonical": "def f(a):\n return a + 1",
            "oracle": {"type": "code_f", "message": "plus one", "pairs": [["1", "2"], ["2", "3"]]}
        }));
        assert!(seed.program.is_some());
        for about_it in [other, triple, stored] {
            assert_eq!(about_it.program, seed.program);
        }
        assert_ne!(triple.question, stored.question);
        let another = fingerprints(&json!({"snippet": "def f(A):\n return A + 1", "input": "4"}));
        assert_ne!(another.program, seed.program, "names of variables count");
        let asked = |input: &str| {
            let row = json!({"type": "code_o", "program": "def f(a):\n return a", "input": input, "output": input});
            fingerprints(&row).question
        };
        assert_ne!(asked("4"), asked("5"), "another input is another question");
    }

    #[test]
    fn a_program_that_solves_a_task_is_not_what_it_asks() {
        let row = json!({
            "task_id": "HumanEval/0", "question": "def f():\n", "canonical": "def f():\n return 1",
            "oracle": {"type": "script", "entry_point": "f", "test": "def check(f):\n assert f() == 1"}
        });
        assert_eq!(fingerprints(&row).program, None);
    }
}
