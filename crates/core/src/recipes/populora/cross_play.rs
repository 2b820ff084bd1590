//! Full cross-evaluation: every teacher's problems given to every student (PopuLoRA, appendix 13).

use super::step::Step;
use crate::{
    contract::{CostClass, Phase, Role},
    kit::{
        Progress,
        code::{Exam, Judged, Sitting},
        join,
    },
};

pub(super) const CROSS_PLAY: Phase = Phase::new("cross-play", CostClass::Solve);
pub(super) const GRADE_CROSS_PLAY: Phase = Phase::new("grade-cross-play", CostClass::Grade);

impl Step<'_> {
    /// In steps where it is due, also lets the students that were not matched with a teacher attempt its valid
    /// problems. The attempts are ordinary rows, so the matrix fills in; they affect no reward, rating or update.
    pub(super) fn cross_play(&mut self, judged: &[(Judged, f32)]) -> Progress<()> {
        let every = self.parameters.cross_play_every;
        if every == 0 || !(self.scene.draft.run.step + 1).is_multiple_of(every) {
            return Ok(());
        }
        let exams = self.cross_exams(judged);
        join(exams, |exam| {
            let solved = self.scene.solve(&exam)?;
            self.scene.grade(&exam, solved)
        })
        .map(drop)
    }

    fn cross_exams<'j>(&self, judged: &'j [(Judged, f32)]) -> Vec<Exam<'j>> {
        let members = self.scene.draft.members.iter().enumerate();
        let students = members.filter(|(_, member)| member.plays(Role::Student));
        let mut exams = Vec::new();
        for (student, _) in students {
            let others = judged.iter().filter(|(judged, _)| judged.solver != student);
            let sittings = others.filter_map(|(judged, _)| {
                Some(Sitting {
                    number: judged.index,
                    problem: judged.problem.as_ref()?,
                    solver: student,
                })
            });
            for part in sittings
                .collect::<Vec<_>>()
                .chunks(self.parameters.items.solve as usize)
            {
                exams.push(Exam {
                    phases: [CROSS_PLAY, GRADE_CROSS_PLAY],
                    round: 0,
                    chunk: u32::try_from(exams.len()).unwrap_or(u32::MAX),
                    samples: self.parameters.cross_play_samples,
                    role: Role::Student,
                    keep_tokens: false,
                    sittings: part.to_vec(),
                });
            }
        }
        exams
    }
}
