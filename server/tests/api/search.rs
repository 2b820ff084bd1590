//! The search over names and ids.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer};

async fn found(reader: &Actor, query: &str) -> Vec<Value> {
    let answer = reader.get(&format!("/api/v1/search?{query}")).await.expect(200).json();
    answer["items"].as_array().cloned().expect("items")
}

/// The addresses of what of this kind is found.
async fn addresses(reader: &Actor, query: &str, kind: &str) -> Vec<String> {
    let items = found(reader, query).await.into_iter().filter(|one| one["kind"] == kind);
    items.map(|one| one["address"].as_str().expect("an address").to_owned()).collect()
}

#[actix_web::test]
async fn everything_is_found_by_its_name_or_the_beginning_of_its_id() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = filled(&server, 2).await;
    let run = format!("/runs/{}", made.run);
    let experiment = writer.post("/api/v1/experiments", &json!({"name": "Filled bottles"})).await.expect(201).json();
    let experiment = format!("/experiments/{}", experiment["id"].as_str().expect("an id"));
    assert_eq!(addresses(&writer, "q=ILLED", "run").await, std::slice::from_ref(&run));
    assert_eq!(addresses(&writer, "q=filled", "experiment").await, [experiment]);
    let (problem, member) = (made.problems[1].to_string(), made.teacher.to_string());
    assert_eq!(addresses(&writer, &format!("q={problem}"), "problem").await, [format!("{run}/problems/{problem}")]);
    let beginning = member.replace('-', "")[..12].to_uppercase();
    assert!(addresses(&writer, &format!("q={beginning}"), "member").await.contains(&format!("{run}/members/{member}")));
    let names = writer.get(&format!("/api/v1/runs/{}/members", made.run)).await.expect(200).json();
    let name = names["items"][0]["name"].as_str().expect("a name");
    let of_name = found(&writer, &format!("q={name}")).await;
    assert!(
        of_name.iter().any(|one| one["kind"] == "member" && one["name"] == name && one["of"] == "filled"),
        "{of_name:?}"
    );
    server.stop().await;
}

#[actix_web::test]
async fn pages_are_found_by_label_and_place_and_all_without_a_text() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    filled(&server, 1).await;
    let workers = addresses(&reader, "q=worker", "page").await;
    assert_eq!(workers, ["/workers"]);
    assert!(addresses(&reader, "q=machines", "page").await.contains(&"/alerts".to_owned()));
    assert_eq!(addresses(&reader, "q=new+run", "action").await, ["/runs/new"]);
    let all = found(&reader, "").await;
    assert!(all.iter().all(|one| one["kind"] == "page" || one["kind"] == "action"), "{all:?}");
    for page in &all {
        let address = page["address"].as_str().expect("an address");
        reader.clone().with("accept", "text/html").get(address).await.expect(200);
    }
    server.stop().await;
}

#[actix_web::test]
async fn each_kind_is_limited_what_begins_with_the_text_comes_first_and_no_text_is_a_pattern() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    for name in ["beta 1", "beta 2", "alphabeta"] {
        writer.post("/api/v1/runs", &json!({"preset": "small", "name": name})).await.expect(201);
    }
    let names = async |query: &str| {
        let items = found(&writer, query).await.into_iter().filter(|one| one["kind"] == "run");
        items.map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("q=beta").await, ["beta 2", "beta 1", "alphabeta"]);
    assert_eq!(names("q=beta&limit=1").await, ["beta 2"]);
    for pattern in ["%25", "b_ta", "%5C", "%27", "%00"] {
        let reply = writer.get(&format!("/api/v1/search?q={pattern}")).await;
        assert!(reply.status == 400 || names(&format!("q={pattern}")).await.is_empty(), "{pattern}: {reply:?}");
    }
    writer.get("/api/v1/search?limit=0").await.expect(400);
    writer.get("/api/v1/search?query=x").await.expect(400);
    server.stop().await;
}
