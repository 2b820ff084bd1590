//! Candidates for lemmas and lifts (GASP): what became of them, and how new they were.

use lyceum_core::{id::ExecutionId, recipe::ParentRelation};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool, types::Json};
use uuid::Uuid;

use crate::Result;

/// What became of the candidates of a step.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct StoneCounts {
    pub step: i32,
    /// What they were made from: a goalpost (lemmas) or a lemma (lifts).
    pub relation: ParentRelation,
    pub candidates: i64,
    /// Malformed, unsafe or not deterministic.
    pub invalid: i64,
    /// Too similar to another one.
    pub duplicate: i64,
    /// Solved too often, or not often enough.
    pub out_of_band: i64,
    /// In the band: accepted as far as more were wanted.
    pub in_band: i64,
}

#[derive(Clone, Debug, Serialize)]
pub struct StoneCandidate {
    /// The problem.
    pub id: Uuid,
    /// Its index within the step.
    pub index: i32,
    /// What it was made from.
    pub parent_id: Uuid,
    /// Along what its difficulty differs from that of its parent: `io` or `f`.
    pub axis: String,
    /// Its message; none if it could not be read.
    pub message: Option<String>,
    /// Why it was rejected; empty if it was attempted.
    pub reason: String,
    /// The highest cosine similarity to another one; none if it was not embedded or is the first.
    pub similarity: Option<f64>,
    pub nearest: Option<Uuid>,
    /// Share of the attempts that solved it; none without attempts.
    pub solve_rate: Option<f32>,
    /// How often it was attempted.
    pub attempts: i32,
    /// The teacher's reward; none before it is judged.
    pub reward: Option<f32>,
    /// The name of the reward's only part, which says what became of it: `invalid`, `duplicate`, `out_of_band` or
    /// `learnability`; none before it is judged.
    pub fate: Option<String>,
}

/// What became of a run's candidates, by step.
pub async fn stone_counts(db: &PgPool, run: ExecutionId) -> Result<Vec<StoneCounts>> {
    Ok(sqlx::query_as(
        "SELECT p.step, r.relation, count(*) AS candidates,
             count(*) FILTER (WHERE reward_parts ? 'invalid') AS invalid,
             count(*) FILTER (WHERE reward_parts ? 'duplicate') AS duplicate,
             count(*) FILTER (WHERE reward_parts ? 'out_of_band') AS out_of_band,
             count(*) FILTER (WHERE reward_parts ? 'learnability') AS in_band
         FROM problems p JOIN problem_parents r ON r.problem_id = p.id
         WHERE p.run_id = $1 AND r.relation IN ('goalpost', 'lemma') GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}

/// A candidate with its values as they are stored: Postgres refuses to look into those of a program that wrote a NUL.
#[derive(FromRow)]
struct StoredCandidate {
    id: Uuid,
    index: i32,
    parent_id: Uuid,
    values: Json<Value>,
    reason: String,
    solve_rate: Option<f32>,
    attempts: i32,
    reward: Option<f32>,
    fate: Option<String>,
}

impl StoredCandidate {
    /// None for a problem that is not a stepping stone.
    fn read(self, letters: usize) -> Option<StoneCandidate> {
        let values = &self.values.0;
        let text = |name: &str| values.get(name).and_then(Value::as_str);
        Some(StoneCandidate {
            axis: text("axis")?.to_owned(),
            message: text("message").map(|message| message.chars().take(letters).collect()),
            similarity: values.get("similarity").and_then(Value::as_f64),
            nearest: text("nearest").and_then(|id| id.parse().ok()),
            id: self.id,
            index: self.index,
            parent_id: self.parent_id,
            reason: self.reason,
            solve_rate: self.solve_rate,
            attempts: self.attempts,
            reward: self.reward,
            fate: self.fate,
        })
    }
}

/// The candidates of a step, by index, with messages of at most `letters` characters.
pub async fn stone_candidates(db: &PgPool, run: ExecutionId, step: u32, letters: u32) -> Result<Vec<StoneCandidate>> {
    let stored: Vec<StoredCandidate> = sqlx::query_as(
        "SELECT p.id, p.index, r.parent_id, p.\"values\", p.reason, p.solve_rate, p.attempts, p.reward,
             (SELECT min(part) FROM jsonb_object_keys(p.reward_parts) AS part) AS fate
         FROM problems p JOIN problem_parents r ON r.problem_id = p.id
         WHERE p.run_id = $1 AND p.step = $2 AND r.relation IN ('goalpost', 'lemma') ORDER BY p.index",
    )
    .bind(run.0)
    .bind(step.cast_signed())
    .fetch_all(db)
    .await?;
    let letters = usize::try_from(letters).unwrap_or(usize::MAX);
    Ok(stored.into_iter().filter_map(|stored| stored.read(letters)).collect())
}
