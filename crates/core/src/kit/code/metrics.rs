//! Metrics of recipes that play with code problems.

mod scope;

pub(crate) use self::scope::Tally;

use self::scope::{Scope, Scoped};
use crate::advantage::has_signal;
use crate::contract::Highlight::{Comparison, Learnability, StepLine};
use crate::contract::metric::{Measure, chart, mean, parts, share};
use crate::contract::{
    COST, Chart, ChartGroup, CostClass, Expense, LEARNING, Metric, MetricRecord, PROPOSING, Role, SOLVING, Side, metric,
};
use crate::id::MemberId;
use crate::kit::measures::{STEPS, UPDATES, halvings, policy, seconds, tokens, updates};
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
    vec![
        Metric::new("ast_depth", "levels", &[&AST_DEPTH])
            .summary("Mean nesting depth of the syntax trees of valid programs proposed.")
            .of(|of| of.complexity(0)),
        Metric::new("cyclomatic", "paths", &[&CYCLOMATIC])
            .summary("Mean cyclomatic complexity of valid programs proposed.")
            .highlighted(&[Comparison])
            .of(|of| of.complexity(1)),
        Metric::new("loc", "lines", &[&LOC])
            .summary("Mean lines of code of valid programs proposed.")
            .of(|of| of.complexity(2)),
        Metric::new("variables", "names", &[&VARIABLES])
            .summary("Mean count of variables of valid programs proposed.")
            .of(|of| of.complexity(3)),
        Metric::share("coverage", &[&COVERAGE])
            .summary("Cells of the archive that have a problem.")
            .highlighted(&[StepLine, Comparison])
            .of(|of| of.run_only(|tally| tally.coverage)),
        Metric::number("qd_score", &[&QD_SCORE])
            .summary("Sum of the objectives of the archive's elites.")
            .of(|of| of.run_only(|tally| tally.qd_score)),
        Metric::share("near_duplicate_rate", &[&NEAR_DUPLICATES])
            .summary("Valid programs proposed that differ from an earlier one only in names and constants.")
            .signal(Signal::Duplicates)
            .highlighted(&[Learnability])
            .of(|of| of.near_duplicates()),
        Metric::share("unsolved_share", &[&LEARNABLE_SHARE])
            .summary("Valid problems that no sample solved.")
            .of(|of| of.band(|solved| solved.solved == 0 && solved.solved < solved.attempts)),
        Metric::share("learnable_share", &[&LEARNABLE_SHARE])
            .summary("Valid problems that some samples solved and others did not.")
            .of(|of| of.band(|solved| (1..solved.attempts).contains(&solved.solved))),
        Metric::share("mastered_share", &[&LEARNABLE_SHARE])
            .summary("Valid problems that every sample solved.")
            .of(|of| of.band(|solved| solved.solved > 0 && solved.solved == solved.attempts)),
        Metric::number("teacher_reward", &[&TEACHER_REWARD])
            .summary("Mean reward of proposals.")
            .side(Side::Proposes)
            .of(|of| mean(of.proposals.iter().map(|(_, reward, _)| f64::from(*reward)))),
        Metric::number("student_reward", &[&STUDENT_REWARD])
            .summary("Mean reward of attempts.")
            .side(Side::Solves)
            .of(|of| mean(of.attempts.iter().map(|attempt| f64::from(attempt.reward)))),
        Metric::share("no_signal_share", &[&NO_SIGNAL])
            .summary("Groups of attempts at one problem that all got the same reward.")
            .signal(Signal::NoSignal)
            .highlighted(&[Learnability])
            .of(|of| mean(of.groups().map(|rewards| share(!has_signal(&rewards))))),
        Metric::share("teacher_wins", &[&TEACHER_WINS])
            .summary("Matchups that the teacher won.")
            .of(|of| of.teacher_wins()),
        Metric::number("teacher_mu", &[&RATINGS_BY_ROLE, &TEACHER_RATING])
            .summary("Mean of the rating as a teacher.")
            .side(Side::Proposes)
            .highlighted(&[StepLine])
            .of(|of| of.rating(Role::Teacher, |rating| rating.mu)),
        Metric::number("teacher_sigma", &[&UNCERTAINTY])
            .summary("Standard deviation of the rating as a teacher.")
            .side(Side::Proposes)
            .of(|of| of.rating(Role::Teacher, |rating| rating.sigma)),
        Metric::number("student_mu", &[&RATINGS_BY_ROLE, &STUDENT_RATING])
            .summary("Mean of the rating as a student.")
            .side(Side::Solves)
            .highlighted(&[StepLine])
            .of(|of| of.rating(Role::Student, |rating| rating.mu)),
        Metric::number("student_sigma", &[&UNCERTAINTY])
            .summary("Standard deviation of the rating as a student.")
            .side(Side::Solves)
            .of(|of| of.rating(Role::Student, |rating| rating.sigma)),
    ]
}

/// Of lengths, counts and costs, and those added later.
fn of_costs<'t>() -> Measures<'t> {
    let mut measures: Measures<'t> = vec![
        Metric::tokens("response_length", &[&LENGTHS, &RESPONSE_LENGTH])
            .summary("Mean length of all samples.")
            .highlighted(&[Learnability])
            .of(|of| mean(of.proposal_lengths().chain(of.answer_lengths()))),
        Metric::tokens("proposal_length", &[&LENGTHS])
            .summary("Mean length of proposals.")
            .highlighted(&[Learnability])
            .of(|of| mean(of.proposal_lengths())),
        Metric::tokens("answer_length", &[&LENGTHS])
            .summary("Mean length of attempts.")
            .highlighted(&[Learnability])
            .of(|of| mean(of.answer_lengths())),
        Metric::number("proposals", &[&COUNTS])
            .summary("Proposals.")
            .expense(Expense::Proposals)
            .of(|of| of.proposals.len() as f64),
        Metric::number("valid_problems", &[&COUNTS]).summary("Valid problems.").of(|of| of.valid().count() as f64),
        Metric::number("attempts", &[&COUNTS])
            .summary("Attempts.")
            .expense(Expense::Attempts)
            .of(|of| of.attempts.len() as f64),
        updates(),
        Metric::number("births", &[&UPDATES])
            .summary("Members born.")
            .highlighted(&[StepLine])
            .of(|of| of.run_only(|tally| tally.births as f64)),
        Metric::number("pool_size", &[&POOL_SIZE])
            .summary("Problems in the pool after the step.")
            .of(|of| of.run_only(|tally| tally.pool_size as f64)),
        Metric::number("archive_insertions", &[&ARCHIVE_INSERTIONS])
            .summary("Problems that entered the archive.")
            .of(|of| of.run_only(|tally| tally.archive_insertions as f64)),
    ];
    let added: Measures<'t> = vec![
        Metric::nats("sampled_entropy", &[&SAMPLED_ENTROPY])
            .summary("Mean entropy of the model over all samples.")
            .of(|of| mean(of.entropies())),
        halvings(),
        Metric::new("cells_per_problem", "cells", &[&CELLS_PER_PROBLEM])
            .summary("Cells of the archive with a problem, per valid problem proposed so far.")
            .of(|of| of.run_only(|tally| tally.cells_per_problem)),
        Metric::share("steps_share", &[&STEPS])
            .summary("Attempts with text before the part that is judged.")
            .of(|of| of.steps_share()),
    ];
    measures.extend(tokens());
    measures.extend(COSTS.map(seconds));
    measures.extend(added);
    measures
}

const COMPLEXITY: ChartGroup = ChartGroup::new("Complexity", Some(Side::Proposes));
const COVERAGE_GROUP: ChartGroup = ChartGroup::new("Coverage", None);
const RATINGS: ChartGroup = ChartGroup::new("Ratings", None);

const SOLVE_RATE: Chart = chart(&SOLVING, "Solve rate").about("Share of attempts that are correct.");
const SOLVE_RATE_BY_TYPE: Chart = parts(&SOLVING, "Solve rate by type").about("The same for each type of task.");
const LEARNABLE_SHARE: Chart = parts(&SOLVING, "Learnable share")
    .about("Valid problems solved by none, some or all samples. Only those solved by some teach anything.");
const NO_SIGNAL: Chart = chart(&SOLVING, "No signal").about("Groups whose attempts all got the same reward.");
const FORMAT_RATE: Chart = chart(&SOLVING, "Format rate").about("Share of attempts in the required form.");
const STUDENT_REWARD: Chart = chart(&SOLVING, "Student reward").about("Mean reward of attempts.");

const VALIDITY: Chart =
    chart(&PROPOSING, "Validity").about("Share of proposals that parse, run and are deterministic.");
const VALIDITY_BY_TYPE: Chart = parts(&PROPOSING, "Validity by type").about("The same for each type of task.");
const DIFFICULTY: Chart =
    chart(&PROPOSING, "Difficulty").about("1 − solve rate over the attempts at a teacher's problems.");
const DIFFICULTY_BY_TYPE: Chart = parts(&PROPOSING, "Difficulty by type").about("The same for each type of task.");
const TEACHER_REWARD: Chart =
    chart(&PROPOSING, "Teacher reward").about("Mean reward of proposals, invalid ones included.");
const NEAR_DUPLICATES: Chart = chart(&PROPOSING, "Near-duplicates")
    .about("Valid proposals that equal an earlier one in all but names, constants and layout.");

const AST_DEPTH: Chart = chart(&COMPLEXITY, "AST depth").about("Mean depth of the syntax tree of valid programs.");
const CYCLOMATIC: Chart = chart(&COMPLEXITY, "Cyclomatic complexity").about("Mean number of independent paths.");
const LOC: Chart = chart(&COMPLEXITY, "Lines of code").about("Mean over valid programs.");
const VARIABLES: Chart = chart(&COMPLEXITY, "Variables").about("Mean over valid programs.");

const COVERAGE: Chart = chart(&COVERAGE_GROUP, "Coverage").about("Share of the archive's cells with a problem.");
const CELLS_PER_PROBLEM: Chart = chart(&COVERAGE_GROUP, "Cells per problem")
    .about("Cells of the archive with a problem, per valid problem proposed so far.");
const QD_SCORE: Chart = chart(&COVERAGE_GROUP, "QD score").about("Sum over cells of the elite's objective.");
const ARCHIVE_INSERTIONS: Chart =
    chart(&COVERAGE_GROUP, "Archive insertions").about("Problems that took a cell in this step.");
const POOL_SIZE: Chart = chart(&COVERAGE_GROUP, "Pool size").about("Problems available as references.");

const RATINGS_BY_ROLE: Chart =
    parts(&RATINGS, "Ratings by role").about("Mean TrueSkill mu of the members of each role.");
const TEACHER_RATING: Chart = chart(&RATINGS, "Teacher rating").about("TrueSkill's mu of each teacher.");
const STUDENT_RATING: Chart = chart(&RATINGS, "Student rating").about("TrueSkill's mu of each student.");
const UNCERTAINTY: Chart =
    parts(&RATINGS, "Uncertainty by role").about("Mean TrueSkill sigma of the members of each role.");
const TEACHER_WINS: Chart = chart(&RATINGS, "Teacher wins").about("Share of matchups that the teacher won. It is a thermostat, not a score: ratings adapt until each side wins as often as \
     predicted.");

const SAMPLED_ENTROPY: Chart = chart(&LEARNING, "Sampled entropy").about("Mean entropy of all samples, in nats.");
const LENGTHS: Chart = parts(&LEARNING, "Lengths").about("Mean tokens of all responses, proposals and attempts.");
const RESPONSE_LENGTH: Chart = chart(&LEARNING, "Response length").about("Mean tokens of each member's responses.");

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
