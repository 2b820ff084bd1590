//! Attacks that are tried before the sandbox is used.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use lyceum_core::verify::Status;

use crate::execution::{Arguments, Failed, Outcome, Program, execute, execute_one};
use crate::value::Value;

use super::{Limits, SandboxError, Zygote};

/// The program: `f(name)` tries one attack and returns what it achieved, or None.
const ATTACKS: &str = include_str!("../python/selftest.py");

/// The attacks by name, and what the machine lacks if one succeeds.
const NAMES: [(&str, &str); 11] = [
    ("read_a_file", "file system isolation: Landlock, or namespaces"),
    ("list_the_root", "file system isolation: Landlock, or namespaces"),
    ("write_a_file", "read-only files: seccomp"),
    ("open_a_socket", "network isolation: seccomp"),
    ("start_a_process", "process limits: seccomp"),
    ("start_a_thread", "process limits: seccomp"),
    ("signal_the_host", "signal isolation: seccomp"),
    ("trace_a_process", "process isolation: seccomp"),
    ("map_executable_memory", "a ban on new machine code: seccomp"),
    ("enter_a_namespace", "a ban on namespaces: seccomp"),
    ("see_the_environment", "an empty environment"),
];

/// An attack that had an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    pub attack: String,
    pub effect: String,
    /// What the machine lacks.
    pub lacking: String,
}

impl Display for Escape {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; lacking: {}", self.attack, self.effect, self.lacking)
    }
}

/// Minimum CPU time of an attack: the test is whether a limit exists, on however slow a machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the attacks; returns those that had an effect.
pub(crate) fn self_test(zygote: &Zygote, limits: Limits) -> Result<Vec<Escape>, SandboxError> {
    let limits = Limits { cpu: limits.cpu.max(PATIENCE), ..limits };
    let call = |name: &str| Arguments::Literal(format!("'{name}'"));
    let calls: Vec<_> = NAMES.iter().map(|(name, _)| call(name)).collect();
    let outcomes = execute(zygote, limits, Program::f(ATTACKS), &calls, |_, outcome, _| outcome)?;
    let mut escapes = Vec::new();
    let mut note = |attack: &str, effect: String, lacking: &str| {
        escapes.push(Escape { attack: attack.replace('_', " "), effect, lacking: lacking.to_owned() });
    };
    for ((name, lacking), outcome) in NAMES.iter().zip(outcomes) {
        match outcome {
            Outcome::Value(Value::None) => {}
            Outcome::Value(value) => note(name, value.to_string(), lacking),
            Outcome::Large(_) => note(name, "it gave a large value".to_owned(), lacking),
            Outcome::Failed(failed) => note(name, failed.reason, lacking),
        }
    }
    let endless = Limits { cpu: Duration::from_millis(10), ..limits };
    match execute_one(zygote, endless, Program::f(ATTACKS), call("spin"))? {
        Outcome::Failed(Failed { status: Status::Timeout, .. }) => {}
        other => note("spin", format!("{other:?}"), "CPU time limits"),
    }
    match execute_one(zygote, limits, Program::f(ATTACKS), call("grow"))? {
        Outcome::Failed(Failed { status: Status::Memory, .. }) => {}
        other => note("grow", format!("{other:?}"), "memory limits"),
    }
    Ok(escapes)
}
