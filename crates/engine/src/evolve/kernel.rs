//! The operators' arithmetic behind two interfaces: one for one parent, one for two.

use std::collections::BTreeMap;

use lyceum_core::evolution::{Operator, OperatorError};

use super::crossovers::{Linear05, X1, X2, X3, X4, X5, X6, X7, X8, X9};
use super::mutations::{M1, M2, M3, M4, M5, M6};
use super::{Draws, Module, Notes};

/// An operator on one parent.
pub trait Mutation: Send + Sync {
    /// The child's module `index`.
    fn mutate(&self, index: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module;
}

/// An operator on two parents.
pub trait Crossover: Send + Sync {
    /// The child's module `index`.
    fn cross(&self, index: usize, first: Module, second: Module, draws: &mut dyn Draws, notes: &Notes) -> Module;
}

/// An operator with its parameters and the values it draws once per child.
pub enum Kernel {
    /// The child is a byte-for-byte copy of its parent: nothing is computed.
    Copy,
    /// On one parent.
    Mutation(Box<dyn Mutation>),
    /// On two parents.
    Crossover(Box<dyn Crossover>),
}

impl Kernel {
    /// The kernel of `operator` with `parameters` (all of them, as from [`Operator::resolve`]) for adapters of
    /// `modules` modules of rank `rank`. Values drawn once per child come from `draws`.
    ///
    /// # Errors
    /// When a parameter does not fit the rank.
    pub fn new(
        operator: &'static Operator,
        parameters: &BTreeMap<String, f64>,
        modules: usize,
        rank: usize,
        draws: &mut dyn Draws,
    ) -> Result<Self, OperatorError> {
        let value = |name: &str| parameters.get(name).copied().unwrap_or_default();
        Ok(match operator.name {
            "M1" => mutation(M1 { epsilon: value("epsilon") }),
            "M2" => mutation(M2::new(value("epsilon"), value("f"), modules, draws)),
            "M3" => mutation(M3 { rho: value("rho") }),
            "M4" => mutation(M4 { epsilon: value("epsilon") }),
            "M5" => mutation(M5 { alpha: value("alpha") }),
            "M6" => mutation(M6::new(value("k"), value("sigma"), rank)?),
            "copy_parent" => Self::Copy,
            "X1" => crossover(X1 { p: value("p") }),
            "X2" => crossover(X2),
            "X3" => crossover(X3),
            "X4" => crossover(X4::new(value("eta_min"), value("eta_max"), draws)),
            "X5" => crossover(X5 { alpha: value("alpha") }),
            "X6" => crossover(X6 { tau: value("tau") }),
            "X7" => crossover(X7 { epsilon: value("epsilon") }),
            "X8" => crossover(X8 { t: value("t") }),
            "X9" => crossover(X9 { epsilon: value("epsilon") }),
            "linear_0_5" => crossover(Linear05),
            name => unreachable!("`{name}` is in the catalogue and has no kernel"),
        })
    }

    /// The child's module `index`, made from the parents' modules; there must be as many as the operator takes.
    pub fn child(&self, index: usize, parents: Vec<Module>, draws: &mut dyn Draws, notes: &Notes) -> Option<Module> {
        let mut parents = parents.into_iter();
        match self {
            Self::Copy => parents.next(),
            Self::Mutation(mutation) => Some(mutation.mutate(index, parents.next()?, draws, notes)),
            Self::Crossover(crossover) => Some(crossover.cross(index, parents.next()?, parents.next()?, draws, notes)),
        }
    }
}

fn mutation(mutation: impl Mutation + 'static) -> Kernel {
    Kernel::Mutation(Box::new(mutation))
}

fn crossover(crossover: impl Crossover + 'static) -> Kernel {
    Kernel::Crossover(Box::new(crossover))
}
