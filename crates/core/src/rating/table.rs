//! The ratings of a run's members, as kept in its memory.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Rating, TrueSkillConfig, winner};
use crate::{
    id::MemberId,
    recipe::{RatingRecord, Role, Winner},
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

    /// The probability that the student wins, by the current ratings.
    pub fn predict(&self, teacher: (MemberId, Role), student: (MemberId, Role), config: &TrueSkillConfig) -> f64 {
        config.win_probability(
            self.get(student.0, student.1, config),
            self.get(teacher.0, teacher.1, config),
        )
    }

    /// Decides a matchup by [`winner`] from the student's score and updates both ratings. Returns the predicted probability
    /// and the winner.
    /// Ratings depend on the order, so matchups of a step are recorded in the order of their indices.
    pub fn record(
        &mut self,
        teacher: (MemberId, Role),
        student: (MemberId, Role),
        student_score: f64,
        config: &TrueSkillConfig,
    ) -> (f64, Winner) {
        let predicted = self.predict(teacher, student, config);
        let (of_teacher, of_student) = (
            self.get(teacher.0, teacher.1, config),
            self.get(student.0, student.1, config),
        );
        let won = winner(student_score, predicted);
        let (of_teacher, of_student) = match won {
            Winner::Teacher => config.after(of_teacher, of_student),
            Winner::Student => {
                let (winner, loser) = config.after(of_student, of_teacher);
                (loser, winner)
            }
        };
        self.set(teacher.0, teacher.1, of_teacher);
        self.set(student.0, student.1, of_student);
        (predicted, won)
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
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_table_survives_its_json_and_a_matchup_moves_two_ratings() {
        let config = TrueSkillConfig::default();
        let [teacher, student, other] = [1, 2, 3].map(|id| MemberId(Uuid::from_u128(id)));
        let mut ratings = Ratings::default();
        ratings.set(other, Role::Student, Rating { mu: 30.0, sigma: 2.0 });
        let (predicted, won) = ratings.record((teacher, Role::Teacher), (student, Role::Student), 0.9, &config);
        assert!((predicted - 0.5).abs() < 1e-6);
        assert_eq!(won, Winner::Student);
        assert!(ratings.get(student, Role::Student, &config).mu > 25.0);
        assert!(ratings.get(teacher, Role::Teacher, &config).mu < 25.0);
        assert_eq!(
            ratings.get(other, Role::Student, &config),
            Rating { mu: 30.0, sigma: 2.0 }
        );
        assert_eq!(ratings.records().len(), 3);

        let json = serde_json::to_value(&ratings).unwrap();
        assert_eq!(serde_json::from_value::<Ratings>(json).unwrap(), ratings);
        ratings.remove(student);
        assert_eq!(ratings.get(student, Role::Student, &config), config.prior());
    }

    #[test]
    fn one_member_in_both_roles_has_a_rating_for_each() {
        let config = TrueSkillConfig::default();
        let only = MemberId(Uuid::from_u128(1));
        let mut ratings = Ratings::default();
        ratings.record((only, Role::Teacher), (only, Role::Student), 0.1, &config);
        assert!(ratings.get(only, Role::Teacher, &config).mu > ratings.get(only, Role::Student, &config).mu);
    }
}
