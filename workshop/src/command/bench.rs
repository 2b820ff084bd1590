//! `lyceum-workshop bench`: measures one part of the product, together with peers or limits in the same run.

mod draw;
mod evolve;
mod floor;
mod grade;
mod rollout;
mod setup;
mod update;
mod verify;

use std::ops::Add;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use lyceum_engine::ModelConfig;
use lyceum_engine::config::Architecture;
use lyceum_engine::error::Result;
use tch::Device;

/// Measure a part of the product, together with a peer or a limit in the same run.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Draw(draw::BenchDraw),
    Evolve(evolve::BenchEvolve),
    Grade(grade::BenchGrade),
    Rollout(rollout::BenchRollout),
    Update(update::BenchUpdate),
    Verify(verify::BenchVerify),
}

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.part {
            Part::Draw(bench) => bench.run(),
            Part::Evolve(bench) => bench.run(),
            Part::Grade(bench) => bench.run(),
            Part::Rollout(bench) => bench.run(),
            Part::Update(bench) => bench.run(),
            Part::Verify(bench) => bench.run(),
        }
    }
}

/// The config of `small`, a Qwen2 of 6.6 M parameters, or of a published model.
fn named(name: &str) -> anyhow::Result<ModelConfig> {
    let shapes = [
        ("small", qwen2(256, 1024, 6, 4, 2, 2560, true)),
        ("qwen2.5-0.5b", qwen2(896, 4864, 24, 14, 2, 151_936, true)),
        ("qwen2.5-1.5b", qwen2(1536, 8960, 28, 12, 2, 151_936, true)),
        ("qwen2.5-7b", qwen2(3584, 18_944, 28, 28, 4, 152_064, false)),
    ];
    let names = shapes.each_ref().map(|(name, _)| *name).join(", ");
    let found = shapes.into_iter().find(|(shape, _)| *shape == name);
    let (_, config) = found.with_context(|| format!("no shape `{name}`; use one of {names}"))?;
    Ok(config)
}

fn qwen2(
    hidden_size: i64,
    intermediate_size: i64,
    num_hidden_layers: usize,
    num_attention_heads: i64,
    num_key_value_heads: i64,
    vocab_size: i64,
    tie_word_embeddings: bool,
) -> ModelConfig {
    ModelConfig {
        architecture: Architecture::Qwen2,
        vocab_size,
        hidden_size,
        intermediate_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads,
        head_dim: hidden_size / num_attention_heads,
        max_position_embeddings: 32_768,
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        rope_scaling: None,
        tie_word_embeddings,
        attention_bias: true,
        eos_token_ids: Vec::new(),
        pad_token_id: None,
    }
}

/// Waits until a device has finished its work.
pub(crate) fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        tch::Cuda::synchronize(index as i64);
    }
}

/// Time taken by a computation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Wall-clock time.
    pub(crate) wall: Duration,
    /// Processor time of this process, summed over all threads. On a shared machine it is more meaningful than
    /// wall-clock time.
    pub(crate) cpu: Duration,
}

impl Spent {
    /// More than any computation takes: the initial value when searching for a minimum.
    pub(crate) const MAX: Self = Self { wall: Duration::MAX, cpu: Duration::MAX };

    /// The minimum of each.
    pub(crate) fn min(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { wall: self.wall + other.wall, cpu: self.cpu + other.cpu }
    }
}

/// Times a computation, synchronising the device before and after.
pub(crate) fn timed(device: Device, compute: impl FnOnce() -> Result<()>) -> Result<Spent> {
    synchronize(device);
    measured(|| {
        compute()?;
        synchronize(device);
        Ok(())
    })
}

/// Times what runs on no device, or waits for it itself.
pub(crate) fn measured<E>(compute: impl FnOnce() -> std::result::Result<(), E>) -> std::result::Result<Spent, E> {
    let (start, start_cpu) = (Instant::now(), processor_time());
    compute()?;
    Ok(Spent { wall: start.elapsed(), cpu: processor_time().saturating_sub(start_cpu) })
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
