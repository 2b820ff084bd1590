//! Warnings about configs that are valid.

use crate::fault::Fault;

/// The sum of an adapter's scheduled learning rates below which a run is warned about. Adam moves a weight by at most about
/// its rate in a step, so the sum bounds what a run can change. The papers' rates for full fine-tuning stay below it in every preset, and the presets' own above.
const LEAST_SUM_OF_RATES: f64 = 1e-3;

/// The warning about learning rates that sum up to `sum` over a run; `pointer` is that of the rate. A rate of 0 is a
/// control, and no mistake.
pub(super) fn slow(pointer: &str, sum: f64) -> Option<Fault> {
    let is_slow = sum > 0.0 && sum < LEAST_SUM_OF_RATES;
    is_slow.then(|| {
        let detail = format!(
            "the learning rates of all steps sum up to {sum:.1e}, which bounds how far an adapter's weights can move: below \
             {LEAST_SUM_OF_RATES:.0e} a LoRA hardly learns. It needs some ten times the rate of full fine-tuning, such as 1e-5 \
             to 2e-4; raise the rate, or the number of steps"
        );
        Fault::new(pointer, detail)
    })
}
