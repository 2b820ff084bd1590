//! `bench evolve`: every operator on adapters of a 7B model, from files to files, compared with peft's merge by SVD.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::Args;
use lyceum_core::evolution::{CATALOGUE, Operator};
use lyceum_core::work::{LoraShape, Projection};
use lyceum_engine::evolve::{Birth, Parent, init};
use lyceum_engine::{ModelConfig, Placement};

use super::Spent;
use crate::command::bench;

const PEER: &str = include_str!("evolve_peer.py");
const TARGETS: [Projection; 4] = [Projection::Q, Projection::K, Projection::V, Projection::O];

/// Makes a child with every operator and reports seconds and memory. Adapters of q, k, v and o are read and written as
/// PEFT folders. With --peer-python, also runs peft's add_weighted_adapter with combination_type `svd` on the same
/// parents.
#[derive(Debug, Args)]
pub(super) struct BenchEvolve {
    /// Shape of the base: small, qwen2.5-0.5b, qwen2.5-1.5b or qwen2.5-7b.
    #[arg(long, default_value = "qwen2.5-7b")]
    shape: String,
    /// Rank of the adapters.
    #[arg(long, default_value_t = 32)]
    rank: u32,
    /// Children per operator; the shortest time counts.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Folder for temporary adapters, which are removed at the end [default: the system's temporary folder].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// A Python with torch and peft, for running the peer.
    #[arg(long, value_name = "PYTHON")]
    peer_python: Option<PathBuf>,
    /// Layers merged by the peer [default: all]; its time is proportional.
    #[arg(long, value_name = "N")]
    peer_layers: Option<usize>,
}

impl BenchEvolve {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let config = bench::named(&self.shape)?;
        let place = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::tempdir_in(&place).with_context(|| place.display().to_string())?;
        let parents = [1, 2].map(|seed| self.parent(&config, folder.path(), seed));
        let parents = parents.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        let bytes: u64 = std::fs::metadata(parents[0].join("adapter_model.safetensors"))?.len();
        println!(
            "{}: {} layers, q, k, v and o at rank {}, {:.0} MB an adapter in fp32, {} threads",
            self.shape,
            config.num_hidden_layers,
            self.rank,
            bytes as f64 / 1e6,
            std::thread::available_parallelism().map_or(1, usize::from)
        );
        forget_peak_memory();
        for operator in &CATALOGUE {
            let target = folder.path().join("child");
            let mut least = child(operator, &parents, &target, 0)?;
            for seed in 1..self.repeats as u64 {
                least = least.min(child(operator, &parents, &target, seed)?);
            }
            println!(
                "{:<12} {:>7.3} s, {:>6.3} s of processor   {}",
                operator.name,
                least.wall.as_secs_f64(),
                least.cpu.as_secs_f64(),
                operator.title
            );
        }
        let live: Vec<&Operator> = CATALOGUE.iter().filter(|operator| operator.live).collect();
        let mut all = Spent::default();
        for (index, operator) in live.iter().enumerate() {
            all = all + child(operator, &parents, &folder.path().join("child"), index as u64)?;
        }
        let names: Vec<_> = live.iter().map(|operator| operator.name).collect();
        println!(
            "{} children by {}: {:.3} s, {:.3} s of processor",
            live.len(),
            names.join(", "),
            all.wall.as_secs_f64(),
            all.cpu.as_secs_f64()
        );
        if let Some(peak) = peak_memory() {
            println!("peak memory, files in it: {:.0} MB", peak as f64 / 1e6);
        }
        if let Some(python) = &self.peer_python {
            let layers = self.peer_layers.unwrap_or(config.num_hidden_layers).min(config.num_hidden_layers);
            let seconds = self.peer(python, &config, &parents, layers)?;
            println!(
                "peft svd     {seconds:>7.1} s   for {layers} of {} layers, without reading and writing",
                config.num_hidden_layers
            );
        }
        Ok(())
    }

    /// A parent as it is after training: no factor is zero.
    fn parent(&self, config: &ModelConfig, folder: &Path, seed: u64) -> anyhow::Result<PathBuf> {
        let shape = LoraShape::new(self.rank, 2.0 * f64::from(self.rank), false, TARGETS.to_vec())?;
        let fresh = Parent::from_files("fresh", init(config, &self.shape, shape, seed)?)?;
        let folder = folder.join(format!("parent-{seed}"));
        Birth::new("M4", &BTreeMap::new(), vec![fresh], seed)?.write(&folder)?;
        Ok(folder)
    }

    fn peer(&self, python: &Path, config: &ModelConfig, parents: &[PathBuf], layers: usize) -> anyhow::Result<f64> {
        let modules: BTreeMap<&str, (i64, i64)> =
            TARGETS.iter().map(|target| (target.name(), config.projection_sizes(*target))).collect();
        let asked = serde_json::json!({
            "layers": layers,
            "modules": modules,
            "parents": parents,
            "rank": self.rank,
            "threads": std::thread::available_parallelism().map_or(1, usize::from),
        });
        let output = Command::new(python)
            .args(["-c", PEER, &asked.to_string()])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", python.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let printed: Option<serde_json::Value> = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
        printed
            .and_then(|printed| printed["seconds"].as_f64())
            .with_context(|| format!("{} printed `{}`, not the time", python.display(), text.trim()))
    }
}

/// Time from reading the parents' folders to writing the child's.
fn child(operator: &Operator, parents: &[PathBuf], folder: &Path, seed: u64) -> anyhow::Result<Spent> {
    let spent = bench::timed(Placement::REFERENCE.device, || {
        let opened = parents[..operator.arity].iter().map(|folder| Parent::open(folder)).collect::<Result<_, _>>()?;
        Birth::new(operator.name, &BTreeMap::new(), opened, seed)?.write(folder).map(drop)
    })?;
    std::fs::remove_dir_all(folder)?;
    Ok(spent)
}

/// Resets the count of peak memory, if the kernel allows it (proc(5), `clear_refs`).
fn forget_peak_memory() {
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        println!("peak memory below includes the making of the parents");
    }
}

/// Peak memory of the process, in bytes.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
