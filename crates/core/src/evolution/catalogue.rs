//! The paper's seventeen operators (PopuLoRA, appendix 8), with its defaults.

use super::{Family, Operator, OperatorError, Parameter};
use crate::fault::nearest;

/// The operator name of a birth without parents: a fresh adapter with random A and zero B.
pub const INIT: &str = "init";

const fn mutation(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
) -> Operator {
    Operator {
        name,
        title,
        family: Family::Mutation,
        arity: 1,
        stochastic: true,
        live: false,
        description,
        parameters,
        ordered: None,
        below_rank: None,
    }
}

const fn crossover(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
) -> Operator {
    Operator { family: Family::Crossover, arity: 2, ..mutation(name, title, description, parameters) }
}

const fn live(operator: Operator) -> Operator {
    Operator { live: true, ..operator }
}

const fn deterministic(operator: Operator) -> Operator {
    Operator { stochastic: false, ..operator }
}

const fn control(operator: Operator) -> Operator {
    Operator { family: Family::Control, ..deterministic(operator) }
}

/// Every operator, mutations before crossovers, each family's control last.
pub static CATALOGUE: [Operator; 17] = [
    live(mutation(
        "M1",
        "SVD-structured mutation",
        "Perturbs the singular values of the update by log-normal noise and slightly rotates its singular vectors.",
        &[Parameter::real(
            "epsilon",
            0.1,
            (0.0, 1.0),
            "Standard deviation of the noise on the logarithms of the singular values, and size of the rotations.",
        )],
    )),
    live(mutation(
        "M2",
        "layer-selective Gaussian",
        "Adds Gaussian noise to both factors of a random share of the modules and copies the others.",
        &[
            Parameter::real(
                "epsilon",
                0.1,
                (0.0, 10.0),
                "Standard deviation of the noise, in standard deviations of the tensor.",
            ),
            Parameter::real("f", 0.33, (0.0, 1.0), "Share of modules to change."),
        ],
    )),
    live(mutation(
        "M3",
        "component masking",
        "Zeroes a random share of the update's singular values.",
        &[Parameter::real("rho", 0.3, (0.0, 1.0), "Share of the singular values to zero, rounded up.")],
    )),
    live(mutation(
        "M4",
        "full Gaussian",
        "Adds Gaussian noise to both factors of every module.",
        &[Parameter::real(
            "epsilon",
            0.15,
            (0.0, 10.0),
            "Standard deviation of the noise, in standard deviations of the tensor.",
        )],
    )),
    mutation(
        "M5",
        "NEFTune-style",
        "Adds uniform noise to the A factors, less for larger tensors, and leaves the B factors alone.",
        &[Parameter::real(
            "alpha",
            10.0,
            (0.0, 10_000.0),
            "The noise is uniform within alpha over the square root of the tensor's number of values.",
        )],
    ),
    Operator {
        below_rank: Some("k"),
        ..mutation(
            "M6",
            "rank perturbation",
            "Zeroes the smallest singular values of the update and jitters the others.",
            &[
                Parameter::real(
                    "k",
                    2.0,
                    (0.0, 4096.0),
                    "Number of smallest singular values to zero; less than the rank.",
                )
                .integer(),
                Parameter::real(
                    "sigma",
                    0.05,
                    (0.0, 1.0),
                    "Standard deviation of the factors, around 1, that multiply the others.",
                ),
            ],
        )
    },
    control(mutation(
        "copy_parent",
        "identity control",
        "Copies its parent: if the child starts below its parent's reward, it was loaded wrongly.",
        &[],
    )),
    live(crossover(
        "X1",
        "DARE",
        "Drops random values of each parent's factors, rescales the rest, and averages the parents.",
        &[Parameter::real("p", 0.7, (0.0, 1.0), "Probability that a value is dropped.").below_max()],
    )),
    live(crossover("X2", "layer-wise crossover", "Takes each module whole from either parent, by a coin flip.", &[])),
    live(crossover(
        "X3",
        "SVD subspace crossover",
        "Takes a random number of top singular components from the first parent and the remaining ones from the second.",
        &[],
    )),
    Operator {
        ordered: Some(("eta_min", "eta_max")),
        ..live(crossover(
            "X4",
            "extrapolative",
            "Extrapolates from the first parent past the second by a random factor.",
            &[
                Parameter::real(
                    "eta_min",
                    1.0,
                    (1.0, 10.0),
                    "Smallest factor; at 1 the child equals the second parent.",
                ),
                Parameter::real("eta_max", 1.5, (1.0, 10.0), "Greatest factor."),
            ],
        ))
    },
    deterministic(crossover(
        "X5",
        "task-arithmetic linear merge",
        "Takes the weighted mean of the parents' factors.",
        &[Parameter::real("alpha", 0.5, (0.0, 1.0), "Weight of the first parent.")],
    )),
    deterministic(crossover(
        "X6",
        "TIES merge",
        "Trims each parent's smallest values, elects a sign for each position, and averages the parents that agree with it.",
        &[Parameter::real("tau", 0.2, (0.0, 1.0), "Share of values to trim, smallest first.")],
    )),
    crossover(
        "X7",
        "DELLA",
        "Drops values with a probability that grows as they get smaller, rescales the rest, and averages the parents.",
        &[Parameter::real(
            "epsilon",
            0.1,
            (0.0, 1.0),
            "Probability that the largest value is dropped; the smallest always is.",
        )
        .below_max()],
    ),
    deterministic(crossover(
        "X8",
        "SLERP",
        "Interpolates the parents' factors spherically, each factor treated as one vector.",
        &[Parameter::real("t", 0.5, (0.0, 1.0), "Position between the first parent (0) and the second (1).")],
    )),
    deterministic(crossover(
        "X9",
        "Fisher-weighted merge",
        "Averages the parents' values weighted by their squares, so that the larger one dominates.",
        &[Parameter::real("epsilon", 1e-12, (1e-30, 1.0), "Avoids division by zero where both values are zero.")],
    )),
    control(crossover(
        "linear_0_5",
        "plain-mean control",
        "Averages the parents' factors: the control that every useful crossover should beat.",
        &[],
    )),
];

/// The operator with this name.
///
/// # Errors
/// There is no such operator; names the one most likely meant.
pub fn operator(name: &str) -> Result<&'static Operator, OperatorError> {
    let names = || CATALOGUE.iter().map(|operator| operator.name);
    CATALOGUE.iter().find(|operator| operator.name == name).ok_or_else(|| OperatorError::Unknown {
        name: name.to_owned(),
        nearest: nearest(name, names()),
        valid: names().collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn set(name: &str, value: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([(name.to_owned(), value)])
    }

    #[test]
    fn the_catalogue_is_the_papers() {
        let of = |family| CATALOGUE.iter().filter(move |operator| operator.family == family);
        assert_eq!(of(Family::Mutation).count(), 6);
        assert_eq!(of(Family::Crossover).count(), 9);
        assert_eq!(of(Family::Control).count(), 2);
        let live: Vec<_> = CATALOGUE.iter().filter(|operator| operator.live).map(|operator| operator.name).collect();
        assert_eq!(live, ["M1", "M2", "M3", "M4", "X1", "X2", "X3", "X4"]);
        for operator in &CATALOGUE {
            assert!(operator.resolve(&BTreeMap::new()).is_ok(), "{}", operator.name);
            assert!(operator.description.ends_with('.'));
        }
    }

    #[test]
    fn every_end_of_every_range_holds() {
        for operator in &CATALOGUE {
            for parameter in operator.parameters {
                assert!(parameter.admits(parameter.default) && parameter.admits(parameter.min), "{parameter:?}");
                assert_eq!(parameter.admits(parameter.max), !parameter.below_max, "{parameter:?}");
                for wrong in [parameter.min - 1e-3, parameter.max + 1e-3, f64::NAN, f64::INFINITY] {
                    let refused = operator.resolve(&set(parameter.name, wrong)).unwrap_err().to_string();
                    assert!(refused.contains(parameter.name) && refused.contains("valid are"), "{refused}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_applied_is_named() {
        let said = |result: Result<BTreeMap<String, f64>, OperatorError>| result.unwrap_err().to_string();
        assert!(operator("x1").unwrap_err().to_string().contains("did you mean `X1`?"));
        let x1 = operator("X1").unwrap();
        assert_eq!(
            said(x1.resolve(&set("q", 0.5))),
            "operator X1 has no parameter `q` (did you mean `p`?); valid are p"
        );
        assert_eq!(said(x1.resolve(&set("p", 1.0))), "operator X1: `p` is 1; valid are numbers from 0 to below 1");
        let m6 = operator("M6").unwrap();
        assert!(said(m6.resolve(&set("k", 1.5))).contains("whole numbers"));
        let x2 = operator("X2").unwrap();
        assert!(said(x2.resolve(&set("p", 0.5))).contains("it has none"));
        let x4 = operator("X4").unwrap();
        assert!(said(x4.resolve(&set("eta_min", 1.6))).contains("`eta_max`, which is 1.5"));
        assert_eq!(x4.check_arity(1).unwrap_err().to_string(), "operator X4 takes 2 parents; 1 was given");
        assert_eq!(
            operator("M1").unwrap().check_arity(2).unwrap_err().to_string(),
            "operator M1 takes 1 parent; 2 were given"
        );
    }
}
