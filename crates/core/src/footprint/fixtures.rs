//! Shapes that tests measure.

use super::BaseShape;
use crate::work::{LoraShape, Projection};

pub(super) fn qwen_7b() -> BaseShape {
    BaseShape::of_name("Qwen/Qwen2.5-7B").unwrap()
}

pub(super) fn attention_only() -> LoraShape {
    LoraShape {
        r: 32,
        lora_alpha: 64.0,
        target_modules: vec![Projection::Q, Projection::K, Projection::V, Projection::O],
        use_rslora: false,
    }
}
