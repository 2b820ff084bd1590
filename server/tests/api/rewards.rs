//! Rewards of one's own: stored by digest, named by rows, shown with their dataset.

use actix_web::http::Method;
use lyceum_core::{
    artifact::Digest,
    id::DatasetId,
    recipe::{StepView, Want},
};
use lyceum_store::{plan, tokens::Scope};
use serde_json::json;

use crate::harness::TestServer;

const REWARD: &str = "def score(prompt, completion, row):\n    return '<script>' in completion\n";

#[actix_web::test]
async fn a_reward_is_checked_stored_by_digest_and_shown_escaped() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    for (source, said) in [
        ("def score(", "line 1"),
        ("x = 1", "`def score(prompt, completion, row)` is valid"),
        ("def score(a): return 1", "three values"),
    ] {
        let reply = writer
            .post("/api/v1/rewards", &json!({ "source": source }))
            .await
            .expect(422);
        assert_eq!(reply.places(), ["/source"]);
        assert!(reply.json().to_string().contains(said), "{said}: {reply:?}");
    }
    let digest = Digest::of(REWARD.as_bytes()).to_string();
    for _ in 0..2 {
        let stored = writer
            .post("/api/v1/rewards", &json!({"source": REWARD}))
            .await
            .expect(201);
        assert_eq!(stored.json()["digest"], digest);
    }
    let path = format!("/api/v1/rewards/{digest}");
    assert_eq!(writer.get(&path).await.expect(200).json()["source"], REWARD);
    writer
        .get(&format!("/api/v1/rewards/{}", "0".repeat(64)))
        .await
        .expect(404);

    let lines = writer.clone().with("content-type", "application/x-ndjson");
    let import = |reward: &str| {
        let map = json!({"question": "question", "answer": "answer", "reward": reward}).to_string();
        let map = percent_encoding::utf8_percent_encode(&map, percent_encoding::NON_ALPHANUMERIC).to_string();
        let path = format!("/api/v1/datasets/import?name=mine&purpose=training&oracle=python&map={map}");
        let body = Some(b"{\"question\": \"1+1?\", \"answer\": \"2\", \"level\": 3}".to_vec());
        let lines = lines.clone();
        async move { lines.send(Method::POST, &path, body).await }
    };
    let refused = import("reward.py").await.expect(400);
    assert!(refused.json().to_string().contains("is not a digest"), "{refused:?}");
    let made = import(&digest).await.expect(201).json();
    assert_eq!(
        made["check"]["state"], "checking",
        "a reward is tried before it is used"
    );
    let id = made["id"].as_str().expect("an id");
    let rows = writer
        .get(&format!("/api/v1/datasets/{id}/rows"))
        .await
        .expect(200)
        .json();
    let oracle = &rows["items"][0]["row"]["oracle"];
    assert_eq!(
        *oracle,
        json!({"type": "python", "file": digest, "timeout": 5, "row": {"question": "1+1?", "answer": "2", "level": 3}}),
        "its text is stored once"
    );
    let mut view = StepView::default();
    let dataset = DatasetId(id.parse().expect("a UUID"));
    let mut tx = server.store.pool().begin().await.expect("a transaction");
    let want = [Want::Row(dataset, 0)];
    plan::wanted(&mut tx, &want, &mut view).await.expect("the row");
    assert_eq!(
        view.rows[&(dataset, 0)].0["oracle"]["source"],
        REWARD,
        "planners get it"
    );
    drop(tx);
    let page = writer.get(&format!("/datasets/{id}")).await.expect(200).text();
    assert!(
        page.contains(&digest) && page.contains("&#60;script&#62;") && !page.contains("'<script>'"),
        "{page}"
    );
    server.stop().await;
}
