//! The views of a population: on a run with something in it, on one without, and with hostile text.

use lyceum_store::tokens::Scope;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::every_page::leads_on;
use crate::fixtures::{Filled, filled};
use crate::harness::{Actor, TestServer, config};
use crate::outline::{attributes, outline};

/// Pages of a run, without those of single things.
const OF_RUN: [&str; 15] = [
    "/arms-race",
    "/population",
    "/population?alive=false",
    "/lineage",
    "/cross-play?order=cluster&from=0&to=9",
    "/attempts?correct=true",
    "/archive?x=loc&y=variables&colour=age&step=0&tile=0,0",
    "/problems?sort=hardest",
    "/problems?q=return&type=code_o&valid=true&loc_min=1&solve_rate_max=1",
    "/difficulty",
    "/diversity",
    "/learnability",
    "/benchmarks",
    "/benchmarks?step=3",
    "/export",
];

pub(crate) fn browser(actor: &Actor) -> Actor {
    actor.clone().with("accept", "text/html")
}

/// Addresses of every page with `made` in it.
fn pages(made: &Filled) -> Vec<String> {
    let run = made.run;
    let mut pages: Vec<String> = OF_RUN.iter().map(|page| format!("/runs/{run}{page}")).collect();
    pages.extend([
        format!("/runs/{run}/members/{}", made.teacher),
        format!("/runs/{run}/members/{}", made.student),
        format!("/runs/{run}/archive?beside={run}"),
        "/problems?q=return".to_owned(),
        format!("/compare?runs={run}"),
        format!("/compare/problems?left={run}&right={run}&step=0&valid=false"),
        "/leaderboard?role=teacher".to_owned(),
        format!("/evaluations?run={run}&type=benchmark&state=running"),
    ]);
    pages.extend(made.problems.iter().map(|problem| format!("/runs/{run}/problems/{problem}")));
    pages
}

#[actix_web::test]
async fn every_page_is_html_and_json() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    for page in pages(&made) {
        let html = browser(&reader).get(&page).await.expect(200);
        assert!(html.header("content-type").starts_with("text/html"), "{page}");
        let text = String::from_utf8(html.body.to_vec()).expect("UTF-8");
        assert!(text.contains("<h1>") && text.contains(".json"), "{page}: {text}");
        assert!(!text.contains(" style=") && !text.contains(" onclick="), "{page} has what the policy forbids");
        let (path, query) = page.split_once('?').unwrap_or((&page, ""));
        let suffixed = reader.get(&format!("{path}.json?{query}")).await.expect(200).json();
        let accepted = reader.clone().with("accept", "application/json").get(&page).await.expect(200).json();
        assert_eq!(suffixed, accepted, "{page}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_run_without_a_step_has_every_page() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let body = json!({"config": config(), "name": "empty"});
    let run = writer.post("/api/v1/runs", &body).await.expect(201).json()["id"].as_str().expect("an id").to_owned();
    let pages = OF_RUN.iter().map(|page| format!("/runs/{run}{page}"));
    let others = [
        format!("/compare?runs={run}"),
        "/compare".to_owned(),
        "/compare/problems".to_owned(),
        "/leaderboard".to_owned(),
        "/problems".to_owned(),
        "/evaluations".to_owned(),
    ];
    for page in pages.chain(others) {
        browser(&writer).get(&page).await.expect(200);
    }
    let hardest = format!("/runs/{run}/problems.json?sort=hardest");
    assert_eq!(writer.get(&hardest).await.expect(200).json()["items"], json!([]));
    for table in ["problems", "attempts", "matchups", "metrics"] {
        let lines = writer.get(&format!("/runs/{run}/export/{table}.jsonl")).await.expect(200);
        assert!(lines.body.is_empty());
        let rows = writer.get(&format!("/runs/{run}/export/{table}.parquet")).await.expect(200);
        assert_eq!(SerializedFileReader::new(rows.body).expect("Parquet").metadata().file_metadata().num_rows(), 0);
    }
    server.stop().await;
}

#[actix_web::test]
async fn what_is_not_there_gets_a_page_with_its_status_and_a_way_on() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 2).await;
    let (run, nobody) = (made.run, Uuid::nil());
    let addresses = [
        (404, format!("/runs/{nobody}/arms-race")),
        (404, format!("/runs/{nobody}/population")),
        (404, format!("/runs/{nobody}/lineage")),
        (404, format!("/runs/{nobody}/cross-play")),
        (404, format!("/runs/{nobody}/attempts")),
        (404, format!("/runs/{nobody}/archive")),
        (404, format!("/runs/{nobody}/problems")),
        (404, format!("/runs/{nobody}/learnability")),
        (404, format!("/runs/{nobody}/benchmarks")),
        (404, format!("/evaluations/{nobody}")),
        (404, format!("/evaluations/{run}")),
        (404, format!("/runs/{nobody}/export")),
        (404, format!("/runs/{nobody}/export/problems.jsonl")),
        (404, format!("/runs/{run}/export/secrets.jsonl")),
        (404, format!("/runs/{run}/export/problems.xlsx")),
        (404, format!("/runs/{run}/export.tar.zip")),
        (404, format!("/runs/{run}/members/{nobody}")),
        (404, format!("/runs/{run}/members/{nobody}/adapter.zip")),
        (404, format!("/runs/{run}/members/{}/adapter.zip?version=7", made.teacher)),
        (404, format!("/runs/{run}/problems/{nobody}")),
        (404, format!("/runs/{run}/archive?beside={nobody}")),
        (404, format!("/compare?runs={nobody}")),
        (404, format!("/compare/problems?left={nobody}")),
        (400, format!("/runs/{run}/lineage?colour=elegance")),
        (400, format!("/runs/{run}/archive?tile=here")),
        (400, format!("/runs/{run}/archive?x=beauty")),
        (400, format!("/runs/{run}/cross-play?from=9&to=3")),
        (400, format!("/runs/{run}/problems?sort=nicest")),
        (400, format!("/runs/{run}/problems?cursor=none")),
        (400, format!("/runs/{run}/problems?colour=red")),
        (400, format!("/runs/{run}/attempts?cursor=none")),
        (400, format!("/runs/{run}/benchmarks?baseline={nobody}")),
        (400, "/evaluations?type=beauty".to_owned()),
        (400, "/evaluations?cursor=none".to_owned()),
        (400, "/problems?sort=hardest".to_owned()),
        (400, "/leaderboard?role=emperor".to_owned()),
        (400, "/compare?runs=a,b".to_owned()),
        (400, format!("/compare?runs={run}&metrics=elegance")),
    ];
    for (status, address) in addresses {
        let page = browser(&reader).get(&address).await;
        assert_eq!(page.status.as_u16(), status, "{address}: {page:?}");
        let text = String::from_utf8_lossy(&page.body);
        assert!(text.contains("<h1>") && leads_on(&text), "{address}: {text}");
        reader.get(&address).await.expect(status).problem();
    }
    server.stop().await;
}

/// Everything that a model could write to harm who reads it, and a megabyte in one line.
fn hostile() -> String {
    let line = "x".repeat(1 << 20);
    format!(
        "</script></pre><script>alert(1)</script><img src=x onerror=alert(1)>\u{1b}[2J\u{202e}live\u{2066}\u{200b}\"'&{line}"
    )
}

#[actix_web::test]
async fn hostile_text_is_inert_on_every_page() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 3).await;
    let text = hostile();
    sqlx::query(
        "UPDATE problems SET program = $1, prompt = $1, proposal = $1, reason = $1,
         \"values\" = json_build_object('input', $1, 'output', $1), reward_parts = jsonb_build_object($2::text, $2::text)",
    )
    .bind(&text)
    .bind(&text[..200])
    .execute(server.store.pool())
    .await
    .expect("hostile problems");
    sqlx::query(
        "UPDATE attempts SET text = $1, answer = $1, reason = $1, reward_parts = jsonb_build_object($2::text, 1)",
    )
    .bind(&text)
    .bind(&text[..200])
    .execute(server.store.pool())
    .await
    .expect("hostile attempts");
    sqlx::query("UPDATE members SET name = left($1, 66) || id, died_step = 0, cause_of_death = left($1, 66)")
        .bind(&text)
        .execute(server.store.pool())
        .await
        .expect("hostile members");
    for page in pages(&made) {
        let html = browser(&reader).get(&page).await.expect(200);
        let html = String::from_utf8(html.body.to_vec()).expect("UTF-8");
        for forbidden in ["<script>alert", "<img", "\u{1b}"] {
            assert!(!html.contains(forbidden), "{page} lets {forbidden:?} through");
        }
        assert!(html.len() < 1 << 20, "{page} has {} bytes", html.len());
    }
    let problem = format!("/runs/{}/problems/{}", made.run, made.problems[0]);
    let html = browser(&reader).get(&problem).await.expect(200);
    let html = String::from_utf8(html.body.to_vec()).expect("UTF-8");
    assert!(html.contains("␛[2J⟨U+202E⟩live⟨U+2066⟩⟨U+200B⟩"), "it is shown as what it is");
    assert!(!html.contains('\u{202e}'));
    assert!(!html.contains(&"x".repeat(1 << 16)), "what is long is cut");

    let lines = reader.get(&format!("/runs/{}/export/problems.jsonl", made.run)).await.expect(200);
    let rows: Vec<Value> =
        lines.body.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(rows.len(), 3, "a line is a row, whatever is in it");
    assert_eq!(rows[0]["program"], text, "exports have all of it");
    assert!(!lines.body.contains(&0x1b), "and still no control character");
    server.stop().await;
}

#[actix_web::test]
async fn a_page_that_follows_a_run_gets_the_points_that_it_lacks() {
    let server = TestServer::start().await;
    let made = filled(&server, 6).await;
    let reader = browser(&server.actor(Scope::Read).await);
    let address = format!("/runs/{}/arms-race", made.run);
    let has_first_step = |html: &str| outline(html).lines().any(|line| line.starts_with("0 | "));
    let charts = |html: &str| outline(html).matches("(image: ").count();
    let whole = reader.get(&address).await.expect(200).text();
    assert!(has_first_step(&whole) && attributes(&whole, "data-grows").is_empty());
    let follower = reader.clone().with("lyceum-from-step", "1");
    let news = follower.get(&address).await.expect(200).text();
    let grows = attributes(&news, "data-grows");
    assert!(!grows.is_empty() && grows.iter().all(|from| from == "1"), "{grows:?}");
    assert!(!has_first_step(&news));
    assert_eq!(charts(&news), charts(&whole), "a chart without news stays a chart");
    // A header that is not a step is ignored.
    let odd = reader.clone().with("lyceum-from-step", "-1");
    assert!(has_first_step(&odd.get(&address).await.expect(200).text()));
    for view in ["arms-race", "learnability"] {
        let part = async |steps: &str| reader.get(&format!("/runs/{}/{view}?{steps}", made.run)).await;
        part("from=0&to=0").await.expect(200);
        assert!(!has_first_step(&part("from=7").await.expect(200).text()));
        part("from=2&to=1").await.expect(400);
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_page_over_all_runs_goes_on_where_it_stopped_looking() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let one = filled(&server, 60).await;
    let two = filled(&server, 6).await;
    let first = reader.get("/problems.json").await.expect(200).json();
    let items = first["items"].as_array().expect("problems");
    assert_eq!((items.len(), &items[0]["run_id"]), (50, &json!(two.run.0)));
    let next = first["next"].as_str().expect("a next page");
    let second = reader.get(&format!("/problems.json?cursor={next}")).await.expect(200).json();
    assert_eq!(second["items"].as_array().map(Vec::len), Some(16));
    assert_eq!(second["items"][15]["run_id"], json!(one.run.0));
    assert_eq!(second["next"], Value::Null);
    let found = reader.get("/problems.json?type=code_i&valid=true&q=return&sort=oldest").await.expect(200).json();
    assert_eq!(found["items"].as_array().map(Vec::len), Some(11));
    server.stop().await;
}
