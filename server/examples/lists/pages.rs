//! How long pages take, as HTML, and what streams of events that are open take in memory.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use anyhow::Context as _;
use sqlx::PgPool;
use uuid::Uuid;

use super::milliseconds;
use super::process::resident_mb;

/// Pages. `{}` is run 1, which has half of all problems; the other names stand for other ones in each round.
const PAGES: [&str; 88] = [
    "/",
    "/experiments",
    "/experiments/{experiment}",
    "/?sort=difference",
    "/?sort=difference&order=oldest",
    "/?columns=benchmarks.humaneval,difference.humaneval&sort=difference.humaneval",
    "/?state=failed",
    "/?name=run%204",
    "/?tag=tag7&sort=valid_problems",
    "/?columns=metrics.solve_rate,metrics.entropy,metrics.validity,metrics.format_rate,metrics.coverage,metrics.kl",
    "/?columns=metrics.solve_rate,metrics.entropy,metrics.validity,metrics.format_rate,metrics.coverage,metrics.kl&sort=metrics.entropy",
    "/?columns=metrics.solve_rate&where=metrics.entropy%3E0.5&q=run%204",
    "/?columns=metrics.solve_rate,metrics.entropy&group=experiment",
    "/?columns=config.seed,config.parameters.samples_per_problem&sort=config.seed",
    "/runs/new?preset=demo",
    "/runs/new?from={}",
    "/runs/{}",
    "/runs/{run}",
    "/runs/{}/now",
    "/runs/{}/metrics",
    "/runs/{}/samples",
    "/runs/{}/samples?step=1500&open={problem}",
    "/runs/{}/samples?solved=never&type=code_f&proposer={teacher}",
    "/runs/{}/samples?solved=sometimes&q=seen_4242",
    "/runs/{}/arms-race",
    "/runs/{}/population",
    "/runs/{}/population?alive=false",
    "/runs/{}/members/{member}",
    "/runs/{}/lineage",
    "/runs/{}/lineage?colour=solve_rate",
    "/runs/{}/cross-play",
    "/runs/{}/cross-play?order=cluster&type=code_i&from=500&to=1500",
    "/runs/{}/attempts",
    "/runs/{}/attempts?teacher={teacher}&student={student}",
    "/runs/{}/attempts?teacher={teacher}",
    "/runs/{}/attempts?student={student}&type=code_f&correct=true&from=10&to=1000",
    "/runs/{}/archive",
    "/runs/{}/archive?step=400&beside={run}&tile=3,3",
    "/runs/{}/problems",
    "/runs/{}/problems?sort=hardest",
    "/runs/{}/problems?sort=easiest&type=code_f",
    "/runs/{}/problems?q=seen_4242",
    "/runs/{}/problems?q=return&valid=false",
    "/runs/{}/problems?step=1500",
    "/runs/{}/problems?proposer={teacher}",
    "/runs/{}/problems?loc_min=39&cyclomatic_min=6&ast_depth_min=8",
    "/runs/{}/problems?solve_rate_min=0.9&status=memory",
    "/problems",
    "/problems?q=seen_4242",
    "/problems?q=return&sort=oldest",
    "/problems?status=memory",
    "/problems?type=code_i&valid=false",
    "/problems?cell=512&solve_rate_max=0.2",
    "/problems?proposer={teacher}",
    "/problems?step=1999",
    "/problems?loc_min=39&cyclomatic_min=6&ast_depth_min=8",
    "/runs/{}/problems/{problem}",
    "/runs/{}/learnability",
    "/runs/{gasp}/goalposts",
    "/runs/{rows}/difficulty",
    "/runs/{rows}/difficulty?latest=sometimes&first_solved_from=10&sort=hardest",
    "/runs/{}/export",
    "/runs/{}/benchmarks",
    "/evaluations",
    "/evaluations?type=benchmark&state=completed",
    "/evaluations/{evaluation}",
    "/compare?runs={},{run}&arms=true",
    "/compare?runs={twelve}",
    "/compare/goalposts?runs={gasp}",
    "/compare/problems?left={}&right={run}",
    "/leaderboard",
    "/leaderboard?role=teacher&alive=true&recipe=azr",
    "/leaderboard?by=members",
    "/archives",
    "/datasets",
    "/benchmarks",
    "/alerts",
    "/views",
    "/evaluations/new",
    "/evaluations/new?type=benchmark&run={}",
    "/runs/{}?curve=pass_at_k",
    "/runs/{gasp}/candidates",
    "/compare/picks?left={}&right={run}",
    "/api/v1/search?q=run%204",
    "/api/v1/search?q=seen_4242",
    "/work",
    "/work?run={}&state=failed",
    "/work/{work}",
];
/// Pages that show no more with more rows.
const SMALL: [&str; 3] = ["/workers", "/workers?alive=true", "/settings"];

/// Addresses to request.
pub(super) struct Examples(Vec<(&'static str, Vec<String>)>);

impl Examples {
    /// Twenty of each that pages whose address has `part` in it need, from all over run 1 or all runs.
    pub(super) async fn find(db: &PgPool, part: &str) -> anyhow::Result<Self> {
        let wanted: Vec<&str> = PAGES.into_iter().filter(|page| page.contains(part)).collect();
        let some = [
            ("{rows}", "SELECT run_id(20000)"),
            ("{gasp}", "SELECT run_id(20001)"),
            ("{run}", "SELECT run_id(2 + n * 24) FROM generate_series(0, 19) n"),
            (
                "{experiment}",
                "SELECT id FROM experiments ORDER BY seq LIMIT 20",
            ),
            (
                "{member}",
                "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY seq) AS n FROM members WHERE run_id = run_id(1)) m
                 WHERE n % 20 = 0",
            ),
            (
                "{teacher}",
                "SELECT member_at(1, n % 8, n * 100) FROM generate_series(0, 19) n",
            ),
            (
                "{student}",
                "SELECT member_at(1, 8 + (n % 8 + n * 100) % 8, n * 100) FROM generate_series(0, 19) n",
            ),
            (
                "{problem}",
                "SELECT id FROM problems WHERE run_id = run_id(1) AND step = ANY(ARRAY(SELECT generate_series(0, 1900, 100)))
                 AND index = 7",
            ),
            ("{evaluation}", "SELECT id FROM evaluations ORDER BY id LIMIT 20"),
            ("{work}", "SELECT id FROM work ORDER BY seq LIMIT 20"),
        ];
        let mut found = Vec::new();
        let needed = some.into_iter().filter(|(name, _)| wanted.iter().any(|page| page.contains(name)));
        for (name, statement) in needed {
            let ids: Vec<Uuid> = sqlx::query_scalar(statement).fetch_all(db).await?;
            anyhow::ensure!(!ids.is_empty(), "there is nothing for {name}");
            found.push((name, ids.iter().map(Uuid::to_string).collect()));
        }
        let twelve: Vec<Uuid> =
            sqlx::query_scalar("SELECT run_id(n) FROM generate_series(1, 12) n").fetch_all(db).await?;
        let twelve: Vec<String> = twelve.iter().map(Uuid::to_string).collect();
        found.push(("{twelve}", vec![twelve.join(",")]));
        found.push(("{}", vec![twelve[0].clone()]));
        Ok(Self(found))
    }

    fn fill_in(&self, page: &str, round: usize) -> String {
        let known = self.0.iter();
        known.fold(page.to_owned(), |page, (name, ids)| page.replace(name, &ids[round % ids.len()]))
    }
}

/// Prints a line a page whose address has `part` in it, and returns the greatest 95th percentile in milliseconds.
pub(super) fn measure(
    address: SocketAddr,
    bearer: &str,
    rounds: u32,
    examples: &Examples,
    part: &str,
) -> anyhow::Result<f64> {
    let agent = ureq::Agent::new_with_defaults();
    println!("{:64} {:>9} {:>9} {:>9} {:>9}", "page", "p50 ms", "p95 ms", "max ms", "kB");
    let mut worst: f64 = 0.0;
    for page in PAGES.into_iter().chain(SMALL).filter(|page| page.contains(part)) {
        let mut times = Vec::new();
        let mut size = 0;
        for round in 0..rounds {
            let address = format!("http://{address}{}", examples.fill_in(page, round as usize));
            let began = Instant::now();
            let request = agent.get(&address).header("authorization", bearer).header("accept", "text/html");
            let mut answer = request.call().with_context(|| address.clone())?;
            size = size.max(answer.body_mut().read_to_vec()?.len());
            times.push(began.elapsed());
        }
        times.sort_unstable();
        let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share).round() as usize]);
        println!("{page:64} {:9.2} {:9.2} {:9.2} {:9}", at(0.5), at(0.95), at(1.0), size / 1000);
        worst = worst.max(at(0.95));
    }
    Ok(worst)
}

/// Opens `streams` streams of events of a running run and says how many MB this process, with the server in it, has before
/// and after.
pub(super) fn open_streams(address: SocketAddr, bearer: &str, streams: usize) -> anyhow::Result<()> {
    let run = "00000000-0000-4000-8000-00000000000a";
    let before = resident_mb()?;
    let request = format!(
        "GET /api/v1/runs/{run}/events HTTP/1.1\r\nhost: {address}\r\nauthorization: {bearer}\r\naccept: text/event-stream\r\n\r\n"
    );
    let mut open = Vec::new();
    for _ in 0..streams {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        let mut beginning = [0; 512];
        let read = stream.read(&mut beginning)?;
        anyhow::ensure!(beginning[..read].starts_with(b"HTTP/1.1 200"), "a stream was refused");
        open.push(stream);
    }
    println!("{streams} open streams: {:.0} MB, before them {before:.0} MB", resident_mb()?);
    Ok(())
}
