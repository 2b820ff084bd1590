//! The candidates of stepping stones (GASP) and what became of them.

use lyceum_store::tokens::Scope;
use serde_json::json;

use crate::fixtures::{Filled, filled};
use crate::harness::TestServer;
use crate::outline::assert_reads_like;
use crate::views::browser;

/// Makes the filled run one of GASP that accepts one candidate a stage: problem 0 is a goalpost and 1 to 5 candidates for lemmas.
async fn judged(server: &TestServer, filled: &Filled) {
    let db = server.store.pool();
    let statements = [
        "UPDATE executions SET recipe = 'gasp', config = jsonb_set(config::jsonb, '{parameters,rounds}', '{\"target\": 1}')",
        "UPDATE problem_parents SET relation = 'goalpost'",
        "UPDATE problems SET \"values\" = json_build_object('axis', 'io', 'message', 'add <b>' || index, 'similarity', 0.97,
             'nearest', (SELECT id FROM problems WHERE index = 1), 'output', '\"\\u0000\"'::json) WHERE index > 0",
        "UPDATE problems SET reward_parts = '{\"invalid\": -1}', reason = 'it <i>failed</i>' WHERE index = 2",
        "UPDATE problems SET reward_parts = '{\"duplicate\": -0.5}', reason = 'too near' WHERE index = 3",
        "UPDATE problems SET reward_parts = '{\"out_of_band\": -0.5}', reason = '' WHERE index = 4",
        "UPDATE problems SET reward_parts = '{\"learnability\": 0.418}', solve_rate = 0.3, attempts = 10, reward = 0.418,
             reason = '' WHERE index IN (1, 5)",
    ];
    for statement in statements {
        sqlx::query(statement).execute(db).await.expect(statement);
    }
    assert_eq!(filled.problems.len(), 6);
}

#[actix_web::test]
async fn every_candidate_has_its_outcome_similarity_and_neighbour() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    judged(&server, &made).await;
    let page = browser(&reader);
    let address = format!("/runs/{}/candidates", made.run);
    let json = reader.clone().with("accept", "application/json");
    let found = json.get(&address).await.expect(200).json();
    assert_eq!(
        found["steps"],
        json!([{"step": 0, "relation": "goalpost", "candidates": 5, "invalid": 1, "duplicate": 1, "out_of_band": 1, "in_band": 2}])
    );
    let outcomes: Vec<_> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| (item["index"].as_i64(), item["outcome"].as_str()))
        .collect();
    let expected = ["accepted", "invalid", "duplicate", "out_of_band", "surplus"];
    assert_eq!(outcomes, (1..).zip(expected).map(|(index, of)| (Some(index), Some(of))).collect::<Vec<_>>());

    let html = page.get(&address).await.expect(200).text();
    assert_reads_like("candidates.of-every-outcome", &html);
    assert!(html.contains("add &#60;b&#62;1") && !html.contains("<i>failed"), "texts of models are escaped: {html}");
    let empty = json.get(&format!("{address}?step=7")).await.expect(200).json();
    assert_eq!((&empty["step"], &empty["items"]), (&json!(7), &json!([])));
    server.stop().await;
}
