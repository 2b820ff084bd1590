//! Labels that tell runs with the same name apart.

use lyceum_store::runs::Run;

use crate::frame::format;

/// A label for each run: its name, with its seed and, if necessary, its id if another run has the same.
pub(crate) fn labels<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<String> {
    let runs: Vec<&Run> = runs.collect();
    let named = |run: &Run| run.name.clone();
    let seeded = |run: &Run| format!("{}, seed {}", run.name, run.seed.0);
    let label = |run: &&Run| {
        let alone = |of: &dyn Fn(&Run) -> String| runs.iter().filter(|other| of(other) == of(run)).count() == 1;
        if alone(&named) {
            named(run)
        } else if alone(&seeded) {
            seeded(run)
        } else {
            format!("{} ({})", seeded(run), format::id(&run.id))
        }
    };
    runs.iter().map(label).collect()
}
