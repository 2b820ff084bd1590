//! Checks a config and fills in its defaults.

use super::Parameters;
use super::proposer::{TEMPLATES, reads};
use crate::config::{PopulationConfig, RunConfig, pointer_token};
use crate::contract::Role;
use crate::fault::Fault;
use crate::kit::room::room_fault;
use crate::kit::{population_faults, sampling_faults};
use crate::work::Sampler;

/// The most proposals of a step whose wordings are compared.
pub(super) const MOST_COMPARED: u32 = 8192;

pub(super) fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = population_faults(config);
    faults.extend(role_faults(config));
    match parameters.prompts.clone().resolve_for("/parameters/prompts", &TEMPLATES, |_| true, &reads) {
        Ok(prompts) => parameters.prompts = prompts,
        Err(found) => faults.extend(found),
    }
    faults.extend(parameters.own_faults(config));
    faults.extend(parameters.stages().settle(config).err());
    faults
}

impl Parameters {
    fn own_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let Self { proposer, curriculum, solver, vote, uncertainty, vocabulary_dropout, items, .. } = self;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if vote.samples < 2 {
            let detail = "1 answer is always the majority: at least 2 is valid".to_owned();
            fault("vote/samples", detail);
        }
        for (stage, n) in [("proposer", proposer.n), ("solver", solver.n)] {
            if n < 2 && self.advantages.estimator.needs_groups() {
                let detail = "1 sample is not a group to compare with: at least 2 is valid, or an estimator without groups, \
                              such as `reinforce_plus_plus`";
                fault(&format!("{stage}/n"), detail.to_owned());
            }
        }
        let proposals = proposer.prompts.saturating_mul(proposer.n);
        if proposals > MOST_COMPARED && uncertainty.repetition.weight > 0.0 {
            let detail = format!(
                "{} prompts with {} proposals each are too many to compare their wordings: {MOST_COMPARED} proposals are \
                 valid, or 0 as `uncertainty.repetition.weight`",
                proposer.prompts, proposer.n
            );
            fault("proposer/prompts", detail);
        }
        faults.extend(uncertainty.band.fault("/parameters/uncertainty/band"));
        faults.extend(curriculum.band.fault("/parameters/curriculum/band"));
        let observer = self.diversity.epiplexity.as_ref();
        faults.extend(observer.and_then(|observer| observer.fault("/parameters/diversity/epiplexity")));
        if let Some(dropout) = vocabulary_dropout {
            let bases: Vec<&str> = config.populations.values().map(|of| of.base_model.name.as_str()).collect();
            faults.extend(dropout.faults("/parameters/vocabulary_dropout", &bases));
            if config.compute.sampler == Sampler::Served {
                let detail = "a served sampler (`compute.sampler`) has no vocabulary dropout, since vLLM reports either the \
                              model's log-probabilities or those of the masked distribution, and both are needed: remove \
                              it, or use the sampler `engine`";
                faults.push(Fault::new("/parameters/vocabulary_dropout", detail));
            }
        }
        for (group, sampling, learns) in [
            ("proposer", &proposer.sampling, true),
            ("curriculum", &curriculum.sampling, false),
            ("vote", &vote.sampling, false),
            ("solver", &solver.sampling, true),
        ] {
            faults.extend(sampling_faults(&format!("/parameters/{group}/sampling"), sampling, learns));
        }
        faults.extend(self.room_faults(config));
        let compute = config.compute;
        let pointer = "/parameters/proposer/learning";
        faults.extend(proposer.learning.faults(pointer, proposals, compute, &[&proposer.sampling]));
        // A step with fewer questions has as many fewer minibatches.
        let answers = solver.questions.saturating_mul(solver.n);
        faults.extend(solver.learning.faults("/parameters/solver/learning", answers, compute, &[&solver.sampling]));
        let lessons = [&proposer.learning, &solver.learning];
        faults.extend(items.faults("/parameters/items", config.compute, &lessons));
        faults
    }

    /// Faults of questions that leave no room for an answer.
    fn room_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let proposed = ("proposer.sampling", &self.proposer.sampling);
        let posed = ("curriculum.sampling", &self.curriculum.sampling);
        let voted = ("vote.sampling", &self.vote.sampling);
        let solved = ("solver.sampling", &self.solver.sampling);
        let plays = |population: &&PopulationConfig| {
            let mut groups = population.members.iter();
            groups.any(|group| group.roles.contains(&Role::Solver))
        };
        let Some(solvers) = config.populations.values().find(plays) else { return Vec::new() };
        let chains = [(voted, proposed), (voted, posed), (solved, posed)];
        let faults = chains.map(|(answers, shown)| room_fault(&solvers.base_model.name, answers, &[shown]));
        faults.into_iter().flatten().collect()
    }
}

/// Every member has one role, both roles are played, and the members of a role share a base.
fn role_faults(config: &RunConfig) -> Vec<Fault> {
    let mut faults = Vec::new();
    if config.populations.len() > 2 {
        let names: Vec<&str> = config.populations.keys().map(String::as_str).collect();
        let detail = format!(
            "1 population, or one of proposers and one of solvers, is valid, not {} ({})",
            names.len(),
            names.join(", ")
        );
        return vec![Fault::new("/populations", detail)];
    }
    for role in [Role::Proposer, Role::Solver] {
        let mut homes = Vec::new();
        for (name, population) in &config.populations {
            let groups = &population.members;
            if groups.iter().any(|group| group.count > 0 && group.roles == [role]) {
                homes.push(name.as_str());
            }
        }
        match homes[..] {
            [] => {
                let detail = format!("nobody plays {0}: add a member with roles = [\"{0}\"]", role.name());
                faults.push(Fault::new("/populations", detail));
            }
            [_] => {}
            [_, other, ..] => {
                let detail = format!(
                    "{}s are in several populations ({}): they must share a base, so one population is valid",
                    role.name(),
                    homes.join(", ")
                );
                let place = format!("/populations/{}/members", pointer_token(other));
                faults.push(Fault::new(place, detail));
            }
        }
    }
    for (name, population) in &config.populations {
        for (index, group) in population.members.iter().enumerate() {
            if group.roles != [Role::Proposer] && group.roles != [Role::Solver] {
                let place = format!("/populations/{}/members/{index}/roles", pointer_token(name));
                let detail = "[\"proposer\"] or [\"solver\"] is valid: a member has one role";
                faults.push(Fault::new(place, detail));
            }
        }
    }
    faults
}
