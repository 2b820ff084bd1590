//! Parameter groups shared by recipes, whatever their problems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

use crate::advantage::{Sampled, shuffle_rewards};
use crate::config::{MemberGroup, RunConfig, pointer_token};
use crate::contract::{Role, RunState};
use crate::fault::Fault;
use crate::named::UnknownName;
use crate::seed::stream;
use crate::work::{Compute, Optimizer, PolicyLoss, Sampling, Trainer};

/// How completions are sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingConfig {
    /// Sampling of proposals.
    pub propose: Sampling,
    /// Sampling of solutions. The prompts' grammar adds its own stop texts to those given.
    pub solve: Sampling,
}

/// How members learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LearningConfig {
    /// The loss.
    pub loss: PolicyLoss,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// Steps of the run over which learning rates grow linearly to their full size; 0 begins with it.
    #[serde(skip_serializing_if = "is_zero")]
    pub warmup_steps: u32,
    /// How learning rates change after the warm-up.
    #[serde(skip_serializing_if = "Scheduler::is_constant")]
    pub scheduler: Scheduler,
    /// Maximum tokens per micro-batch.
    #[schemars(range(min = 1))]
    pub micro_batch_tokens: u32,
    /// Recompute each layer's activations in the backward pass, so that a large base fits in memory.
    pub recompute: bool,
    /// Rewards are multiplied by this before advantages are computed; −1 inverts learning, as a control.
    pub reward_scale: f32,
    /// Rewards are shuffled before advantages are computed, as a control: they are as often as before, but random. They
    /// change places among the sequences of a step that they are compared with: those of one member in one role, and in
    /// `azr` of one type as well. What is recorded does not change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shuffle_rewards: bool,
    /// With `shuffle_rewards`: rewards change places only among the samples of a prompt, so that each prompt keeps its own.
    /// Across prompts, shuffled rewards make groups differ that did not, and that does harm.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shuffle_within_group: bool,
    /// Sequences cut at the token limit are not learned from (DAPO's overlong filtering). They still count where rewards
    /// are compared: in the means and deviations of advantages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mask_truncated: bool,
}

impl Default for LearningConfig {
    fn default() -> Self {
        Self {
            loss: PolicyLoss::default(),
            optimizer: Optimizer::default(),
            warmup_steps: 0,
            scheduler: Scheduler::Constant,
            micro_batch_tokens: 16384,
            recompute: true,
            reward_scale: 1.0,
            shuffle_rewards: false,
            shuffle_within_group: false,
            mask_truncated: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(steps: &u32) -> bool {
    *steps == 0
}

/// How learning rates change over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// They stay.
    #[default]
    Constant,
    /// They fall to 0 along half a cosine, over the steps after the warm-up (Loshchilov and Hutter 2017, without restarts).
    Cosine,
}

impl Scheduler {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_constant(&self) -> bool {
        *self == Self::Constant
    }
}

/// The most prompts or problems of a step.
pub(crate) const MAX_BATCH: u32 = 65_536;
/// The most completions of a prompt.
pub(crate) const MAX_SAMPLES: u32 = 1024;

/// How a step is divided into work items. This is part of the config because the last bits of results depend on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ItemConfig {
    /// Prompts per `propose` item; their checks form one item too.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub propose: u32,
    /// Proposals per `solve` item, which samples their solutions; their verdicts form one item too.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub solve: u32,
    /// Members per `update` item.
    #[schemars(range(min = 1, max = 1024))]
    pub update: u32,
    /// Number of pieces that the gradient of an `update` item is split into. Each piece is an item that any worker can
    /// take; one more item sums them in order and takes the optimizer step. With 1, the update item computes the
    /// gradient itself. More pieces spread a run of one member over several GPUs, and require one epoch of one
    /// minibatch.
    #[schemars(range(min = 1, max = 1024))]
    pub gradient_pieces: u32,
}

impl Default for ItemConfig {
    fn default() -> Self {
        Self { propose: 72, solve: 72, update: 8, gradient_pieces: 1 }
    }
}

impl ItemConfig {
    /// Faults the schema cannot express: of pieces of a gradient that the trainer of `compute` cannot sum, or of several
    /// optimizer steps. `pointer` is that of the group in the config; members learn by `lessons`.
    pub(crate) fn faults(&self, pointer: &str, compute: Compute, lessons: &[&LearningConfig]) -> Vec<Fault> {
        let pieces = self.gradient_pieces;
        if pieces <= 1 {
            return Vec::new();
        }
        let mut details = Vec::new();
        for Optimizer { epochs, minibatches, .. } in lessons.iter().map(|learning| &learning.optimizer) {
            if (*epochs, *minibatches) != (1, 1) {
                details.push(format!(
                    "{pieces} pieces of a gradient make one optimizer step, and {epochs} epochs of {minibatches} minibatches \
                     are more: 1 is valid here"
                ));
            }
        }
        if compute.trainer == Trainer::Torchrun {
            details.push(format!(
                "{pieces} pieces of a gradient are summed by the trainer `engine` only; `torchrun` (`compute.trainer`) splits \
                 an update over its own processes: 1 is valid here"
            ));
        }
        let fault = |detail| Fault::new(format!("{pointer}/gradient_pieces"), detail);
        details.into_iter().map(fault).collect()
    }
}

impl LearningConfig {
    /// The share of the learning rate with which members learn in `step`, from 0, of a run of `steps`: (step + 1) / W in a
    /// warm-up of W steps, and then with `cosine` (1 + cos(π (step − W) / (steps − W))) / 2.
    #[must_use]
    pub fn rate_share(&self, step: u32, steps: u32) -> f64 {
        let warmup = self.warmup_steps;
        if step < warmup {
            return f64::from(step + 1) / f64::from(warmup);
        }
        match self.scheduler {
            Scheduler::Constant => 1.0,
            Scheduler::Cosine => {
                let passed = f64::from(step - warmup) / f64::from(steps.saturating_sub(warmup).max(1));
                (1.0 + (std::f64::consts::PI * passed.min(1.0)).cos()) / 2.0
            }
        }
    }

    /// The sum over a run of the learning rates of an adapter's optimizer steps: with Adam, about the most that a weight
    /// can change.
    #[must_use]
    pub fn sum_of_rates(&self, steps: u32) -> f64 {
        let Optimizer { learning_rate, epochs, minibatches, .. } = self.optimizer;
        let shares: f64 = (0..steps).map(|step| self.rate_share(step, steps)).sum();
        learning_rate * shares * f64::from(epochs) * f64::from(minibatches)
    }

    /// Replaces the rewards that a batch earned by those it learns from; `path` names the batch within the step.
    pub(crate) fn alter<T: Copy + Ord>(&self, batch: &mut [(T, Sampled)], run: &RunState, path: &str) {
        for (_, sampled) in batch.iter_mut() {
            sampled.reward *= self.reward_scale;
        }
        if self.shuffle_rewards {
            let path = format!("rewards/{path}");
            let mut random = stream(run.config.seed, &path, u64::from(run.step));
            match self.shuffle_within_group {
                true => shuffle_rewards(batch, |(task, sampled)| (*task, sampled.group), &mut random),
                false => shuffle_rewards(batch, |(task, _)| *task, &mut random),
            }
        }
    }

    /// Faults the schema cannot express; `pointer` is that of the group in the config. A member learns from at least
    /// `batch` sequences per step, sampled in one of the ways in `sampled`, and computed as `compute` says.
    pub(crate) fn faults(&self, pointer: &str, batch: u32, compute: Compute, sampled: &[&Sampling]) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: String| faults.push(Fault::new(format!("{pointer}/{field}"), detail));
        if self.shuffle_within_group && !self.shuffle_rewards {
            fault("shuffle_within_group", "there is nothing to shuffle without `shuffle_rewards`: set both".to_owned());
        }
        if !self.reward_scale.is_finite() {
            fault("reward_scale", format!("{}: any finite number is valid", self.reward_scale));
        }
        let Optimizer { beta1, beta2, eps, minibatches, .. } = self.optimizer;
        for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
            if beta >= 1.0 {
                // The moments' bias correction divides by 1 − beta^t.
                fault(&format!("optimizer/{name}"), format!("{beta}: 0 to below 1 is valid"));
            }
        }
        if eps.partial_cmp(&0.0) != Some(Ordering::Greater) {
            fault("optimizer/eps", format!("{eps}: more than 0 is valid"));
        }
        if let Some(clip_dual) = self.loss.clip_dual.filter(|clip| *clip <= 1.0) {
            fault("loss/clip_dual", format!("{clip_dual}: more than 1 is valid, or none"));
        }
        if self.mask_truncated && sampled.iter().any(|sampling| sampling.max_tokens == 1) {
            let detail = "true, and every answer with text in it is cut, since `max_tokens` of its sampling is 1: false is \
                          valid here, or a larger `max_tokens`";
            fault("mask_truncated", detail.to_owned());
        }
        for (field, detail) in self.loss.faults(compute) {
            fault(&format!("loss/{field}"), detail);
        }
        if minibatches > batch {
            let detail =
                format!("{batch} sequences cannot be split into {minibatches} minibatches: 1 to {batch} is valid");
            fault("optimizer/minibatches", detail);
        }
        faults
    }
}

impl SamplingConfig {
    /// Faults the schema cannot express. `learns`: whether anyone learns from proposals, and from solutions.
    pub(crate) fn faults(&self, learns: [bool; 2]) -> Vec<Fault> {
        let groups = [("propose", &self.propose), ("solve", &self.solve)];
        let of = |((name, sampling), learns): ((&str, &Sampling), bool)| {
            sampling_faults(&format!("/parameters/sampling/{name}"), sampling, learns)
        };
        groups.into_iter().zip(learns).flat_map(of).collect()
    }
}

/// Settings under which samples do not come from the policy that learns from them. Updates take its log-probabilities
/// at temperature 1 over the whole vocabulary.
fn policy_faults(pointer: &str, sampling: &Sampling) -> Vec<Fault> {
    let Sampling { temperature, top_p, top_k, .. } = *sampling;
    let settings = [
        ("temperature", temperature != 1.0, temperature, 1),
        ("top_p", top_p != 1.0, top_p, 1),
        ("top_k", top_k != 0, f64::from(top_k), 0),
    ];
    let wrong = settings.iter().filter(|(_, is_wrong, ..)| *is_wrong);
    let fault = |(field, _, value, valid): &(&str, bool, f64, u32)| {
        let detail = format!(
            "{value} would sample from another policy than the one that learns from the samples: {valid} is valid unless the \
             role is frozen"
        );
        Fault::new(format!("{pointer}/{field}"), detail)
    };
    wrong.map(fault).collect()
}

/// Faults in a list of roles that do not learn, in a recipe of these `roles`.
pub(crate) fn frozen_faults(frozen: &[Role], roles: &[Role]) -> Vec<Fault> {
    let wrong = frozen.iter().enumerate().filter(|(_, role)| !roles.contains(role));
    let fault = |(index, role): (usize, &Role)| {
        let pointer = format!("/parameters/frozen/{index}");
        Fault::new(pointer, not_a_role(*role, roles).to_string())
    };
    wrong.map(fault).collect()
}

/// The error of a role that a recipe of these `roles` does not have.
fn not_a_role(role: Role, roles: &[Role]) -> UnknownName {
    let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
    UnknownName::new("a role of this recipe", role.name(), &names)
}

/// Faults in the sampling of completions of which several answer one prompt, at a JSON pointer. `learns`: whether anyone
/// learns from them.
pub fn sampling_faults(pointer: &str, sampling: &Sampling, learns: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |field: &str, detail: String| faults.push(Fault::new(format!("{pointer}/{field}"), detail));
    if sampling.max_tokens == 0 {
        fault("max_tokens", "0 is too small: at least 1 is valid".to_owned());
    }
    if sampling.temperature.partial_cmp(&0.0) != Some(Ordering::Greater) {
        let detail = format!("{}: more than 0 is valid, since samples of one prompt must differ", sampling.temperature);
        fault("temperature", detail);
    }
    if sampling.top_p.partial_cmp(&0.0) != Some(Ordering::Greater) {
        let detail = format!("{}: more than 0 and up to 1 is valid", sampling.top_p);
        fault("top_p", detail);
    }
    if let Some(empty) = sampling.stop.iter().position(String::is_empty) {
        let detail = "an empty text would end every completion at once: remove it".to_owned();
        fault(&format!("stop/{empty}"), detail);
    }
    if sampling.vocabulary_mask.is_some() {
        let detail = "one mask for the whole run would hide the same tokens from every batch, and vocabulary dropout draws a \
                      new one for each: remove it, or use `vocabulary_dropout` of the recipe `rzero`";
        fault("vocabulary_mask", detail.to_owned());
    }
    if learns && faults.is_empty() {
        faults = policy_faults(pointer, sampling);
    }
    faults
}

/// The groups of members of a config, each with its JSON pointer.
pub(crate) fn groups(config: &RunConfig) -> Vec<(String, &MemberGroup)> {
    let populations = config.populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter().enumerate();
        groups.map(move |(index, group)| {
            let place = format!("/populations/{}/members/{index}", pointer_token(name));
            (place, group)
        })
    });
    populations.collect()
}

/// Faults of a config that does not have one member for each of `roles`, or has other roles. A role that is not needed
/// may be missing.
pub(crate) fn player_faults(config: &RunConfig, roles: &[Role], is_needed: impl Fn(Role) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let groups = groups(config);
    for (place, group) in &groups {
        if group.count != 1 {
            let detail = format!("{}: 1 is valid, since each role is played by one member", group.count);
            faults.push(Fault::new(format!("{place}/count"), detail));
        }
        if let Some(other) = group.roles.iter().find(|role| !roles.contains(role)) {
            let detail = not_a_role(*other, roles).to_string();
            faults.push(Fault::new(format!("{place}/roles"), detail));
        }
    }
    for role in roles.iter().copied() {
        let playing = groups.iter().flat_map(|(place, group)| group.roles.iter().map(move |role| (place, *role)));
        let mut homes = playing.filter(|(_, played)| *played == role).map(|(place, _)| place);
        match (homes.next(), homes.next()) {
            (None, _) if is_needed(role) => {
                let detail = format!(
                    "nobody plays {0}: add it to the roles of a member, or a member with roles = [\"{0}\"]",
                    role.name()
                );
                faults.push(Fault::new("/populations", detail));
            }
            (Some(_), Some(other)) => {
                let detail = format!("{} is played twice: one member plays it", role.name());
                faults.push(Fault::new(format!("{other}/roles"), detail));
            }
            _ => {}
        }
    }
    faults
}

/// Bounds of a share, such as that of the answers that agree with the majority; both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Band(pub [f64; 2]);

impl Band {
    /// Whether `count` of `of` is within the bounds. Counts are compared, so that 3 of 10 is within bounds from 0.3.
    pub fn has(self, count: u32, of: u32) -> bool {
        let Self([low, high]) = self;
        let (count, of) = (f64::from(count), f64::from(of));
        count >= low * of - 1e-9 && count <= high * of + 1e-9
    }

    /// Refuses bounds that are reversed or outside of [0, 1].
    pub(crate) fn fault(self, pointer: &str) -> Option<Fault> {
        let Self([low, high]) = self;
        let is_valid = 0.0 <= low && low <= high && high <= 1.0;
        (!is_valid).then(|| {
            let detail = format!("[{low}, {high}]: two shares from 0 to 1, the smaller one first, are valid");
            Fault::new(pointer, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_grow_in_the_warm_up_and_fall_along_half_a_cosine() {
        let learning =
            |warmup_steps, scheduler| LearningConfig { warmup_steps, scheduler, ..LearningConfig::default() };
        let shares = |learning: &LearningConfig| (0..8).map(|step| learning.rate_share(step, 8)).collect::<Vec<_>>();
        let falling = learning(4, Scheduler::Cosine);
        let wanted = [0.25, 0.5, 0.75, 1.0, 1.0, 0.853_553_4, 0.5, 0.146_446_6];
        for (share, wanted) in shares(&falling).into_iter().zip(wanted) {
            assert!((share - wanted).abs() < 1e-6, "{share} is not {wanted}");
        }
        assert!((falling.sum_of_rates(8) - 5.0 * 5e-5).abs() < 1e-12);
        assert_eq!(shares(&learning(2, Scheduler::Constant)), [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(shares(&LearningConfig::default()), [1.0; 8]);
        // A continuation may be longer than the run whose rates fell to 0.
        assert!(learning(0, Scheduler::Cosine).rate_share(9, 8).abs() < 1e-12);
    }

    #[test]
    fn edges_are_counts() {
        let band = Band([0.3, 0.7]);
        let within: Vec<u32> = (0..=10).filter(|count| band.has(*count, 10)).collect();
        assert_eq!(within, [3, 4, 5, 6, 7]);
        for of in 2..200 {
            for count in 0..=of {
                let exact = 10 * count >= 3 * of && 10 * count <= 7 * of;
                assert_eq!(band.has(count, of), exact, "{count} of {of}");
            }
        }
        for bad in [[0.7, 0.3], [-0.1, 0.5], [0.5, 1.1], [f64::NAN, 0.5]] {
            assert!(Band(bad).fault("/b").is_some(), "{bad:?}");
        }
        assert!(Band([0.5, 0.5]).fault("/b").is_none());
    }
}
