//! A step of Absolute Zero.

use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::{
    advantage::{Sampled, task_relative_reinforce_plus_plus},
    config::RunConfig,
    id::ProblemId,
    recipe::{
        Plan, PlanError, Role, RunState, StepView,
        selfplay::{
            Ask, Attempt, Exam, Experience, Judged, Learner, Living, Names, Problem, Rules, Scene, Sequence, Sitting,
            Tally, founders,
        },
    },
    reward::proposer_reward,
    seed::stream,
    verify::ProblemKind,
    work::MemberUpdated,
};

/// The lowest objective that a valid problem can have, from which qd_score counts.
const LOWEST_OBJECTIVE: f32 = -0.5;

/// What a run of Absolute Zero remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    members: Vec<Living>,
    experience: Experience,
}

impl Memory {
    pub(super) fn new(config: &RunConfig) -> Self {
        Self {
            members: founders(config, &mut Names::default()),
            experience: Experience::default(),
        }
    }
}

/// One call for a plan.
pub(super) struct Turn<'a> {
    scene: Scene<'a>,
    parameters: &'a Parameters,
    memory: Memory,
}

impl<'a> Turn<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let mut memory: Memory = run.memory()?;
        let members = std::mem::take(&mut memory.members);
        Ok(Self {
            scene: Scene::new(run, view, parameters.groups(), members)?,
            parameters,
            memory,
        })
    }

    pub(super) fn plan(mut self) -> Result<Plan, PlanError> {
        let types = &self.parameters.problems.types;
        let prompts = self.parameters.batch * u32::try_from(types.len()).unwrap_or(u32::MAX);
        if self.scene.run.step == 0 {
            let is_born = self.scene.born()?;
            let is_seeded = self.scene.seeded(&mut self.memory.experience.pool, prompts)?;
            if !(is_born && is_seeded) {
                return Ok(self.scene.plan);
            }
        }
        let asks: Vec<Ask> = (0..prompts).map(|index| self.draw(index)).collect();
        let practised: Vec<ProblemId> = types.iter().flat_map(|kind| self.practice_problems(*kind)).collect();
        let shown = asks.iter().flat_map(|ask| ask.shown.iter().copied());
        if !self.scene.has_problems(shown.chain(practised.iter().copied())) {
            return Ok(self.scene.plan);
        }
        let practice = self.practise(&practised)?;
        let rules = Rules {
            proposals_per_prompt: 1,
            samples_per_problem: self.parameters.difficulty_samples,
            solver: Role::Solver,
            keep_tokens: false,
            reward: proposer_reward,
        };
        match (self.scene.play(&asks, rules)?, practice) {
            (Some(judged), Some(practice)) => self.conclude(&judged, &practice),
            _ => Ok(self.scene.plan),
        }
    }

    fn draw(&self, index: u32) -> Ask {
        let types = &self.parameters.problems.types;
        let kind = types[index as usize % types.len()];
        Ask {
            index,
            kind,
            proposer: 0,
            solver: 0,
            shown: self.scene.draw_shown(&self.memory.experience.pool, kind, index),
        }
    }

    /// What is practised on (`max_new`): problems of the last steps, a random choice if there are too many, and the rest of the
    /// batch from the whole buffer. A young buffer may hold fewer than a batch.
    fn practice_problems(&self, kind: ProblemKind) -> Vec<ProblemId> {
        let batch = self.parameters.batch as usize;
        let run = self.scene.run;
        let path = format!("{}/practice/{}", run.step, kind.name());
        let mut random = stream(run.config.seed, &path, 0);
        let pool = &self.memory.experience.pool;
        let mut chosen = pool.since(kind, run.step.saturating_sub(self.parameters.recent_steps));
        chosen.shuffle(&mut random);
        chosen.truncate(batch);
        let older = pool.draw(&[kind], batch, &mut random);
        let fill: Vec<ProblemId> = older.into_iter().filter(|id| !chosen.contains(id)).collect();
        chosen.extend(fill);
        chosen.truncate(batch);
        chosen
    }

    /// One attempt at each problem, from which the solver learns.
    fn practise(&mut self, problems: &[ProblemId]) -> Result<Option<Vec<Attempt>>, PlanError> {
        let problems: Vec<Problem> = problems.iter().filter_map(|id| self.scene.earlier(*id)).collect();
        let mut attempts = Some(Vec::with_capacity(problems.len()));
        let size = self.parameters.items.solve as usize;
        for (chunk, (first, part)) in (0..).zip((0..).step_by(size).zip(problems.chunks(size))) {
            let sittings: Vec<Sitting<'_>> = (first..)
                .zip(part)
                .map(|(number, problem)| Sitting {
                    number,
                    problem,
                    solver: 0,
                })
                .collect();
            let exam = Exam {
                solve: "practise",
                grade: "grade-practice",
                chunk,
                samples: 1,
                role: Role::Solver,
                keep_tokens: true,
                is_written: self.scene.settled,
            };
            match (self.scene.examine(exam, &sittings)?, &mut attempts) {
                (Some(graded), Some(attempts)) => attempts.extend(graded.into_iter().flatten()),
                _ => attempts = None,
            }
        }
        Ok(attempts)
    }

    /// The one batch of the step: proposals and practice of all types, whitened by role and type.
    fn learner(&self, judged: &[(Judged, f32)], practice: &[Attempt]) -> Learner {
        let scale = self.parameters.learning.reward_scale;
        let learns = |role: Role| !self.parameters.frozen.contains(&role);
        let proposals = judged
            .iter()
            .filter(|_| learns(Role::Proposer))
            .map(|(judged, reward)| {
                let sequence = (&judged.source, judged.request, judged.sample, *reward, judged.tokens);
                ((Role::Proposer, judged.kind), sequence)
            });
        let attempts = practice.iter().filter(|_| learns(Role::Solver)).map(|attempt| {
            let sequence = (
                &attempt.source,
                attempt.request,
                attempt.sample,
                attempt.reward,
                attempt.tokens,
            );
            ((Role::Solver, attempt.kind), sequence)
        });
        let (tasks, sequences): (Vec<_>, Vec<_>) = proposals
            .chain(attempts)
            .zip(0..)
            .map(|((task, (source, request, sample, reward, tokens)), group)| {
                let sampled = Sampled {
                    reward: reward * scale,
                    group,
                    tokens,
                };
                let sequence = Sequence {
                    source: source.clone(),
                    request,
                    sample,
                    sampled,
                };
                ((task, sampled), sequence)
            })
            .unzip();
        Learner {
            member: 0,
            sequences,
            advantages: task_relative_reinforce_plus_plus(&tasks, self.parameters.whitening),
        }
    }

    fn conclude(mut self, judged: &[(Judged, f32)], practice: &[Attempt]) -> Result<Plan, PlanError> {
        let insertions = self.memory.experience.illuminate(judged);
        let entered = insertions.len();
        if !self.scene.settled {
            self.scene.plan.records.insertions.extend(insertions);
        }
        let learner = self.learner(judged, practice);
        let Some(updated) = self.scene.update(&[learner])? else {
            return Ok(self.scene.plan);
        };
        self.scene.adopt(&updated);
        let run = self.scene.run;
        let experience = &mut self.memory.experience;
        let duplicates = experience.near_duplicates(judged);
        experience.remember(run.run, judged, &self.parameters.problems, 1);
        let by_place: Vec<(usize, &MemberUpdated)> = updated.into_iter().map(|new| (0, new)).collect();
        let tally = Tally {
            view: self.scene.view,
            judged,
            duplicates: &duplicates,
            practice,
            matchups: &[],
            ratings: &[],
            updated: &by_place,
            coverage: experience.archive.coverage(self.parameters.archive.cells),
            qd_score: experience.archive.qd_score(LOWEST_OBJECTIVE),
            births: 0,
            pool_size: experience.pool.len(&self.parameters.problems.types),
            archive_insertions: entered,
        };
        let member = self
            .scene
            .members
            .first()
            .map(|member| tally.member(0, Role::Proposer, member.id(run.run)));
        self.scene
            .plan
            .records
            .metrics
            .extend(member.into_iter().chain([tally.run()]));
        self.memory.members = std::mem::take(&mut self.scene.members);
        self.scene.plan.finish = Some(run.next("", &self.memory)?);
        Ok(self.scene.plan)
    }
}
