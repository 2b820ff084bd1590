//! The recipe's metrics.

mod challenging;
mod judging;
mod planning;
mod solving;

use std::collections::BTreeMap;

use super::{
    admit::Candidate,
    challenge::CHALLENGE,
    critique::{CRITIQUE_PLAN, CRITIQUE_QUESTION},
    plan::PLAN,
    solve::Solved,
    step::Step,
    update::lessons,
};
use crate::{
    contract::{
        CostClass, Metric, MetricRecord, Phase, PlanError, Role, metric,
        metric::Measure,
        phase::{CHECK, ESTIMATE, GRADE, GRADE_ESTIMATE, SOLVE},
    },
    kit::measures::{Answered, Costs, HasAnswers, HasCosts, HasUpdates, of_cost, policy},
    work::MemberUpdated,
};

type Measures<'t> = Vec<Measure<'t, Scope<'t>>>;

const PHASES: [Phase; 9] = [
    CHALLENGE,
    CRITIQUE_QUESTION,
    CHECK,
    ESTIMATE,
    GRADE_ESTIMATE,
    PLAN,
    CRITIQUE_PLAN,
    SOLVE,
    GRADE,
];
const COSTS: [CostClass; 7] = [
    CostClass::Propose,
    CostClass::Check,
    CostClass::Critique,
    CostClass::Plan,
    CostClass::Solve,
    CostClass::Grade,
    CostClass::Update,
];

/// The outcome of a step.
#[derive(Clone, Copy)]
pub(super) struct Outcomes<'t> {
    pub(super) candidates: &'t [Candidate],
    pub(super) solved: &'t [Solved],
    pub(super) updated: &'t [&'t MemberUpdated],
}

/// The outcome for the run, or for one member in the roles that it plays.
struct Scope<'t> {
    candidates: &'t [Candidate],
    solved: &'t [Solved],
    updated: Vec<&'t MemberUpdated>,
    /// The roles it is about.
    roles: Vec<Role>,
    /// Tasks in the growing set; NaN for a member.
    pool_size: f64,
    costs: Costs,
}

fn measures<'t>() -> Measures<'t> {
    let mut measures = challenging::measures();
    measures.extend(judging::measures());
    measures.extend(planning::measures());
    measures.extend(solving::measures());
    measures.extend(policy());
    measures.extend(of_cost(&COSTS));
    measures
}

/// The metrics, in the order of their values.
pub(super) fn metrics() -> Vec<Metric> {
    metric::metrics(&measures())
}

/// The run's row and a row for each member.
pub(super) fn records(step: &Step<'_>, outcomes: Outcomes<'_>) -> Result<Vec<MetricRecord>, PlanError> {
    let draft = &step.draft;
    let members = draft.members.iter().map(|member| {
        let id = member.id(draft.run.run);
        let updated = outcomes.updated.iter().copied();
        let scope = Scope {
            candidates: outcomes.candidates,
            solved: outcomes.solved,
            updated: updated.filter(|new| new.member == id).collect(),
            roles: member.roles.clone(),
            pool_size: f64::NAN,
            costs: Costs::none(),
        };
        (Some(id), scope)
    });
    let run = Scope {
        candidates: outcomes.candidates,
        solved: outcomes.solved,
        updated: outcomes.updated.to_vec(),
        roles: super::ROLES.to_vec(),
        pool_size: step.size()? as f64,
        costs: Costs::of(draft.view, &PHASES)?,
    };
    Ok(metric::records(&measures(), members.chain([(None, run)])))
}

impl<'t> Scope<'t> {
    /// The challenges, if they concern the member.
    fn candidates(&self) -> &'t [Candidate] {
        match self.roles.contains(&Role::Challenger) {
            true => self.candidates,
            false => &[],
        }
    }

    /// The answers that are learned from, if they concern the member.
    fn solved(&self) -> &'t [Solved] {
        match self.roles.contains(&Role::Solver) {
            true => self.solved,
            false => &[],
        }
    }

    /// The rewards of the member in `role`.
    fn rewards(&self, role: Role) -> impl Iterator<Item = f64> {
        let own = lessons(self.candidates, self.solved).into_iter();
        let own = own.filter(move |(of, _)| *of == role && self.roles.contains(&role));
        own.map(|(_, sequence)| f64::from(sequence.sampled.reward))
    }
}

impl HasAnswers for Scope<'_> {
    fn answers(&self) -> impl Iterator<Item = Answered> {
        self.solved().iter().map(|solved| Answered {
            correct: solved.correct,
            well_formed: solved.well_formed,
            sampled: solved.sequence.sampled,
            entropy: None,
        })
    }

    /// The rewards of each role, which are what a reward is compared with.
    fn groups(&self) -> Vec<Vec<f32>> {
        let mut groups: BTreeMap<Role, Vec<f32>> = BTreeMap::new();
        for (role, sequence) in lessons(self.candidates, self.solved) {
            if self.roles.contains(&role) {
                groups.entry(role).or_default().push(sequence.sampled.reward);
            }
        }
        groups.into_values().collect()
    }
}

impl HasUpdates for Scope<'_> {
    fn updated(&self) -> Vec<&MemberUpdated> {
        self.updated.clone()
    }
}

impl HasCosts for Scope<'_> {
    fn costs(&self) -> &Costs {
        &self.costs
    }
}
