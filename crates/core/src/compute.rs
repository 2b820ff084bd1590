//! The cost of a run: the compute account of PopuLoRA's Table 2.

use serde::{Deserialize, Serialize};

/// First steps left out of the account, because they load models and fill caches.
pub const WARM_UP_STEPS: usize = 5;

/// The compute account of a run (PopuLoRA, Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputeAccount {
    /// Median wall-clock time of a step without the warm-up, in seconds.
    pub median_step_seconds: f64,
    /// The median times `steps`, in seconds.
    pub extrapolated_seconds: f64,
    /// Adapter steps per hour: adapters × 3600 / median.
    pub adapter_steps_per_hour: f64,
}

/// The account of a run whose steps took `step_seconds`, each updating `adapters` adapters, extrapolated to `steps`
/// steps. `None` until a step after the warm-up has ended.
pub fn compute_account(step_seconds: &[f64], adapters: u32, steps: u32) -> Option<ComputeAccount> {
    let mut counted = step_seconds.get(WARM_UP_STEPS..)?.to_vec();
    counted.sort_by(f64::total_cmp);
    let middle = counted.len() / 2;
    let median = match counted.len() {
        0 => return None,
        odd if odd % 2 == 1 => counted[middle],
        _ => f64::midpoint(counted[middle - 1], counted[middle]),
    };
    Some(ComputeAccount {
        median_step_seconds: median,
        extrapolated_seconds: median * f64::from(steps),
        adapter_steps_per_hour: f64::from(adapters) * 3600.0 / median.max(f64::MIN_POSITIVE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_five_steps_do_not_count() {
        let seconds = [90.0, 90.0, 90.0, 90.0, 90.0, 10.0, 30.0, 20.0];
        let account = compute_account(&seconds, 8, 200).unwrap();
        assert_eq!(account.median_step_seconds, 20.0);
        assert_eq!(account.extrapolated_seconds, 4000.0);
        assert_eq!(account.adapter_steps_per_hour, 1440.0);
        assert_eq!(compute_account(&[1.0, 1.0, 1.0, 1.0, 1.0, 4.0, 6.0], 1, 1).unwrap().median_step_seconds, 5.0);
        assert_eq!(compute_account(&seconds[..5], 8, 200), None);
        assert_eq!(compute_account(&[], 8, 200), None);
    }

    #[test]
    fn the_papers_ratio_of_adapter_steps_follows_from_its_wall_clock() {
        // 8 adapters at 1.31 times the baseline's time make 6.1 times its adapter steps per hour.
        let baseline = compute_account(&[100.0; 6], 1, 200).unwrap();
        let population = compute_account(&[131.0; 6], 8, 200).unwrap();
        let ratio = population.adapter_steps_per_hour / baseline.adapter_steps_per_hour;
        assert!((ratio - 6.1).abs() < 0.05, "{ratio}");
    }
}
