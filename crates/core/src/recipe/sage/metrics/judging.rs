//! Metrics of the critic.

use super::{super::critique::Critique, Scope};
use crate::{
    auc::auc,
    recipe::{
        Chart,
        Highlight::{Comparison, Learnability, StepLine},
        JUDGING, Role, Side,
        metric::{Measure, chart, highlighted, mean, measure, of_side, share},
    },
};

const QUESTIONS: Chart = chart(
    &JUDGING,
    "Score of questions",
    "Mean score of a challenge. Rising while the AUC does not, the critic is inflating its scores.",
);
const PLANS: Chart = chart(&JUDGING, "Score of plans", "Mean score of a plan.");
const AUC: Chart = chart(
    &JUDGING,
    "Critic AUC",
    "How well the score of a question tells right from wrong stated answers; 0.5 is guessing.",
);
const UNSCORED: Chart = chart(
    &JUDGING,
    "Unscored",
    "Share of the critic's answers without a number; their score is 0.5.",
);
const REWARD: Chart = chart(&JUDGING, "Critic reward", "Mean reward of a score: its format.");

pub(super) fn measures<'t>() -> Vec<Measure<Scope<'t>>> {
    let measures: Vec<Measure<Scope<'t>>> = vec![
        highlighted(
            &[StepLine, Comparison],
            measure(
                "question_score",
                "",
                "Mean score of a challenge.",
                &[&QUESTIONS],
                |of| mean(of.questions().map(|critique| f64::from(critique.score))),
            ),
        ),
        highlighted(
            &[StepLine, Comparison],
            measure("plan_score", "", "Mean score of a plan.", &[&PLANS], |of| {
                mean(of.plans().map(|critique| f64::from(critique.score)))
            }),
        ),
        highlighted(
            &[Comparison],
            measure(
                "critic_auc",
                "",
                "Probability that a right stated answer has a higher score than a wrong one, of the challenges that can be \
                 evaluated exactly.",
                &[&AUC],
                Scope::critic_auc,
            ),
        ),
        highlighted(
            &[Learnability],
            measure(
                "unscored_share",
                "share",
                "Answers of the critic without a number.",
                &[&UNSCORED],
                |of| {
                    let all = of.questions().chain(of.plans());
                    mean(all.map(|critique| share(!critique.is_scored)))
                },
            ),
        ),
        measure("critic_reward", "", "Mean reward of a score.", &[&REWARD], |of| {
            mean(of.rewards(Role::Critic))
        }),
    ];
    let sided = measures.into_iter().map(|measure| of_side(Side::Judges, measure));
    sided.collect()
}

impl Scope<'_> {
    fn questions(&self) -> impl Iterator<Item = &Critique> {
        let judges = self.roles.contains(&Role::Critic);
        let candidates = self.candidates.iter().filter(move |_| judges);
        candidates.filter_map(|candidate| candidate.critique.as_ref())
    }

    fn plans(&self) -> impl Iterator<Item = &Critique> {
        let judges = self.roles.contains(&Role::Critic);
        let planned = self.solved.iter().filter(move |_| judges);
        planned.filter_map(|solved| solved.planned.as_ref()?.critique.as_ref())
    }

    fn critic_auc(&self) -> f64 {
        if !self.roles.contains(&Role::Critic) {
            return f64::NAN;
        }
        let known = self
            .candidates
            .iter()
            .filter_map(|candidate| Some((candidate.critique.as_ref()?.score, candidate.is_right?)));
        auc(&known.collect::<Vec<_>>())
    }
}
