//! A step of Absolute Zero, with practice on problems of earlier steps.

use rand::seq::SliceRandom as _;
use std::sync::Arc;

use super::{Memory, Parameters};
use crate::advantage::task_relative_reinforce_plus_plus;
use crate::contract::phase::{CHECK, GRADE, PROPOSE, SOLVE};
use crate::contract::{CostClass, Phase, PlanError, Role, RunState, StepView, WARM_UP};
use crate::id::ProblemId;
use crate::kit::code::{Ask, Assignment, Attempt, AttemptBatch, Judged, Problem, SEED, Scene, Tally, WarmUp};
use crate::kit::measures::Costs;
use crate::kit::{Learner, Lesson, Progress, Sequence, both, join};
use crate::reward::proposer_reward;
use crate::seed::stream;
use crate::verify::ProblemKind;
use crate::work::MemberUpdated;

/// The lowest possible objective of a valid problem, the zero point of qd_score.
const LOWEST_OBJECTIVE: f32 = -0.5;

const PRACTISE: Phase = Phase::new("practise", CostClass::Solve);
const GRADE_PRACTICE: Phase = Phase::new("grade-practice", CostClass::Grade);
const PHASES: [Phase; 7] = [SEED, PROPOSE, CHECK, SOLVE, GRADE, PRACTISE, GRADE_PRACTICE];

/// The phases, in order.
pub(super) struct Step<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) parameters: &'a Parameters,
    memory: Memory,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        mut memory: Memory,
    ) -> Result<Self, PlanError> {
        let members = std::mem::take(&mut memory.members);
        Ok(Self { scene: Scene::new(run, view, parameters.groups(), members)?, parameters, memory })
    }

    /// Propose → check → estimate difficulty, and practise alongside → update both roles.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.begin()?;
        let asks = self.asks()?;
        let practised = self.practised();
        let shown = asks.iter().flat_map(|ask| ask.shown.iter().copied());
        self.scene.readable(shown.chain(practised.iter().copied()))?;
        let (practice, judged) = (self.practise(&practised), self.propose_and_solve(&asks));
        let (practice, judged) = both(practice, judged)?;
        let entered = self.scene.illuminate(&mut self.memory.experience, &judged);
        let updated = self.update(&judged, &practice)?;
        self.scene.draft.adopt(&updated);
        self.finish(&judged, &practice, &updated, entered)
    }

    /// Creates the member's first weights and fills the buffer with its first problems, in step 0.
    fn begin(&mut self) -> Progress<()> {
        if self.scene.draft.run.step > 0 {
            return Ok(());
        }
        let born = self.scene.draft.born();
        let first = self.prompts();
        let seeded = self.scene.seed_pool(&mut self.memory.experience.pool, first);
        both(born, seeded).map(drop)
    }

    /// The step's prompts, cycling through the types.
    fn asks(&self) -> Progress<Arc<Vec<Ask>>> {
        let types = &self.parameters.problems.types;
        let ask = |index: u32| {
            let kind = types[index as usize % types.len()];
            Ask {
                index,
                kind,
                proposer: 0,
                solver: 0,
                shown: self.scene.draw_shown(&self.memory.experience.pool, kind, index),
            }
        };
        let view = self.scene.draft.view;
        view.once("asks", || Ok((0..self.prompts()).map(ask).collect::<Vec<Ask>>()))
    }

    fn prompts(&self) -> u32 {
        let types = u32::try_from(self.parameters.problems.types.len()).unwrap_or(u32::MAX);
        self.parameters.batch * types
    }

    /// Every proposal with the attempts that estimate its difficulty, and its reward (Eq. 4), by index. The attempts
    /// are not learned from.
    fn propose_and_solve(&mut self, asks: &[Ask]) -> Progress<Arc<Vec<(Judged, f32)>>> {
        let samples = self.parameters.difficulty_samples;
        let size = self.parameters.items.propose as usize;
        let scene = &mut self.scene;
        scene.draft.view.once("judged", || {
            let chunks = join((0..).zip(asks.chunks(size)), |(chunk, asks)| {
                let proposed = scene.propose(chunk, asks, 1)?;
                let problems = scene.check(chunk, asks, 1, proposed)?;
                join(scene.parts(chunk, &problems, 1), |part| {
                    let batch = part.batch(samples, Role::Solver, false);
                    let solved = scene.solve(&batch)?;
                    let graded = scene.grade(&batch, solved)?;
                    scene.reward(part, &graded, proposer_reward)
                })
            })?;
            Ok(chunks.iter().flatten().flat_map(|part| part.iter().cloned()).collect())
        })
    }

    /// One attempt at each practice problem, from which the solver learns.
    fn practise(&mut self, problems: &[ProblemId]) -> Progress<Vec<Attempt>> {
        let problems: Vec<Problem> = problems.iter().filter_map(|id| self.scene.material.earlier(*id)).collect();
        let assignments: Vec<Assignment<'_>> =
            (0..).zip(&problems).map(|(number, problem)| Assignment { number, problem, solver: 0 }).collect();
        let parts = (0..).zip(assignments.chunks(self.parameters.items.solve as usize));
        let graded = join(parts, |(chunk, part)| {
            let batch = AttemptBatch {
                phases: [PRACTISE, GRADE_PRACTICE],
                round: 0,
                chunk,
                samples: 1,
                role: Role::Solver,
                keep_tokens: true,
                assignments: part.to_vec(),
            };
            let solved = self.scene.solve(&batch)?;
            self.scene.grade(&batch, solved)
        })?;
        Ok(graded.iter().flat_map(|part| part.iter().flatten().cloned()).collect())
    }

    /// Updates the member from one batch of both roles.
    fn update(&mut self, judged: &[(Judged, f32)], practice: &[Attempt]) -> Progress<Vec<&'a MemberUpdated>> {
        let lesson = Lesson { learning: &self.parameters.learning, items: &self.parameters.items };
        let learner = self.learner(judged, practice);
        self.scene.draft.update(lesson, &[learner])
    }

    /// Metrics, and the state before the next step.
    fn finish(
        &mut self,
        judged: &[(Judged, f32)],
        practice: &[Attempt],
        updated: &[&MemberUpdated],
        archive_insertions: usize,
    ) -> Progress<RunState> {
        let run = self.scene.draft.run;
        let problems = &self.parameters.problems;
        let experience = &mut self.memory.experience;
        let duplicates = experience.remember(run.run, judged, problems, 1);
        let updated: Vec<(usize, &MemberUpdated)> = updated.iter().map(|new| (0, *new)).collect();
        let tally = Tally {
            costs: Costs::of(self.scene.draft.view, &PHASES)?,
            judged,
            duplicates: &duplicates,
            practice,
            matchups: &[],
            ratings: &[],
            updated: &updated,
            coverage: experience.archive.coverage(self.parameters.archive.cells),
            cells_per_problem: experience.cells_per_problem(),
            qd_score: experience.archive.qd_score(LOWEST_OBJECTIVE),
            births: 0,
            pool_size: experience.pool.len(&problems.types),
            archive_insertions,
            warms_up: run.stage == WARM_UP,
        };
        let member = self.scene.draft.members.first();
        let records = tally.records(member.map(|member| (0, Role::Proposer, member.id(run.run))));
        self.scene.draft.plan.records.metrics.extend(records);
        self.memory.members = std::mem::take(&mut self.scene.draft.members);
        let stage = WarmUp::next_stage(self.parameters.warm_up, run, judged, practice);
        Ok(run.next(stage, &self.memory)?)
    }

    /// The practice problems of all types.
    pub(super) fn practised(&self) -> Vec<ProblemId> {
        let types = self.parameters.problems.types.iter();
        types.flat_map(|kind| self.practised_of(*kind)).collect()
    }

    /// Problems of the last steps (`max_new` in the released code), chosen at random if there are too many; the rest of
    /// the batch comes from the whole buffer. A young buffer may have fewer than a batch.
    fn practised_of(&self, kind: ProblemKind) -> Vec<ProblemId> {
        let batch = self.parameters.batch as usize;
        let run = self.scene.draft.run;
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

    /// The step's one batch: proposals and practice of all types, whitened by role and type (TRR++, Eq. 8).
    fn learner(&self, judged: &[(Judged, f32)], practice: &[Attempt]) -> Learner {
        let draft = &self.scene.draft;
        let learns = |role: Role| !self.parameters.frozen.contains(&role);
        let proposals = judged.iter().filter(|_| learns(Role::Proposer));
        let proposals = proposals.map(|(judged, reward)| ((Role::Proposer, judged.kind), &judged.sample, *reward));
        let attempts = practice.iter().filter(|_| learns(Role::Solver));
        let attempts = attempts.map(|attempt| ((Role::Solver, attempt.kind), &attempt.sample, attempt.reward));
        let batch = (0..).zip(proposals.chain(attempts));
        let (mut tasks, sequences): (Vec<_>, Vec<Sequence>) = batch
            .map(|(group, (task, sample, reward))| {
                let sequence = sample.sequence(reward, group);
                ((task, sequence.sampled), sequence)
            })
            .unzip();
        let name = draft.members.first().map_or("", |member| &member.name);
        self.parameters.learning.alter(&mut tasks, draft.run, name);
        Learner {
            advantages: task_relative_reinforce_plus_plus(&tasks, self.parameters.whitening),
            sequences,
            ..Learner::default()
        }
    }
}
