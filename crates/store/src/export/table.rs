//! What can be exported.

use std::borrow::Cow;

/// A table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Everything that was proposed.
    Problems,
    /// Everything that was answered.
    Attempts,
    /// Meetings of teachers and students.
    Matchups,
    /// Values of every step, of the run and of each member.
    Metrics,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text; JSON and ids too.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Yes or no.
    Bool,
    /// A time.
    Time,
}

/// A column. Any may be without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it holds.
    pub kind: Kind,
}

/// Name, kind and where the value comes from.
pub(super) type Source = (&'static str, Kind, &'static str);

const PROBLEMS: [Source; 24] = [
    ("id", Kind::Text, "x.id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("index", Kind::Int, "x.index::int8"),
    ("type", Kind::Text, "x.type"),
    ("proposer_id", Kind::Text, "x.proposer_id::text"),
    ("proposer", Kind::Text, "p.name"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("prompt", Kind::Text, "x.prompt"),
    ("proposal", Kind::Text, "x.proposal"),
    ("valid", Kind::Bool, "x.valid"),
    ("status", Kind::Text, "x.status"),
    ("reason", Kind::Text, "x.reason"),
    ("program", Kind::Text, "x.program"),
    ("values", Kind::Text, "x.\"values\"::text"),
    ("ast_depth", Kind::Float, "x.ast_depth::float8"),
    ("cyclomatic", Kind::Float, "x.cyclomatic::float8"),
    ("loc", Kind::Float, "x.loc::float8"),
    ("variables", Kind::Float, "x.variables::float8"),
    ("cell", Kind::Int, "x.cell::int8"),
    ("solve_rate", Kind::Float, "x.solve_rate::float8"),
    ("attempts", Kind::Int, "x.attempts::int8"),
    ("reward", Kind::Float, "x.reward::float8"),
    ("reward_parts", Kind::Text, "x.reward_parts::text"),
    ("created_at", Kind::Time, "x.created_at"),
];

const ATTEMPTS: [Source; 17] = [
    ("id", Kind::Text, "x.id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("problem_id", Kind::Text, "x.problem_id::text"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
    ("version_id", Kind::Text, "x.version_id::text"),
    ("role", Kind::Text, "x.role"),
    ("sample", Kind::Int, "x.sample::int8"),
    ("text", Kind::Text, "x.text"),
    ("answer", Kind::Text, "x.answer"),
    ("well_formed", Kind::Bool, "x.well_formed"),
    ("status", Kind::Text, "x.status"),
    ("reason", Kind::Text, "x.reason"),
    ("correct", Kind::Bool, "x.correct"),
    ("reward", Kind::Float, "x.reward::float8"),
    ("reward_parts", Kind::Text, "x.reward_parts::text"),
    ("tokens", Kind::Int, "x.tokens::int8"),
];

const MATCHUPS: [Source; 11] = [
    ("id", Kind::Text, "x.id::text"),
    ("step", Kind::Int, "x.step::int8"),
    ("teacher_id", Kind::Text, "x.teacher_id::text"),
    ("teacher", Kind::Text, "p.name"),
    ("student_id", Kind::Text, "x.student_id::text"),
    ("student", Kind::Text, "s.name"),
    ("proposed", Kind::Int, "x.proposed::int8"),
    ("valid", Kind::Int, "x.valid::int8"),
    ("solve_rate", Kind::Float, "x.solve_rate::float8"),
    ("predicted", Kind::Float, "x.predicted::float8"),
    ("winner", Kind::Text, "x.winner"),
];

const METRICS: [Source; 3] = [
    ("step", Kind::Int, "x.step::int8"),
    ("member_id", Kind::Text, "x.member_id::text"),
    ("member", Kind::Text, "p.name"),
];

impl Table {
    /// Every table.
    pub const ALL: [Self; 4] = [Self::Problems, Self::Attempts, Self::Matchups, Self::Metrics];

    /// Its name in addresses and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Problems => "problems",
            Self::Attempts => "attempts",
            Self::Matchups => "matchups",
            Self::Metrics => "metrics",
        }
    }

    pub(super) fn sources(self) -> &'static [Source] {
        match self {
            Self::Problems => &PROBLEMS,
            Self::Attempts => &ATTEMPTS,
            Self::Matchups => &MATCHUPS,
            Self::Metrics => &METRICS,
        }
    }

    /// The statement that reads it, in the order in which it was written.
    pub(super) fn statement(self) -> String {
        let mut columns: Vec<&str> = self.sources().iter().map(|(_, _, source)| *source).collect();
        let rest = match self {
            Self::Problems => {
                "problems x LEFT JOIN members p ON p.id = x.proposer_id WHERE x.run_id = $1 ORDER BY x.seq"
            }
            Self::Attempts => "attempts x JOIN members p ON p.id = x.member_id WHERE x.run_id = $1 ORDER BY x.seq",
            Self::Matchups => {
                "matchups x JOIN members p ON p.id = x.teacher_id JOIN members s ON s.id = x.student_id
                 WHERE x.run_id = $1 ORDER BY x.seq"
            }
            Self::Metrics => {
                columns.push("x.\"values\"");
                "metrics x LEFT JOIN members p ON p.id = x.member_id WHERE x.run_id = $1
                 ORDER BY x.step, x.member_id NULLS FIRST"
            }
        };
        format!("SELECT {} FROM {rest}", columns.join(", "))
    }

    /// Its columns; `metrics` names those of the run.
    pub fn fields(self, metrics: &[String]) -> Vec<Field> {
        let fixed = self.sources().iter().map(|(name, kind, _)| Field {
            name: Cow::Borrowed(name),
            kind: *kind,
        });
        let named = match self {
            Self::Metrics => metrics,
            _ => &[],
        };
        let named = named.iter().map(|name| Field {
            name: Cow::Owned(name.clone()),
            kind: Kind::Float,
        });
        fixed.chain(named).collect()
    }
}
