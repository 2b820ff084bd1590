//! Runs with scripted players, compared with stored hashes of everything they planned and wrote.
//!
//! A change that should not affect results must leave these files unchanged. A deliberate change of results renews
//! them, in a commit that says why: `GOLDEN=renew cargo test -p lyceum-core --test integration golden::`.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use uuid::Uuid;

use lyceum_core::config::{self, RunConfig, apply_overrides};
use lyceum_core::fault::Faults;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{Plan, PlanError, Planner, Recipe, Registry, RunState, StepView};
use lyceum_core::simulation::{Order, Players, Simulation, Skill, Step};
use lyceum_core::work::WorkKey;

/// The dataset of runs that learn from one.
const DATASET: DatasetId = DatasetId(Uuid::from_u128(7));

/// The goalposts of runs that have some.
const GOALPOSTS: DatasetId = DatasetId(Uuid::from_u128(8));

/// A recipe that records the work it plans.
struct Watched<'r> {
    recipe: &'r dyn Recipe,
    work: Mutex<BTreeMap<WorkKey, Value>>,
    carried_out: CarriedOut,
}

/// What becomes of plans.
#[derive(Clone, Copy, PartialEq)]
enum CarriedOut {
    All,
    /// All, but every plan starts only from the view, as after a crash of the coordinator.
    Forgotten,
    /// Every second one; those between are dropped, and their rows are not written.
    EverySecond,
}

impl Planner for Watched<'_> {
    fn name(&self) -> &'static str {
        self.recipe.name()
    }

    fn summary(&self) -> &'static str {
        self.recipe.summary()
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        self.recipe.resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        self.recipe.begin(run, config)
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        match self.carried_out {
            CarriedOut::All => {}
            CarriedOut::Forgotten => step.forget(),
            CarriedOut::EverySecond => drop(self.recipe.plan(run, step)?),
        }
        let plan = self.recipe.plan(run, step)?;
        let mut work = self.work.lock().unwrap();
        for item in &plan.work {
            let planned = json!({"payload": item.payload, "requirements": item.requirements});
            work.entry(item.key.clone()).or_insert(planned);
        }
        Ok(plan)
    }
}

impl Recipe for Watched<'_> {}

fn hash(value: &Value) -> String {
    let mut canonical = String::new();
    write_canonical(value, &mut canonical);
    let digest = Sha256::digest(canonical.as_bytes());
    digest.iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// JSON with sorted keys, whatever features serde_json was built with.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            text.push('{');
            for (name, value) in fields {
                let _ = write!(text, "{name:?}:");
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

/// The rows of a step by table. Tables are sets, so the order of rows in a plan does not count.
fn tables(recipe: &dyn Recipe, step: &Step) -> BTreeMap<String, Value> {
    let Value::Object(tables) = serde_json::to_value(&step.records).unwrap() else { panic!("records are an object") };
    let mut tables: BTreeMap<String, Value> = tables.into_iter().collect();
    let named: Vec<Value> = step
        .records
        .metrics
        .iter()
        .map(|row| {
            let metrics = recipe.metrics();
            let values = metrics.iter().zip(&row.values);
            let values: BTreeMap<_, _> = values.map(|(metric, value)| (metric.name, *value)).collect();
            json!({"member": row.member, "values": values})
        })
        .collect();
    tables.insert("metrics".to_owned(), Value::Array(named));
    tables.retain(|_, rows| rows.as_array().is_some_and(|rows| !rows.is_empty()));
    for rows in tables.values_mut() {
        if let Value::Array(rows) = rows {
            rows.sort_by_cached_key(|row| {
                let mut text = String::new();
                write_canonical(row, &mut text);
                text
            });
        }
    }
    tables
}

/// One line per step: the hash of each table, of the planned work, and of the run's memory afterwards.
fn transcript(preset: &str, overrides: &[(&str, Value)], order: Order) -> String {
    transcribe(preset, overrides, order, CarriedOut::All)
}

fn transcribe(preset: &str, overrides: &[(&str, Value)], order: Order, carried_out: CarriedOut) -> String {
    let path = format!("{}/../../configs/runs/{preset}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut document: Value = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let overrides = overrides.iter().map(|(path, value)| ((*path).to_owned(), value.clone()));
    // Measuring changes no run.
    document["benchmarks"] = Value::Null;
    apply_overrides(&mut document, &overrides.collect()).unwrap();
    let registry = Registry::shipped();
    let config = config::resolve(&document, &registry).unwrap();
    let recipe = registry.get(&config.recipe).unwrap();
    let watched = Watched { recipe: recipe.as_ref(), work: Mutex::default(), carried_out };
    let skills = [-1.0, 0.5, 0.0, 1.5].map(Skill);
    let players = Players::new(skills.to_vec()).with_invalid(0.2).with_babble(0.05);
    let simulation = Simulation::new(&watched, &config, players, order).unwrap();
    let mut simulation = simulation.with_dataset(DATASET, rows()).with_dataset(GOALPOSTS, goalposts());
    let mut text = format!("config {}\n", hash(&serde_json::to_value(&config).unwrap()));
    for number in 0..config.steps {
        let step = simulation.step().unwrap();
        let mut line = format!("{number}");
        for (table, rows) in tables(recipe.as_ref(), &step) {
            let _ = write!(line, " {table}={}", hash(&rows));
        }
        let work: BTreeMap<String, Value> = std::mem::take(&mut *watched.work.lock().unwrap())
            .into_iter()
            .map(|(key, item)| (key.to_string(), item))
            .collect();
        let state = serde_json::to_value(&simulation.state).unwrap();
        let _ = writeln!(line, " work={} state={}", hash(&json!(work)), hash(&state));
        text.push_str(&line);
    }
    assert!(simulation.state.completed, "the run is over");
    text
}

/// Rows of mathematics that scripted players solve half of the time.
fn rows() -> impl Iterator<Item = Value> {
    (0..24).map(|number| {
        json!({
            "task_id": format!("toy/{number}"),
            "question": format!("what is {number} plus 1 at level 0"),
            "oracle": {"type": "math", "gold": "1"},
        })
    })
}

/// Functions that nobody solves in a run.
fn goalposts() -> impl Iterator<Item = Value> {
    (0..5).map(|number| {
        json!({
            "task_id": format!("goal/{number}"),
            "type": "code_f",
            "program": "def f(a):\n return a",
            "message": format!("goal {number}"),
            "pairs": [["1", "1"], ["2", "2"], ["3", "3"], ["4", "4"]],
        })
    })
}

fn assert_golden(name: &str, found: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("GOLDEN").is_some_and(|what| what == "renew") {
        fs::write(&path, found).unwrap();
        return;
    }
    let wanted = fs::read_to_string(Path::new(&path)).unwrap();
    for (wanted, found) in wanted.lines().zip(found.lines()) {
        let differing: Vec<_> = wanted.split(' ').zip(found.split(' ')).filter(|(one, other)| one != other).collect();
        assert!(
            differing.is_empty(),
            "{name}, step {}: (golden, found) {differing:?}",
            found.split(' ').next().unwrap_or("")
        );
    }
    assert_eq!(wanted, found, "{name}");
}

/// A small population that plays all types of problem.
fn of_all_types<const N: usize>(others: [(&'static str, Value); N]) -> Vec<(&'static str, Value)> {
    let mut overrides = vec![
        ("parameters.problems.types", json!(["code_i", "code_o", "code_f"])),
        ("parameters.prompts_per_matchup", json!(3)),
        ("parameters.samples_per_problem", json!(4)),
        ("parameters.learning.optimizer.learning_rate", json!(5e-4)),
        ("parameters.items.propose", json!(3)),
        ("parameters.items.solve", json!(12)),
    ];
    overrides.extend(others);
    overrides
}

#[test]
fn demo() {
    let overrides = of_all_types([("steps", json!(24))]);
    assert_golden("demo", &transcript("demo", &overrides, Order::Together));
}

#[test]
fn demo_with_everything_that_is_off_by_default() {
    let overrides = of_all_types([
        ("steps", json!(9)),
        ("parameters.evolution.every", json!(4)),
        ("parameters.cross_play_every", json!(3)),
        ("parameters.cross_play_samples", json!(2)),
        ("parameters.proposals_per_prompt", json!(2)),
        ("parameters.items.gradient_pieces", json!(3)),
        ("parameters.items.solve", json!(5)),
        ("parameters.problems.pool_filter", json!("non_extremes")),
        ("parameters.problems.pool_size", json!(40)),
        ("parameters.frozen", json!(["teacher"])),
    ]);
    assert_golden("demo-everything", &transcript("demo", &overrides, Order::Together));
}

#[test]
fn azr() {
    let overrides = [("steps", json!(12))];
    assert_golden("azr-seedling", &transcript("azr-seedling", &overrides, Order::Together));
}

#[test]
fn baseline() {
    let overrides = [("steps", json!(6))];
    assert_golden("baseline-seedling", &transcript("baseline-seedling", &overrides, Order::Together));
}

#[test]
fn rzero() {
    let overrides = [
        ("parameters.iterations", json!(2)),
        ("parameters.proposer.prompts", json!(12)),
        ("parameters.curriculum.questions", json!(40)),
        ("parameters.solver.questions", json!(8)),
    ];
    let preset = "rzero-seedling-math-dropout";
    let together = transcript(preset, &overrides, Order::Together);
    assert_golden("rzero-seedling-math-dropout", &together);
    assert_eq!(transcribe(preset, &overrides, Order::Shuffled(5), CarriedOut::Forgotten), together);
}

#[test]
fn sage() {
    let overrides = [
        ("steps", json!(5)),
        ("parameters.dataset", json!({"id": DATASET, "rows": 20})),
        ("parameters.challenges", json!(14)),
        ("parameters.tasks", json!(10)),
        ("parameters.pool_size", json!(12)),
        ("parameters.items.propose", json!(5)),
        ("parameters.items.solve", json!(4)),
    ];
    let preset = "sage-seedling-math";
    let together = transcript(preset, &overrides, Order::Together);
    assert_golden(preset, &together);
    assert_eq!(transcribe(preset, &overrides, Order::Shuffled(5), CarriedOut::Forgotten), together);
    assert_eq!(transcribe(preset, &overrides, Order::Shuffled(6), CarriedOut::EverySecond), together);
}

#[test]
fn gasp() {
    let overrides = [
        ("parameters.iterations", json!(3)),
        ("parameters.goalposts", json!({"id": GOALPOSTS, "rows": 5})),
        ("parameters.rounds", json!({"target": 5, "candidates": 12, "max": 3})),
        ("parameters.trials", json!(6)),
        ("parameters.solve.samples", json!(2)),
        (
            "parameters.real_data",
            json!({"dataset": {"id": DATASET, "rows": 20}, "prompts": "chat", "batch": 3, "n": 4}),
        ),
        ("parameters.items.propose", json!(5)),
        ("parameters.items.solve", json!(4)),
    ];
    let preset = "gasp-seedling";
    let together = transcript(preset, &overrides, Order::Together);
    assert_golden(preset, &together);
    assert_eq!(transcribe(preset, &overrides, Order::Shuffled(5), CarriedOut::Forgotten), together);
    assert_eq!(transcribe(preset, &overrides, Order::Shuffled(6), CarriedOut::EverySecond), together);
}

#[test]
fn the_order_in_which_work_ends_changes_nothing() {
    let overrides = [("steps", json!(3)), ("parameters.batch", json!(6)), ("parameters.items.propose", json!(5))];
    let together = transcript("azr-seedling", &overrides, Order::Together);
    assert_eq!(transcript("azr-seedling", &overrides, Order::Shuffled(7)), together);
}

#[test]
fn plans_that_are_dropped_change_nothing() {
    let overrides = [
        ("steps", json!(3)),
        ("parameters.evolution.every", json!(2)),
        ("parameters.cross_play_every", json!(2)),
        ("parameters.items.gradient_pieces", json!(2)),
    ];
    let all = transcript("demo", &overrides, Order::Shuffled(3));
    for carried_out in [CarriedOut::Forgotten, CarriedOut::EverySecond] {
        assert_eq!(transcribe("demo", &overrides, Order::Shuffled(3), carried_out), all);
    }
    assert_eq!(transcript("demo", &overrides, Order::Together), all);
}
