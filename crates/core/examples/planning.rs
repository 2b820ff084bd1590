//! Measures the cost of the recipe itself: planning a step of `populora` with scripted players, replanned after every
//! item.
//!
//! `cargo run --release -p lyceum-core --example planning -- [TEACHERS] [PROMPTS] [SAMPLES]`

use lyceum_core::config;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Metric, Plan, PlanError, Planner, Populora, Recipe, Registry, RunState, StepView};
use lyceum_core::simulation::{Order, Players, Simulation, Skill};
use serde_json::json;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A recipe that times its calls.
#[derive(Default)]
struct Timed(Mutex<(Duration, Duration, usize)>);

impl Planner for Timed {
    fn name(&self) -> &'static str {
        Populora.name()
    }

    fn summary(&self) -> &'static str {
        Populora.summary()
    }

    fn resolve(&self, config: config::RunConfig) -> Result<config::RunConfig, lyceum_core::fault::Faults> {
        Populora.resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &config::RunConfig) -> Result<RunState, PlanError> {
        Populora.begin(run, config)
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        let started = Instant::now();
        let plan = Populora.plan(run, step);
        let took = started.elapsed();
        if let Ok(mut watch) = self.0.lock() {
            watch.0 += took;
            watch.1 = watch.1.max(took);
            watch.2 += 1;
        }
        plan
    }
}

impl Recipe for Timed {
    fn parameters_schema(&self) -> serde_json::Value {
        Populora.parameters_schema()
    }

    fn metrics(&self) -> Vec<Metric> {
        Populora.metrics()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (teachers, prompts, samples) = (next(8)?, next(72)?, next(8)?);
    let document = json!({
        "recipe": "populora", "seed": 1, "steps": 100,
        "populations": {"main": {
            "base_model": {"name": "scripted"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj"]},
            "members": [{"roles": ["teacher"], "count": teachers}, {"roles": ["student"], "count": teachers}],
        }},
        "parameters": {
            "prompts": {"set": "seedling"},
            "problems": {"references": 6, "num_inputs": 6, "max_prompt_bytes": 20000, "seeds": "seedling"},
            "prompts_per_matchup": prompts,
            "proposals_per_prompt": 1,
            "samples_per_problem": samples,
            "items": {"propose": 72, "solve": 24, "update": 8},
        },
    });
    let config = config::resolve(&document, &Registry::default().with(Populora))?;
    let recipe = Timed::default();
    let players = Players::new((0..2 * teachers).map(|index| Skill(f64::from(index % 3))).collect());
    let mut simulation = Simulation::new(&recipe, &config, players, Order::Shuffled(1))?;
    println!(
        "{teachers}T+{teachers}S, {} prompts a step, {samples} samples, replanned after every item:",
        teachers * prompts
    );
    for step in 0..12 {
        let done = simulation.step()?;
        let mut watch = recipe.0.lock().map_err(|_| "a plan panicked")?;
        let (all, longest, plans) = std::mem::take(&mut *watch);
        println!(
            "step {step}: {} items, {plans} plans, {:.2} s in all, longest {:.3} s, {} attempts, memory {} kB",
            done.items,
            all.as_secs_f64(),
            longest.as_secs_f64(),
            done.records.attempts.len(),
            simulation.state.memory.to_string().len() / 1000
        );
    }
    Ok(())
}
