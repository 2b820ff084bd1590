//! The latest held-out accuracy against the base, for the verdict on a run.

use lyceum_core::{
    benchmark::SubjectRole,
    id::ExecutionId,
    verdict::{Against, Comparison, HeldOut},
};
use lyceum_store::{
    benchmarks::{self, Answered},
    held_out::{self, HeldOutCounts},
    runs::RunDetail,
};
use sqlx::PgPool;

use super::{
    accuracy::{by_row, solves},
    decisive, is_measuring, is_scheduled,
};
use crate::api_error::ApiError;

/// What is known of a run's accuracy.
pub(crate) struct Latest {
    /// The comparison with the base.
    pub(crate) held_out: HeldOut,
    /// Whether it is about the rows that the run holds out itself, instead of the suite that its overview charts.
    pub(crate) is_of_own_rows: bool,
}

/// What is known of a run's accuracy.
pub(crate) async fn latest(db: &PgPool, run: &RunDetail) -> Result<Latest, ApiError> {
    let known = |held_out, is_of_own_rows| Latest {
        held_out,
        is_of_own_rows,
    };
    let id = ExecutionId(run.run.id);
    let ways = benchmarks::measurements(db, id).await?;
    if let Some(one) = decisive(&ways)
        && let (Some(first), Some(last)) = (one.steps.first(), one.steps.last())
    {
        let answered = benchmarks::answered(db, id, one, &[*first, *last]).await?;
        if let Some(comparison) = of_suite(&answered) {
            return Ok(known(HeldOut::Measured(comparison), false));
        }
    }
    if let Some(comparison) = of_own_rows(&held_out::ends(db, id).await?) {
        return Ok(known(HeldOut::Measured(comparison), true));
    }
    let is_due = is_scheduled(run) || !ways.is_empty();
    match is_due && is_measuring(db, &run.run).await? {
        true => Ok(known(HeldOut::Awaited, false)),
        false => Ok(known(HeldOut::Unmeasured, false)),
    }
}

/// Compares the last step with the base, or with the first step if the base was not measured.
fn of_suite(answered: &[Answered]) -> Option<Comparison> {
    let measured = |step: i32| {
        let fits = |one: &&Answered| solves(one) && one.step == Some(step);
        by_row(&answered.iter().filter(fits).collect::<Vec<_>>(), 1)
    };
    let steps = answered.iter().filter(|one| solves(one)).filter_map(|one| one.step);
    let (first, last) = (steps.clone().min()?, steps.max()?);
    let base: Vec<&Answered> = answered.iter().filter(|one| one.role == SubjectRole::Base).collect();
    let value = measured(last)?;
    match by_row(&base, 1) {
        Some(base) => Comparison::paired(Against::Base, last, &base, &value),
        None if first < last => Comparison::paired(Against::Step(first), last, &measured(first)?, &value),
        None => None,
    }
}

/// Compares the run's own measurements. Step 0 is measured with the weights of the base.
fn of_own_rows(counts: &[HeldOutCounts]) -> Option<Comparison> {
    let (first, last) = (counts.first()?.step, counts.last()?.step);
    if first == last {
        return None;
    }
    let measured = |step: i32| {
        let members: Vec<&HeldOutCounts> = counts.iter().filter(|one| one.step == step).collect();
        let rows = members.iter().map(|one| one.correct.len()).min().unwrap_or_default();
        let share = |one: &&HeldOutCounts, row: usize| f64::from(one.correct[row]) / f64::from(one.n);
        let over_members = |row| members.iter().map(|one| share(one, row)).sum::<f64>() / members.len() as f64;
        (0..rows).map(over_members).collect::<Vec<f64>>()
    };
    let against = match first {
        0 => Against::Base,
        first => Against::Step(first),
    };
    Comparison::paired(against, last, &measured(first), &measured(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn answered(member: u128, role: SubjectRole, step: Option<i32>, correct: [i32; 4]) -> Answered {
        Answered {
            step,
            member_id: (member > 0).then(|| Uuid::from_u128(member)),
            name: format!("m{member}"),
            role,
            samples: vec![1; 4],
            correct: correct.to_vec(),
            completion_tokens: 12,
        }
    }

    #[test]
    fn those_who_solve_in_the_last_step_are_compared_with_the_base() {
        let all = [
            answered(0, SubjectRole::Base, None, [1, 0, 0, 0]),
            answered(1, SubjectRole::Student, Some(10), [0, 0, 0, 0]),
            answered(1, SubjectRole::Student, Some(20), [1, 1, 1, 0]),
            answered(2, SubjectRole::Student, Some(20), [1, 1, 0, 0]),
            answered(3, SubjectRole::Teacher, Some(20), [1, 1, 1, 1]),
        ];
        let found = of_suite(&all).unwrap();
        assert_eq!(
            (found.against, found.step, found.value, found.reference, found.n),
            (Against::Base, 20, 0.625, 0.25, 4)
        );
        let without_base = of_suite(&all[1..]).unwrap();
        assert_eq!((without_base.against, without_base.reference), (Against::Step(10), 0.0));
        assert_eq!(of_suite(&all[2..]), None, "there is nothing to compare with");
        assert_eq!(of_suite(&all[..1]), None, "only the base was measured");
    }

    #[test]
    fn own_rows_are_compared_with_those_of_the_first_step() {
        let counts = |step, n, correct: [i32; 3]| HeldOutCounts {
            step,
            n,
            correct: correct.to_vec(),
        };
        let all = [
            counts(0, 4, [0, 1, 2]),
            counts(8, 4, [2, 1, 4]),
            counts(8, 4, [4, 1, 4]),
        ];
        let found = of_own_rows(&all).unwrap();
        assert_eq!((found.against, found.step, found.n), (Against::Base, 8, 3));
        assert_eq!((found.reference, found.value), (0.25, 2.0 / 3.0));
        assert_eq!(of_own_rows(&all[..1]), None);
        let later = [counts(4, 4, [0, 1, 2]), counts(8, 4, [2, 1, 4])];
        assert_eq!(of_own_rows(&later).unwrap().against, Against::Step(4));
    }
}
