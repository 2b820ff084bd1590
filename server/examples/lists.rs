//! Times lists: fills a private Postgres with a million problems and five million attempts, and asks a server for pages of
//! runs, work, problems and attempts, filtered and not, at the beginning, in the middle and at the end.
//!
//! `cargo run --release -p lyceum-server --example lists [-- --problems N --rounds N]`

use std::{
    fs::{self, Permissions},
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use clap::Parser;
use lyceum_core::recipe::Registry;
use lyceum_postgres::PrivatePostgres;
use lyceum_server::{
    api::Settings,
    serve::Server,
    token::{self, Scope},
};
use lyceum_store::{Store, artifact::ArtifactStore};
use uuid::Uuid;

#[derive(Parser)]
struct Options {
    /// Problems; there are five attempts at each
    #[arg(long, default_value_t = 1_000_000)]
    problems: i64,
    /// Requests for each list and place
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// The 99th percentile that no list may pass, in milliseconds
    #[arg(long, default_value_t = 50.0)]
    limit: f64,
    /// A database that was filled before, instead of a new private one
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

/// Rows by table, in the order in which they refer to one another. The first run has half of all problems.
const FILL: [(&str, &str); 8] = [
    (
        "runs",
        "WITH e AS (INSERT INTO executions (id, kind, recipe, config, state, steps, finished_at, error)
             SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'run', 'recipe' || n % 3, '{}',
                 CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 10 = 0 THEN 'running' ELSE 'completed' END, 1000,
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
];

/// Lists by name, address and the name that their cursors carry; `{}` is the first run.
const LISTS: [(&str, &str, &str); 22] = [
    ("runs", "/runs?limit=50", "runs.newest"),
    ("runs, failed", "/runs?limit=50&state=failed", "runs.newest"),
    ("runs of a recipe", "/runs?limit=50&recipe=recipe1", "runs.newest"),
    ("runs with a tag", "/runs?limit=50&tag=tag7", "runs.newest"),
    ("runs by name", "/runs?limit=50&name=run%204", "runs.newest"),
    ("work", "/work?limit=50", "work.newest"),
    ("work, failed", "/work?limit=50&state=failed", "work.newest"),
    ("work of a run", "/work?limit=50&run={}", "work.newest"),
    (
        "work of a run, failed",
        "/work?limit=50&run={}&state=failed",
        "work.newest",
    ),
    (
        "work of a kind, oldest",
        "/work?limit=50&kind=evolve&order=oldest",
        "work.oldest",
    ),
    ("problems", "/runs/{}/problems?limit=50", "problems.newest"),
    (
        "problems, oldest",
        "/runs/{}/problems?limit=50&order=oldest",
        "problems.oldest",
    ),
    (
        "problems of a type",
        "/runs/{}/problems?limit=50&type=code_o",
        "problems.newest",
    ),
    (
        "problems, not valid",
        "/runs/{}/problems?limit=50&valid=false",
        "problems.newest",
    ),
    (
        "problems, rare status",
        "/runs/{}/problems?limit=50&status=memory",
        "problems.newest",
    ),
    (
        "problems, rare status and type",
        "/runs/{}/problems?limit=50&status=memory&type=code_i",
        "problems.newest",
    ),
    (
        "problems of a cell",
        "/runs/{}/problems?limit=50&cell=512",
        "problems.newest",
    ),
    (
        "problems by solve rate",
        "/runs/{}/problems?limit=50&solve_rate_min=0.4&solve_rate_max=0.6",
        "problems.newest",
    ),
    (
        "problems, hardest",
        "/runs/{}/problems?limit=50&sort=hardest",
        "problems.hardest.newest",
    ),
    (
        "problems with a rare word",
        "/runs/{}/problems?limit=50&q=seen_4242",
        "problems.newest",
    ),
    (
        "problems with a common word",
        "/runs/{}/problems?limit=50&q=return",
        "problems.newest",
    ),
    ("attempts", "/runs/{}/attempts?limit=50", "attempts.newest"),
];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(time_lists(options))
}

async fn time_lists(options: Options) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    // As root, Postgres runs as another user, who has to pass through.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o711))?;
    let (postgres, store) = match &options.database {
        Some(url) => (None, Store::connect(url, 8).await?),
        None => {
            let postgres = PrivatePostgres::start(folder.path()).await?;
            let store = Store::connect(postgres.url(), 8).await?;
            store.migrate().await?;
            fill(&store, options.problems).await?;
            (Some(postgres), store)
        }
    };
    let (token, _) = token::create(store.pool(), "lists", Scope::Read, None).await?;
    let server = Server {
        artifacts: ArtifactStore::folder(&folder.path().join("artifacts"), store.pool().clone())?,
        store: store.clone(),
        registry: Registry::default(),
        settings: Settings {
            coordinate: None,
            ..Settings::default()
        },
    };
    let (address, serving) = server.listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let highest = |table: &'static str| {
        let query = sqlx::QueryBuilder::<sqlx::Postgres>::new(format!("SELECT max(seq) FROM {table}"));
        let pool = store.pool().clone();
        async move {
            let mut query = query;
            query.build_query_scalar::<i64>().fetch_one(&pool).await
        }
    };
    let ends = [
        highest("executions").await?,
        highest("work").await?,
        highest("problems").await?,
        highest("attempts").await?,
    ];
    let bearer = format!("Bearer {}", token.expose());
    let worst = tokio::task::spawn_blocking(move || measure(address, &bearer, ends, options.rounds)).await??;
    serving.stop().await;
    if let Some(postgres) = postgres {
        postgres.stop().await;
    }
    anyhow::ensure!(
        worst <= options.limit,
        "the slowest list took {worst:.1} ms at p99, over {} ms",
        options.limit
    );
    Ok(())
}

async fn fill(store: &Store, problems: i64) -> anyhow::Result<()> {
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

/// Prints a line a list, and returns the greatest 99th percentile in milliseconds.
fn measure(address: SocketAddr, bearer: &str, ends: [i64; 4], rounds: u32) -> anyhow::Result<f64> {
    let agent = ureq::Agent::new_with_defaults();
    let run = Uuid::from_u128(0x4000_8000_0000_0000_0001);
    println!("{:32} {:>9} {:>9} {:>9}", "list", "p50 ms", "p99 ms", "max ms");
    let mut worst: f64 = 0.0;
    for (name, path, cursor) in LISTS {
        let end = match cursor.split('.').next() {
            Some("runs") => ends[0],
            Some("work") => ends[1],
            Some("problems") => ends[2],
            _ => ends[3],
        };
        let base = format!("http://{address}/api/v1{}", path.replace("{}", &run.to_string()));
        let mut times = Vec::new();
        for round in 0..rounds {
            // Places all over the list, the beginning and the end among them.
            let place = 1 + end * i64::from(round) / i64::from(rounds.max(2) - 1);
            let value = cursor.contains("hardest").then(|| f64::from(round) / f64::from(rounds));
            let key = serde_json::to_vec(&(1, cursor, place, value))?;
            let url = format!("{base}&cursor={}", URL_SAFE_NO_PAD.encode(key));
            let began = Instant::now();
            let body = agent
                .get(&url)
                .header("authorization", bearer)
                .call()?
                .body_mut()
                .read_to_vec()?;
            times.push(began.elapsed());
            anyhow::ensure!(!body.is_empty(), "{name} answered nothing");
        }
        times.sort_unstable();
        let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share).round() as usize]);
        println!("{name:32} {:9.2} {:9.2} {:9.2}", at(0.5), at(0.99), at(1.0));
        worst = worst.max(at(0.99));
    }
    Ok(worst)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
