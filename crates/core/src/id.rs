//! Typed identifiers. Identifiers of planned things are hashes of what they name, so planning again gives the same
//! ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

use crate::work::WorkKey;

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }
    )*};
}

identifiers! {
    /// Runs to be compared.
    ExperimentId
    /// One execution of a plan: a run or an evaluation. Both are scheduled alike.
    ExecutionId
    /// One item of a step.
    WorkId
    /// The members of a run that share a base model and an adapter shape.
    PopulationId
    /// One adapter of a population through all its versions.
    MemberId
    /// The weights of a member after a birth or an update.
    VersionId
    /// A proposed problem.
    ProblemId
    /// One answer of one member to a problem.
    AttemptId
    /// A match between a teacher and a student in one step.
    MatchupId
    /// An imported, hashed set of rows.
    DatasetId
    /// One process that takes work.
    WorkerId
}

/// The hash behind every planned identifier: UUID version 5 (RFC 9562) of a readable path below its owner.
fn below(owner: Uuid, path: &str) -> Uuid {
    Uuid::new_v5(&owner, path.as_bytes())
}

impl WorkId {
    /// The item at `key` of `execution`.
    pub fn of(execution: ExecutionId, key: &WorkKey) -> Self {
        Self(below(execution.0, &format!("work/{key}")))
    }
}

impl PopulationId {
    /// The population called `name` in a run.
    pub fn of(run: ExecutionId, name: &str) -> Self {
        Self(below(run.0, &format!("population/{name}")))
    }
}

impl MemberId {
    /// The member called `name` in a run. Names are never reused, so a child has its own.
    pub fn of(run: ExecutionId, name: &str) -> Self {
        Self(below(run.0, &format!("member/{name}")))
    }
}

impl VersionId {
    /// The `ordinal`th version of a member; 0 is its birth.
    pub fn of(member: MemberId, ordinal: u32) -> Self {
        Self(below(member.0, &format!("version/{ordinal}")))
    }
}

impl ProblemId {
    /// The problem proposed by sample `sample` of request `request` of the work item `work`.
    pub fn of(work: WorkId, request: &str, sample: u32) -> Self {
        Self(below(work.0, &format!("problem/{request}/{sample}")))
    }
}

impl AttemptId {
    /// The attempt made by sample `sample` of request `request` of the work item `work`.
    pub fn of(work: WorkId, request: &str, sample: u32) -> Self {
        Self(below(work.0, &format!("attempt/{request}/{sample}")))
    }
}

impl MatchupId {
    /// The match between a teacher and a student in `step` of a run.
    pub fn of(run: ExecutionId, step: u32, teacher: MemberId, student: MemberId) -> Self {
        Self(below(run.0, &format!("matchup/{step}/{teacher}/{student}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_path_names_the_same_work_and_another_path_another() {
        let run = ExecutionId(Uuid::from_u128(7));
        let key = WorkKey::new(3, "propose").chunk(2);
        assert_eq!(WorkId::of(run, &key), WorkId::of(run, &key.clone()));
        assert_ne!(WorkId::of(run, &key), WorkId::of(run, &key.clone().round(1)));
        assert_ne!(WorkId::of(run, &key), WorkId::of(ExecutionId(Uuid::from_u128(8)), &key));
    }

    #[test]
    fn identifiers_are_stable_across_releases() {
        let run = ExecutionId(Uuid::from_u128(1));
        // Python: uuid.uuid5(uuid.UUID(int=1), "work/0/propose/0/0")
        assert_eq!(WorkId::of(run, &WorkKey::new(0, "propose")).to_string(), "d83c2bf5-d1ef-5659-b101-d29f772cc1da");
    }
}
