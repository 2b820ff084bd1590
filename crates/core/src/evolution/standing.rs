//! The members at the bottom of the ranking.

use rand::seq::SliceRandom as _;
use std::cmp::Ordering;

use super::{Culling, EvolutionConfig};
use crate::contract::Role;
use crate::id::MemberId;
use crate::rating::{Rating, TrueSkillConfig};
use crate::seed::stream;

/// A living member at an evolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub member: MemberId,
    pub roles: Vec<(Role, Rating)>,
    /// Whether it is protected from replacement for now.
    pub protected: bool,
}

impl Standing {
    /// Its rating in `role`, if it plays it.
    pub fn rating(&self, role: Role) -> Option<Rating> {
        self.roles.iter().find(|(played, _)| *played == role).map(|&(_, rating)| rating)
    }
}

/// Positions of the members that play `role`, best lower bound first; ties go to the earlier one.
pub(super) fn ranked(members: &[Standing], role: Role, config: &TrueSkillConfig) -> Vec<usize> {
    let bound = |index: usize| members[index].rating(role).map(|rating| config.lower_bound(rating));
    let mut order: Vec<usize> = (0..members.len()).filter(|&index| bound(index).is_some()).collect();
    order.sort_by(|&first, &second| bound(second).partial_cmp(&bound(first)).unwrap_or(Ordering::Equal));
    order
}

/// The members to replace at the end of `step`, with the role each is replaced for: for each role (in the order of
/// [`Role::ALL`]), [`EvolutionConfig::quota`] members, lowest lower bound first or drawn from `root`, the run's seed
/// ([`Culling`]). Protected members stay, and by rating so does the member of highest mu in any role. One unprotected member
/// of a role always stays: a role with a single candidate would lose it whatever its rating. A member of several roles
/// counts against the quota of each.
pub fn culled(
    members: &[Standing],
    config: &EvolutionConfig,
    ratings: &TrueSkillConfig,
    root: u64,
    step: u32,
) -> Vec<(usize, Role)> {
    let mut gone: Vec<(usize, Role)> = Vec::new();
    for role in Role::ALL {
        let mut order = ranked(members, role, ratings);
        if config.culling == Culling::Random {
            order.shuffle(&mut stream(root, &format!("culling/{}", role.name()), u64::from(step)));
        }
        let is_gone = |gone: &[(usize, Role)], index| gone.iter().any(|&(other, _)| other == index);
        let already = order.iter().filter(|&&index| is_gone(&gone, index)).count();
        let candidates = order.iter().filter(|&&index| !members[index].protected).count();
        let quota = config.quota(order.len()).min(candidates.saturating_sub(1));
        let mut left = quota.saturating_sub(already);
        for &index in order.iter().rev() {
            if left == 0 {
                break;
            }
            let stays = members[index].protected || (config.culling == Culling::Rating && is_best(members, index));
            if !stays && !is_gone(&gone, index) {
                gone.push((index, role));
                left -= 1;
            }
        }
    }
    gone
}

/// Whether it has the highest mu in one of its roles; ties go to the earlier one.
fn is_best(members: &[Standing], index: usize) -> bool {
    members[index].roles.iter().any(|&(role, own)| {
        let beats = |(at, other): (usize, &Standing)| {
            let other = other.rating(role)?;
            Some(other.mu > own.mu || (other.mu == own.mu && at < index))
        };
        !members.iter().enumerate().filter_map(beats).any(|is_better| is_better)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    pub(crate) fn members() -> impl Strategy<Value = Vec<Standing>> {
        let roles = prop_oneof![
            Just(vec![Role::Teacher]),
            Just(vec![Role::Student]),
            Just(vec![Role::Teacher, Role::Student]),
        ];
        let member = (roles, 0.0..50.0, 1.0..9.0, any::<bool>());
        prop::collection::vec(member, 0..12).prop_map(|members| {
            let standing = |(index, (roles, mu, sigma, protected)): (usize, (Vec<Role>, f64, f64, bool))| Standing {
                member: MemberId(Uuid::from_u128(index as u128)),
                roles: roles.into_iter().map(|role| (role, Rating { mu, sigma })).collect(),
                protected,
            };
            members.into_iter().enumerate().map(standing).collect()
        })
    }

    proptest! {
        #[test]
        fn neither_a_protected_member_nor_the_best_of_a_role_is_culled(members in members(), fraction in 0.01..1.0) {
            let config = EvolutionConfig { fraction, ..EvolutionConfig::default() };
            let gone = culled(&members, &config, &TrueSkillConfig::default(), 1, 9);
            for role in Role::ALL {
                let players: Vec<usize> = (0..members.len()).filter(|&m| members[m].rating(role).is_some()).collect();
                let survivors = players.iter().filter(|&&m| gone.iter().all(|&(dead, _)| dead != m)).count();
                prop_assert!(players.is_empty() || survivors > 0);
                let mu = |m: usize| members[m].rating(role).map_or(f64::NAN, |rating| rating.mu);
                let best = players.iter().rev().copied().max_by(|&a, &b| mu(a).total_cmp(&mu(b)));
                prop_assert!(gone.iter().all(|&(dead, _)| Some(dead) != best));
                let candidates = players.iter().filter(|&&m| !members[m].protected).count();
                let culled = gone.iter().filter(|&&(_, of)| of == role).count();
                prop_assert!(culled == 0 || culled < candidates, "{culled} of {candidates}");
                prop_assert!(gone.iter().filter(|&&(_, of)| of == role).count() <= config.quota(players.len()));
            }
            let mut dead: Vec<usize> = gone.iter().map(|&(dead, _)| dead).collect();
            dead.sort_unstable();
            dead.dedup();
            prop_assert_eq!(dead.len(), gone.len());
            prop_assert!(gone.iter().all(|&(dead, _)| !members[dead].protected));
        }
    }

    #[test]
    fn at_random_every_unprotected_member_goes_equally_often_and_the_same_one_by_the_same_seed() {
        let standing = |id: u32| Standing {
            member: MemberId(Uuid::from_u128(u128::from(id))),
            roles: vec![(Role::Student, Rating { mu: f64::from(id) * 10.0, sigma: 1.0 })],
            protected: id == 2,
        };
        let members: Vec<Standing> = (0..4).map(standing).collect();
        let ratings = TrueSkillConfig::default();
        let config = EvolutionConfig { culling: Culling::Random, ..EvolutionConfig::default() };
        let mut gone = [0; 4];
        for step in 0..3000 {
            let drawn = culled(&members, &config, &ratings, 7, step);
            let [(dead, Role::Student)] = drawn[..] else { panic!("{drawn:?}") };
            gone[dead] += 1;
            assert_eq!(drawn, culled(&members, &config, &ratings, 7, step));
        }
        assert_eq!(gone[2], 0, "it is protected");
        // Five standard deviations of a binomial of 3000 draws and 1/3 are 129.
        assert!([0, 1, 3].iter().all(|&member| (871..=1129).contains(&gone[member])), "{gone:?}");
    }

    #[test]
    fn the_lowest_bound_goes_first_and_uncertainty_counts_against_a_member() {
        let standing = |id: u128, role, mu, sigma| Standing {
            member: MemberId(Uuid::from_u128(id)),
            roles: vec![(role, Rating { mu, sigma })],
            protected: false,
        };
        let mut members = vec![
            standing(0, Role::Teacher, 20.0, 1.0),
            standing(1, Role::Teacher, 25.0, 5.0),
            standing(2, Role::Teacher, 26.0, 6.0),
            standing(3, Role::Student, 25.0, 1.0),
            standing(4, Role::Student, 24.0, 1.0),
        ];
        let (config, ratings) = (EvolutionConfig::default(), TrueSkillConfig::default());
        assert_eq!(
            culled(&members, &config, &ratings, 1, 9),
            [(1, Role::Teacher), (4, Role::Student)],
            "2 has a lower bound than 1, but the highest mu"
        );
        members[4].protected = true;
        assert_eq!(culled(&members, &config, &ratings, 1, 9), [(1, Role::Teacher)], "3 is the only candidate");
        let equals = vec![standing(0, Role::Teacher, 25.0, 1.0), standing(1, Role::Teacher, 25.0, 1.0)];
        assert_eq!(culled(&equals, &config, &ratings, 1, 9), [(1, Role::Teacher)], "one of them goes");
    }
}
