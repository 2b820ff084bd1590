//! Measures over the embeddings of texts.

use tch::{Device, Kind, Tensor};

use crate::error::Result;

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
        let shares = eigenvalues
            .iter()
            .map(|value| value / total)
            .filter(|share| *share > 0.0);
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
