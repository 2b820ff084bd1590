//! Suites and leaderboards.

use actix_web::{get, web};
use lyceum_core::benchmark::{self, Suite};
use lyceum_store::{
    benchmarks::{self, BenchmarkResult},
    datasets::{self, Dataset},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    api_error::ApiError,
    contract::{Answer, Query, bounds},
    lab::Lab,
};

/// A suite of benchmarks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BenchmarkSuite {
    /// Its name.
    name: &'static str,
    /// Its display name.
    title: &'static str,
    /// The paper, and the rows it uses.
    source: &'static str,
    /// The average it contributes to: `code`, `math` or `held_out`.
    #[schema(value_type = String, example = "code")]
    group: benchmark::Group,
    /// Number of rows of the complete suite; none if releases differ.
    rows: Option<u32>,
    /// The default protocol of evaluations: `prompts`, `temperature`, `top_p`, `max_tokens`.
    #[schema(value_type = Object)]
    protocol: &'static benchmark::Protocol,
    /// The latest import.
    dataset: Option<Dataset>,
}

/// All suites.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BenchmarkSuites {
    /// The suites, in the order of the table's columns.
    items: Vec<BenchmarkSuite>,
}

/// The number of results.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaderboardQuery {
    /// Number of results; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
}

crate::contract::query!(LeaderboardQuery);

/// Results, best first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Leaderboard {
    /// The best result of each member and each base.
    items: Vec<BenchmarkResult>,
}

/// List the benchmark suites.
#[utoipa::path(
    tag = "benchmarks",
    responses((status = 200, description = "All suites", body = BenchmarkSuites)),
    security(("token" = ["read"]))
)]
#[get("/benchmarks")]
pub(crate) async fn list_benchmarks(lab: web::Data<Lab>) -> Result<Answer<BenchmarkSuites>, ApiError> {
    let mut db = lab
        .store
        .pool()
        .acquire()
        .await
        .map_err(lyceum_store::StoreError::from)?;
    let mut items = Vec::new();
    for suite in benchmark::shipped_suites() {
        items.push(described(suite, datasets::newest_of_suite(&mut db, &suite.name).await?));
    }
    Ok(Answer::ok(BenchmarkSuites { items }))
}

fn described(suite: &'static Suite, dataset: Option<Dataset>) -> BenchmarkSuite {
    BenchmarkSuite {
        name: &suite.name,
        title: &suite.title,
        source: &suite.source,
        group: suite.group,
        rows: suite.rows,
        protocol: &suite.protocol,
        dataset,
    }
}

/// Show the best results on a suite, across all runs.
#[utoipa::path(
    tag = "benchmarks",
    params(("name" = String, Path, description = "The suite"), LeaderboardQuery),
    responses((status = 200, description = "Results, the best first", body = Leaderboard)),
    security(("token" = ["read"]))
)]
#[get("/benchmarks/{name}/leaderboard")]
pub(crate) async fn show_leaderboard(
    lab: web::Data<Lab>,
    name: web::Path<String>,
    query: Query<LeaderboardQuery>,
) -> Result<Answer<Leaderboard>, ApiError> {
    let suite = benchmark::suite(&name);
    // Postgres has no such text.
    if let (Err(unknown), true) = (&suite, name.contains('\0')) {
        return Err(ApiError::not_found(unknown.to_string()));
    }
    let limit = query.0.limit.unwrap_or(crate::contract::DEFAULT_LIMIT);
    let suite_name = suite.as_ref().map_or(name.as_str(), |suite| &suite.name);
    let items = benchmarks::leaderboard(lab.store.pool(), suite_name, limit).await?;
    match suite {
        Err(unknown) if items.is_empty() => Err(ApiError::not_found(unknown.to_string())),
        _ => Ok(Answer::ok(Leaderboard { items })),
    }
}
