//! Turns a solution into a task for the verifier, and its verdict into a grade.

use serde::{Deserialize, Serialize};

use super::{BenchmarkRow, PromptStyle, Question};
use crate::verify::{Check, JsonText, MathPair, Oracle, Reward, Solution, Status, Task, Tests, Tolerance, Verdict};
use crate::work::FinishReason;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// A whole program or an answer.
    Solution(String),
    /// For a completion suite, the continuation of the prompt; for others, a whole program or a text with an answer in
    /// it.
    Completion(String),
    /// A model's output, from which the solution is extracted.
    Response(String),
}

impl Submission {
    /// Extracts the solution.
    ///
    /// # Errors
    /// Why there is no solution.
    pub fn solution(&self, row: &BenchmarkRow) -> Result<String, String> {
        let (Self::Solution(text) | Self::Completion(text) | Self::Response(text)) = self;
        if let Question::Python { .. } = row.oracle {
            return Ok(text.clone());
        }
        // An empty solution fails without being run, except after a prompt, where it may be valid.
        if text.trim().is_empty() && !(matches!(self, Self::Completion(_)) && row.oracle.is_code()) {
            return Err("it is empty".to_owned());
        }
        match (self, &row.oracle) {
            (Self::Solution(text), Question::Math { .. })
            | (Self::Completion(text) | Self::Response(text), Question::Math { .. }) => {
                super::mathematics_of(text).ok_or_else(|| "there is no answer in it".to_owned())
            }
            (Self::Solution(text), _) => Ok(text.clone()),
            (Self::Completion(text), Question::Script { .. }) => Ok(format!("{}{text}", row.question)),
            (Self::Completion(text), Question::Reference { .. }) if row.task_id.starts_with("HumanEval/") => {
                Ok(format!("{}{text}", row.question))
            }
            (Self::Completion(text), _) => Ok(text.clone()),
            (Self::Response(text), Question::CodeO { .. } | Question::CodeI { .. } | Question::CodeF { .. }) => {
                let seedling = PromptStyle::shipped("seedling").map_err(|error| error.to_string())?;
                Ok(seedling.solution(row, text, FinishReason::Stop)?.text)
            }
            (Self::Response(text), oracle) => {
                let (prompt, test) = match oracle {
                    Question::Script { test, .. } => (Some(row.question.as_str()), test.as_str()),
                    Question::Reference { .. } if row.task_id.starts_with("HumanEval/") => {
                        (Some(row.question.as_str()), "")
                    }
                    _ => (None, ""),
                };
                let code = super::code_of(text, oracle.entry_point(), prompt);
                Ok(match oracle.entry_point() {
                    Some(name) => super::needed::needed_by(name, test, &code),
                    None => code,
                })
            }
        }
    }
}

/// The verifier task for a solution.
///
/// # Errors
/// The row's JSON is damaged.
pub fn task(row: &BenchmarkRow, id: String, solution: String) -> Result<Task, String> {
    let tests = |entry_point: Option<&String>, oracle| Tests {
        program: solution.clone(),
        entry_point: entry_point.cloned(),
        oracle,
    };
    let check: Check = match &row.oracle {
        Question::Script { entry_point, test } => {
            tests(Some(entry_point), Oracle::Script { test: test.clone(), prompt: Some(row.question.clone()) }).into()
        }
        Question::Reference { entry_point, reference, base_inputs, plus_inputs, atol } => {
            let inputs = base_inputs.iter().chain(plus_inputs).map(|input| JsonText::new(input.clone()));
            let inputs = inputs
                .collect::<Result<_, _>>()
                .map_err(|error| format!("{}: an input is not JSON: {error}", row.task_id))?;
            tests(
                Some(entry_point),
                Oracle::Reference {
                    inputs,
                    reference: reference.clone(),
                    atol: Tolerance::new(*atol).unwrap_or_default(),
                    task_id: Some(row.task_id.clone()),
                },
            )
            .into()
        }
        Question::LiveCodeBench { entry_point, public_test_cases, private_test_cases, .. } => tests(
            entry_point.as_ref(),
            Oracle::LiveCodeBench { public: public_test_cases.clone(), private: private_test_cases.clone() },
        )
        .into(),
        Question::Math { gold } => MathPair { gold: gold.clone(), answer: solution, plain: false }.into(),
        Question::CodeO { program, input } => {
            Solution::Output { program: program.clone(), input: input.clone(), answer: solution }.into()
        }
        Question::CodeI { program, output } => {
            Solution::Input { program: program.clone(), output: output.clone(), answer: solution }.into()
        }
        Question::Python { file, source, timeout, packages, row: data } => Reward {
            file: *file,
            source: source.clone(),
            timeout: *timeout,
            packages: packages.clone(),
            prompt: row.question.clone(),
            completion: solution,
            row: JsonText::new(serde_json::Value::from(data.clone()).to_string()).map_err(|error| error.to_string())?,
        }
        .into(),
        Question::CodeF { pairs, .. } => Solution::Function { pairs: pairs.clone(), answer: solution }.into(),
    };
    Ok(Task { id, check })
}

/// The grade of a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graded {
    /// Whether it is correct; for EvalPlus' suites, by the base tests and the added ones.
    pub correct: bool,
    /// EvalPlus' suites: whether it passes only the base tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_correct: Option<bool>,
    /// How its execution ended.
    pub status: Status,
    /// Why it is wrong.
    pub reason: String,
}

/// The grade that `verdict` gives a sample of `row`.
pub fn graded(row: &BenchmarkRow, verdict: &Verdict) -> Graded {
    let base_correct = row.oracle.base_tests().map(|base| {
        verdict.total.is_some()
            && verdict.failures.as_ref().is_none_or(|failures| failures.iter().all(|failure| failure.index >= base))
            && (verdict.correct == Some(true) || verdict.failures.is_some())
    });
    Graded {
        correct: verdict.correct == Some(true),
        base_correct,
        status: verdict.status,
        reason: verdict.reason.clone(),
    }
}

impl Graded {
    /// The grade of a sample without a solution.
    pub fn unreadable(row: &BenchmarkRow, reason: String) -> Self {
        Self { correct: false, base_correct: row.oracle.base_tests().map(|_| false), status: Status::Malformed, reason }
    }
}
