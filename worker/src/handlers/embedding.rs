//! Embeddings of texts as artifacts, and their similarity.

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

/// Unit vectors, one row per text. Stored as a safetensors file with `vectors` `[texts, hidden_size]` F32.
pub(super) struct Vectors {
    rows: Vec<Vec<f32>>,
    width: usize,
}

impl Vectors {
    pub(super) fn new(rows: Vec<Vec<f32>>, width: usize) -> Self {
        Self { rows, width }
    }

    pub(super) fn rows(&self) -> &[Vec<f32>] {
        &self.rows
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let bytes: Vec<u8> = self
            .rows
            .iter()
            .flatten()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let view = TensorView::new(Dtype::F32, vec![self.rows.len(), self.width], &bytes);
        let view = view.map_err(|error| error.to_string())?;
        safetensors::serialize([("vectors", view)], None).map_err(|error| error.to_string())
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let fault = |reason: &dyn std::fmt::Display| format!("invalid embeddings: {reason}");
        let file = SafeTensors::deserialize(bytes).map_err(|error| fault(&error))?;
        let tensor = file.tensor("vectors").map_err(|error| fault(&error))?;
        let (Dtype::F32, [_, width]) = (tensor.dtype(), tensor.shape()) else {
            return Err(fault(&"`vectors` is not a table of F32"));
        };
        let values: Vec<f32> = tensor
            .data()
            .as_chunks()
            .0
            .iter()
            .map(|word| f32::from_le_bytes(*word))
            .collect();
        Ok(Self {
            rows: values.chunks(*width.max(&1)).map(<[f32]>::to_vec).collect(),
            width: *width,
        })
    }
}

/// For each row the largest cosine similarity to any counted row of `earlier`, and the similarities to the preceding
/// rows.
pub(super) type Similarities = (Vec<Option<f32>>, Vec<Vec<f32>>);

pub(super) fn compare(vectors: &Vectors, earlier: &[(Vectors, Vec<u32>)]) -> Result<Similarities, String> {
    let others = counted(vectors, earlier)?;
    let product = |a: &Vec<f32>, b: &Vec<f32>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let nearest = |row: &Vec<f32>| others.iter().map(|other| product(row, other)).reduce(f32::max);
    let among = |(at, row): (usize, &Vec<f32>)| vectors.rows[..at].iter().map(|before| product(row, before)).collect();
    Ok((
        vectors.rows.iter().map(nearest).collect(),
        vectors.rows.iter().enumerate().map(among).collect(),
    ))
}

/// The counted rows of `earlier`, in order.
pub(super) fn counted<'e>(vectors: &Vectors, earlier: &'e [(Vectors, Vec<u32>)]) -> Result<Vec<&'e Vec<f32>>, String> {
    let mut others = Vec::new();
    for (at, (table, rows)) in earlier.iter().enumerate() {
        if table.width != vectors.width {
            return Err(format!(
                "the embeddings {at} to compare with have dimension {}; this model's have {}",
                table.width, vectors.width
            ));
        }
        for row in rows {
            let count = table.rows.len();
            let row = table.rows.get(*row as usize);
            others.push(row.ok_or_else(|| format!("the embeddings {at} to compare with have {count} rows"))?);
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::{Vectors, compare};

    #[test]
    fn rows_that_count_are_compared_and_those_before_each() {
        let table = |rows: &[[f32; 2]]| Vectors::new(rows.iter().map(|row| row.to_vec()).collect(), 2);
        let bytes = table(&[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).to_bytes().unwrap();
        let earlier = Vectors::from_bytes(&bytes).unwrap();
        let (nearest, among) = compare(&table(&[[0.6, 0.8], [0.0, -1.0]]), &[(earlier, vec![0, 2])]).unwrap();
        assert_eq!(nearest, [Some(0.6), Some(0.0)]);
        assert_eq!(among, [vec![], vec![-0.8]]);
        assert_eq!(compare(&table(&[[1.0, 0.0]]), &[]).unwrap().0, [None]);
        let other = Vectors::from_bytes(&bytes).unwrap();
        assert!(
            compare(&table(&[]), &[(other, vec![3])])
                .unwrap_err()
                .contains("3 rows")
        );
        assert!(Vectors::from_bytes(b"other").is_err());
    }
}
