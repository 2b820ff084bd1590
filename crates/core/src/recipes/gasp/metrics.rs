//! The recipe's metrics. Those of other stages than the step's have no value.

use std::collections::BTreeMap;

use super::candidate::{Candidate, Fate};
use super::round::{EMBED, Posed};
use super::step::{Memory, Stone};
use super::{Parameters, ROLES};
use crate::contract::Highlight::{Comparison, Learnability, StepLine};
use crate::contract::metric::{Measure, charts, mean, of_side, parts, share, table};
use crate::contract::phase::{CHECK, ESTIMATE, GRADE, GRADE_ESTIMATE, PROPOSE, SOLVE};
use crate::contract::{
    Chart, CostClass, Metric, MetricRecord, PROPOSING, Phase, PlanError, Role, SOLVING, Side, metric,
};
use crate::kit::Draft;
use crate::kit::code::Attempt;
use crate::kit::measures::{
    Answered, Costs, HasAnswers, HasCosts, HasUpdates, format_rate, kl_to_base, mean_reward, no_signal_share, of_cost,
    of_prompts, pass_rate, policy, response_length, steps_share,
};
use crate::kit::rows::{Answer, FIT, HasRowAnswers, JUDGE, of_groups};
use crate::verdict::Signal;
use crate::verify::ProblemKind;
use crate::work::MemberUpdated;

type Measures<'t> = Vec<Measure<'t, Scope<'t>>>;

const PHASES: [Phase; 9] = [PROPOSE, CHECK, EMBED, ESTIMATE, GRADE_ESTIMATE, SOLVE, JUDGE, GRADE, FIT];
const COSTS: [CostClass; 6] =
    [CostClass::Propose, CostClass::Check, CostClass::Diversity, CostClass::Solve, CostClass::Grade, CostClass::Update];

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

/// Real data, of runs that have any.
#[derive(Clone, Copy)]
pub(super) struct RealData {
    /// Whether not all groups of answers are learned from.
    pub(super) selects_groups: bool,
}

impl Parameters {
    pub(super) fn real_data_measured(&self) -> Option<RealData> {
        self.real_data.as_ref().map(|real| RealData { selects_groups: real.selects_groups() })
    }
}

/// All measures. Those of real data are last, and only there if there are any.
fn measures<'t>(real_data: Option<RealData>) -> Measures<'t> {
    let mut measures = posing_measures();
    measures.extend(solving_measures());
    measures.extend(policy());
    measures.extend(of_cost(&COSTS));
    if let Some(RealData { selects_groups }) = real_data {
        measures.extend(of_real_data());
        if selects_groups {
            measures.extend(of_side(Side::Solves, of_groups()));
        }
    }
    measures.push(steps_share());
    measures.push(kl_to_base());
    measures
}

/// The metrics, in the order of their values; those of real data only if there are any.
pub(super) fn metrics(real_data: Option<RealData>) -> Vec<Metric> {
    metric::metrics(&measures(real_data))
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
    let measures = measures(parameters.real_data_measured());
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
        if self.roles.contains(&Role::Student) { &self.tally.attempts } else { &[] }
    }

    /// Answers to real data, if they concern the member.
    fn real_answers(&self) -> &[Answer] {
        if self.roles.contains(&Role::Student) { &self.tally.answers } else { &[] }
    }
}

impl HasRowAnswers for Scope<'_> {
    fn row_answers(&self) -> impl Iterator<Item = &Answer> {
        self.real_answers().iter()
    }
}

impl HasAnswers for Scope<'_> {
    fn answers(&self) -> impl Iterator<Item = Answered> {
        self.attempts().iter().map(|attempt| Answered {
            correct: attempt.correct,
            well_formed: attempt.well_formed,
            has_steps: attempt.sample.has_steps,
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
        candidates.into_iter().chain(formats.into_values()).chain(of_prompts(rows)).collect()
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
    parts ACCEPTED PROPOSING "Accepted": "Lemmas and lifts accepted in a stage.";
    parts SHORTFALL PROPOSING "Shortfall":
        "How many lemmas and lifts were missing when the rounds of a stage were spent; 0 if there were enough.";
    parts ROUNDS PROPOSING "Rounds": "Rounds of candidates in a stage.";
    parts SOLVE_RATE PROPOSING "Pass rate of candidates":
        "Mean share of the student's trials that solve a candidate, of those that were attempted.";
    parts TEACHER_REWARD PROPOSING "Teacher reward": "Mean reward of a candidate.";
}
const DISSIMILARITY: Chart = parts(&PROPOSING, "Buffer dissimilarity").about(
    "Mean dissimilarity of accepted lemmas and lifts to those of earlier iterations (Figure 10). It falls when the teacher \
     repeats itself.",
);
charts! {
    chart VALID PROPOSING "Valid candidates": "Share of the candidates that pass the verifier.";
    chart DUPLICATES PROPOSING "Duplicates":
        "Share of the valid candidates that were rejected as too similar to others.";
    chart IN_BAND PROPOSING "In band": "Share of the attempted candidates whose pass rate is within the band.";
    chart SIMILARITY PROPOSING "Similarity":
        "Mean of the highest cosine similarity of a valid candidate to another one.";
    chart LENGTH PROPOSING "Proposal length": "Mean tokens of a candidate.";
    parts BUFFER PROPOSING "Global buffers": "Lemmas and lifts accepted so far.";
}

fn posing_measures<'t>() -> Measures<'t> {
    let mut measures = by_stone();
    measures.extend(of_both());
    let mut measures = of_side(Side::Proposes, measures);
    let of_run: Measures<'t> = table! {
        number "buffer_size" [BUFFER] "Lemmas and lifts accepted so far." => |of| of.buffer_size;
    };
    measures.extend(of_run);
    measures
}

fn by_stone<'t>() -> Measures<'t> {
    table! {
        number "lemma_accepted" [ACCEPTED] "Lemmas accepted.", highlighted(&[StepLine, Comparison])
            => |of| of.of_stone(Stone::Lemma, accepted);
        number "lift_accepted" [ACCEPTED] "Lifts accepted.", highlighted(&[StepLine, Comparison])
            => |of| of.of_stone(Stone::Lift, accepted);
        number "lemma_shortfall" [SHORTFALL] "Lemmas missing to the target when all rounds were spent.",
            highlighted(&[Learnability]) => |of| of.of_stone(Stone::Lemma, shortfall);
        number "lift_shortfall" [SHORTFALL] "Lifts missing to the target when all rounds were spent.",
            highlighted(&[Learnability]) => |of| of.of_stone(Stone::Lift, shortfall);
        number "lemma_rounds" [ROUNDS] "Rounds of lemmas." => |of| of.of_stone(Stone::Lemma, rounds);
        number "lift_rounds" [ROUNDS] "Rounds of lifts." => |of| of.of_stone(Stone::Lift, rounds);
        share "lemma_solve_rate" [SOLVE_RATE] "Mean pass rate of lemmas that were attempted."
            => |of| of.of_stone(Stone::Lemma, solve_rate);
        share "lift_solve_rate" [SOLVE_RATE] "Mean pass rate of lifts that were attempted.", signal(Signal::Solved)
            => |of| of.of_stone(Stone::Lift, solve_rate);
        number "lemma_reward" [TEACHER_REWARD] "Mean reward of a lemma.", highlighted(&[StepLine])
            => |of| of.of_stone(Stone::Lemma, reward);
        number "lift_reward" [TEACHER_REWARD] "Mean reward of a lift.", highlighted(&[StepLine])
            => |of| of.of_stone(Stone::Lift, reward);
        number "lemma_dissimilarity" [DISSIMILARITY]
            "Mean dissimilarity of accepted lemmas to those of earlier iterations.",
            highlighted(&[Comparison]) => |of| of.of_stone(Stone::Lemma, dissimilarity);
        number "lift_dissimilarity" [DISSIMILARITY]
            "Mean dissimilarity of accepted lifts to those of earlier iterations.",
            highlighted(&[Comparison]) => |of| of.of_stone(Stone::Lift, dissimilarity);
    }
}

fn of_both<'t>() -> Measures<'t> {
    table! {
        share "valid_share" [VALID] "Candidates that pass the verifier.",
            signal(Signal::Valid), highlighted(&[StepLine])
            => |of| mean(of.candidates().map(|one| share(one.fate != Fate::Invalid)));
        share "duplicate_share" [DUPLICATES] "Valid candidates that were rejected as too similar to others.",
            signal(Signal::Duplicates), highlighted(&[Learnability])
            => |of| {
                let valid = of.candidates().filter(|one| one.fate != Fate::Invalid);
                mean(valid.map(|one| share(one.fate == Fate::Duplicate)))
            };
        share "in_band_share" [IN_BAND] "Attempted candidates whose pass rate is within the band.",
            signal(Signal::InBand), highlighted(&[StepLine, Learnability])
            => |of| {
                let attempted = of.candidates().filter(|one| one.solved.is_some());
                mean(attempted.map(|one| share(one.fate == Fate::InBand)))
            };
        number "nearest_similarity" [SIMILARITY]
            "Mean of the highest cosine similarity of a valid candidate to another one."
             => |of| mean(of.candidates().filter_map(|one| one.similarity).map(f64::from));
        tokens "proposal_length" [LENGTH] "Mean length of a candidate."
            => |of| mean(of.candidates().map(|one| f64::from(one.sample.tokens)));
    }
}

impl Scope<'_> {
    fn candidates(&self) -> impl Iterator<Item = &Candidate> {
        self.posed().into_iter().flat_map(|(_, posed)| &posed.candidates)
    }
}

fn accepted(_: &Scope<'_>, posed: &Posed) -> f64 {
    posed.accepted().count() as f64
}

fn shortfall(of: &Scope<'_>, posed: &Posed) -> f64 {
    f64::from(of.target) - accepted(of, posed)
}

fn rounds(_: &Scope<'_>, posed: &Posed) -> f64 {
    f64::from(posed.rounds)
}

fn solve_rate(_: &Scope<'_>, posed: &Posed) -> f64 {
    let solved = posed.candidates.iter().filter_map(|one| one.solved);
    mean(solved.map(|solved| f64::from(solved.rate())))
}

fn reward(_: &Scope<'_>, posed: &Posed) -> f64 {
    mean(posed.candidates.iter().map(|one| f64::from(one.reward)))
}

fn dissimilarity(_: &Scope<'_>, posed: &Posed) -> f64 {
    mean(posed.accepted().filter_map(|one| one.dissimilarity))
}

charts! {
    chart STUDENT_REWARD SOLVING "Student reward": "Mean reward of an attempt at a lemma or lift.";
    parts BY_FORMAT SOLVING "Pass rate by format":
        "Share of correct attempts at lemmas and lifts that are asked as induction, deduction and abduction.";
    parts REAL SOLVING "Real data": "Share of the answers to real data that are correct, and that have a solution.";
    chart REAL_REWARD SOLVING "Reward on real data": "Mean reward of an answer to real data.";
}

fn solving_measures<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        = pass_rate().highlighted(&[StepLine, Comparison]);
        share "induction_pass_rate" [BY_FORMAT] "Correct attempts at problems asked as induction."
            => |of| of.pass_rate_of(ProblemKind::CodeF);
        share "deduction_pass_rate" [BY_FORMAT] "Correct attempts at problems asked as deduction."
            => |of| of.pass_rate_of(ProblemKind::CodeO);
        share "abduction_pass_rate" [BY_FORMAT] "Correct attempts at problems asked as abduction."
            => |of| of.pass_rate_of(ProblemKind::CodeI);
        = format_rate();
        number "student_reward" [STUDENT_REWARD] "Mean reward of an attempt at a lemma or lift." => mean_reward;
        = no_signal_share().highlighted(&[Learnability]);
        = response_length();
    };
    of_side(Side::Solves, measures)
}

fn of_real_data<'t>() -> Measures<'t> {
    let measures: Measures<'t> = table! {
        share "real_pass_rate" [REAL] "Answers to real data that are correct.", highlighted(&[StepLine, Comparison])
            => |of| mean(of.real_answers().iter().map(|answer| share(answer.correct)));
        share "real_format_rate" [REAL] "Answers to real data with a solution in them."
            => |of| mean(of.real_answers().iter().map(|answer| share(answer.well_formed)));
        number "real_reward" [REAL_REWARD] "Mean reward of an answer to real data." => |of| {
            let rewards = of.real_answers().iter().map(|answer| answer.sequence.sampled.reward);
            mean(rewards.map(f64::from))
        };
    };
    of_side(Side::Solves, measures)
}

impl Scope<'_> {
    /// The share of correct attempts at problems posed in one format.
    fn pass_rate_of(&self, format: ProblemKind) -> f64 {
        let attempts = self.attempts().iter().filter(|attempt| attempt.kind == format);
        mean(attempts.map(|attempt| share(attempt.correct)))
    }
}
