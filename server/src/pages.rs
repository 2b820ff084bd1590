//! The web pages, one per file, rendered on the server and also available as JSON. `web/README.md` explains how to add
//! one, `docs/PAGES.md` what each shows.

mod adapter;
mod archive;
mod arms_race;
mod attempts;
mod candidates;
mod config_form;
mod cross_play;
mod curriculum;
mod diversity;
mod evaluation;
mod export;
mod frozen_side_plan;
mod goalposts;
mod held_out;
mod learnability;
pub(crate) mod lineage;
mod member;
mod picks;
mod population;
mod problem;
pub(crate) mod problems;
mod run;
mod run_benchmarks;
mod run_new;
pub(crate) mod run_now;
mod score_curves;
mod score_table;
mod settings;
pub(crate) mod verdict;

pub(crate) use held_out::chosen as measured_way;

use actix_web::web::ServiceConfig;

/// Every page.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config.configure(views);
    config
        .service(run_new::show_new_run)
        .service(run::show_run)
        .service(run_now::show_run_now)
        .service(held_out::show_held_out)
        .service(verdict::show_verdict)
        .service(run_benchmarks::show_run_benchmarks)
        .service(evaluation::show_one_evaluation)
        .service(settings::show_settings);
}

/// The views of a population, and comparisons of runs.
fn views(config: &mut ServiceConfig) {
    config
        .service(arms_race::show_arms_race)
        .service(population::show_population)
        .service(member::show_member)
        .service(adapter::download_adapter)
        .service(lineage::show_lineage)
        .service(cross_play::show_cross_play)
        .service(attempts::show_attempts)
        .service(archive::show_archive)
        .service(problems::show_run_problems)
        .service(problems::show_all_problems)
        .service(problem::show_problem)
        .service(curriculum::show_curriculum)
        .service(diversity::show_diversity)
        .service(learnability::show_learnability)
        .service(goalposts::show_run_goalposts)
        .service(candidates::show_candidates)
        .service(goalposts::show_goalposts)
        .service(export::show_export)
        .service(export::export_table)
        .service(export::export_run)
        .service(picks::show_picks);
}
