//! Postgres rows, the work queue and the artifact store.
