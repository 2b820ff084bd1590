//! Addresses of pages that are saved and shared.

use lyceum_store::runs;
use sqlx::PgPool;
use uuid::Uuid;

use crate::api_error::ApiError;

/// Pages that can be saved and shared, by the first part of their path.
const PAGES: [&str; 10] = [
    "archives",
    "benchmarks",
    "runs",
    "compare",
    "experiments",
    "evaluations",
    "problems",
    "leaderboard",
    "datasets",
    "sweeps",
];
/// Parameters that only say how what is shown is drawn, or which part of it.
const DRAWING: [&str; 12] =
    ["cursor", "order", "sort", "limit", "from", "to", "smoothing", "log", "members", "step", "pins", "only"];
/// Parameters that name runs. `from` does so where it is an id; elsewhere it is a step.
const OF_RUNS: [&str; 9] = ["runs", "run", "with", "beside", "left", "right", "baseline", "from", "fork"];

/// Path and query of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageAddress {
    path: String,
    query: String,
}

impl PageAddress {
    /// The page at `address`.
    ///
    /// # Errors
    /// It is none that can be saved and shared; what is valid.
    pub(crate) fn parse(address: &str) -> Result<Self, String> {
        let address = address.split('#').next().unwrap_or_default();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let is_plain = address.len() <= 2000 && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let mut parts = path.split('/').skip(1);
        let is_page = path == "/" || parts.next().is_some_and(|first| PAGES.contains(&first));
        if !is_plain || !path.starts_with('/') || !is_page || path.split('/').any(|part| part == ".." || part == ".") {
            return Err(format!(
                "`{}` is not a page that can be saved or shared: path and query of a page of this server are valid, such as \
                 /runs?state=running",
                address.chars().take(100).collect::<String>()
            ));
        }
        Ok(Self { path: path.trim_end_matches('/').to_owned(), query: query.to_owned() })
    }

    /// Path and query.
    pub(crate) fn address(&self) -> String {
        match self.query.as_str() {
            "" if self.path.is_empty() => "/".to_owned(),
            "" => self.path.clone(),
            query if self.path.is_empty() => format!("/?{query}"),
            query => format!("{}?{query}", self.path),
        }
    }

    /// The runs that it names.
    pub(crate) fn runs(&self) -> Vec<Uuid> {
        let of_path = self.run_of_path();
        let named = ids_of(&self.query, |name| OF_RUNS.contains(&name));
        of_path.into_iter().chain(named).collect()
    }

    fn run_of_path(&self) -> Option<Uuid> {
        let mut parts = self.path.split('/').skip(1);
        match (parts.next(), parts.next()) {
            (Some("runs"), Some(id)) => id.parse().ok(),
            _ => None,
        }
    }

    /// Whether it is a form, which can be filled from any run.
    pub(crate) fn is_form(&self) -> bool {
        self.path.ends_with("/new")
    }

    /// The ids in `query` that are not in the page's address.
    pub(crate) fn ids_beyond(&self, query: &str) -> Vec<Uuid> {
        let own: Vec<Uuid> = self.run_of_path().into_iter().chain(ids_of(&self.query, |_| true)).collect();
        ids_of(query, |_| true).into_iter().filter(|id| !own.contains(id)).collect()
    }

    /// Whether someone who may see this page may request `path` with `query`: the page however it is drawn, parts and
    /// subpages of a run's own page, and what their charts load. That `query` names no other run is for the caller to check,
    /// with [`Self::ids_beyond`].
    pub(crate) fn covers(&self, path: &str, query: &str) -> bool {
        let is_of_run = |run: &Uuid| {
            let own = format!("/api/v1/runs/{run}/");
            path.strip_prefix(&own).is_some_and(|rest| matches!(rest, "metrics" | "events"))
        };
        if self.runs().iter().any(is_of_run) {
            return true;
        }
        let whole_run = self.run_of_path().map(|run| format!("/runs/{run}"));
        if whole_run.as_deref() == Some(self.path.as_str()) {
            return path == self.path || path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'));
        }
        !self.is_form()
            && table(path.trim_end_matches('/')) == table(&self.path)
            && selection(query) == selection(&self.query)
    }

    /// Checks that the runs which it names are there.
    ///
    /// # Errors
    /// The first that is not.
    pub(crate) async fn missing_run(&self, db: &PgPool) -> Result<Option<Uuid>, ApiError> {
        let named = self.runs();
        let known = runs::names(db, &named).await?;
        Ok(named.into_iter().find(|id| !known.iter().any(|(known, _)| known == id)))
    }
}

/// The path of a page: the table of runs has two.
fn table(path: &str) -> &str {
    match path {
        "/runs" => "",
        other => other,
    }
}

/// The ids that are values of the parameters whose names `is_meant` accepts.
fn ids_of(query: &str, is_meant: impl Fn(&str) -> bool) -> Vec<Uuid> {
    let meant = parameters(query).into_iter().filter(|(name, _)| is_meant(name));
    let ids = meant.flat_map(|(_, value)| value.split(',').filter_map(|id| id.parse().ok()).collect::<Vec<Uuid>>());
    ids.collect()
}

/// The parameters that say what is shown.
fn selection(query: &str) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> =
        parameters(query).into_iter().filter(|(name, _)| !DRAWING.contains(&name.as_str())).collect();
    kept.sort();
    kept
}

/// The parameters that have a value, decoded as the pages decode them: what is encoded in another way is the same parameter.
fn parameters(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes())
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "00000000-0000-4000-8000-000000000001";
    const OTHER: &str = "00000000-0000-4000-8000-000000000002";

    fn page(address: &str) -> PageAddress {
        PageAddress::parse(address).unwrap()
    }

    #[test]
    fn only_pages_of_this_server_are_saved() {
        for address in ["/", "/?sort=step", "/runs", "/runs?state=running", "/compare?runs=a", "/experiments/x#top"] {
            assert!(PageAddress::parse(address).is_ok(), "{address}");
        }
        for address in [
            "",
            "runs",
            "//evil.example/runs",
            "https://evil.example/runs",
            "/settings",
            "/alerts",
            "/api/v1/runs",
            "/login",
            "/runs/../settings",
            "/runs\\x",
            "/ runs",
            "/runsx",
        ] {
            assert!(PageAddress::parse(address).unwrap_err().contains("/runs?state=running"), "{address}");
        }
    }

    #[test]
    fn a_table_is_shared_with_its_filters_however_it_is_sorted() {
        let shared = page("/runs?experiment=e&columns=metrics.a");
        assert!(shared.covers("/", "columns=metrics.a&experiment=e"), "where its table is now");
        assert!(!shared.covers("/", ""));
        assert!(shared.covers("/runs", "columns=metrics.a&experiment=e"));
        assert!(shared.covers("/runs", "columns=metrics.a&experiment=e&sort=metrics.a&cursor=x&state="));
        assert!(!shared.covers("/runs", "experiment=f&columns=metrics.a"));
        assert!(!shared.covers("/runs", "columns=metrics.a"), "without the filter all runs would be shown");
        assert!(!shared.covers(&format!("/runs/{RUN}"), ""));
        assert!(!shared.covers("/settings", ""));
        assert!(!shared.covers("/api/v1/runs", ""));
        assert!(!page("/runs/new?preset=demo").covers("/runs/new", "preset=demo"));
    }

    #[test]
    fn a_run_is_shared_with_its_subpages_and_charts_and_no_other_run() {
        let shared = page(&format!("/runs/{RUN}"));
        for path in ["", "/benchmarks", "/verdict"] {
            assert!(shared.covers(&format!("/runs/{RUN}{path}"), "x=1"), "{path}");
        }
        assert!(shared.covers(&format!("/api/v1/runs/{RUN}/metrics"), "level=0"));
        for path in [
            format!("/runs/{OTHER}"),
            format!("/runs/{RUN}x"),
            format!("/api/v1/runs/{RUN}"),
            format!("/api/v1/runs/{OTHER}/metrics"),
            "/runs".to_owned(),
        ] {
            assert!(!shared.covers(&path, ""), "{path}");
        }
        let other: Uuid = OTHER.parse().unwrap();
        for beside in [
            format!("beside={OTHER}"),
            format!("%62eside={OTHER}"),
            format!("with=%30{}", &OTHER[1..]),
            format!("runs={RUN},{OTHER}"),
            format!("any={}", other.simple()),
        ] {
            assert_eq!(shared.ids_beyond(&beside), [other], "{beside}");
        }
        let tab = page(&format!("/runs/{RUN}/benchmarks"));
        assert!(tab.covers(&format!("/runs/{RUN}/benchmarks"), "step=3") && !tab.covers(&format!("/runs/{RUN}"), ""));
    }

    #[test]
    fn runs_are_named_in_the_path_and_by_parameters() {
        let both = page(&format!("/compare?runs={RUN}%2C{OTHER}&baseline={RUN}"));
        assert_eq!(both.runs().len(), 3);
        assert!(both.covers(&format!("/api/v1/runs/{OTHER}/metrics"), ""));
        assert!(both.ids_beyond(&format!("baseline={OTHER}")).is_empty());
        assert_eq!(page(&format!("/runs/{RUN}/archive?beside={OTHER}")).runs().len(), 2);
        assert_eq!(page(&format!("/compare?runs={RUN}&from=3")).runs().len(), 1);
        assert!(page("/runs?experiment=1").runs().is_empty());
    }
}
