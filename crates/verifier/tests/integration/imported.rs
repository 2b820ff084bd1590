//! Rows of imported sets tell right answers from wrong ones. The sets are not at hand, so the rows are made by hand.

use crate::support::pool;
use lyceum_core::benchmark::{BenchmarkRow, task};
use lyceum_core::dataset::{FieldMap, Filters, Intake, OracleKind, Purpose, ReadAs, row_format};
use serde_json::{Value, json};

fn stored(read_as: ReadAs, row: &Value) -> BenchmarkRow {
    let mut intake = Intake::new(Purpose::Training, None, read_as, Filters::default());
    let kept = intake.take(1, row.to_string().as_bytes()).expect("a row");
    serde_json::from_value(kept.expect("a row that is kept")).expect("a problem")
}

fn format(name: &str) -> ReadAs {
    ReadAs::Format(row_format(name).expect("a format"))
}

/// Whether the solution is right.
fn judged(row: &BenchmarkRow, solution: &str) -> bool {
    let task = task(row, row.task_id.clone(), solution.to_owned()).expect("a task");
    let verdict = pool().judge_all([task]).next().expect("a verdict");
    assert!(verdict.correct.is_some(), "{row:?}: {verdict:?}");
    verdict.correct == Some(true)
}

#[test]
fn assertions_of_mbpp_judge_programs() {
    for (text, setup, tests, code, wrong) in [
        (
            "Write a function to find the shared elements of two tuples.",
            "",
            json!(["assert set(shared((3, 4, 5), (5, 4))) == set((4, 5))", "assert shared((1,), (2,)) == ()"]),
            "def shared(a, b):\n    return tuple(set(a) & set(b))",
            "def shared(a, b):\n    return a",
        ),
        (
            "Write a function for the area of a circle, \\pi r^2, with \\N and \"\"\"quotes\"\"\" in its description.",
            "import math",
            json!(["assert math.isclose(area(2), 12.566, rel_tol=0.001)"]),
            "import math\ndef area(r):\n    return math.pi * r * r",
            "def area(r):\n    return 3 * r",
        ),
        (
            "Write a function to count the words of a text.",
            "text = 'one (two) three'",
            json!(["assert count(text) == 3", "assert count('') == 0"]),
            "def helper(text):\n    return text.split()\ndef count(text):\n    return len(helper(text))",
            "def count(text):\n    return 3",
        ),
    ] {
        let row = json!({
            "task_id": 1, "text": text, "code": code, "test_setup_code": setup, "test_list": tests, "challenge_test_list": [],
        });
        let row = stored(format("mbpp"), &row);
        assert!(judged(&row, row.canonical.as_deref().expect("a solution")), "{row:?}");
        assert!(!judged(&row, wrong), "{row:?}");
    }
}

#[test]
fn tests_of_a_map_judge_programs() {
    let columns = [("question", "task"), ("tests", "check"), ("entry_point", "name")];
    let map = FieldMap {
        oracle: OracleKind::Tests,
        columns: columns.map(|(field, column)| (field.to_owned(), column.to_owned())).into(),
    };
    let format = map.format().expect("a format");
    let row = json!({
        "task": "Double the number.", "name": "twice",
        "check": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0",
    });
    let row = stored(ReadAs::Map(map, Box::new(format)), &row);
    assert!(judged(&row, "def twice(n):\n    return 2 * n"));
    assert!(!judged(&row, "def twice(n):\n    return 4"));
}

#[test]
fn answers_of_the_sets_of_mathematics_are_compared_as_mathematics() {
    let deepscaler = json!({"problem": "Half?", "answer": "\\frac{1}{2}", "solution": "?"});
    let big_math =
        json!({"problem": "Half?", "answer": "0.5", "source": "x", "domain": ["y"], "llama8b_solve_rate": 0.5});
    for row in [stored(format("deepscaler"), &deepscaler), stored(format("big_math"), &big_math)] {
        assert!(judged(&row, "\\dfrac12"), "{row:?}");
        assert!(!judged(&row, "2"), "{row:?}");
    }
}

#[test]
fn triples_of_absolute_zero_judge_answers() {
    let row = json!({"snippet": "def f(a):\n    return a + 1", "input": "4", "output": "5", "imports": []});
    let asked_output = stored(format("azr_code_o"), &row);
    assert!(judged(&asked_output, "5") && !judged(&asked_output, "4"));
    let asked_input = stored(format("azr_code_i"), &row);
    assert!(judged(&asked_input, "4") && !judged(&asked_input, "5"));
    let row = json!({
        "snippet": "def f(a):\n    return a + 1", "inputs": ["4", "7"], "outputs": ["5", "8"], "message": "", "imports": [],
    });
    let asked_program = stored(format("azr_code_f"), &row);
    assert!(
        judged(&asked_program, "def f(n):\n    return 1 + n") && !judged(&asked_program, "def f(n):\n    return 5")
    );
}
