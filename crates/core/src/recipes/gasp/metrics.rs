//! The recipe's metrics. Those of other stages than the step's have no value.

mod posing;
mod solving;

use std::collections::BTreeMap;

use super::{
    Parameters, ROLES,
    memory::{Memory, Stone},
    novelty::EMBED,
    round::Posed,
};
use crate::{
    contract::{
        CostClass, Metric, MetricRecord, Phase, PlanError, Role, metric,
        metric::Measure,
        phase::{CHECK, ESTIMATE, GRADE, GRADE_ESTIMATE, PROPOSE, SOLVE},
    },
    kit::{
        Draft,
        code::Attempt,
        measures::{Answered, Costs, HasAnswers, HasCosts, HasUpdates, of_cost, of_prompts, policy},
        rows::{Answer, FIT},
    },
    verify::ProblemKind,
    work::MemberUpdated,
};

type Measures<'t> = Vec<Measure<'t, Scope<'t>>>;

const PHASES: [Phase; 8] = [PROPOSE, CHECK, EMBED, ESTIMATE, GRADE_ESTIMATE, SOLVE, GRADE, FIT];
const COSTS: [CostClass; 6] = [
    CostClass::Propose,
    CostClass::Check,
    CostClass::Diversity,
    CostClass::Solve,
    CostClass::Grade,
    CostClass::Update,
];

/// The outcome of a step.
#[derive(Clone, Default)]
pub(super) struct Tally<'t> {
    /// The candidates of a stage of lemmas or of lifts.
    pub(super) posed: Option<(Stone, Posed)>,
    /// Attempts at lemmas and lifts that the student learned from.
    pub(super) attempts: Vec<Attempt>,
    /// Answers to real data.
    pub(super) answers: Vec<Answer>,
    pub(super) updated: Vec<&'t MemberUpdated>,
}

/// The outcome for the run, or for one member in the roles that it plays.
struct Scope<'t> {
    tally: &'t Tally<'t>,
    updated: Vec<&'t MemberUpdated>,
    roles: Vec<Role>,
    /// The candidates to accept in a stage.
    target: u32,
    /// Problems in both global buffers; NaN for a member.
    buffer_size: f64,
    costs: Costs,
}

/// All measures. Those of real data are last, and only there if there are any.
fn measures<'t>(has_real_data: bool) -> Measures<'t> {
    let mut measures = posing::measures();
    measures.extend(solving::measures());
    measures.extend(policy());
    measures.extend(of_cost(&COSTS));
    if has_real_data {
        measures.extend(solving::of_real_data());
    }
    measures
}

/// The metrics, in the order of their values; those of real data only if there are any.
pub(super) fn metrics(has_real_data: bool) -> Vec<Metric> {
    metric::metrics(&measures(has_real_data))
}

/// The run's row and a row for each member.
pub(super) fn records(
    draft: &Draft<'_>,
    parameters: &Parameters,
    memory: &Memory,
    tally: &Tally<'_>,
) -> Result<Vec<MetricRecord>, PlanError> {
    let target = parameters.rounds.target;
    let members = draft.members.iter().map(|member| {
        let id = member.id(draft.run.run);
        let updated = tally.updated.iter().copied();
        let scope = Scope {
            tally,
            updated: updated.filter(|new| new.member == id).collect(),
            roles: member.roles.clone(),
            target,
            buffer_size: f64::NAN,
            costs: Costs::none(),
        };
        (Some(id), scope)
    });
    let run = Scope {
        tally,
        updated: tally.updated.clone(),
        roles: ROLES.to_vec(),
        target,
        buffer_size: memory.buffers.len() as f64,
        costs: Costs::of(draft.view, &PHASES)?,
    };
    let measures = measures(parameters.real_data.is_some());
    Ok(metric::records(&measures, members.chain([(None, run)])))
}

impl Scope<'_> {
    /// The candidates of the step's stage, if it has any and they concern the member.
    fn posed(&self) -> Option<(Stone, &Posed)> {
        let (stone, posed) = self.tally.posed.as_ref()?;
        self.roles.contains(&Role::Teacher).then_some((*stone, posed))
    }

    /// A value of a stage of lemmas or of lifts; NaN in other stages.
    fn of_stone(&self, stone: Stone, value: fn(&Self, &Posed) -> f64) -> f64 {
        match self.posed() {
            Some((own, posed)) if own == stone => value(self, posed),
            _ => f64::NAN,
        }
    }

    /// Attempts at lemmas and lifts, if they concern the member.
    fn attempts(&self) -> &[Attempt] {
        match self.roles.contains(&Role::Student) {
            true => &self.tally.attempts,
            false => &[],
        }
    }

    /// Answers to real data, if they concern the member.
    fn real_answers(&self) -> &[Answer] {
        match self.roles.contains(&Role::Student) {
            true => &self.tally.answers,
            false => &[],
        }
    }
}

impl HasAnswers for Scope<'_> {
    fn answers(&self) -> impl Iterator<Item = Answered> {
        self.attempts().iter().map(|attempt| Answered {
            correct: attempt.correct,
            well_formed: attempt.well_formed,
            sampled: attempt.sample.sequence(attempt.reward, attempt.sample.request).sampled,
            entropy: attempt.sample.entropy,
        })
    }

    /// The rewards that are compared with one another: of a stage's candidates, of attempts of one format, of answers to one
    /// row.
    fn groups(&self) -> Vec<Vec<f32>> {
        let candidates = self.posed().map(|(_, posed)| &posed.candidates);
        let candidates = candidates.map(|all| all.iter().map(|candidate| candidate.reward).collect());
        let mut formats: BTreeMap<ProblemKind, Vec<f32>> = BTreeMap::new();
        for attempt in self.attempts() {
            formats.entry(attempt.kind).or_default().push(attempt.reward);
        }
        let mut rows: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
        for answer in self.real_answers() {
            let sampled = answer.sequence.sampled;
            rows.entry(sampled.group).or_default().push(sampled.reward);
        }
        candidates
            .into_iter()
            .chain(formats.into_values())
            .chain(of_prompts(rows))
            .collect()
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
