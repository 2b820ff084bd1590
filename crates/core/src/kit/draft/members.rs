//! Members as kept in a run's memory.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{
    config::RunConfig,
    contract::{Role, Side},
    id::{ExecutionId, MemberId, VersionId},
    work::AdapterRef,
};

/// A living member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Living {
    /// Its name, which determines its identifier.
    pub name: String,
    /// Its population; `None` in a run with only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<String>,
    /// The roles it plays.
    pub roles: Vec<Role>,
    /// Its weights; `None` before its birth in step 0.
    pub adapter: Option<AdapterRef>,
    /// Updates since its birth.
    pub ordinal: u32,
    /// The step in which it was born.
    pub born: u32,
    /// Its own learning rate; `None` for the optimizer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
}

impl Living {
    /// A member that has no weights yet.
    pub fn unborn(name: String, roles: Vec<Role>, born: u32) -> Self {
        Self {
            name,
            population: None,
            roles,
            adapter: None,
            ordinal: 0,
            born,
            learning_rate: None,
        }
    }

    /// Its identifier in `run`.
    pub fn id(&self, run: ExecutionId) -> MemberId {
        MemberId::of(run, &self.name)
    }

    /// Its identifier and the version it plays with.
    pub fn playing(&self, run: ExecutionId) -> (MemberId, VersionId) {
        let id = self.id(run);
        (id, self.adapter.map_or(VersionId::of(id, 0), |adapter| adapter.version))
    }

    /// The first of its roles on `side`.
    pub fn role_of(&self, side: Side) -> Option<Role> {
        self.roles.iter().copied().find(|role| role.side() == side)
    }

    /// Whether it plays `role`.
    pub fn plays(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// How many names of each kind have been given out: names are never reused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names(BTreeMap<String, u32>);

impl Names {
    /// A name for a member with these roles: `teacher-0`, `teacher-1`, …; `agent-0` for one with several.
    pub fn next(&mut self, roles: &[Role]) -> String {
        let stem = match roles {
            [role] => role.name(),
            _ => "agent",
        };
        let number = self.0.entry(stem.to_owned()).or_default();
        let name = format!("{stem}-{number}");
        *number += 1;
        name
    }
}

/// The founding members of a config, in its order.
pub fn founders(config: &RunConfig, names: &mut Names) -> Vec<Living> {
    let has_several = config.populations.len() > 1;
    let groups = config.populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter();
        groups.map(move |group| (has_several.then(|| name.clone()), group))
    });
    let members = groups.flat_map(|(population, group)| std::iter::repeat_n((population, group), group.count as usize));
    members
        .map(|(population, group)| Living {
            population,
            ..Living::unborn(names.next(&group.roles), group.roles.clone(), 0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_up_by_role() {
        let mut names = Names::default();
        let mut next = |roles: &[Role]| names.next(roles);
        assert_eq!(next(&[Role::Teacher]), "teacher-0");
        assert_eq!(next(&[Role::Student]), "student-0");
        assert_eq!(next(&[Role::Teacher]), "teacher-1");
        assert_eq!(next(&[Role::Teacher, Role::Student]), "agent-0");
    }
}
