//! Checks a config and fills in its defaults.

use super::{
    Axis, Parameters, ROLES, size,
    templates::{is_needed, templates},
};
use crate::{
    config::RunConfig,
    dataset::Purpose,
    fault::{Fault, Faults},
    kit::{
        code::context_faults, players::player_faults, population_faults, read_parameters, single_population_fault,
        written_out,
    },
    prompt::PromptSet,
    recipes::rlvr,
    work::Compute,
};

pub(super) fn resolve(mut config: RunConfig) -> Result<RunConfig, Faults> {
    let mut parameters: Parameters = read_parameters(&config)?;
    let mut faults = population_faults(&config);
    faults.extend(single_population_fault(&config));
    faults.extend(player_faults(&config, &ROLES, |_| true));
    let Parameters { axes, lifts, .. } = &parameters;
    let prompts = parameters.prompts.clone();
    let needed = |template: &_| is_needed(template, axes, *lifts);
    match prompts.resolve_for("/parameters/prompts", &templates(), needed) {
        Ok(prompts) => parameters.prompts = prompts,
        Err(found) => faults.extend(found),
    }
    faults.extend(parameters.own_faults(&config));
    faults.extend(parameters.stages().settle(&mut config).err());
    Faults(faults).or(())?;
    config.parameters = written_out(&parameters)?;
    Ok(config)
}

impl Parameters {
    fn own_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = self.goalposts.faults_for(Purpose::Goalposts, "/parameters/goalposts");
        faults.extend(self.lemma.learnability().faults("/parameters/lemma"));
        faults.extend(self.lift.learnability().faults("/parameters/lift"));
        if self.axes.iter().any(|axis| count(&self.axes, *axis) > 1) {
            faults.push(Fault::new(
                "/parameters/axes",
                "an axis is listed twice: list `io`, `f` or both",
            ));
        }
        if self.shown >= self.pairs {
            let detail = format!(
                "{} of {} pairs would leave none to judge answers by: 1 to {} is valid",
                self.shown,
                self.pairs,
                self.pairs.saturating_sub(1)
            );
            faults.push(Fault::new("/parameters/shown", detail));
        }
        if let Some(real_data) = &self.real_data {
            faults.extend(real_data_faults(real_data, config.compute));
        }
        faults.extend(self.sampling.faults([true, true]));
        let limit = ("max_prompt_bytes", self.max_prompt_bytes);
        faults.extend(context_faults(config, limit, &self.sampling));
        if let Ok(prompts) = PromptSet::compile(&self.prompts) {
            faults.extend(size::faults(&prompts, self));
        }
        // Stages may accept nothing, so there is no least number of sequences.
        faults.extend(self.learning.faults("/parameters/learning", u32::MAX));
        faults.extend(
            self.items
                .faults("/parameters/items", config.compute, &[&self.learning]),
        );
        faults
    }
}

fn count(axes: &[Axis], axis: Axis) -> usize {
    axes.iter().filter(|known| **known == axis).count()
}

fn real_data_faults(real_data: &rlvr::Parameters, compute: Compute) -> Vec<Fault> {
    let mut faults = real_data.faults("/parameters/real_data", 1, compute);
    if real_data.held_out.is_some() {
        let detail = "this recipe measures no rows of its real data: remove it, and measure on `benchmarks`";
        faults.push(Fault::new("/parameters/real_data/held_out", detail));
    }
    if real_data.slices {
        let detail = "one student learns from all rows: false is valid";
        faults.push(Fault::new("/parameters/real_data/slices", detail));
    }
    faults
}
