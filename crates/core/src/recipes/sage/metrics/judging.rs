//! Metrics of the critic.

use super::{Measures, Scope};
use crate::{
    auc::auc,
    contract::{
        Chart, Growth,
        Highlight::{Comparison, Learnability, StepLine},
        JUDGING, Metric, Role, Side,
        metric::{chart, mean, of_side, share},
    },
    recipes::sage::critique::Critique,
};

const QUESTIONS: Chart = chart(&JUDGING, "Score of questions")
    .about("Mean score of a challenge. Rising while the AUC does not, the critic is inflating its scores.");
const PLANS: Chart = chart(&JUDGING, "Score of plans").about("Mean score of a plan.");
const AUC: Chart = chart(&JUDGING, "Critic AUC")
    .about("How well the score of a question tells right from wrong stated answers; 0.5 is guessing.");
const UNSCORED: Chart =
    chart(&JUDGING, "Unscored").about("Share of the critic's answers without a number; their score is 0.5.");
const REWARD: Chart = chart(&JUDGING, "Critic reward").about("Mean reward of a score: its format.");

const AUC_SUMMARY: &str = "Probability that a right stated answer has a higher score than a wrong one, of the challenges \
                           that can be evaluated exactly.";

pub(super) fn measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        Metric::number("question_score", &[&QUESTIONS])
            .summary("Mean score of a challenge.")
            .growth(Growth::QuestionScore)
            .highlighted(&[StepLine, Comparison])
            .of(|of| mean(of.questions().map(|critique| f64::from(critique.score)))),
        Metric::number("plan_score", &[&PLANS])
            .summary("Mean score of a plan.")
            .growth(Growth::PlanScore)
            .highlighted(&[StepLine, Comparison])
            .of(|of| mean(of.plans().map(|critique| f64::from(critique.score)))),
        Metric::number("critic_auc", &[&AUC])
            .summary(AUC_SUMMARY)
            .highlighted(&[Comparison])
            .growth(Growth::CriticAuc)
            .of(Scope::critic_auc),
        Metric::share("unscored_share", &[&UNSCORED])
            .summary("Answers of the critic without a number.")
            .highlighted(&[Learnability])
            .of(|of| {
                let all = of.questions().chain(of.plans());
                mean(all.map(|critique| share(!critique.is_scored)))
            }),
        Metric::number("critic_reward", &[&REWARD])
            .summary("Mean reward of a score.")
            .of(|of| mean(of.rewards(Role::Critic))),
    ];
    of_side(Side::Judges, measures)
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
