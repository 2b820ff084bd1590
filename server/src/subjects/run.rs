//! One run: its result and its metrics. Each of its other pages is in the room of its own subject.

mod benchmarks;
mod curves;
mod result;

use actix_web::web::ServiceConfig;

pub(crate) use result::held_out::chosen as measured_way;
pub(crate) use result::now::{Standstill, eta, seconds_of};
pub(crate) use result::verdict::{VerdictView, tone};

pub(super) fn pages(config: &mut ServiceConfig) {
    config
        .service(result::show_result)
        .service(result::now::show_run_now)
        .service(result::held_out::show_held_out)
        .service(result::verdict::show_verdict)
        .service(benchmarks::show_run_benchmarks)
        .service(curves::show_metrics);
}
