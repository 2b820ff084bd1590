//! What rows are, by what their dataset is for.

use std::collections::HashMap;

use ruff_python_parser::parse_module;
use serde::Deserialize;
use serde_json::Value;

use super::{Purpose, SeedProblem};
use crate::benchmark::{BenchmarkRow, Question, Suite, reader};
use crate::verify::{JsonText, MAX_REWARD_TIMEOUT, Tolerance};

/// The problem of a row of training, goalposts or a benchmark. The row is a [`BenchmarkRow`], or a problem of self-play: `type`
/// (`code_o`, `code_i` or `code_f`) with `program`, `input` and `output`, or with `program`, `message` and `pairs`. Without
/// `task_id` a problem of self-play is named by its `place` in the dataset.
///
/// # Errors
/// What is missing or malformed, by field.
pub fn problem(place: usize, row: &Value) -> Result<BenchmarkRow, String> {
    match self_play(place, row) {
        Some(problem) => problem,
        None if row.get("oracle").is_some() => BenchmarkRow::deserialize(row).map_err(|error| error.to_string()),
        None => Err("missing field `oracle`, or `type` for a problem of self-play".to_owned()),
    }
}

/// The problem of a row of self-play; none if the row is of another form.
pub(super) fn self_play(place: usize, row: &Value) -> Option<Result<BenchmarkRow, String>> {
    let is_self_play = row.get("type").is_some() && row.get("oracle").is_none();
    is_self_play.then(|| reader::self_play(place, row))
}

/// Refuses a problem that asks nothing, or whose oracle cannot judge an answer.
fn check_problem(problem: &BenchmarkRow) -> Result<(), String> {
    if problem.question.trim().is_empty() {
        return Err("field `question` is empty".to_owned());
    }
    check_oracle(&problem.oracle)
}

fn check_oracle(oracle: &Question) -> Result<(), String> {
    let filled = |fields: &[(&str, &str)]| match fields.iter().find(|(_, text)| text.trim().is_empty()) {
        Some((name, _)) => Err(format!("field `oracle.{name}` is empty")),
        None => Ok(()),
    };
    match oracle {
        Question::Script { entry_point, test } => filled(&[("entry_point", entry_point), ("test", test)]),
        Question::Reference { entry_point, reference, base_inputs, plus_inputs, atol } => {
            filled(&[("entry_point", entry_point), ("reference", reference)])?;
            check_python("oracle.reference", reference)?;
            if base_inputs.is_empty() && plus_inputs.is_empty() {
                return Err("`oracle.base_inputs` and `oracle.plus_inputs` have no input".to_owned());
            }
            for (at, input) in base_inputs.iter().chain(plus_inputs).enumerate() {
                JsonText::new(input.clone()).map_err(|error| format!("input {at} of `oracle` is not JSON: {error}"))?;
            }
            match Tolerance::new(*atol) {
                Some(_) => Ok(()),
                None => Err(format!("field `oracle.atol` is {atol}: 0 or more is valid")),
            }
        }
        Question::LiveCodeBench { public_test_cases, private_test_cases, .. } => {
            let has_tests = |cases: &Option<String>| {
                let cases = cases.as_deref().unwrap_or_default().trim();
                !(cases.is_empty() || cases == "[]")
            };
            match has_tests(public_test_cases) || has_tests(private_test_cases) {
                true => Ok(()),
                false => {
                    Err("neither `oracle.public_test_cases` nor `oracle.private_test_cases` has a test".to_owned())
                }
            }
        }
        Question::Math { gold } => filled(&[("gold", gold)]),
        Question::CodeO { program, .. } => {
            filled(&[("program", program)])?;
            check_python("oracle.program", program)
        }
        Question::CodeI { program, output } => {
            filled(&[("program", program), ("output", output)])?;
            check_python("oracle.program", program)
        }
        Question::Python { source, timeout, .. } => {
            if source.is_some() {
                return Err("field `oracle.source` is not read: store the file, and name its digest in `oracle.file`"
                    .to_owned());
            }
            match (1..=MAX_REWARD_TIMEOUT).contains(timeout) {
                true => Ok(()),
                false => Err(format!("field `oracle.timeout` is {timeout} s: 1 to {MAX_REWARD_TIMEOUT} are valid")),
            }
        }
        Question::CodeF { pairs, .. } => match pairs.is_empty() {
            true => Err("field `oracle.pairs` has no pair of an input and an output".to_owned()),
            false => Ok(()),
        },
    }
}

/// Refuses a program that no interpreter would run.
pub(crate) fn check_python(field: &str, source: &str) -> Result<(), String> {
    parse_module(source).map(drop).map_err(|fault| {
        let line = source[..fault.location.start().to_usize()].matches('\n').count() + 1;
        format!("field `{field}` is not a Python program: line {line}: {}", fault.error)
    })
}

/// Checks the rows of a dataset one after the other.
#[derive(Debug)]
pub struct RowCheck {
    purpose: Purpose,
    suite: Option<&'static Suite>,
    /// Where each task was found first.
    first: HashMap<String, usize>,
}

/// Why a row is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowFault {
    /// It is not a row of its purpose or suite.
    Row(String),
    /// Another row has its `task_id`.
    Repeated {
        /// The name.
        task_id: String,
        /// The place of the other row.
        first: usize,
    },
}

/// Most bytes of a text that pages show.
const MAX_TEXT: usize = 1 << 20;

/// Which field of a row is longer than a text that pages show may be.
fn too_large(row: &Value) -> Option<String> {
    const SHOWN: [&str; 7] =
        ["/task_id", "/question", "/snippet", "/canonical", "/oracle/gold", "/oracle/prompt", "/oracle/program"];
    let length = |pointer: &str| row.pointer(pointer).and_then(Value::as_str).map_or(0, str::len);
    let field = SHOWN.into_iter().find(|pointer| length(pointer) > MAX_TEXT)?;
    let name = field[1..].replace('/', ".");
    Some(format!("field `{name}` has {} bytes: at most {MAX_TEXT} are valid", length(field)))
}

impl RowCheck {
    /// For rows of `purpose`, and of `suite` where they belong to one.
    pub fn new(purpose: Purpose, suite: Option<&'static Suite>) -> Self {
        Self { purpose, suite, first: HashMap::new() }
    }

    /// Checks the row at `place`, which is the number by which faults name it.
    ///
    /// # Errors
    /// Why the row cannot be imported.
    pub fn check(&mut self, place: usize, row: &Value) -> Result<(), RowFault> {
        match self.valid(place, row).map_err(RowFault::Row)? {
            Some(problem) => self.unique(place, problem.task_id),
            None => Ok(()),
        }
    }

    /// The problem of the row at `place`, if it is one of its purpose and suite; none for a seed.
    pub(super) fn valid(&self, place: usize, row: &Value) -> Result<Option<BenchmarkRow>, String> {
        if let Some(refused) = too_large(row) {
            return Err(refused);
        }
        if self.purpose == Purpose::Seeds {
            let seed = SeedProblem::deserialize(row).map_err(|error| error.to_string())?;
            seed.check()?;
            return Ok(None);
        }
        let problem = problem(place, row)?;
        check_problem(&problem)?;
        match self.suite.filter(|suite| !suite.asks(&problem.oracle)) {
            Some(suite) => Err(format!(
                "an oracle of type `{}` does not belong to a row of `{}`",
                problem.oracle.name(),
                suite.name
            )),
            None => Ok(Some(problem)),
        }
    }

    /// Notes the task at `place`.
    ///
    /// # Errors
    /// An earlier row has this name.
    pub(super) fn unique(&mut self, place: usize, task_id: String) -> Result<(), RowFault> {
        match self.first.get(&task_id) {
            Some(&first) => Err(RowFault::Repeated { task_id, first }),
            None => {
                self.first.insert(task_id, place);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::suite;
    use serde_json::json;

    fn refused(purpose: Purpose, suite_name: Option<&str>, row: Value) -> String {
        let mut check = RowCheck::new(purpose, suite_name.map(|name| suite(name).unwrap()));
        match check.check(3, &row) {
            Err(RowFault::Row(detail)) => detail,
            other => panic!("{row}: {other:?}"),
        }
    }

    fn math(gold: &str) -> Value {
        json!({"task_id": "a", "question": "1+1?", "oracle": {"type": "math", "gold": gold}})
    }

    #[test]
    fn problems_are_read_in_either_form() {
        let row = json!({"type": "code_i", "program": "def f(a):\n return a", "input": "1", "output": "1"});
        let read = problem(7, &row).unwrap();
        assert_eq!((read.task_id.as_str(), read.canonical.as_deref()), ("7", Some("1")));
        assert!(matches!(read.oracle, Question::CodeI { .. }));
        assert_eq!(problem(7, &math("2")).unwrap().task_id, "a");
    }

    #[test]
    fn rows_that_could_judge_nothing_are_refused() {
        for purpose in [Purpose::Training, Purpose::Goalposts, Purpose::Benchmark] {
            let said = refused(purpose, None, json!({"question": "1+1?", "answer": "2"}));
            assert!(said.contains("missing field `oracle`"), "{said}");
            assert_eq!(refused(purpose, None, math(" ")), "field `oracle.gold` is empty");
        }
        let oracle = |oracle: Value| {
            let row = json!({"task_id": "a", "question": "?", "oracle": oracle});
            refused(Purpose::Training, None, row)
        };
        let said = oracle(json!({"type": "script", "entry_point": "f", "test": ""}));
        assert_eq!(said, "field `oracle.test` is empty");
        let mut reference = json!({
            "type": "reference", "entry_point": "f", "reference": "def f(a): pass", "base_inputs": [], "plus_inputs": [],
            "atol": 0.0
        });
        assert!(oracle(reference.clone()).contains("have no input"));
        reference["plus_inputs"] = json!(["[1", "[2]"]);
        assert!(oracle(reference).contains("input 0 of `oracle` is not JSON"));
        let said = oracle(json!({"type": "live_code_bench", "public_test_cases": "[]"}));
        assert!(said.contains("has a test"), "{said}");
        let said = oracle(json!({"type": "code_f", "message": "m", "pairs": []}));
        assert!(said.contains("no pair"), "{said}");
        let said = refused(Purpose::Training, None, json!({"type": "code_o", "program": "def f(): pass"}));
        assert!(said.contains("missing field `input`"), "{said}");
        let said = refused(
            Purpose::Training,
            None,
            json!({"type": "code_o", "program": "x = 1\ndef f(", "input": "1", "output": "1"}),
        );
        assert!(said.contains("`oracle.program`") && said.contains("line 2"), "{said}");
        let said = refused(Purpose::Training, None, json!({"type": "haiku"}));
        assert!(said.contains("field `type`"), "{said}");
    }

    #[test]
    fn a_row_belongs_to_its_suite_and_stands_there_once() {
        let mut check = RowCheck::new(Purpose::Benchmark, suite("gsm8k").ok());
        assert_eq!(check.check(4, &math("2")), Ok(()));
        let repeated = RowFault::Repeated { task_id: "a".to_owned(), first: 4 };
        assert_eq!(check.check(9, &math("2")), Err(repeated));
        let said = refused(Purpose::Goalposts, Some("humaneval"), math("2"));
        assert_eq!(said, "an oracle of type `math` does not belong to a row of `humaneval`");
    }

    #[test]
    fn a_seed_can_be_made_a_problem_of() {
        let mut check = RowCheck::new(Purpose::Seeds, None);
        for seed in [
            json!({"snippet": "def f(a):\n return a", "input": "1", "output": "1", "imports": []}),
            json!({"snippet": "def f(a):\n return a", "inputs": ["1", "2"], "message": "itself"}),
        ] {
            assert_eq!(check.check(0, &seed), Ok(()));
        }
        let seed = |row: Value| refused(Purpose::Seeds, None, row);
        assert!(seed(math("2")).contains("missing field `snippet`"));
        assert_eq!(seed(json!({"snippet": " ", "input": "1"})), "field `snippet` is empty");
        let few = json!({"snippet": "def f(a):\n return a", "inputs": ["1"], "message": "itself"});
        assert!(seed(few).contains("at least two `inputs`"));
    }
}
