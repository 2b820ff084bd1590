//! `/runs/{id}/benchmarks`: the papers' table of a run (PopuLoRA, Table 3), pass@k over k, and scores over steps.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::benchmark::Table;
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::{self, LevelAtStep, MeasuredRun, ScoreAtStep};
use lyceum_store::evaluations::{self, EvaluationFilter};
use lyceum_store::page::{self, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::Figure;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::benchmarks::curves::{self, Curve};
use crate::subjects::benchmarks::measured::{Measured, measured};
use crate::subjects::benchmarks::score_table::{self, Line, lines};
use crate::subjects::evaluations::frozen_side;
use crate::subjects::evaluations::new::imported_suites;
use crate::subjects::evaluations::page::EvaluationLine;

/// Evaluations shown; the list has all.
const EVALUATIONS: u32 = 5;
/// Maximum runs to choose a baseline from.
const BASELINES: u32 = 100;

/// The table requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableFilter {
    /// The members after this many steps; by default the latest measured.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
    /// A run whose latest measured members are shown as the baseline.
    baseline: Option<Uuid>,
}

#[derive(Template, Serialize)]
#[template(path = "benchmarks/page.html")]
struct RunBenchmarksPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// Finished steps when the table's members were measured.
    step: Option<i32>,
    /// All steps at which members were measured.
    steps: Vec<i32>,
    baseline: Option<Uuid>,
    table: Table,
    pass_at_k: Vec<Curve>,
    scores: Vec<ScoreAtStep>,
    levels: Vec<LevelAtStep>,
    /// The request for an evaluation with frozen sides.
    #[serde(skip)]
    frozen_side: Option<String>,
    /// The newest evaluations of this run.
    evaluations: Vec<EvaluationLine>,
    #[serde(skip)]
    asked_step: Option<u32>,
    #[serde(skip)]
    lines: Vec<Line>,
    #[serde(skip)]
    baselines: Vec<MeasuredRun>,
    /// The names of the imported suites.
    #[serde(skip)]
    imported: Vec<&'static str>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl RunBenchmarksPage {
    fn titles(&self) -> Vec<&str> {
        self.table.suites.iter().map(|name| format::suite_title(name)).collect()
    }

    fn averages(&self) -> Vec<&'static str> {
        score_table::averages(&self.table)
    }

    /// The suite used in examples.
    fn example(&self) -> &'static str {
        self.imported.first().copied().unwrap_or("humaneval")
    }

    fn is_step(&self, step: &i32) -> bool {
        self.asked_step == Some(step.cast_unsigned())
    }

    fn is_baseline(&self, run: &Uuid) -> bool {
        self.baseline == Some(*run)
    }

    /// Whether anything is running that the page shows.
    fn is_live(&self) -> bool {
        self.run.is_open() || self.evaluations.iter().any(EvaluationLine::is_open)
    }

    /// Whether the table has members.
    fn has_members(&self) -> bool {
        !self.table.summaries.is_empty()
    }

    /// The API's address of this table in `format`.
    fn table_address(&self, format: &str) -> String {
        let step = self.asked_step.map(|step| format!("&step={step}")).unwrap_or_default();
        let baseline = self.baseline.map(|run| format!("&baseline={run}")).unwrap_or_default();
        let run = self.run.run().id;
        format!("/api/v1/runs/{run}/benchmarks/table?format={format}{step}{baseline}")
    }
}

/// The benchmark results of a run's members.
#[get("/runs/{id}/benchmarks")]
pub(crate) async fn show_run_benchmarks(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<TableFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let run = RunFrame::load(&lab, *id, Tab::Benchmarks).await?;
    let Measured { table, results } = measured(db, *id, asked.step, asked.baseline.map(ExecutionId)).await?;
    let scores = benchmarks::scores_by_step(db, *id).await?;
    let levels = benchmarks::scores_by_level(db, *id).await?;
    let steps: BTreeSet<i32> = scores.iter().filter_map(|score| score.step).collect();
    let pass_at_k = curves::curves(&results);
    let mut figures = curves::figures(&scores);
    figures.extend(curves::by_level(&levels));
    figures.extend(curves::pass_at_k(&pass_at_k));
    let of_run = EvaluationFilter { run: Some(*id), kind: Some("benchmark"), ..EvaluationFilter::default() };
    let newest = Window { limit: EVALUATIONS, after: None, order: page::Order::Newest };
    let evaluations = evaluations::page(db, &of_run, &newest).await?.items;
    let lines = lines(&table, *id, &results);
    let mut baselines = match view.caller.has_only_a_link {
        true => Vec::new(),
        false => benchmarks::measured_runs(db, BASELINES).await?,
    };
    baselines.retain(|other| other.id != id.0 || asked.baseline == Some(other.id));
    view.show(&RunBenchmarksPage {
        layout: view.layout(format!("Benchmarks · {}", run.run().name), Section::Runs),
        step: results.iter().filter_map(|result| result.step).max(),
        steps: steps.into_iter().collect(),
        baseline: asked.baseline,
        asked_step: asked.step,
        baselines,
        frozen_side: frozen_side::body(&lab.registry, &run.detail),
        evaluations: EvaluationLine::of(db, evaluations).await?,
        imported: imported_suites(&lab).await?,
        table,
        lines,
        pass_at_k,
        scores,
        levels,
        figures,
        run,
    })
}
