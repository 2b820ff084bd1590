//! Identifies the caller of every request and checks its permissions.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest, HttpResponse, web};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use lyceum_store::sessions;
use lyceum_store::tokens::{self, Scope};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use crate::access::login::{LocalAddress, SESSION_COOKIE};
use crate::access::requirement::{Requirement, Requirements};
use crate::access::share;
use crate::api_error::ApiError;
use crate::contract::{Caller, caller};
use crate::lab::Lab;

/// Pages and files that need no login.
const OPEN: [&str; 4] = ["/login", "/docs", "/assets", "/shared"];

/// Passes on permitted requests with their [`Caller`] and answers all others.
pub(crate) async fn guard<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    match admit(&request).await {
        Ok(()) => Ok(next.call(request).await?.map_into_left_body()),
        Err(error) => {
            let response = match to_login(&request, &error) {
                Some(redirect) => request.into_response(redirect),
                // With the error, of which a page is made for browsers.
                None => ServiceResponse::from_err(error, request.into_parts().0),
            };
            Ok(response.map_into_right_body())
        }
    }
}

async fn admit(request: &ServiceRequest) -> Result<(), ApiError> {
    let lab =
        request.app_data::<web::Data<Lab>>().ok_or_else(|| ApiError::internal(&"the guard was given no laboratory"))?;
    let requirements = request
        .app_data::<web::Data<Requirements>>()
        .ok_or_else(|| ApiError::internal(&"the guard was given no requirements"))?;
    let pattern = request.match_pattern();
    let needed = pattern.as_deref().and_then(|pattern| requirements.get(request.method(), pattern));
    let is_open = |path: &str| OPEN.iter().any(|open| path == *open || path.starts_with(&format!("{open}/")));
    if needed == Some(Requirement::Nothing) || (needed.is_none() && is_open(request.path())) {
        return Ok(());
    }
    let caller = identify(request, lab).await?;
    // Pages, which have no description, are for those who may read.
    let needed = needed.unwrap_or(Requirement::Scope(Scope::Read));
    if !needed.admits(caller.token.scope) {
        let scope = needed.scope().unwrap_or(Scope::Read);
        let has = caller.token.scope;
        return Err(ApiError::forbidden(format!(
            "this needs the scope {scope}, and the token `{}` has {has}",
            caller.token.name
        )));
    }
    if let Some(csrf) = &caller.csrf
        && !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        && request.path() != "/logout"
        && !shows_csrf(request.headers(), csrf)
    {
        return Err(ApiError::csrf());
    }
    if !request.query_string().is_empty()
        && pattern.is_some_and(|pattern| requirements.is_without_query(request.method(), &pattern))
    {
        let name = request.query_string().split(['=', '&']).next().unwrap_or_default().to_owned();
        return Err(ApiError::invalid_query(vec![(name, "this endpoint takes no parameters".to_owned())]));
    }
    request.extensions_mut().insert(caller);
    Ok(())
}

async fn identify(request: &ServiceRequest, lab: &Lab) -> Result<Caller, ApiError> {
    if let Some(authorization) = request.headers().get(header::AUTHORIZATION) {
        let bearer = authorization.to_str().ok().and_then(|value| value.split_once(' '));
        let token = match bearer {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => {
                tokens::authenticate(lab.store.pool(), secret.trim()).await?
            }
            _ => None,
        };
        return match token {
            Some(token) => Ok(Caller { token, csrf: None, has_only_a_link: false }),
            None => Err(refuse(request.request(), "the token is unknown, revoked or has expired")),
        };
    }
    if let Some(cookie) = request.cookie(SESSION_COOKIE) {
        return match sessions::find(lab.store.pool(), cookie.value()).await? {
            Some(session) => Ok(Caller { token: session.token, csrf: Some(session.csrf), has_only_a_link: false }),
            None => match share::reader(request, lab).await? {
                Some(reader) => Ok(reader),
                None => Err(refuse(request.request(), "the session is over; log in again")),
            },
        };
    }
    if let Some(reader) = share::reader(request, lab).await? {
        return Ok(reader);
    }
    Err(ApiError::unauthorized("send a token as `Authorization: Bearer …`"))
}

/// Counts a wrong token or session, and refuses it.
pub(super) fn refuse(request: &HttpRequest, detail: &str) -> ApiError {
    // The peer's address. Proxy headers are ignored because anyone could set them.
    let address = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip());
    metrics::counter!("lyceum_failed_logins_total").increment(1);
    tracing::warn!(client.address = %address, "refused: {detail}");
    let Some(failed) = request.app_data::<web::Data<FailedLogins>>() else {
        return ApiError::internal(&"the guard was given no count of wrong tokens");
    };
    match failed.note(address) {
        Ok(()) => ApiError::unauthorized(detail),
        Err(wait) => ApiError::too_many_failures(wait),
    }
}

fn shows_csrf(headers: &HeaderMap, csrf: &str) -> bool {
    headers.get("x-csrf-token").and_then(|shown| shown.to_str().ok()).is_some_and(|shown| caller::shows(shown, csrf))
}

/// Redirects browsers that request a page to the login form, which returns to that page.
fn to_login(request: &ServiceRequest, error: &ApiError) -> Option<HttpResponse> {
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants_page = request.method() == Method::GET
        && !request.path().starts_with("/api/")
        && accept.is_some_and(|accept| accept.contains("text/html"))
        && error.status() == 401;
    wants_page.then(|| {
        let asked = request.uri().path_and_query().map(|asked| asked.as_str());
        let to = asked.and_then(LocalAddress::of);
        let login = to.map_or_else(|| "/login".to_owned(), |to| to.login());
        HttpResponse::SeeOther().insert_header((header::LOCATION, login)).finish()
    })
}

/// Wrong tokens in the last minute, by address.
#[derive(Debug)]
pub(crate) struct FailedLogins(RateLimiter<IpAddr, DashMapStateStore<IpAddr>, DefaultClock>);

impl FailedLogins {
    /// Answers up to `per_minute` wrong tokens as such; after that the caller is told to wait.
    pub(crate) fn new(per_minute: NonZeroU32) -> Self {
        Self(RateLimiter::keyed(Quota::per_minute(per_minute)))
    }

    /// Counts a wrong token from `address`.
    ///
    /// # Errors
    /// How long to wait, if there were too many.
    pub(crate) fn note(&self, address: IpAddr) -> Result<(), Duration> {
        // Addresses without a wrong token for a minute are forgotten.
        if self.0.len() > 10_000 {
            self.0.retain_recent();
        }
        self.0.check_key(&address).map_err(|refused| refused.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_held_up_after_its_share_and_another_is_not() {
        let failures = FailedLogins::new(NonZeroU32::new(3).unwrap());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        assert!((0..3).all(|_| failures.note(one).is_ok()));
        // The limit recovers by one every twenty seconds.
        let wait = std::iter::repeat_with(|| failures.note(one)).find_map(Result::err);
        assert!(wait.is_some_and(|wait| wait <= Duration::from_secs(20)));
        assert!(failures.note(other).is_ok());
    }
}
