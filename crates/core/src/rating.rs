//! Strength of members: TrueSkill (Herbrich et al. 2006), as used by PopuLoRA (appendix 6).

mod matchup;

pub use self::matchup::{Decision, FrozenShare, Game, MatchupScore, RunRatings, Scores, mean_solve_rate, winner};

use serde::{Deserialize, Serialize};
use skillratings::Outcomes;
use skillratings::trueskill::{TrueSkillConfig as Constants, TrueSkillRating, expected_score, trueskill};
use std::collections::BTreeMap;

use crate::contract::{RatingRecord, Role};
use crate::fault::Fault;
use crate::id::MemberId;

/// The estimate of a member's skill in one role: a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// Constants of the ratings. Defaults are those of the paper and of the `trueskill` package.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrueSkillConfig {
    /// Mean of a new member's rating.
    pub mu: f64,
    /// Standard deviation of a new member's rating.
    pub sigma: f64,
    /// Standard deviation of a performance around its skill.
    pub beta: f64,
    /// Standard deviation added to a rating before each matchup, so that it can follow a changing member.
    #[schemars(range(min = 0.0))]
    pub tau: f64,
    /// Members are ranked by a lower confidence bound, this many standard deviations below the mean.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub lcb_k: f64,
}

impl Default for TrueSkillConfig {
    fn default() -> Self {
        Self { mu: 25.0, sigma: 25.0 / 3.0, beta: 25.0 / 6.0, tau: 25.0 / 300.0, lcb_k: 3.0 }
    }
}

impl TrueSkillConfig {
    /// The rating of a new member.
    pub fn prior(&self) -> Rating {
        Rating { mu: self.mu, sigma: self.sigma }
    }

    /// Probability that `first` beats `second`: `Φ((μ₁ − μ₂) / √(2β² + σ₁² + σ₂²))`.
    pub fn win_probability(&self, first: Rating, second: Rating) -> f64 {
        expected_score(&first.into(), &second.into(), &self.constants()).0
    }

    /// Both ratings after `winner` beat `loser`; there are no draws.
    pub fn after(&self, winner: Rating, loser: Rating) -> (Rating, Rating) {
        let (winner, loser) = trueskill(&winner.into(), &loser.into(), &Outcomes::WIN, &self.constants());
        (winner.into(), loser.into())
    }

    /// The lower confidence bound `μ − k σ`.
    pub fn lower_bound(&self, rating: Rating) -> f64 {
        rating.mu - self.lcb_k * rating.sigma
    }

    /// Faults the schema cannot express, with places below `pointer`.
    pub fn faults(&self, pointer: &str) -> Vec<Fault> {
        [
            ("sigma", self.sigma, "more than 0", self.sigma > 0.0),
            ("beta", self.beta, "more than 0", self.beta > 0.0),
            ("tau", self.tau, "0 or more", self.tau >= 0.0),
            ("mu", self.mu, "any finite number", true),
            ("lcb_k", self.lcb_k, "0 or more", self.lcb_k >= 0.0),
        ]
        .into_iter()
        .filter(|(_, value, _, fits)| !(value.is_finite() && *fits))
        .map(|(field, value, valid, _)| Fault::new(format!("{pointer}/{field}"), format!("{value}: {valid} is valid")))
        .collect()
    }

    fn constants(&self) -> Constants {
        Constants { draw_probability: 0.0, beta: self.beta, dynamics_factor: self.tau }
    }
}

impl From<Rating> for TrueSkillRating {
    fn from(Rating { mu, sigma }: Rating) -> Self {
        Self { rating: mu, uncertainty: sigma }
    }
}

impl From<TrueSkillRating> for Rating {
    fn from(TrueSkillRating { rating, uncertainty }: TrueSkillRating) -> Self {
        Self { mu: rating, sigma: uncertainty }
    }
}

/// A rating for every member and role that has one; a member with both roles has two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratings(BTreeMap<MemberId, BTreeMap<Role, Rating>>);

impl Ratings {
    /// The rating of `member` in `role`; the prior if it has none yet.
    pub fn get(&self, member: MemberId, role: Role, config: &TrueSkillConfig) -> Rating {
        let of_member = self.0.get(&member);
        of_member.and_then(|roles| roles.get(&role)).copied().unwrap_or_else(|| config.prior())
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
                .map(|(&role, &Rating { mu, sigma })| RatingRecord { member, role, mu, sigma })
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_member).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn rating() -> impl Strategy<Value = Rating> {
        (-50.0..100.0, 0.1..12.0).prop_map(|(mu, sigma)| Rating { mu, sigma })
    }

    proptest! {
        #[test]
        fn a_win_raises_the_winner_and_lowers_the_loser(first in rating(), second in rating()) {
            let config = TrueSkillConfig::default();
            let (winner, loser) = config.after(first, second);
            prop_assert!(winner.mu >= first.mu && loser.mu <= second.mu);
            prop_assert!(winner.sigma > 0.0 && winner.sigma <= first.sigma.hypot(config.tau) + 1e-9);
            prop_assert!(loser.sigma > 0.0 && loser.sigma <= second.sigma.hypot(config.tau) + 1e-9);
        }

        #[test]
        fn the_two_sides_of_a_prediction_add_up(first in rating(), second in rating()) {
            let config = TrueSkillConfig::default();
            let both = config.win_probability(first, second) + config.win_probability(second, first);
            // The crate's normal distribution function is accurate to about 1e-7.
            prop_assert!((both - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_bound_and_the_prior_are_the_papers() {
        let config = TrueSkillConfig::default();
        assert_eq!(config.prior(), Rating { mu: 25.0, sigma: 25.0 / 3.0 });
        assert_eq!(config.lower_bound(config.prior()), 0.0);
        assert_eq!(config.faults(""), []);
        let broken = TrueSkillConfig { beta: 0.0, mu: f64::NAN, ..config };
        let places: Vec<_> = broken.faults("/rating").into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(places, ["/rating/beta", "/rating/mu"]);
    }

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
