//! What a matchup does to the ratings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Rating, Ratings, TrueSkillConfig};
use crate::contract::{Role, Winner};
use crate::id::MemberId;
use crate::reward::{Solved, teacher_reward};
use crate::statistics::Interval;

/// One game between a teacher's rating and a student's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Game {
    /// The student's win probability before the game.
    pub predicted: f64,
    pub winner: Winner,
    /// The teacher's rating after the game.
    pub teacher: Rating,
    /// The student's rating after the game.
    pub student: Rating,
}

impl Game {
    /// Decides a game by the student's score, from 0 to 1.
    pub fn play(teacher: Rating, student: Rating, student_score: f64, config: &TrueSkillConfig) -> Self {
        let predicted = config.win_probability(student, teacher);
        let winner = winner(student_score, predicted);
        let (teacher, student) = match winner {
            Winner::Teacher => config.after(teacher, student),
            Winner::Student => {
                let (student, teacher) = config.after(student, teacher);
                (teacher, student)
            }
        };
        Self { predicted, winner, teacher, student }
    }
}

/// What a matchup is decided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// Share of the proposals that are invalid.
    pub invalid: f64,
    /// Mean solve rate over the valid problems; `None` if there are none.
    pub solve_rate: Option<f64>,
    /// The teacher's mean reward (Eq. 2) over all proposals.
    pub teacher_reward: f64,
}

impl Scores {
    /// From the attempts at each proposal, `None` for invalid ones.
    pub fn of(proposals: &[Option<Solved>]) -> Self {
        let invalid = proposals.iter().filter(|solved| solved.is_none()).count();
        Self {
            invalid: invalid as f64 / proposals.len().max(1) as f64,
            solve_rate: mean_solve_rate(proposals),
            teacher_reward: mean_teacher_reward(proposals),
        }
    }

    /// The student's score, from 0 to 1.
    pub fn of_student(&self, score: MatchupScore) -> f64 {
        match score {
            MatchupScore::PerRole | MatchupScore::SolveRate => self.solve_rate.unwrap_or(1.0),
            MatchupScore::Reward => 1.0 - (self.teacher_reward + self.invalid).clamp(0.0, 1.0),
        }
    }

    /// The teacher's own score, from 0 to 1, if each role has one.
    pub fn of_teacher(&self) -> f64 {
        // Nothing is cut off: where most proposals are invalid, all teachers earn less than −½, and must still be told apart.
        f64::midpoint(1.0, self.teacher_reward)
    }
}

/// The outcome of a matchup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The student's score, which was compared with `predicted`.
    pub student_score: f64,
    /// The student's win probability before the matchup.
    pub predicted: f64,
    pub winner: Winner,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRatings {
    /// What members are ranked by.
    pub ratings: Ratings,
    /// What members are to those they meet, if each role has a score of its own: how hard a teacher's problems are to solve,
    /// and how little reward a student gives. Nobody is ranked by it.
    #[serde(default, skip_serializing_if = "Ratings::is_empty")]
    pub opposing: Ratings,
}

impl RunRatings {
    /// Decides a matchup and updates the ratings. They depend on the order, so matchups of a step are decided in the order
    /// of their indices.
    pub fn decide(
        &mut self,
        score: MatchupScore,
        [teacher, student]: [MemberId; 2],
        scores: &Scores,
        config: &TrueSkillConfig,
    ) -> Decision {
        let student_score = scores.of_student(score);
        if score == MatchupScore::PerRole {
            let posing = Game::play(
                self.ratings.get(teacher, Role::Teacher, config),
                self.opposing.get(student, Role::Student, config),
                1.0 - scores.of_teacher(),
                config,
            );
            self.ratings.set(teacher, Role::Teacher, posing.teacher);
            self.opposing.set(student, Role::Student, posing.student);
        }
        let solving = Game::play(
            self.to_solve(score).get(teacher, Role::Teacher, config),
            self.ratings.get(student, Role::Student, config),
            student_score,
            config,
        );
        // Without a valid problem nothing is learned about solving.
        if score != MatchupScore::PerRole || scores.solve_rate.is_some() {
            let teachers = match score {
                MatchupScore::PerRole => &mut self.opposing,
                MatchupScore::Reward | MatchupScore::SolveRate => &mut self.ratings,
            };
            teachers.set(teacher, Role::Teacher, solving.teacher);
            self.ratings.set(student, Role::Student, solving.student);
        }
        Decision { student_score, predicted: solving.predicted, winner: solving.winner }
    }

    /// The table in which a teacher's rating is compared with a student's: how hard its problems are to solve.
    pub fn to_solve(&self, score: MatchupScore) -> &Ratings {
        match score {
            MatchupScore::PerRole => &self.opposing,
            MatchupScore::Reward | MatchupScore::SolveRate => &self.ratings,
        }
    }

    /// Gives a child what it inherits of its parents, in each of its roles.
    pub fn born(
        &mut self,
        child: MemberId,
        roles: &[Role],
        parents: &[MemberId],
        inherited: impl Fn(&[Rating]) -> Rating,
        config: &TrueSkillConfig,
    ) {
        let is_per_role = !self.opposing.is_empty();
        for &role in roles {
            for table in std::iter::once(&mut self.ratings).chain(is_per_role.then_some(&mut self.opposing)) {
                let of_parents: Vec<Rating> = parents.iter().map(|&parent| table.get(parent, role, config)).collect();
                table.set(child, role, inherited(&of_parents));
            }
        }
    }

    /// Forgets a member that died.
    pub fn remove(&mut self, member: MemberId) {
        self.ratings.remove(member);
        self.opposing.remove(member);
    }
}

/// What decides a matchup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MatchupScore {
    /// A score for each role, and an update for each. The student's is the mean solve rate over the valid problems; it moves
    /// the student's rating, and how hard the teacher is to solve. The teacher's is (1 + r) / 2, where r is its mean reward (Eq. 2)
    /// over all proposals; it moves the teacher's rating, and how little reward the student gives. So a student
    /// that solves more never loses by it, and neither does a teacher that earns more. A student's rating stays if there
    /// is no valid problem.
    #[default]
    PerRole,
    /// One score for both: the student's is 1 less the teacher's mean reward (Eq. 2, an invalid proposal counting 0) over
    /// all proposals. An invalid or unsolved problem counts against the teacher, but also for the student: with 8 attempts
    /// at each problem, a student that gets better loses by it until it solves 26 % of them, and the best of a weak
    /// population is culled more often than the weakest.
    Reward,
    /// One score for both: the student's is the mean solve rate over the valid problems, or 1 if there are none. A problem that
    /// nobody solves counts for the teacher, and invalid ones do not count.
    SolveRate,
}

/// The teacher's mean reward (Eq. 2) over all proposals, from −1 to 1; 0 without proposals. `proposals` has the attempts at
/// each, `None` for invalid ones.
fn mean_teacher_reward(proposals: &[Option<Solved>]) -> f64 {
    let rewards = proposals.iter().map(|solved| f64::from(teacher_reward(*solved)));
    rewards.sum::<f64>() / proposals.len().max(1) as f64
}

/// The mean solve rate over the valid proposals; `None` if all are invalid.
pub fn mean_solve_rate(proposals: &[Option<Solved>]) -> Option<f64> {
    let rates: Vec<f64> = proposals.iter().flatten().map(|solved| f64::from(solved.rate())).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// The student wins if it beats expectations: if its score exceeds `predicted`, its win probability before the matchup.
/// Otherwise the teacher wins (PopuLoRA, appendix 6; `docs/DEVIATIONS.md` explains this reading).
pub fn winner(student_score: f64, predicted: f64) -> Winner {
    if student_score > predicted { Winner::Student } else { Winner::Teacher }
}

/// The share of matchups that teachers win if no player changes: 1 less the students' predicted win probability.
///
/// A win moves a rating by v(t) and a loss by v(−t), where v(t) = φ(t)/Φ(t) and Φ(t) is the predicted probability p
/// (Herbrich et al. 2006). These moves cancel where students win a share of p, so ratings come to rest there, whoever is
/// stronger: the share tells nothing of strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrozenShare {
    /// The share, from 0 to 1.
    pub share: f64,
    /// Half the width of its 95 % interval: the normal approximation of independent matchups, with the correction for
    /// continuity.
    pub margin: f64,
}

impl FrozenShare {
    /// For `matchups` that students were predicted to win with the mean probability `predicted`.
    pub fn of(predicted: f64, matchups: f64) -> Self {
        let (share, matchups) = (1.0 - predicted, matchups.max(1.0));
        Self { share, margin: Interval::Z_95 * (share * (1.0 - share) / matchups).sqrt() + 0.5 / matchups }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::reward::teacher_reward;

    const RULES: [MatchupScore; 3] = [MatchupScore::PerRole, MatchupScore::Reward, MatchupScore::SolveRate];

    fn solved(solved: u32) -> Option<Solved> {
        Some(Solved { solved, attempts: 8 })
    }

    fn rating() -> impl Strategy<Value = Rating> {
        (0.0..50.0, 1.0..9.0).prop_map(|(mu, sigma)| Rating { mu, sigma })
    }

    /// Two members that have met others.
    fn met() -> impl Strategy<Value = RunRatings> {
        [rating(), rating(), rating(), rating()].prop_map(|[teacher, student, hard, mean]| {
            let mut ratings = RunRatings::default();
            let [of_teacher, of_student] = members();
            ratings.ratings.set(of_teacher, Role::Teacher, teacher);
            ratings.ratings.set(of_student, Role::Student, student);
            ratings.opposing.set(of_teacher, Role::Teacher, hard);
            ratings.opposing.set(of_student, Role::Student, mean);
            ratings
        })
    }

    fn members() -> [MemberId; 2] {
        [1, 2].map(|id| MemberId(Uuid::from_u128(id)))
    }

    /// Mu of the teacher and of the student after a matchup.
    fn after(rule: MatchupScore, ratings: &RunRatings, scores: &Scores) -> [f64; 2] {
        let config = TrueSkillConfig::default();
        let mut ratings = ratings.clone();
        ratings.decide(rule, members(), scores, &config);
        let [teacher, student] = members();
        [
            ratings.ratings.get(teacher, Role::Teacher, &config).mu,
            ratings.ratings.get(student, Role::Student, &config).mu,
        ]
    }

    /// C(n, k) p^k (1 − p)^(n − k).
    fn binomial(n: u32, k: u32, p: f64) -> f64 {
        let ways = (0..k).fold(1.0, |ways, i| ways * f64::from(n - i) / f64::from(i + 1));
        ways * p.powi(k.cast_signed()) * (1.0 - p).powi((n - k).cast_signed())
    }

    /// The scores that are expected if a share of the proposals is invalid, a share of the valid ones cannot be solved, and
    /// each of `n` attempts at the others succeeds with probability `p`.
    fn expected(p: f64, n: u32, invalid: f64, unsolvable: f64) -> Scores {
        let mean = |value: fn(Solved) -> f32| -> f64 {
            let outcome = |k| binomial(n, k, p) * f64::from(value(Solved { solved: k, attempts: n }));
            (0..=n).map(outcome).sum::<f64>() * (1.0 - unsolvable)
        };
        Scores {
            invalid,
            solve_rate: (invalid < 1.0).then(|| mean(Solved::rate)),
            teacher_reward: (1.0 - invalid) * mean(|solved| teacher_reward(Some(solved))) - invalid,
        }
    }

    proptest! {
        #[test]
        fn whoever_solves_more_of_the_same_problems_never_loses_by_it(
            ratings in met(),
            counts in prop::collection::vec(prop::option::of((0u32..=16, 0u32..=16)), 0..24),
            n in 1u32..=16,
        ) {
            let attempts = |pick: fn(u32, u32) -> u32| {
                let solved = counts.iter().map(|count| count.map(|(a, b)| Solved { solved: pick(a, b).min(n), attempts: n }));
                Scores::of(&solved.collect::<Vec<_>>())
            };
            let [few, more] = [attempts(u32::min), attempts(u32::max)].map(|scores| after(MatchupScore::PerRole, &ratings, &scores));
            prop_assert!(more[1] >= few[1], "{} with fewer solved, {} with more", few[1], more[1]);
        }

        #[test]
        fn a_student_that_is_better_never_loses_by_it_on_average(
            ratings in met(),
            p in (0.0..=1.0_f64, 0.0..=1.0_f64),
            n in 1u32..=16,
            invalid in 0.0..=1.0,
            unsolvable in 0.0..=1.0,
        ) {
            let [worse, better] = [f64::min(p.0, p.1), f64::max(p.0, p.1)]
                .map(|p| after(MatchupScore::PerRole, &ratings, &expected(p, n, invalid, unsolvable)));
            prop_assert!(better[1] >= worse[1]);
        }

        #[test]
        fn a_teacher_whose_expected_reward_is_higher_never_loses_by_it(
            ratings in met(),
            p in (0.0..=1.0_f64, 0.0..=1.0_f64),
            n in 1u32..=16,
            invalid in (0.0..=1.0, 0.0..=1.0),
            unsolvable in (0.0..=1.0, 0.0..=1.0),
        ) {
            let mut posed = [expected(p.0, n, invalid.0, unsolvable.0), expected(p.1, n, invalid.1, unsolvable.1)];
            posed.sort_by(|one, other| one.teacher_reward.total_cmp(&other.teacher_reward));
            let [worse, better] = posed.map(|scores| after(MatchupScore::PerRole, &ratings, &scores));
            prop_assert!(better[0] >= worse[0]);
        }
    }

    #[test]
    fn by_reward_a_weak_student_loses_by_getting_better_until_it_solves_a_quarter() {
        let score = |p| expected(p, 8, 0.0, 0.0).of_student(MatchupScore::Reward);
        // The derivative of 1 − p − (1 − p)^8 is 0 at 1 − (1/8)^(1/7).
        let turn = 1.0 - 0.125_f64.powf(1.0 / 7.0);
        assert!((turn - 0.257).abs() < 5e-4);
        assert!(score(0.10) > score(0.15) && score(0.15) > score(turn) && score(turn) < score(0.4));
    }

    #[test]
    fn unsolvable_and_invalid_problems_win_a_teacher_nothing() {
        let mut unsolvable = vec![None; 71];
        unsolvable.push(solved(0));
        let honest = [solved(2), solved(4), None, solved(6)];
        let [unsolvable, honest] = [&unsolvable[..], &honest].map(Scores::of);
        let earned = (0.75 + 0.5 + 0.25) / 4.0;
        assert_eq!([&unsolvable, &honest].map(|scores| scores.of_student(MatchupScore::Reward)), [1.0, 1.0 - earned]);
        assert_eq!(
            [&unsolvable, &honest].map(Scores::of_teacher),
            [(1.0 - 71.0 / 72.0) / 2.0, (1.0 + earned - 0.25) / 2.0]
        );
        assert_eq!(
            [&unsolvable, &honest].map(|scores| scores.of_student(MatchupScore::SolveRate)),
            [0.0, 0.5],
            "by the solve rate, one unsolvable problem beats any student"
        );
        let prior = TrueSkillConfig::default().prior().mu;
        for rule in [MatchupScore::PerRole, MatchupScore::Reward] {
            assert!(after(rule, &RunRatings::default(), &unsolvable)[0] < prior, "{rule:?}");
        }
    }

    #[test]
    fn a_teacher_without_a_valid_problem_loses() {
        let prior = TrueSkillConfig::default().prior().mu;
        let invalid = Scores::of(&[None, None]);
        for rule in RULES {
            let [teacher, student] = after(rule, &RunRatings::default(), &invalid);
            assert!(teacher < prior, "{rule:?}");
            match rule {
                MatchupScore::PerRole => assert_eq!(student, prior, "it solved nothing"),
                _ => assert!(student > prior),
            }
        }
    }

    #[test]
    fn one_member_in_both_roles_has_a_rating_for_each() {
        let config = TrueSkillConfig::default();
        let [only, _] = members();
        let mut ratings = RunRatings::default();
        ratings.decide(MatchupScore::SolveRate, [only; 2], &Scores::of(&[solved(1)]), &config);
        let [teacher, student] = [Role::Teacher, Role::Student].map(|role| ratings.ratings.get(only, role, &config).mu);
        assert!(teacher > student);
        let json = serde_json::to_value(&ratings).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 1, "nothing else is kept without a score per role");
        assert_eq!(serde_json::from_value::<RunRatings>(json).unwrap(), ratings);
    }

    #[test]
    fn the_expectation_itself_is_the_teachers() {
        assert_eq!(winner(0.5, 0.5), Winner::Teacher);
        assert_eq!(winner(0.51, 0.5), Winner::Student);
        assert_eq!(winner(0.2, 0.9), Winner::Teacher);
        assert_eq!(winner(0.2, 0.1), Winner::Student);
    }
}
