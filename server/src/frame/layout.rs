//! The frame around every page.

use actix_web::{HttpRequest, http::header::ACCEPT};
use lyceum_core::recipe::Capabilities;
use lyceum_store::tokens::Scope;
use uuid::Uuid;

use crate::{
    contract::caller::masked,
    frame::{
        address::PageAddress,
        assets::{address_of, needs_of},
        view::View,
    },
};

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
    (
        "Archives",
        &[
            (Section::Archives, "/archives", "Maps"),
            (Section::Problems, "/problems", "Problems"),
        ],
    ),
    ("Leaderboards", &[(Section::Leaderboard, "/leaderboard", "Members")]),
    (
        "Data",
        &[
            (Section::Datasets, "/datasets", "Datasets"),
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

/// Pages of a run, shown as tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    /// Progress and curves.
    Overview,
    /// Ratings and matchups.
    ArmsRace,
    /// Members.
    Population,
    /// Births and deaths.
    Lineage,
    /// Proposers by solvers.
    CrossPlay,
    /// The map of problems.
    Archive,
    Problems,
    /// Rows of the dataset by how often they are solved.
    Difficulty,
    /// The growing set, and the critic that decides what joins it.
    Curriculum,
    /// How much the questions of an iteration differ.
    Diversity,
    /// Solve rates, and signs of exhausted problems.
    Learnability,
    /// Candidates for lemmas and lifts.
    Candidates,
    /// Goalposts by when they came into reach.
    Goalposts,
    /// Scores on benchmarks.
    Benchmarks,
}

impl Tab {
    const SHOWN: [(Self, &'static str, &'static str); 14] = [
        (Self::Overview, "", "Overview"),
        (Self::ArmsRace, "/arms-race", "Arms race"),
        (Self::Population, "/population", "Population"),
        (Self::Lineage, "/lineage", "Lineage"),
        (Self::CrossPlay, "/cross-play", "Cross-play"),
        (Self::Archive, "/archive", "Archive"),
        (Self::Problems, "/problems", "Problems"),
        (Self::Difficulty, "/difficulty", "Difficulty"),
        (Self::Curriculum, "/curriculum", "Curriculum"),
        (Self::Diversity, "/diversity", "Diversity"),
        (Self::Learnability, "/learnability", "Learnability"),
        (Self::Candidates, "/candidates", "Candidates"),
        (Self::Goalposts, "/goalposts", "Goalposts"),
        (Self::Benchmarks, "/benchmarks", "Benchmarks"),
    ];

    /// Why a run whose recipe has these capabilities lacks the page; `None` if it has it.
    pub(crate) fn absence(self, recipe: Capabilities) -> Option<&'static str> {
        let (has_it, why) = match self {
            Self::ArmsRace => (recipe.rates, "its members play no matchups and have no ratings"),
            Self::Lineage => (
                recipe.evolves,
                "its members do not evolve: none is born or dies after the first step",
            ),
            Self::CrossPlay => (recipe.crosses, "its members do not attempt each other's problems"),
            Self::Archive => (recipe.archives, "it keeps no archive of its problems"),
            Self::Difficulty => (
                recipe.repeats,
                "its problems are not rows of a dataset, which are asked again and again",
            ),
            Self::Curriculum => (recipe.admits, "no critic decides which problems join a growing set"),
            Self::Diversity => (
                recipe.measures_diversity,
                "it does not measure how much the questions of an iteration differ",
            ),
            Self::Candidates => (recipe.has_goalposts, "it makes no lemmas and lifts"),
            Self::Goalposts => (
                recipe.has_goalposts,
                "it does not work towards goalposts; `/compare/goalposts` has the map of runs that were measured on some",
            ),
            Self::Overview | Self::Population | Self::Problems | Self::Learnability | Self::Benchmarks => (true, ""),
        };
        (!has_it).then_some(why)
    }
}

/// A link of a navigation.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) address: String,
    pub(crate) label: &'static str,
    pub(crate) current: bool,
}

/// The tabs of `run`, whose recipe has these capabilities; `open` is shown.
pub(crate) fn tabs(run: Uuid, open: Tab, recipe: Capabilities) -> Vec<Link> {
    let present = Tab::SHOWN.iter().filter(|(tab, ..)| tab.absence(recipe).is_none());
    let link = |(tab, path, label): &(Tab, &str, &'static str)| Link {
        address: format!("/runs/{run}{path}"),
        label,
        current: *tab == open,
    };
    present.map(link).collect()
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
        let places = PLACES.iter().filter(|_| !view.caller.has_only_a_link);
        let places = places.map(|(name, pages)| Link {
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
