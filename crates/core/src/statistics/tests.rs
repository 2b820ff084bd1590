use super::trial::Cell;
use super::*;

const OURS: [[f64; 6]; 5] = [
    [0.63, 0.9, 0.78, 0.23, 0.3, 0.87],
    [0.01, 0.82, 0.8, 0.47, 0.3, 0.28],
    [0.25, 0.45, 0.5, 0.55, 1.0, 0.79],
    [0.62, 0.99, 0.22, 0.16, 0.61, 0.04],
    [0.04, 0.51, 0.47, 0.92, 0.63, 0.51],
];
const THEIRS: [[f64; 6]; 6] = [
    [0.35, 0.17, 0.01, 0.13, 0.48, 0.14],
    [0.26, 0.0, 0.58, 0.11, 0.19, 0.62],
    [0.36, 0.59, 0.45, 0.52, 0.06, 0.38],
    [0.36, 0.61, 0.25, 0.42, 0.04, 0.27],
    [0.23, 0.11, 0.57, 0.27, 0.69, 0.41],
    [0.42, 0.45, 0.47, 0.11, 0.31, 0.17],
];
const BASE: [f64; 6] = [0.2, 0.05, 0.48, 0.11, 0.34, 0.15];

fn rows(scores: &[[f64; 6]]) -> Vec<Vec<f64>> {
    scores.iter().map(|scores| scores.to_vec()).collect()
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-8, "{found} is not {wanted}");
}

/// numpy and scipy: variances with `ddof=1`, `stats.t(df)`, `np.corrcoef`.
#[test]
fn effects_are_scipys() {
    let (ours, theirs) = (rows(&OURS), rows(&THEIRS));
    let found = Effect::of(Sample::Seeds(&ours), Sample::Seeds(&theirs), Pairing::Independent).unwrap();
    for (found, wanted) in [
        (found.difference, 0.200_555_555_555_555_57),
        (found.standard_error, 0.073_442_612_180_876_42),
        (found.freedom, 10.361_607_848_585_56),
        (found.low, 0.037_686_022_592_283_6),
        (found.high, 0.363_425_088_518_827_54),
        (found.p_value(0.0), 0.020_540_360_817_369_006),
        (found.p_value(0.05), 0.066_537_870_918_413_52),
        (found.shows(0.8), 0.227_330_154_648_717_11),
        (found.over_seeds.hypot(found.over_problems), found.standard_error),
    ] {
        close(found, wanted);
    }
    let paired = Effect::of(Sample::Seeds(&ours), Sample::Seeds(&theirs[..5]), Pairing::Paired).unwrap();
    close(paired.low, 0.019_545_056_821_453_993);
    close(paired.freedom, 8.997_334_909_528_393);
    close(paired.correlation.unwrap(), -0.178_437_883_391_358_02);
    let base = Effect::of(Sample::Seeds(&ours), Sample::Fixed(&BASE), Pairing::Independent).unwrap();
    close(base.high, 0.533_800_721_624_430_9);
    close(base.freedom, 6.530_940_145_772_012);
    assert_eq!((base.seeds, base.problems, base.correlation), ([5, 0], 6, None));
}

#[test]
fn more_seeds_show_less_until_the_problems_limit_it() {
    let (ours, theirs) = (rows(&OURS), rows(&THEIRS));
    let found = Effect::of(Sample::Seeds(&ours), Sample::Seeds(&theirs), Pairing::Independent).unwrap();
    let seeds = found.seeds_for(0.22, 0.8).unwrap();
    assert!((6..=9).contains(&seeds), "{seeds}");
    assert_eq!(found.seeds_for(1.0, 0.8), Some(Effect::FEWEST_SEEDS));
    assert_eq!(found.seeds_for(found.over_problems, 0.8), None);
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let ours = rows(&OURS);
    let of = |ours, theirs, pairing| Effect::of(ours, theirs, pairing).unwrap_err();
    let (five, three) = (Sample::Seeds(&ours), Sample::Seeds(&ours[..3]));
    assert_eq!(of(five, three, Pairing::Independent), Undecidable::Seeds(3));
    assert_eq!(of(five, Sample::Seeds(&ours[..4]), Pairing::Paired), Undecidable::Unpaired(5, 4));
    assert_eq!(of(five, Sample::Fixed(&BASE[..5]), Pairing::Independent), Undecidable::Problems(6, 5));
    assert_eq!(of(five, Sample::Fixed(&[f64::NAN; 6]), Pairing::Independent), Undecidable::NotANumber);
    let alike = vec![vec![0.5]; 5];
    assert_eq!(of(Sample::Seeds(&alike), Sample::Seeds(&alike), Pairing::Independent), Undecidable::Alike);
}

/// t(59) at .975 is 2.0010, times 1 / 62.
#[test]
fn two_models_that_answer_alike_may_still_differ() {
    let answers: Vec<f64> = (0..60).map(|problem| f64::from(problem % 3 == 0)).collect();
    let found = Effect::of(Sample::Fixed(&answers), Sample::Fixed(&answers), Pairing::Independent).unwrap();
    close(found.low, -0.032_274_119_001_423_664);
    close(found.high, 0.032_274_119_001_423_664);
    let one = Effect::of(Sample::Fixed(&[1.0]), Sample::Fixed(&[1.0]), Pairing::Independent);
    assert_eq!(one.unwrap_err(), Undecidable::Alike);
}

/// Two arms of 60 problems that are all solved: each could have failed at two of 64.
#[test]
fn arms_at_a_bound_are_no_certainty() {
    let (all, none) = (vec![vec![1.0; 60]; 5], vec![vec![0.0; 60]; 5]);
    let equal = Effect::of(Sample::Seeds(&all), Sample::Seeds(&all), Pairing::Independent).unwrap();
    close(equal.standard_error, (2.0_f64 * (2.0 / 64.0) * (62.0 / 64.0) / 64.0).sqrt());
    assert_eq!(Outcome::of(Expectation::Higher(0.0), &equal), Outcome::Undecided);
    let apart = Effect::of(Sample::Seeds(&all), Sample::Seeds(&none), Pairing::Independent).unwrap();
    assert_eq!(Outcome::of(Expectation::Higher(0.5), &apart), Outcome::Appears);
}

#[test]
fn seeds_of_two_kinds_decide_only_where_the_arms_are_apart() {
    let arm = |seeds: [f64; 5]| seeds.map(|seed| vec![seed]).to_vec();
    let (two, one) = (arm([0.2, 0.21, 0.8, 0.81, 0.82]), arm([0.2, 0.21, 0.19, 0.2, 0.22]));
    let of = |ours: &[Vec<f64>], theirs| Effect::of(Sample::Seeds(ours), theirs, Pairing::Independent);
    assert_eq!(of(&two, Sample::Seeds(&one)).unwrap_err(), Undecidable::TwoKinds);
    assert_eq!(of(&two, Sample::Fixed(&[0.5])).unwrap_err(), Undecidable::TwoKinds);
    let low = arm([0.1, 0.11, 0.09, 0.1, 0.12]);
    assert!(of(&two, Sample::Seeds(&low)).is_ok(), "every seed is beyond every other");
    assert!(of(&two, Sample::Fixed(&[0.1])).is_ok() && of(&two[1..], Sample::Fixed(&[0.1])).is_err());
    let ten = [two.clone(), two].concat();
    assert!(of(&ten, Sample::Fixed(&[0.5])).is_ok(), "ten seeds show both kinds");
    let level = vec![vec![0.3]; 5];
    assert_eq!(of(&ten[1..5], Sample::Seeds(&level[1..])).unwrap_err(), Undecidable::TwoKinds);
    let wide = arm([0.1, 0.3, 0.5, 0.7, 0.9]);
    assert_eq!(of(&wide[..4], Sample::Seeds(&level[1..])).unwrap_err(), Undecidable::Uneven);
    assert!(of(&wide, Sample::Seeds(&level)).is_ok());
}

#[test]
fn an_interval_decides_what_was_expected() {
    let (ours, theirs) = (rows(&OURS), rows(&THEIRS));
    let better = Effect::of(Sample::Seeds(&ours), Sample::Seeds(&theirs), Pairing::Independent).unwrap();
    let worse = Effect::of(Sample::Seeds(&theirs), Sample::Seeds(&ours), Pairing::Independent).unwrap();
    for (expectation, of_better, of_worse) in [
        (Expectation::Higher(0.0), Outcome::Appears, Outcome::Refuted),
        (Expectation::Higher(0.1), Outcome::Undecided, Outcome::Refuted),
        (Expectation::Higher(0.5), Outcome::Refuted, Outcome::Refuted),
        (Expectation::Lower(0.0), Outcome::Refuted, Outcome::Appears),
        (Expectation::NotHigher, Outcome::Refuted, Outcome::NotRefuted),
    ] {
        assert_eq!((Outcome::of(expectation, &better), Outcome::of(expectation, &worse)), (of_better, of_worse));
    }
}

#[test]
fn several_hypotheses_are_rejected_by_holm() {
    assert_eq!(holm(&[0.04, 0.01, 0.03], 0.05), [false, true, false]);
    assert_eq!(holm(&[0.02, 0.02], 0.05), [true, true]);
    assert_eq!(holm(&[0.06], 0.05), [false]);
}

/// A small part of what `examples/decisions.rs` prints. With 2,000 trials, 6.5 % are met by a rate of 5 % but for chances of one
/// in a thousand.
#[test]
fn few_studies_without_an_effect_show_one() {
    for ratio in [0.0, 1.0, f64::INFINITY] {
        for variance in [1.0, 4.0] {
            let cell = Cell { seeds: 5, problems: 60, ratio, variance, is_two_valued: false };
            let share = cell.false_decisions(2_000, 1);
            assert!((0.01..=0.065).contains(&share), "{cell:?}: {share}");
        }
    }
}
