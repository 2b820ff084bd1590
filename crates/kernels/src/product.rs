//! Products of matrices, computed by the `gemm` crate.

use gemm::Parallelism;

use crate::share::share;

/// Number of multiplications from which using several threads is faster.
const WORTH_SHARING: usize = 1 << 20;

/// A matrix of numbers at regular strides in memory: whole, part of a larger one, or transposed.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    numbers: &'a [f32],
    shape: Shape,
}

/// A mutable matrix.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    numbers: &'a mut [f32],
    shape: Shape,
}

/// Rows and columns, and their strides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Distance from the first number of a row to that of the next row.
    pub row_step: usize,
    /// Distance from a number to the next in its row.
    pub column_step: usize,
}

impl Shape {
    /// Length from the first to the last number, inclusive.
    pub fn span(&self) -> usize {
        match (self.rows, self.columns) {
            (0, _) | (_, 0) => 0,
            (rows, columns) => (rows - 1) * self.row_step + (columns - 1) * self.column_step + 1,
        }
    }

    /// Whether all of its numbers are at different offsets.
    fn is_apart(&self) -> bool {
        let Self { rows, columns, row_step, column_step } = *self;
        let within = |inner: usize, count: usize, outer: usize, others: usize| {
            (count <= 1 || inner > 0) && (others <= 1 || outer > inner * count.saturating_sub(1))
        };
        within(column_step, columns, row_step, rows) || within(row_step, rows, column_step, columns)
    }
}

impl<'a> Matrix<'a> {
    /// The matrix of this shape that starts at the first of `numbers`.
    ///
    /// # Panics
    /// If it extends beyond `numbers`.
    pub fn new(numbers: &'a [f32], shape: Shape) -> Self {
        assert!(shape.span() <= numbers.len(), "{shape:?} is more than {} numbers", numbers.len());
        Self { numbers, shape }
    }
}

impl<'a> MatrixMut<'a> {
    /// The matrix of this shape that starts at the first of `numbers`.
    ///
    /// # Panics
    /// If it extends beyond `numbers`, or two of its entries share an offset.
    pub fn new(numbers: &'a mut [f32], shape: Shape) -> Self {
        assert!(shape.span() <= numbers.len(), "{shape:?} is more than {} numbers", numbers.len());
        assert!(shape.is_apart(), "{shape:?} has numbers in two places");
        Self { numbers, shape }
    }
}

/// Matrices of one shape at a regular stride.
#[derive(Debug, Clone, Copy)]
pub struct Stack<'a> {
    numbers: &'a [f32],
    count: usize,
    step: usize,
    shape: Shape,
}

/// A mutable stack.
#[derive(Debug)]
pub struct StackMut<'a> {
    numbers: &'a mut [f32],
    count: usize,
    step: usize,
    shape: Shape,
}

impl<'a> Stack<'a> {
    /// `count` matrices of this shape; the first starts at the first of `numbers`, each other one `step` later.
    pub fn new(numbers: &'a [f32], count: usize, step: usize, shape: Shape) -> Self {
        Self { numbers, count, step, shape }
    }

    fn matrices(self) -> impl Iterator<Item = Matrix<'a>> + Send {
        (0..self.count).map(move |index| Matrix::new(&self.numbers[index * self.step..], self.shape))
    }
}

impl<'a> StackMut<'a> {
    /// `count` matrices of this shape; the first starts at the first of `numbers`, each other one `step` later.
    ///
    /// # Panics
    /// If matrices overlap.
    pub fn new(numbers: &'a mut [f32], count: usize, step: usize, shape: Shape) -> Self {
        assert!(count <= 1 || shape.span() <= step, "matrices of {shape:?} begin {step} numbers apart");
        Self { numbers, count, step, shape }
    }

    fn matrices(self) -> impl Iterator<Item = MatrixMut<'a>> + Send {
        let step = if self.count > 1 { self.step } else { self.numbers.len() };
        let matrices = self.numbers.chunks_mut(step.max(1)).take(self.count);
        matrices.map(move |numbers| MatrixMut::new(numbers, self.shape))
    }
}

/// How a product treats the previous contents of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// The product replaces them.
    Replaced,
    /// The product is added to them.
    Kept,
}

/// Writes `left · right` to `out`, on `threads` threads.
///
/// # Panics
/// If the shapes do not match.
pub fn product(threads: usize, left: Matrix<'_>, right: Matrix<'_>, before: Before, out: MatrixMut<'_>) {
    let inner = left.shape.columns;
    assert!(
        left.shape.rows == out.shape.rows && right.shape.columns == out.shape.columns && right.shape.rows == inner,
        "{:?} times {:?} is not {:?}",
        left.shape,
        right.shape,
        out.shape
    );
    let parallelism = match threads {
        0 | 1 => Parallelism::None,
        threads => Parallelism::Rayon(threads),
    };
    let step = |step: usize| step as isize;
    // SAFETY: each matrix lies within its slice, `out` is borrowed mutably and its entries do not overlap, and the
    // sizes match.
    unsafe {
        gemm::gemm(
            out.shape.rows,
            out.shape.columns,
            inner,
            out.numbers.as_mut_ptr(),
            step(out.shape.column_step),
            step(out.shape.row_step),
            before == Before::Kept,
            left.numbers.as_ptr(),
            step(left.shape.column_step),
            step(left.shape.row_step),
            right.numbers.as_ptr(),
            step(right.shape.column_step),
            step(right.shape.row_step),
            1.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Maximum number of numbers that the products of two stacks on `threads` threads copy at a time: blocks of both
/// operands, no deeper than `gemm` makes them, and no more than fit into a cache.
pub fn room(threads: usize, left: Stack<'_>, right: Stack<'_>) -> usize {
    const BLOCK: usize = 128;
    const DEPTH: usize = 1024;
    const CACHE: usize = 1 << 24;
    let (rows, columns) = (left.shape.rows, right.shape.columns);
    let depth = left.shape.columns.min(DEPTH);
    let each = (depth * (rows.next_multiple_of(BLOCK) + columns.next_multiple_of(BLOCK))).min(CACHE);
    each * threads.clamp(1, left.count.max(1))
}

/// Writes the products of corresponding matrices of `left` and `right` to `out`, on `threads` threads.
///
/// # Panics
/// If shapes do not match, or one stack has fewer matrices than another.
pub fn products(threads: usize, left: Stack<'_>, right: Stack<'_>, before: Before, out: StackMut<'_>) {
    let count = out.count;
    assert!(left.count == count && right.count == count, "stacks of {}, {} and {count}", left.count, right.count);
    let work = count * left.shape.rows * left.shape.columns * right.shape.columns;
    let threads = if work < WORTH_SHARING { 1 } else { threads };
    let threads_each = if count == 1 { threads } else { 1 };
    let jobs = left.matrices().zip(right.matrices()).zip(out.matrices());
    share(threads, jobs, |((left, right), out)| product(threads_each, left, right, before, out));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Before, Matrix, MatrixMut, Shape, product};

    /// Numbers of which no two nearby ones are equal.
    fn numbers(count: usize, salt: u32) -> Vec<f32> {
        let number = |at: u32| (at.wrapping_add(salt).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0;
        (0..count as u32).map(number).collect()
    }

    /// With a margin after each row or, if transposed, after each column.
    fn shape(rows: usize, columns: usize, margin: usize, transposed: bool) -> Shape {
        if transposed {
            Shape { rows, columns, row_step: 1, column_step: rows + margin }
        } else {
            Shape { rows, columns, row_step: columns + margin, column_step: 1 }
        }
    }

    fn at(numbers: &[f32], shape: Shape, row: usize, column: usize) -> f64 {
        f64::from(numbers[row * shape.row_step + column * shape.column_step])
    }

    proptest! {
        #[test]
        fn a_product_is_the_sum_over_the_inner_dimension_and_touches_nothing_else(
            (rows, inner, columns) in (1usize..70, 0usize..600, 1usize..70), margins in (0usize..4, 0usize..4, 0usize..4),
            transposed: (bool, bool, bool), kept: bool
        ) {
            let left_shape = shape(rows, inner, margins.0, transposed.0);
            let right_shape = shape(inner, columns, margins.1, transposed.1);
            let out_shape = shape(rows, columns, margins.2, transposed.2);
            let left = numbers(left_shape.span(), 1);
            let right = numbers(right_shape.span(), 2);
            let start = numbers(out_shape.span(), 3);
            let before = if kept { Before::Kept } else { Before::Replaced };
            let run = |threads| {
                let mut out = start.clone();
                let (left, right) = (Matrix::new(&left, left_shape), Matrix::new(&right, right_shape));
                product(threads, left, right, before, MatrixMut::new(&mut out, out_shape));
                out
            };
            let out = run(1);
            let mut untouched = out.clone();
            for row in 0..rows {
                for column in 0..columns {
                    let term = |k| at(&left, left_shape, row, k) * at(&right, right_shape, k, column);
                    let wanted = (0..inner).map(term).sum::<f64>() + if kept { at(&start, out_shape, row, column) } else { 0.0 };
                    let size: f64 = (0..inner).map(|k| term(k).abs()).sum();
                    let found = at(&out, out_shape, row, column);
                    prop_assert!((found - wanted).abs() < 1e-5 * (1.0 + size), "{found} for {wanted}");
                    let place = row * out_shape.row_step + column * out_shape.column_step;
                    untouched[place] = start[place];
                }
            }
            prop_assert_eq!(untouched, start.clone());
            prop_assert_eq!(run(3), out);
        }
    }

    #[test]
    #[should_panic(expected = "is more than 5 numbers")]
    fn a_matrix_does_not_reach_past_its_numbers() {
        Matrix::new(&[0.0; 5], shape(2, 3, 0, false));
    }

    #[test]
    #[should_panic(expected = "two places")]
    fn what_is_written_has_each_number_once() {
        let columns_over_rows = Shape { rows: 2, columns: 3, row_step: 2, column_step: 1 };
        MatrixMut::new(&mut [0.0; 9], columns_over_rows);
    }
}
