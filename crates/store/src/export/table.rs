//! Tables that can be exported.

mod columns;

use std::borrow::Cow;

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Table {
    /// Proposed problems.
    Problems,
    Attempts,
    /// Matchups of teachers and students.
    Matchups,
    /// Metrics of every step, for the run and each member.
    Metrics,
    /// Members, with roles and lifetimes.
    Members,
    /// Each member's rating after each step.
    Ratings,
    /// Births, with parents and operator.
    Births,
    /// Deaths, with step and cause.
    Deaths,
    /// Geometry of members' updates, by version.
    Geometry,
    /// Cosines and distances of members' updates, by pair.
    GeometryPairs,
    /// Evaluations and their results.
    Evaluations,
    /// Each subject's result on each benchmark suite.
    Benchmarks,
    /// Answers to rows of a dataset, counted by step and row.
    RowAnswers,
    /// The state of what draws rows, by step and member.
    Samplers,
    /// Each member's correct answers to held-out rows.
    HeldOut,
    /// The mean result of the members that solve, with its difference from the base.
    Results,
}

lyceum_core::named!(Table, "a table");

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text, including JSON and ids.
    Text,
    /// An integer.
    Int,
    /// A floating-point number.
    Float,
    /// A boolean.
    Bool,
    /// A timestamp.
    Time,
}

/// A column. All are nullable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: Cow<'static, str>,
    /// Its type.
    pub kind: Kind,
}

/// Name, type and SQL expression.
type Source = (&'static str, Kind, &'static str);

impl Table {
    /// A description of a row.
    pub fn about(self) -> &'static str {
        match self {
            Self::Problems => "what was proposed, valid or not",
            Self::Attempts => "an answer of a member to a problem",
            Self::Matchups => "a teacher's meeting with a student",
            Self::Metrics => "a step, of the run or of a member",
            Self::Members => "a member, with its life",
            Self::Ratings => "a member's rating after a step",
            Self::Births => "a birth, with operator, parents and seed",
            Self::Deaths => "a death, with its cause",
            Self::Geometry => "a version's update at the births of a step: its norm and effective rank",
            Self::GeometryPairs => "two versions' updates at the births of a step: their cosine and distance",
            Self::Evaluations => "an evaluation of the run, with its result",
            Self::Benchmarks => "what a subject came to on a suite",
            Self::RowAnswers => "the answers to a row of the dataset in a step",
            Self::Samplers => "what the sampler of rows knew of a member before a step",
            Self::HeldOut => "a member's answers to the held-out rows in a step",
            Self::Results => {
                "the members that solve, on a suite after a step: their mean and its difference from the base"
            }
        }
    }

    pub(super) fn sources(self) -> &'static [Source] {
        match self {
            Self::Problems => &columns::PROBLEMS,
            Self::Attempts => &columns::ATTEMPTS,
            Self::Matchups => &columns::MATCHUPS,
            Self::Metrics => &columns::METRICS,
            Self::Members => &columns::MEMBERS,
            Self::Ratings => &columns::RATINGS,
            Self::Births => &columns::BIRTHS,
            Self::Deaths => &columns::DEATHS,
            Self::Geometry => &columns::GEOMETRY,
            Self::GeometryPairs => &columns::GEOMETRY_PAIRS,
            Self::Evaluations => &columns::EVALUATIONS,
            Self::Benchmarks => &columns::BENCHMARKS,
            Self::RowAnswers => &columns::ROW_ANSWERS,
            Self::Samplers => &columns::SAMPLERS,
            Self::HeldOut => &columns::HELD_OUT,
            Self::Results => &columns::RESULTS,
        }
    }

    /// The rows of the run `$1`, in the order they were written.
    fn rows(self) -> &'static str {
        match self {
            Self::Problems => {
                "problems x LEFT JOIN members p ON p.id = x.proposer_id WHERE x.run_id = $1 ORDER BY x.seq"
            }
            Self::Attempts => "attempts x JOIN members p ON p.id = x.member_id WHERE x.run_id = $1 ORDER BY x.seq",
            Self::Matchups => {
                "matchups x JOIN members p ON p.id = x.teacher_id JOIN members s ON s.id = x.student_id
                 WHERE x.run_id = $1 ORDER BY x.seq"
            }
            Self::Metrics => {
                "metrics x LEFT JOIN members p ON p.id = x.member_id WHERE x.run_id = $1
                 ORDER BY x.step, x.member_id NULLS FIRST"
            }
            Self::Members => {
                "members x JOIN populations p ON p.id = x.population_id LEFT JOIN births b ON b.child_id = x.id
                 WHERE x.run_id = $1 ORDER BY x.seq"
            }
            Self::Ratings => {
                "ratings x JOIN members p ON p.id = x.member_id WHERE x.run_id = $1
                 ORDER BY x.step, x.member_id, x.role"
            }
            Self::Births => {
                "births x JOIN members p ON p.id = x.child_id LEFT JOIN members r ON r.id = x.replaces_id
                 WHERE x.run_id = $1 ORDER BY p.seq"
            }
            Self::Deaths => {
                "members x LEFT JOIN (SELECT replaces_id, min(child_id::text) AS child_id FROM births WHERE run_id = $1
                     GROUP BY replaces_id) b ON b.replaces_id = x.id
                 WHERE x.run_id = $1 AND x.died_step IS NOT NULL ORDER BY x.died_step, x.seq"
            }
            Self::Geometry => {
                "geometry x JOIN members p ON p.id = x.member_id WHERE x.run_id = $1 ORDER BY x.step, p.seq"
            }
            Self::GeometryPairs => {
                "geometry_pairs x JOIN adapter_versions v ON v.id = x.first_id JOIN members p ON p.id = v.member_id
                 JOIN adapter_versions w ON w.id = x.second_id JOIN members q ON q.id = w.member_id
                 WHERE x.run_id = $1 ORDER BY x.step, p.seq, q.seq"
            }
            Self::Evaluations => "evaluations x JOIN executions e ON e.id = x.id WHERE x.run_id = $1 ORDER BY e.seq",
            Self::Benchmarks => "benchmark_results x WHERE x.run_id = $1 ORDER BY x.seq",
            Self::RowAnswers => "row_answers x WHERE x.run_id = $1 ORDER BY x.row, x.step",
            Self::Samplers => {
                "run_states x CROSS JOIN jsonb_each((x.state -> 'memory' -> 'sampler')::jsonb) s(member, state)
                 WHERE x.execution_id = $1 ORDER BY x.step, s.member"
            }
            Self::HeldOut => {
                "held_out_results x JOIN members p ON p.id = x.member_id WHERE x.run_id = $1 ORDER BY x.seq"
            }
            Self::Results => {
                "(SELECT DISTINCT ON (suite, row_set, decoding, step) x.* FROM past_of($1) past JOIN run_results x USING (run_id)
                  WHERE past.before IS NULL OR step <= past.before
                  ORDER BY suite, row_set, decoding, step, past.before DESC) x
                 ORDER BY x.suite, x.row_set, x.decoding, x.step"
            }
        }
    }

    /// The SQL that reads it.
    pub(super) fn statement(self) -> String {
        let mut columns: Vec<&str> = self.sources().iter().map(|(_, _, source)| *source).collect();
        if self == Self::Metrics {
            columns.push("x.\"values\"");
        }
        format!("SELECT {} FROM {}", columns.join(", "), self.rows())
    }

    /// Its columns; `metrics` are the names of the run's metrics.
    pub fn fields(self, metrics: &[String]) -> Vec<Field> {
        let fixed = self.sources().iter().map(|(name, kind, _)| Field { name: Cow::Borrowed(name), kind: *kind });
        let named = match self {
            Self::Metrics => metrics,
            _ => &[],
        };
        let named = named.iter().map(|name| Field { name: Cow::Owned(name.clone()), kind: Kind::Float });
        fixed.chain(named).collect()
    }
}
