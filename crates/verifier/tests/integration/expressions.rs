//! Inputs that are expressions: evaluated by themselves, and given to the program as data.

use crate::support::pool;
use lyceum_verifier::{ProblemKind, Proposal, Solution, Status, Verdict};

fn solved(program: &str, output: &str, answer: &str) -> Verdict {
    let solution =
        Solution::Input { program: program.to_owned(), output: output.to_owned(), answer: answer.to_owned() };
    pool().grade(answer, solution)
}

#[test]
fn inputs_that_models_write_are_right() {
    for (program, output, answer) in [
        ("def f(n):\n    return n + 1", "2002", "n = 2001"),
        ("def f(numbers, k):\n    return len(numbers) * k", "8", "numbers = [2, 3], k = 4"),
        ("def f(n):\n    return n", "14", "5 + 6 + 3"),
        ("def f(numbers):\n    return sum(numbers)", "435", "list(range(30))"),
        ("def f(odd):\n    return odd", "[1, 3, 5, 7]", "[x for x in range(9) if x % 2]"),
        ("def f(text, part):\n    return text.count(part)", "1", "'TEXA'.lower(), 'a'"),
        ("def f(a, b=0):\n    return a - b", "-1", "*[1], **{'b': 2}"),
        ("def f(a):\n    return a", "{'b': 2}", "dict(b=2)"),
        ("def f(a):\n    return sorted(a)", "[1, 2]", "{x % 3 for x in (1, 2, 4)}"),
    ] {
        let verdict = solved(program, output, answer);
        assert_eq!(verdict.correct, Some(true), "{answer}: {:?} {}", verdict.status, verdict.reason);
    }
}

#[test]
fn an_input_without_values_is_malformed() {
    for answer in ["unknown", "lambda: 3", "print", "1 / 0", "(x for x in [3])", "object()", "raise_()", "f(1) g"] {
        let verdict = solved("def f(x):\n    return 3", "3", answer);
        assert_eq!((verdict.status, verdict.correct), (Status::Malformed, Some(false)), "{answer}: {}", verdict.reason);
        assert!(verdict.reason.starts_with("the answer is not a Python literal: "), "{}", verdict.reason);
    }
}

#[test]
fn an_input_shares_nothing_with_the_program() {
    // Evaluated in the program's namespace, the first would be its constant and the second its class.
    for (answer, status) in [("SECRET", Status::Malformed), ("Three()", Status::Malformed)] {
        let program = "SECRET = 3\nclass Three(int): pass\ndef f(x):\n    return x";
        let verdict = solved(program, "3", answer);
        assert_eq!((verdict.status, verdict.correct), (status, Some(false)), "{}", verdict.reason);
    }
    let program = "def range(*a):\n    return [3]\ndef f(x):\n    return list(x)";
    assert_eq!(solved(program, "[3]", "list(range(2))").correct, Some(false));
    assert_eq!(solved(program, "[0, 1]", "list(range(2))").correct, Some(true));
}

#[test]
fn a_proposal_may_build_its_input_from_its_program() {
    let program = "class Point:\n    def __init__(self, x):\n        self.x = x\ndef f(p):\n    return p.x + 1";
    for (input, output) in [("Point(2)", "3"), ("p=Point(4)", "5")] {
        let proposal =
            Proposal::Io { problem: ProblemKind::CodeO, program: program.to_owned(), input: input.to_owned() };
        assert_eq!(pool().check(input, proposal).output.as_deref(), Some(output));
        let solution =
            Solution::Output { program: program.to_owned(), input: input.to_owned(), answer: output.to_owned() };
        assert_eq!(pool().grade(input, solution).correct, Some(true));
    }
}
