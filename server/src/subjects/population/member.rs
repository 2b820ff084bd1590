//! `/runs/{id}/members/{member}`: a member's ratings, versions, family, matchups and problems.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::{Role, Side};
use lyceum_store::attempts::{self, Attempt, AttemptFilter};
use lyceum_store::benchmarks::{self, BenchmarkFilter, BenchmarkResult};
use lyceum_store::matchups::{self, Matchup, MatchupFilter};
use lyceum_store::members::{self, Member, Relative};
use lyceum_store::page::{self, Window};
use lyceum_store::problems::{self, ProblemFilter, ProblemSort};
use lyceum_store::ratings::{self, RatingPoint};
use lyceum_store::versions::{self, Version};
use serde::Serialize;
use std::collections::HashMap;
use uuid::Uuid;

use super::page::{ParentLink, lcb_k};
use crate::api_error::ApiError;
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::{SideNames, names, plays};
use crate::frame::steps::{MEMBERS, POINTS, Steps};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::problems::attempt_list::places;

/// Rows of each list; the page links to the whole lists.
const ROWS: u32 = 20;
/// Children shown.
const CHILDREN: u32 = 100;

#[derive(Template, Serialize)]
#[template(path = "population/member.html")]
struct MemberPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    member: Member,
    operator: Option<String>,
    parents: Vec<ParentLink>,
    children: Vec<Relative>,
    versions: Vec<Version>,
    ratings: Vec<RatingPoint>,
    matchups: Vec<Matchup>,
    problems: Vec<problems::Problem>,
    attempts: Vec<Attempt>,
    benchmarks: Vec<BenchmarkResult>,
    #[serde(skip)]
    lcb_k: f64,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    #[serde(skip)]
    sides: SideNames,
    #[serde(skip)]
    figures: Vec<Figure>,
    #[serde(skip)]
    steps: Steps,
    /// The index within its step of each attempted problem.
    #[serde(skip)]
    places: HashMap<Uuid, i32>,
}

impl MemberPage {
    fn proposes(&self) -> bool {
        plays(&self.member.roles, Side::Proposes)
    }

    fn name_of(&self, id: &Uuid) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| crate::frame::format::id(id))
    }
}

/// A member of a run.
#[get("/runs/{id}/members/{member}")]
pub(crate) async fn show_member(
    view: View,
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, MemberId)>,
    steps: Filters<Steps>,
) -> Result<HttpResponse, ApiError> {
    let (id, member_id) = place.into_inner();
    let db = lab.store.pool();
    let run = RunFrame::load(&lab, id, Tab::Population).await?;
    let member = members::find(db, id, member_id).await?;
    let family = members::names(db, id, MEMBERS).await?;
    let sides = SideNames::of(&family);
    let names = names(family);
    let own = members::relative(db, id, member_id).await?;
    let window = Window { limit: ROWS, after: None, order: page::Order::Newest };
    let stretch = steps.0.of_run(run.run().step, POINTS)?;
    let ratings = ratings::history(db, id, Some(&[member_id]), stretch).await?;
    let proposed = ProblemFilter { proposer: Some(member_id), ..ProblemFilter::default() };
    let answered = AttemptFilter { member: Some(member_id), ..AttemptFilter::default() };
    let measured = BenchmarkFilter { member: Some(member_id), ..BenchmarkFilter::default() };
    let attempts = attempts::page(db, id, &answered, &window).await?.items;
    view.show(&MemberPage {
        layout: view.layout(format!("{} · {}", member.name, run.run().name), Section::Runs),
        operator: own.as_ref().and_then(|own| own.operator.clone()),
        parents: own.as_ref().map(ParentLink::of).unwrap_or_default(),
        children: members::children(db, id, member_id, CHILDREN).await?,
        versions: versions::newest(db, id, member_id, ROWS).await?,
        matchups: matchups(&lab, id, member_id, &window).await?,
        problems: problems::page(db, id, &proposed, ProblemSort::Age, &window).await?.items,
        benchmarks: benchmarks::results(db, &measured, &window).await?.items,
        places: places(db, id, &attempts).await?,
        attempts,
        steps: steps.0,
        figures: view.news(figures(&ratings), stretch.width),
        lcb_k: lcb_k(&run),
        ratings,
        names,
        sides,
        member,
        run,
    })
}

/// The newest matchups on either side.
async fn matchups(lab: &Lab, run: ExecutionId, member: MemberId, window: &Window) -> Result<Vec<Matchup>, ApiError> {
    let filters = [
        MatchupFilter { teacher: Some(member), ..MatchupFilter::default() },
        MatchupFilter { student: Some(member), ..MatchupFilter::default() },
    ];
    let mut all = Vec::new();
    for filter in &filters {
        all.extend(matchups::page(lab.store.pool(), run, filter, window).await?.items);
    }
    all.sort_by_key(|matchup| std::cmp::Reverse(matchup.seq));
    all.dedup_by_key(|matchup| matchup.id);
    all.truncate(ROWS as usize);
    Ok(all)
}

fn figures(ratings: &[RatingPoint]) -> Vec<Figure> {
    let mut roles: Vec<Role> = ratings.iter().map(|point| point.role).collect();
    roles.sort_unstable();
    roles.dedup();
    let of = |role: Role| ratings.iter().filter(move |point| point.role == role).collect::<Vec<_>>();
    let curve = |role: Role| Series {
        name: format!("mu as {role}"),
        style: Style::Bold,
        colour: role.side().into(),
        points: of(role).iter().map(|point| (f64::from(point.step), Some(point.mu))).collect(),
        band: of(role)
            .iter()
            .map(|point| (f64::from(point.step), point.mu - point.sigma, point.mu + point.sigma))
            .collect(),
        ..Series::default()
    };
    vec![Figure {
        id: "ratings".to_owned(),
        title: "Rating".to_owned(),
        note: "With one sigma on either side.".to_owned(),
        x: "step".to_owned(),
        y: "mu (TrueSkill)".to_owned(),
        series: roles.into_iter().map(curve).collect(),
        ..Figure::default()
    }]
}
