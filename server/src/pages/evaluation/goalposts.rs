//! The page of an evaluation of goalposts: how many each checkpoint solved, beside its control.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::recipe::{GoalpostsMeasured, GoalpostsResult};
use serde::{Deserialize as _, Serialize};
use std::collections::BTreeSet;
use uuid::Uuid;

use super::EvaluationFrame;
use crate::{
    api_error::ApiError,
    frame::{layout::Layout, text::inert, view::View},
    subjects::goalposts::RUNS,
};

#[derive(Template, Serialize)]
#[template(path = "evaluation/goalposts.html")]
struct GoalpostsEvaluationPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    result: Option<GoalpostsResult>,
    #[serde(skip)]
    lines: Vec<Subject>,
}

/// A checkpoint and its control.
struct Subject {
    checkpoint: GoalpostsMeasured,
    control: Option<GoalpostsMeasured>,
}

impl GoalpostsEvaluationPage {
    fn name(&self, subject: &GoalpostsMeasured) -> String {
        inert(&subject.name)
    }

    /// The address of the map of the evaluation's runs; none without a run.
    fn map(&self) -> Option<String> {
        let result = self.result.as_ref()?;
        let runs: BTreeSet<Uuid> = result
            .subjects
            .iter()
            .filter_map(|of| of.run.map(|run| run.0))
            .collect();
        let ids: Vec<String> = runs.iter().take(RUNS).map(Uuid::to_string).collect();
        (!ids.is_empty()).then(|| format!("/compare/goalposts?runs={}&dataset={}", ids.join(","), result.dataset))
    }
}

pub(super) fn show(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let result = result.and_then(|result| GoalpostsResult::deserialize(result).ok());
    view.show(&GoalpostsEvaluationPage {
        layout: frame.layout(view),
        lines: result.as_ref().map(lines).unwrap_or_default(),
        result,
        frame,
    })
}

fn lines(result: &GoalpostsResult) -> Vec<Subject> {
    let of = |subject: &GoalpostsMeasured| (subject.run, subject.member, subject.step);
    let (controls, checkpoints): (Vec<_>, Vec<_>) = result.subjects.iter().partition(|subject| subject.control);
    let lines = checkpoints.into_iter().map(|checkpoint| Subject {
        control: controls
            .iter()
            .find(|control| of(control) == of(checkpoint))
            .map(|control| (*control).clone()),
        checkpoint: checkpoint.clone(),
    });
    lines.collect()
}
