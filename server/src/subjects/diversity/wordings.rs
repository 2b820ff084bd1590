//! The wordings that questions of an iteration share.

use lyceum_core::{diversity, id::ExecutionId};
use lyceum_store::diversity::Question;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{asked, computed};
use crate::{api_error::ApiError, lab::Lab};

/// The wordings of an iteration's questions.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Wordings {
    /// The iteration, from 1; absent if none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) iteration: Option<u32>,
    /// Its questions.
    pub(crate) questions: usize,
    /// Different wordings: questions that differ in numbers only count once.
    pub(crate) different: usize,
    /// The wordings most repeated.
    pub(crate) items: Vec<RepeatedWording>,
}

/// A wording.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RepeatedWording {
    /// The text with `#` for every number.
    #[schema(example = "What is # + #?")]
    pub(crate) wording: String,
    /// Questions with it.
    pub(crate) questions: usize,
    /// The first of them.
    pub(crate) problem_id: Uuid,
    /// Its text.
    pub(crate) example: String,
}

/// The wordings of the questions measured in `chosen`, an iteration and a step; the `shown` most repeated ones.
pub(crate) async fn wordings(
    lab: &Lab,
    run: ExecutionId,
    chosen: Option<(u32, u32)>,
    shown: usize,
) -> Result<Wordings, ApiError> {
    let Some((iteration, step)) = chosen else {
        return Ok(Wordings::default());
    };
    let questions = asked(lab, run, step).await?;
    computed(move || counted(iteration, &questions, shown)).await
}

fn counted(iteration: u32, questions: &[Question], shown: usize) -> Wordings {
    let texts: Vec<&str> = questions.iter().map(|asked| asked.question.as_str()).collect();
    let found = diversity::wordings(&texts);
    Wordings {
        iteration: Some(iteration),
        questions: texts.len(),
        different: found.len(),
        items: found
            .into_iter()
            .take(shown)
            .map(|wording| RepeatedWording {
                wording: wording.text,
                questions: wording.count,
                problem_id: questions[wording.first].id,
                example: questions[wording.first].question.clone(),
            })
            .collect(),
    }
}
