//! Share links: whoever has one may read the page that it shows, without a login, until it expires.

use actix_web::cookie::{Cookie, SameSite};
use actix_web::dev::ServiceRequest;
use actix_web::http::{Method, header};
use actix_web::{HttpMessage as _, HttpResponse, get, web};
use chrono::Utc;
use lyceum_store::runs;
use lyceum_store::shares::{self, Share};
use lyceum_store::tokens::{Scope, Token};

use crate::api_error::ApiError;
use crate::contract::Caller;
use crate::frame::address::PageAddress;
use crate::lab::Lab;

/// The cookie that holds the secret of the last link that was opened.
const SHARE_COOKIE: &str = "lyceum_share";

/// Opens a share link: the browser remembers it and goes to its page.
#[get("/shared/{secret}")]
pub(crate) async fn open_share(lab: web::Data<Lab>, secret: web::Path<String>) -> Result<HttpResponse, ApiError> {
    let share = valid(&lab, &secret).await?;
    let page = PageAddress::parse(&share.address).map_err(ApiError::not_found)?;
    if let Some(run) = page.missing_run(lab.store.pool()).await? {
        return Err(ApiError::not_found(format!("this link shows the run {run}, which was deleted")));
    }
    // A link is opened from another site as often as not, and its page only read.
    let cookie = Cookie::build(SHARE_COOKIE, secret.into_inner())
        .path("/")
        .http_only(true)
        .secure(lab.settings.secure_cookies)
        .same_site(SameSite::Lax)
        .finish();
    Ok(HttpResponse::SeeOther()
        .cookie(cookie)
        .insert_header((header::LOCATION, page.address()))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .finish())
}

/// The link with this secret, if it is still valid.
async fn valid(lab: &Lab, secret: &str) -> Result<Share, ApiError> {
    let share = shares::find(lab.store.pool(), secret).await?.ok_or_else(|| {
        ApiError::not_found("there is no such link: it was revoked, is of another server, or was not copied as a whole")
    })?;
    match share.expires_at > Utc::now() {
        true => Ok(share),
        false => Err(ApiError::forbidden(format!(
            "this link expired on {}; ask for a new one",
            share.expires_at.format("%Y-%m-%d %H:%M UTC")
        ))),
    }
}

/// Whether `query` has the id of a run that `page` does not show, whatever the parameter is called.
async fn names_another_run(page: &PageAddress, query: &str, lab: &Lab) -> Result<bool, ApiError> {
    let ids = page.ids_beyond(query);
    Ok(!ids.is_empty() && !runs::names(lab.store.pool(), &ids).await?.is_empty())
}

/// The reader of a shared page, which the request has from then on; `None` if the request has no link, and an error if its
/// link does not show what is asked for.
pub(super) async fn reader(request: &ServiceRequest, lab: &Lab) -> Result<Option<Caller>, ApiError> {
    let Some(cookie) = request.cookie(SHARE_COOKIE) else { return Ok(None) };
    let share = match valid(lab, cookie.value()).await {
        Ok(share) => share,
        // A link that was revoked is as none; one that has expired says so.
        Err(error) if error.status() == 404 => return Ok(None),
        Err(error) => return Err(error),
    };
    let page = PageAddress::parse(&share.address).map_err(ApiError::not_found)?;
    request.extensions_mut().insert(page.clone());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_shown = is_read && page.covers(request.path(), request.query_string());
    if !is_shown || names_another_run(&page, request.query_string(), lab).await? {
        return Err(ApiError::forbidden(format!(
            "the link that was opened shows {} and nothing else; log in at /login to see more",
            share.address
        )));
    }
    Ok(Some(Caller {
        token: Token {
            id: share.id,
            name: "shared link".to_owned(),
            scope: Scope::Read,
            created_at: share.created_at,
            expires_at: Some(share.expires_at),
            last_used_at: None,
            revoked_at: None,
        },
        csrf: None,
        has_only_a_link: true,
    }))
}
