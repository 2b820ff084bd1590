//! Waiting as a type: in a recipe, `?` means "not yet".

use crate::contract::PlanError;

/// Why a phase has no value.
#[derive(Debug)]
pub enum Pause {
    /// Its work has not ended, or rows it wants are not in the view.
    Waiting,
    /// The recipe cannot go on.
    Failed(PlanError),
}

/// The value of a phase, once its work has ended.
pub type Progress<T> = Result<T, Pause>;

impl From<PlanError> for Pause {
    fn from(error: PlanError) -> Self {
        Self::Failed(error)
    }
}

impl From<serde_json::Error> for Pause {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs `phase` on every part and collects the values, or waits if some are not done. Parts overlap this way: one is
/// checked while another is still being generated.
///
/// # Errors
/// The first failure, or [`Pause::Waiting`].
pub fn join<P, T>(parts: impl IntoIterator<Item = P>, mut phase: impl FnMut(P) -> Progress<T>) -> Progress<Vec<T>> {
    let mut done = Vec::new();
    let mut is_waiting = false;
    for part in parts {
        match phase(part) {
            Ok(value) => done.push(value),
            Err(Pause::Waiting) => is_waiting = true,
            Err(failed) => return Err(failed),
        }
    }
    if is_waiting { Err(Pause::Waiting) } else { Ok(done) }
}

/// The values of two phases that run side by side.
///
/// # Errors
/// The first failure, or [`Pause::Waiting`].
pub fn both<A, B>(one: Progress<A>, other: Progress<B>) -> Progress<(A, B)> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(Pause::Failed(error)), _) | (_, Err(Pause::Failed(error))) => Err(Pause::Failed(error)),
        _ => Err(Pause::Waiting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed<T>() -> Progress<T> {
        Err(PlanError::Other("broken".to_owned()).into())
    }

    #[test]
    fn every_part_gets_its_turn_before_any_is_waited_for() {
        let mut seen = Vec::new();
        let joined = join(0..3, |part| {
            seen.push(part);
            if part == 0 { Err(Pause::Waiting) } else { Ok(part) }
        });
        assert!(matches!(joined, Err(Pause::Waiting)));
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(join(0..3, Ok).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn a_failure_goes_before_waiting() {
        let joined = join(0..2, |part| if part == 0 { Err(Pause::Waiting) } else { failed::<u32>() });
        assert!(matches!(joined, Err(Pause::Failed(_))));
        assert!(matches!(both::<(), ()>(Err(Pause::Waiting), failed()), Err(Pause::Failed(_))));
        assert!(matches!(both(Ok(1), Err::<(), _>(Pause::Waiting)), Err(Pause::Waiting)));
        assert_eq!(both(Ok(1), Ok(2)).unwrap(), (1, 2));
    }
}
