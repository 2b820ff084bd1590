//! Pages: each one there is, as HTML and as JSON, with little, much or nothing to show.

use lyceum_store::plan;
use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::every_page::leads_on;
use crate::fixtures::filled;
use crate::harness::{Actor, TestServer, config};
use crate::outline::attributes;

/// A page in both forms; the JSON.
async fn both(actor: &Actor, path: &str) -> serde_json::Value {
    let html = actor.clone().with("accept", "text/html").get(path).await.expect(200);
    assert!(html.header("content-type").starts_with("text/html"), "{path}");
    let text = String::from_utf8_lossy(&html.body).into_owned();
    assert!(text.contains("<main id=\"main\"") && text.ends_with("</html>"), "{path}: {text}");
    assert!(!text.contains(" style=") && !text.contains(" onclick="), "{path}");
    let (bare, query) = path.split_once('?').unwrap_or((path, ""));
    let suffixed = actor.get(&format!("{bare}.json?{query}")).await.expect(200).json();
    let accepted = actor.clone().with("accept", "application/json").get(path).await.expect(200);
    assert_eq!(accepted.header("content-type"), "application/json", "{path}");
    assert!(text.contains(&format!("{bare}.json")), "{path} does not say how its JSON is had");
    suffixed
}

#[actix_web::test]
async fn pages_of_an_empty_lab_say_so() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    for path in
        ["/", "/experiments", "/?state=failed", "/work", "/workers", "/workers?alive=true", "/settings", "/runs/new"]
    {
        both(&reader, path).await;
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_name_reverses_no_title() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let body = json!({"preset": "small", "name": "run \u{202e}lanif\u{2066}"});
    let made = writer.post("/api/v1/runs", &body).await.expect(201).json();
    let id = made["id"].as_str().expect("an id");
    for path in [format!("/runs/{id}"), "/".to_owned(), format!("/compare?runs={id}")] {
        let page = writer.clone().with("accept", "text/html").get(&path).await.expect(200);
        let html = page.text();
        let (before_data, _) = html.split_once("<script type=\"application/json\"").unwrap_or((&html, ""));
        assert!(before_data.contains("run ⟨U+202E⟩lanif⟨U+2066⟩"), "{path}");
        assert!(!before_data.contains(['\u{202e}', '\u{2066}']), "{path}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn pages_of_a_run_without_a_step_and_of_one_with_steps_are_whole() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = writer
        .post("/api/v1/runs", &json!({"config": config(), "name": "new", "tags": ["a&b"]}))
        .await
        .expect(201)
        .json();
    let made_up = filled(&server, 6).await;
    for run in [made["id"].as_str().expect("an id").to_owned(), made_up.run.to_string()] {
        let page = both(&writer, &format!("/runs/{run}")).await;
        assert_eq!(page["run"]["id"], run.as_str());
        assert!(page["phases"].is_array() && page["metrics"].is_array());
        both(&writer, &format!("/runs/new?from={run}")).await;
        writer.get(&format!("/runs/{run}/now")).await.expect(200);
    }
    let listed = both(&writer, "/?tag=a%26b&name=").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let work = both(&writer, "/work").await;
    let item = work["items"][0]["id"].as_str().expect("an item");
    both(&writer, &format!("/work/{item}")).await;
    server.stop().await;
}

#[actix_web::test]
async fn what_is_wrong_with_an_address_is_said_with_its_status() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let browser = reader.clone().with("accept", "text/html");
    let nothing = "00000000-0000-4000-8000-000000000000";
    for (path, status) in [
        ("/nowhere".to_owned(), 404),
        (format!("/runs/{nothing}"), 404),
        ("/runs/x".to_owned(), 404),
        (format!("/work/{nothing}"), 404),
        ("/?state=bogus".to_owned(), 400),
        ("/?cursor=x".to_owned(), 400),
        ("/work?nothing=x".to_owned(), 400),
        ("/runs/new?preset=smal".to_owned(), 400),
    ] {
        let page = browser.get(&path).await.expect(status);
        let text = String::from_utf8_lossy(&page.body).into_owned();
        assert!(leads_on(&text), "{path}: {text}");
        reader.get(&path).await.expect(status).problem();
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_reader_is_offered_nothing_that_it_may_not_do() {
    let server = TestServer::start().await;
    let (reader, admin) = (server.actor(Scope::Read).await, server.actor(Scope::Admin).await);
    let made_up = filled(&server, 6).await;
    for path in ["/settings".to_owned(), format!("/runs/{}", made_up.run), "/experiments".to_owned()] {
        let actions = async |actor: &Actor| attributes(&actor.get(&path).await.expect(200).text(), "data-action");
        assert_eq!(actions(&reader).await, Vec::<String>::new(), "{path}");
        assert_ne!(actions(&admin).await, Vec::<String>::new(), "{path}");
    }
    assert!(reader.get("/settings.json").await.expect(200).json()["tokens"].is_null());
    server.stop().await;
}

#[actix_web::test]
async fn an_experiment_links_to_a_comparison_that_there_is() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let body = json!({"name": "wide"});
    let made = writer.post("/api/v1/experiments", &body).await.expect(201).json();
    let experiment = made["id"].as_str().expect("an id");
    for seed in 0..13 {
        let mut config = config();
        config["seed"] = json!(seed);
        let body = json!({"config": config, "experiment": "wide"});
        writer.post("/api/v1/runs", &body).await.expect(201);
    }
    let page = writer.get(&format!("/experiments/{experiment}")).await.expect(200).text();
    let links = attributes(&page, "href");
    let link = links.iter().find(|link| link.starts_with("/compare?runs="));
    let link = link.expect("a link");
    let compared = both(&writer, link).await;
    assert_eq!(compared["runs"].as_array().map(Vec::len), Some(12), "{link}");
    server.stop().await;
}

#[actix_web::test]
async fn runs_sorted_by_a_count_are_all_shown_once() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let mut made = Vec::new();
    for problems in [3, 9, 1, 9] {
        made.push(filled(&server, problems).await.run.to_string());
    }
    sqlx::query("UPDATE runs SET cells = problems % 9, valid_problems = problems")
        .execute(server.store.pool())
        .await
        .expect("counts");
    for (sort, order, first) in
        [("valid_problems", "newest", 3), ("valid_problems", "oldest", 2), ("cells", "oldest", 1)]
    {
        let page = both(&reader, &format!("/?sort={sort}&order={order}")).await;
        let ids: Vec<&str> =
            page["items"].as_array().expect("runs").iter().filter_map(|run| run["id"].as_str()).collect();
        assert_eq!((ids.len(), ids[0]), (4, made[first].as_str()), "{sort}, {order}: {page}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_run_that_no_server_can_plan_says_so_until_one_plans_it() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let db = server.store.pool();
    let run = filled(&server, 1).await.run;
    let path = format!("/runs/{run}/now");
    let shown = async || both_parts(&reader, &path).await;
    plan::refuse(db, run, "0.0.9", "unknown field `<novel>`").await.expect("a refusal");
    assert_eq!(shown().await, None, "it was planned");
    let due = "UPDATE steps SET planned = ended - 1 WHERE execution_id = $1";
    sqlx::query(due).bind(run.0).execute(db).await.expect("a run that is due");
    let refusal = json!({ "release": "0.0.9", "reason": "unknown field `<novel>`" });
    assert_eq!(shown().await, Some(refusal));
    let old = "UPDATE refusals SET at = at - interval '5 minutes'";
    sqlx::query(old).execute(db).await.expect("an old refusal");
    assert_eq!(shown().await, None);
    server.stop().await;
}

/// The refusal on a run's live part, whose HTML shows it if its JSON has it.
async fn both_parts(actor: &Actor, path: &str) -> Option<serde_json::Value> {
    let html = actor.clone().with("accept", "text/html").get(path).await.expect(200).text();
    let json = actor.clone().with("accept", "application/json").get(path).await.expect(200).json();
    let refusal = json.get("refusal").cloned();
    assert_eq!(html.contains("&#60;novel&#62;"), refusal.is_some(), "{html}");
    assert!(!html.contains("<novel>"), "{html}");
    refusal
}
