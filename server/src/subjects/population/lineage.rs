//! `/runs/{id}/lineage`: parents, operators, births and deaths.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::fault::nearest;
use lyceum_core::id::ExecutionId;
use lyceum_store::members::{self, Relative};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::range;
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Maximum members drawn.
const DRAWN: u32 = 1000;

/// The colouring of the tree.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineageFilter {
    /// The name of a metric of members; by default the rating's mu.
    colour: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "population/lineage.html")]
struct LineagePage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// The metric in `metric` of each member; `rating` for mu.
    colour: String,
    members: Vec<Relative>,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    #[serde(skip)]
    tree: Tree,
    #[serde(skip)]
    is_cut: bool,
}

impl LineagePage {
    fn name_of(&self, id: &Uuid) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| crate::frame::format::id(id))
    }

    fn class(&self, life: &Life) -> String {
        crate::frame::sides::heat(life.value, self.tree.range)
    }

    /// Whether members have learning rates of their own.
    fn has_learning_rates(&self) -> bool {
        self.members.iter().any(|member| member.learning_rate.is_some())
    }

    fn is_coloured_by(&self, name: &str) -> bool {
        self.colour == name
    }
}

/// The lineage of a run.
#[get("/runs/{id}/lineage")]
pub(crate) async fn show_lineage(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<LineageFilter>,
) -> Result<HttpResponse, ApiError> {
    let run = RunFrame::load(&lab, *id, Tab::Lineage).await?;
    let metric = match filters.0.colour.as_deref() {
        None | Some("rating") => None,
        Some(name) => Some(place_of("colour", name, &run.detail.metrics)?),
    };
    let mut members = members::family(lab.store.pool(), *id, metric, DRAWN).await?;
    if metric.is_none() {
        for member in &mut members {
            member.metric = member.ratings.0.first().map(|rating| rating.mu);
        }
    }
    let tree = Tree::of(&members, run.run().step);
    view.show(&LineagePage {
        layout: view.layout(format!("Lineage · {}", run.run().name), Section::Runs),
        colour: filters.0.colour.unwrap_or_else(|| "rating".to_owned()),
        names: members.iter().map(|member| (member.id, member.name.clone())).collect(),
        tree,
        is_cut: members.len() == DRAWN as usize,
        members,
        run,
    })
}

/// The position of `name` among the metrics of a run.
pub(crate) fn place_of(parameter: &str, name: &str, metrics: &[String]) -> Result<usize, ApiError> {
    metrics.iter().position(|metric| metric == name).ok_or_else(|| {
        let near = nearest(name, metrics.iter().map(String::as_str));
        let hint =
            near.map_or_else(|| format!("valid are {}", metrics.join(", ")), |near| format!("did you mean `{near}`?"));
        ApiError::invalid_query(vec![(parameter.to_owned(), format!("there is no metric `{name}`; {hint}"))])
    })
}

/// Width of the steps, in the drawing's units.
const WIDTH: f64 = 1000.0;
/// Left margin, for the lines to the first members.
const LEFT: f64 = 16.0;
/// Height of a lane.
const LANE: f64 = 34.0;
/// Height of the row of steps above the lanes.
const TOP: f64 = 28.0;

/// A member's life, drawn as a bar.
#[derive(Debug)]
pub(crate) struct Life {
    /// The member.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// Left end.
    pub(crate) x: f64,
    /// Its lane.
    pub(crate) y: f64,
    /// Length.
    pub(crate) width: f64,
    /// Whether it died.
    pub(crate) died: bool,
    /// The value that determines its colour.
    pub(crate) value: Option<f64>,
    /// A description of it in one line.
    pub(crate) title: String,
    /// Whether its name fits on the bar.
    pub(crate) has_room: bool,
}

/// A line from a parent to a child.
#[derive(Debug, PartialEq)]
pub(crate) struct Edge {
    /// The parent at the time of birth.
    pub(crate) from: (f64, f64),
    /// The start of the child.
    pub(crate) to: (f64, f64),
    /// The operator.
    pub(crate) operator: String,
    /// The position of the operator's name; with several parents only on the first line.
    pub(crate) label: Option<(f64, f64)>,
}

/// A step on the axis.
#[derive(Debug)]
pub(crate) struct Tick {
    pub(crate) x: f64,
    pub(crate) step: i32,
}

/// The drawing.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) lives: Vec<Life>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) ticks: Vec<Tick>,
    /// The smallest and the largest value.
    pub(crate) range: (f64, f64),
}

impl Tree {
    /// The tree of `members`, sorted by birth, of a run at `step`.
    pub(crate) fn of(members: &[Relative], step: i32) -> Self {
        let mut lane_of: HashMap<Uuid, usize> = HashMap::new();
        let mut lanes = 0;
        for member in members {
            let taken = member.replaces_id.and_then(|replaced| lane_of.get(&replaced).copied());
            let lane = taken.unwrap_or(lanes);
            lanes = lanes.max(lane + 1);
            lane_of.insert(member.id, lane);
        }
        let now = members
            .iter()
            .flat_map(|member| [Some(member.born_step), member.died_step])
            .flatten()
            .fold(step, i32::max)
            .max(1);
        // The scale changes rarely, so that bars of dead members stay in place while a run continues.
        let apart = round_below(now / 10);
        let last = (now + apart - 1) / apart * apart;
        let x = |step: i32| LEFT + f64::from(step) / f64::from(last) * WIDTH;
        let y = |member: &Uuid| TOP + lane_of.get(member).copied().unwrap_or(0) as f64 * LANE + LANE / 2.0;
        let mut edges = Vec::new();
        let lives = members
            .iter()
            .map(|member| {
                let (start, end) = (x(member.born_step), x(member.died_step.unwrap_or(now)));
                let operator = member.operator.clone().unwrap_or_default();
                for (place, parent) in member.parents.0.iter().enumerate() {
                    if !lane_of.contains_key(&parent.member_id) {
                        continue;
                    }
                    let (from, to) = ((start, y(&parent.member_id)), (start, y(&member.id)));
                    edges.push(Edge {
                        from,
                        to,
                        operator: operator.clone(),
                        label: (place == 0).then_some((start, to.1 - 9.0)),
                    });
                }
                Life {
                    id: member.id,
                    name: member.name.clone(),
                    x: start,
                    y: y(&member.id),
                    width: (end - start).max(2.0),
                    died: member.died_step.is_some(),
                    value: member.metric,
                    title: title(member),
                    has_room: end - start > 9.0 * member.name.chars().count() as f64,
                }
            })
            .collect();
        Self {
            width: LEFT + WIDTH + 20.0,
            height: TOP + lanes as f64 * LANE + 8.0,
            lives,
            edges,
            ticks: (0..=last / apart).map(|tick| Tick { x: x(tick * apart), step: tick * apart }).collect(),
            range: range(members.iter().filter_map(|member| member.metric)).unwrap_or((0.0, 1.0)),
        }
    }
}

/// The largest of 1, 2, 5, 10, 20, 50, … up to `steps`, at least 1.
fn round_below(steps: i32) -> i32 {
    let mut power = 1;
    while power <= steps / 10 {
        power *= 10;
    }
    [5, 2, 1].into_iter().map(|times| times * power).find(|round| *round <= steps).unwrap_or(1)
}

fn title(member: &Relative) -> String {
    let mut text = format!("{}, born in step {}", member.name, member.born_step);
    if let Some(operator) = &member.operator {
        text.push_str(&format!(" by {operator}"));
    }
    let parents: Vec<&str> = member.parents.0.iter().map(|parent| parent.member.as_str()).collect();
    if !parents.is_empty() {
        text.push_str(&format!(" from {}", parents.join(" and ")));
    }
    if let Some(step) = member.died_step {
        text.push_str(&format!(", died in step {step}"));
    }
    if let Some(value) = &member.metric {
        text.push_str(&format!("; {}", crate::frame::format::value(value)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_store::births::Parent;
    use sqlx::types::Json;

    fn member(id: u128, born: i32, replaces: Option<u128>, parents: &[u128]) -> Relative {
        let parent = |id: &u128| Parent {
            member_id: Uuid::from_u128(*id),
            member: format!("m{id}"),
            run_id: Uuid::nil(),
            version_id: Uuid::nil(),
            ordinal: 0,
            displacement: None,
        };
        Relative {
            id: Uuid::from_u128(id),
            name: format!("m{id}"),
            population: "main".to_owned(),
            roles: vec![lyceum_core::recipe::Role::Teacher],
            born_step: born,
            died_step: None,
            cause_of_death: None,
            operator: Some("m1".to_owned()),
            ancestor: None,
            replaces_id: replaces.map(Uuid::from_u128),
            parents: Json(parents.iter().map(parent).collect()),
            ratings: Json(vec![]),
            ordinal: None,
            learning_rate: None,
            metric: None,
        }
    }

    #[test]
    fn a_child_takes_the_lane_of_whom_it_replaces_and_hangs_on_its_parents() {
        let mut members = vec![member(1, 0, None, &[]), member(2, 0, None, &[])];
        members[1].died_step = Some(5);
        members.push(member(3, 5, Some(2), &[1, 2]));
        let tree = Tree::of(&members, 10);
        assert_eq!(tree.lives[2].y, tree.lives[1].y);
        assert_ne!(tree.lives[0].y, tree.lives[1].y);
        assert_eq!(tree.lives[1].x + tree.lives[1].width, tree.lives[2].x);
        assert_eq!(tree.edges.len(), 2);
        assert_eq!(tree.edges[0].from, (tree.lives[2].x, tree.lives[0].y));
        assert_eq!(tree.edges[1].label, None);
        assert_eq!(tree.ticks.len(), 11);
    }

    #[test]
    fn lives_that_are_over_stay_where_they_are_as_the_run_goes_on() {
        assert_eq!([0, 1, 9, 10, 19, 49, 50, 199, 2000].map(round_below), [1, 1, 5, 10, 10, 20, 50, 100, 2000]);
        let mut members = vec![member(1, 0, None, &[]), member(2, 0, None, &[])];
        members[0].died_step = Some(30);
        let of = |step| Tree::of(&members, step).lives;
        let (before, after) = (of(101), of(109));
        assert_eq!((before[0].x, before[0].width), (after[0].x, after[0].width));
        assert!(before[1].width < after[1].width);
    }

    #[test]
    fn a_run_without_steps_or_members_has_a_drawing() {
        assert!(Tree::of(&[], 0).lives.is_empty());
        assert!(Tree::of(&[member(1, 0, Some(9), &[8])], 0).edges.is_empty(), "strangers have no lane");
    }
}
