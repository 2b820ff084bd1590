//! One worker of the pool with its own zygotes, which are started when first needed.

use lyceum_core::verify::Check;

use crate::sandbox::{Layers, Limits, Role, SandboxError, Watch, Zygote, ZygotePlan};

/// The hash seeds of the two zygotes in which a proposal runs.
const HASH_SEEDS: [u32; 2] = [0, 1_000_007];

/// The zygotes of one thread.
pub(crate) struct Slot {
    plan: ZygotePlan,
    programs: [Option<Zygote>; 2],
    mathematics: Option<Zygote>,
}

impl Slot {
    pub(crate) fn new(plan: ZygotePlan) -> Self {
        Self {
            plan,
            programs: [None, None],
            mathematics: None,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.plan.limits
    }

    /// Gives a task its budget.
    pub(crate) fn begin(&self, check: &Check) {
        self.plan.budget.set(self.plan.limits.allowance(check));
    }

    /// Lifts the budget, for what belongs to no task.
    pub(crate) fn end(&self) {
        self.plan.budget.lift();
    }

    /// Who waits for the current task.
    pub(crate) fn watch(&self) -> &Watch {
        &self.plan.watch
    }

    /// The zygote for everything that runs once.
    pub(crate) fn first(&mut self) -> Result<&Zygote, SandboxError> {
        self.ensure(0)?;
        Ok(self.running(0))
    }

    /// Two zygotes with different hash seeds.
    pub(crate) fn both(&mut self) -> Result<[&Zygote; 2], SandboxError> {
        self.ensure(0)?;
        self.ensure(1)?;
        Ok([self.running(0), self.running(1)])
    }

    pub(crate) fn mathematics(&mut self) -> Result<&Zygote, SandboxError> {
        if self.mathematics.is_none() {
            self.mathematics = Some(Zygote::start(&self.plan, Role::Mathematics)?);
        }
        match &self.mathematics {
            Some(zygote) => Ok(zygote),
            None => unreachable!("it was started above"),
        }
    }

    pub(crate) fn layers(&mut self) -> Result<Layers, SandboxError> {
        Ok(self.first()?.layers().clone())
    }

    /// Ends all zygotes; the next use starts new ones.
    pub(crate) fn reset(&mut self) {
        self.programs = [None, None];
        self.mathematics = None;
    }

    fn ensure(&mut self, at: usize) -> Result<(), SandboxError> {
        if self.programs[at].is_none() {
            self.programs[at] = Some(Zygote::start(
                &self.plan,
                Role::Programs {
                    hash_seed: HASH_SEEDS[at],
                },
            )?);
        }
        Ok(())
    }

    fn running(&self, at: usize) -> &Zygote {
        match &self.programs[at] {
            Some(zygote) => zygote,
            None => unreachable!("a zygote is used only after it was started"),
        }
    }
}
