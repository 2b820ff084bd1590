//! Writing problems and their outcomes.

use lyceum_core::recipe::{ParentRelation, ProblemOutcomeRecord, ProblemRecord};
use sqlx::{PgConnection, QueryBuilder, types::Json};

use crate::{
    Result,
    steps::StepRef,
    text::{json_text, storable},
};

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 1000;

/// Writes problems with their parents, and counts them on the run.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[ProblemRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let values = batch.iter().map(|record| json_text("problem", &record.values));
        let values = values.collect::<Result<Vec<String>>>()?;
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO problems (id, run_id, step, index, proposer_id, version_id, type, prompt,
             proposal, valid, status, reason, program, \"values\", ast_depth, cyclomatic, loc, variables, cell) ",
        );
        insert.push_values(batch.iter().zip(values), |mut row, (record, values)| {
            row.push_bind(record.id.0)
                .push_bind(at.run.0)
                .push_bind(at.number())
                .push_bind(record.index.cast_signed())
                .push_bind(record.proposer.map(|(member, _)| member.0))
                .push_bind(record.proposer.map(|(_, version)| version.0))
                .push_bind(record.kind)
                .push_bind(storable(&record.prompt))
                .push_bind(storable(&record.proposal))
                .push_bind(record.valid)
                .push_bind(record.status)
                .push_bind(storable(&record.reason))
                .push_bind(record.program.as_deref().map(storable))
                .push_bind(values)
                .push_unseparated("::text::json");
            for dimension in 0..4 {
                row.push_bind(record.descriptor.map(|descriptor| descriptor[dimension]));
            }
            row.push_bind(record.cell.map(u32::cast_signed));
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING valid)
             UPDATE runs SET problems = problems + n.all, valid_problems = valid_problems + n.valid
             FROM (SELECT count(*) AS all, count(*) FILTER (WHERE valid) AS valid FROM inserted) n WHERE id = ",
        );
        insert.push_bind(at.run.0);
        insert.build().execute(&mut *tx).await?;
    }
    let parents = records
        .iter()
        .flat_map(|record| {
            record
                .parents
                .iter()
                .map(move |(parent, relation)| (record.id, *parent, *relation))
        })
        .collect::<Vec<_>>();
    for batch in parents.chunks(BATCH) {
        let mut insert = QueryBuilder::new("INSERT INTO problem_parents (problem_id, parent_id, relation) ");
        insert.push_values(
            batch,
            |mut row, (problem, parent, relation): &(_, _, ParentRelation)| {
                row.push_bind(problem.0).push_bind(parent.0).push_bind(*relation);
            },
        );
        insert.push(" ON CONFLICT DO NOTHING");
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}

/// Writes the outcomes of problems.
pub(crate) async fn write_outcomes(tx: &mut PgConnection, records: &[ProblemOutcomeRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut update = QueryBuilder::new(
            "UPDATE problems p SET solve_rate = o.solve_rate, attempts = o.attempts, reward = o.reward,
             reward_parts = o.reward_parts FROM (",
        );
        update.push_values(batch, |mut row, record| {
            row.push_bind(record.problem.0);
            row.push_bind(record.solve_rate).push_unseparated("::real");
            row.push_bind(record.attempts.cast_signed()).push_bind(record.reward);
            row.push_bind(Json(&record.reward_parts)).push_unseparated("::jsonb");
        });
        update.push(") AS o (id, solve_rate, attempts, reward, reward_parts) WHERE p.id = o.id");
        update.build().execute(&mut *tx).await?;
    }
    Ok(())
}
