//! The time of only the matrix products of an update in libtorch, each at its own size: a limit to compare learning
//! with.

use lyceum_core::work::{LoraShape, Projection};
use lyceum_engine::config::ModelConfig;
use lyceum_engine::error::Result;
use lyceum_engine::lanes::{side_by_side, worthwhile};
use lyceum_engine::model::Model;
use lyceum_engine::population::JointProjection;
use tch::{Device, Kind, Tensor};

use crate::command::bench::{Spent, timed};

/// The sizes of an update: sequences of equal length, each with its own prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateSize {
    /// Over all members.
    pub(crate) sequences: i64,
    /// Tokens per sequence that pass through the layers.
    pub(crate) length: i64,
    /// Learned tokens per sequence.
    pub(crate) learned: i64,
    /// Tokens of a micro-batch, over all lanes.
    pub(crate) micro_batch_tokens: i64,
}

/// Runs the matrix products of a whole update, in the same lanes as the engine, in the model's precision and on its
/// device, with operands of the right sizes. Base and adapter are one product, as in the engine where that is fastest;
/// the time to merge them is not included.
pub(crate) fn update_products(model: &Model, adapter: &LoraShape, size: UpdateSize) -> Result<Spent> {
    let device = model.placement.device;
    let budget = size.micro_batch_tokens.min(size.sequences * size.length);
    let lanes = worthwhile(device, budget as usize, 1024) as i64;
    let sequences = (budget / lanes / size.length).max(1);
    let batches = (size.sequences + sequences - 1) / sequences;
    let jobs = (0..lanes).map(|lane| {
        let batches = batches / lanes + i64::from(lane < batches % lanes);
        Ok((Operands::new(model, adapter, sequences, size)?, batches))
    });
    let jobs: Vec<_> = jobs.collect::<Result<_>>()?;
    timed(device, || {
        let multiply = |(operands, batches): (Operands, i64), _: &_| (0..batches).try_for_each(|_| operands.multiply());
        side_by_side(jobs, multiply, &mut |(): ()| ()).into_iter().collect()
    })
}

/// Operands of a micro-batch's products; only their sizes matter.
struct Operands {
    layers: i64,
    /// Of one layer that computes all rows, and of the last, which after its attention computes only the predicting
    /// rows.
    linear: [[Linear; 4]; 2],
    attention: Attention,
    /// Hidden states of the predicting rows, and the output projection.
    head: (Tensor, Tensor),
}

struct Linear {
    x: Tensor,
    /// `[out, in]`
    weight: Tensor,
    by_output: Tensor,
    /// For each adapted projection A `[r, in]`, B `[out, r]`, and the offset of its outputs.
    adapted: Vec<(Tensor, Tensor, i64)>,
}

struct Attention {
    query: Tensor,
    key: Tensor,
    scores: Tensor,
}

impl Operands {
    fn new(model: &Model, adapter: &LoraShape, sequences: i64, size: UpdateSize) -> Result<Self> {
        let (config, weights) = (&model.config, &model.layers[0]);
        let options = (model.placement.kind(), model.placement.device);
        let (rows, predicting) = (sequences * size.length, sequences * size.learned);
        let layer = |rows, after: i64| -> Result<[Linear; 4]> {
            let linear = |rows, weight: &Tensor, projections: &[Projection]| {
                Linear::new(config, adapter, rows, weight, projections, options)
            };
            Ok([
                linear(rows, &weights.qkv_proj, JointProjection::Qkv.parts())?,
                linear(after, &weights.o_proj, JointProjection::O.parts())?,
                linear(after, &weights.gate_up_proj, JointProjection::GateUp.parts())?,
                linear(after, &weights.down_proj, JointProjection::Down.parts())?,
            ])
        };
        let (heads, kv_heads, width) = (config.num_attention_heads, config.num_key_value_heads, config.head_dim);
        let (matrices, group) = (sequences * kv_heads, heads / kv_heads * size.length);
        Ok(Self {
            layers: config.num_hidden_layers as i64,
            linear: [layer(rows, rows)?, layer(rows, predicting)?],
            attention: Attention {
                query: Tensor::f_randn([matrices, group, width], options)?,
                key: Tensor::f_randn([matrices, size.length, width], options)?,
                scores: Tensor::f_randn([matrices, group, size.length], options)?,
            },
            head: (Tensor::f_randn([predicting, config.hidden_size], options)?, model.lm_head.shallow_clone()),
        })
    }

    fn multiply(&self) -> Result<()> {
        for layer in 0..self.layers {
            let [qkv, after @ ..] = &self.linear[usize::from(layer + 1 == self.layers)];
            qkv.multiply(layer > 0)?;
            after.iter().try_for_each(|linear| linear.multiply(true))?;
            self.attention.multiply()?;
        }
        let (hidden, head) = &self.head;
        let logits = hidden.f_matmul(&head.f_transpose(0, 1)?)?;
        let _ = logits.f_matmul(head)?;
        Ok(())
    }
}

impl Linear {
    fn new(
        config: &ModelConfig,
        adapter: &LoraShape,
        rows: i64,
        weight: &Tensor,
        projections: &[Projection],
        options: (Kind, Device),
    ) -> Result<Self> {
        let (outputs, inputs) = weight.size2()?;
        let mut adapted = Vec::new();
        let mut start = 0;
        for projection in projections {
            let width = config.projection_sizes(*projection).1;
            if adapter.target_modules.contains(projection) {
                let rank = i64::from(adapter.r);
                let down = Tensor::f_randn([rank, inputs], options)?;
                adapted.push((down, Tensor::f_randn([width, rank], options)?, start));
            }
            start += width;
        }
        Ok(Self {
            x: Tensor::f_randn([rows, inputs], options)?,
            weight: weight.shallow_clone(),
            by_output: Tensor::f_randn([rows, outputs], options)?,
            adapted,
        })
    }

    /// Forward, and backward for the factors and, if needed, the input.
    fn multiply(&self, by_input: bool) -> Result<()> {
        let _ = self.x.f_matmul(&self.weight.f_transpose(0, 1)?)?;
        for (down, up, start) in &self.adapted {
            let by_output = self.by_output.f_narrow(1, *start, up.size()[0])?;
            let inner = self.x.f_matmul(&down.f_transpose(0, 1)?)?;
            let by_inner = by_output.f_matmul(up)?;
            let _ = by_output.f_transpose(0, 1)?.f_matmul(&inner)?;
            let _ = by_inner.f_transpose(0, 1)?.f_matmul(&self.x)?;
        }
        if by_input {
            let _ = self.by_output.f_matmul(&self.weight)?;
        }
        Ok(())
    }
}

impl Attention {
    /// Scores, values, and the gradients of the weights, the values, the keys and the queries.
    fn multiply(&self) -> Result<()> {
        let Self { query, key, scores } = self;
        for _ in 0..2 {
            let _ = query.f_bmm(&key.f_transpose(1, 2)?)?;
            let _ = scores.f_bmm(key)?;
            let _ = scores.f_transpose(1, 2)?.f_bmm(query)?;
        }
        Ok(())
    }
}
