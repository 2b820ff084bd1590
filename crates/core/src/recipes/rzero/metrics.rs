//! The recipe's metrics. Those of other stages than the step's have no value.

mod diversity;
mod proposing;
mod solving;
mod tally;

pub(super) use self::tally::Tally;

use std::collections::BTreeMap;

use super::{
    diversity::DIVERSITY,
    poll::{Polled, TALLY, VOTE},
    proposer::REPETITION,
    step::Step,
};
use crate::{
    contract::{
        CostClass, Metric, MetricRecord, Phase, PlanError, metric,
        metric::Measure,
        phase::{GRADE, PROPOSE, SOLVE},
    },
    kit::{
        Band,
        measures::{Answered, Costs, HasAnswers, HasCosts, HasUpdates, of_cost, of_prompts, policy},
    },
    work::{Diversity, MemberUpdated},
};

type Measures<'t> = Vec<Measure<'t, Scope<'t>>>;

const PHASES: [Phase; 7] = [PROPOSE, VOTE, TALLY, REPETITION, SOLVE, GRADE, DIVERSITY];
const COSTS: [CostClass; 5] = [
    CostClass::Propose,
    CostClass::Solve,
    CostClass::Grade,
    CostClass::Update,
    CostClass::Diversity,
];

/// A tally for the run or one member.
struct Scope<'t> {
    tally: Tally<'t>,
    band: Band,
    keep_rate: Option<f64>,
    costs: Costs,
}

/// All measures. Those of epiplexity are last, and only there if it is measured.
fn measures<'t>(has_observer: bool) -> Measures<'t> {
    let mut measures = proposing::measures();
    measures.extend(solving::measures());
    measures.extend(diversity::measures());
    measures.extend(policy());
    measures.extend(of_cost(&COSTS));
    if has_observer {
        measures.extend(diversity::epiplexity());
    }
    measures
}

/// The metrics, in the order of their values; those of epiplexity only if it is measured.
pub(super) fn metrics(has_observer: bool) -> Vec<Metric> {
    metric::metrics(&measures(has_observer))
}

/// The run's row and a row for each member.
pub(super) fn records(step: &Step<'_>, tally: &Tally<'_>) -> Result<Vec<MetricRecord>, PlanError> {
    let draft = &step.draft;
    let band = match tally.curriculum {
        Some(_) => step.parameters.curriculum.band,
        None => step.parameters.uncertainty.band,
    };
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let id = member.id(draft.run.run);
        let scope = Scope {
            tally: tally.of_member(place, id),
            band,
            keep_rate: None,
            costs: Costs::none(),
        };
        (Some(id), scope)
    });
    let run = Scope {
        tally: tally.clone(),
        band,
        keep_rate: step.keep_rate(),
        costs: Costs::of(draft.view, &PHASES)?,
    };
    let measures = measures(step.parameters.diversity.epiplexity.is_some());
    Ok(metric::records(&measures, members.chain([(None, run)])))
}

impl Scope<'_> {
    fn polled(&self) -> impl Iterator<Item = &Polled> {
        self.tally.polled.iter()
    }

    fn diversity(&self, value: impl Fn(&Diversity) -> Option<f64>) -> f64 {
        self.tally.diversity.as_ref().and_then(value).unwrap_or(f64::NAN)
    }
}

impl HasAnswers for Scope<'_> {
    fn answers(&self) -> impl Iterator<Item = Answered> {
        self.tally.graded.iter().map(|answer| Answered {
            correct: answer.correct,
            well_formed: answer.well_formed,
            sampled: answer.sequence.sampled,
            entropy: answer.entropy,
        })
    }

    /// Those of proposals, too.
    fn groups(&self) -> Vec<Vec<f32>> {
        let mut groups: BTreeMap<(usize, u32), Vec<f32>> = BTreeMap::new();
        for (polled, reward) in self.tally.polled.iter().zip(&self.tally.proposer_rewards) {
            let group = groups.entry((polled.proposer, polled.sample.request));
            group.or_default().push(*reward);
        }
        for answer in &self.tally.graded {
            let sampled = answer.sequence.sampled;
            let group = groups.entry((answer.solver, sampled.group));
            group.or_default().push(sampled.reward);
        }
        of_prompts(groups).collect()
    }
}

impl HasUpdates for Scope<'_> {
    fn updated(&self) -> Vec<&MemberUpdated> {
        self.tally.updated.clone()
    }
}

impl HasCosts for Scope<'_> {
    fn costs(&self) -> &Costs {
        &self.costs
    }
}
