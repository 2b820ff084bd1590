//! Pages without a room of their own.

mod run_new;
mod settings;

use actix_web::web::ServiceConfig;

/// Every page.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config.service(run_new::show_new_run).service(settings::show_settings);
}
