//! Protects newborns until they have had time to prove themselves.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::EvolutionConfig;
use crate::id::MemberId;

/// The step of birth of each member born in an evolution, as kept in a run's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protection(BTreeMap<MemberId, u32>);

impl Protection {
    /// Records a birth at the end of `step`.
    pub fn born(&mut self, member: MemberId, step: u32) {
        self.0.insert(member, step);
    }

    /// Forgets a member that died.
    pub fn remove(&mut self, member: MemberId) {
        self.0.remove(&member);
    }

    /// Whether `member` cannot be replaced at the end of `step`, because it has trained for fewer than the configured
    /// number of evolution intervals. Founding members are never protected.
    pub fn protects(&self, member: MemberId, step: u32, config: &EvolutionConfig) -> bool {
        let span = u64::from(config.protection) * u64::from(config.every);
        self.0
            .get(&member)
            .is_some_and(|&born| u64::from(step) < u64::from(born) + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_newborn_is_safe_for_two_intervals() {
        let config = EvolutionConfig::default();
        let [child, founder] = [1, 2].map(|id| MemberId(Uuid::from_u128(id)));
        let mut protection = Protection::default();
        protection.born(child, 9);
        assert!(protection.protects(child, 19, &config));
        assert!(!protection.protects(child, 29, &config));
        assert!(!protection.protects(founder, 0, &config));
        protection.remove(child);
        assert!(!protection.protects(child, 19, &config));
    }
}
