//! Free disk space.

use std::path::Path;

use nix::sys::statvfs::statvfs;

use super::Finding;

/// Needed for Postgres and the artifacts of a small run.
const LEAST_BYTES: u64 = 1 << 30;
/// With less than this, a longer run may fill the disk.
const COMFORTABLE_BYTES: u64 = 10 << 30;

pub(super) fn examine(data: &Path) -> Finding {
    let place = data
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .unwrap_or(Path::new("/"));
    let free = match statvfs(place) {
        Ok(stat) => stat.blocks_available() * stat.fragment_size(),
        Err(error) => {
            return Finding::lacking(
                format!("free space at {}: {error}", place.display()),
                "look with `df`".to_owned(),
            );
        }
    };
    judge(free, place)
}

fn judge(free: u64, place: &Path) -> Finding {
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let what = format!(
        "{:.1} GiB free at {}",
        free as f64 / f64::from(1 << 30),
        place.display()
    );
    let cure = "free some space, or put the data folder elsewhere with --data";
    match free {
        ..LEAST_BYTES => Finding::bad(what, cure),
        LEAST_BYTES..COMFORTABLE_BYTES => Finding::lacking(what, cure),
        COMFORTABLE_BYTES.. => Finding::good(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_full_disk_is_bad_and_a_nearly_full_one_lacking() {
        let verdict = |free| judge(free, Path::new("/")).verdict;
        assert!(matches!(verdict(100 << 20), Verdict::Bad { .. }));
        assert!(matches!(verdict(5 << 30), Verdict::Lacking { .. }));
        assert_eq!(verdict(50 << 30), Verdict::Good);
    }
}
