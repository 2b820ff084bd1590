//! Tokens: shown once, kept as hashes; and the caller's identity.

use actix_web::{HttpResponse, web};
use chrono::{DateTime, Utc};
use lyceum_store::tokens::{self, Scope, Token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::access::new_secret;
use crate::api_error::ApiError;
use crate::contract::caller::masked;
use crate::contract::document::{Document, RequestBody};
use crate::contract::{About, Answer, Caller, Endpoint, bounds};
use crate::lab::Lab;
use crate::token::PREFIX;

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

pub(super) fn endpoints() -> Vec<Endpoint> {
    let create = About::new("create_token", "/tokens").says(
        "Create a token. The response is not stored, so this has no `Idempotency-Key`.",
        "The token, shown only once",
    );
    let create = Endpoint::post(create, "tokens", create_token).takes::<CreateToken>().creates::<CreatedToken>();
    let create = create.scope("admin");
    let all = About::new("list_tokens", "/tokens").says("List all tokens, without their secrets.", "All tokens");
    let all = Endpoint::get(all, "tokens", list_tokens).answers::<Tokens>().scope("admin");
    let revoke = About::new("revoke_token", "/tokens/{id}").says("Revoke a token and end its sessions.", "Revoked");
    let revoke = Endpoint::delete(revoke, "tokens", revoke_token).id("id", "The token's id, not the token");
    let revoke = revoke.answers_nothing().scope("admin");
    let one = About::new("show_session", "/session").says("Show the caller's identity and permissions.", "The caller");
    let one = Endpoint::get(one, "tokens", show_session).answers::<Session>();
    vec![create, all, revoke, one]
}

async fn create_token(lab: web::Data<Lab>, sent: Document<CreateToken>) -> Result<Answer<CreatedToken>, ApiError> {
    let request = sent.value;
    let secret = new_secret(PREFIX);
    let mut connection = lab.store.pool().acquire().await?;
    let scope = Scope::from(request.scope);
    let kept = tokens::create(&mut connection, &request.name, scope, request.expires_at, &secret).await?;
    tracing::info!(token.id = %kept.id, "created a token with scope {scope}");
    let location = format!("/api/v1/tokens/{}", kept.id);
    Ok(Answer::created(CreatedToken { kept, token: secret }, &location))
}

async fn list_tokens(lab: web::Data<Lab>) -> Result<Answer<Tokens>, ApiError> {
    let items = tokens::list(lab.store.pool()).await?;
    Ok(Answer::ok(Tokens { items }))
}

async fn revoke_token(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    tokens::revoke(lab.store.pool(), *id).await?;
    tracing::info!(token.id = %id, "revoked a token");
    Ok(HttpResponse::NoContent().finish())
}

/// The caller's identity.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    /// The token sent, or the one the session was opened with.
    token: Token,
    /// The `x-csrf-token` a session must send with changes, different in each response; absent for a program with a
    /// token.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf_token: Option<String>,
}

async fn show_session(caller: Caller) -> Answer<Session> {
    Answer::ok(Session { token: caller.token, csrf_token: caller.csrf.as_deref().map(masked) })
}
