//! Scores of a run over its steps and pass@k over k, one chart per suite.

use lyceum_core::benchmark::{CurvePoint, Spread, SubjectRole};
use lyceum_core::statistics::Interval;
use lyceum_store::benchmarks::{BenchmarkResult, LevelAtStep, ScoreAtStep};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::format;

/// Maximum members with a line of their own; with more, a chart shows only the mean and the band.
const LINES: usize = 24;

/// A chart for each suite measured at more than one step; a single step is in the table.
pub(crate) fn figures(scores: &[ScoreAtStep]) -> Vec<Figure> {
    let suites: BTreeSet<&str> = scores.iter().map(|score| score.suite.as_str()).collect();
    suites.into_iter().filter_map(|name| figure(name, scores)).collect()
}

fn figure(name: &str, scores: &[ScoreAtStep]) -> Option<Figure> {
    let all: Vec<&ScoreAtStep> = scores.iter().filter(|score| score.suite == name).collect();
    let usual = usual_way(&all)?;
    let rows = usual.rows;
    let scores: Vec<&ScoreAtStep> = all.iter().copied().filter(|score| way(score) == way(usual)).collect();
    let steps: BTreeSet<i32> = scores.iter().filter_map(|score| score.step).collect();
    if steps.len() < 2 {
        return None;
    }
    let base = scores.iter().find(|score| score.role == SubjectRole::Base);
    let level = base.map(|base| Series {
        name: format!("base: {}", base.name),
        style: Style::Dashed,
        colour: Colour::Muted,
        points: steps.iter().map(|step| (f64::from(*step), Some(100.0 * base.pass_at_1))).collect(),
        band: steps
            .iter()
            .map(|step| {
                let rows = u64::from(base.rows.max(0).cast_unsigned());
                let Interval { low, high } = Interval::of_mean(base.pass_at_1, base.standard_error, rows);
                (f64::from(*step), 100.0 * low, 100.0 * high)
            })
            .collect(),
        ..Series::default()
    });
    let members: BTreeSet<(&str, Uuid)> =
        scores.iter().filter_map(|score| Some((score.name.as_str(), score.member_id?))).collect();
    let has_lines = members.len() <= LINES;
    let lines = members
        .iter()
        .filter(|_| has_lines)
        .map(|(name, member)| Series { style: Style::Faint, ..line(name, *member, &scores) });
    let mut note = format!(
        "n = {rows}. The band goes from the worst to the best member of each step, selected on the test set. Dashed: the base, \
         with its interval of 95 % over problems."
    );
    if scores.len() < all.len() {
        note.push_str(" What was measured on other problems or in another way is in the list of evaluations.");
    }
    if !has_lines {
        note.push_str(&format!(" With more than {LINES} members, there are no lines for single members."));
    }
    Some(Figure {
        id: format!("over-steps-{name}"),
        title: format!("{}: pass@1 over steps", format::suite_title(name)),
        note,
        x: "step".to_owned(),
        y: "pass@1 in per cent".to_owned(),
        range: Some([0.0, 100.0]),
        exact: true,
        series: means(&steps, &scores).into_iter().chain(level).chain(lines).collect(),
        ..Figure::default()
    })
}

/// Most levels that are drawn: words beyond that are no levels.
const LEVELS: usize = 12;

/// A chart for each suite with several levels that was measured at more than one step, in the way in which it was measured at most.
pub(crate) fn by_level(scores: &[LevelAtStep]) -> Vec<Figure> {
    let mut suites: BTreeMap<&str, BTreeMap<(&str, &str), Vec<&LevelAtStep>>> = BTreeMap::new();
    for score in scores {
        let ways = suites.entry(&score.suite).or_default();
        ways.entry((&score.row_set, &score.decoding)).or_default().push(score);
    }
    let of_suite = |(suite, ways): (&str, BTreeMap<_, Vec<&LevelAtStep>>)| {
        let scores = ways.into_values().max_by_key(Vec::len)?;
        let mut levels: BTreeMap<(u64, &str), Vec<&LevelAtStep>> = BTreeMap::new();
        for score in scores {
            let number = score.level.parse().unwrap_or(u64::MAX);
            levels.entry((number, &score.level)).or_default().push(score);
        }
        let is_drawn = (2..=LEVELS).contains(&levels.len()) && levels.values().any(|level| level.len() > 1);
        is_drawn.then(|| level_figure(suite, levels.into_values()))
    };
    suites.into_iter().filter_map(of_suite).collect()
}

fn level_figure<'s>(suite: &str, levels: impl Iterator<Item = Vec<&'s LevelAtStep>>) -> Figure {
    let line = |level: Vec<&LevelAtStep>| Series {
        name: level.first().map_or_else(String::new, |one| format!("level {} (n = {})", one.level, one.rows)),
        points: level.iter().map(|at| (f64::from(at.step), Some(100.0 * at.pass_at_1))).collect(),
        ..Series::default()
    };
    Figure {
        id: format!("by-level-{suite}"),
        title: format!("{}: pass@1 by level", format::suite_title(suite)),
        note: "The mean of those who solve. Step 0 is the base.".to_owned(),
        x: "step".to_owned(),
        y: "pass@1 in per cent".to_owned(),
        range: Some([0.0, 100.0]),
        exact: true,
        series: levels.map(line).collect(),
        ..Figure::default()
    }
}

/// What scores must have in common to be compared.
fn way(score: &ScoreAtStep) -> (&str, &str) {
    (&score.row_set, &score.decoding)
}

/// A score of the way in which members were measured at most steps; of equals, on the most rows.
fn usual_way<'s>(scores: &[&'s ScoreAtStep]) -> Option<&'s ScoreAtStep> {
    let mut steps: BTreeMap<(&str, &str), BTreeSet<i32>> = BTreeMap::new();
    for score in scores {
        steps.entry(way(score)).or_default().extend(score.step);
    }
    let each = scores.iter().copied();
    each.max_by_key(|score| (steps.get(&way(score)).map(BTreeSet::len), score.rows))
}

/// The mean of those who solve at each step, between the worst and the best; and that of teachers, if they were measured.
fn means(steps: &BTreeSet<i32>, scores: &[&ScoreAtStep]) -> Vec<Series> {
    let (teachers, solvers): (Vec<&ScoreAtStep>, Vec<&ScoreAtStep>) =
        scores.iter().partition(|score| score.role == SubjectRole::Teacher);
    let name = if teachers.is_empty() { "members" } else { "those who solve" };
    let mut all =
        vec![mean(name, Colour::Next, steps, &solvers), mean("teachers", Colour::Proposing, steps, &teachers)];
    all.retain(|mean| !mean.points.is_empty());
    all
}

fn mean(name: &str, colour: Colour, steps: &BTreeSet<i32>, scores: &[&ScoreAtStep]) -> Series {
    let mut mean = Series { name: format!("mean of {name}"), style: Style::Bold, colour, ..Series::default() };
    for step in steps {
        let at = scores.iter().filter(|score| score.step == Some(*step));
        let at: Vec<f64> = at.map(|score| 100.0 * score.pass_at_1).collect();
        if let Some(spread) = Spread::of(&at) {
            let x = f64::from(*step);
            mean.points.push((x, Some(spread.mean)));
            mean.band.push((x, spread.min, spread.max));
        }
    }
    mean
}

fn colour_of(role: SubjectRole) -> Colour {
    match role {
        SubjectRole::Teacher => Colour::Proposing,
        SubjectRole::Student => Colour::Solving,
        SubjectRole::Member | SubjectRole::Base | SubjectRole::Baseline => Colour::default(),
    }
}

fn line(name: &str, member: Uuid, scores: &[&ScoreAtStep]) -> Series {
    let own: Vec<&&ScoreAtStep> = scores.iter().filter(|score| score.member_id == Some(member)).collect();
    Series {
        name: name.to_owned(),
        colour: own.first().map(|score| colour_of(score.role)).unwrap_or_default(),
        points: own.iter().filter_map(|score| Some((f64::from(score.step?), Some(100.0 * score.pass_at_1)))).collect(),
        ..Series::default()
    }
}

/// pass@k of one subject on one suite.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Curve {
    suite: String,
    name: String,
    role: SubjectRole,
    /// Samples per row.
    n: i32,
    points: Vec<CurvePoint>,
}

/// The curves of results with more than one sample per row.
pub(crate) fn curves(results: &[BenchmarkResult]) -> Vec<Curve> {
    let several = results.iter().filter(|result| result.n > 1);
    several
        .map(|result| Curve {
            suite: result.suite.clone(),
            name: result.name.clone(),
            role: result.role,
            n: result.n,
            points: result.score().curve(),
        })
        .collect()
}

/// One chart per suite. Bases, with which the others are compared, are dashed.
pub(crate) fn pass_at_k(curves: &[Curve]) -> Vec<Figure> {
    let suites: BTreeSet<&str> = curves.iter().map(|curve| curve.suite.as_str()).collect();
    let line = |curve: &Curve| {
        let is_base = curve.role == SubjectRole::Base;
        Series {
            name: curve.name.clone(),
            style: if is_base { Style::Dashed } else { Style::Line },
            colour: if is_base { Colour::Muted } else { Colour::Next },
            points: curve.points.iter().map(|point| (f64::from(point.k), Some(point.pass_at_k))).collect(),
            ..Series::default()
        }
    };
    let figure = |name: &str| Figure {
        id: format!("pass-at-k-{name}"),
        title: format!("{}: pass@k", format::suite_title(name)),
        note: "The share of tasks solved by at least one of k samples (unbiased estimate from all samples).".to_owned(),
        x: "k".to_owned(),
        y: "pass@k".to_owned(),
        unit: "share",
        range: Some([0.0, 1.0]),
        series: curves.iter().filter(|curve| curve.suite == name).map(line).collect(),
        ..Figure::default()
    };
    suites.into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(member: u128, step: i32, pass_at_1: f64) -> ScoreAtStep {
        ScoreAtStep {
            suite: "gsm8k".to_owned(),
            step: (member > 0).then_some(step),
            member_id: (member > 0).then(|| Uuid::from_u128(member)),
            name: format!("m{member}"),
            role: if member > 0 { SubjectRole::Student } else { SubjectRole::Base },
            pass_at_1,
            standard_error: 0.1,
            rows: 60,
            row_set: "sixty".to_owned(),
            decoding: "greedy".to_owned(),
        }
    }

    #[test]
    fn the_mean_is_over_those_who_lived_at_a_step_and_the_base_is_a_level() {
        let scores = [score(0, 0, 0.25), score(1, 10, 0.25), score(1, 20, 0.5), score(2, 20, 1.0)];
        let figures = figures(&scores);
        let series = &figures[0].series;
        assert_eq!(series[0].points, [(10.0, Some(25.0)), (20.0, Some(75.0))]);
        assert_eq!(series[0].band, [(10.0, 25.0, 25.0), (20.0, 50.0, 100.0)]);
        assert_eq!(series[1].points, [(10.0, Some(25.0)), (20.0, Some(25.0))]);
        let (step, low, high) = series[1].band[1];
        let reach = 10.0 * Interval::Z_95;
        assert!(step == 20.0 && (25.0 - reach - low).abs() < 1e-9 && (25.0 + reach - high).abs() < 1e-9);
        assert_eq!(figures[0].range, Some([0.0, 100.0]), "scores start at 0");
        assert_eq!(series[3].points, [(20.0, Some(100.0))]);
        assert!(super::figures(&scores[..2]).is_empty(), "one step is not a curve");
    }

    #[test]
    fn what_was_measured_on_other_rows_or_of_teachers_is_in_no_mean_of_those_who_solve() {
        let teacher = ScoreAtStep { role: SubjectRole::Teacher, ..score(2, 20, 0.0) };
        let larger = ScoreAtStep { rows: 300, row_set: "all".to_owned(), ..score(1, 20, 0.25) };
        let figures = figures(&[score(0, 0, 0.25), score(1, 10, 0.25), score(1, 20, 0.5), teacher, larger]);
        let [solvers, teachers, ..] = figures[0].series.as_slice() else { panic!("{:?}", figures[0].series) };
        assert_eq!(solvers.points, [(10.0, Some(25.0)), (20.0, Some(50.0))]);
        assert_eq!(teachers.points, [(20.0, Some(0.0))]);
    }

    #[test]
    fn a_base_that_solves_nothing_has_a_band() {
        let base = ScoreAtStep { standard_error: 0.0, ..score(0, 0, 0.0) };
        let figures = figures(&[base, score(1, 10, 0.25), score(1, 20, 0.5)]);
        let (_, low, high) = figures[0].series[1].band[0];
        // scipy.stats: binomtest(0, 60).proportion_ci(method="wilson") is (0, 0.060172).
        assert!(low == 0.0 && (high - 6.0172).abs() < 1e-3, "{low} to {high}");
    }

    #[test]
    fn a_crowd_has_a_mean_and_no_lines() {
        let scores: Vec<ScoreAtStep> =
            (1..=30).flat_map(|member| [score(member, 1, 0.0), score(member, 2, 1.0)]).collect();
        assert_eq!(figures(&scores)[0].series.len(), 1);
    }
}
