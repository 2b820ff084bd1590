//! Text embeddings: the mean of a text's hidden states under the base without adapters, normalised to length 1, and measures over them.

use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::passes::{Padded, check_ids, in_passes};

/// Rows of similarities computed at a time, so that a large table is never in memory.
const ROWS: i64 = 1024;

/// Embeddings of texts as unit vectors, `[texts, width]` in fp64 on the CPU.
#[derive(Debug)]
pub struct Embeddings(Tensor);

impl Embeddings {
    /// Unit vectors of length `width`, one for each text.
    pub fn new<'a>(rows: impl IntoIterator<Item = &'a Vec<f32>>, width: usize) -> Result<Self> {
        let values: Vec<f32> = rows.into_iter().flatten().copied().collect();
        let table = Tensor::f_from_slice(&values)?.f_view([-1, width.max(1) as i64])?;
        Ok(Self(table.f_to_kind(Kind::Double)?))
    }

    fn texts(&self) -> i64 {
        self.0.size()[0]
    }

    /// The mean of the vectors, `[width]`.
    pub fn mean(&self) -> Result<Tensor> {
        Ok(self.0.f_mean_dim([0].as_slice(), false, Kind::Double)?)
    }

    /// The vectors minus `mean`, scaled to length 1 again; a vector that equals the mean is zero.
    pub fn centred(&self, mean: &Tensor) -> Result<Self> {
        let moved = self.0.f_sub(mean)?;
        let lengths = moved.f_norm_scalaropt_dim(2.0, [1], true)?;
        Ok(Self(moved.f_div(&lengths.f_clamp_min(1e-12)?)?))
    }

    /// The Vendi score (arXiv 2210.02410, Eq. 3) with the cosine kernel: exp of the entropy of the kernel's normalised
    /// eigenvalues, between 1 for equal texts and their number for orthogonal ones. The smaller of the two products of
    /// the vectors with themselves is diagonalised, since both have the same eigenvalues except zeros. 0 without texts.
    pub fn vendi(&self) -> Result<f64> {
        if self.texts() == 0 {
            return Ok(0.0);
        }
        let (rows, columns) = (&self.0, self.0.f_transpose(0, 1)?);
        let product = match self.texts() < self.0.size()[1] {
            true => rows.f_matmul(&columns)?,
            false => columns.f_matmul(rows)?,
        };
        let eigenvalues: Vec<f64> = Vec::try_from(product.f_linalg_eigvalsh("L")?)?;
        let total: f64 = eigenvalues.iter().filter(|value| **value > 0.0).sum();
        if total <= 0.0 {
            // All vectors are zero: centred texts that are all equal.
            return Ok(1.0);
        }
        let shares = eigenvalues.iter().map(|value| value / total).filter(|share| *share > 0.0);
        Ok((-shares.map(|share| share * share.ln()).sum::<f64>()).exp())
    }

    /// For each vector its largest cosine similarity to any of `others`; none without others.
    pub fn nearest(&self, others: &Self) -> Result<Option<Vec<f32>>> {
        if others.texts() == 0 {
            return Ok(None);
        }
        let columns = others.0.f_transpose(0, 1)?;
        let mut nearest: Vec<f32> = Vec::with_capacity(self.texts() as usize);
        for part in self.0.f_split(ROWS, 0)? {
            let largest = part.f_matmul(&columns)?.f_amax([1], false)?;
            let largest = largest.f_to_kind(Kind::Float)?.f_to_device(Device::Cpu)?;
            nearest.extend(Vec::<f32>::try_from(largest)?);
        }
        Ok(Some(nearest))
    }
}

impl Model {
    /// Returns one unit vector of `hidden_size` numbers per sequence of ids: the normalised mean of its hidden states
    /// after the final norm. Cosine similarity of two vectors is their dot product. The passes are halved when memory runs
    /// out. Errors name a text by its index.
    pub fn embed_texts(&self, sequences: &[Vec<i64>], tokens_per_pass: usize) -> Result<Vec<Vec<f32>>> {
        let _no_grad = tch::no_grad_guard();
        for (index, ids) in sequences.iter().enumerate() {
            check_ids(ids, &self.config).map_err(|reason| refusal(index, reason))?;
        }
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        in_passes(
            (&lengths, tokens_per_pass),
            self.placement.device,
            &|index| format!("text {index}"),
            &mut |_| (),
            |range| self.embed_pass(range.start, &sequences[range]),
        )
    }

    /// Embeds texts in one pass; `first` is the index of the first of them.
    fn embed_pass(&self, first: usize, sequences: &[Vec<i64>]) -> Result<Vec<Vec<f32>>> {
        let padded = Padded::new(sequences, self.placement.device)?;
        let hidden = self.hidden_states(&padded.ids, None)?.f_to_kind(Kind::Float)?;
        let positions = Tensor::f_arange(padded.length, (Kind::Int64, self.placement.device))?.f_unsqueeze(0)?;
        let real = positions.f_lt_tensor(&padded.lengths.f_unsqueeze(1)?)?.f_to_kind(Kind::Float)?.f_unsqueeze(2)?;
        // Normalisation removes the scale, so the sum is enough.
        let sums = hidden.f_mul(&real)?.f_sum_dim_intlist([1].as_slice(), false, Kind::Float)?;
        let norms = sums.f_norm_scalaropt_dim(2.0, [1], true)?;
        // Products of finite weights may overflow to NaN, or to zero in a norm.
        let lengths: Vec<f32> = Vec::try_from(&norms.f_flatten(0, -1)?.f_to_device(Device::Cpu)?)?;
        if let Some(at) = lengths.iter().position(|length| !length.is_finite() || *length == 0.0) {
            let reason =
                format!("the sum of its hidden states has length {}; it must be finite and not 0", lengths[at]);
            return Err(refusal(first + at, reason));
        }
        Ok(Vec::try_from(&sums.f_div(&norms)?.f_to_device(Device::Cpu)?)?)
    }
}

fn refusal(index: usize, reason: String) -> EngineError {
    EngineError::request(format!("text {index}"), reason)
}
