//! Reads a config, checks its populations, and fills in its defaults.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    config::{RunConfig, Schema, fill_in, leave_out_nulls, pointer_token},
    fault::{Fault, Faults},
};

/// The parameters of a config that has passed the schema. A missing value means the default, and so does each missing
/// field of a group that is given in part.
pub fn read_parameters<T: DeserializeOwned + JsonSchema + 'static>(config: &RunConfig) -> Result<T, Faults> {
    let mut given = match &config.parameters {
        Value::Null => serde_json::json!({}),
        given => given.clone(),
    };
    fill_in(&mut given, Schema::of::<T>().document());
    serde_json::from_value(given).map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))
}

/// Parameters with every default filled in. Optional fields stay left out, since TOML has no null, unless their default is
/// another value.
pub fn written_out<T: Serialize + JsonSchema + 'static>(parameters: &T) -> Result<Value, Faults> {
    let mut value =
        serde_json::to_value(parameters).map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))?;
    leave_out_nulls(&mut value, Schema::of::<T>().document());
    Ok(value)
}

/// Refuses more than one population.
pub fn single_population_fault(config: &RunConfig) -> Option<Fault> {
    let count = config.populations.len();
    let names = config.populations.keys().cloned().collect::<Vec<_>>().join(", ");
    let detail = format!("this recipe plays with 1 population, not {count} ({names})");
    (count != 1).then(|| Fault::new("/populations", detail))
}

/// Faults in the bases and adapter shapes of the populations.
pub fn population_faults(config: &RunConfig) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, population) in &config.populations {
        let place = format!("/populations/{}", pointer_token(name));
        if let Some(detail) = population.base_model.name_fault() {
            faults.push(Fault::new(format!("{place}/base_model/name"), detail));
        }
        if !(population.lora.lora_alpha.is_finite() && population.lora.lora_alpha > 0.0) {
            let detail = format!("{}: numbers above 0 are valid", population.lora.lora_alpha);
            faults.push(Fault::new(format!("{place}/lora/lora_alpha"), detail));
        }
    }
    faults
}
