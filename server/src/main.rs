//! `lyceum`: REST API, web UI, coordinator and command line.

fn main() {}
