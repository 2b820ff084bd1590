//! AdamW for all members at once.

use lyceum_core::work::Optimizer;
use lyceum_kernels::adamw as kernel;
use tch::{Device, Tensor};

use super::clip::per_member;
use super::optimizer_state::OptimizerState;
use super::trained::TrainedTensor;
use crate::device::upload;
use crate::error::Result;
use crate::host;

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
        Ok(Self {
            root: of(&self.root)?,
            rate: of(&self.rate)?,
        })
    }
}

impl From<&Optimizer> for AdamW {
    fn from(config: &Optimizer) -> Self {
        let &Optimizer {
            learning_rate,
            beta1,
            beta2,
            eps,
            weight_decay,
            ..
        } = config;
        Self {
            learning_rate,
            beta1,
            beta2,
            eps,
            weight_decay,
        }
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
        let _ = values
            .f_mul_scalar_(1.0 - self.learning_rate * self.weight_decay)?
            .f_add_(&change)?;
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
        let members = gradient
            .chunks_exact(width)
            .zip(values.chunks_exact_mut(width))
            .zip(moments);
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
            let numbers = kernel::Numbers {
                gradient,
                values,
                exp_avg,
                exp_avg_sq,
            };
            kernel::step(host::threads(), factors, numbers);
        }
        Some(())
    }
}
