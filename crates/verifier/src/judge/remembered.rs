//! What was found out once is not run again: a bench without an interpreter judges it, too.

use std::path::PathBuf;
use std::time::Duration;

use lyceum_core::verify::{Check, ProblemKind, Proposal, Solution, Status, Task};

use super::Bench;
use crate::gold::GoldCache;
use crate::sandbox::{Budget, Interpreter, Limits, Namespaces, Watch, ZygotePlan};
use crate::slot::Slot;
use crate::value::Comparison;

const CPU: Duration = Duration::from_millis(300);

fn slot(interpreter: Interpreter) -> Slot {
    let limits = Limits { cpu: CPU, ..Limits::default() };
    Slot::new(ZygotePlan {
        interpreter,
        namespaces: Namespaces::Auto,
        limits,
        packages: Vec::new(),
        watch: Watch::default(),
        budget: Budget::default(),
    })
}

/// A bench that runs programs, and one that cannot.
fn benches() -> [Slot; 2] {
    let python = Interpreter::resolve(None).expect("an interpreter");
    let broken = Interpreter { executable: PathBuf::from("/no/such/python3"), ..python.clone() };
    [slot(python), slot(broken)]
}

fn judge(slot: &mut Slot, gold: &GoldCache, check: impl Into<Check>) -> (Status, Option<bool>, String) {
    let mut bench = Bench { slot, gold, comparison: Comparison::Python };
    let task = Task { id: "a".to_owned(), check: check.into() };
    let verdict = bench.judge(&task).unwrap_or_else(|unjudged| *unjudged.0);
    (verdict.status, verdict.valid.or(verdict.correct), verdict.reason)
}

#[test]
fn a_program_that_does_not_end_is_run_once() {
    let ([mut able, mut unable], gold) = (benches(), GoldCache::default());
    let proposal = |input: &str| Proposal::Io {
        problem: ProblemKind::CodeO,
        program: "def f(x):\n    while x: pass\n    return x".to_owned(),
        input: input.to_owned(),
    };
    let solution = |answer: &str| Solution::Input {
        program: "def f(x):\n    while x: pass\n    return x".to_owned(),
        output: "0".to_owned(),
        answer: answer.to_owned(),
    };
    let first = judge(&mut able, &gold, proposal("1"));
    assert_eq!((first.0, first.1), (Status::Timeout, Some(false)), "{}", first.2);
    assert_eq!(judge(&mut unable, &gold, proposal("1")), first);
    let first = judge(&mut able, &gold, solution("7"));
    assert_eq!((first.0, first.1), (Status::Timeout, Some(false)), "{}", first.2);
    assert_eq!(judge(&mut unable, &gold, solution("7")), first);

    // Another input, another limit, and a failure that took no time are not known.
    assert_eq!(judge(&mut unable, &gold, proposal("2")).0, Status::Error);
    unable.set_cpu(Some(2 * CPU));
    assert_eq!(judge(&mut unable, &gold, proposal("1")).0, Status::Error);
    unable.set_cpu(None);
    let raises = "def f(x):\n    raise MemoryError\n    return x".to_owned();
    let solution = Solution::Input { program: raises, output: "0".to_owned(), answer: "1".to_owned() };
    assert_eq!(judge(&mut able, &gold, solution.clone()).0, Status::Memory);
    assert_eq!(judge(&mut unable, &gold, solution).0, Status::Error);
}

#[test]
fn the_output_of_a_valid_problem_is_known_to_its_solvers() {
    let ([mut able, mut unable], gold) = (benches(), GoldCache::default());
    let program = "def f(x):\n    return {x: [1, 2]}".to_owned();
    let proposal = Proposal::Io { problem: ProblemKind::CodeO, program: program.clone(), input: "'a'".to_owned() };
    let answered = |answer: &str| Solution::Output {
        program: program.clone(),
        input: "'a'".to_owned(),
        answer: answer.to_owned(),
    };
    assert_eq!(judge(&mut unable, &gold, answered("{'a': [1, 2]}")).0, Status::Error);
    assert_eq!(judge(&mut able, &gold, proposal).1, Some(true));
    assert_eq!(judge(&mut unable, &gold, answered("{'a': [1, 2]}")).1, Some(true));
    assert_eq!(judge(&mut unable, &gold, answered("{'a': [2, 1]}")).1, Some(false));
}

#[test]
fn an_input_that_was_tried_is_not_run_again() {
    let ([mut able, mut unable], gold) = (benches(), GoldCache::default());
    let answered = |program: &str, answer: &str| Solution::Input {
        program: program.to_owned(),
        output: "9".to_owned(),
        answer: answer.to_owned(),
    };
    let (square, cube) = ("def f(x):\n    return x * x", "def f(x):\n    return x * x * x");
    assert_eq!(judge(&mut able, &gold, answered(square, "3")).1, Some(true));
    assert_eq!(judge(&mut able, &gold, answered(square, "4")).1, Some(false));
    assert_eq!(judge(&mut unable, &gold, answered(square, " 3 ")).1, Some(true), "the same input, written otherwise");
    assert_eq!(judge(&mut unable, &gold, answered(square, "4")).1, Some(false));

    // Another input, and the same one of another program, are not known.
    assert_eq!(judge(&mut unable, &gold, answered(square, "5")).0, Status::Error);
    assert_eq!(judge(&mut unable, &gold, answered(cube, "3")).0, Status::Error);
}

#[test]
fn an_answer_that_does_not_end_on_one_pair_is_not_run_on_the_others() {
    let ([mut able, _], gold) = (benches(), GoldCache::default());
    let pairs = (0..6).map(|at| (at.to_string(), at.to_string())).collect();
    let answer = "def f(x):\n    while x == 1: pass\n    return x".to_owned();
    let mut bench = Bench { slot: &mut able, gold: &gold, comparison: Comparison::Python };
    let task = Task { id: "a".to_owned(), check: Solution::Function { pairs, answer }.into() };
    let verdict = bench.judge(&task).expect("a sandbox");
    assert_eq!((verdict.status, verdict.passed, verdict.total), (Status::Timeout, Some(1), Some(6)));
}
