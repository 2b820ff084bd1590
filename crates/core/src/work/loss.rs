//! The loss of an update.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{KlReference, OldPolicy, PolicyLoss};

/// The loss of an update. In JSON it is the object of a [`PolicyLoss`], or the text `cross_entropy`.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// The clipped policy gradient with its entropy and KL terms.
    PolicyGradient(PolicyLoss),
    /// The mean negative log-likelihood of the tokens; advantages are ignored.
    CrossEntropy,
}

const CROSS_ENTROPY: &str = "cross_entropy";

impl Loss {
    /// Whether sequences must carry the sampler's log-probabilities.
    pub fn needs_logprobs(&self) -> bool {
        matches!(self, Self::PolicyGradient(loss) if loss.old_policy == OldPolicy::Sampler)
    }

    /// The reference of the KL term; `None` if there is no such term.
    pub fn kl_reference(&self) -> Option<KlReference> {
        match self {
            Self::PolicyGradient(loss) if loss.kl != 0.0 => Some(loss.kl_reference),
            Self::PolicyGradient(_) | Self::CrossEntropy => None,
        }
    }
}

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::PolicyGradient(loss) => loss.serialize(serializer),
            Self::CrossEntropy => serializer.serialize_str(CROSS_ENTROPY),
        }
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrObject;

        impl<'de> Visitor<'de> for TextOrObject {
            type Value = Loss;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "a policy loss or `{CROSS_ENTROPY}`")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Loss, E> {
                match name {
                    CROSS_ENTROPY => Ok(Loss::CrossEntropy),
                    other => Err(E::unknown_variant(other, &[CROSS_ENTROPY])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Loss, A::Error> {
                PolicyLoss::deserialize(MapAccessDeserializer::new(fields)).map(Loss::PolicyGradient)
            }
        }

        deserializer.deserialize_any(TextOrObject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_loss_reads_and_writes_as_it_does_alone() {
        let alone = serde_json::to_string(&PolicyLoss::default()).unwrap();
        let loss = Loss::PolicyGradient(PolicyLoss::default());
        assert_eq!(serde_json::to_string(&loss).unwrap(), alone);
        assert_eq!(serde_json::from_str::<Loss>(&alone).unwrap(), loss);
        assert_eq!(serde_json::to_string(&Loss::CrossEntropy).unwrap(), "\"cross_entropy\"");
        assert_eq!(
            serde_json::from_str::<Loss>("\"cross_entropy\"").unwrap(),
            Loss::CrossEntropy
        );
    }

    #[test]
    fn what_it_cannot_be_is_refused_by_name() {
        let refused = |text: &str| serde_json::from_str::<Loss>(text).unwrap_err().to_string();
        assert!(refused("\"entropy\"").contains("expected `cross_entropy`"));
        assert!(refused(r#"{"clip": 1}"#).contains("unknown field `clip`"));
        assert!(refused("3").contains("a policy loss or `cross_entropy`"));
    }
}
