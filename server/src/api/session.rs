//! The caller's identity.

use actix_web::get;
use lyceum_store::tokens::Token;
use serde::Serialize;
use utoipa::ToSchema;

use crate::contract::{Answer, Caller, caller::masked};

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

/// Show the caller's identity and permissions.
#[utoipa::path(
    tag = "tokens",
    responses((status = 200, description = "The caller", body = Session)),
    security(("token" = ["read"]))
)]
#[get("/session")]
pub(crate) async fn show_session(caller: Caller) -> Answer<Session> {
    Answer::ok(Session {
        token: caller.token,
        csrf_token: caller.csrf.as_deref().map(masked),
    })
}
