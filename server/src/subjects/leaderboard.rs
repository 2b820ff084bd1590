//! `/leaderboard`: runs and members by their difference from the base on equal rows and protocol; ratings within a population.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use futures::FutureExt as _;
use futures::future::OptionFuture;
use lyceum_core::benchmark::SubjectRole;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Registry, Role, Side};
use lyceum_store::benchmarks::{self, BenchmarkResult, RankedRun};
use lyceum_store::ratings::{self, Standing, StandingFilter};
use lyceum_store::runs::{self, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use strum::{IntoStaticStr, VariantArray};
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::Listing;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// Maximum rows of a benchmark's table.
const MEASURED: u32 = 100;

/// What is ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
enum Ranked {
    #[default]
    Runs,
    Members,
}

lyceum_core::named!(Ranked, "what is ranked");

/// Filters of members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaderboardFilter {
    /// `runs` (the default) or `members`.
    by: Option<Ranked>,
    /// In this role; by default the solvers' role of a recipe that rates.
    role: Option<Role>,
    run: Option<Uuid>,
    recipe: Option<String>,
    alive: Option<bool>,
    /// The benchmark shown; by default the first.
    suite: Option<String>,
    cursor: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "leaderboard/page.html")]
struct LeaderboardPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<Standing>,
    #[serde(flatten)]
    pager: Pager,
    /// The benchmark of `measured`.
    suite: Option<String>,
    /// The best result of each member and each base, chosen on these rows.
    measured: Vec<BenchmarkResult>,
    /// The latest result of each run.
    ranked_runs: Vec<RankedRun>,
    #[serde(skip)]
    by: Ranked,
    /// The run to which the ratings are limited.
    run: Option<Run>,
    /// The names of the runs of `measured`.
    #[serde(skip)]
    runs: HashMap<Uuid, String>,
    #[serde(skip)]
    suites: Vec<String>,
    #[serde(skip)]
    role: Role,
    #[serde(skip)]
    filter: StandingFilter,
    #[serde(skip)]
    view: View,
}

impl LeaderboardPage {
    fn roles(&self) -> Vec<(&'static str, bool)> {
        Role::ALL.iter().map(|role| (role.name(), *role == self.role)).collect()
    }

    fn is_suite(&self, suite: &str) -> bool {
        self.suite.as_deref() == Some(suite)
    }

    fn run_of(&self, result: &BenchmarkResult) -> Option<&str> {
        self.runs.get(&result.run_id?).map(String::as_str)
    }

    /// Members, those together that can be compared, by their difference from the base.
    fn ways(&self) -> Vec<Vec<&BenchmarkResult>> {
        let way = |one: &BenchmarkResult| (one.row_set.clone(), one.decoding.clone());
        let gain = |one: &BenchmarkResult| one.comparison().map_or(f64::NEG_INFINITY, |found| found.gain());
        let ways = self.measured.chunk_by(|a, b| way(a) == way(b));
        let sorted = ways.map(|way| {
            let members = way.iter().filter(|one| one.role != SubjectRole::Base);
            let mut way: Vec<&BenchmarkResult> = members.collect();
            way.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
            way
        });
        sorted.collect()
    }

    /// Runs, those together that can be compared.
    fn ways_of_runs(&self) -> impl Iterator<Item = &[RankedRun]> {
        let way = |one: &RankedRun| (one.result.row_set.clone(), one.result.decoding.clone());
        self.ranked_runs.chunk_by(move |a, b| way(a) == way(b))
    }

    /// The tabs: name, address, and whether it is open.
    fn tabs(&self) -> [(&'static str, String, bool); Ranked::ALL.len()] {
        let address = |by: Ranked| match &self.suite {
            Some(suite) => self.view.with(&[("by", Some(by.name())), ("suite", Some(suite))]),
            None => self.view.with(&[("by", Some(by.name()))]),
        };
        Ranked::ALL.map(|by| (by.name(), address(by), by == self.by))
    }

    /// The hidden fields of a form that sets `others` anew.
    fn kept(&self, others: &[&str]) -> Vec<(String, String)> {
        self.view.kept(others)
    }

    fn is_of_runs(&self) -> bool {
        self.by == Ranked::Runs
    }

    fn is_alive(&self, alive: bool) -> bool {
        self.filter.alive == Some(alive)
    }
}

/// Runs and members by what they gained.
#[get("/leaderboard")]
pub(crate) async fn show_leaderboard(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<LeaderboardFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let default = || solving(rated_roles(&lab.registry, asked.recipe.as_deref()));
    let role = asked.role.unwrap_or_else(default);
    let listing = Listing::new(&format!("leaderboard.{}", role.name()), None, asked.cursor.as_deref(), None)?;
    let filter =
        StandingFilter { role: Some(role), run: asked.run.map(ExecutionId), alive: asked.alive, recipe: asked.recipe };
    let db = lab.store.pool();
    let run = OptionFuture::from(asked.run.map(|id| runs::find(db, ExecutionId(id))));
    let (standings, run, mut suites) = futures::try_join!(
        ratings::standings(db, &filter, listing.window()),
        run.map(Option::transpose),
        benchmarks::measured_suites(db)
    )?;
    let page = listing.page(standings);
    let suite = asked.suite.or_else(|| suites.first().cloned());
    let (measured, ranked_runs) = match &suite {
        Some(suite) => futures::try_join!(
            benchmarks::leaderboard(db, suite, MEASURED),
            benchmarks::run_leaderboard(db, suite, MEASURED)
        )?,
        None => Default::default(),
    };
    // An active filter is always visible, even if it matches nothing.
    if let Some(suite) = suite.as_ref().filter(|suite| !suites.contains(suite)) {
        suites.push(suite.clone());
    }
    let ids: Vec<Uuid> = measured.iter().filter_map(|result| result.run_id).collect();
    view.show(&LeaderboardPage {
        layout: view.layout("Leaderboards", Section::Leaderboard),
        suite,
        measured,
        ranked_runs,
        by: asked.by.unwrap_or_default(),
        suites,
        role,
        filter,
        run: run.map(|found| found.run),
        runs: runs::names(db, &ids).await?.into_iter().collect(),
        items: page.items,
        pager: view.pager(page.next),
        view: view.clone(),
    })
}

/// The roles of the recipe called `name`, or of all, if they rate.
fn rated_roles<'r>(registry: &'r Registry, name: Option<&'r str>) -> impl Iterator<Item = Role> + 'r {
    let rating = registry.recipes().filter(|recipe| recipe.capabilities().rates);
    let named = rating.filter(move |recipe| name.is_none_or(|name| recipe.name() == name));
    named.flat_map(|recipe| recipe.roles())
}

/// The first role that solves.
fn solving(mut roles: impl Iterator<Item = Role>) -> Role {
    let solves = roles.find(|role| role.side() == Side::Solves);
    solves.unwrap_or(Role::Student)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::recipe::{Azr, Populora};

    #[test]
    fn solvers_are_shown_first() {
        assert_eq!(solving([Role::Critic, Role::Solver, Role::Student].into_iter()), Role::Solver);
        assert_eq!(solving([Role::Challenger].into_iter()), Role::Student);
    }

    #[test]
    fn roles_of_recipes_that_rate_are_rated() {
        let registry = Registry::default().with(Azr).with(Populora);
        let roles = |name| rated_roles(&registry, name).collect::<Vec<_>>();
        assert_eq!(roles(None), [Role::Teacher, Role::Student]);
        assert_eq!(roles(Some("azr")), []);
    }
}
