//! `/runs/{id}/diversity`: how much the questions of an iteration differ (arXiv 2604.03472, figures 2, 3, 6 and 7), the
//! wordings most repeated, and the nearest neighbours of a question.

mod panels;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_store::runs::{self, Run, RunDetail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::panels::Profile;
use crate::api_error::ApiError;
use crate::frame::figure::Figure;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::{self, RunFrame};
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::comparison::labels;
use crate::subjects::diversity::{
    Diversity, Iteration, Neighbours, RepeatedWording, Similarity, Wordings, neighbours, wordings,
};

/// Wordings and neighbours shown.
const SHOWN: usize = 10;
/// Runs to choose from for a comparison: the newest ones.
const OTHERS: u32 = 100;

/// The iteration, the question and the other run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiversityFilter {
    /// The iteration, from 1.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    iteration: Option<u32>,
    /// The problem whose neighbours are shown.
    question: Option<Uuid>,
    /// Another run.
    with: Option<Uuid>,
}

/// A run compared with another.
#[derive(Serialize)]
struct Side {
    #[serde(skip)]
    label: String,
    run: Uuid,
    steps_per_iteration: u32,
    iterations: Vec<Iteration>,
    wordings: Wordings,
}

impl Side {
    async fn read(lab: &Lab, detail: &RunDetail, iteration: Option<u32>) -> Result<(Self, Diversity), ApiError> {
        let diversity = Diversity::read(lab, detail).await?;
        let chosen = diversity.chosen(iteration)?;
        let side = Self {
            label: detail.run.name.clone(),
            run: detail.run.id,
            steps_per_iteration: diversity.steps_per_iteration,
            iterations: diversity.iterations.clone(),
            wordings: wordings(lab, ExecutionId(detail.run.id), chosen, SHOWN).await?,
        };
        Ok((side, diversity))
    }

    fn example(&self, wording: &RepeatedWording) -> Excerpt {
        excerpt(&wording.example, SHOWN_IN_LIST)
    }
}

#[derive(Template, Serialize)]
#[template(path = "diversity/page.html")]
struct DiversityPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// This run, and the other one if there is one.
    sides: Vec<Side>,
    /// What has changed over the iterations, or differs from the other run.
    profile: Option<Profile>,
    neighbours: Option<Neighbours>,
    #[serde(skip)]
    asked: DiversityFilter,
    #[serde(skip)]
    others: Vec<(Uuid, String)>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl DiversityPage {
    fn own(&self) -> Option<&Side> {
        self.sides.first()
    }

    /// Whether any questions were measured.
    fn is_measured(&self) -> bool {
        self.sides.iter().any(|side| side.wordings.iteration.is_some())
    }

    /// The measured iterations of this run.
    fn measured(&self) -> Vec<u32> {
        let all = self.own().map(|side| side.iterations.as_slice()).unwrap_or_default();
        let measured = all.iter().filter(|iteration| iteration.measured_in.is_some());
        measured.map(|iteration| iteration.iteration).collect()
    }

    fn is_chosen(&self, iteration: &u32) -> bool {
        self.own().and_then(|side| side.wordings.iteration) == Some(*iteration)
    }

    fn is_with(&self, run: &Uuid) -> bool {
        self.asked.with == Some(*run)
    }

    /// The address of this page with another question.
    fn with_question(&self, question: &Uuid) -> String {
        let iteration = self.asked.iteration.map(|iteration| format!("&iteration={iteration}"));
        let with = self.asked.with.map(|run| format!("&with={run}"));
        format!(
            "/runs/{}/diversity?question={question}{}{}#neighbours",
            self.run.run().id,
            iteration.unwrap_or_default(),
            with.unwrap_or_default()
        )
    }

    fn text(&self, text: &str) -> Excerpt {
        excerpt(text, SHOWN_IN_LIST)
    }

    fn is_by_embedding(&self, found: &Neighbours) -> bool {
        found.by == Similarity::Embedding
    }
}

/// The diversity of a run's questions.
#[get("/runs/{id}/diversity")]
pub(crate) async fn show_diversity(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<DiversityFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let run = RunFrame::load(&lab, *id, Tab::Diversity).await?;
    let (own, diversity) = Side::read(&lab, &run.detail, asked.iteration).await?;
    let mut sides = vec![own];
    if let Some(other) = asked.with {
        let other = runs::find(lab.store.pool(), ExecutionId(other)).await?;
        // The other run may not have come as far.
        let (side, _) = match Side::read(&lab, &other, asked.iteration).await {
            Ok(read) => read,
            Err(_) => Side::read(&lab, &other, None).await?,
        };
        let names = labels([run.run(), &other.run].into_iter());
        sides.push(side);
        for (side, name) in sides.iter_mut().zip(names) {
            side.label = name;
        }
    }
    let neighbours = match asked.question {
        Some(question) => {
            let of = (*id, &diversity);
            Some(neighbours(&lab, of, ProblemId(question), asked.iteration, SHOWN).await?)
        }
        None => None,
    };
    view.show(&DiversityPage {
        layout: view.layout(format!("Diversity · {}", run.run().name), Section::Runs),
        figures: panels::panels(&sides, &run.detail.metrics, &diversity.metrics),
        profile: Profile::of(&sides, &diversity.metrics),
        others: others(&view, &lab, run.run().id).await?,
        neighbours,
        sides,
        asked,
        run,
    })
}

/// The newest other runs whose diversity is measured, with labels.
async fn others(view: &View, lab: &Lab, own: Uuid) -> Result<Vec<(Uuid, String)>, ApiError> {
    let newest = run::newest(view, lab.store.pool(), OTHERS).await?;
    let is_measured = |run: &&Run| {
        let recipe = lab.registry.get(&run.recipe);
        run.id != own && recipe.is_ok_and(|recipe| recipe.capabilities().measures_diversity)
    };
    let runs: Vec<&Run> = newest.iter().filter(is_measured).collect();
    let names = labels(runs.iter().copied());
    Ok(runs.iter().map(|run| run.id).zip(names).collect())
}
