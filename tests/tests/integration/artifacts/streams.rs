//! A worker's memory does not grow with its artifacts.

use anyhow::{Context as _, Result, ensure};
use lyceum_core::artifact::Digest;
use lyceum_core::id::{MemberId, VersionId};
use lyceum_core::work::{
    AdapterRef, BaseModel, Compute, LoraShape, Loss, MemberUpdate, MemberUpdated, Optimizer, Payload, PolicyLoss,
    Projection, Trainer, UpdatePayload,
};
use lyceum_models::peft::{AdapterConfig, CONFIG, WEIGHTS, key, pack};
use lyceum_store::artifact::digest_of;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::{File, Permissions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use uuid::Uuid;

use crate::artifacts::s3;

/// What a worker may take more for the large states than for the little ones.
const MOST: u64 = 64 << 20;
/// Tensors of an adapter.
const TENSORS: u64 = 64;
/// Bytes of a tensor of the little adapter: its moments are sent in one piece.
const LITTLE: u64 = 8 << 10;
/// Bytes of a tensor of the large adapter: its moments have 256 MiB, four times what a worker may take more.
const LARGE: u64 = 2 << 20;

/// Stands in for torchrun: gives adapters and states back as they were. The item has no sequences, so no steps are due.
const STAND_IN: &str = r#"#!/bin/sh
[ "$1" = -c ] && exit 0
for folder; do :; done
mkdir "$folder/out" && ln -s ../members/0 "$folder/out/0" || exit 1
diagnostics='"policy_loss": 0, "grad_norm": 0, "entropy": 0, "clip_share": 0, "ratio": 1, "sampler_mismatch": 0, "kl": 0, "tokens": 0'
echo "{\"adapters\": [{$diagnostics}]}" >"$folder/out/diagnostics.json"
"#;

/// What `bucket-worker` prints of an item.
#[derive(Deserialize)]
struct Told {
    /// The most memory so far, in bytes.
    peak: u64,
    members: Vec<MemberUpdated>,
}

/// Writes a safetensors file whose tensors have `bytes` zeros each, of which the disk keeps only the header.
fn zeros(path: &Path, names: impl Iterator<Item = String>, bytes: u64, step: Option<i64>) -> Result<()> {
    let mut header = serde_json::Map::new();
    let mut at = 0;
    let mut add = |name: String, dtype: &str, shape: Vec<u64>, bytes: u64| {
        header.insert(name, json!({ "dtype": dtype, "shape": shape, "data_offsets": [at, at + bytes] }));
        at += bytes;
    };
    if step.is_some() {
        add("step".to_owned(), "I64", vec![1], 8);
    }
    for name in names {
        add(name, "F32", vec![bytes / 4], bytes);
    }
    let mut header = Value::Object(header).to_string();
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut file = File::create(path)?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    let start = file.stream_position()?;
    file.set_len(start + at)?;
    if let Some(step) = step {
        file.write_all_at(&step.to_le_bytes(), start)?;
    }
    Ok(())
}

/// Gives a file its place in the bucket, by its digest.
fn place(bucket: &Path, file: &Path) -> Result<Digest> {
    let (digest, _) = digest_of(&mut File::open(file)?)?;
    let name = digest.to_string();
    let folder = bucket.join(&name[..2]);
    std::fs::create_dir_all(&folder)?;
    std::fs::rename(file, folder.join(&name))?;
    Ok(digest)
}

/// An archive as `pack` makes it, whose zeros take no place on the disk.
fn sparse_archive(folder: &Path, path: &Path) -> Result<()> {
    struct Holes(File);
    impl std::io::Write for Holes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match bytes.iter().all(|byte| *byte == 0) {
                true => self.0.seek(SeekFrom::Current(bytes.len() as i64)).map(|_| bytes.len()),
                false => self.0.write(bytes),
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            // A hole at the end has to be told.
            let end = self.0.stream_position()?;
            self.0.set_len(end)
        }
    }
    Ok(pack(folder, Holes(File::create(path)?))?)
}

/// Puts an adapter and its optimizer states into the bucket, with tensors of `tensor` bytes. Returns the path of an item that
/// updates the adapter, and how many bytes the states have.
fn item(folder: &Path, bucket: &Path, tensor: u64) -> Result<(PathBuf, u64)> {
    let folder = tempfile::tempdir_in(folder)?.keep();
    let adapter = folder.join("adapter");
    std::fs::create_dir(&adapter)?;
    let shape = LoraShape { r: 4, lora_alpha: 8.0, target_modules: vec![Projection::Q], use_rslora: false };
    std::fs::write(adapter.join(CONFIG), serde_json::to_string(&AdapterConfig::new(&shape, "seedling"))?)?;
    let names: Vec<String> =
        (0..TENSORS).map(|at| key(at as usize / 2, Projection::Q, if at % 2 == 0 { 'A' } else { 'B' })).collect();
    zeros(&adapter.join(WEIGHTS), names.iter().cloned(), tensor, None)?;
    let archive = folder.join("archive");
    sparse_archive(&adapter, &archive)?;
    let state = folder.join("state");
    let moments = names.iter().flat_map(|name| {
        let stem = name.trim_start_matches("base_model.model.").trim_end_matches(".weight");
        ["exp_avg", "exp_avg_sq"].map(|moment| format!("{stem}.{moment}"))
    });
    zeros(&state, moments, tensor, Some(3))?;
    let kept = state.metadata()?;
    ensure!(kept.blocks() < 1 << 11, "the disk keeps zeros");
    let from = AdapterRef {
        version: VersionId(Uuid::from_u128(1)),
        artifact: place(bucket, &archive)?,
        optimizer: Some(place(bucket, &state)?),
    };
    let payload = UpdatePayload {
        base_model: BaseModel { name: "seedling".to_owned(), revision: None },
        compute: Compute { trainer: Trainer::Torchrun, ..Compute::default() },
        members: vec![MemberUpdate {
            member: MemberId(Uuid::nil()),
            from,
            to: VersionId(Uuid::from_u128(2)),
            kl_reference: None,
            learning_rate: None,
            masked_share: 0.0,
            sequences: Vec::new(),
        }],
        loss: Loss::PolicyGradient(PolicyLoss::default()),
        optimizer: Optimizer::default(),
        micro_batch_tokens: 1024,
        recompute: false,
        piece: None,
        measure: false,
    };
    let item = folder.join("item.json");
    std::fs::write(&item, serde_json::to_string(&Payload::Update(payload))?)?;
    Ok((item, kept.len()))
}

#[tokio::test(flavor = "multi_thread")]
async fn large_states_in_a_bucket_take_a_worker_no_more_memory_than_little_ones() -> Result<()> {
    // Some 1.3 GB for a moment; not in memory, as `/tmp` may be.
    let parent = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let folder = tempfile::tempdir_in(parent)?;
    let bucket = folder.path().join("lab");
    for folder in [&bucket, &folder.path().join("tmp")] {
        std::fs::create_dir(folder)?;
    }
    let (little, _) = item(folder.path(), &bucket, LITTLE)?;
    let (large, bytes) = item(folder.path(), &bucket, LARGE)?;
    ensure!(bytes >= 4 * MOST, "{bytes} bytes of states");
    let address = s3::serve(folder.path()).await?;
    let python = folder.path().join("python");
    std::fs::write(&python, STAND_IN)?;
    std::fs::set_permissions(&python, Permissions::from_mode(0o755))?;
    let mut worker = tokio::process::Command::new(env!("CARGO_BIN_EXE_bucket-worker"));
    worker
        .args([&little, &large])
        .args(["--artifacts", "s3://lab", "--models"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../models"))
        .arg("--python")
        .arg(&python)
        .env("TMPDIR", folder.path().join("tmp"))
        .envs(s3::variables(address, s3::SECRET))
        .kill_on_drop(true);
    let output = worker.output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", output.status);
    let told: Vec<Told> = serde_json::Deserializer::from_slice(&output.stdout).into_iter().collect::<Result<_, _>>()?;
    let [little, large] = told.as_slice() else { anyhow::bail!("{} items", told.len()) };
    let [member] = large.members.as_slice() else { anyhow::bail!("{} members", large.members.len()) };
    let optimizer = member.version.optimizer.context("no optimizer state")?.to_string();
    let written = bucket.join(&optimizer[..2]).join(&optimizer);
    // Nothing was learned, so that the states have the same bytes but for the order in the file.
    assert_eq!(written.metadata()?.len() & !0xffff, bytes & !0xffff);
    let more = large.peak - little.peak;
    println!(
        "{bytes} bytes: {} MiB at the peak after little states, {} MiB more after large ones",
        little.peak >> 20,
        more >> 20
    );
    assert!(more < MOST, "{} MiB", more >> 20);
    Ok(())
}
