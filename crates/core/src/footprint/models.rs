//! The sizes of well-known models, from their `config.json`.

use super::BaseShape;

/// Sizes by family and the parameter count in a name: vocabulary, width, MLP width, layers, query heads, key and value
/// heads, head width, and whether the output projection shares the embedding's weights.
type Sizes = (&'static str, &'static str, [u64; 7], bool);

/// `Qwen2.5` also covers `Qwen2.5-Coder` and `Qwen2.5-Math`.
const KNOWN: [Sizes; 10] = [
    ("Qwen2.5", "0.5B", [151_936, 896, 4864, 24, 14, 2, 64], true),
    ("Qwen2.5", "1.5B", [151_936, 1536, 8960, 28, 12, 2, 128], true),
    ("Qwen2.5", "3B", [151_936, 2048, 11_008, 36, 16, 2, 128], true),
    ("Qwen2.5", "7B", [152_064, 3584, 18_944, 28, 28, 4, 128], false),
    ("Qwen2.5", "14B", [152_064, 5120, 13_824, 48, 40, 8, 128], false),
    ("Qwen3", "0.6B", [151_936, 1024, 3072, 28, 16, 8, 128], true),
    ("Qwen3", "1.7B", [151_936, 2048, 6144, 28, 16, 8, 128], true),
    ("Qwen3", "4B", [151_936, 2560, 9728, 36, 32, 8, 128], true),
    ("Qwen3", "8B", [151_936, 4096, 12_288, 36, 32, 8, 128], false),
    ("Qwen3", "14B", [151_936, 5120, 17_408, 40, 40, 8, 128], false),
];

/// Variants with the same sizes; the word may come between the family and the size, or after the size.
const KINDS: [&str; 2] = ["Coder", "Math"];
const VARIANTS: [&str; 4] = ["Base", "Instruct", "Instruct-2507", "Thinking-2507"];

impl BaseShape {
    /// The base model that ships with Lyceum.
    pub const SEEDLING: Self = Self {
        vocab_size: 416,
        hidden_size: 128,
        intermediate_size: 384,
        num_hidden_layers: 6,
        num_attention_heads: 4,
        num_key_value_heads: 4,
        head_dim: 32,
        tie_word_embeddings: true,
    };

    /// The sizes of a well-known model, such as `Qwen/Qwen2.5-Coder-7B-Instruct` or `seedling`; `None` for others.
    pub fn of_name(name: &str) -> Option<Self> {
        let model = name.rsplit('/').next().unwrap_or(name);
        if model == "seedling" {
            return Some(Self::SEEDLING);
        }
        let sizes = |(family, parameters, ..): &&Sizes| {
            let Some(rest) = model.strip_prefix(family).and_then(|rest| rest.strip_prefix('-')) else {
                return false;
            };
            let of_kind = KINDS.iter().find_map(|kind| rest.strip_prefix(kind)?.strip_prefix('-'));
            match of_kind.unwrap_or(rest).strip_prefix(parameters) {
                Some("") => true,
                Some(variant) => variant
                    .strip_prefix('-')
                    .is_some_and(|variant| VARIANTS.contains(&variant)),
                None => false,
            }
        };
        let (_, _, sizes, tie_word_embeddings) = KNOWN.iter().find(sizes)?;
        let [
            vocab_size,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
        ] = *sizes;
        Some(Self {
            vocab_size,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
            tie_word_embeddings: *tie_word_embeddings,
        })
    }
}

/// The context length (`max_position_embeddings`) of well-known models, by their name in a config; `None` for others,
/// whose limit the worker reads from their `config.json`.
pub fn context_length(name: &str) -> Option<u32> {
    let model = name.rsplit('/').next().unwrap_or(name);
    let known = [
        ("seedling", 512),
        ("Qwen2.5-Math", 4096),
        ("Qwen2.5", 32768),
        ("Qwen3", 32768),
    ];
    known
        .iter()
        .find(|(stem, _)| model.starts_with(stem))
        .map(|(_, positions)| *positions)
}

#[cfg(test)]
mod tests {
    use crate::footprint::BaseShape;

    /// Parameters in billions from the model cards: all, and all but the embeddings.
    #[test]
    fn models_have_the_parameters_that_their_cards_say() {
        let cards = [
            ("Qwen/Qwen2.5-0.5B", 0.49, 0.36),
            ("Qwen/Qwen2.5-Coder-1.5B-Instruct", 1.54, 1.31),
            ("Qwen/Qwen2.5-Coder-3B", 3.09, 2.77),
            ("Qwen/Qwen2.5-Coder-7B", 7.61, 6.53),
            ("Qwen/Qwen2.5-14B-Instruct", 14.7, 13.1),
            ("Qwen/Qwen3-0.6B-Base", 0.6, 0.44),
            ("Qwen/Qwen3-1.7B", 1.7, 1.4),
            ("Qwen/Qwen3-4B-Instruct-2507", 4.0, 3.6),
            ("Qwen/Qwen3-8B-Base", 8.2, 6.95),
            ("Qwen/Qwen3-14B", 14.8, 13.2),
        ];
        for (name, all, without) in cards {
            let base = BaseShape::of_name(name).unwrap_or_else(|| panic!("{name} is not known"));
            let embeddings = base.vocab_size * base.hidden_size * if base.tie_word_embeddings { 1 } else { 2 };
            let billions = |parameters: u64| parameters as f64 / 1e9;
            // Cards round to a tenth or a hundredth, sometimes down.
            let is_near = |found: f64, said: f64| (found - said).abs() <= 0.013 * said + 0.005;
            assert!(
                is_near(billions(base.parameters()), all),
                "{name}: {}",
                billions(base.parameters())
            );
            let found = billions(base.parameters() - embeddings);
            assert!(is_near(found, without), "{name}: {found} without embeddings");
        }
    }

    #[test]
    fn the_seedling_has_the_sizes_of_its_config() {
        let config = include_str!("../../../../models/seedling/config.json");
        let config: serde_json::Value = serde_json::from_str(config).unwrap();
        assert_eq!(BaseShape::of_config(&config), Ok(BaseShape::SEEDLING));
        assert_eq!(BaseShape::of_name("seedling"), Some(BaseShape::SEEDLING));
    }

    #[test]
    fn other_names_are_not_known() {
        for name in [
            "Qwen/Qwen2.5-72B",
            "Qwen/Qwen3-30B-A3B",
            "Qwen2.5",
            "Qwen2.5-7B-Instruct-GPTQ-Int4",
            "Qwen2.5-VL-7B",
            "7B",
        ] {
            assert_eq!(BaseShape::of_name(name), None, "{name}");
        }
    }
}
