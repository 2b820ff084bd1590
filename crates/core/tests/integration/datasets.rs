//! Recipes that read rows of datasets, in the simulator.

use lyceum_core::config;
use lyceum_core::id::DatasetId;
use lyceum_core::recipe::code::shipped_seeds;
use lyceum_core::recipe::{Azr, Registry, Want};
use lyceum_core::simulation::{Order, Players, Simulation, SimulationError, Skill, Step};
use serde_json::{Value, json};
use uuid::Uuid;

const DATASET: DatasetId = DatasetId(Uuid::from_u128(7));

fn simulation(seed_dataset: Value) -> Result<Simulation<'static>, SimulationError> {
    let document = json!({
        "recipe": "azr", "seed": 3, "steps": 3,
        "populations": {"main": {
            "base_model": {"name": "scripted"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["proposer", "solver"], "count": 1}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {
                "references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 400, "seeds": "seedling",
                "seed_dataset": seed_dataset,
            },
            "batch": 8,
            "difficulty_samples": 4,
            "archive": {"cells": 64},
        },
    });
    let config = config::resolve(&document, &Registry::default().with(Azr)).unwrap();
    Simulation::new(&Azr, &config, Players::new(vec![Skill(0.5)]), Order::Together)
}

fn seeds() -> Vec<Value> {
    let seeds = shipped_seeds("seedling").unwrap();
    seeds.iter().map(|seed| serde_json::to_value(seed).unwrap()).collect()
}

fn rows_of(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|step| format!("{:?}", step.records)).collect()
}

#[test]
fn seeds_of_a_dataset_start_the_run_that_the_same_shipped_seeds_start() {
    let rows = seeds();
    let named = json!({"id": DATASET, "rows": rows.len()});
    let mut from_dataset = simulation(named).unwrap().with_dataset(DATASET, rows);
    let mut from_shipped = simulation(Value::Null).unwrap();
    let play = |simulation: &mut Simulation<'_>| (0..3).map(|_| simulation.step().unwrap()).collect::<Vec<_>>();
    assert_eq!(rows_of(&play(&mut from_dataset)), rows_of(&play(&mut from_shipped)));
}

#[test]
fn a_row_that_was_not_given_is_named() {
    let rows = seeds();
    let named = json!({"id": DATASET, "rows": rows.len() + 1});
    let mut without = simulation(named.clone()).unwrap();
    let missing = without.step().unwrap_err();
    assert!(matches!(missing, SimulationError::Missing(Want::Row(DATASET, 0))), "{missing}");
    let last = u32::try_from(rows.len()).unwrap();
    let mut one_short = simulation(named).unwrap().with_dataset(DATASET, rows);
    match one_short.step().unwrap_err() {
        SimulationError::Missing(Want::Row(DATASET, row)) => assert_eq!(row, last),
        other => panic!("{other}"),
    }
}
