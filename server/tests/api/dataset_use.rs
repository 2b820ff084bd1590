//! Datasets that runs, evaluations and schedules name: which fit, and what they are asked.

use lyceum_core::id::DatasetId;
use lyceum_store::tokens::Scope;
use lyceum_store::{StoreError, datasets};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::benchmarks::row;
use crate::datasets::{config, dataset, id, imported, problem};
use crate::fixtures::filled;
use crate::harness::TestServer;

#[actix_web::test]
async fn a_config_names_seeds_that_are_there() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let seeds = json!([{"snippet": "def f(a):\n return a", "input": "1"}]);
    let seeds = id(&imported(&writer, &dataset("seeds", "seeds", &seeds)).await);
    let other = id(&imported(&writer, &dataset("train", "training", &json!([problem("a", "1?")]))).await);
    let body = |dataset: Uuid, rows: u32| {
        let parameters = json!({
            "prompts": {"set": "seedling"},
            "problems": {
                "references": 2,
                "num_inputs": 6,
                "max_prompt_bytes": 368,
                "seed_dataset": {"id": dataset, "rows": rows},
            },
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 96}},
        });
        json!({"config": config("azr", &json!(["proposer", "solver"]), &parameters)})
    };
    let place = "/config/parameters/problems/seed_dataset";
    for (dataset, rows, field, said) in [
        (Uuid::nil(), 1, "id", "lyceum dataset list --purpose seeds"),
        (other, 1, "id", "`train` is for training: import its rows with purpose `seeds`"),
        (seeds, 2, "rows", "2 rows of dataset `seeds`, which has 1"),
    ] {
        for address in ["/api/v1/runs", "/api/v1/runs?dry_run=true"] {
            let reply = writer.post(address, &body(dataset, rows)).await.expect(422);
            assert_eq!(reply.places(), [format!("{place}/{field}")]);
            assert!(reply.json().to_string().contains(said), "{reply:?}");
        }
    }
    let made = writer.post("/api/v1/runs", &body(seeds, 1)).await.expect(201).json();
    // Seeds that a run still needs stay.
    let run = format!("/api/v1/runs/{}", made["id"].as_str().expect("an id"));
    for action in ["pause", "resume"] {
        let reply = writer.delete(&format!("/api/v1/datasets/{seeds}")).await.expect(409);
        let said = reply.text();
        assert!(said.contains("dataset `seeds` is in use by run ") && said.contains("cancel it"), "{said}");
        writer.act(&format!("{run}/{action}")).await.expect(202);
    }
    writer.act(&format!("{run}/cancel")).await.expect(202);
    // A branch may be of a run whose seeds are gone, but not name others that are not there.
    writer.delete(&format!("/api/v1/datasets/{seeds}")).await.expect(204);
    let fork = format!("{run}/fork");
    writer.post(&fork, &json!({"step": 0})).await.expect(201);
    let overrides = json!({"step": 0, "overrides": {"parameters.problems.seed_dataset": {"id": other, "rows": 1}}});
    let reply = writer.post(&fork, &overrides).await.expect(422);
    assert_eq!(reply.places(), ["/overrides/parameters.problems.seed_dataset"]);
    server.stop().await;
}

#[actix_web::test]
async fn rows_that_a_benchmark_asks_are_learned_from_only_if_that_is_said() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let exam = json!({"name": "exam", "purpose": "benchmark", "suite": "gsm8k", "rows": [row(0), row(1)]});
    let exam = id(&imported(&writer, &exam).await);
    let rows = json!([problem("a", "what is  1?"), problem("b", "What is 7?"), problem("c", "What is 8?")]);
    let training = id(&imported(&writer, &dataset("train", "training", &rows)).await);
    let body = |dataset: Uuid, allow: bool| {
        let parameters = json!({
            "dataset": {"id": dataset, "rows": 2, "allow_overlap": allow}, "prompts": "azr", "batch": 2, "n": 2,
            "sampling": {"max_tokens": 64},
        });
        json!({"config": config("rlvr", &json!(["solver"]), &parameters)})
    };
    let reply = writer.post("/api/v1/runs", &body(training, false)).await.expect(422);
    assert_eq!(reply.places(), ["/config/parameters/dataset/allow_overlap"]);
    let said = reply.json().to_string();
    assert!(
        said.contains("1 rows of dataset `train` ask what the benchmark `exam` asks (row 0 is `gsm8k/1`)"),
        "{said}"
    );
    let reply = writer.post("/api/v1/runs", &body(exam, true)).await.expect(422);
    assert_eq!(reply.places(), ["/config/parameters/dataset/id"]);
    writer.post("/api/v1/runs", &body(training, true)).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn sage_starts_from_tasks_of_mathematics_alone() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let code = json!({"type": "code_o", "program": "def f(a):\n return a", "input": "1", "output": "1"});
    let rows = json!([problem("a", "1?"), code]);
    imported(&writer, &dataset("mixed", "training", &rows)).await;
    imported(&writer, &dataset("exam", "benchmark", &json!([problem("b", "2?")]))).await;
    let body = |seeds: &Value| {
        let roles = json!(["challenger", "planner", "solver", "critic"]);
        let sampling = json!({"max_tokens": 96});
        let parameters = json!({
            "dataset": seeds, "prompts": {"set": "seedling-math"},
            "sampling": {"challenge": sampling, "plan": sampling, "solve": sampling, "critique": sampling},
        });
        json!({"config": config("sage", &roles, &parameters)})
    };
    for (seeds, said) in [
        (json!({"name": "none"}), "there is no dataset"),
        (json!({"name": "exam"}), "is for benchmark"),
        (
            json!({"name": "mixed"}),
            "row 1 of dataset `mixed` is a problem of type code_o: import one with rows of type math only",
        ),
    ] {
        let reply = writer.post("/api/v1/runs", &body(&seeds)).await.expect(422);
        assert_eq!(reply.places(), ["/config/parameters/dataset/name"], "{said}");
        assert!(reply.text().contains(said), "{reply:?}");
    }
    let first = body(&json!({"name": "mixed", "rows": 1}));
    writer.post("/api/v1/runs", &first).await.expect(201);
    server.stop().await;
}

#[actix_web::test]
async fn goalposts_are_hard_programs_that_no_benchmark_asks_and_nobody_learns_from() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let function = |message: &str, value: u32| {
        json!({"type": "code_f", "program": format!("def f(a):\n return a*{value}"), "message": message,
            "pairs": [["1", "1"], ["2", "2"], ["3", "3"]]})
    };
    for (name, purpose, rows) in [
        ("hard", "goalposts", json!([function("one", 5), function("two", 6)])),
        ("mixed", "goalposts", json!([problem("a", "1?")])),
        ("asked", "goalposts", json!([function("three", 7)])),
        ("exam", "benchmark", json!([function("three", 7)])),
        ("train", "training", json!([function("four", 8)])),
    ] {
        imported(&writer, &dataset(name, purpose, &rows)).await;
    }
    let gasp = |goalposts: &Value| {
        let parameters = json!({
            "goalposts": goalposts, "iterations": 1, "lifts": false, "max_prompt_bytes": 300,
            "prompts": {"set": "seedling-gasp"},
            "sampling": {"propose": {"max_tokens": 64}, "solve": {"max_tokens": 64}},
        });
        json!({"config": config("gasp", &json!(["teacher", "student"]), &parameters)})
    };
    for (goalposts, field, said) in [
        (json!({"name": "none"}), "name", "--purpose goalposts"),
        (json!({"name": "train"}), "name", "`train` is for training: import its rows with purpose `goalposts`"),
        (json!({"name": "mixed"}), "name", "rows of type code_f or code only"),
        (json!({"name": "hard", "rows": 3}), "rows", "which has 2"),
        (json!({"name": "asked"}), "allow_overlap", "ask what the benchmark `exam` asks"),
    ] {
        let reply = writer.post("/api/v1/runs", &gasp(&goalposts)).await.expect(422);
        assert_eq!(reply.places(), [format!("/config/parameters/goalposts/{field}")], "{reply:?}");
        assert!(reply.text().contains(said), "{reply:?}");
    }
    let made = writer.post("/api/v1/runs", &gasp(&json!({"name": "hard"}))).await.expect(201).json();
    assert_eq!(made["config"]["parameters"]["goalposts"]["rows"], 2);
    let rlvr =
        json!({"dataset": {"name": "hard"}, "prompts": "seedling", "batch": 1, "n": 2, "sampling": {"max_tokens": 64}});
    let rlvr = json!({"config": config("rlvr", &json!(["solver"]), &rlvr)});
    let reply = writer.post("/api/v1/runs", &rlvr).await.expect(422);
    assert!(reply.text().contains("`hard` is for goalposts"), "{reply:?}");
    server.stop().await;
}

#[actix_web::test]
async fn a_dataset_is_named_and_the_run_stores_its_id() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let rows = json!([problem("a", "1?"), problem("b", "2?"), problem("c", "3?")]);
    let mine = id(&imported(&writer, &dataset("mine", "training", &rows)).await);
    imported(&writer, &dataset("hard", "goalposts", &json!([problem("a", "7?")]))).await;
    let body = |dataset: &Value, batch: u32| {
        let parameters = json!({
            "dataset": dataset, "prompts": "azr", "batch": batch, "n": 2, "sampling": {"max_tokens": 64},
        });
        json!({"config": config("rlvr", &json!(["solver"]), &parameters)})
    };
    for (dataset, batch, place, said) in [
        (
            json!({"name": "mien"}),
            2,
            "dataset/name",
            "`lyceum dataset import FILE --purpose training --name 'mien'` imports one",
        ),
        (json!({"name": "hard"}), 1, "dataset/name", "`hard` is for goalposts"),
        (json!({"name": "mine", "rows": 4}), 2, "dataset/rows", "which has 3"),
        (json!({"name": "mine"}), 4, "batch", "1 to 3 is valid"),
        (json!({"name": "mine", "rows": 2}), 3, "batch", "1 to 2 is valid"),
        (json!({"name": "mine", "id": mine}), 2, "dataset/name", "set one of the two to null"),
        (json!({"rows": 2}), 2, "dataset", "no dataset is named"),
    ] {
        for address in ["/api/v1/runs", "/api/v1/runs?dry_run=true"] {
            let reply = writer.post(address, &body(&dataset, batch)).await.expect(422);
            assert_eq!(reply.places(), [format!("/config/parameters/{place}")], "{reply:?}");
            assert!(reply.json().to_string().contains(said), "{reply:?}");
        }
    }
    let settled = json!({"id": mine, "rows": 3, "allow_overlap": false});
    let dry = writer.post("/api/v1/runs?dry_run=true", &body(&json!({"name": "mine"}), 2)).await;
    assert_eq!(dry.expect(200).json()["config"]["parameters"]["dataset"], settled);
    let made = writer.post("/api/v1/runs", &body(&json!({"name": "mine"}), 2)).await.expect(201).json();
    assert_eq!(made["config"]["parameters"]["dataset"], settled);
    let few = body(&json!({"id": mine, "rows": 2}), 2);
    let made_few = writer.post("/api/v1/runs", &few).await.expect(201).json();
    assert_eq!(made_few["config"]["parameters"]["dataset"]["rows"], 2, "as before");

    // A branch can learn from another dataset, by its name.
    let other = id(&imported(&writer, &dataset("other", "training", &rows)).await);
    let fork = format!("/api/v1/runs/{}/fork", made["id"].as_str().expect("an id"));
    let overrides = json!({"step": 0, "overrides": {"parameters.dataset": {"name": "other"}}});
    let branch = writer.post(&fork, &overrides).await.expect(201).json();
    assert_eq!(branch["config"]["parameters"]["dataset"]["id"], json!(other));
    server.stop().await;
}

#[actix_web::test]
async fn a_preset_runs_without_an_import_on_the_rows_that_ship() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let listed = |items: Value| -> Vec<String> {
        let items = items["items"].as_array().cloned().unwrap_or_default();
        let text = |one: &Value| format!("{} {}", one["name"], one["rows"]);
        items.iter().map(text).collect()
    };
    let preset = |text: &str| -> Value { json!({"config": toml::from_str::<Value>(text).expect("a config")}) };
    let body = preset(include_str!("../../../configs/runs/rlvr-seedling.toml"));
    let dry = writer.post("/api/v1/runs?dry_run=true", &body).await.expect(200).json();
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert!(listed(none).is_empty(), "a dry run imports nothing");
    let made = writer.post("/api/v1/runs", &body).await.expect(201).json();
    let set = &made["config"]["parameters"]["dataset"];
    assert_eq!(set, &dry["config"]["parameters"]["dataset"], "a dry run names the same dataset");
    assert_eq!((&set["rows"], set.get("name")), (&json!(512), None));
    let again = writer.post("/api/v1/runs", &body).await.expect(201).json();
    let shipped = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(
        listed(shipped),
        ["\"held-out-seedling (60 of 300 rows)\" 60", "\"held-out-seedling\" 300", "\"seedling-training\" 512"],
        "imported once, with the suite that is measured from the start, and the rows of it that are"
    );

    // Its id comes from its rows, so a config of before works again after it was deleted.
    let address = format!("/api/v1/datasets/{}", set["id"].as_str().expect("an id"));
    for run in [&made, &again] {
        writer.delete(&address).await.expect(409);
        let cancel = format!("/api/v1/runs/{}/cancel", run["id"].as_str().expect("an id"));
        writer.act(&cancel).await.expect(202);
    }
    writer.delete(&address).await.expect(204);
    writer.post("/api/v1/runs", &json!({"config": made["config"]})).await.expect(201);
    assert_eq!(writer.get(&address).await.expect(200).json()["rows"], 512);

    let mut other = body.clone();
    other["overrides"] = json!({"parameters.dataset.name": "mine"});
    let reply = writer.post("/api/v1/runs", &other).await.expect(422);
    assert_eq!(reply.places(), ["/overrides/parameters.dataset.name"]);
    for text in [
        include_str!("../../../configs/runs/rlvr-qwen2.5-coder-7b.toml"),
        include_str!("../../../configs/runs/rlvr-qwen2.5-math-7b.toml"),
    ] {
        let reply = writer.post("/api/v1/runs", &preset(text)).await.expect(422);
        assert_eq!(reply.places(), ["/config/parameters/dataset/name"]);
        assert!(reply.text().contains("lyceum dataset import"), "{reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn the_suite_that_ships_is_measured_with_without_an_import() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let spec = |suites: Value| json!({"spec": {"type": "benchmark", "suites": suites, "base_model": {"name": "seedling"}, "n": 1}});
    let both = spec(json!(["held-out-seedling", "gsm8k"]));
    let reply = writer.post("/api/v1/evaluations", &both).await.expect(422);
    assert_eq!(reply.places(), ["/spec/suites/1"]);
    let none = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(none["items"], json!([]), "a refused request imports nothing");
    for _ in 0..2 {
        let suite = spec(json!(["held-out-seedling"]));
        writer.post("/api/v1/evaluations", &suite).await.expect(201);
    }
    let made = writer.get("/api/v1/datasets").await.expect(200).json();
    assert_eq!(made["items"].as_array().map(Vec::len), Some(1));
    assert_eq!((&made["items"][0]["suite"], &made["items"][0]["rows"]), (&json!("held-out-seedling"), &json!(300)));
    server.stop().await;
}

#[actix_web::test]
async fn an_evaluation_names_datasets_and_asks_each_in_its_own_way() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    let of_suite = |name: &str, purpose: &str, suite: &str, rows: Value| json!({"name": name, "purpose": purpose, "suite": suite, "rows": rows});
    let older = id(&imported(&writer, &of_suite("older", "benchmark", "gsm8k", json!([row(0), row(1)]))).await);
    imported(&writer, &of_suite("newer", "benchmark", "gsm8k", json!([row(0), row(1), row(2)]))).await;
    let goalposts = of_suite("goalposts", "goalposts", "gsm8k", json!([row(7), row(8), row(9)]));
    let goalposts = id(&imported(&writer, &goalposts).await);
    let other = id(&imported(&writer, &of_suite("other", "benchmark", "math500", json!([row(0)]))).await);
    let seeds = json!([{"snippet": "def f(a):\n return a", "input": "1"}]);
    let seeds = id(&imported(&writer, &dataset("seeds", "seeds", &seeds)).await);
    let spec = |suites: Value| json!({"spec": {"type": "benchmark", "suites": suites, "run": run, "n": 1}});

    let asked = spec(json!([
        "gsm8k",
        {"suite": "GSM8K", "dataset": older, "name": "before"},
        {"suite": "gsm8k", "dataset": goalposts, "name": "goalposts", "n": 16, "temperature": 0.6, "rows": 2},
    ]));
    let made = writer.post("/api/v1/evaluations", &asked).await.expect(201).json();
    assert_eq!((&made["steps"], &made["spec"]["suites"][0]), (&json!(3), &json!("gsm8k")));
    let stored: Value = sqlx::query_scalar("SELECT config -> 'parameters' -> 'suites' FROM executions WHERE id = $1")
        .bind(id(&made))
        .fetch_one(server.store.pool())
        .await
        .expect("the parameters");
    assert_eq!((&stored[0]["rows"], stored[0].get("name")), (&json!(3), None));
    assert_eq!((&stored[1]["rows"], &stored[1]["dataset"]), (&json!(2), &json!(older)));
    assert_eq!((&stored[2]["n"], &stored[2]["rows"], &stored[2]["name"]), (&json!(16), &json!(2), &json!("goalposts")));
    assert_eq!(stored[2]["protocol"]["temperature"], 0.6);
    assert_eq!(stored[0]["protocol"]["temperature"], 0.0);

    for (suites, places, said) in [
        (json!(["gsm8k", {"suite": "gsm8k", "n": 2}]), "/spec/suites/1/name", "give this one a `name`"),
        (json!([{"suite": "gsm8k", "dataset": Uuid::nil()}]), "/spec/suites/0/dataset", "lyceum dataset list"),
        (json!([{"suite": "gsm8k", "dataset": other}]), "/spec/suites/0/dataset", "belongs to the suite `math500`"),
        (json!([{"suite": "gsm8k", "dataset": seeds}]), "/spec/suites/0/dataset", "has seeds"),
        (json!([{"suite": "gms8k"}]), "/spec/suites/0/suite", "did you mean `gsm8k`?"),
        (json!([{"suite": "gsm8k", "n": 0}]), "/spec/suites/0/n", "too small"),
        (json!([{"suite": "gsm8k", "datset": other}]), "/spec/suites/0/datset", "did you mean `dataset`?"),
        (json!([{"suite": "gsm8k", "n": 2}]), "/parameters/suites/0", "set `temperature`"),
    ] {
        let reply = writer.post("/api/v1/evaluations", &spec(suites)).await.expect(422);
        assert_eq!(reply.places(), [places]);
        assert!(reply.json().to_string().contains(said), "{reply:?}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_schedule_names_datasets_that_are_there() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let exam = json!({"name": "exam", "purpose": "benchmark", "suite": "gsm8k", "rows": [row(0)]});
    let exam = id(&imported(&writer, &exam).await);
    let body = |suites: Value| {
        let mut config = crate::harness::config();
        config["benchmarks"] = json!({ "suites": suites });
        json!({ "config": config })
    };
    for (suites, place, said) in [
        (json!([{"suite": "gsm8k", "dataset": Uuid::nil()}]), "0/dataset", "there is no dataset"),
        (json!([{"suite": "math500", "dataset": exam}]), "0/dataset", "belongs to the suite `gsm8k`"),
        (json!(["gsm8k", "gsm8k"]), "1", "entry 0 is called `gsm8k` already"),
        (json!(["gsm8k", {"suite": "math500", "n": 4}]), "1", "set `temperature`, or `n` to 1"),
        (json!(["gms8k"]), "0", "did you mean `gsm8k`?"),
    ] {
        let reply = writer.post("/api/v1/runs", &body(suites)).await.expect(422);
        assert_eq!(reply.places(), [format!("/config/benchmarks/suites/{place}")]);
        assert!(reply.json().to_string().contains(said), "{reply:?}");
    }
    let suites = json!(["math500", {"suite": "gsm8k", "dataset": exam, "n": 4, "temperature": 0.8}]);
    let made = writer.post("/api/v1/runs", &body(suites.clone())).await.expect(201).json();
    assert_eq!(made["config"]["benchmarks"]["suites"], suites);
    server.stop().await;
}

#[actix_web::test]
async fn a_dataset_is_not_deleted_while_a_run_that_names_it_is_created() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let run = filled(&server, 1).await.run;
    let id = id(&imported(&writer, &dataset("train", "training", &json!([problem("a", "1?")]))).await);
    let db = server.store.pool();
    let mut creation = db.begin().await.expect("a transaction");
    let held = datasets::hold(&mut creation, DatasetId(id)).await;
    assert!(held.expect("an answer"));
    let created = async {
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                     AND wait_event_type = 'Lock' AND query LIKE '%FROM datasets%FOR UPDATE')";
        while !sqlx::query_scalar::<_, bool>(waits).fetch_one(db).await.expect("an answer") {
            tokio::task::yield_now().await;
        }
        sqlx::query("UPDATE executions SET config = jsonb_set(config, '{parameters}', jsonb_build_object('dataset', $2::text)) WHERE id = $1")
            .bind(run.0)
            .bind(id.to_string())
            .execute(&mut *creation)
            .await
            .expect("the run");
        creation.commit().await.expect("the end");
    };
    let (removed, ()) = tokio::join!(datasets::remove(db, DatasetId(id)), created);
    assert!(matches!(removed, Err(StoreError::InUse { .. })), "{removed:?}");
    server.stop().await;
}
