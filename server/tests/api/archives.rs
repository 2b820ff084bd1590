//! The archives of several runs side by side, and the suites.

use lyceum_store::tokens::Scope;
use serde_json::json;
use uuid::Uuid;

use crate::benchmarks::imported;
use crate::fixtures::filled;
use crate::harness::TestServer;
use crate::outline::attributes;

#[actix_web::test]
async fn maps_of_the_chosen_runs_are_side_by_side_and_lead_to_their_cells() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    assert_eq!(reader.get("/archives.json").await.expect(200).json()["maps"], json!([]));
    let runs = [filled(&server, 6).await.run, filled(&server, 6).await.run];
    let page = reader.get("/archives.json").await.expect(200).json();
    let shown: Vec<&str> =
        page["maps"].as_array().expect("maps").iter().filter_map(|map| map["run_id"].as_str()).collect();
    assert_eq!(shown, [runs[1].to_string(), runs[0].to_string()], "the newest first");
    assert!(page["maps"][0]["filled"].as_u64() > Some(0), "{page}");
    let browser = reader.clone().with("accept", "text/html");
    let html = browser.get(&format!("/archives?runs={}&x=loc&colour=age", runs[0])).await.expect(200).text();
    let links = attributes(&html, "href");
    let tile = links.iter().find(|link| link.contains("tile=")).expect("a tile");
    assert!(tile.starts_with(&format!("/runs/{}/archive?", runs[0])) && tile.contains("x=loc"), "{tile}");
    let tile = tile.replace("&#38;", "&").replace("&amp;", "&");
    let cells = browser.get(tile.split('#').next().unwrap_or_default()).await.expect(200).text();
    assert!(cells.contains("Problems of cell"), "{cells}");
    let both = format!("?runs={},{}", runs[0], runs[1]);
    assert!(links.iter().any(|link| link.starts_with(&both)), "the other map can be added: {links:?}");
    for (wrong, status) in [("runs=x", 400), ("x=beauty", 400), ("elegance=1", 400)] {
        browser.get(&format!("/archives?{wrong}")).await.expect(status);
    }
    browser.get(&format!("/archives?runs={}", Uuid::nil())).await.expect(404);
    let many: Vec<String> = (1..=9).map(|id| Uuid::from_u128(id).to_string()).collect();
    let refused = reader.get(&format!("/archives?runs={}", many.join(","))).await.expect(400);
    assert!(refused.text().contains("at most 8"), "{refused:?}");
    server.stop().await;
}

#[actix_web::test]
async fn every_suite_is_listed_with_its_protocol_and_its_use() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let dataset = imported(&writer).await;
    let page = writer.get("/benchmarks.json").await.expect(200).json();
    let all = writer.get("/api/v1/benchmarks").await.expect(200).json();
    let names = |list: &serde_json::Value| -> Vec<String> {
        let items = list["items"].as_array().expect("suites").iter();
        items.filter_map(|suite| suite["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(names(&page), names(&all));
    let suites = page["items"].as_array().expect("suites");
    let used = suites.iter().find(|suite| suite["dataset"]["id"] == dataset["id"]).expect("the import");
    assert!(used["protocol"]["prompts"].is_string(), "{used}");
    assert_eq!(used["used"], json!(null), "nothing was measured");
    server.stop().await;
}
