//! Matchmaking by prioritised fictitious self-play (Vinyals et al. 2019; PopuLoRA, part 3.3 and appendix 6).

use rand::Rng;
use rand::distr::weighted::WeightedIndex;
use rand::prelude::Distribution as _;
use rand::seq::SliceRandom as _;

use crate::rating::{Rating, TrueSkillConfig};

/// Pairs each teacher with one student. Returns `(teacher, student)` as positions in the slices, ordered by teacher.
///
/// Teachers draw in random order from the students still available, with the weights of [`pfsp_weights`]. With equal
/// numbers the pairing is a permutation. Otherwise each student meets ⌊T/S⌋ or ⌈T/S⌉ teachers; if students outnumber
/// teachers, the students left over sit out. Without students there are no pairs.
pub fn pair(
    teachers: &[Rating],
    students: &[Rating],
    config: &TrueSkillConfig,
    random: &mut impl Rng,
) -> Vec<(usize, usize)> {
    let Some(each) = teachers.len().checked_div(students.len()) else { return Vec::new() };
    let mut beyond = teachers.len() % students.len();
    let mut met = vec![0; students.len()];
    let mut order: Vec<usize> = (0..teachers.len()).collect();
    order.shuffle(random);
    let mut pairs = Vec::with_capacity(order.len());
    for teacher in order {
        let mut weights = pfsp_weights(teachers[teacher], students, config);
        let open = |student: usize| met[student] < each || (met[student] == each && beyond > 0);
        for (student, weight) in weights.iter_mut().enumerate() {
            if !open(student) {
                *weight = 0.0;
            }
        }
        let student = match WeightedIndex::new(&weights) {
            Ok(drawn) => drawn.sample(random),
            // So one-sided that every weight vanished: draw any available student.
            Err(_) => {
                let open: Vec<usize> = (0..students.len()).filter(|&student| open(student)).collect();
                open[random.random_range(0..open.len())]
            }
        };
        if met[student] == each {
            beyond -= 1;
        }
        met[student] += 1;
        pairs.push((teacher, student));
    }
    pairs.sort_unstable();
    pairs
}

/// The weight of each student in a teacher's draw: p(1 − p), where p is the predicted probability that the student
/// wins. Balanced matchups weigh most.
pub fn pfsp_weights(teacher: Rating, students: &[Rating], config: &TrueSkillConfig) -> Vec<f64> {
    students
        .iter()
        .map(|&student| {
            let p = config.win_probability(student, teacher).clamp(0.0, 1.0);
            p * (1.0 - p)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;
    use proptest::prelude::*;

    fn ratings(mus: &[f64]) -> Vec<Rating> {
        mus.iter().map(|&mu| Rating { mu, sigma: 2.0 }).collect()
    }

    #[test]
    fn draws_match_their_weights() {
        let config = TrueSkillConfig::default();
        let teacher = ratings(&[25.0]);
        let students = ratings(&[5.0, 20.0, 25.0, 31.0, 45.0]);
        let weights = pfsp_weights(teacher[0], &students, &config);
        let total: f64 = weights.iter().sum();
        let draws = 20_000;
        let mut seen = [0.0; 5];
        for index in 0..draws {
            seen[pair(&teacher, &students, &config, &mut stream(7, "pair", index))[0].1] += 1.0;
        }
        let chi_square: f64 = weights
            .iter()
            .zip(seen)
            .map(|(weight, seen)| {
                let expected = weight / total * draws as f64;
                (seen - expected) * (seen - expected) / expected
            })
            .sum();
        // 99.9 % of the chi-square distribution with four degrees of freedom.
        assert!(chi_square < 18.47, "{chi_square}: {seen:?} against {weights:?}");
    }

    proptest! {
        #[test]
        fn everybody_meets_as_often_as_the_sizes_say(
            teachers in prop::collection::vec(0.0..60.0, 0..12),
            students in prop::collection::vec(0.0..60.0, 0..12),
            seed: u64,
        ) {
            let config = TrueSkillConfig::default();
            let (teachers, students) = (ratings(&teachers), ratings(&students));
            let pairs = pair(&teachers, &students, &config, &mut stream(seed, "pair", 0));
            if students.is_empty() {
                prop_assert!(pairs.is_empty());
                return Ok(());
            }
            prop_assert!(pairs.iter().map(|pair| pair.0).eq(0..teachers.len()));
            let (least, most) = (teachers.len() / students.len(), teachers.len().div_ceil(students.len()));
            for student in 0..students.len() {
                let met = pairs.iter().filter(|pair| pair.1 == student).count();
                prop_assert!((least..=most).contains(&met));
            }
            prop_assert_eq!(&pairs, &pair(&teachers, &students, &config, &mut stream(seed, "pair", 0)));
        }
    }

    #[test]
    fn a_hopeless_matchup_still_gets_a_student() {
        let config = TrueSkillConfig::default();
        let (teachers, students) = (ratings(&[1e9, 1e9]), ratings(&[0.0, 0.0]));
        assert_eq!(pfsp_weights(teachers[0], &students, &config), [0.0, 0.0]);
        let pairs = pair(&teachers, &students, &config, &mut stream(1, "pair", 0));
        assert!(pairs == [(0, 0), (1, 1)] || pairs == [(0, 1), (1, 0)], "{pairs:?}");
    }
}
