//! The web pages, one per file, rendered on the server and also available as JSON. `web/README.md` explains how to add
//! one, `docs/PAGES.md` what each shows.

pub(crate) mod compare;
mod home;
mod leaderboard;
pub(crate) mod parallel;
mod problems_beside;
mod run_new;
pub(crate) mod runs;
mod settings;

use actix_web::web::ServiceConfig;

/// Every page.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config.configure(views);
    config
        .service(home::show_home)
        .service(runs::show_runs)
        .service(run_new::show_new_run)
        .service(settings::show_settings);
}

/// The views of a population, and comparisons of runs.
fn views(config: &mut ServiceConfig) {
    config
        .service(compare::show_compare)
        .service(problems_beside::show_problems_beside)
        .service(leaderboard::show_leaderboard);
}
