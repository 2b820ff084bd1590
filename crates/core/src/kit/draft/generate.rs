//! Asks members for completions.

use crate::advantage::Sampled;
use crate::contract::PlanError;
use crate::id::{AttemptId, ExecutionId, ProblemId, WorkId};
use crate::kit::{Draft, Progress, Sequence};
use crate::seed::derive;
use crate::work::{
    AdapterRef, Completion, FinishReason, Prompt, RolloutPayload, RolloutRequest, RolloutResult, Sampling, WorkKey,
};

/// The work of one generation item: requests to members of one population.
pub struct Generation {
    /// How completions are sampled.
    pub sampling: Sampling,
    /// Samples per request.
    pub samples: u32,
    /// Whether an update will learn from them.
    pub keep_tokens: bool,
    /// Names the draws: requests of one number then have the same seed in every item and step. Left out, each item's
    /// differ.
    pub draws: Option<&'static str>,
    /// For each request: its number, which is its name and determines its seed; its member's position; and its prompt.
    pub requests: Vec<(u32, usize, Prompt)>,
}

impl<'a> Draft<'a> {
    /// Asks for the completions of an item's requests, `count` requests of `samples` each, and returns them.
    pub fn generate(
        &mut self,
        key: &WorkKey,
        [count, samples]: [usize; 2],
        generation: impl FnOnce() -> Result<Generation, PlanError>,
    ) -> Progress<&'a RolloutResult> {
        let result = self.rollout(key, |draft| draft.rollout_payload(key, generation()?))?;
        check_shape(key, result, count, samples)?;
        Ok(result)
    }

    fn rollout_payload(&self, key: &WorkKey, generation: Generation) -> Result<RolloutPayload, PlanError> {
        let first = generation.requests.first().map_or(0, |(_, member, _)| *member);
        let (name, population) = self.population(first)?;
        let mut adapters = Adapters::default();
        let mut requests = Vec::with_capacity(generation.requests.len());
        let seed = |number: u32| match generation.draws {
            Some(path) => derive(self.run.config.seed, path, u64::from(number)),
            None => self.seed(key, number),
        };
        for (number, member, prompt) in generation.requests {
            if self.population(member)?.0 != name {
                let detail =
                    format!("members of several populations, one of them {name}: they may have different bases");
                return Err(Self::misfit(key, detail));
            }
            requests.push(RolloutRequest {
                adapter: adapters.place(self, member),
                ..RolloutRequest::new(number.to_string(), prompt, generation.samples, seed(number))
            });
        }
        Ok(RolloutPayload {
            adapters: adapters.0,
            requests,
            keep_tokens: generation.keep_tokens,
            ..RolloutPayload::new(population.base_model.clone(), self.run.config.compute, generation.sampling)
        })
    }
}

/// The adapters of a batch without repetition, in order of first use.
#[derive(Clone, Debug, Default)]
struct Adapters(Vec<AdapterRef>);

impl Adapters {
    /// The position of a member's adapter in the batch.
    fn place(&mut self, draft: &Draft<'_>, member: usize) -> Option<u32> {
        let adapter = draft.members.get(member)?.adapter?;
        let place = match self.0.iter().position(|known| *known == adapter) {
            Some(place) => place,
            None => {
                self.0.push(adapter);
                self.0.len() - 1
            }
        };
        u32::try_from(place).ok()
    }
}

/// Refuses a result whose requests or samples differ from those requested.
fn check_shape(key: &WorkKey, result: &RolloutResult, requests: usize, samples: usize) -> Result<(), PlanError> {
    let generated = &result.generated;
    if generated.len() == requests && generated.iter().all(|one| one.completions.len() == samples) {
        return Ok(());
    }
    let detail = format!("its result does not have {requests} requests of {samples} samples each");
    Err(Draft::misfit(key, detail))
}

/// A completion, without its text: its place in the run, from which identifiers follow, and its length.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The rollout it was drawn in.
    pub source: WorkKey,
    /// The number of its request there.
    pub request: u32,
    /// Its index among the request's samples.
    pub index: u32,
    /// Its length in tokens.
    pub tokens: u32,
    /// Whether it was cut at the token limit.
    pub truncated: bool,
    /// Whether it has text before its answer, such as the steps that lead to it.
    pub has_steps: bool,
    /// Mean entropy of the model over it, in nats.
    pub entropy: Option<f32>,
}

/// What marks the beginning of an answer in any grammar, each time it is given.
const MARKS: [&str; 5] = ["<so>", "<si>", "<sf>", "<answer>", "\\boxed{"];

/// Whether a completion has something before its answer, such as the steps that lead to it: letters or digits before the last
/// mark of an answer, or before the first block of code.
fn has_steps(text: &str) -> bool {
    let marked = MARKS.iter().filter_map(|mark| text.rfind(mark)).max();
    let Some(end) = marked.or_else(|| text.find("```")) else { return false };
    let before = text[..end].replace("<think>", "").replace("</think>", "");
    before.contains(char::is_alphanumeric)
}

impl Sample {
    /// A completion of a request in the rollout at `source`.
    pub fn of(source: &WorkKey, request: u32, index: u32, completion: &Completion) -> Self {
        Self {
            source: source.clone(),
            request,
            index,
            tokens: completion.tokens,
            truncated: completion.finish_reason == FinishReason::Length,
            has_steps: has_steps(&completion.text),
            entropy: completion.entropy,
        }
    }

    /// The identifier of the problem that it proposes.
    pub fn problem(&self, run: ExecutionId) -> ProblemId {
        ProblemId::of(WorkId::of(run, &self.source), &self.request.to_string(), self.index)
    }

    /// The identifier of the attempt that it makes.
    pub fn attempt(&self, run: ExecutionId) -> AttemptId {
        AttemptId::of(WorkId::of(run, &self.source), &self.request.to_string(), self.index)
    }

    /// What a member learns from it, in a batch in which samples of one `group` are compared.
    pub fn sequence(&self, reward: f32, group: u32) -> Sequence {
        Sequence {
            source: self.source.clone(),
            request: self.request,
            sample: self.index,
            truncated: self.truncated,
            has_steps: self.has_steps,
            sampled: Sampled { reward, group, tokens: self.tokens },
        }
    }
}

/// Every completion with what was asked and its index among the samples of that request, in order. `asked` are the requests
/// of the rollout.
pub fn completions<'r, A>(
    asked: &'r [A],
    result: &'r RolloutResult,
) -> impl Iterator<Item = (&'r A, u32, &'r Completion)> {
    asked.iter().zip(&result.generated).flat_map(|(asked, generated)| {
        let completions = (0..).zip(&generated.completions);
        completions.map(move |(index, completion)| (asked, index, completion))
    })
}

#[cfg(test)]
mod tests {
    use super::has_steps;

    #[test]
    fn steps_are_text_before_the_answer_in_any_grammar() {
        for text in [
            "a=2\nb=3<so>5",
            "<think>add</think><answer>5</answer>",
            "It is \\boxed{5}",
            "\\boxed{2} and 3, so \\boxed{5}",
            "First sort.\n```python\nreturn 5\n```",
        ] {
            assert!(has_steps(text), "{text}");
        }
        for text in [
            "5",
            "",
            "<so>5",
            "<think></think> <answer>5</answer>",
            "\\[\n\\boxed{5}",
            "```python\nreturn 5\n```\nIt sorts.",
        ] {
            assert!(!has_steps(text), "{text}");
        }
    }
}
