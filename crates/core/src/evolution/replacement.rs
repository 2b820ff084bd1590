//! Which members are replaced, and by whose children.

use rand::Rng as _;
use rand::seq::SliceRandom as _;
use std::collections::BTreeMap;

use super::standing::ranked;
use super::{Culling, EvolutionConfig, Operator, Standing, culled};
use crate::contract::{BirthRecord, DeathRecord, PlanError, Role};
use crate::id::{MemberId, VersionId};
use crate::rating::TrueSkillConfig;
use crate::seed;
use crate::work::WorkKey;

/// A member that dies, and how its successor is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    /// The member that dies.
    pub dead: MemberId,
    /// The role it was culled for; the parents are survivors of this role.
    pub role: Role,
    /// Why it dies, as text.
    pub cause: String,
    /// The operator that makes the child.
    pub operator: &'static Operator,
    /// The values of all the operator's parameters.
    pub parameters: BTreeMap<String, f64>,
    /// The parents, in the operator's order.
    pub parents: Vec<MemberId>,
    /// The seed of the operator's draws.
    pub seed: u64,
}

/// The facts of a birth once it was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    pub child: MemberId,
    /// The work item that made it.
    pub source: WorkKey,
    /// The parents' versions, in the operator's order.
    pub parents: Vec<VersionId>,
    /// Notes by the operator.
    pub notes: Vec<String>,
}

impl Replacement {
    /// The rows of the birth and of the death.
    ///
    /// # Errors
    /// The parameters cannot be serialised as JSON.
    pub fn records(&self, lineage: Lineage) -> Result<(BirthRecord, DeathRecord), PlanError> {
        let birth = BirthRecord {
            child: lineage.child,
            source: lineage.source,
            operator: self.operator.name.to_owned(),
            parameters: serde_json::to_value(&self.parameters)?,
            seed: self.seed,
            parents: lineage.parents,
            replaces: Some(self.dead),
            notes: lineage.notes,
        };
        let death = DeathRecord { member: self.dead, cause: self.cause.clone() };
        Ok((birth, death))
    }
}

/// The replacements of an evolution at the end of `step`. Each member named by [`culled`] is replaced by a child of
/// survivors of the role it was culled for. The operator is drawn from the configured set (without those that need more
/// parents than there are survivors), and its parents, all different, from the top of the survivors. Draws depend only
/// on `root` (the run's seed), the step and the index of the replacement. If no operator can be used, nobody is
/// replaced.
pub fn replacements(
    members: &[Standing],
    config: &EvolutionConfig,
    ratings: &TrueSkillConfig,
    root: u64,
    step: u32,
) -> Vec<Replacement> {
    let culled = culled(members, config, ratings, root, step);
    let path = format!("evolution/{step}");
    let replace = |(index, &(dead, role)): (usize, &(usize, Role))| {
        let mut random = seed::stream(root, &path, index as u64);
        let order = ranked(members, role, ratings);
        let survivors: Vec<usize> =
            order.iter().copied().filter(|&member| culled.iter().all(|&(other, _)| other != member)).collect();
        let operators = config.operators_for(survivors.len());
        let operator = *operators.get(random.random_range(0..operators.len().max(1)))?;
        let mut pool = survivors[..config.parent_pool(survivors.len(), operator.arity)].to_vec();
        let (parents, _) = pool.partial_shuffle(&mut random, operator.arity);
        let given = config.parameters.get(operator.name).cloned().unwrap_or_default();
        Some(Replacement {
            dead: members[dead].member,
            role,
            cause: cause(&members[dead], role, &order, dead, (config.culling, ratings)),
            operator,
            parameters: operator.resolve(&given).ok()?,
            parents: parents.iter().map(|&parent| members[parent].member).collect(),
            seed: seed::derive(root, &format!("{path}/operator"), index as u64),
        })
    };
    culled.iter().enumerate().filter_map(replace).collect()
}

fn cause(
    dead: &Standing,
    role: Role,
    order: &[usize],
    index: usize,
    (culling, ratings): (Culling, &TrueSkillConfig),
) -> String {
    let how = match culling {
        Culling::Rating => "",
        Culling::Random => "at random ",
    };
    let bound = dead.rating(role).map_or(f64::NAN, |rating| ratings.lower_bound(rating));
    let rank = order.iter().position(|&other| other == index).unwrap_or_default() + 1;
    format!("culled {how}as {}: lower bound {bound:.1}, rank {rank} of {}", role.name(), order.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::evolution::CATALOGUE;
    use crate::evolution::standing::tests::members;
    use crate::rating::Rating;

    fn teachers(mus: &[f64]) -> Vec<Standing> {
        let standing = |(index, &mu): (usize, &f64)| Standing {
            member: MemberId(Uuid::from_u128(index as u128)),
            roles: vec![(Role::Teacher, Rating { mu, sigma: 1.0 })],
            protected: false,
        };
        mus.iter().enumerate().map(standing).collect()
    }

    proptest! {
        #[test]
        fn the_dead_have_no_children_and_parents_differ(members in members(), root: u64, step in 0u32..1000) {
            let (config, ratings) = (EvolutionConfig::default(), TrueSkillConfig::default());
            let made = replacements(&members, &config, &ratings, root, step);
            for replacement in &made {
                prop_assert!(made.iter().all(|other| !replacement.parents.contains(&other.dead)));
                prop_assert_eq!(replacement.parents.len(), replacement.operator.arity);
                let different: std::collections::BTreeSet<_> = replacement.parents.iter().collect();
                prop_assert_eq!(different.len(), replacement.operator.arity);
                prop_assert!(replacement.operator.live);
            }
            prop_assert_eq!(made, replacements(&members, &config, &ratings, root, step));
        }
    }

    #[test]
    fn the_worst_is_replaced_by_a_child_of_the_best() {
        let members = teachers(&[20.0, 30.0, 10.0, 28.0]);
        let (config, ratings) = (EvolutionConfig::default(), TrueSkillConfig::default());
        let mut drawn = std::collections::BTreeSet::new();
        for root in 0..200 {
            let made = replacements(&members, &config, &ratings, root, 9);
            let [only] = &made[..] else { panic!("{made:?}") };
            assert_eq!(only.dead, members[2].member);
            assert_eq!(only.cause, "culled as teacher: lower bound 7.0, rank 4 of 4");
            assert!(only.parents.iter().all(|parent| [members[1].member, members[3].member].contains(parent)));
            drawn.insert(only.operator.name);
        }
        let live = CATALOGUE.iter().filter(|operator| operator.live);
        let live: std::collections::BTreeSet<_> = live.map(|operator| operator.name).collect();
        assert_eq!(drawn, live, "every operator of the set is drawn");
    }

    #[test]
    fn one_survivor_is_mutated_and_one_member_is_left_alone() {
        let (config, ratings) = (EvolutionConfig::default(), TrueSkillConfig::default());
        for root in 0..50 {
            let made = replacements(&teachers(&[20.0, 30.0]), &config, &ratings, root, 9);
            assert_eq!(made[0].operator.arity, 1);
        }
        assert_eq!(replacements(&teachers(&[20.0]), &config, &ratings, 0, 9), []);
    }

    #[test]
    fn a_replacement_becomes_two_rows() {
        let config = EvolutionConfig {
            operators: vec!["X1".to_owned()],
            parameters: BTreeMap::from([("X1".to_owned(), BTreeMap::from([("p".to_owned(), 0.5)]))]),
            ..EvolutionConfig::default()
        };
        let made = replacements(&teachers(&[20.0, 30.0, 10.0]), &config, &TrueSkillConfig::default(), 1, 9);
        let lineage = Lineage {
            child: MemberId(Uuid::from_u128(9)),
            source: WorkKey::new(9, "evolve"),
            parents: [4, 5].map(|id| VersionId(Uuid::from_u128(id))).to_vec(),
            notes: vec!["met nothing".to_owned()],
        };
        let (birth, death) = made[0].records(lineage).unwrap();
        assert_eq!((birth.operator.as_str(), &birth.parameters), ("X1", &serde_json::json!({ "p": 0.5 })));
        assert_eq!((birth.replaces, birth.seed), (Some(death.member), made[0].seed));
        assert_eq!(birth.parents.len(), 2);
    }
}
