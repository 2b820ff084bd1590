//! The stage that measures how much the questions of the curriculum differ.

use super::{metrics::Tally, step::Step};
use crate::{
    contract::{CostClass, Phase, PlanError},
    diversity::PHASE,
    kit::{Progress, mathematics::question_of},
    seed::derive,
    work::{DiversityRequest, EmbeddingBatch, RolloutPayload, Sampling},
};

pub(super) const DIVERSITY: Phase = Phase::new(PHASE, CostClass::Diversity);

impl<'a> Step<'a> {
    /// All valid questions are measured, whether learned from or not; nothing if there are none.
    pub(super) fn measure_diversity(&mut self) -> Progress<Tally<'a>> {
        let questions = self.memory.curriculum.clone();
        if questions.is_empty() {
            return Ok(Tally::default());
        }
        self.draft.problems(questions.iter().copied())?;
        let key = self.draft.key(DIVERSITY, 0);
        let proposer = self.proposers[0];
        let config = &self.parameters.diversity;
        let earlier = self.memory.embedded.clone();
        let view = self.draft.view;
        let texts = questions.iter().map(|problem| Ok(question_of(view, *problem)?.0));
        let texts = texts.collect::<Result<Vec<String>, PlanError>>()?;
        let result = self.draft.rollout(&key, |draft| {
            Ok(RolloutPayload {
                base_model: draft.population(proposer)?.1.base_model.clone(),
                compute: draft.run.config.compute,
                adapters: Vec::new(),
                sampling: Sampling::default(),
                requests: Vec::new(),
                embedding: Some(EmbeddingBatch {
                    texts,
                    against: earlier
                        .into_iter()
                        .map(|(vectors, count)| (vectors, (0..count).collect()))
                        .collect(),
                    centred: false,
                    diversity: Some(DiversityRequest {
                        novelty_distance: config.novelty_distance,
                        cumulative: config.cumulative,
                        observer: config.epiplexity.clone(),
                        seed: derive(draft.run.config.seed, &key.to_string(), 0),
                    }),
                }),
                keep_tokens: false,
                compare: None,
            })
        })?;
        let missing = || PlanError::Other("the diversity of the curriculum was not measured".to_owned());
        let embedded = result.embedded.as_ref().ok_or_else(missing)?;
        let diversity = embedded.diversity.ok_or_else(missing)?;
        self.memory.embedded.push((embedded.vectors, questions.len() as u32));
        Ok(Tally {
            diversity: Some(diversity),
            ..Tally::default()
        })
    }
}
