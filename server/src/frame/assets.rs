//! Scripts and styles bundled by `web/build.mjs`: embedded, compressed, and named by their content, so that browsers
//! can cache them forever.

use actix_web::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, VARY};
use actix_web::{HttpRequest, HttpResponse, get, web};

use crate::api_error::ApiError;

/// A file.
struct Asset {
    /// Its name, with a hash of its content.
    name: &'static str,
    /// Its name in templates; empty if only other files refer to it.
    entry: &'static str,
    /// All files a script imports, directly or not.
    needs: &'static [&'static str],
    content_type: &'static str,
    plain: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/web/assets.rs"));

/// The address of the file with the template name `entry`.
pub(crate) fn address_of(entry: &str) -> String {
    let found = ASSETS.iter().find(|asset| asset.entry == entry);
    debug_assert!(found.is_some(), "web/ has no {entry}");
    format!("/assets/{}", found.map_or(entry, |asset| asset.name))
}

/// The addresses of the imports of the script with the template name `entry`.
pub(crate) fn needs_of(entry: &str) -> Vec<String> {
    let found = ASSETS.iter().find(|asset| asset.entry == entry);
    let needs = found.map(|asset| asset.needs).unwrap_or_default();
    needs.iter().map(|name| format!("/assets/{name}")).collect()
}

/// A file by its name.
#[get("/assets/{name}")]
pub(crate) async fn show_asset(request: HttpRequest, name: web::Path<String>) -> Result<HttpResponse, ApiError> {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name.as_str()) else {
        return Err(ApiError::not_found(format!(
            "there is no file {name}; a page of an older release may refer to it: reload that page"
        )));
    };
    let mut response = HttpResponse::Ok();
    response
        .content_type(asset.content_type)
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((VARY, "accept-encoding"));
    let accepted = request.headers().get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |coding: &str| {
        accepted.split(',').any(|offer| {
            let (name, parameters) = offer.split_once(';').unwrap_or((offer, ""));
            name.trim().eq_ignore_ascii_case(coding) && !matches!(parameters.trim(), "q=0" | "q=0.0" | "q=0.00")
        })
    };
    let body = if accepts("br") {
        response.insert_header((CONTENT_ENCODING, "br"));
        asset.brotli
    } else if accepts("gzip") {
        response.insert_header((CONTENT_ENCODING, "gzip"));
        asset.gzip
    } else {
        asset.plain
    };
    Ok(response.body(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The budget for all scripts and styles together.
    const BUDGET: usize = 350_000;

    #[test]
    fn scripts_and_styles_keep_to_their_budget() {
        let texts = ASSETS.iter().filter(|asset| !asset.name.ends_with(".txt"));
        let compressed: usize = texts.map(|asset| asset.gzip.len()).sum();
        assert!(compressed < BUDGET, "{compressed} bytes");
    }

    #[test]
    fn every_page_finds_its_style_and_script() {
        for entry in ["main.css", "noscript.css", "app.js", "login.js"] {
            assert_ne!(address_of(entry), format!("/assets/{entry}"));
        }
        let files: Vec<String> = ASSETS.iter().map(|asset| format!("/assets/{}", asset.name)).collect();
        let needed = needs_of("run.js");
        assert!(!needed.is_empty() && needed.iter().all(|address| files.contains(address)), "{needed:?}");
    }
}
