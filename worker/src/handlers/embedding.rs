//! The similarity of embedded texts.

use lyceum_store::artifact::Vectors;

/// For each row the largest cosine similarity to any counted row of `earlier`, and the similarities to the preceding
/// rows.
pub(super) type Similarities = (Vec<Option<f32>>, Vec<Vec<f32>>);

pub(super) fn compare(vectors: &Vectors, earlier: &[(Vectors, Vec<u32>)]) -> Result<Similarities, String> {
    let others = counted(vectors, earlier)?;
    let product = |a: &Vec<f32>, b: &Vec<f32>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let nearest = |row: &Vec<f32>| others.iter().map(|other| product(row, other)).reduce(f32::max);
    let among =
        |(at, row): (usize, &Vec<f32>)| vectors.rows()[..at].iter().map(|before| product(row, before)).collect();
    Ok((
        vectors.rows().iter().map(nearest).collect(),
        vectors.rows().iter().enumerate().map(among).collect(),
    ))
}

/// The counted rows of `earlier`, in order.
pub(super) fn counted<'e>(vectors: &Vectors, earlier: &'e [(Vectors, Vec<u32>)]) -> Result<Vec<&'e Vec<f32>>, String> {
    let mut others = Vec::new();
    for (at, (table, rows)) in earlier.iter().enumerate() {
        if table.width() != vectors.width() {
            return Err(format!(
                "the embeddings {at} to compare with have dimension {}; this model's have {}",
                table.width(),
                vectors.width()
            ));
        }
        for row in rows {
            let count = table.rows().len();
            let row = table.rows().get(*row as usize);
            others.push(row.ok_or_else(|| format!("the embeddings {at} to compare with have {count} rows"))?);
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

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
