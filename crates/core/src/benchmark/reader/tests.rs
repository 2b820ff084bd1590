use super::*;
use crate::benchmark::format::{Expect, Format};
use crate::benchmark::{Question, Submission, graded, samples, suite, task};
use crate::verify::{Check, Failure, Status, Verdict};

/// A valid line for each suite, in the format of its own files.
const LINES: [(&str, &str); 12] = [
    (
        "humaneval",
        r#"{"task_id":"HumanEval/0","prompt":"def f(a):\n","entry_point":"f","canonical_solution":"    return a\n","test":"def check(candidate):\n    assert candidate(1) == 1"}"#,
    ),
    (
        "humaneval_plus",
        r#"{"task_id":"HumanEval/0","prompt":"def f(a):\n","contract":"","entry_point":"f","canonical_solution":"    return a\n","base_input":[[1]],"plus_input":[[123456789012345678901234567890],[-Infinity]],"atol":1e-6}"#,
    ),
    (
        "mbpp_plus",
        r#"{"task_id":"Mbpp/2","prompt":"\"\"\"\nReturn it.\n\"\"\"\n","entry_point":"f","canonical_solution":"\ndef f(a):\n    return a\n","base_input":[[[1, 2]]],"atol":0,"plus_input":{},"contract":"","assertion":"assert f(1) == 1"}"#,
    ),
    (
        "livecodebench",
        r#"{"question_title":"A","question_content":"Add.","platform":"leetcode","question_id":"3000","contest_id":"weekly","contest_date":"2024-11-02T00:00:00","starter_code":"class Solution:\n    def add(self, a: int) -> int:\n        ","difficulty":"easy","public_test_cases":"[{\"input\": \"1\", \"output\": \"2\", \"testtype\": \"functional\"}]","private_test_cases":"eJxr","metadata":"{\"func_name\": \"add\"}"}"#,
    ),
    ("gsm8k", r#"{"question":"How many?","answer":"1+1=<<1+1=2>>2\n#### 1,002","idx":7}"#),
    (
        "math500",
        r#"{"problem":"Half?","solution":"It is $\\boxed{\\frac{1}{2}}$.","answer":"0.5","subject":"Algebra","level":1,"unique_id":"test/algebra/1.json"}"#,
    ),
    (
        "amc23",
        r#"{"id":3,"problem":"How far?","answer":27.0,"url":"https://example.org/2023_AMC_12A_Problems/Problem_1","question":"How far?"}"#,
    ),
    (
        "aime24",
        r#"{"id":60,"problem":"Find it.","solution":"x","answer":"204","url":"https://example.org/2024_AIME_I_Problems/Problem_1","question":"Find it."}"#,
    ),
    ("aime25", r#"{"id":"I-1","problem":"Find it.","solution":"","answer":"70","url":""}"#),
    ("minerva_math", r#"{"problem":"How wide?","solution":"It is \\boxed{1.6} cm.","type":"Astronomy","idx":0}"#),
    (
        "olympiadbench",
        r#"{"id":1606,"subfield":"Combinatorics","question":"How many moves?","solution":["2"],"final_answer":["$2$"],"is_multiple_answer":false,"unit":null,"answer_type":"Numerical","error":null}"#,
    ),
    (
        "held-out-seedling",
        r#"{"task_id":"seedling/0","type":"code_f","program":"def f(a):\n return a","message":"gives it back","pairs":[["1","1"],["2","2"],["3","3"]],"level":1}"#,
    ),
];

/// A row of `held-out-outputs`, which `held-out-seedling` has too.
const OUTPUT: &str =
    r#"{"task_id":"outputs/0","type":"code_o","program":"def f(a):\n return a","input":"1","output":"1","level":1}"#;

fn line(name: &str) -> &'static str {
    LINES.iter().find(|(suite, _)| *suite == name).unwrap().1
}

fn rows(name: &str, text: &str) -> Result<SuiteRows, Refused> {
    read(suite(name).unwrap(), text.as_bytes(), &Window::default())
}

fn only(name: &str) -> BenchmarkRow {
    rows(name, line(name)).unwrap().rows.remove(0)
}

#[test]
fn each_suite_reads_its_own_row_and_no_other() {
    for (own, text) in LINES {
        for (name, _) in LINES {
            let read = rows(name, text);
            // EvalPlus' HumanEval file has no `test`, and HumanEval's file has no EvalPlus inputs, so even these two
            // differ.
            assert_eq!(read.is_ok(), name == own, "a row of {own} read as {name}: {read:?}");
        }
        let row = only(own);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(serde_json::from_value::<BenchmarkRow>(json).unwrap(), row, "{own}");
    }
}

#[test]
fn outputs_to_find_are_of_one_type() {
    let [own, other] =
        ["held-out-outputs", "held-out-seedling"].map(|suite| rows(suite, OUTPUT).unwrap().rows.remove(0));
    assert_eq!(own.task_id, "held-out-outputs/outputs/0");
    let task_id = other.task_id.clone();
    assert_eq!(BenchmarkRow { task_id, ..own }, other);
    assert!(rows("held-out-outputs", line("held-out-seedling")).is_err());
}

#[test]
fn another_suites_file_is_told_by_name() {
    let refused = rows("gsm8k", line("amc23")).unwrap_err();
    assert_eq!(refused.faults.len(), 1);
    assert!(
        refused.to_string().starts_with("line 1: missing field `question`") || refused.to_string().contains("####"),
        "{refused}"
    );
    assert!(refused.to_string().contains("looks like a row of `amc23`, not of `gsm8k`"), "{refused}");
    let refused = rows("aime24", line("aime25")).unwrap_err();
    assert!(refused.to_string().contains("looks like a row of `aime25`, not of `aime24`"), "{refused}");
}

#[test]
fn golds_are_what_the_suites_say() {
    let gold = |name: &str| match only(name).oracle {
        Question::Math { gold } => gold,
        other => panic!("{other:?}"),
    };
    assert_eq!(gold("gsm8k"), "1,002");
    assert_eq!(gold("math500"), r"\frac{1}{2}", "the box of the solution, as the papers take it");
    assert_eq!(gold("amc23"), "27.0");
    assert_eq!(gold("minerva_math"), "1.6");
    assert_eq!(gold("olympiadbench"), "2");
    assert_eq!(only("gsm8k").task_id, "gsm8k/7");
    assert_eq!(only("aime25").task_id, "aime25/I-1");
    assert_eq!(only("math500").tags["level"], "1");
}

#[test]
fn numbers_of_any_size_reach_the_verifier() {
    let row = only("humaneval_plus");
    let task = task(&row, "x".to_owned(), "def f(a): return a".to_owned()).unwrap();
    let Check::Tests(tests) = &task.check else { panic!("{task:?}") };
    let json = serde_json::to_string(&task).unwrap();
    assert!(json.contains("[123456789012345678901234567890]") && json.contains("[-1e999]"), "{json}");
    assert_eq!(tests.entry_point.as_deref(), Some("f"));
}

#[test]
fn every_fault_is_named_by_its_line_and_nothing_is_read() {
    let good = line("gsm8k");
    let text = format!(
        "{good}\n\nnot JSON\n{good}\n[1]\n{}\n{}\n",
        r#"{"question":"?","answer":"no mark","idx":1}"#, r#"{"answer":"\n#### 1","idx":2}"#
    );
    let refused = rows("gsm8k", &text).unwrap_err();
    let said: Vec<(usize, &str)> = refused.faults.iter().map(|fault| (fault.line, fault.detail.as_str())).collect();
    assert_eq!(said.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    assert!(said[0].1.starts_with("it is not JSON"));
    assert_eq!(said[1].1, "task_id `gsm8k/7` is already on line 1");
    assert_eq!(said[2].1, "it is JSON, but not an object");
    assert!(said[3].1.contains("`answer` has no `####`"));
    assert_eq!(said[4].1, "missing field `question`; the row has `answer`, `idx`");
    let suite = suite("gsm8k").unwrap();
    let broken = read(suite, b"{\"question\":\"\xff\"}", &Window::default()).unwrap_err();
    assert!(broken.to_string().contains("line 1: it is not UTF-8"), "{broken}");
    let empty = read(suite, b"\n\n", &Window::default()).unwrap_err();
    assert!(empty.to_string().contains("the file is empty"), "{empty}");
    let many = rows("gsm8k", &"x\n".repeat(50)).unwrap_err();
    assert!(many.to_string().ends_with("and 30 more lines"), "{many}");
}

#[test]
fn a_part_of_a_suite_is_read_with_a_notice() {
    let read = rows("aime25", line("aime25")).unwrap();
    assert!(read.notices[0].contains("30 rows and this file 1"), "{:?}", read.notices);
    let marked = format!("\u{feff}{}", line("aime25"));
    assert!(rows("aime25", &marked).is_ok(), "a byte order mark is not part of the first line");
}

#[test]
fn gzip_is_unpacked_and_a_damaged_one_refused() {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(b"text").unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(&*unpacked(&packed).unwrap(), b"text");
    assert_eq!(&*unpacked(b"plain").unwrap(), b"plain");
    assert!(unpacked(&packed[..packed.len() / 2]).is_err());
}

#[test]
fn a_window_takes_contests_from_its_first_day_to_its_last() {
    let text = line("livecodebench");
    let suite = suite("livecodebench").unwrap();
    for (from, to, inside) in [
        (None, None, true),
        (Some("2024-11-02"), Some("2024-11-02"), true),
        (Some("2024-10-01"), Some("2025-02-01"), true),
        (Some("2024-11-03"), None, false),
        (None, Some("2024-11-01"), false),
    ] {
        let read = read(suite, text.as_bytes(), &Window::new(from, to).unwrap());
        assert_eq!(read.is_ok(), inside, "{from:?} to {to:?}: {read:?}");
    }
    for day in ["2024-13-01", "2024-1-1", "yesterday", "2024-10-00"] {
        assert!(Window::new(Some(day), None).is_err(), "{day}");
    }
    let dateless = text.replace("2024-11-02T00:00:00", "soon");
    assert!(rows("livecodebench", &dateless).unwrap_err().to_string().contains("contest_date"));
    let gsm8k = read_in_window("gsm8k");
    assert!(gsm8k.contains("contest_date"), "a suite without dates has no window: {gsm8k}");
}

fn read_in_window(name: &str) -> String {
    let window = Window::new(Some("2024-01-01"), None).unwrap();
    read(suite(name).unwrap(), line(name).as_bytes(), &window).unwrap_err().to_string()
}

#[test]
fn samples_are_read_in_every_format_and_refused_by_line() {
    let suite = suite("humaneval").unwrap();
    let rows = [only("humaneval")];
    let read = |text: &str, n| samples::read(suite, &rows, text.as_bytes(), n);
    let three = concat!(
        r#"{"task_id":"HumanEval/0","solution":"def f(a):\n    return a","_identifier":"x"}"#,
        "\n",
        r#"{"task_id":"HumanEval/0","completion":"    return a"}"#,
        "\n",
        r#"{"task_id":"HumanEval/0","response":"Here:\n```python\ndef f(a):\n    return a\n```"}"#,
    );
    let samples = read(three, Some(3)).unwrap();
    assert_eq!(samples.iter().map(|sample| sample.sample).collect::<Vec<_>>(), [0, 1, 2]);
    for sample in &samples {
        let solution = sample.submission.solution(&rows[0]).unwrap();
        assert_eq!(solution, "def f(a):\n    return a", "{sample:?}");
    }
    let refused = read(three, Some(2)).unwrap_err();
    assert!(refused.to_string().starts_with("line 3: it is sample 3 of `HumanEval/0`"), "{refused}");
    for (text, said) in [
        (r#"{"task_id":"Mbpp/2","solution":""}"#, "`Mbpp/2` is not a task of this dataset; its tasks are HumanEval/0"),
        (r#"{"solution":""}"#, "missing field `task_id`"),
        (r#"{"task_id":"HumanEval/0"}"#, "missing field `solution`"),
        (r#"{"task_id":"HumanEval/0","solution":1}"#, "field `solution` is not a text"),
        ("7", "not an object"),
        ("{", "it is not JSON"),
        ("", "the file has no samples"),
    ] {
        let refused = read(text, None).unwrap_err().to_string();
        assert!(refused.starts_with("line 1: ") && refused.contains(said), "{refused}");
    }
}

#[test]
fn mathematics_is_named_by_what_its_file_names_it() {
    let gsm8k = suite("gsm8k").unwrap();
    let rows = [only("gsm8k")];
    for text in [
        r#"{"task_id":"gsm8k/7","completion":"so it is \\boxed{2}"}"#,
        r#"{"task_id":"7","answer":2}"#,
        r#"{"idx":7,"solution":"2"}"#,
    ] {
        let sample = samples::read(gsm8k, &rows, text.as_bytes(), None).unwrap().remove(0);
        assert_eq!(sample.submission.solution(&rows[0]).unwrap(), "2", "{text}");
    }
    assert!(Submission::Solution(String::new()).solution(&rows[0]).is_err(), "nothing is no answer");
}

#[test]
fn base_tests_are_counted_apart() {
    let row = only("humaneval_plus");
    let verdict = |failed: &[usize]| Verdict {
        correct: Some(failed.is_empty()),
        passed: Some(3 - failed.len()),
        total: Some(3),
        failures: (!failed.is_empty()).then(|| {
            let failure = |index: &usize| Failure { index: *index, status: Status::Ok, reason: String::new() };
            failed.iter().map(failure).collect()
        }),
        ..Verdict::bare(None, Status::Ok, "")
    };
    let said = |failed: &[usize]| {
        let graded = graded(&row, &verdict(failed));
        (graded.correct, graded.base_correct)
    };
    assert_eq!(said(&[]), (true, Some(true)));
    assert_eq!(said(&[2]), (false, Some(true)));
    assert_eq!(said(&[0, 2]), (false, Some(false)));
    let died = Verdict { correct: Some(false), ..Verdict::bare(None, Status::Error, "it does not load") };
    assert_eq!(graded(&row, &died).base_correct, Some(false));
}

#[test]
fn a_suite_may_name_a_reward_which_gets_the_whole_row() {
    let digest = "0".repeat(64);
    let format: Format = toml::from_str(&format!(
        "type = \"python\"\nquestion = [\"question\"]\nanswer = \"answer\"\nid = [\"id\"]\n\
         reward = {{ file = \"{digest}\", timeout = 7, packages = [\"sympy\"] }}"
    ))
    .unwrap();
    let reader = RowReader { prefix: Some("mine"), format: &format, expect: &Expect::default() };
    let line = r#"{"id": 3, "question": "1+1?", "answer": "2", "levels": [1, {"a": null}]}"#;
    let row = reader.read(line.as_bytes(), 0).unwrap();
    assert_eq!((row.task_id.as_str(), row.canonical.as_deref()), ("mine/3", Some("2")));
    let stored = serde_json::to_value(&row).unwrap();
    assert_eq!(
        stored["oracle"],
        serde_json::json!({
            "type": "python", "file": digest, "timeout": 7, "packages": ["sympy"],
            "row": serde_json::from_str::<serde_json::Value>(line).unwrap(),
        })
    );
    let given = Submission::Response("so 2".to_owned()).solution(&row).unwrap();
    let Check::Reward(reward) = task(&row, "a".to_owned(), given).unwrap().check else { panic!("another check") };
    assert_eq!((reward.prompt.as_str(), reward.completion.as_str(), reward.timeout), ("1+1?", "so 2", 7));
}
