//! Who makes a request: the caller, the CSRF token of its session, and the trace id of the request.

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lyceum_store::tokens::Token;
use sha2::{Digest as _, Sha256};
use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};

use crate::api_error::ApiError;

/// The caller, as identified by the guard.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The token sent, or the one the session was opened with.
    pub token: Token,
    /// The session's CSRF token, required for changes; `None` for a program with a token.
    pub csrf: Option<String>,
    /// Whether the caller has no token but a share link, which shows one page and only the runs that it names.
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

/// `csrf` for one response: a random pad, and the secret combined with it.
pub(crate) fn masked(csrf: &str) -> String {
    let pad: Vec<u8> = csrf.bytes().map(|_| rand::random()).collect();
    let sum: Vec<u8> = pad.iter().zip(csrf.bytes()).map(|(one, other)| one ^ other).collect();
    URL_SAFE_NO_PAD.encode([pad, sum].concat())
}

/// Whether `shown` is `csrf` under some mask.
pub(crate) fn shows(shown: &str, csrf: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(shown) else { return false };
    let (pad, sum) = bytes.split_at(bytes.len() / 2);
    let found: Vec<u8> = pad.iter().zip(sum).map(|(one, other)| one ^ other).collect();
    pad.len() == sum.len() && same(&found, csrf.as_bytes())
}

/// A trace id (W3C Trace Context): 16 bytes, not all zero, as 32 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(String);

impl TraceId {
    /// A new id.
    pub(crate) fn new() -> Self {
        Self(format!("{:032x}", rand::random::<u128>() | 1))
    }

    /// The caller's id in `traceparent`, if it is valid.
    pub(crate) fn sent(headers: &HeaderMap) -> Option<Self> {
        let parent = headers.get("traceparent")?.to_str().ok()?;
        let mut parts = parent.split('-');
        let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str, length| {
            text.len() == length
                && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
                && text.bytes().any(|byte| byte != b'0')
        };
        let known = version.len() == 2 && version != "ff";
        (known && digits(trace, 32) && digits(span, 16)).then(|| Self(trace.to_owned()))
    }

    /// Its digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TraceId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromRequest for TraceId {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(Ok(request.extensions().get::<Self>().cloned().unwrap_or_default()))
    }
}

/// Compares hashes, so the time taken reveals nothing.
fn same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    #[test]
    fn a_secret_is_known_under_every_mask_and_nothing_else_is() {
        let (one, other) = (masked("secret"), masked("secret"));
        assert_ne!(one, other);
        assert!(shows(&one, "secret") && shows(&other, "secret"));
        for wrong in ["secret", "", "=", &masked("secrets"), &one[..one.len() - 1], &format!("{one}AA")] {
            assert!(!shows(wrong, "secret"), "{wrong}");
        }
    }

    fn sent(parent: &'static str) -> Option<TraceId> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("traceparent"), HeaderValue::from_static(parent));
        TraceId::sent(&headers)
    }

    #[test]
    fn a_trace_goes_on_where_it_was_sent_and_anew_where_it_is_no_trace() {
        // The example of the specification (W3C Trace Context, section 3.2.4).
        let trace = sent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert_eq!(trace.map(|id| id.0), Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned()));
        assert_eq!(sent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
        assert_eq!(sent("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"), None);
        assert_eq!(sent("hello"), None);
        assert_ne!(TraceId::new(), TraceId::new());
    }
}
