use super::*;
use crate::contract::{Recipe as _, Registry};
use crate::recipes::Rlvr;

fn comparison(value: f64, low: f64, high: f64) -> Comparison {
    Comparison {
        against: Against::Base,
        step: 40,
        value,
        reference: 0.267,
        difference: crate::statistics::Interval { low, high },
        n: 60,
    }
}

fn evidence() -> Evidence {
    Evidence {
        progress: Progress::Running,
        readings: Readings::default(),
        held_out: HeldOut::Measured(comparison(0.317, -0.03, 0.13)),
        since_warm_up: None,
    }
}

fn reading(signal: Signal, early: f64, late: f64) -> Evidence {
    let trend = Trend { early: Some(early), late };
    Evidence { readings: Readings::default().with(signal, Some(trend)), ..evidence() }
}

fn label(evidence: &Evidence) -> &'static str {
    let verdict = Verdict::of(evidence);
    verdict.headline().label(evidence.progress.is_open())
}

#[test]
fn held_out_accuracy_is_told_with_base_interval_and_count() {
    let mut at = reading(Signal::NoSignal, 0.5, 0.68);
    assert_eq!(
        Verdict::of(&at).sentences(),
        [
            "Not distinguishable yet: held-out 31.7 % after step 40 against 26.7 % of the base, +5.0 points (−3.0 to \
             +13.0, n = 60).",
            "68 % of the last steps' problems taught nothing.",
        ]
    );
    let first = |at: &Evidence| Verdict::of(at).sentences().swap_remove(0);
    at.progress = Progress::Completed;
    assert!(first(&at).starts_with("Not distinguishable: "), "there is no more to come");
    at.held_out = HeldOut::Measured(comparison(0.467, 0.08, 0.32));
    assert_eq!(
        first(&at),
        "Learned: held-out 46.7 % after step 40 against 26.7 % of the base, +20.0 points (+8.0 to +32.0, n = 60)."
    );
    at.progress = Progress::Running;
    assert!(first(&at).starts_with("Learning: "));
    let later = Comparison { against: Against::Step(0), ..comparison(0.067, -0.32, -0.08) };
    at.held_out = HeldOut::Measured(later);
    assert_eq!(
        first(&at),
        "Worse than before: held-out 6.7 % after step 40 against 26.7 % after step 0, −20.0 points (−32.0 to −8.0, n = \
         60)."
    );
}

#[test]
fn an_interval_that_touches_zero_decides_nothing() {
    for (low, high, expected) in [
        (0.0, 0.1, "Not distinguishable yet"),
        (1e-9, 0.1, "Learning"),
        (-0.1, 0.0, "Not distinguishable yet"),
        (-0.1, -1e-9, "Worse than before"),
    ] {
        let at = Evidence { held_out: HeldOut::Measured(comparison(0.3, low, high)), ..evidence() };
        assert_eq!(label(&at), expected, "{low} to {high}");
    }
}

#[test]
fn without_a_measurement_nobody_can_say_whether_it_learns() {
    let of = |held_out| {
        let at = Evidence { held_out, ..evidence() };
        label(&at)
    };
    assert_eq!(of(HeldOut::Unmeasured), "Not measured");
    assert_eq!(of(HeldOut::Awaited), "Not measured yet");
}

#[test]
fn the_most_urgent_finding_comes_first_and_accuracy_is_always_told() {
    let mut at = reading(Signal::Format, 0.97, 0.4);
    at.readings = at.readings.with(Signal::NoSignal, Some(Trend { early: None, late: 0.95 }));
    at.progress = Progress::Failed(Some("worker `w` lost the item\nat line 3".to_owned()));
    assert_eq!(
        Verdict::of(&at).sentences(),
        [
            "Failed: worker `w` lost the item.",
            "Collapsed: 40 % of the answers have the required form, 97 % at first.",
            "No signal: 95 % of the last steps' problems taught nothing.",
            "Not distinguishable: held-out 31.7 % after step 40 against 26.7 % of the base, +5.0 points (−3.0 to +13.0, \
             n = 60).",
        ]
    );
    at.progress = Progress::Stalled;
    assert_eq!(label(&at), "Stalled");
    at.progress = Progress::Failed(None);
    assert_eq!(Verdict::of(&at).sentences()[0], "Failed: the cause is unknown.");
    at.progress = Progress::Failed(Some("x".repeat(500)));
    assert_eq!(Verdict::of(&at).sentences()[0].chars().count(), "Failed: .".len() + 201, "long causes are cut");
}

#[test]
fn each_sign_of_collapse_needs_a_low_value_and_a_change() {
    for (signal, early, late, expected) in [
        (Signal::Format, 0.97, 0.75, "Collapsing"),
        (Signal::Format, 0.97, 0.81, "Not distinguishable yet"),
        (Signal::Format, 0.2, 0.1, "Not distinguishable yet"),
        (Signal::Entropy, 0.85, 0.04, "Collapsing"),
        // The entropy of GASP's adapters, which did learn.
        (Signal::Entropy, 0.46, 0.11, "Not distinguishable yet"),
        (Signal::Entropy, 0.06, 0.04, "Not distinguishable yet"),
        (Signal::Duplicates, 0.3, 0.6, "Collapsing"),
        (Signal::Duplicates, 0.1, 0.45, "Not distinguishable yet"),
        (Signal::Duplicates, 0.5, 0.6, "Not distinguishable yet"),
    ] {
        let at = reading(signal, early, late);
        assert_eq!(label(&at), expected, "{signal} from {early} to {late}");
        let mut at = at;
        at.readings = Readings::default().with(signal, Some(Trend { early: None, late }));
        assert_eq!(label(&at), "Not distinguishable yet", "{signal} of a run that has just begun");
    }
}

#[test]
fn a_side_loses_contact_when_it_gives_nothing_to_learn_from() {
    for (signal, late, expected) in [
        (Signal::Valid, 0.05, "Lost contact: 5 % of the proposals are valid."),
        (Signal::Solved, 0.02, "Lost contact: 2 % of the answers are right, so problems are too hard."),
        (Signal::Solved, 0.95, "Lost contact: 95 % of the answers are right, so problems are too easy."),
        (Signal::InBand, 0.0, "Lost contact: 0 % of the problems are neither too easy nor too hard."),
    ] {
        let at = reading(signal, 0.5, late);
        assert_eq!(Verdict::of(&at).sentences()[0], expected);
    }
    for (signal, late) in
        [(Signal::Valid, 0.06), (Signal::Solved, 0.06), (Signal::Solved, 0.94), (Signal::InBand, 0.06)]
    {
        let at = reading(signal, 0.5, late);
        assert_eq!(label(&at), "Not distinguishable yet", "{signal} at {late}");
    }
}

#[test]
fn no_signal_is_nearly_every_problem() {
    assert_eq!(label(&reading(Signal::NoSignal, 0.5, 0.9)), "No signal");
    assert_eq!(label(&reading(Signal::NoSignal, 0.5, 0.89)), "Not distinguishable yet");
}

#[test]
fn a_run_is_compared_with_its_base_problem_by_problem() {
    // numpy and scipy: d.mean() ± stats.t(n - 1).ppf(.975) * d.std(ddof=1) / sqrt(n).
    for (better, worse, n, low, high) in [
        (5, 2, 60, -0.038_021_697_611_487_2, 0.138_021_697_611_487_2),
        (12, 2, 60, 0.048_557_205_237_531_9, 0.284_776_128_095_801_44),
        // Beyond 1 there is nothing: the formula alone says 1.075.
        (3, 0, 6, -0.074_799_572_620_899_1, 1.0),
    ] {
        let before: Vec<f64> = (0..n).map(|row| f64::from(u8::from(row < worse))).collect();
        let after: Vec<f64> = (0..n).map(|row| f64::from(u8::from((worse..worse + better).contains(&row)))).collect();
        let found = Comparison::paired(Against::Base, 8, &before, &after).unwrap();
        assert!((found.difference.low - low).abs() < 1e-8 && (found.difference.high - high).abs() < 1e-8, "{found:?}");
        assert_eq!(found.n, n as u64);
    }
    assert_eq!(Comparison::paired(Against::Base, 8, &[], &[]), None);
    assert_eq!(Comparison::paired(Against::Base, 8, &[1.0], &[1.0, 0.0]), None, "these are not the same problems");
    let one = Comparison::paired(Against::Base, 8, &[0.0], &[1.0]).unwrap().difference;
    assert_eq!((one.low, one.high), (-1.0, 1.0), "one problem says nothing");
}

#[test]
fn trends_are_of_the_first_and_the_last_values_that_do_not_overlap() {
    let of = |values: &[f64]| Trend::of(values.iter().copied());
    assert_eq!(of(&[1.0; 7]), None, "too few");
    assert_eq!(of(&[1.0; 8]), Some(Trend { early: None, late: 1.0 }));
    let rising: Vec<f64> = (0..40).map(f64::from).collect();
    assert_eq!(of(&rising), Some(Trend { early: Some(7.5), late: 31.5 }));
    assert_eq!(of(&rising[..23]).unwrap().early, None, "seven values are too few");
    assert_eq!(of(&rising[..24]).unwrap().early, Some(3.5), "the first eight");
    let mut gaps = vec![f64::NAN; 10];
    gaps.extend([2.0; 8]);
    assert_eq!(of(&gaps), Some(Trend { early: None, late: 2.0 }));
}

#[test]
fn every_recipe_records_what_its_verdicts_need() {
    for recipe in Registry::shipped().recipes() {
        let metrics = recipe.metrics();
        for signal in [Signal::NoSignal, Signal::Entropy, Signal::Format] {
            assert!(signal.metric_in(&metrics).is_some(), "{signal} of {}", recipe.name());
        }
        for signal in Signal::ALL {
            let count = metrics.iter().filter(|metric| metric.signal == Some(signal)).count();
            assert!(count <= 1, "{count} metrics carry {signal} of {}", recipe.name());
        }
    }
}

#[test]
fn problems_teach_nothing_only_where_answers_to_one_are_compared() {
    let registry = Registry::shipped();
    let compares = |preset: &str, overrides: &[(&str, &str)]| {
        let path = format!("{}/../../configs/runs/{preset}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut document: serde_json::Value = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).into()));
        crate::config::apply_overrides(&mut document, &overrides.collect()).unwrap();
        let config = crate::config::resolve(&document, &registry).unwrap();
        registry.get(&config.recipe).unwrap().compares_answers(&config).unwrap()
    };
    for (preset, expected) in [
        ("populora-seedling", true),
        ("baseline-seedling", true),
        ("azr-seedling", false),
        ("rlvr-seedling", true),
        ("rzero-seedling-math", true),
        ("sage-seedling-math", false),
        ("gasp-seedling", false),
        ("gasp-qwen2.5-coder-7b-real-data", false),
    ] {
        assert_eq!(compares(preset, &[]), expected, "{preset}");
    }
    for preset in ["rlvr-seedling", "rzero-seedling-math"] {
        for (estimator, expected) in [
            ("group_relative", true),
            ("reinforce_plus_plus_baseline", true),
            ("reinforce_plus_plus", false),
            ("task_relative_reinforce_plus_plus", false),
        ] {
            let given = [("parameters.advantages.estimator", estimator)];
            assert_eq!(compares(preset, &given), expected, "{preset} with {estimator}");
        }
    }
    let recorded = ["no_signal_share", "entropy"].map(str::to_owned);
    let found = [true, false].map(|compares| Signal::all_in(&Rlvr.metrics(), &recorded, compares));
    assert_eq!(found[0], [(Signal::NoSignal, 0), (Signal::Entropy, 1)]);
    assert_eq!(found[1], [(Signal::Entropy, 1)]);
}

/// R-Zero's measure is the mean share of a proposer's proposals in a proposal's cluster, which is no share of proposals.
#[test]
fn repeated_proposals_are_told_by_what_is_measured() {
    assert_eq!(
        Verdict::of(&reading(Signal::Duplicates, 0.1, 0.6)).sentences()[0],
        "Collapsing: the measure of repeated proposals is 60 %, 10 % at first."
    );
}
