mod published;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;
use crate::benchmark::reader::unpacked;
use crate::benchmark::{BenchmarkRow, Question, suite};
use crate::dataset::{FieldMap, OracleKind, row_format};

fn format(name: &str) -> ReadAs {
    ReadAs::Format(row_format(name).unwrap())
}

fn map(oracle: OracleKind, columns: &[(&str, &str)]) -> ReadAs {
    let own = |(name, column): &(&str, &str)| ((*name).to_owned(), (*column).to_owned());
    let map = FieldMap { oracle, columns: columns.iter().map(own).collect() };
    let format = map.format().unwrap();
    ReadAs::Map(map, Box::new(format))
}

fn intake(read_as: ReadAs) -> Intake {
    Intake::new(Purpose::Training, None, read_as, Filters::default())
}

fn stored(read_as: ReadAs, row: &Value) -> BenchmarkRow {
    let kept = intake(read_as).take(1, row.to_string().as_bytes());
    serde_json::from_value(kept.unwrap().unwrap()).unwrap()
}

fn refused(read_as: ReadAs, row: &Value) -> String {
    match intake(read_as).take(1, row.to_string().as_bytes()) {
        Err(RowFault::Row(detail)) => detail,
        other => panic!("{row}: {other:?}"),
    }
}

fn gold(row: &BenchmarkRow) -> &str {
    match &row.oracle {
        Question::Math { gold } => gold,
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_and_rows_have_a_most() {
    let row = |question: usize, test: usize| {
        let oracle = json!({"type": "script", "entry_point": "f", "test": "#".repeat(test) + "\nassert f() == 1"});
        json!({"task_id": "a", "question": "?".repeat(question), "oracle": oracle})
    };
    let kept = |row: &Value| intake(ReadAs::Lyceum).take(1, row.to_string().as_bytes()).unwrap();
    assert!(kept(&row(1 << 20, 2 << 20)).is_some());
    let told = refused(ReadAs::Lyceum, &row((1 << 20) + 1, 1));
    assert_eq!(told, "field `question` has 1048577 bytes: at most 1048576 are valid");
    assert!(refused(ReadAs::Lyceum, &row(1, 64 << 20)).contains("at most 64 are valid"));
}

#[test]
fn mathematics_of_the_named_sets() {
    let row = json!({"question": "How many?", "answer": "1+1=<<1+1=2>>2\n#### 2"});
    let read = stored(format("gsm8k"), &row);
    assert_eq!((read.task_id.as_str(), gold(&read)), ("gsm8k/0", "2"));

    let solution = "So $x = \\boxed{\\frac{1}{2}}$.";
    let row = json!({"problem": "Half?", "level": "Level 5", "type": "Algebra", "solution": solution});
    let read = stored(format("math"), &row);
    assert_eq!(gold(&read), "\\frac{1}{2}");
    assert_eq!((&*read.tags["level"], &*read.tags["type"]), ("Level 5", "Algebra"));
    let unboxed = json!({"problem": "Half?", "level": "Level 5", "type": "Algebra", "solution": "One half."});
    assert!(refused(format("math"), &unboxed).contains("no \\boxed{}"));

    let row = json!({"problem": "Half?", "answer": "$\\frac{1}{2}$", "solution": ""});
    assert_eq!(gold(&stored(format("deepscaler"), &row)), "\\frac{1}{2}");

    let row = json!({
        "problem": "Half?", "answer": "0.5", "source": "orca_math",
        "domain": ["Mathematics -> Algebra", "Mathematics -> Number Theory"], "llama8b_solve_rate": 0.8125,
    });
    let read = stored(format("big_math"), &row);
    assert_eq!(read.tags["domain"], "Mathematics -> Algebra, Mathematics -> Number Theory");
    assert_eq!((&*read.tags["llama8b_solve_rate"], gold(&read)), ("0.8125", "0.5"));
}

/// A row of MBPP, in the form of its full file.
fn mbpp() -> Value {
    json!({
        "task_id": 2, "text": "Write a function to find the shared elements.",
        "code": "def shared(a, b):\n    return tuple(set(a) & set(b))",
        "test_list": ["assert set(shared((3, 4), (4,))) == set((4,))", "assert shared((), ()) == ()"],
        "test_setup_code": "", "challenge_test_list": [],
    })
}

#[test]
fn mbpp_gets_its_entry_point_from_its_tests() {
    let read = stored(format("mbpp"), &mbpp());
    assert_eq!(read.task_id, "mbpp/2");
    assert_eq!(
        read.question,
        "\"\"\"\nWrite a function to find the shared elements.\nassert set(shared((3, 4), (4,))) == set((4,))\n\"\"\"\n"
    );
    let Question::Script { entry_point, test } = read.oracle else { panic!("{read:?}") };
    assert_eq!(entry_point, "shared");
    assert_eq!(test.lines().count(), 2);
    assert!(read.canonical.unwrap().starts_with("def shared"));

    let mut sanitized = mbpp();
    sanitized["prompt"] = sanitized["text"].take();
    sanitized["test_imports"] = json!(["import math"]);
    let Question::Script { test, .. } = stored(format("mbpp"), &sanitized).oracle else { panic!("another oracle") };
    assert!(test.starts_with("import math\nassert"), "{test}");
    let mut untested = mbpp();
    untested["test_list"] = json!([]);
    assert_eq!(refused(format("mbpp"), &untested), "field `test_list` has no test");
}

#[test]
fn mbpp_overlaps_mbpp_plus() {
    let plus = json!({
        "task_id": "Mbpp/2", "entry_point": "shared", "canonical_solution": "", "base_input": [[[1], [1]]], "plus_input": {},
        "prompt": "\"\"\"\nWrite a function to find the shared elements.\nassert set(shared((3, 4), (4,))) == set((4,))\n\"\"\"\n",
        "atol": 0,
    });
    let of = |read_as: ReadAs, row: &Value| {
        let kept = intake(read_as).take(1, row.to_string().as_bytes()).unwrap().unwrap();
        fingerprints(&kept)
    };
    assert_eq!(of(format("mbpp"), &mbpp()), of(ReadAs::Suite(suite("mbpp_plus").unwrap()), &plus));
}

#[test]
fn code_of_the_named_sets() {
    let row = json!({
        "task_id": "mine/0", "prompt": "def f(a):\n", "entry_point": "f", "test": "def check(candidate):\n    assert candidate(1)",
    });
    let read = stored(format("humaneval"), &row);
    assert_eq!((read.task_id.as_str(), read.canonical), ("mine/0", None));

    let triple = json!({
        "snippet": "def f(a):\n    return a", "input": "'a'", "output": "'a'", "imports": [], "_input_type": "str",
    });
    let read = stored(format("azr_code_o"), &triple);
    assert_eq!(read.question, "def f(a):\n    return a\n# f('a') = ?");
    assert_eq!(read.canonical.as_deref(), Some("'a'"));
    assert!(matches!(stored(format("azr_code_i"), &triple).oracle, Question::CodeI { .. }));
    let mut function = json!({
        "snippet": "def f(a):\n    return a", "inputs": ["1", "2"], "outputs": ["1", "2"], "message": "", "imports": [],
    });
    let Question::CodeF { pairs, .. } = stored(format("azr_code_f"), &function).oracle else {
        panic!("another oracle")
    };
    assert_eq!(pairs, [("1".to_owned(), "1".to_owned()), ("2".to_owned(), "2".to_owned())]);
    function["outputs"] = json!(["1"]);
    assert!(refused(format("azr_code_f"), &function).contains("`inputs` has 2 inputs and field `outputs` 1 outputs"));
}

#[test]
fn any_file_is_read_by_a_map() {
    let row = json!({
        "data": {"text": "Half?", "a.b": 1}, "reward_model": {"ground_truth": "0.5"}, "prompt": [{"content": "?"}], "n": 3,
    });
    let columns = [
        ("question", "data.text"),
        ("gold", "reward_model.ground_truth"),
        ("task_id", "n"),
        ("tags", "data.a.b, prompt.0.content, none"),
    ];
    let read = stored(map(OracleKind::Math, &columns), &row);
    assert_eq!((read.task_id.as_str(), read.question.as_str(), gold(&read)), ("3", "Half?", "0.5"));
    assert_eq!(read.tags.len(), 2, "{:?}", read.tags);

    let prose = json!({"task": "Double $x\\nu$.", "asserts": "assert twice(2) == 4"});
    let read = stored(map(OracleKind::Tests, &[("question", "task"), ("tests", "asserts")]), &prose);
    assert_eq!(read.question, "r\"\"\"\nDouble $x\\nu$.\n\"\"\"\n", "the verifier reads it as Python");
    assert_eq!(read.oracle.entry_point(), Some("twice"));
}

#[test]
fn a_map_that_misses_names_the_columns() {
    let row = json!({"problem": "Half?", "answer": "0.5"});
    let said = refused(map(OracleKind::Math, &[("question", "problme"), ("gold", "answer")]), &row);
    assert_eq!(said, "missing field `problme` (did you mean `problem`?); the row has `answer`, `problem`");
    let null = json!({"problem": "Half?", "answer": null});
    let said = refused(map(OracleKind::Math, &[("question", "problem"), ("gold", "answer")]), &null);
    assert_eq!(said, "field `answer` is null; the row has `answer`, `problem`");
    let nested = json!({"problem": {"text": "Half?"}, "answer": "0.5"});
    let said = refused(map(OracleKind::Math, &[("question", "problem.txt"), ("gold", "answer")]), &nested);
    assert!(said.starts_with("missing field `problem.txt`"), "{said}");
}

#[test]
fn filters_leave_rows_out_and_say_so() {
    let filters = Filters {
        min_question_bytes: Some(4),
        max_question_bytes: Some(8),
        keep_duplicates: false,
        ..Filters::default()
    };
    let mut intake = Intake::new(Purpose::Training, None, format("deepscaler"), filters);
    for (problem, kept) in [("1+1?", true), ("1 + 1?", true), (" 1+1? ", false), ("?", false), ("What is 1+1?", false)]
    {
        let row = json!({"problem": problem, "answer": "2"}).to_string();
        assert_eq!(intake.take(1, row.as_bytes()).unwrap().is_some(), kept, "{problem}");
    }
    let report = intake.report();
    assert_eq!((report.read, report.kept), (5, 2));
    assert_eq!((report.duplicates, report.too_short, report.too_long), (1, 1, 1));
}

#[test]
fn seeds_about_one_program_are_no_duplicates() {
    let mut intake = Intake::new(Purpose::Seeds, None, ReadAs::Lyceum, Filters::default());
    for (input, kept) in [("1", true), ("2", true), ("1", false)] {
        let row = json!({"snippet": "def f(a):\n return a", "input": input, "output": "x"}).to_string();
        assert_eq!(intake.take(1, row.as_bytes()).unwrap().is_some(), kept);
    }
}

/// Data that is not part of the project.
fn shared(file: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(file);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn real_sets_are_read_whole() {
    for (file, name, rows) in [
        ("humaneval/HumanEval.jsonl.gz", "humaneval", 164),
        ("mbpp_plus/MbppPlus.jsonl", "evalplus", 378),
        ("math/gsm8k.jsonl", "gsm8k", 1319),
        ("math/math500.jsonl", "math", 500),
        ("azr_seeds/7b_coder_seed_io.jsonl", "azr_code_o", 256),
        ("azr_seeds/7b_coder_code_f_seed_io.jsonl", "azr_code_f", 256),
    ] {
        let Some(path) = shared(file) else { return };
        let bytes = fs::read(path).unwrap();
        let mut intake = intake(format(name));
        for (number, line) in crate::benchmark::reader::lines(&unpacked(&bytes).unwrap()) {
            intake.take(number, line).unwrap_or_else(|fault| panic!("{file}, line {number}: {fault:?}"));
        }
        let report = intake.report();
        assert_eq!(report.read, rows, "{file}");
        assert_eq!(report.kept + report.duplicates, rows, "{file}");
    }
}

#[test]
fn a_real_row_without_an_oracle_is_refused_by_its_line() {
    let Some(path) = shared("azr_seeds/7b_coder_seed_io.jsonl") else { return };
    let bytes = fs::read(path).unwrap();
    let mut intake = intake(format("azr_code_i"));
    let lines = crate::benchmark::reader::lines(&bytes);
    let faults: Vec<_> = lines.filter_map(|(number, line)| Some((number, intake.take(number, line).err()?))).collect();
    let empty = RowFault::Row("field `oracle.output` is empty".to_owned());
    assert_eq!(faults, [(176, empty)], "its program is random, so no output was kept");
}
