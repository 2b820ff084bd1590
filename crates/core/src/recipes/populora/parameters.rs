//! Parameters of a PopuLoRA run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::advantage::Whitening;
use crate::archive::ArchiveConfig;
use crate::config::RunConfig;
use crate::contract::Role;
use crate::evolution::EvolutionConfig;
use crate::fault::Fault;
use crate::kit::code::{Groups, MOST_PROPOSALS, ProblemConfig, WarmUp, resolve_prompts};
use crate::kit::config::{MAX_BATCH, MAX_SAMPLES};
use crate::kit::{
    ItemConfig, LearningConfig, SamplingConfig, frozen_faults, population_faults, single_population_fault,
};
use crate::prompt::PromptConfig;
use crate::rating::{MatchupScore, TrueSkillConfig};

/// Parameters of a PopuLoRA run. Defaults are the paper's, and those of Absolute Zero's code where the paper gives
/// none; `docs/DEVIATIONS.md` lists the choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The prompts, and how completions are read.
    pub prompts: PromptConfig,
    /// The problems and where they are kept.
    pub problems: ProblemConfig,
    /// Prompts for proposals per teacher and step, split equally over the types.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub prompts_per_matchup: u32,
    /// Proposals per prompt. With 1, the group's baseline is 0 and rewards are centred only over the batch.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub proposals_per_prompt: u32,
    /// Attempts by the matched student at each valid problem.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub samples_per_problem: u32,
    /// How completions are sampled.
    pub sampling: SamplingConfig,
    /// How members learn.
    pub learning: LearningConfig,
    /// What advantages are whitened over, within each member's own batch.
    pub whitening: Whitening,
    /// First steps that reward only form; left out, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// Roles that play but do not learn, as a control.
    pub frozen: Vec<Role>,
    /// What decides a matchup.
    pub matchup_score: MatchupScore,
    /// How ratings are updated.
    pub rating: TrueSkillConfig,
    /// When and how the population evolves.
    pub evolution: EvolutionConfig,
    /// Steps between two full cross-evaluations, in which every student attempts every teacher's problems; only
    /// attempts at the matched teacher's problems are learned from. 0 disables them.
    pub cross_play_every: u32,
    /// Attempts by each student at each problem of a cross-evaluation.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub cross_play_samples: u32,
    /// The map of the problem space.
    pub archive: ArchiveConfig,
    /// How a step is divided into work items.
    pub items: ItemConfig,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            prompts: PromptConfig::default(),
            problems: ProblemConfig::default(),
            prompts_per_matchup: 9,
            proposals_per_prompt: 8,
            samples_per_problem: 8,
            sampling: SamplingConfig::default(),
            learning: LearningConfig::default(),
            whitening: Whitening::Sequence,
            warm_up: None,
            frozen: Vec::new(),
            matchup_score: MatchupScore::default(),
            rating: TrueSkillConfig::default(),
            evolution: EvolutionConfig::default(),
            cross_play_every: 0,
            cross_play_samples: 8,
            archive: ArchiveConfig::default(),
            items: ItemConfig::default(),
        }
    }
}

impl Parameters {
    /// The parameter groups shared by recipes of code problems.
    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups {
            prompts: &self.prompts,
            problems: &self.problems,
            sampling: &self.sampling,
            learning: &self.learning,
            items: &self.items,
            archive: &self.archive,
            learns: [Role::Teacher, Role::Student].map(|role| !self.frozen.contains(&role)),
        }
    }
}

pub(super) fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = resolve_prompts(&mut parameters.prompts, &parameters.problems.types);
    let batch = parameters.prompts_per_matchup.saturating_mul(parameters.proposals_per_prompt);
    faults.extend(parameters.groups().faults(config, batch));
    faults.extend(single_population_fault(config));
    faults.extend(population_faults(config));
    faults.extend(role_faults(config));
    faults.extend(parameters.rating.faults("/parameters/rating"));
    let smallest = [Role::Teacher, Role::Student].map(|role| count(config, role));
    let smallest = smallest.into_iter().filter(|size| *size > 1).min();
    let ranks = config.populations.values().map(|population| population.lora.r);
    let rank = ranks.min().unwrap_or(u32::MAX);
    let rate = parameters.learning.optimizer.learning_rate;
    let place = "/parameters/evolution";
    faults.extend(parameters.evolution.faults(place, smallest, rank, rate));
    let types = u32::try_from(parameters.problems.types.len()).unwrap_or(u32::MAX).max(1);
    if !parameters.prompts_per_matchup.is_multiple_of(types) {
        let detail = format!(
            "{} prompts cannot be split equally over {types} types: a multiple of {types} is valid",
            parameters.prompts_per_matchup
        );
        faults.push(Fault::new("/parameters/prompts_per_matchup", detail));
    }
    let all = u64::from(batch) * count(config, Role::Teacher) as u64;
    if all > u64::from(MOST_PROPOSALS) {
        let detail = format!("{all} proposals a step are too many: {MOST_PROPOSALS} over all teachers are valid");
        faults.push(Fault::new("/parameters/prompts_per_matchup", detail));
    }
    faults.extend(frozen_faults(&parameters.frozen, &[Role::Teacher, Role::Student]));
    faults
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
