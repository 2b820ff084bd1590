//! A server of its own for every test, and those who talk to it.

use actix_web::http::header::HeaderMap;
use actix_web::http::{Method, StatusCode};
use actix_web::web::Bytes;
use awc::{Client, ClientResponse, Connector};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{
    Azr, BenchmarkEvaluation, DatasetCheckEvaluation, FrozenSideEvaluation, Gasp, GoalpostsEvaluation,
    MajorityVoteEvaluation, OperatorRetentionEvaluation, RZero, RegenerateEvaluation, Registry, Rlvr, Sage,
};
use lyceum_postgres::{TestCluster, TestDatabase};
use lyceum_server::lab::LabSettings;
use lyceum_server::serve::{Server, Serving};
use lyceum_server::token;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::tokens::Scope;
use lyceum_store::{Store, benchmarks};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use uuid::Uuid;

use crate::recipe::Scripted;

/// A server that answers, with an empty database.
pub(crate) struct TestServer {
    pub(crate) store: Store,
    pub(crate) artifacts: ArtifactStore,
    address: SocketAddr,
    serving: Option<Serving>,
    folder: TempDir,
    database: TestDatabase,
}

async fn migrated_database() -> TestDatabase {
    let cluster = TestCluster::shared().await.expect("a Postgres");
    let migrate = async |url: &str| {
        let store = Store::connect(url, 2).await?;
        store.migrate().await?;
        store.pool().close().await;
        anyhow::Ok(())
    };
    cluster.database_prepared(migrate).await.expect("a database")
}

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Limits small enough to be met.
pub(crate) const BODY_LIMIT: usize = 20_000;
/// Maximum bytes of an import.
pub(crate) const IMPORT_LIMIT: usize = 4 * BODY_LIMIT;

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with(|settings| settings).await
    }

    pub(crate) async fn with(change: impl FnOnce(LabSettings) -> LabSettings) -> Self {
        let registry = Registry::default()
            .with(Scripted("scripted"))
            .with(Azr)
            .with(Rlvr)
            .with(RZero)
            .with(Sage)
            .with(Gasp)
            .with_evaluation(BenchmarkEvaluation)
            .with_evaluation(DatasetCheckEvaluation)
            .with_evaluation(FrozenSideEvaluation)
            .with_evaluation(GoalpostsEvaluation)
            .with_evaluation(MajorityVoteEvaluation)
            .with_evaluation(OperatorRetentionEvaluation)
            .with_evaluation(RegenerateEvaluation);
        Self::on(migrated_database().await, registry, change).await
    }

    /// On a database that is there, with what may run on it.
    pub(crate) async fn on(
        database: TestDatabase,
        registry: Registry,
        change: impl FnOnce(LabSettings) -> LabSettings,
    ) -> Self {
        let store = Store::connect(database.url(), 8).await.expect("a connection");
        let folder = tempfile::tempdir().expect("a folder");
        let artifacts =
            ArtifactStore::folder(&folder.path().join("artifacts"), store.pool().clone()).expect("artifacts");
        let presets = folder.path().join("presets");
        fs::create_dir(&presets).expect("a folder");
        let small = format!("# A small run.\n{}", toml::to_string(&config()).expect("TOML"));
        fs::write(presets.join("small.toml"), small).expect("a preset");
        let settings = LabSettings {
            body_limit: BODY_LIMIT,
            dataset_limit: BODY_LIMIT,
            import_limit: IMPORT_LIMIT,
            artifact_limit: BODY_LIMIT,
            failed_logins_per_minute: std::num::NonZeroU32::MAX,
            presets: Some(presets),
            threads: Some(1),
            keep_alive: Duration::from_millis(50),
            coordinate: None,
            ..LabSettings::default()
        };
        let server =
            Server { store: store.clone(), artifacts: artifacts.clone(), registry, settings: change(settings) };
        let (address, serving) = server.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        Self { store, artifacts, address, serving: Some(serving), folder, database }
    }

    /// Somebody with a new token.
    pub(crate) async fn actor(&self, scope: Scope) -> Actor {
        let (secret, token) = token::create(self.store.pool(), scope.name(), scope, None).await.expect("a token");
        Actor {
            token_id: Some(token.id),
            ..self.anonymous().with("authorization", format!("Bearer {}", secret.expose()))
        }
    }

    /// Somebody without a token.
    pub(crate) fn anonymous(&self) -> Actor {
        let connector = Connector::new().limit(0).timeout(PATIENCE);
        let client = Client::builder().connector(connector).disable_redirects().timeout(PATIENCE).finish();
        Actor { client, base: format!("http://{}", self.address), headers: Vec::new(), token_id: None }
    }

    /// Where it answers.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A folder that goes with the server.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The address of its database.
    pub(crate) fn database_url(&self) -> &str {
        self.database.url()
    }

    /// Computes results again, after a test has written itself what was measured. Where it left the row set empty, that is named.
    pub(crate) async fn renew_results(&self) {
        let db = self.store.pool();
        let mut tx = db.begin().await.expect("a transaction");
        let unnamed = "SELECT DISTINCT evaluation_id FROM benchmark_results WHERE row_set = ''";
        let unnamed: Vec<Uuid> = sqlx::query_scalar(unnamed).fetch_all(&mut *tx).await.expect("evaluations");
        for evaluation in unnamed {
            benchmarks::renew(&mut tx, ExecutionId(evaluation)).await.expect("results");
        }
        let all = "INSERT INTO results_to_renew SELECT run_id, suite, row_set, decoding FROM benchmark_results WHERE role <> 'base'
            UNION SELECT run_id, suite, row_set, decoding FROM run_results
            UNION SELECT run_id, 'held-out rows', '', '' FROM held_out_results";
        sqlx::query(all).execute(&mut *tx).await.expect("results to renew");
        tx.commit().await.expect("a commit");
        while benchmarks::renew_next(db).await.expect("results") {}
    }

    pub(crate) async fn stop(mut self) {
        if let Some(serving) = self.serving.take() {
            serving.stop().await;
        }
    }
}

/// `lyceum server` in a process of its own, on the database of a test's server. It is killed when dropped.
pub(crate) struct OtherServer {
    process: Child,
    base: String,
}

impl OtherServer {
    pub(crate) fn start(server: &TestServer) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_lyceum"))
            .args(["server", "--port", "0"])
            .env("DATABASE_URL", server.database_url())
            .env("LYCEUM_DATA", server.folder().join("other"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("lyceum");
        let said = process.stdout.take().expect("its output");
        let mut ready = BufReader::new(said).lines().map_while(Result::ok);
        let base = ready.find_map(|line| Some(line.split_once("ready at ")?.1.to_owned()));
        Self { process, base: base.expect("its address") }
    }

    /// Where it answers.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn resident(&self) -> usize {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.process.id())).expect("a process");
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        4096_usize * pages.unwrap_or(usize::MAX / 4096)
    }
}

impl Drop for OtherServer {
    fn drop(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("its end");
    }
}

/// Somebody who talks to the server.
#[derive(Clone)]
pub(crate) struct Actor {
    client: Client,
    base: String,
    headers: Vec<(String, String)>,
    pub(crate) token_id: Option<uuid::Uuid>,
}

/// What the server said.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).expect("text")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().expect("text")).unwrap_or_default()
    }

    /// The reply, which must have this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }

    /// The last part of the problem's type.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let kind = self.json()["type"].as_str().expect("a type").to_owned();
        kind.strip_prefix("urn:lyceum:problem:").expect("one of ours").to_owned()
    }

    /// The places at fault.
    pub(crate) fn places(&self) -> Vec<String> {
        let errors = self.json()["errors"].as_array().cloned().unwrap_or_default();
        let place = |error: &Value| error["pointer"].as_str().or(error["parameter"].as_str()).map(str::to_owned);
        errors.iter().filter_map(place).collect()
    }
}

impl Actor {
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The same at the server with the address `base`.
    pub(crate) fn at(&self, base: &str) -> Self {
        let base = base.to_owned();
        Self { base, ..self.clone() }
    }

    /// The token that it sends.
    pub(crate) fn bearer(&self) -> String {
        let sent = self.headers.iter().find_map(|(_, value)| value.strip_prefix("Bearer "));
        sent.expect("a token").to_owned()
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::POST, path, Some(body.to_string().into_bytes())).await
    }

    pub(crate) async fn act(&self, path: &str) -> Reply {
        self.send(Method::POST, path, None).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.send(Method::PATCH, path, Some(body.to_string().into_bytes())).await
    }

    /// Sends bytes as JSON, unless a header of this actor says otherwise.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Reply {
        let mut response = self.open(method, path, body).await;
        let body = response.body().limit(64 << 20).await.expect("a body");
        Reply { status: response.status(), headers: response.headers().clone(), body }
    }

    /// As [`send`](Self::send), with the body still to come.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> ClientResponse<impl futures::Stream<Item = Result<Bytes, awc::error::PayloadError>> + Unpin + use<>> {
        let mut request = self.client.request(method, format!("{}{path}", self.base)).no_decompress();
        for (name, value) in &self.headers {
            request = request.insert_header((name.as_str(), value.as_str()));
        }
        if body.is_some() && !request.headers().contains_key("content-type") {
            request = request.insert_header(("content-type", "application/json"));
        }
        match body {
            Some(body) => request.send_body(body).await,
            None => request.send().await,
        }
        .expect("an answer")
    }
}

/// A run config that is valid.
pub(crate) fn config() -> Value {
    json!({
        "recipe": "scripted",
        "seed": 7,
        "steps": 3,
        "populations": {"main": {
            "base_model": {"name": "seedling"},
            "lora": {"r": 8, "lora_alpha": 16.0, "target_modules": ["q_proj", "v_proj"]},
            "members": [{"roles": ["teacher"], "count": 1}, {"roles": ["student"], "count": 1}],
        }},
    })
}
