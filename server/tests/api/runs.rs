//! Runs, from creation to deletion.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::fixtures::filled;
use crate::harness::{Actor, TestServer, config};
use crate::outline::attributes;

async fn created(writer: &Actor, body: &Value) -> Value {
    writer.post("/api/v1/runs", body).await.expect(201).json()
}

#[actix_web::test]
async fn a_run_is_created_paused_resumed_cancelled_and_deleted() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let experiment = writer.post("/api/v1/experiments", &json!({"name": "arms"})).await.expect(201).json();
    let body = json!({"config": config(), "name": "first", "experiment": "arms", "tags": ["a", "b"], "note": "see"});
    let reply = writer.post("/api/v1/runs", &body).await.expect(201);
    let run = reply.json();
    let address = format!("/api/v1/runs/{}", run["id"].as_str().expect("an id"));
    assert_eq!(reply.header("location"), address);
    assert_eq!(
        (&run["state"], &run["step"], &run["steps"], &run["seed"]),
        (&json!("running"), &json!(0), &json!(3), &json!(7))
    );
    assert_eq!((&run["experiment_id"], &run["experiment"]), (&experiment["id"], &json!("arms")));
    assert_eq!(run["config"]["parameters"], json!({"width": 2}), "the default is written out");
    let recorded = json!(["reward", "solve_rate", "format_rate", "no_signal_share"]);
    assert_eq!(run["metrics"], recorded);

    let act = |action: &str| {
        let (writer, address) = (writer.clone(), format!("{address}/{action}"));
        async move { writer.act(&address).await }
    };
    let conflict = act("resume").await.expect(409);
    assert_eq!(conflict.problem(), "conflict");
    assert!(conflict.json()["detail"].as_str().is_some_and(|said| said.contains("is running")), "{conflict:?}");
    assert_eq!(act("pause").await.expect(202).json()["state"], "paused");
    act("pause").await.expect(409);
    writer.delete(&address).await.expect(409);
    assert_eq!(act("resume").await.expect(202).json()["state"], "running");
    let cancelled = act("cancel").await.expect(202).json();
    assert_eq!(cancelled["state"], "cancelled");
    assert!(cancelled["finished_at"].is_string());
    writer.delete(&format!("/api/v1/experiments/{}", experiment["id"].as_str().expect("an id"))).await.expect(409);
    writer.delete(&address).await.expect(204);
    writer.get(&address).await.expect(404);
    writer.delete(&format!("/api/v1/experiments/{}", experiment["id"].as_str().expect("an id"))).await.expect(204);
    server.stop().await;
}

#[actix_web::test]
async fn a_dry_run_says_what_would_be_and_makes_nothing() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let body = json!({"preset": "small", "overrides": {"parameters.width": 5, "seed": 9}});
    let resolved = writer.post("/api/v1/runs?dry_run=true", &body).await.expect(200).json();
    assert_eq!((&resolved["config"]["parameters"]["width"], &resolved["config"]["seed"]), (&json!(5), &json!(9)));
    let memory = &resolved["estimate"]["memory"][0];
    assert_eq!((&memory["population"], &memory["bytes"]), (&json!("main"), &json!(null)));
    assert!(
        memory["unknown"].as_str().is_some_and(|why| why.contains("do not describe learning")),
        "what is not known is said: {resolved}"
    );
    assert_eq!(resolved["estimate"]["step_seconds"], json!(null));
    let listed = writer.get("/api/v1/runs").await.expect(200).json();
    assert_eq!(listed, json!({"items": []}));
    server.stop().await;
}

#[actix_web::test]
async fn every_fault_of_a_config_comes_at_once_with_its_place_and_what_is_valid() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let mut wrong = config();
    wrong["stepz"] = json!(3);
    wrong["populations"]["main"]["lora"]["r"] = json!(0);
    wrong["populations"]["main"]["members"][0]["roles"] = json!(["teecher"]);
    wrong["parameters"] = json!({"widht": 3});
    let reply = writer.post("/api/v1/runs", &json!({"config": wrong})).await.expect(422);
    let places = reply.places();
    for place in [
        "/config/stepz",
        "/config/populations/main/lora/r",
        "/config/populations/main/members/0/roles/0",
        "/config/parameters/widht",
    ] {
        assert!(places.contains(&place.to_owned()), "{place} is missing in {places:?}");
    }
    let said = reply.json().to_string();
    for hint in ["did you mean `steps`?", "did you mean `width`?", "did you mean `teacher`?", "at least 1"] {
        assert!(said.contains(hint), "{hint} is missing in {said}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn faults_are_said_where_the_request_has_them() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let cases = [
        (json!({"preset": "smal"}), "/preset", "did you mean `small`?"),
        (json!({"preset": "small", "config": config()}), "/config", "one of the two"),
        (json!({}), "", "preset"),
        (json!({"preset": "small", "overrides": {"steps": 0}}), "/overrides/steps", "at least 1"),
        (json!({"preset": "small", "overrides": {"parameters.width": 13}}), "/overrides/parameters.width", "luck"),
        (json!({"preset": "small", "overrides": {"steps.of.it": 1}}), "/overrides/steps.of.it", "no fields"),
        (
            json!({"config": {"recipe": "scriptd", "steps": 1, "populations": {}}}),
            "/config/recipe",
            "did you mean `scripted`?",
        ),
        (json!({"preset": "small", "experiment": "none"}), "/experiment", "there is no experiment `none`"),
        (json!({"preset": "small", "note": "a\u{0}b"}), "/note", "U+0000"),
    ];
    for (body, place, hint) in cases {
        let reply = writer.post("/api/v1/runs", &body).await.expect(422);
        assert!(reply.places().contains(&place.to_owned()), "{body}: {reply:?}");
        assert!(reply.json().to_string().contains(hint), "{body}: {reply:?}");
    }
    assert_eq!(writer.get("/api/v1/runs").await.expect(200).json()["items"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn runs_of_one_arm_differ_by_seed_alone() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let one = created(&writer, &json!({"preset": "small", "overrides": {"seed": 1}})).await;
    let two = created(&writer, &json!({"preset": "small", "overrides": {"seed": 2}})).await;
    let other = created(&writer, &json!({"preset": "small", "overrides": {"steps": 4}})).await;
    assert_eq!(one["arm"], two["arm"]);
    assert_ne!(one["arm"], other["arm"]);
    let arm = format!("/api/v1/runs?arm={}", one["arm"].as_str().expect("an arm"));
    assert_eq!(writer.get(&arm).await.expect(200).json()["items"].as_array().map(Vec::len), Some(2));
    server.stop().await;
}

#[actix_web::test]
async fn a_run_is_changed_only_by_those_who_know_its_state() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = created(&writer, &json!({"preset": "small"})).await;
    let address = format!("/api/v1/runs/{}", run["id"].as_str().expect("an id"));
    let seen = writer.get(&address).await.expect(200).header("etag").to_owned();
    let knowing = writer.clone().with("if-match", seen.as_str());
    let changes = json!({"name": "second", "tags": ["x"], "priority": 5, "max_concurrent": 3});
    let changed = knowing.patch(&address, &changes).await.expect(200).json();
    assert_eq!(
        (&changed["name"], &changed["priority"], &changed["max_concurrent"]),
        (&json!("second"), &json!(5), &json!(3))
    );
    assert_eq!(knowing.patch(&address, &changes).await.expect(412).problem(), "changed");
    knowing.act(&format!("{address}/pause")).await.expect(412);
    writer.act(&format!("{address}/cancel")).await.expect(202);
    assert_eq!(knowing.delete(&address).await.expect(412).problem(), "changed");
    writer.get(&address).await.expect(200);
    assert_eq!(
        writer.patch(&address, &json!({"max_concurrent": 0})).await.expect(200).json()["max_concurrent"],
        Value::Null
    );
    server.stop().await;
}

#[actix_web::test]
async fn a_fork_branches_off_at_a_step_that_there_is() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = created(&writer, &json!({"preset": "small", "name": "trunk"})).await;
    let address = format!("/api/v1/runs/{}/fork", run["id"].as_str().expect("an id"));
    let branch = writer.post(&address, &json!({"step": 0, "overrides": {"seed": 8}})).await.expect(201).json();
    assert_eq!((&branch["forked_from"], &branch["forked_at_step"]), (&run["id"], &json!(0)));
    assert_eq!((&branch["seed"], &branch["name"]), (&json!(8), &json!("trunk (from step 0)")));
    let ahead = writer.post(&address, &json!({"step": 2})).await.expect(422);
    assert!(ahead.json()["detail"].as_str().is_some_and(|said| said.contains("0 to 0")), "{ahead:?}");
    let past = writer.post(&address, &json!({"step": 3})).await.expect(422);
    assert_eq!(past.places(), ["/step"]);
    let other = writer.post(&address, &json!({"step": 0, "overrides": {"steps": 0}})).await.expect(422);
    assert_eq!(other.places(), ["/overrides/steps"]);
    server.stop().await;
}

#[actix_web::test]
async fn a_run_is_continued_for_more_steps_and_a_fork_can_be_tried_first() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = created(&writer, &json!({"preset": "small", "name": "trunk"})).await;
    let id = run["id"].as_str().expect("an id");
    let address = format!("/api/v1/runs/{id}/fork");
    let more = writer.post(&address, &json!({"more_steps": 5})).await.expect(201).json();
    assert_eq!(
        (&more["steps"], &more["forked_at_step"], &more["name"]),
        (&json!(5), &json!(0), &json!("trunk (continued from step 0)"))
    );
    let trial = format!("{address}?dry_run=true");
    let body = json!({"step": 0, "overrides": {"parameters.width": 9}});
    let tried = writer.post(&trial, &body).await.expect(200).json();
    assert_eq!(tried["config"]["parameters"]["width"], json!(9), "{tried}");
    assert!(tried["estimate"].is_object());
    let both = json!({"more_steps": 5, "overrides": {"steps": 9}});
    assert_eq!(writer.post(&address, &both).await.expect(422).places(), ["/overrides/steps"]);
    for body in [json!({"more_steps": 0}), json!({"more_steps": 4_000_000_000_u32})] {
        assert_eq!(writer.post(&address, &body).await.expect(422).places(), ["/more_steps"], "{body}");
    }
    let runs = writer.get("/api/v1/runs").await.expect(200).json();
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2), "a dry run makes none");
    let form = writer.get(&format!("/runs/new.json?fork={id}&step=0")).await.expect(200).json();
    assert_eq!((&form["fork"]["run"], &form["fork"]["step"]), (&json!(id), &json!(0)));
    server.stop().await;
}

#[actix_web::test]
async fn experiments_are_found_by_their_tags() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let made = json!({"name": "tagged", "tags": ["a", "b, c"]});
    let made = writer.post("/api/v1/experiments", &made).await.expect(201).json();
    writer.post("/api/v1/experiments", &json!({"name": "bare"})).await.expect(201);
    let found = async |query: &str| {
        let answer = writer.get(&format!("/api/v1/experiments?{query}")).await.expect(200).json();
        answer["items"].as_array().map(|items| items.len())
    };
    assert_eq!((found("tag=a").await, found("").await), (Some(1), Some(2)));
    assert_eq!((found("tag=b,%20c").await, found("tag=b").await), (Some(1), Some(0)));
    let address = format!("/api/v1/experiments/{}", made["id"].as_str().expect("an id"));
    let changed = writer.patch(&address, &json!({"tags": ["d"]})).await.expect(200).json();
    assert_eq!((&changed["tags"], &changed["name"]), (&json!(["d"]), &json!("tagged")));
    assert_eq!((found("tag=a").await, found("tag=d").await), (Some(0), Some(1)));
    let page = writer.get("/experiments.json?tag=d").await.expect(200).json();
    let names: Vec<_> = page["items"].as_array().expect("experiments").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["tagged"]);
    let page = writer.clone().with("accept", "text/html").get("/experiments").await.expect(200).text();
    let links = attributes(&page, "href");
    assert!(links.contains(&"/experiments?tag=d".to_owned()), "{links:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_run_is_deleted_after_the_forks_that_need_its_problems() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let db = server.store.pool();
    let forked = async |run: &Value, name: &str| {
        let address = format!("/api/v1/runs/{}/fork", run["id"].as_str().expect("an id"));
        let fork = writer.post(&address, &json!({"step": 0, "name": name})).await;
        fork.expect(201).json()
    };
    let trunk = created(&writer, &json!({"preset": "small", "name": "trunk"})).await;
    let branch = forked(&trunk, "branch").await;
    let twig = forked(&branch, "twig").await;
    let apart = forked(&trunk, "from the start").await;
    for run in [&trunk, &branch, &twig, &apart] {
        let address = format!("/api/v1/runs/{}/cancel", run["id"].as_str().expect("an id"));
        writer.act(&address).await.expect(202);
    }
    // As if their runs had come so far before they were forked.
    sqlx::query("UPDATE runs SET forked_at_step = 1 WHERE name IN ('branch', 'twig')")
        .execute(db)
        .await
        .expect("later forks");
    let delete = async |run: &Value| {
        let address = format!("/api/v1/runs/{}", run["id"].as_str().expect("an id"));
        writer.delete(&address).await
    };
    let refused = async |run: &Value| {
        let said = delete(run).await.expect(409).json();
        said["detail"].as_str().expect("a reason").to_owned()
    };
    let said = refused(&trunk).await;
    assert!(said.contains("`branch`") && said.contains("`twig`"), "{said}");
    assert!(!said.contains("from the start"), "it took over nothing: {said}");
    let said = refused(&branch).await;
    assert!(said.contains("`twig`") && !said.contains("`branch`"), "{said}");
    for run in [&twig, &branch, &trunk] {
        delete(run).await.expect(204);
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_run_is_not_deleted_while_a_fork_of_a_deleted_fork_has_its_problems() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let db = server.store.pool();
    let made = filled(&server, 4).await;
    let orphan = created(&writer, &json!({"preset": "small", "name": "orphan"})).await;
    let orphan = orphan["id"].as_str().expect("an id");
    for query in [
        "UPDATE executions SET state = 'cancelled', finished_at = now()",
        "UPDATE runs SET forked_at_step = 1 WHERE name = 'orphan'",
        "INSERT INTO archive_insertions (run_id, step, cell, problem_id, status, objective)
         SELECT r.id, 0, 0, p.id, 'new', 0 FROM runs r, (SELECT id FROM problems LIMIT 1) p WHERE r.name = 'orphan'",
    ] {
        sqlx::query(query).execute(db).await.expect("a fork of a fork");
    }
    let address = format!("/api/v1/runs/{}", made.run);
    let said = writer.delete(&address).await.expect(409).json();
    assert!(said["detail"].as_str().is_some_and(|said| said.contains("`orphan`")), "{said}");
    writer.delete(&format!("/api/v1/runs/{orphan}")).await.expect(204);
    writer.delete(&address).await.expect(204);
    server.stop().await;
}

#[actix_web::test]
async fn a_run_that_hardly_learns_is_warned_about_where_it_is_made_and_on_its_page() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let mut body = crate::diversity::document("slow");
    let rate = |body: &mut Value, rate: f64| {
        for side in ["proposer", "solver"] {
            body["config"]["parameters"][side]["learning"]["optimizer"]["learning_rate"] = json!(rate);
        }
    };
    let pointers = |answer: &Value| -> Vec<String> {
        let warnings = answer["warnings"].as_array().expect("warnings");
        warnings.iter().map(|warning| warning["pointer"].as_str().expect("a pointer").to_owned()).collect()
    };
    rate(&mut body, 1e-9);
    let places = ["proposer", "solver"].map(|side| format!("/parameters/{side}/learning/optimizer/learning_rate"));
    assert_eq!(pointers(&writer.post("/api/v1/runs?dry_run=true", &body).await.expect(200).json()), places);
    let run = created(&writer, &body).await;
    assert_eq!(pointers(&run), places);
    let page = writer.get(&format!("/runs/{}", run["id"].as_str().expect("an id"))).await.expect(200).text();
    assert!(places.iter().all(|place| page.contains(&format!("<code>{place}</code>"))), "{page}");
    // A rate of 0 is a control.
    for other in [0.0, 1.0] {
        rate(&mut body, other);
        assert_eq!(pointers(&created(&writer, &body).await), [""; 0]);
    }
    server.stop().await;
}
