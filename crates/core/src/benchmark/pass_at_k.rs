//! The unbiased estimator of pass@k.

/// The probability that at least one of `k` samples drawn without replacement from `n` is correct, if `c` of the `n`
/// are: `1 − C(n − c, k) / C(n, k)` (Chen et al., arXiv 2107.03374, Eq. 1), computed as `1 − Π_{i = n−c+1}^{n} (1 − k /
/// i)`.
///
/// `None` if undefined: no samples, `c` above `n`, or `k` outside 1 to `n`.
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if c > n || k == 0 || k > n {
        return None;
    }
    if n - c < k {
        return Some(1.0);
    }
    // Each factor is a quotient of exact integers, so the product is off by at most one rounding per factor. C(n−c, k)
    // / C(n, k) is symmetric in c and k, so the product with fewer factors is used.
    let (few, many) = (c.min(k), c.max(k));
    let missed: f64 = (n - few + 1..=n).map(|i| (i - many) as f64 / i as f64).product();
    Some(1.0 - missed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One as _, Signed as _, ToPrimitive as _};
    use rand::Rng as _;

    fn binomial(n: u64, k: u64) -> BigInt {
        let product = |from: u64| (0..k).map(|i| BigInt::from(from - i)).product::<BigInt>();
        product(n) / product(k)
    }

    /// `1 − C(n − c, k) / C(n, k)`, computed literally.
    fn exact(n: u64, c: u64, k: u64) -> BigRational {
        if n - c < k {
            return BigRational::one();
        }
        BigRational::one() - BigRational::new(binomial(n - c, k), binomial(n, k))
    }

    #[test]
    fn it_is_the_unbiased_estimator_on_a_thousand_draws() {
        let mut rng = crate::seed::stream(8, "pass@k", 0);
        for _ in 0..1000 {
            let n = rng.random_range(1..=300_u64);
            let c = rng.random_range(0..=n);
            let k = rng.random_range(1..=n);
            let exact = exact(n, c, k);
            let got = BigRational::from_float(pass_at_k(n, c, k).unwrap()).unwrap();
            let off = (got - exact).abs().to_f64().unwrap();
            assert!(off < 1e-14, "n = {n}, c = {c}, k = {k}: off by {off:e}");
        }
    }

    #[test]
    fn it_is_the_mean_over_all_ways_to_draw() {
        for (n, c, k) in [(5, 2, 1), (5, 2, 3), (6, 1, 4), (7, 0, 2), (4, 4, 2)] {
            let (mut hits, mut all) = (0_u32, 0_u32);
            for drawn in 0_u32..1 << n {
                if drawn.count_ones() == k {
                    all += 1;
                    hits += u32::from(drawn & ((1 << c) - 1) != 0);
                }
            }
            let mean = f64::from(hits) / f64::from(all);
            let got = pass_at_k(u64::from(n as u32), u64::from(c as u32), u64::from(k)).unwrap();
            assert!((got - mean).abs() < 1e-15, "{n} {c} {k}");
        }
    }

    #[test]
    fn what_has_no_estimate_has_none() {
        assert_eq!(pass_at_k(0, 0, 1), None);
        assert_eq!(pass_at_k(3, 4, 1), None);
        assert_eq!(pass_at_k(3, 1, 0), None);
        assert_eq!(pass_at_k(3, 1, 4), None);
        assert_eq!(pass_at_k(10, 0, 10), Some(0.0));
        assert_eq!(pass_at_k(10, 1, 10), Some(1.0));
    }
}
