//! `/runs/{id}/cross-play`: how each solver fares against each proposer (PopuLoRA, Figure 12).

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::cross_play::Solves;
use lyceum_core::evaluation::Pairing;
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::Side;
use lyceum_core::seriation::cluster_order;
use lyceum_store::cross_play::{self, CrossPlay, CrossPlayFilter};
use lyceum_store::members::{self, Relative};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::{Link, SideNames, heat};
use crate::frame::steps::MEMBERS;
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Rows, and columns, of a matrix at most: the members with the most attempts.
const SIDE: usize = 40;
/// Maximum number of missing cells in one evaluation.
const PLANNED: usize = 200;
/// Windows of steps for the parallel coordinates, as in the paper.
const WINDOWS: u32 = 5;

/// The order of rows and columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MatrixOrder {
    /// By the newest mu, the best first.
    #[default]
    Rating,
    /// Similar rows, and columns, next to each other.
    Cluster,
}

/// Filters of attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatrixFilter {
    /// At problems of this type.
    #[serde(rename = "type")]
    problem_type: Option<String>,
    /// The first step.
    #[schemars(range(max = 2_147_483_647))]
    from: Option<u32>,
    /// The last step.
    #[schemars(range(max = 2_147_483_647))]
    to: Option<u32>,
    /// `rating` (the default) or `cluster`.
    order: Option<MatrixOrder>,
    /// Whether attempts are included that evaluations had made.
    evaluations: Option<bool>,
}

/// A solver's attempts at a proposer's problems.
#[derive(Clone, Debug, Serialize)]
struct Cell {
    solve_rate: f64,
    /// The 95 % interval, with attempts clustered by problem.
    low: f64,
    high: f64,
    attempts: i64,
    solved: i64,
    /// How many of the attempts evaluations had made.
    evaluated: i64,
    #[serde(skip)]
    address: String,
}

impl Cell {
    fn class(&self) -> String {
        heat(Some(self.solve_rate), (0.0, 1.0))
    }
}

#[derive(Template, Serialize)]
#[template(path = "population/cross_play.html")]
struct CrossPlayPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    order: MatrixOrder,
    #[serde(rename = "type")]
    problem_type: Option<String>,
    from: u32,
    to: Option<u32>,
    #[serde(skip)]
    types: Vec<String>,
    teachers: Vec<Link>,
    students: Vec<Link>,
    #[serde(skip)]
    sides: SideNames,
    /// A row for each proposer, a column for each solver; nothing if they never met.
    cells: Vec<Vec<Option<Cell>>>,
    /// Pairs that never met.
    missing: usize,
    /// How many of them met in evaluations, if these are not included.
    evaluated: usize,
    /// Whether attempts of evaluations are included.
    evaluations: bool,
    /// The request for an evaluation of the missing cells; none if this server cannot plan it.
    #[serde(skip)]
    plan: Option<String>,
    /// The attempts by window of steps.
    windows: Vec<CrossPlay>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl CrossPlayPage {
    fn is_type(&self, name: &str) -> bool {
        self.problem_type.as_deref() == Some(name)
    }

    /// The requested type, if no problem of this type was attempted.
    fn unknown_type(&self) -> Option<&str> {
        let asked = self.problem_type.as_deref()?;
        self.types.iter().all(|one| one != asked).then_some(asked)
    }

    /// Whether attempts are left out, so that a pair without any may still have met.
    fn is_filtered(&self) -> bool {
        self.problem_type.is_some() || self.from > 0 || self.to.is_some()
    }

    fn is_cut(&self) -> bool {
        self.missing > PLANNED
    }

    fn is_clustered(&self) -> bool {
        self.order == MatrixOrder::Cluster
    }
}

/// The cross-play of a run.
#[get("/runs/{id}/cross-play")]
pub(crate) async fn show_cross_play(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<MatrixFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let from = asked.from.unwrap_or(0);
    if asked.to.is_some_and(|to| to < from) {
        let detail = "the last step must not be before the first, `from`";
        return Err(ApiError::invalid_query(vec![("to".to_owned(), detail.to_owned())]));
    }
    let run = RunFrame::load(&lab, *id, Tab::CrossPlay).await?;
    let members = members::family(db, *id, None, MEMBERS).await?;
    let last = asked.to.unwrap_or_else(|| run.last_step().cast_unsigned());
    let width = (last.saturating_sub(from) + 1).div_ceil(WINDOWS).max(1);
    let filter = CrossPlayFilter {
        from,
        to: asked.to,
        problem_type: asked.problem_type.clone(),
        width: Some(width),
        evaluations: asked.evaluations == Some(true),
    };
    let (windows, types, evaluated) = tokio::try_join!(
        cross_play::pairs(db, *id, &filter),
        cross_play::types(db, *id),
        cross_play::evaluated(db, *id)
    )?;
    let evaluated: HashSet<(Uuid, Uuid)> = evaluated.into_iter().collect();
    let pairs = over_windows(&windows);
    let order = asked.order.unwrap_or_default();
    let names: HashMap<Uuid, String> = members.iter().map(|member| (member.id, member.name.clone())).collect();
    let solves: HashMap<(Uuid, Uuid), Solves> = pairs.iter().map(solves_of).collect();
    let met: HashMap<(Uuid, Uuid), &CrossPlay> =
        pairs.iter().map(|pair| ((pair.teacher_id, pair.student_id), pair)).collect();
    let (teachers, students) = sides(&pairs, &members, &solves, order);
    let side_names = SideNames::of(&members::names(db, *id, MEMBERS).await?);
    let figures = parallels(&windows, [&teachers, &students], &side_names.proposer, &names, from..=last, width);
    let query = Query { run: *id, asked: &asked };
    let cells: Vec<Vec<Option<Cell>>> = teachers
        .iter()
        .map(|teacher| students.iter().map(|student| query.cell(met.get(&(*teacher, *student))?)).collect())
        .collect();
    let link =
        |id: &Uuid| Link { id: *id, name: names.get(id).cloned().unwrap_or_else(|| crate::frame::format::id(id)) };
    let can_plan = lab.registry.is_evaluation("evaluation/cross_play");
    let step = run.run().step;
    view.show(&CrossPlayPage {
        layout: view.layout(format!("Cross-play · {}", run.run().name), Section::Runs),
        order,
        from,
        to: asked.to,
        types,
        missing: cells.iter().flatten().filter(|cell| cell.is_none()).count(),
        evaluated: never_met(&teachers, &students, &cells).filter(|pair| evaluated.contains(&both(pair))).count(),
        evaluations: filter.evaluations,
        plan: (can_plan && step > 0).then(|| {
            let missing = never_met(&teachers, &students, &cells).filter(|pair| !evaluated.contains(&both(pair)));
            let cells: Vec<Pairing> = missing.take(PLANNED).collect();
            let spec =
                serde_json::json!({"type": "cross_play", "run": *id, "step": step, "problems": 8, "cells": cells});
            serde_json::json!({ "spec": spec }).to_string()
        }),
        sides: side_names,
        teachers: teachers.iter().map(link).collect(),
        students: students.iter().map(link).collect(),
        problem_type: asked.problem_type,
        cells,
        windows,
        figures,
        run,
    })
}

/// Sums over all windows, by pair.
fn over_windows(windows: &[CrossPlay]) -> Vec<CrossPlay> {
    let mut pairs: HashMap<(Uuid, Uuid), CrossPlay> = HashMap::new();
    for pair in windows {
        let sum = pairs.entry((pair.teacher_id, pair.student_id)).or_insert(CrossPlay {
            teacher_id: pair.teacher_id,
            student_id: pair.student_id,
            ..CrossPlay::default()
        });
        sum.add(pair);
    }
    pairs.into_values().collect()
}

/// Pairs without a cell, in the order of the matrix.
fn never_met(teachers: &[Uuid], students: &[Uuid], cells: &[Vec<Option<Cell>>]) -> impl Iterator<Item = Pairing> {
    let rows = teachers.iter().zip(cells);
    rows.flat_map(move |(teacher, row)| {
        let missing = students.iter().zip(row).filter(|(_, cell)| cell.is_none());
        missing.map(|(student, _)| Pairing { teacher: MemberId(*teacher), student: MemberId(*student) })
    })
}

fn both(pair: &Pairing) -> (Uuid, Uuid) {
    (pair.teacher.0, pair.student.0)
}

fn solves_of(pair: &CrossPlay) -> ((Uuid, Uuid), Solves) {
    let solves = Solves { attempts: pair.attempts.max(0).cast_unsigned(), solved: pair.solved.max(0).cast_unsigned() };
    ((pair.teacher_id, pair.student_id), solves)
}

struct Query<'a> {
    run: ExecutionId,
    asked: &'a MatrixFilter,
}

impl Query<'_> {
    fn cell(&self, pair: &CrossPlay) -> Option<Cell> {
        let &CrossPlay { teacher_id: teacher, student_id: student, evaluated, attempts, solved, .. } = pair;
        let interval = pair.interval()?;
        let mut address = format!("/runs/{}/attempts?teacher={teacher}&student={student}&side=solves", self.run);
        if let Some(problem_type) = &self.asked.problem_type {
            let encoded = percent_encoding::utf8_percent_encode(problem_type, percent_encoding::NON_ALPHANUMERIC);
            address.push_str(&format!("&type={encoded}"));
        }
        for (name, step) in [("from", self.asked.from), ("to", self.asked.to)] {
            if let Some(step) = step {
                address.push_str(&format!("&{name}={step}"));
            }
        }
        if evaluated > 0 {
            address.push_str("&evaluations=true");
        }
        Some(Cell {
            evaluated,
            solve_rate: solved as f64 / attempts as f64,
            low: interval.low,
            high: interval.high,
            attempts,
            solved,
            address,
        })
    }
}

/// The rating of a member on `side`, as one that plays both has two.
fn mu_of(member: &Relative, side: Side) -> Option<f64> {
    let ratings = &member.ratings.0;
    let rating = ratings.iter().find(|rating| rating.role.side() == side).or(ratings.first())?;
    Some(rating.mu)
}

/// Proposers and solvers in the requested order.
fn sides(
    pairs: &[CrossPlay],
    members: &[Relative],
    solves: &HashMap<(Uuid, Uuid), Solves>,
    order: MatrixOrder,
) -> (Vec<Uuid>, Vec<Uuid>) {
    let most_met = |of: fn(&CrossPlay) -> Uuid, on: Side| {
        let mu: HashMap<Uuid, f64> =
            members.iter().filter_map(|member| Some((member.id, mu_of(member, on)?))).collect();
        let mut attempts: HashMap<Uuid, i64> = HashMap::new();
        for pair in pairs {
            *attempts.entry(of(pair)).or_default() += pair.attempts;
        }
        let mut side: Vec<(Uuid, i64)> = attempts.into_iter().collect();
        side.sort_by_key(|(id, attempts)| (std::cmp::Reverse(*attempts), *id));
        side.truncate(SIDE);
        let mut side: Vec<Uuid> = side.into_iter().map(|(id, _)| id).collect();
        let rating = |id: &Uuid| mu.get(id).copied().unwrap_or(f64::NEG_INFINITY);
        side.sort_by(|one, other| rating(other).total_cmp(&rating(one)).then(one.cmp(other)));
        side
    };
    let teachers = most_met(|pair| pair.teacher_id, Side::Proposes);
    let students = most_met(|pair| pair.student_id, Side::Solves);
    if order == MatrixOrder::Rating {
        return (teachers, students);
    }
    let rate = |teacher: &Uuid, student: &Uuid| solves.get(&(*teacher, *student)).and_then(Solves::rate);
    let rows: Vec<Vec<Option<f64>>> =
        teachers.iter().map(|teacher| students.iter().map(|student| rate(teacher, student)).collect()).collect();
    let columns: Vec<Vec<Option<f64>>> =
        students.iter().map(|student| teachers.iter().map(|teacher| rate(teacher, student)).collect()).collect();
    let picked = |side: &[Uuid], order: Vec<usize>| order.into_iter().map(|place| side[place]).collect();
    (picked(&teachers, cluster_order(&rows)), picked(&students, cluster_order(&columns)))
}

/// A chart for each window, with an axis for each proposer and a line for each solver.
fn parallels(
    windows: &[CrossPlay],
    [teachers, students]: [&[Uuid]; 2],
    proposer: &str,
    names: &HashMap<Uuid, String>,
    steps: RangeInclusive<u32>,
    width: u32,
) -> Vec<Figure> {
    let name = |id: &Uuid| names.get(id).cloned().unwrap_or_else(|| crate::frame::format::id(id));
    let mut places: Vec<i32> = windows.iter().map(|pair| pair.window).collect();
    places.dedup();
    let figure = |window: i32| {
        let solves: HashMap<(Uuid, Uuid), Solves> =
            windows.iter().filter(|pair| pair.window == window).map(solves_of).collect();
        let met: Vec<&Uuid> = teachers.iter().filter(|teacher| solves.keys().any(|(met, _)| met == *teacher)).collect();
        let profile = |student: &Uuid| -> Vec<(f64, Option<f64>)> {
            let rate = |teacher: &Uuid| solves.get(&(*teacher, *student)).and_then(Solves::rate);
            met.iter().enumerate().map(|(place, teacher)| (place as f64, rate(teacher))).collect()
        };
        let first = steps.start() + window.max(0).cast_unsigned() * width;
        let last = (first + width - 1).min(*steps.end()).max(first);
        Figure {
            id: format!("window-{window}"),
            title: format!("Steps {first} to {last}"),
            x: proposer.to_owned(),
            labels: met.iter().map(|teacher| name(teacher)).collect(),
            y: "solve rate".to_owned(),
            unit: "share",
            range: Some([0.0, 1.0]),
            series: students
                .iter()
                .enumerate()
                .map(|(place, student)| Series {
                    name: name(student),
                    style: Style::Line,
                    place: Some(place),
                    points: profile(student),
                    ..Series::default()
                })
                .filter(|series| series.points.iter().any(|(_, rate)| rate.is_some()))
                .collect(),
            ..Figure::default()
        }
    };
    places.into_iter().map(figure).collect()
}
