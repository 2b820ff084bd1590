//! The server of `lyceum server` and `lyceum up`.

mod server;

pub use server::{Server, Serving, begin_scheduled};

use std::net::{IpAddr, SocketAddr, TcpListener};

use listenfd::ListenFd;

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The port is in use.
    #[error("port {} of {} is in use; stop the other program, or choose another port with --port (0 takes a free one)", .0.port(), .0.ip())]
    InUse(SocketAddr),
    /// The port is reserved for root.
    #[error("port {} requires root; choose one above 1023 with --port", .0.port())]
    NotAllowed(SocketAddr),
    /// The address is not one of this machine's.
    #[error("{0} is not an address of this machine; correct --host (127.0.0.1: this machine only, 0.0.0.0: everyone)")]
    NoSuchAddress(IpAddr),
    /// The process was started with something else than a socket to listen on.
    #[error(
        "the socket passed in LISTEN_FDS cannot be used ({0}); unset LISTEN_FDS, or pass a TCP socket that listens"
    )]
    NotPassed(std::io::Error),
    /// Another reason.
    #[error("cannot listen on {address}: {source}")]
    Other {
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The socket that the process was started with, as systemd and `lyceum up` pass it; without one, binds the port.
///
/// # Errors
/// All of [`ListenError`]; what was passed is no TCP socket.
pub fn listen_or_inherit(host: IpAddr, port: u16) -> Result<TcpListener, ListenError> {
    let passed = ListenFd::from_env().take_tcp_listener(0).map_err(ListenError::NotPassed)?;
    passed.map_or_else(|| listen(host, port), Ok)
}

/// Binds the port, before anything else is done.
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
