//! The frame around every page.

use actix_web::{HttpRequest, http::header::ACCEPT};
use lyceum_store::tokens::Scope;

use crate::{
    contract::caller::masked,
    frame::{
        address::PageAddress,
        assets::{address_of, needs_of},
        view::View,
    },
};

/// Sections of the main navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The start page.
    Home,
    Experiments,
    Runs,
    /// Problems of all runs.
    Problems,
    /// Runs side by side.
    Compare,
    /// Members of all runs.
    Leaderboard,
    Evaluations,
    Datasets,
    /// The queue.
    Work,
    Workers,
    /// Tokens, retention and alerts.
    Settings,
}

impl Section {
    const SHOWN: [(Self, &'static str, &'static str); 11] = [
        (Self::Home, "/", "Now"),
        (Self::Experiments, "/experiments", "Experiments"),
        (Self::Runs, "/runs", "Runs"),
        (Self::Problems, "/problems", "Problems"),
        (Self::Compare, "/compare", "Compare"),
        (Self::Leaderboard, "/leaderboard", "Leaderboard"),
        (Self::Evaluations, "/evaluations", "Evaluations"),
        (Self::Datasets, "/datasets", "Datasets"),
        (Self::Work, "/work", "Work"),
        (Self::Workers, "/workers", "Workers"),
        (Self::Settings, "/settings", "Settings"),
    ];
}

/// A link of a navigation.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) address: String,
    pub(crate) label: &'static str,
    pub(crate) current: bool,
}

/// Addresses of scripts and styles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Assets;

impl Assets {
    /// The address of `main.css`, or of `<name>.js`, the bundle of `web/src/pages/<name>.ts`.
    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    pub(crate) fn file(&self, entry: &str) -> String {
        address_of(entry)
    }

    /// The addresses of that script's imports.
    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    pub(crate) fn needs(&self, entry: &str) -> Vec<String> {
        needs_of(entry)
    }
}

/// The data of `layout.html`.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) title: String,
    pub(crate) sections: Vec<Link>,
    pub(crate) theme: &'static str,
    /// The CSRF token for changes; none for a program with a token.
    pub(crate) csrf: Option<String>,
    pub(crate) token_name: String,
    pub(crate) scope: Scope,
    pub(crate) curl: String,
    /// Whether the page can be saved as a view and shared, by those who may.
    pub(crate) can_be_kept: bool,
    /// Whether the viewer may see other runs; with only a link to the page, nobody does.
    pub(crate) shows_other_runs: bool,
    /// The server's address as seen by the browser.
    pub(crate) origin: String,
    pub(crate) assets: Assets,
}

impl Layout {
    /// The frame of a page called `title`.
    pub(crate) fn new(view: &View, title: impl Into<String>, section: Section) -> Self {
        let link = |(one, address, label): &(Section, &str, &'static str)| Link {
            address: (*address).to_owned(),
            label,
            current: *one == section,
        };
        Self {
            title: title.into(),
            sections: match view.caller.has_only_a_link {
                true => Vec::new(),
                false => Section::SHOWN.iter().map(link).collect(),
            },
            theme: view.theme,
            csrf: view.caller.csrf.as_deref().map(masked),
            token_name: view.caller.token.name.clone(),
            scope: view.caller.token.scope,
            curl: view.curl(),
            can_be_kept: view.may_write() && PageAddress::parse(view.request().path()).is_ok(),
            shows_other_runs: !view.caller.has_only_a_link,
            origin: view.origin(),
            assets: Assets,
        }
    }

    /// Whether the viewer may make changes.
    pub(crate) fn may_write(&self) -> bool {
        self.scope >= Scope::Write
    }
}

/// The theme in the browser's cookie.
pub(crate) fn theme_of(request: &HttpRequest) -> &'static str {
    let chosen = request.cookie("lyceum_theme");
    match chosen.as_ref().map(|cookie| cookie.value()) {
        Some("light") => "light",
        Some("dark") => "dark",
        _ => "auto",
    }
}

/// Whether the request accepts `kind`.
pub(crate) fn accepts(request: &HttpRequest, kind: &str) -> bool {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains(kind))
}
