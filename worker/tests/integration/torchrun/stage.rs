//! An update of two members, and groups that compute it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Result, bail};
use lyceum_core::artifact::ArtifactKind;
use lyceum_core::id::{MemberId, VersionId, WorkId};
use lyceum_core::work::{
    AdapterRef, BaseModel, Compute, Loss, MemberUpdate, Optimizer, Outcome, Payload, PolicyLoss, SequenceRef, Trainer,
    UpdatePayload, UpdateResult, WorkKey, WorkKind,
};
use lyceum_models::peft::AdapterFiles;
use lyceum_models::token_batch::{RequestTokens, SampleTokens, TokenBatch};
use lyceum_store::artifact::ArtifactStore;
use lyceum_worker::ModelsFolder;
use lyceum_worker::by_hand::{ByHandError, Item};
use lyceum_worker::handler::Handlers;
use lyceum_worker::handlers::UpdateHandler;
use lyceum_worker::trainer::{Torchrun, TorchrunError, TorchrunSettings, Trainers};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures")
}

pub(crate) fn models() -> ModelsFolder {
    ModelsFolder::resolve(Some(&fixtures().join("models")))
}

/// Groups of two processes on the CPU.
pub(crate) fn torchrun(python: &Path) -> Result<Torchrun, TorchrunError> {
    let settings = TorchrunSettings { python: python.to_owned(), processes: 2, device: "cpu".to_owned() };
    Torchrun::new(settings, models())
}

/// The stand-in for an interpreter, in a folder of its own.
pub(crate) struct StandIn {
    folder: TempDir,
    name: String,
}

impl StandIn {
    /// One that does what it is named for.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let stand_in = Self { folder: tempfile::tempdir()?, name: name.to_owned() };
        std::fs::write(stand_in.python(), include_str!("stand_in.py"))?;
        std::fs::set_permissions(stand_in.python(), Permissions::from_mode(0o755))?;
        Ok(stand_in)
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// The processes that it has noted, once it has.
    pub(crate) fn processes(&self) -> Option<Vec<i32>> {
        let noted = std::fs::read_to_string(self.folder.path().join("processes")).ok()?;
        noted.split_whitespace().map(|process| process.parse().ok()).collect()
    }
}

/// A sequence: prompt, ids, log-probabilities and advantage.
pub(crate) type Row = (Vec<i64>, Vec<i64>, Vec<f32>, f32);

/// Puts an update of adapters of a base into `store`, a member for each with its rows.
pub(crate) async fn update(
    store: &ArtifactStore,
    base: &str,
    adapters: &[&str],
    rows: &[Vec<Row>],
) -> Result<UpdatePayload> {
    let mut members = Vec::new();
    for (place, (adapter, rows)) in (0_u128..).zip(adapters.iter().zip(rows)) {
        let requests = rows.iter().enumerate().map(|(at, (prompt, ids, logprobs, _))| RequestTokens {
            id: at.to_string(),
            prompt: prompt.clone(),
            samples: vec![SampleTokens { ids: ids.clone(), logprobs: logprobs.clone(), sampling_logprobs: Vec::new() }],
        });
        let batch = TokenBatch { requests: requests.collect() };
        let tokens = store.put(ArtifactKind::Tokens, batch.to_bytes()?).await?;
        let sequences = rows.iter().enumerate().map(|(at, row)| SequenceRef {
            rollout: WorkId(Uuid::nil()),
            tokens,
            request: at.to_string(),
            sample: 0,
            advantage: row.3,
        });
        members.push(MemberUpdate {
            member: MemberId(Uuid::from_u128(place)),
            from: version(store, base, adapter, place).await?,
            to: VersionId(Uuid::from_u128(100 + place)),
            kl_reference: None,
            learning_rate: None,
            masked_share: 0.0,
            sequences: sequences.collect(),
        });
    }
    Ok(UpdatePayload {
        base_model: BaseModel { name: base.to_owned(), revision: None },
        compute: Compute { threads: Some(1), trainer: Trainer::Torchrun, ..Compute::default() },
        members,
        loss: Loss::PolicyGradient(PolicyLoss::default()),
        optimizer: Optimizer::default(),
        micro_batch_tokens: 24,
        recompute: true,
        piece: None,
        measure: false,
    })
}

/// Puts a committed adapter into `store`.
pub(crate) async fn version(store: &ArtifactStore, base: &str, adapter: &str, number: u128) -> Result<AdapterRef> {
    let files = AdapterFiles::read(&fixtures().join("adapters").join(base).join(adapter))?;
    Ok(AdapterRef {
        version: VersionId(Uuid::from_u128(number)),
        artifact: store.put(ArtifactKind::Adapter, files.to_archive()?).await?,
        optimizer: None,
    })
}

/// Two members with two sequences each.
pub(crate) async fn small(store: &ArtifactStore) -> Result<UpdatePayload> {
    let row = |advantage| (vec![1, 2, 3], vec![4, 5], vec![-5.0, -6.0], advantage);
    let rows = [vec![row(1.0), row(-1.0)], vec![row(0.5), row(-0.5)]];
    update(store, "qwen2-tied", &["all-0", "all-1"], &rows).await
}

/// Runs an update as a worker would.
pub(crate) async fn run(
    trainers: impl Into<Trainers>,
    store: &ArtifactStore,
    payload: UpdatePayload,
) -> Result<UpdateResult, ByHandError> {
    let handlers = Handlers::default().with(UpdateHandler::new(trainers));
    let item = Item { kind: WorkKind::Update, key: WorkKey::new(0, "update"), payload: Payload::Update(payload) };
    match item.run(&handlers, store.clone().into(), |_, _| {}).await? {
        Outcome::Update(result) => Ok(result),
        other => unreachable!("a result of kind {}", other.kind()),
    }
}

/// The reason why an update fails on an interpreter.
pub(crate) async fn failure(python: &Path) -> Result<String> {
    let store = ArtifactStore::in_memory();
    match run(torchrun(python)?, &store, small(&store).await?).await {
        Ok(result) => bail!("{} members have learned", result.members.len()),
        Err(error) => Ok(error.to_string()),
    }
}

/// `lyceum-worker run` on an update that is stored in `folder`, with a group of two on `python`.
pub(crate) fn worker(folder: &Path, payload: UpdatePayload, python: &Path) -> Result<Child> {
    let item = folder.join("item.json");
    std::fs::write(&item, serde_json::to_string(&Payload::Update(payload))?)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyceum-worker"));
    command
        .arg("run")
        .arg(&item)
        .arg("--artifacts")
        .arg(folder.join("artifacts"))
        .arg("--models")
        .arg(fixtures().join("models"))
        .args(["--device", "cpu", "--trainers", "torchrun", "--torchrun-processes", "2"])
        .arg("--torchrun-python")
        .arg(python)
        // What it leaves there goes with the test.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command.spawn()?)
}
