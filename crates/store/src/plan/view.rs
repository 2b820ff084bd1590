//! The view of a step, kept between plans so that each result is read once.

use lyceum_core::artifact::Digest;
use lyceum_core::id::{DatasetId, ExecutionId, MemberId, ProblemId, VersionId};
use lyceum_core::recipe::{DatasetRow, ProblemRecord, StepView, Want, WorkState};
use lyceum_core::verify::{ProblemKind, Status};
use lyceum_core::work::{Outcome, WorkKey};
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

use crate::{Result, StoreError, datasets, rewards};

/// The view of an execution's current step. It only grows from rows, so a coordinator that was restarted or overtaken
/// gets the same view.
#[derive(Debug, Default)]
pub struct ViewCache {
    step: Option<u32>,
    read: i32,
    pub view: StepView,
    /// Rows that plans of this step have written.
    pub written: HashSet<(&'static str, Uuid)>,
}

impl ViewCache {
    /// Brings the view up to the rows of `step`, and records if one of the new results is not reproducible. The caller
    /// has locked the execution.
    pub async fn refresh(&mut self, tx: &mut PgConnection, execution: ExecutionId, step: u32) -> Result<()> {
        if self.step != Some(step) {
            // Rows of a dataset do not change.
            let tags = std::mem::take(&mut self.view.tags);
            *self = Self { step: Some(step), ..Self::default() };
            self.view.tags = tags;
            let open: Vec<(String, i32, i32)> = sqlx::query_as(
                "SELECT phase, round, chunk FROM work WHERE execution_id = $1 AND step = $2 AND state <> 'done'",
            )
            .bind(execution.0)
            .bind(step.cast_signed())
            .fetch_all(&mut *tx)
            .await?;
            for (phase, round, chunk) in open {
                self.view.work.insert(key(step, phase, round, chunk), WorkState::Open);
            }
        }
        let done: Vec<(i32, String, i32, i32, Json<Outcome>)> = sqlx::query_as(
            "SELECT number, phase, round, chunk, result FROM work
             WHERE execution_id = $1 AND step = $2 AND number > $3 ORDER BY number",
        )
        .bind(execution.0)
        .bind(step.cast_signed())
        .bind(self.read)
        .fetch_all(&mut *tx)
        .await?;
        if done.iter().any(|(.., outcome)| !outcome.is_reproducible()) {
            sqlx::query("UPDATE executions SET reproducible = false WHERE id = $1 AND reproducible")
                .bind(execution.0)
                .execute(&mut *tx)
                .await?;
        }
        for (number, phase, round, chunk, outcome) in done {
            self.view.work.insert(key(step, phase, round, chunk), WorkState::Done(outcome.0));
            self.read = number;
        }
        Ok(())
    }
}

fn key(step: u32, phase: String, round: i32, chunk: i32) -> WorkKey {
    WorkKey::new(step, phase).round(round.cast_unsigned()).chunk(chunk.cast_unsigned())
}

/// Reads the rows that a recipe requested into its view.
///
/// # Errors
/// [`StoreError::NotFound`] for a missing row.
pub async fn wanted(tx: &mut PgConnection, wants: &[Want], view: &mut StepView) -> Result<()> {
    let mut problems = Vec::new();
    let mut rows: BTreeMap<DatasetId, Vec<u32>> = BTreeMap::new();
    for want in wants {
        match want {
            Want::Problem(id) => problems.push(id.0),
            Want::Row(dataset, index) => rows.entry(*dataset).or_default().push(*index),
            Want::Tag(dataset, tag) => {
                let tags = datasets::tags(&mut *tx, *dataset, tag).await?;
                view.tags.insert((*dataset, tag.clone()), Arc::new(tags));
            }
            Want::Reward(digest) => {
                let reward = rewards::find(&mut *tx, *digest).await?;
                view.rewards.insert(*digest, reward.source);
            }
        }
    }
    for (dataset, places) in rows {
        dataset_rows(tx, dataset, &places, view).await?;
    }
    let rows: Vec<ProblemRow> = sqlx::query_as(
        "SELECT id, index, proposer_id, version_id, type, prompt, proposal, valid, status, reason, program, \"values\",
             ast_depth, cyclomatic, loc, variables, cell FROM problems WHERE id = ANY($1)",
    )
    .bind(&problems)
    .fetch_all(&mut *tx)
    .await?;
    for row in rows {
        let problem = row.into_record();
        view.problems.insert(problem.id, problem);
    }
    match problems.into_iter().find(|id| !view.problems.contains_key(&ProblemId(*id))) {
        Some(missing) => Err(StoreError::not_found("problem", missing)),
        None => Ok(()),
    }
}

/// Rows with the text of the reward that each names.
async fn with_rewards(tx: &mut PgConnection, mut rows: Vec<(i32, Value)>) -> Result<Vec<(i32, Value)>> {
    let named = |row: &Value| match row["oracle"]["type"].as_str() {
        Some("python") => row["oracle"]["file"].as_str()?.parse::<Digest>().ok(),
        _ => None,
    };
    let mut digests: Vec<Digest> = rows.iter().filter_map(|(_, row)| named(row)).collect();
    digests.sort_unstable();
    digests.dedup();
    let mut sources = HashMap::new();
    for digest in digests {
        match rewards::find(&mut *tx, digest).await {
            Ok(reward) => sources.insert(digest, reward.source),
            // The verifier says so of each answer, which ends no run.
            Err(StoreError::NotFound { .. } | StoreError::RemovedReward { .. }) => None,
            Err(error) => return Err(error),
        };
    }
    for (_, row) in &mut rows {
        if let Some(source) = named(row).and_then(|digest| sources.get(&digest)) {
            row["oracle"]["source"] = Value::from(source.as_str());
        }
    }
    Ok(rows)
}

async fn dataset_rows(tx: &mut PgConnection, dataset: DatasetId, places: &[u32], view: &mut StepView) -> Result<()> {
    let indices: Vec<i32> = places.iter().map(|place| place.cast_signed()).collect();
    let rows: Vec<(i32, Value)> =
        sqlx::query_as("SELECT index, row FROM dataset_rows WHERE dataset_id = $1 AND index = ANY($2)")
            .bind(dataset.0)
            .bind(&indices)
            .fetch_all(&mut *tx)
            .await?;
    let rows = with_rewards(tx, rows).await?;
    for (index, row) in rows {
        view.rows.insert((dataset, index.cast_unsigned()), DatasetRow(row));
    }
    match places.iter().find(|place| !view.rows.contains_key(&(dataset, **place))) {
        Some(missing) => Err(StoreError::not_found("dataset row", format!("{dataset}/{missing}"))),
        None => Ok(()),
    }
}

#[derive(FromRow)]
struct ProblemRow {
    id: Uuid,
    index: i32,
    proposer_id: Option<Uuid>,
    version_id: Option<Uuid>,
    r#type: ProblemKind,
    prompt: String,
    proposal: String,
    valid: bool,
    status: Status,
    reason: String,
    program: Option<String>,
    values: Json<serde_json::Value>,
    ast_depth: Option<f32>,
    cyclomatic: Option<f32>,
    loc: Option<f32>,
    variables: Option<f32>,
    cell: Option<i32>,
}

impl ProblemRow {
    /// The record as it was written, without its source and parents, which only lists need.
    fn into_record(self) -> ProblemRecord {
        let descriptor = match (self.ast_depth, self.cyclomatic, self.loc, self.variables) {
            (Some(depth), Some(cyclomatic), Some(loc), Some(variables)) => Some([depth, cyclomatic, loc, variables]),
            _ => None,
        };
        ProblemRecord {
            proposer: self
                .proposer_id
                .zip(self.version_id)
                .map(|(member, version)| (MemberId(member), VersionId(version))),
            prompt: self.prompt,
            proposal: self.proposal,
            valid: self.valid,
            status: self.status,
            reason: self.reason,
            program: self.program,
            values: self.values.0,
            descriptor,
            cell: self.cell.map(i32::cast_unsigned),
            ..ProblemRecord::new(ProblemId(self.id), self.index.cast_unsigned(), self.r#type)
        }
    }
}
