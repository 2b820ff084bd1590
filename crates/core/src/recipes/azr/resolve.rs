//! Checks a config and fills in its defaults.

use super::Parameters;
use crate::{
    config::{RunConfig, pointer_token},
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
    let types = u32::try_from(parameters.problems.types.len()).unwrap_or(u32::MAX);
    faults.extend(
        parameters
            .groups()
            .faults(&config, parameters.batch.saturating_mul(types)),
    );
    faults.extend(single_population_fault(&config));
    faults.extend(population_faults(&config));
    for (name, population) in &config.populations {
        let place = format!("/populations/{}/members", pointer_token(name));
        let mut roles: Vec<Role> = population
            .members
            .iter()
            .flat_map(|group| group.roles.clone())
            .collect();
        roles.sort_unstable();
        let count: u32 = population.members.iter().map(|group| group.count).sum();
        if roles != [Role::Proposer, Role::Solver] || count != 1 || population.members.len() != 1 {
            let detail = "one member that plays both roles is valid: roles = [\"proposer\", \"solver\"], count = 1";
            faults.push(Fault::new(place, detail));
        }
    }
    let all = parameters.batch.saturating_mul(types);
    if all > MOST_PROPOSALS {
        let detail = format!("{all} proposals a step are too many: {MOST_PROPOSALS} over all types are valid");
        faults.push(Fault::new("/parameters/batch", detail));
    }
    faults.extend(frozen_faults(&parameters.frozen, &[Role::Proposer, Role::Solver]));
    Faults(faults).or(())?;
    config.parameters = written_out(&parameters)?;
    Ok(config)
}
