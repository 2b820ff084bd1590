//! Browsers.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::harness::{Actor, TestServer};

/// A browser that has logged in with the actor's token, and what it must show to change anything.
pub(crate) async fn session_of(server: &TestServer, actor: &Actor) -> (Actor, String) {
    let token = actor.bearer();
    let form = server.anonymous().with("content-type", "application/x-www-form-urlencoded");
    let reply = form.send(actix_web::http::Method::POST, "/login", Some(format!("token={token}").into_bytes())).await;
    let reply = reply.expect(303);
    let cookie = reply.header("set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains(&token), "the token itself must not be in the cookie");
    let browser = server.anonymous().with("cookie", cookie.split(';').next().expect("a cookie"));
    let csrf =
        browser.get("/api/v1/session").await.expect(200).json()["csrf_token"].as_str().expect("a token").to_owned();
    (browser, csrf)
}

#[actix_web::test]
async fn a_session_does_what_its_token_may_until_it_logs_out() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let (browser, csrf) = session_of(&server, &writer).await;
    let armed = browser.clone().with("x-csrf-token", csrf.as_str());
    armed.post("/api/v1/experiments", &json!({"name": "from a browser"})).await.expect(201);
    armed.get("/api/v1/tokens").await.expect(403);

    let form = browser.clone().with("content-type", "application/x-www-form-urlencoded");
    let logout = |body: String| form.send(actix_web::http::Method::POST, "/logout", Some(body.into_bytes()));
    logout("csrf_token=guess".to_owned()).await.expect(403);
    browser.get("/api/v1/runs").await.expect(200);
    let reply = logout(format!("csrf_token={csrf}")).await.expect(303);
    assert!(reply.header("set-cookie").contains("Max-Age=0"), "{reply:?}");
    browser.get("/api/v1/runs").await.expect(401);
    server.stop().await;
}

#[actix_web::test]
async fn a_session_ends_with_its_token() {
    let server = TestServer::start().await;
    let (admin, reader) = (server.actor(Scope::Admin).await, server.actor(Scope::Read).await);
    let (browser, _) = session_of(&server, &reader).await;
    browser.get("/api/v1/runs").await.expect(200);
    admin.delete(&format!("/api/v1/tokens/{}", reader.token_id.expect("a token"))).await.expect(204);
    browser.get("/api/v1/runs").await.expect(401);
    reader.get("/api/v1/runs").await.expect(401);
    server.stop().await;
}

#[actix_web::test]
async fn a_link_alone_logs_nobody_in() {
    let server = TestServer::start().await;
    let token = server.actor(Scope::Read).await.bearer();
    let reply = server.anonymous().get(&format!("/login?token={token}")).await.expect(200);
    assert_eq!(reply.header("set-cookie"), "");
    assert_eq!(reply.header("cache-control"), "no-store");
    server.stop().await;
}

/// The page's script sends a token after the `#` of the address by itself only if it is told to.
#[actix_web::test]
async fn a_link_from_another_site_needs_a_click() {
    let server = TestServer::start().await;
    for (site, by_link) in [
        (Some("none"), true),
        (Some("same-origin"), true),
        (Some("cross-site"), false),
        (Some("same-site"), false),
        (None, false),
    ] {
        let browser = server.anonymous();
        let browser = match site {
            Some(site) => browser.with("sec-fetch-site", site),
            None => browser,
        };
        let html = browser.get("/login").await.expect(200).text();
        assert_eq!(html.contains("data-by-link"), by_link, "{site:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn the_form_is_a_page_that_runs_nothing_inline() {
    let server = TestServer::start().await;
    let page = server.anonymous().get("/login").await.expect(200);
    let html = String::from_utf8_lossy(&page.body).into_owned();
    assert!(html.contains("<form method=\"post\""), "{html}");
    assert!(!html.contains("<style") && !html.contains("onclick"), "{html}");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let files: Vec<&str> = html.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert!(!files.is_empty(), "{html}");
    for file in files {
        let file = server.anonymous().get(file).await.expect(200);
        assert!(file.header("cache-control").contains("immutable"), "{file:?}");
    }
    server.anonymous().get("/assets/login.exe").await.expect(404);
    let docs = server.anonymous().get("/docs/").await.expect(200);
    assert!(!String::from_utf8_lossy(&docs.body).contains("https://"), "the page of the API loads something from afar");
    server.stop().await;
}

#[actix_web::test]
async fn a_form_sent_by_another_site_is_refused() {
    let server = TestServer::start().await;
    let token = server.actor(Scope::Read).await.bearer();
    let elsewhere = server
        .anonymous()
        .with("content-type", "application/x-www-form-urlencoded")
        .with("sec-fetch-site", "cross-site");
    let body = format!("token={token}").into_bytes();
    let reply = elsewhere.send(actix_web::http::Method::POST, "/login", Some(body)).await.expect(403);
    assert_eq!(reply.header("set-cookie"), "");
    server.stop().await;
}

#[actix_web::test]
async fn over_plain_http_the_origin_of_a_form_decides() {
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings {
        allowed_hosts: vec!["lab.example".to_owned()],
        ..settings
    })
    .await;
    let token = server.actor(Scope::Read).await.bearer();
    for (origin, status) in [
        (server.base().as_str(), 303),
        ("http://lab.example", 303),
        ("http://127.0.0.1:1", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ] {
        let form = server.anonymous().with("content-type", "application/x-www-form-urlencoded").with("origin", origin);
        let body = format!("token={token}").into_bytes();
        let reply = form.send(actix_web::http::Method::POST, "/login", Some(body)).await;
        assert_eq!(reply.status.as_u16(), status, "{origin}: {reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_browser_without_a_session_is_shown_the_form() {
    let server = TestServer::start().await;
    let reply = server.anonymous().with("accept", "text/html").get("/").await.expect(303);
    assert_eq!(reply.header("location"), "/login");
    server.stop().await;
}

#[actix_web::test]
async fn a_form_without_a_token_is_shown_again() {
    let server = TestServer::start().await;
    let form = server.anonymous().with("content-type", "application/x-www-form-urlencoded");
    for body in ["", "tokens=x"] {
        let sent = form.send(actix_web::http::Method::POST, "/login", Some(body.as_bytes().to_vec()));
        let reply = sent.await.expect(400);
        assert!(reply.header("content-type").starts_with("text/html"), "{body}: {reply:?}");
    }
    server.anonymous().get("/login?tokens=x").await.expect(200);
    server.stop().await;
}

#[actix_web::test]
async fn home_is_where_something_is() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let (browser, _) = session_of(&server, &reader).await;
    let home = browser.clone().with("accept", "text/html").get("/").await.expect(200);
    assert!(home.header("content-type").starts_with("text/html"), "{home:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_login_leads_to_the_page_that_was_asked_for() {
    let server = TestServer::start().await;
    let token = server.actor(Scope::Read).await.bearer();
    let asked = server.anonymous().with("accept", "text/html").get("/runs?state=running&tag=a%26b").await;
    let form_address = asked.expect(303).header("location").to_owned();
    assert_eq!(form_address, "/login?to=%2Fruns%3Fstate%3Drunning%26tag%3Da%2526b");
    let html = server.anonymous().get(&form_address).await.expect(200).text();
    assert!(html.contains("name=\"to\" value=\"/runs?state=running&#38;tag=a%26b\""), "{html}");

    let form = server.anonymous().with("content-type", "application/x-www-form-urlencoded");
    for (to, location) in [
        ("%2Fruns%3Fstate%3Drunning%26tag%3Da%2526b", "/runs?state=running&tag=a%26b"),
        ("%2Fruns%2F1%23held-out", "/runs/1#held-out"),
        ("", "/"),
        ("%2F%2Fevil.example", "/"),
        ("%2F%5Cevil.example", "/"),
        ("%2F%09%2Fevil.example", "/"),
        ("https%3A%2F%2Fevil.example", "/"),
        ("%2Flogin", "/"),
    ] {
        let body = format!("token={token}&to={to}").into_bytes();
        let reply = form.send(actix_web::http::Method::POST, "/login", Some(body)).await;
        assert_eq!(reply.expect(303).header("location"), location, "{to}");
    }
    let wrong = b"token=lyc_wrong&to=%2Fruns".to_vec();
    let reply = form.send(actix_web::http::Method::POST, "/login", Some(wrong)).await;
    assert!(reply.expect(401).text().contains("value=\"/runs\""), "a second try still knows the page");
    server.stop().await;
}
