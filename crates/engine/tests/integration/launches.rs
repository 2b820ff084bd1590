//! What the host asks of a GPU, counted by the stand-in for CUDA (`script/gpu-standin`): launching kernels bounds the speed of
//! small batches, and each transfer to the host waits for all earlier work.

use lyceum_core::work::{Dtype, Optimizer, Sampling};
use lyceum_engine::generate::{GenerationEvent, GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::learn::{TrainingSequence, Update, UpdateOptions};
use lyceum_engine::{Model, Placement, Population};

use crate::device::placement;
use crate::engine::fixtures::{STACKED, model_folder, population};
use crate::learning::batch::fresh;
use crate::standin::calls;

const NAME: &str = "qwen2-tied";

/// Samples of a member (`None`: of the bare base), and how many tokens each gets.
type Samples = (Option<usize>, usize, u32);

/// Equally many samples of each member.
const EVEN: [Samples; 3] = [(Some(0), 4, 6), (Some(1), 4, 6), (Some(2), 4, 6)];
/// Different numbers, and some of the base.
const RAGGED: [Samples; 4] = [(Some(0), 4, 6), (Some(1), 1, 6), (Some(2), 3, 6), (None, 2, 6)];
/// Equally many at first; when most have ended, the others are brought together.
const COMPACTED: [Samples; 5] =
    [(Some(0), 4, 12), (Some(1), 1, 12), (Some(1), 3, 4), (Some(2), 2, 12), (Some(2), 2, 4)];

/// A model of `layers` layers in bf16, with three members.
fn of_layers(layers: usize) -> (Model, Population) {
    let placement = Placement { dtype: Dtype::Bf16, ..placement() };
    let mut model = Model::load(&model_folder(NAME), placement).unwrap();
    let mut population = population(&model, NAME, &STACKED);
    model.layers.truncate(layers);
    model.config.num_hidden_layers = layers;
    population.layers.truncate(layers);
    (model, population)
}

/// Kernels and views of the last decoding step of a model of `layers` layers.
fn of_a_step(layers: usize, samples: &[Samples], share_prompts: bool) -> [u64; 2] {
    let (model, population) = of_layers(layers);
    let request = |(number, &(adapter, n, max_tokens)): (usize, &Samples)| GenerationRequest {
        id: number.to_string(),
        prompt: (0..9 + number as i64).collect(),
        adapter,
        n,
        sampling: Sampling { max_tokens, ignore_eos: true, ..Sampling::default() },
        seed: number as u64,
    };
    let requests: Vec<_> = samples.iter().enumerate().map(request).collect();
    let options = GenerationOptions { share_prompts, ..GenerationOptions::default() };
    let generator = Generator { model: &model, population: Some(&population), tokenizer: None };
    let mut counted = Vec::new();
    let mut count = || counted.push([calls(c"kernels"), calls(c"views")]);
    generator
        .generate(&requests, &options, &mut |event| {
            if let GenerationEvent::Progress { .. } = event {
                count();
            }
        })
        .unwrap();
    let [.., before, after] = counted.as_slice() else {
        panic!("at least two steps: {counted:?}");
    };
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn a_layer_of_a_decoding_step_takes_few_kernels_however_rows_are_distributed() {
    for (share_prompts, most) in [(false, 30), (true, 42)] {
        for (name, samples) in [("even", &EVEN[..]), ("ragged", &RAGGED), ("compacted", &COMPACTED)] {
            let (one, two) = (of_a_step(1, samples, share_prompts), of_a_step(2, samples, share_prompts));
            let [kernels, views] = [0, 1].map(|which| two[which] - one[which]);
            println!(
                "{name}, prompts {}: {kernels} kernels and {views} views a layer, {} and {} besides",
                if share_prompts { "shared" } else { "copied" },
                one[0] - kernels,
                one[1] - views,
            );
            assert!(kernels <= most, "{name}: {kernels} kernels a layer");
        }
    }
}

/// Transfers to and from the host in an update with clipping, for a model of `layers` layers.
fn transfers_of_an_update(layers: usize) -> [u64; 3] {
    let (model, start) = of_layers(layers);
    let sequence = |number: i64| TrainingSequence {
        id: number.to_string(),
        prompt: (0..4 + number).collect(),
        completion: (number..number + 6).collect(),
        logprobs: vec![-5.0; 6],
        advantage: if number % 2 == 0 { 1.0 } else { -1.0 },
    };
    let sequences: Vec<Vec<_>> = (0..3).map(|member| (member..member + 3).map(sequence).collect()).collect();
    let options = UpdateOptions {
        optimizer: Optimizer { max_grad_norm: 1e-3, ..Optimizer::default() },
        ..UpdateOptions::default()
    };
    let update = Update { model: &model, options: &options, reference: None };
    let state = fresh(&start);
    let count = || [c"copy device to host", c"copy host to device", c"aten::_local_scalar_dense"].map(calls);
    let before = count();
    update.run(&start, &state, &sequences, &mut |_| ()).unwrap();
    let after = count();
    [0, 1, 2].map(|which| after[which] - before[which])
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn an_update_of_more_layers_waits_for_the_device_as_often() {
    let (one, two) = (transfers_of_an_update(1), transfers_of_an_update(2));
    println!("{one:?}, {two:?}");
    assert_eq!(one, two);
}
