//! Members that begin with weights of other runs.

use serde_json::{Value, json};

use super::{document, skills, steps};
use crate::artifact::Digest;
use crate::id::VersionId;
use crate::simulation::Order;

#[test]
fn founders_of_four_origins_breed_in_the_first_evolution() {
    let versions = [1, 2, 3, 4].map(|number| VersionId(uuid::Uuid::from_u128(number)));
    let mut document = document(4, 4);
    let from = |version: &VersionId| {
        json!({
            "roles": ["student"],
            "count": 1,
            "from": {"version": version, "artifact": Digest::of(version.0.as_bytes())},
        })
    };
    let mut members: Vec<Value> = versions.iter().map(from).collect();
    members.insert(0, json!({"roles": ["teacher"], "count": 4}));
    document["populations"]["main"]["members"] = json!(members);
    document["parameters"]["evolution"]["operators"] = json!(["X5"]);

    let all = steps(&document, skills(4, 4), Order::Together, 4);
    let births: Vec<_> = all[0].records.births.iter().collect();
    let parents: Vec<(&str, Vec<VersionId>)> =
        births.iter().map(|birth| (birth.operator.as_str(), birth.parents.clone())).collect();
    let copies = versions.map(|version| ("copy_parent", vec![version]));
    let wanted: Vec<_> = std::iter::repeat_n(("init", Vec::new()), 4).chain(copies).collect();
    assert_eq!(parents, wanted);

    let crossed = &all[3].records.births;
    assert!(crossed.iter().any(|birth| birth.operator == "X5" && birth.parents.len() == 2), "{crossed:?}");
}
