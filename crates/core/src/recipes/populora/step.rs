//! A step of PopuLoRA (section 3.3).

use std::sync::Arc;

use super::{Parameters, finish::Outcome, memory::Memory};
use crate::{
    contract::{PlanError, Role, RunState, StepView},
    kit::{
        Lesson, Progress, both,
        code::{Ask, Judged, Scene},
        join,
    },
    rating::Rating,
    reward::teacher_reward,
    work::MemberUpdated,
};

/// The paper's phases, in order.
pub(super) struct Step<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
}

impl<'a> Step<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let mut memory = Memory::clone(&*view.once("memory", || run.memory::<Memory>())?);
        let mut members = std::mem::take(&mut memory.members);
        let configured = parameters.learning.optimizer.learning_rate;
        for member in &mut members {
            member.learning_rate = parameters.evolution.learning_rate.of(member.learning_rate, configured);
        }
        Ok(Self {
            scene: Scene::new(run, view, parameters.groups(), members)?,
            parameters,
            memory,
        })
    }

    /// Pair → propose → check → solve → grade → rate → update → evolve.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        let matches = self.pair();
        self.begin(&matches)?;
        let asks = self.asks(&matches)?;
        let judged = self.propose_and_solve(&asks)?;
        let matchups = self.rate(&matches, &judged);
        let archive_insertions = self.scene.illuminate(&mut self.memory.experience, &judged);
        let (crossed, updated) = (self.cross_play(&judged), self.update(&judged));
        let ((), updated) = both(crossed, updated)?;
        let players = self.players();
        self.scene.draft.adopt(&updated);
        let births = self.evolve()?;
        self.finish(&Outcome {
            judged: &judged,
            matchups: &matchups,
            players,
            updated: &updated,
            archive_insertions,
            births,
        })
    }

    /// Every proposal with its attempts and its reward (Eq. 2), by index. Chunks are checked and solved while others
    /// are still being proposed.
    fn propose_and_solve(&mut self, asks: &[Ask]) -> Progress<Arc<Vec<(Judged, f32)>>> {
        let Parameters {
            items,
            proposals_per_prompt: each,
            samples_per_problem: samples,
            ..
        } = self.parameters;
        let scene = &mut self.scene;
        scene.draft.view.once("judged", || {
            let chunks = (0..).zip(asks.chunks(items.propose as usize));
            let chunks = join(chunks, |(chunk, asks)| {
                let proposed = scene.propose(chunk, asks, *each)?;
                let problems = scene.check(chunk, asks, *each, proposed)?;
                join(scene.parts(chunk, &problems, *each), |part| {
                    let exam = part.exam(*samples, Role::Student, true);
                    let solved = scene.solve(&exam)?;
                    let graded = scene.grade(&exam, solved)?;
                    scene.reward(part, &graded, teacher_reward)
                })
            })?;
            Ok(chunks.iter().flatten().flat_map(|part| part.iter().cloned()).collect())
        })
    }

    /// Updates all adapters (phase 4), each from its own batch.
    fn update(&mut self, judged: &[(Judged, f32)]) -> Progress<Vec<&'a MemberUpdated>> {
        let lesson = Lesson {
            learning: &self.parameters.learning,
            items: &self.parameters.items,
        };
        let learners = self.learners(judged);
        self.scene.draft.update(lesson, &learners)
    }

    /// The rating of a member in a role.
    pub(super) fn rating(&self, place: usize, role: Role) -> Rating {
        let draft = &self.scene.draft;
        let member = draft.members[place].id(draft.run.run);
        self.memory.ratings.ratings.get(member, role, &self.parameters.rating)
    }
}
