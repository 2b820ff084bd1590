//! What the laboratory has, by subject: what is read of it, its endpoints and its pages.

mod adapters;
pub(crate) mod alerts;
mod archive;
mod artifacts;
pub(crate) mod benchmarks;
pub(crate) mod comparison;
mod configs;
pub(crate) mod curriculum;
pub(crate) mod datasets;
pub(crate) mod difficulty;
pub(crate) mod diversity;
pub(crate) mod evaluations;
mod events;
pub(crate) mod experiments;
mod export;
pub(crate) mod geometry;
pub(crate) mod goalposts;
pub(crate) mod lab;
mod leaderboard;
pub(crate) mod population;
pub(crate) mod problems;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod samples;
mod search;
pub(crate) mod selection;
pub(crate) mod service;
mod settings;
pub(crate) mod sweeps;
mod tokens;
mod views;
pub(crate) mod work;
pub(crate) mod workers;

use actix_web::web::ServiceConfig;
use utoipa_actix_web::scope;
use utoipa_actix_web::service_config::ServiceConfig as Described;

use crate::contract::Endpoint;

/// Every endpoint, for the router and for the description.
pub(crate) fn routes(config: &mut Described) {
    for endpoint in service::endpoints() {
        config.service(endpoint);
    }
    let mut endpoints: Vec<Endpoint> = endpoints().collect();
    // `/datasets/import` before `/datasets/{id}`, which would match it too.
    endpoints.sort_by_key(Endpoint::path);
    let all = endpoints.into_iter();
    config.service(all.fold(scope("/api/v1"), |scope, endpoint| scope.service(endpoint)));
}

fn endpoints() -> impl Iterator<Item = Endpoint> {
    let of_subjects: [fn() -> Vec<Endpoint>; 33] = [
        adapters::endpoints,
        alerts::endpoints,
        alerts::rules::endpoints,
        archive::endpoints,
        artifacts::endpoints,
        benchmarks::endpoints,
        benchmarks::export::endpoints,
        benchmarks::table::endpoints,
        configs::endpoints,
        curriculum::endpoints,
        datasets::endpoints,
        datasets::import::endpoints,
        datasets::rewards::endpoints,
        difficulty::endpoints,
        diversity::endpoints,
        evaluations::endpoints,
        events::endpoints,
        experiments::endpoints,
        geometry::endpoints,
        goalposts::endpoints::endpoints,
        population::endpoints,
        problems::endpoints,
        runs::endpoints,
        runs::create::endpoints,
        runs::fork::endpoints,
        runs::metrics::endpoints,
        search::endpoints,
        selection::endpoints,
        sweeps::endpoints,
        tokens::endpoints,
        views::endpoints,
        work::endpoints,
        workers::endpoints,
    ];
    of_subjects.into_iter().flat_map(|endpoints| endpoints())
}

/// The pages of all subjects.
pub(crate) fn pages(config: &mut ServiceConfig) {
    config
        .service(adapters::show_adapters)
        .service(alerts::page::show_alerts)
        .service(comparison::show_compare)
        .service(comparison::problems::show_problems_beside)
        .service(datasets::pages::show_datasets)
        .service(datasets::pages::show_new_dataset)
        .service(datasets::pages::show_one_dataset)
        .service(difficulty::page::show_difficulty)
        .service(archive::archives::show_archives)
        .service(benchmarks::pages::show_suites)
        .service(evaluations::page::show_evaluations)
        .service(evaluations::new::show_new_evaluation)
        .service(evaluations::result::show_one_evaluation)
        .service(experiments::show_experiments)
        .service(experiments::show_new_experiment)
        .service(experiments::page::show_one_experiment)
        .service(runs::new::show_new_run)
        .service(samples::show_samples)
        .service(settings::show_settings)
        .service(curriculum::page::show_curriculum)
        .service(diversity::page::show_diversity)
        .service(goalposts::page::show_run_goalposts)
        .service(goalposts::page::show_goalposts)
        .service(archive::page::show_archive)
        .service(population::arms_race::show_arms_race)
        .service(population::page::show_population)
        .service(population::member::show_member)
        .service(population::adapter::download_adapter)
        .service(population::lineage::show_lineage)
        .service(population::cross_play::show_cross_play)
        .service(problems::attempt_list::show_attempts)
        .service(problems::list::show_run_problems)
        .service(problems::list::show_all_problems)
        .service(problems::biography::show_problem)
        .service(problems::learnability::show_learnability)
        .service(problems::candidates::show_candidates)
        .service(comparison::picks::show_picks)
        .service(export::show_export)
        .service(export::export_table)
        .service(export::export_run)
        .service(lab::show_lab)
        .service(lab::show_runs)
        .service(leaderboard::show_leaderboard)
        .service(views::open_view)
        .service(views::show_views)
        .service(work::pages::show_queue)
        .service(work::pages::show_work_item)
        .service(workers::show_all_workers)
        .service(workers::show_one_worker)
        // After `/runs/new`, which `/runs/{id}` would match too.
        .configure(run::pages);
}
