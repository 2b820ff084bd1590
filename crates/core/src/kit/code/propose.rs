//! Asks for proposals.

use super::scene::{Material, prompt_error};
use super::{Attempt, Problem, Scene};
use crate::archive::Descriptor;
use crate::contract::PlanError;
use crate::contract::phase::PROPOSE;
use crate::id::ProblemId;
use crate::kit::{Generation, Pool, PoolFilter, Progress, Sample};
use crate::prompt::{Reference, Rendered};
use crate::reward::Solved;
use crate::seed::stream;
use crate::verify::ProblemKind;
use crate::work::RolloutResult;

/// One prompt for a proposal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    /// Its index among the step's prompts, which is also the request's name.
    pub(crate) index: u32,
    /// The type of problem to propose.
    pub(crate) kind: ProblemKind,
    /// The proposer: a position among the members.
    pub(crate) proposer: usize,
    /// The member that will solve.
    pub(crate) solver: usize,
    /// The problems to show: references, or the one program that a function proposal is about.
    pub(crate) shown: Vec<ProblemId>,
}

impl<'a> Scene<'a> {
    /// Draws the problems to show in the prompt at `index`: references of its type, or a program of the other types.
    pub(crate) fn draw_shown(&self, pool: &Pool, kind: ProblemKind, index: u32) -> Vec<ProblemId> {
        let run = self.draft.run;
        let path = format!("{}/references", run.step);
        let mut random = stream(run.config.seed, &path, u64::from(index));
        match kind {
            ProblemKind::CodeF => pool.draw(&[ProblemKind::CodeI, ProblemKind::CodeO], 1, &mut random),
            _ => pool.draw(&[kind], self.material.groups.problems.references as usize, &mut random),
        }
    }

    /// The proposals of a chunk, `samples` per prompt.
    pub(crate) fn propose(&mut self, chunk: u32, asks: &[Ask], samples: u32) -> Progress<&'a RolloutResult> {
        let key = self.draft.key(PROPOSE, chunk);
        let material = &self.material;
        self.draft.generate(&key, [asks.len(), samples as usize], || {
            let mut requests = Vec::with_capacity(asks.len());
            for ask in asks {
                requests.push((ask.index, ask.proposer, material.rendered(ask)?.prompt));
            }
            Ok(Generation {
                sampling: material.groups.sampling.propose.clone(),
                samples,
                keep_tokens: true,
                draws: None,
                requests,
            })
        })
    }
}

impl Material<'_> {
    /// The prompt of an ask, with as many references as fit.
    pub(super) fn rendered(&self, ask: &Ask) -> Result<Rendered, PlanError> {
        let limit = self.groups.problems.max_prompt_bytes as usize;
        let prompts = &self.setting.prompts;
        if ask.kind == ProblemKind::CodeF {
            let program = ask.shown.first().and_then(|id| self.earlier(*id));
            let program = program.ok_or_else(|| {
                PlanError::Other(
                    "the pool has no program to propose a function about: no seed problem is valid".to_owned(),
                )
            })?;
            let num_inputs = self.groups.problems.num_inputs as usize;
            return prompts.propose_function(&program.program, num_inputs).map_err(prompt_error);
        }
        let shown = ask.shown.iter().filter_map(|id| self.earlier(*id)?.reference());
        let mut references: Vec<Reference> = shown.collect();
        loop {
            let rendered = prompts.propose_io(ask.kind, &references).map_err(prompt_error)?;
            if rendered.text.len() <= limit || references.pop().is_none() {
                return Ok(rendered);
            }
        }
    }
}

/// A proposal after its check, and later with its attempts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// Its index among the step's proposals.
    pub(crate) index: u32,
    pub(crate) id: ProblemId,
    pub(crate) kind: ProblemKind,
    /// The proposer: a position among the members.
    pub(crate) proposer: usize,
    pub(crate) solver: usize,
    /// Whether it was refused as a copy of a program that its prompt shows.
    pub(crate) is_copy: bool,
    pub(crate) sample: Sample,
    /// The problem for solvers; `None` if invalid.
    pub(crate) problem: Option<Problem>,
    pub(crate) descriptor: Option<Descriptor>,
    pub(crate) cell: Option<u32>,
    /// See [`crate::duplicate::fingerprint`]; only for valid proposals of a program. A `code_f` problem has its program from
    /// the pool.
    pub(crate) fingerprint: Option<u32>,
    /// The attempts at it, once graded.
    pub(crate) attempts: Vec<Attempt>,
}

impl Judged {
    /// How often it was solved; `None` if invalid.
    pub(crate) fn solved(&self) -> Option<Solved> {
        self.problem.as_ref().map(|_| Solved {
            solved: self.attempts.iter().filter(|attempt| attempt.correct).count() as u32,
            attempts: self.attempts.len() as u32,
        })
    }

    /// Whether it is valid and passes `filter` into the pool.
    pub(crate) fn enters(&self, filter: PoolFilter) -> bool {
        self.solved().is_some_and(|solved| match filter {
            PoolFilter::All => true,
            PoolFilter::NonOne => solved.solved < solved.attempts,
            PoolFilter::NonExtremes => (1..solved.attempts).contains(&solved.solved),
        })
    }
}
