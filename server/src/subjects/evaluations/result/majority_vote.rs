//! The page of a majority vote: how good the majority of each version's answers is, compared with its single answers.

use actix_web::HttpResponse;
use askama::Template;
use lyceum_core::evaluation::{MajorityVoteResult, Voted};
use serde::{Deserialize as _, Serialize};

use super::EvaluationFrame;
use crate::api_error::ApiError;
use crate::frame::layout::Layout;
use crate::frame::view::View;

#[derive(Template, Serialize)]
#[template(path = "evaluations/majority_vote.html")]
struct MajorityVotePage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    frame: EvaluationFrame,
    #[serde(skip)]
    votes: Vec<Voted>,
}

pub(super) fn show(view: &View, frame: EvaluationFrame) -> Result<HttpResponse, ApiError> {
    let result = frame.line.evaluation.result.as_ref();
    let result = result.and_then(|result| MajorityVoteResult::deserialize(result).ok());
    view.show(&MajorityVotePage {
        layout: frame.layout(view),
        frame,
        votes: result.map(|result| result.votes).unwrap_or_default(),
    })
}
