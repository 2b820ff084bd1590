//! Liveness and readiness.

use actix_web::{get, web};

use crate::{api_error::ApiError, lab::Lab};

/// Report that the process is alive.
#[utoipa::path(tag = "service", responses((status = 200, description = "The process is alive", body = String)), security())]
#[get("/healthz")]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Report whether the server is ready: the database responds.
#[utoipa::path(tag = "service", responses((status = 200, description = "The database responds", body = String)), security())]
#[get("/readyz")]
pub(crate) async fn readyz(lab: web::Data<Lab>) -> Result<&'static str, ApiError> {
    match sqlx::query("SELECT 1").execute(lab.store.pool()).await {
        Ok(_) => Ok("ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not respond");
            Err(ApiError::unavailable("the database does not respond"))
        }
    }
}
