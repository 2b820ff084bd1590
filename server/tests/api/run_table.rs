//! The table of runs: columns of one's choice, sorted, filtered and grouped.

use lyceum_core::id::ExecutionId;
use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::harness::{Actor, TestServer, config};
use crate::outline::{assert_reads_like, attributes, island};

/// A run with these values of `solve_rate` and `entropy` in its steps.
async fn run(server: &TestServer, writer: &Actor, name: &str, seed: u32, values: &[[f64; 2]]) -> ExecutionId {
    let mut config = config();
    config["seed"] = json!(seed);
    let body = json!({"config": config, "name": name, "tags": [format!("tag-{name}")]});
    let made = writer.post("/api/v1/runs", &body).await.expect(201).json();
    let id = ExecutionId(made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id"));
    sqlx::query("UPDATE executions SET metrics = '{solve_rate,entropy}' WHERE id = $1")
        .bind(id.0)
        .execute(server.store.pool())
        .await
        .expect("names");
    for (step, values) in (0_i32..).zip(values) {
        sqlx::query("INSERT INTO metrics (run_id, step, \"values\") VALUES ($1, $2, $3)")
            .bind(id.0)
            .bind(step)
            .bind(values.to_vec())
            .execute(server.store.pool())
            .await
            .expect("values");
    }
    id
}

fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items");
    items.iter().filter_map(|item| item["name"].as_str()).collect()
}

async fn page(actor: &Actor, query: &str) -> Value {
    actor.get(&format!("/runs.json?{query}")).await.expect(200).json()
}

#[actix_web::test]
async fn columns_are_means_over_the_last_steps_and_sort_with_missing_values_last() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    // 80 steps: the first 64 at 0, the next 15 at 0.4, the last at 0.8.
    let mut rising = vec![[0.0, f64::NAN]; 64];
    rising.extend([[0.4, f64::NAN]; 15]);
    rising.push([0.8, f64::NAN]);
    run(&server, &writer, "rising", 1, &rising).await;
    run(&server, &writer, "steady", 2, &[[0.5, 2.0]; 3]).await;
    run(&server, &writer, "new", 3, &[]).await;
    run(&server, &writer, "tiny", 4, &[[1e-60, 1e60]; 2]).await;

    let shown = page(&writer, "columns=metrics.solve_rate,metrics.entropy,config.seed&sort=metrics.solve_rate").await;
    assert_eq!(names(&shown), ["steady", "rising", "tiny", "new"]);
    let value = |place: usize, column: &str| shown["items"][place]["values"][column].clone();
    assert_eq!(value(0, "metrics.solve_rate"), json!(0.5));
    let rising = value(1, "metrics.solve_rate").as_f64().expect("a mean");
    assert!((rising - 0.425).abs() < 1e-12, "(15 × 0.4 + 0.8) / 16, not {rising}");
    assert_eq!(value(1, "metrics.entropy"), Value::Null, "a value that never was there");
    assert_eq!(value(3, "metrics.solve_rate"), Value::Null);
    assert_eq!(value(0, "config.seed"), json!(2.0));

    let last = page(&writer, "columns=metrics.solve_rate&sort=metrics.solve_rate&last=1").await;
    assert_eq!(names(&last)[..2], ["rising", "steady"]);
    assert_eq!(last["items"][0]["values"]["metrics.solve_rate"], json!(0.8));
    let ascending = page(&writer, "sort=metrics.entropy&order=oldest").await;
    assert_eq!(names(&ascending), ["steady", "tiny", "rising", "new"], "missing values are last in both directions");

    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let part = page(&writer, &format!("sort=metrics.solve_rate&limit=1{cursor}")).await;
        seen.extend(names(&part).into_iter().map(str::to_owned));
        match part["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["steady", "rising", "tiny", "new"], "one at a time");
    server.stop().await;
}

#[actix_web::test]
async fn a_table_is_filtered_by_text_and_conditions_and_grouped() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    for (name, seed, value) in [("alpha 50%", 1, 0.2), ("beta", 1, 0.4), ("gamma", 2, 0.9)] {
        run(&server, &writer, name, seed, &[[value, 1.0]]).await;
    }
    for (query, expected) in [
        ("q=MM", vec!["gamma"]),
        ("q=50%25", vec!["alpha 50%"]),
        ("q=%25", vec!["alpha 50%"]),
        ("q=tag-be", vec!["beta"]),
        ("q=nothing", vec![]),
        ("where=metrics.solve_rate%3E=0.4", vec!["gamma", "beta"]),
        ("where=metrics.solve_rate%3E0.3,config.seed=1", vec!["beta"]),
        ("where=config.recipe=scripted,config.seed!=1", vec!["gamma"]),
        ("where=config.recipe=azr", vec![]),
        ("where=metrics.kl%3C1", vec![]),
    ] {
        assert_eq!(names(&page(&writer, query).await), expected, "{query}");
    }
    let grouped = page(&writer, "group=config.seed&columns=metrics.solve_rate").await;
    let groups = grouped["groups"].as_array().expect("groups");
    assert_eq!((&groups[0]["key"], &groups[0]["runs"]), (&json!("1"), &json!(2)));
    let mean = &groups[0]["values"]["metrics.solve_rate"];
    assert!((mean["mean"].as_f64().expect("a mean") - 0.3).abs() < 1e-12, "{mean}");
    // statistics.stdev([0.2, 0.4])
    assert!((mean["deviation"].as_f64().expect("a deviation") - 0.141_421_356_237_309_5).abs() < 1e-12, "{mean}");
    assert_eq!(groups[1]["values"]["metrics.solve_rate"]["deviation"], Value::Null, "a single run");
    let html = writer.clone().with("accept", "text/html");
    let shown = html.get("/?group=config.seed&q=a").await.expect(200).text();
    let links = attributes(&shown, "href");
    let runs = "/?q=a&where=config%2Eseed%3D1".to_owned();
    assert!(links.contains(&runs), "a group leads to its runs: {links:?}");
    server.stop().await;
}

#[actix_web::test]
async fn the_mean_of_an_arm_is_over_its_seeds_and_says_how_many_have_a_value() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let trunk = run(&server, &writer, "trunk", 1, &[[0.2, 1.0]]).await;
    run(&server, &writer, "other", 2, &[[0.4, f64::NAN]]).await;
    let body = json!({"step": 0, "name": "branch"});
    let fork = writer.post(&format!("/api/v1/runs/{trunk}/fork"), &body).await.expect(201).json();
    sqlx::query("INSERT INTO metrics (run_id, step, \"values\") VALUES ($1::uuid, 0, '{0.9,9}')")
        .bind(fork["id"].as_str().expect("an id"))
        .execute(server.store.pool())
        .await
        .expect("values");
    sqlx::query("UPDATE executions SET metrics = '{solve_rate,entropy}' WHERE kind = 'run'")
        .execute(server.store.pool())
        .await
        .expect("names");
    let address = "group=arm&columns=metrics.solve_rate,metrics.entropy";
    let grouped = page(&writer, address).await;
    let group = &grouped["groups"][0];
    assert_eq!((&group["runs"], &group["repeats"]), (&json!(3), &json!(1)), "{grouped}");
    let mean = group["values"]["metrics.solve_rate"]["mean"].as_f64().expect("a mean");
    assert!((mean - 0.3).abs() < 1e-12, "the fork has the seed of its run: {mean}");
    let entropy = &group["values"]["metrics.entropy"];
    assert_eq!((&entropy["mean"], &entropy["n"]), (&json!(1.0), &json!(1)), "{grouped}");
    let html = writer.clone().with("accept", "text/html");
    let shown = html.get(&format!("/?{address}")).await.expect(200).text();
    assert_reads_like("runs.by-arm", &shown);
    let others = page(&writer, "group=config.seed&columns=metrics.solve_rate").await;
    assert_eq!((&others["groups"][0]["runs"], &others["groups"][0]["repeats"]), (&json!(2), &json!(0)));
    server.stop().await;
}

#[actix_web::test]
async fn what_a_table_cannot_show_is_told_by_parameter() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    for (query, parameter, told) in [
        ("columns=solve_rate", "columns", "`metrics.NAME`"),
        ("sort=solve_rate", "sort", "`valid_problems`"),
        ("group=seed", "group", "`experiment`"),
        ("where=metrics.solve_rate", "where", "is not a comparison"),
        ("last=5", "last", "64"),
    ] {
        let refused = writer.get(&format!("/runs.json?{query}")).await.expect(400).json();
        assert_eq!(refused["errors"][0]["parameter"], parameter, "{refused}");
        assert!(refused["errors"][0]["detail"].as_str().is_some_and(|detail| detail.contains(told)), "{refused}");
    }
    let hostile = "columns=metrics.x'%20OR%201%3D1,config.%3Cb%3E&sort=metrics.x'&where=config.a%22%3D'";
    let html = writer.clone().with("accept", "text/html");
    let shown = html.get(&format!("/?{hostile}")).await.expect(400).text();
    assert!(!shown.contains("<b>"), "{shown}");
    server.stop().await;
}

#[actix_web::test]
async fn a_column_that_no_run_can_have_is_refused_with_the_nearest_that_exists() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    writer.get("/runs.json?columns=config.whatever").await.expect(200);
    run(&server, &writer, "only", 1, &[[0.5, 2.0]]).await;
    for (query, parameter, meant) in [
        ("columns=metrics.solve_raet", "columns", "`metrics.solve_rate`"),
        ("where=config.lora.r=8", "where", "`config.populations.main.lora.r`"),
        ("sort=benchmarks.gms8k", "sort", "`benchmarks.gsm8k`"),
        ("group=config.stepps", "group", "`config.steps`"),
    ] {
        let refused = writer.get(&format!("/runs.json?{query}")).await.expect(400).json();
        let fault = &refused["errors"][0];
        assert_eq!(fault["parameter"], parameter, "{refused}");
        assert!(fault["detail"].as_str().is_some_and(|said| said.contains(meant)), "{refused}");
    }
    for query in ["columns=config.populations.main.lora.r", "where=config.seed=1", "sort=metrics.entropy"] {
        assert_eq!(names(&page(&writer, query).await), ["only"], "{query}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_head_sorts_and_sorts_the_other_way_round() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    run(&server, &writer, "one", 1, &[[0.5, 1.0]]).await;
    let html = writer.clone().with("accept", "text/html");
    let shown = html.get("/?columns=metrics.entropy&q=o").await.expect(200).text();
    let links = attributes(&shown, "href");
    let sorting = "/?columns=metrics%2Eentropy&q=o&sort=metrics%2Eentropy".to_owned();
    assert!(links.contains(&sorting), "{links:?}");
    let sorted = html.get("/?columns=metrics.entropy&sort=metrics.entropy").await.expect(200).text();
    assert_eq!(attributes(&sorted, "aria-sort"), ["descending"]);
    let links = attributes(&sorted, "href");
    let reversed = "/?columns=metrics%2Eentropy&sort=metrics%2Eentropy&order=oldest".to_owned();
    assert!(links.contains(&reversed), "{links:?}");
    server.stop().await;
}

#[actix_web::test]
async fn two_columns_are_drawn_as_parallel_coordinates() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    run(&server, &writer, "one", 1, &[[0.25, 1.0]]).await;
    run(&server, &writer, "other", 2, &[[0.75, 2.0]]).await;
    let browser = writer.clone().with("accept", "text/html");
    let html = browser.get("/?columns=metrics.solve_rate,config.seed,config.recipe").await.expect(200).text();
    let data = island(&html, "parallels").expect("data");
    let axes: Vec<&Value> = data[0]["axes"].as_array().expect("axes").iter().map(|axis| &axis["name"]).collect();
    assert_eq!(axes, ["solve rate", "seed", "recipe"]);
    assert_eq!(data[0]["lines"][0]["values"], json!([0.75, 2.0, 0.0]), "the newest run first");
    assert_eq!(data[0]["lines"][1]["values"], json!([0.25, 1.0, 0.0]));
    for few in ["/?columns=metrics.solve_rate", "/?columns=metrics.solve_rate,metrics.kl", "/"] {
        let html = browser.get(few).await.expect(200).text();
        assert_eq!(island(&html, "parallels"), None, "{few} has a single axis");
    }
    server.stop().await;
}
