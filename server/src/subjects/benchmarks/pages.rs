//! `/benchmarks`: the suites, how models are asked on them, and what was measured with them.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::benchmark::{Group, Protocol};
use lyceum_store::benchmarks::{self, SuiteUse};
use serde::Serialize;
use std::collections::HashMap;

use super::{BenchmarkSuite, suites};
use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::View;
use crate::lab::Lab;

/// A suite and its use.
#[derive(Serialize)]
struct SuiteLine {
    #[serde(flatten)]
    suite: BenchmarkSuite,
    /// What was measured with it; none if nothing was.
    used: Option<SuiteUse>,
}

#[derive(Template, Serialize)]
#[template(path = "benchmarks/suites.html")]
struct SuitesPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<SuiteLine>,
}

impl SuitesPage {
    fn groups(&self) -> Vec<(&'static str, Vec<&SuiteLine>)> {
        let groups = [
            (Group::HeldOut, "Held-out problems of the shipped bases"),
            (Group::Code, "Programs"),
            (Group::Math, "Mathematics"),
        ];
        let of = |group: Group| self.items.iter().filter(move |line| line.suite.group == group).collect();
        groups.map(|(group, title)| (title, of(group))).into()
    }

    /// How answers are drawn.
    fn sampling(&self, protocol: &Protocol) -> String {
        match protocol.temperature {
            0.0 => "greedy".to_owned(),
            temperature => format!("temperature {temperature}, top-p {}", protocol.top_p),
        }
    }
}

#[get("/benchmarks")]
pub(crate) async fn show_suites(view: View, lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let used = benchmarks::use_of_suites(db).await?;
    let mut used: HashMap<String, SuiteUse> = used.into_iter().map(|one| (one.suite.clone(), one)).collect();
    let line = |suite: BenchmarkSuite| SuiteLine { used: used.remove(suite.name), suite };
    view.show(&SuitesPage {
        layout: view.layout("Suites", Section::Suites),
        items: suites(db).await?.into_iter().map(line).collect(),
    })
}
