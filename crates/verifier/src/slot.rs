//! One worker of the pool with its own zygotes, which are started when first needed.

use std::time::Duration;

use lyceum_core::verify::{Check, RewardPackage};

use crate::sandbox::{Layers, Limits, Package, Role, SandboxError, Watch, Zygote, ZygotePlan};

/// The hash seeds of the two zygotes in which a proposal runs.
const HASH_SEEDS: [u32; 2] = [0, 1_000_007];

/// The zygotes of one thread.
pub(crate) struct Slot {
    plan: ZygotePlan,
    /// CPU time of a call, if the task does not set its own.
    cpu: Duration,
    programs: [Option<Zygote>; 2],
    mathematics: Option<Zygote>,
}

impl Slot {
    pub(crate) fn new(plan: ZygotePlan) -> Self {
        Self { cpu: plan.limits.cpu, plan, programs: [None, None], mathematics: None }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.plan.limits
    }

    /// The first of these packages that programs cannot import here.
    pub(crate) fn lacks(&self, packages: &[RewardPackage]) -> Option<Package> {
        let needed = packages.iter().map(|package| match package {
            RewardPackage::Numpy => Package::Numpy,
            RewardPackage::Sympy => Package::Sympy,
        });
        needed.into_iter().find(|package| !self.plan.packages.contains(package))
    }

    /// Sets the CPU time of a call for the next task; `None` is the pool's own.
    pub(crate) fn set_cpu(&mut self, cpu: Option<Duration>) {
        self.plan.limits.cpu = cpu.unwrap_or(self.cpu);
    }

    /// Gives a task its budget.
    pub(crate) fn begin(&self, check: &Check) {
        self.plan.budget.set(self.plan.limits.allowance(check));
    }

    /// Whether the task's last process used up the CPU time of a call, which it would do again.
    pub(crate) fn ended_in_work(&self) -> bool {
        self.plan.budget.ended_in_work()
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
            self.programs[at] = Some(Zygote::start(&self.plan, Role::Programs { hash_seed: HASH_SEEDS[at] })?);
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
