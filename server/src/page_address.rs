//! Addresses of pages that are saved and shared.

use lyceum_store::runs;
use sqlx::PgPool;
use uuid::Uuid;

use crate::api_error::ApiError;

/// Pages that can be saved and shared, by the first part of their path.
const PAGES: [&str; 8] = [
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
const DRAWING: [&str; 12] = [
    "cursor",
    "order",
    "sort",
    "limit",
    "from",
    "to",
    "smoothing",
    "log",
    "members",
    "step",
    "pins",
    "only",
];
/// Parameters that name runs.
const OF_RUNS: [&str; 5] = ["runs", "with", "left", "right", "baseline"];

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
        let is_page = parts.next().is_some_and(|first| PAGES.contains(&first));
        if !is_plain || !path.starts_with('/') || !is_page || path.split('/').any(|part| part == ".." || part == ".") {
            return Err(format!(
                "`{}` is not a page that can be saved or shared: path and query of a page of this server are valid, such as \
                 /runs?state=running",
                address.chars().take(100).collect::<String>()
            ));
        }
        Ok(Self {
            path: path.trim_end_matches('/').to_owned(),
            query: query.to_owned(),
        })
    }

    /// Path and query.
    pub(crate) fn address(&self) -> String {
        match self.query.as_str() {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }

    /// The runs that it names.
    pub(crate) fn runs(&self) -> Vec<Uuid> {
        let of_path = self.run_of_path();
        of_path.into_iter().chain(runs_of_query(&self.query)).collect()
    }

    fn run_of_path(&self) -> Option<Uuid> {
        let mut parts = self.path.split('/').skip(1);
        match (parts.next(), parts.next()) {
            (Some("runs"), Some(id)) => id.parse().ok(),
            _ => None,
        }
    }

    /// Whether someone who may see this page may request `path` with `query`: the page however it is drawn, parts and
    /// subpages of a run's own page, and what their charts load.
    pub(crate) fn covers(&self, path: &str, query: &str) -> bool {
        let is_of_run = |run: &Uuid| {
            let own = format!("/api/v1/runs/{run}/");
            path.strip_prefix(&own)
                .is_some_and(|rest| matches!(rest, "metrics" | "events"))
        };
        if self.runs().iter().any(is_of_run) {
            return true;
        }
        let whole_run = self.run_of_path().map(|run| format!("/runs/{run}"));
        if whole_run.as_deref() == Some(self.path.as_str()) {
            let is_below = path == self.path || path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'));
            // Another run can be shown beside it.
            return is_below && runs_of_query(query).iter().all(|run| self.runs().contains(run));
        }
        path.trim_end_matches('/') == self.path && selection(query) == selection(&self.query)
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

fn runs_of_query(query: &str) -> Vec<Uuid> {
    let named = parameters(query)
        .into_iter()
        .filter(|(name, _)| OF_RUNS.contains(&name.as_str()));
    let ids = named.flat_map(|(_, value)| value.split(',').filter_map(|id| id.parse().ok()).collect::<Vec<Uuid>>());
    ids.collect()
}

/// The parameters that say what is shown.
fn selection(query: &str) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = parameters(query)
        .into_iter()
        .filter(|(name, _)| !DRAWING.contains(&name.as_str()))
        .collect();
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
        for address in ["/runs", "/runs?state=running", "/compare?runs=a", "/experiments/x#top"] {
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
            assert!(
                PageAddress::parse(address).unwrap_err().contains("/runs?state=running"),
                "{address}"
            );
        }
    }

    #[test]
    fn a_table_is_shared_with_its_filters_however_it_is_sorted() {
        let shared = page("/runs?experiment=e&columns=metrics.a");
        assert!(shared.covers("/runs", "columns=metrics.a&experiment=e"));
        assert!(shared.covers("/runs", "columns=metrics.a&experiment=e&sort=metrics.a&cursor=x&state="));
        assert!(!shared.covers("/runs", "experiment=f&columns=metrics.a"));
        assert!(
            !shared.covers("/runs", "columns=metrics.a"),
            "without the filter all runs would be shown"
        );
        assert!(!shared.covers(&format!("/runs/{RUN}"), ""));
        assert!(!shared.covers("/settings", ""));
        assert!(!shared.covers("/api/v1/runs", ""));
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
        for beside in [
            format!("with={OTHER}"),
            format!("%77ith={OTHER}"),
            format!("with=%30{}", &OTHER[1..]),
        ] {
            assert!(!shared.covers(&format!("/runs/{RUN}/archive"), &beside), "{beside}");
        }
        let tab = page(&format!("/runs/{RUN}/benchmarks"));
        assert!(tab.covers(&format!("/runs/{RUN}/benchmarks"), "step=3") && !tab.covers(&format!("/runs/{RUN}"), ""));
    }

    #[test]
    fn runs_are_named_in_the_path_and_by_parameters() {
        let both = page(&format!("/compare?runs={RUN}%2C{OTHER}&baseline={RUN}"));
        assert_eq!(both.runs().len(), 3);
        assert!(both.covers(&format!("/api/v1/runs/{OTHER}/metrics"), ""));
        assert_eq!(page(&format!("/runs/{RUN}/archive?with={OTHER}")).runs().len(), 2);
        assert!(page("/runs?experiment=1").runs().is_empty());
    }
}
