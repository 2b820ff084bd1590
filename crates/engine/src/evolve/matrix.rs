//! Small dense matrices in fp64: everything of size r × r.

/// A matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// The matrix with `value(row, column)` at each place.
    pub(super) fn new(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let values = (0..rows * columns).map(|index| value(index / columns, index % columns));
        Self {
            rows,
            columns,
            values: values.collect(),
        }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.columns + column] = value;
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(super) fn transposed(&self) -> Self {
        Self::new(self.columns, self.rows, |row, column| self.at(column, row))
    }

    /// `self · other`.
    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = Self::new(self.rows, other.columns, |_, _| 0.0);
        for row in 0..self.rows {
            let sums = &mut product.values[row * other.columns..(row + 1) * other.columns];
            for (inner, &factor) in self.row(row).iter().enumerate() {
                for (sum, value) in sums.iter_mut().zip(other.row(inner)) {
                    *sum += factor * value;
                }
            }
        }
        product
    }
}
