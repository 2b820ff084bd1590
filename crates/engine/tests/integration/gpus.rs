//! Which GPU is used, and what is known of it: with the stand-in for CUDA (`script/gpu-standin`).

use lyceum_core::work::Sampling;
use lyceum_engine::device::{gpu_name, memory};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};

use crate::device::placement;
use crate::engine::fixtures::{STACKED, model, population};
use crate::learning::lesson::Lesson;
use crate::standin::has_context;

#[test]
#[ignore = "needs script/gpu-standin"]
fn other_gpus_than_the_chosen_one_get_no_context() {
    let lesson = Lesson::new();
    lesson.learn(&lesson.fresh()).unwrap();
    let stacked = population(&lesson.model, Lesson::BASE, &STACKED);
    let generator = Generator { model: &lesson.model, population: Some(&stacked), tokenizer: None };
    let request = GenerationRequest {
        id: "one".to_owned(),
        prompt: vec![1, 2, 3],
        adapter: Some(1),
        n: 2,
        sampling: Sampling { max_tokens: 8, ..Sampling::default() },
        seed: 1,
    };
    let options =
        GenerationOptions::fitting(generator.model, generator.population, std::slice::from_ref(&request), None);
    generator.generate(&[request], &options, &mut |_| ()).unwrap();
    let chosen = placement().gpu().expect("a GPU");
    for gpu in 0..tch::Cuda::device_count() as usize {
        assert_eq!(has_context(gpu), gpu == chosen, "GPU {gpu}");
    }
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn what_was_free_before_the_weights_is_planned_with() {
    let chosen = placement().gpu().expect("a GPU");
    let free = memory(chosen).expect("a GPU that tells its memory");
    let _model = model("qwen2-tied");
    assert_eq!(memory(chosen), Some(free));
    assert!(gpu_name(chosen).is_some_and(|name| name.starts_with("stand-in")));
}
