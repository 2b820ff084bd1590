//! HumanEval's `check(candidate)`, MBPP's assertions, pytest's functions and unittest's cases.
//!
//! The test runs in one process, the program in another. The test calls a stand-in: its arguments travel to the host
//! and on to the program, and the program's value travels back as data. So the program never sees an expected value,
//! and the process that knows whether the assertions held has never run a line of the program.

use std::collections::BTreeSet;

use lyceum_core::verify::Status;
use num_traits::Zero as _;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_body};
use ruff_python_ast::{AnyNodeRef, ModModule, Stmt};
use serde::Serialize;

use super::Results;
use super::assertions::noted;
use crate::execution::{Arguments, Failed, MAX_VALUE, Outcome, Program, Request, outcome};
use crate::judge::Bench;
use crate::program::with_module;
use crate::sandbox::{Ending, Limits, Run, SandboxError};
use crate::value::{Value, decode};

/// Maximum number of calls a test may make.
const MAX_CALLS: usize = 100_000;

/// Names that tests use without importing them, because they were written to follow the program.
const TEST_IMPORTS: &str =
    "import collections, copy, functools, itertools, math, random, re, string, sys\nfrom typing import *\n";

#[derive(Serialize)]
#[serde(tag = "do", rename = "script")]
struct Script<'a> {
    support: &'a str,
    test: &'a str,
    /// All functions of the program.
    functions: BTreeSet<&'a str>,
    /// Those that the test uses without importing them.
    remote: BTreeSet<&'a str>,
    /// Those that `from solution import *` gives it.
    starred: BTreeSet<&'a str>,
    /// The modules as which it imports the program.
    modules: BTreeSet<&'a str>,
    /// The classes of the program that the test may mean.
    classes: Vec<&'a str>,
    entry_point: &'a str,
    calls_check: bool,
    /// The names that the test calls.
    #[serde(skip)]
    called: &'a BTreeSet<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Reply {
    Value { value: String },
    Error { class: String, error: String, text: String },
}

impl Script<'_> {
    /// Whether an exception that the test raised before it called the program is its own: no other program would have changed it. A
    /// name that it calls may be a function that this program lacks.
    fn raises_by_itself(&self, failed: &Failed) -> bool {
        let Some(exception) = &failed.exception else { return false };
        match exception.class.as_str() {
            "AssertionError" => false,
            "ImportError" | "AttributeError" => !exception.message.contains("the program has no function"),
            "NameError" => !self.called.iter().any(|name| exception.message.contains(&format!("'{name}'"))),
            _ => true,
        }
    }
}

impl Reply {
    fn opaque() -> Self {
        Self::Value { value: "object()".to_owned() }
    }
}

impl Bench<'_> {
    pub(super) fn test_by_script(
        &mut self,
        program: &str,
        entry_point: &str,
        test: &str,
        prompt: Option<&str>,
    ) -> Result<Result<Results, Failed>, SandboxError> {
        let malformed = |reason: String| Ok(Err(Failed::new(Status::Malformed, reason)));
        let defined = with_module(program, functions).unwrap_or_default();
        // A prompt in words defines nothing.
        let prompt = prompt.filter(|prompt| with_module(prompt, defines_something) == Ok(true));
        let trusted = prompt.and_then(|prompt| with_module(prompt, functions).ok()).unwrap_or_default();
        let read = with_module(test, |module| (noted(test, module), Mentions::of(module, entry_point)));
        let (noted, mentions) = match read {
            Ok(read) => read,
            Err(reason) => return malformed(format!("field `test`: {reason}")),
        };
        let classes = with_module(program, classes).unwrap_or_default();
        let mut functions: BTreeSet<&str> = defined.iter().map(String::as_str).collect();
        functions.insert(entry_point);
        // The test's process also leaves out those that are builtins there or names of the prompt and the imports.
        let is_used = |name: &&str| mentions.names.contains(*name) && !trusted.iter().any(|own| own == name);
        let mut remote: BTreeSet<&str> = functions.iter().copied().filter(is_used).collect();
        remote.insert(entry_point);
        remote.extend(classes.iter().map(String::as_str).filter(is_used));
        let script = Script {
            support: &format!("{TEST_IMPORTS}{}", prompt.unwrap_or_default()),
            test: &noted,
            starred: remote.iter().copied().filter(|name| !mentions.bound.contains(*name)).collect(),
            functions,
            remote,
            modules: mentions.modules.iter().map(String::as_str).collect(),
            classes: classes.iter().map(String::as_str).filter(|name| test.contains(*name)).collect(),
            entry_point,
            calls_check: mentions.bound.contains("check"),
            called: &mentions.called,
        };
        let shows_printed = ["stdout", "capsys"].iter().any(|name| test.contains(name));
        let program = Program { copies: true, shows_printed, ..Program::under_test(program, entry_point) };
        self.converse(program, &script)
    }

    fn converse(&mut self, program: Program<'_>, script: &Script<'_>) -> Result<Result<Results, Failed>, SandboxError> {
        let limits = self.slot.limits().for_tests();
        let [programs, tests] = self.slot.both()?;
        // The test waits for the program, so it needs the longer time limit.
        let patient = limits.patient();
        let mut judge = Run::begin_trusted(tests, patient, MAX_CALLS, MAX_VALUE)?;
        judge.send(script)?;
        let run = Run::begin(programs, limits, MAX_CALLS, program.max_bytes)?;
        let mut player = Player::begin(run, program, limits)?;
        for _ in 0..MAX_CALLS {
            let Some(answer) = judge.answer()? else {
                let (report, _) = judge.finish()?;
                return Ok(Err(of_the_test(Failed::of_ending(report, patient))));
            };
            if answer.kind != b'C' {
                let result = match outcome(&answer) {
                    Outcome::Value(Value::Int(count)) if count.is_zero() => {
                        return Ok(Err(of_the_test(Failed::new(Status::Malformed, "nothing was asserted"))));
                    }
                    Outcome::Value(_) | Outcome::Large(_) => Ok(()),
                    Outcome::Failed(failed) if raised(&failed, &["AssertionError"]) => {
                        Err(Failed { status: Status::Ok, reason: "an assertion does not hold".to_owned(), ..failed })
                    }
                    Outcome::Failed(failed) => match player.failure.take() {
                        Some(of_program) => Err(of_program),
                        None if ends_the_test(&failed) || !player.was_called && script.raises_by_itself(&failed) => {
                            return Ok(Err(of_the_test(failed)));
                        }
                        None => Err(failed),
                    },
                };
                let (_, violation) = judge.finish()?;
                return Ok(match (violation, player.finish()?) {
                    (Some(violation), _) => Err(of_the_test(Failed::protocol(violation))),
                    (None, Err(failed)) if result.is_ok() => Ok(vec![Err(failed)]),
                    (None, _) => Ok(vec![result]),
                });
            }
            match player.call(&answer.data)? {
                Ok(reply) => judge.send(&reply)?,
                Err(failed) => return Ok(Ok(vec![Err(failed)])),
            }
        }
        let calls = format!("it makes more than {MAX_CALLS} calls");
        Ok(Err(of_the_test(Failed::new(Status::Error, calls))))
    }
}

/// A failure that is the test's own fault, whatever the program: no program could pass it.
fn of_the_test(failed: Failed) -> Failed {
    let status = match failed.status {
        Status::Error => Status::Malformed,
        other => other,
    };
    Failed { status, reason: format!("the test itself: {}", failed.reason), ..failed }
}

/// Whether the test ended by what no call of the program raises in it.
fn ends_the_test(failed: &Failed) -> bool {
    raised(failed, &["SystemExit", "KeyboardInterrupt", "GeneratorExit", "Skipped", "Unjudgeable"])
}

fn raised(failed: &Failed, classes: &[&str]) -> bool {
    let exception = failed.exception.as_ref();
    exception.is_some_and(|exception| classes.contains(&exception.class.as_str()))
}

/// The program under test.
struct Player<'z, 'p> {
    run: Run<'z>,
    program: Program<'p>,
    limits: Limits,
    /// The program's last failure, which is more informative than the test's.
    failure: Option<Failed>,
    was_called: bool,
}

impl<'z, 'p> Player<'z, 'p> {
    fn begin(mut run: Run<'z>, program: Program<'p>, limits: Limits) -> Result<Self, SandboxError> {
        run.send(&Request::load(program))?;
        Ok(Self { run, program, limits, failure: None, was_called: false })
    }

    /// One call of the test; fails if the program will answer no more.
    fn call(&mut self, call: &[u8]) -> Result<Result<Reply, Failed>, SandboxError> {
        self.was_called = true;
        let Some((name, arguments)) = read_call(call) else {
            return Ok(Err(Failed::new(Status::Error, "the test made an unreadable call")));
        };
        self.run.send(&Request::call(self.program, &name, &Arguments::Literal(arguments)))?;
        let answer = match self.run.answer()? {
            Some(answer) if answer.kind != b'M' => answer,
            other => return Ok(Err(self.ended(other.as_ref().map(outcome))?)),
        };
        Ok(Ok(match outcome(&answer) {
            Outcome::Value(value) => Reply::Value { value: value.to_source() },
            Outcome::Large(_) => {
                self.failure = Some(Failed::new(Status::Unserialisable, "its value is too large"));
                Reply::opaque()
            }
            // For example a regular expression's match: something that is true and equals nothing.
            Outcome::Failed(failed) if failed.status == Status::Unserialisable => {
                self.failure = Some(failed);
                Reply::opaque()
            }
            Outcome::Failed(failed) => {
                let reply = match &failed.exception {
                    Some(raised) => Reply::Error {
                        class: raised.class.clone(),
                        error: raised.builtin.clone(),
                        text: raised.message.clone(),
                    },
                    None => Reply::Error {
                        class: String::new(),
                        error: "RuntimeError".to_owned(),
                        text: failed.reason.clone(),
                    },
                };
                self.failure = Some(failed);
                reply
            }
        }))
    }

    fn ended(&mut self, last: Option<Outcome>) -> Result<Failed, SandboxError> {
        if let Some(Outcome::Failed(failed)) = last.or(self.failure.take().map(Outcome::Failed)) {
            return Ok(failed);
        }
        let (report, violation) = self.run.end()?;
        Ok(violation.map_or_else(|| Failed::of_ending(report, self.limits), Failed::protocol))
    }

    /// Checks that the program ended well.
    fn finish(self) -> Result<Result<(), Failed>, SandboxError> {
        let (report, violation) = self.run.finish()?;
        Ok(match violation {
            Some(violation) => Err(Failed::protocol(violation)),
            None if report.ending == Ending::Exited(0) => Ok(()),
            None => Err(Failed::of_ending(report, self.limits)),
        })
    }
}

fn read_call(call: &[u8]) -> Option<(String, String)> {
    let Ok(Value::Tuple(parts)) = decode(call) else { return None };
    let [Value::Str(name), Value::Tuple(positional), Value::Dict(keyword)] = parts.as_slice() else { return None };
    let mut arguments: Vec<String> = positional.iter().map(Value::to_source).collect();
    if !keyword.is_empty() {
        arguments.push(format!("**{}", parts[2].to_source()));
    }
    Some((name.as_str()?.to_owned(), arguments.join(",")))
}

/// The names of the functions at the top level.
fn functions(module: &ModModule) -> Vec<String> {
    let name = |statement: &Stmt| match statement {
        Stmt::FunctionDef(function) => Some(function.name.to_string()),
        _ => None,
    };
    module.body.iter().filter_map(name).collect()
}

/// Whether there is more than expressions. A word is one, too.
fn defines_something(module: &ModModule) -> bool {
    module.body.iter().any(|statement| !matches!(statement, Stmt::Expr(_)))
}

/// The names of the classes at the top level.
fn classes(module: &ModModule) -> Vec<String> {
    let name = |statement: &Stmt| match statement {
        Stmt::ClassDef(class) => Some(class.name.to_string()),
        _ => None,
    };
    module.body.iter().filter_map(name).collect()
}

/// What a test mentions.
#[derive(Default)]
struct Mentions {
    names: BTreeSet<String>,
    called: BTreeSet<String>,
    /// The names that it binds at its top level by a definition, or anywhere by an import from elsewhere than the program.
    bound: BTreeSet<String>,
    /// The modules as which it imports the program: `solution`, and each from which it imports the entry point.
    modules: BTreeSet<String>,
}

impl Mentions {
    fn of(module: &ModModule, entry_point: &str) -> Self {
        let mut found = Walk { entry_point, mentions: Self::default() };
        walk_body(&mut found, &module.body);
        let mut mentions = found.mentions;
        mentions.modules.insert("solution".to_owned());
        for statement in &module.body {
            match statement {
                Stmt::FunctionDef(function) => mentions.bound.insert(function.name.to_string()),
                Stmt::ClassDef(class) => mentions.bound.insert(class.name.to_string()),
                Stmt::Assign(assign) => {
                    let names = assign.targets.iter().filter_map(|target| target.as_name_expr());
                    mentions.bound.extend(names.map(|name| name.id.to_string()));
                    continue;
                }
                _ => continue,
            };
        }
        mentions
    }
}

struct Walk<'e> {
    entry_point: &'e str,
    mentions: Mentions,
}

impl<'a> SourceOrderVisitor<'a> for Walk<'_> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        match node {
            AnyNodeRef::ExprName(name) => {
                self.mentions.names.insert(name.id.to_string());
            }
            AnyNodeRef::ExprCall(call) => {
                self.mentions.called.extend(call.func.as_name_expr().map(|name| name.id.to_string()));
            }
            AnyNodeRef::StmtImportFrom(import) => {
                let module = import.module.as_ref().map(ToString::to_string).unwrap_or_default();
                let has_it = import.names.iter().any(|alias| alias.name.as_str() == self.entry_point);
                if import.level == 0 && (has_it || module == "solution") {
                    self.mentions.modules.insert(module);
                } else {
                    let bound = import.names.iter().map(|alias| alias.asname.as_ref().unwrap_or(&alias.name));
                    self.mentions.bound.extend(bound.map(ToString::to_string));
                }
            }
            _ => {}
        }
        TraversalSignal::Traverse
    }
}
