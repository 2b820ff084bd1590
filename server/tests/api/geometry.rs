//! Learning rates of members, and the geometry of their weights.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};

use crate::fixtures::filled;
use crate::harness::TestServer;

/// The student was born of the teacher in step 0, at a distance of 3 from an update of length 2.
const MEASURED: [&str; 3] = [
    "UPDATE adapter_versions SET learning_rate = CASE (SELECT name FROM members m WHERE m.id = member_id)
         WHEN 'student-0' THEN 3e-5 ELSE 2e-5 END",
    "INSERT INTO geometry (run_id, step, member_id, version_id, norm, effective_rank)
     SELECT v.run_id, 0, v.member_id, v.id, CASE m.name WHEN 'teacher-0' THEN 2 ELSE 4 END, 1.5
     FROM adapter_versions v JOIN members m ON m.id = v.member_id",
    "INSERT INTO geometry_pairs (run_id, step, first_id, second_id, cosine, distance)
     SELECT c.run_id, 0, c.id, p.id, 0.25, 3 FROM adapter_versions c JOIN members m ON m.id = c.member_id AND m.name = 'student-0'
         JOIN adapter_versions p ON p.id <> c.id",
];

#[actix_web::test]
async fn rates_and_geometry_are_shown_where_members_are() {
    let server = TestServer::start().await;
    let reader = server.actor(Scope::Read).await;
    let made = filled(&server, 6).await;
    let run = made.run;
    let read = async |address: &str| -> Value { reader.get(address).await.expect(200).json() };
    let none = read(&format!("/api/v1/runs/{run}/geometry")).await;
    assert_eq!(none, json!({"step": null, "versions": [], "pairs": []}));
    for statement in MEASURED {
        sqlx::query(statement).execute(server.store.pool()).await.expect(statement);
    }

    let geometry = read(&format!("/api/v1/runs/{run}/geometry")).await;
    assert_eq!(geometry["step"], 0);
    let pair = &geometry["pairs"][0];
    assert_eq!((&pair["cosine"], &pair["distance"]), (&json!(0.25), &json!(3.0)));
    let versions = geometry["versions"].as_array().expect("versions");
    let norms: Vec<_> = versions.iter().map(|one| (one["member"].as_str(), one["norm"].as_f64())).collect();
    assert_eq!(norms, [(Some("student-0"), Some(4.0)), (Some("teacher-0"), Some(2.0))]);
    assert_eq!(read(&format!("/api/v1/runs/{run}/geometry?step=0")).await, geometry);
    let refused = reader.get(&format!("/api/v1/runs/{run}/geometry?step=3")).await.expect(400).text();
    assert!(refused.contains("nothing was measured in step 3; measured were: 0"), "{refused}");

    let lineage = read(&format!("/api/v1/runs/{run}/lineage?order=oldest")).await;
    let births = lineage["items"].as_array().expect("births");
    let student = births.iter().find(|birth| birth["child"] == "student-0").expect("a birth");
    assert_eq!(student["learning_rate"], 3e-5);
    assert_eq!(student["parents"][0]["displacement"], 1.5);
    let member = read(&format!("/api/v1/runs/{run}/members/{}", made.teacher)).await;
    assert_eq!(member["version"]["learning_rate"], 2e-5);
    let page = read(&format!("/runs/{run}/population.json")).await;
    assert_eq!(page["geometry"], geometry);
    assert_eq!(page["leaderboards"][0]["places"][0]["learning_rate"], 2e-5);
    for page in ["population".to_owned(), "lineage".to_owned(), format!("members/{}", made.teacher)] {
        let html =
            reader.clone().with("accept", "text/html").get(&format!("/runs/{run}/{page}")).await.expect(200).text();
        assert!(html.contains("Learning rate") && html.contains("2.00e-5"), "{page}: {html}");
        assert_eq!(html.contains("id=\"geometry\""), page == "population");
    }
    let exported =
        async |table: &str| reader.get(&format!("/runs/{run}/export/{table}.jsonl")).await.expect(200).text();
    assert!(exported("births").await.contains("\"learning_rate\":0.00003"));
    assert_eq!(exported("geometry").await.lines().count(), 2);
    let pair: Value = serde_json::from_str(exported("geometry_pairs").await.trim()).expect("a row");
    assert_eq!((&pair["first"], &pair["second"]), (&json!("student-0"), &json!("teacher-0")));
    server.stop().await;
}
