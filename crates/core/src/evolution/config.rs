//! When and how a run evolves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use strum::IntoStaticStr;

use super::{CATALOGUE, LearningRateConfig, Operator, operator};
use crate::fault::Fault;

/// Which members are replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Culling {
    /// Those of the lowest lower bound. The member of highest mu stays.
    #[default]
    Rating,
    /// Any that are not protected, each as likely as the others: a control without selection by rating. Parents are still
    /// those that `parent_fraction` admits; with 1 they are drawn from all survivors.
    Random,
}

/// When and how a run evolves. Defaults are the paper's (PopuLoRA, part 4.1) where it gives any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvolutionConfig {
    /// Steps between two evolutions; 0 disables evolution.
    pub every: u32,
    /// Share of each role's members to replace: min(N − 1, max(1, round(fraction · N))).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
    /// Which members are replaced.
    pub culling: Culling,
    /// Operators that make the children, each drawn equally often.
    #[schemars(length(min = 1))]
    pub operators: Vec<String>,
    /// Operator parameters that differ from their defaults, by operator.
    pub parameters: BTreeMap<String, BTreeMap<String, f64>>,
    /// Share of a role's survivors that parents are drawn from, best lower bound first.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub parent_fraction: f64,
    /// Number of evolution intervals during which a newborn cannot be replaced.
    #[schemars(range(max = 1000))]
    pub protection: u32,
    /// A newborn's sigma as a share of the prior's; by default the mean of its parents'. A larger sigma lowers a child's
    /// bound, so that it is culled for being young (`docs/DEVIATIONS.md`).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub child_sigma: Option<f64>,
    /// The learning rate of each member: the same for all, or inherited.
    pub learning_rate: LearningRateConfig,
}

impl Default for EvolutionConfig {
    fn default() -> Self {
        let live = CATALOGUE.iter().filter(|operator| operator.live);
        Self {
            every: 10,
            fraction: 0.25,
            culling: Culling::default(),
            operators: live.map(|operator| operator.name.to_owned()).collect(),
            parameters: BTreeMap::new(),
            parent_fraction: 0.5,
            protection: 2,
            child_sigma: None,
            learning_rate: LearningRateConfig::default(),
        }
    }
}

impl EvolutionConfig {
    /// Whether the population evolves at the end of `step` (counted from 0).
    pub fn due(&self, step: u32) -> bool {
        self.every > 0 && (u64::from(step) + 1).is_multiple_of(u64::from(self.every))
    }

    /// Maximum number of a role's `size` members replaced in one evolution.
    pub fn quota(&self, size: usize) -> usize {
        let share = (self.fraction * size as f64).round() as usize;
        share.max(1).min(size.saturating_sub(1))
    }

    /// The number of a role's `survivors` that parents are drawn from, for an operator of this arity.
    pub(super) fn parent_pool(&self, survivors: usize, arity: usize) -> usize {
        let share = (self.parent_fraction * survivors as f64).ceil() as usize;
        share.max(arity).min(survivors)
    }

    /// The configured operators that take at most `parents` parents, with repetitions kept.
    pub(super) fn operators_for(&self, parents: usize) -> Vec<&'static Operator> {
        let known = self.operators.iter().filter_map(|name| operator(name).ok());
        known.filter(|operator| operator.arity <= parents).collect()
    }

    /// Faults the schema cannot express, with places below `pointer`. `smallest` is the size of the smallest role with
    /// more than one member, if any: a set of only crossovers can never be used with a single survivor. `rank` is that of
    /// the members' adapters, and `learning_rate` the optimizer's.
    pub fn faults(&self, pointer: &str, smallest: Option<usize>, rank: u32, learning_rate: f64) -> Vec<Fault> {
        let gives_birth = self.every > 0 && smallest.is_some();
        let place = format!("{pointer}/learning_rate");
        let mut faults = self.learning_rate.faults(&place, learning_rate, gives_birth);
        let shares = [
            ("fraction", Some(self.fraction)),
            ("parent_fraction", Some(self.parent_fraction)),
            ("child_sigma", self.child_sigma),
        ];
        for (field, value) in shares.into_iter().filter_map(|(field, value)| Some((field, value?))) {
            if !(value > 0.0 && value <= 1.0) {
                let detail = format!("{value}: numbers above 0 and up to 1 are valid");
                faults.push(Fault::new(format!("{pointer}/{field}"), detail));
            }
        }
        for (index, name) in self.operators.iter().enumerate() {
            if let Err(error) = operator(name) {
                faults.push(Fault::new(format!("{pointer}/operators/{index}"), error.to_string()));
            }
        }
        for (name, values) in &self.parameters {
            if let Err(error) = operator(name).and_then(|operator| operator.resolve(values)) {
                faults.push(Fault::new(format!("{pointer}/parameters/{name}"), error.to_string()));
            }
        }
        if self.every > 0 && faults.is_empty() {
            faults.extend(self.rank_faults(pointer, rank));
        }
        if self.every > 0
            && let Some(size) = smallest
        {
            let survivors = size - self.quota(size);
            if faults.is_empty() && self.operators_for(survivors).is_empty() {
                let detail = format!(
                    "of {size} members {survivors} survive an evolution, fewer than any of these operators takes as parents; \
                     add a mutation such as M1"
                );
                faults.push(Fault::new(format!("{pointer}/operators"), detail));
            }
        }
        faults
    }

    /// Faults of the operators in use that would refuse every parent of this rank.
    fn rank_faults(&self, pointer: &str, rank: u32) -> Vec<Fault> {
        let names: BTreeSet<&str> = self.operators.iter().map(String::as_str).collect();
        let known = names.into_iter().filter_map(|name| operator(name).ok());
        let fault = |operator: &Operator| {
            let none = BTreeMap::new();
            let given = self.parameters.get(operator.name).unwrap_or(&none);
            let error = operator.check_rank(given, rank).err()?;
            let parameter = operator.below_rank.unwrap_or_default();
            Some(Fault::new(format!("{pointer}/parameters/{}/{parameter}", operator.name), error.to_string()))
        };
        known.filter_map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evolution_comes_after_every_so_many_steps() {
        let config = EvolutionConfig::default();
        assert_eq!((0..30).filter(|&step| config.due(step)).collect::<Vec<_>>(), [9, 19, 29]);
        let never = EvolutionConfig { every: 0, ..config };
        assert!((0..30).all(|step| !never.due(step)));
    }

    #[test]
    fn at_least_one_is_replaced_and_never_the_last() {
        let config = EvolutionConfig::default();
        assert_eq!([0, 1, 2, 3, 4, 6, 8, 10].map(|size| config.quota(size)), [0, 0, 1, 1, 1, 2, 2, 3]);
        let all = EvolutionConfig { fraction: 1.0, ..config };
        assert_eq!([1, 2, 8].map(|size| all.quota(size)), [0, 1, 7]);
    }

    #[test]
    fn every_fault_is_found_at_its_place() {
        let config = EvolutionConfig {
            fraction: 0.0,
            operators: vec!["M1".to_owned(), "m9".to_owned()],
            parameters: BTreeMap::from([("X1".to_owned(), BTreeMap::from([("p".to_owned(), 2.0)]))]),
            ..EvolutionConfig::default()
        };
        let places: Vec<_> =
            config.faults("/evolution", Some(4), 8, 5e-5).into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(places, ["/evolution/fraction", "/evolution/operators/1", "/evolution/parameters/X1"]);
        assert_eq!(EvolutionConfig::default().faults("", Some(2), 8, 5e-5), []);
        let crossovers = EvolutionConfig { operators: vec!["X1".to_owned()], ..EvolutionConfig::default() };
        assert_eq!(crossovers.faults("", Some(4), 8, 5e-5), []);
        assert_eq!(crossovers.faults("", None, 8, 5e-5), []);
        assert!(crossovers.faults("", Some(2), 8, 5e-5)[0].detail.contains("of 2 members 1 survive"));
    }

    #[test]
    fn an_operator_that_no_parent_has_the_rank_for_is_refused() {
        let config = |k: Option<f64>| EvolutionConfig {
            operators: vec!["M6".to_owned(), "M1".to_owned(), "M6".to_owned()],
            parameters: k.map(|k| ("M6".to_owned(), BTreeMap::from([("k".to_owned(), k)]))).into_iter().collect(),
            ..EvolutionConfig::default()
        };
        assert_eq!(config(Some(7.0)).faults("/evolution", Some(4), 8, 5e-5), []);
        let [fault] = &config(Some(8.0)).faults("/evolution", Some(4), 8, 5e-5)[..] else { panic!("one fault") };
        assert_eq!(fault.pointer, "/evolution/parameters/M6/k");
        assert!(
            fault.detail.contains("`k` is 8; valid are whole numbers from 0 to 7, as the rank of the adapters is 8"),
            "{fault}"
        );
        // The default k is 2.
        assert_eq!(config(None).faults("", Some(4), 2, 5e-5)[0].pointer, "/parameters/M6/k");
        assert_eq!(config(None).faults("", Some(4), 3, 5e-5), []);
        let unused = EvolutionConfig { operators: vec!["M1".to_owned()], ..config(Some(9.0)) };
        assert_eq!(unused.faults("", Some(4), 2, 5e-5), []);
        let never = EvolutionConfig { every: 0, ..config(Some(9.0)) };
        assert_eq!(never.faults("", Some(4), 2, 5e-5), []);
    }
}
