//! Births, with their parents.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::BirthRecord;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::artifact::{self, Reason};
use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::seed::Seed;
use crate::steps::StepRef;

/// A birth.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Birth {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The child.
    pub child_id: Uuid,
    /// Its name.
    pub child: String,
    /// The step.
    pub step: i32,
    /// `init`, or an operator of the catalogue.
    pub operator: String,
    /// All values of the operator's parameters.
    #[schema(value_type = Object)]
    pub parameters: serde_json::Value,
    /// The operator's seed.
    #[sqlx(try_from = "String")]
    #[schema(value_type = u64)]
    pub seed: Seed,
    /// The member the child replaces.
    pub replaces_id: Option<Uuid>,
    /// What a founder began with, if not with fresh weights: an adapter, or a version of another run, as it was called then.
    pub ancestor: Option<String>,
    /// Notes of the operator.
    pub notes: Vec<String>,
    /// The child's own learning rate; null if it learns at the config's.
    pub learning_rate: Option<f64>,
    /// The parents, in the operator's order.
    #[schema(value_type = Vec<Parent>)]
    pub parents: Json<Vec<Parent>>,
}

/// A parent's weights at a birth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Parent {
    /// The member.
    pub member_id: Uuid,
    /// Its name.
    pub member: String,
    /// The run that it belongs to: another one for members that began with the weights of another run.
    pub run_id: Uuid,
    /// The weights.
    pub version_id: Uuid,
    /// Their ordinal.
    pub ordinal: i32,
    /// ‖ΔW_child − ΔW_parent‖ / ‖ΔW_parent‖ at the birth; null if it was not measured or the parent's update is zero.
    pub displacement: Option<f64>,
}

keyed_by_seq!(Birth);

/// Births of `run`.
pub async fn page(db: &PgPool, run: ExecutionId, window: &Window) -> Result<Page<Birth>> {
    let mut query = QueryBuilder::new(
        "SELECT m.seq, b.child_id, m.name AS child, b.step, b.operator, b.parameters, b.seed::text AS seed,
             b.replaces_id, b.ancestor, b.notes,
             (SELECT learning_rate FROM adapter_versions WHERE member_id = m.id AND ordinal = 0) AS learning_rate,
             (SELECT coalesce(json_agg(json_build_object('member_id', v.member_id,
                  'member', (SELECT name FROM members WHERE id = v.member_id), 'run_id', v.run_id, 'version_id', v.id, 'ordinal',
                  v.ordinal, 'displacement', (SELECT d.distance / nullif(g.norm, 0) FROM geometry_pairs d JOIN geometry g ON g.version_id = d.second_id AND g.step = d.step
                  JOIN adapter_versions c ON c.id = d.first_id WHERE d.second_id = v.id AND d.step = b.step AND c.member_id = p.child_id)) ORDER BY p.position), '[]')
              FROM birth_parents p JOIN adapter_versions v ON v.id = p.version_id WHERE p.child_id = b.child_id) AS parents
         FROM births b JOIN members m ON m.id = b.child_id WHERE m.run_id = ",
    );
    query.push_bind(run.0);
    by_seq(db, query, "m.seq", window).await
}

/// Writes births and their parents, and holds the parents' weights and optimizer state.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[BirthRecord]) -> Result<()> {
    for record in records {
        let inserted = sqlx::query(
            "INSERT INTO births (child_id, run_id, step, phase, chunk, operator, parameters, seed, replaces_id, notes, ancestor)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::numeric, $9, $10, (
                 SELECT called FROM (
                     SELECT 1 AS place, CASE WHEN v.run_id <> $2 THEN r.name || '/' || m.name || ' v' || v.ordinal END AS called
                     FROM adapter_versions v JOIN members m ON m.id = v.member_id JOIN runs r ON r.id = v.run_id WHERE v.id = $11
                     UNION ALL SELECT 2, 'adapter ' || name FROM adapters WHERE id = $11
                     UNION ALL SELECT 3, $11::uuid::text
                 ) ancestors ORDER BY place LIMIT 1
             )) ON CONFLICT DO NOTHING",
        )
        .bind(record.child.0)
        .bind(at.run.0)
        .bind(at.number())
        .bind(&record.source.phase)
        .bind(record.source.chunk.cast_signed())
        .bind(&record.operator)
        .bind(&record.parameters)
        .bind(record.seed.to_string())
        .bind(record.replaces.map(|member| member.0))
        .bind(&record.notes)
        .bind(record.parents.first().map(|parent| parent.0))
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 0 {
            continue;
        }
        for (position, parent) in (0i16..).zip(&record.parents) {
            // An imported adapter is no version, and one of another run may have been deleted since this run was created.
            sqlx::query(
                "INSERT INTO birth_parents (child_id, position, version_id)
                 SELECT $1, $2, id FROM adapter_versions WHERE id = $3",
            )
            .bind(record.child.0)
            .bind(position)
            .bind(parent.0)
            .execute(&mut *tx)
            .await?;
            let artifacts: Option<(String, Option<String>)> =
                sqlx::query_as("SELECT artifact, optimizer FROM adapter_versions WHERE id = $1")
                    .bind(parent.0)
                    .fetch_optional(&mut *tx)
                    .await?;
            let (weights, optimizer) = artifacts.unzip();
            for digest in [weights, optimizer.flatten()].into_iter().flatten().filter_map(|digest| digest.parse().ok())
            {
                // The optimizer state of an early version may be gone.
                artifact::hold_if_there(tx, digest, at.run, Reason::Birth, record.child.0, None).await?;
            }
        }
    }
    Ok(())
}
