//! What decides whether an answer is correct.

use std::sync::Arc;

use super::challenge::Challenge;
use super::step::Step;
use super::task::Task;
use crate::answer::{fenced_blocks, last_block};
use crate::benchmark::{BenchmarkRow, Question, Submission, code_of, task};
use crate::contract::phase::CHECK;
use crate::kit::judge::{ANSWER, Given, Judged, read_answer};
use crate::kit::{Progress, judge};
use crate::prompt::{Answer, PromptSet};
use crate::verify::{Check, Oracle, ProblemKind, Status, Tests};
use crate::work::Completion;

/// What decides whether an answer to a task is correct.
#[derive(Clone, Debug)]
pub(super) enum Verifier {
    /// The correct answer to a question of mathematics.
    Answer(String),
    /// Tests that a challenger wrote.
    Generated(Generated),
    /// What a challenger wrote in place of tests.
    Unusable(String),
    /// The tests of a dataset's row.
    Row(Box<BenchmarkRow>),
}

impl Verifier {
    pub(super) fn kind(&self) -> ProblemKind {
        match self {
            Self::Answer(_) => ProblemKind::Math,
            Self::Generated(_) | Self::Unusable(_) | Self::Row(_) => ProblemKind::Code,
        }
    }

    /// The answer, or the tests, as challenger and critic see them.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Answer(text) | Self::Unusable(text) => text,
            Self::Generated(generated) => &generated.tests,
            Self::Row(row) => match &row.oracle {
                Question::Script { test, .. } => test,
                _ => "(not shown: inputs that are compared with a reference program)",
            },
        }
    }

    /// The function under test, if there is one.
    pub(super) fn entry_point(&self) -> Option<&str> {
        match self {
            Self::Answer(_) | Self::Unusable(_) => None,
            Self::Generated(generated) => Some(&generated.entry_point),
            Self::Row(row) => row.oracle.entry_point(),
        }
    }

    /// The answer in a solver's completion: the last box, or the program.
    pub(super) fn read(&self, prompts: &PromptSet, completion: &Completion) -> Answer {
        match self {
            Self::Answer(_) => read_answer(prompts, completion),
            Self::Row(row) => Submission::Response(completion.text.clone()).solution(row),
            Self::Generated(_) | Self::Unusable(_) => {
                let code = code_of(&completion.text, self.entry_point(), None);
                if code.trim().is_empty() { Err("there is no program".to_owned()) } else { Ok(code) }
            }
        }
    }

    /// An answer to be judged; `id` names its task among those of the item.
    pub(super) fn given(&self, id: String, answer: Answer) -> Given {
        if let Self::Answer(gold) = self {
            return judge::given(id, gold, answer);
        }
        match answer.and_then(|program| Ok((self.tests(program.clone())?, program))) {
            Ok((check, program)) => Given::checked(id, program, check),
            Err(reason) => Given::unreadable(id, reason),
        }
    }

    fn tests(&self, program: String) -> Result<Check, String> {
        match self {
            Self::Generated(generated) => Ok(generated.check(program)),
            Self::Row(row) => Ok(task(row, String::new(), program)?.check),
            Self::Answer(_) | Self::Unusable(_) => Err("there are no tests".to_owned()),
        }
    }

    /// The format reward of a solver's completion: of its box, however many there are, since solutions box intermediate
    /// results too; or of its blocks of Python, of which one is exact and several are redundant.
    pub(super) fn format(&self, prompts: &PromptSet, completion: &Completion) -> f32 {
        let text = &completion.text;
        if self.kind() == ProblemKind::Math {
            let reading = prompts.grammar.read(&[ANSWER], text, completion.finish_reason, prompts.opening());
            return reading.score();
        }
        let blocks = fenced_blocks(text).iter().filter(|block| block.is("python")).count();
        match blocks {
            _ if text.trim().is_empty() => 0.5,
            0 => 0.0,
            1 => 1.0,
            _ => 0.5,
        }
    }
}

// Checks that the verifier of a challenge can decide whether an answer is correct.

/// A task whose verifier is valid, or why it is not.
pub(super) type Checked = Result<Arc<Task>, String>;

impl Step<'_> {
    /// Each challenge of a chunk as a task. A verifier is valid if it is of a known type and tells answers apart: an answer
    /// to a question of mathematics must be accepted as the answer to itself, and tests must refuse a function in which
    /// there is nothing.
    pub(super) fn check(&mut self, chunk: u32, challenges: &[Challenge]) -> Progress<Vec<Checked>> {
        let read = challenges.iter().map(|challenge| match (&challenge.task, &challenge.unverifiable) {
            (Ok(task), None) => Ok(Arc::clone(task)),
            (Err(reason), _) | (Ok(_), Some(reason)) => Err(reason.clone()),
        });
        let read: Vec<Checked> = read.collect();
        let given = challenges.iter().zip(&read).filter_map(|(challenge, task)| {
            let verifier = &task.as_ref().ok()?.verifier;
            Some(trial(verifier, challenge.number.to_string()))
        });
        let given = given.collect();
        let key = self.draft.key(CHECK, chunk);
        let mut judged = self.draft.judge(&key, given)?.into_iter();
        let checked = read.iter().map(|task| {
            let task = task.clone()?;
            match judged.next().and_then(|judged| fault(&task.verifier, judged)) {
                Some(reason) => Err(reason),
                None => Ok(task),
            }
        });
        Ok(checked.collect())
    }
}

/// What a verifier is tried on.
fn trial(verifier: &Verifier, id: String) -> Given {
    let answer = match verifier {
        Verifier::Generated(generated) => generated.empty_program(),
        other => other.text().to_owned(),
    };
    verifier.given(id, Ok(answer))
}

/// Why a verifier is not valid, after its trial.
fn fault(verifier: &Verifier, judged: Judged) -> Option<String> {
    let Verifier::Generated(_) = verifier else { return (!judged.correct).then_some(judged.reason) };
    // A name that is not defined is the tests' own fault: an empty function raises nothing.
    let is_undefined = judged.reason.contains("NameError");
    match judged.status {
        _ if judged.correct => Some("the tests pass on a function in which there is nothing".to_owned()),
        Status::Ok | Status::Error if !is_undefined => None,
        _ => Some(judged.reason),
    }
}

// Tests that a challenger writes: assertions about a function, in Python.

/// Functions of Python that assertions call around the one under test.
const AROUND: [&str; 21] = [
    "abs",
    "all",
    "any",
    "bool",
    "dict",
    "float",
    "frozenset",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "repr",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
];
/// Words that may stand before a bracket without calling anything.
const KEYWORDS: [&str; 8] = ["and", "assert", "else", "if", "in", "is", "not", "or"];

/// Tests of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generated {
    /// The function under test.
    pub(super) entry_point: String,
    /// The assertions, and what they need.
    pub(super) tests: String,
}

impl Generated {
    /// Reads the tests in what a challenger states as the answer, which may be in a fenced block. The function under test
    /// is the first that an assertion calls, but for Python's own.
    ///
    /// # Errors
    /// Why they cannot be used.
    pub(super) fn read(stated: &str, min_tests: u32) -> Result<Self, String> {
        let tests = last_block(stated, "python").unwrap_or(stated).trim();
        let assertions: Vec<&str> = tests.lines().filter_map(assertion).collect();
        if assertions.len() < min_tests as usize {
            return Err(format!(
                "{} of at least {min_tests} assertions, each on a line that begins with `assert`",
                assertions.len()
            ));
        }
        let called = assertions.iter().find_map(|assertion| called(assertion));
        Ok(Self { entry_point: called.ok_or("no assertion calls a function of the program")?, tests: tests.to_owned() })
    }

    pub(super) fn check(&self, program: String) -> Check {
        Check::Tests(Tests {
            program,
            entry_point: Some(self.entry_point.clone()),
            oracle: Oracle::Script { test: self.tests.clone(), prompt: None },
        })
    }

    /// A program that has the function and nothing in it. Tests that it passes test nothing.
    fn empty_program(&self) -> String {
        format!("def {}(*args, **kwargs):\n    pass\n", self.entry_point)
    }
}

fn assertion(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("assert")?;
    rest.starts_with([' ', '(']).then_some(rest)
}

/// The first function that is called, but for Python's own and for methods.
fn called(assertion: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let code = without_strings(assertion);
    let called = code.match_indices('(').find_map(|(bracket, _)| {
        let before = code[..bracket].trim_end_matches(is_part);
        let name = &code[before.len()..bracket];
        let is_name = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        let is_other = before.ends_with('.') || AROUND.contains(&name) || KEYWORDS.contains(&name);
        (is_name && !is_other).then_some(name)
    });
    called.map(str::to_owned)
}

/// A line of Python without what its string literals say.
fn without_strings(line: &str) -> String {
    let (mut code, mut quote, mut is_escaped) = (String::with_capacity(line.len()), None, false);
    for letter in line.chars() {
        match quote {
            None => {
                quote = ['\'', '"'].contains(&letter).then_some(letter);
                code.push(letter);
            }
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(open) if letter == open => {
                quote = None;
                code.push(letter);
            }
            Some(_) => {}
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tests_must_run_and_refuse_an_empty_function() {
        let tests =
            Verifier::Generated(Generated { entry_point: "f".to_owned(), tests: "assert f(1) == 2".to_owned() });
        let fault = |verifier: &Verifier, correct, status, reason: &str| {
            let judged = Judged { answer: Ok(String::new()), correct, status, reason: reason.to_owned() };
            fault(verifier, judged)
        };
        assert_eq!(fault(&tests, false, Status::Ok, "an assertion does not hold"), None);
        assert_eq!(fault(&tests, false, Status::Error, "TypeError: None"), None, "the tests expect a number");
        assert!(fault(&tests, true, Status::Ok, "").is_some_and(|reason| reason.contains("nothing")));
        let own = "NameError: name 'g' is not defined";
        assert_eq!(fault(&tests, false, Status::Error, own).as_deref(), Some(own));
        assert!(fault(&tests, false, Status::Malformed, "field `test`: it is no Python").is_some());
        assert!(fault(&tests, false, Status::Timeout, "too slow").is_some());
        let answer = Verifier::Answer("1".to_owned());
        assert_eq!(fault(&answer, true, Status::Ok, ""), None);
        assert_eq!(fault(&answer, false, Status::Ok, "unreadable").as_deref(), Some("unreadable"));
    }

    #[test]
    fn the_function_under_test_is_the_first_that_is_called() {
        for (tests, wanted) in [
            ("assert add(1, 2) == 3", Some("add")),
            ("x = 3\nassert (not is_even(x))", Some("is_even")),
            ("assert sorted(set(pairs([1, 2]))) == []", Some("pairs")),
            ("assert math.isclose(root(2.0), 1.41, abs_tol=0.1)", Some("root")),
            ("assert True\n  assert größe(1)", Some("größe")),
            ("assert len('f(x)') == 4", None),
            (r#"assert "it\"s f(x)" == show("g(y)")"#, Some("show")),
            ("assert 1 + (2) == 3", None),
            ("assert add == 3", None),
            ("asserted(add(1))", None),
        ] {
            let found = Generated::read(tests, 1).ok().map(|generated| generated.entry_point);
            assert_eq!(found.as_deref(), wanted, "{tests}");
        }
    }

    #[test]
    fn tests_may_be_fenced_and_must_be_enough() {
        let fenced = "Like this:\n```python\nimport math\nassert f(1) == 2\nassert f(2) == 3\n```";
        let read = Generated::read(fenced, 2).unwrap();
        assert_eq!(read.tests, "import math\nassert f(1) == 2\nassert f(2) == 3");
        assert_eq!(read.empty_program(), "def f(*args, **kwargs):\n    pass\n");
        let few = Generated::read(fenced, 3).unwrap_err();
        assert!(few.starts_with("2 of at least 3 assertions"), "{few}");
        assert!(Generated::read("", 1).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(assert |f\\(|\\)|é|_|\\.|'|\n| |```|python\n){0,14}") {
            match Generated::read(&text, 1) {
                Ok(read) => prop_assert!(!read.entry_point.is_empty() && read.tests.contains("assert")),
                Err(reason) => prop_assert!(!reason.is_empty()),
            }
        }
    }
}
