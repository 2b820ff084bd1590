//! Datasets: what they are for, what their rows are, and when two rows ask the same.

mod field_map;
mod fingerprint;
mod format;
mod intake;
mod purpose;
mod read_as;
mod row;
mod seed;
mod trial;
mod usage;

pub use field_map::{FieldMap, MapField, OracleKind};
pub use fingerprint::{Fingerprints, fingerprints};
pub use format::{RowFormat, UnknownFormat, row_format, row_formats};
pub use intake::{BadRows, Filters, ImportReport, Intake};
pub use purpose::Purpose;
pub use read_as::ReadAs;
pub use row::{RowCheck, RowFault, problem};
pub use seed::SeedProblem;
pub use trial::{TestFault, TestFaultKind, test_fault, trial};
pub use usage::{DatasetRef, DatasetUse, TestPolicy};
