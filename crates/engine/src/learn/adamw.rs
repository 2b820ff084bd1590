//! AdamW for all members at once, with clipping by the norm of each.

use lyceum_core::work::Optimizer;
use lyceum_kernels::{adamw as kernel, squares};
use tch::{Device, Kind, Tensor};

use super::optimizer_state::{OptimizerState, TrainedTensor};
use crate::device::upload;
use crate::error::{EngineError, Result};
use crate::host;
use crate::unwinding::as_errors;

/// AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101, Algorithm 2), with PyTorch's order of operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// Step size.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Keeps the denominator away from zero.
    pub eps: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

/// Corrections of the moments' bias by member, `[members]`: what the second's root and the step are multiplied by.
struct Factors {
    root: Tensor,
    rate: Tensor,
}

impl Factors {
    fn of(&self, member: usize) -> Result<Self> {
        let of = |factor: &Tensor| factor.f_narrow(0, member as i64, 1);
        Ok(Self { root: of(&self.root)?, rate: of(&self.rate)? })
    }
}

impl From<&Optimizer> for AdamW {
    fn from(config: &Optimizer) -> Self {
        let &Optimizer { learning_rate, beta1, beta2, eps, weight_decay, .. } = config;
        Self { learning_rate, beta1, beta2, eps, weight_decay }
    }
}

impl AdamW {
    /// Steps the given members of `trained` in place; the others keep their values, moments and step count. `gradients`
    /// and the state's moments are in the order of `trained`.
    pub fn step(
        &self,
        trained: &[TrainedTensor],
        gradients: &[Tensor],
        members: &[usize],
        state: &mut OptimizerState,
    ) -> Result<()> {
        for &member in members {
            state.steps[member] += 1;
        }
        let Some(first) = trained.first() else { return Ok(()) };
        let factors = self.factors(&state.steps, first.values.device())?;
        let all = members.len() == state.steps.len();
        for ((tensor, gradient), moments) in trained.iter().zip(gradients).zip(&state.moments) {
            if all {
                let (values, exp_avg, exp_avg_sq) = (&tensor.values, &moments.exp_avg, &moments.exp_avg_sq);
                match self.step_tensor(values, gradient, exp_avg, exp_avg_sq, &state.steps, &factors) {
                    // One member after the other needs less.
                    Err(error) if error.is_out_of_memory() => {}
                    result => {
                        result?;
                        continue;
                    }
                }
            }
            for &member in members {
                let of_member = |stacked: &Tensor| stacked.f_narrow(0, member as i64, 1);
                self.step_tensor(
                    &of_member(&tensor.values)?,
                    &of_member(gradient)?,
                    &of_member(&moments.exp_avg)?,
                    &of_member(&moments.exp_avg_sq)?,
                    &state.steps[member..=member],
                    &factors.of(member)?,
                )?;
            }
        }
        Ok(())
    }

    /// What depends on the number of steps, once for all tensors.
    fn factors(&self, steps: &[u64], device: Device) -> Result<Factors> {
        let of_steps = |value: &dyn Fn(f64) -> f64| {
            let by_member: Vec<f32> = steps.iter().map(|&step| value(step as f64) as f32).collect();
            upload(&by_member, device)
        };
        Ok(Factors {
            root: of_steps(&|step| (1.0 - self.beta2.powf(step)).sqrt().recip())?,
            rate: of_steps(&|step| -self.learning_rate / (1.0 - self.beta1.powf(step)))?,
        })
    }

    /// If memory runs out, nothing has changed: what needs memory comes first.
    fn step_tensor(
        &self,
        values: &Tensor,
        gradient: &Tensor,
        exp_avg: &Tensor,
        exp_avg_sq: &Tensor,
        steps: &[u64],
        Factors { root, rate }: &Factors,
    ) -> Result<()> {
        if let Some(()) = self.step_in_place(values, gradient, exp_avg, exp_avg_sq, steps) {
            return Ok(());
        }
        let (root, rate) = (per_member(root, values)?, per_member(rate, values)?);
        let (square, change) = (gradient.f_square()?, gradient.f_empty_like()?);
        let (mut exp_avg, mut exp_avg_sq) = (exp_avg.shallow_clone(), exp_avg_sq.shallow_clone());
        let _ = exp_avg.f_lerp_(gradient, 1.0 - self.beta1)?;
        let square = square.shallow_clone().f_mul_scalar_(1.0 - self.beta2)?;
        let _ = exp_avg_sq.f_mul_scalar_(self.beta2)?.f_add_(&square)?;
        let denominator = exp_avg_sq.f_sqrt_out(&square)?.f_mul_(&root)?.f_add_scalar_(self.eps)?;
        let change = exp_avg.f_mul_out(&change, &rate)?.f_div_(&denominator)?;
        let mut values = values.shallow_clone();
        let _ = values.f_mul_scalar_(1.0 - self.learning_rate * self.weight_decay)?.f_add_(&change)?;
        Ok(())
    }

    /// Makes the step in a single pass over CPU memory; returns `None` and does nothing if the tensors are elsewhere.
    fn step_in_place(
        &self,
        values: &Tensor,
        gradient: &Tensor,
        exp_avg: &Tensor,
        exp_avg_sq: &Tensor,
        steps: &[u64],
    ) -> Option<()> {
        let gradient = host::numbers(gradient)?;
        let [mut values, mut exp_avg, mut exp_avg_sq] = [values, exp_avg, exp_avg_sq].map(Tensor::shallow_clone);
        let (values, exp_avg) = (host::numbers_mut(&mut values)?, host::numbers_mut(&mut exp_avg)?);
        let exp_avg_sq = host::numbers_mut(&mut exp_avg_sq)?;
        let width = gradient.len() / steps.len();
        let moments = exp_avg.chunks_exact_mut(width).zip(exp_avg_sq.chunks_exact_mut(width));
        let members = gradient.chunks_exact(width).zip(values.chunks_exact_mut(width)).zip(moments);
        for (((gradient, values), (exp_avg, exp_avg_sq)), &step) in members.zip(steps) {
            let step = step as f64;
            let factors = kernel::Step {
                beta1: self.beta1 as f32,
                beta2: self.beta2 as f32,
                rate: (self.learning_rate / (1.0 - self.beta1.powf(step))) as f32,
                root: (1.0 - self.beta2.powf(step)).sqrt().recip() as f32,
                eps: self.eps as f32,
                kept: (1.0 - self.learning_rate * self.weight_decay) as f32,
            };
            let numbers = kernel::Numbers { gradient, values, exp_avg, exp_avg_sq };
            kernel::step(host::threads(), factors, numbers);
        }
        Some(())
    }
}

/// The norm of each member's gradient over all tensors. Scales the gradients of `members` whose norm exceeds `largest`
/// down to it (0 sets no limit), as PyTorch's `clip_grad_norm_` does for each member separately. `gradients` are in the
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
    let scales: Vec<f32> =
        norms.iter().map(|norm| if largest > 0.0 { (largest / (norm + 1e-6)).min(1.0) as f32 } else { 1.0 }).collect();
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
    members.iter().try_for_each(|&member| require_finite("the weight", trained, &squares, member))
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
    let mut read = Vec::<f64>::try_from(&Tensor::f_cat(&elsewhere, 0)?.f_to_device(Device::Cpu)?)?.into_iter();
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
    match trained.iter().zip(squares).find(|(_, squares)| !squares[member].is_finite()) {
        Some((tensor, _)) => {
            Err(EngineError::NonFinite { what: format!("{what} of `{}` of member {member}", tensor.name) })
        }
        None => Ok(()),
    }
}
