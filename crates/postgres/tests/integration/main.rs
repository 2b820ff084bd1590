//! Clusters on disk.

mod private;
mod test_cluster;
