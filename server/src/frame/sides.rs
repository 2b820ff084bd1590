//! Colours and names of members by the side they are on, so that pages serve recipes with any roles; and colours of values.

use lyceum_core::recipe::{Role, Side, Winner};
use lyceum_store::members::MemberName;
use serde::Serialize;
use std::collections::HashMap;
use uuid::Uuid;

/// The sides of `roles`, each once, by the name of its activity.
pub(crate) fn sides_of(roles: &[Role]) -> Vec<&'static str> {
    let on = Side::ALL.into_iter().filter(|side| plays(roles, *side));
    on.map(Side::name).collect()
}

/// Whether one of `roles` is on `side`.
pub(crate) fn plays(roles: &[Role], side: Side) -> bool {
    roles.iter().any(|role| role.side() == side)
}

/// Whether an attempt in `role` is an answer. Those of planners and critics are neither right nor wrong.
pub(crate) fn solves(role: &Role) -> bool {
    role.side() == Side::Solves
}

/// The class of elements in the colour of `role`.
pub(crate) fn class_of(role: &Role) -> &'static str {
    match role.side() {
        Side::Proposes => "side-proposing",
        Side::Solves => "side-solving",
        Side::Plans => "side-planning",
        Side::Judges => "side-judging",
    }
}

/// The class of elements in the colour of `winner`.
pub(crate) fn class_of_winner(winner: &Winner) -> &'static str {
    match winner {
        Winner::Teacher => class_of(&Role::Teacher),
        Winner::Student => class_of(&Role::Student),
    }
}

/// A key that sorts roles by side, proposers first.
pub(crate) fn order(role: Role) -> usize {
    let place = Side::ALL.into_iter().position(|side| role.side() == side);
    place.unwrap_or(Side::ALL.len())
}

/// What a run calls its proposers and its solvers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SideNames {
    /// Such as `teacher` or `challenger`.
    pub(crate) proposer: String,
    /// Such as `student` or `solver`.
    pub(crate) solver: String,
}

impl SideNames {
    /// The names in a run with these members.
    pub(crate) fn of(members: &[MemberName]) -> Self {
        let named = |side: Side, otherwise: &str| {
            let mut roles: Vec<&str> = Vec::new();
            for role in members.iter().flat_map(|member| &member.roles) {
                if role.side() == side && !roles.contains(&role.name()) {
                    roles.push(role.name());
                }
            }
            if roles.is_empty() { otherwise.to_owned() } else { roles.join(" or ") }
        };
        Self {
            proposer: named(Side::Proposes, Role::Proposer.name()),
            solver: named(Side::Solves, Role::Solver.name()),
        }
    }

    /// The name of the winner of a matchup.
    pub(crate) fn winner(&self, winner: &Winner) -> &str {
        match winner {
            Winner::Teacher => &self.proposer,
            Winner::Student => &self.solver,
        }
    }
}

/// The class of `value` between `low` and `high`; `heat-none` without a value.
pub(crate) fn heat(value: Option<f64>, (low, high): (f64, f64)) -> String {
    match value.filter(|value| value.is_finite()) {
        None => "heat-none".to_owned(),
        Some(value) => {
            let span = if high > low { high - low } else { 1.0 };
            format!("heat-{:.0}", ((value - low) / span).clamp(0.0, 1.0) * 10.0)
        }
    }
}

/// The smallest and the largest of `values`.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// A member by name.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) id: Uuid,
    pub(crate) name: String,
}

/// Names of members by id.
pub(crate) fn names(members: Vec<MemberName>) -> HashMap<Uuid, String> {
    members.into_iter().map(|member| (member.id, member.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn member(roles: &[Role]) -> MemberName {
        MemberName { id: Uuid::nil(), name: "m".to_owned(), roles: roles.to_vec() }
    }

    #[test]
    fn sides_have_the_names_of_the_run_s_own_roles() {
        let names = |members: &[MemberName]| {
            let names = SideNames::of(members);
            (names.proposer, names.solver)
        };
        let pair = |proposer: &str, solver: &str| (proposer.to_owned(), solver.to_owned());
        assert_eq!(names(&[member(&[Role::Teacher]), member(&[Role::Student])]), pair("teacher", "student"));
        assert_eq!(names(&[member(&[Role::Proposer, Role::Solver])]), pair("proposer", "solver"));
        let sage = [member(&[Role::Challenger]), member(&[Role::Critic, Role::Planner]), member(&[Role::Solver])];
        assert_eq!(names(&sage), pair("challenger", "solver"));
        assert_eq!(names(&[member(&[Role::Student])]), pair("proposer", "student"));
        let both = [member(&[Role::Challenger]), member(&[Role::Teacher])];
        assert_eq!(names(&both).0, "challenger or teacher");
    }

    #[test]
    fn only_solvers_answer() {
        assert_eq!((solves(&Role::Critic), solves(&Role::Student)), (false, true));
    }

    #[test]
    fn classes_are_spread_over_the_range() {
        let classes =
            [Some(0.0), Some(0.52), Some(1.0), Some(7.0), None, Some(f64::NAN)].map(|value| heat(value, (0.0, 1.0)));
        assert_eq!(classes, ["heat-0", "heat-5", "heat-10", "heat-10", "heat-none", "heat-none"]);
        assert_eq!(heat(Some(2.0), (2.0, 2.0)), "heat-0");
        assert_eq!(range([2.0, f64::NAN, -1.0].into_iter()), Some((-1.0, 2.0)));
        assert_eq!(range(std::iter::empty()), None);
    }
}
