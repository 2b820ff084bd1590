//! `lyceum-worker`: takes work, runs it and writes results; runs every kind of work by hand from files too.

fn main() {}
