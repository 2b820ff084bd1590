//! Work is judged by CPU time, however slow a busy machine is; wall-clock time ends programs that wait.

use std::time::Duration;

use lyceum_verifier::{Limits, Oracle, Status, Tests, Verdict, Verifier, VerifierConfig};

/// Judges a program with this body, tested by a call that must return None.
fn judged(limits: Limits, body: &str) -> Verdict {
    let pool = Verifier::start(&VerifierConfig { jobs: 1, limits, ..VerifierConfig::default() }).expect("a sandbox");
    let tests = Tests {
        program: format!("import os\ndef f(x):\n    {body}\n"),
        entry_point: Some("f".to_owned()),
        oracle: Oracle::Script {
            test: "def check(candidate):\n    assert candidate(1) is None\n".to_owned(),
            prompt: None,
        },
    };
    pool.grade("clocks", tests)
}

#[test]
fn what_works_is_not_ended_by_the_clock() {
    let limits = Limits { cpu: Duration::from_secs(20), wall: Duration::from_millis(500), ..Limits::default() };
    let verdict = judged(limits, "sum(range(100_000_000))");
    assert_eq!(verdict.correct, Some(true), "{:?}: {}", verdict.status, verdict.reason);
}

#[test]
fn what_waits_is_ended_by_the_clock() {
    let limits = Limits { wall: Duration::from_millis(500), ..Limits::default() };
    // The socket brings nothing more before there is an answer.
    let verdict = judged(limits, "os.read(3, 1)");
    assert_eq!(verdict.status, Status::Timeout, "{}", verdict.reason);
    assert!(verdict.reason.contains("0.5 s, and waited"), "{}", verdict.reason);
}
