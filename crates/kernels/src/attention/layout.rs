//! Converts between rows of tokens and matrices by sequence and head.

use multiversion::multiversion;

use crate::share::share;

/// Sizes of an attention over sequences padded to one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Padded sequences.
    pub sequences: usize,
    /// Tokens per sequence.
    pub length: usize,
    /// Query heads, a multiple of `kv_heads`; heads that share a key head are consecutive.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
}

impl Shape {
    /// Width of a row of the joint projection: its queries, keys and values.
    pub fn joint(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Width of a row of queries, and of attended values.
    pub fn query(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Size of one sequence's matrices `[heads, length, head_dim]`.
    fn matrices(&self, heads: usize) -> usize {
        heads * self.length * self.head_dim
    }

    /// The row at a position of a sequence.
    fn row(&self, gather: Option<&[i64]>, sequence: usize, place: usize) -> usize {
        let at = sequence * self.length + place;
        gather.map_or(at, |gather| gather[at] as usize)
    }

    /// Offset of the vector of a row's position in `[sequences, heads, length, head_dim]`.
    fn place(&self, scatter: Option<&[i64]>, row: usize) -> usize {
        let at = scatter.map_or(row, |scatter| scatter[row] as usize);
        at / self.length * self.matrices(self.heads) + at % self.length * self.head_dim
    }
}

/// Tables of the rotary position embedding (Su et al. 2021) for positions from 0, `[length or more, head_dim]`; sines
/// are negative in the first half.
#[derive(Debug, Clone, Copy)]
pub struct Rotation<'a> {
    /// Cosines.
    pub cos: &'a [f32],
    pub sin: &'a [f32],
}

impl<'a> Rotation<'a> {
    fn at(&self, place: usize, head_dim: usize) -> (&'a [f32], &'a [f32]) {
        let start = place * head_dim;
        (&self.cos[start..][..head_dim], &self.sin[start..][..head_dim])
    }
}

/// Rotated queries and keys, and values: a matrix `[length, head_dim]` for each sequence and head.
#[derive(Debug)]
pub struct Heads<'a> {
    /// `[sequences, heads, length, head_dim]`
    pub query: &'a mut [f32],
    /// `[sequences, kv_heads, length, head_dim]`
    pub key: &'a mut [f32],
    /// `[sequences, kv_heads, length, head_dim]`
    pub value: &'a mut [f32],
}

/// Gradients with respect to [`Heads`].
#[derive(Debug, Clone, Copy)]
pub struct Gradients<'a> {
    /// `[sequences, heads, length, head_dim]`
    pub query: &'a [f32],
    /// `[sequences, kv_heads, length, head_dim]`
    pub key: &'a [f32],
    /// `[sequences, kv_heads, length, head_dim]`
    pub value: &'a [f32],
}

/// Splits rows of the joint projection `[rows, joint]` into heads. `gather` gives the row at each position of the
/// padded sequences; without it the rows are in order.
///
/// # Panics
/// If a slice is shorter than `shape` requires.
pub fn split(
    threads: usize,
    shape: Shape,
    joint: &[f32],
    gather: Option<&[i64]>,
    rotation: Rotation<'_>,
    heads: Heads<'_>,
) {
    let Shape { length, head_dim, .. } = shape;
    let (query, key) = (shape.matrices(shape.heads), shape.matrices(shape.kv_heads));
    let keys = heads.key.chunks_exact_mut(key).zip(heads.value.chunks_exact_mut(key));
    let jobs = heads.query.chunks_exact_mut(query).zip(keys).enumerate();
    share(threads, jobs, |(sequence, (query, (key, value)))| {
        for place in 0..length {
            let row = &joint[shape.row(gather, sequence, place) * shape.joint()..][..shape.joint()];
            let (queries, rest) = row.split_at(shape.query());
            let (keys, values) = rest.split_at(shape.kv_heads * head_dim);
            let tables = rotation.at(place, head_dim);
            let (first, matrix) = (place * head_dim, length * head_dim);
            rotate(queries, head_dim, tables, &mut query[first..], matrix);
            rotate(keys, head_dim, tables, &mut key[first..], matrix);
            let outs = value[first..].chunks_mut(matrix);
            for (out, from) in outs.zip(values.chunks_exact(head_dim)) {
                out[..head_dim].copy_from_slice(from);
            }
        }
    });
}

/// The gradient with respect to rows of the joint projection, given that of the heads. With `gather`, which may use a
/// row at several positions, it is added to `joint`; without, it replaces the contents.
///
/// # Panics
/// If a slice is shorter than `shape` requires.
pub fn split_backward(
    shape: Shape,
    gradients: Gradients<'_>,
    gather: Option<&[i64]>,
    rotation: Rotation<'_>,
    joint: &mut [f32],
) {
    let Shape { length, head_dim, .. } = shape;
    for sequence in 0..shape.sequences {
        for place in 0..length {
            let row = &mut joint[shape.row(gather, sequence, place) * shape.joint()..][..shape.joint()];
            if gather.is_none() {
                row.fill(0.0);
            }
            let (queries, rest) = row.split_at_mut(shape.query());
            let (keys, values) = rest.split_at_mut(shape.kv_heads * head_dim);
            let tables = rotation.at(place, head_dim);
            let (at, matrix) = (place * head_dim, length * head_dim);
            let first = |heads: usize| sequence * heads * matrix + at;
            rotate_back(&gradients.query[first(shape.heads)..], matrix, tables, head_dim, queries);
            rotate_back(&gradients.key[first(shape.kv_heads)..], matrix, tables, head_dim, keys);
            let by_values = gradients.value[first(shape.kv_heads)..].chunks(matrix);
            for (out, from) in values.chunks_exact_mut(head_dim).zip(by_values) {
                out.iter_mut().zip(from).for_each(|(out, from)| *out += from);
            }
        }
    }
}

/// Joins attended values `[sequences, heads, length, head_dim]` into rows `[rows, heads · head_dim]`. `scatter` gives
/// each row's position in the padded sequences; without it the rows are in order.
///
/// # Panics
/// If a slice is shorter than `shape` and the number of rows require.
pub fn join(shape: Shape, attended: &[f32], scatter: Option<&[i64]>, rows: &mut [f32]) {
    let Shape { length, head_dim, .. } = shape;
    for (row, out) in rows.chunks_exact_mut(shape.query()).enumerate() {
        let start = shape.place(scatter, row);
        for (head, out) in out.chunks_exact_mut(head_dim).enumerate() {
            out.copy_from_slice(&attended[start + head * length * head_dim..][..head_dim]);
        }
    }
}

/// The gradient with respect to the attended values, given that of the rows. With `scatter`, which may join several
/// rows at a position, it is added to `attended`; without, it replaces the contents.
///
/// # Panics
/// If a slice is shorter than `shape` and the number of rows require.
pub fn join_backward(shape: Shape, rows: &[f32], scatter: Option<&[i64]>, attended: &mut [f32]) {
    let Shape { length, head_dim, .. } = shape;
    for (row, from) in rows.chunks_exact(shape.query()).enumerate() {
        let start = shape.place(scatter, row);
        for (head, from) in from.chunks_exact(head_dim).enumerate() {
            let out = &mut attended[start + head * length * head_dim..][..head_dim];
            match scatter {
                Some(_) => out.iter_mut().zip(from).for_each(|(out, from)| *out += from),
                None => out.copy_from_slice(from),
            }
        }
    }
}

/// `x · cos + swapped(x) · sin` of each head of `row`, with the halves swapped; the heads of `out` are `matrix` apart.
#[multiversion(targets = "simd")]
fn rotate(row: &[f32], head_dim: usize, (cos, sin): (&[f32], &[f32]), out: &mut [f32], matrix: usize) {
    let half = head_dim / 2;
    let ((cos_low, cos_high), (sin_low, sin_high)) = (cos.split_at(half), sin.split_at(half));
    for (x, out) in row.chunks_exact(head_dim).zip(out.chunks_mut(matrix)) {
        let (out_low, out_high) = out[..head_dim].split_at_mut(half);
        let (low, high) = x.split_at(half);
        for at in 0..half {
            out_low[at] = low[at] * cos_low[at] + high[at] * sin_low[at];
            out_high[at] = high[at] * cos_high[at] + low[at] * sin_high[at];
        }
    }
}

/// Adds to each head of `row` its gradient, given those of the rotated heads, which are `matrix` apart.
#[multiversion(targets = "simd")]
fn rotate_back(gradient: &[f32], matrix: usize, (cos, sin): (&[f32], &[f32]), head_dim: usize, row: &mut [f32]) {
    let half = head_dim / 2;
    let ((cos_low, cos_high), (sin_low, sin_high)) = (cos.split_at(half), sin.split_at(half));
    for (gradient, out) in gradient.chunks(matrix).zip(row.chunks_exact_mut(head_dim)) {
        let (out_low, out_high) = out.split_at_mut(half);
        let (low, high) = gradient[..head_dim].split_at(half);
        for at in 0..half {
            out_low[at] += low[at] * cos_low[at] + high[at] * sin_high[at];
            out_high[at] += high[at] * cos_high[at] + low[at] * sin_low[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Gradients, Heads, Rotation, Shape, join, join_backward, split, split_backward};

    fn shapes() -> impl Strategy<Value = Shape> {
        (1usize..5, 1usize..7, 1usize..4, 1usize..3, 1usize..5).prop_map(
            |(sequences, length, group, kv_heads, half)| Shape {
                sequences,
                length,
                heads: group * kv_heads,
                kv_heads,
                head_dim: 2 * half,
            },
        )
    }

    /// Numbers of which no two nearby ones are equal.
    fn numbers(count: usize, salt: u32) -> Vec<f32> {
        let number = |at: u32| (at.wrapping_add(salt).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0;
        (0..count as u32).map(number).collect()
    }

    fn dot(left: &[f32], right: &[f32]) -> f64 {
        left.iter().zip(right).map(|(&left, &right)| f64::from(left) * f64::from(right)).sum()
    }

    proptest! {
        #[test]
        fn heads_are_the_rotated_parts_of_their_rows_and_the_backward_pass_is_the_adjoint(
            shape in shapes(), threads in 1usize..4, picks in vec(0usize..100, 30), gathered: bool
        ) {
            let Shape { sequences, length, heads, kv_heads, head_dim } = shape;
            let places = sequences * length;
            let gather: Vec<i64> = (0..places).map(|at| if gathered { picks[at % 30] % places } else { at } as i64).collect();
            let given = gathered.then_some(gather.as_slice());
            let (cos, sin) = (numbers(length * head_dim, 1), numbers(length * head_dim, 2));
            let rotation = Rotation { cos: &cos, sin: &sin };
            let joint = numbers(places * shape.joint(), 3);
            let (count, keys) = (places * shape.query(), places * kv_heads * head_dim);
            let (mut query, mut key, mut value) = (vec![0.0; count], vec![0.0; keys], vec![0.0; keys]);
            let out = Heads { query: &mut query, key: &mut key, value: &mut value };
            split(threads, shape, &joint, given, rotation, out);
            for at in 0..places {
                let (sequence, place) = (at / length, at % length);
                let row = &joint[gather[at] as usize * shape.joint()..][..shape.joint()];
                for head in 0..heads + 2 * kv_heads {
                    let x = &row[head * head_dim..][..head_dim];
                    let (matrix, of, head, turned) = if head < heads {
                        (&query, heads, head, true)
                    } else if head < heads + kv_heads {
                        (&key, kv_heads, head - heads, true)
                    } else {
                        (&value, kv_heads, head - heads - kv_heads, false)
                    };
                    let found = &matrix[((sequence * of + head) * length + place) * head_dim..][..head_dim];
                    for column in 0..head_dim {
                        let swapped = x[(column + head_dim / 2) % head_dim];
                        let table = place * head_dim + column;
                        let wanted = if turned { x[column] * cos[table] + swapped * sin[table] } else { x[column] };
                        prop_assert!((found[column] - wanted).abs() < 1e-6);
                    }
                }
            }
            let (by_query, by_key, by_value) = (numbers(count, 4), numbers(keys, 5), numbers(keys, 6));
            let gradients = Gradients { query: &by_query, key: &by_key, value: &by_value };
            // Replaced contents must not depend on the previous ones.
            let mut by_joint = vec![if gathered { 0.0 } else { 9.0 }; joint.len()];
            split_backward(shape, gradients, given, rotation, &mut by_joint);
            let (there, back) = (dot(&query, &by_query) + dot(&key, &by_key) + dot(&value, &by_value), dot(&joint, &by_joint));
            prop_assert!((there - back).abs() < 1e-4 * (1.0 + there.abs()), "{there} and {back}");
        }

        #[test]
        fn rows_are_joined_of_their_places_and_the_backward_pass_is_the_adjoint(
            shape in shapes(), picks in vec(0usize..100, 1..30), scattered: bool
        ) {
            let Shape { sequences, length, heads, head_dim, .. } = shape;
            let places = sequences * length;
            let rows = if scattered { picks.len() } else { places };
            let scatter: Vec<i64> = (0..rows).map(|row| if scattered { picks[row] % places } else { row } as i64).collect();
            let given = scattered.then_some(scatter.as_slice());
            let attended = numbers(places * shape.query(), 1);
            let mut joined = vec![0.0; rows * shape.query()];
            join(shape, &attended, given, &mut joined);
            for row in 0..rows {
                let (sequence, place) = (scatter[row] as usize / length, scatter[row] as usize % length);
                for head in 0..heads {
                    let from = &attended[((sequence * heads + head) * length + place) * head_dim..][..head_dim];
                    prop_assert_eq!(&joined[(row * heads + head) * head_dim..][..head_dim], from);
                }
            }
            let by_rows = numbers(joined.len(), 2);
            let mut by_attended = vec![if scattered { 0.0 } else { 9.0 }; attended.len()];
            join_backward(shape, &by_rows, given, &mut by_attended);
            let (there, back) = (dot(&joined, &by_rows), dot(&attended, &by_attended));
            prop_assert!((there - back).abs() < 1e-5 * (1.0 + there.abs()));
        }
    }
}
