//! `lyceum-worker verify` on lines of every kind: each gets one verdict, in order, whatever its content.

use std::process::{Command, Output};

use serde_json::Value;

fn verify(input: &[u8], options: &[&str]) -> (Output, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let [tasks, verdicts] = ["tasks.jsonl", "verdicts.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&tasks, input).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"))
        .arg("verify")
        .arg("--in")
        .arg(&tasks)
        .arg("--out")
        .arg(&verdicts)
        .args(options)
        .output()
        .unwrap();
    let lines = std::fs::read_to_string(&verdicts).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output, lines)
}

#[test]
fn bad_lines_get_a_verdict_that_says_why_and_the_batch_goes_on() {
    let good = r#"{"id":"good","kind":"solve","type":"code_o","program":"def f(a):\n    return a + 1","input":"1","answer":"2"}"#;
    let large = "x = 0\\n".repeat(10 << 18);
    let large = format!(
        r#"{{"id":"large","kind":"propose","type":"code_o","program":"{large}def f(a):\n    return a","input":"1"}}"#
    );
    let huge = format!(r#"{{"id":"huge","kind":"math","gold":"1","answer":"{}"}}"#, "1".repeat(65 << 20));
    let cases: [(&[u8], &str, &str); 11] = [
        (b"not JSON", "", "malformed"),
        (br#"["a list"]"#, "", "malformed"),
        (br#"{"id":"kind","kind":"riddle"}"#, "kind", "malformed"),
        (br#"{"id":"missing","kind":"solve","type":"code_o","program":"","input":"1"}"#, "missing", "malformed"),
        (br#"{"id":"unknown","kind":"math","gold":"1","answer":"1","colour":"red"}"#, "unknown", "malformed"),
        (br#"{"id":7,"kind":"math","gold":"1","answer":"1"}"#, "", "malformed"),
        (b"{\"id\":\"utf8\",\"kind\":\"math\",\"gold\":\"\xff\",\"answer\":\"1\"}", "", "malformed"),
        (large.as_bytes(), "large", "malformed"),
        (huge.as_bytes(), "", "malformed"),
        (br#"{"id":"cut","kind":"math","gold":"#, "", "malformed"),
        (good.as_bytes(), "good", "ok"),
    ];
    let input: Vec<u8> = cases.iter().flat_map(|(line, ..)| [line, b"\n".as_slice()]).flatten().copied().collect();
    let (output, verdicts) = verify(&input, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(verdicts.len(), cases.len());
    for ((line, id, status), verdict) in cases.iter().zip(&verdicts) {
        let start = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert_eq!(verdict["id"].as_str().unwrap_or(""), *id, "{start}: {verdict}");
        assert_eq!(verdict["status"], *status, "{start}: {verdict}");
        if *status == "malformed" {
            assert!(!verdict["reason"].as_str().unwrap_or("").is_empty(), "{start}: {verdict}");
        }
    }
    assert_eq!(verdicts[10]["correct"], true);
}

#[test]
fn an_unreadable_file_and_an_unfit_interpreter_are_one_clear_line() {
    let worker = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lyceum-worker")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = worker(&["verify", "--in", "/nowhere/tasks.jsonl", "--out", "-"]);
    assert_ne!(code, Some(0));
    assert!(told.contains("/nowhere/tasks.jsonl"), "{told}");
    let (code, told) = worker(&["verify", "--in", "/dev/null", "--out", "-", "--python", "/bin/true"]);
    assert_ne!(code, Some(0));
    assert!(told.contains("/bin/true") && told.contains("--python"), "{told}");
    let (code, told) = worker(&["verify", "--in", "/dev/null", "--out", "-", "--cpu-seconds", "0"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("from 0.01 to 86400"), "{told}");
}
