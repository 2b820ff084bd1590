//! Tokens: shown once, kept as hashes.

use actix_web::{HttpResponse, delete, get, post, web};
use chrono::{DateTime, Utc};
use lyceum_store::tokens::{self, Scope, Token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    access::new_secret,
    api_error::ApiError,
    contract::{
        Answer, bounds,
        document::{Document, RequestBody},
    },
    lab::Lab,
    token::PREFIX,
};

/// The scope of a token.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenScope {
    /// May read what items need and write artifacts, and nothing else.
    Worker,
    /// May read everything.
    Read,
    /// May also create and control runs.
    Write,
    /// May also manage tokens.
    Admin,
}

impl From<TokenScope> for Scope {
    fn from(scope: TokenScope) -> Self {
        match scope {
            TokenScope::Worker => Self::Worker,
            TokenScope::Read => Self::Read,
            TokenScope::Write => Self::Write,
            TokenScope::Admin => Self::Admin,
        }
    }
}

/// A token to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateToken {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Its scope.
    scope: TokenScope,
    /// When it expires; by default never.
    #[schemars(with = "Option<String>")]
    expires_at: Option<DateTime<Utc>>,
}

impl RequestBody for CreateToken {}

/// A new token, shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedToken {
    /// Its stored data.
    #[serde(flatten)]
    kept: Token,
    /// The token itself, which cannot be shown again.
    #[schema(example = "lyc_…")]
    token: String,
}

/// All tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// Newest first.
    items: Vec<Token>,
}

/// Create a token. The response is not stored, so this has no `Idempotency-Key`.
#[utoipa::path(
    tag = "tokens",
    request_body = CreateToken,
    responses((status = 201, description = "The token, shown only once", body = CreatedToken)),
    security(("token" = ["admin"]))
)]
#[post("/tokens")]
pub(crate) async fn create_token(
    lab: web::Data<Lab>,
    sent: Document<CreateToken>,
) -> Result<Answer<CreatedToken>, ApiError> {
    let request = sent.value;
    let secret = new_secret(PREFIX);
    let mut connection = lab.store.pool().acquire().await?;
    let scope = Scope::from(request.scope);
    let kept = tokens::create(&mut connection, &request.name, scope, request.expires_at, &secret).await?;
    tracing::info!(token.id = %kept.id, "created a token with scope {scope}");
    let location = format!("/api/v1/tokens/{}", kept.id);
    Ok(Answer::created(CreatedToken { kept, token: secret }, &location))
}

/// List all tokens, without their secrets.
#[utoipa::path(
    tag = "tokens",
    responses((status = 200, description = "All tokens", body = Tokens)),
    security(("token" = ["admin"]))
)]
#[get("/tokens")]
pub(crate) async fn list_tokens(lab: web::Data<Lab>) -> Result<Answer<Tokens>, ApiError> {
    let items = tokens::list(lab.store.pool()).await?;
    Ok(Answer::ok(Tokens { items }))
}

/// Revoke a token and end its sessions.
#[utoipa::path(
    tag = "tokens",
    params(("id" = Uuid, Path, description = "The token's id, not the token")),
    responses((status = 204, description = "Revoked")),
    security(("token" = ["admin"]))
)]
#[delete("/tokens/{id}")]
pub(crate) async fn revoke_token(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    tokens::revoke(lab.store.pool(), *id).await?;
    tracing::info!(token.id = %id, "revoked a token");
    Ok(HttpResponse::NoContent().finish())
}
