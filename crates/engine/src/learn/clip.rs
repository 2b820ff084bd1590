//! Gradient norms of each member, and clipping.

use lyceum_kernels::squares;
use tch::{Device, Kind, Tensor};

use super::trained::TrainedTensor;
use crate::device::upload;
use crate::error::{EngineError, Result};
use crate::host;
use crate::unwinding::as_errors;

/// The norm of each member's gradient over all tensors. Scales the gradients of `members` whose norm exceeds `largest`
/// down to it (0 sets no limit), as PyTorch's `clip_grad_norm_` does for each member alone. `gradients` are in the
/// order of `trained`.
///
/// A gradient with NaN or infinity is an error that names the member and the tensor.
pub fn clip_gradients(
    trained: &[TrainedTensor],
    gradients: &[Tensor],
    members: &[usize],
    largest: f64,
) -> Result<Vec<f64>> {
    let squares = member_squares(gradients)?;
    for &member in members {
        require_finite("the gradient", trained, &squares, member)?;
    }
    let norms: Vec<f64> = (0..squares.first().map_or(0, Vec::len))
        .map(|member| squares.iter().map(|tensor| tensor[member]).sum::<f64>().sqrt())
        .collect();
    let scales: Vec<f32> = norms
        .iter()
        .map(|norm| {
            if largest > 0.0 {
                (largest / (norm + 1e-6)).min(1.0) as f32
            } else {
                1.0
            }
        })
        .collect();
    if scales.iter().any(|&scale| scale < 1.0) {
        // Before any gradient changes: what needs memory comes first, so that a failure leaves all of them as they were.
        let scales = upload(&scales, gradients[0].device())?;
        for gradient in gradients {
            let _ = gradient.shallow_clone().f_mul_(&per_member(&scales, gradient)?)?;
        }
    }
    Ok(norms)
}

/// Refuses trained values with NaN or infinity, naming the member and the tensor.
pub(super) fn check_values(trained: &[TrainedTensor], members: &[usize]) -> Result<()> {
    let values: Vec<Tensor> = trained.iter().map(|tensor| tensor.values.shallow_clone()).collect();
    let squares = member_squares(&values)?;
    members
        .iter()
        .try_for_each(|&member| require_finite("the weight", trained, &squares, member))
}

/// One value per member, `[members]`, shaped to multiply a stacked tensor.
pub(super) fn per_member(values: &Tensor, like: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1; like.dim()];
    shape[0] = -1;
    Ok(values.f_view(shape.as_slice())?)
}

/// The sum of squares of each tensor, by member.
fn member_squares(tensors: &[Tensor]) -> Result<Vec<Vec<f64>>> {
    let mut squares = Vec::with_capacity(tensors.len());
    let (mut elsewhere, mut places) = (Vec::new(), Vec::new());
    for tensor in tensors {
        let members = tensor.size()[0] as usize;
        squares.push(match host::numbers(tensor) {
            Some(numbers) => {
                let members = numbers.chunks_exact(numbers.len() / members);
                members.map(|member| squares::sum(host::threads(), member)).collect()
            }
            None => {
                elsewhere.push(together_or_in_turn(tensor, squares_by_libtorch)?);
                places.push(squares.len());
                vec![0.0; members]
            }
        });
    }
    if elsewhere.is_empty() {
        return Ok(squares);
    }
    // One transfer for all, because each would wait for the device.
    let read = Vec::<f64>::try_from(&Tensor::f_cat(&elsewhere, 0)?.f_to_device(Device::Cpu)?)?;
    let mut read = read.into_iter();
    for place in places {
        squares[place].fill_with(|| read.next().unwrap_or(f64::NAN));
    }
    Ok(squares)
}

fn squares_by_libtorch(members: &Tensor) -> Result<Tensor> {
    let flat = members.f_flatten(1, -1)?;
    Ok(flat.f_linalg_norm(2, [1].as_slice(), false, Kind::Double)?.f_square()?)
}

/// What `compute` gives for all members of a stacked tensor; if memory runs out, for one after the other.
fn together_or_in_turn(stacked: &Tensor, compute: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    match as_errors(|| compute(stacked)) {
        Err(error) if error.is_out_of_memory() => {
            let members = (0..stacked.size()[0]).map(|member| compute(&stacked.f_narrow(0, member, 1)?));
            Ok(Tensor::f_cat(&members.collect::<Result<Vec<_>>>()?, 0)?)
        }
        result => result,
    }
}

fn require_finite(what: &str, trained: &[TrainedTensor], squares: &[Vec<f64>], member: usize) -> Result<()> {
    match trained
        .iter()
        .zip(squares)
        .find(|(_, squares)| !squares[member].is_finite())
    {
        Some((tensor, _)) => Err(EngineError::NonFinite {
            what: format!("{what} of `{}` of member {member}", tensor.name),
        }),
        None => Ok(()),
    }
}
