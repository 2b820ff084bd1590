//! Products of matrices and of stacks of matrices. `lyceum-kernels` computes fp32 products in CPU memory, libtorch all
//! others: libtorch's own CPU products leave half of the vector units of some CPUs idle.

use std::hint::black_box;

use lyceum_kernels::product::{self as kernel, Before};
use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::host;

/// `left · right`: `[m, k] · [k, n]`, or `[count, m, k] · [count, k, n]`.
pub(crate) fn product(left: &Tensor, right: &Tensor) -> Result<Tensor> {
    if !host::is_here(left) || !host::is_here(right) {
        return Ok(if left.dim() == 2 { left.f_mm(right) } else { left.f_bmm(right) }?);
    }
    let mut size = left.size();
    if let (Some(last), Some(columns)) = (size.last_mut(), right.size().last()) {
        *last = *columns;
    }
    let mut out = Tensor::f_empty(size, (left.kind(), left.device()))?;
    write_product(left, right, &mut out)?;
    Ok(out)
}

/// `left · right` in fp32, whatever the operands' precision. On a GPU, sums of bf16 products are never rounded to bf16; on
/// a CPU, and for autograd, libtorch rounds each once, at its end: what keeps them in fp32 has no derivative.
pub(crate) fn product_in_fp32(left: &Tensor, right: &Tensor) -> Result<Tensor> {
    let rounds = !left.device().is_cuda() || left.requires_grad() || right.requires_grad();
    if left.kind() == Kind::Float || rounds {
        return Ok(product(left, right)?.f_to_kind(Kind::Float)?);
    }
    Ok(if left.dim() == 2 { left.f_mm_dtype(right, Kind::Float) } else { left.f_bmm_dtype(right, Kind::Float) }?)
}

/// Writes `left · right` to `out`.
pub(crate) fn write_product(left: &Tensor, right: &Tensor, out: &mut Tensor) -> Result<()> {
    if on_host(left, right, out, Before::Replaced)? {
        return Ok(());
    }
    if out.dim() == 2 {
        let _ = left.f_mm_out(out, right)?;
    } else {
        out.f_copy_(&left.f_bmm(right)?)?;
    }
    Ok(())
}

/// [`product_in_fp32`] of stacks of matrices, to `out`.
pub(crate) fn write_product_in_fp32(left: &Tensor, right: &Tensor, out: &mut Tensor) -> Result<()> {
    if left.kind() == Kind::Float {
        return write_product(left, right, out);
    }
    if !left.device().is_cuda() {
        out.f_copy_(&left.f_bmm(right)?)?;
        return Ok(());
    }
    let _ = left.f_bmm_dtype_out(out, right, Kind::Float)?;
    Ok(())
}

/// Adds `left · right` to `out`.
pub(crate) fn add_product(left: &Tensor, right: &Tensor, out: &mut Tensor) -> Result<()> {
    if on_host(left, right, out, Before::Kept)? {
        return Ok(());
    }
    let _ = if out.dim() == 2 {
        out.f_addmm_(left, right)?
    } else if out.device() == Device::Cpu && !out.is_contiguous() {
        // libtorch writes into columns of a wider tensor one matrix at a time, so adding is faster.
        out.f_add_(&left.f_bmm(right)?)?
    } else {
        out.f_baddbmm_(left, right)?
    };
    Ok(())
}

/// Applies a linear projection to `x` `[T, in]`; `weight` is `[out, in]`, preferably as laid out by [`arranged`].
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    if !host::is_here(x) || !host::is_here(weight) {
        return Ok(x.f_linear(weight, bias)?);
    }
    let weight = weight.f_transpose(0, 1)?;
    let Some(bias) = bias else { return product(x, &weight) };
    let mut out = Tensor::f_empty([x.size()[0], bias.size()[0]], (x.kind(), x.device()))?;
    out.f_copy_(bias)?;
    add_product(x, &weight, &mut out)?;
    Ok(out)
}

/// [`linear`] without a bias, with outputs in fp32, as [`product_in_fp32`].
pub(crate) fn linear_in_fp32(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if x.device().is_cuda() {
        return product_in_fp32(x, &weight.f_transpose(0, 1)?);
    }
    Ok(linear(x, weight, None)?.f_to_kind(Kind::Float)?)
}

/// The weight `[out, in]` with the numbers of each input contiguous, if that makes [`linear`] faster for few rows.
pub(crate) fn arranged(weight: &Tensor) -> Result<Tensor> {
    if weight.kind() != Kind::Float || weight.device() != Device::Cpu {
        return Ok(weight.shallow_clone());
    }
    Ok(weight.f_transpose(0, 1)?.f_contiguous()?.f_transpose(0, 1)?)
}

/// Computes the product if `lyceum-kernels` can, and returns whether it did.
fn on_host(left: &Tensor, right: &Tensor, out: &mut Tensor, before: Before) -> Result<bool> {
    let Some((left, right, out)) = host::product(left, right, out) else { return Ok(false) };
    let threads = host::threads();
    has_room(kernel::room(threads, left, right))?;
    kernel::products(threads, left, right, before, out);
    Ok(true)
}

/// Returns an error if there is no memory for this many numbers. A product that cannot allocate copies of its operands
/// aborts the process; after this check, that happens only if another thread takes the memory in between.
fn has_room(numbers: usize) -> Result<()> {
    let mut room: Vec<f32> = Vec::new();
    let reserved = room.try_reserve_exact(numbers);
    // Prevents the allocation from being optimised away.
    black_box(&room);
    reserved.map_err(|error| EngineError::OutOfMemory {
        device: format!("{:?}", Device::Cpu),
        detail: format!("a product's copies of its operands, {numbers} numbers: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::{add_product, arranged, has_room, linear, linear_in_fp32, product, product_in_fp32, write_product};

    fn random(shape: &[i64]) -> Tensor {
        Tensor::randn(shape, (Kind::Float, Device::Cpu))
    }

    fn near(found: &Tensor, wanted: &Tensor) {
        assert_eq!(found.size(), wanted.size());
        assert!(found.allclose(wanted, 1e-4, 1e-4, false), "{found} for {wanted}");
    }

    /// Whole matrices, parts and transposed ones, alone and in stacks.
    #[test]
    fn products_are_those_of_libtorch_however_their_operands_lie() {
        let wide = random(&[3, 20, 40]);
        let operands = [
            (random(&[7, 20]), random(&[20, 11])),
            (random(&[20, 7]).transpose(0, 1), wide.get(1).narrow(1, 5, 11)),
            (random(&[3, 7, 20]), wide.narrow(2, 5, 11)),
            (wide.narrow(2, 3, 7).transpose(1, 2), random(&[3, 20, 11])),
            (random(&[3, 7, 20]), random(&[1, 20, 11]).expand([3, 20, 11], false)),
            (random(&[0, 20]), random(&[20, 11])),
            // Enough work to be spread over threads.
            (random(&[9, 90, 80]), random(&[9, 80, 40]).narrow(2, 5, 11)),
            (random(&[190, 300]), random(&[300, 11])),
        ];
        for (left, right) in &operands {
            let wanted = left.matmul(right);
            near(&product(left, right).unwrap(), &wanted);
            let mut shape = wanted.size();
            *shape.last_mut().unwrap() = 30;
            let around = random(&shape);
            let (before, last) = (around.copy(), wanted.dim() as i64 - 1);
            let mut part = around.narrow(last, 9, 11);
            add_product(left, right, &mut part).unwrap();
            near(&part, &(before.narrow(last, 9, 11) + &wanted));
            write_product(left, right, &mut part).unwrap();
            near(&part, &wanted);
            assert_eq!(around.narrow(last, 0, 9), before.narrow(last, 0, 9));
            assert_eq!(around.narrow(last, 20, 10), before.narrow(last, 20, 10));
        }
    }

    #[test]
    fn results_among_their_operands_or_one_another_are_left_to_libtorch() {
        let both = random(&[6, 12]);
        let (left, mut out) = (both.narrow(1, 0, 6), both.narrow(1, 6, 6));
        let right = random(&[6, 6]);
        let wanted = left.mm(&right);
        write_product(&left, &right, &mut out).unwrap();
        near(&out, &wanted);
        let (left, right) = (random(&[3, 5, 4]), random(&[3, 4, 2]));
        let mut interleaved = random(&[5, 3, 2]).transpose(0, 1);
        write_product(&left, &right, &mut interleaved).unwrap();
        near(&interleaved, &left.bmm(&right));
    }

    #[test]
    fn what_does_not_match_is_an_error() {
        let error = product(&random(&[2, 3]), &random(&[4, 5])).unwrap_err();
        assert!(error.to_string().contains("shapes cannot be multiplied"), "{error}");
        assert!(product(&random(&[2, 2, 3]), &random(&[3, 3, 5])).is_err());
    }

    #[test]
    fn no_room_for_copies_is_an_error() {
        assert!(has_room(1 << 20).is_ok());
        assert!(has_room(usize::MAX / 8).unwrap_err().is_out_of_memory());
    }

    #[test]
    fn a_linear_projection_is_that_of_libtorch_however_its_weight_lies() {
        let (x, weight, bias) = (random(&[9, 16]), random(&[12, 16]), random(&[12]));
        for weight in [&weight, &arranged(&weight).unwrap()] {
            near(&linear(&x, weight, Some(&bias)).unwrap(), &x.linear(weight, Some(&bias)));
            near(&linear(&x, weight, None).unwrap(), &x.linear::<Tensor>(weight, None));
        }
        assert_eq!(arranged(&weight).unwrap(), weight);
    }

    #[test]
    fn gradients_flow_through_what_asks_for_them() {
        let (x, weight) = (random(&[5, 4]), random(&[3, 4]).set_requires_grad(true));
        linear(&x, &weight, None).unwrap().sum(Kind::Float).backward();
        near(&weight.grad(), &x.sum_dim_intlist([0i64].as_slice(), true, Kind::Float).expand([3, 4], false));
    }

    #[test]
    fn products_of_any_precision_can_be_had_in_fp32() {
        for kind in [Kind::Float, Kind::BFloat16] {
            let of = |shape: &[i64]| random(shape).to_kind(kind);
            for (left, right) in [(of(&[5, 4]), of(&[4, 3])), (of(&[2, 5, 4]), of(&[2, 4, 3]))] {
                let found = product_in_fp32(&left, &right).unwrap();
                assert_eq!(found.kind(), Kind::Float);
                assert_eq!(found, product(&left, &right).unwrap().to_kind(Kind::Float));
            }
            let (x, weight) = (of(&[9, 16]), of(&[12, 16]));
            let found = linear_in_fp32(&x, &weight).unwrap();
            assert_eq!(found, linear(&x, &weight, None).unwrap().to_kind(Kind::Float));
        }
    }

    #[test]
    fn other_precisions_are_left_to_libtorch() {
        let (left, right) = (random(&[5, 4]).to_kind(Kind::BFloat16), random(&[4, 3]).to_kind(Kind::BFloat16));
        assert_eq!(product(&left, &right).unwrap(), left.mm(&right));
    }
}
