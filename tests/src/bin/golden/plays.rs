//! The golden runs: small enough for a few minutes on two cores, and together covering every phase of both recipes.

/// A run from a built-in preset, with overrides.
pub(crate) struct Golden {
    /// The preset, which also names the run.
    pub(crate) preset: &'static str,
    /// Overrides of the preset, in the form of `lyceum run create --set`.
    pub(crate) overrides: &'static [&'static str],
}

/// A population with two evolutions (after steps 10 and 20) and two cross-evaluations, and a single member whose gradients
/// are computed in pieces.
pub(crate) const GOLDEN: [Golden; 2] = [
    Golden {
        preset: "demo",
        overrides: &[
            "seed=1",
            "steps=24",
            "compute.threads=2",
            "parameters.problems.types=[\"code_i\",\"code_o\",\"code_f\"]",
            "parameters.prompts_per_matchup=6",
            "parameters.samples_per_problem=3",
            "parameters.evolution.every=10",
            "parameters.cross_play_every=10",
            "parameters.cross_play_samples=2",
            "parameters.items.propose=6",
            "parameters.items.solve=8",
            "parameters.items.update=2",
        ],
    },
    Golden {
        preset: "azr-seedling",
        overrides: &[
            "seed=1",
            "steps=12",
            "compute.threads=2",
            "parameters.batch=6",
            "parameters.difficulty_samples=2",
            "parameters.items.propose=8",
            "parameters.items.solve=8",
            "parameters.items.gradient_pieces=2",
        ],
    },
];
