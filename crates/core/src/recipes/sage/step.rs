//! A step: the phases in the paper's order (Algorithm 1).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Parameters;
use super::admit::Candidate;
use super::metrics::{Outcomes, records};
use super::solve::Solved;
use super::task::{Memory, Task};
use crate::advantage::{AdvantageConfig, Estimator, Sampled};
use crate::contract::{PlanError, Role, RunState, StepView};
use crate::kit::judge::prompt_error;
use crate::kit::{Draft, Learner, Lesson, Progress, Sequence};
use crate::prompt::PromptSet;
use crate::work::MemberUpdated;

/// A step being planned.
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) memory: Memory,
    pub(super) prompts: Arc<PromptSet>,
    /// The member that plays each role: a position.
    players: BTreeMap<Role, usize>,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        run: &'a RunState,
        view: &'a StepView,
        parameters: &'a Parameters,
        mut memory: Memory,
    ) -> Result<Self, PlanError> {
        let draft = Draft::new(run, view, std::mem::take(&mut memory.members));
        let players = draft.members.iter().enumerate().flat_map(|(place, member)| {
            let roles = member.roles.iter();
            roles.map(move |role| (*role, place))
        });
        Ok(Self {
            players: players.collect(),
            prompts: view.once("prompts", || PromptSet::compile(&parameters.prompts).map_err(prompt_error))?,
            draft,
            parameters,
            memory,
        })
    }

    /// Challenge → critique → check → estimate → admit; plan → critique → gate → solve → grade; one update of all roles.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.draft.born()?;
        let candidates = self.challenge_phase()?;
        self.admit(&candidates);
        let joined: Vec<Arc<Task>> = candidates.iter().filter_map(|candidate| candidate.joins.clone()).collect();
        let solved = self.plan_and_solve(&joined)?;
        let updated = self.update(&candidates, &solved)?;
        let outcomes = Outcomes { candidates: &candidates, solved: &solved, updated: &updated };
        let metrics = records(self, outcomes)?;
        self.draft.plan.records.metrics = metrics;
        self.memory.members = std::mem::take(&mut self.draft.members);
        Ok(self.draft.run.next("", &self.memory)?)
    }

    /// The position of the member that plays `role`.
    pub(super) fn player(&self, role: Role) -> Result<usize, PlanError> {
        let nobody = || PlanError::Other(format!("nobody plays {}", role.name()));
        self.players.get(&role).copied().ok_or_else(nobody)
    }

    /// Updates the members, each from what it said in all of its roles that learn; returns once they are updated. Rewards
    /// are whitened within each role (task-relative REINFORCE++, Eq. 1).
    pub(super) fn update(&mut self, candidates: &[Candidate], solved: &[Solved]) -> Progress<Vec<&'a MemberUpdated>> {
        let parameters = self.parameters;
        let mut lessons = lessons(candidates, solved);
        lessons.retain(|(role, _)| parameters.learns(*role));
        let members = 0..self.draft.members.len();
        let learners: Vec<Learner> = members.map(|member| self.learner(member, &lessons)).collect();
        let lesson = Lesson { learning: &parameters.learning, items: &parameters.items };
        let updated = self.draft.update(lesson, &learners)?;
        self.draft.adopt(&updated);
        Ok(updated)
    }

    fn learner(&self, place: usize, lessons: &[(Role, Sequence)]) -> Learner {
        let member = &self.draft.members[place];
        let own: Vec<&(Role, Sequence)> = lessons.iter().filter(|(role, _)| member.plays(*role)).collect();
        let mut batch: Vec<(Role, Sampled)> = own.iter().map(|(role, sequence)| (*role, sequence.sampled)).collect();
        let parameters = self.parameters;
        parameters.learning.alter(&mut batch, self.draft.run, &member.name);
        let advantages = AdvantageConfig {
            estimator: Estimator::TaskRelativeReinforcePlusPlus,
            whitening: parameters.whitening,
            ..AdvantageConfig::default()
        };
        Learner {
            member: place,
            advantages: advantages.advantages(&batch),
            sequences: own.into_iter().map(|(_, sequence)| sequence.clone()).collect(),
            ..Learner::default()
        }
    }
}

/// What each role said, in order.
pub(super) fn lessons(candidates: &[Candidate], solved: &[Solved]) -> Vec<(Role, Sequence)> {
    let planned = || solved.iter().filter_map(|solved| solved.planned.as_ref());
    let questions = candidates.iter().filter_map(|candidate| candidate.critique.as_ref());
    let critiques = questions.chain(planned().filter_map(|planned| planned.critique.as_ref()));
    let challenges = candidates.iter().map(|candidate| (Role::Challenger, &candidate.sequence));
    let said = challenges
        .chain(planned().map(|planned| (Role::Planner, &planned.sequence)))
        .chain(solved.iter().map(|solved| (Role::Solver, &solved.sequence)))
        .chain(critiques.map(|critique| (Role::Critic, &critique.sequence)));
    said.map(|(role, sequence)| (role, sequence.clone())).collect()
}
