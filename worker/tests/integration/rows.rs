//! `lyceum-worker verify --rows`: the tests of a file of rows are tried, and bad rows are printed by line.

use std::io::Write as _;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn verify(file: &[u8], options: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows");
    std::fs::write(&rows, file).unwrap();
    Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
        .args(["verify", "--rows"])
        .arg(&rows)
        .args(options)
        .output()
        .unwrap()
}

fn row(test: &str, solution: Option<&str>) -> String {
    let task = format!("{test}{solution:?}");
    json!({"question": task, "test": test, "solution": solution, "question_id": task}).to_string()
}

const TEST: &str = "from solution import add\ndef test_add():\n    assert add(1, 2) == 3\n";
const RIGHT: Option<&str> = Some("def add(a, b):\n    return a + b\n");

#[test]
fn rows_that_cannot_judge_are_named_by_line_and_the_others_are_not() {
    let lines = [
        row(TEST, RIGHT),
        row("from solution import add\ndef test_add():\n    add(1, 2)\n    assert True\n", RIGHT),
        String::new(),
        row("import solution\ndef test_add():\n    assert True or solution.add(1, 2)\n", RIGHT),
        row(TEST, Some("def add(a, b):\n    print('\u{1b}[2J')\n    return a - b\n")),
        row("from solution import add\ndef checked():\n    assert add(1, 2) == 3\n", RIGHT),
        "{\"question\": 1}".to_owned(),
        row(TEST.replace("3", "1 + 2").as_str(), None),
        row("from solution import add\nx = add\n# add(1, 2)\nadd(1, 2", None),
    ];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines.join("\n").as_bytes()).unwrap();
    for file in [lines.join("\n").into_bytes(), packed.finish().unwrap()] {
        let output = verify(&file, &["--format", "kodcode", "--out", "-"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("5 of 8 rows are bad"), "{told}");
        let out = String::from_utf8(output.stdout).unwrap();
        let mut found: Vec<(u64, String)> = Vec::new();
        for line in out.lines() {
            let bad: Value = serde_json::from_str(line).unwrap();
            found.push((bad["line"].as_u64().unwrap(), bad["reason"].as_str().unwrap().to_owned()));
        }
        found.sort();
        let wanted =
            [(4, "passes_empty"), (5, "fails_canonical"), (6, "fails_canonical"), (7, "unreadable"), (9, "unusable")];
        assert_eq!(found, wanted.map(|(line, reason)| (line, reason.to_owned())), "{out}");
    }
}

#[test]
fn a_good_file_is_no_failure_and_a_line_for_people_is_one_line() {
    let output = verify(row(TEST, RIGHT).as_bytes(), &["--format", "kodcode"]);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let hostile = "def add(a, b):\n    raise ValueError('\u{1b}[2J\\n\u{202e}')\n";
    let output = verify(row(TEST, Some(hostile)).as_bytes(), &["--format", "kodcode"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with("line 1 (") && told.contains("fails its own canonical solution"), "{told}");
    assert!(!told.contains('\u{1b}') && !told.contains('\u{202e}'), "{told:?}");
}

#[test]
fn what_it_is_not_told_it_asks_for() {
    for (options, told) in [
        (&["--format", "kodecode"][..], "did you mean `kodcode`?"),
        (&["--format", "suite"], "set `suite`"),
        (&["--oracle", "tests", "--map", "question"], "FIELD=COLUMN"),
    ] {
        let output = verify(b"{}", options);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{output:?}");
    }
}
