//! The port.

use std::path::Path;

use super::Finding;
use crate::settings::Server;
use crate::{serve, supervise};

pub(super) fn examine(server: &Server, data: &Path) -> Finding {
    if let Some(address) = supervise::data_folder::announced_address(data) {
        return Finding::good(format!("Lyceum is running at {address}"));
    }
    match serve::listen(server.host, server.port) {
        Ok(_) if server.host.is_loopback() => Finding::good(format!("port {} of {} is free", server.port, server.host)),
        Ok(_) => Finding::lacking(
            format!(
                "port {} of {} is free, and other machines can reach it without encryption",
                server.port, server.host
            ),
            "use a proxy with TLS and listen on 127.0.0.1 (docs/OPERATING.md)",
        ),
        Err(error) => Finding::error(&error),
    }
}
