//! Asking for proposals.

use super::{Pool, Problem, Scene};
use crate::{
    id::ProblemId,
    prompt::{Reference, Rendered},
    recipe::{PlanError, Want},
    seed::stream,
    verify::ProblemKind,
    work::{AdapterRef, Payload, RolloutPayload, RolloutRequest, RolloutResult, Sampling, WorkKey},
};

/// One prompt for a proposal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    /// Its place among the prompts of the step; the request's name.
    pub(crate) index: u32,
    /// What is to be proposed.
    pub(crate) kind: ProblemKind,
    /// Who proposes: a place among the members.
    pub(crate) proposer: usize,
    /// Who will solve.
    pub(crate) solver: usize,
    /// What is shown: references, or the one program that a function is proposed about.
    pub(crate) shown: Vec<ProblemId>,
}

impl<'a> Scene<'a> {
    /// Draws what the prompt at `index` shows: references of its type, or a program of the other types.
    pub(crate) fn draw_shown(&self, pool: &Pool, kind: ProblemKind, index: u32) -> Vec<ProblemId> {
        let path = format!("{}/references", self.run.step);
        let mut random = stream(self.run.config.seed, &path, u64::from(index));
        match kind {
            ProblemKind::CodeF => pool.draw(&[ProblemKind::CodeI, ProblemKind::CodeO], 1, &mut random),
            _ => pool.draw(&[kind], self.groups.problems.references as usize, &mut random),
        }
    }

    /// Whether every problem among `shown` can be read; wants those that cannot.
    pub(crate) fn has_problems(&mut self, shown: impl Iterator<Item = ProblemId>) -> bool {
        let mut missing: Vec<ProblemId> = shown.filter(|id| self.record(*id).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        self.plan.wants.extend(missing.iter().map(|id| Want::Problem(*id)));
        missing.is_empty()
    }

    /// An earlier problem that is at hand.
    pub(crate) fn earlier(&self, id: ProblemId) -> Option<Problem> {
        self.record(id).and_then(Problem::of)
    }

    fn record(&self, id: ProblemId) -> Option<&crate::recipe::ProblemRecord> {
        let of_before = self.view.problems.get(&id);
        of_before.or_else(|| self.seeds.get(&id))
    }

    /// The proposals of a chunk, once they are there.
    pub(crate) fn propose(
        &mut self,
        chunk: u32,
        asks: &[Ask],
        samples: u32,
    ) -> Result<Option<&'a RolloutResult>, PlanError> {
        let key = self.key("propose", chunk);
        if !self.asked(&key) {
            let mut adapters = Adapters::default();
            let mut requests = Vec::with_capacity(asks.len());
            for ask in asks {
                requests.push(RolloutRequest {
                    id: ask.index.to_string(),
                    prompt: self.rendered(ask)?.prompt,
                    adapter: adapters.place(self, ask.proposer),
                    n: samples,
                    seed: self.seed(&key, ask.index),
                    max_tokens: None,
                });
            }
            let sampling = self.groups.sampling.propose.clone();
            self.generate(key.clone(), adapters, sampling, requests, true);
        }
        let result = self.view.rollout(&key)?;
        if let Some(result) = result {
            check_shape(&key, result, asks.len(), samples)?;
        }
        Ok(result)
    }

    /// Asks for completions.
    pub(super) fn generate(
        &mut self,
        key: WorkKey,
        adapters: Adapters,
        sampling: Sampling,
        requests: Vec<RolloutRequest>,
        keep_tokens: bool,
    ) {
        let payload = RolloutPayload {
            base_model: self.population.base_model.clone(),
            compute: self.run.config.compute,
            adapters: adapters.list,
            sampling,
            requests,
            embedding: None,
            keep_tokens,
        };
        self.ask(key, Payload::Rollout(payload));
    }

    /// The prompt of an ask, with as many references as fit.
    pub(super) fn rendered(&self, ask: &Ask) -> Result<Rendered, PlanError> {
        let limit = self.groups.problems.max_prompt_bytes as usize;
        if ask.kind == ProblemKind::CodeF {
            let program = ask.shown.first().and_then(|id| self.earlier(*id));
            let program = program.ok_or_else(|| {
                PlanError::Other(
                    "the pool has no program to propose a function about: no seed problem is valid".to_owned(),
                )
            })?;
            let num_inputs = self.groups.problems.num_inputs as usize;
            return self
                .prompts
                .propose_function(&program.program, num_inputs)
                .map_err(Self::prompt_error);
        }
        let shown = ask.shown.iter().filter_map(|id| self.earlier(*id)?.reference());
        let mut references: Vec<Reference> = shown.collect();
        loop {
            let rendered = self
                .prompts
                .propose_io(ask.kind, &references)
                .map_err(Self::prompt_error)?;
            if rendered.text.len() <= limit || references.pop().is_none() {
                return Ok(rendered);
            }
        }
    }
}

/// The adapters of a batch, each once, in the order in which they are first named.
#[derive(Clone, Debug, Default)]
pub(super) struct Adapters {
    list: Vec<AdapterRef>,
}

impl Adapters {
    /// The place of a member's adapter in the batch.
    pub(super) fn place(&mut self, scene: &Scene<'_>, member: usize) -> Option<u32> {
        let adapter = scene.members.get(member)?.adapter?;
        let place = match self.list.iter().position(|known| *known == adapter) {
            Some(place) => place,
            None => {
                self.list.push(adapter);
                self.list.len() - 1
            }
        };
        u32::try_from(place).ok()
    }
}

/// Refuses a result with other requests or samples than were asked for.
pub(super) fn check_shape(
    key: &WorkKey,
    result: &RolloutResult,
    requests: usize,
    samples: u32,
) -> Result<(), PlanError> {
    let fits = result.generated.len() == requests
        && result
            .generated
            .iter()
            .all(|generated| generated.completions.len() == samples as usize);
    match fits {
        true => Ok(()),
        false => Err(Scene::misfit(
            key,
            format!("its result is not {requests} requests of {samples} samples each"),
        )),
    }
}
