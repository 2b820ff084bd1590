//! The recipes of self-play over the real queue and database, with scripted players for engine and verifier.

use anyhow::{Context as _, Result};
use lyceum_core::id::ExecutionId;
use lyceum_system_tests::{
    house::{House, WorkerArguments, registry},
    ordeal::Programs,
};
use serde_json::{Value, json};
use std::io;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing_subscriber::util::SubscriberInitExt as _;

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
    let _log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || lines_of.clone())
        .set_default();
    let house = House::new().await?;
    let coordinator = house.coordinate(registry())?;
    let _worker = house.worker(PROGRAMS.worker, &WorkerArguments::default())?;
    house.begin_document(1, &populora(1)).await?;
    for part in [
        "step 1 of 4: ",
        "step 2 of 4: ",
        "step 3 of 4: ",
        "step 4 of 4: ",
        "completed",
    ] {
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
    assert_eq!(
        house.count("births").await?,
        4 + 2,
        "the founders, and two children: the last step does not evolve"
    );
    assert_eq!(house.count("matchups").await?, 4 * 2);
    let (calm, same) = undisturbed(&populora(2)).await?;
    assert_eq!(house.remains(run).await?, calm.remains(same).await?);
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
    undisturbed(&document(
        "populora",
        both,
        json!({"prompts_per_matchup": 6, "samples_per_problem": 3}),
    ))
    .await?;
    let azr = json!([{"roles": ["proposer", "solver"], "count": 1}]);
    undisturbed(&document("azr", azr, json!({"batch": 4, "difficulty_samples": 3}))).await?;
    Ok(())
}
