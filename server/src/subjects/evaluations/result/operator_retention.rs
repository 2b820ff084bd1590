//! The page of an evaluation of operator retention: the children's curves compared with their parents', and their recovery.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::evolution::operator;
use lyceum_core::retention::{ChildPoint, ChildResult, PassRate, RetentionResult, TaskResult};
use serde::Serialize;
use std::collections::BTreeSet;

use super::EvaluationFrame;
use crate::api_error::ApiError;
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::layout::Layout;
use crate::frame::sides::heat;
use crate::frame::view::View;

/// Standard errors on either side of a curve.
const BAND: f64 = 2.0;
/// The paper's children recover within this many steps.
const PAPER: u32 = 20;

#[derive(Template, Serialize)]
#[template(path = "evaluations/operator_retention.html")]
struct RetentionPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    retention: Retention,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// The result as the page shows it.
struct Retention {
    result: RetentionResult,
    /// The measured steps of retraining.
    steps: Vec<u32>,
}

pub(super) fn show(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.clone().map(serde_json::from_value);
    let result = result.transpose().map_err(|error| ApiError::internal(&error))?;
    let retention = Retention::of(result.unwrap_or_default());
    view.show(&RetentionPage { layout: frame.layout(view), figures: retention.figures(), frame, retention })
}

/// A row of the table: an operator's children on the task of one parent.
struct Row<'r> {
    child: &'r ChildResult,
    parent: &'r str,
    cells: Vec<Cell>,
}

/// The recovery after some steps.
struct Cell {
    /// The value and its standard error, or that there is none.
    text: String,
    /// The class of its colour.
    heat: String,
    /// Whether the children are at their parent's level.
    is_recovered: bool,
    /// The seeds' own values, if there are several.
    seeds: String,
}

impl Retention {
    fn of(result: RetentionResult) -> Self {
        let points = result.children.iter().flat_map(|child| &child.points);
        let steps: BTreeSet<u32> = points.map(|point| point.step).collect();
        Self { steps: steps.into_iter().collect(), result }
    }

    /// Whether nothing was measured yet.
    fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The parents, each with its task.
    fn tasks(&self) -> &[TaskResult] {
        &self.result.tasks
    }

    /// How many operators reached their parents' level, in one sentence for each snapshot.
    fn summary(&self) -> Vec<String> {
        let snapshots: BTreeSet<u32> = self.result.children.iter().map(|child| child.snapshot).collect();
        let sentence = |snapshot: u32| {
            let own: Vec<&ChildResult> =
                self.result.children.iter().filter(|child| child.snapshot == snapshot).collect();
            let operators: BTreeSet<&str> = own.iter().map(|child| child.operator.as_str()).collect();
            let reached = |within: u32| {
                let has = |name: &str| {
                    let mut curves = own.iter().filter(|child| child.operator == name);
                    curves.all(|child| child.recovered_at.is_some_and(|step| step <= within))
                };
                operators.iter().filter(|name| has(name)).count()
            };
            let all = format!(
                "Children of step {snapshot}: {} of {} operators reached their parents' level on every task",
                reached(u32::MAX),
                operators.len(),
            );
            let followed = self.steps.last().copied().unwrap_or_default();
            match followed >= PAPER {
                true => format!("{all}, {} within {PAPER} steps.", reached(PAPER)),
                false => format!("{all}. They were followed for {followed} steps; the paper's recover within {PAPER}."),
            }
        };
        snapshots.into_iter().map(sentence).collect()
    }

    /// The rows of the table.
    fn rows(&self) -> Vec<Row<'_>> {
        let row = |child| Row {
            child,
            parent: self.name(child),
            cells: self.steps.iter().map(|step| cell(child, *step)).collect(),
        };
        self.result.children.iter().map(row).collect()
    }

    fn name(&self, child: &ChildResult) -> &str {
        self.result.tasks.get(child.task).map_or("", |task| task.name.as_str())
    }

    /// A chart for each operator, all with the same axes.
    fn figures(&self) -> Vec<Figure> {
        let mut operators: Vec<&str> = Vec::new();
        for child in &self.result.children {
            if !operators.contains(&child.operator.as_str()) {
                operators.push(&child.operator);
            }
        }
        let highest = self.highest();
        operators.into_iter().map(|name| self.figure(name, highest)).collect()
    }

    /// The end of the y axis: the highest rate, rounded up to a tenth.
    fn highest(&self) -> f64 {
        let parents = self.result.tasks.iter().flat_map(|task| &task.curve).map(|point| point.rate);
        let children = self.result.children.iter().flat_map(|child| &child.points).map(|point| point.rate);
        let highest = parents.chain(children).fold(0.0, |high: f64, rate| high.max(rate.pass_rate));
        ((highest * 10.0).ceil() / 10.0).clamp(0.1, 1.0)
    }

    fn figure(&self, name: &str, highest: f64) -> Figure {
        let own: Vec<&ChildResult> = self.result.children.iter().filter(|child| child.operator == name).collect();
        let tasks: BTreeSet<usize> = own.iter().map(|child| child.task).collect();
        let mut series: Vec<Series> = Vec::new();
        for child in &own {
            let mut line = Series {
                name: format!("{name} of step {}, {}'s task", child.snapshot, self.name(child)),
                style: Style::Bold,
                place: Some(child.task),
                ..Series::default()
            };
            for point in &child.points {
                add(&mut line, child.snapshot + point.step, point.rate);
            }
            series.push(line);
        }
        for (place, task) in self.result.tasks.iter().enumerate().filter(|(place, _)| tasks.contains(place)) {
            let mut parent =
                Series { name: format!("parent {}", task.name), colour: Colour::Muted, ..Series::default() };
            if tasks.len() > 1 {
                parent.colour = Colour::Next;
                parent.place = Some(place);
            }
            let mut base =
                Series { name: format!("base, {}'s task", task.name), style: Style::Dashed, ..parent.clone() };
            add(&mut parent, 0, task.base);
            for point in &task.curve {
                add(&mut parent, point.step, point.rate);
            }
            parent.band.clear();
            let last = self.last_step();
            base.points = vec![(0.0, Some(task.base.pass_rate)), (f64::from(last), Some(task.base.pass_rate))];
            series.extend([parent, base]);
        }
        Figure {
            id: format!("retention-{name}"),
            title: match operator(name) {
                Ok(operator) => format!("{name}: {}", operator.title),
                Err(_) => format!("{name}: fresh adapter"),
            },
            x: "step of the parent's run".to_owned(),
            y: "pass rate".to_owned(),
            unit: "share",
            range: Some([0.0, highest]),
            series,
            ..Figure::default()
        }
    }

    /// The last step of any curve.
    fn last_step(&self) -> u32 {
        let children = self.result.children.iter().filter_map(|child| Some(child.snapshot + child.points.last()?.step));
        let parents = self.result.tasks.iter().filter_map(|task| Some(task.curve.last()?.step));
        children.chain(parents).max().unwrap_or(0)
    }
}

impl Row<'_> {
    fn operator(&self) -> &str {
        &self.child.operator
    }

    fn snapshot(&self) -> u32 {
        self.child.snapshot
    }

    /// The paper's name of the operator.
    fn title(&self) -> &'static str {
        operator(&self.child.operator).map_or("fresh adapter", |operator| operator.title)
    }

    fn recovered_at(&self) -> String {
        let step = self.child.recovered_at;
        step.map_or_else(|| "–".to_owned(), |step| step.to_string())
    }
}

/// Adds a point with its uncertainty.
fn add(line: &mut Series, step: u32, rate: PassRate) {
    let (x, half) = (f64::from(step), BAND * rate.standard_error);
    line.points.push((x, Some(rate.pass_rate)));
    line.band.push((x, (rate.pass_rate - half).max(0.0), (rate.pass_rate + half).min(1.0)));
}

fn cell(child: &ChildResult, step: u32) -> Cell {
    let point: Option<&ChildPoint> = child.points.iter().find(|point| point.step == step);
    let recovery = point.and_then(|point| point.recovery);
    let seeds = point.map_or(&[][..], |point| point.seeds.as_slice());
    let values = seeds.iter().filter_map(|seed| seed.recovery);
    let values: Vec<String> = values.map(|recovery| crate::frame::format::rating(&recovery.value)).collect();
    Cell {
        text: match (recovery, point) {
            (Some(recovery), _) => {
                let value = crate::frame::format::rating(&recovery.value);
                format!("{value} ± {:.2}", recovery.standard_error)
            }
            (None, Some(point)) => format!("rate {}", crate::frame::format::percent(&point.rate.pass_rate)),
            (None, None) => "–".to_owned(),
        },
        heat: heat(recovery.map(|recovery| recovery.value), (0.0, 1.0)),
        is_recovered: point.is_some_and(|point| point.recovered == Some(true)),
        seeds: if seeds.len() > 1 { values.join(", ") } else { String::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use uuid::Uuid;

    fn point(step: u32, value: f64) -> Value {
        let recovery = json!({"value": value, "standard_error": 0.1});
        let is_recovered = value + 0.2 >= 1.0;
        json!({"step": step, "pass_rate": value / 2.0, "standard_error": 0.05, "recovery": recovery, "recovered": is_recovered,
               "seeds": []})
    }

    fn retention() -> Retention {
        let task = |name: &str| {
            json!({"run": Uuid::nil(), "member": Uuid::nil(), "name": name, "dataset": Uuid::nil(), "first_row": 0, "rows": 64,
                   "measured": 64, "base": {"pass_rate": 0.1, "standard_error": 0.02},
                   "curve": [{"step": 25, "pass_rate": 0.52, "standard_error": 0.02}]})
        };
        let child = |operator: &str, task: u32, at: Value| json!({"operator": operator, "snapshot": 25, "task": task, "recovered_at": at, "points": [point(0, 0.4), point(5, 0.9)]});
        let result = json!({"tasks": [task("solver-0"), task("solver-1")],
               "children": [child("M1", 0, json!(5)), child("X1", 0, json!(0)), child("X1", 1, Value::Null)]});
        Retention::of(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn an_operator_recovers_if_it_does_on_every_task() {
        let short = retention();
        assert_eq!(
            short.summary(),
            [
                "Children of step 25: 1 of 2 operators reached their parents' level on every task. They were followed for 5 steps; \
              the paper's recover within 20."
            ]
        );
        let mut long = short.result;
        let last = serde_json::from_value(point(20, 0.9)).unwrap();
        long.children[0].points.push(last);
        let long = Retention::of(long);
        assert_eq!(
            long.summary(),
            ["Children of step 25: 1 of 2 operators reached their parents' level on every task, 1 within 20 steps."]
        );
        assert!(Retention::of(RetentionResult::default()).is_empty() && !long.is_empty());
    }

    #[test]
    fn charts_share_their_axes_and_curves_are_on_the_parents_steps() {
        let retention = retention();
        let figures = retention.figures();
        assert_eq!(figures.len(), 2);
        assert!(figures.iter().all(|figure| figure.range == Some([0.0, 0.6])));
        let names: Vec<&str> = figures[1].series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "X1 of step 25, solver-0's task",
                "X1 of step 25, solver-1's task",
                "parent solver-0",
                "base, solver-0's task",
                "parent solver-1",
                "base, solver-1's task"
            ]
        );
        let child = &figures[0].series[0];
        assert_eq!(child.points, [(25.0, Some(0.2)), (30.0, Some(0.45))]);
        assert_eq!(child.band[1], (30.0, 0.35, 0.55));
        assert_eq!(figures[0].series[1].points, [(0.0, Some(0.1)), (25.0, Some(0.52))]);
    }

    #[test]
    fn a_cell_has_recovery_and_error_and_says_if_it_is_at_the_parents_level() {
        let retention = retention();
        let rows = retention.rows();
        assert_eq!(retention.steps, [0, 5]);
        let read: Vec<_> = rows[0].cells.iter().map(|cell| (cell.text.as_str(), cell.is_recovered)).collect();
        assert_eq!(read, [("0.40 ± 0.10", false), ("0.90 ± 0.10", true)]);
        assert_eq!((rows[0].cells[0].heat.as_str(), rows[2].recovered_at().as_str()), ("heat-4", "–"));
    }
}
