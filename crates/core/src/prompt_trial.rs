//! Tries a prompt set on a model: every kind of question and proposal of code, as a run would ask for it and read it.

use std::collections::BTreeMap;

use rand::Rng as _;

use crate::benchmark::{BenchmarkRow, task};
use crate::duplicate::fingerprint;
use crate::problem::Values;
use crate::prompt::{PromptError, PromptSet, ReadingRule, Reference};
use crate::seed::stream;
use crate::verify::{ProblemKind, Proposal, Task, Verdict};
use crate::work::{FinishReason, Prompt};

/// One prompt, and what its completions are read as.
#[derive(Clone, Debug)]
pub struct Case {
    /// The template's name, such as `solve_code_o`.
    pub template: String,
    /// The row's level, if it has one.
    pub level: Option<String>,
    pub prompt: Prompt,
    asked: Asked,
}

#[derive(Clone, Debug)]
enum Asked {
    Solve { row: Box<BenchmarkRow>, values: Values },
    Propose { kind: ProblemKind, shown: Vec<String>, num_inputs: usize },
}

/// A completion as it was read.
#[derive(Clone, Debug)]
pub struct Found {
    /// The rule that found an answer; `None` for a proposal.
    pub rule: Option<ReadingRule>,
    /// Whether a proposal's program is one that the prompt shows.
    pub is_copy: bool,
    /// The verifier's task about it.
    pub task: Task,
}

/// How many cases of each template, and what proposers are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    /// Cases of each template.
    pub cases: usize,
    /// Problems shown to a proposer.
    pub references: usize,
    /// Inputs of a `code_f` proposal.
    pub num_inputs: usize,
    pub seed: u64,
}

/// The cases of the templates that `set` has: `rows` are put to solvers, some of `earlier` are shown to proposers.
///
/// # Errors
/// A template that cannot be rendered.
pub fn cases(
    set: &PromptSet,
    rows: &[BenchmarkRow],
    earlier: &[Reference],
    amounts: Amounts,
) -> Result<Vec<Case>, PromptError> {
    let mut cases = Vec::new();
    for kind in ProblemKind::TRIPLES {
        let template = crate::prompt::task_name("solve", kind);
        if !set.has(&template) {
            continue;
        }
        for row in rows.iter().filter(|row| row.oracle.kind() == kind).take(amounts.cases) {
            let values = row.values();
            let program = row.oracle.program().unwrap_or_default();
            let prompt = set.solve(&values.statement(kind, program))?.prompt;
            let level = row.tags.get("level").cloned();
            cases.push(Case {
                template: template.clone(),
                level,
                prompt,
                asked: Asked::Solve { row: Box::new(row.clone()), values },
            });
        }
    }
    for kind in ProblemKind::TRIPLES {
        let template = crate::prompt::task_name("propose", kind);
        if !set.has(&template) {
            continue;
        }
        for case in 0..amounts.cases {
            let mut random = stream(amounts.seed, &template, case as u64);
            let mut left: Vec<&Reference> = earlier.iter().collect();
            let count = if kind == ProblemKind::CodeF { 1 } else { amounts.references };
            let mut shown = Vec::new();
            while shown.len() < count && !left.is_empty() {
                shown.push(left.swap_remove(random.random_range(0..left.len())).clone());
            }
            let prompt = match kind {
                ProblemKind::CodeF => {
                    let program = shown.first().map_or("", |earlier| earlier.program.as_str());
                    set.propose_function(program, amounts.num_inputs)?.prompt
                }
                _ => set.propose_io(kind, &shown)?.prompt,
            };
            let shown = shown.into_iter().map(|earlier| earlier.program).collect();
            let asked = Asked::Propose { kind, shown, num_inputs: amounts.num_inputs };
            cases.push(Case { template: template.clone(), level: None, prompt, asked });
        }
    }
    Ok(cases)
}

impl Case {
    /// Reads a completion.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(&self, set: &PromptSet, id: String, text: &str, finish: FinishReason) -> Result<Found, String> {
        match &self.asked {
            Asked::Solve { row, values } => {
                let program = row.oracle.program().unwrap_or_default();
                let found = set.answer(&values.statement(row.oracle.kind(), program), text, finish)?;
                Ok(Found { rule: Some(found.rule), is_copy: false, task: task(row, id, found.text)? })
            }
            Asked::Propose { kind, shown, num_inputs } => {
                let read = set.grammar.proposal(*kind, text, finish, set.opening(), *num_inputs)?;
                let proposal = read.proposal(*kind, shown.first().cloned())?;
                let is_copy = match &proposal {
                    Proposal::Io { program, .. } => {
                        let own = fingerprint(program);
                        shown.iter().chain(&set.example_programs()).any(|shown| fingerprint(shown) == own)
                    }
                    Proposal::Function { .. } => false,
                };
                Ok(Found { rule: None, is_copy, task: Task { id, check: proposal.into() } })
            }
        }
    }

    /// Whether it asks for a proposal.
    pub fn is_proposal(&self) -> bool {
        matches!(self.asked, Asked::Propose { .. })
    }
}

/// The counts of one template's completions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub completions: usize,
    /// Cut at the token limit.
    pub cut: usize,
    /// Read, and a value or a program as far as the verifier could tell.
    pub readable: usize,
    /// Those of them that the form found.
    pub by_form: usize,
    /// Proposals that are valid.
    pub valid: usize,
    /// Valid proposals that are not copies of what the prompt shows.
    pub own: usize,
    /// Answers that are right.
    pub right: usize,
    pub tokens: usize,
    /// Answers and those that are right, by level.
    pub levels: BTreeMap<String, (usize, usize)>,
}

impl Tally {
    /// Counts a completion with what was read in it and the verdict on that.
    pub fn count(&mut self, case: &Case, tokens: usize, is_cut: bool, found: Option<(&Found, &Verdict)>) {
        self.completions += 1;
        self.cut += usize::from(is_cut);
        self.tokens += tokens;
        let level = case.level.as_ref().map(|level| self.levels.entry(level.clone()).or_default());
        let is_right = found.is_some_and(|(_, verdict)| verdict.correct == Some(true));
        if let Some((answers, right)) = level {
            *answers += 1;
            *right += usize::from(is_right);
        }
        let Some((found, verdict)) = found else { return };
        let is_readable = case.is_proposal() || verdict.status != crate::verify::Status::Malformed;
        self.readable += usize::from(is_readable);
        self.by_form += usize::from(is_readable && found.rule.is_none_or(|rule| rule == ReadingRule::Form));
        let is_valid = verdict.valid == Some(true);
        self.valid += usize::from(is_valid);
        self.own += usize::from(is_valid && !found.is_copy);
        self.right += usize::from(is_right);
    }
}
