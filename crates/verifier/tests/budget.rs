//! A task has a budget, however many inputs it has.

mod support;

use lyceum_verifier::{Namespaces, Proposal, Solution, Status, Verifier};
use support::config;

/// A program that works for `seconds` in each call, of 0.4 that a call may take.
fn busy(seconds: f64) -> String {
    format!(
        "import time\ndef f(x):\n    end = time.process_time() + {seconds}\n    while time.process_time() < end:\n        \
         pass\n    return x"
    )
}

#[test]
fn calls_that_each_keep_their_limit_do_not_hold_a_slot_for_long() {
    let pool = Verifier::start(&config(Namespaces::Auto)).expect("a sandbox");
    let pairs = |count: usize| (0..count).map(|at| (at.to_string(), at.to_string())).collect();
    let graded = |count, seconds| {
        let solution = Solution::Function {
            pairs: pairs(count),
            answer: busy(seconds),
        };
        pool.grade("many", solution)
    };
    let verdict = graded(20, 0.2);
    assert_eq!((verdict.status, verdict.correct), (Status::Timeout, Some(false)));
    assert!(
        verdict.reason.contains("together used up the time of a task"),
        "{}",
        verdict.reason
    );
    let passed = verdict.passed.expect("a count");
    assert!(
        passed <= 8,
        "{passed} calls of 0.2 s passed, of a budget of four times 0.4 s"
    );
    // A task begins with a budget of its own.
    let quick = graded(20, 0.001);
    assert_eq!(quick.correct, Some(true), "{}", quick.reason);

    // As in a proposal, whose inputs each run in processes of their own.
    let loops = "def f(x):\n    for _ in range(2_000_000):\n        pass\n    return x";
    let proposal = Proposal::Function {
        program: loops.to_owned(),
        inputs: (0..100).map(|at| at.to_string()).collect(),
        message: String::new(),
    };
    let verdict = pool.check("proposal", proposal);
    assert_eq!(
        (verdict.status, verdict.valid),
        (Status::Timeout, Some(false)),
        "{}",
        verdict.reason
    );
}
