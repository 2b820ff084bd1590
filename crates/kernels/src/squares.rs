//! Sums of squares, for norms.

use multiversion::multiversion;

use crate::share::share;

/// Numbers per job. The jobs' sums are added in order.
const NUMBERS: usize = 1 << 16;

/// The sum of squares, in f64.
pub fn sum(threads: usize, values: &[f32]) -> f64 {
    let mut sums = vec![0.0; values.len().div_ceil(NUMBERS)];
    share(threads, values.chunks(NUMBERS).zip(&mut sums), |(values, sum)| *sum = of_block(values));
    sums.iter().sum()
}

#[multiversion(targets = "simd")]
fn of_block(values: &[f32]) -> f64 {
    let mut lanes = [0.0; 16];
    let mut chunks = values.chunks_exact(16);
    for chunk in &mut chunks {
        for lane in 0..16 {
            let value = f64::from(chunk[lane]);
            lanes[lane] += value * value;
        }
    }
    let rest = chunks.remainder().iter().map(|&value| f64::from(value).powi(2));
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::sum;

    proptest! {
        #[test]
        fn it_is_the_sum_whatever_the_number_of_threads(seed in vec(-9.0f32..9.0, 1..50), count in 0usize..200_000) {
            let values: Vec<f32> = seed.iter().copied().cycle().take(count).collect();
            let exact: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            prop_assert!((sum(1, &values) - exact).abs() <= 1e-10 * exact);
            prop_assert_eq!(sum(1, &values).to_bits(), sum(3, &values).to_bits());
        }
    }

    #[test]
    fn what_is_not_finite_shows() {
        assert!(sum(1, &[1.0, f32::NAN]).is_nan() && sum(2, &[f32::NEG_INFINITY; 70_000]).is_infinite());
    }
}
