//! What the matrix products of a rollout alone cost in libtorch: what generation is measured against.

mod update;

use std::ops::Add;
use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};

use crate::error::Result;
use crate::model::Model;
use crate::population::{Population, Projection};

pub use update::{UpdateSize, update_products};

/// The sizes of a rollout: `sequences` over all members, each with `prompt` tokens and `new` generated ones.
#[derive(Debug, Clone, Copy)]
pub struct RolloutSize {
    /// Sequences in the batch; a multiple of the number of members.
    pub sequences: i64,
    /// Prompt tokens of each.
    pub prompt: i64,
    /// Generated tokens of each.
    pub new: i64,
}

/// Time of the matrix products alone.
#[derive(Debug, Clone, Copy)]
pub struct RolloutProducts {
    /// Base projections, output projection and adapters, of prefill and all decoding steps.
    pub projections: Spent,
    /// Queries with keys, and weights with values.
    pub attention: Spent,
}

/// Operands of one layer's products; only their sizes matter.
struct Operands {
    inputs: Vec<(Tensor, Tensor)>,
    low_rank: Vec<(Tensor, Tensor, Tensor)>,
}

/// Numbers of rows of a layer's products.
#[derive(Clone, Copy)]
struct Rows {
    /// Of q, k and v.
    attention: i64,
    /// Of all that comes after the attention.
    after: i64,
}

impl Rows {
    fn all(rows: i64) -> Self {
        Self {
            attention: rows,
            after: rows,
        }
    }

    fn of(&self, projection: Projection) -> i64 {
        match projection {
            Projection::Q | Projection::K | Projection::V => self.attention,
            _ => self.after,
        }
    }
}

impl Operands {
    fn new(model: &Model, population: Option<&Population>, rows: Rows) -> Result<Self> {
        let weights = &model.layers[0];
        let options = (model.placement.precision.kind(), model.placement.device);
        let random = |shape: &[i64]| -> Result<Tensor> { Ok(Tensor::f_randn(shape, options)?) };
        let mut inputs = Vec::new();
        for (weight, rows) in [
            (&weights.qkv_proj, rows.attention),
            (&weights.o_proj, rows.after),
            (&weights.gate_up_proj, rows.after),
            (&weights.down_proj, rows.after),
        ] {
            inputs.push((random(&[rows, weight.size()[1]])?, weight.f_transpose(0, 1)?));
        }
        let mut low_rank = Vec::new();
        if let Some(population) = population {
            let (members, r) = (population.members() as i64, population.shape.r);
            for &projection in &population.shape.target_modules {
                let (width, outputs) = projection.sizes(&model.config);
                // Projections with a common input share the first product, as in any implementation that fuses them.
                let sharing = |p: Projection| match p {
                    Projection::K | Projection::V => Projection::Q,
                    Projection::Up => Projection::Gate,
                    other => other,
                };
                let mates = population
                    .shape
                    .target_modules
                    .iter()
                    .filter(|&&p| sharing(p) == sharing(projection));
                let first = population
                    .shape
                    .target_modules
                    .iter()
                    .find(|&&p| sharing(p) == sharing(projection));
                let inner = if first == Some(&projection) {
                    mates.count() as i64 * r
                } else {
                    0
                };
                low_rank.push((
                    random(&[members, rows.of(projection) / members, width])?,
                    random(&[members, width, inner])?,
                    random(&[members, r, outputs])?,
                ));
            }
        }
        Ok(Self { inputs, low_rank })
    }

    fn multiply(&self) -> Result<()> {
        for (input, weight) in &self.inputs {
            let _ = input.f_matmul(weight)?;
        }
        for (input, down, up) in &self.low_rank {
            if down.size()[2] > 0 {
                let _ = input.f_bmm(down)?;
            }
            let _ = input.f_narrow(2, 0, up.size()[1])?.f_bmm(up)?;
        }
        Ok(())
    }
}

/// Runs the matrix products of a whole rollout, at the model's precision and on its device, on operands of the right
/// sizes.
pub fn rollout_products(model: &Model, population: Option<&Population>, size: RolloutSize) -> Result<RolloutProducts> {
    let _no_grad = tch::no_grad_guard();
    let RolloutSize { sequences, prompt, new } = size;
    let config = &model.config;
    let options = (model.placement.precision.kind(), model.placement.device);
    let hidden = Tensor::f_randn([sequences, config.hidden_size], options)?;
    let head = model.lm_head.f_transpose(0, 1)?;
    let prefill = Operands::new(model, population, Rows::all(sequences * prompt))?;
    // Of a prompt's last layer the last token's output alone is of use.
    let last = Rows {
        attention: sequences * prompt,
        after: sequences,
    };
    let prefill_last = Operands::new(model, population, last)?;
    let decode = Operands::new(model, population, Rows::all(sequences))?;

    let projections = timed(model.placement.device, || {
        for _ in 1..config.num_hidden_layers {
            prefill.multiply()?;
        }
        prefill_last.multiply()?;
        let _ = hidden.f_matmul(&head)?;
        // The last token is drawn, but not fed.
        for _ in 1..new {
            for _ in 0..config.num_hidden_layers {
                decode.multiply()?;
            }
            let _ = hidden.f_matmul(&head)?;
        }
        Ok(())
    })?;

    let (heads, kv_heads, width) = (config.num_attention_heads, config.num_key_value_heads, config.head_dim);
    let whole = Tensor::f_randn([sequences * heads, prompt, width], options)?;
    let weights = Tensor::f_randn([sequences * heads, prompt, prompt], options)?;
    let query = Tensor::f_randn([sequences * kv_heads, heads / kv_heads, width], options)?;
    let cache = Tensor::f_randn([sequences * kv_heads, prompt + new, width], options)?;
    let scores = Tensor::f_randn([sequences * kv_heads, heads / kv_heads, prompt + new], options)?;
    let attention = timed(model.placement.device, || {
        for _ in 0..config.num_hidden_layers {
            let _ = whole.f_bmm(&whole.f_transpose(1, 2)?)?;
            let _ = weights.f_bmm(&whole)?;
            for step in 1..new {
                let cache = cache.f_narrow(1, 0, prompt + step)?;
                let _ = query.f_bmm(&cache.f_transpose(1, 2)?)?;
                let _ = scores.f_narrow(2, 0, prompt + step)?.f_bmm(&cache)?;
            }
        }
        Ok(())
    })?;
    Ok(RolloutProducts { projections, attention })
}

/// Waits until a device has done what it was given.
pub fn synchronize(device: Device) {
    if let Device::Cuda(index) = device {
        tch::Cuda::synchronize(index as i64);
    }
}

/// Time that a computation took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// On the wall.
    pub wall: Duration,
    /// On this process's processors, all threads added up. On a machine that is shared it says more than the wall.
    pub cpu: Duration,
}

impl Spent {
    /// More than any computation takes: where a search for the least starts.
    pub const MAX: Self = Self {
        wall: Duration::MAX,
        cpu: Duration::MAX,
    };

    /// The lesser of each.
    pub fn min(self, other: Self) -> Self {
        Self {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
        }
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wall: self.wall + other.wall,
            cpu: self.cpu + other.cpu,
        }
    }
}

/// Times a computation; the device is waited for before and after.
pub fn timed(device: Device, compute: impl FnOnce() -> Result<()>) -> Result<Spent> {
    synchronize(device);
    let (start, start_cpu) = (Instant::now(), processor_time());
    compute()?;
    synchronize(device);
    Ok(Spent {
        wall: start.elapsed(),
        cpu: processor_time().saturating_sub(start_cpu),
    })
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Bytes a second of a large copy on the device, reading and writing counted.
pub fn memory_bandwidth(device: Device) -> Result<f64> {
    let numbers = if device.is_cuda() { 1 << 29 } else { 1 << 26 };
    let source = Tensor::f_zeros([numbers], (Kind::Float, device))?;
    let mut target = source.f_ones_like()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(timed(device, || Ok(target.f_copy_(&source)?))?.wall.as_secs_f64());
    }
    Ok(2.0 * 4.0 * numbers as f64 / best)
}

/// Operations a second of a large square product, a multiplication and an addition counted as two.
pub fn product_rate(device: Device, kind: Kind) -> Result<f64> {
    let width = if device.is_cuda() { 8192 } else { 1024 };
    let matrix = Tensor::f_randn([width, width], (kind, device))?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(
            timed(device, || matrix.f_matmul(&matrix).map(drop).map_err(Into::into))?
                .wall
                .as_secs_f64(),
        );
    }
    Ok(2.0 * (width as f64).powi(3) / best)
}
