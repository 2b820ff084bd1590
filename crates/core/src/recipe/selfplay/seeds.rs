//! The problems that a pool begins with.

use serde::{Deserialize, Serialize};

use super::{
    Pool, Scene,
    check::{Parsed, shown},
};
use crate::{
    archive::descriptor,
    id::{ProblemId, WorkId},
    recipe::{PlanError, ProblemRecord, Want},
    verify::{ProblemKind, Proposal, Task},
    work::{Payload, VerifyPayload},
};

/// Seed problems checked in one item.
const PER_ITEM: usize = 64;

/// A row of a seed file, with the field names of Absolute Zero's. Outputs are not read: they are computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedProblem {
    /// A program with a function `f`.
    pub snippet: String,
    /// One argument list: a seed for `code_i` and for `code_o`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Several argument lists: a seed for `code_f`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// What the solver of a `code_f` problem is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The seeds that ship as `name`; none if there are no such.
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
    /// The proposals that the row stands for, of `types`. Programs of `code_f` alone still need a type to stand in the pool.
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
                (
                    problem,
                    Proposal::Io {
                        problem,
                        program: program(),
                        input,
                    },
                )
            }));
        }
        if let Some(message) = self
            .message
            .as_ref()
            .filter(|_| self.inputs.len() > 1 && types.contains(&ProblemKind::CodeF))
        {
            let proposal = Proposal::Function {
                program: program(),
                inputs: self.inputs.clone(),
                message: message.clone(),
            };
            proposals.push((ProblemKind::CodeF, proposal));
        }
        proposals
    }
}

impl Scene<'_> {
    /// Whether the seed problems were entered; asks for their verdicts in step 0 and puts them into `pool`. Their rows are
    /// numbered from `first` on, after the step's proposals.
    pub(crate) fn seeded(&mut self, pool: &mut Pool, first: u32) -> Result<bool, PlanError> {
        let Some(rows) = self.seed_rows()? else {
            return Ok(false);
        };
        let proposals: Vec<_> = rows
            .iter()
            .flat_map(|row| row.proposals(&self.groups.problems.types))
            .collect();
        let mut is_complete = true;
        let mut index = 0;
        for (chunk, part) in (0..).zip(proposals.chunks(PER_ITEM)) {
            let key = self.key("seed", chunk);
            if !self.asked(&key) {
                let tasks = part.iter().zip(index..).map(|((_, proposal), number)| Task {
                    id: number.to_string(),
                    check: proposal.clone().into(),
                });
                let tasks = tasks.collect();
                self.ask(key.clone(), Payload::Verify(VerifyPayload { tasks }));
            }
            let verdicts = match self.view.verify(&key)? {
                Some(checked) if checked.verdicts.len() == part.len() => &checked.verdicts,
                Some(checked) => {
                    let detail = format!("{} verdicts where {} were asked", checked.verdicts.len(), part.len());
                    return Err(Self::misfit(&key, detail));
                }
                None => {
                    is_complete = false;
                    index += u32::try_from(part.len()).unwrap_or(u32::MAX);
                    continue;
                }
            };
            for ((kind, proposal), verdict) in part.iter().zip(verdicts) {
                let id = ProblemId::of(WorkId::of(self.run.run, &key), &index.to_string(), 0);
                let parsed: Parsed = Ok((proposal.clone(), None));
                let (problem, status, reason) = self.admit(id, *kind, &parsed, Some(verdict));
                let (program, values) = shown(problem.as_ref(), proposal)?;
                let place = verdict.complexity.as_ref().map(descriptor);
                let cell = place
                    .filter(|_| problem.is_some())
                    .map(|place| self.centroids.nearest(self.groups.archive.normalised(place)));
                if problem.is_some() {
                    pool.add(*kind, self.run.run, &key, index, 0, 1);
                }
                let record = ProblemRecord {
                    id,
                    index: first + index,
                    proposer: None,
                    source: None,
                    kind: *kind,
                    prompt: String::new(),
                    proposal: String::new(),
                    valid: problem.is_some(),
                    status,
                    reason,
                    program: Some(program),
                    values,
                    descriptor: place,
                    cell,
                    parents: Vec::new(),
                };
                self.seeds.insert(id, record);
                index += 1;
            }
        }
        if is_complete {
            let mut rows: Vec<ProblemRecord> = self.seeds.values().cloned().collect();
            rows.sort_by_key(|row| row.index);
            self.plan.records.problems.extend(rows);
        }
        Ok(is_complete)
    }

    /// The rows to begin with, once those of a dataset are there.
    fn seed_rows(&mut self) -> Result<Option<Vec<SeedProblem>>, PlanError> {
        let problems = self.groups.problems;
        let Some(dataset) = problems.seed_dataset else {
            let shipped = shipped_seeds(&problems.seeds);
            return shipped
                .map(Some)
                .ok_or_else(|| PlanError::Other(format!("the seeds `{}` cannot be read", problems.seeds)));
        };
        let wants = (0..dataset.rows).map(|row| (dataset.id, row));
        let missing: Vec<Want> = wants
            .clone()
            .filter(|place| !self.view.rows.contains_key(place))
            .map(|(id, row)| Want::Row(id, row))
            .collect();
        if !missing.is_empty() {
            self.plan.wants.extend(missing);
            return Ok(None);
        }
        let read = wants.filter_map(|place| Some((place.1, self.view.rows.get(&place)?)));
        let rows = read.map(|(number, row)| {
            SeedProblem::deserialize(&row.0)
                .map_err(|error| PlanError::Other(format!("row {number} of the seed dataset: {error}")))
        });
        rows.collect::<Result<_, _>>().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProblemKind::{CodeF, CodeI, CodeO};

    #[test]
    fn shipped_seeds_can_be_read_and_serve_every_type() {
        for name in ["azr", "seedling"] {
            let seeds = shipped_seeds(name).unwrap();
            for kind in [CodeI, CodeO, CodeF] {
                let count = seeds.iter().flat_map(|seed| seed.proposals(&[CodeI, CodeO, CodeF]));
                assert!(
                    count.filter(|(of, _)| *of == kind).count() >= 8,
                    "{name} has too few of {}",
                    kind.name()
                );
            }
        }
        assert_eq!(shipped_seeds("none"), None);
    }

    #[test]
    fn a_row_is_a_seed_of_both_types_that_share_its_form() {
        let row = r#"{"snippet": "def f(a):\n return a", "input": "1", "output": "1", "imports": []}"#;
        let seed: SeedProblem = serde_json::from_str(row).unwrap();
        let kinds = |types: &[ProblemKind]| {
            seed.proposals(types)
                .into_iter()
                .map(|(kind, _)| kind)
                .collect::<Vec<_>>()
        };
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
