//! The charts of the growing set and of the critic's scores.

use lyceum_core::recipe::Growth as Column;
use lyceum_core::statistics::Interval;

use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::{format, steps};
use crate::subjects::curriculum::{Growth, ScoreBucket, Scores};

/// The size of the set as bars under the score on a suite (Figure 3 of the paper).
pub(super) fn growth(growth: &Growth, suite: Option<&str>) -> Figure {
    let bars: Vec<(f64, Option<f64>)> = growth
        .items
        .iter()
        .filter_map(|step| {
            let size = growth.size(step)?;
            Some((f64::from(step.step + step.width), Some(size)))
        })
        .collect();
    let measured: Vec<_> = growth.validation.iter().filter(|one| Some(one.suite.as_str()) == suite).collect();
    let curve = Series {
        name: suite.map(|suite| format!("{}: pass@1", format::suite_title(suite))).unwrap_or_default(),
        style: Style::Bold,
        colour: Colour::Solving,
        points: measured.iter().map(|one| (f64::from(one.steps_done), Some(100.0 * one.pass_at_1))).collect(),
        band: measured
            .iter()
            .map(|one| {
                let Interval { low, high } =
                    Interval::of_mean(one.pass_at_1, one.standard_error, one.rows.unsigned_abs().into());
                (f64::from(one.steps_done), 100.0 * low, 100.0 * high)
            })
            .collect(),
        ..Series::default()
    };
    let bars = Series {
        name: "tasks in the set".to_owned(),
        style: Style::Bars,
        colour: Colour::Proposing,
        points: bars,
        ..Series::default()
    };
    let is_empty = bars.points.is_empty();
    Figure {
        id: "growth".to_owned(),
        title: "Growing set and validation".to_owned(),
        note: "Bars: tasks in the set after a step, measured by the axis on the right. Curve: the mean pass@1 of the run's \
               members on a benchmark, with an interval of 95 % over its rows. A set that grows while the curve falls is a \
               curriculum that drifts."
            .to_owned(),
        x: "steps done".to_owned(),
        y: if measured.is_empty() { String::new() } else { "pass@1 in per cent".to_owned() },
        right: "tasks".to_owned(),
        series: match (is_empty, measured.is_empty()) {
            (true, _) => Vec::new(),
            (false, true) => vec![bars],
            (false, false) => vec![bars, curve],
        },
        ..Figure::default()
    }
}

/// Mean scores, and what they should follow.
pub(super) fn inflation(growth: &Growth, metrics: &[String]) -> Figure {
    let series = growth.metrics.iter().flat_map(|metric| {
        let style = |series: Series| match metric.growth {
            Some(Column::Size | Column::Admitted) | None => None,
            Some(Column::QuestionScore) => Some(Series { style: Style::Bold, colour: Colour::Judging, ..series }),
            Some(Column::PlanScore) => Some(Series { colour: Colour::Planning, ..series }),
            Some(Column::CriticAuc) => Some(Series { name: "critic AUC".to_owned(), ..series }),
            Some(Column::StatedRight | Column::AdmittedRight) => Some(Series { style: Style::Dashed, ..series }),
        };
        let curve = steps::of(&growth.rows, metrics, &[metric.name]);
        curve.into_iter().filter_map(style)
    });
    Figure {
        id: "inflation".to_owned(),
        title: "Scores over time".to_owned(),
        note: "The mean score of questions and of plans, the critic's AUC, and the share of stated answers that are right, of \
               all proposals and of those that joined. A score that rises while AUC and shares do not is inflation."
            .to_owned(),
        x: "step".to_owned(),
        y: "from 0 to 1".to_owned(),
        range: Some([0.0, 1.0]),
        series: series.collect(),
        ..Figure::default()
    }
}

/// What became of the proposals with each score.
pub(super) fn admission(scores: &Scores) -> Figure {
    type Count = fn(&ScoreBucket) -> u64;
    let parts: [(&str, Colour, f64, Count); 3] = [
        ("joined", Colour::Good, 0.9, |bucket| bucket.admitted),
        ("valid, score too low", Colour::Judging, 0.6, |bucket| bucket.valid - bucket.admitted),
        ("not valid", Colour::Muted, 0.35, |bucket| bucket.proposed - bucket.valid),
    ];
    let series = parts.map(|(name, colour, strength, count)| Series {
        name: name.to_owned(),
        style: Style::Stacked,
        colour,
        strength: Some(strength),
        points: points(scores, |bucket| Some(count(bucket) as f64)),
        ..Series::default()
    });
    Figure {
        id: "admission".to_owned(),
        title: "Admission by score".to_owned(),
        note: "Proposals by the critic's score. A proposal without a question is not scored. No number, and a number outside of \
               the scale, are the score 0.5."
            .to_owned(),
        x: "score".to_owned(),
        labels: labels(scores),
        y: "proposals".to_owned(),
        series: if scores.problems == 0 { Vec::new() } else { series.into() },
        ..Figure::default()
    }
}

/// The share of stated answers that are right, by score (a reliability diagram).
pub(super) fn calibration(scores: &Scores) -> Figure {
    let right = Series {
        name: "right stated answers".to_owned(),
        style: Style::Bold,
        colour: Colour::Solving,
        points: points(scores, |bucket| bucket.right_share),
        band: (0..)
            .zip(&scores.items)
            .filter_map(|(place, bucket)| Some((f64::from(place), bucket.low?, bucket.high?)))
            .collect(),
        ..Series::default()
    };
    let expected = Series {
        name: "if a score were the probability".to_owned(),
        style: Style::Dashed,
        colour: Colour::Muted,
        points: points(scores, |bucket| (bucket.from == "number").then_some(bucket.score)),
        ..Series::default()
    };
    Figure {
        id: "calibration".to_owned(),
        title: "Calibration of the critic".to_owned(),
        note: "Of the arithmetic questions that Lyceum can evaluate: the share whose stated answer is right, by score, with an \
               interval of 95 %. A useful critic's curve rises; a calibrated one's follows the dashed line. Nothing learns from \
               it."
            .to_owned(),
        x: "score".to_owned(),
        labels: labels(scores),
        y: "share right".to_owned(),
        unit: "share",
        range: Some([0.0, 1.0]),
        series: if scores.has_truth() { vec![right, expected] } else { Vec::new() },
        ..Figure::default()
    }
}

fn labels(scores: &Scores) -> Vec<String> {
    scores.items.iter().map(ScoreBucket::label).collect()
}

fn points(scores: &Scores, value: impl Fn(&ScoreBucket) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
    let values = scores.items.iter().map(value);
    (0..).zip(values).map(|(place, value)| (f64::from(place), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects::curriculum::{GrowthStep, Validation};
    use lyceum_core::recipe::Metric;

    fn grown(sizes: &[f64], scores: &[(i32, f64)]) -> Growth {
        let step =
            |(step, size): (i32, &f64)| GrowthStep { step, width: 1, values: [("pool_size", Some(*size))].into() };
        let measured = |(steps_done, pass_at_1): &(i32, f64)| Validation {
            suite: "gsm8k".to_owned(),
            steps_done: *steps_done,
            members: 1,
            pass_at_1: *pass_at_1,
            standard_error: 0.05,
            rows: 60,
        };
        Growth {
            threshold: Some(0.7),
            items: (0..).zip(sizes).map(step).collect(),
            validation: scores.iter().map(measured).collect(),
            metrics: vec![Metric::number("pool_size", &[]).growth(Column::Size)],
            rows: Vec::new(),
        }
    }

    #[test]
    fn bars_and_curve_are_at_the_steps_that_were_done() {
        let figure = super::growth(&grown(&[12.0, 15.0, 19.0], &[(1, 0.25), (3, 0.99)]), Some("gsm8k"));
        assert_eq!(figure.series[0].points, [(1.0, Some(12.0)), (2.0, Some(15.0)), (3.0, Some(19.0))]);
        assert_eq!(figure.series[1].points, [(1.0, Some(25.0)), (3.0, Some(99.0))]);
        assert_eq!(figure.series[1].band[1].2, 100.0, "no share is above all");
        assert_eq!(super::growth(&grown(&[12.0], &[]), None).series.len(), 1, "bars alone");
        assert!(super::growth(&grown(&[], &[(1, 0.5)]), Some("gsm8k")).is_empty());
    }

    #[test]
    fn every_proposal_is_in_one_part_of_its_bar() {
        let bucket = |from, score, [proposed, valid, admitted]: [u64; 3]| ScoreBucket {
            from,
            score,
            proposed,
            valid,
            admitted,
            ..ScoreBucket::default()
        };
        let scores = Scores {
            problems: 9,
            is_cut: false,
            auc: None,
            mean_score: None,
            right_share: None,
            items: vec![bucket("unscored", 0.0, [2, 0, 0]), bucket("number", 1.0, [7, 5, 4])],
        };
        let figure = admission(&scores);
        assert_eq!(figure.labels, ["not scored", "1.00"]);
        let bars = |place: usize| -> Vec<f64> { figure.series.iter().filter_map(|one| one.points[place].1).collect() };
        assert_eq!((bars(0), bars(1)), (vec![0.0, 0.0, 2.0], vec![4.0, 1.0, 2.0]));
        assert!(calibration(&scores).is_empty(), "without truth there is no curve");
    }
}
