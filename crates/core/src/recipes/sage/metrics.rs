//! The recipe's metrics.

use std::collections::BTreeMap;

use super::admit::Candidate;
use super::challenge::CHALLENGE;
use super::critique::{CRITIQUE_PLAN, CRITIQUE_QUESTION, Critique};
use super::solve::{PLAN, Solved};
use super::step::{Step, lessons};
use crate::auc::auc;
use crate::contract::Highlight::{Comparison, Learnability, StepLine};
use crate::contract::metric::{Measure, charts, mean, of_side, parts, share, table};
use crate::contract::phase::{CHECK, ESTIMATE, GRADE, GRADE_ESTIMATE, SOLVE};
use crate::contract::{
    Chart, CostClass, Growth, JUDGING, Metric, MetricRecord, PLANNING, PROPOSING, Phase, PlanError, Role, SOLVING,
    Side, metric,
};
use crate::kit::measures::{
    Answered, Costs, HasAnswers, HasCosts, HasUpdates, format_rate, kl_to_base, mean_reward, no_signal_share, of_cost,
    pass_rate, policy, response_length, steps_share,
};
use crate::verdict::Signal;
use crate::work::MemberUpdated;

type Measures<'t> = Vec<Measure<'t, Scope<'t>>>;

const PHASES: [Phase; 9] =
    [CHALLENGE, CRITIQUE_QUESTION, CHECK, ESTIMATE, GRADE_ESTIMATE, PLAN, CRITIQUE_PLAN, SOLVE, GRADE];
const COSTS: [CostClass; 7] = [
    CostClass::Propose,
    CostClass::Check,
    CostClass::Critique,
    CostClass::Plan,
    CostClass::Solve,
    CostClass::Grade,
    CostClass::Update,
];

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
    let mut measures = challenging_measures();
    measures.extend(judging_measures());
    measures.extend(planning_measures());
    measures.extend(solving_measures());
    measures.extend(policy());
    measures.extend(of_cost(&COSTS));
    measures.push(steps_share());
    measures.push(kl_to_base());
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
        if self.roles.contains(&Role::Challenger) { self.candidates } else { &[] }
    }

    /// The answers that are learned from, if they concern the member.
    fn solved(&self) -> &'t [Solved] {
        if self.roles.contains(&Role::Solver) { self.solved } else { &[] }
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
            has_steps: solved.sequence.has_steps,
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

charts! {
    chart VALID PROPOSING "Valid challenges": "Share of the challenges whose answer can be checked.";
    chart JOINED PROPOSING "Admitted challenges": "Share of the challenges that joined the growing set.";
    chart DIFFICULTY PROPOSING "Difficulty":
        "Share of wrong answers without a plan to valid challenges. Ill-posed tasks count as difficult.";
    chart CHALLENGER_REWARD PROPOSING "Challenger reward": "Mean reward of a challenge.";
}
const RIGHT: Chart = parts(&PROPOSING, "Right stated answers").about(
    "Share of the arithmetic questions that Lyceum can evaluate, of all challenges and of those that joined. Nothing \
     learns from it.",
);
charts! {
    chart COPIES PROPOSING "Copies": "Share of the challenges that repeat the question they were shown.";
    chart LENGTH PROPOSING "Proposal length": "Mean tokens of a challenge.";
    parts POOL PROPOSING "Growing set": "Tasks that can be shown to the challenger, planned and solved.";
}

fn challenging_measures<'t>() -> Measures<'t> {
    let of_challenger: Measures<'t> = table! {
        share "valid_share" [VALID] "Challenges whose answer can be checked.", signal(Signal::Valid)
            => |of| mean(of.candidates().iter().map(|one| share(one.estimate.is_some())));
        share "admitted_share" [JOINED] "Challenges that joined the growing set.",
            growth(Growth::Admitted), highlighted(&[StepLine, Comparison])
            => |of| mean(of.candidates().iter().map(|one| share(one.joins.is_some())));
        share "difficulty" [DIFFICULTY] "Wrong answers without a plan to valid challenges.",
            highlighted(&[StepLine, Learnability])
            => |of| {
                let rates = of.candidates().iter().filter_map(|one| one.estimate);
                mean(rates.map(|estimate| 1.0 - f64::from(estimate.solve_rate())))
            };
        number "challenger_reward" [CHALLENGER_REWARD] "Mean reward of a challenge.", highlighted(&[StepLine])
            => |of| mean(of.rewards(Role::Challenger));
        share "copied_share" [COPIES] "Challenges that repeat the question they were shown.",
            signal(Signal::Duplicates), highlighted(&[Learnability])
            => |of| mean(of.candidates().iter().map(|one| share(one.is_copy)));
        tokens "proposal_length" [LENGTH] "Mean length of a challenge."
            => |of| mean(of.candidates().iter().map(|one| f64::from(one.sample.tokens)));
        share "stated_right_share" [RIGHT]
            "Stated answers that are right, of the challenges that can be evaluated exactly.",
            growth(Growth::StatedRight), highlighted(&[Comparison])
            => |of| mean(of.candidates().iter().filter_map(|one| one.is_right.map(share)));
        share "admitted_right_share" [RIGHT] "The same of the challenges that joined the growing set.",
            growth(Growth::AdmittedRight), highlighted(&[Comparison])
            => |of| {
                let joined = of.candidates().iter().filter(|one| one.joins.is_some());
                mean(joined.filter_map(|one| one.is_right.map(share)))
            };
    };
    let of_run: Measures<'t> = table! {
        number "pool_size" [POOL] "Tasks in the growing set after the step, those of the dataset included.",
            highlighted(&[StepLine, Comparison]), growth(Growth::Size) => |of| of.pool_size;
    };
    let mut measures = of_side(Side::Proposes, of_challenger);
    measures.extend(of_run);
    measures
}

charts! {
    chart QUESTIONS JUDGING "Score of questions":
        "Mean score of a challenge. Rising while the AUC does not, the critic is inflating its scores.";
    chart PLANS JUDGING "Score of plans": "Mean score of a plan.";
    chart AUC JUDGING "Critic AUC":
        "How well the score of a question tells right from wrong stated answers; 0.5 is guessing.";
    chart UNSCORED JUDGING "Unscored": "Share of the critic's answers without a number; their score is 0.5.";
    chart CRITIC_REWARD JUDGING "Critic reward": "Mean reward of a score: its format.";
}

const AUC_SUMMARY: &str = "Probability that a right stated answer has a higher score than a wrong one, of the challenges \
                           that can be evaluated exactly.";

fn judging_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        number "question_score" [QUESTIONS] "Mean score of a challenge.",
            growth(Growth::QuestionScore), highlighted(&[StepLine, Comparison])
            => |of| mean(of.questions().map(|critique| f64::from(critique.score)));
        number "plan_score" [PLANS] "Mean score of a plan.",
            growth(Growth::PlanScore), highlighted(&[StepLine, Comparison])
            => |of| mean(of.plans().map(|critique| f64::from(critique.score)));
        number "critic_auc" [AUC] AUC_SUMMARY, highlighted(&[Comparison]), growth(Growth::CriticAuc)
            => Scope::critic_auc;
        share "unscored_share" [UNSCORED] "Answers of the critic without a number.", highlighted(&[Learnability])
            => |of| {
                let all = of.questions().chain(of.plans());
                mean(all.map(|critique| share(!critique.is_scored)))
            };
        number "critic_reward" [CRITIC_REWARD] "Mean reward of a score." => |of| mean(of.rewards(Role::Critic));
    };
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

charts! {
    chart SHOWN PLANNING "Plans shown": "Share of the plans whose score is high enough for the solver to see them.";
    chart PLANNER_REWARD PLANNING "Planner reward": "Mean reward of a plan.";
}

fn planning_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        share "plan_shown_share" [SHOWN] "Plans that the solver saw.", highlighted(&[StepLine, Comparison]) => |of| {
            let plans = of.roles.contains(&Role::Planner);
            let planned = of.solved.iter().filter(|one| plans && one.planned.is_some());
            mean(planned.map(|one| share(one.is_shown)))
        };
        number "planner_reward" [PLANNER_REWARD] "Mean reward of a plan." => |of| mean(of.rewards(Role::Planner));
    };
    of_side(Side::Plans, measures)
}

charts! {
    chart SOLVER_REWARD SOLVING "Solver reward": "Mean reward of an answer.";
    chart LABELS SOLVING "Right labels":
        "Share of right stated answers, by which answers are judged, of the tasks answered that Lyceum can evaluate.";
}
const BY_PLAN: Chart = parts(&SOLVING, "Pass rate with and without a plan").about("Share of correct answers where the solver saw the plan, and where it did not. Plans of easy tasks may be better, so \
     a difference alone does not say that plans help.");

fn solving_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        = pass_rate().highlighted(&[StepLine, Comparison]);
        share "planned_pass_rate" [BY_PLAN] "Answers that are correct, where a plan was shown."
            => |of| of.pass_rate_where(true);
        share "unplanned_pass_rate" [BY_PLAN] "Answers that are correct, where no plan was shown."
            => |of| of.pass_rate_where(false);
        = format_rate();
        number "solver_reward" [SOLVER_REWARD] "Mean reward of an answer." => mean_reward;
        = no_signal_share().highlighted(&[Learnability]);
        = response_length();
        share "label_right_share" [LABELS] "Right stated answers, of the tasks answered that can be evaluated exactly."
            => |of| mean(of.solved().iter().filter_map(|one| one.has_right_label.map(share)));
    };
    of_side(Side::Solves, measures)
}

impl Scope<'_> {
    /// The share of correct answers where a plan was shown, or where none was.
    fn pass_rate_where(&self, is_shown: bool) -> f64 {
        let answers = self.solved().iter().filter(|one| one.is_shown == is_shown);
        mean(answers.map(|one| share(one.correct)))
    }
}
