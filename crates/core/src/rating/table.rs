//! The ratings of a run's members, as kept in its memory.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Rating, TrueSkillConfig};
use crate::{
    contract::{RatingRecord, Role},
    id::MemberId,
};

/// A rating for every member and role that has one; a member with both roles has two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratings(BTreeMap<MemberId, BTreeMap<Role, Rating>>);

impl Ratings {
    /// The rating of `member` in `role`; the prior if it has none yet.
    pub fn get(&self, member: MemberId, role: Role, config: &TrueSkillConfig) -> Rating {
        let of_member = self.0.get(&member);
        of_member
            .and_then(|roles| roles.get(&role))
            .copied()
            .unwrap_or_else(|| config.prior())
    }

    /// Sets a rating, for example at a birth.
    pub fn set(&mut self, member: MemberId, role: Role, rating: Rating) {
        self.0.entry(member).or_default().insert(role, rating);
    }

    /// Forgets a member that died.
    pub fn remove(&mut self, member: MemberId) {
        self.0.remove(&member);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One row per rating, by member and role.
    pub fn records(&self) -> Vec<RatingRecord> {
        let of_member = |(&member, roles): (&MemberId, &BTreeMap<Role, Rating>)| {
            roles
                .iter()
                .map(|(&role, &Rating { mu, sigma })| RatingRecord {
                    member,
                    role,
                    mu,
                    sigma,
                })
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_member).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_table_survives_its_json_and_forgets_the_dead() {
        let config = TrueSkillConfig::default();
        let [one, other] = [1, 2].map(|id| MemberId(Uuid::from_u128(id)));
        let mut ratings = Ratings::default();
        ratings.set(one, Role::Teacher, Rating { mu: 20.0, sigma: 3.0 });
        ratings.set(one, Role::Student, Rating { mu: 30.0, sigma: 2.0 });
        assert_eq!(ratings.get(other, Role::Student, &config), config.prior());
        assert_eq!(ratings.records().len(), 2);

        let json = serde_json::to_value(&ratings).unwrap();
        assert_eq!(serde_json::from_value::<Ratings>(json).unwrap(), ratings);
        ratings.remove(one);
        assert_eq!(ratings.get(one, Role::Student, &config), config.prior());
        assert!(ratings.is_empty());
    }
}
