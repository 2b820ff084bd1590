//! Evaluations of type `operator_retention`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::benchmark::MAX_SAMPLES;
use crate::evolution::{CATALOGUE, INIT, OperatorError, operator};
use crate::fault::Fault;
use crate::id::ExecutionId;

/// The most children of an evaluation, over snapshots, operators and seeds.
const MAX_CHILDREN: usize = 512;

/// The most answers of children to measured rows in a step; its plan is made in memory.
const MAX_ANSWERS: u64 = 1_000_000;

/// Makes children by evolution operators of parents that learned one task each by `rlvr`, trains them further on their
/// parents' tasks, and compares them with their parents (PopuLoRA, section 4.6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorRetentionSpec {
    /// One parent or two. Mutations change the first, crossovers mix both.
    #[schemars(length(min = 1, max = 2))]
    pub parents: Vec<Parent>,
    /// The children are made of the parents' weights after these numbers of steps of their runs.
    #[schemars(length(min = 1, max = 16))]
    pub snapshots: Vec<u32>,
    /// Operators of the catalogue; left out, all for which there are parents. `init` makes a fresh adapter: the control
    /// for what only retraining achieves.
    #[serde(default)]
    #[schemars(length(max = 18))]
    pub operators: Vec<String>,
    /// Steps of retraining, with the settings of the parents' runs.
    #[serde(default = "steps")]
    #[schemars(range(min = 1, max = 10_000))]
    pub steps: u32,
    /// Steps between measurements. The first and the last step are always measured.
    #[serde(default = "every")]
    #[schemars(range(min = 1))]
    pub every: u32,
    /// Rows of each task that are measured, evenly spaced; all if there are fewer.
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = 10_000))]
    pub rows: u32,
    /// Answers to each of these rows, drawn alike by everybody in every step.
    #[serde(default = "answers")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// Children of each operator at each snapshot. They differ in the operator's draws and in those of retraining.
    #[serde(default = "seeds")]
    #[schemars(range(min = 1, max = 64))]
    pub seeds: u32,
}

/// A member of a run of `rlvr`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parent {
    /// The run.
    pub run: ExecutionId,
    /// The member, by name; may be left out in a run of one.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub member: Option<String>,
}

fn steps() -> u32 {
    40
}

fn every() -> u32 {
    5
}

fn rows() -> u32 {
    64
}

fn answers() -> u32 {
    4
}

fn seeds() -> u32 {
    1
}

/// How many parents an operator takes; `init` takes none.
///
/// # Errors
/// There is no such operator.
pub(crate) fn arity(name: &str) -> Result<usize, OperatorError> {
    match name {
        INIT => Ok(0),
        name => Ok(operator(name)?.arity),
    }
}

impl OperatorRetentionSpec {
    /// The run that it is about: that of the first parent.
    pub fn run(&self) -> Option<ExecutionId> {
        self.parents.first().map(|parent| parent.run)
    }

    /// The operators: those named, or all for which there are parents.
    pub fn operators(&self) -> Vec<String> {
        if !self.operators.is_empty() {
            return self.operators.clone();
        }
        let all = CATALOGUE.iter();
        let possible = all.filter(|operator| operator.arity <= self.parents.len());
        possible.map(|operator| operator.name.to_owned()).collect()
    }

    /// What is wrong with it whatever its runs are; pointers begin at `/spec`.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |pointer: String, detail: String| faults.push(Fault::new(format!("/spec/{pointer}"), detail));
        if let [one, other] = self.parents.as_slice()
            && one == other
        {
            let detail = "the same as the first parent: another member or run is needed, or only one parent";
            fault("parents/1".to_owned(), detail.to_owned());
        }
        let mut known = BTreeSet::new();
        for (place, snapshot) in self.snapshots.iter().enumerate() {
            let pointer = format!("snapshots/{place}");
            if *snapshot == 0 {
                let detail = "0: at least 1 is valid, since a parent that has learned nothing has nothing to retain";
                fault(pointer.clone(), detail.to_owned());
            }
            if !known.insert(*snapshot) {
                fault(pointer, format!("{snapshot} is listed twice"));
            }
        }
        let mut known = BTreeSet::new();
        for (place, name) in self.operators.iter().enumerate() {
            let pointer = format!("operators/{place}");
            match arity(name) {
                Err(unknown) => fault(pointer.clone(), format!("{unknown}; {INIT} is valid too")),
                Ok(arity) if arity > self.parents.len() => {
                    let detail = format!("{name} takes {arity} parents, and there is 1: name another in `parents`");
                    fault(pointer.clone(), detail);
                }
                Ok(_) => {}
            }
            if !known.insert(name) {
                fault(pointer, format!("{name} is listed twice"));
            }
        }
        if self.every > self.steps {
            let detail = format!("{}: 1 to {} is valid, the steps of retraining", self.every, self.steps);
            fault("every".to_owned(), detail);
        }
        let children = self.snapshots.len() * self.operators().len() * self.seeds as usize;
        if children > MAX_CHILDREN {
            let detail = format!(
                "{} seeds of {} operators at {} snapshots are {children} children: at most {MAX_CHILDREN} are trained at once",
                self.seeds,
                self.operators().len(),
                self.snapshots.len()
            );
            fault("seeds".to_owned(), detail);
            return faults;
        }
        let answers = children as u64 * self.parents.len() as u64 * u64::from(self.rows) * u64::from(self.n);
        if answers > MAX_ANSWERS {
            let detail = format!(
                "{} answers to {} rows of each task by {children} children are {answers}: at most {MAX_ANSWERS} are planned at \
                 once",
                self.n, self.rows
            );
            fault("n".to_owned(), detail);
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn spec(own: &Value) -> OperatorRetentionSpec {
        let run = Uuid::from_u128(1);
        let mut spec = json!({"parents": [{"run": run, "member": "solver-0"}, {"run": run, "member": "solver-1"}], "snapshots": [25]});
        for (name, value) in own.as_object().unwrap() {
            spec[name] = value.clone();
        }
        OperatorRetentionSpec::deserialize(spec).unwrap()
    }

    #[test]
    fn two_parents_get_every_operator_and_one_those_that_need_one() {
        let all: Vec<&str> = CATALOGUE.iter().map(|operator| operator.name).collect();
        assert_eq!(spec(&json!({})).operators(), all);
        let one = spec(&json!({"parents": [{"run": Uuid::from_u128(1)}]})).operators();
        let needs_one = |name: &str| CATALOGUE.iter().any(|operator| operator.name == name && operator.arity <= 1);
        assert!(all.iter().all(|name| one.iter().any(|own| own == name) == needs_one(name)), "{one:?}");
        assert_eq!(spec(&json!({})).faults(), []);
    }

    #[test]
    fn every_fault_is_named_with_its_place_and_cure() {
        let one = json!([{"run": Uuid::from_u128(1)}]);
        let twice = json!([{"run": Uuid::from_u128(1)}, {"run": Uuid::from_u128(1)}]);
        for (own, pointer, says) in [
            (json!({"parents": twice}), "/spec/parents/1", "only one parent"),
            (json!({"snapshots": [5, 0]}), "/spec/snapshots/1", "at least 1"),
            (json!({"snapshots": [5, 5]}), "/spec/snapshots/1", "listed twice"),
            (json!({"operators": ["M1", "M7"]}), "/spec/operators/1", "did you mean"),
            (json!({"operators": ["M1", "M1"]}), "/spec/operators/1", "listed twice"),
            (json!({"parents": one, "operators": ["X1"]}), "/spec/operators/0", "takes 2 parents"),
            (json!({"steps": 4, "every": 5}), "/spec/every", "1 to 4"),
            (json!({"rows": 10_000, "n": 4}), "/spec/n", "at most 1000000"),
            (json!({"snapshots": [1, 2, 3], "seeds": 64}), "/spec/seeds", "at most 512"),
        ] {
            let faults = spec(&own).faults();
            assert_eq!(faults.len(), 1, "{own}: {faults:?}");
            assert_eq!(faults[0].pointer, pointer);
            assert!(faults[0].detail.contains(says), "{own}: {faults:?}");
        }
    }
}
