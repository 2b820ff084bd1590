//! Reading a config, checking its populations, and writing it out.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    config::{RunConfig, pointer_token},
    fault::{Fault, Faults, nearest},
};

/// The parameters of a config that the schema has passed; none at all stand for the defaults.
pub(crate) fn read_parameters<T: DeserializeOwned>(config: &RunConfig) -> Result<T, Faults> {
    let given = match &config.parameters {
        Value::Null => serde_json::json!({}),
        given => given.clone(),
    };
    serde_json::from_value(given).map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))
}

/// Parameters with every default in them. What is left out stays left out: TOML has no null.
pub(crate) fn written_out<T: Serialize>(parameters: &T) -> Result<Value, Faults> {
    let mut value =
        serde_json::to_value(parameters).map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))?;
    leave_out_nulls(&mut value);
    Ok(value)
}

fn leave_out_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(leave_out_nulls);
    }
}

/// Proposals of a step, at most: their rows are numbered, and a step's plan is made in memory.
pub(crate) const MOST_PROPOSALS: u32 = 1_000_000;

/// Projections that the engine can adapt.
const PROJECTIONS: [&str; 7] = [
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "gate_proj",
    "up_proj",
    "down_proj",
];

/// What is wrong with the populations of a recipe that plays with one.
pub(crate) fn population_faults(config: &RunConfig) -> Vec<Fault> {
    let mut faults = Vec::new();
    if config.populations.len() != 1 {
        let names = config.populations.keys().cloned().collect::<Vec<_>>().join(", ");
        let detail = format!(
            "this recipe plays with 1 population, not {} ({names})",
            config.populations.len()
        );
        faults.push(Fault::new("/populations", detail));
    }
    for (name, population) in &config.populations {
        let place = format!("/populations/{}", pointer_token(name));
        if population.base_model.name.trim().is_empty() {
            faults.push(Fault::new(
                format!("{place}/base_model/name"),
                "a base model must be named",
            ));
        }
        if !(population.lora.lora_alpha.is_finite() && population.lora.lora_alpha > 0.0) {
            let detail = format!("{}: numbers above 0 are valid", population.lora.lora_alpha);
            faults.push(Fault::new(format!("{place}/lora/lora_alpha"), detail));
        }
        for (index, module) in population.lora.target_modules.iter().enumerate() {
            if !PROJECTIONS.contains(&module.as_str()) {
                let hint = nearest(module, PROJECTIONS)
                    .map(|near| format!("did you mean `{near}`?"))
                    .unwrap_or_else(|| format!("valid are {}", PROJECTIONS.join(", ")));
                let detail = format!("`{module}` is no projection; {hint}");
                faults.push(Fault::new(format!("{place}/lora/target_modules/{index}"), detail));
            }
        }
    }
    faults
}
