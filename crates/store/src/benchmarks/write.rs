//! Writing results of benchmarks and their samples.

use lyceum_core::{
    id::ExecutionId,
    recipe::{BenchmarkResultRecord, BenchmarkSampleRecord},
    work::FinishReason,
};
use sqlx::{PgConnection, QueryBuilder, types::Json};
use uuid::Uuid;

use crate::{Result, runs, text::storable};

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 2000;

/// Writes results, whose samples are there, but for those of runs that were deleted; returns how many are new.
pub(crate) async fn write_results(
    tx: &mut PgConnection,
    evaluation: ExecutionId,
    records: &[BenchmarkResultRecord],
) -> Result<u64> {
    let there = runs::present(tx, records.iter().filter_map(|record| record.run)).await?;
    let mut new = 0;
    for record in records {
        if record.run.is_some_and(|run| !there.contains(&run)) {
            continue;
        }
        let first = record.score.pass_at_k(1);
        let integers = |counts: &[u32]| counts.iter().map(|count| count.cast_signed()).collect::<Vec<i32>>();
        let inserted = sqlx::query(
            "INSERT INTO benchmark_results (id, evaluation_id, suite, subject, name, role, run_id, member_id, version_id, step,
                 base_model, dataset_id, protocol, n, rows, samples, correct, base_correct, pass_at_1, standard_error,
                 completion_tokens, seconds, entropy, truncated)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (SELECT id FROM datasets WHERE id = $12), $13, $14, $15,
                 $16, $17, $18, $19, $20, $21, $22, $23,
                 (SELECT count(*) FROM benchmark_samples
                  WHERE evaluation_id = $2 AND suite = $3 AND subject = $4 AND finish_reason = 'length'))
             ON CONFLICT DO NOTHING",
        )
        .bind(Uuid::new_v5(
            &evaluation.0,
            format!("result/{}/{}", record.suite, record.subject).as_bytes(),
        ))
        .bind(evaluation.0)
        .bind(&record.suite)
        .bind(record.subject.cast_signed())
        .bind(&record.name)
        .bind(record.role)
        .bind(record.run.map(|id| id.0))
        .bind(record.member.map(|id| id.0))
        .bind(record.version.map(|id| id.0))
        .bind(record.step.map(u32::cast_signed))
        .bind(&record.base_model.name)
        .bind(record.dataset.0)
        .bind(Json(&record.protocol))
        .bind(record.n.cast_signed())
        .bind(i32::try_from(record.score.samples.len()).unwrap_or(i32::MAX))
        .bind(integers(&record.score.samples))
        .bind(integers(&record.score.correct))
        .bind(record.base.as_ref().map(|base| integers(&base.correct)))
        .bind(first.map_or(0.0, |spread| spread.mean))
        .bind(first.map_or(0.0, |spread| spread.standard_error))
        .bind(i64::try_from(record.completion_tokens).unwrap_or(i64::MAX))
        .bind(record.seconds)
        .bind(record.entropy)
        .execute(&mut *tx)
        .await?;
        new += inserted.rows_affected();
    }
    Ok(new)
}

/// Writes samples.
pub(crate) async fn write_samples(
    tx: &mut PgConnection,
    evaluation: ExecutionId,
    records: &[BenchmarkSampleRecord],
) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "INSERT INTO benchmark_samples (evaluation_id, suite, subject, row, sample, task_id, text, solution, finish_reason,
                 tokens, status, reason, correct, base_correct) ",
        );
        insert.push_values(batch, |mut row, record| {
            let (sample, graded) = (&record.sample, &record.graded);
            row.push_bind(evaluation.0)
                .push_bind(&record.suite)
                .push_bind(record.subject.cast_signed())
                .push_bind(sample.row.cast_signed())
                .push_bind(sample.sample.cast_signed())
                .push_bind(storable(&record.task_id))
                .push_bind(storable(&sample.text))
                .push_bind(sample.solution.as_deref().map(storable))
                .push_bind(match sample.finish_reason {
                    FinishReason::Stop => "stop",
                    FinishReason::Length => "length",
                })
                .push_bind(sample.tokens.cast_signed())
                .push_bind(graded.status)
                .push_bind(storable(&graded.reason))
                .push_bind(graded.correct)
                .push_bind(graded.base_correct);
        });
        insert.push(" ON CONFLICT DO NOTHING");
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}
