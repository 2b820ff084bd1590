//! The problems a pool starts with.

use serde::Deserialize as _;
use std::sync::Arc;

use super::check::Parsed;
use super::{Scene, shown};
use crate::contract::{CostClass, Phase, PlanError, ProblemRecord};
use crate::dataset::SeedProblem;
use crate::id::{ProblemId, WorkId};
use crate::kit::{Pool, Progress, join};
use crate::verify::{ProblemKind, Proposal, Task};
use crate::work::WorkKey;

pub(crate) const SEED: Phase = Phase::new("seed", CostClass::Check);

/// Seed problems checked per item.
const PER_ITEM: usize = 64;

/// The seeds shipped as `name`; `None` if there are no such seeds.
pub fn shipped_seeds(name: &str) -> Option<Vec<SeedProblem>> {
    let lines = shipped_text(name)?.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).ok()).collect()
}

pub(super) fn shipped_text(name: &str) -> Option<&'static str> {
    match name {
        "azr" => Some(include_str!("../../../../../configs/seeds/azr.jsonl")),
        "seedling" => Some(include_str!("../../../../../configs/seeds/seedling.jsonl")),
        _ => None,
    }
}

impl SeedProblem {
    /// The row as proposals of `types`. With `code_f` alone, a program still needs another type to be in the pool.
    fn proposals(&self, types: &[ProblemKind]) -> Vec<(ProblemKind, Proposal)> {
        let program = || self.snippet.clone();
        let mut proposals = Vec::new();
        if let Some(input) = &self.input {
            let io = [ProblemKind::CodeI, ProblemKind::CodeO];
            let is_played = |kind: &ProblemKind| {
                types.contains(kind) || (*kind == ProblemKind::CodeO && types == [ProblemKind::CodeF])
            };
            proposals.extend(io.into_iter().filter(is_played).map(|problem| {
                let input = input.clone();
                (problem, Proposal::Io { problem, program: program(), input })
            }));
        }
        if let Some(message) =
            self.message.as_ref().filter(|_| self.inputs.len() > 1 && types.contains(&ProblemKind::CodeF))
        {
            let proposal =
                Proposal::Function { program: program(), inputs: self.inputs.clone(), message: message.clone() };
            proposals.push((ProblemKind::CodeF, proposal));
        }
        proposals
    }
}

impl Scene<'_> {
    /// Enters the seed problems in the run's first step: has them checked, puts the valid ones into `pool`, and writes
    /// their rows, numbered from `first`, after the step's proposals.
    pub(crate) fn seed_pool(&mut self, pool: &mut Pool, first: u32) -> Progress<()> {
        let run = self.draft.run.run;
        let view = self.draft.view;
        let seeds = view.once("seeds", || self.entered(first))?;
        for seed in seeds.iter().filter(|seed| seed.record.valid) {
            pool.add(seed.record.kind, run, &seed.source, seed.record.index - first, 0, 1);
        }
        let records = seeds.iter().map(|seed| (seed.record.id, seed.record.clone()));
        self.material.seeds = Arc::new(records.collect());
        Ok(())
    }

    fn entered(&mut self, first: u32) -> Progress<Vec<Seed>> {
        let rows = self.seed_rows()?;
        let types = &self.material.groups.problems.types;
        let proposals: Vec<_> = rows.iter().flat_map(|row| row.proposals(types)).collect();
        let numbered: Vec<_> = (0..).zip(proposals).collect();
        let seeds = join((0..).zip(numbered.chunks(PER_ITEM)), |(chunk, part)| self.checked(chunk, part, first))?;
        let seeds: Vec<Seed> = seeds.into_iter().flatten().collect();
        let records = seeds.iter().map(|seed| seed.record.clone());
        self.draft.plan.records.problems.extend(records);
        Ok(seeds)
    }

    fn checked(&mut self, chunk: u32, part: &[(u32, (ProblemKind, Proposal))], first: u32) -> Progress<Vec<Seed>> {
        let key = self.draft.key(SEED, chunk);
        let verdicts = self.draft.verify(&key, part.len(), || {
            let task = |(number, (_, proposal)): &(u32, (_, Proposal))| Task {
                id: number.to_string(),
                check: proposal.clone().into(),
            };
            part.iter().map(task).collect()
        })?;
        let work = WorkId::of(self.draft.run.run, &key);
        let mut seeds = Vec::with_capacity(part.len());
        for ((number, (kind, proposal)), verdict) in part.iter().zip(verdicts) {
            let id = ProblemId::of(work, &number.to_string(), 0);
            let parsed: Parsed = Ok(proposal.clone());
            let admitted = self.material.admit(id, *kind, &parsed, Some(verdict));
            let (program, values) = shown(admitted.problem.as_ref(), proposal)?;
            let record = ProblemRecord {
                valid: admitted.problem.is_some(),
                status: admitted.status,
                reason: admitted.reason,
                program: Some(program),
                values,
                descriptor: admitted.descriptor,
                cell: admitted.cell,
                ..ProblemRecord::new(id, first + number, *kind)
            };
            seeds.push(Seed { source: key.clone(), record });
        }
        Ok(seeds)
    }

    fn seed_rows(&mut self) -> Progress<Vec<SeedProblem>> {
        let problems = self.material.groups.problems;
        let Some(dataset) = problems.seed_dataset else {
            let unreadable = || PlanError::Other(format!("the seeds `{}` cannot be read", problems.seeds));
            return Ok(shipped_seeds(&problems.seeds).ok_or_else(unreadable)?);
        };
        let places: Vec<u32> = (0..dataset.rows).collect();
        let rows = self.draft.rows(dataset.id, &places)?;
        let read = places.iter().zip(rows).map(|(number, row)| {
            SeedProblem::deserialize(&row.0)
                .map_err(|error| PlanError::Other(format!("row {number} of the seed dataset: {error}")))
        });
        Ok(read.collect::<Result<_, _>>()?)
    }
}

/// A checked seed problem, and the item that checked it.
struct Seed {
    source: WorkKey,
    record: ProblemRecord,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::ProblemKind::{CodeF, CodeI, CodeO};

    #[test]
    fn shipped_seeds_can_be_read_and_serve_every_type() {
        for name in ["azr", "seedling"] {
            let seeds = shipped_seeds(name).unwrap();
            for kind in [CodeI, CodeO, CodeF] {
                let count = seeds.iter().flat_map(|seed| seed.proposals(&[CodeI, CodeO, CodeF]));
                assert!(count.filter(|(of, _)| *of == kind).count() >= 8, "{name} has too few of {}", kind.name());
            }
        }
        assert_eq!(shipped_seeds("none"), None);
    }

    #[test]
    fn a_row_is_a_seed_of_both_types_that_share_its_form() {
        let row = r#"{"snippet": "def f(a):\n return a", "input": "1", "output": "1", "imports": []}"#;
        let seed: SeedProblem = serde_json::from_str(row).unwrap();
        let kinds = |types: &[ProblemKind]| seed.proposals(types).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
        assert_eq!(kinds(&[CodeI, CodeO, CodeF]), [CodeI, CodeO]);
        assert_eq!(kinds(&[CodeI]), [CodeI]);
        assert_eq!(kinds(&[CodeF]), [CodeO], "its program is needed all the same");
    }

    #[test]
    fn the_papers_seed_files_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/azr_seeds");
        for file in ["7b_coder_seed_io.jsonl", "7b_coder_code_f_seed_io.jsonl"] {
            let Ok(text) = std::fs::read_to_string(format!("{folder}/{file}")) else {
                eprintln!("skipped: {folder}/{file} is not there");
                return;
            };
            let seeds: Vec<SeedProblem> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(seeds.len(), 256);
            assert!(seeds.iter().all(|seed| !seed.proposals(&[CodeO, CodeF]).is_empty()));
        }
    }
}
