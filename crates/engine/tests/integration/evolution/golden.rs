//! Every operator compared with NumPy, given the same draws.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use lyceum_core::evolution::{CATALOGUE, operator};
use lyceum_engine::evolve::{Draws, Kernel, Module, Notes};
use lyceum_engine::weights::Checkpoint;

use crate::evolution::modules::{apart, update, wide};

/// Numbers drawn by NumPy.
struct Recorded {
    normals: VecDeque<f32>,
    uniforms: VecDeque<f32>,
    indices: VecDeque<i64>,
}

impl Recorded {
    fn new(fixture: &Checkpoint, prefix: &str) -> Self {
        let floats = |kind: &str| -> VecDeque<f32> {
            let name = format!("{prefix}/{kind}");
            match fixture.contains(&name) {
                true => Vec::try_from(fixture.read(&name).unwrap().values).unwrap().into(),
                false => VecDeque::new(),
            }
        };
        let name = format!("{prefix}/indices");
        let indices: Vec<i64> = match fixture.contains(&name) {
            true => Vec::try_from(fixture.read(&name).unwrap().values).unwrap(),
            false => Vec::new(),
        };
        Self { normals: floats("normals"), uniforms: floats("uniforms"), indices: indices.into() }
    }

    fn is_used_up(&self) -> bool {
        self.normals.is_empty() && self.uniforms.is_empty() && self.indices.is_empty()
    }
}

impl Draws for Recorded {
    fn normals(&mut self, values: &mut [f32]) {
        values.fill_with(|| self.normals.pop_front().expect("a normal number that NumPy did not draw"));
    }

    fn uniforms(&mut self, values: &mut [f32]) {
        values.fill_with(|| self.uniforms.pop_front().expect("a uniform number that NumPy did not draw"));
    }

    fn index(&mut self, below: usize) -> usize {
        let index = self.indices.pop_front().expect("an index that NumPy did not draw") as usize;
        assert!(index < below);
        index
    }
}

fn module(fixture: &Checkpoint, prefix: &str) -> Module {
    let factor = |name: &str| fixture.read(&format!("{prefix}/{name}")).unwrap().values;
    let (a, b) = (factor("a"), factor("b"));
    Module {
        rank: a.size()[0] as usize,
        inputs: a.size()[1] as usize,
        outputs: b.size()[0] as usize,
        a: Vec::try_from(a.reshape([-1])).unwrap(),
        b: Vec::try_from(b.reshape([-1])).unwrap(),
    }
}

#[test]
fn every_operator_equals_numpy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/evolution.safetensors");
    let fixture = Checkpoint::from_file(&path).unwrap();
    let mut compared = 0;
    for set in ["four", "one", "seven"] {
        let modules = (0..).take_while(|index| fixture.contains(&format!("{set}/first/{index}/a"))).count();
        for name in CATALOGUE.iter().map(|operator| operator.name) {
            if name == "copy_parent" || !fixture.contains(&format!("{set}/{name}/0/a")) {
                continue;
            }
            let operator = operator(name).unwrap();
            let parameters = operator.resolve(&BTreeMap::new()).unwrap();
            let rank = module(&fixture, &format!("{set}/first/0")).rank;
            let mut call = Recorded::new(&fixture, &format!("{set}/{name}/call"));
            let kernel = Kernel::new(operator, &parameters, modules, rank, &mut call).unwrap();
            assert!(call.is_used_up(), "{set} {name}");
            for index in 0..modules {
                let parents = ["first", "second"][..operator.arity].iter();
                let parents = parents.map(|parent| module(&fixture, &format!("{set}/{parent}/{index}"))).collect();
                let mut draws = Recorded::new(&fixture, &format!("{set}/{name}/{index}"));
                let ours = kernel.child(index, parents, &mut draws, &Notes::default()).unwrap();
                assert!(draws.is_used_up(), "{set} {name} {index}");
                let expected = module(&fixture, &format!("{set}/{name}/{index}"));
                let place = format!("{set} {name} {index}");
                assert!(apart(&wide(&ours.b), &wide(&expected.b)) < 1e-4, "B of {place}");
                assert!(apart(&update(&ours), &update(&expected)) < 1e-4, "BA of {place}");
                // A row of A whose column of B is zero is kept; the paper's split would zero it.
                for (row, expected) in ours.a.chunks_exact(ours.inputs).zip(expected.a.chunks_exact(ours.inputs)) {
                    if expected.iter().any(|&value| value != 0.0) {
                        assert!(apart(&wide(row), &wide(expected)) < 1e-4, "A of {place}");
                    }
                }
                compared += 1;
            }
        }
    }
    // M6 would remove more components than rank 1 has.
    assert_eq!(compared, 16 * 6 - 1);
}
