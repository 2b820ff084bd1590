//! A mean and its uncertainty.

use serde::{Deserialize, Serialize};

/// Mean, deviation and standard error of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many numbers.
    pub count: u64,
    pub mean: f64,
    /// Their sample standard deviation (dividing by n − 1); 0 for a single number.
    pub std: f64,
    /// The standard error of the mean: the deviation divided by √n.
    pub standard_error: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = if values.len() > 1 {
            (squares / (count - 1.0)).sqrt()
        } else {
            0.0
        };
        Some(Self {
            count: values.len() as u64,
            mean,
            std,
            standard_error: std / count.sqrt(),
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_computed_by_hand() {
        // statistics.stdev([2, 4, 4, 4, 5, 5, 7, 9]) in Python is 2.138089935299395.
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((spread.count, spread.mean, spread.min, spread.max), (8, 5.0, 2.0, 9.0));
        assert!((spread.std - 2.138_089_935_299_395).abs() < 1e-15);
        assert!((spread.standard_error - 2.138_089_935_299_395 / 8_f64.sqrt()).abs() < 1e-15);
        assert_eq!(Spread::of(&[3.0]).unwrap().standard_error, 0.0);
        assert_eq!(Spread::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_error_of_shares_is_that_of_a_binomial(right in 0_usize..50, wrong in 1_usize..50) {
            let values: Vec<f64> = std::iter::repeat_n(1.0, right).chain(std::iter::repeat_n(0.0, wrong)).collect();
            let spread = Spread::of(&values).unwrap();
            let n = values.len() as f64;
            let p = right as f64 / n;
            prop_assert!((spread.mean - p).abs() < 1e-12);
            if values.len() > 1 {
                // s² = n/(n−1) · p(1−p) for zeros and ones.
                prop_assert!((spread.standard_error - (p * (1.0 - p) / (n - 1.0)).sqrt()).abs() < 1e-12);
            }
        }
    }
}
