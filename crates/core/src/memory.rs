//! How much memory an update (in one lane) and generation take at their peaks, so that a server can say what fits before a
//! worker tries. [`GenerationShape::peak`] has the terms of generation.
//!
//! The engine holds, for N members with p adapter parameters each, in units of N·p·4 bytes: the weights it starts from and the
//! new ones (2), the optimizer's moments before and after (4) and the gradient (1), and once more the weights in the precision
//! of the model, arranged for its products. Of a micro-batch of T rows it holds the input of every layer and, of one layer
//! (with recomputation) or of all (without), the activations that the backward pass reads; on top comes the larger of two
//! transients: the logits of a chunk, or the gradients inside the gated MLP. [`UpdateShape::peak`] has the terms.

mod generation;
mod models;

pub use generation::{GenerationMemory, GenerationShape};

use crate::work::LoraShape;

/// The sizes of a base model. Field names are those of `config.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseShape {
    /// Rows of the embedding.
    pub vocab_size: u64,
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Width of the gated MLP.
    pub intermediate_size: u64,
    /// Decoder layers.
    pub num_hidden_layers: u64,
    /// Query heads.
    pub num_attention_heads: u64,
    /// Key and value heads.
    pub num_key_value_heads: u64,
    /// Width of one head.
    pub head_dim: u64,
    /// Whether the output projection is the embedding.
    pub tie_word_embeddings: bool,
}

impl BaseShape {
    /// The sizes in a model's `config.json`; `head_dim` is the width by heads where it is left out.
    ///
    /// # Errors
    /// The field that is missing, no whole number, or 0.
    pub fn of_config(config: &serde_json::Value) -> Result<Self, String> {
        let size = |name: &str| match config[name].as_u64() {
            Some(size @ 1..=0xffff_ffff) => Ok(size),
            _ => Err(format!("config.json has no size `{name}`, a whole number from 1 on")),
        };
        let (hidden_size, num_attention_heads) = (size("hidden_size")?, size("num_attention_heads")?);
        Ok(Self {
            vocab_size: size("vocab_size")?,
            hidden_size,
            intermediate_size: size("intermediate_size")?,
            num_hidden_layers: size("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: size("num_key_value_heads")?,
            head_dim: size("head_dim").unwrap_or(hidden_size / num_attention_heads),
            tie_word_embeddings: config["tie_word_embeddings"].as_bool().unwrap_or(false),
        })
    }

    /// Outputs of the q projection, and of the k projection.
    fn attention_widths(&self) -> (u64, u64) {
        (
            self.num_attention_heads * self.head_dim,
            self.num_key_value_heads * self.head_dim,
        )
    }

    /// Weights of the matrices and norms; the biases, a ten-thousandth of them, are left out.
    pub fn parameters(&self) -> u64 {
        let (query, key) = self.attention_widths();
        let layer = self.hidden_size * (2 * query + 2 * key + 3 * self.intermediate_size + 2);
        let embeddings = self.vocab_size * self.hidden_size * if self.tie_word_embeddings { 1 } else { 2 };
        embeddings + self.num_hidden_layers * layer + self.hidden_size
    }

    /// Parameters of one member's adapter. Names that are no projection of the model count nothing.
    pub fn adapter_parameters(&self, shape: &LoraShape) -> u64 {
        let (query, key) = self.attention_widths();
        let widths = shape.target_modules.iter().map(|name| match name.as_str() {
            "q_proj" => self.hidden_size + query,
            "k_proj" | "v_proj" => self.hidden_size + key,
            "o_proj" => query + self.hidden_size,
            "gate_proj" | "up_proj" | "down_proj" => self.hidden_size + self.intermediate_size,
            _ => 0,
        });
        self.num_hidden_layers * u64::from(shape.r) * widths.sum::<u64>()
    }
}

/// Positions that the models of well-known names have (`max_position_embeddings`), by the name in a config; none for others,
/// whose limits the worker finds in their `config.json`.
pub fn context_length(name: &str) -> Option<u32> {
    let model = name.rsplit('/').next().unwrap_or(name);
    let known = [
        ("seedling", 512),
        ("Qwen2.5-Math", 4096),
        ("Qwen2.5", 32768),
        ("Qwen3", 32768),
    ];
    known
        .iter()
        .find(|(stem, _)| model.starts_with(stem))
        .map(|(_, positions)| *positions)
}

/// What an update computes at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateShape {
    /// Members of the population.
    pub members: u64,
    /// Tokens that pass through the layers in one micro-batch (T).
    pub rows: u64,
    /// Places of the micro-batch's padded sequences in attention (P): the number of sequences times the longest; `rows` if all
    /// are of one length and share no prompts.
    pub places: u64,
    /// Learned tokens of one micro-batch (C).
    pub learned: u64,
    /// Logits that are held at a time.
    pub logits: u64,
    /// Bytes of a number of the model: 4 in fp32, 2 in bf16 (w).
    pub bytes: u64,
    /// Whether activations are computed a second time for the backward pass.
    pub recompute: bool,
}

/// Bytes at the peak of an update, by what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateMemory {
    /// The base's weights.
    pub base: u64,
    /// Weights of the members before and after.
    pub adapters: u64,
    /// AdamW's moments before and after.
    pub moments: u64,
    /// The gradient, and the weights arranged for the products.
    pub gradient: u64,
    /// Activations kept for the backward pass.
    pub activations: u64,
    /// What one step of the computation needs on top of them.
    pub transient: u64,
}

impl UpdateMemory {
    /// Everything.
    pub fn total(&self) -> u64 {
        self.base + self.adapters + self.moments + self.gradient + self.activations + self.transient
    }
}

impl UpdateShape {
    /// The peak. With hidden size d, MLP width I, query width q, key width k, joint width J = q + 2k, rank sum R over the
    /// adapted projections of a layer, and c = min(C, max(1, logits / vocabulary)) rows of logits at a time:
    ///
    /// - one layer's tape: `w·T·(4d + J + q + 3I + R) + w·P·(2q + k)`, and `w·P·J` more where sequences are gathered (P ≠ T);
    ///   the last layer's lacks `w·(T − C)·(2d + 3I)`, as it computes no more than the rows that predict a learned token;
    /// - kept: the tapes of all layers, or the layers' inputs `w·T·d` each and one tape;
    /// - at the output: `8·c·vocabulary + 3·w·C·d`; in the MLP's backward pass: `w·T·(d + 3I)`, in the last layer with C for T.
    ///
    /// The peak is at the output, in the last layer's backward pass, or in the one before, when the last one's tape is gone.
    pub fn peak(&self, base: &BaseShape, adapter: &LoraShape) -> UpdateMemory {
        let Self {
            members,
            rows,
            places,
            learned,
            bytes,
            ..
        } = *self;
        let (hidden, intermediate) = (base.hidden_size, base.intermediate_size);
        let (query, key) = base.attention_widths();
        let joint = query + 2 * key;
        let adapters = 4 * members * base.adapter_parameters(adapter);
        let rank_sum = u64::from(adapter.r) * adapter.target_modules.len() as u64;
        let gathered = if places == rows { 0 } else { places * joint };
        let tape = bytes
            * (rows * (4 * hidden + joint + query + 3 * intermediate + rank_sum)
                + places * (2 * query + key)
                + gathered);
        let layers = base.num_hidden_layers;
        let predicting = learned.min(rows);
        let last = tape - bytes * (rows - predicting) * (2 * hidden + 3 * intermediate);
        let chunk = learned.min((self.logits / base.vocab_size).max(1));
        let output = 8 * chunk * base.vocab_size + 3 * bytes * learned * hidden;
        let mlp = |rows: u64| bytes * rows * (hidden + 3 * intermediate);
        let input = bytes * rows * hidden;
        let (activations, transient) = if self.recompute {
            let in_last = last - input + mlp(predicting);
            let before = (tape + mlp(rows)).saturating_sub(2 * input);
            (layers * input, output.max(in_last).max(before))
        } else {
            let in_last = mlp(predicting);
            let before = mlp(rows).saturating_sub(last);
            ((layers - 1) * tape + last, output.max(in_last).max(before))
        };
        UpdateMemory {
            base: bytes * base.parameters(),
            adapters: 2 * adapters,
            moments: 4 * adapters,
            gradient: adapters + adapters / 4 * bytes,
            activations,
            transient,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BaseShape, UpdateShape};
    use crate::work::LoraShape;

    fn qwen_7b() -> BaseShape {
        BaseShape::of_name("Qwen/Qwen2.5-7B").unwrap()
    }

    fn attention_only() -> LoraShape {
        LoraShape {
            r: 32,
            lora_alpha: 64.0,
            target_modules: ["q_proj", "k_proj", "v_proj", "o_proj"].map(str::to_owned).to_vec(),
            use_rslora: false,
        }
    }

    #[test]
    fn an_adapter_of_rank_32_on_q_k_v_and_o_has_20_million_parameters() {
        assert_eq!(qwen_7b().adapter_parameters(&attention_only()), 20_185_088);
    }

    #[test]
    fn sizes_are_read_from_a_config_or_the_field_at_fault_is_named() {
        let config = serde_json::json!({
            "vocab_size": 152_064, "hidden_size": 3584, "intermediate_size": 18_944, "num_hidden_layers": 28,
            "num_attention_heads": 28, "num_key_value_heads": 4, "tie_word_embeddings": false
        });
        assert_eq!(BaseShape::of_config(&config), Ok(qwen_7b()));
        for wrong in [serde_json::json!(0), serde_json::json!(-1), serde_json::json!("28")] {
            let mut config = config.clone();
            config["num_hidden_layers"] = wrong;
            let fault = BaseShape::of_config(&config).unwrap_err();
            assert!(fault.contains("`num_hidden_layers`"), "{fault}");
        }
    }

    #[test]
    fn eight_members_of_a_7b_base_fit_one_large_gpu_only_with_recomputation() {
        let shape = |recompute| UpdateShape {
            members: 8,
            rows: 16_384,
            places: 16_384,
            learned: 8192,
            logits: 1 << 24,
            bytes: 2,
            recompute,
        };
        let gib = |recompute| shape(recompute).peak(&qwen_7b(), &attention_only()).total() >> 30;
        assert!(gib(true) < 40, "{}", gib(true));
        assert!(gib(false) > 80, "{}", gib(false));
    }
}
