//! What selection did: each cull compared with what other rules would have culled, and with a neutral draw.

use std::collections::BTreeMap;

use super::{Culling, EvolutionConfig, Protection, Standing, culled, inherited};
use crate::contract::Role;
use crate::id::MemberId;
use crate::rating::{MatchupScore, Rating, RunRatings, Scores, TrueSkillConfig};
use crate::statistics::Interval;

/// A member's life.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    pub member: MemberId,
    pub roles: Vec<Role>,
    /// The step of its birth.
    pub born: u32,
    /// Its parents; none for a founder.
    pub parents: Vec<MemberId>,
    /// The step of its death.
    pub died: Option<u32>,
}

/// A matchup that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    pub step: u32,
    /// Teacher and student.
    pub members: [MemberId; 2],
    /// What it is decided by.
    pub scores: Scores,
}

/// A measurement on held-out rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Number of finished steps.
    pub step: u32,
    pub member: MemberId,
    /// The share of rows that it got right.
    pub accuracy: f64,
}

/// What is known of a run. All are in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// All members, founders first.
    pub lives: Vec<Life>,
    pub matchups: Vec<Played>,
    /// The measurements, all on the same rows.
    pub measured: Vec<Measured>,
}

/// The rules of which an audit says what they would have culled.
pub const AUDITED: [MatchupScore; 3] = [MatchupScore::PerRole, MatchupScore::Reward, MatchupScore::SolveRate];

/// A member that could have been culled.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub member: MemberId,
    /// Its rating by the run's rule.
    pub rating: Rating,
    /// Its accuracy on held-out rows, if it was measured.
    pub accuracy: Option<f64>,
    /// Its rank among the candidates that were measured, 1 for the best; equals share the better rank.
    pub rank: Option<usize>,
}

/// The members of a role that were culled at the end of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Cull {
    pub step: u32,
    pub role: Role,
    pub culled: Vec<MemberId>,
    /// The role's members that were not protected, the lowest lower bound first.
    pub candidates: Vec<Candidate>,
    /// Number of finished steps when the candidates were measured.
    pub measured: Option<u32>,
    /// Whom each rule of [`AUDITED`] would have culled, on the same past.
    pub verdicts: [Vec<MemberId>; 3],
}

/// By how much those that stayed are better for the draw: over all culls with candidates that were all measured, the mean
/// accuracy of the candidates less the mean accuracy of the culled. A uniform draw gives 0 on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Differential {
    pub mean: f64,
    /// Half the width of the interval around 0 in which 95 % of uniform draws from the same candidates lie, by the normal
    /// approximation.
    pub neutral: f64,
    /// How many culled members it is about.
    pub culled: usize,
}

/// Replays the ratings of a run by every rule, and returns its culls. `score` is the run's own rule.
pub fn audit(past: &Past, score: MatchupScore, evolution: &EvolutionConfig, ratings: &TrueSkillConfig) -> Vec<Cull> {
    let by_rating = EvolutionConfig { culling: Culling::Rating, ..evolution.clone() };
    let mut tables: [RunRatings; 3] = Default::default();
    let mut protection = Protection::default();
    let mut matchups = past.matchups.iter().peekable();
    let is_child = |life: &&Life| !life.parents.is_empty();
    let births = past.lives.iter().filter(is_child).map(|life| life.born);
    let mut steps: Vec<u32> = births.chain(past.lives.iter().filter_map(|life| life.died)).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut culls = Vec::new();
    for step in steps {
        while let Some(one) = matchups.next_if(|one| one.step <= step) {
            for (table, rule) in tables.iter_mut().zip(AUDITED) {
                table.decide(rule, one.members, &one.scores, ratings);
            }
        }
        let is_living =
            |life: &&Life| (life.born < step || life.parents.is_empty()) && life.died.is_none_or(|died| died >= step);
        let living: Vec<&Life> = past.lives.iter().filter(is_living).collect();
        let standings = |table: &RunRatings| -> Vec<Standing> {
            let standing = |life: &&Life| Standing {
                member: life.member,
                roles: life.roles.iter().map(|&role| (role, table.ratings.get(life.member, role, ratings))).collect(),
                protected: protection.protects(life.member, step, evolution),
            };
            living.iter().map(standing).collect()
        };
        let verdicts = tables.each_ref().map(|table| {
            let standings = standings(table);
            let gone = culled(&standings, &by_rating, ratings, 0, step);
            gone.into_iter().map(|(place, role)| (standings[place].member, role)).collect::<Vec<_>>()
        });
        let own = AUDITED.iter().position(|&rule| rule == score).map_or_else(Vec::new, |own| standings(&tables[own]));
        for role in Role::ALL {
            let dead = living.iter().filter(|life| life.died == Some(step) && life.roles.first() == Some(&role));
            let dead: Vec<MemberId> = dead.map(|life| life.member).collect();
            if dead.is_empty() {
                continue;
            }
            let (measured, candidates) =
                candidates(&own, role, past.measured.iter().filter(|one| one.step <= step + 1), ratings);
            let of_role = |all: &Vec<(MemberId, Role)>| -> Vec<MemberId> {
                all.iter().filter(|(_, of)| *of == role).map(|(member, _)| *member).collect()
            };
            culls.push(Cull {
                step,
                role,
                culled: dead,
                candidates,
                measured,
                verdicts: verdicts.each_ref().map(of_role),
            });
        }
        for life in past.lives.iter().filter(|life| life.born == step && !life.parents.is_empty()) {
            for table in &mut tables {
                table.born(
                    life.member,
                    &life.roles,
                    &life.parents,
                    |parents| inherited(parents, evolution, ratings),
                    ratings,
                );
            }
            protection.born(life.member, step);
        }
    }
    culls
}

/// The candidates of a role, the lowest lower bound first, with what they came to when most of them were measured last.
fn candidates<'m>(
    standings: &[Standing],
    role: Role,
    measured: impl Iterator<Item = &'m Measured>,
    ratings: &TrueSkillConfig,
) -> (Option<u32>, Vec<Candidate>) {
    let mut candidates: Vec<Candidate> = standings
        .iter()
        .filter(|one| !one.protected)
        .filter_map(|one| Some(Candidate { member: one.member, rating: one.rating(role)?, accuracy: None, rank: None }))
        .collect();
    candidates.sort_by(|a, b| ratings.lower_bound(a.rating).total_cmp(&ratings.lower_bound(b.rating)));
    let mut by_step: BTreeMap<u32, BTreeMap<MemberId, f64>> = BTreeMap::new();
    for one in measured.filter(|one| candidates.iter().any(|candidate| candidate.member == one.member)) {
        by_step.entry(one.step).or_default().insert(one.member, one.accuracy);
    }
    let Some((&step, found)) = by_step.iter().max_by_key(|(step, found)| (found.len(), **step)) else {
        return (None, candidates);
    };
    for candidate in &mut candidates {
        candidate.accuracy = found.get(&candidate.member).copied();
        candidate.rank = candidate.accuracy.map(|own| 1 + found.values().filter(|other| **other > own).count());
    }
    (Some(step), candidates)
}

/// The selection differential of `culls`; `None` if nothing was measured.
pub fn differential(culls: &[Cull]) -> Option<Differential> {
    let (mut sum, mut variance, mut count) = (0.0, 0.0, 0.0);
    for cull in culls {
        let accuracies: Option<Vec<f64>> = cull.candidates.iter().map(|candidate| candidate.accuracy).collect();
        let is_culled = |candidate: &&Candidate| cull.culled.contains(&candidate.member);
        let gone: Vec<f64> =
            cull.candidates.iter().filter(is_culled).filter_map(|candidate| candidate.accuracy).collect();
        let Some(all) = accuracies.filter(|all| all.len() > 1 && !gone.is_empty()) else { continue };
        let (n, k) = (all.len() as f64, gone.len() as f64);
        let mean = all.iter().sum::<f64>() / n;
        sum += k * mean - gone.iter().sum::<f64>();
        // Of the sum of k drawn from n without replacement.
        let spread = all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
        variance += k * (1.0 - k / n) * spread;
        count += k;
    }
    (count > 0.0).then(|| Differential {
        mean: sum / count,
        neutral: Interval::Z_95 * f64::sqrt(variance) / count,
        culled: count as usize,
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(id: u128) -> MemberId {
        MemberId(Uuid::from_u128(id))
    }

    fn cull(accuracies: &[Option<f64>], culled: &[u128]) -> Cull {
        let candidate = |(member, &accuracy): (usize, &Option<f64>)| Candidate {
            member: id(member as u128),
            rating: TrueSkillConfig::default().prior(),
            accuracy,
            rank: None,
        };
        Cull {
            step: 9,
            role: Role::Student,
            culled: culled.iter().map(|&member| id(member)).collect(),
            candidates: accuracies.iter().enumerate().map(candidate).collect(),
            measured: None,
            verdicts: Default::default(),
        }
    }

    #[test]
    fn the_differential_is_against_a_uniform_draw_from_the_candidates_that_were_all_measured() {
        let culls = [
            cull(&[Some(0.1), Some(0.3), Some(0.5)], &[0]),
            cull(&[Some(0.2), Some(0.4)], &[1]),
            cull(&[Some(0.0), None], &[0]),
        ];
        let found = differential(&culls).unwrap();
        assert_eq!(found.culled, 2);
        assert!((found.mean - (0.2 - 0.1) / 2.0).abs() < 1e-12, "0.3 − 0.1 and 0.3 − 0.4");
        // One drawn from {0.1, 0.3, 0.5} has the variance 0.08 / 3, one from {0.2, 0.4} 0.01.
        let variance: f64 = 0.08 / 3.0 + 0.01;
        assert!((found.neutral - Interval::Z_95 * variance.sqrt() / 2.0).abs() < 1e-12);
        assert_eq!(differential(&culls[2..]), None);
    }

    #[test]
    fn candidates_are_ranked_where_most_of_them_were_measured_last() {
        let standing = |member: u128, mu: f64| Standing {
            member: id(member),
            roles: vec![(Role::Student, Rating { mu, sigma: 1.0 })],
            protected: member == 3,
        };
        let standings = [standing(0, 30.0), standing(1, 20.0), standing(2, 25.0), standing(3, 1.0)];
        let measured = |step, member: u128, accuracy| Measured { step, member: id(member), accuracy };
        let measured =
            [measured(5, 0, 0.2), measured(5, 1, 0.2), measured(5, 2, 0.1), measured(5, 3, 0.9), measured(9, 0, 0.7)];
        let (step, found) = candidates(&standings, Role::Student, measured.iter(), &TrueSkillConfig::default());
        assert_eq!(step, Some(5));
        let found: Vec<_> = found.iter().map(|one| (one.member, one.rank)).collect();
        assert_eq!(found, [(id(1), Some(1)), (id(2), Some(3)), (id(0), Some(1))]);
    }
}
