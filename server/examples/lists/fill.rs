//! The generated database: a million problems, five million attempts, 5,000 runs, of which 500 have 2,000 steps.

use anyhow::Context as _;
use lyceum_store::Store;
use std::time::Instant;

/// Rows by table, in the order in which they refer to one another. The first run has half of all problems.
const FILL: [(&str, &str); 12] = [
    (
        "runs",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, metrics, state, step, steps, finished_at, error)
             SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'run', 'recipe' || n % 3, '{}',
                 CASE WHEN n <= 500 THEN ARRAY(SELECT 'metric_' || m FROM generate_series(1, 60) m) ELSE '{}' END,
                 CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 10 = 0 THEN 'running' ELSE 'completed' END,
                 CASE WHEN n <= 500 THEN 1999 ELSE 0 END, 2000,
                 CASE WHEN n % 10 <> 0 OR n % 50 = 0 THEN now() END, CASE WHEN n % 50 = 0 THEN 'it failed' END
             FROM generate_series(1, 5000) n RETURNING id, seq)
         INSERT INTO runs (id, name, arm, seed, tags) SELECT id, 'run ' || seq, 'arm' || seq / 3, seq, ARRAY['tag' || seq % 20] FROM e",
    ),
    (
        "populations",
        "INSERT INTO populations (id, run_id, name, base_model, lora)
         SELECT uuid_generate(id::text || 'p'), id, 'main', '{}', '{}' FROM runs",
    ),
    (
        "members",
        "INSERT INTO members (id, run_id, population_id, name, roles, born_step)
         SELECT uuid_generate(r.id::text || m), r.id, uuid_generate(r.id::text || 'p'), 'member-' || m, ARRAY['teacher'], 0
         FROM runs r, generate_series(0, 7) m",
    ),
    (
        "artifacts",
        "INSERT INTO artifacts (digest, kind, bytes) VALUES (repeat('0', 64), 'adapter', 1)",
    ),
    (
        "versions",
        "INSERT INTO adapter_versions (id, run_id, member_id, ordinal, step, artifact)
         SELECT uuid_generate(id::text || 'v'), run_id, id, 0, 0, repeat('0', 64) FROM members",
    ),
    (
        "work",
        "INSERT INTO work (id, execution_id, step, phase, round, chunk, kind, payload, state, max_attempts, result, finished_at)
         SELECT uuid_generate('w' || n), ('00000000-0000-4000-8000-' || lpad(to_hex(1 + n % 40), 12, '0'))::uuid, n / 400,
             'phase', 0, n / 40, (ARRAY['rollout', 'verify', 'update', 'evolve', 'benchmark'])[1 + n % 5], '{}',
             CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'done' END, 5, CASE WHEN n % 1000 <> 0 THEN '{}'::json END, now()
         FROM generate_series(0, $1 / 2 - 1) n",
    ),
    (
        "problems",
        "INSERT INTO problems (id, run_id, step, index, proposer_id, version_id, type, prompt, proposal, valid, status, reason,
             program, \"values\", ast_depth, cyclomatic, loc, variables, cell, solve_rate, attempts, reward)
         SELECT uuid_generate('q' || n), run, n / 4000, n % 4000, uuid_generate(run::text || n % 8),
             uuid_generate(uuid_generate(run::text || n % 8)::text || 'v'), 'code_' || (ARRAY['i', 'o', 'f'])[1 + n % 3],
             repeat('Propose a program. ', 20), repeat('def f(x): return x ', 10), n % 5 <> 0,
             CASE WHEN n % 5 <> 0 THEN 'ok' WHEN n % 997 = 0 THEN 'memory' ELSE 'timeout' END,
             CASE WHEN n % 5 <> 0 THEN '' ELSE 'it took too long' END,
             format(E'def f(x):\\n    seen_%s = x + %s\\n    return seen_%s', n % 10000, n, n % 10000), '{}', n % 9, n % 7, n % 40,
             n % 6, n % 1024, CASE WHEN n % 5 <> 0 THEN (n % 9) / 8.0 END, 5, 0.5
         FROM (SELECT n, ('00000000-0000-4000-8000-' || lpad(to_hex(CASE WHEN n % 2 = 0 THEN 1 ELSE 2 + n % 38 END), 12, '0'))::uuid
             AS run FROM generate_series(0, $1 - 1) n) each",
    ),
    (
        "attempts",
        "INSERT INTO attempts (id, run_id, step, problem_id, member_id, version_id, role, sample, text, answer, well_formed,
             status, reason, correct, reward, reward_parts, tokens)
         SELECT gen_random_uuid(), p.run_id, p.step, p.id, p.proposer_id, p.version_id, 'student', s, 'It is 2.', '2', true, 'ok',
             '', s % 2 = 0, 1, '{}', 12 FROM problems p, generate_series(0, 4) s",
    ),
    // 500 runs with 2,000 steps; the first one with the metrics of its eight members too.
    (
        "steps",
        "INSERT INTO steps (execution_id, step, total, ended, planned, started_at, finished_at)
         SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(r), 12, '0'))::uuid, s, 10, 10, 10, now() - interval '1 minute' * (2000 - s),
             now() - interval '1 minute' * (1999 - s) FROM generate_series(1, 500) r, generate_series(0, 1999) s",
    ),
    (
        "metrics",
        "INSERT INTO metrics (run_id, step, \"values\")
         SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(r), 12, '0'))::uuid, s, array_fill(random(), ARRAY[60])
         FROM generate_series(1, 500) r, generate_series(0, 1999) s",
    ),
    (
        "members' metrics",
        "INSERT INTO metrics (run_id, step, member_id, \"values\")
         SELECT m.run_id, s, m.id, array_fill(random(), ARRAY[60]) FROM members m, generate_series(0, 1999) s
         WHERE m.run_id = '00000000-0000-4000-8000-000000000001'",
    ),
    (
        "levels of metrics",
        "INSERT INTO metric_levels (run_id, member_id, level, bucket, mean, min, max)
         SELECT run_id, member_id, level, step / (4 ^ level)::int, \"values\", \"values\", \"values\"
         FROM metrics, generate_series(1, 4) level WHERE step % (4 ^ level)::int = 0 AND step + (4 ^ level)::int <= 2000",
    ),
];

/// Writes it all.
pub(super) async fn fill(store: &Store, problems: i64) -> anyhow::Result<()> {
    let mut connection = store.pool().acquire().await?;
    let prepare = [
        "SET synchronous_commit = off",
        // What is generated refers rightly; checking it row by row would take most of the time.
        "SET session_replication_role = replica",
        "CREATE FUNCTION uuid_generate(text) RETURNS uuid LANGUAGE sql IMMUTABLE AS 'SELECT md5($1)::uuid'",
    ];
    for statement in prepare {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    for (table, statement) in FILL {
        let began = Instant::now();
        let query = sqlx::query(statement);
        let query = if statement.contains("$1") {
            query.bind(problems)
        } else {
            query
        };
        let rows = query
            .execute(&mut *connection)
            .await
            .with_context(|| format!("{table} could not be made"))?;
        eprintln!(
            "{} {table} in {:.0} s",
            rows.rows_affected(),
            began.elapsed().as_secs_f64()
        );
    }
    sqlx::query("VACUUM ANALYZE").execute(&mut *connection).await?;
    Ok(())
}
