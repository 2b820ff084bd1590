//! Metrics of recipes that play with code problems.

mod scope;

pub(crate) use self::scope::Tally;

use self::scope::{Scope, Scoped};
use crate::advantage::has_signal;
use crate::contract::Highlight::{Comparison, Learnability, StepLine};
use crate::contract::metric::{Measure, chart, charts, mean, parts, share, table};
use crate::contract::{
    COST, Chart, ChartGroup, CostClass, Expense, LEARNING, Metric, MetricRecord, PROPOSING, Role, SOLVING, Side, metric,
};
use crate::id::MemberId;
use crate::kit::measures::{STEPS, UPDATES, halvings, kl_to_base, policy, seconds, tokens, updates};
use crate::prompt::ReadingRule;
use crate::verdict::Signal;
use crate::verify::ProblemKind;
use crate::verify::ProblemKind::{CodeF, CodeI, CodeO};

/// The metrics, in the order of their values.
pub(crate) fn metrics() -> Vec<Metric> {
    metric::metrics(&measures())
}

impl Tally<'_> {
    /// The run's row and one row per member; members are given by position, the role their metrics are about, and
    /// identifier.
    pub(crate) fn records(&self, members: impl IntoIterator<Item = (usize, Role, MemberId)>) -> Vec<MetricRecord> {
        let members = members.into_iter().map(|(place, role, id)| {
            let scope = match role.side() {
                Side::Solves => Scope::Student(place),
                _ => Scope::Teacher(place),
            };
            (Some(id), Scoped::new(self, scope))
        });
        let run = (None, Scoped::new(self, Scope::Run));
        metric::records(&measures(), members.chain([run]))
    }
}

type Measures<'t> = Vec<Measure<'t, Scoped<'t>>>;

const COSTS: [CostClass; 6] =
    [CostClass::Propose, CostClass::Check, CostClass::Solve, CostClass::Grade, CostClass::Update, CostClass::Evolve];

/// All metrics, in the order of their values. Stored rows depend on the order: add new ones at the end.
fn measures<'t>() -> Measures<'t> {
    let mut measures = of_types();
    measures.extend(of_play());
    measures.extend(policy());
    measures.extend(of_costs());
    measures
}

/// Of problems of any type, and of each.
fn of_types<'t>() -> Measures<'t> {
    let solve_rate = Metric::share("solve_rate", &[&SOLVE_RATE])
        .summary("Attempts that solved their problem.")
        .highlighted(&[StepLine, Comparison])
        .signal(Signal::Solved);
    let format_rate =
        Metric::share("format_rate", &[&FORMAT_RATE]).summary("Attempts in the required form.").signal(Signal::Format);
    let difficulty = Metric::share("difficulty", &[&DIFFICULTY])
        .summary("1 − solve rate, over the attempts at a teacher's problems.")
        .highlighted(&[Comparison]);
    let validity = Metric::share("validity", &[&VALIDITY])
        .summary("Proposals that are valid problems.")
        .highlighted(&[StepLine, Comparison])
        .signal(Signal::Valid);
    let well_formed = |of: &Scoped<'t>| mean(of.attempts.iter().map(|attempt| share(attempt.well_formed)));
    let solve_rates = [
        ("solve_rate_code_i", "The same, of problems of type code_i."),
        ("solve_rate_code_o", "The same, of problems of type code_o."),
        ("solve_rate_code_f", "The same, of problems of type code_f."),
    ];
    let difficulties = [
        ("difficulty_code_i", "The same, of problems of type code_i."),
        ("difficulty_code_o", "The same, of problems of type code_o."),
        ("difficulty_code_f", "The same, of problems of type code_f."),
    ];
    let validities = [
        ("validity_code_i", "The same, of type code_i."),
        ("validity_code_o", "The same, of type code_o."),
        ("validity_code_f", "The same, of type code_f."),
    ];
    let mut measures = by_type(Scoped::solve_rate, solve_rate, &[&SOLVE_RATE_BY_TYPE], solve_rates);
    measures.push(format_rate.of(well_formed));
    measures.extend(by_type(Scoped::difficulty, difficulty, &[&DIFFICULTY_BY_TYPE], difficulties));
    measures.extend(by_type(Scoped::validity, validity, &[&VALIDITY_BY_TYPE], validities));
    measures
}

/// A metric of problems of any type, then that of each type.
fn by_type<'t>(
    value: fn(&Scoped<'t>, Option<ProblemKind>) -> f64,
    whole: Metric,
    charts: &'static [&'static Chart],
    parts: [(&'static str, &'static str); 3],
) -> Measures<'t> {
    let parts = [CodeI, CodeO, CodeF].into_iter().zip(parts).map(|(kind, (name, summary))| {
        let part = Metric::share(name, charts).summary(summary);
        part.computed_by(move |of: &Scoped<'t>| value(of, Some(kind)))
    });
    let whole = whole.computed_by(move |of: &Scoped<'t>| value(of, None));
    std::iter::once(whole).chain(parts).collect()
}

/// Of programs, rewards and ratings.
fn of_play<'t>() -> Measures<'t> {
    table! {
        new("levels") "ast_depth" [AST_DEPTH] "Mean nesting depth of the syntax trees of valid programs proposed."
            => |of| of.complexity(0);
        new("paths") "cyclomatic" [CYCLOMATIC] "Mean cyclomatic complexity of valid programs proposed.",
            highlighted(&[Comparison]) => |of| of.complexity(1);
        new("lines") "loc" [LOC] "Mean lines of code of valid programs proposed." => |of| of.complexity(2);
        new("names") "variables" [VARIABLES] "Mean count of variables of valid programs proposed."
            => |of| of.complexity(3);
        share "coverage" [COVERAGE] "Cells of the archive that have a problem.", highlighted(&[StepLine, Comparison])
            => |of| of.run_only(|tally| tally.coverage);
        number "qd_score" [QD_SCORE] "Sum of the objectives of the archive's elites."
            => |of| of.run_only(|tally| tally.qd_score);
        share "near_duplicate_rate" [NEAR_DUPLICATES]
            "Valid programs proposed that differ from an earlier one only in names and constants.",
            signal(Signal::Duplicates), highlighted(&[Learnability]) => |of| of.near_duplicates();
        share "unsolved_share" [LEARNABLE_SHARE] "Valid problems that no sample solved."
            => |of| of.band(|solved| solved.solved == 0 && solved.solved < solved.attempts);
        share "learnable_share" [LEARNABLE_SHARE] "Valid problems that some samples solved and others did not."
            => |of| of.band(|solved| (1..solved.attempts).contains(&solved.solved));
        share "mastered_share" [LEARNABLE_SHARE] "Valid problems that every sample solved."
            => |of| of.band(|solved| solved.solved > 0 && solved.solved == solved.attempts);
        number "teacher_reward" [TEACHER_REWARD] "Mean reward of proposals.", side(Side::Proposes)
            => |of| mean(of.proposals.iter().map(|(_, reward, _)| f64::from(*reward)));
        number "student_reward" [STUDENT_REWARD] "Mean reward of attempts.", side(Side::Solves)
            => |of| mean(of.attempts.iter().map(|attempt| f64::from(attempt.reward)));
        share "no_signal_share" [NO_SIGNAL] "Groups of attempts at one problem that all got the same reward.",
            signal(Signal::NoSignal), highlighted(&[Learnability])
            => |of| mean(of.groups().map(|rewards| share(!has_signal(&rewards))));
        share "teacher_wins" [TEACHER_WINS] "Matchups that the teacher won." => |of| of.teacher_wins();
        number "teacher_mu" [RATINGS_BY_ROLE, TEACHER_RATING] "Mean of the rating as a teacher.",
            side(Side::Proposes), highlighted(&[StepLine]) => |of| of.rating(Role::Teacher, |rating| rating.mu);
        number "teacher_sigma" [UNCERTAINTY] "Standard deviation of the rating as a teacher.", side(Side::Proposes)
            => |of| of.rating(Role::Teacher, |rating| rating.sigma);
        number "student_mu" [RATINGS_BY_ROLE, STUDENT_RATING] "Mean of the rating as a student.",
            side(Side::Solves), highlighted(&[StepLine]) => |of| of.rating(Role::Student, |rating| rating.mu);
        number "student_sigma" [UNCERTAINTY] "Standard deviation of the rating as a student.", side(Side::Solves)
            => |of| of.rating(Role::Student, |rating| rating.sigma);
    }
}

/// Of lengths, counts and costs, and those added later.
fn of_costs<'t>() -> Measures<'t> {
    let mut measures: Measures<'t> = table! {
        tokens "response_length" [LENGTHS, RESPONSE_LENGTH] "Mean length of all samples.", highlighted(&[Learnability])
            => |of| mean(of.proposal_lengths().chain(of.answer_lengths()));
        tokens "proposal_length" [LENGTHS] "Mean length of proposals.", highlighted(&[Learnability])
            => |of| mean(of.proposal_lengths());
        tokens "answer_length" [LENGTHS] "Mean length of attempts.", highlighted(&[Learnability])
            => |of| mean(of.answer_lengths());
        number "proposals" [COUNTS] "Proposals.", expense(Expense::Proposals) => |of| of.proposals.len() as f64;
        number "valid_problems" [COUNTS] "Valid problems." => |of| of.valid().count() as f64;
        number "attempts" [COUNTS] "Attempts.", expense(Expense::Attempts) => |of| of.attempts.len() as f64;
        = updates();
        number "births" [UPDATES] "Members born.", highlighted(&[StepLine])
            => |of| of.run_only(|tally| tally.births as f64);
        number "pool_size" [POOL_SIZE] "Problems in the pool after the step."
            => |of| of.run_only(|tally| tally.pool_size as f64);
        number "archive_insertions" [ARCHIVE_INSERTIONS] "Problems that entered the archive."
            => |of| of.run_only(|tally| tally.archive_insertions as f64);
    };
    let added: Measures<'t> = table! {
        nats "sampled_entropy" [SAMPLED_ENTROPY] "Mean entropy of the model over all samples."
            => |of| mean(of.entropies());
        = halvings();
        new("cells") "cells_per_problem" [CELLS_PER_PROBLEM]
            "Cells of the archive with a problem, per valid problem proposed so far."
             => |of| of.run_only(|tally| tally.cells_per_problem);
        share "steps_share" [STEPS] "Attempts with text before the part that is judged." => |of| of.steps_share();
        share "cut_attempts" [CUT] "Attempts that were cut at the token limit."
            => |of| mean(of.own_attempts().map(|attempt| share(attempt.sample.truncated)));
        share "flexible_share" [FORMAT_RATE] "Attempts whose answer another rule than the form found."
            => |of| mean(of.own_attempts().filter_map(|attempt| attempt.reading).map(|rule| share(rule != ReadingRule::Form)));
        share "cut_proposals" [CUT] "Proposals that were cut at the token limit."
            => |of| mean(of.proposals.iter().map(|(judged, ..)| share(judged.sample.truncated)));
        share "refused_copies" [COPIES] "Proposals that were refused as copies of a program that their prompt shows."
            => |of| mean(of.proposals.iter().map(|(judged, ..)| share(judged.is_copy)));
        share "warm_up" [WARMING_UP] "1 in a step of the warm-up, which rewards only form, and 0 in others."
            => |of| of.run_only(|tally| share(tally.warms_up));
        = kl_to_base();
    };
    measures.extend(tokens());
    measures.extend(COSTS.map(seconds));
    measures.extend(added);
    measures
}

const COMPLEXITY: ChartGroup = ChartGroup::new("Complexity", Some(Side::Proposes));
const COVERAGE_GROUP: ChartGroup = ChartGroup::new("Coverage", None);
const RATINGS: ChartGroup = ChartGroup::new("Ratings", None);

charts! {
    chart SOLVE_RATE SOLVING "Solve rate": "Share of attempts that are correct.";
    parts SOLVE_RATE_BY_TYPE SOLVING "Solve rate by type": "The same for each type of task.";
    parts LEARNABLE_SHARE SOLVING "Learnable share":
        "Valid problems solved by none, some or all samples. Only those solved by some teach anything.";
    chart NO_SIGNAL SOLVING "No signal": "Groups whose attempts all got the same reward.";
    parts FORMAT_RATE SOLVING "Format rate": "Share of attempts in the required form, and of answers found by another rule.";
    chart STUDENT_REWARD SOLVING "Student reward": "Mean reward of attempts.";
}

charts! {
    chart VALIDITY PROPOSING "Validity": "Share of proposals that parse, run and are deterministic.";
    parts VALIDITY_BY_TYPE PROPOSING "Validity by type": "The same for each type of task.";
    chart DIFFICULTY PROPOSING "Difficulty": "1 − solve rate over the attempts at a teacher's problems.";
    parts DIFFICULTY_BY_TYPE PROPOSING "Difficulty by type": "The same for each type of task.";
    chart TEACHER_REWARD PROPOSING "Teacher reward": "Mean reward of proposals, invalid ones included.";
    chart NEAR_DUPLICATES PROPOSING "Near-duplicates":
        "Valid proposals that equal an earlier one in all but names, constants and layout.";
    chart COPIES PROPOSING "Copies": "Proposals refused because their prompt shows their program.";
}

charts! {
    chart AST_DEPTH COMPLEXITY "AST depth": "Mean depth of the syntax tree of valid programs.";
    chart CYCLOMATIC COMPLEXITY "Cyclomatic complexity": "Mean number of independent paths.";
    chart LOC COMPLEXITY "Lines of code": "Mean over valid programs.";
    chart VARIABLES COMPLEXITY "Variables": "Mean over valid programs.";
}

charts! {
    chart COVERAGE COVERAGE_GROUP "Coverage": "Share of the archive's cells with a problem.";
    chart CELLS_PER_PROBLEM COVERAGE_GROUP "Cells per problem":
        "Cells of the archive with a problem, per valid problem proposed so far.";
    chart QD_SCORE COVERAGE_GROUP "QD score": "Sum over cells of the elite's objective.";
    chart ARCHIVE_INSERTIONS COVERAGE_GROUP "Archive insertions": "Problems that took a cell in this step.";
    chart POOL_SIZE COVERAGE_GROUP "Pool size": "Problems available as references.";
}

charts! {
    parts RATINGS_BY_ROLE RATINGS "Ratings by role": "Mean TrueSkill mu of the members of each role.";
    chart TEACHER_RATING RATINGS "Teacher rating": "TrueSkill's mu of each teacher.";
    chart STUDENT_RATING RATINGS "Student rating": "TrueSkill's mu of each student.";
    parts UNCERTAINTY RATINGS "Uncertainty by role": "Mean TrueSkill sigma of the members of each role.";
}
const TEACHER_WINS: Chart = chart(&RATINGS, "Teacher wins").about("Share of matchups that the teacher won. It is a thermostat, not a score: ratings adapt until each side wins as often as \
     predicted.");

charts! {
    chart SAMPLED_ENTROPY LEARNING "Sampled entropy": "Mean entropy of all samples, in nats.";
    chart WARMING_UP LEARNING "Warm-up": "1 in steps that reward only form: valid proposals, and answers in the asked form.";
    parts CUT LEARNING "Cut": "Share of attempts and of proposals that were cut at the token limit.";
    parts LENGTHS LEARNING "Lengths": "Mean tokens of all responses, proposals and attempts.";
    chart RESPONSE_LENGTH LEARNING "Response length": "Mean tokens of each member's responses.";
}

const COUNTS: Chart = parts(&COST, "Counts").about("Of this step.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = measures().iter().map(|measure| measure.metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), measures().len());
    }
}
