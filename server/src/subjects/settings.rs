//! `/settings`: tokens, retention and the description of the API.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_store::artifact::{self, Usage};
use lyceum_store::tokens::{self, Scope, Token};
use serde::Serialize;

use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::View;
use crate::lab::Lab;

#[derive(Template, Serialize)]
#[template(path = "settings.html")]
struct SettingsPage {
    #[serde(skip)]
    layout: Layout,
    /// The caller's token.
    own: Token,
    /// All tokens, for admins only.
    tokens: Option<Vec<Token>>,
    usage: Vec<Usage>,
    body_limit: i64,
    artifact_limit: i64,
    session_seconds: f64,
}

impl SettingsPage {
    fn state_of(token: &Token) -> &'static str {
        match (token.revoked_at, token.expires_at) {
            (Some(_), _) => "revoked",
            (None, Some(end)) if end <= chrono::Utc::now() => "expired",
            _ => "valid",
        }
    }
}

#[get("/settings")]
pub(crate) async fn show_settings(view: View, lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let own = view.caller.token.clone();
    let tokens = match own.scope {
        Scope::Admin => Some(tokens::list(db).await?),
        Scope::Worker | Scope::Read | Scope::Write => None,
    };
    let size = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    view.show(&SettingsPage {
        layout: view.layout("Settings", Section::Settings),
        own,
        tokens,
        usage: artifact::usage(db).await?,
        body_limit: size(lab.settings.body_limit),
        artifact_limit: size(lab.settings.artifact_limit),
        session_seconds: lab.settings.session_lifetime.as_secs_f64(),
    })
}
