//! `/runs`: all runs, by state, recipe, experiment, tag and name.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExperimentId;
use lyceum_store::{
    executions::State,
    experiments,
    runs::{self, Run, RunFilter, RunSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    filters::Filters,
    layout::{Layout, Section},
    recipes::recipes,
    view::View,
};
use crate::{
    api::{Api, Listing, Order},
    api_error::ApiError,
};

/// The order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    #[default]
    Age,
    Step,
    ValidProblems,
    Cells,
}

impl Sort {
    /// Names and labels.
    const SHOWN: [(Self, &'static str, &'static str); 4] = [
        (Self::Age, "age", "creation"),
        (Self::Step, "step", "step"),
        (Self::ValidProblems, "valid_problems", "valid problems"),
        (Self::Cells, "cells", "occupied cells"),
    ];

    /// The name of the list in its cursors.
    fn list(self) -> &'static str {
        match self {
            Self::Age => "runs",
            Self::Step => "runs.step",
            Self::ValidProblems => "runs.valid_problems",
            Self::Cells => "runs.cells",
        }
    }
}

impl From<Sort> for RunSort {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Age => Self::Age,
            Sort::Step => Self::Step,
            Sort::ValidProblems => Self::ValidProblems,
            Sort::Cells => Self::Cells,
        }
    }
}

/// Filters of runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsFilter {
    state: Option<State>,
    recipe: Option<String>,
    experiment: Option<Uuid>,
    arm: Option<String>,
    tag: Option<String>,
    name: Option<String>,
    sort: Option<Sort>,
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    cursor: Option<String>,
    order: Option<Order>,
}

#[derive(Template, Serialize)]
#[template(path = "runs.html")]
struct RunsPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    filter: RunFilter,
    #[serde(skip)]
    sort: Sort,
    #[serde(skip)]
    oldest_first: bool,
    #[serde(skip)]
    recipes: Vec<String>,
    /// The name of the filter's experiment; none if there is no such experiment.
    #[serde(skip)]
    experiment: Option<String>,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
    items: Vec<Run>,
    next: Option<String>,
}

impl RunsPage {
    fn states(&self) -> [(State, bool); State::ALL.len()] {
        State::ALL.map(|state| (state, self.filter.state == Some(state)))
    }

    fn sorts() -> [(Sort, &'static str, &'static str); 4] {
        Sort::SHOWN
    }

    fn is_sorted_by(&self, sort: &Sort) -> bool {
        self.sort == *sort
    }

    fn has_recipe(&self, recipe: &str) -> bool {
        self.filter.recipe.as_deref() == Some(recipe)
    }

    fn is_filtered(&self) -> bool {
        let filter = &self.filter;
        filter.state.is_some()
            || filter.experiment.is_some()
            || [&filter.recipe, &filter.arm, &filter.tag, &filter.name]
                .iter()
                .any(|given| given.is_some())
    }
}

/// The list of runs.
#[get("/runs")]
pub(crate) async fn show_runs(
    view: View,
    api: web::Data<Api>,
    filters: Filters<RunsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let sort = asked.sort.unwrap_or_default();
    let listing = Listing::new(sort.list(), asked.limit, asked.cursor.as_deref(), asked.order)?;
    let filter = RunFilter {
        state: asked.state,
        recipe: asked.recipe,
        experiment: asked.experiment.map(ExperimentId),
        arm: asked.arm,
        tag: asked.tag,
        name: asked.name,
    };
    let experiment = match filter.experiment {
        Some(id) => Some(experiments::find(api.store.pool(), id).await?.name),
        None => None,
    };
    let page = listing.page(runs::page(api.store.pool(), &filter, sort.into(), listing.window()).await?);
    let recipes = recipes(&api.registry, filter.recipe.as_deref());
    view.show(&RunsPage {
        layout: view.layout("Runs", Section::Runs),
        filter,
        sort,
        oldest_first: asked.order == Some(Order::Oldest),
        recipes,
        experiment,
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.map(|_| view.with_cursor(None)),
        items: page.items,
        next: page.next,
    })
}
