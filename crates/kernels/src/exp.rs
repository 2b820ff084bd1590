//! The exponential function in a form that compilers can vectorise.

/// `a · b + c`; rounded once if `FUSED`, which is fast only on CPUs with such an instruction.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// `e^x` to within 2 units in the last place from −87 on; below, at most 1.7e−38; above 88, the value at 88. NaN stays
/// NaN. Set `FUSED` in versions of a function compiled for CPUs with fused multiply-add.
#[inline(always)]
pub(crate) fn exp<const FUSED: bool>(x: f32) -> f32 {
    // With n = round(x / ln 2): e^x = 2^n · e^(x − n ln 2). Adding 1.5 · 2^23 leaves the rounded sum's integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts: n times the first is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = multiply_add::<FUSED>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = multiply_add::<FUSED>(-n, LN2_LOW, multiply_add::<FUSED>(-n, LN2_HIGH, x));
    // Taylor's polynomial: |r| ≤ ln 2 / 2, so the next term is below 5e−9.
    let mut polynomial = 1.0 / 5040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        polynomial = multiply_add::<FUSED>(polynomial, r, coefficient);
    }
    let exponent = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    polynomial * f32::from_bits(((exponent.wrapping_add(127)) << 23) as u32)
}

/// The logistic function `1 / (1 + e^−x)`.
#[inline(always)]
pub(crate) fn sigmoid<const FUSED: bool>(x: f32) -> f32 {
    1.0 / (1.0 + exp::<FUSED>(-x))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{exp, sigmoid};

    proptest! {
        #[test]
        fn it_is_the_exponential_function(x in -87.0f32..88.0) {
            let exact = f64::from(x).exp();
            for found in [exp::<false>(x), exp::<true>(x)] {
                prop_assert!((f64::from(found) / exact - 1.0).abs() < 2.4e-7, "{x}: {found} for {exact}");
            }
        }

        #[test]
        fn it_is_the_logistic_function(x in -200.0f32..200.0) {
            let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
            for found in [sigmoid::<false>(x), sigmoid::<true>(x)] {
                prop_assert!((f64::from(found) - exact).abs() < 2.4e-7 * exact + 1e-37);
            }
        }
    }

    #[test]
    fn the_ends_are_finite_and_nan_stays() {
        for (exp, sigmoid) in
            [(exp::<false> as fn(f32) -> f32, sigmoid::<false> as fn(f32) -> f32), (exp::<true>, sigmoid::<true>)]
        {
            assert_eq!(exp(0.0), 1.0);
            assert!(exp(f32::NEG_INFINITY) < 2e-38 && exp(f32::INFINITY).is_finite());
            assert!(exp(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
        }
    }
}
