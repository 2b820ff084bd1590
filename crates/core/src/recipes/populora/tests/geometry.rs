//! The geometry of members' weights: at births, where benchmarks are due, and at the end.

use super::*;
use crate::id::VersionId;

#[test]
fn at_births_every_member_is_measured_once_and_children_with_their_parents() {
    for order in [Order::Together, Order::Shuffled(3)] {
        let all = steps(&document(4, 4), skills(4, 4), order, 4);
        assert!(all[..3].iter().all(|step| step.records.geometry.is_empty()));
        let records = &all[3].records;
        let measured: BTreeSet<VersionId> = records.geometry.iter().map(|row| row.of.version).collect();
        // Both children, and the population that they were born into.
        let expected: BTreeSet<VersionId> = records.versions.iter().map(|version| version.id).collect();
        assert_eq!((&measured, measured.len()), (&expected, 10));
        assert_eq!(records.geometry.len(), 10, "each once");
        let pairs = records.geometry.iter().flat_map(|row| &row.pairs);
        let pairs: Vec<BTreeSet<VersionId>> = pairs.map(|pair| BTreeSet::from([pair.first, pair.second])).collect();
        assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), pairs.len(), "each pair once");
        for birth in &records.births {
            let child = VersionId::of(birth.child, 0);
            for parent in &birth.parents {
                assert!(pairs.contains(&BTreeSet::from([child, *parent])));
            }
        }
        for row in &records.geometry {
            let of = records.versions.iter().find(|version| version.id == row.of.version).unwrap();
            assert_eq!(of.member, row.member);
        }
    }
}

#[test]
fn without_births_members_are_measured_where_benchmarks_are_due_and_in_the_last_step() {
    let mut document = document(2, 2);
    document["steps"] = json!(3);
    document["parameters"]["evolution"]["every"] = json!(0);
    document["parameters"]["items"]["update"] = json!(4);
    document["benchmarks"] = json!({"suites": ["gsm8k"], "every": 2});
    let all = steps(&document, skills(2, 2), Order::Together, 3);
    assert!(all[0].records.geometry.is_empty());
    for step in &all[1..] {
        let records = &step.records;
        let written: BTreeSet<VersionId> = records.versions.iter().map(|version| version.id).collect();
        let measured: BTreeSet<VersionId> = records.geometry.iter().map(|row| row.of.version).collect();
        assert_eq!((&measured, measured.len()), (&written, 4));
        let pairs: Vec<usize> = records.geometry.iter().map(|row| row.pairs.len()).collect();
        assert_eq!(pairs, [3, 2, 1, 0], "each pair once");
    }
}
