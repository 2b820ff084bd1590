//! The recipe's metrics.

use std::collections::BTreeMap;

use super::admit::Candidate;
use super::challenge::CHALLENGE;
use super::critique::{CRITIQUE_PLAN, CRITIQUE_QUESTION, Critique};
use super::solve::{PLAN, Solved};
use super::step::{Step, lessons};
use crate::auc::auc;
use crate::contract::Highlight::{Comparison, Learnability, StepLine};
use crate::contract::metric::{Measure, chart, mean, of_side, parts, share};
use crate::contract::phase::{CHECK, ESTIMATE, GRADE, GRADE_ESTIMATE, SOLVE};
use crate::contract::{
    Chart, CostClass, Growth, JUDGING, Metric, MetricRecord, PLANNING, PROPOSING, Phase, PlanError, Role, SOLVING,
    Side, metric,
};
use crate::kit::measures::{
    Answered, Costs, HasAnswers, HasCosts, HasUpdates, format_rate, mean_reward, no_signal_share, of_cost, pass_rate,
    policy, response_length, steps_share,
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

const VALID: Chart =
    chart(&PROPOSING, "Valid challenges").about("Share of the challenges whose answer can be checked.");
const JOINED: Chart =
    chart(&PROPOSING, "Admitted challenges").about("Share of the challenges that joined the growing set.");
const DIFFICULTY: Chart = chart(&PROPOSING, "Difficulty")
    .about("Share of wrong answers without a plan to valid challenges. Ill-posed tasks count as difficult.");
const CHALLENGER_REWARD: Chart = chart(&PROPOSING, "Challenger reward").about("Mean reward of a challenge.");
const RIGHT: Chart = parts(&PROPOSING, "Right stated answers").about(
    "Share of the arithmetic questions that Lyceum can evaluate, of all challenges and of those that joined. Nothing \
     learns from it.",
);
const COPIES: Chart =
    chart(&PROPOSING, "Copies").about("Share of the challenges that repeat the question they were shown.");
const LENGTH: Chart = chart(&PROPOSING, "Proposal length").about("Mean tokens of a challenge.");
const POOL: Chart =
    parts(&PROPOSING, "Growing set").about("Tasks that can be shown to the challenger, planned and solved.");

fn challenging_measures<'t>() -> Measures<'t> {
    let of_challenger: Measures<'t> = vec![
        Metric::share("valid_share", &[&VALID])
            .summary("Challenges whose answer can be checked.")
            .signal(Signal::Valid)
            .of(|of| mean(of.candidates().iter().map(|one| share(one.estimate.is_some())))),
        Metric::share("admitted_share", &[&JOINED])
            .summary("Challenges that joined the growing set.")
            .growth(Growth::Admitted)
            .highlighted(&[StepLine, Comparison])
            .of(|of| mean(of.candidates().iter().map(|one| share(one.joins.is_some())))),
        Metric::share("difficulty", &[&DIFFICULTY])
            .summary("Wrong answers without a plan to valid challenges.")
            .highlighted(&[StepLine, Learnability])
            .of(|of| {
                let rates = of.candidates().iter().filter_map(|one| one.estimate);
                mean(rates.map(|estimate| 1.0 - f64::from(estimate.solve_rate())))
            }),
        Metric::number("challenger_reward", &[&CHALLENGER_REWARD])
            .summary("Mean reward of a challenge.")
            .highlighted(&[StepLine])
            .of(|of| mean(of.rewards(Role::Challenger))),
        Metric::share("copied_share", &[&COPIES])
            .summary("Challenges that repeat the question they were shown.")
            .signal(Signal::Duplicates)
            .highlighted(&[Learnability])
            .of(|of| mean(of.candidates().iter().map(|one| share(one.is_copy)))),
        Metric::tokens("proposal_length", &[&LENGTH])
            .summary("Mean length of a challenge.")
            .of(|of| mean(of.candidates().iter().map(|one| f64::from(one.sample.tokens)))),
        Metric::share("stated_right_share", &[&RIGHT])
            .summary("Stated answers that are right, of the challenges that can be evaluated exactly.")
            .growth(Growth::StatedRight)
            .highlighted(&[Comparison])
            .of(|of| mean(of.candidates().iter().filter_map(|one| one.is_right.map(share)))),
        Metric::share("admitted_right_share", &[&RIGHT])
            .summary("The same of the challenges that joined the growing set.")
            .growth(Growth::AdmittedRight)
            .highlighted(&[Comparison])
            .of(|of| {
                let joined = of.candidates().iter().filter(|one| one.joins.is_some());
                mean(joined.filter_map(|one| one.is_right.map(share)))
            }),
    ];
    let of_run: Measures<'t> = vec![
        Metric::number("pool_size", &[&POOL])
            .summary("Tasks in the growing set after the step, those of the dataset included.")
            .highlighted(&[StepLine, Comparison])
            .growth(Growth::Size)
            .of(|of| of.pool_size),
    ];
    let mut measures = of_side(Side::Proposes, of_challenger);
    measures.extend(of_run);
    measures
}

const QUESTIONS: Chart = chart(&JUDGING, "Score of questions")
    .about("Mean score of a challenge. Rising while the AUC does not, the critic is inflating its scores.");
const PLANS: Chart = chart(&JUDGING, "Score of plans").about("Mean score of a plan.");
const AUC: Chart = chart(&JUDGING, "Critic AUC")
    .about("How well the score of a question tells right from wrong stated answers; 0.5 is guessing.");
const UNSCORED: Chart =
    chart(&JUDGING, "Unscored").about("Share of the critic's answers without a number; their score is 0.5.");
const CRITIC_REWARD: Chart = chart(&JUDGING, "Critic reward").about("Mean reward of a score: its format.");

const AUC_SUMMARY: &str = "Probability that a right stated answer has a higher score than a wrong one, of the challenges \
                           that can be evaluated exactly.";

fn judging_measures<'t>() -> Measures<'t> {
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
        Metric::number("critic_reward", &[&CRITIC_REWARD])
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

const SHOWN: Chart =
    chart(&PLANNING, "Plans shown").about("Share of the plans whose score is high enough for the solver to see them.");
const PLANNER_REWARD: Chart = chart(&PLANNING, "Planner reward").about("Mean reward of a plan.");

fn planning_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        Metric::share("plan_shown_share", &[&SHOWN])
            .summary("Plans that the solver saw.")
            .highlighted(&[StepLine, Comparison])
            .of(|of| {
                let plans = of.roles.contains(&Role::Planner);
                let planned = of.solved.iter().filter(|one| plans && one.planned.is_some());
                mean(planned.map(|one| share(one.is_shown)))
            }),
        Metric::number("planner_reward", &[&PLANNER_REWARD])
            .summary("Mean reward of a plan.")
            .of(|of| mean(of.rewards(Role::Planner))),
    ];
    of_side(Side::Plans, measures)
}

const SOLVER_REWARD: Chart = chart(&SOLVING, "Solver reward").about("Mean reward of an answer.");
const LABELS: Chart = chart(&SOLVING, "Right labels").about(
    "Share of right stated answers, by which answers are judged, of the tasks answered that Lyceum can evaluate.",
);
const BY_PLAN: Chart = parts(&SOLVING, "Pass rate with and without a plan").about("Share of correct answers where the solver saw the plan, and where it did not. Plans of easy tasks may be better, so \
     a difference alone does not say that plans help.");

fn solving_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = vec![
        pass_rate().highlighted(&[StepLine, Comparison]),
        Metric::share("planned_pass_rate", &[&BY_PLAN])
            .summary("Answers that are correct, where a plan was shown.")
            .of(|of| of.pass_rate_where(true)),
        Metric::share("unplanned_pass_rate", &[&BY_PLAN])
            .summary("Answers that are correct, where no plan was shown.")
            .of(|of| of.pass_rate_where(false)),
        format_rate(),
        Metric::number("solver_reward", &[&SOLVER_REWARD]).summary("Mean reward of an answer.").of(mean_reward),
        no_signal_share().highlighted(&[Learnability]),
        response_length(),
        Metric::share("label_right_share", &[&LABELS])
            .summary("Right stated answers, of the tasks answered that can be evaluated exactly.")
            .of(|of| mean(of.solved().iter().filter_map(|one| one.has_right_label.map(share)))),
    ];
    of_side(Side::Solves, measures)
}

impl Scope<'_> {
    /// The share of correct answers where a plan was shown, or where none was.
    fn pass_rate_where(&self, is_shown: bool) -> f64 {
        let answers = self.solved().iter().filter(|one| one.is_shown == is_shown);
        mean(answers.map(|one| share(one.correct)))
    }
}
