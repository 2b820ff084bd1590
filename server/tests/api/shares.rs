//! Saved views, and links that show one page to whoever has them.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::harness::{Actor, Reply, TestServer};
use crate::outline::attributes;

async fn run(writer: &Actor, name: &str) -> String {
    let made = writer.post("/api/v1/runs", &json!({"preset": "small", "name": name})).await.expect(201).json();
    made["id"].as_str().expect("an id").to_owned()
}

async fn delete(writer: &Actor, run: &str) {
    writer.act(&format!("/api/v1/runs/{run}/cancel")).await.expect(202);
    writer.delete(&format!("/api/v1/runs/{run}")).await.expect(204);
}

async fn shared(writer: &Actor, address: &str) -> Value {
    writer.post("/api/v1/shares", &json!({ "address": address })).await.expect(201).json()
}

/// Somebody without a token who opened a link.
async fn guest(server: &TestServer, share: &Value) -> (Actor, Reply) {
    let nobody = server.anonymous().with("accept", "text/html");
    let opened = nobody.get(share["path"].as_str().expect("a path")).await;
    let cookie = opened.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    (nobody.with("cookie", cookie), opened)
}

#[actix_web::test]
async fn a_link_shows_its_page_and_nothing_else() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (mine, other) = (run(&writer, "mine").await, run(&writer, "other").await);
    let page = format!("/runs/{mine}");
    let share = shared(&writer, &page).await;
    let (guest, opened) = guest(&server, &share).await;
    assert_eq!((opened.status.as_u16(), opened.header("location")), (303, page.as_str()));
    assert!(opened.header("set-cookie").contains("HttpOnly"), "{opened:?}");
    let shown = guest.get(&page).await.expect(200).text();
    assert!(shown.contains("mine"), "{shown}");
    assert_eq!(attributes(&shown, "data-action"), Vec::<String>::new(), "read only");
    assert!(shown.contains("Shared, read-only") && !shown.contains("href=\"/settings\""), "{shown}");
    let refused = guest.get("/runs").await.expect(403);
    assert!(refused.header("content-type").starts_with("text/html"), "a browser gets a page: {refused:?}");
    for file in ["/api/v1/runs", "/runs.json", "/api/v1/search?q=other"] {
        let refused = guest.get(file).await.expect(403);
        assert!(refused.header("content-type").starts_with("text/html"), "{file}: {refused:?}");
        assert!(attributes(&refused.text(), "href").contains(&page), "{file} leads back: {refused:?}");
    }
    let is_shown = |link: &String| {
        let within = link.is_empty() || link.starts_with(['#', '?']) || link.starts_with(&page);
        let is_data = link.starts_with(&format!("/api/v1/runs/{mine}/metrics"));
        within || is_data || link.starts_with("/assets/") || link == "/login" || link == "data:,"
    };
    for part in ["", "/population", "/problems", "/attempts", "/benchmarks"] {
        let shown = guest.get(&format!("{page}{part}")).await.expect(200).text();
        let links = attributes(&shown, "href");
        assert!(links.iter().all(is_shown), "{part}: {links:?}");
    }
    for with_a_choice in ["archive", "benchmarks"] {
        let shown = guest.get(&format!("{page}/{with_a_choice}")).await.expect(200).text();
        assert!(!shown.contains(&other), "{with_a_choice}");
        let shown = writer.get(&format!("{page}/{with_a_choice}")).await.expect(200).text();
        assert!(with_a_choice != "archive" || shown.contains(&other), "whoever logs in can choose");
    }
    guest.get(&format!("/api/v1/runs/{mine}/metrics?level=0")).await.expect(200);
    for foreign in [
        format!("/runs/{other}"),
        format!("{page}/archive?beside={other}"),
        format!("{page}/archive.json?beside={other}"),
        format!("{page}/diversity?with={other}"),
        "/runs".to_owned(),
        "/settings".to_owned(),
        "/api/v1/runs".to_owned(),
        format!("/api/v1/runs/{other}/metrics"),
    ] {
        let refused = guest.clone().with("accept", "application/json").get(&foreign).await.expect(403);
        assert!(refused.text().contains(&page), "{foreign}: {refused:?}");
    }
    guest.act(&format!("/api/v1/runs/{mine}/pause")).await.expect(403);
    server.anonymous().get(&page).await.expect(401);
    let id = share["id"].as_str().expect("an id");
    writer.delete(&format!("/api/v1/shares/{id}")).await.expect(204);
    assert_eq!(guest.get(&page).await.status.as_u16(), 303, "to the login");
    server.stop().await;
}

/// A comparison lists no run but its own; a form, which can be filled from any run, is not shared at all.
#[actix_web::test]
async fn a_link_names_no_other_run() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (mine, other) = (run(&writer, "mine").await, run(&writer, "other").await);
    let page = format!("/compare?runs={mine}");
    let (guest, _) = guest(&server, &shared(&writer, &page).await).await;
    let shown = guest.get(&page).await.expect(200).text();
    assert!(shown.contains("mine") && !shown.contains(&other), "{shown}");
    guest.get(&format!("{page}&baseline={other}")).await.expect(403);
    guest.get(&format!("{page}&from={other}")).await.expect(403);
    guest.get(&format!("{page}&from=0&to=3")).await.expect(200);
    let refused = writer.post("/api/v1/shares", &json!({"address": "/runs/new?preset=demo"})).await.expect(422);
    assert!(refused.text().contains("a form cannot be shared"), "{refused:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_table_is_shared_with_its_filters() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    run(&writer, "alpha").await;
    run(&writer, "beta").await;
    let share = shared(&writer, "/runs?name=alpha&columns=metrics.reward").await;
    let (guest, _) = guest(&server, &share).await;
    let shown = guest.get("/?columns=metrics.reward&name=alpha&order=oldest").await.expect(200).text();
    assert!(shown.contains("alpha") && !shown.contains("beta"));
    let moved = guest.get("/runs?name=alpha&columns=metrics.reward").await.expect(303);
    assert_eq!(moved.header("location"), "/?name=alpha&columns=metrics.reward");
    for foreign in ["/", "/runs", "/runs?name=beta&columns=metrics.reward", "/runs?name=alpha"] {
        guest.get(foreign).await.expect(403);
    }
    server.stop().await;
}

#[actix_web::test]
async fn links_that_are_over_unknown_or_lead_nowhere_say_so() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let mine = run(&writer, "mine").await;
    let nobody = server.anonymous();
    let unknown = nobody.get("/shared/AAAA").await.expect(404);
    assert!(unknown.text().contains("there is no such link"), "{unknown:?}");

    let share = shared(&writer, &format!("/runs/{mine}")).await;
    let (guest, _) = guest(&server, &share).await;
    sqlx::query("UPDATE shares SET expires_at = '2020-01-02T03:04:00Z'")
        .execute(server.store.pool())
        .await
        .expect("an update");
    let (link, page) = (share["path"].as_str().expect("a path"), format!("/runs/{mine}"));
    for (who, path) in [(&nobody, link), (&guest, page.as_str())] {
        let over = who.get(path).await.expect(403);
        assert!(over.text().contains("expired on 2020-01-02 03:04"), "{over:?}");
    }

    let share = shared(&writer, &format!("/runs/{mine}")).await;
    let view = json!({"name": "my run", "address": format!("/runs/{mine}/population")});
    let view = writer.post("/api/v1/views", &view).await.expect(201).json();
    let view = format!("/views/{}", view["id"].as_str().expect("an id"));
    let opened = writer.get(&view).await.expect(303);
    assert_eq!(opened.header("location"), format!("/runs/{mine}/population"));
    delete(&writer, &mine).await;
    let gone = nobody.get(share["path"].as_str().expect("a path")).await.expect(404);
    assert!(gone.text().contains(&mine) && gone.text().contains("was deleted"), "{gone:?}");
    let gone = writer.get(&view).await.expect(404);
    assert!(gone.text().contains("my run") && gone.text().contains(&mine), "{gone:?}");
    for address in [format!("/runs/{mine}"), "/settings".to_owned(), "https://example.org/".to_owned()] {
        let refused = writer.post("/api/v1/shares", &json!({ "address": address })).await.expect(422);
        assert_eq!(refused.places(), ["/address"], "{address}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_link_ends_with_the_token_of_whoever_made_it() {
    let server = TestServer::start().await;
    let (admin, writer) = (server.actor(Scope::Admin).await, server.actor(Scope::Write).await);
    let mine = run(&admin, "mine").await;
    let share = shared(&writer, &format!("/runs/{mine}")).await;
    let token = writer.token_id.expect("a token");
    admin.delete(&format!("/api/v1/tokens/{token}")).await.expect(204);
    server.anonymous().get(share["path"].as_str().expect("a path")).await.expect(404);
    server.stop().await;
}
