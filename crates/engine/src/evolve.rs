//! Evolution in weight space: the paper's seventeen operators on PEFT adapters (PopuLoRA, appendix 8).
//!
//! A child is computed module by module from its parents' files, in fp32, on all threads, and written as it is
//! computed, so only the files themselves take memory of an adapter's size. Each module has its own random stream, and
//! no arithmetic is left to a library that chooses code by processor or thread, so the same parents, operator,
//! parameters and seed give the same bytes.

mod child;
mod crossovers;
mod draws;
mod geometry;
mod kernel;
mod matrix;
mod module;
mod mutations;
mod parent;
mod svd;

pub use draws::{Draws, Seeded};
pub use geometry::geometry;
pub use kernel::{Crossover, Kernel, Mutation};
pub use module::{Module, Note, Notes};
pub use parent::Parent;
pub use svd::Svd;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lyceum_core::evolution::{Operator, operator};
use lyceum_core::work::LoraShape;
use tch::Device;

use crate::config::ModelConfig;
use crate::error::{EngineError, Result};
use crate::peft::{AdapterFiles, member_files};
use crate::population::Population;
use child::Sink;
use parent::Fit;

/// A valid birth: an operator with parents that fit it and each other.
pub struct Birth {
    operator: &'static Operator,
    parameters: BTreeMap<String, f64>,
    parents: Vec<Parent>,
    fits: Vec<Fit>,
    seed: u64,
}

impl Birth {
    /// Checks everything that could make the birth fail: `name` and `parameters` (missing ones take their defaults)
    /// against the catalogue, the number of parents, that they share rank, targets, sizes and base, and that all values
    /// are finite. Parents may differ in scaling: the child takes the first parent's, and the others' factors are
    /// scaled to give the same update.
    pub fn new(name: &str, parameters: &BTreeMap<String, f64>, parents: Vec<Parent>, seed: u64) -> Result<Self> {
        let operator = operator(name)?;
        let parameters = operator.resolve(parameters)?;
        operator.check_arity(parents.len())?;
        let fits = parents.iter().map(|parent| parent.fit(&parents[0])).collect::<Result<_>>()?;
        let birth = Self { operator, parameters, parents, fits, seed };
        birth.kernel()?;
        birth.parents.iter().try_for_each(Parent::check_finite)?;
        Ok(birth)
    }

    /// The values of all of the operator's parameters.
    pub fn parameters(&self) -> &BTreeMap<String, f64> {
        &self.parameters
    }

    /// Writes the child as a PEFT folder, which must not exist or be empty. Returns notes for the lineage.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>> {
        child::in_new_folder(folder, self.parents[0].config_text(), |file| self.make(file))
    }

    /// Makes the child in memory. Returns its files and notes for the lineage.
    pub fn make_files(&self) -> Result<(AdapterFiles, Vec<String>)> {
        let sink = Sink::memory();
        let notes = self.make(&sink)?;
        let files = AdapterFiles { config: self.parents[0].config_text().to_vec(), weights: sink.into_bytes() };
        Ok((files, notes))
    }

    fn kernel(&self) -> Result<Kernel> {
        let first = &self.parents[0];
        let mut draws = Seeded::new(self.seed, "child");
        Ok(Kernel::new(self.operator, &self.parameters, first.modules(), first.rank(), &mut draws)?)
    }

    fn make(&self, sink: &Sink) -> Result<Vec<String>> {
        let first = &self.parents[0];
        let mut texts = self.scaling_notes();
        let kernel = match self.kernel()? {
            Kernel::Copy => {
                sink.write(0, first.bytes())?;
                return Ok(texts);
            }
            kernel => kernel,
        };
        let notes = Notes::default();
        let layout = first.child_layout();
        sink.reserve(layout.length);
        sink.write(0, &layout.header)?;
        for_each(first.modules(), |index| {
            let parents = self.parents.iter().zip(&self.fits).map(|(parent, fit)| parent.module(index, *fit));
            let mut draws = Seeded::new(self.seed, first.name(index));
            let Some(module) = kernel.child(index, parents.collect(), &mut draws, &notes) else {
                return Err(EngineError::population(format!("operator {} lacks a parent", self.operator.name)));
            };
            if !module.is_finite() {
                let what =
                    format!("the child's `{}` by {} at {:?}", first.name(index), self.operator.name, self.parameters);
                return Err(EngineError::NonFinite { what });
            }
            let [a, b] = layout.places[index];
            sink.write_values(a, &module.a)?;
            sink.write_values(b, &module.b)
        })?;
        texts.extend(notes.texts(first.modules()));
        Ok(texts)
    }

    fn scaling_notes(&self) -> Vec<String> {
        let first = self.parents[0].scaling();
        let others = self.parents.iter().enumerate().skip(1);
        others
            .filter(|(_, parent)| parent.scaling() != first)
            .map(|(index, parent)| {
                format!(
                    "parent {}'s scaling is {}, the child's {first}: its factors were scaled to give the same update",
                    index + 1,
                    parent.scaling()
                )
            })
            .collect()
    }
}

/// Runs `work` for every index below `count` in parallel. Returns the error with the smallest index; after a failure no
/// further index is started.
fn for_each(count: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            if let Err(error) = work(index) {
                next.store(count, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|&(before, _)| index < before) {
                    *failed = Some((index, error));
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// A fresh adapter for a base of these sizes, initialised as in peft: A drawn from `seed`, B zero. `base_name` goes
/// into its configuration.
pub fn init(base: &ModelConfig, base_name: &str, shape: LoraShape, seed: u64) -> Result<AdapterFiles> {
    member_files(&Population::initialise(base, shape, 1, seed, Device::Cpu)?, 0, base_name)
}
