use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// The factors of a module: A `[rank, 3]` and B `[2, rank]`, of small whole numbers.
fn factors(seed: usize, rank: usize) -> [Vec<f32>; 2] {
    let value = |at: usize| ((seed * 31 + at * 7) % 11) as f32 - 5.0;
    [(0..rank * 3).map(value).collect(), (0..2 * rank).map(|at| value(at + 100)).collect()]
}

/// `scaling · B·A`, `[2, 3]`.
fn update([a, b]: &[Vec<f32>; 2], rank: usize, scaling: f64) -> Vec<f64> {
    let cell = |row: usize, column: usize| -> f64 {
        (0..rank).map(|k| f64::from(b[row * rank + k]) * f64::from(a[k * 3 + column])).sum()
    };
    (0..6).map(|at| scaling * cell(at / 3, at % 3)).collect()
}

fn files(config: &Value, ranks: &BTreeMap<(usize, Projection), usize>) -> AdapterFiles {
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let mut tensors = Vec::new();
    for (&(layer, projection), &rank) in ranks {
        let [a, b] = factors(layer * 10 + projection as usize, rank);
        tensors.push((key(layer, projection, 'A'), vec![rank, 3], bytes(&a)));
        tensors.push((key(layer, projection, 'B'), vec![2, rank], bytes(&b)));
    }
    let views =
        tensors.iter().map(|(key, shape, bytes)| (key, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    AdapterFiles { config: serde_json::to_vec(config).unwrap(), weights: safetensors::serialize(views, None).unwrap() }
}

fn config(fields: Value) -> Value {
    let mut config = json!({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"]});
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    config
}

/// Each module, with the rank and the numerator that peft gives it.
type Expected = [((usize, Projection), (usize, f64)); 4];

#[test]
fn an_adapter_with_patterns_computes_the_same_without_them() {
    use Projection::{Down, Q};
    let cases: [(Value, Expected); 5] = [
        (
            json!({"rank_pattern": {"q_proj": 2}}),
            [((0, Q), (2, 8.0)), ((1, Q), (2, 8.0)), ((0, Down), (4, 8.0)), ((1, Down), (4, 8.0))],
        ),
        (
            json!({"rank_pattern": {"layers.1.self_attn.q_proj": 6, "q_proj": 2}, "alpha_pattern": {"mlp.down_proj": 3}}),
            [((0, Q), (2, 8.0)), ((1, Q), (6, 8.0)), ((0, Down), (4, 3.0)), ((1, Down), (4, 3.0))],
        ),
        // The first entry that matches counts, in the order of the file, and a name must be whole.
        (
            json!({"rank_pattern": {"q_proj": 2, "layers.1.self_attn.q_proj": 6, "proj": 9}, "alpha_pattern": null}),
            [((0, Q), (2, 8.0)), ((1, Q), (2, 8.0)), ((0, Down), (4, 8.0)), ((1, Down), (4, 8.0))],
        ),
        (
            json!({"rank_pattern": {"layers\\.(0|2)\\..*": 1}, "alpha_pattern": {"^model.layers.1.*_proj": 5}, "use_rslora": true}),
            [((0, Q), (1, 8.0)), ((1, Q), (4, 5.0)), ((0, Down), (1, 8.0)), ((1, Down), (4, 5.0))],
        ),
        (
            json!({"alpha_pattern": {"q_proj": 7}, "lora_alpha": 0}),
            [((0, Q), (4, 7.0)), ((1, Q), (4, 7.0)), ((0, Down), (4, 0.0)), ((1, Down), (4, 0.0))],
        ),
    ];
    for (fields, expected) in cases {
        let ranks = expected.iter().map(|(module, (rank, _))| (*module, *rank)).collect();
        let plain = files(&config(fields.clone()), &ranks).without_patterns(None).unwrap();
        let read: AdapterConfig = serde_json::from_slice(&plain.config).unwrap();
        let rank = *ranks.values().max().unwrap();
        assert_eq!(read.r, rank as i64, "{fields}");
        let shape = read.shape(vec![Q, Down]).unwrap();
        let tensors = SafeTensors::deserialize(&plain.weights).unwrap();
        for ((layer, projection), (own, alpha)) in expected {
            let divisor = if shape.use_rslora { (own as f64).sqrt() } else { own as f64 };
            let wanted = update(&factors(layer * 10 + projection as usize, own), own, alpha / divisor);
            let stored =
                ['A', 'B'].map(|factor| values(&tensors.tensor(&key(layer, projection, factor)).unwrap()).unwrap());
            let got = update(&stored, rank, shape.scaling());
            let is_same = wanted.iter().zip(&got).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs().max(1.0));
            assert!(is_same, "{fields} {layer} {projection}: {wanted:?} {got:?}");
        }
    }
}

#[test]
fn an_adapter_without_patterns_stays_as_it_is() {
    let ranks = BTreeMap::from([((0, Projection::Q), 4)]);
    for fields in [json!({}), json!({"rank_pattern": null}), json!({"rank_pattern": {}, "alpha_pattern": {}})] {
        let files = files(&config(fields), &ranks);
        assert_eq!(files.clone().without_patterns(None).unwrap(), files);
    }
}

#[test]
fn patterns_that_do_not_fit_are_refused_by_name() {
    let refused = |fields: Value, rank: usize| {
        let (file, reason) =
            files(&config(fields), &BTreeMap::from([((0, Projection::Q), rank)])).without_patterns(None).unwrap_err();
        format!("{file}: {reason}")
    };
    assert!(refused(json!({"rank_pattern": {"q_proj": 2}}), 4).contains("expected rank 2"));
    assert!(refused(json!({"rank_pattern": {"q_proj": 2.5}}), 4).contains("is 2.5"));
    assert!(refused(json!({"rank_pattern": {"q_proj": "2"}}), 4).contains("`q_proj` no number"));
    assert!(refused(json!({"alpha_pattern": {"(q_proj": 2}}), 4).contains("`(q_proj`"));
    assert!(refused(json!({"rank_pattern": {"q_proj": 0}}), 4).contains("is 0"));
}

#[test]
fn modules_that_are_left_out_have_factors_of_zeros() {
    use Projection::{Down, Q};
    let there = BTreeMap::from([((0, Q), 4), ((2, Q), 4), ((2, Down), 4)]);
    for fields in [json!({"exclude_modules": ".*layers\\.1\\..*"}), json!({"target_modules": ".*(0.*q|2.*).*_proj"})] {
        let plain = files(&config(fields), &there).without_patterns(Some(4)).unwrap();
        let read: AdapterConfig = serde_json::from_slice(&plain.config).unwrap();
        assert_eq!((read.r, read.scaling(), read.is_uneven()), (4, 2.0, false));
        assert_eq!(read.shape(vec![Q, Down]).unwrap().target_modules, [Q, Down]);
        let tensors = SafeTensors::deserialize(&plain.weights).unwrap();
        assert_eq!(tensors.len(), 2 * 2 * 4);
        for layer in 0..4 {
            for projection in [Q, Down] {
                let stored =
                    ['A', 'B'].map(|one| values(&tensors.tensor(&key(layer, projection, one)).unwrap()).unwrap());
                match there.get(&(layer, projection)) {
                    Some(_) => assert_eq!(stored, factors(layer * 10 + projection as usize, 4)),
                    None => assert_eq!(
                        stored.map(|values| (values.len(), values.iter().all(|&value| value == 0.0))),
                        [(12, true), (8, true)]
                    ),
                }
            }
        }
    }
    // A small file must not become a large one: by a layer that the base lacks, or by a rank that only one module has.
    let (exclude, far) = (config(json!({"exclude_modules": "x"})), BTreeMap::from([((0, Q), 4), ((3, Q), 4)]));
    let refused = |layers| files(&exclude, &far).without_patterns(layers).unwrap_err().1;
    assert!(refused(Some(3)).contains("of layer 3, of a base with at most 3 layers"));
    let far = BTreeMap::from([((0, Q), 60_000), ((999, Q), 4)]);
    let ranks = config(json!({"exclude_modules": "x", "rank_pattern": {"layers.0.*": 60_000}}));
    let refused = files(&ranks, &far).without_patterns(None).unwrap_err().1;
    assert!(refused.contains("of 1000 layers in rank 60000 it would have 1200000000 bytes"), "{refused}");

    let layers = BTreeMap::from([((0, Q), 4), ((2, Q), 4)]);
    let listed = |layers_to_transform: Value| {
        let config = config(
            json!({"target_modules": ["q_proj"], "layers_to_transform": layers_to_transform, "layers_pattern": "layers"}),
        );
        files(&config, &layers).without_patterns(None)
    };
    let plain = listed(json!([0, 2])).unwrap();
    assert_eq!(SafeTensors::deserialize(&plain.weights).unwrap().len(), 6);
    assert!(listed(json!([0, 1, 2])).unwrap_err().1.contains("lists layer 1"));
    assert!(listed(json!(0)).unwrap_err().1.contains("does not list layer 2"));
}
