//! Its own metrics, with charts in a group of their own.

use lyceum_core::recipe::{
    Chart, ChartGroup, Draft, Metric, MetricRecord, PROPOSING, Role, SOLVING, Side,
    metric::{Measure, chart, mean, measure, share, values},
};

const JUDGING: ChartGroup = ChartGroup {
    title: "Judging",
    side: Some(Side::Judges),
};
const SCORE: Chart = chart(&JUDGING, "Critic score", "Mean score of the critic, from 0 to 1.");
const ACCEPTED: Chart = chart(
    &PROPOSING,
    "Accepted proposals",
    "Share of the valid proposals that are drilled later.",
);
const PASS_RATE: Chart = chart(&SOLVING, "Pass rate", "Share of the answers that are correct.");

const MEASURES: [Measure<Tally>; 3] = [
    measure(
        "critic_score",
        "",
        "Mean score of the critic.",
        &[&SCORE],
        |of: &Tally| mean(of.scores.iter().copied()),
    ),
    measure(
        "accepted_share",
        "share",
        "Valid proposals that were accepted.",
        &[&ACCEPTED],
        |of: &Tally| mean(of.accepted.iter().copied()),
    ),
    measure(
        "pass_rate",
        "share",
        "Answers that are correct.",
        &[&PASS_RATE],
        |of: &Tally| mean(of.solved.iter().map(|(_, correct)| *correct)),
    ),
];

/// The outcome of a step.
#[derive(Clone, Default)]
pub(super) struct Tally {
    pub(super) scores: Vec<f64>,
    accepted: Vec<f64>,
    solved: Vec<(usize, f64)>,
}

impl Tally {
    pub(super) fn posed(&mut self, accepted: bool) {
        self.accepted.push(share(accepted));
    }

    pub(super) fn solved(&mut self, member: usize, correct: bool) {
        self.solved.push((member, share(correct)));
    }

    /// What concerns one member.
    fn of(&self, place: usize, roles: &[Role]) -> Self {
        let own = |role: Role, values: &[f64]| match roles.contains(&role) {
            true => values.to_vec(),
            false => Vec::new(),
        };
        let solved = self.solved.iter().filter(|(member, _)| *member == place);
        Self {
            scores: own(Role::Critic, &self.scores),
            accepted: own(Role::Proposer, &self.accepted),
            solved: solved.copied().collect(),
        }
    }
}

pub(super) fn metrics() -> Vec<Metric> {
    MEASURES.iter().map(|measure| measure.metric).collect()
}

/// The run's row and a row for each member.
pub(super) fn records(draft: &Draft<'_>, tally: &Tally) -> Vec<MetricRecord> {
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let own = tally.of(place, &member.roles);
        (Some(member.id(draft.run.run)), own)
    });
    let rows = members.chain([(None, tally.clone())]);
    rows.map(|(member, tally)| MetricRecord {
        member,
        values: values(&MEASURES, &tally),
    })
    .collect()
}
