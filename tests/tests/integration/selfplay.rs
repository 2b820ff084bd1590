//! The recipes of self-play over the real queue and database, with scripted players for engine and verifier.

use anyhow::{Context as _, Result};
use lyceum_core::id::ExecutionId;
use lyceum_store::{runs, steps};
use lyceum_system_tests::house::{House, WorkerArguments, registry};
use lyceum_system_tests::ordeal::Programs;
use serde_json::{Value, json};
use std::io;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing_subscriber::util::SubscriberInitExt as _;
use uuid::Uuid;

const PROGRAMS: Programs = Programs {
    server: env!("CARGO_BIN_EXE_scripted-server"),
    worker: env!("CARGO_BIN_EXE_scripted-worker"),
    rows: &[],
    goalposts: &[],
};

fn document(recipe: &str, members: Value, own: Value) -> Value {
    let mut parameters = json!({
        "prompts": {"set": "seedling"},
        "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 368, "seeds": "seedling"},
        "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
        "archive": {"cells": 64},
        "items": {"propose": 6, "solve": 3, "update": 2},
    });
    if let (Some(all), Some(own)) = (parameters.as_object_mut(), own.as_object()) {
        all.extend(own.clone());
    }
    json!({
        "recipe": recipe,
        "seed": 7,
        "steps": 4,
        "populations": {"main": {
            "base_model": {"name": "tiny"},
            "lora": {"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]},
            "members": members,
        }},
        "parameters": parameters,
        "scheduling": {"max_attempts": 100},
    })
}

/// With updates split into this many pieces.
fn populora(gradient_pieces: u32) -> Value {
    let members = json!([{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}]);
    let own = json!({
        "prompts_per_matchup": 6, "samples_per_problem": 3, "cross_play_every": 2, "cross_play_samples": 2,
        "evolution": {"every": 2},
        "items": {"propose": 6, "solve": 3, "update": 2, "gradient_pieces": gradient_pieces},
    });
    document("populora", members, own)
}

/// Hands on what is logged, a line at a time.
#[derive(Clone)]
struct Lines(UnboundedSender<String>);

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(line).into_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// On one thread, so that all that the coordinator logs comes to the log that is set there.
#[tokio::test(flavor = "current_thread")]
async fn every_step_of_a_run_is_a_line_in_the_log() -> Result<()> {
    let (sender, mut lines) = unbounded_channel();
    let lines_of = Lines(sender);
    let _log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || lines_of.clone()).set_default();
    let house = House::new().await?;
    let coordinator = house.coordinate(registry())?;
    let _worker = house.worker(PROGRAMS.worker, &WorkerArguments::default())?;
    house.begin_document(1, &populora(1)).await?;
    for part in ["step 1 of 4: ", "step 2 of 4: ", "step 3 of 4: ", "step 4 of 4: ", "completed"] {
        let line = loop {
            let line = lines.recv().await.context("the log has ended")?;
            if line.contains("lyceum::progress") {
                break line;
            }
        };
        assert!(line.contains(part), "{line}");
        assert!(part == "completed" || line.contains("validity "), "{line}");
    }
    coordinator.stop().await;
    Ok(())
}

/// An undisturbed run, which leaves attempts and an archive.
async fn undisturbed(document: &Value) -> Result<(House, ExecutionId)> {
    let (house, run) = PROGRAMS.undisturbed(document).await?;
    assert!(house.count("attempts").await? > 0 && house.count("archive_insertions").await? > 0);
    Ok((house, run))
}

#[tokio::test]
async fn a_population_killed_ten_times_ends_as_if_nothing_had_happened() -> Result<()> {
    let (house, run) = PROGRAMS.killed_ten_times(&populora(2), 4..16).await?;
    assert_eq!(house.count("births").await?, 4 + 2, "the founders, and two children: the last step does not evolve");
    assert_eq!(house.count("matchups").await?, 4 * 2);
    let (calm, same) = undisturbed(&populora(2)).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
    Ok(())
}

/// What is known of a run ($1) from before a step ($2), by its members' names.
const PAST: [&str; 8] = [
    "SELECT concat_ws('|', 'birth', c.name, b.step, b.operator, b.seed, b.parameters, r.name, b.notes)
     FROM births b JOIN members c ON c.id = b.child_id LEFT JOIN members r ON r.id = b.replaces_id
     WHERE b.run_id = $1 AND b.step < $2",
    "SELECT concat_ws('|', 'parent', c.name, p.position, m.name, v.ordinal)
     FROM birth_parents p JOIN births b ON b.child_id = p.child_id JOIN members c ON c.id = p.child_id
     JOIN adapter_versions v ON v.id = p.version_id JOIN members m ON m.id = v.member_id
     WHERE b.run_id = $1 AND b.step < $2 AND m.run_id = $1",
    "SELECT concat_ws('|', 'rating', r.step, m.name, r.role, r.mu, r.sigma) FROM ratings r JOIN members m ON m.id = r.member_id
     WHERE r.run_id = $1 AND r.step < $2",
    "SELECT concat_ws('|', 'matchup', x.step, t.name, s.name, x.proposed, x.valid, x.solve_rate, x.student_score,
         x.teacher_reward, x.predicted, x.winner)
     FROM matchups x JOIN members t ON t.id = x.teacher_id JOIN members s ON s.id = x.student_id
     WHERE x.run_id = $1 AND x.step < $2",
    "SELECT concat_ws('|', 'cross-play', x.step, t.name, s.name, x.type, x.attempts, x.solved)
     FROM cross_play x JOIN members t ON t.id = x.teacher_id JOIN members s ON s.id = x.student_id
     WHERE x.run_id = $1 AND x.step < $2",
    "SELECT concat_ws('|', 'cell', step, cell, problem_id, status, objective) FROM archive_insertions
     WHERE run_id = $1 AND step < $2",
    "SELECT concat_ws('|', 'metric', x.step, m.name, x.\"values\") FROM metrics x LEFT JOIN members m ON m.id = x.member_id
     WHERE x.run_id = $1 AND x.step < $2",
    "SELECT concat_ws('|', 'level', x.level, x.bucket, m.name, x.mean, x.min, x.max)
     FROM metric_levels x LEFT JOIN members m ON m.id = x.member_id
     WHERE x.run_id = $1 AND (x.bucket + 1) * 4 ^ x.level <= $2",
];

async fn past(house: &House, run: ExecutionId, step: i32) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for query in PAST {
        let found: Vec<String> = sqlx::query_scalar(query).bind(run.0).bind(step).fetch_all(house.pool()).await?;
        assert!(!found.is_empty(), "no rows for {query}");
        rows.extend(found);
    }
    rows.sort();
    Ok(rows)
}

async fn forked(house: &House, run: ExecutionId, id: u128, step: u32, metrics: &[&'static str]) -> Result<ExecutionId> {
    let id = ExecutionId(Uuid::from_u128(id));
    let state = runs::state_at(house.pool(), run, step).await?;
    let config = (*state.config).clone();
    let mut tx = house.pool().begin().await?;
    let fork = runs::Fork { id, from: run, step, state, name: "branch", config: &config, metrics, trace_id: None };
    runs::fork(&mut tx, &fork).await?;
    tx.commit().await?;
    Ok(id)
}

#[tokio::test]
async fn a_fork_has_the_whole_past_of_its_run_and_counts_on_from_there() -> Result<()> {
    let mut document = populora(1);
    document["steps"] = json!(6);
    let (house, run) = undisturbed(&document).await?;
    let metrics = registry().get("populora")?.metric_names();
    let fork = forked(&house, run, 2, 5, &metrics).await?;
    let before = past(&house, run, 5).await?;
    assert_eq!(past(&house, fork, 5).await?, before);

    let _server = house.server(PROGRAMS.server)?;
    let _worker = house.worker(PROGRAMS.worker, &WorkerArguments::default())?;
    house.until_completed(fork).await?;
    assert_eq!(past(&house, fork, 5).await?, before);
    assert!(past(&house, fork, 6).await?.len() > before.len());
    let (counted, there): (i64, i64) = sqlx::query_as(
        "SELECT cells, (SELECT count(DISTINCT cell) FROM archive_insertions WHERE run_id = r.id) FROM runs r WHERE id = $1",
    )
    .bind(fork.0)
    .fetch_one(house.pool())
    .await?;
    assert_eq!(counted, there);
    Ok(())
}

#[tokio::test]
async fn a_fork_takes_over_metrics_by_their_names() -> Result<()> {
    let (house, run) = undisturbed(&populora(1)).await?;
    let mut metrics = registry().get("populora")?.metric_names();
    metrics.reverse();
    metrics.insert(1, "unheard_of");
    metrics.pop();
    let fork = forked(&house, run, 2, 3, &metrics).await?;
    let of_step = "SELECT \"values\" FROM metrics WHERE run_id = $1 AND step = 2 AND member_id IS NULL";
    let values = |run: ExecutionId| sqlx::query_scalar::<_, Vec<f64>>(of_step).bind(run.0).fetch_one(house.pool());
    let (own, mut expected) = (values(fork).await?, values(run).await?);
    expected.reverse();
    expected.insert(1, f64::NAN);
    expected.pop();
    assert_eq!(format!("{own:?}"), format!("{expected:?}"));
    Ok(())
}

#[tokio::test]
async fn a_gradient_in_pieces_leaves_what_one_piece_leaves() -> Result<()> {
    let mut left = Vec::new();
    for pieces in [1, 3] {
        let (house, run) = undisturbed(&populora(pieces)).await?;
        let mut rows = house.remains(run).await?;
        // More items mean more work rows and more artifacts held during the step; everything else is the same.
        let of_items = ["step|", "work|", "result|", "hold|"];
        rows.retain(|row| !of_items.iter().any(|start| row.starts_with(start)));
        let gradients: i64 = house.count("work WHERE phase = 'gradient'").await?;
        assert_eq!(gradients > 0, pieces > 1);
        left.push(rows);
    }
    assert_eq!(left[0], left[1]);
    Ok(())
}

#[tokio::test]
async fn one_member_in_both_roles_writes_its_rows() -> Result<()> {
    let both = json!([{"roles": ["teacher", "student"], "count": 1}]);
    undisturbed(&document("populora", both, json!({"prompts_per_matchup": 6, "samples_per_problem": 3}))).await?;
    let azr = json!([{"roles": ["proposer", "solver"], "count": 1}]);
    undisturbed(&document("azr", azr, json!({"batch": 4, "difficulty_samples": 3}))).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_also_measured_at_the_end_of_its_warm_up() -> Result<()> {
    let members = json!([{"roles": ["proposer", "solver"], "count": 1}]);
    let own = json!({"batch": 4, "difficulty_samples": 3, "warm_up": {"until": 1.0, "max_steps": 2}});
    let mut document = document("azr", members, own);
    document["benchmarks"] = json!({"suites": ["gsm8k"]});
    let (house, run) = PROGRAMS.undisturbed(&document).await?;
    // Nobody has imported rows, which is recorded each time.
    let due: Vec<i32> = sqlx::query_scalar(
        "SELECT (data ->> 'step')::integer FROM events WHERE execution_id = $1 AND kind = 'not_measured' ORDER BY number",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    assert_eq!(due, [1, 3], "steps from 0");
    assert_eq!(steps::end_of_stage(house.pool(), run, "warm-up").await?, Some(2));
    assert_eq!(steps::end_of_stage(house.pool(), run, "solver").await?, None);
    Ok(())
}
