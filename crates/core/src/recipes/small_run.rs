//! A run for tests of what starts from a run's records.

use serde_json::json;

use super::Populora;
use crate::config;
use crate::config::RunConfig;
use crate::contract::Registry;

/// Two teachers and two students, who play four steps.
pub(crate) fn small_run() -> RunConfig {
    let document = json!({
        "recipe": "populora",
        "seed": 5,
        "steps": 4,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher"], "count": 2}, {"roles": ["student"], "count": 2}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 2, "num_inputs": 6, "pool_size": 64, "max_prompt_bytes": 400, "seeds": "seedling"},
            "prompts_per_matchup": 6, "proposals_per_prompt": 1, "samples_per_problem": 4,
            "sampling": {"propose": {"max_tokens": 100}, "solve": {"max_tokens": 100}},
            "archive": {"cells": 64}, "items": {"propose": 6, "solve": 4, "update": 3},
        },
    });
    config::resolve(&document, &Registry::default().with(Populora)).unwrap()
}
