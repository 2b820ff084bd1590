//! fp32 tensors in CPU memory as slices, for the loops of `lyceum-kernels`.

use std::slice;

use lyceum_kernels::product::{Shape, Stack, StackMut};
use tch::{Device, Kind, Tensor};

/// The numbers of a tensor, row after row. `None` if it has another type, is on another device, is not contiguous, or
/// needs a gradient, which only libtorch's own operations track. The caller must ensure that nobody writes to the
/// tensor through another handle meanwhile.
pub(crate) fn numbers(tensor: &Tensor) -> Option<&[f32]> {
    let plain = tensor.kind() == Kind::Float && !tensor.requires_grad();
    let start = in_memory(tensor).filter(|_| plain)?;
    // SAFETY: libtorch allocated this many fp32 numbers from there on, aligned, and they live as long as the tensor.
    Some(unsafe { slice::from_raw_parts(start.cast(), tensor.numel()) })
}

/// A mutable slice of the numbers. The caller must ensure that nobody reads the tensor through another handle
/// meanwhile.
pub(crate) fn numbers_mut(tensor: &mut Tensor) -> Option<&mut [f32]> {
    let plain = tensor.kind() == Kind::Float && !tensor.requires_grad();
    let start = in_memory(tensor).filter(|_| plain)?;
    // SAFETY: as above, and the handle is borrowed mutably.
    Some(unsafe { slice::from_raw_parts_mut(start.cast(), tensor.numel()) })
}

/// The indices of an int64 tensor, under the same conditions.
pub(crate) fn indices(tensor: &Tensor) -> Option<&[i64]> {
    let start = in_memory(tensor).filter(|_| tensor.kind() == Kind::Int64)?;
    // SAFETY: as above, with 64-bit integers.
    Some(unsafe { slice::from_raw_parts(start.cast(), tensor.numel()) })
}

/// Operands and result of a product: matrices `[rows, columns]` or stacks of them `[count, rows, columns]`, under the
/// same conditions, except that each may be part of something larger or transposed. Also `None` if the shapes do not
/// match, if the result's matrices are not one after the other, or if the result overlaps an operand.
pub(crate) fn product<'a>(
    left: &'a Tensor,
    right: &'a Tensor,
    out: &'a mut Tensor,
) -> Option<(Stack<'a>, Stack<'a>, StackMut<'a>)> {
    let (left, right, out) = (strided(left)?, strided(right)?, strided(out)?);
    let matching = left.count == out.count
        && right.count == out.count
        && left.shape.rows == out.shape.rows
        && left.shape.columns == right.shape.rows
        && right.shape.columns == out.shape.columns;
    let in_order = out.count == 1 || out.step >= out.shape.span();
    if !matching || !in_order || out.overlaps(&left) || out.overlaps(&right) {
        return None;
    }
    // SAFETY: all memory from the first to the last number of a tensor belongs to its storage, which holds aligned fp32
    // numbers and lives as long as the tensor. The output's handle is borrowed mutably, and its memory does not overlap
    // the operands'.
    unsafe {
        let stack = |of: Strided| Stack::new(slice::from_raw_parts(of.start, of.span()), of.count, of.step, of.shape);
        let numbers = slice::from_raw_parts_mut(out.start, out.span());
        Some((stack(left), stack(right), StackMut::new(numbers, out.count, out.step, out.shape)))
    }
}

/// Whether a tensor can be part of a [`product`].
pub(crate) fn is_here(tensor: &Tensor) -> bool {
    strided(tensor).is_some()
}

struct Strided {
    start: *mut f32,
    count: usize,
    step: usize,
    shape: Shape,
}

impl Strided {
    /// Length from the first to the last number, inclusive.
    fn span(&self) -> usize {
        (self.count - 1) * self.step + self.shape.span()
    }

    fn overlaps(&self, other: &Self) -> bool {
        let end = |of: &Self| of.start.wrapping_add(of.span());
        self.start < end(other) && other.start < end(self)
    }
}

fn strided(tensor: &Tensor) -> Option<Strided> {
    let here = tensor.device() == Device::Cpu && tensor.kind() == Kind::Float && !tensor.requires_grad();
    if !here || tensor.numel() == 0 {
        return None;
    }
    // Strides of a tensor are never negative.
    let size = |size: i64| size as usize;
    let (count, step, rows, columns, row_step, column_step) =
        match (tensor.size().as_slice(), tensor.stride().as_slice()) {
            (&[rows, columns], &[row_step, column_step]) => (1, 0, rows, columns, row_step, column_step),
            (&[count, rows, columns], &[step, row_step, column_step]) => {
                (count, step, rows, columns, row_step, column_step)
            }
            _ => return None,
        };
    Some(Strided {
        start: tensor.data_ptr().cast(),
        count: size(count),
        step: size(step),
        shape: Shape {
            rows: size(rows),
            columns: size(columns),
            row_step: size(row_step),
            column_step: size(column_step),
        },
    })
}

/// Number of threads that this thread's operations may use.
pub(crate) fn threads() -> usize {
    usize::try_from(tch::get_num_threads()).unwrap_or(1)
}

/// Where a dense tensor's numbers begin.
fn in_memory(tensor: &Tensor) -> Option<*mut std::ffi::c_void> {
    let dense = tensor.device() == Device::Cpu && tensor.is_contiguous() && tensor.numel() > 0;
    dense.then(|| tensor.data_ptr())
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::{indices, numbers, numbers_mut};

    #[test]
    fn dense_fp32_numbers_are_read_and_written_where_they_lie() {
        let mut tensor = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0]).view([2, 2]);
        numbers_mut(&mut tensor).unwrap()[2] = 7.0;
        assert_eq!(numbers(&tensor).unwrap(), [1.0, 2.0, 7.0, 4.0]);
        assert_eq!(tensor.double_value(&[1, 0]), 7.0);
        assert_eq!(indices(&Tensor::from_slice(&[5i64, 6])).unwrap(), [5, 6]);
    }

    #[test]
    fn what_is_not_dense_fp32_or_asks_for_a_gradient_is_left_to_libtorch() {
        let tensor = Tensor::zeros([2, 4], (Kind::Float, Device::Cpu));
        assert!(numbers(&tensor.transpose(0, 1)).is_none() && numbers(&tensor.narrow(1, 0, 2)).is_none());
        assert!(numbers(&tensor.to_kind(Kind::BFloat16)).is_none() && indices(&tensor).is_none());
        assert!(numbers(&tensor.set_requires_grad(true)).is_none());
    }
}
