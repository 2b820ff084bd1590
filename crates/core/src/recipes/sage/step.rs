//! A step: the phases in the paper's order (Algorithm 1).

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Parameters,
    memory::Memory,
    metrics::{Outcomes, records},
    task::Task,
};
use crate::{
    contract::{PlanError, Role, RunState, StepView},
    kit::{Draft, Progress, mathematics::prompt_error},
    prompt::PromptSet,
};

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
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let mut memory: Memory = run.memory()?;
        let draft = Draft::new(run, view, std::mem::take(&mut memory.members));
        let players = draft.members.iter().enumerate().flat_map(|(place, member)| {
            let roles = member.roles.iter();
            roles.map(move |role| (*role, place))
        });
        Ok(Self {
            players: players.collect(),
            prompts: view.once("prompts", || {
                PromptSet::compile(&parameters.prompts).map_err(prompt_error)
            })?,
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
        let joined = candidates.iter().filter_map(|candidate| candidate.joins.clone());
        let joined: Vec<Arc<Task>> = joined.collect();
        let solved = self.plan_and_solve(&joined)?;
        let updated = self.update(&candidates, &solved)?;
        let outcomes = Outcomes {
            candidates: &candidates,
            solved: &solved,
            updated: &updated,
        };
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
}
