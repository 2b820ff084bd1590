//! The charts of recipes that play with code problems.

use crate::contract::{
    COST, Chart, ChartGroup, LEARNING, PROPOSING, SOLVING, Side,
    metric::{chart, parts},
};

const COMPLEXITY: ChartGroup = ChartGroup::new("Complexity", Some(Side::Proposes));
const COVERAGE_GROUP: ChartGroup = ChartGroup::new("Coverage", None);
const RATINGS: ChartGroup = ChartGroup::new("Ratings", None);

pub(super) const SOLVE_RATE: Chart = chart(&SOLVING, "Solve rate").about("Share of attempts that are correct.");
pub(super) const SOLVE_RATE_BY_TYPE: Chart =
    parts(&SOLVING, "Solve rate by type").about("The same for each type of task.");
pub(super) const LEARNABLE_SHARE: Chart = parts(&SOLVING, "Learnable share")
    .about("Valid problems solved by none, some or all samples. Only those solved by some teach anything.");
pub(super) const NO_SIGNAL: Chart =
    chart(&SOLVING, "No signal").about("Groups whose attempts all got the same reward.");
pub(super) const FORMAT_RATE: Chart = chart(&SOLVING, "Format rate").about("Share of attempts in the required form.");
pub(super) const STUDENT_REWARD: Chart = chart(&SOLVING, "Student reward").about("Mean reward of attempts.");

pub(super) const VALIDITY: Chart =
    chart(&PROPOSING, "Validity").about("Share of proposals that parse, run and are deterministic.");
pub(super) const VALIDITY_BY_TYPE: Chart =
    parts(&PROPOSING, "Validity by type").about("The same for each type of task.");
pub(super) const DIFFICULTY: Chart =
    chart(&PROPOSING, "Difficulty").about("1 − solve rate over the attempts at a teacher's problems.");
pub(super) const DIFFICULTY_BY_TYPE: Chart =
    parts(&PROPOSING, "Difficulty by type").about("The same for each type of task.");
pub(super) const TEACHER_REWARD: Chart =
    chart(&PROPOSING, "Teacher reward").about("Mean reward of proposals, invalid ones included.");
pub(super) const NEAR_DUPLICATES: Chart = chart(&PROPOSING, "Near-duplicates")
    .about("Valid proposals that equal an earlier one in all but names, constants and layout.");

pub(super) const AST_DEPTH: Chart =
    chart(&COMPLEXITY, "AST depth").about("Mean depth of the syntax tree of valid programs.");
pub(super) const CYCLOMATIC: Chart =
    chart(&COMPLEXITY, "Cyclomatic complexity").about("Mean number of independent paths.");
pub(super) const LOC: Chart = chart(&COMPLEXITY, "Lines of code").about("Mean over valid programs.");
pub(super) const VARIABLES: Chart = chart(&COMPLEXITY, "Variables").about("Mean over valid programs.");

pub(super) const COVERAGE: Chart =
    chart(&COVERAGE_GROUP, "Coverage").about("Share of the archive's cells with a problem.");
pub(super) const CELLS_PER_PROBLEM: Chart = chart(&COVERAGE_GROUP, "Cells per problem")
    .about("Cells of the archive with a problem, per valid problem proposed so far.");
pub(super) const QD_SCORE: Chart = chart(&COVERAGE_GROUP, "QD score").about("Sum over cells of the elite's objective.");
pub(super) const ARCHIVE_INSERTIONS: Chart =
    chart(&COVERAGE_GROUP, "Archive insertions").about("Problems that took a cell in this step.");
pub(super) const POOL_SIZE: Chart = chart(&COVERAGE_GROUP, "Pool size").about("Problems available as references.");

pub(super) const RATINGS_BY_ROLE: Chart =
    parts(&RATINGS, "Ratings by role").about("Mean TrueSkill mu of the members of each role.");
pub(super) const TEACHER_RATING: Chart = chart(&RATINGS, "Teacher rating").about("TrueSkill's mu of each teacher.");
pub(super) const STUDENT_RATING: Chart = chart(&RATINGS, "Student rating").about("TrueSkill's mu of each student.");
pub(super) const UNCERTAINTY: Chart =
    parts(&RATINGS, "Uncertainty by role").about("Mean TrueSkill sigma of the members of each role.");
pub(super) const TEACHER_WINS: Chart = chart(&RATINGS, "Teacher wins").about("Share of matchups that the teacher won. It is a thermostat, not a score: ratings adapt until each side wins as often as \
     predicted.");

pub(super) const SAMPLED_ENTROPY: Chart =
    chart(&LEARNING, "Sampled entropy").about("Mean entropy of all samples, in nats.");
pub(super) const LENGTHS: Chart =
    parts(&LEARNING, "Lengths").about("Mean tokens of all responses, proposals and attempts.");
pub(super) const RESPONSE_LENGTH: Chart =
    chart(&LEARNING, "Response length").about("Mean tokens of each member's responses.");

pub(super) const COUNTS: Chart = parts(&COST, "Counts").about("Of this step.");
