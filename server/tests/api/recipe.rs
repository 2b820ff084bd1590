//! A recipe for tests: it knows its parameters and plans nothing.

use lyceum_core::config::RunConfig;
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{
    Capabilities, Highlight, Metric, Plan, PlanError, Planner, Recipe, Role, RunState, Side, StepView,
};
use lyceum_core::verdict::Signal;
use serde_json::{Value, json};
use std::sync::Arc;

/// A recipe called `name`.
pub(crate) struct Scripted(pub(crate) &'static str);

impl Planner for Scripted {
    fn name(&self) -> &'static str {
        self.0
    }

    fn summary(&self) -> &'static str {
        "Plans nothing, for tests."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        if config.parameters.is_null() {
            config.parameters = json!({});
        }
        if let Some(gate) = config.parameters["spec"]["gate"].as_str() {
            // A named pipe, which opens when somebody writes to it.
            std::fs::read(gate).expect("a pipe");
        }
        let width = config.parameters["width"].as_u64().unwrap_or(2);
        if width == 13 {
            return Err(Faults(vec![Fault::new("/parameters/width", "13 brings no luck; any other number does")]));
        }
        config.parameters["width"] = json!(width);
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        Ok(RunState {
            run,
            config: Arc::new(config.clone()),
            step: 0,
            stage: String::new(),
            completed: false,
            generated_tokens: 0,
            artifacts: vec![],
            memory_version: 1,
            memory: json!({}),
        })
    }

    fn plan(&self, _: &RunState, _: &StepView) -> Result<Plan, PlanError> {
        Ok(Plan::default())
    }
}

impl Recipe for Scripted {
    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"width": {"type": "integer", "minimum": 1, "maximum": 64}, "spec": {"type": "object"}},
            "additionalProperties": false,
        })
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Teacher, Role::Student, Role::Critic]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn metrics(&self) -> Vec<Metric> {
        let reward = Metric::new("reward", "points", &[]).side(Side::Proposes).highlighted(&[Highlight::Comparison]);
        let signals = [
            Metric::number("solve_rate", &[]).signal(Signal::Solved),
            Metric::number("format_rate", &[]).signal(Signal::Format),
            Metric::number("no_signal_share", &[]).signal(Signal::NoSignal),
        ];
        [reward].into_iter().chain(signals).collect()
    }
}
