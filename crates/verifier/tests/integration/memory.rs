//! The host's memory while it judges large values. Alone in its file, because it measures this process.

use std::fs;

use crate::support::pool;
use lyceum_verifier::{Check, JsonText, Oracle, ProblemKind, Proposal, Solution, Tests, Tolerance, Verdict};

/// The verdict, and by how many MiB the peak of resident memory rose.
fn measured(check: impl Into<Check>) -> (Verdict, u64) {
    let field = |name: &str| -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("this process");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field");
        line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number")
    };
    // Sets the peak back to what is resident now.
    fs::write("/proc/self/clear_refs", "5").expect("this process");
    let before = field("VmRSS:");
    let verdict = pool().grade("large", check);
    (verdict, field("VmHWM:").saturating_sub(before) >> 10)
}

#[test]
fn large_values_are_in_memory_one_at_a_time() {
    let _ = pool();
    // As large as a value of a problem may be; decoded, it takes fifty times as much.
    let large = "def f(x):\n    return [None] * 1_000_000";
    let pairs = vec![("0".to_owned(), "None".to_owned()); 10];
    let (verdict, peak) = measured(Solution::Function { pairs: pairs.clone(), answer: large.to_owned() });
    assert_eq!((verdict.passed, verdict.total), (Some(0), Some(10)), "{}", verdict.reason);
    assert!(verdict.reason.contains("the program gives [None, None"), "{}", verdict.reason);
    assert!(peak < 200, "answers to a function: {peak} MiB");

    let inputs: Vec<_> = (0..5).map(|at| JsonText::new(format!("[{at}]")).expect("JSON")).collect();
    let (verdict, peak) = measured(Tests {
        program: "def f(x):\n    return [None] * (2_500_000 + x // 4)".to_owned(),
        entry_point: Some("f".to_owned()),
        oracle: Oracle::Reference {
            inputs,
            reference: "def f(x):\n    return [None] * 2_500_000".to_owned(),
            atol: Tolerance::default(),
            task_id: None,
        },
    });
    assert_eq!((verdict.passed, verdict.total), (Some(4), Some(5)), "{}", verdict.reason);
    assert!(peak < 300, "values of a program under test: {peak} MiB");

    let (verdict, peak) = measured(Proposal::Function {
        program: large.to_owned(),
        inputs: pairs.into_iter().map(|(input, _)| input).collect(),
        message: String::new(),
    });
    assert_eq!(verdict.valid, Some(false), "its outputs are too long as text");
    assert!(peak < 300, "a proposal: {peak} MiB");
}

#[test]
fn a_value_is_limited_where_it_arrives() {
    // The limit of the program's own process is not asked.
    let program = "def f(x):\n    import os\n    data = b'L2000000;' + b'N' * 2000000\n    out = b'V' + \
                   len(data).to_bytes(4, 'big') + data\n    while out:\n        out = out[os.write(3, out):]\n    os._exit(0)\n    \
                   return 0";
    let proposal = Proposal::Io { problem: ProblemKind::CodeO, program: program.to_owned(), input: "0".to_owned() };
    let verdict = pool().check("forged", proposal);
    assert_eq!(verdict.valid, Some(false));
    assert!(verdict.reason.contains("a value that is too large"), "{}", verdict.reason);
}
