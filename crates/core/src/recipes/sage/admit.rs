//! The challenge phase: challenge → critique; check → estimate; then tasks whose score is high enough and whose verifier
//! is valid join the growing set.

use std::sync::Arc;

use rand::Rng;

use super::challenge;
use super::challenge::{Challenge, Estimate};
use super::critique::{Critique, Scored, Subject};
use super::step::Step;
use super::task::Task;
use super::verifier::Checked;
use crate::contract::{ParentRelation, PlanError, ProblemOutcomeRecord, ProblemRecord, Role};
use crate::kit::judge::prompt_error;
use crate::kit::{Progress, Sample, Sequence, both, join};
use crate::problem::Values;
use crate::seed;
use crate::verify::{ProblemKind, Status};

/// What became of a challenge.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) sample: Sample,
    /// What the challenger learns from.
    pub(super) sequence: Sequence,
    /// Its score; `None` if there is no question to score.
    pub(super) critique: Option<Critique>,
    /// How often it was solved; `None` if its verifier is not valid.
    pub(super) estimate: Option<Estimate>,
    /// The task, if it joins the growing set.
    pub(super) joins: Option<Arc<Task>>,
    /// Whether it repeats the task that was shown.
    pub(super) is_copy: bool,
    /// Whether its stated answer is right; `None` if only people can tell.
    pub(super) is_right: Option<bool>,
}

impl Step<'_> {
    /// The step's challenges, in order.
    pub(super) fn challenge_phase(&mut self) -> Progress<Vec<Candidate>> {
        let references = self.draw("references", self.parameters.challenges, &[])?;
        let references: Vec<(u32, Arc<Task>)> = (0..).zip(references.iter().cloned()).collect();
        let chunks = (0..).zip(references.chunks(self.parameters.items.propose as usize));
        let view = self.draft.view;
        let candidates = join(chunks, |(chunk, references)| {
            view.once(&format!("candidates/{chunk}"), || self.candidates(chunk, references))
        })?;
        Ok(candidates.iter().flat_map(|chunk| chunk.iter().cloned()).collect())
    }

    /// Adds the tasks that join to the growing set, and drops the oldest beyond its size.
    pub(super) fn admit(&mut self, candidates: &[Candidate]) {
        let run = self.draft.run.run;
        let pool = &mut self.memory.pool;
        let joining = candidates.iter().filter_map(|one| Some((&one.sample, one.joins.as_ref()?)));
        for (sample, task) in joining {
            pool.add(task.kind(), run, &sample.source, sample.request, sample.index, 1);
        }
        pool.trim(self.parameters.pool_size);
    }

    fn candidates(&mut self, chunk: u32, references: &[(u32, Arc<Task>)]) -> Progress<Vec<Candidate>> {
        let challenges = self.challenge(chunk, references)?;
        let subjects = challenges.iter().filter_map(|challenge| {
            let task = Arc::clone(challenge.task.as_ref().ok()?);
            Some((challenge.number, Subject { task, plan: None }))
        });
        let subjects: Vec<(u32, Subject)> = subjects.collect();
        let critiques = self.critique(Scored::Questions, chunk, &subjects);
        let checked = self.check(chunk, &challenges);
        let estimated = checked.and_then(|checked| {
            let (estimates, rows) = self.estimate(chunk, &challenges, &checked)?;
            Ok((checked, estimates, rows))
        });
        let (critiques, (checked, estimates, answers)) = both(critiques, estimated)?;
        let mut critiques = critiques.into_iter();
        let mut candidates = Vec::with_capacity(challenges.len());
        for ((challenge, checked), estimate) in challenges.iter().zip(&checked).zip(estimates) {
            let scored = challenge.task.as_ref().ok().and_then(|_| critiques.next());
            let (mut critique, row) = scored.unzip();
            if let (Some(auc), Some(critique)) = (self.parameters.exact_critic, &mut critique) {
                critique.score = self.exact_score(auc, challenge);
            }
            self.write_problem(challenge, checked)?;
            self.draft.plan.records.attempts.extend(row);
            candidates.push(self.candidate(challenge, checked, critique, estimate));
        }
        self.draft.plan.records.attempts.extend(answers);
        Ok(candidates)
    }

    /// The score of a challenge's question by a critic that knows whether its answer is right, with this AUC.
    fn exact_score(&self, auc: f64, challenge: &Challenge) -> f32 {
        let run = self.draft.run;
        let path = format!("exact-critic/{}", run.step);
        let mut random = seed::stream(run.config.seed, &path, challenge.number.into());
        exact_score(auc, challenge.task.as_ref().ok().and_then(|task| task.is_right()), &mut random)
    }

    /// Decides whether a challenge joins, and writes its outcome. A question that cannot be read has the score 0.
    fn candidate(
        &mut self,
        challenge: &Challenge,
        checked: &Checked,
        critique: Option<Critique>,
        estimate: Option<Estimate>,
    ) -> Candidate {
        let parameters = self.parameters;
        let quality = critique.as_ref().map_or(0.0, |critique| critique.score);
        let joins = checked.as_ref().ok().filter(|_| parameters.gates().admits(quality));
        let solve_rate = estimate.map(Estimate::solve_rate);
        let difficulty = solve_rate.filter(|_| joins.is_some()).map(|rate| 1.0 - rate);
        let reward = parameters.rewards.challenge(quality, difficulty, challenge.format);
        let sample = challenge.sample.clone();
        let candidate = Candidate {
            sequence: sample.sequence(reward.total, challenge.number),
            critique,
            estimate,
            joins: joins.cloned(),
            is_copy: challenge.is_copy(),
            is_right: challenge.task.as_ref().ok().and_then(|task| task.is_right()),
            sample,
        };
        self.draft.plan.records.outcomes.push(ProblemOutcomeRecord {
            problem: candidate.sample.problem(self.draft.run.run),
            solve_rate,
            attempts: estimate.map_or(0, |estimate| estimate.of),
            reward: reward.total,
            reward_parts: reward.parts,
        });
        candidate
    }

    fn write_problem(&mut self, challenge: &Challenge, checked: &Checked) -> Result<(), PlanError> {
        let run = self.draft.run.run;
        let task = challenge.task.as_deref();
        let nothing = |_| Values::Math { question: String::new(), answer: String::new() };
        let values = task.map_or_else(nothing, Task::values);
        let code = self.parameters.code;
        let prompt = challenge::prompt(&self.prompts, &challenge.reference, code).map_err(prompt_error)?;
        // The dataset's rows, which may be entered in any step, have the indices before it.
        let (_, first) = self.parameters.dataset.settled()?;
        self.draft.plan.records.problems.push(ProblemRecord {
            proposer: Some(self.draft.members[self.player(Role::Challenger)?].playing(run)),
            source: Some(challenge.sample.source.clone()),
            prompt: prompt.text,
            proposal: challenge.text.clone(),
            valid: checked.is_ok(),
            status: match checked {
                Ok(_) => Status::Ok,
                Err(_) => Status::Malformed,
            },
            reason: checked.as_ref().err().cloned().unwrap_or_default(),
            values: serde_json::to_value(values)?,
            parents: vec![(challenge.reference.problem, ParentRelation::Reference)],
            ..ProblemRecord::new(
                challenge.sample.problem(run),
                first + challenge.number,
                task.map_or(ProblemKind::Math, Task::kind),
            )
        });
        Ok(())
    }
}

/// 1 for a right answer and 0 for any other, the other way round with a probability of `1 - auc`.
fn exact_score(auc: f64, is_right: Option<bool>, random: &mut impl Rng) -> f32 {
    let tells = random.random_bool(auc);
    f32::from(u8::from((is_right == Some(true)) == tells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_critic_is_right_as_often_as_its_auc_says() {
        for (auc, is_right, expected) in [
            (1.0, Some(true), 1.0),
            (1.0, Some(false), 0.0),
            (1.0, None, 0.0),
            (0.8, Some(true), 0.8),
            (0.8, Some(false), 0.2),
            (0.5, Some(true), 0.5),
            (0.5, None, 0.5),
        ] {
            let mut random = seed::stream(1, "test", 0);
            let mean = (0..4000).map(|_| exact_score(auc, is_right, &mut random)).sum::<f32>() / 4000.0;
            assert!((mean - expected).abs() < 0.03, "{auc} {is_right:?}: {mean}");
        }
    }
}
