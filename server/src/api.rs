//! The REST API, with one file per group of endpoints. `docs/API-DESIGN.md` has the rules for all of them.

mod artifacts;
mod benchmarks;
mod dataset_import;
pub(crate) mod datasets;
mod evaluation_events;
mod evaluation_export;
mod evaluation_results;
mod evaluations;
mod event_stream;
mod experiments;
mod health;
mod metrics;
mod presets;
mod run_actions;
mod run_begin;
mod run_create;
mod run_events;
mod run_fork;
mod run_metrics;
mod run_problems;
mod run_table;
mod runs;
mod schema;
mod sweeps;

pub(crate) use crate::subjects::goalposts::endpoints::ids as run_ids;
pub(crate) use datasets::DatasetPurpose;
pub(crate) use metrics::install as install_metrics;
pub(crate) use run_begin::{begin as begin_run, configured, settle_datasets};
pub(crate) use run_create::CreateRun;
pub(crate) use run_metrics::level_for;

use utoipa_actix_web::{scope, service_config::ServiceConfig};

use crate::{
    contract::bound,
    subjects::{self, curriculum, diversity, geometry, goalposts, selection},
};

/// Gives the bodies of requests their bounds in `document`.
pub(crate) fn bound_bodies(document: &mut utoipa::openapi::OpenApi) {
    bound::<datasets::CreateDataset>(document);
    bound::<evaluations::CreateEvaluation>(document);
    bound::<goalposts::endpoints::MakeGoalposts>(document);
    bound::<experiments::CreateExperiment>(document);
    bound::<experiments::UpdateExperiment>(document);
    bound::<run_actions::UpdateRun>(document);
    bound::<run_create::CreateRun>(document);
    bound::<run_fork::ForkRun>(document);
    bound::<sweeps::CreateSweep>(document);
    bound::<sweeps::UpdateSweep>(document);
}

/// Every endpoint.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(health::healthz)
        .service(health::readyz)
        .service(metrics::metrics);
    let of_subjects = subjects::endpoints().fold(scope("/api/v1"), |scope, endpoint| scope.service(endpoint));
    config.service(
        of_subjects
            .service(run_create::create_run)
            .service(runs::list_runs)
            .service(runs::show_run)
            .service(run_actions::update_run)
            .service(run_actions::delete_run)
            .service(run_actions::pause_run)
            .service(run_actions::resume_run)
            .service(run_actions::cancel_run)
            .service(run_fork::fork_run)
            .service(run_events::watch_run)
            .service(run_metrics::show_metrics)
            .service(selection::endpoints::show_selection)
            .service(geometry::endpoints::show_geometry)
            .service(run_problems::list_problems)
            .service(run_problems::show_problem)
            .service(run_problems::list_attempts)
            .service(curriculum::endpoints::show_curriculum)
            .service(curriculum::endpoints::show_scores)
            .service(diversity::endpoints::show_diversity)
            .service(diversity::endpoints::list_wordings)
            .service(diversity::endpoints::list_neighbours)
            .service(goalposts::endpoints::show_run_goalposts)
            .service(goalposts::endpoints::show_goalposts)
            .service(goalposts::endpoints::make_goalposts)
            .service(experiments::create_experiment)
            .service(experiments::list_experiments)
            .service(experiments::show_experiment)
            .service(experiments::update_experiment)
            .service(experiments::delete_experiment)
            .service(sweeps::create_sweep)
            .service(sweeps::list_sweeps)
            .service(sweeps::show_sweep)
            .service(sweeps::steer::update_sweep)
            .service(sweeps::list_sweep_runs)
            .service(sweeps::steer::pause_sweep)
            .service(sweeps::steer::resume_sweep)
            .service(sweeps::steer::cancel_sweep)
            .service(evaluations::create_evaluation)
            .service(evaluations::list_evaluations)
            .service(evaluations::show_evaluation)
            .service(evaluations::cancel_evaluation)
            .service(evaluation_events::watch_evaluation)
            .service(evaluation_results::list_evaluation_results)
            .service(evaluation_results::list_samples)
            .service(evaluation_export::export_evaluation)
            .service(evaluation_results::list_run_results)
            .service(run_table::show_table)
            .service(run_table::show_solved)
            .service(run_table::show_results)
            .service(benchmarks::list_benchmarks)
            .service(benchmarks::show_leaderboard)
            .service(dataset_import::import_dataset)
            .service(datasets::create_dataset)
            .service(datasets::list_datasets)
            .service(datasets::show_dataset)
            .service(datasets::list_dataset_rows)
            .service(datasets::list_bad_rows)
            .service(datasets::delete_dataset)
            .service(artifacts::read_artifact)
            .service(artifacts::write_artifact)
            .service(presets::list_presets)
            .service(presets::show_preset)
            .service(schema::list_recipes)
            .service(schema::show_run_config_schema)
            .service(schema::show_openapi),
    );
}
