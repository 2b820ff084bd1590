//! Tries a prompt set on a model: every kind of question and proposal of a recipe, as a run would ask for it and read it.

use std::collections::BTreeMap;

use rand::Rng as _;

use crate::benchmark::{BenchmarkRow, task};
use crate::duplicate::fingerprint;
use crate::fault::Fault;
use crate::kit::judge::ANSWER;
use crate::problem::Values;
use crate::prompt::{
    PromptConfig, PromptError, PromptSet, ReadingRule, Reference, Template, Templates, shipped_templates, task_name,
};
use crate::seed::stream;
use crate::verify::{ProblemKind, Proposal, Task, Verdict};
use crate::work::{FinishReason, Prompt};

/// One prompt, and what its completions are read as.
#[derive(Clone, Debug)]
pub struct Case {
    /// The template's name, such as `solve_code_o`.
    pub template: &'static str,
    /// The row's level, if it has one.
    pub level: Option<String>,
    pub prompt: Prompt,
    asked: Asked,
}

#[derive(Clone, Debug)]
enum Asked {
    Solve {
        row: Box<BenchmarkRow>,
        values: Values,
    },
    Propose {
        kind: ProblemKind,
        shown: Vec<String>,
        num_inputs: usize,
    },
    /// A template that only its recipe can read; with a question of mathematics, its answer is judged as well.
    Other {
        reads: fn(&PromptSet, &str, &str) -> Result<(), String>,
        question: Option<Box<BenchmarkRow>>,
    },
}

/// A completion as it was read.
#[derive(Clone, Debug)]
pub struct Found {
    /// The rule that found an answer; `None` for a proposal.
    pub rule: Option<ReadingRule>,
    /// Whether a proposal's program is one that the prompt shows.
    pub is_copy: bool,
    /// The verifier's task about it, if it can be judged.
    pub task: Option<Task>,
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

/// The set of `config` with those of the recipe's templates that it has.
///
/// # Errors
/// Every fault of the set.
pub fn set_of(config: PromptConfig, templates: &Templates) -> Result<PromptSet, Vec<Fault>> {
    let has: Vec<String> = shipped_templates(&config.set)
        .map(|(name, _)| name.to_owned())
        .chain(config.templates.keys().cloned())
        .collect();
    let is_needed = |template: &Template| has.iter().any(|name| name == template.name);
    let resolved = config.resolve_for("/prompts", &templates.all, is_needed, &templates.reads)?;
    PromptSet::compile(&resolved).map_err(|error| vec![Fault::new("/prompts", error.to_string())])
}

/// The cases of the templates that `set` has: `rows` are put to solvers, some of `earlier` are shown to proposers of code.
/// What else a template shows is the sample with which it is checked.
///
/// # Errors
/// A template that cannot be rendered.
pub fn cases(
    set: &PromptSet,
    templates: &Templates,
    rows: &[BenchmarkRow],
    earlier: &[Reference],
    amounts: Amounts,
) -> Result<Vec<Case>, PromptError> {
    let mut cases = Vec::new();
    for template in templates.all.iter().filter(|template| set.has(template.name)) {
        let named = |act| ProblemKind::TRIPLES.into_iter().find(|kind| template.name == task_name(act, *kind));
        match (named("solve"), named("propose")) {
            (Some(kind), _) => cases.extend(questions(set, template, kind, rows, amounts)?),
            (_, Some(kind)) => cases.extend(proposals(set, template, kind, earlier, amounts)?),
            _ => cases.extend(others(set, template, templates, rows, amounts)?),
        }
    }
    Ok(cases)
}

fn questions(
    set: &PromptSet,
    template: &Template,
    kind: ProblemKind,
    rows: &[BenchmarkRow],
    amounts: Amounts,
) -> Result<Vec<Case>, PromptError> {
    let of_kind = rows.iter().filter(|row| row.oracle.kind() == kind).take(amounts.cases);
    let case = |row: &BenchmarkRow| {
        let values = row.values();
        let prompt = set.solve(&values.statement(kind, row.oracle.program().unwrap_or_default()))?.prompt;
        let asked = Asked::Solve { row: Box::new(row.clone()), values };
        Ok(Case { template: template.name, level: row.tags.get("level").cloned(), prompt, asked })
    };
    of_kind.map(case).collect()
}

fn proposals(
    set: &PromptSet,
    template: &Template,
    kind: ProblemKind,
    earlier: &[Reference],
    amounts: Amounts,
) -> Result<Vec<Case>, PromptError> {
    let case = |number: usize| {
        let mut random = stream(amounts.seed, template.name, number as u64);
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
        Ok(Case { template: template.name, level: None, prompt, asked })
    };
    (0..amounts.cases).map(case).collect()
}

/// Cases of a template of mathematics, or of one that only its recipe knows.
fn others(
    set: &PromptSet,
    template: &Template,
    templates: &Templates,
    rows: &[BenchmarkRow],
    amounts: Amounts,
) -> Result<Vec<Case>, PromptError> {
    let is_question = template.name == "solve";
    let mut rows = rows.iter().filter(|row| is_question && row.oracle.kind() == ProblemKind::Math);
    let case = |_| {
        let row = rows.next();
        let mut values = template.samples(false);
        values.extend(row.map(|row| ("question", row.question.as_str().into())));
        let asked = Asked::Other { reads: templates.reads, question: row.cloned().map(Box::new) };
        let level = row.and_then(|row| row.tags.get("level").cloned());
        Ok(Case { template: template.name, level, prompt: set.render(template.name, values)?.prompt, asked })
    };
    (0..amounts.cases).map(case).collect()
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
                Ok(Found { rule: Some(found.rule), is_copy: false, task: Some(task(row, id, found.text)?) })
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
                Ok(Found { rule: None, is_copy, task: Some(Task { id, check: proposal.into() }) })
            }
            Asked::Other { reads, question } => {
                if finish == FinishReason::Length {
                    return Err("it was cut at the limit of tokens".to_owned());
                }
                reads(set, self.template, text)?;
                let judged = question.as_ref().map(|row| {
                    let reading = set.grammar.read(&[ANSWER], text, finish, set.opening());
                    task(row, id, reading.text(ANSWER.name)?.to_owned())
                });
                Ok(Found { rule: None, is_copy: false, task: judged.transpose()? })
            }
        }
    }

    /// Whether it asks a question to which the answer is known.
    pub fn is_question(&self) -> bool {
        matches!(self.asked, Asked::Solve { .. } | Asked::Other { question: Some(_), .. })
    }

    /// Whether it asks for a proposal of code.
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
    pub fn count(&mut self, case: &Case, tokens: usize, is_cut: bool, found: Option<(&Found, Option<&Verdict>)>) {
        self.completions += 1;
        self.cut += usize::from(is_cut);
        self.tokens += tokens;
        let level = case.level.as_ref().map(|level| self.levels.entry(level.clone()).or_default());
        let is_right = found.is_some_and(|(_, verdict)| verdict.and_then(|verdict| verdict.correct) == Some(true));
        if let Some((answers, right)) = level {
            *answers += 1;
            *right += usize::from(is_right);
        }
        let Some((found, verdict)) = found else { return };
        let is_malformed = verdict.is_some_and(|verdict| verdict.status == crate::verify::Status::Malformed);
        let is_readable = case.is_proposal() || !is_malformed;
        self.readable += usize::from(is_readable);
        self.by_form += usize::from(is_readable && found.rule.is_none_or(|rule| rule == ReadingRule::Form));
        let is_valid = verdict.and_then(|verdict| verdict.valid) == Some(true);
        self.valid += usize::from(is_valid);
        self.own += usize::from(is_valid && !found.is_copy);
        self.right += usize::from(is_right);
    }
}
