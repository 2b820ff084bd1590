//! The names under which the server answers.
//!
//! A page of another site can have its own name resolve to this machine (DNS rebinding), and a browser then takes the
//! server for a part of that site. Such requests carry that name in `Host`, so the server answers only to names that it
//! knows. An IP address cannot be pointed elsewhere, and is always known.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HOST;
use actix_web::http::uri::Authority;
use actix_web::middleware::Next;
use actix_web::{Error, ResponseError as _, web};
use std::net::IpAddr;

use crate::api_error::ApiError;
use crate::lab::Lab;

/// Passes on requests to a known name. A request without `Host` is not a browser's.
pub(crate) async fn check_host<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    let allowed =
        request.app_data::<web::Data<Lab>>().map(|lab| lab.settings.allowed_hosts.clone()).unwrap_or_default();
    let unknown = request
        .headers()
        .get_all(HOST)
        .map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned())
        .find(|host| !is_known(host, &allowed));
    match unknown {
        None => Ok(next.call(request).await?.map_into_left_body()),
        Some(host) => {
            let refusal = ApiError::unknown_host(&host).error_response();
            Ok(request.into_response(refusal).map_into_right_body())
        }
    }
}

/// Whether `host`, a name or address and possibly a port, is the server's: an IP address, `localhost`, or one of `allowed`.
fn is_known(host: &str, allowed: &[String]) -> bool {
    let Some(name) = name_of(host) else { return false };
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    is_address || name == "localhost" || name.ends_with(".localhost") || is_listed(&name, allowed)
}

/// Whether `host`, without its port, is one of `allowed`.
pub(super) fn is_allowed(host: &str, allowed: &[String]) -> bool {
    name_of(host).is_some_and(|name| is_listed(&name, allowed))
}

fn is_listed(name: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// The name in lower case, without port and final dot.
fn name_of(host: &str) -> Option<String> {
    let authority: Authority = host.parse().ok()?;
    let has_user = authority.as_str().contains('@');
    (!has_user).then(|| authority.host().trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_loopback_names_and_listed_names_are_known() {
        let allowed = ["lab.example".to_owned()];
        for known in [
            "127.0.0.1",
            "127.0.0.1:7654",
            "10.1.2.3:80",
            "[::1]:7654",
            "localhost",
            "LocalHost:7654",
            "lab.localhost",
            "lab.example",
            "Lab.Example.:443",
        ] {
            assert!(is_known(known, &allowed), "{known}");
        }
        for unknown in [
            "",
            "evil.example",
            "evil.example:7654",
            "127.0.0.1.evil.example",
            "lab.example.evil.example",
            "notlocalhost",
            "lab.example@evil.example",
            "evil.example@localhost",
            "a b",
        ] {
            assert!(!is_known(unknown, &allowed), "{unknown}");
        }
    }
}
