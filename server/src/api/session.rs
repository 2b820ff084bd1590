//! Who the caller is.

use actix_web::get;
use lyceum_store::tokens::Token;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::Answer;
use crate::access::{Caller, masked};

/// Who the caller is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    /// The token that was sent, or that the session was opened with.
    token: Token,
    /// What a session must send as `x-csrf-token` to change anything, another text each time; absent for a program with a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf_token: Option<String>,
}

/// Show who the caller is and what it may do.
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
