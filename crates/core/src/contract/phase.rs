//! Phases of a step, and what their time counts as.

/// What the time of a phase counts as in the metrics of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount)]
pub enum CostClass {
    Propose,
    Check,
    Plan,
    Critique,
    Solve,
    Grade,
    /// Held-out rows. Their tokens are not those of training and do not count.
    Measure,
    Diversity,
    Update,
    Evolve,
}

/// A phase of a step in which members are sampled or answers are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name in the keys of its items.
    pub name: &'static str,
    pub cost: CostClass,
}

impl Phase {
    pub const fn new(name: &'static str, cost: CostClass) -> Self {
        Self { name, cost }
    }
}

impl From<Phase> for String {
    fn from(phase: Phase) -> Self {
        phase.name.to_owned()
    }
}

pub const PROPOSE: Phase = Phase::new("propose", CostClass::Propose);
pub const CHECK: Phase = Phase::new("check", CostClass::Check);
pub const ESTIMATE: Phase = Phase::new("estimate", CostClass::Solve);
pub const GRADE_ESTIMATE: Phase = Phase::new("grade-estimate", CostClass::Grade);
pub const SOLVE: Phase = Phase::new("solve", CostClass::Solve);
pub const GRADE: Phase = Phase::new("grade", CostClass::Grade);
pub const MEASURE: Phase = Phase::new("measure", CostClass::Measure);
pub const GRADE_MEASURE: Phase = Phase::new("grade-measure", CostClass::Measure);
