//! `/runs/{id}/candidates`: candidates for lemmas and lifts, which of them were accepted, and why the others were not (GASP).

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::ParentRelation;
use lyceum_store::problems::{self, StoneCandidate, StoneCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::text::{Excerpt, excerpt};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Characters of a message.
const MESSAGE: u32 = 160;

/// The step whose candidates are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidatesFilter {
    /// The last one with candidates by default.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Fate {
    /// In the band, and among the first that were wanted.
    Accepted,
    /// In the band, after enough were accepted.
    Surplus,
    OutOfBand,
    Duplicate,
    Invalid,
    /// Not judged yet.
    Pending,
}

impl Fate {
    fn label(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Surplus => "in the band, not needed",
            Self::OutOfBand => "out of the band",
            Self::Duplicate => "too similar",
            Self::Invalid => "invalid",
            Self::Pending => "not judged yet",
        }
    }
}

/// A row of the list.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    candidate: StoneCandidate,
    outcome: Fate,
}

impl Row {
    fn message(&self) -> Option<Excerpt> {
        Some(excerpt(self.candidate.message.as_deref()?, MESSAGE as usize))
    }

    fn reason(&self) -> Excerpt {
        excerpt(&self.candidate.reason, MESSAGE as usize)
    }

    /// How many of its attempts solved it.
    fn solved(&self) -> Option<String> {
        let (rate, attempts) = (self.candidate.solve_rate?, self.candidate.attempts);
        Some(format!("{:.0} of {attempts}", rate * attempts as f32))
    }
}

#[derive(Template, Serialize)]
#[template(path = "problems/candidates.html")]
struct CandidatesPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// Steps with candidates.
    steps: Vec<StoneCounts>,
    /// The step whose candidates are listed.
    step: u32,
    /// How many a step accepts at most.
    target: usize,
    items: Vec<Row>,
}

impl CandidatesPage {
    fn stone(&self, of: &StoneCounts) -> &'static str {
        match of.relation {
            ParentRelation::Lemma => "lifts",
            _ => "lemmas",
        }
    }

    fn accepted(&self, of: &StoneCounts) -> i64 {
        of.in_band.min(self.target as i64)
    }

    fn is_open(&self, of: &StoneCounts) -> bool {
        of.step.cast_unsigned() == self.step
    }

    /// The counts of the step that is listed.
    fn now(&self) -> Option<&StoneCounts> {
        self.steps.iter().find(|of| self.is_open(of))
    }
}

/// Candidates of a step of a run.
#[get("/runs/{id}/candidates")]
pub(crate) async fn show_candidates(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<CandidatesFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let run = RunFrame::load(&lab, *id, Tab::Candidates).await?;
    let steps = problems::stone_counts(db, *id).await?;
    let last = steps.last().map_or(0, |of| of.step.cast_unsigned());
    let step = filters.0.step.unwrap_or(last);
    let wanted = run.detail.config.pointer("/parameters/rounds/target");
    let target = wanted.and_then(serde_json::Value::as_u64).unwrap_or(u64::MAX);
    let target = usize::try_from(target).unwrap_or(usize::MAX);
    let items = judged(problems::stone_candidates(db, *id, step, MESSAGE + 1).await?, target);
    view.show(&CandidatesPage {
        layout: view.layout(format!("Candidates · {}", run.run().name), Section::Runs),
        run,
        steps,
        step,
        target,
        items,
    })
}

/// The candidates of a step, ordered by index, with what became of them: the first `target` in the band are accepted.
fn judged(candidates: Vec<StoneCandidate>, target: usize) -> Vec<Row> {
    let mut accepted = 0;
    let row = |candidate: StoneCandidate| {
        let outcome = match candidate.fate.as_deref() {
            None => Fate::Pending,
            Some("invalid") => Fate::Invalid,
            Some("duplicate") => Fate::Duplicate,
            Some("learnability") if accepted < target => {
                accepted += 1;
                Fate::Accepted
            }
            Some("learnability") => Fate::Surplus,
            Some(_) => Fate::OutOfBand,
        };
        Row { candidate, outcome }
    };
    candidates.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn the_first_in_the_band_are_accepted_and_later_ones_are_not_needed() {
        let fates = [
            Some("learnability"),
            Some("invalid"),
            Some("learnability"),
            Some("out_of_band"),
            Some("duplicate"),
            Some("learnability"),
            None,
        ];
        let candidates = (0..).zip(fates).map(|(index, fate)| StoneCandidate {
            id: Uuid::from_u128(index as u128),
            index,
            parent_id: Uuid::nil(),
            axis: "io".to_owned(),
            message: None,
            reason: String::new(),
            similarity: None,
            nearest: None,
            solve_rate: None,
            attempts: 0,
            reward: None,
            fate: fate.map(str::to_owned),
        });
        let found: Vec<Fate> = judged(candidates.collect(), 2).iter().map(|row| row.outcome).collect();
        use Fate::*;
        assert_eq!(found, [Accepted, Invalid, Accepted, OutOfBand, Duplicate, Surplus, Pending]);
    }
}
