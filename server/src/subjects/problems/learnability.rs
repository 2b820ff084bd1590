//! `/runs/{id}/learnability`: which problems teach something, and signs that they no longer do.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Highlight, Metric};
use lyceum_core::suspicion::{Sample, suspicious};
use lyceum_core::verify::ProblemKind;
use lyceum_store::members;
use lyceum_store::metrics::{self, MetricRow, MetricsQuery};
use lyceum_store::problems::{self, Candidate, SolveBand};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::format::{capital, words};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::names;
use crate::frame::steps::{MEMBERS, POINTS, Steps, level_for};
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Bands of the solve rate between none and all.
const BANDS: u32 = 4;
/// Maximum number of bars of the histogram.
const BARS: u32 = 120;
/// Newest problems that are searched for suspicious ones.
const LOOKED_AT: u32 = 2000;
/// Suspicious problems shown.
const SHOWN: usize = 10;

/// A problem that a person should look at.
#[derive(Serialize)]
struct Suspect {
    id: Uuid,
    step: i32,
    #[serde(rename = "type")]
    problem_type: ProblemKind,
    proposer: Option<String>,
    solve_rate: Option<f32>,
    reasons: Vec<String>,
    program: String,
}

impl Suspect {
    fn excerpt(&self) -> Excerpt {
        excerpt(&self.program, SHOWN_IN_LIST)
    }
}

#[derive(Template, Serialize)]
#[template(path = "problems/learnability.html")]
struct LearnabilityPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// The steps shown.
    steps: Steps,
    /// Steps per bar.
    width: u32,
    /// Problems by step and band; band 0 was solved by no attempt, the last by all.
    bands: Vec<SolveBand>,
    /// Share of the problems that no attempt or every attempt solved.
    no_signal: Option<f64>,
    looked_at: usize,
    suspects: Vec<Suspect>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// The learnability of a run's problems.
#[get("/runs/{id}/learnability")]
pub(crate) async fn show_learnability(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    steps: Filters<Steps>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let run = RunFrame::load(&lab, *id, Tab::Learnability).await?;
    let stretch = steps.0.of_run(run.run().step, BARS)?;
    let width = stretch.width;
    let level = level_for(steps.0.length(run.run().step), POINTS);
    let query = MetricsQuery {
        run_alone: true,
        from: stretch.from,
        to: steps.0.to,
        level,
        limit: 4 * POINTS,
        ..MetricsQuery::default()
    };
    let (bands, metrics, candidates, family) = tokio::try_join!(
        problems::solve_bands(db, *id, stretch, BANDS),
        metrics::rows(db, *id, &query),
        problems::candidates(db, *id, LOOKED_AT),
        members::names(db, *id, MEMBERS),
    )?;
    let rows = metrics.rows;
    let names = names(family);
    let looked_at = candidates.len();
    // Programs may be long.
    let suspects = tokio::task::spawn_blocking(move || suspects(candidates, &names))
        .await
        .map_err(|error| ApiError::internal(&error))?;
    let known = lab.registry.metrics(&run.run().recipe);
    let drifts = drifts(&rows, &run.detail.metrics, &known);
    // A bar and a point of a curve cover different numbers of steps.
    let mut figures = view.news(vec![histogram(&bands)], width);
    figures.extend(view.news(drifts, 4u32.pow(u32::from(level))));
    view.show(&LearnabilityPage {
        layout: view.layout(format!("Learnability · {}", run.run().name), Section::Runs),
        no_signal: no_signal(&bands),
        looked_at,
        suspects,
        figures,
        steps: steps.0,
        width,
        bands,
        run,
    })
}

/// The curves of the metrics the recipe highlights here, a figure for each unit.
fn drifts(rows: &[MetricRow], recorded: &[String], known: &[Metric]) -> Vec<Figure> {
    let highlighted = |metric: &&Metric| metric.highlights.contains(&Highlight::Learnability);
    let shown: Vec<&Metric> = known.iter().filter(highlighted).collect();
    let mut units: Vec<&'static str> = Vec::new();
    for metric in &shown {
        if !units.contains(&metric.unit) {
            units.push(metric.unit);
        }
    }
    let figure = |unit: &'static str| {
        let names: Vec<&str> = shown.iter().filter(|metric| metric.unit == unit).map(|metric| metric.name).collect();
        let titles: Vec<String> = names.iter().map(|name| words(name)).collect();
        Figure {
            id: format!("drift-{}", unit.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")),
            title: capital(&titles.join(", ")),
            x: "step".to_owned(),
            y: unit.to_owned(),
            unit,
            range: (unit == "share").then_some([0.0, 1.0]),
            series: crate::frame::steps::of(rows, recorded, &names),
            ..Figure::default()
        }
    };
    units.into_iter().map(figure).collect()
}

fn no_signal(bands: &[SolveBand]) -> Option<f64> {
    let all: i64 = bands.iter().map(|band| band.problems).sum();
    let last = BANDS.cast_signed() + 1;
    let ends = bands.iter().filter(|band| band.band == 0 || band.band == last);
    (all > 0).then(|| ends.map(|band| band.problems).sum::<i64>() as f64 / all as f64)
}

/// Shares of the problems of each step by solve rate, from never to always solved.
fn histogram(bands: &[SolveBand]) -> Figure {
    let mut steps: BTreeMap<i32, HashMap<i32, i64>> = BTreeMap::new();
    for band in bands {
        *steps.entry(band.step).or_default().entry(band.band).or_default() += band.problems;
    }
    let last = BANDS.cast_signed() + 1;
    let series = (0..=last).map(|band| {
        let share = |counts: &HashMap<i32, i64>| {
            let all: i64 = counts.values().sum();
            counts.get(&band).copied().unwrap_or(0) as f64 / all.max(1) as f64
        };
        let (name, colour, strength) = match band {
            0 => ("no attempt solved it".to_owned(), Colour::Muted, 0.75),
            band if band == last => ("every attempt solved it".to_owned(), Colour::Muted, 0.35),
            band => {
                let (low, high) = (100 * (band - 1) / last.saturating_sub(1), 100 * band / last.saturating_sub(1));
                let strength = 0.25 + 0.75 * f64::from(band) / f64::from(last);
                (format!("{low} to {high} %"), Colour::Good, strength)
            }
        };
        Series {
            name,
            style: Style::Stacked,
            colour,
            strength: Some(strength),
            points: steps.iter().map(|(step, counts)| (f64::from(*step), Some(share(counts)))).collect(),
            ..Series::default()
        }
    });
    Figure {
        id: "histogram".to_owned(),
        title: "Solve rates of problems".to_owned(),
        note: "The grey ends teach nothing: under a group baseline all attempts at such a problem get the same reward."
            .to_owned(),
        x: "step".to_owned(),
        y: "share of problems".to_owned(),
        unit: "share",
        range: Some([0.0, 1.0]),
        series: if bands.is_empty() { Vec::new() } else { series.collect() },
        ..Figure::default()
    }
}

fn suspects(candidates: Vec<Candidate>, names: &HashMap<Uuid, String>) -> Vec<Suspect> {
    let samples: Vec<Sample> = candidates
        .iter()
        .map(|candidate| Sample {
            kind: candidate.problem_type.name(),
            program: &candidate.program,
            cyclomatic: candidate.cyclomatic,
            solve_rate: candidate.solve_rate.unwrap_or(0.0),
            proposal_letters: candidate.proposal_letters.max(0).cast_unsigned(),
            answer_letters: candidate.answer_letters.map(|letters| letters.max(0).cast_unsigned()),
        })
        .collect();
    let found = suspicious(&samples);
    let suspect = |(place, reasons): (usize, Vec<lyceum_core::suspicion::Suspicion>)| {
        let candidate = &candidates[place];
        Suspect {
            id: candidate.id,
            step: candidate.step,
            problem_type: candidate.problem_type,
            proposer: candidate.proposer_id.and_then(|id| names.get(&id).cloned()),
            solve_rate: candidate.solve_rate,
            reasons: reasons.iter().map(ToString::to_string).collect(),
            program: candidate.program.clone(),
        }
    };
    found.into_iter().take(SHOWN).map(suspect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_s_own_signs_are_drawn_by_unit() {
        let metric = |name, unit, highlights| Metric::new(name, unit, &[]).highlighted(highlights);
        let known = [
            metric("copies", "share", &[Highlight::Learnability]),
            metric("proof_length", "tokens", &[Highlight::Learnability]),
            metric("echoes", "share", &[Highlight::Learnability]),
            metric("elsewhere", "share", &[Highlight::StepLine]),
        ];
        let row =
            MetricRow { step: 0, width: 1, member_id: None, mean: vec![0.5, 12.0, 0.25, 1.0], min: None, max: None };
        let recorded = known.iter().map(|metric| metric.name.to_owned()).collect::<Vec<_>>();
        let figures = drifts(&[row], &recorded, &known);
        let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["Copies, echoes", "Proof length"]);
        assert_eq!(figures[0].series.len(), 2);
        assert_eq!(figures[0].range, Some([0.0, 1.0]));
    }

    #[test]
    fn shares_of_a_step_add_up_and_the_ends_have_no_signal() {
        let band = |step, band, problems| SolveBand { step, band, problems };
        let bands = [band(0, 0, 2), band(0, 3, 1), band(0, 5, 1), band(8, 2, 4)];
        let figure = histogram(&bands);
        assert_eq!(figure.series.len(), 6);
        for place in 0..2 {
            let sum: f64 = figure.series.iter().filter_map(|series| series.points[place].1).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
        assert_eq!(no_signal(&bands), Some(3.0 / 8.0));
        assert_eq!(no_signal(&[]), None);
        assert!(histogram(&[]).is_empty());
    }
}
