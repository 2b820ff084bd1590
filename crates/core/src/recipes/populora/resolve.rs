//! Checks a config and fills in its defaults.

use super::Parameters;
use crate::{
    config::RunConfig,
    contract::Role,
    fault::{Fault, Faults},
    kit::{
        code::{MOST_PROPOSALS, resolve_prompts},
        frozen_faults, population_faults, read_parameters, single_population_fault, written_out,
    },
};

pub(super) fn resolve(mut config: RunConfig) -> Result<RunConfig, Faults> {
    let mut parameters: Parameters = read_parameters(&config)?;
    let mut faults = resolve_prompts(&mut parameters.prompts, &parameters.problems.types);
    let batch = parameters
        .prompts_per_matchup
        .saturating_mul(parameters.proposals_per_prompt);
    faults.extend(parameters.groups().faults(&config, batch));
    faults.extend(single_population_fault(&config));
    faults.extend(population_faults(&config));
    faults.extend(role_faults(&config));
    faults.extend(parameters.rating.faults("/parameters/rating"));
    let smallest = [Role::Teacher, Role::Student].map(|role| count(&config, role));
    let smallest = smallest.into_iter().filter(|size| *size > 1).min();
    let ranks = config.populations.values().map(|population| population.lora.r);
    let rank = ranks.min().unwrap_or(u32::MAX);
    let rate = parameters.learning.optimizer.learning_rate;
    let place = "/parameters/evolution";
    faults.extend(parameters.evolution.faults(place, smallest, rank, rate));
    let types = u32::try_from(parameters.problems.types.len())
        .unwrap_or(u32::MAX)
        .max(1);
    if !parameters.prompts_per_matchup.is_multiple_of(types) {
        let detail = format!(
            "{} prompts cannot be split equally over {types} types: a multiple of {types} is valid",
            parameters.prompts_per_matchup
        );
        faults.push(Fault::new("/parameters/prompts_per_matchup", detail));
    }
    let all = u64::from(batch) * count(&config, Role::Teacher) as u64;
    if all > u64::from(MOST_PROPOSALS) {
        let detail = format!("{all} proposals a step are too many: {MOST_PROPOSALS} over all teachers are valid");
        faults.push(Fault::new("/parameters/prompts_per_matchup", detail));
    }
    faults.extend(frozen_faults(&parameters.frozen, &[Role::Teacher, Role::Student]));
    Faults(faults).or(())?;
    config.parameters = written_out(&parameters)?;
    Ok(config)
}

/// There must be either teachers and students, or one member that is both.
fn role_faults(config: &RunConfig) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, population) in &config.populations {
        let place = format!("/populations/{}/members", crate::config::pointer_token(name));
        let mut both = 0;
        for (index, group) in population.members.iter().enumerate() {
            let mut roles = group.roles.clone();
            roles.sort_unstable();
            match &roles[..] {
                [Role::Teacher] | [Role::Student] => {}
                [Role::Teacher, Role::Student] => both += group.count,
                _ => faults.push(Fault::new(
                    format!("{place}/{index}/roles"),
                    "[\"teacher\"], [\"student\"] or, for the single-agent baseline, [\"teacher\", \"student\"] is valid",
                )),
            }
        }
        let all: u32 = population.members.iter().map(|group| group.count).sum();
        if both > 0 && all != 1 {
            let detail = format!("a member in both roles plays alone: {all} members are too many, 1 is valid");
            faults.push(Fault::new(place.clone(), detail));
        }
        if faults.is_empty() && (count(config, Role::Teacher) == 0 || count(config, Role::Student) == 0) {
            faults.push(Fault::new(place, "there must be a teacher and a student"));
        }
    }
    faults
}

fn count(config: &RunConfig, role: Role) -> usize {
    let groups = config.populations.values().flat_map(|population| &population.members);
    let playing = groups.filter(|group| group.roles.contains(&role));
    playing.map(|group| group.count as usize).sum()
}
