//! Pools for tests: one for each mode that the sandbox can run in on this machine.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use lyceum_verifier::{Limits, Namespaces, Solution, Status, Verdict, Verifier, VerifierConfig};

/// A pool and its mode.
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    pub(crate) pool: Verifier,
}

pub(crate) fn config(namespaces: Namespaces) -> VerifierConfig {
    VerifierConfig {
        jobs: 1,
        namespaces,
        limits: Limits { cpu: Duration::from_millis(400), wall: Duration::from_secs(20), ..Limits::default() },
        ..VerifierConfig::default()
    }
}

/// A pool in the machine's best mode, with the usual limits.
pub(crate) fn pool() -> &'static Verifier {
    static POOL: OnceLock<Verifier> = OnceLock::new();
    POOL.get_or_init(|| Verifier::start(&VerifierConfig::default()).expect("a sandbox"))
}

/// Starts a pool from a thread that has switched to another user. In Linux, credentials belong to threads and are
/// inherited by the threads and processes they start.
fn as_nobody(namespaces: Namespaces) -> Verifier {
    let thread = std::thread::spawn(move || {
        // SAFETY: the calls take no pointer; the raw calls change only this thread.
        unsafe {
            assert_eq!(libc::syscall(libc::SYS_setgroups, 0, 0), 0);
            assert_eq!(libc::syscall(libc::SYS_setresgid, 65534, 65534, 65534), 0);
            assert_eq!(libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534), 0);
            assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
        }
        Verifier::start(&config(namespaces)).expect("a sandbox of an ordinary user")
    });
    thread.join().expect("the pool's first thread")
}

/// All combinations of root or not, with or without namespaces. An ordinary user can run two of the four.
pub(crate) fn modes() -> &'static [Mode] {
    static MODES: OnceLock<Vec<Mode>> = OnceLock::new();
    MODES.get_or_init(|| {
        // SAFETY: geteuid cannot fail.
        let is_root = unsafe { libc::geteuid() } == 0;
        let own = |name, namespaces| Mode { name, pool: Verifier::start(&config(namespaces)).expect("a sandbox") };
        let mut modes = vec![
            own(if is_root { "root with namespaces" } else { "user with namespaces" }, Namespaces::Auto),
            own(if is_root { "root without namespaces" } else { "user without namespaces" }, Namespaces::Never),
        ];
        if is_root {
            modes.push(Mode { name: "user with namespaces", pool: as_nobody(Namespaces::Auto) });
            modes.push(Mode { name: "user without namespaces", pool: as_nobody(Namespaces::Never) });
        }
        modes
    })
}

/// Grades a program against `f(0) == None`.
pub(crate) fn run(pool: &Verifier, program: &str) -> Verdict {
    let pairs = vec![("0".to_owned(), "None".to_owned())];
    pool.grade("attack", Solution::Function { pairs, answer: program.to_owned() })
}

/// Checks that the zygote still serves, and that no trace of an earlier program is in its children.
pub(crate) fn assert_alive(mode: &Mode) {
    let probe = "import builtins, json, sys\ndef f(x):\n    return None if sorted([2, 1]) == [1, 2] and json.dumps(1) == '1' \
                 and not hasattr(builtins, 'planted') and 'planted' not in sys.modules else 'changed'";
    let verdict = run(&mode.pool, probe);
    assert_eq!((verdict.status, verdict.correct), (Status::Ok, Some(true)), "{}: {}", mode.name, verdict.reason);
}

/// The folder of real data next to the project, if it exists.
pub(crate) fn data() -> Option<PathBuf> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if data.is_dir() {
        Some(data)
    } else {
        eprintln!("skipped: {} is not there", data.display());
        None
    }
}

/// One in LYCEUM_TEST_EVERY of the cases, counted from LYCEUM_TEST_DRAW, or all: `script/test` draws a tenth where nothing
/// changed that they could fail by.
pub(crate) fn drawn<T>(cases: Vec<T>) -> Vec<T> {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let every = number("LYCEUM_TEST_EVERY").unwrap_or(1).max(1);
    cases.into_iter().skip(number("LYCEUM_TEST_DRAW").unwrap_or(0) % every).step_by(every).collect()
}
