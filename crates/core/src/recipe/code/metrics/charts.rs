//! The charts of recipes that play with code problems.

use crate::recipe::Side;
use crate::recipe::metric::{COST, Chart, ChartGroup, LEARNING, PROPOSING, SOLVING, chart, parts};

const COMPLEXITY: ChartGroup = ChartGroup {
    title: "Complexity",
    side: Some(Side::Proposes),
};
const COVERAGE_GROUP: ChartGroup = ChartGroup {
    title: "Coverage",
    side: None,
};
const RATINGS: ChartGroup = ChartGroup {
    title: "Ratings",
    side: None,
};

pub(super) const SOLVE_RATE: Chart = chart(&SOLVING, "Solve rate", "Share of attempts that are correct.");
pub(super) const SOLVE_RATE_BY_TYPE: Chart = parts(&SOLVING, "Solve rate by type", "The same for each type of task.");
pub(super) const LEARNABLE_SHARE: Chart = parts(
    &SOLVING,
    "Learnable share",
    "Valid problems solved by none, some or all samples. Only those solved by some teach anything.",
);
pub(super) const NO_SIGNAL: Chart = chart(&SOLVING, "No signal", "Groups whose attempts all got the same reward.");
pub(super) const FORMAT_RATE: Chart = chart(&SOLVING, "Format rate", "Share of attempts in the required form.");
pub(super) const STUDENT_REWARD: Chart = chart(&SOLVING, "Student reward", "Mean reward of attempts.");

pub(super) const VALIDITY: Chart = chart(
    &PROPOSING,
    "Validity",
    "Share of proposals that parse, run and are deterministic.",
);
pub(super) const VALIDITY_BY_TYPE: Chart = parts(&PROPOSING, "Validity by type", "The same for each type of task.");
pub(super) const DIFFICULTY: Chart = chart(
    &PROPOSING,
    "Difficulty",
    "1 − solve rate over the attempts at a teacher's problems.",
);
pub(super) const DIFFICULTY_BY_TYPE: Chart = parts(&PROPOSING, "Difficulty by type", "The same for each type of task.");
pub(super) const TEACHER_REWARD: Chart = chart(
    &PROPOSING,
    "Teacher reward",
    "Mean reward of proposals, invalid ones included.",
);
pub(super) const NEAR_DUPLICATES: Chart = chart(
    &PROPOSING,
    "Near-duplicates",
    "Valid proposals that equal an earlier one in all but names, constants and layout.",
);

pub(super) const AST_DEPTH: Chart = chart(
    &COMPLEXITY,
    "AST depth",
    "Mean depth of the syntax tree of valid programs.",
);
pub(super) const CYCLOMATIC: Chart = chart(
    &COMPLEXITY,
    "Cyclomatic complexity",
    "Mean number of independent paths.",
);
pub(super) const LOC: Chart = chart(&COMPLEXITY, "Lines of code", "Mean over valid programs.");
pub(super) const VARIABLES: Chart = chart(&COMPLEXITY, "Variables", "Mean over valid programs.");

pub(super) const COVERAGE: Chart = chart(
    &COVERAGE_GROUP,
    "Coverage",
    "Share of the archive's cells with a problem.",
);
pub(super) const CELLS_PER_PROBLEM: Chart = chart(
    &COVERAGE_GROUP,
    "Cells per problem",
    "Cells of the archive with a problem, per valid problem proposed so far.",
);
pub(super) const QD_SCORE: Chart = chart(&COVERAGE_GROUP, "QD score", "Sum over cells of the elite's objective.");
pub(super) const ARCHIVE_INSERTIONS: Chart = chart(
    &COVERAGE_GROUP,
    "Archive insertions",
    "Problems that took a cell in this step.",
);
pub(super) const POOL_SIZE: Chart = chart(&COVERAGE_GROUP, "Pool size", "Problems available as references.");

pub(super) const RATINGS_BY_ROLE: Chart = parts(
    &RATINGS,
    "Ratings by role",
    "Mean TrueSkill mu of the members of each role.",
);
pub(super) const TEACHER_RATING: Chart = chart(&RATINGS, "Teacher rating", "TrueSkill's mu of each teacher.");
pub(super) const STUDENT_RATING: Chart = chart(&RATINGS, "Student rating", "TrueSkill's mu of each student.");
pub(super) const UNCERTAINTY: Chart = parts(
    &RATINGS,
    "Uncertainty by role",
    "Mean TrueSkill sigma of the members of each role.",
);
pub(super) const TEACHER_WINS: Chart = chart(
    &RATINGS,
    "Teacher wins",
    "Share of matchups that the teacher won. It is a thermostat, not a score: ratings adapt until each side wins as often as \
     predicted.",
);

pub(super) const SAMPLED_ENTROPY: Chart = chart(&LEARNING, "Sampled entropy", "Mean entropy of all samples, in nats.");
pub(super) const LENGTHS: Chart = parts(
    &LEARNING,
    "Lengths",
    "Mean tokens of all responses, proposals and attempts.",
);
pub(super) const RESPONSE_LENGTH: Chart =
    chart(&LEARNING, "Response length", "Mean tokens of each member's responses.");

pub(super) const COUNTS: Chart = parts(&COST, "Counts", "Of this step.");
