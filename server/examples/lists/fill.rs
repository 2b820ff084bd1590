//! The generated database: a million problems, five million attempts, 10,000 runs, of which 500 have 2,000 steps.
//!
//! Run 1 is the big one: half of all problems and attempts, sixteen members at a time, 400 that lived, weights of every step,
//! ratings and metrics of every member. Runs 2 to 20 have ratings and matchups of every step, runs 21 to 500 of every
//! twentieth. The others are short, and there to be listed. One more learns from 2,000 rows of a dataset, 64 of them 8 times
//! in each of 500 steps. Two hundred checkpoints of a run of `gasp` attempted 1,000 goalposts, and the untrained base in the place of each.

use anyhow::Context as _;
use lyceum_core::config::resolve;
use lyceum_core::recipe::Registry;
use lyceum_store::Store;
use std::time::Instant;

/// What the runs with steps are runs of.
const PRESET: &str = include_str!("../../../configs/runs/demo.toml");

/// Who lived when: each of a run's slots is held by one member after the other, the first half of them by teachers.
const FUNCTIONS: [&str; 8] = [
    "CREATE FUNCTION uuid_generate(text) RETURNS uuid LANGUAGE sql IMMUTABLE AS 'SELECT md5($1)::uuid'",
    "CREATE FUNCTION run_id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
         AS $$SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid$$",
    "CREATE FUNCTION slots(run int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN run = 1 THEN 16 ELSE 8 END'",
    // Steps that a member lives.
    "CREATE FUNCTION life(run int) RETURNS int LANGUAGE sql IMMUTABLE
         AS 'SELECT CASE WHEN run = 1 THEN 80 WHEN run <= 500 THEN 200 ELSE 2000 END'",
    "CREATE FUNCTION generation(run int, slot int, step int) RETURNS int LANGUAGE sql IMMUTABLE
         AS 'SELECT greatest(0, (step - slot * life(run) / slots(run)) / life(run))'",
    "CREATE FUNCTION born(run int, slot int, generation int) RETURNS int LANGUAGE sql IMMUTABLE
         AS 'SELECT CASE WHEN generation = 0 THEN 0 ELSE slot * life(run) / slots(run) + generation * life(run) END'",
    "CREATE FUNCTION member_at(run int, slot int, step int) RETURNS uuid LANGUAGE sql IMMUTABLE
         AS $$SELECT uuid_generate('m' || run || '.' || slot || '.' || generation(run, slot, step))$$",
    // A number that looks drawn, and is the same each time.
    "CREATE FUNCTION draw(n bigint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT hashint8(n) & 2147483647'",
];

/// Rows by table, in the order in which they refer to one another. Their contents are made in `made_of`: the number of
/// problems, a config and the names of its metrics.
static FILL: [(&str, &str); 36] = [
    (
        "experiments",
        "INSERT INTO experiments (id, name, description)
         SELECT uuid_generate('x' || n), 'experiment ' || n, 'Does it learn?' FROM generate_series(0, 49) n",
    ),
    (
        "runs",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, metrics, state, step, steps, finished_at, error)
             SELECT run_id(n), 'run', CASE WHEN n % 3 = 0 THEN 'azr' ELSE 'populora' END,
                 CASE WHEN n <= 500 THEN jsonb_set(m.config, '{seed}', to_jsonb(n)) ELSE '{}' END, m.metrics,
                 CASE WHEN n % 50 = 0 THEN 'failed' WHEN n <= 500 AND n % 50 = 10 THEN 'running' ELSE 'completed' END,
                 CASE WHEN n > 500 THEN 20 WHEN n % 50 = 10 THEN 1999 ELSE 2000 END, CASE WHEN n > 500 THEN 20 ELSE 2000 END,
                 CASE WHEN n % 50 <> 10 OR n > 500 THEN now() END, CASE WHEN n % 50 = 0 THEN 'it failed' END
             FROM generate_series(1, 10000) n, made_of m RETURNING id, seq)
         INSERT INTO runs (id, experiment_id, name, arm, seed, preset, tags)
         SELECT id, uuid_generate('x' || seq % 50), 'run ' || seq, 'arm' || seq / 3, seq, 'demo', ARRAY['tag' || seq % 20] FROM e",
    ),
    (
        "populations",
        "INSERT INTO populations (id, run_id, name, base_model, lora)
         SELECT uuid_generate(id::text || 'p'), id, 'main', '{\"name\": \"seedling\"}', '{}' FROM runs",
    ),
    (
        "members",
        "INSERT INTO members (id, run_id, population_id, name, roles, born_step, died_step, cause_of_death)
         SELECT uuid_generate('m' || r || '.' || s || '.' || g), run_id(r), uuid_generate(run_id(r)::text || 'p'),
             CASE WHEN s < slots(r) / 2 THEN 'teacher-' ELSE 'student-' END || s || '.' || g,
             CASE WHEN s < slots(r) / 2 THEN ARRAY['teacher'] ELSE ARRAY['student'] END, born(r, s, g),
             CASE WHEN g < generation(r, s, 1999) THEN born(r, s, g + 1) END,
             CASE WHEN g < generation(r, s, 1999) THEN 'culled: lowest lower bound' END
         FROM generate_series(1, 10000) r, generate_series(0, slots(r) - 1) s, generate_series(0, generation(r, s, 1999)) g
         ORDER BY r, born(r, s, g), s",
    ),
    (
        "artifacts",
        "INSERT INTO artifacts (digest, kind, bytes) VALUES (repeat('0', 64), 'adapter', 1)",
    ),
    (
        "versions",
        "INSERT INTO adapter_versions (id, run_id, member_id, ordinal, step, artifact)
         SELECT uuid_generate(m.id::text || 'v' || o), m.run_id, m.id, o, m.born_step + o, repeat('0', 64)
         FROM members m, generate_series(0, CASE WHEN m.run_id = run_id(1) THEN coalesce(m.died_step, 2000) - m.born_step - 1
             ELSE 0 END) o",
    ),
    (
        "births",
        "INSERT INTO births (child_id, run_id, step, phase, chunk, operator, parameters, seed, replaces_id)
         SELECT uuid_generate('m' || r || '.' || s || '.' || g), run_id(r), born(r, s, g), 'evolve', s,
             (ARRAY['M1', 'M2', 'M3', 'M4', 'X1', 'X3', 'X4', 'X7'])[1 + (s + g) % 8], '{}', g,
             uuid_generate('m' || r || '.' || s || '.' || g - 1)
         FROM generate_series(1, 500) r, generate_series(0, slots(r) - 1) s, generate_series(1, generation(r, s, 1999)) g",
    ),
    (
        "parents",
        "INSERT INTO birth_parents (child_id, position, version_id)
         SELECT uuid_generate('m' || r || '.' || s || '.' || g), p,
             uuid_generate(member_at(r, s / (slots(r) / 2) * (slots(r) / 2) + (s + p + 1) % (slots(r) / 2),
                 born(r, s, g) - 1)::text || 'v0')
         FROM generate_series(1, 500) r, generate_series(0, slots(r) - 1) s, generate_series(1, generation(r, s, 1999)) g,
             generate_series(0, (s + g) % 8 / 4) p",
    ),
    (
        "ratings",
        "INSERT INTO ratings (run_id, step, member_id, role, mu, sigma)
         SELECT run_id(r), t, member_at(r, s, t), CASE WHEN s < slots(r) / 2 THEN 'teacher' ELSE 'student' END,
             25 + 6 * sin(t / 90.0 + s) + draw(r * 100 + s) % 100 / 50.0, 1 + 7 * exp(-(t % life(r)) / 30.0)
         FROM generate_series(1, 10000) r, generate_series(0, CASE WHEN r <= 500 THEN 1999 ELSE 0 END,
             CASE WHEN r <= 20 THEN 1 ELSE 20 END) t, generate_series(0, slots(r) - 1) s",
    ),
    (
        "standings",
        "INSERT INTO standings (member_id, role, run_id, seq, step, mu, sigma)
         SELECT DISTINCT ON (r.member_id, r.role) r.member_id, r.role, r.run_id, m.seq, r.step, r.mu, r.sigma
         FROM ratings r JOIN members m ON m.id = r.member_id ORDER BY r.member_id, r.role, r.step DESC",
    ),
    (
        "matchups",
        "INSERT INTO matchups (id, run_id, step, teacher_id, student_id, proposed, valid, solve_rate, predicted, winner)
         SELECT gen_random_uuid(), run_id(r), t, member_at(r, s, t),
             member_at(r, slots(r) / 2 + (s + t) % (slots(r) / 2), t), 24, 20, draw(t * 16 + s) % 9 / 8.0, 0.5,
             CASE WHEN draw(t * 16 + s) % 9 > 4 THEN 'student' ELSE 'teacher' END
         FROM generate_series(1, 500) r, generate_series(0, 1999, CASE WHEN r <= 20 THEN 1 ELSE 20 END) t,
             generate_series(0, slots(r) / 2 - 1) s",
    ),
    (
        "workers",
        "INSERT INTO workers (id, name, host, device, kinds, memory_bytes, state, stopped_at)
         SELECT uuid_generate('k' || n), 'worker ' || n, 'host', 'cpu', ARRAY['rollout', 'verify'], 1 << 30,
             CASE WHEN n < 8 THEN 'busy' ELSE 'stopped' END, CASE WHEN n >= 8 THEN now() END FROM generate_series(0, 199) n",
    ),
    (
        "work",
        "INSERT INTO work (id, execution_id, step, phase, round, chunk, kind, payload, state, max_attempts, result, started_at,
             finished_at, worker_id)
         SELECT uuid_generate('w' || n), run_id(1 + n % 40), n / 40 * 2000 / (m.problems / 80 + 1),
             'phase', 0, n / 40, (ARRAY['rollout', 'verify', 'update', 'evolve', 'benchmark'])[1 + n % 5], '{}',
             CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'done' END, 5, CASE WHEN n % 1000 <> 0 THEN '{}'::json END,
             now() - interval '1 minute', now(), uuid_generate('k' || n % 200)
         FROM made_of m, generate_series(0, (m.problems / 2 - 1)::int) n",
    ),
    (
        "problems",
        "INSERT INTO problems (id, run_id, step, index, proposer_id, version_id, type, prompt, proposal, valid, status, reason,
             program, \"values\", ast_depth, cyclomatic, loc, variables, cell, solve_rate, attempts, reward)
         SELECT uuid_generate('q' || n), run_id(r), step, k % per_step, proposer, uuid_generate(proposer::text || 'v0'),
             'code_' || (ARRAY['i', 'o', 'f'])[1 + d % 3], repeat('Propose a program. ', 20), repeat('def f(x): return x ', 10),
             d % 6 <> 0, CASE WHEN d % 6 <> 0 THEN 'ok' WHEN d % 997 = 0 THEN 'memory' ELSE 'timeout' END,
             CASE WHEN d % 6 <> 0 THEN '' ELSE 'it took too long' END,
             format(E'def f(x):\\n    seen_%s = x + %s\\n    return seen_%s', n % 10000, n, n % 10000),
             '{\"input\": \"1\", \"output\": \"2\"}', d / 7 % 9, d / 11 % 7, d / 13 % 40, d / 17 % 6,
             CASE WHEN d % 6 <> 0 THEN d / 19 % 1024 END,
             CASE WHEN d % 6 <> 0 THEN d / 23 % 7 / 6.0 END, CASE WHEN d % 6 <> 0 THEN 6 ELSE 0 END, 0.5
         FROM (SELECT *, k / per_step AS step, member_at(r, d % (slots(r) / 2), k / per_step) AS proposer
             FROM (SELECT n, draw(n) AS d, CASE WHEN n % 2 = 0 THEN 1 ELSE 2 + n / 2 % 499 END AS r,
                 CASE WHEN n % 2 = 0 THEN n / 2 ELSE n / 2 / 499 END AS k,
                 CASE WHEN n % 2 = 0 THEN greatest(1, m.problems / 4000)::int ELSE 1 END AS per_step
                 FROM made_of m, generate_series(0, m.problems::int - 1) n) placed) each ORDER BY n",
    ),
    (
        "solve rates",
        "INSERT INTO solve_rates (run_id, step, solve_rate, problems)
         SELECT run_id, step, solve_rate, count(*) FROM problems WHERE solve_rate IS NOT NULL AND attempts > 0
         GROUP BY run_id, step, solve_rate",
    ),
    (
        "parents of problems",
        "INSERT INTO problem_parents (problem_id, parent_id, relation)
         SELECT uuid_generate('q' || n), uuid_generate('q' || n - 2 * p), 'reference'
         FROM made_of m, generate_series(1000, m.problems::int - 1, 6) n, generate_series(1, 2) p",
    ),
    (
        "attempts",
        "INSERT INTO attempts (id, run_id, step, problem_id, member_id, version_id, role, sample, text, answer, well_formed,
             status, reason, correct, reward, reward_parts, tokens)
         SELECT gen_random_uuid(), run_id(r), step, problem, student, uuid_generate(student::text || 'v0'), 'student', s,
             'The function adds a number to its input, so it is the sum of both. <answer>2</answer>', '2', true, 'ok', '',
             s < solved, (s < solved)::int, '{}', 12
         FROM (SELECT p.id AS problem, p.seq, p.step, r, round(p.solve_rate * 6) AS solved,
                 member_at(r, slots(r) / 2 + (draw(p.seq - 1) % (slots(r) / 2) + p.step) % (slots(r) / 2), p.step) AS student
             FROM problems p, LATERAL (SELECT CASE WHEN p.seq % 2 = 1 THEN 1 ELSE 2 + ((p.seq - 1) / 2 % 499)::int END AS r) of_run
             WHERE p.valid) met, generate_series(0, 5) s ORDER BY met.seq, s",
    ),
    (
        "cross-play",
        "INSERT INTO cross_play (run_id, step, teacher_id, student_id, type, attempts, solved)
         SELECT a.run_id, a.step, p.proposer_id, a.member_id, p.type, count(*), count(*) FILTER (WHERE a.correct)
         FROM attempts a JOIN problems p ON p.id = a.problem_id GROUP BY a.run_id, a.step, p.proposer_id, a.member_id, p.type",
    ),
    (
        "insertions",
        "INSERT INTO archive_insertions (run_id, step, cell, problem_id, status, objective)
         SELECT run_id, step, cell, id, CASE WHEN row_number() OVER (PARTITION BY run_id, cell ORDER BY seq) = 1 THEN 'new'
             ELSE 'improve' END, 1 - abs(solve_rate - 0.5) FROM problems WHERE valid AND seq % 25 = 1 ORDER BY seq",
    ),
    (
        "steps",
        "INSERT INTO steps (execution_id, step, total, ended, planned, started_at, finished_at)
         SELECT run_id(r), s, 10, 10, 10, now() - interval '1 minute' * (2000 - s), now() - interval '1 minute' * (1999 - s)
         FROM generate_series(1, 500) r, generate_series(0, 1999) s",
    ),
    (
        "metrics",
        "INSERT INTO metrics (run_id, step, \"values\")
         SELECT run_id(r), s, array_fill(random(), ARRAY[cardinality(m.metrics)])
         FROM made_of m, generate_series(1, 10000) r, generate_series(0, CASE WHEN r <= 500 THEN 1999 ELSE 19 END) s",
    ),
    (
        "recent metrics",
        // The trigger that keeps them is off.
        "INSERT INTO recent_metrics (run_id, steps, \"values\")
         SELECT run_id(r), width, array_fill(random(), ARRAY[cardinality(m.metrics)])
         FROM made_of m, generate_series(1, 10000) r, unnest(ARRAY[1, 16, 64]) width",
    ),
    (
        "members' metrics",
        "INSERT INTO metrics (run_id, step, member_id, \"values\")
         SELECT run_id(1), t, member_at(1, s, t), array_fill(random(), ARRAY[cardinality(m.metrics)])
         FROM made_of m, generate_series(0, 1999) t, generate_series(0, 15) s",
    ),
    (
        "levels of metrics",
        "INSERT INTO metric_levels (run_id, member_id, level, bucket, mean, min, max)
         SELECT run_id, member_id, level, step / (4 ^ level)::int, \"values\", \"values\", \"values\"
         FROM metrics, generate_series(1, 4) level WHERE step % (4 ^ level)::int = 0 AND step + (4 ^ level)::int <= 2000
             AND run_id <= run_id(500)",
    ),
    (
        "evaluations",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, state, step, steps, finished_at)
             SELECT uuid_generate('e' || r || '.' || k), 'evaluation', 'evaluation/benchmark', '{}', 'completed', 1, 1, now()
             FROM generate_series(1, 100) r, generate_series(1, 4) k ORDER BY k, r),
         v AS (INSERT INTO evaluations (id, run_id, spec)
             SELECT uuid_generate('e' || r || '.' || k), run_id(r),
                 jsonb_build_object('type', 'benchmark', 'run', run_id(r), 'step', k * 500 - 1, 'suites', ARRAY['humaneval', 'mbpp'])
             FROM generate_series(1, 100) r, generate_series(1, 4) k)
         INSERT INTO benchmark_results (id, evaluation_id, suite, subject, name, role, run_id, member_id, version_id, step,
             base_model, row_set, decoding, protocol, n, rows, samples, correct, pass_at_1, standard_error, completion_tokens,
             seconds)
         SELECT uuid_generate('b' || r || '.' || k || '.' || s || suite), uuid_generate('e' || r || '.' || k), suite, s,
             CASE WHEN s = slots(r) THEN 'seedling' ELSE 'member ' || s END,
             CASE WHEN s = slots(r) THEN 'base' WHEN s < slots(r) / 2 THEN 'teacher' ELSE 'student' END, run_id(r),
             CASE WHEN s < slots(r) THEN member_at(r, s, k * 500 - 1) END,
             CASE WHEN s < slots(r) THEN uuid_generate(member_at(r, s, k * 500 - 1)::text || 'v0') END,
             CASE WHEN s < slots(r) THEN k * 500 - 1 END, 'seedling', 'rows', 'greedy',
             '{\"style\": \"chat\", \"prompt\": \"chat\", \"temperature\": 0, \"max_tokens\": 512, \"seed\": 1}', 1, 164,
             array_fill(1, ARRAY[164]), array_fill(draw(r * 100 + s) % 2, ARRAY[164]), draw(r * 100 + s) % 100 / 100.0, 0.03,
             10000, 60
         FROM generate_series(1, 100) r, generate_series(1, 4) k, generate_series(0, slots(r)) s,
             unnest(ARRAY['humaneval', 'mbpp']) suite",
    ),
    (
        "results of runs",
        "INSERT INTO run_results (run_id, suite, row_set, decoding, step, of_suite, base_model, temperature, n, rows, members,
             shares, pass_at_1, standard_error, reference, difference_low, difference_high)
         SELECT run_id(r), 'humaneval', CASE WHEN r % 7 = 0 THEN 'other rows' ELSE 'rows' END, 'greedy', k, 'humaneval', 'seedling',
             0, 1, 164, 8, array_fill(0.5, ARRAY[164]), draw(r) % 100 / 100.0, 0.03, 0.3, draw(r) % 100 / 100.0 - 0.4,
             draw(r) % 100 / 100.0 - 0.2
         FROM generate_series(1, 10000) r, generate_series(1, 10) k",
    ),
    (
        "outcomes of runs",
        "WITH latest AS (
             INSERT INTO latest_results (run_id, of_run, suite, row_set, decoding, step, rows, pass_at_1, reference)
             SELECT run_id, run_id, suite, row_set, decoding, step, rows, pass_at_1, reference FROM run_results WHERE step = 10
             RETURNING *
         ), costs AS (
             INSERT INTO run_costs SELECT run_id, 60 * rows FROM latest
         )
         INSERT INTO run_outcomes SELECT run_id, run_id, suite, row_set, decoding, step, pass_at_1 - reference FROM latest",
    ),
    (
        "totals",
        "UPDATE runs SET problems = p.problems, valid_problems = p.valid, attempts = p.attempts, cells = p.cells,
             matchups = (SELECT count(*) FROM matchups m WHERE m.run_id = runs.id)
         FROM (SELECT run_id, count(*) AS problems, count(*) FILTER (WHERE valid) AS valid, sum(attempts) AS attempts,
             count(DISTINCT cell) AS cells FROM problems GROUP BY run_id) p WHERE p.run_id = runs.id",
    ),
    (
        "run that learns from a dataset",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, metrics, state, step, steps, finished_at)
             VALUES (run_id(20000), 'run', 'rlvr', '{}', '{}', 'completed', 500, 500, now()) RETURNING id)
         INSERT INTO runs (id, name, arm, seed) SELECT id, 'rlvr', 'rlvr', 1 FROM e",
    ),
    (
        "rows as problems",
        "INSERT INTO problems (id, run_id, step, index, type, prompt, proposal, valid, status, reason, \"values\")
         SELECT uuid_generate('row' || n), run_id(20000), n / 64, n, 'math', '', '', true, 'ok', '', '{}'
         FROM generate_series(0, 1999) n",
    ),
    (
        "answers to rows",
        "INSERT INTO row_answers (run_id, row, step, problem_id, answers, correct)
         SELECT run_id(20000), n % 2000, n / 64, uuid_generate('row' || n % 2000), 8, least(8, draw(n) % 5 + n / 6000)
         FROM generate_series(0, 500 * 64 - 1) n",
    ),
    (
        "rows by difficulty",
        "INSERT INTO row_difficulty (run_id, step, never, sometimes, always)
         SELECT run_id(20000), n, 500 - n, 1000, 500 + n FROM generate_series(0, 499) n",
    ),
    (
        "run that works towards goalposts",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, metrics, state, step, steps, finished_at)
             VALUES (run_id(20001), 'run', 'gasp', '{}', '{}', 'completed', 2000, 2000, now()) RETURNING id)
         INSERT INTO runs (id, name, arm, seed) SELECT id, 'gasp', 'gasp', 1 FROM e",
    ),
    (
        "goalposts",
        "INSERT INTO datasets (id, name, purpose, sha256, rows)
         SELECT uuid_generate('goalposts'), 'goalposts', 'goalposts', repeat('0', 64), 1000",
    ),
    (
        "rows of goalposts",
        "INSERT INTO dataset_rows (dataset_id, index, row, fingerprint)
         SELECT uuid_generate('goalposts'), n, jsonb_build_object('task_id', 'hard/' || n), decode(md5('hard' || n), 'hex')
         FROM generate_series(0, 999) n",
    ),
    // A third of the goalposts is ever solved, each at about one checkpoint in ten.
    (
        "counts of goalposts",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, state, step, steps, finished_at)
             VALUES (uuid_generate('map'), 'evaluation', 'evaluation/goalposts', '{}', 'completed', 1, 1, now()) RETURNING id),
         v AS (INSERT INTO evaluations (id, run_id, spec) SELECT id, run_id(20001), '{\"type\": \"goalposts\"}' FROM e)
         INSERT INTO goalpost_counts (evaluation_id, subject, first_row, name, control, run_id, member_id, step, base_model,
             dataset_id, n, correct, completion_tokens, seconds)
         SELECT uuid_generate('map'), 2 * c + control, 50 * slice, 'student', control = 1, run_id(20001), member_at(1, 8, 0), 10 * c,
             'seedling', uuid_generate('goalposts'), 100,
             ARRAY(SELECT CASE WHEN draw(r) % 3 = 0 AND draw(r * 1000 + 2 * c + control) % 10 = 0
                 THEN draw(r + c) % 5 + 1 ELSE 0 END
                 FROM generate_series(50 * slice, 50 * slice + 49) r), 100000, 10
         FROM generate_series(0, 199) c, generate_series(0, 1) control, generate_series(0, 19) slice",
    ),
];

/// What lists of runs show.
const OF_RUNS: [&str; 5] = ["experiments", "runs", "recent metrics", "results of runs", "outcomes of runs"];

/// Writes it all, or what lists of runs show.
pub(super) async fn fill(store: &Store, problems: i64, runs_alone: bool) -> anyhow::Result<()> {
    let registry = Registry::shipped();
    let config = resolve(&toml::from_str(PRESET)?, &registry).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
    let metrics = registry.get(&config.recipe)?.metric_names();
    let mut connection = store.pool().acquire().await?;
    let prepare = [
        "SET synchronous_commit = off",
        // What is generated refers rightly; checking it row by row, and keeping sums, would take most of the time.
        "SET session_replication_role = replica",
        "SET work_mem = '256MB'",
        "CREATE TEMP TABLE made_of (problems bigint, config jsonb, metrics text[])",
    ];
    for statement in prepare.into_iter().chain(FUNCTIONS) {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    sqlx::query("INSERT INTO made_of VALUES ($1, $2, $3)")
        .bind(problems)
        .bind(serde_json::to_value(&config)?)
        .bind(metrics)
        .execute(&mut *connection)
        .await?;
    let wanted = FILL.iter().filter(|(table, _)| !runs_alone || OF_RUNS.contains(table));
    for (table, statement) in wanted {
        let began = Instant::now();
        let rows = sqlx::query(*statement)
            .execute(&mut *connection)
            .await
            .with_context(|| format!("{table} could not be made"))?;
        eprintln!("{} {table} in {:.0} s", rows.rows_affected(), began.elapsed().as_secs_f64());
    }
    sqlx::query("VACUUM ANALYZE").execute(&mut *connection).await?;
    sqlx::query("CHECKPOINT").execute(&mut *connection).await?;
    Ok(())
}
