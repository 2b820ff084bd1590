//! The range of steps on a page.

use lyceum_store::steps::Stretch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scale::stride;
use crate::api_error::ApiError;

/// The first and the last step shown; all by default.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Steps {
    #[schemars(range(max = 2_147_483_647))]
    pub(crate) from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    pub(crate) to: Option<u32>,
}

impl Steps {
    /// All steps.
    pub(crate) const ALL: Self = Self { from: None, to: None };

    /// The steps of a run at `step`, with a width that gives curves at most `points` points.
    ///
    /// # Errors
    /// 400 if the last step is before the first.
    pub(crate) fn of_run(self, step: i32, points: u32) -> Result<Stretch, ApiError> {
        let from = self.from.unwrap_or(0);
        if self.to.is_some_and(|to| to < from) {
            let detail = "the last step must not be before the first, `from`";
            return Err(ApiError::invalid_query(vec![("to".to_owned(), detail.to_owned())]));
        }
        let all = Stretch::whole(stride(self.length(step), points));
        Ok(Stretch {
            from,
            to: self.to.unwrap_or(all.to),
            ..all
        })
    }

    /// Whether the range is limited.
    pub(crate) fn is_part(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The number of steps between the first and the last one shown of a run at `step`.
    pub(crate) fn length(self, step: i32) -> i32 {
        let last = self.to.unwrap_or(u32::MAX).min(step.max(0).cast_unsigned());
        i32::try_from(last.saturating_sub(self.from.unwrap_or(0))).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_long_run_has_its_own_steps() {
        let steps = |from, to| Steps { from, to }.of_run(1999, 400);
        assert_eq!(steps(None, None).unwrap().width, 5);
        assert_eq!(steps(Some(100), Some(300)).unwrap().width, 1);
        assert_eq!(steps(Some(1900), None).unwrap().width, 1);
        assert_eq!(steps(Some(5000), None).unwrap().width, 1);
        assert!(steps(Some(2), Some(1)).is_err());
    }
}
