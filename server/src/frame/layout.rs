//! The frame around every page.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT;
use lyceum_store::tokens::Scope;

use crate::contract::caller::masked;
use crate::frame::address::PageAddress;
use crate::frame::assets::{address_of, needs_of};
use crate::frame::view::View;

/// Pages of the main navigation, and what belongs to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The start page.
    Home,
    /// Runs, which the start page lists.
    Runs,
    Experiments,
    /// Runs side by side.
    Compare,
    /// Saved views and share links.
    Views,
    /// Maps of problems of several runs.
    Archives,
    /// Problems of all runs.
    Problems,
    /// Members of all runs.
    Leaderboard,
    Datasets,
    /// Imported adapters.
    Adapters,
    /// Benchmark suites.
    Suites,
    Evaluations,
    /// The queue.
    Work,
    Workers,
    Alerts,
    /// Tokens and retention.
    Settings,
}

/// Pages of the main navigation: section, address and label.
type Pages = &'static [(Section, &'static str, &'static str)];

/// The places of the main navigation with their pages. A place leads to its first page.
pub(crate) const PLACES: [(&str, Pages); 5] = [
    (
        "Lab",
        &[
            (Section::Home, "/", "Runs and experiments"),
            (Section::Experiments, "/experiments", "Experiments"),
            (Section::Compare, "/compare", "Compare"),
            (Section::Views, "/views", "Saved views"),
        ],
    ),
    ("Archives", &[(Section::Archives, "/archives", "Maps"), (Section::Problems, "/problems", "Problems")]),
    ("Leaderboards", &[(Section::Leaderboard, "/leaderboard", "Members")]),
    (
        "Data",
        &[
            (Section::Datasets, "/datasets", "Datasets"),
            (Section::Adapters, "/adapters", "Adapters"),
            (Section::Suites, "/benchmarks", "Suites"),
            (Section::Evaluations, "/evaluations", "Evaluations"),
        ],
    ),
    (
        "Machines",
        &[
            (Section::Work, "/work", "Work"),
            (Section::Workers, "/workers", "Workers"),
            (Section::Alerts, "/alerts", "Alerts"),
            (Section::Settings, "/settings", "Settings"),
        ],
    ),
];

impl Section {
    /// The section whose page is marked in the navigation.
    fn shown_as(self) -> Self {
        match self {
            Self::Runs => Self::Home,
            other => other,
        }
    }
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
    /// The places; none for whoever has only a link to the page.
    pub(crate) places: Vec<Link>,
    /// The pages of the current place, if it has several.
    pub(crate) pages: Vec<Link>,
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
        let section = section.shown_as();
        let link = |(one, address, label): &(Section, &str, &'static str)| Link {
            address: (*address).to_owned(),
            label,
            current: *one == section,
        };
        let places = PLACES.iter().filter(|_| !view.caller.has_only_a_link).map(|(name, pages)| Link {
            address: pages[0].1.to_owned(),
            label: name,
            current: pages.iter().any(|(one, ..)| *one == section),
        });
        let places: Vec<Link> = places.collect();
        let open = places.iter().position(|place| place.current);
        let pages = open.map_or(&[][..], |open| PLACES[open].1);
        let pages = pages.iter().filter(|_| pages.len() > 1);
        Self {
            title: title.into(),
            pages: pages.map(link).collect(),
            places,
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
