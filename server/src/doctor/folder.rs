//! The data folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::Finding;
use crate::supervise::data_folder;

pub(super) fn examine(data: &Path) -> Finding {
    if let Err(error) = data_folder::check(data) {
        return Finding::error(&error);
    }
    let shown = data.display();
    let Ok(meta) = data.metadata() else {
        return Finding::good(format!("data folder {shown}, created by the first start"));
    };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o066 != 0 {
        let cure = format!("chmod go-rw {shown} (the next `lyceum up` does it too)");
        return Finding::lacking(
            format!("data folder {shown} can be read or written by others (mode {mode:o})"),
            cure,
        );
    }
    Finding::good(format!("data folder {shown}"))
}
