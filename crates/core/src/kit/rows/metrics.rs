//! Metrics of recipes that learn from rows of a dataset.

use std::collections::{BTreeMap, BTreeSet};

use super::held_out::MAX_HELD_OUT;
use super::{Answer, FIT, HeldOut, JUDGE, Measured};
use crate::benchmark::pass_at_k;
use crate::contract::Highlight::{Comparison, Learnability, StepLine};
use crate::contract::metric::{Measure, charts, mean, share, table};
use crate::contract::phase::{GRADE, GRADE_MEASURE, MEASURE, SOLVE};
use crate::contract::{CostClass, LEARNING, Metric, MetricRecord, Phase, PlanError, RowAnswersRecord, SOLVING, metric};
use crate::id::ProblemId;
use crate::kit::Draft;
use crate::kit::measures::{
    Answered, Costs, HasAnswers, HasCosts, HasUpdates, format_rate, kl_to_base, mean_entropy, mean_reward,
    no_signal_share, of_cost, of_prompts, pass_rate, policy, response_length, seconds, steps_share,
};
use crate::work::MemberUpdated;

charts! {
    chart REWARD SOLVING "Reward": "Mean reward of an answer, before it is scaled.";
    chart SAMPLED_ENTROPY LEARNING "Sampled entropy": "Mean entropy of the model over its answers, in nats.";
    chart TRUNCATED LEARNING "Truncated share": "Answers that were cut at the limit of tokens.";
    chart DROPPED LEARNING "Dropped answers": "Answers that were generated and not learned from.";
    chart LEVEL SOLVING "Level": "The place of the level that a staircase asked, from 1.";
    chart ROUNDS LEARNING "Rounds of asking": "Rounds in which rows were asked until enough groups of answers differed.";
}

type Measures<'t> = Vec<Measure<'t, Tally<'t>>>;

const PHASES: [Phase; 6] = [FIT, SOLVE, JUDGE, GRADE, MEASURE, GRADE_MEASURE];

/// A step's outcome, for the run or for one member.
struct Tally<'t> {
    answers: Vec<&'t Answer>,
    measured: Vec<&'t Measured>,
    updated: Vec<&'t MemberUpdated>,
    levels: Vec<f64>,
    costs: Costs,
}

/// The metrics that only some runs record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) held_out: Option<HeldOut>,
    /// Whether it does not learn from all groups of answers.
    pub(crate) selects_groups: bool,
    /// Whether its sampler has levels.
    pub(crate) has_levels: bool,
}

/// The metrics of a run, in the order of their values.
pub(crate) fn metrics(recorded: Recorded) -> Vec<Metric> {
    metric::metrics(&measures(recorded.held_out.map(|held_out| held_out.n), recorded))
}

/// The metrics that any run may have.
pub(crate) fn all_metrics() -> Vec<Metric> {
    metric::metrics(&measures(Some(MAX_HELD_OUT), Recorded { held_out: None, selects_groups: true, has_levels: true }))
}

/// The measures of a run with `held_out` answers to each held-out row, which are its first ones; those that only some runs
/// record besides are the last.
fn measures<'t>(held_out: Option<u32>, recorded: Recorded) -> Measures<'t> {
    let mut measures = held_out.map_or_else(Vec::new, pass_at_k_measures);
    measures.extend(of_answers());
    measures.extend(policy());
    measures.extend(of_cost(&[CostClass::Solve, CostClass::Grade, CostClass::Update]));
    if held_out.is_some() {
        measures.push(seconds(CostClass::Measure));
    }
    measures.push(steps_share());
    measures.push(kl_to_base());
    let truncated = Metric::share("truncated_share", &[&TRUNCATED]).summary("Answers cut at the limit of tokens.");
    measures
        .push(truncated.of(|of: &Tally<'t>| mean(of.answers.iter().map(|answer| share(answer.sequence.truncated)))));
    if recorded.selects_groups {
        measures.extend(of_groups());
    }
    if recorded.has_levels {
        measures.extend(of_levels());
    }
    measures
}

/// A step's answers to rows.
pub(crate) trait HasRowAnswers {
    fn row_answers(&self) -> impl Iterator<Item = &Answer>;
}

impl HasRowAnswers for Tally<'_> {
    fn row_answers(&self) -> impl Iterator<Item = &Answer> {
        self.answers.iter().copied()
    }
}

/// The metrics of a run that does not learn from all groups of answers.
pub(crate) fn of_groups<'t, T: HasRowAnswers + 't>() -> Vec<Measure<'t, T>> {
    table! {
        share "dropped_share" [DROPPED] "Answers that were generated and not learned from, as their group has no signal or enough others have."
            => |of| mean(of.row_answers().map(|answer| share(answer.is_dropped)));
        number "rounds" [ROUNDS] "Rounds in which rows were asked."
            => |of| of.row_answers().map(|answer| f64::from(answer.sequence.source.round + 1)).fold(f64::NAN, f64::max);
    }
}

fn of_answers<'t>() -> Measures<'t> {
    table! {
        = pass_rate().highlighted(&[StepLine, Comparison]);
        = format_rate().highlighted(&[StepLine, Comparison]);
        number "reward" [REWARD] "Mean reward of an answer." => mean_reward;
        = no_signal_share().highlighted(&[StepLine, Learnability]);
        = response_length().highlighted(&[StepLine, Comparison, Learnability]);
        nats "sampled_entropy" [SAMPLED_ENTROPY] "Mean entropy of the model over its answers." => mean_entropy;
    }
}

fn of_levels<'t>() -> Measures<'t> {
    table! {
        number "sampler_level" [LEVEL] "The place of the level that a member was asked in its staircase, from 1."
            => |of| mean(of.levels.iter().copied());
    }
}

/// A step's outcome.
#[derive(Clone, Copy)]
pub(crate) struct Outcomes<'t> {
    /// Answers that were learned from.
    pub(crate) answers: &'t [Answer],
    pub(crate) updated: &'t [&'t MemberUpdated],
    /// Measurements on held-out rows; none in most steps.
    pub(crate) measured: &'t [Measured],
    /// The level that every member was asked, if the sampler has levels.
    pub(crate) levels: &'t [f64],
}

/// The run's row and a row for each member.
pub(crate) fn records(
    draft: &Draft<'_>,
    outcomes: Outcomes<'_>,
    recorded: Recorded,
) -> Result<Vec<MetricRecord>, PlanError> {
    let Outcomes { answers, updated, measured, levels } = outcomes;
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let id = member.id(draft.run.run);
        let tally = Tally {
            answers: answers.iter().filter(|answer| answer.member == place).collect(),
            measured: measured.iter().filter(|of| of.member == place).collect(),
            updated: updated.iter().copied().filter(|new| new.member == id).collect(),
            levels: levels.get(place).copied().into_iter().collect(),
            costs: Costs::none(),
        };
        (Some(id), tally)
    });
    let run = Tally {
        answers: answers.iter().collect(),
        measured: measured.iter().collect(),
        updated: updated.to_vec(),
        levels: levels.to_vec(),
        costs: Costs::of(draft.view, &PHASES)?,
    };
    let measures = measures(recorded.held_out.map(|held_out| held_out.n), recorded);
    let names: BTreeSet<&String> = answers.iter().flat_map(|answer| answer.parts.keys()).collect();
    let rows: Vec<_> = members.chain([(None, run)]).collect();
    let parts: Vec<_> = rows.iter().map(|(_, tally)| tally.reward_parts(&names)).collect();
    let mut records = metric::records(&measures, rows);
    for (record, parts) in records.iter_mut().zip(parts) {
        record.reward_parts = parts;
    }
    Ok(records)
}

impl Tally<'_> {
    /// The mean of each of these parts. An answer without a part counts as 0, so that parts add up to the mean reward.
    fn reward_parts(&self, names: &BTreeSet<&String>) -> BTreeMap<String, f64> {
        let of = |name: &String| mean(self.answers.iter().map(|answer| answer.parts.get(name).copied().unwrap_or(0.0)));
        names.iter().map(|name| ((*name).clone(), of(name))).collect()
    }
}

/// Answers counted by row, in the order of the rows.
pub(crate) fn row_answers(answers: &[Answer]) -> Vec<RowAnswersRecord> {
    let mut rows: BTreeMap<(u32, ProblemId), RowAnswersRecord> = BTreeMap::new();
    for answer in answers {
        let key = (answer.place, answer.problem);
        let counted = rows.entry(key).or_insert(RowAnswersRecord {
            problem: answer.problem,
            row: answer.place,
            answers: 0,
            correct: 0,
        });
        counted.answers += 1;
        counted.correct += u32::from(answer.correct);
    }
    rows.into_values().collect()
}

impl HasAnswers for Tally<'_> {
    fn answers(&self) -> impl Iterator<Item = Answered> {
        self.answers.iter().map(|answer| Answered {
            correct: answer.correct,
            well_formed: answer.well_formed,
            has_steps: answer.sequence.has_steps,
            sampled: answer.sequence.sampled,
            entropy: answer.entropy,
        })
    }

    fn groups(&self) -> Vec<Vec<f32>> {
        let mut groups: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
        for answer in &self.answers {
            let sampled = answer.sequence.sampled;
            groups.entry(sampled.group).or_default().push(sampled.reward);
        }
        of_prompts(groups).collect()
    }
}

impl HasUpdates for Tally<'_> {
    fn updated(&self) -> Vec<&MemberUpdated> {
        self.updated.clone()
    }
}

impl HasCosts for Tally<'_> {
    fn costs(&self) -> &Costs {
        &self.costs
    }

    fn completion_tokens(&self) -> f64 {
        let tokens = self.answers.iter().map(|answer| answer.sequence.sampled.tokens);
        tokens.map(f64::from).sum()
    }
}

charts! {
    chart PASS_AT_1 SOLVING "Held-out pass@1":
        "Probability that an answer to a row that is never learned from is correct.";
    parts PASS_AT_K SOLVING "Held-out pass@k":
        "Probability that at least one of k answers to a row that is never learned from is correct.";
}

const METRICS: [(u32, Metric); 8] = [
    (1, Metric::share("held_out_pass_at_1", &[&PASS_AT_1, &PASS_AT_K]).highlighted(&[StepLine, Comparison])),
    (2, Metric::share("held_out_pass_at_2", &[&PASS_AT_K])),
    (4, Metric::share("held_out_pass_at_4", &[&PASS_AT_K])),
    (8, Metric::share("held_out_pass_at_8", &[&PASS_AT_K])),
    (16, Metric::share("held_out_pass_at_16", &[&PASS_AT_K])),
    (32, Metric::share("held_out_pass_at_32", &[&PASS_AT_K])),
    (64, Metric::share("held_out_pass_at_64", &[&PASS_AT_K])),
    (128, Metric::share("held_out_pass_at_128", &[&PASS_AT_K])),
];

/// pass@k for k = 1, 2, 4, … up to `n`.
fn pass_at_k_measures<'t>(n: u32) -> Measures<'t> {
    let estimable = METRICS.into_iter().filter(|(k, _)| *k <= n);
    let measure = |(k, metric): (u32, Metric)| {
        metric
            .summary("Unbiased estimate of the probability that one of k answers to a held-out row is correct.")
            .computed_by(move |of: &Tally<'t>| {
                let rows = of.measured.iter().flat_map(|measured| {
                    let correct = measured.correct.iter();
                    correct.filter_map(move |&correct| pass_at_k(measured.n.into(), correct.into(), k.into()))
                });
                mean(rows)
            })
    };
    estimable.map(measure).collect()
}
