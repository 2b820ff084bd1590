//! Checking a config, and writing its defaults out.

use super::Parameters;
use crate::{
    benchmark::PromptStyle,
    config::{RunConfig, pointer_token},
    contract::Role,
    fault::{Fault, Faults},
    kit::{population_faults, read_parameters, sampling_faults, single_population_fault, written_out},
    work::Compute,
};

pub(super) fn resolve(mut config: RunConfig) -> Result<RunConfig, Faults> {
    let parameters: Parameters = read_parameters(&config)?;
    let mut faults = population_faults(&config);
    faults.extend(single_population_fault(&config));
    faults.extend(role_faults(&config));
    let members = config.populations.values().flat_map(|of| &of.members);
    let members: u32 = members.map(|group| group.count).sum();
    faults.extend(parameters.faults("/parameters", members, config.compute));
    Faults(faults).or(())?;
    config.parameters = written_out(&parameters)?;
    Ok(config)
}

impl Parameters {
    /// Faults of these parameters, whose pointer in the config is `at`, for this many members that learn.
    pub(crate) fn faults(&self, at: &str, members: u32, compute: Compute) -> Vec<Fault> {
        let mut faults = self.dataset.faults(&format!("{at}/dataset"));
        let mut fault = |pointer: &str, detail: String| faults.push(Fault::new(format!("{at}/{pointer}"), detail));
        if let Err(unknown) = PromptStyle::shipped(&self.prompts) {
            fault("prompts", unknown.to_string());
        }
        let slices = if self.slices { members.max(1) } else { 1 };
        // Where all rows of a dataset are used, their number is known only when the config is submitted.
        let rows = self.learned_rows().map(|rows| rows / slices);
        if let Some(detail) = held_out_fault(self, slices) {
            fault("held_out/rows", detail);
        } else if let Some(rows) = rows.filter(|rows| self.batch > *rows) {
            let detail = format!(
                "{} is more than the {rows} rows that a member learns from: 1 to {rows} is valid, or a larger dataset",
                self.batch
            );
            fault("batch", detail);
        }
        if let Some(held_out) = self.held_out
            && held_out.n > 1
            && held_out.temperature == Some(0.0)
        {
            let detail = format!(
                "{} answers at temperature 0 would all be the same: 1 is valid, or a higher `temperature`",
                held_out.n
            );
            fault("held_out/n", detail);
        }
        if self.n < 2 && self.advantages.estimator.needs_groups() {
            let detail = "1 answer is not a group to compare with: at least 2 is valid, or an estimator without groups, such as \
                          `reinforce_plus_plus`";
            fault("n", detail.to_owned());
        }
        faults.extend(sampling_faults(&format!("{at}/sampling"), &self.sampling, true));
        let sequences = self.batch.saturating_mul(self.n);
        faults.extend(self.learning.faults(&format!("{at}/learning"), sequences));
        faults.extend(self.items.faults(&format!("{at}/items"), compute, &[&self.learning]));
        faults
    }
}

/// The fault of held-out rows that leave members less than a batch, though all rows would be enough.
fn held_out_fault(parameters: &Parameters, slices: u32) -> Option<String> {
    let (rows, left) = (parameters.dataset.rows?, parameters.learned_rows()?);
    let held_out = parameters.held_out?.rows;
    let needed = parameters.batch.saturating_mul(slices);
    let most = rows.checked_sub(needed).filter(|_| left < needed)?;
    let valid = match most {
        0 => "none can be held out".to_owned(),
        most => format!("1 to {most} is valid"),
    };
    Some(format!(
        "{held_out} of {rows} rows leave {left} to learn from, and a step needs {needed}: {valid} with this `batch`, more with \
         a smaller one or a larger dataset"
    ))
}

fn role_faults(config: &RunConfig) -> Vec<Fault> {
    let groups = config.populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter().enumerate();
        groups.map(move |(index, group)| (name, index, group))
    });
    let wrong = groups.filter(|(_, _, group)| group.roles != [Role::Solver]);
    let fault = |(name, index, _): (&String, usize, _)| {
        let place = format!("/populations/{}/members/{index}/roles", pointer_token(name));
        Fault::new(place, "[\"solver\"] is valid: every member answers rows of the dataset")
    };
    wrong.map(fault).collect()
}
