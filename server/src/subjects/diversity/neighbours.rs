//! Questions that are near one another, and wordings that repeat.

use lyceum_core::diversity::{self, Wordlists};
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_core::problem::Values;
use lyceum_store::artifact::Vectors;
use lyceum_store::diversity::{Question, vectors};
use lyceum_store::problems::{self, Problem};
use serde::{Deserialize as _, Serialize};
use std::cmp::Ordering;
use tokio::sync::Semaphore;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::lab::Lab;
use crate::subjects::diversity::{Diversity, asked, computed};

/// The largest artifact of embeddings that is read for this.
const MAX_BYTES: u64 = 256 << 20;
/// Searches at once: each may hold two such artifacts.
static AT_ONCE: Semaphore = Semaphore::const_new(1);

/// How questions were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Similarity {
    /// By the cosine of their embeddings.
    Embedding,
    /// By BLEU, since an embedding is missing: the question was not measured, or its embedding was deleted or is too
    /// large.
    Wording,
}

/// The nearest neighbours of a question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Neighbours {
    /// The question.
    pub(crate) problem_id: Uuid,
    /// Its text.
    pub(crate) question: String,
    /// The iteration that was searched, from 1; absent if none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) iteration: Option<u32>,
    /// How questions were compared: `embedding`, or `wording` if an embedding is missing.
    pub(crate) by: Similarity,
    /// The neighbours, nearest first.
    pub(crate) items: Vec<Neighbour>,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Neighbour {
    /// The problem.
    pub(crate) problem_id: Uuid,
    /// The step in which it was proposed.
    pub(crate) step: i32,
    /// Its index within the step.
    pub(crate) index: i32,
    /// Its text.
    pub(crate) question: String,
    /// Cosine similarity of the embeddings; absent if compared by wording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) similarity: Option<f32>,
    /// BLEU-4 of the question against it.
    pub(crate) bleu: f64,
}

/// The nearest neighbours of the problem `id` among the questions of an iteration: the one asked for, its own if that was
/// measured, or else the last one.
///
/// # Errors
/// 404 if there is no such problem, 400 if it has no question or the iteration was not measured.
pub(crate) async fn neighbours(
    lab: &Lab,
    run: (ExecutionId, &Diversity),
    id: ProblemId,
    iteration: Option<u32>,
    shown: usize,
) -> Result<Neighbours, ApiError> {
    let (run, diversity) = run;
    let problem = problems::find(lab.store.pool(), run, id).await?;
    let Some(question) = question_of(&problem) else {
        let detail = format!("problem {id} has no question to compare");
        return Err(ApiError::invalid_query(vec![("question".to_owned(), detail)]));
    };
    let of_problem = diversity.of_step(problem.step.max(0).cast_unsigned());
    let own = diversity.measured().find(|(number, _)| *number == of_problem);
    let searched = match (iteration, own) {
        (None, Some(own)) => Some(own),
        (asked, _) => diversity.chosen(asked)?,
    };
    let Some((iteration, step)) = searched else {
        return Ok(Neighbours {
            problem_id: id.0,
            question,
            iteration: None,
            by: Similarity::Wording,
            items: Vec::new(),
        });
    };
    let others = asked(lab, run, step).await?;
    let _turn = AT_ONCE.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let own = match own {
        Some((_, own)) => vector_of(lab, run, own, id).await?,
        None => None,
    };
    let table = match &own {
        Some(_) => table(lab, run, step).await?.filter(|table| table.rows().len() == others.len()),
        None => None,
    };
    let of = Asked { id: id.0, text: question.clone(), vector: own };
    let (by, items) = computed(move || of.nearest(&others, table.as_ref(), shown)).await?;
    Ok(Neighbours { problem_id: id.0, question, iteration: Some(iteration), by, items })
}

/// The question that a valid problem asks.
fn question_of(problem: &Problem) -> Option<String> {
    match Values::deserialize(problem.values.as_ref()?).ok()? {
        Values::Math { question, .. } | Values::Code { question, .. } => Some(question).filter(|_| problem.valid),
        Values::Function { .. } | Values::Io { .. } => None,
    }
}

/// The embeddings of the questions measured in `step`, if they are there and not too large.
async fn table(lab: &Lab, run: ExecutionId, step: u32) -> Result<Option<Vectors>, ApiError> {
    let stored = vectors(lab.store.pool(), run, step).await?;
    let Some(stored) = stored.filter(|stored| stored.bytes <= MAX_BYTES) else { return Ok(None) };
    let bytes = lab.artifacts.get(stored.digest).await?;
    computed(move || Vectors::from_bytes(&bytes).ok()).await
}

/// The embedding of the problem `id`, if it is one of the questions measured in `step`.
async fn vector_of(lab: &Lab, run: ExecutionId, step: u32, id: ProblemId) -> Result<Option<Vec<f32>>, ApiError> {
    let questions = asked(lab, run, step).await?;
    let Some(place) = questions.iter().position(|question| question.id == id.0) else { return Ok(None) };
    let table = table(lab, run, step).await?.filter(|table| table.rows().len() == questions.len());
    Ok(table.and_then(|table| table.rows().get(place).cloned()))
}

/// The question whose neighbours are looked for.
struct Asked {
    id: Uuid,
    text: String,
    vector: Option<Vec<f32>>,
}

impl Asked {
    fn nearest(&self, others: &[Question], table: Option<&Vectors>, shown: usize) -> (Similarity, Vec<Neighbour>) {
        let mut texts: Vec<&str> = others.iter().map(|other| other.question.as_str()).collect();
        texts.push(&self.text);
        let lists = Wordlists::new(&texts);
        let similarity = |place: usize| {
            let (own, row) = (self.vector.as_ref()?, table?.rows().get(place)?);
            (own.len() == row.len()).then(|| own.iter().zip(row).map(|(own, other)| own * other).sum::<f32>())
        };
        let mut all: Vec<Neighbour> = others
            .iter()
            .enumerate()
            .filter(|(_, other)| other.id != self.id)
            .map(|(place, other)| Neighbour {
                problem_id: other.id,
                step: other.step,
                index: other.index,
                question: other.question.clone(),
                similarity: similarity(place),
                bleu: lists.bleu(others.len(), place),
            })
            .collect();
        all.sort_by(nearer);
        all.truncate(shown);
        let by = match all.iter().any(|neighbour| neighbour.similarity.is_some()) {
            true => Similarity::Embedding,
            false => Similarity::Wording,
        };
        (by, all)
    }
}

/// Orders neighbours by similarity, then by BLEU, then by index.
fn nearer(one: &Neighbour, other: &Neighbour) -> Ordering {
    let cosine = |of: &Neighbour| of.similarity.unwrap_or(f32::NEG_INFINITY);
    let by_cosine = cosine(other).total_cmp(&cosine(one));
    by_cosine.then(other.bleu.total_cmp(&one.bleu)).then(one.index.cmp(&other.index))
}

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
    let Some((iteration, step)) = chosen else { return Ok(Wordings::default()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(texts: &[&str]) -> Vec<Question> {
        (0..)
            .zip(texts)
            .map(|(index, text)| Question {
                id: Uuid::from_u128(u128::from(index as u32)),
                step: 3,
                index,
                question: (*text).to_owned(),
            })
            .collect()
    }

    fn indices(found: &[Neighbour]) -> Vec<i32> {
        found.iter().map(|neighbour| neighbour.index).collect()
    }

    #[test]
    fn neighbours_are_near_by_embedding_or_else_by_wording() {
        let others = questions(&["what is 1 + 1 ?", "what is 1 + 2 ?", "tom has 3 apples", "what is 9 * 9 ?"]);
        let mut asked = Asked { id: Uuid::from_u128(0), text: "what is 1 + 1 ?".to_owned(), vector: None };
        let (by, found) = asked.nearest(&others, None, 2);
        assert_eq!((by, indices(&found)), (Similarity::Wording, vec![1, 3]));
        assert!(found[0].similarity.is_none() && found[0].bleu > found[1].bleu);
        let rows = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6], [0.6, 0.8]];
        let table = Vectors::new(rows.iter().map(|row| row.to_vec()).collect(), 2);
        asked.vector = Some(vec![1.0, 0.0]);
        let (by, found) = asked.nearest(&others, Some(&table), 10);
        assert_eq!((by, indices(&found)), (Similarity::Embedding, vec![2, 3, 1]));
        assert_eq!(found[0].similarity, Some(0.8));
    }
}
