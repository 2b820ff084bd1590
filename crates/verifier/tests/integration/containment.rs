//! A machine that lacks layers: the self-test detects it and names what is missing, and the pool does not start unless
//! forced.

use std::collections::BTreeMap;

use lyceum_verifier::{Namespaces, SandboxError, Verifier, VerifierConfig};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

/// Runs `test` on a thread whose kernel has neither namespaces nor Landlock, as in a container on an old kernel.
/// Filters belong to threads and are inherited by the processes they start.
fn on_a_poor_machine<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let rules: BTreeMap<_, _> =
        [libc::SYS_unshare, libc::SYS_landlock_create_ruleset].map(|number| (number, Vec::new())).into();
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known architecture");
    let refuse = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).expect("a filter");
    let program = BpfProgram::try_from(filter).expect("a program");
    let thread = std::thread::spawn(move || {
        apply_filter(&program).expect("a filtered thread");
        test()
    });
    thread.join().expect("the thread")
}

fn config(insecure: bool) -> VerifierConfig {
    VerifierConfig { jobs: 1, namespaces: Namespaces::Auto, insecure, ..VerifierConfig::default() }
}

#[test]
fn a_machine_that_cannot_hide_files_is_refused_and_told_what_it_lacks() {
    let error = on_a_poor_machine(|| Verifier::start(&config(false)).err()).expect("a refusal");
    let SandboxError::NotContained { escapes, layers } = &error else { panic!("{error}") };
    let attacks: Vec<_> = escapes.iter().map(|escape| escape.attack.as_str()).collect();
    assert_eq!(attacks, ["read a file", "list the root"], "{escapes:?}");
    assert!(escapes.iter().all(|escape| escape.lacking.contains("Landlock, or namespaces")));
    assert!(layers.namespaces.is_err() && !layers.landlock);
    let told = error.to_string();
    assert!(told.contains("no landlock") && told.contains("--insecure"), "{told}");
}

#[test]
fn insecure_serves_there_and_says_which_layers_are_missing() {
    on_a_poor_machine(|| {
        let pool = Verifier::start(&config(true)).expect("served, because it was asked for");
        assert!(pool.layers().to_string().contains("no landlock"), "{}", pool.layers());
        let solution = lyceum_verifier::Solution::Output {
            program: "def f(a):\n    return a + 1".into(),
            input: "1".into(),
            answer: "2".into(),
        };
        assert_eq!(pool.grade("first", solution).correct, Some(true));
    });
}

#[test]
fn namespaces_that_are_required_and_refused_are_an_error() {
    let config = VerifierConfig { namespaces: Namespaces::Require, ..config(false) };
    let error = on_a_poor_machine(move || Verifier::start(&config).err()).expect("a refusal");
    assert!(matches!(error, SandboxError::Confinement { .. }), "{error}");
}
