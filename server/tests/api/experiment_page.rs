//! The page of an experiment.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::{
    harness::{TestServer, config},
    views::browser,
};

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
        if width == 4 {
            let html = browser(&writer).get(&page).await.expect(200).text();
            assert!(!html.contains("Compare takes"), "twelve runs are not too many: {html}");
        }
        last.push(ids);
    }
    let html = browser(&writer).get(&page).await.expect(200).text();
    assert!(
        html.contains("Compare takes 12 runs, of every arm in turn; 2 are left out."),
        "{html}"
    );
    let compared = html
        .split("/compare?runs=")
        .nth(1)
        .and_then(|rest| rest.split('&').next());
    let compared: Vec<&str> = compared.expect("a link").split(',').collect();
    let of_arm = |ids: &Vec<String>| ids.iter().filter(|id| compared.contains(&id.as_str())).count();
    assert_eq!(last.iter().map(of_arm).collect::<Vec<_>>(), [7, 3, 2]);
    server.stop().await;
}
