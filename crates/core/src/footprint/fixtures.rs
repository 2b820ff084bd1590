//! Shapes that tests measure.

use super::BaseShape;
use crate::work::LoraShape;

pub(super) fn qwen_7b() -> BaseShape {
    BaseShape::of_name("Qwen/Qwen2.5-7B").unwrap()
}

pub(super) fn attention_only() -> LoraShape {
    LoraShape {
        r: 32,
        lora_alpha: 64.0,
        target_modules: ["q_proj", "k_proj", "v_proj", "o_proj"].map(str::to_owned).to_vec(),
        use_rslora: false,
    }
}
