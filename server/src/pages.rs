//! The lab in the browser: one page a file, rendered on the server, each also as JSON. `web/README.md` says how a page is
//! added, `docs/PAGES.md` what each one shows.

mod assets;
mod charts;
mod config_form;
mod errors;
mod experiment;
mod experiments;
mod filters;
mod format;
mod home;
mod island;
mod layout;
mod run;
mod run_frame;
mod run_new;
mod run_now;
mod runs;
mod settings;
mod suffix;
mod view;
mod work;
mod work_item;
mod workers;

pub(crate) use assets::show_asset;
pub(crate) use errors::show_problems;
pub(crate) use layout::{Assets, theme_of};
pub(crate) use suffix::take_suffix;

use actix_web::web::ServiceConfig;

/// Every page.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(home::show_home)
        .service(home::show_home_now)
        .service(experiments::show_experiments)
        .service(experiment::show_one_experiment)
        .service(runs::show_runs)
        .service(run_new::show_new_run)
        .service(run::show_run)
        .service(run_now::show_run_now)
        .service(work::show_queue)
        .service(work_item::show_work_item)
        .service(workers::show_all_workers)
        .service(settings::show_settings);
}
