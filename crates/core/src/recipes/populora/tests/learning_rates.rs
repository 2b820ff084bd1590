//! Learning rates that members inherit.

use serde::Deserialize as _;
use std::sync::Mutex;

use super::*;
use crate::contract::{Plan, PlanError, Planner, Recipe, RunState};
use crate::evolution::LearningRateConfig;
use crate::id::{MemberId, VersionId};

/// Remembers the learning rate that each update is asked for, by the version that it makes.
#[derive(Default)]
struct Watched(Mutex<BTreeMap<VersionId, Option<f64>>>);

impl Planner for Watched {
    fn name(&self) -> &'static str {
        Populora.name()
    }

    fn summary(&self) -> &'static str {
        Populora.summary()
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        Populora.resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        Populora.begin(run, config)
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        let plan = Populora.plan(run, step)?;
        for item in &plan.work {
            if let Payload::Update(update) = &item.payload {
                let asked = update.members.iter().map(|member| (member.to, member.learning_rate));
                self.0.lock().unwrap().extend(asked);
            }
        }
        Ok(plan)
    }
}

impl Recipe for Watched {}

fn with_rule(rule: &str) -> Value {
    let mut document = document(4, 4);
    document["parameters"]["evolution"]["learning_rate"] = json!({"rule": rule, "sigma": 0.5});
    document
}

#[test]
fn a_child_learns_at_a_rate_from_its_parents_and_every_version_says_at_which() {
    let config = resolved(&with_rule("inherited")).unwrap();
    let configured = config.parameters["learning"]["optimizer"]["learning_rate"].as_f64();
    let rule = &config.parameters["evolution"]["learning_rate"];
    let rule = LearningRateConfig::deserialize(rule).unwrap();
    let watched = Watched::default();
    let mut simulation = Simulation::new(&watched, &config, skills(4, 4), Order::Together).unwrap();
    let mut rates: BTreeMap<MemberId, f64> = BTreeMap::new();
    let mut members: BTreeMap<VersionId, MemberId> = BTreeMap::new();
    for _ in 0..9 {
        let records = simulation.step().unwrap().records;
        for version in &records.versions {
            let rate = version.learning_rate.unwrap();
            assert_eq!(*rates.entry(version.member).or_insert(rate), rate, "a member keeps its rate");
            members.insert(version.id, version.member);
            if version.ordinal > 0 {
                assert_eq!(watched.0.lock().unwrap()[&version.id], Some(rate));
            }
        }
        for birth in &records.births {
            let parents: Vec<f64> = birth.parents.iter().map(|parent| rates[&members[parent]]).collect();
            let inherited = rule.inherited(&parents, config.seed, birth.source.step, birth.source.chunk);
            assert_eq!(Some(rates[&birth.child]), inherited.or(configured));
        }
    }
    let different: BTreeSet<u64> = rates.values().map(|rate| rate.to_bits()).collect();
    assert_eq!(different.len(), 5, "the founders' and those of four children");
}

#[test]
fn the_option_moves_no_other_draw() {
    let played = |rule| steps(&with_rule(rule), skills(4, 4), Order::Together, 9);
    let without_rates = |steps: Vec<Step>| -> Vec<Records> {
        let records = steps.iter().map(|step| {
            let mut records = sorted(&step.records);
            records.versions.iter_mut().for_each(|row| row.learning_rate = None);
            records
        });
        records.collect()
    };
    assert_eq!(without_rates(played("inherited")), without_rates(played("fixed")));
}
