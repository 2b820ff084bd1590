//! The peak of an update.
//!
//! For N members with p adapter parameters each, the engine holds, in units of N·p·4 bytes: the old and the new weights
//! (2), the optimizer's moments before and after (4) and the gradient (1), and one for versions that a KL term names; and
//! once more the weights in the model's precision, arranged for its products. For a micro-batch of T rows it holds the input of every layer and the
//! activations that the backward pass reads, of one layer (with recomputation) or of all (without). On top comes the
//! larger of two transients: the logits of a chunk, or the gradients inside the gated MLP.

use super::{BaseShape, saturating};
use crate::work::{Dtype, LoraShape};

/// The fewest logits that an update holds at a time, unless told otherwise; on a GPU they are as many as
/// [`UpdateShape::logits_below_the_peak`].
pub const LOGITS: u64 = 1 << 24;

/// On a GPU, the sequences of a micro-batch have at most this many times its tokens, shared prompts counted for each.
pub const SHARED: u64 = 2;

/// Most positions of a large micro-batch's padded sequences for each of their tokens, if they are padded by length.
const PADDED: u64 = 2;

/// Two fp32 copies of each logit.
const LOGIT_BYTES: u128 = 8;

/// Bytes of a number in fp32.
const FP32: u128 = 4;

/// Hidden states and gradients of the learned tokens at the output.
const OUTPUT_COPIES: u128 = 3;

/// From this many rows per member on, a CPU is faster with base and adapter merged into one product than with two.
pub const ROWS_TO_MERGE: u32 = 512;

/// The size of an update's computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateShape {
    /// Members of the population.
    pub members: u64,
    /// Tokens that pass through the layers in one micro-batch (T).
    pub rows: u64,
    /// Members those tokens belong to (m), in equal parts.
    pub together: u64,
    /// Members whose KL term is measured against a version that is held only for that.
    pub references: u64,
    /// Positions of the micro-batch's padded sequences in attention (P): for sequences that are padded to one length, their
    /// number times that; equal to `rows` if all have the same length and share no prompts.
    pub places: u64,
    /// Tokens of the longest sequence (L).
    pub longest: u64,
    /// Tokens of a micro-batch that are learned from (C).
    pub learned: u64,
    /// Logits held at a time.
    pub logits: u64,
    /// Bytes per number of the model: 4 in fp32, 2 in bf16 (w).
    pub bytes: u64,
    /// Whether activations are recomputed for the backward pass.
    pub recompute: bool,
    /// Whether attention and the gated MLP's gradient use the engine's own loops: in fp32 on a CPU, for a base without
    /// query and key norms, while `num_attention_heads` · (tokens of the longest sequence) ≤ `intermediate_size`. They
    /// take less memory, so if unknown, `false` is the safe choice.
    pub own_loops: bool,
}

/// Bytes at the peak of an update, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateFootprint {
    /// The base's weights.
    pub base: u64,
    /// Weights of the members before and after, and of the versions for the KL term.
    pub adapters: u64,
    /// AdamW's moments before and after.
    pub moments: u64,
    /// The gradient, and the weights arranged for the products.
    pub gradient: u64,
    /// Activations kept for the backward pass.
    pub activations: u64,
    /// Temporary memory of one step of the computation.
    pub transient: u64,
}

impl UpdateFootprint {
    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        let parts = [self.base, self.adapters, self.moments, self.gradient, self.activations, self.transient];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl UpdateShape {
    /// The largest possible update of `members` members in which no prompts are shared: micro-batches as large as
    /// allowed, and every token learned from.
    pub fn largest(members: u64, micro_batch_tokens: u32, dtype: Dtype, recompute: bool) -> Self {
        let rows = u64::from(micro_batch_tokens);
        Self {
            members,
            rows,
            together: members,
            references: 0,
            places: rows,
            longest: rows,
            learned: rows,
            logits: LOGITS,
            bytes: dtype.bytes(),
            recompute,
            own_loops: false,
        }
    }

    /// The same when `samples` answers of a member may share a prompt of at most `prompt` tokens. A shared prompt counts once
    /// among the rows of a micro-batch, but attention holds it once for each answer, which is most for short answers.
    #[must_use]
    pub fn with_shared_prompts(self, samples: u64, prompt: u64) -> Self {
        let bounded = |count: u64| u128::from(count.min(1 << 16));
        let (samples, prompt) = (bounded(samples.max(1)), bounded(prompt));
        let places = u128::from(self.rows) * samples * (prompt + 1) / (prompt + samples);
        Self { places: saturating(places).max(self.places), ..self }
    }

    /// The same with as many positions in attention as sequences of any lengths have on a GPU; `shared` if they may share
    /// prompts. On a CPU, where all sequences of a micro-batch are padded to the longest, very different lengths have more.
    #[must_use]
    pub fn with_any_lengths(self, shared: bool) -> Self {
        let copies = if shared { SHARED } else { 1 };
        let places = self.rows.saturating_mul(copies * PADDED);
        Self { places: places.max(self.places), ..self }
    }

    /// The peak. With hidden size d, MLP width I, query width q, key width k, joint width J = q + 2k, rank sum R over the
    /// adapted projections of a layer, and c = min(C, max(1, logits / vocabulary)) rows of logits at a time:
    ///
    /// - one layer's tape: `w·T·(4d + J + q + 3I + R) + w·P·(2q + k)`, and `w·P·J` more where sequences are gathered (P ≠ T);
    ///   and `w·P·2q` more in fp32 for grouped heads, whose keys and values a GPU repeats for all heads;
    ///   with the engine's own loops `w·T·(4d + q + 3I + R) + w·P·(J + heads·L)`;
    ///   the last layer's lacks `w·(T − C)·(2d + 3I)`, as it computes no more than the rows that predict a learned token;
    /// - kept: the tapes of all layers, or the layers' inputs `w·T·d` each and one tape; with the engine's own loops and all
    ///   tapes, from 512 rows of each member on, each projection `[o, i]` merged with its adapters too, `w·m·o·i` where that is
    ///   at most `w·T·(o + i) / 2`, and no R; in the last layer with C for T after its attention;
    /// - at the output: `8·c·vocabulary + 3·w·C·d`; in the MLP's backward pass: `w·T·(d + 3I)`, with the engine's
    ///   own loops `w·T·(d + 2I)`, with weights merged for it; in the last layer with C for T.
    ///
    /// The peak is at the output, in the last layer's backward pass, or in the one before, when the last one's tape is gone.
    pub fn peak(&self, base: &BaseShape, adapter: &LoraShape) -> UpdateFootprint {
        let [members, learned, logits, bytes] = [self.members, self.learned, self.logits, self.bytes].map(u128::from);
        let [hidden, _, _, vocabulary] = base.dimensions();
        let adapters = 4 * members * base.adapter_weights(adapter);
        let references = 4 * u128::from(self.references) * base.adapter_weights(adapter);
        let (activations, in_layers) = self.in_layers(base, adapter);
        let chunk = learned.min((logits / vocabulary.max(1)).max(1));
        let output = LOGIT_BYTES * chunk * vocabulary + OUTPUT_COPIES * bytes * learned * hidden;
        UpdateFootprint {
            base: saturating(bytes * base.weights()),
            adapters: saturating(2 * adapters + references),
            moments: saturating(4 * adapters),
            gradient: saturating(adapters + adapters / 4 * bytes),
            activations: saturating(activations),
            transient: saturating(output.max(in_layers)),
        }
    }

    /// How many logits may be held at a time before the peak rises: all that fit in addition to the kept activations where the
    /// layers' backward passes have their temporary memory at other times. At least [`LOGITS`], which may be above that.
    pub fn logits_below_the_peak(&self, base: &BaseShape, adapter: &LoraShape) -> u64 {
        let [learned, bytes] = [self.learned, self.bytes].map(u128::from);
        let [hidden, ..] = base.dimensions();
        let (_, in_layers) = self.in_layers(base, adapter);
        let room = in_layers.saturating_sub(OUTPUT_COPIES * bytes * learned * hidden);
        saturating(room / LOGIT_BYTES).max(LOGITS)
    }

    /// Bytes kept for the backward pass, and the most temporary bytes of a layer's backward pass.
    fn in_layers(&self, base: &BaseShape, adapter: &LoraShape) -> (u128, u128) {
        let [rows, places, learned, bytes] = [self.rows, self.places, self.learned, self.bytes].map(u128::from);
        let [hidden, intermediate, layers, _] = base.dimensions();
        let (query, key) = base.attention_widths();
        let joint = query + 2 * key;
        let rank_sum = u128::from(adapter.r) * adapter.target_modules.len() as u128;
        let attention = if self.own_loops {
            places * (joint + u128::from(base.num_attention_heads) * u128::from(self.longest))
        } else {
            let gathered = if places == rows { 0 } else { places * joint };
            let repeats = bytes == FP32 && base.num_attention_heads != base.num_key_value_heads;
            let repeated = if repeats { 2 * places * query } else { 0 };
            rows * joint + places * (2 * query + key) + gathered + repeated
        };
        let merges = self.own_loops && rows / u128::from(self.together.max(1)) >= u128::from(ROWS_TO_MERGE);
        let inner = if merges { 0 } else { rank_sum };
        let tape = bytes * (rows * (4 * hidden + query + 3 * intermediate + inner) + attention);
        let predicting = learned.min(rows);
        let last = tape - bytes * (rows - predicting) * (2 * hidden + 3 * intermediate);
        let in_mlp = intermediate * if self.own_loops { 2 } else { 3 };
        let mlp = |rows: u128| bytes * rows * (hidden + in_mlp);
        let input = bytes * rows * hidden;
        if self.recompute {
            let in_last = last - input + mlp(predicting);
            let before = (tape + mlp(rows)).saturating_sub(2 * input);
            (layers * input, in_last.max(before))
        } else {
            let in_last = mlp(predicting);
            let before = mlp(rows).saturating_sub(last);
            let tapes = layers.saturating_sub(1) * tape + last;
            let merged = if self.own_loops { bytes * self.merged(base) } else { 0 };
            (tapes + merged, in_last.max(before))
        }
    }

    /// Weights of the projections kept merged with the members' adapters: those that are small compared with their
    /// inputs and outputs.
    fn merged(&self, base: &BaseShape) -> u128 {
        let (query, key) = base.attention_widths();
        let [hidden, intermediate, layers, members] =
            [base.hidden_size, base.intermediate_size, base.num_hidden_layers, self.together.max(1)].map(u128::from);
        let kept = |inputs: u128, outputs: u128, rows: u64| {
            let rows = u128::from(rows) / members;
            let small = rows >= u128::from(ROWS_TO_MERGE) && 2 * inputs * outputs <= rows * (inputs + outputs);
            if small { members * inputs * outputs } else { 0 }
        };
        let joint = kept(hidden, query + 2 * key, self.rows);
        let after_attention =
            |rows| kept(query, hidden, rows) + kept(hidden, 2 * intermediate, rows) + kept(intermediate, hidden, rows);
        let predicting = self.learned.min(self.rows);
        layers * joint + layers.saturating_sub(1) * after_attention(self.rows) + after_attention(predicting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::LARGEST_SIZE;
    use crate::footprint::fixtures::{attention_only, qwen_7b};

    #[test]
    fn eight_members_of_a_7b_base_fit_one_large_gpu_only_with_recomputation() {
        let shape = |recompute| UpdateShape {
            members: 8,
            rows: 16_384,
            together: 8,
            references: 0,
            places: 16_384,
            longest: 2048,
            learned: 8192,
            logits: 1 << 24,
            bytes: 2,
            recompute,
            own_loops: false,
        };
        let gib = |recompute| shape(recompute).peak(&qwen_7b(), &attention_only()).total() >> 30;
        assert!(gib(true) < 40, "{}", gib(true));
        assert!(gib(false) > 80, "{}", gib(false));
    }

    #[test]
    fn logits_take_the_room_that_the_layers_leave_and_no_more() {
        let (base, adapter) = (qwen_7b(), attention_only());
        for (recompute, learned) in [(true, 16_384), (true, 4096), (false, 8192)] {
            let shape =
                |logits| UpdateShape { logits, learned, ..UpdateShape::largest(8, 16_384, Dtype::Bf16, recompute) };
            let total = |logits| shape(logits).peak(&base, &adapter).total();
            let most = shape(LOGITS).logits_below_the_peak(&base, &adapter);
            let rows = most / base.vocab_size;
            assert!(rows >= 512, "{rows} rows");
            assert_eq!(total(most), total(LOGITS));
            let one_row_more = (rows + 1) * base.vocab_size;
            assert!(rows >= learned || total(one_row_more) > total(LOGITS), "{rows} rows");
        }
    }

    #[test]
    fn logits_never_become_fewer() {
        let small = UpdateShape::largest(1, 16, Dtype::Bf16, true);
        assert_eq!(small.logits_below_the_peak(&BaseShape::SEEDLING, &attention_only()), LOGITS);
    }

    #[test]
    fn answers_that_share_a_prompt_have_more_places_than_rows() {
        let alone = UpdateShape::largest(4, 8192, Dtype::Fp32, false);
        assert_eq!(alone.clone().with_shared_prompts(1, 368), alone);
        let shared = alone.clone().with_shared_prompts(8, 368);
        // 8 · 369 places of 376 rows.
        assert_eq!(shared.places, 8192 * 8 * 369 / 376);
        let peak = |shape: UpdateShape| shape.peak(&BaseShape::SEEDLING, &attention_only()).total();
        assert!(peak(shared) > 2 * peak(alone));
    }

    #[test]
    fn grouped_heads_take_more_in_fp32_alone() {
        let per_number = |base: &BaseShape, dtype: Dtype| {
            let peak = UpdateShape::largest(8, 16_384, dtype, true).peak(base, &attention_only());
            (peak.activations + peak.transient) / dtype.bytes()
        };
        let extra = |base: &BaseShape| per_number(base, Dtype::Fp32) - per_number(base, Dtype::Bf16);
        // Keys and values of one layer, as wide as the queries.
        assert_eq!(extra(&qwen_7b()), 16_384 * 2 * 3584);
        let ungrouped = BaseShape { num_key_value_heads: 28, ..qwen_7b() };
        assert_eq!(extra(&ungrouped), 0);
    }

    #[test]
    fn any_lengths_take_more_and_shared_prompts_most() {
        let alone = UpdateShape::largest(8, 16_384, Dtype::Bf16, true);
        let places = |shared| alone.clone().with_any_lengths(shared).places;
        assert_eq!((places(false), places(true)), (2 * 16_384, 4 * 16_384));
        let peak = |shape: &UpdateShape| shape.peak(&qwen_7b(), &attention_only()).total();
        let more = peak(&alone.clone().with_any_lengths(true)) - peak(&alone);
        // One layer's queries, keys, values and outputs, three times more often, and all of them gathered.
        assert_eq!(more, 2 * 16_384 * (3 * (2 * 3584 + 512) + 4 * (3584 + 2 * 512)));
        let larger = UpdateShape { places: 1 << 20, ..alone };
        assert_eq!(larger.clone().with_any_lengths(true), larger);
    }

    #[test]
    fn the_footprint_of_impossible_sizes_saturates() {
        let size = LARGEST_SIZE;
        let base = BaseShape {
            vocab_size: size,
            hidden_size: size,
            intermediate_size: size,
            num_hidden_layers: size,
            num_attention_heads: size,
            num_key_value_heads: size,
            head_dim: size,
            tie_word_embeddings: false,
        };
        let adapter = LoraShape { r: 512, ..attention_only() };
        for recompute in [true, false] {
            let peak =
                UpdateShape::largest(u64::from(u32::MAX), u32::MAX, Dtype::Fp32, recompute).peak(&base, &adapter);
            assert_eq!(peak.total(), u64::MAX);
        }
        assert_eq!(base.parameters(), u64::MAX);
    }
}
