//! What the files of rows that a command writes have in common.

use anyhow::{anyhow, ensure};
use lyceum_core::dataset::{Purpose, RowCheck};
use lyceum_curriculum::Level;
use serde_json::Value;

/// The rows of each level if all get the same number.
///
/// # Errors
/// A number that is not a multiple of the number of levels.
pub(super) fn equal_share(problems: u32, levels: &[Level]) -> anyhow::Result<usize> {
    let share = problems as usize / levels.len();
    ensure!(
        share * levels.len() == problems as usize,
        "--problems {problems} is not a multiple of {}, the number of levels, which get equal shares",
        levels.len()
    );
    Ok(share)
}

/// Refuses rows that could not be imported to learn from.
///
/// # Errors
/// The first row's place and fault.
pub(super) fn check_importable(rows: &[Value]) -> anyhow::Result<()> {
    let mut check = RowCheck::new(Purpose::Training, None);
    for (place, row) in rows.iter().enumerate() {
        let fault = |fault| anyhow!("row {place} cannot be imported: {fault:?}");
        check.check(place, row).map_err(fault)?;
    }
    Ok(())
}
