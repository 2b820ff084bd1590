//! Payloads queued by an earlier release are read, and written again byte for byte: later fields are left out at their
//! defaults.

use lyceum_core::work::Payload;

const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const ID: &str = "0190a5b0-0000-7000-8000-000000000000";

#[test]
fn payloads_of_every_kind_stay_as_they_were_written() {
    let adapter = format!(r#"{{"version":"{ID}","artifact":"{DIGEST}"}}"#);
    let learned = format!(r#"{{"version":"{ID}","artifact":"{DIGEST}","optimizer":"{DIGEST}"}}"#);
    let base = r#""base_model":{"name":"seedling"},"compute":{"dtype":"fp32","threads":1}"#;
    let sampling = concat!(
        r#""sampling":{"temperature":1.0,"top_p":1.0,"top_k":0,"max_tokens":96,"stop":["</f>"],"#,
        r#""stop_token_ids":[3],"vocabulary_mask":null}"#
    );
    let written = [
        format!(
            concat!(
                r#"{{"rollout":{{{base},"adapters":[{adapter}],{sampling},"#,
                r#""requests":[{{"id":"a","prompt":{{"text":"<po>"}},"adapter":0,"n":8,"seed":7}},"#,
                r#"{{"id":"b","prompt":{{"messages":[{{"role":"user","content":"?"}}]}},"n":1,"seed":8,"max_tokens":4}}],"#,
                r#""keep_tokens":true}}}}"#
            ),
            base = base,
            adapter = adapter,
            sampling = sampling
        ),
        r#"{"verify":{"tasks":[{"id":"0","kind":"math","gold":"0.5","answer":"1/2"}]}}"#.to_owned(),
        format!(
            concat!(
                r#"{{"update":{{{base},"members":[{{"member":"{id}","from":{learned},"to":"{id}","#,
                r#""sequences":[{{"rollout":"{id}","tokens":"{digest}","request":"a","sample":1,"advantage":-0.5}}]}}],"#,
                r#""loss":{{"clip_low":0.2,"clip_high":0.28,"clip_dual":3.0,"old_policy":"sampler","#,
                r#""aggregation":"token_mean","entropy":0.0,"kl":0.001,"kl_reference":"start"}},"#,
                r#""optimizer":{{"learning_rate":0.00005,"beta1":0.9,"beta2":0.999,"eps":1e-8,"weight_decay":0.0,"#,
                r#""max_grad_norm":1.0,"epochs":1,"minibatches":1}},"#,
                r#""micro_batch_tokens":4096,"recompute":false,"piece":{{"gradient":{{"index":0,"of":2}}}}}}}}"#
            ),
            base = base,
            id = ID,
            learned = learned,
            digest = DIGEST
        ),
        format!(
            concat!(
                r#"{{"evolve":{{"base_model":{{"name":"seedling","revision":"main"}},"#,
                r#""lora":{{"r":8,"lora_alpha":16.0,"target_modules":["v_proj","q_proj"],"use_rslora":false}},"#,
                r#""operator":"X1","parameters":{{"p":0.5}},"parents":[{adapter}],"seed":9,"to":"{id}"}}}}"#
            ),
            adapter = adapter,
            id = ID
        ),
        format!(
            concat!(
                r#"{{"benchmark":{{"suite":"gsm8k","dataset":"{id}","first":4,"rows":2,{base},"adapter":{adapter},"#,
                r#""prompts":"completion",{sampling},"n":1,"seed":11}}}}"#
            ),
            id = ID,
            base = base,
            adapter = adapter,
            sampling = sampling
        ),
    ];
    for text in written {
        let read: Payload = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
