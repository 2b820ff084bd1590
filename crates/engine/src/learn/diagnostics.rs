//! Sums over tokens that become a member's diagnostics.

use lyceum_core::work::MemberDiagnostics;

use super::loss::TokenLoss;

/// A token's contribution to its member's sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenRecord {
    /// The weight of the token in the mean.
    pub(super) weight: f64,
    pub(super) loss: TokenLoss,
    pub(super) entropy: f64,
    /// Difference between the sampler's and the trainer's log-probabilities; measured before the first step only.
    pub(super) mismatch: Option<f64>,
}

/// One member's sums over the tokens of an update, in the order they were learned.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) tokens: f64,
    pub(super) loss: f64,
    pub(super) entropy: f64,
    pub(super) clipped: f64,
    pub(super) ratio: f64,
    pub(super) kl: f64,
    pub(super) mismatch: f64,
    pub(super) measured: f64,
    /// Tokens whose importance weight was truncated; not in the array, which older workers read.
    pub(super) capped: f64,
}

impl Sums {
    /// Length of the array from [`Sums::to_array`].
    pub(super) const WIDTH: usize = 8;

    pub(super) fn add_token(&mut self, token: TokenRecord) {
        self.tokens += 1.0;
        self.loss += token.weight * token.loss.loss;
        self.entropy += token.entropy;
        self.clipped += f64::from(u8::from(token.loss.clipped));
        self.capped += f64::from(u8::from(token.loss.capped));
        self.ratio += token.loss.ratio;
        self.kl += token.loss.kl;
        if let Some(mismatch) = token.mismatch {
            self.mismatch += mismatch.abs();
            self.measured += 1.0;
        }
    }

    pub(super) fn to_array(self) -> [f64; Self::WIDTH] {
        [self.tokens, self.loss, self.entropy, self.clipped, self.ratio, self.kl, self.mismatch, self.measured]
    }

    pub(super) fn from_array(sums: [f64; Self::WIDTH]) -> Self {
        let [tokens, loss, entropy, clipped, ratio, kl, mismatch, measured] = sums;
        Self { tokens, loss, entropy, clipped, ratio, kl, mismatch, measured, capped: 0.0 }
    }

    pub(super) fn add(&mut self, other: Self) {
        let (mut sums, capped) = (self.to_array(), self.capped + other.capped);
        for (sum, other) in sums.iter_mut().zip(other.to_array()) {
            *sum += other;
        }
        *self = Self { capped, ..Self::from_array(sums) };
    }

    /// The means. `norms` are the gradient norms of the member's optimizer steps, `epochs` the passes over its tokens.
    pub(super) fn diagnostics(self, norms: &[f64], epochs: u32) -> MemberDiagnostics {
        let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        let steps = norms.len() as f64;
        MemberDiagnostics {
            policy_loss: mean(self.loss, steps),
            grad_norm: mean(norms.iter().sum(), steps),
            entropy: mean(self.entropy, self.tokens),
            clip_share: mean(self.clipped, self.tokens),
            ratio: mean(self.ratio, self.tokens),
            sampler_mismatch: mean(self.mismatch, self.measured),
            capped_share: mean(self.capped, self.tokens),
            masked_share: 0.0,
            kl: mean(self.kl, self.tokens),
            kl_to_base: None,
            tokens: self.tokens as u64 / u64::from(epochs.max(1)),
        }
    }
}
