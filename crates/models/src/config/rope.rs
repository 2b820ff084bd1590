//! The rotary position embedding in `config.json`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ConfigFile;

/// How Llama 3.1 and later stretch the rotary embedding to longer contexts (`rope_type` `llama3`): low frequencies are divided by
/// `factor`, high ones kept, and those between are interpolated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llama3Rope {
    /// The stretching of low frequencies.
    pub factor: f64,
    /// Frequencies with fewer periods in the original context than this are low.
    pub low_freq_factor: f64,
    /// Frequencies with more periods in the original context than this are high.
    pub high_freq_factor: f64,
    /// The original context in tokens.
    pub original_max_position_embeddings: f64,
}

#[derive(Deserialize)]
pub(super) struct RopeParameters {
    rope_type: Option<String>,
    /// Its older name. transformers writes both.
    #[serde(rename = "type")]
    older_type: Option<String>,
    rope_theta: Option<f64>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl ConfigFile {
    pub(super) fn rope_theta(&self) -> std::result::Result<f64, String> {
        let theta =
            self.rope_parameters.as_ref().and_then(|rope| rope.rope_theta).or(self.rope_theta).unwrap_or(10_000.0);
        if theta > 0.0 { Ok(theta) } else { Err(format!("`rope_theta` is {theta}; it must be positive")) }
    }

    pub(super) fn rope_scaling(&self) -> std::result::Result<Option<Llama3Rope>, String> {
        let given = [("rope_parameters", &self.rope_parameters), ("rope_scaling", &self.rope_scaling)];
        let mut found = None;
        for (field, rope) in given {
            let Some(rope) = rope else { continue };
            if let Some((layers, _)) = rope.other.iter().find(|(_, value)| value.is_object()) {
                return Err(format!(
                    "`{field}` has a rotary embedding of its own for `{layers}`; only one for all layers is supported"
                ));
            }
            let is_untyped = rope.rope_type.is_none() && rope.older_type.is_none();
            let scales = |(name, value): &(&String, &Value)| {
                !(value.is_null() || *name == "partial_rotary_factor" && value.as_f64() == Some(1.0))
            };
            if is_untyped && let Some((name, value)) = rope.other.iter().find(scales) {
                return Err(format!(
                    "`{field}` has `{name}` ({value}) but no `rope_type`, so it does not say how positions are scaled; \
                     only `default` without scaling and `llama3` are supported"
                ));
            }
            let kinds = [&rope.rope_type, &rope.older_type].into_iter().flatten();
            for kind in kinds.filter(|kind| *kind != "default") {
                if kind != "llama3" {
                    return Err(format!(
                        "the rotary embedding is scaled (`{kind}`); only `default` and `llama3` are supported"
                    ));
                }
                found = Some(llama3(&rope.other).map_err(|reason| format!("`{field}` is `llama3`: {reason}"))?);
            }
        }
        Ok(found)
    }
}

fn llama3(fields: &Map<String, Value>) -> std::result::Result<Llama3Rope, String> {
    let number = |name: &str| {
        let found = fields.get(name).unwrap_or(&Value::Null);
        found.as_f64().ok_or_else(|| format!("`{name}` is {found}; it must be a number"))
    };
    let rope = Llama3Rope {
        factor: number("factor")?,
        low_freq_factor: number("low_freq_factor")?,
        high_freq_factor: number("high_freq_factor")?,
        original_max_position_embeddings: number("original_max_position_embeddings")?,
    };
    let numbers = [
        ("factor", rope.factor),
        ("low_freq_factor", rope.low_freq_factor),
        ("original_max_position_embeddings", rope.original_max_position_embeddings),
    ];
    if let Some((name, value)) = numbers.into_iter().find(|(_, value)| *value <= 0.0) {
        return Err(format!("`{name}` is {value}; it must be positive"));
    }
    let (low, high) = (rope.low_freq_factor, rope.high_freq_factor);
    if high <= low {
        return Err(format!("`high_freq_factor` is {high}; it must be more than `low_freq_factor` ({low})"));
    }
    Ok(rope)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::with_rope;

    #[test]
    fn a_stretched_rotary_embedding_needs_all_of_its_numbers() {
        let whole = json!({
            "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        });
        let scaling = with_rope(&whole).expect("whole").rope_scaling.expect("stretched");
        assert_eq!((scaling.factor, scaling.original_max_position_embeddings), (32.0, 8192.0));
        for (field, value, found) in [
            ("factor", json!(null), "`factor` is null; it must be a number"),
            ("factor", json!(0), "`factor` is 0; it must be positive"),
            ("high_freq_factor", json!(1.0), "`high_freq_factor` is 1; it must be more than"),
        ] {
            let mut rope = whole.clone();
            rope[field] = value;
            let refusal = with_rope(&rope).expect_err(found);
            assert!(refusal.contains(found), "{refusal}");
        }
    }

    #[test]
    fn the_type_of_a_rotary_embedding_has_two_names() {
        for rope in [
            json!(null),
            json!({"type": "default"}),
            json!({"rope_type": "default"}),
            json!({"type": "default", "rope_type": "default"}),
        ] {
            assert!(with_rope(&rope).is_ok(), "{rope}");
        }
        for rope in [
            json!({"type": "yarn", "rope_type": "yarn"}),
            json!({"type": "yarn", "rope_type": "default"}),
            json!({"type": "default", "rope_type": "yarn"}),
        ] {
            let refusal = with_rope(&rope).expect_err("it is scaled");
            assert!(refusal.contains("scaled (`yarn`)"), "{rope}: {refusal}");
        }
    }
}
