//! A task has a budget, however many inputs it has.

use crate::support::config;
use lyceum_verifier::{Namespaces, Proposal, Solution, Status, Verifier};

/// A program that counts to a number in each call. Two million take some 50 ms of CPU time, of the 0.4 s of a call and the
/// 1.6 s of a task.
fn busy(rounds: u32) -> String {
    format!("def f(x):\n    for _ in range({rounds}):\n        pass\n    return x")
}

#[test]
fn calls_that_each_keep_their_limit_do_not_hold_a_slot_for_long() {
    let pool = Verifier::start(&config(Namespaces::Auto)).expect("a sandbox");
    let pairs = |count: usize| (0..count).map(|at| (at.to_string(), at.to_string())).collect();
    let graded = |count, rounds| {
        let solution = Solution::Function { pairs: pairs(count), answer: busy(rounds) };
        pool.grade("many", solution)
    };
    let verdict = graded(600, 2_000_000);
    assert_eq!((verdict.status, verdict.correct), (Status::Timeout, Some(false)));
    assert!(verdict.reason.contains("together used up the time of a task"), "{}", verdict.reason);
    let passed = verdict.passed.expect("a count");
    assert!(passed > 1 && passed < 600, "{passed} calls passed, each within its limit, and not all within the budget");
    // A task begins with a budget of its own.
    let quick = graded(20, 1);
    assert_eq!(quick.correct, Some(true), "{}", quick.reason);

    // As in a proposal, whose inputs each run in processes of their own.
    let proposal = Proposal::Function {
        program: busy(2_000_000),
        inputs: (0..100).map(|at| at.to_string()).collect(),
        message: String::new(),
    };
    let verdict = pool.check("proposal", proposal);
    assert_eq!((verdict.status, verdict.valid), (Status::Timeout, Some(false)), "{}", verdict.reason);
}
