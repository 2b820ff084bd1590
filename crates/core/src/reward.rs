//! The papers' reward rules.

/// The reward of a solver's answer (PopuLoRA, Eq. 1; Absolute Zero's binary solver reward is the same): 1 if correct,
/// −0.5 if well-formed but wrong, −1 if it violates the format.
pub fn student_reward(well_formed: bool, correct: bool) -> f32 {
    match (well_formed, correct) {
        (true, true) => 1.0,
        (true, false) => -0.5,
        (false, _) => -1.0,
    }
}

/// How often a problem was solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Solved {
    /// Attempts that solved it.
    pub solved: u32,
    pub attempts: u32,
}

impl Solved {
    /// ρ, the share of attempts that solved it; 0 without attempts.
    pub fn rate(self) -> f32 {
        match self.attempts {
            0 => 0.0,
            attempts => self.solved as f32 / attempts as f32,
        }
    }
}

/// The reward of a teacher's problem (PopuLoRA, Eq. 2): −1 if invalid (`None`), 0 if no sample of the matched student
/// solved it, else 1 − ρ.
pub fn teacher_reward(valid: Option<Solved>) -> f32 {
    match valid {
        None => -1.0,
        Some(Solved { solved: 0, .. }) => 0.0,
        Some(solved) => 1.0 - solved.rate(),
    }
}

/// The reward of a proposer's problem in Absolute Zero's released code (the paper has 0 instead of −0.5): −1 if invalid
/// or badly formed (`None`), −0.5 if ρ is 0 or 1, else 1 − ρ.
pub fn proposer_reward(valid: Option<Solved>) -> f32 {
    match valid {
        None => -1.0,
        Some(Solved { solved, attempts }) if solved == 0 || solved == attempts => -0.5,
        Some(solved) => 1.0 - solved.rate(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_8(solved: u32) -> Option<Solved> {
        Some(Solved { solved, attempts: 8 })
    }

    #[test]
    fn equation_1_has_three_values() {
        assert_eq!(student_reward(true, true), 1.0);
        assert_eq!(student_reward(true, false), -0.5);
        assert_eq!(student_reward(false, false), -1.0);
        assert_eq!(student_reward(false, true), -1.0, "a correct answer in the wrong form fails the format");
    }

    #[test]
    fn equation_2_at_its_worked_points() {
        assert_eq!(teacher_reward(None), -1.0);
        assert_eq!(teacher_reward(of_8(0)), 0.0);
        assert_eq!(teacher_reward(of_8(1)), 0.875);
        assert_eq!(teacher_reward(of_8(4)), 0.5);
        assert_eq!(teacher_reward(of_8(8)), 0.0);
    }

    #[test]
    fn absolute_zero_punishes_both_extremes() {
        assert_eq!(proposer_reward(None), -1.0);
        assert_eq!(proposer_reward(of_8(0)), -0.5);
        assert_eq!(proposer_reward(of_8(1)), 0.875);
        assert_eq!(proposer_reward(of_8(8)), -0.5);
    }

    #[test]
    fn what_nobody_attempted_was_not_solved() {
        assert_eq!(Solved::default().rate(), 0.0);
        assert_eq!(teacher_reward(Some(Solved::default())), 0.0);
    }
}
