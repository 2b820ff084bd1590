//! Lists: pages, filters and what follows from them.

use futures::future::join_all;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use std::collections::HashSet;

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};

/// Every row of a list, page by page.
async fn walk(reader: &Actor, address: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut next = address.to_owned();
    loop {
        let page = reader.get(&next).await.expect(200);
        rows.extend(page.json()["items"].as_array().expect("rows").iter().cloned());
        let link = page.header("link").to_owned();
        let Some(rest) = link.strip_prefix('<') else { return rows };
        let (target, relation) = rest.split_once('>').expect("a link");
        assert_eq!(relation, "; rel=\"next\"");
        assert!(target.ends_with(page.json()["next"].as_str().expect("a cursor")), "{link}");
        next = target.to_owned();
    }
}

fn key(row: &Value) -> String {
    ["id", "index", "step", "child_id", "problem_id"]
        .iter()
        .map(|name| row[*name].to_string())
        .collect::<Vec<_>>()
        .join("/")
}

#[actix_web::test]
async fn pages_of_any_size_add_up_to_the_list_in_either_order() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let run = format!("/api/v1/runs/{}", filled(&server, 23).await.run);
    for list in ["problems", "attempts", "members", "lineage", "matchups", "archive/insertions", "steps"] {
        let whole = walk(&reader, &format!("{run}/{list}?limit=100")).await;
        assert!(!whole.is_empty(), "{list} is empty");
        for limit in [1, 2, 7] {
            assert_eq!(walk(&reader, &format!("{run}/{list}?limit={limit}")).await, whole, "{list} by {limit}");
        }
        let mut oldest = walk(&reader, &format!("{run}/{list}?limit=3&order=oldest")).await;
        oldest.reverse();
        assert_eq!(oldest, whole, "{list} from the oldest");
        let keys: HashSet<String> = whole.iter().map(key).collect();
        assert_eq!(keys.len(), whole.len(), "{list} repeats rows");
    }
    server.stop().await;
}

#[actix_web::test]
async fn rows_that_come_while_somebody_pages_are_neither_skipped_nor_repeated() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let make = |name: String| {
        let writer = writer.clone();
        async move { writer.post("/api/v1/experiments", &json!({"name": name})).await.expect(201) }
    };
    join_all((0..10).map(|n| make(format!("before {n}")))).await;
    let first = writer.get("/api/v1/experiments?limit=4").await.expect(200).json();
    join_all((0..10).map(|n| make(format!("after {n}")))).await;
    let rest =
        walk(&writer, &format!("/api/v1/experiments?limit=4&cursor={}", first["next"].as_str().expect("it"))).await;
    let names: HashSet<&str> =
        first["items"].as_array().into_iter().flatten().chain(&rest).filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, (0..10).map(|n| format!("before {n}")).collect::<Vec<_>>().iter().map(String::as_str).collect());
    assert_eq!(walk(&writer, "/api/v1/experiments?limit=4&name=BEFORE").await.len(), 10);
    assert_eq!(walk(&writer, "/api/v1/experiments?name=before%203").await.len(), 1);
    assert_eq!(walk(&writer, "/api/v1/experiments?name=%25").await.len(), 0);
    server.stop().await;
}

#[actix_web::test]
async fn problems_are_filtered_and_sorted() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 24).await;
    let problems = format!("/api/v1/runs/{}/problems", made.run);
    let count = |query: &str| {
        let (reader, address) = (reader.clone(), format!("{problems}?limit=3&{query}"));
        async move { walk(&reader, &address).await.len() }
    };
    assert_eq!(count("valid=true").await, 12);
    assert_eq!(count("valid=false&status=timeout").await, 12);
    assert_eq!(count("valid=true&status=timeout").await, 0);
    assert_eq!(count("type=code_i").await, 8);
    assert_eq!(count("cell=3").await, 6);
    assert_eq!(count("step=1").await, 0);
    assert_eq!(count(&format!("proposer={}", made.teacher)).await, 24);
    assert_eq!(count(&format!("proposer={}", made.student)).await, 0);
    assert_eq!(count("q=took%20long").await, 12);
    assert_eq!(count("q=nowhere").await, 0);
    assert_eq!(count("solve_rate_min=0.25&solve_rate_max=0.5").await, 4);
    let rates = |sort: &'static str| {
        let (reader, address) = (reader.clone(), format!("{problems}?limit=5&sort={sort}"));
        async move { walk(&reader, &address).await.iter().map(|row| row["solve_rate"].as_f64().expect("a rate")).collect() }
    };
    let (mut hardest, easiest): (Vec<f64>, Vec<f64>) = (rates("hardest").await, rates("easiest").await);
    assert!(hardest.len() == 12 && hardest.is_sorted(), "{hardest:?}");
    hardest.reverse();
    assert_eq!(hardest, easiest);
    let full = reader.get(&format!("{problems}?full=true&limit=1")).await.expect(200).json();
    assert_eq!(full["items"][0]["prompt"], "Propose.");
    assert!(reader.get(&format!("{problems}?limit=1")).await.expect(200).json()["items"][0].get("prompt").is_none());
    let reply = reader.get(&format!("{problems}?sort=hardest&order=newest")).await.expect(400);
    assert_eq!(reply.places(), ["order"]);
    server.stop().await;
}

#[actix_web::test]
async fn runs_and_work_are_filtered() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 2).await;
    let body = json!({"preset": "small", "name": "100%_sure", "tags": ["x"]});
    let other = writer.post("/api/v1/runs", &body).await.expect(201).json();
    writer.act(&format!("/api/v1/runs/{}/cancel", other["id"].as_str().expect("an id"))).await.expect(202);
    let names = |query: &str| {
        let (writer, address) = (writer.clone(), format!("/api/v1/runs?{query}"));
        async move {
            let rows = walk(&writer, &address).await;
            rows.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        }
    };
    assert_eq!(names("").await, ["100%_sure", "filled"]);
    assert_eq!(names("state=cancelled").await, ["100%_sure"]);
    assert_eq!(names("tag=x").await, ["100%_sure"]);
    assert_eq!(names("name=FILL").await, ["filled"]);
    assert_eq!(names("name=100%25_").await, ["100%_sure"]);
    assert_eq!(names("name=1%25").await, Vec::<String>::new());
    assert_eq!(names("recipe=scripted&order=oldest").await, ["filled", "100%_sure"]);
    assert_eq!(names("recipe=other").await, Vec::<String>::new());

    let work = walk(&writer, &format!("/api/v1/work?run={}&state=ready&kind=verify&step=0", made.run)).await;
    assert_eq!(work.len(), 1);
    assert_eq!((&work[0]["phase"], &work[0]["errors"]), (&json!("check"), &json!([])));
    assert_eq!(walk(&writer, "/api/v1/work?kind=evolve").await.len(), 0);
    assert_eq!(walk(&writer, &format!("/api/v1/work?run={}", other["id"].as_str().expect("an id"))).await.len(), 0);
    server.stop().await;
}

#[actix_web::test]
async fn what_a_list_cannot_understand_is_said() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    for (query, place, hint) in [
        ("limit=0", "limit", "at least 1"),
        ("limit=101", "limit", "at most 100"),
        ("limit=many", "limit", "whole number"),
        ("state=runing", "state", "did you mean `running`?"),
        ("cursor=!!", "cursor", "not a cursor"),
        ("cursor=WzEsInJ1bnMub2xkZXN0IiwxLG51bGxd", "cursor", "another list, order"),
        ("experiment=x", "", "UUID"),
    ] {
        let reply = reader.get(&format!("/api/v1/runs?{query}")).await.expect(400);
        assert!(reply.places().contains(&place.to_owned()), "{query}: {reply:?}");
        assert!(reply.json().to_string().contains(hint), "{query}: {reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn who_asks_again_hears_that_nothing_has_changed() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    writer.post("/api/v1/runs", &json!({"preset": "small"})).await.expect(201);
    let first = writer.get("/api/v1/runs").await.expect(200);
    let asking = writer.clone().with("if-none-match", first.header("etag"));
    let again = asking.get("/api/v1/runs").await.expect(304);
    assert!(again.body.is_empty());
    writer.post("/api/v1/runs", &json!({"preset": "small"})).await.expect(201);
    asking.get("/api/v1/runs").await.expect(200);
    server.stop().await;
}
