//! R-Zero over the real queue and database, with scripted players for engine and verifier.

use anyhow::Result;
use lyceum_system_tests::ordeal::Programs;
use serde_json::{Value, json};

const PROGRAMS: Programs = Programs {
    server: env!("CARGO_BIN_EXE_scripted-server"),
    worker: env!("CARGO_BIN_EXE_scripted-worker"),
    rows: &[],
    goalposts: &[],
};

/// Two iterations of all stages, with a mask, and two populations of different bases.
fn document() -> Value {
    let population = |base: &str, role: &str, count: u32| {
        json!({
            "base_model": {"name": base},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "members": [{"roles": [role], "count": count}],
        })
    };
    json!({
        "recipe": "rzero",
        "seed": 7,
        "steps": 8,
        "populations": {"proposers": population("tiny", "proposer", 1), "solvers": population("small", "solver", 2)},
        "parameters": {
            "iterations": 2,
            "prompts": {"set": "seedling-math"},
            "proposer": {"steps": 1, "prompts": 6, "learning": {"optimizer": {"minibatches": 1}}},
            "curriculum": {"questions": 24},
            "solver": {"steps": 1, "questions": 4, "n": 3, "learning": {"optimizer": {"minibatches": 1}}},
            "diversity": {"epiplexity": {}},
            "vocabulary_dropout": {"keep_rate": 0.9, "protected_texts": ["<question>"]},
            "items": {"propose": 4, "solve": 6, "update": 1},
        },
        "scheduling": {"max_attempts": 100},
    })
}

#[tokio::test]
async fn a_run_killed_ten_times_ends_as_if_nothing_had_happened() -> Result<()> {
    let (house, run) = PROGRAMS.killed_ten_times(&document(), 4..12).await?;
    assert_eq!(house.count("problems").await?, 2 * (6 * 4 + 24));
    let stages: Vec<String> =
        sqlx::query_scalar("SELECT stage FROM steps ORDER BY step").fetch_all(house.pool()).await?;
    let iteration = ["proposer", "curriculum", "solver", "diversity"];
    assert_eq!(stages, [iteration, iteration].concat());
    let vectors: i64 = house.count("work WHERE phase = 'diversity'").await?;
    assert_eq!(vectors, 2);
    let (calm, same) = PROGRAMS.undisturbed(&document()).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    Ok(())
}
