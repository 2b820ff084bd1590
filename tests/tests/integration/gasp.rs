//! GASP over the real queue and database, with scripted players for engine and verifier.

use anyhow::Result;
use lyceum_system_tests::ordeal::Programs;
use serde_json::{Value, json};

const PROGRAMS: Programs = Programs {
    server: env!("CARGO_BIN_EXE_scripted-server"),
    worker: env!("CARGO_BIN_EXE_scripted-worker"),
    rows: &[],
    goalposts: &["reverse a list twice", "sum what is odd", "count what repeats"],
};

/// Two iterations of one member in both roles.
fn document() -> Value {
    json!({
        "recipe": "gasp",
        "seed": 7,
        "populations": {"main": {
            "base_model": {"name": "tiny"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher", "student"], "count": 1}],
        }},
        "parameters": {
            "iterations": 2,
            "prompts": {"set": "seedling-gasp"},
            "rounds": {"target": 3, "candidates": 8, "max": 3},
            "max_prompt_bytes": 400,
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
            "trials": 5,
            "items": {"propose": 4, "solve": 4},
        },
        "scheduling": {"max_attempts": 100},
    })
}

#[tokio::test]
async fn a_run_killed_ten_times_ends_as_if_nothing_had_happened() -> Result<()> {
    let (house, run) = PROGRAMS.killed_ten_times(&document(), 3..9).await?;
    let stages: Vec<String> =
        sqlx::query_scalar("SELECT stage FROM steps ORDER BY step").fetch_all(house.pool()).await?;
    assert_eq!(stages, [["lemma", "lift", "solve"]; 2].concat());
    for relation in ["goalpost", "lemma"] {
        let count = house.count(&format!("problem_parents WHERE relation = '{relation}'")).await?;
        assert!(count >= 8, "{count} of {relation}");
    }
    assert!(house.count("work WHERE phase = 'embed'").await? >= 4);
    let (calm, same) = PROGRAMS.undisturbed(&document()).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    Ok(())
}
