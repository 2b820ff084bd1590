//! Work is judged by CPU time, however slow a busy machine is; wall-clock time ends programs that wait.

use std::time::Duration;

use lyceum_verifier::{Limits, Oracle, Status, Tests, Verdict, Verifier, VerifierConfig, read_line};
use serde_json::json;

use crate::support::pool;

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

#[test]
fn a_reward_waits_for_its_programs_and_for_nothing_else() {
    let limits = Limits { cpu: Duration::from_secs(20), wall: Duration::from_millis(500), ..Limits::default() };
    let pool = Verifier::start(&VerifierConfig { jobs: 1, limits, ..VerifierConfig::default() }).expect("a sandbox");
    let scored = |body: &str| {
        let source = format!("import os\ndef score(prompt, completion, row):\n    {body}\n    return 1\n");
        let task = json!({"id": "a", "kind": "reward", "source": source, "prompt": "", "completion": "", "row": {}, "timeout": 5});
        pool.judge(read_line(task.to_string().as_bytes()).expect("it is a task"))
    };
    let waited = scored("os.read(3, 1)");
    assert_eq!(waited.status, Status::Timeout, "{}", waited.reason);
    assert!(waited.reason.contains("0.5 s, and waited"), "{}", waited.reason);
    let worked = scored("assert execute('print(sum(range(100_000_000)))').strip() == '4999999950000000'");
    assert_eq!(worked.correct, Some(true), "{:?}: {}", worked.status, worked.reason);
}

#[test]
fn alarms_end_what_they_guard_at_the_same_place_each_time() {
    let printed = |program: &str, expected: &str| {
        let task = json!({"id": "a", "kind": "tests", "program": program, "pairs": [["", expected]]});
        let verdict = pool().judge(read_line(task.to_string().as_bytes()).expect("it is a task"));
        assert_eq!(verdict.correct, Some(true), "{program}: {:?} {}", verdict.status, verdict.reason);
    };
    const LATE: &str =
        "import signal, time\ndef late(*_): raise TimeoutError('late')\nsignal.signal(signal.SIGALRM, late)\n";
    for (guarded, expected) in [
        // A loop of one instruction, one within a function in C, a sleep, a pause, and what ends before its alarm.
        ("signal.alarm(1)\n    while True: pass", "late"),
        ("signal.alarm(1)\n    sum(x for x in iter(int, 1))", "late"),
        ("signal.setitimer(signal.ITIMER_REAL, .5)\n    time.sleep(1)", "late"),
        ("signal.alarm(9)\n    signal.pause()", "late"),
        ("signal.alarm(2)\n    print(signal.alarm(0))\n    time.sleep(3)", "2"),
        ("signal.alarm(1)\n    time.sleep(.5)\n    print(signal.alarm(0))", "1"),
    ] {
        let program = format!("{LATE}try:\n    {guarded}\nexcept TimeoutError as error:\n    print(error)\n");
        printed(&program, &format!("{expected}\n"));
    }
    let again = "import signal\nhits = []\nsignal.signal(signal.SIGVTALRM, lambda *_: hits.append(n))\n\
                 signal.setitimer(signal.ITIMER_VIRTUAL, .1, .05)\nn = 0\nwhile len(hits) < 3: n += 1\n\
                 print(hits[2] - hits[1] == hits[1] - hits[0] or hits)\n";
    printed(&again.replace("n += 1", "n += 0"), "True\n");
    let unhandled = json!({
        "id": "a", "kind": "tests", "program": "import signal\nsignal.alarm(1)\nwhile True: pass", "pairs": [["", ""]],
    });
    let verdict = pool().judge(read_line(unhandled.to_string().as_bytes()).expect("it is a task"));
    assert_eq!(verdict.correct, Some(false), "{}", verdict.reason);
}
