//! LiveCodeBench's rows in their original form: tests in JSON and in base64 of zlib of a pickle, functions and standard
//! input.

use std::process::Command;

use crate::support::pool;
use lyceum_verifier::{Interpreter, Status, Verdict, read_line};
use serde_json::{Value, json};

/// Packed by CPython, as the benchmark's authors do it.
fn packed(cases: &Value) -> String {
    let source = "import base64, json, pickle, sys, zlib\n\
                  print(base64.b64encode(zlib.compress(pickle.dumps(json.dumps(json.loads(sys.argv[1]))))).decode())";
    let python = Interpreter::resolve(None).expect("an interpreter").executable;
    let output = Command::new(python).args(["-I", "-c", source, &cases.to_string()]).output().expect("CPython");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("base64").trim().to_owned()
}

fn judged(mut row: Value, program: &str) -> Verdict {
    row["id"] = "row".into();
    row["kind"] = "tests".into();
    row["program"] = program.into();
    let task = read_line(row.to_string().as_bytes()).unwrap_or_else(|error| panic!("{}", error.reason));
    pool().judge(task)
}

fn case(kind: &str, input: &str, output: &str) -> Value {
    json!({"input": input, "output": output, "testtype": kind})
}

fn functional() -> Value {
    let public = json!([case("functional", "[1, 2, 3]\n2", "[2, 4, 6]")]);
    let private = json!([case("functional", "[]\n7", "[]"), case("functional", "[10, -1]\n-3", "[-30, 3]")]);
    json!({"entry_point": "scale", "public_test_cases": public.to_string(), "private_test_cases": packed(&private)})
}

fn stdin() -> Value {
    let public = json!([case("stdin", "2\n3 4\n5 6\n", "7\n11\n")]);
    let private = json!([case("stdin", "1\n1000000000000 1\n", "1000000000001\n"), case("stdin", "0\n", "")]);
    json!({"public_test_cases": public.to_string(), "private_test_cases": packed(&private)})
}

#[test]
fn a_method_of_solution_is_called_with_arguments_in_json() {
    let right =
        "class Solution:\n    def scale(self, xs: List[int], k: int) -> List[int]:\n        return [x * k for x in xs]";
    let verdict = judged(functional(), right);
    assert_eq!(
        (verdict.status, verdict.correct, verdict.passed, verdict.total),
        (Status::Ok, Some(true), Some(3), Some(3)),
        "{}",
        verdict.reason
    );
    let wrong = "class Solution:\n    def scale(self, xs, k):\n        return [abs(x * k) for x in xs]";
    let verdict = judged(functional(), wrong);
    assert_eq!((verdict.correct, verdict.passed), (Some(false), Some(2)), "{}", verdict.reason);
}

#[test]
fn a_program_reads_standard_input_and_its_lines_are_compared() {
    let right = "n = int(input())\nfor _ in range(n):\n    a, b = map(int, input().split())\n    print(a + b)";
    let verdict = judged(stdin(), right);
    assert_eq!(
        (verdict.status, verdict.correct, verdict.passed, verdict.total),
        (Status::Ok, Some(true), Some(3), Some(3)),
        "{}",
        verdict.reason
    );
    let guarded = format!("def main():\n    {}\nif __name__ == '__main__':\n    main()", right.replace('\n', "\n    "));
    assert_eq!(judged(stdin(), &guarded).correct, Some(true), "code under a main guard runs");
    let rounded = right.replace("a + b", "int(float(a) + float(b)) if a < 10 else 10 ** 12");
    let verdict = judged(stdin(), &rounded);
    assert_eq!((verdict.correct, verdict.passed), (Some(false), Some(2)), "{}", verdict.reason);
}

#[test]
fn expected_outputs_are_nowhere_that_a_program_could_read() {
    let peek = "import gc, sys\nwanted = str(10 ** 12 + 1) + chr(10)\n\
                found = [o for o in gc.get_objects() if isinstance(o, (list, tuple)) and wanted in o]\n\
                print(wanted if found else 'nothing')";
    let verdict = judged(stdin(), peek);
    assert_eq!((verdict.correct, verdict.passed), (Some(false), Some(0)), "{}", verdict.reason);
}

#[test]
fn private_tests_that_are_not_what_they_should_be_are_malformed() {
    for (private, reason) in [
        ("!!!".to_owned(), "base64"),
        ("aGVsbG8=".to_owned(), "zlib"),
        (packed(&json!([{"input": "1", "output": "1", "testtype": "interactive"}])), "interactive"),
        (packed(&json!([case("functional", "1", "1")])), "both types"),
    ] {
        let row = json!({"public_test_cases": json!([case("stdin", "1\n", "1\n")]).to_string(), "private_test_cases": private});
        let verdict = judged(row, "print(input())");
        assert_eq!(verdict.status, Status::Malformed, "{}", verdict.reason);
        assert!(verdict.reason.contains(reason), "{}", verdict.reason);
    }
}
