//! Who is culled: rules for matchups, compared among scripted players that are as strong as those of recorded runs.
//!
//! `cargo run --release -p lyceum-core --example culling -- [REPETITIONS]` prints the table in docs/DEVIATIONS.md. How hard
//! problems are, it reads from docs/results/curriculum.

use lyceum_core::evolution::{EvolutionConfig, Standing, culled};
use lyceum_core::id::MemberId;
use lyceum_core::matchmaking::pair;
use lyceum_core::rating::{Game, MatchupScore, Rating, Ratings, RunRatings, Scores, TrueSkillConfig};
use lyceum_core::recipe::Role;
use lyceum_core::reward::Solved;
use lyceum_core::seed::stream;
use rand::Rng;
use rand::seq::SliceRandom as _;
use serde_json::Value;
use std::error::Error;
use std::fs;
use uuid::Uuid;

/// Attempts at each problem and proposals in a matchup, as in the recorded runs.
const ATTEMPTS: u32 = 8;
const PROPOSALS: usize = 16;
/// Logits between neighbours: of a student's skill, and of the mean difficulty of a teacher's problems.
const GAP: f64 = 0.3;
/// When the culled are looked at, in matchups of each member.
const AFTER: [usize; 2] = [10, 50];

fn main() -> Result<(), Box<dyn Error>> {
    let repetitions = std::env::args().nth(1).map_or(Ok(1000), |argument| argument.parse())?;
    let mut regimes = recorded()?;
    let invalid = regimes[0].invalid;
    // The ends of the range, and what half of the problems unsolved looks like.
    regimes
        .extend([(0.05, 0.8), (0.18, 0.5), (0.6, 0.25)].map(|(rate, unsolved)| Regime::fit(rate, unsolved, invalid)));
    println!("| solve rate | unsolved | solved by all attempts | standard deviation of difficulty, logits | invalid |");
    println!("|---|---|---|---|---|");
    for regime in &regimes {
        let [rate, unsolved, mastered]: [f64; 3] = [|p| p, |p: f64| (1.0 - p).powi(8), |p: f64| p.powi(8)]
            .map(|value: fn(f64) -> f64| expect(regime.mean, regime.spread, value));
        println!("| {rate:.2} | {unsolved:.2} | {mastered:.2} | {:.1} | {:.2} |", regime.spread, regime.invalid);
    }
    println!();
    println!(
        "| a side | matchups | rule | weakest student | best student | weakest teacher | best teacher | teachers of unequal validity: weakest | best |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for count in [2, 4, 8] {
        let found = Rule::ALL.map(|rule| {
            [0.0, 0.1].map(|validity| {
                let one = |(salt, regime)| Field::new(regime, count, validity).culls(rule, repetitions, salt);
                mean((0..).zip(&regimes).map(one).collect())
            })
        });
        for (when, after) in AFTER.into_iter().enumerate() {
            for (rule, [equal, unequal]) in Rule::ALL.iter().zip(&found) {
                let [students, teachers] = equal[when];
                let shares = [students, teachers, unequal[when][1]].concat();
                let cells: Vec<String> = shares.iter().map(|share| format!("{:.0}", 100.0 * share)).collect();
                println!("| {count} | {after} | {} | {} |", rule.name(), cells.join(" | "));
            }
        }
        let chance = EvolutionConfig::default().quota(count) as f64 / count as f64;
        println!("| {count} | any | by chance | {} |", vec![format!("{:.0}", 100.0 * chance); 6].join(" | "));
    }
    println!();
    println!("| validity of four teachers | matchups | ½ + r: weakest | best | (1 + r) / 2: weakest | best |");
    println!("|---|---|---|---|---|---|");
    for middle in [0.05, 0.15, 0.25, 0.5, 0.75, 0.95_f64] {
        let reach = (middle.min(1.0 - middle) * 0.9).min(0.15);
        let validity = [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0].map(|place| middle + reach * place);
        let found = [Rule::CutOff, Rule::Shipped(MatchupScore::PerRole)].map(|rule| {
            let one = |(salt, regime)| Field::of_validity(regime, validity).culls(rule, repetitions, salt);
            mean((0..).zip(&regimes).map(one).collect())
        });
        for (when, after) in AFTER.into_iter().enumerate() {
            let shares = found.map(|culled| culled[when][1]).concat();
            let cells: Vec<String> = shares.iter().map(|share| format!("{:.0}", 100.0 * share)).collect();
            println!("| {:.2} to {:.2} | {after} | {} |", validity[0], validity[3], cells.join(" | "));
        }
    }
    Ok(())
}

/// How hard valid problems are to the middle of a population: the logit of the probability that an attempt solves one is normal.
struct Regime {
    mean: f64,
    spread: f64,
    /// Share of proposals that are invalid.
    invalid: f64,
}

impl Regime {
    /// With these shares of attempts that succeed, and of valid problems that no attempt solves.
    fn fit(solve_rate: f64, unsolved: f64, invalid: f64) -> Self {
        let mean = |spread| root(-30.0, 30.0, |mean| expect(mean, spread, |p| p) - solve_rate);
        let spread = root(0.01, 10.0, |spread| {
            expect(mean(spread), spread, |p| (1.0 - p).powi(ATTEMPTS.cast_signed())) - unsolved
        });
        Self { mean: mean(spread), spread, invalid }
    }
}

/// The regimes of the recorded populations, by eight steps.
fn recorded() -> Result<Vec<Regime>, Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/curriculum");
    let mut windows = [[0.0; 4]; 5];
    for arm in ["population", "no-evolution"] {
        for seed in 1..=5 {
            let run: Value = serde_json::from_str(&fs::read_to_string(format!("{folder}/{arm}-{seed}.json"))?)?;
            let names = run["metrics"].as_array().ok_or("no metrics")?;
            for row in run["rows"].as_array().ok_or("no rows")? {
                // A row is the step and the metrics.
                let value = |name: &str| {
                    let place = names.iter().position(|known| known == name);
                    place.and_then(|place| row[place + 1].as_f64()).unwrap_or_default()
                };
                let window = &mut windows[row[0].as_u64().unwrap_or_default() as usize / 8];
                let valid = value("valid_problems");
                let sums = [valid * value("solve_rate"), valid * value("unsolved_share"), valid, value("proposals")];
                window.iter_mut().zip(sums).for_each(|(sum, value)| *sum += value);
            }
        }
    }
    let regime = |[solved, unsolved, valid, proposed]: [f64; 4]| {
        Regime::fit(solved / valid, unsolved / valid, 1.0 - valid / proposed)
    };
    Ok(windows.map(regime).into())
}

/// Where a rising function is 0.
fn root(mut low: f64, mut high: f64, function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if function(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

/// The mean of `value` of p, whose logit is normal.
fn expect(mean: f64, spread: f64, value: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in -50..=50 {
        let z = f64::from(step) / 10.0;
        let weight = (-z * z / 2.0).exp();
        sum += weight * value(probability(mean + spread * z));
        weights += weight;
    }
    sum / weights
}

fn probability(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[derive(Clone, Copy)]
enum Rule {
    Shipped(MatchupScore),
    /// One score for both: the student's mean solve rate over the problems that it solved at least once.
    OverSolved,
    /// A score for each role, the teacher's being ½ + r, within 0 and 1.
    CutOff,
}

impl Rule {
    const ALL: [Self; 4] = [
        Self::Shipped(MatchupScore::Reward),
        Self::Shipped(MatchupScore::SolveRate),
        Self::OverSolved,
        Self::Shipped(MatchupScore::PerRole),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Shipped(MatchupScore::Reward) => "`reward`",
            Self::Shipped(MatchupScore::SolveRate) => "`solve_rate`",
            Self::Shipped(MatchupScore::PerRole) => "`per_role`",
            Self::OverSolved => "solve rate over solved problems",
            Self::CutOff => "`per_role`, ½ + r",
        }
    }

    /// The table that pairing compares students' ratings with.
    fn to_solve(self, ratings: &RunRatings) -> &Ratings {
        match self {
            Self::Shipped(score) => ratings.to_solve(score),
            Self::OverSolved => &ratings.ratings,
            Self::CutOff => ratings.to_solve(MatchupScore::PerRole),
        }
    }

    fn decide(self, ratings: &mut RunRatings, [teacher, student]: [MemberId; 2], proposals: &[Option<Solved>]) {
        let config = TrueSkillConfig::default();
        match self {
            Self::Shipped(score) => {
                ratings.decide(score, [teacher, student], &Scores::of(proposals), &config);
            }
            Self::CutOff => {
                let scores = Scores::of(proposals);
                let teacher_reward = 2.0 * (0.5 + scores.teacher_reward).clamp(0.0, 1.0) - 1.0;
                ratings.decide(
                    MatchupScore::PerRole,
                    [teacher, student],
                    &Scores { teacher_reward, ..scores },
                    &config,
                );
            }
            Self::OverSolved => {
                let is_solved = |proposal: &Option<Solved>| proposal.is_some_and(|proposal| proposal.solved > 0);
                let solved: Vec<Option<Solved>> = proposals.iter().copied().filter(is_solved).collect();
                let game = Game::play(
                    ratings.ratings.get(teacher, Role::Teacher, &config),
                    ratings.ratings.get(student, Role::Student, &config),
                    Scores::of(&solved).solve_rate.unwrap_or(1.0),
                    &config,
                );
                ratings.ratings.set(teacher, Role::Teacher, game.teacher);
                ratings.ratings.set(student, Role::Student, game.student);
            }
        }
    }
}

/// Shares of repetitions in which the weakest and the best were culled, of students and of teachers, by [`AFTER`].
type Culled = [[[f64; 2]; 2]; 2];

fn mean(all: Vec<Culled>) -> Culled {
    let mut mean = Culled::default();
    for one in &all {
        for (sum, value) in mean.as_flattened_mut().as_flattened_mut().iter_mut().zip(one.as_flattened().as_flattened())
        {
            *sum += value / all.len() as f64;
        }
    }
    mean
}

/// As many teachers as students, by rank of skill and of difficulty.
struct Field<'r> {
    regime: &'r Regime,
    count: usize,
    /// Each teacher's share of invalid proposals.
    invalid: Vec<f64>,
    /// The ranks of the weakest and of the best teacher.
    teachers: [usize; 2],
}

impl<'r> Field<'r> {
    /// Teachers whose shares of invalid proposals are the regime's, more or less by `validity` in turn.
    fn new(regime: &'r Regime, count: usize, validity: f64) -> Self {
        let sign = |teacher: usize| if teacher.is_multiple_of(2) { validity } else { -validity };
        Self::of(regime, (0..count).map(|teacher| regime.invalid + sign(teacher)).collect())
    }

    fn of_validity(regime: &'r Regime, validity: [f64; 4]) -> Self {
        Self::of(regime, validity.iter().map(|valid| 1.0 - valid).collect())
    }

    fn of(regime: &'r Regime, invalid: Vec<f64>) -> Self {
        let count = invalid.len();
        let mut field = Self { regime, count, invalid, teachers: [0; 2] };
        let reward = |teacher: usize| -> f64 {
            let earned = |student| {
                let unsolved = |p: f64| (1.0 - p).powi(ATTEMPTS.cast_signed());
                expect(field.logit(teacher, student), regime.spread, |p| 1.0 - p - unsolved(p))
            };
            let invalid = field.invalid[teacher];
            (0..count).map(earned).sum::<f64>() / count as f64 * (1.0 - invalid) - invalid
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&one, &other| reward(one).total_cmp(&reward(other)));
        field.teachers = [order[0], order[count - 1]];
        field
    }

    /// Of a solved attempt at a problem of mean difficulty.
    fn logit(&self, teacher: usize, student: usize) -> f64 {
        self.regime.mean + GAP * (student as f64 - teacher as f64)
    }

    fn culls(&self, rule: Rule, repetitions: u64, salt: u64) -> Culled {
        let mut found = Culled::default();
        for repetition in 0..repetitions {
            let mut random = stream(salt, "culling", repetition);
            // Ties go to the earlier, so the order must not be that of the ranks.
            let [students, teachers] = [1_u128, 1001].map(|first| {
                let mut members: Vec<(MemberId, usize)> =
                    (0..self.count).map(|rank| (MemberId(Uuid::from_u128(first + rank as u128)), rank)).collect();
                members.shuffle(&mut random);
                members
            });
            let mut ratings = RunRatings::default();
            for played in 1..=AFTER[1] {
                self.step(rule, &mut ratings, &students, &teachers, &mut random);
                if let Some(when) = AFTER.iter().position(|&after| after == played) {
                    self.cull(&ratings, [&students, &teachers], &mut found[when]);
                }
            }
        }
        found.as_flattened_mut().as_flattened_mut().iter_mut().for_each(|count| *count /= repetitions as f64);
        found
    }

    /// Every member plays once.
    fn step(
        &self,
        rule: Rule,
        ratings: &mut RunRatings,
        students: &[(MemberId, usize)],
        teachers: &[(MemberId, usize)],
        random: &mut impl Rng,
    ) {
        let config = TrueSkillConfig::default();
        let to_solve = rule.to_solve(ratings);
        let of_teachers: Vec<Rating> =
            teachers.iter().map(|(id, _)| to_solve.get(*id, Role::Teacher, &config)).collect();
        let of_students: Vec<Rating> =
            students.iter().map(|(id, _)| ratings.ratings.get(*id, Role::Student, &config)).collect();
        for (teacher, student) in pair(&of_teachers, &of_students, &config, random) {
            let ((teacher, hard), (student, skilled)) = (teachers[teacher], students[student]);
            let mut propose = || {
                let is_invalid = random.random_bool(self.invalid[hard].clamp(0.0, 1.0));
                let p = probability(self.logit(hard, skilled) + self.regime.spread * normal(random));
                let solved = (0..ATTEMPTS).filter(|_| random.random_bool(p)).count() as u32;
                (!is_invalid).then_some(Solved { solved, attempts: ATTEMPTS })
            };
            let proposals: Vec<Option<Solved>> = (0..PROPOSALS).map(|_| propose()).collect();
            rule.decide(ratings, [teacher, student], &proposals);
        }
    }

    /// Counts whether the weakest and the best of each role would be culled.
    fn cull(&self, ratings: &RunRatings, members: [&[(MemberId, usize)]; 2], found: &mut [[f64; 2]; 2]) {
        let config = TrueSkillConfig::default();
        let extremes = [[0, self.count - 1], self.teachers];
        for (((members, role), extremes), found) in
            members.into_iter().zip([Role::Student, Role::Teacher]).zip(extremes).zip(found)
        {
            let standing = |&(member, _): &(MemberId, usize)| Standing {
                member,
                roles: vec![(role, ratings.ratings.get(member, role, &config))],
                protected: false,
            };
            let standings: Vec<Standing> = members.iter().map(standing).collect();
            for (dead, _) in culled(&standings, &EvolutionConfig::default(), &config, 0, 0) {
                for (found, extreme) in found.iter_mut().zip(extremes) {
                    *found += f64::from(u8::from(members[dead].1 == extreme));
                }
            }
        }
    }
}

fn normal(random: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
