//! The pages of evaluations of goalposts and with a frozen side.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::recipe::{
    FrozenCell, FrozenSideResult, FrozenTeacher, FrozenVersion, GoalpostsMeasured, GoalpostsResult, Trend,
};
use serde::{Deserialize as _, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::layout::Layout;
use crate::frame::sides::heat;
use crate::frame::text::inert;
use crate::frame::view::View;
use crate::subjects::evaluations::result::EvaluationFrame;
use crate::subjects::goalposts::RUNS;

#[derive(Template, Serialize)]
#[template(path = "evaluations/goalposts.html")]
struct GoalpostsEvaluationPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    result: Option<GoalpostsResult>,
    #[serde(skip)]
    lines: Vec<Subject>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// A checkpoint and its control.
struct Subject {
    checkpoint: GoalpostsMeasured,
    control: Option<GoalpostsMeasured>,
}

impl GoalpostsEvaluationPage {
    fn name(&self, subject: &GoalpostsMeasured) -> String {
        inert(&subject.name)
    }

    /// The address of the map of the evaluation's runs; none without a run.
    fn map(&self) -> Option<String> {
        let result = self.result.as_ref()?;
        let runs: BTreeSet<Uuid> = result.subjects.iter().filter_map(|of| of.run.map(|run| run.0)).collect();
        let ids: Vec<String> = runs.iter().take(RUNS).map(Uuid::to_string).collect();
        (!ids.is_empty()).then(|| format!("/compare/goalposts?runs={}&dataset={}", ids.join(","), result.dataset))
    }
}

pub(super) fn show(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let result = result.and_then(|result| GoalpostsResult::deserialize(result).ok());
    view.show(&GoalpostsEvaluationPage {
        layout: frame.layout(view),
        lines: result.as_ref().map(lines).unwrap_or_default(),
        figures: result.as_ref().map(solved_over_steps).into_iter().collect(),
        result,
        frame,
    })
}

/// Problems solved by each member over the steps of its checkpoints, compared with the untrained base with as many attempts.
fn solved_over_steps(result: &GoalpostsResult) -> Figure {
    let mut curves: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for subject in &result.subjects {
        if let Some(step) = subject.step {
            let curve = curves.entry((subject.control, &subject.name)).or_default();
            curve.push((f64::from(step), Some(f64::from(subject.solved))));
        }
    }
    let series = curves.into_iter().take(LINES).map(|((control, name), mut points)| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Series {
            name: if control { format!("base for {}", inert(name)) } else { inert(name) },
            style: if control { Style::Dashed } else { Style::Bold },
            points,
            ..Series::default()
        }
    });
    Figure {
        id: "solved-over-steps".to_owned(),
        title: "Problems solved at least once".to_owned(),
        x: "step".to_owned(),
        y: "problems".to_owned(),
        range: Some([0.0, f64::from(result.problems)]),
        exact: true,
        series: series.collect(),
        ..Figure::default()
    }
}

fn lines(result: &GoalpostsResult) -> Vec<Subject> {
    let of = |subject: &GoalpostsMeasured| (subject.run, subject.member, subject.step);
    let (controls, checkpoints): (Vec<_>, Vec<_>) = result.subjects.iter().partition(|subject| subject.control);
    let lines = checkpoints.into_iter().map(|checkpoint| Subject {
        control: controls.iter().find(|control| of(control) == of(checkpoint)).map(|control| (*control).clone()),
        checkpoint: checkpoint.clone(),
    });
    lines.collect()
}

/// Maximum number of lines of a chart.
const LINES: usize = 12;

#[derive(Template, Serialize)]
#[template(path = "evaluations/frozen_side.html")]
struct FrozenSidePage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    matrix: Option<FrozenSideResult>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// A row of the matrix.
struct Row<'m> {
    teacher: &'m FrozenTeacher,
    cells: &'m [FrozenCell],
}

impl FrozenSidePage {
    fn rows<'m>(&self, matrix: &'m FrozenSideResult) -> Vec<Row<'m>> {
        let rows = matrix.cells.chunks(matrix.students.len().max(1));
        let rows = matrix.teachers.iter().zip(rows);
        rows.map(|(teacher, cells)| Row { teacher, cells }).collect()
    }

    fn class(&self, cell: &FrozenCell) -> String {
        heat(cell.solve_rate, (0.0, 1.0))
    }

    /// A version in the head of a row or column: its member, and the run if it is another one.
    fn name(&self, version: &FrozenVersion) -> String {
        match &version.run_name {
            Some(run) => inert(&format!("{} of {run}", version.name)),
            None => inert(&version.name),
        }
    }

    fn words(&self, trend: &Trend) -> String {
        format!(
            "{:+.1} points (95 % interval {:+.1} to {:+.1})",
            100.0 * trend.difference,
            100.0 * trend.low,
            100.0 * trend.high
        )
    }
}

pub(super) fn show_frozen_side(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let matrix = result.and_then(|result| FrozenSideResult::deserialize(result).ok());
    view.show(&FrozenSidePage {
        layout: frame.layout(view),
        figures: matrix.as_ref().map(figures).unwrap_or_default(),
        matrix,
        frame,
    })
}

/// Solve rates along each side that has several steps.
fn figures(matrix: &FrozenSideResult) -> Vec<Figure> {
    let students: Vec<&FrozenVersion> = matrix.students.iter().collect();
    let teachers: Vec<&FrozenVersion> = matrix.teachers.iter().map(|teacher| &teacher.version).collect();
    let along_students = along(&students, &teachers, |student, teacher| matrix.cell(teacher, student));
    let along_teachers = along(&teachers, &students, |teacher, student| matrix.cell(teacher, student));
    let figure = |id: &str, title: &str, x: &str, note: &str, series: Vec<Series>| Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        x: x.to_owned(),
        y: "solve rate".to_owned(),
        unit: "share",
        range: Some([0.0, 1.0]),
        series,
        ..Figure::default()
    };
    let both = [
        figure(
            "along-students",
            "Along the solvers",
            "step of the solvers",
            "Each line is the problems of one step's proposers. Rising lines: solvers improve on the same problems.",
            along_students,
        ),
        figure(
            "along-teachers",
            "Along the proposers",
            "step of the proposers",
            "Each line is the solvers of one step. Falling lines: later problems are harder for the same solvers.",
            along_teachers,
        ),
    ];
    both.into_iter().filter(|figure| !figure.series.is_empty()).collect()
}

/// A line for each step of `lines`, over the steps of `side`, as means over the versions of each step. Nothing if the
/// side has one step.
fn along<'m>(
    side: &[&FrozenVersion],
    lines: &[&FrozenVersion],
    cell: impl Fn(usize, usize) -> Option<&'m FrozenCell>,
) -> Vec<Series> {
    let by_step = |versions: &[&FrozenVersion]| {
        let mut by_step: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, version) in versions.iter().enumerate() {
            by_step.entry(version.step).or_default().push(place);
        }
        by_step
    };
    let steps = by_step(side);
    if steps.len() < 2 {
        return Vec::new();
    }
    let mean = |of: &[usize], line: &[usize]| {
        let pairs = of.iter().flat_map(|one| line.iter().map(move |other| (*one, *other)));
        let rates: Vec<f64> = pairs.filter_map(|(one, other)| cell(one, other)?.solve_rate).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let series = |(place, (step, line)): (usize, (u32, Vec<usize>))| Series {
        name: format!("step {step}"),
        style: Style::Line,
        place: Some(place),
        points: steps.iter().map(|(step, of)| (f64::from(*step), mean(of, &line))).collect(),
        ..Series::default()
    };
    by_step(lines).into_iter().enumerate().take(LINES).map(series).collect()
}
