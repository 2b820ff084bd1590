//! Problems.

mod page;
mod row;

pub use page::{FoundProblem, ProblemFilter, ProblemSort, page, page_of_all_runs};
pub use row::{Ancestor, Problem, ProblemParent, by_ids, chain, find, parents, place, values};
pub(crate) use row::{write, write_outcomes};

use lyceum_core::archive::Descriptor;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{ParentRelation, Role, SCORE_OF_QUESTION, Side};
use lyceum_core::verify::ProblemKind;
use serde::Serialize;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;
use crate::attempts::roles_of;
use crate::steps::Stretch;

/// The number of problems of some steps in a band of solve rates.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct SolveBand {
    /// The first step.
    pub step: i32,
    /// The band, from 0 (never solved) to the last (always solved); those between have equal widths.
    pub band: i32,
    /// Number of problems.
    pub problems: i64,
}

/// A valid problem with the properties that can make it suspicious.
#[derive(Clone, Debug, FromRow)]
pub struct Candidate {
    /// The problem.
    pub id: Uuid,
    pub step: i32,
    #[sqlx(rename = "type")]
    pub problem_type: ProblemKind,
    pub proposer_id: Option<Uuid>,
    pub program: String,
    /// Cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Share of the attempts that solved it.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: i32,
    /// Length of the proposal in characters.
    pub proposal_letters: i32,
    /// Length of the longest correct answer in characters.
    pub answer_letters: Option<i32>,
}

/// Attempted problems of `run` by solve rate: 0, 1, and `inner` bands of equal width between.
pub async fn solve_bands(db: &PgPool, run: ExecutionId, steps: Stretch, inner: u32) -> Result<Vec<SolveBand>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT step / $2 * $2 AS step,
             CASE WHEN solve_rate <= 0 THEN 0 WHEN solve_rate >= 1 THEN $3 + 1
                  ELSE least(floor(solve_rate * $3)::int, $3 - 1) + 1 END AS band,
             sum(problems)::bigint AS problems
         FROM solve_rates WHERE run_id = $1 AND step BETWEEN $4 AND $5 AND problems > 0 GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .bind(run.0)
    .bind(width)
    .bind(inner.max(1).cast_signed())
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}

/// The newest `limit` attempted valid problems of `run`.
pub async fn candidates(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<Candidate>> {
    Ok(sqlx::query_as(
        "SELECT id, step, type, proposer_id, left(program, 20000) AS program, cyclomatic, solve_rate, attempts,
             length(proposal) AS proposal_letters,
             (SELECT max(length(a.text)) FROM attempts a
                  WHERE a.problem_id = p.id AND a.correct AND a.role = ANY($3)) AS answer_letters
         FROM (SELECT * FROM problems WHERE run_id = $1 AND valid ORDER BY seq DESC LIMIT $2) p
         WHERE program IS NOT NULL AND attempts > 0 ORDER BY seq DESC",
    )
    .bind(run.0)
    .bind(i64::from(limit))
    .bind(roles_of(Side::Solves))
    .fetch_all(db)
    .await?)
}

/// Valid problems proposed in `step` whose programs are their proposers' own, by index: programs of `code_f` come from
/// the pool.
pub async fn complexities(db: &PgPool, run: ExecutionId, step: u32) -> Result<Vec<(Uuid, Descriptor)>> {
    let rows: Vec<(Uuid, f32, f32, f32, f32)> = sqlx::query_as(
        "SELECT id, ast_depth, cyclomatic, loc, variables FROM problems
         WHERE run_id = $1 AND step = $2 AND valid AND proposer_id IS NOT NULL AND type = ANY($3)
             AND ast_depth IS NOT NULL AND cyclomatic IS NOT NULL AND loc IS NOT NULL AND variables IS NOT NULL
         ORDER BY index",
    )
    .bind(run.0)
    .bind(i32::try_from(step).unwrap_or(i32::MAX))
    .bind([ProblemKind::CodeI, ProblemKind::CodeO])
    .fetch_all(db)
    .await?;
    let measured =
        rows.into_iter().map(|(id, depth, cyclomatic, lines, variables)| (id, [depth, cyclomatic, lines, variables]));
    Ok(measured.collect())
}

/// A problem that a member proposed, as its critic saw it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ScoredProblem {
    /// Whether it may be attempted.
    pub valid: bool,
    /// Its values, a JSON document.
    pub values: String,
    /// Whether a critic was asked.
    pub is_scored: bool,
    /// The answer of the critic's attempt; none if it has no number.
    pub score: Option<String>,
}

/// The newest `limit` problems that members of `run` proposed in these steps, newest first.
pub async fn scored(db: &PgPool, run: ExecutionId, steps: Stretch, limit: u32) -> Result<Vec<ScoredProblem>> {
    let [from, to, _] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT p.valid, p.\"values\"::text AS values, c.id IS NOT NULL AS is_scored, c.answer AS score
         FROM problems p LEFT JOIN LATERAL (
             SELECT id, answer FROM attempts
             WHERE problem_id = p.id AND role = $5 AND starts_with(reason, $6) ORDER BY seq LIMIT 1
         ) c ON true
         WHERE p.run_id = $1 AND p.proposer_id IS NOT NULL AND p.step BETWEEN $2 AND $3
         ORDER BY p.seq DESC LIMIT $4",
    )
    .bind(run.0)
    .bind(from)
    .bind(to)
    .bind(i64::from(limit))
    .bind(Role::Critic)
    .bind(SCORE_OF_QUESTION)
    .fetch_all(db)
    .await?)
}

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
