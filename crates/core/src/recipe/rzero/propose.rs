//! Asks proposers for questions and reads them.

use std::sync::Arc;

use super::{parameters::DIVERSITY, step::Step};
use crate::{
    prompt::{Field, Template},
    recipe::{
        Generation, Progress, Sample, completions,
        mathematics::{ANSWER, SOLVE, is_right},
    },
    seed::derive,
    vocabulary_dropout::Purpose,
    work::{FinishReason, Sampling, WorkKey},
};

/// The prompts of the recipe.
pub(super) const TEMPLATES: [Template; 2] = [
    Template {
        name: "propose",
        doc: "Asks the proposer for a question and its answer.",
        variables: &[],
    },
    SOLVE,
];

const QUESTION: Field = Field::last("question");

/// Some prompts for proposals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'p> {
    /// What the proposals are for.
    pub(super) purpose: Purpose,
    /// Prompts over all proposers.
    pub(super) prompts: u32,
    /// Proposals for each.
    pub(super) n: u32,
    /// How they are sampled.
    pub(super) sampling: &'p Sampling,
}

/// A proposal.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    /// The proposer: a position among the members.
    pub(super) proposer: usize,
    /// The solver that votes on it.
    pub(super) solver: usize,
    /// Its place in the work.
    pub(super) sample: Sample,
    /// The completion.
    pub(super) text: String,
    /// Difference of masked and unmasked log-probabilities, in nats.
    pub(super) mask_mismatch: Option<f32>,
    /// The question and its stated answer, or why they cannot be read.
    pub(super) question: Result<Question, String>,
}

/// A question as it was proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) stated: String,
}

impl Question {
    /// Whether the stated answer is right; `None` if only people can tell. For metrics alone.
    pub(super) fn is_right(&self) -> Option<bool> {
        is_right(&self.text, &self.stated)
    }
}

impl Call<'_> {
    /// The chunks that the prompts are cut into, each with its first prompt and the one after its last.
    pub(super) fn chunks(&self, size: u32) -> Vec<(u32, u32, u32)> {
        let chunk = |chunk: u32| (chunk, chunk * size, self.prompts.min((chunk + 1) * size));
        (0..self.prompts.div_ceil(size)).map(chunk).collect()
    }
}

impl Step<'_> {
    /// The proposals of a chunk. Prompts go round the proposers, and the questions of a prompt to one solver.
    pub(super) fn propose(
        &mut self,
        call: Call<'_>,
        (chunk, first, end): (u32, u32, u32),
    ) -> Progress<Arc<Vec<Proposal>>> {
        let key = self.draft.key("propose", chunk);
        let members = |number: u32| {
            let (number, proposers) = (number as usize, self.proposers.len());
            let solver = (number / proposers) % self.solvers.len();
            (self.proposers[number % proposers], self.solvers[solver])
        };
        let asked: Vec<(u32, (usize, usize))> = (first..end).map(|number| (number, members(number))).collect();
        let sampling = self.masked(call, &key);
        let prompt = self.propose_prompt()?.prompt;
        let result = self.draft.generate(&key, [asked.len(), call.n as usize], || {
            let requests = asked
                .iter()
                .map(|(number, (proposer, _))| (*number, *proposer, prompt.clone()));
            Ok(Generation {
                sampling,
                samples: call.n,
                keep_tokens: call.purpose == Purpose::Train,
                draws: None,
                requests: requests.collect(),
            })
        })?;
        self.draft.view.once(&format!("proposals/{chunk}"), || {
            let read = completions(&asked, result).map(|((number, (proposer, solver)), index, completion)| Proposal {
                proposer: *proposer,
                solver: *solver,
                sample: Sample::of(&key, *number, index, completion),
                text: completion.text.clone(),
                mask_mismatch: completion.mask_mismatch,
                question: self.question(&completion.text, completion.finish_reason),
            });
            Ok(read.collect())
        })
    }

    /// The sampling of a batch, with a mask of its own.
    fn masked(&self, call: Call<'_>, key: &WorkKey) -> Sampling {
        let mask = self.parameters.vocabulary_dropout.as_ref().and_then(|dropout| {
            let seed = derive(self.draft.run.config.seed, &format!("{key}/vocabulary-mask"), 0);
            dropout.mask(call.purpose, self.keep_rate()?, seed)
        });
        Sampling {
            vocabulary_mask: mask,
            ..call.sampling.clone()
        }
    }

    /// The keep rate of the iteration; `None` without dropout, and where nothing is proposed.
    pub(super) fn keep_rate(&self) -> Option<f64> {
        let dropout = self.parameters.vocabulary_dropout.as_ref();
        let dropout = dropout.filter(|_| self.stage.name != DIVERSITY)?;
        Some(dropout.keep_rate(self.stage.iteration, self.parameters.iterations))
    }

    fn question(&self, text: &str, finish: FinishReason) -> Result<Question, String> {
        let reading = self
            .prompts
            .grammar
            .read(&[QUESTION, ANSWER], text, finish, self.prompts.opening());
        let text = reading.text(QUESTION.name)?.to_owned();
        let stated = reading.text(ANSWER.name)?.to_owned();
        match text.is_empty() || stated.is_empty() {
            true => Err("the question or its answer is empty".to_owned()),
            false => Ok(Question { text, stated }),
        }
    }
}
