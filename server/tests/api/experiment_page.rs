//! The page of an experiment.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::{
    harness::{Actor, TestServer, config},
    outline::{assert_reads_like, attributes},
    views::browser,
};

/// The runs that the page of an experiment compares, and the page.
async fn compared(writer: &Actor, page: &str) -> (Vec<String>, String) {
    let html = browser(writer).get(page).await.expect(200).text();
    let links = attributes(&html, "href");
    let ids = links
        .iter()
        .find_map(|link| link.strip_prefix("/compare?runs=")?.split('&').next());
    (ids.expect("a link").split(',').map(str::to_owned).collect(), html)
}

/// How many runs of an arm are compared.
fn of(compared: &[String], arm: &[String]) -> usize {
    arm.iter().filter(|id| compared.contains(id)).count()
}

#[actix_web::test]
async fn every_arm_is_compared_and_what_is_left_out_is_told() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = writer.post("/api/v1/experiments", &json!({"name": "arms"})).await;
    let experiment = made.expect(201).json()["id"].as_str().expect("an id").to_owned();
    let page = format!("/experiments/{experiment}");
    let mut last = Vec::new();
    for (width, seeds) in [(3, 9), (4, 3), (5, 2)] {
        let mut ids = Vec::new();
        for seed in 0..seeds {
            let mut config = config();
            config["seed"] = json!(seed);
            config["parameters"] = json!({ "width": width });
            let body = json!({"config": config, "experiment": "arms"});
            let made = writer.post("/api/v1/runs", &body).await.expect(201).json();
            ids.push(made["id"].as_str().expect("an id").to_owned());
        }
        last.push(ids);
        if width == 4 {
            let (compared, _) = compared(&writer, &page).await;
            assert_eq!(last.iter().map(|arm| of(&compared, arm)).collect::<Vec<_>>(), [9, 3]);
        }
    }
    let (compared, html) = compared(&writer, &page).await;
    assert_eq!(last.iter().map(|arm| of(&compared, arm)).collect::<Vec<_>>(), [7, 3, 2]);
    assert_reads_like("experiment.with-more-runs-than-a-comparison-takes", &html);
    server.stop().await;
}
