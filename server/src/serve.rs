//! What `lyceum server` and `lyceum up` serve.

mod server;

pub use server::{Server, Serving};

use std::net::{IpAddr, SocketAddr, TcpListener};

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error("port {} of {} is in use; stop what uses it, or choose another with --port (0 takes a free one)", .0.port(), .0.ip())]
    InUse(SocketAddr),
    /// The port is one of those that only root may have.
    #[error("port {} needs root's rights; choose one above 1023 with --port", .0.port())]
    NotAllowed(SocketAddr),
    /// The machine has no such address.
    #[error(
        "{0} is not an address of this machine; correct --host (127.0.0.1: this machine alone, 0.0.0.0: everybody)"
    )]
    NoSuchAddress(IpAddr),
    /// Anything else.
    #[error("cannot listen at {address}: {source}")]
    Other {
        /// Where.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// Takes the port, before anything else is done.
///
/// # Errors
/// All of [`ListenError`].
pub fn listen(host: IpAddr, port: u16) -> Result<TcpListener, ListenError> {
    use std::io::ErrorKind;
    let address = SocketAddr::new(host, port);
    TcpListener::bind(address).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => ListenError::InUse(address),
        ErrorKind::PermissionDenied => ListenError::NotAllowed(address),
        ErrorKind::AddrNotAvailable => ListenError::NoSuchAddress(host),
        _ => ListenError::Other { address, source },
    })
}
