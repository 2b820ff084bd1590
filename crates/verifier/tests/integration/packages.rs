//! Packages that programs may import, besides the standard library.

use crate::support::config;
use lyceum_verifier::{
    Namespaces, Package, ProblemKind, Proposal, Solution, Status, Verdict, Verifier, VerifierConfig,
};

/// A pool with this package, if the interpreter has it.
fn pool_with(package: Package) -> Option<Verifier> {
    let with_package = VerifierConfig {
        packages: vec![package],
        limits: VerifierConfig::default().limits,
        ..config(Namespaces::Auto)
    };
    match Verifier::start(&with_package) {
        Ok(pool) => Some(pool),
        Err(error) if error.to_string().contains("install it") => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn proposed(pool: &Verifier, program: &str) -> Verdict {
    let proposal = Proposal::Io { problem: ProblemKind::CodeO, program: program.to_owned(), input: "4".to_owned() };
    pool.check("proposal", proposal)
}

fn solved(pool: &Verifier, program: &str, output: &str) -> Verdict {
    let solution = Solution::Function { pairs: vec![("4".to_owned(), output.to_owned())], answer: program.to_owned() };
    pool.grade("solution", solution)
}

const FACTOR: &str =
    "from sympy import factor, symbols\ndef f(n):\n    x = symbols('x')\n    return str(factor(x**n - 1))";
const DETERMINANT: &str = "import numpy as np\ndef f(n):\n    return round(float(np.linalg.det(n * np.eye(2))), 6)";

#[test]
fn a_program_that_lacks_a_package_is_not_at_fault() {
    let pool = Verifier::start(&config(Namespaces::Auto)).expect("a sandbox");
    for (program, package) in [(FACTOR, "sympy"), (DETERMINANT, "numpy")] {
        let verdict = proposed(&pool, program);
        assert_eq!((verdict.status, verdict.valid), (Status::Error, Some(false)));
        let told = format!("it imports `{package}`, which the verifier on this machine does not offer");
        assert!(verdict.reason.contains(&told) && verdict.reason.contains("the machine's fault"), "{}", verdict.reason);
    }
    let unknown = solved(&pool, "import sympathy\ndef f(n):\n    return n", "4");
    assert!(unknown.reason.contains("No module named 'sympathy'"), "{}", unknown.reason);
}

#[test]
fn sympy_computes_and_brings_nothing_else() {
    let Some(pool) = pool_with(Package::Sympy) else { return };
    let verdict = proposed(&pool, FACTOR);
    assert_eq!(verdict.valid, Some(true), "{}", verdict.reason);
    assert_eq!(verdict.output.as_deref(), Some("'(x - 1)*(x + 1)*(x**2 + 1)'"));
    let other = solved(&pool, "import math_verify\ndef f(n):\n    return n", "4");
    assert!(other.reason.contains("No module named 'math_verify'"), "{}", other.reason);
}

#[test]
fn numpy_computes_and_gives_no_chance() {
    let Some(pool) = pool_with(Package::Numpy) else { return };
    let verdict = solved(&pool, DETERMINANT, "16.0");
    assert_eq!(verdict.correct, Some(true), "{}", verdict.reason);
    for random in ["np.random.randint(10**9)", "np.random.default_rng().integers(10**9)"] {
        let verdict = proposed(&pool, &format!("import numpy as np\ndef f(n):\n    return int({random})"));
        assert_eq!(verdict.status, Status::Nondeterministic, "{random}: {}", verdict.reason);
    }
}
