//! Full cross-evaluation: every teacher's problems in front of every student (PopuLoRA, appendix 13).

use super::play::Turn;
use crate::recipe::{
    PlanError, Role,
    selfplay::{Exam, Judged, Sitting},
};

impl Turn<'_> {
    /// At the steps that are due for it, lets the students that were not matched with a teacher attempt its valid problems, too.
    /// The attempts are rows like others, so that the matrix fills in; no reward, rating or update comes of them. Whether all
    /// are graded.
    pub(super) fn cross_play(&mut self, judged: &[(Judged, f32)]) -> Result<bool, PlanError> {
        let every = self.parameters.cross_play_every;
        if every == 0 || !(self.scene.run.step + 1).is_multiple_of(every) {
            return Ok(true);
        }
        let members = self.scene.members.iter().enumerate();
        let students: Vec<usize> = members
            .filter(|(_, member)| member.plays(Role::Student))
            .map(|(place, _)| place)
            .collect();
        let mut is_complete = true;
        let mut chunk = 0;
        for student in students {
            let sittings: Vec<Sitting<'_>> = judged
                .iter()
                .filter(|(judged, _)| judged.solver != student)
                .filter_map(|(judged, _)| {
                    Some(Sitting {
                        number: judged.index,
                        problem: judged.problem.as_ref()?,
                        solver: student,
                    })
                })
                .collect();
            for part in sittings.chunks(self.parameters.items.solve as usize) {
                let exam = Exam {
                    solve: "cross-play",
                    grade: "grade-cross-play",
                    chunk,
                    samples: self.parameters.cross_play_samples,
                    role: Role::Student,
                    keep_tokens: false,
                    is_written: false,
                };
                is_complete &= self.scene.examine(exam, part)?.is_some();
                chunk += 1;
            }
        }
        Ok(is_complete)
    }
}
