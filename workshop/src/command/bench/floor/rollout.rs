//! The matrix products of a rollout.

use lyceum_core::work::Projection;
use lyceum_engine::Model;
use lyceum_engine::error::Result;
use lyceum_engine::population::Population;
use tch::Tensor;

use crate::command::bench::{Spent, timed};

/// The sizes of a rollout: `sequences` over all members, each with `prompt` tokens and `new` generated ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RolloutSize {
    /// Sequences in the batch; a multiple of the number of members.
    pub(crate) sequences: i64,
    /// Prompt tokens of each.
    pub(crate) prompt: i64,
    /// Generated tokens of each.
    pub(crate) new: i64,
}

/// Time of only the matrix products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RolloutProducts {
    /// Base projections, output projection and adapters, of prefill and all decoding steps.
    pub(crate) projections: Spent,
    /// Queries with keys, and weights with values.
    pub(crate) attention: Spent,
}

/// Operands of one layer's products; only their sizes matter.
struct Operands {
    inputs: Vec<(Tensor, Tensor)>,
    low_rank: Vec<(Tensor, Tensor, Tensor)>,
}

/// Number of rows of a layer's products.
#[derive(Clone, Copy)]
struct Rows {
    /// For q, k and v.
    attention: i64,
    /// For everything after the attention.
    after: i64,
}

impl Rows {
    fn all(rows: i64) -> Self {
        Self { attention: rows, after: rows }
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
        let options = (model.placement.kind(), model.placement.device);
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
            let (members, r) = (population.members() as i64, i64::from(population.shape.r));
            for &projection in &population.shape.target_modules {
                let (width, outputs) = model.config.projection_sizes(projection);
                // Projections with a common input share the first product, as in any implementation that fuses them.
                let sharing = |p: Projection| match p {
                    Projection::K | Projection::V => Projection::Q,
                    Projection::Up => Projection::Gate,
                    other => other,
                };
                let mates = population.shape.target_modules.iter().filter(|&&p| sharing(p) == sharing(projection));
                let first = population.shape.target_modules.iter().find(|&&p| sharing(p) == sharing(projection));
                let inner = if first == Some(&projection) { mates.count() as i64 * r } else { 0 };
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

/// Runs the matrix products of a whole rollout, in the model's precision and on its device, with operands of the right
/// sizes.
pub(crate) fn rollout_products(
    model: &Model,
    population: Option<&Population>,
    size: RolloutSize,
) -> Result<RolloutProducts> {
    let _no_grad = tch::no_grad_guard();
    let RolloutSize { sequences, prompt, new } = size;
    let config = &model.config;
    let options = (model.placement.kind(), model.placement.device);
    let hidden = Tensor::f_randn([sequences, config.hidden_size], options)?;
    let head = model.lm_head.f_transpose(0, 1)?;
    let prefill = Operands::new(model, population, Rows::all(sequences * prompt))?;
    // In a prompt's last layer, only the last token's output is needed.
    let last = Rows { attention: sequences * prompt, after: sequences };
    let prefill_last = Operands::new(model, population, last)?;
    let decode = Operands::new(model, population, Rows::all(sequences))?;

    let projections = timed(model.placement.device, || {
        for _ in 1..config.num_hidden_layers {
            prefill.multiply()?;
        }
        prefill_last.multiply()?;
        let _ = hidden.f_matmul(&head)?;
        // The last token is drawn but not fed to the model.
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
