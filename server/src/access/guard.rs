//! Identifies the caller of every request and checks its permissions.

use actix_web::{
    Error, HttpMessage as _, HttpResponse,
    body::{EitherBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method,
        header::{self, HeaderMap},
    },
    middleware::Next,
    web,
};
use lyceum_store::{
    sessions,
    tokens::{self, Scope},
};
use sha2::{Digest as _, Sha256};
use std::net::{IpAddr, Ipv4Addr};

use super::{Caller, csrf, local_address::LocalAddress, login::SESSION_COOKIE, requirement::Requirement, share};
use crate::{api::Api, api_error::ApiError};

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
    let api = request
        .app_data::<web::Data<Api>>()
        .ok_or_else(|| ApiError::internal(&"the guard was given no API"))?;
    let pattern = request.match_pattern();
    let needed = pattern
        .as_deref()
        .and_then(|pattern| api.requirements.get(request.method(), pattern));
    let is_open = |path: &str| {
        OPEN.iter()
            .any(|open| path == *open || path.starts_with(&format!("{open}/")))
    };
    if needed == Some(Requirement::Nothing) || (needed.is_none() && is_open(request.path())) {
        return Ok(());
    }
    let caller = identify(request, api).await?;
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
        && pattern.is_some_and(|pattern| api.requirements.is_without_query(request.method(), &pattern))
    {
        let name = request
            .query_string()
            .split(['=', '&'])
            .next()
            .unwrap_or_default()
            .to_owned();
        return Err(ApiError::invalid_query(vec![(
            name,
            "this endpoint takes no parameters".to_owned(),
        )]));
    }
    request.extensions_mut().insert(caller);
    Ok(())
}

async fn identify(request: &ServiceRequest, api: &Api) -> Result<Caller, ApiError> {
    if let Some(authorization) = request.headers().get(header::AUTHORIZATION) {
        let bearer = authorization.to_str().ok().and_then(|value| value.split_once(' '));
        let token = match bearer {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => {
                tokens::authenticate(api.store.pool(), secret.trim()).await?
            }
            _ => None,
        };
        return match token {
            Some(token) => Ok(Caller {
                token,
                csrf: None,
                has_only_a_link: false,
            }),
            None => Err(refuse(
                api,
                address(request),
                "the token is unknown, revoked or has expired",
            )),
        };
    }
    if let Some(cookie) = request.cookie(SESSION_COOKIE) {
        return match sessions::find(api.store.pool(), cookie.value()).await? {
            Some(session) => Ok(Caller {
                token: session.token,
                csrf: Some(session.csrf),
                has_only_a_link: false,
            }),
            None => match share::reader(request, api).await? {
                Some(reader) => Ok(reader),
                None => Err(refuse(api, address(request), "the session is over; log in again")),
            },
        };
    }
    if let Some(reader) = share::reader(request, api).await? {
        return Ok(reader);
    }
    Err(ApiError::unauthorized("send a token as `Authorization: Bearer …`"))
}

/// Counts a wrong token or session, and refuses it.
pub(super) fn refuse(api: &Api, address: IpAddr, detail: &str) -> ApiError {
    metrics::counter!("lyceum_failed_logins_total").increment(1);
    tracing::warn!(client.address = %address, "refused: {detail}");
    match api.failed_logins.note(address) {
        Ok(()) => ApiError::unauthorized(detail),
        Err(wait) => ApiError::too_many_failures(wait),
    }
}

/// The peer's address. Proxy headers are ignored because anyone could set them.
fn address(request: &ServiceRequest) -> IpAddr {
    request
        .peer_addr()
        .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip())
}

fn shows_csrf(headers: &HeaderMap, csrf: &str) -> bool {
    headers
        .get("x-csrf-token")
        .and_then(|shown| shown.to_str().ok())
        .is_some_and(|shown| csrf::shows(shown, csrf))
}

/// Compares hashes, so the time taken reveals nothing.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

/// Redirects browsers that request a page to the login form, which returns to that page.
fn to_login(request: &ServiceRequest, error: &ApiError) -> Option<HttpResponse> {
    let accept = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let wants_page = request.method() == Method::GET
        && !request.path().starts_with("/api/")
        && accept.is_some_and(|accept| accept.contains("text/html"))
        && error.status() == 401;
    wants_page.then(|| {
        let asked = request.uri().path_and_query().map(|asked| asked.as_str());
        let to = asked.and_then(LocalAddress::of);
        let login = to.map_or_else(|| "/login".to_owned(), |to| to.login());
        HttpResponse::SeeOther()
            .insert_header((header::LOCATION, login))
            .finish()
    })
}
