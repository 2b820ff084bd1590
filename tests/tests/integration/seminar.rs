//! A recipe with two populations, stages, a critic, a dataset and metrics of its own, in the simulator and in the whole
//! system: the parts that R-Zero, SAGE and GASP need.

use anyhow::{Context as _, Result, ensure};
use lyceum_core::config;
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::{Records, Role};
use lyceum_core::simulation::{Order, Players, Simulation, Skill};
use lyceum_system_tests::house::{House, WorkerArguments, registry, until};
use lyceum_system_tests::lab::Lab;
use lyceum_system_tests::seminar::Seminar;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;

const SERVER: &str = env!("CARGO_BIN_EXE_scripted-server");
const WORKER: &str = env!("CARGO_BIN_EXE_scripted-worker");
const ROWS: usize = 5;
/// Two iterations of two steps of posing, one of drill and one of study.
const STEPS: u32 = 8;

/// Without `steps`: they follow from the stages.
fn document(dataset: DatasetId) -> Value {
    let lora = json!({"r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"]});
    json!({
        "recipe": "seminar",
        "seed": 11,
        "populations": {
            "askers": {
                "base_model": {"name": "tiny"},
                "lora": lora,
                "members": [{"roles": ["proposer"], "count": 1}, {"roles": ["critic"], "count": 1}],
            },
            "solvers": {
                "base_model": {"name": "small"},
                "lora": lora,
                "members": [{"roles": ["solver"], "count": 2}],
            },
        },
        "parameters": {"dataset": {"id": dataset, "rows": ROWS}},
    })
}

/// Rows that a player of skill 0 solves half of the time.
fn rows() -> Vec<Value> {
    let row = |number: usize| {
        json!({
            "task_id": format!("toy/{number}"),
            "question": format!("What is row {number}?"),
            "canonical": "1",
            "oracle": {"type": "code_o", "program": format!("def f(a):\n d='level 0'\n return a+{number}"), "input": "1"},
        })
    };
    (0..ROWS).map(row).collect()
}

/// Every row of a step, sorted, and the stage of the step.
fn simulated(order: Order) -> Result<Vec<(String, Vec<String>, Records)>> {
    let dataset = DatasetId(Uuid::from_u128(7));
    let config = config::resolve(&document(dataset), &registry())?;
    let players = Players::new(vec![Skill::default(); 4]);
    let mut simulation = Simulation::new(&Seminar, &config, players, order)?.with_dataset(dataset, rows());
    let mut steps = Vec::new();
    while !simulation.state.completed {
        let stage = simulation.state.stage.clone();
        let records = simulation.step()?.records;
        let tables = serde_json::to_value(&records)?;
        let tables = tables.as_object().context("tables")?.iter();
        let rows = tables.flat_map(|(table, rows)| {
            let rows = rows.as_array().into_iter().flatten();
            rows.map(move |row| format!("{table} {row}"))
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        steps.push((stage, rows, records));
    }
    Ok(steps)
}

#[test]
fn the_rows_of_a_step_do_not_depend_on_what_ends_first() -> Result<()> {
    let together = simulated(Order::Together)?;
    let stages: Vec<&str> = together.iter().map(|(stage, ..)| stage.as_str()).collect();
    assert_eq!(stages, ["pose", "pose", "drill", "study", "pose", "pose", "drill", "study"]);
    for seed in 0..3 {
        for ((stage, together, _), (_, shuffled, _)) in together.iter().zip(simulated(Order::Shuffled(seed))?) {
            assert_eq!(together, &shuffled, "{stage}");
        }
    }
    Ok(())
}

#[test]
fn every_stage_has_its_part_in_the_run() -> Result<()> {
    let steps = simulated(Order::Together)?;
    let mut learned = Vec::new();
    for (stage, _, records) in &steps {
        let roles: BTreeSet<Role> = records.attempts.iter().map(|attempt| attempt.role).collect();
        let judged = stage != "drill";
        assert_eq!(roles.contains(&Role::Critic), judged, "{stage}");
        assert!(roles.contains(&Role::Solver), "{stage}");
        learned.push(records.versions.iter().filter(|version| version.ordinal > 0).count());
    }
    assert_eq!(learned, [4, 4, 2, 3, 4, 4, 2, 3], "those who took part learn");
    let bases: Vec<_> = steps[0]
        .2
        .populations
        .iter()
        .map(|population| (population.name.as_str(), population.base_model.name.as_str()))
        .collect();
    assert_eq!(bases, [("askers", "tiny"), ("solvers", "small")]);
    Ok(())
}

#[test]
fn steps_that_contradict_the_stages_are_refused() {
    let mut document = document(DatasetId(Uuid::from_u128(7)));
    let resolved = config::resolve(&document, &registry()).unwrap();
    assert_eq!(resolved.steps, STEPS);
    let again = config::resolve(&serde_json::to_value(&resolved).unwrap(), &registry());
    assert_eq!(again, Ok(resolved), "a resolved config stays valid");
    document["steps"] = json!(9);
    let faults = config::resolve(&document, &registry()).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "/steps: 9 contradicts the stages, 2 × (2 pose + 1 drill + 1 study), which make 8 steps: set `steps` to 8 or leave \
         it out, or change the stages"
    );
    document["recipe"] = json!("relay");
    document["parameters"] = json!({});
    document.as_object_mut().unwrap().remove("steps");
    let faults = config::resolve(&document, &registry()).unwrap_err().to_string();
    assert!(faults.contains("steps"), "a recipe without stages needs them: {faults}");
}

/// Plays a run to its end that was created over HTTP, with a worker for each base.
async fn played(house: &House, lab: &Lab) -> Result<ExecutionId> {
    let dataset = house.training_set(&rows()).await?;
    let made = lab.post("/api/v1/runs", &json!({"config": document(dataset)})).await?;
    assert_eq!(made["steps"], STEPS);
    let run: ExecutionId = made["id"].as_str().context("an id")?.parse()?;
    house.until_completed(run).await?;
    Ok(run)
}

fn arguments(base: &'static str) -> WorkerArguments {
    WorkerArguments { pause: Duration::ZERO, models: vec![base], ..WorkerArguments::default() }
}

#[tokio::test]
async fn the_whole_system_plays_it_and_shows_it() -> Result<()> {
    let house = House::new().await?;
    let _server = house.server(SERVER)?;
    let _tiny = house.worker(WORKER, &arguments("tiny"))?;
    let _small = house.worker(WORKER, &arguments("small"))?;
    let lab = Lab::open(&house).await?;
    let run = played(&house, &lab).await?;

    let recipes = lab.get("/api/v1/recipes").await?;
    let listed = recipes["items"].as_array().context("recipes")?.iter().find(|recipe| recipe["name"] == "seminar");
    assert_eq!(
        listed.context("seminar is not listed")?["metrics"],
        json!(["critic_score", "accepted_share", "pass_rate"])
    );

    stages_are_told(&lab, run).await?;
    updates_are_of_one_base(&house, run).await?;
    members_are_shown_with_their_bases(&lab, run).await?;

    let page = lab.page(&format!("/runs/{run}/metrics")).await?;
    for part in ["data-chart=\"critic-score\"", "data-chart=\"accepted-proposals\""] {
        ensure!(page.contains(part), "{part} is missing: {page}");
    }
    judgements_are_no_failed_solutions(&house, &lab, run).await?;
    for path in ["problems", "attempts", "learnability", "benchmarks", "export"] {
        lab.page(&format!("/runs/{run}/{path}")).await?;
    }
    lab.page(&format!("/runs/new?from={run}")).await?;
    let lineage = lab.get(&format!("/runs/{run}/lineage.json")).await;
    ensure!(lineage.is_err_and(|absent| absent.to_string().contains("do not evolve")));
    lab.close().await;
    Ok(())
}

async fn stages_are_told(lab: &Lab, run: ExecutionId) -> Result<()> {
    let steps = lab.get(&format!("/api/v1/runs/{run}/steps?order=oldest")).await?;
    let stages: Vec<_> = steps["items"].as_array().context("steps")?.iter().map(|step| &step["stage"]).collect();
    assert_eq!(stages, ["pose", "pose", "drill", "study", "pose", "pose", "drill", "study"]);
    let page = lab.get(&format!("/runs/{run}.json")).await?;
    let last = page["last_steps"].as_array().context("steps")?;
    ensure!(last.iter().any(|step| step["stage"] == "drill"), "{page}");
    Ok(())
}

/// An update holds members of one base, so that a worker needs no other.
async fn updates_are_of_one_base(house: &House, run: ExecutionId) -> Result<()> {
    let bases: Vec<(i32, String)> = sqlx::query_as(
        "SELECT step, payload->'update'->'base_model'->>'name' FROM work WHERE execution_id = $1 AND kind = 'update' ORDER BY 1, 2",
    )
    .bind(run.0)
    .fetch_all(house.pool())
    .await?;
    let of = |step: i32| {
        let bases = bases.iter().filter(move |(at, _)| *at == step);
        bases.map(|(_, base)| base.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(3)), (vec!["small", "tiny"], vec!["small", "tiny"]));
    Ok(())
}

async fn members_are_shown_with_their_bases(lab: &Lab, run: ExecutionId) -> Result<()> {
    let members = lab.get(&format!("/api/v1/runs/{run}/members")).await?;
    let mut named: Vec<_> = members["items"]
        .as_array()
        .context("members")?
        .iter()
        .filter_map(|member| Some((member["name"].as_str()?, member["population"].as_str()?)))
        .collect();
    named.sort_unstable();
    assert_eq!(
        named,
        [("critic-0", "askers"), ("proposer-0", "askers"), ("solver-0", "solvers"), ("solver-1", "solvers")]
    );
    let page = lab.get(&format!("/runs/{run}/population.json")).await?;
    let places = page["leaderboards"].as_array().context("leaderboards")?.iter();
    let mut placed: Vec<_> = places
        .filter_map(|board| board["places"].as_array())
        .flatten()
        .filter_map(|place| Some((place["name"].as_str()?, place["population"].as_str()?)))
        .collect();
    placed.sort_unstable();
    assert_eq!(placed, named, "{page}");
    let base = |population: &str| &page["run"]["config"]["populations"][population]["base_model"]["name"];
    assert_eq!([base("askers"), base("solvers")], ["tiny", "small"]);
    Ok(())
}

/// A row of the dataset shows what the critic said of it, and its solve rate is only over answers.
async fn judgements_are_no_failed_solutions(house: &House, lab: &Lab, run: ExecutionId) -> Result<()> {
    let (problem, answers, solved): (Uuid, i64, i64) = sqlx::query_as(
        "SELECT problem_id, count(*) FILTER (WHERE role = 'solver'), count(*) FILTER (WHERE correct)
         FROM attempts a JOIN problems p ON p.id = a.problem_id
         WHERE a.run_id = $1 AND p.proposer_id IS NULL GROUP BY problem_id HAVING bool_or(role = 'critic') LIMIT 1",
    )
    .bind(run.0)
    .fetch_one(house.pool())
    .await?;
    let all: i64 = sqlx::query_scalar("SELECT count(*) FROM attempts WHERE run_id = $1 AND role = 'solver'")
        .bind(run.0)
        .fetch_one(house.pool())
        .await?;
    let shown = until("the run is counted", || async {
        let shown = lab.get(&format!("/api/v1/runs/{run}")).await?;
        Ok((shown["state"] == "completed").then_some(shown))
    })
    .await?;
    assert_eq!(shown["attempts"], all, "critics' judgements are not counted");
    let page = lab.get(&format!("/runs/{run}/problems/{problem}.json")).await?;
    let attempts = page["attempts"].as_array().context("attempts")?;
    ensure!(attempts.iter().any(|attempt| attempt["role"] == "critic"), "no judgement: {page}");
    assert_eq!(page["answers"], json!({"count": answers, "correct": solved}));
    Ok(())
}
