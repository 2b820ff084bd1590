//! The lab in the browser: one page a file, rendered on the server, each also as JSON. `web/README.md` says how a page is
//! added, `docs/PAGES.md` what each one shows.

mod assets;
mod charts;
mod errors;
mod filters;
mod format;
mod island;
mod layout;
mod run;
mod run_frame;
mod run_now;
mod runs;
mod suffix;
mod view;

pub(crate) use assets::show_asset;
pub(crate) use errors::show_problems;
pub(crate) use layout::{Assets, theme_of};
pub(crate) use suffix::take_suffix;

use actix_web::web::ServiceConfig;

/// Every page.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(runs::show_runs)
        .service(run::show_run)
        .service(run_now::show_run_now);
}
