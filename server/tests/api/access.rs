//! Tokens, limits and what every answer carries.

use lyceum_store::tokens::{self, Scope};
use serde_json::json;
use std::num::NonZeroU32;

use crate::harness::TestServer;

#[actix_web::test]
async fn a_token_is_shown_once_kept_as_a_hash_and_worth_nothing_once_revoked() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    let made =
        admin.post("/api/v1/tokens", &json!({"name": "for the script", "scope": "read"})).await.expect(201).json();
    let secret = made["token"].as_str().expect("the token").to_owned();
    assert!(secret.starts_with("lyc_") && secret.len() == 4 + 43, "{secret}");
    let kept: Vec<u8> = sqlx::query_scalar("SELECT hash FROM tokens WHERE id = $1::text::uuid")
        .bind(made["id"].as_str())
        .fetch_one(server.store.pool())
        .await
        .expect("a row");
    assert_eq!(kept, tokens::hash(&secret));

    let script = server.anonymous().with("authorization", format!("Bearer {secret}"));
    script.get("/api/v1/runs").await.expect(200);
    let listed = admin.get("/api/v1/tokens").await.expect(200);
    assert!(!String::from_utf8_lossy(&listed.body).contains(&secret));
    let one = listed.json()["items"].as_array().and_then(|all| all.iter().find(|t| t["id"] == made["id"]).cloned());
    assert!(one.is_some_and(|token| token["last_used_at"].is_string() && token["revoked_at"].is_null()));

    let address = format!("/api/v1/tokens/{}", made["id"].as_str().expect("an id"));
    admin.delete(&address).await.expect(204);
    script.get("/api/v1/runs").await.expect(401);
    admin.delete(&address).await.expect(204);
    server.stop().await;
}

#[actix_web::test]
async fn a_token_that_has_expired_is_worth_nothing() {
    let server = TestServer::start().await;
    let admin = server.actor(Scope::Admin).await;
    let body = json!({"name": "old", "scope": "admin", "expires_at": "2020-01-01T00:00:00Z"});
    let secret = admin.post("/api/v1/tokens", &body).await.expect(201).json()["token"].as_str().expect("it").to_owned();
    server.anonymous().with("authorization", format!("Bearer {secret}")).get("/api/v1/runs").await.expect(401);
    server.stop().await;
}

#[actix_web::test]
async fn when_a_token_was_used_is_noted_once_a_minute() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let used = || async {
        let used: Option<chrono::DateTime<chrono::Utc>> =
            sqlx::query_scalar("SELECT last_used_at FROM tokens WHERE id = $1")
                .bind(reader.token_id)
                .fetch_one(server.store.pool())
                .await
                .expect("a row");
        used
    };
    reader.get("/api/v1/runs").await.expect(200);
    let first = used().await.expect("a time");
    reader.get("/api/v1/runs").await.expect(200);
    assert_eq!(used().await, Some(first));
    sqlx::query("UPDATE tokens SET last_used_at = now() - interval '61 seconds'")
        .execute(server.store.pool())
        .await
        .expect("it");
    reader.get("/api/v1/runs").await.expect(200);
    assert!(used().await.is_some_and(|second| second >= first));
    server.stop().await;
}

#[actix_web::test]
async fn too_many_wrong_tokens_are_told_to_wait_and_a_right_one_is_not() {
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings {
        failed_logins_per_minute: NonZeroU32::new(5).expect("five"),
        ..settings
    })
    .await;
    let guesser = server.anonymous().with("authorization", "Bearer lyc_guess");
    for _ in 0..5 {
        guesser.get("/api/v1/runs").await.expect(401);
    }
    // A guess more each twelve seconds is in order: this goes on until there were too many for the time that it took.
    let mut reply = guesser.get("/api/v1/runs").await;
    while reply.status == 401 {
        reply = guesser.get("/api/v1/runs").await;
    }
    let reply = reply.expect(429);
    assert!(reply.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 61), "{reply:?}");
    let form = server.anonymous().with("content-type", "application/x-www-form-urlencoded");
    let guess = || {
        let body = Some(b"token=lyc_guess".to_vec());
        form.send(actix_web::http::Method::POST, "/login", body)
    };
    let mut reply = guess().await;
    while reply.status == 401 {
        reply = guess().await;
    }
    reply.expect(429);
    server.actor(Scope::Read).await.get("/api/v1/runs").await.expect(200);
    server.anonymous().get("/api/v1/runs").await.expect(401);
    server.stop().await;
}

#[actix_web::test]
async fn every_answer_tells_browsers_to_trust_nothing_else() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    for reply in [
        reader.get("/api/v1/runs").await.expect(200),
        reader.get("/api/v1/nothing").await.expect(404),
        server.anonymous().get("/api/v1/runs").await.expect(401),
        server.anonymous().get("/login").await.expect(200),
        server.anonymous().get("/healthz").await.expect(200),
    ] {
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("x-frame-options"), "DENY");
        assert!(reply.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert_eq!(reply.header("x-trace-id").len(), 32);
    }
    server.stop().await;
}

/// A name that resolves to this machine is not enough: it may be another site's (DNS rebinding).
#[actix_web::test]
async fn the_server_answers_to_its_own_names_only() {
    let server = TestServer::with(|settings| lyceum_server::lab::LabSettings {
        allowed_hosts: vec!["lab.example".to_owned()],
        ..settings
    })
    .await;
    let reader = server.actor(Scope::Read).await;
    for (host, is_own) in [
        ("localhost:7654", true),
        ("lab.example", true),
        ("[::1]:7654", true),
        ("10.0.0.7", true),
        ("evil.example", false),
        ("evil.example:7654", false),
    ] {
        for path in ["/api/v1/runs", "/login", "/healthz", "/docs/"] {
            let reply = reader.clone().with("host", host).get(path).await;
            if is_own {
                reply.expect(200);
            } else {
                let reply = reply.expect(421);
                assert_eq!(reply.problem(), "unknown-host");
                let detail = reply.json()["detail"].as_str().map(str::to_owned).unwrap_or_default();
                assert!(detail.contains("allowed_hosts"), "{detail}");
            }
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_trace_follows_a_request_into_its_run() {
    let server = TestServer::start().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let writer = server.actor(Scope::Write).await.with("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    let reply = writer.post("/api/v1/runs", &json!({"preset": "small"})).await.expect(201);
    assert_eq!(reply.header("x-trace-id"), trace);
    assert_eq!(reply.json()["trace_id"], trace);
    server.stop().await;
}

#[actix_web::test]
async fn metrics_have_units_and_no_label_that_grows() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    for _ in 0..3 {
        reader.get(&format!("/api/v1/runs/{}", uuid::Uuid::new_v4())).await.expect(404);
    }
    let text = String::from_utf8_lossy(&reader.get("/metrics").await.expect(200).body).into_owned();
    let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert!(series.iter().all(|line| line.starts_with("lyceum_")), "{text}");
    assert!(
        text.contains("route=\"/api/v1/runs/{id}\",status=\"404\"") || text.contains("route=\"/api/v1/runs/{id}\""),
        "{text}"
    );
    for name in ["lyceum_work_items{", "lyceum_http_request_duration_seconds_bucket{", "lyceum_http_requests_total{"] {
        assert!(text.contains(name), "{name} is missing in {text}");
    }
    let ids = series.iter().filter(|line| line.split(['"']).any(|part| part.parse::<uuid::Uuid>().is_ok())).count();
    assert_eq!(ids, 0, "{text}");
    server.stop().await;
}
