//! Every page that `docs/PAGES.md` names, over runs in every state that they can be in, and over what there is not. A page is
//! covered by being documented, and none is served that is not.

use lyceum_core::id::WorkerId;
use lyceum_core::work::{Device, Sampler, Trainer};
use lyceum_store::tokens::Scope;
use lyceum_store::work::{self, Failure, FailureKind, Slot};
use lyceum_store::workers::{self, NewWorker};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;
use uuid::Uuid;

use crate::benchmarks::imported;
use crate::fixtures::{Filled, filled};
use crate::harness::{Actor, TestServer, config};
use crate::outline::{assert_reads_like, attributes};

/// The addresses in the first columns of the tables of `docs/PAGES.md`, with `{…}` where an id goes.
fn documented() -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/PAGES.md")).expect("PAGES.md");
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `/")?.split('|').next());
    let pages: Vec<String> = cells
        .flat_map(|cell| {
            let cell = format!("`/{cell}");
            cell.split('`').filter(|code| code.starts_with('/')).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert!(pages.iter().any(|page| page == "/"), "{pages:?}");
    pages
}

/// The addresses that pages are served at, as their handlers say.
fn served(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            served(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).expect("source");
        let pages = text.lines().filter_map(|line| line.strip_prefix("#[get(\"")?.strip_suffix("\")]"));
        found.extend(pages.map(str::to_owned));
    }
}

#[test]
fn every_page_that_is_served_is_documented() {
    let mut pages = Vec::new();
    served(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut pages);
    let documented = documented();
    // Files, redirects, and parts of pages that scripts ask for anew.
    let is_part = |page: &str| {
        let ends = ["/now", "/held-out", "/verdict", ".zip"];
        // What leads to another page, and what is for those who are not logged in.
        let leads = ["/runs", "/login", "/views/{id}", "/shared/{secret}"];
        ends.iter().any(|end| page.ends_with(end))
            || leads.contains(&page)
            || page.starts_with("/assets/")
            || page.contains("export")
    };
    let missing: Vec<&String> = pages.iter().filter(|page| !is_part(page) && !documented.contains(page)).collect();
    assert!(missing.is_empty(), "docs/PAGES.md does not name {missing:?}");
}

/// The worker that made work fail.
const WORKER: Uuid = Uuid::from_u128(0x77);

/// What stands for the ids of addresses.
struct Ids {
    run: String,
    member: String,
    problem: String,
    work: String,
    experiment: String,
    evaluation: String,
    dataset: String,
    other: String,
}

impl Ids {
    fn of(made: &Filled, [experiment, evaluation, dataset]: [&str; 3]) -> Self {
        Self {
            run: made.run.to_string(),
            member: made.teacher.to_string(),
            problem: made.problems.first().map_or_else(String::new, ToString::to_string),
            work: made.work.to_string(),
            experiment: experiment.to_owned(),
            evaluation: evaluation.to_owned(),
            dataset: dataset.to_owned(),
            other: "code".to_owned(),
        }
    }

    /// Ids of nothing.
    fn unknown(id: &str) -> Self {
        let [run, member, problem, work, experiment, evaluation, dataset, other] =
            std::array::from_fn(|_| id.to_owned());
        Self { run, member, problem, work, experiment, evaluation, dataset, other }
    }

    /// `page` with ids in it.
    fn fill_in(&self, page: &str) -> String {
        let mut filled = page
            .replace("/runs/{id}", &format!("/runs/{}", self.run))
            .replace("/work/{id}", &format!("/work/{}", self.work))
            .replace("/workers/{id}", &format!("/workers/{WORKER}"))
            .replace("/experiments/{id}", &format!("/experiments/{}", self.experiment))
            .replace("/evaluations/{id}", &format!("/evaluations/{}", self.evaluation))
            .replace("/datasets/{id}", &format!("/datasets/{}", self.dataset))
            .replace("{member}", &self.member)
            .replace("{problem}", &self.problem);
        while let (Some(start), Some(end)) = (filled.find('{'), filled.find('}')) {
            filled.replace_range(start..=end, &self.other);
        }
        filled
    }
}

async fn experiment(writer: &Actor) -> String {
    let body = json!({"name": Uuid::now_v7().to_string()});
    let made = writer.post("/api/v1/experiments", &body).await.expect(201).json();
    made["id"].as_str().expect("an id").to_owned()
}

async fn evaluation(writer: &Actor) -> String {
    let body = json!({"spec": {"type": "benchmark", "suites": ["held-out-seedling"], "rows": 1, "base_model": {"name": "seedling"}}});
    let made = writer.post("/api/v1/evaluations", &body).await.expect(201).json();
    made["id"].as_str().expect("an id").to_owned()
}

/// The page as a browser sees it, which must be there, and its JSON too.
async fn whole(reader: &Actor, page: &str) -> String {
    let html = reader.clone().with("accept", "text/html").get(page).await;
    assert_eq!(html.status.as_u16(), 200, "{page}: {html:?}");
    let text = String::from_utf8(html.body.to_vec()).expect("UTF-8");
    assert!(text.contains("<h1>") && text.ends_with("</html>"), "{page}: {text}");
    let json = reader.clone().with("accept", "application/json").get(page).await;
    assert_eq!(json.status.as_u16(), 200, "{page}: {json:?}");
    json.json();
    text
}

/// Whether a page of an error has a link to another page than the first.
pub(crate) fn leads_on(html: &str) -> bool {
    let links = attributes(html, "href");
    links.iter().any(|link| link.starts_with('/') && link.len() > 1 && !link.starts_with("/assets/"))
}

/// Pages of `run` and the problems, members and work in it.
fn of_run(page: &str) -> bool {
    page.starts_with("/runs/{id}")
}

#[actix_web::test]
async fn a_run_that_nothing_happened_in_has_every_page() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = writer.post("/api/v1/runs", &json!({"config": config()})).await.expect(201).json();
    let run = made["id"].as_str().expect("an id");
    let ids = Ids { run: run.to_owned(), ..Ids::unknown("none") };
    let without_parts = |page: &String| !page.replace("/runs/{id}", "").contains('{');
    for page in documented().into_iter().filter(without_parts) {
        whole(&writer, &ids.fill_in(&page)).await;
    }
    for (page, list) in [("arms-race", "ratings"), ("lineage", "members"), ("problems", "items")] {
        let shown = writer.get(&format!("/runs/{run}/{page}.json")).await.expect(200);
        assert_eq!(shown.json()[list], json!([]), "{page}");
    }
    server.stop().await;
}

/// The name of a page's snapshot.
fn named(page: &str) -> String {
    let name = page.trim_start_matches('/').replace('/', ".").replace(['{', '}'], "");
    if name.is_empty() { "home".to_owned() } else { name }
}

#[actix_web::test]
async fn every_page_reads_like_its_snapshot() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let dataset = imported(&writer).await["id"].as_str().expect("an id").to_owned();
    let (experiment, evaluation) = (experiment(&writer).await, evaluation(&writer).await);
    let made = failed(&server).await;
    // However long the pages take, it does not count as stalled.
    sqlx::query("UPDATE executions SET updated_at = now() + interval '1 day'")
        .execute(server.store.pool())
        .await
        .expect("a recent event");
    let ids = Ids::of(&made, [&experiment, &evaluation, &dataset]);
    for page in documented() {
        let asked = match page.as_str() {
            "/compare" | "/compare/goalposts" => format!("?runs={}", made.run),
            "/compare/problems" | "/compare/picks" => format!("?left={0}&right={0}", made.run),
            _ => String::new(),
        };
        let html = whole(&writer, &format!("{}{asked}", ids.fill_in(&page))).await;
        assert_reads_like(&named(&page), &html);
    }
    server.stop().await;
}

#[actix_web::test]
async fn every_page_is_there_whatever_became_of_a_run() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let dataset = imported(&writer).await["id"].as_str().expect("an id").to_owned();
    let (experiment, evaluation) = (experiment(&writer).await, evaluation(&writer).await);
    let db = server.store.pool();
    // First, since all the work that there is fails.
    let failed = failed(&server).await;
    let whole_run = filled(&server, 6).await;
    let forked = filled(&server, 6).await;
    sqlx::query("UPDATE runs SET forked_from = $1, forked_at_step = 0, experiment_id = $3 WHERE id = $2")
        .bind(whole_run.run.0)
        .bind(forked.run.0)
        .bind(experiment.parse::<Uuid>().expect("an id"))
        .execute(db)
        .await
        .expect("a fork");
    let dead = filled(&server, 6).await;
    sqlx::query("UPDATE members SET died_step = 0, cause_of_death = 'culled' WHERE run_id = $1")
        .bind(dead.run.0)
        .execute(db)
        .await
        .expect("deaths");
    let bereft = filled(&server, 6).await;
    for statement in [
        "DELETE FROM birth_parents p USING births b WHERE b.child_id = p.child_id AND b.run_id = $1",
        "DELETE FROM problem_parents p USING problems b WHERE b.id = p.problem_id AND b.run_id = $1",
        "DELETE FROM problems WHERE run_id = $1 AND index = 0",
        "UPDATE problems SET program = NULL, solve_rate = NULL, proposer_id = NULL, version_id = NULL WHERE run_id = $1",
        "DELETE FROM ratings WHERE run_id = $1",
        "DELETE FROM standings WHERE run_id = $1",
        "DELETE FROM metrics WHERE run_id = $1",
    ] {
        sqlx::query(statement).bind(bereft.run.0).execute(db).await.expect("a removal");
    }
    for (run, problem) in [(&whole_run, 0), (&forked, 1), (&failed, 0), (&dead, 1), (&bereft, 1)] {
        let ids =
            Ids { problem: run.problems[problem].to_string(), ..Ids::of(run, [&experiment, &evaluation, &dataset]) };
        for page in documented() {
            whole(&writer, &ids.fill_in(&page)).await;
        }
    }
    let shown = async |run: &Filled, page: String| {
        let address = format!("/runs/{}{page}.json", run.run);
        writer.get(&address).await.expect(200).json()
    };
    let page = shown(&failed, String::new()).await;
    let why = page["run"]["error"].as_str();
    assert!(why.is_some_and(|why| why.contains("no python")), "{page}");
    let page = shown(&dead, format!("/members/{}", dead.teacher)).await;
    assert_eq!(page["member"]["cause_of_death"], "culled");
    let page = shown(&bereft, format!("/problems/{}", bereft.problems[1])).await;
    assert_eq!(page["problem"]["program"], json!(null));
    server.stop().await;
}

/// A run whose item of work failed for good.
async fn failed(server: &TestServer) -> Filled {
    let made = filled(server, 6).await;
    let db = server.store.pool();
    let kinds = lyceum_core::work::WorkKind::ALL;
    let id = WorkerId(WORKER);
    let new = NewWorker {
        id,
        name: "hand",
        host: "here",
        device: "cpu",
        kernels: None,
        kinds: &kinds,
        samplers: &[],
        trainers: &[],
        base_models: &[],
        memory_bytes: 1 << 30,
        versions: json!({}),
    };
    workers::register(db, &new).await.expect("a worker");
    let slot = Slot {
        worker: id,
        kinds: kinds.to_vec(),
        sampler: Sampler::Engine,
        trainers: vec![Trainer::Engine],
        device: Device::Cpu,
        kernels: None,
        base_models: None,
        loaded_models: vec![],
        lacking: vec![],
        memory_bytes: 1 << 30,
        lease: Duration::from_secs(60),
    };
    while let Some(claim) = work::claim(db, &slot).await.expect("a claim") {
        let failure = Failure { kind: FailureKind::Error, message: "no python".to_owned(), retry: false };
        work::fail(db, &claim, &failure).await.expect("a failure");
    }
    made
}

#[actix_web::test]
async fn what_is_no_longer_kept_is_said_to_be_missing() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    let member = format!("/runs/{}/members/{}", made.run, made.teacher);
    fs::remove_dir_all(server.folder().join("artifacts")).expect("artifacts");
    let gone = reader.clone().with("accept", "text/html").get(&format!("{member}/adapter.zip")).await;
    let text = String::from_utf8_lossy(&gone.body).into_owned();
    assert_eq!(gone.status.as_u16(), 404, "{text}");
    assert!(text.contains("no longer kept") && leads_on(&text), "{text}");
    sqlx::query("UPDATE artifacts SET removed_at = now()").execute(server.store.pool()).await.expect("a removal");
    let ids = Ids::of(&made, ["none"; 3]);
    for page in documented().iter().filter(|page| of_run(page)) {
        whole(&reader, &ids.fill_in(page)).await;
    }
    let shown = reader.get(&format!("{member}.json")).await.expect(200).json();
    assert_eq!(shown["versions"][0]["removed"], true);
    let links = attributes(&whole(&reader, &member).await, "href");
    assert!(!links.iter().any(|link| link.contains("adapter.zip?version=")), "{links:?}");
    server.stop().await;
}

#[actix_web::test]
async fn what_there_is_not_has_a_page_that_says_so_and_a_way_on() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let nobody = Uuid::nil().to_string();
    let browser = reader.clone().with("accept", "text/html");
    let said = async |address: &str, status: u16| {
        let page = browser.get(address).await;
        let text = String::from_utf8_lossy(&page.body).into_owned();
        assert_eq!(page.status.as_u16(), status, "{address}: {text}");
        assert!(leads_on(&text), "{address}: {text}");
        reader.get(address).await.expect(status).problem();
    };
    for page in documented() {
        if page.contains('{') && !page.contains("{suite}") {
            for id in [nobody.as_str(), "x", "%00", "..%2f..%2fetc"] {
                said(&Ids::unknown(id).fill_in(&page), 404).await;
            }
        }
        if page.contains("{member}") || page.contains("{problem}") {
            let ids = Ids { run: made.run.to_string(), ..Ids::unknown(&nobody) };
            said(&ids.fill_in(&page), 404).await;
        }
    }
    // Pages with filters name what they do not know; the others have nothing to filter.
    let known = Ids::of(&made, [&nobody; 3]);
    let documented = documented();
    let reachable = documented.iter().filter(|page| !page.contains('{') || of_run(page));
    for page in reachable {
        let address = known.fill_in(page);
        for query in ["cursor=x", "cursor=WzEsImEiLDEsbnVsbF0", "elegance=3", "step=-1", "q=%00"] {
            let reply = browser.get(&format!("{address}?{query}")).await;
            let status = reply.status.as_u16();
            assert!(matches!(status, 200 | 400), "{address}?{query}: {reply:?}");
            if status == 400 {
                said(&format!("{address}?{query}"), 400).await;
            }
        }
    }
    for page in ["/", "/problems", "/work", "/workers", "/experiments", "/datasets", "/leaderboard"] {
        said(&format!("{page}?cursor=x"), 400).await;
        said(&format!("{page}?elegance=3"), 400).await;
    }
    server.stop().await;
}
