//! Whether the server lives and can serve.

use actix_web::{get, web};

use super::Api;
use crate::api_error::ApiError;

/// Say whether the process runs.
#[utoipa::path(tag = "service", responses((status = 200, description = "It does", body = String)), security())]
#[get("/healthz")]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Say whether the server can serve: the database answers.
#[utoipa::path(tag = "service", responses((status = 200, description = "It can", body = String)), security())]
#[get("/readyz")]
pub(crate) async fn readyz(api: web::Data<Api>) -> Result<&'static str, ApiError> {
    match sqlx::query("SELECT 1").execute(api.store.pool()).await {
        Ok(_) => Ok("ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: the database does not answer");
            Err(ApiError::unavailable("the database does not answer"))
        }
    }
}
