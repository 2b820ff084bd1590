//! `/runs/{id}/population`: the members by the lower bound of their rating.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::Role;
use lyceum_store::matchups::{self, Wins};
use lyceum_store::members::{self, Relative};
use lyceum_store::ratings::{self, RatingPoint};
use lyceum_store::steps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{self, Figure, Series};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::{heat, order, range};
use crate::frame::steps::{MEMBERS, stride};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::geometry::Geometry;
use crate::subjects::selection::Selection;

/// Points of a sparkline.
const HISTORY: u32 = 60;
/// Rows of a table, at most; the lineage has more.
const ROWS: usize = 200;

/// Filters of members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PopulationFilter {
    /// `true` (the default) for living members, `false` for all.
    alive: Option<bool>,
}

/// A member on the leaderboard of a role.
#[derive(Debug, Serialize)]
struct Ranked {
    id: Uuid,
    name: String,
    population: String,
    mu: Option<f64>,
    sigma: Option<f64>,
    lower_bound: Option<f64>,
    /// Steps lived so far.
    age: i32,
    born_step: i32,
    died_step: Option<i32>,
    operator: Option<String>,
    parents: Vec<ParentLink>,
    matchups: i64,
    wins: i64,
    /// Updates of its weights.
    ordinal: Option<i32>,
    /// Its own learning rate; none if it learns at the config's.
    learning_rate: Option<f64>,
    #[serde(skip)]
    sparkline: String,
}

#[derive(Debug, Serialize)]
struct Leaderboard {
    role: Role,
    places: Vec<Ranked>,
}

#[derive(Template, Serialize)]
#[template(path = "population/page.html")]
struct PopulationPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// Sigmas from mu to the lower bound.
    lcb_k: f64,
    #[serde(skip)]
    alive_only: bool,
    living: i64,
    died: i64,
    leaderboards: Vec<Leaderboard>,
    /// What selection did; none if the recipe does not evolve a population.
    selection: Option<Selection>,
    geometry: Geometry,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl PopulationPage {
    /// The populations of the run's config.
    fn populations(&self) -> Option<&Map<String, Value>> {
        self.run.detail.config["populations"].as_object()
    }

    /// Whether members must be told apart by population.
    fn has_several_populations(&self) -> bool {
        self.populations().is_some_and(|populations| populations.len() > 1)
    }

    /// A cosine in two digits; without the sign of what is rounded to zero.
    fn cosine(cosine: &f64) -> String {
        crate::frame::format::rating(&((100.0 * cosine).round() / 100.0 + 0.0))
    }

    /// The class of a cosine's cell.
    fn class(cosine: &Option<f64>) -> String {
        heat(*cosine, (-1.0, 1.0))
    }

    /// Whether members have learning rates of their own.
    fn has_learning_rates(&self) -> bool {
        let mut places = self.leaderboards.iter().flat_map(|board| &board.places);
        places.any(|place| place.learning_rate.is_some())
    }

    /// The base model of a population.
    fn base_of(&self, population: &str) -> &str {
        let population = self.populations().and_then(|populations| populations.get(population));
        population.and_then(|population| population["base_model"]["name"].as_str()).unwrap_or_default()
    }
}

/// The population of a run.
#[get("/runs/{id}/population")]
pub(crate) async fn show_population(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<PopulationFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let alive_only = filters.0.alive != Some(false);
    let run = RunFrame::load(&lab, *id, Tab::Population).await?;
    let members = match alive_only {
        true => members::living(db, *id, MEMBERS).await?,
        false => members::family(db, *id, None, MEMBERS).await?,
    };
    let (living, died) = members::lives(db, *id).await?;
    let shown: Vec<MemberId> = members.iter().map(|member| MemberId(member.id)).collect();
    let history =
        ratings::history(db, *id, Some(&shown), steps::Stretch::whole(stride(run.run().step, HISTORY))).await?;
    let known = Known {
        wins: matchups::wins(db, *id).await?.into_iter().map(|wins| (wins.id, wins)).collect(),
        history,
        members,
        lcb_k: lcb_k(&run),
        step: run.run().step,
    };
    let members = &known.members;
    let geometry = Geometry::read(&lab, *id, None).await?;
    let leaderboards = roles(members).into_iter().map(|role| known.leaderboard(role));
    view.show(&PopulationPage {
        layout: view.layout(format!("Population · {}", run.run().name), Section::Runs),
        lcb_k: known.lcb_k,
        alive_only,
        living,
        died,
        leaderboards: leaderboards.collect(),
        selection: Selection::read(&lab, &run.detail).await?,
        figures: effective_ranks(&geometry),
        geometry,
        run,
    })
}

/// Each member's effective rank over the steps at which it was measured; no chart before there are any.
fn effective_ranks(geometry: &Geometry) -> Vec<Figure> {
    let mut series: Vec<(Uuid, Series)> = Vec::new();
    for version in &geometry.versions {
        let place = series.iter().position(|(member, _)| *member == version.member_id).unwrap_or_else(|| {
            let name = version.member.clone();
            series.push((version.member_id, Series { name, ..Series::default() }));
            series.len() - 1
        });
        series[place].1.points.push((f64::from(version.step), version.effective_rank));
    }
    if series.is_empty() {
        return Vec::new();
    }
    vec![Figure {
        id: "effective_rank".to_owned(),
        title: "Effective rank of updates".to_owned(),
        note: "In how many directions a member's weights have moved, at most the rank of its adapter.".to_owned(),
        x: "step".to_owned(),
        y: "effective rank".to_owned(),
        exact: true,
        series: series.into_iter().map(|(_, series)| series).collect(),
        ..Figure::default()
    }]
}

/// Sigmas from mu to the run's lower bound; TrueSkill's 3 if the config does not set it.
pub(crate) fn lcb_k(run: &RunFrame) -> f64 {
    run.detail.config["parameters"]["rating"]["lcb_k"].as_f64().unwrap_or(3.0)
}

/// The members' roles, proposers first.
fn roles(members: &[Relative]) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    for role in members.iter().flat_map(|member| &member.roles) {
        if !roles.contains(role) {
            roles.push(*role);
        }
    }
    roles.sort_by_key(|role| order(*role));
    roles
}

/// A parent; for a founder, what it began with.
#[derive(Debug, Serialize)]
pub(crate) struct ParentLink {
    pub(crate) name: String,
    /// The member; none for an imported adapter, and for a member of a run that was deleted.
    pub(crate) id: Option<Uuid>,
    pub(crate) run_id: Option<Uuid>,
}

impl ParentLink {
    /// The parents of `member`.
    pub(crate) fn of(member: &Relative) -> Vec<Self> {
        let parents = member.parents.0.iter().map(|parent| Self {
            name: member.ancestor.as_ref().unwrap_or(&parent.member).clone(),
            id: Some(parent.member_id),
            run_id: Some(parent.run_id),
        });
        let without_page = member.ancestor.iter().filter(|_| member.parents.0.is_empty());
        let without_page = without_page.map(|ancestor| Self { name: ancestor.clone(), id: None, run_id: None });
        parents.chain(without_page).collect()
    }

    /// The address of its page.
    pub(crate) fn address(&self) -> Option<String> {
        Some(format!("/runs/{}/members/{}", self.run_id?, self.id?))
    }
}

/// The data for leaderboards.
struct Known {
    members: Vec<Relative>,
    wins: HashMap<Uuid, Wins>,
    history: Vec<RatingPoint>,
    lcb_k: f64,
    step: i32,
}

impl Known {
    fn leaderboard(&self, role: Role) -> Leaderboard {
        let mut curves: HashMap<Uuid, Vec<f64>> = HashMap::new();
        for point in self.history.iter().filter(|point| point.role == role) {
            curves.entry(point.member_id).or_default().push(point.mu);
        }
        let ends = range(curves.values().flatten().copied()).unwrap_or((0.0, 1.0));
        let drawn = |id: &Uuid| curves.get(id).map_or_else(String::new, |curve| figure::sparkline(curve, ends));
        let playing = self.members.iter().filter(|member| member.roles.contains(&role));
        let mut places: Vec<Ranked> = playing.map(|member| self.place(member, role, drawn(&member.id))).collect();
        let bound = |place: &Ranked| place.lower_bound.unwrap_or(f64::NEG_INFINITY);
        places.sort_by(|one, other| bound(other).total_cmp(&bound(one)));
        places.truncate(ROWS);
        Leaderboard { role, places }
    }

    fn place(&self, member: &Relative, role: Role, sparkline: String) -> Ranked {
        let rating = member.ratings.0.iter().find(|rating| rating.role == role);
        let wins = self.wins.get(&member.id);
        Ranked {
            id: member.id,
            name: member.name.clone(),
            population: member.population.clone(),
            mu: rating.map(|rating| rating.mu),
            sigma: rating.map(|rating| rating.sigma),
            lower_bound: rating.map(|rating| rating.mu - self.lcb_k * rating.sigma),
            age: member.died_step.unwrap_or(self.step) - member.born_step,
            born_step: member.born_step,
            died_step: member.died_step,
            operator: member.operator.clone(),
            parents: ParentLink::of(member),
            matchups: wins.map_or(0, |wins| wins.matchups),
            wins: wins.map_or(0, |wins| wins.wins),
            ordinal: member.ordinal,
            learning_rate: member.learning_rate,
            sparkline,
        }
    }
}
