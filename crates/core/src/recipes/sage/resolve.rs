//! Checks a config and fills in its defaults.

use super::{
    Parameters, ROLES,
    format::{is_needed, templates},
};
use crate::{
    config::RunConfig,
    contract::Role,
    fault::{Fault, Faults},
    kit::{
        frozen_faults,
        players::{groups, player_faults},
        population_faults, read_parameters,
        room::room_fault,
        sampling_faults, single_population_fault, written_out,
    },
    work::Sampling,
};

pub(super) fn resolve(mut config: RunConfig) -> Result<RunConfig, Faults> {
    let mut parameters: Parameters = read_parameters(&config)?;
    let mut faults = population_faults(&config);
    faults.extend(single_population_fault(&config));
    faults.extend(role_faults(&config, parameters.planning));
    let (planning, has_code) = (parameters.planning, parameters.code.is_some());
    let prompts = parameters.prompts.clone();
    match prompts.resolve_for("/parameters/prompts", &templates(), |template| {
        is_needed(template, planning, has_code)
    }) {
        Ok(prompts) => parameters.prompts = prompts,
        Err(found) => faults.extend(found),
    }
    faults.extend(parameters.own_faults(&config));
    Faults(faults).or(())?;
    config.parameters = written_out(&parameters)?;
    Ok(config)
}

impl Parameters {
    fn own_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = self.dataset.faults("/parameters/dataset");
        faults.extend(self.rewards.faults("/parameters/rewards"));
        faults.extend(frozen_faults(&self.frozen, &ROLES));
        let sampling = &self.sampling;
        for (field, sampling, role) in [
            ("challenge", &sampling.challenge, Role::Challenger),
            ("plan", &sampling.plan, Role::Planner),
            ("solve", &sampling.solve, Role::Solver),
        ] {
            let pointer = format!("/parameters/sampling/{field}");
            faults.extend(sampling_faults(&pointer, sampling, self.learns(role)));
        }
        faults.extend(self.critique_faults());
        faults.extend(self.room_faults(config));
        let sequences = config.populations.values().flat_map(|population| &population.members);
        let sequences = sequences.map(|group| self.sequences(&group.roles));
        let least = sequences.filter(|count| *count > 0).min().unwrap_or(u32::MAX);
        faults.extend(self.learning.faults("/parameters/learning", least));
        faults.extend(
            self.items
                .faults("/parameters/items", config.compute, &[&self.learning]),
        );
        faults
    }

    /// Faults of tasks and plans that leave no room for what answers them.
    fn room_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let sampling = &self.sampling;
        let challenge = ("sampling.challenge", &sampling.challenge);
        let plan = ("sampling.plan", &sampling.plan);
        let (solve, critique) = (
            ("sampling.solve", &sampling.solve),
            ("sampling.critique", &sampling.critique),
        );
        let (alone, planned) = (vec![challenge], vec![challenge, plan]);
        let chains = match self.planning {
            true => vec![
                (challenge, &alone),
                (plan, &alone),
                (solve, &planned),
                (critique, &planned),
            ],
            false => vec![(challenge, &alone), (solve, &alone), (critique, &alone)],
        };
        let bases = config
            .populations
            .values()
            .map(|population| population.base_model.name.as_str());
        let of_base = |base| {
            chains
                .iter()
                .filter_map(move |(answers, shown)| room_fault(base, *answers, shown))
        };
        bases.flat_map(of_base).collect()
    }

    /// A critic that does not learn may be deterministic (Eq. 12), since each of its prompts has one answer only.
    fn critique_faults(&self) -> Vec<Fault> {
        let sampling = &self.sampling.critique;
        let learns = self.learns(Role::Critic);
        let is_greedy = sampling.temperature == 0.0;
        let checked = Sampling {
            temperature: if is_greedy { 1.0 } else { sampling.temperature },
            ..sampling.clone()
        };
        let mut faults = sampling_faults("/parameters/sampling/critique", &checked, learns);
        if is_greedy && learns {
            let detail = "a critic that learns must explore: 1 is valid, or `critic` among the `frozen` roles";
            faults.push(Fault::new("/parameters/sampling/critique/temperature", detail));
        }
        faults
    }

    /// The sequences that a member with these roles learns from in every step, at least.
    fn sequences(&self, roles: &[Role]) -> u32 {
        let of_role = |role: &Role| match role {
            Role::Challenger => self.challenges,
            Role::Planner if self.planning => self.tasks,
            Role::Solver => self.tasks,
            // Critics score only what can be read.
            _ => 0,
        };
        let learned = roles.iter().filter(|role| self.learns(**role));
        learned.map(of_role).fold(0, u32::saturating_add)
    }
}

/// Every role is played by one member, and without `planning` nobody is idle.
fn role_faults(config: &RunConfig, planning: bool) -> Vec<Fault> {
    let mut faults = player_faults(config, &ROLES, |role| planning || role != Role::Planner);
    let groups = groups(config).into_iter();
    for (place, _) in groups.filter(|(_, group)| !planning && group.roles == [Role::Planner]) {
        let detail =
            "without `planning` this member has nothing to do: remove it, or set `parameters.planning` to true";
        faults.push(Fault::new(format!("{place}/roles"), detail));
    }
    faults
}
