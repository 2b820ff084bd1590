//! What a child inherits: a rating, protection for a time, and a learning rate.

use rand_distr::{Distribution as _, StandardNormal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

use super::EvolutionConfig;
use crate::fault::Fault;
use crate::id::MemberId;
use crate::rating::{Rating, TrueSkillConfig};
use crate::seed;

/// A newborn's rating: the mean of its parents' mu and of their sigma, or the configured share of the prior's sigma.
/// Without parents it is the prior.
pub fn inherited(parents: &[Rating], config: &EvolutionConfig, ratings: &TrueSkillConfig) -> Rating {
    if parents.is_empty() {
        return ratings.prior();
    }
    let mean = |value: fn(&Rating) -> f64| parents.iter().map(value).sum::<f64>() / parents.len() as f64;
    Rating {
        mu: mean(|parent| parent.mu),
        sigma: config.child_sigma.map_or_else(|| mean(|parent| parent.sigma), |share| ratings.sigma * share),
    }
}

// Protects newborns until they have had time to prove themselves.

/// The step of birth of each member born in an evolution, as kept in a run's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protection(BTreeMap<MemberId, u32>);

impl Protection {
    /// Records a birth at the end of `step`.
    pub fn born(&mut self, member: MemberId, step: u32) {
        self.0.insert(member, step);
    }

    /// Forgets a member that died.
    pub fn remove(&mut self, member: MemberId) {
        self.0.remove(&member);
    }

    /// Whether `member` cannot be replaced at the end of `step`, because it has trained for fewer than the configured
    /// number of evolution intervals. Founding members are never protected.
    pub fn protects(&self, member: MemberId, step: u32, config: &EvolutionConfig) -> bool {
        let span = u64::from(config.protection) * u64::from(config.every);
        self.0.get(&member).is_some_and(|&born| u64::from(step) < u64::from(born) + span)
    }
}

// The learning rate of each member, as population-based training has it (Jaderberg et al. 2017, arXiv 1711.09846).

/// What decides a member's learning rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RateRule {
    /// All members learn at the optimizer's learning rate.
    #[default]
    Fixed,
    /// Founders begin with the optimizer's learning rate. A child has the geometric mean of its parents' rates times
    /// exp(sigma · N(0, 1)), within `min` and `max`, and keeps it for life.
    Inherited,
}

/// The learning rate of each member: inherited and changed at births (population-based training's "explore",
/// arXiv 1711.09846, section 3), or the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LearningRateConfig {
    /// What decides it.
    pub rule: RateRule,
    /// Standard deviation of the step in the logarithm of the rate. 0.2 is about the factors 1.2 and 0.8 of the paper.
    #[schemars(range(min = 0.0))]
    pub sigma: f64,
    /// The smallest rate of a child.
    #[schemars(range(min = 0.0))]
    pub min: f64,
    /// The largest rate of a child.
    #[schemars(range(min = 0.0))]
    pub max: f64,
}

impl Default for LearningRateConfig {
    fn default() -> Self {
        Self { rule: RateRule::default(), sigma: 0.2, min: 1e-7, max: 1e-2 }
    }
}

impl LearningRateConfig {
    /// The rate of a living member that has `own`, in a run whose optimizer has `configured`; `None` for the optimizer's.
    pub fn of(&self, own: Option<f64>, configured: f64) -> Option<f64> {
        match self.rule {
            RateRule::Fixed => None,
            RateRule::Inherited => Some(own.unwrap_or(configured)),
        }
    }

    /// The rate of child number `index` of the evolution at the end of `step`; `None` if parents have none. The draw has
    /// a stream of its own below `root`, the run's seed.
    pub fn inherited(&self, parents: &[f64], root: u64, step: u32, index: u32) -> Option<f64> {
        if self.rule == RateRule::Fixed || parents.is_empty() {
            return None;
        }
        let mean = parents.iter().map(|rate| rate.ln()).sum::<f64>() / parents.len() as f64;
        let mut random = seed::stream(root, &format!("evolution/{step}/learning_rate"), u64::from(index));
        let normal: f64 = StandardNormal.sample(&mut random);
        Some((mean + self.sigma * normal).exp().clamp(self.min, self.max))
    }

    /// Faults the schema cannot express, with places below `pointer`. `configured` is the optimizer's rate, and `gives_birth`
    /// says whether the run has any births.
    pub(super) fn faults(&self, pointer: &str, configured: f64, gives_birth: bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: String| faults.push(Fault::new(format!("{pointer}/{field}"), detail));
        let positive = |value: f64| value > 0.0 && value.is_finite();
        for (field, value) in [("sigma", self.sigma), ("min", self.min), ("max", self.max)] {
            if !positive(value) {
                fault(field, format!("{value}: numbers above 0 are valid"));
            }
        }
        if self.min > self.max {
            fault("min", format!("{}: numbers up to `max`, {}, are valid", self.min, self.max));
        }
        if self.rule == RateRule::Inherited {
            if !gives_birth {
                let detail = "\"inherited\": this run has no births, as `evolution.every` is 0 or no role has more than one \
                              member; \"fixed\" is valid";
                fault("rule", detail.to_owned());
            }
            if !(self.min..=self.max).contains(&configured) {
                let detail = format!(
                    "\"inherited\": the rate of the founders, `learning.optimizer.learning_rate`, is {configured}; {} to {} is \
                     valid",
                    self.min, self.max
                );
                fault("rule", detail);
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_newborn_is_safe_for_two_intervals() {
        let config = EvolutionConfig::default();
        let [child, founder] = [1, 2].map(|id| MemberId(Uuid::from_u128(id)));
        let mut protection = Protection::default();
        protection.born(child, 9);
        assert!(protection.protects(child, 19, &config));
        assert!(!protection.protects(child, 29, &config));
        assert!(!protection.protects(founder, 0, &config));
        protection.remove(child);
        assert!(!protection.protects(child, 19, &config));
    }

    fn inherited() -> LearningRateConfig {
        LearningRateConfig { rule: RateRule::Inherited, ..LearningRateConfig::default() }
    }

    proptest! {
        #[test]
        fn a_childs_rate_repeats_scales_with_its_parents_and_stays_in_bounds(
            root: u64, step in 0u32..1000, index in 0u32..100, rates in prop::collection::vec(1e-5..1e-3, 1..3), sigma in 0.01..3.0,
        ) {
            let config = LearningRateConfig { sigma, min: f64::MIN_POSITIVE, max: f64::MAX, ..inherited() };
            let child = |rates: &[f64]| config.inherited(rates, root, step, index).unwrap();
            prop_assert_eq!(child(&rates), child(&rates));
            let doubled: Vec<f64> = rates.iter().map(|rate| 2.0 * rate).collect();
            prop_assert!((child(&doubled) / child(&rates) - 2.0).abs() < 1e-9);
            let bounded = LearningRateConfig { min: 1e-5, max: 1e-3, ..config };
            let within = bounded.inherited(&rates, root, step, index).unwrap();
            prop_assert_eq!(within, child(&rates).clamp(1e-5, 1e-3));
        }
    }

    #[test]
    fn the_step_is_log_normal_around_the_geometric_mean_of_the_parents() {
        let rates = [1e-5, 4e-5];
        let draw = |index| (inherited().inherited(&rates, 7, 9, index).unwrap() / 2e-5).ln();
        let draws: Vec<f64> = (0..20_000).map(draw).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Five standard errors.
        assert!(mean.abs() < 5.0 * 0.2 / 141.0, "{mean}");
        assert!((variance.sqrt() - 0.2).abs() < 5.0 * 0.2 / 200.0, "{variance}");
    }

    #[test]
    fn members_without_the_option_have_the_optimizers_rate() {
        let fixed = LearningRateConfig::default();
        assert_eq!(fixed.of(Some(3e-4), 1e-4), None);
        assert_eq!(fixed.inherited(&[3e-4], 1, 2, 3), None);
        assert_eq!(inherited().of(None, 1e-4), Some(1e-4));
        assert_eq!(inherited().of(Some(3e-4), 1e-4), Some(3e-4));
    }

    #[test]
    fn what_cannot_be_inherited_is_refused_with_field_value_and_valid_range() {
        let found = |config: LearningRateConfig, configured, births| -> Vec<String> {
            let faults = config.faults("/learning_rate", configured, births);
            faults.into_iter().map(|fault| fault.to_string()).collect()
        };
        assert_eq!(found(inherited(), 5e-5, true), [""; 0]);
        assert_eq!(found(LearningRateConfig::default(), 1.0, false), [""; 0]);
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let faults = found(LearningRateConfig { sigma, ..inherited() }, 5e-5, true);
            assert_eq!(faults, [format!("/learning_rate/sigma: {sigma}: numbers above 0 are valid")]);
        }
        let inverted = LearningRateConfig { min: 1e-3, max: 1e-5, ..LearningRateConfig::default() };
        assert_eq!(found(inverted, 5e-5, true), ["/learning_rate/min: 0.001: numbers up to `max`, 0.00001, are valid"]);
        let [births] = &found(inherited(), 5e-5, false)[..] else { panic!("one fault") };
        assert!(births.starts_with("/learning_rate/rule: \"inherited\": this run has no births"));
        let [founders] = &found(inherited(), 0.5, true)[..] else { panic!("one fault") };
        assert!(founders.ends_with("is 0.5; 0.0000001 to 0.01 is valid"), "{founders}");
    }
}
