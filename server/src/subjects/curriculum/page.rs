//! `/runs/{id}/curriculum`: how a run's growing set grows, and how good the scores are that decide what joins it (SAGE,
//! Figure 3).

mod figures;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::api_error::ApiError;
use crate::frame::figure::Figure;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::steps::{POINTS, Steps, level_for};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::curriculum::{Growth, Scores};

/// The steps and the suite shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CurriculumFilter {
    #[schemars(range(max = 2_147_483_647))]
    from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    to: Option<u32>,
    /// The suite of the validation curve; by default the one measured at most steps.
    suite: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "curriculum/page.html")]
struct CurriculumPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// The steps shown.
    steps: Steps,
    /// The suite of the validation curve.
    suite: Option<String>,
    growth: Growth,
    scores: Scores,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl CurriculumPage {
    /// The suites that were measured.
    fn suites(&self) -> Vec<&str> {
        let mut suites: Vec<&str> = self.growth.validation.iter().map(|one| one.suite.as_str()).collect();
        suites.dedup();
        suites
    }

    fn is_chosen(&self, suite: &str) -> bool {
        self.suite.as_deref() == Some(suite)
    }

    fn title_of(&self, suite: &str) -> String {
        format::suite_title(suite).to_owned()
    }

    /// The query of the API's addresses for the same steps.
    fn steps_asked(&self) -> String {
        let part = |name: &str, step: Option<u32>| step.map(|step| format!("&{name}={step}")).unwrap_or_default();
        format!("{}{}", part("from", self.steps.from), part("to", self.steps.to))
    }

    /// Tasks in the growing set at the end of the steps shown.
    fn pool_size(&self) -> Option<i64> {
        let size = self.growth.items.iter().rev().find_map(|step| self.growth.size(step))?;
        Some(size.round() as i64)
    }

    fn admitted(&self) -> i64 {
        self.scores.items.iter().map(|bucket| bucket.admitted.cast_signed()).sum()
    }

    fn problems(&self) -> i64 {
        i64::try_from(self.scores.problems).unwrap_or(i64::MAX)
    }
}

/// The growing set of a run, and its critic.
#[get("/runs/{id}/curriculum")]
pub(crate) async fn show_curriculum(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<CurriculumFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let run = RunFrame::load(&lab, *id, Tab::Curriculum).await?;
    let steps = Steps { from: asked.from, to: asked.to };
    let step = run.run().step;
    let stretch = steps.of_run(step, POINTS)?;
    let level = level_for(steps.length(step), POINTS);
    let growth = Growth::read(&lab, &run.detail, stretch, level).await?;
    let scores = Scores::read(&lab, &run.detail, stretch).await?;
    let suite = suite(&growth, asked.suite)?;
    // The validation curve changes when an evaluation ends, so only the curves over steps are sent in parts.
    let mut figures = vec![figures::growth(&growth, suite.as_deref())];
    figures.extend(view.news(vec![figures::inflation(&growth, &run.detail.metrics)], 4u32.pow(u32::from(level))));
    figures.extend([figures::admission(&scores), figures::calibration(&scores)]);
    view.show(&CurriculumPage {
        layout: view.layout(format!("Curriculum · {}", run.run().name), Section::Runs),
        run,
        steps,
        suite,
        growth,
        scores,
        figures,
    })
}

/// The suite asked for, or the one measured at most steps.
///
/// # Errors
/// 400 if the one asked for was not measured.
fn suite(growth: &Growth, asked: Option<String>) -> Result<Option<String>, ApiError> {
    let mut points: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &growth.validation {
        *points.entry(&one.suite).or_default() += 1;
    }
    let Some(asked) = asked else {
        let most = points.into_iter().max_by_key(|(_, points)| *points);
        return Ok(most.map(|(suite, _)| suite.to_owned()));
    };
    if points.contains_key(asked.as_str()) {
        return Ok(Some(asked));
    }
    let measured: Vec<&str> = points.into_keys().collect();
    let detail = match measured.is_empty() {
        true => format!("this run's members were not measured on `{asked}`, nor on any other suite"),
        false => format!("this run's members were not measured on `{asked}`; valid: {}", measured.join(", ")),
    };
    Err(ApiError::invalid_query(vec![("suite".to_owned(), detail)]))
}
