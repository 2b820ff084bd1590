//! `/runs/{id}/lineage`: parents, operators, births and deaths.

mod tree;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::{fault::nearest, id::ExecutionId};
use lyceum_store::members::{self, Relative};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

use self::tree::{Life, Tree};
use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section, Tab},
        run::RunFrame,
        view::{Filters, View},
    },
    lab::Lab,
};

/// Maximum members drawn.
const DRAWN: u32 = 1000;

/// The colouring of the tree.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineageFilter {
    /// The name of a metric of members; by default the rating's mu.
    colour: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "run/lineage.html")]
struct LineagePage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// The metric in `metric` of each member; `rating` for mu.
    colour: String,
    members: Vec<Relative>,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    #[serde(skip)]
    tree: Tree,
    #[serde(skip)]
    is_cut: bool,
}

impl LineagePage {
    fn name_of(&self, id: &Uuid) -> String {
        self.names
            .get(id)
            .cloned()
            .unwrap_or_else(|| crate::frame::format::id(id))
    }

    fn class(&self, life: &Life) -> String {
        crate::frame::sides::heat(life.value, self.tree.range)
    }

    /// Whether members have learning rates of their own.
    fn has_learning_rates(&self) -> bool {
        self.members.iter().any(|member| member.learning_rate.is_some())
    }

    fn is_coloured_by(&self, name: &str) -> bool {
        self.colour == name
    }
}

/// The lineage of a run.
#[get("/runs/{id}/lineage")]
pub(crate) async fn show_lineage(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<LineageFilter>,
) -> Result<HttpResponse, ApiError> {
    let run = RunFrame::load(&lab, *id, Tab::Lineage).await?;
    let metric = match filters.0.colour.as_deref() {
        None | Some("rating") => None,
        Some(name) => Some(place_of("colour", name, &run.detail.metrics)?),
    };
    let mut members = members::family(lab.store.pool(), *id, metric, DRAWN).await?;
    if metric.is_none() {
        for member in &mut members {
            member.metric = member.ratings.0.first().map(|rating| rating.mu);
        }
    }
    let tree = Tree::of(&members, run.run().step);
    view.show(&LineagePage {
        layout: view.layout(format!("Lineage · {}", run.run().name), Section::Runs),
        colour: filters.0.colour.unwrap_or_else(|| "rating".to_owned()),
        names: members.iter().map(|member| (member.id, member.name.clone())).collect(),
        tree,
        is_cut: members.len() == DRAWN as usize,
        members,
        run,
    })
}

/// The position of `name` among the metrics of a run.
pub(super) fn place_of(parameter: &str, name: &str, metrics: &[String]) -> Result<usize, ApiError> {
    metrics.iter().position(|metric| metric == name).ok_or_else(|| {
        let near = nearest(name, metrics.iter().map(String::as_str));
        let hint = near.map_or_else(
            || format!("valid are {}", metrics.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        ApiError::invalid_query(vec![(
            parameter.to_owned(),
            format!("there is no metric `{name}`; {hint}"),
        )])
    })
}
