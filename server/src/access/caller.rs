//! The caller of a request.

use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload};
use lyceum_store::tokens::Token;
use std::future::{Ready, ready};

use crate::api_error::ApiError;

/// The caller, as identified by the guard.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token sent, or the one the session was opened with.
    pub token: Token,
    /// The session's CSRF token, required for changes; `None` for a program with a token.
    pub csrf: Option<String>,
    /// Whether the caller has no token but a share link, which shows one page and no run beside those that it names.
    pub has_only_a_link: bool,
}

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Self>().cloned();
        ready(caller.ok_or_else(|| ApiError::unauthorized("send a token as `Authorization: Bearer …`")))
    }
}
