//! The page of an experiment.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::harness::{Actor, TestServer, config};
use crate::outline::{assert_reads_like, attributes};
use crate::views::browser;

/// The runs that the page of an experiment compares, and the page.
async fn compared(writer: &Actor, page: &str) -> (Vec<String>, String) {
    let html = browser(writer).get(page).await.expect(200).text();
    let links = attributes(&html, "href");
    let ids = links.iter().find_map(|link| link.strip_prefix("/compare?runs=")?.split('&').next());
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

/// Ends the run of this arm and seed in `state`, with `accuracy` on held-out rows of which the base solves a quarter.
pub(crate) async fn judged(server: &TestServer, width: u32, seed: u32, state: &str, accuracy: f64) {
    let statements = [
        "WITH judged AS (SELECT e.id FROM executions e JOIN runs r ON r.id = e.id
             WHERE e.config -> 'parameters' ->> 'width' = $1 AND r.seed::text = $2)
         INSERT INTO run_results (run_id, suite, row_set, decoding, step, of_suite, base_model, n, rows, members, shares, pass_at_1,
             standard_error, reference, difference_low, difference_high)
         SELECT id, 'held-out rows', 'rows', 'way', step, 'held-out rows', 'seedling', 1, 100, 1, '{}', $3::float8 * step / 2, 0.04, 0.25,
             $3 - 0.3, $3 - 0.2
         FROM judged, unnest(ARRAY[1, 2]) step WHERE $4 <> ''",
        "UPDATE executions SET state = $4, finished_at = now(), error = CASE $4 WHEN 'failed' THEN 'by hand' END FROM runs r
         WHERE r.id = executions.id AND config -> 'parameters' ->> 'width' = $1 AND r.seed::text = $2 AND $3 > 0::float8",
    ];
    for statement in statements {
        sqlx::query(statement)
            .bind(width.to_string())
            .bind(seed.to_string())
            .bind(accuracy)
            .bind(state)
            .execute(server.store.pool())
            .await
            .expect("a result");
    }
}

#[actix_web::test]
async fn arms_are_compared_seed_by_seed_and_unfinished_runs_are_apart() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = writer.post("/api/v1/experiments", &json!({"name": "which"})).await.expect(201).json();
    let experiment = made["id"].as_str().expect("an id").to_owned();
    let page = format!("/experiments/{experiment}");
    for width in [3, 4] {
        for seed in 0..7 {
            let mut config = config();
            config["seed"] = json!(seed);
            config["parameters"] = json!({ "width": width });
            writer.post("/api/v1/runs", &json!({"config": config, "experiment": "which"})).await.expect(201);
        }
    }
    // numpy: d = [.02, .03, .01, .04, .02, .03]; d.mean() = .025, d.std(ddof=1) = .010488; scipy's interval is .025 ± .011007.
    for (seed, gain) in (0..).zip([0.02, 0.03, 0.01, 0.04, 0.02, 0.03]) {
        judged(&server, 3, seed, "completed", 0.4).await;
        judged(&server, 4, seed, "completed", 0.4 + gain).await;
    }
    judged(&server, 3, 6, "completed", 0.4).await;
    judged(&server, 4, 6, "failed", 0.9).await;
    let shown = async || writer.get(&format!("{page}.json?within=0.5")).await.expect(200).json();
    let found = shown().await;
    let difference = &found["comparisons"][0]["difference"];
    let number = |name: &str| difference[name].as_f64().expect("a number");
    assert_eq!(difference["n"], 6, "the seventh has failed: {found}");
    assert!((number("mean") - 0.025).abs() < 1e-9 && (number("reach") - 0.011_007).abs() < 1e-6, "{difference}");
    // The smallest n with t(n − 1) s / √n ≤ .005 is 20.
    assert_eq!(found["comparisons"][0]["more_seeds"], 14);
    assert_eq!((&found["arms"][0]["accuracy"]["n"], &found["arms"][1]["accuracy"]["n"]), (&json!(7), &json!(6)));
    assert_eq!(found["comparisons"][0]["test"], json!(null), "the rule is off");

    let refused = writer
        .patch(&format!("/api/v1/experiments/{experiment}"), &json!({"stopping": {"h0": 0.02, "h1": 0.01}}))
        .await;
    let refused = refused.expect(422).json();
    assert_eq!(refused["errors"][0]["pointer"], "/stopping/h1", "{refused}");
    let switched = writer.patch(&format!("/api/v1/experiments/{experiment}"), &json!({"stopping": {"h1": 0.02}})).await;
    let switched = switched.expect(200).json();
    assert_eq!(switched["stopping"], json!({"alpha": 0.05, "beta": 0.05, "h0": 0.0, "h1": 0.02}));
    let found = shown().await;
    let test = &found["comparisons"][0]["test"];
    assert_eq!((&test["decision"], &test["n"]), (&json!("h1"), &json!(5)), "{test}");
    let html = browser(&writer).get(&page).await.expect(200).text();
    assert_reads_like("experiment.which-is-better", &html);
    let off = writer.patch(&format!("/api/v1/experiments/{experiment}"), &json!({"stopping": {"on": false}})).await;
    assert_eq!(off.expect(200).json()["stopping"], json!(null));
    server.stop().await;
}
