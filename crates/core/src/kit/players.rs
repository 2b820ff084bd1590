//! Roles that are each played by one member.

use super::not_a_role;
use crate::{
    config::{MemberGroup, RunConfig, pointer_token},
    contract::Role,
    fault::Fault,
};

/// The groups of members of a config, each with its JSON pointer.
pub(crate) fn groups(config: &RunConfig) -> Vec<(String, &MemberGroup)> {
    let populations = config.populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter().enumerate();
        groups.map(move |(index, group)| {
            let place = format!("/populations/{}/members/{index}", pointer_token(name));
            (place, group)
        })
    });
    populations.collect()
}

/// Faults of a config that does not have one member for each of `roles`, or has other roles. A role that is not needed
/// may be missing.
pub(crate) fn player_faults(config: &RunConfig, roles: &[Role], is_needed: impl Fn(Role) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let groups = groups(config);
    for (place, group) in &groups {
        if group.count != 1 {
            let detail = format!("{}: 1 is valid, since each role is played by one member", group.count);
            faults.push(Fault::new(format!("{place}/count"), detail));
        }
        if let Some(other) = group.roles.iter().find(|role| !roles.contains(role)) {
            let detail = not_a_role(*other, roles).to_string();
            faults.push(Fault::new(format!("{place}/roles"), detail));
        }
    }
    for role in roles.iter().copied() {
        let playing = groups
            .iter()
            .flat_map(|(place, group)| group.roles.iter().map(move |role| (place, *role)));
        let mut homes = playing.filter(|(_, played)| *played == role).map(|(place, _)| place);
        match (homes.next(), homes.next()) {
            (None, _) if is_needed(role) => {
                let detail = format!(
                    "nobody plays {0}: add it to the roles of a member, or a member with roles = [\"{0}\"]",
                    role.name()
                );
                faults.push(Fault::new("/populations", detail));
            }
            (Some(_), Some(other)) => {
                let detail = format!("{} is played twice: one member plays it", role.name());
                faults.push(Fault::new(format!("{other}/roles"), detail));
            }
            _ => {}
        }
    }
    faults
}
