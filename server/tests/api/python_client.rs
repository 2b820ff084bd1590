//! The Python client's own tests, against a server with a coordinator.

use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::config::RunConfig;
use lyceum_core::fault::Faults;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{
    Capabilities, Metric, MetricRecord, Plan, PlanError, Planner, Recipe, Records, Registry, Role, RunState, StepView,
};
use lyceum_server::lab::{LabSettings, Pace};
use lyceum_server::serve::Server;
use lyceum_store::tokens::Scope;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{env, fs};
use tokio::process::Command;

use crate::benchmarks::imported;
use crate::fixtures::{filled, records};
use crate::harness::{TestServer, config};
use crate::recipe::Scripted;

/// Problems of the first step of a run that ends by itself.
const PROBLEMS: u32 = 18;

/// A recipe whose steps end when they are planned: the first with something of everything, the others with metrics.
struct Brief {
    weights: Digest,
}

impl Planner for Brief {
    fn name(&self) -> &'static str {
        "brief"
    }

    fn summary(&self) -> &'static str {
        "Ends by itself, for tests."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        Scripted("brief").resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        RunState::first(run, config, &())
    }

    fn plan(&self, run: &RunState, _: &StepView) -> Result<Plan, PlanError> {
        let mut records = match run.step {
            0 => records(run.run, self.weights, PROBLEMS).0,
            step => Records {
                metrics: vec![MetricRecord {
                    member: None,
                    values: vec![0.5, f64::from(step) / 10.0],
                    ..MetricRecord::default()
                }],
                ..Records::default()
            },
        };
        for problem in &mut records.problems {
            problem.source = None;
        }
        Ok(Plan { records, finish: Some(run.next("", &())?), ..Plan::default() })
    }
}

impl Recipe for Brief {
    fn parameters_schema(&self) -> Value {
        Scripted("brief").parameters_schema()
    }

    fn roles(&self) -> Vec<Role> {
        Scripted("brief").roles()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn metrics(&self) -> Vec<Metric> {
        Scripted("brief").metrics()
    }
}

/// The Python with the client and what its tests need, if there is one.
fn python() -> Option<PathBuf> {
    env::var_os("CLIENT_PYTHON").map(PathBuf::from).filter(|python| python.exists())
}

fn client_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/python"))
}

#[actix_web::test]
async fn the_python_client_does_what_its_readme_says() {
    let Some(python) = python() else {
        eprintln!(
            "skipped: set CLIENT_PYTHON to a Python with clients/python and its requirements-test.txt (script/test)"
        );
        return;
    };
    let server = TestServer::start().await;
    filled(&server, 6).await;
    imported(&server.actor(Scope::Write).await).await;
    let weights = server.artifacts.put(ArtifactKind::Adapter, b"brief".to_vec()).await;
    let presets = server.folder().join("presets");
    let mut demo = config();
    demo["recipe"] = "brief".into();
    fs::write(presets.join("demo.toml"), toml::to_string(&demo).expect("TOML")).expect("a preset");
    let coordinating = Server {
        store: server.store.clone(),
        artifacts: server.artifacts.clone(),
        registry: Registry::default()
            .with(Scripted("scripted"))
            .with(Brief { weights: weights.expect("an artifact") })
            .with_evaluation(lyceum_core::recipe::BenchmarkEvaluation),
        settings: LabSettings {
            presets: Some(presets),
            threads: Some(1),
            coordinate: Some(Pace { look: Duration::from_millis(100), ..Pace::default() }),
            ..LabSettings::default()
        },
    };
    let (address, serving) = coordinating.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let output = Command::new(python)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg(client_folder().join("tests"))
        .env("LYCEUM_URL", format!("http://{address}"))
        .env("LYCEUM_TOKEN", server.actor(Scope::Write).await.bearer())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(server.folder())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("Python");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    serving.stop().await;
    server.stop().await;
}
