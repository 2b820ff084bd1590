//! Trace ids, which connect a request with its work.

use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload, http::header::HeaderMap};
use std::{convert::Infallible, fmt, future::Ready};

/// A trace id (W3C Trace Context): 16 bytes, not all zero, as 32 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceId(String);

impl TraceId {
    /// A new id.
    pub fn new() -> Self {
        Self(format!("{:032x}", rand::random::<u128>() | 1))
    }

    /// The caller's id in `traceparent`, if it is valid.
    pub(super) fn sent(headers: &HeaderMap) -> Option<Self> {
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
    pub fn as_str(&self) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    fn sent(parent: &'static str) -> Option<TraceId> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("traceparent"), HeaderValue::from_static(parent));
        TraceId::sent(&headers)
    }

    #[test]
    fn a_trace_goes_on_where_it_was_sent_and_anew_where_it_is_no_trace() {
        // The example of the specification (W3C Trace Context, section 3.2.4).
        let trace = sent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert_eq!(
            trace.map(|id| id.0),
            Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned())
        );
        assert_eq!(sent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
        assert_eq!(sent("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"), None);
        assert_eq!(sent("hello"), None);
        assert_ne!(TraceId::new(), TraceId::new());
    }
}
