//! Members: how they are kept in a run's memory, their births, and the populations of a config.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::config::{RunConfig, Schema, fill_in, leave_out_nulls, pointer_token};
use crate::contract::{BirthRecord, MemberRecord, PlanError, PopulationRecord, Role, Side, VersionRecord};
use crate::evolution::INIT;
use crate::fault::{Fault, Faults};
use crate::id::{ExecutionId, MemberId, PopulationId, VersionId};
use crate::kit::{Draft, Progress, join};
use crate::work::{AdapterRef, EvolvePayload};

/// A living member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, which determines its identifier.
    pub name: String,
    /// Its population; `None` in a run with only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<String>,
    /// The roles it plays.
    pub roles: Vec<Role>,
    /// Its weights; `None` before its birth in step 0.
    pub adapter: Option<AdapterRef>,
    /// Updates since its birth.
    pub ordinal: u32,
    /// The step in which it was born.
    pub born: u32,
    /// Its own learning rate; `None` for the optimizer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
}

impl Member {
    /// A member that has no weights yet.
    pub fn unborn(name: String, roles: Vec<Role>, born: u32) -> Self {
        Self { name, population: None, roles, adapter: None, ordinal: 0, born, learning_rate: None }
    }

    /// Its identifier in `run`.
    pub fn id(&self, run: ExecutionId) -> MemberId {
        MemberId::of(run, &self.name)
    }

    /// Its identifier and the version it plays with.
    pub fn playing(&self, run: ExecutionId) -> (MemberId, VersionId) {
        let id = self.id(run);
        (id, self.adapter.map_or(VersionId::of(id, 0), |adapter| adapter.version))
    }

    /// The first of its roles on `side`.
    pub fn role_of(&self, side: Side) -> Option<Role> {
        self.roles.iter().copied().find(|role| role.side() == side)
    }

    /// Whether it plays `role`.
    pub fn plays(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// How many names of each kind have been given out: names are never reused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names(BTreeMap<String, u32>);

impl Names {
    /// A name for a member with these roles: `teacher-0`, `teacher-1`, …; `agent-0` for one with several.
    pub fn next(&mut self, roles: &[Role]) -> String {
        let stem = match roles {
            [role] => role.name(),
            _ => "agent",
        };
        let number = self.0.entry(stem.to_owned()).or_default();
        let name = format!("{stem}-{number}");
        *number += 1;
        name
    }
}

/// The founding members of a config, in its order.
pub fn founders(config: &RunConfig, names: &mut Names) -> Vec<Member> {
    let has_several = config.populations.len() > 1;
    let groups = config.populations.iter().flat_map(|(name, population)| {
        let groups = population.members.iter();
        groups.map(move |group| (has_several.then(|| name.clone()), group))
    });
    let members = groups.flat_map(|(population, group)| std::iter::repeat_n((population, group), group.count as usize));
    members
        .map(|(population, group)| Member {
            population,
            ..Member::unborn(names.next(&group.roles), group.roles.clone(), 0)
        })
        .collect()
}

impl Draft<'_> {
    /// Creates weights for members that have none, in the run's first step.
    pub fn born(&mut self) -> Progress<()> {
        if self.members.iter().all(|member| member.adapter.is_some()) {
            return Ok(());
        }
        let populations = &self.run.config.populations;
        let records = populations.iter().map(|(name, population)| PopulationRecord {
            id: PopulationId::of(self.run.run, name),
            name: name.clone(),
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
        });
        self.plan.records.populations.extend(records);
        join(0..self.members.len(), |place| self.birth(place)).map(drop)
    }

    fn birth(&mut self, place: usize) -> Progress<()> {
        let (name, population) = self.population(place)?;
        let key = self.key("birth", u32::try_from(place).unwrap_or(u32::MAX));
        let seed = self.seed(&key, 0);
        let member = &self.members[place];
        let id = member.id(self.run.run);
        self.plan.records.members.push(MemberRecord {
            id,
            population: PopulationId::of(self.run.run, name),
            name: member.name.clone(),
            roles: member.roles.clone(),
        });
        let ancestor = self.ancestor(place)?;
        let operator = if ancestor.is_some() { "copy_parent" } else { INIT };
        let born = self.evolve(&key, || EvolvePayload {
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
            operator: operator.to_owned(),
            parameters: BTreeMap::new(),
            parents: ancestor.into_iter().collect(),
            seed,
            to: VersionId::of(id, 0),
            measured: Vec::new(),
        })?;
        self.plan.records.versions.push(VersionRecord {
            id: born.version.version,
            member: id,
            ordinal: 0,
            artifact: born.version.artifact,
            optimizer: born.version.optimizer,
            learning_rate: self.members[place].learning_rate,
        });
        self.plan.records.births.push(BirthRecord {
            child: id,
            source: key,
            operator: operator.to_owned(),
            parameters: serde_json::json!({}),
            seed,
            parents: ancestor.iter().map(|parent| parent.version).collect(),
            replaces: None,
            notes: born.notes.clone(),
        });
        self.members[place].adapter = Some(born.version);
        Ok(())
    }

    /// The weights that the founder at `place` begins with, if its group names any.
    fn ancestor(&self, place: usize) -> Result<Option<AdapterRef>, PlanError> {
        let populations = self.run.config.populations.values();
        let groups = populations.flat_map(|population| &population.members);
        let mut founders = groups.flat_map(|group| std::iter::repeat_n(&group.from, group.count as usize));
        let Some(from) = founders.nth(place).and_then(Option::as_ref) else { return Ok(None) };
        let unknown = || PlanError::Other(format!("the weights of {from:?} were not looked up"));
        from.weights().ok_or_else(unknown).map(Some)
    }
}

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

/// A config with the defaults of its parameters written out, unless `check`, which may settle what follows from others,
/// finds faults in it.
pub fn resolved<T: Serialize + DeserializeOwned + JsonSchema + 'static>(
    mut config: RunConfig,
    check: impl FnOnce(&mut RunConfig, &mut T) -> Vec<Fault>,
) -> Result<RunConfig, Faults> {
    let mut parameters = read_parameters(&config)?;
    let faults = check(&mut config, &mut parameters);
    Faults(faults).or(())?;
    config.parameters = written_out(&parameters)?;
    Ok(config)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_up_by_role() {
        let mut names = Names::default();
        let mut next = |roles: &[Role]| names.next(roles);
        assert_eq!(next(&[Role::Teacher]), "teacher-0");
        assert_eq!(next(&[Role::Student]), "student-0");
        assert_eq!(next(&[Role::Teacher]), "teacher-1");
        assert_eq!(next(&[Role::Teacher, Role::Student]), "agent-0");
    }
}
