//! `/leaderboard`: members of all runs by rating, and by benchmark.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::{
    id::ExecutionId,
    recipe::{Registry, Role, Side},
};
use lyceum_store::{
    benchmarks::{self, BenchmarkResult},
    ratings::{self, Standing, StandingFilter},
    runs::{self, Run},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::Listing,
    frame::{
        layout::{Layout, Section},
        run::recipes,
        view::{Filters, Pager, View},
    },
    lab::Lab,
};

/// Maximum rows of a benchmark's table.
const MEASURED: u32 = 100;

/// Filters of members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaderboardFilter {
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
#[template(path = "leaderboard.html")]
struct LeaderboardPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<Standing>,
    #[serde(flatten)]
    pager: Pager,
    /// The benchmark of `measured`.
    suite: Option<String>,
    /// The best result of each member and each base.
    measured: Vec<BenchmarkResult>,
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
    recipes: Vec<String>,
}

impl LeaderboardPage {
    fn roles(&self) -> Vec<(&'static str, bool)> {
        Role::ALL.iter().map(|role| (role.name(), *role == self.role)).collect()
    }

    fn has_recipe(&self, recipe: &str) -> bool {
        self.filter.recipe.as_deref() == Some(recipe)
    }

    fn is_suite(&self, suite: &str) -> bool {
        self.suite.as_deref() == Some(suite)
    }

    fn run_of(&self, result: &BenchmarkResult) -> Option<&str> {
        self.runs.get(&result.run_id?).map(String::as_str)
    }

    /// The results, those together that can be compared.
    fn ways(&self) -> impl Iterator<Item = &[BenchmarkResult]> {
        let way = |one: &BenchmarkResult| (one.row_set.clone(), one.decoding.clone());
        self.measured.chunk_by(move |a, b| way(a) == way(b))
    }

    /// Whether there may be more results.
    fn is_cut(&self) -> bool {
        self.measured.len() >= MEASURED as usize
    }

    fn is_filtered(&self) -> bool {
        self.filter.run.is_some() || self.filter.recipe.is_some() || self.filter.alive.is_some()
    }

    fn is_alive(&self, alive: bool) -> bool {
        self.filter.alive == Some(alive)
    }
}

/// Members of all runs by the lower bound of their rating.
#[get("/leaderboard")]
pub(crate) async fn show_leaderboard(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<LeaderboardFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let default = || solving(rated_roles(&lab.registry, asked.recipe.as_deref()));
    let role = asked.role.unwrap_or_else(default);
    let listing = Listing::new(
        &format!("leaderboard.{}", role.name()),
        None,
        asked.cursor.as_deref(),
        None,
    )?;
    let filter = StandingFilter {
        role: Some(role),
        run: asked.run.map(ExecutionId),
        alive: asked.alive,
        recipe: asked.recipe,
    };
    let page = listing.page(ratings::standings(lab.store.pool(), &filter, listing.window()).await?);
    let run = match asked.run {
        Some(id) => Some(runs::find(lab.store.pool(), ExecutionId(id)).await?.run),
        None => None,
    };
    let mut suites = benchmarks::measured_suites(lab.store.pool()).await?;
    let suite = asked.suite.or_else(|| suites.first().cloned());
    let measured = match &suite {
        Some(suite) => benchmarks::leaderboard(lab.store.pool(), suite, MEASURED).await?,
        None => Vec::new(),
    };
    // An active filter is always visible, even if it matches nothing.
    if let Some(suite) = suite.as_ref().filter(|suite| !suites.contains(suite)) {
        suites.push(suite.clone());
    }
    let ids: Vec<Uuid> = measured.iter().filter_map(|result| result.run_id).collect();
    let recipes = recipes(&lab.registry, filter.recipe.as_deref());
    view.show(&LeaderboardPage {
        layout: view.layout("Leaderboard", Section::Leaderboard),
        suite,
        measured,
        suites,
        role,
        filter,
        recipes,
        run,
        runs: runs::names(lab.store.pool(), &ids).await?.into_iter().collect(),
        items: page.items,
        pager: view.pager(page.next),
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
        assert_eq!(
            solving([Role::Critic, Role::Solver, Role::Student].into_iter()),
            Role::Solver
        );
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
