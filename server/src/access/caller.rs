//! Who asks.

use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload};
use lyceum_store::tokens::Token;
use std::future::{Ready, ready};

use crate::api_error::ApiError;

/// Who asks, as the guard found it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The token that was sent, or that the session was opened with.
    pub token: Token,
    /// What a session must show to change anything; none for a program with a token.
    pub csrf: Option<String>,
}

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Self>().cloned();
        ready(caller.ok_or_else(|| ApiError::unauthorized("send a token as `Authorization: Bearer …`")))
    }
}
