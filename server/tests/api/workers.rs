//! What workers take of their machines, and what they said while they ran an item.

use chrono::Utc;
use lyceum_core::id::WorkerId;
use lyceum_core::work::{Device, Sampler, Trainer, WorkKind};
use lyceum_store::tokens::Scope;
use lyceum_store::work::{self, LogLine, Slot};
use lyceum_store::workers::{self, NewWorker, Usage};
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

use crate::fixtures::filled;
use crate::harness::TestServer;
use crate::outline::{attributes, island, outline};

pub(crate) async fn registered(server: &TestServer, name: &str) -> WorkerId {
    let id = WorkerId(Uuid::now_v7());
    let new = NewWorker {
        id,
        name,
        host: "here",
        device: "cpu",
        kernels: None,
        kinds: &[WorkKind::Verify],
        samplers: &[],
        trainers: &[],
        base_models: &[],
        memory_bytes: 1 << 30,
        versions: json!({}),
    };
    workers::register(server.store.pool(), &new).await.expect("a worker");
    id
}

#[actix_web::test]
async fn reports_of_a_minute_are_one_point_of_a_workers_charts() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let db = server.store.pool();
    let (one, quiet) = (registered(&server, "one").await, registered(&server, "quiet").await);
    let usage = |cores, mib: u64, gpu| Usage {
        cores,
        memory_bytes: mib << 20,
        gpu_share: gpu,
        gpu_memory_bytes: gpu.map(|_| 3 << 30),
    };
    for usage in [usage(1.0, 300, Some(0.25)), usage(2.0, 100, Some(0.75))] {
        workers::report(db, one, &usage).await.expect("a report");
    }
    // Reports of two minutes if the clock has just passed from one to the next: they are made one here.
    let merged = "UPDATE worker_usage SET reports = 2, cores = 1.5, memory_bytes = 314572800, gpu_share = 0.5
        WHERE reports = 1";
    let of_two =
        "DELETE FROM worker_usage a USING worker_usage b WHERE a.worker_id = b.worker_id AND a.minute < b.minute";
    for statement in [of_two, merged] {
        sqlx::query(statement).execute(db).await.expect("one minute");
    }
    sqlx::query(
        "INSERT INTO worker_usage (worker_id, minute, reports, cores, memory_bytes)
         SELECT worker_id, minute - interval '1 hour', 1, 0.5, 1048576 FROM worker_usage
         UNION ALL SELECT worker_id, minute - interval '8 days', 1, 0.5, 1048576 FROM worker_usage",
    )
    .execute(db)
    .await
    .expect("earlier minutes");

    let page = reader.get(&format!("/workers/{one}.json")).await.expect(200).json();
    let minutes = page["usage"].as_array().expect("minutes");
    let shown: Vec<_> =
        minutes.iter().map(|minute| (&minute["cores"], &minute["memory_bytes"], &minute["gpu_share"])).collect();
    assert_eq!(
        shown,
        [(&json!(0.5), &json!(1 << 20), &json!(null)), (&json!(1.5), &json!(300 << 20), &json!(0.5))],
        "the mean of processor time and the most memory, of a day"
    );
    let browser = reader.clone().with("accept", "text/html");
    let html = browser.get(&format!("/workers/{one}")).await.expect(200).text();
    let figures = island(&html, "figures").expect("figures");
    let charts: Vec<_> = figures.as_array().expect("charts").iter().map(|figure| &figure["id"]).collect();
    assert_eq!(charts, ["cores", "memory", "gpu", "gpu-memory"]);
    assert!(!attributes(&html, "data-every").is_empty(), "it is asked for again: {html}");
    let page = reader.get(&format!("/workers/{quiet}.json")).await.expect(200).json();
    assert_eq!(page["usage"], json!([]));
    let list = reader.get("/workers.json").await.expect(200).json();
    let newest = &list["usage"][0];
    assert_eq!(
        (&newest["worker_id"], &newest["cores"], &newest["memory_bytes"]),
        (&json!(one), &json!(1.5), &json!(300 << 20))
    );
    reader.get(&format!("/workers/{}", Uuid::nil())).await.expect(404);

    workers::tidy_usage(db).await.expect("a removal");
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM worker_usage").fetch_one(db).await.expect("a count");
    assert_eq!(left, 2, "minutes older than a week are removed");
    server.stop().await;
}

/// A worker on `device` with this memory in GiB that takes `kinds`.
async fn arrives(
    server: &TestServer,
    kinds: &[WorkKind],
    (samplers, device): (&[Sampler], &str),
    gib: u64,
) -> WorkerId {
    let id = WorkerId(Uuid::now_v7());
    let new = NewWorker {
        id,
        name: "new",
        host: "here",
        device,
        kernels: None,
        kinds,
        samplers,
        trainers: &[Trainer::Torchrun],
        base_models: &[],
        memory_bytes: gib << 30,
        versions: json!({}),
    };
    workers::register(server.store.pool(), &new).await.expect("a worker");
    id
}

#[actix_web::test]
async fn a_worker_shows_its_samplers_and_trainers() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let quiet = registered(&server, "quiet").await;
    let all = [Sampler::Engine, Sampler::Served];
    let id = arrives(&server, &[WorkKind::Rollout, WorkKind::Update], (&all, "cpu"), 8).await;
    let page = async |address: &str| reader.get(address).await.expect(200).json();
    let list = page("/workers.json").await;
    let listed = list["items"].as_array().expect("workers").iter().find(|one| one["id"] == json!(id));
    for shown in [
        listed.expect("the worker").clone(),
        page(&format!("/workers/{id}.json")).await["worker"].clone(),
        page(&format!("/api/v1/workers/{id}")).await,
    ] {
        assert_eq!((&shown["samplers"], &shown["trainers"]), (&json!(["engine", "served"]), &json!(["torchrun"])));
    }
    let shown = page(&format!("/workers/{quiet}.json")).await;
    assert_eq!(shown["worker"]["samplers"], json!([]));
    server.stop().await;
}

#[actix_web::test]
async fn an_item_that_nobody_can_take_says_what_they_lack() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let db = server.store.pool();
    let made = filled(&server, 1).await;
    let lacks = async || reader.get(&format!("/api/v1/work/{}", made.work)).await.expect(200).json()["lacks"].clone();
    let becomes = async |change: &'static str| {
        let changed = sqlx::query(sqlx::AssertSqlSafe(format!("UPDATE work SET {change} WHERE id = $1")));
        changed.bind(made.work.0).execute(db).await.expect("a change");
    };
    assert_eq!(lacks().await, "there is no worker");
    arrives(&server, &[WorkKind::Rollout], (&[Sampler::Engine], "cpu"), 8).await;
    assert_eq!(lacks().await, "no worker takes items of kind verify");
    becomes("kind = 'rollout', sampler = 'served', device = 'cuda', memory_bytes = 16::bigint << 30").await;
    assert_eq!(lacks().await, "no worker has the sampler `served` (`compute.sampler`)");
    becomes("sampler = 'engine'").await;
    assert_eq!(lacks().await, "no worker has the device `cuda` (`compute.device`)");
    becomes("device = NULL, kernels = 'amx'").await;
    let processor = "no worker computes on a processor with `amx` (`compute.kernels`)";
    assert_eq!(lacks().await, processor);
    becomes("kernels = NULL").await;
    let memory = "it needs 16.0 GiB of memory, and the most that a worker offers is 8.0 GiB";
    assert_eq!(lacks().await, memory);
    let page = reader.get(&format!("/work/{}.json", made.work)).await.expect(200).json();
    assert_eq!(page["lacks"], memory);
    becomes("kind = 'update', trainer = 'engine'").await;
    assert_eq!(lacks().await, "no worker takes items of kind update");
    arrives(&server, &[WorkKind::Update], (&[], "NVIDIA H100"), 80).await;
    assert_eq!(lacks().await, "no worker has the trainer `engine` (`compute.trainer`)");
    becomes("trainer = 'torchrun', device = 'cuda'").await;
    assert_eq!(lacks().await, json!(null), "it can be taken");
    becomes("state = 'cancelled', finished_at = now()").await;
    assert_eq!(lacks().await, json!(null));
    server.stop().await;
}

#[actix_web::test]
async fn an_items_page_has_what_was_said_in_each_try() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let db = server.store.pool();
    let made = filled(&server, 1).await;
    let address = format!("/work/{}", made.work);
    let browser = reader.clone().with("accept", "text/html");
    let logs = async || reader.get(&format!("{address}.json")).await.expect(200).json()["logs"].clone();
    assert_eq!(logs().await, json!([]));
    let worker = registered(&server, "hand").await;
    let slot = Slot {
        worker,
        kinds: vec![WorkKind::Verify],
        base_models: None,
        loaded_models: vec![],
        lacking: vec![],
        memory_bytes: 1 << 30,
        lease: Duration::from_secs(60),
        sampler: Sampler::Engine,
        trainers: vec![Trainer::Engine],
        device: Device::Cpu,
        kernels: None,
    };
    let claim = work::claim(db, &slot).await.expect("a claim").expect("an item");
    let line = |text: &str| LogLine { at: Utc::now(), level: "info".to_owned(), text: text.to_owned() };
    work::keep_log(db, &claim, worker, &[]).await.expect("nothing to keep");
    assert_eq!(logs().await, json!([]), "it logged nothing");
    let lines = [line("loaded base model seedling"), line("\0</pre><script>alert(1)</script>\u{1b}[2J")];
    work::keep_log(db, &claim, worker, &lines).await.expect("a log");
    work::keep_log(db, &claim, worker, &[line("again")]).await.expect("what was written before");
    let html = browser.get(&address).await.expect(200).text();
    for forbidden in ["<script>alert", "\u{1b}", "again"] {
        assert!(!html.contains(forbidden), "{forbidden:?} is in {html}");
    }
    // Whatever the number of the next try: those that are handed back do not count.
    work::release(db, &claim).await.expect("an item handed back");
    let claim = work::claim(db, &slot).await.expect("a claim").expect("the item");
    assert_eq!(claim.attempt, 1);
    work::keep_log(db, &claim, worker, &[line("loaded once more")]).await.expect("a second log");
    let kept = logs().await;
    let said = |place: usize| kept[place]["lines"][0]["text"].clone();
    assert_eq!([said(0), said(1)], ["loaded base model seedling", "loaded once more"]);
    let progress = work::Progress { share: Some(1.0), note: Some("loading".to_owned()) };
    work::renew(db, &claim, slot.lease, Some(&progress)).await.expect("a renewal");
    let list = outline(&browser.get("/work").await.expect(200).text());
    let run = format!("[filled](/runs/{})", made.run);
    assert!(list.contains("loading") && list.contains(&run), "an item names its run: {list}");
    sqlx::query("UPDATE work SET state = 'done', result = '{}', finished_at = now(), lease_until = NULL WHERE id = $1")
        .bind(made.work.0)
        .execute(db)
        .await
        .expect("an end");
    let list = browser.get("/work").await.expect(200).text();
    assert!(!list.contains("loading"), "what has ended has no progress: {list}");
    let kept = logs().await;
    assert_eq!((&kept[0]["attempt"], &kept[0]["worker"]), (&json!(1), &json!("hand")));
    assert_eq!(kept[0]["lines"][0]["text"], "loaded base model seedling");
    server.stop().await;
}

#[actix_web::test]
async fn a_run_says_that_it_computes_on_a_gpu() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let filled = filled(&server, 1).await;
    let worker = registered(&server, "one").await;
    for (device, kind, on_gpu) in [("cpu", "update", false), ("cuda:0", "verify", false), ("cuda:0", "update", true)] {
        let change = "WITH one AS (UPDATE workers SET device = $2 WHERE id = $1)
            UPDATE work SET kind = $3, worker_id = $1, started_at = now() WHERE id = $4";
        let changed = sqlx::query(change).bind(worker.0).bind(device).bind(kind);
        let changed = changed.bind(filled.work.0).execute(server.store.pool()).await;
        assert_eq!(changed.expect("an item").rows_affected(), 1);
        let json = reader.clone().with("accept", "application/json");
        let now = json.get(&format!("/runs/{}/now", filled.run)).await.expect(200).json();
        assert_eq!(now["on_gpu"], json!(on_gpu), "{kind} on {device}");
    }
    server.stop().await;
}
