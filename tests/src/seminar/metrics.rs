//! Its own metrics, with charts in a group of their own.

use lyceum_core::recipe::metric::{self, Measure, chart, mean, share};
use lyceum_core::recipe::{Chart, ChartGroup, Draft, Metric, MetricRecord, PROPOSING, Role, SOLVING, Side};

const JUDGING: ChartGroup = ChartGroup::new("Judging", Some(Side::Judges));
const SCORE: Chart = chart(&JUDGING, "Critic score").about("Mean score of the critic, from 0 to 1.");
const ACCEPTED: Chart =
    chart(&PROPOSING, "Accepted proposals").about("Share of the valid proposals that are drilled later.");
const PASS_RATE: Chart = chart(&SOLVING, "Pass rate").about("Share of the answers that are correct.");

fn measures() -> [Measure<'static, Tally>; 3] {
    [
        Metric::number("critic_score", &[&SCORE])
            .summary("Mean score of the critic.")
            .of(|of| mean(of.scores.iter().copied())),
        Metric::share("accepted_share", &[&ACCEPTED])
            .summary("Valid proposals that were accepted.")
            .of(|of| mean(of.accepted.iter().copied())),
        Metric::share("pass_rate", &[&PASS_RATE])
            .summary("Answers that are correct.")
            .of(|of| mean(of.solved.iter().map(|(_, correct)| *correct))),
    ]
}

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
        let own = |role: Role, values: &[f64]| if roles.contains(&role) { values.to_vec() } else { Vec::new() };
        let solved = self.solved.iter().filter(|(member, _)| *member == place);
        Self {
            scores: own(Role::Critic, &self.scores),
            accepted: own(Role::Proposer, &self.accepted),
            solved: solved.copied().collect(),
        }
    }
}

pub(super) fn metrics() -> Vec<Metric> {
    metric::metrics(&measures())
}

/// The run's row and a row for each member.
pub(super) fn records(draft: &Draft<'_>, tally: &Tally) -> Vec<MetricRecord> {
    let members = draft.members.iter().enumerate().map(|(place, member)| {
        let own = tally.of(place, &member.roles);
        (Some(member.id(draft.run.run)), own)
    });
    metric::records(&measures(), members.chain([(None, tally.clone())]))
}
