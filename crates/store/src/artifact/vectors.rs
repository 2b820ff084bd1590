//! Embeddings of texts as artifacts.

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

/// Unit vectors, one row per text. Stored as a safetensors file with `vectors` `[texts, hidden_size]` F32.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    rows: Vec<Vec<f32>>,
    width: usize,
}

impl Vectors {
    /// One row per text, each with `width` values.
    pub fn new(rows: Vec<Vec<f32>>, width: usize) -> Self {
        Self { rows, width }
    }

    /// The vectors, by text.
    pub fn rows(&self) -> &[Vec<f32>] {
        &self.rows
    }

    /// Values of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The file.
    ///
    /// # Errors
    /// Rows of different widths.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let bytes: Vec<u8> = self.rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        let view = TensorView::new(Dtype::F32, vec![self.rows.len(), self.width], &bytes);
        let view = view.map_err(|error| error.to_string())?;
        safetensors::serialize([("vectors", view)], None).map_err(|error| error.to_string())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The bytes are not such a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let fault = |reason: &dyn std::fmt::Display| format!("invalid embeddings: {reason}");
        let file = SafeTensors::deserialize(bytes).map_err(|error| fault(&error))?;
        let tensor = file.tensor("vectors").map_err(|error| fault(&error))?;
        let (Dtype::F32, [_, width]) = (tensor.dtype(), tensor.shape()) else {
            return Err(fault(&"`vectors` is not a table of F32"));
        };
        let values: Vec<f32> = tensor.data().as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
        Ok(Self { rows: values.chunks(*width.max(&1)).map(<[f32]>::to_vec).collect(), width: *width })
    }
}
