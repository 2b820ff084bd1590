//! Runs whose members cannot be asked the rows of their dataset are refused before they begin.

use lyceum_store::tokens::Scope;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Actor, TestServer};

pub(crate) async fn imported(writer: &Actor, name: &str, rows: &Value) -> Uuid {
    let body = json!({"name": name, "purpose": "training", "rows": rows});
    let made = writer.post("/api/v1/datasets", &body).await.expect(201).json();
    made["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
}

/// A request for a run with these parameters besides the usual ones.
pub(crate) fn body(dataset: Uuid, rows: u32, own: &Value) -> Value {
    let mut parameters = json!({
        "dataset": {"id": dataset, "rows": rows}, "prompts": "azr", "batch": 2, "n": 2, "sampling": {"max_tokens": 64},
    });
    for (name, value) in own.as_object().expect("fields") {
        parameters[name] = value.clone();
    }
    json!({"config": {
        "recipe": "rlvr",
        "steps": 2,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["solver"], "count": 1}],
        }},
        "parameters": parameters,
    }})
}

#[actix_web::test]
async fn each_refusal_names_the_field_and_the_cure() {
    let server = TestServer::start().await;
    let writer = server.actor(Scope::Write).await;
    let math = |number: u32| json!({"task_id": format!("sum/{number}"), "question": format!("{number} + 1?"), "oracle": {"type": "math", "gold": "1"}});
    let traced = |number: u32| json!({"type": "code_o", "program": format!("def f(a):\n return a+{number}"), "input": "1", "output": "1"});
    let sums = imported(&writer, "sums", &json!([math(1), math(2), math(3), math(4)])).await;
    let traces = imported(&writer, "traces", &json!([traced(1), traced(2), traced(3)])).await;
    let mixed = imported(&writer, "mixed", &json!([math(1), math(2), traced(3), math(4)])).await;
    let long = |digits: usize| json!({"type": "code_o", "program": format!("def f(a):\n return a+{}", "7".repeat(digits)), "input": "1", "output": "1"});
    let longer = imported(&writer, "longer", &json!([traced(1), traced(2), long(400)])).await;
    let longest = imported(&writer, "longest", &json!([long(600), traced(2), long(400)])).await;
    let gone = imported(&writer, "gone", &json!([math(5), math(6)])).await;
    writer.delete(&format!("/api/v1/datasets/{gone}")).await.expect(204);
    let held_out = |rows: u32| json!({"held_out": {"rows": rows}});
    for (dataset, rows, own, place, said) in [
        (gone, 2, json!({}), "dataset/id", "lyceum dataset list --purpose training"),
        (Uuid::nil(), 2, json!({}), "dataset/id", "there is no dataset"),
        (sums, 5, json!({}), "dataset/rows", "5 rows of dataset `sums`, which has 4"),
        (sums, 4, json!({"batch": 5}), "batch", "1 to 4 is valid"),
        (sums, 4, held_out(3), "held_out/rows", "3 of 4 rows leave 1 to learn from"),
        (sums, 4, held_out(4), "held_out/rows", "1 to 2 is valid"),
        (sums, 4, json!({"n": 1}), "n", "reinforce_plus_plus"),
        (
            sums,
            4,
            json!({"prompts": "seedling"}),
            "prompts",
            "row 0: `seedling` has no prompt for problems of type math; valid are azr, chat, completion, few_shot, plain, plain_chat",
        ),
        (
            traces,
            3,
            json!({"prompts": "few_shot"}),
            "prompts",
            "row 0: `few_shot` has no prompt for problems of type code_o; valid are azr, chat, seedling",
        ),
        (
            mixed,
            4,
            json!({"prompts": "few_shot"}),
            "prompts",
            "row 2: `few_shot` has no prompt for problems of type code_o; valid are azr, chat",
        ),
        (sums, 4, json!({"sampling": {"max_tokens": 512}}), "sampling/max_tokens", "1 to 511 is valid"),
        (
            longer,
            3,
            json!({"prompts": "seedling", "sampling": {"max_tokens": 144}}),
            "sampling/max_tokens",
            "row 2 has the longest prompt, 409 tokens, which leaves no room for 144 of an answer in the context of `seedling`, 512: 1 to 103 is valid",
        ),
        (
            longest,
            3,
            json!({"prompts": "seedling"}),
            "dataset",
            "row 0 has the longest prompt, 609 tokens, beyond the context of `seedling`, 512: import the rows again with a smaller `max_question_bytes`",
        ),
        (sums, 4, json!({"reward": {"format_penalty": -1.0}}), "reward/format_penalty", "0"),
        (sums, 4, json!({"reward": {"solution": "tests"}}), "reward/solution", "tests_passed"),
    ] {
        for address in ["/api/v1/runs", "/api/v1/runs?dry_run=true"] {
            let reply = writer.post(address, &body(dataset, rows, &own)).await.expect(422);
            assert_eq!(reply.places(), [format!("/config/parameters/{place}")], "{own}: {reply:?}");
            assert!(reply.json().to_string().contains(said), "{said} is not in {reply:?}");
        }
    }
    // Rows that are not used may be of any kind and length, and an answer may be as long as the prompts allow.
    for tokens in [64, 103] {
        let own = json!({"prompts": "seedling", "sampling": {"max_tokens": tokens}});
        writer.post("/api/v1/runs?dry_run=true", &body(longer, 3, &own)).await.expect(200);
    }
    writer.post("/api/v1/runs", &body(mixed, 2, &json!({}))).await.expect(201);
    let made = writer.post("/api/v1/runs", &body(sums, 4, &held_out(2))).await.expect(201).json();
    let names = made["metrics"].as_array().expect("metrics");
    assert_eq!(names[0], "held_out_pass_at_1");
    assert!(!names.contains(&json!("held_out_pass_at_2")), "one answer to each row");
    let fork = format!("/api/v1/runs/{}/fork", made["id"].as_str().expect("an id"));
    let branch = json!({"step": 0, "overrides": {"parameters.prompts": "seedling"}});
    let reply = writer.post(&fork, &branch).await.expect(422);
    assert_eq!(reply.places(), ["/overrides/parameters.prompts"]);
    server.stop().await;
}
