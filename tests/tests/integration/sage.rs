//! SAGE over the real queue and database, with scripted players for engine and verifier.

use anyhow::Result;
use lyceum_system_tests::ordeal::{Programs, Row};
use serde_json::{Value, json};

const PROGRAMS: Programs = Programs {
    server: env!("CARGO_BIN_EXE_scripted-server"),
    worker: env!("CARGO_BIN_EXE_scripted-worker"),
    rows: &[
        Row::Mathematics("what is 0 plus 1 at level 0", "1"),
        Row::Mathematics("what is 1 plus 1 at level 0", "1"),
        Row::Mathematics("what is 2 plus 1 at level 0", "1"),
        Row::Mathematics("what is 3 plus 1 at level 0", "1"),
        Row::Mathematics("what is 4 plus 1 at level 0", "1"),
        Row::Mathematics("what is 5 plus 1 at level 0", "1"),
    ],
    goalposts: &[],
};

/// Half of the rows are of code.
const OF_BOTH_DOMAINS: Programs = Programs {
    rows: &[
        Row::Mathematics("what is 0 plus 1 at level 0", "1"),
        Row::Mathematics("what is 1 plus 1 at level 0", "1"),
        Row::Mathematics("what is 2 plus 1 at level 0", "1"),
        Row::Code("write f so that it returns 1, first, at level 0", "assert f(0) == 1"),
        Row::Code("write f so that it returns 1, second, at level 0", "assert f(0) == 1"),
        Row::Code("write f so that it returns 1, third, at level 0", "assert f(0) == 1"),
    ],
    ..PROGRAMS
};

/// Three steps of two members: one that poses and judges, one that plans and solves.
fn document() -> Value {
    json!({
        "recipe": "sage",
        "seed": 7,
        "steps": 3,
        "populations": {"main": {
            "base_model": {"name": "tiny"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "members": [
                {"roles": ["challenger", "critic"], "count": 1},
                {"roles": ["planner", "solver"], "count": 1},
            ],
        }},
        "parameters": {
            "prompts": {"set": "seedling-math"},
            "challenges": 12, "difficulty_samples": 3, "tasks": 8,
            "items": {"propose": 6, "solve": 4},
        },
        "scheduling": {"max_attempts": 100},
    })
}

#[tokio::test]
async fn a_run_killed_ten_times_ends_as_if_nothing_had_happened() -> Result<()> {
    let (house, run) = PROGRAMS.killed_ten_times(&document(), 3..9).await?;
    assert_eq!(house.count("problems WHERE proposer_id IS NOT NULL").await?, 3 * 12);
    assert!(house.count("attempts WHERE role = 'critic' AND answer IS NOT NULL").await? > 0);
    assert!(house.count("attempts WHERE role = 'planner' AND reward > 0").await? > 0);
    let (calm, same) = PROGRAMS.undisturbed(&document()).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    Ok(())
}

/// [`document`] with tasks of code, and prompts for them that the scripted players know.
fn document_of_code() -> Value {
    let mut document = document();
    document["parameters"]["code"] = json!({"min_tests": 2});
    document["parameters"]["prompts"]["templates"] = json!({
        "challenge_code": "<pose-code>{{ question }}<is>{{ tests }}<go>",
        "plan_code": "<devise>{{ question }}<go>",
        "solve_code": "<write>{{ entry_point }}: {{ question }}<go>",
        "solve_with_plan_code": "<write>{{ entry_point }}: {{ question }}<use>{{ plan }}<go>",
        "critique_question_code": "<judge>{{ question }}<is>1<go>",
        "critique_plan_code": "<judge>{{ question }}<use>{{ plan }}<go>",
    });
    document
}

#[tokio::test]
async fn a_run_with_tasks_of_code_ends_the_same_after_ten_kills() -> Result<()> {
    let (house, run) = OF_BOTH_DOMAINS.killed_ten_times(&document_of_code(), 3..9).await?;
    let posed = "problems WHERE proposer_id IS NOT NULL AND type =";
    assert!(house.count(&format!("{posed} 'code'")).await? > 0);
    assert!(house.count(&format!("{posed} 'math'")).await? > 0);
    let (calm, same) = OF_BOTH_DOMAINS.undisturbed(&document_of_code()).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    Ok(())
}
