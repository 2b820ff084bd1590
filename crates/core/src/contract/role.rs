//! Roles of members.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Proposes to students (PopuLoRA).
    Teacher,
    /// Solves teachers' problems (PopuLoRA, GASP).
    Student,
    /// Proposes (Absolute Zero, R-Zero).
    Proposer,
    /// Solves (Absolute Zero, R-Zero, SAGE).
    Solver,
    /// Proposes (SAGE).
    Challenger,
    /// Plans a solution (SAGE).
    Planner,
    /// Judges a proposal or a plan (SAGE).
    Critic,
}

crate::named!(Role, "a role");

/// A role's contribution to a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Poses it.
    Proposes,
    /// Answers it. Only answers count towards solve rates and sums over attempts.
    Solves,
    /// Plans an answer.
    Plans,
    /// Scores it, or a plan for it.
    Judges,
}

impl Role {
    /// Its contribution to a problem.
    pub fn side(self) -> Side {
        match self {
            Self::Teacher | Self::Proposer | Self::Challenger => Side::Proposes,
            Self::Student | Self::Solver => Side::Solves,
            Self::Planner => Side::Plans,
            Self::Critic => Side::Judges,
        }
    }
}

impl Side {
    /// Every side.
    pub const ALL: [Self; 4] = [Self::Proposes, Self::Solves, Self::Plans, Self::Judges];

    /// The name of a side as an activity: `proposing`, `solving`, `planning` or `judging`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposes => "proposing",
            Self::Solves => "solving",
            Self::Plans => "planning",
            Self::Judges => "judging",
        }
    }

    /// The roles of this side.
    pub fn roles(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| role.side() == self)
    }
}
