//! Metrics of recipes that learn from rows of a dataset.

use super::Answer;
use crate::{
    advantage::has_signal,
    recipe::{
        Chart, Draft,
        Highlight::{Comparison, Learnability, StepLine},
        LEARNING, Metric, MetricRecord, SOLVING,
        metric::{
            Costs, HasCosts, HasUpdates, Measure, TOKENS, chart, clip_share, entropy, grad_norm, grade_seconds,
            halvings, highlighted, kl, learned_tokens, mean, measure, policy_loss, prompt_tokens, ratio,
            sampler_mismatch, share, solve_seconds, update_seconds, updates, values,
        },
    },
    work::MemberUpdated,
};
use std::collections::BTreeMap;

const PASS_RATE: Chart = chart(&SOLVING, "Pass rate", "Share of the batch's answers that are correct.");
const FORMAT_RATE: Chart = chart(
    &SOLVING,
    "Format rate",
    "Share of the answers in which a solution was found.",
);
const NO_SIGNAL: Chart = chart(
    &SOLVING,
    "No signal",
    "Questions whose answers all got the same reward; a group estimator learns nothing from them.",
);
const LENGTH: Chart = chart(&LEARNING, "Response length", "Mean tokens of an answer.");
const SAMPLED_ENTROPY: Chart = chart(
    &LEARNING,
    "Sampled entropy",
    "Mean entropy of the model over its answers, in nats.",
);

/// A step's outcome, for the run or for one member.
struct Tally<'t> {
    answers: Vec<&'t Answer>,
    updated: Vec<&'t MemberUpdated>,
    costs: Costs,
}

/// The metrics, in the order of their values.
pub(crate) fn metrics() -> Vec<Metric> {
    measures().iter().map(|measure| measure.metric).collect()
}

fn measures<'t>() -> Vec<Measure<Tally<'t>>> {
    vec![
        highlighted(
            &[StepLine, Comparison],
            measure("pass_rate", "share", "Answers that are correct.", &[&PASS_RATE], |of| {
                mean(of.answers.iter().map(|answer| share(answer.correct)))
            }),
        ),
        highlighted(
            &[StepLine, Comparison],
            measure(
                "format_rate",
                "share",
                "Answers with a solution in them.",
                &[&FORMAT_RATE],
                |of| mean(of.answers.iter().map(|answer| share(answer.well_formed))),
            ),
        ),
        highlighted(
            &[StepLine, Learnability],
            measure(
                "no_signal_share",
                "share",
                "Questions whose answers all got the same reward.",
                &[&NO_SIGNAL],
                |of| mean(of.groups().map(|rewards| share(!has_signal(&rewards)))),
            ),
        ),
        highlighted(
            &[StepLine, Comparison, Learnability],
            measure(
                "response_length",
                "tokens",
                "Mean length of an answer.",
                &[&LENGTH],
                |of| {
                    mean(
                        of.answers
                            .iter()
                            .map(|answer| f64::from(answer.sequence.sampled.tokens)),
                    )
                },
            ),
        ),
        measure(
            "sampled_entropy",
            "nats",
            "Mean entropy of the model over its answers.",
            &[&SAMPLED_ENTROPY],
            |of| mean(of.answers.iter().filter_map(|answer| answer.entropy).map(f64::from)),
        ),
        highlighted(&[Comparison], entropy()),
        policy_loss(),
        grad_norm(),
        clip_share(),
        ratio(),
        sampler_mismatch(),
        kl(),
        updates(),
        prompt_tokens(),
        measure("completion_tokens", "tokens", "Tokens generated.", &[&TOKENS], |of| {
            of.answers
                .iter()
                .map(|answer| f64::from(answer.sequence.sampled.tokens))
                .sum()
        }),
        learned_tokens(),
        solve_seconds(),
        grade_seconds(),
        update_seconds(),
        halvings(),
    ]
}

/// The run's row and a row for each member.
pub(crate) fn records(draft: &Draft<'_>, answers: &[Answer], updated: &[&MemberUpdated]) -> Vec<MetricRecord> {
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let id = member.id(draft.run.run);
        let tally = Tally {
            answers: answers.iter().filter(|answer| answer.member == place).collect(),
            updated: updated.iter().copied().filter(|new| new.member == id).collect(),
            costs: Costs::none(),
        };
        (Some(id), tally)
    });
    let run = Tally {
        answers: answers.iter().collect(),
        updated: updated.to_vec(),
        costs: Costs::of(draft.view),
    };
    let rows = members.chain([(None, run)]);
    rows.map(|(member, tally)| MetricRecord {
        member,
        values: values(&measures(), &tally),
    })
    .collect()
}

impl Tally<'_> {
    /// The rewards of the answers to each question.
    fn groups(&self) -> impl Iterator<Item = Vec<f32>> {
        let mut groups: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
        for answer in &self.answers {
            let sampled = answer.sequence.sampled;
            groups.entry(sampled.group).or_default().push(sampled.reward);
        }
        groups.into_values()
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
}
