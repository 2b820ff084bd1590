//! Login with a browser, which exchanges a token for a session. Works without JavaScript.

use actix_web::cookie::{Cookie, SameSite, time};
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, get, post, web};
use askama::Template;
use lyceum_store::sessions;
use lyceum_store::tokens::{self, Scope};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::access::host::is_allowed;
use crate::access::{guard, new_secret};
use crate::api_error::ApiError;
use crate::contract::{Caller, caller};
use crate::frame::layout::{Assets, theme_of};
use crate::lab::Lab;

/// The name of the session's cookie.
pub(super) const SESSION_COOKIE: &str = "lyceum_session";

/// How a request came about, as browsers tell servers on https and on this machine (Fetch Metadata).
const SEC_FETCH_SITE: &str = "sec-fetch-site";

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    error: Option<&'a str>,
    /// Whether a token after the `#` of the address logs in without a click: no other site may log a browser in.
    by_link: bool,
    /// The page that was asked for.
    to: Option<LocalAddress>,
    theme: &'static str,
    assets: Assets,
}

#[derive(Deserialize)]
struct LoginForm {
    token: String,
    /// The page that was asked for.
    #[serde(default)]
    to: String,
}

/// The parameters of the form's address. Others are ignored.
#[derive(Deserialize)]
struct LoginQuery {
    #[serde(default)]
    to: String,
}

#[derive(Deserialize)]
struct LogoutForm {
    csrf_token: String,
}

#[get("/login")]
pub(crate) async fn login_form(request: HttpRequest) -> HttpResponse {
    let to = web::Query::<LoginQuery>::from_query(request.query_string());
    let to = to.ok().and_then(|query| LocalAddress::of(&query.to));
    page(&request, None, actix_web::http::StatusCode::OK, to)
}

/// Exchanges the form's token for a session.
#[post("/login")]
pub(crate) async fn login_post(
    request: HttpRequest,
    lab: web::Data<Lab>,
    form: actix_web::Result<web::Form<LoginForm>>,
) -> HttpResponse {
    let Ok(form) = form else {
        return page(&request, Some("The form has no token."), actix_web::http::StatusCode::BAD_REQUEST, None);
    };
    let to = LocalAddress::of(&form.to);
    if is_from_elsewhere(request.headers(), &lab.settings.allowed_hosts) {
        return page(
            &request,
            Some("The form was sent from another site."),
            actix_web::http::StatusCode::FORBIDDEN,
            to,
        );
    }
    log_in(&request, &lab, form.token.trim(), to).await
}

/// Ends the session.
#[post("/logout")]
pub(crate) async fn logout(
    request: HttpRequest,
    lab: web::Data<Lab>,
    caller: Caller,
    form: web::Form<LogoutForm>,
) -> Result<HttpResponse, ApiError> {
    if !caller.csrf.is_some_and(|csrf| caller::shows(&form.csrf_token, &csrf)) {
        return Err(ApiError::csrf());
    }
    if let Some(cookie) = request.cookie(SESSION_COOKIE) {
        sessions::close(lab.store.pool(), cookie.value()).await?;
    }
    let mut gone = session_cookie(&lab, String::new());
    gone.make_removal();
    Ok(HttpResponse::SeeOther().cookie(gone).insert_header((header::LOCATION, "/login")).finish())
}

async fn log_in(request: &HttpRequest, lab: &Lab, secret: &str, to: Option<LocalAddress>) -> HttpResponse {
    match open_session(request, lab, secret).await {
        Ok(cookie) => HttpResponse::SeeOther()
            .cookie(cookie)
            .insert_header((header::LOCATION, to.as_ref().map_or("/", LocalAddress::as_str)))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .finish(),
        Err(error) => page(request, Some(error.detail()), error.status(), to),
    }
}

async fn open_session(request: &HttpRequest, lab: &Lab, secret: &str) -> Result<Cookie<'static>, ApiError> {
    let Some(token) = tokens::authenticate(lab.store.pool(), secret).await? else {
        return Err(guard::refuse(request, "the token is unknown, revoked or has expired"));
    };
    if token.scope == Scope::Worker {
        return Err(ApiError::forbidden("a worker's token opens no session; use one with the scope read or higher"));
    }
    let (session, csrf) = (new_secret(""), new_secret(""));
    sessions::open(lab.store.pool(), &token, &session, &csrf, lab.settings.session_lifetime).await?;
    tracing::info!(token.id = %token.id, "logged in with the token `{}`", token.name);
    Ok(session_cookie(lab, session))
}

fn session_cookie(lab: &Lab, value: String) -> Cookie<'static> {
    let lifetime = time::Duration::try_from(lab.settings.session_lifetime).unwrap_or(time::Duration::DAY);
    Cookie::build(SESSION_COOKIE, value)
        .path("/")
        .http_only(true)
        .secure(lab.settings.secure_cookies)
        .same_site(SameSite::Strict)
        .max_age(lifetime)
        .finish()
}

/// Whether the browser says that another site caused this request: by Fetch Metadata, or over plain HTTP by the origin.
fn is_from_elsewhere(headers: &HeaderMap, allowed_hosts: &[String]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text(SEC_FETCH_SITE) {
        return !is_own(site);
    }
    let Some(origin) = text("origin") else { return false };
    // A proxy may replace the name in `Host`.
    let origin = origin.split_once("://").map(|(_, host)| host);
    origin.is_none() || origin != text("host") && !origin.is_some_and(|origin| is_allowed(origin, allowed_hosts))
}

/// Whether `Sec-Fetch-Site` says that this server's page, or the person at the browser, caused the request.
fn is_own(site: &str) -> bool {
    matches!(site, "same-origin" | "none")
}

fn page(
    request: &HttpRequest,
    error: Option<&str>,
    status: actix_web::http::StatusCode,
    to: Option<LocalAddress>,
) -> HttpResponse {
    let page = LoginPage {
        error,
        by_link: request.headers().get(SEC_FETCH_SITE).and_then(|site| site.to_str().ok()).is_some_and(is_own),
        to,
        theme: theme_of(request),
        assets: Assets,
    };
    match page.render() {
        Ok(html) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .body(html),
        Err(error) => actix_web::ResponseError::error_response(&ApiError::internal(&error)),
    }
}

/// Maximum bytes of an address.
const LENGTH: usize = 2_000;

/// The address of a page of this server: an absolute path with query and fragment, which no browser takes for another
/// site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalAddress(String);

impl LocalAddress {
    /// `address`, if it leads to a page of this server. The login page itself is none.
    pub(super) fn of(address: &str) -> Option<Self> {
        let path = address.split(['?', '#']).next().unwrap_or_default();
        // Browsers read `//host` and `/\host` as other sites, and drop tabs and line ends before they look.
        let is_local = path.starts_with('/')
            && !path.starts_with("//")
            && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
            && address.len() <= LENGTH;
        let is_page = !["/login", "/logout", "/"].contains(&path) || path == "/" && address.len() > 1;
        (is_local && is_page).then(|| Self(address.to_owned()))
    }

    /// The address.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The address of the login page that returns to this one.
    pub(super) fn login(&self) -> String {
        format!("/login?to={}", utf8_percent_encode(&self.0, NON_ALPHANUMERIC))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_returned_to() {
        for address in [
            "/runs",
            "/runs/1?metrics=a,b&from=2#chart-entropy",
            "/?x=1",
            "/loginx",
            "/runs//x",
            "/runs?to=https://example.org",
        ] {
            assert_eq!(LocalAddress::of(address).map(|local| local.0).as_deref(), Some(address));
        }
        for address in [
            "",
            "/",
            "runs",
            "//example.org",
            "/\\example.org",
            "\\\\example.org",
            "/\t/example.org",
            "/\n/example.org",
            "https://example.org/runs",
            "javascript:alert(1)",
            "/login",
            "/login?to=/login",
            "/logout",
            "/ü",
            "/a b",
        ] {
            assert_eq!(LocalAddress::of(address), None, "{address:?}");
        }
        assert_eq!(LocalAddress::of(&format!("/{}", "x".repeat(LENGTH))), None);
    }

    #[test]
    fn a_query_survives_the_way_through_the_login_page() {
        let local = LocalAddress::of("/runs?tag=a%26b&sort=step").unwrap();
        assert_eq!(local.login(), "/login?to=%2Fruns%3Ftag%3Da%2526b%26sort%3Dstep");
    }
}
