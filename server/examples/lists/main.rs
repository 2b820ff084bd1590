//! Times lists and pages: fills a private Postgres with a million problems and five million attempts, and asks a server for
//! parts of lists of runs, work, problems and attempts, filtered and not, at the beginning, in the middle and at the end,
//! then for every page that browsers are shown, and with `--export` for all attempts of the largest run.
//!
//! `cargo run --release -p lyceum-server --example lists [-- --data FOLDER --export --problems N --rounds N]`

mod export;
mod fill;
mod pages;
mod process;

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Parser;
use lyceum_core::recipe::Registry;
use lyceum_postgres::PrivatePostgres;
use lyceum_server::lab::LabSettings;
use lyceum_server::serve::Server;
use lyceum_server::token::{self, Scope};
use lyceum_store::Store;
use lyceum_store::artifact::ArtifactStore;
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
    /// The 95th percentile that no page may pass, in milliseconds
    #[arg(long, default_value_t = 100.0)]
    page_limit: f64,
    /// Fill in only what lists of runs show, which takes seconds; measure these with `--no-lists --page "/?"`
    #[arg(long)]
    runs_alone: bool,
    /// A folder for the database, which is filled once and then measured again; a new one each time without
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Leave out lists, to measure only pages
    #[arg(long)]
    no_lists: bool,
    /// Pages whose address has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    page: String,
    /// Export all attempts of the largest run too, as JSON lines and as Parquet
    #[arg(long)]
    export: bool,
    /// The rows a second that an export must have
    #[arg(long, default_value_t = 20_000.0)]
    export_limit: f64,
}

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
    ("work of a run, failed", "/work?limit=50&run={}&state=failed", "work.newest"),
    ("work of a kind, oldest", "/work?limit=50&kind=evolve&order=oldest", "work.oldest"),
    ("problems", "/runs/{}/problems?limit=50", "problems.newest"),
    ("problems, oldest", "/runs/{}/problems?limit=50&order=oldest", "problems.oldest"),
    ("problems of a type", "/runs/{}/problems?limit=50&type=code_o", "problems.newest"),
    ("problems, not valid", "/runs/{}/problems?limit=50&valid=false", "problems.newest"),
    ("problems, rare status", "/runs/{}/problems?limit=50&status=memory", "problems.newest"),
    ("problems, rare status and type", "/runs/{}/problems?limit=50&status=memory&type=code_i", "problems.newest"),
    ("problems of a cell", "/runs/{}/problems?limit=50&cell=512", "problems.newest"),
    ("problems by solve rate", "/runs/{}/problems?limit=50&solve_rate_min=0.4&solve_rate_max=0.6", "problems.newest"),
    ("problems, hardest", "/runs/{}/problems?limit=50&sort=hardest", "problems.hardest.newest"),
    ("problems with a rare word", "/runs/{}/problems?limit=50&q=seen_4242", "problems.newest"),
    ("problems with a common word", "/runs/{}/problems?limit=50&q=return", "problems.newest"),
    ("attempts", "/runs/{}/attempts?limit=50", "attempts.newest"),
];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(time_all(options))
}

async fn time_all(options: Options) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = options.data.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(folder)?;
    // As root, Postgres runs as another user, who has to pass through.
    fs::set_permissions(folder, Permissions::from_mode(0o711))?;
    let postgres = PrivatePostgres::start(folder).await?;
    let store = Store::connect(postgres.url(), 8).await?;
    store.migrate().await?;
    let filled = folder.join("filled");
    if filled.exists() {
        eprintln!("{} was filled before, with {} problems", folder.display(), fs::read_to_string(&filled)?);
    } else {
        fill::fill(&store, options.problems, options.runs_alone).await?;
        fs::write(&filled, options.problems.to_string())?;
    }
    let measured = measure_all(&options, folder, &store).await;
    postgres.stop().await;
    measured
}

async fn measure_all(options: &Options, folder: &Path, store: &Store) -> anyhow::Result<()> {
    let (token, _) = token::create(store.pool(), "lists", Scope::Read, None).await?;
    let server = Server {
        artifacts: ArtifactStore::folder(&folder.join("artifacts"), store.pool().clone())?,
        store: store.clone(),
        registry: Registry::shipped(),
        settings: LabSettings { coordinate: None, ..LabSettings::default() },
    };
    let (address, serving) = server.listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let ends = [
        highest(store, "executions").await?,
        highest(store, "work").await?,
        highest(store, "problems").await?,
        highest(store, "attempts").await?,
    ];
    let examples = pages::Examples::find(store.pool(), &options.page).await?;
    let bearer = format!("Bearer {}", token.expose());
    let (rounds, part, lists, export) = (options.rounds, options.page.clone(), !options.no_lists, options.export);
    let measured = tokio::task::spawn_blocking(move || {
        let list = if lists { measure(address, &bearer, ends, rounds)? } else { 0.0 };
        pages::open_streams(address, &bearer, 200)?;
        let page = pages::measure(address, &bearer, rounds, &examples, &part)?;
        let rate = if export { export::measure(address, &bearer)? } else { f64::INFINITY };
        anyhow::Ok((list, page, rate))
    });
    let (list, page, rate) = measured.await??;
    serving.stop().await;
    anyhow::ensure!(list <= options.limit, "the slowest list took {list:.1} ms at p99, over {} ms", options.limit);
    anyhow::ensure!(
        page <= options.page_limit,
        "the slowest page took {page:.1} ms at p95, over {} ms",
        options.page_limit
    );
    anyhow::ensure!(
        rate >= options.export_limit,
        "the slowest export had {rate:.0} rows a second, under {}",
        options.export_limit
    );
    Ok(())
}

/// The last number of a table's rows.
async fn highest(store: &Store, table: &str) -> anyhow::Result<i64> {
    let mut query = sqlx::QueryBuilder::<sqlx::Postgres>::new(format!("SELECT coalesce(max(seq), 0) FROM {table}"));
    Ok(query.build_query_scalar().fetch_one(store.pool()).await?)
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
            let body = agent.get(&url).header("authorization", bearer).call()?.body_mut().read_to_vec()?;
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
